/* durable.c - see durable.h. */
#include "group/durable.h"

#include <stdlib.h>
#include <string.h>

#include "group/node_int.h"

#define LOCK_TIMEOUTS 3 /* start time-outs: so long another node may speak for this one's disk, if it answers at once */

/* A subgroup of a view, also a dynamic one, as its log needs it. */
static void describe_member(const struct wh_shard_member *member, struct wh_log_source_config *out)
{
	const whorl_subgroup *subgroup = member->subgroup;

	out->name = member->layout->name;
	out->parts_most = subgroup->fixed.parts_most;
	out->message_bytes = subgroup->fixed.message_bytes;
	out->log_bytes = subgroup->fixed.log_bytes;
}

/* The other node gives a directory back when it has read it, or closed it, which takes as long as the disk does. */
static uint64_t lock_patience_ns(const struct wh_node_config *config)
{
	uint64_t start_ms = (uint64_t)config->group.start_timeout_ms, disk_ms = (uint64_t)config->group.disk_timeout_ms;

	return (LOCK_TIMEOUTS * start_ms + disk_ms) * WH_NS_PER_MS;
}

enum whorl_result wh_durable_open(whorl_node *node, struct wh_error *err)
{
	const struct wh_node_config *config = &node->fixed.config;
	struct wh_logs_config logs;

	if (!wh_node_config_is_durable(config))
		return WHORL_OK;
	node->disk.aside = wh_aside_new(node->fixed.world_env);
	if (node->disk.aside == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for logs");
	wh_durable_logs_config(&logs, config, node->fixed.world_env, node->fixed.id);
	if (node->fixed.one_host) {
		logs.patience_ns = lock_patience_ns(config);
		logs.nodes = wh_node_config_nodes_max(config);
	}
	logs.wake = wh_durable_wake;
	logs.ctx = node;
	return wh_logs_open(&node->disk.logs, &logs, err);
}

/* What the standing says of that shard of this node's. NULL: nothing. */
static const struct wh_shard_standing *standing_of(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	return wh_standing_shard(wh_logs_standing(epoch->node->disk.logs), wh_subgroup_number(member->layout),
				 member->layout->shard);
}

static void fail_for_memory(whorl_node *node)
{
	wh_node_fail(node, WH_LOG_ERROR, WHORL_MEMORY, "no memory for what is to go to disk");
}

/* A row's word of a log: 0: it is not whole. Odd: it is. Even: it is, but rot was found in it since, while the node runs. A view goes on with either,
 * as the program has all of it; nobody leaves for the sake of the last. It only grows. */
static bool is_good(uint64_t word)
{
	return word % 2 == 1;
}

static void say_log(struct wh_epoch *epoch, const struct wh_shard_member *member, uint64_t word)
{
	wh_sst_publish_array(&epoch->sst, &epoch->pushes, epoch->rows->node.whole, wh_epoch_index(epoch, member), word,
			     epoch->heartbeat.peers);
}

static uint64_t said_of_log(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	return wh_sst_mine(&epoch->sst, wh_array_at(epoch->rows->node.whole, wh_epoch_index(epoch, member)));
}

/* Says in my row of which shards my log has all. What it says is on disk: of the view before, or as it was agreed to or entered. */
static void tell_whole(struct wh_epoch *epoch)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		const struct wh_shard_member *member = &epoch->shard_members[i];
		const struct wh_shard_standing *shard = standing_of(epoch, member);
		bool whole = shard != NULL && shard->whole;

		if (member->subgroup->fixed.durable)
			wh_store_relaxed(&member->subgroup->figures.log_whole, whole);
		if (member->subgroup->fixed.durable && whole && said_of_log(epoch, member) == 0)
			say_log(epoch, member,
				wh_logs_has_rot(epoch->node->disk.logs, shard->subgroup, shard->shard) ? 2 : 1);
	}
	wh_pushes_post(&epoch->pushes);
}

/* If the state that this node was given is on its disk its log is whole: that goes to disk, and then it is said. */
static void note_whole(struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	struct wh_logs *logs = epoch->node->disk.logs;
	uint64_t number = wh_subgroup_number(member->layout);
	uint32_t shard = member->layout->shard;
	const struct wh_shard_standing *is = standing_of(epoch, member);
	struct wh_standing standing;

	if (is == NULL || is->whole || !wh_logs_has_checkpoint(logs, number, shard))
		return;
	if (wh_standing_copy(&standing, wh_logs_standing(logs)) != WHORL_OK)
		return; /* in the next pass */
	wh_standing_shard(&standing, number, shard)->whole = true;
	epoch->whole_ticket = wh_logs_write_standing(logs, &standing);
	wh_standing_free(&standing);
}

/* A checkpoint takes the place of what lies before it, also of that. Without functions for a state nothing can, while the node goes on. */
static void note_rot(struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	whorl_node *node = epoch->node;
	uint64_t number = wh_subgroup_number(member->layout), said = said_of_log(epoch, member);
	bool mends = wh_durable_program_state(member->subgroup) != NULL, rotten;
	char why[WH_LOG_ROT_BYTES];
	bool news = wh_logs_take_rot(node->disk.logs, number, member->layout->shard, &rotten, why);

	if (said != 0 && is_good(said) == rotten) {
		say_log(epoch, member, said + 1);
		wh_pushes_post(&epoch->pushes);
	}
	if (!news)
		return;
	wh_log(&node->diag, WH_LOG_ERROR, "the log of %s has rot, and is no longer whole: %s; %s",
	       member->subgroup->fixed.name, why,
	       mends ? "a checkpoint is made, which takes its place"
		     : "this node is to be started again with an empty directory, and is given all of another's");
	if (mends)
		wh_durable_ask_checkpoint(member->subgroup);
}

/* Also when the view is over: its members may wait for one that has all of a log. */
static void look_at_shards(struct wh_epoch *epoch)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		const struct wh_shard_member *member = &epoch->shard_members[i];

		if (!member->subgroup->fixed.durable)
			continue;
		note_whole(epoch, member);
		note_rot(epoch, member);
		if (!epoch->change.wedged)
			wh_durable_step_state(member->subgroup, member->subgroup->fixed.log_bytes);
	}
	if (epoch->whole_ticket != 0 && wh_logs_has_done(epoch->node->disk.logs, epoch->whole_ticket)) {
		epoch->whole_ticket = 0;
		tell_whole(epoch);
	}
}

void wh_durable_look(whorl_node *node)
{
	struct wh_error err;

	if (node->disk.logs == NULL || wh_node_has_failed(node))
		return;
	if (!wh_logs_look(node->disk.logs, node->loop.now_ns, &err))
		wh_node_fail(node, WH_LOG_ERROR, err.code, "this node leaves: %s", err.text);
	else if (node->epochs.current != NULL) /* wedged, too: that a log is whole may be what a decision waits for */
		look_at_shards(node->epochs.current);
}

/* ---- views -------------------------------------------------------------------------------------------------------------- */

static bool write_view(whorl_node *node, struct wh_epoch *epoch)
{
	unsigned char *bytes;
	size_t count;

	if (wh_view_encode(&bytes, &count, epoch->view) != WHORL_OK)
		return false;
	epoch->view_ticket = wh_logs_write_view(node->disk.logs, epoch->image->key, bytes, count);
	free(bytes);
	return epoch->view_ticket != 0;
}

bool wh_durable_is_prepared(struct wh_epoch *epoch)
{
	whorl_node *node = epoch->node;

	if (node->disk.logs == NULL)
		return true;
	if (epoch->view_ticket == 0 && !write_view(node, epoch))
		return false; /* in the next pass */
	return wh_logs_has_done(node->disk.logs, epoch->view_ticket);
}

/* The view of that epoch follows the standing's base, by a round of a restart: this node has agreed to it. */
static bool is_restart(const struct wh_epoch *epoch)
{
	const struct wh_standing *standing = wh_logs_standing(epoch->node->disk.logs);

	return standing->ballot >= WH_RESTART_BALLOTS && standing->next == epoch->image->key;
}

static bool enters(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	return wh_rank_find(member->layout->entered, member->layout->entered_count, epoch->rank) >= 0;
}

static uint64_t cut_of_base(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	const struct wh_standing *standing = wh_logs_standing(epoch->node->disk.logs);
	uint32_t index = wh_epoch_index(epoch, member);

	return index < standing->cut_count ? standing->cuts[index] : 0;
}

/* ---- standings ---------------------------------------------------------------------------------------------------------- */

/* Where that shard goes on from, in the view before this one, or of a restart in its base. False: it begins with this view, or comes back in it.
 * Shards of the file have the same index in all views; no dynamic one goes on behind a restart. */
static bool find_begin(const struct wh_epoch *epoch, const struct wh_epoch *before,
		       const struct wh_view_subgroup *layout, uint64_t *key, uint64_t *cut)
{
	const struct wh_standing *was = wh_logs_standing(epoch->node->disk.logs);
	int index = (int)(layout - epoch->view->subgroups);

	if (before != NULL && layout->birth != 0)
		index = wh_subgroup_index(before->view, layout->birth, 0);
	if (before != NULL && index >= 0 && (uint32_t)index < before->view->subgroup_count) {
		*key = before->image->key;
		*cut = before->change.cuts[index];
		return true;
	}
	if (before != NULL || layout->birth != 0 || !is_restart(epoch) || (uint32_t)index >= was->cut_count)
		return false;
	*key = was->base;
	*cut = was->cuts[index];
	return true;
}

static bool returns(const struct wh_epoch *epoch, const struct wh_view_subgroup *layout)
{
	return wh_rank_find(layout->returned, layout->returned_count, epoch->rank) >= 0;
}

/* What it says of a shard that this node is in. One that comes back goes on from where its log ends. */
static struct wh_shard_standing stand_in(const struct wh_epoch *epoch, const struct wh_epoch *before,
					 const struct wh_shard_member *member)
{
	const struct wh_view_subgroup *layout = member->layout;
	const struct wh_shard_standing *old = standing_of(epoch, member);
	const struct wh_dormant_log *slept =
		wh_standing_dormant(wh_logs_standing(epoch->node->disk.logs), layout->birth);
	struct wh_shard_member *there = before != NULL ? wh_epoch_shard_member(before, member->subgroup) : NULL;
	struct wh_shard_standing out = {.subgroup = wh_subgroup_number(layout), .shard = layout->shard};
	bool stays = before != NULL ? there != NULL && there->layout->shard == layout->shard
				    : is_restart(epoch) && !enters(epoch, member);

	if (layout->birth != 0) {
		memcpy(out.name, layout->name, sizeof(out.name));
		out.largest = wh_parameters_largest(&layout->parameters);
	}
	if (returns(epoch, layout) && slept != NULL) {
		out.before = slept->key;
		out.begins = layout->cut;
		out.whole = true;
	} else if (stays && old != NULL && find_begin(epoch, before, layout, &out.before, &out.begins)) {
		out.whole = old->whole;
	} else {
		out.whole = layout->entered_count == layout->member_count && layout->from == 0;
	}
	return out;
}

/* What it says of this node's shards in that view. False: no memory. */
static bool fill_shards(struct wh_standing *out, const struct wh_epoch *epoch, const struct wh_epoch *before)
{
	out->shards = calloc(epoch->shard_member_count + 1, sizeof(*out->shards));
	for (uint32_t i = 0; out->shards != NULL && i < epoch->shard_member_count; i++)
		if (epoch->shard_members[i].subgroup->fixed.durable)
			out->shards[out->shard_count++] = stand_in(epoch, before, &epoch->shard_members[i]);
	wh_standing_sort(out);
	return out->shards != NULL;
}

/* Where the shards begin in that view that this node is not in. False: no memory. */
static bool fill_others(struct wh_standing *out, const struct wh_epoch *epoch, const struct wh_epoch *before)
{
	out->others = calloc(epoch->view->subgroup_count + 1, sizeof(*out->others));
	for (uint32_t g = 0; out->others != NULL && g < epoch->view->subgroup_count; g++) {
		const struct wh_view_subgroup *layout = &epoch->view->subgroups[g];
		struct wh_shard_begin begin = {.subgroup = wh_subgroup_number(layout), .shard = layout->shard};

		if (!wh_node_config_parameters(&epoch->node->fixed.config, layout).durable ||
		    wh_standing_shard(out, begin.subgroup, begin.shard) != NULL)
			continue;
		if (!find_begin(epoch, before, layout, &begin.before, &begin.begins) && epoch->view->number > 0)
			continue; /* this node has come in with this view, or the subgroup has: it knows of none before */
		out->others[out->other_count++] = begin;
	}
	wh_standing_sort(out);
	return out->others != NULL;
}

/* ---- dynamic subgroups that are dormant --------------------------------------------------------------------------------- */

static bool is_dormant_in(void *ctx, uint64_t birth)
{
	const struct wh_view *view = ctx;

	return view == NULL || wh_view_dormant_born(view, birth) != NULL;
}

/* What the standing that was has of dynamic subgroups: all of it goes on, if `view` is NULL; else what is dormant there. Where a log of its base
 * ends that does not go on is known in the view that follows. With room for so many more. False: no memory. */
static bool keep_dormant(struct wh_standing *out, const struct wh_standing *was, const struct wh_view *view,
			 const struct wh_epoch *before, uint32_t more)
{
	if (wh_standing_keep_dormant(out, was, is_dormant_in, (void *)(uintptr_t)view, more) != WHORL_OK)
		return false;
	for (uint32_t i = 0; before != NULL && i < out->dormant_count; i++) {
		const struct wh_shard_standing *shard = &out->dormant[i].shard;
		int index = wh_standing_shard(was, shard->subgroup, shard->shard) != NULL
				    ? wh_subgroup_index(before->view, shard->subgroup, shard->shard)
				    : -1;

		if (index >= 0)
			out->dormant[i].cut = before->change.cuts[index];
	}
	return true;
}

/* What is dormant since this view has its end here; and what goes on without this node is of no use. False: no memory. */
static bool note_dormant(whorl_node *node, const struct wh_standing *was, const struct wh_standing *now)
{
	bool ok = true;

	for (uint32_t i = 0; i < was->shard_count && ok; i++) {
		const struct wh_shard_standing *shard = &was->shards[i];
		const struct wh_dormant_log *sleeps = wh_standing_dormant(now, shard->subgroup);

		if (wh_shard_is_of_file(shard))
			continue;
		if (sleeps == NULL && wh_standing_shard(now, shard->subgroup, 0) == NULL)
			ok = wh_logs_drop_log(node->disk.logs, shard);
		else if (sleeps != NULL && sleeps->cut != UINT64_MAX)
			ok = wh_logs_fall_asleep(node->disk.logs, sleeps);
	}
	for (uint32_t i = 0; i < was->dormant_count && ok; i++) {
		const struct wh_shard_standing *shard = &was->dormant[i].shard;

		if (wh_standing_dormant(now, shard->subgroup) == NULL &&
		    wh_standing_shard(now, shard->subgroup, 0) == NULL)
			ok = wh_logs_drop_log(node->disk.logs, shard);
	}
	return ok;
}

/* This node was in the view in which it was born, and which is its last, and that has not begun on its disk, which stands before it: it has all
 * that there is, nothing. A disk that is another may have lost it, and stands behind it, or is blank. */
static bool has_nothing_of(const whorl_node *node, const struct wh_standing *was, const struct wh_dormant *dormant)
{
	return dormant->last == wh_birth_view(dormant->birth) && was->number < dormant->last &&
	       wh_last_member_find(dormant, node->fixed.id) != NULL;
}

/* This node comes into a view that has these dormant ones. There is room. */
static void add_unbegun(const whorl_node *node, struct wh_standing *out, const struct wh_standing *was,
			const struct wh_view *view)
{
	for (uint32_t i = 0; i < view->dormant_count; i++) {
		const struct wh_dormant *dormant = &view->dormant[i];
		struct wh_dormant_log log = {.shard = {.subgroup = dormant->birth,
						       .largest = wh_parameters_largest(&dormant->parameters),
						       .whole = true},
					     .key = dormant->birth, /* that of its view is not known here: of no view */
					     .number = dormant->last,
					     .cut = UINT64_MAX};

		if (!has_nothing_of(node, was, dormant) || wh_standing_dormant(out, dormant->birth) != NULL)
			continue;
		memcpy(log.shard.name, dormant->name, sizeof(log.shard.name));
		out->dormant[out->dormant_count++] = log;
	}
	wh_standing_sort(out);
}

void wh_durable_hold(const whorl_node *node, const char *name, struct wh_holding *out)
{
	const struct wh_standing *standing = node->disk.logs != NULL ? wh_logs_standing(node->disk.logs) : NULL;
	struct wh_log_is found;

	*out = (struct wh_holding){.birth = 0};
	for (uint32_t i = 0; standing != NULL && i < standing->dormant_count; i++) {
		const struct wh_dormant_log *dormant = &standing->dormant[i];

		if (strcmp(dormant->shard.name, name) != 0 ||
		    !wh_logs_found_dormant(node->disk.logs, dormant->shard.subgroup, &found))
			continue;
		*out = (struct wh_holding){.birth = dormant->shard.subgroup,
					   .last = dormant->number,
					   .place = found.place,
					   .frontier = found.frontier,
					   .whole = found.whole};
	}
}

/* Hands it over, and frees it. */
static uint64_t write_standing(whorl_node *node, struct wh_standing *standing)
{
	uint64_t ticket = wh_logs_write_standing(node->disk.logs, standing);

	wh_standing_free(standing);
	return ticket;
}

/* The view that takes this node in: the one before that which it is invited into. It counts as a member of the latter with any standing
 * at all; so the former is what it says. Where its inviter was when it was invited: it may have ended since. */
static void base_of_newcomer(const whorl_node *node, struct wh_standing *out)
{
	out->base = node->entry.join.before;
	out->number = node->epochs.proposed->view->number - 1;
}

/* A first view: base, whole, first. Else the view that takes it in, not whole. */
static bool write_entry(whorl_node *node)
{
	struct wh_epoch *epoch = node->epochs.proposed;
	const struct wh_standing *was = wh_logs_standing(node->disk.logs);
	struct wh_standing standing = {
		.group = epoch->view->group, .base = epoch->image->key, .first = true, .promised = was->promised};

	if (is_restart(epoch)) { /* it has agreed to it */
		epoch->entry_ticket = epoch->view_ticket;
		return true;
	}
	if (epoch->view->number > 0) {
		if (node->entry.join.before == 0) /* its inviter has not said so: in a later pass */
			return false;
		standing.first = false;
		base_of_newcomer(node, &standing);
		if (was->group == standing.group &&
		    !keep_dormant(&standing, was, NULL, NULL, epoch->view->dormant_count))
			return false;
		if (was->group == standing.group)
			add_unbegun(node, &standing, was, epoch->view);
	} else if (!fill_shards(&standing, epoch, NULL) || !fill_others(&standing, epoch, NULL)) {
		return false;
	}
	epoch->entry_ticket = write_standing(node, &standing);
	return epoch->entry_ticket != 0;
}

bool wh_durable_has_entered(whorl_node *node)
{
	struct wh_epoch *epoch = node->epochs.proposed;

	if (node->disk.logs == NULL)
		return true;
	if (wh_durable_copies(node))
		return false;
	if (!wh_durable_is_prepared(epoch) || (epoch->entry_ticket == 0 && !write_entry(node)))
		return false;
	return wh_logs_has_done(node->disk.logs, epoch->entry_ticket);
}

static bool is_kept(const struct wh_epoch *epoch, uint64_t key, uint64_t ballot, const uint64_t *cuts)
{
	const struct wh_standing *standing = wh_logs_standing(epoch->node->disk.logs);

	return epoch->kept_ticket != 0 && standing->ballot == ballot && standing->next == key &&
	       standing->cut_count == epoch->view->subgroup_count &&
	       (standing->cut_count == 0 || memcmp(standing->cuts, cuts, standing->cut_count * sizeof(*cuts)) == 0);
}

bool wh_durable_keep(struct wh_epoch *epoch, uint64_t key, uint64_t ballot, const uint64_t *cuts)
{
	whorl_node *node = epoch->node;
	uint32_t count = epoch->view->subgroup_count;
	struct wh_standing standing;

	if (node->disk.logs == NULL)
		return true;
	if (node->disk.left_ticket != 0) /* it leaves, and agrees to nothing any more */
		return false;
	if (is_kept(epoch, key, ballot, cuts))
		return wh_logs_has_done(node->disk.logs, epoch->kept_ticket);
	if (wh_standing_copy(&standing, wh_logs_standing(node->disk.logs)) != WHORL_OK)
		return false; /* in the next pass */
	free(standing.cuts);
	standing.cuts = malloc((count + 1) * sizeof(*cuts));
	if (standing.cuts == NULL) {
		wh_standing_free(&standing);
		return false;
	}
	if (count > 0) /* a view may have no subgroups */
		memcpy(standing.cuts, cuts, count * sizeof(*cuts));
	standing.cut_count = count;
	standing.ballot = ballot;
	standing.next = key;
	standing.first = false;
	epoch->kept_ticket = write_standing(node, &standing);
	return false;
}

/* ---- a restart: what is in the logs is upcalled ------------------------------------------------------------------------- */

/* Up to the cut of the base; where that has not begun in the log, up to where it begins. */
static bool begin_replay(struct wh_epoch *epoch, struct wh_shard_member *member, struct wh_error *err)
{
	whorl_node *node = epoch->node;
	whorl_subgroup *subgroup = member->subgroup;
	const struct wh_standing *standing = wh_logs_standing(node->disk.logs);
	uint64_t number = wh_subgroup_number(member->layout);
	const struct wh_shard_standing *shard = standing_of(epoch, member);
	struct wh_log_place until = {standing->base, standing->number, cut_of_base(epoch, member)};
	struct wh_log_is found;

	if (shard == NULL || !wh_logs_found(node->disk.logs, number, member->layout->shard, &found) || !found.whole) {
		wh_error_set(err, WHORL_SYSTEM, "the log of %s is not whole, and this node has not entered it",
			     subgroup->fixed.name);
		return false;
	}
	if (!found.has_base && shard->before == 0)
		return true;
	if (!found.has_base)
		until = (struct wh_log_place){shard->before, standing->number - 1, shard->begins};
	return wh_replay_create(&member->replay, node->disk.logs, number, member->layout->shard, &until,
				wh_durable_program_state(subgroup), subgroup, &subgroup->program.past_views,
				err) == WHORL_OK;
}

bool wh_durable_begins_replay(whorl_node *node)
{
	struct wh_epoch *epoch = node->epochs.proposed;
	struct wh_error err;

	if (node->disk.logs == NULL || !is_restart(epoch))
		return false;
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		struct wh_shard_member *member = &epoch->shard_members[i];

		if (!member->subgroup->fixed.durable || enters(epoch, member) || begin_replay(epoch, member, &err))
			continue;
		wh_node_fail(node, WH_LOG_ERROR, err.code, "the log of %s cannot be read: %s",
			     member->subgroup->fixed.name, err.text);
	}
	return true;
}

#define REPLAY_NS (10 * WH_NS_PER_MS) /* so long may a pass upcall */

/* What of it is there. The program may refuse some; then it is offered again in a later pass. */
static size_t replay_log(whorl_node *node, struct wh_shard_member *member, uint64_t until_ns)
{
	const struct whorl_message *messages;
	struct wh_error err;
	size_t count, taken, work = 0;
	enum wh_replay_is is;

	while ((is = wh_replay_look(member->replay, &messages, &count, &err)) == WH_REPLAY_HAS &&
	       node->loop.now_ns < until_ns) {
		taken = wh_durable_upcall(member->subgroup, member->replay, messages, count);
		wh_replay_take(member->replay, taken < count ? taken : count);
		work += taken;
		node->loop.now_ns = wh_env_now(&node->fixed.env);
		if (taken < count || wh_node_has_failed(node))
			return work;
	}
	if (is == WH_REPLAY_FAILED)
		wh_node_fail(node, WH_LOG_ERROR, err.code, "the log of %s cannot be read: %s",
			     member->subgroup->fixed.name, err.text);
	if (is == WH_REPLAY_ENDED) {
		wh_replay_free(member->replay);
		member->replay = NULL;
	}
	return work;
}

size_t wh_durable_replay(whorl_node *node, bool *done)
{
	struct wh_epoch *epoch = node->epochs.proposed;
	uint64_t until_ns = node->loop.now_ns + REPLAY_NS;
	size_t work = 0;

	/* Members that are done hear me in the view already. */
	wh_heartbeat_beat(&epoch->heartbeat);
	*done = true;
	for (uint32_t i = 0; i < epoch->shard_member_count && !wh_node_has_failed(node); i++) {
		struct wh_shard_member *member = &epoch->shard_members[i];

		if (member->replay != NULL)
			work += replay_log(node, member, until_ns);
		*done = *done && member->replay == NULL;
	}
	if (!*done && node->refusing.count > 0)
		work += wh_node_step_refusers(node);
	*done = *done && !wh_node_has_failed(node);
	return work;
}

/* ---- leaving in order ----------------------------------------------------------------------------------------------------- */

/* Some other member has all of that durable shard, and no rot was found in it; or it is a dynamic one in which this node is alone, and which is dormant without it. */
static bool other_is_whole(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	const struct wh_view_subgroup *layout = member->layout;
	bool is_whole = !member->subgroup->fixed.durable || (layout->birth != 0 && layout->member_count == 1);

	for (uint32_t m = 0; m < layout->member_count && !is_whole; m++)
		is_whole = layout->members[m] != epoch->rank && wh_change_trusts(&epoch->change, layout->members[m]) &&
			   is_good(wh_sst_observe_array(&epoch->sst, layout->members[m], epoch->rows->node.whole,
							wh_epoch_index(epoch, member)));
	return is_whole;
}

/* Of each that this node is in. */
static bool others_are_whole(const struct wh_epoch *epoch)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++)
		if (!other_is_whole(epoch, &epoch->shard_members[i]))
			return false;
	return true;
}

bool wh_durable_may_leave_stay(const whorl_subgroup *subgroup)
{
	const struct wh_epoch *epoch = subgroup->node->epochs.current;
	const struct wh_shard_member *member = epoch != NULL ? wh_epoch_shard_member(epoch, subgroup) : NULL;

	return member == NULL || other_is_whole(epoch, member);
}

static bool mark_left(struct wh_epoch *epoch)
{
	whorl_node *node = epoch->node;
	struct wh_standing standing;

	if (wh_standing_copy(&standing, wh_logs_standing(node->disk.logs)) != WHORL_OK)
		return false;
	standing.left = true;
	node->disk.left_ticket = write_standing(node, &standing);
	for (uint32_t i = 0; i < epoch->shard_member_count && node->disk.left_ticket != 0; i++)
		if (epoch->shard_members[i].source != NULL)
			wh_log_source_persist(epoch->shard_members[i].source)->stops = true;
	return node->disk.left_ticket != 0;
}

bool wh_durable_may_say_left(const whorl_node *node)
{
	return node->disk.logs == NULL ||
	       (node->disk.left_ticket != 0 && wh_logs_has_done(node->disk.logs, node->disk.left_ticket));
}

bool wh_durable_leave(whorl_node *node)
{
	struct wh_epoch *epoch = node->epochs.current;

	if (node->disk.logs == NULL || epoch == NULL || epoch->view->members == 1 || wh_node_has_failed(node) ||
	    !epoch->change.suspicion.quorum)
		return true;
	if (node->disk.left_ticket == 0 && !epoch->change.wedged && others_are_whole(epoch))
		(void)mark_left(epoch); /* or in the next pass */
	return wh_durable_may_say_left(node);
}

/* ---- a view begins ------------------------------------------------------------------------------------------------------ */

bool wh_durable_mark(whorl_node *node, struct wh_logs *logs, const struct wh_standing *standing,
		     const struct wh_shard_standing *shard)
{
	struct wh_log_source_config config = {
		.subgroup = shard->subgroup, .shard = shard->shard, .view = standing->number, .key = standing->base};
	const struct wh_log_entry_at at = {.cut = shard->begins};

	(void)node;
	return wh_logs_describe(logs, shard, &config) && wh_logs_mark(logs, &config, &at);
}

bool wh_durable_mark_base(whorl_node *node, struct wh_logs *logs, const struct wh_standing *standing,
			  const struct wh_shard_standing *shard)
{
	struct wh_log_is found;

	if (!wh_logs_found(logs, shard->subgroup, shard->shard, &found) || found.has_base || found.rot)
		return true;
	return wh_durable_mark(node, logs, standing, shard);
}

/* Behind a restart: what was the base has its beginning in the logs, where it has not begun there. */
static bool mark_bases(struct wh_epoch *epoch)
{
	whorl_node *node = epoch->node;
	const struct wh_standing *standing = wh_logs_standing(node->disk.logs);

	for (uint32_t i = 0; i < standing->shard_count; i++)
		if (wh_shard_is_of_file(&standing->shards[i]) &&
		    !wh_durable_mark_base(node, node->disk.logs, standing, &standing->shards[i]))
			return false;
	return true;
}

/* The cut of the view before, which this node had a part in; or that of the view that the subgroup comes back from. */
static struct wh_log_entry_at entry_of(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	const struct wh_shard_standing *shard = standing_of(epoch, member);
	bool back = returns(epoch, member->layout);

	return (struct wh_log_entry_at){.cut = shard != NULL ? shard->begins : 0,
					.follows = back ? member->layout->from : 0,
					.fresh = member->layout->birth != 0 && enters(epoch, member) && !back};
}

/* Also where the shard is inactive: what the log has beyond the cut is void all the same. */
static bool begin_in_log(struct wh_epoch *epoch, struct wh_shard_member *member)
{
	whorl_node *node = epoch->node;
	const struct wh_log_entry_at at = entry_of(epoch, member);
	struct wh_log_source_config config = {.subgroup = wh_subgroup_number(member->layout),
					      .shard = member->layout->shard,
					      .view = epoch->view->number,
					      .key = epoch->image->key};

	if (member->source != NULL)
		return wh_log_source_begin(member->source, &at);
	describe_member(member, &config);
	return wh_logs_mark(node->disk.logs, &config, &at);
}

static void begin_sources(struct wh_epoch *epoch)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		struct wh_shard_member *member = &epoch->shard_members[i];
		whorl_subgroup *subgroup = member->subgroup;

		if (!subgroup->fixed.durable)
			continue;
		wh_store_relaxed(&subgroup->figures.log_shard, member->layout->shard);
		if (enters(epoch, member)) /* what was said of it in a stay before is not so any more */
			wh_store_relaxed(&subgroup->figures.log_whole, 0);
		if (enters(epoch, member) && !returns(epoch, member->layout) &&
		    !wh_logs_forget_checkpoints(epoch->node->disk.logs, wh_subgroup_number(member->layout),
						member->layout->shard))
			fail_for_memory(epoch->node);
		if (!begin_in_log(epoch, member))
			fail_for_memory(epoch->node);
	}
}

/* The view that the log of a subgroup ends in which comes back with it has begun there. False: no memory. */
static bool mark_those_back(struct wh_epoch *epoch)
{
	struct wh_logs *logs = epoch->node->disk.logs;

	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		const struct wh_view_subgroup *layout = epoch->shard_members[i].layout;
		const struct wh_dormant_log *slept = wh_standing_dormant(wh_logs_standing(logs), layout->birth);

		if (returns(epoch, layout) && slept != NULL && !wh_logs_mark_dormant(logs, slept))
			return false;
	}
	return true;
}

void wh_durable_begin(struct wh_epoch *epoch, const struct wh_epoch *before)
{
	whorl_node *node = epoch->node;
	struct wh_standing standing = {
		.group = epoch->view->group, .base = epoch->image->key, .number = epoch->view->number};
	struct wh_standing was;
	uint64_t ticket = 0;
	bool ok;

	if (node->disk.logs == NULL)
		return;
	if (wh_standing_copy(&was, wh_logs_standing(node->disk.logs)) != WHORL_OK) {
		fail_for_memory(node);
		return;
	}
	standing.promised = was.promised; /* for good: a ballot is the key of one view */
	ok = (before != NULL || !is_restart(epoch) || mark_bases(epoch)) && mark_those_back(epoch) &&
	     fill_shards(&standing, epoch, before) && fill_others(&standing, epoch, before) &&
	     keep_dormant(&standing, &was, epoch->view, before, 0) &&
	     (ticket = wh_logs_write_standing(node->disk.logs, &standing)) != 0 && note_dormant(node, &was, &standing);
	wh_standing_free(&standing);
	wh_standing_free(&was);
	if (!ok) {
		fail_for_memory(node);
		return;
	}
	begin_sources(epoch);
	if (before != NULL && before->whole_ticket != 0 && !wh_logs_has_done(node->disk.logs, before->whole_ticket))
		epoch->whole_ticket = ticket; /* that a log has become whole is not on disk yet */
	else
		tell_whole(epoch);
}

enum whorl_result wh_durable_source(struct wh_epoch *epoch, struct wh_shard_member *member, uint32_t index,
				    struct wh_error *err)
{
	const struct wh_view_subgroup *layout = member->layout;
	struct wh_log_source_config config;
	uint64_t incarnations[WH_NODES_MAX];

	for (uint32_t s = 0; s < layout->sender_count; s++)
		incarnations[s] = epoch->view->incarnations[layout->senders[s]];
	config = (struct wh_log_source_config){.subgroup = wh_subgroup_number(layout),
					       .shard = layout->shard,
					       .view = epoch->view->number,
					       .key = epoch->image->key,
					       .sender_ids = member->sender_ids,
					       .sender_incarnations = incarnations,
					       .sender_count = layout->sender_count,
					       .slots = epoch->rows->subgroups[index].slots};
	describe_member(member, &config);
	return wh_log_source_create(&member->source, epoch->node->disk.logs, &config, err);
}
