/* machine.c - see machine.h. */
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

static bool somebody_sleeps(const struct world *w, const struct state *s)
{
	for (int i = 0; i < w->thread_count; i++)
		if (w->threads[i].code[s->threads[i].at].op == WAIT)
			return true;
	return false;
}

/* A BARRIER is a step for each of the others, in any order: `other` is the one that has its turn. */
static bool barrier_step(const struct world *w, struct state *s, struct thread *t, int other)
{
	if (t->barrier == 0) {
		if (t->buffered > 0 || other != 0)
			return false;
		t->barrier = (uint8_t)((1 << w->thread_count) - 1);
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
static void run_private(const struct world *w, struct thread *t, int i)
{
	const struct instruction *in;
	uint8_t *r = t->registers;

	while (in = &w->threads[i].code[t->at], is_private(in->op)) {
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

static void wake(const struct world *w, struct state *s, uint8_t word)
{
	for (int i = 0; i < w->thread_count; i++) {
		struct thread *t = &s->threads[i];

		if (!t->asleep || w->threads[i].code[t->at].b != word)
			continue;
		t->asleep = 0;
		t->at++;
		run_private(w, t, i);
	}
}

/* Executes the instruction at which thread `i` stands. Those that can go several ways have a `way` for each. */
static enum outcome execute(const struct world *w, struct state *s, int i, int way)
{
	struct thread *t = &s->threads[i];
	const struct instruction *in = &w->threads[i].code[t->at];
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
		return barrier_step(w, s, t, way) ? MOVED : BLOCKED;
	case RING:
		return ring(s, t, in->a);
	case RING_ONCE:
		s->bell |= somebody_sleeps(w, s);
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
		wake(w, s, in->b);
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

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

/* Nothing moves any more. NULL: it may end so. */
static const char *stopped(struct search *x, const struct state *s)
{
	const struct world *w = x->world;

	for (int t = 0; t < w->thread_count - w->serves; t++)
		if (w->threads[t].code[s->threads[t].at].op != END)
			return ASLEEP;
	for (int c = 0; c < CLIENTS; c++)
		if (s->ran[c] != w->requests[c])
			return UNRUN;
	return NULL;
}

#define DRAIN (END + 1) /* a step that is none of the program's: a store reaches memory */

/* The step of a thread that stands there, by each way that it can go. */
static void go_on_thread(struct search *x, const struct state *from, int t)
{
	const struct world *w = x->world;
	struct state next;

	for (int n = 0; n < BUFFER; n++) {
		next = *from;
		if (drain(&next, &next.threads[t], n))
			reach(x, &next, (struct step){DRAIN, (uint8_t)t});
	}
	for (int way = 0; way < THREADS; way++) {
		uint8_t at = from->threads[t].at, op = w->threads[t].code[at].op;
		enum outcome outcome;

		next = *from;
		outcome = execute(w, &next, t, way);
		if (outcome == BLOCKED)
			continue;
		run_private(w, &next.threads[t], t);
		go_wrong(x, wrongs[outcome]);
		reach(x, &next, (struct step){op, (uint8_t)t, at, next.false_alarms != from->false_alarms});
	}
}

static void go_on(struct search *x, const struct state *s)
{
	for (int t = 0; t < x->world->thread_count; t++)
		go_on_thread(x, s, t);
}

/* A false alarm is a gift: a thread that counts on it may as well sleep for ever. */
static bool is_calm(const struct world *w, const struct state *s, struct step step)
{
	(void)w;
	(void)s;
	return step.more == 0;
}

static void begin(const struct world *w, struct state *s)
{
	for (int t = 0; t < w->thread_count; t++)
		run_private(w, &s->threads[t], t);
}

static void print_step(const struct world *w, const struct state *s, struct step step)
{
	(void)w;
	(void)s;
	if (step.kind == DRAIN)
		printf("      thread %d: a store reaches memory\n", step.node);
	else
		printf("      thread %d: %d %s\n", step.node, step.other, op_names[step.kind]);
}

int try_machines(const char *what, const struct scenario *scenarios, size_t count, int argc, char **argv)
{
	const struct model model = {
		.what = what,
		.state_bytes = sizeof(struct state),
		.most = UINT32_MAX,
		.begin = begin,
		.go_on = go_on,
		.is_calm = is_calm,
		.rest = stopped,
		.print_step = print_step,
	};
	const struct options options = read_options(&model, argc, argv);
	struct world *worlds = calloc(count, sizeof(*worlds));
	struct trial *trials = calloc(count, sizeof(*trials));
	int status;

	if (worlds == NULL || trials == NULL)
		abort();
	for (size_t i = 0; i < count; i++) {
		const struct scenario *s = &scenarios[i];

		s->make(&worlds[i], s->variant);
		trials[i] = (struct trial){.what = s->what,
					   .extent = s->large ? LARGE : EVERY,
					   .expected = s->expected,
					   .world = &worlds[i],
					   .name = s->protocol};
	}
	status = try_all(&model, trials, count, options);
	free(worlds);
	free(trials);
	return status;
}
