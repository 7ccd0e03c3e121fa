/* delegate_kv_store.c - which shard has a key, and how a request comes to it. See delegate_kv.h.
 *
 * A shard lies in the memory of its node. What is entrusted is a gate: a property that knows where its shard is, and functions that run a
 * request there. With the backend trust the gate's worker is the only one that touches the shard, and there is no lock. With locks the
 * threads of the node touch it, and the gate is for those of other nodes: its function takes the lock as they do.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/delegate_kv.h"

#define OPEN_MS 60000
#define SMALL 256 /* an answer that is put together before it is added to the reply */

const char *const wh_kv_backend_names[WH_KV_BACKENDS] = {"trust", "mutex", "rwlock"};

/* ---- a shard, and its lock ------------------------------------------------------------------------------------------------------ */

static bool open_lock(struct wh_kv_shard *shard)
{
	if (shard->backend == WH_KV_MUTEX)
		return pthread_mutex_init(&shard->lock.mutex, NULL) == 0;
	return shard->backend != WH_KV_RWLOCK || pthread_rwlock_init(&shard->lock.rwlock, NULL) == 0;
}

static void close_lock(struct wh_kv_shard *shard)
{
	if (shard->backend == WH_KV_MUTEX)
		pthread_mutex_destroy(&shard->lock.mutex);
	else if (shard->backend == WH_KV_RWLOCK)
		pthread_rwlock_destroy(&shard->lock.rwlock);
}

static void take_lock(struct wh_kv_shard *shard, bool reads)
{
	if (shard->backend == WH_KV_MUTEX)
		pthread_mutex_lock(&shard->lock.mutex);
	else if (shard->backend == WH_KV_RWLOCK && reads)
		pthread_rwlock_rdlock(&shard->lock.rwlock);
	else if (shard->backend == WH_KV_RWLOCK)
		pthread_rwlock_wrlock(&shard->lock.rwlock);
}

static void leave_lock(struct wh_kv_shard *shard)
{
	if (shard->backend == WH_KV_MUTEX)
		pthread_mutex_unlock(&shard->lock.mutex);
	else if (shard->backend == WH_KV_RWLOCK)
		pthread_rwlock_unlock(&shard->lock.rwlock);
}

/* ---- requests and answers as bytes ---------------------------------------------------------------------------------------------- */

/* A request: the hash, what it is << 24 | bytes of the key, the key, and the value or by how much. An answer: its kind, and the number or
 * the value. */
#define HEAD_BYTES (sizeof(uint64_t) + sizeof(uint32_t))

static size_t request_bytes(const struct wh_kv_request *r)
{
	return HEAD_BYTES + r->key.bytes + (r->op == WH_KV_ADD ? sizeof(r->by) : r->value.bytes);
}

static void write_request(unsigned char *to, const struct wh_kv_request *r)
{
	uint32_t what = (uint32_t)r->op << 24 | (uint32_t)r->key.bytes;

	memcpy(to, &r->hash, sizeof(r->hash));
	memcpy(to + sizeof(r->hash), &what, sizeof(what));
	to += HEAD_BYTES;
	if (r->key.bytes > 0)
		memcpy(to, r->key.data, r->key.bytes);
	to += r->key.bytes;
	if (r->op == WH_KV_ADD)
		memcpy(to, &r->by, sizeof(r->by));
	else if (r->value.bytes > 0)
		memcpy(to, r->value.data, r->value.bytes);
}

/* False: it is none. */
static bool read_request(struct wh_kv_request *r, const unsigned char *data, size_t bytes)
{
	uint32_t what;

	*r = (struct wh_kv_request){0};
	if (bytes < HEAD_BYTES)
		return false;
	memcpy(&r->hash, data, sizeof(r->hash));
	memcpy(&what, data + sizeof(r->hash), sizeof(what));
	bytes -= HEAD_BYTES;
	r->key = (struct wh_kv_slice){data + HEAD_BYTES, what & 0xffffff};
	if (what >> 24 >= WH_KV_OPS || r->key.bytes > bytes)
		return false;
	r->op = (enum wh_kv_op)(what >> 24);
	r->value = (struct wh_kv_slice){data + HEAD_BYTES + r->key.bytes, bytes - r->key.bytes};
	if (r->op == WH_KV_ADD && r->value.bytes == sizeof(r->by))
		memcpy(&r->by, r->value.data, sizeof(r->by));
	return r->op != WH_KV_ADD || r->value.bytes == sizeof(r->by);
}

static void add_answer(whorl_reply *reply, const struct wh_kv_answer *answer)
{
	unsigned char small[SMALL]; /* not all of it is written */
	const void *data = answer->kind == WH_KV_NUMBER ? &answer->number : answer->value.data;
	size_t bytes = answer->kind == WH_KV_NUMBER  ? sizeof(answer->number)
		       : answer->kind == WH_KV_VALUE ? answer->value.bytes
						     : 0;

	small[0] = (unsigned char)answer->kind;
	if (bytes < SMALL) {
		if (bytes > 0)
			memcpy(small + 1, data, bytes);
		(void)!whorl_reply_add(reply, small, 1 + bytes); /* no memory: no answer, and that is an error there */
		return;
	}
	if (whorl_reply_add(reply, small, 1) == WHORL_OK && whorl_reply_add(reply, data, bytes) != WHORL_OK)
		(void)!whorl_reply_add(reply, small, 0);
}

static bool read_answer(struct wh_kv_answer *answer, const unsigned char *data, size_t bytes)
{
	*answer = (struct wh_kv_answer){.kind = WH_KV_FAILED};
	if (bytes == 0 || data[0] >= WH_KV_KINDS)
		return false;
	answer->kind = (enum wh_kv_kind)data[0];
	if (answer->kind == WH_KV_NUMBER && bytes == 1 + sizeof(answer->number))
		memcpy(&answer->number, data + 1, sizeof(answer->number));
	else if (answer->kind == WH_KV_NUMBER)
		return false;
	answer->value = (struct wh_kv_slice){data + 1, bytes - 1};
	return true;
}

/* ---- gates ---------------------------------------------------------------------------------------------------------------------- */

struct kv_gate {
	struct wh_kv_shard *shard; /* NULL: it has not been told */
};

static WHORL_TYPE_WITH(kv_gate_type, struct kv_gate, NULL, WHORL_TYPE_STAYS);

struct kv_attach_args {
	whorl_shared *shard; /* of a struct wh_kv_shard * */
};

WHORL_FUNCTION(kv_gate_attach, struct kv_gate, struct kv_attach_args, struct whorl_none, 0)
{
	const void *shard = whorl_shared_data(args->shard, NULL);

	memcpy(&property->shard, shard, sizeof(property->shard));
}

static void run_in_gate(struct kv_gate *gate, const void *data, size_t bytes, whorl_reply *reply, bool reads)
{
	struct wh_kv_answer answer = {.kind = WH_KV_FAILED};
	struct wh_kv_request request;

	if (gate->shard == NULL || !read_request(&request, data, bytes) || wh_kv_reads(request.op) != reads) {
		add_answer(reply, &answer);
		return;
	}
	take_lock(gate->shard, reads);
	answer = wh_kv_table_run(&gate->shard->table, &request);
	add_answer(reply, &answer);
	leave_lock(gate->shard);
}

WHORL_FUNCTION_OF_BYTES(kv_gate_read, struct kv_gate, WHORL_READ)
{
	run_in_gate(property, data, bytes, reply, true);
}

WHORL_FUNCTION_OF_BYTES(kv_gate_write, struct kv_gate, 0)
{
	run_in_gate(property, data, bytes, reply, false);
}

/* ---- opening -------------------------------------------------------------------------------------------------------------------- */

static struct whorl_trust *own_trusts(const struct wh_kv_store *store)
{
	return &store->trusts[(size_t)store->node * store->options->shards];
}

static bool fail(const struct wh_kv_store *store, const char *what, enum whorl_result result)
{
	wh_say("kv: node %" PRIu32 ": %s: %s (%s)", store->node, what, whorl_result_text(result), whorl_invalid_text());
	return false;
}

static enum whorl_result make_gate(struct wh_kv_store *store, uint32_t i)
{
	struct wh_kv_shard *shard = &store->shards[i];
	struct whorl_trust *trust = &own_trusts(store)[i];
	uint32_t worker = (uint32_t)((uint64_t)i * store->options->workers / store->options->shards);
	struct kv_attach_args args = {0};
	enum whorl_result result = whorl_share(store->work, &shard, sizeof(shard), &args.shard);

	if (result == WHORL_OK)
		result = whorl_entrust(store->work, whorl_at_worker(WHORL_NODE_HERE, worker), &kv_gate_type, NULL, 0,
				       trust, OPEN_MS);
	if (result == WHORL_OK)
		result = whorl_apply(trust, kv_gate_attach, &args, NULL, OPEN_MS);
	whorl_shared_drop(args.shard);
	return result;
}

bool wh_kv_store_open(struct wh_kv_store *store, const struct wh_kv_options *options, uint32_t node, whorl_work *work)
{
	enum whorl_result result = WHORL_OK;

	store->options = options;
	store->node = node;
	store->work = work;
	store->shard_count = options->nodes * options->shards;
	store->shards = aligned_alloc(_Alignof(struct wh_kv_shard), options->shards * sizeof(*store->shards));
	store->trusts = calloc(store->shard_count, sizeof(*store->trusts));
	if (store->shards == NULL || store->trusts == NULL) {
		free(store->shards);
		store->shards = NULL;
		return fail(store, "the shards", WHORL_MEMORY);
	}
	memset(store->shards, 0, options->shards * sizeof(*store->shards));
	for (uint32_t i = 0; i < options->shards; i++) {
		store->shards[i].backend = options->backend;
		if (!open_lock(&store->shards[i]))
			return fail(store, "a lock", WHORL_SYSTEM);
	}
	for (uint32_t i = 0; work != NULL && i < options->shards && result == WHORL_OK; i++)
		result = make_gate(store, i);
	return result == WHORL_OK || fail(store, "a shard", result);
}

bool wh_kv_store_lend(struct wh_kv_store *store, uint32_t to, struct whorl_trust *handles)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t i = 0; i < store->options->shards && result == WHORL_OK; i++) {
		result = whorl_trust_clone(&own_trusts(store)[i], &handles[i]);
		if (result == WHORL_OK)
			result = whorl_trust_send(&handles[i], whorl_at_worker(to, WHORL_WORKER_ANY));
	}
	return result == WHORL_OK || fail(store, "a handle for another node", result);
}

/* The first call to a node may come before this one has met it. */
static enum whorl_result meet(const struct whorl_trust *trust)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	const struct wh_kv_request request = {.op = WH_KV_COUNT};
	unsigned char data[HEAD_BYTES];
	uint64_t until = wh_kv_now_ms() + OPEN_MS;
	enum whorl_result result;

	write_request(data, &request);
	while ((result = whorl_apply_bytes(trust, kv_gate_read, data, sizeof(data), NULL, NULL, OPEN_MS)) ==
		       WHORL_AGAIN &&
	       wh_kv_now_ms() < until)
		nanosleep(&nap, NULL);
	return result;
}

bool wh_kv_store_borrow(struct wh_kv_store *store, uint32_t from, const struct whorl_trust *handles)
{
	struct whorl_trust *trusts = &store->trusts[(size_t)from * store->options->shards];
	enum whorl_result result = WHORL_OK;

	for (uint32_t i = 0; i < store->options->shards && result == WHORL_OK; i++) {
		trusts[i] = handles[i];
		trusts[i].work = store->work;
		result = meet(&trusts[i]);
	}
	return result == WHORL_OK || fail(store, "a shard of another node", result);
}

void wh_kv_store_free(struct wh_kv_store *store)
{
	for (uint32_t i = 0; store->shards != NULL && i < store->options->shards; i++) {
		wh_kv_table_free(&store->shards[i].table);
		close_lock(&store->shards[i]);
	}
	free(store->shards);
	free(store->trusts);
	store->shards = NULL;
	store->trusts = NULL;
}

void wh_kv_store_count(const struct wh_kv_store *store, uint64_t *keys, uint64_t *bytes)
{
	*keys = *bytes = 0;
	for (uint32_t i = 0; store->shards != NULL && i < store->options->shards; i++) {
		*keys += store->shards[i].table.keys;
		*bytes += store->shards[i].table.bytes;
	}
}

/* ---- asking --------------------------------------------------------------------------------------------------------------------- */

uint32_t wh_kv_shard_of(uint64_t hash, uint32_t shard_count)
{
	return (uint32_t)((hash >> 32) * shard_count >> 32);
}

static enum wh_kv_kind kind_of(enum whorl_result result)
{
	return result == WHORL_IN_DOUBT ? WH_KV_IN_DOUBT
	       : result == WHORL_GONE   ? WH_KV_NODE_GONE
	       : result == WHORL_MEMORY ? WH_KV_NO_MEMORY
					: WH_KV_FAILED;
}

static void take_answer(enum whorl_result result, const void *data, size_t bytes, void *ctx)
{
	struct wh_kv_call *call = ctx;
	struct wh_kv_answer answer = {.kind = kind_of(result)};

	--*call->open;
	if (result == WHORL_OK && !read_answer(&answer, data, bytes))
		answer = (struct wh_kv_answer){.kind = WH_KV_FAILED};
	call->fn(call, &answer);
}

/* This thread does it. The answer is used while the lock is held: its value lies in the table. */
static void run_here(struct wh_kv_shard *shard, const struct wh_kv_request *request, struct wh_kv_call *call)
{
	struct wh_kv_answer answer;

	take_lock(shard, wh_kv_reads(request->op));
	answer = wh_kv_table_run(&shard->table, request);
	call->fn(call, &answer);
	leave_lock(shard);
}

static bool make_room(struct wh_kv_room *room, size_t bytes)
{
	unsigned char *grown;

	if (bytes <= room->bytes)
		return true;
	grown = realloc(room->data, 2 * bytes);
	if (grown == NULL)
		return false;
	room->data = grown;
	room->bytes = 2 * bytes;
	return true;
}

static enum whorl_result send_request(const struct wh_kv_store *store, uint32_t shard,
				      const struct wh_kv_request *request, struct wh_kv_room *room,
				      struct wh_kv_call *call)
{
	size_t bytes = request_bytes(request);
	enum whorl_result result;

	if (!make_room(room, bytes))
		return WHORL_MEMORY;
	write_request(room->data, request);
	call->open = &room->open;
	room->open++;
	if (wh_kv_reads(request->op))
		result = whorl_apply_bytes_then(&store->trusts[shard], kv_gate_read, room->data, bytes, take_answer,
						call);
	else
		result = whorl_apply_bytes_then(&store->trusts[shard], kv_gate_write, room->data, bytes, take_answer,
						call);
	room->open -= result != WHORL_OK;
	return result;
}

bool wh_kv_store_ask(struct wh_kv_store *store, uint32_t shard, const struct wh_kv_request *request,
		     struct wh_kv_room *room, struct wh_kv_call *call)
{
	const struct wh_kv_options *options = store->options;
	struct wh_kv_answer answer = {0};
	enum whorl_result result;

	if (options->backend != WH_KV_TRUST && shard / options->shards == store->node) {
		run_here(&store->shards[shard % options->shards], request, call);
		return true;
	}
	result = send_request(store, shard, request, room, call);
	if (result == WHORL_OK || result == WHORL_AGAIN)
		return result == WHORL_OK;
	answer.kind = kind_of(result);
	call->fn(call, &answer);
	return true;
}
