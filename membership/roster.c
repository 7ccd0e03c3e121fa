/* roster.c - see roster.h. */
#include "membership/roster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define SEND_AGAIN_NS WH_NS_PER_MS
#define INVITED_WAITS_NS (10 * WH_NS_PER_MS) /* the first time; then twice as long */
#define NEW_LIFE_WAITS_NS (2 * WH_NS_PER_S)

enum whorl_result wh_roster_init(struct wh_roster *roster, struct wh_error *err)
{
	roster->known_nodes = calloc(roster->nodes, sizeof(*roster->known_nodes));
	if (roster->known_nodes == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u nodes", roster->nodes);
	return WHORL_OK;
}

void wh_roster_close(struct wh_roster *roster)
{
	free(roster->known_nodes);
	roster->known_nodes = NULL;
}

/* What is remembered of an id when one life of it has ended, or another begins: a node that comes back again and again is made to
 * wait like one that does not come, but no node waits for long. */
static struct wh_known_node remember_id(const struct wh_roster *roster, const struct wh_known_node *before)
{
	uint64_t most_ns = roster->loop->now_ns + NEW_LIFE_WAITS_NS;
	struct wh_known_node known = {.failures = before->failures, .not_before_ns = before->not_before_ns};

	memcpy(known.ended, before->ended, sizeof(known.ended));
	memcpy(known.dead, before->dead, sizeof(known.dead));
	if (known.not_before_ns > most_ns)
		known.not_before_ns = most_ns;
	return known;
}

void wh_roster_met(struct wh_roster *roster, uint32_t node, uint64_t incarnation)
{
	roster->known_nodes[node] = remember_id(roster, &roster->known_nodes[node]);
	roster->known_nodes[node].incarnation = incarnation;
	roster->outstanding = true;
	wh_event(roster->diag, "met", node, incarnation, 0);
}

/* As the first of those that are kept; the oldest is forgotten. */
static void keep_life(uint64_t *lives, uint64_t incarnation)
{
	memmove(lives + 1, lives, (WH_LIVES_KEPT - 1) * sizeof(*lives));
	lives[0] = incarnation;
}

void wh_roster_gone(struct wh_roster *roster, uint32_t node)
{
	const struct wh_known_node before = roster->known_nodes[node];
	struct wh_known_node *known = &roster->known_nodes[node];

	*known = remember_id(roster, &before);
	keep_life(known->ended, before.incarnation);
	if (before.invited != 0) { /* it has been waited for in vain */
		known->not_before_ns = roster->loop->now_ns + (INVITED_WAITS_NS << known->failures);
		known->failures += known->failures < WH_FAILURES_MAX;
	}
	wh_event(roster->diag, "gone", node, 0, 0);
	wh_roster_watch_groups(roster);
}

void wh_roster_died(struct wh_roster *roster, uint32_t node, uint64_t incarnation)
{
	keep_life(roster->known_nodes[node].dead, incarnation);
	wh_event(roster->diag, "died", node, incarnation, 0);
}

void wh_roster_dropped(struct wh_roster *roster, uint32_t node, const struct wh_wire *message)
{
	struct wh_known_node *known = &roster->known_nodes[node];
	uint64_t key = message->key - (message->kind == WH_WIRE_VIEW);

	if (wh_is_first_view(message->key) && message->key > 0 && key > known->dropped)
		known->dropped = key;
}

void wh_roster_introduce(struct wh_roster *roster, const struct wh_wire *intro, const struct wh_view *view)
{
	struct wh_wire *mine = &roster->intro;

	if (roster->version > 0 && roster->view == view && mine->standing == intro->standing &&
	    mine->flag == intro->flag && mine->view == intro->view && mine->leader == intro->leader &&
	    mine->key == intro->key && mine->group == intro->group && mine->forced == intro->forced &&
	    mine->disk == intro->disk && mine->base == intro->base)
		return;
	*mine = *intro;
	mine->kind = WH_WIRE_INTRO;
	mine->incarnation = roster->incarnation;
	mine->group_digest = roster->group_digest;
	mine->subgroups_digest = roster->subgroups_digest;
	for (uint32_t rank = 0; view != NULL && rank < view->members; rank++)
		mine->members[view->ids[rank] / 64] |= UINT64_C(1) << view->ids[rank] % 64;
	roster->view = view;
	roster->version++;
	roster->outstanding = true;
	wh_roster_watch_groups(roster);
}

/* NULL: nothing. */
static const char *difference_of(const struct wh_roster *roster, const struct wh_wire *message)
{
	if (message->group_digest != roster->group_digest)
		return message->subgroups_digest != roster->subgroups_digest ? "[group] and [subgroup] sections differ"
									     : "[group] section differs";
	return message->subgroups_digest != roster->subgroups_digest ? "[subgroup] sections differ" : NULL;
}

void wh_roster_on_intro(struct wh_roster *roster, uint32_t node, const struct wh_wire *message)
{
	struct wh_known_node *known = &roster->known_nodes[node];
	const char *difference = difference_of(roster, message);

	if (difference != NULL && known->differs == NULL)
		wh_log(roster->diag, WH_LOG_WARNING, "node %u is not let in: its %s from those here", node, difference);
	known->introduced = true;
	known->differs = difference;
	known->standing = message->standing;
	known->quorum = message->standing == WH_MEMBER_OF && message->flag;
	known->follows = message->standing != WH_MEMBER_OF && message->flag;
	known->forced = message->forced;
	known->group = message->group;
	memcpy(known->members, message->members, sizeof(known->members));
	known->view = message->view;
	known->leader = message->leader;
	known->key = message->key;
	known->disk = message->disk;
	known->base = message->base;
	wh_roster_watch_groups(roster);
}

/* ---- another group of this name ------------------------------------------------------------------------------------- */

static bool is_member(const struct wh_known_node *known)
{
	return known->introduced && known->standing == WH_MEMBER_OF;
}

int wh_roster_stranger(const struct wh_roster *roster, uint64_t group)
{
	bool both_go_on = group == 0;

	for (uint32_t node = 0; node < roster->nodes; node++) {
		const struct wh_known_node *known = &roster->known_nodes[node];

		if (!is_member(known) || (both_go_on && !known->quorum))
			continue;
		if (group == 0)
			group = known->group;
		else if (known->group != group)
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
static void list_group(const struct wh_roster *roster, uint64_t group, char *text, size_t bytes)
{
	const uint64_t *members = roster->intro.members;

	for (uint32_t node = 0; roster->view == NULL && node < roster->nodes; node++)
		if (is_member(&roster->known_nodes[node]) && roster->known_nodes[node].group == group)
			members = roster->known_nodes[node].members;
	list_members(members, text, bytes);
}

static uint64_t first_group(const struct wh_roster *roster)
{
	for (uint32_t node = 0; node < roster->nodes; node++)
		if (is_member(&roster->known_nodes[node]) && roster->known_nodes[node].quorum)
			return roster->known_nodes[node].group;
	return 0;
}

void wh_roster_watch_groups(struct wh_roster *roster)
{
	int stranger = wh_roster_stranger(roster, roster->view != NULL ? roster->view->group : 0);
	uint64_t mine = roster->view != NULL ? roster->view->group : first_group(roster), other = 0;
	char here[256], there[256];

	if (stranger >= 0)
		other = roster->known_nodes[stranger].group;
	if (other != 0 && other != roster->other) {
		list_group(roster, mine, here, sizeof(here));
		list_members(roster->known_nodes[stranger].members, there, sizeof(there));
		wh_log(roster->diag, WH_LOG_ERROR,
		       "there are two groups of this name: %016" PRIx64 " with nodes %s, and %016" PRIx64
		       " with nodes %s; they never become one: end the nodes of one of them",
		       mine, here, other, there);
	}
	roster->other = other;
}

bool wh_roster_send(struct wh_roster *roster, uint32_t node, const struct wh_wire *message)
{
	unsigned char bytes[WH_WIRE_BYTES];
	size_t count = wh_wire_encode(bytes, message);

	if (roster->transport->ops->control_send(roster->transport, node, bytes, count) != WHORL_AGAIN)
		return true;
	wh_loop_at(roster->loop, roster->loop->now_ns + SEND_AGAIN_NS);
	return false;
}

size_t wh_roster_send_pieces(struct wh_roster *roster, uint32_t node, enum wh_wire_kind kind, uint64_t key,
			     const unsigned char *bytes, uint32_t total, uint32_t *sent)
{
	size_t work = 0;

	while (*sent < total) {
		uint32_t left = total - *sent;
		const struct wh_wire message = {
			.kind = kind,
			.key = key,
			.total = total,
			.offset = *sent,
			.bytes = left < WH_WIRE_PIECE_BYTES ? left : WH_WIRE_PIECE_BYTES,
			.piece = bytes + *sent,
		};

		if (!wh_roster_send(roster, node, &message))
			break;
		*sent += message.bytes;
		work++;
	}
	return work;
}

/* It sees in its row what I am. A node that has dropped this first view is not told that others are in it, either: they have a
 * quorum without it, and it hears of the next view, or they have none, and it forms another group with the nodes that are left. */
static bool is_with_me(const struct wh_roster *roster, uint32_t node)
{
	return roster->view != NULL && wh_view_rank_of(roster->view, node, roster->known_nodes[node].incarnation) >= 0;
}

size_t wh_roster_step(struct wh_roster *roster)
{
	struct wh_wire intro = roster->intro;
	size_t work = 0;

	if (!roster->outstanding || roster->version == 0)
		return 0;
	roster->outstanding = false;
	if (intro.standing != WH_MEMBER_OF && roster->seen > intro.key)
		intro.key = roster->seen;
	for (uint32_t node = 0; node < roster->nodes; node++) {
		struct wh_known_node *known = &roster->known_nodes[node];

		if (known->incarnation == 0 || known->told == roster->version || is_with_me(roster, node))
			continue;
		if (wh_roster_send(roster, node, &intro)) {
			known->told = roster->version;
			work++;
		} else {
			roster->outstanding = true;
		}
	}
	return work;
}
