/* test_group_quiet.c - under full load nothing is allocated; how many locks and system calls messages cost.
 * Labels: threads nosan
 *
 * What the library calls is interposed: the library is linked into this program, so the functions below are what it
 * finds. Between the warm-up and the end two threads only send, and this one only looks, so whatever is counted is the
 * library's doing. Allocations must be none. Locks and system calls are printed: how often threads yield and sleep depends
 * on how many others want their processors, so they are held against a bound that only a mistake would break.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "tests/support/group.h"

/* ---- counting --------------------------------------------------------------------------------------------------------- */

enum counted { ALLOCATIONS, FREES, MAPS, LOCKS, YIELDS, SLEEPS, WAKES, READS, OTHERS, COUNTED };

static const char *const names[COUNTED] = {"allocations", "frees",  "mmap and munmap", "mutex locks",       "yields",
					   "polls",       "writes", "reads",           "other system calls"};
static atomic_ulong counts[COUNTED];

static void count(enum counted what)
{
	atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
}

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

void *malloc(size_t bytes)
{
	count(ALLOCATIONS);
	return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	count(ALLOCATIONS);
	return __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
	count(ALLOCATIONS);
	return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	count(ALLOCATIONS);
	return __libc_memalign(alignment, bytes);
}

void free(void *memory)
{
	count(FREES);
	__libc_free(memory);
}

/* The next function of that name, behind ours. */
#define REAL(type, name, ...)                                                                                          \
	static type (*real)(__VA_ARGS__);                                                                              \
	if (real == NULL)                                                                                              \
	*(void **)&real = dlsym(RTLD_NEXT, name)

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	REAL(void *, "mmap", void *, size_t, int, int, int, off_t);
	count(MAPS);
	return real(address, bytes, protection, flags, fd, offset);
}

int munmap(void *address, size_t bytes)
{
	REAL(int, "munmap", void *, size_t);
	count(MAPS);
	return real(address, bytes);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	REAL(int, "pthread_mutex_lock", pthread_mutex_t *);
	count(LOCKS);
	return real(mutex);
}

int sched_yield(void)
{
	REAL(int, "sched_yield", void);
	count(YIELDS);
	return real();
}

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	REAL(int, "poll", struct pollfd *, nfds_t, int);
	count(SLEEPS);
	return real(fds, n, timeout_ms);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout_ms)
{
	REAL(int, "epoll_wait", int, struct epoll_event *, int, int);
	count(SLEEPS);
	return real(epoll, events, most, timeout_ms);
}

int epoll_pwait2(int epoll, struct epoll_event *events, int most, const struct timespec *timeout,
		 const sigset_t *signals)
{
	REAL(int, "epoll_pwait2", int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
	count(SLEEPS);
	return real(epoll, events, most, timeout, signals);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
	REAL(ssize_t, "write", int, const void *, size_t);
	count(WAKES);
	return real(fd, bytes, n);
}

ssize_t read(int fd, void *bytes, size_t n)
{
	REAL(ssize_t, "read", int, void *, size_t);
	count(READS);
	return real(fd, bytes, n);
}

long syscall(long number, ...) /* membarrier */
{
	REAL(long, "syscall", long, long, long, long, long);
	long a[4];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	count(OTHERS);
	return real(number, a[0], a[1], a[2], a[3]);
}

/* ---- the load --------------------------------------------------------------------------------------------------------- */

#define WARM_UP 20000
#define MEASURED 200000

struct load {
	whorl_subgroup *subgroup;
	atomic_ulong delivered;
	atomic_bool stop;
	pthread_t thread;
};

static void deliver(const struct whorl_message *messages, size_t n, void *ctx)
{
	struct load *load = ctx;

	(void)messages;
	atomic_fetch_add_explicit(&load->delivered, n, memory_order_relaxed);
}

static void *send_on(void *ctx)
{
	struct load *load = ctx;
	char message[128] = "";

	while (!atomic_load_explicit(&load->stop, memory_order_relaxed))
		if (whorl_send(load->subgroup, message, sizeof(message), PATIENCE_MS, NULL) != WHORL_OK)
			ck_abort_msg("a message could not be sent"); /* Check's other words allocate */
	return NULL;
}

/* The memory of a view that may come is prepared off the loops: by now each of the two nodes has it, and the thread that made
 * it has ended. (The descriptors of rows that are shared already have been closed.) */
static bool next_views_are_prepared(void)
{
	unsigned spares = 0, threads = 0;
	char link[64], name[64];

	for (int fd = 0; fd < 256; fd++) {
		ssize_t got;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		got = readlink(link, name, sizeof(name) - 1);
		name[got < 0 ? 0 : got] = '\0';
		spares += strncmp(name, "/memfd:whorl-row", strlen("/memfd:whorl-row")) == 0;
	}
	for (DIR *tasks = opendir("/proc/self/task"); tasks != NULL; tasks = (closedir(tasks), NULL))
		while (readdir(tasks) != NULL)
			threads++;
	return spares == 2 && threads == 2 + 1 + 2 + 2; /* two dots, main, loops, senders */
}

TEST_CASE("quiet", .timeout_s = 60);

TEST(full_load_allocates_nothing)
{
	unsigned long before[COUNTED], delivered, calls = 0;
	struct load loads[2];
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nmessage_bytes = 128\nwindow = 1000\n");
	for (unsigned id = 0; id < 2; id++) {
		loads[id] = (struct load){.subgroup = subgroup_of(&c, id, "s")};
		ck_ok(whorl_on_batch(loads[id].subgroup, deliver, &loads[id]));
	}
	cluster_start(&c);
	for (unsigned id = 0; id < 2; id++)
		pthread_create(&loads[id].thread, NULL, send_on, &loads[id]);
	while (loads[0].delivered < WARM_UP || !next_views_are_prepared())
		usleep(1000); /* not a call that is counted */
	for (int i = 0; i < COUNTED; i++)
		before[i] = counts[i];
	delivered = loads[0].delivered;
	while (loads[0].delivered < delivered + MEASURED)
		usleep(1000);
	for (int i = 0; i < COUNTED; i++)
		before[i] = counts[i] - before[i];
	delivered = loads[0].delivered - delivered;
	for (unsigned id = 0; id < 2; id++) {
		atomic_store(&loads[id].stop, true);
		pthread_join(loads[id].thread, NULL);
	}
	cluster_free(&c);

	printf("%lu messages:\n", delivered);
	for (int i = 0; i < COUNTED; i++)
		printf("  %-20s %8lu  %.5f a message\n", names[i], before[i], (double)before[i] / (double)delivered);
	ck_assert_uint_eq(before[ALLOCATIONS], 0);
	ck_assert_uint_eq(before[FREES], 0);
	ck_assert_uint_eq(before[MAPS], 0);
	for (int i = LOCKS; i < COUNTED; i++)
		calls += before[i];
	ck_assert_uint_lt(calls, delivered / 2);
}

/* A loop that sleeps is rung once, however much is committed before it runs; one that is awake not at all. */
TEST(a_burst_rings_once)
{
	struct cluster c;
	unsigned long before;

	cluster_open(&c, 1, "", "[subgroup s]\nmessage_bytes = 8\n[engine]\nthread = caller\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	for (int round = 0; round < 3; round++) {
		while (whorl_step(c.nodes[0]) > 0 || whorl_arm(c.nodes[0]) > 0)
			;
		before = counts[WAKES];
		for (int i = 0; i < 50; i++)
			if (whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL) != WHORL_OK)
				ck_abort_msg("a message could not be sent");
		before = counts[WAKES] - before;
		ck_assert_uint_eq(before, 1);
		await(recorded(c.records[0]) == 100 * (unsigned long)round + 50, whorl_step(c.nodes[0]));
		before = counts[WAKES];
		for (int i = 0; i < 50; i++)
			if (whorl_send(subgroup_of(&c, 0, "s"), "x", 1, 0, NULL) != WHORL_OK)
				ck_abort_msg("a message could not be sent");
		before = counts[WAKES] - before;
		ck_assert_uint_eq(before, 0);
		await(recorded(c.records[0]) == 100 * (unsigned long)round + 100, whorl_step(c.nodes[0]));
	}
	cluster_free(&c);
}

TEST_SUITE("group: quiet")
