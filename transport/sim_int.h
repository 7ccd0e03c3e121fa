/* sim_int.h - inside the simulator's transport.
 *
 *     sim.c       the world: events, time, environments, the digest
 *     sim_node.c  endpoints: how they meet, their doorbells, events and control messages
 *     sim_image.c images: rows and copies of rows, freeze
 *     sim_wire.c  pushes on their way
 *     sim_fault.c crashes, cuts, broken connections
 */
#ifndef WH_TRANSPORT_SIM_INT_H
#define WH_TRANSPORT_SIM_INT_H

#include "transport/dice.h"
#include "transport/sim.h"

struct sim_event {
	uint64_t when_ns, number; /* of two at one time the lower number comes first */
	wh_sim_fn *fn;
	void *ctx;
	uint64_t argument;
};

/* ---- pushes on their way: sim_wire.c ------------------------------------------------------------------------------ */

struct sim_flight { /* a push to one peer */
	struct sim_flight *next;
	uint64_t key;
	uint64_t offset, bytes;    /* in the row */
	const unsigned char *live; /* the sender's row; NULL: `bytes` bytes are in `copy` */
	uint64_t due_ns;           /* not before */
	bool loud, rings;          /* rings: the last loud one of its batch */
	uint32_t pieces, arrived;  /* pieces == 0: has not begun */
	uint32_t last;             /* pieces that will ever arrive; the rest was cut off */
	uint8_t order[WH_SIM_PIECES_MAX];
	unsigned char copy[];
};

struct sim_queue {
	struct sim_notice *head, **tail;
};

struct sim_link { /* from one node to another */
	struct wh_sim *sim;
	uint32_t from, to;
	struct wh_sim_link_cost cost;
	uint64_t free_ns; /* from then on nothing occupies it */

	struct sim_flight *head, **tail;
	struct sim_flight *last_loud; /* of the batch that is being posted */
	bool scheduled;               /* an event will show the next piece */

	bool met;                 /* `from` has met `to` */
	bool gone;                /* `from` knows that `to` is gone, or has broken with it */
	bool leaving;             /* `from` has left; `to` is told when all before it has arrived */
	uint64_t controls;        /* messages that `to` has not taken yet */
	uint64_t controls_flying; /* of them, those under way */
	uint64_t control_due_ns;  /* messages arrive in order */

	bool cut_off;          /* nothing comes through */
	bool broken;           /* nor will it ever, in either direction */
	struct sim_queue held; /* messages and notices that a cut holds up */
	bool postponed;        /* and their meeting */
};

/* What `from` sends will come to `to`, as far as `from` knows. */
static inline bool wh_sim_connected(const struct sim_link *link)
{
	return link->met && !link->gone && !link->broken;
}

struct sim_image;

struct sim_node;

void wh_sim_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
/* My row will not be there any more: what is under way from it takes its bytes along. */
void wh_sim_detach(struct sim_image *image);
/* The batches that are being posted end here: their last loud pushes ring. */
void wh_sim_end_batch(struct sim_node *node);
/* What is under way is cut off anywhere. */
void wh_sim_truncate(struct sim_link *link);
/* Goes on with what is under way. */
void wh_sim_resume(struct sim_link *link);
void wh_sim_drop_flight(struct sim_link *link);

/* ---- images: sim_image.c ------------------------------------------------------------------------------------------ */

struct sim_row {
	uint32_t node;
	uint64_t bytes;
	struct wh_row_part *parts;
	size_t part_count;
	unsigned char *copy;   /* of a peer's row: its parts are mapped, all else faults. Of mine: mine */
	unsigned char *frozen; /* T9: its columns as they were; zeros, if the image was not ready then */
	bool offered;          /* each of us has sent its row to the other */
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
void wh_sim_freeze(struct wh_image *base, uint32_t rank);

/* NULL if that node has no such image open. */
struct sim_image *wh_sim_image_find(const struct sim_node *node, uint64_t key);
/* Where bytes of `from`'s row go in this image; NULL if they belong to no part of it. */
unsigned char *wh_sim_image_place(const struct sim_image *image, uint32_t from, uint64_t offset, uint64_t bytes);
/* Begins the exchange of rows between these two, for the views that both have open. */
void wh_sim_image_exchange(struct sim_node *one, struct sim_node *other);
/* service() sees the row of `about`, or that `about` has seen mine. */
void wh_sim_image_offered(struct sim_node *node, uint32_t about, uint64_t key);
void wh_sim_image_confirmed(struct sim_node *node, uint32_t about, uint64_t key);
void wh_sim_image_become_ready(struct wh_image *base);

/* ---- endpoints: sim_node.c ---------------------------------------------------------------------------------------- */

enum sim_notice_kind { /* the first are those of enum wh_transport_event_kind */
		       SIM_ROW_OFFERED = WH_EVENT_CONTROL + 1,
		       SIM_ROW_CONFIRMED,
};

struct sim_notice { /* what service() sees; if it is an event, next_event() gives it then */
	struct sim_notice *next;
	struct wh_sim *sim; /* while it is under way */
	int kind;
	uint32_t node; /* that it is from, or about */
	uint64_t key;
	struct wh_image *image;
	size_t bytes;
	char text[];
};

struct sim_node {
	struct wh_transport base;
	struct wh_sim *sim;
	uint32_t id;
	struct wh_env env;
	struct wh_dice dice;
	uint64_t clock_offset_ns;
	char group[64];
	uint32_t nodes;
	bool created, dead, left; /* dead: crashed or destroyed */
	bool armed, rung;
	bool ringing; /* a ring is under way */
	struct wh_sim_node_cost cost;
	uint64_t busy_until_ns; /* with posting */
	uint64_t card_free_ns;  /* from then on its card has nothing to send */
	struct sim_image *images;
	struct sim_queue inbox, events;
	struct wh_sim_counts counts;
};

#define SIM_CONTROLS 64 /* messages to one peer that it has not taken, before WHORL_AGAIN */

void wh_sim_ring(struct sim_node *node);
/* At once, from `about`. */
void wh_sim_notify(struct sim_node *node, enum wh_transport_event_kind kind, uint32_t about, struct wh_image *image,
		   const char *text);
/* From one end of the link to the other, where it arrives at that time, or when the link is healed. `kind` is of
 * enum wh_transport_event_kind or enum sim_notice_kind. */
void wh_sim_send_notice(struct sim_link *link, uint64_t when_ns, int kind, uint64_t key, const void *text,
			size_t bytes);
void wh_sim_refuse_each_other(struct sim_node *one, struct sim_node *other, const char *why);
/* Something from `from` to `to` has arrived: if `from` has left and that was the last, `to` gets to know. */
void wh_sim_arrived(struct sim_link *link);
/* Tells `to` that rows are exchanged, some time later. */
void wh_sim_send_row(struct sim_link *link, enum sim_notice_kind kind, uint64_t key);
/* Some time later they meet. */
void wh_sim_meet(struct sim_link *link);
/* The link has been healed: what is held comes through. */
void wh_sim_release(struct sim_link *link);
/* Notices and events of this image are not seen any more; NULL: none at all. */
void wh_sim_forget(struct sim_node *node, const struct wh_image *image);
void wh_sim_drop_held(struct sim_link *link);
/* Frees what an event that never happens holds. */
void wh_sim_drop_event(struct sim_event *event);

/* ---- the world: sim.c ----------------------------------------------------------------------------------------------- */

struct wh_sim {
	struct wh_sim_options options;
	struct wh_dice dice;
	uint64_t now_ns, digest;
	uint64_t under_way;
	char verdict[512]; /* "": none */

	struct sim_event *events; /* a heap: the earliest first */
	size_t event_count, event_capacity;
	uint64_t event_number;

	struct sim_node *nodes; /* by id */
	struct sim_link *links; /* from x nodes + to */
};

static inline uint64_t wh_sim_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline struct sim_link *wh_sim_link(const struct wh_sim *sim, uint32_t from, uint32_t to)
{
	return &sim->links[(uint64_t)from * sim->options.nodes + to];
}

/* A delay on that link, from the dice. */
uint64_t wh_sim_delay(struct sim_link *link);
void wh_sim_condemn(struct wh_sim *sim, uint32_t node, const char *format, ...) WH_PRINTF(3, 4);

#endif
