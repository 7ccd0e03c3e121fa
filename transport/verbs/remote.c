/* remote.c - regions (T7): the device's own operations, on memory that is registered for each region.
 *
 * With each peer to which something is granted, either way, there is one queue pair for operations of both directions
 * (verbs/account.c). A write is copied into memory of mine that is registered, a read comes through it, so that no memory of the
 * user's has to be. An operation after a read or an atomic one waits for it in my device (a fence): on a queue pair alone
 * the answer of a read may be put together later than a write that was posted after it. My own regions are used by a
 * queue pair to myself, as atomic operations of a device are atomic among themselves alone.
 *
 * An immediate takes a request of its target, which has as many as may be sent and not taken; it tells by a message how many
 * it has taken. When a region is closed its memory stays until all that it was granted to have said that they have nothing
 * under way: an operation on a key that is gone would break the queue pair for all others.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/account.h"

struct grantee {
	uint64_t incarnation; /* 0: it has not been granted it */
	bool told, told_of_end, released;
};

struct wh_verbs_region {
	struct wh_region base;
	struct wh_verbs_region *next;
	struct wh_verbs_memory memory;
	struct ibv_mr *mr;
	bool closed;
	struct grantee to[]; /* by node */
};

/* ---- operations --------------------------------------------------------------------------------------------------- */

static bool fetches(const struct wh_remote_op *op)
{
	return op->kind != WH_REMOTE_WRITE && op->kind != WH_REMOTE_WRITE_IMMEDIATE;
}

static void describe(struct ibv_send_wr *request, struct ibv_sge *piece, const struct wh_remote_op *op,
		     const struct wh_verbs_region_place *place)
{
	uint64_t address = place->address + op->offset;

	request->wr.rdma.remote_addr = address;
	request->wr.rdma.rkey = place->rkey;
	switch (op->kind) {
	case WH_REMOTE_READ:
		request->opcode = IBV_WR_RDMA_READ;
		return;
	case WH_REMOTE_WRITE:
		request->opcode = IBV_WR_RDMA_WRITE;
		return;
	case WH_REMOTE_WRITE_IMMEDIATE:
		request->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		request->imm_data = htonl(op->immediate);
		request->num_sge = op->bytes > 0;
		return;
	case WH_REMOTE_FETCH_ADD:
	case WH_REMOTE_COMPARE_SWAP:
		piece->length = sizeof(uint64_t);
		request->opcode =
			op->kind == WH_REMOTE_FETCH_ADD ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
		request->wr.atomic.remote_addr = address;
		request->wr.atomic.rkey = place->rkey;
		request->wr.atomic.compare_add = op->kind == WH_REMOTE_FETCH_ADD ? op->add : op->expected;
		request->wr.atomic.swap = op->kind == WH_REMOTE_FETCH_ADD ? 0 : op->desired;
		return;
	}
}

/* False: the device does not take it. */
static bool give_to_device(struct wh_verbs_account *account, const struct wh_remote_op *op,
			   const struct wh_verbs_region_place *place)
{
	unsigned char *slot = wh_verbs_account_slot(account, account->base.posted);
	struct ibv_sge piece = {.addr = (uintptr_t)slot, .length = (uint32_t)op->bytes, .lkey = account->mr->lkey};
	struct ibv_send_wr request = {.wr_id = wh_verbs_account_request(account, false),
				      .sg_list = &piece,
				      .num_sge = 1,
				      .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	if (!fetches(op) && op->bytes > 0)
		memcpy(slot, op->from, op->bytes);
	if (account->fetched > account->base.completed)
		request.send_flags |= IBV_SEND_FENCE;
	describe(&request, &piece, op, place);
	return ibv_post_send(account->qp, &request, &bad) == 0;
}

static enum whorl_result post_one(struct wh_verbs *t, const struct wh_remote_op *op)
{
	struct wh_remote_grant *grant;
	struct wh_verbs_account *account;
	const struct wh_peer *peer;
	enum whorl_result result;

	if (op->node >= t->nodes)
		return WHORL_INVALID;
	peer = wh_session_peer(t->base.session, op->node);
	account = t->peers[op->node].account;
	if (wh_session_has_left(t->base.session) || (peer->state != WH_PEER_MET && peer->state != WH_PEER_SELF))
		return WHORL_MEMBER_GONE;
	if (account == NULL || !account->connected)
		return WHORL_NOT_FOUND;
	result = wh_remote_judge(&account->base, op, &grant);
	if (result == WHORL_OK && op->kind == WH_REMOTE_WRITE_IMMEDIATE &&
	    account->immediates_sent - account->immediates_known >= WH_REMOTE_IMMEDIATES)
		result = WHORL_AGAIN;
	if (result != WHORL_OK)
		return result;
	if (!give_to_device(account, op, wh_verbs_account_place(account, grant))) {
		wh_verbs_link_broke(t, op->node);
		return WHORL_MEMBER_GONE;
	}
	wh_remote_posted(&account->base, op, grant->incarnation);
	account->immediates_sent += op->kind == WH_REMOTE_WRITE_IMMEDIATE;
	if (fetches(op))
		account->fetched = account->base.posted;
	return WHORL_OK;
}

static enum whorl_result post(struct wh_transport *transport, const struct wh_remote_op *ops, size_t count,
			      size_t *posted)
{
	for (*posted = 0; *posted < count; ++*posted) {
		enum whorl_result result = post_one(wh_verbs_of(transport), &ops[*posted]);

		if (result != WHORL_OK)
			return result;
	}
	return WHORL_OK;
}

/* Nodes in turn, so that none holds up the others. */
static bool next(struct wh_transport *transport, struct wh_remote_event *out)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	(void)wh_verbs_poll_in(t);
	for (uint32_t k = 0; k < t->nodes; k++) {
		struct wh_verbs_account *account = t->peers[(t->next_account + k) % t->nodes].account;

		if (account != NULL &&
		    (wh_remote_account_next(&account->base, out) || wh_verbs_account_next_immediate(t, account, out))) {
			t->next_account = (t->next_account + k + 1) % t->nodes;
			return true;
		}
	}
	return false;
}

/* ---- what peers grant --------------------------------------------------------------------------------------------- */

static bool on_grant(struct wh_verbs_account *account, const struct wh_peer *peer,
		     const struct wh_verbs_message *message)
{
	struct wh_remote_grant *grant;

	if (account == NULL || !account->connected)
		return peer->doomed != NULL; /* it has said with what to connect */
	grant = wh_remote_grant_add(&account->base, message->number, message->bytes, peer->incarnation);
	if (grant == NULL)
		return false;
	*wh_verbs_account_place(account, grant) =
		(struct wh_verbs_region_place){.address = message->address, .rkey = message->rkey};
	return true;
}

static bool on_withdrawal(struct wh_verbs_account *account, uint64_t name)
{
	struct wh_remote_grant *grant = account != NULL ? wh_remote_grant_find(&account->base, name) : NULL;

	if (grant == NULL || account->release_count == WH_REMOTE_REGIONS)
		return false;
	wh_remote_grant_withdraw(&account->base, grant);
	account->releases[account->release_count++] = name;
	return true;
}

static bool on_release(struct wh_verbs *t, uint32_t node, uint64_t name)
{
	for (struct wh_verbs_region *region = t->regions; region != NULL; region = region->next)
		if (region->base.name == name && region->to[node].told_of_end)
			return region->to[node].released = true;
	return false;
}

static bool on_immediates(struct wh_verbs_account *account, uint64_t count)
{
	if (account == NULL || count > account->immediates_sent || count < account->immediates_known)
		return false;
	account->immediates_known = count;
	return true;
}

bool wh_verbs_remote_on_message(struct wh_verbs *t, const struct wh_peer *peer, const struct wh_verbs_message *message)
{
	struct wh_verbs_account *account = t->peers[peer->node].account;

	switch (message->kind) {
	case WH_VERBS_ACCOUNT:
		return wh_verbs_account_on_message(t, peer, message);
	case WH_VERBS_GRANT:
		return on_grant(account, peer, message);
	case WH_VERBS_WITHDRAWN:
		return on_withdrawal(account, message->number) || peer->doomed != NULL;
	case WH_VERBS_RELEASED:
		return on_release(t, peer->node, message->number);
	case WH_VERBS_IMMEDIATES:
		return on_immediates(account, message->number);
	default:
		return false;
	}
}

/* ---- what I grant ------------------------------------------------------------------------------------------------- */

/* It has been granted it, and has not ended since. */
static bool is_granted(const struct wh_verbs_region *region, const struct wh_peer *peer)
{
	uint64_t incarnation = region->to[peer->node].incarnation;

	return incarnation != 0 && peer->state == WH_PEER_MET && peer->incarnation == incarnation;
}

static bool send_about(struct wh_verbs *t, uint32_t node, enum wh_verbs_kind kind, const struct wh_verbs_region *region)
{
	struct wh_verbs_message message = {.kind = kind, .number = region->base.name};

	if (kind == WH_VERBS_GRANT) {
		message.bytes = region->base.bytes;
		message.address = (uintptr_t)region->memory.base;
		message.rkey = region->mr->rkey;
	}
	return wh_verbs_say(t, node, &message);
}

/* True: nothing more is to be said to it or heard of it. */
static bool tell(struct wh_verbs *t, struct wh_verbs_region *region, uint32_t node, size_t *done)
{
	struct grantee *to = &region->to[node];

	if (!is_granted(region, wh_session_peer(t->base.session, node)))
		return true;
	if (!region->closed && !to->told && wh_verbs_account_is_open(t, node))
		*done += to->told = send_about(t, node, WH_VERBS_GRANT, region);
	if (region->closed && to->told && !to->told_of_end)
		*done += to->told_of_end = send_about(t, node, WH_VERBS_WITHDRAWN, region);
	return region->closed && (!to->told || to->released);
}

static void free_region(struct wh_verbs_region *region, bool forked)
{
	if (region->mr != NULL && !forked)
		ibv_dereg_mr(region->mr);
	wh_verbs_memory_free(&region->memory);
	free(region);
}

size_t wh_verbs_remote_advance(struct wh_verbs *t)
{
	struct wh_verbs_region **at = &t->regions;
	size_t done = wh_verbs_accounts_advance(t);

	while (*at != NULL) {
		struct wh_verbs_region *region = *at;
		const struct wh_verbs_account *own = t->peers[t->node].account;
		bool over = !wh_verbs_account_works_on(own, region->base.name);

		for (uint32_t node = 0; node < t->nodes; node++)
			over = tell(t, region, node, &done) && over;
		if (region->closed && over) {
			*at = region->next;
			free_region(region, false);
			done++;
		} else {
			at = &region->next;
		}
	}
	return done;
}

static enum whorl_result grant(struct wh_region *base, uint32_t node)
{
	struct wh_verbs *t = wh_verbs_of(base->transport);
	struct wh_verbs_region *region = (struct wh_verbs_region *)base;
	const struct wh_peer *peer;

	if (node >= t->nodes || node == t->node)
		return WHORL_INVALID;
	peer = wh_session_peer(t->base.session, node);
	if (peer->state != WH_PEER_MET || wh_session_has_left(t->base.session))
		return WHORL_MEMBER_GONE;
	if (wh_verbs_account_of(t, node) == NULL)
		return WHORL_MEMORY;
	if (region->to[node].incarnation != peer->incarnation)
		region->to[node] = (struct grantee){.incarnation = peer->incarnation};
	(void)wh_verbs_remote_advance(t);
	return WHORL_OK;
}

/* ---- mine --------------------------------------------------------------------------------------------------------- */

/* I use it as others do. */
static enum whorl_result grant_myself(struct wh_verbs *t, const struct wh_verbs_region *region)
{
	struct wh_verbs_account *account = wh_verbs_account_of(t, t->node);
	struct wh_remote_grant *own;

	if (account == NULL || !wh_verbs_account_is_open(t, t->node))
		return WHORL_SYSTEM;
	own = wh_remote_grant_add(&account->base, region->base.name, region->base.bytes, t->incarnation);
	if (own == NULL)
		return WHORL_INVALID;
	own->state = WH_GRANT_USED;
	account->base.news--; /* no news to me */
	*wh_verbs_account_place(account, own) =
		(struct wh_verbs_region_place){.address = (uintptr_t)region->memory.base, .rkey = region->mr->rkey};
	return WHORL_OK;
}

static uint32_t count_regions(const struct wh_verbs *t)
{
	uint32_t count = 0;

	for (const struct wh_verbs_region *region = t->regions; region != NULL; region = region->next)
		count++;
	return count;
}

static enum whorl_result make_memory(struct wh_verbs *t, struct wh_verbs_region *region, uint64_t bytes,
				     struct wh_error *err)
{
	const int rights =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	enum whorl_result result = wh_verbs_memory_make(&region->memory, "whorl-region", bytes, err);

	if (result != WHORL_OK)
		return result;
	region->mr = ibv_reg_mr(t->device.pd, region->memory.base, bytes, rights);
	if (region->mr == NULL)
		return wh_error_set(err, WHORL_SYSTEM, "cannot register a region of %" PRIu64 " bytes", bytes);
	return WHORL_OK;
}

static enum whorl_result region_open(struct wh_transport *transport, uint64_t name, uint64_t bytes,
				     struct wh_region **out, struct wh_error *err)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct wh_verbs_region *region;
	enum whorl_result result;

	*out = NULL;
	if (bytes == 0 || bytes % sizeof(wh_word) != 0 || bytes > WH_REMOTE_REGION_MAX)
		return wh_error_set(err, WHORL_INVALID, "a region cannot have %" PRIu64 " bytes", bytes);
	if (wh_session_has_left(t->base.session)) /* what the way to myself is found by is gone */
		return wh_error_set(err, WHORL_SYSTEM, "this node has left: it opens no region any more");
	if (count_regions(t) == WH_REMOTE_REGIONS)
		return wh_error_set(err, WHORL_AGAIN, "%d regions are open", WH_REMOTE_REGIONS);
	region = calloc(1, sizeof(*region) + t->nodes * sizeof(region->to[0]));
	if (region == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a region");
	region->memory.fd = -1;
	result = make_memory(t, region, bytes, err);
	if (result != WHORL_OK) {
		free_region(region, false);
		return result;
	}
	region->base = (struct wh_region){
		.ops = transport->ops->remote,
		.transport = transport,
		.name = name,
		.bytes = bytes,
		.words = (wh_word *)(void *)region->memory.base,
	};
	result = grant_myself(t, region);
	if (result != WHORL_OK) {
		free_region(region, false);
		return wh_error_set(err, result, "region %" PRIx64 " cannot be opened", name);
	}
	region->next = t->regions;
	t->regions = region;
	*out = &region->base;
	return WHORL_OK;
}

static void region_close(struct wh_region *base)
{
	struct wh_verbs *t = wh_verbs_of(base->transport);
	struct wh_verbs_region *region = (struct wh_verbs_region *)base;
	struct wh_verbs_account *account = t->peers[t->node].account;
	struct wh_remote_grant *own = wh_remote_grant_find(&account->base, base->name);

	own->state = WH_GRANT_NONE;
	region->closed = true;
	(void)wh_verbs_remote_advance(t);
}

void wh_verbs_remote_free(struct wh_verbs *t, bool forked)
{
	while (t->regions != NULL) {
		struct wh_verbs_region *region = t->regions;

		t->regions = region->next;
		free_region(region, forked);
	}
}

const struct wh_remote_ops wh_verbs_remote_ops = {
	.region_open = region_open,
	.grant = grant,
	.region_close = region_close,
	.post = post,
	.next = next,
};
