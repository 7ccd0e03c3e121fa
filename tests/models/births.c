/* births.c - what a seat of a subgroup means from view to view (docs/decisions/0046), in all interleavings: two nodes that enter and
 * leave two names.
 *
 * A subgroup has a seat as long as it has members, and a birth: its first view and its seat. What passes from a view to the next, as
 * which members rest, goes by seat; messages between nodes, which may come in any later view, go by birth. A node rests before it
 * leaves, and what it had committed is delivered first.
 *
 * What must not be is in `wrongs`. Each rule is then left out in turn: the search must find what breaks. The code: membership/wishes.c.
 */
#include <string.h>

#include "explorer.h"

#define NODES 2
#define NAMES 2
#define SEATS 4 /* two names that go on or end, and two that begin */
#define VIEWS 5
#define FLIGHTS 2

/* Rules. */
enum {
	NOT_AT_ONCE = 1, /* a seat is not given away in the view that ends its subgroup */
	BY_BIRTH = 2,    /* a message names a birth, not a seat */
	ENDS = 4,        /* a subgroup in which no member stays is gone: that name is another one */
	RESTS_FIRST = 8, /* a member leaves when it rests, and so has nothing left to send */
};

struct world {
	uint32_t without; /* rules */
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
	NULL,
	"a node rests in a subgroup that it has just entered",
	"a late message meets a successor",
	"a node awaits a state that no member has",
	"what a node had committed is lost as it leaves",
};

enum step_kind { ASK, DELIVER, COMMIT, REST, ARRIVE, VIEW, STEP_KINDS };

static bool holds(const struct search *x, uint32_t rule)
{
	return (x->world->without & rule) == 0;
}

/* ---- within a view ---------------------------------------------------------------------------------------------------- */

static void send_asking(struct search *x, struct state st, unsigned seat)
{
	for (int k = 0; k < FLIGHTS; k++) {
		if (st.flights[k].birth != 0)
			continue;
		st.flights[k] = (struct flight){st.at[seat].birth, (uint8_t)seat};
		reach_by(x, &st, ASK, seat, 0);
		return;
	}
}

static void act(struct search *x, const struct state *st, unsigned node, unsigned seat)
{
	const struct subgroup *it = &st->at[seat];
	uint8_t me = (uint8_t)(1 << node), bit = (uint8_t)(1 << seat);
	struct state next = *st;

	if ((it->members & me) == 0)
		return;
	if ((st->committed[node] & bit) != 0) {
		next.committed[node] &= (uint8_t)~bit;
		reach_by(x, &next, DELIVER, node, seat);
	} else if ((it->resting & me) == 0) {
		next.committed[node] |= bit;
		reach_by(x, &next, COMMIT, node, seat);
		next = *st;
		next.at[seat].resting |= me;
		reach_by(x, &next, REST, node, seat);
	}
	send_asking(x, *st, seat);
}

static void arrive(struct search *x, struct state st, unsigned k)
{
	struct flight flight = st.flights[k];
	const struct subgroup *it = &st.at[flight.seat];

	st.flights[k] = (struct flight){0, 0};
	if (!holds(x, BY_BIRTH) && it->birth != 0 && it->birth != flight.birth)
		st.wrong = MEETS_SUCCESSOR;
	reach_by(x, &st, ARRIVE, flight.seat, 0);
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

static bool may_leave(const struct search *x, const struct subgroup *it, uint8_t leavers)
{
	return !holds(x, RESTS_FIRST) || (leavers & ~it->resting) == 0;
}

/* It goes on, with these members, or ends. False: some may not leave yet. */
static bool carry_on(const struct search *x, struct state *st, unsigned seat, uint8_t wanted)
{
	struct subgroup *it = &st->at[seat];
	uint8_t stay = it->members & wanted, leave = it->members & (uint8_t)~wanted;

	if (!may_leave(x, it, leave))
		return false;
	for (unsigned node = 0; node < NODES; node++) {
		if ((leave >> node & 1) == 0 || (st->committed[node] >> seat & 1) == 0)
			continue;
		st->committed[node] &= (uint8_t) ~(1 << seat);
		st->wrong = LOST;
	}
	if (stay == 0 && wanted != 0 && !holds(x, ENDS))
		st->wrong = NO_STATE;
	if (stay == 0 && (wanted == 0 || holds(x, ENDS)))
		memset(it, 0, sizeof(*it));
	else
		it->members = wanted;
	return true;
}

static void be_born(const struct search *x, const struct state *before, struct state *st, unsigned name, uint8_t wanted)
{
	for (unsigned seat = 0; seat < SEATS; seat++) {
		bool was = before->at[seat].birth != 0;

		if (st->at[seat].birth != 0 || (was && holds(x, NOT_AT_ONCE)))
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

static void next_view(struct search *x, const struct state *before, unsigned wishes)
{
	struct state st = *before;
	bool there[NAMES] = {false};

	st.view++;
	for (unsigned seat = 0; seat < SEATS; seat++) {
		uint8_t name = before->at[seat].name;

		if (before->at[seat].birth == 0)
			continue;
		if (!carry_on(x, &st, seat, wishers(wishes, name)))
			return;
		there[name] = there[name] || st.at[seat].birth != 0;
	}
	for (unsigned name = 0; name < NAMES; name++)
		if (!there[name] && wishers(wishes, name) != 0)
			be_born(x, before, &st, name, wishers(wishes, name));
	carry_resting(before, &st);
	reach_by(x, &st, VIEW, st.view, wishes);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static void go_on(struct search *x, const struct state *st)
{
	for (unsigned node = 0; node < NODES; node++)
		for (unsigned seat = 0; seat < SEATS; seat++)
			act(x, st, node, seat);
	for (unsigned k = 0; k < FLIGHTS; k++)
		if (st->flights[k].birth != 0)
			arrive(x, *st, k);
	for (unsigned wishes = 0; wishes < 1 << NODES * NAMES && st->view + 1 < VIEWS; wishes++)
		next_view(x, st, wishes);
}

static const char *judge(struct search *x, const struct state *st)
{
	(void)x;
	return wrongs[st->wrong];
}

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {"asks at seat",
						      "delivers at seat",
						      "commits at seat",
						      "rests at seat",
						      "is where a message arrives:",
						      "is the next view: wishes"};
	static const struct model model = {
		.what = "births: what a seat of a subgroup means from view to view",
		.state_bytes = sizeof(struct state),
		.most = UINT32_MAX,
		.go_on = go_on,
		.judge = judge,
		.names = names,
	};
	const struct trial trials[] = {
		{"all rules", EVERY, NULL, WORLD(0)},
		{"a seat is used again at once", EVERY, wrongs[RESTS_ON_ENTRY], WORLD(NOT_AT_ONCE)},
		{"messages name a seat", EVERY, wrongs[MEETS_SUCCESSOR], WORLD(BY_BIRTH)},
		{"a name goes on without a member that stays", EVERY, wrongs[NO_STATE], WORLD(ENDS)},
		{"a member leaves without having rested", EVERY, wrongs[LOST], WORLD(RESTS_FIRST)},
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
