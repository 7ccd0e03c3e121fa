/* node_lines.c - lines on their way from whatever thread to the main one, which writes them; see node.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/node.h"

bool wh_lines_open(struct wh_lines *lines, const struct wh_watch *watch)
{
	*lines = (struct wh_lines){.watch = watch, .lines = calloc(WH_LINES_MAX, sizeof *lines->lines)};
	pthread_mutex_init(&lines->lock, NULL);
	return lines->lines != NULL;
}

void wh_lines_close(struct wh_lines *lines)
{
	pthread_mutex_destroy(&lines->lock);
	free(lines->lines);
}

void wh_lines_add(struct wh_lines *lines, bool is_error, const char *text)
{
	struct wh_line *line;

	pthread_mutex_lock(&lines->lock);
	if (is_error && strcmp(lines->said, text) == 0) {
		pthread_mutex_unlock(&lines->lock);
		return;
	}
	if (is_error)
		snprintf(lines->said, sizeof lines->said, "%s", text);
	if (lines->behind - lines->first == WH_LINES_MAX) {
		lines->first++;
		lines->lost++;
	}
	line = &lines->lines[lines->behind++ % WH_LINES_MAX];
	line->is_error = is_error;
	snprintf(line->text, sizeof line->text, "%s", text);
	pthread_mutex_unlock(&lines->lock);
	wh_watch_ring(lines->watch);
}

/* The oldest, taken out, so that no thread waits while it is written. */
static bool take_line(struct wh_lines *lines, struct wh_line *out, uint64_t *lost)
{
	bool found;

	pthread_mutex_lock(&lines->lock);
	found = lines->first < lines->behind;
	if (found)
		*out = lines->lines[lines->first++ % WH_LINES_MAX];
	*lost = lines->lost;
	lines->lost = 0;
	pthread_mutex_unlock(&lines->lock);
	return found;
}

bool wh_lines_write(struct wh_lines *lines)
{
	struct wh_line line;
	uint64_t lost;
	bool cleared = false;

	while (take_line(lines, &line, &lost)) {
		if (lost > 0)
			wh_say("%llu lines came faster than they could be written, and are left out",
			       (unsigned long long)lost);
		if (!cleared)
			wh_progress("");
		cleared = true;
		if (line.is_error)
			wh_say("%s", line.text);
		else
			puts(line.text);
	}
	return wh_flush_file(stdout, WH_STDOUT);
}
