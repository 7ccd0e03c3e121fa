/* topics.c - `whorl dds`: the command line, and what its commands have in common. See topics.h. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "command/option.h"
#include "tools/commands.h"
#include "tools/topics.h"

static const struct topics_command {
	const char *name;
	enum wh_exit (*run)(struct wh_topics *topics);
	const char *policies;  /* before those of --qos */
	bool of_topic, enters; /* takes a TOPIC; is in the domain */
} commands[] = {
	{"pub", wh_topics_pub, "reliability=reliable writer_data_lifecycle=off", true, true},
	{"sub", wh_topics_sub, "history=all", true, true},
	{"echo", wh_topics_echo, "history=all", true, true},
	{"ls", wh_topics_ls, "", false, true},
	{"perf", wh_topics_perf, "", false, false},
};

enum {
	KEY_DOMAIN = 'd',
	KEY_TYPE = 't',
	KEY_QOS = 'q',
	KEY_COUNT = 'n',
	KEY_STAY = 256,
	KEY_TO,
	KEY_JSON,
	KEY_TRANSPORT,
	KEY_BYTES,
	KEY_WRITERS,
	KEY_READERS,
	KEY_SECONDS,
	KEY_RATE,
	KEY_CONSISTENCY,
	KEY_READ
};

static const struct argp_option options[] = {
	{"domain", KEY_DOMAIN, "N", 0, "The domain, 0 to 65535 (0)", 0},
	{"type", KEY_TYPE, "FIELDS", 0,
	 "pub: the type of the topic, such as 'long w; long n'. Without it: that of the topic, which pub waits for", 0},
	{"qos", KEY_QOS, "POLICIES", 0,
	 "pub, sub, echo: policies, such as 'reliability=reliable durability=transient history=all'", 0},
	{"stay", KEY_STAY, NULL, 0, "pub: live on behind the last line, until a signal", 0},
	{"count", KEY_COUNT, "N", 0, "sub, echo: end behind so many samples", 0},
	{"to", KEY_TO, "OTHER", 0, "echo: the topic that is written (TOPIC.echo)", 0},
	{"json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL, "ls: one JSON object; perf: the results as JSON, to that file",
	 0},
	{"transport", KEY_TRANSPORT, "T", 0, "perf: shm or tcp (shm)", 0},
	{"bytes", KEY_BYTES, "N", 0, "perf: of a sample, 16 to 1000000 (128)", 0},
	{"writers", KEY_WRITERS, "N", 0, "perf: processes that write (1)", 0},
	{"readers", KEY_READERS, "N", 0, "perf: processes that read (1)", 0},
	{"seconds", KEY_SECONDS, "N", 0, "perf: how long topics run, and the bare subgroup as long (6)", 0},
	{"rate", KEY_RATE, "N", 0, "perf: samples that each writes in a second; 0: as many as it can (0)", 0},
	{"consistency", KEY_CONSISTENCY, "C", 0, "perf: unordered, atomic, stored or logged (atomic)", 0},
	{"read", KEY_READ, "HOW", 0, "perf: waitset, listener or in-place (waitset)", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Publish and subscribe: write topics, print them, and what there is in a domain.\v"
	"COMMAND is one of\n"
	"  pub TOPIC   write each line of standard input, a JSON object, as a sample; end when all members have them\n"
	"  sub TOPIC   wait for the topic, and print each sample as a line of JSON\n"
	"  echo TOPIC  write each sample of the topic to another one, too, in the same order\n"
	"  ls          print topics, writers and readers, their policies, and who lags\n"
	"  perf        measure a topic, and in turns with it the bare subgroup, between processes of this host\n"
	"  bridge      pass samples to and from programs that speak RTPS; `whorl dds bridge --help` tells more\n"
	"\n"
	"A domain is a group of this user on this host: programs come and go in any order, and what is kept goes with the "
	"last of them, unless it is persistent. With WHORL_DDS=FILE.ini in the environment it is the group of that file, which also says where persistent "
	"topics lie ([dds] directory). docs/dds.md tells more.\n"
	"\n"
	"Exit status: 0 good, 1 the group or a file failed, 2 the command line, a policy, a type or a line, 3 the domain cannot "
	"be entered, 130 interrupted.";

static const struct topics_command *find_command(const char *name)
{
	for (size_t c = 0; c < sizeof commands / sizeof commands[0]; c++)
		if (strcmp(commands[c].name, name) == 0)
			return &commands[c];
	return NULL;
}

static void take_word(struct wh_topics *topics, char *word, struct argp_state *state)
{
	if (topics->command == NULL) {
		if (find_command(word) == NULL)
			argp_error(
				state,
				"there is no command \"%s\", expected pub, sub, echo, ls, perf or bridge (as the first word)",
				word);
		topics->command = word;
	} else if (state->arg_num == 1 && find_command(topics->command)->of_topic) {
		topics->name = word;
	} else if (state->arg_num == 1 && topics->json && strcmp(topics->command, "perf") == 0) { /* --json FILE */
		topics->file = word;
	} else {
		argp_error(state, "\"%s\" is one word too many", word);
	}
}

static void check_words(const struct wh_topics *topics, struct argp_state *state)
{
	if (topics->command == NULL)
		argp_error(state, "which COMMAND? pub, sub, echo, ls, perf or bridge");
	if (find_command(topics->command)->of_topic && topics->name == NULL)
		argp_error(state, "%s: which TOPIC?", topics->command);
}

static const char *parse_choice(struct argp_state *state, const char *option, const char *text,
				const char *const *choices)
{
	char all[128] = "";
	size_t used = 0;

	for (int c = 0; choices[c] != NULL; c++) {
		if (strcmp(text, choices[c]) == 0)
			return choices[c];
		used += (size_t)snprintf(all + used, sizeof all - used, "%s%s",
					 c == 0                   ? ""
					 : choices[c + 1] != NULL ? ", "
								  : " or ",
					 choices[c]);
	}
	argp_error(state, "%s is \"%s\", expected %s", option, text, all);
	return NULL;
}

static uint32_t parse_size(struct argp_state *state, const char *option, const char *text, uint32_t least,
			   uint32_t most)
{
	uint32_t value = (uint32_t)wh_option_number(state, option, text, 0, most);

	if (value < least)
		argp_error(state, "%s is \"%s\", expected a number from %u to %u", option, text, least, most);
	return value;
}

static error_t parse_perf(int key, char *argument, struct argp_state *state)
{
	struct wh_topics *topics = state->input;

	switch (key) {
	case KEY_TRANSPORT:
		topics->transport =
			parse_choice(state, "--transport", argument, (const char *const[]){"shm", "tcp", NULL});
		return 0;
	case KEY_BYTES:
		topics->bytes = parse_size(state, "--bytes", argument, 16, 1000000);
		return 0;
	case KEY_WRITERS:
		topics->writers = parse_size(state, "--writers", argument, 1, 32);
		return 0;
	case KEY_READERS:
		topics->readers = parse_size(state, "--readers", argument, 1, 32);
		return 0;
	case KEY_SECONDS:
		topics->seconds = parse_size(state, "--seconds", argument, 1, 3600);
		return 0;
	case KEY_RATE:
		topics->rate = parse_size(state, "--rate", argument, 0, 1000000);
		return 0;
	case KEY_CONSISTENCY:
		topics->consistency =
			parse_choice(state, "--consistency", argument,
				     (const char *const[]){"unordered", "atomic", "stored", "logged", NULL});
		return 0;
	case KEY_READ:
		topics->read = parse_choice(state, "--read", argument,
					    (const char *const[]){"waitset", "listener", "in-place", NULL});
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct wh_topics *topics = state->input;

	switch (key) {
	case KEY_DOMAIN:
		topics->domain = (uint32_t)wh_option_number(state, "--domain", argument, 0, 65535);
		return 0;
	case KEY_TYPE:
		topics->type = argument;
		return 0;
	case KEY_QOS:
		topics->qos = argument;
		return 0;
	case KEY_STAY:
		topics->stay = true;
		return 0;
	case KEY_COUNT:
		topics->count = wh_option_number(state, "--count", argument, 0, INT64_MAX);
		return 0;
	case KEY_TO:
		topics->to = argument;
		return 0;
	case KEY_JSON:
		topics->json = true;
		if (argument != NULL)
			topics->file = argument;
		return 0;
	case ARGP_KEY_ARG:
		take_word(topics, argument, state);
		return 0;
	case ARGP_KEY_END:
		check_words(topics, state);
		return 0;
	default:
		return parse_perf(key, argument, state);
	}
}

static const struct argp argp = {options, parse_option, "COMMAND [TOPIC]", doc, NULL, NULL, NULL};

/* ---- what all do ------------------------------------------------------------------------------------------------------------- */

enum wh_exit wh_topics_refused(whorl_dds_return result)
{
	wh_say("%s", whorl_dds_text());
	switch (result) {
	case WHORL_DDS_RETCODE_BAD_PARAMETER:
	case WHORL_DDS_RETCODE_INCONSISTENT_POLICY:
	case WHORL_DDS_RETCODE_PRECONDITION_NOT_MET:
	case WHORL_DDS_RETCODE_UNSUPPORTED:
		return WH_EXIT_USAGE;
	default:
		return WH_EXIT_FAILED;
	}
}

bool wh_topics_interrupted(struct wh_topics *topics)
{
	wh_watch_wait(&topics->watch, 0);
	return topics->watch.interrupted != 0;
}

bool wh_topics_find(struct wh_topics *topics, whorl_dds_entity *topic, enum wh_exit *status)
{
	do {
		if (wh_topics_interrupted(topics)) {
			*status = WH_EXIT_INTERRUPTED;
			return false;
		}
		*topic = whorl_dds_find_topic(topics->participant, topics->name, WH_TOPICS_SLICE);
	} while (*topic == WHORL_DDS_RETCODE_TIMEOUT);
	if (*topic < 0)
		*status = wh_topics_refused(*topic);
	return *topic > 0;
}

bool wh_topics_write(struct wh_topics *topics, whorl_dds_entity writer, const void *data,
		     const struct whorl_dds_write_options *how, enum wh_exit *status)
{
	whorl_dds_return result;

	while ((result = whorl_dds_write_with(writer, data, how)) == WHORL_DDS_RETCODE_TIMEOUT)
		if (wh_topics_interrupted(topics)) {
			*status = WH_EXIT_INTERRUPTED;
			return false;
		}
	if (result != WHORL_DDS_RETCODE_OK)
		*status = wh_topics_refused(result);
	return result == WHORL_DDS_RETCODE_OK;
}

enum wh_exit wh_topics_settle(struct wh_topics *topics, whorl_dds_entity writer)
{
	whorl_dds_return result;

	while ((result = whorl_dds_wait_for_acks(writer, WH_TOPICS_SLICE)) == WHORL_DDS_RETCODE_TIMEOUT)
		if (wh_topics_interrupted(topics))
			return WH_EXIT_INTERRUPTED;
	return result == WHORL_DDS_RETCODE_OK ? WH_EXIT_GOOD : wh_topics_refused(result);
}

static bool parse_policies(struct wh_topics *topics, const struct topics_command *command, enum wh_exit *status)
{
	whorl_dds_return result;

	topics->policies = whorl_dds_create_qos();
	if (topics->policies == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		*status = WH_EXIT_FAILED;
		return false;
	}
	result = whorl_dds_qos_parse(topics->policies, command->policies);
	if (result == WHORL_DDS_RETCODE_OK && topics->qos != NULL)
		result = whorl_dds_qos_parse(topics->policies, topics->qos);
	if (result != WHORL_DDS_RETCODE_OK)
		*status = wh_topics_refused(result);
	return result == WHORL_DDS_RETCODE_OK;
}

static enum wh_exit enter_and_run(struct wh_topics *topics, const struct topics_command *command)
{
	enum wh_exit status = WH_EXIT_FAILED;
	whorl_dds_return result;

	if (!command->enters)
		return command->run(topics);
	if (!parse_policies(topics, command, &status))
		return status;
	topics->participant = whorl_dds_create_participant(topics->domain, NULL, NULL);
	if (topics->participant < 0) {
		(void)wh_topics_refused(topics->participant);
		return WH_EXIT_MACHINE;
	}
	status = command->run(topics);
	result = whorl_dds_delete(topics->participant);
	if (result != WHORL_DDS_RETCODE_OK && status == WH_EXIT_GOOD)
		status = wh_topics_refused(result);
	return status;
}

int wh_topics_main(int argc, char **argv)
{
	struct wh_topics topics = {.transport = "shm",
				   .bytes = 128,
				   .writers = 1,
				   .readers = 1,
				   .seconds = 6,
				   .consistency = "atomic",
				   .read = "waitset"};
	enum wh_exit status;
	struct wh_error err;

	if (argc > 1 && strcmp(argv[1], "bridge") == 0)
		return wh_topics_bridge(argc - 1, argv + 1);
	argp_parse(&argp, argc, argv, 0, NULL, &topics);
	if (wh_watch_open(&topics.watch, &err) != WHORL_OK) { /* before there is a thread */
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	status = enter_and_run(&topics, find_command(topics.command));
	whorl_dds_delete_qos(topics.policies);
	wh_watch_close(&topics.watch);
	return status;
}
