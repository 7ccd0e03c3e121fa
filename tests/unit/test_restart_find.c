/* test_restart_find.c - what a round of a restart decides, of reports that the test writes (membership/restart_find.c;
 * docs/decisions/0058, *the restart*, 3 to 5).
 *
 * The group's first view is of nodes 0 to 2. After it there are four: without 2, without 1, and without 0; and with all, which node 3
 * joins; after that without 2 is one like it. One subgroup is durable.
 */
#include "membership/change.h"
#include "membership/restart_int.h"
#include "tests/harness.h"
#include "tests/support/newcomers.h"

#define NODES 6
#define GROUP 7
#define BALLOT 0x900

enum { FIRST, WITHOUT_2, WITHOUT_1, WITHOUT_0, WITH_3, AFTER, VIEWS };

static const struct wh_subgroup_text texts[] = {{"logged", "all", "all", 1, 1}, {"plain", "all", "all", 1, 1}};
static const struct wh_layout_config layout = {texts, 2, NULL, NULL};

struct lab {
	struct wh_view *views[VIEWS];
	uint64_t keys[VIEWS];
	struct wh_restart restart;
	uint64_t incarnations[WH_NODES_MAX];
	uint64_t known; /* when they were asked */
	struct wh_finding found;
};

static bool is_durable(void *ctx, const struct wh_view_subgroup *subgroup)
{
	(void)ctx;
	return subgroup->configured == 0;
}

static void make_view(struct lab *lab, int view, int before, const char *without, const char *with)
{
	struct wh_newcomer newcomers[WH_NODES_MAX];
	bool removed[NODES] = {false};
	struct wh_next next = {
		.removed = removed, .newcomers = newcomers, .newcomer_count = newcomers_of(with, newcomers)};
	struct wh_error err;

	for (; *without != '\0'; without++)
		removed[*without - '0'] = true;
	ck_assert_int_eq(wh_view_next(&lab->views[view], lab->views[before], &next, &layout, &err), WHORL_OK);
	lab->keys[view] = wh_image_key(lab->views[before]->number, 0, (uint64_t)view);
}

static struct lab *lab_make(void)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct wh_error err;

	ck_assert_ptr_nonnull(lab);
	ck_assert_int_eq(view_of_all(&lab->views[FIRST], 3, &layout, &err), WHORL_OK);
	lab->keys[FIRST] = 0x100;
	make_view(lab, WITHOUT_2, FIRST, "2", "");
	make_view(lab, WITHOUT_1, FIRST, "1", "");
	make_view(lab, WITHOUT_0, FIRST, "0", "");
	make_view(lab, WITH_3, FIRST, "", "3");
	make_view(lab, AFTER, WITHOUT_2, "", "");
	lab->restart = (struct wh_restart){.on.is_durable = is_durable, .tie_breaker = -1, .home = UINT32_MAX};
	ck_assert_int_eq(wh_restart_init(&lab->restart, 0, NODES, &err), WHORL_OK);
	return lab;
}

static void lab_free(struct lab *lab)
{
	wh_finding_free(&lab->found);
	wh_restart_close(&lab->restart);
	for (int i = 0; i < VIEWS; i++)
		wh_view_free(lab->views[i]);
	free(lab);
}

static struct wh_view *copy_view(const struct wh_view *view)
{
	struct wh_view *copy;
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	ck_assert_int_eq(wh_view_decode(&copy, bytes, count, &layout, NODES, &err), WHORL_OK);
	free(bytes);
	return copy;
}

/* ---- what disks say ---------------------------------------------------------------------------------------------------- */

/* Of that disk was heard: it stands on that view, whole, and has so much of it. Behind a view before it begins where that had 10. */
static struct wh_report *hear(struct lab *lab, uint32_t disk, int base, uint64_t extent)
{
	struct wh_heard_disk *heard = &lab->restart.round.heard[disk];
	struct wh_standing *standing = &heard->report.standing;
	bool first = base == FIRST;

	heard->is_heard = true;
	heard->by = disk;
	heard->report.disk = disk;
	*standing = (struct wh_standing){.group = GROUP, .base = lab->keys[base], .number = lab->views[base]->number};
	standing->shards = calloc(1, sizeof(*standing->shards));
	standing->shard_count = 1;
	standing->shards[0] = (struct wh_shard_standing){.whole = true};
	standing->shards[0].before = first ? 0 : base == AFTER ? lab->keys[WITHOUT_2] : lab->keys[FIRST];
	standing->shards[0].begins = first ? 0 : 10;
	heard->report.logs = calloc(1, sizeof(*heard->report.logs));
	heard->report.logs[0].extent = extent;
	heard->report.base = copy_view(lab->views[base]);
	lab->incarnations[disk] = 100 + disk;
	return &heard->report;
}

/* And has agreed to that. */
static struct wh_report *agree(struct lab *lab, struct wh_report *report, int next, uint64_t ballot, uint64_t cut)
{
	struct wh_standing *standing = &report->standing;

	standing->ballot = ballot;
	standing->next = lab->keys[next];
	standing->cut_count = 2;
	standing->cuts = calloc(2, sizeof(*standing->cuts));
	standing->cuts[0] = cut;
	report->next = copy_view(lab->views[next]);
	return report;
}

static void find_once(struct lab *lab)
{
	const struct wh_seekers seekers = {&lab->restart, &layout, GROUP, BALLOT, lab->known, lab->incarnations};

	wh_finding_free(&lab->found);
	ck_assert_int_eq(wh_restart_find(&lab->found, &seekers), WHORL_OK);
}

/* And once more, of the same, where they have to be asked again. */
static void find(struct lab *lab)
{
	find_once(lab);
	if (!lab->found.stale)
		return;
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_WAITS);
	lab->known = lab->found.number;
	find_once(lab);
	ck_assert(!lab->found.stale);
}

static void expect_ids(const uint32_t *ids, uint32_t count, const char *expected)
{
	char text[64] = "";

	for (uint32_t i = 0; i < count; i++)
		snprintf(text + i, sizeof(text) - i, "%u", ids[i]);
	ck_assert_str_eq(text, expected);
}

/* A view after `base` was decided: of `members`, of which `entered` are given the log, and the others have it up to the cut. */
static void expect_decides(struct lab *lab, int base, const char *members, const char *entered, uint64_t cut)
{
	const struct wh_agreement *agreement = &lab->found.agreement;
	const struct wh_view *next = agreement->next_view;
	uint32_t ids[NODES];

	find(lab);
	ck_assert_msg(lab->found.verdict == WH_VERDICT_DECIDES, "%d %s", lab->found.verdict, lab->found.why);
	ck_assert_uint_eq(agreement->base, lab->keys[base]);
	ck_assert(wh_view_equals(agreement->base_view, lab->views[base]));
	ck_assert_uint_eq(agreement->next, BALLOT);
	ck_assert(!agreement->taken_up);
	next = agreement->next_view;
	ck_assert_uint_eq(next->number, lab->views[base]->number + 1);
	ck_assert_uint_eq(next->voters, next->members);
	expect_ids(next->ids, next->members, members);
	for (uint32_t rank = 0; rank < next->members; rank++)
		ck_assert_uint_eq(next->incarnations[rank], 100 + next->ids[rank]);
	for (uint32_t i = 0; i < next->subgroups[0].entered_count; i++)
		ids[i] = next->ids[next->subgroups[0].entered[i]];
	expect_ids(ids, next->subgroups[0].entered_count, entered);
	ck_assert_uint_eq(next->subgroups[1].entered_count, next->members); /* it begins with nothing */
	ck_assert_uint_eq(agreement->cut_count, 2);
	ck_assert_uint_eq(agreement->cuts[0], cut);
	ck_assert_uint_eq(agreement->cuts[1], 0);
}

static void expect_takes_up(struct lab *lab, int base, int next, uint64_t cut)
{
	const struct wh_agreement *agreement = &lab->found.agreement;

	find(lab);
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_TAKES_UP);
	ck_assert(agreement->taken_up);
	ck_assert_uint_eq(agreement->base, lab->keys[base]);
	ck_assert_uint_eq(agreement->next, lab->keys[next]);
	ck_assert(wh_view_equals(agreement->next_view, lab->views[next]));
	ck_assert_uint_eq(agreement->cuts[0], cut);
}

static void expect_waits(struct lab *lab, const char *why)
{
	find(lab);
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_WAITS);
	ck_assert_msg(strstr(lab->found.why, why) != NULL, "%s", lab->found.why);
}

static void expect_voters(const struct lab *lab, const char *expected)
{
	char text[NODES + 1] = "";
	int at = 0;

	for (uint32_t id = 0; id < NODES; id++)
		if (lab->found.votes[id])
			text[at++] = (char)('0' + id);
	ck_assert_str_eq(text, expected);
}

/* ---- a view after the newest ---------------------------------------------------------------------------------------------- */

TEST(the_least_of_the_whole_logs)
{
	struct lab *lab = lab_make();

	hear(lab, 0, FIRST, 5);
	hear(lab, 1, FIRST, 3);
	hear(lab, 2, FIRST, 4);
	expect_decides(lab, FIRST, "012", "", 3);
	ck_assert(lab->found.all_heard);
	expect_voters(lab, "012");
	lab_free(lab);
}

TEST(a_majority_is_enough)
{
	struct lab *lab = lab_make();

	hear(lab, 2, FIRST, 4);
	expect_waits(lab, "missing: 0 1");
	expect_ids(lab->found.missing.ids, lab->found.missing.count, "01");
	hear(lab, 0, FIRST, 5);
	expect_decides(lab, FIRST, "02", "", 4);
	expect_ids(lab->found.missing.ids, lab->found.missing.count, "1");
	ck_assert(!lab->found.all_heard);
	expect_voters(lab, "02");
	lab_free(lab);
}

TEST(half_with_the_tie_breaker)
{
	struct lab *lab = lab_make();

	hear(lab, 0, WITHOUT_2, 5);
	expect_waits(lab, "missing: 1");
	ck_assert_uint_eq(lab->found.missing.view, 1);
	lab->restart.tie_breaker = 1;
	expect_waits(lab, "missing: 1");
	lab->restart.tie_breaker = 0;
	expect_decides(lab, WITHOUT_2, "0", "", 5);
	lab_free(lab);
}

TEST(one_configured_node_is_needed)
{
	struct lab *lab = lab_make();

	hear(lab, 1, FIRST, 5);
	hear(lab, 2, FIRST, 5);
	lab->restart.home = 1;
	expect_waits(lab, "missing: 0");
	lab->restart.home = 2;
	expect_decides(lab, FIRST, "12", "", 5);
	lab_free(lab);
}

/* It has been passed over. */
TEST(who_is_no_member_has_no_vote)
{
	struct lab *lab = lab_make();

	hear(lab, 0, WITHOUT_2, 5);
	hear(lab, 2, FIRST, 50);
	expect_waits(lab, "missing: 1");
	hear(lab, 1, WITHOUT_2, 6);
	expect_decides(lab, WITHOUT_2, "01", "", 5);
	expect_voters(lab, "01");
	lab_free(lab);
}

TEST(another_group_counts_for_nothing)
{
	struct lab *lab = lab_make();

	hear(lab, 0, FIRST, 5);
	hear(lab, 1, AFTER, 5)->standing.group = GROUP + 1;
	expect_waits(lab, "missing: 1 2");
	lab_free(lab);
}

/* Its disk was reported by another node: it votes, and is no member. */
TEST(a_disk_that_is_spoken_for)
{
	struct lab *lab = lab_make();

	hear(lab, 0, FIRST, 5);
	hear(lab, 1, FIRST, 3);
	lab->incarnations[1] = 0;
	expect_decides(lab, FIRST, "0", "", 5);
	expect_voters(lab, "01");
	lab->restart.round.heard[0].report.standing.shards[0].whole = false;
	expect_waits(lab, "node 1 has, and is not here itself; missing: 2");
	ck_assert_uint_eq(lab->found.missing.count, 2);
	ck_assert_uint_eq(lab->found.missing.ids[1], 1);
	lab_free(lab);
}

/* ---- whole logs ------------------------------------------------------------------------------------------------------------ */

TEST(logs_that_do_not_count)
{
	struct lab *lab = lab_make();
	struct wh_report *zero = hear(lab, 0, FIRST, 5), *one = hear(lab, 1, FIRST, 3);

	hear(lab, 2, FIRST, 4);
	one->standing.shards[0].whole = false;
	expect_decides(lab, FIRST, "012", "1", 4);
	one->standing.shards[0].whole = true;
	one->logs[0].rotten = true;
	expect_decides(lab, FIRST, "012", "1", 4);
	zero->standing.shard_count = 0; /* it came in with this view */
	expect_decides(lab, FIRST, "012", "01", 4);
	lab->restart.round.heard[2].report.logs[0].rotten = true;
	expect_waits(lab, "all of the log of logged");
	lab_free(lab);
}

/* Below what any log says that all had on disk none may end: then its end has rotted, and looks as if it had never been there. */
TEST(a_log_that_has_lost_its_end)
{
	struct lab *lab = lab_make();
	struct wh_report *zero = hear(lab, 0, FIRST, 5), *one = hear(lab, 1, FIRST, 3), *two = hear(lab, 2, FIRST, 4);

	zero->logs[0].frontier = 3;
	expect_decides(lab, FIRST, "012", "", 3);
	zero->logs[0].frontier = 4;
	expect_decides(lab, FIRST, "012", "1", 4);
	zero->logs[0].frontier = 5;
	expect_decides(lab, FIRST, "012", "12", 5);
	zero->standing.shards[0].whole = false; /* what it says is so all the same */
	expect_waits(lab, "all of the log of logged");
	zero->logs[0].frontier = 0;
	two->logs[0].frontier = 4;
	expect_decides(lab, FIRST, "012", "01", 4);
	two->logs[0].rotten = true;
	expect_waits(lab, "all of the log of logged");
	one->logs[0].extent = 4;
	expect_decides(lab, FIRST, "012", "02", 4);
	lab_free(lab);
}

/* Of another view it says nothing of this one. */
TEST(a_frontier_of_a_view_before)
{
	struct lab *lab = lab_make();

	hear(lab, 0, WITHOUT_2, 3);
	hear(lab, 1, WITHOUT_2, 4);
	hear(lab, 2, FIRST, 12)->logs[0].frontier = 12;
	expect_decides(lab, WITHOUT_2, "01", "", 3);
	lab_free(lab);
}

/* What a log has of a view before is not of this one; and it has all that was before this one, or something is wrong with it. */
TEST(a_log_of_the_view_before)
{
	struct lab *lab = lab_make();
	struct wh_report *one;

	hear(lab, 0, WITHOUT_2, 5);
	one = hear(lab, 1, FIRST, 70);
	expect_decides(lab, WITHOUT_2, "01", "", 0);
	one->logs[0].extent = 10;
	expect_decides(lab, WITHOUT_2, "01", "", 0);
	one->logs[0].extent = 9;
	expect_decides(lab, WITHOUT_2, "01", "1", 5);
	ck_assert_uint_eq(lab->found.agreement.begin_count, 1);
	ck_assert_uint_eq(lab->found.agreement.begins[0].before, lab->keys[FIRST]);
	ck_assert_uint_eq(lab->found.agreement.begins[0].begins, 10);
	lab_free(lab);
}

/* It may have come into that view since, and have ended: what it said is no promise there. It has to say it again. */
TEST(what_was_said_before_base_was_known)
{
	struct lab *lab = lab_make();
	struct wh_report *one = hear(lab, 1, FIRST, 12);

	hear(lab, 0, WITHOUT_2, 5);
	find_once(lab);
	ck_assert(lab->found.stale);
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_WAITS);
	ck_assert_uint_eq(lab->found.number, 1);
	lab->restart.round.heard[1].by = 0; /* this node itself has locked it */
	find_once(lab);
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_DECIDES);
	lab->restart.round.heard[1].by = 1;
	lab->known = 1;
	find_once(lab);
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_DECIDES);
	lab->known = 0;
	agree(lab, one, WITHOUT_2, 1, 11);
	find_once(lab);
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_DECIDES);
	hear(lab, 2, FIRST, 12); /* no member of it */
	find_once(lab);
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_DECIDES);
	lab_free(lab);
}

/* Where base begins is known only from what one has agreed to, or by one of another shard; or not at all: then such a log is none. */
TEST(where_base_begins)
{
	struct lab *lab = lab_make();
	struct wh_report *zero = hear(lab, 0, WITHOUT_2, 5), *one = hear(lab, 1, FIRST, 12);

	zero->standing.shard_count = 0;
	expect_waits(lab, "all of the log");
	zero->standing.others = calloc(1, sizeof(*zero->standing.others));
	zero->standing.others[0] = (struct wh_shard_begin){0, 0, lab->keys[FIRST], 10};
	zero->standing.other_count = 1;
	expect_decides(lab, WITHOUT_2, "01", "0", 0);
	zero->standing.other_count = 0;
	agree(lab, one, WITHOUT_2, 1, 11);
	expect_decides(lab, WITHOUT_2, "01", "0", 0);
	ck_assert_uint_eq(lab->found.agreement.begins[0].begins, 11);
	lab_free(lab);
}

/* Two views behind: it has agreed to the one in between, and has nothing of that. */
TEST(a_log_of_two_views_before)
{
	struct lab *lab = lab_make();
	struct wh_report *zero = hear(lab, 0, AFTER, 5), *one = hear(lab, 1, FIRST, 12);

	zero->standing.shards[0].begins = 0;
	expect_decides(lab, AFTER, "01", "1", 5);
	agree(lab, one, WITHOUT_2, 1, 11);
	expect_decides(lab, AFTER, "01", "", 0);
	zero->standing.shards[0].begins = 1; /* then it would have some */
	expect_decides(lab, AFTER, "01", "1", 5);
	lab_free(lab);
}

/* ---- what was agreed to ------------------------------------------------------------------------------------------------------ */

TEST(an_agreement_is_taken_up)
{
	struct lab *lab = lab_make();

	agree(lab, hear(lab, 0, FIRST, 5), WITHOUT_2, 1, 4);
	hear(lab, 1, FIRST, 3);
	expect_takes_up(lab, FIRST, WITHOUT_2, 4);
	expect_voters(lab, "01");
	lab_free(lab);
}

TEST_LOOP(that_of_the_highest_ballot, 0, 2)
{
	struct lab *lab = lab_make();

	agree(lab, hear(lab, 0, FIRST, 5), WITHOUT_2, _i == 0 ? 1 : 3, 4);
	agree(lab, hear(lab, 1, FIRST, 3), WITHOUT_0, 2, 2);
	hear(lab, 2, FIRST, 3);
	if (_i == 0)
		expect_takes_up(lab, FIRST, WITHOUT_0, 2);
	else
		expect_takes_up(lab, FIRST, WITHOUT_2, 4);
	lab_free(lab);
}

/* A quorum has agreed to the same: it was decided, and what follows it is the matter. */
TEST(what_a_quorum_has_agreed_to_is_the_newest_view)
{
	struct lab *lab = lab_make();

	agree(lab, hear(lab, 0, FIRST, 15), WITHOUT_2, 1, 12);
	agree(lab, hear(lab, 1, FIRST, 13), WITHOUT_2, 1, 12);
	hear(lab, 2, FIRST, 3);
	expect_decides(lab, WITHOUT_2, "01", "", 0);
	ck_assert_uint_eq(lab->found.agreement.begins[0].begins, 12);
	lab_free(lab);
}

/* At two ballots, or to two views, or with two cuts: no quorum has agreed to one thing. */
TEST_LOOP(what_is_not_the_same, 0, 3)
{
	struct lab *lab = lab_make();

	agree(lab, hear(lab, 0, FIRST, 15), WITHOUT_2, 1, 12);
	agree(lab, hear(lab, 1, FIRST, 13), _i == 1 ? WITHOUT_0 : WITHOUT_2, _i == 0 ? 2 : 1, _i == 2 ? 11 : 12);
	find(lab);
	ck_assert_int_eq(lab->found.verdict, WH_VERDICT_TAKES_UP);
	ck_assert_uint_eq(lab->found.agreement.base, lab->keys[FIRST]);
	lab_free(lab);
}

/* What one disk says that follows the view before is nothing beside a view that is known to have been decided. */
TEST(an_agreement_in_an_older_view)
{
	struct lab *lab = lab_make();

	agree(lab, hear(lab, 0, FIRST, 15), WITHOUT_1, 5, 12);
	hear(lab, 1, WITHOUT_2, 13);
	hear(lab, 2, FIRST, 3);
	expect_decides(lab, WITHOUT_2, "01", "", 0);
	lab_free(lab);
}

TEST(its_view_is_on_no_disk)
{
	struct lab *lab = lab_make();
	struct wh_report *zero = agree(lab, hear(lab, 0, FIRST, 5), WITHOUT_2, 1, 4);

	hear(lab, 1, FIRST, 3);
	wh_view_free(zero->next);
	zero->next = NULL;
	expect_waits(lab, "which one has agreed to");
	lab_free(lab);
}

/* A newcomer knows what took it in, and has none of its bytes. */
TEST(the_newest_view_is_on_no_disk)
{
	struct lab *lab = lab_make();
	struct wh_report *three = hear(lab, 3, WITH_3, 0);

	wh_view_free(three->base);
	three->base = NULL;
	three->standing.shard_count = 0;
	hear(lab, 0, FIRST, 30);
	hear(lab, 1, FIRST, 30);
	expect_waits(lab, "has view 1");
	hear(lab, 2, WITH_3, 3);
	expect_decides(lab, WITH_3, "0123", "3", 0);
	lab_free(lab);
}

/* ---- those that have left ------------------------------------------------------------------------------------------------------ */

TEST(who_left_does_not_count)
{
	struct lab *lab = lab_make();
	struct wh_report *two = hear(lab, 2, FIRST, 4);

	two->standing.left = true;
	hear(lab, 0, FIRST, 5);
	expect_waits(lab, "node 2 has left");
	lab->restart.tie_breaker = 0;
	expect_decides(lab, FIRST, "0", "", 5);
	expect_voters(lab, "0");
	lab_free(lab);
}

/* If all members were heard none has gone on without it: its mark is nothing, and its log may be the only one. */
TEST(where_all_have_come_all_count)
{
	struct lab *lab = lab_make();

	hear(lab, 0, FIRST, 5)->standing.shards[0].whole = false;
	hear(lab, 2, FIRST, 4)->standing.left = true;
	lab->restart.tie_breaker = 0;
	expect_waits(lab, "node 2 has, and has left: it counts when all members of that view have come; missing: 1");
	ck_assert_uint_eq(lab->found.missing.count, 1);
	ck_assert_uint_eq(lab->found.missing.ids[0], 1);
	hear(lab, 1, FIRST, 5)->standing.shards[0].whole = false;
	lab->restart.tie_breaker = -1;
	expect_decides(lab, FIRST, "012", "01", 4);
	expect_voters(lab, "012");
	lab_free(lab);
}

TEST(where_all_have_left_all_count)
{
	struct lab *lab = lab_make();

	hear(lab, 0, FIRST, 5)->standing.left = true;
	hear(lab, 1, FIRST, 4)->standing.left = true;
	expect_waits(lab, "missing: 2");
	hear(lab, 2, FIRST, 6)->standing.left = true;
	expect_decides(lab, FIRST, "012", "", 4);
	lab_free(lab);
}

/* 0 alone is configured: without it the others could not go on, so nobody has, if all are heard. */
TEST(where_the_configured_have_left_all_count)
{
	struct lab *lab = lab_make();

	lab->restart.home = 1;
	hear(lab, 0, FIRST, 5)->standing.left = true;
	hear(lab, 1, FIRST, 4);
	expect_waits(lab, "missing: 2; node 0 has left");
	hear(lab, 2, FIRST, 6);
	expect_decides(lab, FIRST, "012", "", 4);
	expect_voters(lab, "012");
	lab_free(lab);
}

/* It left in the view before, and is in this one again. */
TEST(that_it_left_in_another_view_is_nothing)
{
	struct lab *lab = lab_make();

	hear(lab, 0, WITH_3, 5);
	hear(lab, 1, FIRST, 12)->standing.left = true;
	hear(lab, 3, WITH_3, 0)->standing.shards[0].whole = false;
	expect_decides(lab, WITH_3, "013", "3", 0);
	expect_voters(lab, "013");
	lab_free(lab);
}

/* Nor where that view is counted for what was agreed to. */
TEST(who_left_does_not_count_in_what_was_decided)
{
	struct lab *lab = lab_make();

	agree(lab, hear(lab, 0, FIRST, 15), WITHOUT_2, 1, 12);
	hear(lab, 2, FIRST, 3)->standing.left = true;
	lab->restart.tie_breaker = 0;
	find(lab); /* one of two, and the tie-breaker */
	ck_assert_uint_eq(lab->found.agreement.base, lab->keys[WITHOUT_2]);
	lab->restart.tie_breaker = -1;
	expect_waits(lab, "view 0");
	lab_free(lab);
}

/* ---- begun anew -------------------------------------------------------------------------------------------------------- */

/* Of three it is one, and that is enough; also where others of its group had been heard. */
TEST(a_disk_that_was_begun_anew_counts_alone)
{
	struct lab *lab = lab_make();

	hear(lab, 1, FIRST, 5);
	expect_waits(lab, "missing: 0 2");
	lab->restart.round.heard[1].report.standing.alone = true;
	expect_decides(lab, FIRST, "1", "", 5);
	expect_voters(lab, "1");
	ck_assert(lab->found.all_heard);
	ck_assert_uint_eq(lab->found.missing.count, 0);
	lab_free(lab);
}

/* What it has agreed to since is decided. */
TEST(what_it_agrees_to_alone_is_decided)
{
	struct lab *lab = lab_make();
	struct wh_report *report = hear(lab, 0, WITHOUT_2, 5);

	report->standing.alone = true;
	agree(lab, report, AFTER, BALLOT - 0x100, 3);
	find(lab);
	ck_assert_uint_eq(lab->found.missing.view, lab->views[AFTER]->number);
	expect_waits(lab, "missing: 1"); /* it has two members here */
	lab_free(lab);
}

/* A shard of which it has said that it has not all begins with nothing; one that it had all of, and has lost, is waited for. */
TEST(of_what_it_has_not_nobody_has_all)
{
	struct lab *lab = lab_make();
	struct wh_report *report = hear(lab, 1, FIRST, 5);

	report->standing.alone = true;
	report->logs[0].rotten = true;
	expect_waits(lab, "all of the log of logged");
	report->standing.shards[0].whole = false;
	report->logs[0].rotten = false;
	expect_decides(lab, FIRST, "1", "1", 0);
	report->standing.shard_count = 0; /* it was not in it */
	expect_decides(lab, FIRST, "1", "1", 0);
	lab_free(lab);
}

TEST_SUITE("restart: find")
