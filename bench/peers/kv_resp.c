/* kv_resp.c - the dialect of redis (RESP2), as far as kv-load needs it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/peers/kv_load.h"

#define WAIT_MS 1000

static size_t room(const struct kv_plan *plan)
{
	return plan->bytes + 512; /* an error has a line of its own */
}

static size_t append(char *to, size_t at, const char *text)
{
	size_t bytes = strlen(text);

	memcpy(to + at, text, bytes);
	return at + bytes;
}

static size_t greet(char *to)
{
	return append(to, 0, "*1\r\n$8\r\nREADONLY\r\n");
}

static size_t put(const struct kv_plan *plan, char *to, uint32_t key, uint64_t stamp)
{
	char length[16];
	size_t at = append(to, 0, "*3\r\n$3\r\nSET\r\n$16\r\n");

	kv_write_key(to + at, key);
	snprintf(length, sizeof(length), "\r\n$%" PRIu32 "\r\n", plan->bytes);
	at = append(to, at + KV_KEY_BYTES, length);
	kv_write_value(plan, to + at, key, stamp);
	return append(to, at + plan->bytes, "\r\n");
}

static size_t get(const struct kv_plan *plan, char *to, uint32_t key)
{
	size_t at = append(to, 0, "*2\r\n$3\r\nGET\r\n$16\r\n");

	(void)plan;
	kv_write_key(to + at, key);
	return append(to, at + KV_KEY_BYTES, "\r\n");
}

static size_t wait_for(const struct kv_plan *plan, char *to)
{
	return (size_t)sprintf(to, "*3\r\n$4\r\nWAIT\r\n$1\r\n%" PRIu32 "\r\n$4\r\n%d\r\n", plan->wait, WAIT_MS);
}

/* A reply's number: digits up to `end`. False: it is none, or a large one. */
static bool read_number(const char *at, const char *end, uint64_t *number)
{
	*number = 0;
	if (at == end || end - at > 9)
		return false;
	for (; at < end; at++) {
		if (*at < '0' || *at > '9')
			return false;
		*number = *number * 10 + (uint64_t)(*at - '0');
	}
	return true;
}

static struct kv_reply refused(const char *come, size_t length)
{
	return (struct kv_reply){.verdict = KV_REFUSED, .length = length, .value = come, .bytes = length - 2};
}

static struct kv_reply bulk(const char *come, size_t bytes, size_t line)
{
	uint64_t length;

	if (!read_number(come + 1, come + line - 2, &length))
		return refused(come, line);
	if (bytes < line + length + 2)
		return (struct kv_reply){.verdict = KV_MORE};
	if (memcmp(come + line + length, "\r\n", 2) != 0)
		return refused(come, line);
	return (struct kv_reply){
		.verdict = KV_FOUND, .length = line + length + 2, .value = come + line, .bytes = length};
}

static struct kv_reply read_reply(char *come, size_t bytes)
{
	const char *newline = memchr(come, '\n', bytes);
	struct kv_reply reply = {.verdict = KV_MORE};
	size_t line;

	if (newline == NULL)
		return reply;
	line = (size_t)(newline - come) + 1;
	if (line < 3 || newline[-1] != '\r')
		return (struct kv_reply){.verdict = KV_REFUSED, .length = line, .value = come, .bytes = line - 1};
	if (come[0] == '$')
		return bulk(come, bytes, line);
	reply.length = line;
	if (line == 5 && memcmp(come, "+OK", 3) == 0)
		reply.verdict = KV_DONE;
	else if (come[0] == ':' && read_number(come + 1, newline - 1, &reply.number))
		reply.verdict = KV_NUMBER;
	else
		return refused(come, line);
	return reply;
}

const struct kv_dialect kv_resp = {
	.room = room, .greet = greet, .put = put, .get = get, .wait = wait_for, .read = read_reply};
