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
 * when there are neither it has been dropped. Each rule is then left out: the search must find what breaks. -v prints the shortest
 * course to it. The trustee itself does not die here: its properties would be gone with it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

#define THREADS 3
#define IDS 6
#define QUEUE 13
#define NAMES 3 /* a property that has moved twice */

/* A world has all rules but those that are taken out of it. */
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
	CUT_OFF = 1 << 17,          /* D4 */
	ALL_RULES = (1 << 18) - 1
};

struct world {
	const char *what;
	uint32_t without;
	uint8_t ids, sends, moves; /* at most; with moves there is one call, too */
	bool dies;                 /* a member other than the trustee's may */
	const char *expected;      /* NULL: it holds */
	bool soak;                 /* large */
};

static const char *const early = "dropped while there is a handle";
static const char *const in_flight = "dropped while something is on its way";
static const char *const leak = "never dropped";
static const char *const nowhere = "comes where there is no such property";
static const char *const refused = "a call of a handle finds no property";

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

struct entry {
	struct state state;
	uint32_t before; /* its number + 1 */
	char step[28];
};

struct search {
	const struct world *world;
	uint32_t rules, at;
	struct book book;
	bool drops;        /* in some course */
	const char *wrong; /* in the step that is taken */
};

static void reach(struct search *s, const struct state *to, const char *step, unsigned a, unsigned b)
{
	struct entry entry;

	memset(&entry, 0, sizeof(entry));
	entry.state = *to;
	entry.before = s->at + 1;
	snprintf(entry.step, sizeof(entry.step), "%s %u %u", step, a, b);
	s->drops = s->drops || to->dropped[to->name];
	(void)book_add(&s->book, &entry);
}

static bool has(const struct search *s, enum rule rule)
{
	return (s->rules & rule) != 0;
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

static void clone_handle(struct search *s, struct state st, unsigned t, unsigned id)
{
	unsigned name = st.handles[id].name, other;

	if (st.made >= s->world->ids)
		return;
	other = make_handle(&st, HELD + t, t, t, name);
	send_toggle(&st, t, name, other);
	reach(s, &st, "clone", id, other);
}

static void drop_handle(struct search *s, struct state st, unsigned t, unsigned id)
{
	send_toggle(&st, t, st.handles[id].name, id);
	forget_handle(&st, id);
	reach(s, &st, "drop", t, id);
}

static void send_handle(struct search *s, struct state st, unsigned t, unsigned id, unsigned to)
{
	unsigned name = st.handles[id].name, other;

	if (st.sends >= s->world->sends || ((st.seen >> t & 1) != 0 && is_dead(&st, to)))
		return;
	st.sends++;
	if (!has(s, FRESH)) {
		st.handles[id].where = (uint8_t)(COMING + to);
		reach(s, &st, "send", id, to);
		return;
	}
	if (st.made >= s->world->ids)
		return;
	other = make_handle(&st, COMING + to, t, to, name);
	if (has(s, NEW_FIRST) && has(s, BY_MAKER))
		send_toggle(&st, t, name, other);
	send_toggle(&st, t, name, id);
	if (!has(s, NEW_FIRST))
		send_toggle(&st, t, name, other);
	forget_handle(&st, id);
	reach(s, &st, "send", other, to);
}

/* What the property was moved with is given back, for what came in its place. */
static void exchange(const struct search *s, struct state *st, unsigned t, unsigned old, unsigned id)
{
	if (!has(s, COUNTED_BEFORE))
		send_toggle(st, t, st->handles[id].name, id);
	send_toggle(st, t, st->handles[old].name, old);
	forget_handle(st, old);
}

/* A handle arrives. */
static void get_handle(struct search *s, struct state st, unsigned t, unsigned id)
{
	unsigned from = st.handles[id].maker - 1u, name = st.handles[id].name, other;

	if (has(s, CUT_OFF) && (st.seen >> t & 1) != 0 && is_dead(&st, from))
		return; /* it never does */
	if (has(s, TOLD_LATE) && name == st.name && st.moved)
		return;
	st.handles[id].where = (uint8_t)(HELD + t);
	for (unsigned old = 0; name > 0 && old < IDS; old++)
		if (st.handles[old].moving && st.handles[old].where == HELD + t)
			exchange(s, &st, t, old, id);
	if (!has(s, BY_MAKER))
		send_toggle(&st, t, name, id);
	if (s->world->dies && has(s, ANEW_ON_ARRIVAL)) {
		if (st.made >= s->world->ids)
			return;
		other = make_handle(&st, HELD + t, t, t, name);
		send_toggle(&st, t, name, other);
		send_toggle(&st, t, name, id);
		forget_handle(&st, id);
	}
	reach(s, &st, "get", t, id);
}

static void call(struct search *s, struct state st, unsigned t, unsigned id)
{
	if (s->world->moves == 0 || st.calls > 0)
		return;
	st.calls++;
	append(st.lanes[t][st.handles[id].name], CALL);
	reach(s, &st, "call", t, id);
}

/* Two handles more are made for a move. */
static void ask_to_move(struct search *s, struct state st, unsigned t, unsigned id)
{
	if (st.name >= s->world->moves || st.made + 2 > s->world->ids)
		return;
	for (unsigned other = 0; other < st.made; other++)
		if (st.handles[other].moving && st.handles[other].where == HELD + t)
			return;
	st.handles[id].moving = 1;
	append(st.lanes[t][st.handles[id].name], (uint8_t)(MOVE + id));
	reach(s, &st, "ask", t, id);
}

/* Against M2. */
static void rename_handle(struct search *s, struct state st, unsigned t, unsigned id)
{
	if (has(s, OWN_WAY) || st.moved || st.handles[id].name == st.name)
		return;
	st.handles[id].name++;
	reach(s, &st, "rename", t, id);
}

static void step_thread(struct search *s, const struct state *st, unsigned t)
{
	for (unsigned id = 0; id < st->made; id++) {
		if (st->handles[id].where == COMING + t)
			get_handle(s, *st, t, id);
		if (st->handles[id].where != HELD + t || st->handles[id].moving)
			continue;
		clone_handle(s, *st, t, id);
		drop_handle(s, *st, t, id);
		call(s, *st, t, id);
		ask_to_move(s, *st, t, id);
		rename_handle(s, *st, t, id);
		for (unsigned to = 0; to < THREADS; to++)
			if (to != t)
				send_handle(s, *st, t, id, to);
	}
}

/* ---- the property ----------------------------------------------------------------------------------------------------- */

/* A handle that a living thread has, or may get. */
static bool has_handles(const struct search *s, const struct state *st)
{
	for (unsigned id = 0; id < IDS; id++) {
		unsigned where = st->handles[id].where, t = where >= COMING ? where - COMING : where - HELD;
		bool cut = where >= COMING && has(s, CUT_OFF) && is_dead(st, st->handles[id].maker - 1u);

		if (where != NOWHERE && where < PLACES && !is_dead(st, t) && !(cut && (st->seen >> t & 1) != 0))
			return true;
	}
	return false;
}

/* Where the set of that name is. */
static unsigned place_of(const struct search *s, unsigned name)
{
	return has(s, NAMED_ANEW) ? name : name & 1;
}

/* Has the last handle by that name gone? */
static void drop_if_empty(struct search *s, struct state *st, unsigned name)
{
	unsigned at = place_of(s, name), own = st->own[at];

	if (st->sets[at] != 0 || st->dropped[at])
		return;
	if (at == place_of(s, st->name)) {
		st->dropped[at] = 1;
		s->wrong = has_handles(s, st) ? early : is_quiet(st) ? NULL : in_flight;
	} else if (own != 0 && has(s, OLD_PLACE_LETS_GO)) {
		st->dropped[at] = 1;
		forget_handle(st, own - 1);
		append(st->hops[name], toggle_of(own - 1, 0));
	}
}

static void apply(struct search *s, struct state *st, unsigned name, uint8_t toggle)
{
	uint8_t bit = (uint8_t)(1 << id_of(toggle)), *set = &st->sets[place_of(s, name)];

	if (has(s, TOGGLED))
		*set ^= bit;
	else if (is_makers(st, toggle) && (*set & bit) == 0)
		*set |= bit;
	else
		*set &= (uint8_t)~bit;
	drop_if_empty(s, st, name);
}

/* The property goes to a place where two handles are counted already: the old place's, and one for the thread that has asked. */
static void move_property(struct search *s, struct state *st, unsigned id)
{
	unsigned t = st->handles[id].where - HELD, to = st->name + 1, own, other, at = place_of(s, to);

	if (st->name >= s->world->moves || st->made + 2 > s->world->ids) {
		st->handles[id].moving = 0; /* another was faster */
		return;
	}
	own = make_handle(st, PLACES, t, t, to);
	other = make_handle(st, COMING + t, t, t, to);
	if (has(s, OLD_PLACE_HOLDS)) {
		st->own[st->name] = (uint8_t)(own + 1);
		st->sets[at] |= (uint8_t)(1 << own);
	}
	if (has(s, COUNTED_BEFORE))
		st->sets[at] |= (uint8_t)(1 << other);
	append(st->hops[st->name], PROPERTY);
	st->dropped[at] = 0;
	st->name = (uint8_t)to;
	st->moved = 1;
}

/* What came by that name. */
static void come(struct search *s, struct state *st, unsigned name, uint8_t what)
{
	bool is_here = place_of(s, name) == place_of(s, st->name) && !st->moved;

	if (name > st->name || (name == st->name && st->moved)) {
		s->wrong = nowhere;
	} else if (what < CALL) {
		apply(s, st, name, what);
	} else if (!is_here && has(s, SENT_ON)) {
		append(st->hops[name], what);
	} else if (!is_here || st->dropped[place_of(s, name)]) {
		s->wrong = refused;
	} else if (what != CALL) {
		move_property(s, st, what - MOVE);
	}
}

static void step_lane(struct search *s, const struct state *st, unsigned t, unsigned name)
{
	for (int i = 0; i < QUEUE && st->lanes[t][name][i] != 0; i++) {
		struct state next = *st;
		uint8_t what;

		if (i > 0 && has(s, IN_ORDER))
			return;
		what = take(next.lanes[t][name], i);
		if (what == VIEW)
			next.arrived |= (uint8_t)(1 << t);
		else
			come(s, &next, name, what);
		reach(s, &next, "arrives", t, what);
		if (s->wrong != NULL)
			return;
	}
}

static void step_hop(struct search *s, const struct state *st, unsigned hop)
{
	for (int i = 0; i < QUEUE && st->hops[hop][i] != 0; i++) {
		struct state next = *st;
		uint8_t what;

		if (i > 0 && has(s, BEHIND))
			return;
		what = take(next.hops[hop], i);
		if (what == PROPERTY)
			next.moved = 0;
		else
			come(s, &next, hop + 1, what);
		reach(s, &next, "goes-on", hop, what);
		if (s->wrong != NULL)
			return;
	}
}

/* ---- members that die ------------------------------------------------------------------------------------------------- */

static void die(struct search *s, struct state st, unsigned t)
{
	st.dead |= (uint8_t)(1 << t);
	for (unsigned id = 0; id < IDS; id++)
		if (st.handles[id].where == HELD + t)
			forget_handle(&st, id);
	reach(s, &st, "die", t, 0);
}

/* A thread goes to the view without the dead. */
static void see_view(struct search *s, struct state st, unsigned t)
{
	st.seen |= (uint8_t)(1 << t);
	append(st.lanes[t][0], VIEW);
	reach(s, &st, "view", t, 0);
}

/* So does the place: what the dead had sent and what has not come never does. */
static void settle(struct search *s, struct state st)
{
	if (has(s, FLUSHED) && (st.arrived | st.dead) != (1 << THREADS) - 1)
		return;
	st.settled = 1;
	for (unsigned id = 0; id < st.made; id++) {
		bool maker = is_dead(&st, st.handles[id].maker - 1u), holder = is_dead(&st, st.handles[id].holder - 1u);

		if ((maker && has(s, WITH_THE_MAKER)) || (holder && has(s, WITH_THE_HOLDER)))
			st.sets[0] &= (uint8_t) ~(1 << id);
	}
	for (unsigned t = 0; t < THREADS; t++)
		if (is_dead(&st, t))
			memset(st.lanes[t], 0, sizeof(st.lanes[t]));
	drop_if_empty(s, &st, 0);
	reach(s, &st, "settle", 0, 0);
}

static void step_members(struct search *s, const struct state *st)
{
	for (unsigned t = 0; t < THREADS; t++) {
		if (st->dead == 0)
			die(s, *st, t);
		else if (!is_dead(st, t) && (st->seen >> t & 1) == 0)
			see_view(s, *st, t);
	}
	if (st->dead != 0 && !st->settled)
		settle(s, *st);
}

/* ---- the search ------------------------------------------------------------------------------------------------------- */

static const char *look(const struct search *s, const struct state *st)
{
	bool over = is_quiet(st) && !has_handles(s, st) && !st->moved && (st->dead == 0 || st->settled);

	return over && !st->dropped[place_of(s, st->name)] ? leak : NULL;
}

static const char *step_all(struct search *s, const struct state *st)
{
	for (unsigned t = 0; t < THREADS; t++) {
		if (!is_dead(st, t))
			step_thread(s, st, t);
		for (unsigned name = 0; name < NAMES && s->wrong == NULL; name++)
			step_lane(s, st, t, name);
	}
	for (unsigned hop = 0; hop < NAMES - 1 && s->wrong == NULL; hop++)
		step_hop(s, st, hop);
	if (s->wrong == NULL && s->world->dies)
		step_members(s, st);
	return s->wrong;
}

static const char *explore(struct search *s)
{
	struct state start;

	memset(&start, 0, sizeof(start));
	start.sets[0] = 1;
	(void)make_handle(&start, HELD, 0, 0, 0);
	s->at = UINT32_MAX; /* + 1: none */
	reach(s, &start, "begin", 0, 0);
	for (s->at = 0; s->at < s->book.count; s->at++) {
		const struct entry entry = ((const struct entry *)(const void *)s->book.entries)[s->at];
		const char *wrong = look(s, &entry.state);

		if (wrong == NULL)
			wrong = step_all(s, &entry.state);
		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

static void print_course(const struct search *s, uint32_t at)
{
	const struct entry *entry = &((const struct entry *)(const void *)s->book.entries)[at];

	if (entry->before != 0)
		print_course(s, entry->before - 1);
	printf("  %s\n", entry->step);
}

static const struct world worlds[] = {
	{"three threads, five ids, three sends", 0, 5, 3, 0, false, NULL, false},
	{"a handle goes to another thread as it is", FRESH, 5, 3, 0, false, early, false},
	{"the old id is toggled before the new one", NEW_FIRST, 5, 3, 0, false, early, false},
	{"the receiver toggles the fresh id", BY_MAKER, 5, 3, 0, false, early, false},
	{"toggles of a thread arrive in any order", IN_ORDER, 5, 3, 0, false, early, false},
	{"ids are added and removed", TOGGLED, 5, 3, 0, false, leak, false},

	{"the property moves", 0, 5, 1, 1, false, NULL, false},
	{"the property moves, and moves back", 0, 5, 0, 2, false, NULL, false},
	{"the same, and there are clones", 0, 6, 0, 2, false, NULL, true},
	{"the old place sends nothing on", SENT_ON, 5, 1, 1, false, refused, false},
	{"what is sent on overtakes", BEHIND, 5, 1, 1, false, nowhere, false},
	{"the old place has no handle", OLD_PLACE_HOLDS, 5, 1, 1, false, in_flight, false},
	{"the old place does not give its handle back", OLD_PLACE_LETS_GO, 5, 1, 1, false, leak, false},
	{"handles go by the new name, as they are", OWN_WAY, 5, 1, 1, false, leak, false},
	{"the thread that has asked counts its new handle itself", COUNTED_BEFORE, 5, 1, 1, false, early, false},
	{"it has it before the property is there", TOLD_LATE, 5, 1, 1, false, nowhere, false},
	{"a property that comes back has its old name", NAMED_ANEW, 5, 0, 2, false, leak, false},

	{"a member dies", 0, 5, 1, 0, true, NULL, false},
	{"the same, with another crossing", 0, 5, 2, 0, true, NULL, true},
	{"ids do not go with the member that made them", WITH_THE_MAKER, 5, 1, 0, true, leak, false},
	{"ids do not go with the member that holds them", WITH_THE_HOLDER, 5, 1, 0, true, leak, false},
	{"a handle from another member keeps the sender's id", ANEW_ON_ARRIVAL, 5, 1, 0, true, early, false},
	{"the same, and ids go with their holder alone", ANEW_ON_ARRIVAL | WITH_THE_MAKER, 5, 1, 0, true, early, false},
	{"the place does not wait for the end of the old view", FLUSHED, 5, 1, 0, true, early, false},
	{"a handle of a dead member is taken in the next view", CUT_OFF, 5, 1, 0, true, early, false},
};

static bool try(const struct world *world, bool verbose)
{
	struct search s = {.world = world,
			   .rules = ALL_RULES & ~world->without,
			   .book = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)}};
	const char *found = explore(&s);
	bool expected = found == world->expected && (found != NULL || s.drops);

	printf("%-55s %8u states  %s%s\n", world->what, (unsigned)s.book.count, found != NULL ? found : "holds",
	       expected ? "" : "  <-- SURPRISE");
	fflush(stdout);
	if (found != NULL && verbose)
		print_course(&s, s.at);
	book_close(&s.book);
	return expected;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0, soak = argc > 1 && strcmp(argv[1], "soak") == 0;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
		if (soak || !worlds[i].soak)
			surprises += !try(&worlds[i], verbose);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
