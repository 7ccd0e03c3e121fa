/* number.h - numbers and names as bytes, for what nodes say to each other: little-endian, and read within bounds (wire.h). */
#ifndef WH_BASE_NUMBER_H
#define WH_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline unsigned char *wh_put_number(unsigned char *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * i);
	return at + bytes;
}

/* Its length (one byte), and no end. */
static inline unsigned char *wh_put_text(unsigned char *at, const char *text)
{
	size_t length = strlen(text);

	at = wh_put_number(at, length, 1);
	memcpy(at, text, length);
	return at + length;
}

struct wh_reader {
	const unsigned char *at;
	size_t left;
	bool ok; /* nothing was read that is not there, or out of its bounds */
};

/* 0 if they are not there. */
static inline uint64_t wh_take_number(struct wh_reader *reader, unsigned bytes)
{
	uint64_t value = 0;

	if (reader->left < bytes) {
		reader->ok = false;
		reader->left = 0;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)reader->at[i] << 8 * i;
	reader->at += bytes;
	reader->left -= bytes;
	return value;
}

/* A number from `least` to `most`; `least` if it is not. */
static inline uint64_t wh_take_within(struct wh_reader *reader, unsigned bytes, uint64_t least, uint64_t most)
{
	uint64_t value = wh_take_number(reader, bytes);

	if (value >= least && value <= most)
		return value;
	reader->ok = false;
	return least;
}

/* As wh_put_text has it, with its end; from 1 to room-1 bytes, none of them 0. */
static inline bool wh_take_text(struct wh_reader *reader, char *out, size_t room)
{
	size_t length = (size_t)wh_take_within(reader, 1, 1, room - 1);

	if (reader->left < length)
		reader->ok = false;
	if (!reader->ok)
		return false;
	memset(out, 0, room);
	memcpy(out, reader->at, length);
	reader->at += length;
	reader->left -= length;
	return strlen(out) == length;
}

#endif
