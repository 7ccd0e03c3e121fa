/* verbs_lab.h - a node of the RDMA transport with a session of which the wire is this test's own: peers are met when the test says so,
 * and what is sent to them is kept. There is no device but what the test makes of it.
 */
#ifndef WH_TESTS_SUPPORT_VERBS_LAB_H
#define WH_TESTS_SUPPORT_VERBS_LAB_H

#include <stdio.h>
#include <string.h>

#include "tests/harness.h"
#include "transport/verbs/verbs_int.h"

#define VERBS_NODES 3
#define VERBS_SENT 64

struct verbs_lab {
	struct wh_env env;
	uint64_t now_ns;
	struct wh_verbs *t;
	struct wh_conn conns[VERBS_NODES];
	struct verbs_sent {
		uint32_t node;
		unsigned char bytes[WH_MESSAGE_MAX];
	} sent[VERBS_SENT];
	uint32_t sent_count;
	bool full;                               /* nothing can be sent now */
	void (*on_leave)(struct verbs_lab *lab); /* a peer is told that this node goes; NULL: no matter */
	void *own;                               /* the test's */
};

extern struct verbs_lab *verbs_lab;

/* ---- the node ----------------------------------------------------------------------------------------------------- */

/* Incarnations are 5 here, and 10 and the id of peers. */
struct verbs_lab *verbs_lab_make(uint32_t node);
void verbs_lab_free(struct verbs_lab *lab);
struct wh_peer *verbs_lab_peer(const struct verbs_lab *lab, uint32_t node);
void verbs_lab_meet(struct verbs_lab *lab, uint32_t node);

/* The peer says so. */
bool verbs_lab_hear(const struct verbs_lab *lab, uint32_t node, const struct wh_verbs_message *message);

/* The last event, which is of that kind. */
void verbs_lab_expect(const struct verbs_lab *lab, enum wh_transport_event_kind kind, uint32_t node);

#endif
