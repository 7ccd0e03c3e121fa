/* shard_wire.c - see shard_wire.h. */
#include "delegation/shard_wire.h"

#include <string.h>

#include "base/number.h"

#define CALL_MAGIC UINT32_C(0x31435457)          /* "WTC1" */
#define IMAGE_MAGIC UINT64_C(0x31474d4954485257) /* "WRHTIMG1" */
#define PADDED(bytes) (((bytes) + 7) & ~(size_t)7)

/* ---- calls ---------------------------------------------------------------------------------------------------------------------- */

static size_t names_bytes(const struct wh_shard_call *call)
{
	return call->kind == WH_SHARD_MAKE ? PADDED(3 + strlen(call->name) + strlen(call->type)) : 0;
}

size_t wh_shard_call_bytes(const struct wh_shard_call *call)
{
	return WH_SHARD_HEAD_BYTES + names_bytes(call) + call->bytes;
}

size_t wh_shard_call_put(unsigned char *out, const struct wh_shard_call *call)
{
	size_t all = WH_SHARD_HEAD_BYTES + names_bytes(call);
	unsigned char *at = wh_put_number(out, CALL_MAGIC, 4);

	at = wh_put_number(at, call->kind, 2);
	at = wh_put_number(at, 0, 2);
	at = wh_put_number(at, call->digest, 8);
	at = wh_put_number(at, call->property, 8);
	at = wh_put_number(at, call->function, 4);
	at = wh_put_number(at, 0, 4);
	if (call->kind != WH_SHARD_MAKE)
		return all;
	at = wh_put_text(at, call->name);
	at = wh_put_text(at, call->type);
	at = wh_put_number(at, call->args != NULL, 1);
	memset(at, 0, (size_t)(out + all - at));
	return all;
}

static bool take_names(struct wh_reader *reader, struct wh_shard_call *out)
{
	const unsigned char *begin = reader->at;
	bool has = false;
	size_t used, pad;

	if (wh_take_text(reader, out->name, sizeof(out->name)) && wh_take_text(reader, out->type, sizeof(out->type)))
		has = wh_take_within(reader, 1, 0, 1) != 0;
	used = (size_t)(reader->at - begin);
	pad = PADDED(used) - used;
	while (pad-- > 0)
		(void)wh_take_within(reader, 1, 0, 0);
	return reader->ok && strlen(out->name) > 0 && strlen(out->type) > 0 && has == (reader->left > 0);
}

bool wh_shard_call_take(struct wh_shard_call *out, const void *data, size_t bytes)
{
	struct wh_reader reader = {data, bytes, true};

	memset(out, 0, sizeof(*out));
	(void)wh_take_within(&reader, 4, CALL_MAGIC, CALL_MAGIC);
	out->kind = (enum wh_shard_kind)wh_take_within(&reader, 2, WH_SHARD_MAKE, WH_SHARD_KINDS - 1);
	(void)wh_take_within(&reader, 2, 0, 0);
	out->digest = wh_take_number(&reader, 8);
	out->property = wh_take_number(&reader, 8);
	out->function = (uint32_t)wh_take_number(&reader, 4);
	(void)wh_take_within(&reader, 4, 0, 0);
	if (!reader.ok || out->digest == 0 || (out->kind == WH_SHARD_MAKE) != (out->property == 0) ||
	    (out->kind != WH_SHARD_APPLY && out->function != 0))
		return false;
	if (out->kind == WH_SHARD_MAKE && !take_names(&reader, out))
		return false;
	if (out->kind == WH_SHARD_END && reader.left > 0)
		return false;
	out->args = reader.left > 0 ? reader.at : NULL;
	out->bytes = reader.left;
	return true;
}

/* ---- images --------------------------------------------------------------------------------------------------------------------- */

void wh_image_put_head(unsigned char out[WH_IMAGE_HEAD_BYTES], uint64_t digest, uint64_t count)
{
	out = wh_put_number(out, IMAGE_MAGIC, 8);
	out = wh_put_number(out, digest, 8);
	(void)wh_put_number(out, count, 8);
}

size_t wh_image_put_item(unsigned char out[WH_IMAGE_ITEM_BYTES_MAX], const struct wh_image_item *item)
{
	unsigned char *at = wh_put_number(out, item->id, 8);

	at = wh_put_number(at, item->bytes, 8);
	at = wh_put_text(at, item->name);
	at = wh_put_text(at, item->type);
	return (size_t)(at - out);
}

bool wh_image_begin(struct wh_image_reader *reader, const void *data, size_t bytes)
{
	struct wh_reader head = {data, bytes, true};

	(void)wh_take_within(&head, 8, IMAGE_MAGIC, IMAGE_MAGIC);
	reader->digest = wh_take_number(&head, 8);
	reader->count = wh_take_number(&head, 8);
	reader->at = head.at;
	reader->left = head.left;
	return head.ok && (reader->digest != 0 || reader->count == 0) && (reader->count > 0 || reader->left == 0);
}

bool wh_image_next(struct wh_image_reader *reader, struct wh_image_item *out)
{
	struct wh_reader item = {reader->at, reader->left, true};
	uint64_t bytes;

	out->id = wh_take_number(&item, 8);
	bytes = wh_take_number(&item, 8);
	if (!wh_take_text(&item, out->name, sizeof(out->name)) || !wh_take_text(&item, out->type, sizeof(out->type)) ||
	    !item.ok || out->id == 0 || bytes > item.left)
		return false;
	out->data = item.at;
	out->bytes = (size_t)bytes;
	reader->at = item.at + bytes;
	reader->left = item.left - (size_t)bytes;
	return --reader->count > 0 || reader->left == 0;
}
