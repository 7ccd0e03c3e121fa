/* main.c - the `whorl` command. */
#include <argp.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <whorl/whorl.h>

#include "bench/commands.h"
#include "bench/plot/report.h"
#include "command/output.h"
#include "tools/commands.h"

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
} commands[] = {
	{"bench", wh_bench_main}, {"calibrate", wh_calibrate_main}, {"config", wh_config_main},
	{"dds", wh_topics_main},  {"delegate", wh_delegate_main},   {"launch", wh_launch_main},
	{"log", wh_log_main},     {"node", wh_node_main},           {"report", wh_report_main},
	{"sim", wh_sim_main},     {"status", wh_status_main},
};

/* The list is of all commands, in the order of the array above. */
#define COMMANDS                                                                                                       \
	"Commands:\n"                                                                                                  \
	"  bench FILE     run the group of an ini file, measure it, check what it delivered\n"                         \
	"  calibrate      measure what the library's code costs, for simulated benchmarks\n"                           \
	"  config         describe the keys of an ini file, or check one\n"                                            \
	"  dds COMMAND    publish and subscribe: write topics, print them, list them\n"                                \
	"  delegate       measure delegation, beside locks and atomic instructions\n"                                  \
	"  launch FILE    start a program once for each node of a group, here and on other hosts\n"                    \
	"  log DIR        read and check what the nodes of a group have on disk\n"                                     \
	"  node FILE      run one member of a group: a counter, a chat, a load\n"                                      \
	"  report DIR     make one page of the results of benchmarks\n"                                                \
	"  sim FILE       run groups in virtual time, let things go wrong, check what must hold\n"                     \
	"  status NAME    ask the nodes of a group which are members, how far each is, which lag\n"

struct choice {
	const struct command *command;
	int argc; /* from the command's name on */
	char **argv;
};

static void print_version(FILE *out, struct argp_state *state)
{
	(void)state;
	fprintf(out, "whorl %s\n", whorl_version());
}

static const char doc[] = "Totally ordered, atomic multicast.\v" COMMANDS "\n`whorl COMMAND --help` tells more.";

static void list_commands(FILE *out)
{
	fprintf(out, "Usage: whorl COMMAND [ARGUMENT...]\n\n%s\n`whorl COMMAND --help` tells more.\n", COMMANDS);
}

static const struct command *find_command(const char *name)
{
	for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++)
		if (strcmp(name, commands[c].name) == 0)
			return &commands[c];
	return NULL;
}

/* `whorl help`, `whorl help COMMAND`, as --help. Does not return. */
static void print_help(struct argp_state *state)
{
	static char option[] = "--help";
	const char *name = state->next < state->argc ? state->argv[state->next] : NULL;
	const struct command *command = name != NULL ? find_command(name) : NULL;
	char call[64];

	if (name == NULL)
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	if (command == NULL)
		argp_error(state, "there is no command \"%s\"", name);
	snprintf(call, sizeof call, "whorl %s", name);
	exit(command->main(2, (char *[]){call, option, NULL}));
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (strcmp(argument, "help") == 0)
			print_help(state);
		choice->command = find_command(argument);
		if (choice->command == NULL)
			argp_error(state, "there is no command \"%s\"", argument);
		choice->argc = state->argc - state->next + 1;
		choice->argv = state->argv + state->next - 1;
		state->next = state->argc; /* the rest is the command's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		list_commands(stderr);
		exit(WH_EXIT_USAGE);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* One of the three that is closed would become the next file or connection that is opened, and output would go there: it is opened
 * so that what is done with it fails. */
static void hold_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {NULL, parse_option, "COMMAND [ARGUMENT...]", doc, NULL, NULL, NULL};
	struct choice choice = {0};
	char name[64];

	hold_standard_files();
	on_exit(wh_end_output, NULL);
	argp_program_version_hook = print_version;
	argp_err_exit_status = WH_EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
	snprintf(name, sizeof name, "whorl %s", choice.command->name); /* what its own --help shows */
	choice.argv[0] = name;
	return choice.command->main(choice.argc, choice.argv);
}
