/* durable_log.c - durable subgroups without functions for a state: the log is the state. A newcomer is given all of a member's log, which lies
 * before its own as a checkpoint does; and it is upcalled for all of it, from its own disk, before what was kept back (docs/decisions/0058).
 *
 * So these are functions for a state, as a program's would be; they are read, given and restored by all that does that for those. Their bytes
 * are those of the messages, one behind the other (replay.c reads them).
 */
#include "group/durable.h"

#include <stdlib.h>
#include <string.h>

#include "group/node_int.h"
#include "state/wire.h"

/* ---- the giver ---------------------------------------------------------------------------------------------------------- */

#define UPCALL_NS (2 * WH_NS_PER_MS) /* so long may a pass upcall what was given */

struct given {
	struct wh_replay *replay;
	const struct whorl_message *message; /* that is being read; NULL: none */
	unsigned char head[WH_STATE_MESSAGE_BYTES];
	size_t at;        /* in its head and data */
	size_t magic_has; /* bytes of the magic that were read */
};

static void *take_log(const struct whorl_position *position, void *ctx)
{
	whorl_subgroup *subgroup = ctx;
	const struct wh_epoch *epoch =
		subgroup->node->epochs.current; /* of the position: see take_snapshot in durable_state.c */
	const struct wh_log_place until = {epoch->image->key, position->view, position->sequence};
	struct given *given = calloc(1, sizeof(*given));
	struct wh_error err;

	if (given == NULL)
		return NULL;
	if (wh_replay_create(&given->replay, subgroup->node->disk.logs, wh_node_number_of(subgroup), position->shard,
			     &until, NULL, subgroup, &subgroup->program.past_views, &err) == WHORL_OK)
		return given;
	free(given);
	return NULL;
}

/* The next bytes of the message, at most so many. Returns how many. */
static size_t read_message(struct given *given, unsigned char *to, size_t room)
{
	const struct whorl_message *message = given->message;
	bool in_head = given->at < sizeof(given->head);
	size_t from = in_head ? given->at : given->at - sizeof(given->head);
	size_t left = (in_head ? sizeof(given->head) : message->bytes) - from;
	size_t count = left < room ? left : room;

	if (count > 0)
		memcpy(to, (in_head ? given->head : (const unsigned char *)message->data) + from, count);
	given->at += count;
	if (given->at < sizeof(given->head) + message->bytes)
		return count;
	given->message = NULL;
	wh_replay_take(given->replay, 1);
	return count;
}

static ptrdiff_t read_log(void *handle, void *bytes, size_t room, void *ctx)
{
	struct given *given = handle;
	size_t used = 0;

	(void)ctx;
	for (; given->magic_has < WH_HISTORY_MAGIC_BYTES && used < room; given->magic_has++)
		((char *)bytes)[used++] = WH_HISTORY_MAGIC[given->magic_has];
	while (used < room) {
		enum wh_replay_is is = WH_REPLAY_HAS;
		struct wh_error err;
		size_t count;

		if (given->message == NULL) {
			is = wh_replay_look(given->replay, &given->message, &count, &err);
			given->at = 0;
			if (is == WH_REPLAY_HAS)
				wh_state_put_message(given->head, given->message);
			else
				given->message = NULL;
		}
		if (is == WH_REPLAY_FAILED)
			return -1;
		if (is == WH_REPLAY_WAITS && used == 0)
			return WH_STATE_READ_AGAIN;
		if (is != WH_REPLAY_HAS)
			return (ptrdiff_t)used;
		used += read_message(given, (unsigned char *)bytes + used, room - used);
	}
	return (ptrdiff_t)used;
}

static void release_log(void *handle, void *ctx)
{
	struct given *given = handle;

	(void)ctx;
	wh_replay_free(given->replay);
	free(given);
}

/* ---- the newcomer ------------------------------------------------------------------------------------------------------- */

/* What comes goes to disk (durable_state.c), and is read and checked there. */
static bool restore_log(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	(void)step;
	(void)bytes;
	(void)count;
	(void)ctx;
	return true;
}

size_t wh_durable_upcall(whorl_subgroup *subgroup, struct wh_replay *replay, const struct whorl_message *messages,
			 size_t count)
{
	size_t taken = 0;

	subgroup->reads_log = true;
	wh_replay_tell_view(replay);
	if (count > 0)
		taken = wh_node_upcall(subgroup, messages, count);
	subgroup->reads_log = false;
	return taken;
}

/* What came is on disk, and is upcalled from there. Returns false as long as there is more. */
static bool upcall_history(whorl_subgroup *subgroup, struct wh_replay *history, size_t *work)
{
	whorl_node *node = subgroup->node;
	uint64_t until_ns = node->loop.now_ns + UPCALL_NS;
	const struct whorl_message *messages;
	enum wh_replay_is is;
	struct wh_error err;
	size_t count, taken;

	while ((is = wh_replay_look(history, &messages, &count, &err)) == WH_REPLAY_HAS &&
	       node->loop.now_ns < until_ns) {
		taken = wh_durable_upcall(subgroup, history, messages, count);
		wh_replay_take(history, taken < count ? taken : count);
		*work += taken;
		node->loop.now_ns = wh_env_now(&node->fixed.env);
		if (taken < count || wh_node_has_failed(node))
			return false;
	}
	if (is == WH_REPLAY_FAILED)
		wh_node_fail(node, WH_LOG_ERROR, err.code, "the log of %s that was given cannot be read: %s",
			     subgroup->fixed.name, err.text);
	return is == WH_REPLAY_ENDED;
}

bool wh_durable_precede(whorl_subgroup *subgroup, size_t *work)
{
	whorl_node *node = subgroup->node;
	uint64_t number = wh_node_number_of(subgroup);
	uint32_t shard = (uint32_t)wh_load_relaxed(&subgroup->figures.log_shard);
	struct wh_log_place until;
	struct wh_replay **history = wh_durable_history(subgroup, &until);
	bool recovers = wh_durable_recovers(subgroup, &until);
	struct wh_error err;

	if (history == NULL || wh_node_has_failed(node))
		return true;
	if (*history == NULL && !recovers && !wh_logs_has_checkpoint(node->disk.logs, number, shard))
		return false;
	if (*history == NULL && wh_replay_create(history, node->disk.logs, number, shard, &until,
						 recovers ? wh_durable_program_state(subgroup) : NULL, subgroup,
						 &subgroup->program.past_views, &err) != WHORL_OK)
		return false; /* in a later pass */
	if (!upcall_history(subgroup, *history, work))
		return false;
	wh_replay_free(*history);
	*history = NULL;
	wh_durable_recovered(subgroup);
	return true;
}

struct whorl_state wh_durable_log_functions(whorl_subgroup *subgroup)
{
	return (struct whorl_state){.size = sizeof(struct whorl_state),
				    .snapshot = take_log,
				    .read = read_log,
				    .release = release_log,
				    .restore = restore_log,
				    .ctx = subgroup};
}
