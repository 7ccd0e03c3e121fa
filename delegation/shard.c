/* shard.c - the loop's side of a shard, and the threads that give and restore its state. See shard.h. */
#include "delegation/shard.h"

#include <stdio.h>
#include <stdlib.h>

#include "group/layer.h"
#include "replica/serve.h"
#include "state/state.h"

/* ---- users of a shard --------------------------------------------------------------------------------------------------------------- */

void wh_shard_drop(struct wh_shard *shard)
{
	if (wh_fetch_add(&shard->uses, UINT64_MAX) != 1)
		return;
	wh_bytes_free(&shard->given);
	wh_shard_kinds_free(&shard->kinds);
	wh_table_free(&shard->functions);
	free(shard);
}

void wh_shard_pending_drop(struct wh_shard_pending *pending)
{
	if (wh_fetch_add(&pending->uses, UINT64_MAX) == 1)
		free(pending);
}

void wh_shard_image_drop(struct wh_shard_image *image)
{
	if (wh_fetch_add(&image->uses, UINT64_MAX) != 1)
		return;
	wh_bytes_free(&image->bytes);
	free(image);
}

void wh_shard_note_free(struct wh_note *note)
{
	struct wh_shard_image *image;

	switch (note->kind) {
	case WH_NOTE_SNAPSHOT:
		image = ((struct wh_shard_mark *)note)->image;
		wh_store_release(&image->state, WH_IMAGE_FAILED);
		wh_shard_image_drop(image);
		break;
	case WH_NOTE_RESTORED:
		wh_shard_table_free(&((struct wh_shard_restored *)note)->table);
		break;
	case WH_NOTE_ENDED:
		wh_shard_pending_drop((struct wh_shard_pending *)note);
		return;
	case WH_NOTE_CALLS:
	case WH_NOTE_READ:
		break;
	}
	free(note);
}

static void ring(void *ctx)
{
	const struct wh_shard *shard = ctx;

	wh_gate_ring(shard->party->gate);
}

void wh_shard_put(struct wh_shard *shard, struct wh_note *note)
{
	if (!wh_shard_queue_put(&shard->queue, note, ring, shard))
		wh_shard_note_free(note);
}

/* ---- calls ---------------------------------------------------------------------------------------------------------------------- */

/* A call is named for good by its caller, the life of that, and which of its messages it is. */
static uint64_t id_of(const struct whorl_call *call)
{
	uint64_t sum = WH_DIGEST_BEGIN;

	wh_digest_number(&sum, call->incarnation);
	wh_digest_number(&sum, (uint64_t)call->caller << 32);
	wh_digest_number(&sum, call->index);
	return sum == 0 ? 1 : sum;
}

static size_t record_bytes(const struct whorl_call *call)
{
	return sizeof(struct wh_shard_record) + (call->bytes + 15) / 16 * 16;
}

static struct wh_shard_run *copy_run(const struct whorl_call *calls, size_t count, size_t bytes)
{
	struct wh_shard_run *run = malloc(sizeof(*run) + bytes);
	unsigned char *at;

	if (run == NULL)
		return NULL;
	*run = (struct wh_shard_run){.note = {.kind = WH_NOTE_CALLS}, .count = count, .bytes = bytes};
	at = run->records;
	for (size_t i = 0; i < count; i++) {
		const struct whorl_call *call = WHORL_AT(whorl_call, calls, i);
		const struct wh_shard_record record = {
			.id = id_of(call), .pending = wh_replica_left(call, wh_shard_told), .bytes = call->bytes};

		memcpy(at, &record, sizeof(record));
		if (call->bytes > 0)
			memcpy(at + sizeof(record), call->data, call->bytes);
		at += record_bytes(call);
	}
	return run;
}

#define RUN_MOST 64

/* The loop only hands them over, and what has no room is refused. */
static size_t take_calls(const struct whorl_call *calls, size_t count, void *ctx)
{
	struct wh_shard *shard = ctx;
	size_t lengths[RUN_MOST], bytes = 0, taken;
	struct wh_shard_run *run;

	count = count < RUN_MOST ? count : RUN_MOST;
	for (size_t i = 0; i < count; i++)
		lengths[i] = record_bytes(WHORL_AT(whorl_call, calls, i));
	taken = wh_shard_queue_room(&shard->queue, lengths, count);
	for (size_t i = 0; i < taken; i++)
		bytes += lengths[i];
	if (taken == 0)
		return 0;
	run = copy_run(calls, taken, bytes);
	if (run == NULL)
		return WH_CALLS_FAILED;
	if (!wh_shard_queue_put(&shard->queue, &run->note, ring, shard)) {
		(void)wh_shard_queue_applied(&shard->queue, taken, bytes); /* without its work: nothing is made of it */
		free(run);
	}
	return taken;
}

/* An outcome that is good says nothing new: the worker answers when it comes to the call. */
void wh_shard_told(const struct whorl_outcome *outcome, void *ctx)
{
	struct wh_shard_pending *pending = ctx;

	if (outcome->result == WHORL_OK) {
		wh_shard_pending_drop(pending);
		return;
	}
	pending->result = outcome->result;
	wh_shard_put(pending->shard, &pending->note);
}

static const char *why_broken(void *ctx)
{
	const struct wh_shard *shard = ctx;

	switch ((enum wh_shard_failure)wh_load_relaxed(&shard->failure)) {
	case WH_SHARD_IS_ODD:
		return "the members of the shard know other functions or types than this program (whorl_work_serve)";
	case WH_SHARD_NO_MEMORY:
		return "no memory to apply a call to a property of the shard";
	case WH_SHARD_GOOD:
		break;
	}
	return NULL;
}

static void free_plan(void *ctx)
{
	wh_shard_drop(ctx);
}

/* ---- the state ------------------------------------------------------------------------------------------------------------------- */

struct snapshot { /* while a job reads it */
	struct wh_shard_image *image;
	size_t read;
};

/* On the loop, between two calls: the worker fixes the state when it comes to this place. */
static void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	struct wh_shard_image *image = calloc(1, sizeof(*image));
	struct wh_shard_mark *mark = calloc(1, sizeof(*mark));
	struct wh_shard *shard = ctx;

	(void)position;
	if (snapshot == NULL || image == NULL || mark == NULL) {
		free(snapshot);
		free(image);
		free(mark);
		return NULL;
	}
	wh_store_relaxed(&image->uses, 2);
	*mark = (struct wh_shard_mark){.note = {.kind = WH_NOTE_SNAPSHOT}, .image = image};
	snapshot->image = image;
	wh_shard_put(shard, &mark->note);
	return snapshot;
}

static ptrdiff_t read_snapshot(void *handle, void *bytes, size_t count, void *ctx)
{
	struct snapshot *snapshot = handle;
	const struct wh_shard_image *image = snapshot->image;
	uint64_t state = wh_load_acquire(&image->state); /* partner: the worker, and wh_shard_note_free */
	size_t left;

	(void)ctx;
	if (state == WH_IMAGE_WAITS)
		return WH_STATE_READ_AGAIN;
	if (state == WH_IMAGE_FAILED)
		return -1;
	left = wh_bytes_left(&image->bytes) - snapshot->read;
	count = left < count ? left : count;
	if (count > 0)
		memcpy(bytes, wh_bytes_first(&image->bytes) + snapshot->read, count);
	snapshot->read += count;
	return (ptrdiff_t)count;
}

static void release_snapshot(void *handle, void *ctx)
{
	struct snapshot *snapshot = handle;

	(void)ctx;
	wh_shard_image_drop(snapshot->image);
	free(snapshot);
}

static bool complain(const struct wh_shard *shard, const char *why)
{
	char line[256];

	snprintf(line, sizeof(line), "the properties of %s cannot be restored: %s", wh_layer_name(shard->subgroup),
		 why);
	shard->env->log(shard->env->ctx, WH_LOG_ERROR, line);
	return false;
}

/* What was collected is the next state, from this place on. */
static bool end_restore(struct wh_shard *shard)
{
	struct wh_shard_restored *restored = calloc(1, sizeof(*restored));
	enum wh_shard_loaded loaded = WH_LOADED;

	if (restored == NULL)
		return complain(shard, "no memory");
	restored->note.kind = WH_NOTE_RESTORED;
	restored->table.kinds = &shard->kinds;
	if (wh_bytes_left(&shard->given) > 0)
		loaded = wh_shard_table_load(&restored->table, wh_bytes_first(&shard->given),
					     wh_bytes_left(&shard->given));
	wh_bytes_free(&shard->given);
	if (loaded == WH_LOADED) {
		wh_shard_put(shard, &restored->note);
		return true;
	}
	wh_shard_note_free(&restored->note);
	return complain(shard,
			loaded == WH_LOADED_ODD
				? "the members know other functions or types than this program (whorl_work_serve)"
			: loaded == WH_LOADED_DAMAGED ? "what came is damaged"
						      : "no memory, or one could not be loaded");
}

static bool restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct wh_shard *shard = ctx;
	unsigned char *room;

	switch (step) {
	case WHORL_RESTORE_BEGIN:
		wh_bytes_free(&shard->given);
		return true;
	case WHORL_RESTORE_BYTES:
		room = wh_bytes_add(&shard->given, count);
		if (room == NULL)
			return complain(shard, "no memory");
		memcpy(room, bytes, count);
		return true;
	case WHORL_RESTORE_END:
		break;
	}
	return end_restore(shard);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------------------------ */

static uint32_t key_of(const char *name)
{
	uint64_t sum = WH_DIGEST_BEGIN;

	wh_digest(&sum, name, strlen(name));
	return (uint32_t)(sum ^ sum >> 32);
}

/* Numbered as those of the work, which it may outlive. */
static enum whorl_result list_functions(struct wh_shard *shard, const whorl_work *work)
{
	const struct whorl_function **functions = calloc(work->table.count + 1, sizeof(struct whorl_function *));
	enum whorl_result result = WHORL_MEMORY;
	struct wh_error err;

	if (functions == NULL)
		return WHORL_MEMORY;
	for (uint32_t i = 0; i < work->table.count; i++)
		functions[i] = work->table.known[i].function;
	result = wh_table_make(&shard->functions, functions, work->table.count, &err);
	free(functions);
	if (result == WHORL_OK)
		result = wh_shard_kinds_make(&shard->kinds, &shard->functions, work->types, work->type_count);
	return result;
}

static struct wh_shard *new_shard(const whorl_work *work, whorl_subgroup *subgroup, uint32_t worker)
{
	struct wh_shard *shard = calloc(1, sizeof(*shard));

	if (shard == NULL)
		return NULL;
	shard->subgroup = subgroup;
	shard->party = work->parties[worker];
	shard->env = work->env;
	shard->key = key_of(wh_layer_name(subgroup));
	shard->deadline_ns = UINT64_MAX;
	wh_store_relaxed(&shard->uses, 1);
	wh_shard_queue_init(&shard->queue, WH_SHARD_CALLS_WAIT, WH_SHARD_BYTES_WAIT);
	if (list_functions(shard, work) == WHORL_OK) {
		shard->table.kinds = &shard->kinds;
		return shard;
	}
	wh_shard_drop(shard);
	return NULL;
}

static const char *fault_of(const whorl_work *work, const whorl_subgroup *subgroup, uint32_t worker)
{
	if (work == NULL || subgroup == NULL)
		return work == NULL ? "no work" : "no subgroup";
	if (work->host == NULL || wh_layer_node(subgroup) != work->host)
		return "the work was not opened with the node of the subgroup";
	if (worker >= work->workers)
		return "there is no such worker";
	if (wh_load_relaxed(&work->shard_count) == WH_SHARDS_MOST)
		return "too many subgroups: 64 at most";
	for (uint64_t i = 0; i < wh_load_relaxed(&work->shard_count); i++)
		if (work->shards[i]->key == key_of(wh_layer_name(subgroup)))
			return "it serves the subgroup already, or one whose name has the same hash";
	return NULL;
}

/* Without memory for the state the subgroup stays attached: it cannot be taken back, and the node is of no use. */
static enum whorl_result attach(const char *function, struct wh_shard *shard)
{
	const struct whorl_state state = {.size = sizeof(state),
					  .snapshot = take_snapshot,
					  .read = read_snapshot,
					  .release = release_snapshot,
					  .restore = restore,
					  .ctx = shard};
	const struct wh_replica_plan plan = {.take = take_calls, .broken = why_broken, .free = free_plan, .ctx = shard};
	enum whorl_result result;

	wh_store_relaxed(&shard->uses, 2);
	result = wh_replica_serve(function, shard->subgroup, &plan);
	if (result != WHORL_OK) {
		wh_store_relaxed(&shard->uses, 1);
		return result;
	}
	return whorl_on_state(shard->subgroup, &state);
}

enum whorl_result whorl_work_serve(whorl_work *work, whorl_subgroup *subgroup, uint32_t worker)
{
	const char *fault = fault_of(work, subgroup, worker);
	enum whorl_result result;
	struct wh_shard *shard;
	struct wh_party *party;

	if (fault != NULL)
		return WH_REFUSE(fault);
	shard = new_shard(work, subgroup, worker);
	if (shard == NULL)
		return WHORL_MEMORY;
	result = attach(__func__, shard);
	if (result != WHORL_OK) {
		wh_shard_drop(shard);
		return result;
	}
	party = work->parties[worker];
	shard->next = (struct wh_shard *)(uintptr_t)wh_load_relaxed(&party->shards);
	wh_store_release(&party->shards, (uint64_t)(uintptr_t)shard); /* partner: wh_shards_look */
	work->shards[wh_load_relaxed(&work->shard_count)] = shard;
	wh_store_release(&work->shard_count, wh_load_relaxed(&work->shard_count) + 1); /* partner: those that find it */
	return WHORL_OK;
}

static void free_notes(struct wh_note *note)
{
	struct wh_note *next;

	for (; note != NULL; note = next) {
		next = note->next;
		wh_shard_note_free(note);
	}
}

void wh_shard_leave(struct wh_shard *shard)
{
	struct wh_shard_pending *pending;
	struct wh_shard_unsent *unsent;

	free_notes(wh_shard_queue_close(&shard->queue));
	free_notes(shard->taken);
	shard->taken = NULL;
	while ((pending = shard->pending) != NULL) {
		shard->pending = pending->older;
		wh_shard_pending_drop(pending);
	}
	while ((unsent = shard->first) != NULL) {
		shard->first = unsent->next;
		free(unsent);
	}
	wh_shard_table_free(&shard->table);
	wh_bytes_free(&shard->answer);
	wh_shard_drop(shard);
}
