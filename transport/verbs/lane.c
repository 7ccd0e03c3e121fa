/* lane.c - see verbs/lane.h. */
#include "transport/verbs/lane.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GIDS_MAX 256
#define AGAIN_NS (100 * WH_NS_PER_MS) /* a queue pair that could not be made */

struct wh_verbs_lane *wh_verbs_lane_of(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_lane *lane = t->peers[node].lane;

	if (lane != NULL)
		return lane;
	lane = calloc(1, sizeof(*lane));
	if (lane == NULL)
		return NULL;
	lane->base.node = node;
	lane->memory.fd = -1;
	t->peers[node].lane = lane;
	t->lanes++;
	return lane;
}

struct wh_verbs_region_place *wh_verbs_lane_place(struct wh_verbs_lane *lane, const struct wh_remote_grant *grant)
{
	_Static_assert(sizeof(lane->places) / sizeof(lane->places[0]) ==
			       sizeof(lane->base.grants) / sizeof(lane->base.grants[0]),
		       "a place for each grant");

	return &lane->places[grant - lane->base.grants];
}

unsigned char *wh_verbs_lane_slot(const struct wh_verbs_lane *lane, uint64_t number)
{
	return lane->memory.base + number % WH_REMOTE_OUTSTANDING * WH_REMOTE_BYTES_MAX;
}

uint64_t wh_verbs_lane_request(const struct wh_verbs_lane *lane, bool immediate)
{
	return (uint64_t)(immediate ? WH_VERBS_DONE_IMMEDIATE : WH_VERBS_DONE_OPERATION) << 48 | lane->serial;
}

bool wh_verbs_lane_works_on(const struct wh_verbs_lane *lane, uint64_t name)
{
	if (lane == NULL)
		return false;
	for (uint64_t k = lane->base.completed; k < lane->base.posted; k++)
		if (lane->base.list[k % WH_REMOTE_OUTSTANDING].op.region == name)
			return true;
	return false;
}

/* ---- the queue pair ----------------------------------------------------------------------------------------------- */

static void close_pair(struct wh_verbs_lane *lane, bool forked)
{
	if (!forked && lane->qp != NULL)
		ibv_destroy_qp(lane->qp);
	if (!forked && lane->mr != NULL)
		ibv_dereg_mr(lane->mr);
	wh_verbs_memory_free(&lane->memory);
	lane->qp = NULL;
	lane->mr = NULL;
	lane->told = lane->connected = false;
	lane->serial = 0;
}

static void expect_immediate(const struct wh_verbs_lane *lane)
{
	struct ibv_recv_wr request = {.wr_id = wh_verbs_lane_request(lane, true)}, *bad;

	(void)ibv_post_recv(lane->qp, &request, &bad); /* there is room: as many as may come */
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
	struct wh_verbs_lane *lane = t->peers[node].lane;
	uint64_t bytes = WH_REMOTE_OUTSTANDING * WH_REMOTE_BYTES_MAX;
	struct wh_error err;

	if (wh_verbs_memory_make(&lane->memory, "whorl-lane", bytes, &err) != WHORL_OK)
		return false;
	lane->serial = ++t->serials;
	lane->psn = (uint32_t)t->env->random_u64(t->env->ctx) & 0xffffff;
	lane->mr = ibv_reg_mr(t->device.pd, lane->memory.base, bytes, IBV_ACCESS_LOCAL_WRITE);
	lane->qp = ibv_create_qp(t->device.pd, &wanted);
	if (lane->mr == NULL || lane->qp == NULL ||
	    ibv_modify_qp(lane->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0) {
		close_pair(lane, false);
		return false;
	}
	for (uint32_t i = 0; i < WH_REMOTE_IMMEDIATES; i++)
		expect_immediate(lane);
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
	const struct wh_verbs_lane *lane = t->peers[node].lane;
	struct ibv_qp_attr path, ready = {.qp_state = IBV_QPS_RTS,
					  .timeout = t->timeout,
					  .retry_cnt = WH_VERBS_RETRIES,
					  .rnr_retry = WH_VERBS_RNR_RETRIES,
					  .sq_psn = lane->psn,
					  .max_rd_atomic = t->device.fetches};

	if (!find_path(t, node, &path))
		return false;
	path.qp_state = IBV_QPS_RTR;
	path.dest_qp_num = to;
	path.rq_psn = to_psn;
	path.max_dest_rd_atomic = t->device.fetches;
	path.min_rnr_timer = WH_VERBS_RNR_TIMER;
	return ibv_modify_qp(lane->qp, &path,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0 &&
	       ibv_modify_qp(lane->qp, &ready,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

static void tell_pair(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_lane *lane = t->peers[node].lane;
	const struct wh_verbs_message message = {.kind = WH_VERBS_LANE, .qp = lane->qp->qp_num, .psn = lane->psn};

	if (!lane->told)
		lane->told = wh_verbs_say(t, node, &message);
}

static bool make_pair(struct wh_verbs *t, uint32_t node)
{
	if (t->peers[node].lane->qp != NULL || open_pair(t, node))
		return true;
	wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_STARVED,
				"no queue pair for regions with node %" PRIu32 ": %s", node, strerror(errno));
	return false;
}

bool wh_verbs_lane_is_open(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_lane *lane = t->peers[node].lane;

	if (node != t->node && !wh_verbs_link_is_open(t, node))
		return lane->connected && lane->told;
	if (!make_pair(t, node)) {
		wh_poll_alarm(&t->poll, AGAIN_NS);
		return false;
	}
	if (node == t->node)
		return lane->connected = lane->connected || connect_pair(t, node, lane->qp->qp_num, lane->psn);
	tell_pair(t, node);
	return lane->connected && lane->told;
}

bool wh_verbs_lane_on_message(struct wh_verbs *t, const struct wh_peer *peer, const struct wh_verbs_message *message)
{
	struct wh_verbs_lane *lane = wh_verbs_lane_of(t, peer->node);

	if (lane != NULL && lane->connected)
		return false;
	if (lane == NULL || !make_pair(t, peer->node) || !connect_pair(t, peer->node, message->qp, message->psn)) {
		wh_session_doom(t->base.session, peer->node, "cannot be connected to for regions");
		return true;
	}
	lane->connected = true;
	lane->immediates_of = peer->incarnation;
	tell_pair(t, peer->node);
	return true;
}

/* ---- completions -------------------------------------------------------------------------------------------------- */

static void complete_operation(struct wh_verbs_lane *lane)
{
	const struct wh_remote_posted *oldest = wh_remote_oldest(&lane->base);
	const unsigned char *slot = wh_verbs_lane_slot(lane, lane->base.completed);
	uint64_t value = 0;

	if (oldest == NULL)
		return;
	if (oldest->op.kind == WH_REMOTE_READ)
		memcpy(oldest->op.into, slot, oldest->op.bytes);
	else if (oldest->op.kind == WH_REMOTE_FETCH_ADD || oldest->op.kind == WH_REMOTE_COMPARE_SWAP)
		memcpy(&value, slot, sizeof(value));
	wh_remote_complete(&lane->base, WHORL_OK, value);
}

/* A broken lane is a broken peer, and its end completes what is left. The one to myself has no peer to end: its device gives up
 * all that is posted, now or later, one after the other, and so is it told. */
static void break_lane(struct wh_verbs *t, uint32_t node, const struct ibv_wc *done)
{
	struct wh_verbs_lane *lane = t->peers[node].lane;

	if (node != t->node)
		wh_verbs_link_broke(t, node);
	else if (done->wr_id >> 48 == WH_VERBS_DONE_OPERATION && wh_remote_oldest(&lane->base) != NULL)
		wh_remote_complete(&lane->base, WHORL_MEMBER_GONE, 0);
}

void wh_verbs_lane_complete(struct wh_verbs *t, const struct ibv_wc *done)
{
	uint32_t serial = (uint32_t)done->wr_id, node = 0;
	struct wh_verbs_lane *lane;

	while (node < t->nodes && !(t->peers[node].lane != NULL && t->peers[node].lane->serial == serial))
		node++;
	if (node == t->nodes)
		return;
	lane = t->peers[node].lane;
	t->rung = true;
	if (done->status != IBV_WC_SUCCESS || (done->wr_id >> 48 == WH_VERBS_DONE_IMMEDIATE &&
					       lane->immediates_in - lane->immediates_out == WH_REMOTE_IMMEDIATES)) {
		break_lane(t, node, done);
		return;
	}
	if (done->wr_id >> 48 == WH_VERBS_DONE_OPERATION) {
		complete_operation(lane);
		return;
	}
	lane->immediates[lane->immediates_in++ % WH_REMOTE_IMMEDIATES] = ntohl(done->imm_data);
	expect_immediate(lane);
}

bool wh_verbs_lane_next_immediate(struct wh_verbs *t, struct wh_verbs_lane *lane, struct wh_remote_event *out)
{
	if (lane->immediates_in == lane->immediates_out)
		return false;
	*out = (struct wh_remote_event){
		.kind = WH_REMOTE_IMMEDIATE,
		.node = lane->base.node,
		.incarnation = lane->base.node == t->node ? t->incarnation : lane->immediates_of,
		.immediate = lane->immediates[lane->immediates_out++ % WH_REMOTE_IMMEDIATES],
	};
	if (lane->base.node == t->node)
		lane->immediates_known = lane->immediates_out;
	return true;
}

/* ---- what is to be said ------------------------------------------------------------------------------------------- */

static bool say(struct wh_verbs *t, uint32_t node, enum wh_verbs_kind kind, uint64_t number)
{
	const struct wh_verbs_message message = {.kind = kind, .number = number};

	return wh_verbs_say(t, node, &message);
}

static size_t advance_lane(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_lane *lane = t->peers[node].lane;
	size_t done = 0;

	if (lane->qp != NULL)
		tell_pair(t, node);
	if (lane->immediates_told != lane->immediates_out && say(t, node, WH_VERBS_IMMEDIATES, lane->immediates_out)) {
		lane->immediates_told = lane->immediates_out;
		done++;
	}
	for (uint32_t i = 0; i < lane->release_count;) {
		if (wh_verbs_lane_works_on(lane, lane->releases[i]) ||
		    !say(t, node, WH_VERBS_RELEASED, lane->releases[i])) {
			i++;
			continue;
		}
		lane->releases[i] = lane->releases[--lane->release_count];
		done++;
	}
	return done;
}

size_t wh_verbs_lanes_advance(struct wh_verbs *t)
{
	size_t done = 0;

	for (uint32_t node = 0; node < t->nodes && t->lanes > 0; node++)
		if (t->peers[node].lane != NULL && wh_session_peer(t->base.session, node)->state == WH_PEER_MET)
			done += advance_lane(t, node);
	return done;
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

/* What it has granted is gone, and what was posted to it is completed; its immediates that have not been taken are lost. */
void wh_verbs_lane_end(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_lane *lane = t->peers[node].lane;

	if (lane == NULL)
		return;
	close_pair(lane, t->forked);
	wh_remote_lane_end(&lane->base);
	lane->release_count = 0;
	lane->immediates_sent = lane->immediates_known = 0;
	lane->immediates_in = lane->immediates_out = lane->immediates_told = 0;
}

void wh_verbs_lanes_free(struct wh_verbs *t, bool forked)
{
	for (uint32_t node = 0; node < t->nodes; node++) {
		if (t->peers[node].lane == NULL)
			continue;
		close_pair(t->peers[node].lane, forked);
		free(t->peers[node].lane);
		t->peers[node].lane = NULL;
	}
}
