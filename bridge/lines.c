/* lines.c - what the bridge says on standard output: a line for each topic that begins or ends. See bridge.h. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "bridge/bridge.h"
#include "command/output.h"

static void say_json(const char *event, const char *way, const char *topic, uint64_t samples, const char *why)
{
	json_t *line = json_pack("{s:s}", "event", event);

	if (way != NULL)
		json_object_set_new(line, "way", json_string(way));
	if (topic != NULL)
		json_object_set_new(line, "topic", json_string(topic));
	json_object_set_new(line, "samples", json_integer((json_int_t)samples));
	if (why != NULL)
		json_object_set_new(line, "why", json_string(why));
	json_dumpf(line, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
	json_decref(line);
}

static void say_text(const char *event, const char *way, const char *topic, uint64_t samples, const char *why)
{
	printf("%s", event);
	if (topic != NULL)
		printf(" %s", topic);
	if (way != NULL)
		printf(" (%s)", way);
	if (samples > 0)
		printf(", %" PRIu64 " samples", samples);
	if (why != NULL)
		printf(": %s", why);
}

void wh_bridge_says(struct wh_bridge *bridge, const char *event, const char *way, const char *topic, uint64_t samples,
		    const char *why)
{
	pthread_mutex_lock(&bridge->says);
	(bridge->json ? say_json : say_text)(event, way, topic, samples, why);
	printf("\n");
	fflush(stdout); /* what could not be written is seen at the end */
	pthread_mutex_unlock(&bridge->says);
}

void wh_bridge_says_kept_back(struct wh_bridge *bridge, struct wh_bridge_topic *topic, bool out, const char *what)
{
	if (what != NULL && wh_fetch_add(&topic->has_said_kept_back[out], 1) == 0)
		wh_bridge_says(bridge, "keeps back", out ? "out" : "in", topic->name, 0, what);
}

void wh_bridge_says_totals(struct wh_bridge *bridge)
{
	for (struct wh_bridge_topic *topic = bridge->topics; topic != NULL; topic = topic->next) {
		uint64_t rejected = wh_load_relaxed(&topic->rejected);

		wh_bridge_says(bridge, "total", "in", topic->name, wh_load_relaxed(&topic->in), NULL);
		wh_bridge_says(bridge, "total", "out", topic->name, wh_load_relaxed(&topic->out), NULL);
		if (rejected > 0)
			wh_bridge_says(bridge, "total", "rejected", topic->name, rejected, NULL);
	}
}
