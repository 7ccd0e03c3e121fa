/* test_reports.c - what the rounds of a restart say, as bytes (membership/reports.h): what is written is read, and nothing else is
 * believed.
 */
#include "membership/reports.h"
#include "tests/harness.h"
#include "tests/support/newcomers.h"
#include "tests/support/seeds.h"

#define NODES 24

/* The subgroups of tests/fuzz/fuzz_wire.c: these are its seeds. */
static const struct wh_subgroup_text texts[] = {{"g", "all", "all", 3, 2},
						{"w", "wish", "all", 1, 1},
						{"h", "0,2,4,6,8", "half", 1, 1},
						{"i", "all", "one", 2, 1}};
static const struct wh_layout_config layout = {texts, 4, NULL, NULL};

static struct wh_view *first_view(void)
{
	struct wh_view *view;
	struct wh_error err;

	ck_assert_int_eq(view_of_all(&view, 9, &layout, &err), WHORL_OK);
	return view;
}

static struct wh_view *view_after(const struct wh_view *before)
{
	const bool removed[9] = {[4] = true};
	struct wh_view *view;
	struct wh_error err;

	ck_assert_int_eq(wh_view_next(&view, before, &(struct wh_next){.removed = removed}, &layout, &err), WHORL_OK);
	return view;
}

/* Of node 2, which is in shard 0 of g and in h. */
static struct wh_report report_of(bool agreed)
{
	struct wh_report report = {.disk = 2, .base = first_view()};
	struct wh_standing *standing = &report.standing;

	*standing = (struct wh_standing){.group = 7, .base = 0x100, .promised = 0x300};
	standing->shards = calloc(2, sizeof(*standing->shards));
	standing->shard_count = 2;
	standing->shards[0] = (struct wh_shard_standing){.subgroup = 0, .shard = 0, .whole = true};
	standing->shards[1] = (struct wh_shard_standing){.subgroup = 2, .shard = 0};
	report.logs = calloc(2, sizeof(*report.logs));
	report.logs[0].extent = 99;
	report.logs[0].frontier = 98;
	report.logs[1].rotten = true;
	if (!agreed)
		return report;
	standing->ballot = 3;
	standing->next = 0x8000000000010001;
	standing->cut_count = report.base->subgroup_count;
	standing->cuts = calloc(standing->cut_count, sizeof(*standing->cuts));
	standing->cuts[1] = 5;
	report.next = view_after(report.base);
	return report;
}

static struct wh_agreement agreement_of(bool taken_up)
{
	struct wh_agreement agreement = {
		.disk = 8, .taken_up = taken_up, .base = 0x100, .next = 0x200, .base_view = first_view()};

	agreement.next_view = view_after(agreement.base_view);
	agreement.begins = calloc(2, sizeof(*agreement.begins));
	agreement.begin_count = 2;
	agreement.begins[0] = (struct wh_shard_begin){0, 1, 0x90, 7};
	agreement.begins[1] = (struct wh_shard_begin){2, 0, 0, 0};
	agreement.cut_count = agreement.base_view->subgroup_count;
	agreement.cuts = calloc(agreement.cut_count, sizeof(*agreement.cuts));
	agreement.cuts[0] = UINT64_MAX;
	return agreement;
}

static bool is_same_view(const struct wh_view *one, const struct wh_view *other)
{
	return one == NULL || other == NULL ? one == other : wh_view_equals(one, other);
}

TEST_LOOP(a_report_is_read_as_written, 0, 3)
{
	struct wh_report report = report_of(_i > 0), read;
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	if (_i == 2) { /* what its disk stands on has been damaged there */
		wh_view_free(report.base);
		report.base = NULL;
	}
	ck_assert_int_eq(wh_report_encode(&bytes, &count, &report), WHORL_OK);
	keep_seed('r', _i, bytes, count);
	ck_assert_int_eq(wh_report_decode(&read, bytes, count, &layout, NODES, &err), WHORL_OK);
	ck_assert_uint_eq(read.disk, 2);
	ck_assert(wh_standing_equals(&read.standing, &report.standing));
	ck_assert_uint_eq(read.logs[0].extent, 99);
	ck_assert_uint_eq(read.logs[0].frontier, 98);
	ck_assert(!read.logs[0].rotten && read.logs[1].rotten);
	ck_assert(is_same_view(read.base, report.base) && is_same_view(read.next, report.next));
	for (size_t less = 0; less < count; less++)
		ck_assert_int_eq(wh_report_decode(&(struct wh_report){.disk = 0}, bytes, less, &layout, NODES, &err),
				 WHORL_INVALID);
	wh_report_free(&read);
	wh_report_free(&report);
	free(bytes);
}

TEST_LOOP(an_agreement_is_read_as_written, 0, 2)
{
	struct wh_agreement agreement = agreement_of(_i), read;
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	ck_assert_int_eq(wh_agreement_encode(&bytes, &count, &agreement), WHORL_OK);
	keep_seed('a', _i, bytes, count);
	ck_assert_int_eq(wh_agreement_decode(&read, bytes, count, &layout, NODES, &err), WHORL_OK);
	ck_assert_uint_eq(read.disk, 8);
	ck_assert_int_eq(read.taken_up, _i);
	ck_assert_uint_eq(read.base, 0x100);
	ck_assert_uint_eq(read.next, 0x200);
	ck_assert_uint_eq(read.begin_count, 2);
	ck_assert_uint_eq(wh_begin_of(read.begins, 2, 0, 1)->begins, 7);
	ck_assert_uint_eq(read.cuts[0], UINT64_MAX);
	ck_assert(wh_view_equals(read.base_view, agreement.base_view));
	ck_assert(wh_view_equals(read.next_view, agreement.next_view));
	for (size_t less = 0; less < count; less++)
		ck_assert_int_eq(
			wh_agreement_decode(&(struct wh_agreement){.disk = 0}, bytes, less, &layout, NODES, &err),
			WHORL_INVALID);
	wh_agreement_free(&read);
	wh_agreement_free(&agreement);
	free(bytes);
}

/* ---- what does not hang together ------------------------------------------------------------------------------------------- */

static void break_report(struct wh_report *report, int how)
{
	struct wh_standing *standing = &report->standing;

	switch (how) {
	case 0:
		report->disk = NODES;
		break;
	case 1:
		standing->number = 1; /* of another view */
		break;
	case 2:
		standing->group = 8;
		break;
	case 3:
		standing->shards[0].shard = 1; /* which it is not in */
		break;
	case 4:
		standing->shards[1].subgroup = 77;
		break;
	case 5:
		standing->cut_count--;
		break;
	case 6:
		wh_view_free(report->next);
		report->next = first_view();
		break;
	case 7:
		report->next->group = 8;
		break;
	default:
		standing->ballot = standing->cut_count = 0; /* and yet there is a view that follows */
		standing->next = 0;
		break;
	}
}

TEST_LOOP(reports_that_do_not_hang_together, 0, 9)
{
	struct wh_report report = report_of(true), read;
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	break_report(&report, _i);
	ck_assert_int_eq(wh_report_encode(&bytes, &count, &report), WHORL_OK);
	ck_assert_int_eq(wh_report_decode(&read, bytes, count, &layout, NODES, &err), WHORL_INVALID);
	ck_assert_ptr_null(read.base);
	ck_assert_ptr_null(read.logs);
	free(bytes);
	wh_report_free(&report);
}

static void break_agreement(struct wh_agreement *agreement, int how)
{
	switch (how) {
	case 0:
		agreement->disk = 9; /* no member of base */
		break;
	case 1:
		agreement->base = 0;
		break;
	case 2:
		agreement->next = 0;
		break;
	case 3:
		agreement->begins[1] = agreement->begins[0];
		break;
	case 4:
		agreement->begins[1].begins = 1; /* behind nothing */
		break;
	case 5:
		agreement->begins[1].shard = 1;
		break;
	case 6:
		agreement->cut_count--;
		break;
	case 7:
		agreement->next_view->number++;
		break;
	case 8:
		agreement->next_view->group = 8;
		break;
	default:
		wh_view_free(agreement->next_view);
		agreement->next_view = NULL;
		break;
	}
}

TEST_LOOP(agreements_that_do_not_hang_together, 0, 10)
{
	struct wh_agreement agreement = agreement_of(false), read;
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	break_agreement(&agreement, _i);
	ck_assert_int_eq(wh_agreement_encode(&bytes, &count, &agreement), WHORL_OK);
	ck_assert_int_eq(wh_agreement_decode(&read, bytes, count, &layout, NODES, &err), WHORL_INVALID);
	ck_assert_ptr_null(read.begins);
	free(bytes);
	wh_agreement_free(&agreement);
}

TEST_SUITE("reports")
