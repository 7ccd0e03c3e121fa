/* load.c - see load.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/kv/load.h"

#define MS UINT64_C(1000000)
#define CONNECT_MS 300
#define LIE_EVERY 50
#define MOVE_EVERY                                                                                                     \
	200 /* operations, about: then it goes to another server, so that one that has come back has clients, too */
#define READER_EVERY 3 /* such a client only reads: where it is cut off, a writer would wait for its first write */
#define FILL_AT_ONCE 100

void history_add(struct history *history, const struct linear_op *op)
{
	if (history->count == history->room) {
		history->room = history->room > 0 ? 2 * history->room : 4096;
		history->ops = realloc(history->ops, history->room * sizeof(*op));
		if (history->ops == NULL)
			abort();
	}
	history->ops[history->count++] = *op;
}

static void nap(uint64_t us)
{
	struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};

	nanosleep(&time, NULL);
}

/* ---- connections -------------------------------------------------------------------------------------------------------------- */

static bool is_told_ok(struct resp *resp, const char *command, const char *word)
{
	struct resp_reply reply;

	return resp_ask(resp, &reply, "%s%s", command, word) && reply.kind == RESP_STATUS;
}

bool load_connect(const struct load_options *options, struct resp *resp, uint32_t server, uint64_t until_ns)
{
	const struct server *to = &options->servers[server];

	if (!resp_open(resp, to->address, to->port, until_ns))
		return false;
	if ((options->password == NULL || is_told_ok(resp, "AUTH ", options->password)) &&
	    (!options->local_reads || is_told_ok(resp, "READONLY", "")))
		return true;
	resp_close(resp);
	return false;
}

bool load_is_ready(const struct load_options *options, uint32_t server, uint64_t timeout_ms, char text[160])
{
	struct resp resp = {.fd = -1};
	struct resp_reply reply;
	uint64_t until_ns = resp_now_ns() + timeout_ms * MS;
	bool is_ready = false;

	snprintf(text, 160, "nothing answers");
	if (load_connect(options, &resp, server, until_ns) && resp_ask(&resp, &reply, "GET nothing")) {
		is_ready = reply.kind == RESP_NIL;
		snprintf(text, 160, "%.150s", reply.text != NULL ? reply.text : "");
	}
	resp_free(&resp);
	return is_ready;
}

bool load_fill(const struct load_options *options, uint64_t keys, uint64_t timeout_ms)
{
	struct resp resp = {.fd = -1};
	struct resp_reply reply = {.kind = RESP_STATUS};
	uint64_t set = 0, done = 0;
	bool good = load_connect(options, &resp, 0, resp_now_ns() + timeout_ms * MS);

	while (good && done < keys) {
		for (; set < keys && set < done + FILL_AT_ONCE; set++)
			resp_put(&resp, "SET fill:%" PRIu64 " %0960" PRIu64, set, set);
		resp_set_end(&resp, resp_now_ns() + timeout_ms * MS);
		good = resp_send(&resp);
		for (; good && done < set; done++)
			good = resp_take(&resp, &reply) && reply.kind == RESP_STATUS;
	}
	resp_free(&resp);
	return good;
}

/* To any server, rather than to the one that has just failed. */
static bool is_connected(struct client *client)
{
	const struct load_options *options = &client->load->options;

	if (client->resp.fd >= 0)
		return true;
	client->server = (uint32_t)command_roll(&client->dice, options->servers_count);
	if (!load_connect(options, &client->resp, client->server, resp_now_ns() + CONNECT_MS * MS)) {
		nap(1000 + command_roll(&client->dice, 10000)); /* not to knock at closed doors only */
		return false;
	}
	client->connections++;
	return true;
}

/* ---- lies --------------------------------------------------------------------------------------------------------------------- */

static enum command_end say_lost(struct client *client, struct linear_op *op, char text[160])
{
	struct linear_step step = {op->kind, op->argument, false, 0};
	enum command_end end;

	if (op->kind == LINEAR_SET)
		return COMMAND_DONE;
	step.argument = 0;
	command_put_step(&client->resp, op->key, &step);
	resp_send(&client->resp);
	end = command_take_step(&client->resp, op->key, &step, text);
	op->answer = step.answer + op->argument;
	return end;
}

static enum command_end do_twice(struct client *client, struct linear_op *op, char text[160])
{
	struct linear_op again = *op;
	enum command_end end;

	command_put(&client->resp, op);
	command_put(&client->resp, op);
	resp_send(&client->resp);
	end = command_take(&client->resp, op, text);
	if (end == COMMAND_DONE)
		command_take(&client->resp, &again, text);
	return end;
}

static enum command_end say_old(struct client *client, struct linear_op *op)
{
	const struct linear_step *last = &client->last[op->key % COMMAND_KEYS];

	op->found = last->found;
	op->answer = last->answer;
	return COMMAND_DONE;
}

static enum command_end do_torn(struct client *client, struct linear_op *op, char text[160])
{
	struct linear_op one = *op;
	enum command_end end;

	one.goes_on = false;
	command_put(&client->resp, &one);
	resp_send(&client->resp);
	end = command_take(&client->resp, &one, text);
	op->found = one.found;
	op->answer = one.answer;
	if (end != COMMAND_DONE)
		return COMMAND_UNKNOWN;
	nap(2000); /* others come between */
	command_put_step(&client->resp, op->key, &op->then);
	resp_send(&client->resp);
	return command_take_step(&client->resp, op->key, &op->then, text) == COMMAND_DONE ? COMMAND_DONE
											  : COMMAND_UNKNOWN;
}

static bool may_lie(const struct client *client, const struct linear_op *op)
{
	switch (client->load->options.lie) {
	case LIE_LOST:
		return !op->goes_on && (op->kind == LINEAR_SET || op->kind == LINEAR_ADD);
	case LIE_TWICE:
		return !op->goes_on && (op->kind == LINEAR_APPEND || op->kind == LINEAR_ADD);
	case LIE_OLD:
		return !op->goes_on && op->kind == LINEAR_GET && client->last_keys[op->key % COMMAND_KEYS] == op->key;
	case LIE_TORN:
		return op->goes_on;
	default:
		return false;
	}
}

static enum command_end lie(struct client *client, struct linear_op *op, char text[160])
{
	switch (client->load->options.lie) {
	case LIE_LOST:
		return say_lost(client, op, text);
	case LIE_TWICE:
		return do_twice(client, op, text);
	case LIE_OLD:
		return say_old(client, op);
	default:
		return do_torn(client, op, text);
	}
}

/* ---- a client ------------------------------------------------------------------------------------------------------------------ */

/* Mostly one of the newest; of one before, what has been made of it since must still be there. */
static uint64_t draw_key(struct client *client)
{
	const struct load *load = client->load;
	uint64_t age = (resp_now_ns() - load->begin_ns) / (load->options.age_ms * MS);

	if (command_roll(&client->dice, 8) == 0)
		age -= command_roll(&client->dice, (age < 20 ? age : 20) + 1);
	return age * COMMAND_KEYS + command_roll(&client->dice, COMMAND_KEYS);
}

static void note_read(struct client *client, const struct linear_op *op)
{
	uint64_t at = op->key % COMMAND_KEYS;

	client->last_keys[at] = op->key;
	client->last[at] = (struct linear_step){op->kind, op->argument, op->found, op->answer};
}

static void note_end(struct client *client, struct linear_op *op, enum command_end end, const char *text)
{
	client->ends[end]++;
	op->ended_ns = end == COMMAND_DONE ? resp_now_ns() : LINEAR_UNKNOWN;
	if (end == COMMAND_DONE && !op->goes_on && op->kind == LINEAR_GET)
		note_read(client, op);
	if (end == COMMAND_DONE || end == COMMAND_UNKNOWN || end == COMMAND_ODD)
		history_add(&client->history, op);
	if (end == COMMAND_ODD && client->odd[0] == '\0')
		snprintf(client->odd, sizeof(client->odd), "%s", text);
	if (end == COMMAND_UNKNOWN || end == COMMAND_ODD ||
	    command_roll(&client->dice, end == COMMAND_DONE ? MOVE_EVERY : 2) == 0)
		resp_close(&client->resp);
}

static bool only_reads(const struct client *client)
{
	const struct load *load = client->load;

	return client->id % READER_EVERY == 0 || atomic_load(&load->hushed) ||
	       client->server == atomic_load(&load->hushed_server);
}

static void operate(struct client *client)
{
	const struct load_options *options = &client->load->options;
	uint64_t patience_ms = options->timeout_ms / 4 + command_roll(&client->dice, 3 * options->timeout_ms / 4);
	struct linear_op op;
	char text[160] = "";
	enum command_end end;

	if (only_reads(client))
		op = (struct linear_op){.key = draw_key(client), .kind = LINEAR_GET};
	else
		command_draw(&op, draw_key(client), &client->dice, &client->token);
	op.client = client->id;
	op.began_ns = resp_now_ns();
	resp_set_end(&client->resp, op.began_ns + patience_ms * MS);
	if (may_lie(client, &op) && command_roll(&client->dice, LIE_EVERY) == 0) {
		end = lie(client, &op, text);
	} else {
		command_put(&client->resp, &op);
		resp_send(&client->resp);
		end = command_take(&client->resp, &op, text);
	}
	note_end(client, &op, end, text);
}

static void *run(void *ctx)
{
	struct client *client = ctx;
	const struct load *load = client->load;

	while (!atomic_load(&load->stops)) {
		uint64_t nap_us = load->options.nap_us;

		if (is_connected(client))
			operate(client);
		if (nap_us > 0 && command_roll(&client->dice, 4) == 0) /* now and then several at once */
			nap(command_roll(&client->dice, 8 * nap_us));
	}
	return NULL;
}

/* ---- all of them --------------------------------------------------------------------------------------------------------------- */

void load_start(struct load *load, const struct load_options *options)
{
	*load = (struct load){.options = *options, .begin_ns = resp_now_ns(), .hushed_server = LOAD_SERVERS};
	for (uint32_t i = 0; i < options->clients; i++) {
		struct client *client = &load->clients[i];

		client->load = load;
		client->id = i;
		client->resp.fd = -1;
		client->dice.is = options->seed * LOAD_CLIENTS + i;
		client->token = (uint64_t)(i + 1) << 24;
		memset(client->last_keys, 0xff, sizeof(client->last_keys)); /* none */
		if (pthread_create(&client->thread, NULL, run, client) != 0)
			abort();
	}
}

void load_stop(struct load *load)
{
	atomic_store(&load->stops, true);
	for (uint32_t i = 0; i < load->options.clients; i++) {
		pthread_join(load->clients[i].thread, NULL);
		resp_free(&load->clients[i].resp);
	}
	load->end_ns = resp_now_ns();
}

void load_free(struct load *load)
{
	for (uint32_t i = 0; i < load->options.clients; i++)
		free(load->clients[i].history.ops);
}

uint64_t load_keys(const struct load *load)
{
	return ((load->end_ns - load->begin_ns) / (load->options.age_ms * MS) + 1) * COMMAND_KEYS;
}
