/* test_wire_views.c - views as bytes: what is written is read, and nothing else is believed. For views drawn at random see
 * test_layout_random.c.
 */
#include <string.h>

#include "membership/wire.h"
#include "tests/harness.h"
#include "tests/support/newcomers.h"
#include "tests/support/seeds.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define NODES_MAX 24 /* of these views */

static const struct wh_subgroup_text texts[] = {{"g", "all", "all", 3, 2},
						{"w", "wish", "all", 1, 1},
						{"h", "0,2,4,6,8", "half", 1, 1},
						{"i", "all", "one", 2, 1}};
static const struct wh_layout_config layout = {texts, COUNT(texts), NULL, NULL};

static struct wh_view *follow(struct wh_view *before, uint64_t removed, const char *newcomers, const uint64_t *rests)
{
	struct wh_newcomer nodes[WH_NODES_MAX];
	struct wh_next next = {.newcomers = nodes, .newcomer_count = newcomers_of(newcomers, nodes), .rests = rests};
	bool out[WH_NODES_MAX];
	struct wh_view *view;

	for (uint32_t rank = 0; rank < WH_NODES_MAX; rank++)
		out[rank] = rank < 64 && (removed >> rank & 1);
	next.removed = out;
	ck_assert_int_eq(wh_view_next(&view, before, &next, &layout, NULL), WHORL_OK);
	wh_view_free(before);
	return view;
}

/* 0: the first, of some; then one with newcomers and some that rest; with shards lost; of one member. */
static struct wh_view *make_view(int which)
{
	static const uint64_t rests[6] = {1, 0, 2, 4, 0, 5};
	struct wh_newcomer nodes[WH_NODES_MAX];
	struct wh_view *view;

	ck_assert_int_eq(wh_view_create(&view, 7, nodes, newcomers_of("1,2,4,0,6,7,8", nodes), 9, &layout, NULL),
			 WHORL_OK);
	if (which >= 1)
		view = follow(view, 0x10, "23,3,5", rests);
	if (which >= 2)
		view = follow(view, 0x3c, "9", NULL);
	if (which >= 3)
		view = follow(view, 0x0fe, "", NULL);
	return view;
}
#define VIEWS 4

static enum whorl_result decode_view(struct wh_view **out, const unsigned char *bytes, size_t count,
				     struct wh_error *err)
{
	unsigned char *copy = malloc(count > 0 ? count : 1);
	enum whorl_result result;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, count);
	*out = NULL;
	result = wh_view_decode(out, copy, count, &layout, NODES_MAX, err);
	ck_assert((result == WHORL_OK) == (*out != NULL));
	free(copy);
	return result;
}

TEST_LOOP(views_are_read_as_written, 0, VIEWS)
{
	struct wh_view *view = make_view(_i), *read;
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	ck_assert_msg(decode_view(&read, bytes, count, &err) == WHORL_OK, "%s", err.text);
	ck_assert(wh_view_equals(view, read));
	keep_seed('v', _i, bytes, count);
	wh_view_free(read);
	wh_view_free(view);
	free(bytes);
}

/* Behind all else of make_view(3): two that nodes have wished for, and one that is dormant. */
static const unsigned char dynamic_bytes[] = {
	1, 0, 0, 0, 0, 0, 0, 0, /* the set of rank 0 */
	2, 0,                   /* subgroups */
	3, 0, 1, 0, 0, 0, 0, 0, 1, 'x', 1,   5, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   0,   0, 0, 0, 0, /* it does not come back */
	1, 0, 0, 1,                                      /* 0 sends in x */
	4, 0, 3, 0, 0, 0, 0, 0, 2, 'y', 'z', 2, 6, 0, 0, 0,   0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   0,   0, 0, 0, 0, 0,   1, 0, 0, 2, /* enters yz, which is born in this view */
	1, 0,                                                             /* dormant ones */
	6, 0, 1, 0, 0, 0, 0, 0, 1, 'w', 5,   5, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
	0, 0, 0, 0, 0, 0, 0, 1, 0, 0,   0,   0, 0, 0, 0, 2,   0, 1, 0, 0, 0, 1, 3, 0, 0, 0, 0, /* 1, which had it before, and 3 */
};

/* The caller frees it. */
static unsigned char *with_dynamic(struct wh_view *view, size_t *count)
{
	unsigned char *bytes, *longer;

	ck_assert_uint_eq(view->number, 3);
	ck_assert_uint_eq(view->members, 1);
	ck_assert_int_eq(wh_view_encode(&bytes, count, view), WHORL_OK);
	longer = malloc(*count + sizeof(dynamic_bytes));
	ck_assert_ptr_nonnull(longer);
	memcpy(longer, bytes, *count);
	memcpy(longer + *count, dynamic_bytes, sizeof(dynamic_bytes));
	*count += sizeof(dynamic_bytes);
	free(bytes);
	return longer;
}

TEST(a_view_has_dynamic_subgroups)
{
	struct wh_view *view = make_view(3), *read, *next;
	size_t count;
	unsigned char *bytes = with_dynamic(view, &count);
	struct wh_error err;

	ck_assert_msg(decode_view(&read, bytes, count, &err) == WHORL_OK, "%s", err.text);
	ck_assert_uint_eq(read->dynamic_count, 2);
	ck_assert_uint_eq(read->subgroup_count, view->subgroup_count + 2);
	ck_assert_str_eq(wh_view_dynamic(read)[1].name, "yz");
	ck_assert_uint_eq(wh_view_dynamic(read)[1].parameters.message_bytes, 256);
	ck_assert_uint_eq(wh_view_dynamic(read)[1].parameters.large_bytes, 6 * 256);
	ck_assert_uint_eq(wh_view_dynamic(read)[0].parameters.large_bytes, 0);
	ck_assert(wh_view_dynamic(read)[1].parameters.state && !wh_view_dynamic(read)[1].parameters.ordered);
	ck_assert_uint_eq(read->dormant_count, 1);
	ck_assert_str_eq(read->dormant[0].name, "w");
	ck_assert(read->dormant[0].parameters.durable && read->dormant[0].parameters.ordered);
	ck_assert(read->dormant[0].last == 2 && read->dormant[0].before == 1);
	ck_assert_uint_eq(read->dormant[0].member_count, 2);
	ck_assert(read->dormant[0].members[0].id == 1 && read->dormant[0].members[0].had);
	ck_assert(read->dormant[0].members[1].id == 3 && !read->dormant[0].members[1].had);
	keep_seed('v', 9, bytes, count);
	ck_assert_int_eq(wh_view_next(&next, read, &(struct wh_next){.removed = NULL}, &layout, NULL), WHORL_OK);
	ck_assert_uint_eq(next->dynamic_count, 2);
	ck_assert_uint_eq(wh_view_dynamic(next)[1].entered_count, 0);
	ck_assert_uint_eq(next->dormant_count, 1);
	wh_view_free(next);
	wh_view_free(read);
	wh_view_free(view);
	free(bytes);
}

/* One byte of what is dormant is another; where it lies in dynamic_bytes. */
static const struct {
	size_t at;
	unsigned char is;
} wrong_dormant[] = {
	{37, 1},    /* one that is not durable comes back */
	{45, 1},    /* one that does not come back has a cut */
	{56, 17},   /* and a member has its log */
	{105, 0},   /* one less than there is */
	{105, 2},   /* one more */
	{107, 3},   /* its seat is that of x */
	{108, 255}, /* there is no such seat */
	{109, 0},   /* born in the first view */
	{109, 3},   /* after its last view */
	{115, 0},   /* without a name */
	{116, 'x'}, /* which another has */
	{116, 'g'}, /* one of the file */
	{116, '/'}, /* none */
	{117, 1},   /* not durable */
	{118, 0},   /* without a window */
	{134, 3},   /* it had members in this view */
	{134, 0},   /* and none since it was born */
	{142, 2},   /* the view before is its last */
	{150, 0},   /* no last members */
	{150, 1},   /* one less than there are */
	{150, 3},   /* one more */
	{152, 3},   /* one is there twice */
	{152, 24},  /* there is no such node */
	{156, 2},   /* it had, or not */
	{161, 2},
};

TEST_LOOP(what_is_dormant_is_in_order, 0, COUNT(wrong_dormant))
{
	struct wh_view *view = make_view(3), *read;
	size_t count, before = 0;
	unsigned char *bytes = with_dynamic(view, &count);
	struct wh_error err;

	ck_assert_uint_eq(sizeof(dynamic_bytes), 162);
	before = count - sizeof(dynamic_bytes);
	ck_assert_uint_ne(bytes[before + wrong_dormant[_i].at], wrong_dormant[_i].is);
	bytes[before + wrong_dormant[_i].at] = wrong_dormant[_i].is;
	ck_assert_int_eq(decode_view(&read, bytes, count, &err), WHORL_INVALID);
	wh_view_free(view);
	free(bytes);
}

TEST(a_view_is_these_bytes)
{
	static const struct wh_subgroup_text two[] = {{"a", "all", "all", 1, 1}, {"b", "3,4", "3", 2, 1}};
	static const unsigned char expected[] = {
		'W', 'H', 'V', 7, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
		0,   0,   0,   0, 2, 0, 1, 0, 1, 0, 2, 0, 3, 0, 0, 0, /* head */
		3,   0,   0,   0, 1, 2, 0, 0, 0, 0, 0, 0,             /* node 3 */
		4,   0,   0,   0, 8, 0, 0, 0, 0, 0, 0, 1,             /* node 4, new */
		0,   0,   0,   0,                                     /* node 0 has left */
		0,   1,   4,   1, 3,                                  /* a: 3 rests, 4 entered and sends */
		0,   1,   1,   1, 2, 2,                               /* b: 3 sends; 4 entered */
	};
	const struct wh_newcomer first[] = {{3, 0x201}, {0, 7}}, second = {4, (UINT64_C(1) << 56) + 8};
	const struct wh_layout_config config = {two, 2, NULL, NULL};
	const bool removed[] = {true, false};
	const uint64_t rests[] = {2, 0, 0};
	const struct wh_next next = {.removed = removed, .newcomers = &second, .newcomer_count = 1, .rests = rests};
	struct wh_view *before, *view;
	unsigned char *bytes;
	size_t count;

	ck_assert_int_eq(wh_view_create(&before, 7, first, 2, 3, &config, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_next(&view, before, &next, &config, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	ck_assert_uint_eq(count, sizeof(expected));
	ck_assert_mem_eq(bytes, expected, sizeof(expected));
	wh_view_free(before);
	wh_view_free(view);
	free(bytes);
}

static enum wh_role sends_at_first(const struct wh_view *view, const char *subgroup, uint32_t shard, uint32_t id,
				   void *ctx)
{
	(void)subgroup;
	(void)shard;
	(void)id;
	(void)ctx;
	return view->number == 0 ? WH_ROLE_SENDER : WH_ROLE_MEMBER;
}

/* No node can end that does not send, or was not in the shard before. */
TEST(a_view_says_which_senders_end)
{
	static const struct wh_subgroup_text text = {"f", "function", "", 1, 1};
	const struct wh_layout_config config = {&text, 1, sends_at_first, NULL};
	const struct wh_newcomer newcomer = {2, 9};
	struct wh_newcomer members[WH_NODES_MAX];
	struct wh_view *before, *view, *read;
	unsigned char *bytes, *flags;
	size_t count;

	ck_assert_int_eq(wh_view_create(&before, 7, members, newcomers_of("0,1", members), 2, &config, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_next(&view, before, &(struct wh_next){.newcomers = &newcomer, .newcomer_count = 1},
				      &config, NULL),
			 WHORL_OK);
	ck_assert_uint_eq(view->subgroups[0].ending_count, 2);
	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	ck_assert_int_eq(wh_view_decode(&read, bytes, count, &config, NODES_MAX, NULL), WHORL_OK);
	ck_assert(wh_view_equals(read, view));
	wh_view_free(read);
	flags = bytes + count - 5; /* of the member of rank 0: sends and ends */
	ck_assert_uint_eq(*flags, 9);
	*flags = 8;
	ck_assert_int_eq(wh_view_decode(&read, bytes, count, &config, NODES_MAX, NULL), WHORL_INVALID);
	*flags = 11;
	ck_assert_int_eq(wh_view_decode(&read, bytes, count, &config, NODES_MAX, NULL), WHORL_INVALID);
	*flags = 16;
	ck_assert_int_eq(wh_view_decode(&read, bytes, count, &config, NODES_MAX, NULL), WHORL_INVALID);
	free(bytes);
	wh_view_free(before);
	wh_view_free(view);
}

/* The most that there can be, and the least. */
TEST(views_of_all_sizes)
{
	static const struct wh_subgroup_text many = {"many", "all", "half", WH_SHARDS_MAX, 3};
	const struct wh_layout_config large = {&many, 1, NULL, NULL}, none = {NULL, 0, NULL, NULL};
	const uint32_t sizes[] = {1, 2, 255, 256};
	struct wh_view *view, *read;
	unsigned char *bytes;
	size_t count;

	for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
		const struct wh_layout_config *config = i % 2 ? &large : &none;

		ck_assert_int_eq(view_of_all(&view, sizes[i / 2], config, NULL), WHORL_OK);
		ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
		ck_assert_int_eq(wh_view_decode(&read, bytes, count, config, WH_NODES_MAX, NULL), WHORL_OK);
		ck_assert(wh_view_equals(view, read));
		wh_view_free(read);
		ck_assert_int_eq(wh_view_decode(&read, bytes, count, config, sizes[i / 2], NULL), WHORL_OK);
		wh_view_free(read);
		if (sizes[i / 2] > 1)
			ck_assert_int_eq(wh_view_decode(&read, bytes, count, config, sizes[i / 2] - 1, NULL),
					 WHORL_INVALID);
		wh_view_free(view);
		free(bytes);
	}
}

TEST_LOOP(views_end_where_they_should, 0, VIEWS)
{
	struct wh_view *view = make_view(_i), *read;
	unsigned char *bytes, *longer;
	size_t count;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	for (size_t cut = 0; cut < count; cut++)
		ck_assert_int_eq(decode_view(&read, bytes, cut, NULL), WHORL_INVALID);
	longer = realloc(bytes, count + 1);
	ck_assert_ptr_nonnull(longer);
	longer[count] = 0;
	ck_assert_int_eq(decode_view(&read, longer, count + 1, NULL), WHORL_INVALID);
	wh_view_free(view);
	free(longer);
}

/* It decodes or not, and if it does it encodes to the same bytes. (Check takes its time for each assertion that holds.) */
static bool is_view(const unsigned char *bytes, size_t count, const struct wh_view *expected, bool same)
{
	struct wh_view *read;
	unsigned char *again;
	size_t length;

	if (wh_view_decode(&read, bytes, count, &layout, NODES_MAX, NULL) != WHORL_OK)
		return false;
	if (wh_view_equals(expected, read) != same)
		ck_abort_msg("a byte makes no difference");
	if (wh_view_encode(&again, &length, read) != WHORL_OK || length != count || memcmp(again, bytes, count) != 0)
		ck_abort_msg("it is written in another way");
	free(again);
	wh_view_free(read);
	return true;
}

/* As with messages; of each byte the small values and those that differ in one bit. */
TEST_LOOP(views_are_written_in_one_way, 0, VIEWS)
{
	struct wh_view *view = make_view(_i);
	unsigned char *bytes;
	size_t count, others = 0;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	for (size_t at = 0; at < count; at++) {
		unsigned char was = bytes[at];

		for (unsigned i = 0; i < 24; i++) {
			bytes[at] = (unsigned char)(i < 16 ? i : was ^ 1u << (i - 16));
			others += is_view(bytes, count, view, bytes[at] == was);
		}
		bytes[at] = was;
	}
	ck_assert_uint_gt(others, count);
	wh_view_free(view);
	free(bytes);
}

/* A view is made with care and then made wrong. */
enum { HEAD = 32, MEMBER = 12 };
static const struct {
	const char *text;
	int view;
	size_t at, bytes;
	uint64_t value;
} wrong_views[] = {
	{"it does not begin like a view of at most 24 nodes", 0, 2, 1, 'v'},
	{"it does not begin like a view of at most 24 nodes", 0, 3, 1, WH_WIRE_VERSION + 1},
	{"it does not begin like a view of at most 24 nodes", 0, 4, 8, 0},  /* it is of no group */
	{"it does not begin like a view of at most 24 nodes", 0, 12, 8, 1}, /* a later one has survivors */
	{"it does not begin like a view of at most 24 nodes", 1, 12, 8, 0}, /* and the first none */
	{"it does not begin like a view of at most 24 nodes", 0, 20, 2, 0}, /* no node */
	{"it does not begin like a view of at most 24 nodes", 0, 20, 2, 25},
	{"it does not begin like a view of at most 24 nodes", 0, 22, 2, 6}, /* a node in the first is not new */
	{"it does not begin like a view of at most 24 nodes", 1, 22, 2, 10},
	{"it does not begin like a view of at most 24 nodes", 0, 24, 2, 1},  /* a node has left before the first */
	{"it does not begin like a view of at most 24 nodes", 1, 24, 2, 16}, /* more ids than there are */
	{"it does not begin like a view of at most 24 nodes", 0, 26, 2, 6},  /* fewer have a vote than are in it */
	{"it does not begin like a view of at most 24 nodes", 0, 26, 2, 25},
	{"it does not begin like a view of at most 24 nodes", 1, 26, 2, 10},
	{"a view has 5 shards, expected 6", 0, 28, 4, 5},
	{"a view has 4294967295 shards, expected 6", 0, 28, 4, UINT32_MAX},
	{"a view has 164 bytes, expected 182", 0, 20, 8, UINT64_C(0x0009000000080008)},
	{"the members of a view are out of order", 0, HEAD, 4, 24},
	{"the members of a view are out of order", 0, HEAD, 4, 1},               /* twice */
	{"the members of a view are out of order", 0, HEAD + 4, 8, 0},           /* no incarnation */
	{"the members of a view are out of order", 0, HEAD, 4, 23},              /* newcomers by their ids */
	{"the members of a view are out of order", 1, HEAD + 9 * MEMBER, 4, 4},  /* 6 has left: it was 4 */
	{"the members of a view are out of order", 1, HEAD + 9 * MEMBER, 4, 23}, /* it has come */
	{"the members of a view are out of order", 1, HEAD + 9 * MEMBER, 4, 24},
};

TEST_LOOP(wrong_views_are_none, 0, COUNT(wrong_views))
{
	struct wh_view *view = make_view(wrong_views[_i].view), *read;
	unsigned char *bytes;
	struct wh_error err;
	size_t count;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	for (size_t i = 0; i < wrong_views[_i].bytes; i++)
		bytes[wrong_views[_i].at + i] = (unsigned char)(wrong_views[_i].value >> 8 * i);
	ck_assert_int_eq(decode_view(&read, bytes, count, &err), WHORL_INVALID);
	ck_assert_str_eq(err.text, wrong_views[_i].text);
	wh_view_free(view);
	free(bytes);
}

/* What stands in it of a subgroup, made wrong in each way. Of the view with newcomers: shards g0 g1 g2, h, i0 i1. */
static const struct {
	const char *what, *subgroup;
	int shard; /* of which the state; -1: a place */
	int rank;
	uint8_t in, is; /* of the shard; or where, and what */
} wrong_subgroups[] = {
	{"a state that there is not", "g", 0, 0, 3, 0},
	{"it works, and is said not to", "g", 0, 0, WH_SHARD_INACTIVE, 0},
	{"it has members, and is said to be lost", "g", 0, 0, WH_SHARD_LOST, 0},
	{"a shard that there is not", "g", -1, 0, 4, 1},
	{"a shard that there is not", "h", -1, 0, 2, 1},
	{"in none, and a sender", "h", -1, 1, 0, 1},
	{"in none, and has entered", "h", -1, 1, 0, 2},
	{"in none, and rests", "h", -1, 1, 0, 4},
	{"it rests and sends", "g", -1, 1, 1, 5},
	{"more than there is to be", "g", -1, 1, 1, 8},
	{"a newcomer that has not entered", "g", -1, 8, 1, 1},
	{"a newcomer that rests", "g", -1, 8, 1, 6},
};

static size_t subgroup_at(const struct wh_view *view, const char *name)
{
	size_t at = HEAD + MEMBER * view->members + 4 * view->left_count;

	for (size_t i = 0; strcmp(texts[i].name, name) != 0; i++)
		at += wh_subgroup_is_wished(&texts[i]) ? 0 : texts[i].shards + 2 * view->members;
	return at;
}

TEST_LOOP(wrong_subgroups_are_none, 0, COUNT(wrong_subgroups))
{
	struct wh_view *view = make_view(1), *read;
	const char *subgroup = wrong_subgroups[_i].subgroup;
	size_t count, at = subgroup_at(view, subgroup);
	unsigned char *bytes;
	struct wh_error err;
	char text[80];

	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	if (wrong_subgroups[_i].shard >= 0) {
		bytes[at + (size_t)wrong_subgroups[_i].shard] = wrong_subgroups[_i].in;
	} else {
		at += (subgroup[0] == 'g' ? 3 : 1) + 2 * (size_t)wrong_subgroups[_i].rank;
		bytes[at] = wrong_subgroups[_i].in;
		bytes[at + 1] = wrong_subgroups[_i].is;
	}
	ck_assert_msg(decode_view(&read, bytes, count, &err) == WHORL_INVALID, "%s", wrong_subgroups[_i].what);
	snprintf(text, sizeof(text), "subgroup %s of a view is out of order", subgroup);
	ck_assert_str_eq(err.text, text);
	wh_view_free(view);
	free(bytes);
}

/* A shard that is lost has no member, and there is none in the first view; one that no node was in yet may say either, later. */
TEST(lost_shards)
{
	static const struct wh_subgroup_text one = {"g", "9", "all", 1, 1};
	const struct wh_layout_config config = {&one, 1, NULL, NULL};
	struct wh_view *before, *view, *read;
	unsigned char *bytes;
	size_t count;

	ck_assert_int_eq(view_of_all(&before, 2, &config, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_encode(&bytes, &count, before), WHORL_OK);
	ck_assert_uint_eq(bytes[count - 5], WH_SHARD_INACTIVE);
	bytes[count - 5] = WH_SHARD_LOST;
	ck_assert_int_eq(wh_view_decode(&read, bytes, count, &config, 2, NULL), WHORL_INVALID);
	free(bytes);
	ck_assert_int_eq(wh_view_next(&view, before, &(struct wh_next){.removed = NULL}, &config, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	bytes[count - 5] = WH_SHARD_LOST;
	ck_assert_int_eq(wh_view_decode(&read, bytes, count, &config, 2, NULL), WHORL_OK);
	ck_assert_int_eq(read->subgroups[0].state, WH_SHARD_LOST);
	wh_view_free(read);
	bytes[count - 5] = WH_SHARD_ACTIVE;
	ck_assert_int_eq(wh_view_decode(&read, bytes, count, &config, 2, NULL), WHORL_INVALID);
	wh_view_free(before);
	wh_view_free(view);
	free(bytes);
}

TEST_SUITE("wire_views")
