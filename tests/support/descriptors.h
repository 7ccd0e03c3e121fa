/* descriptors.h - types as idlc would describe them, written by hand, and the structs that they are of. */
#ifndef WH_TESTS_DESCRIPTORS_H
#define WH_TESTS_DESCRIPTORS_H

#include "ddsc/type/tree.h"
#include "ddsc/type/words.h"

#define MEMBER(type, flags) ((uint32_t)WH_DDSC_MEMBER << 24 | (uint32_t)(type) << 16 | (uint32_t)(flags))
#define MEMBER_OF(type, element, flags) (MEMBER(type, flags) | (uint32_t)(element) << 8)
#define WIDTH(bytes) ((bytes) == 1 ? 0 : (bytes) == 2 ? 64 : (bytes) == 4 ? 128 : 192) /* flags of an enum or bits */
#define JUMPS(next, body) ((uint32_t)(next) << 16 | (uint16_t)(body))
#define RETURNS ((uint32_t)WH_DDSC_RETURN << 24)
#define APPENDABLE ((uint32_t)WH_DDSC_DELIMITED << 24)
#define KEY_PATH(steps) ((uint32_t)WH_DDSC_KEY_PATH << 24 | (steps))

struct keyed { /* as ddsperf's KeyedSeq */
	uint32_t seq, keyval;
	struct wh_ddsc_sequence baggage;
};

struct part {
	double number;
	char name[6];
	bool set;
};

struct all {
	int32_t id; /* the key's second */
	bool flag;
	uint16_t bits;
	uint32_t colour, tiny; /* enums, of 4 bytes and of 1 */
	char *text;
	struct part part, parts[2];
	struct wh_ddsc_sequence bytes, bools, more_parts, texts, lists, colours;
	char code[4]; /* the key's first */
	int64_t stamps[2];
};

#define ALL_BITS 0x8003U
#define ALL_COLOURS 2U
#define ALL_BOOLS 3U

struct older { /* of an appendable type */
	uint32_t a;
};

struct newer { /* the same type, later */
	uint32_t a, b;
	char *text;
	struct wh_ddsc_sequence numbers;
	char code[4];
	struct older one;
	struct older two[2];
};

struct tailed {
	uint32_t a;
	uint8_t b;
};

struct mixed { /* what lies side by side in memory, and not in CDR */
	char *text;
	uint8_t a, b, c, d;
	uint32_t e;
	struct wh_ddsc_sequence list; /* of tailed */
};

extern const struct wh_ddsc_descriptor keyed_descriptor, all_descriptor, older_descriptor, newer_descriptor,
	many_descriptor /* a sequence of newer */, mixed_descriptor;

#endif
