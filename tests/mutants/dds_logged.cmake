# dds_logged.cmake - logged topics: what has to be on disk beside samples, and how it is read again (dds/, group/logs/replay.c), taken out one rule at a time. See
# mutants.cmake.

mutant(NAME dds-logged-registry KIND test_dds_logged FILE dds/node.c
	WORDS CK_RUN_CASE=outlives
	REMOVES "the control channel is in a log where channels are: numbers and types of topics outlive all programs"
	TEXT [[
	node->logs = true;
	result = wh_dds_line_enter(node->control, 0);
	if (result != WHORL_UNSUPPORTED)
		return result;
	node->logs = false;
	return wh_dds_line_enter(node->control, 0);
]]
	REPLACEMENT [[
	node->logs = false;
	result = wh_dds_line_enter(node->control, 0);
	node->logs = true;
	return result;
]])

mutant(NAME dds-logged-views KIND test_dds_logged FILE dds/line.c
	WORDS CK_RUN_CASE=owned
	REMOVES "a log is read again with the views that it was written in"
	TEXT [[
		.on_past_view = wh_dds_line_past_view};
]]
	REPLACEMENT [[
		.on_past_view = NULL};
]])

mutant(NAME dds-logged-in-memory KIND test_dds_logged FILE dds/line.c
	WORDS CK_RUN_CASE=outlives
	REMOVES "a logged topic lies on a durable channel"
	TEXT [[
	return line->shape.durable || (line->control && line->node->logs) ? WHORL_DURABLE : WHORL_ORDERED;
]]
	REPLACEMENT [[
	return line->control && line->node->logs ? WHORL_DURABLE : WHORL_ORDERED;
]])

mutant(NAME dds-logged-unfetched KIND test_dds_logged FILE dds/fetch.c
	WORDS CK_RUN_CASE=fetched
	REMOVES "a log in the directory of a process that has gone is fetched"
	TEXT [[
	for (uint32_t i = 0; i < count && !fetched && !wh_dds_node_closes(node); i++) {
]]
	REPLACEMENT [[
	for (uint32_t i = count; i < count && !fetched && !wh_dds_node_closes(node); i++) {
]])

mutant(NAME dds-logged-anywhere KIND test_dds_outcomes FILE dds/topic.c
	REMOVES "a logged topic without a directory is UNSUPPORTED when it is created"
	TEXT [[
	if (consistency == WHORL_DDS_CONSISTENCY_LOGGED)
		result
]]
	REPLACEMENT [[
	if (consistency > WHORL_DDS_CONSISTENCY_LOGGED)
		result
]])

mutant(NAME dds-logged-on-a-stored-channel KIND test_dds_conf FILE dds/shape.c
	WORDS CK_RUN_CASE=logged
	REMOVES "a logged topic does not lie on a channel of the file that is in memory"
	TEXT [[
	if ((unordered && !shape.unordered) || (logged && !shape.durable))
]]
	REPLACEMENT [[
	if (unordered && !shape.unordered)
]])

mutant(NAME dds-logged-shared KIND test_dds_conf FILE dds/shape.c
	WORDS CK_RUN_CASE=logged
	REMOVES "the channel of logged topics takes no others"
	TEXT [[
	if ((shape.unordered && !unordered) || (shape.durable && !logged))
]]
	REPLACEMENT [[
	if (shape.unordered && !unordered)
]])

mutant(NAME dds-logged-two-directories KIND test_dds_conf FILE dds/config/config.c
	WORDS CK_RUN_CASE=mistakes
	REMOVES "a file with a group says there where logs lie"
	TEXT [[
	if (settings->has_group)
		wh_conf_mistake
]]
	REPLACEMENT [[
	if (settings->has_group && settings->directory[0] == '\0')
		wh_conf_mistake
]])

mutant(NAME dds-logged-no-group KIND test_dds_conf FILE dds/node.c
	WORDS CK_RUN_CASE=domain
	REMOVES "a file without a group has that of the domain"
	TEXT [[
		return node->settings.has_group ? WHORL_DDS_RETCODE_OK : load_domain(function, node, config);
]]
	REPLACEMENT [[
		return node->settings.has_group ? WHORL_DDS_RETCODE_OK : WHORL_DDS_RETCODE_OK;
]])

mutant(NAME past-view-late KIND test_group_durable FILE group/logs/replay.c
	WORDS CK_RUN_CASE=states
	REMOVES "a view of a log is told before what was delivered in it, and behind what was before"
	TEXT [[
	if (replay->count > 0 || replay->view.there)
		return false;
]]
	REPLACEMENT [[
	if (replay->view.there)
		return false;
]])

mutant(NAME past-view-unasked KIND test_group_durable FILE group/logs/replay.c
	WORDS CK_RUN_CASE=states
	REMOVES "views of a log are told to those that ask alone"
	TEXT [[
	replay->tells_views = functions != NULL && past_views->told != NULL;
]]
	REPLACEMENT [[
	replay->tells_views = functions != NULL;
]])

mutant(NAME dds-logged-rests KIND test_dds_logged FILE dds/line.c
	WORDS CK_RUN_CASE=senders
	REMOVES "all members of a durable channel are senders, of which its log knows"
	TEXT [[
	if (line->control || line->stream || line->shape.durable || line == line->node->loose || rest_ms == 0 ||
]]
	REPLACEMENT [[
	if (line->control || line->stream || line == line->node->loose || rest_ms == 0 ||
]])

mutant(NAME dds-logged-unadopted KIND test_dds_logged FILE dds/node.c
	WORDS CK_RUN_CASE=lives
	REMOVES "a process that has a directory brings back the channels whose logs lie there"
	TEXT [[
	if (result == WHORL_DDS_RETCODE_OK)
		wh_dds_node_adopt(node);
]]
	REPLACEMENT [[
]])

# ---- played: sim-logged ----

mutant(NAME logged-forgotten KIND sim-logged RUNS 150 FILE group/logs/replay.c
	REMOVES "a log is read again as a whole: some samples of it are passed over"
	TEXT [[
	} while (entry.kind == WH_LOG_VIEW);
]]
	REPLACEMENT [[
	} while (entry.kind == WH_LOG_VIEW ||
		 (entry.kind == WH_LOG_MESSAGE && entry.message.bytes < 100 && entry.message.index % 16 == 7));
]])

mutant(NAME logged-other-place KIND sim-logged RUNS 150 FILE group/logs/replay.c
	REMOVES "a message that is read again has the place that it had"
	TEXT [[
					      .sequence = message->place,
]]
	REPLACEMENT [[
					      .sequence = message->place + 1,
]])

mutant(NAME logged-twice KIND sim-logged RUNS 150 FILE dds/channel/history.c
	REMOVES "of what writers that are gone have left each sample is told once"
	TEXT [[
		told += has_sample(entry);
		wh_dds_tell_event(channel, &event);
]]
	REPLACEMENT [[
		told += has_sample(entry);
		wh_dds_tell_event(channel, &event);
		if (entry->writer->ended)
			wh_dds_tell_event(channel, &event);
]])

mutant(NAME logged-backwards KIND sim-logged RUNS 150 FILE dds/channel/history.c
	REMOVES "the history is told in the order of the topic"
	TEXT [[
	for (struct wh_dds_entry *entry = topic->entries; entry != NULL; entry = entry->next) {
		struct wh_dds_event
]]
	REPLACEMENT [[
	for (struct wh_dds_entry *entry = topic->entries_end; entry != NULL; entry = entry->prev) {
		struct wh_dds_event
]])

mutant(NAME logged-local-stays KIND sim-logged RUNS 150 FILE dds/channel/match.c
	REMOVES "what a TRANSIENT_LOCAL writer has written goes with it"
	TEXT [[
			wh_dds_forget_writer(channel, endpoint);
]]
	REPLACEMENT [[
			(void)channel;
]])

mutant(NAME logged-not-awaited KIND sim-logged RUNS 150 FILE dds/fetch.c
	REMOVES "on a network a node waits in a dormant channel of which it has the log"
	TEXT [[
	return i < count || count == 0;
]]
	REPLACEMENT [[
	return i < count && count == 0;
]])

mutant(NAME logged-checkpoint-unread KIND sim-logged RUNS 150 FILE group/logs/replay.c
	REMOVES "a log is read again from the state that its checkpoint has"
	TEXT [[
		restored = restore_checkpoint(replay, checkpoint);
]]
	REPLACEMENT [[
		(void)restore_checkpoint;
]])
