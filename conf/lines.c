/* lines.c - an ini file, line by line, through inih.
 *
 * inih tells no line numbers, does not report empty sections, splits a line that is too long for it, and takes an
 * indented line for more of the value before. So every line is looked at here first. Headers, comments and malformed
 * lines go no further; inih gets only good lines `key = value`, one at a time, without the indentation and no longer
 * than it can take, and finds key, value and comment in them. Its settings are variables of the whole process, which
 * are not ours to change, nor to rely on.
 */
#include "conf/conf_int.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define READ_PATIENCE_MS 5000 /* for the next bytes of a pipe */

struct reader {
	const char *next, *end; /* what has not been looked at yet */
	size_t line;            /* number of the one that was taken last, from 1 */
	bool wanted;            /* the section that it is in */
	bool fed;               /* inih has got the line, and has not called back yet */
	const struct wh_lines_sink *sink;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool wh_lines_is_key(const char *text, size_t bytes)
{
	if (bytes == 0 || bytes >= WH_CONF_NAME_BYTES)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (!is_key_char(text[i]))
			return false;
	}
	return true;
}

/* The name of a section may hold dots too. */
bool wh_lines_is_name(const char *text, size_t bytes)
{
	if (bytes == 0 || bytes >= WH_CONF_NAME_BYTES)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (!is_key_char(text[i]) && text[i] != '.')
			return false;
	}
	return true;
}

static bool is_pattern(const char *text, size_t bytes)
{
	if (bytes == 0 || bytes >= WH_CONF_NAME_BYTES)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] <= ' ' || text[i] > '~' || strchr("\"'[]=;#", text[i]) != NULL)
			return false;
	}
	return true;
}

void wh_lines_trim(const char **text, size_t *bytes)
{
	while (*bytes > 0 && is_blank((*text)[*bytes - 1]))
		--*bytes;
	while (*bytes > 0 && is_blank(**text)) {
		++*text;
		--*bytes;
	}
}

static void copy_name(char out[WH_CONF_NAME_BYTES], const char *text, size_t bytes)
{
	memcpy(out, text, bytes);
	out[bytes] = '\0';
}

bool wh_lines_split_section(const char *text, size_t bytes, char word[WH_CONF_NAME_BYTES],
			    char name[WH_CONF_NAME_BYTES])
{
	size_t length = 0;

	wh_lines_trim(&text, &bytes);
	while (length < bytes && !is_blank(text[length]))
		length++;
	if (!wh_lines_is_key(text, length))
		return false;
	copy_name(word, text, length);
	text += length;
	bytes -= length;
	wh_lines_trim(&text, &bytes);
	if (bytes > 0 && !is_pattern(text, bytes))
		return false;
	copy_name(name, text, bytes);
	return true;
}

bool wh_lines_is_text(const char *text, size_t bytes, char what[64])
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned code;

	for (size_t at = 0, length; at < bytes; at += length) {
		length = wh_text_utf8(s + at, bytes - at, &code);
		if (length == 0) {
			snprintf(what, 64, "the byte 0x%02x, which is not UTF-8", s[at]);
			return false;
		}
		if ((code < 0x20 && code != '\t') || (code >= 0x7f && code < 0xa0)) {
			snprintf(what, 64, "the control character 0x%02x", code);
			return false;
		}
	}
	return true;
}

static void note_mistake(const struct reader *reader, const char *format, ...) WH_PRINTF(2, 3);

static void note_mistake(const struct reader *reader, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	reader->sink->mistake(reader->sink->ctx, reader->line, what);
}

/* Behind a header that is none: it is unknown what the next lines belong to. */
static void leave_section(struct reader *reader)
{
	reader->wanted = reader->sink->section(reader->sink->ctx, reader->line, NULL, NULL);
}

/* "[word]" or "[word name]", and nothing but a comment behind it. */
static void take_header(struct reader *reader, const char *text, size_t bytes)
{
	char word[WH_CONF_NAME_BYTES], name[WH_CONF_NAME_BYTES];
	const char *bracket = memchr(text, ']', bytes), *rest, *ellipsis;
	const struct wh_lines_sink *sink = reader->sink;
	size_t rest_bytes;
	int quoted;

	if (bracket != NULL) {
		rest = bracket + 1;
		rest_bytes = bytes - (size_t)(rest - text);
		wh_lines_trim(&rest, &rest_bytes);
		if ((rest_bytes == 0 || *rest == ';' || *rest == '#') &&
		    wh_lines_split_section(text + 1, (size_t)(bracket - text) - 1, word, name)) {
			reader->wanted = sink->section(sink->ctx, reader->line, word, name);
			return;
		}
	}
	leave_section(reader);
	quoted = wh_error_quote(text, bytes, &ellipsis);
	note_mistake(reader, "\"%.*s%s\" is not understood, expected [SECTION] or [SECTION NAME]", quoted, text,
		     ellipsis);
}

/* Is it a line that inih will find a key and a value in? Says so if not. */
static bool check_setting(const struct reader *reader, const char *text, size_t bytes, size_t most)
{
	const char *equals = memchr(text, '=', bytes), *key = text, *ellipsis;
	size_t key_bytes = equals != NULL ? (size_t)(equals - text) : 0;
	int quoted;

	wh_lines_trim(&key, &key_bytes);
	if (!wh_lines_is_key(key, key_bytes)) {
		quoted = wh_error_quote(text, bytes, &ellipsis);
		note_mistake(reader, "\"%.*s%s\" is not understood, expected key = value", quoted, text, ellipsis);
		return false;
	}
	if (bytes > most) {
		note_mistake(reader, "the line is %zu bytes long, expected at most %zu", bytes, most);
		return false;
	}
	return true;
}

/* The next line without its end; false behind the last. */
static bool take_line(struct reader *reader, const char **text, size_t *bytes)
{
	const char *newline;

	if (reader->next == reader->end)
		return false;
	newline = memchr(reader->next, '\n', (size_t)(reader->end - reader->next));
	*text = reader->next;
	*bytes = (size_t)((newline != NULL ? newline : reader->end) - reader->next);
	reader->next = newline != NULL ? newline + 1 : reader->end;
	reader->line++;
	if (*bytes > 0 && (*text)[*bytes - 1] == '\r')
		--*bytes;
	return true;
}

/* inih asks for the next line, as it would ask fgets: `space` includes the newline and the NUL. */
static char *next_setting(char *line, int space, void *stream)
{
	struct reader *reader = stream;
	const char *text;
	size_t bytes;
	char what[64];

	if (reader->fed)
		note_mistake(reader, "the line is not understood");
	reader->fed = false;
	while (take_line(reader, &text, &bytes)) {
		wh_lines_trim(&text, &bytes);
		if (bytes == 0 || (!reader->wanted && *text != '['))
			continue;
		if (!wh_lines_is_text(text, bytes, what)) {
			if (*text == '[')
				leave_section(reader);
			note_mistake(reader, "the line has %s, expected text in UTF-8", what);
		} else if (*text == '[')
			take_header(reader, text, bytes);
		else if (*text != ';' && *text != '#' &&
			 check_setting(reader, text, bytes, space < 2 ? 0 : (size_t)space - 2)) {
			memcpy(line, text, bytes);
			memcpy(line + bytes, "\n", 2);
			reader->fed = true;
			return line;
		}
	}
	return NULL;
}

static int found_setting(void *user, const char *section, const char *key, const char *value)
{
	struct reader *reader = user;

	(void)section; /* ours is not cut at 49 bytes */
	if (key == NULL || value == NULL)
		return 0;
	reader->fed = false;
	reader->sink->setting(reader->sink->ctx, reader->line, key, value);
	return 1;
}

void wh_lines_parse(const char *text, size_t bytes, const struct wh_lines_sink *sink)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	struct reader reader = {.next = text, .end = text + bytes, .wanted = true, .sink = sink};

	if (bytes >= 3 && memcmp(text, byte_order_mark, 3) == 0)
		reader.next += 3;
	ini_parse_stream(next_setting, &reader, found_setting, &reader);
	if (reader.fed || reader.next != reader.end)
		note_mistake(&reader, "the file is not understood from here on");
}

/* All bytes of fd. A pipe (`<(...)` of a shell) may take a while, but not for ever. */
static enum whorl_result read_all(int fd, char *text, size_t *bytes, struct wh_error *err)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};

	*bytes = 0;
	for (;;) {
		int ready = poll(&in, 1, READ_PATIENCE_MS);
		ssize_t got = -1;

		if (ready == 0)
			return wh_error_set(err, WHORL_CONFIG, "nothing came for %d s", READ_PATIENCE_MS / 1000);
		if (ready > 0)
			got = read(fd, text + *bytes, WH_CONF_FILE_MAX + 1 - *bytes);
		if (got == 0)
			return WHORL_OK;
		if (got > 0)
			*bytes += (size_t)got;
		else if (errno != EINTR && errno != EAGAIN)
			return wh_error_set(err, WHORL_CONFIG, "%s", strerrordesc_np(errno));
		if (*bytes > WH_CONF_FILE_MAX)
			return wh_error_set(err, WHORL_CONFIG, "it is longer than %d bytes", WH_CONF_FILE_MAX);
	}
}

enum whorl_result wh_lines_slurp(const char *path, char **text, size_t *bytes, struct wh_error *err)
{
	enum whorl_result result;
	char *room;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return wh_error_set(err, WHORL_CONFIG, "%s", strerrordesc_np(errno));
	room = malloc(WH_CONF_FILE_MAX + 1);
	if (room == NULL) {
		result = wh_error_set(err, WHORL_MEMORY, "memory is out");
		goto out_close;
	}
	result = read_all(fd, room, bytes, err);
	if (result == WHORL_OK)
		*text = room;
	else
		free(room);
out_close:
	close(fd);
	return result;
}
