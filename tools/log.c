/* log.c - `whorl log`: what nodes have on disk, and whether it is whole. Without --begin-anew (log_anew.c) it changes nothing. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/commands.h"
#include "tools/log.h"

#define NODES_MAX 256 /* directories of nodes are called by their ids */

struct arguments {
	const char *path;
	bool json, begins_anew;
};

enum { KEY_JSON = 256, KEY_BEGIN_ANEW };

static const struct argp_option options[] = {
	{"json", KEY_JSON, NULL, 0, "One JSON object per node and line", 0},
	{"begin-anew", KEY_BEGIN_ANEW, NULL, 0,
	 "Make the directory of one node a group of its own; what may be lost is said before", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Read and check what the nodes of a group have on disk for durable subgroups.\v"
	"DIR is the directory of one node, log_dir/ID, or log_dir itself, with those of several. All of each log is read. Nothing is "
	"changed; of a node that is running the last batch may be half written, which looks torn.\n"
	"\n"
	"A log is \"whole\"; or \"torn\": the power went while its last batch was written, which is cut off when its node starts; or "
	"\"rot\": something is damaged that was on the disk once, it does not count, and its node has to be given the state by others. "
	"docs/operations.md reads the lines one by one, and lists the keys of --json.\n"
	"\n"
	"With --begin-anew, which is the last resort where too few disks of a group are left for a restart, the directory of one node (log_dir/ID) becomes "
	"a group with another identity, of that node alone: what it has counts, and what others had is not missed any more. Nothing is asked. First "
	"end all nodes; do it in one directory, the one that has most; start that node with it, and all others with empty directories. It is "
	"refused where a process has the directory locked, a log has rot or is of a later format, or none is whole.\n"
	"\n"
	"Exit status: 0 all is whole or torn, or begun anew, 1 rot, or something cannot be read, or not begun anew, 2 the command line, or there is no such "
	"directory.";

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case KEY_BEGIN_ANEW:
		arguments->begins_anew = true;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->path != NULL)
			argp_error(state, "one directory at a time, not also \"%s\"", argument);
		arguments->path = argument;
		return 0;
	case ARGP_KEY_END:
		if (arguments->path == NULL)
			argp_error(state, "which DIR?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, "DIR", doc, NULL, NULL, NULL};

/* ---- verdicts ------------------------------------------------------------------------------------------------------------- */

bool wh_log_report_is_good(const struct wh_log_report *report)
{
	return report->result == WHORL_OK && report->found.verdict != WH_LOG_ROT;
}

bool wh_logs_report_is_good(const struct wh_logs_report *report)
{
	for (uint32_t i = 0; i < report->count; i++)
		if (!wh_log_report_is_good(&report->logs[i]))
			return false;
	return report->identity_result == WHORL_OK && report->standing_result == WHORL_OK;
}

const char *wh_log_report_verdict(const struct wh_log_report *report)
{
	static const char *const verdicts[] = {
		[WH_LOG_BLANK] = "blank", [WH_LOG_WHOLE] = "whole", [WH_LOG_TORN] = "torn", [WH_LOG_ROT] = "rot"};

	return report->result == WHORL_OK ? verdicts[report->found.verdict] : "unreadable";
}

/* ---- one node ------------------------------------------------------------------------------------------------------------- */

/* Its files' names begin so. */
static void add_log(void *ctx, const char *files)
{
	struct wh_logs_report *report = ctx;
	struct wh_log_report *logs = realloc(report->logs, (report->count + 1) * sizeof(*logs));

	if (logs == NULL) {
		report->standing_result = wh_error_set(&report->standing_err, WHORL_MEMORY, "no memory");
		return;
	}
	report->logs = logs;
	logs[report->count] = (struct wh_log_report){.result = WHORL_OK};
	snprintf(logs[report->count].files, WH_LOG_FILES_BYTES, "%s", files);
	report->count++;
}

void wh_logs_report_read(struct wh_logs_report *report, struct wh_directory *directory)
{
	struct wh_standing_file file;
	enum whorl_result result;

	report->identity_result = wh_identity_read(directory, &report->identity, &report->identity_err);
	wh_text_tame(report->identity.name, sizeof(report->identity.name));
	report->standing_result =
		wh_standing_open(&file, directory, &report->standing, &report->passed_over, &report->standing_err);
	wh_standing_close(&file);
	result = wh_log_list(directory, add_log, report, &report->standing_err);
	if (result != WHORL_OK)
		report->standing_result = result;
	for (uint32_t i = 0; i < report->count; i++) {
		struct wh_log_report *log = &report->logs[i];

		log->result = wh_log_open_files(&log->log, directory, log->files, &log->found, &log->err);
		if (log->result == WHORL_OK && report->identity_result == WHORL_OK &&
		    log->found.verdict != WH_LOG_BLANK && wh_log_owner(log->log)->group != 0 &&
		    (wh_log_owner(log->log)->group != report->identity.group ||
		     wh_log_owner(log->log)->node != report->identity.node))
			log->result = wh_error_set(&log->err, WHORL_CONFIG,
						   "it is of another group or node than its directory");
	}
}

void wh_logs_report_free(struct wh_logs_report *report)
{
	for (uint32_t i = 0; i < report->count; i++)
		wh_log_close(report->logs[i].log);
	free(report->logs);
	wh_standing_free(&report->standing);
}

/* ---- directories ---------------------------------------------------------------------------------------------------------- */

struct search {
	const struct arguments *arguments;
	bool is_node;        /* something of a node lies in it */
	bool ids[NODES_MAX]; /* it has directories of these names, or files */
	uint32_t found, bad;
};

static void look_at(void *ctx, const char *name)
{
	static const char *const of_nodes[] = {"identity", "standing"};
	struct search *search = ctx;
	char *end;
	unsigned long id;

	for (size_t i = 0; i < sizeof of_nodes / sizeof of_nodes[0]; i++)
		search->is_node |= strcmp(name, of_nodes[i]) == 0;
	id = strtoul(name, &end, 10);
	if (name[0] >= '0' && name[0] <= '9' && *end == '\0' && id < NODES_MAX)
		search->ids[id] = true;
}

static void note_log(void *ctx, const char *files)
{
	struct search *search = ctx;

	(void)files;
	search->is_node = true;
}

static void show_node(struct search *search, const char *path, struct wh_directory *directory)
{
	struct wh_logs_report report = {.path = path};

	wh_logs_report_read(&report, directory);
	if (search->arguments->json)
		wh_logs_report_print_json(stdout, &report);
	else
		wh_logs_report_print(stdout, &report);
	search->found++;
	search->bad += !wh_logs_report_is_good(&report);
	wh_logs_report_free(&report);
}

/* What lies in it is listed. False: said why not. */
static bool open_and_look(struct search *search, const char *path, struct wh_directory **directory)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_error err;
	enum whorl_result result = disk->directory(disk->ctx, path, false, directory, &err);

	if (result == WHORL_OK) {
		result = (*directory)->ops->list(*directory, look_at, search, &err);
		if (result == WHORL_OK)
			result = wh_log_list(*directory, note_log, search, &err);
		if (result == WHORL_OK)
			return true;
		(*directory)->ops->close(*directory);
	}
	wh_say("%s", err.text);
	return false;
}

/* Of log_dir one of those in it. */
static void show_below(struct search *search, uint32_t id)
{
	struct search below = {.arguments = search->arguments};
	struct wh_directory *directory;
	char path[4096];

	snprintf(path, sizeof path, "%s/%u", search->arguments->path, id);
	if (!open_and_look(&below, path, &directory)) {
		search->found++;
		search->bad++;
		return;
	}
	if (below.is_node)
		show_node(search, path, directory);
	directory->ops->close(directory);
}

static int begin_anew(const struct search *search, struct wh_directory *directory)
{
	const char *path = search->arguments->path;
	int status = WH_EXIT_USAGE;

	if (search->is_node)
		status = wh_log_begin_anew(path, directory, search->arguments->json);
	else
		wh_say("%s: it is not the directory of one node, log_dir/ID", path);
	directory->ops->close(directory);
	return status;
}

int wh_log_main(int argc, char **argv)
{
	struct arguments arguments = {.path = NULL};
	struct search search = {.arguments = &arguments};
	struct wh_directory *directory;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (!open_and_look(&search, arguments.path, &directory))
		return WH_EXIT_USAGE;
	if (arguments.begins_anew)
		return begin_anew(&search, directory);
	if (search.is_node)
		show_node(&search, arguments.path, directory);
	for (uint32_t id = 0; id < NODES_MAX && !search.is_node; id++)
		if (search.ids[id])
			show_below(&search, id);
	directory->ops->close(directory);
	if (search.found == 0) {
		wh_say("%s: there is no log of a node in it", arguments.path);
		return WH_EXIT_USAGE;
	}
	return search.bad > 0 ? WH_EXIT_FAILED : WH_EXIT_GOOD;
}
