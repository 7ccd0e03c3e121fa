/* remote.c - regions (T7): what others ask is carried out by the loop of the owner.
 *
 * An operation is a frame, and what has come of it another; both go the way of control messages, in order. So the owner's
 * processor does all that is done to a region, one after the other: atomic operations are atomic with its own.
 *
 * What finds no room there waits here: requests that this node has posted, of which there are so many at most, and answers
 * to those of the peer, of which there are no more if it keeps to that. No node's reading waits for room to answer: two
 * that both did would do so for ever.
 *
 * Of an immediate the initiator hears, some at a time, that it has been taken.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transport/remote_account.h"
#include "transport/tcp/tcp_int.h"

#define CREDIT_AFTER (WH_REMOTE_IMMEDIATES / 4)
#define ROOM_LEFT (WH_TCP_MESSAGES_BYTES / 2) /* for control messages */
#define GRANT_BEHIND 256                      /* frames: no grant joins them */

/* What waits. Large ones, which are as large as can be, are kept for those that follow: to make and free one costs as much as to fill
 * it. */
#define LARGE 512
#define LARGE_ROOM (WH_HEAD_BYTES + WH_TCP_REMOTE_MAX)

struct frame {
	struct frame *next;
	bool answers, large;
	size_t bytes;
	unsigned char data[];
};

struct wh_tcp_remote {
	struct wh_remote_account account; /* mine to it; it stays when the peer ends, for what has not been taken */
	uint64_t sent, credit;            /* immediates to it, and of them taken */
	struct frame *waiting, **tail;
	uint32_t waiting_count, waiting_answers;
	struct frame *spare; /* large ones that are free */
	/* Its immediates to me: the k-th is at k mod their number. */
	uint64_t came, taken, told;
	uint32_t numbers[WH_REMOTE_IMMEDIATES];
};

struct wh_tcp_region {
	struct wh_region base;
	struct wh_tcp_region *next;
	uint64_t granted[]; /* by node: the incarnation; 0: not */
};

/* NULL: no memory. */
static struct wh_tcp_remote *remote_of(struct wh_tcp *t, uint32_t node)
{
	struct wh_tcp_remote *remote = t->remotes[node];

	if (remote != NULL)
		return remote;
	remote = calloc(1, sizeof(*remote));
	if (remote == NULL)
		return NULL;
	remote->account.node = node;
	remote->tail = &remote->waiting;
	t->remotes[node] = remote;
	return remote;
}

static struct wh_tcp_region *find_region(const struct wh_tcp *t, uint64_t name)
{
	struct wh_tcp_region *region = t->regions;

	while (region != NULL && region->base.name != name)
		region = region->next;
	return region;
}

/* ---- what leaves -------------------------------------------------------------------------------------------------- */

static bool takes_no_more(const struct wh_peer *peer)
{
	return peer->state != WH_PEER_MET || wh_tcp_conn_of(peer->conn)->link->out.dead;
}

static bool put_out(struct wh_tcp_conn *conn, const unsigned char *bytes, size_t count)
{
	struct wh_tcp_out *out = &conn->link->out;

	return out->messages_count < ROOM_LEFT && wh_tcp_out_message(out, bytes, count, WH_WIRE_USER);
}

static void drop_frame(struct wh_tcp_remote *remote)
{
	struct frame *frame = remote->waiting;

	remote->waiting = frame->next;
	if (remote->waiting == NULL)
		remote->tail = &remote->waiting;
	remote->waiting_count--;
	remote->waiting_answers -= frame->answers;
	if (!frame->large) {
		free(frame);
		return;
	}
	frame->next = remote->spare;
	remote->spare = frame;
}

static void free_spare(struct wh_tcp_remote *remote)
{
	while (remote->spare != NULL) {
		struct frame *frame = remote->spare;

		remote->spare = frame->next;
		free(frame);
	}
}

/* NULL: no memory. */
static struct frame *new_frame(struct wh_tcp_remote *remote, size_t count)
{
	struct frame *frame = remote->spare;
	bool large = count > LARGE;

	if (large && frame != NULL) {
		remote->spare = frame->next;
		return frame;
	}
	frame = malloc(sizeof(*frame) + (large ? LARGE_ROOM : count));
	if (frame != NULL)
		frame->large = large;
	return frame;
}

bool wh_tcp_remote_refill(struct wh_tcp_wire *w, uint32_t node)
{
	const struct wh_peer *peer = wh_session_peer(w->session, node);
	struct wh_tcp_remote *remote = wh_tcp_of(w->transport)->remotes[node];
	bool moved = false;

	if (remote == NULL || takes_no_more(peer))
		return false;
	while (remote->waiting != NULL &&
	       put_out(wh_tcp_conn_of(peer->conn), remote->waiting->data, remote->waiting->bytes)) {
		drop_frame(remote);
		moved = true;
	}
	return moved;
}

/* Behind what waits. False: no memory. */
static bool send_frame(struct wh_tcp *t, const struct wh_peer *peer, const unsigned char *bytes, size_t count)
{
	struct wh_tcp_remote *remote = t->remotes[peer->node];

	if (remote->waiting != NULL || !put_out(wh_tcp_conn_of(peer->conn), bytes, count)) {
		struct frame *frame = new_frame(remote, count);

		if (frame == NULL)
			return false;
		frame->next = NULL;
		frame->answers = bytes[0] == WH_TCP_REMOTE_DONE;
		frame->bytes = count;
		memcpy(frame->data, bytes, count);
		*remote->tail = frame;
		remote->tail = &frame->next;
		remote->waiting_count++;
		remote->waiting_answers += frame->answers;
	}
	wh_tcp_dirty(wh_tcp_conn_of(peer->conn));
	return true;
}

/* ---- immediates --------------------------------------------------------------------------------------------------- */

static bool take_immediate(struct wh_tcp *t, const struct wh_peer *peer, struct wh_remote_event *out)
{
	struct wh_tcp_remote *remote = t->remotes[peer->node];
	unsigned char frame[WH_HEAD_BYTES];

	if (remote->taken == remote->came)
		return false;
	*out = (struct wh_remote_event){
		.kind = WH_REMOTE_IMMEDIATE,
		.node = peer->node,
		.incarnation = peer->node == t->node ? t->incarnation : peer->incarnation,
		.immediate = remote->numbers[remote->taken++ % WH_REMOTE_IMMEDIATES],
	};
	if (peer->node == t->node)
		remote->credit = remote->taken;
	else if (remote->taken - remote->told >= CREDIT_AFTER &&
		 send_frame(t, peer, frame, wh_message_put_plain(frame, WH_TCP_CREDIT, remote->taken)))
		remote->told = remote->taken; /* else the next time */
	return true;
}

/* False: there are more than there can be. */
static bool keep_immediate(struct wh_tcp_remote *remote, uint32_t number)
{
	if (remote->came - remote->taken == WH_REMOTE_IMMEDIATES)
		return false;
	remote->numbers[remote->came++ % WH_REMOTE_IMMEDIATES] = number;
	return true;
}

/* ---- what peers ask ----------------------------------------------------------------------------------------------- */

/* Carries it out. False: no peer that keeps to the rules asks that. */
static bool serve(struct wh_tcp *t, const struct wh_peer *peer, const struct wh_message_head *head,
		  const unsigned char *body)
{
	unsigned char frame[WH_HEAD_BYTES + WH_REMOTE_BYTES_MAX];
	uint64_t words[WH_REMOTE_BYTES_MAX / 8], value = 0;
	const struct wh_tcp_region *region;
	enum whorl_result result = WHORL_NOT_FOUND; /* it has been closed meanwhile */
	struct wh_remote_op op;
	size_t read = 0;

	if (!wh_tcp_take_remote(&op, words, head, body) ||
	    t->remotes[peer->node]->waiting_answers ==
		    WH_REMOTE_OUTSTANDING) /* it has not heard of so many, and asks for more */
		return false;
	region = find_region(t, op.region);
	if (region != NULL && region->granted[peer->node] == peer->incarnation) {
		if (!wh_remote_is_sound(&op, region->base.bytes))
			return false;
		value = wh_remote_carry_out(region->base.words, &op);
		read = op.kind == WH_REMOTE_READ ? (size_t)op.bytes : 0;
		result = WHORL_OK;
	}
	if (result == WHORL_OK && op.kind == WH_REMOTE_WRITE_IMMEDIATE &&
	    !keep_immediate(t->remotes[peer->node], op.immediate))
		return false;
	return send_frame(t, peer, frame, wh_tcp_put_done(frame, result, value, words, read));
}

/* What has come of the oldest. */
static bool on_done(struct wh_tcp_remote *remote, const struct wh_message_head *head, const unsigned char *body)
{
	const struct wh_remote_posted *posted = wh_remote_oldest(&remote->account);
	bool ok = head->flags == WHORL_OK, reads;

	if (posted == NULL || (!ok && head->flags != WHORL_NOT_FOUND))
		return false;
	reads = ok && posted->op.kind == WH_REMOTE_READ;
	if (head->bytes != (reads ? posted->op.bytes : 0))
		return false;
	if (reads)
		wh_tcp_take_words(posted->op.into, body, head->bytes);
	if (!ok && posted->op.kind == WH_REMOTE_WRITE_IMMEDIATE)
		remote->sent--; /* it was not given, and will not be taken */
	wh_remote_complete(&remote->account, ok ? WHORL_OK : WHORL_NOT_FOUND, head->number);
	return true;
}

static bool on_credit(struct wh_tcp_remote *remote, uint64_t taken)
{
	if (taken < remote->credit || taken > remote->sent)
		return false;
	remote->credit = taken;
	return true;
}

static bool on_withdrawal(struct wh_tcp_remote *remote, uint64_t name)
{
	struct wh_remote_grant *grant = wh_remote_grant_find(&remote->account, name);

	if (grant != NULL)
		wh_remote_grant_withdraw(&remote->account, grant);
	return grant != NULL;
}

bool wh_tcp_remote_on_message(struct wh_transport *transport, uint32_t node, struct wh_message *m)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	struct wh_tcp_remote *remote = remote_of(t, node);
	const struct wh_peer *peer = wh_session_peer(t->base.session, node);

	if (remote == NULL)
		return false;
	switch (m->head.kind) {
	case WH_TCP_GRANT:
		return wh_remote_grant_add(&remote->account, m->head.number, wh_tcp_take_grant(m->body),
					   peer->incarnation) != NULL;
	case WH_TCP_WITHDRAWN:
		return on_withdrawal(remote, m->head.number);
	case WH_TCP_REMOTE:
		return serve(t, peer, &m->head, m->body);
	case WH_TCP_REMOTE_DONE:
		return on_done(remote, &m->head, m->body);
	case WH_TCP_CREDIT:
		return on_credit(remote, m->head.number);
	default:
		return false;
	}
}

void wh_tcp_remote_end(struct wh_transport *transport, uint32_t node)
{
	struct wh_tcp_remote *remote = wh_tcp_of(transport)->remotes[node];

	if (remote == NULL)
		return;
	while (remote->waiting != NULL)
		drop_frame(remote);
	free_spare(remote);
	remote->sent = remote->credit = 0;
	remote->came = remote->taken = remote->told = 0;
	wh_remote_account_end(&remote->account);
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

/* One on my own region is done at once. */
static void do_mine(struct wh_tcp *t, struct wh_tcp_remote *remote, const struct wh_remote_op *op)
{
	uint64_t value = wh_remote_carry_out(find_region(t, op->region)->base.words, op);

	if (op->kind == WH_REMOTE_WRITE_IMMEDIATE)
		(void)keep_immediate(remote, op->immediate); /* there is room: post_one has looked */
	wh_remote_posted(&remote->account, op, t->incarnation);
	wh_remote_complete(&remote->account, WHORL_OK, value);
}

static enum whorl_result post_one(struct wh_tcp *t, const struct wh_remote_op *op)
{
	unsigned char frame[WH_HEAD_BYTES + WH_TCP_REMOTE_MAX];
	struct wh_remote_grant *grant;
	struct wh_tcp_remote *remote;
	enum whorl_result result;
	const struct wh_peer *peer;

	if (op->node >= t->nodes)
		return WHORL_INVALID;
	peer = wh_session_peer(t->base.session, op->node);
	remote = t->remotes[op->node];
	if (wh_session_has_left(t->base.session) || (peer->state != WH_PEER_SELF && takes_no_more(peer)))
		return WHORL_MEMBER_GONE;
	if (remote == NULL)
		return WHORL_NOT_FOUND;
	result = wh_remote_judge(&remote->account, op, &grant);
	if (result == WHORL_OK && op->kind == WH_REMOTE_WRITE_IMMEDIATE &&
	    remote->sent - remote->credit == WH_REMOTE_IMMEDIATES)
		result = WHORL_AGAIN;
	if (result != WHORL_OK)
		return result;
	if (peer->state == WH_PEER_SELF)
		do_mine(t, remote, op);
	else if (send_frame(t, peer, frame, wh_tcp_put_remote(frame, op)))
		wh_remote_posted(&remote->account, op, peer->incarnation);
	else
		return WHORL_MEMORY;
	remote->sent += op->kind == WH_REMOTE_WRITE_IMMEDIATE;
	return WHORL_OK;
}

/* What is posted together leaves together. */
static enum whorl_result post(struct wh_transport *transport, const struct wh_remote_op *ops, size_t count,
			      size_t *posted)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	enum whorl_result result = WHORL_OK;
	bool gathers = t->wire->gathers;

	t->wire->gathers = true;
	for (*posted = 0; *posted < count && result == WHORL_OK; *posted += result == WHORL_OK)
		result = post_one(t, &ops[*posted]);
	t->wire->gathers = gathers;
	if (!gathers)
		wh_tcp_wire_flush(t->wire);
	return result;
}

/* Nodes in turn, so that none holds up the others. */
static bool next(struct wh_transport *transport, struct wh_remote_event *out)
{
	struct wh_tcp *t = wh_tcp_of(transport);

	for (uint32_t k = 0; k < t->nodes; k++) {
		uint32_t node = (t->next_account + k) % t->nodes;

		if (t->remotes[node] == NULL)
			continue;
		if (wh_remote_account_next(&t->remotes[node]->account, out) ||
		    take_immediate(t, wh_session_peer(t->base.session, node), out)) {
			t->next_account = node + 1;
			return true;
		}
	}
	return false;
}

/* ---- mine --------------------------------------------------------------------------------------------------------- */

static enum whorl_result grant(struct wh_region *base, uint32_t node)
{
	struct wh_tcp *t = wh_tcp_of(base->transport);
	struct wh_tcp_region *region = (struct wh_tcp_region *)base;
	unsigned char frame[WH_HEAD_BYTES + WH_TCP_GRANT_BYTES];
	const struct wh_peer *peer;

	if (node >= t->nodes || node == t->node)
		return WHORL_INVALID;
	peer = wh_session_peer(t->base.session, node);
	if (wh_session_has_left(t->base.session) || takes_no_more(peer))
		return WHORL_MEMBER_GONE;
	if (region->granted[node] == peer->incarnation)
		return WHORL_OK;
	if (remote_of(t, node) == NULL)
		return WHORL_MEMORY;
	if (t->remotes[node]->waiting_count >= GRANT_BEHIND)
		return WHORL_AGAIN;
	if (!send_frame(t, peer, frame, wh_tcp_put_grant(frame, region->base.name, region->base.bytes)))
		return WHORL_MEMORY;
	region->granted[node] = peer->incarnation;
	return WHORL_OK;
}

/* I use it as others do, through an account to myself. */
static enum whorl_result grant_myself(struct wh_tcp *t, const struct wh_tcp_region *region)
{
	struct wh_tcp_remote *remote = remote_of(t, t->node);
	struct wh_remote_grant *own;

	if (remote == NULL)
		return WHORL_MEMORY;
	own = wh_remote_grant_add(&remote->account, region->base.name, region->base.bytes, t->incarnation);
	if (own == NULL)
		return WHORL_INVALID;
	own->state = WH_GRANT_USED;
	remote->account.news--; /* no news to me */
	return WHORL_OK;
}

static void free_region(struct wh_tcp_region *region)
{
	free(region->base.words);
	free(region);
}

static enum whorl_result region_open(struct wh_transport *transport, uint64_t name, uint64_t bytes,
				     struct wh_region **out, struct wh_error *err)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	struct wh_tcp_region *region;
	enum whorl_result result;
	uint32_t count = 0;

	*out = NULL;
	if (bytes == 0 || bytes % sizeof(wh_word) != 0 || bytes > WH_REMOTE_REGION_MAX)
		return wh_error_set(err, WHORL_INVALID, "a region cannot have %" PRIu64 " bytes", bytes);
	for (region = t->regions; region != NULL; region = region->next)
		count++;
	if (count == WH_REMOTE_REGIONS)
		return wh_error_set(err, WHORL_AGAIN, "%d regions are open", WH_REMOTE_REGIONS);
	region = calloc(1, sizeof(*region) + t->nodes * sizeof(region->granted[0]));
	if (region == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a region");
	region->base = (struct wh_region){
		.ops = transport->ops->remote,
		.transport = transport,
		.name = name,
		.bytes = bytes,
		.words = calloc(1, bytes),
	};
	result = region->base.words != NULL ? grant_myself(t, region) : WHORL_MEMORY;
	if (result != WHORL_OK) {
		free_region(region);
		return wh_error_set(err, result, "region %" PRIx64 " cannot be opened", name);
	}
	region->next = t->regions;
	t->regions = region;
	*out = &region->base;
	return WHORL_OK;
}

static void region_close(struct wh_region *base)
{
	struct wh_tcp *t = wh_tcp_of(base->transport);
	struct wh_tcp_region *region = (struct wh_tcp_region *)base, **at = &t->regions;
	unsigned char frame[WH_HEAD_BYTES];

	wh_remote_grant_find(&t->remotes[t->node]->account, base->name)->state = WH_GRANT_NONE;
	for (uint32_t node = 0; node < t->nodes; node++) {
		const struct wh_peer *peer = wh_session_peer(t->base.session, node);

		if (region->granted[node] == 0 || peer->state != WH_PEER_MET ||
		    peer->incarnation != region->granted[node])
			continue;
		if (!send_frame(t, peer, frame, wh_message_put_plain(frame, WH_TCP_WITHDRAWN, base->name)))
			wh_session_doom(t->base.session, node,
					"cannot be told that a region is closed: there is no memory");
	}
	while (*at != region)
		at = &(*at)->next;
	*at = region->next;
	free_region(region);
}

void wh_tcp_remote_free(struct wh_tcp *t)
{
	while (t->regions != NULL) {
		struct wh_tcp_region *region = t->regions;

		t->regions = region->next;
		free_region(region);
	}
	for (uint32_t node = 0; node < t->nodes; node++) {
		if (t->remotes[node] != NULL)
			free_spare(t->remotes[node]);
		free(t->remotes[node]);
		t->remotes[node] = NULL;
	}
}

const struct wh_remote_ops wh_tcp_remote_ops = {
	.region_open = region_open,
	.grant = grant,
	.region_close = region_close,
	.post = post,
	.next = next,
};
