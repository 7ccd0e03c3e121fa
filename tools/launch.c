/* launch.c - `whorl launch`: the command line. See launch.h. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sections.h"
#include "tools/commands.h"
#include "tools/launch.h"

enum { KEY_NODES = 'n', KEY_HOSTS = 256, KEY_SSH, KEY_WHORL, KEY_FATE, KEY_RANKS, KEY_START, KEY_GRACE, KEY_LIMIT };

static const struct argp_option options[] = {
	{"nodes", KEY_NODES, "IDS", 0, "Start these, as in 0,2-4 (all nodes of the file)", 0},
	{"hosts", KEY_HOSTS, "NAMES", 0,
	 "The host of each node that is started, in their order, as in a,b,c; if there are fewer they are taken in turn (what the "
	 "addresses in the file say)",
	 0},
	{"ssh", KEY_SSH, "COMMAND", 0, "What is called with a host and a command for it; blanks divide its words (ssh)",
	 0},
	{"whorl", KEY_WHORL, "PATH", 0, "This command on other hosts (whorl)", 0},
	{"fate", KEY_FATE, "WHAT", 0, "shared: when one program fails all are ended; view: the others go on (shared)",
	 0},
	{"ranks", KEY_RANKS, "on|off", 0, "Whether srun and mpirun are looked for (on)", 0},
	{"start-timeout", KEY_START, "S", 0,
	 "Each host has started its program in so many seconds, or all are ended (20)", 0},
	{"grace", KEY_GRACE, "S", 0, "A program that was asked to end is killed after so many seconds (10)", 0},
	{"limit", KEY_LIMIT, "S", 0, "The job is ended after so many seconds; 0: never (0)", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Start a program once for each node of the group of an ini file, here and on other hosts, and pass on what it says.\v"
	"A node runs here if its address is one of this host, or it has none; else by ssh on the host of its address, where this command, the "
	"program and the file are at the same paths. ssh gets no terminal, so it asks nothing: it needs a key or an agent. A "
	"program has the environment of the login there, and in WHORL_ID and WHORL_CONFIG which node of which file it is: "
	"whorl_launched opens it, and so does `sh -c 'whorl node \"$WHORL_CONFIG\" --id \"$WHORL_ID\"'`. Its input is empty.\n"
	"\n"
	"Where srun or mpirun has started as many of this command as there are nodes, each runs the one of its rank, here (SLURM_PROCID, "
	"OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK).\n"
	"\n"
	"Lines come whole, with the id of their node in front, '2: ', on standard output or error as they were written. One of more than 64 KiB "
	"comes in pieces, of which all but the first begin with '2+ '.\n"
	"\n"
	"SIGINT, SIGTERM, SIGHUP and SIGQUIT go to all programs, which have the grace then; a second one kills them. SIGUSR1 and SIGUSR2 go to them "
	"too. When a program ends, what it has started and left ends with it. When this command ends, however it does, "
	"all programs get SIGTERM, and after the grace SIGKILL.\n"
	"\n"
	"Exit status: 0 all have ended with 0; otherwise that of the first that has not: its own, 128 and the signal that has ended it, 126 or 127 "
	"if it cannot be started. 1 a host was not reached, or the output cannot be written; 124 the limit; 130 interrupted before all were "
	"started; 2 the command line or the file; 3 the machine lacks something.";

static int seconds(struct argp_state *state, const char *option, const char *text, double least)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= least && value <= 1e6))
		argp_error(state, "%s is \"%s\", expected seconds from %g to 1000000", option, text, least);
	return (int)(value * 1000);
}

/* True: `text` is the first of the two words. */
static bool first_of(struct argp_state *state, const char *option, const char *text, const char *one, const char *other)
{
	if (strcmp(text, one) != 0 && strcmp(text, other) != 0)
		argp_error(state, "%s is \"%s\", expected %s or %s", option, text, one, other);
	return strcmp(text, one) == 0;
}

static void take_argument(struct wh_launch *launch, char *argument, struct argp_state *state)
{
	if (launch->file == NULL) {
		launch->file = argument;
		return;
	}
	launch->program = state->argv + state->next - 1;
	state->next = state->argc; /* the rest is the program's */
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct wh_launch *launch = state->input;

	switch (key) {
	case KEY_NODES:
		launch->ids = argument;
		return 0;
	case KEY_HOSTS:
		launch->hosts = argument;
		return 0;
	case KEY_SSH:
		launch->ssh = argument;
		if (strspn(argument, " ") == strlen(argument))
			argp_error(state, "--ssh is empty");
		return 0;
	case KEY_WHORL:
		launch->whorl = argument;
		return 0;
	case KEY_FATE:
		launch->shared = first_of(state, "--fate", argument, "shared", "view");
		return 0;
	case KEY_RANKS:
		launch->ranks = first_of(state, "--ranks", argument, "on", "off");
		return 0;
	case KEY_START:
		launch->start_ms = seconds(state, "--start-timeout", argument, 0.01);
		return 0;
	case KEY_GRACE:
		launch->grace_ms = seconds(state, "--grace", argument, 0);
		return 0;
	case KEY_LIMIT:
		launch->limit_ms = seconds(state, "--limit", argument, 0);
		return 0;
	case ARGP_KEY_ARG:
		take_argument(launch, argument, state);
		return 0;
	case ARGP_KEY_END:
		if (launch->file == NULL)
			argp_error(state, "which FILE?");
		if (launch->program == NULL)
			argp_error(state, "which PROGRAM?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, "FILE -- PROGRAM [ARGUMENT...]", doc, NULL, NULL, NULL};

static enum wh_exit read_file(const char *file, struct wh_node_config *config)
{
	struct wh_conf *conf = wh_sections_conf();
	enum wh_exit status = WH_EXIT_GOOD;

	if (conf == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return WH_EXIT_MACHINE;
	}
	wh_conf_ignore_others(conf); /* those of the program (whorl_config_ignore), which is there to read them */
	wh_conf_load_file(conf, file);
	if (wh_conf_check(conf) == WHORL_OK && wh_conf_variants(conf) > 1)
		wh_conf_mistake(conf, "group", NULL, NULL, "a value is a list, expected one for each key");
	if (wh_conf_check(conf) != WHORL_OK || wh_node_config_bind(config, conf, 0) != WHORL_OK) {
		fprintf(stderr, "%s\n", wh_conf_mistakes(conf));
		status = WH_EXIT_USAGE;
	}
	wh_conf_free(conf);
	return status;
}

int wh_launch_main(int argc, char **argv)
{
	struct wh_launch launch = {
		.ssh = "ssh", .whorl = "whorl", .shared = true, .ranks = true, .start_ms = 20000, .grace_ms = 10000};
	struct wh_node_config config = {0};
	int status;

	if (argc > 1 && strcmp(argv[1], WH_KEEP) == 0)
		return wh_keep_main(argc, argv);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &launch);
	status = (int)read_file(launch.file, &config);
	if (status != WH_EXIT_GOOD) {
		wh_node_config_free(&config);
		return status;
	}
	launch.file = realpath(launch.file, NULL);
	status = launch.file == NULL ? WH_EXIT_MACHINE : (int)wh_launch_plan(&launch, &config);
	wh_node_config_free(&config);
	if (status == WH_EXIT_GOOD)
		status = wh_launch_run(&launch);
	wh_launch_free(&launch);
	return status;
}
