/* member.c - see member.h.
 *
 * Nothing here decides whether the group does right: a member does what the parent orders, writes down what it sees, and
 * complains only of what it alone can see.
 */
#include "tests/processes/member.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/patience.h"
#include "tests/processes/member_int.h"
#include "tests/processes/payload.h"

#define PATIENCE_MS ((int)test_patience(30000))
#define NAP_MS 2
#define READY_MS 20
#define BURST 16 /* claims in a row */
#define LOOK_NS UINT64_C(1000000)

void member_complain(struct state *state, const char *format, ...)
{
	va_list args;

	if (atomic_exchange(&state->complaining, true))
		return;
	va_start(args, format);
	vsnprintf(state->complaint, sizeof(state->complaint), format, args);
	va_end(args);
	state->complained = true;
}

static void keep_line(enum whorl_log_level level, const char *line, void *ctx)
{
	struct state *state = ctx;

	if (level <= WHORL_LOG_INFO)
		snprintf(state->lines[state->line_count++ % LINES], sizeof(state->lines[0]), "%s", line);
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static void note_refusal(const struct stream *stream, const struct whorl_claim *claim, enum whorl_result result)
{
	struct state *state = stream->member->state;
	uint32_t at = state->refusals;

	if (result != WHORL_REMOVED || at == REFUSALS) {
		member_complain(state, "claim %llu was finished: %s", (unsigned long long)claim->number,
				whorl_result_text(result));
		return;
	}
	state->refused[at] = (struct refusal){.group = stream->group, .index = claim->number};
	state->refusals = at + 1;
}

static void finish(struct stream *stream, struct whorl_claim *claim)
{
	struct member *me = stream->member;
	uint64_t key = payload_key(me->board, stream->group, me->life, claim->number);
	size_t bytes = payload_bytes(key, stream->group);
	enum whorl_result result;

	if (!payload_aborted(key))
		payload_fill(key, claim->data, bytes);
	result = payload_aborted(key) ? whorl_abort(claim) : whorl_commit(claim, bytes);
	if (result != WHORL_OK && result != WHORL_PENDING)
		note_refusal(stream, claim, result);
	else if (!payload_aborted(key))
		me->state->committed[stream->group]++;
}

/* A held claim has half of its message before the fault, and all of it after. */
static void hold(struct stream *stream, const struct whorl_claim *claim)
{
	struct member *me = stream->member;

	stream->held = *claim;
	stream->holding = true;
	payload_fill(payload_key(me->board, stream->group, me->life, claim->number), claim->data,
		     groups[0].message_bytes / 2);
	me->state->holding = true;
}

/* The other groups keep to the pace of the first, which all are in. Else the members of a small group may take all processor
 * time for it: on few processors a smaller view, in which that group is quicker, would make the first one slower. */
static bool keeps_pace(const struct stream *stream)
{
	const struct state *state = stream->member->state;

	return stream->group == 0 || state->claimed[stream->group] <= state->in_state[0] / 8 + BURST;
}

/* Of those that are told to rest or to send, and to tell others. */
static void rest_or_send(const struct stream *stream)
{
	const struct member *me = stream->member;
	uint32_t order = me->state->order;
	enum whorl_result result;

	if (order < ORDER_REST || order > ORDER_ASK_TO_SEND || !member_take_order(me, order))
		return;
	if (order == ORDER_REST || order == ORDER_SEND)
		result = whorl_pause_sending(stream->subgroup, order == ORDER_REST);
	else
		result = whorl_request_pause(stream->subgroup, me->id + 1, order == ORDER_ASK_TO_REST);
	if (result != WHORL_OK && result != WHORL_REMOVED && result != WHORL_NO_QUORUM && result != WHORL_CUT_OFF)
		member_complain(me->state, "to rest, or not: %s", whorl_result_text(result));
}

static bool send_some(struct stream *stream)
{
	struct member *me = stream->member;
	struct whorl_claim claim;
	bool worked = false;

	if (stream->holding && member_take_order(me, ORDER_RELEASE)) {
		finish(stream, &stream->held);
		stream->holding = false;
		me->state->holding = false;
	}
	if (stream->group == 0)
		rest_or_send(stream);
	for (int n = 0; n < BURST && !me->board->ending && !me->removed && keeps_pace(stream); n++) {
		enum whorl_result result = whorl_claim(stream->subgroup, groups[stream->group].message_bytes, &claim);

		me->state->claim = result;
		if (result != WHORL_OK)
			break;
		me->state->claimed[stream->group] = claim.number + 1;
		if (stream->group == 0 && !stream->holding && member_take_order(me, ORDER_HOLD))
			hold(stream, &claim);
		else
			finish(stream, &claim);
		worked = true;
	}
	return worked;
}

/* ---- the state of the node ------------------------------------------------------------------------------------------ */

/* A removed node gets that answer from every call, and at once. */
static void check_removed(struct member *me)
{
	uint64_t begin = now_ns();
	struct whorl_claim claim;

	for (uint32_t g = 0; g < GROUPS; g++) {
		whorl_subgroup *subgroup = me->streams[g].subgroup;
		enum whorl_result results[3];

		if (!me->streams[g].sender)
			continue;
		results[0] = whorl_claim(subgroup, 8, &claim);
		results[1] = whorl_claim_wait(subgroup, 8, PATIENCE_MS, &claim);
		results[2] = whorl_send(subgroup, "late", 4, PATIENCE_MS, NULL);
		for (int i = 0; i < 3; i++)
			if (results[i] != WHORL_REMOVED)
				member_complain(me->state, "call %d after the removal: %s", i,
						whorl_result_text(results[i]));
	}
	if (whorl_ready(me->node, PATIENCE_MS) == WHORL_TIMEOUT ||
	    now_ns() - begin > PATIENCE_MS / 2 * UINT64_C(1000000))
		member_complain(me->state, "calls wait although the node was removed");
}

static void look_at_logs(const struct member *me)
{
	struct whorl_log_stats stats = {.size = sizeof(stats)};
	uint32_t whole = 0;

	for (uint32_t g = 0; g < GROUPS; g++)
		if (me->streams[g].subgroup != NULL &&
		    whorl_log_statistics(me->streams[g].subgroup, &stats) == WHORL_OK && stats.whole)
			whole |= 1u << g;
	me->state->whole = whole;
}

static void look_at_statistics(struct member *me, uint64_t now)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};
	struct state *state = me->state;
	uint64_t view = state->view;

	if (now < me->looked_ns + LOOK_NS)
		return;
	me->looked_ns = now;
	if (me->board->durable)
		look_at_logs(me);
	whorl_node_statistics(me->node, &stats);
	if (stats.state_kept > state->kept)
		state->kept = stats.state_kept;
	if (view > 0 && state->stages_known != view && state->first_ns != 0 &&
	    stats.change_ns[WHORL_STAGE_DELIVERED] != 0 && state->view == view) {
		memcpy(state->change_ns, stats.change_ns, sizeof(state->change_ns));
		state->stages_known = view;
	}
}

static void look(struct member *me)
{
	struct state *state = me->state;
	char text[sizeof(state->text)] = "";
	enum whorl_result error = whorl_error(me->node, text, sizeof(text));

	if (error != state->error) {
		memcpy(state->text, text, sizeof(text));
		state->error = error;
	}
	if (error == WHORL_REMOVED && !me->removed) {
		me->removed = true;
		check_removed(me);
	}
	look_at_statistics(me, now_ns());
}

/* ---- life ----------------------------------------------------------------------------------------------------------- */

static void idle(struct member *me)
{
	struct pollfd windows[GROUPS];
	uint64_t room;

	if (me->state->caller) {
		enum whorl_result result = whorl_wait(me->node, NAP_MS);

		if (result != WHORL_OK && result != WHORL_TIMEOUT)
			member_complain(me->state, "whorl_wait: %s", whorl_result_text(result));
		return;
	}
	for (uint32_t g = 0; g < GROUPS; g++) {
		struct stream *stream = &me->streams[g];

		windows[g] = (struct pollfd){.fd = -1, .events = POLLIN};
		if (stream->sender && !stream->armed)
			stream->armed = whorl_window_arm(stream->subgroup) == WHORL_AGAIN;
		if (stream->armed)
			windows[g].fd = whorl_window_fd(stream->subgroup);
	}
	poll(windows, GROUPS, NAP_MS);
	for (uint32_t g = 0; g < GROUPS; g++)
		if ((windows[g].revents & POLLIN) != 0 && read(windows[g].fd, &room, sizeof(room)) == sizeof(room))
			me->streams[g].armed = false;
}

static bool is_to_close(struct member *me)
{
	me->leaving |= member_take_order(me, ORDER_CLOSE);
	return me->leaving || me->board->closing;
}

/* Between bursts it naps, as long as the parent wants. */
static bool send_in_all(struct member *me)
{
	uint32_t nap_us = me->board->nap_us;
	bool worked = false;

	if (me->board->silent || (nap_us > 0 && now_ns() < me->sends_ns))
		return false;
	for (uint32_t g = 0; g < GROUPS; g++)
		if (me->streams[g].sender)
			worked |= send_some(&me->streams[g]);
	me->sends_ns = now_ns() + nap_us * UINT64_C(1000);
	return worked;
}

static void live(struct member *me)
{
	while (!is_to_close(me)) {
		bool worked = send_in_all(me), holding = false;

		for (uint32_t g = 0; g < GROUPS; g++)
			holding |= me->streams[g].holding;
		if (me->state->caller)
			worked |= whorl_step(me->node) > 0;
		look(me);
		if (me->board->ending && !holding && me->state->stage == STAGE_READY)
			me->state->stage = STAGE_QUIET;
		if (!worked)
			idle(me);
	}
}

static bool configure(const struct member *me, whorl_config *config)
{
	const struct state *state = me->state;

	return (!state->caller || whorl_config_set(config, "engine.thread=caller") == WHORL_OK) &&
	       (state->quirk[0] == '\0' || whorl_config_set(config, state->quirk) == WHORL_OK) &&
	       whorl_config_load_text(config, "board", me->board->config) == WHORL_OK;
}

/* What the parent makes of that is its own matter. */
static void note_error(struct state *state, enum whorl_result result, const char *text)
{
	snprintf(state->text, sizeof(state->text), "%s", text);
	state->error = result;
}

static bool open_node(struct member *me)
{
	whorl_config *config = whorl_config_new();
	struct whorl_open_options options = {.size = sizeof(options), .log = keep_line, .log_ctx = me->state};
	enum whorl_result result = WHORL_CONFIG;

	if (config != NULL && configure(me, config))
		result = whorl_open(config, me->id, &options, &me->node);
	if (result != WHORL_OK)
		note_error(me->state, result, config != NULL ? whorl_config_error(config) : "no memory");
	whorl_config_free(config);
	return result == WHORL_OK;
}

static void begin_to_send(struct member *me)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	struct whorl_node_stats stats = {.size = sizeof(stats)};
	struct state *state = me->state;

	for (uint32_t g = 0; g < GROUPS; g++) {
		struct stream *stream = &me->streams[g];

		if (stream->subgroup != NULL && whorl_subgroup_describe(stream->subgroup, &info) == WHORL_OK)
			stream->sender = info.sender >= 0;
	}
	whorl_node_statistics(me->node, &stats);
	memcpy(state->entry_ns, stats.entry_ns, sizeof(state->entry_ns));
	state->ready_ns = now_ns();
	state->stage = STAGE_READY;
}

/* Until it is a member and has its states, or never will be. */
static enum whorl_result come_in(struct member *me)
{
	enum whorl_result result;

	do {
		result = whorl_ready(me->node, READY_MS);
		whorl_progress(me->node, me->state->progress, sizeof(me->state->progress));
		look(me);
	} while (result == WHORL_TIMEOUT && !is_to_close(me));
	return result;
}

static void run_node(struct member *me)
{
	struct state *state = me->state;
	enum whorl_result result;

	state->stage = STAGE_OPEN;
	state->start_ns = now_ns();
	result = whorl_start(me->node);
	if (result == WHORL_OK)
		result = come_in(me);
	if (result == WHORL_OK)
		begin_to_send(me);
	else if (result != WHORL_TIMEOUT && state->error == WHORL_OK)
		member_complain(state, "ready: %s, and whorl_error says nothing", whorl_result_text(result));
	live(me);
	state->close = whorl_close(me->node, state->close_ms);
	for (uint32_t g = 0; g < GROUPS; g++)
		if (me->streams[g].holding && whorl_abort(&me->streams[g].held) != WHORL_CLOSED)
			member_complain(state, "a claim was open when the node closed, and its end does not say so");
}

bool member_wanted(int argc, char **argv)
{
	return argc == 4 && strcmp(argv[1], "member") == 0;
}

/* In pages of the usual size, as a large row has. */
static bool take_ballast(uint64_t bytes)
{
	unsigned char *memory;

	if (bytes == 0)
		return true;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	memset(memory, 1, bytes);
	return true;
}

int member_main(char **argv)
{
	struct member me = {.life = (uint32_t)atoi(argv[2])};
	int before = remains_descriptors();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	me.board = mmap(NULL, sizeof(*me.board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, atoi(argv[3]), 0);
	if (me.board == MAP_FAILED || me.life >= LIVES_MAX || getppid() != me.board->parent)
		return 2;
	me.state = &me.board->state[me.life];
	me.id = me.state->id;
	if (take_ballast(me.board->ballast_bytes) && open_node(&me)) {
		upcalls_set(&me);
		run_node(&me);
		states_end(&me);
		remains_check(&me, before);
	}
	me.state->stage = STAGE_CLOSED;
	return me.state->complained ? 1 : 0;
}
