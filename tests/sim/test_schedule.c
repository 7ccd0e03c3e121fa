/* test_schedule.c - faults as sentences, drawn schedules, and how a trial that fails becomes small. */
#include <string.h>

#include "sim/flavours.h"
#include "sim/trial.h"
#include "tests/harness.h"

/* ---- sentences -------------------------------------------------------------------------------------------------------------- */

TEST(sentences_are_read_and_written)
{
	static const char *const sentences[] = {
		"crash 2 at 30 ms",
		"crash 2 silently at push 17",
		"crash 0 at decide 1",
		"crash 63 at install 4294967295",
		"stall 1 for 80 ms at 20 ms",
		"stall 1 for 0.001 ms at upcall 5",
		"cut 0,1 from 2,3 for 90 ms at 20.5 ms",
		"cut 0 and 2 for 90.25 ms at 0 ms",
		"slow 0 to 1,2,3 by 16 for 50 ms at 10.125 ms",
		"break 0,4 with 1 at 30 ms",
		"leave 3 at 40 ms",
		"join 5 at 12 ms",
		"return 2 at 80.5 ms",
		"rest 1 for 60 ms at 20 ms",
		"crash 5 silently after invited 1",
		"stall 0 for 50 ms at give 2",
		"crash 5 at restore 1",
		"crash 5 at restored 1",
		"enter 3 in d1 at 20 ms",
		"enter 0 in d3 otherwise at 0 ms",
		"enter 2 in d0 after propose 2",
		"exit 3 from d1 at upcall 4",
		"release 3 of d1 at 60.5 ms",
		"crash 2 without power at sync 3",
		"power off at 40 ms",
		"return 2 without its disk at 90 ms",
		"return 2 begun anew at 90 ms",
		"slow disk 1 by 16 for 50 ms at 10 ms",
		"hang disk 1 at 30 ms",
		"fill disk 1 for 50 ms at 20 ms",
		"rot disk 1 at 30 ms",
	};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		char wrong[256], line[WH_FAULT_TEXT];
		struct wh_fault fault;

		ck_assert_msg(wh_fault_parse(&fault, sentences[i], wrong, sizeof(wrong)), "%s", wrong);
		ck_assert_str_eq(wh_fault_print(&fault, line), sentences[i]);
	}
}

TEST(what_is_no_sentence_is_told)
{
	static const char *const cases[][2] = {
		{"",
		 "expected crash, stall, cut, slow, break, leave, join, return, rest, enter, exit, release, power off, slow disk, hang disk, fail sync, fill disk or rot disk at its end"},
		{"explode 2 at 30 ms",
		 "expected crash, stall, cut, slow, break, leave, join, return, rest, enter, exit, release, power off, slow disk, hang disk, fail sync, fill disk or rot disk before"},
		{"crash at 30 ms", "expected a node before \"at 30 ms\""},
		{"crash 64 at 30 ms", "expected a"},
		{"crash 2", "expected at at its end"},
		{"crash 2 at 30", "expected ms at its end"},
		{"crash 2 at 30 s", "expected ms before \"s\""},
		{"crash 2 at lunch 1", "expected a"},
		{"crash 2 at push 0", "expected a larger number"},
		{"crash 2 at 30 ms please", "expected the end before \"please\""},
		{"stall 1 at 30 ms", "expected for before \"at 30 ms\""},
		{"rest 1 at 30 ms", "expected for before \"at 30 ms\""},
		{"join 1 at there 1", "only crashes and stalls"},
		{"leave 1 at wedge 1", "only crashes and stalls"},
		{"enter 1 at 3 ms", "expected in before \"at 3 ms\""},
		{"enter 1 in g1 at 3 ms", "a dynamic subgroup, as d1"},
		{"enter 1 in d9 at 3 ms", "a smaller number"},
		{"exit 1 from d1 otherwise at 3 ms", "expected at before"},
		{"release 1 of d1 at wedge 1", "a wish is not said in the middle of a step"},
		{"cut 0,1 from 1,2 for 1 ms at 1 ms", "without a node in common"},
		{"cut 0 for 1 ms at 1 ms", "expected from before \"for"},
		{"slow 0 to 1 for 1 ms at 1 ms", "expected by before"},
		{"slow 0 to 1 by 0 for 1 ms at 1 ms", "expected a larger number"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wh_fault fault;
		char wrong[512];

		ck_assert_msg(!wh_fault_parse(&fault, cases[i][0], wrong, sizeof(wrong)), "%s is taken", cases[i][0]);
		ck_assert_msg(strstr(wrong, cases[i][1]) != NULL, "%s", wrong);
	}
}

/* ---- flavours ---------------------------------------------------------------------------------------------------- */

/* One draw for the flavours with schedules that have an opening. */
static bool has_opening(const struct wh_flavour *flavour, const struct wh_schedule *schedule)
{
	const struct wh_fault *first = &schedule->faults[0], *second = &schedule->faults[1];

	if (flavour->opening == WH_OPENING_TAKEOVER)
		return schedule->count > 1 && first->kind == WH_FAULT_CRASH && second->kind == WH_FAULT_CRASH &&
		       second->moment == WH_MOMENT_DECIDE && second->node == 0 && first->node != 0;
	return flavour->opening == WH_OPENING_BETWEEN_TWO && schedule->count > 1 && first->kind == WH_FAULT_CUT &&
	       second->kind == WH_FAULT_STALL && ((first->from | first->to) >> second->node & 1) == 0;
}

TEST(each_flavour_draws_what_it_says)
{
	for (int which = WH_FLAVOUR_FIRST; which < WH_FLAVOUR_COUNT; which++) {
		const struct wh_flavour *flavour = wh_flavour_of(which, 1);
		uint32_t drawn[WH_FAULT_KIND_COUNT] = {0}, openings = 0;

		ck_assert_str_eq(flavour->name, wh_flavour_names[which]);
		for (uint64_t seed = 1; seed <= 2000; seed++) {
			const struct wh_schedule_limits limits = {
				.flavour = flavour,
				.nodes = flavour->nodes_min +
					 (uint32_t)seed % (flavour->nodes_max - flavour->nodes_min + 1),
				.ids = flavour->nodes_max,
				.founder = -1,
				.faults = 8,
				.kinds = (1u << WH_FAULT_JOIN) - 1,
				.span_us = 80000,
				.failure_timeout_us = 40000};
			struct wh_schedule schedule;

			wh_schedule_draw(&schedule, seed, &limits);
			ck_assert_uint_le(schedule.count, 8);
			openings += has_opening(flavour, &schedule);
			for (uint32_t i = 0; i < schedule.count; i++) {
				ck_assert(wh_fault_fits(&schedule.faults[i], limits.ids));
				drawn[schedule.faults[i].kind]++;
			}
		}
		for (int kind = 0; kind < WH_FAULT_JOIN; kind++)
			ck_assert_msg((drawn[kind] > 0) == (flavour->kinds[kind] > 0), "%s: %s", flavour->name,
				      wh_fault_word((enum wh_fault_kind)kind));
		ck_assert_msg((openings > 1000) == (flavour->opening != WH_OPENING_NONE), "%s: %u openings",
			      flavour->name, openings);
	}
}

/* Each as often as its weight says, about; and a flavour that has none of what is asked for gives way. */
TEST(any_flavour_is_drawn)
{
	const struct wh_schedule_limits limits = {.flavour = wh_flavour_of(WH_FLAVOUR_SPLITS, 1),
						  .nodes = 3,
						  .ids = 3,
						  .founder = -1,
						  .faults = 3,
						  .kinds = 1u << WH_FAULT_LEAVE,
						  .span_us = 80000,
						  .failure_timeout_us = 40000};
	uint32_t seen[WH_FLAVOUR_COUNT] = {0}, weights = 0;
	struct wh_schedule schedule;

	for (uint64_t seed = 1; seed <= 30000; seed++)
		for (int which = WH_FLAVOUR_FIRST; which < WH_FLAVOUR_COUNT; which++)
			seen[which] += wh_flavour_of(WH_FLAVOUR_ANY, seed) == wh_flavour_of(which, seed);
	for (int which = WH_FLAVOUR_FIRST; which < WH_FLAVOUR_COUNT; which++)
		weights += wh_flavour_of(which, 1)->weight;
	for (int which = WH_FLAVOUR_FIRST; which < WH_FLAVOUR_COUNT; which++) {
		uint32_t expected = 30000 * wh_flavour_of(which, 1)->weight / weights;

		ck_assert_uint_gt(seen[which], expected * 9 / 10);
		ck_assert_uint_lt(seen[which], expected * 11 / 10);
	}
	wh_schedule_draw(&schedule, 1, &limits);
	for (uint32_t i = 0; i < schedule.count; i++)
		ck_assert_int_eq(schedule.faults[i].kind, WH_FAULT_LEAVE);
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* What is drawn is within the limits, reads back as what it is, and of everything there is something. */
TEST(schedules_cover_the_ground)
{
	uint32_t kinds = 0, moments = 0, counts = 0, both = 0, silently = 0;
	bool absent = false;

	for (uint64_t seed = 1; seed <= 5000; seed++) {
		const struct wh_schedule_limits limits = {.nodes = 3 + (uint32_t)(seed % 5),
							  .ids = 3 + (uint32_t)(seed % 5 + seed % 3),
							  .founder = (int)(seed % 4) - 1,
							  .faults = 4,
							  .kinds = UINT32_MAX,
							  .span_us = 80000,
							  .failure_timeout_us = 40000};
		struct wh_schedule schedule, again;

		wh_schedule_draw(&schedule, seed, &limits);
		wh_schedule_draw(&again, seed, &limits);
		ck_assert_uint_eq(schedule.count, again.count);
		counts |= 1u << (schedule.count < 20 ? schedule.count : 20);
		absent |= wh_schedule_absent(&schedule) != 0;
		if (limits.founder >= 0)
			ck_assert_uint_eq(wh_schedule_absent(&schedule) >> limits.founder & 1, 0);
		else
			ck_assert_int_gt(
				2 * ((int)limits.nodes - __builtin_popcountll(wh_schedule_absent(&schedule) &
									      ((UINT64_C(1) << limits.nodes) - 1))),
				(int)limits.nodes);
		for (uint32_t i = 0; i < schedule.count; i++) {
			const struct wh_fault *fault = &schedule.faults[i];
			char line[WH_FAULT_TEXT], other[WH_FAULT_TEXT], wrong[256];
			struct wh_fault read;

			wh_fault_print(fault, line);
			ck_assert_str_eq(line, wh_fault_print(&again.faults[i], other));
			ck_assert_msg(wh_fault_parse(&read, line, wrong, sizeof(wrong)), "%s", wrong);
			ck_assert_str_eq(line, wh_fault_print(&read, other));
			ck_assert(wh_fault_fits(fault, limits.ids));
			kinds |= 1u << fault->kind;
			moments |= 1u << fault->moment;
			both |= 1u << (fault->kind == WH_FAULT_CUT && fault->both);
			silently |= 1u << (fault->kind == WH_FAULT_CRASH && fault->silently);
		}
	}
	ck_assert_uint_eq(kinds, (1u << WH_FAULT_ENTER) - 1);    /* wishes are drawn where they are wanted */
	ck_assert_uint_eq(moments, (1u << WH_MOMENT_WRITE) - 1); /* and disks where there are some */
	ck_assert_uint_eq(counts & 0xfff, 0xfff);
	ck_assert(absent);
	ck_assert_uint_eq(both, 3);
	ck_assert_uint_eq(silently, 3);
}

/* Each kind of wish, of each name, early and late, at steps and in upcalls; together, and again and again. What else is drawn stays. */
TEST(wishes_are_drawn_where_they_are_wanted)
{
	struct wh_schedule_limits limits = {.nodes = 5,
					    .ids = 7,
					    .founder = -1,
					    .faults = 8,
					    .kinds = (1u << WH_FAULT_ENTER) - 1,
					    .span_us = 80000,
					    .failure_timeout_us = 40000};
	uint32_t kinds = 0, names = 0, moments = 0;
	bool otherwise = false, early = false;

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct wh_schedule without, schedule;

		limits.names = 0;
		wh_schedule_draw(&without, seed, &limits);
		limits.names = 4;
		wh_schedule_draw(&schedule, seed, &limits);
		ck_assert_uint_gt(schedule.count, without.count);
		ck_assert_uint_le(schedule.count, WH_SCHEDULE_MAX);
		ck_assert_int_eq(memcmp(schedule.faults, without.faults, without.count * sizeof(without.faults[0])), 0);
		for (uint32_t i = without.count; i < schedule.count; i++) {
			const struct wh_fault *fault = &schedule.faults[i];
			char line[WH_FAULT_TEXT], other[WH_FAULT_TEXT], wrong[256];
			struct wh_fault read;

			wh_fault_print(fault, line);
			ck_assert_msg(wh_fault_parse(&read, line, wrong, sizeof(wrong)), "%s", wrong);
			ck_assert_str_eq(line, wh_fault_print(&read, other));
			ck_assert(wh_fault_fits(fault, limits.ids));
			kinds |= 1u << fault->kind;
			if (!wh_fault_is_wish(fault))
				continue;
			names |= 1u << fault->name;
			moments |= 1u << fault->moment;
			otherwise |= fault->otherwise;
			early |= fault->kind == WH_FAULT_ENTER && fault->moment == WH_MOMENT_TIME && fault->at == 0;
		}
	}
	ck_assert_uint_eq(kinds, 7u << WH_FAULT_ENTER | 1u << WH_FAULT_CRASH | 1u << WH_FAULT_STALL);
	ck_assert_uint_eq(names, 15);
	ck_assert(otherwise && early);
	ck_assert((moments & 1u << WH_MOMENT_UPCALL) != 0 && (moments & 1u << WH_MOMENT_PROPOSE) != 0);
}

TEST(only_what_is_asked_for_is_drawn)
{
	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct wh_schedule_limits limits = {.nodes = 5,
						    .ids = 7,
						    .founder = -1,
						    .faults = 3,
						    .kinds = 1u << WH_FAULT_STALL | 1u << WH_FAULT_LEAVE,
						    .span_us = 80000,
						    .failure_timeout_us = 40000};
		struct wh_schedule schedule;

		wh_schedule_draw(&schedule, seed, &limits);
		for (uint32_t i = 0; i < schedule.count; i++)
			ck_assert(schedule.faults[i].kind == WH_FAULT_STALL ||
				  schedule.faults[i].kind == WH_FAULT_LEAVE);
		limits.kinds = 0;
		wh_schedule_draw(&schedule, seed, &limits);
		ck_assert_uint_eq(schedule.count, 0);
	}
}

/* ---- shrinking --------------------------------------------------------------------------------------------------- */

static const struct wh_trial_options wide = {.nodes_min = 3,
					     .nodes_max = 7,
					     .subgroups_max = 4,
					     .messages_max = 100,
					     .deliveries_max = 1500,
					     .failure_timeout_ms = 40,
					     .latency_max_us = 20};

/* Fails if node 1 is stalled for 3 ms or more while there are 4 nodes at least; and in another way if somebody leaves. */
static void play(const struct wh_trial *trial, FILE *log, struct wh_verdict *out)
{
	(void)log;
	*out = (struct wh_verdict){.good = true};
	for (uint32_t i = 0; i < trial->schedule.count; i++) {
		const struct wh_fault *fault = &trial->schedule.faults[i];

		if (fault->kind == WH_FAULT_STALL && fault->node == 1 && fault->for_us >= 3000 &&
		    trial->plan.config.group.nodes >= 4)
			*out = (struct wh_verdict){.text = "sleep: node 1 is late"};
		else if (fault->kind == WH_FAULT_LEAVE && out->good)
			*out = (struct wh_verdict){.text = "company: it is missed"};
	}
}

static bool tell(void *ctx, uint32_t attempts)
{
	uint32_t *most = ctx;

	return attempts < *most;
}

static void make_failing(struct wh_trial *trial, struct wh_verdict *verdict)
{
	static const char *const sentences[] = {"leave 2 at 10 ms", "stall 1 for 80 ms at 64 ms", "crash 0 at wedge 2"};
	struct wh_trial_options options = wide;
	struct wh_schedule schedule = {.count = 0};
	char wrong[256];

	options.nodes_min = options.nodes_max = 6;
	for (size_t i = 0; i < 3; i++)
		ck_assert(wh_fault_parse(&schedule.faults[schedule.count++], sentences[i], wrong, sizeof(wrong)));
	wh_trial_make(trial, &options, 7, &schedule);
	play(trial, NULL, verdict);
	ck_assert_str_eq(verdict->text, "sleep: node 1 is late");
}

TEST(the_least_that_fails_is_found)
{
	uint32_t most = UINT32_MAX;
	struct wh_verdict verdict;
	struct wh_trial trial;
	char line[WH_FAULT_TEXT];

	make_failing(&trial, &verdict);
	ck_assert_uint_lt(wh_trial_shrink(&trial, &verdict, play, tell, &most), 200);
	ck_assert_str_eq(verdict.text, "sleep: node 1 is late");
	ck_assert_uint_eq(trial.schedule.count, 1);
	ck_assert_str_eq(wh_fault_print(&trial.schedule.faults[0], line), "stall 1 for 5 ms at 0 ms");
	ck_assert_int_eq(trial.plan.config.group.nodes, 4);
	ck_assert_int_eq(trial.options.messages_max, 1);
	ck_assert_int_eq(trial.options.subgroups_max, 1);
	wh_trial_free(&trial);
}

TEST(shrinking_can_be_ended)
{
	uint32_t most = 2;
	struct wh_verdict verdict;
	struct wh_trial trial;

	make_failing(&trial, &verdict);
	ck_assert_uint_eq(wh_trial_shrink(&trial, &verdict, play, tell, &most), 2);
	play(&trial, NULL, &verdict);
	ck_assert_str_eq(verdict.text, "sleep: node 1 is late");
	wh_trial_free(&trial);
}

/* A trial that is played apart is the same as one that is played here. */
TEST(apart_is_the_same)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct wh_trial_options options = wide;
		struct wh_verdict here, apart;
		struct wh_trial trial;

		options.faults_max = 3;
		snprintf(options.fault_kinds, sizeof(options.fault_kinds), "crash, stall");
		wh_trial_make(&trial, &options, seed, NULL);
		wh_trial_play(&trial, stdout, &here);
		wh_trial_play_apart(&trial, stdout, &apart);
		ck_assert_int_eq(here.good, apart.good);
		ck_assert_mem_eq(&here.result, &apart.result, sizeof(here.result));
		wh_trial_free(&trial);
	}
}

TEST_SUITE("schedule")

int main(void)
{
	return test_main(suite());
}
