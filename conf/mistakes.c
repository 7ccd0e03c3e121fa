/* mistakes.c - the mistakes of a configuration, kept as the text that will be shown.
 *
 * They are noted as they are found (a file, then what its values mean, then what only the caller can see) and shown in
 * the order of the file.
 */
#include "conf/conf_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wh_mistake {
	struct wh_place place;
	size_t bytes; /* of its line, the newline behind it included */
};

void wh_mistakes_free(struct wh_mistakes *mistakes)
{
	free(mistakes->list);
	free(mistakes->text);
	*mistakes = (struct wh_mistakes){0};
}

/* Room for one more mistake and `bytes` more of text. */
static bool reserve_room(struct wh_mistakes *mistakes, size_t bytes)
{
	char *text;

	if (mistakes->count == mistakes->capacity) {
		size_t capacity = mistakes->capacity == 0 ? 16 : mistakes->capacity * 2;
		struct wh_mistake *list = realloc(mistakes->list, capacity * sizeof(*list));

		if (list == NULL)
			return false;
		mistakes->list = list;
		mistakes->capacity = capacity;
	}
	text = realloc(mistakes->text, mistakes->bytes + bytes + 1);
	if (text == NULL)
		return false;
	mistakes->text = text;
	return true;
}

/* Behind all that are not later in the files. The text ends in a NUL where the last newline would be. */
static void insert_mistake(struct wh_mistakes *mistakes, struct wh_place place, const char *line, size_t length)
{
	size_t at = mistakes->count, offset = mistakes->bytes, bytes = length + 1;

	while (at > 0 && wh_place_before(&place, &mistakes->list[at - 1].place))
		offset -= mistakes->list[--at].bytes;
	memmove(&mistakes->list[at + 1], &mistakes->list[at], (mistakes->count - at) * sizeof(mistakes->list[0]));
	mistakes->list[at] = (struct wh_mistake){.place = place, .bytes = bytes};
	mistakes->count++;

	if (mistakes->bytes > 0)
		mistakes->text[mistakes->bytes - 1] = '\n';
	memmove(mistakes->text + offset + bytes, mistakes->text + offset, mistakes->bytes - offset);
	memcpy(mistakes->text + offset, line, length);
	mistakes->text[offset + length] = '\n';
	mistakes->bytes += bytes;
	mistakes->text[mistakes->bytes - 1] = '\0';
}

static void add_mistake(struct wh_mistakes *mistakes, struct wh_place place, const char *path, const char *what)
{
	const char *separator = path[0] != '\0' ? ": " : "";
	char *line;
	int length;

	if (place.order == WH_ORDER_SET || place.line == 0)
		length = asprintf(&line, "%s: %s%s%s", place.source, path, separator, what);
	else
		length = asprintf(&line, "%s:%zu: %s%s%s", place.source, place.line, path, separator, what);
	if (length < 0) {
		mistakes->memory_out = true;
		return;
	}
	if (reserve_room(mistakes, (size_t)length + 1))
		insert_mistake(mistakes, place, line, (size_t)length);
	else
		mistakes->memory_out = true;
	free(line);
}

void wh_mistakes_add_list(struct wh_mistakes *mistakes, struct wh_place place, const char *path, const char *format,
			  va_list args)
{
	char *what;

	if (mistakes->count > WH_MISTAKES_MAX)
		return;
	if (mistakes->count == WH_MISTAKES_MAX) {
		place.order = WH_ORDER_LAST;
		add_mistake(mistakes, place, "", "there are more mistakes than these, which are not shown");
		return;
	}
	if (vasprintf(&what, format, args) < 0) {
		mistakes->memory_out = true;
		return;
	}
	add_mistake(mistakes, place, path, what);
	free(what);
}

void wh_mistakes_add(struct wh_mistakes *mistakes, struct wh_place place, const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	wh_mistakes_add_list(mistakes, place, path, format, args);
	va_end(args);
}

bool wh_mistakes_any(const struct wh_mistakes *mistakes)
{
	return mistakes->count > 0 || mistakes->memory_out;
}

const char *wh_mistakes_text(const struct wh_mistakes *mistakes)
{
	if (mistakes->memory_out)
		return "memory is out";
	return mistakes->count > 0 ? mistakes->text : "";
}
