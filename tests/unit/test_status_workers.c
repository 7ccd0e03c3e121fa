/* test_status_workers.c - a node on which work is open shows its workers to a visitor: as many as there are, with what they have done; and one
 * without work shows none.
 * Labels: threads
 */
#include <whorl/status.h>

#include "tests/support/remote_lab.h"

#define ASK_MS 10000
#define CALLS 100

static const char *const transports[] = {"shm", "tcp"};
#define TRANSPORTS 2

/* A configuration is one thread's at a time. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static struct whorl_status *ask(struct lab *lab, uint32_t id)
{
	struct whorl_status *status;
	enum whorl_result result;
	char text[256];

	pthread_mutex_lock(&asking);
	result = whorl_status_of(lab->config, id, ASK_MS, &status, text, sizeof(text));
	pthread_mutex_unlock(&asking);
	ck_assert_msg(result == WHORL_OK, "%s", text);
	ck_assert_uint_eq(status->id, id);
	return status;
}

static void has_none(struct lab *lab, uint32_t id)
{
	struct whorl_status *status = ask(lab, id);

	ck_assert_uint_eq(status->worker_count, 0);
	ck_assert_ptr_null(status->workers);
	whorl_status_free(status);
}

/* What only grows lies between what the worker has said before and says afterwards. */
#define BETWEEN(field)                                                                                                 \
	do {                                                                                                           \
		ck_assert_uint_le(before[i].field, seen->field);                                                       \
		ck_assert_uint_le(seen->field, after.field);                                                           \
	} while (0)

static void same_workers(whorl_work *work, const struct whorl_status *status, const struct whorl_worker_stats *before)
{
	for (uint32_t i = 0; i < status->worker_count; i++) {
		const struct whorl_status_worker *seen = WHORL_AT(whorl_status_worker, status->workers, i);
		const struct whorl_worker_stats after = worker_stats_of(work, i);

		ck_assert_uint_eq(seen->size, sizeof(*seen));
		ck_assert_uint_gt(seen->open_ns, 0);
		ck_assert_uint_eq(seen->properties, i == 1 ? 1 : 0);
		BETWEEN(calls);
		BETWEEN(lent_calls);
		BETWEEN(batches);
		BETWEEN(batch_calls);
		BETWEEN(largest_batch);
		BETWEEN(deferred);
		BETWEEN(refused);
		BETWEEN(functions_ns);
		BETWEEN(looking_ns);
		BETWEEN(fibers_started);
		BETWEEN(passes);
		BETWEEN(sleeps);
	}
}

TEST_LOOP(workers_are_shown, 0, TRANSPORTS)
{
	struct whorl_worker_stats before[2];
	struct whorl_status *status;
	struct whorl_trust trust;
	struct lab lab;
	uint64_t n;

	remote_lab_make(&lab, 2, transports[_i]);
	has_none(&lab, 1);
	for (uint32_t id = 0; id < 2; id++)
		lab_open_work(&lab, id,
			      &(struct whorl_work_options){
				      .size = sizeof(struct whorl_work_options), .workers = 2, WHORL_FUNCTIONS_LINKED});
	trust = lab_counter(&lab, 0, 1, 1, 0);
	for (int i = 0; i < CALLS; i++)
		ck_ok(whorl_apply(&trust, counter_add, &(struct add){1}, &n, PATIENCE_MS));
	for (uint32_t i = 0; i < 2; i++)
		before[i] = worker_stats_of(lab.works[1], i);
	status = ask(&lab, 1);
	ck_assert_uint_eq(status->worker_count, 2);
	ck_assert_uint_ge(status->workers[1].calls, CALLS);
	ck_assert_uint_ge(status->workers[1].batch_calls, CALLS);
	same_workers(lab.works[1], status, before);
	whorl_status_free(status);
	ck_ok(whorl_trust_drop(&trust));
	ck_ok(whorl_work_close(lab.works[1], PATIENCE_MS));
	lab.works[1] = NULL;
	has_none(&lab, 1); /* and the node goes on */
	remote_lab_close(&lab);
}

struct visitor {
	struct lab *lab;
	atomic_bool stop;
};

static void *ask_often(void *ctx)
{
	struct visitor *visitor = ctx;

	while (!atomic_load(&visitor->stop))
		whorl_status_free(ask(visitor->lab, 0));
	return NULL;
}

/* It is asked all the time, also while work is opened and closed. */
TEST(work_ends_while_it_is_shown)
{
	struct visitor visitor = {.stop = false};
	pthread_t thread;
	struct lab lab;

	remote_lab_make(&lab, 1, "shm");
	visitor.lab = &lab;
	ck_assert_int_eq(pthread_create(&thread, NULL, ask_often, &visitor), 0);
	lab_open_work(&lab, 0,
		      &(struct whorl_work_options){
			      .size = sizeof(struct whorl_work_options), .workers = 4, WHORL_FUNCTIONS_LINKED});
	whorl_status_free(ask(&lab, 0));
	ck_ok(whorl_work_close(lab.works[0], PATIENCE_MS));
	lab.works[0] = NULL;
	has_none(&lab, 0);
	atomic_store(&visitor.stop, true);
	pthread_join(thread, NULL);
	remote_lab_close(&lab);
}

TEST_SUITE("status_workers")
