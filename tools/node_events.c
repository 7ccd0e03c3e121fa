/* node_events.c - what a member tells: a line for each event, in words or as a JSON object. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "tools/node.h"

void wh_member_tell(struct wh_member *member, json_t *object, const char *format, ...)
{
	char text[WH_LINE_BYTES], *dump;
	va_list args;

	if (member->options->json) {
		dump = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
		if (dump != NULL)
			wh_lines_add(&member->lines, false, dump);
		free(dump);
		json_decref(object);
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	wh_lines_add(&member->lines, false, text);
}

static json_t *array_of(const uint32_t *ids, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(ids[i]));
	return array;
}

/* " | joined 3 4"; "" if there is none. */
static size_t list_ids(char *text, size_t room, const char *what, const uint32_t *ids, uint32_t count)
{
	size_t used = 0;

	for (uint32_t i = 0; i < count && used < room; i++)
		used += (size_t)snprintf(text + used, room - used, "%s %u", i == 0 ? what : "", ids[i]);
	return used < room ? used : room - 1;
}

void wh_member_tell_view(struct wh_member *member, const struct whorl_view *view)
{
	char text[WH_LINE_BYTES] = "";
	size_t used = 0;

	if (member->options->json) {
		wh_member_tell(member,
			       json_pack("{s:s, s:i, s:I, s:o, s:o, s:o, s:i}", "event", "view", "node",
					 (int)member->id, "view", (json_int_t)view->number, "members",
					 array_of(view->members, view->member_count), "joined",
					 array_of(view->joined, view->joined_count), "left",
					 array_of(view->left, view->left_count), "rank", (int)view->rank),
			       "%s", "");
		return;
	}
	used += list_ids(text + used, sizeof text - used, "", view->members, view->member_count);
	used += list_ids(text + used, sizeof text - used, " | joined", view->joined, view->joined_count);
	list_ids(text + used, sizeof text - used, " | left", view->left, view->left_count);
	wh_member_tell(member, NULL, "view %" PRIu64 ": members%s", view->number, text);
}

const char *wh_member_advice(enum whorl_result result)
{
	switch (result) {
	case WHORL_NO_QUORUM:
		return "no quorum: it waits until it hears a majority of the view again, and delivers nothing meanwhile";
	case WHORL_REMOVED:
		return "the others go on without it; started again it joins them as a new incarnation";
	case WHORL_CUT_OFF:
		return "started again it joins those that go on without it, or forms a group with the others that have given up";
	case WHORL_REFUSED:
		return "hold its file, its version and its user against those of the group";
	case WHORL_SHARD_LOST:
		return "no node that has the state is left; only the program knows what to put in its place";
	case WHORL_MEMORY:
		return "[group] memory_max bounds what a node takes, backlog_max what it keeps back while it restores";
	case WHORL_MEMBER_GONE:
		return "what is to be delivered cannot be: end this node, and start it again";
	default:
		return "";
	}
}
