/* command.c - see command.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kv/command.h"

#define ALIEN UINT64_C(0xffffffffdeadbeef) /* an answer that no client has made */

/* Splitmix64 (Steele, Lea, Flood, 2014). */
uint64_t command_roll(struct dice *dice, uint64_t below)
{
	uint64_t x = dice->is += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (x ^ x >> 31) % below;
}

enum command_class command_class(uint64_t key)
{
	static const enum command_class classes[COMMAND_KEYS] = {COMMAND_NUMBER, COMMAND_NUMBER, COMMAND_TEXT,
								 COMMAND_TEXT,   COMMAND_COUNT,  COMMAND_LEDGER};

	return classes[key % COMMAND_KEYS];
}

void command_name(uint64_t key, char name[32])
{
	static const char *const names[] = {"number", "text", "count", "ledger"};

	snprintf(name, 32, "%s:%" PRIu64, names[command_class(key)], key);
}

static bool has_text(uint64_t key)
{
	return command_class(key) == COMMAND_TEXT || command_class(key) == COMMAND_LEDGER;
}

/* ---- what is drawn ---------------------------------------------------------------------------------------------------------- */

static struct linear_step draw_step(uint64_t key, struct dice *dice, uint64_t *token)
{
	struct linear_step step = {.kind = LINEAR_GET};
	uint64_t drawn = command_roll(dice, 100);
	bool is_ledger = command_class(key) >= COMMAND_COUNT;

	if (drawn < 40)
		return step;
	if (is_ledger || drawn < 60) {
		step.kind = has_text(key) ? LINEAR_APPEND : LINEAR_ADD;
		step.argument = has_text(key) ? ++*token : 1;
	} else if (drawn < 88) { /* of numbers, room for the additions behind it */
		step.kind = drawn < 75 ? LINEAR_SET : LINEAR_CLAIM;
		step.argument = has_text(key) ? ++*token : ++*token << 20;
	} else {
		step.kind = LINEAR_REMOVE;
	}
	return step;
}

void command_draw(struct linear_op *op, uint64_t key, struct dice *dice, uint64_t *token)
{
	struct linear_step first = draw_step(key, dice, token);

	*op = (struct linear_op){.key = key, .kind = first.kind, .argument = first.argument};
	op->goes_on = command_roll(dice, 8) == 0;
	if (op->goes_on)
		op->then = draw_step(key, dice, token);
}

/* ---- what is sent ----------------------------------------------------------------------------------------------------------- */

void command_put_step(struct resp *resp, uint64_t key, const struct linear_step *step)
{
	char name[32], value[24];

	command_name(key, name);
	if (has_text(key))
		snprintf(value, sizeof(value), "%0*" PRIx64, COMMAND_TOKEN_BYTES, step->argument);
	else
		snprintf(value, sizeof(value), "%" PRIu64, step->argument);
	switch (step->kind) {
	case LINEAR_GET:
		resp_put(resp, "GET %s", name);
		break;
	case LINEAR_CLAIM:
		resp_put(resp, "SET %s %s NX", name, value);
		break;
	case LINEAR_ADD:
		if (step->argument == 1)
			resp_put(resp, "INCR %s", name);
		else
			resp_put(resp, "INCRBY %s %s", name, value);
		break;
	case LINEAR_REMOVE:
		resp_put(resp, "DEL %s", name);
		break;
	case LINEAR_APPEND:
		resp_put(resp, "APPEND %s %s", name, value);
		break;
	default:
		resp_put(resp, "SET %s %s", name, value);
	}
}

void command_put(struct resp *resp, const struct linear_op *op)
{
	struct linear_step first = {op->kind, op->argument, op->found, op->answer};

	if (op->goes_on)
		resp_put(resp, "MULTI");
	command_put_step(resp, op->key, &first);
	if (!op->goes_on)
		return;
	command_put_step(resp, op->key, &op->then);
	resp_put(resp, "EXEC");
}

/* ---- what the answers say ---------------------------------------------------------------------------------------------------- */

static enum command_end odd(const struct resp_reply *reply, const char *to, char text[160])
{
	snprintf(text, 160, "to %s: the answer '%c%.80s' (%" PRId64 ")", to, "+-:$_*"[reply->kind],
		 reply -> text != NULL ? reply -> text : "", reply->number);
	return COMMAND_ODD;
}

static enum command_end refused(const struct resp_reply *reply, const char *to, char text[160])
{
	static const char *const words[] = {
		[COMMAND_LOADING] = "LOADING ", [COMMAND_CLUSTERDOWN] = "CLUSTERDOWN ", [COMMAND_OOM] = "OOM "};

	snprintf(text, 160, "%.150s", reply->text);
	for (int end = COMMAND_LOADING; end <= COMMAND_OOM; end++)
		if (strncmp(reply->text, words[end], strlen(words[end])) == 0)
			return (enum command_end)end;
	return odd(reply, to, text);
}

static uint64_t read_number(const struct resp_reply *reply)
{
	char *end;
	uint64_t number = strtoull(reply->text, &end, 10);

	return reply->bytes > 0 && *end == '\0' ? number : ALIEN;
}

static uint64_t read_text(const struct resp_reply *reply)
{
	uint64_t text = 0;

	if (reply->bytes == 0 || reply->bytes % COMMAND_TOKEN_BYTES != 0)
		return ALIEN;
	for (size_t at = 0; at < reply->bytes; at += COMMAND_TOKEN_BYTES) {
		char word[COMMAND_TOKEN_BYTES + 1] = "", *end;
		uint64_t token;

		memcpy(word, reply->text + at, COMMAND_TOKEN_BYTES);
		token = strtoull(word, &end, 16);
		if (*end != '\0')
			return ALIEN;
		text = at > 0 ? linear_append(text, token) : token;
	}
	return text;
}

static bool read_get(const struct resp_reply *reply, uint64_t key, struct linear_step *step)
{
	step->found = reply->kind == RESP_BULK;
	if (step->found)
		step->answer = has_text(key) ? read_text(reply) : read_number(reply);
	return step->found || reply->kind == RESP_NIL;
}

/* True: that is an answer to such a step. */
static bool read_step(const struct resp_reply *reply, uint64_t key, struct linear_step *step)
{
	bool is_ok = reply->kind == RESP_STATUS && strcmp(reply->text, "OK") == 0,
	     is_count = reply->kind == RESP_NUMBER;

	switch (step->kind) {
	case LINEAR_GET:
		return read_get(reply, key, step);
	case LINEAR_CLAIM:
		step->found = !is_ok;
		return is_ok || reply->kind == RESP_NIL;
	case LINEAR_ADD:
		step->answer = (uint64_t)reply->number;
		return is_count;
	case LINEAR_REMOVE:
		step->found = reply->number == 1;
		return is_count && (reply->number == 0 || reply->number == 1);
	case LINEAR_APPEND:
		step->answer = reply->number % COMMAND_TOKEN_BYTES == 0 ? (uint64_t)reply->number / COMMAND_TOKEN_BYTES
									: ALIEN;
		return is_count;
	default:
		return is_ok;
	}
}

enum command_end command_take_step(struct resp *resp, uint64_t key, struct linear_step *step, char text[160])
{
	static const char *const names[LINEAR_KINDS] = {"GET", "SET", "SET NX", "INCR", "DEL", "APPEND"};
	struct resp_reply reply;

	if (!resp_take(resp, &reply))
		return COMMAND_UNKNOWN;
	if (reply.kind == RESP_ERROR)
		return refused(&reply, names[step->kind], text);
	return read_step(&reply, key, step) ? COMMAND_DONE : odd(&reply, names[step->kind], text);
}

/* What comes before EXEC's answer: the first error, if there is one, says why that is one. */
static enum command_end take_queued(struct resp *resp, char text[160])
{
	enum command_end first = COMMAND_DONE;
	struct resp_reply reply;

	for (int i = 0; i < 3; i++) {
		const char *expected = i == 0 ? "OK" : "QUEUED";

		if (!resp_take(resp, &reply))
			return COMMAND_UNKNOWN;
		if (first != COMMAND_DONE || (reply.kind == RESP_STATUS && strcmp(reply.text, expected) == 0))
			continue;
		first = reply.kind == RESP_ERROR ? refused(&reply, "MULTI", text) : odd(&reply, "MULTI", text);
	}
	return first;
}

static enum command_end take_transaction(struct resp *resp, struct linear_op *op, struct linear_step *first,
					 char text[160])
{
	enum command_end queued = take_queued(resp, text), ends[2];
	struct resp_reply reply;

	if (queued == COMMAND_UNKNOWN || !resp_take(resp, &reply))
		return COMMAND_UNKNOWN;
	if (reply.kind == RESP_ERROR)
		return queued != COMMAND_DONE ? queued : refused(&reply, "EXEC", text);
	if (queued != COMMAND_DONE || reply.kind != RESP_ARRAY || reply.number != 2)
		return odd(&reply, "EXEC", text);
	ends[0] = command_take_step(resp, op->key, first, text);
	ends[1] = command_take_step(resp, op->key, &op->then, text);
	if (ends[0] == COMMAND_UNKNOWN || ends[1] == COMMAND_UNKNOWN)
		return COMMAND_UNKNOWN;
	return ends[0] == COMMAND_DONE && ends[1] == COMMAND_DONE ? COMMAND_DONE : COMMAND_ODD;
}

enum command_end command_take(struct resp *resp, struct linear_op *op, char text[160])
{
	struct linear_step first = {op->kind, op->argument, op->found, op->answer};
	enum command_end end;

	if (op->goes_on)
		end = take_transaction(resp, op, &first, text);
	else
		end = command_take_step(resp, op->key, &first, text);
	op->found = first.found;
	op->answer = first.answer;
	return end;
}
