/* wire.c - a status as bytes. One function for each struct says what follows what, and both writes and reads it, so that the
 * two cannot drift apart. */
#include "group/status/status.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "membership/view.h"

#define MAGIC UINT32_C(0x746f6c77)

struct walk { /* over bytes; what is walked is written there, or read from there */
	unsigned char *at;
	const unsigned char *end;
	bool writes;
	uint32_t version;  /* of what is walked */
	const char *wrong; /* NULL: nothing so far. Then nothing moves any more, and all that is read is 0 */
};

static void go_wrong(struct walk *walk, const char *why)
{
	if (walk->wrong == NULL)
		walk->wrong = why;
}

static void walk_number(struct walk *walk, uint64_t *value, size_t bytes)
{
	if (walk->wrong == NULL && (size_t)(walk->end - walk->at) < bytes)
		go_wrong(walk, "it is cut off");
	if (!walk->writes)
		*value = 0;
	if (walk->wrong != NULL)
		return;
	for (size_t i = 0; i < bytes; i++) {
		if (walk->writes)
			walk->at[i] = (unsigned char)(*value >> 8 * i);
		else
			*value |= (uint64_t)walk->at[i] << 8 * i;
	}
	walk->at += bytes;
}

static void walk_u64(struct walk *walk, uint64_t *value)
{
	walk_number(walk, value, 8);
}

static void walk_u32(struct walk *walk, uint32_t *value)
{
	uint64_t wide = *value;

	walk_number(walk, &wide, 4);
	*value = (uint32_t)wide;
}

/* A small number, at most `most`. */
static void walk_small(struct walk *walk, uint32_t *value, uint32_t most)
{
	uint64_t wide = *value;

	walk_number(walk, &wide, 2);
	if (wide > most) {
		go_wrong(walk, "a number is out of its range");
		wide = 0;
	}
	*value = (uint32_t)wide;
}

static void walk_flag(struct walk *walk, bool *value)
{
	uint32_t wide = *value;

	walk_small(walk, &wide, 1);
	*value = wide != 0;
}

#define SMALL_ENUM(walk, type, value, most)                                                                            \
	do {                                                                                                           \
		uint32_t wide_ = (uint32_t)(value);                                                                    \
		walk_small(walk, &wide_, most);                                                                        \
		(value) = (enum type)wide_;                                                                            \
	} while (0)

/* `bytes` with the zero. It may end up on a terminal: of what controls one nothing is taken over. */
static void walk_text(struct walk *walk, char *value, size_t bytes)
{
	uint32_t length = walk->writes ? (uint32_t)strnlen(value, bytes - 1) : 0;

	walk_small(walk, &length, (uint32_t)bytes - 1);
	if ((size_t)(walk->end - walk->at) < length)
		go_wrong(walk, "it is cut off");
	if (walk->wrong != NULL)
		length = 0;
	if (walk->writes) {
		memcpy(walk->at, value, length);
	} else {
		memcpy(value, walk->at, length);
		value[length] = '\0';
		for (uint32_t i = 0; i < length; i++)
			if ((unsigned char)value[i] < ' ' || value[i] == 127)
				value[i] = '?';
	}
	walk->at += length;
}

/* ---- what follows what --------------------------------------------------------------------------------------------------- */

static void walk_head(struct walk *walk, uint32_t *version)
{
	uint32_t magic = MAGIC;

	walk_u32(walk, &magic);
	if (magic != MAGIC)
		go_wrong(walk, "it is none");
	walk_u32(walk, version);
}

static void walk_node_stats(struct walk *walk, struct whorl_node_stats *stats)
{
	uint64_t *const words[] = {
		&stats->steps,       &stats->idle_steps,  &stats->yields,       &stats->sleeps,
		&stats->pushes,      &stats->writes,      &stats->bytes_pushed, &stats->posts,
		&stats->post_ns,     &stats->heartbeats,  &stats->memory_bytes, &stats->views,
		&stats->state_given, &stats->state_taken, &stats->state_kept,   &stats->gives,
		&stats->takes,
	};
	const bool complaints = walk->version >= 3;

	if (!walk->writes)
		stats->size = complaints ? sizeof *stats : offsetof(struct whorl_node_stats, complaints);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		walk_u64(walk, words[i]);
	for (int stage = 0; stage < WHORL_STAGES_MAX; stage++)
		walk_u64(walk, &stats->change_ns[stage]);
	for (int stage = 0; stage < WHORL_STAGES_MAX; stage++)
		walk_u64(walk, &stats->entry_ns[stage]);
	for (int kind = 0; kind < WHORL_COMPLAINTS_MAX && complaints; kind++)
		walk_u64(walk, &stats->complaints[kind]);
}

static void walk_batch(struct walk *walk, struct whorl_batch_stats *batch)
{
	walk_u64(walk, &batch->batches);
	walk_u64(walk, &batch->events);
	for (size_t i = 0; i < sizeof batch->histogram / sizeof batch->histogram[0]; i++)
		walk_u64(walk, &batch->histogram[i]);
}

static void walk_subgroup_stats(struct walk *walk, struct whorl_subgroup_stats *stats)
{
	uint64_t *const words[] = {
		&stats->claimed,         &stats->sent,           &stats->aborted,           &stats->resent,
		&stats->dropped,         &stats->in_doubt,       &stats->open_claim,        &stats->delivered,
		&stats->delivered_bytes, &stats->nulls,          &stats->received_num,      &stats->delivered_num,
		&stats->window_full,     &stats->window_wait_ns, &stats->upcall_longest_ns, &stats->slowest_behind,
	};
	const bool refusals = walk->version >= 5, relays = walk->version >= 11;

	if (!walk->writes)
		stats->size = relays     ? sizeof *stats
			      : refusals ? offsetof(struct whorl_subgroup_stats, relayed)
					 : offsetof(struct whorl_subgroup_stats, refusals);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		walk_u64(walk, words[i]);
	walk_u32(walk, &stats->slowest_member);
	walk_batch(walk, &stats->send);
	walk_batch(walk, &stats->receive);
	walk_batch(walk, &stats->deliver);
	if (refusals) {
		walk_u64(walk, &stats->refusals);
		walk_u64(walk, &stats->refused_kept);
	}
	if (relays) {
		walk_u64(walk, &stats->relayed);
		walk_u64(walk, &stats->relayed_bytes);
	}
}

static void walk_log_stats(struct walk *walk, struct whorl_log_stats *stats)
{
	uint64_t *const words[] = {
		&stats->persisted,     &stats->persisted_by_all, &stats->segments,        &stats->bytes,
		&stats->used_bytes,    &stats->batches,          &stats->syncs,           &stats->longest_sync_ns,
		&stats->checkpoints,   &stats->slowest_behind,   &stats->written_batches, &stats->written_messages,
		&stats->written_bytes,
	};

	if (!walk->writes)
		stats->size = sizeof *stats;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		walk_u64(walk, words[i]);
	walk_flag(walk, &stats->whole);
	walk_u32(walk, &stats->slowest_member);
	if (walk->version >= 10) {
		walk_u64(walk, &stats->checks);
		walk_flag(walk, &stats->rot);
	}
}

static void walk_member(struct walk *walk, struct whorl_status_member *member)
{
	const uint32_t most = walk->version >= 4 ? WHORL_IS_DEAD : WHORL_IS_FAILED;
	uint32_t suspicion = (uint32_t)member->suspicion < most ? (uint32_t)member->suspicion : most;

	member->size = sizeof *member;
	walk_small(walk, &member->id, WH_NODES_MAX - 1);
	walk_u64(walk, &member->incarnation);
	walk_u64(walk, &member->heard_ms);
	walk_small(walk, &suspicion, most);
	if (!walk->writes)
		member->suspicion = (enum whorl_suspicion)suspicion;
	walk_flag(walk, &member->overdue);
}

static void walk_place(struct walk *walk, struct whorl_status_place *place)
{
	place->size = sizeof *place;
	walk_small(walk, &place->id, WH_NODES_MAX - 1);
	walk_flag(walk, &place->sends);
	walk_flag(walk, &place->rests);
	walk_u64(walk, &place->received_num);
	walk_u64(walk, &place->delivered_num);
	if (walk->version >= 8)
		walk_u64(walk, &place->persisted_num);
}

/* *has_log: that of its log follows. */
static void walk_shard(struct walk *walk, struct whorl_status_shard *shard, bool *has_log)
{
	shard->size = sizeof *shard;
	walk_text(walk, shard->name, sizeof shard->name);
	walk_small(walk, &shard->shard, WH_SHARDS_MAX - 1);
	walk_small(walk, &shard->shards, WH_SHARDS_MAX);
	walk_flag(walk, &shard->ordered);
	walk_flag(walk, &shard->lost);
	SMALL_ENUM(walk, whorl_shard_condition, shard->condition, WHORL_SHARD_GONE);
	walk_small(walk, &shard->members, WH_NODES_MAX);
	walk_small(walk, &shard->senders, WH_NODES_MAX);
	walk_small(walk, &shard->resting, WH_NODES_MAX);
	walk_u32(walk, &shard->window);
	walk_u32(walk, &shard->message_bytes);
	if (walk->version >= 6)
		walk_u64(walk, &shard->large_bytes);
	walk_small(walk, &shard->place_count, WH_NODES_MAX);
	if (walk->version >= 8) {
		walk_flag(walk, &shard->durable);
		walk_flag(walk, has_log);
		if (!walk->writes && *has_log && (!shard->durable || shard->condition == WHORL_SHARD_GONE))
			go_wrong(walk, "there is a log of a shard that has none");
	}
	if (walk->version < 9)
		return;
	walk_flag(walk, &shard->dormant);
	walk_u64(walk, &shard->last_view);
	if (!walk->writes && shard->dormant && (!shard->durable || shard->condition != WHORL_SHARD_GONE))
		go_wrong(walk, "a shard is dormant that cannot be");
	if (walk->version >= 11)
		walk_u64(walk, &shard->relay_bytes);
}

static void walk_worker(struct walk *walk, struct whorl_status_worker *worker)
{
	uint64_t *const words[] = {
		&worker->open_ns,        &worker->calls,         &worker->lent_calls, &worker->batches,
		&worker->batch_calls,    &worker->largest_batch, &worker->deferred,   &worker->refused,
		&worker->functions_ns,   &worker->looking_ns,    &worker->properties, &worker->fibers,
		&worker->fibers_started, &worker->passes,        &worker->sleeps,
	};

	worker->size = sizeof *worker;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		walk_u64(walk, words[i]);
}

static void walk_missing(struct walk *walk, struct whorl_status_missing *missing)
{
	missing->size = sizeof *missing;
	walk_small(walk, &missing->id, WH_NODES_MAX - 1);
	walk_text(walk, missing->address, sizeof missing->address);
}

static bool is_spoken(uint32_t version)
{
	return version >= WH_STATUS_VERSION_LEAST && version <= WH_STATUS_VERSION;
}

static void walk_disk_and_restart(struct walk *walk, struct whorl_status *status)
{
	walk_u64(walk, &status->disk_busy_ms);
	walk_u64(walk, &status->disk_full_ms);
	walk_u32(walk, &status->disk_timeout_ms);
	SMALL_ENUM(walk, whorl_restart_step, status->restart, WHORL_RESTART_BEGINS);
	walk_u32(walk, &status->coordinator);
	walk_u64(walk, &status->restart_view);
	walk_small(walk, &status->missing_count, WH_NODES_MAX);
	if (!walk->writes && status->missing_count > 0 && status->restart == WHORL_RESTART_NONE)
		go_wrong(walk, "nodes are missing, and nothing is restarted");
}

/* All but what is behind pointers. */
static void walk_status(struct walk *walk, struct whorl_status *status)
{
	walk_head(walk, &walk->version);
	if (!is_spoken(walk->version))
		go_wrong(walk, "it is of another version");
	walk_text(walk, status->version, sizeof status->version);
	walk_text(walk, status->group, sizeof status->group);
	walk_small(walk, &status->id, WH_NODES_MAX - 1);
	walk_u32(walk, &status->pid);
	walk_u64(walk, &status->incarnation);
	walk_u64(walk, &status->identity);
	walk_u64(walk, &status->other);
	SMALL_ENUM(walk, whorl_standing, status->standing, WHORL_HAS_FAILED);
	SMALL_ENUM(walk, whorl_result, status->result, UINT8_MAX); /* a later one has no text, and that is all */
	walk_text(walk, status->error, sizeof status->error);
	walk_text(walk, status->progress, sizeof status->progress);
	walk_flag(walk, &status->ready);
	walk_u32(walk, &status->failure_timeout_ms);
	walk_u64(walk, &status->view);
	walk_small(walk, &status->voters, WH_NODES_MAX);
	walk_u32(walk, &status->leader);
	walk_u32(walk, &status->tie_breaker);
	walk_flag(walk, &status->quorum);
	SMALL_ENUM(walk, whorl_change_step, status->change, WHORL_CHANGE_SETTLED);
	walk_u64(walk, &status->change_ms);
	walk_small(walk, &status->member_count, WH_NODES_MAX);
	walk_node_stats(walk, status->stats);
	walk_u32(walk, &status->shard_count);
	walk_u32(walk, &status->shards_left_off);
	if (walk->version >= 7)
		walk_small(walk, &status->worker_count, WH_SHOWN_MAX);
	if (walk->version >= 8)
		walk_disk_and_restart(walk, status);
}

/* ---- writing ---------------------------------------------------------------------------------------------------------------*/

/* False: it has no room, and nothing of it is written. */
static bool write_shard(struct walk *walk, const struct whorl_status_shard *shard)
{
	struct walk behind = *walk;
	struct whorl_status_shard copy = *shard;
	bool has_log = shard->log != NULL;

	walk_shard(&behind, &copy, &has_log);
	if (shard->condition != WHORL_SHARD_GONE)
		walk_subgroup_stats(&behind, shard->stats);
	if (has_log && walk->version >= 8)
		walk_log_stats(&behind, shard->log);
	for (uint32_t i = 0; i < shard->place_count; i++) {
		struct whorl_status_place place = shard->places[i];

		walk_place(&behind, &place);
	}
	if (behind.wrong != NULL)
		return false;
	*walk = behind;
	return true;
}

size_t wh_status_encode(unsigned char *out, size_t bytes, const struct whorl_status *status, uint32_t version)
{
	struct walk walk = {.at = out, .end = out + bytes, .writes = true, .version = version}, again = walk;
	struct whorl_status copy = *status;

	walk_status(&walk, &copy);
	for (uint32_t i = 0; i < status->member_count; i++) {
		struct whorl_status_member member = status->members[i];

		walk_member(&walk, &member);
	}
	for (uint32_t i = 0; i < status->worker_count && version >= 7; i++) {
		struct whorl_status_worker worker = status->workers[i];

		walk_worker(&walk, &worker);
	}
	for (uint32_t i = 0; i < status->missing_count && version >= 8; i++) {
		struct whorl_status_missing missing = status->missing[i];

		walk_missing(&walk, &missing);
	}
	if (walk.wrong != NULL)
		return 0;
	copy.shard_count = 0;
	for (uint32_t i = 0; i < status->shard_count; i++) {
		if (version < 9 && status->shards[i].dormant) /* it knows of none */
			continue;
		if (write_shard(&walk, &status->shards[i]))
			copy.shard_count++;
		else
			copy.shards_left_off++;
	}
	walk_status(&again, &copy); /* now that this is known; its length does not depend on it */
	return (size_t)(walk.at - out);
}

static size_t write_head(unsigned char out[WH_STATUS_QUESTION_BYTES], uint32_t version)
{
	struct walk walk = {.at = out, .end = out + WH_STATUS_QUESTION_BYTES, .writes = true};

	walk_head(&walk, &version);
	return (size_t)(walk.at - out);
}

size_t wh_status_question(unsigned char out[WH_STATUS_QUESTION_BYTES], uint32_t version)
{
	return write_head(out, version);
}

size_t wh_status_shrug(unsigned char out[WH_STATUS_QUESTION_BYTES])
{
	return write_head(out, WH_STATUS_VERSION);
}

/* ---- reading ---------------------------------------------------------------------------------------------------------------*/

static struct walk read_from(const void *bytes, size_t count)
{
	unsigned char *at = (unsigned char *)(uintptr_t)bytes; /* reading, a walk writes nothing there */

	return (struct walk){.at = at, .end = at + count};
}

uint32_t wh_status_take_question(const void *bytes, size_t count)
{
	struct walk walk = read_from(bytes, count);

	walk_head(&walk, &walk.version);
	return walk.wrong == NULL && walk.at == walk.end && is_spoken(walk.version) ? walk.version : 0;
}

uint32_t wh_status_take_shrug(const void *bytes, size_t count, uint32_t asked)
{
	uint32_t version = wh_status_take_question(bytes, count); /* they look alike */

	return version < asked ? version : 0;
}

/* An array of what there are `count` of. No more than bytes follow, so a great number cannot ask for much. */
static void *make_array(struct walk *walk, uint32_t count, size_t each, bool *enough)
{
	void *memory = NULL;

	if (walk->wrong == NULL && count > (size_t)(walk->end - walk->at))
		go_wrong(walk, "it is cut off");
	if (walk->wrong == NULL && count > 0) {
		memory = calloc(count, each);
		*enough = *enough && memory != NULL;
	}
	return memory;
}

static bool is_member(const struct whorl_status *status, uint32_t id)
{
	for (uint32_t i = 0; i < status->member_count; i++)
		if (status->members[i].id == id)
			return true;
	return false;
}

static void read_members(struct walk *walk, struct whorl_status *status, bool *enough)
{
	uint32_t count = status->member_count;

	status->member_count = 0;
	status->members = make_array(walk, count, sizeof *status->members, enough);
	for (uint32_t i = 0; status->members != NULL && i < count; i++) {
		walk_member(walk, &status->members[i]);
		if (is_member(status, status->members[i].id))
			go_wrong(walk, "a member is there twice");
		status->member_count++;
	}
}

static void read_workers(struct walk *walk, struct whorl_status *status, bool *enough)
{
	uint32_t count = status->worker_count;

	status->worker_count = 0;
	status->workers = make_array(walk, count, sizeof *status->workers, enough);
	for (uint32_t i = 0; status->workers != NULL && i < count; i++) {
		walk_worker(walk, &status->workers[i]);
		status->worker_count++;
	}
}

static void read_missing(struct walk *walk, struct whorl_status *status, bool *enough)
{
	uint32_t count = status->missing_count;

	status->missing_count = 0;
	status->missing = make_array(walk, count, sizeof *status->missing, enough);
	for (uint32_t i = 0; status->missing != NULL && i < count; i++) {
		walk_missing(walk, &status->missing[i]);
		for (uint32_t before = 0; before < i; before++)
			if (status->missing[before].id == status->missing[i].id)
				go_wrong(walk, "a node is missing twice");
		status->missing_count++;
	}
}

static void read_shard(struct walk *walk, const struct whorl_status *status, struct whorl_status_shard *shard,
		       bool *enough)
{
	bool has_log = false;
	uint32_t count;

	walk_shard(walk, shard, &has_log);
	count = shard->place_count;
	shard->place_count = 0;
	if (shard->condition != WHORL_SHARD_GONE) {
		shard->stats = make_array(walk, 1, sizeof *shard->stats, enough);
		if (shard->stats != NULL)
			walk_subgroup_stats(walk, shard->stats);
	}
	if (has_log && walk->wrong == NULL) {
		shard->log = make_array(walk, 1, sizeof *shard->log, enough);
		if (shard->log != NULL)
			walk_log_stats(walk, shard->log);
	}
	if (count != (shard->condition == WHORL_SHARD_GONE && !shard->dormant ? 0 : shard->members))
		go_wrong(walk, "the members of a shard are not as many as it says");
	shard->places = make_array(walk, count, sizeof *shard->places, enough);
	for (uint32_t i = 0; shard->places != NULL && i < count; i++) {
		walk_place(walk, &shard->places[i]);
		if (!shard->dormant && !is_member(status, shard->places[i].id))
			go_wrong(walk, "somebody is in a shard and not in the view");
		shard->place_count++;
	}
}

static void read_status(struct walk *walk, struct whorl_status *status, bool *enough)
{
	uint32_t count;

	walk_status(walk, status);
	count = status->shard_count;
	status->shard_count = 0;
	read_members(walk, status, enough);
	if (status->member_count > 0 && status->leader != WHORL_NOBODY && !is_member(status, status->leader))
		go_wrong(walk, "its leader is no member");
	read_workers(walk, status, enough);
	read_missing(walk, status, enough);
	if (*enough)
		status->shards = make_array(walk, count, sizeof *status->shards, enough);
	for (uint32_t i = 0; status->shards != NULL && i < count && *enough && walk->wrong == NULL; i++) {
		read_shard(walk, status, &status->shards[i], enough);
		status->shard_count++; /* what it has of memory is freed in any case */
	}
	if (walk->at != walk->end)
		go_wrong(walk, "something stands behind it");
}

struct whorl_status *wh_status_new(void)
{
	struct whorl_status *status = calloc(1, sizeof *status);

	if (status == NULL)
		return NULL;
	status->size = sizeof *status;
	status->coordinator = WHORL_NOBODY; /* where an older version says nothing of it */
	status->stats = calloc(1, sizeof *status->stats);
	if (status->stats == NULL) {
		free(status);
		return NULL;
	}
	return status;
}

enum whorl_result wh_status_decode(struct whorl_status **out, const void *bytes, size_t count, struct wh_error *err)
{
	struct whorl_status *status = wh_status_new();
	struct walk walk = read_from(bytes, count);
	bool enough = status != NULL;

	*out = NULL;
	if (enough)
		read_status(&walk, status, &enough);
	if (enough && walk.wrong == NULL) {
		*out = status;
		return WHORL_OK;
	}
	whorl_status_free(status);
	return enough ? wh_error_set(err, WHORL_REFUSED, "its answer is not understood: %s", walk.wrong)
		      : wh_error_set(err, WHORL_MEMORY, "no memory for an answer");
}

void whorl_status_free(struct whorl_status *status)
{
	if (status == NULL)
		return;
	for (uint32_t i = 0; i < status->shard_count; i++) {
		free(status->shards[i].places);
		free(status->shards[i].stats);
		free(status->shards[i].log);
	}
	free(status->stats);
	free(status->shards);
	free(status->members);
	free(status->workers);
	free(status->missing);
	free(status);
}
