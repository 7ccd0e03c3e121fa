/* explorer.c - see explorer.h. */
#include "explorer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE 12 /* late steps, one after the other, lead somewhere */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define ENDLESS_RUN "a run does not end"

/* How a state was reached: its tail in the book. */
struct origin {
	uint32_t parent;
	struct step step;
};

/* Calm steps: those from state i end before ends[i + 1]. */
struct edges {
	uint32_t *to, *ends;
	uint32_t count, room, ends_room;
};

struct way {
	struct edges calm;
	/* With a key: the states themselves, of those that are looked at now, from number `first` on, and of those that are next. */
	unsigned char *now, *next;
	uint32_t first, now_count, next_count, now_room, next_room;
	uint8_t *key;
	struct state *from, *to; /* the state that is looked at, and one that follows */
	struct step steps[STEPS_MOST];
	struct step last; /* the one that was wrong */
	const char *pending;
	bool by_step, calm_follows;
};

static void *resize(void *old, size_t count, size_t bytes)
{
	void *p = realloc(old, count * bytes);

	if (p == NULL && count > 0)
		abort();
	return p;
}

/* Room for one more. */
static void *widen(void *old, uint32_t count, uint32_t *room, size_t bytes)
{
	if (count < *room)
		return old;
	*room = *room != 0 ? 2 * *room : 1024;
	return resize(old, *room, bytes);
}

/* ---- states that have been seen ------------------------------------------------------------------------------------ */

/* What tells it apart goes to the book; with a key that is a mark of 64 bits: states with equal ones are taken for equal, and with
 * millions of states none will be. */
static void add(struct search *x, const struct state *s, struct origin origin, uint32_t *number)
{
	const struct model *m = x->model;
	struct way *way = x->way;
	uint64_t mark;

	if (m->key == NULL) {
		(void)book_add(&x->seen, s, &origin, number);
		return;
	}
	mark = hash_bytes(way->key, m->key(x->world, s, way->key));
	if (!book_add(&x->seen, &mark, &origin, number))
		return;
	way->next = widen(way->next, way->next_count, &way->next_room, m->state_bytes);
	memcpy(way->next + way->next_count++ * m->state_bytes, s, m->state_bytes);
}

/* The state that is looked at now. */
static void load(struct search *x)
{
	struct way *way = x->way;
	unsigned char *swap = way->now;
	uint32_t swap_room = way->now_room;

	if (x->model->key == NULL) {
		memcpy(way->from, state_at(x, x->at), x->model->state_bytes);
		return;
	}
	if (x->at == way->first + way->now_count) {
		way->first = x->at;
		way->now = way->next, way->now_count = way->next_count, way->now_room = way->next_room;
		way->next = swap, way->next_count = 0, way->next_room = swap_room;
	}
	memcpy(way->from, way->now + (x->at - way->first) * x->model->state_bytes, x->model->state_bytes);
}

static void add_edge(struct search *x, uint32_t to)
{
	struct edges *e = &x->way->calm;

	e->to = widen(e->to, e->count, &e->room, sizeof(*e->to));
	e->to[e->count++] = to;
}

static bool is_calm(const struct search *x, struct step step)
{
	return x->model->is_calm == NULL || x->model->is_calm(x->world, x->way->from, step);
}

static void follow(struct search *x, const struct state *next, struct step step, const char *wrong)
{
	struct way *way = x->way;
	bool needs_calm = x->model->is_goal != NULL || (x->model->rest != NULL && !way->calm_follows);
	bool calm = needs_calm && is_calm(x, step);
	uint32_t number;

	way->calm_follows = way->calm_follows || calm;
	if (wrong != NULL) {
		x->wrong = wrong;
		way->by_step = true;
		way->last = step;
		memmove(way->to, next, x->model->state_bytes);
	}
	if (wrong != NULL && x->model->counts == SEEN_RIGHT)
		return;
	add(x, next, (struct origin){x->at, step}, &number);
	if (x->model->is_goal != NULL && calm && wrong == NULL)
		add_edge(x, number);
}

void reach(struct search *x, const struct state *next, struct step step)
{
	const char *wrong = x->way->pending;

	if (x->wrong != NULL)
		return;
	x->way->pending = NULL;
	follow(x, next, step, wrong);
}

void go_wrong(struct search *x, const char *wrong)
{
	x->way->pending = wrong;
}

/* ---- as text ------------------------------------------------------------------------------------------------------- */

static void print_step(const struct search *x, const struct state *s, struct step step)
{
	const struct model *m = x->model;

	if (m->print_step != NULL)
		m->print_step(x->world, s, step);
	else
		printf("      %u %s %u\n", step.node, m->names[step.kind], step.other);
}

static void print_state(const struct search *x, const struct state *s)
{
	if (x->model->print_state != NULL)
		x->model->print_state(x->world, s);
}

static void begin(const struct search *x, struct state *s)
{
	memset(s, 0, x->model->state_bytes);
	if (x->model->begin != NULL)
		x->model->begin(x->world, s);
}

static struct origin origin_of(const struct search *x, uint32_t number)
{
	struct origin origin;

	memcpy(&origin, book_tail(&x->seen, number), sizeof(origin));
	return origin;
}

void print_way(struct search *x, uint32_t number)
{
	struct state *s = resize(NULL, 1, x->model->state_bytes);
	uint32_t *chain, count = 1, at = number;

	for (; origin_of(x, at).parent != UINT32_MAX; at = origin_of(x, at).parent)
		count++;
	chain = resize(NULL, count, sizeof(*chain));
	for (at = number; at != UINT32_MAX; at = origin_of(x, at).parent)
		chain[--count] = at;
	begin(x, s);
	if (x->model->begins != NULL)
		print_step(x, state_at(x, chain[0]), origin_of(x, chain[0]).step);
	for (uint32_t n = 1; chain[n - 1] != number; n++) {
		struct step step = origin_of(x, chain[n]).step;

		if (x->model->key == NULL)
			memcpy(s, state_at(x, chain[n - 1]), x->model->state_bytes);
		print_step(x, s, step);
		if (x->model->key != NULL)
			(void)x->model->take(x->world, s, step);
	}
	free(chain);
	free(s);
}

static void print_finding(struct search *x)
{
	const struct way *way = x->way;

	print_way(x, x->at);
	print_state(x, way->from);
	if (way->by_step) {
		print_step(x, way->from, way->last);
		print_state(x, way->to);
	} else if (x->model->print_more != NULL) {
		x->model->print_more(x, way->from);
	}
}

/* ---- from each state a goal can be reached ------------------------------------------------------------------------- */

static void end_edges(struct search *x)
{
	struct edges *e = &x->way->calm;

	e->ends = widen(e->ends, x->at + 1, &e->ends_room, sizeof(*e->ends));
	e->ends[0] = 0;
	e->ends[x->at + 1] = e->count;
}

/* The calm steps by where they lead: those to state i come from from[first[i]] on. */
static uint32_t *turn_edges(const struct search *x, uint32_t *first)
{
	const struct edges *e = &x->way->calm;
	uint32_t *from = resize(NULL, e->count + 1, sizeof(*from));

	memset(first, 0, (x->seen.count + 1) * sizeof(*first));
	for (uint32_t k = 0; k < e->count; k++)
		first[e->to[k]]++;
	for (uint32_t i = 0; i < x->seen.count; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < x->seen.count; i++)
		for (uint32_t k = e->ends[i]; k < e->ends[i + 1]; k++)
			from[--first[e->to[k]]] = i;
	return from;
}

/* Marks all states from which a goal can be reached, backwards from the goals. */
static void mark_good(const struct search *x, bool *good)
{
	uint32_t *first = resize(NULL, x->seen.count + 1, sizeof(*first)), *from = turn_edges(x, first);
	uint32_t *todo = resize(NULL, x->seen.count, sizeof(*todo)), count = 0;

	for (uint32_t i = 0; i < x->seen.count; i++) {
		good[i] = x->model->is_goal(x->world, state_at(x, i));
		if (good[i])
			todo[count++] = i;
	}
	while (count > 0) {
		uint32_t i = todo[--count];

		for (uint32_t k = first[i]; k < first[i + 1]; k++) {
			if (good[from[k]])
				continue;
			good[from[k]] = true;
			todo[count++] = from[k];
		}
	}
	free(first);
	free(from);
	free(todo);
}

static void find_stuck(struct search *x)
{
	bool *good = resize(NULL, x->seen.count, sizeof(*good));

	mark_good(x, good);
	for (uint32_t i = 0; i < x->seen.count; i++) {
		if (good[i])
			continue;
		x->wrong = x->model->stuck;
		if (x->stuck++ == 0 && x->verbose)
			print_way(x, i);
	}
	free(good);
}

/* ---- all states ---------------------------------------------------------------------------------------------------- */

static void open_way(struct search *x)
{
	const struct model *m = x->model;

	x->way = calloc(1, sizeof(*x->way));
	if (x->way == NULL)
		abort();
	x->way->key = resize(NULL, m->key_bytes + 1, 1);
	x->way->from = resize(NULL, 1, m->state_bytes);
	x->way->to = resize(NULL, 1, m->state_bytes);
	x->taken = resize(NULL, m->gait.length + 1, sizeof(*x->taken));
	x->seen.state_bytes = m->key != NULL ? sizeof(uint64_t) : m->state_bytes;
	x->seen.same_bytes = m->key != NULL ? 0 : m->same_bytes;
	x->seen.tail_bytes = m->depth != 0 ? 0 : sizeof(struct origin);
	for (int k = 0; k < BOOKS; k++)
		x->good[k] = (struct book){.state_bytes = m->state_bytes, .same_bytes = m->same_bytes};
}

static void close_way(struct search *x)
{
	struct way *way = x->way;

	book_close(&x->seen);
	for (int k = 0; k < BOOKS; k++)
		book_close(&x->good[k]);
	free(way->calm.to);
	free(way->calm.ends);
	free(way->now);
	free(way->next);
	free(way->key);
	free(way->from);
	free(way->to);
	free(way);
	free(x->taken);
}

static void take_all(struct search *x)
{
	const struct model *m = x->model;
	struct way *way = x->way;
	int count = m->steps(x->world, way->from, false, way->steps);

	for (int n = 0; n < count && x->wrong == NULL; n++) {
		const char *wrong;

		memcpy(way->to, way->from, m->state_bytes);
		wrong = m->take(x->world, way->to, way->steps[n]);
		if (wrong == NULL && m->tidy != NULL)
			m->tidy(x->world, way->to);
		follow(x, way->to, way->steps[n], wrong);
	}
}

/* Looks at the next state, and at what follows from it. */
static void expand(struct search *x)
{
	const struct model *m = x->model;
	struct way *way = x->way;

	load(x);
	way->calm_follows = false;
	if (m->judge != NULL)
		x->wrong = m->judge(x, way->from);
	if (x->wrong == NULL && m->go_on != NULL)
		m->go_on(x, way->from);
	else if (x->wrong == NULL)
		take_all(x);
	if (x->wrong == NULL && !way->calm_follows && m->rest != NULL)
		x->wrong = m->rest(x, way->from);
	if (m->is_goal != NULL)
		end_edges(x);
}

/* False: it has stopped at so many. */
static bool explore(struct search *x, uint32_t most)
{
	const struct model *m = x->model;
	bool all;

	x->at = UINT32_MAX;
	if (m->begins != NULL) {
		m->begins(x);
	} else {
		begin(x, x->way->to);
		reach(x, x->way->to, (struct step){0});
	}
	for (x->at = 0; x->at < x->seen.count && x->seen.count < most; x->at++) {
		expand(x);
		if (x->wrong != NULL)
			break;
	}
	all = x->at == x->seen.count;
	if (x->wrong != NULL && x->verbose)
		print_finding(x);
	if (x->wrong == NULL && all && m->is_goal != NULL)
		find_stuck(x);
	if (x->wrong == NULL && m->conclude != NULL)
		x->wrong = m->conclude(x);
	return all;
}

/* ---- all states, depth first --------------------------------------------------------------------------------------- */

struct level {
	struct state *state;
	struct step *steps;
	int count, at, calm; /* those from `calm` on are late */
	int late;            /* how many of them led here */
};

static void open_level(const struct search *x, struct level *level)
{
	if (level->state != NULL)
		return;
	level->state = resize(NULL, 1, x->model->state_bytes);
	level->steps = resize(NULL, (size_t)2 * STEPS_MOST, sizeof(*level->steps));
}

static bool add_mark(struct search *x, const struct state *s)
{
	uint64_t mark = hash_bytes(x->way->key, x->model->key(x->world, s, x->way->key));

	return book_add(&x->seen, &mark, NULL, NULL);
}

/* What may go wrong, and what must happen: late steps where nothing else does. */
static void enter_level(struct search *x, struct level *level)
{
	const struct model *m = x->model;
	int late;

	level->at = 0;
	level->count = m->steps(x->world, level->state, false, level->steps);
	level->calm = level->count;
	for (int n = 0; n < level->count; n++)
		if (m->is_calm(x->world, level->state, level->steps[n]))
			return;
	late = m->late(x->world, level->state, level->steps + level->count);
	level->count += late;
	if (late == 0)
		x->wrong = m->rest(x, level->state);
}

/* The next step of that level. True: it leads deeper. */
static bool descend(struct search *x, struct level *now, struct level *next)
{
	const struct model *m = x->model;
	bool is_late = now->at >= now->calm;

	open_level(x, next);
	m->copy(next->state, now->state);
	next->late = now->late + is_late;
	x->wrong = m->take(x->world, next->state, now->steps[now->at++]);
	if (x->wrong == NULL && next->late > PATIENCE)
		x->wrong = m->endless(x->world, next->state);
	return x->wrong != NULL || (!m->is_full(next->state) && add_mark(x, next->state));
}

/* False: not all has been seen. The steps to what is wrong are those of a run. */
static bool explore_deep(struct search *x, uint32_t most)
{
	struct level *levels = calloc(x->model->depth, sizeof(*levels));
	bool all = true;
	uint32_t depth = 0;

	if (levels == NULL)
		abort();
	open_level(x, &levels[0]);
	begin(x, levels[0].state);
	(void)add_mark(x, levels[0].state);
	for (enter_level(x, &levels[0]); x->wrong == NULL && all;) {
		struct level *now = &levels[depth];

		if (now->at == now->count && depth == 0)
			break;
		if (now->at == now->count) {
			depth--;
		} else if (descend(x, now, now + 1)) {
			depth++;
			if (x->wrong == NULL)
				enter_level(x, now + 1);
			all = x->seen.count < most && depth + 1 < x->model->depth;
		} else {
			all = !x->model->is_full(now[1].state);
		}
	}
	for (x->length = 0; x->wrong != NULL && x->length < depth; x->length++)
		x->taken[x->length] = levels[x->length].steps[levels[x->length].at - 1];
	for (uint32_t n = 0; n < x->model->depth; n++) {
		free(levels[n].state);
		free(levels[n].steps);
	}
	free(levels);
	return all;
}

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
	return gait->weight(step, h >> 40 & 3);
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
	begin(x, s);
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
			print_step(x, s, steps[at]);
		wrong = m->take(x->world, s, steps[at]);
	}
	return wrong != NULL ? wrong : end_run(x, s);
}

/* Those of the steps that can be taken; and then, if nothing is wrong, it may go on to the end. */
static const char *play(struct search *x, const struct step *taken, uint32_t count, bool to_the_end, bool print)
{
	struct state *s = x->way->from;
	const char *wrong = NULL;

	begin(x, s);
	for (uint32_t n = 0; n < count && wrong == NULL; n++) {
		if (!can_take(x, s, taken[n]))
			continue;
		if (print)
			print_step(x, s, taken[n]);
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
static void print_run(struct search *x)
{
	const struct model *m = x->model;
	struct state *s = x->way->from;
	const char *wrong = NULL;

	if (m->judge == NULL && m->is_goal == NULL) {
		print_shrunk(x);
		return;
	}
	begin(x, s);
	for (uint32_t n = 0; n < x->length; n++) {
		print_step(x, s, x->taken[n]);
		wrong = m->take(x->world, s, x->taken[n]);
	}
	print_state(x, s);
	if (wrong == NULL && m->print_more != NULL)
		m->print_more(x, s);
}

static uint32_t wander(struct search *x, uint32_t runs, uint64_t seed)
{
	uint32_t count = 0;

	while (count < runs && x->wrong == NULL)
		run(x, seed + count++);
	if (x->wrong != NULL && x->verbose)
		print_run(x);
	return count;
}

/* ---- what is tried ------------------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* How many states or runs are looked at; *all: of what there is. */
static uint32_t search(struct search *x, const struct trial *t, const struct options *o, bool *all)
{
	const struct model *m = x->model;
	uint32_t times = t->once ? 1 : o->times, to_find = t->expected != NULL && m->to_find != 0 ? m->to_find : 1;
	uint32_t most = t->runs != 0 ? t->runs : t->extent == RANDOM ? m->runs : m->cut_off;

	*all = true;
	if (t->extent == TIMELINE) {
		x->wrong = play(x, x->taken, (uint32_t)m->read_timeline(t, x->taken), true, x->verbose);
		return 1;
	}
	if (t->extent == RANDOM) {
		most *= times * to_find;
		return wander(x, o->runs != 0 && o->runs < most ? o->runs : most, m->gait.seeds[times > 1]);
	}
	most = t->extent == CUT_OFF ? most * times * to_find : m->most;
	most = o->states != 0 && o->states < most ? o->states : most;
	if (m->depth == 0) {
		*all = explore(x, most);
	} else {
		*all = explore_deep(x, most);
		if (x->wrong != NULL && x->verbose)
			print_run(x);
	}
	return m->counts == LOOKED_AT && x->wrong != NULL ? x->at + 1 : x->seen.count;
}

static bool is_surprise(const struct search *x, const struct trial *t, uint32_t looked, bool all)
{
	bool holds = x->wrong == NULL;

	return !same_text(x->wrong, t->expected) || (holds && !all && t->extent != CUT_OFF) ||
	       (holds && x->model->not_in_vain && x->noted[0] == 0) || (t->looked != 0 && looked != t->looked) ||
	       (t->noted != 0 && x->noted[0] != t->noted);
}

static bool try(const struct model *m, const struct trial *t, const struct options *o)
{
	static const char *const extents[] = {"states", "states", "runs", "timeline", "states"};
	struct search x = {.model = m, .world = t->world, .verbose = o->verbose};
	uint32_t looked;
	bool all, odd;

	open_way(&x);
	looked = search(&x, t, o, &all);
	odd = is_surprise(&x, t, looked, all);
	if (m->print_world != NULL)
		m->print_world(t->world);
	printf("%s%s%-66s %8u %s", t->name != NULL ? t->name : "", t->name != NULL ? "  " : "", t->what, looked,
	       extents[t->extent]);
	for (int k = 0; m->notes != NULL && m->notes[k] != NULL; k++)
		if (x.noted[k] > 0)
			printf(", %u %s", x.noted[k], m->notes[k]);
	if (x.stuck > 0)
		printf(", %u of them stuck", x.stuck);
	printf("%s: %s%s\n", all || x.wrong != NULL ? "" : ", cut off", x.wrong != NULL ? x.wrong : "holds",
	       odd ? "  <-- SURPRISE" : "");
	fflush(stdout);
	close_way(&x);
	return !odd;
}

int try_all(const struct model *m, const struct trial *trials, size_t count, struct options options)
{
	int tried = 0, surprises = 0;

	for (size_t i = 0; i < count; i++) {
		if ((trials[i].extent == LARGE && options.times == 1) ||
		    (options.rule != NULL && strstr(trials[i].what, options.rule) == NULL))
			continue;
		tried++;
		surprises += !try(m, &trials[i], &options);
	}
	printf("%d tried, %d surprises\n", tried, surprises);
	return surprises == 0 && tried > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void print_help(const struct model *m, const char *program)
{
	printf("%s\n\n"
	       "    %s [-v] [--times N] [--rule WORDS] [--states N] [--runs N]\n\n"
	       "One line for each thing that is tried; the exit status is 0 if there is no surprise.\n"
	       "    -v            the way to each finding, before its line\n"
	       "    --times N     what is random or cut off N times as long, with other seeds; and what is too large for every day\n"
	       "    --rule WORDS  only what has these words in its line\n"
	       "    --states N    states of a search, at most\n"
	       "    --runs N      random runs, at most\n",
	       m->what, program);
}

static uint32_t number_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end != '\0' || n == 0 || n > UINT32_MAX) {
		fprintf(stderr, "%s is not a number from 1 on\n", text);
		exit(EXIT_FAILURE);
	}
	return (uint32_t)n;
}

struct options read_options(const struct model *m, int argc, char **argv)
{
	struct options o = {.times = 1};

	for (int a = 1; a < argc; a++) {
		const char *value = a + 1 < argc ? argv[a + 1] : NULL;

		if (strcmp(argv[a], "-v") == 0) {
			o.verbose = true;
			continue;
		}
		if (strcmp(argv[a], "--help") == 0 || value == NULL) {
			print_help(m, argv[0]);
			exit(strcmp(argv[a], "--help") == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
		}
		if (strcmp(argv[a], "--times") == 0) {
			o.times = number_of(value);
		} else if (strcmp(argv[a], "--states") == 0) {
			o.states = number_of(value);
		} else if (strcmp(argv[a], "--runs") == 0) {
			o.runs = number_of(value);
		} else if (strcmp(argv[a], "--rule") == 0) {
			o.rule = value;
		} else {
			print_help(m, argv[0]);
			exit(EXIT_FAILURE);
		}
		a++;
	}
	return o;
}
