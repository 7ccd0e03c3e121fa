/* test_wishes_wrong.c - views with wishes that no leader can have made by the rules, each wrong in one way: a member finds it.
 */
#include "tests/support/wishes_lab.h"

/* Its members are nodes 0, 1 and 2; 2 has left a, and 1 has entered d. */
#define AS_IT_IS "a#0@1[0s 1] b#1@1[0 1s] d#2@2[1s!]"

static void begin(struct lab *lab)
{
	uint64_t rests[8] = {0};

	wishes_lab_begin(lab, 3);
	lab_wish(lab, 0, "a+ b");
	lab_wish(lab, 1, "a b+");
	lab_wish(lab, 2, "a+");
	lab_plain(lab);
	lab_wish(lab, 1, "a b+ d+");
	lab_wish(lab, 2, "");
	rests[3] = 4;
	wishes_lab_step(lab, &(struct wh_next){.rests = rests});
	LAB_EXPECT(lab, AS_IT_IS);
}

static struct wh_view_subgroup *dynamic(struct lab *lab, uint32_t i)
{
	return &lab->view->subgroups[lab->view->subgroup_count - lab->view->dynamic_count + i];
}

static void shorten(struct lab *lab, uint32_t by)
{
	for (uint32_t i = 0; i < by; i++)
		free(dynamic(lab, lab->view->dynamic_count - 1 - i)->members);
	lab->view->dynamic_count -= by;
	lab->view->subgroup_count -= by;
}

static void of_another_group(struct lab *lab)
{
	lab->view->group++;
}

static void serves_less(struct lab *lab)
{
	lab->view->served[0] = 0;
}

static void seat_again(struct lab *lab)
{
	dynamic(lab, 0)->birth = wh_birth_make(2, 0);
}

static void never_born(struct lab *lab)
{
	dynamic(lab, 2)->birth = wh_birth_make(1, 9);
}

static void another_birth(struct lab *lab)
{
	dynamic(lab, 0)->birth = wh_birth_make(0, 0);
}

static void another_name(struct lab *lab)
{
	dynamic(lab, 0)->name[0] = 'x';
}

static void another_window(struct lab *lab)
{
	dynamic(lab, 0)->parameters.window++;
}

static void another_size(struct lab *lab)
{
	lab_make_large(&dynamic(lab, 0)->parameters);
	dynamic(lab, 0)->parameters.message_bytes = 100;
}

static void enters_again(struct lab *lab)
{
	dynamic(lab, 0)->entered[0] = 1;
	dynamic(lab, 0)->entered_count = 1;
}

static void was_never_in(struct lab *lab)
{
	dynamic(lab, 1)->members[0] = 2;
}

static void sends_no_more(struct lab *lab)
{
	dynamic(lab, 0)->sender_count = 0;
}

static void does_not_rest(struct lab *lab) /* node 2, which has stayed, rested */
{
	dynamic(lab, 0)->members[1] = 2;
}

static void sender_leaves(struct lab *lab)
{
	dynamic(lab, 1)->member_count = 1;
	dynamic(lab, 1)->sender_count = 0;
}

static void subgroup_ends(struct lab *lab)
{
	shorten(lab, 2);
}

static void not_met(struct lab *lab)
{
	shorten(lab, 1);
}

static void never_said(struct lab *lab)
{
	lab->sets[1]->number = 1;
	lab->view->served[1] = 2;
}

static void not_wished(struct lab *lab)
{
	lab->sets[1]->count = 2;
}

static void other_role(struct lab *lab)
{
	lab->sets[1]->wishes[2].sends = false;
}

static void other_parameters(struct lab *lab)
{
	lab->sets[1]->wishes[2].parameters.message_bytes++;
}

static void moved_out(struct lab *lab)
{
	dynamic(lab, 1)->members[0] = 1;
	dynamic(lab, 1)->member_count = 1;
}

static void moved_in(struct lab *lab)
{
	dynamic(lab, 2)->members[0] = dynamic(lab, 2)->senders[0] = dynamic(lab, 2)->entered[0] = 0;
}

static const struct {
	void (*spoil)(struct lab *lab);
	uint32_t me;
	const char *why;
} wrong[] = {
	{of_another_group, 0, "it is not what the record says"},
	{serves_less, 1, "it serves an earlier set of a member than the view before"},
	{seat_again, 1, "a seat is used again at once"},
	{never_born, 0, "a subgroup goes on that was not there, or in which no member stays"},
	{another_birth, 0, "a subgroup goes on as another"},
	{another_name, 0, "a subgroup goes on as another"},
	{another_window, 2, "a subgroup goes on as another"},
	{another_size, 2, "a subgroup goes on as another"},
	{enters_again, 0, "a member enters where it is, or is where it has not entered"},
	{was_never_in, 1, "a member enters where it is, or is where it has not entered"},
	{sends_no_more, 1, "the role of a member that stays is another"},
	{does_not_rest, 0, "the role of a member that stays is another"},
	{sender_leaves, 0, "a member leaves that does not rest"},
	{subgroup_ends, 0, "a subgroup ends in which a member sends"},
	{not_met, 1, "it serves my wishes, and does not meet them"},
	{never_said, 1, "it serves a set that I have not said"},
	{not_wished, 1, "it places me where I do not wish to be"},
	{other_role, 1, "it gives me a role that I do not wish"},
	{other_parameters, 1, "it places me in a subgroup with other parameters"},
	{moved_out, 0, "it moves me, and serves no new set of mine"},
	{moved_in, 0, "it moves me, and serves no new set of mine"},
};

TEST_LOOP(what_is_no_successor, 0, sizeof(wrong) / sizeof(wrong[0]))
{
	uint32_t me = wrong[_i].me;
	const char *why = "nothing";
	struct lab lab;

	begin(&lab);
	wrong[_i].spoil(&lab);
	ck_assert_int_eq(wh_wishes_succeed(lab.view, lab.base, lab.before, me, lab.sets[me], lab.refused[me], &why),
			 WH_NO_SUCCESSOR);
	ck_assert_str_eq(why, wrong[_i].why);
	ck_assert_int_eq(wh_wishes_succeed(lab.view, lab.base, lab.before, me, lab.sets[me], lab.refused[me], NULL),
			 WH_NO_SUCCESSOR);
	wishes_lab_end(&lab);
}

/* A refusal has outrun the view before, which met that wish: the member waits for the view that does not. */
TEST(a_refusal_that_comes_first)
{
	struct lab lab;

	begin(&lab);
	lab.refused[1][2] = true;
	ck_assert_int_eq(wh_wishes_succeed(lab.view, lab.base, lab.before, 1, lab.sets[1], lab.refused[1], NULL),
			 WH_OUT_OF_DATE);
	wishes_lab_end(&lab);
}

/* A member that has replaced its set waits for a view that serves the new one; the others go along with what comes. */
TEST(a_replaced_set_is_out_of_date)
{
	struct lab lab;

	begin(&lab);
	lab_wish(&lab, 1, "a b+");
	ck_assert_int_eq(wh_wishes_succeed(lab.view, lab.base, lab.before, 1, lab.sets[1], lab.refused[1], NULL),
			 WH_OUT_OF_DATE);
	ck_assert_int_eq(wh_wishes_succeed(lab.view, lab.base, lab.before, 0, lab.sets[0], lab.refused[0], NULL),
			 WH_SUCCEEDS);
	ck_assert_int_eq(wh_wishes_place(lab.view, 1, lab.sets[1], lab.refused[1], NULL), WH_OUT_OF_DATE);
	wishes_lab_end(&lab);
}

/* A newcomer is where it wishes, or, if its set has not come, nowhere. */
TEST(a_newcomer_looks_at_its_place)
{
	struct lab lab;
	const char *why = "nothing";

	begin(&lab);
	ck_assert_int_eq(wh_wishes_place(lab.view, 1, lab.sets[1], lab.refused[1], NULL), WH_SUCCEEDS);
	lab.view->served[1] = 0;
	ck_assert_int_eq(wh_wishes_place(lab.view, 1, lab.sets[1], lab.refused[1], &why), WH_NO_SUCCESSOR);
	ck_assert_str_eq(why, "it places me where I do not wish to be");
	lab.view->served[2] = 0;
	ck_assert_int_eq(wh_wishes_place(lab.view, 2, lab.sets[2], lab.refused[2], NULL), WH_SUCCEEDS);
	wishes_lab_end(&lab);
}

/* ---- as bytes --------------------------------------------------------------------------------------------------------------- */

/* Any byte behind the configured subgroups is made another: it is no view, or one that is written so. */
TEST(views_with_wishes_are_written_in_one_way)
{
	struct lab lab;
	struct wh_view *read;
	unsigned char *bytes, *again;
	size_t count, length, plain, others = 0;

	begin(&lab);
	ck_assert_int_eq(wh_view_encode(&bytes, &count, lab.view), WHORL_OK);
	plain = count - (3 * 8 + 2 + 3 * 29 + 2 * (2 + 2 + 1));
	for (size_t at = plain; at < count; at++) {
		unsigned char was = bytes[at];

		for (unsigned value = 0; value < 256; value++) {
			bytes[at] = (unsigned char)value;
			if (wh_view_decode(&read, bytes, count, &lab_layout, 8, NULL) != WHORL_OK)
				continue;
			others++;
			if (wh_view_equals(read, lab.view) != (value == was) ||
			    wh_view_encode(&again, &length, read) != WHORL_OK || length != count ||
			    memcmp(again, bytes, count) != 0)
				ck_abort_msg("it is written in another way: byte %zu, %u", at, value);
			free(again);
			wh_view_free(read);
		}
		bytes[at] = was;
	}
	ck_assert_uint_gt(others, count - plain);
	for (size_t cut = plain + 1; cut < count; cut++)
		ck_assert_int_eq(wh_view_decode(&read, bytes, cut, &lab_layout, 8, NULL), WHORL_INVALID);
	free(bytes);
	wishes_lab_end(&lab);
}

/* No name twice, and none of the file, but what nodes enter and leave. */
TEST_LOOP(names_are_of_one, 0, 5)
{
	static const char *const names[] = {"a", "file", "some", "x", "c"};
	struct lab lab;
	struct wh_view *read = NULL;
	unsigned char *bytes;
	size_t count;

	begin(&lab);
	snprintf(dynamic(&lab, 1)->name, WH_NAME_BYTES, "%s", names[_i]);
	ck_assert_int_eq(wh_view_encode(&bytes, &count, lab.view), WHORL_OK);
	ck_assert_int_eq(wh_view_decode(&read, bytes, count, &lab_layout, 8, NULL), _i >= 3 ? WHORL_OK : WHORL_INVALID);
	wh_view_free(read);
	free(bytes);
	wishes_lab_end(&lab);
}

TEST_SUITE("wishes_wrong")
