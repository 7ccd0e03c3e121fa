/* test_wire.c - control messages as bytes, and views in pieces: what is written is read, and nothing else is believed. Views are in
 * test_wire_views.c.
 */
#include <string.h>

#include "membership/wire.h"
#include "tests/harness.h"
#include "tests/support/seeds.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- messages --------------------------------------------------------------------------------------------------------- */

static const unsigned char piece[WH_WIRE_PIECE_BYTES] = "a piece of a view";

static const struct wh_wire messages[] = {
	{.kind = WH_WIRE_INTRO, .incarnation = 1, .standing = WH_SEEKING},
	{.kind = WH_WIRE_INTRO,
	 .incarnation = UINT64_C(0xfedcba9876543210),
	 .group_digest = UINT64_MAX,
	 .subgroups_digest = 77,
	 .standing = WH_FORMING,
	 .flag = true,
	 .forced = true,
	 .group = 8},
	{.kind = WH_WIRE_INTRO,
	 .incarnation = UINT64_MAX,
	 .group_digest = 5,
	 .subgroups_digest = UINT64_C(1) << 63,
	 .standing = WH_MEMBER_OF,
	 .flag = true,
	 .group = UINT64_MAX - 1,
	 .members = {1, 2, 3, UINT64_C(1) << 63},
	 .view = UINT64_C(1) << 40,
	 .leader = WH_NODES_MAX - 1,
	 .key = UINT64_C(0x1122334455667788)},
	{.kind = WH_WIRE_JOIN, .incarnation = 3, .group_digest = 4, .subgroups_digest = 5},
	{.kind = WH_WIRE_VIEW, .key = 9, .total = 17, .offset = 0, .bytes = 17, .piece = piece},
	{.kind = WH_WIRE_VIEW,
	 .key = 9,
	 .total = WH_VIEW_BYTES_MAX,
	 .offset = WH_VIEW_BYTES_MAX - 1,
	 .bytes = 1,
	 .piece = piece},
	{.kind = WH_WIRE_VIEW,
	 .key = UINT64_MAX,
	 .total = 100000,
	 .offset = 7,
	 .bytes = WH_WIRE_PIECE_BYTES,
	 .piece = piece},
	{.kind = WH_WIRE_WITHDRAWN, .key = UINT64_C(0x8000000000000001)},
	{.kind = WH_WIRE_THERE, .key = 2, .flag = true},
	{.kind = WH_WIRE_STATE_WANTED, .subgroup = 4095},
	{.kind = WH_WIRE_NO_STATE, .subgroup = 0},
	{.kind = WH_WIRE_REST, .subgroup = 1, .flag = true},
	{.kind = WH_WIRE_REST, .subgroup = UINT64_C(0xffffffffffff07ff), .flag = false},
	{.kind = WH_WIRE_WISHES, .key = 1, .total = WH_SET_BYTES_MAX, .offset = 2, .bytes = 3, .piece = piece},
	{.kind = WH_WIRE_NEXT, .key = 9, .total = WH_VIEW_BYTES_MAX, .offset = 4096, .bytes = 12, .piece = piece},
	{.kind = WH_WIRE_REFUSED,
	 .key = 2,
	 .refusal = {0, WH_WISHES_MAX - 1, WH_REFUSED_PARAMETER, WH_PARAMETER_LARGE, UINT64_MAX, WH_NODES_MAX - 1}},
	{.kind = WH_WIRE_REFUSED,
	 .key = UINT64_MAX,
	 .refusal = {.wish = 3, .why = WH_REFUSED_TOO_MANY, .node = UINT32_MAX}},
	{.kind = WH_WIRE_STATE_WANTED, .subgroup = 1 << WH_SEAT_BITS},
	{.kind = WH_WIRE_INTRO, .incarnation = 2, .standing = WH_SEEKING, .group = 3, .disk = WH_DISK_FIRST},
	{.kind = WH_WIRE_INTRO,
	 .incarnation = 2,
	 .standing = WH_FORMING,
	 .group = 3,
	 .disk = WH_DISK_STANDS,
	 .base = UINT64_MAX},
	{.kind = WH_WIRE_ASK, .key = WH_RESTART_BALLOTS},
	{.kind = WH_WIRE_STANDING,
	 .key = WH_FIRST_KEYS - 1,
	 .total = WH_ROUND_BYTES_MAX,
	 .offset = 5,
	 .bytes = 12,
	 .piece = piece},
	{.kind = WH_WIRE_HIGHER, .key = UINT64_MAX},
	{.kind = WH_WIRE_AGREE, .key = 512, .total = 4, .offset = 3, .bytes = 1, .piece = piece},
	{.kind = WH_WIRE_AGREED, .key = 513, .node = WH_NODES_MAX - 1},
	{.kind = WH_WIRE_BEGIN, .key = 514},
};

static void assert_same(const struct wh_wire *one, const struct wh_wire *other)
{
	ck_assert_int_eq(one->kind, other->kind);
	ck_assert_uint_eq(one->incarnation, other->incarnation);
	ck_assert_uint_eq(one->group_digest, other->group_digest);
	ck_assert_uint_eq(one->subgroups_digest, other->subgroups_digest);
	ck_assert(one->forced == other->forced);
	ck_assert_uint_eq(one->group, other->group);
	ck_assert_mem_eq(one->members, other->members, sizeof(one->members));
	ck_assert_int_eq(one->standing, other->standing);
	ck_assert_int_eq(one->flag, other->flag);
	ck_assert_uint_eq(one->view, other->view);
	ck_assert_uint_eq(one->leader, other->leader);
	ck_assert_int_eq(one->disk, other->disk);
	ck_assert_uint_eq(one->base, other->base);
	ck_assert_uint_eq(one->node, other->node);
	ck_assert_uint_eq(one->key, other->key);
	ck_assert_uint_eq(one->total, other->total);
	ck_assert_uint_eq(one->offset, other->offset);
	ck_assert_uint_eq(one->bytes, other->bytes);
	ck_assert_uint_eq(one->subgroup, other->subgroup);
	ck_assert_uint_eq(one->refusal.wish, other->refusal.wish);
	ck_assert_int_eq(one->refusal.why, other->refusal.why);
	ck_assert_int_eq(one->refusal.parameter, other->refusal.parameter);
	ck_assert_uint_eq(one->refusal.theirs, other->refusal.theirs);
	ck_assert_uint_eq(one->refusal.node, other->refusal.node);
	if (one->bytes > 0)
		ck_assert_mem_eq(one->piece, other->piece, one->bytes);
	else
		ck_assert_ptr_null(other->piece);
}

/* A copy of its own size, so that reading beyond it is seen. */
static bool decode(struct wh_wire *out, const unsigned char *bytes, size_t count)
{
	static unsigned char kept[WH_WIRE_BYTES + 1]; /* what `piece` points into is gone otherwise */
	unsigned char *copy = malloc(count > 0 ? count : 1);
	bool decoded;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, count);
	decoded = wh_wire_decode(out, copy, count);
	if (decoded && out->piece != NULL) {
		ck_assert(out->piece >= copy && out->piece + out->bytes == copy + count);
		memcpy(kept, copy, count);
		out->piece = kept + (out->piece - copy);
	}
	free(copy);
	return decoded;
}

TEST_LOOP(messages_are_read_as_written, 0, COUNT(messages))
{
	unsigned char bytes[WH_WIRE_BYTES];
	size_t count = wh_wire_encode(bytes, &messages[_i]);
	struct wh_wire read;

	ck_assert_uint_le(count, sizeof(bytes));
	ck_assert(decode(&read, bytes, count));
	assert_same(&messages[_i], &read);
	keep_seed('m', _i, bytes, count);
}

/* Nodes of other makes read them too. */
TEST(messages_are_these_bytes)
{
	static const unsigned char intro[] = {
		'W', 'H', 7, 1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0,
		0,   0,   0, 0, 0,    2,    1,    0,    7,    0,    0,    0,    0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0,
		0,   4,   0, 0, 0,    0,    0,    0,    0,    5,    0,    0,    0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0,   0,   0, 0, 0,    0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
	static const unsigned char rest[] = {'W', 'H', 7, 8, 1, 0x02, 0x01, 0, 0, 0, 0, 0, 0};
	unsigned char bytes[WH_WIRE_BYTES];
	const struct wh_wire message = {.kind = WH_WIRE_INTRO,
					.incarnation = UINT64_C(0x1122334455667788),
					.group_digest = 2,
					.subgroups_digest = 3,
					.standing = WH_MEMBER_OF,
					.flag = true,
					.group = 7,
					.members = {9},
					.view = 4,
					.leader = 5,
					.key = 6};

	ck_assert_uint_eq(wh_wire_encode(bytes, &message), sizeof(intro));
	ck_assert_mem_eq(bytes, intro, sizeof(intro));
	ck_assert_uint_eq(
		wh_wire_encode(bytes, &(struct wh_wire){.kind = WH_WIRE_REST, .subgroup = 0x102, .flag = true}),
		sizeof(rest));
	ck_assert_mem_eq(bytes, rest, sizeof(rest));
}

/* What the kind does not have is neither written nor read. */
TEST(other_fields_are_not_looked_at)
{
	const struct wh_wire there = {.kind = WH_WIRE_THERE, .key = 4, .flag = true},
			     seeking = {.kind = WH_WIRE_INTRO, .incarnation = 1, .key = 6};
	struct wh_wire full = messages[2], read;
	unsigned char bytes[WH_WIRE_BYTES];
	size_t count;

	full.bytes = 12345;
	full.kind = WH_WIRE_THERE;
	full.key = 4;
	memset(&read, 0xff, sizeof(read));
	count = wh_wire_encode(bytes, &full);
	ck_assert(decode(&read, bytes, count));
	assert_same(&there, &read);
	full = messages[2];
	full.incarnation = 1;
	full.group_digest = full.subgroups_digest = 0;
	full.standing = WH_SEEKING;
	full.key = 6;
	full.flag = false;
	full.group = 0;
	count = wh_wire_encode(bytes, &full);
	ck_assert(decode(&read, bytes, count));
	assert_same(&seeking, &read);
}

static bool ends_anywhere(enum wh_wire_kind kind)
{
	return kind == WH_WIRE_VIEW || kind == WH_WIRE_WISHES || kind == WH_WIRE_NEXT || kind == WH_WIRE_STANDING ||
	       kind == WH_WIRE_AGREE;
}

TEST_LOOP(messages_end_where_they_should, 0, COUNT(messages))
{
	const struct wh_wire *message = &messages[_i];
	unsigned char bytes[WH_WIRE_BYTES + 1] = {0};
	size_t count = wh_wire_encode(bytes, message), head = ends_anywhere(message->kind) ? 21 : 4;
	struct wh_wire read;

	for (size_t cut = 0; cut < count; cut++)
		ck_assert_msg(decode(&read, bytes, cut) == (ends_anywhere(message->kind) && cut >= head), "%zu", cut);
	bytes[count] = 0; /* neither printable nor room for it in a view or a message */
	if (!ends_anywhere(message->kind) || message->bytes == message->total - message->offset ||
	    message->bytes == WH_WIRE_PIECE_BYTES)
		ck_assert(!decode(&read, bytes, count + 1));
}

/* Any byte of it is any other: then it is no message, or another one, and that one is written like this. */
TEST_LOOP(messages_are_written_in_one_way, 0, COUNT(messages))
{
	unsigned char bytes[WH_WIRE_BYTES], again[WH_WIRE_BYTES];
	size_t count = wh_wire_encode(bytes, &messages[_i]), most = count < 80 ? count : 80;
	struct wh_wire read;

	for (size_t at = 0; at < most; at++) {
		unsigned char was = bytes[at];

		for (unsigned value = 0; value < 256; value++) {
			bytes[at] = (unsigned char)value;
			if (!wh_wire_decode(&read, bytes, count))
				continue;
			ck_assert(read.kind >= WH_WIRE_INTRO && read.kind < WH_WIRE_KINDS);
			if (wh_wire_encode(again, &read) != count || memcmp(again, bytes, count) != 0)
				ck_abort_msg("byte %zu as %u", at, value);
		}
		bytes[at] = was;
	}
}

static const struct {
	const char *what;
	int message; /* of which this is wrong */
	size_t at, bytes;
	uint64_t value;
} wrong_messages[] = {
	{"other letters", 0, 0, 1, 'w'},
	{"other letters", 0, 1, 1, 'h'},
	{"another version", 3, 2, 1, WH_WIRE_VERSION + 1},
	{"no kind", 7, 3, 1, 0},
	{"a kind there is not", 7, 3, 1, WH_WIRE_KINDS},
	{"an incarnation that nobody has", 0, 4, 8, 0},
	{"an incarnation that nobody has", 3, 4, 8, 0},
	{"standing that there is not", 2, 28, 1, 3},
	{"another standing has other fields", 2, 28, 1, WH_FORMING},
	{"another standing has other fields", 1, 28, 1, WH_MEMBER_OF},
	{"a flag is one or not", 1, 29, 1, 2},
	{"a flag is one or not", 11, 4, 1, 255},
	{"a word is said or not", 1, 30, 1, 2},
	{"a member of no group", 2, 31, 8, 0},
	{"a key that no first view has", 0, 39, 8, WH_FIRST_KEYS},
	{"no such node leads", 2, 55, 4, WH_NODES_MAX},
	{"a view of nothing", 4, 12, 4, 0},
	{"a view that is too large", 5, 12, 4, WH_VIEW_BYTES_MAX + 1},
	{"a piece larger than the view", 4, 12, 4, 16},
	{"a piece behind the end", 4, 16, 4, 1},
	{"a piece far behind the end", 4, 16, 4, UINT32_MAX},
	{"a piece that begins at the end", 5, 16, 4, WH_VIEW_BYTES_MAX},
	{"a set without a number", 13, 4, 8, 0},
	{"a set that is too large", 13, 12, 4, WH_SET_BYTES_MAX + 1},
	{"no set is refused", 15, 4, 8, 0},
	{"a wish that is in no set", 15, 12, 2, WH_WISHES_MAX},
	{"no reason", 15, 14, 1, 0},
	{"a reason that there is not", 15, 14, 1, WH_REFUSED_CONFIGURED + 1},
	{"a parameter differs, and none does", 15, 15, 1, 0},
	{"a parameter that there is not", 15, 15, 1, WH_PARAMETER_LARGE + 1},
	{"a parameter of a node that cannot be", 15, 24, 4, WH_NODES_MAX},
	{"no number of a subgroup", 9, 4, 8, WH_SUBGROUPS_MAX},
	{"no number of a subgroup", 10, 4, 8, UINT16_MAX},
	{"no number of a subgroup", 12, 5, 8, WH_SUBGROUPS_MAX},
	{"a birth without a seat", 12, 5, 8, 1 << WH_SEAT_BITS | WH_SEATS},
	{"a birth without a seat", 17, 4, 8, UINT32_MAX},
	{"another reason, and a parameter differs", 16, 15, 1, 1},
	{"another reason, and a value", 16, 16, 8, UINT64_C(1) << 40},
	{"another reason, and a node", 16, 24, 4, 0},
	{"a disk that is what there is not", 18, 47, 1, WH_DISK_STANDS + 1},
	{"a disk that stands on nothing, and has a number", 18, 48, 8, 1},
	{"a ballot of no round", 20, 4, 8, WH_RESTART_BALLOTS - 1},
	{"a ballot that no round has", 20, 4, 8, WH_FIRST_KEYS},
	{"a ballot that no round has", 21, 4, 8, WH_FIRST_KEYS},
	{"a report that is too large", 21, 12, 4, WH_ROUND_BYTES_MAX + 1},
	{"nothing was promised", 22, 4, 8, 0},
	{"a ballot of no round", 23, 4, 8, 0},
	{"a ballot of no round", 24, 4, 8, 256},
	{"a disk of no node", 24, 12, 4, WH_NODES_MAX},
	{"a ballot of no round", 25, 4, 8, 256},
};

TEST_LOOP(wrong_messages_are_none, 0, COUNT(wrong_messages))
{
	unsigned char bytes[WH_WIRE_BYTES];
	size_t count = wh_wire_encode(bytes, &messages[wrong_messages[_i].message]);
	struct wh_wire read;

	ck_assert(decode(&read, bytes, count));
	for (size_t i = 0; i < wrong_messages[_i].bytes; i++)
		bytes[wrong_messages[_i].at + i] = (unsigned char)(wrong_messages[_i].value >> 8 * i);
	ck_assert_msg(!decode(&read, bytes, count), "%s", wrong_messages[_i].what);
}

TEST(a_message_may_be_too_long)
{
	unsigned char bytes[WH_WIRE_BYTES + 1] = {0};
	struct wh_wire message = {.kind = WH_WIRE_VIEW, .total = 9999, .bytes = WH_WIRE_PIECE_BYTES, .piece = piece},
		       read;
	size_t count = wh_wire_encode(bytes, &message);

	for (; count <= sizeof(bytes); count++)
		ck_assert(decode(&read, bytes, count) == (count == 20 + WH_WIRE_PIECE_BYTES));
}

/* ---- pieces of a view ------------------------------------------------------------------------------------------------- */

static enum whorl_result give(struct wh_view_parts *parts, uint64_t key, uint32_t total, uint32_t offset,
			      uint32_t bytes)
{
	static unsigned char all[256];

	for (unsigned i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	return wh_view_parts_take(parts, &(struct wh_wire){.kind = WH_WIRE_VIEW,
							   .key = key,
							   .total = total,
							   .offset = offset,
							   .bytes = bytes,
							   .piece = all + offset});
}

static void assert_whole(const struct wh_view_parts *parts, uint64_t key, uint32_t total)
{
	ck_assert_uint_eq(parts->key, key);
	ck_assert_uint_eq(parts->total, total);
	ck_assert_uint_eq(parts->have, total);
	for (uint32_t i = 0; i < total; i++)
		ck_assert_uint_eq(parts->bytes[i], i);
}

TEST(pieces_make_a_whole)
{
	struct wh_view_parts parts = {0};

	ck_assert_int_eq(give(&parts, 5, 30, 0, 30), WHORL_OK);
	assert_whole(&parts, 5, 30);
	ck_assert_int_eq(give(&parts, 6, 100, 0, 40), WHORL_AGAIN);
	ck_assert_int_eq(give(&parts, 6, 100, 40, 1), WHORL_AGAIN);
	ck_assert_int_eq(give(&parts, 6, 100, 41, 59), WHORL_OK);
	assert_whole(&parts, 6, 100);
	ck_assert_int_eq(give(&parts, 6, 20, 0, 10), WHORL_AGAIN); /* the same once more */
	ck_assert_int_eq(give(&parts, 7, 10, 0, 5), WHORL_AGAIN);  /* another, before the first is whole */
	ck_assert_int_eq(give(&parts, 7, 10, 5, 5), WHORL_OK);
	assert_whole(&parts, 7, 10);
	wh_view_parts_free(&parts);
	ck_assert_ptr_null(parts.bytes);
	ck_assert_uint_eq(parts.have, 0);
	wh_view_parts_free(&parts);
}

TEST(pieces_that_do_not_fit)
{
	static const struct {
		uint64_t key;
		uint32_t total, offset, bytes;
	} odd[] = {
		{5, 100, 41, 10}, /* one is missing */
		{5, 100, 39, 10}, /* it overlaps */
		{5, 101, 40, 10}, /* of another whole */
		{5, 100, 40, 61}, /* more than all */
	};
	struct wh_view_parts parts = {0};

	for (size_t i = 0; i < COUNT(odd); i++) {
		ck_assert_int_eq(give(&parts, 5, 100, 0, 40), WHORL_AGAIN);
		ck_assert_int_eq(give(&parts, odd[i].key, odd[i].total, odd[i].offset, odd[i].bytes), WHORL_INVALID);
	}
	ck_assert_int_eq(give(&parts, 5, 50, 0, 50), WHORL_OK);
	ck_assert_int_eq(give(&parts, 5, 50, 49, 1), WHORL_INVALID);
	wh_view_parts_free(&parts);
}

/* A view of another node may come in between, and what was not begun is no node's fault. */
TEST(pieces_are_passed_over)
{
	struct wh_view_parts parts = {0};

	ck_assert_int_eq(give(&parts, 0, 100, 1, 99), WHORL_AGAIN);
	ck_assert_int_eq(give(&parts, 5, 100, 1, 99), WHORL_AGAIN);
	ck_assert_uint_eq(parts.have, 0);
	ck_assert_int_eq(give(&parts, 5, 100, 0, 40), WHORL_AGAIN);
	ck_assert_int_eq(give(&parts, 6, 70, 40, 30), WHORL_AGAIN);
	ck_assert_int_eq(give(&parts, 6, 70, 0, 40), WHORL_AGAIN); /* the first is given up */
	ck_assert_int_eq(give(&parts, 5, 100, 40, 60), WHORL_AGAIN);
	ck_assert_int_eq(give(&parts, 6, 70, 40, 30), WHORL_OK);
	assert_whole(&parts, 6, 70);
	ck_assert_int_eq(give(&parts, 7, 70, 40, 30), WHORL_AGAIN);
	assert_whole(&parts, 6, 70);
	wh_view_parts_free(&parts);
}

TEST_SUITE("wire")
