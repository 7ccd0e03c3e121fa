/* refuse.c - delivery that may be refused, a change of view and a newcomer (docs/decisions/0044), in all interleavings.
 *
 * There is one order of messages, and all members receive each. Member 0 never refuses; member 1 takes messages when it likes. In the
 * first view the cut may come at any time, and what lies below it counts as delivered there. The next view goes on with the rest of the
 * order: what a member has still to offer of the first is copied, its *backlog*, and stands before what the next view delivers. In that
 * a newcomer asks member 1 for its state, when the view begins or later, and keeps back what the view delivers. A sender uses a slot again
 * when the delivered_num of all members has passed it, a window behind.
 *
 * What must hold: the program of member 1 gets all messages in this order, once; no slot is free that is still to be read; the state, what
 * comes with it and what the newcomer keeps make the order, without a gap and without an overlap; and nothing stands still before all
 * have all. Each rule is then replaced by a wrong one: the search must find what breaks.
 */
#include <stdio.h>

#include "explorer.h"

enum rule {
	RIGHT,
	ACKED_WHEN_OFFERED,    /* delivered_num counts what was offered */
	CUT_NOT_KEPT,          /* what lies below the cut and was not taken is dropped */
	NEW_BEFORE_OLD,        /* the next view delivers in place while there is a backlog */
	POSITION_AS_DELIVERED, /* of a state: what the view has delivered; without what is still to be offered */
	BACKLOG_NOT_SENT,      /* a state comes without its giver's backlog */
};

struct state {
	uint8_t sent, view, cut; /* a cut of 0: none yet */
	uint8_t taken0, taken1;  /* by the two programs */
	uint8_t delivered1;      /* delivered_num of member 1 */
	uint8_t low, high;       /* its backlog */
	uint8_t newcomer; /* it has a state, of so many messages, and those with it; from `start` on it keeps back */
	uint8_t has, with_low, with_high, start, delivered2;
	uint8_t disordered;
};

struct world {
	enum rule rule;
	uint8_t messages, window;
};

enum step_kind { SEND, TAKE, MISTAKE, OFFER, CHANGE_VIEW, GIVE, DELIVER_2, STEP_KINDS };

static uint8_t least_delivered(const struct state *st)
{
	uint8_t least = st->taken0 < st->delivered1 ? st->taken0 : st->delivered1;

	return st->newcomer && st->delivered2 < least ? st->delivered2 : least;
}

/* Member 1 takes the oldest that is left: of its backlog, or in place. */
static void take(struct search *x, const struct state *st)
{
	bool early = x->world->rule == NEW_BEFORE_OLD, has_backlog = st->low < st->high;
	struct state next = *st;

	if (has_backlog) {
		next.taken1++;
		next.low++;
		reach_by(x, &next, TAKE, 1, st->taken1);
	}
	next = *st;
	if (st->delivered1 >= st->sent || (has_backlog && !early))
		return;
	if (has_backlog) {
		next.disordered = 1;
		reach_by(x, &next, MISTAKE, 1, st->delivered1);
		return;
	}
	next.delivered1++;
	next.taken1++;
	reach_by(x, &next, TAKE, 1, st->delivered1);
	next.taken1--;
	if (x->world->rule == ACKED_WHEN_OFFERED)
		reach_by(x, &next, OFFER, 1, st->delivered1);
}

/* The cut is what all have received: all that was sent. */
static void change_view(struct search *x, struct state st)
{
	st.view = 1;
	st.cut = st.sent;
	st.low = x->world->rule == CUT_NOT_KEPT ? st.sent : st.delivered1;
	st.high = st.delivered1 = st.sent;
	reach_by(x, &st, CHANGE_VIEW, 0, st.cut);
}

static void give(struct search *x, const struct state *st)
{
	bool is_position_wrong = x->world->rule == POSITION_AS_DELIVERED;
	bool sends = x->world->rule != BACKLOG_NOT_SENT && !is_position_wrong;
	bool is_behind = st->low == st->high && st->taken1 != st->delivered1 && !is_position_wrong;
	uint8_t position = is_behind ? st->taken1 : st->delivered1;
	struct state next = *st;

	next.newcomer = 1;
	next.has = st->taken1;
	next.with_low = sends ? st->low : st->high;
	next.with_high = st->high;
	next.start = position > st->cut ? position : st->cut;
	next.delivered2 = st->cut;
	reach_by(x, &next, GIVE, 1, next.has);
}

static void go_on(struct search *x, const struct state *st)
{
	struct state next = *st;

	next.sent++;
	if (st->sent < x->world->messages && st->sent - least_delivered(st) < x->world->window)
		reach_by(x, &next, SEND, 0, st->sent);
	next = *st;
	next.taken0++;
	if (st->taken0 < st->sent)
		reach_by(x, &next, TAKE, 0, st->taken0);
	take(x, st);
	if (st->view == 0 && st->sent > 0)
		change_view(x, *st);
	if (st->view == 1 && !st->newcomer)
		give(x, st);
	next = *st;
	next.delivered2++;
	if (st->newcomer && st->delivered2 < st->sent)
		reach_by(x, &next, DELIVER_2, 2, st->delivered2);
}

#define LOST "a message is lost, or its slot is written over"
#define UNEQUAL "the newcomer lacks a message, or has it twice"

static const char *judge(struct search *x, const struct state *st)
{
	uint8_t state = st->has;

	(void)x;
	if (st->disordered)
		return "the order is broken";
	if (st->high > st->low && st->taken1 != st->low)
		return "there is a hole";
	if (st->high == st->low && st->taken1 < st->delivered1)
		return LOST;
	if (!st->newcomer)
		return NULL;
	if (st->with_low < st->with_high)
		state = st->with_low == state ? st->with_high : UINT8_MAX;
	return state != st->start ? UNEQUAL : NULL;
}

/* Nothing follows. */
static const char *rest(struct search *x, const struct state *st)
{
	uint8_t all = x->world->messages;

	return st->sent == all && st->taken0 == all && st->taken1 == all ? NULL : "it stands still";
}

static void print_state(const struct world *w, const struct state *st)
{
	(void)w;
	printf("      sent %u, view %u, cut %u, taken %u and %u, delivered %u, backlog %u to %u\n", st->sent, st->view,
	       st->cut, st->taken0, st->taken1, st->delivered1, st->low, st->high);
}

/* Few messages, with so many states; and many. */
#define BOTH(what, rule, expected, states)                                                                             \
	{what, EVERY, expected, WORLD(rule, 4, 2), .looked = (states)},                                                \
	{                                                                                                              \
		what ", more messages", LARGE, expected, WORLD(rule, 16, 8)                                            \
	}

static const struct trial trials[] = {
	BOTH("by the rule", RIGHT, NULL, 699),
	BOTH("what is offered counts as delivered", ACKED_WHEN_OFFERED, LOST, 15),
	BOTH("what lies below the cut is not kept", CUT_NOT_KEPT, LOST, 12),
	BOTH("the next view delivers in place before the backlog is empty", NEW_BEFORE_OLD, "the order is broken", 47),
	BOTH("the position of a state is what was delivered", POSITION_AS_DELIVERED, UNEQUAL, 26),
	BOTH("a state comes without the backlog", BACKLOG_NOT_SENT, UNEQUAL, 26),
};

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {"sends",
						      "takes",
						      "takes what is not next:",
						      "is offered",
						      "begins the next view behind",
						      "gives its state of",
						      "delivers"};
	static const struct model model = {
		.what = "refuse: delivery that may be refused, a change of view and a newcomer",
		.state_bytes = sizeof(struct state),
		.most = UINT32_MAX,
		.go_on = go_on,
		.judge = judge,
		.rest = rest,
		.names = names,
		.print_state = print_state,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
