/* entry.c - see entry.h; form.c has first views. */
#include "membership/entry_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ASK_AGAIN_NS (100 * WH_NS_PER_MS)
#define THERE_TIMEOUTS 4           /* start time-outs; who has begun a first view has seen a majority there after one */
#define LOOK_AGAIN_NS WH_NS_PER_MS /* heartbeats do not ring */

void wh_entry_begin(struct wh_entry *entry)
{
	entry->began_ns = entry->lobby->loop->now_ns;
	wh_entry_stand(entry);
}

void wh_entry_close(struct wh_entry *entry)
{
	wh_view_parts_free(&entry->parts);
}

/* ---- what I am --------------------------------------------------------------------------------------------------------- */

/* Members that hear no quorum can let nobody in. */
static bool outdoes(const struct wh_guest *one, const struct wh_guest *other)
{
	return one->quorum != other->quorum ? one->quorum : one->view > other->view;
}

/* A member, of the latest view of all; -1: there is none. */
int wh_entry_member(const struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;
	int found = -1;

	for (uint32_t node = 0; node < lobby->nodes; node++) {
		const struct wh_guest *guest = &lobby->guests[node];

		if (guest->introduced && guest->differs == NULL && guest->standing == WH_MEMBER_OF &&
		    (found < 0 || outdoes(guest, &lobby->guests[found])))
			found = (int)node;
	}
	return found;
}

bool wh_entry_is_between(const struct wh_entry *entry)
{
	return wh_lobby_stranger(entry->lobby, 0) >= 0;
}

/* What has been met may be a member, and what has not been met yet. What does not say what it is is not waited for for ever:
 * it counts as cut off, and the rules of forming allow for that. */
bool wh_entry_looks_around(const struct wh_entry *entry)
{
	struct wh_transport *transport = entry->lobby->transport;

	if (transport->ops->searching(transport))
		return true;
	if (entry->lobby->loop->now_ns >= entry->began_ns + entry->patience_ns)
		return false;
	for (uint32_t node = 0; node < entry->lobby->nodes; node++)
		if (entry->lobby->guests[node].incarnation != 0 && !entry->lobby->guests[node].introduced)
			return true;
	return false;
}

bool wh_entry_forms(const struct wh_entry *entry)
{
	return (entry->may_form || entry->forced) && entry->founder < 0 && entry->lobby->id < entry->configured &&
	       wh_entry_member(entry) < 0 && (entry->state != WH_ENTRY_SEEKING || !wh_entry_looks_around(entry));
}

/* The greatest key of a first view that has been seen here: a coordinator that has come back must not use it for another. */
static uint64_t seen_key(const struct wh_entry *entry)
{
	bool follows = entry->state != WH_ENTRY_SEEKING && wh_is_first_view(entry->key);

	return follows && entry->key > entry->floor ? entry->key : entry->floor;
}

void wh_entry_stand(struct wh_entry *entry)
{
	const struct wh_wire intro = {.standing = wh_entry_forms(entry) ? WH_FORMING : WH_SEEKING,
				      .flag = entry->state != WH_ENTRY_SEEKING,
				      .forced = entry->forced,
				      .group = entry->record,
				      .key = entry->floor};

	entry->lobby->seen = seen_key(entry);
	wh_lobby_stand(entry->lobby, &intro, NULL);
}

/* ---- invitations --------------------------------------------------------------------------------------------------------- */

void wh_entry_drop(struct wh_entry *entry, const char *why)
{
	if (entry->state != WH_ENTRY_INVITED && entry->state != WH_ENTRY_THERE)
		return;
	wh_event(entry->lobby->diag, why, entry->view->number, entry->key, 0);
	if (entry->view->number == 0) {
		wh_admission_renounce(entry->admission, entry->view, entry->key);
		entry->floor = entry->key > entry->floor ? entry->key : entry->floor;
	}
	entry->state = WH_ENTRY_SEEKING;
	entry->view = NULL;
	entry->on.discard(entry->ctx);
	entry->asked_ns = 0;
}

/* The view is mine from here on. */
void wh_entry_follow(struct wh_entry *entry, struct wh_view *view, uint64_t key, uint32_t by)
{
	wh_entry_drop(entry, "another invitation");
	entry->view = view;
	entry->key = key;
	entry->by = by;
	entry->invited_ns = entry->lobby->loop->now_ns;
	entry->said_open = entry->said_there = false;
	wh_event(entry->lobby->diag, "invited", view->number, key, by);
	if (entry->on.open(entry->ctx, view, key))
		entry->state = WH_ENTRY_INVITED;
	else
		entry->view = NULL;
}

/* An invitation into a later view counts if its key is greater. One into a first view counts while no other does; but for
 * that, of the same coordinator the last, until I am there: then I have promised to go on in it. */
static bool counts(const struct wh_entry *entry, uint32_t from, uint64_t key)
{
	bool follows = entry->state != WH_ENTRY_SEEKING;

	if (entry->state == WH_ENTRY_IN)
		return false;
	if (!wh_is_first_view(key))
		return !follows || key > entry->key;
	if (!wh_entry_forms(entry) || key <= entry->floor)
		return false;
	return !follows || (entry->state == WH_ENTRY_INVITED && wh_is_first_view(entry->key) && from == entry->by &&
			    key > entry->key);
}

/* Whoever invites says what the whole view is; that this node is new in it, and what its key is about, can be checked. */
static bool is_for_me(const struct wh_entry *entry, const struct wh_view *view, uint64_t key)
{
	const struct wh_lobby *lobby = entry->lobby;

	return wh_view_rank_of(view, lobby->id, lobby->incarnation) >= 0 &&
	       wh_rank_find(view->joined, view->joined_count, lobby->id) >= 0 &&
	       (wh_is_first_view(key) ? view->number == 0 : view->number == wh_image_view(key) && view->number > 0);
}

/* In a first view that I have promised to go on in, and while I come into a later one, another group is nothing to me. */
static bool goes_together(const struct wh_entry *entry, uint32_t from, const struct wh_view *view)
{
	bool is_bound = entry->state == WH_ENTRY_THERE || (entry->view != NULL && entry->view->number > 0);

	if (is_bound && view->group != entry->view->group)
		return false;
	return view->number > 0 || wh_form_agrees(entry, from, view);
}

static bool hear_view(struct wh_entry *entry, uint32_t node, const struct wh_wire *message)
{
	struct wh_view *view;
	struct wh_error err;
	enum whorl_result result;

	if (!counts(entry, node, message->key))
		return true;
	result = wh_view_parts_take(&entry->parts, message);
	if (result == WHORL_AGAIN || result == WHORL_MEMORY)
		return true;
	if (result != WHORL_OK)
		return false;
	result =
		wh_view_decode(&view, entry->parts.bytes, entry->parts.total, entry->layout, entry->lobby->nodes, &err);
	wh_view_parts_free(&entry->parts);
	if (result == WHORL_MEMORY)
		return true;
	if (result != WHORL_OK) {
		wh_log(entry->lobby->diag, WH_LOG_WARNING, "node %u sends no proper view: %s", node, err.text);
		return false;
	}
	if (!is_for_me(entry, view, message->key)) {
		wh_view_free(view);
		return false;
	}
	if (goes_together(entry, node, view))
		wh_entry_follow(entry, view, message->key, node);
	else
		wh_view_free(view);
	return true;
}

bool wh_entry_hear(struct wh_entry *entry, uint32_t node, const struct wh_wire *message)
{
	const struct wh_guest *guest = &entry->lobby->guests[node];

	if (!guest->introduced || guest->differs != NULL)
		return true;
	wh_lobby_dropped(entry->lobby, node, message);
	if (message->kind == WH_WIRE_VIEW)
		return hear_view(entry, node, message);
	if (entry->key != message->key)
		return true;
	/* Once I am there, a first view may begin without whoever withdraws. */
	if (entry->state == WH_ENTRY_INVITED ? node == entry->by : !wh_is_first_view(message->key))
		wh_entry_drop(entry, "withdrawn");
	return true;
}

/* ---- is the invitation void? ------------------------------------------------------------------------------------------- */

static bool is_new(const struct wh_view *view, uint32_t rank)
{
	return wh_rank_find(view->joined, view->joined_count, view->ids[rank]) >= 0;
}

bool wh_entry_misses(const struct wh_entry *entry, uint32_t rank)
{
	const struct wh_lobby *lobby = entry->lobby;
	const struct wh_view *view = entry->view;
	bool is_met = view->ids[rank] == lobby->id || lobby->guests[view->ids[rank]].incarnation != 0;

	if (wh_lobby_lost(lobby, view->ids[rank], view->incarnations[rank], entry->key))
		return true;
	return view->number == 0 && !is_met && entry->by != lobby->id &&
	       lobby->loop->now_ns >= entry->invited_ns + entry->start_timeout_ns;
}

/* All who could tell that it has begun are lost, or say that they are no members: their view never was. */
static bool has_lost_its_members(const struct wh_entry *entry)
{
	const struct wh_view *view = entry->view;
	uint64_t waited_ns = entry->lobby->loop->now_ns - entry->invited_ns;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct wh_guest *guest = &entry->lobby->guests[view->ids[rank]];
		bool here = guest->incarnation == view->incarnations[rank];
		bool is_none = here && guest->introduced && guest->standing != WH_MEMBER_OF;

		/* It says that it is none, and that is no old intro, whose successor is under way; or it was never met, and
		 * will not be. */
		if (is_new(view, rank) || (is_none && waited_ns >= entry->start_timeout_ns) ||
		    (!here && waited_ns >= entry->patience_ns))
			continue;
		if (!wh_lobby_lost(entry->lobby, view->ids[rank], view->incarnations[rank], entry->key))
			return false;
	}
	return true;
}

/* Its coordinator gives it up in time, and tells all; who is not there yet waits longer, for others may have begun it. */
static uint64_t first_is_void_at(const struct wh_entry *entry)
{
	int rank = wh_view_rank(entry->view, entry->by);
	bool waits = rank >= 0 && entry->by != entry->lobby->id &&
		     !wh_lobby_lost(entry->lobby, entry->by, entry->view->incarnations[rank], entry->key);

	return entry->invited_ns + (waits ? WH_SILENT_TIMEOUTS : 1) * entry->start_timeout_ns;
}

/* A first view: whoever is there has promised that it goes on in it, as long as a majority may. So it begins even if some
 * of its members are lost, and is never lost to those who have begun it because another did not wait for them. */
static const char *why_first_is_void(const struct wh_entry *entry)
{
	const struct wh_view *view = entry->view;
	uint64_t now = entry->lobby->loop->now_ns, until = first_is_void_at(entry);
	uint32_t left = 0;

	for (uint32_t rank = 0; rank < view->members; rank++)
		left += !wh_lobby_lost(entry->lobby, view->ids[rank], view->incarnations[rank], entry->key);
	if (2 * left <= view->voters)
		return "no majority is left";
	if (entry->state == WH_ENTRY_THERE) /* those who are there are too few, and the others neither come nor end */
		return now >= entry->there_ns + THERE_TIMEOUTS * entry->start_timeout_ns ? "nobody comes" : NULL;
	if (now >= until)
		return "not all came";
	wh_loop_at(entry->lobby->loop, until);
	return NULL; /* also if the coordinator is gone: somebody may have begun it */
}

/* Somebody is in a view that mine is not, and that is no older; or in another group, before I have promised to go on in mine. */
static bool is_overtaken(const struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;

	for (uint32_t node = 0; node < lobby->nodes; node++) {
		const struct wh_guest *guest = &lobby->guests[node];

		if (!guest->introduced || guest->differs != NULL || guest->standing != WH_MEMBER_OF)
			continue;
		if (guest->group != entry->view->group ? entry->view->number == 0 && entry->state == WH_ENTRY_INVITED
						       : guest->view >= entry->view->number && guest->key != entry->key)
			return true;
	}
	return false;
}

static void look_after(struct wh_entry *entry)
{
	const char *why = NULL;

	if (entry->view->number == 0)
		why = why_first_is_void(entry);
	else if (has_lost_its_members(entry))
		why = "members gone";
	if (why == NULL && is_overtaken(entry))
		why = "overtaken";
	if (why != NULL)
		wh_entry_drop(entry, why);
}

/* ---- asking -------------------------------------------------------------------------------------------------------------- */

static size_t ask(struct wh_entry *entry)
{
	struct wh_lobby *lobby = entry->lobby;
	const struct wh_wire join = {.kind = WH_WIRE_JOIN,
				     .incarnation = lobby->incarnation,
				     .group_digest = lobby->group_digest,
				     .subgroups_digest = lobby->subgroups_digest};
	uint64_t now = lobby->loop->now_ns;
	int member = wh_entry_member(entry);
	uint32_t leader;

	if (member < 0 || wh_entry_is_between(entry))
		return 0;
	leader = lobby->guests[member].leader;
	if (leader >= lobby->nodes || lobby->guests[leader].incarnation == 0 ||
	    lobby->guests[leader].standing != WH_MEMBER_OF)
		leader = (uint32_t)member;
	if (leader == entry->asked && entry->asked_ns != 0 && now < entry->asked_ns + ASK_AGAIN_NS) {
		wh_loop_at(lobby->loop, entry->asked_ns + ASK_AGAIN_NS);
		return 0;
	}
	if (!wh_lobby_send(lobby, leader, &join))
		return 0;
	entry->asked = leader;
	entry->asked_ns = now;
	wh_loop_at(lobby->loop, entry->asked_ns + ASK_AGAIN_NS);
	return 1;
}

/* It needs others to have begun a group. */
static bool cannot_begin(const struct wh_entry *entry)
{
	uint32_t me = entry->lobby->id;

	return !(entry->may_form || entry->forced) ||
	       (entry->founder >= 0 ? (uint32_t)entry->founder != me : me >= entry->configured);
}

static bool is_alone(const struct wh_lobby *lobby)
{
	for (uint32_t node = 0; node < lobby->nodes; node++)
		if (lobby->guests[node].incarnation != 0)
			return false;
	return true;
}

/* All who are there do not go with us, and nobody else has come; or a member of the group is configured otherwise: the
 * group is right. */
static bool is_refused(struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;
	char why[256];

	if (entry->refusal[0] != '\0' && cannot_begin(entry) && is_alone(lobby) &&
	    lobby->loop->now_ns >= entry->began_ns + entry->start_timeout_ns) {
		entry->on.refused(entry->ctx, entry->refusal);
		return true;
	}
	for (uint32_t node = 0; node < lobby->nodes; node++) {
		const struct wh_guest *guest = &lobby->guests[node];

		if (!guest->introduced || guest->differs == NULL || guest->standing != WH_MEMBER_OF)
			continue;
		snprintf(why, sizeof(why), "node %u is a member of the group, and its %s from those here", node,
			 guest->differs);
		entry->on.refused(entry->ctx, why);
		return true;
	}
	return false;
}

/* ---- one pass -------------------------------------------------------------------------------------------------------------- */

static bool say_there(struct wh_entry *entry, bool ready)
{
	const struct wh_wire there = {.kind = WH_WIRE_THERE, .key = entry->key, .flag = ready};

	return entry->by == entry->lobby->id || wh_lobby_send(entry->lobby, entry->by, &there);
}

static size_t arrive(struct wh_entry *entry)
{
	bool late;

	if (entry->state == WH_ENTRY_INVITED) {
		entry->said_open = entry->said_open || say_there(entry, false);
		if (!entry->on.is_open(entry->ctx)) /* then it has said so in its row: a promise */
			return 0;
		entry->state = WH_ENTRY_THERE;
		entry->there_ns = entry->lobby->loop->now_ns;
		wh_event(entry->lobby->diag, "there", entry->view->number, entry->key, 0);
	}
	entry->said_there = entry->said_there || say_there(entry, true);
	late = entry->lobby->loop->now_ns >= entry->there_ns + entry->start_timeout_ns;
	wh_loop_at(entry->lobby->loop, entry->lobby->loop->now_ns + LOOK_AGAIN_NS);
	if (!entry->on.is_open(entry->ctx) || !entry->on.has_begun(entry->ctx, late))
		return 0;
	entry->state = WH_ENTRY_IN;
	entry->view = NULL;
	entry->on.begin(entry->ctx);
	return 1;
}

void wh_entry_refused(struct wh_entry *entry, uint32_t node, const char *why)
{
	struct wh_guest *guest = &entry->lobby->guests[node];

	guest->introduced = true; /* as one whose configuration is another */
	guest->differs = "transport does not go with ours";
	guest->standing = WH_SEEKING;
	snprintf(entry->refusal, sizeof(entry->refusal), "%s", why);
}

void wh_entry_give_up(struct wh_entry *entry)
{
	const struct wh_wire intro = {.standing = WH_SEEKING, .group = entry->record, .key = entry->floor};

	if (entry->view != NULL)
		wh_entry_drop(entry, "given up");
	wh_lobby_stand(entry->lobby, &intro, NULL);
}

size_t wh_entry_step(struct wh_entry *entry)
{
	size_t work = 0;

	if (entry->state == WH_ENTRY_IN || is_refused(entry) || wh_form_is_forbidden(entry))
		return 0;
	if (entry->state != WH_ENTRY_SEEKING)
		work += arrive(entry);
	if (entry->state == WH_ENTRY_IN)
		return work;
	if (entry->state != WH_ENTRY_SEEKING)
		look_after(entry);
	wh_entry_stand(entry);
	wh_loop_at(entry->lobby->loop, entry->lobby->loop->now_ns + ASK_AGAIN_NS); /* whatever is waited for */
	work += ask(entry);
	return work + wh_entry_form(entry);
}

void wh_entry_explain(const struct wh_entry *entry, char *text, size_t bytes)
{
	const struct wh_lobby *lobby = entry->lobby;
	int member = wh_entry_member(entry);

	if (entry->state == WH_ENTRY_IN)
		snprintf(text, bytes, "is a member");
	else if (entry->state != WH_ENTRY_SEEKING)
		snprintf(text, bytes, "is invited into view %" PRIu64 " by node %u, %s", entry->view->number, entry->by,
			 entry->state == WH_ENTRY_THERE ? "and waits for it to begin"
							: "and waits until all its members share memory with it");
	else if (wh_entry_is_between(entry))
		snprintf(text, bytes,
			 "waits: there are two groups of this name (docs/operations.md); end the nodes of one of them");
	else if (member >= 0)
		snprintf(text, bytes, "asks node %u, the leader of view %" PRIu64 ", to be let in%s",
			 lobby->guests[member].leader, lobby->guests[member].view,
			 lobby->guests[member].quorum ? "" : "; it hears no quorum of its view, and can let nobody in");
	else
		wh_form_explain(entry, text, bytes);
	if (entry->state == WH_ENTRY_SEEKING && entry->refusal[0] != '\0') /* it may be why nobody is there */
		wh_text_add(text, bytes, "; %s", entry->refusal);
}
