# dds_rules.cmake - what a participant does with publishers and with readers that are full (dds/writer.c, deliver.c, reader.c, cache.c), taken out
# one rule at a time. See mutants.cmake.

mutant(NAME dds-rules-publisher-64 KIND test_dds_rules FILE dds/writer.c
	REMOVES "a publisher waits for each of its writers"
	TEXT [[
	for (uint32_t i = 0; i < count && result == WHORL_DDS_RETCODE_OK; i++) {
]]
	REPLACEMENT [[
	for (uint32_t i = 0; i < count && i < 64 && result == WHORL_DDS_RETCODE_OK; i++) {
]])

mutant(NAME dds-rules-set-not-asked KIND test_dds_rules FILE dds/deliver.c
	REMOVES "the end of a set is refused by a reader that has no room for it"
	TEXT [[
	full = !wh_dds_channel_ask(line->channel, from, bytes, count, has_room, &question);
]]
	REPLACEMENT [[
	full = !question.set && !wh_dds_channel_ask(line->channel, from, bytes, count, has_room, &question);
]])

mutant(NAME dds-rules-set-asked-one-by-one KIND test_dds_rules FILE dds/cache/cache.c
	REMOVES "what comes as one needs room for all of it"
	TEXT [[
	cache->asked++;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-rules-set-asked-without-instances KIND test_dds_rules FILE dds/cache/cache.c
	REMOVES "what comes as one needs the room of each instance"
	TEXT [[
	kept += instance->pending_count + instance->asked;
]]
	REPLACEMENT [[
	kept += instance->pending_count;
]])

mutant(NAME dds-rules-leaves-without-room KIND test_dds_rules FILE dds/deliver.c
	REMOVES "a writer that leaves an instance, and so disposes of it, needs room"
	TEXT [[
		arrival.does |= WH_DDS_DOES_DISPOSE; /* what it will be when it takes effect */
]]
	REPLACEMENT [[
		arrival.does |= 0;
]])

mutant(NAME dds-rules-hurried-for-ever KIND test_dds_slow FILE dds/reader.c
	REMOVES "a reader that takes again is waited for again"
	TEXT [[
	reader->hurried = reader->hurried && !(result > 0 && select->take);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-rules-left-for-ever KIND test_dds_slow FILE dds/node.c
	REMOVES "a channel that was left may be entered again"
	TEXT [[
	while (line != NULL && (wh_dds_line_is_left(line) || strcmp(line->name, channel) != 0))
]]
	REPLACEMENT [[
	while (line != NULL && strcmp(line->name, channel) != 0)
]])

mutant(NAME dds-rules-left-asserted KIND test_dds_slow FILE dds/publisher.c
	REMOVES "nothing is said in a channel that was left"
	TEXT [[
		if (stage == WH_DDS_OPEN && !line->stream && !wh_dds_line_is_left(line))
]]
	REPLACEMENT [[
		if (stage == WH_DDS_OPEN && !line->stream)
]])

mutant(NAME dds-rules-waits-for-the-first KIND test_dds_outcomes FILE dds/node.c
	WORDS CK_RUN_CASE=first
	REMOVES "a process that waits for one that has gone looks for an id again"
	TEXT [[
	} while (seen == 0 || seen != (node->logs ? 2 * looks : looks)); /* what is on disks takes a while to be told */
]]
	REPLACEMENT [[
	} while (seen != looks || seen <= looks);
]])

mutant(NAME dds-acks-of-the-first-thread KIND test_dds_slow FILE dds/writer.c
	REMOVES "acknowledgements of what other threads than the first have written are waited for"
	TEXT [[
	return own > last ? own : last;
]]
	REPLACEMENT [[
	return own;
]])

mutant(NAME dds-acks-of-other-threads KIND test_dds_slow FILE dds/writer.c
	REMOVES "acknowledgements of what the first thread has written are waited for"
	TEXT [[
	return own > last ? own : last;
]]
	REPLACEMENT [[
	return last > 0 ? last : own;
]])

mutant(NAME dds-rules-group-of-channels KIND test_dds_rules FILE dds/endpoint.c
	WORDS CK_RUN_CASE=channels
	REMOVES "what is presented as a group is on one channel"
	TEXT [[
	joins = group->grouped == 0 || group->line == end->line;
]]
	REPLACEMENT [[
	joins = true;
]])

mutant(NAME dds-rules-group-for-ever KIND test_dds_rules FILE dds/endpoint.c
	WORDS CK_RUN_CASE=channels
	REMOVES "a group of which all is gone may be on another channel"
	TEXT [[
	group->grouped--;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-listener-keeps-the-thread KIND test_dds_status FILE dds/work.c
	REMOVES "a listener for which there is always more leaves others their turn"
	TEXT [[
		goes_on = wh_dds_clock() < until_ns;
]]
	REPLACEMENT [[
		goes_on = until_ns > 0;
]])

mutant(NAME dds-listener-not-again KIND test_dds_status FILE dds/work.c
	REMOVES "what a turn has no time for is told in another"
	TEXT [[
		queue(base); /* behind the others: there may be more */
]]
	REPLACEMENT [[
		;
]])

mutant(NAME dds-instance-noted-for-ever KIND test_dds_node FILE dds/writer.c
	REMOVES "an instance that was removed is not taken for one that is there"
	TEXT [[
	wh_store_release(&writer->removals, 1 +
]]
	REPLACEMENT [[
	wh_store_release(&writer->removals, 0 *
]])

mutant(NAME dds-any-instance-noted KIND test_dds_node FILE dds/writer.c
	REMOVES "another instance is not taken for the one that was noted"
	TEXT [[
	       wh_load_relaxed(&writer->noted[0]) == halves[0] &&
	       wh_load_relaxed(&writer->noted[1]) == halves[1];
]]
	REPLACEMENT [[
	       (halves[0] != 0 || halves[1] != 1);
]])

mutant(NAME dds-bytes-with-a-small-window KIND test_dds_conf FILE dds/shape.c
	REMOVES "bytes of any number have a window of small slots"
	TEXT [[
	 {1088, 2048, 524288, false, false}},
]]
	REPLACEMENT [[
	 {1088, 2048, 131072, false, false}},
]])

mutant(NAME dds-times-without-a-turn KIND test_dds_status FILE dds/work.c
	REMOVES "times are looked at while a listener is called again and again"
	TEXT [[
	if (node->queue != NULL && wh_dds_clock() <
]]
	REPLACEMENT [[
	if (node->queue != NULL && 0 * wh_dds_clock() <
]])

mutant(NAME dds-subgroup-of-a-channel KIND test_dds_conf FILE dds/config/config.c
	REMOVES "no subgroup of the file has the name that a channel may have"
	TEXT [[
		if (names->is_channel(settings, name))
]]
	REPLACEMENT [[
		if (names->is_shared(name))
]])

mutant(NAME dds-loop-of-the-caller KIND test_dds_conf FILE dds/node.c
	REMOVES "a domain's node has a thread for its loop, though the file says that the program runs it"
	TEXT [[
	group = whorl_config_set(config, "engine.thread=dedicated");
]]
	REPLACEMENT [[
	group = WHORL_OK;
]])

mutant(NAME dds-query-selects-all KIND test_dds_node FILE dds/reader.c
	REMOVES "a query that was deleted selects nothing for a thread that had come with it"
	TEXT [[
	return !condition->read.condition.closed;
]]
	REPLACEMENT [[
	return true;
]])
