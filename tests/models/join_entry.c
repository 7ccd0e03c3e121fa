/* join_entry.c - the way of a node into a view, a first one or a later one; and what leaders and coordinators say to
 * newcomers. See join.h. */
#include "join.h"

#include <stddef.h>

static bool follows(const struct actor *a)
{
	return a->status == INVITED || a->status == AT_HAND;
}

/* What i follows. */
static const struct image *held(const struct state *s, int i)
{
	return image_at(s, i, 1);
}

static bool is_first(const struct image *image)
{
	return image->base < 0;
}

/* The actor that invited i. */
static int inviter(const struct state *s, int i)
{
	const struct image *image = held(s, i);

	return is_first(image) ? image->proposer : s->image[image->base].member[image->proposer];
}

static bool knows_a_member(const struct state *s, int i)
{
	for (int p = 0; p < ACTORS; p++)
		if (reaches(s, i, p) && s->a[i].says[p] == BELONGS)
			return true;
	return false;
}

/* It is known that it has ended, or has no part in what i follows. */
static bool is_lost(const struct world *w, const struct state *s, int i, int p)
{
	if (does(w, LAST_DROP_COUNTS) && is_first(held(s, i)) && !has(s->a[i].gone, p))
		return p != i && s->a[i].dropped[p] == s->a[i].at[1];
	if (does(w, GONE_BY_ID))
		for (int q = p % w->ids; q < ACTORS; q += w->ids)
			if (reaches(s, i, q))
				return false;
	return p != i && (has(s->a[i].gone, p) || (is_first(held(s, i)) && s->a[i].dropped[p] >= s->a[i].at[1]));
}

/* Its ranks that are not lost. */
static ranks left_of(const struct world *w, const struct state *s, int i)
{
	ranks left = 0;

	for (int r = 0; r < held(s, i)->count; r++)
		if (!is_lost(w, s, i, held(s, i)->member[r]))
			left |= only(r);
	return left;
}

static bool is_majority(const struct world *w, int count)
{
	return 2 * count > w->configured;
}

/* ---- looking around ------------------------------------------------------------------------------------------------ */

/* All actors that are there have been met and have said what they are. */
static bool has_looked_around(const struct world *w, const struct state *s, int i)
{
	if (does(w, FORM_RASHLY))
		return true;
	for (int p = 0; p < ACTORS; p++) {
		if (p == i || !alive(s, p) || has(s->cut[i], p))
			continue;
		if (!reaches(s, i, p) || s->a[i].says[p] == UNKNOWN)
			return false;
	}
	for (int p = 0; p < ACTORS; p++)
		if (reaches(s, i, p) && s->a[i].says[p] == UNKNOWN)
			return false;
	return true;
}

static bool can_form(const struct world *w, const struct state *s, int i)
{
	if (s->a[i].status != SEEKING || w->how == GROUP || !has_looked_around(w, s, i) ||
	    (knows_a_member(s, i) && !does(w, FORM_BESIDE)))
		return false;
	return id_of(w, i) < (w->how == FOUNDER ? 1 : w->configured);
}

static bool is_forming(const struct world *w, const struct state *s, int i, int p)
{
	return p == i || (reaches(s, i, p) && s->a[i].says[p] == FORMS && id_of(w, p) < w->configured);
}

static bool is_lowest(const struct world *w, const struct state *s, int i)
{
	for (int p = 0; p < ACTORS; p++)
		if (id_of(w, p) < id_of(w, i) && is_forming(w, s, i, p))
			return false;
	return true;
}

static actors forming(const struct world *w, const struct state *s, int i, int but)
{
	actors set = 0;

	for (int p = 0; p < ACTORS; p++)
		if (is_forming(w, s, i, p) && p != but)
			set |= (actors)(1 << p);
	return set;
}

/* p - 1 is left out of it, for it did not come. */
static bool can_coordinate(const struct world *w, const struct state *s, int i, int p, enum mood mood)
{
	int count;

	if (s->a[i].status != FORMING || (knows_a_member(s, i) && !does(w, FORM_BESIDE)) ||
	    (!is_lowest(w, s, i) && mood != ANY))
		return false;
	if (p > 0 && (mood != ANY || p - 1 == i || !is_forming(w, s, i, p - 1)))
		return false;
	count = size_of(forming(w, s, i, p - 1));
	return count == w->configured || (mood != CALM && is_majority(w, count));
}

/* ---- a first view begins --------------------------------------------------------------------------------------------- */

static void become_member(const struct world *w, struct state *s, int i)
{
	struct actor *a = &s->a[i];

	a->at[0] = a->at[1];
	for (int r = 0; r < MEMBERS; r++) {
		a->rows[0][r] = a->rows[1][r];
		a->seen[0][r] = a->seen[1][r];
	}
	a->frozen[0] = a->frozen[1];
	a->known[0] = a->known[1];
	close_image(s, i);
	a->status = MEMBER;
	a->opened = 0;
	a->wants = 0;
	publish(s, i, 0, BEAT, 2, 0);
	s->image[a->at[0]].begun |= (actors)(1 << i);
	tell_all(w, s, i);
}

static void found(const struct world *w, struct state *s, int i)
{
	int image = new_image(s);

	if (image < 0)
		return;
	s->image[image].count = s->image[image].voters = 1;
	s->image[image].member[0] = (uint8_t)i;
	s->image[image].fresh = 1;
	s->image[image].proposer = (int8_t)i;
	open_image(s, i, image);
	become_member(w, s, i);
	s->wrong = use(w, s, image);
}

static void coordinate(const struct world *w, struct state *s, int i, int p)
{
	actors set = forming(w, s, i, p - 1);
	int image = new_image(s);

	if (image < 0)
		return;
	s->image[image].proposer = (int8_t)i;
	s->image[image].voters = w->configured;
	for (int id = 0; id < w->ids; id++)
		for (int q = id; q < ACTORS; q += w->ids)
			if (has(set, q))
				s->image[image].member[s->image[image].count++] = (uint8_t)q;
	s->image[image].fresh = (ranks)((1 << s->image[image].count) - 1);
	for (int q = 0; q < ACTORS; q++)
		if (has(set, q) && q != i)
			send(s, i, q, VIEW, image, 0);
	open_image(s, i, image);
	s->a[i].status = INVITED;
	s->a[i].passes = !is_lowest(w, s, i);
}

/* ---- invitations ----------------------------------------------------------------------------------------------------- */

/* That view has been decided, and is the last; some actor is in it, or those that have not ended could go on in it. */
static bool is_awaited(const struct world *w, const struct state *s, int image)
{
	const struct image *k = &s->image[image];
	ranks live = 0, left = 0;

	if (is_first(k) || s->image[k->base].next != image || k->next >= 0)
		return false;
	for (int r = 0; r < k->count; r++) {
		int p = k->member[r];

		live |= alive(s, p) ? only(r) : 0;
		left |= s->a[p].status == AWAY ? only(r) : 0;
		if (s->a[p].status == MEMBER && s->a[p].at[0] == image)
			return true;
	}
	return quorum(w, k, live, left);
}

static void drop(const struct world *w, struct state *s, int i)
{
	struct actor *a = &s->a[i];
	const struct image *image = held(s, i);
	int key = a->at[1];

	if (is_awaited(w, s, key))
		s->wrong = "somebody drops a view that has been decided with it";
	if (is_first(image) && !does(w, SILENT_DROP))
		for (int r = 0; r < image->count; r++)
			if (image->member[r] != i)
				send(s, i, image->member[r], WITHDRAWN, key, 0);
	if (is_first(image) && key > a->floor)
		a->floor = (int8_t)key;
	close_image(s, i);
	a->status = SEEKING;
	if (w->how == MAJORITY && can_form(w, s, i))
		a->status = FORMING;
	tell_all(w, s, i);
}

static bool counts(const struct world *w, const struct state *s, int i, int p, int image)
{
	const struct actor *a = &s->a[i];

	if (a->status == MEMBER || a->says[p] == UNKNOWN)
		return false;
	if (!is_first(&s->image[image]))
		return !follows(a) || does(w, LOWER_KEY) || is_later(s, image, a->at[1]);
	if (!follows(a))
		return (a->status == FORMING || can_form(w, s, i)) && !knows_a_member(s, i) && image > a->floor;
	return is_first(held(s, i)) && id_of(w, p) == id_of(w, inviter(s, i)) && is_later(s, image, a->at[1]) &&
	       (a->status == INVITED || does(w, REINVITED_WHEN_THERE));
}

static void hear_withdrawn(const struct world *w, struct state *s, int i, int p, int image)
{
	struct actor *a = &s->a[i];

	if (is_first(&s->image[image]) && (a->dropped[p] < image || does(w, LAST_DROP_COUNTS)))
		a->dropped[p] = (int8_t)image;
	if (a->status == MEMBER)
		tell(w, s, i, p);
	if (!follows(a) || (a->at[1] != image && !does(w, WITHDRAWN_NOT_KEYED)))
		return;
	if (a->status == INVITED ? p == inviter(s, i) : !is_first(held(s, i)))
		drop(w, s, i);
}

void hear(const struct world *w, struct state *s, int i, int p, struct control message)
{
	struct actor *a = &s->a[i];

	switch ((enum kind)message.kind) {
	case INTRO:
		a->says[p] = (uint8_t)message.a;
		a->of[p] = message.b;
		if (a->status == FORMING && message.a == BELONGS && !does(w, FORM_BESIDE)) {
			a->status = SEEKING;
			tell_all(w, s, i);
		}
		break;
	case JOIN:
		if (a->status == MEMBER && s->image[a->at[0]].member[leader(s, i)] == i)
			a->wants |= (actors)(1 << p);
		break;
	case VIEW:
		if (!counts(w, s, i, p, message.a))
			break;
		if (follows(a))
			drop(w, s, i);
		open_image(s, i, message.a);
		a->status = INVITED;
		break;
	case WITHDRAWN:
		hear_withdrawn(w, s, i, p, message.a);
		break;
	default: /* THERE */
		a->there[p] = message.a;
		break;
	}
}

/* ---- it has begun ------------------------------------------------------------------------------------------------------ */

static bool has_begun(const struct world *w, const struct state *s, int i, enum mood mood)
{
	const struct actor *a = &s->a[i];
	const struct image *image = held(s, i);
	ranks left = left_of(w, s, i);
	int there = 1, awaited = 0;

	for (int r = 0; r < image->count; r++) {
		int beat = a->rows[1][r].beat;

		if (image->member[r] == i)
			continue;
		if (beat > 1 && !(is_first(image) && does(w, BEGUN_ALONE)))
			return true;
		if (beat > 0 && !is_first(image) && does(w, ENTER_BY_NEWCOMER))
			return true;
		there += beat > 0 && has(left, r);
		awaited += beat == 0 && has(left, r);
	}
	if (!is_first(image))
		return does(w, ENTER_UNBIDDEN);
	return (awaited == 0 || mood != CALM) && (is_majority(w, there) || does(w, BEGUN_WITHOUT_MAJORITY));
}

/* Some actor is in a view that it is not in, and that is no older. */
static bool is_overtaken(const struct world *w, const struct state *s, int i)
{
	for (int p = 0; p < ACTORS; p++)
		if (reaches(s, i, p) && s->a[i].says[p] == BELONGS && s->a[i].of[p] != s->a[i].at[1] &&
		    (s->image[s->a[i].of[p]].number >= held(s, i)->number || does(w, INTRO_NUMBER_IGNORED)))
			return !does(w, NEVER_VOID);
	return false;
}

static bool first_is_void(const struct world *w, const struct state *s, int i, enum mood mood)
{
	ranks left = left_of(w, s, i);
	int by = inviter(s, i);

	if (!is_majority(w, size_of(left)))
		return true;
	if (does(w, PROMISE_BROKEN) && size_of(left) < held(s, i)->count)
		return true;
	if (s->a[i].status == AT_HAND) /* those that are there are too few, and the others neither come nor end */
		return mood == LATE && !has_begun(w, s, i, LATE);
	if (by == i)
		return mood != CALM || (!is_lowest(w, s, i) && !s->a[i].passes && !does(w, COORDINATORS_STAY));
	return mood != CALM || (does(w, DROP_WITH_COORDINATOR) && has(s->a[i].gone, by));
}

static bool has_lost_its_members(const struct world *w, const struct state *s, int i, enum mood mood)
{
	const struct image *image = held(s, i);
	ranks old = (ranks)(((1 << image->count) - 1) & ~image->fresh);

	/* An actor that says that it is no member may just have become one; after a while it is taken at its word. */
	for (int r = 0; r < image->count && (mood == LATE || does(w, HASTY_DROP)) && !does(w, SEEKERS_ARE_MEMBERS); r++)
		if (reaches(s, i, image->member[r]) && s->a[i].says[image->member[r]] != BELONGS &&
		    s->a[i].says[image->member[r]] != UNKNOWN)
			old &= (ranks)~only(r);
	if (does(w, DROP_WITH_LEADER) && has(s->a[i].gone, inviter(s, i)))
		return true;
	return (left_of(w, s, i) & old) == 0;
}

static bool can_drop(const struct world *w, const struct state *s, int i, enum mood mood)
{
	const struct actor *a = &s->a[i];

	if (a->status == AT_HAND && has_begun(w, s, i, CALM) && !does(w, DROP_UNLOOKED))
		return false;
	return (is_first(held(s, i)) ? first_is_void(w, s, i, mood) : has_lost_its_members(w, s, i, mood)) ||
	       is_overtaken(w, s, i);
}

/* ---- asking, taking in -------------------------------------------------------------------------------------------------- */

static bool has_asked(const struct state *s, int i, int p)
{
	for (int k = 0; k < s->queued[i][p]; k++)
		if (s->queue[i][p][k].kind == JOIN)
			return true;
	return has(s->a[p].wants, i);
}

/* In truth it asks the actor that members name, and again every while; the others answer with the leader's name. */
static bool can_ask(const struct state *s, int i, int p)
{
	return p != i && reaches(s, i, p) && s->a[i].says[p] == BELONGS && s->a[p].status == MEMBER &&
	       image_at(s, p, 0)->member[leader(s, p)] == p && !has_asked(s, i, p) &&
	       (!follows(&s->a[i]) || inviter(s, i) != p);
}

/* The image of its attempt, NONE: it has none that is still prepared. */
static int prepared(const struct state *s, int i)
{
	const struct image *image = image_at(s, i, 0);
	int rank = rank_of(image, i);

	return image->proposals[rank][s->a[i].rows[0][rank].attempt];
}

static const struct row *own(const struct state *s, int i)
{
	return &s->a[i].rows[0][rank_of(image_at(s, i, 0), i)];
}

static bool may_prepare(const struct world *w, const struct state *s, int i)
{
	if (s->a[i].status != MEMBER || s->a[i].settled || leader(s, i) != rank_of(image_at(s, i, 0), i))
		return false;
	if ((own(s, i)->failed | own(s, i)->left) != 0 && !does(w, NEWCOMERS_WITH_SUSPECTS))
		return false;
	return !own(s, i)->wedged || does(w, NEWCOMERS_WITH_SUSPECTS);
}

static actors comers(const struct world *w, const struct state *s, int i, int p)
{
	const struct image *image = image_at(s, i, 0);
	int most = image->count > 1 ? image->count - 1 : 1;
	actors set = 0;

	if (p > 0)
		most = 1;
	if (does(w, TOO_MANY))
		most = MEMBERS;
	if (most > MEMBERS - image->count)
		most = MEMBERS - image->count;
	for (int q = 0; q < ACTORS; q++) {
		bool is_in = false;

		for (int r = 0; r < image->count; r++)
			is_in = is_in || (does(w, OLD_AND_NEW) ? image->member[r] == q
							       : id_of(w, image->member[r]) == id_of(w, q));
		if (has(s->a[i].wants, q) && reaches(s, i, q) && !is_in && size_of(set) < most)
			set |= (actors)(1 << q);
	}
	return set;
}

/* The quorum of a first view is taken of nodes that are not in it: one of the same members follows. */
static bool needs_renewal(const struct world *w, const struct state *s, int i)
{
	return image_at(s, i, 0)->voters > image_at(s, i, 0)->count && !does(w, NEVER_RENEWED);
}

/* All that want to, or (p is 1) one of them. */
static bool can_take_in(const struct world *w, const struct state *s, int i, int p)
{
	int reserve = does(w, NO_RESERVE) ? 0 : RESERVE;

	if (p > 1 || !may_prepare(w, s, i) || own(s, i)->agreed > 0 || !heedful(w, s, i) ||
	    own(s, i)->attempt + 2 + reserve > ATTEMPTS)
		return false;
	if (prepared(s, i) != NOTHING && !does(w, NEWCOMERS_WITH_SUSPECTS))
		return false;
	return size_of(comers(w, s, i, 0)) > p || (p == 0 && needs_renewal(w, s, i));
}

static actors invited(const struct state *s, int i)
{
	int image = prepared(s, i);
	actors set = 0;

	for (int r = 0; image != NOTHING && r < s->image[image].count; r++)
		if (has(s->image[image].fresh, r))
			set |= (actors)(1 << s->image[image].member[r]);
	return set;
}

static bool can_leave_out(const struct world *w, const struct state *s, int i, int p, enum mood mood)
{
	if (!may_prepare(w, s, i) || own(s, i)->agreed > 0 || !has(invited(s, i), p) ||
	    own(s, i)->attempt + 1 >= ATTEMPTS || does(w, NEVER_LEFT_OUT))
		return false;
	return has(s->a[i].gone, p) || (mood != CALM && s->a[i].there[p] != prepared(s, i));
}

/* ---- steps -------------------------------------------------------------------------------------------------------------- */

static bool can_be_ready(const struct world *w, const struct state *s, int i, enum mood mood)
{
	const struct actor *a = &s->a[i];
	const struct image *image = held(s, i);

	for (int r = 0; r < image->count; r++) {
		int p = image->member[r];

		if (p == i || has(a->frozen[1], r) || (follows(a) && is_lost(w, s, i, p)))
			continue;
		if (!has(image->opened, p) || has(s->cut[i], p) || !has(a->met, p) || (mood != ANY && !alive(s, p)))
			return false;
	}
	return true;
}

bool can_enter(const struct world *w, const struct state *s, struct step step, enum mood mood)
{
	int i = step.node, p = step.other;
	const struct actor *a = &s->a[i];

	switch ((enum step_kind)step.kind) {
	case ASK:
		return a->status < MEMBER && can_ask(s, i, p);
	case FORM:
		return can_form(w, s, i);
	case COORDINATE:
		return can_coordinate(w, s, i, p, mood);
	case VOID:
		return follows(a) && can_drop(w, s, i, mood);
	case PREPARED:
		return a->at[1] >= 0 && !a->ready && can_be_ready(w, s, i, mood);
	case ENTER:
		return a->status == AT_HAND && has_begun(w, s, i, mood);
	case TAKE_IN:
		return can_take_in(w, s, i, p);
	default: /* LEAVE_OUT */
		return can_leave_out(w, s, i, p, mood);
	}
}

const char *take_entry(const struct world *w, struct state *s, struct step step)
{
	int i = step.node, p = step.other, image;
	struct actor *a = &s->a[i];

	switch ((enum step_kind)step.kind) {
	case ASK:
		send(s, i, p, JOIN, 0, 0);
		break;
	case FORM:
		if (w->how == FOUNDER) {
			found(w, s, i);
			break;
		}
		a->status = FORMING;
		tell_all(w, s, i);
		break;
	case COORDINATE:
		coordinate(w, s, i, p);
		break;
	case VOID:
		drop(w, s, i);
		break;
	case PREPARED:
		a->ready = true;
		if (!follows(a))
			break;
		a->status = AT_HAND;
		s->image[a->at[1]].there |= (actors)(1 << i);
		publish(s, i, 1, BEAT, 1, 0);
		if (inviter(s, i) != i)
			send(s, i, inviter(s, i), THERE, a->at[1], 0);
		break;
	case ENTER:
		image = a->at[1];
		if (s->image[image].base >= 0 && s->image[s->image[image].base].next != image)
			return "somebody enters a view that was not decided";
		become_member(w, s, i);
		return use(w, s, image);
	case TAKE_IN:
		propose(w, s, i, comers(w, s, i, p), needs_renewal(w, s, i));
		break;
	default: /* LEAVE_OUT */
		propose(w, s, i, invited(s, i) & (actors) ~(1 << p), needs_renewal(w, s, i));
		break;
	}
	return s->wrong;
}
