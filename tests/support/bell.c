#include "tests/support/bell.h"

static struct bell *bell_of(struct wh_transport *transport)
{
	return (struct bell *)transport;
}

static void note(struct bell *bell, char call)
{
	if (bell->call_count + 1 < sizeof(bell->calls))
		bell->calls[bell->call_count++] = call;
}

static void bell_arm(struct wh_transport *transport)
{
	note(bell_of(transport), 'A');
}

static void bell_disarm(struct wh_transport *transport)
{
	note(bell_of(transport), 'D');
}

static size_t bell_service(struct wh_transport *transport)
{
	struct bell *bell = bell_of(transport);
	size_t work = bell->service_work;

	note(bell, 'S');
	bell->service_work = 0;
	return work;
}

static void bell_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct bell *bell = bell_of(transport);

	note(bell, 'W');
	bell->wait_ns = timeout_ns;
	if (bell->lent != NULL) {
		note(bell, wh_gate_borrow(bell->lent) ? 'B' : '-');
		wh_gate_give_back(bell->lent);
	}
	if (!bell->blocks)
		return;
	pthread_mutex_lock(&bell->lock);
	bell->waiting = true;
	bell->waits++;
	pthread_cond_broadcast(&bell->rung);
	while (!bell->ringing)
		pthread_cond_wait(&bell->rung, &bell->lock);
	bell->ringing = bell->waiting = false;
	pthread_mutex_unlock(&bell->lock);
}

void bell_wake(struct wh_transport *transport)
{
	struct bell *bell = bell_of(transport);

	pthread_mutex_lock(&bell->lock);
	bell->ringing = true;
	pthread_cond_broadcast(&bell->rung);
	pthread_mutex_unlock(&bell->lock);
}

static const struct wh_transport_ops bell_ops = {.name = "bell",
						 .helper_may_post = true,
						 .service = bell_service,
						 .arm = bell_arm,
						 .disarm = bell_disarm,
						 .wait = bell_wait,
						 .wake = bell_wake};

static void wake(void *ctx)
{
	struct fixture *f = ctx;

	bell_wake(&f->bell.base);
}

struct fixture *bell_make(enum wh_idle idle)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct wh_error err;

	ck_assert_ptr_nonnull(f);
	fake_env_init(&f->env);
	f->bell.base.ops = &bell_ops;
	pthread_mutex_init(&f->bell.lock, NULL);
	pthread_cond_init(&f->bell.rung, NULL);
	ck_assert_int_eq(wh_gate_create(&f->gate, wake, f, &err), WHORL_OK);
	wh_loop_init(&f->loop, &f->env.diag, &f->bell.base, f->gate, idle);
	f->loop.serviced_ns = f->env.now_ns;
	return f;
}

void bell_discard(struct fixture *f)
{
	wh_loop_close(&f->loop);
	wh_gate_free(f->gate);
	pthread_cond_destroy(&f->bell.rung);
	pthread_mutex_destroy(&f->bell.lock);
	free(f);
}

void add(struct fixture *f, wh_predicate *fn)
{
	struct wh_error err;

	ck_assert_int_eq(wh_loop_add(&f->loop, fn, f, &err), WHORL_OK);
}
