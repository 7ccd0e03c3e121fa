/* deliver.c - what a node of a benchmark does with the messages that it is given.
 *
 * Every byte of every message is read, in the upcall, by the function that the limit uses too. What was read goes into
 * the digest of the order, together with sender, index and length; the digests of all members must be equal in the end.
 */
#include "bench/node.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "bench/limit/payload.h"

#define RECORD_BYTES (1024 * 1024) /* buffered of a record */

/* A member delivers each sender's messages in order and without a gap, and an ordered subgroup's by ascending sequence
 * within a view: no sender here aborts a claim. */
static bool in_order(const struct wh_bench_delivery *d, const struct whorl_message *m)
{
	return m->index == d->sources[m->sender].next && (m->sequence >= d->next_sequence || !d->subgroup->ordered);
}

static void fail_order(struct wh_bench_delivery *d, const struct whorl_message *m)
{
	wh_bench_node_fail(
		d->node,
		"subgroup %s: message %" PRIu64 " of node %u with sequence number %" PRIu64
		" was delivered where message %" PRIu64 " and a sequence number from %" PRIu64 " were expected",
		d->subgroup->name, m->index, m->sender, m->sequence, d->sources[m->sender].next, d->next_sequence);
}

/* Nodes that are apart have files of their own. */
static void fail_size(struct wh_bench_delivery *d, const struct whorl_message *m)
{
	wh_bench_node_fail(
		d->node,
		"subgroup %s: a message of node %u has %zu bytes, and %u were expected: do the files of all nodes say "
		"the same of [bench] bytes?",
		d->subgroup->name, m->sender, m->bytes, d->subgroup->bytes);
}

static void fail_record(struct wh_bench_node *node, int error)
{
	wh_bench_node_fail(node, "%s/node-%u.txt: it could not be written: %s", node->plan->deliveries, node->id,
			   strerror(error));
}

static void record_message(const struct wh_bench_delivery *d, const struct whorl_message *m)
{
	if (fprintf(d->record, "%s %" PRIu32 " %" PRIu64 " %zu %08" PRIx32 "\n", d->subgroup->name, m->sender, m->index,
		    m->bytes, wh_crc32c(0, m->data, m->bytes)) < 0)
		fail_record(d->node, errno);
}

/* A message behind those that count: of a run by total, or the one after the idle time. */
static void take_extra(struct wh_bench_delivery *d)
{
	d->extra++;
	wh_store_relaxed(&d->part->extra_ns, wh_bench_time(d->node));
	wh_store_release(&d->part->extra, d->extra); /* partner: the node's main thread, after BENCH_LAST */
}

static inline void take_message(struct wh_bench_delivery *d, const struct whorl_message *m)
{
	struct wh_bench_source *source = &d->sources[m->sender];
	const void *data = m->data;
	uint64_t value;

	if (__builtin_expect(!in_order(d, m), 0))
		fail_order(d, m);
	if (__builtin_expect(m->bytes != d->subgroup->bytes, 0))
		fail_size(d, m);
	d->next_sequence = m->sequence + 1;
	source->next = m->index + 1;
	if (d->counted == d->subgroup->expected) {
		take_extra(d);
		return;
	}
	if (d->outside != NULL)
		data = memcpy(d->outside, m->data, m->bytes);
	value = wh_payload_digest(data, m->bytes) + (m->index << 16 | m->sender) * WH_PAYLOAD_SPREAD + m->bytes;
	if (d->subgroup->ordered)
		d->digest = wh_payload_mix(d->digest, value);
	else
		source->digest = wh_payload_mix(source->digest, value);
	d->counted++;
	d->bytes += m->bytes;
	/* Where the sender is elsewhere, so is its clock. */
	if (wh_bench_timed(d->node->plan, d->subgroup, m->index) && wh_bench_is_here(d->node->plan, m->sender)) {
		wh_word *stamp = wh_bench_stamp(d->node->memory, d->subgroup, source->rank, m->index);

		wh_histogram_add(&d->node->page->latency, wh_bench_time(d->node) - wh_load_relaxed(stamp));
	}
	if (d->record != NULL)
		record_message(d, m);
}

static uint64_t order_digest(const struct wh_bench_delivery *d)
{
	uint64_t digest = d->digest;

	if (!d->subgroup->ordered)
		for (uint32_t rank = 0; rank < d->subgroup->sender_count; rank++)
			digest = wh_payload_mix(digest, d->sources[d->subgroup->senders[rank]].digest);
	return digest;
}

/* The last message that counts has been taken in. */
static void finish_part(struct wh_bench_delivery *d)
{
	struct wh_bench_node_page *page = d->node->page;
	uint64_t left = wh_load_relaxed(&page->parts_left) - 1;

	wh_store_relaxed(&d->part->digest, order_digest(d));
	wh_store_release(&d->part->done_ns, wh_bench_time(d->node)); /* partner: the senders of this node */
	wh_store_relaxed(&page->parts_left, left);
	if (left == 0)
		wh_bench_node_reached(d->node, BENCH_RUN);
}

/* After each upcall: what the parent sees of it. */
static void publish_counts(struct wh_bench_delivery *d, uint64_t counted_before)
{
	wh_store_relaxed(&d->part->counted, d->counted);
	wh_store_relaxed(&d->part->bytes, d->bytes);
	if (d->counted == d->subgroup->expected && counted_before < d->counted)
		finish_part(d);
}

/* Where time is virtual, that of this upcall passes before anything is noted. */
static void pass_time(const struct wh_bench_delivery *d, const struct whorl_message *messages, size_t count)
{
	const struct wh_bench_world *world = d->node->world;
	size_t bytes = 0;

	if (world == NULL)
		return;
	for (size_t i = 0; i < count && d->outside != NULL; i++)
		bytes += messages[i].bytes;
	world->upcalled(world->ctx, count, bytes);
}

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct wh_bench_delivery *d = ctx;
	uint64_t before = d->counted;

	pass_time(d, message, 1);
	take_message(d, message);
	publish_counts(d, before);
}

static void on_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct wh_bench_delivery *d = ctx;
	uint64_t before = d->counted;

	pass_time(d, messages, count);
	for (size_t i = 0; i < count; i++)
		take_message(d, &messages[i]);
	publish_counts(d, before);
}

/* Each call is taken as the message that it is, and answered with what the order has come to. */
static bool apply_calls(const struct whorl_call *calls, size_t count, void *ctx)
{
	struct wh_bench_delivery *d = ctx;
	uint64_t before = d->counted;

	for (size_t i = 0; i < count; i++) {
		const struct whorl_call *call = WHORL_AT(whorl_call, calls, i);
		const struct whorl_message message = {.data = call->data,
						      .bytes = call->bytes,
						      .index = call->index,
						      .sequence = call->sequence,
						      .sender = call->caller};

		pass_time(d, &message, 1);
		take_message(d, &message);
		whorl_answer(call, &d->digest, sizeof d->digest);
	}
	publish_counts(d, before);
	return true;
}

void wh_bench_deliver_view(struct wh_bench_node *node)
{
	for (uint32_t g = 0; g < node->plan->subgroup_count; g++)
		node->deliveries[g].next_sequence = 0;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------------*/

static enum whorl_result open_record(struct wh_bench_node *node, FILE **out)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/node-%u.txt", node->plan->deliveries, node->id);
	*out = fopen(path, "we");
	if (*out == NULL || setvbuf(*out, NULL, _IOFBF, RECORD_BYTES) != 0) {
		wh_bench_node_fail(node, "%s: %s", path, strerror(errno));
		return WHORL_SYSTEM;
	}
	return WHORL_OK;
}

static enum whorl_result set_upcall(whorl_subgroup *handle, int64_t upcall, struct wh_bench_delivery *d)
{
	if (upcall == BENCH_UPCALL_CALL)
		return whorl_on_calls(handle, apply_calls, d);
	return upcall == BENCH_UPCALL_BATCH ? whorl_on_batch(handle, on_batch, d)
					    : whorl_on_message(handle, on_message, d);
}

static enum whorl_result open_one(struct wh_bench_node *node, uint32_t g, FILE *record_file)
{
	const struct wh_bench_plan *plan = node->plan;
	struct wh_bench_delivery *d = &node->deliveries[g];
	whorl_subgroup *handle = whorl_subgroup_find(node->node, plan->subgroups[g].name);
	enum whorl_result result;

	*d = (struct wh_bench_delivery){.node = node,
					.subgroup = &plan->subgroups[g],
					.part = wh_bench_part(node->memory, plan, node->id, g),
					.record = record_file};
	if (handle == NULL) /* no member */
		return WHORL_OK;
	d->sources = calloc(plan->nodes, sizeof *d->sources);
	if (d->sources == NULL || !wh_bench_outside(plan, BENCH_COPIES_DELIVERY, &d->outside)) {
		wh_bench_node_fail(node, "no memory for the sources of subgroup %s", d->subgroup->name);
		return WHORL_MEMORY;
	}
	for (uint32_t rank = 0; rank < d->subgroup->sender_count; rank++)
		d->sources[d->subgroup->senders[rank]].rank = rank;
	if (d->subgroup->expected > 0)
		wh_store_relaxed(&node->page->parts_left, wh_load_relaxed(&node->page->parts_left) + 1);
	result = set_upcall(handle, plan->options.upcall, d);
	if (result != WHORL_OK)
		wh_bench_node_fail(node, "subgroup %s: no upcall: %s", d->subgroup->name, whorl_result_text(result));
	return result;
}

enum whorl_result wh_bench_deliver_open(struct wh_bench_node *node)
{
	FILE *record_file = NULL;
	enum whorl_result result = WHORL_OK;

	node->deliveries = calloc(node->plan->subgroup_count, sizeof *node->deliveries);
	if (node->deliveries == NULL) {
		wh_bench_node_fail(node, "no memory for %u subgroups", node->plan->subgroup_count);
		return WHORL_MEMORY;
	}
	if (node->plan->deliveries != NULL)
		result = open_record(node, &record_file);
	for (uint32_t g = 0; result == WHORL_OK && g < node->plan->subgroup_count; g++)
		result = open_one(node, g, record_file);
	return result;
}

bool wh_bench_deliver_close(struct wh_bench_node *node)
{
	FILE *record_file = node->deliveries != NULL ? node->deliveries[0].record : NULL; /* all have the same one */
	bool good = true;

	if (record_file != NULL) {
		good = ferror(record_file) == 0;
		if (fclose(record_file) != 0 || !good) {
			fail_record(node, errno);
			good = false;
		}
	}
	for (uint32_t g = 0; node->deliveries != NULL && g < node->plan->subgroup_count; g++) {
		free(node->deliveries[g].sources);
		free(node->deliveries[g].outside);
	}
	free(node->deliveries);
	node->deliveries = NULL;
	return good;
}
