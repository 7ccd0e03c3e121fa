/* sim_int.h - inside the simulator's transport.
 *
 *     sim.c        the world: events, time, hosts and wires, the digest
 *     sim/net/node.c   endpoints: their doorbells, events and control messages, the questions of visitors
 *     sim/net/meet.c   lives: how they begin, meet, leave, and are told of each other's ends
 *     sim/net/notice.c what endpoints are told, on its way
 *     sim/net/image.c  images: rows and copies of rows, freeze
 *     sim/net/wire.c   pushes on their way
 *     sim/net/card.c   what a network card makes of them
 *     sim/net/stream.c streams
 *     sim/net/remote.c regions
 *     sim/net/lane.c   operations on them, on their way
 *     sim/net/fault.c  crashes, cuts, broken connections
 *
 * A host is for ever, and so are the wires between two hosts. An endpoint (struct sim_node) is one life of a host: when it is
 * over there may be another. Links are between lives: what was under way from or to a life that is over ends in that
 * life's links. Lives and links are kept until the world ends.
 */
#ifndef WH_SIM_NET_SIM_INT_H
#define WH_SIM_NET_SIM_INT_H

#include "sim/net/sim.h"
#include "transport/dice.h"

struct sim_event {
	uint64_t when_ns, number; /* of two at one time the lower number comes first */
	wh_sim_fn *fn;
	void *ctx;
	uint64_t argument;
};

/* ---- pushes on their way: sim/net/wire.c ------------------------------------------------------------------------------ */

struct sim_flight { /* a push to one peer */
	struct sim_flight *next;
	uint64_t key;
	uint64_t offset, bytes;    /* in the row */
	const unsigned char *live; /* the sender's row; NULL: `bytes` bytes are in `copy` */
	uint64_t due_ns;           /* not before; SIM_NOT_SENT: the card has not sent all of it */
	bool loud, rings;          /* rings: the last loud one of its batch */
	bool words;                /* has room for more of them */
	uint32_t pieces, arrived;  /* pieces == 0: has not begun */
	uint32_t last;             /* pieces that will ever arrive; the rest was cut off */
	uint8_t order[WH_SIM_PIECES_MAX];
	unsigned char copy[];
};

#define SIM_NOT_SENT UINT64_MAX

struct sim_queue {
	struct sim_notice *head, **tail;
};

struct sim_wire { /* from one host to another */
	struct wh_sim_link_cost cost;
	uint64_t free_ns;       /* from then on nothing occupies it */
	bool cut_off;           /* nothing comes through */
	struct sim_link *links; /* the newest first; those of one life of the sender are neighbours */
};

struct sim_link { /* from one life to another */
	struct wh_sim *sim;
	struct sim_wire *wire;
	struct sim_node *from, *to;
	struct sim_link *back;  /* the other way */
	struct sim_link *older; /* on the same wire */

	struct sim_flight *head, **tail;
	struct sim_flight *last_loud; /* of the batch that is being posted */
	struct sim_link *next_loud;   /* in the list of links with such a push */
	bool scheduled;               /* an event will show the next piece */

	/* Of the card: sim/net/card.c. */
	struct sim_link *next_turn;  /* in the list of links that the card has something for */
	struct sim_flight *unsent;   /* the first that the card has not sent whole; NULL: none */
	uint64_t handed, sent_bytes; /* unsent pushes that the card has; bytes of the first that it has sent */
	bool has_turn;               /* is in that list, or it is its turn */

	/* What `from` knows of `to`: it meets it, in the end it is over, with or without a meeting. */
	bool met, over;
	bool knocking;  /* before they meet `to` has to look */
	bool ending;    /* the news of its end are under way */
	bool waiting;   /* the end of the life before comes first */
	bool postponed; /* the meeting, until a cut is healed */
	bool sought;    /* `to` was there when `from` came */

	bool broken;              /* nothing will ever come through, in either direction */
	bool leaving;             /* `from` has left; `to` is told when all before it has arrived */
	uint64_t controls;        /* messages that `to` has not taken yet */
	uint64_t controls_flying; /* of them, those under way */
	uint64_t control_due_ns;  /* messages arrive in order */
	struct sim_queue held;    /* what a cut holds up, or that `to` has not met `from` yet */
	struct sim_stream *streams;
	struct sim_lane *lane; /* what `to` has granted `from`, and what that has posted; NULL: nothing */
	uint64_t grant_due_ns; /* what `from` says of its regions arrives in order */
};

/* What `from` sends will come to `to`, as far as `from` knows. */
static inline bool wh_sim_connected(const struct sim_link *link)
{
	return link->met && !link->over && !link->broken;
}

/* The link of this life to the life that `to` took the place of. */
static inline struct sim_link *wh_sim_former(const struct sim_link *link)
{
	return link->older != NULL && link->older->from == link->from ? link->older : NULL;
}

struct sim_image;
struct sim_node;
struct sim_stream;

void wh_sim_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
/* This node's row will not be there any more: what is under way from it takes its bytes along. */
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
	uint32_t node;
	uint64_t incarnation;
	struct sim_link *link; /* to its owner, once each of us has sent its row to the other */
	uint64_t bytes;
	struct wh_row_part *parts;
	size_t part_count;
	unsigned char *copy;   /* of a peer's row: its parts are mapped, all else faults. Of mine: mine */
	unsigned char *frozen; /* T9: its columns as they were; zeros, if the image was not ready then */
	bool seen, confirmed;  /* its row is here; and it has said that mine is there */
};

struct sim_image {
	struct wh_image base;
	struct sim_node *node;
	struct sim_image *next;
	uint64_t digest, control_bytes;
	bool announced;                       /* that it is ready */
	struct sim_row *rows;                 /* by rank */
	const unsigned char **control, **row; /* of `base`, once it is ready */
};

enum whorl_result wh_sim_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err);
void wh_sim_image_close(struct wh_image *base);
void wh_sim_past(struct wh_transport *transport, uint64_t key);
void wh_sim_freeze(struct wh_image *base, uint32_t rank);

/* NULL if that node has no such image open. */
struct sim_image *wh_sim_image_find(const struct sim_node *node, uint64_t key);
/* Where bytes of `from`'s row go in this image; NULL if they belong to no part of it. */
unsigned char *wh_sim_image_place(const struct sim_image *image, const struct sim_node *from, uint64_t offset,
				  uint64_t bytes);
/* Begins the exchange of rows between the ends of a link, for the images that both have open. */
void wh_sim_image_exchange(struct sim_link *link);
/* service() of `node` sees the row of `about`, or that `about` has seen its own. */
void wh_sim_image_offered(struct sim_node *node, const struct sim_node *about, uint64_t key);
void wh_sim_image_confirmed(struct sim_node *node, const struct sim_node *about, uint64_t key);
void wh_sim_image_become_ready(struct wh_image *base);

/* ---- streams: sim/net/stream.c ---------------------------------------------------------------------------------------- */

enum whorl_result wh_sim_stream_open(struct wh_transport *transport, uint32_t to, uint64_t tag, struct wh_stream **out);
/* News of it have arrived. */
void wh_sim_stream_offer(struct sim_stream *stream);
/* Its event will never be taken. */
void wh_sim_stream_disown(struct sim_stream *stream);
/* Its event has been taken; returns the end that now has an owner. */
struct wh_stream *wh_sim_stream_take(struct sim_stream *stream, uint64_t *tag);
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

/* ---- regions: sim/net/remote.c, sim/net/lane.c ---------------------------------------------------------------------------- */

extern const struct wh_remote_ops wh_sim_remote_ops;

struct sim_notice;
/* service() sees what a peer says of its regions. */
void wh_sim_remote_on_message(struct sim_node *node, const struct sim_notice *notice);
/* Carries out what waits for a loop to do it. Returns how much that was. */
size_t wh_sim_remote_serve(struct sim_node *node);
/* Goes on with what is under way. */
void wh_sim_remote_resume(struct sim_lane *lane);
/* For the initiator the target has ended. */
void wh_sim_remote_end(struct sim_lane *lane);
/* The initiator has died, or the connection is broken: what is under way is cut off anywhere. */
void wh_sim_remote_truncate(struct sim_lane *lane);
void wh_sim_remote_close(struct sim_node *node); /* its regions */
void wh_sim_remote_free(struct sim_node *node);  /* all else that it has of them */

/* ---- notices: sim/net/notice.c ---------------------------------------------------------------------------------------- */

enum sim_notice_kind { /* the first are those of enum wh_transport_event_kind */
		       SIM_ROW_OFFERED = WH_EVENT_QUERY + 1,
		       SIM_ROW_CONFIRMED,
		       SIM_KNOCK, /* from a node that would meet this one */
		       SIM_REGION_GRANTED,
		       SIM_REGION_WITHDRAWN,
};

struct sim_notice { /* what service() sees; if it is an event, next_event() gives it then */
	struct sim_notice *next;
	struct sim_link *link; /* that it came by, from the node that it is about; NULL: about no other */
	int kind;
	uint64_t key; /* of an image, of a visitor; the name of a region */
	struct wh_image *image;
	struct sim_stream *stream;
	size_t bytes;
	char text[];
};

/* At once, and about no other node. */
void wh_sim_notify(struct sim_node *node, enum wh_transport_event_kind kind, uint64_t key, struct wh_image *image,
		   const void *text, size_t bytes);
/* At once, to one end of the link about the other, `from`. */
void wh_sim_tell(struct sim_link *link, enum wh_transport_event_kind kind, const char *text);
/* From one end of the link to the other, where it arrives at that time, or when the link is healed. `kind` is of
 * enum wh_transport_event_kind or enum sim_notice_kind. */
void wh_sim_send_notice(struct sim_link *link, uint64_t when_ns, int kind, uint64_t key, const void *text,
			size_t bytes);
/* Tells `to` that rows are exchanged, some time later. */
void wh_sim_send_row(struct sim_link *link, enum sim_notice_kind kind, uint64_t key);
/* Tells `to` that there is a stream, some time later. */
void wh_sim_send_stream(struct sim_link *link, struct sim_stream *stream);
/* What held things up does so no more: what is held comes through. */
void wh_sim_release(struct sim_link *link);
/* Notices and events of this image are not seen any more; NULL: none at all. */
void wh_sim_forget(struct sim_node *node, const struct wh_image *image);

struct sim_notice *wh_sim_queue_take(struct sim_queue *queue);
void wh_sim_queue_append(struct sim_queue *queue, struct sim_notice *notice);
void wh_sim_free_notice(struct sim_notice *notice);
/* The world ends: frees what is held, or what an event that never happens holds. */
void wh_sim_drop_held(struct sim_link *link);
void wh_sim_drop_arrival(const struct sim_event *event);

/* ---- lives: sim/net/meet.c -------------------------------------------------------------------------------------------- */

/* Links between this life, which is new, and those that are there; they will meet. */
enum whorl_result wh_sim_introduce(struct sim_node *node, struct wh_error *err);
/* `to` has seen that `from` is there, or there is nothing to wait for any more: some time later `from` meets it. */
void wh_sim_answer_knock(struct sim_link *link);
/* A cut is healed, that may have kept them apart. */
void wh_sim_meet_after_all(struct sim_link *link);
/* `from` is told that it and `to` do not go together. */
void wh_sim_refuse(struct sim_link *link, const char *why);
/* For `from` it is over. */
void wh_sim_end_link(struct sim_link *link);
void wh_sim_leave(struct wh_transport *transport);
/* Something from `from` to `to` has arrived: if `from` has left and that was the last, `to` gets to know. */
void wh_sim_arrived(struct sim_link *link);
bool wh_sim_searching(struct wh_transport *transport);

/* ---- endpoints: sim/net/node.c ---------------------------------------------------------------------------------------- */

struct sim_query {
	struct sim_query *next;
	uint64_t number;
	wh_sim_answer_fn *fn;
	void *ctx;
};

struct sim_node { /* an endpoint: one life of a host */
	struct wh_transport base;
	struct wh_transport_ops ops; /* [const] */
	struct wh_sim *sim;
	struct sim_host *host;
	uint32_t id;
	uint64_t incarnation;
	struct sim_node *former; /* the life before */
	char group[64];
	uint32_t nodes;
	bool dead, left; /* dead: crashed or destroyed */
	bool armed, rung;
	bool ringing; /* a ring is under way */
	uint64_t began_ns;
	bool searching;     /* as far as any caller has asked */
	uint64_t search_ns; /* at least */
	struct sim_image *images;
	uint64_t past_key;     /* no image below it will be opened any more: so its user has said */
	struct sim_link *loud; /* with a loud push in the batch that is being posted */
	struct sim_queue inbox, events;
	struct sim_query *queries;
	struct sim_region *regions;
	struct sim_lane *lanes, *own_lane; /* all of them; and the one to itself, NULL: none */
	struct sim_lane *served;           /* lanes of others to this node */
	struct sim_immediate *immediates, **immediates_tail;
	struct sim_link **known;  /* by id: to the life that its user was told it has met */
	struct sim_link *links[]; /* by id: the newest; NULL: none */
};

#define SIM_CONTROLS 64 /* messages to one peer that it has not taken, before WHORL_AGAIN */
#define SIM_STREAMS 16  /* to one peer that are not over */

void wh_sim_ring(struct sim_node *node);
void wh_sim_free_node(struct sim_node *node);

/* ---- faults: sim/net/fault.c ------------------------------------------------------------------------------------------ */

void wh_sim_die(struct sim_node *node, bool silently);
/* When the end of a connection is noticed at the far end of this link. */
uint64_t wh_sim_notice_time(struct sim_link *link);

/* ---- the world: sim.c ----------------------------------------------------------------------------------------------- */

struct sim_host { /* what a node has in all its lives */
	struct wh_sim *sim;
	uint32_t id;
	struct wh_env env;
	struct wh_dice dice;
	uint64_t clock_offset_ns;
	struct wh_sim_node_cost cost;
	uint64_t busy_until_ns; /* with posting */
	uint64_t card_free_ns;  /* from then on its card has nothing to send */
	struct sim_link *turns; /* links that its card has something for, in the order of their turns */
	struct sim_link **turns_tail;
	struct sim_link *sending; /* the one that has its turn; an event is its end. NULL: the card has nothing */
	uint64_t port_free_ns;    /* from then on nothing comes in by its link */
	struct wh_sim_counts counts;
	struct sim_node *life; /* the newest; NULL: none yet */
};

struct wh_sim {
	struct wh_sim_options options;
	struct wh_dice dice;
	uint64_t now_ns, digest;
	uint64_t under_way;
	char verdict[512]; /* "": none */

	struct sim_event *events; /* a heap: the earliest first */
	size_t event_count, event_capacity;
	uint64_t event_number;

	uint64_t queries;
	struct sim_host *hosts; /* by id */
	struct sim_wire *wires; /* from x nodes + to */
};

static inline bool wh_sim_has_card(const struct sim_link *link)
{
	return link->sim->options.card.bytes_per_s > 0;
}

static inline uint64_t wh_sim_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline struct sim_wire *wh_sim_wire(const struct wh_sim *sim, uint32_t from, uint32_t to)
{
	return &sim->wires[(uint64_t)from * sim->options.nodes + to];
}

/* A delay on that link, from the dice. */
uint64_t wh_sim_delay(struct sim_link *link);
/* Of a message or a notice. On one host what is sent lies with its receiver at once. */
uint64_t wh_sim_notice_delay(struct sim_link *link);
void wh_sim_condemn(struct wh_sim *sim, uint32_t node, const char *format, ...) WH_PRINTF(3, 4);

#endif
