/* trusts.c - replicated trusts, and processes that are killed.
 *
 *     processes-trusts shm|tcp KILLS
 *
 * Each process adds to one property of a shard, one call after the other, and says on a board that all of them share what it was answered. Some
 * are killed with SIGKILL while they do, and others come in their place; now and then the workers of all are slow, so that those that
 * come are given a state that its giver's worker has not come to yet. In the end what was answered to any of them, the dead too, is in what those
 * that are left have, and nothing was done twice.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <whorl/delegate.h>

#include "tests/patience.h"
#include "tests/ports.h"

#define IDS 5
#define FOUNDERS 3
#define LIVES 64
#define PATIENCE_MS ((int)test_patience(30000))

/* ---- the property ---------------------------------------------------------------------------------------------------------------- */

struct tally {
	uint64_t count, repeats;
	uint64_t last[LIVES]; /* of each life: the newest that has come from it */
};

struct tick {
	uint64_t life, number;
};

static struct board {
	atomic_bool stop, slow;
	struct life {
		atomic_uint_fast64_t made, answered, in_doubt, newest; /* newest: that was answered */
		atomic_bool ready, still, done;                        /* still: it adds no more; done: it has looked */
		uint32_t id;
		pid_t pid;
		bool killed;
		struct tally in_the_end;
	} lives[LIVES];
	char config[1024];
} * board;

static void pause_ns(long ns)
{
	const struct timespec pause = {.tv_nsec = ns};

	nanosleep(&pause, NULL);
}

static WHORL_TYPE(tally_type, struct tally, NULL);

/* How long it takes is no matter for what it does. */
WHORL_FUNCTION(tally_tick, struct tally, struct tick, uint64_t, WHORL_DETERMINISTIC)
{
	if (atomic_load(&board->slow))
		pause_ns(500000);
	property->repeats += args->number <= property->last[args->life % LIVES];
	property->last[args->life % LIVES] = args->number;
	*result = ++property->count;
}

WHORL_FUNCTION(tally_read, struct tally, struct whorl_none, struct tally, WHORL_DETERMINISTIC | WHORL_READ)
{
	*result = *property;
}

/* ---- a process ------------------------------------------------------------------------------------------------------------------- */

_Noreturn static void give_up(const struct life *me, const char *what, enum whorl_result result)
{
	fprintf(stderr, "node %u: %s: %s (%s)\n", (unsigned)me->id, what, whorl_result_text(result),
		whorl_invalid_text());
	_exit(3);
}

#define MUST(call)                                                                                                     \
	do {                                                                                                           \
		enum whorl_result result_ = (call);                                                                    \
		if (result_ != WHORL_OK)                                                                               \
			give_up(me, #call, result_);                                                                   \
	} while (0)

static whorl_node *open_node(const struct life *me, bool joins)
{
	whorl_config *config = whorl_config_new();
	enum whorl_result result = WHORL_TIMEOUT;
	whorl_node *node = NULL;
	char text[1200];

	snprintf(text, sizeof(text), board->config, joins ? "join" : "auto");
	MUST(whorl_config_load_text(config, "processes", text));
	/* The life of that node that was killed may not be gone for the others yet. */
	for (int tries = 0; tries < PATIENCE_MS / 5 && (result = whorl_open(config, me->id, NULL, &node)) != WHORL_OK;
	     tries++)
		pause_ns(5000000);
	MUST(result);
	whorl_config_free(config);
	return node;
}

static bool is_still(struct life *life)
{
	return atomic_load(&life->still);
}

static bool is_done(struct life *life)
{
	return atomic_load(&life->done);
}

/* Of those that live. */
static void await_all(bool (*is)(struct life *life))
{
	for (uint64_t i = 0; i < LIVES; i++)
		while (board->lives[i].pid != 0 && !board->lives[i].killed && !is(&board->lives[i]))
			pause_ns(1000000);
}

static void live(struct life *me, uint64_t number, bool joins)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};
	whorl_node *node = open_node(me, joins);
	whorl_subgroup *shard = whorl_subgroup_find(node, "s");
	struct whorl_trust trust;
	whorl_work *work;

	MUST(whorl_work_open(node, &options, &work));
	MUST(whorl_work_serve(work, shard, 1));
	MUST(whorl_start(node));
	MUST(whorl_ready(node, PATIENCE_MS));
	MUST(whorl_entrust(work, whorl_at_shard(shard), &tally_type, NULL, 0, &trust, PATIENCE_MS));
	atomic_store(&me->ready, true);
	while (!atomic_load(&board->stop)) {
		struct tick tick = {number, atomic_fetch_add(&me->made, 1) + 1};
		uint64_t count;
		enum whorl_result result = whorl_apply(&trust, tally_tick, &tick, &count, PATIENCE_MS);

		if (result == WHORL_OK) {
			atomic_store(&me->newest, tick.number);
			atomic_fetch_add(&me->answered, 1);
		} else if (result == WHORL_IN_DOUBT) {
			atomic_fetch_add(&me->in_doubt, 1);
		} else if (result == WHORL_NO_QUORUM) {
			pause_ns(1000000);
		} else {
			give_up(me, "whorl_apply", result);
		}
	}
	atomic_store(&me->still, true);
	await_all(is_still);
	MUST(whorl_trust_reads(&trust, WHORL_READS_LINEARIZABLE));
	MUST(whorl_apply(&trust, tally_read, NULL, &me->in_the_end, PATIENCE_MS));
	atomic_store(&me->done, true);
	await_all(is_done); /* nobody goes before all have looked */
	(void)whorl_work_close(work, 1000);
	(void)whorl_close(node, 1000);
}

/* ---- the parent ------------------------------------------------------------------------------------------------------------------ */

static uint64_t lives;

_Noreturn static void fail(const char *what)
{
	printf("%s\n", what);
	for (uint64_t i = 0; i < lives; i++) {
		const struct life *life = &board->lives[i];

		printf("life %u of node %u%s: made %u, answered %u, in doubt %u, newest %u; ready %d, done %d\n",
		       (unsigned)i, (unsigned)life->id, life->killed ? ", killed" : "", (unsigned)life->made,
		       (unsigned)life->answered, (unsigned)life->in_doubt, (unsigned)life->newest, (int)life->ready,
		       (int)life->done);
		if (life->pid > 0 && !life->killed)
			kill(life->pid, SIGKILL);
	}
	exit(1);
}

static void begin(uint32_t id, bool joins)
{
	struct life *life = &board->lives[lives];
	pid_t pid;

	life->id = id;
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("no process");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live(life, lives, joins);
		_exit(0);
	}
	life->pid = pid;
	lives++;
}

static void see_to(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint64_t i = 0; i < lives; i++)
			if (board->lives[i].pid == pid && !board->lives[i].killed && !atomic_load(&board->lives[i].done))
				fail("a process has ended unasked");
}

#define UNTIL(condition)                                                                                               \
	do {                                                                                                           \
		for (int waited_ = 0; !(condition); waited_++) {                                                       \
			see_to();                                                                                      \
			if (waited_ > 2 * PATIENCE_MS)                                                                 \
				fail("it took too long until " #condition);                                            \
			pause_ns(1000000);                                                                             \
		}                                                                                                      \
	} while (0)

static bool all_ready(void)
{
	for (uint64_t i = 0; i < lives; i++)
		if (!board->lives[i].killed && !atomic_load(&board->lives[i].ready))
			return false;
	return true;
}

static uint64_t answered(void)
{
	uint64_t all = 0;

	for (uint64_t i = 0; i < lives; i++)
		all += board->lives[i].answered;
	return all;
}

static bool all_have_answers(uint64_t more)
{
	static uint64_t before[LIVES];
	bool have = true;

	if (more == 0) {
		for (uint64_t i = 0; i < lives; i++)
			before[i] = board->lives[i].answered;
		return true;
	}
	for (uint64_t i = 0; i < lives; i++)
		have = have && (board->lives[i].killed || board->lives[i].answered >= before[i] + more);
	return have;
}

static void deliver(uint64_t more)
{
	(void)all_have_answers(0);
	UNTIL(all_have_answers(more));
}

/* One of those that live; and another life of its node comes in its place, while the workers lag. */
static void kill_one(unsigned *dice)
{
	uint64_t at;

	do
		at = (uint64_t)rand_r(dice) % lives;
	while (board->lives[at].killed);
	atomic_store(&board->slow, rand_r(dice) % 2 == 0);
	pause_ns(rand_r(dice) % 20000000);
	board->lives[at].killed = true;
	kill(board->lives[at].pid, SIGKILL);
	begin(board->lives[at].id, true);
	UNTIL(all_ready());
	atomic_store(&board->slow, false);
	deliver(20);
}

static bool all_done(void)
{
	for (uint64_t i = 0; i < lives; i++)
		if (!board->lives[i].killed && !atomic_load(&board->lives[i].done))
			return false;
	return true;
}

/* Each call was answered, or is in doubt, or never came to be answered since its process was killed. */
static void judge(void)
{
	const struct tally *end = NULL;
	uint64_t made = 0;

	for (uint64_t i = 0; i < lives; i++) {
		const struct life *life = &board->lives[i];

		made += life->made;
		if (life->killed)
			continue;
		end = end == NULL ? &life->in_the_end : end;
		if (memcmp(end, &life->in_the_end, sizeof(*end)) != 0)
			fail("the members differ");
	}
	if (end == NULL || end->repeats != 0)
		fail("a call has run twice");
	for (uint64_t i = 0; i < lives; i++)
		if (end->last[i] < board->lives[i].newest)
			fail("what was answered is lost");
	if (end->count < answered() || end->count > made)
		fail("the members have more or less than was done");
	printf("%u processes, %u answered, value %u\n", (unsigned)lives, (unsigned)answered(), (unsigned)end->count);
}

static void add_ports(void)
{
	unsigned ports[IDS];

	if (!test_find_ports(ports, IDS))
		fail("no port");
	for (unsigned i = 0; i < IDS; i++) {
		size_t used = strlen(board->config);

		snprintf(board->config + used, sizeof(board->config) - used, "[node %u]\naddress = 127.0.0.1:%u\n", i,
			 ports[i]);
	}
}

int main(int argc, char **argv)
{
	unsigned dice = (unsigned)time(NULL);
	int kills = argc == 3 ? atoi(argv[2]) : 0;

	if (kills < 1 || kills > LIVES - IDS || (strcmp(argv[1], "shm") != 0 && strcmp(argv[1], "tcp") != 0)) {
		fprintf(stderr, "usage: processes-trusts shm|tcp KILLS\n");
		return 2;
	}
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		return 2;
	snprintf(board->config, sizeof(board->config),
		 "[group]\nname = trusts-%d\nnodes = %d\nnodes_max = %d\ntransport = %s\nfailure_timeout_ms = 2000\n"
		 "start = %%s\n[engine]\nidle = adaptive\n[subgroup s]\nwindow = 64\n",
		 (int)getpid(), FOUNDERS, IDS, argv[1]);
	if (strcmp(argv[1], "tcp") == 0)
		add_ports();
	for (uint32_t id = 0; id < IDS; id++)
		begin(id, id >= FOUNDERS);
	UNTIL(all_ready());
	deliver(50);
	for (int i = 0; i < kills; i++)
		kill_one(&dice);
	atomic_store(&board->stop, true);
	UNTIL(all_done());
	judge();
	return 0;
}
