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
 * have all. Each rule is then replaced by a wrong one: the search must find what breaks. -v prints where.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

#define MESSAGES 4
#define WINDOW 2
#define WINDOW_MAX 16 /* of the soak */
#define NEXT_MAX 8

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

struct search {
	enum rule rule;
	uint8_t messages, window;
	struct book book;
	struct state next[NEXT_MAX];
	int count;
};

static struct state *reach(struct search *s, const struct state *from)
{
	s->next[s->count] = *from;
	return &s->next[s->count++];
}

static uint8_t least_delivered(const struct state *st)
{
	uint8_t least = st->taken0 < st->delivered1 ? st->taken0 : st->delivered1;

	return st->newcomer && st->delivered2 < least ? st->delivered2 : least;
}

/* Member 1 takes the oldest that is left: of its backlog, or in place. False: the search ends behind this. */
static bool take(struct search *s, const struct state *st)
{
	bool early = s->rule == NEW_BEFORE_OLD;

	if (st->low < st->high) {
		struct state *next = reach(s, st);

		next->taken1++;
		next->low++;
	} else if (early && st->view > 0 && st->taken1 < st->delivered1) {
		return false;
	}
	if ((st->low == st->high || early) && st->delivered1 < st->sent) {
		struct state *next = reach(s, st);

		if (st->low == st->high) {
			next->taken1++;
			next->delivered1++;
		} else {
			next->disordered = 1;
		}
	}
	if (s->rule == ACKED_WHEN_OFFERED && st->delivered1 < st->sent && st->low == st->high)
		reach(s, st)->delivered1++;
	return true;
}

/* The cut is what all have received: all that was sent. */
static void change_view(struct search *s, const struct state *st)
{
	struct state *next = reach(s, st);

	next->view = 1;
	next->cut = st->sent;
	next->low = s->rule == CUT_NOT_KEPT ? st->sent : st->delivered1;
	next->high = next->delivered1 = st->sent;
}

static void give(struct search *s, const struct state *st)
{
	struct state *next = reach(s, st);
	bool sends = s->rule != BACKLOG_NOT_SENT && s->rule != POSITION_AS_DELIVERED;
	uint8_t position = st->low < st->high || st->taken1 == st->delivered1 ? st->delivered1 : st->taken1;

	if (s->rule == POSITION_AS_DELIVERED)
		position = st->delivered1;
	next->newcomer = 1;
	next->has = st->taken1;
	next->with_low = sends ? st->low : st->high;
	next->with_high = st->high;
	next->start = position > st->cut ? position : st->cut;
	next->delivered2 = st->cut;
}

static void go_on(struct search *s, const struct state *st)
{
	s->count = 0;
	if (st->sent < s->messages && st->sent - least_delivered(st) < s->window)
		reach(s, st)->sent++;
	if (st->taken0 < st->sent)
		reach(s, st)->taken0++;
	if (!take(s, st))
		return;
	if (st->view == 0 && st->sent > 0)
		change_view(s, st);
	if (st->view == 1 && !st->newcomer)
		give(s, st);
	if (st->newcomer && st->delivered2 < st->sent)
		reach(s, st)->delivered2++;
}

static const char *what_is_wrong(const struct state *st)
{
	uint8_t state = st->has;

	if (st->disordered)
		return "the order is broken";
	if (st->high > st->low && st->taken1 != st->low)
		return "there is a hole";
	if (st->high == st->low && st->taken1 < st->delivered1)
		return "a message is lost, or its slot is written over";
	if (!st->newcomer)
		return NULL;
	if (st->with_low < st->with_high)
		state = st->with_low == state ? st->with_high : UINT8_MAX;
	return state != st->start ? "the newcomer lacks a message, or has it twice" : NULL;
}

/* NULL: all is right. The state is the last that was looked at. */
static const char *explore(struct search *s, struct state *last)
{
	memset(last, 0, sizeof(*last));
	(void)book_add(&s->book, last);
	for (uint32_t i = 0; i < s->book.count; i++) {
		const char *wrong;

		memcpy(last, s->book.entries + i * sizeof(*last), sizeof(*last));
		wrong = what_is_wrong(last);
		if (wrong != NULL)
			return wrong;
		go_on(s, last);
		if (s->count == 0 &&
		    !(last->sent == s->messages && last->taken0 == s->messages && last->taken1 == s->messages))
			return "it stands still";
		for (int k = 0; k < s->count; k++)
			(void)book_add(&s->book, &s->next[k]);
	}
	return NULL;
}

static const struct trial {
	enum rule rule;
	const char *what;
	uint32_t states; /* of the usual size */
} trials[] = {
	{RIGHT, "by the rule", 699},
	{ACKED_WHEN_OFFERED, "what is offered counts as delivered", 15},
	{CUT_NOT_KEPT, "what lies below the cut is not kept", 12},
	{NEW_BEFORE_OLD, "the next view delivers in place before the backlog is empty", 47},
	{POSITION_AS_DELIVERED, "the position of a state is what was delivered", 26},
	{BACKLOG_NOT_SENT, "a state comes without the backlog", 26},
};

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0, large = argc > 1 && strcmp(argv[1], "soak") == 0;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		const struct trial *t = &trials[i];
		struct search s = {
			.rule = t->rule,
			.messages = large ? WINDOW_MAX : MESSAGES,
			.window = large ? WINDOW_MAX / 2 : WINDOW,
			.book = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct state)},
		};
		struct state last;
		const char *wrong = explore(&s, &last);
		bool odd = (wrong == NULL) != (t->rule == RIGHT) || (!large && s.book.count != t->states);

		printf("%-60s %8u states: %s%s\n", t->what, (unsigned)s.book.count,
		       wrong != NULL ? wrong : "each has all, once, in order", odd ? "  <-- SURPRISE" : "");
		if (wrong != NULL && verbose)
			printf("\tsent %u, view %u, cut %u, taken %u and %u, delivered %u, backlog %u to %u\n",
			       last.sent, last.view, last.cut, last.taken0, last.taken1, last.delivered1, last.low,
			       last.high);
		surprises += odd;
		book_close(&s.book);
	}
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
