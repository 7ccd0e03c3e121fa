/* garbage.c - see garbage.h. */
#include "bridge/garbage.h"

#include <stdio.h>
#include <string.h>

#include <dds/ddsrt/log.h>

#include "command/output.h"

/* "... deserialization TOPIC/TYPE failed (...)": the names of types have no slash. */
bool wh_bridge_garbage_topic(const char *line, char *name, size_t bytes)
{
	static const char before[] = ": deserialization ", behind[] = " failed";
	const char *topic = strstr(line, before), *end, *slash = NULL;

	if (topic == NULL)
		return false;
	topic += sizeof(before) - 1;
	end = strstr(topic, behind);
	for (const char *at = topic; end != NULL && at < end; at++)
		if (*at == '/')
			slash = at;
	if (slash == NULL || (size_t)(slash - topic) >= bytes)
		return false;
	memcpy(name, topic, (size_t)(slash - topic));
	name[slash - topic] = '\0';
	return true;
}

/* A thread of Cyclone's. What else is said goes on to standard error. */
static void see_line(void *arg, const dds_log_data_t *data)
{
	struct wh_bridge *bridge = arg;
	struct wh_bridge_topic *topic;
	char name[WHORL_DDS_NAME_BYTES];

	if (!wh_bridge_garbage_topic(data->message, name, sizeof(name))) {
		wh_say("Cyclone DDS: %.*s", (int)strcspn(data->message, "\n"), data->message);
		return;
	}
	topic = wh_bridge_topic_find(bridge, name);
	if (topic != NULL)
		wh_bridge_topic_rejects(bridge, topic, "a sample of RTPS cannot be decoded");
}

void wh_bridge_watch_garbage(struct wh_bridge *bridge)
{
	dds_set_log_sink(bridge != NULL ? see_line : NULL, bridge);
}
