/* link.h - workers of other nodes.
 *
 * Worker k of a node speaks with worker k of the others, over lane k + 1 (transport.h, T13): a *link*. All that threads here want of that worker
 * goes by this one: so what comes from many of them goes together, in one write for each batch and direction. To those that call, the
 * other worker is a *proxy*: a party without a thread. A worker's own channel to the proxy carries its batches over the link; that of
 * any other thread is served by the worker, which puts the calls into its own (wh_relay).
 *
 * Several batches are under way each way, in rings of slots (region.h). Answers say how many batches of calls they settle, so these
 * slots are free again; that answers have been taken is told by a word, once for half a ring. Calls are not taken while answers have no
 * room, and answers always are.
 *
 * Each life of another node is told apart (struct wh_far): its proxies are never those of another life, so no call reaches a property that
 * happens to have the name of one that is gone.
 *
 * Links belong to the thread of their worker, and a thread that has borrowed the worker leaves them alone: [link] below.
 */
#ifndef WH_DELEGATION_LINK_H
#define WH_DELEGATION_LINK_H

#include "delegation/delegation_int.h"
#include "delegation/region.h"
#include "group/endpoint.h"
#include "transport/remote.h"

#define WH_FAR_MOST 1024 /* lives of other nodes, from the opening of a work to its end */

enum wh_link_state {
	WH_LINK_NEW,     /* not met, or not greeted yet */
	WH_LINK_UP,      /* batches go */
	WH_LINK_REFUSED, /* its program knows other functions */
	WH_LINK_GONE,    /* that node has ended, or has sent garbage */
};

enum { WH_WAY_CALLS, WH_WAY_ANSWERS, WH_WAYS };

struct wh_link {
	struct wh_carrier carrier; /* the first field: of its channels */
	struct wh_far *far;        /* [const] */
	struct wh_party *me;       /* [const] the worker here */
	struct wh_party *proxy;    /* [const] and the one there */
	wh_word state;             /* [link writes; anyone reads] enum wh_link_state */
	/* [link] */
	struct wh_region *mine; /* what it writes to; NULL: none */
	uint64_t theirs;        /* the name of what this one writes to; 0: not granted yet */
	bool greeted;           /* this side has */
	bool broken;            /* to be closed in the next look */
	struct wh_channel *out, *in;
	struct wh_way { /* a ring of theirs */
		const struct wh_slot
			*slot;    /* the last batch, of which something is still to be written; NULL: nothing is */
		uint64_t written; /* batches so far, with it */
		bool guard_only;
	} ways[WH_WAYS];
	uint64_t settled;     /* of their batches of calls, by the answers so far */
	uint64_t taken, told; /* batches of answers that were taken here; so many of which they know */
	uint64_t taken_there; /* of those that this side has written */
};

struct wh_far {                /* a life of another node. [const], but for the words */
	uint32_t node, holder; /* holder: what its handles have in the sets of properties */
	uint64_t incarnation;
	wh_word workers, dedicated; /* 0: not known yet */
	wh_word ended;              /* it has for some lane: links that are not up yet will not be */
	struct wh_link links[];     /* by worker here */
};

struct wh_lane { /* of a worker. [link] */
	struct wh_transport *transport;
	uint64_t regions; /* so many have been named */
	struct wh_transport_event event;
	wh_word writes, bytes; /* anyone reads */
};

struct wh_net {
	struct wh_endpoint endpoint;     /* [const] */
	const struct whorl_type **types; /* [const] by number; NULL: not listed */
	wh_word far_count;               /* [lock writes; anyone reads] */
	pthread_mutex_t lock;
	struct wh_far *far[WH_FAR_MOST]; /* [lock writes] */
	struct wh_lane *lanes[];         /* [const] by worker */
};

/* ---- opening and closing ------------------------------------------------------------------------------------------------------- */

/* Before the workers of `work` are made. WHORL_OK; WHORL_INVALID: lanes of this node have been opened before, or more workers than lanes; others
 * of lane_open. */
WH_MUST_CHECK enum whorl_result wh_net_open(whorl_work *work, const struct wh_endpoint *endpoint,
					    const struct whorl_work_options *options, struct wh_error *err);
struct wh_transport *wh_net_lane(const whorl_work *work, uint32_t worker); /* NULL: there is none */
/* No worker runs any more. Others see them go in order. */
void wh_net_leave(whorl_work *work);
void wh_net_free(whorl_work *work);

/* ---- links --------------------------------------------------------------------------------------------------------------------- */

/* [link] What has come: events, and batches, which lie in the channels then. Returns how much there was. */
size_t wh_net_look(struct wh_party *me);
/* [link] What was read has not been what that worker can say. */
void wh_link_break(struct wh_link *link);
/* What becomes of a link: that worker is met, has granted its region, is gone. */
void wh_link_begin(struct wh_link *link, struct wh_far *far, struct wh_party *me, struct wh_party *proxy);
void wh_link_met(struct wh_link *link);
void wh_link_granted(struct wh_link *link, uint64_t region, uint64_t bytes);
void wh_link_end(struct wh_link *link);
size_t wh_link_look(struct wh_link *link);
/* A channel of `client` to that proxy has been made. */
void wh_link_adopt(struct wh_party *client, struct wh_channel *channel, struct wh_party *proxy);

/* A call of another thread, or its toggle, that is to go on over the link. As wh_perform. */
uint32_t wh_relay(struct wh_party *me, struct wh_origin origin, const struct wh_record *record, const void *args,
		  size_t bytes);
void wh_relay_one_way(struct wh_party *me, const struct wh_channel *channel, const struct wh_record *record,
		      const void *args, size_t bytes);

/* ---- places -------------------------------------------------------------------------------------------------------------------- */

/* A worker of the life of that node that is here now; WHORL_WORKER_ANY: the next by *turn, of those that are trustees or not. WHORL_OK; WHORL_AGAIN:
 * none has been met yet; WHORL_REFUSED: it knows other functions; WHORL_NOT_FOUND: there is no such node, or worker. */
struct wh_far_place {
	uint32_t node, worker;
	bool for_fiber; /* else for a property */
	wh_word *turn;
};
WH_MUST_CHECK enum whorl_result wh_far_at(const whorl_work *work, const struct wh_far_place *place,
					  struct wh_party **out);
/* A worker of this node or of any that can be called now, the next by *turn, as a place that names both. */
struct whorl_place wh_far_any(const whorl_work *work, bool for_fiber, wh_word *turn);
/* As wh_far_at, until that time for one that is to come. */
WH_MUST_CHECK enum whorl_result wh_far_await(struct wh_party *me, const struct wh_far_place *place, int timeout_ms,
					     struct wh_party **out);
/* A fiber or a plain thread, before it asks again. */
void wh_far_pause(struct wh_party *me);
/* The worker that this handle of another node's property is for. WHORL_OK, WHORL_GONE, WHORL_REFUSED, WHORL_NOT_FOUND. */
WH_MUST_CHECK enum whorl_result wh_far_of(const whorl_work *work, const struct whorl_trust *trust,
					  struct wh_party **out);
/* The holder, in the sets of properties here, of a handle that is sent to that node: WH_HOLDER_HERE if that is this one, and `sender`, the holder that
 * sends it, if no life of it is known here. */
uint32_t wh_far_holder(const whorl_work *work, uint32_t node, uint32_t sender);

static inline struct wh_link *wh_link_of(const struct wh_channel *channel)
{
	return (struct wh_link *)(uintptr_t)channel->carrier; /* its first field */
}

static inline bool wh_is_far(const whorl_work *work, uint32_t node)
{
	return work->net != NULL && node != work->node && node != WHORL_NODE_HERE;
}

#endif
