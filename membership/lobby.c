/* lobby.c - see lobby.h. */
#include "membership/lobby.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
	    mine->key == intro->key)
		return;
	*mine = *intro;
	mine->kind = WH_WIRE_INTRO;
	mine->incarnation = lobby->incarnation;
	mine->group_digest = lobby->group_digest;
	mine->subgroups_digest = lobby->subgroups_digest;
	lobby->view = view;
	lobby->version++;
	lobby->outstanding = true;
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
	guest->quorum = message->flag;
	guest->view = message->view;
	guest->leader = message->leader;
	guest->key = message->key;
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
