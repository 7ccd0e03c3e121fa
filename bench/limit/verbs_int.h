/* verbs_int.h - what the two files of the limit of verbs share: verbs.c, a node and its writing, and verbs_read.c.
 *
 * A node's memory, the same everywhere: for each ring a line for the head and the slots; then a row of each node, two words for each ring: how far it
 * has received, and how far it has read. The owner of a row writes it, to itself by stores and to the others by its device.
 */
#ifndef WH_BENCH_LIMIT_VERBS_INT_H
#define WH_BENCH_LIMIT_VERBS_INT_H

#include "bench/limit/limit_int.h"
#include "bench/limit/verbs_link.h"

#define WH_LIMIT_FAILURE_MAX 120 /* bytes of text */

/* A word on a line of its own. */
struct wh_limit_line {
	_Alignas(WH_CACHE_LINE) wh_word word;
};

/* What a node says to the others and to the parent. */
struct wh_limit_page {
	char failure[WH_LIMIT_FAILURE_MAX]; /* [the node, before it ends] */
	struct wh_limit_card cards[];       /* [nodes] for each other, how to write to me */
};

struct wh_limit_verbs {
	const struct wh_limit_plan *plan;
	struct wh_limit_run run;
	size_t *ring_offset; /* of each ring in a node's memory, */
	size_t rows_offset;  /* and of the rows */
	size_t memory_bytes; /* of a node's memory */
	wh_word *met;        /* [workers] how many have filled in their cards */
	wh_word *stable; /* [parent] not 0: a message is read when all its readers have said that they have received it */
	char *pages;
};

/* One ring as its writer or one of its readers holds it. */
struct wh_limit_end {
	const struct wh_limit_ring *ring;
	uint64_t count; /* filled, or read, so far */
	uint64_t known; /* writer: the least that was read when it last looked */
	uint64_t *sent; /* writer, for each reader: how much has been posted to it; reader: [0] how far it has told that it has read */
	size_t offset; /* in every node's memory */
	size_t number; /* of the ring */
	uint32_t slot;
	struct wh_limit_line *head;
	char *slots;
	uint64_t seed;
};

struct wh_limit_worker {
	struct wh_limit_verbs *m;
	uint32_t node;
	char *memory;
	struct wh_limit_device device;
	struct wh_limit_link *links; /* [nodes] mine is empty */
	struct wh_limit_end *writes, *reads;
	size_t write_count, read_count;
	bool mixed;  /* messages are of several sizes */
	bool untold; /* my row has changed since it was last written to all */
	const char *failure;
};

static inline size_t wh_limit_row_bytes(const struct wh_limit_plan *plan)
{
	return wh_limit_round_up(2 * plan->ring_count * sizeof(wh_word), WH_CACHE_LINE);
}

static inline size_t wh_limit_row_offset(const struct wh_limit_worker *w, uint32_t node)
{
	return w->m->rows_offset + node * wh_limit_row_bytes(w->m->plan);
}

/* How far that node has received that ring, and read it. */
static inline wh_word *wh_limit_received(const struct wh_limit_worker *w, uint32_t node, size_t ring)
{
	return (wh_word *)(void *)(w->memory + wh_limit_row_offset(w, node)) + 2 * ring;
}

static inline wh_word *wh_limit_read(const struct wh_limit_worker *w, uint32_t node, size_t ring)
{
	return wh_limit_received(w, node, ring) + 1;
}

/* One more write of a chain: of `bytes` at `offset` of my memory to the same place in the peer's. */
struct ibv_send_wr *wh_limit_add_write(struct ibv_send_wr *chain, struct ibv_sge *pieces, uint32_t *count,
				       const struct wh_limit_worker *w, const struct wh_limit_link *link, size_t offset,
				       size_t bytes);
/* And of a word of this value, copied when it is posted. */
struct ibv_send_wr *wh_limit_add_word(struct ibv_send_wr *chain, struct ibv_sge *pieces, uint32_t *count,
				      const struct wh_limit_worker *w, const struct wh_limit_link *link, size_t offset,
				      const uint64_t *value);

/* Reads what may be read, and tells how far. Returns how many messages. Sets w->failure. */
uint64_t wh_limit_drain(struct wh_limit_worker *w);

#endif
