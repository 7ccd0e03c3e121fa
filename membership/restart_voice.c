/* restart_voice.c - a disk that a node speaks for, in a restart (restart.h): what it promises, reports and agrees to is on it before that is
 * said.
 */
#include <stdlib.h>
#include <string.h>

#include "membership/restart_int.h"

enum { WROTE_NOTHING, WROTE_BASE, WROTE_NEXT, WROTE_BEFORE, WROTE_ALL }; /* of an agreement */

static void drop_agreement(struct wh_voice *voice)
{
	voice->has_agreement = false;
	voice->written = WROTE_NOTHING;
	voice->agreed = 0;
	voice->told = false;
	wh_agreement_free(&voice->agreement);
	wh_restart_drop_bytes(&voice->views[0]);
	wh_restart_drop_bytes(&voice->views[1]);
}

void wh_voice_reset(struct wh_voice *voice)
{
	drop_agreement(voice);
	wh_restart_drop_bytes(&voice->report);
	voice->asked = voice->follows = 0;
}

static struct wh_voice *find_voice(struct wh_restart *restart, uint32_t disk)
{
	for (uint32_t i = 0; i < restart->voice_count; i++)
		if (restart->voices[i].disk == disk)
			return &restart->voices[i];
	return NULL;
}

/* ---- a disk promises, and reports ------------------------------------------------------------------------------------- */

void wh_voice_ask(struct wh_join *join, struct wh_voice *voice, uint32_t by, uint64_t ballot)
{
	const struct wh_standing *standing = wh_restart_standing(join->restart, voice->disk);
	uint64_t floor = wh_restart_floor_of(standing);

	if (wh_standing_is_blank(standing) || voice->asked > ballot)
		return;
	if (floor >= ballot && by != join->roster->id) /* lost if the queue is full: then it asks again */
		(void)wh_restart_send(join, by, WH_WIRE_HIGHER, floor, 0);
	else if (floor >= ballot && floor > join->restart->highest)
		join->restart->highest = floor; /* and this node asks anew */
	if (floor >= ballot)
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
	view->group = wh_restart_standing(restart, disk)->group; /* of one that was begun anew it has another there */
	return view;
}

/* What this disk has. NULL: no memory. */
static unsigned char *make_report(const struct wh_join *join, uint32_t disk, uint32_t *count)
{
	const struct wh_restart *restart = join->restart;
	struct wh_report report = {.disk = disk};
	unsigned char *out = NULL;
	size_t bytes = 0;

	if (wh_standing_copy(&report.standing, wh_restart_standing(restart, disk)) != WHORL_OK)
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

void wh_voice_report(struct wh_join *join, struct wh_voice *voice)
{
	wh_restart_drop_bytes(&voice->report);
	voice->report = make_report(join, voice->disk, &voice->report_bytes);
	voice->report_sent = 0;
}

/* Writes the promise; then what was agreed to before is nothing to this life any more. Returns how much it did. */
static size_t write_promise(struct wh_join *join, struct wh_voice *voice)
{
	struct wh_restart *restart = join->restart;
	struct wh_standing standing;
	bool kept;

	if (!wh_restart_may_take_part(join) || wh_restart_has_begun(join)) {
		voice->asked = 0;
		return 0;
	}
	if (wh_restart_follows_round(join))
		wh_join_drop(join, "asked anew");
	if (wh_standing_copy(&standing, wh_restart_standing(restart, voice->disk)) != WHORL_OK)
		return 0;
	standing.promised = voice->asked;
	kept = restart->on.keep_standing(restart->ctx, voice->disk, &standing);
	wh_standing_free(&standing);
	if (!kept)
		return 0;
	drop_agreement(voice);
	voice->follows = voice->asked;
	voice->by = voice->asked_by;
	voice->asked = 0;
	join->floor = voice->follows > join->floor ? voice->follows : join->floor;
	wh_voice_report(join, voice);
	wh_event(join->roster->diag, "promised", voice->disk, voice->follows, voice->by);
	return 1;
}

static size_t send_report(struct wh_join *join, struct wh_voice *voice)
{
	size_t work = 1;

	if (voice->by == join->roster->id) {
		if (join->restart->round.ballot == voice->follows)
			wh_round_hear_report(join, voice->by, voice->report, voice->report_bytes);
		voice->report_sent = voice->report_bytes;
	} else {
		work = wh_roster_send_pieces(join->roster, voice->by, WH_WIRE_STANDING, voice->follows, voice->report,
					     voice->report_bytes, &voice->report_sent);
	}
	if (voice->report_sent == voice->report_bytes)
		wh_restart_drop_bytes(&voice->report);
	return work;
}

/* ---- a disk agrees ---------------------------------------------------------------------------------------------------- */

/* What is to be agreed to is of this disk's group, and not behind what it has. */
static bool fits_disk(const struct wh_join *join, const struct wh_voice *voice, const struct wh_agreement *agreement)
{
	const struct wh_standing *standing = wh_restart_standing(join->restart, voice->disk);
	const struct wh_view *base = agreement->base_view;

	return base->group == standing->group && base->number >= standing->number &&
	       (base->number > standing->number || agreement->base == standing->base) &&
	       agreement->taken_up == (agreement->next != voice->follows);
}

/* False: no node says that. */
bool wh_voice_take_agreement(struct wh_join *join, uint32_t from, const unsigned char *bytes, size_t count)
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
	if (voice == NULL || voice->by != from || voice->has_agreement || !wh_restart_may_take_part(join) ||
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

	return rank >= 0 && wh_rank_is_in(shard->members, shard->member_count, (uint32_t)rank);
}

/* In the view that follows that disk's node is a member, and enters that shard. */
static bool enters(const struct wh_agreement *agreement, uint64_t subgroup, uint32_t shard)
{
	int index = wh_subgroup_index(agreement->next_view, subgroup, shard);
	const struct wh_view_subgroup *next = index >= 0 ? &agreement->next_view->subgroups[index] : NULL;
	int rank = wh_view_rank(agreement->next_view, agreement->disk);

	return next != NULL && rank >= 0 && wh_rank_is_in(next->entered, next->entered_count, (uint32_t)rank);
}

/* What a disk that stands so says of a dynamic subgroup that its node comes to be in with this view, which has not begun there: it has come back
 * from what this disk keeps of it; or it is born, and there is nothing. False: neither. */
static bool stand_with_nothing_new(const struct wh_standing *was, const struct wh_view *view,
				   const struct wh_view_subgroup *shard, uint32_t disk, struct wh_shard_standing *out)
{
	const struct wh_dormant_log *slept = wh_standing_dormant(was, shard->birth);
	int rank = wh_view_rank(view, disk);

	if (shard->birth == 0 || rank < 0 || was->number >= view->number)
		return false;
	if (wh_birth_view(shard->birth) == view->number) {
		out->whole = true;
		return true;
	}
	if (slept == NULL || !slept->shard.whole || slept->number != shard->from ||
	    !wh_rank_is_in(shard->returned, shard->returned_count, (uint32_t)rank))
		return false;
	out->before = slept->key;
	out->begins = shard->cut;
	out->whole = true;
	return true;
}

static void name_shard(struct wh_shard_standing *out, const struct wh_view_subgroup *shard)
{
	*out = (struct wh_shard_standing){.subgroup = wh_subgroup_number(shard), .shard = shard->shard};
	if (shard->birth == 0)
		return;
	memcpy(out->name, shard->name, sizeof(out->name));
	out->largest = wh_parameters_largest(&shard->parameters);
}

/* This disk's part of a durable shard of base, which its node is a member of there. */
static struct wh_shard_standing stand_in_shard(const struct wh_join *join, const struct wh_voice *voice,
					       const struct wh_view_subgroup *shard)
{
	const struct wh_restart *restart = join->restart;
	const struct wh_standing *was = wh_restart_standing(restart, voice->disk);
	const struct wh_agreement *agreement = &voice->agreement;
	uint64_t number = wh_subgroup_number(shard);
	const struct wh_shard_begin *begin =
		wh_begin_of(agreement->begins, agreement->begin_count, number, shard->shard);
	const struct wh_shard_standing *old = wh_standing_shard(was, number, shard->shard);
	struct wh_log_report log = {.rotten = false};
	struct wh_shard_standing out;

	name_shard(&out, shard);
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
	if (old == NULL)
		(void)stand_with_nothing_new(was, agreement->base_view, shard, voice->disk, &out);
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

		if (wh_restart_is_durable(restart, shard) && is_in(base, shard, voice->disk))
			out->shards[out->shard_count++] = stand_in_shard(join, voice, shard);
	}
	wh_standing_sort(out);
	for (uint32_t i = 0; i < agreement->begin_count; i++)
		if (wh_standing_shard(out, agreement->begins[i].subgroup, agreement->begins[i].shard) == NULL)
			out->others[out->other_count++] = agreement->begins[i];
	return true;
}

static bool is_none_of(void *ctx, uint64_t birth)
{
	const struct wh_standing *out = ctx;

	return wh_standing_shard(out, birth, 0) == NULL;
}

/* What this disk keeps of dynamic subgroups: dormant ones, and those that its node has not been in since its base. Those that are of no use
 * go when a view begins. False: no memory. */
static bool keep_dormant(const struct wh_standing *was, struct wh_standing *out)
{
	return wh_standing_keep_dormant(out, was, is_none_of, out, 0) == WHORL_OK;
}

/* What the disk says from then on. False: no memory. */
static bool make_standing(const struct wh_join *join, const struct wh_voice *voice, struct wh_standing *out)
{
	const struct wh_standing *was = wh_restart_standing(join->restart, voice->disk);
	const struct wh_agreement *agreement = &voice->agreement;
	bool stays = was->base == agreement->base,
	     goes_on = !agreement->taken_up && wh_view_rank(agreement->next_view, voice->disk) >= 0;

	*out = (struct wh_standing){.group = was->group,
				    .base = agreement->base,
				    .number = agreement->base_view->number,
				    .left = stays && was->left && !goes_on,
				    .alone = stays && was->alone,
				    .promised = was->promised,
				    .ballot = voice->follows,
				    .next = agreement->next,
				    .cut_count = agreement->cut_count};
	out->cuts = calloc((size_t)agreement->cut_count + 1, sizeof(*out->cuts));
	if (out->cuts == NULL || !stand_in_shards(join, voice, out) || !keep_dormant(was, out)) {
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
	const struct wh_standing *was = wh_restart_standing(join->restart, voice->disk);

	for (uint32_t i = 0; was->ballot > 0 && i < voice->agreement.begin_count; i++)
		if (voice->agreement.begins[i].before == was->next && was->next != voice->agreement.base)
			return true;
	return false;
}

/* Dynamic subgroups that its node came to be in with that view. */
static void add_those_between(const struct wh_standing *was, const struct wh_view *between, uint32_t disk,
			      struct wh_standing *out)
{
	for (uint32_t i = 0; i < between->dynamic_count; i++) {
		const struct wh_view_subgroup *shard = &wh_view_dynamic(between)[i];
		struct wh_shard_standing *is = &out->shards[out->shard_count];

		name_shard(is, shard);
		if (shard->parameters.durable && is_in(between, shard, disk) &&
		    wh_standing_shard(was, shard->birth, 0) == NULL &&
		    stand_with_nothing_new(was, between, shard, disk, is))
			out->shard_count++;
	}
}

/* Where that view begins, as the disk itself has agreed to it. False: no memory, or its view is not there: then its logs do not count. */
static bool make_standing_between(const struct wh_join *join, const struct wh_voice *voice, struct wh_standing *out)
{
	const struct wh_standing *was = wh_restart_standing(join->restart, voice->disk);
	struct wh_view *base = read_view(join, voice->disk, was->base);
	struct wh_view *between = read_view(join, voice->disk, was->next);

	*out = (struct wh_standing){
		.group = was->group, .base = was->next, .number = was->number + 1, .promised = was->promised};
	out->shards = calloc((size_t)was->shard_count + (between != NULL ? between->dynamic_count : 0) + 1,
			     sizeof(*out->shards));
	if (base == NULL || between == NULL || out->shards == NULL) {
		wh_view_free(base);
		wh_view_free(between);
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
	add_those_between(was, between, voice->disk, out);
	wh_standing_sort(out);
	wh_view_free(base);
	wh_view_free(between);
	if (keep_dormant(was, out))
		return true;
	wh_standing_free(out);
	return false;
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

static size_t tell_agreed(struct wh_join *join, struct wh_voice *voice)
{
	if (voice->by == join->roster->id) {
		wh_round_hear_agreed(join, voice->by, voice->disk, voice->agreed);
		voice->told = true;
	} else {
		voice->told = wh_restart_send(join, voice->by, WH_WIRE_AGREED, voice->agreed, voice->disk);
	}
	return voice->told;
}

/* A promise that is being written comes before all else: what was agreed to is nothing then. */
size_t wh_voice_step(struct wh_join *join, struct wh_voice *voice)
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
