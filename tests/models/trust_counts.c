/* trust_counts.c - when a property is dropped: handles of it, trusts, are counted by ids that are toggled; in all interleavings.
 *
 * Each handle has an id. The property has a set of ids: the one that it was entrusted with, at first. A thread that makes a handle or gives
 * one back does not wait: it sends a *toggle* of the id, which puts it into the set, or takes it out, whichever comes first. What a thread
 * sends to a place arrives in its order; what two threads send, in any. When the set is empty the property is dropped.
 *
 * The rules. Between threads:
 *  K1 A clone, and a handle that goes to another thread, is a fresh id, which the thread that makes it toggles: before it toggles the one
 *     that it was made from. (The thesis's rule, that a handle goes as it is, drops the property while a handle is there.)
 *  K2 All toggles of a thread for one property arrive in the order in which they were sent.
 *  K3 A toggle is no plain adding or removing: what is to be removed may not have been added yet.
 * A property that moves leaves a name behind, which handles go on using. The old place stays between them and the property:
 *  M1 It sends on the calls that come by its name, in order, behind the property.
 *  M2 It counts the handles that go by its name, as before. To the new place it is one holder more, with one handle, which it gives back
 *     when its own last has gone. No handle changes its way.
 *  M3 Only the handle that the property was moved with is exchanged for a new one, at the new place: that one is counted there before the
 *     property can be used, and the thread has it, and gives its old one back, when the property is there.
 *  M4 A property that comes back to a place gets a name of its own there; the old one goes on sending on.
 * Handles of a member that is dead go with the view. Members are processes; a message of a dead one may have got through, or any that it
 * sent before, in each direction for itself:
 *  D1 An id says which member made it, and which is to hold it. With the view in which either is missing it goes from the set.
 *  D2 A handle that comes from another member gets a fresh id on arrival as well, by K1: that one is the receiver's alone.
 *  D3 The place takes ids out when it has got what the other members sent in the old view: each of their threads says where that ends.
 *  D4 A thread that has said so takes no handle any more from a member that is missing.
 *
 * What must hold: a property is not dropped while there is a handle, held or on its way to a living thread, or a toggle on its way; and
 * when there are neither it has been dropped. Each rule is then left out: the search must find what breaks. The
 * trustee itself does not die here: its properties would be gone with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

#define THREADS 3
#define IDS 6
#define QUEUE 13
#define NAMES 3 /* a property that has moved twice */

enum rule {
	FRESH = 1 << 0,             /* K1 */
	NEW_FIRST = 1 << 1,         /* K1 */
	BY_MAKER = 1 << 2,          /* K1 */
	IN_ORDER = 1 << 3,          /* K2 */
	TOGGLED = 1 << 4,           /* K3 */
	SENT_ON = 1 << 5,           /* M1 */
	BEHIND = 1 << 6,            /* M1 */
	OLD_PLACE_HOLDS = 1 << 7,   /* M2 */
	OLD_PLACE_LETS_GO = 1 << 8, /* M2 */
	OWN_WAY = 1 << 9,           /* M2 */
	COUNTED_BEFORE = 1 << 10,   /* M3 */
	TOLD_LATE = 1 << 11,        /* M3 */
	NAMED_ANEW = 1 << 12,       /* M4 */
	WITH_THE_MAKER = 1 << 13,   /* D1 */
	WITH_THE_HOLDER = 1 << 14,  /* D1 */
	ANEW_ON_ARRIVAL = 1 << 15,  /* D2 */
	FLUSHED = 1 << 16,          /* D3 */
	DEAF = 1 << 17,             /* D4 */
};

struct world {
	uint32_t without;          /* rules */
	uint8_t ids, sends, moves; /* at most; with moves there is one call, too */
	bool dies;                 /* a member other than the trustee's may */
};

#define EARLY "dropped while there is a handle"
#define IN_FLIGHT "dropped while something is on its way"
#define LEAK "never dropped"
#define NOWHERE_TO_GO "comes where there is no such property"
#define REFUSED "a call of a handle finds no property"

/* A handle: nowhere, held by thread t, on its way to it, or a place's own. */
enum { NOWHERE, HELD, COMING = HELD + THREADS, PLACES = COMING + THREADS };

struct handle {
	uint8_t where, name;
	uint8_t maker, holder; /* threads; 1: thread 0 */
	uint8_t moving;        /* the property is being moved with it: the thread waits */
};

/* In a queue: a toggle of an id, by a thread or a place; a call; a wish that the property moves, by the id of the handle; the property;
 * the end of the old view. 0: nothing. */
enum { CALL = 100, MOVE = 120, PROPERTY = 254, VIEW = 255 };

struct state {
	uint8_t sets[NAMES], dropped[NAMES]; /* by name: the ids of the handles that go by it; the last has gone */
	uint8_t name;                        /* of the property, or that it will have when it has come */
	uint8_t moved;                       /* it is on its way there */
	uint8_t own[NAMES];                  /* of the place of that name: its handle for the next, + 1 */
	uint8_t made, sends, calls;
	uint8_t dead;          /* a set of threads */
	uint8_t seen, arrived; /* sets of threads: has gone to the next view; the place has heard that */
	uint8_t settled;       /* and gone there itself */
	struct handle handles[IDS];
	uint8_t lanes[THREADS][NAMES][QUEUE];
	uint8_t hops[NAMES - 1][QUEUE];
};

enum step_kind {
	CLONES,
	DROPS,
	SENDS,
	GETS,
	CALLS,
	ASKS,
	RENAMES,
	ARRIVES,
	GOES_ON,
	DIES,
	SEES_VIEW,
	SETTLES,
	STEP_KINDS
};

static bool has(const struct search *x, enum rule rule)
{
	return (x->world->without & rule) == 0;
}

/* ---- queues ----------------------------------------------------------------------------------------------------------- */

static uint8_t toggle_of(unsigned id, unsigned thread)
{
	return (uint8_t)(1 + id * THREADS + thread);
}

static unsigned id_of(uint8_t toggle)
{
	return (toggle - 1u) / THREADS;
}

static bool is_makers(const struct state *st, uint8_t toggle)
{
	return st->handles[id_of(toggle)].maker == (toggle - 1u) % THREADS + 1;
}

static void append(uint8_t *queue, uint8_t what)
{
	for (int i = 0; i < QUEUE; i++) {
		if (queue[i] != 0)
			continue;
		queue[i] = what;
		return;
	}
	fputs("a queue is too short\n", stderr);
	abort();
}

static uint8_t take(uint8_t *queue, int at)
{
	uint8_t what = queue[at];

	memmove(queue + at, queue + at + 1, (size_t)(QUEUE - 1 - at));
	queue[QUEUE - 1] = 0;
	return what;
}

static bool is_dead(const struct state *st, unsigned t)
{
	return (st->dead >> t & 1) != 0;
}

/* No toggle is on its way but those of the dead, which need not arrive. */
static bool is_quiet(const struct state *st)
{
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned name = 0; name < NAMES && !is_dead(st, t); name++)
			if (st->lanes[t][name][0] != 0 && st->lanes[t][name][0] != VIEW)
				return false;
	for (unsigned hop = 0; hop < NAMES - 1; hop++)
		if (st->hops[hop][0] != 0)
			return false;
	return true;
}

/* ---- what threads do -------------------------------------------------------------------------------------------------- */

static void send_toggle(struct state *st, unsigned t, unsigned name, unsigned id)
{
	append(st->lanes[t][name], toggle_of(id, t));
}

static unsigned make_handle(struct state *st, unsigned where, unsigned maker, unsigned holder, unsigned name)
{
	unsigned id = st->made++;

	if (id >= IDS)
		abort(); /* a world that is too large */
	st->handles[id] =
		(struct handle){(uint8_t)where, (uint8_t)name, (uint8_t)(maker + 1), (uint8_t)(holder + 1), 0};
	return id;
}

static void forget_handle(struct state *st, unsigned id)
{
	st->handles[id].where = NOWHERE;
	st->handles[id].name = st->handles[id].moving = 0;
}

static void clone_handle(struct search *x, struct state st, unsigned t, unsigned id)
{
	unsigned name = st.handles[id].name, other;

	if (st.made >= x->world->ids)
		return;
	other = make_handle(&st, HELD + t, t, t, name);
	send_toggle(&st, t, name, other);
	reach_by(x, &st, CLONES, id, other);
}

static void drop_handle(struct search *x, struct state st, unsigned t, unsigned id)
{
	send_toggle(&st, t, st.handles[id].name, id);
	forget_handle(&st, id);
	reach_by(x, &st, DROPS, t, id);
}

static void send_handle(struct search *x, struct state st, unsigned t, unsigned id, unsigned to)
{
	unsigned name = st.handles[id].name, other;

	if (st.sends >= x->world->sends || ((st.seen >> t & 1) != 0 && is_dead(&st, to)))
		return;
	st.sends++;
	if (!has(x, FRESH)) {
		st.handles[id].where = (uint8_t)(COMING + to);
		reach_by(x, &st, SENDS, id, to);
		return;
	}
	if (st.made >= x->world->ids)
		return;
	other = make_handle(&st, COMING + to, t, to, name);
	if (has(x, NEW_FIRST) && has(x, BY_MAKER))
		send_toggle(&st, t, name, other);
	send_toggle(&st, t, name, id);
	if (!has(x, NEW_FIRST))
		send_toggle(&st, t, name, other);
	forget_handle(&st, id);
	reach_by(x, &st, SENDS, other, to);
}

/* What the property was moved with is given back, for what came in its place. */
static void exchange(const struct search *x, struct state *st, unsigned t, unsigned old, unsigned id)
{
	if (!has(x, COUNTED_BEFORE))
		send_toggle(st, t, st->handles[id].name, id);
	send_toggle(st, t, st->handles[old].name, old);
	forget_handle(st, old);
}

/* A handle arrives. */
static void get_handle(struct search *x, struct state st, unsigned t, unsigned id)
{
	unsigned from = st.handles[id].maker - 1u, name = st.handles[id].name, other;

	if (has(x, DEAF) && (st.seen >> t & 1) != 0 && is_dead(&st, from))
		return; /* it never does */
	if (has(x, TOLD_LATE) && name == st.name && st.moved)
		return;
	st.handles[id].where = (uint8_t)(HELD + t);
	for (unsigned old = 0; name > 0 && old < IDS; old++)
		if (st.handles[old].moving && st.handles[old].where == HELD + t)
			exchange(x, &st, t, old, id);
	if (!has(x, BY_MAKER))
		send_toggle(&st, t, name, id);
	if (x->world->dies && has(x, ANEW_ON_ARRIVAL)) {
		if (st.made >= x->world->ids)
			return;
		other = make_handle(&st, HELD + t, t, t, name);
		send_toggle(&st, t, name, other);
		send_toggle(&st, t, name, id);
		forget_handle(&st, id);
	}
	reach_by(x, &st, GETS, t, id);
}

static void call(struct search *x, struct state st, unsigned t, unsigned id)
{
	if (x->world->moves == 0 || st.calls > 0)
		return;
	st.calls++;
	append(st.lanes[t][st.handles[id].name], CALL);
	reach_by(x, &st, CALLS, t, id);
}

/* Two handles more are made for a move. */
static void ask_to_move(struct search *x, struct state st, unsigned t, unsigned id)
{
	if (st.name >= x->world->moves || st.made + 2 > x->world->ids)
		return;
	for (unsigned other = 0; other < st.made; other++)
		if (st.handles[other].moving && st.handles[other].where == HELD + t)
			return;
	st.handles[id].moving = 1;
	append(st.lanes[t][st.handles[id].name], (uint8_t)(MOVE + id));
	reach_by(x, &st, ASKS, t, id);
}

/* Against M2. */
static void rename_handle(struct search *x, struct state st, unsigned t, unsigned id)
{
	if (has(x, OWN_WAY) || st.moved || st.handles[id].name == st.name)
		return;
	st.handles[id].name++;
	reach_by(x, &st, RENAMES, t, id);
}

static void step_thread(struct search *x, const struct state *st, unsigned t)
{
	for (unsigned id = 0; id < st->made; id++) {
		if (st->handles[id].where == COMING + t)
			get_handle(x, *st, t, id);
		if (st->handles[id].where != HELD + t || st->handles[id].moving)
			continue;
		clone_handle(x, *st, t, id);
		drop_handle(x, *st, t, id);
		call(x, *st, t, id);
		ask_to_move(x, *st, t, id);
		rename_handle(x, *st, t, id);
		for (unsigned to = 0; to < THREADS; to++)
			if (to != t)
				send_handle(x, *st, t, id, to);
	}
}

/* ---- the property ----------------------------------------------------------------------------------------------------- */

/* A handle that a living thread has, or may get. */
static bool has_handles(const struct search *x, const struct state *st)
{
	for (unsigned id = 0; id < IDS; id++) {
		unsigned where = st->handles[id].where, t = where >= COMING ? where - COMING : where - HELD;
		bool cut = where >= COMING && has(x, DEAF) && is_dead(st, st->handles[id].maker - 1u);

		if (where != NOWHERE && where < PLACES && !is_dead(st, t) && !(cut && (st->seen >> t & 1) != 0))
			return true;
	}
	return false;
}

/* Where the set of that name is. */
static unsigned place_of(const struct search *x, unsigned name)
{
	return has(x, NAMED_ANEW) ? name : name & 1;
}

/* Has the last handle by that name gone? */
static void drop_if_empty(struct search *x, struct state *st, unsigned name)
{
	unsigned at = place_of(x, name), own = st->own[at];

	if (st->sets[at] != 0 || st->dropped[at])
		return;
	if (at == place_of(x, st->name)) {
		st->dropped[at] = 1;
		go_wrong(x, has_handles(x, st) ? EARLY : is_quiet(st) ? NULL : IN_FLIGHT);
	} else if (own != 0 && has(x, OLD_PLACE_LETS_GO)) {
		st->dropped[at] = 1;
		forget_handle(st, own - 1);
		append(st->hops[name], toggle_of(own - 1, 0));
	}
}

static void apply(struct search *x, struct state *st, unsigned name, uint8_t toggle)
{
	uint8_t bit = (uint8_t)(1 << id_of(toggle)), *set = &st->sets[place_of(x, name)];

	if (has(x, TOGGLED))
		*set ^= bit;
	else if (is_makers(st, toggle) && (*set & bit) == 0)
		*set |= bit;
	else
		*set &= (uint8_t)~bit;
	drop_if_empty(x, st, name);
}

/* The property goes to a place where two handles are counted already: the old place's, and one for the thread that has asked. */
static void move_property(struct search *x, struct state *st, unsigned id)
{
	unsigned t = st->handles[id].where - HELD, to = st->name + 1, own, other, at = place_of(x, to);

	if (st->name >= x->world->moves || st->made + 2 > x->world->ids) {
		st->handles[id].moving = 0; /* another was faster */
		return;
	}
	own = make_handle(st, PLACES, t, t, to);
	other = make_handle(st, COMING + t, t, t, to);
	if (has(x, OLD_PLACE_HOLDS)) {
		st->own[st->name] = (uint8_t)(own + 1);
		st->sets[at] |= (uint8_t)(1 << own);
	}
	if (has(x, COUNTED_BEFORE))
		st->sets[at] |= (uint8_t)(1 << other);
	append(st->hops[st->name], PROPERTY);
	st->dropped[at] = 0;
	st->name = (uint8_t)to;
	st->moved = 1;
}

/* What came by that name. */
static void come(struct search *x, struct state *st, unsigned name, uint8_t what)
{
	bool is_here = place_of(x, name) == place_of(x, st->name) && !st->moved;

	if (name > st->name || (name == st->name && st->moved)) {
		go_wrong(x, NOWHERE_TO_GO);
	} else if (what < CALL) {
		apply(x, st, name, what);
	} else if (!is_here && has(x, SENT_ON)) {
		append(st->hops[name], what);
	} else if (!is_here || st->dropped[place_of(x, name)]) {
		go_wrong(x, REFUSED);
	} else if (what != CALL) {
		move_property(x, st, what - MOVE);
	}
}

static void step_lane(struct search *x, const struct state *st, unsigned t, unsigned name)
{
	for (int i = 0; i < QUEUE && st->lanes[t][name][i] != 0; i++) {
		struct state next = *st;
		uint8_t what;

		if (i > 0 && has(x, IN_ORDER))
			return;
		what = take(next.lanes[t][name], i);
		if (what == VIEW)
			next.arrived |= (uint8_t)(1 << t);
		else
			come(x, &next, name, what);
		reach_by(x, &next, ARRIVES, t, what);
	}
}

static void step_hop(struct search *x, const struct state *st, unsigned hop)
{
	for (int i = 0; i < QUEUE && st->hops[hop][i] != 0; i++) {
		struct state next = *st;
		uint8_t what;

		if (i > 0 && has(x, BEHIND))
			return;
		what = take(next.hops[hop], i);
		if (what == PROPERTY)
			next.moved = 0;
		else
			come(x, &next, hop + 1, what);
		reach_by(x, &next, GOES_ON, hop, what);
	}
}

/* ---- members that die ------------------------------------------------------------------------------------------------- */

static void die(struct search *x, struct state st, unsigned t)
{
	st.dead |= (uint8_t)(1 << t);
	for (unsigned id = 0; id < IDS; id++)
		if (st.handles[id].where == HELD + t)
			forget_handle(&st, id);
	reach_by(x, &st, DIES, t, 0);
}

/* A thread goes to the view without the dead. */
static void see_view(struct search *x, struct state st, unsigned t)
{
	st.seen |= (uint8_t)(1 << t);
	append(st.lanes[t][0], VIEW);
	reach_by(x, &st, SEES_VIEW, t, 0);
}

/* So does the place: what the dead had sent and what has not come never does. */
static void settle(struct search *x, struct state st)
{
	if (has(x, FLUSHED) && (st.arrived | st.dead) != (1 << THREADS) - 1)
		return;
	st.settled = 1;
	for (unsigned id = 0; id < st.made; id++) {
		bool maker = is_dead(&st, st.handles[id].maker - 1u), holder = is_dead(&st, st.handles[id].holder - 1u);

		if ((maker && has(x, WITH_THE_MAKER)) || (holder && has(x, WITH_THE_HOLDER)))
			st.sets[0] &= (uint8_t) ~(1 << id);
	}
	for (unsigned t = 0; t < THREADS; t++)
		if (is_dead(&st, t))
			memset(st.lanes[t], 0, sizeof(st.lanes[t]));
	drop_if_empty(x, &st, 0);
	reach_by(x, &st, SETTLES, 0, 0);
}

static void step_members(struct search *x, const struct state *st)
{
	for (unsigned t = 0; t < THREADS; t++) {
		if (st->dead == 0)
			die(x, *st, t);
		else if (!is_dead(st, t) && (st->seen >> t & 1) == 0)
			see_view(x, *st, t);
	}
	if (st->dead != 0 && !st->settled)
		settle(x, *st);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static const char *look(struct search *x, const struct state *st)
{
	bool over = is_quiet(st) && !has_handles(x, st) && !st->moved && (st->dead == 0 || st->settled);

	x->noted[0] += st->dropped[st->name];
	return over && !st->dropped[place_of(x, st->name)] ? LEAK : NULL;
}

static void go_on(struct search *x, const struct state *st)
{
	for (unsigned t = 0; t < THREADS; t++) {
		if (!is_dead(st, t))
			step_thread(x, st, t);
		for (unsigned name = 0; name < NAMES; name++)
			step_lane(x, st, t, name);
	}
	for (unsigned hop = 0; hop < NAMES - 1; hop++)
		step_hop(x, st, hop);
	if (x->world->dies)
		step_members(x, st);
}

static void begin(const struct world *w, struct state *st)
{
	(void)w;
	st->sets[0] = 1;
	(void)make_handle(st, HELD, 0, 0, 0);
}

static const struct trial trials[] = {
	{"three threads, five ids, three sends", EVERY, NULL, WORLD(0, 5, 3, 0, false)},
	{"a handle goes to another thread as it is", EVERY, EARLY, WORLD(FRESH, 5, 3, 0, false)},
	{"the old id is toggled before the new one", EVERY, EARLY, WORLD(NEW_FIRST, 5, 3, 0, false)},
	{"the receiver toggles the fresh id", EVERY, EARLY, WORLD(BY_MAKER, 5, 3, 0, false)},
	{"toggles of a thread arrive in any order", EVERY, EARLY, WORLD(IN_ORDER, 5, 3, 0, false)},
	{"ids are added and removed", EVERY, LEAK, WORLD(TOGGLED, 5, 3, 0, false)},

	{"the property moves", EVERY, NULL, WORLD(0, 5, 1, 1, false)},
	{"the property moves, and moves back", EVERY, NULL, WORLD(0, 5, 0, 2, false)},
	{"the same, and there are clones", LARGE, NULL, WORLD(0, 6, 0, 2, false)},
	{"the old place sends nothing on", EVERY, REFUSED, WORLD(SENT_ON, 5, 1, 1, false)},
	{"what is sent on overtakes", EVERY, NOWHERE_TO_GO, WORLD(BEHIND, 5, 1, 1, false)},
	{"the old place has no handle", EVERY, IN_FLIGHT, WORLD(OLD_PLACE_HOLDS, 5, 1, 1, false)},
	{"the old place does not give its handle back", EVERY, LEAK, WORLD(OLD_PLACE_LETS_GO, 5, 1, 1, false)},
	{"handles go by the new name, as they are", EVERY, LEAK, WORLD(OWN_WAY, 5, 1, 1, false)},
	{"the thread that has asked counts its new handle itself", EVERY, EARLY, WORLD(COUNTED_BEFORE, 5, 1, 1, false)},
	{"it has it before the property is there", EVERY, NOWHERE_TO_GO, WORLD(TOLD_LATE, 5, 1, 1, false)},
	{"a property that comes back has its old name", EVERY, LEAK, WORLD(NAMED_ANEW, 5, 0, 2, false)},

	{"a member dies", EVERY, NULL, WORLD(0, 5, 1, 0, true)},
	{"the same, with another crossing", LARGE, NULL, WORLD(0, 5, 2, 0, true)},
	{"ids do not go with the member that made them", EVERY, LEAK, WORLD(WITH_THE_MAKER, 5, 1, 0, true)},
	{"ids do not go with the member that holds them", EVERY, LEAK, WORLD(WITH_THE_HOLDER, 5, 1, 0, true)},
	{"a handle from another member keeps the sender's id", EVERY, EARLY, WORLD(ANEW_ON_ARRIVAL, 5, 1, 0, true)},
	{"the same, and ids go with their holder alone", EVERY, EARLY,
	 WORLD(ANEW_ON_ARRIVAL | WITH_THE_MAKER, 5, 1, 0, true)},
	{"the place does not wait for the end of the old view", EVERY, EARLY, WORLD(FLUSHED, 5, 1, 0, true)},
	{"a handle of a dead member is taken in the next view", EVERY, EARLY, WORLD(DEAF, 5, 1, 0, true)},
};

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {"is cloned:",
						      "drops",
						      "is sent to",
						      "gets",
						      "calls by",
						      "asks to move by",
						      "renames",
						      "is the thread from which this arrives:",
						      "is the place from which this goes on:",
						      "dies",
						      "goes to the next view",
						      "is the place that goes to the next view"};
	static const char *const notes[] = {"with the property dropped", NULL};
	static const struct model model = {
		.what = "trust-counts: when a property is dropped",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.not_in_vain = true,
		.most = UINT32_MAX,
		.begin = begin,
		.go_on = go_on,
		.judge = look,
		.names = names,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
