/* tcp.h - the transport for nodes on any network.
 *
 * Each pair of nodes has one connection. A push becomes part of a frame: ranges of my row, which the other side receives
 * straight into its image, then words, which it stores one by one when the ranges are there. All that one pass of the loop
 * posts leaves in one gathered write per peer. docs/wire.md is what is on the wire, transport.h the contract.
 *
 * Bounds: a group's name has at most 63 bytes. For one peer 65536 ranges and as many words may wait to leave, and 64 KB of
 * control messages; a peer that lets more pile up is stalled, and given up. A stream is a connection of its own, bounded by the
 * system's buffers. 256 strangers at a time are let in, and some more from hosts
 * of the configuration, for a second for each thing that they have to say.
 *
 * Names that are not known yet, or the nodes of which cannot be reached, are looked up again off the loop.
 *
 * Which nodes may come in: transport/secure/secure.h. Without a cluster key or TLS nodes have loopback addresses; others are
 * refused at create.
 *
 * Memory: my row, and a place for the row of each peer (of which only the parts that this node reads are ever touched), for
 * each image that is open; 160 KB for each peer that is there, and half a megabyte more at most where large operations on regions have waited.
 */
#ifndef WH_TRANSPORT_TCP_TCP_H
#define WH_TRANSPORT_TCP_TCP_H

#include "transport/secure/secure.h"
#include "transport/transport.h"

/* ctx is not used; config->addresses is. Names are looked up, which may block. WHORL_OK, WHORL_SYSTEM, WHORL_MEMORY,
 * WHORL_REFUSED (my address is taken), WHORL_INVALID (the group's name, an address), WHORL_NOT_FOUND (my own address cannot
 * be found). */
wh_transport_create wh_tcp_create;

#define WH_TCP_ADDRESS_BYTES 192 /* of an address as text, with the zero */

/* Is it host:port, [host]:port? Nothing is looked up. WHORL_OK, WHORL_INVALID: err says what is expected. */
WH_MUST_CHECK enum whorl_result wh_tcp_address_check(const char *address, struct wh_error *err);

/* Where the nodes of a group without addresses are: on the loopback interface of this host, at an address of their own that
 * follows from the user and the group's name. */
void wh_tcp_address_default(const char *group, uint32_t node, char address[WH_TCP_ADDRESS_BYTES]);

struct wh_tcp_target { /* the node that a visitor asks */
	const char *address, *group;
	uint32_t node;             /* WH_SECURE_VISITOR: whichever is there; not with key or TLS */
	struct wh_secure_key *key; /* both as that node has them; NULL: none */
	struct wh_secure_tls *tls;
	uint32_t version; /* of its messages: of another transport on this wire; 0: tcp's */
	uint32_t *spoken; /* gets the version that the node itself has named, 0: none; NULL: it need not */
};

/* Asks a node on tcp, or on verbs, a question (T11), and waits for its answer, at most WH_ANSWER_MAX bytes. Any thread; no transport
 * is needed. WHORL_OK; WHORL_NOT_FOUND (no node is there, or the name is not known); WHORL_AGAIN (no connection in that time: its
 * host cannot be reached); WHORL_TIMEOUT (it does not answer); WHORL_REFUSED (its
 * version is another, or one of the two has not proven its identity); WHORL_INVALID (the address, or the question is too long);
 * WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_tcp_query(const struct wh_tcp_target *asked, const void *question, size_t bytes,
					     uint64_t timeout_ns, void *answer, size_t *answer_bytes,
					     struct wh_error *err);

#endif
