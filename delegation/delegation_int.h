/* delegation_int.h - what the files of this folder share.
 *
 * A *party* is a thread that takes part: a worker, or a plain thread that has made a call. Each is a client; a worker is a trustee, too.
 * Between a client and a trustee there is a *channel*: a slot of calls, which the client alone writes, and a slot of answers, which the trustee
 * alone writes. One batch at a time is under way: the client posts the next when it has taken the answers of the last. So two words order
 * all: the guard of the calls, stored with release by the client, loaded with acquire by the trustee, and the guard of the answers the
 * other way. Neither is ever changed by an atomic read-modify-write. Between nodes several are under way (link.h).
 *
 * What is marked [client] belongs to the client's thread, [trustee] to the trustee's. A worker that sleeps is lent (base/gate.h): the thread
 * that has borrowed it *is* that worker meanwhile, for both marks, until it gives it back; only fibers and `then` wait for the worker
 * itself. The loan hands over with release and acquire, and is the one word here that is compared and swapped.
 *
 *   party.c     which party a thread is; parties and channels come to be
 *   send.c      the client's side, to the trustee: pending calls, batches, lending
 *   answer.c    the client's side, from the trustee: answers, and what becomes of each call
 *   serve.c     the trustee's side: batches of calls
 *   perform.c   what one call does there
 *   later.c     latches: what waits for a property, launched functions
 *   move.c      properties that move, and what is sent on
 *   follow.c    the way to those that have moved more than once
 *   property.c  where properties are
 *   wait.c      fibers and plain threads that wait
 *   link.c      what goes to workers of other nodes, and comes (link.h)
 *   far.c       which those are
 *   region.c    what lies in memory that they write to (region.h)
 */
#ifndef WH_DELEGATION_DELEGATION_INT_H
#define WH_DELEGATION_DELEGATION_INT_H

#include <pthread.h>

#include <whorl/delegate.h>

#include "delegation/batch.h"
#include "delegation/map.h"
#include "delegation/steps.h"
#include "delegation/table.h"
#include "group/refuse.h"
#include "work/worker.h"

/* ---- properties -------------------------------------------------------------------------------------------------------------- */

enum wh_property_state {
	WH_PROPERTY_FREE,
	WH_PROPERTY_LIVE,
	WH_PROPERTY_MOVING, /* another trustee has been asked to take it, or, without an object, where it is now */
	WH_PROPERTY_SENT_ON /* it is elsewhere; what comes is sent there */
};

/* A call that waits for a property, or runs in a fiber. */
struct wh_origin { /* which call it is: of that channel, so many calls from its beginning */
	struct wh_channel *channel;
	uint64_t number;
};

struct wh_later {
	struct wh_later *next;
	struct wh_later *older, *newer; /* of those that run in fibers */
	struct wh_party *trustee;
	struct wh_origin origin;
	struct wh_record record;
	bool at_once; /* launched, and what launched it waits for it to pause or to end */
	bool ended;
	enum whorl_result status;
	struct wh_bytes result;
	uint64_t mine;       /* of a move: the handle that this trustee keeps */
	struct wh_party *to; /* and the one that is to have it */
	size_t bytes;        /* of arguments */
	_Alignas(8) unsigned char args[];
};

#define WH_HOLDER_HERE 1 /* of a handle: this process. The lives of other nodes have the numbers behind it */

/* That of a proxy: this process, and which property of which of its workers sends on with that handle. */
static inline uint64_t wh_holder_of_proxy(uint32_t worker, uint32_t name)
{
	return WH_HOLDER_HERE | (uint64_t)worker << 16 | (uint64_t)name << 32;
}

static inline uint32_t wh_holder_worker(uint64_t holder)
{
	return (uint32_t)holder >> 16;
}

static inline uint32_t wh_holder_proxy(uint64_t holder) /* 0: none */
{
	return (uint32_t)(holder >> 32);
}

struct wh_property { /* [trustee] */
	void *object;
	const struct whorl_type *type;
	struct wh_map handles; /* by id: the holder of each */
	struct wh_later *first, *last;
	uint32_t type_number;
	uint16_t generation;
	uint8_t state; /* enum wh_property_state */
	bool latched;  /* a launched function has it */
	bool doomed;   /* its last handle has gone */
	/* It has come from another node, which has not said yet that it knows that: until then it is there, and here a copy. */
	bool arriving;
	uint32_t next_free;
	/* Sent on: where it is, and this trustee's own handle there. */
	struct wh_party *to;
	uint32_t to_property;
	bool has_moved_on; /* while it was asked for */
	uint64_t to_handle;
};

#define WH_PROPERTY_CHUNK 1024 /* they never move in memory */
#define WH_PROPERTY_CHUNKS 4096
#define WH_GENERATION_BITS 10 /* of a name: which of those that have had its index */

struct wh_properties { /* [trustee] */
	struct wh_property *chunks[WH_PROPERTY_CHUNKS];
	uint32_t count;                 /* of places */
	uint32_t first_free, last_free; /* the one that is free longest is used next; UINT32_MAX: none */
};

/* The property of that name; NULL: there is none. */
static inline struct wh_property *wh_property_find(const struct wh_properties *all, uint32_t name)
{
	uint32_t index = name >> WH_GENERATION_BITS;
	struct wh_property *property;

	if (index >= all->count)
		return NULL;
	property = &all->chunks[index / WH_PROPERTY_CHUNK][index % WH_PROPERTY_CHUNK];
	return property->generation == (name & ((1u << WH_GENERATION_BITS) - 1)) && property->state != WH_PROPERTY_FREE
		       ? property
		       : NULL;
}

/* It can be used at once: no call waits for it. */
static inline bool wh_property_is_open(const struct wh_property *property)
{
	return property->state == WH_PROPERTY_LIVE && !property->latched && property->first == NULL;
}

/* ---- channels ---------------------------------------------------------------------------------------------------------------- */

enum wh_ticket_kind {
	WH_TICKET_NONE,    /* no matter how it ends */
	WH_TICKET_WAIT,    /* a: struct wh_wait */
	WH_TICKET_THEN,    /* `then`, and b: its ctx */
	WH_TICKET_JOIN,    /* a: struct wh_joined */
	WH_TICKET_FORWARD, /* a, b: a struct wh_origin, to which it is told */
	WH_TICKET_ADOPT,   /* a: the struct wh_later of a move */
	WH_TICKET_FOLLOW,  /* a: the same of one that asks where its property is */
	WH_TICKET_UNDO,    /* what is entrusted is not wanted any more: a: the channel, b: the id of its handle */
};

struct wh_ticket { /* what becomes of an answer */
	enum wh_ticket_kind kind;
	uint32_t result_bytes;
	union {
		void *a;
		whorl_then_fn *then;
	};
	void *b;
};

/* What takes batches to another process, and from there: a lane. Channels within this process have none: the slots are what both sides see.
 * Of a channel that comes from there it carries answers, and takes calls. */
struct wh_carrier {
	/* Whether one more batch may be put into the slot, and be carried. */
	bool (*has_room)(const struct wh_channel *channel);
	/* From `begins` in the room to the end of the slot it is one write, with its guard as its last word, which no byte before may come
	 * after (T3). `number`: of calls that of the batch, of answers so many batches of calls have been served. */
	void (*carry)(struct wh_channel *channel, struct wh_slot *slot, uint64_t number);
	/* The next batch that has come is copied into its slot. */
	enum wh_taken (*take)(struct wh_channel *channel);
};

struct wh_channel {
	/* Those between nodes have more room, before the slots; of others it is never touched. */
	_Alignas(128) unsigned char calls_more[WH_SLOT_MORE];
	struct wh_slot calls; /* [client writes, trustee reads] */
	_Alignas(128) unsigned char answers_more[WH_SLOT_MORE];
	struct wh_slot answers; /* [trustee writes, client reads] */
	/* [const] */
	_Alignas(128) struct wh_party *client;
	struct wh_party *trustee;
	const struct wh_carrier *carrier; /* NULL: memory of this process */
	struct wh_party *relay; /* NULL, or the worker of another node to which the trustee passes on all of it */
	/* [client] */
	uint64_t posted, settled;  /* batches so far; of them those that have been answered */
	uint64_t partial;          /* between nodes: the last that had room left */
	bool held;                 /* nothing is posted yet: its link is not up */
	enum whorl_result refusal; /* not WHORL_OK: nothing is taken any more: its link has ended */
	bool active;               /* it is in the client's list of those in which something is pending, or under way */
	struct wh_bytes pending;   /* records */
	uint32_t pending_records;
	struct wh_ticket *tickets; /* a ring, by the numbers of calls: first .. sent are under way, sent .. next pending */
	uint64_t first, sent, next, ticket_mask;
	uint64_t mailed;          /* so many calls have gone without the slot: their numbers are above all others */
	struct wh_map deferred;   /* by number: struct wh_ticket, allocated */
	struct wh_bytes answered; /* answers that come in several batches */
	/* [trustee] */
	_Alignas(128) uint64_t served; /* batches so far */
	uint64_t numbered;             /* calls so far */
	struct wh_bytes assembly;      /* arguments that come in parts */
	struct wh_bytes out;           /* answers that have no room in the slot yet */
	uint32_t out_count, out_flags;
	struct wh_channel *newcomer; /* [the work's lock] */
};

#define WH_BATCHES_AT_ONCE 32 /* of a link, then others have their turn */

static inline int wh_channel_more(const struct wh_channel *channel)
{
	return channel->carrier != NULL ? WH_SLOT_MORE : 0;
}

/* Of its slots, for records or answers. */
static inline size_t wh_channel_room(const struct wh_channel *channel)
{
	return WH_SLOT_ROOM + (size_t)wh_channel_more(channel);
}

static inline bool wh_in_flight(const struct wh_channel *channel)
{
	return channel->posted != channel->settled;
}

/* A channel to itself: calls from delegated context to the worker that runs it, and whatever may not run at once. */
static inline bool wh_channel_is_own(const struct wh_channel *channel)
{
	return channel->client == channel->trustee;
}

/* ---- parties ----------------------------------------------------------------------------------------------------------------- */

struct wh_wait { /* a call that is waited for */
	bool done;
	bool late; /* its time is up */
	enum whorl_result status;
	void *result;
	size_t room, bytes; /* of the result: room for it, and what it has */
	struct wh_task *task;
	uint64_t deadline_ns;
	struct wh_wait *older, *newer; /* of those of a worker */
	struct wh_wait *next_poller;
	void *owned; /* by the one that waits; freed when the call has been issued: a fiber may never go on */
};

struct wh_joined { /* a fiber that was spawned, and is to be joined */
	struct wh_party *party;
	bool done;
	enum whorl_result status;
	struct wh_wait *wait;
	uint32_t result_bytes;
	_Alignas(8) unsigned char result[];
};

struct wh_party_stats { /* [trustee writes; anyone reads] */
	wh_word calls, lent_calls, batches, batch_calls, largest_batch, deferred, refused, functions_ns, looking_ns,
		properties;
};

struct whorl_reply { /* the result of a function of bytes, while it runs; or what a property is saved into */
	struct wh_bytes *out;
	size_t bytes, most; /* most: 0: WHORL_CALL_BYTES_MAX */
	bool failed;        /* something could not be added */
};

#define WH_RECENT 8

struct wh_party {
	/* [const] */
	whorl_work *work;
	uint32_t number;          /* workers are the first */
	struct wh_worker *worker; /* NULL: a plain thread */
	struct wh_gate *gate;
	struct wh_bell *bell;
	struct wh_link *link; /* NULL, or it is the worker of another node, at the other end of that */
	/* What each batch writes lies together, far from what others read at each call, above. */
	_Alignas(128) bool in_function; /* [client] delegated context, as in_then is */
	bool borrowed;                  /* [trustee, down to `stats`] by a thread that is not the worker's */
	bool owner_only;                /* something was left that a thread which has borrowed this may not do */
	bool serves_all;                /* a thread has asked, and may sleep */
	uint32_t lent_turn;
	uint64_t looks; /* for what is sampled */
	struct wh_party_stats stats;
	/* [client] */
	_Alignas(128) bool in_then;
	bool polls;                                 /* answers are being taken: what is sent meanwhile goes together */
	uint32_t turn;                              /* calls since the last yield */
	uint64_t ids;                               /* so many were given */
	const struct whorl_function *last_function; /* and its number: most calls are of the function of the last */
	uint32_t last_number;
	uint32_t out_count;
	struct wh_channel **out; /* by the number of the trustee; NULL: none yet */
	struct wh_channel **active;
	size_t active_count, active_capacity;
	uint64_t thens, thens_open; /* how many have run; how many are to come */
	struct wh_wait *waits;      /* of fibers: the newest */
	uint64_t next_deadline_ns;  /* of them, or earlier */
	struct wh_wait *pollers;    /* of them: those that wait for any `then` */
	struct wh_backoff backoff;
	struct wh_bytes scratch, spare; /* of the own channel: results, and records that are being run */
	struct wh_bytes direct;         /* the result of a function of bytes that the caller runs itself */
	/* [trustee] */
	struct wh_channel **in;
	size_t in_count, in_capacity;
	/* Which clients the last batches were from. */
	struct wh_party *recent[WH_RECENT];
	uint32_t recent_at;
	uint64_t learnt_ns; /* since when they are noted */
	struct wh_properties properties;
	struct wh_later *launched; /* those that run in fibers, the newest */
	wh_word shards;            /* [whorl_work_serve writes] the first struct wh_shard that it has; 0: none */
	/* [any] */
	_Alignas(128) wh_word newcomers; /* channels that are to be taken into `in`; the list is under the work's lock */
	struct wh_channel *newcomer;     /* [the work's lock] */
	struct wh_later *mail,
		*last_mail; /* [the work's lock] fibers that plain threads have spawned while their slot was in use */
	wh_word unsettled;  /* [client writes; anyone reads] something is under way */
	wh_word crowded;    /* [trustee writes; anyone reads] its clients have all processors: a hint */
	wh_word asked;      /* the thread that has borrowed this worker serves all: another sleeps until then */
	struct wh_party *next_idle;  /* [the work's lock] of plain threads that have ended */
	struct wh_bell own_bell;     /* of a plain thread */
	struct wh_worker own_worker; /* of a worker */
};

#define WH_PARTIES_MOST 8192 /* with plain threads, at a time */

enum { WH_WORK_OPEN, WH_WORK_CLOSING, WH_WORK_CLOSED };

struct whorl_work {
	uint64_t serial; /* [const] differs from that of any other work */
	const struct wh_env *env;
	struct wh_table table;
	uint32_t workers, dedicated, node;
	uint32_t processors; /* that the process may use */
	bool threads;        /* workers have threads of their own; else the caller makes their passes */
	whorl_node *host;    /* [const] of whorl_work_open: visitors of it are shown the workers; NULL: none */
	uint64_t opened_ns;  /* [const] */
	wh_word state;
	wh_word next_property, next_fiber; /* where the next goes */
	pthread_key_t key;                 /* of plain threads: their party */
	bool has_key;
	pthread_mutex_t lock;
	struct wh_party *parties[WH_PARTIES_MOST]; /* [lock writes; those of workers are const] */
	uint32_t party_count;
	struct wh_net *net; /* [const] other nodes (link.h); NULL: this process alone */
	uint64_t id_key;    /* [const] of handles' ids, which differ from those of other nodes; 0: there are none */
	const struct whorl_type **types; /* [const] of the options */
	size_t type_count;
	struct wh_shard *shards[64]; /* that it serves (shard.h): WH_SHARDS_MOST */
	wh_word shard_count;
	struct wh_party *idle;       /* [lock] */
	struct whorl_shared *shared; /* [lock] */
};

struct wh_request {
	uint16_t function;
	uint16_t flags; /* WH_RECORD_LAUNCH */
	uint32_t property;
	const void *data;
	size_t bytes;
};

/* ---- party.c ----------------------------------------------------------------------------------------------------------------- */

struct wh_here {
	whorl_work *work;
	uint64_t serial;
	struct wh_party *party;
};

struct wh_here *wh_here(void); /* the thread's: which party it is now */
struct wh_party *wh_party_slow(whorl_work *work);
/* Which party this thread is; a plain thread becomes one. NULL: no memory. */
struct wh_party *wh_party_here(whorl_work *work);
/* This thread is `party` from now on; what it was is returned, for wh_leave. */
struct wh_here wh_enter(struct wh_party *party);
void wh_leave(struct wh_here before);
/* NULL: no memory, or too many parties. */
struct wh_party *wh_party_make_proxy(whorl_work *work);
WH_MUST_CHECK enum whorl_result wh_party_make_worker(whorl_work *work, uint32_t number, size_t stack_bytes,
						     struct wh_error *err);
void wh_party_free(struct wh_party *party);
void wh_parties_end(void *party); /* its thread has ended */

/* The client's channel to that party. NULL: no memory. */
struct wh_channel *wh_channel_new(struct wh_party *client, struct wh_party *trustee);
static inline struct wh_channel *wh_channel_to(struct wh_party *client, struct wh_party *trustee)
{
	struct wh_channel *channel = trustee->number < client->out_count ? client->out[trustee->number] : NULL;

	return channel != NULL ? channel : wh_channel_new(client, trustee);
}
/* [trustee] Channels that are new, and mail. */
void wh_take_newcomers(struct wh_party *me);
/* A fiber is started at the channel's trustee, whether the slot is free or not. WHORL_OK, WHORL_MEMORY, WHORL_CLOSED, WHORL_FORKED. */
WH_MUST_CHECK enum whorl_result wh_mail(struct wh_channel *channel, const struct wh_request *request,
					const struct wh_ticket *ticket);

static inline bool wh_is_delegated(const struct wh_party *party)
{
	return party->in_function || party->in_then;
}

static inline bool wh_in_fiber(const struct wh_party *party)
{
	return party->worker != NULL && party->worker->tasks.running != NULL && !wh_is_delegated(party);
}

/* A fresh id for a handle. They are never given twice: by the number of the party, and how many it has given. Where there are other nodes these
 * are scattered by a random key, one to one, so that theirs are others. */
uint64_t wh_scattered_id(struct wh_party *party);
static inline uint64_t wh_fresh_id(struct wh_party *party)
{
	if (party->work->id_key != 0)
		return wh_scattered_id(party);
	return ((uint64_t)party->number + 1) << 40 | ++party->ids;
}

/* Stores a batch: what is in the slot is seen by the thread that loads the guard with acquire (wh_collect, wh_serve). */
static inline void wh_post(struct wh_channel *channel, struct wh_slot *slot, uint64_t number)
{
	if (channel->carrier != NULL)
		channel->carrier->carry(channel, slot, number);
	else
		wh_store_release(&slot->guard, number);
}

/* ---- send.c ------------------------------------------------------------------------------------------------------------------ */

/* Puts a call behind those that are pending, and sends them where that is better done at once. `number` may be NULL. WHORL_OK,
 * WHORL_AGAIN, WHORL_MEMORY; WHORL_CLOSED, WHORL_FORKED. */
WH_MUST_CHECK enum whorl_result wh_issue_with(struct wh_channel *channel, const struct wh_request *request,
					      const struct wh_ticket *ticket, uint64_t *number);
WH_MUST_CHECK static inline enum whorl_result wh_issue(struct wh_channel *channel, const struct wh_request *request,
						       struct wh_ticket ticket, uint64_t *number)
{
	return wh_issue_with(channel, request, &ticket, number);
}
/* One that has no answer. */
WH_MUST_CHECK enum whorl_result wh_issue_one_way(struct wh_party *me, struct wh_party *trustee,
						 const struct wh_request *request);
/* Posts what can be. Returns how many batches. */
size_t wh_flush(struct wh_party *me);
/* Something lies in the slot of `channel`: if its trustee sleeps this thread serves it, or else it is woken. `patient`: this thread will ask again,
 * so while another serves it there is no need to. */
void wh_nudge(struct wh_channel *channel, bool patient);
/* Those under way to a trustee that sleeps: served by this thread, if it can be. */
size_t wh_help(struct wh_party *me);
/* Before this thread sleeps, or goes where it does not ask again: those that it waits for are awake. `asked`: or are borrowed, and better left so;
 * wh_ask_trustees was called before this thread parked. */
void wh_wake_trustees(struct wh_party *me, bool asked);
/* A thread that has borrowed one of those that this thread waits for does not end that without another look. */
void wh_ask_trustees(struct wh_party *me);
/* A call that is pending is taken back: it will not run. False: it has been sent. */
bool wh_take_back(struct wh_channel *channel, uint64_t number);
WH_MUST_CHECK bool wh_borrow(struct wh_party *trustee, struct wh_here *before);
void wh_give_back(struct wh_party *trustee, struct wh_here before);

/* ---- answer.c ---------------------------------------------------------------------------------------------------------------- */

/* Takes what has been answered. Returns how many batches. */
size_t wh_collect(struct wh_party *me);
/* How that call ended, of which the answer was WH_DEFERRED, or will be. */
void wh_completed(struct wh_channel *channel, uint64_t number, enum whorl_result status, const void *data,
		  size_t bytes);
void wh_settle(struct wh_party *me, const struct wh_ticket *ticket, enum whorl_result status, const void *data,
	       size_t bytes);
/* The ticket of a call that has not ended. NULL: it has. */
struct wh_ticket *wh_ticket_of(const struct wh_channel *channel, uint64_t number);
static inline struct wh_ticket *wh_ticket_at(const struct wh_channel *channel, uint64_t number)
{
	return &channel->tickets[number & channel->ticket_mask];
}
/* A deferred call keeps its ticket. */
void wh_defer(struct wh_channel *channel, uint64_t number, const struct wh_ticket *ticket);
/* All calls of this party end, as `sent` if they were sent, else as `pending`; what comes of them is dropped. */
void wh_end_calls(struct wh_party *me, enum whorl_result sent, enum whorl_result pending);
/* Those of one channel, which takes no more: what comes gives `pending`. */
void wh_channel_end(struct wh_channel *channel, enum whorl_result sent, enum whorl_result pending);

/* ---- serve.c ----------------------------------------------------------------------------------------------------------------- */

/* Looks into all slots once. Returns how many batches there were. */
size_t wh_serve(struct wh_party *me, bool borrowed);
/* By a thread that has borrowed it: its own slot, NULL if there is none, and others'. */
size_t wh_serve_lent(struct wh_party *me, struct wh_channel *own);
/* Awake it would be of no use: its clients run their calls themselves, and have all processors. */
bool wh_may_rest(struct wh_party *me);
/* The own channel. Returns how many calls. */
size_t wh_serve_own(struct wh_party *me);

/* ---- perform.c --------------------------------------------------------------------------------------------------------------- */

/* Does what a call says; its result is added to `out`, padded. An enum whorl_result, or WH_DEFERRED. `waited`: it has waited for its
 * property, and its turn is now. */
uint32_t wh_perform(struct wh_party *me, struct wh_origin origin, const struct wh_record *record, const void *args,
		    size_t bytes, struct wh_bytes *out, bool waited);
void wh_perform_one_way(struct wh_party *me, struct wh_channel *channel, const struct wh_record *record,
			const void *args, size_t bytes);
/* Runs a function that may be: its arguments have the right size. WHORL_OK, WHORL_MEMORY. */
enum whorl_result wh_run(const struct wh_known *known, void *object, const void *args, size_t bytes,
			 struct wh_bytes *out);

struct wh_entrust_args {
	uint64_t id, type; /* of the first handle; a struct whorl_type, of this process */
	uint32_t type_number, unused;
};

/* A handle comes or goes; if it comes it is `holder`'s. */
void wh_toggle(struct wh_party *me, uint32_t name, uint64_t id, uint64_t holder);

struct wh_toggle_args {
	uint64_t id;
	/* Only if the handle comes into being for another node than the one that sends this: */
	uint32_t node, unused;
};

/* Bytes of the results of a function; UINT32_MAX: any. */
static inline uint32_t wh_result_bytes(const struct wh_known *known)
{
	return (known->function->flags & WHORL_TAKES_BYTES) != 0 ? UINT32_MAX : known->result_bytes;
}

/* ---- later.c ----------------------------------------------------------------------------------------------------------------- */

/* A copy of a call. NULL: no memory. */
struct wh_later *wh_later_new(struct wh_party *me, struct wh_origin origin, const struct wh_record *record,
			      const void *args, size_t bytes);
void wh_later_free(struct wh_later *later);
void wh_later_append(struct wh_property *property, struct wh_later *later);
/* Tells the client. */
void wh_complete(struct wh_party *me, struct wh_origin origin, enum whorl_result status, const void *data,
		 size_t bytes);
/* Runs what waits for the property, as far as it goes, and drops it if it is doomed. */
void wh_later_run(struct wh_party *me, uint32_t name);
/* A function in a fiber of its own; its property is open. As wh_perform. */
uint32_t wh_launch(struct wh_party *me, struct wh_later *later, struct wh_bytes *out);

/* ---- move.c ------------------------------------------------------------------------------------------------------------------ */

struct wh_move_args {
	uint64_t id;                  /* of the handle that the mover gets there */
	uint32_t node, worker;        /* WHORL_WORKER_ANY: it stays, and that handle is made where it is */
	uint32_t mover;               /* the node that it is of */
	uint32_t proxy_worker, proxy; /* of that node: the property that is to be told when it moves; 0: none */
	uint32_t unused;
};

struct wh_place {    /* the answer: as in a struct whorl_trust */
	uint64_t id; /* 0: it is there already, the handle stays */
	uint64_t incarnation;
	uint32_t node, worker, property, unused;
};

static inline void wh_trust_put(struct whorl_trust *trust, const struct wh_place *place)
{
	trust->id = place->id;
	trust->node = place->node;
	trust->worker = place->worker;
	trust->property = place->property;
	trust->room[0] = place->incarnation;
}

/* Of that property of that trustee, with that handle. */
struct wh_place wh_place_at(const struct wh_party *trustee, uint32_t property, uint64_t id);
/* It has one handle more, which is of that node. */
WH_MUST_CHECK enum whorl_result wh_make_handle(struct wh_party *me, struct wh_party *trustee, uint32_t property,
					       uint64_t id, uint32_t node);

#define WH_NAME_BYTES 8 /* of a property, as an answer: padded */

struct wh_adopt_args { /* within a process; between nodes struct wh_entrust_args and the bytes of the property */
	uint64_t object, type;      /* addresses, of this process */
	uint64_t id;                /* of the handle of the trustee that had it */
	uint32_t type_number, name; /* name: that it had there */
};

uint32_t wh_move(struct wh_party *me, struct wh_origin origin, const struct wh_record *record, const void *args,
		 size_t bytes, struct wh_bytes *out);
uint32_t wh_adopt(struct wh_party *me, struct wh_origin origin, const void *args, size_t bytes, struct wh_bytes *out);
void wh_moved(struct wh_later *later, enum whorl_result status, const void *data, size_t bytes);
/* That of a type that may be moved by its bytes. */
bool wh_type_travels(const struct whorl_type *type);
/* A call to a property that is elsewhere. As wh_perform. */
uint32_t wh_send_on(struct wh_party *me, const struct wh_property *property, struct wh_origin origin,
		    const struct wh_record *record, const void *args, size_t bytes);

/* ---- follow.c ---------------------------------------------------------------------------------------------------------------- */

struct wh_moved_on_args {
	uint32_t worker, property; /* where it was */
};

/* This property has been moved on: those that send on to it are told. */
void wh_follow_tell(struct wh_party *me, const struct wh_property *property, uint32_t name);
void wh_follow_told(struct wh_party *me, uint32_t name, const struct wh_moved_on_args *args);
/* It is here: with a handle more, of `holder` if it is of no proxy of this process. As wh_perform. */
uint32_t wh_follow_find(struct wh_party *me, const struct wh_move_args *args, uint32_t name, uint64_t holder,
			struct wh_bytes *out);
void wh_followed(struct wh_later *later, enum whorl_result status, const void *data, size_t bytes);

/* ---- property.c -------------------------------------------------------------------------------------------------------------- */

/* Programs that know no flags of types have smaller ones. */
#define WH_TYPE_LEAST offsetof(struct whorl_type, flags)
#define WH_TYPE_FLAGS (WH_TYPE_LEAST + sizeof(uint32_t)) /* with them */

/* The name of a new one, with that handle; 0: no memory. `object` becomes its. */
uint32_t wh_property_new(struct wh_party *me, void *object, const struct whorl_type *type, uint32_t type_number,
			 uint64_t id, uint64_t holder);
/* One that is sent on: its handle where it is goes back. */
void wh_property_let_go(struct wh_party *me, const struct wh_property *property);
/* Drops it if its last handle has gone and nothing waits for it. */
void wh_property_settle(struct wh_party *me, uint32_t name);
void wh_properties_close(struct wh_party *me);
/* The handles of that holder are gone. */
void wh_properties_forget(struct wh_party *me, uint32_t holder);
void *wh_object_new(size_t bytes, const void *init);

/* ---- wait.c ------------------------------------------------------------------------------------------------------------------ */

/* Until it is done, or that time is up: false. */
WH_MUST_CHECK bool wh_wait_for(struct wh_party *me, struct wh_wait *wait, int timeout_ms);
/* [client] Of a worker: fibers that have waited long enough are woken. */
size_t wh_expire(struct wh_party *me);
void wh_wait_done(struct wh_party *me, struct wh_wait *wait);
/* A plain thread: one look at all that concerns it. Returns how much there was. */
size_t wh_look(struct wh_party *me);
/* A plain thread that has found nothing: it waits a little, or sleeps. */
void wh_rest(struct wh_party *me, uint64_t deadline_ns);
/* A plain thread waits so long, or less. In simulation others go on meanwhile, each as the party that it is. */
void wh_nap(const whorl_work *work, uint64_t ns);

/* ---- call.c ------------------------------------------------------------------------------------------------------------------ */

/* Sends, and waits for the answer. `undo`: the id of a handle that is not wanted if the answer comes late; else 0. */
WH_MUST_CHECK enum whorl_result wh_call(struct wh_party *me, struct wh_party *trustee, const struct wh_request *request,
					struct wh_wait *wait, uint64_t undo, int timeout_ms);
/* A worker of this process. WHORL_OK, WHORL_UNSUPPORTED, WHORL_NOT_FOUND. */
WH_MUST_CHECK enum whorl_result wh_trustee_at(const whorl_work *work, uint32_t node, uint32_t worker,
					      struct wh_party **out);
/* Of a handle, here or in another node: also WHORL_AGAIN, WHORL_GONE, WHORL_REFUSED. */
WH_MUST_CHECK enum whorl_result wh_trustee_of(const whorl_work *work, const struct whorl_trust *trust,
					      struct wh_party **out);
/* The work of a handle: one that has come from another node is of the work that this thread is a worker of. */
static inline whorl_work *wh_work_of(const struct whorl_trust *trust)
{
	if (__builtin_expect(trust->work != NULL, 1))
		return trust->work;
	return trust->id == 0 ? NULL : wh_here()->work; /* else it is all zero: no trust */
}
/* The number of a function; UINT32_MAX: it is not registered. */
static inline uint32_t wh_number_of(struct wh_party *me, const struct whorl_function *function)
{
	if (me->last_function != function) {
		me->last_number = wh_table_find(&me->work->table, function);
		me->last_function = function;
	}
	return me->last_number;
}
/* In a fiber, after a call that did not wait: now and then the others have a turn. */
void wh_take_turns(struct wh_party *me);

/* ---- noref.c ----------------------------------------------------------------------------------------------------------------- */

/* An address of memory of this process is among these bytes: where. The work and what is shared (whorl_share) may be. */
bool wh_find_pointer(whorl_work *work, const void *data, size_t bytes, size_t *at);
/* In builds with costly checks: WHORL_INVALID for arguments with one. */
enum whorl_result wh_check_arguments(whorl_work *work, const struct whorl_function *function, const void *data,
				     size_t bytes);

/* ---- work.c ------------------------------------------------------------------------------------------------------------------ */

/* whorl_work_open with another environment, and, without `threads`, workers that the caller steps (delegation/steps.h). */
struct wh_endpoint;
struct wh_work_plan {
	const struct wh_env *env;
	uint32_t node;
	const struct wh_endpoint *endpoint; /* of the node; NULL: this process alone */
	bool threads;
};
WH_MUST_CHECK enum whorl_result wh_work_make_on(const struct whorl_work_options *options,
						const struct wh_work_plan *plan, whorl_work **out,
						struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_work_make(const struct whorl_work_options *options, const struct wh_env *env,
					     uint32_t node, bool threads, whorl_work **out, struct wh_error *err);

#endif
