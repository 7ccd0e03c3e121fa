/* found.c - what a log had when it was opened, or copied: does it count, and how far does it reach? (logs.h) */
#include "group/logs/logs_int.h"

#include <stdio.h>
#include <string.h>

#define LOG_BYTES_UNKNOWN (UINT64_C(1) << 30) /* of a log that is read before its subgroup says more */

void wh_log_note_ends(struct wh_shard_log *log)
{
	uint32_t count;
	const struct wh_log_view *views = wh_log_views(log->log, &count);
	struct wh_log_position position;

	log->state_view = wh_log_position(log->log, &position) ? position.point.number + 1 : 0;
	for (uint32_t i = 0; i < WH_LOG_ENDS && i < count; i++) {
		log->ends[WH_LOG_ENDS - 1 - i] = (struct wh_log_place){
			views[count - 1 - i].key, views[count - 1 - i].number, views[count - 1 - i].end};
		log->frontiers[WH_LOG_ENDS - 1 - i] = views[count - 1 - i].frontier;
	}
}

const struct wh_log_place *wh_log_find_end(const struct wh_shard_log *log, uint64_t key)
{
	for (int i = WH_LOG_ENDS - 1; i >= 0 && key != 0; i--)
		if (log->ends[i].key == key)
			return &log->ends[i];
	return NULL;
}

/* The log has what its standing says of the view before its base, which has the number `base`; or a checkpoint behind that. */
static bool reaches_base(const struct wh_shard_log *log, const struct wh_shard_standing *shard, uint64_t base)
{
	const struct wh_log_place *before = wh_log_find_end(log, shard->before);

	if (log->state_view > base || shard->before == 0)
		return true;
	return before != NULL ? before->place >= shard->begins : shard->begins == 0;
}

bool wh_logs_found(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard, struct wh_log_is *out)
{
	const struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);
	const struct wh_shard_standing *standing = wh_standing_shard(&logs->standing, subgroup, shard);
	const struct wh_log_place *base;

	*out = (struct wh_log_is){.whole = false};
	if (standing == NULL)
		return false;
	if (log == NULL) { /* of a first view that has not begun: it has all that there is, nothing */
		out->whole = standing->whole;
		return true;
	}
	if (!wh_logs_has_done(logs, log->copying)) {
		out->rot = true;
		out->why = "it is being copied";
		return true;
	}
	out->rot = log->found.verdict == WH_LOG_ROT || !reaches_base(log, standing, logs->standing.number);
	out->why = log->found.why;
	out->whole = standing->whole && !out->rot;
	base = wh_log_find_end(log, logs->standing.base);
	out->has_base = !out->rot && base != NULL;
	out->place = out->has_base ? base->place : 0;
	out->frontier = out->has_base ? log->frontiers[base - log->ends] : 0;
	return true;
}

bool wh_logs_describe(const struct wh_logs *logs, const struct wh_shard_standing *shard,
		      struct wh_log_source_config *out)
{
	if (wh_shard_is_of_file(shard))
		return logs->config.describe(logs->config.describe_ctx, shard->subgroup, out);
	out->name = shard->name;
	out->parts_most = 1;
	out->message_bytes = (uint32_t)shard->largest;
	out->log_bytes = LOG_BYTES_UNKNOWN;
	return true;
}

bool wh_logs_found_dormant(const struct wh_logs *logs, uint64_t birth, struct wh_log_is *out)
{
	const struct wh_dormant_log *dormant = wh_standing_dormant(&logs->standing, birth);
	const struct wh_shard_log *log = wh_log_find_shard(logs, birth, 0);
	const struct wh_log_place *end;

	*out = (struct wh_log_is){.whole = false};
	if (dormant == NULL || (log == NULL && dormant->shard.begins != 0))
		return false;
	if (log == NULL) { /* no view of it has begun here: it has all that there is, nothing */
		out->whole = dormant->shard.whole && dormant->cut == UINT64_MAX;
		return true;
	}
	end = wh_log_find_end(log, dormant->key);
	out->rot = log->found.verdict == WH_LOG_ROT || !reaches_base(log, &dormant->shard, dormant->number);
	out->why = log->found.why;
	out->has_base = !out->rot && end != NULL;
	out->place = out->has_base ? end->place : 0;
	out->frontier = out->has_base ? log->frontiers[end - log->ends] : 0;
	if (dormant->cut != UINT64_MAX && out->place < dormant->cut)
		out->rot = true; /* it had it */
	else if (dormant->cut != UINT64_MAX)
		out->place = dormant->cut;
	out->whole = dormant->shard.whole && !out->rot;
	return true;
}

bool wh_logs_fall_asleep(struct wh_logs *logs, const struct wh_dormant_log *dormant)
{
	struct wh_log_source_config config = {.subgroup = dormant->shard.subgroup};
	struct wh_shard_log *log =
		wh_logs_describe(logs, &dormant->shard, &config) ? wh_log_add_shard(logs, &config) : NULL;

	if (log == NULL)
		return false;
	log->found.verdict = WH_LOG_WHOLE;
	log->state_view = dormant->number + 1; /* whatever lies before: this life has written behind it */
	for (int i = 0; i < WH_LOG_ENDS; i++) {
		log->ends[i] = (struct wh_log_place){0, 0, 0};
		log->frontiers[i] = 0;
	}
	log->ends[WH_LOG_ENDS - 1] = (struct wh_log_place){dormant->key, dormant->number, dormant->cut};
	return true;
}

bool wh_logs_has_disk(const struct wh_logs *logs, uint32_t node)
{
	return logs->has_disk != NULL && logs->has_disk[node];
}

bool wh_logs_drop_log(struct wh_logs *logs, const struct wh_shard_standing *shard)
{
	const struct wh_log_source_config config = {
		.name = shard->name, .subgroup = shard->subgroup, .shard = shard->shard};
	struct wh_log_order *order = wh_log_order_new(ORDER_DROP, NULL, 0);

	if (order == NULL)
		return false;
	wh_log_order_of(order, &config);
	(void)wh_logs_hand_over(logs, order);
	return true;
}

bool wh_logs_copy(struct wh_logs *logs, const struct wh_shard_standing *shard, uint32_t from)
{
	struct wh_log_source_config config = {.subgroup = shard->subgroup, .shard = shard->shard};
	struct wh_log_order *order;
	struct wh_shard_log *log;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%u", logs->config.path, from);
	log = wh_logs_describe(logs, shard, &config) ? wh_log_add_shard(logs, &config) : NULL;
	order = log != NULL ? wh_log_order_new(ORDER_COPY, path, strlen(path) + 1) : NULL;
	if (order == NULL)
		return false;
	wh_log_order_of(order, &config);
	order->fresh = true;
	log->copying = wh_logs_hand_over(logs, order);
	return true;
}

bool wh_logs_copies(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	const struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);

	return log != NULL && !wh_logs_has_done(logs, log->copying);
}
