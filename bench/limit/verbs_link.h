/* verbs_link.h - queue pairs between the nodes of a limit on verbs.
 *
 * What librdmacm would do is done through memory that the nodes share, since all are of one host: each notes on a card for
 * each other where it is, and connects its queue pair to what the other's card says.
 *
 * Threads: all of a node's are used by one. Functions that can fail return NULL, or what failed; errno says why.
 */
#ifndef WH_BENCH_LIMIT_VERBS_LINK_H
#define WH_BENCH_LIMIT_VERBS_LINK_H

#ifndef WHORL_WITHOUT_VERBS
#include <infiniband/verbs.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WH_LIMIT_DEPTH 256 /* requests of one queue pair that may be outstanding */
#define WH_LIMIT_WAKES 16

struct ibv_send_wr;

#ifdef WHORL_WITHOUT_VERBS /* there is nothing to know, and verbs_none.c fails */
struct wh_limit_card {
	char none;
};
struct wh_limit_device {
	char none;
};
struct wh_limit_link {
	char none;
};
#else

/* What one node must know to write into the memory of another. */
struct wh_limit_card {
	union ibv_gid gid;
	uint64_t base; /* of the memory */
	uint32_t key;  /* to it */
	uint32_t qp;
	uint16_t lid;
};

/* The device of one node, and its memory. */
struct wh_limit_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *memory;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint8_t port_number;
	uint8_t gid_index;
};

struct wh_limit_link {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_cq *in;                /* NULL: no immediates come */
	struct ibv_comp_channel *channel; /* tells of them */
	struct wh_limit_card peer;
	uint64_t posted, asked, completed; /* requests; `asked`: up to the last that will report itself */
};

#endif

/* Opens the device that node `node` uses: with an address, the one that has it; without one the nodes are dealt out over
 * all addresses that the devices of this host have. Registers the memory, for others to write. */
const char *wh_limit_device_open(struct wh_limit_device *device, uint32_t node, const char *address, void *memory,
				 size_t bytes);
void wh_limit_device_close(struct wh_limit_device *device);

/* Makes a queue pair, and notes on the card how to get to it. `wakes`: the peer's writes may have immediates, for which one can
 * sleep; WH_LIMIT_WAKES of them may come before they are taken. */
const char *wh_limit_link_open(struct wh_limit_link *link, const struct wh_limit_device *device, bool wakes,
			       struct wh_limit_card *card);
/* The peer's queue pair must have been made. It must be connected as well before anything is posted. */
const char *wh_limit_link_connect(struct wh_limit_link *link, const struct wh_limit_device *device,
				  const struct wh_limit_card *peer);
void wh_limit_link_close(struct wh_limit_link *link);

/* Is there room for `count` requests more? Looks at completions only if it is not known to be. */
const char *wh_limit_link_room(struct wh_limit_link *link, uint32_t count, bool *room);
/* Posts a chain of `count` requests with one doorbell; `last` is its last. At least every quarter of the queue one reports
 * itself. */
const char *wh_limit_link_post(struct wh_limit_link *link, struct ibv_send_wr *first, struct ibv_send_wr *last,
			       uint32_t count);
/* Asks to be told of the next immediate, and takes those that have come. A thread that then finds nothing may sleep. */
const char *wh_limit_link_listen(struct wh_limit_link *link);
/* Until an immediate comes after listen, or for `ms`. */
const char *wh_limit_link_sleep(struct wh_limit_link *link, int ms);

#endif
