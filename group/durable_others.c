/* durable_others.c - on one host a node that starts may speak for the disks of nodes that have ended here: so one program restarts alone what
 * several had written on this machine (docs/decisions/0058, One host).
 *
 * It looks for others first, for a start time-out; then it locks the directories that no process has locked, and reads what lies there, by a job
 * off the loop. A disk that it speaks for promises and agrees as its own does, and has no part in the view that begins. Then they are let go,
 * and before if their nodes come. Where this node's own log of a shard has not all, and no node that is up has, it copies that of a disk that it
 * speaks for first. What another node had locked, or the node of it has let go of by ending, is looked at again: that one may
 * have found that it may not speak for it.
 */
#include <stdlib.h>

#include "group/durable.h"
#include "group/node_int.h"

enum { OTHERS_OPENING, OTHERS_OPEN, OTHERS_GIVEN_UP };

struct wh_durable_others {            /* the job uses nothing of the node, which may end while a disk holds it */
	whorl_node *node;             /* [loop] */
	struct wh_node_config config; /* [const] a copy, as long as they are open */
	const struct wh_env *env;     /* [const] the world's */
	wh_word state;      /* the job says OPEN, the loop that they are given up: what comes second frees them */
	bool looks;         /* [loop] a job does, or has found what was not taken yet */
	bool may_not;       /* [loop] speak for any: another view is newer, and this node is not in it */
	uint64_t looked_ns; /* [loop] whether their nodes have come */
	uint64_t again_ns;  /* [loop] when it looks at those again that it has not */
	bool copies;        /* [loop] the log of `shard` of `subgroup`, which the disk of node `from` has all of */
	bool copied;        /* [loop] and has, and the standing says so, or will */
	bool lost_source; /* [loop] that disk was let go of meanwhile: its node may have changed what was being read */
	uint64_t subgroup;
	uint64_t place; /* [loop] that log goes as far in the view that both disks stand on */
	uint32_t shard, from;
	bool unreadable[WH_NODES_MAX];       /* [loop] by node id: a log there could not be copied */
	bool wanted[WH_NODES_MAX];           /* by node id: what the job looks at. [loop, then job] */
	struct wh_logs *found[WH_NODES_MAX]; /* [job, then loop] */
	struct wh_logs *logs[WH_NODES_MAX];  /* the restart knows of them. [loop] */
};

static void free_others(struct wh_durable_others *others)
{
	wh_node_config_free(&others->config);
	free(others);
}

static void close_found(struct wh_durable_others *others)
{
	for (uint32_t id = 0; id < WH_NODES_MAX; id++)
		wh_logs_close(others->found[id], false);
	free_others(others);
}

static void close_logs(void *argument)
{
	wh_logs_close(argument, false);
}

/* Their disk may be slow. What describes them may be gone before they are. */
void wh_durable_close_aside(whorl_node *node, struct wh_logs *logs)
{
	if (logs == NULL)
		return;
	wh_logs_hush(logs);
	if (!wh_aside_do(node->disk.aside, close_logs, logs))
		wh_logs_close(logs, false);
}

/* A directory that is locked is its node's to report; one that cannot be read is lost, and what is missing is said by the round. */
static void open_others(void *argument)
{
	struct wh_durable_others *others = argument;
	struct wh_logs_config config;
	struct wh_error err;

	for (uint32_t id = 0; id < WH_NODES_MAX && wh_load_relaxed(&others->state) == OTHERS_OPENING; id++) {
		wh_durable_logs_config(&config, &others->config, others->env, id);
		if (others->wanted[id] && wh_logs_open(&others->found[id], &config, &err) != WHORL_OK)
			others->found[id] = NULL;
	}
	/* Release: what was opened. Partner: take_found. Acquire: that it is not looked at any more. Partner: wh_durable_hush. */
	if (wh_exchange(&others->state, OTHERS_OPEN) == OTHERS_GIVEN_UP)
		close_found(others);
}

/* A disk of a node that has ended here, as far as this one knows, for which it does not speak. */
static bool is_missing(const whorl_node *node, uint32_t id)
{
	return id != node->fixed.id && wh_logs_has_disk(node->disk.logs, id) &&
	       node->entry.roster.known_nodes[id].incarnation == 0 &&
	       (node->disk.others == NULL || node->disk.others->logs[id] == NULL);
}

static bool has_missing(const whorl_node *node)
{
	for (uint32_t id = 0; id < node->entry.roster.nodes; id++)
		if (is_missing(node, id))
			return true;
	return false;
}

static void look_for(struct wh_durable_others *others)
{
	whorl_node *node = others->node;

	for (uint32_t id = 0; id < node->entry.roster.nodes; id++) /* a process that is there takes its own */
		others->wanted[id] =
			is_missing(node, id) && node->fixed.transport->ops->holder(node->fixed.transport, id) == 0;
	wh_store_relaxed(&others->state, OTHERS_OPENING); /* what hands it over is submit */
	others->looks = wh_aside_do(node->disk.aside, open_others, others);
	if (!others->looks) /* in a later pass */
		wh_store_relaxed(&others->state, OTHERS_OPEN);
}

static void begin_speaking(whorl_node *node)
{
	struct wh_durable_others *others = calloc(1, sizeof(*others));
	struct wh_error err;

	if (others == NULL || wh_node_config_copy(&others->config, &node->fixed.config, &err) != WHORL_OK) {
		free(others);
		return; /* in a later pass */
	}
	others->env = node->fixed.world_env;
	others->node = node;
	node->disk.others = others;
	look_for(others);
}

/* Is this node in the newest view that any of these disks knows of? If not a member of that has to come: only such a node can go on with what
 * they have. */
static bool is_of_newest(whorl_node *node)
{
	const struct wh_standing *newest = wh_logs_standing(node->disk.logs);
	const struct wh_logs *where = node->disk.logs;
	const unsigned char *bytes;
	struct wh_view *view;
	struct wh_error err;
	size_t count;
	bool is_in;

	for (uint32_t id = 0; id < node->entry.roster.nodes; id++)
		if (node->disk.others->logs[id] != NULL &&
		    wh_logs_standing(node->disk.others->logs[id])->number > newest->number) {
			where = node->disk.others->logs[id];
			newest = wh_logs_standing(where);
		}
	if (where == node->disk.logs)
		return true;
	if (!wh_logs_view(where, newest->base, &bytes, &count) ||
	    wh_view_decode(&view, bytes, count, &node->fixed.layout_config, node->entry.roster.nodes, &err) != WHORL_OK)
		return false;
	is_in = wh_view_rank(view, node->fixed.id) >= 0;
	wh_view_free(view);
	return is_in;
}

static void let_go_of(struct wh_durable_others *others, uint32_t id)
{
	if (others->logs[id] == NULL)
		return;
	others->lost_source = others->lost_source || (others->copies && id == others->from);
	wh_restart_hush(&others->node->entry.restart, id);
	wh_durable_close_aside(others->node, others->logs[id]);
	others->logs[id] = NULL;
}

static void let_go(struct wh_durable_others *others)
{
	for (uint32_t id = 0; id < others->node->entry.roster.nodes; id++)
		let_go_of(others, id);
}

#define LOOK_NS (10 * WH_NS_PER_MS) /* the system is asked for each id */

/* A node that has come waits for its directory before it says anything, and this one waits for what it says. What its disk has promised is on
 * it. */
static void give_back(struct wh_durable_others *others)
{
	whorl_node *node = others->node;
	bool has_some = false;

	if (node->loop.now_ns - others->looked_ns >= LOOK_NS) {
		others->looked_ns = node->loop.now_ns;
		for (uint32_t id = 0; id < node->entry.roster.nodes; id++)
			if (others->logs[id] != NULL &&
			    node->fixed.transport->ops->holder(node->fixed.transport, id) != 0)
				let_go_of(others, id);
	}
	for (uint32_t id = 0; id < node->entry.roster.nodes; id++)
		has_some = has_some || others->logs[id] != NULL;
	if (has_some)
		wh_loop_at(&node->loop, others->looked_ns + LOOK_NS);
}

static void take_found(struct wh_durable_others *others)
{
	whorl_node *node = others->node;
	bool found[WH_NODES_MAX] = {false};

	others->looks = false;
	others->again_ns = node->loop.now_ns + node->entry.join.start_timeout_ns;
	for (uint32_t id = 0; id < node->entry.roster.nodes; id++) {
		found[id] = others->found[id] != NULL;
		if (found[id]) {
			others->logs[id] = others->found[id];
			wh_logs_belong(others->logs[id], wh_durable_wake, node);
		}
		others->found[id] = NULL;
	}
	others->may_not = !is_of_newest(node);
	if (others->may_not) {
		let_go(others);
		return;
	}
	for (uint32_t id = 0; id < node->entry.roster.nodes; id++)
		if (found[id] && wh_restart_speak(&node->entry.restart, id) != WHORL_OK)
			let_go_of(others, id);
}

/* It may have been locked by a node that speaks for it no more, or that may not; or its node has ended since. */
static void look_again(struct wh_durable_others *others)
{
	whorl_node *node = others->node;

	if (others->looks || others->may_not || !has_missing(node))
		return;
	if (node->loop.now_ns >= others->again_ns)
		look_for(others);
	else
		wh_loop_at(&node->loop, others->again_ns);
}

/* ---- a log is copied ---------------------------------------------------------------------------------------------------- */

/* What the disk of that node has of the shard, if this node speaks for it and both stand on the same view. False: nothing. */
static bool has_found(const struct wh_durable_others *others, uint32_t id, const struct wh_shard_standing *shard,
		      struct wh_log_is *out)
{
	const struct wh_standing *mine = wh_logs_standing(others->node->disk.logs);
	const struct wh_standing *other = others->logs[id] != NULL ? wh_logs_standing(others->logs[id]) : NULL;

	return other != NULL && other->group == mine->group && other->base == mine->base &&
	       wh_logs_found(others->logs[id], shard->subgroup, shard->shard, out);
}

/* The longest whole log of that shard, of the disks that this node speaks for: a member of the view in which they stand has all that was
 * delivered there, below *place. -1: there is none; or it has lost its end, as another one says, that of `mine` too. */
static int find_whole(const struct wh_durable_others *others, const struct wh_shard_standing *shard,
		      const struct wh_log_is *mine, uint64_t *place)
{
	uint64_t frontier = mine->frontier, longest = 0;
	struct wh_log_is is;
	int best = -1;

	for (uint32_t id = 0; id < others->node->entry.roster.nodes; id++) {
		if (!has_found(others, id, shard, &is))
			continue;
		frontier = is.frontier > frontier ? is.frontier : frontier;
		if (!is.whole || others->unreadable[id] || (best >= 0 && is.place <= longest))
			continue;
		best = (int)id;
		longest = is.place;
	}
	*place = longest;
	return longest >= frontier ? best : -1;
}

/* What the standing says of that shard is that its log is not whole, in front of the copy. Returns how much it did. */
static size_t begin_copy(struct wh_durable_others *others, const struct wh_shard_standing *shard, uint32_t from,
			 uint64_t place)
{
	struct wh_logs *logs = others->node->disk.logs;
	const struct wh_shard_standing *of =
		wh_standing_shard(wh_logs_standing(others->logs[from]), shard->subgroup, shard->shard);
	struct wh_standing standing;
	struct wh_shard_standing *is;
	bool ok;

	if (wh_standing_copy(&standing, wh_logs_standing(logs)) != WHORL_OK)
		return 0;
	is = wh_standing_shard(&standing, shard->subgroup, shard->shard);
	is->whole = false;
	is->before = of->before;
	is->begins = of->begins;
	others->subgroup = shard->subgroup;
	others->shard = shard->shard;
	others->from = from;
	others->place = place;
	others->lost_source = false;
	ok = wh_logs_write_standing(logs, &standing) != 0 && wh_logs_copy(logs, is, from);
	wh_standing_free(&standing);
	others->copies = ok;
	others->copied = false;
	if (ok)
		wh_event(&others->node->diag, "copies a log", from, others->subgroup, others->shard);
	return ok;
}

/* Of a shard of the file that this node is in: those made at run time are dormant behind a restart. Returns how much it did. */
static size_t look_for_copy(struct wh_durable_others *others)
{
	whorl_node *node = others->node;
	const struct wh_standing *standing = wh_logs_standing(node->disk.logs);

	if (others->looks || others->may_not || standing->left || !wh_restart_lacks_log(&node->entry.join))
		return 0;
	for (uint32_t i = 0; i < standing->shard_count; i++) {
		const struct wh_shard_standing *shard = &standing->shards[i];
		struct wh_log_is mine;
		uint64_t place;
		int from;

		if (!wh_shard_is_of_file(shard) ||
		    !wh_logs_found(node->disk.logs, shard->subgroup, shard->shard, &mine) || mine.whole)
			continue;
		from = find_whole(others, shard, &mine, &place);
		if (from >= 0 && wh_logs_has_standing(others->logs[from])) /* nor is a beginning on its way to it */
			return begin_copy(others, shard, (uint32_t)from, place);
	}
	return 0;
}

/* Is all there that was to be copied? What a node that has its disk back changes while it is read may be torn in it, and a cap is written at any
 * time. */
static bool has_copied(const struct wh_durable_others *others)
{
	struct wh_log_is is;

	return !others->lost_source && wh_logs_found(others->node->disk.logs, others->subgroup, others->shard, &is) &&
	       !is.rot && is.place >= others->place;
}

/* It is on disk: the standing says that it is whole, and when that is on disk this node says it. */
static void end_copy(struct wh_durable_others *others)
{
	whorl_node *node = others->node;
	struct wh_standing standing;

	if (!others->copied) {
		if (!has_copied(others) || wh_standing_copy(&standing, wh_logs_standing(node->disk.logs)) != WHORL_OK) {
			others->unreadable[others->from] =
				!others->lost_source; /* else that node reports it, or it is opened again */
			others->copies = false;
			return;
		}
		wh_standing_shard(&standing, others->subgroup, others->shard)->whole = true;
		others->copied = wh_logs_write_standing(node->disk.logs, &standing) != 0;
		wh_standing_free(&standing);
		return;
	}
	if (!wh_logs_has_standing(node->disk.logs))
		return;
	others->copies = false;
	wh_restart_report_again(&node->entry.join);
}

static void step_copy(struct wh_durable_others *others)
{
	if (!others->copies)
		(void)look_for_copy(others);
	else if (!wh_logs_copies(others->node->disk.logs, others->subgroup, others->shard))
		end_copy(others);
	if (others->copies) /* what comes to disk wakes the loop */
		wh_loop_at(&others->node->loop, others->node->loop.now_ns + LOOK_NS);
}

bool wh_durable_copies(const whorl_node *node)
{
	return node->disk.others != NULL && node->disk.others->copies;
}

bool wh_durable_copies_disk(const whorl_node *node, uint32_t disk)
{
	return wh_durable_copies(node) && (disk == node->fixed.id || disk == node->disk.others->from);
}

void wh_durable_speak(whorl_node *node)
{
	struct wh_durable_others *others = node->disk.others;

	if (node->disk.logs == NULL || !node->fixed.one_host || wh_standing_is_blank(wh_logs_standing(node->disk.logs)))
		return;
	if (others == NULL) {
		if (node->loop.now_ns >= node->entry.join.began_ns + node->entry.join.start_timeout_ns &&
		    has_missing(node))
			begin_speaking(node);
		return;
	}
	if (others->looks && wh_load_acquire(&others->state) == OTHERS_OPEN)
		take_found(others);
	give_back(others);
	look_again(others);
	step_copy(others);
}

struct wh_logs *wh_durable_logs_of(const whorl_node *node, uint32_t disk)
{
	if (disk == node->fixed.id || node->disk.others == NULL || node->disk.others->logs[disk] == NULL)
		return node->disk.logs;
	return node->disk.others->logs[disk];
}

void wh_durable_hush(whorl_node *node)
{
	struct wh_durable_others *others = node->disk.others;

	if (others == NULL)
		return;
	let_go(others);
	node->disk.others = NULL;
	/* Release: it is not looked at any more. Acquire: what was opened. Partner: open_others. */
	if (wh_exchange(&others->state, OTHERS_GIVEN_UP) != OTHERS_OPEN)
		return;
	for (uint32_t id = 0; id < node->entry.roster.nodes; id++)
		wh_durable_close_aside(node, others->found[id]);
	free_others(others);
}
