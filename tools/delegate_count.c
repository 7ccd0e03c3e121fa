/* delegate_count.c - `whorl delegate count`: a counter that all members of a shard have, and one of them, which adds to it or only serves.
 *
 * Each member that adds has a mark in the property while it does. So the last value is read when no mark is left but those of members that are
 * gone.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <whorl/delegate.h>

#include "base/clock.h"
#include "command/crew.h"
#include "command/option.h"
#include "command/output.h"
#include "tools/commands.h"
#include "tools/delegate.h"

#define IDS 256
#define CALL_MS 2000 /* then it is looked whether to go on */
#define LOOK_NS UINT64_C(20000000)

/* ---- the property ---------------------------------------------------------------------------------------------------------------- */

struct tally {
	uint64_t value;
	uint64_t adds[IDS]; /* by node id: 1: it adds */
};

struct mark {
	uint64_t id, adds;
};

struct amount {
	uint64_t by;
};

static WHORL_TYPE(tally_type, struct tally, NULL);

WHORL_FUNCTION(tally_mark, struct tally, struct mark, struct whorl_none, WHORL_DETERMINISTIC)
{
	if (args->id < IDS)
		property->adds[args->id] = args->adds;
}

WHORL_FUNCTION(tally_add, struct tally, struct amount, uint64_t, WHORL_DETERMINISTIC)
{
	*result = property->value += args->by;
}

WHORL_FUNCTION(tally_read, struct tally, struct whorl_none, struct tally, WHORL_DETERMINISTIC | WHORL_READ)
{
	*result = *property;
}

/* ---- the command line ------------------------------------------------------------------------------------------------------------ */

enum { KEY_ID = 'i', KEY_SECONDS = 256, KEY_SERVE };

static const struct argp_option options[] = {
	{"id", KEY_ID, "N", 0,
	 "The id of the node. Where srun or mpirun has started it, the number that it was given will do", 0},
	{"seconds", KEY_SECONDS, "N", 0, "Add for so long, 1 to 86400 (10)", 0},
	{"serve", KEY_SERVE, NULL, 0, "Add nothing: be a member until SIGINT or SIGTERM", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Adds 1 to a counter that all members of the first subgroup of FILE have, again and again: a replicated trust.\v"
	"The last line is 'acknowledged A in_doubt D value V': how many additions of this member were answered, of how many it is not known whether they were "
	"made, and the counter, read when all members that add have finished or are gone. So V is between the sum of all A and that of all A and D.\n"
	"\n"
	"Exit status: 0 good, 1 the node has failed, 2 the command line, or the file, 3 the machine lacks something, 130 interrupted.";

struct count {
	const char *file;
	uint32_t id, seconds;
	bool has_id, has_seconds, serves;
	whorl_node *node;
	whorl_work *work;
	whorl_subgroup *shard;
	struct whorl_trust trust;
	uint64_t answered, in_doubt, looked_ns;
	struct wh_watch watch;
};

static void check(struct argp_state *state, struct count *count)
{
	int rank = wh_command_rank(IDS);

	if (count->file == NULL)
		argp_error(state, "which FILE?");
	if (count->serves && count->has_seconds)
		argp_error(state, "--serve adds nothing: without --seconds");
	if (count->has_id)
		return;
	if (rank < 0)
		argp_error(state, "which node: --id N?");
	count->id = (uint32_t)rank;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct count *count = state->input;

	switch (key) {
	case KEY_ID:
		count->id = (uint32_t)wh_option_number(state, "--id", argument, 0, IDS - 1);
		count->has_id = true;
		return 0;
	case KEY_SECONDS:
		count->seconds = (uint32_t)wh_option_number(state, "--seconds", argument, 1, 86400);
		count->has_seconds = true;
		return 0;
	case KEY_SERVE:
		count->serves = true;
		return 0;
	case ARGP_KEY_ARG:
		if (count->file != NULL)
			argp_error(state, "\"%s\" is one word too many", argument);
		count->file = argument;
		return 0;
	case ARGP_KEY_END:
		check(state, count);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the member ------------------------------------------------------------------------------------------------------------------ */

/* Looked at now and then, as it costs more than a call. */
static bool is_interrupted(struct count *count)
{
	uint64_t now = wh_clock_ns();

	if (now - count->looked_ns >= LOOK_NS) {
		count->looked_ns = now;
		wh_watch_wait(&count->watch, 0);
	}
	return count->watch.interrupted != 0;
}

/* Too few members are heard, the view changes...: a call that has not run is made again. */
static bool may_pass(const struct count *count, enum whorl_result result)
{
	enum whorl_result error = whorl_error(count->node, NULL, 0);

	return (error == WHORL_OK || error == WHORL_NO_QUORUM) &&
	       (result == WHORL_TIMEOUT || result == WHORL_IN_DOUBT || result == WHORL_NO_QUORUM ||
		result == WHORL_AGAIN || result == WHORL_NOT_SENDER || result == WHORL_NOT_FOUND);
}

static bool fail(const struct count *count, const char *what, enum whorl_result result)
{
	char why[256] = "";

	if (result == WHORL_INVALID)
		snprintf(why, sizeof(why), "%s", whorl_invalid_text());
	else
		(void)whorl_error(count->node, why, sizeof(why));
	wh_say("node %" PRIu32 ": %s: %s%s%s", count->id, what, whorl_result_text(result), why[0] != '\0' ? ": " : "",
	       why);
	return false;
}

static void nap(struct count *count)
{
	wh_watch_wait(&count->watch, 10);
}

static enum wh_exit open_member(struct count *count)
{
	const struct whorl_work_options work = {.size = sizeof(work), .workers = 1, WHORL_FUNCTIONS_LINKED};
	whorl_config *config = whorl_config_new();
	enum whorl_result result = config == NULL ? WHORL_MEMORY : whorl_config_load_file(config, count->file);

	if (result == WHORL_OK)
		result = whorl_open(config, count->id, NULL, &count->node);
	if (result != WHORL_OK) {
		wh_say("%s", config == NULL ? "no memory" : whorl_config_error(config));
		whorl_config_free(config);
		return result == WHORL_INVALID || result == WHORL_CONFIG ? WH_EXIT_USAGE : wh_exit_of(result);
	}
	whorl_config_free(config);
	count->shard = whorl_subgroup_at(count->node, 0);
	if (count->shard == NULL) {
		wh_say("%s has no subgroup", count->file);
		return WH_EXIT_USAGE;
	}
	result = whorl_work_open(count->node, &work, &count->work);
	if (result == WHORL_OK)
		result = whorl_work_serve(count->work, count->shard, 0);
	if (result == WHORL_OK)
		result = whorl_start(count->node);
	if (result == WHORL_OK)
		return WH_EXIT_GOOD;
	(void)fail(count, "it does not start", result);
	return wh_exit_of(result);
}

/* False: interrupted, or it has failed. */
static bool get_ready(struct count *count)
{
	enum whorl_result result;

	while ((result = whorl_ready(count->node, 50)) == WHORL_TIMEOUT)
		if (is_interrupted(count))
			return false;
	if (result != WHORL_OK)
		return fail(count, "it does not come in", result);
	while ((result = whorl_entrust_named(count->work, whorl_at_shard(count->shard), "count", &tally_type, NULL, 0,
					     &count->trust, CALL_MS)) != WHORL_OK) {
		if (!may_pass(count, result))
			return fail(count, "no counter", result);
		if (is_interrupted(count))
			return false;
		nap(count);
	}
	return whorl_trust_reads(&count->trust, WHORL_READS_LINEARIZABLE) == WHORL_OK;
}

/* Once is as good as twice. */
static bool set_mark(struct count *count, bool adds)
{
	const struct mark mark = {count->id, adds};
	enum whorl_result result;

	while ((result = whorl_apply(&count->trust, tally_mark, &mark, NULL, CALL_MS)) != WHORL_OK) {
		if (!may_pass(count, result))
			return fail(count, "no mark", result);
		if (is_interrupted(count) && adds)
			return false;
		nap(count);
	}
	return true;
}

static bool add_all(struct count *count)
{
	uint64_t end_ns = wh_clock_ns() + count->seconds * UINT64_C(1000000000), n;

	while (wh_clock_ns() < end_ns && !is_interrupted(count)) {
		enum whorl_result result = whorl_apply(&count->trust, tally_add, &(struct amount){1}, &n, CALL_MS);

		count->answered += result == WHORL_OK;
		count->in_doubt += result == WHORL_IN_DOUBT;
		if (result != WHORL_OK && !may_pass(count, result))
			return fail(count, "an addition", result);
		if (result != WHORL_OK)
			nap(count);
	}
	return true;
}

static void serve(struct count *count)
{
	while (count->watch.interrupted == 0 && may_pass(count, WHORL_TIMEOUT))
		wh_watch_wait(&count->watch, 200);
}

/* None of the members adds. */
static bool all_have_finished(const struct count *count, const struct tally *tally)
{
	uint32_t members[IDS], n = IDS;

	if (whorl_subgroup_members(count->shard, members, &n) != WHORL_OK)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (members[i] < IDS && tally->adds[members[i]] != 0)
			return false;
	return true;
}

static bool read_value(struct count *count, uint64_t *value)
{
	bool patient = !count->serves && count->watch.interrupted == 0; /* else it is as it is */
	struct tally tally;
	enum whorl_result result;

	for (;;) {
		result = whorl_apply(&count->trust, tally_read, NULL, &tally, CALL_MS);
		if (result == WHORL_OK && (!patient || all_have_finished(count, &tally) || is_interrupted(count)))
			break;
		if (result != WHORL_OK && (!patient || !may_pass(count, result)))
			return fail(count, "no value", result);
		nap(count);
	}
	*value = tally.value;
	return true;
}

static enum wh_exit live(struct count *count)
{
	bool good = get_ready(count) && set_mark(count, !count->serves);
	uint64_t value = 0;

	if (good && count->serves)
		serve(count);
	else if (good)
		good = add_all(count) && set_mark(count, false);
	good = good && read_value(count, &value);
	if (good)
		printf("acknowledged %" PRIu64 " in_doubt %" PRIu64 " value %" PRIu64 "\n", count->answered,
		       count->in_doubt, value);
	else if (count->answered + count->in_doubt > 0) /* what it has added counts for others */
		printf("acknowledged %" PRIu64 " in_doubt %" PRIu64 " value unknown\n", count->answered,
		       count->in_doubt);
	fflush(stdout);
	if (count->watch.interrupted != 0 && !(good && count->serves))
		return WH_EXIT_INTERRUPTED;
	return good ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}

int wh_delegate_count_main(int argc, char **argv)
{
	static const struct argp argp = {options, parse_option, "FILE", doc, NULL, NULL, NULL};
	struct count count = {.seconds = 10};
	enum wh_exit status;
	struct wh_error err;

	argp_parse(&argp, argc, argv, 0, NULL, &count);
	if (wh_watch_open(&count.watch, &err) != WHORL_OK) { /* before there is a thread */
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	status = open_member(&count);
	if (status == WH_EXIT_GOOD)
		status = live(&count);
	if (count.work != NULL)
		(void)whorl_work_close(count.work, 1000);
	if (count.node != NULL)
		(void)whorl_close(count.node, 2000);
	wh_watch_close(&count.watch);
	return status;
}
