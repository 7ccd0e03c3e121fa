/* wire.c - control messages and views as bytes. See wire.h.
 *
 * A message: "WH", the version, its kind, then the fields of that kind in the order of struct wh_wire. What is as long as it
 * likes (a piece of a view) stands at the end, and ends with the message.
 *
 * A view: "WHV", the version, the group, the view's numbers; id and incarnation of each member, the last `joined` of which are
 * the newcomers; the ids of those that left; then for each configured subgroup the state of each shard and the place of each
 * member: the number of its shard + 1 (0: in none), and what it is there. So ranks ascend and no member is in two shards because
 * nothing else can be written, and there is one way to write a view: what decodes encodes to the same bytes.
 *
 * If a dynamic subgroup, a dormant one, or the number of a served set is in it, more follows: these numbers by rank, the number of dynamic subgroups,
 * then each, by its seat: birth, name, parameters, the view and the cut that it comes back from (0, 0: it does not), and its members by rank, with
 * what each is there; the number of dormant ones, then each, by its seat: birth, name, parameters, the numbers of two views, and its last members.
 */
#include "membership/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "membership/view_int.h"

/* ---- messages --------------------------------------------------------------------------------------------------------- */

static unsigned char *put_intro(unsigned char *at, const struct wh_wire *message)
{
	at = wh_put_number(at, message->incarnation, 8);
	at = wh_put_number(at, message->group_digest, 8);
	at = wh_put_number(at, message->subgroups_digest, 8);
	if (message->kind == WH_WIRE_JOIN)
		return at;
	at = wh_put_number(at, message->standing, 1);
	at = wh_put_number(at, message->flag, 1);
	at = wh_put_number(at, message->forced, 1);
	at = wh_put_number(at, message->group, 8);
	at = wh_put_number(at, message->key, 8);
	if (message->standing != WH_MEMBER_OF) {
		at = wh_put_number(at, message->disk, 1);
		return wh_put_number(at, message->base, 8);
	}
	at = wh_put_number(at, message->view, 8);
	at = wh_put_number(at, message->leader, 4);
	for (size_t i = 0; i < WH_NODES_MAX / 64; i++)
		at = wh_put_number(at, message->members[i], 8);
	return at;
}

static unsigned char *put_piece(unsigned char *at, const struct wh_wire *message)
{
	at = wh_put_number(at, message->key, 8);
	at = wh_put_number(at, message->total, 4);
	at = wh_put_number(at, message->offset, 4);
	memcpy(at, message->piece, message->bytes);
	return at + message->bytes;
}

static unsigned char *put_refusal(unsigned char *at, const struct wh_wire *message)
{
	const struct wh_refusal *refusal = &message->refusal;

	at = wh_put_number(at, message->key, 8);
	at = wh_put_number(at, refusal->wish, 2);
	at = wh_put_number(at, refusal->why, 1);
	at = wh_put_number(at, refusal->parameter, 1);
	at = wh_put_number(at, refusal->theirs, 8);
	return wh_put_number(at, refusal->node, 4);
}

size_t wh_wire_encode(unsigned char out[WH_WIRE_BYTES], const struct wh_wire *message)
{
	unsigned char *at = out;

	at = wh_put_number(at, 'W', 1);
	at = wh_put_number(at, 'H', 1);
	at = wh_put_number(at, WH_WIRE_VERSION, 1);
	at = wh_put_number(at, message->kind, 1);
	switch (message->kind) {
	case WH_WIRE_INTRO:
	case WH_WIRE_JOIN:
		at = put_intro(at, message);
		break;
	case WH_WIRE_VIEW:
	case WH_WIRE_WISHES:
	case WH_WIRE_NEXT:
	case WH_WIRE_STANDING:
	case WH_WIRE_AGREE:
		at = put_piece(at, message);
		break;
	case WH_WIRE_REFUSED:
		at = put_refusal(at, message);
		break;
	case WH_WIRE_WITHDRAWN:
	case WH_WIRE_ASK:
	case WH_WIRE_HIGHER:
	case WH_WIRE_BEGIN:
		at = wh_put_number(at, message->key, 8);
		break;
	case WH_WIRE_AGREED:
		at = wh_put_number(at, message->key, 8);
		at = wh_put_number(at, message->node, 4);
		break;
	case WH_WIRE_THERE:
		at = wh_put_number(at, message->key, 8);
		at = wh_put_number(at, message->flag, 1);
		break;
	case WH_WIRE_REST:
		at = wh_put_number(at, message->flag, 1);
		/* fall through */
	case WH_WIRE_STATE_WANTED:
	case WH_WIRE_NO_STATE:
		at = wh_put_number(at, message->subgroup, 8);
		break;
	case WH_WIRE_KINDS:
		break;
	}
	return (size_t)(at - out);
}

static void take_intro(struct wh_reader *reader, struct wh_wire *out)
{
	out->incarnation = wh_take_within(reader, 8, 1, UINT64_MAX);
	out->group_digest = wh_take_number(reader, 8);
	out->subgroups_digest = wh_take_number(reader, 8);
	if (out->kind == WH_WIRE_JOIN)
		return;
	out->standing = (enum wh_condition)wh_take_within(reader, 1, WH_SEEKING, WH_MEMBER_OF);
	out->flag = wh_take_within(reader, 1, 0, 1);
	out->forced = wh_take_within(reader, 1, 0, 1);
	out->group = wh_take_within(reader, 8, out->standing == WH_MEMBER_OF, UINT64_MAX);
	out->key = wh_take_within(reader, 8, 0, out->standing == WH_MEMBER_OF ? UINT64_MAX : WH_FIRST_KEYS - 1);
	if (out->standing != WH_MEMBER_OF) {
		out->disk = (enum wh_disk_is)wh_take_within(reader, 1, WH_DISK_BLANK, WH_DISK_STANDS);
		out->base = wh_take_within(reader, 8, 0, out->disk == WH_DISK_STANDS ? UINT64_MAX : 0);
		return;
	}
	out->view = wh_take_number(reader, 8);
	out->leader = (uint32_t)wh_take_within(reader, 4, 0, WH_NODES_MAX - 1);
	for (size_t i = 0; i < WH_NODES_MAX / 64; i++)
		out->members[i] = wh_take_number(reader, 8);
}

/* The ballot of a round names the image of what it decides, so it is a key of a first view; and above all ballots of changes of a view. */
static void take_ballot(struct wh_reader *reader, struct wh_wire *out)
{
	out->key = wh_take_within(reader, 8, WH_RESTART_BALLOTS, WH_FIRST_KEYS - 1);
}

static void take_piece(struct wh_reader *reader, struct wh_wire *out)
{
	bool set = out->kind == WH_WIRE_WISHES, round = out->kind == WH_WIRE_STANDING || out->kind == WH_WIRE_AGREE;

	if (round)
		take_ballot(reader, out);
	else
		out->key = wh_take_within(reader, 8, set, UINT64_MAX);
	out->total = (uint32_t)wh_take_within(reader, 4, 1,
					      set     ? WH_SET_BYTES_MAX
					      : round ? WH_ROUND_BYTES_MAX
						      : WH_VIEW_BYTES_MAX);
	out->offset = (uint32_t)wh_take_within(reader, 4, 0, out->total - 1);
	if (reader->left < 1 || reader->left > WH_WIRE_PIECE_BYTES || reader->left > out->total - out->offset) {
		reader->ok = false;
		return;
	}
	out->bytes = (uint32_t)reader->left;
	out->piece = reader->at;
	reader->left = 0;
}

/* A parameter that differs is that of some node; where it is another reason there is none. */
static void take_refusal(struct wh_reader *reader, struct wh_wire *out)
{
	struct wh_refusal *refusal = &out->refusal;
	bool differs;

	out->key = wh_take_within(reader, 8, 1, UINT64_MAX);
	refusal->wish = (uint32_t)wh_take_within(reader, 2, 0, WH_WISHES_MAX - 1);
	refusal->why = (enum wh_refused)wh_take_within(reader, 1, WH_REFUSED_PARAMETER, WH_REFUSED_DORMANT);
	differs = refusal->why == WH_REFUSED_PARAMETER;
	refusal->parameter = (enum wh_parameter)wh_take_within(reader, 1, differs ? WH_PARAMETER_MODE : 0,
							       differs ? WH_PARAMETER_LARGE : 0);
	refusal->theirs = wh_take_within(reader, 8, 0, differs ? UINT64_MAX : 0);
	refusal->node =
		(uint32_t)wh_take_within(reader, 4, differs ? 0 : UINT32_MAX, differs ? WH_NODES_MAX - 1 : UINT32_MAX);
}

/* As configured, or a birth: of what lies between there is neither. */
static void take_subgroup_number(struct wh_reader *reader, struct wh_wire *out)
{
	_Static_assert(WH_SUBGROUPS_MAX <= 1 << WH_SEAT_BITS, "no number is both");
	uint64_t number = wh_take_number(reader, 8);
	bool is_birth = wh_birth_view(number) > 0 && wh_birth_seat(number) < WH_SEATS;

	if (number >= WH_SUBGROUPS_MAX && !is_birth)
		reader->ok = false;
	out->subgroup = number;
}

bool wh_wire_decode(struct wh_wire *out, const void *bytes, size_t count)
{
	struct wh_reader reader = {bytes, count, true};

	memset(out, 0, sizeof(*out));
	wh_take_within(&reader, 1, 'W', 'W');
	wh_take_within(&reader, 1, 'H', 'H');
	wh_take_within(&reader, 1, WH_WIRE_VERSION, WH_WIRE_VERSION);
	out->kind = (enum wh_wire_kind)wh_take_within(&reader, 1, WH_WIRE_INTRO, WH_WIRE_KINDS - 1);
	if (!reader.ok)
		return false;
	switch (out->kind) {
	case WH_WIRE_INTRO:
	case WH_WIRE_JOIN:
		take_intro(&reader, out);
		break;
	case WH_WIRE_VIEW:
	case WH_WIRE_WISHES:
	case WH_WIRE_NEXT:
	case WH_WIRE_STANDING:
	case WH_WIRE_AGREE:
		take_piece(&reader, out);
		break;
	case WH_WIRE_REFUSED:
		take_refusal(&reader, out);
		break;
	case WH_WIRE_WITHDRAWN:
		out->key = wh_take_number(&reader, 8);
		break;
	case WH_WIRE_HIGHER: /* whatever was promised */
		out->key = wh_take_within(&reader, 8, 1, UINT64_MAX);
		break;
	case WH_WIRE_ASK:
	case WH_WIRE_BEGIN:
		take_ballot(&reader, out);
		break;
	case WH_WIRE_AGREED:
		take_ballot(&reader, out);
		out->node = (uint32_t)wh_take_within(&reader, 4, 0, WH_NODES_MAX - 1);
		break;
	case WH_WIRE_THERE:
		out->key = wh_take_number(&reader, 8);
		out->flag = wh_take_within(&reader, 1, 0, 1);
		break;
	case WH_WIRE_REST:
		out->flag = wh_take_within(&reader, 1, 0, 1);
		/* fall through */
	case WH_WIRE_STATE_WANTED:
	case WH_WIRE_NO_STATE:
		take_subgroup_number(&reader, out);
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
#define SERVED_BYTES 8  /* of a member, if nodes have wished something */
/* Of a dynamic subgroup, beside its name and its members: birth, length of the name, flags, window, message_bytes, large_bytes,
 * from, cut, number of members. */
#define DYNAMIC_BYTES 44
#define DORMANT_BYTES 44 /* of a dormant one: birth, length of the name, parameters, last, before, number of members */
#define LAST_BYTES 5     /* of one of them */

_Static_assert(HEAD_BYTES + WH_NODES_MAX * (MEMBER_BYTES + LEFT_BYTES) +
			       WH_SUBGROUPS_MAX * (WH_SHARDS_MAX + WH_NODES_MAX * PLACE_BYTES) +
			       WH_NODES_MAX * SERVED_BYTES + 4 +
			       WH_DYNAMIC_MAX * (DORMANT_BYTES + WH_NAME_BYTES - 1 + WH_NODES_MAX * LAST_BYTES) <=
		       WH_VIEW_BYTES_MAX,
	       "every view fits");

enum { IS_SENDER = 1, HAS_ENTERED = 2, RESTS = 4, ENDS = 8, PLACE_FLAGS = 15, HAS_RETURNED = 16 };
enum { IS_ORDERED = 1, HAS_STATE = 2, IS_DURABLE = 4, PARAMETER_FLAGS = 7 };

static size_t view_bytes(uint32_t members, uint32_t left, size_t configured, size_t shards)
{
	return HEAD_BYTES + (size_t)members * MEMBER_BYTES + (size_t)left * LEFT_BYTES + shards +
	       configured * members * PLACE_BYTES;
}

/* Has a node wished anything that this view shows? */
static bool has_wishes(const struct wh_view *view)
{
	for (uint32_t rank = 0; rank < view->members; rank++)
		if (view->served[rank] != 0)
			return true;
	return view->dynamic_count + view->dormant_count > 0;
}

static size_t wishes_bytes(const struct wh_view *view)
{
	const struct wh_view_subgroup *dynamic = wh_view_dynamic(view);
	size_t bytes = view->members * SERVED_BYTES + 4;

	if (!has_wishes(view))
		return 0;
	for (uint32_t i = 0; i < view->dynamic_count; i++)
		bytes += DYNAMIC_BYTES + strlen(dynamic[i].name) + (size_t)dynamic[i].member_count * PLACE_BYTES;
	for (uint32_t i = 0; i < view->dormant_count; i++)
		bytes += DORMANT_BYTES + strlen(view->dormant[i].name) +
			 (size_t)view->dormant[i].member_count * LAST_BYTES;
	return bytes;
}

static unsigned char *put_parameters(unsigned char *at, const struct wh_parameters *is)
{
	at = wh_put_number(
		at, (is->ordered ? IS_ORDERED : 0) | (is->state ? HAS_STATE : 0) | (is->durable ? IS_DURABLE : 0), 1);
	at = wh_put_number(at, is->window, 4);
	at = wh_put_number(at, is->message_bytes, 4);
	return wh_put_number(at, is->large_bytes, 8);
}

static unsigned char *put_dormant(unsigned char *at, const struct wh_dormant *dormant)
{
	at = wh_put_number(at, dormant->birth, 8);
	at = wh_put_text(at, dormant->name);
	at = put_parameters(at, &dormant->parameters);
	at = wh_put_number(at, dormant->last, 8);
	at = wh_put_number(at, dormant->before, 8);
	at = wh_put_number(at, dormant->member_count, 2);
	for (uint32_t i = 0; i < dormant->member_count; i++) {
		at = wh_put_number(at, dormant->members[i].id, 4);
		at = wh_put_number(at, dormant->members[i].had, 1);
	}
	return at;
}

static unsigned char *put_dynamic(unsigned char *at, const struct wh_view_subgroup *subgroup)
{
	at = wh_put_number(at, subgroup->birth, 8);
	at = wh_put_text(at, subgroup->name);
	at = put_parameters(at, &subgroup->parameters);
	at = wh_put_number(at, subgroup->from, 8);
	at = wh_put_number(at, subgroup->cut, 8);
	at = wh_put_number(at, subgroup->member_count, 2);
	for (uint32_t i = 0; i < subgroup->member_count; i++) {
		uint32_t rank = subgroup->members[i];
		unsigned flags = wh_rank_find(subgroup->senders, subgroup->sender_count, rank) >= 0 ? IS_SENDER : 0;

		flags |= wh_rank_find(subgroup->entered, subgroup->entered_count, rank) >= 0 ? HAS_ENTERED : 0;
		flags |= wh_rank_find(subgroup->resting, subgroup->resting_count, rank) >= 0 ? RESTS : 0;
		flags |= wh_rank_find(subgroup->returned, subgroup->returned_count, rank) >= 0 ? HAS_RETURNED : 0;
		at = wh_put_number(at, rank, 1);
		at = wh_put_number(at, flags, 1);
	}
	return at;
}

static void put_wishes(unsigned char *at, const struct wh_view *view)
{
	const struct wh_view_subgroup *dynamic = wh_view_dynamic(view);

	if (!has_wishes(view))
		return;
	for (uint32_t rank = 0; rank < view->members; rank++)
		at = wh_put_number(at, view->served[rank], SERVED_BYTES);
	at = wh_put_number(at, view->dynamic_count, 2);
	for (uint32_t i = 0; i < view->dynamic_count; i++)
		at = put_dynamic(at, &dynamic[i]);
	at = wh_put_number(at, view->dormant_count, 2);
	for (uint32_t i = 0; i < view->dormant_count; i++)
		at = put_dormant(at, &view->dormant[i]);
}

static unsigned char *put_head(unsigned char *at, const struct wh_view *view)
{
	at = wh_put_number(at, 'W', 1);
	at = wh_put_number(at, 'H', 1);
	at = wh_put_number(at, 'V', 1);
	at = wh_put_number(at, WH_WIRE_VERSION, 1);
	at = wh_put_number(at, view->group, 8);
	at = wh_put_number(at, view->number, 8);
	at = wh_put_number(at, view->members, 2);
	at = wh_put_number(at, view->joined_count, 2);
	at = wh_put_number(at, view->left_count, 2);
	at = wh_put_number(at, view->voters, 2);
	return wh_put_number(at, view->subgroup_count - view->dynamic_count, 4);
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
	uint32_t configured = 0, shards = view->subgroup_count - view->dynamic_count;
	unsigned char *at;

	for (uint32_t g = 0; g < shards; g += view->subgroups[g].shards)
		configured++;
	*bytes = view_bytes(view->members, view->left_count, configured, shards) + wishes_bytes(view);
	at = calloc(1, *bytes);
	*out = at;
	if (at == NULL)
		return WHORL_MEMORY;
	at = put_head(at, view);
	for (uint32_t rank = 0; rank < view->members; rank++) {
		at = wh_put_number(at, view->ids[rank], 4);
		at = wh_put_number(at, view->incarnations[rank], 8);
	}
	for (uint32_t i = 0; i < view->left_count; i++)
		at = wh_put_number(at, view->left[i], 4);
	for (uint32_t g = 0; g < shards; g += view->subgroups[g].shards)
		at = put_subgroup(at, &view->subgroups[g], view->members);
	put_wishes(at, view);
	return WHORL_OK;
}

struct head { /* of a view */
	uint64_t group, number;
	uint32_t members, joined, left, voters, shards;
};

static bool take_head(struct wh_reader *reader, struct head *out, uint32_t nodes_max)
{
	wh_take_within(reader, 1, 'W', 'W');
	wh_take_within(reader, 1, 'H', 'H');
	wh_take_within(reader, 1, 'V', 'V');
	wh_take_within(reader, 1, WH_WIRE_VERSION, WH_WIRE_VERSION);
	out->group = wh_take_within(reader, 8, 1, UINT64_MAX);
	out->number = wh_take_number(reader, 8);
	out->members = (uint32_t)wh_take_within(reader, 2, 1, nodes_max);
	out->joined = (uint32_t)wh_take_within(reader, 2, 0, out->members);
	out->left = (uint32_t)wh_take_within(reader, 2, 0, nodes_max - out->members);
	out->voters = (uint32_t)wh_take_within(reader, 2, out->members, nodes_max);
	out->shards = (uint32_t)wh_take_number(reader, 4);
	if (out->number == 0)
		return reader->ok && out->joined == out->members && out->left == 0;
	return reader->ok && out->joined < out->members && out->voters == out->members;
}

/* An id that has not been seen. */
static uint32_t take_id(struct wh_reader *reader, bool *seen, uint32_t nodes_max)
{
	uint32_t id = (uint32_t)wh_take_within(reader, 4, 0, nodes_max - 1);

	if (seen[id])
		reader->ok = false;
	seen[id] = true;
	return id;
}

static bool take_members(struct wh_reader *reader, struct wh_view *view, const struct head *head, uint32_t nodes_max)
{
	bool seen[WH_NODES_MAX] = {false};

	view->members = head->members;
	for (uint32_t rank = 0; rank < head->members; rank++) {
		view->ids[rank] = take_id(reader, seen, nodes_max);
		view->incarnations[rank] = wh_take_within(reader, 8, 1, UINT64_MAX);
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
static bool take_places(struct wh_reader *reader, struct wh_places *places, const struct wh_view *view, uint32_t shards)
{
	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t shard = (uint32_t)wh_take_within(reader, 1, 0, shards);
		unsigned flags = (unsigned)wh_take_within(reader, 1, 0, PLACE_FLAGS);

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
static enum whorl_result take_subgroup(struct wh_reader *reader, struct wh_view *view,
				       const struct wh_subgroup_text *text, uint32_t configured)
{
	struct wh_view_subgroup *shards = &view->subgroups[view->subgroup_count];
	struct wh_places places = {.returned = {false}};
	uint8_t state[WH_SHARDS_MAX];

	for (uint32_t i = 0; i < text->shards; i++)
		state[i] = (uint8_t)wh_take_within(reader, 1, WH_SHARD_ACTIVE, WH_SHARD_LOST);
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

/* ---- what wishes have made of a view ------------------------------------------------------------------------------------ */

/* The members of a dynamic subgroup. One that begins in this view, or comes back, has been entered by all; in another some member stays. A newcomer
 * has entered, and what has entered does not rest. Some have the log of one that comes back. */
static bool take_dynamic_places(struct wh_reader *reader, struct wh_places *places, const struct wh_view *view,
				bool begins, bool comes_back)
{
	uint32_t count = (uint32_t)wh_take_within(reader, 2, 1, view->members), entered = 0, next = 0;
	unsigned allowed = IS_SENDER | HAS_ENTERED | RESTS | (comes_back ? HAS_RETURNED : 0);
	bool any_returned = false;

	*places = (struct wh_places){.sender = {false}};
	for (uint32_t rank = 0; rank < WH_NODES_MAX; rank++)
		places->shard[rank] = WH_NOWHERE;
	for (uint32_t i = 0; i < count && reader->ok; i++) {
		uint32_t rank = (uint32_t)wh_take_within(reader, 1, next, view->members - 1);
		unsigned flags = (unsigned)wh_take_number(reader, 1);
		bool is_new = flags & HAS_ENTERED;

		if ((flags & ~allowed) != 0 || ((flags & HAS_RETURNED) && !is_new) ||
		    ((flags & RESTS) && (flags & (IS_SENDER | HAS_ENTERED))) ||
		    (rank >= view->members - view->joined_count && !is_new) || next > rank)
			reader->ok = false;
		if (!reader->ok)
			return false;
		places->shard[rank] = 0;
		places->sender[rank] = flags & IS_SENDER;
		places->entered[rank] = is_new;
		places->resting[rank] = flags & RESTS;
		places->returned[rank] = flags & HAS_RETURNED;
		any_returned = any_returned || (flags & HAS_RETURNED);
		entered += is_new;
		next = rank + 1;
	}
	return reader->ok && any_returned == comes_back && (begins || comes_back ? entered == count : entered < count);
}

static bool take_parameters(struct wh_reader *reader, struct wh_parameters *out)
{
	unsigned flags = (unsigned)wh_take_within(reader, 1, 0, PARAMETER_FLAGS);

	*out = (struct wh_parameters){.durable = flags & IS_DURABLE};
	out->ordered = flags & IS_ORDERED;
	out->state = flags & HAS_STATE;
	out->window = (uint32_t)wh_take_number(reader, 4);
	out->message_bytes = (uint32_t)wh_take_number(reader, 4);
	out->large_bytes = wh_take_number(reader, 8);
	return reader->ok && wh_parameters_hold(out);
}

/* By its seat, which is greater than that of the one before it. */
static enum whorl_result take_dynamic(struct wh_reader *reader, struct wh_view *view)
{
	struct wh_view_subgroup *out = &view->subgroups[view->subgroup_count];
	uint32_t least = view->dynamic_count > 0 ? wh_birth_seat(out[-1].birth) + 1 : 0;
	uint64_t birth = wh_take_number(reader, 8);
	struct wh_parameters parameters;
	struct wh_places places;
	char name[WH_NAME_BYTES];
	uint64_t from, cut;

	if (wh_birth_seat(birth) < least || wh_birth_seat(birth) >= WH_SEATS || wh_birth_view(birth) == 0 ||
	    wh_birth_view(birth) > view->number || !wh_take_text(reader, name, sizeof(name)) || !wh_name_holds(name))
		return WHORL_INVALID;
	if (!take_parameters(reader, &parameters))
		return WHORL_INVALID;
	from = wh_take_within(reader, 8, 0, parameters.durable ? view->number - 1 : 0);
	cut = wh_take_within(reader, 8, 0, from > 0 ? UINT64_MAX : 0);
	if ((from > 0 && from < wh_birth_view(birth)) ||
	    !take_dynamic_places(reader, &places, view, wh_birth_view(birth) == view->number, from > 0))
		return WHORL_INVALID;
	wh_dynamic_name(out, name, birth, &parameters);
	out->from = from;
	out->cut = cut;
	if (!wh_shard_fill(out, &places, view->members, 1, false))
		return WHORL_MEMORY;
	view->subgroup_count++;
	view->dynamic_count++;
	return WHORL_OK;
}

static bool has_seat(const struct wh_view *view, uint32_t seat)
{
	for (uint32_t i = 0; i < view->dynamic_count; i++)
		if (wh_birth_seat(wh_view_dynamic(view)[i].birth) == seat)
			return true;
	return false;
}

/* No id twice. */
static bool take_last_members(struct wh_reader *reader, struct wh_dormant *out, uint32_t nodes_max)
{
	bool seen[WH_NODES_MAX] = {false};

	for (uint32_t i = 0; i < out->member_count; i++) {
		uint32_t id = (uint32_t)wh_take_within(reader, 4, 0, nodes_max - 1);

		out->members[i] = (struct wh_last_member){id, wh_take_within(reader, 1, 0, 1)};
		if (!reader->ok || seen[id])
			return false;
		seen[id] = true;
	}
	return reader->ok;
}

/* By its seat, which no dynamic subgroup has, and greater than that of the one before it. */
static enum whorl_result take_dormant(struct wh_reader *reader, struct wh_view *view, uint32_t nodes_max)
{
	struct wh_dormant *out = &view->dormant[view->dormant_count];
	uint32_t least = view->dormant_count > 0 ? wh_birth_seat(out[-1].birth) + 1 : 0;

	out->birth = wh_take_number(reader, 8);
	if (wh_birth_seat(out->birth) < least || wh_birth_seat(out->birth) >= WH_SEATS ||
	    wh_birth_view(out->birth) == 0 || has_seat(view, wh_birth_seat(out->birth)) ||
	    !wh_take_text(reader, out->name, sizeof(out->name)) || !wh_name_holds(out->name) ||
	    !take_parameters(reader, &out->parameters) || !out->parameters.durable || view->number == 0)
		return WHORL_INVALID;
	out->last = wh_take_within(reader, 8, wh_birth_view(out->birth), view->number - 1);
	out->before = wh_take_within(reader, 8, 0, out->last - 1);
	out->member_count = (uint32_t)wh_take_within(reader, 2, 1, WH_NODES_MAX);
	if (!reader->ok)
		return WHORL_INVALID;
	out->members = calloc(out->member_count, sizeof(*out->members));
	if (out->members == NULL)
		return WHORL_MEMORY;
	view->dormant_count++;
	return take_last_members(reader, out, nodes_max) ? WHORL_OK : WHORL_INVALID;
}

static enum whorl_result take_all_dormant(struct wh_reader *reader, struct wh_view *view, uint32_t nodes_max)
{
	uint32_t count = (uint32_t)wh_take_within(reader, 2, 0, WH_DYNAMIC_MAX - view->dynamic_count);
	enum whorl_result result = WHORL_OK;

	if (!reader->ok)
		return WHORL_INVALID;
	view->dormant = count > 0 ? calloc(count, sizeof(*view->dormant)) : NULL;
	if (view->dormant == NULL && count > 0)
		return WHORL_MEMORY;
	for (uint32_t i = 0; i < count && result == WHORL_OK; i++)
		result = take_dormant(reader, view, nodes_max);
	return result;
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* No dynamic subgroup is called as another, or as one that is configured and not for nodes to enter. */
static enum whorl_result check_names(const struct wh_view *view, const struct wh_layout_config *layout)
{
	size_t most = (size_t)view->dynamic_count + view->dormant_count + layout->count, count = 0, twice = 0;
	const char **names = calloc(most > 0 ? most : 1, sizeof(*names));

	if (names == NULL)
		return WHORL_MEMORY;
	for (uint32_t i = 0; i < layout->count; i++)
		if (!wh_subgroup_is_wished(&layout->subgroups[i]))
			names[count++] = layout->subgroups[i].name;
	for (uint32_t i = 0; i < view->dynamic_count; i++)
		names[count++] = wh_view_dynamic(view)[i].name;
	for (uint32_t i = 0; i < view->dormant_count; i++)
		names[count++] = view->dormant[i].name;
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 1; i < count; i++)
		twice += strcmp(names[i - 1], names[i]) == 0;
	free(names);
	return twice == 0 ? WHORL_OK : WHORL_INVALID;
}

/* What stands behind the configured subgroups, if anything. There is room for so many as the bytes can be. */
static enum whorl_result take_wishes(struct wh_reader *reader, struct wh_view *view,
				     const struct wh_layout_config *layout, uint32_t nodes_max)
{
	enum whorl_result result = WHORL_OK;
	uint32_t count;

	if (reader->left == 0)
		return WHORL_OK;
	for (uint32_t rank = 0; rank < view->members; rank++)
		view->served[rank] = wh_take_number(reader, SERVED_BYTES);
	count = (uint32_t)wh_take_within(reader, 2, 0, WH_DYNAMIC_MAX);
	if (!reader->ok || view->number == 0)
		return WHORL_INVALID;
	for (uint32_t i = 0; i < count && result == WHORL_OK; i++)
		result = take_dynamic(reader, view);
	if (result == WHORL_OK)
		result = take_all_dormant(reader, view, nodes_max);
	if (result == WHORL_OK && (!reader->ok || reader->left > 0 || !has_wishes(view)))
		return WHORL_INVALID;
	return result == WHORL_OK ? check_names(view, layout) : result;
}

/* What stands behind the head; the length of all up to the dynamic subgroups has been checked. */
static enum whorl_result take_view(struct wh_reader *reader, const struct head *head, struct wh_view *view,
				   const struct wh_layout_config *layout, uint32_t nodes_max, struct wh_error *err)
{
	view->group = head->group;
	view->number = head->number;
	view->voters = head->voters;
	if (!take_members(reader, view, head, nodes_max))
		return wh_error_set(err, WHORL_INVALID, "the members of a view are out of order");
	view->subgroups = calloc((size_t)head->shards + WH_DYNAMIC_MAX, sizeof(*view->subgroups));
	if (view->subgroups == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct wh_subgroup_text *text = &layout->subgroups[i];
		enum whorl_result result =
			wh_subgroup_shards(text) > 0 ? take_subgroup(reader, view, text, i) : WHORL_OK;

		if (result == WHORL_MEMORY)
			return wh_error_set(err, result, "no memory for a view");
		if (result != WHORL_OK)
			return wh_error_set(err, result, "subgroup %s of a view is out of order", text->name);
	}
	switch (take_wishes(reader, view, layout, nodes_max)) {
	case WHORL_OK:
		return WHORL_OK;
	case WHORL_MEMORY:
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	default:
		return wh_error_set(err, WHORL_INVALID, "what wishes have made of a view is out of order");
	}
}

enum whorl_result wh_view_decode(struct wh_view **out, const void *bytes, size_t count,
				 const struct wh_layout_config *layout, uint32_t nodes_max, struct wh_error *err)
{
	struct wh_reader reader = {bytes, count, true};
	enum whorl_result result;
	struct wh_view *view;
	struct head head;
	uint32_t configured = 0, shards = 0;
	size_t expected;

	if (!take_head(&reader, &head, nodes_max))
		return wh_error_set(err, WHORL_INVALID, "it does not begin like a view of at most %u nodes", nodes_max);
	for (uint32_t i = 0; i < layout->count; i++) {
		configured += wh_subgroup_shards(&layout->subgroups[i]) > 0;
		shards += wh_subgroup_shards(&layout->subgroups[i]);
	}
	if (head.shards != shards)
		return wh_error_set(err, WHORL_INVALID, "a view has %u shards, expected %u", head.shards, shards);
	expected = view_bytes(head.members, head.left, configured, shards);
	if (count < expected)
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
