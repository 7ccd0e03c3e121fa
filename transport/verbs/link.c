/* link.c - a connection to a peer: buffers, credits, and what the device says is done.
 *
 * A message goes by send and receive, each into a buffer of its own. The receiver has WH_VERBS_BUFFERS of them; each head
 * says how many its sender has given back, so no sender sends what there is no buffer for, and the device never has to try
 * again. If there is nothing else to say for long a message says that alone.
 *
 * What comes is noted in the order in which it came, and stays in its buffer until it is heard: so a loop that takes no events
 * costs its peers their credits, and nothing is lost.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/verbs/verbs_int.h"

#define LINGER_NS (200 * WH_NS_PER_MS)
#define OWED_MAX (WH_VERBS_BUFFERS / 4) /* buffers given back that the peer has not been told of */

static uint64_t name_request(const struct wh_verbs_link *link, enum wh_verbs_done kind, uint32_t buffer)
{
	return (uint64_t)kind << 48 | (uint64_t)buffer << 32 | link->serial;
}

static unsigned char *buffer_in(const struct wh_verbs_link *link, uint32_t i)
{
	return link->memory.base + i * (uint64_t)WH_VERBS_MESSAGE_MAX;
}

static unsigned char *buffer_out(const struct wh_verbs_link *link, uint32_t i)
{
	return buffer_in(link, WH_VERBS_BUFFERS + i);
}

/* ---- its life ----------------------------------------------------------------------------------------------------- */

struct wh_verbs_link *wh_verbs_link_new(struct wh_verbs *t, struct wh_verbs_peer *peer, bool called)
{
	struct wh_verbs_link *link = calloc(1, sizeof(*link));

	if (link == NULL)
		return NULL;
	link->serial = ++t->serials;
	link->peer = peer;
	link->called = called;
	link->begun_ns = wh_env_now(t->env);
	link->memory.fd = -1;
	link->allowed = WH_VERBS_BUFFERS;
	link->next = t->links;
	t->links = link;
	return link;
}

static void give_buffer(struct wh_verbs_link *link, uint32_t buffer)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)buffer_in(link, buffer), .length = WH_VERBS_MESSAGE_MAX, .lkey = link->mr->lkey};
	struct ibv_recv_wr request = {
		.wr_id = name_request(link, WH_VERBS_DONE_HEARD, buffer), .sg_list = &piece, .num_sge = 1};
	struct ibv_recv_wr *bad;

	(void)ibv_post_recv(link->id->qp, &request, &bad); /* there is room: as many as buffers */
}

static bool explain(struct wh_verbs_link *link, const char *what)
{
	snprintf(link->how, sizeof(link->how), "%s: %s", what, strerror(errno));
	return false;
}

bool wh_verbs_link_prepare(struct wh_verbs *t, struct wh_verbs_link *link)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = t->device.in,
		.recv_cq = t->device.in,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = WH_VERBS_BUFFERS,
			.max_recv_wr = WH_VERBS_BUFFERS,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	uint64_t bytes = 2 * WH_VERBS_BUFFERS * (uint64_t)WH_VERBS_MESSAGE_MAX;
	struct wh_error err;

	if (link->id->verbs != t->device.context) {
		errno = ENODEV;
		return explain(link, "it is reached by another RDMA device");
	}
	if (wh_verbs_memory_make(&link->memory, "whorl-link", bytes, &err) != WHORL_OK)
		return explain(link, "buffers");
	link->mr = ibv_reg_mr(t->device.pd, link->memory.base, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (link->mr == NULL)
		return explain(link, "buffers cannot be registered");
	if (rdma_create_qp(link->id, t->device.pd, &wanted) != 0)
		return explain(link, "queue pair");
	for (uint32_t i = 0; i < WH_VERBS_BUFFERS; i++) {
		give_buffer(link, i);
		link->slots[i] = (uint16_t)i;
	}
	link->slots_free = WH_VERBS_BUFFERS;
	return true;
}

/* In a forked child only memory goes. */
void wh_verbs_link_free(struct wh_verbs *t, struct wh_verbs_link *link)
{
	struct wh_verbs_link **at = &t->links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	if (link->id != NULL) {
		if (link->id->qp != NULL)
			rdma_destroy_qp(link->id);
		rdma_destroy_id(link->id);
	}
	if (link->mr != NULL)
		ibv_dereg_mr(link->mr);
	wh_verbs_memory_free(&link->memory);
	free(link);
}

void wh_verbs_link_release(struct wh_verbs *t, struct wh_verbs_link *link)
{
	link->peer = NULL;
	link->deadline_ns = wh_env_now(t->env) + LINGER_NS;
	if (link->ended || wh_verbs_link_is_idle(link))
		wh_verbs_link_free(t, link);
	else
		wh_dial_timer(&t->redial, WH_NS_PER_MS);
}

bool wh_verbs_link_is_idle(const struct wh_verbs_link *link)
{
	return link->mr == NULL || link->slots_free == WH_VERBS_BUFFERS;
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

bool wh_verbs_link_can_send(const struct wh_verbs_link *link, enum wh_verbs_reserve reserve)
{
	return !link->ended && link->slots_free > 0 && link->allowed - link->sent > (uint32_t)reserve &&
	       link->allowed - link->sent <= WH_VERBS_BUFFERS;
}

bool wh_verbs_link_send(struct wh_verbs *t, struct wh_verbs_link *link, enum wh_verbs_reserve reserve,
			struct wh_verbs_head *head, size_t head_bytes, const void *bytes, size_t count)
{
	struct ibv_sge piece = {.length = (uint32_t)(head_bytes + count), .lkey = link->mr->lkey};
	struct ibv_send_wr request = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	uint32_t slot;

	if (link->slots_free == 0)
		(void)wh_verbs_poll_in(t);
	if (!wh_verbs_link_can_send(link, reserve))
		return false;
	slot = link->slots[--link->slots_free];
	head->bytes = (uint32_t)(head_bytes + count);
	head->freed = link->freed_told = link->freed;
	memcpy(buffer_out(link, slot), head, head_bytes);
	if (count > 0)
		memcpy(buffer_out(link, slot) + head_bytes, bytes, count);
	piece.addr = (uintptr_t)buffer_out(link, slot);
	request.wr_id = name_request(link, WH_VERBS_DONE_SENT, slot);
	if (ibv_post_send(link->id->qp, &request, &bad) != 0) {
		link->slots_free++;
		link->ended = true;
		(void)explain(link, "cannot be sent to");
		return false;
	}
	link->sent++;
	return true;
}

/* ---- what has come ------------------------------------------------------------------------------------------------ */

union wh_verbs_message *wh_verbs_link_peek(struct wh_verbs_link *link, size_t *bytes)
{
	uint32_t at = link->heard_out % WH_VERBS_BUFFERS;

	if (link->heard_out == link->heard_in)
		return NULL;
	*bytes = link->heard[at].bytes;
	return (union wh_verbs_message *)(void *)buffer_in(link, link->heard[at].buffer);
}

void wh_verbs_link_drop(struct wh_verbs *t, struct wh_verbs_link *link)
{
	uint32_t at = link->heard_out++ % WH_VERBS_BUFFERS;

	(void)t;
	give_buffer(link, link->heard[at].buffer);
	link->freed++;
}

static struct wh_verbs_link *find(struct wh_verbs *t, uint32_t serial)
{
	for (struct wh_verbs_link *link = t->links; link != NULL; link = link->next)
		if (link->serial == serial)
			return link;
	return NULL;
}

/* Its head is looked at here: what it says of buffers counts at once, whenever the rest is heard. */
static void note_message(struct wh_verbs_link *link, uint32_t buffer, uint32_t bytes)
{
	const struct wh_verbs_head *head = (const struct wh_verbs_head *)(const void *)buffer_in(link, buffer);
	uint32_t at = link->heard_in++ % WH_VERBS_BUFFERS;

	link->heard[at].buffer = (uint16_t)buffer;
	link->heard[at].bytes = bytes;
	if (bytes >= sizeof(*head) && link->sent - head->freed <= WH_VERBS_BUFFERS)
		link->allowed = head->freed + WH_VERBS_BUFFERS;
}

static void complete(struct wh_verbs *t, const struct ibv_wc *done)
{
	enum wh_verbs_done kind = (enum wh_verbs_done)(done->wr_id >> 48 & 0xffff);
	uint32_t buffer = (uint32_t)(done->wr_id >> 32 & 0xffff);
	struct wh_verbs_link *link;

	if (kind == WH_VERBS_DONE_RING) {
		(void)wh_verbs_device_take_ring(&t->device);
		t->rung = true;
		return;
	}
	if (kind == WH_VERBS_DONE_OPERATION || kind == WH_VERBS_DONE_IMMEDIATE) {
		wh_verbs_lane_complete(t, done);
		return;
	}
	link = find(t, (uint32_t)done->wr_id);
	if (link == NULL || buffer >= WH_VERBS_BUFFERS) /* it was there when this was posted */
		return;
	if (kind == WH_VERBS_DONE_SENT)
		link->slots[link->slots_free++] = (uint16_t)buffer;
	t->rung = t->rung || kind == WH_VERBS_DONE_HEARD;
	if (done->status != IBV_WC_SUCCESS) {
		if (!link->ended && link->how[0] == '\0')
			snprintf(link->how, sizeof(link->how), "cannot be reached: %s",
				 ibv_wc_status_str(done->status));
		link->ended = true;
		t->rung = true;
		return;
	}
	if (kind == WH_VERBS_DONE_HEARD)
		note_message(link, buffer, done->byte_len);
}

size_t wh_verbs_poll_in(struct wh_verbs *t)
{
	struct ibv_wc done[32];
	size_t count = 0;
	int n;

	do {
		n = ibv_poll_cq(t->device.in, 32, done);
		for (int i = 0; i < n; i++)
			complete(t, &done[i]);
		count += n > 0 ? (size_t)n : 0;
	} while (n == 32 && count < 4096);
	return count;
}

size_t wh_verbs_links_advance(struct wh_verbs *t)
{
	struct wh_verbs_head credit = {.kind = WH_VERBS_CREDIT};
	uint64_t now = wh_env_now(t->env);
	struct wh_verbs_link *next;
	size_t count = 0;

	for (struct wh_verbs_link *link = t->links; link != NULL; link = next) {
		next = link->next;
		if (link->peer == NULL) {
			if (!link->ended && !wh_verbs_link_is_idle(link) && now < link->deadline_ns) {
				wh_dial_timer(&t->redial, WH_NS_PER_MS);
				continue;
			}
			wh_verbs_link_free(t, link);
			count++;
		} else if (link->freed - link->freed_told >= OWED_MAX) {
			count += wh_verbs_link_send(t, link, WH_VERBS_FOR_CREDIT, &credit, sizeof(credit), NULL, 0);
		}
	}
	return count;
}
