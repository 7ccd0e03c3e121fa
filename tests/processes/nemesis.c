/* nemesis.c - a group of processes under load, to which anything is done at any time.
 *
 *     processes-nemesis [SECONDS]
 *
 * Two groups, half of the time each. In the second one a member is spared, so that it can be seen what a long life leaves
 * behind. A round does some things to the group, shortly after one another or all at once: members are killed, stand still
 * for less or more than the failure time-out, leave, rest; nodes join and come back, some of them are killed or stopped on
 * their way in, some are not wanted. Then each node that stands still goes on, and all must settle: one view of all that live, in
 * which messages are delivered. WHORL_SEED=n makes another course of it; on failure the last things that were done are
 * printed.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/processes/cluster.h"
#include "tests/processes/member.h"
#include "tests/processes/scenarios.h"
#include "tests/sanitizer.h"

#define MS UINT64_C(1000000)
#define TIMEOUT_MS 1000
#define NODES 5
#define NOBODY UINT32_MAX
#define LEAK_BYTES (UINT64_C(24) << 20)

struct nemesis {
	struct cluster c;
	uint32_t spared; /* a life; NOBODY */
	uint64_t begin_ns, until_ns;
	uint64_t wakes_ns[LIVES_MAX]; /* of a node that stands still: when it goes on */
	uint64_t memory;              /* of the one that is spared, at first */
	uint32_t rounds, kills, stops, joins, leaves, rests, removed;
	double longest_s; /* that it took to settle */
};

/* ---- which nodes are there ------------------------------------------------------------------------------------------ */

static const struct state *state_of(const struct nemesis *n, uint32_t life)
{
	return &n->c.board->state[life];
}

static enum fate fate_of(const struct nemesis *n, uint32_t life)
{
	return n->c.children[life].fate;
}

static bool was_member(const struct nemesis *n, uint32_t life)
{
	return state_of(n, life)->members != 0;
}

/* Of that id. */
static bool is_last_life(const struct nemesis *n, uint32_t life)
{
	for (uint32_t later = life + 1; later < n->c.lives; later++)
		if (state_of(n, later)->id == state_of(n, life)->id)
			return false;
	return true;
}

/* Does a life of that node have the id? The end of a killed life is seen to. */
static bool is_there(struct nemesis *n, uint32_t id)
{
	for (uint32_t life = 0; life < n->c.lives; life++) {
		if (state_of(n, life)->id != id || n->c.children[life].ended)
			continue;
		if (fate_of(n, life) != FATE_KILLED)
			return true;
		cluster_see_end(&n->c, life, false);
	}
	return false;
}

static uint32_t count_living(const struct nemesis *n)
{
	uint32_t count = 0;

	for (uint32_t life = 0; life < n->c.lives; life++)
		count += fate_of(n, life) == FATE_LIVES;
	return count;
}

/* One of those that live, and may be harmed. */
static uint32_t draw_victim(struct nemesis *n)
{
	uint32_t lives[LIVES_MAX], count = 0;

	for (uint32_t life = 0; life < n->c.lives; life++)
		if (fate_of(n, life) == FATE_LIVES && life != n->spared)
			lives[count++] = life;
	return count > 0 ? lives[cluster_draw(&n->c, count)] : NOBODY;
}

/* On a network no view goes on without a configured node (docs/decisions/0032). */
static bool has_configured(const struct nemesis *n, uint32_t victim)
{
	for (uint32_t life = 0; life < n->c.lives; life++)
		if (fate_of(n, life) == FATE_LIVES && life != victim && was_member(n, life) &&
		    state_of(n, life)->id < NODES)
			return true;
	return cluster_is_on_one_host(&n->c);
}

/* Of a member of the latest view: no quorum is taken of it. */
static bool is_uncounted(const struct nemesis *n, uint32_t life)
{
	if (fate_of(n, life) == FATE_LEAVES)
		return !n->c.children[life].ended;
	return fate_of(n, life) == FATE_KILLED && cluster_is_on_one_host(&n->c) && is_last_life(n, life) &&
	       was_member(n, life);
}

/* May `victim` go, for good or for long; `uncounted`: in a way that takes it out of the count? A group goes on with more than half of a view, whatever view may have begun by
 * now: newcomers that are dead may be in it, members that have left are not counted, nor are those that were killed on this host. */
static bool may_go(const struct nemesis *n, uint32_t victim, bool uncounted)
{
	uint64_t latest = 0, members = 0;
	uint32_t alive = 0, count, lost = 0;

	for (uint32_t life = 0; life < n->c.lives; life++) {
		const struct state *state = state_of(n, life);
		bool good = fate_of(n, life) == FATE_LIVES && life != victim;

		if (was_member(n, life) && state->view >= latest && !n->c.children[life].ended) {
			latest = state->view;
			members = state->members;
		}
		alive += good && was_member(n, life);
		lost += !good && !was_member(n, life) && !n->c.children[life].ended;
	}
	count = (uint32_t)__builtin_popcountll(members) - (uncounted && was_member(n, victim));
	for (uint32_t life = 0; life < n->c.lives; life++)
		count -= is_uncounted(n, life) && (members >> state_of(n, life)->id & 1) != 0;
	return 2 * alive > count + lost && has_configured(n, victim);
}

/* ---- what is done to them ------------------------------------------------------------------------------------------- */

static void kill_one(struct nemesis *n)
{
	uint32_t life = draw_victim(n);

	if (life == NOBODY || !may_go(n, life, cluster_is_on_one_host(&n->c)))
		return;
	cluster_note(&n->c, "node %u (life %u) is killed", state_of(n, life)->id, life);
	cluster_kill(&n->c, life);
	n->kills++;
}

static void stop_one(struct nemesis *n)
{
	uint32_t life = draw_victim(n);
	bool is_long = cluster_draw(&n->c, 2) == 0;
	uint64_t ms = is_long ? TIMEOUT_MS * 13 / 10 + cluster_draw(&n->c, TIMEOUT_MS)
			      : cluster_draw(&n->c, TIMEOUT_MS * 3 / 10);

	/* Now and then there is no quorum until it is back. */
	if (life == NOBODY || (is_long && !may_go(n, life, false) && cluster_draw(&n->c, 6) > 0))
		return;
	cluster_note(&n->c, "node %u (life %u) stands still for %" PRIu64 " ms", state_of(n, life)->id, life, ms);
	cluster_stop(&n->c, life);
	n->wakes_ns[life] = now_ns() + ms * MS;
	n->stops++;
}

static void wake(struct nemesis *n, uint64_t now)
{
	for (uint32_t life = 0; life < n->c.lives; life++)
		if (fate_of(n, life) == FATE_STOPPED && n->wakes_ns[life] <= now) {
			cluster_note(&n->c, "node %u (life %u) goes on", state_of(n, life)->id, life);
			cluster_continue(&n->c, life, FATE_DOUBTFUL);
		}
}

static void leave_one(struct nemesis *n)
{
	uint32_t life = draw_victim(n);

	if (life == NOBODY || !may_go(n, life, true) || !cluster_is_ready(&n->c, life))
		return;
	cluster_note(&n->c, "node %u (life %u) leaves", state_of(n, life)->id, life);
	cluster_leave(&n->c, life);
	n->leaves++;
}

static void join_one(struct nemesis *n)
{
	uint32_t id = (uint32_t)cluster_draw(&n->c, MEMBERS_MAX), life;

	if (is_there(n, id) || n->c.lives + 20 > LIVES_MAX)
		return;
	life = cluster_add(&n->c, id, NULL);
	cluster_note(&n->c, "node %u (life %u) comes", id, life);
	n->joins++;
}

/* On its way in something may happen to it. */
static void join_and_suffer(struct nemesis *n)
{
	uint32_t lives = n->c.lives;
	uint64_t begin = now_ns();

	join_one(n);
	if (n->c.lives == lives)
		return;
	cluster_at(begin, cluster_draw(&n->c, 12 * MS));
	if (!may_go(n, lives, false))
		return;
	if (cluster_draw(&n->c, 2) == 0) {
		cluster_note(&n->c, "life %u is killed on its way", lives);
		cluster_kill(&n->c, lives);
		n->kills++;
	} else {
		cluster_note(&n->c, "life %u stands still on its way", lives);
		cluster_stop(&n->c, lives);
		n->wakes_ns[lives] = now_ns() + cluster_draw(&n->c, 2 * TIMEOUT_MS) * MS;
		n->stops++;
	}
}

/* The id is taken, or the configuration is another one. */
static void join_in_vain(struct nemesis *n)
{
	uint32_t victim = draw_victim(n), id = (uint32_t)cluster_draw(&n->c, MEMBERS_MAX), life;

	if (n->c.lives + 20 > LIVES_MAX)
		return;
	if (victim != NOBODY && state_of(n, victim)->stage >= STAGE_OPEN && cluster_draw(&n->c, 2) == 0) {
		cluster_note(&n->c, "node %u comes once more", state_of(n, victim)->id);
		cluster_see_refused(&n->c, cluster_add(&n->c, state_of(n, victim)->id, NULL)); /* while that lives */
	} else if (!is_there(n, id)) {
		life = cluster_add(&n->c, id, "subgroup side.window=9");
		cluster_note(&n->c, "node %u (life %u) is not wanted", id, life);
		n->c.children[life].fate = FATE_REFUSED;
	}
}

static void rest_one(struct nemesis *n)
{
	uint32_t life = draw_victim(n);
	bool rests = cluster_draw(&n->c, 2) == 0;

	if (life == NOBODY)
		return;
	cluster_note(&n->c, "node %u (life %u) %s", state_of(n, life)->id, life, rests ? "rests" : "sends");
	cluster_order(&n->c, life, rests ? ORDER_REST : ORDER_SEND);
	n->rests++;
}

static void act(struct nemesis *n)
{
	static void (*const acts[])(struct nemesis * n) = {kill_one, kill_one, stop_one,        stop_one,     leave_one,
							   join_one, join_one, join_and_suffer, join_in_vain, rest_one};
	uint32_t living = count_living(n);
	uint64_t drawn = cluster_draw(&n->c, sizeof(acts) / sizeof(acts[0]));

	if (living < 4 && cluster_draw(&n->c, 2) == 0)
		join_one(n);
	else
		acts[drawn](n);
}

/* ---- rounds --------------------------------------------------------------------------------------------------------- */

/* All logs together have their room, for the whole time; else the load changes. States come quickly, or less so. */
static void set_load(struct nemesis *n)
{
	static const uint32_t naps_us[] = {0, 0, 0, 2000, 6000};
	double passed = (double)(now_ns() - n->begin_ns) / (double)(n->until_ns - n->begin_ns);

	n->c.board->pause_us = (uint32_t)cluster_draw(&n->c, 3) * 1000;
	n->c.board->nap_us = n->c.board->chunks > 100 + 0.9 * CHUNKS * passed
				     ? 30000
				     : naps_us[cluster_draw(&n->c, sizeof(naps_us) / sizeof(naps_us[0]))];
}

/* Time passes, in which each node that is to go on does. */
static void let_pass(struct nemesis *n, uint64_t ns)
{
	for (uint64_t until = now_ns() + ns; now_ns() < until; wake(n, now_ns()))
		cluster_pass(&n->c, UINT64_MAX, "time passes");
}

static void harass(struct nemesis *n)
{
	uint64_t acts = 1 + cluster_draw(&n->c, 7);

	while (acts-- > 0) {
		act(n);
		if (cluster_draw(&n->c, 3) > 0)
			let_pass(n, cluster_draw(&n->c, 300 * MS));
	}
}

static bool still_stands(const struct nemesis *n)
{
	for (uint32_t life = 0; life < n->c.lives; life++)
		if (fate_of(n, life) == FATE_STOPPED)
			return true;
	return false;
}

/* Has it gone on to live, or was it removed? Nobody else knows. */
static bool is_alive(const struct nemesis *n, uint32_t life)
{
	return fate_of(n, life) == FATE_LIVES ||
	       (fate_of(n, life) == FATE_DOUBTFUL && state_of(n, life)->error != WHORL_REMOVED);
}

static bool has_settled(const struct nemesis *n)
{
	uint64_t living = 0;

	for (uint32_t life = 0; life < n->c.lives; life++)
		if (is_alive(n, life))
			living |= UINT64_C(1) << state_of(n, life)->id;
	for (uint32_t life = 0; life < n->c.lives; life++)
		if (is_alive(n, life) && (state_of(n, life)->members != living || !cluster_is_ready(&n->c, life)))
			return false;
	return true;
}

static void see_ends(struct nemesis *n)
{
	for (uint32_t life = 0; life < n->c.lives; life++) {
		if (n->c.children[life].ended || fate_of(n, life) == FATE_LIVES)
			continue;
		if (fate_of(n, life) == FATE_REFUSED)
			cluster_see_refused(&n->c, life);
		if (fate_of(n, life) == FATE_REMOVED || fate_of(n, life) == FATE_REFUSED)
			cluster_close(&n->c, life);
		cluster_see_end(&n->c, life, false);
	}
}

static void settle(struct nemesis *n)
{
	uint64_t begin;
	double took_s;

	while (still_stands(n))
		let_pass(n, 10 * MS);
	begin = now_ns();
	cluster_note(&n->c, "all settle");
	UNTIL(&n->c, has_settled(n));
	for (uint32_t life = 0; life < n->c.lives; life++)
		if (fate_of(n, life) == FATE_DOUBTFUL) {
			n->c.children[life].fate = is_alive(n, life) ? FATE_LIVES : FATE_REMOVED;
			n->removed += !is_alive(n, life);
		}
	see_ends(n);
	took_s = (double)(now_ns() - begin) / 1e9;
	if (took_s > n->longest_s)
		n->longest_s = took_s;
	cluster_note(&n->c, "all have settled, in %.3f s", took_s);
	n->c.board->nap_us = 0;
	for (uint32_t life = 0; life < n->c.lives; life++)
		if (fate_of(n, life) == FATE_LIVES && cluster_draw(&n->c, 2) == 0)
			cluster_order(&n->c, life, ORDER_SEND);
	cluster_order(&n->c, n->c.lives - 1, ORDER_SEND);
	cluster_settle(&n->c);
	n->rounds++;
}

/* ---- what is left --------------------------------------------------------------------------------------------------- */

static uint64_t memory_of(pid_t pid)
{
	char path[40], line[200];
	unsigned long long kb = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "RssAnon: %llu", &kb) == 1)
			break;
	if (file != NULL)
		fclose(file);
	return kb * 1024;
}

/* As many as at first, and all of them send. */
static void restore(struct nemesis *n)
{
	while (count_living(n) > NODES) {
		uint32_t life = draw_victim(n);

		cluster_leave(&n->c, life);
		cluster_see_end(&n->c, life, true);
	}
	for (uint32_t id = 0; count_living(n) < NODES; id++)
		if (!is_there(n, id))
			cluster_add(&n->c, id, NULL);
	for (uint32_t life = 0; life < n->c.lives; life++)
		if (fate_of(n, life) == FATE_LIVES)
			cluster_order(&n->c, life, ORDER_SEND);
	cluster_settle(&n->c);
	cluster_tidy(&n->c);
}

/* A life that has seen all the others come and go has not grown with them. */
static void check_memory(struct nemesis *n)
{
	uint64_t now;

	if (n->spared == NOBODY)
		return;
	now = memory_of(n->c.children[n->spared].pid);
	printf("%" PRIu64 " kB of memory at first, %" PRIu64 " now, ", n->memory >> 10, now >> 10);
	if (!WITH_SANITIZER && now > n->memory + LEAK_BYTES)
		cluster_fail(&n->c, "life %u had %" PRIu64 " kB of memory at first, and has %" PRIu64 " kB now",
			     n->spared, n->memory / 1024, now / 1024);
}

static void play(struct nemesis *n, const char *transport, uint64_t seed, uint64_t ns, bool spares)
{
	const struct cluster_options options = {.nodes = NODES,
						.nodes_max = MEMBERS_MAX,
						.timeout_ms = TIMEOUT_MS,
						.body_bytes = 2 << 20,
						.body_groups = 3,
						.transport = transport,
						.seed = seed};

	*n = (struct nemesis){.spared = NOBODY};
	printf("nemesis, seed %" PRIu64 ", %.0f s: ", seed, (double)ns / 1e9);
	fflush(stdout);
	cluster_start(&n->c, &options);
	cluster_warm_up(&n->c);
	cluster_measure(&n->c);
	if (spares) {
		n->spared = (uint32_t)cluster_draw(&n->c, NODES);
		n->memory = memory_of(n->c.children[n->spared].pid);
	}
	n->begin_ns = now_ns();
	n->until_ns = n->begin_ns + ns;
	while (now_ns() < n->until_ns && n->c.lives + 40 < LIVES_MAX) {
		set_load(n);
		harass(n);
		settle(n);
	}
	restore(n);
	check_memory(n);
	printf("%u rounds, %u killed, %u stopped, %u removed, %u left, %u joined, %u rests, view %" PRIu64
	       ", settled within %.2f s, ",
	       n->rounds, n->kills, n->stops, n->removed, n->leaves, n->joins, n->rests,
	       state_of(n, n->c.lives - 1)->view, n->longest_s);
	fflush(stdout);
	cluster_end(&n->c, true);
	printf("all agree\n");
}

int main(int argc, char **argv)
{
	const char *text = getenv("WHORL_SEED"), *transport = scenarios_transport(&argc, &argv);
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 1;
	static struct nemesis n; /* large */
	int seconds = argc > 1 ? atoi(argv[1]) : 30;

	if (member_wanted(argc, argv))
		return member_main(argv);
	if (argc > 2 || seconds < 1) {
		fprintf(stderr, "usage: processes-nemesis [--transport NAME] [SECONDS]\n");
		return 2;
	}
	for (int spares = 0; spares < 2; spares++)
		play(&n, transport, seed + (uint64_t)spares, (uint64_t)seconds * 500 * MS, spares);
	return EXIT_SUCCESS;
}
