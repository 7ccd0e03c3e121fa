/* device.c - what a transport has of its device, and memory to register with it.
 *
 * One completion queue holds all that comes, rings and what becomes of operations, so that going to sleep asks the device for
 * one notice. Rings take their requests from one shared receive queue: how many can have come is bounded by it, and so is the completion
 * queue. A peer that rings when it is empty waits in its device, which tries again.
 *
 * A queue pair that is destroyed may take requests with it: one that it was about to complete, and those with completions
 * that have not been taken, which some devices then drop. Each would be missing for good, and once all are, all that ring wait
 * for ever. Nothing says how many there were, but the device itself knows how many it holds, and refuses what is beyond: so after
 * the end of a queue pair it is given requests until it refuses one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/remote.h"
#include "transport/verbs/verbs_int.h"

/* False: there is no room. There is where one was taken out, unless that has been made up for already. */
bool wh_verbs_device_take_ring(struct wh_verbs_device *device)
{
	struct ibv_recv_wr request = {0}, *bad;

	return ibv_post_srq_recv(device->srq, &request, &bad) == 0;
}

void wh_verbs_device_fill(struct wh_verbs_device *device)
{
	for (uint32_t i = 0; i < WH_VERBS_RINGS && wh_verbs_device_take_ring(device); i++)
		;
}

/* ---- completions -------------------------------------------------------------------------------------------------- */

static void complete(struct wh_verbs *t, const struct ibv_wc *done)
{
	switch ((enum wh_verbs_done)(done->wr_id >> 48 & 0xffff)) {
	case WH_VERBS_DONE_RING:
		(void)wh_verbs_device_take_ring(&t->device);
		t->rung = true;
		return;
	case WH_VERBS_DONE_OPERATION:
	case WH_VERBS_DONE_IMMEDIATE:
		wh_verbs_account_complete(t, done);
		return;
	}
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

/* ---- open and close ----------------------------------------------------------------------------------------------- */

uint8_t wh_verbs_timeout(uint64_t failure_ns)
{
	uint8_t timeout = WH_VERBS_TIMEOUT_LEAST;

	while (timeout < WH_VERBS_TIMEOUT_MOST && 3 * (UINT64_C(4096) << (timeout + 1)) <= failure_ns)
		timeout++;
	return timeout;
}

static enum whorl_result open_queues(struct wh_verbs_device *device, const struct ibv_device_attr *limits,
				     uint32_t nodes, struct wh_error *err)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = WH_VERBS_RINGS, .max_sge = 1}};
	uint64_t completions =
		2 * WH_VERBS_RINGS + (WH_REMOTE_OUTSTANDING + WH_REMOTE_IMMEDIATES) * (uint64_t)(nodes + 8);

	if (completions > (uint64_t)limits->max_cqe)
		completions = (uint64_t)limits->max_cqe;
	if (srq.attr.max_wr > (uint32_t)limits->max_srq_wr)
		srq.attr.max_wr = (uint32_t)limits->max_srq_wr;
	device->channel = ibv_create_comp_channel(device->context);
	if (device->channel == NULL || fcntl(device->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return wh_error_system(err, errno, "no completion channel");
	device->in = ibv_create_cq(device->context, (int)completions, NULL, device->channel, 0);
	if (device->in == NULL)
		return wh_error_system(err, errno, "no completion queue of %" PRIu64, completions);
	device->srq = ibv_create_srq(device->pd, &srq);
	if (device->srq == NULL)
		return wh_error_system(err, errno, "no shared receive queue of %" PRIu32, srq.attr.max_wr);
	wh_verbs_device_fill(device);
	return WHORL_OK;
}

enum whorl_result wh_verbs_device_open(struct wh_verbs_device *device, struct ibv_context *context, uint32_t nodes,
				       struct wh_error *err)
{
	struct ibv_device_attr limits;
	int error;

	device->context = context;
	error = ibv_query_device(context, &limits);
	if (error != 0)
		return wh_error_system(err, error, "RDMA device %s", ibv_get_device_name(context->device));
	device->fetches = (uint8_t)(limits.max_qp_rd_atom < 16 ? limits.max_qp_rd_atom : 16);
	if (limits.max_qp_init_rd_atom < device->fetches)
		device->fetches = (uint8_t)limits.max_qp_init_rd_atom;
	device->pd = ibv_alloc_pd(context);
	if (device->pd == NULL)
		return wh_error_system(err, errno, "RDMA device %s: no protection domain",
				       ibv_get_device_name(context->device));
	if (open_queues(device, &limits, nodes, err) != WHORL_OK)
		return wh_error_prefix(err, "RDMA device %s", ibv_get_device_name(context->device));
	return WHORL_OK;
}

void wh_verbs_device_close(struct wh_verbs_device *device, bool forked)
{
	if (!forked) {
		if (device->srq != NULL)
			ibv_destroy_srq(device->srq);
		if (device->in != NULL)
			ibv_destroy_cq(device->in);
		if (device->channel != NULL)
			ibv_destroy_comp_channel(device->channel);
		if (device->pd != NULL)
			ibv_dealloc_pd(device->pd);
	}
	*device = (struct wh_verbs_device){0};
}

enum whorl_result wh_verbs_memory_make(struct wh_verbs_memory *memory, const char *name, uint64_t bytes,
				       struct wh_error *err)
{
	void *base;

	*memory = (struct wh_verbs_memory){.fd = memfd_create(name, MFD_CLOEXEC)};
	if (memory->fd < 0)
		return wh_error_system(err, errno, "memfd_create");
	if (ftruncate(memory->fd, (off_t)bytes) != 0) {
		enum whorl_result result = wh_error_system(err, errno, "no memory of %" PRIu64 " bytes", bytes);

		wh_verbs_memory_free(memory);
		return result;
	}
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
	if (base == MAP_FAILED) {
		enum whorl_result result = wh_error_system(err, errno, "no memory of %" PRIu64 " bytes", bytes);

		wh_verbs_memory_free(memory);
		return result;
	}
	memory->base = base;
	memory->bytes = bytes;
	return WHORL_OK;
}

void wh_verbs_memory_free(struct wh_verbs_memory *memory)
{
	if (memory->base != NULL)
		munmap(memory->base, memory->bytes);
	if (memory->fd >= 0)
		close(memory->fd);
	*memory = (struct wh_verbs_memory){.fd = -1};
}
