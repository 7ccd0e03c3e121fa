/* message.h - what two nodes on RDMA say to each other beside the messages of a session (transport/session/message.h): where rows
 * and regions are, and the numbers of queue pairs. docs/wire.md.
 *
 * It goes over the connection of their session, and so is as safe as that. All numbers are little-endian. Nothing here looks at a
 * device or keeps anything: what has come from outside is decoded into plain structs, or found wanting, before any node acts on it.
 */
#ifndef WH_TRANSPORT_VERBS_MESSAGE_H
#define WH_TRANSPORT_VERBS_MESSAGE_H

#include "transport/session/wire.h"

#define WH_VERBS_MAGIC UINT64_C(0x6272762d6c726877) /* "whrl-vrb" */

/* ---- what it adds to messages of the session ------------------------------------------------------------------------ */

/* To HELLO: the magic number in the byte order of the host. Rows are in it as well, so hosts of different ones cannot be of one
 * group. */
#define WH_VERBS_HELLO_BYTES 8

void wh_verbs_put_hello(unsigned char own[WH_VERBS_HELLO_BYTES]);
bool wh_verbs_take_hello(const unsigned char *own, size_t bytes);

struct wh_verbs_offer {
	uint64_t base;    /* address of the parts of your row in my memory, one after the other */
	uint32_t rkey;    /* their key */
	uint32_t in_qp;   /* takes your writes */
	uint32_t out_qp;  /* brings mine */
	uint32_t out_psn; /* its first number: of 24 bits */
};

#define WH_VERBS_OFFER_BYTES 24 /* without the parts */
#define WH_VERBS_PART_BYTES 16
#define WH_VERBS_PARTS_MAX ((WH_OWN_OFFER_MAX - WH_VERBS_OFFER_BYTES) / WH_VERBS_PART_BYTES)

/* The parts of your row that are there: ascending, none over another; at most WH_VERBS_PARTS_MAX. Returns how many bytes that are. */
size_t wh_verbs_put_offer(unsigned char *own, const struct wh_verbs_offer *offer, const struct wh_row_part *parts,
			  size_t part_count);
/* False: it is none; or its parts do not lie within a row of `row_bytes`, in ascending order. */
bool wh_verbs_take_offer(struct wh_verbs_offer *offer, struct wh_row_part parts[WH_VERBS_PARTS_MAX], size_t *part_count,
			 const unsigned char *own, size_t bytes, uint64_t row_bytes);

/* ---- messages of its own -------------------------------------------------------------------------------------------- */

enum wh_verbs_kind {
	WH_VERBS_TOKEN =
		WH_MESSAGE_OWN, /* of the node of the lower id: connect to me with this, at the port `number`; 0: of my address */
	WH_VERBS_SHUT,       /* I take no more of your writes to the image `number` */
	WH_VERBS_ACCOUNT,    /* my queue pair for operations on regions */
	WH_VERBS_GRANT,      /* my region `number`, which you may use */
	WH_VERBS_WITHDRAWN,  /* no more */
	WH_VERBS_RELEASED,   /* I have nothing under way on your region `number` */
	WH_VERBS_IMMEDIATES, /* `number` of yours have been taken so far */
	WH_VERBS_KINDS
};

#define WH_VERBS_TOKEN_BYTES 16
#define WH_VERBS_MESSAGE_MAX (WH_HEAD_BYTES + 20)

struct wh_verbs_message {
	enum wh_verbs_kind kind;
	uint64_t number;
	union { /* the others have nothing more */
		unsigned char token[WH_VERBS_TOKEN_BYTES];
		struct {
			uint32_t qp, psn; /* ACCOUNT */
		};
		struct {
			uint64_t bytes, address; /* GRANT */
			uint32_t rkey;
		};
	};
};

/* Head and body; returns how many bytes that are. */
size_t wh_verbs_put_message(unsigned char bytes[WH_VERBS_MESSAGE_MAX], const struct wh_verbs_message *message);
/* False: there is no such kind, or its body is not as long as it should be; or a region does not fit the memory of any host. */
bool wh_verbs_take_message(struct wh_verbs_message *message, const struct wh_message_head *head,
			   const unsigned char *body);

/* ---- a request to connect, by librdmacm ----------------------------------------------------------------------------- */

/* Its private data, which has room for 56 bytes. It can be read on the network, under TLS too. */
#define WH_VERBS_REQUEST_BYTES 40

struct wh_verbs_request {
	uint32_t node;
	uint64_t incarnation;
	unsigned char token[WH_VERBS_TOKEN_BYTES];
};

void wh_verbs_put_request(unsigned char bytes[WH_VERBS_REQUEST_BYTES], const struct wh_verbs_request *request);
/* librdmacm gives all that there is room for: more than was put. False: no node of this version has made it. */
bool wh_verbs_take_request(struct wh_verbs_request *request, const unsigned char *bytes, size_t count);

#endif
