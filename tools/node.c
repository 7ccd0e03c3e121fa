/* node.c - `whorl node`: one member of a group, to play with joins and kills from several shells. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sections.h"
#include "group/config/config.h"
#include "tools/commands.h"
#include "tools/node.h"

const struct wh_member_run wh_member_none = {.name = "none"};

static const struct wh_member_run *const runs[] = {&wh_member_counter, &wh_member_echo, &wh_member_load,
						   &wh_member_none};

struct arguments {
	const char *file;
	const char **sets; /* [set_count] */
	size_t set_count;
	bool has_id;
	struct wh_member_options member;
};

enum {
	KEY_ID = 'i',
	KEY_RUN = 'r',
	KEY_SET = 's',
	KEY_QUIET = 'q',
	KEY_SUBGROUP = 256,
	KEY_RATE,
	KEY_BYTES,
	KEY_STATE,
	KEY_EVERY,
	KEY_SECONDS,
	KEY_COMMANDS,
	KEY_JSON,
	KEY_FORM
};

static const struct argp_option words[] = {
	{"id", KEY_ID, "N", 0,
	 "The id of the node; in each group and at a time one process has it. any: one that is free, on shm. Where srun or mpirun has "
	 "started it, the number that it was given will do",
	 0},
	{"run", KEY_RUN, "WHAT", 0, "counter (if nothing is said), echo, load or none", 0},
	{"subgroup", KEY_SUBGROUP, "NAME", 0,
	 "Only in this one; otherwise in all that the node is in (echo: the first)", 0},
	{"rate", KEY_RATE, "MSG/S", 0,
	 "Send so many messages a second in each subgroup; 0: as fast as possible (counter: 10, load: 0)", 0},
	{"bytes", KEY_BYTES, "N", 0, "Of each message, at most message_bytes of the subgroup (counter: 8, load: 1024)",
	 0},
	{"state", KEY_STATE, "N", 0, "Add so many bytes to the state that a newcomer is given; k, m, g: times 1024 (0)",
	 0},
	{"every", KEY_EVERY, "N", 0,
	 "A counter tells where it is each N messages; otherwise about once a second, at round numbers", 0},
	{"seconds", KEY_SECONDS, "S", 0, "Leave after so long", 0},
	{"commands", KEY_COMMANDS, NULL, 0, "Take commands from standard input even if that is no terminal", 0},
	{"set", KEY_SET, "SECTION.KEY=VALUE", 0, "Use this value instead of the file's; may be given again", 0},
	{"form", KEY_FORM, NULL, 0,
	 "There is no group of this name any more, or yet: form one, with this node alone (with state_dir: with more than half of the "
	 "configured nodes). It is checked against every node that can be reached; for this start alone, never in a service file",
	 0},
	{"json", KEY_JSON, NULL, 0, "Tell events as JSON objects, one per line", 0},
	{"quiet", KEY_QUIET, NULL, 0, "No progress, no figures", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Run one member of the group of an ini file until it is interrupted: it joins the group if there is one, and forms "
	"it with others if not. Start several in several shells, kill one, start it again; `whorl status` looks on.\v"
	"All nodes of a group run the same:\n"
	"  counter  each sends numbers, and adds up all; nodes that show the same count show the same digest\n"
	"  load     the same, as fast as it can; it tells how fast\n"
	"  echo     what is typed at any of them is printed by all, in one order. The end of the input is its end\n"
	"  none     sends nothing, prints nothing that others send\n"
	"Newcomers get the state that the others have: the counter, or the last hundred lines.\n"
	"\n"
	"Commands can be typed at it once it is ready; with echo they begin with a slash, as in /rest:\n"
	"  rest [ID]  this node, or that one, sends nothing from the next view on, and nobody waits for it\n"
	"  send [ID]  it sends again\n"
	"  leave      as SIGTERM\n"
	"\n"
	"SIGINT and SIGTERM make it leave in order: what it has sent is delivered first. A second one ends it at once.\n"
	"The loop has a thread of its own, whatever [engine] thread says.\n"
	"\n"
	"Exit status: 0 it has left in order, 1 it failed, was removed or refused, and says why, 2 the command line or the "
	"file, 3 the machine lacks something, 130 interrupted before it was a member, or twice.";

/* A number in [least, most], with k, m or g behind it if `units`; complains otherwise. */
static double parse_number(struct argp_state *state, const char *option, const char *text, bool units, double least,
			   double most)
{
	static const char suffixes[] = "kmg";
	const char *suffix;
	char *end;
	double value = strtod(text, &end);

	if (units && end != text && *end != '\0' && (suffix = strchr(suffixes, *end)) != NULL) {
		for (const char *s = suffixes; s <= suffix; s++)
			value *= 1024;
		end++;
	}
	if (end == text || *end != '\0' || !(value >= least && value <= most))
		argp_error(state, "%s is \"%s\", expected a number from %.15g to %.15g", option, text, least, most);
	return value;
}

static const struct wh_member_run *find_run(struct argp_state *state, const char *name)
{
	for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
		if (strcmp(runs[i]->name, name) == 0)
			return runs[i];
	argp_error(state, "--run is \"%s\", expected counter, echo, load or none", name);
	return NULL;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct wh_member_options *member = &arguments->member;
	int rank;

	switch (key) {
	case KEY_ID:
		member->id = strcmp(argument, "any") == 0
				     ? WHORL_ANY_ID
				     : (uint32_t)parse_number(state, "--id", argument, false, 0, WH_NODES_MAX - 1);
		arguments->has_id = true;
		return 0;
	case KEY_RUN:
		member->run = find_run(state, argument);
		return 0;
	case KEY_SUBGROUP:
		member->subgroup = argument;
		return 0;
	case KEY_RATE:
		member->rate = parse_number(state, "--rate", argument, false, 0, 1e9);
		return 0;
	case KEY_BYTES:
		member->bytes = (int64_t)parse_number(state, "--bytes", argument, true, 1, 1 << 30);
		return 0;
	case KEY_STATE:
		member->state = (int64_t)parse_number(state, "--state", argument, true, 0, 1e12);
		return 0;
	case KEY_EVERY:
		member->every = (int64_t)parse_number(state, "--every", argument, false, 1, 1e15);
		return 0;
	case KEY_SECONDS:
		member->seconds = parse_number(state, "--seconds", argument, false, 0.001, 1e9);
		return 0;
	case KEY_SET:
		arguments->sets[arguments->set_count++] = argument;
		return 0;
	case KEY_COMMANDS:
		member->commands = true;
		return 0;
	case KEY_FORM:
		member->form = true;
		return 0;
	case KEY_JSON:
		member->json = true;
		return 0;
	case KEY_QUIET:
		member->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->file != NULL)
			argp_error(state, "one file at a time, not also \"%s\"", argument);
		arguments->file = argument;
		return 0;
	case ARGP_KEY_END:
		if (arguments->file == NULL)
			argp_error(state, "which FILE?");
		if (arguments->has_id)
			return 0;
		rank = wh_command_rank(WH_NODES_MAX);
		if (rank < 0)
			argp_error(state, "which node: --id N, or --id any?");
		member->id = (uint32_t)rank;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {words, parse_option, "FILE", doc, NULL, NULL, NULL};

/* Is there a subgroup of that name? */
static bool has_subgroup(const struct wh_conf *conf, const char *name)
{
	return name == NULL || wh_conf_has(conf, "subgroup", name);
}

int wh_node_main(int argc, char **argv)
{
	struct arguments arguments = {.sets = calloc((size_t)argc + 1, sizeof *arguments.sets),
				      .member = {.run = &wh_member_counter, .rate = -1, .bytes = -1}};
	struct wh_conf *conf = wh_sections_conf();
	enum wh_exit status = WH_EXIT_MACHINE;

	if (arguments.sets == NULL || conf == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		goto out_free;
	}
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	wh_conf_load_file(conf, arguments.file);
	for (size_t i = 0; i < arguments.set_count; i++)
		wh_conf_set(conf, arguments.sets[i]);
	wh_conf_set(conf, "engine.thread=dedicated");
	status = WH_EXIT_USAGE;
	if (wh_conf_check(conf) == WHORL_OK && wh_conf_variants(conf) > 1)
		wh_conf_mistake(conf, "group", NULL, NULL, "a value is a list, expected one for each key");
	if (wh_conf_check(conf) != WHORL_OK)
		fprintf(stderr, "%s\n", wh_conf_mistakes(conf));
	else if (!has_subgroup(conf, arguments.member.subgroup))
		wh_say("%s has no subgroup %s", arguments.file, arguments.member.subgroup);
	else
		status = wh_member_live(conf, &arguments.member);
out_free:
	wh_conf_free(conf);
	free(arguments.sets);
	return status;
}
