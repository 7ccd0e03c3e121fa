/* trusts_things.c - the properties of a play, their functions, and what clients do with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/layer.h"
#include "tests/linear/linear.h"
#include "tests/sim/trusts_play.h"

#define LONG_MS 5000
#define OUTSTANDING_MOST 30

/* Functions have no argument by which they would find it, and addresses do not travel. */
static struct trusts_play *play;

void trusts_set_play(struct trusts_play *now)
{
	play = now;
}

/* ---- properties ------------------------------------------------------------------------------------------------------------------ */

struct ledger {                /* all that there is of it */
	uint64_t count, state; /* acts, and what they have made */
	struct entry {
		uint64_t there, value;
	} entries[TRUSTS_KEYS];
};

struct book {                  /* one that is not in its struct */
	struct ledger *ledger; /* NULL: nothing was done yet */
};

static WHORL_TYPE(ledger_type, struct ledger, NULL);

static void drop_book(void *property)
{
	struct book *book = property;

	free(book->ledger);
	book->ledger = NULL;
}

static bool save_book(const void *property, whorl_reply *into)
{
	const struct book *book = property;

	return book->ledger == NULL || whorl_reply_add(into, book->ledger, sizeof(*book->ledger)) == WHORL_OK;
}

static bool load_book(void *property, const void *saved, size_t bytes)
{
	struct book *book = property;

	if (bytes != 0 && bytes != sizeof(*book->ledger))
		return false;
	if (bytes == 0)
		return true;
	book->ledger = trusts_must(malloc(bytes));
	memcpy(book->ledger, saved, bytes);
	return true;
}

static WHORL_TYPE_SAVED(book_type, struct book, drop_book, save_book, load_book);

/* ---- what has run ---------------------------------------------------------------------------------------------------------------- */

static struct trusts_life *life_here(void)
{
	const whorl_work *work = whorl_work_here(NULL);

	for (uint32_t i = 0; i < play->life_count; i++)
		if (delegates_work(play->lives[i]->process) == work && work != NULL)
			return play->lives[i];
	return NULL;
}

static struct trusts_thing *thing_of(uint64_t id)
{
	struct trusts_thing *thing;

	for (uint32_t i = 0; i < play->thing_count; i++)
		if (play->things[i]->id == id)
			return play->things[i];
	thing = trusts_must(calloc(1, sizeof(*thing)));
	play->things = trusts_must(realloc(play->things, (play->thing_count + 1) * sizeof(struct trusts_thing *)));
	thing->number = play->thing_count;
	thing->id = id;
	play->things[play->thing_count++] = thing;
	return thing;
}

static void make_room(struct trusts_life *life)
{
	uint32_t room = play->thing_count + 16;

	if (life->room >= play->thing_count)
		return;
	life->seen = trusts_must(realloc(life->seen, room * sizeof(*life->seen)));
	life->known = trusts_must(realloc(life->known, room * sizeof(*life->known)));
	memset(life->seen + life->room, 0, (room - life->room) * sizeof(*life->seen));
	memset(life->known + life->room, 0, (room - life->room) * sizeof(*life->known));
	life->room = room;
}

/* The first member that comes so far says what it is. */
static void note_first(struct trusts_thing *thing, struct trusts_call *call, const struct ledger *ledger)
{
	if (thing->length == TRUSTS_ACTS) {
		trusts_fail(play, "play: more acts on one thing than are noted");
		return;
	}
	if (call->place != 0)
		trusts_fail(play, "once: act %u on thing %u runs again", call->number, thing->number);
	thing->order[thing->length] = call->number;
	thing->states[thing->length] = ledger->state;
	call->place = ++thing->length;
}

/* An act has run, at some member. */
static void note_run(const struct ledger *ledger, uint64_t number)
{
	struct trusts_life *life = life_here();
	struct trusts_call *call = number < play->call_count ? play->calls[number] : NULL;
	struct trusts_thing *thing = call == NULL ? NULL : call->thing;

	if (life == NULL || thing == NULL) {
		trusts_fail(play, "run: an act of nobody, or nowhere");
		return;
	}
	make_room(life);
	if (life->seen[thing->number] != 0 && ledger->count != life->seen[thing->number] + 1)
		trusts_fail(play, "order: node %u runs act %u of thing %u behind %u", (unsigned)life->id,
			    (unsigned)ledger->count, thing->number, (unsigned)life->seen[thing->number]);
	life->seen[thing->number] = ledger->count;
	if (ledger->count > thing->length + 1)
		trusts_fail(play, "order: act %u is missing in thing %u", (unsigned)thing->length + 1, thing->number);
	else if (ledger->count == thing->length + 1)
		note_first(thing, call, ledger);
	else if (thing->order[ledger->count - 1] != number || thing->states[ledger->count - 1] != ledger->state)
		trusts_fail(play, "order: act %u of thing %u is %u at node %u, and was %u", (unsigned)ledger->count,
			    thing->number, (unsigned)number, (unsigned)life->id, thing->order[ledger->count - 1]);
}

/* ---- functions ------------------------------------------------------------------------------------------------------------------- */

struct act {
	uint64_t call, kind, key, argument;
};

static void look_up(const struct ledger *ledger, uint64_t key, struct trusts_outcome *outcome)
{
	const struct entry *entry = &ledger->entries[key % TRUSTS_KEYS];

	*outcome = (struct trusts_outcome){entry->there, entry->there ? entry->value : 0, ledger->count};
}

static void act_on(struct ledger *ledger, const struct act *act, struct trusts_outcome *outcome)
{
	struct entry *entry = &ledger->entries[act->key % TRUSTS_KEYS];

	look_up(ledger, act->key, outcome);
	switch ((enum linear_kind)act->kind) {
	case LINEAR_SET:
		*entry = (struct entry){1, act->argument};
		break;
	case LINEAR_CLAIM:
		if (!entry->there)
			*entry = (struct entry){1, act->argument};
		break;
	case LINEAR_ADD:
		*entry = (struct entry){1, (entry->there ? entry->value : 0) + act->argument};
		outcome->value = entry->value;
		break;
	default:
		*entry = (struct entry){0, 0};
	}
	ledger->state = linear_append(ledger->state + 1, act->call + 1);
	outcome->count = ++ledger->count;
	note_run(ledger, act->call);
}

WHORL_FUNCTION(ledger_act, struct ledger, struct act, struct trusts_outcome, WHORL_DETERMINISTIC)
{
	act_on(property, args, result);
}

WHORL_FUNCTION(ledger_read, struct ledger, struct act, struct trusts_outcome, WHORL_DETERMINISTIC | WHORL_READ)
{
	look_up(property, args->key, result);
}

WHORL_FUNCTION(book_act, struct book, struct act, struct trusts_outcome, WHORL_DETERMINISTIC)
{
	if (property->ledger == NULL)
		property->ledger = trusts_must(calloc(1, sizeof(*property->ledger)));
	act_on(property->ledger, args, result);
}

WHORL_FUNCTION(book_read, struct book, struct act, struct trusts_outcome, WHORL_DETERMINISTIC | WHORL_READ)
{
	static const struct ledger none;

	look_up(property->ledger == NULL ? &none : property->ledger, args->key, result);
}

/* ---- calls ----------------------------------------------------------------------------------------------------------------------- */

static struct trusts_call *new_call(struct trusts_seat *seat, enum trusts_deed deed, struct trusts_thing *thing)
{
	struct trusts_call *call = trusts_must(calloc(1, sizeof(*call)));

	play->calls = trusts_must(realloc(play->calls, (play->call_count + 1) * sizeof(struct trusts_call *)));
	*call = (struct trusts_call){.number = play->call_count,
				     .deed = deed,
				     .life = seat->life,
				     .seat = seat,
				     .thing = thing,
				     .began_ns = delegates_now(play->world)};
	play->calls[play->call_count++] = call;
	return call;
}

static int draw_timeout(struct trusts_life *life)
{
	return wh_dice_one_in(&life->dice, 3) ? (int)wh_dice_below(&life->dice, 20) : LONG_MS;
}

static void end_call(struct trusts_call *call, enum whorl_result result)
{
	struct trusts_life *life = call->life;

	call->ended_ns = delegates_now(play->world);
	call->ends++;
	call->result = result;
	trusts_tell(life, "call %u (deed %d) of thing %d gives %s, count %u", call->number, (int)call->deed,
		    call->thing == NULL ? -1 : (int)call->thing->number, whorl_result_text(result),
		    (unsigned)call->told.count);
	if (result != WHORL_OK || call->thing == NULL || call->deed == TRUSTS_END)
		return;
	make_room(life);
	if (call->deed == TRUSTS_READ && call->told.count < call->least)
		trusts_fail(play, "local: read %u of thing %u at node %u sees %u acts, of which %u were known here",
			    call->number, call->thing->number, (unsigned)life->id, (unsigned)call->told.count,
			    (unsigned)call->least);
	if (life->known[call->thing->number] < call->told.count)
		life->known[call->thing->number] = call->told.count;
}

static const struct whorl_type *type_of(uint32_t name)
{
	return name == 0 ? &ledger_type : &book_type;
}

/* Finds or makes it. False: it could not. */
static bool entrust(struct trusts_seat *seat, uint32_t name, int timeout_ms)
{
	static const char *const names[TRUSTS_NAMES] = {"a ledger", "a book", "another book"};
	struct trusts_call *call = new_call(seat, TRUSTS_MAKE, NULL);
	struct whorl_trust trust;

	call->timeout_ms = timeout_ms;
	end_call(call, whorl_entrust_named(delegates_work(seat->life->process), whorl_at_shard(seat->life->shard),
					   names[name], type_of(name), NULL, 0, &trust, call->timeout_ms));
	if (call->result != WHORL_OK)
		return false;
	seat->handles[name].trust = trust;
	seat->handles[name].trust.owner = 0; /* its fibers and no other thread use it */
	seat->handles[name].thing = thing_of(trust.id);
	return true;
}

/* One that a thread of another process has: as if it had been sent. False: there is none. */
static bool adopt(struct trusts_seat *seat, uint32_t name)
{
	const struct trusts_life *life = play->lives[wh_dice_below(&seat->life->dice, play->life_count)];
	const struct trusts_seat *from = &life->seats[wh_dice_below(&seat->life->dice, TRUSTS_SEATS)];
	struct whorl_trust trust = from->handles[name].trust;

	if (from->handles[name].thing == NULL || life->odd || seat->life->odd)
		return false;
	trust.work = delegates_work(seat->life->process);
	if (whorl_trust_send(&trust, whorl_at_worker(seat->life->id, WHORL_WORKER_ANY)) != WHORL_OK)
		trusts_fail(play, "send: %s", whorl_invalid_text());
	seat->handles[name].trust = trust;
	seat->handles[name].thing = from->handles[name].thing;
	return true;
}

static void note_then(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct trusts_call *call = ctx;

	if (answer != NULL && bytes == sizeof(call->told))
		memcpy(&call->told, answer, bytes);
	else if (result == WHORL_OK)
		trusts_fail(play, "answer: call %u has %zu bytes", call->number, bytes);
	call->seat->outstanding--;
	end_call(call, result);
}

static void run_call(struct trusts_seat *seat, struct trusts_call *call, struct whorl_trust trust,
		     const struct whorl_function *function)
{
	const struct act act = {call->number, call->kind, call->key, call->argument};
	enum whorl_result result;

	if (seat->outstanding < OUTSTANDING_MOST && !wh_dice_one_in(&seat->life->dice, 3)) {
		call->timeout_ms = -1;
		seat->outstanding++;
		result = whorl_apply_then_function(&trust, function, &act, note_then, call);
		if (result == WHORL_OK)
			return;
		seat->outstanding--;
		end_call(call, result);
		return;
	}
	call->timeout_ms = draw_timeout(seat->life);
	result = whorl_apply_function(&trust, function, &act, &call->told, call->timeout_ms);
	end_call(call, result);
}

/* Whether a thing that has ended is looked for anew is known when its end has come. */
static void forget_ended(struct trusts_seat *seat, uint32_t name, const struct trusts_call *call)
{
	if (call->ends > 0 && call->result == WHORL_GONE && seat->handles[name].thing == call->thing)
		seat->handles[name].thing = NULL;
}

static void act(struct trusts_seat *seat, uint32_t name)
{
	static const enum linear_kind kinds[] = {LINEAR_SET, LINEAR_CLAIM, LINEAR_ADD, LINEAR_REMOVE};
	struct trusts_call *call = new_call(seat, TRUSTS_ACT, seat->handles[name].thing);

	call->kind = kinds[wh_dice_below(&seat->life->dice, 4)];
	call->key = wh_dice_below(&seat->life->dice, TRUSTS_KEYS);
	call->argument = call->number + 1;
	run_call(seat, call, seat->handles[name].trust, name == 0 ? &ledger_act : &book_act);
	forget_ended(seat, name, call);
}

static void read(struct trusts_seat *seat, uint32_t name)
{
	struct trusts_call *call = new_call(seat, TRUSTS_READ, seat->handles[name].thing);
	struct whorl_trust trust = seat->handles[name].trust;

	call->kind = LINEAR_GET;
	call->key = wh_dice_below(&seat->life->dice, TRUSTS_KEYS);
	call->reads = (uint32_t)wh_dice_below(&seat->life->dice, 3);
	make_room(seat->life);
	call->least = seat->life->known[call->thing->number];
	if (whorl_trust_reads(&trust, (enum whorl_trust_reads)call->reads) != WHORL_OK)
		trusts_fail(play, "reads: %s", whorl_invalid_text());
	run_call(seat, call, trust, name == 0 ? &ledger_read : &book_read);
	forget_ended(seat, name, call);
}

static void end(struct trusts_seat *seat, uint32_t name)
{
	struct trusts_call *call = new_call(seat, TRUSTS_END, seat->handles[name].thing);
	struct whorl_trust trust = seat->handles[name].trust;

	call->thing->ends = true;
	call->timeout_ms = draw_timeout(seat->life);
	end_call(call, whorl_trust_end(&trust, call->timeout_ms));
	if (call->result == WHORL_OK)
		call->thing->ended_ns = call->ended_ns;
	if (seat->handles[name].thing == call->thing)
		seat->handles[name].thing = NULL;
}

void trusts_act(struct trusts_seat *seat)
{
	struct trusts_life *life = seat->life;
	uint32_t name = (uint32_t)wh_dice_below(&life->dice, TRUSTS_NAMES);

	if (seat->handles[name].thing == NULL && wh_dice_one_in(&life->dice, 2) && adopt(seat, name))
		read(seat, name);
	else if (seat->handles[name].thing == NULL || wh_dice_one_in(&life->dice, 20))
		(void)entrust(seat, name, draw_timeout(life));
	else if (wh_dice_one_in(&life->dice, 40))
		end(seat, name);
	else if (wh_dice_one_in(&life->dice, 3))
		read(seat, name);
	else
		act(seat, name);
	if (seat->worker < TRUSTS_WORKERS && wh_dice_one_in(&life->dice, 4))
		whorl_fiber_yield();
	else if (wh_dice_one_in(&life->dice, 4))
		(void)whorl_poll(delegates_work(life->process), (int)wh_dice_below(&life->dice, 5));
}

/* Nobody acts any more. */
void trusts_look_at_the_end(struct trusts_seat *seat)
{
	struct trusts_life *life = seat->life;

	for (uint32_t name = 0; name < TRUSTS_NAMES; name++) {
		struct act look = {0};
		struct trusts_outcome outcome = {0};
		enum whorl_result result;

		if (!entrust(seat, name, LONG_MS)) {
			/* Of two that were left one has gone: the other closes, too. */
			if (play->calls[play->call_count - 1]->result != WHORL_NO_QUORUM &&
			    wh_layer_state(life->shard) == WHORL_OK)
				trusts_fail(play, "end: node %u does not get at a thing", (unsigned)life->id);
			return;
		}
		(void)!whorl_trust_reads(&seat->handles[name].trust, WHORL_READS_LINEARIZABLE);
		result = whorl_apply_function(&seat->handles[name].trust, name == 0 ? &ledger_read : &book_read, &look,
					      &outcome, LONG_MS);
		if (result == WHORL_NO_QUORUM || wh_layer_state(life->shard) != WHORL_OK)
			return;
		if (result != WHORL_OK)
			trusts_fail(play, "end: a read at node %u gives %s", (unsigned)life->id,
				    whorl_result_text(result));
		else if (outcome.count != seat->handles[name].thing->length)
			trusts_fail(play, "lost: node %u has %u acts of thing %u in the end, of %u", (unsigned)life->id,
				    (unsigned)outcome.count, seat->handles[name].thing->number,
				    seat->handles[name].thing->length);
	}
	life->judged = true;
}

/* ---- fibers ---------------------------------------------------------------------------------------------------------------------- */

struct fiber_args {
	uint32_t life, worker, acts, unused;
};

WHORL_FUNCTION(fiber_live, struct whorl_none, struct fiber_args, struct whorl_none, 0)
{
	struct trusts_seat *seat = &play->lives[args->life]->seats[args->worker];

	for (uint32_t i = 0; i < args->acts && !trusts_failed(play); i++)
		trusts_act(seat);
	while (seat->outstanding > 0 && !trusts_failed(play))
		(void)whorl_poll(whorl_work_here(NULL), 100);
	seat->fibers--;
}

void trusts_begin(struct trusts_life *life)
{
	for (uint32_t worker = 0; worker < TRUSTS_WORKERS; worker++)
		for (uint32_t fibers = (uint32_t)wh_dice_between(&life->dice, 1, 3); fibers > 0; fibers--) {
			const struct fiber_args args = {.life = life->number,
							.worker = worker,
							.acts = (uint32_t)wh_dice_between(&life->dice, 5, 60)};
			enum whorl_result result = whorl_spawn_function(delegates_work(life->process),
									whorl_at_worker(WHORL_NODE_HERE, worker),
									&fiber_live, &args, NULL);

			if (result == WHORL_OK)
				life->seats[worker].fibers++;
			else
				trusts_fail(play, "spawn: %s", whorl_result_text(result));
		}
}

/* ---- programs -------------------------------------------------------------------------------------------------------------------- */

WHORL_FUNCTION(a_function_more, struct ledger, struct act, struct trusts_outcome, WHORL_DETERMINISTIC)
{
	act_on(property, args, result);
}

struct whorl_work_options trusts_options(bool odd)
{
	static const struct whorl_function *const functions[] = {&a_function_more, &ledger_act, &ledger_read,
								 &book_act,        &book_read,  &fiber_live};
	static const struct whorl_type *const types[] = {&ledger_type, &book_type};

	return (struct whorl_work_options){.size = sizeof(struct whorl_work_options),
					   .workers = TRUSTS_WORKERS,
					   .functions = functions + (odd ? 0 : 1),
					   .function_count = sizeof(functions) / sizeof(functions[0]) - (odd ? 0 : 1),
					   .types = types,
					   .type_count = sizeof(types) / sizeof(types[0])};
}
