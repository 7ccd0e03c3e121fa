/* durable.c - groups of processes with durable subgroups, all of which end, and come back to what their disks have.
 *
 * What must be so is judged at the end by again.c: over all that has happened there is one sequence of messages.
 */
#include <stdio.h>
#include <string.h>

#include "tests/processes/damage.h"
#include "tests/processes/disks.h"
#include "tests/processes/scenarios.h"
#include "tests/sanitizer.h"

#define MS UINT64_C(1000000)
#define ROUNDS (WITH_SANITIZER ? 2 : 5)

/* ---- all of them ---------------------------------------------------------------------------------------------------- */

static uint32_t life_of(const struct cluster *c, uint32_t id)
{
	uint32_t life = c->lives - 1;

	while (c->board->state[life].id != id)
		life--;
	return life;
}

/* All ids, in an order that is drawn. */
static void shuffle(struct cluster *c, uint32_t ids[MEMBERS_MAX])
{
	for (uint32_t i = 0; i < c->options.nodes; i++) {
		uint32_t at = (uint32_t)cluster_draw(c, i + 1);

		ids[i] = ids[at];
		ids[at] = i;
	}
}

static void wait_a_while(struct cluster *c, uint64_t below_ns)
{
	if (below_ns > 0)
		cluster_at(now_ns(), cluster_draw(c, below_ns));
}

/* Kills those that live, in that order, and sees their ends. Between two of them there is some time below `pause_ns`. */
static void kill_all(struct cluster *c, const uint32_t *ids, uint64_t pause_ns)
{
	for (uint32_t i = 0; i < c->options.nodes; i++) {
		uint32_t life = life_of(c, ids[i]);

		if (c->children[life].ended || c->children[life].fate == FATE_KILLED)
			continue;
		if (i > 0)
			wait_a_while(c, pause_ns);
		cluster_kill(c, life);
	}
	for (uint32_t i = 0; i < c->options.nodes; i++) {
		uint32_t life = life_of(c, ids[i]);

		if (!c->children[life].ended)
			cluster_see_end(c, life, false);
	}
	cluster_note(c, "all are killed");
	for (uint32_t id = 0; id < (cluster_is_on_one_host(c) ? 1 : c->options.nodes); id++)
		disks_lose_power(c, id);
}

static void return_some(struct cluster *c, const uint32_t *ids, uint32_t from, uint32_t to, uint64_t pause_ns)
{
	for (uint32_t i = from; i < to; i++) {
		cluster_note(c, "node %u comes as life %u", ids[i], c->lives);
		cluster_add(c, ids[i], NULL);
		wait_a_while(c, pause_ns);
	}
}

static void return_all(struct cluster *c, uint64_t pause_ns)
{
	uint32_t ids[MEMBERS_MAX];

	shuffle(c, ids);
	return_some(c, ids, 0, c->options.nodes, pause_ns);
}

static void go_on(struct cluster *c)
{
	cluster_settle(c);
	cluster_deliver(c, cluster_draw(c, 3000));
}

static bool is_whole(const struct cluster *c, uint32_t life)
{
	for (uint32_t g = 0; g < GROUPS; g++)
		if (groups[g].ordered && (c->board->state[life].whole >> g & 1) == 0)
			return false;
	return true;
}

/* Until any disk has all: also of those that have been given the state. */
static void become_whole(struct cluster *c)
{
	cluster_settle(c);
	UNTIL(c, cluster_all(c, is_whole));
}

/* ---- they come back ------------------------------------------------------------------------------------------------- */

/* All are killed, at once or one by one, and the disks of some are lost: of those that were killed first, so that no view that had begun
 * without them is one of which there are too few. */
static void lose_some(struct cluster *c, uint32_t most, uint64_t pause_ns)
{
	uint32_t ids[MEMBERS_MAX], lost = (uint32_t)cluster_draw(c, most + 1);

	become_whole(c);
	shuffle(c, ids);
	kill_all(c, ids, pause_ns);
	for (uint32_t i = 0; i < lost; i++) {
		cluster_note(c, "node %u loses its disk", ids[i]);
		disks_lose(c, ids[i]);
	}
	return_all(c, cluster_draw(c, 2) * 50 * MS);
	go_on(c);
}

static void kill_at_once(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t n = 0; n < ROUNDS; n++)
		lose_some(c, (c->options.nodes - 1) / 2, 0);
	cluster_end(c, true);
}

static void lose_one_by_one(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t n = 0; n < ROUNDS; n++)
		lose_some(c, (c->options.nodes - 1) / 2, 1 + cluster_draw(c, 200 * MS));
	cluster_end(c, true);
}

/* One is killed, and then another, while those that go on do or not. */
static void kill_one_by_one(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX];

	cluster_warm_up(c);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		shuffle(c, ids);
		if (cluster_draw(c, 2) == 0) {
			cluster_kill(c, life_of(c, ids[0]));
			cluster_settle(c);
		}
		kill_all(c, ids, 1 + cluster_draw(c, 40 * MS));
		return_all(c, cluster_draw(c, 2) * 50 * MS);
		go_on(c);
	}
	cluster_end(c, true);
}

/* They are killed again on their way back, at any time. */
static void kill_on_the_way(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX];

	cluster_warm_up(c);
	for (uint32_t n = 0; n < 2 * ROUNDS; n++) {
		shuffle(c, ids);
		kill_all(c, ids, cluster_draw(c, 2) * 10 * MS);
		return_all(c, 0);
		cluster_at(now_ns(), cluster_draw(c, 500 * MS));
	}
	go_on(c);
	shuffle(c, ids);
	kill_all(c, ids, 0);
	return_all(c, 0);
	go_on(c);
	cluster_end(c, true);
}

static void turn_round(const struct cluster *c, uint32_t ids[MEMBERS_MAX])
{
	for (uint32_t i = 0; i < c->options.nodes / 2; i++) {
		uint32_t other = ids[i];

		ids[i] = ids[c->options.nodes - 1 - i];
		ids[c->options.nodes - 1 - i] = other;
	}
}

/* Some go on, the others come in later: more than half of them; on one host, where they read the disks of the others, any number. Those
 * that were killed last come first: they are members of the newest view. */
static void return_in_two(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX], nodes = c->options.nodes;

	cluster_warm_up(c);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t least = cluster_is_on_one_host(c) ? 1 : nodes / 2 + 1,
			 first = least + (uint32_t)cluster_draw(c, nodes - least);

		shuffle(c, ids);
		become_whole(c);
		kill_all(c, ids, 0);
		turn_round(c, ids);
		return_some(c, ids, 0, first, 0);
		go_on(c);
		if (cluster_draw(c, 2) == 0)
			disks_lose(c, ids[first]);
		return_some(c, ids, first, nodes, 0);
		go_on(c);
	}
	cluster_end(c, true);
}

static void see_waiting(struct cluster *c)
{
	uint64_t begin = now_ns();

	while (now_ns() < begin + 5 * c->options.start_timeout_ms * MS)
		cluster_pass(c, UINT64_MAX, "time passes");
	for (uint32_t life = 0; life < c->lives; life++)
		if (c->children[life].fate == FATE_LIVES && c->board->state[life].stage != STAGE_OPEN)
			cluster_fail(c, "life %u is in a group that has too few disks", life);
}

/* ---- damage ---------------------------------------------------------------------------------------------------------- */

/* Any number of logs have something behind their last batch that is none, as after a loss of power: it is cut off, and they count. */
static void tear_tails(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX];

	cluster_warm_up(c);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		become_whole(c);
		shuffle(c, ids);
		kill_all(c, ids, cluster_draw(c, 2) * 20 * MS);
		for (uint32_t i = cluster_draw(c, 2); i < c->options.nodes; i++)
			damage_tail(c, ids[i], groups[cluster_draw(c, 2)].name);
		return_all(c, cluster_draw(c, 2) * 50 * MS);
		go_on(c);
	}
	cluster_end(c, true);
}

/* In the logs of some bits have turned, or a file is shorter than it was made; their nodes are given the state by others. */
static void turn_bits(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX], most = (c->options.nodes - 1) / 2;

	cluster_warm_up(c);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		uint32_t count = 1 + (uint32_t)cluster_draw(c, most);

		become_whole(c);
		shuffle(c, ids);
		kill_all(c, ids, 0);
		for (uint32_t i = 0; i < count; i++) {
			const char *name = groups[cluster_draw(c, 2)].name;
			struct damage_turned turned;

			if (cluster_draw(c, 4) == 0)
				damage_shorten(c, ids[i], name);
			else
				damage_turn(c, ids[i], name, &turned);
		}
		return_all(c, cluster_draw(c, 2) * 50 * MS);
		go_on(c);
	}
	cluster_end(c, true);
}

/* Does one of those that live say that? */
static bool says(const struct cluster *c, const char *text)
{
	for (uint32_t life = 0; life < c->lives; life++)
		if (c->children[life].fate == FATE_LIVES && strstr(c->board->state[life].progress, text) != NULL)
			return true;
	return false;
}

/* In all logs of a shard bits have turned: then there is none that has all, and they say so, and wait. Nothing of them was changed: when the bits
 * are what they were all is there. */
static void turn_all(struct cluster *c)
{
	struct damage_turned turned[MEMBERS_MAX];
	uint32_t ids[MEMBERS_MAX];
	char text[100];

	cluster_warm_up(c);
	become_whole(c);
	shuffle(c, ids);
	kill_all(c, ids, 0);
	for (uint32_t id = 0; id < c->options.nodes; id++)
		damage_turn(c, id, groups[0].name, &turned[id]);
	return_all(c, 0);
	snprintf(text, sizeof(text), "all of the log of %s", groups[0].name);
	UNTIL(c, says(c, text));
	see_waiting(c);
	kill_all(c, ids, 0);
	for (uint32_t id = 0; id < c->options.nodes; id++)
		damage_turn_back(c, &turned[id]);
	return_all(c, 0);
	go_on(c);
	cluster_end(c, true);
}

/* ---- they do not ---------------------------------------------------------------------------------------------------- */

/* Does one of those that wait name the nodes that are missing, the first ones, and no other? The others may name that one. */
static bool names(const struct cluster *c, const uint32_t *ids, uint32_t missing)
{
	char expected[80] = "missing:";
	uint64_t bits = 0;

	for (uint32_t i = 0; i < missing; i++)
		bits |= UINT64_C(1) << ids[i];
	for (uint32_t id = 0; id < c->options.nodes; id++)
		if (bits >> id & 1)
			snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), " %u", id);
	for (uint32_t i = missing; i < c->options.nodes; i++) {
		const char *said = strstr(c->board->state[life_of(c, ids[i])].progress, "missing:");

		if (said != NULL && strcmp(said, expected) == 0)
			return true;
	}
	return false;
}

/* More than half are missing: those that are there, which were killed first, so that they know of no smaller view, say which, and wait
 * until they come. On one host they go on with the disks of those, if they are of the newest view. */
static void wait_for_most(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX], nodes = c->options.nodes, missing = nodes / 2 + 1;

	cluster_warm_up(c);
	shuffle(c, ids);
	kill_all(c, ids, 0);
	if (!cluster_is_on_one_host(c))
		turn_round(c, ids);
	return_some(c, ids, missing, nodes, 0);
	if (cluster_is_on_one_host(c)) {
		go_on(c);
	} else {
		UNTIL(c, names(c, ids, missing));
		see_waiting(c);
	}
	return_some(c, ids, 0, missing, 20 * MS);
	go_on(c);
	cluster_end(c, true);
}

/* So do they if these have no disks any more. Those that are killed first keep theirs, so that no view has begun without the
 * others. Then the disks are found again. */
static void lose_most(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX], nodes = c->options.nodes, missing = nodes / 2 + 1;

	cluster_warm_up(c);
	shuffle(c, ids);
	kill_all(c, ids, 0);
	for (uint32_t i = nodes - missing; i < nodes; i++)
		disks_take_away(c, ids[i]);
	return_all(c, 0);
	see_waiting(c);
	kill_all(c, ids, 0);
	for (uint32_t i = nodes - missing; i < nodes; i++) {
		disks_lose(c, ids[i]);
		disks_put_back(c, ids[i]);
	}
	return_all(c, 0);
	go_on(c);
	cluster_end(c, true);
}

/* ---- the first view ------------------------------------------------------------------------------------------------- */

/* It takes all. */
static void form_with_all(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX], nodes = c->options.nodes;

	shuffle(c, ids);
	return_some(c, ids, 1, nodes, 0);
	UNTIL(c, names(c, ids, 1));
	see_waiting(c);
	return_some(c, ids, 0, 1, 0);
	go_on(c);
	cluster_end(c, true);
}

/* They are killed while they form it. */
static void kill_while_forming(struct cluster *c)
{
	uint32_t ids[MEMBERS_MAX];

	for (uint32_t n = 0; n < 2 * ROUNDS; n++) {
		return_all(c, cluster_draw(c, 2) * 20 * MS);
		cluster_at(now_ns(), cluster_draw(c, 200 * MS));
		shuffle(c, ids);
		kill_all(c, ids, cluster_draw(c, 2) * 10 * MS);
	}
	return_all(c, 0);
	go_on(c);
	cluster_end(c, true);
}

#define NODES(n) .nodes = (n), .nodes_max = (n), .timeout_ms = 3000, .start_timeout_ms = 400, .durable = true
#define LOG .log_bytes = 1 << 20

#define POWER .preload = POWER_LIBRARY

static const struct scenario scenarios[] = {
	{.name = "at-once-3", .run = kill_at_once, .options = {NODES(3), LOG}},
	{.name = "at-once-5", .run = kill_at_once, .options = {NODES(5), LOG}},
	{.name = "one-by-one-3", .run = kill_one_by_one, .options = {NODES(3), LOG}},
	{.name = "one-by-one-5", .run = kill_one_by_one, .options = {NODES(5), LOG}},
	{.name = "one-by-one-lost", .run = lose_one_by_one, .options = {NODES(5), LOG}},
	{.name = "torn-tails", .run = tear_tails, .options = {NODES(5), LOG}},
	{.name = "turned-bits", .run = turn_bits, .options = {NODES(5), LOG}},
	{.name = "turned-bits-of-all", .run = turn_all, .options = {NODES(5)}},
	{.name = "on-the-way-3", .run = kill_on_the_way, .options = {NODES(3), LOG}},
	{.name = "on-the-way-5", .run = kill_on_the_way, .options = {NODES(5), LOG}},
	{.name = "in-two", .run = return_in_two, .options = {NODES(5), LOG}},
	{.name = "wait-for-most", .run = wait_for_most, .options = {NODES(5), LOG}},
	{.name = "lose-most", .run = lose_most, .options = {NODES(5), LOG}},
	{.name = "form-with-all", .run = form_with_all, .options = {NODES(5), LOG}, .starts_itself = true},
	{.name = "kill-while-forming", .run = kill_while_forming, .options = {NODES(3), LOG}, .starts_itself = true},
	{.name = "power-at-once-3", .run = kill_at_once, .options = {NODES(3), LOG, POWER}},
	{.name = "power-at-once-5", .run = kill_at_once, .options = {NODES(5), LOG, POWER}},
	{.name = "power-one-by-one", .run = kill_one_by_one, .options = {NODES(5), LOG, POWER}},
	{.name = "power-on-the-way-3", .run = kill_on_the_way, .options = {NODES(3), LOG, POWER}},
	{.name = "power-on-the-way-5", .run = kill_on_the_way, .options = {NODES(5), LOG, POWER}},
	{.name = "power-in-two", .run = return_in_two, .options = {NODES(5), LOG, POWER}},
	{.name = "power-while-forming",
	 .run = kill_while_forming,
	 .options = {NODES(3), LOG, POWER},
	 .starts_itself = true},
};

int main(int argc, char **argv)
{
	return scenarios_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
