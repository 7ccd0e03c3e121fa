/* crew.c - see crew.h. */
#include "command/crew.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"

struct wh_worker {
	struct wh_crew *crew; /* [const] */
	uint32_t number;      /* [const] */
	pid_t pid;            /* [const] 0: a thread */
	pthread_t thread;     /* [const] */
	bool reaped;          /* [parent] */
	int result;           /* [worker, then parent] what a thread returned; guarded by `ended` */
	wh_word ended;        /* [worker writes] a thread is about to end */
};

void *wh_shared_alloc(size_t bytes, bool huge)
{
	const int flags = MAP_SHARED | MAP_ANONYMOUS;
	void *memory = MAP_FAILED;

	if (huge)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB, -1, 0);
	if (memory == MAP_FAILED)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if (huge)
		madvise(memory, bytes, MADV_HUGEPAGE); /* a wish, where they are ordinary ones */
	return memory;
}

void wh_shared_free(void *memory, size_t bytes)
{
	if (memory != NULL)
		munmap(memory, bytes);
}

/* A futex of all processes that map the word: no FUTEX_PRIVATE_FLAG. */
static long futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void wh_phase_set(struct wh_phase *phase, uint32_t value)
{
	atomic_store_explicit(&phase->value, value, memory_order_release); /* partner: wh_phase_get */
	futex(&phase->value, FUTEX_WAKE, INT_MAX, NULL);
}

uint32_t wh_phase_wait(struct wh_phase *phase, uint32_t seen, int timeout_ms)
{
	struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	if (wh_phase_get(phase) == seen)
		futex(&phase->value, FUTEX_WAIT, seen, &timeout); /* however it ends, the word is looked at again */
	return wh_phase_get(phase);
}

/* ---- the watch ---------------------------------------------------------------------------------------------------*/

static void watched_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
}

enum whorl_result wh_watch_open(struct wh_watch *watch, struct wh_error *err)
{
	sigset_t set;

	*watch = (struct wh_watch){.signal_fd = -1, .bell_fd = -1};
	watched_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	watch->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (watch->signal_fd < 0)
		return wh_error_system(err, errno, "signalfd");
	watch->bell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (watch->bell_fd < 0) {
		int number = errno;

		wh_watch_close(watch);
		return wh_error_system(err, number, "eventfd");
	}
	return WHORL_OK;
}

void wh_watch_close(struct wh_watch *watch)
{
	if (watch->signal_fd >= 0)
		close(watch->signal_fd);
	if (watch->bell_fd >= 0)
		close(watch->bell_fd);
	watch->signal_fd = watch->bell_fd = -1;
}

void wh_watch_wait(struct wh_watch *watch, int timeout_ms)
{
	struct pollfd fds[2] = {{.fd = watch->signal_fd, .events = POLLIN}, {.fd = watch->bell_fd, .events = POLLIN}};
	struct signalfd_siginfo info;
	uint64_t rings;

	poll(fds, 2, timeout_ms);
	while (read(watch->signal_fd, &info, sizeof info) == sizeof info)
		if (info.ssi_signo != SIGCHLD)
			watch->interrupted = (int)info.ssi_signo;
	while (read(watch->bell_fd, &rings, sizeof rings) == sizeof rings)
		;
}

void wh_watch_ring(const struct wh_watch *watch)
{
	uint64_t one = 1;

	/* It fails only if 2^64 - 2 rings are waiting: then there is nothing to add. */
	if (write(watch->bell_fd, &one, sizeof one) < 0)
		return;
}

/* ---- the crew ----------------------------------------------------------------------------------------------------*/

/* The child's side of fork. Ctrl-C in a terminal goes to the whole foreground group: the parent decides what follows. */
static _Noreturn void run_process(const struct wh_worker *worker, pid_t parent)
{
	struct wh_crew *crew = worker->crew;
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before that */
		_exit(125);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	watched_signals(&set);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	_exit(crew->fn(crew->ctx, worker->number));
}

static void *run_thread(void *argument)
{
	struct wh_worker *worker = argument;
	const struct wh_watch *watch = worker->crew->watch;

	worker->result = worker->crew->fn(worker->crew->ctx, worker->number);
	wh_store_release(&worker->ended, 1); /* partner: reap_thread */
	wh_watch_ring(watch);
	return NULL;
}

static enum whorl_result start_worker(struct wh_worker *worker, struct wh_error *err)
{
	pid_t parent = getpid();
	int number;

	if (!worker->crew->processes) {
		number = pthread_create(&worker->thread, NULL, run_thread, worker);
		return number == 0 ? WHORL_OK : wh_error_system(err, number, "start a thread");
	}
	worker->pid = fork();
	if (worker->pid == 0)
		run_process(worker, parent);
	if (worker->pid > 0)
		return WHORL_OK;
	number = errno;
	worker->pid = 0;
	return wh_error_system(err, number, "fork");
}

enum whorl_result wh_crew_start(struct wh_crew *crew, struct wh_watch *watch, uint32_t count, bool processes,
				wh_crew_fn *fn, void *ctx, struct wh_error *err)
{
	enum whorl_result result;

	*crew = (struct wh_crew){.watch = watch, .fn = fn, .ctx = ctx, .processes = processes};
	crew->workers = calloc(count, sizeof *crew->workers);
	if (crew->workers == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u workers", count);
	fflush(NULL); /* or each child would have a copy to write */
	for (; crew->count < count; crew->count++, crew->running++) {
		struct wh_worker *worker = &crew->workers[crew->count];

		worker->crew = crew;
		worker->number = crew->count;
		result = start_worker(worker, err);
		if (result != WHORL_OK) {
			wh_crew_end(crew, 0);
			return result;
		}
	}
	return WHORL_OK;
}

static bool reap_process(struct wh_worker *worker, int *status)
{
	return waitpid(worker->pid, status, WNOHANG) == worker->pid;
}

static bool reap_thread(struct wh_worker *worker, int *status)
{
	if (wh_load_acquire(&worker->ended) == 0) /* partner: run_thread */
		return false;
	pthread_join(worker->thread, NULL);
	*status = W_EXITCODE(worker->result, 0);
	return true;
}

bool wh_crew_reap(struct wh_crew *crew, uint32_t *worker, int *status)
{
	for (uint32_t w = 0; w < crew->count && crew->running > 0; w++) {
		struct wh_worker *one = &crew->workers[w];

		if (one->reaped || !(crew->processes ? reap_process(one, status) : reap_thread(one, status)))
			continue;
		one->reaped = true;
		crew->running--;
		*worker = w;
		return true;
	}
	return false;
}

pid_t wh_crew_pid(const struct wh_crew *crew, uint32_t worker)
{
	return crew->workers[worker].pid;
}

/* Reaps the workers that end within grace_ms. True: none is left. */
static bool await_end(struct wh_crew *crew, int grace_ms)
{
	const struct wh_env *env = wh_env_system();
	uint64_t deadline = wh_env_now(env) + (uint64_t)grace_ms * WH_NS_PER_MS;
	uint32_t worker;
	int status;

	for (;;) {
		while (wh_crew_reap(crew, &worker, &status))
			;
		if (crew->running == 0)
			return true;
		if (wh_env_now(env) >= deadline)
			return false;
		wh_watch_wait(crew->watch, 10);
	}
}

bool wh_crew_end(struct wh_crew *crew, int grace_ms)
{
	bool ended;

	if (crew->workers == NULL)
		return true;
	ended = await_end(crew, grace_ms);
	if (!ended && crew->processes) {
		for (uint32_t w = 0; w < crew->count; w++)
			if (!crew->workers[w].reaped)
				kill(crew->workers[w].pid, SIGKILL);
		ended = await_end(crew, 5000);
	}
	if (ended) { /* else a thread still looks at it */
		free(crew->workers);
		crew->workers = NULL;
	}
	return ended;
}
