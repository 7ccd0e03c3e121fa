/* fetch.c - a channel that is dormant, and of which the log lies in the directory of a process that has gone: see node.h.
 *
 * What this process has in its own directory is that of one process before it. Another may have been the last in this channel, and left, while
 * others went on; then its directory has the log, and nobody would open that but a process that gets its id by chance. So a second node of
 * this process takes that id, enters the channel, and gives it to the first one; then it goes.
 */
#include "dds/node.h"

#define FETCH_MS 10000
#define LOOK_MS 50
#define ADOPT_MS 2000
#define AGAIN 20 /* looks, until it is tried once more: a process that had the directory may be ending */

/* The nodes for which the channel waits, at most WH_DDS_MEMBERS_MAX. How many: none where it is not dormant. */
static uint32_t find_ids(const struct wh_dds_line *line, uint32_t ids[WH_DDS_MEMBERS_MAX])
{
	uint32_t count = WH_DDS_MEMBERS_MAX;

	if (wh_dds_subgroup_of(line) == NULL ||
	    whorl_subgroup_awaited(wh_dds_subgroup_of(line), ids, &count) != WHORL_OK)
		return 0;
	return count < WH_DDS_MEMBERS_MAX ? count : WH_DDS_MEMBERS_MAX;
}

/* By this process, from one of the directories. Whether the line has its state. */
static bool fetch(const char *function, struct wh_dds_node *node, struct wh_dds_line *line)
{
	uint32_t ids[WH_DDS_MEMBERS_MAX];
	uint32_t count = node->any_id ? find_ids(line, ids) : 0;
	bool fetched = false;

	for (uint32_t i = 0; i < count && !fetched && !wh_dds_node_closes(node); i++) {
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

/* Has this node all of its log, as one of its last members? If it is not dormant any more nobody knows. */
static bool may_have_log(const struct wh_dds_node *node, const struct wh_dds_line *line)
{
	uint32_t ids[WH_DDS_MEMBERS_MAX], count = find_ids(line, ids), i = 0;

	while (i < count && ids[i] != node->id)
		i++;
	return i < count || count == 0;
}

/* The line hangs at its node, so that it is told the view in which it comes in. Whether it is there. On a network nobody else can fetch what
 * this directory has: so it waits there, for as long as it takes. */
static bool adopt(struct wh_dds_node *node, struct wh_dds_line *line)
{
	enum whorl_result result = wh_dds_line_enter(line, 0);

	if (result == WHORL_OK) {
		bool mine = may_have_log(node, line);

		result = mine ? wh_dds_line_await(line, node->any_id ? ADOPT_MS : LOOK_MS) : WHORL_TIMEOUT;
		if (result == WHORL_OK || (mine && result == WHORL_TIMEOUT && !node->any_id))
			return result == WHORL_OK;
	}
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
