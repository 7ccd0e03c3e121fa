/* queue.c - see queue.h. */
#include "tests/linear/queue.h"

#include <stdlib.h>

struct stay { /* of a value in the queue */
	uint64_t value;
	const struct queue_op *push, *pop; /* NULL: none */
};

static uint64_t left_ns(const struct stay *stay)
{
	return stay->pop != NULL ? stay->pop->began_ns : UINT64_MAX;
}

static struct stay *find_stay(struct stay *stays, size_t *count, uint64_t value)
{
	for (size_t i = 0; i < *count; i++)
		if (stays[i].value == value)
			return &stays[i];
	stays[*count] = (struct stay){.value = value};
	return &stays[(*count)++];
}

/* Each value once in and at most once out, and not out before in. */
static const char *pair_up(const struct queue_op *ops, size_t count, struct stay *stays, size_t *stay_count, size_t *at)
{
	for (*at = 0; *at < count; ++*at) {
		const struct queue_op *op = &ops[*at];
		struct stay *stay;

		if (!op->pushes && !op->found)
			continue;
		stay = find_stay(stays, stay_count, op->value);
		if ((op->pushes ? stay->push : stay->pop) != NULL)
			return op->pushes ? "two pushes of one value" : "a value is popped twice";
		*(op->pushes ? &stay->push : &stay->pop) = op;
	}
	for (size_t i = 0; i < *stay_count; i++) {
		if (stays[i].pop != NULL)
			*at = (size_t)(stays[i].pop - ops);
		if (stays[i].push == NULL)
			return "a value is popped that was never pushed";
		if (stays[i].pop != NULL && stays[i].pop->ended_ns < stays[i].push->began_ns)
			return "a value is popped before it was pushed";
	}
	return NULL;
}

/* One that was pushed first, and is popped last or never. */
static const char *find_overtaking(const struct queue_op *ops, const struct stay *stays, size_t count, size_t *at)
{
	for (size_t a = 0; a < count; a++)
		for (size_t b = 0; b < count; b++) {
			if (stays[b].pop == NULL || stays[a].push->ended_ns >= stays[b].push->began_ns ||
			    stays[b].pop->ended_ns >= left_ns(&stays[a]))
				continue;
			*at = (size_t)(stays[b].pop - ops);
			return "a value is popped before one that was pushed earlier";
		}
	return NULL;
}

/* A pop that found nothing, though at each moment some value was in the queue for sure. */
static bool is_covered(const struct queue_op *op, const struct stay *stays, size_t count)
{
	uint64_t reach = op->began_ns, before;

	do {
		before = reach;
		for (size_t i = 0; i < count; i++)
			if (stays[i].push->ended_ns < reach && left_ns(&stays[i]) > reach)
				reach = left_ns(&stays[i]);
	} while (reach != before);
	return reach > op->ended_ns;
}

const char *queue_judge(const struct queue_op *ops, size_t count, size_t *at)
{
	struct stay *stays = calloc(count + 1, sizeof(*stays));
	size_t stay_count = 0, where = 0;
	const char *wrong;

	if (stays == NULL)
		abort();
	wrong = pair_up(ops, count, stays, &stay_count, &where);
	if (wrong == NULL)
		wrong = find_overtaking(ops, stays, stay_count, &where);
	for (size_t i = 0; wrong == NULL && i < count; i++)
		if (!ops[i].pushes && !ops[i].found && is_covered(&ops[i], stays, stay_count)) {
			wrong = "a pop finds nothing in a queue that is not empty";
			where = i;
		}
	free(stays);
	if (at != NULL)
		*at = where;
	return wrong;
}
