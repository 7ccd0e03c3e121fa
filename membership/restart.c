/* restart.c - see restart.h: a node's part in a restart, and what comes from others.
 *
 *     restart_voice.c   a disk: it promises, reports and agrees
 *     restart_round.c   the coordinator
 *     restart_find.c    what it makes of what was reported
 *
 * Each step looks at what was heard and at what is on disk, and does what it is time for; so it does not matter in which order things come,
 * or which node fails. A message that does not get through is one of a node that is lost, or of a round that has no end, and the coordinator
 * asks anew.
 */
#include <stdio.h>
#include <stdlib.h>

#include "membership/restart_int.h"

enum whorl_result wh_restart_init(struct wh_restart *restart, uint32_t id, uint32_t nodes, struct wh_error *err)
{
	restart->nodes = nodes;
	restart->voices = calloc(1, sizeof(*restart->voices));
	restart->parts = calloc(nodes, sizeof(*restart->parts));
	restart->round.asked = calloc(nodes, sizeof(*restart->round.asked));
	restart->round.heard = calloc(nodes, sizeof(*restart->round.heard));
	if (restart->voices == NULL || restart->parts == NULL || restart->round.asked == NULL ||
	    restart->round.heard == NULL) {
		wh_restart_close(restart);
		return wh_error_set(err, WHORL_MEMORY, "no memory for a restart of %u nodes", nodes);
	}
	restart->voices[0].disk = id;
	restart->voice_count = 1;
	return WHORL_OK;
}

void wh_restart_close(struct wh_restart *restart)
{
	wh_round_forget(restart);
	for (uint32_t i = 0; i < restart->voice_count; i++)
		wh_voice_reset(&restart->voices[i]);
	for (uint32_t node = 0; restart->parts != NULL && node < restart->nodes; node++)
		wh_view_parts_free(&restart->parts[node]);
	free(restart->voices);
	free(restart->parts);
	free(restart->round.asked);
	free(restart->round.heard);
	restart->voices = NULL;
	restart->voice_count = 0;
	restart->parts = NULL;
	restart->round.asked = NULL;
	restart->round.heard = NULL;
}

enum whorl_result wh_restart_speak(struct wh_restart *restart, uint32_t disk)
{
	struct wh_voice *voices = realloc(restart->voices, (restart->voice_count + 1) * sizeof(*voices));

	if (voices == NULL)
		return WHORL_MEMORY;
	restart->voices = voices;
	voices[restart->voice_count++] = (struct wh_voice){.disk = disk};
	return WHORL_OK;
}

void wh_restart_hush(struct wh_restart *restart, uint32_t disk)
{
	for (uint32_t i = 1; i < restart->voice_count; i++)
		if (restart->voices[i].disk == disk) {
			wh_voice_reset(&restart->voices[i]);
			restart->voices[i] = restart->voices[--restart->voice_count];
			return;
		}
}

enum wh_disk_is wh_restart_disk(const struct wh_restart *restart)
{
	const struct wh_standing *standing = wh_restart_standing(restart, restart->voices[0].disk);

	if (wh_standing_is_blank(standing))
		return WH_DISK_BLANK;
	return standing->first ? WH_DISK_FIRST : WH_DISK_STANDS;
}

bool wh_restart_may_found(const struct wh_restart *restart)
{
	const bool heard[WH_NODES_MAX] = {false};

	return wh_restart_disk(restart) != WH_DISK_STANDS && wh_restart_has_heard_all(restart, heard);
}

uint64_t wh_restart_floor(const struct wh_restart *restart)
{
	return wh_restart_floor_of(wh_restart_standing(restart, restart->voices[0].disk));
}

static uint64_t greater_first_key(uint64_t one, uint64_t other)
{
	return wh_is_first_view(other) && other > one ? other : one;
}

/* What the disk has promised; and no ballot names a view that has the same key as one that the disk knows of. */
uint64_t wh_restart_floor_of(const struct wh_standing *standing)
{
	return greater_first_key(greater_first_key(standing->promised, standing->base), standing->next);
}

/* ---- all -------------------------------------------------------------------------------------------------------------- */

void wh_restart_forget(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;

	wh_round_end(join);
	restart->known = 0; /* it may be of another group from then on */
	for (uint32_t i = 0; i < restart->voice_count; i++)
		wh_voice_reset(&restart->voices[i]);
	for (uint32_t node = 0; node < restart->nodes; node++)
		wh_view_parts_free(&restart->parts[node]);
}

/* A disk that this node speaks for since it has promised for its own takes part in that round as well. */
static void ask_new_voices(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	const struct wh_voice *own = &restart->voices[0];

	for (uint32_t i = 1; i < restart->voice_count && own->follows != 0 && own->asked == 0 && !own->has_agreement;
	     i++)
		if (restart->voices[i].asked == 0 && restart->voices[i].follows < own->follows)
			wh_voice_ask(join, &restart->voices[i], own->by, own->follows);
}

/* A member of the view that this node follows is in it: so it may begin, though the node that says so may have ended. Else those that
 * were told and those that were not might each be too few. */
static void look_for_begun(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;

	if (!wh_restart_follows_round(join) || restart->begun == join->key ||
	    !wh_restart_has_agreed(restart, join->key))
		return;
	for (uint32_t rank = 0; rank < join->view->members; rank++) {
		const struct wh_known_node *known = &join->roster->known_nodes[join->view->ids[rank]];

		if (known->incarnation == join->view->incarnations[rank] && known->introduced &&
		    known->standing == WH_MEMBER_OF && known->key == join->key)
			restart->begun = join->key;
	}
}

size_t wh_restart_step(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	size_t work = 0;

	look_for_begun(join);
	ask_new_voices(join);
	for (uint32_t i = 0; i < restart->voice_count; i++)
		work += wh_voice_step(join, &restart->voices[i]);
	return work + wh_round_step(join);
}

bool wh_restart_is_deserted(const struct wh_join *join)
{
	const struct wh_known_node *by = &join->roster->known_nodes[join->by];
	bool is_there = join->state == WH_JOIN_THERE;
	uint64_t since_ns = is_there && join->there_ns > by->heard_ns ? join->there_ns : by->heard_ns, patience_ns;

	if (join->by == join->roster->id)
		return false;
	if (by->incarnation != 0)
		patience_ns = WH_SILENT_TIMEOUTS * join->start_timeout_ns;
	else /* what it said last may have made others begin, which say so */
		patience_ns = is_there ? join->start_timeout_ns : 0;
	return since_ns + patience_ns <= join->roster->loop->now_ns;
}

/* This node is there: its view may have begun elsewhere, and needs it. What its own coordinator asks comes after that has given it up. */
static bool holds_on(const struct wh_join *join, uint32_t by)
{
	return join->state == WH_JOIN_THERE && wh_restart_follows_round(join) && by != join->by &&
	       !wh_restart_is_deserted(join);
}

/* Some member that is not lost has the whole log of that durable shard; or none had. */
static bool has_whole_log(const struct wh_join *join, const struct wh_view *view, const struct wh_view_subgroup *shard,
			  uint64_t key)
{
	bool any = false;

	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t rank = shard->members[i];

		if (wh_rank_find(shard->entered, shard->entered_count, rank) >= 0)
			continue;
		if (!wh_roster_lost(join->roster, view->ids[rank], view->incarnations[rank], key))
			return true;
		any = true;
	}
	return !any;
}

bool wh_restart_is_enough(const struct wh_join *join, const struct wh_view *view, uint64_t key)
{
	const struct wh_restart *restart = join->restart;
	struct wh_quorum quorum = {.members = view->voters, .tie_breaker = restart->tie_breaker};
	bool tie = false, home = false;
	uint32_t count = 0;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t id = view->ids[rank];

		if (wh_roster_lost(join->roster, id, view->incarnations[rank], key)) {
			quorum.members -=
				join->one_host && wh_roster_has_died(join->roster, id, view->incarnations[rank]);
			continue;
		}
		count++;
		tie = tie || (int)id == restart->tie_breaker;
		home = home || id < restart->home;
	}
	for (uint32_t g = 0; g < view->subgroup_count; g++)
		if (wh_restart_is_durable(restart, &view->subgroups[g]) &&
		    !has_whole_log(join, view, &view->subgroups[g], key))
			return false;
	return home && wh_quorum_holds(&quorum, count, tie);
}

/* A piece of what takes several. False: no node says that. */
static bool take_piece(struct wh_join *join, uint32_t node, const struct wh_wire *message)
{
	struct wh_view_parts *parts = &join->restart->parts[node];
	enum whorl_result result = wh_view_parts_take(parts, message);
	bool believed = true;

	if (result == WHORL_OK && message->kind == WH_WIRE_STANDING)
		wh_round_hear_report(join, node, parts->bytes, parts->total);
	else if (result == WHORL_OK)
		believed = wh_voice_take_agreement(join, node, parts->bytes, parts->total);
	if (result == WHORL_OK)
		wh_view_parts_free(parts);
	return believed && result != WHORL_INVALID;
}

/* A voice that has promised this to that node; NULL: none has. */
static const struct wh_voice *voice_that_follows(const struct wh_restart *restart, uint32_t node, uint64_t ballot)
{
	for (uint32_t i = 0; i < restart->voice_count; i++)
		if (restart->voices[i].follows == ballot && restart->voices[i].by == node &&
		    restart->voices[i].asked == 0)
			return &restart->voices[i];
	return NULL;
}

bool wh_restart_on_message(struct wh_join *join, uint32_t node, const struct wh_wire *message)
{
	struct wh_restart *restart = join->restart;
	const struct wh_round *round = &restart->round;
	const struct wh_voice *own = &restart->voices[0];

	if (message->kind != WH_WIRE_STANDING && message->key > restart->highest && wh_is_first_view(message->key))
		restart->highest = message->key;
	switch (message->kind) {
	case WH_WIRE_ASK:
		if (holds_on(join, node)) /* it asks again */
			return true;
		for (uint32_t i = 0; wh_restart_may_take_part(join) && i < restart->voice_count; i++)
			wh_voice_ask(join, &restart->voices[i], node, message->key);
		return true;
	case WH_WIRE_STANDING:
		return round->phase != WH_ROUND_ASKS || message->key != round->ballot ||
		       take_piece(join, node, message);
	case WH_WIRE_AGREE:
		if (voice_that_follows(restart, node, message->key) != NULL)
			return take_piece(join, node, message);
		if (message->offset == 0 && wh_restart_standing(restart, own->disk)->promised > message->key)
			(void)wh_restart_send(join, node, WH_WIRE_HIGHER,
					      wh_restart_standing(restart, own->disk)->promised, 0);
		return true;
	case WH_WIRE_HIGHER:
		if (round->phase != WH_ROUND_NONE && message->key >= round->ballot)
			restart->round.refused = true;
		return true;
	case WH_WIRE_AGREED:
		wh_round_hear_agreed(join, node, message->node, message->key);
		return true;
	default: /* WH_WIRE_BEGIN */
		if (own->by == node && own->agreed == message->key)
			restart->begun = message->key;
		return true;
	}
}

bool wh_restart_expects(const struct wh_join *join, uint32_t from, uint64_t key)
{
	const struct wh_voice *own = &join->restart->voices[0];

	return join->state == WH_JOIN_SEEKING && own->has_agreement && own->asked == 0 && own->follows == key &&
	       own->by == from && own->agreement.next == key;
}

bool wh_restart_invites(const struct wh_join *join, const struct wh_view *view, uint64_t key)
{
	const struct wh_voice *own = &join->restart->voices[0];

	return own->has_agreement && own->agreement.next == key && wh_view_equals(view, own->agreement.next_view);
}

bool wh_restart_has_agreed(const struct wh_restart *restart, uint64_t key)
{
	return restart->voices[0].agreed == key && restart->voices[0].agreement.next == key;
}

bool wh_restart_lacks_log(const struct wh_join *join)
{
	const struct wh_round *round = &join->restart->round;

	return join->state == WH_JOIN_SEEKING && round->phase == WH_ROUND_ASKS && round->lacks_log &&
	       !join->restart->voices[0].has_agreement;
}

void wh_restart_report_again(struct wh_join *join)
{
	struct wh_voice *own = &join->restart->voices[0];

	if (own->follows != 0 && own->asked == 0 && !own->has_agreement)
		wh_voice_report(join, own);
}

bool wh_restart_may_begin(const struct wh_restart *restart, uint64_t key)
{
	return restart->begun == key;
}

struct wh_restart_is wh_restart_look(const struct wh_join *join)
{
	const struct wh_restart *restart = join->restart;
	const struct wh_voice *own = &restart->voices[0];
	struct wh_restart_is is = {.phase = restart->round.phase, .coordinator = -1, .missing = &restart->missing};

	is.goes_on = wh_restart_may_take_part(join) && wh_restart_disk(restart) != WH_DISK_BLANK;
	if (is.phase != WH_ROUND_NONE)
		is.coordinator = (int)join->roster->id;
	else if (own->follows != 0 && own->by != join->roster->id)
		is.coordinator = (int)own->by;
	return is;
}

bool wh_restart_explain(const struct wh_join *join, char *text, size_t bytes)
{
	const struct wh_restart *restart = join->restart;
	const struct wh_voice *own = &restart->voices[0];

	if (wh_restart_disk(restart) == WH_DISK_BLANK)
		return false;
	if (restart->waits[0] != '\0')
		snprintf(text, bytes, "%s", restart->waits);
	else if (own->follows != 0 && own->by != join->roster->id)
		snprintf(text, bytes, "waits for what node %u makes of what the disks of the group have", own->by);
	else
		snprintf(text, bytes, "looks for the other members of the group, to go on with what their disks have");
	return true;
}
