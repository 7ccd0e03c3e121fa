/* descriptors.c - see descriptors.h. */
#include "tests/support/descriptors.h"

static const uint32_t keyed_words[] = {
	MEMBER(WH_DDSC_OF_4, 0),
	offsetof(struct keyed, seq), /* 0 */
	MEMBER(WH_DDSC_OF_4, WH_DDSC_IS_KEY),
	offsetof(struct keyed, keyval), /* 2 */
	MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_1, 0),
	offsetof(struct keyed, baggage), /* 4 */
	RETURNS,                         /* 6 */
	KEY_PATH(1),
	2, /* 7 */
};
static const struct wh_ddsc_key_name keyed_keys[] = {{"keyval", 7, 0}};
const struct wh_ddsc_descriptor keyed_descriptor = {
	.bytes = sizeof(struct keyed),
	.align = _Alignof(struct keyed),
	.key_count = 1,
	.name = "keyed",
	.keys = keyed_keys,
	.op_count = 4,
	.ops = keyed_words,
};

#define PART_AT 52
/* clang-format off */
static const uint32_t all_words[] = {
	/*  0 */ MEMBER(WH_DDSC_OF_4, WH_DDSC_IS_KEY | WH_DDSC_IS_SIGNED), offsetof(struct all, id),
	/*  2 */ MEMBER(WH_DDSC_OF_BOOL, 0), offsetof(struct all, flag),
	/*  4 */ MEMBER(WH_DDSC_OF_BITS, WIDTH(2)), offsetof(struct all, bits), 0, ALL_BITS,
	/*  8 */ MEMBER(WH_DDSC_OF_ENUM, WIDTH(4)), offsetof(struct all, colour), ALL_COLOURS,
	/* 11 */ MEMBER(WH_DDSC_OF_ENUM, WIDTH(1)), offsetof(struct all, tiny), 3,
	/* 14 */ MEMBER(WH_DDSC_OF_STRING, 0), offsetof(struct all, text),
	/* 16 */ MEMBER(WH_DDSC_OF_EXTERN, 0), offsetof(struct all, part), JUMPS(3, PART_AT - 16),
	/* 19 */ MEMBER_OF(WH_DDSC_OF_ARRAY, WH_DDSC_OF_STRUCT, 0), offsetof(struct all, parts), 2,
		 JUMPS(5, PART_AT - 19), sizeof(struct part),
	/* 24 */ MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_1, 0), offsetof(struct all, bytes),
	/* 26 */ MEMBER_OF(WH_DDSC_OF_BOUNDED_SEQUENCE, WH_DDSC_OF_BOOL, 0), offsetof(struct all, bools), ALL_BOOLS,
	/* 29 */ MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_STRUCT, 0), offsetof(struct all, more_parts),
		 sizeof(struct part), JUMPS(4, PART_AT - 29),
	/* 33 */ MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_STRING, 0), offsetof(struct all, texts),
	/* 35 */ MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_SEQUENCE, 0), offsetof(struct all, lists),
		 sizeof(struct wh_ddsc_sequence), JUMPS(7, 4),
	/* 39 */ MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_2, 0), 0,
	/* 41 */ RETURNS,
	/* 42 */ MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_ENUM, WIDTH(4)), offsetof(struct all, colours), ALL_COLOURS,
	/* 45 */ MEMBER(WH_DDSC_OF_TEXT, WH_DDSC_IS_KEY), offsetof(struct all, code), sizeof(((struct all *)0)->code),
	/* 48 */ MEMBER_OF(WH_DDSC_OF_ARRAY, WH_DDSC_OF_8, WH_DDSC_IS_SIGNED), offsetof(struct all, stamps), 2,
	/* 51 */ RETURNS,
	/* 52 */ MEMBER(WH_DDSC_OF_8, WH_DDSC_IS_FLOAT), offsetof(struct part, number),
	/* 54 */ MEMBER(WH_DDSC_OF_TEXT, 0), offsetof(struct part, name), sizeof(((struct part *)0)->name),
	/* 57 */ MEMBER(WH_DDSC_OF_BOOL, 0), offsetof(struct part, set),
	/* 59 */ RETURNS,
	/* 60 */ KEY_PATH(1), 0,
	/* 62 */ KEY_PATH(1), 45,
};
/* clang-format on */
static const struct wh_ddsc_key_name all_keys[] = {{"code", 62, 1}, {"id", 60, 0}};
const struct wh_ddsc_descriptor all_descriptor = {
	.bytes = sizeof(struct all),
	.align = _Alignof(struct all),
	.key_count = 2,
	.name = "all",
	.keys = all_keys,
	.op_count = 23,
	.ops = all_words,
};

#define OLDER_WORDS APPENDABLE, MEMBER(WH_DDSC_OF_4, 0), offsetof(struct older, a), RETURNS
static const uint32_t older_words[] = {OLDER_WORDS};
const struct wh_ddsc_descriptor older_descriptor = {.bytes = sizeof(struct older),
						    .align = _Alignof(struct older),
						    .name = "growing",
						    .op_count = 3,
						    .ops = older_words};

/* Behind them, `distance` words from their first one, are those of older. */
#define NEWER_WORDS(distance)                                                                                          \
	APPENDABLE, MEMBER(WH_DDSC_OF_4, 0), offsetof(struct newer, a), MEMBER(WH_DDSC_OF_4, 0),                       \
		offsetof(struct newer, b), MEMBER(WH_DDSC_OF_STRING, 0), offsetof(struct newer, text),                 \
		MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_8, 0), offsetof(struct newer, numbers),                      \
		MEMBER(WH_DDSC_OF_TEXT, 0), offsetof(struct newer, code), 4, MEMBER(WH_DDSC_OF_EXTERN, 0),             \
		offsetof(struct newer, one), JUMPS(3, (distance)-12),                                                  \
		MEMBER_OF(WH_DDSC_OF_ARRAY, WH_DDSC_OF_STRUCT, 0), offsetof(struct newer, two), 2,                     \
		JUMPS(5, (distance)-15), sizeof(struct older), RETURNS
static const uint32_t newer_words[] = {NEWER_WORDS(21), OLDER_WORDS};
const struct wh_ddsc_descriptor newer_descriptor = {.bytes = sizeof(struct newer),
						    .align = _Alignof(struct newer),
						    .name = "growing",
						    .op_count = 12,
						    .ops = newer_words};

static const uint32_t many_words[] = {MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_STRUCT, 0),
				      0,
				      sizeof(struct newer),
				      JUMPS(4, 5),
				      RETURNS,
				      NEWER_WORDS(21),
				      OLDER_WORDS};
const struct wh_ddsc_descriptor many_descriptor = {.bytes = sizeof(struct wh_ddsc_sequence),
						   .align = _Alignof(struct wh_ddsc_sequence),
						   .name = "many",
						   .op_count = 14,
						   .ops = many_words};

static const uint32_t mixed_words[] = {MEMBER(WH_DDSC_OF_STRING, 0),
				       offsetof(struct mixed, text),
				       MEMBER(WH_DDSC_OF_1, 0),
				       offsetof(struct mixed, a),
				       MEMBER(WH_DDSC_OF_1, 0),
				       offsetof(struct mixed, b),
				       MEMBER(WH_DDSC_OF_1, 0),
				       offsetof(struct mixed, c),
				       MEMBER(WH_DDSC_OF_1, 0),
				       offsetof(struct mixed, d),
				       MEMBER(WH_DDSC_OF_4, 0),
				       offsetof(struct mixed, e),
				       MEMBER_OF(WH_DDSC_OF_SEQUENCE, WH_DDSC_OF_STRUCT, 0),
				       offsetof(struct mixed, list),
				       sizeof(struct tailed),
				       JUMPS(4, 5),
				       RETURNS,
				       MEMBER(WH_DDSC_OF_4, 0),
				       offsetof(struct tailed, a),
				       MEMBER(WH_DDSC_OF_1, 0),
				       offsetof(struct tailed, b),
				       RETURNS};
const struct wh_ddsc_descriptor mixed_descriptor = {.bytes = sizeof(struct mixed),
						    .align = _Alignof(struct mixed),
						    .name = "mixed",
						    .op_count = 11,
						    .ops = mixed_words};
