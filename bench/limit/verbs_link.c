/* verbs_link.c - see verbs_link.h. */
#include "bench/limit/verbs_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "bench/limit/limit.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) /* no relaxed ordering: heads are polled */
#define TIMEOUT 17                                                /* 4 us x 2^17: 0.54 s, */
#define RETRIES 7                                                 /* so often; on Soft-RoCE for ever */
#define RNR_TIMER 12                                              /* 0.64 ms, */
#define RNR_RETRIES 7                                             /* as long as it takes */
#define QP_NUMBER_FIRST 0                                         /* of packets, on both sides */

/* ---- which device ----------------------------------------------------------------------------------------------------*/

/* An IPv4 or IPv6 address as a device has it. "host:port" goes as well. */
static bool parse_address(const char *text, union ibv_gid *gid)
{
	char host[INET6_ADDRSTRLEN + 8];
	const char *colon = strrchr(text, ':');
	struct in_addr four;

	if (strlen(text) >= sizeof host)
		return false;
	strcpy(host, text);
	if (colon != NULL && strchr(text, ':') == colon)
		host[colon - text] = '\0';
	if (inet_pton(AF_INET6, host, gid->raw) == 1)
		return true;
	if (inet_pton(AF_INET, host, &four) != 1)
		return false;
	memset(gid->raw, 0, 10);
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, &four, 4);
	return true;
}

static bool is_address(const struct ibv_gid_entry *entry)
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (entry->gid_type == IBV_GID_TYPE_IB)
		return entry->gid_index == 0;
	return entry->gid_type == IBV_GID_TYPE_ROCE_V2 && memcmp(entry->gid.raw, mapped, sizeof mapped) == 0;
}

/* Is the address among those of the device? Else `skip` becomes less by the number of its addresses, and that which is
 * the skip-th is taken. */
static bool take_gid(struct wh_limit_device *device, const union ibv_gid *wanted, uint32_t *skip, uint32_t *seen)
{
	struct ibv_gid_entry entries[256];
	ssize_t count = ibv_query_gid_table(device->context, entries, sizeof entries / sizeof entries[0], 0);

	for (ssize_t i = 0; i < count; i++) {
		if (wanted != NULL ? memcmp(&entries[i].gid, wanted, sizeof *wanted) != 0 ||
					     entries[i].gid_type == IBV_GID_TYPE_ROCE_V1
				   : !is_address(&entries[i]))
			continue;
		++*seen;
		if (wanted == NULL && (*skip)-- > 0)
			continue;
		device->gid = entries[i].gid;
		device->gid_index = (uint8_t)entries[i].gid_index;
		device->port_number = (uint8_t)entries[i].port_num;
		return ibv_query_port(device->context, device->port_number, &device->port) == 0;
	}
	return false;
}

/* Opens the first device that has what is wanted; *seen: how many addresses have been looked at. */
static bool open_one(struct wh_limit_device *device, const union ibv_gid *wanted, uint32_t skip, uint32_t *seen)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	bool found = false;

	for (int i = 0; i < count && !found; i++) {
		device->context = ibv_open_device(list[i]);
		if (device->context == NULL)
			continue;
		found = take_gid(device, wanted, &skip, seen);
		if (!found) {
			ibv_close_device(device->context);
			device->context = NULL;
		}
	}
	if (list != NULL)
		ibv_free_device_list(list);
	return found;
}

bool wh_limit_has_devices(void)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);

	if (list != NULL)
		ibv_free_device_list(list);
	return list != NULL && count > 0;
}

const char *wh_limit_device_open(struct wh_limit_device *device, uint32_t node, const char *address, void *memory,
				 size_t bytes)
{
	union ibv_gid wanted;
	uint32_t seen = 0;

	*device = (struct wh_limit_device){0};
	errno = ENODEV;
	if (address != NULL) {
		if (!parse_address(address, &wanted) || !open_one(device, &wanted, 0, &seen))
			return "no RDMA device has the address";
	} else if (!open_one(device, NULL, node, &seen) &&
		   (seen == 0 || !open_one(device, NULL, node % seen, &(uint32_t){0}))) {
		return "there is no RDMA device with an address";
	}
	device->pd = ibv_alloc_pd(device->context);
	if (device->pd == NULL)
		return "ibv_alloc_pd";
	device->memory = ibv_reg_mr(device->pd, memory, bytes, ACCESS);
	return device->memory == NULL ? "memory cannot be registered (see `ulimit -l`)" : NULL;
}

void wh_limit_device_close(struct wh_limit_device *device)
{
	if (device->memory != NULL)
		ibv_dereg_mr(device->memory);
	if (device->pd != NULL)
		ibv_dealloc_pd(device->pd);
	if (device->context != NULL)
		ibv_close_device(device->context);
}

/* ---- queue pairs -------------------------------------------------------------------------------------------------------*/

static bool expect_immediate(struct wh_limit_link *link)
{
	struct ibv_recv_wr request = {0}, *bad;

	errno = ibv_post_recv(link->qp, &request, &bad);
	return errno == 0;
}

static const char *open_ear(struct wh_limit_link *link, const struct wh_limit_device *device)
{
	link->channel = ibv_create_comp_channel(device->context);
	if (link->channel == NULL || fcntl(link->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return "ibv_create_comp_channel";
	link->in = ibv_create_cq(device->context, WH_LIMIT_WAKES, NULL, link->channel, 0);
	return link->in == NULL ? "ibv_create_cq" : NULL;
}

const char *wh_limit_link_open(struct wh_limit_link *link, const struct wh_limit_device *device, bool wakes,
			       struct wh_limit_card *card)
{
	struct ibv_qp_init_attr how = {.cap = {.max_send_wr = WH_LIMIT_DEPTH,
					       .max_recv_wr = WH_LIMIT_WAKES,
					       .max_send_sge = 1,
					       .max_recv_sge = 1,
					       .max_inline_data = 8},
				       .qp_type = IBV_QPT_RC};

	link->cq = ibv_create_cq(device->context, WH_LIMIT_DEPTH, NULL, NULL, 0);
	if (link->cq == NULL)
		return "ibv_create_cq";
	if (wakes && open_ear(link, device) != NULL)
		return "a queue of completions that wakes";
	how.send_cq = link->cq;
	how.recv_cq = wakes ? link->in : link->cq;
	link->qp = ibv_create_qp(device->pd, &how);
	if (link->qp == NULL)
		return "ibv_create_qp";
	*card = (struct wh_limit_card){.gid = device->gid,
				       .base = (uintptr_t)device->memory->addr,
				       .key = device->memory->rkey,
				       .qp = link->qp->qp_num,
				       .lid = device->port.lid};
	return NULL;
}

const char *wh_limit_link_connect(struct wh_limit_link *link, const struct wh_limit_device *device,
				  const struct wh_limit_card *peer)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = device->port_number, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct ibv_qp_attr receive = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = device->port.active_mtu,
		.dest_qp_num = peer->qp,
		.rq_psn = QP_NUMBER_FIRST,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = {.grh = {.dgid = peer->gid, .sgid_index = device->gid_index, .hop_limit = 64},
			    .dlid = peer->lid,
			    .is_global = device->port.link_layer == IBV_LINK_LAYER_ETHERNET,
			    .port_num = device->port_number}};
	struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS,
				   .timeout = TIMEOUT,
				   .retry_cnt = RETRIES,
				   .rnr_retry = RNR_RETRIES,
				   .sq_psn = QP_NUMBER_FIRST};

	link->peer = *peer;
	errno = ibv_modify_qp(link->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (errno == 0)
		errno = ibv_modify_qp(link->qp, &receive,
				      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (errno == 0)
		errno = ibv_modify_qp(link->qp, &send,
				      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	for (int i = 0; i < WH_LIMIT_WAKES && errno == 0 && link->in != NULL; i++)
		(void)expect_immediate(link);
	return errno == 0 ? NULL : "a queue pair cannot be connected";
}

void wh_limit_link_close(struct wh_limit_link *link)
{
	if (link->qp != NULL)
		ibv_destroy_qp(link->qp);
	if (link->cq != NULL)
		ibv_destroy_cq(link->cq);
	if (link->in != NULL)
		ibv_destroy_cq(link->in);
	if (link->channel != NULL)
		ibv_destroy_comp_channel(link->channel);
}

const char *wh_limit_link_room(struct wh_limit_link *link, uint32_t count, bool *room)
{
	struct ibv_wc done;
	int found = 1;

	while (link->posted + count > link->completed + WH_LIMIT_DEPTH && found > 0) {
		found = ibv_poll_cq(link->cq, 1, &done);
		if (found > 0 && done.status != IBV_WC_SUCCESS) {
			errno = EIO;
			return ibv_wc_status_str(done.status);
		}
		if (found > 0)
			link->completed = done.wr_id; /* and all before it */
	}
	*room = link->posted + count <= link->completed + WH_LIMIT_DEPTH;
	return found < 0 ? "ibv_poll_cq" : NULL;
}

const char *wh_limit_link_post(struct wh_limit_link *link, struct ibv_send_wr *first, struct ibv_send_wr *last,
			       uint32_t count)
{
	struct ibv_send_wr *bad;

	link->posted += count;
	last->wr_id = link->posted;
	if (link->posted - link->asked >= WH_LIMIT_DEPTH / 4) {
		last->send_flags |= IBV_SEND_SIGNALED;
		link->asked = link->posted;
	}
	errno = ibv_post_send(link->qp, first, &bad);
	return errno == 0 ? NULL : "ibv_post_send";
}

const char *wh_limit_link_listen(struct wh_limit_link *link)
{
	struct ibv_wc done;
	int found;

	errno = ibv_req_notify_cq(link->in, 0);
	if (errno != 0)
		return "ibv_req_notify_cq";
	while ((found = ibv_poll_cq(link->in, 1, &done)) > 0) {
		if (done.status != IBV_WC_SUCCESS) {
			errno = EIO;
			return ibv_wc_status_str(done.status);
		}
		if (!expect_immediate(link))
			return "ibv_post_recv";
	}
	return found < 0 ? "ibv_poll_cq" : NULL;
}

const char *wh_limit_link_sleep(struct wh_limit_link *link, int ms)
{
	struct pollfd ear = {.fd = link->channel->fd, .events = POLLIN};
	struct ibv_cq *which;
	void *context;

	if (poll(&ear, 1, ms) < 0 && errno != EINTR)
		return "poll";
	if (ibv_get_cq_event(link->channel, &which, &context) == 0)
		ibv_ack_cq_events(which, 1);
	return NULL;
}
