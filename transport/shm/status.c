/* status.c - what a node shows to all others: its doorbell and its status page, which go with a hello. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "transport/shm/shm_int.h"

static bool is_mine(const struct wh_conn *c) /* the other end is a node of this process */
{
	return ((const struct wh_shm_conn *)c)->pid == getpid();
}

void wh_shm_status_hello(struct wh_transport *transport, struct wh_conn *c, struct wh_own *own)
{
	struct wh_shm *t = wh_shm_of(transport);
	const struct wh_shm_claim claim = wh_shm_memory_claim(&t->memory, WH_SHM_STATUS_BYTES, is_mine(c));

	_Static_assert(WH_SHM_CLAIM_BYTES <= WH_OWN_HELLO_MAX, "it fits");
	wh_shm_claim_put(own->bytes, &claim);
	own->count = WH_SHM_CLAIM_BYTES;
	own->fds[0] = t->poll.doorbell;
	own->fds[1] = t->memory.fd;
}

/* A descriptor that a write cannot block on. */
static bool is_doorbell(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK) != 0 && (flags & O_ACCMODE) == O_RDWR;
}

bool wh_shm_status_welcome(struct wh_transport *transport, uint32_t node, struct wh_conn *c, struct wh_message *m,
			   const unsigned char *own, size_t bytes, char reason[WH_MESSAGE_REASON_BYTES])
{
	const struct wh_row_part whole = {.offset = 0, .bytes = WH_SHM_STATUS_BYTES};
	const struct wh_shm_parts parts = {.of = &whole, .count = 1, .soon = WH_SHM_STATUS_BYTES};
	struct wh_shm_peer *peer = &wh_shm_of(transport)->peers[node];
	struct wh_shm_claim claim;
	struct wh_error err;

	if (bytes != WH_SHM_CLAIM_BYTES) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "its hello has %zu bytes of its own, not %d", bytes,
			 WH_SHM_CLAIM_BYTES);
		return false;
	}
	claim = wh_shm_claim_take(own);
	if (claim.bytes != WH_SHM_STATUS_BYTES || !is_doorbell(m->fds[0])) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "it has no proper doorbell");
		return false;
	}
	if (wh_shm_view_map(&peer->view, m->fds[1], &claim, &parts, is_mine(c), &err) != WHORL_OK) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "its status page: %.400s", err.text);
		return false;
	}
	peer->status = (const struct wh_shm_status *)(const void *)peer->view.base;
	peer->rung = 0;
	peer->doorbell = m->fds[0];
	m->fds[0] = -1;
	wh_shm_conn_of(c)->status = peer->status;
	return true;
}

void wh_shm_status_ended(struct wh_transport *transport, uint32_t node)
{
	struct wh_shm *t = wh_shm_of(transport);
	struct wh_shm_peer *peer = &t->peers[node];

	if (wh_shm_peer_conn(t, node) != NULL)
		wh_shm_peer_conn(t, node)->status = NULL;
	if (peer->doorbell >= 0)
		close(peer->doorbell);
	peer->doorbell = -1;
	peer->status = NULL;
	wh_shm_remote_end(peer);
	wh_shm_row_on_end(t, node);
	wh_shm_view_unmap(&peer->view);
}

void wh_shm_status_discard(struct wh_transport *transport, const struct wh_conn *c, enum wh_message_kind kind,
			   const unsigned char *own, size_t bytes)
{
	struct wh_shm_claim claim;

	(void)transport, (void)kind;
	if (bytes != WH_SHM_CLAIM_BYTES)
		return;
	claim = wh_shm_claim_take(own);
	wh_shm_claim_drop(&claim, is_mine(c));
}
