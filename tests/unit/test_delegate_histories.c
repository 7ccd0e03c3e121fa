/* test_delegate_histories.c - what threads see of properties that they share is what single copies could have given: a counter, a register,
 * a map and a queue, used by plain threads and by fibers, which wait for some calls and not for others, through handles that were sent
 * to them, while the properties move from worker to worker. Judges: tests/linear/. That they would notice is tried with a register
 * that lies.
 *
 * Labels: threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "tests/linear/linear.h"
#include "tests/linear/queue.h"
#include "tests/support/delegate_lab.h"

#define WORKERS 2
#define CLIENTS 4     /* half of them are fibers */
#define OPS 400       /* of each */
#define OUTSTANDING 3 /* of each, that are not waited for */
#define KEYS 4        /* of the map */
#define QUEUED (CLIENTS * OPS)
#define STATES 5000000
#define MOVES 40 /* of each property */

enum { COUNTER, REGISTER, MAP, QUEUE, PROPERTIES };

/* ---- the properties ----------------------------------------------------------------------------------------------------------- */

struct entry {
	uint64_t there, value, before;
};

struct store { /* a counter, a register, or a map */
	struct entry entries[KEYS];
};

struct act {
	uint64_t kind, key, argument; /* enum linear_kind */
};

struct outcome {
	uint64_t found, value;
};

static WHORL_TYPE(store_type, struct store, NULL);

static void put(struct entry *entry, uint64_t value)
{
	entry->before = entry->value;
	entry->there = 1;
	entry->value = value;
}

WHORL_FUNCTION(store_act, struct store, struct act, struct outcome, WHORL_DETERMINISTIC)
{
	struct entry *entry = &property->entries[args->key];

	*result = (struct outcome){entry->there, entry->value};
	if (args->kind == LINEAR_SET || (args->kind == LINEAR_CLAIM && !entry->there))
		put(entry, args->argument);
	else if (args->kind == LINEAR_REMOVE)
		*entry = (struct entry){0};
	else if (args->kind == LINEAR_ADD)
		put(entry, (result->value = entry->value + args->argument));
}

/* Gives what was there before, now and then. */
WHORL_FUNCTION(store_lie, struct store, struct act, struct outcome, 0)
{
	struct entry *entry = &property->entries[args->key];

	*result = (struct outcome){entry->there, entry->value % 8 == 7 ? entry->before : entry->value};
	if (args->kind == LINEAR_SET)
		put(entry, args->argument);
}

struct queue {
	uint64_t head, tail, values[QUEUED];
};

static WHORL_TYPE(queue_type, struct queue, NULL);

/* Pushes, or pops where there is nothing to push. */
WHORL_FUNCTION(queue_act, struct queue, struct act, struct outcome, WHORL_DETERMINISTIC)
{
	*result = (struct outcome){0};
	if (args->argument != 0)
		property->values[property->tail++] = args->argument;
	else if (property->head < property->tail)
		*result = (struct outcome){1, property->values[property->head++]};
}

/* ---- clients ------------------------------------------------------------------------------------------------------------------ */

struct call { /* one in a history */
	struct client *client;
	uint32_t property;
	struct act act;
	struct outcome outcome;
	uint64_t began_ns, ended_ns;
};

struct client {
	whorl_work *work;
	uint32_t number, outstanding;
	uint64_t dice;
	bool lies, failed;
	const char *step; /* the first that failed, and what it gave */
	enum whorl_result gave;
	struct whorl_trust trusts[PROPERTIES];
	struct call calls[OPS];
};

static uint64_t draw(struct client *client, uint64_t below)
{
	client->dice = client->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (client->dice >> 33) % below;
}

/* Values that are set or pushed are never twice the same. */
static void draw_call(struct client *client, uint32_t i)
{
	static const enum linear_kind of_map[] = {LINEAR_GET, LINEAR_SET, LINEAR_CLAIM, LINEAR_REMOVE};
	uint32_t property = client->lies ? REGISTER : (uint32_t)draw(client, PROPERTIES);
	uint64_t fresh = (uint64_t)client->number * OPS + i + 1;
	struct act act = {.kind = LINEAR_ADD, .argument = fresh};

	if (property == REGISTER)
		act.kind = draw(client, 2) == 0 ? LINEAR_GET : LINEAR_SET;
	if (property == MAP) {
		act.kind = of_map[draw(client, 4)];
		act.key = draw(client, KEYS);
	}
	if (property == QUEUE && draw(client, 2) == 0)
		act.argument = 0;
	client->calls[i] = (struct call){.client = client, .property = property, .act = act};
}

/* False: it is not good, or was not before. */
static bool check_step(struct client *client, const char *step, enum whorl_result gave)
{
	if (gave != WHORL_OK && !client->failed) {
		client->failed = true;
		client->step = step;
		client->gave = gave;
	}
	return !client->failed;
}

static void end_call(struct call *call, const char *step, enum whorl_result result, const struct outcome *outcome)
{
	call->ended_ns = wh_clock_ns();
	(void)check_step(call->client, step, result);
	if (result == WHORL_OK)
		call->outcome = *outcome;
}

static void have_answer(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct call *call = ctx;

	(void)bytes;
	call->client->outstanding--;
	end_call(call, "an answer", result, answer);
}

static const struct whorl_function *function_of(const struct call *call)
{
	if (call->property == QUEUE)
		return &queue_act;
	return call->client->lies ? &store_lie : &store_act;
}

static void make_call(struct client *client, uint32_t i)
{
	struct call *call = &client->calls[i];
	const struct whorl_trust *trust = &client->trusts[call->property];
	struct outcome outcome;
	enum whorl_result result;

	if (draw(client, 2) == 0) {
		call->began_ns = wh_clock_ns();
		result = whorl_apply_function(trust, function_of(call), &call->act, &outcome, PATIENCE_MS);
		end_call(call, "apply", result, &outcome);
		return;
	}
	while (client->outstanding == OUTSTANDING && !client->failed)
		(void)check_step(client, "poll", whorl_poll(client->work, PATIENCE_MS));
	client->outstanding++;
	call->began_ns = wh_clock_ns();
	result = whorl_apply_then_function(trust, function_of(call), &call->act, have_answer, call);
	if (!check_step(client, "apply_then", result))
		client->outstanding--;
}

static void be_client(struct client *client)
{
	for (uint32_t i = 0; i < OPS && !client->failed; i++) {
		draw_call(client, i);
		make_call(client, i);
	}
	while (client->outstanding > 0 && !client->failed)
		(void)check_step(client, "the last poll", whorl_poll(client->work, PATIENCE_MS));
	for (int p = 0; p < PROPERTIES; p++)
		(void)check_step(client, "drop", whorl_trust_drop(&client->trusts[p]));
}

static void *run_thread(void *ctx)
{
	be_client(ctx);
	return NULL;
}

struct seat {
	whorl_shared *client; /* of the address of one: others may not be in arguments */
};

WHORL_FUNCTION(run_fiber, struct whorl_none, struct seat, struct whorl_none, 0)
{
	be_client(*(struct client *const *)whorl_shared_data(args->client, NULL));
}

/* ---- judging ------------------------------------------------------------------------------------------------------------------ */

static struct linear_op linear_of(const struct call *call)
{
	return (struct linear_op){.key = call->property * KEYS + call->act.key,
				  .client = call->client->number,
				  .kind = (enum linear_kind)call->act.kind,
				  .argument = call->act.argument,
				  .found = call->outcome.found != 0,
				  .answer = call->outcome.value,
				  .began_ns = call->began_ns,
				  .ended_ns = call->ended_ns};
}

static struct queue_op queued_of(const struct call *call)
{
	bool pushes = call->act.argument != 0;

	return (struct queue_op){.pushes = pushes,
				 .found = !pushes && call->outcome.found != 0,
				 .value = pushes ? call->act.argument : call->outcome.value,
				 .began_ns = call->began_ns,
				 .ended_ns = call->ended_ns};
}

struct verdict {
	enum linear_verdict stores;
	struct linear_fault fault;
	const char *queue; /* NULL: good */
	size_t in_queue, at;
};

static struct verdict judge(const struct client *clients)
{
	struct linear_op *ops = calloc(QUEUED, sizeof(*ops));
	struct queue_op *queued = calloc(QUEUED, sizeof(*queued));
	struct verdict verdict = {.queue = NULL};
	size_t count = 0;

	ck_assert(ops != NULL && queued != NULL);
	for (int c = 0; c < CLIENTS; c++)
		for (int i = 0; i < OPS; i++) {
			const struct call *call = &clients[c].calls[i];

			if (call->property == QUEUE)
				queued[verdict.in_queue++] = queued_of(call);
			else
				ops[count++] = linear_of(call);
		}
	verdict.stores = linear_check(ops, count, STATES, &verdict.fault);
	verdict.queue = queue_judge(queued, verdict.in_queue, &verdict.at);
	free(ops);
	free(queued);
	return verdict;
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------------- */

struct world {
	whorl_work *work;
	struct whorl_trust trusts[PROPERTIES]; /* the main thread's, with which it moves them */
	struct client *clients;
	pthread_t threads[CLIENTS];
	struct whorl_join joins[CLIENTS];
	struct seat seats[CLIENTS];
};

static void entrust_all(struct world *world)
{
	for (uint32_t p = 0; p < PROPERTIES; p++) {
		const struct whorl_type *type = p == QUEUE ? &queue_type : &store_type;

		ck_ok(whorl_entrust(world->work, at(p % WORKERS), type, NULL, type->bytes, &world->trusts[p],
				    PATIENCE_MS));
	}
}

static void start_client(struct world *world, uint32_t c)
{
	struct client *client = &world->clients[c];
	bool fiber = c % 2 == 1;
	struct whorl_place place = at(fiber ? c / 2 % WORKERS : WHORL_WORKER_ANY);

	client->work = world->work;
	client->number = c;
	for (int p = 0; p < PROPERTIES; p++) {
		ck_ok(whorl_trust_clone(&world->trusts[p], &client->trusts[p]));
		ck_ok(whorl_trust_send(&client->trusts[p], place));
	}
	if (!fiber) {
		ck_assert_int_eq(pthread_create(&world->threads[c], NULL, run_thread, client), 0);
		return;
	}
	ck_ok(whorl_share(world->work, &client, sizeof(struct client *), &world->seats[c].client));
	ck_ok(whorl_spawn(world->work, place, run_fiber, &world->seats[c], &world->joins[c]));
}

static void end_client(struct world *world, uint32_t c)
{
	if (c % 2 == 0) {
		pthread_join(world->threads[c], NULL);
	} else {
		ck_ok(whorl_join(&world->joins[c], NULL, 0, PATIENCE_MS));
		whorl_shared_drop(world->seats[c].client);
	}
	ck_assert_msg(!world->clients[c].failed, "client %u: %s: %s", (unsigned)c, world->clients[c].step,
		      whorl_result_text(world->clients[c].gave));
}

static struct verdict run_world(uint64_t seed, bool lies)
{
	struct world world = {.work = open_work(WORKERS), .clients = calloc(CLIENTS, sizeof(struct client))};
	struct verdict verdict;

	ck_assert_ptr_nonnull(world.clients);
	entrust_all(&world);
	for (uint32_t c = 0; c < CLIENTS; c++) {
		world.clients[c].dice = seed * CLIENTS + c;
		world.clients[c].lies = lies;
		start_client(&world, c);
	}
	for (uint32_t turn = 1; turn <= MOVES; turn++)
		for (uint32_t p = 0; p < PROPERTIES; p++)
			ck_ok(whorl_trust_move(&world.trusts[p], at((p + turn) % WORKERS), PATIENCE_MS));
	for (uint32_t c = 0; c < CLIENTS; c++)
		end_client(&world, c);
	for (uint32_t p = 0; p < PROPERTIES; p++)
		ck_ok(whorl_trust_drop(&world.trusts[p]));
	/* What this thread gives back is sent, at the latest, with what it calls next. */
	await(worker_stats_of(world.work, 0).properties + worker_stats_of(world.work, 1).properties == 0,
	      (void)whorl_poll(world.work, 0));
	verdict = judge(world.clients);
	close_work(world.work);
	free(world.clients);
	return verdict;
}

TEST_CASE("all", .timeout_s = 60);

TEST_LOOP(one_copy_of_each_could_have_said_all_this, 0, 5)
{
	struct verdict verdict = run_world(test_seed(1) + (uint64_t)_i, false);

	ck_assert_msg(verdict.stores == LINEAR_GOOD, "%d: %s", verdict.stores, verdict.fault.text);
	ck_assert_msg(verdict.queue == NULL, "%s: operation %zu of %zu", verdict.queue, verdict.at, verdict.in_queue);
}

TEST(a_register_that_lies_is_found_out)
{
	struct verdict verdict = run_world(test_seed(2), true);

	ck_assert_int_eq(verdict.stores, LINEAR_BAD);
}

TEST_SUITE("delegate_histories")
