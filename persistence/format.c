/* format.c - see format_int.h, and docs/log.md for each byte. */
#include "persistence/format_int.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/text.h"

/* Where things lie. */
enum {
	HEAD_FORMAT = 8,
	HEAD_NODE = 12,
	HEAD_GROUP = 16,
	HEAD_LOG = 24,
	HEAD_NUMBER = 32,
	HEAD_BYTES = 40,
	HEAD_SHARD = 48,
	HEAD_GROUP_NAME = 64,
	HEAD_SUBGROUP = HEAD_GROUP_NAME + WH_LOG_NAME_BYTES,
	HEAD_ENDS = HEAD_SUBGROUP + WH_LOG_NAME_BYTES,
	HEAD_SUM = WH_LOG_BLOCK_BYTES - 4,

	MARK_KEY = 0, /* behind the first block */
	MARK_VIEW = 8,
	MARK_PLACE = 16,
	MARK_SEGMENT = 24,
	MARK_BATCH = 32,
	MARK_WRITTEN = 40,
	MARK_CHAIN = 48,
	MARK_FLAGS = 52,
	MARK_NEXTS = 56,
	MARK_SENDERS = 60,
	MARK_END = 64,
	MARK_ENDS = 72,
	NEXT_BYTES = 24,
};

#define MARK_BEGUN 1u
#define BATCH_MAGIC UINT32_C(0x4254684c)
#define PIECE_MAGIC UINT32_C(0x4350684c)

static bool is_zero(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

/* ---- segments --------------------------------------------------------------------------------------------------------- */

void wh_log_head_encode(unsigned char block[WH_LOG_BLOCK_BYTES], const char *magic, const struct wh_log_head *head)
{
	memset(block, 0, WH_LOG_BLOCK_BYTES);
	memcpy(block, magic, HEAD_FORMAT);
	wh_log_put32(block + HEAD_FORMAT, WH_LOG_FORMAT);
	wh_log_put32(block + HEAD_NODE, head->owner.node);
	wh_log_put64(block + HEAD_GROUP, head->owner.group);
	wh_log_put64(block + HEAD_LOG, head->log);
	wh_log_put64(block + HEAD_NUMBER, head->number);
	wh_log_put64(block + HEAD_BYTES, head->bytes);
	wh_log_put32(block + HEAD_SHARD, head->owner.shard);
	memcpy(block + HEAD_GROUP_NAME, head->owner.group_name, strnlen(head->owner.group_name, WH_LOG_NAME_BYTES - 1));
	memcpy(block + HEAD_SUBGROUP, head->owner.subgroup, strnlen(head->owner.subgroup, WH_LOG_NAME_BYTES - 1));
	wh_log_put32(block + HEAD_SUM, wh_crc32c(0, block, HEAD_SUM));
}

enum wh_log_read wh_log_head_decode(struct wh_log_head *head, const char *magic,
				    const unsigned char block[WH_LOG_BLOCK_BYTES], uint32_t *format)
{
	*format = wh_log_get32(block + HEAD_FORMAT);
	if (memcmp(block, magic, HEAD_FORMAT) != 0 || wh_log_get32(block + HEAD_SUM) != wh_crc32c(0, block, HEAD_SUM))
		return WH_LOG_DAMAGED;
	if (*format > WH_LOG_FORMAT)
		return WH_LOG_LATER;
	if (*format != WH_LOG_FORMAT || !is_zero(block + HEAD_ENDS, HEAD_SUM - HEAD_ENDS))
		return WH_LOG_DAMAGED;
	memset(head, 0, sizeof(*head));
	head->owner.node = wh_log_get32(block + HEAD_NODE);
	head->owner.group = wh_log_get64(block + HEAD_GROUP);
	head->owner.shard = wh_log_get32(block + HEAD_SHARD);
	memcpy(head->owner.group_name, block + HEAD_GROUP_NAME, WH_LOG_NAME_BYTES);
	memcpy(head->owner.subgroup, block + HEAD_SUBGROUP, WH_LOG_NAME_BYTES);
	head->log = wh_log_get64(block + HEAD_LOG);
	head->number = wh_log_get64(block + HEAD_NUMBER);
	head->bytes = wh_log_get64(block + HEAD_BYTES);
	return head->owner.group_name[WH_LOG_NAME_BYTES - 1] == '\0' &&
			       head->owner.subgroup[WH_LOG_NAME_BYTES - 1] == '\0' && head->log != 0
		       ? WH_LOG_READ
		       : WH_LOG_DAMAGED;
}

/* ---- batches ---------------------------------------------------------------------------------------------------------- */

void wh_log_batch_encode(unsigned char out[WH_LOG_HEAD_BYTES], struct wh_log_batch_head *head)
{
	memset(out, 0, WH_LOG_HEAD_BYTES);
	wh_log_put32(out, BATCH_MAGIC);
	wh_log_put64(out + 8, head->log);
	wh_log_put64(out + 16, head->number);
	wh_log_put32(out + 24, head->chain);
	wh_log_put32(out + 28, head->body_sum);
	wh_log_put32(out + 32, head->body_bytes);
	wh_log_put32(out + 36, head->kind);
	wh_log_put64(out + 40, head->key);
	wh_log_put64(out + 48, head->view);
	wh_log_put64(out + 56, head->first);
	wh_log_put64(out + 64, head->next);
	wh_log_put64(out + 72, head->frontier);
	wh_log_put32(out + 80, head->count);
	head->sum = wh_crc32c(0, out + 8, WH_LOG_HEAD_BYTES - 8);
	wh_log_put32(out + 4, head->sum);
}

/* What its body has before the data. */
static uint64_t table_bytes(const struct wh_log_batch_head *head)
{
	return head->kind == WH_LOG_KIND_BEGIN ? WH_LOG_BEGIN_BYTES + (uint64_t)head->count * WH_LOG_SENDER_BYTES
					       : (uint64_t)head->count * WH_LOG_ENTRY_BYTES;
}

bool wh_log_batch_decode(struct wh_log_batch_head *head, const unsigned char bytes[WH_LOG_HEAD_BYTES])
{
	if (wh_log_get32(bytes) != BATCH_MAGIC)
		return false;
	*head = (struct wh_log_batch_head){
		.sum = wh_log_get32(bytes + 4),
		.log = wh_log_get64(bytes + 8),
		.number = wh_log_get64(bytes + 16),
		.chain = wh_log_get32(bytes + 24),
		.body_sum = wh_log_get32(bytes + 28),
		.body_bytes = wh_log_get32(bytes + 32),
		.kind = wh_log_get32(bytes + 36),
		.key = wh_log_get64(bytes + 40),
		.view = wh_log_get64(bytes + 48),
		.first = wh_log_get64(bytes + 56),
		.next = wh_log_get64(bytes + 64),
		.frontier = wh_log_get64(bytes + 72),
		.count = wh_log_get32(bytes + 80),
	};
	if (head->sum != wh_crc32c(0, bytes + 8, WH_LOG_HEAD_BYTES - 8))
		return false;
	if (head->body_bytes > WH_LOG_BATCH_BYTES_MAX || table_bytes(head) > head->body_bytes)
		return false;
	if (!is_zero(bytes + 84, WH_LOG_HEAD_BYTES - 84))
		return false;
	if (head->kind == WH_LOG_KIND_BEGIN)
		return head->first == 0 && head->next == 0 && head->frontier == 0 &&
		       head->count <= WH_LOG_SENDERS_MAX && table_bytes(head) == head->body_bytes;
	return head->kind == WH_LOG_KIND_MESSAGES && head->first <= head->next && head->frontier <= head->first &&
	       head->count <= head->next - head->first;
}

uint64_t wh_log_batch_bytes(const struct wh_log_batch_head *head)
{
	return wh_log_round(WH_LOG_HEAD_BYTES + (uint64_t)head->body_bytes, WH_LOG_BLOCK_BYTES);
}

static bool check_messages(const struct wh_log_batch_head *head, const unsigned char *body)
{
	uint64_t at = table_bytes(head), least = head->first;

	for (uint32_t i = 0; i < head->count; i++) {
		const unsigned char *entry = body + (size_t)i * WH_LOG_ENTRY_BYTES;
		uint64_t place = wh_log_get64(entry);

		if (place < least || place >= head->next || wh_log_get32(entry + 16) >= WH_LOG_SENDERS_MAX ||
		    wh_log_get32(entry + 28) != 0)
			return false;
		least = place + 1;
		at += wh_log_round(wh_log_get32(entry + 24), WH_LOG_ALIGN);
	}
	return at == head->body_bytes;
}

bool wh_log_body_check(const struct wh_log_batch_head *head, const unsigned char *body)
{
	size_t all = (size_t)wh_log_batch_bytes(head) - WH_LOG_HEAD_BYTES;

	if (wh_crc32c(0, body, head->body_bytes) != head->body_sum ||
	    !is_zero(body + head->body_bytes, all - head->body_bytes))
		return false;
	return head->kind == WH_LOG_KIND_BEGIN || check_messages(head, body);
}

void wh_log_entry_encode(unsigned char out[WH_LOG_ENTRY_BYTES], const struct wh_log_record *record)
{
	wh_log_put64(out, record->place);
	wh_log_put64(out + 8, record->index);
	wh_log_put32(out + 16, record->sender);
	wh_log_put32(out + 20, record->slots);
	wh_log_put32(out + 24, record->bytes);
	wh_log_put32(out + 28, 0);
}

void wh_log_entry_decode(struct wh_log_message *out, const struct wh_log_batch_head *head, const unsigned char *body,
			 uint32_t index, size_t *at)
{
	const unsigned char *entry = body + (size_t)index * WH_LOG_ENTRY_BYTES;

	if (index == 0)
		*at = (size_t)head->count * WH_LOG_ENTRY_BYTES;
	out->place = wh_log_get64(entry);
	out->index = wh_log_get64(entry + 8);
	out->sender = wh_log_get32(entry + 16);
	out->slots = wh_log_get32(entry + 20);
	out->bytes = wh_log_get32(entry + 24);
	out->data = body + *at;
	*at += (size_t)wh_log_round(out->bytes, WH_LOG_ALIGN);
}

static unsigned char *encode_senders(unsigned char *out, const struct wh_log_sender *senders, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, out += WH_LOG_SENDER_BYTES) {
		wh_log_put32(out, senders[i].id);
		wh_log_put32(out + 4, 0);
		wh_log_put64(out + 8, senders[i].incarnation);
	}
	return out;
}

static const unsigned char *decode_senders(struct wh_log_sender *out, uint32_t count, const unsigned char *at)
{
	for (uint32_t i = 0; i < count; i++, at += WH_LOG_SENDER_BYTES)
		out[i] = (struct wh_log_sender){wh_log_get32(at), wh_log_get64(at + 8)};
	return at;
}

size_t wh_log_begin_encode(unsigned char *out, const struct wh_log_begin *begin)
{
	wh_log_put64(out, begin->cut);
	wh_log_put64(out + 8, begin->follows);
	return (size_t)(encode_senders(out + WH_LOG_BEGIN_BYTES, begin->senders, begin->sender_count) - out);
}

void wh_log_begin_decode(struct wh_log_begin *out, struct wh_log_sender *senders, const struct wh_log_batch_head *head,
			 const unsigned char *body)
{
	decode_senders(senders, head->count, body + WH_LOG_BEGIN_BYTES);
	*out = (struct wh_log_begin){.key = head->key,
				     .number = head->view,
				     .cut = wh_log_get64(body),
				     .follows = wh_log_get64(body + 8),
				     .sender_count = head->count,
				     .senders = senders};
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------------ */

size_t wh_log_mark_encode(unsigned char out[WH_LOG_CHECKPOINT_HEAD_MAX], struct wh_log_head *head,
			  const struct wh_log_mark *mark)
{
	const struct wh_log_position *position = &mark->position;
	unsigned char *at = out + WH_LOG_BLOCK_BYTES;
	size_t bytes;

	memset(at, 0, WH_LOG_CHECKPOINT_HEAD_MAX - WH_LOG_BLOCK_BYTES);
	wh_log_put64(at + MARK_KEY, position->point.key);
	wh_log_put64(at + MARK_VIEW, position->point.number);
	wh_log_put64(at + MARK_PLACE, position->point.place);
	wh_log_put64(at + MARK_SEGMENT, mark->segment);
	wh_log_put64(at + MARK_BATCH, mark->batch);
	wh_log_put64(at + MARK_WRITTEN, mark->written);
	wh_log_put32(at + MARK_CHAIN, mark->chain);
	wh_log_put32(at + MARK_FLAGS, mark->begun ? MARK_BEGUN : 0);
	wh_log_put32(at + MARK_NEXTS, position->count);
	wh_log_put32(at + MARK_SENDERS, mark->sender_count);
	wh_log_put64(at + MARK_END, mark->end);
	at += MARK_ENDS;
	for (uint32_t i = 0; i < position->count; i++, at += NEXT_BYTES) {
		wh_log_put64(at, position->of[i].id);
		wh_log_put64(at + 8, position->of[i].next);
		wh_log_put64(at + 16, position->of[i].incarnation);
	}
	at = encode_senders(at, mark->senders, mark->sender_count);
	bytes = (size_t)wh_log_round((uint64_t)(at - out) + 4, WH_LOG_BLOCK_BYTES);
	wh_log_put32(out + bytes - 4, wh_crc32c(0, out + WH_LOG_BLOCK_BYTES, bytes - WH_LOG_BLOCK_BYTES - 4));
	head->bytes = bytes;
	wh_log_head_encode(out, WH_LOG_CHECKPOINT_MAGIC, head);
	return bytes;
}

bool wh_log_mark_decode(struct wh_log_mark *mark, const unsigned char *header, size_t bytes)
{
	const unsigned char *at = header + WH_LOG_BLOCK_BYTES, *end = header + bytes - 4;
	struct wh_log_position *position = &mark->position;

	if (bytes < 2 * WH_LOG_BLOCK_BYTES || bytes > WH_LOG_CHECKPOINT_HEAD_MAX || bytes % WH_LOG_BLOCK_BYTES != 0 ||
	    wh_log_get32(end) != wh_crc32c(0, at, (size_t)(end - at)))
		return false;
	position->point = (struct wh_log_point){wh_log_get64(at + MARK_KEY), wh_log_get64(at + MARK_VIEW),
						wh_log_get64(at + MARK_PLACE)};
	mark->segment = wh_log_get64(at + MARK_SEGMENT);
	mark->batch = wh_log_get64(at + MARK_BATCH);
	mark->written = wh_log_get64(at + MARK_WRITTEN);
	mark->chain = wh_log_get32(at + MARK_CHAIN);
	mark->begun = (wh_log_get32(at + MARK_FLAGS) & MARK_BEGUN) != 0;
	mark->end = wh_log_get64(at + MARK_END);
	position->count = wh_log_get32(at + MARK_NEXTS);
	mark->sender_count = wh_log_get32(at + MARK_SENDERS);
	if (position->count > WH_LOG_SENDERS_MAX || mark->sender_count > WH_LOG_SENDERS_MAX ||
	    mark->batch > mark->written ||
	    (size_t)(end - at) <
		    MARK_ENDS + NEXT_BYTES * position->count + WH_LOG_SENDER_BYTES * (size_t)mark->sender_count)
		return false;
	at += MARK_ENDS;
	for (uint32_t i = 0; i < position->count; i++, at += NEXT_BYTES)
		position->of[i] =
			(struct wh_log_next){(uint32_t)wh_log_get64(at), wh_log_get64(at + 8), wh_log_get64(at + 16)};
	at = decode_senders(mark->senders, mark->sender_count, at);
	return is_zero(at, (size_t)(end - at));
}

void wh_log_piece_encode(unsigned char out[WH_LOG_PIECE_HEAD_BYTES], const struct wh_log_piece *piece, uint64_t log)
{
	wh_log_put32(out, PIECE_MAGIC);
	wh_log_put32(out + 4, piece->bytes);
	wh_log_put64(out + 8, piece->at);
	wh_log_put32(out + 16, piece->data_sum);
	wh_log_put32(out + 20, wh_crc32c((uint32_t)(log ^ log >> 32), out, 20));
}

bool wh_log_piece_decode(struct wh_log_piece *piece, const unsigned char bytes[WH_LOG_PIECE_HEAD_BYTES], uint64_t log)
{
	*piece = (struct wh_log_piece){wh_log_get32(bytes + 4), wh_log_get64(bytes + 8), wh_log_get32(bytes + 16)};
	return wh_log_get32(bytes) == PIECE_MAGIC && piece->bytes <= WH_LOG_PIECE_BYTES &&
	       wh_log_get32(bytes + 20) == wh_crc32c((uint32_t)(log ^ log >> 32), bytes, 20);
}

/* ---- names of files --------------------------------------------------------------------------------------------------- */

#define NAME_MAX_BYTES 48 /* so much of a name stands in that of a file; of a longer one a sum is put behind */
#define DIGITS 16

static const char *const endings[] = {
	[WH_LOG_FILE_SEGMENT] = ".log", [WH_LOG_FILE_CHECKPOINT] = ".checkpoint", [WH_LOG_FILE_NEW] = ".new"};

/* A letter, a digit, - and _ stand for themselves, any other byte is % and two digits. */
char *wh_log_files(char out[WH_LOG_FILES_BYTES], const char *subgroup, uint32_t shard)
{
	out[0] = '\0';
	for (const char *c = subgroup; *c != '\0'; c++) {
		if (strlen(out) + 3 > NAME_MAX_BYTES) {
			wh_text_add(out, WH_LOG_FILES_BYTES, "~%08" PRIx32, wh_crc32c(0, subgroup, strlen(subgroup)));
			break;
		}
		if (isascii((unsigned char)*c) && (isalnum((unsigned char)*c) || *c == '-' || *c == '_'))
			wh_text_add(out, WH_LOG_FILES_BYTES, "%c", *c);
		else
			wh_text_add(out, WH_LOG_FILES_BYTES, "%%%02x", (unsigned)(unsigned char)*c);
	}
	wh_text_add(out, WH_LOG_FILES_BYTES, ".%" PRIu32, shard);
	return out;
}

void wh_log_file_name(char out[WH_FILE_NAME_BYTES], const char *files, enum wh_log_file_kind kind, uint64_t number)
{
	snprintf(out, WH_FILE_NAME_BYTES, "%.*s.%016" PRIx64 "%s", WH_LOG_FILES_BYTES - 1, files, number,
		 endings[kind]);
}

static bool read_digits(const char *digits, uint64_t *number)
{
	*number = 0;
	for (int i = 0; i < DIGITS; i++) {
		int digit = digits[i] >= 'A' && digits[i] <= 'F' ? -1 : wh_text_digit(digits[i]);

		if (digit < 0)
			return false;
		*number = *number << 4 | (unsigned)digit;
	}
	return true;
}

enum wh_log_file_kind wh_log_file_read(const char *name, char files[WH_LOG_FILES_BYTES], uint64_t *number)
{
	size_t bytes = strlen(name), stem;

	for (int kind = WH_LOG_FILE_SEGMENT; kind <= WH_LOG_FILE_NEW; kind++) {
		size_t ending = strlen(endings[kind]);

		if (bytes <= ending + DIGITS + 1 || strcmp(name + bytes - ending, endings[kind]) != 0)
			continue;
		stem = bytes - ending - DIGITS - 1;
		if (stem >= WH_LOG_FILES_BYTES || name[stem] != '.' || !read_digits(name + stem + 1, number))
			continue;
		memcpy(files, name, stem);
		files[stem] = '\0';
		return (enum wh_log_file_kind)kind;
	}
	return WH_LOG_FILE_OTHER;
}
