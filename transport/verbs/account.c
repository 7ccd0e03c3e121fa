/* account.c - see verbs/account.h. */
#include "transport/verbs/account.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GIDS_MAX 256
#define AGAIN_NS (100 * WH_NS_PER_MS) /* a queue pair that could not be made */

struct wh_verbs_account *wh_verbs_account_of(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_account *account = t->peers[node].account;

	if (account != NULL)
		return account;
	account = calloc(1, sizeof(*account));
	if (account == NULL)
		return NULL;
	account->base.node = node;
	account->memory.fd = -1;
	t->peers[node].account = account;
	t->accounts++;
	return account;
}

struct wh_verbs_region_place *wh_verbs_account_place(struct wh_verbs_account *account,
						     const struct wh_remote_grant *grant)
{
	_Static_assert(sizeof(account->places) / sizeof(account->places[0]) ==
			       sizeof(account->base.grants) / sizeof(account->base.grants[0]),
		       "a place for each grant");

	return &account->places[grant - account->base.grants];
}

unsigned char *wh_verbs_account_slot(const struct wh_verbs_account *account, uint64_t number)
{
	return account->memory.base + number % WH_REMOTE_OUTSTANDING * WH_REMOTE_BYTES_MAX;
}

uint64_t wh_verbs_account_request(const struct wh_verbs_account *account, bool immediate)
{
	return (uint64_t)(immediate ? WH_VERBS_DONE_IMMEDIATE : WH_VERBS_DONE_OPERATION) << 48 | account->serial;
}

bool wh_verbs_account_works_on(const struct wh_verbs_account *account, uint64_t name)
{
	if (account == NULL)
		return false;
	for (uint64_t k = account->base.completed; k < account->base.posted; k++)
		if (account->base.list[k % WH_REMOTE_OUTSTANDING].op.region == name)
			return true;
	return false;
}

/* ---- the queue pair ----------------------------------------------------------------------------------------------- */

static void close_pair(struct wh_verbs_account *account, bool forked)
{
	if (!forked && account->qp != NULL)
		ibv_destroy_qp(account->qp);
	if (!forked && account->mr != NULL)
		ibv_dereg_mr(account->mr);
	wh_verbs_memory_free(&account->memory);
	account->qp = NULL;
	account->mr = NULL;
	account->told = account->connected = false;
	account->serial = 0;
}

static void expect_immediate(const struct wh_verbs_account *account)
{
	struct ibv_recv_wr request = {.wr_id = wh_verbs_account_request(account, true)}, *bad;

	(void)ibv_post_recv(account->qp, &request, &bad); /* there is room: as many as may come */
}

/* What knows the port, and the path but to myself. */
static struct rdma_cm_id *id_of(const struct wh_verbs *t, uint32_t node)
{
	return node == t->node ? t->listener : t->peers[node].link.id;
}

static bool open_pair(struct wh_verbs *t, uint32_t node)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = t->device.in,
		.recv_cq = t->device.in,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = WH_REMOTE_OUTSTANDING,
			.max_recv_wr = WH_REMOTE_IMMEDIATES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .port_num = id_of(t, node)->port_num,
				   .qp_access_flags =
					   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
	struct wh_verbs_account *account = t->peers[node].account;
	uint64_t bytes = WH_REMOTE_OUTSTANDING * WH_REMOTE_BYTES_MAX;
	struct wh_error err;

	if (wh_verbs_memory_make(&account->memory, "whorl-account", bytes, &err) != WHORL_OK)
		return false;
	account->serial = ++t->serials;
	account->psn = (uint32_t)t->env->random_u64(t->env->ctx) & 0xffffff;
	account->mr = ibv_reg_mr(t->device.pd, account->memory.base, bytes, IBV_ACCESS_LOCAL_WRITE);
	account->qp = ibv_create_qp(t->device.pd, &wanted);
	if (account->mr == NULL || account->qp == NULL ||
	    ibv_modify_qp(account->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) !=
		    0) {
		close_pair(account, false);
		return false;
	}
	for (uint32_t i = 0; i < WH_REMOTE_IMMEDIATES; i++)
		expect_immediate(account);
	return true;
}

/* The place of my own address among those of my device's port. */
static uint8_t my_gid(const struct wh_verbs *t, union ibv_gid *gid)
{
	const struct sockaddr_storage *address = &t->address;
	struct ibv_gid_entry entries[GIDS_MAX];
	ssize_t count = ibv_query_gid_table(t->device.context, entries, GIDS_MAX, 0);
	union ibv_gid mine = {.raw = {[10] = 0xff, [11] = 0xff}};

	if (address->ss_family == AF_INET6)
		memcpy(mine.raw, &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(mine.raw));
	else
		memcpy(mine.raw + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
	for (ssize_t i = 0; i < count; i++)
		if (entries[i].port_num == t->listener->port_num && entries[i].gid_type != IBV_GID_TYPE_ROCE_V1 &&
		    memcmp(&entries[i].gid, &mine, sizeof(mine)) == 0) {
			*gid = mine;
			return (uint8_t)entries[i].gid_index;
		}
	(void)ibv_query_gid(t->device.context, t->listener->port_num, 0, gid);
	return 0;
}

/* To a peer as the connection goes, to myself by my own address. */
static bool find_path(const struct wh_verbs *t, uint32_t node, struct ibv_qp_attr *path)
{
	struct ibv_port_attr port;
	int mask;

	*path = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR};
	if (node != t->node)
		return rdma_init_qp_attr(id_of(t, node), path, &mask) == 0;
	if (ibv_query_port(t->device.context, t->listener->port_num, &port) != 0)
		return false;
	path->path_mtu = port.active_mtu;
	path->ah_attr.is_global = 1;
	path->ah_attr.dlid = port.lid;
	path->ah_attr.port_num = t->listener->port_num;
	path->ah_attr.grh.hop_limit = 64;
	path->ah_attr.grh.sgid_index = my_gid(t, &path->ah_attr.grh.dgid);
	return true;
}

static bool connect_pair(const struct wh_verbs *t, uint32_t node, uint32_t to, uint32_t to_psn)
{
	const struct wh_verbs_account *account = t->peers[node].account;
	struct ibv_qp_attr path, ready = {.qp_state = IBV_QPS_RTS,
					  .timeout = t->timeout,
					  .retry_cnt = WH_VERBS_RETRIES,
					  .rnr_retry = WH_VERBS_RNR_RETRIES,
					  .sq_psn = account->psn,
					  .max_rd_atomic = t->device.fetches};

	if (!find_path(t, node, &path))
		return false;
	path.qp_state = IBV_QPS_RTR;
	path.dest_qp_num = to;
	path.rq_psn = to_psn;
	path.max_dest_rd_atomic = t->device.fetches;
	path.min_rnr_timer = WH_VERBS_RNR_TIMER;
	return ibv_modify_qp(account->qp, &path,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0 &&
	       ibv_modify_qp(account->qp, &ready,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

static void tell_pair(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_account *account = t->peers[node].account;
	const struct wh_verbs_message message = {
		.kind = WH_VERBS_ACCOUNT, .qp = account->qp->qp_num, .psn = account->psn};

	if (!account->told)
		account->told = wh_verbs_say(t, node, &message);
}

static bool make_pair(struct wh_verbs *t, uint32_t node)
{
	if (t->peers[node].account->qp != NULL || open_pair(t, node))
		return true;
	wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_STARVED,
				"no queue pair for regions with node %" PRIu32 ": %s", node, strerror(errno));
	return false;
}

bool wh_verbs_account_is_open(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_account *account = t->peers[node].account;

	if (node != t->node && !wh_verbs_link_is_open(t, node))
		return account->connected && account->told;
	if (!make_pair(t, node)) {
		wh_poll_alarm(&t->poll, AGAIN_NS);
		return false;
	}
	if (node == t->node)
		return account->connected =
			       account->connected || connect_pair(t, node, account->qp->qp_num, account->psn);
	tell_pair(t, node);
	return account->connected && account->told;
}

bool wh_verbs_account_on_message(struct wh_verbs *t, const struct wh_peer *peer, const struct wh_verbs_message *message)
{
	struct wh_verbs_account *account = wh_verbs_account_of(t, peer->node);

	if (account != NULL && account->connected)
		return false;
	if (account == NULL || !make_pair(t, peer->node) || !connect_pair(t, peer->node, message->qp, message->psn)) {
		wh_session_doom(t->base.session, peer->node, "cannot be connected to for regions");
		return true;
	}
	account->connected = true;
	account->immediates_of = peer->incarnation;
	tell_pair(t, peer->node);
	return true;
}

/* ---- completions -------------------------------------------------------------------------------------------------- */

static void complete_operation(struct wh_verbs_account *account)
{
	const struct wh_remote_posted *oldest = wh_remote_oldest(&account->base);
	const uint64_t number = account->base.completed;
	uint64_t value = 0;

	if (oldest == NULL)
		return;
	if (oldest->op.kind == WH_REMOTE_READ)
		memcpy(oldest->op.into, wh_verbs_account_slot(account, number), oldest->op.bytes);
	else if (oldest->op.kind == WH_REMOTE_FETCH_ADD || oldest->op.kind == WH_REMOTE_COMPARE_SWAP)
		memcpy(&value, wh_verbs_account_slot(account, number), sizeof(value));
	wh_remote_complete(&account->base, WHORL_OK, value);
}

/* A broken account is a broken peer, and its end completes what is left. The one to myself has no peer to end: its device gives up
 * all that is posted, now or later, one after the other, and so is it told. */
static void break_account(struct wh_verbs *t, uint32_t node, const struct ibv_wc *done)
{
	struct wh_verbs_account *account = t->peers[node].account;

	if (node != t->node)
		wh_verbs_link_broke(t, node);
	else if (done->wr_id >> 48 == WH_VERBS_DONE_OPERATION && wh_remote_oldest(&account->base) != NULL)
		wh_remote_complete(&account->base, WHORL_MEMBER_GONE, 0);
}

void wh_verbs_account_complete(struct wh_verbs *t, const struct ibv_wc *done)
{
	uint32_t serial = (uint32_t)done->wr_id, node = 0;
	struct wh_verbs_account *account;

	while (node < t->nodes && !(t->peers[node].account != NULL && t->peers[node].account->serial == serial))
		node++;
	if (node == t->nodes)
		return;
	account = t->peers[node].account;
	t->rung = true;
	if (done->status != IBV_WC_SUCCESS ||
	    (done->wr_id >> 48 == WH_VERBS_DONE_IMMEDIATE &&
	     account->immediates_in - account->immediates_out == WH_REMOTE_IMMEDIATES)) {
		break_account(t, node, done);
		return;
	}
	if (done->wr_id >> 48 == WH_VERBS_DONE_OPERATION) {
		complete_operation(account);
		return;
	}
	account->immediates[account->immediates_in++ % WH_REMOTE_IMMEDIATES] = ntohl(done->imm_data);
	expect_immediate(account);
}

bool wh_verbs_account_next_immediate(struct wh_verbs *t, struct wh_verbs_account *account, struct wh_remote_event *out)
{
	if (account->immediates_in == account->immediates_out)
		return false;
	*out = (struct wh_remote_event){
		.kind = WH_REMOTE_IMMEDIATE,
		.node = account->base.node,
		.incarnation = account->base.node == t->node ? t->incarnation : account->immediates_of,
		.immediate = account->immediates[account->immediates_out++ % WH_REMOTE_IMMEDIATES],
	};
	if (account->base.node == t->node)
		account->immediates_known = account->immediates_out;
	return true;
}

/* ---- what is to be said ------------------------------------------------------------------------------------------- */

static bool say(struct wh_verbs *t, uint32_t node, enum wh_verbs_kind kind, uint64_t number)
{
	const struct wh_verbs_message message = {.kind = kind, .number = number};

	return wh_verbs_say(t, node, &message);
}

static size_t advance_account(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_account *account = t->peers[node].account;
	size_t done = 0;

	if (account->qp != NULL)
		tell_pair(t, node);
	if (account->immediates_told != account->immediates_out &&
	    say(t, node, WH_VERBS_IMMEDIATES, account->immediates_out)) {
		account->immediates_told = account->immediates_out;
		done++;
	}
	for (uint32_t i = 0; i < account->release_count;) {
		if (wh_verbs_account_works_on(account, account->releases[i]) ||
		    !say(t, node, WH_VERBS_RELEASED, account->releases[i])) {
			i++;
			continue;
		}
		account->releases[i] = account->releases[--account->release_count];
		done++;
	}
	return done;
}

size_t wh_verbs_accounts_advance(struct wh_verbs *t)
{
	size_t done = 0;

	for (uint32_t node = 0; node < t->nodes && t->accounts > 0; node++)
		if (t->peers[node].account != NULL && wh_session_peer(t->base.session, node)->state == WH_PEER_MET)
			done += advance_account(t, node);
	return done;
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

/* What it has granted is gone, and what was posted to it is completed; its immediates that have not been taken are lost. */
void wh_verbs_account_end(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_account *account = t->peers[node].account;

	if (account == NULL)
		return;
	close_pair(account, t->forked);
	wh_remote_account_end(&account->base);
	account->release_count = 0;
	account->immediates_sent = account->immediates_known = 0;
	account->immediates_in = account->immediates_out = account->immediates_told = 0;
}

void wh_verbs_accounts_free(struct wh_verbs *t, bool forked)
{
	for (uint32_t node = 0; node < t->nodes; node++) {
		if (t->peers[node].account == NULL)
			continue;
		close_pair(t->peers[node].account, forked);
		free(t->peers[node].account);
		t->peers[node].account = NULL;
	}
}
