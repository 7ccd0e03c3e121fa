/* examples/kv/commands.h - the commands: how they are called, what they need, and what those do that read or write the store.
 *
 * A command that writes becomes part of a *call* (docs of whorl/replica.h), which each replica executes; one that only reads is executed
 * by the replica that it came to. Either way it is encoded first, and kv_execute makes the replies. So there is one way to execute, and
 * it depends on the store and the encoded bytes alone: also on limits that come with them, in case replicas are configured differently.
 *
 * Local commands are about the connection or the server; connection.c and local.c have them.
 */
#ifndef KV_COMMANDS_H
#define KV_COMMANDS_H

#include "examples/kv/store.h"
#include "resp/resp.h"

enum {
	KV_LOCAL = 1,         /* answered by the connection */
	KV_READS = 2,         /* looks at the store */
	KV_WRITES = 4,        /* changes it */
	KV_GROWS = 8,         /* may make it larger: not beyond maxmemory */
	KV_WITHOUT_AUTH = 16, /* also before the password */
	KV_IN_MULTI = 32,     /* local, and not queued by MULTI */
};

enum kv_id { /* in calls: numbers of commands never change */
#define KV_COMMAND(id, ...) KV_##id,
#include "examples/kv/commands.inc"
#undef KV_COMMAND
	     KV_COMMANDS
};

struct kv_command {
	const char *name;
	int arity; /* words, the name among them; -n: n or more */
	unsigned flags;
	int first_key, last_key,
		step; /* which arguments are keys, as redis says it; last -1: up to the last argument */
};

extern const struct kv_command kv_commands[KV_COMMANDS];

/* KV_COMMANDS: there is none. */
enum kv_id kv_find_command(struct kv_slice name);

/* False: the command is not as it must be, and `reply` has the error. */
bool kv_check_command(const struct kv_slice *arguments, uint32_t count, enum kv_id *id, struct kv_bytes *reply);

/* The slot of all keys of a command; -1: it has none, -2: they are in several. */
int32_t kv_command_slot(enum kv_id id, const struct kv_slice *arguments, uint32_t count);

/* ---- encoded --------------------------------------------------------------------------------------------------------------*/

/* Begins what kv_execute takes. */
void kv_encode_begin(struct kv_bytes *call, uint64_t maxmemory, uint32_t value_max);
void kv_encode_command(struct kv_bytes *call, enum kv_id id, const struct kv_slice *arguments, uint32_t count);
/* The `count` commands that follow are answered together, as EXEC does it. */
void kv_encode_exec(struct kv_bytes *call, uint32_t count);
/* A call that moves the clock. */
void kv_encode_tick(struct kv_bytes *call, uint64_t by_ms);

/* Executes, and adds the replies to `reply`. More than `reply_max` bytes become an error, which does not touch the store. False: memory is
 * out, or these bytes are no call: this replica cannot go on. */
bool kv_execute(struct kv_store *store, const void *call, size_t bytes, size_t reply_max, struct kv_bytes *reply);

/* ---- for local.c, too -----------------------------------------------------------------------------------------------------*/

/* Whether text is as a pattern of redis says: * ? [a-z] [^a] and \. */
bool kv_matches(struct kv_slice pattern, struct kv_slice text, bool any_case);

#endif
