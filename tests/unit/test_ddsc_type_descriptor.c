/* test_ddsc_type_descriptor.c - descriptors that are broken, or say what is not supported, are refused, and it is said why. */
#include "ddsc/type/type_int.h"
#include "tests/harness.h"
#include "tests/support/descriptors.h"

#define WORDS 64

static struct wh_error err;

static whorl_dds_return create(const struct wh_ddsc_descriptor *descriptor, size_t words)
{
	struct wh_ddsc_type *type = (struct wh_ddsc_type *)&err;
	whorl_dds_return result = wh_ddsc_type_create_of(&type, descriptor, words, &err);

	ck_assert((result == WHORL_DDS_RETCODE_OK) == (type != NULL));
	wh_ddsc_type_free(type);
	return result;
}

static void is_refused(const struct wh_ddsc_descriptor *descriptor, whorl_dds_return result, const char *what)
{
	whorl_dds_return answer = create(descriptor, WORDS);

	ck_assert_msg(answer == result && strstr(err.text, what) != NULL, "%d: %s", answer, err.text);
	ck_assert_int_eq(wh_ddsc_type_create_of(&(struct wh_ddsc_type *){NULL}, descriptor, WORDS, NULL), result);
}

TEST(there_is_no_descriptor)
{
	struct wh_ddsc_type *type;

	ck_assert_int_eq(wh_ddsc_type_create(NULL, &keyed_descriptor, NULL), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_int_eq(wh_ddsc_type_create(&type, NULL, &err), WHORL_DDS_RETCODE_BAD_PARAMETER);
	wh_ddsc_type_free(NULL);
}

/* ---- the struct of a descriptor ------------------------------------------------------------------------------------------------- */

TEST(a_descriptor_without_its_parts_is_refused)
{
	struct wh_ddsc_descriptor descriptor;

#define WITH(member, value, what)                                                                                      \
	descriptor = keyed_descriptor;                                                                                 \
	descriptor.member = (value);                                                                                   \
	is_refused(&descriptor, WHORL_DDS_RETCODE_BAD_PARAMETER, what)
	WITH(name, NULL, "no name");
	WITH(ops, NULL, "no name, operations");
	WITH(keys, NULL, "no name, operations or keys");
	WITH(keys, &(struct wh_ddsc_key_name){.at = 7}, "a key has no name");
	WITH(bytes, 0, "size");
	WITH(bytes, 16, "does not end in its struct");
	WITH(bytes, 8, "lies outside");
	WITH(bytes, UINT32_MAX, "size");
	WITH(bytes, 64, "behind its last member");
	WITH(align, 0, "alignment");
	WITH(align, 24, "alignment");
	WITH(align, 128, "alignment");
	WITH(op_count, 0, "operations");
	WITH(op_count, 3, "operations"); /* the key is not where its path is sought */
	WITH(op_count, 5, "operations");
	WITH(op_count, UINT32_MAX, "operations");
	WITH(key_count, 5000, "too many keys");
#undef WITH
}

/* However many of its words there are, what is behind them is not read: the sanitizers see it. */
TEST(words_that_are_not_there_are_not_read)
{
	for (size_t words = 0; words <= 9; words++) {
		uint32_t *some = malloc(words * sizeof(*some) + 1);
		struct wh_ddsc_descriptor descriptor = keyed_descriptor;

		memcpy(some, keyed_descriptor.ops, words * sizeof(*some));
		descriptor.ops = some;
		ck_assert_int_eq(create(&descriptor, words),
				 words < 9 ? WHORL_DDS_RETCODE_BAD_PARAMETER : WHORL_DDS_RETCODE_OK);
		free(some);
	}
}

/* ---- operations ------------------------------------------------------------------------------------------------------------------ */

/* A type of these words, 64 bytes large. */
static void words_are_refused(const uint32_t *words, size_t count, uint32_t operations, whorl_dds_return result,
			      const char *what)
{
	uint32_t padded[WORDS] = {0};
	struct wh_ddsc_descriptor descriptor = {
		.bytes = 64, .align = 8, .name = "t", .op_count = operations, .ops = padded};

	memcpy(padded, words, count * sizeof(*words));
	is_refused(&descriptor, result, what);
}

#define REFUSED(result, what, operations, ...)                                                                         \
	words_are_refused((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4, operations,    \
			  WHORL_DDS_RETCODE_##result, what)

TEST(what_is_not_supported_is_named)
{
	REFUSED(UNSUPPORTED, "is @mutable", 2, (uint32_t)WH_DDSC_MUTABLE << 24, RETURNS);
	REFUSED(UNSUPPORTED, "at byte 12 of its struct is a union", 2, MEMBER_OF(WH_DDSC_OF_UNION, WH_DDSC_OF_4, 0), 12,
		0, JUMPS(4, 4), RETURNS);
	REFUSED(UNSUPPORTED, "type t is a union", 2, MEMBER_OF(WH_DDSC_OF_UNION, WH_DDSC_OF_4, 0), 0, 0, JUMPS(4, 4),
		RETURNS);
	REFUSED(UNSUPPORTED, "at byte 24 of its struct is a union", 6, MEMBER(WH_DDSC_OF_EXTERN, 0), 24, JUMPS(3, 4),
		RETURNS, MEMBER_OF(WH_DDSC_OF_UNION, WH_DDSC_OF_4, 0), 0, 0, JUMPS(4, 4), RETURNS);
	REFUSED(UNSUPPORTED, "at byte 16 of its struct has unions", 2,
		MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_UNION, 0), 16, 8, JUMPS(4, 4), RETURNS);
	REFUSED(UNSUPPORTED, "is @external", 2, MEMBER(WH_DDSC_OF_4, 0) | WH_DDSC_IS_EXTERNAL, 8, RETURNS);
	REFUSED(UNSUPPORTED, "is @optional", 2, MEMBER(WH_DDSC_OF_4, WH_DDSC_IS_OPTIONAL) | WH_DDSC_IS_EXTERNAL, 8,
		RETURNS);
	REFUSED(UNSUPPORTED, "is @optional", 2, MEMBER(WH_DDSC_OF_STRING, WH_DDSC_IS_OPTIONAL), 8, RETURNS);
	REFUSED(UNSUPPORTED, "calls its operations", 2, (uint32_t)WH_DDSC_CALL << 24, RETURNS);
	REFUSED(UNSUPPORTED, "contains itself", 2, MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_STRUCT, 0), 0, 64,
		JUMPS(4, 0), RETURNS);
	REFUSED(UNSUPPORTED, "has a struct that is @mutable", 4, MEMBER(WH_DDSC_OF_EXTERN, 0), 0, JUMPS(3, 4), RETURNS,
		(uint32_t)WH_DDSC_MUTABLE << 24, RETURNS);
}

/* What idlc says, beside the words, of: struct opt { @key long id; @optional long maybe; }, in a module m. */
static const unsigned char mapping_of_opt[] = {
	0x4b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xf1, 0xee, 0xfe, 0x45, 0xcb, 0xea, 0xdb, 0xc7, 0x9d, 0x9d,
	0x4c, 0x5e, 0xe4, 0x91, 0x0c, 0x00, 0x33, 0x00, 0x00, 0x00, 0xf1, 0x51, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x23, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x31, 0x00, 0x04, 0xb8, 0x0b, 0xb7, 0x74, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
	0x09, 0x00, 0x04, 0x7e, 0x7a, 0xac, 0x93, 0x00, 0x68, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xf2, 0x87,
	0x80, 0xc2, 0x32, 0x1c, 0xa5, 0xfb, 0xda, 0x76, 0x75, 0xe7, 0x5b, 0x85, 0x8a, 0x00, 0x50, 0x00, 0x00, 0x00,
	0xf2, 0x51, 0x01, 0x00, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x6d, 0x3a,
	0x3a, 0x6f, 0x70, 0x74, 0x00, 0x00, 0x34, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x11, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x31, 0x00, 0x04, 0x00, 0x03, 0x00, 0x00, 0x00, 0x69, 0x64, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x09, 0x00, 0x04, 0x00, 0x06, 0x00, 0x00, 0x00,
	0x6d, 0x61, 0x79, 0x62, 0x65, 0x00, 0x00, 0x00, 0x22, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xf2, 0x87,
	0x80, 0xc2, 0x32, 0x1c, 0xa5, 0xfb, 0xda, 0x76, 0x75, 0xe7, 0x5b, 0x85, 0x8a, 0xf1, 0xee, 0xfe, 0x45, 0xcb,
	0xea, 0xdb, 0xc7, 0x9d, 0x9d, 0x4c, 0x5e, 0xe4, 0x91, 0x0c,
};

static const uint32_t words_of_opt[] = {MEMBER(WH_DDSC_OF_4, WH_DDSC_IS_KEY), 0,
					MEMBER(WH_DDSC_OF_4, WH_DDSC_IS_OPTIONAL) | WH_DDSC_IS_EXTERNAL, 8, RETURNS};

/* As many of its bytes, where a sanitizer sees what is read behind them. */
static void says_of_opt(const unsigned char *bytes, size_t count, const char *what)
{
	struct wh_ddsc_descriptor descriptor = {
		.bytes = 16, .align = 8, .name = "m::opt", .op_count = 3, .ops = words_of_opt};
	struct wh_ddsc_type *type;

	descriptor.mapping.bytes = malloc(count + 1);
	descriptor.mapping.count = (uint32_t)count;
	memcpy(descriptor.mapping.bytes, bytes, count);
	descriptor.mapping.bytes = realloc(descriptor.mapping.bytes, count > 0 ? count : 1);
	ck_assert_int_eq(wh_ddsc_type_create_of(&type, &descriptor, 5, &err), WHORL_DDS_RETCODE_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, what) != NULL, "%s", err.text);
	free(descriptor.mapping.bytes);
}

TEST(a_member_is_called_by_its_name)
{
	unsigned char other[sizeof(mapping_of_opt)];

	says_of_opt(mapping_of_opt, sizeof(mapping_of_opt), "type m::opt: the member maybe is @optional");
	for (size_t i = 0; i < sizeof(mapping_of_opt); i++)
		says_of_opt(mapping_of_opt, i, "is @optional");
	says_of_opt(mapping_of_opt, 100, "the member at byte 8 of its struct is @optional");
	for (size_t i = 0; i < sizeof(other); i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(other, mapping_of_opt, sizeof(other));
			other[i] ^= (unsigned char)(1U << bit);
			says_of_opt(other, sizeof(other), "is @optional");
		}
}

TEST(broken_operations_are_refused)
{
	REFUSED(BAD_PARAMETER, "operations", 2, 0xff000000U, RETURNS);
	REFUSED(BAD_PARAMETER, "operations", 2, MEMBER(0, 0), 0, RETURNS);
	REFUSED(BAD_PARAMETER, "operations", 2, MEMBER(WH_DDSC_OF_STRUCT, 0), 0, RETURNS);
	REFUSED(BAD_PARAMETER, "operations", 2, MEMBER_OF(WH_DDSC_OF_SEQUENCE, 0, 0), 0, RETURNS);
	REFUSED(BAD_PARAMETER, "operations", 2, MEMBER_OF(WH_DDSC_OF_ARRAY, WH_DDSC_OF_EXTERN, 0), 0, 1, RETURNS);
	REFUSED(BAD_PARAMETER, "no member and no end", 1, MEMBER(WH_DDSC_OF_4, 0), 0);
	REFUSED(BAD_PARAMETER, "no member and no end", 1, RETURNS);
	REFUSED(BAD_PARAMETER, "no member and no end", 2, APPENDABLE, RETURNS);
	REFUSED(BAD_PARAMETER, "no member and no end", 3, MEMBER(WH_DDSC_OF_4, 0), 0, APPENDABLE, RETURNS);
	REFUSED(BAD_PARAMETER, "lies outside, or in another member", 3, MEMBER(WH_DDSC_OF_4, 0), 4,
		MEMBER(WH_DDSC_OF_4, 0), 4, RETURNS);
	REFUSED(BAD_PARAMETER, "lies outside", 2, MEMBER(WH_DDSC_OF_4, 0), 64, RETURNS);
	REFUSED(BAD_PARAMETER, "does not end in its struct", 2, MEMBER(WH_DDSC_OF_8, 0), 60, RETURNS);
	REFUSED(BAD_PARAMETER, "does not end in its struct", 2, MEMBER_OF(WH_DDSC_OF_ARRAY, WH_DDSC_OF_8, 0), 0, 9,
		RETURNS);
	REFUSED(BAD_PARAMETER, "is larger than 4 GB", 2, MEMBER_OF(WH_DDSC_OF_ARRAY, WH_DDSC_OF_8, 0), 0, 0x20000001U,
		RETURNS);
	REFUSED(BAD_PARAMETER, "no elements", 2, MEMBER_OF(WH_DDSC_OF_ARRAY, WH_DDSC_OF_8, 0), 0, 0, RETURNS);
	REFUSED(BAD_PARAMETER, "has no size", 2, MEMBER(WH_DDSC_OF_TEXT, 0), 0, 0, RETURNS);
	REFUSED(BAD_PARAMETER, "has no size", 2, MEMBER(WH_DDSC_OF_ENUM, WIDTH(8)), 0, 1, RETURNS);
	REFUSED(BAD_PARAMETER, "elements of no size", 2, MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_TEXT, 0), 0, 0,
		RETURNS);
	REFUSED(BAD_PARAMETER, "jumps outside", 2, MEMBER(WH_DDSC_OF_EXTERN, 0), 0, JUMPS(3, -1), RETURNS);
	REFUSED(BAD_PARAMETER, "jumps outside", 2, MEMBER(WH_DDSC_OF_EXTERN, 0), 0, JUMPS(3, 4), RETURNS);
	REFUSED(BAD_PARAMETER, "jumps outside", 2, MEMBER(WH_DDSC_OF_EXTERN, 0), 0, JUMPS(4, 3), RETURNS);
}

TEST(members_of_an_element_end_in_it)
{
	REFUSED(BAD_PARAMETER, "does not end in its struct", 4, MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_STRUCT, 0), 0,
		4, JUMPS(4, 5), RETURNS, MEMBER(WH_DDSC_OF_8, 0), 0, RETURNS);
}

TEST(what_is_behind_the_last_member_is_padding)
{
	REFUSED(BAD_PARAMETER, "60 bytes behind its last member", 2, MEMBER(WH_DDSC_OF_4, 0), 0, RETURNS);
	REFUSED(BAD_PARAMETER, "16 bytes behind its last member", 4, MEMBER_OF(WH_DDSC_OF_ARRAY, WH_DDSC_OF_STRUCT, 0),
		0, 2, JUMPS(5, 6), 24, RETURNS, MEMBER(WH_DDSC_OF_8, 0), 0, RETURNS);
}

TEST(nesting_is_bounded)
{
	/* 40 structs, each with the next one in it. */
	uint32_t words[40 * 4 + 3];
	struct wh_ddsc_descriptor descriptor = {
		.bytes = 4, .align = 4, .name = "t", .op_count = 40 * 2 + 2, .ops = words};

	for (uint32_t i = 0; i < 40; i++) {
		words[4 * i] = MEMBER(WH_DDSC_OF_EXTERN, 0);
		words[4 * i + 1] = 0;
		words[4 * i + 2] = JUMPS(3, 4);
		words[4 * i + 3] = RETURNS;
	}
	words[160] = MEMBER(WH_DDSC_OF_4, 0);
	words[161] = 0;
	words[162] = RETURNS;
	ck_assert_int_eq(create(&descriptor, 163), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_ptr_nonnull(strstr(err.text, "members in members"));
	descriptor.ops = words + 4 * 9; /* with 31 in each other, it is one */
	descriptor.op_count -= 2 * 9;
	ck_assert_int_eq(create(&descriptor, 163 - 4 * 9), WHORL_DDS_RETCODE_OK);
}

/* Each struct has the next one twice. */
TEST(a_type_that_grows_without_bound_is_refused)
{
	uint32_t words[20 * 7 + 3];
	struct wh_ddsc_descriptor descriptor = {
		.bytes = 4U << 20, .align = 4, .name = "t", .op_count = 20 * 3 + 2, .ops = words};

	for (uint32_t i = 0; i < 20; i++) {
		uint32_t *word = words + 7 * i;

		word[0] = word[3] = MEMBER(WH_DDSC_OF_EXTERN, 0);
		word[1] = 0;
		word[4] = 4U << (19 - i);
		word[2] = JUMPS(3, 7);
		word[5] = JUMPS(3, 4);
		word[6] = RETURNS;
	}
	words[140] = MEMBER(WH_DDSC_OF_4, 0);
	words[141] = 0;
	words[142] = RETURNS;
	ck_assert_int_eq(create(&descriptor, 143), WHORL_DDS_RETCODE_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "members in all"));
}

/* ---- keys ------------------------------------------------------------------------------------------------------------------------ */

/* Of keyed, with this path. */
static void path_is_refused(uint32_t at, const uint32_t path[2], whorl_dds_return result, const char *what)
{
	uint32_t words[WORDS] = {0};
	struct wh_ddsc_key_name key = {"k", at, 0};
	struct wh_ddsc_descriptor descriptor = keyed_descriptor;

	memcpy(words, keyed_descriptor.ops, 9 * sizeof(*words));
	memcpy(words + 7, path, 2 * sizeof(*words));
	descriptor.ops = words;
	descriptor.keys = &key;
	is_refused(&descriptor, result, what);
}

TEST(paths_that_lead_nowhere_are_refused)
{
	const struct wh_ddsc_key_name twice[] = {{"a", 2, 0}, {"b", 2, 1}};
	struct wh_ddsc_descriptor descriptor = keyed_descriptor;

	path_is_refused(7, (const uint32_t[]){KEY_PATH(1), 1}, WHORL_DDS_RETCODE_BAD_PARAMETER, "key k: its path");
	path_is_refused(7, (const uint32_t[]){KEY_PATH(1), 6}, WHORL_DDS_RETCODE_BAD_PARAMETER, "key k: its path");
	path_is_refused(7, (const uint32_t[]){KEY_PATH(2), 2}, WHORL_DDS_RETCODE_BAD_PARAMETER, "key k: its path");
	path_is_refused(7, (const uint32_t[]){KEY_PATH(0), 2}, WHORL_DDS_RETCODE_BAD_PARAMETER, "key k: its path");
	path_is_refused(7, (const uint32_t[]){RETURNS, 2}, WHORL_DDS_RETCODE_BAD_PARAMETER, "operations");
	path_is_refused(60, (const uint32_t[]){KEY_PATH(1), 2}, WHORL_DDS_RETCODE_BAD_PARAMETER, "key k: its path");
	path_is_refused(7, (const uint32_t[]){KEY_PATH(1), 4}, WHORL_DDS_RETCODE_UNSUPPORTED, "key k is a sequence");
	descriptor.keys = twice;
	descriptor.key_count = 2;
	is_refused(&descriptor, WHORL_DDS_RETCODE_BAD_PARAMETER, "two keys");
}

/* As older idlcs have it: a key is where its member is. */
TEST(a_key_may_be_its_member)
{
	const struct wh_ddsc_key_name key = {"keyval", 2, 0};
	struct wh_ddsc_descriptor descriptor = keyed_descriptor;

	descriptor.keys = &key;
	ck_assert_int_eq(create(&descriptor, 7), WHORL_DDS_RETCODE_OK);
}

TEST_SUITE("ddsc_type_descriptor")
