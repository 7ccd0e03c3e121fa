/* meet_rules.c - what a node does about what it hears, and the steps of the model. See meet.h. */
#include "meet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sets.h"

_Static_assert(sizeof(struct connection) == 10, "connections are compared as they lie");
_Static_assert(offsetof(struct state, torn) == NODES * sizeof(struct node) + 8 + CONNECTIONS * sizeof(struct connection),
	       "as are states");

#define CALM_CALLS 3 /* of each node when there are no faults any more; two are enough where they meet */
#define QUEUE 4      /* messages under way to one side, at most */
#define NONE (-1)

static uint8_t with(uint8_t set, uint8_t incarnation)
{
	return (uint8_t)(set | 1 << incarnation);
}

static bool follows(const struct world *w, enum rule rule)
{
	return (w->without & rule) == 0;
}

bool is_foreign(const struct world *w, uint8_t incarnation)
{
	return w->foreign && incarnation == 2;
}

/* ---- connections --------------------------------------------------------------------------------------------------- */

static int node_of(uint8_t incarnation)
{
	return incarnation % 2 != 0 ? A : B;
}

static enum side side_of(const struct connection *c, int node)
{
	return node_of(c->ids[CALLER]) == node ? CALLER : CALLEE;
}

/* Index of the node's link, or NONE. */
static int link_of(const struct state *s, int node)
{
	for (int i = 0; i < CONNECTIONS && s->connections[i].ids[0] != 0; i++)
		if (s->connections[i].ends[side_of(&s->connections[i], node)] == LINK)
			return i;
	return NONE;
}

static enum message next_of(const struct connection *c, enum side side)
{
	return (enum message)(c->heard[side] & 15);
}

static bool has_ended(const struct connection *c)
{
	for (int at = 0; at < QUEUE; at++)
		if ((c->heard[CALLER] >> 4 * at & 15) == END || (c->heard[CALLEE] >> 4 * at & 15) == END)
			return true;
	return false;
}

/* What is said to a closed end is lost. */
static void say(struct connection *c, enum side side, enum message message)
{
	enum side to = side == CALLER ? CALLEE : CALLER;
	int at = 0;

	if (c->ends[to] == CLOSED)
		return;
	while (at < QUEUE && c->heard[to] >> 4 * at != 0)
		at++;
	if (at == QUEUE)
		abort();
	c->heard[to] |= (uint16_t)(message << 4 * at);
}

/* A connection that is closed at both ends is no more; its place is, until the step is over (sort). */
static void hang_up(struct connection *c, enum side side)
{
	if (c->ends[side] == CLOSED)
		return;
	say(c, side, END);
	c->ends[side] = CLOSED;
	c->heard[side] = 0;
}

static bool is_before(const struct connection *a, const struct connection *b)
{
	if (a->ids[0] == 0 || b->ids[0] == 0)
		return a->ids[0] != 0 && b->ids[0] == 0;
	return a->ids[0] != b->ids[0] ? a->ids[0] < b->ids[0] : a->number < b->number;
}

static void sort(struct state *s)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection c = s->connections[i];
		int at = i;

		if (c.ends[CALLER] == CLOSED && c.ends[CALLEE] == CLOSED)
			memset(&c, 0, sizeof(c));
		for (; at > 0 && is_before(&c, &s->connections[at - 1]); at--)
			s->connections[at] = s->connections[at - 1];
		s->connections[at] = c;
	}
}

/* ---- a node and the other ------------------------------------------------------------------------------------------ */

static void call(struct state *s, int node)
{
	struct node *n = &s->nodes[node];
	struct connection *c = &s->connections[CONNECTIONS - 1];

	if (c->ids[0] != 0)
		abort();
	n->calls++;
	n->calls_left--;
	n->state = CALLED;
	*c = (struct connection){{n->incarnation, s->nodes[!node].incarnation}, n->calls, false, {LINK, STRANGER}, {0}};
	say(c, CALLER, HELLO);
}

static void end_connection(struct state *s, int node, enum node_state state)
{
	struct node *n = &s->nodes[node];
	int link = link_of(s, node);

	if (n->state == MET)
		n->lost = with(n->lost, n->other);
	if ((n->state == MET || state == REJECTED) && n->other != 0)
		n->ended = with(n->ended, n->other);
	n->state = (uint8_t)state;
	n->other = 0;
	if (link != NONE)
		hang_up(&s->connections[link], side_of(&s->connections[link], node));
}

static void meet(struct state *s, int node)
{
	struct node *n = &s->nodes[node];

	s->met_twice |= has(n->met, n->other);
	n->met = with(n->met, n->other);
	n->state = MET;
}

static void tell(struct state *s, int node)
{
	struct node *n = &s->nodes[node];

	s->told_twice |= has(n->told, n->other);
	n->told = with(n->told, n->other);
}

/* Because of its configuration. `c` is the node's link. */
static void refuse(struct state *s, int node, struct connection *c)
{
	say(c, side_of(c, node), REFUSED);
	tell(s, node);
	end_connection(s, node, REJECTED);
}

static void be_refused(const struct world *w, struct state *s, int node, uint8_t incarnation)
{
	struct node *n = &s->nodes[node];

	if (n->state != MET)
		n->other = incarnation;
	if (!follows(w, ONCE) || !has(n->ended, n->other))
		tell(s, node);
	end_connection(s, node, REJECTED);
}

static bool may_not_be_met(const struct world *w, const struct node *n, uint8_t incarnation)
{
	return follows(w, LIVES) && has(n->ended, incarnation);
}

static bool differ(const struct world *w, const struct node *n, uint8_t incarnation)
{
	return is_foreign(w, n->incarnation) != is_foreign(w, incarnation);
}

/* The called node's HELLO has come. */
static void on_answer(const struct world *w, struct state *s, int node, struct connection *c)
{
	struct node *n = &s->nodes[node];
	uint8_t incarnation = c->ids[CALLEE];

	if (may_not_be_met(w, n, incarnation)) {
		if (follows(w, REPLY))
			say(c, CALLER, REFUSED);
		end_connection(s, node, REJECTED);
		return;
	}
	n->other = incarnation;
	if (differ(w, n, incarnation)) {
		refuse(s, node, c);
		return;
	}
	say(c, CALLER, TAKEN);
	meet(s, node);
}

/* The next message on the node's link. */
static void on_message(const struct world *w, struct state *s, int node, struct connection *c)
{
	enum side side = side_of(c, node);
	enum message message = next_of(c, side);

	c->heard[side] >>= 4;
	if (message == END)
		end_connection(s, node, ABSENT);
	else if (message == REFUSED)
		be_refused(w, s, node, c->ids[side == CALLER ? CALLEE : CALLER]);
	else if (message == HELLO && s->nodes[node].state == CALLED)
		on_answer(w, s, node, c);
	else if (message == TAKEN && s->nodes[node].state == ANSWERED)
		meet(s, node);
	else
		abort();
}

/* ---- a call comes -------------------------------------------------------------------------------------------------- */

enum verdict { COME, NOT_NOW /* it calls again */, NEVER };

/* The node is busy with another incarnation. Most likely that has ended, and the node has not heard so yet: what it has
 * said comes first. */
static enum verdict make_way(const struct world *w, struct state *s, int node)
{
	struct connection *old = &s->connections[link_of(s, node)];
	enum side side = side_of(old, node);

	while (old->ends[side] == LINK && old->heard[side] != 0)
		on_message(w, s, node, old);
	return old->ends[side] == LINK ? NOT_NOW : COME;
}

static enum verdict judge(const struct world *w, struct state *s, int node, const struct connection *c)
{
	const struct node *n = &s->nodes[node];
	uint8_t caller = c->ids[CALLER];
	bool busy = n->state == MET || (n->state == ANSWERED && n->other != caller && follows(w, GUARD));

	if (may_not_be_met(w, n, caller))
		return NEVER;
	if (n->state == CALLED && node == B && follows(w, CROSSED) &&
	    (s->connections[link_of(s, node)].greeted || !follows(w, GREETED)))
		return NOT_NOW;
	if (n->state == MET && n->other == caller)
		return NOT_NOW; /* their calls had crossed, and this is what is left of the other's */
	if (n->caller == caller && c->number <= n->caller_number && follows(w, NUMBERS))
		return NOT_NOW;
	return busy ? make_way(w, s, node) : COME;
}

static void on_call(const struct world *w, struct state *s, int node, struct connection *c)
{
	struct node *n = &s->nodes[node];
	enum verdict verdict = judge(w, s, node, c);

	c->heard[CALLEE] >>= 4;
	if (verdict == NEVER)
		say(c, CALLEE, REFUSED);
	if (verdict != COME) {
		hang_up(c, CALLEE);
		return;
	}
	end_connection(s, node, ANSWERED); /* of what was under way */
	c->ends[CALLEE] = LINK;
	n->other = n->caller = c->ids[CALLER];
	n->caller_number = c->number;
	if (differ(w, n, n->other))
		refuse(s, node, c);
	else
		say(c, CALLEE, HELLO);
}

static void hear(const struct world *w, struct state *s, int node, struct connection *c)
{
	enum side side = side_of(c, node);

	if (c->ends[side] == LINK)
		on_message(w, s, node, c);
	else if (next_of(c, side) == HELLO)
		on_call(w, s, node, c);
	else
		hang_up(c, side); /* it has ended */
}

/* ---- which steps can be taken -------------------------------------------------------------------------------------- */

void begin(const struct world *w, struct state *s)
{
	memset(s, 0, sizeof(*s));
	for (uint8_t i = 0; i < NODES; i++)
		s->nodes[i] = (struct node){.incarnation = 1 + i, .calls_left = w->calls};
	s->breaks = w->breaks;
	s->time_outs = w->time_outs;
	s->restarts[A] = w->restarts_of_a;
	s->restarts[B] = w->restarts;
	s->blocked = w->blocked;
}

void calm(struct state *s)
{
	s->breaks = s->time_outs = s->restarts[A] = s->restarts[B] = 0;
	s->nodes[A].calls_left = s->nodes[B].calls_left = CALM_CALLS;
}

struct steps {
	struct step *out;
	int count;
};

static void append(struct steps *steps, bool can, enum step_kind kind, int node, int connection, int side)
{
	if (!can)
		return;
	if (steps->count == STEPS)
		abort();
	steps->out[steps->count++] = (struct step){(uint8_t)kind, (uint8_t)node, (uint8_t)connection, (uint8_t)side};
}

static bool is_blocked(const struct state *s, const struct connection *c)
{
	return s->blocked && !c->greeted && node_of(c->ids[CALLER]) == B;
}

static void append_heard(const struct state *s, struct steps *steps)
{
	for (int i = 0; i < CONNECTIONS && s->connections[i].ids[0] != 0; i++) {
		const struct connection *c = &s->connections[i];

		append(steps, !c->greeted && !is_blocked(s, c), GREET, node_of(c->ids[CALLER]), i, CALLER);
		for (int side = CALLER; side <= CALLEE; side++)
			append(steps, c->greeted && c->heard[side] != 0, HEAR, node_of(c->ids[side]), i, side);
	}
}

static void append_calls(const struct world *w, const struct state *s, int node, struct steps *steps)
{
	const struct node *n = &s->nodes[node];
	int link = link_of(s, node);
	bool waits = link != NONE && is_blocked(s, &s->connections[link]);
	bool calls = n->state == ABSENT || (n->state == REJECTED && follows(w, REDIAL));

	append(steps, waits, GIVE_UP, node, link, CALLER);
	append(steps, calls && n->calls_left > 0, CALL, node, 0, CALLER);
}

static void append_faults(const struct world *w, const struct state *s, struct steps *steps)
{
	for (int node = 0; node < NODES; node++) {
		const struct node *n = &s->nodes[node];
		bool waits = n->state == CALLED || (n->state == ANSWERED && !follows(w, KEEP));
		int link = link_of(s, node);

		append(steps, waits && s->time_outs > 0 && !is_blocked(s, &s->connections[link]), GIVE_UP, node, link,
		       CALLER);
		append(steps, s->restarts[node] > 0, RESTART, node, 0, CALLER);
	}
	for (int i = 0; i < CONNECTIONS && s->connections[i].ids[0] != 0; i++) {
		const struct connection *c = &s->connections[i];
		bool can = s->breaks > 0 && c->greeted && c->ends[0] != CLOSED && c->ends[1] != CLOSED && !has_ended(c);

		append(steps, can, BREAK, A, i, CALLER);
		append(steps, can && (c->heard[0] != 0 || c->heard[1] != 0), CUT, A, i, CALLER);
	}
	append(steps, s->blocked, UNBLOCK, B, 0, CALLER);
}

int steps_from(const struct world *w, const struct state *s, bool is_calm, struct step *out)
{
	struct steps steps = {out, 0};

	append_heard(s, &steps);
	if (is_calm && steps.count > 0)
		return steps.count;
	for (int node = 0; node < NODES; node++)
		append_calls(w, s, node, &steps);
	if (!is_calm)
		append_faults(w, s, &steps);
	return steps.count;
}

/* ---- what each does ------------------------------------------------------------------------------------------------ */

static void cut(struct state *s, struct connection *c, bool is_lost)
{
	s->breaks--;
	if (is_lost)
		c->heard[CALLER] = c->heard[CALLEE] = 0;
	say(c, CALLER, END);
	say(c, CALLEE, END);
}

static void restart(const struct world *w, struct state *s, int node)
{
	uint8_t incarnation = (uint8_t)(s->nodes[node].incarnation + NODES);

	if (incarnation > INCARNATION_MOST)
		abort();
	for (int i = 0; i < CONNECTIONS && s->connections[i].ids[0] != 0; i++)
		hang_up(&s->connections[i], side_of(&s->connections[i], node));
	s->nodes[node] = (struct node){.incarnation = incarnation, .calls_left = w->calls};
	s->restarts[node]--;
}

void do_step(const struct world *w, struct state *s, struct step step)
{
	struct connection *c = &s->connections[step.other];

	switch ((enum step_kind)step.kind) {
	case GREET:
		c->greeted = true;
		break;
	case HEAR:
		hear(w, s, step.node, c);
		break;
	case GIVE_UP:
		s->time_outs = (uint8_t)(s->time_outs - !is_blocked(s, c));
		end_connection(s, step.node, ABSENT);
		break;
	case CALL:
		call(s, step.node);
		break;
	case BREAK:
	case CUT:
		cut(s, c, step.kind == CUT);
		break;
	case RESTART:
		restart(w, s, step.node);
		break;
	default: /* UNBLOCK */
		s->blocked = false;
		break;
	}
	sort(s);
}

/* ---- what is said of a state --------------------------------------------------------------------------------------- */

bool has_met(const struct state *s)
{
	const struct node *a = &s->nodes[A], *b = &s->nodes[B];

	return a->state == MET && b->state == MET && a->other == b->incarnation && b->other == a->incarnation &&
	       link_of(s, A) == link_of(s, B);
}

bool is_parted(const struct state *s)
{
	for (int node = 0; node < NODES; node++) {
		uint8_t other = s->nodes[!node].incarnation;
		int link = link_of(s, node);

		if (!has(s->nodes[node].met, other))
			continue;
		if (s->nodes[node].state != MET || s->nodes[node].other != other || has_ended(&s->connections[link]))
			return true;
	}
	return false;
}

bool is_torn(const struct state *s)
{
	for (int node = 0; node < NODES; node++) {
		int link = link_of(s, node);
		const struct connection *c = &s->connections[link != NONE ? link : 0];

		if (s->nodes[node].state == CALLED && c->ids[CALLEE] == s->nodes[!node].incarnation &&
		    next_of(c, CALLER) == HELLO && has_ended(c))
			return true;
	}
	return is_parted(s);
}

enum finding torn_by(const struct state *before, struct step step)
{
	const struct node *n = &before->nodes[step.node];
	const struct connection *c = &before->connections[step.other];

	if (step.kind == BREAK || step.kind == CUT)
		return has_met(before) ? BREAK_AFTER_TAKEN : BREAK_BEFORE_TAKEN;
	if (step.kind == GIVE_UP && n->state == ANSWERED)
		return GAVE_UP;
	if (step.kind != HEAR || n->state != ANSWERED || c->ends[step.more] != STRANGER)
		return PARTED_OTHERWISE;
	if (n->other != c->ids[CALLER])
		return OTHER_LIFE;
	return c->number < n->caller_number ? OLDER_CALL : PARTED_OTHERWISE;
}

bool is_told(const struct state *s)
{
	for (int node = 0; node < NODES; node++)
		if (!has(s->nodes[node].lost | s->nodes[node].told, s->nodes[!node].incarnation))
			return false;
	return true;
}

/* ---- as text ------------------------------------------------------------------------------------------------------- */

/* A2 is A's second life. */
static const char *name_of(uint8_t incarnation)
{
	static const char *const names[INCARNATION_MOST + 1] = {"", "A1", "B1", "A2", "B2", "A3", "B3", "A4"};

	return names[incarnation];
}

void print_nodes(const struct state *s)
{
	static const char *const texts[] = {"absent", "called", "answered", "met", "rejected"};

	for (int node = 0; node < NODES; node++)
		printf("%s%s: %s", node == A ? "" : ", ", name_of(s->nodes[node].incarnation),
		       texts[s->nodes[node].state]);
}

void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const messages[] = {"nothing", "HELLO", "TAKEN", "REFUSED", "the end"};
	static const char *const texts[STEP_KINDS] = {
		" is greeted",
		"",
		" gives up",
		" calls",
		" breaks",
		" breaks and loses what is under way",
		" ends and is started again",
		"'s calls get through from here on",
	};
	const struct connection *c = &s->connections[step.other];

	(void)w;
	printf("      ");
	if (step.kind == HEAR)
		printf("%s hears %s of ", name_of(s->nodes[step.node].incarnation),
		       messages[next_of(c, (enum side)step.more)]);
	if (step.kind == GREET || step.kind == HEAR || step.kind == BREAK || step.kind == CUT)
		printf("%s's call %d", name_of(c->ids[CALLER]), c->number);
	else
		printf("%s", name_of(s->nodes[step.node].incarnation));
	printf("%s\n", texts[step.kind]);
}
