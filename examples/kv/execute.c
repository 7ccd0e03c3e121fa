/* examples/kv/execute.c - commands as bytes, and what those do that read or write the store: commands.h.
 *
 * A call is a head, and commands behind each other: an id, how many arguments, and each argument with its length. Numbers are as
 * the machine has them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/kv/commands.h"

#define SCAN_MOST 10000 /* keys at once: others wait meanwhile */

enum { CALL_COMMANDS = 1, CALL_TICK = 2 };

struct call_head {
	uint32_t kind;
	uint32_t value_max; /* commands: as the server has it that the command came to */
	uint64_t maxmemory; /* likewise; a tick: by how many ms the clock moves */
};

struct command_head {
	uint32_t id, count;
};

struct execution {
	struct kv_store *store;
	struct kv_bytes *reply;
	size_t reply_max, reply_end; /* the latter: with what was in `reply` before */
	struct call_head head;
	bool failed; /* memory is out in the middle of something */
};

static const struct kv_slice nothing = {"", 0};
static const char syntax_error[] = "ERR syntax error";
static const char no_integer[] = "ERR value is not an integer or out of range";

/* ---- encoded --------------------------------------------------------------------------------------------------------------*/

void kv_encode_begin(struct kv_bytes *call, uint64_t maxmemory, uint32_t value_max)
{
	struct call_head head = {CALL_COMMANDS, value_max, maxmemory};

	kv_bytes_add(call, &head, sizeof(head));
}

void kv_encode_command(struct kv_bytes *call, enum kv_id id, const struct kv_slice *arguments, uint32_t count)
{
	struct command_head head = {(uint32_t)id, count - 1}; /* without its name */

	kv_bytes_add(call, &head, sizeof(head));
	for (uint32_t i = 1; i < count; i++) {
		uint32_t bytes = (uint32_t)arguments[i].bytes;

		kv_bytes_add(call, &bytes, sizeof(bytes));
		kv_bytes_add(call, arguments[i].data, bytes);
	}
}

void kv_encode_exec(struct kv_bytes *call, uint32_t count)
{
	struct command_head head = {KV_EXEC, count};

	kv_bytes_add(call, &head, sizeof(head));
}

void kv_encode_tick(struct kv_bytes *call, uint64_t by_ms)
{
	struct call_head head = {CALL_TICK, 0, by_ms};

	kv_bytes_add(call, &head, sizeof(head));
}

/* ---- strings ----------------------------------------------------------------------------------------------------------------*/

static bool reply_is_full(const struct execution *e)
{
	return e->reply->used > e->reply_end || e->reply->failed;
}

static void reply_too_large(struct execution *e)
{
	kv_reply_error(e->reply, "ERR the reply is larger than %zu bytes ([kv] reply_max)", e->reply_max);
}

static void reply_value(struct execution *e, struct kv_slice key)
{
	struct kv_value value;

	if (kv_store_get(e->store, key, &value))
		kv_reply_bulk(e->reply, value.data, value.bytes);
	else
		kv_reply_null(e->reply);
}

static void put(struct execution *e, struct kv_slice key, struct kv_slice value, uint64_t expires_ms)
{
	if (!kv_store_put(e->store, key, value, nothing, expires_ms))
		e->failed = true;
}

/* When something expires that lives for so long; false: no time can be so far away. */
static bool expiry_of(const struct execution *e, int64_t amount, bool seconds, uint64_t *expires_ms)
{
	struct kv_store_figures figures;

	kv_store_get_figures(e->store, &figures);
	if (amount > (seconds ? INT64_MAX / 2000 : INT64_MAX / 2))
		return false;
	*expires_ms = figures.clock_ms + (uint64_t)(seconds ? amount * 1000 : amount);
	return true;
}

static void run_get(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	(void)count;
	reply_value(e, a[0]);
}

struct set_options {
	bool nx, xx, get, keep_ttl, expires, seconds;
	int64_t amount;
};

/* False: the reply has what is wrong. */
static bool set_options(struct execution *e, const struct kv_slice *a, uint32_t count, struct set_options *o)
{
	for (uint32_t i = 2; i < count; i++) {
		bool seconds = kv_is(a[i], "ex");

		if (kv_is(a[i], "nx") && !o->xx) {
			o->nx = true;
		} else if (kv_is(a[i], "xx") && !o->nx) {
			o->xx = true;
		} else if (kv_is(a[i], "get")) {
			o->get = true;
		} else if (kv_is(a[i], "keepttl") && !o->expires) {
			o->keep_ttl = true;
		} else if ((seconds || kv_is(a[i], "px")) && i + 1 < count && !o->expires && !o->keep_ttl) {
			o->expires = true;
			o->seconds = seconds;
			if (!kv_integer(a[++i], &o->amount))
				return kv_reply_error(e->reply, no_integer), false;
		} else {
			return kv_reply_error(e->reply, syntax_error), false;
		}
	}
	return true;
}

static void run_set(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	struct set_options options = {false};
	struct kv_value old = {0};
	uint64_t expires_ms = 0;
	bool there, done;

	if (!set_options(e, a, count, &options))
		return;
	if (options.expires && (options.amount <= 0 || !expiry_of(e, options.amount, options.seconds, &expires_ms))) {
		kv_reply_error(e->reply, "ERR invalid expire time in 'set' command");
		return;
	}
	there = kv_store_get(e->store, a[0], &old);
	done = there ? !options.nx : !options.xx;
	if (options.get)
		reply_value(e, a[0]);
	else if (done)
		kv_reply_status(e->reply, "OK");
	else
		kv_reply_null(e->reply);
	if (done)
		put(e, a[0], a[1], options.keep_ttl ? old.expires_ms : expires_ms);
}

static void run_del(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	int64_t removed = 0;

	for (uint32_t i = 0; i < count; i++)
		removed += kv_store_remove(e->store, a[i]);
	kv_reply_integer(e->reply, removed);
}

static void run_exists(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	struct kv_value value;
	int64_t there = 0;

	for (uint32_t i = 0; i < count; i++)
		there += kv_store_get(e->store, a[i], &value);
	kv_reply_integer(e->reply, there);
}

static void add(struct execution *e, struct kv_slice key, int64_t by)
{
	struct kv_value value = {"0", 1, 0};
	char text[32];
	int64_t number;

	(void)kv_store_get(e->store, key, &value);
	if (!kv_integer((struct kv_slice){value.data, value.bytes}, &number)) {
		kv_reply_error(e->reply, no_integer);
		return;
	}
	if (by > 0 ? number > INT64_MAX - by : number < INT64_MIN - by) {
		kv_reply_error(e->reply, "ERR increment or decrement would overflow");
		return;
	}
	put(e, key, (struct kv_slice){text, (size_t)snprintf(text, sizeof(text), "%" PRId64, number + by)},
	    value.expires_ms);
	kv_reply_integer(e->reply, number + by);
}

static void run_incr(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	(void)count;
	add(e, a[0], 1);
}

static void run_decr(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	(void)count;
	add(e, a[0], -1);
}

static void run_incrby(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	int64_t by;

	(void)count;
	if (kv_integer(a[1], &by))
		add(e, a[0], by);
	else
		kv_reply_error(e->reply, no_integer);
}

static void run_decrby(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	int64_t by;

	(void)count;
	if (!kv_integer(a[1], &by))
		kv_reply_error(e->reply, no_integer);
	else if (by == INT64_MIN)
		kv_reply_error(e->reply, "ERR decrement would overflow");
	else
		add(e, a[0], -by);
}

static void run_append(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	struct kv_value value = {"", 0, 0};

	(void)count;
	(void)kv_store_get(e->store, a[0], &value);
	if (value.bytes + a[1].bytes > e->head.value_max) {
		kv_reply_error(e->reply, "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
		return;
	}
	kv_reply_integer(e->reply, (int64_t)(value.bytes + a[1].bytes));
	if (!kv_store_put(e->store, a[0], (struct kv_slice){value.data, value.bytes}, a[1], value.expires_ms))
		e->failed = true;
}

static void run_mget(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct kv_value value = {0};

		(void)kv_store_get(e->store, a[i], &value);
		bytes += value.bytes;
	}
	if (bytes > e->reply_max) { /* before it is made in vain */
		reply_too_large(e);
		return;
	}
	if (bytes > 0)
		(void)kv_bytes_reserve(e->reply, bytes + 16 * (size_t)count);
	kv_reply_array(e->reply, count);
	for (uint32_t i = 0; i < count && !reply_is_full(e); i++)
		reply_value(e, a[i]);
}

static void run_mset(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	if (count % 2 != 0) {
		kv_reply_error(e->reply, "ERR wrong number of arguments for 'mset' command");
		return;
	}
	for (uint32_t i = 0; i < count && !e->failed; i += 2)
		put(e, a[i], a[i + 1], 0);
	kv_reply_status(e->reply, "OK");
}

static void run_strlen(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	struct kv_value value = {0};

	(void)count;
	(void)kv_store_get(e->store, a[0], &value);
	kv_reply_integer(e->reply, (int64_t)value.bytes);
}

static void run_type(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	struct kv_value value;

	(void)count;
	kv_reply_status(e->reply, kv_store_get(e->store, a[0], &value) ? "string" : "none");
}

/* ---- what expires -----------------------------------------------------------------------------------------------------------*/

/* Whether one of NX XX GT LT forbids it; false: the reply has what is wrong. */
static bool expire_options(struct execution *e, const struct kv_slice *a, uint32_t count, uint64_t old_ms,
			   uint64_t new_ms, bool *forbidden)
{
	bool nx = false, xx = false, gt = false, lt = false;

	for (uint32_t i = 2; i < count; i++) {
		bool is_nx = kv_is(a[i], "nx"), is_xx = kv_is(a[i], "xx"), is_gt = kv_is(a[i], "gt"),
		     is_lt = kv_is(a[i], "lt");

		if (!is_nx && !is_xx && !is_gt && !is_lt)
			return kv_reply_error(e->reply, "ERR Unsupported option %.*s",
					      (int)(a[i].bytes < 64 ? a[i].bytes : 64), a[i].data),
			       false;
		nx |= is_nx, xx |= is_xx, gt |= is_gt, lt |= is_lt;
	}
	if ((nx && (xx || gt || lt)) || (gt && lt))
		return kv_reply_error(e->reply,
				      nx ? "ERR NX and XX, GT or LT options at the same time are not compatible"
					 : "ERR GT and LT options at the same time are not compatible"),
		       false;
	*forbidden = (nx && old_ms != 0) || (xx && old_ms == 0) || (gt && (old_ms == 0 || new_ms <= old_ms)) ||
		     (lt && old_ms != 0 && new_ms >= old_ms);
	return true;
}

static void expire(struct execution *e, const struct kv_slice *a, uint32_t count, bool seconds)
{
	struct kv_value value = {0};
	uint64_t expires_ms = 0;
	bool there = kv_store_get(e->store, a[0], &value), forbidden;
	int64_t amount;

	if (!kv_integer(a[1], &amount)) {
		kv_reply_error(e->reply, no_integer);
	} else if (!expiry_of(e, amount > 0 ? amount : 0, seconds, &expires_ms) || amount < INT64_MIN / 2000) {
		kv_reply_error(e->reply, "ERR invalid expire time in '%s' command", seconds ? "expire" : "pexpire");
	} else if (expire_options(e, a, count, value.expires_ms, expires_ms, &forbidden)) {
		if (there && !forbidden && amount <= 0)
			(void)kv_store_remove(e->store, a[0]);
		else if (there && !forbidden)
			(void)kv_store_expire(e->store, a[0], expires_ms, &e->failed);
		kv_reply_integer(e->reply, there && !forbidden);
	}
}

static void run_expire(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	expire(e, a, count, true);
}

static void run_pexpire(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	expire(e, a, count, false);
}

static void run_persist(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	struct kv_value value = {0};
	bool expires = kv_store_get(e->store, a[0], &value) && value.expires_ms != 0;

	(void)count;
	if (expires)
		(void)kv_store_expire(e->store, a[0], 0, &e->failed);
	kv_reply_integer(e->reply, expires);
}

/* How long it lives, in ms; -1: for ever, -2: there is none. */
static int64_t time_left(const struct execution *e, struct kv_slice key)
{
	struct kv_store_figures figures;
	struct kv_value value;

	if (!kv_store_get(e->store, key, &value))
		return -2;
	if (value.expires_ms == 0)
		return -1;
	kv_store_get_figures(e->store, &figures);
	return value.expires_ms > figures.clock_ms ? (int64_t)(value.expires_ms - figures.clock_ms) : 0;
}

static void run_ttl(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	int64_t left = time_left(e, a[0]);

	(void)count;
	kv_reply_integer(e->reply, left < 0 ? left : (left + 500) / 1000);
}

static void run_pttl(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	(void)count;
	kv_reply_integer(e->reply, time_left(e, a[0]));
}

/* ---- all keys ---------------------------------------------------------------------------------------------------------------*/

static bool in_brackets(const char **pattern, const char *end, char c)
{
	const char *at = *pattern + 1;
	bool negated = at < end && *at == '^', found = false;

	at += negated;
	for (; at < end && *at != ']'; at++) {
		if (*at == '\\' && at + 1 < end)
			found |= *++at == c;
		else if (end - at > 2 && at[1] == '-' && at[2] != ']') {
			found |= ((unsigned char)c >= (unsigned char)at[0] &&
				  (unsigned char)c <= (unsigned char)at[2]) ||
				 ((unsigned char)c >= (unsigned char)at[2] && (unsigned char)c <= (unsigned char)at[0]);
			at += 2;
		} else {
			found |= *at == c;
		}
	}
	*pattern = at < end ? at + 1 : end;
	return found != negated;
}

static char lower(char c, bool any_case)
{
	return any_case && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* One character against what *pattern begins with, which is no *; moved on if it fits. */
static bool fits(const char **pattern, const char *end, char c, bool any_case)
{
	const char *at = *pattern;
	bool good;

	if (at == end)
		return false;
	if (*at == '[') {
		good = in_brackets(&at, end, c);
	} else {
		good = *at == '?';
		if (*at == '\\' && at + 1 < end)
			at++;
		good = good || lower(*at, any_case) == lower(c, any_case);
		at++;
	}
	if (good)
		*pattern = at;
	return good;
}

/* After a mistake it goes back to the last * alone: so it takes no longer than pattern times text. */
bool kv_matches(struct kv_slice pattern, struct kv_slice text, bool any_case)
{
	const char *p = pattern.data, *end = p + pattern.bytes, *t = text.data, *text_end = t + text.bytes;
	const char *star = NULL, *from = NULL;

	while (t < text_end) {
		if (p < end && *p == '*') {
			star = ++p;
			from = t;
		} else if (fits(&p, end, *t, any_case)) {
			t++;
		} else if (star != NULL) {
			p = star;
			t = ++from;
		} else {
			return false;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

struct scan {
	struct kv_slice pattern; /* without data: none */
	struct kv_bytes found;
	size_t most; /* bytes */
	uint64_t seen, taken;
};

static void scan_key(struct kv_slice key, void *ctx)
{
	struct scan *scan = ctx;

	scan->seen++;
	if (scan->found.used > scan->most || (scan->pattern.data != NULL && !kv_matches(scan->pattern, key, false)))
		return;
	scan->taken++;
	kv_reply_bulk(&scan->found, key.data, key.bytes);
}

/* False: the reply has what is wrong. */
static bool scan_options(struct execution *e, const struct kv_slice *a, uint32_t count, struct scan *scan,
			 int64_t *wanted)
{
	bool none = false;

	for (uint32_t i = 1; i < count; i += 2) {
		if (i + 1 == count || !(kv_is(a[i], "match") || kv_is(a[i], "count") || kv_is(a[i], "type")))
			return kv_reply_error(e->reply, syntax_error), false;
		if (kv_is(a[i], "match"))
			scan->pattern = a[i + 1];
		else if (kv_is(a[i], "type"))
			none = !kv_is(a[i + 1], "string");
		else if (!kv_integer(a[i + 1], wanted))
			return kv_reply_error(e->reply, no_integer), false;
		else if (*wanted < 1)
			return kv_reply_error(e->reply, syntax_error), false;
	}
	if (none)
		scan->most = 0;
	return true;
}

/* The cursor is the next part. */
static void run_scan(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	struct scan scan = {.most = e->reply_max};
	int64_t part, wanted = 10;
	char cursor[16];

	if (!kv_integer(a[0], &part) || part < 0 || part >= KV_PARTS) {
		kv_reply_error(e->reply, "ERR invalid cursor");
		return;
	}
	if (!scan_options(e, a, count, &scan, &wanted))
		return;
	if (wanted > SCAN_MOST) /* it is a hint */
		wanted = SCAN_MOST;
	while (part < KV_PARTS && scan.seen < (uint64_t)wanted && scan.found.used <= e->reply_max)
		kv_store_visit(e->store, (uint32_t)part++, scan_key, &scan);
	if (scan.most == 0) { /* no key has that type */
		scan.taken = 0;
		scan.found.used = 0;
	}
	snprintf(cursor, sizeof(cursor), "%d", (int)(part % KV_PARTS));
	kv_reply_array(e->reply, 2);
	kv_reply_text(e->reply, cursor);
	kv_reply_array(e->reply, scan.taken);
	kv_bytes_add(e->reply, scan.found.data, scan.found.used);
	e->reply->failed = e->reply->failed || scan.found.failed;
	kv_bytes_clear(&scan.found, 0);
}

static void run_dbsize(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	struct kv_store_figures figures;

	(void)a, (void)count;
	kv_store_get_figures(e->store, &figures);
	kv_reply_integer(e->reply, (int64_t)figures.keys);
}

static void run_flush(struct execution *e, const struct kv_slice *a, uint32_t count)
{
	if (count > 1 || (count == 1 && !kv_is(a[0], "async") && !kv_is(a[0], "sync"))) {
		kv_reply_error(e->reply, syntax_error);
		return;
	}
	e->failed = e->failed || !kv_store_clear(e->store);
	kv_reply_status(e->reply, "OK");
}

/* ---- executing --------------------------------------------------------------------------------------------------------------*/

typedef void run_fn(struct execution *e, const struct kv_slice *arguments, uint32_t count); /* without the name */

static run_fn *const runs[KV_COMMANDS] = {
	[KV_GET] = run_get,       [KV_SET] = run_set,         [KV_DEL] = run_del,         [KV_UNLINK] = run_del,
	[KV_EXISTS] = run_exists, [KV_INCR] = run_incr,       [KV_DECR] = run_decr,       [KV_INCRBY] = run_incrby,
	[KV_DECRBY] = run_decrby, [KV_APPEND] = run_append,   [KV_MGET] = run_mget,       [KV_MSET] = run_mset,
	[KV_EXPIRE] = run_expire, [KV_PEXPIRE] = run_pexpire, [KV_PERSIST] = run_persist, [KV_TTL] = run_ttl,
	[KV_PTTL] = run_pttl,     [KV_TYPE] = run_type,       [KV_STRLEN] = run_strlen,   [KV_SCAN] = run_scan,
	[KV_DBSIZE] = run_dbsize, [KV_FLUSHALL] = run_flush,  [KV_FLUSHDB] = run_flush,
};

static void run_command(struct execution *e, uint32_t id, const struct kv_slice *arguments, uint32_t count)
{
	size_t begins = e->reply->used;
	struct kv_store_figures figures;

	kv_store_get_figures(e->store, &figures);
	if ((kv_commands[id].flags & KV_GROWS) && e->head.maxmemory > 0 && figures.used > e->head.maxmemory) {
		kv_reply_error(e->reply, "OOM command not allowed when used memory > 'maxmemory'.");
		return;
	}
	runs[id](e, arguments, count);
	if (!e->reply->failed && e->reply->used > e->reply_end) {
		e->reply->used = begins;
		reply_too_large(e);
	}
}

/* What is left of a call. */
struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *cursor, void *into, size_t bytes)
{
	if ((size_t)(cursor->end - cursor->at) < bytes)
		return false;
	memcpy(into, cursor->at, bytes);
	cursor->at += bytes;
	return true;
}

static bool take_arguments(struct cursor *cursor, struct kv_slice *arguments, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t bytes;

		if (!take(cursor, &bytes, sizeof(bytes)) || (size_t)(cursor->end - cursor->at) < bytes)
			return false;
		arguments[i] = (struct kv_slice){cursor->at, bytes};
		cursor->at += bytes;
	}
	return true;
}

/* False: these bytes are none, or memory is out. */
static bool execute_command(struct execution *e, struct cursor *cursor)
{
	struct kv_slice few[16], *arguments = few;
	struct command_head head;
	bool good;

	if (!take(cursor, &head, sizeof(head)) || head.id >= KV_COMMANDS)
		return false;
	if (head.id == KV_EXEC) {
		kv_reply_array(e->reply, head.count);
		return true;
	}
	if (runs[head.id] == NULL || head.count > (size_t)(cursor->end - cursor->at) / sizeof(uint32_t))
		return false;
	if (head.count > sizeof(few) / sizeof(few[0]) && (arguments = malloc(head.count * sizeof(*arguments))) == NULL)
		return false;
	good = take_arguments(cursor, arguments, head.count);
	if (good)
		run_command(e, head.id, arguments, head.count);
	if (arguments != few)
		free(arguments);
	return good && !e->failed;
}

bool kv_execute(struct kv_store *store, const void *call, size_t bytes, size_t reply_max, struct kv_bytes *reply)
{
	struct execution e = {
		.store = store, .reply = reply, .reply_max = reply_max, .reply_end = reply->used + reply_max};
	struct cursor cursor = {call, (const char *)call + bytes};

	if (bytes < sizeof(e.head) || !take(&cursor, &e.head, sizeof(e.head)))
		return false;
	if (e.head.kind == CALL_TICK) {
		kv_store_advance(store, e.head.maxmemory);
		return true;
	}
	while (e.head.kind == CALL_COMMANDS && cursor.at < cursor.end)
		if (!execute_command(&e, &cursor))
			return false;
	return e.head.kind == CALL_COMMANDS;
}
