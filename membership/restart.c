/* restart.c - see restart.h; restart_find.c has what a round decides.
 *
 * Each step looks at what was heard and at what is on disk, and does what it is time for; so it does not matter in which order things come,
 * or which node fails. A message that does not get through is one of a node that is lost, or of a round that has no end, and the coordinator
 * asks anew.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "membership/join_int.h"
#include "membership/restart_int.h"

enum { WROTE_NOTHING, WROTE_BASE, WROTE_NEXT, WROTE_BEFORE, WROTE_ALL }; /* of an agreement */

/* ---- making, and forgetting ------------------------------------------------------------------------------------------- */

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

static void drop_bytes(unsigned char **bytes)
{
	unsigned char *old = *bytes;

	*bytes = NULL; /* first: a fork may come in between */
	free(old);
}

static void drop_agreement(struct wh_voice *voice)
{
	voice->has_agreement = false;
	voice->written = WROTE_NOTHING;
	voice->agreed = 0;
	voice->told = false;
	wh_agreement_free(&voice->agreement);
	drop_bytes(&voice->views[0]);
	drop_bytes(&voice->views[1]);
}

static void reset_voice(struct wh_voice *voice)
{
	drop_agreement(voice);
	drop_bytes(&voice->report);
	voice->asked = voice->follows = 0;
}

static void forget_disk(struct wh_heard_disk *heard)
{
	heard->is_heard = heard->votes = heard->agreed = false;
	wh_report_free(&heard->report);
	drop_bytes(&heard->agreement);
}

static void forget_round(struct wh_restart *restart)
{
	struct wh_round *round = &restart->round;
	struct wh_view *next = round->next;

	round->phase = WH_ROUND_NONE;
	round->ballot = 0;
	round->next = NULL;
	wh_view_free(next);
	for (uint32_t node = 0; node < restart->nodes && round->heard != NULL && round->asked != NULL; node++) {
		forget_disk(&round->heard[node]);
		round->asked[node] = (struct wh_asked_node){.incarnation = 0};
	}
	restart->waits[0] = '\0';
}

void wh_restart_close(struct wh_restart *restart)
{
	forget_round(restart);
	for (uint32_t i = 0; i < restart->voice_count; i++)
		reset_voice(&restart->voices[i]);
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
			reset_voice(&restart->voices[i]);
			restart->voices[i] = restart->voices[--restart->voice_count];
			return;
		}
}

enum wh_disk_is wh_restart_disk(const struct wh_restart *restart)
{
	const struct wh_standing *standing = restart->on.standing(restart->ctx, restart->voices[0].disk);

	if (wh_standing_is_blank(standing))
		return WH_DISK_BLANK;
	return standing->first ? WH_DISK_FIRST : WH_DISK_STANDS;
}

static uint64_t greater_first_key(uint64_t one, uint64_t other)
{
	return wh_is_first_view(other) && other > one ? other : one;
}

/* What the disk has promised; and no ballot names a view that has the same key as one that the disk knows of. */
static uint64_t floor_of(const struct wh_standing *standing)
{
	return greater_first_key(greater_first_key(standing->promised, standing->base), standing->next);
}

uint64_t wh_restart_floor(const struct wh_restart *restart)
{
	return floor_of(restart->on.standing(restart->ctx, restart->voices[0].disk));
}

/* ---- looking ---------------------------------------------------------------------------------------------------------- */

static const struct wh_standing *standing_of(const struct wh_restart *restart, uint32_t disk)
{
	return restart->on.standing(restart->ctx, disk);
}

static uint64_t my_group(const struct wh_restart *restart)
{
	return standing_of(restart, restart->voices[0].disk)->group;
}

static struct wh_voice *find_voice(struct wh_restart *restart, uint32_t disk)
{
	for (uint32_t i = 0; i < restart->voice_count; i++)
		if (restart->voices[i].disk == disk)
			return &restart->voices[i];
	return NULL;
}

/* The view that is followed is one that a round has decided. */
static bool follows_round(const struct wh_join *join)
{
	return (join->state == WH_JOIN_INVITED || join->state == WH_JOIN_THERE) && wh_is_first_view(join->key) &&
	       join->view->number > 0;
}

/* A node that comes into another view has no part in a restart. */
static bool may_take_part(const struct wh_join *join)
{
	return join->state == WH_JOIN_SEEKING || follows_round(join);
}

/* A member that hears a quorum is there: the group goes on, or does again. */
static bool has_met_members(const struct wh_join *join)
{
	int member = wh_join_member(join);

	return member >= 0 && join->roster->known_nodes[member].quorum;
}

/* Does that other node take part, as far as this one knows? */
static bool is_participant(const struct wh_join *join, uint32_t node)
{
	const struct wh_known_node *known = &join->roster->known_nodes[node];

	return node != join->roster->id && known->incarnation != 0 && known->introduced && known->differs == NULL &&
	       known->standing != WH_MEMBER_OF && known->disk != WH_DISK_BLANK &&
	       known->group == my_group(join->restart);
}

/* A view of a round that has begun already is begun, and not dropped. */
static bool has_begun(const struct wh_join *join)
{
	return join->state == WH_JOIN_THERE && join->on.has_begun(join->ctx, false);
}

static bool send_number(const struct wh_join *join, uint32_t node, enum wh_wire_kind kind, uint64_t number,
			uint32_t disk)
{
	const struct wh_wire message = {.kind = kind, .key = number, .node = disk};

	return wh_roster_send(join->roster, node, &message);
}

/* ---- a disk promises, and reports ------------------------------------------------------------------------------------- */

static void be_asked(struct wh_join *join, struct wh_voice *voice, uint32_t by, uint64_t ballot)
{
	const struct wh_standing *standing = standing_of(join->restart, voice->disk);

	if (wh_standing_is_blank(standing) || voice->asked > ballot)
		return;
	if (floor_of(standing) >= ballot && by != join->roster->id) /* lost if the queue is full: then it asks again */
		(void)send_number(join, by, WH_WIRE_HIGHER, floor_of(standing), 0);
	else if (floor_of(standing) >= ballot && floor_of(standing) > join->restart->highest)
		join->restart->highest = floor_of(standing); /* and this node asks anew */
	if (floor_of(standing) >= ballot)
		return;
	voice->asked = ballot;
	voice->asked_by = by;
}

static struct wh_view *read_view(const struct wh_join *join, uint32_t disk, uint64_t key)
{
	const struct wh_restart *restart = join->restart;
	const unsigned char *bytes;
	struct wh_view *view = NULL;
	struct wh_error err;
	size_t count;

	if (key == 0 || !restart->on.view(restart->ctx, disk, key, &bytes, &count) ||
	    wh_view_decode(&view, bytes, count, join->layout, join->roster->nodes, &err) != WHORL_OK)
		return NULL;
	return view;
}

/* What this disk has. NULL: no memory. */
static unsigned char *make_report(const struct wh_join *join, uint32_t disk, uint32_t *count)
{
	const struct wh_restart *restart = join->restart;
	struct wh_report report = {.disk = disk};
	unsigned char *out = NULL;
	size_t bytes = 0;

	if (wh_standing_copy(&report.standing, standing_of(restart, disk)) != WHORL_OK)
		return NULL;
	report.base = read_view(join, disk, report.standing.base);
	report.next = report.standing.ballot > 0 ? read_view(join, disk, report.standing.next) : NULL;
	report.logs = calloc((size_t)report.standing.shard_count + 1, sizeof(*report.logs));
	for (uint32_t i = 0; report.logs != NULL && i < report.standing.shard_count; i++)
		restart->on.log(restart->ctx, disk, report.standing.shards[i].subgroup, report.standing.shards[i].shard,
				&report.logs[i]);
	if (report.logs != NULL && wh_report_encode(&out, &bytes, &report) != WHORL_OK)
		out = NULL;
	wh_report_free(&report);
	*count = (uint32_t)bytes;
	return out;
}

/* Writes the promise; then what was agreed to before is nothing to this life any more. Returns how much it did. */
static size_t write_promise(struct wh_join *join, struct wh_voice *voice)
{
	struct wh_restart *restart = join->restart;
	struct wh_standing standing;
	bool kept;

	if (!may_take_part(join) || has_begun(join)) {
		voice->asked = 0;
		return 0;
	}
	if (follows_round(join))
		wh_join_drop(join, "asked anew");
	if (wh_standing_copy(&standing, standing_of(restart, voice->disk)) != WHORL_OK)
		return 0;
	standing.promised = voice->asked;
	kept = restart->on.keep_standing(restart->ctx, voice->disk, &standing);
	wh_standing_free(&standing);
	if (!kept)
		return 0;
	drop_agreement(voice);
	drop_bytes(&voice->report);
	voice->follows = voice->asked;
	voice->by = voice->asked_by;
	voice->asked = 0;
	join->floor = voice->follows > join->floor ? voice->follows : join->floor;
	voice->report = make_report(join, voice->disk, &voice->report_bytes);
	voice->report_sent = 0;
	wh_event(join->roster->diag, "promised", voice->disk, voice->follows, voice->by);
	return 1;
}

static void hear_report(struct wh_join *join, uint32_t node, const unsigned char *bytes, size_t count);

static size_t send_report(struct wh_join *join, struct wh_voice *voice)
{
	size_t work = 1;

	if (voice->by == join->roster->id) {
		if (join->restart->round.ballot == voice->follows)
			hear_report(join, voice->by, voice->report, voice->report_bytes);
		voice->report_sent = voice->report_bytes;
	} else {
		work = wh_roster_send_pieces(join->roster, voice->by, WH_WIRE_STANDING, voice->follows, voice->report,
					     voice->report_bytes, &voice->report_sent);
	}
	if (voice->report_sent == voice->report_bytes)
		drop_bytes(&voice->report);
	return work;
}

/* ---- a disk agrees ---------------------------------------------------------------------------------------------------- */

/* What is to be agreed to is of this disk's group, and not behind what it has. */
static bool fits_disk(const struct wh_join *join, const struct wh_voice *voice, const struct wh_agreement *agreement)
{
	const struct wh_standing *standing = standing_of(join->restart, voice->disk);
	const struct wh_view *base = agreement->base_view;

	return base->group == standing->group && base->number >= standing->number &&
	       (base->number > standing->number || agreement->base == standing->base) &&
	       agreement->taken_up == (agreement->next != voice->follows);
}

/* False: no node says that. */
static bool take_agreement(struct wh_join *join, uint32_t from, const unsigned char *bytes, size_t count)
{
	struct wh_agreement agreement;
	struct wh_voice *voice;
	struct wh_error err;
	enum whorl_result result =
		wh_agreement_decode(&agreement, bytes, count, join->layout, join->roster->nodes, &err);

	if (result != WHORL_OK) {
		if (result == WHORL_INVALID)
			wh_log(join->roster->diag, WH_LOG_WARNING, "node %u asks to agree to what cannot be: %s", from,
			       err.text);
		return result != WHORL_INVALID;
	}
	voice = find_voice(join->restart, agreement.disk);
	if (voice == NULL || voice->by != from || voice->has_agreement || !may_take_part(join) ||
	    !fits_disk(join, voice, &agreement)) {
		wh_agreement_free(&agreement);
		return true;
	}
	drop_agreement(voice);
	voice->agreement = agreement;
	if (wh_view_encode(&voice->views[0], &voice->view_bytes[0], agreement.base_view) == WHORL_OK &&
	    wh_view_encode(&voice->views[1], &voice->view_bytes[1], agreement.next_view) == WHORL_OK)
		voice->has_agreement = true;
	else
		drop_agreement(voice); /* the coordinator asks anew */
	return true;
}

static bool is_in(const struct wh_view *view, const struct wh_view_subgroup *shard, uint32_t id)
{
	int rank = wh_view_rank(view, id);

	return rank >= 0 && wh_rank_find(shard->members, shard->member_count, (uint32_t)rank) >= 0;
}

/* In the view that follows that disk's node is a member, and enters that shard. */
static bool enters(const struct wh_agreement *agreement, uint64_t subgroup, uint32_t shard)
{
	int index = wh_subgroup_index(agreement->next_view, subgroup, shard);
	const struct wh_view_subgroup *next = index >= 0 ? &agreement->next_view->subgroups[index] : NULL;
	int rank = wh_view_rank(agreement->next_view, agreement->disk);

	return next != NULL && rank >= 0 && wh_rank_find(next->entered, next->entered_count, (uint32_t)rank) >= 0;
}

/* This disk's part of a durable shard of base, which its node is a member of there. */
static struct wh_shard_standing stand_in_shard(const struct wh_join *join, const struct wh_voice *voice,
					       const struct wh_view_subgroup *shard)
{
	const struct wh_restart *restart = join->restart;
	const struct wh_standing *was = standing_of(restart, voice->disk);
	const struct wh_agreement *agreement = &voice->agreement;
	struct wh_shard_standing out = {.subgroup = wh_subgroup_number(shard), .shard = shard->shard};
	const struct wh_shard_begin *begin =
		wh_begin_of(agreement->begins, agreement->begin_count, out.subgroup, out.shard);
	const struct wh_shard_standing *old = wh_standing_shard(was, out.subgroup, out.shard);
	struct wh_log_report log = {.rotten = false};

	if (old != NULL && was->base == agreement->base) {
		out = *old;
	} else if (begin != NULL) {
		out.before = begin->before;
		out.begins = begin->begins;
	}
	if (old != NULL)
		restart->on.log(restart->ctx, voice->disk, out.subgroup, out.shard, &log);
	/* Rot is only forgotten where the state is given anew. */
	if (log.rotten && (agreement->taken_up || wh_view_rank(agreement->next_view, voice->disk) < 0))
		log.rotten = false;
	out.whole = wh_log_counts(was, old, &log, agreement->base, begin) &&
		    (agreement->taken_up || !enters(agreement, out.subgroup, out.shard));
	if (!agreement->taken_up && wh_view_rank(agreement->next_view, voice->disk) >= 0) {
		out.left = false;
		out.left_at = 0;
	}
	return out;
}

/* False: no memory. */
static bool stand_in_shards(const struct wh_join *join, const struct wh_voice *voice, struct wh_standing *out)
{
	const struct wh_restart *restart = join->restart;
	const struct wh_agreement *agreement = &voice->agreement;
	const struct wh_view *base = agreement->base_view;

	out->shards = calloc((size_t)base->subgroup_count + 1, sizeof(*out->shards));
	out->others = calloc((size_t)base->subgroup_count + 1, sizeof(*out->others));
	if (out->shards == NULL || out->others == NULL)
		return false;
	for (uint32_t g = 0; g < base->subgroup_count; g++) {
		const struct wh_view_subgroup *shard = &base->subgroups[g];

		if (restart->on.is_durable(restart->ctx, shard) && is_in(base, shard, voice->disk))
			out->shards[out->shard_count++] = stand_in_shard(join, voice, shard);
	}
	for (uint32_t i = 0; i < agreement->begin_count; i++)
		if (wh_standing_shard(out, agreement->begins[i].subgroup, agreement->begins[i].shard) == NULL)
			out->others[out->other_count++] = agreement->begins[i];
	return true;
}

/* What the disk says from then on. False: no memory. */
static bool make_standing(const struct wh_join *join, const struct wh_voice *voice, struct wh_standing *out)
{
	const struct wh_standing *was = standing_of(join->restart, voice->disk);
	const struct wh_agreement *agreement = &voice->agreement;
	bool stays = was->base == agreement->base,
	     goes_on = !agreement->taken_up && wh_view_rank(agreement->next_view, voice->disk) >= 0;

	*out = (struct wh_standing){.group = was->group,
				    .base = agreement->base,
				    .number = agreement->base_view->number,
				    .left = stays && was->left && !goes_on,
				    .promised = was->promised,
				    .ballot = voice->follows,
				    .next = agreement->next,
				    .cut_count = agreement->cut_count};
	out->cuts = calloc((size_t)agreement->cut_count + 1, sizeof(*out->cuts));
	if (out->cuts == NULL || !stand_in_shards(join, voice, out)) {
		wh_standing_free(out);
		return false;
	}
	memcpy(out->cuts, agreement->cuts, agreement->cut_count * sizeof(*out->cuts));
	return true;
}

/* This disk stands two views before base: what it has agreed to is the one in between. It has nothing of that, so its logs have to say where
 * that begins. False: that is not so. */
static bool is_two_behind(const struct wh_join *join, const struct wh_voice *voice)
{
	const struct wh_standing *was = standing_of(join->restart, voice->disk);

	for (uint32_t i = 0; was->ballot > 0 && i < voice->agreement.begin_count; i++)
		if (voice->agreement.begins[i].before == was->next && was->next != voice->agreement.base)
			return true;
	return false;
}

/* Where that view begins, as the disk itself has agreed to it. False: no memory, or its view is not there: then its logs do not count. */
static bool make_standing_between(const struct wh_join *join, const struct wh_voice *voice, struct wh_standing *out)
{
	const struct wh_standing *was = standing_of(join->restart, voice->disk);
	struct wh_view *base = read_view(join, voice->disk, was->base);

	*out = (struct wh_standing){
		.group = was->group, .base = was->next, .number = was->number + 1, .promised = was->promised};
	out->shards = calloc((size_t)was->shard_count + 1, sizeof(*out->shards));
	if (base == NULL || out->shards == NULL) {
		wh_view_free(base);
		wh_standing_free(out);
		return false;
	}
	for (uint32_t i = 0; i < was->shard_count; i++) {
		struct wh_shard_standing shard = was->shards[i];
		int index = wh_subgroup_index(base, shard.subgroup, shard.shard);

		if (index < 0 || (uint32_t)index >= was->cut_count)
			continue;
		shard.before = was->base;
		shard.begins = was->cuts[index];
		shard.left = false;
		shard.left_at = 0;
		out->shards[out->shard_count++] = shard;
	}
	wh_view_free(base);
	return true;
}

static bool keep(const struct wh_restart *restart, uint32_t disk, struct wh_standing *standing)
{
	bool kept = restart->on.keep_standing(restart->ctx, disk, standing);

	wh_standing_free(standing);
	return kept;
}

/* One thing after the other. Returns how much it did. */
static size_t write_agreement(struct wh_join *join, struct wh_voice *voice)
{
	struct wh_restart *restart = join->restart;
	const struct wh_agreement *agreement = &voice->agreement;
	struct wh_standing standing;
	bool done = false;

	switch (voice->written) {
	case WROTE_NOTHING:
		done = restart->on.keep_view(restart->ctx, voice->disk, agreement->base, voice->views[0],
					     voice->view_bytes[0]);
		break;
	case WROTE_BASE:
		done = restart->on.keep_view(restart->ctx, voice->disk, agreement->next, voice->views[1],
					     voice->view_bytes[1]);
		break;
	case WROTE_NEXT:
		done = !is_two_behind(join, voice) || !make_standing_between(join, voice, &standing) ||
		       keep(restart, voice->disk, &standing);
		break;
	default:
		done = make_standing(join, voice, &standing) && keep(restart, voice->disk, &standing);
		break;
	}
	voice->written += done;
	if (voice->written == WROTE_ALL) {
		voice->agreed = voice->follows;
		wh_event(join->roster->diag, "agreed", voice->disk, voice->agreed, agreement->base_view->number);
	}
	return done;
}

static void hear_agreed(struct wh_join *join, uint32_t node, uint32_t disk, uint64_t ballot);

static size_t tell_agreed(struct wh_join *join, struct wh_voice *voice)
{
	if (voice->by == join->roster->id) {
		hear_agreed(join, voice->by, voice->disk, voice->agreed);
		voice->told = true;
	} else {
		voice->told = send_number(join, voice->by, WH_WIRE_AGREED, voice->agreed, voice->disk);
	}
	return voice->told;
}

/* A promise that is being written comes before all else: what was agreed to is nothing then. */
static size_t step_voice(struct wh_join *join, struct wh_voice *voice)
{
	size_t work = 0;

	if (voice->asked != 0)
		return write_promise(join, voice);
	if (voice->follows == 0)
		return 0;
	if (voice->report != NULL)
		work += send_report(join, voice);
	if (voice->has_agreement && voice->written < WROTE_ALL)
		work += write_agreement(join, voice);
	if (voice->agreed != 0 && !voice->told)
		work += tell_agreed(join, voice);
	return work;
}

/* ---- the coordinator: asking ------------------------------------------------------------------------------------------ */

/* This node's round, if it still is that: no disk of its own has promised more. */
static bool is_current(const struct wh_restart *restart)
{
	const struct wh_voice *own = &restart->voices[0];

	return restart->round.phase != WH_ROUND_NONE && own->follows == restart->round.ballot && own->asked == 0;
}

/* Nodes that have been told of what came to nothing are told so; not when it may have begun: this node need not be a member. */
static void end_round(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;

	if (restart->round.invited && restart->round.phase == WH_ROUND_BEGINS && join->state != WH_JOIN_IN)
		wh_join_requests_settle(join->requests, restart->round.next);
	else if (restart->round.invited && join->state != WH_JOIN_IN)
		(void)wh_join_requests_invite(join->requests, NULL, 0, false);
	restart->round.invited = false;
	forget_round(restart);
}

static uint64_t random_below(const struct wh_join *join, uint64_t ns)
{
	const struct wh_env *env = join->roster->diag->env;

	return ns > 0 ? env->random_u64(env->ctx) % ns : 0;
}

/* A greater one than all that were heard of. */
static uint64_t draw_ballot(const struct wh_join *join)
{
	const struct wh_restart *restart = join->restart;
	uint64_t highest = WH_NODES_MAX;

	highest = restart->highest > highest ? restart->highest : highest;
	highest = join->floor > highest ? join->floor : highest;
	for (uint32_t i = 0; i < restart->voice_count; i++) {
		uint64_t floor = floor_of(standing_of(restart, restart->voices[i].disk));

		highest = floor > highest ? floor : highest;
	}
	for (uint32_t node = 0; node < restart->nodes; node++) {
		const struct wh_known_node *known = &join->roster->known_nodes[node];

		if (known->introduced && known->standing != WH_MEMBER_OF && known->key > highest)
			highest = known->key;
	}
	return ((highest >> 8) + 1) << 8 | join->roster->id;
}

static size_t begin_round(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	struct wh_round *round = &restart->round;
	uint64_t now = join->roster->loop->now_ns;

	end_round(join);
	round->ballot = draw_ballot(join);
	if (!wh_is_first_view(round->ballot)) {
		join->on.refused(join->ctx,
				 "so many rounds of a restart have come to nothing that there are no ballots for more");
		return 0;
	}
	round->phase = WH_ROUND_ASKS;
	round->asked_ns = now;
	round->until_ns = now + join->start_timeout_ns + random_below(join, join->start_timeout_ns);
	round->news = true;
	round->refused = false;
	for (uint32_t i = 0; i < restart->voice_count; i++)
		be_asked(join, &restart->voices[i], join->roster->id, round->ballot);
	wh_event(join->roster->diag, "asks", round->ballot, 0, 0);
	return 1;
}

/* It came to nothing. Two that ask against each other must not do so for ever. */
static size_t ask_anew(struct wh_join *join, const char *why)
{
	struct wh_restart *restart = join->restart;
	uint64_t patience = join->start_timeout_ns / 8 << (restart->failures < 4 ? restart->failures : 4);

	if (has_begun(join))
		return 0;
	wh_event(join->roster->diag, why, restart->round.ballot, 0, 0);
	if (follows_round(join) && join->by == join->roster->id)
		wh_join_drop(join, why);
	end_round(join);
	restart->again_ns = join->roster->loop->now_ns + random_below(join, patience);
	restart->failures++;
	return 1;
}

/* Those that take part and have not been asked in this life. */
static size_t send_asks(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	size_t work = 0;

	for (uint32_t node = 0; node < join->restart->nodes; node++) {
		uint64_t incarnation = join->roster->known_nodes[node].incarnation;

		if (!is_participant(join, node) || round->asked[node].incarnation == incarnation ||
		    !send_number(join, node, WH_WIRE_ASK, round->ballot, 0))
			continue;
		round->asked[node] =
			(struct wh_asked_node){.incarnation = incarnation, .ns = join->roster->loop->now_ns};
		work++;
	}
	return work;
}

static void hear_report(struct wh_join *join, uint32_t node, const unsigned char *bytes, size_t count)
{
	struct wh_round *round = &join->restart->round;
	struct wh_report report;
	struct wh_heard_disk *heard;
	struct wh_error err;

	if (round->phase != WH_ROUND_ASKS)
		return;
	if (wh_report_decode(&report, bytes, count, join->layout, join->roster->nodes, &err) != WHORL_OK) {
		wh_log(join->roster->diag, WH_LOG_WARNING, "what node %u says of its disk is not heard: %s", node,
		       err.text);
		return;
	}
	heard = &round->heard[report.disk];
	forget_disk(heard);
	*heard = (struct wh_heard_disk){.is_heard = true,
					.by = node,
					.incarnation = node == join->roster->id
							       ? join->roster->incarnation
							       : join->roster->known_nodes[node].incarnation,
					.report = report};
	round->news = true;
}

static bool is_lost(const struct wh_join *join, const struct wh_heard_disk *heard)
{
	return !wh_roster_has(join->roster, heard->by, heard->incarnation);
}

/* What was heard of a disk counts as long as the node that spoke for it is there. True: one is lost that had been counted on. */
static bool forget_lost(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	bool any = false;

	for (uint32_t disk = 0; disk < join->restart->nodes; disk++) {
		struct wh_heard_disk *heard = &round->heard[disk];

		if (!heard->is_heard || !is_lost(join, heard))
			continue;
		any = any || heard->votes;
		forget_disk(heard);
		round->news = true;
	}
	return any;
}

/* ---- the coordinator: deciding ---------------------------------------------------------------------------------------- */

/* Until then it waits for disks that it could do without: those that have not come, and those that have been asked and not answered. */
static uint64_t patience_of(const struct wh_join *join, bool all_heard)
{
	const struct wh_round *round = &join->restart->round;
	uint64_t until = 0;

	if (all_heard)
		return 0;
	until = join->began_ns + join->start_timeout_ns;
	for (uint32_t node = 0; node < join->restart->nodes; node++) {
		uint64_t asked_ns = round->asked[node].incarnation != 0 ? round->asked[node].ns : round->asked_ns;

		if (is_participant(join, node) && !round->heard[node].is_heard &&
		    asked_ns + join->start_timeout_ns > until)
			until = asked_ns + join->start_timeout_ns;
	}
	return until;
}

/* On one host: no process may be a member that is silent, and no directory may be left that has not been read. */
static bool knows_host(struct wh_join *join)
{
	const struct wh_restart *restart = join->restart;
	bool heard[WH_NODES_MAX] = {false};

	if (!wh_form_knows_all(join))
		return false;
	for (uint32_t disk = 0; disk < restart->nodes; disk++)
		heard[disk] = restart->round.heard[disk].is_heard;
	return restart->on.heard_all == NULL || restart->on.heard_all(restart->ctx, heard);
}

/* Each voter is asked for its disk. False: no memory. */
static bool write_agreements(struct wh_join *join, struct wh_finding *finding)
{
	struct wh_round *round = &join->restart->round;

	for (uint32_t disk = 0; disk < join->restart->nodes; disk++) {
		struct wh_heard_disk *heard = &round->heard[disk];
		size_t bytes;

		heard->votes = finding->votes[disk];
		if (!heard->votes)
			continue;
		finding->agreement.disk = disk;
		if (wh_agreement_encode(&heard->agreement, &bytes, &finding->agreement) != WHORL_OK)
			return false;
		heard->bytes = (uint32_t)bytes;
		heard->sent = 0;
	}
	return true;
}

static size_t follow_finding(struct wh_join *join, struct wh_finding *finding)
{
	struct wh_round *round = &join->restart->round;
	uint64_t now = join->roster->loop->now_ns;

	if (!write_agreements(join, finding))
		return ask_anew(join, "no memory");
	round->phase = WH_ROUND_AGREES;
	round->taken_up = finding->verdict == WH_VERDICT_TAKES_UP;
	round->next = finding->made;
	finding->made = NULL;
	round->until_ns = now + join->start_timeout_ns + random_below(join, join->start_timeout_ns);
	wh_event(join->roster->diag, round->taken_up ? "takes up" : "decides", round->ballot,
		 finding->agreement.base_view->number, 0);
	return 1;
}

/* Of what was heard. */
static size_t decide(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	struct wh_round *round = &restart->round;
	uint64_t incarnations[WH_NODES_MAX] = {0}, now = join->roster->loop->now_ns, until;
	struct wh_seekers seekers = {restart, join->layout, my_group(restart), round->ballot, incarnations};
	struct wh_finding finding;
	size_t work = 0;

	if (!round->news) {
		wh_loop_at(join->roster->loop, round->until_ns);
		return 0;
	}
	for (uint32_t disk = 0; disk < restart->nodes; disk++)
		if (round->heard[disk].is_heard && round->heard[disk].by == disk)
			incarnations[disk] = round->heard[disk].incarnation;
	if (wh_restart_find(&finding, &seekers) != WHORL_OK)
		return 0; /* no memory: in the next pass */
	snprintf(restart->waits, sizeof(restart->waits), "%s", finding.why);
	until = patience_of(join, finding.all_heard);
	round->news = finding.verdict != WH_VERDICT_WAITS; /* it may be time later */
	if (finding.verdict != WH_VERDICT_WAITS && now >= until && knows_host(join))
		work = follow_finding(join, &finding);
	else if (finding.verdict != WH_VERDICT_WAITS)
		wh_loop_at(join->roster->loop, until > now ? until : now + WH_NS_PER_MS);
	wh_finding_free(&finding);
	return work;
}

/* Some that was asked is there and has not answered: what it has promised to another may have been lost on the way. */
static bool is_unanswered(const struct wh_join *join)
{
	const struct wh_round *round = &join->restart->round;

	for (uint32_t node = 0; node < join->restart->nodes; node++)
		if (is_participant(join, node) && round->asked[node].incarnation != 0 && !round->heard[node].is_heard)
			return true;
	return false;
}

/* ---- the coordinator: all agree --------------------------------------------------------------------------------------- */

/* Returns how many messages have gone. *all: nothing is left to be sent. */
static size_t send_agreements(struct wh_join *join, bool *all)
{
	struct wh_round *round = &join->restart->round;
	size_t work = 0;

	*all = true;
	for (uint32_t disk = 0; disk < join->restart->nodes; disk++) {
		struct wh_heard_disk *heard = &round->heard[disk];

		if (heard->agreement == NULL)
			continue;
		if (heard->by == join->roster->id) {
			(void)take_agreement(join, heard->by, heard->agreement, heard->bytes);
			heard->sent = heard->bytes;
			work++;
		} else {
			work += wh_roster_send_pieces(join->roster, heard->by, WH_WIRE_AGREE, round->ballot,
						      heard->agreement, heard->bytes, &heard->sent);
		}
		if (heard->sent == heard->bytes)
			drop_bytes(&heard->agreement);
		else
			*all = false;
	}
	return work;
}

/* The members of what was decided are invited, this node too if it is one. Returns how much it did. */
static size_t invite_members(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	unsigned char *bytes;
	struct wh_view *mine = NULL;
	struct wh_error err;
	size_t count;

	if (wh_view_rank_of(round->next, join->roster->id, join->roster->incarnation) >= 0) {
		if (wh_view_encode(&bytes, &count, round->next) != WHORL_OK)
			return 0;
		if (wh_view_decode(&mine, bytes, count, join->layout, join->roster->nodes, &err) != WHORL_OK)
			mine = NULL;
		free(bytes);
		if (mine == NULL)
			return 0;
	}
	if (wh_join_requests_invite(join->requests, round->next, round->ballot, false) != WHORL_OK) {
		wh_view_free(mine);
		return 0;
	}
	round->invited = true;
	if (mine != NULL)
		wh_join_follow(join, mine, round->ballot, join->roster->id);
	return 1;
}

static void hear_agreed(struct wh_join *join, uint32_t node, uint32_t disk, uint64_t ballot)
{
	struct wh_round *round = &join->restart->round;
	struct wh_heard_disk *heard = disk < join->restart->nodes ? &round->heard[disk] : NULL;

	if (heard != NULL && round->phase == WH_ROUND_AGREES && round->ballot == ballot && heard->votes &&
	    heard->by == node)
		heard->agreed = true;
}

static bool have_all_agreed(const struct wh_restart *restart)
{
	for (uint32_t disk = 0; disk < restart->nodes; disk++)
		if (restart->round.heard[disk].votes && !restart->round.heard[disk].agreed)
			return false;
	return true;
}

/* A member of what was decided is there no more: then it cannot begin. */
static bool lacks_members(const struct wh_join *join)
{
	const struct wh_view *next = join->restart->round.next;

	for (uint32_t rank = 0; next != NULL && rank < next->members; rank++)
		if (!wh_roster_has(join->roster, next->ids[rank], next->incarnations[rank]))
			return true;
	return false;
}

static size_t collect_agreements(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	struct wh_round *round = &restart->round;
	bool all;
	size_t work = send_agreements(join, &all);

	if (all && !round->taken_up && !round->invited)
		work += invite_members(join);
	if (!all || !have_all_agreed(restart))
		return work;
	restart->failures = 0;
	if (round->taken_up) /* it was decided, which is known now: what follows it? */
		return work + begin_round(join);
	if (!round->invited)
		return work;
	round->phase = WH_ROUND_BEGINS;
	restart->begun = round->ballot;
	return work + 1;
}

static size_t send_begins(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	size_t work = 0;

	for (uint32_t rank = 0; rank < round->next->members; rank++) {
		uint32_t node = round->next->ids[rank];

		if (node == join->roster->id || round->asked[node].begin_told)
			continue;
		round->asked[node].begin_told = send_number(join, node, WH_WIRE_BEGIN, round->ballot, 0);
		work += round->asked[node].begin_told;
	}
	return work;
}

/* Some member that is there has not been told that its view may begin. */
static bool is_untold(const struct wh_join *join)
{
	const struct wh_round *round = &join->restart->round;

	for (uint32_t rank = 0; rank < round->next->members; rank++) {
		uint32_t node = round->next->ids[rank];

		if (node != join->roster->id && !round->asked[node].begin_told &&
		    wh_roster_has(join->roster, node, round->next->incarnations[rank]))
			return true;
	}
	return false;
}

/* ---- the coordinator: is it one? --------------------------------------------------------------------------------------- */

/* Some node with a lower id takes part, and is not silent: it coordinates. */
static bool is_lower(const struct wh_join *join)
{
	uint64_t now = join->roster->loop->now_ns, silence_ns = WH_SILENT_TIMEOUTS * join->start_timeout_ns;

	for (uint32_t node = 0; node < join->roster->id; node++)
		if (is_participant(join, node) && join->roster->known_nodes[node].heard_ns + silence_ns > now)
			return true;
	return false;
}

/* A first view that was never begun gives way to a group that has one that was, and to a new one, if all can form it. */
static bool gives_way(struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;
	uint64_t until = join->began_ns + join->start_timeout_ns;

	if (wh_restart_disk(join->restart) != WH_DISK_FIRST)
		return false;
	for (uint32_t node = 0; node < roster->nodes; node++)
		if (roster->known_nodes[node].introduced && roster->known_nodes[node].differs == NULL &&
		    roster->known_nodes[node].disk == WH_DISK_STANDS &&
		    roster->known_nodes[node].group != my_group(join->restart))
			return true;
	if (wh_form_has_all(join))
		return true;
	if (roster->loop->now_ns < until)
		wh_loop_at(roster->loop, until);
	return roster->loop->now_ns < until;
}

/* Its coordinator is there no more, or silent. */
static bool is_deserted(const struct wh_join *join)
{
	const struct wh_known_node *by = &join->roster->known_nodes[join->by];
	uint64_t silence_ns = WH_SILENT_TIMEOUTS * join->start_timeout_ns;

	return join->by != join->roster->id &&
	       (by->incarnation == 0 || by->heard_ns + silence_ns <= join->roster->loop->now_ns);
}

static bool may_coordinate(struct wh_join *join)
{
	if (wh_restart_disk(join->restart) == WH_DISK_BLANK || has_met_members(join) || wh_join_looks_around(join))
		return false;
	if (join->state != WH_JOIN_SEEKING &&
	    !(follows_round(join) && (join->by == join->roster->id || is_deserted(join))))
		return false;
	return join->restart->round.phase > WH_ROUND_ASKS || (!is_lower(join) && !gives_way(join));
}

/* What this node is a member of itself has been dropped here. */
static bool has_given_up(const struct wh_join *join)
{
	const struct wh_round *round = &join->restart->round;

	return round->invited && wh_view_rank_of(round->next, join->roster->id, join->roster->incarnation) >= 0 &&
	       !(follows_round(join) && join->key == round->ballot);
}

static size_t step_asking(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	uint64_t now = join->roster->loop->now_ns;

	if (now >= round->until_ns && is_unanswered(join))
		return ask_anew(join, "unanswered");
	if (now >= round->until_ns) {
		round->until_ns = now + join->start_timeout_ns;
		round->news = true;
	}
	return send_asks(join) + decide(join);
}

static size_t step_phase(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	struct wh_round *round = &restart->round;
	uint64_t now = join->roster->loop->now_ns;
	bool lost = forget_lost(join);

	if (lost || (round->phase != WH_ROUND_ASKS && (lacks_members(join) || has_given_up(join))))
		return ask_anew(join, "lost a node");
	if (round->refused || restart->highest > round->ballot)
		return ask_anew(join, "another has promised more");
	if (round->phase == WH_ROUND_ASKS)
		return step_asking(join);
	if (now >= round->until_ns)
		return ask_anew(join, "no end");
	wh_loop_at(join->roster->loop, round->until_ns);
	return round->phase == WH_ROUND_AGREES ? collect_agreements(join) : send_begins(join);
}

static size_t coordinate(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	uint64_t now = join->roster->loop->now_ns;

	if (!may_coordinate(join)) {
		/* Where some have begun the others must hear it. */
		if (restart->round.phase == WH_ROUND_BEGINS && now < restart->round.until_ns && is_untold(join))
			return send_begins(join);
		if (restart->round.phase != WH_ROUND_NONE)
			end_round(join);
		return 0;
	}
	if (restart->round.phase != WH_ROUND_NONE && restart->voices[0].asked == 0 && !is_current(restart)) {
		end_round(join); /* another has asked this node: its round comes first */
		restart->again_ns = now + join->start_timeout_ns + random_below(join, join->start_timeout_ns);
	}
	if (restart->round.phase == WH_ROUND_NONE) {
		if (now < restart->again_ns) {
			wh_loop_at(join->roster->loop, restart->again_ns);
			return 0;
		}
		return begin_round(join);
	}
	return is_current(restart) ? step_phase(join) : 0; /* its own promise is on the way to its disk */
}

/* ---- all -------------------------------------------------------------------------------------------------------------- */

void wh_restart_forget(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;

	end_round(join);
	for (uint32_t i = 0; i < restart->voice_count; i++)
		reset_voice(&restart->voices[i]);
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
			be_asked(join, &restart->voices[i], own->by, own->follows);
}

/* A member of the view that this node follows is in it: so it may begin, though the node that says so may have ended. Else those that were told and
 * those that were not might each be too few. */
static void look_for_begun(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;

	if (!follows_round(join) || restart->begun == join->key || !wh_restart_has_agreed(restart, join->key))
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
		work += step_voice(join, &restart->voices[i]);
	return work + coordinate(join);
}

/* A piece of what takes several. False: no node says that. */
static bool take_piece(struct wh_join *join, uint32_t node, const struct wh_wire *message)
{
	struct wh_view_parts *parts = &join->restart->parts[node];
	enum whorl_result result = wh_view_parts_take(parts, message);
	bool believed = true;

	if (result == WHORL_OK && message->kind == WH_WIRE_STANDING)
		hear_report(join, node, parts->bytes, parts->total);
	else if (result == WHORL_OK)
		believed = take_agreement(join, node, parts->bytes, parts->total);
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
		for (uint32_t i = 0; may_take_part(join) && i < restart->voice_count; i++)
			be_asked(join, &restart->voices[i], node, message->key);
		return true;
	case WH_WIRE_STANDING:
		return round->phase != WH_ROUND_ASKS || message->key != round->ballot ||
		       take_piece(join, node, message);
	case WH_WIRE_AGREE:
		if (voice_that_follows(restart, node, message->key) != NULL)
			return take_piece(join, node, message);
		if (message->offset == 0 && standing_of(restart, own->disk)->promised > message->key)
			(void)send_number(join, node, WH_WIRE_HIGHER, standing_of(restart, own->disk)->promised, 0);
		return true;
	case WH_WIRE_HIGHER:
		if (round->phase != WH_ROUND_NONE && message->key >= round->ballot)
			restart->round.refused = true;
		return true;
	case WH_WIRE_AGREED:
		hear_agreed(join, node, message->node, message->key);
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

bool wh_restart_may_begin(const struct wh_restart *restart, uint64_t key)
{
	return restart->begun == key;
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
