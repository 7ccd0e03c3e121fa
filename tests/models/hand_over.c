/* hand_over.c - from the loop that delivers the calls of a shard to the worker that has it, and lags (docs/decisions/0062,
 * delegation/shard_queue.h), in all interleavings.
 *
 * There is one order of calls. The loop hands over what has room, and refuses the rest: it says so in a word, looks once more for room, and waits to be
 * asked. The worker applies what it was handed, says that it has, and asks if the word is set. A member that comes has another state first: behind
 * a call of the shard that it was in before. While that goes on a state is asked for, once, which is said to have all that was handed over; and one
 * read, which is to see all that had been received when it began.
 *
 * What must hold: the worker applies the calls in order, none of another shard among them; the state is the one of its place; the read sees what it
 * is to see; and nothing stands still before all is applied. Each rule is then replaced by a wrong one: the search must find what breaks.
 */
#include <stdio.h>

#include "explorer.h"

enum rule {
	RIGHT,
	STATE_AT_ONCE,    /* a state is fixed when it is asked for, as the worker has it then */
	PLACE_AS_OFFERED, /* it is said to have what was refused, too */
	READ_AT_ONCE,     /* a read is made when all has been handed over, as the worker has it then */
	READ_UNHANDED,    /* the place of a read is where it began, though calls before it are refused */
	NO_SECOND_LOOK,   /* the loop does not look for room once more */
	ASKS_FIRST,       /* the worker looks whether to ask before it says that there is room */
	RESTORED_BESIDE,  /* another state begins when it is there, and not in its place */
};

enum entry { CALL = 1, OLD_CALL, MARK, READ, STATE }; /* what the queue holds */

#define QUEUED 10

enum loop { HANDS, SAYS, LOOKS_AGAIN, WAITS };
enum worker { APPLIES, TELLS, ASKS };

struct state {
	uint8_t received, handed, done, applied; /* calls: done: as the worker says, applied: as its state has */
	uint8_t loop, worker, refuses, asked;
	uint8_t queued;
	uint8_t queue[QUEUED];
	uint8_t has_mark, mark_place, has_read, read_least, read_put;
	uint8_t wrong;
};

struct world {
	enum rule rule;
	uint8_t calls, room;
	uint8_t comes; /* the member is given a state of one call, behind a call of another shard */
};

enum step_kind {
	RECEIVE,
	HAND,
	SAY,
	LOOK_AGAIN,
	BE_ASKED,
	MARKS,
	BEGIN_READ,
	PUT_READ,
	COME_TO,
	TELL,
	ASK,
	STEP_KINDS
};

static const char *const faults[] = {NULL, "a state is not the one of its place",
				     "a read does not see what it is to see", "a call is applied out of its place"};

static void put(struct state *st, enum entry entry)
{
	st->queue[st->queued++] = (uint8_t)entry;
}

static uint8_t waiting(const struct state *st)
{
	return (uint8_t)(st->handed - st->done);
}

static void begin(const struct world *w, struct state *st)
{
	if (!w->comes)
		return;
	st->received = st->handed = st->done = 1; /* of the calls that the state has */
	if (w->rule == RESTORED_BESIDE)
		st->applied = 1;
	put(st, OLD_CALL);
	if (w->rule != RESTORED_BESIDE)
		put(st, STATE);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------------------- */

static void hand(struct search *x, struct state st, enum step_kind kind)
{
	bool full = waiting(&st) >= x->world->room;

	if (!full) {
		st.handed++;
		put(&st, CALL);
		st.loop = HANDS;
	} else if (kind == LOOK_AGAIN) {
		st.loop = WAITS;
	} else {
		st.loop = SAYS;
	}
	reach_by(x, &st, kind, 0, st.handed);
}

static void step_loop(struct search *x, const struct state *st)
{
	struct state next = *st;

	if (st->loop == HANDS && st->handed < st->received && st->queued < QUEUED - 2)
		hand(x, *st, HAND);
	if (st->loop == SAYS) {
		next.refuses = 1;
		next.loop = x->world->rule == NO_SECOND_LOOK ? WAITS : LOOKS_AGAIN;
		reach_by(x, &next, SAY, 0, 0);
	}
	if (st->loop == LOOKS_AGAIN)
		hand(x, *st, LOOK_AGAIN);
	if (st->loop == WAITS && st->asked) {
		next.asked = 0;
		next.loop = HANDS;
		reach_by(x, &next, BE_ASKED, 0, 0);
	}
}

/* Between two deliveries. */
static void ask_for_state(struct search *x, struct state st)
{
	bool offered = x->world->rule == PLACE_AS_OFFERED;

	st.has_mark = 1;
	st.mark_place = offered ? st.received : st.handed;
	if (x->world->rule == STATE_AT_ONCE)
		st.wrong = st.applied != st.mark_place ? 1 : st.wrong;
	else
		put(&st, MARK);
	reach_by(x, &st, MARKS, 0, st.mark_place);
}

static void step_reads(struct search *x, const struct state *st)
{
	bool early = x->world->rule == READ_UNHANDED;
	struct state next = *st;

	if (!st->has_read) {
		next.has_read = 1;
		next.read_least = st->received;
		reach_by(x, &next, BEGIN_READ, 0, st->received);
		return;
	}
	if (st->read_put || (st->handed < st->read_least && !early))
		return;
	next.read_put = 1;
	if (x->world->rule == READ_AT_ONCE)
		next.wrong = st->applied < st->read_least ? 2 : st->wrong;
	else
		put(&next, READ);
	reach_by(x, &next, PUT_READ, 0, st->read_least);
}

/* ---- the worker -------------------------------------------------------------------------------------------------------------- */

static void come_to(struct search *x, struct state st)
{
	enum entry entry = (enum entry)st.queue[0];

	for (int i = 0; i + 1 < QUEUED; i++)
		st.queue[i] = st.queue[i + 1];
	st.queue[QUEUED - 1] = 0;
	st.queued--;
	switch (entry) {
	case CALL:
		st.applied++;
		st.worker = x->world->rule == ASKS_FIRST ? ASKS : TELLS;
		break;
	case OLD_CALL: /* to what this member had before */
		st.wrong = x->world->rule == RESTORED_BESIDE ? 3 : st.wrong;
		break;
	case STATE:
		st.applied = 1;
		break;
	case MARK:
		st.wrong = st.applied != st.mark_place ? 1 : st.wrong;
		break;
	case READ:
		st.wrong = st.applied < st.read_least ? 2 : st.wrong;
		break;
	}
	reach_by(x, &st, COME_TO, 1, entry);
}

static void step_worker(struct search *x, const struct state *st)
{
	bool asks_first = x->world->rule == ASKS_FIRST;
	struct state next = *st;

	if (st->worker == APPLIES && st->queued > 0)
		come_to(x, *st);
	if (st->worker == TELLS) {
		next.done++;
		next.worker = asks_first ? APPLIES : ASKS;
		reach_by(x, &next, TELL, 1, next.done);
	}
	if (st->worker == ASKS) {
		next.asked = st->asked || st->refuses;
		next.refuses = 0;
		next.worker = asks_first ? TELLS : APPLIES;
		reach_by(x, &next, ASK, 1, next.asked);
	}
}

static void go_on(struct search *x, const struct state *st)
{
	struct state next = *st;

	next.received++;
	if (st->received < x->world->calls)
		reach_by(x, &next, RECEIVE, 0, st->received);
	step_loop(x, st);
	if (!st->has_mark && (st->loop == HANDS || st->loop == WAITS))
		ask_for_state(x, *st);
	if (st->loop == HANDS || st->loop == WAITS)
		step_reads(x, st);
	step_worker(x, st);
}

static const char *judge(struct search *x, const struct state *st)
{
	(void)x;
	return faults[st->wrong];
}

static const char *rest(struct search *x, const struct state *st)
{
	uint8_t all = x->world->calls;

	return st->applied == all && st->done == all && st->queued == 0 ? NULL : "it stands still";
}

static void print_state(const struct world *w, const struct state *st)
{
	(void)w;
	printf("      received %u, handed %u, done %u, applied %u; loop %u, worker %u, refuses %u, asked %u; %u queued\n",
	       st->received, st->handed, st->done, st->applied, st->loop, st->worker, st->refuses, st->asked,
	       st->queued);
}

#define BOTH(what, rule, expected)                                                                                     \
	{what, EVERY, expected, WORLD(rule, 4, 2, 0)},                                                                 \
	{                                                                                                              \
		what ", at a member that comes", EVERY, expected, WORLD(rule, 4, 1, 1)                                 \
	}

static const struct trial trials[] = {
	BOTH("by the rule", RIGHT, NULL),
	BOTH("a state is fixed at once", STATE_AT_ONCE, "a state is not the one of its place"),
	BOTH("a state is said to have what was refused", PLACE_AS_OFFERED, "a state is not the one of its place"),
	BOTH("a read is made at once", READ_AT_ONCE, "a read does not see what it is to see"),
	BOTH("a read has the place where it began", READ_UNHANDED, "a read does not see what it is to see"),
	/* With more room the worker comes to another call, and asks then. */
	{"the loop does not look once more", EVERY, "it stands still", WORLD(NO_SECOND_LOOK, 4, 1, 0)},
	{"the worker asks before it says that there is room", EVERY, "it stands still", WORLD(ASKS_FIRST, 4, 1, 0)},
	{"another state begins out of its place", EVERY, "a call is applied out of its place",
	 WORLD(RESTORED_BESIDE, 4, 1, 1)},
};

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {"receives",
						      "hands over up to",
						      "says that it refuses",
						      "looks again, and has handed over",
						      "is asked",
						      "asks for a state of",
						      "begins a read of",
						      "gives the read of its place",
						      "comes to an entry of kind",
						      "says that it has applied",
						      "asks:"};
	static const struct model model = {
		.what = "hand-over: from the loop that delivers the calls of a shard to a worker that lags",
		.state_bytes = sizeof(struct state),
		.most = UINT32_MAX,
		.begin = begin,
		.go_on = go_on,
		.judge = judge,
		.rest = rest,
		.names = names,
		.print_state = print_state,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
