/* state.c - a state as a whole: its life, its passes, and how its jobs are run. See state.h. */
#include "state/state.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/size.h"
#include "base/thread.h"
#include "state/state_int.h"

void wh_state_log(const struct wh_state *state, enum wh_log_level level, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	state->hooks.log(state->hooks.ctx, level, text);
}

/* ---- transfers -------------------------------------------------------------------------------------------------------- */

void *wh_transfer_create(struct wh_state *state, size_t bytes, size_t buffer_bytes, uint32_t node,
			 void (*work)(struct wh_transfer *transfer, bool may_wait))
{
	struct wh_transfer *transfer = calloc(1, bytes);

	if (transfer == NULL)
		return NULL;
	transfer->buffer = malloc(buffer_bytes);
	if (transfer->buffer == NULL) {
		free(transfer);
		return NULL;
	}
	transfer->state = state;
	transfer->node = node;
	transfer->work = work;
	transfer->began_ns = transfer->reported_ns = *state->hooks.now_ns;
	return transfer;
}

void wh_transfer_free(struct wh_transfer *transfer)
{
	free(transfer->buffer);
	free(transfer);
}

static uint64_t thread_ns(void)
{
	struct timespec taken = {.tv_sec = 0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &taken);
	return (uint64_t)taken.tv_sec * WH_NS_PER_S + (uint64_t)taken.tv_nsec;
}

/* A large transfer would else take as much of a processor as each loop of the group that runs there. */
static bool is_large(struct wh_transfer *transfer)
{
	if (transfer->stands_back)
		return true;
	if (wh_load_relaxed(&transfer->bytes) <= WH_STATE_SMALL && thread_ns() - transfer->cpu_ns <= WH_STATE_SMALL_NS)
		return false;
	transfer->takes_turns = wh_thread_stand_back_or_take_turns();
	transfer->cpu_ns = thread_ns();
	return transfer->stands_back = true;
}

/* Loops of the same priority have waited for the last piece, all of it. */
static void take_turn(struct wh_transfer *transfer)
{
	uint64_t now_ns = thread_ns();

	transfer->slow_pieces = now_ns - transfer->cpu_ns < WH_STATE_SLOW_NS ? 0 : transfer->slow_pieces + 1;
	transfer->cpu_ns = now_ns;
	if (transfer->slow_pieces < WH_STATE_SLOW_PIECES) {
		(void)sched_yield();
		return;
	}
	wh_thread_stand_back();
	transfer->takes_turns = false;
}

bool wh_transfer_gives_way(struct wh_transfer *transfer)
{
	if (!is_large(transfer))
		return false;
	if (transfer->takes_turns)
		take_turn(transfer);
	return true;
}

/* On a thread of its own it may wait. On the loop's thread (in simulation, or where no thread can be had) it does a little each time. */
static void run_transfer(void *argument)
{
	struct wh_transfer *transfer = argument;
	const struct wh_state_hooks *hooks = &transfer->state->hooks;
	bool apart = !pthread_equal(transfer->loop, pthread_self()), moved;

	transfer->moved = transfer->stands_back = transfer->takes_turns = false;
	transfer->slow_pieces = 0;
	transfer->cpu_ns = apart ? thread_ns() : 0;
	transfer->work(transfer, apart);
	moved = transfer->moved || transfer->end != WH_TRANSFER_GOES_ON;
	/* All that this job did is the loop's from here on, which may free the transfer. Partner: wh_transfer_rests. The state stays
	 * until job_ends. */
	wh_store_release(&transfer->busy, 0);
	if (moved)
		hooks->transport->ops->wake(hooks->transport);
	hooks->job_ends(hooks->ctx);
}

void wh_transfer_submit(struct wh_transfer *transfer)
{
	const struct wh_state_hooks *hooks = &transfer->state->hooks;

	transfer->loop = pthread_self();
	wh_store_relaxed(&transfer->busy, 1); /* what hands the transfer over is submit */
	hooks->job_begins(hooks->ctx);
	hooks->env->submit(hooks->env->ctx, run_transfer, transfer);
}

void wh_transfer_pace(const struct wh_transfer *transfer, char text[WH_TRANSFER_PACE_BYTES])
{
	uint64_t bytes = wh_load_relaxed(&transfer->bytes);
	char size[WH_SIZE_BYTES], rate[WH_SIZE_BYTES];
	double seconds = (double)(*transfer->state->hooks.now_ns - transfer->began_ns) / 1e9;

	snprintf(text, WH_TRANSFER_PACE_BYTES, "%s in %.3f s, %s/s", wh_size_text(bytes, size, sizeof(size)), seconds,
		 wh_size_text(seconds > 0 ? (uint64_t)((double)bytes / seconds) : 0, rate, sizeof(rate)));
}

void wh_transfer_report(struct wh_transfer *transfer, const char *does)
{
	const struct wh_state *state = transfer->state;
	char pace[WH_TRANSFER_PACE_BYTES];

	if (*state->hooks.now_ns - transfer->reported_ns < WH_STATE_REPORT_NS)
		return;
	transfer->reported_ns = *state->hooks.now_ns;
	wh_transfer_pace(transfer, pace);
	wh_state_log(state, WH_LOG_INFO, "the state of %s: %s node %" PRIu32 " so far: %s", state->hooks.name, does,
		     transfer->node, pace);
}

/* ---- life ----------------------------------------------------------------------------------------------------------- */

enum whorl_result wh_state_create(struct wh_state **out, const struct whorl_state *functions,
				  const struct wh_state_hooks *hooks, struct wh_error *err)
{
	struct wh_state *state = calloc(1, sizeof(*state));

	*out = NULL;
	if (state == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for the state of %s", hooks->name);
	state->functions = *functions;
	state->hooks = *hooks;
	state->phase = WH_STATE_HAS;
	state->asked = WH_NOBODY;
	wh_backlog_init(&state->given, hooks->backlog_max);
	wh_backlog_init(&state->backlog, hooks->backlog_max);
	*out = state;
	return WHORL_OK;
}

void wh_state_is_born(struct wh_state *state, uint64_t birth)
{
	state->hooks.subgroup = birth;
}

static void close_spare(struct wh_state *state)
{
	if (state->spare != NULL)
		state->spare->ops->close(state->spare);
	state->spare = NULL;
}

void wh_state_stop(struct wh_state *state)
{
	state->stopped = true;
	wh_state_stop_gives(state);
	wh_take_stop(state->take, WH_TAKE_UNWANTED); /* also if it is done: nothing comes of it any more */
	memset(state->answers, 0, sizeof(state->answers));
	state->answers_due = 0;
	if (state->take != NULL && wh_transfer_rests(&state->take->transfer))
		wh_take_finish(state->take);
	close_spare(state);
	if (state->phase != WH_STATE_HAS) {
		state->phase = WH_STATE_FAILED;
		wh_backlog_clear(&state->given);
		wh_backlog_clear(&state->backlog);
	}
}

void wh_state_free(struct wh_state *state, bool forked)
{
	if (state == NULL)
		return;
	if (!forked && !state->stopped)
		wh_state_stop(state);
	wh_state_free_gives(state, forked);
	if (state->take != NULL) {
		if (!forked)
			wh_take_finish(state->take);
		wh_take_free(state->take);
	}
	wh_backlog_clear(&state->given);
	wh_backlog_clear(&state->backlog);
	free(state);
}

/* It is not restored yet. */
static bool awaits_state(const struct wh_state *state)
{
	return state->phase == WH_STATE_AWAITS || state->phase == WH_STATE_EMPTIES;
}

size_t wh_state_step(struct wh_state *state)
{
	size_t work = 0;

	if (state->gives != NULL || state->answers_due > 0)
		work += wh_state_step_gives(state);
	if (awaits_state(state) || state->take != NULL || state->spare != NULL)
		work += wh_state_step_await(state);
	if (state->phase == WH_STATE_CATCHES_UP && !state->refused)
		work += wh_state_step_catch_up(state);
	return work;
}

bool wh_state_gives(const struct wh_state *state)
{
	return state->gives != NULL || state->answers_due > 0;
}

bool wh_state_is_busy(const struct wh_state *state)
{
	return wh_state_gives(state) || awaits_state(state) || state->take != NULL || state->spare != NULL ||
	       (state->phase == WH_STATE_CATCHES_UP && !state->refused);
}

const struct wh_state_stats *wh_state_statistics(const struct wh_state *state)
{
	return &state->stats;
}
