/* program.c - makes a program of a tree. */
#include <stdlib.h>
#include <string.h>

#include "ddsc/type/program.h"

struct making { /* of one body */
	struct wh_ddsc_program *program;
	const struct wh_ddsc_tree *tree;
	unsigned align_max;
	bool joined, delimits; /* collections of parts, and structs, have their length before them */
	whorl_dds_return *result;
	struct wh_ddsc_step *steps; /* so far */
	uint32_t count, room;
	uint32_t modulus, rest; /* the position in CDR is `rest` behind a multiple of `modulus` */
	uint32_t run;           /* SIZE: the step behind the one that copies, and may be made longer; 0: none */
	bool may_be_missing;    /* the next step */
	struct wh_ddsc_body body;
};

static struct making within(const struct making *outer, uint32_t modulus)
{
	return (struct making){.program = outer->program,
			       .tree = outer->tree,
			       .align_max = outer->align_max,
			       .joined = outer->joined,
			       .delimits = outer->delimits,
			       .result = outer->result,
			       .modulus = modulus};
}

static void fail(struct making *making, whorl_dds_return result)
{
	if (*making->result == WHORL_DDS_RETCODE_OK)
		*making->result = result;
}

/* Room for `more` behind `count` things of `each` bytes. */
static bool grow(void **list, uint32_t count, uint32_t more, uint32_t *room, size_t each)
{
	uint32_t wanted = *room > 0 ? *room : 8;
	void *grown;

	while (wanted < count + more)
		wanted *= 2;
	if (wanted == *room)
		return true;
	grown = realloc(*list, wanted * each);
	if (grown == NULL)
		return false;
	*list = grown;
	*room = wanted;
	return true;
}

static struct wh_ddsc_step *add(struct making *making, struct wh_ddsc_step step)
{
	void *steps = making->steps;

	if (making->count + making->program->step_count >= WH_DDSC_STEPS_MAX)
		fail(making, WHORL_DDS_RETCODE_UNSUPPORTED);
	if (*making->result != WHORL_DDS_RETCODE_OK)
		return NULL;
	if (!grow(&steps, making->count, 1, &making->room, sizeof(step))) {
		fail(making, WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
		return NULL;
	}
	making->steps = steps;
	step.may_be_missing = making->may_be_missing;
	making->may_be_missing = false;
	making->steps[making->count] = step;
	return &making->steps[making->count++];
}

static void at_least(struct making *making, uint64_t bytes)
{
	bytes += making->body.bytes_min;
	making->body.bytes_min = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* The body is complete: it goes behind those that are. Returns which it is. */
static uint32_t finish(struct making *making)
{
	struct wh_ddsc_program *program = making->program;
	void *steps = program->steps, *bodies = program->bodies;

	if (*making->result == WHORL_DDS_RETCODE_OK) {
		bool grown = grow(&steps, program->step_count, making->count + 1, &program->step_room,
				  sizeof(*program->steps));

		program->steps = steps;
		grown = grow(&bodies, program->body_count, 1, &program->body_room, sizeof(*program->bodies)) && grown;
		program->bodies = bodies;
		if (!grown)
			fail(making, WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
	}
	if (*making->result == WHORL_DDS_RETCODE_OK) {
		making->body.first = program->step_count;
		making->body.count = making->count;
		if (making->count > 0) /* the key of a type without one has no steps */
			memcpy(program->steps + program->step_count, making->steps,
			       making->count * sizeof(*making->steps));
		program->step_count += making->count;
		program->bodies[program->body_count++] = making->body;
	}
	free(making->steps);
	making->steps = NULL;
	return program->body_count - 1;
}

/* ---- what is copied ------------------------------------------------------------------------------------------------------------ */

/* The position is behind what has any length. */
static void lose_position(struct making *making)
{
	making->modulus = 1;
	making->rest = 0;
	making->run = 0;
}

/* How many bytes of padding come before what has this alignment; SIZE_MAX: that is not known. */
static uint32_t padding(const struct making *making, uint32_t align)
{
	return align <= making->modulus ? -making->rest & (align - 1) : UINT32_MAX;
}

/* `count` numbers of so many bytes. */
static void copy(struct making *making, uint32_t width, uint32_t count, uint32_t offset)
{
	uint32_t align = width < making->align_max ? width : making->align_max, bytes = width * count,
		 pad = padding(making, align);
	struct wh_ddsc_step *run = making->run > 0 ? &making->steps[making->run - 1] : NULL;

	at_least(making, bytes);
	if (making->joined && run != NULL && pad == 0 && run->offset + run->bytes == offset) {
		run->bytes += bytes;
		making->may_be_missing = false;
	} else {
		if (add(making, (struct wh_ddsc_step){.what = WH_DDSC_COPY,
						      .align = (uint8_t)align,
						      .width = (uint8_t)width,
						      .offset = offset,
						      .bytes = bytes}) == NULL)
			return;
		making->run = making->count;
		if (pad == UINT32_MAX) {
			making->modulus = align;
			making->rest = 0;
		} else {
			making->rest += pad;
		}
	}
	making->rest = (making->rest + bytes) & (making->modulus - 1);
}

static void check(struct making *making, enum wh_ddsc_do what, const struct wh_ddsc_node *node, uint32_t count,
		  uint32_t offset)
{
	(void)add(making, (struct wh_ddsc_step){.what = what,
						.align = 1,
						.width = (uint8_t)node->bytes,
						.offset = offset,
						.count = count,
						.most = node->most});
}

static void narrow(struct making *making, const struct wh_ddsc_node *node, uint32_t offset)
{
	at_least(making, node->width);
	(void)add(making, (struct wh_ddsc_step){.what = WH_DDSC_NARROW,
						.align = node->width,
						.width = node->width,
						.offset = offset,
						.bytes = 4,
						.count = 1,
						.most = node->most});
	lose_position(making);
}

/* ---- what has a length or a body ------------------------------------------------------------------------------------------------- */

static void put(struct making *making, const struct wh_ddsc_node *node, uint32_t offset)
{
	bool is_string = node->kind == WH_DDSC_STRING;

	at_least(making, 5); /* a length and a zero */
	making->body.has_pointers |= is_string;
	(void)add(making, (struct wh_ddsc_step){.what = is_string ? WH_DDSC_PUT_STRING : WH_DDSC_PUT_TEXT,
						.align = 4,
						.offset = offset,
						.bytes = node->bytes});
	lose_position(making);
}

static void make(struct making *making, uint32_t self, uint32_t offset);

/* A body for one element of a collection. */
static uint32_t make_element(const struct making *making, uint32_t self)
{
	struct making inner = within(making, 1);
	const struct wh_ddsc_node *element = &making->tree->nodes[self];
	const struct wh_ddsc_step *run;

	make(&inner, self, 0);
	run = inner.run > 0 ? &inner.steps[inner.run - 1] : NULL;
	if (*inner.result == WHORL_DDS_RETCODE_OK && run != NULL && run == inner.steps && run->offset == 0 &&
	    run->bytes == element->bytes && element->bytes % run->align == 0) {
		inner.body.run = run->align;
		for (uint32_t i = 1; i < inner.count; i++)
			if (inner.steps[i].what > WH_DDSC_CHECK_BITS)
				inner.body.run = 0;
	}
	return finish(&inner);
}

static void make_array(struct making *making, const struct wh_ddsc_node *node, uint32_t offset)
{
	const struct wh_ddsc_node *element = &making->tree->nodes[node->child];
	struct wh_ddsc_body body;
	struct wh_ddsc_step step = {
		.what = WH_DDSC_REPEAT, .align = 1, .offset = offset, .bytes = element->bytes, .count = node->count};

	if (!wh_ddsc_is_made_of_parts(element)) {
		copy(making, element->width, node->count, offset);
		if (element->kind == WH_DDSC_BOOL)
			check(making, WH_DDSC_CHECK_BOOL, element, node->count, offset);
		return;
	}
	step.is_delimited = making->delimits;
	step.body = make_element(making, node->child);
	if (*making->result != WHORL_DDS_RETCODE_OK)
		return;
	body = making->program->bodies[step.body];
	making->body.has_pointers |= body.has_pointers;
	at_least(making, (uint64_t)body.bytes_min * node->count + 4 * step.is_delimited);
	step.align = step.is_delimited ? 4 : 1;
	(void)add(making, step);
	lose_position(making);
}

static void make_sequence(struct making *making, const struct wh_ddsc_node *node, uint32_t offset)
{
	const struct wh_ddsc_node *element = &making->tree->nodes[node->child];
	bool parts = wh_ddsc_is_made_of_parts(element);
	struct wh_ddsc_step step = {.what = element->kind == WH_DDSC_NUMBER ? WH_DDSC_NUMBERS : WH_DDSC_ELEMENTS,
				    .align = 4,
				    .width = element->width,
				    .is_delimited = parts && making->delimits,
				    .offset = offset,
				    .bytes = element->bytes,
				    .count = node->count};

	if (step.what == WH_DDSC_ELEMENTS)
		step.body = make_element(making, node->child);
	making->body.has_pointers = true;
	at_least(making, 4 + 4 * step.is_delimited);
	(void)add(making, step);
	lose_position(making);
}

static void make_members(struct making *making, const struct wh_ddsc_node *node, uint32_t offset, bool may_be_missing)
{
	for (uint32_t i = node->child; i != 0 && *making->result == WHORL_DDS_RETCODE_OK;
	     i = making->tree->nodes[i].next) {
		making->may_be_missing |= may_be_missing;
		make(making, i, offset + making->tree->nodes[i].offset);
	}
}

static void make_delimited(struct making *making, const struct wh_ddsc_node *node, uint32_t offset)
{
	struct making inner = within(making, 4);
	struct wh_ddsc_step step = {.what = WH_DDSC_DELIMIT, .align = 4};

	make_members(&inner, node, offset, true);
	making->body.has_pointers |= inner.body.has_pointers;
	step.body = finish(&inner);
	at_least(making, 4); /* of a sample of an older type */
	(void)add(making, step);
	lose_position(making);
}

static void make(struct making *making, uint32_t self, uint32_t offset)
{
	const struct wh_ddsc_node *node = &making->tree->nodes[self];

	switch (node->kind) {
	case WH_DDSC_NUMBER:
		copy(making, node->width, 1, offset);
		break;
	case WH_DDSC_BOOL:
		copy(making, 1, 1, offset);
		check(making, WH_DDSC_CHECK_BOOL, node, 1, offset);
		break;
	case WH_DDSC_ENUM:
		if (node->width < 4) {
			narrow(making, node, offset);
			break;
		}
		copy(making, 4, 1, offset);
		check(making, WH_DDSC_CHECK_ENUM, node, 1, offset);
		break;
	case WH_DDSC_BITS:
		copy(making, node->width, 1, offset);
		check(making, WH_DDSC_CHECK_BITS, node, 1, offset);
		break;
	case WH_DDSC_STRING:
	case WH_DDSC_TEXT:
		put(making, node, offset);
		break;
	case WH_DDSC_SEQUENCE:
		make_sequence(making, node, offset);
		break;
	case WH_DDSC_ARRAY:
		make_array(making, node, offset);
		break;
	case WH_DDSC_STRUCT:
		if (node->is_delimited && making->delimits)
			make_delimited(making, node, offset);
		else
			make_members(making, node, offset, false);
		break;
	}
}

whorl_dds_return wh_ddsc_program_make(struct wh_ddsc_program *program, const struct wh_ddsc_tree *tree,
				      const struct wh_ddsc_part *parts, uint32_t count, enum wh_ddsc_form form,
				      bool joined)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;
	struct making making = {.program = program,
				.tree = tree,
				.align_max = form == WH_DDSC_XCDR1 ? 8 : 4,
				.joined = joined,
				.delimits = form == WH_DDSC_XCDR2,
				.result = &result,
				.modulus = 8};

	*program = (struct wh_ddsc_program){.align_max = (uint8_t)making.align_max};
	for (uint32_t i = 0; i < count; i++)
		make(&making, parts[i].node, parts[i].offset);
	program->top = finish(&making);
	if (result != WHORL_DDS_RETCODE_OK)
		wh_ddsc_program_free(program);
	return result;
}

void wh_ddsc_program_free(struct wh_ddsc_program *program)
{
	free(program->steps);
	free(program->bodies);
	*program = (struct wh_ddsc_program){.steps = NULL};
}
