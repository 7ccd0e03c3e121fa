# dds_unordered.cmake - unordered topics (docs/decisions/0052, "Unordered topics"), of which one rule at a time is taken out: of the machine
# (dds/channel/heard.c) and of the streams (dds/line.c). See mutants.cmake.

# ---- before a writer is known ----

mutant(NAME dds-loose-stray-dropped KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a sample that comes before its writer is known waits"
	TEXT [[
		return keep_stray(channel, &from, id.number, bytes, count) ? WHORL_OK : WHORL_MEMORY;
]]
	REPLACEMENT [[
		return count == 0 && keep_stray(channel, &from, id.number, bytes, count) ? WHORL_MEMORY : WHORL_OK;
]])

mutant(NAME dds-loose-strays-unbounded KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "so many wait at most"
	TEXT [[
	for (; channel->counts.strays > WH_DDS_STRAYS_MAX || channel->stray_bytes > WH_DDS_STRAY_BYTES_MAX;
]]
	REPLACEMENT [[
	for (; channel->stray_bytes > WH_DDS_STRAY_BYTES_MAX;
]])

mutant(NAME dds-loose-stray-bytes-unbounded KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "so many bytes wait at most"
	TEXT [[
	for (; channel->counts.strays > WH_DDS_STRAYS_MAX || channel->stray_bytes > WH_DDS_STRAY_BYTES_MAX;
]]
	REPLACEMENT [[
	for (; channel->counts.strays > WH_DDS_STRAYS_MAX;
]])

mutant(NAME dds-loose-strays-of-the-dead KIND test_dds_heard FILE dds/channel/channel.c
	REMOVES "what waits goes with its member"
	TEXT [[
	wh_dds_strays_forget(channel, member->node, member->incarnation);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-loose-gone-awaited KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "what comes of a writer that has ended unheard does not wait for it"
	TEXT [[
	if (writer == NULL && is_gone(channel, &id))
]]
	REPLACEMENT [[
	if (writer == NULL && is_gone(channel, &id) && count == 0)
]])

# ---- behind a writer's end ----

mutant(NAME dds-loose-ends-at-once KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a writer that has ended is heard to its end"
	TEXT [[
	return channel->config.unordered && endpoint->kind == WH_DDS_WRITER && !endpoint->heard_out &&
]]
	REPLACEMENT [[
	return !channel->config.unordered && endpoint->kind == WH_DDS_WRITER && !endpoint->heard_out &&
]])

mutant(NAME dds-loose-lingers-for-nobody KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a writer lingers for local readers alone"
	TEXT [[
		if (writer->matches.all[i]->local)
			return true;
	return false;
]]
	REPLACEMENT [[
		if (writer->matches.all[i]->local)
			return true;
	return writer->order > 0;
]])

mutant(NAME dds-loose-lingers-for-the-ended KIND test_dds_heard FILE dds/channel/match.c
	REMOVES "a writer lingers no longer than its readers are there"
	TEXT [[
	if (!writes && !wh_dds_linger_no_more(channel))
		return false;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-loose-lingers-heard-out KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a writer of which all was heard ends at once"
	TEXT [[
	return channel->config.unordered && endpoint->kind == WH_DDS_WRITER && !endpoint->heard_out &&
]]
	REPLACEMENT [[
	return channel->config.unordered && endpoint->kind == WH_DDS_WRITER &&
]])

mutant(NAME dds-loose-heard-behind-the-end KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "nothing of a writer is heard behind its end"
	TEXT [[
	if (writer->heard_out) {
]]
	REPLACEMENT [[
	if (writer->heard_out && count == 0) {
]])

mutant(NAME dds-loose-instances-at-the-end KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a writer leaves its instances where its end is heard"
	TEXT [[
	return wh_dds_end_claims(channel, writer, false) && (!writer->ended || finish(channel, writer));
]]
	REPLACEMENT [[
	return !writer->ended || finish(channel, writer);
]])

mutant(NAME dds-loose-dead-disposes KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a writer that died disposes of nothing"
	TEXT [[
	writer->died = died;
]]
	REPLACEMENT [[
	writer->died = died && writer->samples == 0;
]])

# ---- what is the member's, and what is all members' ----

mutant(NAME dds-loose-numbers-saved KIND test_dds_heard FILE dds/channel/state.c
	REMOVES "how many samples of a writer were heard is in no state"
	TEXT [[
	wh_dds_put_number(out, unordered ? 0 : endpoint->samples, 8);
]]
	REPLACEMENT [[
	wh_dds_put_number(out, unordered && endpoint->samples == 0 ? 0 : endpoint->samples, 8);
]])

mutant(NAME dds-loose-instances-saved KIND test_dds_heard FILE dds/channel/state.c
	REMOVES "instances are in no state"
	TEXT [[
	const struct wh_dds_instance *first = channel->config.unordered ? NULL : topic->instances;
]]
	REPLACEMENT [[
	const struct wh_dds_instance *first = topic->instances;
]])

mutant(NAME dds-loose-lingering-saved KIND test_dds_heard FILE dds/channel/state.c
	REMOVES "writers that linger are in no state"
	TEXT [[
	uint32_t ended = unordered ? 0 : channel->ended.count;
]]
	REPLACEMENT [[
	uint32_t ended = channel->ended.count;
]])

mutant(NAME dds-loose-voids-counted KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "what is heard counts nothing that all have in common"
	TEXT [[
	channel->counts.voids = voids;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-loose-ordered-samples KIND test_dds_heard FILE dds/channel/channel.c
	REMOVES "samples of unordered topics are heard, not applied"
	TEXT [[
		return channel->config.unordered ? wh_dds_void(channel) : apply_sample(channel, from, &said);
]]
	REPLACEMENT [[
		return apply_sample(channel, from, &said);
]])

mutant(NAME dds-loose-ordered-endpoints KIND test_dds_heard FILE dds/channel/match.c
	REMOVES "endpoints of ordered topics are announced in their channels"
	TEXT [[
	if (channel->config.unordered && message->terms.consistency != WHORL_DDS_CONSISTENCY_UNORDERED)
]]
	REPLACEMENT [[
	if (channel->config.unordered && message->terms.consistency == WHORL_DDS_CONSISTENCY_LOGGED)
]])

mutant(NAME dds-loose-heard-is-silent KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a lease does not run out while the writer is heard"
	TEXT [[
	writer->heard_ns = channel->now_ns;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-loose-silent-has-instances KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a writer that is silent, and is heard behind that, loses its instances again"
	TEXT [[
		if (hushes_at(it) <= now_ns)
			wh_dds_drop_claims(channel, it);
]]
	REPLACEMENT [[
		if (hushes_at(it) <= now_ns)
			continue;
]])

mutant(NAME dds-loose-hush-of-the-heard KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a writer that is alive keeps its instances"
	TEXT [[
		if (it->kind != WH_DDS_WRITER || it->alive || it->claims == NULL)
]]
	REPLACEMENT [[
		if (it->kind != WH_DDS_WRITER || it->claims == NULL)
]])

mutant(NAME dds-loose-hush-at-once KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "what says that a writer is alive again may come later than its samples"
	TEXT [[
	lasts_ns = lasts_ns > SAID_NS ? lasts_ns : SAID_NS;
]]
	REPLACEMENT [[
	lasts_ns = lasts_ns > SAID_NS ? lasts_ns : 0;
]])

mutant(NAME dds-loose-hush-before-the-lease KIND test_dds_heard FILE dds/channel/heard.c
	REMOVES "a writer that is heard has its instances for a lease"
	TEXT [[
	lasts_ns = lasts_ns > SAID_NS ? lasts_ns : SAID_NS;
]]
	REPLACEMENT [[
	lasts_ns = lasts_ns > 0 ? SAID_NS : lasts_ns;
]])

mutant(NAME topics-loose-silent-for-ever KIND sim-topics RUNS 1 SEED 6000139 FILE dds/work.c
	REMOVES "it is looked whether writers that were heard behind their silence are silent still"
	TEXT [[
	if (line == line->node->loose) {
]]
	REPLACEMENT [[
	if (line == line->node->loose && next == 0) {
]])

mutant(NAME dds-loose-places KIND test_dds_heard FILE dds/channel/channel.c
	REMOVES "what is told of unordered topics has no place"
	TEXT [[
	if (!channel->config.unordered) /* there its samples have none */
]]
	REPLACEMENT [[
	if (number > 0)
]])

# ---- streams ----

mutant(NAME dds-loose-full-not-refused KIND test_dds_unordered FILE dds/stream.c
	REMOVES "a reader that is full refuses what comes on a stream"
	TEXT [[
	if (wh_dds_must_wait(loose, &from, bytes, message->bytes))
		return false;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-loose-end-unsaid KIND test_dds_unordered FILE dds/endpoint.c
	REMOVES "the end of a writer is said on its stream"
	TEXT [[
	if (end->stream != end->line && end->base.entity.kind == WH_DDS_WRITER)
]]
	REPLACEMENT [[
	if (end->stream == end->line && end->stream->stream)
]])

mutant(NAME dds-loose-kept-forgotten KIND test_dds_unordered FILE dds/stream.c
	REMOVES "a dead writer ends behind what was refused of it"
	TEXT [[
	silent = !stream->refused && wh_dds_subgroup_of(stream) != NULL &&
		 whorl_subgroup_statistics(wh_dds_subgroup_of(stream), &stats) == WHORL_OK && stats.refused_kept == 0;
]]
	REPLACEMENT [[
	silent = whorl_subgroup_statistics(wh_dds_subgroup_of(stream), &stats) == WHORL_OK;
]])

mutant(NAME dds-loose-over-at-once KIND test_dds_unordered FILE dds/stream.c
	REMOVES "a writer lingers until nothing more of it can come"
	TEXT [[
		if (!is_over(writer)) {
]]
	REPLACEMENT [[
		if (!is_over(writer) && at == UINT32_MAX) {
]])

mutant(NAME dds-loose-dead-linger-on KIND test_dds_unordered FILE dds/stream.c
	REMOVES "a writer of a process that has left the stream ends"
	TEXT [[
	for (uint32_t i = 0; silent && i < stream->member_count; i++)
]]
	REPLACEMENT [[
	silent = silent && stream->member_count == 0;
	for (uint32_t i = 0; silent && i < stream->member_count; i++)
]])

mutant(NAME dds-loose-parts-unsaid KIND test_dds_unordered FILE dds/stream.c
	REMOVES "others are told of what a process had on a stream that it has left"
	TEXT [[
		say_parted(stream);
		return;
]]
	REPLACEMENT [[
		return;
]])

mutant(NAME dds-loose-asserts-unsaid KIND test_dds_unordered FILE dds/writer.c
	REMOVES "a writer with a lease says that it lives where leases end"
	TEXT [[
	if (end->line != end->stream)
		assert_writer(writing->writer);
]]
	REPLACEMENT [[
	if (end->stream == NULL)
		assert_writer(writing->writer);
]])

mutant(NAME dds-loose-on-an-ordered-channel KIND test_dds_unordered FILE dds/shape.c
	REMOVES "an unordered topic does not lie on an ordered channel of the file"
	TEXT [[
	if ((unordered && !shape.unordered) || (logged && !shape.durable))
]]
	REPLACEMENT [[
	if (logged && !shape.durable)
]])

mutant(NAME dds-loose-room-untold KIND test_dds_unordered FILE dds/work.c
	REMOVES "what is over leaves room on streams, too"
	TEXT [[
		if (it->stream && wh_dds_subgroup_of(it) != NULL)
]]
	REPLACEMENT [[
		if (it->stream && wh_dds_subgroup_of(it) == NULL)
]])

mutant(NAME dds-loose-control-rests KIND test_dds_unordered FILE dds/line.c
	REMOVES "a process does not rest in the control channel, since it has only readers of unordered topics"
	TEXT [[
	if (line->control || line->stream || line->shape.durable || line == line->node->loose || rest_ms == 0 ||
]]
	REPLACEMENT [[
	if (line->control || line->stream || line->shape.durable || rest_ms == 0 ||
]])
