/* main.c - `whorl-dds-bridge`: the command line, and the turns of bridges. `whorl dds bridge` starts it. See bridge.h. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include <dds/version.h>

#include "bridge/garbage.h"
#include "bridge/version.h"
#include "command/crew.h"
#include "command/option.h"
#include "command/output.h"

enum { KEY_DOMAIN = 'd', KEY_TOPICS = 't', KEY_RTPS = 'r', KEY_SECONDS = 's', KEY_JSON = 256 };

#define SLICE_MS 100

static void print_version(FILE *out, struct argp_state *state)
{
	(void)state;
	fprintf(out, "whorl-dds-bridge %s, with libddsc %s\n", whorl_version(), DDS_VERSION);
}

static const struct argp_option options[] = {
	{"topics", KEY_TOPICS, "PATTERN", 0, "Topics whose names match, as a shell does it; several times for more (*)",
	 0},
	{"domain", KEY_DOMAIN, "N", 0, "whorl's domain, 0 to 65535 (0)", 0},
	{"rtps-domain", KEY_RTPS, "N", 0, "The domain of RTPS, 0 to 230 (that of --domain)", 0},
	{"seconds", KEY_SECONDS, "N", 0, "End after so many seconds; 0: at a signal (0)", 0},
	{"json", KEY_JSON, NULL, 0, "Each line is an object of JSON", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Pass samples between whorl's topics and those of programs that speak RTPS, as Cyclone DDS does.\v"
	"Each topic that has a writer on one side gets one on the other, with its policies, its instances and the times of its samples. "
	"Types come from programs of Cyclone DDS: a topic that whorl's side alone has is passed once one of them reads or writes it. "
	"CYCLONEDDS_URI configures RTPS, WHORL_DDS=FILE.ini whorl's domain.\n"
	"\n"
	"A line says where a topic begins or ends, or is refused, and at the end how many samples have passed. Of several bridges between two "
	"domains one works, and the others wait for its end. docs/bridge.md tells more.\n"
	"\n"
	"Exit status: 0 good, also behind a signal; 1 the group failed, 2 the command line, 3 a domain cannot be entered, or libddsc is "
	"another version.";

struct asked {
	struct wh_bridge *bridge;
	bool has_rtps;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct asked *asked = state->input;
	struct wh_bridge *bridge = asked->bridge;

	switch (key) {
	case KEY_TOPICS:
		if (bridge->pattern_count == WH_BRIDGE_PATTERNS_MAX)
			argp_error(state, "--topics: more than %d patterns", WH_BRIDGE_PATTERNS_MAX);
		bridge->patterns[bridge->pattern_count++] = argument;
		return 0;
	case KEY_DOMAIN:
		bridge->whorl_domain = (uint32_t)wh_option_number(state, "--domain", argument, 0, 65535);
		return 0;
	case KEY_RTPS:
		bridge->rtps_domain = (uint32_t)wh_option_number(state, "--rtps-domain", argument, 0, 230);
		asked->has_rtps = true;
		return 0;
	case KEY_SECONDS:
		bridge->seconds = (uint32_t)wh_option_number(state, "--seconds", argument, 0, 100000000);
		return 0;
	case KEY_JSON:
		bridge->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is one word too many", argument);
		return 0;
	case ARGP_KEY_END:
		if (!asked->has_rtps && bridge->whorl_domain > 230)
			argp_error(state, "which --rtps-domain? 0 to 230");
		if (!asked->has_rtps)
			bridge->rtps_domain = bridge->whorl_domain;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- turns ------------------------------------------------------------------------------------------------------------------ */

struct turn { /* the two threads, while this bridge works */
	pthread_t in, out;
	bool runs;
};

static void begin_turn(struct wh_bridge *bridge, struct turn *turn)
{
	wh_store_release(&bridge->stops, 0);
	if (pthread_create(&turn->in, NULL, wh_bridge_in, bridge) != 0)
		return;
	if (pthread_create(&turn->out, NULL, wh_bridge_out, bridge) == 0) {
		turn->runs = true;
		wh_bridge_says(bridge, "works", NULL, NULL, 0, NULL);
		return;
	}
	wh_store_release(&bridge->stops, 1);
	pthread_join(turn->in, NULL);
}

static void end_turn(struct wh_bridge *bridge, struct turn *turn)
{
	if (!turn->runs)
		return;
	wh_store_release(&bridge->stops, 1);
	pthread_join(turn->in, NULL);
	pthread_join(turn->out, NULL);
	turn->runs = false;
}

/* False: the group has ended for this process. */
static bool is_there(whorl_dds_entity participants)
{
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	void *data = NULL;
	whorl_dds_return got = whorl_dds_read(participants, &data, &info, 1);

	if (got > 0)
		(void)whorl_dds_return_loan(participants, &data, got);
	return got >= 0;
}

static enum wh_exit run(struct wh_bridge *bridge, struct wh_watch *watch)
{
	whorl_dds_entity participants = whorl_dds_create_reader(
		bridge->whorl, (whorl_dds_entity)WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
	whorl_dds_time end = whorl_dds_now() + (whorl_dds_time)bridge->seconds * 1000000000;
	struct turn turn = {.runs = false};
	enum wh_exit status = WH_EXIT_GOOD;
	bool has_turn = false;

	wh_bridge_says(bridge, "waits", NULL, NULL, 0, NULL);
	while (watch->interrupted == 0 && (bridge->seconds == 0 || whorl_dds_now() < end)) {
		if (!is_there(participants)) {
			wh_say("%s", whorl_dds_text());
			status = WH_EXIT_FAILED;
			break;
		}
		has_turn = wh_bridge_has_turn(bridge, participants, has_turn);
		if (has_turn && !turn.runs)
			begin_turn(bridge, &turn);
		else if (!has_turn)
			end_turn(bridge, &turn);
		wh_watch_wait(watch, SLICE_MS);
	}
	end_turn(bridge, &turn);
	wh_bridge_says_totals(bridge);
	return status;
}

static enum wh_exit enter_and_run(struct wh_bridge *bridge, struct wh_watch *watch)
{
	enum wh_exit status;
	const char *why;
	char text[512];

	if (!wh_bridge_version_fits(text, sizeof(text))) {
		wh_say("%s", text);
		return WH_EXIT_MACHINE;
	}
	wh_bridge_watch_garbage(bridge);
	why = wh_bridge_enter(bridge);
	if (why != NULL) {
		wh_say("%s", why);
		status = WH_EXIT_MACHINE;
	} else {
		status = run(bridge, watch);
	}
	wh_bridge_leave(bridge);
	wh_bridge_watch_garbage(NULL);
	wh_bridge_topics_free(bridge);
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse_option, NULL, doc, NULL, NULL, NULL};
	struct wh_bridge bridge = {.lock = PTHREAD_MUTEX_INITIALIZER,
				   .says = PTHREAD_MUTEX_INITIALIZER,
				   .meets = PTHREAD_MUTEX_INITIALIZER};
	struct asked asked = {.bridge = &bridge};
	struct wh_watch watch;
	struct wh_error err;
	enum wh_exit status;

	argp_program_version_hook = print_version;
	argp_err_exit_status = WH_EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &asked);
	if (bridge.pattern_count == 0)
		bridge.patterns[bridge.pattern_count++] = "*";
	on_exit(wh_end_output, NULL);
	if (wh_watch_open(&watch, &err) != WHORL_OK) { /* before there is a thread */
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	status = enter_and_run(&bridge, &watch);
	wh_watch_close(&watch);
	return status;
}
