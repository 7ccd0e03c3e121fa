/* join_checks.c - what must be true after each step, and in the end. See join.h. */
#include "join.h"

#include <stddef.h>

/* It is a view of the group: what follows from it, or was delivered in it, cannot be undone. */
static bool is_used(const struct state *s, int image)
{
	const struct image *k = &s->image[image];

	return k->base < 0 ? k->delivered || k->next >= 0 || (k->count == 1 && k->begun != 0)
			   : s->image[k->base].next == image;
}

static bool is_in_line(const struct state *s, int image, int later)
{
	while (later >= 0 && later != image)
		later = s->image[later].base;
	return later == image;
}

/* Of two views that actors are in one follows from the other. (A first view in which nothing has been said yet does not count.) */
static bool is_one_group(const struct state *s)
{
	for (int i = 0; i < ACTORS; i++)
		for (int p = 0; p < i; p++) {
			int a = s->a[i].at[0], b = s->a[p].at[0];

			if (s->a[i].status == MEMBER && s->a[p].status == MEMBER && a != b && is_used(s, a) &&
			    is_used(s, b) && !is_in_line(s, a, b) && !is_in_line(s, b, a))
				return false;
		}
	return true;
}

const char *use(const struct world *w, const struct state *s, int image)
{
	if (!is_one_group(s))
		return "there are two groups";
	for (int r = 0; r < s->image[image].count; r++)
		for (int q = 0; q < r; q++)
			if (id_of(w, s->image[image].member[r]) == id_of(w, s->image[image].member[q]))
				return "a view has a node twice";
	return NULL;
}

const char *look_at_deliveries(const struct world *w, struct state *s)
{
	for (int i = 0; i < ACTORS; i++) {
		struct image *image = s->a[i].status == MEMBER ? &s->image[s->a[i].at[0]] : NULL;

		if (image == NULL || delivered(s, i) == 0)
			continue;
		if (image->next >= 0 && image->cut == 0)
			return "somebody has delivered what lies behind the cut";
		if (!image->delivered) {
			const char *wrong;

			image->delivered = true;
			wrong = use(w, s, s->a[i].at[0]);
			if (wrong != NULL)
				return wrong;
		}
	}
	return NULL;
}

/* ---- in the end -------------------------------------------------------------------------------------------------------- */

static int alive_of(const struct state *s, const struct image *image, actors among)
{
	int count = 0;

	for (int r = 0; r < image->count; r++)
		count += alive(s, image->member[r]) && has(among, image->member[r]);
	return count;
}

static const char *ended_with(const struct world *w, const struct state *s, actors out, int best)
{
	const struct image *image = &s->image[s->a[best].at[0]];
	int majority = image->voters / 2 + 1, there = 0;

	if (out == 0)
		return NULL;
	for (int i = 0; i < ACTORS; i++) {
		const struct image *k = s->a[i].status == MEMBER ? image_at(s, i, 0) : NULL;

		if (k != NULL && united(w, s, i) && k->member[leader(s, i)] == i)
			return s->a[i].rows[0][rank_of(k, i)].attempt + 2 + RESERVE > ATTEMPTS || k->count == MEMBERS ||
					       does(w, NO_RESERVE)
				       ? NULL
				       : "no member lets a seeking node in";
	}
	if (s->mistaken > 0 || s->left > 0)
		return NULL;
	if (alive_of(s, image, image->number > 0 ? (actors)~0 : image->begun) >= majority)
		return "a quorum does not go on";
	for (int p = 0; p < ACTORS; p++)
		there += alive(s, p) && id_of(w, p) < w->configured;
	if (image->number == 0 && w->how == MAJORITY && !is_used(s, s->a[best].at[0]) && there >= majority &&
	    (size_of(image->there) < majority ||
	     alive_of(s, image, s->late > 0 ? image->there : (actors)~0) >= majority))
		return "a first view that can never be holds up all";
	return NULL;
}

const char *ended(struct search *x, const struct state *s)
{
	const struct world *w = x->world;
	actors out = 0;
	int best = -1, candidates = 0;
	const struct row *own;

	if (s->full || s->cuts > 0) /* an actor that cannot reach others may wait for ever */
		return NULL;
	for (int i = 0; i < ACTORS; i++) {
		if (!alive(s, i))
			continue;
		if (s->a[i].status != MEMBER) {
			out |= (actors)(1 << i);
			candidates += id_of(w, i) < w->configured;
			continue;
		}
		own = &s->a[i].rows[0][rank_of(image_at(s, i, 0), i)];
		if ((own->failed | own->left) != 0 && united(w, s, i))
			return "a quorum without suspicions among its members does not go on";
		if (own->wedged && united(w, s, i))
			return "a view stands still";
		if (image_at(s, i, 0)->voters > image_at(s, i, 0)->count && united(w, s, i))
			return "a view goes on with a quorum that is not its own";
		if (best < 0 || image_at(s, i, 0)->number > image_at(s, best, 0)->number)
			best = i;
	}
	if (best >= 0)
		return ended_with(w, s, out, best);
	if (w->how == MAJORITY && 2 * candidates > w->configured)
		return "a majority forms no group";
	if (w->how == FOUNDER)
		for (int i = 0; i < ACTORS; i += w->ids)
			if (has(out, i))
				return "the founder forms no group";
	return NULL;
}
