/* tree_key.c - the members of a type that are its key, by their paths in a descriptor. */
#include <inttypes.h>
#include <string.h>

#include "ddsc/type/tree.h"

static whorl_dds_return broken(const struct wh_ddsc_key_name *key, struct wh_error *err)
{
	wh_error_set(err, WHORL_INVALID, "key %s: its path leads to no member", key->name);
	return WHORL_DDS_RETCODE_BAD_PARAMETER;
}

/* Of a struct, the member that is said so many words behind the first one; 0: none. */
static uint32_t member_at(const struct wh_ddsc_tree *tree, uint32_t self, size_t word)
{
	size_t first = tree->nodes[self].at;

	for (uint32_t i = tree->nodes[self].child; i != 0; i = tree->nodes[i].next) {
		const struct wh_ddsc_node *node = &tree->nodes[i];

		if (node->operation == first + word)
			return i;
	}
	return 0;
}

static bool can_be_key(const struct wh_ddsc_tree *tree, uint32_t self)
{
	const struct wh_ddsc_node *node = &tree->nodes[self];

	if (node->kind == WH_DDSC_ARRAY)
		node = &tree->nodes[node->child];
	return node->kind < WH_DDSC_SEQUENCE && (node == &tree->nodes[self] || node->kind < WH_DDSC_STRING);
}

whorl_dds_return wh_ddsc_tree_key(const struct wh_ddsc_tree *tree, const struct wh_ddsc_words *words,
				  const struct wh_ddsc_key_name *key, uint32_t *node, uint32_t *offset,
				  struct wh_error *err)
{
	const uint32_t *path = words->word + key->at;
	uint32_t count = 1;
	bool direct = false; /* it is not a path, but the member itself */

	if (wh_ddsc_words_of(words, key->at) == 0)
		return broken(key, err);
	if (wh_ddsc_code(*path) == WH_DDSC_KEY_PATH)
		count = *path & 0xffff;
	else if (wh_ddsc_code(*path) == WH_DDSC_MEMBER)
		direct = true;
	else
		return broken(key, err);
	*node = 0;
	*offset = 0;
	for (uint32_t i = 0; i < count; i++) {
		*node = tree->nodes[*node].kind == WH_DDSC_STRUCT
				? member_at(tree, *node, direct ? key->at : path[1 + i])
				: 0;
		if (*node == 0)
			return broken(key, err);
		*offset += tree->nodes[*node].offset;
	}
	if (count == 0 || tree->nodes[*node].kind == WH_DDSC_STRUCT)
		return broken(key, err);
	if (!can_be_key(tree, *node)) {
		wh_error_set(err, WHORL_UNSUPPORTED, "key %s is a sequence, or an array of such or of strings",
			     key->name);
		return WHORL_DDS_RETCODE_UNSUPPORTED;
	}
	return WHORL_DDS_RETCODE_OK;
}
