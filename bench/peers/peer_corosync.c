/* peer_corosync.c - corosync's closed process groups (CPG) beside the others.
 *
 *     peer-corosync BOARD ID PIDFILE
 *
 * Each node is a client of the corosync daemon of its network namespace (PIDFILE has its number), which speaks to the other daemons. The order is agreed:
 * the same at all. One thread sends and dispatches in turn, for that is faster here than two: the daemon says "try again" when
 * its queue is full, and what it has to deliver is then taken from it.
 */
#include <corosync/corotypes.h>
#include <corosync/cpg.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/peers/measure.h"

#define GROUP "peers"
#define BURST 64
#define WINDOW_BYTES                                                                                                   \
	(512 * 1024) /* of a node's own messages in flight: more do not make it faster, but wait in its queues */
#define WINDOW_LEAST 16
#define RETRY_NS 200000
#define PATIENCE_NS 1000000000

struct corosync {
	struct peers_node node;
	cpg_handle_t handle;
	uint32_t members;
	uint32_t window; /* messages */
	bool filled;     /* `buffer` has a message that is not sent yet */
	_Alignas(64) char buffer[PEERS_BYTES_MAX];
};

static void take_message(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid, void *data,
			 size_t bytes)
{
	void *c = NULL;

	(void)group;
	(void)node;
	(void)pid;
	cpg_context_get(handle, &c);
	peers_take(&((struct corosync *)c)->node, data, bytes);
}

static void note_members(cpg_handle_t handle, const struct cpg_name *group, const struct cpg_address *members,
			 size_t count, const struct cpg_address *left, size_t left_count,
			 const struct cpg_address *joined, size_t joined_count)
{
	void *c = NULL;

	(void)group;
	(void)members;
	(void)left;
	(void)left_count;
	(void)joined;
	(void)joined_count;
	cpg_context_get(handle, &c);
	((struct corosync *)c)->members = (uint32_t)count;
}

static size_t dispatch_callbacks(struct corosync *c, cs_dispatch_flags_t how)
{
	cs_error_t error = cpg_dispatch(c->handle, how);

	if (error != CS_OK && error != CS_ERR_TRY_AGAIN)
		peers_fail("dispatch: %d", error);
	return error == CS_OK;
}

static void dispatch_all(void *c)
{
	dispatch_callbacks(c, CS_DISPATCH_ALL);
}

static void join_group(struct corosync *c)
{
	cpg_model_v1_data_t model;
	struct cpg_name group = {.length = sizeof(GROUP) - 1, .value = GROUP};
	cs_error_t error;

	memset(&model, 0, sizeof(model));
	model.model = CPG_MODEL_V1;
	model.cpg_deliver_fn = take_message;
	model.cpg_confchg_fn = note_members;
	/* The daemon may still be on its way; alarm() ends it if it does not come. */
	while (cpg_model_initialize(&c->handle, CPG_MODEL_V1, (cpg_model_data_t *)&model, c) != CS_OK)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	while ((error = cpg_join(c->handle, &group)) == CS_ERR_TRY_AGAIN)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	if (error != CS_OK)
		peers_fail("join: %d", error);
	while (c->members < c->node.plan.nodes) {
		dispatch_all(c);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

static bool may_send(const struct corosync *c)
{
	return peers_sends(&c->node) && c->node.sent - c->node.next[c->node.id] < c->window && peers_is_due(&c->node);
}

/* Sends what may be sent now. False: that is all at present. */
static bool send_some(struct corosync *c)
{
	struct iovec part = {.iov_base = c->buffer, .iov_len = c->node.plan.bytes};
	cs_error_t error;

	for (int i = 0; i < BURST; i++) {
		if (!c->filled) {
			if (!may_send(c))
				return false;
			peers_fill(&c->node, c->buffer);
			c->filled = true;
		}
		error = cpg_mcast_joined(c->handle, CPG_TYPE_AGREED, &part, 1);
		if (error == CS_ERR_TRY_AGAIN)
			return false;
		if (error != CS_OK)
			peers_fail("multicast: %d", error);
		c->filled = false;
	}
	return true;
}

/* Sleeps until there is something to deliver, or the next message is due. A full queue has no descriptor: it is tried again. */
static void sleep_until_work(struct corosync *c, int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	uint64_t ns = RETRY_NS;
	struct timespec timeout;

	if (!c->filled && !may_send(c)) {
		ns = peers_until_due(&c->node);
		if (ns == 0)
			ns = PATIENCE_NS; /* nothing to send before something is delivered */
	} else if (!c->filled) {
		return;
	}
	timeout = (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
	ppoll(&wait, 1, &timeout, NULL);
}

static void count_daemon(struct corosync *c, const char *path)
{
	FILE *file = fopen(path, "re");
	long pid = 0;

	if (file != NULL) {
		if (fscanf(file, "%ld", &pid) != 1)
			pid = 0;
		fclose(file);
	}
	if (pid == 0)
		peers_fail("%s: which daemon?", path);
	peers_count(&c->node, (pid_t)pid);
}

int main(int argc, char *argv[])
{
	static struct corosync c;
	int fd;

	peers_open(&c.node, argc, argv);
	c.window = WINDOW_BYTES / c.node.plan.bytes > WINDOW_LEAST ? WINDOW_BYTES / c.node.plan.bytes : WINDOW_LEAST;
	join_group(&c);
	if (argc < 4)
		peers_fail("which daemon?");
	count_daemon(&c, argv[3]);
	if (cpg_fd_get(c.handle, &fd) != CS_OK)
		peers_fail("no descriptor");
	peers_ready(&c.node, dispatch_all, &c);
	while (!peers_complete(&c.node)) {
		bool more = send_some(&c);

		dispatch_all(&c);
		if (!more && !peers_complete(&c.node))
			sleep_until_work(&c, fd);
	}
	peers_finish(&c.node, dispatch_all, &c);
	cpg_finalize(c.handle);
	return 0;
}
