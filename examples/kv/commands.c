/* examples/kv/commands.c - the table of commands, and commands as bytes: commands.h. */
#include <string.h>

#include "examples/kv/commands.h"
#include "examples/kv/slots.h"

#define NAME_MAX_BYTES 16
#define SHOWN_MAX 128 /* of a command that is not known */

const struct kv_command kv_commands[KV_COMMANDS] = {
#define KV_COMMAND(id, name, arity, flags, first, last, step) [KV_##id] = {name, arity, flags, first, last, step},
#include "examples/kv/commands.inc"
#undef KV_COMMAND
};

enum kv_id kv_find_command(struct kv_slice name)
{
	for (unsigned id = 0; name.bytes < NAME_MAX_BYTES && id < KV_COMMANDS; id++)
		if (kv_is(name, kv_commands[id].name))
			return (enum kv_id)id;
	return KV_COMMANDS;
}

static int shown(struct kv_slice text, size_t most)
{
	return (int)(text.bytes < most ? text.bytes : most);
}

static void unknown_command(const struct kv_slice *arguments, uint32_t count, struct kv_bytes *reply)
{
	char words[SHOWN_MAX + 64] = "";
	size_t used = 0;

	for (uint32_t i = 1; i < count && used < SHOWN_MAX; i++) {
		int more = shown(arguments[i], SHOWN_MAX - used);

		words[used++] = '\'';
		memcpy(words + used, arguments[i].data, (size_t)more);
		memcpy(words + used + more, "' ", 3);
		used += (size_t)more + 2;
		if (used > sizeof(words) - 8)
			break;
	}
	for (size_t i = 0; i < used; i++) /* a zero byte would end the text */
		if (words[i] == '\0')
			words[i] = '?';
	kv_reply_error(reply, "ERR unknown command '%.*s', with args beginning with: %s",
		       shown(arguments[0], SHOWN_MAX), arguments[0].data, words);
}

bool kv_check_command(const struct kv_slice *arguments, uint32_t count, enum kv_id *id, struct kv_bytes *reply)
{
	int arity;

	*id = kv_find_command(arguments[0]);
	if (*id == KV_COMMANDS)
		return unknown_command(arguments, count, reply), false;
	arity = kv_commands[*id].arity;
	if (arity >= 0 ? count == (uint32_t)arity : count >= (uint32_t)-arity)
		return true;
	kv_reply_error(reply, "ERR wrong number of arguments for '%s' command", kv_commands[*id].name);
	return false;
}

int32_t kv_command_slot(enum kv_id id, const struct kv_slice *arguments, uint32_t count)
{
	const struct kv_command *command = &kv_commands[id];
	uint32_t last = command->last_key < 0 ? count - 1 : (uint32_t)command->last_key;
	int32_t slot = -1;

	if (command->step == 0)
		return -1;
	for (uint32_t i = (uint32_t)command->first_key; i <= last; i += (uint32_t)command->step) {
		int32_t of_key = (int32_t)kv_slot(arguments[i]);

		if (slot >= 0 && of_key != slot)
			return -2;
		slot = of_key;
	}
	return slot;
}
