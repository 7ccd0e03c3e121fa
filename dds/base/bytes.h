/* bytes.h - numbers, names and blocks as bytes: what the machines of topics say to each other, and give to newcomers.
 *
 * Numbers are little-endian. Writing goes into a buffer that grows, in which blocks that are counted may lie without being copied: so to fix a
 * state on the loop costs no copy of its samples. A buffer that had no memory once says so (`failed`), and takes nothing more: look at the end.
 * Reading stays within bounds, and says at the end whether all was there and as it must be.
 *
 * Threads: a buffer is one thread's; a block's count any thread's.
 */
#ifndef WH_DDS_BYTES_H
#define WH_DDS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"
#include "base/error.h"

struct wh_dds_block {    /* bytes that several hold: never changed, freed with the last that lets go */
	wh_word holders; /* touched by the functions here alone */
	uint32_t count;
	_Alignas(16) unsigned char bytes[];
};

/* A copy of the bytes, with one holder; NULL: no memory. */
struct wh_dds_block *wh_dds_block_new(const void *bytes, uint32_t count);
struct wh_dds_block *wh_dds_block_hold(struct wh_dds_block *block);
void wh_dds_block_drop(struct wh_dds_block *block); /* NULL is nothing */

/* A list of so many things of `each` bytes, with room for one more, as it is or moved; NULL: no memory, and it is as it was. */
void *wh_dds_list_room(void *list, uint32_t count, uint32_t *room, size_t each);

struct wh_dds_inset { /* a block that lies in a buffer, before the byte at `at` */
	size_t at;
	struct wh_dds_block *block;
};

struct wh_dds_out { /* all zero: an empty one */
	unsigned char *bytes;
	size_t count, room;
	struct wh_dds_inset *insets;
	uint32_t inset_count, inset_room;
	size_t inset_bytes; /* of all insets */
	bool failed;        /* there was no memory */
};

struct wh_dds_cursor { /* where a reader of a buffer is; all zero: at the beginning */
	size_t at, in_block;
	uint32_t inset;
};

void wh_dds_put(struct wh_dds_out *out, const void *bytes, size_t count);
void wh_dds_put_number(struct wh_dds_out *out, uint64_t value, unsigned bytes);
/* Its length (two bytes), and no end. */
void wh_dds_put_text(struct wh_dds_out *out, const char *text);
/* Its length (four bytes), and the block itself: held, not copied. NULL is a block of none. */
void wh_dds_put_block(struct wh_dds_out *out, struct wh_dds_block *block);
size_t wh_dds_out_bytes(const struct wh_dds_out *out); /* with insets */
/* The next bytes, up to `room`; 0 at the end. */
size_t wh_dds_out_read(const struct wh_dds_out *out, struct wh_dds_cursor *cursor, void *to, size_t room);
/* Of all of it: equal if and, but for accidents, only if the bytes are. */
uint64_t wh_dds_out_digest(const struct wh_dds_out *out);
void wh_dds_out_free(struct wh_dds_out *out);

struct wh_dds_in {
	const unsigned char *at;
	size_t left;
	bool ok;      /* nothing was read that is not there, or out of its bounds */
	bool starved; /* it was not read because there was no memory for it */
};

uint64_t wh_dds_take(struct wh_dds_in *in, unsigned bytes); /* 0 if they are not there */
/* A number from `least` to `most`; `least` if it is not. */
uint64_t wh_dds_take_within(struct wh_dds_in *in, unsigned bytes, uint64_t least, uint64_t most);
/* So many bytes in place; NULL if they are not there. */
const unsigned char *wh_dds_take_bytes(struct wh_dds_in *in, size_t count);
/* As wh_dds_put_text has it: allocated, with its end; from 1 to `most` bytes, none of them 0. NULL if it is not. */
char *wh_dds_take_text(struct wh_dds_in *in, size_t most);
/* As wh_dds_put_block has it, with one holder; NULL if it has no bytes, or is not there. */
struct wh_dds_block *wh_dds_take_block(struct wh_dds_in *in, uint32_t most);

/* There was no memory for what was read: nothing is believed any more. */
static inline void wh_dds_starve(struct wh_dds_in *in)
{
	in->starved = true;
	in->ok = false;
}

/* Zeros, allocated for what is read next. NULL: there is no memory, or what was read before is not good: *in says so. */
void *wh_dds_take_room(struct wh_dds_in *in, size_t bytes);

/* What reading came to: WHORL_OK, WHORL_MEMORY, or WHORL_INVALID: not read in full, or something did not fit. */
WH_MUST_CHECK enum whorl_result wh_dds_in_end(const struct wh_dds_in *in);

#endif
