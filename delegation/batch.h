/* batch.h - how calls and their answers look: in the slots between threads, on lanes, and in messages.
 *
 * A batch lies at the end of its slot, and ends in a trailer, of which the last word is the guard:
 *
 *     [ free ......... | record | record | ... | trailer: begins, count, flags | guard ]
 *
 * The guard is stored after all else (T3), and counts the batches of its slot. So the whole is one contiguous write, and no longer than what
 * is in it. A slot is 128 bytes, which one small batch takes, and 1024 before them.
 *
 * Of calls: a record is a head and arguments, padded to 8. The head names a function by its number, and a property by its name at the
 * trustee. Arguments that are longer than WH_RECORD_MOST are cut up: parts first, then the record. Of answers: the results one behind the
 * other, each padded to 8, in the order of the calls; with WH_BATCH_STATUSES each has a head, which says how the call ended. Answers that
 * are too long for the slot come in several batches, all but the last with WH_BATCH_MORE. Within a process the client asks for the next by an
 * empty batch; between nodes, where there are several slots, they come by themselves.
 *
 * What is read here may come from elsewhere: whatever its bytes are, reading it stays within the slot.
 */
#ifndef WH_DELEGATION_BATCH_H
#define WH_DELEGATION_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomics.h"

#define WH_SLOT_PRIMARY 128
#define WH_SLOT_BYTES (WH_SLOT_PRIMARY + 1024)
#define WH_SLOT_ROOM (WH_SLOT_BYTES - 16) /* for records */
#define WH_RECORD_MOST 1024               /* bytes of arguments in one */
#define WH_SLOT_MORE 2944 /* of a slot between nodes: bytes before it, so that a whole batch is one write of 4096 */
#define WH_RECORDS_MOST ((WH_SLOT_ROOM + WH_SLOT_MORE) / 8)

enum wh_batch_flag {
	WH_BATCH_STATUSES = 1, /* of answers: each has a head */
	WH_BATCH_MORE = 2,     /* of answers: the rest of them is asked for */
	WH_BATCH_CONTINUE = 4, /* of calls: none, but a question for the rest */
	WH_BATCH_REFUSED = 8,  /* of answers: none; the batch of calls was damaged, and none of it has run */
};

enum wh_taken { WH_TAKEN_NOTHING, WH_TAKEN, WH_TAKEN_GARBAGE };

struct wh_slot {
	unsigned char room[WH_SLOT_ROOM];
	uint16_t begins, count; /* where in the room, or, negative (16 bits), before it; how many records, or answers */
	uint16_t flags;         /* of enum wh_batch_flag */
	uint16_t settles; /* of answers between nodes: with them so many batches of calls are answered, modulo 2^16 */
	wh_word guard;
};

_Static_assert(sizeof(struct wh_slot) == WH_SLOT_BYTES, "a slot has no holes");

/* Numbers above all functions: what the library sends itself. */
enum wh_builtin {
	WH_BUILTIN_FIRST = 0xff00,
	WH_ENTRUST = WH_BUILTIN_FIRST, /* struct wh_entrust_args, then what it is at first */
	WH_MOVE,                       /* struct wh_move_args */
	WH_ADOPT,                      /* struct wh_adopt_args */
	WH_NOTHING,                    /* a call that was taken back */
	WH_SHARD_CALL,                 /* within a process: struct wh_shard_args */
	/* These have no answer. */
	WH_ONE_WAY,
	WH_PART = WH_ONE_WAY, /* of arguments; `property`: how many bytes they are in all */
	WH_TOGGLE,            /* a handle comes, or goes: its id */
	WH_COMPLETE, /* how a call ended that was answered by WH_DEFERRED: struct wh_complete_args, then its result */
	WH_MOVED_ON, /* within a process: struct wh_moved_on_args, to a property that is sent on */
};

#define WH_RECORD_LAUNCH 0x8000u    /* in `bytes`: in a fiber of its own */
#define WH_RECORD_ASSEMBLED 0x4000u /* in `bytes`: the arguments are what has come in parts, no bytes follow */
#define WH_RECORD_BYTES 0x3fffu

struct wh_record {
	uint16_t function;
	uint16_t bytes; /* of arguments, and two flags */
	uint32_t property;
};

struct wh_answer {       /* the head of one */
	uint32_t status; /* an enum whorl_result, or WH_DEFERRED */
	uint32_t bytes;
};

#define WH_DEFERRED 0xffffu /* it will be answered by WH_COMPLETE */

struct wh_complete_args {
	uint64_t number; /* of the call in its channel */
	uint64_t called; /* within a process: the party that this is the channel to */
	struct wh_answer answer;
};

static inline size_t wh_padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static inline size_t wh_record_bytes(const struct wh_record *record)
{
	return sizeof(*record) + wh_padded(record->bytes & WH_RECORD_BYTES);
}

static inline bool wh_is_one_way(uint16_t function)
{
	return function >= WH_ONE_WAY;
}

/* ---- reading ----------------------------------------------------------------------------------------------------------------- */

struct wh_reader {
	const unsigned char *at, *end;
};

/* The records of a slot that has so many bytes `more` before it. False: it says that they begin where none can. */
static inline bool wh_reader_in(struct wh_reader *reader, const struct wh_slot *slot, int more)
{
	int begins = (int16_t)slot->begins;

	if (begins > WH_SLOT_ROOM || begins < -more || begins % 8 != 0)
		return false;
	*reader = (struct wh_reader){(const unsigned char *)slot + begins, slot->room + WH_SLOT_ROOM};
	return true;
}

static inline bool wh_reader_of(struct wh_reader *reader, const struct wh_slot *slot)
{
	return wh_reader_in(reader, slot, 0);
}

/* The next record, and where its arguments lie. False: there is no whole one. */
static inline bool wh_read_record(struct wh_reader *reader, struct wh_record *record, const unsigned char **args)
{
	size_t left = (size_t)(reader->end - reader->at), bytes;

	if (left < sizeof(*record))
		return false;
	memcpy(record, reader->at, sizeof(*record));
	bytes = wh_record_bytes(record);
	if (bytes > left || (record->bytes & WH_RECORD_BYTES) > WH_RECORD_MOST ||
	    ((record->bytes & WH_RECORD_ASSEMBLED) != 0 && bytes != sizeof(*record)))
		return false;
	*args = reader->at + sizeof(*record);
	reader->at += bytes;
	return true;
}

/* Whether the slot is a batch of calls: whole records, as many as it says, and nothing else. */
bool wh_batch_is_whole_in(const struct wh_slot *slot, int more);
static inline bool wh_batch_is_whole(const struct wh_slot *slot)
{
	return wh_batch_is_whole_in(slot, 0);
}

/* The next answer, with a head if the batch has them, else of so many bytes. False: there is no whole one. */
static inline bool wh_read_answer(struct wh_reader *reader, bool heads, uint32_t bytes, struct wh_answer *answer,
				  const unsigned char **data)
{
	size_t left;

	if (heads) {
		if ((size_t)(reader->end - reader->at) < sizeof(*answer))
			return false;
		memcpy(answer, reader->at, sizeof(*answer));
		reader->at += sizeof(*answer);
	} else {
		*answer = (struct wh_answer){0, bytes};
	}
	left = (size_t)(reader->end - reader->at);
	if (answer->bytes > left || wh_padded(answer->bytes) > left)
		return false;
	*data = reader->at;
	reader->at += wh_padded(answer->bytes);
	return true;
}

/* ---- bytes that wait --------------------------------------------------------------------------------------------------------- */

struct wh_bytes { /* all zero: none */
	unsigned char *data;
	size_t begin, end, capacity;
};

static inline size_t wh_bytes_left(const struct wh_bytes *bytes)
{
	return bytes->end - bytes->begin;
}

/* The first of them; NULL: there have never been any. */
static inline unsigned char *wh_bytes_first(const struct wh_bytes *bytes)
{
	return bytes->data == NULL ? NULL : bytes->data + bytes->begin;
}

/* Room for so many more behind those that wait. NULL: no memory. */
unsigned char *wh_bytes_add(struct wh_bytes *bytes, size_t count);
bool wh_bytes_append(struct wh_bytes *bytes, const void *data, size_t count); /* padded to 8 with zeros */
void wh_bytes_free(struct wh_bytes *bytes);

static inline void wh_bytes_clear(struct wh_bytes *bytes)
{
	bytes->begin = bytes->end = 0;
}

#endif
