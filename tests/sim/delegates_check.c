/* delegates_check.c - what must be true of a play with delegation, when it is over: see delegates_play.h.
 *
 * What a caller was told is held against what the functions have noted; and, by itself, against what one copy of each thing could have said.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/linear/linear.h"
#include "tests/linear/queue.h"
#include "tests/sim/delegates_play.h"

#define STATES 2000000
#define LONG_MS 1000 /* nothing that goes wrong takes so long */

/* ---- what may have gone wrong -------------------------------------------------------------------------------------------------- */

bool delegates_may_have_ended(const struct delegates_life *life, uint64_t ns)
{
	/* It was slow to be heard, and went before it knew that the others had gone on without it. */
	bool lagged = life->went_early && (life->stood_still || life->play->cuts[life->id] != 0);

	return (life->killed_ns != 0 && life->killed_ns <= ns) || (life->leaving_ns != 0 && life->leaving_ns <= ns) ||
	       lagged || delegates_has_failed(life->process);
}

bool delegates_may_be_parted(const struct delegates_life *one, const struct delegates_life *other, uint64_t ns)
{
	return one != other && (delegates_may_have_ended(one, ns) || delegates_may_have_ended(other, ns) ||
				(one->play->cuts[one->id] >> other->id & 1) != 0);
}

/* The handle may have been counted for one that has ended meanwhile. */
static bool may_have_gone(const struct delegates_play *play, uint64_t way, const struct delegates_life *home,
			  uint64_t ns)
{
	for (uint32_t i = 0; i < play->life_count; i++)
		if ((way >> i & 1) != 0 &&
		    (delegates_may_have_ended(play->lives[i], ns) || delegates_may_be_parted(play->lives[i], home, ns)))
			return true;
	return false;
}

static bool is_excused(const struct delegates_play *play, const struct delegates_call *call)
{
	const struct delegates_life *home = call->thing->home;

	return delegates_may_have_ended(call->life, call->ended_ns) || delegates_may_have_ended(home, call->ended_ns) ||
	       delegates_may_be_parted(call->life, home, call->ended_ns) ||
	       may_have_gone(play, call->way, home, call->ended_ns);
}

/* ---- each call ----------------------------------------------------------------------------------------------------------------- */

static bool may_run(const struct delegates_call *call)
{
	return call->result == WHORL_OK || call->result == WHORL_IN_DOUBT;
}

/* NULL: the result may be what it is. */
static const char *fault_of(const struct delegates_play *play, const struct delegates_call *call)
{
	const struct delegates_life *home = call->thing->home;
	bool excused = is_excused(play, call), far = call->life != home, differ = far && call->life->odd != home->odd;
	bool patient = call->timeout_ms < 0 || call->timeout_ms >= LONG_MS;

	switch (call->result) {
	case WHORL_OK:
		return differ && call->function != NULL ? "the two programs know other functions" : NULL;
	case WHORL_TIMEOUT:
		return call->timeout_ms < 0 || (patient && !excused) ? "its time was not up" : NULL;
	case WHORL_IN_DOUBT:
		return patient && !excused ? "nothing has gone wrong" : NULL;
	case WHORL_GONE:
		return excused ? NULL : "there is such a thing, and its handle is counted";
	case WHORL_AGAIN:
		return far ? NULL : "it is of this node";
	case WHORL_REFUSED:
		return differ ? NULL : "the two programs know the same";
	case WHORL_NOT_FOUND:
		return far && call->life->workers != home->workers ? NULL : "there is such a worker";
	case WHORL_CLOSED:
		return delegates_may_have_ended(call->life, call->ended_ns) ? NULL : "the work is open";
	default:
		return "no call gives that";
	}
}

static void judge_call(struct delegates_play *play, const struct delegates_call *call)
{
	const struct delegates_life *home = call->thing->home;
	const char *fault;

	if (call->ends != 1 && !(call->ends == 0 && (call->life->killed_ns != 0 || call->life->leaving_ns != 0))) {
		delegates_fail(play, "end: call %u has %u ends", call->number, (unsigned)call->ends);
		return;
	}
	if (call->ends == 0 || call->vague)
		return;
	fault = fault_of(play, call);
	if (fault != NULL)
		delegates_fail(
			play,
			"result: call %u (%s) of thing %u at node %u by node %u, %.6f to %.6f s, gives %s, and %s",
			call->number, call->function == NULL ? "handle" : call->function->name, call->thing->number,
			(unsigned)home->id, (unsigned)call->life->id, (double)call->began_ns / 1e9,
			(double)call->ended_ns / 1e9, whorl_result_text(call->result), fault);
	if (call->runs > 0 && !may_run(call))
		delegates_fail(play, "result: call %u has run, and gives %s", call->number,
			       whorl_result_text(call->result));
	if (call->result != WHORL_OK || call->function == NULL)
		return;
	if (call->runs != 1)
		delegates_fail(play, "result: call %u has not run, and is answered", call->number);
	else if (call->ran_ns < call->began_ns || call->ran_ns > call->ended_ns)
		delegates_fail(play, "result: call %u has not run between its beginning and its end", call->number);
	else if (call->told.found != call->did.found || call->told.value != call->did.value)
		delegates_fail(play, "result: call %u has another answer than it was given", call->number);
}

/* ---- each thing ---------------------------------------------------------------------------------------------------------------- */

/* What nobody was told may have happened at any time since; of what has not run nothing is said. */
static struct linear_op linear_of(const struct delegates_call *call)
{
	bool told = call->ends == 1 && call->result == WHORL_OK;

	return (struct linear_op){.key = (uint64_t)call->thing->number * DELEGATES_KEYS + call->key,
				  .client = call->life->number,
				  .kind = (enum linear_kind)call->kind,
				  .argument = call->argument,
				  .found = call->told.found != 0,
				  .answer = call->told.value,
				  .began_ns = call->began_ns,
				  .ended_ns = told ? call->ended_ns : LINEAR_UNKNOWN};
}

static struct queue_op queued_of(const struct delegates_call *call)
{
	bool pushes = call->argument != 0, told = call->ends == 1 && call->result == WHORL_OK;
	const struct delegates_outcome *outcome = told ? &call->told : &call->did;

	return (struct queue_op){.pushes = pushes,
				 .found = !pushes && outcome->found != 0,
				 .value = pushes ? call->argument : outcome->value,
				 .began_ns = call->began_ns,
				 .ended_ns = told ? call->ended_ns : UINT64_MAX};
}

static void judge_queue(struct delegates_play *play, const struct delegates_thing *thing, struct queue_op *ops)
{
	size_t count = 0, at = 0;
	const char *fault;

	for (uint32_t i = 0; i < play->call_count; i++)
		if (play->calls[i]->thing == thing && play->calls[i]->function != NULL && play->calls[i]->runs > 0)
			ops[count++] = queued_of(play->calls[i]);
	fault = queue_judge(ops, count, &at);
	if (fault != NULL)
		delegates_fail(play, "one copy: queue %u: %s: operation %zu", thing->number, fault, at);
}

static void judge_histories(struct delegates_play *play)
{
	struct linear_op *ops = delegates_must(calloc(play->call_count + 1, sizeof(*ops)));
	struct queue_op *queued = delegates_must(calloc(play->call_count + 1, sizeof(*queued)));
	struct linear_fault fault;
	size_t count = 0;

	for (uint32_t i = 0; i < play->call_count; i++) {
		const struct delegates_call *call = play->calls[i];

		if (call->function != NULL && call->thing->kind < DELEGATES_QUEUE && call->runs > 0)
			ops[count++] = linear_of(call);
	}
	if (linear_check(ops, count, STATES, &fault) != LINEAR_GOOD)
		delegates_fail(play, "one copy: thing %u: %s", (unsigned)(fault.key / DELEGATES_KEYS), fault.text);
	for (uint32_t i = 0; i < play->thing_count; i++)
		if (play->things[i]->kind == DELEGATES_QUEUE)
			judge_queue(play, play->things[i], queued);
	free(ops);
	free(queued);
}

/* ---- handles ------------------------------------------------------------------------------------------------------------------- */

/* One that was given and has not come is nobody's; and what was counted for one that has ended may be counted for ever. */
static void note_leaks(const struct delegates_play *play)
{
	for (uint32_t i = 0; i < play->call_count; i++) {
		const struct delegates_call *call = play->calls[i];
		struct delegates_thing *thing = call->given != NULL ? call->given->thing : NULL;
		const struct delegates_life *to = call->thing->home;

		if (thing == NULL)
			continue;
		if (call->runs == 0 || delegates_may_be_parted(to, thing->home, UINT64_MAX) ||
		    delegates_may_be_parted(call->life, thing->home, UINT64_MAX) ||
		    may_have_gone(play, call->given->way, thing->home, UINT64_MAX))
			thing->leaked = true;
	}
}

static void judge_life(struct delegates_play *play, const struct delegates_life *life)
{
	uint32_t leaked = 0;

	for (uint32_t i = 0; i < play->thing_count; i++)
		leaked += play->things[i]->home->id == life->id && play->things[i]->leaked;
	if (life->left > leaked)
		delegates_fail(play, "drop: node %u has %u things in the end, of which at most %u may have handles",
			       (unsigned)life->id, (unsigned)life->left, (unsigned)leaked);
}

void delegates_judge(struct delegates_play *play)
{
	for (uint32_t i = 0; i < play->call_count && !delegates_failed(play); i++)
		judge_call(play, play->calls[i]);
	if (!delegates_failed(play))
		judge_histories(play);
	note_leaks(play);
	for (uint32_t i = 0; i < play->thing_count; i++)
		if (play->things[i]->kept && play->things[i]->drops > 0 && !play->things[i]->leaked)
			delegates_fail(play, "drop: thing %u of node %u is there in the end, and has no handle%s",
				       play->things[i]->number, (unsigned)play->things[i]->home->id,
				       play->things[i]->made ? "" : ": it was not to be made");
	for (uint32_t i = 0; i < play->life_count && !delegates_failed(play); i++)
		judge_life(play, play->lives[i]);
}
