# simdisks.cmake - durable subgroups (docs/decisions/0058) in groups with faults, as `whorl sim` plays them with disks. See mutants.cmake.

set(disks --set sim.disks=on)
# As in conf/sim.ini: what needs more nodes, or more faults at a time.
set(disks_large ${disks} --set sim.flavour=any --set sim.nodes_min=2 --set sim.nodes_max=9 --set sim.subgroups_max=4 --set sim.faults_max=8
    --set sim.messages_max=100 --set sim.deliveries_max=1500)

mutant(NAME disks-said-before-sync KIND views FILE group/logs/batches.c
	WORDS ${disks}
	REMOVES "what was received counts as persisted when it has been synced"
	TEXT [[
	result = wh_log_write(batch->log->log, &err);
]]
	REPLACEMENT [[
	result = wh_log_write(batch->log->log, &err);
	tell_persisted(logs);
]])

mutant(NAME disks-delivers-received KIND views FILE predicates/deliver.c
	WORDS ${disks}
	REMOVES "a durable message is delivered when all have it on disk"
	TEXT [[
		uint64_t stable = wh_sst_observe(c->sst, mc->peers.ranks[i], column);
]]
	REPLACEMENT [[
		uint64_t stable = c->persist != NULL ? least : wh_sst_observe(c->sst, mc->peers.ranks[i], column);
]])

mutant(NAME disks-cut-of-received KIND views FILE group/epoch.c SEED 170
	WORDS ${disks}
	REMOVES "the cut of a durable shard is made of what is on disks"
	TEXT [[
				.stable_num = parameters.durable ? epoch->rows->subgroups[g].columns.persisted_num
								 : epoch->rows->subgroups[g].columns.received_num,
]]
	REPLACEMENT [[
				.stable_num = epoch->rows->subgroups[g].columns.received_num,
]])

mutant(NAME disks-decision-unwritten KIND views FILE group/durable.c
	WORDS ${disks}
	REMOVES "what follows a view is on disk before it is said"
	TEXT [[
		return wh_logs_has_done(node->disk.logs, epoch->kept_ticket);
]]
	REPLACEMENT [[
		return true;
]])

mutant(NAME disks-view-unwritten KIND views FILE group/durable.c
	WORDS ${disks}
	REMOVES "a view is on disk before it is acknowledged"
	TEXT [[
	return wh_logs_has_done(node->disk.logs, epoch->view_ticket);
}

/* The view of that epoch
]]
	REPLACEMENT [[
	return true;
}

/* The view of that epoch
]])

mutant(NAME disks-newcomer-counts KIND views FILE group/durable.c
	WORDS ${disks}
	REMOVES "a newcomer's log is not whole before the state is on its disk"
	TEXT [[
		out.whole = layout->entered_count == layout->member_count && layout->from == 0;
]]
	REPLACEMENT [[
		out.whole = true;
]])

mutant(NAME disks-inactive-unmarked KIND views FILE group/durable.c
	WORDS ${disks}
	REMOVES "a view in which a durable shard is inactive has its beginning in the log"
	TEXT [[
	return wh_logs_mark(node->disk.logs, &config, &at);
]]
	REPLACEMENT [[
	return true;
]])

mutant(NAME disks-checkpoints-for-ever KIND views FILE group/durable_state.c
	WORDS ${disks}
	REMOVES "the next checkpoint comes when the log is longer by log_bytes than the last has left it"
	TEXT [[
	    (used <= state->left + log_bytes && wh_load_relaxed(&state->asked) == 0))
]]
	REPLACEMENT [[
	    (used <= log_bytes && wh_load_relaxed(&state->asked) == 0))
]])

mutant(NAME disks-rot-kept KIND views FILE group/logs/orders.c
	WORDS ${disks}
	REMOVES "a node whose log rots comes in with another"
	TEXT [[
	if (log->is_rotten && !(discard_rot(logs, log) && open_log(logs, log, config)))
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME disks-inactive-unread KIND views FILE group/durable.c
	WORDS ${disks}
	REMOVES "behind a restart the log of a shard that is inactive is upcalled too"
	TEXT [[
		if (!member->subgroup->fixed.durable || enters(epoch, member) || begin_replay(epoch, member, &err))
]]
	REPLACEMENT [[
		if (member->source == NULL || enters(epoch, member) || begin_replay(epoch, member, &err))
]])

mutant(NAME disks-blank-votes KIND views FILE group/durable_restart.c SEED 110
	WORDS ${disks}
	REMOVES "a blank disk is no vote"
	TEXT [[
	return wh_logs_standing(wh_durable_logs_of(ctx, disk));
]]
	REPLACEMENT [[
	static struct wh_standing none[256];
	const struct wh_standing *is = wh_logs_standing(wh_durable_logs_of(ctx, disk));
	const whorl_node *node = ctx;

	if (!wh_standing_is_blank(is))
		return is;
	none[disk] = (struct wh_standing){.base = 1};
	for (uint32_t id = 0; id < node->entry.roster.nodes; id++)
		if (node->entry.roster.known_nodes[id].introduced && node->entry.roster.known_nodes[id].disk == WH_DISK_STANDS)
			none[disk].group = node->entry.roster.known_nodes[id].group;
	return none[disk].group != 0 ? &none[disk] : is;
]])

mutant(NAME disks-majority-forms KIND views FILE membership/form.c
	WORDS ${disks}
	REMOVES "a durable group is formed by all"
	TEXT [[
	if (count == join->configured)
		return true;
]]
	REPLACEMENT [[
	if (2 * count > join->configured)
		return true;
]])

mutant(NAME disks-stale-view KIND views FILE membership/restart_find.c
	WORDS ${disks}
	REMOVES "the newest view of all disks counts: the first that was heard does"
	TEXT [[
		if (!any || is_newer(search, standing)) {
]]
	REPLACEMENT [[
		if (!any) {
]])

mutant(NAME disks-agreed-forgotten KIND views FILE membership/restart_find.c SEED 3833
	WORDS ${disks_large}
	REMOVES "what a voter has agreed to is taken up"
	TEXT [[
		if (report != NULL && report->standing.base == search->base && report->standing.ballot > 0 &&
]]
	REPLACEMENT [[
		if (false && report != NULL && report->standing.base == search->base && report->standing.ballot > 0 &&
]])

mutant(NAME disks-rot-is-cut KIND views FILE group/logs/found.c
	WORDS ${disks}
	REMOVES "a log with rot does not count"
	TEXT [[
	out->rot = log->found.verdict == WH_LOG_ROT || !reaches_base(log, standing, logs->standing.number);
]]
	REPLACEMENT [[
	out->rot = !reaches_base(log, standing, logs->standing.number) && log->found.verdict != WH_LOG_ROT;
]])

mutant(NAME disks-standing-unsynced KIND views FILE persistence/standing.c
	WORDS ${disks}
	REMOVES "what a disk says of views is synced before it is said"
	TEXT [[
		result = file->file->ops->sync(file->file, err);
	if (result == WHORL_OK)
		file->slot
]]
	REPLACEMENT [[
		result = WHORL_OK;
	if (result == WHORL_OK)
		file->slot
]])

mutant(NAME disks-removes-early KIND views FILE persistence/checkpoint.c
	WORDS ${disks}
	REMOVES "a checkpoint is on the disk with its name before segments are removed"
	TEXT [[
		result = directory->ops->sync(directory, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME disks-checkpoint-unsynced KIND views FILE persistence/checkpoint.c
	WORDS ${disks}
	REMOVES "a checkpoint is synced before it counts"
	TEXT [[
		result = checkpoint->file->ops->sync(checkpoint->file, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME disks-there-is-begun KIND views FILE group/epoch.c SEED 10875
	WORDS ${disks_large}
	REMOVES "a view behind a restart has begun when its voters have agreed, not when a member is there"
	TEXT [[
	return beat == WH_BEAT_BEGUN || (beat == WH_BEAT_THERE && !is_behind_restart(epoch) &&
]]
	REPLACEMENT [[
	(void)is_behind_restart;
	return beat == WH_BEAT_BEGUN || (beat == WH_BEAT_THERE &&
]])

mutant(NAME disks-unbegun-is-rot KIND views FILE group/logs/found.c
	WORDS ${disks}
	REMOVES "the log of a first view that has not begun has all that there is"
	TEXT [[
	if (log == NULL) { /* of a first view that has not begun: it has all that there is, nothing */
		out->whole = standing->whole;
		return true;
	}
]]
	REPLACEMENT [[
	if (log == NULL)
		return false;
]])

mutant(NAME disks-marks-forgotten KIND views FILE group/logs/source.c
	WORDS ${disks}
	REMOVES "marks of a log that is not open are remembered"
	TEXT [[
	note_mark(log, &begin);
]]
	REPLACEMENT "")

mutant(NAME disks-joiner-forms KIND views FILE membership/form.c SEED 85568
	WORDS ${disks_large}
	REMOVES "a node that only joins does not count itself among those that form a group"
	TEXT [[
		return join->may_form || join->forced;
	return known->introduced
]]
	REPLACEMENT [[
		return true;
	return known->introduced
]])

mutant(NAME disks-replayed-unsaid KIND views FILE group/durable_log.c
	WORDS ${disks} --set sim.calls=on
	REMOVES "calls that come out of a log before a restart are shown as such"
	TEXT [[
	subgroup->reads_log = true;
]]
	REPLACEMENT "")

mutant(NAME disks-replayed-for-ever KIND views FILE group/durable_log.c
	WORDS ${disks} --set sim.calls=on
	REMOVES "calls behind a restart come out of no log"
	TEXT [[
	subgroup->reads_log = false;
]]
	REPLACEMENT "")

# ---- on one host ----

set(disks_host ${disks} --set sim.proofs=on)
set(disks_host_large ${disks_large} --set sim.proofs=on --set sim.nodes_max=5 --set sim.messages_max=20 --set sim.subgroups_max=2)

mutant(NAME disks-host-uncopied KIND views FILE group/durable_others.c SEED 5263 RUNS 1
	WORDS ${disks_host_large}
	REMOVES "a restart copies a whole log of a disk that is spoken for"
	TEXT [[
	if (others->looks || others->may_not || standing->left || !wh_restart_lacks_log(&node->entry.join))
]]
	REPLACEMENT [[
	if (others->looks || others->may_not || standing->left || node != NULL)
]])

mutant(NAME disks-host-copy-unsaid KIND test_group_durable_ids FILE group/durable_others.c
	REMOVES "when a log was copied its node says again what its disk has"
	TEXT [[
	others->copies = false;
	wh_restart_report_again(&node->entry.join);
]]
	REPLACEMENT [[
	others->copies = false;
]])

mutant(NAME log-copy-unsynced KIND test_log FILE persistence/copy.c
	REMOVES "what was copied is on disk"
	TEXT [[
	return result == WHORL_OK ? to->ops->sync(to, err) : result;
]]
	REPLACEMENT [[
	return result;
]])

mutant(NAME log-copy-of-its-owner KIND test_log FILE persistence/copy.c
	REMOVES "the files of a copy say whose they are"
	TEXT [[
	head.owner = *copy->owner;
]]
	REPLACEMENT [[
]])

mutant(NAME log-copy-nameless KIND test_log FILE persistence/copy.c
	REMOVES "the names of what was copied are on disk"
	TEXT [[
		result = to->ops->sync(to, err);
	free(copy.names);
]]
	REPLACEMENT [[
		result = WHORL_OK;
	free(copy.names);
]])

mutant(NAME durable-copy-tried-for-ever KIND test_group_durable FILE group/logs/orders.c
	REMOVES "a log that is copied to a full disk is not tried for ever"
	TEXT [[
	order->fresh = false;
	log->found = ]]
	REPLACEMENT [[
	log->found = ]])

mutant(NAME durable-copy-of-what-was-let-go KIND test_group_durable FILE group/durable_others.c
	REMOVES "a log whose directory was let go of while it was copied does not count"
	TEXT [[
	return !others->lost_source && wh_logs_found(]]
	REPLACEMENT [[
	return wh_logs_found(]])

mutant(NAME durable-copy-short KIND test_group_durable FILE group/durable_others.c
	REMOVES "a copy that goes less far than the log that was found does not count"
	TEXT [[
	       !is.rot && is.place >= others->place;
]]
	REPLACEMENT [[
	       !is.rot;
]])

mutant(NAME durable-copied-disk-promises KIND test_group_durable FILE group/durable_others.c
	REMOVES "a disk that a log is copied from promises nothing meanwhile"
	TEXT [[
	return wh_durable_copies(node) && (disk == node->fixed.id || disk == node->disk.others->from);
]]
	REPLACEMENT [[
	return wh_durable_copies(node) && disk == node->fixed.id;
]])

mutant(NAME log-copy-one-sync KIND test_log FILE persistence/copy.c
	REMOVES "a large file that is copied is synced piece by piece"
	TEXT [[
	if (at % SYNC_BYTES != 0)
]]
	REPLACEMENT [[
	if (at % SYNC_BYTES != 0 || at > 0)
]])

mutant(NAME log-open-asks-once KIND test_log FILE persistence/reader.c
	REMOVES "a log that is opened asks the disk for piece after piece"
	TEXT [[
		wh_log_ask(reader->asking);
		if (result == WHORL_OK)
]]
	REPLACEMENT [[
		if (result == WHORL_OK)
]])

mutant(NAME log-discard-asks-once KIND test_log FILE persistence/recover.c
	REMOVES "a log that is discarded asks the disk for file after file"
	TEXT [[
		wh_log_ask(asking);
]]
	REPLACEMENT [[
		(void)asking;
]])

mutant(NAME disks-host-unspoken KIND views FILE group/durable_others.c
	WORDS ${disks_host}
	REMOVES "on one host a node speaks for the disks of those that have ended"
	TEXT [[
	if (node->disk.logs == NULL || !node->fixed.one_host || wh_standing_is_blank(wh_logs_standing(node->disk.logs)))
		return;
]]
	REPLACEMENT [[
	return;
]])

mutant(NAME disks-host-looked-once KIND views FILE group/durable_others.c
	WORDS ${disks_host}
	REMOVES "directories that others had locked are looked at again"
	TEXT [[
	if (node->loop.now_ns >= others->again_ns)
]]
	REPLACEMENT [[
	if (false)
]])

mutant(NAME disks-host-kept KIND views FILE group/durable_others.c
	WORDS ${disks_host}
	REMOVES "a directory is let go of when its node has come"
	TEXT [[
	give_back(others);
	look_again(others);
]]
	REPLACEMENT [[
	(void)give_back;
	look_again(others);
]])

# ---- begun anew ----

mutant(NAME disks-anew-waits KIND views FILE membership/restart_find.c
	WORDS ${disks}
	REMOVES "a disk that was begun anew alone counts"
	TEXT [[
	if (alone != NULL)
		return view->voters - 1;
]]
	REPLACEMENT [[
	if (alone != NULL)
		return 0;
]])

mutant(NAME disks-anew-forgets KIND views FILE persistence/anew.c
	WORDS ${disks}
	REMOVES "what a disk had is in the group that it is begun anew as"
	TEXT [[
		standing->shards[i].left = false;
]]
	REPLACEMENT [[
		standing->shards[i].left = false;
		standing->shards[i].whole = false;
]])
