/* ready.c - how far a node has come on its way in: whorl_progress, and what whorl_ready waits for. */
#include <inttypes.h>
#include <stdio.h>

#include "base/size.h"
#include "group/node_int.h"
#include "group/refuse.h"

void wh_node_advance(whorl_node *node, int step)
{
	if (wh_load_relaxed(&node->entry.took_ns[step]) == 0)
		wh_store_relaxed(&node->entry.took_ns[step],
				 wh_env_now(&node->fixed.env) - wh_load_relaxed(&node->passes.started_ns) + 1);
}

bool wh_node_restores(const whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->state != NULL && wh_state_restores(subgroup->state) &&
		    wh_load_relaxed(&subgroup->words.leaves) == 0)
			return true;
	return false;
}

static void note_ready(struct wh_held held, const whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		struct wh_subgroup_told *told = wh_told_write(held, &subgroup->told);

		told->is_member = wh_epoch_shard_member(node->epochs.current, subgroup) != NULL;
		told->ready = told->is_member && (subgroup->state == NULL || !wh_state_restores(subgroup->state));
	}
}

void wh_node_state_restored(whorl_node *node)
{
	struct wh_held held;
	bool restores;

	if (node->epochs.current == NULL)
		return;
	restores = wh_node_restores(node);
	if (!restores)
		wh_node_advance(node, WHORL_ENTRY_RESTORED);
	held = wh_waiting_enter(&node->waiting);
	note_ready(held, node);
	if (!restores)
		wh_waiting_note_ready(held);
	wh_waiting_tell(held);
	wh_waiting_leave(held);
}

static void explain_restore(const whorl_node *node, char *text, size_t bytes)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		const struct wh_state_stats *stats =
			subgroup->state != NULL ? wh_state_statistics(subgroup->state) : NULL;
		char taken[WH_SIZE_BYTES];

		if (stats == NULL || wh_load_relaxed(&stats->takes) == 0)
			continue;
		wh_size_text(wh_load_relaxed(&stats->taken), taken, sizeof(taken));
		snprintf(text, bytes, "restores %s: %s from node %" PRIu64, subgroup->fixed.name, taken,
			 wh_load_relaxed(&stats->from));
		return;
	}
	snprintf(text, bytes, "waits for somebody to give it the state of its subgroups");
}

void whorl_progress(const whorl_node *node, char *text, size_t bytes)
{
	struct wh_held held;

	if (bytes == 0)
		return;
	if (node == NULL || text == NULL) {
		WH_REFUSE(node == NULL ? "no node" : "no place for the text");
		if (text != NULL)
			text[0] = '\0';
		return;
	}
	if (wh_node_state(node) == WHORL_FORKED) {
		snprintf(text, bytes, "%s", wh_result_text(WHORL_FORKED));
		return;
	}
	held = wh_waiting_enter(&node->waiting);
	if (node->waiting.failure.code == WHORL_OK && !node->waiting.ready && wh_load_acquire(&node->epochs.begun) > 0)
		explain_restore(node, text, bytes);
	else
		snprintf(text, bytes, "%s", wh_waiting_says(held));
	wh_waiting_leave(held);
}
