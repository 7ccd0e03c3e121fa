/* restart_back.c - whether all come back from a state of the model. See restart.h. */
#include "restart.h"

#include <stdio.h>

#define CALM_STEPS 200

/* Then the first thing that can be done is done, until nothing can be. NULL: all have come back. */
static const char *calm_down(const struct world *w, struct state s, bool verbose)
{
	struct step steps[STEPS];
	const char *wrong = NULL;

	for (int n = 0; n < CALM_STEPS && wrong == NULL; n++) {
		int count = steps_from(w, &s, true, steps), best = 0;

		if (is_whole(w, &s))
			return NULL;
		for (int k = 1; k < count; k++)
			if (steps[k].kind < steps[best].kind)
				best = k;
		if (count == 0)
			return STUCK;
		if (verbose)
			print_step(w, &s, steps[best]);
		wrong = take(w, &s, steps[best]);
	}
	return wrong != NULL ? wrong : STUCK;
}

const char *look_back(struct search *x, const struct state *from)
{
	struct state s = *from;
	const char *wrong;

	if (x->length % 8 != 0 || from->lost > 0 || from->rot > 0)
		return NULL; /* with what is lost it may have to wait for an operator */
	lose_power(x->world, &s);
	if (book_has(&x->good[0], &s))
		return NULL;
	wrong = calm_down(x->world, s, false);
	if (wrong == NULL)
		x->noted[0] += book_add(&x->good[0], &s, NULL, NULL);
	return wrong;
}

void print_back(struct search *x, const struct state *from)
{
	struct state s = *from;

	lose_power(x->world, &s);
	printf("      --- the power goes, and comes again\n");
	(void)calm_down(x->world, s, true);
}
