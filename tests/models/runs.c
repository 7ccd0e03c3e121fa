/* runs.c - random runs of a model, and the steps of one again. See explorer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer_int.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define ENDLESS_RUN "a run does not end"

/* ---- random runs --------------------------------------------------------------------------------------------------- */

static uint32_t roll(uint64_t *dice)
{
	*dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*dice >> 33);
}

static uint32_t weight_of(const struct gait *gait, uint64_t seed, struct step step)
{
	uint64_t h = (seed ^ (uint64_t)(step.kind << 16 | step.node << 8 | step.other)) * UINT64_C(0xff51afd7ed558ccd);

	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return gait->weight != NULL ? gait->weight(step, h >> 40 & 3) : gait->weights[h >> 40 & 3];
}

static struct step pick(const struct gait *gait, uint64_t seed, uint64_t *dice, const struct step *steps, int count)
{
	uint32_t sum = 0, at, weights[STEPS_MOST];
	int n = 0;

	for (int k = 0; k < count; k++)
		sum += weights[k] = weight_of(gait, seed, steps[k]);
	if (sum == 0)
		return steps[roll(dice) % (uint32_t)count];
	at = roll(dice) % sum;
	while (at >= weights[n])
		at -= weights[n++];
	return steps[n];
}

static int late_steps(const struct search *x, const struct state *s)
{
	return x->model->late != NULL ? x->model->late(x->world, s, x->way->steps) : 0;
}

static bool is_full(const struct search *x, const struct state *s)
{
	return x->model->is_full != NULL && x->model->is_full(s);
}

/* Nothing follows in the calm. */
static const char *end_run(struct search *x, const struct state *s)
{
	return x->model->is_goal != NULL ? x->model->stuck : x->model->rest(x, s);
}

/* One run. What it comes to is x->wrong. */
static void run(struct search *x, uint64_t seed)
{
	const struct model *m = x->model;
	const struct gait *gait = &m->gait;
	struct state *s = x->way->from;
	uint64_t dice = seed * GOLDEN + 1, turn = gait->turn != 0 ? gait->turn : GOLDEN;
	uint32_t troubled = gait->troubled;
	int late = 0;

	if (gait->troubled_2 != 0)
		troubled = roll(&dice) % 2 != 0 ? gait->troubled : gait->troubled_2;
	troubled = troubled != 0 ? roll(&dice) % troubled : UINT32_MAX;
	set_out(x, s);
	for (x->length = 0; x->length < gait->length && x->wrong == NULL && !is_full(x, s);) {
		struct step *steps = x->way->steps;
		bool calm = x->length >= troubled, is_late = false;
		int count = m->steps(x->world, s, calm, steps);

		if (calm && m->is_goal != NULL && m->is_goal(x->world, s))
			return;
		if (count == 0 && calm) {
			count = late_steps(x, s);
			is_late = true;
			x->wrong = count == 0 ? end_run(x, s) : ++late > PATIENCE ? m->endless(x->world, s) : NULL;
			if (count == 0 || late > PATIENCE)
				return;
		}
		if (count == 0 && troubled == UINT32_MAX)
			return;
		if (count == 0) {
			troubled = 0;
			continue;
		}
		x->taken[x->length] =
			is_late ? steps[roll(&dice) % (uint32_t)count] /* they come in turn */
				: pick(gait, seed + x->length / gait->stretch * turn, &dice, steps, count);
		x->wrong = m->take(x->world, s, x->taken[x->length++]);
		if (x->wrong == NULL && m->judge != NULL)
			x->wrong = m->judge(x, s);
	}
	if (x->wrong == NULL && gait->troubled != 0 && !is_full(x, s))
		x->wrong = m->is_goal != NULL ? m->stuck : ENDLESS_RUN;
}

/* ---- the steps of a run again -------------------------------------------------------------------------------------- */

static bool has_step(const struct step *steps, int count, struct step step)
{
	for (int n = 0; n < count; n++)
		if (memcmp(&steps[n], &step, sizeof(step)) == 0)
			return true;
	return false;
}

static bool can_take(const struct search *x, const struct state *s, struct step step)
{
	const struct model *m = x->model;
	struct step *steps = x->way->steps;

	if (has_step(steps, m->steps(x->world, s, false, steps), step))
		return true;
	return m->late != NULL && m->steps(x->world, s, true, steps) == 0 && has_step(steps, late_steps(x, s), step);
}

/* The first thing that can be done is done, until nothing can. */
static const char *calm_down(struct search *x, struct state *s, bool print)
{
	const struct model *m = x->model;
	struct step *steps = x->way->steps;
	const char *wrong = NULL;
	int late = 0;

	while (wrong == NULL && !is_full(x, s)) {
		int count = m->steps(x->world, s, true, steps), at = 0;

		if (count == 0) {
			count = late_steps(x, s);
			if (count == 0)
				break;
			if (++late > PATIENCE)
				return m->endless(x->world, s);
			at = late % count;
		}
		if (print)
			show_step(x, s, steps[at]);
		wrong = m->take(x->world, s, steps[at]);
	}
	return wrong != NULL ? wrong : end_run(x, s);
}

/* Those of the steps that can be taken; and then, if nothing is wrong, it may go on to the end. */
const char *play(struct search *x, const struct step *taken, uint32_t count, bool to_the_end, bool print)
{
	struct state *s = x->way->from;
	const char *wrong = NULL;

	set_out(x, s);
	for (uint32_t n = 0; n < count && wrong == NULL; n++) {
		if (!can_take(x, s, taken[n]))
			continue;
		if (print)
			show_step(x, s, taken[n]);
		wrong = x->model->take(x->world, s, taken[n]);
	}
	return to_the_end && wrong == NULL ? calm_down(x, s, print) : wrong;
}

/* Does it lead to the same without these? Then they go. */
static bool leave_out(struct search *x, uint32_t at, uint32_t width, bool to_the_end)
{
	uint32_t rest = x->length - width;
	struct step *fewer = resize(NULL, rest + 1, sizeof(*fewer));
	bool same;

	memcpy(fewer, x->taken, at * sizeof(*fewer));
	memcpy(fewer + at, x->taken + at + width, (rest - at) * sizeof(*fewer));
	same = play(x, fewer, rest, to_the_end, false) == x->wrong;
	if (same) {
		memcpy(x->taken, fewer, rest * sizeof(*fewer));
		x->length = rest;
	}
	free(fewer);
	return same;
}

/* The least of a run that still leads there. */
static void print_shrunk(struct search *x)
{
	bool to_the_end = play(x, x->taken, x->length, false, false) != x->wrong, smaller = true;

	while (smaller) {
		smaller = false;
		for (uint32_t width = x->length / 2 + 1; width >= 1; width /= 2)
			for (uint32_t end = x->length; end >= width; end -= width)
				smaller = leave_out(x, end - width, width, to_the_end) || smaller;
	}
	(void)play(x, x->taken, x->length, to_the_end, true);
}

/* A run is told as it was where what is wrong may depend on how far it has come. */
void print_run(struct search *x)
{
	const struct model *m = x->model;
	struct state *s = x->way->from;
	const char *wrong = NULL;

	if (m->judge == NULL && m->is_goal == NULL) {
		print_shrunk(x);
		return;
	}
	set_out(x, s);
	for (uint32_t n = 0; n < x->length; n++) {
		show_step(x, s, x->taken[n]);
		wrong = m->take(x->world, s, x->taken[n]);
	}
	show_state(x, s);
	if (wrong == NULL && m->print_more != NULL)
		m->print_more(x, s);
}

uint32_t wander(struct search *x, uint32_t runs, uint64_t seed)
{
	uint32_t count = 0;

	while (count < runs && x->wrong == NULL)
		run(x, seed + count++);
	if (x->wrong != NULL && x->verbose)
		print_run(x);
	return count;
}
