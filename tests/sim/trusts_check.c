/* trusts_check.c - what must be true of a play with replicated trusts, when it is over: see trusts_play.h.
 *
 * That all members run the acts on a property in one order, each once, and that local reads do not go back, is seen while the play goes on.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/linear/linear.h"
#include "tests/sim/trusts_play.h"

#define STATES 2000000
#define LONG_MS 1000 /* nothing that goes wrong takes so long */

/* Something was wrong with its node, or it went. */
static bool is_excused(const struct trusts_life *life, uint64_t ns)
{
	return life->troubled || (life->killed_ns != 0 && life->killed_ns <= ns) ||
	       (life->leaving_ns != 0 && life->leaving_ns <= ns) || delegates_has_failed(life->process);
}

/* NULL: the result may be what it is. */
static const char *fault_of(const struct trusts_call *call)
{
	bool excused = is_excused(call->life, call->ended_ns);
	bool patient = call->timeout_ms < 0 || call->timeout_ms >= LONG_MS;

	switch (call->result) {
	case WHORL_OK:
		return call->life->odd ? "its program knows other functions" : NULL;
	case WHORL_TIMEOUT:
		return call->timeout_ms < 0 || (patient && !excused) ? "its time was not up" : NULL;
	case WHORL_IN_DOUBT:
		return patient && !excused ? "nothing has gone wrong" : NULL;
	case WHORL_GONE:
		return call->thing != NULL && call->thing->ends ? NULL : "nobody has ended it";
	case WHORL_REFUSED:
		return call->life->odd ? NULL : "the two programs know the same";
	case WHORL_NO_QUORUM: /* of others there were too few at that moment, whatever was wrong with them */
	case WHORL_AGAIN:
		return NULL;
	default:
		return excused ? NULL : "its node is well";
	}
}

#define TOLD_NS (600 * WH_NS_PER_MS) /* a worker may stand still for some of it */

static void judge_call(struct trusts_play *play, const struct trusts_call *call)
{
	const struct trusts_life *life = call->life;
	const char *fault;

	if (life->failed_ns != 0 && life->killed_ns == 0 && call->began_ns < life->failed_ns &&
	    (call->ends == 0 || call->ended_ns > life->failed_ns + TOLD_NS))
		trusts_fail(play, "end: node %u has failed, and call %u does not end", (unsigned)life->id,
			    call->number);

	if (call->ends != 1 && !(call->ends == 0 && (call->life->killed_ns != 0 || call->life->leaving_ns != 0))) {
		trusts_fail(play, "end: call %u has %u ends", call->number, (unsigned)call->ends);
		return;
	}
	if (call->ends == 0)
		return;
	fault = fault_of(call);
	if (fault != NULL)
		trusts_fail(play, "result: call %u (deed %d) by node %u, %.6f to %.6f s, gives %s, and %s",
			    call->number, (int)call->deed, (unsigned)call->life->id, (double)call->began_ns / 1e9,
			    (double)call->ended_ns / 1e9, whorl_result_text(call->result), fault);
	if (call->deed != TRUSTS_ACT)
		return;
	if (call->place > 0 && call->result != WHORL_OK && call->result != WHORL_IN_DOUBT)
		trusts_fail(play, "result: act %u has run, and gives %s", call->number,
			    whorl_result_text(call->result));
	if (call->result == WHORL_OK && call->place == 0)
		trusts_fail(play, "lost: act %u was answered, and no member has run it", call->number);
	else if (call->result == WHORL_OK && call->told.count != call->place)
		trusts_fail(play, "result: act %u is told that it was number %u, and was %u", call->number,
			    (unsigned)call->told.count, (unsigned)call->place);
	if (call->result == WHORL_OK && call->thing->ended_ns != 0 && call->began_ns > call->thing->ended_ns)
		trusts_fail(play, "result: act %u on a thing that has ended", call->number);
}

/* The acts of one thread on one thing run in the order in which they were made. */
static void judge_order(struct trusts_play *play)
{
	for (uint32_t i = 0; i < play->thing_count; i++) {
		uint32_t newest[TRUSTS_LIVES][TRUSTS_SEATS] = {{0}};

		for (uint32_t at = 0; at < play->things[i]->length; at++) {
			uint32_t number = play->things[i]->order[at];
			const struct trusts_call *call = play->calls[number];
			uint32_t *before = &newest[call->life->number][call->seat->worker];

			if (number < *before)
				trusts_fail(play, "order: act %u of one thread runs behind %u", number, *before);
			*before = number;
		}
	}
}

/* Local reads may be late; all else is one copy. Of an act that was not answered nothing is known but that it ran. */
static bool is_of_history(const struct trusts_call *call)
{
	if (call->deed == TRUSTS_READ)
		return call->ends == 1 && call->result == WHORL_OK && call->reads != WHORL_READS_LOCAL;
	return call->deed == TRUSTS_ACT && call->place > 0;
}

static struct linear_op linear_of(const struct trusts_call *call)
{
	bool told = call->ends == 1 && call->result == WHORL_OK;

	return (struct linear_op){.key = (uint64_t)call->thing->number * TRUSTS_KEYS + call->key,
				  .client = call->life->number,
				  .kind = (enum linear_kind)call->kind,
				  .argument = call->argument,
				  .found = call->told.found != 0,
				  .answer = call->told.value,
				  .began_ns = call->began_ns,
				  .ended_ns = told ? call->ended_ns : LINEAR_UNKNOWN};
}

static void judge_histories(struct trusts_play *play)
{
	struct linear_op *ops = trusts_must(calloc(play->call_count + 1, sizeof(*ops)));
	struct linear_fault fault;
	size_t count = 0;

	for (uint32_t i = 0; i < play->call_count; i++)
		if (is_of_history(play->calls[i]))
			ops[count++] = linear_of(play->calls[i]);
	if (linear_check(ops, count, STATES, &fault) == LINEAR_BAD)
		trusts_fail(play, "one copy: thing %u: %s", (unsigned)(fault.key / TRUSTS_KEYS), fault.text);
	free(ops);
}

void trusts_judge(struct trusts_play *play)
{
	for (uint32_t i = 0; i < play->call_count && !trusts_failed(play); i++)
		judge_call(play, play->calls[i]);
	if (!trusts_failed(play))
		judge_order(play);
	if (!trusts_failed(play))
		judge_histories(play);
}
