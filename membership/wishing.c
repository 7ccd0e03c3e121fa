/* wishing.c - see wishing.h. */
#include "membership/wishing.h"

#include <string.h>

/* The place of the first that is not before `name`. */
static uint32_t place_of(const struct wh_wish_set *set, const char *name)
{
	uint32_t at = 0;

	while (at < set->count && strcmp(set->wishes[at].name, name) < 0)
		at++;
	return at;
}

enum whorl_result wh_wishing_add(struct wh_wishing *wishing, const struct wh_wish *wish)
{
	struct wh_wish_set *set = &wishing->wished;
	uint32_t at = place_of(set, wish->name);

	if (at < set->count && strcmp(set->wishes[at].name, wish->name) == 0)
		return WHORL_INVALID;
	if (set->count == WH_WISHES_MAX)
		return WHORL_MEMORY;
	memmove(&set->wishes[at + 1], &set->wishes[at], (set->count - at) * sizeof(set->wishes[0]));
	set->wishes[at] = *wish;
	set->count++;
	wishing->differs = true;
	return WHORL_OK;
}

bool wh_wishing_remove(struct wh_wishing *wishing, const char *name)
{
	struct wh_wish_set *set = &wishing->wished;
	uint32_t at = place_of(set, name);

	if (at == set->count || strcmp(set->wishes[at].name, name) != 0)
		return false;
	set->count--;
	memmove(&set->wishes[at], &set->wishes[at + 1], (set->count - at) * sizeof(set->wishes[0]));
	wishing->differs = true;
	return true;
}

/* A set of a greater number, of which nothing has been said or refused. */
static void say_anew(struct wh_wishing *wishing)
{
	uint64_t number = wishing->said.number + 1;

	wishing->said = wishing->wished;
	wishing->said.number = number;
	wishing->differs = false;
	wishing->to_incarnation = 0;
	memset(wishing->told, 0, sizeof(wishing->told));
	wishing->bytes = (uint32_t)wh_wish_set_encode(wishing->encoded, &wishing->said);
}

/* From its beginning, to that leader; what an earlier one has refused this one may meet. */
static void begin_saying(struct wh_wishing *wishing, uint32_t leader, uint64_t incarnation)
{
	if (wishing->to != leader || wishing->to_incarnation != incarnation)
		memset(wishing->refused, 0, sizeof(wishing->refused));
	wishing->to = leader;
	wishing->to_incarnation = incarnation;
	wishing->said_ns = 0;
	wishing->sent = 0;
}

static size_t send_pieces(struct wh_wishing *wishing)
{
	size_t work = wh_roster_send_pieces(wishing->roster, wishing->to, WH_WIRE_WISHES, wishing->said.number,
					    wishing->encoded, wishing->bytes, &wishing->sent);

	if (wishing->sent == wishing->bytes)
		wishing->said_ns = wishing->roster->loop->now_ns;
	return work;
}

size_t wh_wishing_step(struct wh_wishing *wishing, uint32_t leader, uint64_t served)
{
	struct wh_roster *roster = wishing->roster;
	bool me = leader == roster->id;
	uint64_t incarnation = me ? roster->incarnation : roster->known_nodes[leader].incarnation;
	uint64_t now = roster->loop->now_ns;

	if (wishing->differs && !wishing->held)
		say_anew(wishing);
	if (wishing->said.number <= served || incarnation == 0)
		return 0;
	if (wishing->to != leader || wishing->to_incarnation != incarnation ||
	    (wishing->said_ns != 0 && now - wishing->said_ns >= WH_WISHING_AGAIN_NS))
		begin_saying(wishing, leader, incarnation);
	if (wishing->said_ns != 0 || me) {
		if (!me)
			wh_loop_at(roster->loop, wishing->said_ns + WH_WISHING_AGAIN_NS);
		return 0;
	}
	return send_pieces(wishing);
}

static void tell(struct wh_wishing *wishing, const struct wh_refusal *refusal)
{
	if (wishing->on_refused == NULL || wishing->told[refusal->wish])
		return;
	wishing->told[refusal->wish] = true;
	wishing->on_refused(wishing->ctx, &wishing->said.wishes[refusal->wish], refusal);
}

const struct wh_wish *wh_wishing_refused(struct wh_wishing *wishing, uint32_t from, const struct wh_wire *message)
{
	uint32_t at = message->refusal.wish;

	if (from != wishing->to || wishing->to_incarnation == 0 || message->key != wishing->said.number ||
	    at >= wishing->said.count)
		return NULL;
	wishing->refused[at] = true;
	tell(wishing, &message->refusal);
	return &wishing->said.wishes[at];
}
