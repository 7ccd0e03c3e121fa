/* sim_int.h - inside the simulator's transport.
 *
 *     sim.c        the world: events, time, hosts and paths, the digest
 *     sim/net/node.c   endpoints: their doorbells, events and control messages, the questions of visitors
 *     sim/net/meet.c   lives: how they begin, meet, leave, and are told of each other's ends
 *     sim/net/notice.c what endpoints are told, on its way
 *     sim/net/image.c  images: rows and copies of rows, freeze
 *     sim/net/wire.c   pushes on their way
 *     sim/net/card.c   what a network card makes of them
 *     sim/net/card_room.c   what the card, its memory and the switch have no room for
 *     sim/net/stream.c streams
 *     sim/net/remote.c regions
 *     sim/net/account.c   operations on them, on their way
 *     sim/net/process.c   what a node's process has of the world: its clock, log, jobs and files
 *     sim/net/fault.c  crashes, cuts, broken connections
 *     sim/net/proof.c  proofs of death
 *
 * A host is for ever, and so are the paths between two hosts. An endpoint (struct sim_node) is one life of a host: when it is
 * over there may be another. Links are between lives: what was under way from or to a life that is over ends in that
 * life's links. Lives and links are kept until the world ends.
 */
#ifndef WH_SIM_NET_SIM_INT_H
#define WH_SIM_NET_SIM_INT_H

#include "sim/net/sim.h"
#include "transport/dice.h"
#include "transport/session/session.h"

struct sim_event {
	uint64_t when_ns, number; /* of two at one time the lower number comes first */
	wh_sim_fn *fn;
	void *ctx;
	uint64_t argument;
};

/* ---- pushes on their way: sim/net/push.c ------------------------------------------------------------------------------ */

struct sim_flight { /* a push to one peer */
	struct sim_flight *next;
	uint64_t key;
	uint64_t offset, bytes;    /* in the row */
	uint32_t rank;             /* of the owner of the row in that image */
	const unsigned char *live; /* the row at the sender; NULL: `bytes` bytes are in `copy` */
	uint64_t due_ns;           /* not before; SIM_NOT_SENT: the card has not sent all of it */
	bool loud, rings;          /* rings: the last loud one of its batch */
	bool words;                /* has room for more of them */
	uint32_t pieces, arrived;  /* pieces == 0: has not begun */
	uint32_t last;             /* pieces that will ever arrive; the rest was cut off */
	uint8_t order[WH_SIM_PIECES_MAX];
	unsigned char copy[];
};

#define SIM_NOT_SENT UINT64_MAX

#define SIM_LINES 8 /* at most that many are told apart */

struct sim_lines {      /* written since the receiver's processor looked last */
	uint64_t looks; /* when: as the host counts them */
	uint32_t count;
	uint64_t line[SIM_LINES];
};

struct sim_queue {
	struct sim_message *head, **tail;
};

struct sim_path { /* from one host to another */
	struct wh_sim_link_cost cost;
	uint64_t free_ns;       /* from then on nothing occupies it */
	uint64_t late_ns;       /* that pushes have been when they had come, at most */
	bool cut_off;           /* nothing comes through */
	struct sim_queue held;  /* messages that a cut holds up */
	struct sim_link *links; /* the newest first */
};

struct sim_link { /* from one life to another */
	struct wh_sim *sim;
	struct sim_path *path;
	struct sim_node *from, *to;
	struct sim_link *back;   /* the other way */
	struct sim_link *older;  /* on the same path */
	struct sim_link *former; /* of the same life, to the one that `to` took the place of */

	struct sim_flight *head, **tail;
	struct sim_flight *last_loud; /* of the batch that is being posted */
	struct sim_link *next_loud;   /* in the list of links with such a push */
	bool scheduled;               /* an event will show the next piece */

	/* Of the card: sim/net/card.c. */
	struct sim_link *next_turn;  /* in the list of links that the card has something for */
	struct sim_flight *unsent;   /* the first that the card has not sent whole; NULL: none */
	uint64_t handed, sent_bytes; /* unsent pushes that the card has; bytes of the first that it has sent */
	bool has_turn;               /* is in that list, or it is its turn */
	struct sim_lines lines;      /* that have come by it: sim/net/card_room.c */

	struct sim_link *next_proof;
	bool over;    /* `from` had met `to`, and has not any more */
	bool broken;  /* nothing will ever come through, in either direction */
	bool proved;  /* `from` has been told that the process of `to` has ended */
	bool leaving; /* `from` has left; `to` is told, over that call, when all before it has arrived */
	struct sim_call *last_call;
	struct sim_stream *streams;
	struct sim_account *account; /* what `to` has granted `from`, and what that has posted; NULL: nothing */
};

/* The link of this life to the life that `to` took the place of. */
static inline struct sim_link *wh_sim_former(const struct sim_link *link)
{
	return link->former;
}

struct sim_image;
struct sim_node;
struct sim_stream;

void wh_sim_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
/* This image's rows will not be there any more: what is under way from them takes its bytes along. */
void wh_sim_detach(struct sim_image *image);
/* The batches that are being posted end here: their last loud pushes ring. */
void wh_sim_end_batch(struct sim_node *node);
/* What is under way is cut off anywhere. */
void wh_sim_truncate(struct sim_link *link);
/* Goes on with what is under way. */
void wh_sim_resume(struct sim_link *link);
void wh_sim_drop_flight(struct sim_link *link);

/* ---- the card: sim/net/card.c ----------------------------------------------------------------------------------------- */

static inline bool wh_sim_has_card(const struct sim_link *link);
/* The card gets the push, the last on this link, at that time. */
void wh_sim_card_take(struct sim_link *link, struct sim_flight *flight, uint64_t when_ns);
/* The link ends: what is left on it does not wait for the card. */
void wh_sim_card_drop(struct sim_link *link);

/* ---- images: sim/net/image.c ------------------------------------------------------------------------------------------ */

struct sim_row {
	struct sim_link *link; /* to its owner; NULL: not found yet */
	unsigned char *copy;   /* of a peer's row: its parts are mapped, all else faults. Of mine: mine */
	unsigned char *frozen; /* T9: its columns as they were; zeros, if the image was not ready then */
};

struct sim_image {
	struct wh_session_image base;
	struct sim_node *node;
	struct sim_row *rows; /* by rank */
};

enum whorl_result wh_sim_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err);
void wh_sim_image_close(struct wh_image *base);
void wh_sim_freeze(struct wh_image *base, uint32_t rank);
/* As in struct wh_plane_ops. */
const unsigned char *wh_sim_image_map(struct wh_session_image *image, uint32_t rank, const unsigned char *own,
				      size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES]);

bool wh_sim_thaw(struct wh_image *base, uint32_t rank);
/* That node's memory of this image holds what `from` pushes: its row is mapped there. */
bool wh_sim_image_has(const struct sim_image *image, const struct sim_node *from);
/* NULL if that node has no such image open. */
struct sim_image *wh_sim_image_find(const struct sim_node *node, uint64_t key);
/* Where bytes of that row go in this image; NULL if they belong to no part of it. */
unsigned char *wh_sim_image_place(const struct sim_image *image, uint32_t rank, uint64_t offset, uint64_t bytes);
/* They are of the row of `from`, or of one that it relays to that node (T14). */
bool wh_sim_may_push(const struct sim_image *image, const struct sim_node *from, uint32_t rank, uint64_t offset,
		     uint64_t bytes);
/* The link to the owner of that row. */
struct sim_link *wh_sim_image_link(struct sim_image *image, uint32_t rank);

/* ---- streams: sim/net/stream.c ---------------------------------------------------------------------------------------- */

/* NULL: no memory, or *full: there are so many already. */
struct sim_stream *wh_sim_stream_new(struct sim_link *link, uint64_t tag, struct wh_stream **writer, bool *full);
/* News of it have arrived. */
void wh_sim_stream_offer(struct sim_stream *stream);
/* The node of its reader has no use for it. */
void wh_sim_stream_disown(struct sim_stream *stream);
/* Returns the end that now has an owner. */
struct wh_stream *wh_sim_stream_take(struct sim_stream *stream);
/* Goes on with what is under way. */
void wh_sim_streams_resume(struct sim_link *link);
/* One end of this link has died: `from` if `writes`. What it has written is cut off anywhere, unless it has left. */
void wh_sim_streams_orphan(struct sim_link *link, bool writes);
/* The connection has broken. */
void wh_sim_streams_tear(struct sim_link *link);
/* Something of them has not arrived that still may. */
bool wh_sim_streams_flying(const struct sim_link *link);
uint32_t wh_sim_streams_count(const struct sim_link *link);
/* The world ends; streams with open ends live on without it. */
void wh_sim_streams_free(struct sim_link *link);

/* ---- regions: sim/net/remote.c, sim/net/account.c ---------------------------------------------------------------------------- */

extern const struct wh_remote_ops wh_sim_remote_ops;

/* What a peer that has been met says of its regions. False: it has no place there. */
bool wh_sim_remote_on_message(struct sim_node *node, uint32_t from, const struct wh_message *m);
/* Carries out what waits for a loop to do it. Returns how much that was. */
size_t wh_sim_remote_serve(struct sim_node *node);
/* Goes on with what is under way. */
void wh_sim_remote_resume(struct sim_account *account);
/* For the initiator the target has ended. */
void wh_sim_remote_end(struct sim_account *account);
/* The initiator has died, or the connection is broken: what is under way is cut off anywhere. */
void wh_sim_remote_truncate(struct sim_account *account);
void wh_sim_remote_close(struct sim_node *node); /* its regions */
void wh_sim_remote_free(struct sim_node *node);  /* all else that it has of them */

/* ---- connections: sim/net/call.c --------------------------------------------------------------------------------------- */

enum sim_message_kind {
	SIM_CALLS,    /* to the host: some life is to accept */
	SIM_ACCEPTED, /* by the host, whether the life looks or not */
	SIM_ENTERS,   /* and its host knows: the life has a caller */
	SIM_NOBODY,   /* no life is there */
	SIM_SAYS,     /* a message of the session */
	SIM_HANGS_UP,
};

#define SIM_VERSION 1

struct sim_message {
	struct sim_message *next;
	struct sim_call *call;
	struct sim_stream *stream; /* that it opens; NULL: none */
	enum sim_message_kind kind;
	uint32_t to; /* a side of the call */
	bool counts; /* among what is under way */
	size_t bytes;
	unsigned char data[];
};

struct sim_end { /* of a call: a connection of a session's */
	struct wh_conn base;
	struct sim_call *call;
	uint32_t side;
	struct sim_message *heard; /* the message that was received last */
	bool again;                /* it is to be received again: its lane has the connection now */
};

struct sim_call { /* one connection, or what is to become one. Side 0 has called side 1 */
	struct wh_sim *sim;
	struct sim_call *next, **at;
	uint32_t host[2];          /* ids; UINT32_MAX: a visitor */
	struct sim_node *node[2];  /* NULL: a visitor, or not accepted yet */
	struct sim_link *link[2];  /* from node[side] to the other; NULL: none yet, or a visitor's */
	struct sim_end *end[2];    /* NULL: none yet, or closed */
	bool closed[2];            /* that side has hung up */
	bool finished[2];          /* nothing comes to that side any more */
	bool left[2];              /* that side has left in order: its last words come in the end */
	uint64_t due_ns[2];        /* what goes to that side arrives in order */
	uint64_t waiting[2];       /* bytes that go to that side, and have not been taken */
	uint64_t sent[2], came[2]; /* messages to that side; those beyond `most` never arrive */
	uint64_t most[2];
	uint32_t controls[2];     /* messages of its user's to that side, on their way */
	struct sim_queue come[2]; /* what has arrived at that side */
	uint32_t users;           /* ends, and messages on their way */
	bool torn;                /* nothing leaves any more */
	bool entered;             /* side 1 has, or had, a caller */
	bool greeted;             /* the caller knows that it is accepted: until then its hello waits */
	size_t hello_bytes;
	unsigned char hello[WH_HEAD_BYTES + WH_HELLO_BYTES];
	wh_sim_answer_fn *fn; /* a visitor's */
	void *ctx;
};

extern const struct wh_wire_ops wh_sim_wire_ops, wh_sim_host_wire_ops; /* of networks; of one host */

/* What its session has asked to be woken for. */
void wh_sim_calls_look_at_clock(struct sim_node *node);
/* Takes in what has come. Returns how much that was. */
size_t wh_sim_calls_serve(struct sim_node *node);
/* Those that wait to be accepted never will be. */
void wh_sim_calls_turn_away(struct sim_node *node);
/* The life has ended: what it has sent is cut off anywhere, unless it has left; `silently`: no node is told. */
void wh_sim_calls_die(struct sim_node *node, bool silently);
/* The connection of these two lives breaks. */
void wh_sim_calls_break(struct sim_link *link);
/* A cut is healed. */
void wh_sim_calls_release(struct wh_sim *sim, struct sim_path *path);
/* All that `from` had pushed and written before it left has arrived. */
void wh_sim_calls_say_goodbye(struct sim_link *link);
uint64_t wh_sim_calls_messages(const struct wh_sim *sim, uint32_t from, uint32_t to);
/* The world ends: frees what is left, or what an event that never happens holds. */
void wh_sim_calls_free(struct wh_sim *sim);
void wh_sim_drop_arrival(const struct sim_event *event);

/* ---- endpoints: sim/net/node.c ---------------------------------------------------------------------------------------- */

struct sim_node {                         /* an endpoint: one life of a host */
	struct wh_session_transport base; /* its session is NULL once it is destroyed */
	struct wh_transport_ops ops;      /* [const] */
	struct wh_sim *sim;
	struct sim_host *host;
	uint32_t id;
	uint64_t incarnation;
	struct sim_node *former; /* the life before */
	char group[WH_MESSAGE_GROUP_BYTES];
	uint32_t lane;                    /* [const] 0: it is no lane */
	struct sim_node *main;            /* [const] the node that it is a lane of; else itself */
	struct sim_node *lanes;           /* its lanes */
	struct sim_node *next_lane;       /* of the same node */
	struct wh_lanes *lanes_in_common; /* NULL: once it is destroyed */
	uint32_t nodes;
	bool dead, left; /* dead: crashed or destroyed */
	bool vanished;   /* dead, and no node has been told */
	bool armed, rung;
	bool ringing;         /* a ring is under way */
	uint64_t alarm_ns;    /* of its session; 0: none */
	bool alarmed;         /* it has come */
	bool rests;           /* does not hear callers */
	uint64_t come;        /* messages that have arrived, and callers */
	uint64_t come_before; /* when it waited last */
	struct sim_queue callers;
	uint64_t past_key;     /* no image below it will be opened any more: so its user has said */
	struct sim_link *loud; /* with a loud push in the batch that is being posted */
	struct sim_region *regions;
	struct sim_account *accounts, *own_account; /* all of them; and the one to itself, NULL: none */
	struct sim_account *served;                 /* accounts of others to this node */
	struct sim_link *proofs, **proofs_tail;     /* to lives that are proved to be dead, and no event says so yet */
	struct sim_immediate *immediates, **immediates_tail;
	struct sim_link *links[]; /* by id: the newest; NULL: none */
};

#define SIM_STREAMS 16 /* to one peer that are not over */

void wh_sim_ring(struct sim_node *node);
void wh_sim_tell_rung(const struct sim_node *node); /* the world's user */
/* That lane of it, or itself; NULL: it has no such lane. */
struct sim_node *wh_sim_lane_of(struct sim_node *life, uint32_t lane);
/* The link to that life; NULL: they were never there together. */
struct sim_link *wh_sim_link_to(const struct sim_node *node, uint32_t id, uint64_t incarnation);
/* The link to the life of `id` that this node has met; NULL: none. */
struct sim_link *wh_sim_met(const struct sim_node *node, uint32_t id);
/* Something from `from` to `to` has arrived: if `from` has left and that was the last, `to` gets to know. */
void wh_sim_arrived(struct sim_link *link);
void wh_sim_free_node(struct sim_node *node);

/* ---- faults: sim/net/fault.c ------------------------------------------------------------------------------------------ */

void wh_sim_die(struct sim_node *node, bool silently);

/* ---- proofs of death: sim/net/proof.c --------------------------------------------------------------------------------- */

/* The life has ended: others will have the proof of it, if its process has. */
void wh_sim_prove(struct sim_node *node, bool killed);
/* Takes the oldest that is due. */
bool wh_sim_next_proof(struct sim_node *node, struct wh_transport_event *out);
/* Has all that it posted arrived at all that have its row? */
bool wh_sim_has_landed(const struct sim_node *node);

/* ---- processes: sim/net/process.c -------------------------------------------------------------------------------------- */

struct sim_process;
struct sim_task;

bool wh_sim_process_begin(struct sim_host *host); /* false: no memory */
/* It ends at once: its jobs do nothing more that is seen, and its locks are free. */
void wh_sim_process_end(struct sim_host *host);
void wh_sim_processes_free(struct sim_host *host);
/* It is an event of a job, and what it holds is freed. */
bool wh_sim_drop_job(const struct sim_event *event);

/* ---- the world: sim.c ----------------------------------------------------------------------------------------------- */

struct sim_host { /* what a node has in all its lives */
	struct wh_sim *sim;
	uint32_t id;
	struct sim_process *process; /* the newest; one that has ended has another after it when that is asked for */
	struct wh_dice dice;
	struct wh_dice task_dice; /* of what only lasting jobs and disks draw */
	struct wh_sim_disk *disk; /* NULL: none. Where all are on one host it is host 0's */
	uint64_t clock_offset_ns;
	struct wh_sim_node_cost cost;
	uint64_t busy_until_ns; /* with posting */
	uint64_t card_free_ns;  /* from then on its card has nothing to send */
	struct sim_link *turns; /* links that its card has something for, in the order of their turns */
	struct sim_link **turns_tail;
	struct sim_link *sending; /* the one that has its turn; an event is its end. NULL: the card has nothing */
	uint64_t port_free_ns;    /* from then on nothing comes in by its link */
	uint64_t memory_free_ns;  /* from then on its memory moves nothing */
	uint64_t *pair_used; /* by peer: when its queue pair was used last, as pair_uses counts; NULL: all are known */
	uint64_t pair_uses;
	uint64_t looks, lines; /* at what cards have written; lines that they have since the last */
	struct wh_sim_counts counts;
	struct sim_node *life; /* the newest; NULL: none yet */
	bool held;             /* its id is, by a process that has no endpoint yet */
};

struct wh_sim {
	struct wh_sim_options options;
	struct wh_dice dice;
	uint64_t now_ns, digest;
	uint64_t under_way;
	bool in_pass;          /* wh_sim_look */
	struct sim_task *task; /* the fiber that runs now; NULL: none, or it steps the world itself */
	int process_count;
	char verdict[512]; /* "": none */

	struct sim_event *events; /* a heap: the earliest first */
	size_t event_count, event_capacity;
	uint64_t event_number;

	struct sim_call *calls;
	struct sim_host *hosts; /* by id */
	struct sim_path *paths; /* from x nodes + to */
	int pagemap;            /* of this process, where rows are copied; -1: there is none */
};

static inline bool wh_sim_has_card(const struct sim_link *link)
{
	return link->sim->options.card.bytes_per_s > 0;
}

/* ---- what the card has no room for: sim/net/card_room.c --------------------------------------------------------------- */

bool wh_sim_pairs_begin(struct sim_host *host); /* false: no memory */
/* How long the host's card fetches what it needs to know of its queue pair with `peer`. */
uint64_t wh_sim_pair_ns(struct sim_host *host, uint32_t peer);
/* When the switch has room for more that goes to this host. */
uint64_t wh_sim_port_opens_ns(const struct sim_host *host);
/* A word has come by that link. */
void wh_sim_line_written(struct sim_link *link, const struct sim_flight *flight);

static inline uint64_t wh_sim_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline struct sim_path *wh_sim_path(const struct wh_sim *sim, uint32_t from, uint32_t to)
{
	return &sim->paths[(uint64_t)from * sim->options.nodes + to];
}

/* A delay on that link, from the dice. */
uint64_t wh_sim_delay(struct sim_link *link);
uint64_t wh_sim_late(const struct sim_link *link); /* so long the first push on it has been due */
void wh_sim_condemn(struct wh_sim *sim, uint32_t node, const char *format, ...) WH_PRINTF(3, 4);

#endif
