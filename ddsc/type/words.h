/* words.h - the words of a descriptor, one operation at a time. Numbers and layouts are Cyclone DDS's (dds_opcodes.h), names our own. */
#ifndef WH_DDSC_WORDS_H
#define WH_DDSC_WORDS_H

#include "ddsc/type/type.h"

enum wh_ddsc_code { /* the highest byte of an operation */
		    WH_DDSC_RETURN = 0,
		    WH_DDSC_MEMBER = 1,
		    WH_DDSC_CALL = 2,
		    WH_DDSC_CASE = 3,
		    WH_DDSC_DELIMITED = 4, /* the struct is @appendable */
		    WH_DDSC_MUTABLE = 5,
		    WH_DDSC_MUTABLE_MEMBER = 6,
		    WH_DDSC_KEY_PATH = 7,
		    WH_DDSC_CASE_4 = 8,
};

enum wh_ddsc_typecode { /* of a member: bits 16 to 22; of its elements: bits 8 to 15 */
			WH_DDSC_OF_1 = 1,
			WH_DDSC_OF_2 = 2,
			WH_DDSC_OF_4 = 3,
			WH_DDSC_OF_8 = 4,
			WH_DDSC_OF_STRING = 5,
			WH_DDSC_OF_TEXT = 6, /* a bounded string: it lies in the struct */
			WH_DDSC_OF_SEQUENCE = 7,
			WH_DDSC_OF_ARRAY = 8,
			WH_DDSC_OF_UNION = 9,
			WH_DDSC_OF_STRUCT = 10, /* of elements alone */
			WH_DDSC_OF_BOUNDED_SEQUENCE = 11,
			WH_DDSC_OF_ENUM = 12,
			WH_DDSC_OF_EXTERN = 13, /* a struct in the struct */
			WH_DDSC_OF_BOOL = 14,
			WH_DDSC_OF_BITS = 15,
};

enum { /* flags of a member */
       WH_DDSC_IS_KEY = 1,
       WH_DDSC_IS_FLOAT = 2,
       WH_DDSC_IS_SIGNED = 4,
       WH_DDSC_IS_BASE = 16,
       WH_DDSC_IS_OPTIONAL = 32,
       WH_DDSC_IS_EXTERNAL = 1 << 23, /* of the whole word */
};

struct wh_ddsc_words {
	const uint32_t *word;
	size_t count; /* of those in which operations may begin, and jumps end */
	size_t limit; /* there is none at or behind this */
};

struct wh_ddsc_member { /* an operation of the code MEMBER */
	enum wh_ddsc_typecode type, element;
	uint32_t flags;
	unsigned width;    /* of an enum or bits as CDR */
	uint32_t offset;   /* in its struct */
	uint32_t bound;    /* of a sequence; UINT32_MAX: none */
	uint32_t count;    /* of an array */
	uint64_t most;     /* of an enum: its largest; of bits: all of them; of a text: its bytes, with the zero */
	uint32_t each;     /* bytes of an element in memory, if it is a struct, array or sequence */
	size_t body, next; /* where the operations of the element, or struct, begin; the next member */
};

/* How many words the operation at `at` has; 0: there is no such operation, or it is not all there. */
size_t wh_ddsc_words_of(const struct wh_ddsc_words *words, size_t at);
/* Finds where the operations end: of so many words at most, `operations` of them and the paths of keys. False: they do not fit. */
bool wh_ddsc_words_measure(struct wh_ddsc_words *words, uint32_t operations);
/* Reads the member at `at`, which is one. NULL, or what is wrong with it. */
const char *wh_ddsc_words_member(const struct wh_ddsc_words *words, size_t at, struct wh_ddsc_member *out);

static inline unsigned wh_ddsc_code(uint32_t word)
{
	return word >> 24;
}

#endif
