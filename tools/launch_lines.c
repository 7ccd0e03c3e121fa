/* launch_lines.c - the output of the programs of a job, line by line. See launch.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/launch.h"

/* ---- out ------------------------------------------------------------------------------------------------------------ */

static bool make_room(struct wh_outlet *outlet, size_t bytes)
{
	size_t room = outlet->room == 0 ? WH_OUTLET_FULL : outlet->room;
	unsigned char *data;

	if (outlet->begin > 0) {
		memmove(outlet->data, outlet->data + outlet->begin, outlet->end - outlet->begin);
		outlet->end -= outlet->begin;
		outlet->begin = 0;
	}
	while (room - outlet->end < bytes)
		room *= 2;
	if (room == outlet->room)
		return true;
	data = realloc(outlet->data, room);
	if (data == NULL)
		return false;
	outlet->data = data;
	outlet->room = room;
	return true;
}

void wh_outlet_add(struct wh_outlet *outlet, const char *head, const void *line, size_t bytes)
{
	size_t head_bytes = strlen(head), all = head_bytes + bytes + 1;

	if (outlet->failed || (outlet->room - outlet->end < all && !make_room(outlet, all)))
		return;
	memcpy(outlet->data + outlet->end, head, head_bytes);
	if (bytes > 0)
		memcpy(outlet->data + outlet->end + head_bytes, line, bytes);
	outlet->end += all;
	outlet->data[outlet->end - 1] = '\n';
}

/* So much a pipe takes at once where it takes anything: the launcher never waits in write, and hears signals. */
void wh_outlet_write(struct wh_outlet *outlet)
{
	size_t bytes = wh_outlet_waits(outlet);
	ssize_t written;

	if (bytes == 0)
		return;
	written = write(outlet->fd, outlet->data + outlet->begin, bytes < PIPE_BUF ? bytes : PIPE_BUF);
	if (written > 0)
		outlet->begin += (size_t)written;
	else if (written < 0 && errno != EINTR && errno != EAGAIN)
		outlet->failed = true;
	if (outlet->begin == outlet->end)
		outlet->begin = outlet->end = 0;
}

/* ---- in ------------------------------------------------------------------------------------------------------------- */

static void pass_on(struct wh_inlet *inlet, const unsigned char *line, size_t bytes, bool whole)
{
	char head[16];

	if (bytes > 0 || !inlet->continued) { /* a line that ends where a piece has ended is whole already */
		snprintf(head, sizeof head, "%u%c ", inlet->id, inlet->continued ? '+' : ':');
		wh_outlet_add(inlet->to, head, line, bytes);
	}
	inlet->continued = !whole;
}

/* What a login shell has said before it may stand in front of the greeting. */
static bool is_greeting(struct wh_inlet *inlet, const unsigned char *line, size_t *bytes)
{
	size_t length = inlet->greeting != NULL ? strlen(inlet->greeting) : 0;

	if (length == 0 || *bytes < length || memcmp(line + *bytes - length, inlet->greeting, length) != 0)
		return false;
	*bytes -= length;
	inlet->greeting = NULL;
	return true;
}

static void take_line(struct wh_inlet *inlet, const unsigned char *line, size_t bytes)
{
	if (is_greeting(inlet, line, &bytes) && bytes == 0)
		return;
	pass_on(inlet, line, bytes, true);
}

void wh_inlet_close(struct wh_inlet *inlet)
{
	if (inlet->fd < 0)
		return;
	close(inlet->fd);
	inlet->fd = -1;
	if (inlet->bytes > 0)
		take_line(inlet, inlet->line, inlet->bytes);
	free(inlet->line);
	inlet->line = NULL;
	inlet->bytes = 0;
}

bool wh_inlet_take(struct wh_inlet *inlet)
{
	unsigned char *begin = inlet->line, *newline, *behind;
	ssize_t count = read(inlet->fd, inlet->line + inlet->bytes, WH_INLET_LINE - inlet->bytes);

	if (count < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (count <= 0) {
		wh_inlet_close(inlet);
		return false;
	}
	behind = inlet->line + inlet->bytes + count;
	newline = memchr(inlet->line + inlet->bytes, '\n', (size_t)count);
	for (; newline != NULL; newline = memchr(begin, '\n', (size_t)(behind - begin))) {
		take_line(inlet, begin, (size_t)(newline - begin));
		begin = newline + 1;
	}
	inlet->bytes = (size_t)(behind - begin);
	if (inlet->bytes == WH_INLET_LINE) {
		pass_on(inlet, begin, inlet->bytes, false);
		inlet->bytes = 0;
	} else if (inlet->bytes > 0 && begin != inlet->line) {
		memmove(inlet->line, begin, inlet->bytes);
	}
	return true;
}
