/* linear.c - see linear.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/linear/linear.h"

struct value {
	bool there;
	uint64_t is, tokens;
};

/* What has been tried: the operations that are placed, as a sum of two random words for each (two sets with the same are not met with in
 * any time), the value, and how many of unknown outcome are the last. */
struct tried {
	uint64_t set[2];
	struct value value;
	size_t chain;
	bool used;
};

/* An operation begins, or ends. Two lists, by time, less those that are placed: of operations that have ended, and of the beginnings of
 * those of unknown outcome. */
struct event {
	struct linear_op op;
	size_t number; /* of the operation: of its beginning and its end the same */
	bool begins;
	struct event *before, *after, *end; /* end: of one that begins, and has one */
};

/* Operations of unknown outcome are tried where all others fail, and only a few in a row at first: for without a limit there are as many
 * orders as they have subsets, and most histories need none. */
static const size_t limits[] = {1, 2, 4, SIZE_MAX};

enum { HEAD, HEAD_OF_UNKNOWN, HEADS };

struct search {
	struct event *events; /* the first two stand for the beginnings of the lists */
	size_t count;
	size_t unplaced; /* that have ended */
	struct value value;
	uint64_t set[2];
	size_t chain, limit; /* of unknown outcome, in a row; the limit has kept one from being tried: */
	bool is_limited;
	struct placed { /* in the order of their places */
		struct event *event;
		struct value value; /* before it */
		size_t chain;
	} * placed;
	size_t placed_count;
	struct tried *tried; /* open addressing: a power of two, at most half of it used */
	size_t tried_count, tried_room, most;
	struct linear_fault *fault;
};

/* ---- one variable --------------------------------------------------------------------------------------------------------- */

static bool is_same(struct value one, struct value other)
{
	return one.there == other.there && one.is == other.is && one.tokens == other.tokens;
}

static bool is_known(const struct linear_op *op)
{
	return op->ended_ns != LINEAR_UNKNOWN;
}

/* False: the answer cannot be. */
static bool take(const struct linear_step *step, bool known, struct value was, struct value *is)
{
	*is = was;
	switch (step->kind) {
	case LINEAR_GET:
		return !known || (step->found == was.there && (!was.there || step->answer == was.is));
	case LINEAR_CLAIM:
		if (!was.there)
			*is = (struct value){true, step->argument, 1};
		return !known || step->found == was.there;
	case LINEAR_ADD:
		*is = (struct value){true, (was.there ? was.is : 0) + step->argument, 1};
		return !known || step->answer == is->is;
	case LINEAR_REMOVE:
		*is = (struct value){false, 0, 0};
		return !known || step->found == was.there;
	case LINEAR_APPEND:
		*is = (struct value){true, was.there ? linear_append(was.is, step->argument) : step->argument,
				     was.tokens + 1};
		return !known || step->answer == is->tokens;
	default:
		*is = (struct value){true, step->argument, 1};
		return true;
	}
}

static struct linear_step first_step(const struct linear_op *op)
{
	return (struct linear_step){op->kind, op->argument, op->found, op->answer};
}

static bool apply(const struct linear_op *op, struct value was, struct value *is)
{
	struct linear_step first = first_step(op);
	bool known = is_known(op);

	return take(&first, known, was, is) && (!op->goes_on || take(&op->then, known, *is, is));
}

/* ---- what has been tried ---------------------------------------------------------------------------------------------------- */

/* Splitmix64 (Steele, Lea, Flood, 2014). */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t linear_append(uint64_t text, uint64_t token)
{
	return mix(mix(text) ^ token);
}

static void toggle(struct search *search, const struct event *event)
{
	uint64_t at = (uint64_t)(event - search->events);

	search->set[0] ^= mix(2 * at);
	search->set[1] ^= mix(2 * at + 1);
}

static struct tried *place_of(struct tried *tried, size_t room, const struct tried *one)
{
	size_t at = (one->set[0] ^ mix(one->value.is + one->value.tokens)) & (room - 1);

	while (tried[at].used && (tried[at].set[0] != one->set[0] || tried[at].set[1] != one->set[1] ||
				  tried[at].chain != one->chain || !is_same(tried[at].value, one->value)))
		at = (at + 1) & (room - 1);
	return &tried[at];
}

static bool make_room(struct search *search)
{
	size_t room = search->tried_room > 0 ? 2 * search->tried_room : 1024;
	struct tried *tried;

	if (2 * search->tried_count < search->tried_room)
		return true;
	tried = calloc(room, sizeof(*tried));
	if (tried == NULL)
		return false;
	for (size_t i = 0; i < search->tried_room; i++)
		if (search->tried[i].used)
			*place_of(tried, room, &search->tried[i]) = search->tried[i];
	free(search->tried);
	search->tried = tried;
	search->tried_room = room;
	return true;
}

/* The set with that event, and that value: true if they are new. There is room. */
static bool is_new(struct search *search, const struct event *event, struct value value)
{
	struct tried one = {.value = value, .chain = is_known(&event->op) ? 0 : search->chain + 1, .used = true},
		     *place;

	toggle(search, event);
	memcpy(one.set, search->set, sizeof(one.set));
	toggle(search, event);
	place = place_of(search->tried, search->tried_room, &one);
	if (place->used)
		return false;
	*place = one;
	search->tried_count++;
	return true;
}

/* ---- the search ------------------------------------------------------------------------------------------------------------- */

static void take_out(struct event *event)
{
	event->before->after = event->after;
	if (event->after != NULL)
		event->after->before = event->before;
}

static void put_back(struct event *event)
{
	event->before->after = event;
	if (event->after != NULL)
		event->after->before = event;
}

static void place(struct search *search, struct event *event, struct value value)
{
	search->placed[search->placed_count++] = (struct placed){event, search->value, search->chain};
	search->value = value;
	toggle(search, event);
	take_out(event);
	if (is_known(&event->op)) {
		search->chain = 0;
		search->unplaced--;
		take_out(event->end);
	} else {
		search->chain++;
	}
}

/* The last one. */
static void take_back(struct search *search)
{
	struct placed *last = &search->placed[--search->placed_count];

	if (is_known(&last->event->op)) {
		put_back(last->event->end);
		search->unplaced++;
	}
	put_back(last->event);
	toggle(search, last->event);
	search->value = last->value;
	search->chain = last->chain;
}

/* The one before it is of unknown outcome, and makes no difference: then it need not be there. */
static bool is_vain(const struct search *search, const struct event *event, struct value value)
{
	struct value without;

	return search->chain > 0 && apply(&event->op, search->placed[search->placed_count - 1].value, &without) &&
	       is_same(value, without);
}

/* Can it be the next? Then *value is the one behind it. */
static bool fits(struct search *search, const struct event *event, struct value *value)
{
	if (!apply(&event->op, search->value, value) || is_vain(search, event, *value))
		return false;
	if (!is_known(&event->op)) {
		if (is_same(search->value, *value))
			return false;
		if (search->chain >= search->limit) {
			search->is_limited = true;
			return false;
		}
	}
	return is_new(search, event, *value);
}

static void tell_step(const struct linear_step *step, bool known, char *text, size_t bytes)
{
	static const char *const names[LINEAR_KINDS] = {"get", "set", "claim", "add", "remove", "append"};
	bool has_argument = step->kind != LINEAR_GET && step->kind != LINEAR_REMOVE;
	char argument[24] = "", answer[40] = ": ?";

	if (has_argument)
		snprintf(argument, sizeof(argument), " %" PRIu64, step->argument);
	if (known && (step->kind == LINEAR_CLAIM || step->kind == LINEAR_REMOVE || !step->found))
		snprintf(answer, sizeof(answer), ": %s", step->found ? "it was there" : "it was not there");
	if (known &&
	    (step->kind == LINEAR_ADD || step->kind == LINEAR_APPEND || (step->kind == LINEAR_GET && step->found)))
		snprintf(answer, sizeof(answer), ": %" PRIu64 "%s", step->answer,
			 step->kind == LINEAR_APPEND ? " tokens" : "");
	if (known && step->kind == LINEAR_SET)
		answer[0] = '\0';
	snprintf(text, bytes, "%s%s%s", names[step->kind], argument, answer);
}

void linear_tell(const struct linear_op *op, char *text, size_t bytes)
{
	struct linear_step first_is = first_step(op);
	bool known = op->ended_ns != LINEAR_UNKNOWN;
	char first[96], then[96] = "", ended[24] = "?";

	tell_step(&first_is, known, first, sizeof(first));
	if (op->goes_on)
		tell_step(&op->then, known, then, sizeof(then));
	if (known)
		snprintf(ended, sizeof(ended), "%" PRIu64, op->ended_ns);
	snprintf(text, bytes, "client %" PRIu32 ", from %" PRIu64 " to %s ns, %s%s%s", op->client, op->began_ns, ended,
		 first, op->goes_on ? ", and at once " : "", then);
}

static void tell(struct linear_fault *fault)
{
	char op[300];

	linear_tell(&fault->op, op, sizeof(op));
	snprintf(fault->text, sizeof(fault->text), "key %" PRIu64 ": behind %zu operations nothing explains %s",
		 fault->key, fault->placed, op);
}

/* An end is met: its operation had to be placed before. The furthest that it goes is told. */
static void note_end(struct search *search, const struct event *end)
{
	struct linear_fault *fault = search->fault;

	if (fault == NULL || (fault->text[0] != '\0' && search->placed_count <= fault->placed))
		return;
	*fault = (struct linear_fault){.key = end->op.key, .placed = search->placed_count, .op = end->op};
	tell(fault);
}

/* The first end of an operation that is not placed: what begins behind it cannot be the next. */
static const struct event *first_end(const struct search *search)
{
	const struct event *event = search->events[HEAD].after;

	while (event->begins)
		event = event->after;
	return event;
}

/* The next to be tried behind it. NULL: nothing else can be. */
static struct event *next_of(const struct search *search, const struct event *event)
{
	struct event *next = event->after;

	if (is_known(&event->op) && !next->begins)
		next = search->events[HEAD_OF_UNKNOWN].after;
	if (next != NULL && !is_known(&next->op) && next->op.began_ns > first_end(search)->op.ended_ns)
		next = NULL;
	return next;
}

static enum linear_verdict run(struct search *search)
{
	struct event *event = search->unplaced > 0 ? next_of(search, &search->events[HEAD]) : NULL;

	while (search->unplaced > 0) {
		struct value value;

		if (search->tried_count >= search->most)
			return LINEAR_TOO_HARD;
		if (!make_room(search))
			return LINEAR_NO_MEMORY;
		if (event == NULL) {
			note_end(search, first_end(search));
			if (search->placed_count == 0)
				return LINEAR_BAD;
			take_back(search);
			event = next_of(search, search->placed[search->placed_count].event);
		} else if (fits(search, event, &value)) {
			place(search, event, value);
			event = search->unplaced > 0 ? next_of(search, &search->events[HEAD]) : NULL;
		} else {
			event = next_of(search, event);
		}
	}
	return LINEAR_GOOD;
}

/* With one limit after the other. When it is over all is taken back. */
static enum linear_verdict run_all(struct search *search)
{
	enum linear_verdict verdict = LINEAR_BAD;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && verdict == LINEAR_BAD; i++) {
		search->limit = limits[i];
		search->is_limited = false;
		search->tried_count = 0;
		if (search->tried != NULL)
			memset(search->tried, 0, search->tried_room * sizeof(*search->tried));
		verdict = run(search);
		if (!search->is_limited)
			break;
	}
	return verdict;
}

/* ---- a key ------------------------------------------------------------------------------------------------------------------ */

static uint64_t time_of(const struct event *event)
{
	return event->begins ? event->op.began_ns : event->op.ended_ns;
}

/* At one time what begins comes first: it may overlap with what ends. */
static int by_time(const void *one, const void *other)
{
	const struct event *a = one, *b = other;

	if (time_of(a) != time_of(b))
		return time_of(a) < time_of(b) ? -1 : 1;
	if (a->begins != b->begins)
		return a->begins ? -1 : 1;
	return 0;
}

/* A read of which nobody knows the answer says nothing. */
static bool says_something(const struct linear_op *op)
{
	return op->kind != LINEAR_GET || op->ended_ns != LINEAR_UNKNOWN || (op->goes_on && op->then.kind != LINEAR_GET);
}

static void link_behind(struct event **last, struct event *event)
{
	event->before = *last;
	(*last)->after = event;
	*last = event;
}

static void link_events(struct search *search, struct event **begins)
{
	struct event *last = &search->events[HEAD], *last_unknown = &search->events[HEAD_OF_UNKNOWN];

	for (struct event *event = search->events + HEADS; event < search->events + search->count; event++) {
		link_behind(is_known(&event->op) ? &last : &last_unknown, event);
		if (event->begins)
			begins[event->number] = event;
		else
			begins[event->number]->end = event;
	}
}

static void fill_events(struct search *search, const struct linear_op *ops, size_t count)
{
	search->count = HEADS;
	for (size_t i = 0; i < count; i++) {
		if (!says_something(&ops[i]))
			continue;
		search->events[search->count++] = (struct event){.op = ops[i], .number = i, .begins = true};
		if (!is_known(&ops[i]))
			continue;
		search->events[search->count++] = (struct event){.op = ops[i], .number = i};
		search->unplaced++;
	}
	qsort(search->events + HEADS, search->count - HEADS, sizeof(*search->events), by_time);
}

static enum linear_verdict check_key(const struct linear_op *ops, size_t count, size_t most, struct linear_fault *fault)
{
	struct search search = {.most = most, .fault = fault};
	struct event **begins = calloc(count, sizeof(*begins));
	enum linear_verdict verdict = LINEAR_NO_MEMORY;

	search.events = calloc(2 * count + HEADS, sizeof(*search.events));
	search.placed = calloc(count, sizeof(*search.placed));
	if (begins != NULL && search.events != NULL && search.placed != NULL) {
		fill_events(&search, ops, count);
		link_events(&search, begins);
		verdict = run_all(&search);
	}
	free(begins);
	free(search.events);
	free(search.placed);
	free(search.tried);
	return verdict;
}

static int by_key(const void *one, const void *other)
{
	const struct linear_op *a = one, *b = other;

	return a->key < b->key ? -1 : a->key > b->key;
}

enum linear_verdict linear_check(const struct linear_op *ops, size_t count, size_t most, struct linear_fault *fault)
{
	struct linear_op *sorted = calloc(count + 1, sizeof(*sorted));
	enum linear_verdict verdict = LINEAR_GOOD;

	if (sorted == NULL)
		return LINEAR_NO_MEMORY;
	if (count > 0)
		memcpy(sorted, ops, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_key);
	for (size_t first = 0, next; first < count && verdict == LINEAR_GOOD; first = next) {
		for (next = first + 1; next < count && sorted[next].key == sorted[first].key; next++)
			;
		if (fault != NULL)
			*fault = (struct linear_fault){.key = sorted[first].key};
		verdict = check_key(sorted + first, next - first, most, fault);
	}
	free(sorted);
	return verdict;
}
