/* formation_steps.c - the steps of the model, and one order for states that are alike. See formation.h. */
#include "formation.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct node) == 5 + GROUPS, "nodes are compared as they lie");
_Static_assert(sizeof(struct state) == NODES * sizeof(struct node) + 3 * GROUPS + 3, "as are states");

/* ---- one order ----------------------------------------------------------------------------------------------------- */

static uint8_t renamed(const uint8_t *names, uint8_t group)
{
	return group == TORN ? TORN : names[group];
}

/* Identities that no node remembers go; the others stay in the order in which they were drawn. */
static void forget(struct state *s)
{
	struct state old = *s;
	uint8_t names[GROUPS + 2] = {0}, count = 0;

	for (int i = 0; i < s->node_count; i++) {
		names[s->nodes[i].group] = 1;
		names[s->nodes[i].record] = 1;
	}
	for (int g = 1; g <= s->group_count; g++)
		names[g] = names[g] ? ++count : 0;
	names[NOTHING] = NOTHING;
	if (count == s->group_count)
		return;
	memset(s->groups, 0, sizeof(s->groups));
	s->group_count = count;
	for (int i = 0; i < s->node_count; i++) {
		struct node *n = &s->nodes[i];

		memset(n->views, 0, sizeof(n->views));
		n->group = renamed(names, n->group);
		n->record = renamed(names, n->record);
		for (int g = 1; g <= old.group_count; g++)
			if (names[g] != 0)
				n->views[names[g] - 1] = old.nodes[i].views[g - 1];
	}
	for (int g = 1; g <= old.group_count; g++)
		if (names[g] != 0)
			s->groups[names[g] - 1] = old.groups[g - 1];
}

static void sort(struct state *s)
{
	for (int i = 1; i < s->node_count; i++) {
		struct node n = s->nodes[i];
		int at = i;

		for (; at > 0 && memcmp(&s->nodes[at - 1], &n, sizeof(n)) > 0; at--)
			s->nodes[at] = s->nodes[at - 1];
		s->nodes[at] = n;
	}
}

void tidy(const struct world *w, struct state *s)
{
	struct state other;

	forget(s);
	sort(s);
	if (w->one_host)
		return;
	other = *s; /* the sides of a cut are alike */
	for (int i = 0; i < s->node_count; i++)
		other.nodes[i].side = !other.nodes[i].side;
	sort(&other);
	if (memcmp(&other, s, sizeof(other)) < 0)
		*s = other;
}

void begin(const struct world *w, struct state *s)
{
	memset(s, 0, sizeof(*s));
	s->node_count = (uint8_t)(w->configured + w->joined);
	for (int i = 0; i < s->node_count; i++)
		s->nodes[i].part = i < w->configured ? CONFIGURED : JOINED;
	if (w->form == THE_FOUNDER)
		s->nodes[0].part = FOUNDER;
	if (w->tie_breaker)
		s->nodes[0].part = TIE_BREAKER;
	for (int i = 0; i < w->configured && w->all_are_members; i++) {
		struct node *n = &s->nodes[i];

		n->status = MEMBER;
		n->group = 1;
		n->record = w->record == NO_RECORD ? NOTHING : 1;
		n->views[0] = FIRST | LATEST;
	}
	if (w->all_are_members)
		s->groups[s->group_count++] = (struct group){.base = w->configured};
	tidy(w, s);
}

/* ---- which can be taken -------------------------------------------------------------------------------------------- */

struct steps {
	struct step *out;
	int count;
};

static void append(struct steps *steps, bool can, enum step_kind kind, int node, int group, int side)
{
	if (can && steps->count < STEPS)
		steps->out[steps->count++] = (struct step){(uint8_t)kind, (uint8_t)node, (uint8_t)group, (uint8_t)side};
}

static bool may_leave(const struct world *w, const struct state *s, int i)
{
	const struct node *n = &s->nodes[i];
	uint8_t rest;

	if (w->nobody_leaves || n->status != MEMBER || !is_living(s, i, n->group))
		return false;
	rest = living_of(s, n->group, n->side) & (uint8_t) ~(1 << i);
	return rest != 0 && is_quorum(w, s, rest, s->groups[n->group - 1].base - 1);
}

/* What goes wrong, or is done to a node. */
static void append_faults(const struct world *w, const struct state *s, int i, struct steps *steps)
{
	const struct node *n = &s->nodes[i];
	bool is_down = n->status == DOWN;

	append(steps, !is_down, CRASH, i, 0, 0);
	append(steps, !w->one_host || !is_down, CROSS, i, 0, 0);
	append(steps, is_down && n->record != NOTHING && s->disks_lost < w->disks_lost, LOSE, i, 0, 0);
	if (w->one_host && n->side == 1)
		return;
	append(steps, may_leave(w, s, i), LEAVE, i, n->group, n->side);
	append(steps, n->part != JOINED && may_speak(w, s, i), SPEAK, i, 0, n->side);
}

static void append_own(const struct world *w, const struct state *s, int i, struct steps *steps)
{
	const struct node *n = &s->nodes[i];

	append(steps, n->status == DOWN, START, i, 0, 0);
	for (uint8_t g = 1; g <= s->group_count && n->status == SEEKS; g++)
		append(steps, may_be_asked(w, s, n, g), ASK, i, g, n->side);
	if (n->group == NOTHING)
		return;
	append(steps, may_write(w, n), WRITE, i, n->group, 0);
	append(steps, may_sync(w, n), SYNC, i, n->group, 0);
	append(steps, n->status == INVITED && may_say(w, n), SAY, i, n->group, 0);
	append(steps, may_begin(w, s, n), BEGIN, i, n->group, 0);
	append(steps, may_drop(w, s, n), DROP, i, n->group, 0);
}

static bool may_be_taken_in(const struct world *w, const struct node *n, uint8_t group, uint8_t side)
{
	return n->status == THERE && n->group == group && n->side == side && (n->views[group - 1] & NEWCOMER) != 0 &&
	       may_be_counted(w, n);
}

static void append_views(const struct world *w, const struct state *s, uint8_t side, struct steps *steps)
{
	for (uint8_t g = 1; g <= s->group_count; g++) {
		uint8_t voters = living_of(s, g, side), latest = 0;

		if (!is_quorum(w, s, voters, s->groups[g - 1].base))
			continue;
		for (int i = 0; i < s->node_count; i++) {
			latest |= (uint8_t)(((s->nodes[i].views[g - 1] & LATEST) != 0) << i);
			append(steps, may_be_taken_in(w, &s->nodes[i], g, side), GO_ON, i, g, side);
		}
		append(steps, voters != latest || s->groups[g - 1].is_first, GO_ON, NOBODY, g, side);
	}
}

int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out)
{
	struct steps steps = {out, 0};

	for (uint8_t side = 0; side < 2; side++) {
		if (w->one_host && side == 1)
			break;
		append_views(w, s, side, &steps);
		append(&steps, s->group_count < w->identities && first_view(w, s, side) != 0, FORM, NOBODY, 0, side);
	}
	for (int i = 0; i < s->node_count; i++) {
		const struct node *n = &s->nodes[i];

		if (i > 0 && memcmp(n, n - 1, sizeof(*n)) == 0)
			continue; /* its like has been tried */
		if (!w->one_host || n->side == 0)
			append_own(w, s, i, &steps);
		if (!calm)
			append_faults(w, s, i, &steps);
	}
	return steps.count;
}

/* ---- what each does ------------------------------------------------------------------------------------------------ */

static void put(struct node *n, enum status status, uint8_t group)
{
	n->status = (uint8_t)status;
	n->group = group;
	for (int g = 0; g < GROUPS; g++)
		n->views[g] &= (uint8_t)~NEWCOMER;
}

static void invite(struct state *s, uint8_t set, struct group group)
{
	s->groups[s->group_count++] = group;
	for (int i = 0; i < s->node_count; i++) {
		if ((set >> i & 1) == 0)
			continue;
		put(&s->nodes[i], INVITED, s->group_count);
		s->nodes[i].views[s->group_count - 1] = FIRST | LATEST;
	}
}

/* Those of `stay` install the next view, which has the newcomer too. */
static void go_on(struct state *s, uint8_t g, uint8_t stay, uint8_t newcomer)
{
	struct group *group = &s->groups[g - 1];

	for (int i = 0; i < s->node_count; i++) {
		struct node *n = &s->nodes[i];

		if ((stay >> i & 1) != 0)
			continue;
		if (is_living(s, i, g))
			put(n, EXCLUDED, g);
		n->views[g - 1] &= (uint8_t)~LATEST;
	}
	group->is_first = false;
	group->base = (uint8_t)__builtin_popcount(stay);
	if (newcomer == NOBODY)
		return;
	group->base++;
	put(&s->nodes[newcomer], MEMBER, g);
	s->nodes[newcomer].views[g - 1] = LATEST;
}

static void take_fault(const struct world *w, struct state *s, struct step step)
{
	struct node *n = &s->nodes[step.node];

	switch ((enum step_kind)step.kind) {
	case CRASH:
		put(n, DOWN, NOTHING);
		if (w->one_host)
			n->side = 0;
		return;
	case CROSS:
		n->side = !n->side;
		return;
	case LOSE:
		n->record = NOTHING;
		s->disks_lost++;
		return;
	case LEAVE:
		go_on(s, step.other, living_of(s, step.other, step.more) & (uint8_t) ~(1 << step.node), NOBODY);
		put(n, DOWN, NOTHING);
		return;
	default: /* SPEAK */
		invite(s, (uint8_t)(1 << step.node), (struct group){.base = 1, .is_first = true, .by_a_word = true});
	}
}

static void form(const struct world *w, struct state *s, uint8_t side)
{
	uint8_t base = w->form == THE_FOUNDER ? 1 : w->configured;

	invite(s, first_view(w, s, side), (struct group){.base = base, .is_first = true});
}

const char *take(const struct world *w, struct state *s, struct step step)
{
	struct node *n = &s->nodes[step.node == NOBODY ? 0 : step.node];

	switch ((enum step_kind)step.kind) {
	case START:
		put(n, SEEKS, NOTHING);
		break;
	case WRITE:
		n->record = TORN;
		break;
	case SYNC:
		n->record = n->group;
		break;
	case SAY:
		n->status = THERE;
		break;
	case BEGIN:
		put(n, MEMBER, n->group);
		break;
	case DROP:
		put(n, SEEKS, NOTHING);
		break;
	case FORM:
		form(w, s, step.more);
		break;
	case ASK:
		put(n, INVITED, step.other);
		n->views[step.other - 1] |= NEWCOMER;
		break;
	case GO_ON:
		go_on(s, step.other, living_of(s, step.other, step.more), step.node);
		break;
	default:
		take_fault(w, s, step);
		break;
	}
	tidy(w, s);
	return NULL;
}

/* ---- as text ------------------------------------------------------------------------------------------------------- */

void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const parts[] = {"a node", "a joined node", "the founder", "the tie-breaker"};
	static const char *const statuses[] = {"down", "seeking", "invited", "there", "member", "excluded"};
	static const char *const texts[STEP_KINDS] = {
		"is started",
		"writes its record",
		"has its record on disk",
		"says there",
		"begins view 0",
		"drops the invitation",
		"seekers are invited into a first view",
		"is asked into",
		"goes on",
		"crashes",
		"goes to the other side",
		"loses its disk",
		"leaves in order",
		"forms alone by the operator's word",
	};
	const struct node *n = &s->nodes[step.node == NOBODY ? 0 : step.node];

	(void)w;
	if (step.kind == FORM || step.kind == GO_ON) {
		printf("      side %d:", step.more);
		if (step.kind == GO_ON)
			printf(" group %d", step.other);
		printf(" %s%s\n", texts[step.kind],
		       step.kind == GO_ON && step.node != NOBODY ? " with a newcomer" : "");
		return;
	}
	printf("      side %d: %s (%s", n->side, parts[n->part], statuses[n->status]);
	if (n->group != NOTHING)
		printf(" of group %d", n->group);
	if (n->record == TORN)
		printf(", a torn record");
	else if (n->record != NOTHING)
		printf(", a record of group %d", n->record);
	printf(") %s", texts[step.kind]);
	if (step.kind == ASK)
		printf(" group %d", step.other);
	putchar('\n');
}
