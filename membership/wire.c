/* wire.c - control messages and views as bytes. See wire.h.
 *
 * A message: "WH", the version, its kind, then the fields of that kind in the order of struct wh_wire. What is as long as it
 * likes (a piece of a view) stands at the end, and ends with the message.
 *
 * A view: "WHV", the version, the group, the view's numbers; id and incarnation of each member, the last `joined` of which are
 * the newcomers; the ids of those that left; then for each configured subgroup the state of each shard and the place of each
 * member: the number of its shard + 1 (0: in none), and what it is there. So ranks ascend and no member is in two shards because
 * nothing else can be written, and there is one way to write a view: what decodes encodes to the same bytes.
 */
#include "membership/wire.h"

#include <stdlib.h>
#include <string.h>

#include "membership/view_int.h"

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

static unsigned char *put_number(unsigned char *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * i);
	return at + bytes;
}

struct reader {
	const unsigned char *at;
	size_t left;
	bool ok; /* nothing was read that is not there, or out of its bounds */
};

/* 0 if they are not there. */
static uint64_t take_number(struct reader *reader, unsigned bytes)
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
static uint64_t take_within(struct reader *reader, unsigned bytes, uint64_t least, uint64_t most)
{
	uint64_t value = take_number(reader, bytes);

	if (value >= least && value <= most)
		return value;
	reader->ok = false;
	return least;
}

/* ---- messages --------------------------------------------------------------------------------------------------------- */

static unsigned char *put_intro(unsigned char *at, const struct wh_wire *message)
{
	at = put_number(at, message->incarnation, 8);
	at = put_number(at, message->group_digest, 8);
	at = put_number(at, message->subgroups_digest, 8);
	if (message->kind == WH_WIRE_JOIN)
		return at;
	at = put_number(at, message->standing, 1);
	at = put_number(at, message->flag, 1);
	at = put_number(at, message->forced, 1);
	at = put_number(at, message->group, 8);
	at = put_number(at, message->key, 8);
	if (message->standing != WH_MEMBER_OF)
		return at;
	at = put_number(at, message->view, 8);
	at = put_number(at, message->leader, 4);
	for (size_t i = 0; i < WH_NODES_MAX / 64; i++)
		at = put_number(at, message->members[i], 8);
	return at;
}

static unsigned char *put_piece(unsigned char *at, const struct wh_wire *message)
{
	at = put_number(at, message->key, 8);
	at = put_number(at, message->total, 4);
	at = put_number(at, message->offset, 4);
	memcpy(at, message->piece, message->bytes);
	return at + message->bytes;
}

size_t wh_wire_encode(unsigned char out[WH_WIRE_BYTES], const struct wh_wire *message)
{
	unsigned char *at = out;

	at = put_number(at, 'W', 1);
	at = put_number(at, 'H', 1);
	at = put_number(at, WH_WIRE_VERSION, 1);
	at = put_number(at, message->kind, 1);
	switch (message->kind) {
	case WH_WIRE_INTRO:
	case WH_WIRE_JOIN:
		at = put_intro(at, message);
		break;
	case WH_WIRE_VIEW:
		at = put_piece(at, message);
		break;
	case WH_WIRE_WITHDRAWN:
		at = put_number(at, message->key, 8);
		break;
	case WH_WIRE_THERE:
		at = put_number(at, message->key, 8);
		at = put_number(at, message->flag, 1);
		break;
	case WH_WIRE_REST:
		at = put_number(at, message->flag, 1);
		/* fall through */
	case WH_WIRE_STATE_WANTED:
	case WH_WIRE_NO_STATE:
		at = put_number(at, message->subgroup, 4);
		break;
	case WH_WIRE_KINDS:
		break;
	}
	return (size_t)(at - out);
}

static void take_intro(struct reader *reader, struct wh_wire *out)
{
	out->incarnation = take_within(reader, 8, 1, UINT64_MAX);
	out->group_digest = take_number(reader, 8);
	out->subgroups_digest = take_number(reader, 8);
	if (out->kind == WH_WIRE_JOIN)
		return;
	out->standing = (enum wh_standing)take_within(reader, 1, WH_SEEKING, WH_MEMBER_OF);
	out->flag = take_within(reader, 1, 0, 1);
	out->forced = take_within(reader, 1, 0, 1);
	out->group = take_within(reader, 8, out->standing == WH_MEMBER_OF, UINT64_MAX);
	out->key = take_within(reader, 8, 0, out->standing == WH_MEMBER_OF ? UINT64_MAX : WH_FIRST_KEYS - 1);
	if (out->standing != WH_MEMBER_OF)
		return;
	out->view = take_number(reader, 8);
	out->leader = (uint32_t)take_within(reader, 4, 0, WH_NODES_MAX - 1);
	for (size_t i = 0; i < WH_NODES_MAX / 64; i++)
		out->members[i] = take_number(reader, 8);
}

static void take_piece(struct reader *reader, struct wh_wire *out)
{
	out->key = take_number(reader, 8);
	out->total = (uint32_t)take_within(reader, 4, 1, WH_VIEW_BYTES_MAX);
	out->offset = (uint32_t)take_within(reader, 4, 0, out->total - 1);
	if (reader->left < 1 || reader->left > WH_WIRE_PIECE_BYTES || reader->left > out->total - out->offset) {
		reader->ok = false;
		return;
	}
	out->bytes = (uint32_t)reader->left;
	out->piece = reader->at;
	reader->left = 0;
}

bool wh_wire_decode(struct wh_wire *out, const void *bytes, size_t count)
{
	struct reader reader = {bytes, count, true};

	memset(out, 0, sizeof(*out));
	take_within(&reader, 1, 'W', 'W');
	take_within(&reader, 1, 'H', 'H');
	take_within(&reader, 1, WH_WIRE_VERSION, WH_WIRE_VERSION);
	out->kind = (enum wh_wire_kind)take_within(&reader, 1, WH_WIRE_INTRO, WH_WIRE_KINDS - 1);
	if (!reader.ok)
		return false;
	switch (out->kind) {
	case WH_WIRE_INTRO:
	case WH_WIRE_JOIN:
		take_intro(&reader, out);
		break;
	case WH_WIRE_VIEW:
		take_piece(&reader, out);
		break;
	case WH_WIRE_WITHDRAWN:
		out->key = take_number(&reader, 8);
		break;
	case WH_WIRE_THERE:
		out->key = take_number(&reader, 8);
		out->flag = take_within(&reader, 1, 0, 1);
		break;
	case WH_WIRE_REST:
		out->flag = take_within(&reader, 1, 0, 1);
		/* fall through */
	case WH_WIRE_STATE_WANTED:
	case WH_WIRE_NO_STATE:
		out->subgroup = (uint32_t)take_number(&reader, 4);
		break;
	case WH_WIRE_KINDS:
		break;
	}
	return reader.ok && reader.left == 0;
}

/* ---- pieces of a view ------------------------------------------------------------------------------------------------- */

enum whorl_result wh_view_parts_take(struct wh_view_parts *parts, const struct wh_wire *message)
{
	if (message->offset == 0) {
		wh_view_parts_free(parts);
		parts->bytes = malloc(message->total);
		if (parts->bytes == NULL)
			return WHORL_MEMORY;
		parts->key = message->key;
		parts->total = message->total;
	}
	if (parts->bytes == NULL || message->key != parts->key)
		return WHORL_AGAIN;
	if (message->offset != parts->have || message->total != parts->total ||
	    message->bytes > message->total - message->offset)
		return WHORL_INVALID;
	memcpy(parts->bytes + parts->have, message->piece, message->bytes);
	parts->have += message->bytes;
	return parts->have == parts->total ? WHORL_OK : WHORL_AGAIN;
}

void wh_view_parts_free(struct wh_view_parts *parts)
{
	unsigned char *bytes = parts->bytes;

	*parts = (struct wh_view_parts){.bytes = NULL}; /* first: a fork may come in between */
	free(bytes);
}

/* ---- views ------------------------------------------------------------------------------------------------------------ */

#define HEAD_BYTES 32   /* of a view, before its members */
#define MEMBER_BYTES 12 /* id, incarnation */
#define LEFT_BYTES 4    /* id */
#define PLACE_BYTES 2   /* of a member in a configured subgroup */

_Static_assert(HEAD_BYTES + WH_NODES_MAX * (MEMBER_BYTES + LEFT_BYTES) +
			       WH_SUBGROUPS_MAX * (WH_SHARDS_MAX + WH_NODES_MAX * PLACE_BYTES) <=
		       WH_VIEW_BYTES_MAX,
	       "every view fits");

enum { IS_SENDER = 1, HAS_ENTERED = 2, RESTS = 4, ENDS = 8, PLACE_FLAGS = 15 };

static size_t view_bytes(uint32_t members, uint32_t left, size_t configured, size_t shards)
{
	return HEAD_BYTES + (size_t)members * MEMBER_BYTES + (size_t)left * LEFT_BYTES + shards +
	       configured * members * PLACE_BYTES;
}

static unsigned char *put_head(unsigned char *at, const struct wh_view *view)
{
	at = put_number(at, 'W', 1);
	at = put_number(at, 'H', 1);
	at = put_number(at, 'V', 1);
	at = put_number(at, WH_WIRE_VERSION, 1);
	at = put_number(at, view->group, 8);
	at = put_number(at, view->number, 8);
	at = put_number(at, view->members, 2);
	at = put_number(at, view->joined_count, 2);
	at = put_number(at, view->left_count, 2);
	at = put_number(at, view->voters, 2);
	return put_number(at, view->subgroup_count, 4);
}

static void put_flag(unsigned char *places, const uint32_t *ranks, uint32_t count, unsigned flag)
{
	for (uint32_t i = 0; i < count; i++)
		places[ranks[i] * PLACE_BYTES + 1] |= (unsigned char)flag;
}

/* The shards of one configured subgroup. The bytes are 0. */
static unsigned char *put_subgroup(unsigned char *at, const struct wh_view_subgroup *shards, uint32_t members)
{
	unsigned char *places = at + shards->shards;

	for (uint32_t i = 0; i < shards->shards; i++) {
		const struct wh_view_subgroup *shard = &shards[i];

		at[i] = (unsigned char)shard->state;
		for (uint32_t m = 0; m < shard->member_count; m++)
			places[shard->members[m] * PLACE_BYTES] = (unsigned char)(i + 1);
		put_flag(places, shard->senders, shard->sender_count, IS_SENDER);
		put_flag(places, shard->entered, shard->entered_count, HAS_ENTERED);
		put_flag(places, shard->resting, shard->resting_count, RESTS);
		put_flag(places, shard->ending, shard->ending_count, ENDS);
	}
	return places + (size_t)members * PLACE_BYTES;
}

enum whorl_result wh_view_encode(unsigned char **out, size_t *bytes, const struct wh_view *view)
{
	uint32_t configured = 0;
	unsigned char *at;

	for (uint32_t g = 0; g < view->subgroup_count; g += view->subgroups[g].shards)
		configured++;
	*bytes = view_bytes(view->members, view->left_count, configured, view->subgroup_count);
	at = calloc(1, *bytes);
	*out = at;
	if (at == NULL)
		return WHORL_MEMORY;
	at = put_head(at, view);
	for (uint32_t rank = 0; rank < view->members; rank++) {
		at = put_number(at, view->ids[rank], 4);
		at = put_number(at, view->incarnations[rank], 8);
	}
	for (uint32_t i = 0; i < view->left_count; i++)
		at = put_number(at, view->left[i], 4);
	for (uint32_t g = 0; g < view->subgroup_count; g += view->subgroups[g].shards)
		at = put_subgroup(at, &view->subgroups[g], view->members);
	return WHORL_OK;
}

struct head { /* of a view */
	uint64_t group, number;
	uint32_t members, joined, left, voters, shards;
};

static bool take_head(struct reader *reader, struct head *out, uint32_t nodes_max)
{
	take_within(reader, 1, 'W', 'W');
	take_within(reader, 1, 'H', 'H');
	take_within(reader, 1, 'V', 'V');
	take_within(reader, 1, WH_WIRE_VERSION, WH_WIRE_VERSION);
	out->group = take_within(reader, 8, 1, UINT64_MAX);
	out->number = take_number(reader, 8);
	out->members = (uint32_t)take_within(reader, 2, 1, nodes_max);
	out->joined = (uint32_t)take_within(reader, 2, 0, out->members);
	out->left = (uint32_t)take_within(reader, 2, 0, nodes_max - out->members);
	out->voters = (uint32_t)take_within(reader, 2, out->members, nodes_max);
	out->shards = (uint32_t)take_number(reader, 4);
	if (out->number == 0)
		return reader->ok && out->joined == out->members && out->left == 0;
	return reader->ok && out->joined < out->members && out->voters == out->members;
}

/* An id that has not been seen. */
static uint32_t take_id(struct reader *reader, bool *seen, uint32_t nodes_max)
{
	uint32_t id = (uint32_t)take_within(reader, 4, 0, nodes_max - 1);

	if (seen[id])
		reader->ok = false;
	seen[id] = true;
	return id;
}

static bool take_members(struct reader *reader, struct wh_view *view, const struct head *head, uint32_t nodes_max)
{
	bool seen[WH_NODES_MAX] = {false};

	view->members = head->members;
	for (uint32_t rank = 0; rank < head->members; rank++) {
		view->ids[rank] = take_id(reader, seen, nodes_max);
		view->incarnations[rank] = take_within(reader, 8, 1, UINT64_MAX);
		if (rank < head->members - head->joined)
			continue;
		if (view->joined_count > 0 && view->joined[view->joined_count - 1] > view->ids[rank])
			reader->ok = false;
		view->joined[view->joined_count++] = view->ids[rank];
	}
	for (uint32_t i = 0; i < head->left; i++)
		view->left[view->left_count++] = take_id(reader, seen, nodes_max);
	return reader->ok;
}

/* Where every member is in one configured subgroup. Newcomers have entered wherever they are, and neither rest nor end; an ending
 * member was in that shard before, and sends. */
static bool take_places(struct reader *reader, struct wh_places *places, const struct wh_view *view, uint32_t shards)
{
	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t shard = (uint32_t)take_within(reader, 1, 0, shards);
		unsigned flags = (unsigned)take_within(reader, 1, 0, PLACE_FLAGS);

		places->shard[rank] = (int)shard - 1;
		places->sender[rank] = flags & IS_SENDER;
		places->entered[rank] = flags & HAS_ENTERED;
		places->resting[rank] = flags & RESTS;
		places->ending[rank] = flags & ENDS;
		if ((shard == 0 && flags != 0) || (places->sender[rank] && places->resting[rank]) ||
		    (places->ending[rank] && (!places->sender[rank] || places->entered[rank])))
			reader->ok = false;
		if (shard > 0 && rank >= view->members - view->joined_count &&
		    (!places->entered[rank] || places->resting[rank]))
			reader->ok = false;
	}
	return reader->ok;
}

/* The shards of one configured subgroup, each of which must be in the state that follows from its places. */
static enum whorl_result take_subgroup(struct reader *reader, struct wh_view *view, const struct wh_subgroup_text *text,
				       uint32_t configured)
{
	struct wh_view_subgroup *shards = &view->subgroups[view->subgroup_count];
	struct wh_places places;
	uint8_t state[WH_SHARDS_MAX];

	for (uint32_t i = 0; i < text->shards; i++)
		state[i] = (uint8_t)take_within(reader, 1, WH_SHARD_ACTIVE, WH_SHARD_LOST);
	if (!take_places(reader, &places, view, text->shards))
		return WHORL_INVALID;
	for (uint32_t i = 0; i < text->shards; i++) {
		view->subgroup_count++;
		wh_shard_name(&shards[i], text, configured, i);
		if (!wh_shard_fill(&shards[i], &places, view->members, text->members_min, state[i] == WH_SHARD_LOST))
			return WHORL_MEMORY;
		if (shards[i].state != (enum wh_shard_state)state[i] ||
		    (state[i] == WH_SHARD_LOST && (shards[i].member_count > 0 || view->number == 0)))
			return WHORL_INVALID;
	}
	return WHORL_OK;
}

/* What stands behind the head; its length has been checked. */
static enum whorl_result take_view(struct reader *reader, const struct head *head, struct wh_view *view,
				   const struct wh_layout_config *layout, uint32_t nodes_max, struct wh_error *err)
{
	view->group = head->group;
	view->number = head->number;
	view->voters = head->voters;
	if (!take_members(reader, view, head, nodes_max))
		return wh_error_set(err, WHORL_INVALID, "the members of a view are out of order");
	view->subgroups = calloc(head->shards > 0 ? head->shards : 1, sizeof(*view->subgroups));
	if (view->subgroups == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	for (uint32_t i = 0; i < layout->count; i++) {
		enum whorl_result result = take_subgroup(reader, view, &layout->subgroups[i], i);

		if (result == WHORL_MEMORY)
			return wh_error_set(err, result, "no memory for a view");
		if (result != WHORL_OK)
			return wh_error_set(err, result, "subgroup %s of a view is out of order",
					    layout->subgroups[i].name);
	}
	return WHORL_OK;
}

enum whorl_result wh_view_decode(struct wh_view **out, const void *bytes, size_t count,
				 const struct wh_layout_config *layout, uint32_t nodes_max, struct wh_error *err)
{
	struct reader reader = {bytes, count, true};
	enum whorl_result result;
	struct wh_view *view;
	struct head head;
	uint32_t shards = 0;
	size_t expected;

	if (!take_head(&reader, &head, nodes_max))
		return wh_error_set(err, WHORL_INVALID, "it does not begin like a view of at most %u nodes", nodes_max);
	for (uint32_t i = 0; i < layout->count; i++)
		shards += layout->subgroups[i].shards;
	if (head.shards != shards)
		return wh_error_set(err, WHORL_INVALID, "a view has %u shards, expected %u", head.shards, shards);
	expected = view_bytes(head.members, head.left, layout->count, shards);
	if (count != expected)
		return wh_error_set(err, WHORL_INVALID, "a view has %zu bytes, expected %zu", count, expected);
	view = wh_view_new(head.members, head.left);
	if (view == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	result = take_view(&reader, &head, view, layout, nodes_max, err);
	if (result != WHORL_OK)
		wh_view_free(view);
	else
		*out = view;
	return result;
}
