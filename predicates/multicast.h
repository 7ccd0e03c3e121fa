/* multicast.h - the ordered multicast of one subgroup within a view, as four predicates (Spindle §II-D, §III).
 *
 *   send      the application has committed messages   gives them the next rounds, pushes their slots      send.c
 *   receive   a sender's guard advanced                takes in all that is new, acknowledges it           receive.c
 *   null      what was taken in shows that I owe rounds   covers them; no slot, no payload                 null.c
 *   deliver   the least received_num advanced          upcalls in order, then acknowledges delivery        deliver.c
 *
 * A pass evaluates send, receive, null, deliver. Send and null give out rounds, and both leave in one push of the
 * guard, after null; the acknowledgement of what was received counts my own rounds too, so it comes after that.
 *
 * Message k in the rounds of sender rank i has sequence number k x senders + i; delivery is in the order of that number
 * (docs/protocol.md). Threads: the loop's. Memory: created at once; nothing allocates afterwards.
 */
#ifndef WH_PREDICATES_MULTICAST_H
#define WH_PREDICATES_MULTICAST_H

#include <whorl/message.h>

#include "predicates/moves.h"
#include "predicates/persist.h"
#include "smc/ring.h"
#include "sst/columns.h"
#include "sst/sst.h"

enum wh_mode { WH_MODE_UNORDERED, WH_MODE_ORDERED };

struct wh_switches { /* Spindle's optimisations; all off is the paper's baseline */
	bool send_batching, receive_batching, delivery_batching, null_sends, deferred_push;
};

/* Messages upcalled at a time, at most; also how many message upcalls are timed together. */
#define WH_UPCALL_RUN 64
/* A message that takes several slots and has more bytes ends its run, which else might take long. */
#define WH_UPCALL_BYTES 16384

/* Upcalls a run of messages, in order. Returns how many of them the program has taken. If that is not all the rest stays in the rings, and
 * nothing more is handed over before wh_multicast_resume (0044). WH_DELIVERY_FAILED: this node has failed, and upcalls and says nothing
 * more. */
typedef size_t wh_deliver_fn(void *ctx, const struct whorl_message *messages, size_t count);
#define WH_DELIVERY_FAILED SIZE_MAX
/* Below a cut no ring waits: what the program has not taken is copied. False: this node has failed. */
typedef bool wh_keep_fn(void *ctx, const struct whorl_message *messages, size_t count);

/* A member's shared memory holds what cannot be: it is broken, and nothing more is taken from it. */
typedef void wh_broken_fn(void *ctx, uint32_t rank, const char *what);

struct wh_multicast_stats { /* of a subgroup, through all views. [loop writes, anyone reads] */
	wh_word sent, resent, aborted, nulls;
	/* Slots, and bytes of their payloads, that this node has pushed to the next in a chain. */
	wh_word relayed, relayed_bytes;
	wh_word delivered, delivered_bytes;
	wh_word received_num, delivered_num; /* copies of the columns, for readers */
	wh_word open_claim;                  /* 1 + the claim that send waits for, 0: none */
	wh_word upcall_longest_ns;
	wh_word slowest_id, slowest_behind;
	struct wh_batch_counter send, receive, deliver;
};

#define WH_UNKNOWN UINT64_MAX

struct wh_multicast_config { /* copied; what it points to outlives the multicast */
	struct wh_diag *diag;
	struct wh_sst *sst;
	struct wh_pushes *pushes;
	struct wh_subgroup_columns columns;
	uint32_t subgroup; /* index, for events */
	enum wh_mode mode;
	struct wh_switches switches;
	uint32_t window, message_bytes;
	uint32_t parts_most;          /* slots of a message, at most: 1, unless there are large ones */
	uint32_t relay_bytes;         /* a slot with so many goes from member to member (0074), ordered; 0: none does */
	uint64_t view;                /* its number, for messages */
	const uint32_t *ids;          /* node ids by view rank */
	const uint64_t *incarnations; /* by view rank */
	const uint32_t *members;      /* view ranks of the subgroup's members */
	uint32_t member_count;
	const uint32_t *senders;    /* view ranks of its senders, by sender rank; members as well */
	const uint32_t *sender_ids; /* the node ids of the senders, by sender rank */
	uint32_t sender_count;
	int me;                       /* my sender rank, -1: none */
	const struct wh_slots *slots; /* by sender rank: how its ring lies in its row */
	struct wh_ring *ring;         /* mine, NULL if I am no sender */
	struct wh_place *place;       /* of my ring in this view */
	uint64_t *had;                /* by node id: messages below were delivered in views before; WH_UNKNOWN */
	struct wh_multicast_stats *stats;
	struct wh_persist *persist; /* of a durable shard, which is ordered; NULL: it is in no log */
	struct wh_moves *moves;     /* says to the others that something moved here (0041); NULL: they look anyway */
	const uint64_t
		*deliver_ns; /* so long may a pass deliver here, by the clock that is read after each run of upcalls */
	uint64_t *now_ns;    /* the loop's clock: moved on after upcalls, which take what time they like */
	bool *gathers;       /* is set by a step that leaves my messages to a later one (gather.c); NULL: none does */
	whorl_subgroup *message_of; /* what messages name as their subgroup */
	void *handle;               /* ctx of the functions */
	wh_deliver_fn *deliver;
	wh_keep_fn *keep;
	wh_broken_fn *broken;
};

struct wh_multicast;

/* Nothing is sent or taken in before wh_multicast_begin. */
WH_MUST_CHECK enum whorl_result wh_multicast_create(struct wh_multicast **out, const struct wh_multicast_config *config,
						    struct wh_error *err);
/* The view begins: my messages from number `first` on are sent in it. The caller posts what this pushes: of all its shards at once. */
void wh_multicast_begin(struct wh_multicast *mc, uint64_t first);
void wh_multicast_free(struct wh_multicast *mc);
uint64_t wh_multicast_estimate(uint32_t member_count, uint32_t sender_count);

/* Nothing is delivered in place until it is resumed; all else goes on (0044). */
void wh_multicast_hold(struct wh_multicast *mc);
void wh_multicast_resume(struct wh_multicast *mc);

/* One pass over the predicates: a wh_predicate. */
size_t wh_multicast_step(void *mc);
/* Of a pass only what tells others what I have committed, and what has come to my disk: nothing is taken in, and nothing upcalled. */
void wh_multicast_send(struct wh_multicast *mc);
/* All of a pass but the upcalls: what the others have sent is taken in and acknowledged as well. */
void wh_multicast_exchange(struct wh_multicast *mc);

/* ---- the end of a view (docs/decisions/0014) ---- */

/* Deaf and dumb from now on: no counter of this view grows any more. What has been received is told to all members of the
 * view: the node that decides the cut need not be in this subgroup, and has not been told before. The caller posts it, before it says that it has stopped. */
void wh_multicast_wedge(struct wh_multicast *mc, struct wh_to everyone);
/* Delivers what is below the cut, for some milliseconds at a time, and keeps what the program does not take. *done: all of it. Returns how
 * much. The cut is no more than what I have received. In unordered mode what has been taken in is delivered. */
size_t wh_multicast_deliver_to(struct wh_multicast *mc, uint64_t cut, bool *done);
/* Then: `had` is what it is after this view. Returns the number of my first message that is to be sent again.
 * `leaves[rank]`: that member is not in the next view. */
uint64_t wh_multicast_end(const struct wh_multicast *mc, const bool *leaves);

/* The number of the first message of that sender (by rank) that has not been upcalled here; WH_UNKNOWN: nothing is known of it. Not
 * inside an upcall. */
uint64_t wh_multicast_next(const struct wh_multicast *mc, uint32_t sender);
/* Ordered: what has been upcalled here is all below this number. Not inside an upcall. */
uint64_t wh_multicast_sequence(const struct wh_multicast *mc);

/* Everything that I claimed has been delivered by all: nothing of it is open, or on its way. */
bool wh_multicast_has_sent_all(struct wh_multicast *mc);

/* Everything that I committed has been delivered by all, and everything that I counted as received I have delivered. */
bool wh_multicast_drained(struct wh_multicast *mc);
/* Ordered: all sequence numbers below have been received here. */
uint64_t wh_multicast_received(const struct wh_multicast *mc);

/* How many of my messages have been sent in this view, and it is not known here that all deliver them. */
uint64_t wh_multicast_undelivered(const struct wh_multicast *mc);

/* Durable: something is on disk of which the others have not been told. */
bool wh_multicast_has_persisted(const struct wh_multicast *mc);

/* Durable: the node id of the member with the least persisted_num, and by how many sequence numbers it trails what I have received. 0: none
 * does. */
uint64_t wh_multicast_slowest_disk(const struct wh_multicast *mc, uint32_t *id);

/* Finds the member that trails most; fills stats.slowest_*. Cheap, but not for every pass. */
void wh_multicast_survey(struct wh_multicast *mc);

/* Half of the numbers of rounds that a guard has room for have been used: it is time for a view that begins with 0 again. */
bool wh_multicast_ids_exhausted(const struct wh_multicast *mc);

#endif
