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
 * any time), and the value. */
struct tried {
	uint64_t set[2];
	struct value value;
	bool used;
};

struct event { /* an operation begins, or ends; linked by time, less those that are placed */
	struct linear_op op;
	size_t number; /* of the operation: of its beginning and its end the same */
	bool begins;
	struct event *before, *after, *end; /* end: of one that begins */
};

struct search {
	struct event *events; /* the first stands for the beginning of the list */
	size_t count;
	size_t unplaced; /* that have ended */
	struct value value;
	uint64_t set[2];
	struct placed { /* in the order of their places */
		struct event *event;
		struct value value; /* before it */
	} * placed;
	size_t placed_count;
	struct tried *tried; /* open addressing: a power of two, at most half of it used */
	size_t tried_count, tried_room, most;
	struct linear_fault *fault;
};

/* ---- one variable --------------------------------------------------------------------------------------------------------- */

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
	bool known = op->ended_ns != LINEAR_UNKNOWN;

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
				  tried[at].value.tokens != one->value.tokens || tried[at].value.is != one->value.is))
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
	struct tried one = {.value = value, .used = true}, *place;

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
	search->placed[search->placed_count++] = (struct placed){event, search->value};
	search->value = value;
	toggle(search, event);
	search->unplaced -= event->op.ended_ns != LINEAR_UNKNOWN;
	take_out(event);
	take_out(event->end);
}

/* What is next to be tried instead. NULL: nothing is placed. */
static struct event *take_back(struct search *search)
{
	struct placed *last;

	if (search->placed_count == 0)
		return NULL;
	last = &search->placed[--search->placed_count];
	put_back(last->event->end);
	put_back(last->event);
	search->unplaced += last->event->op.ended_ns != LINEAR_UNKNOWN;
	toggle(search, last->event);
	search->value = last->value;
	return last->event->after;
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

static enum linear_verdict run(struct search *search)
{
	struct event *event = search->events->after;

	while (search->unplaced > 0) {
		struct value value;

		if (search->tried_count >= search->most)
			return LINEAR_TOO_HARD;
		if (!make_room(search))
			return LINEAR_NO_MEMORY;
		if (!event->begins) {
			note_end(search, event);
			event = take_back(search);
			if (event == NULL)
				return LINEAR_BAD;
		} else if (apply(&event->op, search->value, &value) && is_new(search, event, value)) {
			place(search, event, value);
			event = search->events->after;
		} else {
			event = event->after;
		}
	}
	return LINEAR_GOOD;
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

static void link_events(struct search *search, struct event **begins)
{
	struct event *list = search->events;

	for (size_t i = 0; i <= search->count; i++) {
		list[i].before = i > 0 ? &list[i - 1] : NULL;
		list[i].after = i < search->count ? &list[i + 1] : NULL;
		if (i > 0 && list[i].begins)
			begins[list[i].number] = &list[i];
	}
	for (size_t i = 1; i <= search->count; i++)
		if (!list[i].begins)
			begins[list[i].number]->end = &list[i];
}

static void fill_events(struct search *search, const struct linear_op *ops, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!says_something(&ops[i]))
			continue;
		search->unplaced += ops[i].ended_ns != LINEAR_UNKNOWN;
		search->events[1 + 2 * n] = (struct event){.op = ops[i], .number = n, .begins = true};
		search->events[2 + 2 * n] = (struct event){.op = ops[i], .number = n};
		n++;
	}
	search->count = 2 * n;
	qsort(search->events + 1, search->count, sizeof(*search->events), by_time);
}

static enum linear_verdict check_key(const struct linear_op *ops, size_t count, size_t most, struct linear_fault *fault)
{
	struct search search = {.most = most, .fault = fault};
	struct event **begins = calloc(count, sizeof(*begins));
	enum linear_verdict verdict = LINEAR_NO_MEMORY;

	search.events = calloc(2 * count + 1, sizeof(*search.events));
	search.placed = calloc(count, sizeof(*search.placed));
	if (begins != NULL && search.events != NULL && search.placed != NULL) {
		fill_events(&search, ops, count);
		link_events(&search, begins);
		verdict = run(&search);
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
