/* wire.c - messages of a channel as bytes. See channel/wire.h.
 *
 * The first byte is the kind. A sample: what it changes, and 8 if there is a key (1), two zeros, number of the writer (4), source time (8), the key
 * (16), its bytes. The others: the fields of the kind in the order of struct wh_dds_message, one behind the other.
 */
#include "dds/channel/wire.h"

#include <stdlib.h>
#include <string.h>

#define KEYED 8 /* beside enum wh_dds_change */

_Static_assert(1 + 8 + 4 + 4 + WH_DDS_KEY_BYTES + 8 + 8 <= WH_DDS_DUE_BYTES, "what the lowest rank says fits");

/* ---- terms and policies --------------------------------------------------------------------------------------------------- */

struct wh_dds_terms wh_dds_terms_of(const struct wh_dds_policies *topic, uint64_t type_hash, bool keyed)
{
	struct wh_dds_terms terms = {.type_hash = type_hash,
				     .keyed = keyed,
				     .consistency = wh_dds_consistency(topic),
				     .cleanup_ns = topic->service.cleanup_ns};

	wh_dds_policies_kept(topic, &terms.history, &terms.limits);
	return terms;
}

bool wh_dds_terms_equal(const struct wh_dds_terms *one, const struct wh_dds_terms *other)
{
	return one->type_hash == other->type_hash && one->keyed == other->keyed &&
	       one->consistency == other->consistency && one->history.kind == other->history.kind &&
	       one->history.depth == other->history.depth && one->limits.samples == other->limits.samples &&
	       one->limits.instances == other->limits.instances &&
	       one->limits.samples_per_instance == other->limits.samples_per_instance &&
	       one->cleanup_ns == other->cleanup_ns;
}

void wh_dds_put_terms(struct wh_dds_out *out, const struct wh_dds_terms *terms)
{
	wh_dds_put_number(out, terms->type_hash, 8);
	wh_dds_put_number(out, terms->keyed, 1);
	wh_dds_put_number(out, terms->consistency, 1);
	wh_dds_put_number(out, terms->history.kind, 1);
	wh_dds_put_number(out, (uint32_t)terms->history.depth, 4);
	wh_dds_put_number(out, (uint32_t)terms->limits.samples, 4);
	wh_dds_put_number(out, (uint32_t)terms->limits.instances, 4);
	wh_dds_put_number(out, (uint32_t)terms->limits.samples_per_instance, 4);
	wh_dds_put_number(out, (uint64_t)terms->cleanup_ns, 8);
}

static int32_t take_limit(struct wh_dds_in *in)
{
	int32_t limit = (int32_t)(uint32_t)wh_dds_take(in, 4);

	if (limit >= 1 || limit == WHORL_DDS_UNLIMITED)
		return limit;
	in->ok = false;
	return WHORL_DDS_UNLIMITED;
}

struct wh_dds_terms wh_dds_take_terms(struct wh_dds_in *in)
{
	struct wh_dds_terms terms = {.type_hash = wh_dds_take(in, 8)};

	terms.keyed = wh_dds_take_within(in, 1, 0, 1) == 1;
	terms.consistency = (enum whorl_dds_consistency_kind)wh_dds_take_within(in, 1, 0, WHORL_DDS_CONSISTENCY_LOGGED);
	terms.history.kind = (enum whorl_dds_history_kind)wh_dds_take_within(in, 1, 0, WHORL_DDS_HISTORY_KEEP_ALL);
	terms.history.depth = (int32_t)wh_dds_take_within(in, 4, 1, INT32_MAX);
	terms.limits.samples = take_limit(in);
	terms.limits.instances = take_limit(in);
	terms.limits.samples_per_instance = take_limit(in);
	terms.cleanup_ns = (int64_t)wh_dds_take_within(in, 8, 0, INT64_MAX);
	return terms;
}

/* ---- writing -------------------------------------------------------------------------------------------------------------- */

size_t wh_dds_put_sample(unsigned char *at, uint32_t writer, uint8_t change, int64_t source_ns,
			 const unsigned char *key)
{
	at[0] = WH_DDS_SAY_SAMPLE;
	at[1] = (unsigned char)(change | (key != NULL ? KEYED : 0));
	at[2] = at[3] = 0;
	for (unsigned i = 0; i < 4; i++)
		at[4 + i] = (unsigned char)(writer >> 8 * i);
	for (unsigned i = 0; i < 8; i++)
		at[8 + i] = (unsigned char)((uint64_t)source_ns >> 8 * i);
	if (key == NULL)
		return WH_DDS_HEAD_BYTES;
	memcpy(at + WH_DDS_HEAD_BYTES, key, WH_DDS_KEY_BYTES);
	return WH_DDS_HEAD_BYTES + WH_DDS_KEY_BYTES;
}

void wh_dds_put_id(struct wh_dds_out *out, const struct wh_dds_endpoint_id *id)
{
	wh_dds_put_number(out, id->incarnation, 8);
	wh_dds_put_number(out, id->node, 4);
	wh_dds_put_number(out, id->number, 4);
}

void wh_dds_put_message(struct wh_dds_out *out, const struct wh_dds_message *message)
{
	wh_dds_put_number(out, message->kind, 1);
	switch (message->kind) {
	case WH_DDS_SAY_NEW:
		wh_dds_put_number(out, message->number, 4);
		wh_dds_put_number(out, message->what, 1);
		wh_dds_put_number(out, message->group, 4);
		wh_dds_put_number(out, message->topic, 8);
		wh_dds_put_text(out, message->name);
		wh_dds_put_terms(out, &message->terms);
		wh_dds_put_policies(out, &message->policies);
		break;
	case WH_DDS_SAY_CHANGE:
		wh_dds_put_number(out, message->number, 4);
		wh_dds_put_number(out, message->what, 1);
		wh_dds_put_policies(out, &message->policies);
		break;
	case WH_DDS_SAY_END:
		wh_dds_put_number(out, message->number, 4);
		wh_dds_put_number(out, message->what, 1);
		break;
	case WH_DDS_SAY_BEGIN:
	case WH_DDS_SAY_SET:
	case WH_DDS_SAY_ASSERT:
		wh_dds_put_number(out, message->number, 4);
		break;
	case WH_DDS_SAY_LOST:
		wh_dds_put_id(out, &message->writer);
		wh_dds_put_number(out, message->seen, 8);
		break;
	case WH_DDS_SAY_LATE:
		wh_dds_put_id(out, &message->writer);
		wh_dds_put(out, message->key, WH_DDS_KEY_BYTES);
		wh_dds_put_number(out, message->seen, 8);
		break;
	case WH_DDS_SAY_CLEAN:
		wh_dds_put_number(out, message->topic, 8);
		wh_dds_put(out, message->key, WH_DDS_KEY_BYTES);
		wh_dds_put_number(out, message->seen, 8);
		break;
	case WH_DDS_SAY_SAMPLE:
	case WH_DDS_SAY_KINDS:
		break;
	}
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static uint64_t number_at(const unsigned char *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* Each message but a few is one: so this goes by without the reader of all others. */
bool wh_dds_take_sample(struct wh_dds_said *said, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	size_t head = WH_DDS_HEAD_BYTES;

	if (count < head || count - head > UINT32_MAX || at[0] != WH_DDS_SAY_SAMPLE ||
	    at[1] > (WH_DDS_CHANGES | KEYED) || at[2] != 0 || at[3] != 0)
		return false;
	said->change = at[1] & WH_DDS_CHANGES;
	said->keyed = (at[1] & KEYED) != 0;
	said->number = (uint32_t)number_at(at + 4, 4);
	said->source_ns = (int64_t)number_at(at + 8, 8);
	if (said->number == 0 || ((said->change & WH_DDS_WRITE) != 0 && (said->change & WH_DDS_UNREGISTER) != 0))
		return false;
	if (said->keyed) {
		head += WH_DDS_KEY_BYTES;
		if (count < head)
			return false;
		memcpy(said->key, at + WH_DDS_HEAD_BYTES, WH_DDS_KEY_BYTES);
	} else {
		memset(said->key, 0, WH_DDS_KEY_BYTES);
	}
	said->bytes = at + head;
	said->count = (uint32_t)(count - head);
	return true;
}

static void take_endpoint(struct wh_dds_in *in, struct wh_dds_message *out)
{
	out->number = (uint32_t)wh_dds_take_within(in, 4, 1, UINT32_MAX);
	out->what = (enum wh_dds_kind)wh_dds_take_within(in, 1, WH_DDS_WRITER, WH_DDS_READER);
}

static void take_new(struct wh_dds_in *in, struct wh_dds_message *out)
{
	take_endpoint(in, out);
	out->group = (uint32_t)wh_dds_take(in, 4);
	out->topic = wh_dds_take_within(in, 8, 1, UINT64_MAX - 1); /* so that there is one behind */
	out->name = wh_dds_take_text(in, WH_DDS_NAME_BYTES);
	out->terms = wh_dds_take_terms(in);
	wh_dds_take_policies(in, &out->policies, out->what);
}

void wh_dds_take_id(struct wh_dds_in *in, struct wh_dds_endpoint_id *id)
{
	id->incarnation = wh_dds_take(in, 8);
	id->node = (uint32_t)wh_dds_take(in, 4);
	id->number = (uint32_t)wh_dds_take(in, 4);
}

static void take_word(struct wh_dds_in *in, struct wh_dds_message *out)
{
	const unsigned char *key = NULL;

	if (out->kind == WH_DDS_SAY_CLEAN) {
		out->topic = wh_dds_take_within(in, 8, 1, UINT64_MAX - 1); /* so that there is one behind */
	} else {
		wh_dds_take_id(in, &out->writer);
		in->ok = in->ok && out->writer.number > 0;
	}
	if (out->kind != WH_DDS_SAY_LOST && (key = wh_dds_take_bytes(in, WH_DDS_KEY_BYTES)) != NULL)
		memcpy(out->key, key, WH_DDS_KEY_BYTES);
	out->seen = wh_dds_take(in, 8);
}

static void take_fields(struct wh_dds_in *in, struct wh_dds_message *out)
{
	switch (out->kind) {
	case WH_DDS_SAY_NEW:
		take_new(in, out);
		break;
	case WH_DDS_SAY_CHANGE:
		take_endpoint(in, out);
		wh_dds_take_policies(in, &out->policies, out->what);
		break;
	case WH_DDS_SAY_END:
		take_endpoint(in, out);
		break;
	case WH_DDS_SAY_BEGIN:
	case WH_DDS_SAY_SET:
		out->number = (uint32_t)wh_dds_take_within(in, 4, 1, UINT32_MAX);
		break;
	case WH_DDS_SAY_ASSERT:
		out->number = (uint32_t)wh_dds_take(in, 4);
		break;
	case WH_DDS_SAY_LOST:
	case WH_DDS_SAY_LATE:
	case WH_DDS_SAY_CLEAN:
		take_word(in, out);
		break;
	case WH_DDS_SAY_SAMPLE:
	case WH_DDS_SAY_KINDS:
		break;
	}
}

enum whorl_result wh_dds_take_message(struct wh_dds_message *message, const void *bytes, size_t count)
{
	struct wh_dds_in in = {.at = bytes, .left = count, .ok = true};
	enum whorl_result result;

	memset(message, 0, sizeof(*message));
	message->kind = (enum wh_dds_message_kind)wh_dds_take_within(&in, 1, WH_DDS_SAY_NEW, WH_DDS_SAY_KINDS - 1);
	if (in.ok)
		take_fields(&in, message);
	result = wh_dds_in_end(&in);
	if (result != WHORL_OK)
		wh_dds_message_free(message);
	return result;
}

void wh_dds_message_free(struct wh_dds_message *message)
{
	free(message->name);
	message->name = NULL;
	wh_dds_policies_free(&message->policies);
}
