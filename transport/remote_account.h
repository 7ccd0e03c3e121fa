/* remote_account.h - what transports that have regions (remote.h) share: the initiator's account with one target, what is asked
 * of an operation before it is posted, and how processors carry it out.
 *
 * An account is what one node knows of what another has granted it, and what it has posted to it. It is the initiator's, and
 * outlives the target: what has not been completed then is completed with WHORL_MEMBER_GONE. One for a node's own
 * regions is like the others. Everything here is the loop's.
 */
#ifndef WH_TRANSPORT_REMOTE_ACCOUNT_H
#define WH_TRANSPORT_REMOTE_ACCOUNT_H

#include "transport/remote.h"

/* An owner has granted at most WH_REMOTE_REGIONS that it has not withdrawn; and no grant is told before all withdrawals have
 * been, so there are at most as many that were told and the end of which was not. */
#define WH_REMOTE_GRANTS (2 * WH_REMOTE_REGIONS)

enum wh_remote_grant_state {
	WH_GRANT_NONE,      /* this place is free */
	WH_GRANT_NEW,       /* its event has not been taken */
	WH_GRANT_USED,      /* operations may be posted */
	WH_GRANT_WITHDRAWN, /* its event has not been taken */
};

struct wh_remote_grant {
	enum wh_remote_grant_state state;
	uint64_t name, bytes;
	uint64_t incarnation; /* of the owner */
};

struct wh_remote_posted {
	struct wh_remote_op op;
	uint64_t incarnation; /* of the target */
	uint64_t value;
	enum whorl_result result;
};

struct wh_remote_account {
	uint32_t node;                                   /* the target */
	uint32_t news;                                   /* grants that are new or withdrawn */
	struct wh_remote_grant grants[WH_REMOTE_GRANTS]; /* the transport keeps what it needs by the same index */
	/* Operations so far: taken <= completed <= posted <= taken + WH_REMOTE_OUTSTANDING. The k-th is at k mod that. */
	uint64_t posted, completed, taken;
	struct wh_remote_posted list[WH_REMOTE_OUTSTANDING];
};

/* ---- grants ------------------------------------------------------------------------------------------------------- */

/* NULL: the size is no region's, the name is there, or WH_REMOTE_REGIONS have not been withdrawn. If that came from a peer
 * it has broken the protocol. */
struct wh_remote_grant *wh_remote_grant_add(struct wh_remote_account *account, uint64_t name, uint64_t bytes,
					    uint64_t incarnation);
/* One that has not been withdrawn; NULL: none. */
struct wh_remote_grant *wh_remote_grant_find(struct wh_remote_account *account, uint64_t name);
void wh_remote_grant_withdraw(struct wh_remote_account *account, struct wh_remote_grant *grant);
/* The target has ended: its grants are gone, and all that has not been completed is completed. */
void wh_remote_account_end(struct wh_remote_account *account);

/* ---- operations --------------------------------------------------------------------------------------------------- */

/* Kind, offset and size are good for a region of so many bytes. */
bool wh_remote_is_sound(const struct wh_remote_op *op, uint64_t region_bytes);
/* The grant for an operation that may be posted now: WHORL_OK; else WHORL_NOT_FOUND, WHORL_INVALID, WHORL_AGAIN. */
enum whorl_result wh_remote_judge(struct wh_remote_account *account, const struct wh_remote_op *op,
				  struct wh_remote_grant **grant);
/* After that. What `op` points to has been used, but for `into`. */
void wh_remote_posted(struct wh_remote_account *account, const struct wh_remote_op *op, uint64_t incarnation);
/* The oldest that has not been completed; NULL: none. */
const struct wh_remote_posted *wh_remote_oldest(const struct wh_remote_account *account);
/* That one has ended so. */
void wh_remote_complete(struct wh_remote_account *account, enum whorl_result result, uint64_t value);

/* The next event of this account, but for immediates. */
bool wh_remote_account_next(struct wh_remote_account *account, struct wh_remote_event *out);

/* Carries a sound operation out on the words of a region, but for its immediate; returns the old value. Words are stored
 * and loaded in ascending order, each with release or acquire. */
uint64_t wh_remote_carry_out(wh_word *words, const struct wh_remote_op *op);

#endif
