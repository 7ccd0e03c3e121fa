# simdisks.cmake - durable subgroups (docs/decisions/0058) in groups with faults, as `whorl sim` plays them with disks. See mutants.cmake.

set(disks --set sim.disks=on)

mutant(NAME disks-said-before-sync KIND views FILE group/log_job.c
	WORDS ${disks}
	REMOVES "what was received counts as persisted when it has been synced"
	TEXT [[
	result = wh_log_append(batch->log->log, &batch->batch, &err);
]]
	REPLACEMENT [[
	result = wh_log_append(batch->log->log, &batch->batch, &err);
	tell_persisted(logs);
]])

mutant(NAME disks-delivers-received KIND views FILE predicates/deliver.c
	WORDS ${disks}
	REMOVES "a durable message is delivered when all have it on disk"
	TEXT [[
	struct wh_counter_col column = c->persist != NULL ? c->columns.persisted_num : c->columns.received_num;
	uint64_t least = c->persist != NULL ? mc->persisted_num : mc->received_num;
]]
	REPLACEMENT [[
	struct wh_counter_col column = c->columns.received_num;
	uint64_t least = mc->received_num;
]])

mutant(NAME disks-cut-of-received KIND views FILE group/epoch.c
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
		return wh_logs_has_done(node->logs, epoch->kept_ticket);
]]
	REPLACEMENT [[
		return true;
]])

mutant(NAME disks-view-unwritten KIND views FILE group/durable.c
	WORDS ${disks}
	REMOVES "a view is on disk before it is acknowledged"
	TEXT [[
	return wh_logs_has_done(node->logs, epoch->view_ticket);
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
			shard.whole = member->layout->entered_count == member->layout->member_count;
]]
	REPLACEMENT [[
			shard.whole = true;
]])

mutant(NAME disks-inactive-unmarked KIND views FILE group/durable.c
	WORDS ${disks}
	REMOVES "a view in which a durable shard is inactive has its beginning in the log"
	TEXT [[
	return wh_durable_mark(node, node->logs, standing,
			       wh_standing_shard(standing, wh_node_number_of(member->subgroup), member->layout->shard));
]]
	REPLACEMENT [[
	return standing != NULL;
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

mutant(NAME disks-rot-kept KIND views FILE group/log_job.c
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
		if (!member->subgroup->durable || enters(epoch, member) || begin_replay(epoch, member, &err))
]]
	REPLACEMENT [[
		if (member->source == NULL || enters(epoch, member) || begin_replay(epoch, member, &err))
]])

mutant(NAME disks-whole-unsaid-wedged KIND views FILE group/durable.c
	WORDS ${disks}
	REMOVES "a log that becomes whole in a view that is ending says so"
	TEXT [[
	else if (node->epoch != NULL) /* wedged, too: that a log is whole may be what a decision waits for */
]]
	REPLACEMENT [[
	else if (node->epoch != NULL && !node->epoch->change.wedged)
]])
