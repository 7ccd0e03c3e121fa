/* history_births.c - dynamic subgroups (docs/decisions/0046): births in views, and stays of nodes. What is delivered in them is judged as
 * in any subgroup; here is what is theirs alone. */
#include "sim/history_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint32_t wh_history_bear(struct wh_history *h, const struct wh_history_subgroup *subgroup)
{
	if (h->is_broken)
		return UINT32_MAX;
	for (uint32_t i = 0; i < h->subgroup_count; i++)
		if (h->subgroups[i].dynamic && h->subgroups[i].born == subgroup->born &&
		    h->subgroups[i].seat == subgroup->seat) {
			wh_history_break(h, "births: %s is born in view %" PRIu64 " and seat %" PRIu32 ", as %s was",
					 subgroup->name, subgroup->born, subgroup->seat, h->subgroups[i].name);
			return UINT32_MAX;
		}
	if (wh_history_add_subgroup(h, subgroup) == NULL) {
		wh_history_memory_out(h);
		return UINT32_MAX;
	}
	return h->subgroup_count - 1;
}

/* ---- in a view ----------------------------------------------------------------------------------------------------------- */

static const struct wh_history_dynamic *find_dynamic(const struct view *view, uint32_t subgroup)
{
	for (uint32_t i = 0; i < view->dynamic_count; i++)
		if (view->dynamic[i].subgroup == subgroup)
			return &view->dynamic[i];
	return NULL;
}

/* Beside the others of its view: of its name and in its seat it is the only one. */
static bool check_alone(struct wh_history *h, const struct view *view, uint32_t at)
{
	const struct subgroup *g = &h->subgroups[view->dynamic[at].subgroup];

	for (uint32_t i = 0; i < at; i++) {
		const struct subgroup *other = &h->subgroups[view->dynamic[i].subgroup];

		if (other->title == g->title || other->seat == g->seat)
			return wh_history_break(h, "births: view %" PRIu64 " has two dynamic subgroups %s, %s and %s",
						view->number, other->title == g->title ? "of a name" : "in a seat",
						other->name, g->name);
	}
	return true;
}

/* It goes on from the view before: some member stays, and the others say rightly whether they do. */
static bool check_goes_on(struct wh_history *h, const struct view *view, const struct view *before,
			  const struct wh_history_dynamic *now)
{
	const struct subgroup *g = &h->subgroups[now->subgroup];
	const struct wh_history_dynamic *was = find_dynamic(before, now->subgroup);
	uint64_t joined = 0;

	if (was == NULL)
		return wh_history_break(h,
					"births: %s, born in view %" PRIu64 ", is in view %" PRIu64
					", and was not in the one before",
					g->name, g->born, view->number);
	for (uint32_t rank = 0; rank < view->count; rank++)
		if (before->place[view->members[rank]] == 0)
			joined |= UINT64_C(1) << view->members[rank];
	if ((was->members & now->members & ~joined) == 0)
		return wh_history_break(h, "births: %s goes on in view %" PRIu64 ", and no member of it stays", g->name,
					view->number);
	if ((now->members & ~(was->members & ~joined)) != now->entered)
		return wh_history_break(
			h, "births: %s in view %" PRIu64 " says that nodes %" PRIx64 " have entered, expected %" PRIx64,
			g->name, view->number, now->entered, now->members & ~(was->members & ~joined));
	return true;
}

static bool check_is_born(struct wh_history *h, const struct view *view, const struct view *before,
			  const struct wh_history_dynamic *now)
{
	const struct subgroup *g = &h->subgroups[now->subgroup];

	if (now->entered != now->members)
		return wh_history_break(h, "births: %s is born in view %" PRIu64 " with a member that has not entered",
					g->name, view->number);
	for (uint32_t i = 0; before != NULL && i < before->dynamic_count; i++)
		if (h->subgroups[before->dynamic[i].subgroup].seat == g->seat)
			return wh_history_break(
				h, "births: %s is born in view %" PRIu64 ", in the seat that %s had in the view before",
				g->name, view->number, h->subgroups[before->dynamic[i].subgroup].name);
	return true;
}

static bool check_dynamic(struct wh_history *h, const struct view *view, uint32_t at)
{
	const struct wh_history_dynamic *now = &view->dynamic[at];
	const struct subgroup *g = now->subgroup < h->subgroup_count ? &h->subgroups[now->subgroup] : NULL;
	const struct view *before = view->number > 0 ? wh_history_find_view(h, view->number - 1) : NULL;
	uint64_t members = 0;

	if (g == NULL || !g->dynamic || g->born > view->number)
		return wh_history_break(
			h, "births: view %" PRIu64 " has dynamic subgroup %" PRIu32 ", which is not born by then",
			view->number, now->subgroup);
	for (uint32_t rank = 0; rank < view->count; rank++)
		members |= UINT64_C(1) << view->members[rank];
	if (now->members == 0 || (now->members & ~members) != 0 || (now->senders & ~now->members) != 0)
		return wh_history_break(h,
					"births: %s in view %" PRIu64 " has members %" PRIx64 " and senders %" PRIx64,
					g->name, view->number, now->members, now->senders);
	if (now->parameters != g->parameters)
		return wh_history_break(h, "births: %s in view %" PRIu64 " has other parameters than when it was born",
					g->name, view->number);
	if (!check_alone(h, view, at))
		return false;
	if (g->born == view->number)
		return check_is_born(h, view, before, now);
	return before == NULL || check_goes_on(h, view, before, now);
}

static bool is_equal(const struct wh_history_dynamic *one, const struct wh_history_dynamic *other)
{
	return one->subgroup == other->subgroup && one->members == other->members && one->senders == other->senders &&
	       one->entered == other->entered && one->parameters == other->parameters;
}

static bool check_same(struct wh_history *h, const struct view *view, const struct wh_history_view *told)
{
	bool same = told->dynamic_count == view->dynamic_count;

	for (uint32_t i = 0; same && i < view->dynamic_count; i++)
		same = is_equal(&view->dynamic[i], &told->dynamic[i]);
	return same || wh_history_break(h,
					"births: view %" PRIu64 " of node %" PRIu32
					" has other dynamic subgroups than that of %s",
					view->number, told->members[told->rank], wh_history_who(h, view->by).text);
}

bool wh_history_check_births(struct wh_history *h, struct view *view, const struct wh_history_view *told, bool first)
{
	if (!first)
		return check_same(h, view, told);
	view->dynamic = calloc(told->dynamic_count + 1, sizeof(*view->dynamic));
	if (view->dynamic == NULL)
		return wh_history_memory_out(h);
	for (uint32_t i = 0; i < told->dynamic_count; i++) {
		view->dynamic[i] = told->dynamic[i];
		view->dynamic_count++;
		if (!check_dynamic(h, view, i))
			return false;
	}
	return true;
}

/* ---- stays --------------------------------------------------------------------------------------------------------------- */

/* The wish of that life for that name which is not over; NULL: there is none. */
static struct wish *find_wish(const struct wh_history *h, uint32_t life, uint32_t title)
{
	for (uint64_t i = h->wish_count; i-- > 0;)
		if (h->wishes[i].life == life && h->wishes[i].title == title && !h->wishes[i].over)
			return &h->wishes[i];
	return NULL;
}

static void end_wish(struct wh_history *h, struct wish *wish)
{
	wish->over = true;
	wish->until = ++h->wish_events;
}

bool wh_history_wish(struct wh_history *h, uint32_t node, uint32_t title, uint64_t parameters, bool sends)
{
	struct wish *wishes;

	if (!wh_history_lives(h, node, "wishes"))
		return false;
	if (find_wish(h, node, title) != NULL)
		return wh_history_break(h, "stays: %s wishes for d%" PRIu32 ", and has not left it",
					wh_history_who(h, node).text, title);
	wishes = wh_history_grown(h->wishes, h->wish_count + 1, &h->wish_capacity, sizeof(*wishes));
	if (wishes == NULL)
		return wh_history_memory_out(h);
	h->wishes = wishes;
	wishes[h->wish_count++] = (struct wish){.life = node,
						.title = title,
						.parameters = parameters,
						.sends = sends,
						.since = ++h->wish_events,
						.until = UINT64_MAX};
	return true;
}

bool wh_history_unwish(struct wh_history *h, uint32_t node, uint32_t title)
{
	struct wish *wish = find_wish(h, node, title);

	if (!wh_history_lives(h, node, "leaves"))
		return false;
	if (wish != NULL)
		wish->leaves = true;
	return true;
}

/* Somebody else has wished for that name with other parameters, before this wish was over. */
static bool is_contested(const struct wh_history *h, const struct wish *wish)
{
	for (uint64_t i = 0; i < h->wish_count; i++) {
		const struct wish *other = &h->wishes[i];

		if (other->life != wish->life && other->title == wish->title && other->parameters != wish->parameters &&
		    other->until > wish->since)
			return true;
	}
	return false;
}

bool wh_history_wish_refused(struct wh_history *h, uint32_t node, uint32_t title)
{
	struct wish *wish = find_wish(h, node, title);

	if (!wh_history_lives(h, node, "is refused"))
		return false;
	if (wish == NULL || wish->in || !is_contested(h, wish))
		return wh_history_break(h, "stays: %s is refused d%" PRIu32 ", and %s", wh_history_who(h, node).text,
					title,
					wish == NULL ? "has not wished it"
					: wish->in   ? "is in it"
						     : "no node has wished it otherwise");
	end_wish(h, wish);
	return true;
}

bool wh_history_stay_over(struct wh_history *h, uint32_t node, uint32_t title)
{
	struct wish *wish = find_wish(h, node, title);

	if (!wh_history_lives(h, node, "is out"))
		return false;
	if (wish == NULL)
		return true;
	if (wish->in || !wish->leaves)
		return wh_history_break(h, "stays: %s is told that it is out of d%" PRIu32 ", and %s",
					wh_history_who(h, node).text, title, wish->in ? "is in it" : "has not left it");
	end_wish(h, wish);
	return true;
}

/* What it had committed is delivered: by itself, if it has a state and is not behind, and so by all. */
static bool check_sent(struct wh_history *h, uint32_t life, const struct subgroup *g)
{
	const struct member *member = &g->members[life];
	const struct stream *stream = &g->streams[life];

	for (uint64_t i = 0; i < stream->count && !member->awaits && !member->behind; i++)
		if (stream->messages[i].state == COMMITTED && !stream->messages[i].delivered)
			return wh_history_break(h,
						"stays: %s is out of %s, and its message %" PRIu64 " is not delivered",
						wh_history_who(h, life).text, g->name, i);
	return true;
}

static bool begin_stay(struct wh_history *h, uint32_t life, const struct subgroup *g, struct wish *wish)
{
	if (wish == NULL || wish->parameters != g->parameters)
		return wh_history_break(h, "stays: %s is in %s, which it has %s", wh_history_who(h, life).text, g->name,
					wish == NULL ? "not wished" : "wished otherwise");
	wish->in = true;
	return true;
}

bool wh_history_take_stay(struct wh_history *h, uint32_t life, const struct subgroup *g,
			  const struct wh_history_place *place)
{
	const struct member *member = &g->members[life];
	struct wish *wish = find_wish(h, life, g->title);
	bool was_in = member->place.role != WH_HISTORY_OUT, is_in = place->role != WH_HISTORY_OUT;

	if (is_in && !was_in && !begin_stay(h, life, g, wish))
		return false;
	if (place->role == WH_HISTORY_SENDER && !wish->sends)
		return wh_history_break(h, "stays: %s is a sender in %s, and only listens",
					wh_history_who(h, life).text, g->name);
	if (is_in || !was_in)
		return true;
	if (wish == NULL || !wish->leaves)
		return wh_history_break(h, "stays: %s is out of %s, and has not left it", wh_history_who(h, life).text,
					g->name);
	end_wish(h, wish);
	return check_sent(h, life, g);
}

bool wh_history_wishes_end(struct wh_history *h, uint32_t life)
{
	for (uint64_t i = 0; i < h->wish_count; i++) {
		const struct wish *wish = &h->wishes[i];

		if (wish->life == life && !wish->over && wish->leaves == wish->in) /* else it was taken back */
			return wh_history_break(h, "progress: %s ends, and has %s d%" PRIu32,
						wh_history_who(h, life).text,
						wish->leaves ? "not left" : "not come into", wish->title);
	}
	return true;
}
