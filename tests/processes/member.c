/* member.c - see member.h.
 *
 * Nothing here decides whether the group does right: a member does what the parent orders, writes down what it sees, and
 * complains only of what it alone can see.
 */
#include "tests/processes/member.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/processes/board.h"
#include "tests/processes/payload.h"

#define PATIENCE_MS 30000
#define NAP_MS 2
#define BURST 16 /* claims in a row */

struct stream {
	struct member *member;
	uint32_t group;
	whorl_subgroup *subgroup; /* NULL: this node is not in it */
	bool sender, holding;
	struct whorl_claim held;
};

struct member {
	struct board *board;
	struct state *state;
	uint32_t id;
	bool caller, removed;
	whorl_node *node;
	struct stream streams[GROUPS];
};

__attribute__((format(printf, 2, 3))) static void complain(struct state *state, const char *format, ...)
{
	va_list args;

	if (atomic_exchange(&state->complaining, true))
		return;
	va_start(args, format);
	vsnprintf(state->complaint, sizeof(state->complaint), format, args);
	va_end(args);
	state->complained = true;
}

static bool take_order(struct member *me, uint32_t order)
{
	return atomic_compare_exchange_strong(&me->board->order[me->id], &order, ORDER_NONE);
}

static void keep_line(enum whorl_log_level level, const char *line, void *ctx)
{
	struct state *state = ctx;

	if (level <= WHORL_LOG_INFO)
		snprintf(state->lines[state->line_count++ % LINES], sizeof(state->lines[0]), "%s", line);
}

/* ---- upcalls ------------------------------------------------------------------------------------------------------ */

static void append(struct state *state, const struct record *record)
{
	uint64_t at = state->records;

	if (at == RECORDS) {
		complain(state, "the log is full");
		return;
	}
	state->log[at] = *record;
	atomic_store_explicit(&state->records, at + 1, memory_order_release);
}

static uint64_t bits(const uint32_t *ids, uint32_t count)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= UINT64_C(1) << ids[i];
	return all;
}

static void begin_view(const struct whorl_view *view, void *ctx)
{
	struct member *me = ctx;
	struct record record = {.kind = RECORD_VIEW,
				.sender = (uint16_t)view->rank,
				.view = view->number,
				.members = bits(view->members, view->member_count),
				.joined = bits(view->joined, view->joined_count),
				.left = bits(view->left, view->left_count)};

	append(me->state, &record);
	me->state->view_ns = now_ns();
	me->state->first_ns = 0;
	me->state->view = view->number;
	me->state->members = record.members;
}

static void count(struct member *me, const struct stream *stream, uint32_t sender)
{
	struct state *state = me->state;
	uint64_t now = now_ns();

	if (state->first_ns == 0)
		state->first_ns = now;
	state->slot[board_slot(me->board, now)]++;
	state->delivered[stream->group][sender]++;
	state->total++;
}

/* Reads the payload in place, in two halves: between them the whole process may stand still. */
static void deliver(const struct whorl_message *message, void *ctx)
{
	struct stream *stream = ctx;
	struct member *me = stream->member;
	uint64_t key = payload_key(me->board, stream->group, message->sender, message->index), digest = 0;
	size_t half = message->bytes / 16 * 8;
	bool intact = message->bytes == payload_bytes(key, stream->group) && !payload_aborted(key);
	struct record record = {.kind = RECORD_MESSAGE,
				.group = (uint8_t)stream->group,
				.sender = (uint16_t)message->sender,
				.bytes = (uint32_t)message->bytes,
				.view = message->view,
				.index = message->index,
				.sequence = message->sequence};

	intact = intact && payload_read(key, message->data, 0, half, &digest);
	if (half > 0 && take_order(me, ORDER_STOP_READING))
		raise(SIGSTOP);
	if (take_order(me, ORDER_EXIT))
		_exit(0);
	intact = intact && payload_read(key, message->data, half, message->bytes, &digest);
	if (!intact)
		complain(me->state, "%s: message %llu of node %u (%zu bytes) is not what was sent",
			 groups[stream->group].name, (unsigned long long)message->index, message->sender,
			 message->bytes);
	record.digest = digest;
	append(me->state, &record);
	count(me, stream, message->sender);
}

static void deliver_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	for (size_t i = 0; i < count; i++)
		deliver(&messages[i], ctx);
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static void note_refusal(const struct stream *stream, const struct whorl_claim *claim, enum whorl_result result)
{
	struct state *state = stream->member->state;
	uint32_t at = state->refusals;

	if (result != WHORL_REMOVED || at == REFUSALS) {
		complain(state, "claim %llu was finished: %s", (unsigned long long)claim->number,
			 whorl_result_text(result));
		return;
	}
	state->refused[at] = (struct refusal){.group = stream->group, .index = claim->number};
	state->refusals = at + 1;
}

static void finish(struct stream *stream, struct whorl_claim *claim)
{
	struct member *me = stream->member;
	uint64_t key = payload_key(me->board, stream->group, me->id, claim->number);
	size_t bytes = payload_bytes(key, stream->group);
	enum whorl_result result;

	if (!payload_aborted(key))
		payload_fill(key, claim->data, bytes);
	result = payload_aborted(key) ? whorl_abort(claim) : whorl_commit(claim, bytes);
	if (result != WHORL_OK && result != WHORL_NO_QUORUM)
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
	payload_fill(payload_key(me->board, stream->group, me->id, claim->number), claim->data,
		     groups[0].message_bytes / 2);
	me->state->holding = true;
}

/* The other groups keep to the pace of the first, which all are in. Else those who are in a small one may take all processor
 * time for it: on few processors a smaller view, in which that is quicker, would make the first one slower. */
static bool keeps_pace(const struct stream *stream)
{
	const struct state *state = stream->member->state;
	uint64_t delivered = 0;

	for (uint32_t sender = 0; sender < MEMBERS_MAX; sender++)
		delivered += state->delivered[0][sender];
	return stream->group == 0 || state->claimed[stream->group] <= delivered / 8 + BURST;
}

static bool send_some(struct stream *stream)
{
	struct member *me = stream->member;
	struct whorl_claim claim;
	bool worked = false;

	if (stream->holding && take_order(me, ORDER_RELEASE)) {
		finish(stream, &stream->held);
		stream->holding = false;
		me->state->holding = false;
	}
	for (int n = 0; n < BURST && !me->board->ending && !me->removed && keeps_pace(stream); n++) {
		enum whorl_result result = whorl_claim(stream->subgroup, groups[stream->group].message_bytes, &claim);

		me->state->claim = result;
		if (result != WHORL_OK)
			break;
		me->state->claimed[stream->group] = claim.number + 1;
		if (stream->group == 0 && !stream->holding && take_order(me, ORDER_HOLD))
			hold(stream, &claim);
		else
			finish(stream, &claim);
		worked = true;
	}
	return worked;
}

/* ---- the state of the node ------------------------------------------------------------------------------------------ */

/* Who was removed gets that answer from every call, and at once. */
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
		results[2] = whorl_send(subgroup, "late", 4, PATIENCE_MS);
		for (int i = 0; i < 3; i++)
			if (results[i] != WHORL_REMOVED)
				complain(me->state, "call %d after the removal: %s", i, whorl_result_text(results[i]));
	}
	if (whorl_ready(me->node, PATIENCE_MS) == WHORL_TIMEOUT ||
	    now_ns() - begin > PATIENCE_MS / 2 * UINT64_C(1000000))
		complain(me->state, "calls wait although the node was removed");
}

static void look(struct member *me)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};
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
	if (state->view > 0 && state->stages_known != state->view && state->first_ns != 0) {
		uint64_t view = state->view;

		whorl_node_statistics(me->node, &stats);
		if (stats.change_ns[WHORL_STAGE_DELIVERED] != 0 && stats.views == view + 1) {
			memcpy(state->change_ns, stats.change_ns, sizeof(state->change_ns));
			state->stages_known = view;
		}
	}
}

/* ---- life ----------------------------------------------------------------------------------------------------------- */

static void idle(struct member *me)
{
	struct pollfd windows[GROUPS];

	if (me->caller) {
		enum whorl_result result = whorl_wait(me->node, NAP_MS);

		if (result != WHORL_OK && result != WHORL_TIMEOUT)
			complain(me->state, "whorl_wait: %s", whorl_result_text(result));
		return;
	}
	for (uint32_t g = 0; g < GROUPS; g++) {
		windows[g] = (struct pollfd){.fd = -1, .events = POLLIN};
		if (me->streams[g].sender && whorl_window_arm(me->streams[g].subgroup) == WHORL_AGAIN)
			windows[g].fd = whorl_window_fd(me->streams[g].subgroup);
	}
	poll(windows, GROUPS, NAP_MS);
}

static void live(struct member *me)
{
	while (!me->board->closing) {
		bool worked = false, holding = false;

		for (uint32_t g = 0; g < GROUPS; g++) {
			if (me->streams[g].sender)
				worked |= send_some(&me->streams[g]);
			holding |= me->streams[g].holding;
		}
		if (me->caller)
			worked |= whorl_step(me->node) > 0;
		look(me);
		if (me->board->ending && !holding)
			me->state->stage = STAGE_QUIET;
		if (!worked)
			idle(me);
	}
}

static bool open_node(struct member *me)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	whorl_config *config = whorl_config_new();
	struct whorl_open_options options = {.size = sizeof(options), .log = keep_line, .log_ctx = me->state};

	if (config == NULL || (me->caller && whorl_config_set(config, "engine.thread=caller") != WHORL_OK) ||
	    whorl_config_load_text(config, "board", me->board->config) != WHORL_OK ||
	    whorl_open(config, me->id, &options, &me->node) != WHORL_OK) {
		complain(me->state, "open: %s", whorl_config_error(config));
		whorl_config_free(config);
		return false;
	}
	whorl_config_free(config);
	for (uint32_t g = 0; g < GROUPS; g++) {
		struct stream *stream = &me->streams[g];

		*stream = (struct stream){.member = me, .group = g};
		stream->subgroup = whorl_subgroup_find(me->node, groups[g].name);
		if (stream->subgroup == NULL)
			continue;
		whorl_subgroup_describe(stream->subgroup, &info);
		stream->sender = info.sender >= 0;
		if (g % 2 == 0)
			whorl_on_message(stream->subgroup, deliver, stream);
		else
			whorl_on_batch(stream->subgroup, deliver_batch, stream);
	}
	whorl_on_view(me->node, begin_view, me);
	return true;
}

static void run_node(struct member *me)
{
	enum whorl_result result = whorl_start(me->node);

	if (result == WHORL_OK)
		result = whorl_ready(me->node, PATIENCE_MS);
	if (result == WHORL_OK) {
		me->state->stage = STAGE_READY;
		live(me);
	} else {
		complain(me->state, "ready: %s", whorl_result_text(result));
	}
	me->state->close = whorl_close(me->node, me->board->close_ms);
	for (uint32_t g = 0; g < GROUPS; g++)
		if (me->streams[g].holding && whorl_abort(&me->streams[g].held) != WHORL_CLOSED)
			complain(me->state, "a claim was open when the node closed, and its end does not say so");
}

/* ---- what is left --------------------------------------------------------------------------------------------------- */

static int descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (directory != NULL && readdir(directory) != NULL)
		count++;
	if (directory != NULL)
		closedir(directory);
	return count;
}

/* Those of the library, which have names; a sanitizer has threads too. */
static int threads(void)
{
	DIR *directory = opendir("/proc/self/task");
	const struct dirent *entry;
	int count = 0;

	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		char path[300], name[20] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file == NULL) /* it has just ended */
			continue;
		count += fgets(name, sizeof(name), file) != NULL && strncmp(name, "whorl", 5) == 0;
		fclose(file);
	}
	if (directory != NULL)
		closedir(directory);
	return count;
}

/* The first line of the process's maps that has the word; "" if there is none. */
static void find_mapping(const char *word, char *line, size_t bytes)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;

	while (maps != NULL && !found && fgets(line, (int)bytes, maps) != NULL)
		found = strstr(line, word) != NULL;
	if (!found)
		line[0] = '\0';
	if (maps != NULL)
		fclose(maps);
}

/* A thread that has ended may be listed for a moment yet. */
static void check_remains(struct member *me, int before)
{
	char line[200];

	for (int n = 0; n < PATIENCE_MS && threads() > 0; n++)
		poll(NULL, 0, 1);
	if (threads() > 0)
		complain(me->state, "%d threads are left behind", threads());
	if (descriptors() != before)
		complain(me->state, "%d descriptors are left behind", descriptors() - before);
	find_mapping("/memfd:whorl-", line, sizeof(line));
	if (line[0] != '\0')
		complain(me->state, "shared memory is left behind: %s", line);
}

bool member_wanted(int argc, char **argv)
{
	return argc == 4 && strcmp(argv[1], "member") == 0;
}

int member_main(char **argv)
{
	struct member me = {.id = (uint32_t)atoi(argv[2])};
	int before = descriptors();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	me.board = mmap(NULL, sizeof(*me.board), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[3]), 0);
	if (me.board == MAP_FAILED || me.id >= MEMBERS_MAX || getppid() != me.board->parent)
		return 2;
	me.state = &me.board->state[me.id];
	me.caller = me.board->caller[me.id];
	if (open_node(&me)) {
		run_node(&me);
		check_remains(&me, before);
	}
	me.state->stage = STAGE_CLOSED;
	return me.state->complained ? 1 : 0;
}
