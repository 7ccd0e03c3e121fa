/* join_search.c - all states of a small model, or random runs of a larger one. See join.h. */
#include "join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const words[] = {"beat",     "received",     "failed", "left",      "wedged",
					    "proposed", "acknowledged", "agreed", "installed", "gone"};
	static const char *const kinds[] = {"intro", "join", "view", "withdrawn", "there"};
	static const char *const standings[] = {"?", "seeks", "forms", "belongs to"};
	int i = step.i, p = step.p;

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
		for (int n = a->seen[slot][r]; n < k->published[r] && k->member[r] != i && !in(a->frozen[slot], r); n++)
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
int key_of(const struct world *w, const struct state *s, uint8_t *out)
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
	return (int)(at - out);
}

static uint64_t mark_of(const struct world *w, const struct state *s)
{
	uint8_t key[KEY];
	int bytes = key_of(w, s, key);
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);

	for (int i = 0; i < bytes; i++) {
		h = (h ^ key[i]) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return (h ^ h >> 29) | 1;
}

/* When nothing goes wrong any more so many time-outs lead somewhere. */
#define PATIENCE 12
#define ENDLESS "time-outs follow each other without end"

/* ---- runs ------------------------------------------------------------------------------------------------------------- */

/* The steps that can still be taken of those, and then, if nothing is wrong, to the end. */
static const char *play(const struct world *w, const struct step *steps, int count, bool to_the_end, bool print)
{
	static struct state s;
	struct step more[STEPS];
	const char *wrong = NULL;
	int late = 0;

	begin(w, &s);
	for (int n = 0; n < count && wrong == NULL; n++) {
		if (!can(w, &s, steps[n], ANY) && (steps_from(w, &s, CALM, more) > 0 || !can(w, &s, steps[n], LATE)))
			continue;
		if (print)
			print_step(w, &s, steps[n]);
		wrong = take(w, &s, steps[n]);
	}
	if (!to_the_end)
		return wrong;
	if (print && wrong == NULL)
		printf("      ---\n");
	while (wrong == NULL && !s.full) {
		int at = 0;

		if (steps_from(w, &s, CALM, more) == 0) {
			int choices = steps_from(w, &s, LATE, more);

			if (choices == 0)
				break;
			if (++late > PATIENCE)
				return s.cuts > 0 ? NULL : ENDLESS;
			at = late % choices; /* time-outs come in turn */
		}
		if (print)
			print_step(w, &s, more[at]);
		wrong = take(w, &s, more[at]);
	}
	return wrong != NULL ? wrong : ended(w, &s);
}

const char *replay(const struct world *w, const struct step *steps, int count, bool verbose)
{
	return play(w, steps, count, true, verbose);
}

static void print_shrunk(const struct world *w, struct step *steps, int count, const char *wrong)
{
	const char *now = play(w, steps, count, false, false);
	bool to_the_end = now != wrong;

	for (bool smaller = true; smaller;) {
		smaller = false;
		for (int width = count / 2 > 0 ? count / 2 : 1; width >= 1; width /= 2)
			for (int n = count - width; n >= 0; n -= width) {
				static struct step fewer[RUN];

				memcpy(fewer, steps, (size_t)n * sizeof(*steps));
				memcpy(fewer + n, steps + n + width, (size_t)(count - n - width) * sizeof(*steps));
				if (play(w, fewer, count - width, to_the_end, false) != wrong)
					continue;
				count -= width;
				memcpy(steps, fewer, (size_t)count * sizeof(*steps));
				smaller = true;
				if (n > count - width)
					n = count - width + width;
			}
	}
	play(w, steps, count, to_the_end, true);
}

/* ---- all states, depth first ------------------------------------------------------------------------------------------- */

#define DEPTH 600

struct level {
	struct state s;
	struct step steps[2 * STEPS];
	int count, at, calm; /* those from `calm` on are time-outs where nothing else happens */
	int late;            /* how many of them led here */
};

static bool is_new(uint64_t *table, uint32_t table_size, uint64_t mark)
{
	uint32_t at = (uint32_t)(mark >> 1) & (table_size - 1);

	for (; table[at] != 0; at = (at + 1) & (table_size - 1))
		if (table[at] == mark)
			return false;
	table[at] = mark;
	return true;
}

/* What may go wrong, and what must happen: time-outs where nothing else does. */
static void enter_level(const struct world *w, struct level *level, struct finding *found)
{
	struct step late[STEPS];
	int count;

	level->at = 0;
	level->count = steps_from(w, &level->s, ANY, level->steps);
	level->calm = level->count;
	found->looked++;
	for (int n = 0; n < level->count; n++)
		if (can(w, &level->s, level->steps[n], CALM))
			return;
	count = steps_from(w, &level->s, LATE, late);
	if (count == 0)
		found->wrong = ended(w, &level->s);
	for (int n = 0; n < count; n++)
		level->steps[level->count++] = late[n];
}

struct finding explore(const struct world *w, uint32_t limit, bool verbose)
{
	struct finding found = {.all = true};
	uint32_t table_size = 1;
	int depth = 0;
	struct level *levels;
	uint64_t *table;

	while (table_size < 2 * limit)
		table_size *= 2;
	table = calloc(table_size, sizeof(*table));
	levels = malloc(DEPTH * sizeof(*levels));
	if (table == NULL || levels == NULL)
		abort();
	levels[0].late = 0;
	begin(w, &levels[0].s);
	is_new(table, table_size, mark_of(w, &levels[0].s));
	enter_level(w, &levels[0], &found);
	while (depth >= 0 && found.wrong == NULL) {
		struct level *now = &levels[depth], *next = now + 1;

		if (now->at == now->count) {
			depth--;
			continue;
		}
		copy(&next->s, &now->s);
		next->late = now->late + (now->at >= now->calm);
		found.wrong = take(w, &next->s, now->steps[now->at++]);
		if (found.wrong == NULL && next->late > PATIENCE)
			found.wrong = ENDLESS;
		if (found.wrong != NULL) {
			depth++;
			break;
		}
		found.all = found.all && !next->s.full;
		if (next->s.full || !is_new(table, table_size, mark_of(w, &next->s)))
			continue;
		if (found.looked == limit || depth + 2 == DEPTH) {
			found.all = false;
			break;
		}
		enter_level(w, next, &found);
		depth++;
	}
	if (found.wrong != NULL && verbose) {
		static struct step steps[RUN];

		for (int n = 0; n < depth; n++)
			steps[n] = levels[n].steps[levels[n].at - 1];
		print_shrunk(w, steps, depth, found.wrong);
	}
	free(table);
	free(levels);
	return found;
}

/* ---- random runs --------------------------------------------------------------------------------------------------- */

struct dice {
	uint64_t state;
};

static uint32_t roll(struct dice *d)
{
	d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(d->state >> 33);
}

/* In each run each step of each actor has a weight of its own: so some are slow, some things happen late. */
static uint32_t weight_of(uint64_t seed, struct step step)
{
	static const uint32_t weights[] = {1, 20, 400, 400};
	static const uint32_t rare[] = {0, 1, 2, 10};
	uint64_t h = (seed ^ (uint64_t)(step.kind << 16 | step.i << 8 | step.p)) * UINT64_C(0xff51afd7ed558ccd);

	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return step.kind >= LEAVE || step.kind == VOID || step.kind == LEAVE_OUT ? rare[h >> 40 & 3]
										 : weights[h >> 40 & 3];
}

static int pick(uint64_t seed, struct dice *dice, const struct step *steps, int count)
{
	uint32_t sum = 0, at;

	for (int n = 0; n < count; n++)
		sum += weight_of(seed, steps[n]);
	if (sum == 0)
		return (int)(roll(dice) % (uint32_t)count);
	at = roll(dice) % sum;
	for (int n = 0; n < count; n++) {
		uint32_t weight = weight_of(seed, steps[n]);

		if (at < weight)
			return n;
		at -= weight;
	}
	return 0;
}

/* One run; its steps go to `taken`. */
static const char *run(const struct world *w, uint64_t seed, struct step *taken, int *length)
{
	struct dice dice = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
	uint32_t most = roll(&dice) % 2 ? 400 : 120;
	int late = 0, troubled = (int)(roll(&dice) % most);
	static struct state s;

	begin(w, &s);
	for (*length = 0; *length < RUN && !s.full;) {
		struct step steps[STEPS];
		const char *wrong;
		bool calm = *length >= troubled;
		int before = late;
		int count = steps_from(w, &s, calm ? CALM : ANY, steps);

		if (count == 0 && calm) {
			count = steps_from(w, &s, LATE, steps);
			if (count == 0)
				return ended(w, &s);
			if (++late > PATIENCE)
				return s.cuts > 0 ? NULL : ENDLESS;
		}
		if (count == 0) {
			troubled = 0;
			continue;
		}
		if (calm && late > before) /* time-outs come in turn */
			taken[*length] = steps[roll(&dice) % (uint32_t)count];
		else
			taken[*length] = steps[pick(seed + (uint64_t)(*length / 32) * UINT64_C(0x9e3779b97f4a7c15),
						    &dice, steps, count)];
		wrong = take(w, &s, taken[(*length)++]);
		if (wrong != NULL)
			return wrong;
	}
	return s.full ? NULL : "a run does not end";
}

struct finding wander(const struct world *w, uint32_t runs, uint32_t seed, bool verbose)
{
	struct finding found = {0};
	static struct step taken[RUN];
	int length;

	while (found.looked < runs && found.wrong == NULL)
		found.wrong = run(w, seed + found.looked++, taken, &length);
	if (found.wrong != NULL && verbose)
		print_shrunk(w, taken, length, found.wrong);
	return found;
}
