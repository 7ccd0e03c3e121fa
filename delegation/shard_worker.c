/* shard_worker.c - the worker of a shard: it makes ordered calls of what threads here want, and applies what the loop hands over. See
 * shard.h.
 *
 * All of this is the worker's own thread: one that has borrowed it leaves these calls to it (serve.c).
 */
#include "delegation/shard.h"

#include <stdlib.h>

#include "group/layer.h"

#define RUNS_A_LOOK 16                /* then others have their turn */
#define RETRY_NS (200 * WH_NS_PER_US) /* while the window is full */

/* ---- what waits for an answer ----------------------------------------------------------------------------------------------------- */

static struct wh_shard_pending *new_pending(struct wh_shard *shard, struct wh_origin origin)
{
	struct wh_shard_pending *pending = malloc(sizeof(*pending));

	if (pending == NULL)
		return NULL;
	*pending = (struct wh_shard_pending){
		.note = {.kind = WH_NOTE_ENDED}, .shard = shard, .origin = origin, .older = shard->pending};
	wh_store_relaxed(&pending->uses, 2);
	if (pending->older != NULL)
		pending->older->newer = pending;
	shard->pending = pending;
	return pending;
}

static void unlink_pending(struct wh_shard *shard, struct wh_shard_pending *pending)
{
	if (pending->newer != NULL)
		pending->newer->older = pending->older;
	else
		shard->pending = pending->older;
	if (pending->older != NULL)
		pending->older->newer = pending->newer;
}

static void answer(struct wh_shard *shard, struct wh_shard_pending *pending, uint32_t status,
		   const struct wh_bytes *out)
{
	struct wh_origin origin = pending->origin;

	unlink_pending(shard, pending);
	wh_shard_pending_drop(pending);
	wh_complete(shard->party, origin, (enum whorl_result)status, out == NULL ? NULL : out->data + out->begin,
		    out == NULL || status != WHORL_OK ? 0 : wh_bytes_left(out));
}

/* ---- a member that cannot go on ---------------------------------------------------------------------------------------------------- */

/* What a call of this member gets that has not been sent, or that no member runs. */
static uint32_t refusal_of(const struct wh_shard *shard)
{
	return wh_load_relaxed(&shard->failure) == WH_SHARD_IS_ODD ? WHORL_REFUSED : WHORL_MEMORY;
}

static void refuse_unsent(struct wh_shard *shard, enum whorl_result result)
{
	struct wh_shard_unsent *unsent;

	while ((unsent = shard->first) != NULL) {
		shard->first = unsent->next;
		wh_complete(shard->party, unsent->origin, result, NULL, 0);
		free(unsent);
	}
	shard->last = NULL;
	shard->unsent_bytes = 0;
	shard->deadline_ns = UINT64_MAX;
}

/* From here on nothing is applied, and nothing is answered that was. Of a program that knows other functions no call runs anywhere. */
static void fail(struct wh_shard *shard, enum wh_shard_failure failure)
{
	bool odd = failure == WH_SHARD_IS_ODD;

	wh_store_relaxed(&shard->failure, failure);
	wh_layer_ask(shard->subgroup);
	while (shard->pending != NULL)
		answer(shard, shard->pending, odd ? WHORL_REFUSED : WHORL_IN_DOUBT, NULL);
	refuse_unsent(shard, (enum whorl_result)refusal_of(shard));
}

static bool has_failed(const struct wh_shard *shard)
{
	return wh_load_relaxed(&shard->failure) != WH_SHARD_GOOD;
}

/* ---- applying ------------------------------------------------------------------------------------------------------------------- */

/* What no member can have said is passed over, by all. */
static void apply_one(struct wh_shard *shard, const struct wh_shard_record *record, const void *message)
{
	struct wh_party *me = shard->party;
	struct wh_shard_call call;
	uint32_t status = WHORL_INVALID;

	wh_bytes_clear(&shard->answer);
	if (wh_shard_call_take(&call, message, record->bytes)) {
		me->in_function = true;
		status =
			wh_shard_table_apply(&shard->table, &call, record->id, record->pending != NULL, &shard->answer);
		me->in_function = false;
		wh_count(&me->stats.calls, 1);
	}
	if (status == WH_SHARD_ODD || status == WHORL_MEMORY)
		fail(shard, status == WH_SHARD_ODD ? WH_SHARD_IS_ODD : WH_SHARD_NO_MEMORY);
	else if (record->pending != NULL)
		answer(shard, record->pending, status, &shard->answer);
}

static void apply_run(struct wh_shard *shard, const struct wh_shard_run *run)
{
	const unsigned char *at = run->records;
	struct wh_shard_record record;

	for (size_t i = 0; i < run->count && !has_failed(shard); i++) {
		memcpy(&record, at, sizeof(record));
		apply_one(shard, &record, at + sizeof(record));
		at += sizeof(record) + (record.bytes + 15) / 16 * 16;
	}
	if (wh_shard_queue_applied(&shard->queue, run->count, run->bytes))
		(void)whorl_offer_again(shard->subgroup); /* a node that has failed or is closed offers nothing more */
}

static void fix_state(struct wh_shard *shard, const struct wh_shard_mark *mark)
{
	struct wh_party *me = shard->party;
	bool saved = false;

	if (!has_failed(shard)) {
		me->in_function = true;
		saved = wh_shard_table_save(&shard->table, &mark->image->bytes);
		me->in_function = false;
	}
	wh_store_release(&mark->image->state, saved ? WH_IMAGE_READY : WH_IMAGE_FAILED); /* partner: read_snapshot */
	wh_shard_image_drop(mark->image);
}

static void begin_anew(struct wh_shard *shard, struct wh_shard_restored *restored)
{
	struct wh_party *me = shard->party;

	me->in_function = true;
	wh_shard_table_free(&shard->table);
	me->in_function = false;
	shard->table = restored->table;
}

static uint32_t read_now(struct wh_shard *shard, const void *message, size_t bytes, struct wh_bytes *out)
{
	struct wh_party *me = shard->party;
	struct wh_shard_call call;
	uint32_t status;

	if (!wh_shard_call_take(&call, message, bytes) || call.kind != WH_SHARD_APPLY)
		return WHORL_INVALID;
	me->in_function = true;
	status = wh_shard_table_read(&shard->table, call.property, call.function, call.args, call.bytes, out);
	me->in_function = false;
	return status;
}

static void make_read(struct wh_shard *shard, const struct wh_shard_read *read)
{
	uint32_t status = read->result;

	wh_bytes_clear(&shard->answer);
	if (has_failed(shard))
		status = refusal_of(shard);
	else if (status == WHORL_OK)
		status = read_now(shard, read->message, read->bytes, &shard->answer);
	wh_complete(shard->party, read->origin, (enum whorl_result)status, wh_bytes_first(&shard->answer),
		    status == WHORL_OK ? wh_bytes_left(&shard->answer) : 0);
}

static void come_to(struct wh_shard *shard, struct wh_note *note)
{
	struct wh_shard_pending *pending;

	switch (note->kind) {
	case WH_NOTE_CALLS:
		apply_run(shard, (const struct wh_shard_run *)note);
		break;
	case WH_NOTE_SNAPSHOT:
		fix_state(shard, (const struct wh_shard_mark *)note);
		break;
	case WH_NOTE_READ:
		make_read(shard, (const struct wh_shard_read *)note);
		break;
	case WH_NOTE_RESTORED:
		begin_anew(shard, (struct wh_shard_restored *)note);
		break;
	case WH_NOTE_ENDED:
		pending = (struct wh_shard_pending *)note;
		if (!has_failed(shard)) /* else it is answered */
			answer(shard, pending, pending->result, NULL);
		wh_shard_pending_drop(pending);
		return;
	}
	free(note);
}

/* ---- making calls ---------------------------------------------------------------------------------------------------------------- */

/* WHORL_OK: it will be answered; WHORL_AGAIN: the window is full, or there is none now; else it never runs, and that is its result. */
static enum whorl_result send(struct wh_shard *shard, struct wh_origin origin, const void *message, size_t bytes)
{
	struct wh_shard_pending *pending = new_pending(shard, origin);
	enum whorl_result result;

	if (pending == NULL)
		return WHORL_MEMORY;
	result = whorl_call(shard->subgroup, message, bytes, wh_shard_told, pending);
	if (result == WHORL_OK || result == WHORL_PENDING)
		return WHORL_OK;
	unlink_pending(shard, pending);
	free(pending);
	return result;
}

struct wish { /* what is to be ordered, and for which call */
	struct wh_origin origin;
	uint64_t deadline_ns;
	const void *message;
	size_t bytes;
};

static void append(struct wh_shard *shard, struct wh_shard_unsent *unsent)
{
	unsent->next = NULL;
	if (shard->first == NULL)
		shard->first = unsent;
	else
		shard->last->next = unsent;
	shard->last = unsent;
	shard->unsent_bytes += unsent->bytes;
	if (unsent->deadline_ns < shard->deadline_ns)
		shard->deadline_ns = unsent->deadline_ns;
}

static bool wait_for_window(struct wh_shard *shard, const struct wish *wish)
{
	struct wh_shard_unsent *unsent = malloc(sizeof(*unsent) + wish->bytes);

	if (unsent == NULL)
		return false;
	*unsent = (struct wh_shard_unsent){
		.origin = wish->origin, .deadline_ns = wish->deadline_ns, .bytes = wish->bytes};
	memcpy(unsent->message, wish->message, wish->bytes);
	append(shard, unsent);
	return true;
}

/* Behind those that wait already. As wh_perform. */
static uint32_t order(struct wh_shard *shard, const struct wish *wish)
{
	enum whorl_result result;

	if (wish->deadline_ns <= shard->party->worker->loop.now_ns) /* its caller waits no longer */
		return WHORL_TIMEOUT;
	result = shard->first != NULL ? WHORL_AGAIN : send(shard, wish->origin, wish->message, wish->bytes);
	if (result == WHORL_OK)
		return WH_DEFERRED;
	if (result != WHORL_AGAIN)
		return result;
	if (shard->unsent_bytes + wish->bytes > WH_SHARD_UNSENT && shard->first != NULL)
		return WHORL_AGAIN;
	return wait_for_window(shard, wish) ? WH_DEFERRED : WHORL_MEMORY;
}

static struct wh_shard_unsent *take_first(struct wh_shard *shard)
{
	struct wh_shard_unsent *unsent = shard->first;

	shard->first = unsent->next;
	if (shard->first == NULL)
		shard->last = NULL;
	shard->unsent_bytes -= unsent->bytes;
	return unsent;
}

/* Those for which no caller waits any longer never run. */
static void drop_late(struct wh_shard *shard)
{
	uint64_t now = wh_env_now(shard->env);
	struct wh_shard_unsent *unsent = shard->first, *next;

	if (now < shard->deadline_ns)
		return;
	shard->first = shard->last = NULL;
	shard->unsent_bytes = 0;
	shard->deadline_ns = UINT64_MAX;
	for (; unsent != NULL; unsent = next) {
		next = unsent->next;
		if (unsent->deadline_ns > now) {
			append(shard, unsent);
			continue;
		}
		wh_complete(shard->party, unsent->origin, WHORL_TIMEOUT, NULL, 0);
		free(unsent);
	}
}

static size_t send_rest(struct wh_shard *shard)
{
	struct wh_shard_unsent *unsent;
	enum whorl_result result;
	size_t sent = 0;

	if (shard->first != NULL)
		drop_late(shard);
	for (; (unsent = shard->first) != NULL; sent++) {
		result = send(shard, unsent->origin, unsent->message, unsent->bytes);
		if (result == WHORL_AGAIN)
			break;
		(void)take_first(shard);
		if (result != WHORL_OK)
			wh_complete(shard->party, unsent->origin, result, NULL, 0);
		free(unsent);
	}
	return sent;
}

/* ---- reads ---------------------------------------------------------------------------------------------------------------------- */

/* On the loop, when all that it is to see has been handed over; or it may not be made. */
static void read_here(enum whorl_result result, void *ctx)
{
	struct wh_shard_read *read = ctx;

	read->result = result;
	wh_shard_put(read->shard, &read->note);
}

static uint32_t read_newest(struct wh_shard *shard, const struct wish *wish)
{
	struct wh_shard_read *read = malloc(sizeof(*read) + wish->bytes);
	enum whorl_result result;

	if (read == NULL)
		return WHORL_MEMORY;
	*read = (struct wh_shard_read){
		.note = {.kind = WH_NOTE_READ}, .shard = shard, .origin = wish->origin, .bytes = wish->bytes};
	memcpy(read->message, wish->message, wish->bytes);
	result = whorl_read(shard->subgroup, WHORL_LINEARIZABLE, read_here, read);
	if (result == WHORL_OK)
		return WH_DEFERRED;
	free(read);
	return result;
}

/* The state of a member that is none any more does not go on. One that has not come to the making of the property does not know it: then the
 * order tells. */
static uint32_t read_as_it_is(struct wh_shard *shard, const struct wish *wish, struct wh_bytes *out)
{
	enum whorl_result result = wh_layer_state(shard->subgroup);
	size_t begins = out->end;
	uint32_t status;

	if (result == WHORL_OK || result == WHORL_NO_QUORUM)
		result = wh_layer_membership(shard->subgroup);
	if (result != WHORL_OK)
		return result;
	status = read_now(shard, wish->message, wish->bytes, out);
	if (status != WHORL_GONE)
		return status;
	out->end = begins;
	return order(shard, wish);
}

/* ---- what the worker calls --------------------------------------------------------------------------------------------------------- */

/* Calls of this process alone: no lane brings any. */
uint32_t wh_shard_request(struct wh_party *me, struct wh_origin origin, const void *data, size_t bytes,
			  struct wh_bytes *out)
{
	struct wh_shard_args args;
	struct wh_shard *shard;
	struct wish wish = {.origin = origin};

	if (origin.channel->carrier != NULL || me->worker == NULL || bytes < sizeof(args))
		return WHORL_NOT_FOUND;
	memcpy(&args, data, sizeof(args));
	wish.message = (const unsigned char *)data + sizeof(args);
	wish.bytes = bytes - sizeof(args);
	wish.deadline_ns = args.deadline_ns;
	shard = (struct wh_shard *)(uintptr_t)args.shard;
	if (has_failed(shard))
		return refusal_of(shard);
	if (args.reads == WHORL_READS_LOCAL)
		return read_as_it_is(shard, &wish, out);
	if (args.reads == WHORL_READS_LINEARIZABLE)
		return read_newest(shard, &wish);
	return order(shard, &wish);
}

static size_t look_at(struct wh_shard *shard)
{
	struct wh_note *note;
	size_t work = 0;

	if (shard->taken == NULL)
		shard->taken = wh_shard_queue_take(&shard->queue);
	for (; (note = shard->taken) != NULL && work < RUNS_A_LOOK; work++) {
		shard->taken = note->next;
		come_to(shard, note);
	}
	work += send_rest(shard);
	if (shard->first != NULL)
		wh_loop_at(&shard->party->worker->loop, shard->party->worker->loop.now_ns + RETRY_NS);
	return work;
}

size_t wh_shards_look(struct wh_party *me)
{
	struct wh_shard *shard = (struct wh_shard *)(uintptr_t)wh_load_relaxed(&me->shards);
	size_t work = 0;

	for (; shard != NULL; shard = shard->next)
		work += look_at(shard);
	return work;
}
