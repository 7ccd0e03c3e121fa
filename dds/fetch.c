/* fetch.c - a channel that is dormant, and of which the log lies in the directory of a process that has gone: see node.h.
 *
 * What this process has in its own directory is that of one process before it. Another may have been the last in this channel, and left, while
 * others went on; then its directory has the log, and nobody would open that but a process that gets its id by chance. So a second node of
 * this process takes that id, enters the channel, and gives it to the first one; then it goes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

#define FETCH_MS 10000
#define LOOK_MS 50
#define ADOPT_MS 2000
#define AGAIN 20 /* looks, until it is tried once more: a process that had the directory may be ending */

/* The ids for which the channel waits are the last words of what its stay says. How many: at most `most`. */
static size_t find_ids(const struct wh_dds_line *line, uint32_t *ids, size_t most)
{
	static const char before[] = ", with";
	char text[1024] = "", *at, *end;
	size_t count = 0;

	if (wh_dds_subgroup_of(line) == NULL ||
	    whorl_subgroup_error(wh_dds_subgroup_of(line), text, sizeof(text)) != WHORL_AGAIN)
		return 0;
	at = strstr(text, before);
	at = at != NULL ? at + sizeof(before) - 1 : text;
	while (at > text && count < most) {
		unsigned long id = strtoul(at, &end, 10);

		if (end == at || id >= WH_DDS_MEMBERS_MAX)
			break;
		ids[count++] = (uint32_t)id;
		at = end;
	}
	return count;
}

/* By this process, from one of the directories. Whether the line has its state. */
static bool fetch(const char *function, struct wh_dds_node *node, struct wh_dds_line *line)
{
	uint32_t ids[WH_DDS_MEMBERS_MAX];
	size_t count = node->any_id ? find_ids(line, ids, WH_DDS_MEMBERS_MAX) : 0;
	bool fetched = false;

	for (size_t i = 0; i < count && !fetched && !wh_dds_node_closes(node); i++) {
		struct wh_dds_node *other = wh_dds_node_open_as(function, node, ids[i]);
		struct wh_dds_line *lines;

		if (other == NULL)
			continue; /* a process has it: it enters by itself, or has nothing of it */
		fetched = (line->control ||
			   wh_dds_node_line(function, other, line->name, &lines) == WHORL_DDS_RETCODE_OK) &&
			  wh_dds_line_await(line, FETCH_MS) == WHORL_OK;
		wh_dds_node_close_other(other); /* when the log of this one has all of it */
	}
	return fetched;
}

enum whorl_result wh_dds_line_fetch(const char *function, struct wh_dds_node *node, struct wh_dds_line *line,
				    uint64_t until_ns)
{
	enum whorl_result result = wh_dds_line_await(line, wh_dds_left_ms(until_ns, LOOK_MS));

	for (uint32_t look = 0; result == WHORL_TIMEOUT && !wh_dds_node_closes(node) && wh_dds_left_ms(until_ns, 1) > 0;
	     look++)
		result = look % AGAIN == 0 && fetch(function, node, line)
				 ? WHORL_OK
				 : wh_dds_line_await(line, wh_dds_left_ms(until_ns, LOOK_MS));
	return result;
}

static bool is_one_of(uint32_t id, const uint32_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* The line hangs at its node, so that it is told the view in which it comes in. Whether it is there. */
static bool adopt(struct wh_dds_node *node, struct wh_dds_line *line)
{
	uint32_t ids[WH_DDS_MEMBERS_MAX];
	enum whorl_result result = wh_dds_line_enter(line, LOOK_MS);

	if (result == WHORL_TIMEOUT && is_one_of(node->id, ids, find_ids(line, ids, WH_DDS_MEMBERS_MAX)))
		result = wh_dds_line_await(line, ADOPT_MS);
	if (result == WHORL_OK)
		return true;
	if (wh_dds_subgroup_of(line) != NULL && wh_dds_subgroup_leave(wh_dds_subgroup_of(line), FETCH_MS) == WHORL_OK)
		(void)whorl_subgroup_release(wh_dds_line_forget(line)); /* it is entered by the first that needs it */
	return false;
}

void wh_dds_node_adopt(struct wh_dds_node *node)
{
	char channel[WH_DDS_CHANNEL_NAME_BYTES + 1];
	struct wh_dds_shape shape;

	for (uint32_t at = 0; node->logs && wh_dds_channel_at(node, at, channel); at++) {
		struct wh_dds_line *line = NULL;
		bool is_there;

		if (!wh_dds_shape_of(&node->settings, channel, &shape) || !shape.durable ||
		    !wh_dds_is_dormant(node, channel, &shape))
			continue;
		pthread_mutex_lock(&node->lock);
		if (wh_dds_node_find_line(node, channel) == NULL)
			line = wh_dds_line_new(node, channel, &shape);
		if (line != NULL) {
			line->stage = WH_DDS_OPENING;
			line->next = node->lines;
			node->lines = line;
		}
		pthread_mutex_unlock(&node->lock);
		if (line == NULL)
			continue;
		is_there = adopt(node, line);
		pthread_mutex_lock(&node->lock);
		line->stage = is_there ? WH_DDS_OPEN : WH_DDS_FAILED;
		pthread_cond_broadcast(&node->changed);
		pthread_mutex_unlock(&node->lock);
	}
}
