/* kv_etcd.c - the dialect of etcd's JSON gateway: HTTP/1.1, keys and values in base64. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/kv_load.h"

#define HEAD_MOST 1024

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static size_t encoded_bytes(size_t bytes)
{
	return (bytes + 2) / 3 * 4;
}

static size_t room(const struct kv_plan *plan)
{
	return 2 * HEAD_MOST + encoded_bytes(KV_KEY_BYTES) + encoded_bytes(plan->bytes);
}

static size_t encode(char *to, const char *from, size_t bytes)
{
	size_t at = 0;

	for (size_t i = 0; i < bytes; i += 3) {
		size_t left = bytes - i;
		uint32_t three = (uint32_t)(unsigned char)from[i] << 16;

		three |= left > 1 ? (uint32_t)(unsigned char)from[i + 1] << 8 : 0;
		three |= left > 2 ? (uint32_t)(unsigned char)from[i + 2] : 0;
		to[at++] = digits[three >> 18];
		to[at++] = digits[three >> 12 & 63];
		to[at++] = '=';
		to[at++] = '=';
		if (left > 1)
			to[at - 2] = digits[three >> 6 & 63];
		if (left > 2)
			to[at - 1] = digits[three & 63];
	}
	return at;
}

/* In place. False: that is no base64. */
static bool decode(char *text, size_t length, size_t *bytes)
{
	uint32_t collected = 0, bits = 0;

	*bytes = 0;
	while (length > 0 && text[length - 1] == '=')
		length--;
	for (size_t i = 0; i < length; i++) {
		const char *digit = memchr(digits, text[i], 64);

		if (digit == NULL)
			return false;
		collected = collected << 6 | (uint32_t)(digit - digits);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			text[(*bytes)++] = (char)(collected >> bits & 255);
		}
	}
	return true;
}

/* The body is `body_bytes` long. */
static size_t write_head(char *to, const char *path, size_t body_bytes)
{
	return (size_t)snprintf(to, HEAD_MOST,
				"POST /v3/kv/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
				"Content-Length: %zu\r\n\r\n",
				path, body_bytes);
}

static size_t append(char *to, size_t at, const char *text)
{
	size_t bytes = strlen(text);

	memcpy(to + at, text, bytes);
	return at + bytes;
}

static size_t append_key(char *to, size_t at, uint32_t key)
{
	char plain[KV_KEY_BYTES];

	kv_write_key(plain, key);
	at = append(to, at, "{\"key\":\"");
	return at + encode(to + at, plain, sizeof(plain));
}

static size_t put(const struct kv_plan *plan, char *to, uint32_t key, uint64_t stamp)
{
	static const char between[] = "\",\"value\":\"", end[] = "\"}";
	char plain[KV_VALUE_MOST];
	size_t body = 8 + encoded_bytes(KV_KEY_BYTES) + strlen(between) + encoded_bytes(plan->bytes) + strlen(end);
	size_t at = append_key(to, write_head(to, "put", body), key);

	at = append(to, at, between);
	kv_write_value(plan, plain, key, stamp);
	at += encode(to + at, plain, plan->bytes);
	return append(to, at, end);
}

static size_t get(const struct kv_plan *plan, char *to, uint32_t key)
{
	const char *end = plan->local ? "\",\"serializable\":true}" : "\"}";
	size_t at = write_head(to, "range", 8 + encoded_bytes(KV_KEY_BYTES) + strlen(end));

	return append(to, append_key(to, at, key), end);
}

/* Where `word` ends in the text; NULL: it is not there. */
static char *behind(char *text, size_t bytes, const char *word)
{
	char *found = memmem(text, bytes, word, strlen(word));

	return found == NULL ? NULL : found + strlen(word);
}

static struct kv_reply read_body(char *body, size_t bytes, size_t length)
{
	struct kv_reply refused = {.verdict = KV_REFUSED, .length = length, .value = body, .bytes = bytes};
	struct kv_reply reply = {.verdict = KV_FOUND, .length = length};
	char *value = behind(body, bytes, "\"value\":\""), *end;

	if (behind(body, bytes, "\"revision\":\"") == NULL)
		return refused;
	if (value == NULL) {
		reply.verdict = KV_DONE;
		return reply;
	}
	end = memchr(value, '"', bytes - (size_t)(value - body));
	if (end == NULL || !decode(value, (size_t)(end - value), &reply.bytes))
		return refused;
	reply.value = value;
	return reply;
}

static struct kv_reply read_reply(char *come, size_t bytes)
{
	static const char good[] = "HTTP/1.1 200 ";
	char *body = behind(come, bytes, "\r\n\r\n"), *said;
	size_t head = body == NULL ? bytes : (size_t)(body - come);
	struct kv_reply reply = {.verdict = KV_REFUSED, .length = head, .value = come, .bytes = head};
	unsigned long length;

	if (body == NULL) {
		reply.verdict = bytes < HEAD_MOST ? KV_MORE : KV_REFUSED;
		return reply;
	}
	said = behind(come, head, "\r\nContent-Length: ");
	if (said == NULL)
		return reply;
	length = strtoul(said, NULL, 10); /* ends at the line's end */
	if (length > bytes - head) {
		reply.verdict = KV_MORE;
		return reply;
	}
	reply.length += length;
	reply.bytes = reply.length;
	if (memcmp(come, good, strlen(good)) != 0)
		return reply;
	return read_body(body, length, reply.length);
}

const struct kv_dialect kv_etcd = {.room = room, .put = put, .get = get, .read = read_reply};
