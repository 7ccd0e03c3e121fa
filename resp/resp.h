/* resp/resp.h - RESP2, the protocol of redis: commands are read, replies are written.
 *
 * The parser takes bytes as they come, cut anywhere, and gives one command after the other: arrays of bulk strings, and *inline*
 * commands, which are lines of words as people type them. It is meant for clients that nothing is known of: a length is
 * checked when it has been read, and memory is taken for what has come, never for what was announced.
 */
#ifndef KV_RESP_H
#define KV_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp/bytes.h"

#define KV_ARGUMENTS_MAX (1024 * 1024)
#define KV_INLINE_MAX (64 * 1024) /* a line, without its end */

struct kv_slice { /* bytes that are elsewhere; a zero byte that does not count stands behind those of an argument */
	const char *data;
	size_t bytes;
};

struct kv_limits {
	size_t argument_bytes, command_bytes; /* the latter: all arguments of a command together */
	uint32_t arguments;
};

enum kv_parsed {
	KV_PARSED_MORE,    /* all bytes are used, and the command is not complete */
	KV_PARSED_COMMAND, /* `count` arguments, at least one */
	KV_PARSED_ERROR    /* `error` says what is wrong; nothing more can be read of this client */
};

struct kv_parser { /* all zero: at the beginning */
	/* The command, valid until the next kv_parse. */
	struct kv_slice *arguments;
	uint32_t count;
	char error[64]; /* "Protocol error: invalid bulk length" */
	/* Private. */
	enum { KV_AT_LINE, KV_AT_BULK_LINE, KV_AT_BULK, KV_AT_END } at;
	bool complete;
	uint32_t announced, places; /* arguments that are to come in all; room in `arguments` */
	size_t bulk_left;           /* bytes of this argument, and of the line end behind it */
	struct kv_bytes line, data; /* a line that is not complete; the arguments so far */
};

/* Uses bytes from *data on, of *bytes, until a command is complete or all are used; both are moved on. */
enum kv_parsed kv_parse(struct kv_parser *parser, const struct kv_limits *limits, const char **data, size_t *bytes);

/* True: nothing of a command has come yet. */
bool kv_parser_empty(const struct kv_parser *parser);

/* Bytes of memory that it holds. */
size_t kv_parser_memory(const struct kv_parser *parser);

/* Frees what it holds; it is at the beginning then. */
void kv_parser_free(struct kv_parser *parser);

/* ---- replies ------------------------------------------------------------------------------------------------------------*/

void kv_reply_status(struct kv_bytes *out, const char *text);      /* +OK */
void kv_reply_error(struct kv_bytes *out, const char *format, ...) /* -ERR ...: without line ends */
	__attribute__((format(printf, 2, 3)));
void kv_reply_integer(struct kv_bytes *out, int64_t value);               /* :1 */
void kv_reply_bulk(struct kv_bytes *out, const void *data, size_t bytes); /* $3 abc */
void kv_reply_text(struct kv_bytes *out, const char *text);               /* the same */
void kv_reply_null(struct kv_bytes *out);                                 /* $-1 */
void kv_reply_array(struct kv_bytes *out, size_t count);                  /* *2: its elements follow */

/* ---- words ----------------------------------------------------------------------------------------------------------------*/

/* Whether a slice is this word, which is in lower case, whatever the case of the slice. */
bool kv_is(struct kv_slice slice, const char *word);

/* A decimal number as redis takes it: no blanks, no plus, no leading zeros. */
bool kv_integer(struct kv_slice slice, int64_t *value);

#endif
