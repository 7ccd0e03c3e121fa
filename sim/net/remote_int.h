/* remote_int.h - regions of the simulator, and the accounts by which operations go to them.
 *
 * Between two lives, or from one to itself, is an account: operations wait in it for their turn at the target, and then, with
 * what has come of them, for their way back.
 */
#ifndef WH_SIM_NET_REMOTE_INT_H
#define WH_SIM_NET_REMOTE_INT_H

#include "sim/net/sim_int.h"
#include "transport/remote_account.h"

struct sim_region {
	struct wh_region base;
	struct sim_node *owner;
	struct sim_region *next;
	uint64_t *granted; /* by id: the incarnation */
};

struct sim_immediate {
	struct sim_immediate *next;
	struct sim_account *account; /* that it came by */
	uint32_t number;
};

struct sim_request {
	struct sim_request *next;
	struct wh_remote_op op; /* `from` and `into` lie in `words` */
	void *into;             /* the initiator's */
	uint64_t due_ns;
	bool half; /* some words have been read or written, those of `done` */
	enum whorl_result result;
	uint64_t value;
	uint64_t words[WH_REMOTE_BYTES_MAX / 8];
	bool done[WH_REMOTE_BYTES_MAX / 8];
};

struct sim_requests {
	struct sim_request *head, **tail;
	bool scheduled; /* an event will move the first one */
};

struct sim_account {
	struct wh_remote_account base;
	struct wh_sim *sim;
	struct sim_node *from, *to;
	struct sim_link *link; /* NULL: to itself */
	struct sim_account *next, *next_served;
	struct sim_requests there, back;
	uint64_t there_ns, back_ns; /* when the last of them is due */
	bool by_loop;               /* the target's loop carries out what has come */
	bool waiting;               /* something has */
	bool over;                  /* the initiator knows that the target has ended */
	uint32_t immediates;        /* posted, and not taken */
};

/* NULL: no memory. */
struct sim_account *wh_sim_account_new(struct sim_node *from, struct sim_node *to, struct sim_link *link);
/* A sound operation, that there is room for, goes on its way. */
enum whorl_result wh_sim_account_post(struct sim_account *account, const struct wh_remote_op *op);
void wh_sim_account_free(struct sim_account *account);

#endif
