/* shaker.c - handshakes of TLS, off the loop.
 *
 * In a step of a handshake an end signs, or verifies certificates: about a millisecond, and any stranger can ask for it. So the loop only
 * looks whether the other end has spoken, and hands the channel to a worker, which reads, computes and writes as far as that goes
 * (wh_tcp_channel_shake). Meanwhile the channel is the worker's alone: the connection has none, and its socket is not in the poll,
 * which would tell of it again and again. Then the worker rings, and the loop takes the channel back.
 *
 * There is one worker, a job that ends when nothing waits: a group in which no hands are shaken has no thread for it. Calls of this
 * node, and those from hosts of the configuration, are served first: a crowd that begins TLS does not keep a member out. Each connection
 * has one step at most, so the bounds on strangers bound what waits.
 *
 * A channel is one thread's at a time, and `lock` is what hands it over, both ways. It is held neither while a step is done nor for
 * submit: where no thread can be had the job runs then and there.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "transport/tcp/tcp_int.h"

#define END_NS (5 * WH_NS_PER_S)

struct link { /* of a list: in its head, and in each that is in it */
	struct link *before, *after;
};

enum state { WAITS, WORKS, DONE };

struct wh_tcp_step {
	struct link link; /* [lock] in no list while it WORKS */
	struct wh_tcp_shaker *shaker;
	struct wh_tcp_caller caller;
	enum state state; /* [lock] */
	bool dropped;     /* [lock] its connection is closed: when it is done the worker frees it */
	bool silent;      /* [lock] and tells the other end nothing */
	/* The worker's while it WORKS, else the loop's. */
	struct wh_tcp_channel channel;
	enum wh_tcp_io io;
	bool writes;
};

struct wh_tcp_shaker {
	const struct wh_env *env;
	struct wh_poll *poll; /* [loop] */
	pid_t pid;            /* of the process that has the threads: a forked child has none */
	int bell;
	pthread_t loop; /* the thread that has submitted the job */
	pthread_mutex_t lock;
	pthread_cond_t rests;             /* the job has ended */
	bool works;                       /* [lock] there is a job */
	bool abandoned;                   /* [lock] its wire is gone: the job frees it */
	struct link first, waiting, done; /* [lock] lists of steps */
};

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

static void put_last(struct link *list, struct wh_tcp_step *step)
{
	step->link = (struct link){.before = list->before, .after = list};
	list->before->after = &step->link;
	list->before = &step->link;
}

static void take_out(struct wh_tcp_step *step)
{
	step->link.before->after = step->link.after;
	step->link.after->before = step->link.before;
}

static struct wh_tcp_step *first_of(const struct link *list)
{
	return list->after == list ? NULL : (struct wh_tcp_step *)list->after;
}

/* ---- the worker ----------------------------------------------------------------------------------------------------- */

static void free_step(struct wh_tcp_step *step)
{
	wh_tcp_channel_close(&step->channel, step->silent);
	free(step);
}

static void free_shaker(struct wh_tcp_shaker *shaker)
{
	close(shaker->bell);
	pthread_cond_destroy(&shaker->rests);
	pthread_mutex_destroy(&shaker->lock);
	free(shaker);
}

/* NULL: none waits. */
static struct wh_tcp_step *next_step(struct wh_tcp_shaker *shaker)
{
	struct wh_tcp_step *step;

	pthread_mutex_lock(&shaker->lock);
	step = first_of(&shaker->first);
	if (step == NULL)
		step = first_of(&shaker->waiting);
	if (step != NULL) {
		take_out(step);
		step->state = WORKS;
	}
	pthread_mutex_unlock(&shaker->lock);
	return step;
}

static void hand_back(struct wh_tcp_shaker *shaker, struct wh_tcp_step *step)
{
	bool dropped;

	pthread_mutex_lock(&shaker->lock);
	dropped = step->dropped;
	if (!dropped) {
		step->state = DONE;
		put_last(&shaker->done, step);
	}
	pthread_mutex_unlock(&shaker->lock);
	if (dropped)
		free_step(step);
	else
		wh_tcp_shaker_ring(shaker);
}

/* Where nothing waits the job ends, and the shaker may be gone. False: something does. */
static bool end_work(struct wh_tcp_shaker *shaker)
{
	bool ends, abandoned;

	pthread_mutex_lock(&shaker->lock);
	ends = first_of(&shaker->first) == NULL && first_of(&shaker->waiting) == NULL;
	abandoned = shaker->abandoned;
	if (ends) {
		shaker->works = false;
		pthread_cond_broadcast(&shaker->rests);
	}
	pthread_mutex_unlock(&shaker->lock);
	if (ends && abandoned)
		free_shaker(shaker);
	return ends;
}

/* Its thread stands back: the loop, and members, go before strangers. What OpenSSL keeps for the thread goes before the job ends: when
 * that is told the process may end as well. */
static void work(void *argument)
{
	struct wh_tcp_shaker *shaker = argument;
	bool apart = !pthread_equal(shaker->loop, pthread_self());
	struct wh_tcp_step *step;

	if (apart)
		wh_thread_stand_back();
	do {
		while ((step = next_step(shaker)) != NULL) {
			step->io = wh_tcp_channel_shake(&step->channel, &step->writes);
			hand_back(shaker, step);
		}
		if (apart)
			wh_secure_thread_ends();
	} while (!end_work(shaker));
}

/* ---- the loop ------------------------------------------------------------------------------------------------------- */

/* False: there is no memory for it. */
static bool begin_step(struct wh_tcp_shaker *shaker, struct wh_tcp_channel *channel, const struct wh_tcp_caller *caller)
{
	struct wh_tcp_step *step = calloc(1, sizeof(*step));
	bool works;

	if (step == NULL)
		return false;
	step->shaker = shaker;
	step->caller = *caller;
	step->channel = *channel;
	(void)epoll_ctl(shaker->poll->epoll, EPOLL_CTL_DEL, channel->fd, NULL);
	*channel = (struct wh_tcp_channel){.fd = -1, .turns = channel->turns, .step = step};
	pthread_mutex_lock(&shaker->lock);
	put_last(caller->first ? &shaker->first : &shaker->waiting, step);
	works = shaker->works;
	shaker->works = true;
	pthread_mutex_unlock(&shaker->lock);
	if (works)
		return true;
	shaker->loop = pthread_self();
	shaker->env->submit(shaker->env->ctx, work, shaker);
	return true;
}

/* Takes the channel back, if it is done. */
static enum wh_tcp_io end_step(struct wh_tcp_shaker *shaker, struct wh_tcp_channel *channel, bool *writes)
{
	struct wh_tcp_step *step = channel->step;
	enum wh_tcp_io io;
	bool done;

	pthread_mutex_lock(&shaker->lock);
	done = step->state == DONE;
	if (done)
		take_out(step);
	pthread_mutex_unlock(&shaker->lock);
	*writes = false;
	if (!done)
		return WH_TCP_LATER;
	io = step->io;
	*writes = step->writes;
	*channel = step->channel;
	if ((io == WH_TCP_DONE || io == WH_TCP_LATER) &&
	    !wh_poll_watch(shaker->poll, EPOLL_CTL_ADD, channel->fd, EPOLLIN | (*writes ? EPOLLOUT : 0),
			   step->caller.source, step->caller.index))
		io = WH_TCP_BROKEN;
	free(step);
	return io;
}

enum wh_tcp_io wh_tcp_shaker_shake(struct wh_tcp_shaker *shaker, struct wh_tcp_channel *channel,
				   const struct wh_tcp_caller *caller, bool *writes)
{
	enum wh_tcp_io io;
	bool hears;

	if (shaker == NULL)
		return wh_tcp_channel_shake(channel, writes);
	if (channel->step == NULL) {
		io = wh_tcp_channel_look(channel, writes, &hears);
		if (!hears)
			return io;
		if (!begin_step(shaker, channel, caller))
			return wh_tcp_channel_shake(channel, writes);
	}
	return end_step(shaker, channel, writes);
}

bool wh_tcp_shaker_done(struct wh_tcp_shaker *shaker, uint32_t *source, uint32_t *index)
{
	const struct wh_tcp_step *step;

	pthread_mutex_lock(&shaker->lock);
	step = first_of(&shaker->done);
	if (step != NULL) {
		*source = step->caller.source;
		*index = step->caller.index;
	}
	pthread_mutex_unlock(&shaker->lock);
	return step != NULL;
}

void wh_tcp_shaker_ring(const struct wh_tcp_shaker *shaker)
{
	const uint64_t one = 1;

	(void)!write(shaker->bell, &one, sizeof(one)); /* a full counter is readable as well */
}

void wh_tcp_shaker_hush(const struct wh_tcp_shaker *shaker)
{
	uint64_t rings;

	(void)!read(shaker->bell, &rings, sizeof(rings));
}

/* In a forked child the lock, and what the worker had, are as the parent's threads left them. */
void wh_tcp_step_drop(struct wh_tcp_step *step, bool forked)
{
	struct wh_tcp_shaker *shaker = step->shaker;
	bool works;

	if (shaker->pid != getpid()) {
		close(step->channel.fd);
		return;
	}
	pthread_mutex_lock(&shaker->lock);
	works = step->state == WORKS;
	step->dropped = works;
	step->silent = forked;
	if (!works)
		take_out(step);
	pthread_mutex_unlock(&shaker->lock);
	if (!works)
		free_step(step);
}

/* ---- the beginning and the end -------------------------------------------------------------------------------------- */

static struct wh_tcp_shaker *make_shaker(const struct wh_env *env, struct wh_poll *poll)
{
	struct wh_tcp_shaker *shaker = calloc(1, sizeof(*shaker));

	if (shaker == NULL)
		return NULL;
	shaker->env = env;
	shaker->poll = poll;
	shaker->pid = getpid();
	shaker->first = (struct link){&shaker->first, &shaker->first};
	shaker->waiting = (struct link){&shaker->waiting, &shaker->waiting};
	shaker->done = (struct link){&shaker->done, &shaker->done};
	pthread_mutex_init(&shaker->lock, NULL);
	wh_thread_condition_init(&shaker->rests);
	return shaker;
}

enum whorl_result wh_tcp_shaker_new(const struct wh_env *env, struct wh_poll *poll, struct wh_tcp_shaker **out,
				    struct wh_error *err)
{
	struct wh_tcp_shaker *shaker;
	int bell;

	*out = NULL;
	bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell < 0)
		return wh_error_system(err, errno, "eventfd");
	shaker = make_shaker(env, poll);
	if (shaker == NULL) {
		close(bell);
		return wh_error_set(err, WHORL_MEMORY, "no memory for handshakes");
	}
	shaker->bell = bell;
	if (!wh_poll_watch(poll, EPOLL_CTL_ADD, bell, EPOLLIN, WH_TCP_SHAKEN, 0)) {
		(void)wh_error_system(err, errno, "epoll_ctl");
		free_shaker(shaker);
		return WHORL_SYSTEM;
	}
	*out = shaker;
	return WHORL_OK;
}

void wh_tcp_shaker_free(struct wh_tcp_shaker *shaker)
{
	uint64_t at = wh_env_now(wh_env_system()) + END_NS;
	const struct timespec deadline = {.tv_sec = (time_t)(at / WH_NS_PER_S), .tv_nsec = (long)(at % WH_NS_PER_S)};
	int error = 0;
	bool works;

	if (shaker == NULL)
		return;
	if (shaker->pid != getpid()) {
		close(shaker->bell);
		free(shaker);
		return;
	}
	pthread_mutex_lock(&shaker->lock);
	while (shaker->works && error == 0)
		error = pthread_cond_timedwait(&shaker->rests, &shaker->lock, &deadline);
	works = shaker->abandoned = shaker->works;
	pthread_mutex_unlock(&shaker->lock);
	if (!works)
		free_shaker(shaker);
}
