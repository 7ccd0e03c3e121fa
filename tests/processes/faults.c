/* faults.c - a group of processes on shared memory, or tcp, and what befalls it. */

#include "tests/processes/scenarios.h"

/* Of 5: nodes 0 to 3 send. */
enum { LEADER = 0, SENDER = 2, RELAY = 3, RECEIVER = 4 };

/* ---- nothing befalls it ----------------------------------------------------------------------------------------------- */

static void nothing(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_end(c, true);
}

/* ---- death ---------------------------------------------------------------------------------------------------------- */

static void kill_and_go_on(struct cluster *c, uint32_t victim)
{
	cluster_warm_up(c);
	cluster_kill(c, victim);
	cluster_recover(c);
	cluster_end(c, true);
}

static void kill_leader(struct cluster *c)
{
	kill_and_go_on(c, LEADER);
}

static void kill_sender(struct cluster *c)
{
	kill_and_go_on(c, SENDER);
}

static void kill_receiver(struct cluster *c)
{
	kill_and_go_on(c, RECEIVER);
}

/* With relays, in the middle of the chains of all others but one: bytes of theirs have come to it, and have not gone on. */
static void kill_relay(struct cluster *c)
{
	kill_and_go_on(c, RELAY);
}

static void kill_two(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_kill(c, LEADER);
	cluster_kill(c, SENDER);
	cluster_recover(c);
	cluster_end(c, true);
}

static bool somebody_is_in_view(const struct cluster *c, uint64_t view)
{
	for (uint32_t id = 0; id < c->options.nodes; id++)
		if (c->board->state[id].view >= view)
			return true;
	return false;
}

/* The leader that made the view dies when the first member has installed it. */
static void kill_next_leader(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_kill(c, LEADER);
	UNTIL(c, somebody_is_in_view(c, 1));
	cluster_kill(c, LEADER + 1);
	cluster_recover(c);
	cluster_end(c, true);
}

/* Each view is a majority of the one before: 5, 4, 3, 2. */
static void kill_one_by_one(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t victim = 0; victim < 3; victim++) {
		cluster_kill(c, victim);
		cluster_recover(c);
	}
	cluster_end(c, true);
}

static void exit_without_close(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_exit(c, SENDER);
	cluster_recover(c);
	cluster_end(c, true);
}

/* A claim that is opened in one view and committed in the next, or the next but one. */
static void kill_during_claim(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_order(c, SENDER, ORDER_HOLD);
	UNTIL(c, c->board->state[SENDER].holding);
	for (uint32_t victim = 0; victim <= c->options.seed % 2; victim++) {
		cluster_kill(c, victim);
		UNTIL(c, cluster_all(c, cluster_is_in_view));
	}
	cluster_order(c, SENDER, ORDER_RELEASE);
	UNTIL(c, !c->board->state[SENDER].holding);
	cluster_recover(c);
	cluster_end(c, true);
}

/* ---- standing still ------------------------------------------------------------------------------------------------- */

static void stop_and_go_on(struct cluster *c, uint32_t victim, void stop(struct cluster *c, uint32_t id))
{
	cluster_warm_up(c);
	stop(c, victim);
	cluster_recover(c);
	cluster_continue(c, victim, FATE_REMOVED);
	cluster_see_removed(c, victim);
	cluster_recover(c);
	cluster_end(c, true);
}

static void stop_leader(struct cluster *c)
{
	stop_and_go_on(c, LEADER, cluster_stop);
}

static void stop_sender(struct cluster *c)
{
	stop_and_go_on(c, SENDER, cluster_stop);
}

static void stop_reading(struct cluster *c)
{
	stop_and_go_on(c, RECEIVER, cluster_stop_reading);
}

static void stop_leader_reading(struct cluster *c)
{
	stop_and_go_on(c, LEADER, cluster_stop_reading);
}

/* With a claim open: its commit comes after the removal. */
static void stop_during_claim(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_order(c, SENDER, ORDER_HOLD);
	UNTIL(c, c->board->state[SENDER].holding);
	cluster_stop(c, SENDER);
	cluster_recover(c);
	cluster_continue(c, SENDER, FATE_REMOVED);
	cluster_see_removed(c, SENDER);
	cluster_order(c, SENDER, ORDER_RELEASE);
	UNTIL(c, !c->board->state[SENDER].holding);
	cluster_end(c, true);
}

static bool nobody_delivers(struct cluster *c)
{
	uint32_t slot = board_slot(c->board, now_ns());
	uint64_t sum = 0;

	for (uint32_t id = 0; id < c->options.nodes && slot >= 2; id++)
		sum += c->board->state[id].slot[slot - 1] + c->board->state[id].slot[slot - 2];
	return sum == 0;
}

static bool is_in_first_view(const struct cluster *c, uint32_t id)
{
	const struct state *state = &c->board->state[id];

	return state->view == 0 && state->error == WHORL_OK;
}

/* Shorter than the time-out: everybody waits, nobody is removed. */
static void stop_shortly(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_stop(c, SENDER);
	UNTIL(c, nobody_delivers(c));
	cluster_continue(c, SENDER, FATE_LIVES);
	cluster_recover(c);
	if (!cluster_all(c, is_in_first_view))
		cluster_fail(c, "somebody was removed");
	cluster_end(c, true);
}

/* Longer than the time-out, but most of them: the others must wait. Of those that come back the last may be too late. */
static void stop_most(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t id = 0; id < 3; id++)
		cluster_stop(c, id);
	cluster_see_no_quorum(c);
	for (uint32_t id = 0; id < 3; id++)
		cluster_continue(c, id, FATE_DOUBTFUL);
	cluster_deliver(c, 500);
	cluster_end(c, true);
}

/* Of two nobody can be too late. */
static void stop_one_of_two(struct cluster *c)
{
	uint32_t victim = c->options.seed / 2 % 2;

	cluster_warm_up(c);
	cluster_stop(c, victim);
	cluster_see_no_quorum(c);
	cluster_continue(c, victim, FATE_LIVES);
	cluster_recover(c);
	UNTIL(c, cluster_all(c, is_in_first_view));
	cluster_end(c, true);
}

/* ---- too few -------------------------------------------------------------------------------------------------------- */

/* On one host the kernel says which are dead, and no quorum is taken of these; on a network those that are left wait, for cut_max_ms. */
static void end_with_few(struct cluster *c)
{
	if (cluster_is_on_one_host(c)) {
		cluster_recover(c);
		cluster_end(c, true);
	} else {
		cluster_see_no_quorum(c);
		cluster_end(c, false);
	}
}

/* All at once: while the first are killed the last might help to go on without them, so they stand still before. */
static void kill_all_of(struct cluster *c, const uint32_t *ids, uint32_t count)
{
	cluster_warm_up(c);
	for (uint32_t i = 0; i < count; i++)
		cluster_stop(c, ids[i]);
	for (uint32_t i = 0; i < count; i++)
		cluster_kill(c, ids[i]);
	end_with_few(c);
}

static void kill_most(struct cluster *c)
{
	kill_all_of(c, (const uint32_t[]){0, 1, 2}, 3);
}

/* The last one sends. */
static void kill_all_but_one(struct cluster *c)
{
	kill_all_of(c, (const uint32_t[]){0, 1, 2, RECEIVER}, 4);
}

static void kill_one_of_two(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_kill(c, c->options.seed / 2 % 2);
	end_with_few(c);
}

/* The dead are not waited for, the one that stands still is: of four two are killed and one is stopped. */
static void kill_beside_the_stopped(struct cluster *c)
{
	cluster_warm_up(c);
	for (uint32_t id = 0; id < 3; id++)
		cluster_stop(c, id);
	cluster_kill(c, 0);
	cluster_kill(c, 1);
	cluster_see_no_quorum(c);
	cluster_continue(c, 2, FATE_LIVES);
	end_with_few(c);
}

static void tie_breaker_lives(struct cluster *c)
{
	kill_and_go_on(c, 1);
}

static void tie_breaker_dies(struct cluster *c)
{
	cluster_warm_up(c);
	cluster_kill(c, 0);
	end_with_few(c);
}

/* ---- all of them ------------------------------------------------------------------------------------------------------ */

/* Deaths are noticed at once, so what waits for a time-out has failed; and the busy are not suspected. */
#define LONG 120000
#define SHORT 700

static const struct scenario scenarios[] = {
	{.name = "nothing", .run = nothing, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-leader", .run = kill_leader, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-sender", .run = kill_sender, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-receiver", .run = kill_receiver, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-relay", .run = kill_relay, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-two", .run = kill_two, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-next-leader", .run = kill_next_leader, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-one-by-one", .run = kill_one_by_one, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-among-callers", .run = kill_two, .options = {.nodes = 5, .timeout_ms = LONG, .thread = "caller"}},
	{.name = "kill-among-dedicated",
	 .run = kill_two,
	 .options = {.nodes = 5, .timeout_ms = LONG, .thread = "dedicated"}},
	{.name = "kill-that-waits",
	 .run = kill_two,
	 .options = {.nodes = 5, .timeout_ms = LONG, .thread = "dedicated", .death_waits = true}},
	{.name = "kill-during-claim", .run = kill_during_claim, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "exit-without-close", .run = exit_without_close, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "stop-leader", .run = stop_leader, .options = {.nodes = 5, .timeout_ms = SHORT}},
	{.name = "stop-sender", .run = stop_sender, .options = {.nodes = 5, .timeout_ms = SHORT}},
	{.name = "stop-reading", .run = stop_reading, .options = {.nodes = 5, .timeout_ms = SHORT}},
	{.name = "stop-leader-reading", .run = stop_leader_reading, .options = {.nodes = 5, .timeout_ms = SHORT}},
	{.name = "stop-during-claim", .run = stop_during_claim, .options = {.nodes = 5, .timeout_ms = SHORT}},
	{.name = "stop-shortly", .run = stop_shortly, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "stop-most", .run = stop_most, .options = {.nodes = 5, .timeout_ms = SHORT}},
	{.name = "stop-one-of-two", .run = stop_one_of_two, .options = {.nodes = 2, .timeout_ms = SHORT}},
	{.name = "kill-most", .run = kill_most, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-all-but-one", .run = kill_all_but_one, .options = {.nodes = 5, .timeout_ms = LONG}},
	{.name = "kill-beside-the-stopped",
	 .run = kill_beside_the_stopped,
	 .options = {.nodes = 4, .timeout_ms = SHORT}},
	{.name = "kill-one-of-two", .run = kill_one_of_two, .options = {.nodes = 2, .timeout_ms = LONG}},
	{.name = "tie-breaker-lives",
	 .run = tie_breaker_lives,
	 .options = {.nodes = 2, .timeout_ms = LONG, .tie_breaker = true}},
	{.name = "tie-breaker-dies",
	 .run = tie_breaker_dies,
	 .options = {.nodes = 2, .timeout_ms = LONG, .tie_breaker = true}},
};

int main(int argc, char **argv)
{
	return scenarios_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
