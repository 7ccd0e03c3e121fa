# durable.cmake - what makes a subgroup durable within views (docs/decisions/0058), taken out one rule at a time. See mutants.cmake.

mutant(NAME durable-said-before-sync KIND test_group_durable FILE group/logs/batches.c
	REMOVES "what was received counts as persisted when it has been synced"
	TEXT [[
	result = wh_log_write(batch->log->log, &err);
]]
	REPLACEMENT [[
	result = wh_log_write(batch->log->log, &err);
	tell_persisted(logs);
]])

mutant(NAME durable-delivers-received KIND test_group_durable FILE predicates/deliver.c
	REMOVES "a durable message is delivered when all have it on disk"
	TEXT [[
		uint64_t stable = wh_sst_observe(c->sst, mc->peers.ranks[i], column);
]]
	REPLACEMENT [[
		uint64_t stable = c->persist != NULL ? least : wh_sst_observe(c->sst, mc->peers.ranks[i], column);
]])

mutant(NAME durable-decision-unwritten KIND test_group_durable FILE group/durable.c
	REMOVES "what follows a view is on disk before it is said"
	TEXT [[
		return wh_logs_has_done(node->disk.logs, epoch->kept_ticket);
]]
	REPLACEMENT [[
		return true;
]])

mutant(NAME durable-newcomer-counts KIND test_group_durable FILE group/durable.c
	REMOVES "a newcomer's log is not whole before the state is on its disk"
	TEXT [[
		out.whole = layout->entered_count == layout->member_count && layout->from == 0;
]]
	REPLACEMENT [[
		out.whole = true;
]])

mutant(NAME durable-newcomer-never-counts KIND test_group_durable FILE group/durable.c
	REMOVES "a newcomer's log is whole when the state is on its disk"
	TEXT [[
	wh_standing_shard(&standing, number, shard)->whole = true;
]]
	REPLACEMENT [[
]])

mutant(NAME durable-disk-fails-unsaid KIND test_group_durable FILE group/logs/logs.c
	REMOVES "a node whose disk has failed leaves"
	TEXT [[
	if (wh_load_acquire(&logs->failed) != 0) {
]]
	REPLACEMENT [[
	if (0) {
]])

mutant(NAME durable-disk-of-others-unshown KIND test_group_durable FILE group/answer.c
	REMOVES "a status says how far each member's disk is"
	TEXT [[
			place->persisted_num = wh_sst_observe(&epoch->sst, rank, columns->persisted_num);
]]
	REPLACEMENT [[
			place->persisted_num = wh_sst_observe(&epoch->sst, rank, columns->received_num);
]])

mutant(NAME durable-disk-delays-unshown KIND test_group_durable FILE group/logs/figures.c
	REMOVES "a status says how long a disk has been asked, and full"
	TEXT [[
	*full_ns = full != 0 && now_ns > full ? now_ns - full : 0;
]]
	REPLACEMENT [[
	*full_ns = 0;
]])

mutant(NAME durable-written-uncounted KIND test_group_durable FILE group/logs/batches.c
	REMOVES "what was written since the node was opened is counted"
	TEXT [[
		more[2] += batch->records[i].bytes;
]]
	REPLACEMENT [[
		more[2] += 0 * batch->records[i].bytes;
]])

mutant(NAME durable-missing-unshown KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a round says which members were not heard"
	TEXT [[
		if (!heard)
			out->missing.ids[out->missing.count++] = id;
]]
	REPLACEMENT [[
		if (heard)
			out->missing.ids[out->missing.count++] = id;
]])

mutant(NAME durable-disk-hangs-unsaid KIND test_group_durable FILE group/logs/logs.c
	REMOVES "a node whose disk does not answer leaves"
	TEXT [[
	if (busy != 0 && now_ns > busy && now_ns - busy > logs->config.timeout_ns)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME durable-full-unsaid KIND test_group_durable FILE group/logs/logs.c
	REMOVES "a node whose disk stays full leaves"
	TEXT [[
	if (now_ns > full && now_ns - full > logs->config.timeout_ns)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME durable-full-for-ever KIND test_group_durable FILE group/logs/logs.c
	REMOVES "where there was no room it is tried again"
	TEXT [[
	if (now_ns - logs->retried_ns >= RETRY_NS) {
]]
	REPLACEMENT [[
	if (0) {
]])

mutant(NAME durable-hung-job-touches-node KIND test_group_durable FILE group/logs/disk.c
	REMOVES "a job that a disk holds touches nothing of its node any more"
	TEXT [[
	if (!logs->closing && logs->config.wake != NULL)
]]
	REPLACEMENT [[
	if (logs->config.wake != NULL)
]])

mutant(NAME durable-long-for-ever KIND test_group_durable FILE group/durable_state.c
	REMOVES "a log that is too long gets a checkpoint"
	TEXT [[
	    (used <= state->left + log_bytes && wh_load_relaxed(&state->asked) == 0))
]]
	REPLACEMENT [[
	    wh_load_relaxed(&state->asked) == 0)
]])

mutant(NAME durable-unlocked KIND test_group_durable FILE group/logs/logs.c
	REMOVES "a directory is one process's"
	TEXT [[
	if (result == WHORL_AGAIN)
		return wh_error_set(err, WHORL_DISK, "group.log_dir: another process (pid %d) uses %s", holder, path);
]]
	REPLACEMENT [[
	if (result == WHORL_AGAIN)
		result = WHORL_OK;
]])

mutant(NAME durable-given-log-unheard KIND test_group_durable FILE state/keep.c
	REMOVES "without functions for a state a newcomer is upcalled for the log that it was given"
	TEXT [[
	state->preceded = state->hooks.precede == NULL;
]]
	REPLACEMENT [[
	state->preceded = true;
]])

mutant(NAME durable-given-log-not-given-on KIND test_group_durable FILE group/logs/replay.c
	REMOVES "a log that was given is read before what comes behind it"
	TEXT [[
	if (!fill_from_history(replay))
		return;
]]
	REPLACEMENT [[
	(void)fill_from_history;
]])

mutant(NAME durable-founds-beside-logs KIND test_group_durable_ids FILE membership/restart.c
	REMOVES "a founder forms no group beside directories that have logs"
	TEXT [[
	return wh_restart_disk(restart) != WH_DISK_STANDS &&
]]
	REPLACEMENT [[
	(void)heard;
	return true ||
]])

mutant(NAME durable-any-id-is-blank KIND test_group_durable_ids FILE group/config/any_id.c
	REMOVES "a node without an id takes one that has a log"
	TEXT [[
	enum whorl_result result = try_first(any, id, err);
]]
	REPLACEMENT [[
	enum whorl_result result = WHORL_AGAIN;
]])

mutant(NAME durable-any-id-is-old KIND test_group_durable_ids FILE group/logs/directories.c
	REMOVES "of the directories that have logs the one with the newest view is taken first"
	TEXT [[
at > 0 && worths[at - 1] < worth; at--
]]
	REPLACEMENT [[
at > 0 && worths[at - 1] > worth; at--
]])

mutant(NAME durable-other-directory KIND test_group_config FILE group/config/config.c
	REMOVES "on one host all nodes of a durable group look into one directory"
	TEXT [[
	if (config->group.transport == WH_TRANSPORT_SHM && wh_node_config_is_durable(config))
		digest
]]
	REPLACEMENT [[
	if (0)
		digest
]])

mutant(NAME durable-any-id-is-not-whole KIND test_directories FILE group/logs/directories.c
	REMOVES "of directories of one view one that is whole is taken first"
	TEXT [[
 + is_whole(standing)
]]
	REPLACEMENT [[
 + is_whole(standing) * 0
]])

mutant(NAME durable-damage-is-blank KIND test_directories FILE group/logs/directories.c
	REMOVES "a directory whose standing is damaged says that there was one"
	TEXT [[
	has = !checks ||
]]
	REPLACEMENT [[
	has = checks &&
]])

mutant(NAME durable-others-kept KIND test_group_durable FILE group/durable_others.c
	REMOVES "disks of others that were read too late are let go"
	TEXT [[
	if (wh_exchange(&others->state, OTHERS_OPEN) == OTHERS_GIVEN_UP)
		close_found(others);
]]
	REPLACEMENT [[
	(void)wh_exchange(&others->state, OTHERS_OPEN);
]])

mutant(NAME durable-standing-fails-full KIND test_standing FILE persistence/standing.c
	REMOVES "a standing that has no room is tried again"
	TEXT [[
	file->failed = result != WHORL_AGAIN; /* without room nothing is synced, and what counts is not written to */
]]
	REPLACEMENT [[
	file->failed = true;
]])

mutant(NAME durable-others-not-given-back KIND test_group_durable FILE group/durable_others.c
	REMOVES "a node that comes has its disk back from one that speaks for it"
	TEXT [[
			if (others->logs[id] != NULL &&
			    node->fixed.transport->ops->holder(node->fixed.transport, id) != 0)
]]
	REPLACEMENT [[
			if (0)
]])

mutant(NAME durable-lock-impatient KIND test_group_durable FILE group/durable.c
	REMOVES "a directory that another node speaks for is waited for as long as its disk may take"
	TEXT [[
	return (LOCK_TIMEOUTS * start_ms + disk_ms) * WH_NS_PER_MS;
]]
	REPLACEMENT [[
	return (LOCK_TIMEOUTS * start_ms + disk_ms * 0) * WH_NS_PER_MS;
]])

mutant(NAME durable-inviter-forgotten KIND test_group_durable FILE group/durable.c
	REMOVES "a newcomer's base is where its inviter was when it was invited"
	TEXT [[
	out->base = node->entry.join.before;
]]
	REPLACEMENT [[
	out->base = node->entry.roster.known_nodes[node->entry.join.by].key;
]])

mutant(NAME durable-close-waits-for-disks KIND test_group_durable FILE group/logs/aside.c
	REMOVES "the end of a node waits no longer for disks than for those that answer"
	TEXT [[
	       pthread_cond_timedwait(&aside->fewer, &aside->lock, &until) != ETIMEDOUT)
]]
	REPLACEMENT [[
	       (pthread_cond_timedwait(&aside->fewer, &aside->lock, &until) | 1) != 0)
]])

mutant(NAME durable-restores-behind-the-end KIND test_group_durable FILE group/logs/replay.c
	REMOVES "a state that is read when the disk answers at last is not restored, if the node has ended"
	TEXT [[
	good = !logs->closing && replay->functions->restore(
]]
	REPLACEMENT [[
	good = replay->functions->restore(
]])

mutant(NAME durable-end-passes-the-program KIND test_group_durable FILE group/logs/replay.c
	REMOVES "the end of a node waits for the program to restore its state"
	TEXT [[
	pthread_mutex_lock(&logs->bell);
	good =
]]
	REPLACEMENT [[
	pthread_mutex_lock(&logs->bell);
	pthread_mutex_unlock(&logs->bell);
	good =
]])

mutant(NAME durable-rot-is-left-to KIND test_group_durable FILE group/durable.c
	REMOVES "nobody leaves for the sake of a log in which rot was found"
	TEXT [[
			   is_good(wh_sst_observe_array(&epoch->sst, layout->members[m], epoch->rows->node.whole,
							wh_epoch_index(epoch, member)));
]]
	REPLACEMENT [[
			   wh_sst_observe_array(&epoch->sst, layout->members[m], epoch->rows->node.whole,
						wh_epoch_index(epoch, member)) != 0;
]])

mutant(NAME durable-rot-for-good KIND test_group_durable FILE group/durable.c
	REMOVES "a log that is good again is left to"
	TEXT [[
	if (said != 0 && is_good(said) == rotten) {
]]
	REPLACEMENT [[
	if (said != 0 && is_good(said) && rotten) {
]])

mutant(NAME durable-check-keeps-what-it-has-read KIND test_log_check FILE persistence/check.c
	REMOVES "what was read before the log went on is not used again"
	TEXT [[
	pass->reader.have = 0;
]]
	REPLACEMENT [[
	(void)pass;
]])

mutant(NAME durable-check-skips-segments KIND test_log_check FILE persistence/check.c
	REMOVES "all segments of a log are read again"
	TEXT [[
	if (segment == NULL) {
]]
	REPLACEMENT [[
	if (segment == NULL || pass->reader.file != NULL) {
]])

mutant(NAME durable-check-skips-states KIND test_log_check FILE persistence/check.c
	REMOVES "the checkpoint of a log is read again"
	TEXT [[
	pass->has_state = !log->has_mark;
]]
	REPLACEMENT [[
	pass->has_state = true;
]])

mutant(NAME durable-check-stays-in-the-segment KIND test_log_check FILE persistence/check.c
	REMOVES "a damaged segment is not written to"
	TEXT [[
		wh_log_leave_segment(log);
]]
	REPLACEMENT [[
		(void)log;
]])

mutant(NAME durable-check-takes-no-descriptor-for-rot KIND test_log_check FILE persistence/check.c
	REMOVES "a file that cannot be opened is no rot"
	TEXT [[
	return result == WHORL_NOT_FOUND ? WHORL_OK : result;
]]
	REPLACEMENT [[
	return WHORL_OK;
]])

mutant(NAME durable-check-takes-no-memory-for-rot KIND test_log_check FILE persistence/check.c
	REMOVES "no memory is no rot"
	TEXT [[
	return result == WHORL_MEMORY ? result : WHORL_OK;
]]
	REPLACEMENT [[
	return WHORL_OK;
]])

mutant(NAME durable-check-looks-at-a-state-once KIND test_log_check FILE persistence/check.c
	REMOVES "a checkpoint is read twice before it is called rot"
	TEXT [[
	if (!good && pass->doubts_state) {
]]
	REPLACEMENT [[
	if (!good) {
]])

mutant(NAME durable-check-looks-at-a-batch-once KIND test_log_check FILE persistence/check.c
	REMOVES "a batch is read twice before it is called rot"
	TEXT [[
		if (result == WHORL_OK && !good) {
]]
	REPLACEMENT [[
		if (result != WHORL_OK) {
]])

mutant(NAME durable-check-has-the-header KIND test_log_check FILE persistence/check.c
	REMOVES "the beginning of a checkpoint is read from the disk"
	TEXT [[
		forget_behind(&pass->state->reader, 0);
]]
	REPLACEMENT [[
		forget_behind(&pass->state->reader, WH_LOG_READ_BYTES);
]])

mutant(NAME durable-check-reads-ahead KIND test_log_check FILE persistence/reader.c
	REMOVES "no run of a pass reads what the next one will"
	TEXT [[
	if (reader->limit != 0 && reader->start + most > reader->limit)
]]
	REPLACEMENT [[
	if (reader->limit != 0 && most == 0)
]])

mutant(NAME durable-check-starves-others KIND test_log_turns FILE group/logs/check.c
	REMOVES "the turn of a log ends with a checkpoint"
	TEXT [[
	if (is == WH_LOG_CHECK_MORE && wh_load_relaxed(&log->figures.checkpoints) == logs->checked_with)
]]
	REPLACEMENT [[
	if (is == WH_LOG_CHECK_MORE)
]])

mutant(NAME durable-check-waits-for-its-turn KIND test_log_turns FILE group/logs/check.c
	REMOVES "a log that may be good again is read first"
	TEXT [[
		if (may_be_good(log)) {
]]
	REPLACEMENT [[
		if (may_be_good(log) && log == logs->checked) {
]])

mutant(NAME durable-check-loses-what-is-late KIND test_log_turns FILE group/logs/check.c
	REMOVES "what is late is owed"
	TEXT [[
	logs->check_at_ns += pause;
]]
	REPLACEMENT [[
	logs->check_at_ns = now + pause;
]])

mutant(NAME durable-check-owes-all KIND test_log_turns FILE group/logs/check.c
	REMOVES "no more is owed than is late"
	TEXT [[
	if (logs->check_at_ns + late < now)
]]
	REPLACEMENT [[
	if (logs->check_at_ns + late == 0)
]])

mutant(NAME durable-check-makes-no-pause KIND test_log_turns FILE group/logs/check.c
	REMOVES "between two pieces there is a pause"
	TEXT [[
	logs->check_from_ns = now + least_ns(logs);
]]
	REPLACEMENT [[
	logs->check_from_ns = now;
]])

mutant(NAME durable-rot-outlives-its-log KIND test_log_turns FILE group/logs/orders.c
	REMOVES "what is said of a log goes with its files"
	TEXT [[
		log->is_rotten = false;
		wh_store_relaxed(&log->figures.rot, 0);
]]
	REPLACEMENT [[
		log->is_rotten = false;
]])

mutant(NAME durable-check-mends-nothing KIND test_group_durable FILE group/durable.c
	REMOVES "a checkpoint is made where rot was found"
	TEXT [[
	if (mends)
		wh_durable_ask_checkpoint(member->subgroup);
]]
	REPLACEMENT [[
	(void)wh_durable_ask_checkpoint;
]])

mutant(NAME durable-check-untold KIND test_group_durable FILE group/logs/check.c
	REMOVES "rot that is found is told"
	TEXT [[
	wh_store_relaxed(&log->figures.rot, 1);
]]
	REPLACEMENT [[
	wh_store_relaxed(&log->figures.rot, 0);
]])

mutant(NAME log-zeros-beyond-the-end KIND test_log_full FILE persistence/log.c
	REMOVES "zeros behind a batch end with the segment"
	TEXT [[
	more = more < ZEROS_BYTES ? more : ZEROS_BYTES;
]]
	REPLACEMENT [[
	more = ZEROS_BYTES;
]])

mutant(NAME log-zeros-each-time KIND test_log_full FILE persistence/log.c
	REMOVES "zeros are written once"
	TEXT [[
		log->zeroed_to = at + bytes + zeros_behind;
]]
	REPLACEMENT [[
		log->zeroed_to = 0 * (at + bytes + zeros_behind);
]])

mutant(NAME log-given-up-is-written KIND test_log_full FILE persistence/log.c
	REMOVES "what was laid before a view begins is given up"
	TEXT [[
		result = write_batch(log, err);
		log->laid = false;
]]
	REPLACEMENT [[
		result = write_batch(log, err);
		log->laid = true;
]])

mutant(NAME log-laid-is-lost KIND test_log_full FILE persistence/log.c
	REMOVES "what is laid can be written when there is room"
	TEXT [[
	log->laid = result == WHORL_AGAIN;
]]
	REPLACEMENT [[
	log->laid = false;
]])

mutant(NAME hot-persisted-stays-cold KIND test_hot FILE predicates/hot.c
	REMOVES "what has come to disk is stepped, whichever thread said it"
	TEXT [[
		if (hot->members[m].at == WH_HOT_COLD)
			heat(hot, m);
	}
}

void wh_hot_send(
]]
	REPLACEMENT [[
	}
}

void wh_hot_send(
]])

mutant(NAME hot-persisted-unsaid KIND test_hot FILE predicates/hot.c
	REMOVES "a thread that has borrowed the loop says what is on disk"
	TEXT [[
	if (hot->durable)
		send_persisted(hot);
]]
	REPLACEMENT [[
]])

mutant(NAME log-empty-stays-rotten KIND test_log_check FILE persistence/segment.c
	REMOVES "an empty segment of which the header has rot gets it again"
	TEXT [[
		(void)wh_log_judge(log, write_head_again(log, present, &err), &err);
]]
	REPLACEMENT [[
		(void)write_head_again;
]])
