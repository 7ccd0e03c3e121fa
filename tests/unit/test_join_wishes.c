/* test_join_wishes.c - a newcomer that wishes to be in subgroups which no file names: when it says so, which invitations it follows, and when it
 * says nothing new.
 */
#include "tests/support/roster_lab.h"

#define KEY (WH_FIRST_KEYS | 0x1000001) /* of the view after view 0 */

struct scene {
	struct lab *lab; /* of node 5, which is not configured; 0 to 2 are */
	struct wh_wishing wishing;
};

static struct wh_wish wish_for(const char *name)
{
	struct wh_wish wish = {.parameters = {.ordered = true, .window = 8, .message_bytes = 100}};

	snprintf(wish.name, sizeof(wish.name), "%s", name);
	return wish;
}

static void wish(struct scene *scene, const char *name)
{
	struct wh_wish one = wish_for(name);

	ck_assert_int_eq(wh_wishing_add(&scene->wishing, &one), WHORL_OK);
}

/* It wishes "a", and has asked node 0, which leads view 0. */
static struct scene *begin(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->lab = roster_lab_make(5, 3);
	scene->wishing.roster = &scene->lab->roster;
	scene->lab->join.wishing = &scene->wishing;
	wish(scene, "a");
	wh_join_begin(&scene->lab->join);
	meet(scene->lab, "012");
	step(scene->lab);
	expect(scene->lab, "0:seeking-0 1:seeking-0 2:seeking-0 ");
	say_member(scene->lab, 0, 0, 0, 1);
	say_member(scene->lab, 1, 0, 0, 1);
	step(scene->lab);
	expect(scene->lab, "0:join 0:wishes-1 ");
	return scene;
}

static void end(struct scene *scene)
{
	roster_lab_free(scene->lab);
	free(scene);
}

/* View 1, of 0, 1 and 5, which serves set `number` of 5: it is in that subgroup. */
static bool invite(struct scene *scene, uint64_t key, uint64_t number, const char *name)
{
	struct lab *lab = scene->lab;
	struct wh_view *before = first_view(lab, "0,1", 2), *next = next_view(lab, before, "", "5");
	struct wh_wish_set set = {.number = number, .count = 1, .wishes = {wish_for(name)}};
	const struct wh_wish_set *sets[WH_NODES_MAX] = {NULL};
	struct wh_composed composed;

	if (number > 0)
		sets[2] = &set;
	ck_assert_int_eq(wh_wishes_compose(&composed, next, before, sets, &lab->layout), WHORL_OK);
	free(composed.refusals);
	wh_view_free(before);
	return invite_by(lab, 0, next, key);
}

/* It says it again, as a member does, until it is invited. */
TEST(a_newcomer_says_what_it_wishes)
{
	struct scene *scene = begin();

	step(scene->lab);
	expect(scene->lab, "");
	roster_lab_pass_ns(scene->lab, WH_WISHING_AGAIN_NS);
	step(scene->lab);
	expect(scene->lab, "0:join 0:wishes-1 ");
	ck_assert(invite(scene, KEY, 1, "a"));
	expect(scene->lab, "open-0,1,5-as-1000001 ");
	ck_assert_uint_eq(scene->lab->opened->dynamic_count, 1);
	end(scene);
}

/* Nothing of what it wishes had come to the leader: it comes in, and says it as a member. */
TEST(an_invitation_without_its_wishes)
{
	struct scene *scene = begin();

	ck_assert(invite(scene, KEY, 0, ""));
	expect(scene->lab, "open-0,1,5-as-1000001 ");
	end(scene);
}

/* Into what it has not wished; by a set that it has never said. */
TEST_LOOP(an_invitation_that_no_node_can_send, 0, 2)
{
	struct scene *scene = begin();

	ck_assert(!invite(scene, KEY, _i == 0 ? 1 : 2, _i == 0 ? "b" : "a"));
	expect(scene->lab, "");
	end(scene);
}

/* No node of this group wishes anything: there is no such view. */
TEST(an_invitation_where_no_node_wishes)
{
	struct scene *scene = begin();

	scene->lab->join.wishing = NULL;
	ck_assert(!invite(scene, KEY, 1, "a"));
	expect(scene->lab, "");
	end(scene);
}

/* What it has said since is on its way: it waits for the invitation that has it, and says nothing new until then. */
TEST_LOOP(an_invitation_by_a_set_that_was_replaced, 0, 2)
{
	struct scene *scene = begin();
	struct lab *lab = scene->lab;

	wh_wishing_remove(&scene->wishing, "a");
	wish(scene, "b");
	step(lab);
	expect(lab, "0:wishes-2 ");
	ck_assert(invite(scene, KEY, 1, "a"));
	expect(lab, "");
	wish(scene, "c");
	step(lab);
	expect(lab, "");
	if (_i == 0) {
		ck_assert(invite(scene, KEY + 1, 2, "b"));
		step(lab);
		expect(lab, "open-0,1,5-as-1000002 0:open-1000002 ");
		lab->is_open = true;
		step(lab);
		expect(lab, "row 0:there-1000002 ");
	} else { /* it is given up */
		withdraw(lab, 0, KEY);
		step(lab);
		expect(lab, "0:wishes-3 ");
	}
	end(scene);
}

/* What it held back it says when its invitation is void. */
TEST(what_an_invitation_held_back)
{
	struct scene *scene = begin();
	struct lab *lab = scene->lab;

	ck_assert(invite(scene, KEY, 1, "a"));
	wish(scene, "b");
	step(lab);
	ck_assert_uint_eq(scene->wishing.said.number, 1);
	forget(lab);
	withdraw(lab, 0, KEY);
	step(lab);
	expect(lab, "discard 0:join 0:wishes-2 0:seeking-0 1:seeking-0 2:seeking-0 ");
	end(scene);
}

TEST_SUITE("join_wishes")
