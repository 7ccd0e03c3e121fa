/* joins.c - groups of processes on shared memory that begin, grow and shrink. */
#include <stdio.h>
#include <string.h>

#include "tests/processes/scenarios.h"
#include "tests/processes/strangers.h"

#define MS UINT64_C(1000000)

/* A group has four members at first, nodes 0 to 3, and there may be eight. */
enum { LEADER = 0, FIRST = 4, ALL = 8 };

static bool is_held(const struct cluster *c, uint32_t life)
{
	return c->board->state[life].stage >= STAGE_OPEN;
}

/* ---- the first view ------------------------------------------------------------------------------------------------- */

/* Starts nodes `from` to 3 (to 7) in an order that is drawn, `skip` not among them. */
static void start_in_any_order(struct cluster *c, uint32_t from, uint32_t skip)
{
	uint32_t ids[ALL], count = 0;

	for (uint32_t id = from; id < c->options.nodes; id++)
		if (id != skip)
			ids[count++] = id;
	while (count > 0) {
		uint64_t at = cluster_draw(c, count);

		cluster_add(c, ids[at], NULL);
		ids[at] = ids[--count];
	}
}

/* All that start together form one group, whichever is first. */
static void start_together(struct cluster *c)
{
	start_in_any_order(c, 0, ALL);
	cluster_settle(c);
	cluster_end(c, true);
}

static void start_without_one(struct cluster *c)
{
	uint32_t absent = (uint32_t)cluster_draw(c, c->options.nodes);

	start_in_any_order(c, 0, absent);
	cluster_settle(c);
	cluster_add(c, absent, NULL);
	cluster_settle(c);
	cluster_end(c, true);
}

/* A node that starts before the founder waits for it. */
static void start_founder_last(struct cluster *c)
{
	uint64_t begin = now_ns();

	start_in_any_order(c, 1, ALL);
	UNTIL(c, cluster_all(c, is_held));
	cluster_at(begin, 300 * MS);
	for (uint32_t life = 0; life < c->lives; life++)
		if (cluster_is_ready(c, life))
			cluster_fail(c, "life %u is in a group that has not been founded", life);
	cluster_add(c, 0, NULL);
	cluster_settle(c);
	cluster_end(c, true);
}

static void start_founder_first(struct cluster *c)
{
	cluster_add(c, 0, NULL);
	cluster_settle(c);
	start_in_any_order(c, 1, ALL);
	cluster_settle(c);
	cluster_end(c, true);
}

static bool is_seeking(const struct cluster *c, uint32_t life)
{
	return c->board->state[life].stage == STAGE_OPEN;
}

/* Three of five are killed in turn. The two that go on stand still, and the three are started again: a majority of the configured
 * nodes. On one host they see that two ids are held by processes that say nothing, and wait for as long as that is so. */
static void restart_while_others_stand_still(struct cluster *c)
{
	uint32_t lives[3];
	uint64_t begin;

	cluster_warm_up(c);
	for (uint32_t victim = 4; victim >= 2; victim--) {
		cluster_kill(c, victim);
		cluster_recover(c);
	}
	cluster_stop(c, 0);
	cluster_stop(c, 1);
	for (uint32_t i = 0; i < 3; i++)
		lives[i] = cluster_add(c, 2 + i, NULL);
	for (uint32_t i = 0; i < 3; i++)
		UNTIL(c, is_seeking(c, lives[i]));
	begin = now_ns();
	cluster_at(begin, 10 * c->options.start_timeout_ms * MS);
	for (uint32_t i = 0; i < 3; i++)
		if (!is_seeking(c, lives[i]))
			cluster_fail(c, "life %u is in a second group", lives[i]);
	cluster_continue(c, 0, FATE_LIVES);
	cluster_continue(c, 1, FATE_LIVES);
	cluster_settle(c);
	cluster_end(c, true);
}

/* ---- coming in ------------------------------------------------------------------------------------------------------ */

static bool has_said_all(const struct cluster *c, uint32_t life)
{
	const struct state *state = c->board->state;

	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t s = 0; s < c->lives; s++)
			if (state[life].delivered[g][s] != state[s].committed[g])
				return false;
	return true;
}

/* Each says something at first, and then nothing. */
static void join_idle(struct cluster *c)
{
	c->board->nap_us = UINT32_MAX;
	for (uint32_t id = 0; id < c->options.nodes; id++)
		cluster_add(c, id, NULL);
	UNTIL(c, cluster_all(c, cluster_is_ready));
	UNTIL(c, cluster_all(c, has_said_all));
	cluster_add(c, FIRST, NULL);
	UNTIL(c, cluster_all(c, cluster_is_in_view));
	UNTIL(c, cluster_all(c, cluster_is_ready));
	UNTIL(c, cluster_all(c, has_said_all));
	cluster_end(c, true);
}

/* And nobody is suspected because of it. */
static void join_busy(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t id = FIRST; id < FIRST + 2; id++) {
		cluster_add(c, id, NULL);
		cluster_settle(c);
	}
	cluster_end(c, true);
}

/* Three may come into one view of four members, so two views follow. */
static void join_at_once(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t id = FIRST; id < ALL; id++)
		cluster_add(c, id, NULL);
	cluster_settle(c);
	cluster_end(c, true);
}

static void join_while_leader_dies(struct cluster *c)
{
	uint64_t begin;

	cluster_warm_up(c);
	begin = now_ns();
	cluster_add(c, FIRST, NULL);
	cluster_at(begin, cluster_draw(c, 12 * MS));
	cluster_kill(c, LEADER);
	cluster_settle(c);
	cluster_end(c, true);
}

/* And the group takes no notice. */
static void join_and_die(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t n = 0; n < 12; n++) {
		uint64_t begin = now_ns();
		uint32_t life = cluster_add(c, FIRST + n % 2, NULL);

		cluster_at(begin, cluster_draw(c, 12 * MS));
		cluster_kill(c, life);
		cluster_see_end(c, life, false);
		if (n % 3 != 0)
			continue;
		UNTIL(c, cluster_all(c, cluster_is_in_view));
		cluster_deliver(c, 100);
	}
	cluster_settle(c);
	cluster_tidy(c);
	cluster_end(c, true);
}

static bool is_out(const struct cluster *c, uint32_t life)
{
	return c->board->state[life].error == WHORL_REMOVED;
}

static bool is_in_or_out(const struct cluster *c, uint32_t life)
{
	return cluster_is_ready(c, life) || is_out(c, life);
}

/* A node that stands still on its way in holds up the group for the time-out at most; afterwards it comes in, or has been
 * removed. */
static void join_and_stop(struct cluster *c)
{
	uint64_t begin;
	uint32_t life;
	bool was_in;
	double gap;

	cluster_warm_up(c);
	begin = now_ns();
	life = cluster_add(c, FIRST, NULL);
	cluster_at(begin, cluster_draw(c, 12 * MS));
	cluster_watch_gaps(c);
	begin = now_ns();
	cluster_stop(c, life);
	while (now_ns() < begin + 2 * c->options.timeout_ms * MS)
		cluster_pass(c, UINT64_MAX, "time passes");
	cluster_deliver(c, 500);
	gap = cluster_longest_gap_ms(c);
	if (gap > 1.5 * c->options.timeout_ms)
		cluster_fail(c, "nothing is delivered for %.0f ms", gap);
	was_in = cluster_is_ready(c, life);
	cluster_continue(c, life, FATE_DOUBTFUL);
	UNTIL(c, was_in ? is_out(c, life)
			: is_in_or_out(c, life)); /* a node that was in has been removed, and does not know it yet */
	c->children[life].fate = is_out(c, life) ? FATE_REMOVED : FATE_LIVES;
	cluster_settle(c);
	cluster_end(c, true);
}

/* ---- coming back ---------------------------------------------------------------------------------------------------- */

static void return_at_once(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t n = 0; n < 3; n++) { /* the leader of the time is the oldest: 0, 1, 2 */
		cluster_kill(c, n);
		cluster_see_end(c, n, false); /* until then the id is in use */
		cluster_add(c, n, NULL);
		cluster_settle(c);
	}
	cluster_tidy(c);
	cluster_end(c, true);
}

static void return_later(struct cluster *c)
{
	uint32_t victim = (uint32_t)cluster_draw(c, c->options.nodes);

	cluster_warm_up(c);
	cluster_kill(c, victim);
	cluster_recover(c);
	cluster_add(c, victim, NULL);
	cluster_settle(c);
	cluster_tidy(c);
	cluster_end(c, true);
}

/* Nodes that leave wait for no other, and the last goes on alone until others come. */
static void leave_all_but_one(struct cluster *c)
{
	bool one_by_one = cluster_draw(c, 2) == 0;
	uint32_t last = (uint32_t)cluster_draw(c, c->options.nodes);

	cluster_warm_up(c);
	for (uint32_t id = 0; id < c->options.nodes; id++) {
		if (id == last)
			continue;
		cluster_leave(c, id);
		if (one_by_one)
			cluster_settle(c);
	}
	for (uint32_t id = 0; id < c->options.nodes; id++)
		if (id != last)
			cluster_see_end(c, id, true);
	cluster_settle(c);
	cluster_add(c, (last + 1) % c->options.nodes, NULL);
	cluster_settle(c);
	for (uint32_t id = FIRST; id < FIRST + 2; id++)
		cluster_add(c, id, NULL);
	cluster_settle(c);
	cluster_leave(c, last);
	cluster_see_end(c, last, true);
	cluster_settle(c);
	cluster_end(c, true);
}

/* ---- nodes that must not come in ------------------------------------------------------------------------------------ */

/* The view is that of before, and nobody waited. */
static void see_undisturbed(struct cluster *c)
{
	double gap;

	cluster_deliver(c, 500);
	gap = cluster_longest_gap_ms(c);
	for (uint32_t id = 0; id < c->options.nodes; id++)
		if (c->board->state[id].view != 0)
			cluster_fail(c, "the view has changed");
	if (gap > 2000)
		cluster_fail(c, "nothing is delivered for %.0f ms", gap);
}

static bool somebody_logs(const struct cluster *c, const char *one, const char *other)
{
	for (uint32_t id = 0; id < c->options.nodes; id++) {
		const struct state *state = &c->board->state[id];

		for (uint32_t n = 0; n < LINES && n < state->line_count; n++)
			if (strstr(state->lines[n], one) != NULL && strstr(state->lines[n], other) != NULL)
				return true;
	}
	return false;
}

static void refuse_other_window(struct cluster *c)
{
	static const char *const quirks[] = {"subgroup main.window=33", "group.failure_timeout_ms=4321",
					     "subgroup loose.message_bytes=16", "group.nodes_max=7"};
	uint32_t life;

	cluster_warm_up(c);
	cluster_watch_gaps(c);
	life = cluster_add(c, FIRST, quirks[cluster_draw(c, sizeof(quirks) / sizeof(quirks[0]))]);
	cluster_see_refused(c, life);
	UNTIL(c, somebody_logs(c, "node 4 ", "not let in") || somebody_logs(c, "node 4 ", "refused"));
	see_undisturbed(c);
	cluster_end(c, true);
}

/* The id of a member, and one that two want at the same time. */
static void refuse_same_id(struct cluster *c)
{
	uint32_t one, other;

	cluster_warm_up(c);
	cluster_watch_gaps(c);
	cluster_see_refused(c, cluster_add(c, (uint32_t)cluster_draw(c, c->options.nodes), NULL));
	see_undisturbed(c);
	one = cluster_add(c, FIRST, NULL);
	other = cluster_add(c, FIRST, NULL);
	c->children[one].fate = c->children[other].fate = FATE_REFUSED; /* one of them */
	UNTIL(c, c->board->state[one].error != WHORL_OK || c->board->state[other].error != WHORL_OK);
	if (c->board->state[one].error != WHORL_OK) {
		uint32_t swap = one;

		one = other;
		other = swap;
	}
	cluster_see_refused(c, other);
	c->children[one].fate = FATE_LIVES;
	cluster_settle(c);
	cluster_end(c, true);
}

static void suffer_strangers(struct cluster *c, size_t bytes)
{
	struct strangers strangers;

	cluster_warm_up(c);
	cluster_watch_gaps(c);
	strangers_come(&strangers, c, 12, bytes);
	see_undisturbed(c);
	cluster_add(c, FIRST, NULL);
	cluster_settle(c);
	strangers_go(&strangers);
	cluster_add(c, FIRST + 1, NULL);
	cluster_settle(c);
	cluster_end(c, true);
}

static void suffer_silence(struct cluster *c)
{
	suffer_strangers(c, 0);
}

static void suffer_bad_messages(struct cluster *c)
{
	suffer_strangers(c, 1 + cluster_draw(c, 4000));
}

/* ---- states --------------------------------------------------------------------------------------------------------- */

/* The newcomer asks another when it has read a part. */
static void giver_dies(struct cluster *c)
{
	uint64_t goal = cluster_draw(c, c->options.body_bytes / 2);
	const struct state *state;

	cluster_warm_up(c);
	c->board->pause_us = 2000;
	state = &c->board->state[cluster_add(c, FIRST, NULL)];
	UNTIL(c, state->taken > goal);
	if (state->stage == STAGE_READY)
		cluster_fail(c, "the state came too quickly");
	cluster_kill(c, LEADER);
	cluster_settle(c);
	if (state->taken < goal + c->options.body_bytes)
		cluster_fail(c, "nobody has begun anew");
	cluster_end(c, true);
}

/* Two newcomers, and every subgroup has a state of some size, the first one two: one in each shard. */
static void many_states(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_add(c, FIRST, NULL);
	cluster_add(c, FIRST + 1, NULL);
	cluster_settle(c);
	cluster_end(c, true);
}

/* ---- which nodes send ----------------------------------------------------------------------------------------------- */

/* Once of its own accord, once because another wants it. */
static void rest_and_send(struct cluster *c)
{
	uint32_t life = 1 + (uint32_t)cluster_draw(c, c->options.nodes - 1);
	const struct state *state = &c->board->state[life];

	cluster_warm_up(c);
	for (int asked = 0; asked < 2; asked++) {
		uint64_t view = state->view, committed;

		cluster_order(c, asked ? life - 1 : life, asked ? ORDER_ASK_TO_REST : ORDER_REST);
		UNTIL(c, state->view > view && (state->sends & 1) == 0);
		committed = state->committed[0];
		cluster_deliver(c, 2000);
		if (state->committed[0] != committed)
			cluster_fail(c, "life %u sends while it rests", life);
		view = state->view;
		cluster_order(c, asked ? life - 1 : life, asked ? ORDER_ASK_TO_SEND : ORDER_SEND);
		UNTIL(c, state->view > view && (state->sends & 1) != 0 && state->committed[0] > committed + 100);
	}
	cluster_settle(c);
	cluster_end(c, true);
}

/* ---- all of them ---------------------------------------------------------------------------------------------------- */

/* What waits for a time-out has failed; and the busy are not suspected. */
#define LONG 120000
#define SHORT 700
#define GROWING(ms) .nodes = 4, .nodes_max = ALL, .timeout_ms = (ms)

static const struct scenario scenarios[] = {
	{.name = "start-together",
	 .run = start_together,
	 .options = {.nodes = 8, .timeout_ms = LONG},
	 .starts_itself = true},
	{.name = "start-without-one",
	 .run = start_without_one,
	 .options = {GROWING(LONG), .start_timeout_ms = 300, .records = true},
	 .starts_itself = true},
	{.name = "restart-beside-the-silent",
	 .run = restart_while_others_stand_still,
	 .options = {.nodes = 5, .nodes_max = 5, .timeout_ms = 700, .start_timeout_ms = 200}},
	{.name = "start-founder-last",
	 .run = start_founder_last,
	 .options = {GROWING(LONG), .founder = true, .records = true},
	 .starts_itself = true},
	{.name = "start-founder-first",
	 .run = start_founder_first,
	 .options = {GROWING(LONG), .founder = true, .records = true},
	 .starts_itself = true},
	{.name = "join-idle", .run = join_idle, .options = {GROWING(LONG)}, .starts_itself = true},
	{.name = "join-busy", .run = join_busy, .options = {GROWING(2000)}},
	{.name = "join-at-once", .run = join_at_once, .options = {GROWING(LONG)}},
	{.name = "join-while-leader-dies", .run = join_while_leader_dies, .options = {GROWING(LONG)}},
	{.name = "join-and-die", .run = join_and_die, .options = {GROWING(LONG)}},
	{.name = "join-and-stop", .run = join_and_stop, .options = {GROWING(SHORT)}},
	{.name = "return-at-once", .run = return_at_once, .options = {GROWING(LONG)}},
	{.name = "return-later", .run = return_later, .options = {GROWING(LONG)}},
	{.name = "leave-all-but-one", .run = leave_all_but_one, .options = {GROWING(LONG)}},
	/* The view must not change: all four are in the first, however slow the machine. */
	{.name = "refuse-other-window",
	 .run = refuse_other_window,
	 .options = {GROWING(LONG), .start_timeout_ms = 20000}},
	{.name = "refuse-same-id", .run = refuse_same_id, .options = {GROWING(LONG), .start_timeout_ms = 20000}},
	{.name = "suffer-silence", .run = suffer_silence, .options = {GROWING(LONG)}},
	{.name = "suffer-bad-messages", .run = suffer_bad_messages, .options = {GROWING(LONG)}},
	{.name = "giver-dies", .run = giver_dies, .options = {GROWING(LONG), .body_bytes = 8 << 20, .body_groups = 1}},
	{.name = "many-states",
	 .run = many_states,
	 .options = {GROWING(LONG), .body_bytes = 4 << 20, .body_groups = 7, .shards = 2}},
	{.name = "rest-and-send", .run = rest_and_send, .options = {GROWING(2000)}},
};

int main(int argc, char **argv)
{
	return scenarios_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
