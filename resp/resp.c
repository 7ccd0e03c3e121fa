/* resp/resp.c - RESP2: resp.h. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"

#define NUMBER_LINE_MAX 32 /* "*1048576": what is longer is no number */
#define KEPT 1024          /* bytes that stay from one command to the next */

static enum kv_parsed fail(struct kv_parser *p, const char *what)
{
	snprintf(p->error, sizeof(p->error), "Protocol error: %s", what);
	return KV_PARSED_ERROR;
}

/* Before a command: forgets the one before. */
static void begin(struct kv_parser *p)
{
	kv_bytes_clear(&p->data, KEPT);
	kv_bytes_clear(&p->line, KEPT);
	if (p->places > KEPT / sizeof(*p->arguments)) {
		free(p->arguments);
		p->arguments = NULL;
		p->places = 0;
	}
	p->complete = false;
	p->count = p->announced = 0;
	p->at = KV_AT_LINE;
}

/* An argument begins at the end of `data`. Until the command is complete its place is a number, since `data` moves. */
static bool add_argument(struct kv_parser *p, size_t bytes)
{
	if (p->count == p->places) {
		uint32_t places = p->places > 0 ? 2 * p->places : 8;
		struct kv_slice *arguments = realloc(p->arguments, places * sizeof(*arguments));

		if (arguments == NULL)
			return false;
		p->arguments = arguments;
		p->places = places;
	}
	p->arguments[p->count++].bytes = bytes;
	return true;
}

static enum kv_parsed complete(struct kv_parser *p)
{
	const char *at = p->data.data;

	for (uint32_t i = 0; i < p->count; i++) {
		p->arguments[i].data = at;
		at += p->arguments[i].bytes + 1;
	}
	p->complete = true;
	return KV_PARSED_COMMAND;
}

/* Takes a line in, up to its LF. True: it is whole, in `line`, without its end. *longer: it has more than `most` bytes. */
static bool take_line(struct kv_parser *p, const char **data, size_t *bytes, size_t most, bool *longer)
{
	const char *end = *bytes > 0 ? memchr(*data, '\n', *bytes) : NULL;
	size_t count = end != NULL ? (size_t)(end - *data) : *bytes;

	*longer = p->line.used + count > most + 1; /* a CR may be the last */
	if (*longer)
		return false;
	kv_bytes_add(&p->line, *data, count);
	*data += count + (end != NULL);
	*bytes -= count + (end != NULL);
	if (end != NULL && p->line.used > 0 && p->line.data[p->line.used - 1] == '\r')
		p->line.used--;
	*longer = end != NULL && p->line.used > most;
	return end != NULL && !*longer;
}

/* The number behind the first character of the line. */
static bool line_number(const struct kv_parser *p, int64_t *value)
{
	return kv_integer((struct kv_slice){p->line.data + 1, p->line.used - 1}, value);
}

/* ---- inline commands --------------------------------------------------------------------------------------------------*/

static int hex_digit(int c)
{
	return isdigit(c) ? c - '0' : tolower(c) - 'a' + 10;
}

/* The character behind a backslash between double quotes; *at is moved on. */
static char unescape(const char **at, const char *end)
{
	static const char from[] = "nrtba", to[] = "\n\r\t\b\a";
	const char *c = *at, *known;

	if (*c == 'x' && end - c > 2 && isxdigit((unsigned char)c[1]) && isxdigit((unsigned char)c[2])) {
		*at += 3;
		return (char)(hex_digit((unsigned char)c[1]) * 16 + hex_digit((unsigned char)c[2]));
	}
	*at += 1;
	known = *c != '\0' ? strchr(from, *c) : NULL;
	return known != NULL ? to[known - from] : *c;
}

/* A quoted part of a word, behind its first quote; *at is moved behind the last. False: there is none, or more follows it. */
static bool unquote(struct kv_parser *p, const char **at, const char *end, char quote)
{
	while (*at < end && **at != quote) {
		char c = *(*at)++;

		if (c == '\\' && *at < end && quote == '"')
			c = unescape(at, end);
		else if (c == '\\' && *at < end && **at == '\'')
			c = *(*at)++;
		kv_bytes_add(&p->data, &c, 1);
	}
	if (*at == end)
		return false;
	++*at;
	return *at == end || isspace((unsigned char)**at);
}

static enum kv_parsed parse_inline(struct kv_parser *p, const struct kv_limits *limits)
{
	const char *at = p->line.data, *end = p->line.used > 0 ? at + p->line.used : at;

	for (;;) {
		size_t begins = p->data.used;

		while (at < end && isspace((unsigned char)*at))
			at++;
		if (at == end)
			break;
		while (at < end && !isspace((unsigned char)*at)) {
			char c = *at++;

			if (c != '"' && c != '\'')
				kv_bytes_add(&p->data, &c, 1);
			else if (!unquote(p, &at, end, c))
				return fail(p, "unbalanced quotes in request");
		}
		if (p->count == limits->arguments)
			return fail(p, "invalid multibulk length");
		if (p->data.used - begins > limits->argument_bytes)
			return fail(p, "invalid bulk length");
		if (!add_argument(p, p->data.used - begins))
			return fail(p, "out of memory");
		kv_bytes_add(&p->data, "", 1);
	}
	p->line.used = 0;
	return p->data.failed ? fail(p, "out of memory") : p->count > 0 ? complete(p) : KV_PARSED_MORE;
}

/* ---- arrays of bulk strings -----------------------------------------------------------------------------------------------*/

static enum kv_parsed parse_first_line(struct kv_parser *p, const struct kv_limits *limits)
{
	int64_t count;

	if (p->line.used == 0 || p->line.data[0] != '*')
		return parse_inline(p, limits);
	if (!line_number(p, &count) || count > limits->arguments)
		return fail(p, "invalid multibulk length");
	p->line.used = 0;
	if (count <= 0) /* nothing, says redis */
		return KV_PARSED_MORE;
	p->announced = (uint32_t)count;
	p->at = KV_AT_BULK_LINE;
	return KV_PARSED_MORE;
}

static enum kv_parsed parse_bulk_line(struct kv_parser *p, const struct kv_limits *limits)
{
	char text[32];
	int64_t bytes;

	if (p->line.used == 0 || p->line.data[0] != '$') {
		snprintf(text, sizeof(text), "expected '$', got '%c'",
			 p->line.used > 0 && isprint((unsigned char)p->line.data[0]) ? p->line.data[0] : ' ');
		return fail(p, text);
	}
	if (!line_number(p, &bytes) || bytes < 0 || (uint64_t)bytes > limits->argument_bytes)
		return fail(p, "invalid bulk length");
	if ((size_t)bytes + p->data.used > limits->command_bytes + p->count)
		return fail(p, "too big command");
	if (!add_argument(p, (size_t)bytes))
		return fail(p, "out of memory");
	p->line.used = 0;
	p->bulk_left = (size_t)bytes + 2;
	p->at = KV_AT_BULK;
	return KV_PARSED_MORE;
}

/* The bytes of an argument, and the CR LF behind it, which like redis we do not look at. */
static enum kv_parsed parse_bulk(struct kv_parser *p, const char **data, size_t *bytes)
{
	size_t of_data = p->bulk_left > 2 ? p->bulk_left - 2 : 0;
	size_t count = *bytes < p->bulk_left ? *bytes : p->bulk_left;

	kv_bytes_add(&p->data, *data, count < of_data ? count : of_data);
	*data += count;
	*bytes -= count;
	p->bulk_left -= count;
	if (p->bulk_left > 0)
		return KV_PARSED_MORE;
	kv_bytes_add(&p->data, "", 1);
	if (p->data.failed)
		return fail(p, "out of memory");
	p->at = KV_AT_BULK_LINE;
	return p->count == p->announced ? complete(p) : KV_PARSED_MORE;
}

static enum kv_parsed parse_line(struct kv_parser *p, const struct kv_limits *limits, const char **data, size_t *bytes)
{
	bool longer, array = p->line.used > 0 ? p->line.data[0] == '*' : **data == '*';

	if (p->at == KV_AT_BULK_LINE) {
		if (take_line(p, data, bytes, NUMBER_LINE_MAX, &longer))
			return parse_bulk_line(p, limits);
		return longer ? fail(p, "too big bulk count string") : KV_PARSED_MORE;
	}
	if (take_line(p, data, bytes, array ? NUMBER_LINE_MAX : KV_INLINE_MAX, &longer))
		return p->line.failed ? fail(p, "out of memory") : parse_first_line(p, limits);
	if (longer)
		return fail(p, array ? "too big mbulk count string" : "too big inline request");
	return KV_PARSED_MORE;
}

enum kv_parsed kv_parse(struct kv_parser *p, const struct kv_limits *limits, const char **data, size_t *bytes)
{
	enum kv_parsed parsed = p->error[0] != '\0' ? KV_PARSED_ERROR : KV_PARSED_MORE;

	if (p->complete)
		begin(p);
	while (parsed == KV_PARSED_MORE && *bytes > 0)
		parsed = p->at == KV_AT_BULK ? parse_bulk(p, data, bytes) : parse_line(p, limits, data, bytes);
	return parsed;
}

bool kv_parser_empty(const struct kv_parser *p)
{
	return p->complete || (p->at == KV_AT_LINE && p->line.used == 0);
}

size_t kv_parser_memory(const struct kv_parser *p)
{
	return p->line.room + p->data.room + p->places * sizeof(*p->arguments);
}

void kv_parser_free(struct kv_parser *p)
{
	free(p->line.data);
	free(p->data.data);
	free(p->arguments);
	*p = (struct kv_parser){0};
}

/* ---- replies ------------------------------------------------------------------------------------------------------------*/

void kv_reply_status(struct kv_bytes *out, const char *text)
{
	kv_bytes_print(out, "+%s\r\n", text);
}

void kv_reply_error(struct kv_bytes *out, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *c = text; *c != '\0'; c++) /* it may have words of the client's */
		if (*c == '\r' || *c == '\n')
			*c = ' ';
	kv_bytes_print(out, "-%s\r\n", text);
}

/* A character, a number, and the end of the line. */
static void add_number(struct kv_bytes *out, char kind, int64_t value)
{
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char text[32], *at = text + sizeof(text);

	*--at = '\n';
	*--at = '\r';
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (value < 0)
		*--at = '-';
	*--at = kind;
	kv_bytes_add(out, at, (size_t)(text + sizeof(text) - at));
}

void kv_reply_integer(struct kv_bytes *out, int64_t value)
{
	add_number(out, ':', value);
}

void kv_reply_bulk(struct kv_bytes *out, const void *data, size_t bytes)
{
	add_number(out, '$', (int64_t)bytes);
	kv_bytes_add(out, data, bytes);
	kv_bytes_add(out, "\r\n", 2);
}

void kv_reply_text(struct kv_bytes *out, const char *text)
{
	kv_reply_bulk(out, text, strlen(text));
}

void kv_reply_null(struct kv_bytes *out)
{
	kv_bytes_text(out, "$-1\r\n");
}

void kv_reply_array(struct kv_bytes *out, size_t count)
{
	add_number(out, '*', (int64_t)count);
}

/* ---- words ----------------------------------------------------------------------------------------------------------------*/

bool kv_is(struct kv_slice slice, const char *word)
{
	for (size_t i = 0; i < slice.bytes; i++)
		if (word[i] == '\0' || tolower((unsigned char)slice.data[i]) != word[i])
			return false;
	return word[slice.bytes] == '\0';
}

bool kv_integer(struct kv_slice slice, int64_t *value)
{
	bool negative = slice.bytes > 0 && slice.data[0] == '-';
	uint64_t number = 0, most = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	size_t at = negative;

	if (at == slice.bytes || (slice.data[at] == '0' && slice.bytes > 1))
		return false;
	for (; at < slice.bytes; at++) {
		unsigned digit = (unsigned char)slice.data[at] - (unsigned)'0';

		if (digit > 9 || number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*value = negative ? (int64_t)(0 - number) : (int64_t)number;
	return true;
}
