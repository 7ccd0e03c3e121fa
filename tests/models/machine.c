/* machine.c - see machine.h. Breadth first, so a trace is as short as can be. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store {
	uint8_t word, value, release;
};

struct thread {
	uint8_t at, buffered, barrier; /* barrier: threads that it still waits for */
	uint8_t last_ring;             /* the parking that it rang for last */
	uint8_t asleep;                /* on a word */
	uint8_t found;                 /* of the property, by the request that it runs */
	uint8_t registers[REGISTERS];
	struct store buffer[BUFFER]; /* oldest first; unused entries are zero, so that equal states have equal bytes */
};

struct state {
	uint8_t memory[WORDS];
	uint8_t bell, false_alarms;
	uint8_t inside;       /* of the property: the thread that runs a request, + 1 */
	uint8_t ran[CLIENTS]; /* the number of the last request of each that was begun */
	struct thread threads[THREADS];
};

static const char *const op_names[] = {
	"load",      "store", "release", "exchange", "swap if", "await",  "fence",   "barrier", "set",
	"copy",      "add",   "if same", "if other", "if is",   "if not", "if even", "go",      "ring",
	"ring once", "clear", "wait",    "sleep",    "wake",    "enter",  "leave",   "check",   "end",
};

uint8_t emit(struct program *p, enum op op, uint8_t a, uint8_t b)
{
	if (p->count == CODE)
		abort();
	p->code[p->count] = (struct instruction){.op = (uint8_t)op, .a = a, .b = b};
	return p->count++;
}

void land(struct program *p, uint8_t jump)
{
	p->code[jump].target = p->count;
}

void emit_to(struct program *p, enum op op, uint8_t a, uint8_t b, uint8_t target)
{
	p->code[emit(p, op, a, b)].target = target;
}

/* ---- one step of one thread --------------------------------------------------------------------------------------- */

enum outcome { BLOCKED, MOVED, RANG_AWAKE, RANG_TWICE, OVERLAPS, READS_STALE, RUNS_AGAIN, SKIPS, READS_WRONG };

static const char *const wrongs[] = {NULL, NULL, AWAKE, TWICE, OVERLAP, STALE, AGAIN, SKIPPED, WRONG};

static uint8_t read_word(const struct state *s, const struct thread *t, uint8_t word)
{
	for (int i = t->buffered - 1; i >= 0; i--)
		if (t->buffer[i].word == word)
			return t->buffer[i].value;
	return s->memory[word];
}

static enum outcome ring(struct state *s, struct thread *t, uint8_t a)
{
	s->bell = 1;
	t->at++;
	if (a == NONE)
		return MOVED;
	if (t->registers[a] % 2 == 0)
		return RANG_AWAKE;
	if (t->registers[a] == t->last_ring)
		return RANG_TWICE;
	t->last_ring = t->registers[a];
	return MOVED;
}

/* ---- words that threads sleep on, and the property ---------------------------------------------------------------- */

static enum outcome sleep_on(struct state *s, struct thread *t, const struct instruction *in, int way)
{
	if (way > 1 || (way == 1 && (!t->asleep || s->false_alarms == FALSE_ALARMS)))
		return BLOCKED;
	if (way == 0 && t->asleep)
		return BLOCKED;
	if (way == 0 && read_word(s, t, in->b) == in->a) {
		t->asleep = 1;
		return MOVED;
	}
	t->asleep = 0;
	s->false_alarms = (uint8_t)(s->false_alarms + way);
	t->at++;
	return MOVED;
}

static enum outcome enter(struct state *s, struct thread *t, int i, const struct instruction *in)
{
	uint8_t number = t->registers[in->a], all = 0;

	for (int c = 0; c < CLIENTS; c++)
		all = (uint8_t)(all + s->ran[c]);
	if (s->inside != 0)
		return OVERLAPS;
	if (number <= s->ran[in->b])
		return RUNS_AGAIN;
	if (number > s->ran[in->b] + 1)
		return SKIPS;
	t->found = read_word(s, t, WORDS - 1);
	if (t->found != all)
		return READS_STALE;
	s->ran[in->b] = number;
	s->inside = (uint8_t)(i + 1);
	t->at++;
	return MOVED;
}

static enum outcome leave(struct state *s, struct thread *t)
{
	if (t->buffered == BUFFER)
		return BLOCKED;
	t->buffer[t->buffered++] = (struct store){WORDS - 1, (uint8_t)(t->found + 1), 0};
	t->found = 0;
	s->inside = 0;
	t->at++;
	return MOVED;
}

static enum outcome swap_if(struct state *s, struct thread *t, const struct instruction *in)
{
	bool was = s->memory[in->b] == in->target >> 4;

	if (t->buffered > 0)
		return BLOCKED;
	if (was)
		s->memory[in->b] = in->target & 15;
	t->registers[in->a] = was;
	t->at++;
	return MOVED;
}

static bool somebody_sleeps(const struct model *m, const struct state *s)
{
	for (int i = 0; i < m->thread_count; i++)
		if (m->threads[i].code[s->threads[i].at].op == WAIT)
			return true;
	return false;
}

/* A BARRIER is a step for each of the others, in any order: `other` is the one that has its turn. */
static bool barrier_step(const struct model *m, struct state *s, struct thread *t, int other)
{
	if (t->barrier == 0) {
		if (t->buffered > 0 || other != 0)
			return false;
		t->barrier = (uint8_t)((1 << m->thread_count) - 1);
		return true;
	}
	if ((t->barrier & 1 << other) == 0 || s->threads[other].buffered > 0)
		return false;
	t->barrier &= (uint8_t) ~(1 << other);
	t->at += t->barrier == 0;
	return true;
}

static bool is_private(enum op op)
{
	return op >= SET && op <= GO;
}

/* Executes what touches registers alone: no other thread can tell when that happens. */
static void run_private(const struct model *m, struct thread *t, int i)
{
	const struct instruction *in;
	uint8_t *r = t->registers;

	while (in = &m->threads[i].code[t->at], is_private(in->op)) {
		bool yes = false;

		switch ((enum op)in->op) {
		case SET:
			r[in->a] = in->b;
			break;
		case COPY:
			r[in->a] = r[in->b];
			break;
		case ADD:
			r[in->a] = (uint8_t)(r[in->a] + in->b);
			break;
		case IF_SAME:
			yes = r[in->a] == r[in->b];
			break;
		case IF_OTHER:
			yes = r[in->a] != r[in->b];
			break;
		case IF_IS:
			yes = r[in->a] == in->b;
			break;
		case IF_NOT:
			yes = r[in->a] != in->b;
			break;
		case IF_EVEN:
			yes = r[in->a] % 2 == 0;
			break;
		default: /* GO */
			yes = true;
			break;
		}
		t->at = yes ? in->target : (uint8_t)(t->at + 1);
	}
}

static void wake(const struct model *m, struct state *s, uint8_t word)
{
	for (int i = 0; i < m->thread_count; i++) {
		struct thread *t = &s->threads[i];

		if (!t->asleep || m->threads[i].code[t->at].b != word)
			continue;
		t->asleep = 0;
		t->at++;
		run_private(m, t, i);
	}
}

/* Executes the instruction at which thread `i` stands. Those that can go several ways have a `way` for each. */
static enum outcome execute(const struct model *m, struct state *s, int i, int way)
{
	struct thread *t = &s->threads[i];
	const struct instruction *in = &m->threads[i].code[t->at];
	uint8_t *r = t->registers;
	uint8_t old;

	if (way > 0 && in->op != BARRIER && in->op != WAIT && in->op != SLEEP)
		return BLOCKED;
	switch ((enum op)in->op) {
	case LOAD:
		r[in->a] = read_word(s, t, in->b);
		break;
	case STORE:
	case RELEASE:
		if (t->buffered == BUFFER)
			return BLOCKED;
		t->buffer[t->buffered++] = (struct store){in->a, r[in->b], in->op == RELEASE};
		break;
	case EXCHANGE:
		if (t->buffered > 0)
			return BLOCKED;
		old = s->memory[in->b];
		s->memory[in->b] = r[in->a];
		r[in->a] = old;
		break;
	case SWAP_IF:
		return swap_if(s, t, in);
	case AWAIT:
		if (read_word(s, t, in->b) == r[in->a])
			return BLOCKED;
		break;
	case FENCE:
		if (t->buffered > 0)
			return BLOCKED;
		break;
	case BARRIER:
		return barrier_step(m, s, t, way) ? MOVED : BLOCKED;
	case RING:
		return ring(s, t, in->a);
	case RING_ONCE:
		s->bell |= somebody_sleeps(m, s);
		break;
	case CLEAR:
		s->bell = 0;
		break;
	case WAIT: /* way 1: a false alarm */
		if (way == 0 ? !s->bell : way > 1 || s->bell || s->false_alarms == FALSE_ALARMS)
			return BLOCKED;
		s->false_alarms = (uint8_t)(s->false_alarms + way);
		break;
	case SLEEP: /* the same */
		return sleep_on(s, t, in, way);
	case WAKE:
		wake(m, s, in->b);
		break;
	case ENTER:
		return enter(s, t, i, in);
	case LEAVE:
		return leave(s, t);
	case CHECK:
		if (r[in->a] != r[in->b])
			return READS_WRONG;
		break;
	default: /* END */
		return BLOCKED;
	}
	t->at++;
	return MOVED;
}

/* Store number `n` of the buffer reaches memory, if it may before those ahead of it. */
static bool drain(struct state *s, struct thread *t, int n)
{
	if (n >= t->buffered || (t->buffer[n].release && n > 0))
		return false;
	for (int k = 0; k < n; k++)
		if (t->buffer[k].word == t->buffer[n].word)
			return false;
	s->memory[t->buffer[n].word] = t->buffer[n].value;
	t->buffered--;
	memmove(&t->buffer[n], &t->buffer[n + 1], (size_t)(t->buffered - n) * sizeof(t->buffer[0]));
	memset(&t->buffer[t->buffered], 0, sizeof(t->buffer[0]));
	return true;
}

/* ---- all states --------------------------------------------------------------------------------------------------- */

struct node {
	struct state state;
	uint32_t parent;
	uint8_t thread, drained, at; /* the step that led here */
};

struct explorer {
	struct node *nodes;
	uint32_t *table; /* 1 + index into nodes */
	uint32_t count, room, table_size;
};

static uint64_t hash(const struct state *s)
{
	const unsigned char *bytes = (const unsigned char *)s;
	uint64_t h = UINT64_C(0xcbf29ce484222325), word;

	for (size_t i = 0; i < sizeof(*s); i += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + i, sizeof(*s) - i < sizeof(word) ? sizeof(*s) - i : sizeof(word));
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static uint32_t *find(struct explorer *x, const struct state *s)
{
	uint32_t at = (uint32_t)hash(s) & (x->table_size - 1);

	while (x->table[at] != 0 && memcmp(&x->nodes[x->table[at] - 1].state, s, sizeof(*s)) != 0)
		at = (at + 1) & (x->table_size - 1);
	return &x->table[at];
}

static void grow(struct explorer *x)
{
	x->room = x->room ? 2 * x->room : 1024;
	x->table_size = 4 * x->room;
	free(x->table);
	x->nodes = realloc(x->nodes, x->room * sizeof(*x->nodes));
	x->table = calloc(x->table_size, sizeof(*x->table));
	if (x->nodes == NULL || x->table == NULL)
		abort();
	for (uint32_t i = 0; i < x->count; i++)
		*find(x, &x->nodes[i].state) = i + 1;
}

static void add(struct explorer *x, const struct state *s, uint32_t parent, int thread, int drained, int at)
{
	uint32_t *place;

	if (x->count == x->room)
		grow(x);
	place = find(x, s);
	if (*place != 0)
		return;
	*place = x->count + 1;
	x->nodes[x->count++] = (struct node){*s, parent, (uint8_t)thread, (uint8_t)drained, (uint8_t)at};
}

static void print_trace(const struct explorer *x, const struct model *m, uint32_t i)
{
	const struct node *n = &x->nodes[i];

	if (i == 0)
		return;
	print_trace(x, m, n->parent);
	if (n->drained)
		printf("      thread %d: a store reaches memory\n", n->thread);
	else
		printf("      thread %d: %d %s\n", n->thread, n->at, op_names[m->threads[n->thread].code[n->at].op]);
}

/* Nothing moves any more. NULL: it may end so. */
static const char *stopped(const struct model *m, const struct state *s)
{
	for (int t = 0; t < m->thread_count - m->serves; t++)
		if (m->threads[t].code[s->threads[t].at].op != END)
			return ASLEEP;
	for (int c = 0; c < CLIENTS; c++)
		if (s->ran[c] != m->requests[c])
			return UNRUN;
	return NULL;
}

/* Adds what can follow state `i`; says what is wrong with one of them, or with there being none. */
static const char *expand(struct explorer *x, const struct model *m, uint32_t i)
{
	const struct state from = x->nodes[i].state;
	bool moved = false;

	for (int t = 0; t < m->thread_count; t++) {
		for (int n = 0; n < BUFFER; n++) {
			struct state next = from;

			if (drain(&next, &next.threads[t], n)) {
				moved = true;
				add(x, &next, i, t, 1, 0);
			}
		}
		for (int way = 0; way < THREADS; way++) {
			struct state next = from;
			enum outcome outcome = execute(m, &next, t, way);

			if (outcome == BLOCKED)
				continue;
			run_private(m, &next.threads[t], t);
			/* A false alarm is a gift: a thread that counts on it may as well sleep for ever. */
			moved = moved || next.false_alarms == from.false_alarms;
			add(x, &next, i, t, 0, from.threads[t].at);
			if (wrongs[outcome] != NULL)
				return wrongs[outcome];
		}
	}
	return moved ? NULL : stopped(m, &from);
}

const char *explore(const struct model *m, uint32_t *states, bool verbose)
{
	struct explorer x = {0};
	struct state first = {0};
	const char *wrong = NULL;
	uint32_t i;

	for (int t = 0; t < m->thread_count; t++)
		run_private(m, &first.threads[t], t);
	add(&x, &first, 0, 0, 0, 0);
	for (i = 0; i < x.count && wrong == NULL; i++)
		wrong = expand(&x, m, i);
	if (wrong != NULL && verbose)
		print_trace(&x, m, i - 1);
	*states = x.count;
	free(x.nodes);
	free(x.table);
	return wrong;
}
