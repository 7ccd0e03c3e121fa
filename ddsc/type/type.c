/* type.c - makes a type of a descriptor. */
#include <inttypes.h>
#include <stdlib.h>

#include "ddsc/type/type_int.h"

#define KEYS_MAX 1024
#define BYTES_MAX (1U << 30)
#define WORDS_MAX (1U << 20)

struct creation {
	const struct wh_ddsc_descriptor *descriptor;
	struct wh_ddsc_words words;
	struct wh_ddsc_tree tree;
	struct wh_ddsc_part *parts; /* of the key */
	struct wh_ddsc_type *type;
	struct wh_error *err;
};

static whorl_dds_return broken(struct wh_error *err, const char *what)
{
	wh_error_set(err, WHORL_INVALID, "descriptor: %s", what);
	return WHORL_DDS_RETCODE_BAD_PARAMETER;
}

static whorl_dds_return no_memory(struct wh_error *err)
{
	wh_error_set(err, WHORL_MEMORY, "no memory for a type");
	return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
}

/* Where the paths of keys end, which lie behind the operations. */
static bool measure_paths(const struct wh_ddsc_descriptor *descriptor, struct wh_ddsc_words *words)
{
	size_t at = words->count;

	for (uint32_t i = 0; i < descriptor->key_count; i++) {
		size_t count = 0;

		if (descriptor->keys[i].at < words->count)
			continue;
		count = wh_ddsc_words_of(words, at);
		if (count == 0 || wh_ddsc_code(words->word[at]) != WH_DDSC_KEY_PATH)
			return false;
		at += count;
	}
	words->limit = at;
	return true;
}

static whorl_dds_return check(struct creation *creation, size_t words)
{
	const struct wh_ddsc_descriptor *descriptor = creation->descriptor;

	if (descriptor->name == NULL || descriptor->ops == NULL ||
	    (descriptor->keys == NULL && descriptor->key_count > 0))
		return broken(creation->err, "it has no name, operations or keys");
	if (descriptor->bytes == 0 || descriptor->bytes > BYTES_MAX || descriptor->align == 0 ||
	    descriptor->align > 64 || (descriptor->align & (descriptor->align - 1)) != 0)
		return broken(creation->err, "its size or alignment is none");
	if (descriptor->key_count > KEYS_MAX)
		return broken(creation->err, "it has too many keys");
	for (uint32_t i = 0; i < descriptor->key_count; i++)
		if (descriptor->keys[i].name == NULL)
			return broken(creation->err, "a key has no name");
	creation->words = (struct wh_ddsc_words){descriptor->ops, 0, words};
	if (!wh_ddsc_words_measure(&creation->words, descriptor->op_count) ||
	    !measure_paths(descriptor, &creation->words))
		return broken(creation->err, "its operations are none, or have no end");
	return WHORL_DDS_RETCODE_OK;
}

/* ---- keys --------------------------------------------------------------------------------------------------------------------- */

/* A key member of any type, as bytes of its struct. False: it is not, as it has a string. */
static bool describe_key(const struct wh_ddsc_tree *tree, const struct wh_ddsc_part *part, const char *name,
			 struct wh_ddsc_key *out)
{
	const struct wh_ddsc_node *node = &tree->nodes[part->node];

	*out = (struct wh_ddsc_key){name, part->offset, node->bytes, node->kind == WH_DDSC_TEXT};
	return node->kind != WH_DDSC_STRING;
}

static whorl_dds_return find_keys(struct creation *creation)
{
	const struct wh_ddsc_descriptor *descriptor = creation->descriptor;
	struct wh_ddsc_shape *shape = &creation->type->shape;
	uint32_t count = descriptor->key_count;
	struct wh_ddsc_key *keys = calloc(count + 1, sizeof(*keys));
	bool is_plain = true;

	creation->parts = calloc(count + 1, sizeof(*creation->parts));
	shape->keys = keys;
	if (keys == NULL || creation->parts == NULL)
		return no_memory(creation->err);
	for (uint32_t i = 0; i < count; i++) {
		struct wh_ddsc_part *part = &creation->parts[i];
		whorl_dds_return result = wh_ddsc_tree_key(&creation->tree, &creation->words, &descriptor->keys[i],
							   &part->node, &part->offset, creation->err);

		if (result != WHORL_DDS_RETCODE_OK)
			return result;
		for (uint32_t k = 0; k < i; k++)
			if (creation->parts[k].node == part->node)
				return broken(creation->err, "a member is two keys");
		is_plain &= describe_key(&creation->tree, part, strdup(descriptor->keys[i].name), &keys[i]);
		shape->key_count++;
		if (keys[i].name == NULL)
			return no_memory(creation->err);
	}
	shape->key_is_plain = is_plain;
	return WHORL_DDS_RETCODE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------------ */

static whorl_dds_return make_programs(struct creation *creation)
{
	static const struct wh_ddsc_part whole = {0, 0};
	struct wh_ddsc_type *type = creation->type;

	for (unsigned i = 0; i < 8; i++) {
		unsigned what = i >> 2, form = i >> 1 & 1, joined = i & 1;
		bool of_key = what == WH_DDSC_OF_KEY;
		whorl_dds_return result = WHORL_DDS_RETCODE_OK;

		if (of_key || form + 1 == WH_DDSC_XCDR2 || type->shape.is_final)
			result = wh_ddsc_program_make(&type->programs[what][form][joined], &creation->tree,
						      of_key ? creation->parts : &whole,
						      of_key ? creation->descriptor->key_count : 1, form + 1, joined);
		if (result == WHORL_DDS_RETCODE_UNSUPPORTED)
			wh_error_set(creation->err, WHORL_UNSUPPORTED, "type %s: more than %u steps", type->shape.name,
				     WH_DDSC_STEPS_MAX);
		else if (result == WHORL_DDS_RETCODE_OUT_OF_RESOURCES)
			return no_memory(creation->err);
		if (result != WHORL_DDS_RETCODE_OK)
			return result;
	}
	return WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return describe(struct creation *creation)
{
	const struct wh_ddsc_descriptor *descriptor = creation->descriptor;
	struct wh_ddsc_type *type = creation->type;
	const struct wh_ddsc_program *sample = &type->programs[WH_DDSC_OF_SAMPLE][WH_DDSC_XCDR2 - 1][WH_DDSC_JOINED];
	whorl_dds_return result;

	type->shape.name = strdup(descriptor->name);
	type->shape.bytes = descriptor->bytes;
	type->shape.align = descriptor->align;
	type->shape.is_final = true;
	for (uint32_t i = 0; i < creation->tree.count; i++)
		type->shape.is_final &= !creation->tree.nodes[i].is_delimited;
	if (type->shape.name == NULL)
		return no_memory(creation->err);
	result = find_keys(creation);
	if (result == WHORL_DDS_RETCODE_OK)
		result = make_programs(creation);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	type->shape.is_plain = !sample->bodies[sample->top].has_pointers;
	type->shape.bytes_max = wh_ddsc_program_most(sample);
	type->shape.key_bytes_max =
		wh_ddsc_program_most(&type->programs[WH_DDSC_OF_KEY][WH_DDSC_XCDR2 - 1][WH_DDSC_JOINED]);
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return wh_ddsc_type_create_of(struct wh_ddsc_type **out, const struct wh_ddsc_descriptor *descriptor,
					size_t words, struct wh_error *err)
{
	struct creation creation = {.descriptor = descriptor, .err = err};
	whorl_dds_return result;

	if (out == NULL || descriptor == NULL)
		return broken(err, "there is none");
	*out = NULL;
	result = check(&creation, words);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	result = wh_ddsc_tree_make(&creation.tree, &creation.words, descriptor, err);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	creation.type = calloc(1, sizeof(*creation.type));
	result = creation.type != NULL ? describe(&creation) : no_memory(err);
	free(creation.parts);
	wh_ddsc_tree_free(&creation.tree);
	if (result == WHORL_DDS_RETCODE_OK)
		*out = creation.type;
	else
		wh_ddsc_type_free(creation.type);
	return result;
}

whorl_dds_return wh_ddsc_type_create(struct wh_ddsc_type **out, const struct wh_ddsc_descriptor *descriptor,
				     struct wh_error *err)
{
	return wh_ddsc_type_create_of(out, descriptor, WORDS_MAX, err);
}

void wh_ddsc_type_free(struct wh_ddsc_type *type)
{
	if (type == NULL)
		return;
	for (uint32_t i = 0; i < type->shape.key_count; i++)
		free((char *)type->shape.keys[i].name);
	free((struct wh_ddsc_key *)type->shape.keys);
	free((char *)type->shape.name);
	for (unsigned i = 0; i < 8; i++)
		wh_ddsc_program_free(&type->programs[i >> 2][i >> 1 & 1][i & 1]);
	free(type);
}

const struct wh_ddsc_shape *wh_ddsc_type_shape(const struct wh_ddsc_type *type)
{
	return &type->shape;
}
