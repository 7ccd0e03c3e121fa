/* account.h - the queue pair for operations on regions (T7) between this node and another, or itself; see verbs/remote.c.
 * Everything here is the loop's. */
#ifndef WH_TRANSPORT_VERBS_LANE_H
#define WH_TRANSPORT_VERBS_LANE_H

#include "transport/remote_account.h"
#include "transport/verbs/verbs_int.h"

struct wh_verbs_region_place { /* of a region that has been granted to me */
	uint64_t address;
	uint32_t rkey;
};

struct wh_verbs_account { /* it stays when the peer ends, for what has not been taken */
	struct wh_remote_account base;
	struct wh_verbs_region_place places[WH_REMOTE_GRANTS]; /* by grant: see wh_verbs_account_place */
	uint64_t releases[WH_REMOTE_REGIONS]; /* names of regions that were withdrawn: to be let go of, and said so */
	uint32_t release_count;

	uint32_t serial;   /* of the queue pair; none has had it before */
	struct ibv_qp *qp; /* NULL: none */
	bool told;         /* the peer has been told of it */
	bool connected;    /* to the peer's, which takes operations */
	uint32_t psn;
	struct wh_verbs_memory memory; /* a slot for each operation */
	struct ibv_mr *mr;
	uint64_t fetched; /* operations up to the last that reads: what is posted before they are done waits for them */

	uint64_t immediates_sent, immediates_known; /* to it, and of them those that I know it has taken */
	uint64_t immediates_in, immediates_out;     /* of it, and of them those that have been taken */
	uint64_t immediates_told;                   /* what it knows of that */
	uint64_t immediates_of;                     /* its incarnation */
	uint32_t immediates[WH_REMOTE_IMMEDIATES];
};

/* NULL: no memory. */
struct wh_verbs_account *wh_verbs_account_of(struct wh_verbs *t, uint32_t node);
/* Makes the queue pair if there is none, and tells the peer. True: it is connected. */
bool wh_verbs_account_is_open(struct wh_verbs *t, uint32_t node);
/* False: it breaks the protocol. */
bool wh_verbs_account_on_message(struct wh_verbs *t, const struct wh_peer *peer,
				 const struct wh_verbs_message *message);
/* Of what has been granted, the end of which may not have been taken yet: so there are more than an owner has open. */
struct wh_verbs_region_place *wh_verbs_account_place(struct wh_verbs_account *account,
						     const struct wh_remote_grant *grant);
unsigned char *wh_verbs_account_slot(const struct wh_verbs_account *account, uint64_t number);
uint64_t wh_verbs_account_request(const struct wh_verbs_account *account, bool immediate);
/* Operations on the region of that name are under way. `account` may be NULL. */
bool wh_verbs_account_works_on(const struct wh_verbs_account *account, uint64_t name);
bool wh_verbs_account_next_immediate(struct wh_verbs *t, struct wh_verbs_account *account, struct wh_remote_event *out);
/* Says what is to be said. Returns how much that was. */
size_t wh_verbs_accounts_advance(struct wh_verbs *t);

#endif
