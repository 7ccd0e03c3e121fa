/* timeline.h - what timelines are written in: a group, what happens to it, and what is expected when.
 *
 *     FOREACH_SEED(t)
 *     {
 *             begin(t, 4, "crash 2 at 30 ms");
 *             expect_view(t, 60, 1, "0,1,3");
 *             end(t);
 *     }
 *
 * All nodes send all the time to one ordered subgroup; times count from when they have met. Everything that sim/ checks after
 * each step is checked here too, and `end` asks for progress and silence. Nodes are meant as they are now, in their newest
 * lives.
 */
#ifndef WH_TESTS_SIM_TIMELINE_H
#define WH_TESTS_SIM_TIMELINE_H

#include <string.h>

#include "sim/play_int.h"
#include "tests/harness.h"

#define TIMEOUT_MS 40
#define SEEDS 12

struct timeline {
	uint64_t seed;
	struct wh_plan plan;
	struct wh_schedule schedule;
	struct play *play;
};

#define FOREACH_SEED(t) for (struct timeline t[1] = {{.seed = 1}}; t->seed <= SEEDS; t->seed++)

static inline void say_no(const struct timeline *t, const char *expected)
{
	char line[WH_FAULT_TEXT];

	for (uint32_t i = 0; i < t->schedule.count; i++)
		printf("  %s\n", wh_fault_print(&t->schedule.faults[i], line));
	wh_report(t->play);
	fflush(stdout);
	ck_abort_msg("seed %" PRIu64 ", %.3f ms: %s", t->seed,
		     (double)(wh_sim_now(t->play->sim) - t->play->met_ns) / 1e6, expected);
}

struct group {
	uint32_t nodes, ids;     /* ids 0: nobody joins */
	const char *tie_breaker; /* NULL: none */
	const char *founder;     /* NULL: none */
	uint32_t start_timeout_ms, messages;
	uint32_t cut_max_ms; /* 0: as the configuration has it, which is longer than any timeline */
	uint64_t spread_ns;
	bool disks, one_host; /* a majority may form the group: each node keeps a record, or all are on one host */
	bool proofs;          /* with one_host: processes that have ended are proved to have */
	bool restarts_form;   /* what comes back may form one as well */
	bool early;           /* times count from when the nodes of the beginning have been opened */
	whorl_layout_fn
		*layout;    /* the subgroup is unordered, and this says which nodes are in it; NULL: all are, ordered */
	bool ordered;       /* with a layout, too */
	uint32_t shards;    /* 0: one */
	uint32_t window;    /* 0: 8 */
	bool one_at_a_time; /* a pass takes in one message of each sender */
};

static inline void lay_out(struct wh_plan *plan, const struct group *group)
{
	struct wh_subgroup_options *options = &plan->config.subgroups[0].options;

	plan->layout = group->layout;
	plan->subgroups[0].by_function = true;
	plan->subgroups[0].ordered = group->ordered;
	options->mode = group->ordered ? WH_SUBGROUP_ORDERED : WH_SUBGROUP_UNORDERED;
	options->shards = group->shards > 0 ? group->shards : 1;
	snprintf(options->members, sizeof(options->members), "function");
}

/* NULL ends the faults. */
static inline void begin_faults(struct timeline *t, const struct group *group, const char *const *lines)
{
	struct wh_plan *plan = &t->plan;
	char wrong[256];

	for (t->schedule.count = 0; lines[t->schedule.count] != NULL; t->schedule.count++)
		ck_assert_msg(wh_fault_parse(&t->schedule.faults[t->schedule.count], lines[t->schedule.count], wrong,
					     sizeof(wrong)),
			      "%s", wrong);
	wh_plan_plain(plan, t->seed, group->ids > 0 ? group->ids : group->nodes, group->window > 0 ? group->window : 8,
		      100, group->messages);
	plan->config.engine.receive_batching = !group->one_at_a_time;
	plan->config.group.nodes = group->nodes;
	plan->config.group.failure_timeout_ms = TIMEOUT_MS;
	plan->config.group.start_timeout_ms = group->start_timeout_ms > 0 ? group->start_timeout_ms : 1000;
	if (group->cut_max_ms > 0)
		plan->config.group.cut_max_ms = group->cut_max_ms;
	plan->latency_max_ns = 20 * WH_NS_PER_US;
	plan->spread_ns = group->spread_ns;
	plan->early = group->early;
	plan->one_host = group->one_host;
	plan->proofs = group->proofs;
	plan->disks = group->disks || group->founder != NULL;
	plan->restarts_form = group->restarts_form;
	plan->state_bytes = group->ids > 0 ? 500 : 0;
	snprintf(plan->config.group.tie_breaker, sizeof(plan->config.group.tie_breaker), "%s",
		 group->tie_breaker != NULL ? group->tie_breaker : "none");
	snprintf(plan->config.group.founder, sizeof(plan->config.group.founder), "%s",
		 group->founder != NULL ? group->founder : "none");
	if (group->layout != NULL)
		lay_out(plan, group);
	t->play = wh_play_new(plan, &t->schedule, stdout);
	wh_play_meet(t->play);
}

#define begin_group(t, group, ...) begin_faults(t, group, (const char *const[]){__VA_ARGS__, NULL})
#define begin_with(t, count, word, ...)                                                                                \
	begin_group(t, (&(struct group){.nodes = count, .tie_breaker = word, .messages = 60}), __VA_ARGS__)
#define begin(t, count, ...) begin_with(t, count, "none", __VA_ARGS__)
/* So many are configured, ids up to `most`-1 may join. */
#define begin_growing(t, count, most, ...)                                                                             \
	begin_group(t, (&(struct group){.nodes = count, .ids = most, .messages = 60}), __VA_ARGS__)

/* Goes on until `holds`, or this time; then it must hold. */
static inline void by(struct timeline *t, uint64_t ms, bool (*holds)(const struct timeline *t, uint32_t node),
		      uint64_t nodes, const char *expected)
{
	uint64_t until_ns = t->play->met_ns + ms * WH_NS_PER_MS;

	for (uint32_t node = 0; node < t->play->nodes; node++)
		while ((nodes >> node & 1) != 0 && !holds(t, node))
			if (!wh_play_step(t->play, until_ns)) {
				if (wh_play_failed(t->play))
					say_no(t, t->play->verdict);
				say_no(t, expected);
			}
}

static inline void until(struct timeline *t, uint64_t ms)
{
	uint64_t until_ns = t->play->met_ns + ms * WH_NS_PER_MS;

	while (wh_play_step(t->play, until_ns))
		;
	if (wh_play_failed(t->play))
		say_no(t, t->play->verdict);
}

static inline uint64_t set_of(const char *list)
{
	uint64_t set = 0;

	for (const char *at = list; at != NULL && *at != '\0'; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		set |= UINT64_C(1) << strtoul(at, NULL, 10);
	return set;
}

static inline const struct view *view_of(const struct timeline *t, uint32_t node)
{
	return t->play->at[node] != NULL ? t->play->at[node]->view : NULL;
}

#define ANY UINT64_MAX

/* By then all these nodes are in this view, which has these members. */
static inline void expect_view(struct timeline *t, uint64_t ms, uint64_t number, const char *members)
{
	uint64_t set = set_of(members);
	char expected[128];

	snprintf(expected, sizeof(expected), "nodes %s are not in view %" PRId64 " yet", members, (int64_t)number);
	while (true) {
		bool all = true;

		for (uint32_t node = 0; node < t->play->nodes; node++) {
			const struct view *view = view_of(t, node);

			if ((set >> node & 1) != 0)
				all = all && view != NULL && view->ids == set &&
				      (number == ANY || view->number == number);
		}
		if (all)
			return;
		if (!wh_play_step(t->play, t->play->met_ns + ms * WH_NS_PER_MS)) {
			if (wh_play_failed(t->play))
				say_no(t, t->play->verdict);
			say_no(t, expected);
		}
	}
}

static inline enum whorl_result error_of(const struct timeline *t, uint32_t node)
{
	return whorl_error(t->play->at[node]->node, NULL, 0);
}

static inline bool is_removed(const struct timeline *t, uint32_t node)
{
	return error_of(t, node) == WHORL_REMOVED;
}

static inline bool has_no_quorum(const struct timeline *t, uint32_t node)
{
	return error_of(t, node) == WHORL_NO_QUORUM;
}

static inline bool has_given_up(const struct timeline *t, uint32_t node)
{
	return error_of(t, node) == WHORL_CUT_OFF;
}

static inline bool is_fine(const struct timeline *t, uint32_t node)
{
	return error_of(t, node) == WHORL_OK;
}

static inline void expect_removed(struct timeline *t, uint64_t ms, const char *nodes)
{
	by(t, ms, is_removed, set_of(nodes), "a node that the others have removed does not know it");
}

static inline void expect_no_quorum(struct timeline *t, uint64_t ms, const char *nodes)
{
	by(t, ms, has_no_quorum, set_of(nodes), "a minority does not know that it is one");
}

static inline void expect_fine(struct timeline *t, uint64_t ms, const char *nodes)
{
	by(t, ms, is_fine, set_of(nodes), "a node still complains");
}

static inline uint64_t delivered(const struct timeline *t, uint32_t node)
{
	return t->play->at[node]->apps[0].deliveries;
}

static inline bool has_state(const struct timeline *t, uint32_t node)
{
	return view_of(t, node) != NULL && !t->play->at[node]->apps[0].awaits;
}

static inline void expect_state(struct timeline *t, uint64_t ms, const char *nodes)
{
	by(t, ms, has_state, set_of(nodes), "a newcomer has no state yet");
}

/* Somebody of the first view has committed what it has not delivered. */
static inline bool waits_for_messages(const struct timeline *t, uint32_t node)
{
	const struct app *app = &t->play->at[node]->apps[0];

	for (uint32_t i = 0; i < t->play->nodes; i++) {
		const struct stream *stream = t->play->actors[i].apps[0].stream;
		uint64_t committed = wh_stream_finished(stream);

		while (committed > 0 && stream->messages[committed - 1].state != MESSAGE_COMMITTED)
			committed--;
		if (app->next[i] < committed)
			return true;
	}
	return false;
}

/* Until then this node never waits so long for the next message. */
static inline void expect_flow(struct timeline *t, uint64_t ms, uint32_t node, uint64_t longest_ms)
{
	uint64_t until_ns = t->play->met_ns + ms * WH_NS_PER_MS, last_ns = wh_sim_now(t->play->sim);
	uint64_t count = delivered(t, node);

	while (wh_play_step(t->play, until_ns)) {
		uint64_t now_ns = wh_sim_now(t->play->sim);

		if (delivered(t, node) > count || !waits_for_messages(t, node))
			last_ns = now_ns;
		count = delivered(t, node);
		if (now_ns > last_ns + longest_ms * WH_NS_PER_MS)
			say_no(t, "messages stand still");
	}
	if (wh_play_failed(t->play))
		say_no(t, t->play->verdict);
}

/* Faults are over: what is left goes on, delivers everything, and is silent. */
static inline void end(struct timeline *t)
{
	struct wh_play_result result;
	char verdict[512];
	bool good;

	if (!wh_play_failed(t->play) && wh_play_finish(t->play) && t->play->survivors != 0)
		wh_liveness_check_silence(t->play);
	good = wh_play_end(t->play, &result, verdict, sizeof(verdict));
	wh_plan_free(&t->plan);
	ck_assert_msg(good, "seed %" PRIu64 ": %s", t->seed, verdict);
}

#endif
