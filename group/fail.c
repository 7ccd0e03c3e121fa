/* fail.c - a node fails, or hears too few of the others to go on: threads that wait are told. */
#include "group/node_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

/* Threads that wait for the window look again. */
static void signal_rings(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->ring != NULL)
			wh_ring_signal(subgroup->ring);
}

/* What has become of the messages is not known here any more. */
static void stop_frontiers(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->ring != NULL)
			wh_frontiers_stop(&subgroup->ring->frontiers);
	wh_node_wake_waits(node);
}

void wh_node_fail(whorl_node *node, enum wh_log_level level, enum whorl_result code, const char *format, ...)
{
	char text[sizeof(node->waiting.failure.text)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (!wh_waiting_fail(&node->waiting, node->fixed.gate, code, text))
		return;
	wh_log(&node->diag, level, "%s", text);
	signal_rings(node);
	stop_frontiers(node);
}

void wh_node_lose_quorum(whorl_node *node)
{
	const struct wh_epoch *epoch = node->epochs.current;
	char ids[128] = "", text[sizeof(node->waiting.minority.text)];

	for (uint32_t rank = 0; rank < epoch->view->members; rank++)
		if (rank != epoch->rank && epoch->change.suspicion.wanted[rank] != WH_DEAD &&
		    (!wh_heartbeat_hears(&epoch->heartbeat, rank) || epoch->change.suspicion.wanted[rank] != WH_TRUSTED))
			wh_text_add_id(ids, sizeof(ids), ", ", epoch->view->ids[rank]);
	snprintf(text, sizeof(text), "too few of the %u members of view %llu are heard to go on; missing: %s",
		 epoch->view->members, (unsigned long long)epoch->view->number, ids);
	wh_waiting_lose_quorum(&node->waiting, node->fixed.gate, text);
	wh_log(&node->diag, WH_LOG_WARNING, "%s", text);
	signal_rings(node);
}

void wh_node_regain_quorum(whorl_node *node)
{
	wh_waiting_regain_quorum(&node->waiting, node->fixed.gate);
	wh_log(&node->diag, WH_LOG_INFO, "a quorum is heard again");
	signal_rings(node);
}

void wh_epoch_suspect_broken(struct wh_epoch *epoch, uint32_t rank, const char *what)
{
	if (epoch->change.suspicion.known[rank] < WH_FAILED) /* once, also if that cannot be said now */
		wh_log(&epoch->node->diag, WH_LOG_WARNING, "node %u is broken: its %s", epoch->view->ids[rank], what);
	if (epoch->change.settled) /* and its messages are to be delivered here */
		wh_node_fail(epoch->node, WH_LOG_WARNING, WHORL_MEMBER_GONE,
			     "node %u is broken, and its messages cannot be delivered: its %s", epoch->view->ids[rank],
			     what);
	else if (rank != epoch->rank)
		wh_change_suspect(&epoch->change, rank, WH_FAILED, what);
}
