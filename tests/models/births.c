/* births.c - what a seat of a subgroup means from view to view (docs/decisions/0046), in all interleavings: two nodes that enter and
 * leave two names.
 *
 * A subgroup has a seat as long as it has members, and a birth: its first view and its seat. What passes from a view to the next, as
 * which members rest, goes by seat; messages between nodes, which may come in any later view, go by birth. A node rests before it
 * leaves, and what it had committed is delivered first.
 *
 * What must not be is in `wrongs`. Each rule is then left out in turn: the search must find what breaks. -v prints the shortest course to
 * it. The code: membership/wishes.c.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

#define NODES 2
#define NAMES 2
#define SEATS 4 /* two names that go on or end, and two that begin */
#define VIEWS 5
#define FLIGHTS 2

/* Rules; a world has all but those that are taken out of it. */
enum {
	NOT_AT_ONCE = 1, /* a seat is not given away in the view that ends its subgroup */
	BY_BIRTH = 2,    /* a message names a birth, not a seat */
	ENDS = 4,        /* a subgroup in which no member stays is gone: that name is another one */
	RESTS_FIRST = 8, /* a member leaves when it rests, and so has nothing left to send */
	ALL_RULES = 15
};

struct subgroup {
	uint8_t birth; /* 0: there is none */
	uint8_t name, members, resting;
};

struct flight { /* a message to any other node */
	uint8_t birth, seat;
};

struct state {
	uint8_t view;
	struct subgroup at[SEATS];
	uint8_t committed[NODES]; /* by seat a bit: a message that is not delivered */
	struct flight flights[FLIGHTS];
	uint8_t wrong; /* enum wrong */
};

enum wrong { NOTHING, RESTS_ON_ENTRY, MEETS_SUCCESSOR, NO_STATE, LOST, WRONGS };

static const char *const wrongs[WRONGS] = {
	"holds",
	"a node rests in a subgroup that it has just entered",
	"a late message meets a successor",
	"a node awaits a state that no member has",
	"what a node had committed is lost as it leaves",
};

struct entry {
	struct state state;
	uint32_t before; /* its number + 1 */
	char step[24];
};

struct search {
	uint32_t rules, at;
	struct book book;
};

static void reach(struct search *s, const struct state *to, const char *step, unsigned a, unsigned b)
{
	struct entry entry;

	memset(&entry, 0, sizeof(entry));
	entry.state = *to;
	entry.before = s->at + 1;
	snprintf(entry.step, sizeof(entry.step), "%s %u %u", step, a, b);
	(void)book_add(&s->book, &entry);
}

/* ---- within a view ---------------------------------------------------------------------------------------------------- */

static void send_asking(struct search *s, struct state st, unsigned seat)
{
	for (int k = 0; k < FLIGHTS; k++) {
		if (st.flights[k].birth != 0)
			continue;
		st.flights[k] = (struct flight){st.at[seat].birth, (uint8_t)seat};
		reach(s, &st, "ask", seat, 0);
		return;
	}
}

static void act(struct search *s, const struct state *st, unsigned node, unsigned seat)
{
	const struct subgroup *it = &st->at[seat];
	uint8_t me = (uint8_t)(1 << node), bit = (uint8_t)(1 << seat);
	struct state next = *st;

	if ((it->members & me) == 0)
		return;
	if ((st->committed[node] & bit) != 0) {
		next.committed[node] &= (uint8_t)~bit;
		reach(s, &next, "deliver", node, seat);
	} else if ((it->resting & me) == 0) {
		next.committed[node] |= bit;
		reach(s, &next, "commit", node, seat);
		next = *st;
		next.at[seat].resting |= me;
		reach(s, &next, "rest", node, seat);
	}
	send_asking(s, *st, seat);
}

static void arrive(struct search *s, struct state st, unsigned k)
{
	struct flight flight = st.flights[k];
	const struct subgroup *it = &st.at[flight.seat];

	st.flights[k] = (struct flight){0, 0};
	if ((s->rules & BY_BIRTH) == 0 && it->birth != 0 && it->birth != flight.birth)
		st.wrong = MEETS_SUCCESSOR;
	reach(s, &st, "arrive", flight.seat, 0);
}

/* ---- the next view ---------------------------------------------------------------------------------------------------- */

/* The nodes that wish that name; four bits: of node n in name k, bit n * NAMES + k. */
static uint8_t wishers(unsigned wishes, unsigned name)
{
	uint8_t out = 0;

	for (unsigned node = 0; node < NODES; node++)
		out |= (uint8_t)((wishes >> (node * NAMES + name) & 1) << node);
	return out;
}

static bool may_leave(const struct search *s, const struct subgroup *it, uint8_t leavers)
{
	return (s->rules & RESTS_FIRST) == 0 || (leavers & ~it->resting) == 0;
}

/* It goes on, with these members, or ends. False: some may not leave yet. */
static bool carry_on(const struct search *s, struct state *st, unsigned seat, uint8_t wanted)
{
	struct subgroup *it = &st->at[seat];
	uint8_t stay = it->members & wanted, leave = it->members & (uint8_t)~wanted;

	if (!may_leave(s, it, leave))
		return false;
	for (unsigned node = 0; node < NODES; node++) {
		if ((leave >> node & 1) == 0 || (st->committed[node] >> seat & 1) == 0)
			continue;
		st->committed[node] &= (uint8_t) ~(1 << seat);
		st->wrong = LOST;
	}
	if (stay == 0 && wanted != 0 && (s->rules & ENDS) == 0)
		st->wrong = NO_STATE;
	if (stay == 0 && (wanted == 0 || (s->rules & ENDS) != 0))
		memset(it, 0, sizeof(*it));
	else
		it->members = wanted;
	return true;
}

static void be_born(const struct search *s, const struct state *before, struct state *st, unsigned name, uint8_t wanted)
{
	for (unsigned seat = 0; seat < SEATS; seat++) {
		bool was = before->at[seat].birth != 0;

		if (st->at[seat].birth != 0 || (was && (s->rules & NOT_AT_ONCE) != 0))
			continue;
		st->at[seat] = (struct subgroup){(uint8_t)(st->view * SEATS + seat + 1), (uint8_t)name, wanted, 0};
		return;
	}
}

/* Those that rested in the view before rest at that seat; one that has just entered must not. */
static void carry_resting(const struct state *before, struct state *st)
{
	for (unsigned seat = 0; seat < SEATS; seat++) {
		struct subgroup *it = &st->at[seat];
		uint8_t stayed = it->birth == before->at[seat].birth ? before->at[seat].members : 0;

		it->resting = before->at[seat].resting & it->members;
		if ((it->resting & ~stayed) != 0)
			st->wrong = RESTS_ON_ENTRY;
	}
}

static void next_view(struct search *s, const struct state *before, unsigned wishes)
{
	struct state st = *before;
	bool there[NAMES] = {false};

	st.view++;
	for (unsigned seat = 0; seat < SEATS; seat++) {
		uint8_t name = before->at[seat].name;

		if (before->at[seat].birth == 0)
			continue;
		if (!carry_on(s, &st, seat, wishers(wishes, name)))
			return;
		there[name] = there[name] || st.at[seat].birth != 0;
	}
	for (unsigned name = 0; name < NAMES; name++)
		if (!there[name] && wishers(wishes, name) != 0)
			be_born(s, before, &st, name, wishers(wishes, name));
	carry_resting(before, &st);
	reach(s, &st, "view", st.view, wishes);
}

/* ---- the search ------------------------------------------------------------------------------------------------------- */

static void step_all(struct search *s, const struct state *st)
{
	for (unsigned node = 0; node < NODES; node++)
		for (unsigned seat = 0; seat < SEATS; seat++)
			act(s, st, node, seat);
	for (unsigned k = 0; k < FLIGHTS; k++)
		if (st->flights[k].birth != 0)
			arrive(s, *st, k);
	for (unsigned wishes = 0; wishes < 1 << NODES * NAMES && st->view + 1 < VIEWS; wishes++)
		next_view(s, st, wishes);
}

static enum wrong explore(struct search *s)
{
	struct state start;

	memset(&start, 0, sizeof(start));
	s->at = UINT32_MAX; /* + 1: none */
	reach(s, &start, "begin", 0, 0);
	for (s->at = 0; s->at < s->book.count; s->at++) {
		const struct entry entry = ((const struct entry *)(const void *)s->book.entries)[s->at];

		if (entry.state.wrong != NOTHING)
			return (enum wrong)entry.state.wrong;
		step_all(s, &entry.state);
	}
	return NOTHING;
}

static void print_course(const struct search *s, uint32_t at)
{
	const struct entry *entry = &((const struct entry *)(const void *)s->book.entries)[at];

	if (entry->before != 0)
		print_course(s, entry->before - 1);
	printf("  %s\n", entry->step);
}

static const struct {
	const char *what;
	uint32_t without;
	enum wrong expected;
} worlds[] = {
	{"all rules", 0, NOTHING},
	{"a seat is used again at once", NOT_AT_ONCE, RESTS_ON_ENTRY},
	{"messages name a seat", BY_BIRTH, MEETS_SUCCESSOR},
	{"a name goes on without a member that stays", ENDS, NO_STATE},
	{"a member leaves without having rested", RESTS_FIRST, LOST},
};

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
		struct search s = {.rules = ALL_RULES & ~worlds[i].without,
				   .book = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)}};
		enum wrong found = explore(&s);

		printf("%-50s %8u states  %s%s\n", worlds[i].what, (unsigned)s.book.count, wrongs[found],
		       found == worlds[i].expected ? "" : "  <-- SURPRISE");
		if (found != NOTHING && verbose)
			print_course(&s, s.at);
		surprises += found != worlds[i].expected;
		book_close(&s.book);
	}
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
