/* join_rules.c - rows, images and queues; the network, and what goes wrong; what must be true. See join.h. */
#include "join.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const step_names[STEP_KINDS] = {
	"meets",
	"hears",
	"sees in the view",
	"sees in the next",
	"hears the end of",
	"asks",
	"suspects",
	"knows that has left",
	"leaves out",
	"is removed",
	"forms",
	"invites into a first view",
	"drops its invitation",
	"is ready",
	"enters",
	"takes in",
	"wedges",
	"proposes",
	"opens what is proposed",
	"acknowledges",
	"decides",
	"adopts",
	"echoes",
	"settles",
	"installs",
	"has a message",
	"leaves",
	"crashes",
	"returns",
	"is cut off from",
};

const bool takes_two[STEP_KINDS] = {
	[MEET] = true,    [HEAR] = true, [SEE] = true,       [SEE_NEXT] = true,   [END] = true,     [ASK] = true,
	[SUSPECT] = true, [MARK] = true, [LEAVE_OUT] = true, [COORDINATE] = true, [TAKE_IN] = true, [CUT] = true,
};

/* The step is one of actors with that status. */
static bool is_for(int kind, int status)
{
	if (kind == MEET || kind == HEAR || kind == SEE_NEXT || kind == END || kind == PREPARED || kind >= CRASH)
		return true;
	return (kind == ASK || (kind >= FORM && kind <= ENTER)) != (status == MEMBER);
}

static bool takes_rank(int kind)
{
	return kind == SEE || kind == SEE_NEXT || kind == SUSPECT || kind == MARK;
}

/* ---- images and rows -------------------------------------------------------------------------------------------------- */

int rank_of(const struct image *image, int actor)
{
	for (int r = 0; r < image->count; r++)
		if (image->member[r] == actor)
			return r;
	return -1;
}

bool is_later(const struct state *s, int image, int than)
{
	const struct image *a = &s->image[image], *b = &s->image[than];

	if (a->number != b->number)
		return a->number > b->number;
	if (a->base < 0)
		return image > than; /* keys of first views are greater than those that have been seen */
	return a->proposer != b->proposer ? a->proposer > b->proposer : a->attempt > b->attempt;
}

int new_image(struct state *s)
{
	struct image *image = &s->image[s->images];

	if (s->images == IMAGES) {
		s->full = true;
		return -1;
	}
	memset(image, 0, sizeof(*image));
	image->base = image->next = NONE;
	memset(image->proposals, NOTHING, sizeof(image->proposals));
	return s->images++;
}

void close_image(struct state *s, int i)
{
	struct actor *a = &s->a[i];

	a->at[1] = NONE;
	a->ready = false;
	memset(a->rows[1], 0, sizeof(a->rows[1]));
	memset(a->seen[1], 0, sizeof(a->seen[1]));
	a->frozen[1] = a->known[1] = 0;
}

void open_image(struct state *s, int i, int image)
{
	close_image(s, i);
	s->a[i].at[1] = (int8_t)image;
	s->image[image].opened |= (actors)(1 << i);
}

static void apply(struct row *r, struct message m)
{
	switch ((enum what)m.what) {
	case BEAT:
		r->beat = m.a;
		break;
	case RECEIVED:
		r->received = m.a;
		break;
	case FAILED:
		r->failed |= (ranks)(1 << m.a);
		break;
	case LEFT:
		r->left |= (ranks)(1 << m.a);
		break;
	case WEDGED:
		r->wedged = true;
		break;
	case PROPOSED:
		r->attempt = m.a;
		break;
	case ACKNOWLEDGED:
		r->acknowledged = m.a;
		break;
	case AGREED:
		r->agreed = m.a;
		r->decider = m.b;
		break;
	case INSTALLED:
		r->installed = true;
		break;
	default: /* GONE */
		r->gone = true;
		break;
	}
}

void publish(struct state *s, int i, int slot, enum what what, int a, int b)
{
	struct image *image = &s->image[s->a[i].at[slot]];
	int rank = rank_of(image, i);
	struct message m = {(uint8_t)what, (uint8_t)a, (uint8_t)b};

	if (image->published[rank] == LOG) {
		s->full = true;
		return;
	}
	image->log[rank][image->published[rank]++] = m;
	apply(&s->a[i].rows[slot][rank], m);
}

/* ---- control messages ------------------------------------------------------------------------------------------------- */

void send(struct state *s, int i, int p, enum kind kind, int a, int b)
{
	uint8_t *count = &s->queued[i][p];

	if (!reaches(s, i, p) || has(s->cut[i], p))
		return;
	if (kind == INTRO && *count > 0 && s->queue[i][p][*count - 1].kind == INTRO)
		--*count; /* of two in a row the last counts */
	if (*count == QUEUE) {
		s->full = true;
		return;
	}
	s->queue[i][p][(*count)++] = (struct control){(uint8_t)kind, (int8_t)a, (int8_t)b};
}

void tell(const struct world *w, struct state *s, int i, int p)
{
	const struct actor *a = &s->a[i];
	int standing = SEEKS;

	if (a->status == MEMBER)
		standing = BELONGS;
	else if (a->status == FORMING || (a->status != SEEKING && image_at(s, i, 1)->base < 0))
		standing = FORMS;
	/* An actor in the view knows, unless it has dropped it. */
	if (standing != BELONGS || rank_of(image_at(s, i, 0), p) < 0 ||
	    (image_at(s, i, 0)->base < 0 && a->dropped[p] >= a->at[0] && !does(w, UNTOLD)))
		send(s, i, p, INTRO, standing, standing == BELONGS ? a->at[0] : 0);
}

void tell_all(const struct world *w, struct state *s, int i)
{
	for (int p = 0; p < ACTORS; p++)
		if (p != i && reaches(s, i, p))
			tell(w, s, i, p);
}

static struct control next_control(struct state *s, int from, int to)
{
	struct control m = s->queue[from][to][0];

	s->queued[from][to]--;
	memmove(s->queue[from][to], s->queue[from][to] + 1, s->queued[from][to] * sizeof(m));
	return m;
}

/* ---- the network, and what goes wrong ---------------------------------------------------------------------------------- */

static bool has_met_earlier(const struct world *w, const struct state *s, int i, int p)
{
	for (int q = p - w->ids; q >= 0; q -= w->ids)
		if (reaches(s, i, q))
			return true;
	return false;
}

/* All that it has said has been read. */
static bool is_drained(const struct state *s, int i, int p)
{
	const struct actor *a = &s->a[i];

	for (int slot = 0; slot < 2; slot++) {
		int rank = a->at[slot] < 0 ? -1 : rank_of(image_at(s, i, slot), p);

		if (rank >= 0 && !has(a->frozen[slot], rank) &&
		    a->seen[slot][rank] < image_at(s, i, slot)->published[rank])
			return false;
	}
	return s->queued[p][i] == 0;
}

static bool can_see(const struct state *s, int i, int rank, int slot)
{
	const struct actor *a = &s->a[i];
	int image = a->at[slot];

	if (image < 0 || (slot == 1 && !a->ready) || rank >= s->image[image].count || has(a->frozen[slot], rank))
		return false;
	return s->image[image].member[rank] != i && a->seen[slot][rank] < s->image[image].published[rank] &&
	       !has(a->gone, s->image[image].member[rank]);
}

static bool can_happen(const struct world *w, const struct state *s, struct step step)
{
	int i = step.node, p = step.other;
	const struct actor *a = &s->a[i];

	switch ((enum step_kind)step.kind) {
	case LEAVE:
		return s->left < w->leaves && has(w->leavers, id_of(w, i)) && a->status == MEMBER;
	case CRASH:
		return s->crashed < w->crashes && (w->mortal == 0 || has(w->mortal, id_of(w, i)));
	case CUT:
		return s->cuts < w->cuts && i < p && alive(s, p) && !has(s->cut[i], p);
	default:
		return false;
	}
}

static bool can_return(const struct world *w, const struct state *s, int i)
{
	if (s->a[i].status != UNBORN)
		return false;
	if (i < w->ids)
		return has(w->absent, i);
	return s->returned < w->returns && s->a[i - w->ids].status > ALIVE;
}

/* It would not be, if nothing went wrong. */
static bool is_trouble(const struct world *w, const struct state *s, struct step step)
{
	return !can(w, s, step, step.kind == SUSPECT ? LATE : CALM);
}

static bool can_be(const struct world *w, const struct state *s, struct step step, enum mood mood)
{
	int i = step.node, p = step.other;
	const struct actor *a = &s->a[i];

	if (step.kind == RETURN)
		return mood == ANY && p == 0 && can_return(w, s, i);
	if (!alive(s, i) || (!takes_two[step.kind] && p > 0))
		return false;
	switch ((enum step_kind)step.kind) {
	case MEET:
		/* Before it says what it is it looks at its rows. */
		return p != i && alive(s, p) && !has(a->met, p) && !has(s->cut[i], p) && !has_met_earlier(w, s, i, p) &&
		       (does(w, TELL_UNLOOKED) || !can_enter(w, s, (struct step){ENTER, step.node, 0}, CALM));
	case HEAR:
		return p != i && reaches(s, i, p) && s->queued[p][i] > 0;
	case SEE:
		return a->status == MEMBER && can_see(s, i, p, 0);
	case SEE_NEXT:
		return can_see(s, i, p, 1);
	case END:
		return p != i && reaches(s, i, p) &&
		       ((alive(s, p) ? has(s->cut[i], p) : s->a[p].status != AWAY) ||
			(s->a[p].status == AWAY && is_drained(s, i, p)));
	case ASK:
	case LEAVE_OUT:
	case FORM:
	case COORDINATE:
	case VOID:
	case PREPARED:
	case ENTER:
	case TAKE_IN:
		return can_enter(w, s, step, mood);
	case LEAVE:
	case CRASH:
	case CUT:
		return mood == ANY && can_happen(w, s, step);
	default:
		return can_change(w, s, step, mood);
	}
}

bool can(const struct world *w, const struct state *s, struct step step, enum mood mood)
{
	if (!can_be(w, s, step, mood))
		return false;
	if (mood != ANY)
		return true;
	if (step.kind == SUSPECT)
		return s->mistaken < w->mistakes || !is_trouble(w, s, step);
	if (step.kind == VOID || step.kind == COORDINATE || step.kind == ENTER || step.kind == LEAVE_OUT)
		return s->late < w->timeouts || !is_trouble(w, s, step);
	return true;
}

static void meet(const struct world *w, struct state *s, int i, int p)
{
	s->a[i].met |= (actors)(1 << p);
	s->a[i].says[p] = UNKNOWN;
	s->a[i].there[p] = s->a[i].dropped[p] = NONE;
	tell(w, s, i, p);
}

static void end(struct state *s, int i, int p)
{
	s->a[i].gone |= (actors)(1 << p);
	s->a[i].wants &= (actors) ~(1 << p);
	s->a[i].there[p] = NONE;
	s->queued[p][i] = 0;
}

static void go(struct state *s, int i, enum status status)
{
	struct actor *a = &s->a[i];

	if (a->status == MEMBER)
		stop(s, i);
	if (status == AWAY) {
		publish(s, i, 0, GONE, 0, 0);
		if (a->at[1] >= 0 && a->ready)
			publish(s, i, 1, GONE, 0, 0);
	}
	a->status = (uint8_t)status;
}

const char *take(const struct world *w, struct state *s, struct step step)
{
	int i = step.node, p = step.other, slot = step.kind == SEE_NEXT;
	struct actor *a = &s->a[i];
	struct control m;
	struct image *image;
	const char *wrong = NULL;

	if (step.kind == SUSPECT && s->mistaken < w->mistakes)
		s->mistaken += is_trouble(w, s, step);
	if ((step.kind == VOID || step.kind == COORDINATE || step.kind == ENTER || step.kind == LEAVE_OUT) &&
	    s->late < w->timeouts)
		s->late += is_trouble(w, s, step);
	switch ((enum step_kind)step.kind) {
	case MEET:
		meet(w, s, i, p);
		break;
	case HEAR:
		m = next_control(s, p, i);
		hear(w, s, i, p, m);
		break;
	case SEE:
	case SEE_NEXT:
		image = &s->image[a->at[slot]];
		apply(&a->rows[slot][p], image->log[p][a->seen[slot][p]++]);
		break;
	case END:
		end(s, i, p);
		break;
	case ASK:
	case LEAVE_OUT:
	case FORM:
	case COORDINATE:
	case VOID:
	case PREPARED:
	case ENTER:
	case TAKE_IN:
		wrong = take_entry(w, s, step);
		break;
	case LEAVE:
		s->left++;
		go(s, i, AWAY);
		break;
	case CRASH:
		s->crashed++;
		go(s, i, DEAD);
		break;
	case RETURN:
		s->returned += i >= w->ids;
		a->status = SEEKING;
		break;
	case CUT:
		s->cuts++;
		s->cut[i] |= (actors)(1 << p);
		s->cut[p] |= (actors)(1 << i);
		break;
	default:
		wrong = take_change(w, s, step);
		break;
	}
	if (wrong == NULL)
		wrong = s->wrong;
	return wrong != NULL ? wrong : look_at_deliveries(w, s);
}

static int steps_in(const struct world *w, const struct state *s, enum mood mood, struct step *out)
{
	int count = 0, everybody = w->ids * (1 + w->returns);

	if (everybody > ACTORS)
		everybody = ACTORS;

	for (uint8_t kind = 0; kind < STEP_KINDS; kind++) {
		int most = !takes_two[kind]   ? 1
			   : takes_rank(kind) ? MEMBERS
			   : kind == TAKE_IN  ? 2
					      : everybody + (kind == COORDINATE);

		for (uint8_t i = 0; i < everybody; i++) {
			if (alive(s, i) ? !is_for(kind, s->a[i].status) : kind != RETURN)
				continue;
			for (uint8_t p = 0; p < most; p++)
				if (can(w, s, (struct step){kind, i, p}, mood))
					out[count++] = (struct step){kind, i, p};
		}
	}
	return count;
}

int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out)
{
	return steps_in(w, s, calm ? CALM : ANY, out);
}

int late_steps(const struct world *w, const struct state *s, struct step *out)
{
	return steps_in(w, s, LATE, out);
}

/* ---- the beginning -------------------------------------------------------------------------------------------------------- */

static void begin_group(const struct world *w, struct state *s)
{
	int image = new_image(s);
	struct image *k = &s->image[image];

	k->number = 1;
	k->count = k->voters = w->first;
	for (int i = 0; i < w->first; i++) {
		k->member[i] = (uint8_t)i;
		s->a[i].at[0] = (int8_t)image;
		s->a[i].status = MEMBER;
		k->begun |= (actors)(1 << i);
		k->opened |= (actors)(1 << i);
		for (int j = 0; j < w->first; j++)
			s->a[i].rows[0][j].beat = 2;
	}
}

void begin(const struct world *w, struct state *s)
{
	memset(s, 0, offsetof(struct state, image));
	for (int i = 0; i < ACTORS; i++) {
		s->a[i].at[0] = s->a[i].at[1] = s->a[i].floor = NONE;
		memset(s->a[i].there, NONE, sizeof(s->a[i].there));
		memset(s->a[i].dropped, NONE, sizeof(s->a[i].dropped));
		if (i < w->ids && !has(w->absent, i))
			s->a[i].status = SEEKING;
	}
	if (w->how == GROUP)
		begin_group(w, s);
	for (int i = 0; i < w->ids; i++)
		for (int p = 0; p < w->ids; p++)
			if (i != p && alive(s, i) && alive(s, p) &&
			    (w->acquainted || (w->how == GROUP && i < w->first && p < w->first))) {
				s->a[i].met |= (actors)(1 << p);
				s->a[i].says[p] = s->a[p].status == MEMBER ? BELONGS : SEEKS;
				s->a[i].of[p] = s->a[p].status == MEMBER ? s->a[p].at[0] : 0;
			}
}

void copy(struct state *to, const struct state *from)
{
	memcpy(to, from, offsetof(struct state, image) + from->images * sizeof(from->image[0]));
}
