/* dormant_back.c - the way back, when nothing goes wrong any more; and states as text. See dormant.h. */
#include "dormant.h"

#include <stdio.h>

enum shake { POWER_LOST, POWER_LOST_TAKEN_UP, THREE_END, NONE_ENDS, SHAKES };

/* ---- does it come back? -------------------------------------------------------------------------------------------- */

static const char *end_all(const struct world *w, struct state *s)
{
	struct state copy;
	const char *wrong = NULL;

	for (int i = 0; i < NODES && wrong == NULL; i++)
		if (s->nodes[i].status != DOWN)
			wrong = take(w, s, (struct step){CRASH, (uint8_t)i, 0, 0});
	if (wrong == NULL && s->next.number != 0)
		wrong = take(w, s, (struct step){INSTALL, 0, 0, 0});
	copy = *s;
	if (wrong != NULL || s->now.group == 0 || !compose_without(w, &copy, s->now.group, 0))
		return wrong;
	(void)take(w, s, (struct step){FAIL, s->now.group, 0, 0});
	return take(w, s, (struct step){INSTALL, 0, 0, 0});
}

/* Something of that kind, before nothing goes wrong any more. NULL, or what is wrong then. */
static const char *shake(const struct world *w, struct state *s, enum shake how)
{
	const char *wrong = NULL;

	if (how == THREE_END && !s->dark)
		wrong = end_all(w, s);
	else if (how != NONE_ENDS && !s->dark)
		wrong = take(w, s, (struct step){POWER, 0, how == POWER_LOST_TAKEN_UP, 0});
	s->crashes = s->powers = 0;
	return wrong;
}

static bool is_whole(const struct world *w, const struct state *s)
{
	uint8_t all = all_of(w);

	return s->now.group == all && s->next.number == 0 && members_now(s) == all && whole_of(s, all) == all;
}

/* The next thing that all wait for; a kind of STEP_KINDS: there is none. */
static struct step next_calm(const struct world *w, const struct state *s)
{
	struct step steps[STEPS], best = {STEP_KINDS, 0, 0, 0};
	int count = steps_from(w, s, true, steps);

	for (int k = 0; k < count; k++) {
		bool better = steps[k].kind < best.kind || (steps[k].kind == best.kind && steps[k].kind == RESTART);

		if (steps[k].kind == WISH) /* all that are there come in, and all wish it */
			better = best.kind >= WISH && (steps[k].other > best.other || best.kind != WISH ||
						       (steps[k].other == best.other && steps[k].node > best.node));
		if (better)
			best = steps[k];
	}
	return best;
}

#define CALM_STEPS 100

static const char *come_back(const struct world *w, struct state s, bool verbose)
{
	const char *wrong = NULL;

	for (int n = 0; n < CALM_STEPS && !is_whole(w, &s) && wrong == NULL; n++) {
		struct step step = next_calm(w, &s);

		if (step.kind == STEP_KINDS)
			return STUCK;
		if (verbose)
			print_step(w, &s, step);
		wrong = take(w, &s, step);
	}
	return wrong == NULL && !is_whole(w, &s) ? STUCK : wrong;
}

static bool is_worth(const struct world *w, const struct state *from, enum shake how)
{
	if (from->lost > 0 || from->rot > 0)
		return false; /* it may have to wait for an operator */
	if (how == POWER_LOST_TAKEN_UP && from->next.number == 0)
		return false;
	return how != NONE_ENDS || w->calm;
}

/* In a run it is asked now and then. */
const char *look_back(struct search *x, const struct state *s)
{
	const char *wrong = NULL;

	for (int how = 0; how < SHAKES && wrong == NULL && (x->length == 0 || x->length % 4 == 1); how++) {
		struct state shaken = *s;

		if (!is_worth(x->world, s, (enum shake)how))
			continue;
		wrong = shake(x->world, &shaken, (enum shake)how);
		tidy(x->world, &shaken);
		if (wrong != NULL || book_has(&x->good[how], &shaken))
			continue;
		wrong = come_back(x->world, shaken, false);
		if (wrong == NULL)
			x->noted[0] += book_add(&x->good[how], &shaken, NULL, NULL);
	}
	return wrong;
}

/* ---- as text ------------------------------------------------------------------------------------------------------- */

void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const names[STEP_KINDS] = {
		"is given the state",
		"a message is sent",
		"has the beginning of the view in its log",
		"syncs a message",
		"syncs a cap",
		"is there to come in",
		"agrees",
		"the view is installed",
		"is started",
		"all restart; these are members",
		"a view without these is decided; others leave the subgroup",
		"a view that takes these in is decided, with these others wishing the subgroup",
		"crashes",
		"all power goes (1: what was decided is taken up)",
		"its disk is lost",
		"its log rots",
	};

	(void)w;
	(void)s;
	printf("      %d %s (%d%s)\n", step.node, names[step.kind], step.other, step.more != 0 ? ", anew" : "");
}

static void print_view(const char *what, const struct view *v)
{
	printf(" %s %d{%x} sub %d last %d members %x entered %x back %x from %d start %d;", what, v->number, v->group,
	       v->sub.birth, v->sub.last, v->sub.members, v->sub.entered, v->sub.back, v->sub.from, v->start);
}

void print_state(const struct world *w, const struct state *s)
{
	static const char *const statuses[] = {"down", "up", "in"};

	(void)w;
	printf("       ");
	print_view("now", &s->now);
	if (s->next.number != 0)
		print_view("decided", &s->next);
	printf(" sent %d delivered %d%s\n", s->sent, s->count, s->dark ? ", no power" : "");
	for (int i = 0; i < NODES; i++) {
		const struct node *n = &s->nodes[i];
		const struct entry *e = &n->disk.entry;

		printf("        %d %s%s said %d%s; base %d, birth %d end %d%s%s cut %d frontier %d log %d: %d%d%d\n", i,
		       statuses[n->status], n->agreed ? " agreed" : "", n->said, n->whole ? " whole" : "", n->disk.base,
		       e->birth, e->end, e->whole ? " whole" : "", e->rotten ? " rotten" : "", (int)e->cut - 1,
		       e->frontier, e->length, e->log[0], e->log[1], e->log[2]);
	}
}

void print_back(struct search *x, const struct state *s)
{
	static const char *const hows[SHAKES] = {"the power goes", "the power goes, and what was decided is taken up",
						 "the three end", "calm"};

	for (int how = 0; how < SHAKES; how++) {
		struct state shaken = *s;
		const char *wrong =
			is_worth(x->world, s, (enum shake)how) ? shake(x->world, &shaken, (enum shake)how) : NULL;

		tidy(x->world, &shaken);
		if (!is_worth(x->world, s, (enum shake)how) ||
		    (wrong == NULL && come_back(x->world, shaken, false) == NULL))
			continue;
		printf("      --- %s\n", hows[how]);
		print_state(x->world, &shaken);
		if (wrong == NULL)
			(void)come_back(x->world, shaken, true);
		return;
	}
}
