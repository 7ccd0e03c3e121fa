/* shrink.c - a trial that breaks a property is made smaller, as long as it breaks the same. See trial.h.
 *
 * Each round tries every way to make it smaller once, and keeps what still fails; when a round has kept nothing it is over.
 * A way that fails to fail is not tried again before something else has become smaller.
 */
#include <string.h>

#include "sim/trial.h"

struct shrink {
	struct wh_trial *best;
	struct wh_verdict *verdict;
	uint32_t attempts, kept;
	bool goes_on;
	wh_trial_play_fn *play;
	bool (*tell)(void *ctx, uint32_t attempts);
	void *ctx;
};

/* The words before the colon. */
static bool same_property(const char *a, const char *b)
{
	size_t bytes = strcspn(a, ":");

	return strcspn(b, ":") == bytes && strncmp(a, b, bytes) == 0;
}

static bool trial_fits(const struct wh_trial *trial)
{
	for (uint32_t i = 0; i < trial->schedule.count; i++)
		if (!wh_fault_fits(&trial->schedule.faults[i], wh_node_config_nodes_max(&trial->plan.config)))
			return false;
	return true;
}

/* True: that fails as well, and is the best from now on. */
static bool try_smaller(struct shrink *shrink, const struct wh_trial_options *options,
			const struct wh_schedule *schedule)
{
	struct wh_verdict verdict = {.good = true};
	struct wh_trial trial;

	if (!shrink->goes_on)
		return false;
	wh_trial_make(&trial, options, shrink->best->seed, schedule);
	if (trial_fits(&trial)) {
		shrink->play(&trial, NULL, &verdict);
		shrink->goes_on = shrink->tell(shrink->ctx, ++shrink->attempts);
	}
	if (verdict.good || !same_property(verdict.text, shrink->verdict->text)) {
		wh_trial_free(&trial);
		return false;
	}
	wh_trial_free(shrink->best);
	*shrink->best = trial;
	*shrink->verdict = verdict;
	shrink->kept++;
	return true;
}

/* ---- the ways ---------------------------------------------------------------------------------------------------------------- */

static void drop_faults(struct shrink *shrink)
{
	for (uint32_t i = shrink->best->schedule.count; i-- > 0;) {
		struct wh_schedule schedule = shrink->best->schedule;

		schedule.count--;
		memmove(&schedule.faults[i], &schedule.faults[i + 1],
			(schedule.count - i) * sizeof(schedule.faults[0]));
		try_smaller(shrink, &shrink->best->options, &schedule);
	}
}

/* Halves a number, and halves it again. */
static void halve_field(struct shrink *shrink, uint32_t i, uint64_t *(*field)(struct wh_fault *fault), uint64_t least)
{
	for (;;) {
		struct wh_schedule schedule = shrink->best->schedule;
		uint64_t *value = field(&schedule.faults[i]), before = *value;

		/* Round figures read better: milliseconds, as long as there are some. */
		*value = before / 2 >= 2000 ? before / 2000 * 1000 : before / 2;
		if (*value < least || *value == before || !try_smaller(shrink, &shrink->best->options, &schedule))
			return;
	}
}

static uint64_t *at_of(struct wh_fault *fault)
{
	return &fault->at;
}

static uint64_t *for_of(struct wh_fault *fault)
{
	return &fault->for_us;
}

static void simplify_faults(struct shrink *shrink)
{
	for (uint32_t i = 0; i < shrink->best->schedule.count; i++) {
		const struct wh_fault *fault = &shrink->best->schedule.faults[i];

		halve_field(shrink, i, at_of, fault->moment == WH_MOMENT_TIME ? 0 : 1);
		if (wh_fault_lasts(fault))
			halve_field(shrink, i, for_of, 1);
	}
}

/* A limit of the options, down to what it makes no difference below. */
static void lower_limit(struct shrink *shrink, int64_t *(*field)(struct wh_trial_options *options), int64_t least)
{
	for (;;) {
		struct wh_trial_options options = shrink->best->options;
		int64_t *value = field(&options), before = *value;

		*value = before / 2 > least ? before / 2 : before - 1;
		if (*value < least || !try_smaller(shrink, &options, &shrink->best->schedule))
			return;
	}
}

static int64_t *subgroups_of(struct wh_trial_options *options)
{
	return &options->subgroups_max;
}

static int64_t *messages_of(struct wh_trial_options *options)
{
	return &options->messages_max;
}

static int64_t *deliveries_of(struct wh_trial_options *options)
{
	return &options->deliveries_max;
}

static void drop_nodes(struct shrink *shrink)
{
	for (int64_t nodes = shrink->best->plan.config.group.nodes - 1; nodes >= 2; nodes--) {
		struct wh_trial_options options = shrink->best->options;

		options.nodes_min = options.nodes_max = nodes;
		if (!try_smaller(shrink, &options, &shrink->best->schedule))
			return;
	}
}

uint32_t wh_trial_shrink(struct wh_trial *trial, struct wh_verdict *verdict, wh_trial_play_fn *play,
			 bool (*tell)(void *ctx, uint32_t attempts), void *ctx)
{
	struct shrink shrink = {
		.best = trial, .verdict = verdict, .goes_on = true, .play = play, .tell = tell, .ctx = ctx};

	do {
		shrink.kept = 0;
		drop_faults(&shrink);
		lower_limit(&shrink, subgroups_of, 1);
		drop_nodes(&shrink);
		lower_limit(&shrink, messages_of, 1);
		lower_limit(&shrink, deliveries_of, 1);
		simplify_faults(&shrink);
	} while (shrink.kept > 0 && shrink.goes_on);
	return shrink.attempts;
}
