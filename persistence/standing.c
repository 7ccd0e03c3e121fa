/* standing.c - see standing.h.
 *
 * A standing as bytes: "WHS", the version, its flags, group, base, number, promised, ballot, next, the number of shards, of
 * others, of dormant logs, of cuts; then each shard, each other, each dormant log, the cuts. A copy in a slot: its number, the length of the standing and a checksum over both and the standing; then that.
 * Numbers are little-endian (base/number.h).
 */
#include "persistence/standing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/crc32c.h"
#include "base/number.h"

#define VERSION 2
#define FILE_NAME "standing"
#define VIEW_NAME "view-"
#define BESIDE "-new" /* behind the name of what is not whole yet */

#define HEAD_BYTES 69  /* of a standing */
#define SHARD_BYTES 38 /* of one of its shards; of a dynamic one its name, and 8, beside */
#define OTHER_BYTES 28
#define DORMANT_BYTES 24 /* beside its shard */
#define DORMANT_BYTES_MAX (SHARD_BYTES + WH_STANDING_NAME_BYTES + 8 + DORMANT_BYTES)
#define CUT_BYTES 8
#define SHARDS_MAX (1 << 20) /* far more than a view can have */
#define PAGE_BYTES 4096      /* what the system writes at once: no slot shares one with another */

#define SLOT_HEAD_BYTES 16 /* number, length, checksum */
#define VIEW_HEAD_BYTES 16 /* what it is, length, checksum */
#define SLOT_ROOM_MAX                                                                                                  \
	(SLOT_HEAD_BYTES + HEAD_BYTES + (uint64_t)SHARDS_MAX * (2 * DORMANT_BYTES_MAX + OTHER_BYTES + CUT_BYTES))

enum { IS_FIRST = 1, HAS_LEFT = 2, IS_ALONE = 4, HEAD_FLAGS = 7 };
enum { IS_WHOLE = 1, LEFT_SHARD = 2, IS_NAMED = 4, SHARD_FLAGS = 7 };

/* ---- in memory -------------------------------------------------------------------------------------------------------- */

struct wh_shard_standing *wh_standing_shard(const struct wh_standing *standing, uint64_t subgroup, uint32_t shard)
{
	for (uint32_t i = 0; i < standing->shard_count; i++)
		if (standing->shards[i].subgroup == subgroup && standing->shards[i].shard == shard)
			return &standing->shards[i];
	return NULL;
}

struct wh_dormant_log *wh_standing_dormant(const struct wh_standing *standing, uint64_t birth)
{
	for (uint32_t i = 0; i < standing->dormant_count; i++)
		if (standing->dormant[i].shard.subgroup == birth)
			return &standing->dormant[i];
	return NULL;
}

static int compare(uint64_t subgroup, uint32_t shard, uint64_t other, uint32_t other_shard)
{
	if (subgroup != other)
		return subgroup < other ? -1 : 1;
	return shard < other_shard ? -1 : shard > other_shard;
}

static int compare_shards(const void *one, const void *other)
{
	const struct wh_shard_standing *a = one, *b = other;

	return compare(a->subgroup, a->shard, b->subgroup, b->shard);
}

static int compare_begins(const void *one, const void *other)
{
	const struct wh_shard_begin *a = one, *b = other;

	return compare(a->subgroup, a->shard, b->subgroup, b->shard);
}

static int compare_dormant(const void *one, const void *other)
{
	const struct wh_dormant_log *a = one, *b = other;

	return compare(a->shard.subgroup, a->shard.shard, b->shard.subgroup, b->shard.shard);
}

void wh_begins_sort(struct wh_shard_begin *begins, uint32_t count)
{
	if (count > 1)
		qsort(begins, count, sizeof(*begins), compare_begins);
}

void wh_standing_sort(struct wh_standing *standing)
{
	if (standing->shard_count > 1)
		qsort(standing->shards, standing->shard_count, sizeof(*standing->shards), compare_shards);
	wh_begins_sort(standing->others, standing->other_count);
	if (standing->dormant_count > 1)
		qsort(standing->dormant, standing->dormant_count, sizeof(*standing->dormant), compare_dormant);
}

enum whorl_result wh_standing_keep_dormant(struct wh_standing *out, const struct wh_standing *was,
					   bool (*keeps)(void *ctx, uint64_t birth), void *ctx, uint32_t more)
{
	out->dormant = calloc((size_t)was->dormant_count + was->shard_count + more + 1, sizeof(*out->dormant));
	if (out->dormant == NULL)
		return WHORL_MEMORY;
	for (uint32_t i = 0; i < was->dormant_count; i++)
		if (keeps(ctx, was->dormant[i].shard.subgroup))
			out->dormant[out->dormant_count++] = was->dormant[i];
	for (uint32_t i = 0; i < was->shard_count; i++)
		if (!wh_shard_is_of_file(&was->shards[i]) && keeps(ctx, was->shards[i].subgroup))
			out->dormant[out->dormant_count++] = (struct wh_dormant_log){
				.shard = was->shards[i], .key = was->base, .number = was->number, .cut = UINT64_MAX};
	wh_standing_sort(out);
	return WHORL_OK;
}

void wh_standing_free(struct wh_standing *standing)
{
	struct wh_standing old = *standing;

	*standing = (struct wh_standing){.group = 0}; /* first: a fork may come in between */
	free(old.shards);
	free(old.others);
	free(old.dormant);
	free(old.cuts);
}

/* A copy of so many bytes. NULL: no memory, or there are none. */
static void *copy_bytes(const void *bytes, size_t count)
{
	void *copy = count > 0 ? malloc(count) : NULL;

	if (copy != NULL)
		memcpy(copy, bytes, count);
	return copy;
}

enum whorl_result wh_standing_copy(struct wh_standing *out, const struct wh_standing *standing)
{
	*out = *standing;
	out->shards = copy_bytes(standing->shards, standing->shard_count * sizeof(*out->shards));
	out->others = copy_bytes(standing->others, standing->other_count * sizeof(*out->others));
	out->dormant = copy_bytes(standing->dormant, standing->dormant_count * sizeof(*out->dormant));
	out->cuts = copy_bytes(standing->cuts, standing->cut_count * sizeof(*out->cuts));
	if ((out->shards != NULL || standing->shard_count == 0) && (out->cuts != NULL || standing->cut_count == 0) &&
	    (out->others != NULL || standing->other_count == 0) &&
	    (out->dormant != NULL || standing->dormant_count == 0))
		return WHORL_OK;
	wh_standing_free(out);
	return WHORL_MEMORY;
}

static bool is_same_shard(const struct wh_shard_standing *one, const struct wh_shard_standing *other)
{
	return one->subgroup == other->subgroup && one->shard == other->shard && one->before == other->before &&
	       one->begins == other->begins && one->whole == other->whole && one->left == other->left &&
	       one->left_at == other->left_at && one->largest == other->largest && strcmp(one->name, other->name) == 0;
}

static bool is_same_dormant(const struct wh_dormant_log *one, const struct wh_dormant_log *other)
{
	return is_same_shard(&one->shard, &other->shard) && one->key == other->key && one->number == other->number &&
	       one->cut == other->cut;
}

static bool is_same_begin(const struct wh_shard_begin *one, const struct wh_shard_begin *other)
{
	return one->subgroup == other->subgroup && one->shard == other->shard && one->before == other->before &&
	       one->begins == other->begins;
}

bool wh_standing_equals(const struct wh_standing *one, const struct wh_standing *other)
{
	if (one->group != other->group || one->base != other->base || one->number != other->number ||
	    one->first != other->first || one->left != other->left || one->alone != other->alone ||
	    one->promised != other->promised || one->ballot != other->ballot || one->next != other->next ||
	    one->shard_count != other->shard_count || one->cut_count != other->cut_count ||
	    one->other_count != other->other_count || one->dormant_count != other->dormant_count)
		return false;
	for (uint32_t i = 0; i < one->shard_count; i++)
		if (!is_same_shard(&one->shards[i], &other->shards[i]))
			return false;
	for (uint32_t i = 0; i < one->other_count; i++)
		if (!is_same_begin(&one->others[i], &other->others[i]))
			return false;
	for (uint32_t i = 0; i < one->dormant_count; i++)
		if (!is_same_dormant(&one->dormant[i], &other->dormant[i]))
			return false;
	for (uint32_t i = 0; i < one->cut_count; i++)
		if (one->cuts[i] != other->cuts[i])
			return false;
	return true;
}

/* ---- as bytes --------------------------------------------------------------------------------------------------------- */

static size_t bytes_of_shard(const struct wh_shard_standing *shard)
{
	return SHARD_BYTES + (!wh_shard_is_of_file(shard) ? strlen(shard->name) + 8 : 0);
}

static size_t bytes_of(const struct wh_standing *standing)
{
	size_t bytes =
		HEAD_BYTES + (size_t)standing->other_count * OTHER_BYTES + (size_t)standing->cut_count * CUT_BYTES;

	for (uint32_t i = 0; i < standing->shard_count; i++)
		bytes += bytes_of_shard(&standing->shards[i]);
	for (uint32_t i = 0; i < standing->dormant_count; i++)
		bytes += bytes_of_shard(&standing->dormant[i].shard) + DORMANT_BYTES;
	return bytes;
}

static unsigned char *put_shard(unsigned char *at, const struct wh_shard_standing *shard)
{
	at = wh_put_number(at, shard->subgroup, 8);
	at = wh_put_number(at, shard->shard, 4);
	at = wh_put_number(at,
			   (shard->whole ? IS_WHOLE : 0) | (shard->left ? LEFT_SHARD : 0) |
				   (!wh_shard_is_of_file(shard) ? IS_NAMED : 0),
			   1);
	at = wh_put_number(at, shard->before, 8);
	at = wh_put_number(at, shard->begins, 8);
	at = wh_put_number(at, shard->left_at, 8);
	at = wh_put_text(at, shard->name);
	return !wh_shard_is_of_file(shard) ? wh_put_number(at, shard->largest, 8) : at;
}

static unsigned char *put_dormant(unsigned char *at, const struct wh_dormant_log *dormant)
{
	at = put_shard(at, &dormant->shard);
	at = wh_put_number(at, dormant->key, 8);
	at = wh_put_number(at, dormant->number, 8);
	return wh_put_number(at, dormant->cut, 8);
}

static unsigned char *put_begin(unsigned char *at, const struct wh_shard_begin *begin)
{
	at = wh_put_number(at, begin->subgroup, 8);
	at = wh_put_number(at, begin->shard, 4);
	at = wh_put_number(at, begin->before, 8);
	return wh_put_number(at, begin->begins, 8);
}

static void put_standing(unsigned char *at, const struct wh_standing *standing)
{
	at = wh_put_number(at, 'W', 1);
	at = wh_put_number(at, 'H', 1);
	at = wh_put_number(at, 'S', 1);
	at = wh_put_number(at, VERSION, 1);
	at = wh_put_number(at,
			   (standing->first ? IS_FIRST : 0) | (standing->left ? HAS_LEFT : 0) |
				   (standing->alone ? IS_ALONE : 0),
			   1);
	at = wh_put_number(at, standing->group, 8);
	at = wh_put_number(at, standing->base, 8);
	at = wh_put_number(at, standing->number, 8);
	at = wh_put_number(at, standing->promised, 8);
	at = wh_put_number(at, standing->ballot, 8);
	at = wh_put_number(at, standing->next, 8);
	at = wh_put_number(at, standing->shard_count, 4);
	at = wh_put_number(at, standing->other_count, 4);
	at = wh_put_number(at, standing->dormant_count, 4);
	at = wh_put_number(at, standing->cut_count, 4);
	for (uint32_t i = 0; i < standing->shard_count; i++)
		at = put_shard(at, &standing->shards[i]);
	for (uint32_t i = 0; i < standing->other_count; i++)
		at = put_begin(at, &standing->others[i]);
	for (uint32_t i = 0; i < standing->dormant_count; i++)
		at = put_dormant(at, &standing->dormant[i]);
	for (uint32_t i = 0; i < standing->cut_count; i++)
		at = wh_put_number(at, standing->cuts[i], CUT_BYTES);
}

enum whorl_result wh_standing_encode(unsigned char **out, size_t *bytes, const struct wh_standing *standing)
{
	*bytes = bytes_of(standing);
	*out = malloc(*bytes);
	if (*out == NULL)
		return WHORL_MEMORY;
	put_standing(*out, standing);
	return WHORL_OK;
}

/* What can be said without the views. */
static bool take_head(struct wh_reader *reader, struct wh_standing *out)
{
	unsigned flags;

	wh_take_within(reader, 1, 'W', 'W');
	wh_take_within(reader, 1, 'H', 'H');
	wh_take_within(reader, 1, 'S', 'S');
	wh_take_within(reader, 1, VERSION, VERSION);
	flags = (unsigned)wh_take_within(reader, 1, 0, HEAD_FLAGS);
	out->first = flags & IS_FIRST;
	out->left = flags & HAS_LEFT;
	out->alone = flags & IS_ALONE;
	out->group = wh_take_within(reader, 8, 1, UINT64_MAX);
	out->base = wh_take_within(reader, 8, 1, UINT64_MAX);
	out->number = wh_take_within(reader, 8, 0, out->first ? 0 : UINT64_MAX);
	out->promised = wh_take_number(reader, 8);
	out->ballot = wh_take_number(reader, 8);
	out->next = wh_take_within(reader, 8, out->ballot > 0, out->ballot > 0 ? UINT64_MAX : 0);
	out->shard_count = (uint32_t)wh_take_within(reader, 4, 0, SHARDS_MAX);
	out->other_count = (uint32_t)wh_take_within(reader, 4, 0, SHARDS_MAX);
	out->dormant_count = (uint32_t)wh_take_within(reader, 4, 0, SHARDS_MAX);
	out->cut_count = (uint32_t)wh_take_within(reader, 4, 0, out->ballot > 0 ? SHARDS_MAX : 0);
	return reader->ok && !(out->first && (out->left || out->alone || out->ballot > 0)) &&
	       reader->left >= (size_t)out->shard_count * SHARD_BYTES + (size_t)out->other_count * OTHER_BYTES +
				       (size_t)out->dormant_count * (SHARD_BYTES + DORMANT_BYTES) +
				       (size_t)out->cut_count * CUT_BYTES;
}

/* It has a name if it is dynamic, and only then. */
static bool take_called(struct wh_reader *reader, bool named, struct wh_shard_standing *out)
{
	if (!named) {
		wh_take_within(reader, 1, 0, 0);
		return reader->ok;
	}
	if (!wh_take_text(reader, out->name, sizeof(out->name)))
		reader->ok = false;
	out->largest = wh_take_number(reader, 8);
	return reader->ok;
}

static bool take_shard(struct wh_reader *reader, struct wh_shard_standing *out)
{
	unsigned flags;

	out->subgroup = wh_take_number(reader, 8);
	out->shard = (uint32_t)wh_take_number(reader, 4);
	flags = (unsigned)wh_take_within(reader, 1, 0, SHARD_FLAGS);
	out->whole = flags & IS_WHOLE;
	out->left = flags & LEFT_SHARD;
	out->before = wh_take_number(reader, 8);
	out->begins = wh_take_within(reader, 8, 0, out->before > 0 ? UINT64_MAX : 0);
	out->left_at = wh_take_within(reader, 8, 0, out->left ? UINT64_MAX : 0);
	return take_called(reader, flags & IS_NAMED, out);
}

static bool take_dormant(struct wh_reader *reader, struct wh_dormant_log *out)
{
	if (!take_shard(reader, &out->shard) || wh_shard_is_of_file(&out->shard))
		return false;
	out->key = wh_take_within(reader, 8, 1, UINT64_MAX);
	out->number = wh_take_number(reader, 8);
	out->cut = wh_take_number(reader, 8);
	return reader->ok;
}

static bool take_begin(struct wh_reader *reader, struct wh_shard_begin *out)
{
	out->subgroup = wh_take_number(reader, 8);
	out->shard = (uint32_t)wh_take_number(reader, 4);
	out->before = wh_take_number(reader, 8);
	out->begins = wh_take_within(reader, 8, 0, out->before > 0 ? UINT64_MAX : 0);
	return reader->ok;
}

/* They ascend, so none is there twice. */
static bool is_behind(uint64_t subgroup, uint32_t shard, uint64_t before, uint32_t shard_before)
{
	return subgroup > before || (subgroup == before && shard > shard_before);
}

static bool take_lists(struct wh_reader *reader, struct wh_standing *out)
{
	for (uint32_t i = 0; i < out->shard_count; i++) {
		const struct wh_shard_standing *shards = out->shards;

		if (!take_shard(reader, &out->shards[i]) ||
		    (i > 0 &&
		     !is_behind(shards[i].subgroup, shards[i].shard, shards[i - 1].subgroup, shards[i - 1].shard)))
			return false;
	}
	for (uint32_t i = 0; i < out->other_count; i++) {
		const struct wh_shard_begin *others = out->others;

		if (!take_begin(reader, &out->others[i]) ||
		    wh_standing_shard(out, others[i].subgroup, others[i].shard) != NULL ||
		    (i > 0 &&
		     !is_behind(others[i].subgroup, others[i].shard, others[i - 1].subgroup, others[i - 1].shard)))
			return false;
	}
	for (uint32_t i = 0; i < out->dormant_count; i++)
		if (!take_dormant(reader, &out->dormant[i]) ||
		    wh_standing_shard(out, out->dormant[i].shard.subgroup, out->dormant[i].shard.shard) != NULL ||
		    (i > 0 && out->dormant[i].shard.subgroup <= out->dormant[i - 1].shard.subgroup))
			return false;
	for (uint32_t i = 0; i < out->cut_count; i++)
		out->cuts[i] = wh_take_number(reader, CUT_BYTES);
	return reader->ok && reader->left == 0;
}

enum whorl_result wh_standing_decode(struct wh_standing *out, const void *bytes, size_t count, struct wh_error *err)
{
	struct wh_reader reader = {bytes, count, true};

	*out = (struct wh_standing){.group = 0};
	if (!take_head(&reader, out)) {
		*out = (struct wh_standing){.group = 0};
		return wh_error_set(err, WHORL_INVALID, "it does not begin like what a disk says of views");
	}
	out->shards = out->shard_count > 0 ? calloc(out->shard_count, sizeof(*out->shards)) : NULL;
	out->others = out->other_count > 0 ? calloc(out->other_count, sizeof(*out->others)) : NULL;
	out->dormant = out->dormant_count > 0 ? calloc(out->dormant_count, sizeof(*out->dormant)) : NULL;
	out->cuts = out->cut_count > 0 ? calloc(out->cut_count, sizeof(*out->cuts)) : NULL;
	if ((out->shards == NULL && out->shard_count > 0) || (out->others == NULL && out->other_count > 0) ||
	    (out->dormant == NULL && out->dormant_count > 0) || (out->cuts == NULL && out->cut_count > 0)) {
		wh_standing_free(out);
		return wh_error_set(err, WHORL_MEMORY, "no memory for what a disk says of views");
	}
	if (take_lists(&reader, out))
		return WHORL_OK;
	wh_standing_free(out);
	return wh_error_set(err, WHORL_INVALID, "what a disk says of its shards is out of order");
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static enum whorl_result write_at(struct wh_file *file, uint64_t at, void *bytes, size_t count, struct wh_error *err)
{
	struct iovec part = {bytes, count};

	return file->ops->write(file, at, &part, 1, err);
}

/* All of these bytes, or none: *whole says which. */
static enum whorl_result read_at(struct wh_file *file, uint64_t at, void *out, size_t bytes, bool *whole,
				 struct wh_error *err)
{
	size_t got = 0;
	enum whorl_result result = file->ops->read(file, at, out, bytes, &got, err);

	*whole = result == WHORL_OK && got == bytes;
	return result;
}

/* What was written beside takes that name, for good. */
static enum whorl_result take_name(struct wh_directory *directory, struct wh_file *file, const char *beside,
				   const char *name, struct wh_error *err)
{
	enum whorl_result result = file->ops->sync(file, err);

	if (result == WHORL_OK)
		result = directory->ops->rename(directory, beside, name, err);
	return result == WHORL_OK ? directory->ops->sync(directory, err) : result;
}

/* A file of that name which has nothing of what was in it. */
static enum whorl_result make_beside(struct wh_directory *directory, const char *beside, struct wh_file **out,
				     struct wh_error *err)
{
	enum whorl_result result = directory->ops->open(directory, beside, true, out, err);

	if (result != WHORL_OK)
		return result;
	result = (*out)->ops->truncate(*out, 0, err);
	if (result != WHORL_OK)
		(*out)->ops->close(*out);
	return result;
}

/* ---- the file of a standing ------------------------------------------------------------------------------------------- */

#define COPIES 2
#define HEAD_AGAIN (PAGE_BYTES / 2) /* where the head of the file stands a second time */

static uint64_t place_of(const struct wh_standing_file *file, uint32_t slot, uint32_t copy)
{
	return PAGE_BYTES + (COPIES * (uint64_t)slot + copy) * file->room;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static void put_file_head(unsigned char head[WH_SECTOR_BYTES], uint64_t room)
{
	unsigned char *at = head;

	memset(head, 0, WH_SECTOR_BYTES);
	at = wh_put_number(at, 'W', 1);
	at = wh_put_number(at, 'H', 1);
	at = wh_put_number(at, 'F', 1);
	at = wh_put_number(at, VERSION, 1);
	at = wh_put_number(at, room, 8);
	wh_put_number(at, wh_crc32c(0, head, (size_t)(at - head)), 4);
}

/* How much room a slot has; 0: it is no such file. */
static uint64_t take_file_head(const unsigned char head[WH_SECTOR_BYTES])
{
	struct wh_reader reader = {head, WH_SECTOR_BYTES, true};
	uint64_t room;

	wh_take_within(&reader, 1, 'W', 'W');
	wh_take_within(&reader, 1, 'H', 'H');
	wh_take_within(&reader, 1, 'F', 'F');
	wh_take_within(&reader, 1, VERSION, VERSION);
	room = wh_take_within(&reader, 8, PAGE_BYTES, 2 * round_up(SLOT_ROOM_MAX));
	if (wh_take_number(&reader, 4) != wh_crc32c(0, head, 12) || room % PAGE_BYTES != 0)
		return 0;
	return reader.ok ? room : 0;
}

static uint32_t slot_checksum(const unsigned char *slot, size_t bytes)
{
	return wh_crc32c(wh_crc32c(0, slot, 12), slot + SLOT_HEAD_BYTES, bytes);
}

/* What is there; *number 0: it does not check. *bad: it does not, and something was written there. */
static enum whorl_result read_copy(struct wh_standing_file *file, uint64_t place, uint64_t *number, bool *bad,
				   struct wh_standing *out, struct wh_error *err)
{
	static const unsigned char nothing[SLOT_HEAD_BYTES] = {0};
	unsigned char head[SLOT_HEAD_BYTES], *bytes;
	struct wh_reader reader = {head, SLOT_HEAD_BYTES, true};
	enum whorl_result result;
	uint64_t found, length;
	bool whole;

	*number = 0;
	*bad = false;
	*out = (struct wh_standing){.group = 0};
	result = read_at(file->file, place, head, sizeof(head), &whole, err);
	if (!whole)
		return result;
	*bad = memcmp(head, nothing, sizeof(head)) != 0;
	found = wh_take_number(&reader, 8);
	length = wh_take_within(&reader, 4, HEAD_BYTES, file->room - SLOT_HEAD_BYTES);
	if (!reader.ok)
		return WHORL_OK;
	bytes = malloc(SLOT_HEAD_BYTES + length);
	if (bytes == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for what a disk says of views");
	result = read_at(file->file, place, bytes, SLOT_HEAD_BYTES + length, &whole, err);
	if (whole && slot_checksum(bytes, length) == (uint32_t)wh_take_number(&reader, 4)) {
		result = wh_standing_decode(out, bytes + SLOT_HEAD_BYTES, length, err);
		*number = result == WHORL_OK ? found : 0;
		*bad = *number == 0;
		result = result == WHORL_INVALID ? WHORL_OK : result;
	}
	free(bytes);
	return result;
}

/* What is in that slot: the newer of its copies, which are of one number if both were written to their end. *bad: they are not. */
static enum whorl_result read_slot(struct wh_standing_file *file, uint32_t slot, uint64_t *number, bool *bad,
				   struct wh_standing *out, struct wh_error *err)
{
	struct wh_standing copies[COPIES] = {{.group = 0}, {.group = 0}};
	uint64_t numbers[COPIES] = {0, 0};
	bool bad_copies[COPIES] = {false, false};
	enum whorl_result result = WHORL_OK;
	int newer;

	for (uint32_t copy = 0; copy < COPIES && result == WHORL_OK; copy++)
		result = read_copy(file, place_of(file, slot, copy), &numbers[copy], &bad_copies[copy], &copies[copy],
				   err);
	newer = numbers[1] > numbers[0];
	*number = numbers[newer];
	*bad = bad_copies[0] || bad_copies[1] || numbers[0] != numbers[1];
	*out = copies[newer];
	wh_standing_free(&copies[!newer]);
	return result;
}

/* The newer of the slots that check. A disk that cannot be read now may be read later: that is no damage. */
static enum whorl_result read_newest(struct wh_standing_file *file, struct wh_standing *out, bool *passed_over,
				     struct wh_error *err)
{
	struct wh_standing slots[2] = {{.group = 0}, {.group = 0}};
	uint64_t numbers[2] = {0, 0};
	bool bad[2] = {false, false};
	enum whorl_result result = read_slot(file, 0, &numbers[0], &bad[0], &slots[0], err);

	if (result == WHORL_OK)
		result = read_slot(file, 1, &numbers[1], &bad[1], &slots[1], err);
	if (result == WHORL_OK && numbers[0] == 0 && numbers[1] == 0)
		result = wh_error_set(err, WHORL_DISK, "what this disk says of views is damaged in all of its places");
	if (result != WHORL_OK) {
		wh_standing_free(&slots[0]);
		wh_standing_free(&slots[1]);
		return result;
	}
	*passed_over = bad[0] || bad[1];
	file->slot = numbers[1] > numbers[0];
	file->number = numbers[file->slot];
	*out = slots[file->slot];
	wh_standing_free(&slots[!file->slot]);
	return WHORL_OK;
}

static enum whorl_result read_file(struct wh_standing_file *file, struct wh_standing *out, bool *passed_over,
				   struct wh_error *err)
{
	unsigned char head[WH_SECTOR_BYTES];
	bool whole, bad = false;
	enum whorl_result result = WHORL_OK;
	uint64_t room;

	for (uint32_t copy = 0; copy < COPIES && result == WHORL_OK; copy++) {
		result = read_at(file->file, copy * (uint64_t)HEAD_AGAIN, head, sizeof(head), &whole, err);
		room = result == WHORL_OK && whole ? take_file_head(head) : 0;
		bad = bad || room == 0;
		file->room = room != 0 ? room : file->room;
	}
	if (result == WHORL_OK && file->room == 0)
		result = wh_error_set(err, WHORL_DISK, "what this disk says of views does not begin as it should");
	if (result == WHORL_OK)
		result = read_newest(file, out, passed_over, err);
	*passed_over = *passed_over || bad;
	return result;
}

enum whorl_result wh_standing_open(struct wh_standing_file *file, struct wh_directory *directory,
				   struct wh_standing *out, bool *passed_over, struct wh_error *err)
{
	enum whorl_result result;
	bool ignored = false;

	*out = (struct wh_standing){.group = 0};
	*file = (struct wh_standing_file){.directory = directory};
	if (passed_over == NULL)
		passed_over = &ignored;
	*passed_over = false;
	result = directory->ops->open(directory, FILE_NAME, false, &file->file, err);
	if (result == WHORL_NOT_FOUND) {
		file->file = NULL;
		return WHORL_OK;
	}
	if (result != WHORL_OK) {
		file->file = NULL;
		return result;
	}
	result = read_file(file, out, passed_over, err);
	if (result == WHORL_OK)
		return WHORL_OK;
	wh_standing_close(file);
	return result == WHORL_MEMORY ? result : wh_error_prefix(err, FILE_NAME);
}

void wh_standing_close(struct wh_standing_file *file)
{
	if (file->file != NULL)
		file->file->ops->close(file->file);
	*file = (struct wh_standing_file){.directory = NULL};
}

/* A slot as bytes; NULL: no memory. */
static unsigned char *make_slot(const struct wh_standing *standing, uint64_t number, size_t *bytes)
{
	size_t length = bytes_of(standing);
	unsigned char *slot = malloc(SLOT_HEAD_BYTES + length), *at;

	*bytes = SLOT_HEAD_BYTES + length;
	if (slot == NULL)
		return NULL;
	at = wh_put_number(slot, number, 8);
	at = wh_put_number(at, length, 4);
	put_standing(slot + SLOT_HEAD_BYTES, standing);
	wh_put_number(at, slot_checksum(slot, length), 4);
	return slot;
}

/* What the file is, twice. */
static enum whorl_result write_heads(struct wh_file *file, uint64_t room, struct wh_error *err)
{
	unsigned char page[PAGE_BYTES] = {0};

	put_file_head(page, room);
	put_file_head(page + HEAD_AGAIN, room);
	return write_at(file, 0, page, sizeof(page), err);
}

/* The same in each copy of a slot: neither counts before both are synced, so one that does not check later was damaged, and the other has it. */
static enum whorl_result write_copies(struct wh_standing_file *file, uint32_t slot, unsigned char *bytes, size_t count,
				      struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t copy = 0; copy < COPIES && result == WHORL_OK; copy++)
		result = write_at(file->file, place_of(file, slot, copy), bytes, count, err);
	return result;
}

/* The file with that slot as its first, in the place of what was there. */
static enum whorl_result make_file(struct wh_standing_file *file, unsigned char *slot, size_t bytes,
				   struct wh_error *err)
{
	struct wh_standing_file made = {.directory = file->directory, .room = 2 * round_up(bytes)};
	enum whorl_result result = make_beside(file->directory, FILE_NAME BESIDE, &made.file, err);

	if (result != WHORL_OK)
		return result;
	result = write_heads(made.file, made.room, err);
	if (result == WHORL_OK)
		result = write_copies(&made, 0, slot, bytes, err);
	if (result == WHORL_OK) /* so that the other slot needs no room later */
		result = made.file->ops->allocate(made.file, place_of(&made, 2, 0), err);
	if (result == WHORL_OK)
		result = take_name(file->directory, made.file, FILE_NAME BESIDE, FILE_NAME, err);
	if (result != WHORL_OK) {
		made.file->ops->close(made.file);
		return result;
	}
	if (file->file != NULL)
		file->file->ops->close(file->file);
	file->file = made.file;
	file->room = made.room;
	file->slot = 0;
	return WHORL_OK;
}

static enum whorl_result write_slot(struct wh_standing_file *file, unsigned char *slot, size_t bytes,
				    struct wh_error *err)
{
	enum whorl_result result = write_copies(file, !file->slot, slot, bytes, err);

	if (result == WHORL_OK)
		result = file->file->ops->sync(file->file, err);
	if (result == WHORL_OK)
		file->slot = !file->slot;
	return result;
}

/* What cannot be written now may be on the disk or not. */
static enum whorl_result judge(struct wh_standing_file *file, enum whorl_result result, struct wh_error *err)
{
	if (result == WHORL_OK || result == WHORL_MEMORY)
		return result;
	file->failed = result != WHORL_AGAIN; /* without room nothing is synced, and what counts is not written to */
	return wh_error_prefix(err, FILE_NAME);
}

enum whorl_result wh_standing_mend(struct wh_standing_file *file, const struct wh_standing *standing,
				   struct wh_error *err)
{
	enum whorl_result result;
	unsigned char *slot;
	size_t bytes;

	if (file->file == NULL)
		return WHORL_OK;
	slot = make_slot(standing, file->number, &bytes);
	if (slot == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for what a disk says of views");
	result = write_heads(file->file, file->room, err);
	if (result == WHORL_OK)
		result = write_copies(file, file->slot, slot, bytes, err);
	if (result == WHORL_OK)
		result = file->file->ops->sync(file->file, err);
	if (result == WHORL_OK)
		result = file->directory->ops->sync(file->directory, err);
	free(slot);
	return judge(file, result, err);
}

enum whorl_result wh_standing_write(struct wh_standing_file *file, const struct wh_standing *standing,
				    struct wh_error *err)
{
	enum whorl_result result;
	unsigned char *slot;
	size_t bytes;

	if (file->failed)
		return wh_error_set(err, WHORL_DISK, FILE_NAME ": a write has failed before");
	if (wh_standing_is_blank(standing))
		return wh_error_set(err, WHORL_INVALID, FILE_NAME ": a blank one is none");
	slot = make_slot(standing, file->number + 1, &bytes);
	if (slot == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for what a disk says of views");
	result = file->file == NULL || bytes > file->room ? make_file(file, slot, bytes, err)
							  : write_slot(file, slot, bytes, err);
	free(slot);
	if (result == WHORL_OK)
		file->number++;
	return judge(file, result, err);
}

/* ---- views ------------------------------------------------------------------------------------------------------------ */

#define VIEW_NAME_BYTES 32

static void name_view(char name[VIEW_NAME_BYTES], uint64_t key, const char *behind)
{
	snprintf(name, VIEW_NAME_BYTES, VIEW_NAME "%016" PRIx64 "%s", key, behind);
}

static uint32_t view_checksum(uint64_t key, const unsigned char *head, const void *bytes, size_t count)
{
	unsigned char name[8];

	wh_put_number(name, key, 8);
	return wh_crc32c(wh_crc32c(wh_crc32c(0, name, 8), head, 12), bytes, count);
}

static enum whorl_result write_view(struct wh_file *file, uint64_t key, const void *bytes, size_t count,
				    struct wh_error *err)
{
	unsigned char head[VIEW_HEAD_BYTES], *at = head, *copy;
	enum whorl_result result;

	at = wh_put_number(at, 'W', 1);
	at = wh_put_number(at, 'H', 1);
	at = wh_put_number(at, 'W', 1);
	at = wh_put_number(at, VERSION, 1);
	at = wh_put_number(at, count, 8);
	wh_put_number(at, view_checksum(key, head, bytes, count), 4);
	copy = malloc(sizeof(head) + count); /* a write may change what it is given */
	if (copy == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	memcpy(copy, head, sizeof(head));
	memcpy(copy + sizeof(head), bytes, count);
	result = write_at(file, 0, copy, sizeof(head) + count, err);
	free(copy);
	return result;
}

enum whorl_result wh_standing_write_view(struct wh_directory *directory, uint64_t key, const void *bytes, size_t count,
					 struct wh_error *err)
{
	char name[VIEW_NAME_BYTES], beside[VIEW_NAME_BYTES];
	struct wh_file *file;
	enum whorl_result result;

	name_view(name, key, "");
	name_view(beside, key, BESIDE);
	result = make_beside(directory, beside, &file, err);
	if (result == WHORL_OK) {
		result = write_view(file, key, bytes, count, err);
		if (result == WHORL_OK)
			result = take_name(directory, file, beside, name, err);
		file->ops->close(file);
	}
	return result == WHORL_OK || result == WHORL_MEMORY ? result : wh_error_prefix(err, "%s", name);
}

/* What stands behind the head, if it checks; the file has so many bytes. */
static enum whorl_result read_view(struct wh_file *file, uint64_t key, uint64_t bytes, unsigned char **out,
				   size_t *count, struct wh_error *err)
{
	unsigned char head[VIEW_HEAD_BYTES], *got;
	struct wh_reader reader = {head, VIEW_HEAD_BYTES, true};
	bool whole;
	enum whorl_result result = read_at(file, 0, head, sizeof(head), &whole, err);
	uint64_t length;

	if (result != WHORL_OK)
		return result;
	wh_take_within(&reader, 1, 'W', 'W');
	wh_take_within(&reader, 1, 'H', 'H');
	wh_take_within(&reader, 1, 'W', 'W');
	wh_take_within(&reader, 1, VERSION, VERSION);
	length = wh_take_number(&reader, 8);
	if (!whole || !reader.ok || length != bytes - VIEW_HEAD_BYTES)
		return wh_error_set(err, WHORL_DISK, "it is damaged");
	got = malloc(length > 0 ? length : 1);
	if (got == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	result = read_at(file, VIEW_HEAD_BYTES, got, length, &whole, err);
	if (result == WHORL_OK &&
	    (!whole || (uint32_t)wh_take_number(&reader, 4) != view_checksum(key, head, got, length)))
		result = wh_error_set(err, WHORL_DISK, "it is damaged");
	if (result != WHORL_OK) {
		free(got);
		return result;
	}
	*out = got;
	*count = length;
	return WHORL_OK;
}

enum whorl_result wh_standing_read_view(struct wh_directory *directory, uint64_t key, unsigned char **out,
					size_t *count, struct wh_error *err)
{
	char name[VIEW_NAME_BYTES];
	struct wh_file *file;
	enum whorl_result result;
	uint64_t bytes;

	*out = NULL;
	*count = 0;
	name_view(name, key, "");
	result = directory->ops->open(directory, name, false, &file, err);
	if (result == WHORL_NOT_FOUND)
		return result;
	if (result == WHORL_OK) {
		result = file->ops->size(file, &bytes, err);
		if (result == WHORL_OK)
			result = read_view(file, key, bytes, out, count, err);
		file->ops->close(file);
	}
	return result == WHORL_OK || result == WHORL_MEMORY ? result : wh_error_prefix(err, "%s", name);
}

/* ---- what is not needed any more -------------------------------------------------------------------------------------- */

struct sweep {
	const struct wh_standing *standing;
	const uint64_t *keep;
	uint32_t keep_count;
	char (*names)[VIEW_NAME_BYTES]; /* of what is to go */
	size_t count, room;
	bool no_memory;
};

/* The key of a view by the name of its file; 0: it is none. */
static uint64_t key_of(const char *name)
{
	char expected[VIEW_NAME_BYTES];
	uint64_t key = 0;

	if (strlen(name) != strlen(VIEW_NAME) + 16 || sscanf(name, VIEW_NAME "%16" SCNx64, &key) != 1)
		return 0;
	name_view(expected, key, "");
	return strcmp(name, expected) == 0 ? key : 0;
}

static bool is_kept(const struct sweep *sweep, uint64_t key)
{
	if (key == sweep->standing->base || (sweep->standing->ballot > 0 && key == sweep->standing->next))
		return true;
	for (uint32_t i = 0; i < sweep->keep_count; i++)
		if (sweep->keep[i] == key)
			return true;
	return false;
}

/* A write that did not end has left it. */
static bool is_beside(const char *name)
{
	size_t length = strlen(name), behind = strlen(BESIDE);
	char before[VIEW_NAME_BYTES];

	if (length < behind || length >= VIEW_NAME_BYTES || strcmp(name + length - behind, BESIDE) != 0)
		return false;
	memcpy(before, name, length - behind);
	before[length - behind] = '\0';
	return strcmp(before, FILE_NAME) == 0 || key_of(before) != 0;
}

static void note_name(void *ctx, const char *name)
{
	struct sweep *sweep = ctx;
	uint64_t key = key_of(name);
	char(*more)[VIEW_NAME_BYTES];

	if (!is_beside(name) && (key == 0 || is_kept(sweep, key)))
		return;
	if (sweep->count == sweep->room) {
		more = realloc(sweep->names, (2 * sweep->room + 8) * sizeof(*more));
		if (more == NULL) {
			sweep->no_memory = true;
			return;
		}
		sweep->names = more;
		sweep->room = 2 * sweep->room + 8;
	}
	snprintf(sweep->names[sweep->count++], VIEW_NAME_BYTES, "%s", name);
}

enum whorl_result wh_standing_sweep(struct wh_directory *directory, const struct wh_standing *standing,
				    const uint64_t *keep, uint32_t keep_count, struct wh_error *err)
{
	struct sweep sweep = {.standing = standing, .keep = keep, .keep_count = keep_count};
	enum whorl_result result = directory->ops->list(directory, note_name, &sweep, err);

	if (result == WHORL_OK && sweep.no_memory)
		result = wh_error_set(err, WHORL_MEMORY, "no memory for the names of views");
	for (size_t i = 0; i < sweep.count && result == WHORL_OK; i++) {
		result = directory->ops->remove(directory, sweep.names[i], err);
		result = result == WHORL_NOT_FOUND ? WHORL_OK : result;
	}
	free(sweep.names);
	return result; /* names that come back are removed by the next sweep */
}
