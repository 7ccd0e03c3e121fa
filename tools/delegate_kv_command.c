/* delegate_kv_command.c - what each command is, in requests of shards; and the reorder buffer. See delegate_kv.h.
 *
 * A command takes the next slot of its client, and sends its requests. Shards answer in any order; a reply is made when the last request
 * of its command has been answered, and leaves when all before it have: at once if it is the next, and from its slot otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/delegate_kv.h"

#define REPLY_KEPT 64 /* bytes that stay with a slot */
#define NAME_MOST 16

enum how {
	ONE,   /* a request for the first key */
	SUM,   /* one for each key; the sum of the answers */
	ALL,   /* one for each shard; likewise */
	EACH,  /* one for each key; an array of their values */
	PAIRS, /* one for each key and value */
	HERE   /* no request */
};

struct wh_kv_command {
	const char *name;
	enum how how;
	enum wh_kv_op op;
	uint32_t least, most; /* words; most 0: any number */
	void (*here)(struct wh_kv_client *client, struct kv_bytes *out);
	int64_t by; /* of WH_KV_ADD; 0: the third word says it */
	bool minus;
};

struct wh_kv_part {             /* of an MGET: a value */
	struct wh_kv_call call; /* first */
	struct wh_kv_slot *slot;
	char *value;
	size_t bytes;
	bool found;
};

/* ---- the reorder buffer --------------------------------------------------------------------------------------------------------- */

static struct wh_kv_slot *slot_at(const struct wh_kv_client *client, uint64_t number)
{
	return &client->slots[number % WH_KV_SLOTS];
}

/* Where the reply goes, when it is whole. */
static struct kv_bytes *out_of(struct wh_kv_slot *slot)
{
	struct wh_kv_client *client = slot->client;

	return slot == slot_at(client, client->first) ? &client->out : &slot->reply;
}

/* The whole reply is where out_of has said. It leaves, and so do those that waited for it. */
static void finish(struct wh_kv_slot *slot)
{
	struct wh_kv_client *client = slot->client;

	slot->done = true;
	client->kept += slot->reply.used;
	if (slot != slot_at(client, client->first))
		return;
	while (client->first != client->behind && slot_at(client, client->first)->done) {
		struct wh_kv_slot *next = slot_at(client, client->first++);

		if (next->reply.failed)
			client->out.failed = true;
		client->kept -= next->reply.used;
		kv_bytes_add(&client->out, next->reply.data, next->reply.used);
		kv_bytes_clear(&next->reply, REPLY_KEPT);
		next->done = false;
	}
	client->moved_ms = client->thread->now_ms;
	wh_kv_client_touch(client);
}

static struct wh_kv_slot *take_slot(struct wh_kv_client *client)
{
	struct wh_kv_slot *slot = slot_at(client, client->behind);

	if (client->first == client->behind)
		client->moved_ms = client->thread->now_ms;
	client->behind++;
	slot->client = client;
	slot->parts = NULL;
	slot->number = 0;
	slot->worst = WH_KV_DONE;
	slot->asked = slot->count = slot->left = 0;
	return slot;
}

static void free_parts(struct wh_kv_slot *slot)
{
	for (uint32_t i = 0; slot->parts != NULL && i < slot->count; i++)
		free(slot->parts[i].value);
	free(slot->parts);
	slot->parts = NULL;
}

void wh_kv_slot_free(struct wh_kv_slot *slot)
{
	free_parts(slot);
	kv_bytes_clear(&slot->reply, 0);
}

/* ---- replies -------------------------------------------------------------------------------------------------------------------- */

static void reply_error(struct wh_kv_client *client, struct kv_bytes *out, enum wh_kv_kind kind)
{
	client->thread->counts.errors++;
	switch (kind) {
	case WH_KV_NO_NUMBER:
		kv_reply_error(out, "ERR value is not an integer or out of range");
		break;
	case WH_KV_OVERFLOW:
		kv_reply_error(out, "ERR increment or decrement would overflow");
		break;
	case WH_KV_NO_MEMORY:
		kv_reply_error(out, "OOM out of memory");
		break;
	case WH_KV_NODE_GONE:
		kv_reply_error(out, "CLUSTERDOWN the node of this key has ended: nothing was done there");
		break;
	case WH_KV_IN_DOUBT:
		kv_reply_error(out, "CLUSTERDOWN the node of this key has ended: it is not known what was done there");
		break;
	case WH_KV_TOO_LARGE:
		kv_reply_error(out, "ERR the reply is larger than %zu bytes", WH_KV_COMMAND_MAX);
		break;
	default:
		kv_reply_error(out, "ERR the shard of this key does not answer");
	}
}

static void reply_one(struct wh_kv_client *client, struct kv_bytes *out, const struct wh_kv_answer *answer)
{
	size_t before = out->used, bytes;

	switch (answer->kind) {
	case WH_KV_DONE:
		kv_bytes_add(out, "+OK\r\n", 5);
		break;
	case WH_KV_NIL:
		kv_reply_null(out);
		break;
	case WH_KV_VALUE:
		client->thread->counts.hits++;
		kv_reply_bulk(out, answer->value.data, answer->value.bytes);
		break;
	case WH_KV_NUMBER:
		kv_reply_integer(out, answer->number);
		break;
	default:
		reply_error(client, out, answer->kind);
	}
	bytes = out->used - before;
	client->largest -= client->largest / 16;
	if (client->largest < bytes)
		client->largest = bytes;
}

static void take_one(struct wh_kv_call *call, const struct wh_kv_answer *answer)
{
	struct wh_kv_slot *slot = (struct wh_kv_slot *)call;

	reply_one(slot->client, out_of(slot), answer);
	finish(slot);
}

static void reply_many(struct wh_kv_slot *slot)
{
	struct kv_bytes *out = out_of(slot);

	if (slot->worst != WH_KV_DONE) {
		reply_error(slot->client, out, slot->worst);
	} else if (slot->command->how == EACH) {
		kv_reply_array(out, slot->count);
		for (uint32_t i = 0; i < slot->count; i++)
			if (slot->parts[i].found)
				kv_reply_bulk(out, slot->parts[i].value, slot->parts[i].bytes);
			else
				kv_reply_null(out);
	} else if (slot->command->op == WH_KV_SET || slot->command->op == WH_KV_CLEAR) {
		kv_reply_status(out, "OK");
	} else {
		kv_reply_integer(out, slot->number);
	}
	free_parts(slot);
	finish(slot);
}

static void take_many(struct wh_kv_slot *slot, const struct wh_kv_answer *answer)
{
	if (answer->kind == WH_KV_NUMBER)
		slot->number += answer->number;
	else if (answer->kind > WH_KV_NUMBER)
		slot->worst = answer->kind;
	if (--slot->left == 0)
		reply_many(slot);
}

static void take_sum(struct wh_kv_call *call, const struct wh_kv_answer *answer)
{
	take_many((struct wh_kv_slot *)call, answer);
}

static void take_value(struct wh_kv_call *call, const struct wh_kv_answer *answer)
{
	struct wh_kv_part *part = (struct wh_kv_part *)call;
	struct wh_kv_slot *slot = part->slot;

	if (answer->kind == WH_KV_VALUE && slot->worst == WH_KV_DONE) {
		part->bytes = answer->value.bytes;
		slot->number += (int64_t)part->bytes;
		if ((uint64_t)slot->number > WH_KV_COMMAND_MAX)
			slot->worst = WH_KV_TOO_LARGE;
		else if ((part->value = malloc(part->bytes + 1)) == NULL)
			slot->worst = WH_KV_NO_MEMORY;
		else
			memcpy(part->value, answer->value.data, part->bytes);
		part->found = true;
		slot->client->thread->counts.hits++;
	}
	take_many(slot, answer);
}

/* ---- commands about the connection ------------------------------------------------------------------------------------------------ */

static void ping(struct wh_kv_client *client, struct kv_bytes *out)
{
	const struct kv_slice *words = client->parser.arguments;

	if (client->parser.count == 1)
		kv_reply_status(out, "PONG");
	else
		kv_reply_bulk(out, words[1].data, words[1].bytes);
}

static void quit(struct wh_kv_client *client, struct kv_bytes *out)
{
	client->ends = true;
	kv_reply_status(out, "OK");
}

static void select_one(struct wh_kv_client *client, struct kv_bytes *out)
{
	if (kv_is(client->parser.arguments[1], "0"))
		kv_reply_status(out, "OK");
	else
		kv_reply_error(out, "ERR DB index is out of range");
}

/* redis-benchmark asks for two settings, and goes on without. */
static void config(struct wh_kv_client *client, struct kv_bytes *out)
{
	const struct kv_slice *words = client->parser.arguments;

	if (client->parser.count != 3 || !kv_is(words[1], "get")) {
		kv_reply_error(out, "ERR only CONFIG GET is known");
		return;
	}
	if (!kv_is(words[2], "save") && !kv_is(words[2], "appendonly")) {
		kv_reply_array(out, 0);
		return;
	}
	kv_reply_array(out, 2);
	kv_reply_bulk(out, words[2].data, words[2].bytes);
	kv_reply_text(out, kv_is(words[2], "save") ? "" : "no");
}

/* Their number is all that is told of commands. */
static void command(struct wh_kv_client *client, struct kv_bytes *out)
{
	(void)client;
	kv_reply_array(out, 0);
}

static void info(struct wh_kv_client *client, struct kv_bytes *out)
{
	const struct wh_kv_thread *thread = client->thread;
	const struct wh_kv_options *o = thread->store->options;
	struct kv_bytes text = {0};

	kv_bytes_print(
		&text,
		"# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nwhorl_backend:%s\r\nwhorl_node:%u\r\n"
		"whorl_nodes:%u\r\nwhorl_shards:%u\r\nwhorl_workers:%u\r\nwhorl_threads:%u\r\n"
		"uptime_in_seconds:%llu\r\n# Clients\r\nconnected_clients:%llu\r\nmaxclients:%u\r\n"
		"# Thread\r\nthread:%u\r\nthread_commands_processed:%llu\r\n",
		wh_kv_backend_names[o->backend], (unsigned)thread->store->node, (unsigned)o->nodes, (unsigned)o->shards,
		(unsigned)o->workers, (unsigned)o->threads,
		(unsigned long long)((thread->now_ms - thread->started_ms) / 1000),
		(unsigned long long)wh_load_relaxed(thread->clients_open), (unsigned)o->clients,
		(unsigned)thread->number, (unsigned long long)thread->counts.commands);
	kv_reply_bulk(out, text.data, text.used);
	out->failed = out->failed || text.failed;
	kv_bytes_clear(&text, 0);
}

/* ---- beginning ---------------------------------------------------------------------------------------------------------------------- */

static const struct wh_kv_command commands[] = {
	{"get", ONE, WH_KV_GET, 2, 2, NULL, 0, false},       {"set", ONE, WH_KV_SET, 3, 3, NULL, 0, false},
	{"incr", ONE, WH_KV_ADD, 2, 2, NULL, 1, false},      {"mget", EACH, WH_KV_GET, 2, 0, NULL, 0, false},
	{"mset", PAIRS, WH_KV_SET, 3, 0, NULL, 0, false},    {"del", SUM, WH_KV_DEL, 2, 0, NULL, 0, false},
	{"exists", SUM, WH_KV_EXISTS, 2, 0, NULL, 0, false}, {"decr", ONE, WH_KV_ADD, 2, 2, NULL, -1, false},
	{"incrby", ONE, WH_KV_ADD, 3, 3, NULL, 0, false},    {"decrby", ONE, WH_KV_ADD, 3, 3, NULL, 0, true},
	{"dbsize", ALL, WH_KV_COUNT, 1, 1, NULL, 0, false},  {"flushall", ALL, WH_KV_CLEAR, 1, 2, NULL, 0, false},
	{"ping", HERE, WH_KV_OPS, 1, 2, ping, 0, false},     {"echo", HERE, WH_KV_OPS, 2, 2, ping, 0, false},
	{"quit", HERE, WH_KV_OPS, 1, 0, quit, 0, false},     {"select", HERE, WH_KV_OPS, 2, 2, select_one, 0, false},
	{"config", HERE, WH_KV_OPS, 2, 0, config, 0, false}, {"command", HERE, WH_KV_OPS, 1, 0, command, 0, false},
	{"info", HERE, WH_KV_OPS, 1, 0, info, 0, false},
};

static const struct wh_kv_command *find(struct kv_slice name)
{
	for (size_t i = 0; name.bytes < NAME_MOST && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (kv_is(name, commands[i].name))
			return &commands[i];
	return NULL;
}

/* By how much a number changes. False: the word says none. */
static bool read_by(const struct wh_kv_command *command, struct kv_slice word, int64_t *by)
{
	*by = command->by;
	if (*by != 0)
		return true;
	if (!kv_integer(word, by) || (command->minus && *by == INT64_MIN))
		return false;
	*by = command->minus ? -*by : *by;
	return true;
}

static void refuse(struct wh_kv_slot *slot, const char *text, struct kv_slice word)
{
	slot->client->thread->counts.errors++;
	kv_reply_error(out_of(slot), text, (int)(word.bytes < 64 ? word.bytes : 64), word.data);
	finish(slot);
}

/* NULL: it may begin. */
static const char *mistake(const struct wh_kv_client *client, const struct wh_kv_command *c)
{
	const struct kv_parser *p = &client->parser;
	uint32_t step = c != NULL && c->how == PAIRS ? 2 : 1;
	int64_t by;

	if (c == NULL)
		return "ERR unknown command '%.*s'";
	if (c->op == WH_KV_SET && c->how == ONE && p->count > 3)
		return "ERR syntax error: '%.*s' takes no options here";
	if (p->count < c->least || (c->most > 0 && p->count > c->most) || (p->count - 1) % step != 0)
		return "ERR wrong number of arguments for '%.*s' command";
	if (c->how != HERE && c->how != ALL && (p->count - 1) / step > WH_KV_KEYS_MAX)
		return "ERR too many keys for '%.*s': at most 1024";
	if (c->op == WH_KV_ADD && !read_by(c, p->arguments[p->count - 1], &by))
		return "ERR value is not an integer or out of range for '%.*s'";
	return NULL;
}

static bool make_parts(struct wh_kv_slot *slot)
{
	slot->parts = calloc(slot->count, sizeof(*slot->parts));
	for (uint32_t i = 0; slot->parts != NULL && i < slot->count; i++)
		slot->parts[i] = (struct wh_kv_part){.call.fn = take_value, .slot = slot};
	return slot->parts != NULL;
}

void wh_kv_command_begin(struct wh_kv_client *client)
{
	struct wh_kv_thread *thread = client->thread;
	const struct kv_parser *p = &client->parser;
	const struct wh_kv_command *c = find(p->arguments[0]);
	struct wh_kv_slot *slot = take_slot(client);
	const char *wrong = mistake(client, c);

	thread->counts.commands++;
	slot->command = c;
	if (wrong != NULL) {
		refuse(slot, wrong, p->arguments[0]);
		return;
	}
	if (c->how == HERE) {
		c->here(client, out_of(slot));
		finish(slot);
		return;
	}
	slot->count = c->how == ONE     ? 1
		      : c->how == ALL   ? thread->store->shard_count
		      : c->how == PAIRS ? (p->count - 1) / 2
					: p->count - 1;
	slot->left = slot->count;
	slot->call.fn = c->how == ONE ? take_one : take_sum;
	if (c->how == EACH && !make_parts(slot)) {
		refuse(slot, "OOM out of memory for '%.*s'", p->arguments[0]);
		return;
	}
	if (c->op == WH_KV_GET)
		thread->counts.gets += slot->count;
	else if (c->op == WH_KV_SET)
		thread->counts.sets += slot->count;
	wh_kv_command_go_on(client);
}

/* The next request of a command. Returns its shard. */
static uint32_t make_request(const struct wh_kv_slot *slot, uint32_t i, struct wh_kv_request *r)
{
	const struct wh_kv_store *store = slot->client->thread->store;
	const struct kv_slice *words = slot->client->parser.arguments;
	const struct wh_kv_command *c = slot->command;
	uint32_t key = c->how == PAIRS ? 1 + 2 * i : 1 + i;

	*r = (struct wh_kv_request){.op = c->op};
	if (c->how == ALL)
		return i;
	r->key = (struct wh_kv_slice){words[key].data, words[key].bytes};
	r->hash = wh_kv_hash(store->seed, r->key.data, r->key.bytes);
	if (c->op == WH_KV_SET)
		r->value = (struct wh_kv_slice){words[key + 1].data, words[key + 1].bytes};
	if (c->op == WH_KV_ADD)
		(void)read_by(c, words[slot->client->parser.count - 1], &r->by);
	return wh_kv_shard_of(r->hash, store->shard_count);
}

void wh_kv_command_go_on(struct wh_kv_client *client)
{
	struct wh_kv_slot *slot = slot_at(client, client->behind - 1);
	struct wh_kv_thread *thread = client->thread;
	struct wh_kv_request request;

	client->held = false;
	for (uint32_t count = slot->count, i = slot->asked; i < count; i++) {
		uint32_t shard = make_request(slot, i, &request);
		struct wh_kv_call *call = slot->parts != NULL ? &slot->parts[i].call : &slot->call;

		slot->asked = i + 1;
		if (wh_kv_store_ask(thread->store, shard, &request, &thread->room, call))
			continue;
		slot->asked = i;
		client->held = true;
		return;
	}
}

void wh_kv_command_give_up(struct wh_kv_client *client)
{
	struct wh_kv_slot *slot = slot_at(client, client->behind - 1);

	client->held = false;
	slot->left -= slot->count - slot->asked;
	slot->worst = WH_KV_FAILED;
	if (slot->left > 0)
		return;
	free_parts(slot);
	finish(slot);
}

void wh_kv_command_refuse(struct wh_kv_client *client, const char *error)
{
	struct wh_kv_slot *slot = take_slot(client);

	client->thread->counts.errors++;
	kv_reply_error(out_of(slot), "ERR %s", error);
	finish(slot);
}
