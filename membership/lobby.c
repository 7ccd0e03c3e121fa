/* lobby.c - see lobby.h. */
#include "membership/lobby.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SEND_AGAIN_NS WH_NS_PER_MS
#define INVITED_WAITS_NS (10 * WH_NS_PER_MS) /* the first time; then twice as long */
#define NEW_LIFE_WAITS_NS (2 * WH_NS_PER_S)

enum whorl_result wh_lobby_init(struct wh_lobby *lobby, struct wh_error *err)
{
	lobby->guests = calloc(lobby->nodes, sizeof(*lobby->guests));
	if (lobby->guests == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u nodes", lobby->nodes);
	return WHORL_OK;
}

void wh_lobby_close(struct wh_lobby *lobby)
{
	free(lobby->guests);
	lobby->guests = NULL;
}

/* What is remembered of an id when one life of it has ended, or another begins: who comes back again and again is made to
 * wait like one who does not come, but nobody for long. */
static struct wh_guest remember(const struct wh_lobby *lobby, const struct wh_guest *before)
{
	uint64_t most_ns = lobby->loop->now_ns + NEW_LIFE_WAITS_NS;
	struct wh_guest guest = {.failures = before->failures, .not_before_ns = before->not_before_ns};

	memcpy(guest.ended, before->ended, sizeof(guest.ended));
	if (guest.not_before_ns > most_ns)
		guest.not_before_ns = most_ns;
	return guest;
}

void wh_lobby_met(struct wh_lobby *lobby, uint32_t node, uint64_t incarnation)
{
	lobby->guests[node] = remember(lobby, &lobby->guests[node]);
	lobby->guests[node].incarnation = incarnation;
	lobby->outstanding = true;
	wh_event(lobby->diag, "met", node, incarnation, 0);
}

void wh_lobby_gone(struct wh_lobby *lobby, uint32_t node)
{
	const struct wh_guest before = lobby->guests[node];
	struct wh_guest *guest = &lobby->guests[node];

	*guest = remember(lobby, &before);
	memmove(guest->ended + 1, guest->ended, (WH_LIVES_KEPT - 1) * sizeof(*guest->ended));
	guest->ended[0] = before.incarnation;
	if (before.invited != 0) { /* it has been waited for in vain */
		guest->not_before_ns = lobby->loop->now_ns + (INVITED_WAITS_NS << guest->failures);
		guest->failures += guest->failures < WH_FAILURES_MAX;
	}
	wh_event(lobby->diag, "gone", node, 0, 0);
	wh_lobby_watch_groups(lobby);
}

void wh_lobby_dropped(struct wh_lobby *lobby, uint32_t node, const struct wh_wire *message)
{
	struct wh_guest *guest = &lobby->guests[node];
	uint64_t key = message->key - (message->kind == WH_WIRE_VIEW);

	if (wh_is_first_view(message->key) && message->key > 0 && key > guest->dropped)
		guest->dropped = key;
}

void wh_lobby_stand(struct wh_lobby *lobby, const struct wh_wire *intro, const struct wh_view *view)
{
	struct wh_wire *mine = &lobby->intro;

	if (lobby->version > 0 && lobby->view == view && mine->standing == intro->standing &&
	    mine->flag == intro->flag && mine->view == intro->view && mine->leader == intro->leader &&
	    mine->key == intro->key && mine->group == intro->group && mine->forced == intro->forced)
		return;
	*mine = *intro;
	mine->kind = WH_WIRE_INTRO;
	mine->incarnation = lobby->incarnation;
	mine->group_digest = lobby->group_digest;
	mine->subgroups_digest = lobby->subgroups_digest;
	for (uint32_t rank = 0; view != NULL && rank < view->members; rank++)
		mine->members[view->ids[rank] / 64] |= UINT64_C(1) << view->ids[rank] % 64;
	lobby->view = view;
	lobby->version++;
	lobby->outstanding = true;
	wh_lobby_watch_groups(lobby);
}

/* NULL: nothing. */
static const char *difference_of(const struct wh_lobby *lobby, const struct wh_wire *message)
{
	if (message->group_digest != lobby->group_digest)
		return message->subgroups_digest != lobby->subgroups_digest ? "[group] and [subgroup] sections differ"
									    : "[group] section differs";
	return message->subgroups_digest != lobby->subgroups_digest ? "[subgroup] sections differ" : NULL;
}

void wh_lobby_hear(struct wh_lobby *lobby, uint32_t node, const struct wh_wire *message)
{
	struct wh_guest *guest = &lobby->guests[node];
	const char *difference = difference_of(lobby, message);

	if (difference != NULL && guest->differs == NULL)
		wh_log(lobby->diag, WH_LOG_WARNING, "node %u is not let in: its %s from those here", node, difference);
	guest->introduced = true;
	guest->differs = difference;
	guest->standing = message->standing;
	guest->quorum = message->standing == WH_MEMBER_OF && message->flag;
	guest->follows = message->standing != WH_MEMBER_OF && message->flag;
	guest->forced = message->forced;
	guest->group = message->group;
	memcpy(guest->members, message->members, sizeof(guest->members));
	guest->view = message->view;
	guest->leader = message->leader;
	guest->key = message->key;
	wh_lobby_watch_groups(lobby);
}

/* ---- another group of this name ------------------------------------------------------------------------------------- */

static bool is_member(const struct wh_guest *guest)
{
	return guest->introduced && guest->standing == WH_MEMBER_OF;
}

int wh_lobby_stranger(const struct wh_lobby *lobby, uint64_t group)
{
	bool both_go_on = group == 0;

	for (uint32_t node = 0; node < lobby->nodes; node++) {
		const struct wh_guest *guest = &lobby->guests[node];

		if (!is_member(guest) || (both_go_on && !guest->quorum))
			continue;
		if (group == 0)
			group = guest->group;
		else if (guest->group != group)
			return (int)node;
	}
	return -1;
}

static void list_members(const uint64_t members[WH_NODES_MAX / 64], char *text, size_t bytes)
{
	text[0] = '\0';
	for (uint32_t id = 0; id < WH_NODES_MAX; id++)
		if ((members[id / 64] >> id % 64 & 1) != 0)
			wh_text_add_id(text, bytes, " ", id);
}

/* The members of that group as one of them has said. */
static void list_group(const struct wh_lobby *lobby, uint64_t group, char *text, size_t bytes)
{
	const uint64_t *members = lobby->intro.members;

	for (uint32_t node = 0; lobby->view == NULL && node < lobby->nodes; node++)
		if (is_member(&lobby->guests[node]) && lobby->guests[node].group == group)
			members = lobby->guests[node].members;
	list_members(members, text, bytes);
}

static uint64_t first_group(const struct wh_lobby *lobby)
{
	for (uint32_t node = 0; node < lobby->nodes; node++)
		if (is_member(&lobby->guests[node]) && lobby->guests[node].quorum)
			return lobby->guests[node].group;
	return 0;
}

void wh_lobby_watch_groups(struct wh_lobby *lobby)
{
	int stranger = wh_lobby_stranger(lobby, lobby->view != NULL ? lobby->view->group : 0);
	uint64_t mine = lobby->view != NULL ? lobby->view->group : first_group(lobby), other = 0;
	char here[256], there[256];

	if (stranger >= 0)
		other = lobby->guests[stranger].group;
	if (other != 0 && other != lobby->other) {
		list_group(lobby, mine, here, sizeof(here));
		list_members(lobby->guests[stranger].members, there, sizeof(there));
		wh_log(lobby->diag, WH_LOG_ERROR,
		       "there are two groups of this name: %016" PRIx64 " with nodes %s, and %016" PRIx64
		       " with nodes %s; they never become one: end the nodes of one of them",
		       mine, here, other, there);
	}
	lobby->other = other;
}

bool wh_lobby_send(struct wh_lobby *lobby, uint32_t node, const struct wh_wire *message)
{
	unsigned char bytes[WH_WIRE_BYTES];
	size_t count = wh_wire_encode(bytes, message);

	if (lobby->transport->ops->control_send(lobby->transport, node, bytes, count) != WHORL_AGAIN)
		return true;
	wh_loop_at(lobby->loop, lobby->loop->now_ns + SEND_AGAIN_NS);
	return false;
}

/* It sees in its row what I am. Who has dropped this first view is not told that others are in it, either: they have a
 * quorum without it, and it hears of the next view, or they have none, and it forms another group with those who are left. */
static bool is_with_me(const struct wh_lobby *lobby, uint32_t node)
{
	return lobby->view != NULL && wh_view_rank_of(lobby->view, node, lobby->guests[node].incarnation) >= 0;
}

size_t wh_lobby_step(struct wh_lobby *lobby)
{
	struct wh_wire intro = lobby->intro;
	size_t work = 0;

	if (!lobby->outstanding || lobby->version == 0)
		return 0;
	lobby->outstanding = false;
	if (intro.standing != WH_MEMBER_OF && lobby->seen > intro.key)
		intro.key = lobby->seen;
	for (uint32_t node = 0; node < lobby->nodes; node++) {
		struct wh_guest *guest = &lobby->guests[node];

		if (guest->incarnation == 0 || guest->told == lobby->version || is_with_me(lobby, node))
			continue;
		if (wh_lobby_send(lobby, node, &intro)) {
			guest->told = lobby->version;
			work++;
		} else {
			lobby->outstanding = true;
		}
	}
	return work;
}
