/* delegates_things.c - the properties of a play, their functions, and what clients do with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/linear/linear.h"
#include "tests/sim/delegates_play.h"

#define QUEUED 1024
#define FILL_MOST 12000 /* bytes of a long call, or of a long answer: several batches */
#define LONG_MS 5000
#define HANDLES_MOST 12
#define OUTSTANDING_MOST 6

/* Functions have no argument by which they would find it, and addresses do not travel. */
static struct delegates_play *play;

void delegates_set_play(struct delegates_play *now)
{
	play = now;
}

/* ---- properties ---------------------------------------------------------------------------------------------------------------- */

struct thing {
	uint64_t number, busy; /* busy: a launched function has it */
	struct entry {
		uint64_t there, value;
	} entries[DELEGATES_KEYS];
};

struct queue {
	uint64_t number, busy, head, tail;
	uint64_t values[QUEUED];
};

struct box {
	uint64_t number, busy;
};

static void drop_thing(void *property)
{
	uint64_t number = *(uint64_t *)property; /* the first of each */

	if (++play->things[number]->drops > 1)
		delegates_fail(play, "drop: thing %u is dropped again", (unsigned)number);
}

static WHORL_TYPE(thing_type, struct thing, drop_thing);
static WHORL_TYPE(queue_type, struct queue, drop_thing);
static WHORL_TYPE(box_type, struct box, drop_thing);

/* ---- functions ----------------------------------------------------------------------------------------------------------------- */

struct act {
	uint64_t call, kind, key, argument;
};

/* Each function begins with this: which call it is, and that it may run now, and here. */
static struct delegates_call *note_run(const struct whorl_function *function, uint64_t number, uint64_t thing,
				       uint64_t busy)
{
	struct delegates_call *call = number < play->call_count ? play->calls[number] : NULL;

	if (call == NULL || call->function != function || call->thing->number != thing) {
		delegates_fail(play, "truth: thing %u is called with %s, as nobody has (call %u)", (unsigned)thing,
			       function->name, (unsigned)number);
		return NULL;
	}
	if (busy)
		delegates_fail(play, "alone: call %u runs in thing %u, and another does", call->number,
			       (unsigned)thing);
	if (call->thing->drops > 0)
		delegates_fail(play, "drop: call %u runs in thing %u, which was dropped", call->number,
			       (unsigned)thing);
	if (++call->runs > 1)
		delegates_fail(play, "once: call %u runs again", call->number);
	if (whorl_work_here(NULL) != delegates_work(call->thing->home->process))
		delegates_fail(play, "place: call %u runs where thing %u is not", call->number, (unsigned)thing);
	if (call->order <= call->handle->ran)
		delegates_fail(play, "order: call %u of thing %u runs behind a later one by the same handle",
			       call->number, (unsigned)thing);
	call->handle->ran = call->order;
	call->ran_ns = delegates_now(play->world);
	return call;
}

static void act_on(struct thing *thing, const struct act *act, struct delegates_outcome *outcome)
{
	struct entry *entry = &thing->entries[act->key % DELEGATES_KEYS];

	*outcome = (struct delegates_outcome){entry->there, entry->value};
	if (act->kind == LINEAR_SET || (act->kind == LINEAR_CLAIM && !entry->there))
		*entry = (struct entry){1, act->argument};
	else if (act->kind == LINEAR_REMOVE)
		*entry = (struct entry){0, 0};
	else if (act->kind == LINEAR_ADD)
		*entry = (struct entry){1, outcome->value = entry->value + act->argument};
}

static void finish(struct delegates_call *call, const struct delegates_outcome *outcome)
{
	if (call != NULL)
		call->did = *outcome;
}

WHORL_FUNCTION(thing_act, struct thing, struct act, struct delegates_outcome, WHORL_DETERMINISTIC)
{
	struct delegates_call *call = note_run(&thing_act, args->call, property->number, property->busy);

	act_on(property, args, result);
	finish(call, result);
}

/* Others have turns in the middle of it. */
static void yield_within(uint64_t *busy, uint64_t call)
{
	*busy = 1;
	for (uint64_t i = 0; i <= call % 4; i++)
		whorl_fiber_yield();
	*busy = 0;
}

WHORL_FUNCTION(thing_launched, struct thing, struct act, struct delegates_outcome, 0)
{
	struct delegates_call *call = note_run(&thing_launched, args->call, property->number, property->busy);

	yield_within(&property->busy, args->call);
	act_on(property, args, result);
	finish(call, result);
	yield_within(&property->busy, args->call);
}

static unsigned char fill_of(uint64_t call, size_t i)
{
	return (unsigned char)(call * 31 + i * 7);
}

static bool is_filled(uint64_t call, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (data[i] != fill_of(call, i))
			return false;
	return true;
}

static void fill(uint64_t call, unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		data[i] = fill_of(call, i);
}

static size_t answer_fill(uint64_t call)
{
	return call % 3 == 0 ? (size_t)(call * 977 % FILL_MOST) : (size_t)(call % 50);
}

/* Arguments and results of any length: an act, or an outcome, and what fills up. */
WHORL_FUNCTION_OF_BYTES(thing_bytes, struct thing, 0)
{
	unsigned char filler[FILL_MOST];
	struct delegates_outcome outcome;
	struct delegates_call *call;
	struct act act = {0};

	if (bytes >= sizeof(act))
		memcpy(&act, data, sizeof(act));
	call = note_run(&thing_bytes, act.call, property->number, property->busy);
	if (call == NULL || !is_filled(act.call, (const unsigned char *)data + sizeof(act), bytes - sizeof(act)))
		delegates_fail(play, "bytes: call %u has not the arguments that it was given", (unsigned)act.call);
	act_on(property, &act, &outcome);
	finish(call, &outcome);
	fill(act.call, filler, answer_fill(act.call));
	if (whorl_reply_add(reply, &outcome, sizeof(outcome)) != WHORL_OK ||
	    whorl_reply_add(reply, filler, answer_fill(act.call)) != WHORL_OK)
		delegates_fail(play, "bytes: no room for an answer");
}

/* Pushes, or pops where there is nothing to push. */
static void act_on_queue(struct queue *queue, const struct act *act, struct delegates_outcome *outcome)
{
	*outcome = (struct delegates_outcome){0, 0};
	if (act->argument != 0 && queue->tail < QUEUED)
		queue->values[queue->tail++] = act->argument;
	else if (act->argument == 0 && queue->head < queue->tail)
		*outcome = (struct delegates_outcome){1, queue->values[queue->head++]};
}

WHORL_FUNCTION(queue_act, struct queue, struct act, struct delegates_outcome, WHORL_DETERMINISTIC)
{
	struct delegates_call *call = note_run(&queue_act, args->call, property->number, property->busy);

	act_on_queue(property, args, result);
	finish(call, result);
}

WHORL_FUNCTION(queue_launched, struct queue, struct act, struct delegates_outcome, 0)
{
	struct delegates_call *call = note_run(&queue_launched, args->call, property->number, property->busy);

	yield_within(&property->busy, args->call);
	act_on_queue(property, args, result);
	finish(call, result);
}

struct gift {
	uint64_t call;
	struct whorl_trust trust;
};

static void add_handle(struct delegates_seat *seat, struct delegates_handle *handle)
{
	if (seat->count == seat->room) {
		seat->room = seat->room == 0 ? 16 : 2 * seat->room;
		seat->handles = delegates_must(realloc(seat->handles, seat->room * sizeof(struct delegates_handle *)));
	}
	seat->handles[seat->count++] = handle;
}

/* A handle comes. */
WHORL_FUNCTION(box_put, struct box, struct gift, struct delegates_outcome, 0)
{
	struct delegates_call *call = note_run(&box_put, args->call, property->number, property->busy);

	*result = (struct delegates_outcome){1, property->number};
	finish(call, result);
	if (call == NULL)
		return;
	call->given->trust = args->trust;
	add_handle(&call->thing->home->seats[call->key], call->given);
}

/* ---- calls --------------------------------------------------------------------------------------------------------------------- */

#define GROW(list, count)                                                                                              \
	do {                                                                                                           \
		if (((count) & ((count)-1)) == 0)                                                                      \
			(list) = delegates_must(realloc((list), ((count) == 0 ? 1 : 2 * (count)) * sizeof(*(list))));  \
	} while (0)

static struct delegates_thing *new_thing(struct delegates_life *home, enum delegates_kind kind)
{
	struct delegates_thing *thing = delegates_must(calloc(1, sizeof(*thing)));

	*thing = (struct delegates_thing){.number = play->thing_count, .kind = kind, .home = home};
	GROW(play->things, play->thing_count);
	return play->things[play->thing_count++] = thing;
}

static struct delegates_handle *new_handle(struct delegates_thing *thing, uint64_t way)
{
	struct delegates_handle *handle = delegates_must(calloc(1, sizeof(*handle)));

	*handle = (struct delegates_handle){.number = play->handle_count, .thing = thing, .way = way};
	GROW(play->handles, play->handle_count);
	return play->handles[play->handle_count++] = handle;
}

static struct delegates_call *new_call(struct delegates_seat *seat, struct delegates_handle *handle)
{
	struct delegates_call *call = delegates_must(calloc(1, sizeof(*call)));

	*call = (struct delegates_call){.number = play->call_count,
					.life = seat->life,
					.thing = handle->thing,
					.handle = handle,
					.way = handle->way,
					.order = ++handle->made,
					.timeout_ms = -1,
					.began_ns = delegates_now(play->world)};
	GROW(play->calls, play->call_count);
	return play->calls[play->call_count++] = call;
}

static void end_call(struct delegates_call *call, enum whorl_result result, const void *answer, size_t bytes)
{
	call->ended_ns = delegates_now(play->world);
	call->ends++;
	call->result = result;
	if (result != WHORL_OK)
		return;
	if (bytes < sizeof(call->told)) {
		delegates_fail(play, "bytes: call %u has an answer of %zu bytes", call->number, bytes);
		return;
	}
	memcpy(&call->told, answer, sizeof(call->told));
	if (call->function == &thing_bytes &&
	    (bytes != sizeof(call->told) + answer_fill(call->number) ||
	     !is_filled(call->number, (const unsigned char *)answer + sizeof(call->told), bytes - sizeof(call->told))))
		delegates_fail(play, "bytes: call %u has not the answer that it was given", call->number);
	delegates_tell(call->life, "call %u of thing %u by handle %u is answered", call->number, call->thing->number,
		       call->handle->number);
}

struct pending { /* a call that is not waited for */
	struct delegates_seat *seat;
	struct delegates_call *call;
};

static void then_comes(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct pending *pending = ctx;

	pending->seat->outstanding--;
	end_call(pending->call, result, answer, bytes);
	free(pending);
}

static int draw_timeout(struct delegates_life *life)
{
	return wh_dice_one_in(&life->dice, 4) ? (int)wh_dice_below(&life->dice, 4) : LONG_MS;
}

static const struct whorl_function *draw_function(struct delegates_life *life, enum delegates_kind kind, bool *launches)
{
	*launches = wh_dice_one_in(&life->dice, 6);
	if (kind == DELEGATES_QUEUE)
		return *launches ? &queue_launched : &queue_act;
	if (*launches)
		return &thing_launched;
	return wh_dice_one_in(&life->dice, 6) ? &thing_bytes : &thing_act;
}

static void draw_act(struct delegates_life *life, struct delegates_call *call)
{
	static const uint64_t of_map[] = {LINEAR_GET, LINEAR_SET, LINEAR_CLAIM, LINEAR_REMOVE};

	call->kind = LINEAR_ADD;
	call->argument = call->number + 1; /* never twice the same */
	if (call->thing->kind == DELEGATES_REGISTER)
		call->kind = wh_dice_one_in(&life->dice, 2) ? LINEAR_GET : LINEAR_SET;
	if (call->thing->kind == DELEGATES_MAP) {
		call->kind = of_map[wh_dice_below(&life->dice, 4)];
		call->key = wh_dice_below(&life->dice, DELEGATES_KEYS);
	}
	if (call->thing->kind == DELEGATES_QUEUE && wh_dice_one_in(&life->dice, 2))
		call->argument = 0;
}

/* How a call is made. */
struct way {
	const struct whorl_trust *trust;
	const void *args;
	size_t bytes;
	bool launches;
};

static void call_and_wait(struct delegates_call *call, const struct way *way)
{
	unsigned char answer[sizeof(struct delegates_outcome) + FILL_MOST];
	size_t bytes = sizeof(answer);
	enum whorl_result result;

	if (call->function == &thing_bytes) {
		result = whorl_apply_bytes_function(way->trust, call->function, way->args, way->bytes, answer, &bytes,
						    call->timeout_ms);
	} else {
		bytes = sizeof(struct delegates_outcome);
		result =
			way->launches
				? whorl_launch_function(way->trust, call->function, way->args, answer, call->timeout_ms)
				: whorl_apply_function(way->trust, call->function, way->args, answer, call->timeout_ms);
	}
	end_call(call, result, answer, bytes);
}

static void call_and_go_on(struct delegates_seat *seat, struct delegates_call *call, const struct way *way)
{
	struct pending *pending = delegates_must(malloc(sizeof(*pending)));
	enum whorl_result result;

	*pending = (struct pending){seat, call};
	seat->outstanding++;
	if (call->function == &thing_bytes)
		result = whorl_apply_bytes_then_function(way->trust, call->function, way->args, way->bytes, then_comes,
							 pending);
	else if (way->launches)
		result = whorl_launch_then_function(way->trust, call->function, way->args, then_comes, pending);
	else
		result = whorl_apply_then_function(way->trust, call->function, way->args, then_comes, pending);
	if (result != WHORL_OK)
		then_comes(result, NULL, 0, pending);
}

static size_t draw_fill(struct delegates_life *life)
{
	return wh_dice_one_in(&life->dice, 3) ? (size_t)wh_dice_below(&life->dice, FILL_MOST)
					      : (size_t)wh_dice_below(&life->dice, 50);
}

static void make_call(struct delegates_seat *seat, struct delegates_handle *handle)
{
	struct delegates_life *life = seat->life;
	struct delegates_call *call = new_call(seat, handle);
	unsigned char data[sizeof(struct act) + FILL_MOST];
	struct way way = {.trust = &handle->trust, .args = data, .bytes = sizeof(struct act)};
	struct act act;

	call->function = draw_function(life, call->thing->kind, &way.launches);
	draw_act(life, call);
	act = (struct act){call->number, call->kind, call->key, call->argument};
	memcpy(data, &act, sizeof(act));
	if (call->function == &thing_bytes) {
		size_t bytes = draw_fill(life);

		fill(call->number, data + sizeof(act), bytes);
		way.bytes += bytes;
	}
	if (seat->outstanding < OUTSTANDING_MOST && wh_dice_one_in(&life->dice, 2)) {
		call_and_go_on(seat, call, &way);
		return;
	}
	call->timeout_ms = draw_timeout(life);
	call_and_wait(call, &way);
}

/* ---- what else is done with things --------------------------------------------------------------------------------------------- */

static struct whorl_place place_at(const struct delegates_life *life, uint32_t worker)
{
	return whorl_at_worker(life->id, worker < DELEGATES_WORKERS ? worker : WHORL_WORKER_ANY);
}

static void end_step(struct delegates_call *call, enum whorl_result result)
{
	call->ended_ns = delegates_now(play->world);
	call->ends++;
	call->result = result;
	delegates_tell(call->life, "call %u of thing %u by handle %u gives %s", call->number, call->thing->number,
		       call->handle->number, whorl_result_text(result));
}

/* None that another fiber uses: it is out of the list meanwhile. */
static struct delegates_handle *take_handle(struct delegates_seat *seat)
{
	struct delegates_handle *handle;
	uint32_t i;

	if (seat->count == 0)
		return NULL;
	i = (uint32_t)wh_dice_below(&seat->life->dice, seat->count);
	handle = seat->handles[i];
	seat->handles[i] = seat->handles[--seat->count];
	if (handle->trust.work == NULL && seat->worker == DELEGATES_WORKERS)
		handle->trust.work = delegates_work(seat->life->process);
	return handle;
}

static const struct whorl_type *type_of(enum delegates_kind kind)
{
	return kind == DELEGATES_QUEUE ? &queue_type : kind == DELEGATES_BOX ? &box_type : &thing_type;
}

static struct delegates_life *newest_of(uint32_t id)
{
	for (uint32_t i = play->life_count; i-- > 0;)
		if (play->lives[i]->id == id)
			return play->lives[i];
	return NULL;
}

/* NULL: there is none. */
static struct delegates_handle *entrust(struct delegates_seat *seat, struct delegates_life *home, uint32_t worker,
					enum delegates_kind kind)
{
	struct delegates_handle *handle = new_handle(new_thing(home, kind), 0);
	struct delegates_call *call = new_call(seat, handle);
	union {
		uint64_t number;
		struct queue queue;
		struct thing thing;
	} init;

	memset(&init, 0, sizeof(init));
	init.number = handle->thing->number;
	call->timeout_ms = kind == DELEGATES_BOX ? LONG_MS : draw_timeout(seat->life);
	if (home->process == NULL || !home->begun || delegates_has_ended(home->process))
		call->timeout_ms %= 50;
	end_step(call, whorl_entrust(delegates_work(seat->life->process), place_at(home, worker), type_of(kind), &init,
				     type_of(kind)->bytes, &handle->trust, call->timeout_ms));
	if (newest_of(home->id) != home) { /* which of its lives it was is not known */
		call->vague = handle->thing->leaked = true;
		return NULL;
	}
	if (call->result != WHORL_OK)
		return NULL;
	handle->thing->made = true;
	delegates_tell(seat->life, "thing %u is at node %u", handle->thing->number, (unsigned)home->id);
	return handle;
}

static void entrust_one(struct delegates_seat *seat)
{
	struct delegates_life *life = seat->life, *home = play->lives[wh_dice_below(&life->dice, play->life_count)];
	uint32_t worker = (uint32_t)wh_dice_below(&life->dice, life->workers + 1);
	struct delegates_handle *handle;

	home = newest_of(home->id);
	handle = entrust(seat, home, worker == life->workers ? DELEGATES_WORKERS : worker,
			 (enum delegates_kind)wh_dice_below(&life->dice, DELEGATES_KINDS));
	if (handle != NULL)
		add_handle(seat, handle);
}

static void clone(struct delegates_seat *seat, struct delegates_handle *handle)
{
	struct delegates_handle *other = new_handle(handle->thing, handle->way);
	struct delegates_call *call = new_call(seat, handle);

	end_step(call, whorl_trust_clone(&handle->trust, &other->trust));
	if (call->result == WHORL_OK)
		add_handle(seat, other);
}

static void drop(struct delegates_seat *seat, struct delegates_handle *handle)
{
	struct delegates_call *call = new_call(seat, handle);

	end_step(call, whorl_trust_drop(&handle->trust));
	if (call->result != WHORL_OK)
		handle->thing->leaked = true;
}

static void move(struct delegates_seat *seat, struct delegates_handle *handle)
{
	struct delegates_life *life = seat->life;
	struct delegates_call *call = new_call(seat, handle);

	call->timeout_ms = draw_timeout(life);
	end_step(call,
		 whorl_trust_move(&handle->trust, place_at(life, (uint32_t)wh_dice_below(&life->dice, life->workers)),
				  call->timeout_ms));
}

/* To a seat of any life, this one too. False: it stays here. */
static bool give(struct delegates_seat *seat, struct delegates_handle *handle)
{
	struct delegates_life *life = seat->life, *to = play->lives[wh_dice_below(&life->dice, play->life_count)];
	uint32_t at = (uint32_t)wh_dice_below(&life->dice, to->workers + 1);
	struct delegates_seat *box = &to->seats[at == to->workers ? 0 : at];
	struct delegates_call *call;
	struct whorl_trust trust;
	struct gift gift;

	at = at == to->workers ? DELEGATES_WORKERS : at;
	if (!box->has_box || (to->id == life->id && to != life)) /* that one's place is this one now */
		return false;
	call = new_call(seat, handle);
	end_step(call, whorl_trust_send(&handle->trust, place_at(to, at)));
	if (call->result != WHORL_OK)
		return false;
	trust = box->box;
	trust.work = delegates_work(life->process);
	call = new_call(seat, new_handle(play->things[box->box_thing], 0));
	call->given = new_handle(handle->thing, to == life ? handle->way : handle->way | UINT64_C(1) << life->number);
	call->function = &box_put;
	call->key = at;
	gift = (struct gift){call->number, handle->trust};
	if (wh_dice_one_in(&life->dice, 2)) {
		call_and_go_on(seat, call, &(struct way){&trust, &gift, sizeof(gift), false});
		return true;
	}
	call->timeout_ms = draw_timeout(life);
	call_and_wait(call, &(struct way){&trust, &gift, sizeof(gift), false});
	return true;
}

/* ---- clients ------------------------------------------------------------------------------------------------------------------- */

static void use(struct delegates_seat *seat, struct delegates_handle *handle)
{
	switch (wh_dice_below(&seat->life->dice, 12)) {
	case 0:
		if (seat->count < HANDLES_MOST)
			clone(seat, handle);
		break;
	case 1:
		drop(seat, handle);
		return;
	case 2:
	case 3:
		if (give(seat, handle))
			return;
		break;
	case 4:
		if (handle->thing->home == seat->life)
			move(seat, handle);
		break;
	default:
		make_call(seat, handle);
	}
	add_handle(seat, handle);
}

void delegates_act(struct delegates_seat *seat)
{
	struct delegates_life *life = seat->life;
	struct delegates_handle *handle = NULL;

	if (seat->count > 0 && (seat->count >= HANDLES_MOST || !wh_dice_one_in(&life->dice, 6)))
		handle = take_handle(seat);
	if (handle != NULL)
		use(seat, handle);
	else
		entrust_one(seat);
	if (seat->worker < DELEGATES_WORKERS && wh_dice_one_in(&life->dice, 4))
		whorl_fiber_yield();
	else if (seat->outstanding > 0 && wh_dice_one_in(&life->dice, 4))
		(void)whorl_poll(delegates_work(life->process), (int)wh_dice_below(&life->dice, 5));
}

void delegates_drop_all(struct delegates_seat *seat)
{
	struct delegates_handle *handle;

	while ((handle = take_handle(seat)) != NULL)
		drop(seat, handle);
}

struct fiber_args {
	uint32_t life, worker, acts, unused;
};

static void make_box(struct delegates_seat *seat)
{
	struct delegates_handle *handle = entrust(seat, seat->life, seat->worker, DELEGATES_BOX);

	if (handle == NULL)
		return;
	seat->box = handle->trust;
	seat->box_thing = handle->thing->number;
	seat->has_box = true;
}

WHORL_FUNCTION(fiber_live, struct whorl_none, struct fiber_args, struct whorl_none, 0)
{
	struct delegates_life *life = play->lives[args->life];
	struct delegates_seat *seat = &life->seats[args->worker];

	if (!seat->has_box)
		make_box(seat);
	for (uint32_t i = 0; i < args->acts && !delegates_failed(play); i++)
		delegates_act(seat);
	while (seat->outstanding > 0 && !delegates_failed(play))
		(void)whorl_poll(whorl_work_here(NULL), 100);
	seat->fibers--;
}

WHORL_FUNCTION(fiber_wind_up, struct whorl_none, struct fiber_args, struct whorl_none, 0)
{
	struct delegates_seat *seat = &play->lives[args->life]->seats[args->worker];

	delegates_drop_all(seat);
	if (seat->has_box && whorl_trust_drop(&seat->box) != WHORL_OK)
		delegates_fail(play, "drop: a box is not dropped");
	seat->has_box = false;
	seat->fibers--;
}

static void spawn(struct delegates_life *life, uint32_t worker, const struct whorl_function *function, uint32_t acts)
{
	const struct fiber_args args = {.life = life->number, .worker = worker, .acts = acts};
	enum whorl_result result = whorl_spawn_function(
		delegates_work(life->process), whorl_at_worker(WHORL_NODE_HERE, worker), function, &args, NULL);

	if (result == WHORL_OK)
		life->seats[worker].fibers++;
	else
		delegates_fail(play, "spawn: %s", whorl_result_text(result));
}

void delegates_begin(struct delegates_life *life)
{
	for (uint32_t worker = 0; worker < life->workers; worker++)
		for (uint32_t fibers = (uint32_t)wh_dice_between(&life->dice, 1, 3); fibers > 0; fibers--)
			spawn(life, worker, &fiber_live, (uint32_t)wh_dice_between(&life->dice, 5, 60));
}

void delegates_wind_up(struct delegates_life *life)
{
	for (uint32_t worker = 0; worker < life->workers; worker++)
		spawn(life, worker, &fiber_wind_up, 0);
}

/* ---- programs ------------------------------------------------------------------------------------------------------------------ */

/* Its name is before all others: each of these has another number in a program that knows it. */
WHORL_FUNCTION(a_function_more, struct thing, struct act, struct delegates_outcome, 0)
{
	(void)note_run(&a_function_more, args->call, property->number, property->busy);
	*result = (struct delegates_outcome){0, 0};
}

struct whorl_work_options delegates_options(bool odd)
{
	static const struct whorl_function *const functions[] = {&a_function_more, &thing_act,  &thing_launched,
								 &thing_bytes,     &queue_act,  &queue_launched,
								 &box_put,         &fiber_live, &fiber_wind_up};
	static const struct whorl_type *const types[] = {&thing_type, &queue_type, &box_type};

	return (struct whorl_work_options){.size = sizeof(struct whorl_work_options),
					   .functions = functions + (odd ? 0 : 1),
					   .function_count = sizeof(functions) / sizeof(functions[0]) - (odd ? 0 : 1),
					   .types = types,
					   .type_count = sizeof(types) / sizeof(types[0])};
}
