/* verbs.h - the transport for RDMA: InfiniBand, RoCE, and Soft-RoCE, which needs no device.
 *
 * Nodes meet, and speak to each other, by tcp, at the same addresses (transport/tcp/wire.h). Two that have met are then connected by
 * librdmacm, which knows the path between their devices. Each image has, for each pair and each direction, a queue pair of its own:
 * a push is a one-sided write by it, straight into the image of the peer, which takes no part in that. A batch of pushes is one
 * chain of linked requests, posted with one doorbell; its last write carries an immediate if it rings. See transport.h for the
 * contract, docs/decisions/0019-verbs.md for the reasons.
 *
 * Which nodes may come in: transport/secure/secure.h, as on tcp. TLS protects what goes by tcp: where memory is, and its keys. It does
 * not protect rows and regions, which are plain writes of the device; and without a key or TLS any program that reaches the address
 * of a node can come in, whichever address that is. So an RDMA network is for the machines of one owner, as those that carry storage are.
 *
 * Bounds: a group's name has at most 63 bytes. To each peer WH_VERBS_DEPTH writes of an image are with the device at a time, and at
 * most WH_VERBS_QUEUE_MAX wait; a peer for which more would have to wait is down.
 *
 * Memory: the parts of rows that an image holds are registered, which pins them: RLIMIT_MEMLOCK must allow it. 160 KB for each peer
 * that is there.
 */
#ifndef WH_TRANSPORT_VERBS_VERBS_H
#define WH_TRANSPORT_VERBS_VERBS_H

#include "transport/transport.h"

#define WH_VERBS_VERSION 3 /* of its messages */
#define WH_VERBS_DEPTH 256
#define WH_VERBS_QUEUE_MAX 65536

/* `addresses` of the configuration says where each node is (NULL: wh_verbs_address_default); mine belongs to an RDMA device. ctx
 * is not used. WHORL_OK, WHORL_UNSUPPORTED (no RDMA device, or not at this address), WHORL_SYSTEM, WHORL_MEMORY, WHORL_REFUSED (the
 * address is taken), WHORL_INVALID (the name), WHORL_CONFIG (an address, or huge pages that are required). */
wh_transport_create wh_verbs_create;

#define WH_VERBS_ADDRESS_BYTES 64

/* Where a node of a group without addresses is: the nodes are dealt out over the IPv4 addresses that the RDMA devices of this
 * host have, at a port that follows from the group's name and the node. WHORL_OK; WHORL_UNSUPPORTED: there are none. */
WH_MUST_CHECK enum whorl_result wh_verbs_address_default(const char *group, uint32_t node,
							 char address[WH_VERBS_ADDRESS_BYTES], struct wh_error *err);

/* What has been given to the device. Any thread. */
struct wh_verbs_figures {
	uint64_t writes;    /* requests */
	uint64_t doorbells; /* chains of them */
	uint64_t rings;     /* of the writes those with an immediate */
};

struct wh_verbs_figures wh_verbs_figures(const struct wh_transport *transport);

/* Ends as a process does that is killed: nothing is said, and nothing under way is waited for. For tests. */
void wh_verbs_abort(struct wh_transport *transport);

#endif
