/* ids.c - `processes-ids COUNT`: so many processes start at once and ask for any id of a group that has so many, and names none.
 *
 * Each gets an id of its own, and all come into one group. Then no id is free, and the next is refused. One is killed: its id is free
 * at once, and comes in again after a view without it.
 *
 * Of the library it sees the public headers. What each process knows lies in memory that all share. Nothing sleeps to wait for
 * something: it is looked for until it is so, or until the time is up.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <whorl/whorl.h>

#include "tests/patience.h"

#define COUNT_MAX 100
#define PATIENCE_MS ((int)test_patience(60000))

struct board { /* of all processes */
	atomic_bool go, ends;
	struct place {
		atomic_int opened; /* 1 + the result of whorl_open; 0: it has not returned */
		atomic_uint id;
		atomic_uint members; /* of its view */
		atomic_bool is_ready;
		atomic_ulong first;                              /* the view that it came in with */
		atomic_ulong left[COUNT_MAX], joined[COUNT_MAX]; /* by id: 1 + the last view with that; 0: none */
		char error[256];
	} places[COUNT_MAX];
};

static struct crowd {
	struct board *board;
	int count;
	pid_t pids[COUNT_MAX]; /* the parent's own; 0: it has none */
	char config[512];
} crowd;

/* ---- failing -------------------------------------------------------------------------------------------------------- */

_Noreturn __attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	for (int i = 0; i < crowd.count; i++) {
		const struct place *place = &crowd.board->places[i];

		fprintf(stderr, "  process %d: opened %d, id %u, ready %d, members %u; %s\n", i,
			atomic_load(&place->opened), atomic_load(&place->id), atomic_load(&place->is_ready),
			atomic_load(&place->members), place->error);
		if (crowd.pids[i] > 0)
			kill(crowd.pids[i], SIGKILL);
	}
	exit(EXIT_FAILURE);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#define UNTIL(condition)                                                                                               \
	for (uint64_t end_ms_ = now_ms() + (uint64_t)PATIENCE_MS; !(condition); look_again())                          \
		if (now_ms() > end_ms_)                                                                                \
	fail("this never came: %s", #condition)

static void look_again(void)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	nanosleep(&moment, NULL);
}

/* ---- one of the crowd ----------------------------------------------------------------------------------------------- */

static void on_view(const struct whorl_view *view, void *ctx)
{
	struct place *place = ctx;

	if (place == NULL)
		return;
	if (view->joined_count > 0 && atomic_load(&place->members) == 0)
		atomic_store(&place->first, (unsigned long)view->number);
	for (uint32_t i = 0; i < view->left_count; i++)
		atomic_store(&place->left[view->left[i]], 1 + (unsigned long)view->number);
	for (uint32_t i = 0; i < view->joined_count; i++)
		atomic_store(&place->joined[view->joined[i]], 1 + (unsigned long)view->number);
	atomic_store(&place->members, view->member_count);
}

static whorl_config *read_config(void)
{
	whorl_config *config = whorl_config_new();

	if (config == NULL || whorl_config_load_text(config, "ids", crowd.config) != WHORL_OK)
		fail("configuration: %s", whorl_config_error(config));
	return config;
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* That one is killed all the others tell. */
static void on_log(enum whorl_log_level level, const char *line, void *ctx)
{
	(void)ctx;
	if (level == WHORL_LOG_ERROR)
		fprintf(stderr, "%s\n", line);
}

static const struct whorl_open_options options = {.size = sizeof(options), .log = on_log};

static void be_one(struct place *place)
{
	whorl_config *config = read_config();
	enum whorl_result result;
	whorl_node *node;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!atomic_load(&crowd.board->go))
		look_again();
	result = whorl_open(config, WHORL_ANY_ID, &options, &node);
	if (result == WHORL_OK) {
		atomic_store(&place->id, whorl_node_id(node));
		if (whorl_on_view(node, on_view, place) != WHORL_OK || whorl_start(node) != WHORL_OK)
			result = WHORL_SYSTEM;
	}
	snprintf(place->error, sizeof(place->error), "%s", whorl_config_error(config));
	atomic_store(&place->opened, 1 + (int)result);
	if (result != WHORL_OK)
		return;
	result = whorl_ready(node, PATIENCE_MS);
	if (result != WHORL_OK)
		whorl_progress(node, place->error, sizeof(place->error));
	atomic_store(&place->is_ready, result == WHORL_OK);
	while (!atomic_load(&crowd.board->ends))
		look_again();
	(void)whorl_close(node, 0);
	whorl_config_free(config);
}

/* ---- all of them ---------------------------------------------------------------------------------------------------- */

static bool all_are_in(void)
{
	for (int i = 0; i < crowd.count; i++) {
		const struct place *place = &crowd.board->places[i];

		if (atomic_load(&place->opened) > 1 + (int)WHORL_OK)
			fail("process %d is not let in: %s", i, place->error);
		if (!atomic_load(&place->is_ready) || (int)atomic_load(&place->members) != crowd.count)
			return false;
	}
	return true;
}

static void start_all(void)
{
	for (int i = 0; i < crowd.count; i++) {
		crowd.pids[i] = fork();
		if (crowd.pids[i] == 0) {
			be_one(&crowd.board->places[i]);
			_exit(0);
		}
		if (crowd.pids[i] < 0)
			fail("no process: %s", strerror(errno));
	}
	atomic_store(&crowd.board->go, true);
	UNTIL(all_are_in());
}

/* One group: only one process has formed it, with view 0, and that is the one that got the first id. */
static void expect_ids_of_their_own(void)
{
	bool seen[COUNT_MAX] = {false};
	int firsts = 0;

	for (int i = 0; i < crowd.count; i++) {
		const struct place *place = &crowd.board->places[i];
		unsigned id = atomic_load(&place->id);

		if (id >= (unsigned)crowd.count || seen[id])
			fail("two processes have the id %u, or there is no such id", id);
		seen[id] = true;
		if (atomic_load(&place->first) != 0)
			continue;
		firsts++;
		if (id != 0)
			fail("node %u formed the group, expected node 0", id);
	}
	if (firsts != 1)
		fail("%d processes formed a group, expected one", firsts);
}

static void expect_refusal(whorl_config *config)
{
	whorl_node *node;
	enum whorl_result result = whorl_open(config, WHORL_ANY_ID, NULL, &node);

	if (result != WHORL_REFUSED || strstr(whorl_config_error(config), "no id is free") == NULL)
		fail("all ids are taken, and the next is answered: %s (%s)", whorl_result_text(result),
		     whorl_config_error(config));
}

/* Its id is free, no other is, and that one comes in after a view without it. */
static void replace_one(whorl_config *config, int which)
{
	struct place *dead = &crowd.board->places[which], *other = &crowd.board->places[which == 0];
	unsigned id = atomic_load(&dead->id);
	enum whorl_result result;
	whorl_node *node;

	kill(crowd.pids[which], SIGKILL);
	waitpid(crowd.pids[which], NULL, 0);
	crowd.pids[which] = 0;
	result = whorl_open(config, WHORL_ANY_ID, &options, &node);
	if (result != WHORL_OK)
		fail("the id %u is free, and the next is answered: %s (%s)", id, whorl_result_text(result),
		     whorl_config_error(config));
	if (whorl_node_id(node) != id)
		fail("got the id %u, expected %u", whorl_node_id(node), id);
	if (whorl_start(node) != WHORL_OK || whorl_ready(node, PATIENCE_MS) != WHORL_OK)
		fail("node %u is not ready", id);
	UNTIL(atomic_load(&other->left[id]) != 0 && atomic_load(&other->joined[id]) > atomic_load(&other->left[id]));
	expect_refusal(config);
	(void)whorl_close(node, 0);
}

int main(int argc, char **argv)
{
	whorl_config *config;

	crowd.count = argc > 1 ? atoi(argv[1]) : 0;
	if (crowd.count < 2 || crowd.count > COUNT_MAX) {
		fprintf(stderr, "usage: %s COUNT, from 2 to %d\n", argv[0], COUNT_MAX);
		return 2;
	}
	crowd.board = mmap(NULL, sizeof(*crowd.board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crowd.board == MAP_FAILED) {
		perror("mmap");
		return EXIT_FAILURE;
	}
	raise_limit();
	snprintf(crowd.config, sizeof(crowd.config),
		 "[group]\nname = ids-%d\nnodes = 0\nnodes_max = %d\nfailure_timeout_ms = %d\n[subgroup s]\nwindow = 1\n"
		 "message_bytes = 16\n",
		 (int)getpid(), crowd.count, PATIENCE_MS / 3);
	config = read_config();
	start_all();
	expect_ids_of_their_own();
	expect_refusal(config);
	replace_one(config, crowd.count / 2);
	atomic_store(&crowd.board->ends, true);
	while (wait(NULL) > 0)
		;
	whorl_config_free(config);
	return EXIT_SUCCESS;
}
