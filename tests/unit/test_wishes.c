/* test_wishes.c - what nodes wish, and the view that the leader composes of it: each rule of docs/decisions/0046. In each step every member
 * must find that the view succeeds its own, and the view is written and read.
 */
#include "sst/columns.h"
#include "tests/support/seeds.h"
#include "tests/support/wishes_lab.h"

/* ---- sets ---------------------------------------------------------------------------------------------------------------- */

TEST(a_set_is_these_bytes)
{
	static const unsigned char expected[] = {
		'W', 'H', 'S', 7, 5, 0, 0, 0, 0,   0, 0, 0, 2,    0, 1, 'a', 5, 8, 0, 0,
		0,   100, 0,   0, 0, 0, 0, 0, 0,   0, 0, 0, 0, /* it sends; ordered */
		2,   'b', 'c', 4, 9, 0, 0, 0, 112, 0, 0, 0, 0xf0, 3, 0, 0,   0, 0, 0, 0};
	struct wh_wish_set *set = lab_set(5, "a+ bcw*"), read;
	unsigned char bytes[WH_SET_BYTES_MAX];

	ck_assert_uint_eq(wh_wish_set_encode(bytes, set), sizeof(expected));
	ck_assert_mem_eq(bytes, expected, sizeof(expected));
	ck_assert(wh_wish_set_decode(&read, expected, sizeof(expected)));
	ck_assert_uint_eq(read.number, 5);
	ck_assert_uint_eq(read.count, 2);
	ck_assert_str_eq(wh_wish_find(&read, "bc")->name, "bc");
	ck_assert(!wh_wish_find(&read, "bc")->sends && wh_wish_find(&read, "a")->sends);
	ck_assert_ptr_null(wh_wish_find(&read, "b"));
	ck_assert_uint_eq(wh_wish_find(&read, "bc")->parameters.large_bytes, LAB_OTHER_WINDOW * 112);
	keep_seed('s', 0, bytes, sizeof(expected));
	free(set);
}

/* Each byte is made another: it is no set, or one that is written so. */
TEST(sets_are_written_in_one_way)
{
	struct wh_wish_set *set = lab_set(UINT64_MAX, "a+ b c.d_E-9w* z+"), *read = calloc(1, sizeof(*read));
	unsigned char bytes[WH_SET_BYTES_MAX], again[WH_SET_BYTES_MAX];
	size_t count = wh_wish_set_encode(bytes, set), others = 0;

	for (size_t at = 0; at < count; at++) {
		unsigned char was = bytes[at];

		for (unsigned value = 0; value < 256; value++) {
			bytes[at] = (unsigned char)value;
			if (!wh_wish_set_decode(read, bytes, count))
				continue;
			others++;
			if (wh_wish_set_encode(again, read) != count || memcmp(again, bytes, count) != 0)
				ck_abort_msg("it is written in another way");
		}
		bytes[at] = was;
	}
	ck_assert_uint_gt(others, count);
	for (size_t cut = 0; cut < count; cut++)
		ck_assert(!wh_wish_set_decode(read, bytes, cut));
	bytes[count] = 0;
	ck_assert(!wh_wish_set_decode(read, bytes, count + 1));
	free(read);
	free(set);
}

static const struct {
	struct wh_parameters are;
	bool hold;
} parameters[] = {
	{{true, false, false, 1, 1, 0}, true},
	{{true, false, false, 0, 1, 0}, false},
	{{true, false, false, WH_WINDOW_MAX, WH_MESSAGE_BYTES_MAX, 0}, true},
	{{true, false, false, WH_WINDOW_MAX + 1, 1, 0}, false},
	{{true, false, false, 1, 0, 0}, false},
	{{true, false, false, 1, WH_MESSAGE_BYTES_MAX + 1, 0}, false},
	{{true, false, false, 3, 32, 33}, true},
	{{true, false, false, 3, 32, 32}, false}, /* no larger than a slot */
	{{true, false, false, 3, 32, 96}, true},
	{{true, false, false, 3, 32, 97}, false}, /* more than a window */
	{{true, false, false, 3, 40, 41}, false}, /* slots that are not neighbours (0045) */
	{{true, false, false, WH_WINDOW_MAX, WH_MESSAGE_BYTES_MAX, UINT64_C(1) << 45}, true},
	{{true, false, false, WH_WINDOW_MAX, WH_MESSAGE_BYTES_MAX, UINT64_MAX}, false},
};

/* The same rules in a set and in a view. */
TEST_LOOP(parameters_hold, 0, sizeof(parameters) / sizeof(parameters[0]))
{
	struct wh_wish_set *set = lab_set(1, "a+"), *read = calloc(1, sizeof(*read));
	unsigned char wished[WH_SET_BYTES_MAX], *bytes;
	struct wh_view *copy = NULL;
	struct lab lab;
	size_t count;

	wishes_lab_begin(&lab, 1);
	lab_wish(&lab, 0, "a+");
	lab_plain(&lab);
	ck_assert(wh_parameters_hold(&parameters[_i].are) == parameters[_i].hold);
	set->wishes[0].parameters = parameters[_i].are;
	count = wh_wish_set_encode(wished, set);
	ck_assert(wh_wish_set_decode(read, wished, count) == parameters[_i].hold);
	lab.view->subgroups[lab.view->subgroup_count - 1].parameters = parameters[_i].are;
	ck_assert_int_eq(wh_view_encode(&bytes, &count, lab.view), WHORL_OK);
	ck_assert_int_eq(wh_view_decode(&copy, bytes, count, &lab_layout, 8, NULL),
			 parameters[_i].hold ? WHORL_OK : WHORL_INVALID);
	wh_view_free(copy);
	free(bytes);
	wishes_lab_end(&lab);
	free(read);
	free(set);
}

TEST(the_largest_set)
{
	struct wh_wish_set *set = calloc(1, sizeof(*set)), *read = calloc(1, sizeof(*read));
	unsigned char *bytes = malloc(WH_SET_BYTES_MAX);
	size_t count;

	set->number = 1;
	set->count = WH_WISHES_MAX;
	for (uint32_t i = 0; i < set->count; i++) {
		struct wh_wish *wish = &set->wishes[i];

		memset(wish->name, 'n', sizeof(wish->name) - 1);
		wish->name[0] = (char)('a' + i / 16);
		wish->name[1] = (char)('a' + i % 16);
		wish->parameters =
			(struct wh_parameters){false, false, true, 2, WH_MESSAGE_BYTES_MAX, UINT64_C(2) << 30};
	}
	count = wh_wish_set_encode(bytes, set);
	ck_assert_uint_le(count, WH_SET_BYTES_MAX);
	ck_assert(wh_wish_set_decode(read, bytes, count));
	ck_assert_uint_eq(read->count, WH_WISHES_MAX);
	ck_assert_str_eq(read->wishes[255].name, set->wishes[255].name);
	bytes[12] = 1; /* 257 */
	bytes[13] = 1;
	ck_assert(!wh_wish_set_decode(read, bytes, count));
	free(bytes);
	free(read);
	free(set);
}

/* ---- entering and leaving ------------------------------------------------------------------------------------------------ */

TEST(those_that_wish_the_same_are_together)
{
	struct lab lab;

	wishes_lab_begin(&lab, 3);
	lab_wish(&lab, 0, "b+");
	lab_wish(&lab, 2, "a b+");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "b#0@1[0s! 2s!] a#1@1[2!]");
	ck_assert(lab.composed.changes);
	ck_assert_uint_eq(lab.view->served[2], 1);
	ck_assert_uint_eq(lab.view->served[1], 0);
	ck_assert_int_eq(wh_view_dynamic(lab.view)[1].state, WH_SHARD_INACTIVE); /* no node sends */
	lab_plain(&lab);
	LAB_EXPECT(&lab, "b#0@1[0s 2s] a#1@1[2]");
	ck_assert(!lab.composed.changes);
	lab_wish(&lab, 1, "a+");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "b#0@1[0s 2s] a#1@1[1s! 2]");
	wishes_lab_end(&lab);
}

/* By place in the view before (three configured shards, then these): the member of that rank rests. */
static void rests_at(struct lab *lab, uint32_t place, uint32_t rank)
{
	uint64_t rests[16] = {0};

	rests[place] = UINT64_C(1) << rank;
	wishes_lab_step(lab, &(struct wh_next){.rests = rests});
}

TEST(a_member_rests_before_it_leaves)
{
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	lab_wish(&lab, 0, "a+");
	lab_wish(&lab, 1, "a+ b");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[0s! 1s!] b#1@1[1!]");
	lab_wish(&lab, 1, "c");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[0s 1s] b#1@1[1]"); /* it sends: as if the set had not come */
	ck_assert(!lab.composed.changes);
	ck_assert_uint_eq(lab.view->served[1], 1);
	rests_at(&lab, 3, 1); /* it says that it rests, and is served in the same view */
	LAB_EXPECT(&lab, "a#0@1[0s] c#2@3[1!]");
	ck_assert_uint_eq(lab.view->served[1], 2);
	wishes_lab_end(&lab);
}

TEST(a_member_that_rests_goes_on_resting)
{
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	lab_wish(&lab, 0, "a+");
	lab_wish(&lab, 1, "a");
	lab_plain(&lab);
	rests_at(&lab, 3, 0);
	LAB_EXPECT(&lab, "a#0@1[0r 1]");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[0r 1]");
	rests_at(&lab, 3, 1); /* a node that listens has nothing to rest from; and 0 sends again */
	LAB_EXPECT(&lab, "a#0@1[0s 1]");
	wishes_lab_end(&lab);
}

/* The name is wished by another in the view in which its last member leaves: that is another subgroup. */
TEST(a_name_without_members_is_another_subgroup)
{
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	lab_wish(&lab, 0, "a");
	lab_plain(&lab);
	lab_wish(&lab, 0, "");
	lab_wish(&lab, 1, "a+w");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#1@2[1s!]");
	ck_assert_uint_eq(lab.composed.refusal_count, 0);
	lab_wish(&lab, 0, "b");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "b#0@3[0!] a#1@2[1s]"); /* 0 has not been used in the view before */
	wishes_lab_end(&lab);
}

TEST(a_seat_is_not_used_again_at_once)
{
	struct lab lab;

	wishes_lab_begin(&lab, 1);
	lab_wish(&lab, 0, "a b");
	lab_plain(&lab);
	lab_wish(&lab, 0, "b c d");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "b#1@1[0] c#2@2[0!] d#3@2[0!]");
	lab_wish(&lab, 0, "b c d e");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "e#0@3[0!] b#1@1[0] c#2@2[0] d#3@2[0]");
	wishes_lab_end(&lab);
}

TEST(a_failure_keeps_those_that_stay)
{
	const bool removed[LAB_NODES] = {false, true};
	struct lab lab;
	struct wh_view *view;

	wishes_lab_begin(&lab, 3);
	lab_wish(&lab, 0, "a+");
	lab_wish(&lab, 1, "a+ b+");
	lab_wish(&lab, 2, "a");
	lab_plain(&lab);
	ck_assert_int_eq(wh_view_next(&view, lab.view, &(struct wh_next){.removed = removed}, &lab_layout, NULL),
			 WHORL_OK);
	wh_view_free(lab.view);
	lab.view = view;
	LAB_EXPECT(&lab, "a#0@1[0s 1]");
	ck_assert_uint_eq(view->served[1], 1);
	wh_view_free(lab_copy(view));
	lab_plain(&lab); /* what 1 wished has gone with it */
	LAB_EXPECT(&lab, "a#0@1[0s 1]");
	wishes_lab_end(&lab);
}

TEST(a_newcomer_brings_its_wishes)
{
	const struct wh_newcomer newcomers[] = {{5, 50}, {3, 30}};
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	lab_wish(&lab, 0, "a+");
	lab_plain(&lab);
	lab_wish(&lab, 5, "a+ b");
	wishes_lab_step(&lab, &(struct wh_next){.newcomers = newcomers, .newcomer_count = 2});
	LAB_EXPECT(&lab, "a#0@1[0s 3s!] b#1@2[3!]");
	wishes_lab_end(&lab);
}

/* ---- refused ---------------------------------------------------------------------------------------------------------------- */

TEST(what_differs_is_refused)
{
	struct lab lab;

	wishes_lab_begin(&lab, 4);
	lab_wish(&lab, 2, "a+");
	lab_wish(&lab, 3, "a+w b");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "a#0@1[2s!] b#1@1[3!]");
	ck_assert_uint_eq(lab.composed.refusal_count, 1);
	ck_assert_uint_eq(lab.composed.refusals[0].rank, 3);
	ck_assert_uint_eq(lab.composed.refusals[0].wish, 0);
	ck_assert_int_eq(lab.composed.refusals[0].why, WH_REFUSED_PARAMETER);
	ck_assert_int_eq(lab.composed.refusals[0].parameter, WH_PARAMETER_WINDOW);
	ck_assert_uint_eq(lab.composed.refusals[0].theirs, LAB_WINDOW);
	ck_assert_uint_eq(lab.composed.refusals[0].node, 2);
	lab_plain(&lab); /* it has been served, and is not refused again */
	ck_assert_uint_eq(lab.composed.refusal_count, 0);
	wishes_lab_end(&lab);
}

static const struct {
	struct wh_parameters wished;
	enum wh_parameter parameter;
	uint64_t theirs;
} differing[] = {
	{{false, false, false, LAB_WINDOW, 112, 113}, WH_PARAMETER_MODE, 1},
	{{true, false, true, LAB_WINDOW, 112, 113}, WH_PARAMETER_STATE, 0},
	{{true, false, false, 7, 112, 113}, WH_PARAMETER_WINDOW, LAB_WINDOW},
	{{true, false, false, LAB_WINDOW, 96, 113}, WH_PARAMETER_BYTES, 112},
	{{true, false, false, LAB_WINDOW, 112, 0}, WH_PARAMETER_LARGE, LAB_WINDOW * 112},
	{{true, false, false, LAB_WINDOW, 112, 113}, WH_PARAMETER_LARGE, LAB_WINDOW * 112},
	{{false, false, true, 7, 96, 0}, WH_PARAMETER_MODE, 1}, /* the first of them */
};

TEST_LOOP(each_parameter_counts, 0, sizeof(differing) / sizeof(differing[0]))
{
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	lab_wish(&lab, 0, "a+*");
	lab_wish(&lab, 1, "a");
	lab.sets[1]->wishes[0].parameters = differing[_i].wished;
	lab_plain(&lab);
	ck_assert_uint_eq(lab.composed.refusal_count, 1);
	ck_assert_int_eq(lab.composed.refusals[0].parameter, differing[_i].parameter);
	ck_assert_uint_eq(lab.composed.refusals[0].theirs, differing[_i].theirs);
	wishes_lab_end(&lab);
}

TEST(names_of_the_file_are_refused)
{
	struct lab lab;

	wishes_lab_begin(&lab, 1);
	lab_wish(&lab, 0, "file other");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "other#0@1[0!]");
	ck_assert_uint_eq(lab.composed.refusal_count, 1);
	ck_assert_int_eq(lab.composed.refusals[0].why, WH_REFUSED_CONFIGURED);
	wishes_lab_end(&lab);
}

/* It is in no view before a node has entered it, and is as any dynamic subgroup then: here it says what the first wishes. */
TEST(what_the_file_has_for_wishes_is_met)
{
	struct lab lab;

	wishes_lab_begin(&lab, 2);
	ck_assert_uint_eq(lab.view->subgroup_count, 3);
	ck_assert_uint_eq(lab.view->subgroups[1].configured, 2);
	lab_wish(&lab, 0, "c+ file");
	lab_wish(&lab, 1, "cw");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "c#0@1[0s!]");
	ck_assert_uint_eq(wh_view_dynamic(lab.view)->configured, WH_NOT_CONFIGURED);
	ck_assert_uint_eq(lab.composed.refusal_count, 2);
	ck_assert_int_eq(lab.composed.refusals[0].why, WH_REFUSED_CONFIGURED);
	ck_assert_int_eq(lab.composed.refusals[1].why, WH_REFUSED_PARAMETER);
	lab_plain(&lab);
	LAB_EXPECT(&lab, "c#0@1[0s]");
	rests_at(&lab, 3, 0);
	lab_wish(&lab, 0, "");
	lab_plain(&lab);
	LAB_EXPECT(&lab, "");
	wishes_lab_end(&lab);
}

/* Names of that node, from that number on. */
static void wish_many(struct lab *lab, uint32_t id, uint32_t from, uint32_t count)
{
	lab_wish(lab, id, "");
	lab->sets[id]->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct wh_wish *wish = &lab->sets[id]->wishes[i];

		lab_take_wish(wish, "");
		snprintf(wish->name, sizeof(wish->name), "n%u.%04u", id, from + i);
	}
}

/* All that there can be, then all others, in one view: there are seats for both. */
TEST(so_many_and_no_more)
{
	struct lab lab;

	wishes_lab_begin(&lab, 5);
	for (uint32_t id = 0; id < 4; id++)
		wish_many(&lab, id, 0, WH_WISHES_MAX);
	lab_wish(&lab, 4, "a n0.0007");
	lab_plain(&lab);
	ck_assert_uint_eq(lab.view->dynamic_count, WH_DYNAMIC_MAX);
	ck_assert_uint_eq(lab.composed.refusal_count, 1);
	ck_assert_int_eq(lab.composed.refusals[0].why, WH_REFUSED_TOO_MANY);
	ck_assert_uint_eq(lab.composed.refusals[0].rank, 4);
	lab_wish(&lab, 4, "");
	for (uint32_t id = 0; id < 4; id++)
		wish_many(&lab, id, 1000, WH_WISHES_MAX);
	lab_plain(&lab);
	ck_assert_uint_eq(lab.view->dynamic_count, WH_DYNAMIC_MAX);
	ck_assert_uint_eq(wh_birth_seat(wh_view_dynamic(lab.view)[0].birth), WH_DYNAMIC_MAX);
	wishes_lab_end(&lab);
}

/* One view, and its bytes are not many. */
TEST(a_hundred_nodes_enter_fifty_each)
{
	const struct wh_wish_set *sets[WH_NODES_MAX];
	struct wh_wish_set *set = calloc(1, sizeof(*set));
	struct wh_view *before, *view;
	struct wh_composed composed;
	unsigned char *bytes;
	size_t plain, count;

	set->number = 1;
	set->count = 50;
	for (uint32_t i = 0; i < 50; i++) {
		lab_take_wish(&set->wishes[i], "topic+");
		snprintf(set->wishes[i].name, sizeof(set->wishes[i].name), "topic-%02u", i);
	}
	for (uint32_t rank = 0; rank < WH_NODES_MAX; rank++)
		sets[rank] = set;
	ck_assert_int_eq(view_of_all(&before, 100, &lab_layout, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_next(&view, before, &(struct wh_next){.removed = NULL}, &lab_layout, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_encode(&bytes, &plain, view), WHORL_OK);
	free(bytes);
	ck_assert_int_eq(wh_wishes_compose(&composed, view, before, sets, &lab_layout), WHORL_OK);
	ck_assert_uint_eq(view->dynamic_count, 50);
	for (uint32_t i = 0; i < 50; i++)
		ck_assert_uint_eq(wh_view_dynamic(view)[i].sender_count, 100);
	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	ck_assert_uint_eq(count - plain, 100 * 8 + 4 + 50 * (44 + 8 + 100 * 2));
	free(bytes);
	wh_view_free(view);
	wh_view_free(before);
	free(set);
}

TEST_SUITE("wishes")
