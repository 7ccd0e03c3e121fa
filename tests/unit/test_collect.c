/* test_collect.c - sets of wishes that come to a leader: in pieces, again, out of order, from another life; and when it is time. */
#include "membership/collect.h"
#include "tests/support/wishes_lab.h"

#define MS UINT64_C(1000000)

static struct wh_collect collect;
static struct wh_view *view;
static uint64_t wished[WH_NODES_MAX], now, again;

static void begin(void)
{
	memset(wished, 0, sizeof(wished));
	now = 1000 * MS;
	ck_assert_int_eq(wh_collect_init(&collect, LAB_NODES), WHORL_OK);
	ck_assert_int_eq(view_of_all(&view, 3, &lab_layout, NULL), WHORL_OK);
}

static void end(void)
{
	wh_view_free(view);
	wh_collect_close(&collect);
}

/* The piece of a set from `from` on. */
static enum whorl_result piece(uint32_t node, uint64_t incarnation, const struct wh_wish_set *set, uint32_t from,
			       uint32_t bytes)
{
	unsigned char all[WH_SET_BYTES_MAX];
	uint32_t total = (uint32_t)wh_wish_set_encode(all, set);

	return wh_collect_take(&collect, node, incarnation,
			       &(struct wh_wire){.kind = WH_WIRE_WISHES,
						 .key = set->number,
						 .total = total,
						 .offset = from,
						 .bytes = bytes > total - from ? total - from : bytes,
						 .piece = all + from},
			       now);
}

static enum whorl_result say(uint32_t node, uint64_t number, const char *text)
{
	struct wh_wish_set *set = lab_set(number, text);
	enum whorl_result result = piece(node, incarnation_of(node, 0), set, 0, UINT32_MAX);

	free(set);
	return result;
}

static bool is_due(void)
{
	return wh_collect_is_due(&collect, view, wished, now, &again);
}

static uint32_t count_sets(const struct wh_wish_set *sets[WH_NODES_MAX])
{
	return wh_collect_sets(&collect, view, sets);
}

TEST(a_set_comes_in_pieces)
{
	const struct wh_wish_set *sets[WH_NODES_MAX];
	struct wh_wish_set *set = lab_set(1, "a+ b c");
	uint64_t me = incarnation_of(1, 0);

	begin();
	ck_assert_int_eq(piece(1, me, set, 0, 10), WHORL_AGAIN);
	ck_assert_uint_eq(count_sets(sets), 0);
	ck_assert_int_eq(piece(1, me, set, 10, 10), WHORL_AGAIN);
	ck_assert_int_eq(piece(1, me, set, 20, 1000), WHORL_OK);
	ck_assert_uint_eq(count_sets(sets), 1);
	ck_assert_uint_eq(sets[1]->count, 3);
	ck_assert_int_eq(piece(1, me, set, 0, 1000), WHORL_AGAIN); /* it is said again */
	ck_assert_int_eq(say(1, 2, "b"), WHORL_OK);
	ck_assert_int_eq(piece(1, me, set, 0, 1000), WHORL_AGAIN); /* an earlier one */
	ck_assert_uint_eq(count_sets(sets), 1);
	ck_assert_uint_eq(sets[1]->number, 2);
	free(set);
	end();
}

TEST(what_is_no_set_is_broken)
{
	const struct wh_wish_set *sets[WH_NODES_MAX];
	struct wh_wish_set *set = lab_set(1, "b a"); /* they do not ascend */
	unsigned char all[WH_SET_BYTES_MAX];
	struct wh_wire message = {.kind = WH_WIRE_WISHES, .key = 2, .piece = all};

	begin();
	ck_assert_int_eq(piece(0, 1, set, 0, 1000), WHORL_INVALID);
	ck_assert_int_eq(piece(0, 1, set, 0, 10), WHORL_AGAIN);
	ck_assert_int_eq(piece(0, 1, set, 12, 5), WHORL_INVALID); /* a hole */
	set->count = 1;
	message.total = message.bytes = (uint32_t)wh_wish_set_encode(all, set);
	ck_assert_int_eq(wh_collect_take(&collect, 0, 1, &message, now), WHORL_INVALID); /* set 1 is called 2 */
	ck_assert_uint_eq(count_sets(sets), 0);
	free(set);
	end();
}

/* What another life of that id has said is forgotten, and so is what a node that is gone has said. */
TEST(sets_are_of_one_life)
{
	const struct wh_wish_set *sets[WH_NODES_MAX];
	struct wh_wish_set *set = lab_set(1, "a");

	begin();
	ck_assert_int_eq(say(1, 7, "a"), WHORL_OK);
	ck_assert_int_eq(piece(1, 99, set, 0, 1000), WHORL_OK);
	ck_assert_uint_eq(count_sets(sets), 0); /* the view has the other */
	ck_assert(!is_due());
	ck_assert_int_eq(say(1, 1, "b"), WHORL_OK);
	ck_assert_uint_eq(count_sets(sets), 1);
	wh_collect_gone(&collect, 1);
	ck_assert_uint_eq(count_sets(sets), 0);
	free(set);
	end();
}

TEST(it_is_time_when_no_more_come)
{
	begin();
	ck_assert(!is_due());
	ck_assert_uint_eq(again, 0);
	ck_assert_int_eq(say(1, 1, "a"), WHORL_OK);
	ck_assert(!is_due());
	ck_assert_uint_eq(again, now + 2 * MS);
	now += MS;
	ck_assert_int_eq(say(2, 1, "a"), WHORL_OK);
	now += 2 * MS - 1;
	ck_assert(!is_due());
	now += 1;
	ck_assert(is_due());
	end();
}

TEST(it_is_time_when_they_have_waited)
{
	uint64_t began;

	begin();
	began = now;
	for (uint64_t number = 1; number <= 20; number++, now += MS) {
		ck_assert_int_eq(say(1, number, "a"), WHORL_OK);
		ck_assert(!is_due());
		ck_assert_uint_le(again, began + 20 * MS);
	}
	ck_assert_int_eq(say(1, 21, "a"), WHORL_OK);
	ck_assert(is_due());
	end();
}

/* A row says that there is a set: it is on its way. */
TEST(what_is_on_its_way_is_waited_for)
{
	begin();
	wished[2] = 3;
	ck_assert(!is_due()); /* nothing that could be met */
	ck_assert_uint_eq(again, 0);
	ck_assert_int_eq(say(1, 1, "a"), WHORL_OK);
	now += 5 * MS;
	ck_assert(!is_due());
	ck_assert_uint_eq(again, now + 20 * MS);
	ck_assert_int_eq(say(2, 2, "a"), WHORL_OK);
	now += 5 * MS;
	ck_assert(!is_due());
	ck_assert_int_eq(say(2, 3, "a"), WHORL_OK);
	now += 2 * MS;
	ck_assert(is_due());
	end();
}

TEST(what_is_on_its_way_is_not_waited_for_for_ever)
{
	begin();
	wished[2] = 3;
	ck_assert_int_eq(say(1, 1, "a"), WHORL_OK);
	ck_assert(!is_due());
	now += 20 * MS - 1;
	ck_assert(!is_due());
	now += 1;
	ck_assert(is_due());
	end();
}

/* What changed nothing is not composed for again, but is in a view that there is anyway; and another view is another chance. */
/* More are waited for, the longer the last change for wishes took: a part of that without any, all of it at most. */
TEST_LOOP(it_is_time_later_where_changes_take_long, 0, 2)
{
	const uint64_t cost = _i == 0 ? 400 * MS : WH_COLLECT_COST_NS;

	begin();
	ck_assert_int_eq(say(1, 1, "a"), WHORL_OK);
	now += 20 * MS;
	ck_assert(is_due());
	wh_collect_composed(&collect, now);
	now += _i == 0 ? cost : 60 * cost; /* that was no change as others */
	view->served[1] = 1;
	wh_collect_settle(&collect, view, now);
	ck_assert_int_eq(say(1, 2, "b"), WHORL_OK);
	now += cost / WH_COLLECT_QUIET_PART - 1;
	ck_assert(!is_due());
	ck_assert_uint_eq(again, now + 1);
	now++;
	ck_assert(is_due());
	wh_collect_settle(&collect, view, now); /* a view for another reason: what was known stays */
	ck_assert(is_due());
	for (uint64_t waited = 0; waited < cost; waited += cost / 40) {
		ck_assert_int_eq(say(1, 3 + waited, "c"), WHORL_OK);
		ck_assert_msg(!is_due(), "after %" PRIu64 " ms", waited / MS);
		now += cost / 40;
	}
	ck_assert(is_due());
	end();
}

TEST(what_was_considered_in_vain)
{
	const struct wh_wish_set *sets[WH_NODES_MAX];

	begin();
	ck_assert_int_eq(say(1, 1, "a"), WHORL_OK);
	now += 2 * MS;
	ck_assert(is_due());
	ck_assert_uint_eq(count_sets(sets), 1);
	wh_collect_considered(&collect, view, sets);
	ck_assert(!is_due());
	ck_assert_uint_eq(count_sets(sets), 1);
	wh_collect_settle(&collect, view, now);
	now += 2 * MS;
	ck_assert(is_due());
	end();
}

TEST(what_is_served_is_over)
{
	const struct wh_wish_set *sets[WH_NODES_MAX];

	begin();
	ck_assert_int_eq(say(1, 4, "a"), WHORL_OK);
	wished[1] = 4;
	view->served[1] = 4;
	wh_collect_settle(&collect, view, now);
	ck_assert_uint_eq(count_sets(sets), 0);
	now += 100 * MS;
	ck_assert(!is_due());
	ck_assert_uint_eq(again, 0);
	ck_assert_int_eq(say(1, 4, "a"), WHORL_OK); /* it is said again, before its node knows */
	ck_assert(!is_due());
	ck_assert_uint_eq(count_sets(sets), 0);
	end();
}

TEST_SUITE("collect")
