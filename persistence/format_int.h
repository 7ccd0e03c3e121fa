/* format_int.h - what the files of a log are made of, as bytes (docs/log.md). All little-endian. Nothing here reads or writes files.
 *
 * What comes from a disk is not trusted: each function that reads says false if the bytes contradict themselves.
 */
#ifndef WH_PERSISTENCE_FORMAT_INT_H
#define WH_PERSISTENCE_FORMAT_INT_H

#include "persistence/log.h"

#define WH_LOG_HEAD_BYTES 96       /* of a batch */
#define WH_LOG_ENTRY_BYTES 32      /* of a message in its table */
#define WH_LOG_SENDER_BYTES 16     /* of a sender in a BEGIN */
#define WH_LOG_BEGIN_BYTES 16      /* of a BEGIN, before its senders */
#define WH_LOG_ALIGN 16            /* data of a message */
#define WH_LOG_PIECE_HEAD_BYTES 24 /* of a piece of a checkpoint */
#define WH_LOG_PIECE_BYTES 262144  /* of its data, at most */
/* Of the header of a checkpoint: the positions and the senders of a view at their most, in blocks. */
#define WH_LOG_CHECKPOINT_HEAD_MAX (4 * WH_LOG_BLOCK_BYTES)

static inline void wh_log_put32(unsigned char *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

static inline void wh_log_put64(unsigned char *at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

static inline uint32_t wh_log_get32(const unsigned char *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t wh_log_get64(const unsigned char *at)
{
	return wh_log_get32(at) | (uint64_t)wh_log_get32(at + 4) << 32;
}

static inline uint64_t wh_log_round(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

/* ---- segments --------------------------------------------------------------------------------------------------------- */

/* The first block of a segment, and of a checkpoint (with another magic, and more behind it). */
struct wh_log_head {
	struct wh_log_owner owner;
	uint64_t log;    /* identity of the log */
	uint64_t number; /* of the segment, of the checkpoint */
	uint64_t bytes;  /* of the segment; of the header of the checkpoint */
};

enum wh_log_read {
	WH_LOG_READ,
	WH_LOG_DAMAGED, /* or it is nothing */
	WH_LOG_LATER,   /* it is whole, and of a later format */
};

#define WH_LOG_SEGMENT_MAGIC "whorllog"
#define WH_LOG_CHECKPOINT_MAGIC "whorlchk"

void wh_log_head_encode(unsigned char block[WH_LOG_BLOCK_BYTES], const char *magic, const struct wh_log_head *head);
enum wh_log_read wh_log_head_decode(struct wh_log_head *head, const char *magic,
				    const unsigned char block[WH_LOG_BLOCK_BYTES], uint32_t *format);

/* ---- batches ---------------------------------------------------------------------------------------------------------- */

enum wh_log_kind { WH_LOG_KIND_BEGIN = 1, WH_LOG_KIND_MESSAGES = 2 };

struct wh_log_batch_head {
	uint64_t log, number;
	uint32_t chain;      /* sum of the batch before; 0 of the first */
	uint32_t body_sum;   /* CRC-32C of the body */
	uint32_t body_bytes; /* without what fills the last block up */
	uint32_t kind;
	uint64_t key, view; /* its number */
	uint64_t first, next, frontier;
	uint32_t count; /* messages, or senders */
	uint32_t sum;   /* CRC-32C of the rest of the head: what the next batch is chained to */
};

/* Sets head->sum. */
void wh_log_batch_encode(unsigned char out[WH_LOG_HEAD_BYTES], struct wh_log_batch_head *head);
/* The head alone: its sum is right, and it does not contradict itself. */
bool wh_log_batch_decode(struct wh_log_batch_head *head, const unsigned char bytes[WH_LOG_HEAD_BYTES]);
/* With head and what fills the last block up. */
uint64_t wh_log_batch_bytes(const struct wh_log_batch_head *head);
/* The body is what the head says: its sum, and that it can be read to its end. */
bool wh_log_body_check(const struct wh_log_batch_head *head, const unsigned char *body);

void wh_log_entry_encode(unsigned char out[WH_LOG_ENTRY_BYTES], const struct wh_log_record *record);
/* Message `index` of a body that was checked; *at is where its data begins in the body: 0 is to be given for the first, and what the call
 * before has left for the next. */
void wh_log_entry_decode(struct wh_log_message *out, const struct wh_log_batch_head *head, const unsigned char *body,
			 uint32_t index, size_t *at);

/* Returns how many bytes. */
size_t wh_log_begin_encode(unsigned char *out, const struct wh_log_begin *begin);
/* Of a body that was checked. The senders go to `senders`, which has room for head->count. */
void wh_log_begin_decode(struct wh_log_begin *out, struct wh_log_sender *senders, const struct wh_log_batch_head *head,
			 const unsigned char *body);

/* ---- checkpoints ------------------------------------------------------------------------------------------------------ */

/* What a checkpoint says beyond its bytes. */
struct wh_log_mark {
	struct wh_log_position position;
	/* What is needed behind it begins with this segment, and in it with this batch, which follows on that sum. */
	uint64_t segment, batch;
	uint32_t chain;
	uint64_t written; /* batches below this number were on the disk when it was begun */
	/* Of the position's view, if it was begun here before. */
	bool begun;
	uint64_t end; /* and ended here, before that batch; else 0 */
	uint32_t sender_count;
	struct wh_log_sender senders[WH_LOG_SENDERS_MAX];
};

/* Returns how many bytes: a multiple of blocks, at most WH_LOG_CHECKPOINT_HEAD_MAX. head->bytes is set. */
size_t wh_log_mark_encode(unsigned char out[WH_LOG_CHECKPOINT_HEAD_MAX], struct wh_log_head *head,
			  const struct wh_log_mark *mark);
/* Of all of the header, `bytes` of it as its first block says. */
bool wh_log_mark_decode(struct wh_log_mark *mark, const unsigned char *header, size_t bytes);

/* A piece: its data follow. The last has none, and says how many there were. */
struct wh_log_piece {
	uint32_t bytes;
	uint64_t at; /* of its first byte in the state */
	uint32_t data_sum;
};

void wh_log_piece_encode(unsigned char out[WH_LOG_PIECE_HEAD_BYTES], const struct wh_log_piece *piece, uint64_t log);
bool wh_log_piece_decode(struct wh_log_piece *piece, const unsigned char bytes[WH_LOG_PIECE_HEAD_BYTES], uint64_t log);

/* ---- names of files --------------------------------------------------------------------------------------------------- */

enum wh_log_file_kind { WH_LOG_FILE_OTHER, WH_LOG_FILE_SEGMENT, WH_LOG_FILE_CHECKPOINT, WH_LOG_FILE_NEW };

/* FILES.NUMBER.log, .checkpoint, .new (a checkpoint that is being written); 16 hexadecimal digits. */
void wh_log_file_name(char out[WH_FILE_NAME_BYTES], const char *files, enum wh_log_file_kind kind, uint64_t number);
/* What a name is; files (of WH_LOG_FILES_BYTES) is what it begins with. */
enum wh_log_file_kind wh_log_file_read(const char *name, char files[WH_LOG_FILES_BYTES], uint64_t *number);

#endif
