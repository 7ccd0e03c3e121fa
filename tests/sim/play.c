/* play.c - the phases of a run, and the report of a failed one. See play.h. */
#include "tests/sim/play.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "group/node_int.h"

/* So many events without anything that moves on are no progress: passes go on and on, or nulls chase nulls. */
#define USELESS_STEPS 300000
#define NOTHING_NS (UINT64_C(3600) * WH_NS_PER_S) /* nobody has anything to do for so long */
#define SURVEY_NS (20 * WH_NS_PER_MS)             /* until statistics are fresh */

#define DUMP_LINES 24 /* of each node, in a report */
#define DUMP_BYTES 200

static const uint64_t paces_ns[] = {100, 1000, 10000, 100000};
static const uint64_t latencies_ns[] = {1000, 20000, 200000};

void play_fail(struct play *play, const char *format, ...)
{
	va_list arguments;

	if (play_failed(play))
		return;
	va_start(arguments, format);
	vsnprintf(play->verdict, sizeof(play->verdict), format, arguments);
	va_end(arguments);
}

/* ---- setting the stage --------------------------------------------------------------------------------------------------- */

static void rung(void *ctx, uint32_t node)
{
	struct play *play = ctx;

	actor_rung(&play->actors[node]);
}

static void log_line(void *ctx, uint32_t node, enum wh_log_level level, const char *line)
{
	struct play *play = ctx;

	(void)node;
	(void)level;
	if (play->dump != NULL)
		snprintf(play->dump[play->dumped++ % DUMP_LINES], DUMP_BYTES, "%s", line);
}

static void seat_members(struct circle *circle, const struct plan_subgroup *subgroup)
{
	struct play *play = circle->play;

	for (uint32_t node = 0; node < (uint32_t)play->plan->config.group.nodes; node++) {
		struct actor *actor = &play->actors[node];
		struct seat *seat;

		if ((subgroup->members >> node & 1) == 0)
			continue;
		seat = &circle->seats[circle->seat_count++];
		*seat = (struct seat){.actor = actor, .circle = circle};
		seat->taken = plan_alloc(subgroup->sender_count, sizeof(*seat->taken));
		actor->seats[actor->seat_count++] = seat;
		if (subgroup->senders >> node & 1) {
			seat->stream = &circle->streams[circle->stream_count];
			stream_init(seat->stream, seat, circle->stream_count++);
		}
	}
}

static void make_circle(struct play *play, uint32_t g)
{
	const struct plan_subgroup *subgroup = &play->plan->subgroups[g];
	struct circle *circle = &play->circles[g];

	*circle = (struct circle){.play = play, .index = g, .ordered = subgroup->ordered};
	circle->seats = plan_alloc(subgroup->member_count, sizeof(*circle->seats));
	circle->streams = plan_alloc(subgroup->sender_count, sizeof(*circle->streams));
	seat_members(circle, subgroup);
}

static void open_actor(void *ctx, uint64_t argument)
{
	(void)argument;
	actor_open(ctx);
}

static void make_actors(struct play *play)
{
	uint32_t nodes = (uint32_t)play->plan->config.group.nodes;

	play->actors = plan_alloc(nodes, sizeof(*play->actors));
	play->awake = nodes;
	for (uint32_t i = 0; i < nodes; i++) {
		struct actor *actor = &play->actors[i];

		*actor = (struct actor){.play = play, .id = i, .pace_ns = paces_ns[wh_dice_below(&play->dice, 4)]};
		actor->seats = plan_alloc(play->plan->config.subgroup_count, sizeof(*actor->seats));
		wh_sim_at(play->sim, wh_dice_below(&play->dice, 10 * actor->pace_ns), open_actor, actor, 0);
	}
}

static void draw_habits(struct play *play)
{
	struct wh_dice *dice = &play->dice;

	play->long_upcall_in = wh_dice_one_in(dice, 2) ? 0 : (uint32_t)wh_dice_between(dice, 2, 40);
	play->reply_in = wh_dice_one_in(dice, 2) ? 0 : (uint32_t)wh_dice_between(dice, 1, 10);
	play->hasty = wh_dice_one_in(dice, 4);
	play->crashed = -1;
	play->crash_step = play->leave_step = UINT64_MAX;
	if (play->plan->config.group.nodes > 1 && wh_dice_one_in(dice, 8))
		play->crash_step = wh_dice_below(dice, 4000);
	else if (play->plan->config.engine.null_sends && wh_dice_one_in(dice, 8))
		play->leave_step = wh_dice_below(dice, 4000);
}

struct play *play_new(const struct plan *plan, FILE *log)
{
	struct play *play = plan_alloc(1, sizeof(*play));
	struct wh_sim_options options = {.nodes = (uint32_t)plan->config.group.nodes,
					 .seed = plan->seed,
					 .latency_min_ns = 100,
					 .log = log_line,
					 .rung = rung,
					 .ctx = play};
	bool hurry = plan->config.group.failure_timeout_ms <= PLAN_SHORT_TIMEOUT_MS; /* heartbeats must not be late */
	struct wh_error err;

	play->plan = plan;
	play->log = log;
	play->linger_ns = hurry ? 10 * WH_NS_PER_US : WH_NS_PER_MS;
	play->dice = wh_dice_split(plan->seed, 200);
	options.latency_max_ns = latencies_ns[wh_dice_below(&play->dice, hurry ? 2 : 3)];
	options.pieces = (uint32_t)wh_dice_between(&play->dice, 1, WH_SIM_PIECES_MAX / 2);
	options.uneven = !hurry && wh_dice_one_in(&play->dice, 2);
	if (wh_sim_new(&play->sim, &options, &err) != WHORL_OK) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	draw_habits(play);
	make_actors(play);
	play->circles = plan_alloc(plan->config.subgroup_count, sizeof(*play->circles));
	for (uint32_t g = 0; g < plan->config.subgroup_count; g++)
		make_circle(play, g);
	return play;
}

static bool all_progress(const struct play *play)
{
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		if (!plan_progresses(play->plan, g))
			return false;
	return true;
}

static bool all_delivered(const struct play *play)
{
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		for (uint32_t s = 0; s < play->circles[g].stream_count; s++) {
			const struct stream *stream = &play->circles[g].streams[s];

			for (uint32_t i = 0; i < play->circles[g].seat_count; i++)
				if (play->circles[g].seats[i].taken[s].done < stream->quota)
					return false;
		}
	return true;
}

/* ---- until nothing happens any more -------------------------------------------------------------------------------------- */

static bool all_ready(const struct play *play)
{
	for (uint32_t i = 0; i < (uint32_t)play->plan->config.group.nodes; i++)
		if (play->actors[i].node == NULL || !play->actors[i].node->ready)
			return false;
	return true;
}

static void crash_somebody(struct play *play)
{
	struct actor *actor = &play->actors[wh_dice_below(&play->dice, (uint64_t)play->plan->config.group.nodes)];

	play->crash_step = UINT64_MAX;
	play->crashed = (int)actor->id;
	if (actor->state == ACTOR_AWAKE)
		play->awake--;
	actor->state = ACTOR_GONE;
	wh_sim_crash(play->sim, actor->id);
}

static bool is_quiet(const struct play *play)
{
	return play->awake == 0 && play->busy_streams == 0 && wh_sim_under_way(play->sim) == 0;
}

bool play_work(struct play *play)
{
	while (!play_failed(play)) {
		if (play->steps >= play->crash_step && all_ready(play))
			crash_somebody(play);
		if (play->steps >= play->leave_step && all_ready(play))
			break;
		if (is_quiet(play) && play->crash_step == UINT64_MAX)
			break;
		if (play->hasty && play->steps <= play->useful_step + 1 && all_ready(play) && all_delivered(play))
			break;
		if (is_quiet(play)) {
			play->crash_step = 0;
			continue;
		}
		if (!wh_sim_step(play->sim, wh_sim_now(play->sim) + NOTHING_NS))
			play_fail(play, "progress: nothing happens for an hour, and %u nodes are awake", play->awake);
		if (play->steps++ - play->useful_step > USELESS_STEPS)
			play_fail(play, "quiescence: no end, and nothing has moved on for %d events", USELESS_STEPS);
	}
	return !play_failed(play);
}

bool play_goes_on(struct play *play, uint64_t for_ns)
{
	uint64_t until = wh_sim_now(play->sim) + for_ns;

	while (!play_failed(play) && wh_sim_step(play->sim, until))
		play->steps++;
	return !play_failed(play);
}

void play_release(struct play *play)
{
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		for (uint32_t s = 0; s < play->circles[g].stream_count; s++) {
			struct stream *stream = &play->circles[g].streams[s];

			stream->held = UINT64_MAX;
			if (stream->seat->actor->state != ACTOR_GONE)
				stream_schedule(stream);
		}
}

static void wake_all(struct play *play)
{
	for (uint32_t i = 0; i < (uint32_t)play->plan->config.group.nodes; i++)
		if (play->actors[i].state != ACTOR_GONE)
			play->actors[i].node->transport->ops->wake(play->actors[i].node->transport);
}

/* ---- what must be so once all is quiet ------------------------------------------------------------------------------------ */

/* A held claim shows in the statistics. */
static void check_open_claim(const struct stream *stream)
{
	struct whorl_subgroup_stats stats = {.size = sizeof(stats)};
	bool held = stream->held < stream->claimed;
	enum whorl_result result = whorl_subgroup_statistics(stream->seat->subgroup, &stats);

	if (result != WHORL_OK || stats.open_claim != (held ? stream->held + 1 : 0))
		play_fail(stream->seat->circle->play,
			  "statistics: node %u, g%u: open_claim is %" PRIu64 ", claim %" PRId64 " is open",
			  stream->seat->actor->id, stream->seat->circle->index, stats.open_claim,
			  held ? (int64_t)stream->held : -1);
}

static void check_open_claims(struct play *play)
{
	play_goes_on(play, SURVEY_NS);
	wake_all(play);
	if (!play_work(play))
		return;
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		for (uint32_t s = 0; s < play->circles[g].stream_count && !play_failed(play); s++)
			if (plan_progresses(play->plan, g))
				check_open_claim(&play->circles[g].streams[s]);
}

/* An idle group posts heartbeats, and nothing else. */
static void check_silence(struct play *play)
{
	uint32_t nodes = (uint32_t)play->plan->config.group.nodes;
	uint64_t quarter_ns = (uint64_t)play->plan->config.group.failure_timeout_ms * WH_NS_PER_MS / 4;
	struct wh_sim_counts before[64];

	for (uint32_t i = 0; i < nodes; i++)
		before[i] = wh_sim_counts(play->sim, i);
	play_goes_on(play, 3 * quarter_ns);
	for (uint32_t i = 0; i < nodes && !play_failed(play); i++) {
		struct wh_sim_counts after = wh_sim_counts(play->sim, i);
		uint64_t quiet = after.quiet - before[i].quiet, least = (int)i == play->crashed ? 0 : 2;

		if (after.loud != before[i].loud || quiet < least || quiet > 4)
			play_fail(play,
				  "silence: node %u is idle for three quarters of the time-out, and has posted %" PRIu64
				  " pushes and %" PRIu64 " heartbeats",
				  i, after.loud - before[i].loud, quiet);
	}
}

/* Survivors know who has failed. */
static void check_blame(struct play *play)
{
	char expected[32], text[256];

	snprintf(expected, sizeof(expected), "node %d has died", play->crashed);
	for (uint32_t i = 0; i < (uint32_t)play->plan->config.group.nodes; i++) {
		if ((int)i == play->crashed)
			continue;
		if (whorl_error(play->actors[i].node, text, sizeof(text)) != WHORL_MEMBER_GONE ||
		    strncmp(text, expected, strlen(expected)) != 0)
			play_fail(play, "failure: node %u says \"%s\", and %s", i, text, expected);
	}
}

/* Somebody drains and leaves in the middle of everything. Nothing happens after that. */
static void leave(struct play *play)
{
	struct actor *actor = &play->actors[wh_dice_below(&play->dice, (uint64_t)play->plan->config.group.nodes)];

	for (uint32_t i = 0; i < actor->seat_count; i++)
		if (actor->seats[i]->stream != NULL)
			stream_stop(actor->seats[i]->stream);
	actor->leaving = true;
	actor_leave(actor, 10000);
	play->closing = true;
	if (!play_failed(play))
		check_left(actor);
}

static bool may_be_hasty(const struct play *play)
{
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		for (uint32_t s = 0; s < play->circles[g].stream_count; s++)
			if (play->circles[g].streams[s].held != UINT64_MAX)
				return false;
	return all_progress(play) && play->crash_step == UINT64_MAX && play->leave_step == UINT64_MAX;
}

static void perform(struct play *play)
{
	play->hasty = play->hasty && may_be_hasty(play);
	if (!play_work(play))
		return;
	play->drains = all_progress(play) && (play->hasty || wh_dice_one_in(&play->dice, 2));
	if (play->hasty)
		return;
	if (play->leave_step != UINT64_MAX) {
		leave(play);
		return;
	}
	if (play->crashed >= 0) {
		check_blame(play);
		check_held(play);
		check_silence(play);
		return;
	}
	check_quiet(play);
	check_open_claims(play);
	play_release(play);
	if (!play_work(play))
		return;
	check_quiet(play);
	check_silence(play);
}

/* ---- the end, and the report ------------------------------------------------------------------------------------------------ */

static void dump_node(struct play *play, struct actor *actor)
{
	char(*lines)[DUMP_BYTES] = plan_alloc(DUMP_LINES, DUMP_BYTES);
	uint64_t first;

	play->dump = lines;
	play->dumped = 0;
	wh_diag_dump(&actor->node->diag);
	play->dump = NULL;
	first = play->dumped > DUMP_LINES ? play->dumped - DUMP_LINES : 0;
	for (uint64_t i = first; i < play->dumped; i++)
		fprintf(play->log, "%s\n", lines[i % DUMP_LINES]);
	free(lines);
}

static void report(struct play *play)
{
	fprintf(play->log, "FAILED at event %" PRIu64 ", %" PRIu64 " ns: %s\n", play->steps, wh_sim_now(play->sim),
		play->verdict);
	plan_print(play->plan, play->log);
	if (play->crashed >= 0)
		fprintf(play->log, "  node %d has crashed\n", play->crashed);
	for (uint32_t i = 0; i < (uint32_t)play->plan->config.group.nodes; i++)
		if (play->actors[i].node != NULL)
			dump_node(play, &play->actors[i]);
}

static void count(const struct play *play, struct play_result *result)
{
	*result = (struct play_result){
		.digest = wh_sim_digest(play->sim), .steps = play->steps, .virtual_ns = wh_sim_now(play->sim)};
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		for (uint32_t i = 0; i < play->circles[g].seat_count; i++) {
			const struct seat *seat = &play->circles[g].seats[i];

			result->deliveries += seat->deliveries;
			if (seat->subgroup != NULL)
				result->nulls += wh_load_relaxed(&wh_multicast_stats(seat->subgroup->mc)->nulls);
		}
}

/* In order, and in any order. Where all is delivered a node has nothing to drain. */
static void close_all(struct play *play)
{
	uint32_t nodes = (uint32_t)play->plan->config.group.nodes, first = (uint32_t)wh_dice_below(&play->dice, nodes);

	bool drains = play->drains && !play_failed(play) && !play->closing && play->crashed < 0;

	play->closing = true;
	for (uint32_t i = 0; i < nodes; i++)
		actor_leave(&play->actors[(first + i) % nodes], drains ? 10000 : 0);
	if (play_failed(play))
		return; /* who knows what is still open */
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		for (uint32_t s = 0; s < play->circles[g].stream_count; s++)
			stream_finish_late(&play->circles[g].streams[s]);
}

bool play_end(struct play *play, struct play_result *result, char *verdict, size_t verdict_bytes)
{
	bool good;

	if (play_failed(play) && play->log != NULL)
		report(play);
	count(play, result);
	close_all(play);
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++) {
		struct circle *circle = &play->circles[g];

		for (uint32_t i = 0; i < circle->seat_count; i++)
			free(circle->seats[i].taken);
		for (uint32_t s = 0; s < circle->stream_count; s++)
			stream_free(&circle->streams[s]);
		free(circle->seats);
		free(circle->streams);
		free(circle->order);
	}
	for (uint32_t i = 0; i < (uint32_t)play->plan->config.group.nodes; i++)
		free(play->actors[i].seats);
	wh_sim_free(play->sim);
	free(play->circles);
	free(play->actors);
	good = !play_failed(play);
	snprintf(verdict, verdict_bytes, "%s", play->verdict);
	free(play);
	return good;
}

bool play_all(const struct plan *plan, struct play_result *result, char *verdict, size_t verdict_bytes, FILE *log)
{
	struct play *play = play_new(plan, log);

	perform(play);
	return play_end(play, result, verdict, verdict_bytes);
}
