/* test_group_scribbles.c - a member that writes into its row what cannot be: it is noticed, it is suspected, and it costs
 * no other node its process. The test writes into rows of nodes of its own process.
 */
#include "group/node_int.h"
#include "tests/support/group.h"

#define FAR "failure_timeout_ms = 600000\n" /* no node is overdue */
#define STREAM "[subgroup s]\nwindow = 8\nmessage_bytes = 8\n"

static void open_group(struct cluster *c, const char *rest)
{
	char text[512];

	snprintf(text, sizeof(text), STREAM "%s\n[engine]\nthread = caller\n%s", rest,
		 strstr(rest, "unordered") != NULL ? "" : "delivery_batching = off\n");
	cluster_open(c, 3, FAR, text);
	cluster_record(c, "s");
	cluster_start(c);
	cluster_hush(c);
}

static struct wh_subgroup_columns columns_of(const struct cluster *c, unsigned id)
{
	return c->nodes[id]->epochs.current->rows->subgroups[0].columns;
}

static void scribble(struct cluster *c, unsigned id, uint32_t offset, uint64_t value)
{
	wh_store_release((wh_word *)(void *)(c->nodes[id]->epochs.current->image->own + offset), value);
}

static void send_some(struct cluster *c, unsigned id, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		ck_ok(whorl_send(subgroup_of(c, id, "s"), &i, sizeof(i), 0, NULL));
}

/* 0 and 2 go on without 1, which makes no more passes. */
static void expect_without_1(struct cluster *c)
{
	await(view_of(c->nodes[0]) == 1 && view_of(c->nodes[2]) == 1, {
		whorl_step(c->nodes[0]);
		whorl_step(c->nodes[2]);
	});
	ck_assert_uint_eq(whorl_node_count(c->nodes[0]), 2);
	ck_ok(whorl_error(c->nodes[0], NULL, 0));
	ck_ok(whorl_error(c->nodes[2], NULL, 0));
}

static const char *const modes[] = {"mode = ordered\n", "mode = unordered\n"};

TEST_CASE("scribbles", .timeout_s = 10);

/* No node covers rounds in which no node says anything: to pass over them would take for ever. */
TEST_LOOP(a_guard_far_ahead, 0, 2)
{
	struct cluster c;

	open_group(&c, modes[_i]);
	scribble(&c, 1, columns_of(&c, 1).guard.offset, wh_guard_make((UINT64_C(1) << 48) - 1, 0));
	expect_without_1(&c);
	cluster_free(&c);
}

/* The greatest that a correct member can say is believed: two senders have filled their windows, and a third one owes as
 * many rounds, and one more. */
TEST(a_guard_as_far_as_can_be)
{
	struct cluster c;

	open_group(&c, modes[0]);
	scribble(&c, 1, columns_of(&c, 1).guard.offset, wh_guard_make(3 * 8 + 1, 0));
	for (int i = 0; i < 100; i++)
		whorl_step(c.nodes[0]);
	ck_assert_uint_eq(c.nodes[0]->epochs.current->change.suspicion.count, 0);
	scribble(&c, 1, columns_of(&c, 1).guard.offset, wh_guard_make(3 * 8 + 2, 0));
	expect_without_1(&c);
	cluster_free(&c);
}

TEST_LOOP(a_stream_that_begins_at_its_end, 0, 2)
{
	struct cluster c;

	open_group(&c, modes[_i]);
	scribble(&c, 1, columns_of(&c, 1).first.offset, UINT64_MAX);
	scribble(&c, 1, columns_of(&c, 1).guard.offset, wh_guard_make(1, 0));
	expect_without_1(&c);
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	cluster_free(&c);
}

/* What all have delivered is free, and stays so: in the view (0), and when the next one asks what is to be sent again. */
TEST_LOOP(a_count_that_falls_back, 0, 2)
{
	struct cluster c;

	open_group(&c, modes[1]);
	send_some(&c, 0, 8);
	await(all_recorded(c.records, 3, 8), cluster_step(&c));
	cluster_hush(&c);
	send_some(&c, 0, 8);
	scribble(&c, 1, columns_of(&c, 1).delivered_of.offset, 3);
	if (_i == 1) {
		cluster_leave(&c, 2);
		cluster_await_view(&c, 1);
	}
	await(all_recorded(c.records, _i == 0 ? 3 : 2, 16), cluster_step(&c));
	cluster_hush(&c);
	ck_assert_uint_eq(recorded(c.records[0]), 16);
	ck_assert_uint_eq(recorded(c.records[1]), 16);
	cluster_free(&c);
}

/* All have received five messages of node 2, and node 0 has delivered none of them. */
static void receive_five(struct cluster *c)
{
	static const unsigned passes[] = {2, 1, 0, 1, 2};

	open_group(c, modes[0]);
	send_some(c, 2, 5);
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++)
		whorl_step(c->nodes[passes[i]]);
	ck_assert_uint_eq(stats_of(subgroup_of(c, 0, "s")).received_num, 15);
	ck_assert_uint_eq(recorded(c->records[0]), 0);
}

/* What was received before a member broke is delivered, however many passes that takes. */
TEST(what_came_before_is_delivered)
{
	struct cluster c;

	receive_five(&c);
	scribble(&c, 1, columns_of(&c, 1).guard.offset, wh_guard_make(1, 0)); /* it has covered five rounds */
	expect_without_1(&c);
	ck_assert_uint_eq(recorded(c.records[0]), 5);
	records_agree(c.records[0], c.records[2]);
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).received_num, 0); /* of this view */
	cluster_free(&c);
}

/* What is to be delivered before the next view cannot be: then there is none here. */
TEST(what_cannot_be_delivered_ends_the_node)
{
	const struct wh_place *place;
	struct cluster c;

	receive_five(&c);
	place = &c.nodes[2]->epochs.current->shard_members[0].place;
	wh_slot_write(&place->slots, place->row, 4, (struct wh_slot_header){.round = 4, .bytes = 1000});
	cluster_leave(&c, 1);
	for (int i = 0; i < 10; i++) /* node 0 shall learn of that before it delivers anything */
		c.nodes[0]->fixed.transport->ops->service(c.nodes[0]->fixed.transport);
	whorl_step(c.nodes[0]);
	ck_assert(c.nodes[0]->epochs.current->change.wedged);
	await(whorl_error(c.nodes[0], NULL, 0) != WHORL_OK, cluster_step(&c));
	ck_assert_int_eq(whorl_error(c.nodes[0], NULL, 0), WHORL_MEMBER_GONE);
	for (int i = 0; i < 100; i++)
		cluster_step(&c);
	ck_assert_uint_eq(view_of(c.nodes[0]), 0);
	ck_assert_uint_eq(recorded(c.records[0]), 4);
	cluster_free(&c);
}

/* ---- large messages ---- */

static void open_large(struct cluster *c, const char *mode)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "[subgroup s]\nwindow = 8\nmessage_bytes = 16\nlarge_bytes = 64\n%s"
		 "[engine]\nthread = caller\n",
		 mode);
	cluster_open(c, 3, FAR, text);
	cluster_record(c, "s");
	cluster_start(c);
	cluster_hush(c);
}

/* What node 1 says in its headers and its guard. Bytes are those of full parts but for the last. */
static const struct {
	struct wh_slot_header headers[4];
	uint64_t announced;
} lies[] = {
	{{{.more = 3, .bytes = 16}, {.bytes = 16}, {.bytes = 16}, {.bytes = 1}}, 3},  /* a part */
	{{{.more = 4, .bytes = 16}, {.bytes = 16}, {.bytes = 16}, {.bytes = 16}}, 4}, /* too many */
	{{{.more = 3, .bytes = 16}, {.bytes = 16, .round = 1}, {.bytes = 16}, {.bytes = 1}}, 4},
	{{{.more = 3, .bytes = 16}, {.bytes = 15}, {.bytes = 16}, {.bytes = 1}}, 4}, /* one that is not full */
	{{{.more = 3, .bytes = 16}, {.bytes = 16, .more = 1}, {.bytes = 16}, {.bytes = 1}}, 4},
	{{{.more = 3, .bytes = 16}, {.bytes = 16, .aborted = 1}, {.bytes = 16}, {.bytes = 1}}, 4},
	{{{.more = 3, .bytes = 16}, {.bytes = 17}, {.bytes = 16}, {.bytes = 1}}, 4},
	{{{.more = 3, .bytes = 16}, {.bytes = 16}, {.bytes = 16}, {.bytes = 16}}, 5}, /* more slots than a round has */
};

TEST_LOOP(parts_that_do_not_hold_together, 0, 2 * sizeof(lies) / sizeof(lies[0]))
{
	const struct wh_place *place;
	struct cluster c;

	open_large(&c, modes[_i % 2]);
	place = &c.nodes[1]->epochs.current->shard_members[0].place;
	for (uint32_t i = 0; i < 4; i++)
		wh_slot_write(&place->slots, place->row, i, lies[_i / 2].headers[i]);
	scribble(&c, 1, columns_of(&c, 1).guard.offset, wh_guard_make(1, lies[_i / 2].announced));
	if (_i % 2 == 0 && _i / 2 < 7) /* all have received it, and none can deliver it */
		scribble(&c, 1, columns_of(&c, 1).received_num.offset, 2);
	for (int i = 0; i < 100; i++) {
		whorl_step(c.nodes[0]);
		whorl_step(c.nodes[2]);
	}
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	ck_assert(view_of(c.nodes[0]) > 0 || c.nodes[0]->epochs.current->change.suspicion.count > 0);
	if (_i % 2 == 0 && _i / 2 < 7) {
		await(whorl_error(c.nodes[0], NULL, 0) == WHORL_MEMBER_GONE, {
			whorl_step(c.nodes[0]);
			whorl_step(c.nodes[2]);
		});
	} else {
		expect_without_1(&c);
	}
	ck_assert_uint_eq(recorded(c.records[0]), 0);
	cluster_free(&c);
}

/* Unordered: members say that they have half of a message. It is not free. */
TEST(half_of_one_is_none)
{
	unsigned char data[64] = {0};
	struct cluster c;

	open_large(&c, modes[1]);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), data, 64, 0, NULL));
	whorl_step(c.nodes[0]);
	scribble(&c, 1, columns_of(&c, 1).delivered_of.offset, 2);
	scribble(&c, 2, columns_of(&c, 2).delivered_of.offset, 2);
	for (int i = 0; i < 100; i++) {
		whorl_step(c.nodes[0]);
		ck_assert_uint_eq(subgroup_of(&c, 0, "s")->ring->freed, 0);
	}
	cluster_free(&c);
}

TEST_SUITE("group: scribbles")
