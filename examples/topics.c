/* topics.c - nodes enter topics by name while they run, and leave them: no file names any.
 *
 * Each topic is a subgroup of its own, with its own members, order and window. The first node that enters a name says what the topic is;
 * one that says something else is refused, and told in what it differs. When the last member has left, the topic is gone.
 *
 * What happens is a script, one line for each argument, or the one below: "1 enter news", "1 send news rain", "1 leave news". Behind the
 * name of a topic that is entered there may be a window.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 3
#define TOPICS 8 /* that a node is in at a time */
#define WAIT_MS 10000

static const char *const script[] = {
	"0 enter news",    "1 enter news",    "2 enter sport", "0 send news rain", "2 send sport three to one",
	"2 enter news 20", "2 enter news 10", "1 leave news",  "2 send news sun",  "0 leave news",
	"2 leave news",    "0 enter news 20",
};

struct topic {
	char name[64]; /* "": there is none here */
	unsigned id;   /* of the node */
	whorl_subgroup *subgroup;
};

static struct place {
	whorl_node *node;
	struct topic topics[TOPICS];
} places[NODES];

static void deliver(const struct whorl_message *message, void *ctx)
{
	const struct topic *topic = ctx;

	printf("node %u hears in %s from %u: %.*s\n", topic->id, topic->name, message->sender, (int)message->bytes,
	       (const char *)message->data);
}

static struct topic *find_topic(unsigned id, const char *name)
{
	for (int i = 0; i < TOPICS; i++)
		if (strcmp(places[id].topics[i].name, name) == 0)
			return &places[id].topics[i];
	errx(1, "node %u is not in %s", id, name);
}

static void show_members(const struct topic *topic)
{
	uint32_t ids[NODES], count = NODES;

	if (whorl_subgroup_members(topic->subgroup, ids, &count) != WHORL_OK)
		errx(1, "node %u is not in %s", topic->id, topic->name);
	printf("node %u is in %s, with the nodes", topic->id, topic->name);
	for (uint32_t i = 0; i < count; i++)
		printf(" %u", ids[i]);
	printf("\n");
}

static void enter_topic(unsigned id, const char *name, unsigned window)
{
	struct topic *topic = find_topic(id, "");
	const struct whorl_subgroup_options options = {.size = sizeof(options),
						       .window = window > 0 ? window : 10,
						       .message_bytes = 256,
						       .on_message = deliver,
						       .upcall_ctx = topic};
	enum whorl_result result;

	snprintf(topic->name, sizeof(topic->name), "%s", name);
	topic->id = id;
	result = whorl_subgroup_enter(places[id].node, name, &options, WAIT_MS, &topic->subgroup);
	if (result == WHORL_OK) {
		show_members(topic);
	} else if (result == WHORL_REFUSED || result == WHORL_INVALID) {
		printf("node %u is refused: %s\n", id, whorl_invalid_text());
		topic->name[0] = '\0';
	} else {
		errx(1, "node %u does not enter %s: %s", id, name, whorl_result_text(result));
	}
}

/* Returns when all members have upcalled it. */
static void send_to_topic(const struct topic *topic, const char *text)
{
	uint64_t index = 0;

	if (whorl_send(topic->subgroup, text, strlen(text), WAIT_MS, &index) != WHORL_OK ||
	    whorl_frontier_wait(topic->subgroup, WHORL_DELIVERED_BY_ALL, index, WAIT_MS) != WHORL_OK)
		errx(1, "node %u cannot send in %s", topic->id, topic->name);
}

/* What it has sent is delivered first. No upcall comes behind it, so its place is free. */
static void leave_topic(struct topic *topic)
{
	if (whorl_subgroup_leave(topic->subgroup, WAIT_MS) != WHORL_OK ||
	    whorl_subgroup_release(topic->subgroup) != WHORL_OK)
		errx(1, "node %u does not leave %s", topic->id, topic->name);
	printf("node %u has left %s\n", topic->id, topic->name);
	topic->name[0] = '\0';
}

static void play(const char *line)
{
	char verb[8], name[64];
	unsigned id;
	int rest = 0;

	if (sscanf(line, "%u %7s %63s %n", &id, verb, name, &rest) != 3 || id >= NODES)
		errx(1, "\"%s\" is no NODE VERB TOPIC, with a node below %d", line, NODES);
	if (strcmp(verb, "enter") == 0)
		enter_topic(id, name, (unsigned)atoi(line + rest));
	else if (strcmp(verb, "send") == 0)
		send_to_topic(find_topic(id, name), line + rest);
	else if (strcmp(verb, "leave") == 0)
		leave_topic(find_topic(id, name));
	else
		errx(1, "\"%s\" is none of enter, send, leave", verb);
}

int main(int argc, char **argv)
{
	whorl_config *config = whorl_config_new();
	char text[64];

	alarm(60); /* should anything stand still */
	snprintf(text, sizeof(text), "[group]\nname = topics-%d\nnodes = %d\n", (int)getpid(), NODES);
	if (whorl_config_load_text(config, "topics", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_open(config, id, NULL, &places[id].node) != WHORL_OK ||
		    whorl_start(places[id].node) != WHORL_OK)
			errx(1, "node %u: %s", id, whorl_config_error(config));
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_ready(places[id].node, WAIT_MS) != WHORL_OK)
			errx(1, "node %u is not ready", id);
	for (int i = 1; i < argc; i++)
		play(argv[i]);
	for (size_t i = 0; argc < 2 && i < sizeof(script) / sizeof(script[0]); i++)
		play(script[i]);
	for (unsigned id = 0; id < NODES; id++) /* it leaves all topics, and frees their handles */
		if (whorl_close(places[id].node, WAIT_MS) != WHORL_OK)
			errx(1, "node %u does not close", id);
	whorl_config_free(config);
	return 0;
}
