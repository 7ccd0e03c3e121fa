/* nemesis.c - replicas of a server of keys under load, to which anything is done; what the clients have seen is judged.
 *
 *     kv-nemesis [OPTION]... [SECONDS]
 *
 * Clients at all replicas read and write a few keys at once. Meanwhile replicas are killed and started again, stand still for less or more
 * than the failure time-out, and are cut from each other; now and then there is no majority for a while, and then replicas must say
 * so. Where the store is durable all are killed, too. In the end all keys are read from each replica, which must have the same digest, and the histories of the keys are judged
 * (judge.h): each could have been given by one copy, nothing that was acknowledged is lost, and nothing was done twice.
 *
 * WHORL_SEED=n makes another course of it; WHORL_NOTES=1 prints what is done. A history that is wrong goes to the file WHORL_LOGS.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/kv/judge.h"
#include "tests/kv/replicas.h"
#include "tests/patience.h"

#define MS UINT64_C(1000000)
#define FAILURE_MS 500
#define READ_MS 10000
#define LOST_MOST 1024

enum expectation { EXPECT_GOOD, EXPECT_BAD, EXPECT_STALE };

struct plan {
	struct replicas_options replicas;
	struct load_options load;
	uint64_t seed, seconds, fill;
	bool is_calm; /* nothing is done to the replicas */
	bool kills_all;
	bool is_ours; /* they are started here; else they are there already */
	enum expectation expected;
};

struct nemesis {
	struct plan plan;
	struct replicas replicas;
	struct load load;
	struct dice dice;
	struct lost { /* when there was no majority */
		uint64_t from_ns, to_ns;
	} lost[LOST_MOST];
	uint32_t lost_count;
	uint32_t ends;    /* of all */
	uint64_t down_ns; /* that it took until a replica said so, at most */
	uint64_t view;    /* the last */
};

/* ---- what is done ---------------------------------------------------------------------------------------------------------------- */

static uint32_t draw(struct nemesis *n, uint64_t below)
{
	return (uint32_t)command_roll(&n->dice, below);
}

/* Time passes; clients work. */
static void let_pass(struct nemesis *n, uint64_t ms)
{
	for (uint64_t until_ns = resp_now_ns() + ms * MS; resp_now_ns() < until_ns;) {
		static const struct timespec time = {0, 2000000};

		nanosleep(&time, NULL);
		replicas_see_ends(&n->replicas);
	}
}

static uint32_t nodes_of(const struct nemesis *n)
{
	return n->plan.replicas.nodes;
}

/* So many that a majority is left. */
static uint32_t draw_few(struct nemesis *n)
{
	return 1 + draw(n, (nodes_of(n) - 1) / 2);
}

static uint32_t shorter_ms(struct nemesis *n)
{
	return draw(n, n->plan.replicas.failure_ms * 3 / 10);
}

static uint32_t longer_ms(struct nemesis *n)
{
	return n->plan.replicas.failure_ms * 13 / 10 + draw(n, n->plan.replicas.failure_ms);
}

/* Killed, and started again at once or later; a second time on the way in, now and then. */
static void kill_some(struct nemesis *n)
{
	uint32_t first = draw(n, nodes_of(n)), count = draw_few(n);

	for (uint32_t i = 0; i < count; i++) {
		replicas_kill(&n->replicas, (first + i) % nodes_of(n));
		let_pass(n, draw(n, 2) * draw(n, 100));
	}
	let_pass(n, draw(n, 2) * draw(n, 1000));
	if (draw(n, 3) > 0)
		return;
	replicas_start(&n->replicas, first);
	let_pass(n, draw(n, 200));
	replicas_kill(&n->replicas, first);
}

static void stop_shortly(struct nemesis *n)
{
	uint32_t id = draw(n, nodes_of(n));

	replicas_stop(&n->replicas, id, false);
	let_pass(n, shorter_ms(n));
	replicas_continue(&n->replicas, id);
}

/* One stands still while another dies. */
static void kill_beside_a_stop(struct nemesis *n)
{
	uint32_t id = draw(n, nodes_of(n));

	replicas_stop(&n->replicas, id, false);
	let_pass(n, draw(n, 50));
	replicas_kill(&n->replicas, (id + 1 + draw(n, nodes_of(n) - 1)) % nodes_of(n));
	let_pass(n, shorter_ms(n));
	replicas_continue(&n->replicas, id);
}

static void stop_some(struct nemesis *n)
{
	uint32_t first = draw(n, nodes_of(n)), count = draw_few(n);

	for (uint32_t i = 0; i < count; i++)
		replicas_stop(&n->replicas, (first + i) % nodes_of(n), true);
	let_pass(n, longer_ms(n));
	for (uint32_t i = 0; i < count; i++)
		replicas_continue(&n->replicas, (first + i) % nodes_of(n));
}

static void lose_majority(struct nemesis *n, uint64_t from_ns)
{
	if (n->lost_count < LOST_MOST)
		n->lost[n->lost_count++] = (struct lost){from_ns, UINT64_MAX};
}

static void see_down(struct nemesis *n, uint32_t id, uint64_t from_ns)
{
	uint64_t ns = replicas_await_down(&n->replicas, id, from_ns) - from_ns;

	replicas_note(&n->replicas, "replica %" PRIu32 " says that it has no quorum, after %.3f s", id,
		      (double)ns / 1e9);
	if (ns > n->down_ns)
		n->down_ns = ns;
}

/* No majority is left: the others say so. Afterwards there is one again. */
static void stop_most(struct nemesis *n)
{
	uint32_t first = draw(n, nodes_of(n)), count = nodes_of(n) / 2 + 1;
	uint64_t from_ns = resp_now_ns();

	lose_majority(n, from_ns);
	for (uint32_t id = 0; id < nodes_of(n); id++)
		n->replicas.all[id].may_be_removed = true;
	for (uint32_t i = 0; i < count; i++)
		replicas_stop(&n->replicas, (first + i) % nodes_of(n), true);
	for (uint32_t i = count; i < nodes_of(n); i++)
		see_down(n, (first + i) % nodes_of(n), from_ns);
	let_pass(n, draw(n, n->plan.replicas.failure_ms));
	for (uint32_t i = 0; i < count; i++)
		replicas_continue(&n->replicas, (first + i) % nodes_of(n));
}

/* One comes in while there is no majority: it cannot, and says so. */
static void come_in_vain(struct nemesis *n)
{
	uint32_t first = draw(n, nodes_of(n)), count = nodes_of(n) / 2;
	uint64_t from_ns;

	replicas_kill(&n->replicas, first);
	from_ns = resp_now_ns();
	lose_majority(n, from_ns);
	for (uint32_t id = 0; id < nodes_of(n); id++)
		n->replicas.all[id].may_be_removed = true;
	for (uint32_t i = 1; i <= count; i++)
		replicas_stop(&n->replicas, (first + i) % nodes_of(n), true);
	replicas_start(&n->replicas, first);
	replicas_await_loading(&n->replicas, first);
	for (uint32_t i = count + 1; i < nodes_of(n); i++)
		see_down(n, (first + i) % nodes_of(n), from_ns);
	for (uint32_t i = 1; i <= count; i++)
		replicas_continue(&n->replicas, (first + i) % nodes_of(n));
}

static void kill_each(struct nemesis *n, uint32_t pause_ms)
{
	uint32_t first = draw(n, nodes_of(n));

	for (uint32_t i = 0; i < nodes_of(n); i++) {
		replicas_kill(&n->replicas, (first + i) % nodes_of(n));
		let_pass(n, i + 1 < nodes_of(n) ? draw(n, pause_ms + 1) : 0);
	}
	n->ends++;
}

/* At once, or one by one, while the others go on or not. They come back with what their disks have, some before others, and now and then are
 * killed again on their way. */
static void kill_all(struct nemesis *n)
{
	uint32_t some;

	lose_majority(n, resp_now_ns());
	kill_each(n, draw(n, 2) * n->plan.replicas.failure_ms / 5);
	while (draw(n, 3) == 0) {
		for (uint32_t id = 0; id < nodes_of(n); id++)
			replicas_start(&n->replicas, id);
		let_pass(n, draw(n, 2000));
		kill_each(n, draw(n, 2) * 20);
	}
	some = draw(n, nodes_of(n));
	for (uint32_t id = 0; id < some; id++)
		replicas_start(&n->replicas, id);
	let_pass(n, draw(n, 2) * draw(n, 1000));
}

static uint32_t all_of(const struct nemesis *n)
{
	return (1U << nodes_of(n)) - 1;
}

/* One that hears no other, and that clients can reach. */
static void cut_one(struct nemesis *n)
{
	uint32_t id = draw(n, nodes_of(n));

	replicas_cut(&n->replicas, 1U << id, all_of(n) & ~(1U << id));
	see_down(n, id, resp_now_ns());
	let_pass(n, draw(n, 300));
	replicas_heal(&n->replicas);
}

/* First the others do not hear one, and later it does not hear them: so they go on without it while it believes that it is one of them.
 * Mostly nothing is written when that begins, and then elsewhere: for what is on its way to it would keep its reads waiting. */
static void muffle_one(struct nemesis *n)
{
	uint32_t id = draw(n, nodes_of(n)), failure_ms = n->plan.replicas.failure_ms;
	uint64_t begin_ns, from_ns;

	if (draw(n, 4) > 0) {
		atomic_store(&n->load.hushed_server, id);
		atomic_store(&n->load.hushed, true);
		let_pass(n, failure_ms / 5);
	}
	begin_ns = resp_now_ns();
	replicas_muffle(&n->replicas, id);
	let_pass(n, failure_ms * 2 / 10 + draw(n, failure_ms * 6 / 10));
	replicas_cut(&n->replicas, 1U << id, all_of(n) & ~(1U << id));
	from_ns = resp_now_ns();
	while (resp_now_ns() < begin_ns + failure_ms * MS)
		let_pass(n, 5);
	atomic_store(&n->load.hushed, false);
	see_down(n, id, from_ns);
	atomic_store(&n->load.hushed_server, LOAD_SERVERS);
	replicas_heal(&n->replicas);
}

static void cut_shortly(struct nemesis *n)
{
	uint32_t id = draw(n, nodes_of(n));

	replicas_cut(&n->replicas, 1U << id, all_of(n) & ~(1U << id));
	let_pass(n, shorter_ms(n));
	replicas_heal(&n->replicas);
}

/* Two that do not hear each other; one of them is removed. */
static void cut_pair(struct nemesis *n)
{
	uint32_t id = draw(n, nodes_of(n)), other = (id + 1 + draw(n, nodes_of(n) - 1)) % nodes_of(n);

	replicas_cut(&n->replicas, 1U << id, 1U << other);
	let_pass(n, longer_ms(n));
	replicas_heal(&n->replicas);
}

static void cut_all(struct nemesis *n)
{
	uint64_t from_ns = resp_now_ns();

	lose_majority(n, from_ns);
	replicas_cut(&n->replicas, all_of(n), all_of(n));
	from_ns = resp_now_ns();
	for (uint32_t id = 0; id < nodes_of(n); id++)
		see_down(n, id, from_ns);
	replicas_heal(&n->replicas);
}

static void act(struct nemesis *n)
{
	static void (*const acts[])(struct nemesis * n) = {
		kill_some,    kill_some, kill_beside_a_stop, stop_shortly, stop_some, stop_some,   stop_most,
		come_in_vain, cut_one,   muffle_one,         muffle_one,   cut_pair,  cut_shortly, cut_all};

	if (n->plan.kills_all && (n->ends == 0 || draw(n, 2) == 0))
		kill_all(n);
	else
		acts[draw(n, n->plan.replicas.hosts ? 14 : 8)](n);
	replicas_settle(&n->replicas);
	if (n->lost_count > 0 && n->lost[n->lost_count - 1].to_ns == UINT64_MAX)
		n->lost[n->lost_count - 1].to_ns = resp_now_ns();
}

static void harass(struct nemesis *n)
{
	uint64_t until_ns = resp_now_ns() + n->plan.seconds * 1000 * MS;

	while (resp_now_ns() < until_ns) {
		if (n->plan.is_calm)
			let_pass(n, 10);
		else
			act(n);
		let_pass(n, draw(n, 300));
	}
}

/* ---- what has come of it --------------------------------------------------------------------------------------------------------- */

static int by_number(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static bool writes(const struct linear_op *op)
{
	return op->ended_ns != LINEAR_UNKNOWN &&
	       (op->kind != LINEAR_GET || (op->goes_on && op->then.kind != LINEAR_GET));
}

static bool is_lost(const struct nemesis *n, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 0; i < n->lost_count; i++)
		if (from_ns <= n->lost[i].to_ns && to_ns >= n->lost[i].from_ns)
			return true;
	return false;
}

/* The longest time without an acknowledged write, while there was a majority. */
static double longest_gap(const struct nemesis *n, const struct history *all)
{
	uint64_t *ends = calloc(all->count + 1, sizeof(*ends)), longest = 0;
	size_t count = 0;

	if (ends == NULL)
		abort();
	for (size_t i = 0; i < all->count; i++)
		if (writes(&all->ops[i]))
			ends[count++] = all->ops[i].ended_ns;
	qsort(ends, count, sizeof(*ends), by_number);
	for (size_t i = 1; i < count; i++)
		if (ends[i] - ends[i - 1] > longest && !is_lost(n, ends[i - 1], ends[i]))
			longest = ends[i] - ends[i - 1];
	free(ends);
	return (double)longest / 1e9;
}

static void report(struct nemesis *n, const struct judge *judge)
{
	uint64_t ends[COMMAND_ENDS] = {0}, all = 0, connections = 0;

	for (uint32_t i = 0; i < n->load.options.clients; i++) {
		connections += n->load.clients[i].connections;
		for (int end = 0; end < COMMAND_ENDS; end++) {
			ends[end] += n->load.clients[i].ends[end];
			all += n->load.clients[i].ends[end];
		}
	}
	printf("%" PRIu64 " operations in %.1f s on %" PRIu64 " keys: %" PRIu64 " ok, %" PRIu64
	       " unknown, errors: %" PRIu64 " loading, %" PRIu64 " no quorum, %" PRIu64 " out of memory; %" PRIu64
	       " connections\n",
	       all, (double)(n->load.end_ns - n->load.begin_ns) / 1e9, judge->keys, ends[COMMAND_DONE],
	       ends[COMMAND_UNKNOWN], ends[COMMAND_LOADING], ends[COMMAND_CLUSTERDOWN], ends[COMMAND_OOM], connections);
	printf("%" PRIu32 " killed, %" PRIu32 " stopped, %" PRIu32 " cuts, %" PRIu32 " removed (%" PRIu32
	       " of them unasked), %" PRIu32 " times no majority (said within %.3f s), last view %" PRIu64
	       ", longest gap %.3f s\n",
	       n->replicas.kills, n->replicas.stops, n->replicas.cuts, n->replicas.removed, n->replicas.unasked,
	       n->lost_count, (double)n->down_ns / 1e9, n->view, longest_gap(n, &judge->all));
	if (n->plan.kills_all)
		printf("%" PRIu32 " times all were killed\n", n->ends);
}

/* An answer that no such server gives. */
static bool found_odd(const struct load *load)
{
	for (uint32_t i = 0; i < load->options.clients; i++)
		if (load->clients[i].odd[0] != '\0') {
			printf("client %" PRIu32 " had, %s\n", i, load->clients[i].odd);
			return true;
		}
	return false;
}

static void read_all(struct nemesis *n, struct judge *judge)
{
	struct load_options reader = n->load.options;
	char text[160];

	reader.local_reads = false;
	for (uint32_t id = 0; id < reader.servers_count; id++)
		if (!judge_read_all(judge, &reader, id, test_patience(READ_MS), text))
			replicas_fail(&n->replicas, "server %" PRIu32 " cannot be read in the end: %s", id, text);
}

static int conclude(const struct plan *plan, bool good, bool odd, bool stale)
{
	bool expected = plan->expected == EXPECT_GOOD ? good : plan->expected == EXPECT_BAD ? !good : !good && stale;

	if (good)
		printf("one copy could have given all of it\n");
	if (!expected && plan->expected == EXPECT_BAD)
		printf("failed: nothing was found, and something was to be\n");
	if (!expected && plan->expected == EXPECT_STALE)
		printf("failed: a stale read was to be found\n");
	return expected && !odd ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int play(struct nemesis *n)
{
	struct judge judge;
	bool good, odd, stale = false;
	int status;

	if (n->plan.is_ours) {
		replicas_begin(&n->replicas, &n->plan.replicas, &n->plan.load);
		if (!load_fill(&n->plan.load, n->plan.fill, test_patience(READ_MS)))
			replicas_fail(&n->replicas, "replica 0 does not take what it is filled with");
	}
	n->replicas.begin_ns = resp_now_ns();
	load_start(&n->load, &n->plan.load);
	harass(n);
	load_stop(&n->load);
	judge_begin(&judge, &n->load);
	judge.expects_bad = n->plan.expected != EXPECT_GOOD;
	read_all(n, &judge);
	if (n->plan.is_ours) {
		n->view = replicas_compare(&n->replicas);
		replicas_end(&n->replicas);
	}
	report(n, &judge);
	odd = found_odd(&n->load);
	good = judge_all(&judge, &stale);
	status = conclude(&n->plan, good, odd, stale);
	if (n->plan.kills_all && n->ends == 0) {
		printf("failed: there was no time to kill all\n");
		status = EXIT_FAILURE;
	}
	judge_free(&judge);
	load_free(&n->load);
	return status;
}

/* ---- words of the command line --------------------------------------------------------------------------------------------------- */

static int usage(void)
{
	fprintf(stderr, "usage: kv-nemesis [OPTION]... [SECONDS]\n"
			"  --server PROGRAM      whorl-kv\n"
			"  --connect PORT        a server that is there, instead; nothing is done to it\n"
			"  --transport NAME      shm or tcp\n"
			"  --nodes N             replicas, 3 to 8\n"
			"  --hosts               on hosts of their own, which can be cut from each other (hosts.sh)\n"
			"  --durable             what is written is on disks, and all of them are killed, too\n"
			"  --kill-all            the latter alone: what was written is lost\n"
			"  --clients N           threads\n"
			"  --fill N              as many other keys are there, of 1000 bytes each\n"
			"  --calm                nothing is done to the replicas\n"
			"  --reads local         reads that may be stale\n"
			"  --lie KIND            lost, twice, old or torn: a fault that the clients make\n"
			"  --expect KIND         bad or stale: it fails if that is not found\n");
	return 2;
}

/* Which of the words it is; -1: none. */
static int find_word(const char *const *words, int count, const char *word)
{
	for (int i = 0; i < count; i++)
		if (words[i] != NULL && strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static bool take_option(struct plan *plan, int option)
{
	static const char *const lies[LIES] = {NULL, "lost", "twice", "old", "torn"};
	static const char *const expectations[] = {NULL, "bad", "stale"};
	struct server *server = &plan->load.servers[0];
	int word;

	switch (option) {
	case 's':
		plan->replicas.program = optarg;
		return true;
	case 'p':
		snprintf(server->address, sizeof(server->address), "127.0.0.1");
		server->port = (uint16_t)atoi(optarg);
		plan->load.servers_count = 1;
		plan->is_ours = false;
		plan->is_calm = true;
		return server->port > 0;
	case 't':
		plan->replicas.transport = optarg;
		return true;
	case 'n':
		plan->replicas.nodes = (uint32_t)atoi(optarg);
		return plan->replicas.nodes >= 3 && plan->replicas.nodes <= LOAD_SERVERS;
	case 'h':
		plan->replicas.hosts = true;
		return true;
	case 'd':
		plan->replicas.durable = plan->kills_all = true;
		return true;
	case 'k':
		plan->kills_all = true;
		return true;
	case 'c':
		plan->load.clients = (uint32_t)atoi(optarg);
		return plan->load.clients >= 1 && plan->load.clients <= LOAD_CLIENTS;
	case 'f':
		plan->fill = strtoull(optarg, NULL, 10);
		return true;
	case 'q':
		plan->is_calm = true;
		return true;
	case 'r':
		plan->load.local_reads = true;
		return strcmp(optarg, "local") == 0;
	case 'l':
		word = find_word(lies, LIES, optarg);
		plan->load.lie = word > 0 ? (enum lie)word : LIE_NONE;
		return word > 0;
	case 'e':
		word = find_word(expectations, 3, optarg);
		plan->expected = word > 0 ? (enum expectation)word : EXPECT_GOOD;
		return word > 0;
	default:
		return false;
	}
}

static bool read_plan(struct plan *plan, int argc, char **argv)
{
	static const struct option options[] = {
		{"server", required_argument, NULL, 's'},    {"connect", required_argument, NULL, 'p'},
		{"transport", required_argument, NULL, 't'}, {"nodes", required_argument, NULL, 'n'},
		{"hosts", no_argument, NULL, 'h'},           {"clients", required_argument, NULL, 'c'},
		{"fill", required_argument, NULL, 'f'},      {"calm", no_argument, NULL, 'q'},
		{"reads", required_argument, NULL, 'r'},     {"lie", required_argument, NULL, 'l'},
		{"expect", required_argument, NULL, 'e'},    {"durable", no_argument, NULL, 'd'},
		{"kill-all", no_argument, NULL, 'k'},        {NULL, 0, NULL, 0}};
	const char *seed = getenv("WHORL_SEED");
	int option;

	*plan = (struct plan){.replicas = {.program = "build/examples/whorl-kv", .transport = "shm", .nodes = 3},
			      .load = {.clients = 12, .age_ms = 2000, .nap_us = 2000},
			      .seed = seed != NULL ? strtoull(seed, NULL, 0) : 1,
			      .seconds = 30,
			      .fill = 20000,
			      .is_ours = true};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!take_option(plan, option))
			return false;
	if (optind < argc)
		plan->seconds = strtoull(argv[optind++], NULL, 10);
	plan->replicas.failure_ms = (uint32_t)test_patience(FAILURE_MS);
	plan->load.timeout_ms = 2 * plan->replicas.failure_ms;
	plan->load.seed = plan->seed;
	return optind == argc && plan->seconds > 0;
}

int main(int argc, char **argv)
{
	static struct nemesis n; /* large */

	if (!read_plan(&n.plan, argc, argv))
		return usage();
	signal(SIGPIPE, SIG_IGN);
	n.dice.is = n.plan.seed;
	printf("WHORL_SEED=%" PRIu64 ", failure time-out %" PRIu32 " ms\n", n.plan.seed, n.plan.replicas.failure_ms);
	fflush(stdout);
	return play(&n);
}
