/* tree.c - a descriptor's words, checked and made into a tree. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ddsc/type/names.h"
#include "ddsc/type/tree.h"

#define PADDING_MAX 16 /* behind the last member of a struct: idlc aligns none to more than 8 bytes */

struct reading {
	const struct wh_ddsc_words *words;
	struct wh_ddsc_tree *tree;
	const struct wh_ddsc_descriptor *descriptor;
	const char *name; /* of the type */
	struct wh_error *err;
	uint32_t depth;
	size_t inside[WH_DDSC_DEPTH_MAX];               /* where the operations begin of all that is being read */
	struct wh_ddsc_place places[WH_DDSC_DEPTH_MAX]; /* the member of each that is being read */
	uint32_t offsets[WH_DDSC_DEPTH_MAX];
	bool is_union; /* and it is all of its struct */
};

/* Of the member that is being read: its name, if the descriptor says it, or where it lies. The operations of a union are those of a struct that has
 * nothing else: what a program knows as such is the member that is one. */
static void say(struct reading *reading, enum whorl_result result, const char *what, const char *rest)
{
	uint32_t depth = reading->depth;
	char name[128];

	if (depth > 1 && result == WHORL_UNSUPPORTED && reading->is_union)
		depth--;
	if (depth > 0 && wh_ddsc_name_of(reading->descriptor, reading->places, depth, name, sizeof(name)))
		wh_error_set(reading->err, result, "type %s: the member %s %s%s", reading->name, name, what, rest);
	else
		wh_error_set(reading->err, result, "type %s: the member at byte %" PRIu32 " of its struct %s%s",
			     reading->name, depth > 0 ? reading->offsets[depth - 1] : 0, what, rest);
}

static whorl_dds_return broken(struct reading *reading, const char *what)
{
	say(reading, WHORL_INVALID, what, "");
	return WHORL_DDS_RETCODE_BAD_PARAMETER;
}

static whorl_dds_return unsupported(struct reading *reading, const char *what)
{
	say(reading, WHORL_UNSUPPORTED, what, ", which is not supported");
	return WHORL_DDS_RETCODE_UNSUPPORTED;
}

static whorl_dds_return refuse_whole(struct reading *reading, const char *what)
{
	wh_error_set(reading->err, WHORL_UNSUPPORTED, "type %s %s, which is not supported", reading->name, what);
	return WHORL_DDS_RETCODE_UNSUPPORTED;
}

/* A new node, all zero but what it is; 0: there is no memory, or the tree is too large. */
static uint32_t add(struct reading *reading, struct wh_ddsc_node node)
{
	struct wh_ddsc_tree *tree = reading->tree;

	if (tree->count == WH_DDSC_NODES_MAX)
		return 0;
	if (tree->count == tree->room) {
		uint32_t room = tree->room > 0 ? 2 * tree->room : 32;
		struct wh_ddsc_node *nodes = realloc(tree->nodes, room * sizeof(*nodes));

		if (nodes == NULL)
			return 0;
		tree->nodes = nodes;
		tree->room = room;
	}
	tree->nodes[tree->count] = node;
	return tree->count++;
}

static whorl_dds_return no_room(struct reading *reading)
{
	bool is_large = reading->tree->count == WH_DDSC_NODES_MAX;

	wh_error_set(reading->err, is_large ? WHORL_UNSUPPORTED : WHORL_MEMORY,
		     is_large ? "type %s: more than %d members in all" : "type %s: no memory for its members",
		     reading->name, WH_DDSC_NODES_MAX);
	return is_large ? WHORL_DDS_RETCODE_UNSUPPORTED : WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
}

/* A value that is not made of others. False: it is another type, or broken: *node->bytes is 0 then. */
static bool is_simple(const struct wh_ddsc_member *member, enum wh_ddsc_typecode type, struct wh_ddsc_node *node)
{
	node->most = member->most;
	switch (type) {
	case WH_DDSC_OF_1:
	case WH_DDSC_OF_2:
	case WH_DDSC_OF_4:
	case WH_DDSC_OF_8:
		node->kind = WH_DDSC_NUMBER;
		node->bytes = node->width = (uint8_t)(1U << (type - WH_DDSC_OF_1));
		return true;
	case WH_DDSC_OF_BOOL:
		node->kind = WH_DDSC_BOOL;
		node->bytes = node->width = 1;
		return true;
	case WH_DDSC_OF_ENUM:
		node->kind = WH_DDSC_ENUM;
		node->width = (uint8_t)member->width;
		node->bytes = member->width <= 4 ? 4 : 0;
		return true;
	case WH_DDSC_OF_BITS:
		node->kind = WH_DDSC_BITS;
		node->bytes = node->width = (uint8_t)member->width;
		return true;
	case WH_DDSC_OF_STRING:
		node->kind = WH_DDSC_STRING;
		node->bytes = sizeof(char *);
		return true;
	case WH_DDSC_OF_TEXT:
		node->kind = WH_DDSC_TEXT;
		node->bytes = (uint32_t)member->most;
		return true;
	default:
		return false;
	}
}

static whorl_dds_return read_struct(struct reading *reading, uint32_t self, uint32_t room, bool is_base);

/* What an array or a sequence has, in `room` bytes of memory. */
static whorl_dds_return read_element(struct reading *reading, const struct wh_ddsc_member *member, uint32_t collection)
{
	struct wh_ddsc_node node = {.at = member->body};
	bool is_array = member->type == WH_DDSC_OF_ARRAY;
	uint32_t element;

	if (member->element == WH_DDSC_OF_UNION)
		return unsupported(reading, "has unions");
	if (!is_simple(member, member->element, &node)) {
		node.kind = WH_DDSC_STRUCT;
		node.bytes = member->each;
	}
	if (node.bytes == 0)
		return broken(reading, "has elements of no size");
	if (is_array && node.bytes > UINT32_MAX / member->count)
		return broken(reading, "is larger than 4 GB");
	element = add(reading, node);
	if (element == 0)
		return no_room(reading);
	reading->tree->nodes[collection].child = element;
	reading->tree->nodes[collection].count = is_array ? member->count : member->bound;
	reading->tree->nodes[collection].bytes =
		is_array ? node.bytes * member->count : (uint32_t)sizeof(struct wh_ddsc_sequence);
	return node.kind == WH_DDSC_STRUCT ? read_struct(reading, element, node.bytes, false) : WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return read_type(struct reading *reading, const struct wh_ddsc_member *member, uint32_t self,
				  uint32_t room)
{
	struct wh_ddsc_node *node = &reading->tree->nodes[self];

	switch (member->type) {
	case WH_DDSC_OF_UNION:
		reading->is_union = member->offset == 0;
		if (reading->is_union && reading->depth == 1)
			return refuse_whole(reading, "is a union");
		return unsupported(reading, "is a union");
	case WH_DDSC_OF_EXTERN:
		node->kind = WH_DDSC_STRUCT;
		node->at = member->body;
		return read_struct(reading, self, room, (member->flags & WH_DDSC_IS_BASE) != 0);
	case WH_DDSC_OF_SEQUENCE:
	case WH_DDSC_OF_BOUNDED_SEQUENCE:
		node->kind = WH_DDSC_SEQUENCE;
		return read_element(reading, member, self);
	case WH_DDSC_OF_ARRAY:
		node->kind = WH_DDSC_ARRAY;
		return read_element(reading, member, self);
	default:
		(void)is_simple(member, member->type, node);
		return node->bytes > 0 ? WHORL_DDS_RETCODE_OK : broken(reading, "has no size");
	}
}

/* A member behind the first `used` bytes of a struct that has `room`. */
static whorl_dds_return read_member(struct reading *reading, size_t *at, uint32_t *self, uint32_t used, uint32_t room)
{
	struct wh_ddsc_member member = {.offset = 0};
	const char *wrong = wh_ddsc_words_member(reading->words, *at, &member);
	whorl_dds_return result;

	reading->offsets[reading->depth - 1] = member.offset;
	reading->places[reading->depth - 1].is_base = (member.flags & WH_DDSC_IS_BASE) != 0;
	if ((reading->words->word[*at] & WH_DDSC_IS_EXTERNAL) != 0)
		return unsupported(reading, member.flags & WH_DDSC_IS_OPTIONAL ? "is @optional" : "is @external");
	if (wrong != NULL)
		return broken(reading, wrong);
	if ((member.flags & WH_DDSC_IS_OPTIONAL) != 0)
		return unsupported(reading, "is @optional");
	if (member.next <= *at)
		return broken(reading, "is followed by itself");
	if (member.offset < used || member.offset >= room)
		return broken(reading, "lies outside, or in another member");
	*self = add(reading, (struct wh_ddsc_node){.operation = *at, .offset = member.offset});
	if (*self == 0)
		return no_room(reading);
	result = read_type(reading, &member, *self, room - member.offset);
	if (result == WHORL_DDS_RETCODE_OK && reading->tree->nodes[*self].bytes > room - member.offset)
		return broken(reading, "does not end in its struct");
	*at = member.next;
	return result;
}

/* All up to the end of the operations; *used: bytes, of `room`. */
static whorl_dds_return read_members(struct reading *reading, size_t at, uint32_t self, uint32_t *used, uint32_t room)
{
	uint32_t last = 0;

	while (at < reading->words->count && wh_ddsc_code(reading->words->word[at]) == WH_DDSC_MEMBER) {
		uint32_t member = 0;
		whorl_dds_return result = read_member(reading, &at, &member, *used, room);

		if (result != WHORL_DDS_RETCODE_OK)
			return result;
		*(last == 0 ? &reading->tree->nodes[self].child : &reading->tree->nodes[last].next) = member;
		last = member;
		if (!reading->places[reading->depth - 1].is_base)
			reading->places[reading->depth - 1].index++;
		*used = reading->tree->nodes[member].offset + reading->tree->nodes[member].bytes;
	}
	if (at >= reading->words->count || wh_ddsc_code(reading->words->word[at]) != WH_DDSC_RETURN || last == 0) {
		wh_error_set(reading->err, WHORL_INVALID, "type %s: operation %zu is no member and no end",
			     reading->name, at);
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	}
	return WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return refuse_struct(struct reading *reading, const char *what)
{
	return reading->depth > 0 ? unsupported(reading, what) : refuse_whole(reading, what);
}

/* The struct `self`, of which `at` is known, in `room` bytes; its size, if that is not known. */
static whorl_dds_return read_struct(struct reading *reading, uint32_t self, uint32_t room, bool is_base)
{
	size_t at = reading->tree->nodes[self].at;
	unsigned code = wh_ddsc_code(reading->words->word[at]);
	uint32_t used = 0;
	whorl_dds_return result;

	for (uint32_t i = 0; i < reading->depth; i++)
		if (reading->inside[i] == at)
			return refuse_struct(reading, "contains itself");
	if (reading->depth == WH_DDSC_DEPTH_MAX) {
		wh_error_set(reading->err, WHORL_INVALID, "type %s: more than %d members in members", reading->name,
			     WH_DDSC_DEPTH_MAX);
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	}
	if (code == WH_DDSC_MUTABLE)
		return refuse_struct(reading, reading->depth == 0 ? "is @mutable" : "has a struct that is @mutable");
	if (code == WH_DDSC_CALL)
		return refuse_struct(reading, "calls its operations");
	reading->places[reading->depth] = (struct wh_ddsc_place){0};
	reading->inside[reading->depth++] = at;
	/* Of a base, the length is that of the whole. */
	reading->tree->nodes[self].is_delimited = code == WH_DDSC_DELIMITED && !is_base;
	result = read_members(reading, at + (code == WH_DDSC_DELIMITED), self, &used, room);
	reading->depth--;
	if (reading->tree->nodes[self].bytes == 0)
		reading->tree->nodes[self].bytes = used;
	if (result == WHORL_DDS_RETCODE_OK && reading->tree->nodes[self].bytes - used >= PADDING_MAX) {
		wh_error_set(reading->err, WHORL_INVALID,
			     "type %s: a struct has %" PRIu32 " bytes behind its last member", reading->name,
			     reading->tree->nodes[self].bytes - used);
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	}
	return result;
}

whorl_dds_return wh_ddsc_tree_make(struct wh_ddsc_tree *tree, const struct wh_ddsc_words *words,
				   const struct wh_ddsc_descriptor *descriptor, struct wh_error *err)
{
	struct reading reading = {
		.words = words, .tree = tree, .descriptor = descriptor, .name = descriptor->name, .err = err};
	whorl_dds_return result;

	*tree = (struct wh_ddsc_tree){.nodes = NULL};
	(void)add(&reading, (struct wh_ddsc_node){.kind = WH_DDSC_STRUCT, .bytes = descriptor->bytes});
	result = tree->count == 1 ? read_struct(&reading, 0, descriptor->bytes, false) : no_room(&reading);
	if (result != WHORL_DDS_RETCODE_OK)
		wh_ddsc_tree_free(tree);
	return result;
}

void wh_ddsc_tree_free(struct wh_ddsc_tree *tree)
{
	free(tree->nodes);
	*tree = (struct wh_ddsc_tree){.nodes = NULL};
}
