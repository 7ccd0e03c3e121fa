/* admission.c - who comes in: asked for, invited, there. See lobby.h; docs/decisions/0016.
 *
 * Whom the leader takes in, and when, is decided in propose.c; here is what is said to and heard from those who come.
 */
#include <stdlib.h>
#include <string.h>

#include "membership/lobby.h"

#define WANTS_NS (500 * WH_NS_PER_MS) /* some times as often as it asks (entry.c) */

bool wh_admission_hear(struct wh_admission *admission, uint32_t node, const struct wh_wire *message, bool leads)
{
	struct wh_guest *guest = &admission->lobby->guests[node];

	if (message->kind == WH_WIRE_THERE) {
		guest->opened = message->key;
		if (message->flag)
			guest->there = message->key;
		return false;
	}
	if (guest->incarnation != message->incarnation)
		return false;
	if (!guest->introduced) /* its intro is behind */
		wh_lobby_hear(admission->lobby, node, message);
	if (!leads) {
		guest->told = 0; /* who leads */
		admission->lobby->outstanding = true;
		return false;
	}
	if (wh_view_rank_of(admission->lobby->view, node, guest->incarnation) < 0) /* a member has wishes */
		guest->wanted_ns = admission->lobby->loop->now_ns;
	return true;
}

/* The pointer goes first: a fork may come in between, and its child frees what it finds. */
static void forget_bytes(struct wh_admission *admission)
{
	unsigned char *bytes = admission->bytes;

	admission->bytes = NULL;
	free(bytes);
}

/* It asks again and again as long as it lives. */
static bool wants(const struct wh_lobby *lobby, const struct wh_guest *guest)
{
	return guest->wanted_ns != 0 && lobby->loop->now_ns - guest->wanted_ns < WANTS_NS;
}

uint32_t wh_admission_newcomers(struct wh_admission *admission, struct wh_newcomer *out, uint32_t max)
{
	const struct wh_lobby *lobby = admission->lobby;
	uint32_t count = 0;

	for (uint32_t i = 0; i < lobby->nodes && count < max; i++) {
		uint32_t node = (admission->turn + i) % lobby->nodes;
		const struct wh_guest *guest = &lobby->guests[node];

		/* An id is taken in again only after a view without it. */
		if (!wants(lobby, guest) || !guest->introduced || guest->differs != NULL ||
		    wh_view_rank(lobby->view, node) >= 0 || lobby->loop->now_ns < guest->not_before_ns)
			continue;
		out[count++] = (struct wh_newcomer){.id = node, .incarnation = guest->incarnation};
	}
	if (count > 0)
		admission->turn = out[count - 1].id + 1;
	return count;
}

/* All wait for one who has not even opened his image; if all have, there are some who cannot meet. These must not be
 * invited together for ever, and nobody must wait again and again for one who is not there any more. */
static bool is_late(const struct wh_guest *guest, bool all_opened)
{
	return guest->opened != guest->invited || (all_opened && guest->there != guest->invited);
}

static bool have_all_opened(const struct wh_admission *admission)
{
	for (uint32_t node = 0; node < admission->lobby->nodes; node++) {
		const struct wh_guest *guest = &admission->lobby->guests[node];

		if (guest->invited != 0 && guest->opened != guest->invited)
			return false;
	}
	return true;
}

static void recall(struct wh_admission *admission, struct wh_guest *guest, bool blames, bool all_opened)
{
	const struct wh_env *env = admission->lobby->diag->env;
	uint64_t now = admission->lobby->loop->now_ns, random = env->random_u64(env->ctx);

	if (blames && is_late(guest, all_opened)) { /* it must ask again, and wait longer each time */
		uint64_t patience = admission->patience_ns << guest->failures;

		guest->wanted_ns = 0;
		guest->not_before_ns = now + patience + random % patience;
		guest->failures += guest->failures < WH_FAILURES_MAX;
	}
	guest->recalls = true;
	guest->recalled = guest->invited;
	guest->invited = 0;
}

enum whorl_result wh_admission_invite(struct wh_admission *admission, const struct wh_view *view, uint64_t key,
				      bool blames)
{
	struct wh_lobby *lobby = admission->lobby;
	bool all_opened = have_all_opened(admission);
	enum whorl_result result = WHORL_OK;

	forget_bytes(admission);
	if (view != NULL)
		result = wh_view_encode(&admission->bytes, &admission->count, view);
	if (result != WHORL_OK)
		view = NULL;
	admission->key = view != NULL ? key : 0;
	for (uint32_t node = 0; node < lobby->nodes; node++) {
		struct wh_guest *guest = &lobby->guests[node];
		bool invited = view != NULL && guest->incarnation != 0 &&
			       wh_rank_find(view->joined, view->joined_count, node) >= 0 &&
			       wh_view_rank_of(view, node, guest->incarnation) >= 0;

		if (guest->invited != 0 && !invited)
			recall(admission, guest, blames, all_opened);
		if (!invited)
			continue;
		guest->invited = key;
		guest->recalls = false;
		guest->sent = 0;
	}
	admission->outstanding = true;
	return result;
}

void wh_admission_renounce(struct wh_admission *admission, const struct wh_view *view, uint64_t key)
{
	bool all_opened = have_all_opened(admission);
	struct wh_lobby *lobby = admission->lobby;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		struct wh_guest *guest = &lobby->guests[view->ids[rank]];

		if (guest->incarnation != view->incarnations[rank])
			continue;
		if (guest->invited != 0)
			recall(admission, guest, true, all_opened);
		guest->recalls = true;
		guest->recalled = key;
	}
	admission->outstanding = true;
}

/* What was noted of its coming is over. */
static struct wh_guest came(const struct wh_guest *guest)
{
	struct wh_guest now = *guest;

	now.recalls = false;
	now.wanted_ns = now.not_before_ns = 0;
	now.failures = 0;
	return now;
}

void wh_admission_settle(struct wh_admission *admission, const struct wh_view *view)
{
	struct wh_lobby *lobby = admission->lobby;

	for (uint32_t node = 0; node < lobby->nodes; node++) {
		struct wh_guest *guest = &lobby->guests[node];

		if (guest->incarnation != 0 && wh_view_rank_of(view, node, guest->incarnation) >= 0)
			*guest = came(guest);
		else if (guest->invited != 0)
			recall(admission, guest, false, true);
		guest->invited = 0;
	}
	forget_bytes(admission);
	admission->key = 0;
	admission->outstanding = true;
}

/* False: more is to be sent, and cannot now. */
static bool send_pieces(struct wh_admission *admission, uint32_t node)
{
	struct wh_guest *guest = &admission->lobby->guests[node];

	while (guest->sent < admission->count) {
		size_t left = admission->count - guest->sent;
		struct wh_wire message = {
			.kind = WH_WIRE_VIEW,
			.key = admission->key,
			.total = (uint32_t)admission->count,
			.offset = guest->sent,
			.bytes = (uint32_t)(left < WH_WIRE_PIECE_BYTES ? left : WH_WIRE_PIECE_BYTES),
			.piece = admission->bytes + guest->sent,
		};

		if (!wh_lobby_send(admission->lobby, node, &message))
			return false;
		guest->sent += message.bytes;
	}
	return true;
}

size_t wh_admission_step(struct wh_admission *admission)
{
	struct wh_lobby *lobby = admission->lobby;
	size_t work = 0;

	if (!admission->outstanding)
		return 0;
	admission->outstanding = false;
	for (uint32_t node = 0; node < lobby->nodes; node++) {
		struct wh_guest *guest = &lobby->guests[node];
		const struct wh_wire withdrawn = {.kind = WH_WIRE_WITHDRAWN, .key = guest->recalled};
		uint32_t before;

		/* To one who has not heard what I am an invitation, or its end, would mean nothing: my intro goes first. */
		if (guest->told == 0 && (guest->recalls || guest->invited != 0)) {
			admission->outstanding = true;
			continue;
		}
		if (guest->recalls) {
			guest->recalls = !wh_lobby_send(lobby, node, &withdrawn);
			admission->outstanding |= guest->recalls;
			work += !guest->recalls;
		}
		if (guest->invited == 0 || guest->invited != admission->key || guest->sent == admission->count)
			continue;
		before = guest->sent;
		admission->outstanding |= !send_pieces(admission, node);
		work += guest->sent != before;
	}
	return work;
}

void wh_admission_close(struct wh_admission *admission)
{
	forget_bytes(admission);
}
