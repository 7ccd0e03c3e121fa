/* node_life.c - the life of a member: it opens, waits to be let in, sends, is looked after, and leaves. All on the main thread,
 * which sleeps in one poll: signals, lines to write, input, the window. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "group/config/config.h"
#include "tools/node.h"

#define LOOK_NS (100 * WH_NS_PER_MS)
#define DRAIN_MS 10000
#define BURST 256 /* messages, between two looks at everything else */

struct life {
	struct wh_member member;
	struct wh_conf *conf;
	struct wh_node_config config;
	whorl_config *borrowed;
	uint64_t began_ns, looked_ns, second_ns;
	bool ready, lost_quorum;
	char progress[256]; /* as last told */
	uint64_t progress_ns;
	struct transfer {
		uint64_t began_ns; /* 0: there is none */
		uint64_t bytes;    /* that were given or taken before it */
	} give, take;
	enum whorl_result end; /* why it cannot go on; WHORL_OK: it can */
};

/* ---- upcalls ----------------------------------------------------------------------------------------------------- */

static void on_view(const struct whorl_view *view, void *ctx)
{
	wh_member_tell_view(ctx, view);
}

static void on_log(enum whorl_log_level level, const char *line, void *ctx)
{
	struct wh_member *member = ctx;

	if (level <= WHORL_LOG_WARNING)
		wh_lines_add(&member->lines, true, line);
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

static void release_snapshot(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

static enum whorl_result keep_state(struct wh_member_part *part)
{
	struct whorl_state state = *part->member->options->run->state;

	state.size = sizeof state;
	state.release = release_snapshot;
	state.ctx = part;
	return whorl_on_state(part->subgroup, &state);
}

/* The subgroups that take part. WHORL_OK, WHORL_MEMORY, WHORL_NOT_FOUND (has been said). */
static enum whorl_result open_parts(struct life *life)
{
	struct wh_member *member = &life->member;
	const struct wh_member_options *options = member->options;

	member->parts = calloc(life->config.subgroup_count + 1, sizeof *member->parts);
	if (member->parts == NULL)
		return WHORL_MEMORY;
	for (uint32_t g = 0; g < life->config.subgroup_count && options->run->open != NULL; g++) {
		const struct wh_node_subgroup *configured = &life->config.subgroups[g];
		whorl_subgroup *subgroup = whorl_subgroup_find(member->node, configured->name);
		struct wh_member_part *part = &member->parts[member->part_count];
		enum whorl_result result;

		if (subgroup == NULL ||
		    (options->subgroup != NULL && strcmp(options->subgroup, configured->name) != 0) ||
		    (options->run->only_first && member->part_count > 0))
			continue;
		*part = (struct wh_member_part){.member = member,
						.subgroup = subgroup,
						.name = configured->name,
						.ordered = configured->options.mode != WH_SUBGROUP_UNORDERED,
						.message_bytes = (uint32_t)configured->options.message_bytes,
						.rate = options->rate >= 0 ? options->rate : options->run->rate};
		member->part_count++;
		result = options->run->open(part);
		if (result == WHORL_OK)
			result = keep_state(part);
		if (result != WHORL_OK)
			return result;
	}
	if (options->subgroup == NULL || options->run->open == NULL || member->part_count > 0)
		return WHORL_OK;
	wh_say("node %u is in no subgroup %s", member->id, options->subgroup);
	return WHORL_NOT_FOUND;
}

static enum wh_exit start_node(struct life *life)
{
	struct wh_member *member = &life->member;
	const struct whorl_open_options open = {
		.size = sizeof open, .log = on_log, .log_ctx = member, .form = member->options->form};
	enum whorl_result result;

	life->borrowed = wh_config_borrow(life->conf, &life->config);
	if (life->borrowed == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return WH_EXIT_MACHINE;
	}
	result = whorl_open(life->borrowed, member->options->id, &open, &member->node);
	if (result != WHORL_OK) {
		const char *why = whorl_config_error(life->borrowed);

		wh_say("%s", why[0] != '\0' ? why : whorl_result_text(result));
		return result == WHORL_INVALID ? WH_EXIT_USAGE : wh_exit_of(result);
	}
	member->id = whorl_node_id(member->node);
	if (member->options->id == WHORL_ANY_ID)
		wh_member_tell(member, WH_MEMBER_JSON(member, "{s:s, s:i}", "event", "id", "node", (int)member->id),
			       "is node %u", member->id);
	result = open_parts(life);
	if (result == WHORL_OK)
		result = whorl_on_view(member->node, on_view, member);
	if (result == WHORL_OK)
		result = whorl_start(member->node);
	if (result == WHORL_OK)
		return WH_EXIT_GOOD;
	if (result != WHORL_NOT_FOUND)
		wh_say("%s", whorl_result_text(result));
	return result == WHORL_NOT_FOUND ? WH_EXIT_USAGE : wh_exit_of(result);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/* Nothing could be claimed. */
static void wait_for(struct wh_member_part *part, enum whorl_result result, uint64_t now)
{
	if (result == WHORL_AGAIN && !part->armed)
		part->armed = whorl_window_arm(part->subgroup) == WHORL_AGAIN;
	if (result == WHORL_AGAIN && part->armed) {
		part->waits = true;
		return;
	}
	/* It is no sender in this view, or has no quorum. A look shows when that has changed. */
	if (result != WHORL_AGAIN)
		part->again_ns = now + LOOK_NS;
}

static void send_some(struct wh_member_part *part, uint64_t now)
{
	const struct wh_member_run *run = part->member->options->run;
	struct whorl_claim claim;
	enum whorl_result result;
	size_t bytes;

	if (part->waits || now < part->again_ns)
		return;
	for (int i = 0; i < BURST; i++) {
		if ((part->rate > 0 && now < part->due_ns) || !run->next(part, &bytes))
			return;
		result = whorl_claim(part->subgroup, bytes, &claim);
		if (result != WHORL_OK) {
			wait_for(part, result, now);
			return;
		}
		run->fill(part, claim.data, bytes, claim.number);
		result = whorl_commit(&claim, bytes); /* if it is not sent, a look will say why */
		if (part->rate > 0) {
			uint64_t interval = (uint64_t)(1e9 / part->rate);

			/* What it could not send while it waited is not made up for. */
			part->due_ns =
				now > part->due_ns + LOOK_NS + interval ? now + interval : part->due_ns + interval;
		}
	}
}

/* So long it can sleep, as far as sending goes. */
static uint64_t idle_ns(const struct life *life, uint64_t now)
{
	const struct wh_member *member = &life->member;
	uint64_t idle = LOOK_NS;

	for (uint32_t i = 0; life->ready && i < member->part_count; i++) {
		struct wh_member_part *part = &member->parts[i];
		uint64_t until = part->again_ns > now ? part->again_ns : part->rate > 0 ? part->due_ns : now;
		size_t bytes;

		if (!part->waits && member->options->run->next(part, &bytes) && until < now + idle)
			idle = until > now ? until - now : 0;
	}
	return idle;
}

/* The windows that have said that there is room: they are silent then until they are armed again. */
static void on_windows(struct wh_member *member, const struct pollfd *windows, uint32_t count)
{
	uint64_t room;

	for (uint32_t i = 0; i < member->part_count; i++) {
		for (uint32_t k = 0; k < count && member->parts[i].armed; k++)
			if (windows[k].fd == whorl_window_fd(member->parts[i].subgroup) &&
			    (windows[k].revents & POLLIN) != 0)
				member->parts[i].armed = read(windows[k].fd, &room, sizeof room) != sizeof room;
		member->parts[i].waits = false;
	}
}

/* Sleeps until there is something to do. */
static void sleep_until_work(struct life *life, uint64_t now)
{
	struct wh_member *member = &life->member;
	uint32_t count = 2;
	uint64_t idle = idle_ns(life, now);
	const struct timespec time = {.tv_sec = 0, .tv_nsec = (long)idle}; /* less than a second */
	struct pollfd fds[4] = {{.fd = member->watch.signal_fd, .events = POLLIN},
				{.fd = member->watch.bell_fd, .events = POLLIN}};
	bool listens = life->ready && wh_input_listens(member);
	uint32_t windows;

	if (listens)
		fds[count++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	windows = count;
	/* One window is enough: all are looked at again when one has room, or after LOOK_NS. */
	for (uint32_t i = 0; i < member->part_count && count < 4; i++)
		if (member->parts[i].waits)
			fds[count++] =
				(struct pollfd){.fd = whorl_window_fd(member->parts[i].subgroup), .events = POLLIN};
	if (ppoll(fds, count, &time, NULL) > 0) {
		if (listens && (fds[2].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
			wh_input_take(member);
		on_windows(member, fds + windows, count - windows);
	}
	wh_watch_wait(&member->watch, 0);
}

/* ---- looking after it -------------------------------------------------------------------------------------------- */

static void look_at_progress(struct life *life, uint64_t now)
{
	struct wh_member *member = &life->member;
	char text[256] = "";

	if (member->options->quiet)
		return;
	whorl_progress(member->node, text, sizeof text);
	if (isatty(STDERR_FILENO) && !member->options->json)
		wh_progress(text);
	if (strcmp(text, life->progress) == 0 || now - life->progress_ns < WH_NS_PER_S)
		return;
	if (!isatty(STDERR_FILENO) || member->options->json)
		wh_member_tell(member,
			       WH_MEMBER_JSON(member, "{s:s, s:i, s:s}", "event", "progress", "node", (int)member->id,
					      "text", text),
			       "%s", text);
	memcpy(life->progress, text, sizeof text);
	life->progress_ns = now;
}

static void tell_ready(struct life *life, uint64_t now)
{
	struct wh_member *member = &life->member;
	double ms = (double)(now - life->began_ns) / 1e6;

	wh_progress("");
	wh_member_tell(member,
		       WH_MEMBER_JSON(member, "{s:s, s:i, s:f}", "event", "ready", "node", (int)member->id, "ms", ms),
		       "ready after %.0f ms", ms);
}

/* ns 0: it was over before it was seen. */
static void tell_transfer(struct wh_member *member, const char *event, const char *words, uint64_t bytes, uint64_t ns)
{
	double seconds = (double)ns / 1e9;
	char size[32], rate[96] = "", per_second[32];

	if (ns > 0)
		snprintf(rate, sizeof rate, " in %.1f s, %s/s", seconds,
			 wh_size_text((uint64_t)((double)bytes / seconds), per_second, sizeof per_second));
	wh_member_tell(member,
		       WH_MEMBER_JSON(member, "{s:s, s:i, s:I, s:f}", "event", event, "node", (int)member->id, "bytes",
				      (json_int_t)bytes, "seconds", seconds),
		       "%s: %s%s", words, wh_size_text(bytes, size, sizeof size), rate);
}

/* `bytes` is of all transfers together; several at a time are told as one. */
static void look_at_transfer(struct life *life, struct transfer *transfer, uint64_t under_way, uint64_t bytes,
			     const char *event, const char *words, uint64_t now)
{
	uint64_t moved = bytes - transfer->bytes;
	char line[128], size[32], rate[32];

	if (transfer->began_ns == 0 && under_way == 0 && moved == 0)
		return;
	if (under_way == 0) {
		wh_progress("");
		tell_transfer(&life->member, event, words, moved,
			      transfer->began_ns != 0 ? now - transfer->began_ns : 0);
		*transfer = (struct transfer){.bytes = bytes};
		return;
	}
	if (transfer->began_ns == 0)
		transfer->began_ns = now;
	if (life->member.options->quiet)
		return;
	snprintf(line, sizeof line, "%s: %s so far, %s/s", words, wh_size_text(moved, size, sizeof size),
		 wh_size_text((uint64_t)((double)moved * 1e9 / (double)(now - transfer->began_ns + LOOK_NS)), rate,
			      sizeof rate));
	wh_progress(line);
}

static void look_at_transfers(struct life *life, uint64_t now)
{
	struct whorl_node_stats stats = {.size = sizeof stats};

	if (whorl_node_statistics(life->member.node, &stats) != WHORL_OK)
		return;
	look_at_transfer(life, &life->take, stats.takes, stats.state_taken, "taken", "state taken", now);
	look_at_transfer(life, &life->give, stats.gives, stats.state_given, "given", "state given", now);
}

static void look_at_quorum(struct life *life, bool lost, const char *text)
{
	struct wh_member *member = &life->member;

	if (lost == life->lost_quorum)
		return;
	life->lost_quorum = lost;
	wh_member_tell(member,
		       WH_MEMBER_JSON(member, "{s:s, s:i, s:b, s:s}", "event", "quorum", "node", (int)member->id,
				      "heard", (int)!lost, "text", text),
		       "%s", lost ? wh_member_advice(WHORL_NO_QUORUM) : "a quorum is heard again");
}

/* False: it cannot go on. */
static bool look_for_errors(struct life *life)
{
	struct wh_member *member = &life->member;
	char text[512] = "", line[600];
	enum whorl_result result = whorl_error(member->node, text, sizeof text);

	look_at_quorum(life, result == WHORL_NO_QUORUM, text);
	if (result == WHORL_OK || result == WHORL_NO_QUORUM)
		return true;
	if (member->options->json)
		wh_member_tell(member,
			       json_pack("{s:s, s:i, s:s, s:s}", "event", "failed", "node", (int)member->id, "why",
					 whorl_result_text(result), "text", text),
			       "%s", "");
	snprintf(line, sizeof line, "node %u: %s", member->id, text[0] != '\0' ? text : whorl_result_text(result));
	wh_lines_add(&member->lines, true, line); /* if the library has not logged it */
	if (wh_member_advice(result)[0] != '\0')
		wh_lines_add(&member->lines, true, wh_member_advice(result));
	life->end = result;
	return false;
}

/* False: this is the end. */
static bool look_at_node(struct life *life, uint64_t now)
{
	struct wh_member *member = &life->member;
	const struct wh_member_run *run = member->options->run;

	if (!look_for_errors(life))
		return false;
	if (!life->ready && whorl_ready(member->node, 0) == WHORL_OK) {
		life->ready = true;
		life->second_ns = now;
		tell_ready(life, now);
	}
	look_at_transfers(life, now);
	if (!life->ready && life->take.began_ns == 0) /* a transfer tells its own */
		look_at_progress(life, now);
	for (uint32_t i = 0; i < member->part_count; i++)
		member->parts[i].waits = false;
	if (life->ready && run->second != NULL && now - life->second_ns >= WH_NS_PER_S) {
		for (uint32_t i = 0; i < member->part_count; i++)
			run->second(&member->parts[i], now);
		life->second_ns = now;
	}
	return true;
}

/* Has it come to its end by itself? */
static bool is_over(const struct life *life, uint64_t now)
{
	const struct wh_member *member = &life->member;
	double seconds = member->options->seconds;
	size_t bytes;

	if (seconds > 0 && (double)(now - life->began_ns) >= seconds * 1e9)
		return true;
	return member->leaves || (member->options->run->on_bytes != NULL && member->input.ended &&
				  !member->options->run->next(&member->parts[0], &bytes));
}

static void go_on(struct life *life)
{
	struct wh_member *member = &life->member;
	uint64_t now = wh_member_now();

	life->began_ns = now;
	while (member->watch.interrupted == 0 && wh_lines_write(&member->lines) && !is_over(life, now)) {
		if (now - life->looked_ns >= LOOK_NS) {
			if (!look_at_node(life, now))
				return;
			life->looked_ns = now;
		}
		for (uint32_t i = 0; life->ready && i < member->part_count; i++)
			send_some(&member->parts[i], now);
		sleep_until_work(life, now);
		now = wh_member_now();
	}
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void give_up(int signal)
{
	(void)signal;
	_exit(WH_EXIT_INTERRUPTED); /* the others see that the process has ended */
}

/* From here on a signal ends the process at once. */
static void arm_second_signal(void)
{
	const struct sigaction action = {.sa_handler = give_up};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static enum wh_exit leave_group(struct life *life)
{
	struct wh_member *member = &life->member;
	enum whorl_result result;

	wh_progress("");
	if (life->end == WHORL_OK && life->ready)
		wh_member_tell(member, WH_MEMBER_JSON(member, "{s:s, s:i}", "event", "leaves", "node", (int)member->id),
			       "leaves; what is under way is waited for, at most %d s", DRAIN_MS / 1000);
	wh_lines_write(&member->lines);
	arm_second_signal();
	result = whorl_close(member->node, life->end == WHORL_OK && life->ready ? DRAIN_MS : 0);
	member->node = NULL;
	if (life->end != WHORL_OK)
		return WH_EXIT_FAILED;
	if (!life->ready && member->watch.interrupted != 0)
		return WH_EXIT_INTERRUPTED;
	if (!life->ready) {
		wh_say("node %u has not come into the group in time: it %s", member->id, life->progress);
		return WH_EXIT_FAILED;
	}
	if (result != WHORL_OK) {
		wh_say("node %u has left, and not all that it sent is known to be delivered: %s", member->id,
		       whorl_result_text(result));
		return WH_EXIT_FAILED;
	}
	wh_member_tell(member, WH_MEMBER_JSON(member, "{s:s, s:i}", "event", "left", "node", (int)member->id), "left");
	return WH_EXIT_GOOD;
}

enum wh_exit wh_member_live(struct wh_conf *conf, const struct wh_member_options *options)
{
	struct life life = {.member.options = options, .conf = conf};
	struct wh_member *member = &life.member;
	enum wh_exit status = WH_EXIT_MACHINE;
	struct wh_error err;

	if (wh_node_config_bind(&life.config, conf, 0) != WHORL_OK) {
		fprintf(stderr, "%s\n", wh_conf_mistakes(conf));
		return WH_EXIT_USAGE;
	}
	if (wh_watch_open(&member->watch, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		goto out_config;
	}
	if (!wh_lines_open(&member->lines, &member->watch)) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		goto out_lines;
	}
	status = start_node(&life);
	if (status == WH_EXIT_GOOD) {
		go_on(&life);
		status = leave_group(&life);
	}
	if (member->node != NULL)
		whorl_close(member->node, 0);
	if (!wh_lines_write(&member->lines) && status == WH_EXIT_GOOD)
		status = WH_EXIT_FAILED;
	for (uint32_t i = 0; i < member->part_count; i++)
		options->run->close(&member->parts[i]);
	free(member->parts);
	whorl_config_free(life.borrowed);
out_lines:
	wh_lines_close(&member->lines);
	wh_watch_close(&member->watch);
out_config:
	wh_node_config_free(&life.config);
	return status;
}
