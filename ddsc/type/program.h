/* program.h - what encodes and decodes: steps, made of a tree for one form.
 *
 * Members that lie in CDR as they do in memory are one step, which copies. Of the position in CDR as much is known when a program is made as can be:
 * that it is so many bytes behind a multiple of 8, or of fewer. So a struct in a struct costs nothing, and only what has a length ends a run.
 *
 * A program that is not joined has a step for each member: it swaps bytes, and finds the member with which an older sample of an @appendable type
 * ends.
 */
#ifndef WH_DDSC_PROGRAM_H
#define WH_DDSC_PROGRAM_H

#include "ddsc/type/tree.h"

#define WH_DDSC_STEPS_MAX (1U << 16)

enum wh_ddsc_do {
	WH_DDSC_COPY,
	WH_DDSC_CHECK_BOOL, /* checks are of memory: they have no bytes in CDR, and follow what copies */
	WH_DDSC_CHECK_ENUM,
	WH_DDSC_CHECK_BITS,
	WH_DDSC_NARROW, /* an enum that has fewer than four bytes in CDR */
	WH_DDSC_PUT_STRING,
	WH_DDSC_PUT_TEXT,
	WH_DDSC_NUMBERS,  /* a sequence that is copied */
	WH_DDSC_ELEMENTS, /* a sequence of what has a body */
	WH_DDSC_REPEAT,   /* an array of what has a body */
	WH_DDSC_DELIMIT,  /* a body behind its length */
};

struct wh_ddsc_step {
	uint8_t what;        /* enum wh_ddsc_do */
	uint8_t align;       /* in CDR, of the first byte */
	uint8_t width;       /* of one number */
	bool is_delimited;   /* a sequence or array: the length of all lies before it */
	bool may_be_missing; /* in an older sample of an @appendable struct, as all behind it then */
	uint32_t offset;     /* in memory */
	uint32_t bytes;      /* COPY, PUT_TEXT: in memory; sequence, array: of an element in memory */
	uint32_t count;      /* a sequence: how many at most; an array, or a check: of how many */
	uint32_t body;
	uint64_t most; /* of an enum; all bits of a bitmask */
};

struct wh_ddsc_body {
	uint32_t first, count; /* steps */
	uint32_t bytes_min;    /* in CDR, without padding */
	uint8_t run;           /* > 0: elements lie one behind the other in CDR as in memory; what their alignment is */
	bool has_pointers;
};

struct wh_ddsc_program {
	struct wh_ddsc_step *steps;
	struct wh_ddsc_body *bodies;
	uint32_t step_count, body_count;
	uint32_t step_room, body_room;
	uint32_t top; /* the body of the whole */
	uint8_t align_max;
};

struct wh_ddsc_part { /* of what a program is for: a node, and where it lies in the struct */
	uint32_t node, offset;
};

/* OK; UNSUPPORTED: it has too many steps; OUT_OF_RESOURCES. */
WH_MUST_CHECK whorl_dds_return wh_ddsc_program_make(struct wh_ddsc_program *program, const struct wh_ddsc_tree *tree,
						    const struct wh_ddsc_part *parts, uint32_t count,
						    enum wh_ddsc_form form, bool joined);
void wh_ddsc_program_free(struct wh_ddsc_program *program);

/* Of what the program is for: the most bytes that it can have in CDR; SIZE_MAX: there is no bound. */
size_t wh_ddsc_program_most(const struct wh_ddsc_program *program);

static inline const struct wh_ddsc_body *wh_ddsc_body_of(const struct wh_ddsc_program *program,
							 const struct wh_ddsc_step *step)
{
	return &program->bodies[step->body];
}

/* Of the elements of a sequence of numbers. */
static inline unsigned wh_ddsc_numbers_align(const struct wh_ddsc_program *program, const struct wh_ddsc_step *step)
{
	return step->width < program->align_max ? step->width : program->align_max;
}

#endif
