/* main.c - the `whorl` command. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include <whorl/whorl.h>

#include "tools/tools.h"

static const struct command {
	const char *name;
	int (*main)(int argc, char **argv);
} commands[] = {
	{"bench", wh_bench_main},   {"calibrate", wh_calibrate_main}, {"config", wh_config_main},
	{"node", wh_node_main},     {"report", wh_report_main},       {"sim", wh_sim_main},
	{"status", wh_status_main},
};

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

static const char doc[] = "Totally ordered, atomic multicast.\v"
			  "Commands:\n"
			  "  bench FILE     run the group of an ini file, measure it, check what it delivered\n"
			  "  calibrate      measure what the library's code costs, for simulated benchmarks\n"
			  "  config         describe the keys of an ini file, or check one\n"
			  "  node FILE      run one member of a group: a counter, a chat, a load\n"
			  "  report DIR     make one page of the results of benchmarks\n"
			  "  sim FILE       run groups in virtual time, let things go wrong, check what must hold\n"
			  "  status NAME    ask the nodes of a group who is in it, how far each is, who lags\n"
			  "\n"
			  "`whorl COMMAND --help` tells more.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++)
			if (strcmp(argument, commands[c].name) == 0)
				choice->command = &commands[c];
		if (choice->command == NULL)
			argp_error(state, "there is no command \"%s\"", argument);
		choice->argc = state->argc - state->next + 1;
		choice->argv = state->argv + state->next - 1;
		state->next = state->argc; /* the rest is the command's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which COMMAND?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {NULL, parse, "COMMAND [ARGUMENT...]", doc, NULL, NULL, NULL};
	struct choice choice = {0};
	char name[64];

	argp_program_version_hook = print_version;
	argp_err_exit_status = WH_EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice);
	snprintf(name, sizeof name, "whorl %s", choice.command->name); /* what its own --help shows */
	choice.argv[0] = name;
	return choice.command->main(choice.argc, choice.argv);
}
