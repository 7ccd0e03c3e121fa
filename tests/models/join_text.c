/* join_text.c - steps as lines, and states as the bytes that tell them apart. See join.h. */
#include "join.h"

#include <stdio.h>
#include <string.h>

void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const words[] = {"beat",     "received",     "failed", "left",      "wedged",
					    "proposed", "acknowledged", "agreed", "installed", "gone"};
	static const char *const kinds[] = {"intro", "join", "view", "withdrawn", "there"};
	static const char *const standings[] = {"?", "seeks", "forms", "belongs to"};
	int i = step.node, p = step.other;

	printf("      %d%.*s %s", i % w->ids, i / w->ids, "''''", step_names[step.kind]);
	if (step.kind == SEE || step.kind == SEE_NEXT) {
		const struct image *k = image_at(s, i, step.kind == SEE_NEXT);
		struct message m = k->log[p][s->a[i].seen[step.kind == SEE_NEXT][p]];

		printf(" (image %d): rank %d %s %x %x", s->a[i].at[step.kind == SEE_NEXT], p, words[m.what], m.a, m.b);
	} else if (takes_two[step.kind] && step.kind != COORDINATE) {
		printf(" %d%.*s", p % w->ids, p / w->ids, "''''");
	}
	if (step.kind == HEAR) {
		struct control m = s->queue[p][i][0];

		printf(": %s ", kinds[m.kind]);
		if (m.kind == INTRO)
			printf("%s %d", standings[m.a], m.b);
		else
			printf("image %d", m.a);
	}
	putchar('\n');
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t count)
{
	memcpy(at, bytes, count);
	return at + count;
}

/* ---- telling states apart ------------------------------------------------------------------------------------------ */

static uint8_t *put_row(uint8_t *at, const struct row *r)
{
	const uint8_t bytes[] = {r->beat,   r->received, r->failed,
				 r->left,   r->attempt,  r->acknowledged,
				 r->agreed, r->decider,  (uint8_t)(r->wedged | r->installed << 1 | r->gone << 2)};

	return put(at, bytes, sizeof(bytes));
}

static uint8_t *put_slot(uint8_t *at, const struct state *s, int i, int slot)
{
	const struct actor *a = &s->a[i];
	const struct image *k;

	*at++ = (uint8_t)a->at[slot];
	if (a->at[slot] < 0)
		return at;
	k = image_at(s, i, slot);
	*at++ = a->frozen[slot];
	*at++ = a->known[slot];
	for (int r = 0; r < k->count; r++) {
		at = put_row(at, &a->rows[slot][r]);
		for (int n = a->seen[slot][r]; n < k->published[r] && k->member[r] != i && !has(a->frozen[slot], r);
		     n++)
			at = put(at, &k->log[r][n], sizeof(k->log[r][n]));
		*at++ = 255;
	}
	return at;
}

static uint8_t *put_image(uint8_t *at, const struct image *k)
{
	*at++ = k->number;
	*at++ = (uint8_t)k->base;
	*at++ = (uint8_t)k->next;
	*at++ = (uint8_t)(k->delivered | k->cut << 1);
	*at++ = (uint8_t)k->proposer;
	at = put(at, k->member, k->count);
	*at++ = k->ahead;
	at = put(at, &k->opened, sizeof(k->opened));
	at = put(at, &k->begun, sizeof(k->begun));
	for (int r = 0; r < k->count; r++) {
		for (int n = 1; n < ATTEMPTS && k->proposals[r][n] != NOTHING; n++)
			*at++ = (uint8_t)k->proposals[r][n];
		*at++ = (uint8_t)k->decided[r];
		*at++ = k->decided_cut[r];
	}
	return at;
}

/* What will not be looked at any more is left out. */
size_t key_of(const struct world *w, const struct state *s, uint8_t *out)
{
	uint8_t *at = out;

	*at++ = s->crashed;
	*at++ = s->returned;
	*at++ = s->cuts;
	*at++ = s->left;
	*at++ = s->late;
	*at++ = s->mistaken;
	for (int i = 0; i < ACTORS; i++) {
		const struct actor *a = &s->a[i];

		*at++ = a->status;
		if (!alive(s, i))
			continue;
		at = put(at, &s->cut[i], sizeof(s->cut[i]));
		at = put(at, &a->met, sizeof(a->met));
		at = put(at, &a->gone, sizeof(a->gone));
		at = put(at, &a->wants, sizeof(a->wants));
		*at++ = (uint8_t)(a->ready | a->settled << 1 | a->stopped << 2 | a->passes << 3);
		*at++ = a->opened;
		*at++ = (uint8_t)a->floor;
		*at++ = a->delivered;
		at = put_slot(at, s, i, 0);
		at = put_slot(at, s, i, 1);
		for (int p = 0; p < ACTORS; p++) {
			if (!reaches(s, i, p))
				continue;
			*at++ = a->says[p];
			*at++ = a->says[p] == BELONGS ? (uint8_t)a->of[p] : 0;
			*at++ = (uint8_t)a->there[p];
			*at++ = (uint8_t)a->dropped[p];
		}
		for (int p = 0; p < ACTORS; p++) {
			*at++ = s->queued[p][i];
			at = put(at, s->queue[p][i], s->queued[p][i] * sizeof(s->queue[p][i][0]));
		}
	}
	for (int k = 0; k < s->images; k++)
		at = put_image(at, &s->image[k]);
	(void)w;
	return (size_t)(at - out);
}
