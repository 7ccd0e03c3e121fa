/* log_anew.c - `whorl log DIR --begin-anew`: what the directory of one node has becomes a group of its own. What may be lost by that is said
 * before (docs/decisions/0058, *Begun anew*).
 */
#include <inttypes.h>
#include <string.h>

#include "base/env.h"
#include "persistence/anew.h"
#include "tools/commands.h"
#include "tools/log.h"

static void say_shards(const struct wh_standing *standing, wh_log_say_fn *say, void *ctx)
{
	char line[256];

	for (uint32_t i = 0; i < standing->shard_count; i++) {
		const struct wh_shard_standing *shard = &standing->shards[i];

		if (shard->whole)
			continue;
		snprintf(
			line, sizeof line,
			"all of subgroup %" PRIu64 ", shard %" PRIu32
			": the log of it here is not whole, and is removed when the node starts; the shard begins with nothing",
			shard->subgroup, shard->shard);
		say(ctx, line);
	}
	for (uint32_t i = 0; i < standing->other_count; i++) {
		snprintf(line, sizeof line, "all of subgroup %" PRIu64 ", shard %" PRIu32 ": this node is not in it",
			 standing->others[i].subgroup, standing->others[i].shard);
		say(ctx, line);
	}
}

void wh_logs_report_losses(const struct wh_logs_report *report, wh_log_say_fn *say, void *ctx)
{
	const struct wh_standing *standing = &report->standing;
	char line[256];

	snprintf(line, sizeof line,
		 "views after view %" PRIu64
		 ", which others of its members may have begun%s%s, and all that was delivered in them",
		 standing->number, standing->ballot != 0 ? "; this disk has agreed to one" : "",
		 standing->left ? "; this node has left that view in order" : "");
	say(ctx, line);
	for (uint32_t i = 0; i < report->count; i++) {
		struct wh_log_point end;

		if (report->logs[i].result != WHORL_OK)
			continue;
		end = wh_log_end(report->logs[i].log);
		snprintf(line, sizeof line,
			 "messages of log %s beyond place %" PRIu64 " of view %" PRIu64
			 ", which were delivered if all members of the shard had them",
			 report->logs[i].files, end.place, end.number);
		say(ctx, line);
	}
	say_shards(standing, say, ctx);
}

static void print_loss(void *ctx, const char *line)
{
	const bool *json = ctx;

	if (*json)
		wh_say("may be lost: %s", line);
	else
		printf("  may be lost: %s\n", line);
}

/* It is locked. */
static int begin_anew(const char *path, struct wh_directory *directory, bool json)
{
	const struct wh_env *env = wh_env_system();
	struct wh_logs_report report = {.path = path};
	uint64_t group = 0;
	struct wh_error err;
	enum whorl_result result;

	while (group == 0)
		group = env->random_u64(env->ctx);
	wh_logs_report_read(&report, directory);
	if (!json)
		wh_logs_report_print(stdout, &report);
	if (report.standing_result == WHORL_OK && !wh_standing_is_blank(&report.standing))
		wh_logs_report_losses(&report, print_loss, &json);
	fflush(stdout); /* before it is done */
	wh_logs_report_free(&report);
	result = wh_begin_anew(directory, group, &err);
	if (result != WHORL_OK) {
		wh_say("%s: not begun anew: %s", path, err.text);
		return WH_EXIT_FAILED;
	}
	report = (struct wh_logs_report){.path = path};
	wh_logs_report_read(&report, directory);
	if (json)
		wh_logs_report_print_json(stdout, &report);
	else
		printf("  begun anew: it is of group %s, identity %016" PRIx64 ", of node %" PRIu32
		       " alone. Start that; all others with empty directories\n",
		       report.identity.name, group, report.identity.node);
	wh_logs_report_free(&report);
	return WH_EXIT_GOOD;
}

int wh_log_begin_anew(const char *path, struct wh_directory *directory, bool json)
{
	struct wh_error err;
	int holder = 0;
	enum whorl_result result = directory->ops->lock(directory, &holder, &err);

	if (result == WHORL_OK)
		return begin_anew(path, directory, json);
	if (result == WHORL_AGAIN)
		wh_say("%s: not begun anew: another process (pid %d) uses it", path, holder);
	else
		wh_say("%s: not begun anew: %s", path, err.text);
	return WH_EXIT_FAILED;
}
