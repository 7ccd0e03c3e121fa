/* out.c - pushes to one peer: they wait in order, and are posted in chains as far as the count allows.
 *
 * A word is copied when it is pushed, into the queue, and from there into the request itself (inline): nothing that is stored
 * later can change it on its way (T4). Bytes are read by the device when it gets to them.
 *
 * The last write of a chain that has something loud in it carries an immediate. It is carried out after all that was
 * pushed before it, as it is on the same queue pair; so a thread that is woken by it sees that. Whether the peer sleeps is its own
 * business: its device interrupts only a node that has asked for it (T6).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/verbs_int.h"

#define CHAIN_MAX 32
#define WRITE_MAX (UINT64_C(1) << 20) /* bytes in one request */
#define QUEUE_FIRST 64

static void fail(struct wh_verbs *t, struct wh_verbs_out *out, const char *how)
{
	if (out->failed_ns == 0) {
		out->failed_ns = wh_env_now(t->env);
		snprintf(out->how, sizeof(out->how), "%s", how);
	}
	out->open = false;
	out->queue_out = out->queue_in;
}

/* ---- the queue ---------------------------------------------------------------------------------------------------- */

static bool grow(struct wh_verbs_out *out)
{
	uint32_t capacity = out->capacity == 0 ? QUEUE_FIRST : 2 * out->capacity;
	struct wh_verbs_write *queue;

	if (capacity > WH_VERBS_QUEUE_MAX)
		return false;
	queue = malloc(capacity * sizeof(*queue));
	if (queue == NULL)
		return false;
	for (uint64_t k = out->queue_out; k != out->queue_in; k++)
		queue[k % capacity] = out->queue[k % out->capacity];
	free(out->queue);
	out->queue = queue;
	out->capacity = capacity;
	return true;
}

static void add(struct wh_verbs *t, struct wh_verbs_out *out, struct wh_verbs_write write)
{
	if (out->queue_in - out->queue_out == out->capacity && !grow(out)) {
		fail(t, out, "it takes nothing, and too much waits for it");
		return;
	}
	out->queue[out->queue_in++ % out->capacity] = write;
}

/* Makes a word part of the write of words that was added last, if it may be. Nothing is between the two, so the same word once
 * more makes up for the older one, which no reader can miss; and a neighbour may be seen before those, if it is beside them. */
static bool join(struct wh_verbs_out *out, const struct wh_push *push)
{
	struct wh_verbs_write *last;
	uint64_t end;

	if (out->queue_in == out->queue_out)
		return false;
	last = &out->queue[(out->queue_in - 1) % out->capacity];
	end = last->offset + last->words * sizeof(last->values[0]);
	if (last->words == 0 || (!push->may_reorder && (last->words > 1 || push->offset != last->offset)))
		return false;
	if (last->words == WH_VERBS_WORDS && (push->offset < last->offset || push->offset >= end))
		return false;
	if (push->offset + sizeof(last->values[0]) == last->offset) {
		memmove(&last->values[1], &last->values[0], last->words++ * sizeof(last->values[0]));
		last->offset = push->offset;
	} else if (push->offset == end) {
		last->words++;
	} else if (push->offset < last->offset || push->offset > end) {
		return false;
	}
	last->values[(push->offset - last->offset) / sizeof(last->values[0])] = push->value;
	last->rings = last->rings || !push->no_wake;
	return true;
}

void wh_verbs_out_add(struct wh_verbs *t, struct wh_verbs_row *row, const struct wh_push *push)
{
	struct wh_verbs_write write = {.offset = push->offset, .rings = !push->no_wake};
	uint64_t rest = push->bytes;

	if (push->kind == WH_PUSH_WORD) {
		write.words = 1;
		write.values[0] = push->value;
		if (!join(&row->out, push))
			add(t, &row->out, write);
		return;
	}
	for (; rest > 0; rest -= write.bytes, write.offset += write.bytes) {
		write.bytes = rest < WRITE_MAX ? rest : WRITE_MAX;
		add(t, &row->out, write);
	}
}

/* ---- chains ------------------------------------------------------------------------------------------------------- */

struct chain {
	struct ibv_send_wr requests[CHAIN_MAX];
	struct ibv_sge pieces[CHAIN_MAX];
	uint64_t values[CHAIN_MAX][WH_VERBS_WORDS];
	uint32_t count;
	bool rings;
};

/* 0: the peer has no such range, and does not miss it. */
static uint64_t place_of(const struct wh_verbs_out *out, uint64_t offset, uint64_t bytes)
{
	for (uint32_t i = 0; i < out->place_count; i++) {
		const struct wh_verbs_place *place = &out->places[i];

		if (offset >= place->offset && offset - place->offset < place->bytes &&
		    bytes <= place->bytes - (offset - place->offset))
			return place->address + (offset - place->offset);
	}
	return 0;
}

static void link_request(struct chain *chain, const struct wh_verbs_image *image, struct wh_verbs_out *out,
			 const struct wh_verbs_write *write)
{
	uint64_t bytes = write->words > 0 ? write->words * sizeof(write->values[0]) : write->bytes;
	uint64_t address = place_of(out, write->offset, bytes);
	struct ibv_send_wr *request = &chain->requests[chain->count];
	struct ibv_sge *piece = &chain->pieces[chain->count];

	if (address == 0)
		return;
	memcpy(chain->values[chain->count], write->values, sizeof(write->values));
	*piece = (struct ibv_sge){.addr = write->words > 0 ? (uintptr_t)chain->values[chain->count]
							   : (uintptr_t)(image->base.base.own + write->offset),
				  .length = (uint32_t)bytes,
				  .lkey = image->mr->lkey};
	*request = (struct ibv_send_wr){.sg_list = piece,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = bytes <= WH_VERBS_INLINE ? IBV_SEND_INLINE : 0,
					.wr.rdma = {.remote_addr = address, .rkey = out->rkey}};
	if (wh_verbs_count_post(&out->count))
		request->send_flags |= IBV_SEND_SIGNALED;
	request->wr_id = out->count.posted;
	if (chain->count > 0)
		chain->requests[chain->count - 1].next = request;
	chain->rings = chain->rings || write->rings;
	chain->count++;
}

static void post_chain(struct wh_verbs *t, struct wh_verbs_out *out, struct chain *chain)
{
	struct ibv_send_wr *bad;
	int error;

	if (chain->count == 0)
		return;
	if (chain->rings)
		chain->requests[chain->count - 1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	error = ibv_post_send(out->qp, chain->requests, &bad);
	wh_count(&t->writes, chain->count);
	wh_count(&t->doorbells, 1);
	wh_count(&t->rings, chain->rings ? 1 : 0);
	if (error != 0)
		fail(t, out, "the device takes no writes to it");
}

void wh_verbs_out_flush(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row)
{
	struct wh_verbs_out *out = &row->out;

	while (out->open && out->queue_out != out->queue_in && wh_verbs_count_room(&out->count) > 0) {
		struct chain chain;

		chain.count = 0;
		chain.rings = false;
		while (chain.count < CHAIN_MAX && out->queue_out != out->queue_in &&
		       wh_verbs_count_room(&out->count) > 0)
			link_request(&chain, image, out, &out->queue[out->queue_out++ % out->capacity]);
		post_chain(t, out, &chain);
	}
}

/* ---- completions -------------------------------------------------------------------------------------------------- */

size_t wh_verbs_out_advance(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row)
{
	struct wh_verbs_out *out = &row->out;
	struct ibv_wc done[16];
	size_t count = 0;
	int n;

	if (out->cq == NULL || out->count.done == out->count.posted)
		return 0;
	do {
		n = ibv_poll_cq(out->cq, 16, done);
		for (int i = 0; i < n; i++) {
			if (done[i].status != IBV_WC_SUCCESS)
				fail(t, out, ibv_wc_status_str(done[i].status));
			else if (!wh_verbs_count_done(&out->count, done[i].wr_id))
				fail(t, out, "the device has completed what it was not given");
		}
		count += n > 0 ? (size_t)n : 0;
	} while (n == 16);
	if (count > 0)
		wh_verbs_out_flush(t, image, row);
	return count;
}

/* A last request, as those after the last signalled one say nothing by themselves. */
bool wh_verbs_out_is_drained(struct wh_verbs *t, struct wh_verbs_out *out)
{
	struct ibv_send_wr last = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED}, *bad;

	if (!out->open || out->qp == NULL)
		return true;
	if (out->queue_out != out->queue_in)
		return false;
	if (out->count.signalled != out->count.posted && wh_verbs_count_room(&out->count) > 0 && out->place_count > 0) {
		wh_verbs_count_post_signalled(&out->count);
		last.wr_id = out->count.posted;
		last.wr.rdma.remote_addr = out->places[0].address;
		last.wr.rdma.rkey = out->rkey;
		if (ibv_post_send(out->qp, &last, &bad) != 0)
			fail(t, out, "the device takes no writes to it");
	}
	return out->count.done == out->count.posted;
}

void wh_verbs_out_close(struct wh_verbs_out *out, bool forked)
{
	if (!forked && out->qp != NULL)
		ibv_destroy_qp(out->qp);
	if (!forked && out->cq != NULL)
		ibv_destroy_cq(out->cq);
	free(out->queue);
	free(out->places);
	*out = (struct wh_verbs_out){0};
}
