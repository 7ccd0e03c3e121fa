/* tree.h - a type as a tree: of its members, their elements, and theirs. The words of a descriptor are checked when it is made; what is made of a
 * tree checks nothing.
 *
 * Members of a struct lie in it one behind the other, so no two share a byte: what a sample points to has one owner.
 */
#ifndef WH_DDSC_TREE_H
#define WH_DDSC_TREE_H

#include "ddsc/type/words.h"

#define WH_DDSC_NODES_MAX 16384 /* of members in all, those of a struct as often as it is used */

enum wh_ddsc_kind {
	WH_DDSC_NUMBER, /* a character or octet, too */
	WH_DDSC_BOOL,
	WH_DDSC_ENUM, /* of four bytes in memory */
	WH_DDSC_BITS,
	WH_DDSC_STRING,
	WH_DDSC_TEXT,
	WH_DDSC_SEQUENCE,
	WH_DDSC_ARRAY,
	WH_DDSC_STRUCT,
};

struct wh_ddsc_node {
	enum wh_ddsc_kind kind;
	uint8_t width;     /* as CDR, of a number, bool, enum, bits */
	bool is_delimited; /* a struct: its length lies before it in XCDR2 */
	size_t operation;  /* the word that it was read from */
	size_t at;         /* of a struct: the word where its own operations begin */
	uint32_t offset;   /* in the struct or element */
	uint32_t bytes;    /* in memory; of a struct without the room behind its last member, unless it is an element */
	uint32_t count;    /* of an array; of a sequence how many at most */
	uint64_t most;     /* of an enum, bits */
	uint32_t child, next; /* the first member, or the element; the next member; 0: none */
};

struct wh_ddsc_tree { /* node 0 is the struct itself */
	struct wh_ddsc_node *nodes;
	uint32_t count, room;
};

struct wh_ddsc_sequence { /* in memory: the layout is Cyclone DDS's */
	uint32_t maximum, length;
	void *buffer;
	bool release; /* the buffer is to be freed with the sample */
};

WH_MUST_CHECK whorl_dds_return wh_ddsc_tree_make(struct wh_ddsc_tree *tree, const struct wh_ddsc_words *words,
						 const struct wh_ddsc_descriptor *descriptor, struct wh_error *err);
void wh_ddsc_tree_free(struct wh_ddsc_tree *tree);

/* The key member to which that path leads: *node, and where it lies in the struct of all. */
WH_MUST_CHECK whorl_dds_return wh_ddsc_tree_key(const struct wh_ddsc_tree *tree, const struct wh_ddsc_words *words,
						const struct wh_ddsc_key_name *key, uint32_t *node, uint32_t *offset,
						struct wh_error *err);

/* In XCDR2 the length of all lies before these elements. */
static inline bool wh_ddsc_is_made_of_parts(const struct wh_ddsc_node *element)
{
	return element->kind != WH_DDSC_NUMBER && element->kind != WH_DDSC_BOOL;
}

#endif
