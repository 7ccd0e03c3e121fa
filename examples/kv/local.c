/* examples/kv/local.c - commands about the connection, and what clients ask at their start: server.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/kv/server.h"

#define NAME_MAX_BYTES 256

static const struct kv_slice *arguments_of(const struct kv_connection *c)
{
	return c->parser.arguments;
}

static void reply_syntax_error(struct kv_connection *c)
{
	kv_reply_error(&c->out, "ERR syntax error");
}

static void unknown_subcommand(struct kv_connection *c, const char *command)
{
	struct kv_slice word = arguments_of(c)[1];

	kv_reply_error(&c->out, "ERR unknown subcommand '%.*s'. Try %s HELP.", (int)(word.bytes < 64 ? word.bytes : 64),
		       word.data, command);
}

/* ---- the password ---------------------------------------------------------------------------------------------------------*/

/* It takes as long for any password that is given, whatever of it is right. */
static bool is_password(const char *password, struct kv_slice given)
{
	size_t bytes = strlen(password);
	volatile unsigned char differs = bytes != given.bytes;

	for (size_t i = 0; i < given.bytes; i++)
		differs = (unsigned char)(differs | (unsigned char)(given.data[i] ^ password[i % bytes]));
	return !differs;
}

/* True: the client may go on. */
static bool authenticate(struct kv_connection *c, struct kv_slice user, struct kv_slice password)
{
	const char *known = c->server->options.password;

	if (known[0] == '\0' && user.data == NULL) {
		kv_reply_error(&c->out,
			       "ERR AUTH <password> called without any password configured for the default user. "
			       "Are you sure your configuration is correct?");
		return false;
	}
	if ((user.data != NULL && !kv_is(user, "default")) || (known[0] != '\0' && !is_password(known, password))) {
		kv_reply_error(&c->out, "WRONGPASS invalid username-password pair or user is disabled.");
		return false;
	}
	return c->authenticated = true;
}

static void run_auth(struct kv_connection *c, const struct kv_slice *a, uint32_t count)
{
	if (count > 3)
		reply_syntax_error(c);
	else if (authenticate(c, count == 3 ? a[1] : (struct kv_slice){NULL, 0}, a[count - 1]))
		kv_reply_status(&c->out, "OK");
}

/* ---- the connection ---------------------------------------------------------------------------------------------------------*/

static bool set_name(struct kv_connection *c, struct kv_slice name)
{
	char *copy;

	for (size_t i = 0; i < name.bytes; i++)
		if (name.data[i] < '!' || name.data[i] > '~' || name.bytes > NAME_MAX_BYTES) {
			kv_reply_error(&c->out,
				       "ERR Client names cannot contain spaces, newlines or special characters.");
			return false;
		}
	copy = strndup(name.data, name.bytes);
	if (copy == NULL)
		return kv_reply_error(&c->out, "ERR out of memory"), false;
	free(c->name);
	c->name = copy;
	return true;
}

static void reply_hello(struct kv_connection *c)
{
	struct kv_bytes *out = &c->out;

	kv_reply_array(out, 14);
	kv_reply_text(out, "server");
	kv_reply_text(out, "whorl-kv");
	kv_reply_text(out, "version");
	kv_reply_text(out, whorl_version());
	kv_reply_text(out, "proto");
	kv_reply_integer(out, 2);
	kv_reply_text(out, "id");
	kv_reply_integer(out, (int64_t)c->id);
	kv_reply_text(out, "mode");
	kv_reply_text(out, c->server->shards > 1 ? "cluster" : "standalone");
	kv_reply_text(out, "role");
	kv_reply_text(out, "master");
	kv_reply_text(out, "modules");
	kv_reply_array(out, 0);
}

/* HELLO [version [AUTH user password] [SETNAME name]] */
static void run_hello(struct kv_connection *c, const struct kv_slice *a, uint32_t count)
{
	struct kv_slice name = {NULL, 0};
	int64_t version = 2;

	if (count > 1 && (!kv_integer(a[1], &version) || version != 2)) {
		kv_reply_error(&c->out, "NOPROTO unsupported protocol version");
		return;
	}
	for (uint32_t i = 2; i < count;) {
		if (kv_is(a[i], "auth") && i + 2 < count) {
			if (!authenticate(c, a[i + 1], a[i + 2]))
				return;
			i += 3;
		} else if (kv_is(a[i], "setname") && i + 1 < count) {
			name = a[i + 1];
			i += 2;
		} else {
			reply_syntax_error(c);
			return;
		}
	}
	if (!c->authenticated)
		kv_reply_error(&c->out,
			       "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
			       "<proto> AUTH <user> <pass> option can be used to authenticate the client and select "
			       "the RESP protocol version at the same time");
	else if (name.data == NULL || set_name(c, name))
		reply_hello(c);
}

static void run_client(struct kv_connection *c, const struct kv_slice *a, uint32_t count)
{
	if (kv_is(a[1], "setname") && count == 3) {
		if (set_name(c, a[2]))
			kv_reply_status(&c->out, "OK");
	} else if (kv_is(a[1], "getname") && count == 2) {
		if (c->name != NULL)
			kv_reply_text(&c->out, c->name);
		else
			kv_reply_null(&c->out);
	} else if (kv_is(a[1], "id") && count == 2) {
		kv_reply_integer(&c->out, (int64_t)c->id);
	} else if (kv_is(a[1], "setinfo") && count == 4) {
		kv_reply_status(&c->out, "OK");
	} else {
		unknown_subcommand(c, "CLIENT");
	}
}

static void run_ping(struct kv_connection *c, const struct kv_slice *a, uint32_t count)
{
	if (count > 2)
		kv_reply_error(&c->out, "ERR wrong number of arguments for 'ping' command");
	else if (count == 2)
		kv_reply_bulk(&c->out, a[1].data, a[1].bytes);
	else
		kv_reply_status(&c->out, "PONG");
}

static void run_select(struct kv_connection *c, const struct kv_slice *a)
{
	int64_t index;

	if (!kv_integer(a[1], &index))
		kv_reply_error(&c->out, "ERR value is not an integer or out of range");
	else if (index != 0)
		kv_reply_error(&c->out, "ERR DB index is out of range");
	else
		kv_reply_status(&c->out, "OK");
}

/* ---- transactions -------------------------------------------------------------------------------------------------------------*/

static void end_multi(struct kv_connection *c)
{
	kv_bytes_clear(&c->multi, 0);
	c->multi_count = 0;
	c->in_multi = c->multi_bad = c->multi_writes = false;
}

static void run_multi(struct kv_connection *c)
{
	if (c->in_multi) {
		kv_reply_error(&c->out, "ERR MULTI calls can not be nested");
		return;
	}
	end_multi(c);
	c->in_multi = true;
	c->multi_slot = -1;
	kv_reply_status(&c->out, "OK");
}

static void run_discard(struct kv_connection *c)
{
	if (c->in_multi)
		kv_reply_status(&c->out, "OK");
	else
		kv_reply_error(&c->out, "ERR DISCARD without MULTI");
	end_multi(c);
}

/* All that was queued is one batch, and nothing else is in it: so it is one call. */
static void run_exec(struct kv_connection *c)
{
	const struct kv_options *options = &c->server->options;

	if (!c->in_multi) {
		kv_reply_error(&c->out, "ERR EXEC without MULTI");
	} else if (c->multi_bad || c->multi.failed) {
		kv_reply_error(&c->out, "EXECABORT Transaction discarded because of previous errors.");
	} else if (c->multi_count == 0) {
		kv_reply_array(&c->out, 0);
	} else {
		kv_bytes_clear(&c->batch, 0);
		kv_encode_begin(&c->batch, options->maxmemory, (uint32_t)options->value_max);
		kv_encode_exec(&c->batch, c->multi_count);
		kv_bytes_add(&c->batch, c->multi.data, c->multi.used);
		c->batch_replies = 1;
		c->batch_writes = c->multi_writes;
		end_multi(c);
		kv_connection_submit(c);
		return;
	}
	end_multi(c);
}

/* ---- what clients ask ---------------------------------------------------------------------------------------------------------*/

static void run_config(struct kv_connection *c, const struct kv_slice *a, uint32_t count)
{
	const struct kv_options *options = &c->server->options;
	const struct {
		const char *name;
		uint64_t number;
		const char *text;
	} known[] = {{"save", 0, ""},
		     {"appendonly", 0, "no"},
		     {"databases", 1, NULL},
		     {"maxclients", options->maxclients, NULL},
		     {"maxmemory", options->maxmemory, NULL},
		     {"maxmemory-policy", 0, "noeviction"},
		     {"proto-max-bulk-len", options->value_max, NULL}};
	struct kv_bytes found = {0};
	char number[24];
	size_t words = 0;

	if (!kv_is(a[1], "get") || count < 3) {
		unknown_subcommand(c, "CONFIG");
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bool wanted = false;

		for (uint32_t k = 2; k < count; k++)
			wanted |= kv_matches(a[k], (struct kv_slice){known[i].name, strlen(known[i].name)}, true);
		if (!wanted)
			continue;
		snprintf(number, sizeof(number), "%" PRIu64, known[i].number);
		kv_reply_text(&found, known[i].name);
		kv_reply_text(&found, known[i].text != NULL ? known[i].text : number);
		words += 2;
	}
	kv_reply_array(&c->out, words);
	kv_bytes_add(&c->out, found.data, found.used);
	kv_bytes_clear(&found, 0);
}

static void describe_command(struct kv_bytes *out, unsigned id)
{
	const struct kv_command *command = &kv_commands[id];

	kv_reply_array(out, 6);
	kv_reply_text(out, command->name);
	kv_reply_integer(out, command->arity);
	kv_reply_array(out, 1);
	kv_reply_status(out, command->flags & KV_WRITES ? "write" : command->flags & KV_READS ? "readonly" : "fast");
	kv_reply_integer(out, command->first_key);
	kv_reply_integer(out, command->last_key);
	kv_reply_integer(out, command->step);
}

static void run_command(struct kv_connection *c, const struct kv_slice *a, uint32_t count)
{
	if (count == 1) {
		kv_reply_array(&c->out, KV_COMMANDS);
		for (unsigned id = 0; id < KV_COMMANDS; id++)
			describe_command(&c->out, id);
	} else if (kv_is(a[1], "count") && count == 2) {
		kv_reply_integer(&c->out, KV_COMMANDS);
	} else if (kv_is(a[1], "docs")) { /* there are none */
		kv_reply_array(&c->out, 0);
	} else if (kv_is(a[1], "info")) {
		kv_reply_array(&c->out, count - 2);
		for (uint32_t i = 2; i < count; i++)
			if (kv_find_command(a[i]) < KV_COMMANDS)
				describe_command(&c->out, kv_find_command(a[i]));
			else
				kv_bytes_text(&c->out, "*-1\r\n");
	} else {
		unknown_subcommand(c, "COMMAND");
	}
}

/* READONLY, READWRITE, QUIT: a word about the connection. */
static void run_simple(struct kv_connection *c, enum kv_id id)
{
	if (id == KV_QUIT)
		c->ends = true;
	else
		c->readonly = id == KV_READONLY;
	kv_reply_status(&c->out, "OK");
}

void kv_run_local(struct kv_connection *c, enum kv_id id)
{
	const struct kv_slice *a = arguments_of(c);
	uint32_t count = c->parser.count;

	switch (id) {
	case KV_PING:
		run_ping(c, a, count);
		break;
	case KV_ECHO:
		kv_reply_bulk(&c->out, a[1].data, a[1].bytes);
		break;
	case KV_AUTH:
		run_auth(c, a, count);
		break;
	case KV_HELLO:
		run_hello(c, a, count);
		break;
	case KV_SELECT:
		run_select(c, a);
		break;
	case KV_MULTI:
		run_multi(c);
		break;
	case KV_EXEC:
		run_exec(c);
		break;
	case KV_DISCARD:
		run_discard(c);
		break;
	case KV_COMMAND:
		run_command(c, a, count);
		break;
	case KV_CONFIG:
		run_config(c, a, count);
		break;
	case KV_CLIENT:
		run_client(c, a, count);
		break;
	case KV_INFO:
		kv_run_info(c, a, count);
		break;
	case KV_CLUSTER:
		kv_run_cluster(c, a, count);
		break;
	default:
		run_simple(c, id);
		break;
	}
}
