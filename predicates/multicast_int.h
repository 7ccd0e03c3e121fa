/* multicast_int.h - the state of one subgroup's multicast, shared by the four predicates and nothing else.
 *
 * All of it is the loop's. Invariants, with rounds and slots of sender s as taken in here:
 *   I1  taken.announced - first <= taken.covered x parts_most   (a slot has a round, and a round no more slots than a message)
 *   I2  next <= taken.announced <= next + window            (the window test at s)
 *   I3  delivered_num <= least received_num of all members, in a durable shard the least persisted_num  (stability before delivery); all below is
 *       upcalled *and taken*
 *   I4  received_num == least over s of taken.covered(s) x senders + s
 *   I5  covered (mine) <= 1 + the highest round that has a slot (nulls never run ahead)
 */
#ifndef WH_PREDICATES_MULTICAST_INT_H
#define WH_PREDICATES_MULTICAST_INT_H

#include "predicates/multicast.h"

#define WH_NO_ROUND UINT64_MAX

struct wh_relay {              /* of one sender's slots, where members relay (0074) */
	uint32_t before, next; /* [const] the ranks from which payloads come here, and to which they go on */
	bool ends;             /* [const] they do not: its chain ends here */
	uint64_t here;         /* its slots below are here whole; >= its taken.announced. Not of mine */
	uint64_t passed;       /* and of those below the next in the chain has been told, where they are relayed */
};

struct wh_sender {                   /* what this member has taken in from one sender */
	uint64_t covered;            /* rounds */
	uint64_t announced;          /* slots, as numbers of its messages */
	uint64_t have;               /* its messages below were delivered here in views before */
	uint64_t next;               /* slot to deliver next, <= announced */
	uint64_t told;               /* ordered: what next was when that was last told at once */
	struct wh_slot_header ahead; /* its header; round WH_NO_ROUND: it is not announced, or was not looked at yet */
	uint32_t next_slot;          /* next modulo window */
	uint32_t rank;               /* [const] in the view */
	uint32_t id;                 /* [const] node id */
	uint64_t incarnation;        /* [const] */
	const unsigned char *row;    /* its row; set by each look_at_senders */
	struct wh_slots slots;       /* [const] */
	uint64_t first;              /* its first message in this view; WH_UNKNOWN before anything of it was taken in */
};

struct wh_multicast {
	struct wh_multicast_config config; /* [const] */
	struct wh_to peers;                /* [const] the other members */
	uint32_t *peer_ranks;
	bool broken;  /* a member's memory made no sense: nothing is taken in any more */
	bool runs;    /* the view has begun, and is not wedged */
	bool failed;  /* this node, in a delivery: nothing is upcalled or said any more */
	bool refused; /* the program does not take what is next: nothing is delivered in place (0044) */
	bool halts;   /* this delivery: failed, or refused where the rest stays in the rings */
	bool cuts;    /* this delivery is of what lies below the cut */

	/* Of the word that says that something moved here (0041): counters were published since the last post; since it was last said;
	 * one of these may not be delayed. And in how many posts it has been held back, + 1; 0: nothing moves. */
	bool news, moved, hurries;
	uint32_t held, held_max; /* [held_max const] */

	/* send and null: my rounds */
	uint64_t covered;         /* rounds given out */
	uint64_t announced;       /* slots among them, as numbers of my messages; == ring->sent */
	uint64_t guard;           /* as last published */
	uint64_t least_delivered; /* the window: the least delivered_num that was last seen */

	/* Committed messages that passes have left to a later one, since then (gather.c). */
	uint32_t gathered;
	uint64_t gather_since_ns;

	/* receive */
	uint32_t turn; /* without receive batching: the sender to look at next */
	uint64_t received_num;
	uint64_t persisted_num;    /* durable: as last published */
	bool log_waits;            /* durable: its log is to be woken */
	struct wh_sender *senders; /* by sender rank, me included */
	struct wh_relay *relays;   /* likewise; NULL: nothing is relayed */

	/* deliver: the next sequence number is round x senders + rank */
	uint64_t delivered_num;
	uint64_t round;
	uint32_t rank; /* unordered: the sender that has its turn */

	uint32_t run;                /* messages collected in `batch` */
	bool prepared;               /* what is the same in all messages stands in `batch` */
	bool run_has_parts;          /* some of these take several slots */
	uint32_t rest_from, rest_to; /* of `batch`: those that were not taken, and go back */
	uint64_t run_start_ns;
	uint64_t run_bytes;      /* delivered since the statistics were last told */
	struct wh_pieces pieces; /* of the large message that is the last of `batch` */
	struct whorl_message batch[WH_UPCALL_RUN];
};

/* The predicates. Each returns how many events it handled. Delivery has posted its pushes; those of the others, and of announce and
 * acknowledge, are posted together by the step. */
size_t wh_send(struct wh_multicast *mc);
/* Before them. True: this pass does nothing here, as more is being committed. */
bool wh_gather(struct wh_multicast *mc);
size_t wh_receive(struct wh_multicast *mc);
size_t wh_null(struct wh_multicast *mc);
size_t wh_deliver(struct wh_multicast *mc);
size_t wh_deliver_unordered(struct wh_multicast *mc);

/* Durable. What was received is there for the log to take; what the log could not write breaks its sender; what has come to disk is told
 * to the others. The last returns whether it was. */
void wh_persist_received(struct wh_multicast *mc);
void wh_persist_judge(struct wh_multicast *mc);
size_t wh_persist_tell(struct wh_multicast *mc, struct wh_to to);
/* The log is woken, if something was received since: behind the posts, as the other members' logs wait for these. */
void wh_persist_wake(struct wh_multicast *mc);

/* Unordered: of so many of my slots those that are whole messages, from ring->freed on. */
uint64_t wh_whole_below(const struct wh_multicast *mc, uint64_t number);

/* Passes payloads on: behind the guard and the acknowledgement, which do not wait for them. */
size_t wh_relay_slots(struct wh_multicast *mc);
enum whorl_result wh_relays_create(struct wh_multicast *mc, struct wh_error *err);
/* The first message of that sender in this view. */
void wh_relay_begin(struct wh_multicast *mc, uint32_t sender, uint64_t first);
/* Of what a guard says: the whole messages that are here. False: that makes no sense, and some member is broken. */
bool wh_relay_limit(struct wh_multicast *mc, struct wh_sender *sender, uint64_t *covered, uint64_t *announced);
/* Its payload goes from member to member. Sender and receivers see the same header, so none has to say it. */
static inline bool wh_is_relayed(const struct wh_multicast_config *config, struct wh_slot_header header)
{
	return config->relay_bytes > 0 && !header.aborted && header.bytes >= config->relay_bytes &&
	       header.bytes <= config->message_bytes;
}

/* The slots of messages that all have delivered may be claimed again. */
void wh_free_slots(struct wh_multicast *mc);

/* A counter was published to all peers; `advice` as for its push. */
static inline void wh_note_move(struct wh_multicast *mc, unsigned advice)
{
	mc->news = mc->moved = true;
	mc->hurries |= (advice & WH_PUSH_MAY_DELAY) == 0;
}

/* Posts what was published, and behind it, now or later, that something moved here. */
void wh_multicast_post(struct wh_multicast *mc);

/* The guard, if send or null gave out rounds: after the slots that it announces. */
void wh_announce(struct wh_multicast *mc);
/* received_num, if it advanced; without receive batching, for each of the rounds that receive has `taken`. */
void wh_acknowledge(struct wh_multicast *mc, size_t taken);

void wh_multicast_break(struct wh_multicast *mc, uint32_t rank, const char *what);

#endif
