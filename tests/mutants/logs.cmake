# logs.cmake - mechanisms of logs on disk (persistence/; docs/decisions/0058), taken out one at a time. See mutants.cmake.

mutant(NAME log-next-unsynced KIND test_log FILE persistence/log.c
	REMOVES "a batch is written when the one before is synced"
	TEXT [[
	if (result == WHORL_OK && log->pending)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME log-unsynced KIND test_log_crash FILE persistence/log.c
	REMOVES "a batch counts when it is on the disk"
	TEXT [[
	result = log->file->ops->sync(log->file, err);
	if (result != WHORL_OK) {
]]
	REPLACEMENT [[
	if (result != WHORL_OK) {
]])

mutant(NAME log-syncs-again KIND test_log_crash FILE persistence/segment.c
	REMOVES "a log of which a sync has failed is never synced again"
	TEXT [[
	if (log->failed)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME log-chain-unread KIND test_log_rot FILE persistence/recover.c
	REMOVES "a batch follows on the one before it"
	TEXT [[
		if (head.chain != log->chain) {
]]
	REPLACEMENT [[
		if (0) {
]])

mutant(NAME log-body-unread KIND test_log_rot FILE persistence/format.c
	REMOVES "the body of a batch has a sum"
	TEXT [[
	if (wh_crc32c(0, body, head->body_bytes) != head->body_sum ||
]]
	REPLACEMENT [[
	if (0 ||
]])

mutant(NAME log-rot-cut-off KIND test_log_rot FILE persistence/recover.c
	REMOVES "what is damaged before a later batch is no torn end"
	TEXT [[
		    (head.number > log->batch || (head.number == log->batch && at != torn_at))) {
]]
	REPLACEMENT [[
		    0) {
]])

mutant(NAME log-known-forgotten KIND test_log_rot FILE persistence/recover.c
	REMOVES "what is known to be on the disk is no torn end"
	TEXT [[
	if (view == NULL || view->void_end < known->place)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME log-mark-forgotten KIND test_log_rot FILE persistence/recover.c
	REMOVES "what a checkpoint says that it is on the disk is no torn end"
	TEXT [[
	if (log->has_mark && log->batch < log->mark.written)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME log-end-once KIND test_log_crash FILE persistence/recover.c
	REMOVES "what lies at the very end is written again before it counts"
	TEXT [[
		result = write_again(log, log->last_at, present->used, false, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME log-end-unsynced KIND test_log_crash FILE persistence/recover.c
	REMOVES "what lies at the very end is synced before it counts"
	TEXT [[
		result = log->file->ops->sync(log->file, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME log-remains-stay KIND test_log_crash FILE persistence/recover.c
	REMOVES "the remains of a torn batch are wiped out"
	TEXT [[
		result = write_again(log, present->used, log->wipe_to, true, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME log-refused-stays KIND test_log_full FILE persistence/segment.c
	REMOVES "a batch that was refused is not read when another is written elsewhere"
	TEXT [[
	if (!log->remains || present->used + sizeof(zeros) > present->bytes)
]]
	REPLACEMENT [[
	if (1)
]])

mutant(NAME log-void-given KIND test_log FILE persistence/cursor.c
	REMOVES "what lies beyond the cut is void"
	TEXT [[
		if (message->place >= view->end)
]]
	REPLACEMENT [[
		if (0)
]])

mutant(NAME log-name-unsynced KIND test_log_crash FILE persistence/segment.c
	REMOVES "the name of a segment is on the disk before a batch is in it"
	TEXT [[
		result = log->directory->ops->sync(log->directory, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME log-removes-early KIND test_log_crash FILE persistence/checkpoint.c
	REMOVES "a checkpoint is on the disk with its name before segments are removed"
	TEXT [[
		result = directory->ops->sync(directory, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME log-state-unsynced KIND test_log_crash FILE persistence/checkpoint.c
	REMOVES "a checkpoint is synced before it counts"
	TEXT [[
		result = checkpoint->file->ops->sync(checkpoint->file, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME log-state-unread KIND test_log_rot FILE persistence/checkpoint.c
	REMOVES "the pieces of a checkpoint have sums"
	TEXT [[
	    wh_crc32c(0, head + WH_LOG_PIECE_HEAD_BYTES, piece->bytes) == piece->data_sum)
]]
	REPLACEMENT [[
	    1)
]])

mutant(NAME log-name-once KIND test_log_crash FILE persistence/recover.c
	REMOVES "the name of a checkpoint is given anew when a log is opened"
	TEXT [[
	enum whorl_result result = log->has_mark ? renew_checkpoint(log, err) : WHORL_OK;
]]
	REPLACEMENT [[
	enum whorl_result result = WHORL_OK;
]])

mutant(NAME log-thrown-away-at-once KIND test_log_rot FILE persistence/recover.c
	REMOVES "files of a log are removed one after the other, the oldest first"
	TEXT [[
		if (result == WHORL_OK) /* the oldest first: without it the rest is rot */
]]
	REPLACEMENT [[
		if (0)
]])

mutant(NAME log-later-format KIND test_log FILE persistence/format.c
	REMOVES "a log of a later format is refused"
	TEXT [[
	if (*format > WH_LOG_FORMAT)
		return WH_LOG_LATER;
	if (*format != WH_LOG_FORMAT || ]]
	REPLACEMENT [[
	if (]])

mutant(NAME log-of-others KIND test_log FILE persistence/recover.c
	REMOVES "a log of another group or node is refused"
	TEXT [[
	enum whorl_result result = scan->config != NULL ? check_owner(scan, file, &head->owner) : WHORL_OK;
]]
	REPLACEMENT [[
	enum whorl_result result = WHORL_OK;
]])

mutant(NAME log-gap-untold KIND test_log FILE persistence/order.c
	REMOVES "it is told where messages are missing between views"
	TEXT [[
	return begin->cut > has;
]]
	REPLACEMENT [[
	return false;
]])

mutant(NAME log-identity-unsynced KIND test_log FILE persistence/identity.c
	REMOVES "the identity of a directory is synced before it has its name"
	TEXT [[
		result = file->ops->sync(file, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

mutant(NAME log-identity-unnamed KIND test_log FILE persistence/identity.c
	REMOVES "the name of an identity is synced before anything follows it"
	TEXT [[
		result = directory->ops->sync(directory, err);
]]
	REPLACEMENT [[
		result = WHORL_OK;
]])

# ---- caps ----

mutant(NAME log-cap-unsynced KIND test_log_rot FILE persistence/log.c
	REMOVES "a cap is synced"
	TEXT [[
	return result == WHORL_OK ? wh_log_sync(log, err) : result;
]]
	REPLACEMENT [[
	log->capped = log->pending;
	log->pending = false;
	return result;
]])

mutant(NAME log-cap-unsaid KIND test_group_durable FILE persistence/log.c
	REMOVES "a cap says how far all members have it on disk"
	TEXT [[
		.first = view->end, .next = view->end, .frontier = frontier < view->end ? frontier : view->end};
]]
	REPLACEMENT [[
		.first = view->end, .next = view->end, .frontier = view->frontier};
]])

mutant(NAME log-uncapped KIND test_group_durable FILE group/logs/job.c
	REMOVES "a log that is idle gets a cap"
	TEXT [[
	uint64_t caps_ns = busy ? UINT64_MAX : wh_logs_cap_idle(logs),
]]
	REPLACEMENT [[
	uint64_t caps_ns = busy ? UINT64_MAX : ((void)wh_logs_cap_idle, UINT64_MAX),
]])

mutant(NAME log-cap-unasked KIND test_group_durable FILE group/logs/job.c
	REMOVES "the job comes back for a cap when nothing else wakes it"
	TEXT [[
	in_ns = caps_ns < check_ns ? caps_ns : check_ns;
]]
	REPLACEMENT [[
	(void)caps_ns;
	in_ns = check_ns;
]])

mutant(NAME log-left-uncapped KIND test_group_durable FILE group/logs/orders.c
	REMOVES "a node that leaves in order caps its logs first"
	TEXT [[
	if (!write_identity(logs, standing->group) || (standing->left && !wh_logs_cap_all(logs)))
]]
	REPLACEMENT [[
	if (!write_identity(logs, standing->group) || (standing->left && 0 && !wh_logs_cap_all(logs)))
]])
