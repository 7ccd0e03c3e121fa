/* verbs_trip.c - see verbs_trip.h. */
#include "bench/limit/verbs_trip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEET_MS 10000
#define PAGE_BYTES 4096

/* The memory: a line for the number, what comes, what goes. */
static size_t in_offset(void)
{
	return WH_CACHE_LINE;
}

static size_t out_offset(size_t bytes)
{
	return in_offset() + wh_limit_round_up(bytes, WH_CACHE_LINE);
}

static const char *make_memory(struct wh_limit_verbs_end *end, size_t *size)
{
	*size = wh_limit_round_up(out_offset(end->bytes) + end->bytes, PAGE_BYTES);
	end->memory = aligned_alloc(PAGE_BYTES, *size);
	if (end->memory == NULL) {
		errno = ENOMEM;
		return "no memory";
	}
	memset(end->memory, 0, *size);
	end->head_in = (const wh_word *)(const void *)end->memory;
	end->in = end->memory + in_offset();
	end->out = end->memory + out_offset(end->bytes);
	return NULL;
}

const char *wh_limit_verbs_end_open(struct wh_limit_verbs_end *end, uint32_t node, const char *address, size_t bytes,
				    bool wakes, struct wh_limit_verbs_cards *cards, struct wh_phase *phase)
{
	const char *failure;
	size_t size;

	*end = (struct wh_limit_verbs_end){.bytes = bytes, .wakes = wakes};
	failure = make_memory(end, &size);
	if (failure == NULL)
		failure = wh_limit_device_open(&end->device, node, address, end->memory, size);
	if (failure == NULL)
		failure = wh_limit_link_open(&end->link, &end->device, wakes, &cards->cards[node]);
	if (failure != NULL)
		return failure;
	wh_fetch_add(&cards->filled, 1);
	for (int ms = 0; wh_load_acquire(&cards->filled) < 2; ms++) /* partner: the other's add */
		if (ms > MEET_MS || wh_phase_wait(phase, WH_LIMIT_START, 1) != WH_LIMIT_START) {
			errno = ETIMEDOUT;
			return "the other end does not come";
		}
	return wh_limit_link_connect(&end->link, &end->device, &cards->cards[1 - node]);
}

const char *wh_limit_verbs_end_write(struct wh_limit_verbs_end *end, uint64_t number)
{
	uint64_t to = end->link.peer.base;
	struct ibv_sge pieces[2] = {{(uintptr_t)end->out, (uint32_t)end->bytes, end->device.memory->lkey},
				    {(uintptr_t)&number, sizeof number, 0}};
	struct ibv_send_wr chain[2] = {
		{.next = &chain[1], .opcode = IBV_WR_RDMA_WRITE, .sg_list = &pieces[0], .num_sge = 1},
		{.opcode = end->wakes ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		 .send_flags = IBV_SEND_INLINE,
		 .sg_list = &pieces[1],
		 .num_sge = 1}};
	const char *failure;
	bool room = false;

	chain[0].wr.rdma.remote_addr = to + in_offset();
	chain[1].wr.rdma.remote_addr = to;
	chain[0].wr.rdma.rkey = chain[1].wr.rdma.rkey = end->link.peer.key;
	failure = wh_limit_link_room(&end->link, 2, &room);
	if (failure == NULL && !room) { /* a sender that waits for an answer to each cannot have so many under way */
		errno = ENOBUFS;
		failure = "the queue is full";
	}
	return failure != NULL ? failure : wh_limit_link_post(&end->link, chain, &chain[1], 2);
}

void wh_limit_verbs_end_close(struct wh_limit_verbs_end *end)
{
	wh_limit_link_close(&end->link);
	wh_limit_device_close(&end->device);
	free(end->memory);
	*end = (struct wh_limit_verbs_end){0};
}
