/* shard_wire.h - what members of a shard say about its properties, as bytes: calls, in messages, and images of all properties, in states.
 *
 *     a call       magic u32, kind u16, 0 u16, digest u64, property u64, function u32, 0 u32; then its arguments. To make one: its name
 *                  and that of its type, each with its length (u8), has it a first value (u8), zeros to a multiple of 8, and that value
 *     an image     magic u64, digest u64, count u64; for each property its id u64, bytes u64, name and type as above; then those bytes
 *
 * All little-endian. It comes from other nodes and from disks: none of it is believed before it has been checked.
 */
#ifndef WH_DELEGATION_SHARD_WIRE_H
#define WH_DELEGATION_SHARD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WH_SHARD_NAME_ROOM 256 /* of a name, with its end */

enum wh_shard_kind {
	WH_SHARD_MAKE = 1, /* or find */
	WH_SHARD_APPLY,
	WH_SHARD_END,
	WH_SHARD_KINDS
};

struct wh_shard_call {
	enum wh_shard_kind kind;
	uint64_t digest;   /* of what the caller's program knows */
	uint64_t property; /* id; 0 of WH_SHARD_MAKE */
	uint32_t function; /* of WH_SHARD_APPLY: its number among those that replicas may run */
	const void *args;  /* aligned as the call is, to 8 at least; of WH_SHARD_MAKE the first value; NULL: none */
	size_t bytes;
	char name[WH_SHARD_NAME_ROOM], type[WH_SHARD_NAME_ROOM]; /* of WH_SHARD_MAKE */
};

#define WH_SHARD_HEAD_BYTES 32

/* How long it is, as bytes. */
size_t wh_shard_call_bytes(const struct wh_shard_call *call);
/* All but `args`, which lie at the end: returns how many bytes that are. */
size_t wh_shard_call_put(unsigned char *out, const struct wh_shard_call *call);
/* False: no member has said that. `out->args` points into `data`. */
bool wh_shard_call_take(struct wh_shard_call *out, const void *data, size_t bytes);

/* ---- images --------------------------------------------------------------------------------------------------------------------- */

#define WH_IMAGE_HEAD_BYTES 24
#define WH_IMAGE_ITEM_BYTES_MAX (16 + 2 * WH_SHARD_NAME_ROOM)

struct wh_image_item {
	uint64_t id;
	char name[WH_SHARD_NAME_ROOM], type[WH_SHARD_NAME_ROOM];
	const void *data; /* not aligned */
	size_t bytes;
};

struct wh_image_reader {
	const unsigned char *at;
	size_t left;
	uint64_t digest, count; /* items that are still to come */
};

void wh_image_put_head(unsigned char out[WH_IMAGE_HEAD_BYTES], uint64_t digest, uint64_t count);
/* All but the data. Returns how many bytes. */
size_t wh_image_put_item(unsigned char out[WH_IMAGE_ITEM_BYTES_MAX], const struct wh_image_item *item);
/* False: this is no image. */
bool wh_image_begin(struct wh_image_reader *reader, const void *data, size_t bytes);
/* While reader->count > 0. False: it is cut off, or damaged. */
bool wh_image_next(struct wh_image_reader *reader, struct wh_image_item *out);

#endif
