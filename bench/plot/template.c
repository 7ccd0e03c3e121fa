/* template.c - see template.h. */
#include "bench/plot/template.h"

#include <string.h>

static const struct wh_template_mark *find_mark(const char *at, const struct wh_template_mark *marks, size_t count)
{
	for (size_t m = 0; m < count; m++)
		if (strncmp(at, marks[m].name, strlen(marks[m].name)) == 0)
			return &marks[m];
	return NULL;
}

void wh_template_print(FILE *out, const char *text, const struct wh_template_mark *marks, size_t count, void *ctx)
{
	while (*text != '\0') {
		const struct wh_template_mark *mark = *text == '@' ? find_mark(text, marks, count) : NULL;

		if (mark == NULL) {
			fputc(*text++, out);
			continue;
		}
		mark->print(out, ctx);
		text += strlen(mark->name);
	}
}
