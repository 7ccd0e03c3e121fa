/* names.c - see names.h. All of it is XCDR2, little-endian; numbers are aligned from the beginning of the whole. */
#include "ddsc/type/names.h"

#include <string.h>

#define HASH_BYTES 14
#define NESTED_MAX 16 /* sequences of arrays of ..., and names for names */

enum {
	OF_COMPLETE = 0xf2,
	OF_MINIMAL = 0xf1,
	A_STRUCT = 0x51,
	AN_ALIAS = 0x30,
};

struct cursor {
	const unsigned char *bytes;
	size_t at, end;
};

static const unsigned char *next(struct cursor *cursor, size_t align, size_t bytes)
{
	size_t pad = -cursor->at & (align - 1), left = cursor->end - cursor->at;
	const unsigned char *found;

	if (pad > left || bytes > left - pad)
		return NULL;
	found = cursor->bytes + cursor->at + pad;
	cursor->at += pad + bytes;
	return found;
}

static bool get(struct cursor *cursor, size_t width, uint32_t *out)
{
	const unsigned char *from = next(cursor, width, width);

	*out = 0;
	for (size_t i = 0; from != NULL && i < width; i++)
		*out |= (uint32_t)from[i] << 8 * i;
	return from != NULL;
}

/* What lies behind a length; `cursor` goes on behind it. */
static bool enter(struct cursor *cursor, struct cursor *inside)
{
	uint32_t bytes;

	if (!get(cursor, 4, &bytes) || bytes > cursor->end - cursor->at)
		return false;
	*inside = (struct cursor){cursor->bytes, cursor->at, cursor->at + bytes};
	cursor->at += bytes;
	return true;
}

/* NULL: it is no text. */
static const char *get_text(struct cursor *cursor)
{
	const unsigned char *text;
	uint32_t bytes;

	if (!get(cursor, 4, &bytes) || bytes == 0)
		return NULL;
	text = next(cursor, 1, bytes);
	return text != NULL && memchr(text, 0, bytes) == text + bytes - 1 ? (const char *)text : NULL;
}

/* ---- identifiers of types --------------------------------------------------------------------------------------------------- */

static bool skip_bounds(struct cursor *cursor, unsigned kind)
{
	uint32_t count = 1, width = kind & 1 ? 4 : 1; /* large ones have four bytes */

	if ((kind & 0xf0) == 0x90 && !get(cursor, 4, &count))
		return false;
	return count <= cursor->end && next(cursor, width, (size_t)count * width) != NULL;
}

/* *hash: of the type object that it names, or that its elements are of; NULL: there is none. */
static bool get_identifier(struct cursor *cursor, const unsigned char **hash)
{
	uint32_t kind, unused;

	*hash = NULL;
	for (int i = 0; i < NESTED_MAX; i++) {
		if (!get(cursor, 1, &kind))
			return false;
		if (kind == OF_COMPLETE || kind == OF_MINIMAL) {
			*hash = next(cursor, 1, HASH_BYTES);
			return *hash != NULL;
		}
		if (kind < 0x20)
			return true;
		if (kind >= 0x70 && kind <= 0x73)
			return skip_bounds(cursor, kind);
		if (kind != 0x80 && kind != 0x81 && kind != 0x90 && kind != 0x91)
			return false;
		if (!get(cursor, 1, &unused) || !get(cursor, 2, &unused) || !skip_bounds(cursor, kind))
			return false;
	}
	return false;
}

/* ---- type objects ----------------------------------------------------------------------------------------------------------- */

/* The head of a struct: the name of its type, and its base. `object` goes on behind it. */
static bool get_head(struct cursor *object, const char **name, const unsigned char **base)
{
	struct cursor head;
	uint32_t flags, has_builtin, has_custom;

	*name = NULL;
	if (!get(object, 2, &flags) || !enter(object, &head) || !get_identifier(&head, base) ||
	    !get(&head, 1, &has_builtin) || !get(&head, 1, &has_custom))
		return false;
	if (has_builtin == 0 && has_custom == 0)
		*name = get_text(&head);
	return true;
}

/* What an alias stands for. */
static bool get_alias(struct cursor *object, const unsigned char **hash)
{
	struct cursor head, body;
	uint32_t flags;

	return get(object, 2, &flags) && enter(object, &head) && enter(object, &body) && get(&body, 2, &flags) &&
	       get_identifier(&body, hash);
}

/* The object with this hash, or of the struct with this name, behind its kind. 0: there is none. */
static unsigned find(const struct wh_ddsc_blob *mapping, const unsigned char *hash, const char *name,
		     struct cursor *object)
{
	struct cursor all = {mapping->bytes, 0, mapping->count}, minimal, complete;
	uint32_t count;

	if (!enter(&all, &minimal) || !enter(&all, &complete) || !get(&complete, 4, &count))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const unsigned char *own, *base;
		const char *called = NULL;
		struct cursor look;
		uint32_t of, kind;

		if (!get_identifier(&complete, &own) || own == NULL || !enter(&complete, object) ||
		    !get(object, 1, &of) || !get(object, 1, &kind))
			return 0;
		look = *object;
		if (hash != NULL && memcmp(hash, own, HASH_BYTES) == 0)
			return kind;
		if (hash == NULL && kind == A_STRUCT && get_head(&look, &called, &base) && called != NULL &&
		    strcmp(called, name) == 0)
			return kind;
	}
	return 0;
}

static bool find_struct(const struct wh_ddsc_blob *mapping, const unsigned char *hash, const char *name,
			struct cursor *object)
{
	for (int i = 0; i < NESTED_MAX; i++) {
		unsigned kind = find(mapping, hash, name, object);

		if (kind != AN_ALIAS)
			return kind == A_STRUCT;
		if (!get_alias(object, &hash) || hash == NULL)
			return false;
	}
	return false;
}

/* Of a member; *hash: of what it is. */
static const char *get_member(struct cursor *object, uint32_t index, const unsigned char **hash)
{
	struct cursor members, member = {.bytes = NULL};
	uint32_t count, id, flags;

	if (!enter(object, &members) || !get(&members, 4, &count) || index >= count)
		return NULL;
	for (uint32_t i = 0; i <= index; i++)
		if (!enter(&members, &member))
			return NULL;
	if (!get(&member, 4, &id) || !get(&member, 2, &flags) || !get_identifier(&member, hash))
		return NULL;
	return get_text(&member);
}

bool wh_ddsc_name_of(const struct wh_ddsc_descriptor *descriptor, const struct wh_ddsc_place *places, uint32_t count,
		     char *out, size_t bytes)
{
	const unsigned char *hash = NULL;
	size_t used = 0;

	if (descriptor->mapping.bytes == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct cursor object;
		const unsigned char *base;
		const char *name;
		size_t length;

		if ((i > 0 && hash == NULL) || !find_struct(&descriptor->mapping, hash, descriptor->name, &object) ||
		    !get_head(&object, &name, &base))
			return false;
		if (places[i].is_base) {
			hash = base;
			continue;
		}
		name = get_member(&object, places[i].index, &hash);
		length = name != NULL ? strlen(name) : bytes;
		if (length + 2 > bytes - used)
			return false;
		if (used > 0)
			out[used++] = '.';
		memcpy(out + used, name, length + 1);
		used += length;
	}
	return used > 0;
}
