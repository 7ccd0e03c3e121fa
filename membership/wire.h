/* wire.h - what nodes of a group say to each other outside of rows: control messages (T10), and a view as bytes.
 *
 * Numbers are little-endian, wherever they are sent from. What comes is checked in full before anything of it is believed: every
 * count and length, every id and rank, that lists ascend, that a message ends where it should. A message that does not pass is no
 * message, and its sender is broken. docs/decisions/0016 says what the messages are for.
 *
 * Threads: any; nothing here has a state, but a wh_view_parts.
 */
#ifndef WH_MEMBERSHIP_WIRE_H
#define WH_MEMBERSHIP_WIRE_H

#include <stddef.h>

#include "membership/wishes.h"

#define WH_WIRE_BYTES 4096 /* of a message, at most: WH_CONTROL_MAX */
#define WH_WIRE_VERSION 7
#define WH_WIRE_PIECE_BYTES (WH_WIRE_BYTES - 64) /* of a view in one message */
#define WH_VIEW_BYTES_MAX (1 << 22)              /* of a view as bytes */
#define WH_ROUND_BYTES_MAX                                                                                             \
	(4 * WH_VIEW_BYTES_MAX) /* of a STANDING or an AGREE: two views, and what is said of each shard of them */
#define WH_SUBGROUPS_MAX 4096   /* configured (conf/ takes no more): they fit in a view, whatever their shards */

enum wh_wire_kind {
	WH_WIRE_INTRO = 1,    /* what I am */
	WH_WIRE_JOIN,         /* take me in */
	WH_WIRE_VIEW,         /* you are invited: a piece of the view */
	WH_WIRE_WITHDRAWN,    /* you are not: `key` */
	WH_WIRE_THERE,        /* the image of `key` is open here, and (flag) ready */
	WH_WIRE_STATE_WANTED, /* give me the state of the shard of `subgroup` */
	WH_WIRE_NO_STATE,     /* I have none */
	WH_WIRE_REST,         /* you are asked to rest in `subgroup`, or (flag 0) to send again */
	WH_WIRE_WISHES,       /* I wish this: a piece of a set; `key` is its number (docs/decisions/0046) */
	WH_WIRE_NEXT,         /* the next view, to a member, if it meets wishes: a piece of it */
	WH_WIRE_REFUSED,      /* a wish of the set of number `key` is not met */
	/* The rounds of a restart (docs/decisions/0058, restart.h). `key` is their ballot. */
	WH_WIRE_ASK,      /* promise, and report */
	WH_WIRE_STANDING, /* promised: a piece of what a disk has */
	WH_WIRE_HIGHER,   /* not promised, or not any more: this is */
	WH_WIRE_AGREE,    /* agree: a piece of what to */
	WH_WIRE_AGREED,   /* the disk of `node` has agreed */
	WH_WIRE_BEGIN,    /* all disks have */
	WH_WIRE_KINDS
};

/* What a node that keeps logs has on disk. FIRST: a first view in which nothing is known to have been done. */
enum wh_disk_is { WH_DISK_BLANK, WH_DISK_FIRST, WH_DISK_STANDS };

enum wh_condition { WH_SEEKING, WH_FORMING, WH_MEMBER_OF };

struct wh_wire {
	enum wh_wire_kind kind;
	uint64_t incarnation;                    /* the sender's. INTRO, JOIN */
	uint64_t group_digest, subgroups_digest; /* of what must agree in the configuration. INTRO, JOIN */
	enum wh_condition standing;              /* INTRO */
	/* INTRO: a member hears a quorum, another follows an invitation; THERE: it is ready; REST: rest */
	bool flag;
	bool forced;                         /* INTRO: an operator has told it to form a group (0032) */
	uint64_t group;                      /* INTRO: of a member its group, of another that of its record; 0: none */
	uint64_t members[WH_NODES_MAX / 64]; /* INTRO (of a member): bit i % 64 of word i / 64: node i is in the view */
	uint64_t view;                       /* its number. INTRO (of a member) */
	uint32_t leader;                     /* node id. INTRO (of a member) */
	enum wh_disk_is disk;                /* INTRO (of another); where no node keeps logs it is blank */
	uint64_t base;                       /* number of the view that it stands on, if it stands. The same */
	uint32_t node;                       /* id. AGREED */
	/* Of an image. INTRO, VIEW, WITHDRAWN, THERE, NEXT. Of a set: WISHES, REFUSED. A ballot: ASK to BEGIN */
	uint64_t key;
	uint32_t total, offset, bytes; /* VIEW, WISHES, NEXT, STANDING, AGREE: of it in bytes, of this piece */
	const unsigned char *piece;    /* the same; points into the message */
	uint64_t subgroup; /* as configured, or the birth of a dynamic one (view.h). STATE_WANTED, NO_STATE, REST */
	struct wh_refusal refusal; /* REFUSED; but for `rank` */
};

/* Returns the length. The fields that the kind does not have are not looked at. */
size_t wh_wire_encode(unsigned char out[WH_WIRE_BYTES], const struct wh_wire *message);
/* False: it is no message. The fields that the kind does not have are 0. */
bool wh_wire_decode(struct wh_wire *out, const void *bytes, size_t count);

/* ---- views as bytes ------------------------------------------------------------------------------------------------- */

/* Allocates *out. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_view_encode(unsigned char **out, size_t *bytes, const struct wh_view *view);
/* Checks it, against the layout's subgroups and shards as well. WHORL_OK, WHORL_MEMORY, WHORL_INVALID (text says what is wrong). */
WH_MUST_CHECK enum whorl_result wh_view_decode(struct wh_view **out, const void *bytes, size_t count,
					       const struct wh_layout_config *layout, uint32_t nodes_max,
					       struct wh_error *err);

struct wh_view_parts { /* what has come of a view, or of a set; all zero at first */
	uint64_t key;
	uint32_t total, have;
	unsigned char *bytes;
};

/* Takes in a WH_WIRE_VIEW, WH_WIRE_WISHES, WH_WIRE_NEXT, WH_WIRE_STANDING or WH_WIRE_AGREE. Pieces come in order; one at offset 0 begins anew. WHORL_OK: it is whole; WHORL_AGAIN: more is to
 * come, or this piece is passed over, being a later one of a view that was not begun, or was given up for another;
 * WHORL_INVALID: it does not fit what came before; WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_view_parts_take(struct wh_view_parts *parts, const struct wh_wire *message);
void wh_view_parts_free(struct wh_view_parts *parts);

#endif
