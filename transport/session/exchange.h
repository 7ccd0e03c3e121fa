/* exchange.h - how an image becomes ready, which is alike on shm, tcp and verbs.
 *
 * Each pair of members exchanges two messages: "this is my row", an offer, and "I have mapped yours": its place is known here. The
 * image is ready when both have come from every member that is not frozen: none can then miss what I push, nor I what they push.
 * Images come and go while peers still have theirs open, or not yet: what they say of one that is not open here is kept or ignored
 * (the transport's peers), and one that is closed says nothing. What an offer is made of, and what it is to map one, is the
 * transport's. Loop thread only.
 */
#ifndef WH_TRANSPORT_SESSION_EXCHANGE_H
#define WH_TRANSPORT_SESSION_EXCHANGE_H

#include "transport/session/event_queue.h"

/* With the member of one rank. */
struct wh_exchange_row {
	bool offered;      /* it has been offered my row */
	bool offers_again; /* it is to be offered it again: the peer may have dropped the offer */
	bool mapped;       /* its row is mapped here */
	bool told;         /* and it knows */
	bool confirmed;    /* it has mapped mine */
	bool frozen;
};

struct wh_exchange_ops {
	/* The row's peer is there, and is the incarnation that the row belongs to: not one that has come after it. */
	bool (*is_here)(const struct wh_image *image, uint32_t rank);
	/* Offers it my row. False: not now; service() is called when it can be tried again. */
	bool (*offer)(struct wh_image *image, uint32_t rank);
	/* Maps what it has offered. NULL: it did not fit, and the peer has been refused or lost, or it is tried again. *offered: there was
	 * an offer at all; it is false at first. */
	const unsigned char *(*map)(struct wh_image *image, uint32_t rank, bool *offered);
	/* Tells it that its row is mapped. False: not now, as above. */
	bool (*tell)(struct wh_image *image, uint32_t rank);
};

struct wh_exchange {
	const struct wh_exchange_ops *ops;
	struct wh_exchange_row *rows;         /* by rank */
	const unsigned char **control, **row; /* by rank: those of the image, once it is ready */
	bool settled;                         /* nothing is left to be sent or to be waited for */
};

/* An image as it is before it is ready; its own row is still to be set. */
struct wh_image wh_exchange_image(struct wh_transport *transport, const struct wh_image_spec *spec);
/* False: no memory; what there is is freed by wh_exchange_close. */
bool wh_exchange_open(struct wh_exchange *x, const struct wh_exchange_ops *ops, uint32_t members);
void wh_exchange_close(struct wh_exchange *x); /* also of one that is all zeros */

/* Sends and maps what can be, while there is room for events. The image becomes ready here. Returns how much was done. */
size_t wh_exchange_advance(struct wh_exchange *x, struct wh_image *image, const struct wh_event_queue *event_queue);
/* It says that it has mapped my row: which it can have only if it was offered. */
void wh_exchange_confirmed(struct wh_exchange_row *row);
/* Its row is still to be mapped. */
bool wh_exchange_wants(const struct wh_exchange_row *row);

#endif
