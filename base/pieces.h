/* pieces.h - a range of bytes that lies in several pieces of memory: of one length, one stride apart, up to a wrap, behind which they go on
 * from another place. The last one before the wrap and the last of all may be shorter.
 */
#ifndef WH_BASE_PIECES_H
#define WH_BASE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wh_pieces {
	const unsigned char *begin;   /* of piece 0 */
	const unsigned char *wrapped; /* of the first behind the wrap */
	size_t bytes;                 /* of all */
	size_t before_wrap;           /* of these, those before the wrap, > 0; more than `bytes`: it is not reached */
	size_t piece_bytes;
	size_t stride;
	uint32_t count_before; /* pieces before the wrap, at least one */
	uint32_t count;        /* of all */
};

/* Of so many bytes. */
static inline uint32_t wh_pieces_in(size_t bytes, size_t piece_bytes)
{
	return (uint32_t)((bytes + piece_bytes - 1) / piece_bytes);
}

/* Says how many there are, of what is said otherwise. */
static inline struct wh_pieces wh_pieces_count(struct wh_pieces pieces)
{
	size_t behind = pieces.bytes > pieces.before_wrap ? pieces.bytes - pieces.before_wrap : 0;
	size_t before = pieces.bytes - behind;

	pieces.count_before = before > 0 ? wh_pieces_in(before, pieces.piece_bytes) : 1;
	pieces.count = pieces.count_before + wh_pieces_in(behind, pieces.piece_bytes);
	return pieces;
}

/* Piece k < count; *at: which byte it begins with. */
static inline const unsigned char *wh_pieces_at(const struct wh_pieces *pieces, uint32_t k, size_t *at, size_t *bytes)
{
	bool wraps = k >= pieces->count_before;
	uint32_t of_run = wraps ? k - pieces->count_before : k;
	size_t end = wraps || pieces->bytes < pieces->before_wrap ? pieces->bytes : pieces->before_wrap;

	*at = (wraps ? pieces->before_wrap : 0) + of_run * pieces->piece_bytes;
	*bytes = end - *at < pieces->piece_bytes ? end - *at : pieces->piece_bytes;
	return (wraps ? pieces->wrapped : pieces->begin) + of_run * pieces->stride;
}

/* Copies at most `most` bytes from byte `from` on. Returns how many. */
static inline size_t wh_pieces_copy(const struct wh_pieces *pieces, size_t from, void *into, size_t most)
{
	bool wraps = from >= pieces->before_wrap;
	size_t k = wraps ? pieces->count_before + (from - pieces->before_wrap) / pieces->piece_bytes
			 : from / pieces->piece_bytes;
	unsigned char *to = into;
	size_t copied = 0;

	for (; k < pieces->count && copied < most && from + copied < pieces->bytes; k++) {
		size_t at, bytes, some;
		const unsigned char *piece = wh_pieces_at(pieces, (uint32_t)k, &at, &bytes);

		piece += from + copied - at;
		some = bytes - (from + copied - at);
		if (some > most - copied)
			some = most - copied;
		memcpy(to + copied, piece, some);
		copied += some;
	}
	return copied;
}

#endif
