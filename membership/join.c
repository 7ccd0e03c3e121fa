/* join.c - see join.h; form.c has first views. */
#include "membership/restart_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ASK_AGAIN_NS (100 * WH_NS_PER_MS)
#define LOOK_AGAIN_NS WH_NS_PER_MS /* heartbeats do not ring */

void wh_join_begin(struct wh_join *join)
{
	join->began_ns = join->roster->loop->now_ns;
	if (join->restart != NULL)
		join->floor = wh_restart_floor(join->restart);
	wh_join_introduce(join);
}

void wh_join_close(struct wh_join *join)
{
	if (join->restart != NULL)
		wh_restart_close(join->restart);
	wh_view_parts_free(&join->parts);
}

/* ---- what I am --------------------------------------------------------------------------------------------------------- */

/* Members that hear no quorum can let no node in. */
static bool is_better_member(const struct wh_known_node *one, const struct wh_known_node *other)
{
	return one->quorum != other->quorum ? one->quorum : one->view > other->view;
}

/* A member, of the latest view of all; -1: there is none. */
int wh_join_member(const struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;
	int found = -1;

	for (uint32_t node = 0; node < roster->nodes; node++) {
		const struct wh_known_node *known = &roster->known_nodes[node];

		if (known->introduced && known->differs == NULL && known->standing == WH_MEMBER_OF &&
		    (found < 0 || is_better_member(known, &roster->known_nodes[found])))
			found = (int)node;
	}
	return found;
}

bool wh_join_is_between(const struct wh_join *join)
{
	return wh_roster_stranger(join->roster, 0) >= 0;
}

/* What has been met may be a member, and what has not been met yet. What does not say what it is is not waited for for ever:
 * it counts as cut off, and the rules of forming allow for that. */
bool wh_join_looks_around(const struct wh_join *join)
{
	struct wh_transport *transport = join->roster->transport;

	if (transport->ops->searching(transport))
		return true;
	if (join->roster->loop->now_ns >= join->began_ns + join->patience_ns)
		return false;
	for (uint32_t node = 0; node < join->roster->nodes; node++)
		if (join->roster->known_nodes[node].incarnation != 0 && !join->roster->known_nodes[node].introduced)
			return true;
	return false;
}

/* Where nodes keep logs: it has something on disk that no first view may be formed beside. */
static bool has_stood(const struct wh_join *join)
{
	return join->restart != NULL && wh_restart_disk(join->restart) == WH_DISK_STANDS;
}

bool wh_join_forms(const struct wh_join *join)
{
	return !has_stood(join) && (join->may_form || join->forced) && join->founder < 0 &&
	       join->roster->id < join->configured && wh_join_member(join) < 0 &&
	       (join->state != WH_JOIN_SEEKING || !wh_join_looks_around(join));
}

/* The greatest key of a first view that has been seen here: a coordinator that has come back must not use it for another. */
static uint64_t seen_key(const struct wh_join *join)
{
	bool follows = join->state != WH_JOIN_SEEKING && wh_is_first_view(join->key);

	return follows && join->key > join->floor ? join->key : join->floor;
}

void wh_join_introduce(struct wh_join *join)
{
	struct wh_wire intro = {.standing = wh_join_forms(join) ? WH_FORMING : WH_SEEKING,
				.flag = join->state != WH_JOIN_SEEKING,
				.forced = join->forced,
				.group = join->record,
				.key = join->floor};
	const struct wh_standing *standing;

	if (join->restart != NULL) {
		standing = wh_restart_standing(join->restart, join->roster->id);
		intro.disk = wh_restart_disk(join->restart);
		intro.base = intro.disk == WH_DISK_STANDS ? standing->number : 0;
		intro.group = standing->group;
	}
	join->roster->seen = seen_key(join);
	wh_roster_introduce(join->roster, &intro, NULL);
}

/* ---- invitations --------------------------------------------------------------------------------------------------------- */

/* While a view may come that serves what I have said I say nothing new. */
static void hold_wishes(const struct wh_join *join, bool hold)
{
	if (join->wishing != NULL)
		join->wishing->held = hold;
}

void wh_join_tell_refused(struct wh_join *join, const char *why)
{
	join->on.told(join->ctx, &(struct wh_fact){.kind = WH_FACT_REFUSED, .why = why});
}

void wh_join_drop(struct wh_join *join, const char *why)
{
	if (join->state != WH_JOIN_INVITED && join->state != WH_JOIN_THERE)
		return;
	wh_event(join->roster->diag, why, join->view->number, join->key, 0);
	hold_wishes(join, false);
	if (wh_is_first_view(join->key)) {
		wh_join_requests_renounce(join->requests, join->view, join->key);
		join->floor = join->key > join->floor ? join->key : join->floor;
	}
	join->state = WH_JOIN_SEEKING;
	join->view = NULL;
	join->on.discard(join->ctx, 0);
	join->asked_ns = 0;
}

/* What a round of a restart has decided: its image is named by the round's ballot. */
static bool is_behind_restart(const struct wh_view *view, uint64_t key)
{
	return wh_is_first_view(key) && view->number > 0;
}

/* The sender says which view it is in, and may be gone before this node is there. */
static void note_before(struct wh_join *join)
{
	const struct wh_known_node *by = &join->roster->known_nodes[join->by];

	if (join->before == 0 && by->introduced && by->standing == WH_MEMBER_OF && by->group == join->view->group &&
	    by->view + 1 == join->view->number)
		join->before = by->key;
}

/* The view is mine from here on. */
void wh_join_follow(struct wh_join *join, struct wh_view *view, uint64_t key, uint32_t by)
{
	wh_join_drop(join, "another invitation");
	join->view = view;
	join->key = key;
	join->by = by;
	join->before = 0;
	note_before(join);
	join->invited_ns = join->roster->loop->now_ns;
	join->said_open = join->said_there = false;
	if (join->restart != NULL && !is_behind_restart(view, key))
		wh_restart_forget(join);
	wh_event(join->roster->diag, "invited", view->number, key, by);
	hold_wishes(join, true);
	if (join->on.open(join->ctx, NULL, view, key) != NULL)
		join->state = WH_JOIN_INVITED;
	else
		join->view = NULL;
}

/* An invitation into a later view counts if its key is greater. One into a first view counts while no other does; but for
 * that, of the same coordinator the last, until I am there: then I have promised to go on in it. */
static bool may_follow(const struct wh_join *join, uint32_t from, uint64_t key)
{
	bool follows = join->state != WH_JOIN_SEEKING;

	if (join->state == WH_JOIN_IN)
		return false;
	if (!wh_is_first_view(key))
		return !follows || key > join->key;
	if (join->restart != NULL && wh_restart_expects(join, from, key))
		return true;
	if (!wh_join_forms(join) || key <= join->floor)
		return false;
	return !follows ||
	       (join->state == WH_JOIN_INVITED && wh_is_first_view(join->key) && from == join->by && key > join->key);
}

/* The inviter says what the whole view is; that this node is new in it, and what its key is about, can be checked. */
static bool is_for_me(const struct wh_join *join, const struct wh_view *view, uint64_t key)
{
	const struct wh_roster *roster = join->roster;

	if (is_behind_restart(view, key))
		return join->restart != NULL && wh_restart_invites(join, view, key) &&
		       wh_view_rank_of(view, roster->id, roster->incarnation) >= 0;
	return wh_view_rank_of(view, roster->id, roster->incarnation) >= 0 &&
	       wh_rank_find(view->joined, view->joined_count, roster->id) >= 0 &&
	       (wh_is_first_view(key) ? view->number == 0 : view->number == wh_image_view(key) && view->number > 0);
}

/* In a first view that I have promised to go on in, and while I come into a later one, another group is nothing to me. */
static bool goes_together(const struct wh_join *join, uint32_t from, const struct wh_view *view)
{
	bool is_bound = join->state == WH_JOIN_THERE || (join->view != NULL && join->view->number > 0);

	if (is_bound && view->group != join->view->group)
		return false;
	return view->number > 0 || wh_form_agrees(join, from, view);
}

/* Am I where I wish to be? That the view succeeds the one before the members see. */
static enum wh_succession places_me(const struct wh_join *join, const struct wh_view *view)
{
	static const struct wh_wish_set nothing = {.number = 0};
	static const bool refused[1] = {false};
	uint32_t me = (uint32_t)wh_view_rank(view, join->roster->id);

	if (join->wishing == NULL)
		return view->dynamic_count > 0 ? WH_NO_SUCCESSOR : wh_wishes_place(view, me, &nothing, refused, NULL);
	return wh_wishes_place(view, me, &join->wishing->said, join->wishing->refused, NULL);
}

/* It is an invitation. False: no node can have sent it. The view becomes the join's. */
static bool take_invitation(struct wh_join *join, uint32_t from, struct wh_view *view, uint64_t key)
{
	enum wh_succession places = is_for_me(join, view, key) ? places_me(join, view) : WH_NO_SUCCESSOR;

	if (is_behind_restart(view, key) && is_for_me(join, view, key)) /* a new life has wished nothing yet */
		places = WH_SUCCEEDS;
	if (places == WH_OUT_OF_DATE) /* another comes, which serves what I said last */
		hold_wishes(join, true);
	if (places == WH_SUCCEEDS && goes_together(join, from, view))
		wh_join_follow(join, view, key, from);
	else
		wh_view_free(view);
	return places != WH_NO_SUCCESSOR;
}

static bool on_view_message(struct wh_join *join, uint32_t node, const struct wh_wire *message)
{
	struct wh_view *view;
	struct wh_error err;
	enum whorl_result result;

	if (!may_follow(join, node, message->key))
		return true;
	result = wh_view_parts_take(&join->parts, message);
	if (result == WHORL_AGAIN || result == WHORL_MEMORY)
		return true;
	if (result != WHORL_OK)
		return false;
	result = wh_view_decode(&view, join->parts.bytes, join->parts.total, join->layout, join->roster->nodes, &err);
	wh_view_parts_free(&join->parts);
	if (result == WHORL_MEMORY)
		return true;
	if (result != WHORL_OK) {
		wh_log(join->roster->diag, WH_LOG_WARNING, "node %u sends no proper view: %s", node, err.text);
		return false;
	}
	return take_invitation(join, node, view, message->key);
}

bool wh_join_on_message(struct wh_join *join, uint32_t node, const struct wh_wire *message)
{
	const struct wh_known_node *known = &join->roster->known_nodes[node];

	if (!known->introduced || known->differs != NULL)
		return true;
	if (message->kind >= WH_WIRE_ASK)
		return join->restart == NULL || join->state == WH_JOIN_IN || wh_restart_on_message(join, node, message);
	wh_roster_dropped(join->roster, node, message);
	if (message->kind == WH_WIRE_VIEW)
		return on_view_message(join, node, message);
	if (join->state == WH_JOIN_SEEKING) /* what I had passed over, and of which no other has come */
		hold_wishes(join, false);
	if (join->key != message->key)
		return true;
	/* Once I am there, a first view may begin without the node that withdraws; one behind a restart not before its coordinator says so. */
	if (join->state == WH_JOIN_INVITED || (join->view != NULL && is_behind_restart(join->view, join->key))
		    ? node == join->by
		    : !wh_is_first_view(message->key))
		wh_join_drop(join, "withdrawn");
	return true;
}

/* ---- is the invitation void? ------------------------------------------------------------------------------------------- */

static bool is_new(const struct wh_view *view, uint32_t rank)
{
	return wh_rank_find(view->joined, view->joined_count, view->ids[rank]) >= 0;
}

bool wh_join_misses(const struct wh_join *join, uint32_t rank)
{
	const struct wh_roster *roster = join->roster;
	const struct wh_view *view = join->view;
	bool is_met = view->ids[rank] == roster->id || roster->known_nodes[view->ids[rank]].incarnation != 0;

	if (wh_roster_lost(roster, view->ids[rank], view->incarnations[rank], join->key))
		return true;
	return wh_is_first_view(join->key) && !is_met && join->by != roster->id &&
	       roster->loop->now_ns >= join->invited_ns + join->start_timeout_ns;
}

/* All nodes that could tell that it has begun are lost, or say that they are no members: their view never was. */
static bool has_lost_its_members(const struct wh_join *join)
{
	const struct wh_view *view = join->view;
	uint64_t waited_ns = join->roster->loop->now_ns - join->invited_ns;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct wh_known_node *known = &join->roster->known_nodes[view->ids[rank]];
		bool here = known->incarnation == view->incarnations[rank];
		bool is_none = here && known->introduced && known->standing != WH_MEMBER_OF;

		/* It says that it is none, and that is no old intro with its successor under way; or it was never met, and
		 * will not be. */
		if (is_new(view, rank) || (is_none && waited_ns >= join->start_timeout_ns) ||
		    (!here && waited_ns >= join->patience_ns))
			continue;
		if (!wh_roster_lost(join->roster, view->ids[rank], view->incarnations[rank], join->key))
			return false;
	}
	return true;
}

/* Its coordinator gives it up in time, and tells all; a node that is not there yet waits longer, for others may have begun it. */
static uint64_t first_is_void_at(const struct wh_join *join)
{
	int rank = wh_view_rank(join->view, join->by);
	bool waits = rank >= 0 && join->by != join->roster->id &&
		     !wh_roster_lost(join->roster, join->by, join->view->incarnations[rank], join->key);

	return join->invited_ns + (waits ? WH_SILENT_TIMEOUTS : 1) * join->start_timeout_ns;
}

/* Those that are not lost may begin it. */
static bool is_enough(const struct wh_join *join)
{
	const struct wh_view *view = join->view;
	uint32_t left = 0;

	if (is_behind_restart(view, join->key))
		return wh_restart_is_enough(join, view, join->key);
	for (uint32_t rank = 0; rank < view->members; rank++)
		left += !wh_roster_lost(join->roster, view->ids[rank], view->incarnations[rank], join->key);
	return 2 * left > view->voters;
}

/* A first view: a node that is there has promised that it goes on in it, as long as a majority may. So the view begins even if
 * some of its members are lost, and is never lost to the nodes that have begun it because another did not wait for them. */
static const char *why_first_is_void(const struct wh_join *join)
{
	uint64_t now = join->roster->loop->now_ns, until = first_is_void_at(join);

	if (!is_enough(join))
		return "no majority is left";
	if (join->state == WH_JOIN_THERE) /* the nodes that are there are too few, and the others neither come nor end */
		return now >= join->there_ns + WH_THERE_TIMEOUTS * join->start_timeout_ns ? "nobody comes" : NULL;
	if (now >= until)
		return "not all came";
	wh_loop_at(join->roster->loop, until);
	return NULL; /* also if the coordinator is gone: some node may have begun it */
}

/* Some node is in a view that mine is not, and that is no older; or in another group, before I have promised to go on in mine. */
static bool is_overtaken(const struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;

	for (uint32_t node = 0; node < roster->nodes; node++) {
		const struct wh_known_node *known = &roster->known_nodes[node];

		if (!known->introduced || known->differs != NULL || known->standing != WH_MEMBER_OF)
			continue;
		if (known->group != join->view->group ? join->view->number == 0 && join->state == WH_JOIN_INVITED
						      : known->view >= join->view->number && known->key != join->key)
			return true;
	}
	return false;
}

static void look_after(struct wh_join *join)
{
	const char *why = NULL;

	if (wh_is_first_view(join->key))
		why = why_first_is_void(join);
	else if (has_lost_its_members(join))
		why = "members gone";
	if (why == NULL && is_overtaken(join))
		why = "overtaken";
	if (why != NULL)
		wh_join_drop(join, why);
}

/* ---- asking -------------------------------------------------------------------------------------------------------------- */

static size_t ask_to_join(struct wh_join *join)
{
	struct wh_roster *roster = join->roster;
	const struct wh_wire request = {.kind = WH_WIRE_JOIN,
					.incarnation = roster->incarnation,
					.group_digest = roster->group_digest,
					.subgroups_digest = roster->subgroups_digest};
	uint64_t now = roster->loop->now_ns;
	int member = wh_join_member(join);
	uint32_t leader;

	if (member < 0 || wh_join_is_between(join))
		return 0;
	leader = roster->known_nodes[member].leader;
	if (leader >= roster->nodes || roster->known_nodes[leader].incarnation == 0 ||
	    roster->known_nodes[leader].standing != WH_MEMBER_OF)
		leader = (uint32_t)member;
	if (leader == join->asked && join->asked_ns != 0 && now < join->asked_ns + ASK_AGAIN_NS) {
		wh_loop_at(roster->loop, join->asked_ns + ASK_AGAIN_NS);
		return 0;
	}
	if (!wh_roster_send(roster, leader, &request))
		return 0;
	join->asked = leader;
	join->asked_ns = now;
	wh_loop_at(roster->loop, join->asked_ns + ASK_AGAIN_NS);
	return 1;
}

/* What I wish goes behind what I ask. */
static size_t say_wishes(struct wh_join *join)
{
	if (join->wishing == NULL || join->asked_ns == 0 || join->state != WH_JOIN_SEEKING)
		return 0;
	return wh_wishing_step(join->wishing, join->asked, 0);
}

/* It needs others to have begun a group. */
static bool cannot_begin(const struct wh_join *join)
{
	uint32_t me = join->roster->id;

	return !(join->may_form || join->forced) ||
	       (join->founder >= 0 ? (uint32_t)join->founder != me : me >= join->configured);
}

static bool is_alone(const struct wh_roster *roster)
{
	for (uint32_t node = 0; node < roster->nodes; node++)
		if (roster->known_nodes[node].incarnation != 0)
			return false;
	return true;
}

/* The nodes that are there do not go with us, and no other node has come; or a member of the group is configured otherwise:
 * the group is right. */
static bool is_refused(struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;
	char why[256];

	if (join->refusal[0] != '\0' && cannot_begin(join) && is_alone(roster) &&
	    roster->loop->now_ns >= join->began_ns + join->start_timeout_ns) {
		wh_join_tell_refused(join, join->refusal);
		return true;
	}
	for (uint32_t node = 0; node < roster->nodes; node++) {
		const struct wh_known_node *known = &roster->known_nodes[node];

		if (!known->introduced || known->differs == NULL || known->standing != WH_MEMBER_OF)
			continue;
		snprintf(why, sizeof(why), "node %u is a member of the group, and its %s from those here", node,
			 known->differs);
		wh_join_tell_refused(join, why);
		return true;
	}
	return false;
}

/* ---- one pass -------------------------------------------------------------------------------------------------------------- */

static bool say_there(struct wh_join *join, bool ready)
{
	const struct wh_wire there = {.kind = WH_WIRE_THERE, .key = join->key, .flag = ready};

	return join->by == join->roster->id || wh_roster_send(join->roster, join->by, &there);
}

/* Is its memory open? Once it is this node is there: it has said so in its row, which is a promise. */
static bool is_open(struct wh_join *join)
{
	if (join->state == WH_JOIN_INVITED && is_behind_restart(join->view, join->key) &&
	    !wh_restart_has_agreed(join->restart, join->key))
		return false;
	if (!join->on.is_open(join->ctx))
		return false;
	if (join->state == WH_JOIN_INVITED) {
		join->state = WH_JOIN_THERE;
		join->there_ns = join->roster->loop->now_ns;
		wh_event(join->roster->diag, "there", join->view->number, join->key, 0);
	}
	return true;
}

static size_t come_into_view(struct wh_join *join)
{
	bool open, late;

	if (join->state == WH_JOIN_INVITED) {
		note_before(join);
		join->said_open = join->said_open || say_there(join, false);
	}
	open = is_open(join);
	if (join->state == WH_JOIN_INVITED)
		return 0;
	join->said_there = join->said_there || say_there(join, true);
	late = join->roster->loop->now_ns >= join->there_ns + join->start_timeout_ns;
	wh_loop_at(join->roster->loop, join->roster->loop->now_ns + LOOK_AGAIN_NS);
	if (!open || !wh_join_has_begun(join, late))
		return 0;
	join->state = WH_JOIN_IN;
	join->view = NULL;
	if (join->restart != NULL)
		wh_restart_forget(join);
	join->on.begin(join->ctx);
	return 1;
}

void wh_join_refused(struct wh_join *join, uint32_t node, const char *why)
{
	struct wh_known_node *known = &join->roster->known_nodes[node];

	known->introduced = true; /* as one with another configuration */
	known->differs = "transport does not go with ours";
	known->standing = WH_SEEKING;
	snprintf(join->refusal, sizeof(join->refusal), "%s", why);
}

void wh_join_give_up(struct wh_join *join)
{
	const struct wh_wire intro = {.standing = WH_SEEKING, .group = join->record, .key = join->floor};

	if (join->view != NULL)
		wh_join_drop(join, "given up");
	if (join->restart != NULL)
		wh_restart_forget(join);
	wh_roster_introduce(join->roster, &intro, NULL);
}

size_t wh_join_step(struct wh_join *join)
{
	size_t work = 0;

	if (join->state == WH_JOIN_IN || is_refused(join) || wh_form_is_forbidden(join))
		return 0;
	if (join->state != WH_JOIN_SEEKING)
		work += come_into_view(join);
	if (join->state == WH_JOIN_IN)
		return work;
	if (join->state != WH_JOIN_SEEKING)
		look_after(join);
	wh_join_introduce(join);
	wh_loop_at(join->roster->loop, join->roster->loop->now_ns + ASK_AGAIN_NS); /* whatever is waited for */
	work += ask_to_join(join);
	work += say_wishes(join);
	if (join->restart != NULL)
		work += wh_restart_step(join);
	return work + wh_join_form(join);
}

void wh_join_explain(const struct wh_join *join, char *text, size_t bytes)
{
	const struct wh_roster *roster = join->roster;
	int member = wh_join_member(join);

	if (join->state == WH_JOIN_IN)
		snprintf(text, bytes, "is a member");
	else if (join->state != WH_JOIN_SEEKING)
		snprintf(text, bytes, "is invited into view %" PRIu64 " by node %u, %s", join->view->number, join->by,
			 join->state == WH_JOIN_THERE ? "and waits for it to begin"
						      : "and waits until all its members share memory with it");
	else if (wh_join_is_between(join))
		snprintf(text, bytes,
			 "waits: there are two groups of this name (docs/operations.md); end the nodes of one of them");
	else if (member >= 0)
		snprintf(text, bytes, "asks node %u, the leader of view %" PRIu64 ", to be let in%s",
			 roster->known_nodes[member].leader, roster->known_nodes[member].view,
			 roster->known_nodes[member].quorum
				 ? ""
				 : "; it hears no quorum of its view, and can let nobody in");
	else
		wh_form_explain(join, text, bytes);
	if (join->state == WH_JOIN_SEEKING && join->refusal[0] != '\0') /* it may be why no node is there */
		wh_text_add(text, bytes, "; %s", join->refusal);
}
