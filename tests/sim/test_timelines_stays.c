/* test_timelines_stays.c - nodes that are left behind in a view, or come back to a shard, each told as a story. */
#include "tests/sim/timeline.h"

/* Within so much two deaths have been noticed, heard of or not, and the view changed; somebody has come in; and has the state. */
#define SETTLED_MS 240
#define JOIN_MS 200
#define RESTORE_MS 200

TEST_CASE("stays", .timeout_s = 60);

/* The first view has five of six nodes; two of them die while it changes. Three of six are no quorum of it, so a member that has
 * not gone on to the next view before can say nothing. But others have gone on, and need it there, where three of five are one.
 * In a seed or two no member that is left has gone on, and then none may. */
TEST(a_member_that_is_left_in_a_first_view_follows)
{
	unsigned went_on = 0;

	FOREACH_SEED(t)
	{
		bool goes_on = false;

		begin_group(t,
			    (&(struct group){.nodes = 6,
					     .ids = 6,
					     .start_timeout_ms = 50,
					     .messages = 20,
					     .disks = true,
					     .early = true}),
			    "join 5 at 1000 ms", "rest 2 for 500 ms at 200 ms", "crash 4 at install 1",
			    "crash 3 at push 15", "stall 1 for 5 ms after echo 1");
		until(t, 200 + SETTLED_MS);
		for (uint32_t node = 0; node < 3; node++)
			goes_on = goes_on || view_of(t, node)->number > 0;
		if (goes_on) {
			went_on++;
			expect_view(t, 200 + SETTLED_MS, ANY, "0,1,2");
			expect_view(t, 1000 + 2 * JOIN_MS, ANY, "0,1,2,5");
		}
		end(t);
	}
	ck_assert_uint_ge(went_on, SEEDS - 3);
}

/* Node 1 sends; node 2 is there, is not in views that others have, and is there again. */
static enum whorl_role away_for_a_view(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
				       void *ctx)
{
	(void)subgroup;
	(void)shard;
	(void)ctx;
	if (id == 2 && view->number == 1)
		return WHORL_NO_MEMBER;
	return id == 1 ? WHORL_SENDER : WHORL_MEMBER;
}

/* What it has delivered in its first stay the giver of the second may not have yet: it is not in the state, and comes again. */
TEST(a_node_comes_back_to_its_shard_and_begins_with_less)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){
				    .nodes = 5, .ids = 5, .messages = 60, .early = true, .layout = away_for_a_view}),
			    "slow 1 to 0 by 1000 for 300 ms at 5 ms", "crash 3 at 30 ms", "crash 4 at install 1");
		expect_view(t, 300 + 2 * JOIN_MS, 2, "0,1,2");
		expect_state(t, 300 + 2 * JOIN_MS + RESTORE_MS, "2");
		end(t);
	}
}

/* Nodes 0 and 1 keep one shard; in the next view 2 leaves it for another, which 3 begins with it. */
static enum whorl_role begins_another(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
				      void *ctx)
{
	bool is_later = view->number > 0;

	(void)subgroup;
	(void)ctx;
	if (id < 2 || (id == 2 && !is_later))
		return shard == 0 ? WHORL_SENDER : WHORL_NO_MEMBER;
	return shard == 1 && is_later ? WHORL_SENDER : WHORL_NO_MEMBER;
}

/* It forgets what it has of the first before it is upcalled for a message of the other: a node that comes there later has the same
 * from it as from 3. */
TEST(a_node_that_moves_into_a_fresh_shard_begins_with_nothing)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){.nodes = 5,
					     .ids = 6,
					     .messages = 60,
					     .early = true,
					     .ordered = true,
					     .shards = 2,
					     .layout = begins_another}),
			    "crash 4 at 30 ms", "join 5 at 400 ms");
		expect_view(t, 400, ANY, "0,1,2,3");
		expect_state(t, 400, "2,3");
		expect_view(t, 400 + 2 * JOIN_MS, ANY, "0,1,2,3,5");
		expect_state(t, 400 + 2 * JOIN_MS + RESTORE_MS, "5");
		end(t);
	}
}

/* Node 1 sends; all go to another shard in the next view. */
static enum whorl_role go_to_another(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
				     void *ctx)
{
	(void)subgroup;
	(void)ctx;
	if (shard != (view->number > 0))
		return WHORL_NO_MEMBER;
	return id == 1 ? WHORL_SENDER : WHORL_MEMBER;
}

/* The digest of an unordered state is of what is in it, in any order. */
static bool has_the_state_of_0(const struct timeline *t, uint32_t node)
{
	uint64_t state = t->play->at[0]->apps[0].state;

	return state != 0 && t->play->at[node]->apps[0].state == state;
}

/* What 1 sends again there, because 0 had not heard it, 2 has delivered in the shard before, and forgotten. */
TEST(a_node_that_forgets_a_shard_has_what_is_sent_again)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){.nodes = 4,
					     .ids = 4,
					     .messages = 60,
					     .early = true,
					     .shards = 2,
					     .layout = go_to_another}),
			    "slow 1 to 0 by 1000 for 300 ms at 0 ms", "crash 3 at 60 ms");
		expect_view(t, 300 + 2 * JOIN_MS, 1, "0,1,2");
		by(t, 300 + 4 * JOIN_MS, has_the_state_of_0, 1 << 2, "two in an unordered shard have other states");
		end(t);
	}
}

/* Nodes 0 and 1 send, in all views. */
static enum whorl_role two_send(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
				void *ctx)
{
	(void)view;
	(void)subgroup;
	(void)shard;
	(void)ctx;
	return id < 2 ? WHORL_SENDER : WHORL_MEMBER;
}

/* Unordered, that it has delivered its own messages says nothing of others: while 2, which stood still, takes
 * them in it goes on being a sender. */
TEST(a_sender_that_wants_to_rest_waits_for_a_slow_member)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){.nodes = 3,
					     .ids = 3,
					     .messages = 60,
					     .window = 64,
					     .early = true,
					     .one_at_a_time = true,
					     .layout = two_send}),
			    "stall 2 for 30 ms at 10 ms", "rest 1 for 2000 ms at 9 ms");
		expect_view(t, 2 * JOIN_MS, 1, "0,1,2");
		end(t);
	}
}

/* ---- a node leaves ------------------------------------------------------------------------------------------------------- */

/* Node 0 sends. */
static enum whorl_role one_sends(const struct whorl_view *view, const char *subgroup, uint32_t shard, uint32_t id,
				 void *ctx)
{
	(void)view;
	(void)subgroup;
	(void)shard;
	(void)ctx;
	return id == 0 ? WHORL_SENDER : WHORL_MEMBER;
}

/* How many messages it has counted as received and not delivered. */
static uint64_t owes(const struct timeline *t, uint32_t node)
{
	struct actor *actor = t->play->at[node];
	struct wh_inspect_sender sender = wh_inspect_sender(actor->node, 0, 0);
	const struct stream *stream = t->play->at[0]->apps[0].stream;
	uint64_t count = 0;

	for (uint64_t number = sender.next; number < sender.announced; number++)
		count += stream->messages[number].state == MESSAGE_COMMITTED;
	return count;
}

/* The others deliver what it has said that it has; so does it, although it sends nothing itself and waits for a stopped one. */
TEST(a_node_that_leaves_delivers_what_it_has_received)
{
	FOREACH_SEED(t)
	{
		uint64_t expected;

		begin_group(t,
			    (&(struct group){.nodes = 3,
					     .ids = 3,
					     .messages = 200,
					     .early = true,
					     .ordered = true,
					     .layout = one_sends}),
			    "stall 2 for 30 ms at 20 ms");
		t->play->at[0]->apps[0].stream->pace_ns = WH_NS_PER_MS;
		until(t, 20);
		while (owes(t, 1) == 0)
			ck_assert(wh_play_step(t->play, t->play->met_ns + 1000 * WH_NS_PER_MS));
		expected = delivered(t, 1) + owes(t, 1);
		ck_assert(wh_actor_depart(t->play->at[1]));
		ck_assert(t->play->actors[1].drained);
		ck_assert_uint_ge(delivered(t, 1), expected);
		end(t);
	}
}

/* One of two has begun their first view and leaves it at once. The other was promised that view, and begins it; without that it would be
 * alone, and one of two forms no group. */
TEST(a_node_that_leaves_waits_until_all_have_begun)
{
	FOREACH_SEED(t)
	{
		uint32_t first;

		begin_group(t, (&(struct group){.nodes = 2, .messages = 0, .early = true}), NULL);
		while (view_of(t, 0) == NULL && view_of(t, 1) == NULL)
			ck_assert(wh_play_step(t->play, t->play->met_ns + 1000 * WH_NS_PER_MS));
		first = view_of(t, 0) == NULL;
		ck_assert_ptr_null(view_of(t, 1 - first));
		ck_assert(wh_actor_depart(t->play->at[first]));
		ck_assert(t->play->actors[first].drained);
		expect_view(t, 2 * JOIN_MS, 1, first == 0 ? "1" : "0");
		end(t);
	}
}

static bool has_begun(const struct timeline *t, uint32_t node)
{
	return view_of(t, node) != NULL;
}

/* Nodes 2 and 4 do not hear each other, and are not ready for their first view in time: the others, a majority, begin
 * it. They are not there, so they have promised nothing: they would drop it if its coordinator left, and of the four that
 * are left 1 and 3 are no quorum. So it leaves when 2 and 4 have begun it too. */
TEST(a_node_that_leaves_waits_for_those_that_begin_late)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){
				    .nodes = 5, .start_timeout_ms = 50, .messages = 0, .disks = true, .early = true}),
			    "stall 3 for 30 ms at 0 ms", "cut 2 and 4 for 80 ms at 20 ms");
		by(t, 100, has_begun, set_of("0,1,3"), "a majority has not begun");
		ck_assert(!has_begun(t, 2) && !has_begun(t, 4));
		ck_assert(wh_actor_depart(t->play->at[0]));
		ck_assert(t->play->actors[0].drained);
		expect_view(t, 100 + 2 * JOIN_MS, 1, "1,2,3,4");
		end(t);
	}
}

/* Node 0 has begun the next view, and has delivered messages of its own of the view before that node 3 is still to deliver. */
static bool is_held(const struct timeline *t)
{
	const struct app *app = &t->play->at[0]->apps[0];

	return view_of(t, 0) != NULL && view_of(t, 0)->number == 1 && view_of(t, 3)->number == 0 &&
	       t->play->at[3]->apps[0].next[0] < app->own &&
	       whorl_frontier_get(app->subgroup, WHORL_DELIVERED_BY_ALL) < app->own;
}

/* A member stands still when it has agreed to the next view, with messages below the cut: the others go on, and know that it has not
 * delivered them, until it has. That nothing else is said the simulator checks after each pass. */
TEST(a_member_that_is_late_below_the_cut_holds_the_frontiers)
{
	unsigned held = 0;

	FOREACH_SEED(t)
	{
		uint64_t until_ns;
		bool seen = false;

		begin(t, 4, "crash 2 at 30 ms", "stall 3 for 25 ms after echo 1");
		until_ns = t->play->met_ns + SETTLED_MS * WH_NS_PER_MS;
		while (wh_play_step(t->play, until_ns))
			seen = seen || is_held(t);
		held += seen;
		expect_view(t, SETTLED_MS, ANY, "0,1,3");
		end(t);
	}
	ck_assert_uint_ge(held, 1);
}

TEST_SUITE("stays")

int main(void)
{
	return test_main(suite());
}
