/* explorer.c - all states of a model, and the ways to them. See explorer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer_int.h"

/* How a state was reached: its tail in the book. */
struct origin {
	uint32_t parent;
	struct step step;
};

void *resize(void *old, size_t count, size_t bytes)
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

void open_way(struct search *x)
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

void close_way(struct search *x)
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
	if (wrong != NULL && x->model->counts == ALL_RIGHT)
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

void show_step(const struct search *x, const struct state *s, struct step step)
{
	const struct model *m = x->model;

	if (m->print_step != NULL)
		m->print_step(x->world, s, step);
	else
		printf("      %u %s %u\n", step.node, m->names[step.kind], step.other);
}

void show_state(const struct search *x, const struct state *s)
{
	if (x->model->print_state != NULL)
		x->model->print_state(x->world, s);
}

void set_out(const struct search *x, struct state *s)
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
	set_out(x, s);
	if (x->model->begins != NULL)
		show_step(x, state_at(x, chain[0]), origin_of(x, chain[0]).step);
	for (uint32_t n = 1; chain[n - 1] != number; n++) {
		struct step step = origin_of(x, chain[n]).step;

		if (x->model->key == NULL)
			memcpy(s, state_at(x, chain[n - 1]), x->model->state_bytes);
		show_step(x, s, step);
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
	show_state(x, way->from);
	if (way->by_step) {
		show_step(x, way->from, way->last);
		show_state(x, way->to);
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

static bool explore_broad(struct search *x, uint32_t most)
{
	const struct model *m = x->model;
	bool all;

	x->at = UINT32_MAX;
	if (m->begins != NULL) {
		m->begins(x);
	} else {
		set_out(x, x->way->to);
		reach(x, x->way->to, (struct step){0});
	}
	for (x->at = 0; x->at < x->seen.count && x->seen.count < most; x->at++) {
		expand(x);
		if (x->wrong != NULL)
			break;
	}
	all = x->wrong != NULL || x->at == x->seen.count;
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

/* The steps to what is wrong are those of a run. */
static void keep_course(struct search *x, const struct level *levels, uint32_t depth)
{
	for (x->length = 0; x->length < depth; x->length++)
		x->taken[x->length] = levels[x->length].steps[levels[x->length].at - 1];
	if (x->verbose)
		print_run(x);
}

/* What follows from a state in which the model is full is not all that there is. */
static bool explore_deep(struct search *x, uint32_t most)
{
	const struct model *m = x->model;
	struct level *levels = calloc(m->depth, sizeof(*levels));
	bool all = true;
	uint32_t depth = 0;

	if (levels == NULL)
		abort();
	open_level(x, &levels[0]);
	set_out(x, levels[0].state);
	(void)add_mark(x, levels[0].state);
	enter_level(x, &levels[0]);
	while (x->wrong == NULL && x->seen.count < most && depth + 1 < m->depth) {
		struct level *now = &levels[depth], *next = now + 1;

		if (now->at == now->count && depth == 0)
			break;
		if (now->at == now->count) {
			depth--;
		} else if (descend(x, now, next)) {
			depth++;
			if (x->wrong == NULL)
				enter_level(x, next);
		} else {
			all = all && !m->is_full(next->state);
		}
	}
	all = x->wrong != NULL || (all && depth == 0 && levels[0].at == levels[0].count);
	if (x->wrong != NULL)
		keep_course(x, levels, depth);
	for (uint32_t n = 0; n < m->depth; n++) {
		free(levels[n].state);
		free(levels[n].steps);
	}
	free(levels);
	return all;
}

bool explore(struct search *x, uint32_t most)
{
	return x->model->depth != 0 ? explore_deep(x, most) : explore_broad(x, most);
}
