/* status.c - `whorl status`: which nodes are in a group, how far each member is, and what is wrong. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench/sections.h"
#include "command/crew.h"
#include "group/config/config.h"
#include "tools/commands.h"
#include "tools/status.h"

struct arguments {
	const char *name;
	int node; /* -1: all */
	int watch_ms, timeout_ms;
	bool watches, json;
};

enum { KEY_NODE = 'n', KEY_WATCH = 'w', KEY_JSON = 256, KEY_TIMEOUT };

static const struct argp_option options[] = {
	{"node", KEY_NODE, "ID", 0, "Ask this node alone", 0},
	{"watch", KEY_WATCH, "SECONDS", OPTION_ARG_OPTIONAL, "Again and again, once a second or as often as is said", 0},
	{"json", KEY_JSON, NULL, 0, "One JSON object per node and line", 0},
	{"timeout", KEY_TIMEOUT, "MS", 0, "Wait so long for an answer (1000)", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Ask the nodes of a group which of them are members, how far each is, and which lag.\v"
	"NAME is the name of a group, or an ini file that has it, or host:port of one node on tcp or verbs. First comes the view, as its leader sees it, then a line "
	"for each node, then for each subgroup a line for each member: what it has sent and delivered since it was "
	"started, per second with --watch; up to which sequence number it has received and delivered in this view, as it "
	"has come to the leader; and how far its deliveries are behind the member that has received most. Of durable subgroups follows what each has on its disk. "
	"docs/operations.md reads one line by line, and lists the keys of --json.\n"
	"\n"
	"What is wrong follows behind \"wrong:\" (with --json on standard error).\n"
	"\n"
	"Exit status: 0 all members of the view answer and hear a quorum, 1 something is wrong, 2 the command line or the "
	"file, 3 no such group, or node, is running, 130 interrupted.";

/* A number in [least, most]; complains otherwise. */
static double parse_number(struct argp_state *state, const char *option, const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= least && value <= most))
		argp_error(state, "%s is \"%s\", expected a number from %g to %g", option, text, least, most);
	return value;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case KEY_NODE:
		arguments->node = (int)parse_number(state, "--node", argument, 0, WH_NODES_MAX - 1);
		return 0;
	case KEY_WATCH:
		arguments->watches = true;
		if (argument != NULL)
			arguments->watch_ms = (int)(1000 * parse_number(state, "--watch", argument, 0.1, 86400));
		return 0;
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case KEY_TIMEOUT:
		arguments->timeout_ms = (int)parse_number(state, "--timeout", argument, 1, 600000);
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->name != NULL)
			argp_error(state, "one group at a time, not also \"%s\"", argument);
		arguments->name = argument;
		return 0;
	case ARGP_KEY_END:
		if (arguments->name == NULL)
			argp_error(state, "which NAME?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, "NAME", doc, NULL, NULL, NULL};

static bool can_be_name(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length < WH_NAME_BYTES &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length;
}

/* With the addresses, the key and the certificates that it names, too, where nodes are in a network. */
static bool read_more(struct wh_report_whom *whom, struct wh_conf *conf, const char *path)
{
	struct wh_error err;

	if (wh_node_config_bind(&whom->config, conf, 0) != WHORL_OK) {
		fprintf(stderr, "%s\n", wh_conf_mistakes(conf));
		return false;
	}
	if (wh_inquiry_open(&whom->inquiry, &whom->config, &err) != WHORL_OK) {
		wh_say("%s: %s", path, err.text);
		wh_node_config_free(&whom->config);
		return false;
	}
	whom->by_file = true;
	return true;
}

/* The group that the file describes. False: said why not. */
static bool read_whom(const char *path, struct wh_report_whom *whom)
{
	struct wh_conf *conf = wh_sections_conf();
	struct wh_group_options group;
	bool good = false;

	if (conf == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return false;
	}
	wh_conf_load_file(conf, path);
	if (wh_conf_check(conf) == WHORL_OK) {
		wh_conf_bind(conf, 0, &wh_group_table, NULL, &group);
		good = can_be_name(group.name);
		memcpy(whom->group, group.name, WH_NAME_BYTES);
		if (!good)
			wh_say("%s: \"%s\" cannot be the name of a group", path, group.name);
		else if (group.transport != WH_TRANSPORT_SHM)
			good = read_more(whom, conf, path);
	} else {
		fprintf(stderr, "%s\n", wh_conf_mistakes(conf));
	}
	wh_conf_free(conf);
	return good;
}

/* What is a file is one; what cannot be a name must have been meant as one. */
static bool find_whom(const char *argument, struct wh_report_whom *whom)
{
	const char *port = strrchr(argument, ':');

	*whom = (struct wh_report_whom){.by_file = false};
	if (access(argument, F_OK) != 0 && port != NULL && port[1] != '\0' &&
	    port[1 + strspn(port + 1, "0123456789")] == '\0') {
		whom->address = argument;
		return true;
	}
	if (access(argument, F_OK) == 0 || !can_be_name(argument))
		return read_whom(argument, whom);
	strcpy(whom->group, argument);
	return true;
}

static void let_go(struct wh_report_whom *whom)
{
	if (!whom->by_file)
		return;
	wh_inquiry_close(&whom->inquiry);
	wh_node_config_free(&whom->config);
}

/* ---- once, and again ------------------------------------------------------------------------------------------------------- */

static void say_wrong(void *ctx, const char *line)
{
	FILE *out = ctx;

	if (out != NULL)
		fprintf(out, "wrong: %s\n", line);
	else
		wh_say("%s", line);
}

static enum wh_exit show_report(const struct arguments *arguments, FILE *out, const struct wh_report *report,
				const struct wh_report *before)
{
	uint32_t wrong;

	if (wh_report_is_empty(report)) {
		if (report->group[0] == '\0')
			wh_say("no node is running at %s", arguments->name);
		else if (arguments->node >= 0)
			wh_say("no node %d of a group \"%s\" is running here", arguments->node, report->group);
		else
			wh_say("no node of a group \"%s\" is running here", report->group);
		return WH_EXIT_MACHINE;
	}
	if (arguments->json)
		wh_report_print_json(out, report);
	else
		wh_report_print(out, report, before);
	if (!arguments->json)
		fputs("\n", out);
	wrong = wh_report_judge(report, say_wrong, arguments->json ? NULL : out);
	return wrong > 0 ? WH_EXIT_FAILED : WH_EXIT_GOOD;
}

/* Over what stands there, in one piece: nothing flickers. What has no room is not shown. */
static void redraw_screen(const char *text)
{
	struct winsize size = {.ws_row = 24};
	unsigned lines = 1;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
		size.ws_row = 24;
	fputs("\033[H", stdout);
	for (; *text != '\0' && lines < size.ws_row; text++) {
		if (*text == '\n') {
			fputs("\033[K", stdout);
			lines++;
		}
		fputc(*text, stdout);
	}
	fputs("\033[J", stdout);
}

static enum wh_exit show_in_place(const struct arguments *arguments, const struct wh_report *report,
				  const struct wh_report *before)
{
	char *text = NULL;
	size_t bytes;
	FILE *page = open_memstream(&text, &bytes);
	enum wh_exit status = WH_EXIT_MACHINE;

	if (page == NULL) {
		wh_say("%s", strerror(errno));
		return status;
	}
	status = show_report(arguments, page, report, before);
	if (fclose(page) == 0 && bytes > 0)
		redraw_screen(text);
	free(text);
	return status;
}

static enum wh_exit watch_group(const struct arguments *arguments, struct wh_report_whom *whom,
				struct wh_report reports[2])
{
	bool terminal = isatty(STDOUT_FILENO) && !arguments->json;
	struct wh_watch watch;
	struct wh_error err;
	enum wh_exit status = WH_EXIT_GOOD;
	unsigned turn = 0;

	if (wh_watch_open(&watch, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	if (terminal)
		fputs("\033[2J", stdout);
	while (watch.interrupted == 0) {
		struct wh_report *now = &reports[turn % 2], *before = turn > 0 ? &reports[(turn + 1) % 2] : NULL;

		wh_status_report_free(now);
		wh_report_make(now, whom, arguments->node, arguments->timeout_ms);
		status = terminal ? show_in_place(arguments, now, before) : show_report(arguments, stdout, now, before);
		if (!wh_flush_file(stdout, WH_STDOUT))
			break;
		turn++;
		wh_watch_wait(&watch, arguments->watch_ms);
	}
	wh_watch_close(&watch);
	return watch.interrupted != 0 ? WH_EXIT_INTERRUPTED : ferror(stdout) != 0 ? WH_EXIT_FAILED : status;
}

int wh_status_main(int argc, char **argv)
{
	struct arguments arguments = {.node = -1, .watch_ms = 1000, .timeout_ms = 1000};
	struct wh_report *reports;
	enum wh_exit status;
	struct wh_report_whom whom;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (!find_whom(arguments.name, &whom))
		return WH_EXIT_USAGE;
	reports = calloc(2, sizeof *reports);
	if (reports == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		let_go(&whom);
		return WH_EXIT_MACHINE;
	}
	if (arguments.watches) {
		status = watch_group(&arguments, &whom, reports);
	} else {
		wh_report_make(&reports[0], &whom, arguments.node, arguments.timeout_ms);
		status = show_report(&arguments, stdout, &reports[0], NULL);
	}
	wh_status_report_free(&reports[0]);
	wh_status_report_free(&reports[1]);
	free(reports);
	let_go(&whom);
	return status;
}
