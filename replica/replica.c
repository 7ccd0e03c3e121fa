/* replica.c - a subgroup becomes a replica, and ceases to be one. See replica_int.h. */
#include "replica/replica_int.h"

#include <stdlib.h>

#include "group/refuse.h"

static size_t step(void *layer)
{
	struct wh_replica *replica = layer;
	const char *why = replica->plan.broken != NULL ? replica->plan.broken(replica->plan.ctx) : NULL;
	size_t work;

	if (why != NULL) {
		wh_layer_fail(replica->subgroup, WHORL_REFUSED, why);
		return 1;
	}
	wh_calls_step(replica);
	work = wh_later_step(&replica->later);
	return work + wh_reads_step(replica);
}

static void gather(void *layer)
{
	wh_reads_gather(layer);
}

static void asked(void *layer, uint64_t view, uint64_t question)
{
	wh_reads_asked(layer, view, question);
}

static void end(void *layer, enum whorl_result why, const char *text)
{
	struct wh_replica *replica = layer;

	wh_calls_end(replica, text);
	wh_later_end(&replica->later, text);
	wh_reads_end(replica, why);
}

static void wake(void *layer)
{
	struct wh_replica *replica = layer;

	wh_waiters_wake(&replica->waiters);
}

static void free_replica(void *layer)
{
	struct wh_replica *replica = layer;

	wh_calls_close(replica);
	wh_later_close(&replica->later);
	wh_reads_close(&replica->reads);
	wh_waiters_close(&replica->waiters);
	if (replica->plan.free != NULL)
		replica->plan.free(replica->plan.ctx);
	free(replica);
}

static const struct wh_layer_ops ops = {.deliver = wh_calls_deliver,
					.missed = wh_calls_missed,
					.step = step,
					.gather = gather,
					.asked = asked,
					.gone = wh_calls_gone,
					.end = end,
					.wake = wake,
					.free = free_replica};

struct wh_replica *wh_replica_of(const whorl_subgroup *subgroup)
{
	return wh_layer_of(subgroup, &ops);
}

/* Freed if it cannot be attached, but what it is to serve stays the caller's. */
static enum whorl_result attach(const char *function, whorl_subgroup *subgroup, const struct wh_replica *like)
{
	struct wh_replica *replica;
	enum whorl_result result;

	if (wh_layer_state(subgroup) == WHORL_FORKED)
		return WHORL_FORKED;
	if (!wh_layer_is_ordered(subgroup))
		return wh_refuse(function,
				 "the subgroup is unordered: its members would apply calls in different orders");
	replica = calloc(1, sizeof(*replica));
	if (replica == NULL)
		return WHORL_MEMORY;
	*replica = *like;
	wh_later_init(&replica->later);
	wh_reads_init(&replica->reads);
	wh_waiters_init(&replica->waiters);
	result = wh_calls_init(replica) ? wh_layer_attach(function, subgroup, &ops, replica) : WHORL_MEMORY;
	if (result != WHORL_OK) {
		replica->plan.free = NULL;
		free_replica(replica);
	}
	return result;
}

enum whorl_result whorl_on_calls(whorl_subgroup *subgroup, whorl_apply_fn *apply, void *ctx)
{
	if (subgroup == NULL || apply == NULL)
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no function");
	return attach(__func__, subgroup, &(struct wh_replica){.subgroup = subgroup, .apply = apply, .apply_ctx = ctx});
}

enum whorl_result wh_replica_serve(const char *function, whorl_subgroup *subgroup, const struct wh_replica_plan *plan)
{
	enum whorl_result result =
		attach(function, subgroup, &(struct wh_replica){.subgroup = subgroup, .plan = *plan});

	if (result == WHORL_OK)
		wh_layer_may_refuse(subgroup);
	return result;
}

void wh_replica_tell(whorl_done_fn *done, void *ctx, const struct wh_outcome *outcome)
{
	const struct whorl_outcome shown = {.size = sizeof(shown),
					    .result = outcome->result,
					    .answer = outcome->answer,
					    .bytes = outcome->bytes,
					    .view = outcome->view,
					    .sequence = outcome->sequence,
					    .text = outcome->text != NULL ? outcome->text : ""};

	done(&shown, ctx);
}

/* ---- shards --------------------------------------------------------------------------------------------------------------- */

/* FNV-1a, then the finalizer of MurmurHash3: of FNV-1a alone the upper bits of short keys are alike. */
static uint64_t hash(const unsigned char *key, size_t bytes)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ key[i]) * UINT64_C(0x100000001b3);
	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

uint32_t whorl_shard_of(const void *key, size_t bytes, uint32_t shards)
{
	if (shards == 0 || (key == NULL && bytes > 0))
		return WH_REFUSE(shards == 0 ? "no shards" : "no key"), 0;
	return (uint32_t)((hash(key, bytes) >> 32) * shards >> 32);
}
