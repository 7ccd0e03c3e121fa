# dds_channel.cmake - mechanisms of the control channel's registry and of a channel's machine (docs/decisions/0052), taken out one at a time.
# See mutants.cmake.

# ---- what comes in ----

mutant(NAME dds-order-unchecked KIND test_dds_channel FILE dds/channel/channel.c
	REMOVES "a message is behind what came before"
	TEXT [[
	if (!channel->began || from->place.view != channel->view || from->place.sequence < channel->next_sequence)
]]
	REPLACEMENT [[
	if (!channel->began || from->place.view != channel->view)
]])

mutant(NAME dds-view-unchecked KIND test_dds_channel FILE dds/channel/channel.c
	REMOVES "a message is of the view that has begun"
	TEXT [[
	if (!channel->began || from->place.view != channel->view || from->place.sequence < channel->next_sequence)
]]
	REPLACEMENT [[
	if (!channel->began || from->place.sequence < channel->next_sequence)
]])

mutant(NAME dds-view-again KIND test_dds_channel FILE dds/channel/channel.c
	REMOVES "a view that is known changes nothing"
	TEXT [[
	if (channel->began && number <= channel->view)
		return WHORL_OK;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-stranger-heard KIND test_dds_channel FILE dds/channel/channel.c
	REMOVES "what is said by no member is void"
	TEXT [[
	if (wh_dds_member_find(channel, from->node, from->incarnation) == NULL)
		return wh_dds_void(channel);
]]
	REPLACEMENT [[
	if (channel->member_count == 0)
		return wh_dds_void(channel);
]])

mutant(NAME dds-key-unchecked KIND test_dds_channel_random FILE dds/channel/channel.c
	REMOVES "a sample has a key where its topic has one, and else none"
	TEXT [[
	if (said->keyed != writer->topic->terms.keyed)
		return false;
]]
	REPLACEMENT [[
	if (said->number != writer->id.number)
		return false;
]])

mutant(NAME dds-dead-kept KIND test_dds_channel_random FILE dds/channel/channel.c
	REMOVES "what was of a member that is gone ends"
	TEXT [[
		else if (!wh_dds_endpoint_end(channel, endpoint, true))
			return false;
]]
	REPLACEMENT [[
		else if (endpoint->kind == WH_DDS_READER || !wh_dds_endpoint_end(channel, endpoint, true))
			i++;
]])

mutant(NAME dds-length-unchecked KIND test_dds_channel FILE dds/base/bytes.c
	REMOVES "a message that goes on behind its end is garbage"
	TEXT [[
	return in->ok && in->left == 0 ? WHORL_OK : WHORL_INVALID;
]]
	REPLACEMENT [[
	return in->ok ? WHORL_OK : WHORL_INVALID;
]])

mutant(NAME dds-both-changes KIND test_dds_channel FILE dds/channel/wire.c
	REMOVES "nothing writes an instance and leaves it at once"
	TEXT [[
	if (said->number == 0 || ((said->change & WH_DDS_WRITE) != 0 && (said->change & WH_DDS_UNREGISTER) != 0))
]]
	REPLACEMENT [[
	if (said->number == 0)
]])

mutant(NAME dds-name-unbounded KIND test_dds_channel FILE dds/channel/wire.c
	REMOVES "a name has 255 bytes at most"
	TEXT [[
	out->name = wh_dds_take_text(in, WH_DDS_NAME_BYTES);
]]
	REPLACEMENT [[
	out->name = wh_dds_take_text(in, 65535);
]])

# ---- endpoints and matches ----

mutant(NAME dds-terms-ignored KIND test_dds_channel FILE dds/channel/match.c
	REMOVES "the first endpoint of a topic fixes its terms"
	TEXT [[
	    (strcmp(topic->name, message->name) == 0 && wh_dds_terms_equal(&topic->terms, &message->terms)))
]]
	REPLACEMENT [[
	    strcmp(topic->name, message->name) == 0)
]])

mutant(NAME dds-policies-unchecked KIND test_dds_channel FILE dds/channel/match.c
	REMOVES "policies that contradict each other are refused"
	TEXT [[
	result = wh_dds_policies_check(&message->policies, message->what, policy, NULL);
]]
	REPLACEMENT [[
	result = WHORL_DDS_RETCODE_OK;
]])

mutant(NAME dds-policies-unsuited KIND test_dds_channel FILE dds/channel/match.c
	REMOVES "what a topic of this consistency cannot give is refused"
	TEXT [[
		result = wh_dds_policies_suit(&message->policies, message->terms.consistency, policy, NULL);
]]
	REPLACEMENT [[
		result = WHORL_DDS_RETCODE_OK;
]])

mutant(NAME dds-number-again KIND test_dds_channel FILE dds/channel/match.c
	REMOVES "the number of a writer is not used again while something of it is kept"
	TEXT [[
	return wh_dds_endpoint_find(channel, kind, id, false) != NULL ||
	       (!channel->config.unordered && wh_dds_endpoint_find(channel, kind, id, true) != NULL);
]]
	REPLACEMENT [[
	return wh_dds_endpoint_find(channel, kind, id, false) != NULL;
]])

mutant(NAME dds-endpoints-unlimited KIND test_dds_channel FILE dds/channel/match.c
	REMOVES "a channel has a limit of endpoints"
	TEXT [[
	if (channel->endpoints.count >= WH_DDS_ENDPOINTS_MAX)
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
]]
	REPLACEMENT [[
	(void)channel;
]])

mutant(NAME dds-former-topic-kept KIND test_dds_channel FILE dds/channel/match.c
	REMOVES "what was kept under a former number of a name goes"
	TEXT [[
			wh_dds_forget_topic(channel, topic);
]]
	REPLACEMENT [[
			(void)wh_dds_forget_topic;
]])

mutant(NAME dds-partitions-ignored KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "endpoints match that have a partition in common"
	TEXT [[
	if (!meet(event.writer, event.reader))
		return true;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-change-unmatched KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "endpoints that do not fit any more after a change are parted"
	TEXT [[
		if (was ? wh_dds_fits(pair.writer, pair.reader) : failed_alike(endpoint, before, others->all[i]))
]]
	REPLACEMENT [[
		if (was || failed_alike(endpoint, before, others->all[i]))
]])

mutant(NAME dds-failure-told-again KIND test_dds_channel FILE dds/channel/match.c
	REMOVES "endpoints that did not match, and do not for the same reason, are told so once"
	TEXT [[
	return was != WHORL_DDS_POLICY_INVALID && was == fails && wh_dds_partitions_meet(before, others);
]]
	REPLACEMENT [[
	return was != WHORL_DDS_POLICY_INVALID && was == fails && before == others;
]])

mutant(NAME dds-change-unreplayed KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "a match that comes of a change brings the history of that writer"
	TEXT [[
		if (pair.reader->local && wh_dds_matches(pair.writer, pair.reader))
]]
	REPLACEMENT [[
		if (pair.reader->local && wh_dds_matches(pair.writer, pair.reader) && channel->dead > 1000)
]])

mutant(NAME dds-change-unweighed KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "a strength that changes changes owners"
	TEXT [[
	wh_dds_weigh_claims(channel, endpoint);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-unmatch-unfelt KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "a reader that loses a writer is told which instances have none any more"
	TEXT [[
	if (why == WHORL_DDS_RETCODE_OK)
		wh_dds_tell_last_writers(channel, event.writer, event.reader);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-death-disposes KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "a writer that has died disposes of nothing"
	TEXT [[
	while (!died && writer->policies.autodispose && writer->claims != NULL) {
]]
	REPLACEMENT [[
	(void)died;
	while (writer->policies.autodispose && writer->claims != NULL) {
]])

mutant(NAME dds-local-outlives KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "what a TRANSIENT_LOCAL writer has written goes with it"
	TEXT [[
		if (endpoint->policies.durability < WHORL_DDS_DURABILITY_TRANSIENT)
]]
	REPLACEMENT [[
		if (endpoint->policies.durability < WHORL_DDS_DURABILITY_TRANSIENT_LOCAL)
]])

# ---- instances and owners ----

mutant(NAME dds-owner-weakest KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "the stronger writer owns an instance"
	TEXT [[
		return one->writer->policies.strength > other->writer->policies.strength;
]]
	REPLACEMENT [[
		return one->writer->policies.strength < other->writer->policies.strength;
]])

mutant(NAME dds-owner-higher KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "of equal writers the lower id owns"
	TEXT [[
	return wh_dds_id_compare(&one->writer->id, &other->writer->id) < 0;
}

static void rank_claim
]]
	REPLACEMENT [[
	return wh_dds_id_compare(&one->writer->id, &other->writer->id) > 0;
}

static void rank_claim
]])

mutant(NAME dds-late-owns KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "a writer that is late owns nothing"
	TEXT [[
	if (one->late != other->late)
		return other->late;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-late-for-good KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "a writer that was late is not, with its next sample"
	TEXT [[
	claim->late = false;
	if (weighs)
]]
	REPLACEMENT [[
	if (weighs)
]])

mutant(NAME dds-owner-of-all KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "the owner is one that the reader matches"
	TEXT [[
		if (claim->writer != writer && wh_dds_matches(reader, claim->writer))
]]
	REPLACEMENT [[
		if (claim->writer != writer && reader != NULL && wh_dds_is_exclusive(claim->writer))
]])

mutant(NAME dds-others-told KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "a reader is told of the owner's samples alone"
	TEXT [[
	if (!wh_dds_is_exclusive(writer))
		return true;
	for (const struct wh_dds_claim *claim = instance->claims; claim != NULL && is_better(claim, &writes);
]]
	REPLACEMENT [[
	if (!wh_dds_is_exclusive(writer))
		return true;
	for (const struct wh_dds_claim *claim = instance->claims; claim != NULL && claim->number > 1000 && is_better(claim, &writes);
]])

mutant(NAME dds-others-count KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "what is written by another than the owner is not kept, and changes no state"
	TEXT [[
	bool matters = counts(instance, writer), behind
]]
	REPLACEMENT [[
	bool matters = counts(instance, writer) || sample->number > 0, behind
]])

mutant(NAME dds-behind-told KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "by source time what is older than the newest is told to nobody that goes by it"
	TEXT [[
		if ((behind && wh_dds_by_source(reader)) || !owns_for(instance, writer, reader))
]]
	REPLACEMENT [[
		(void)behind;
		if (!owns_for(instance, writer, reader))
]])

mutant(NAME dds-recent-of-any-key KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "a sample is of the instance that its key says, whichever its writer wrote last"
	TEXT [[
	return claim != NULL && memcmp(claim->instance->key, sample->key, WH_DDS_KEY_BYTES) == 0 ? claim : NULL;
]]
	REPLACEMENT [[
	return claim != NULL && sample->number > 0 ? claim : NULL;
]])

mutant(NAME dds-recent-of-any-writer KIND test_dds_channel_random FILE dds/channel/channel.c
	REMOVES "a sample is of the writer that its sender and its head say, whichever the last one was of"
	TEXT [[
	if (writer == NULL || wh_dds_id_compare(&writer->id, &id) != 0)
		writer = wh_dds_writer_of
]]
	REPLACEMENT [[
	if (writer == NULL)
		writer = wh_dds_writer_of
]])

mutant(NAME dds-local-stays KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "a reader that does not match any more is told nothing"
	TEXT [[
	wh_dds_endpoints_remove(&event.writer->locals, event.reader);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-ask-behind-told KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "readers are asked for the samples that they would be told of"
	TEXT [[
		return (sample->change & WH_DDS_DISPOSE) != 0 || writer->policies.autodispose;
]]
	REPLACEMENT [[
		return (sample->change & WH_DDS_DISPOSE) != 0 && writer->claims != NULL;
]])

mutant(NAME dds-ask-set KIND test_dds_channel_random FILE dds/channel/set.c
	REMOVES "readers are asked for a coherent set where it ends"
	TEXT [[
	for (uint32_t i = 0; set != NULL && i < set->count; i++)
		if (!wh_dds_ask_later
]]
	REPLACEMENT [[
	for (uint32_t i = 1; set != NULL && i < set->count; i++)
		if (!wh_dds_ask_later
]])

mutant(NAME dds-tie-unbroken KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "of equal source times the higher id is the newer"
	TEXT [[
	return sample->source_ns < instance->newest_ns ||
]]
	REPLACEMENT [[
	return sample->source_ns < instance->newest_ns || sample->number == 0 ||
]]
	TEXT_2 [[
	       (sample->source_ns == instance->newest_ns && wh_dds_id_compare(&writer->id, &instance->newest) < 0);
]]
	REPLACEMENT_2 [[
	       (sample->source_ns == instance->newest_ns && wh_dds_id_compare(&writer->id, &instance->newest) > 0);
]])

mutant(NAME dds-generations-still KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "an instance that is written after it was disposed of is of another generation"
	TEXT [[
		instance->disposed_generations += instance->state == WH_DDS_DISPOSED;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-no-writers-untold KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "an instance without writers is in another state"
	TEXT [[
			instance->state = WH_DDS_NO_WRITERS;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-last-of-all KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "a reader is told when the last writer that it matches has left an instance"
	TEXT [[
		if (!wh_dds_has_writer(instance, reader))
			tell_last_writer(channel, instance, writer, reader);
	}
	wh_dds_instance_settle
]]
	REPLACEMENT [[
		if (instance->claims == NULL)
			tell_last_writer(channel, instance, writer, reader);
	}
	wh_dds_instance_settle
]])

mutant(NAME dds-unregister-keeps KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "with autodispose what is unregistered is disposed of"
	TEXT [[
	if (leaves && writer->policies.autodispose)
]]
	REPLACEMENT [[
	if (leaves && writer->policies.autodispose && sample->number == 0)
]])

mutant(NAME dds-instances-for-good KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "an instance that nothing holds is forgotten"
	TEXT [[
	if (instance->entries == NULL)
		remove_instance(channel, instance);
]]
	REPLACEMENT [[
	if (instance->entries == NULL && instance->disposed_generations > 0)
		remove_instance(channel, instance);
]])

# ---- history ----

mutant(NAME dds-volatile-kept KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "what a VOLATILE writer writes is not kept"
	TEXT [[
	    writer->policies.durability == WHORL_DDS_DURABILITY_VOLATILE)
		return false;
]]
	REPLACEMENT [[
	    writer->policies.durability > WHORL_DDS_DURABILITY_PERSISTENT)
		return false;
]])

mutant(NAME dds-depth-unheld KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "of an instance the last samples are kept, as many as the depth says"
	TEXT [[
	if (terms->history.kind == WHORL_DDS_HISTORY_KEEP_LAST && exceeds(instance->kept, terms->history.depth))
]]
	REPLACEMENT [[
	if (terms->history.kind == WHORL_DDS_HISTORY_KEEP_LAST && exceeds(instance->kept, 100))
]])

mutant(NAME dds-each-unheld KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "an instance has no more samples in the history than its limit"
	TEXT [[
	if (exceeds(instance->kept, terms->limits.samples_per_instance)) {
]]
	REPLACEMENT [[
	if (exceeds(instance->kept, 100)) {
]])

mutant(NAME dds-samples-unheld KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "a topic has no more samples in the history than its limit"
	TEXT [[
	if (exceeds(topic->kept, terms->limits.samples)) {
]]
	REPLACEMENT [[
	if (exceeds(topic->kept, 100)) {
]])

mutant(NAME dds-instances-unheld KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "a topic has no more instances in the history than its limit"
	TEXT [[
	    exceeds((uint64_t)instance->topic->kept_instances + 1, instance->topic->terms.limits.instances)) {
]]
	REPLACEMENT [[
	    exceeds((uint64_t)instance->topic->kept_instances + 1, 100)) {
]])

mutant(NAME dds-newest-pushed-out KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "what was behind by source time is pushed out first"
	TEXT [[
	while (!has_sample(entry) || (instance->kept_behind > 0 && !entry->behind))
]]
	REPLACEMENT [[
	while (!has_sample(entry))
]])

mutant(NAME dds-marks-lead KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "a disposal at the beginning of what is kept of an instance goes"
	TEXT [[
	while (instance->entries != NULL && !has_sample(instance->entries))
]]
	REPLACEMENT [[
	while (instance->entries != NULL && !has_sample(instance->entries) && instance->kept == 0)
]])

mutant(NAME dds-mark-alone-told KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "a disposal is told to a late reader behind a sample of that instance alone"
	TEXT [[
	    (!has_sample(entry) && entry->instance->replayed != reader->order))
]]
	REPLACEMENT [[
	    (!has_sample(entry) && entry->instance->replayed > reader->order))
]])

mutant(NAME dds-history-of-all KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "of writers that have ended a late reader gets what it would have matched"
	TEXT [[
	return entry->writer->ended ? wh_dds_fits(entry->writer, reader) : wh_dds_matches(reader, entry->writer);
]]
	REPLACEMENT [[
	return entry->writer->ended || wh_dds_matches(reader, entry->writer);
]])

mutant(NAME dds-history-to-volatile KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "a VOLATILE reader gets no history"
	TEXT [[
	if (reader->policies.durability == WHORL_DDS_DURABILITY_VOLATILE)
		return 0;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-left-untold KIND test_dds_channel_random FILE dds/channel/history.c
	REMOVES "a late reader is told which instances of the history have no writer any more"
	TEXT [[
		if (instance->replayed == reader->order && !wh_dds_has_writer(instance, reader))
]]
	REPLACEMENT [[
		if (instance->replayed == reader->order && !wh_dds_has_writer(instance, reader) && channel->dead > 1000)
]])

mutant(NAME dds-disposed-kept KIND test_dds_channel_random FILE dds/channel/instance.c
	REMOVES "what is disposed of and left is cleaned up, if it is not to wait"
	TEXT [[
	if (instance->state == WH_DDS_DISPOSED && instance->topic->terms.cleanup_ns == 0)
]]
	REPLACEMENT [[
	if (instance->state == WH_DDS_DISPOSED && instance->topic->terms.cleanup_ns < 0)
]])

mutant(NAME dds-state-shared KIND test_dds_channel FILE dds/base/bytes.c
	REMOVES "a state holds the samples that it has"
	TEXT [[
	out->insets[out->inset_count++] = (struct wh_dds_inset){out->count, wh_dds_block_hold(block)};
]]
	REPLACEMENT [[
	out->insets[out->inset_count++] = (struct wh_dds_inset){out->count, wh_dds_block_new("", 0)};
]])

# ---- coherent sets ----

mutant(NAME dds-set-at-once KIND test_dds_channel_random FILE dds/channel/channel.c
	REMOVES "a sample of a coherent set waits for the end of the set"
	TEXT [[
	set = channel->sets != NULL ? wh_dds_set_of(channel, writer) : NULL;
]]
	REPLACEMENT [[
	set = channel->sets != NULL && writer->samples > 1000 ? wh_dds_set_of(channel, writer) : NULL;
]])

mutant(NAME dds-set-survives KIND test_dds_channel_random FILE dds/channel/channel.c
	REMOVES "a set of a member that is gone is dropped"
	TEXT [[
	wh_dds_set_forget_member(channel, member->node, member->incarnation);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-set-of-the-deleted KIND test_dds_channel_random FILE dds/channel/set.c
	REMOVES "a writer that is deleted in a GROUP set takes all of it along"
	TEXT [[
	if (writer->policies.presentation.scope == WHORL_DDS_PRESENTATION_GROUP)
		break_set(channel, set);
]]
	REPLACEMENT [[
	(void)break_set;
]])

mutant(NAME dds-set-place KIND test_dds_channel_random FILE dds/channel/set.c
	REMOVES "samples of a set take effect where it ends"
	TEXT [[
		set->items[i].sample.place = channel->place;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-set-unlimited KIND test_dds_channel FILE dds/channel/set.c
	REMOVES "a set has a limit of samples"
	TEXT [[
	if (!set->broken && (set->count == WH_DDS_SET_SAMPLES_MAX || set->bytes + sample->count > WH_DDS_SET_BYTES_MAX))
]]
	REPLACEMENT [[
	if (!set->broken && set->bytes + sample->count > WH_DDS_SET_BYTES_MAX)
]])

mutant(NAME dds-set-bytes-unlimited KIND test_dds_channel FILE dds/channel/set.c
	REMOVES "a set has a limit of bytes"
	TEXT [[
	if (!set->broken && (set->count == WH_DDS_SET_SAMPLES_MAX || set->bytes + sample->count > WH_DDS_SET_BYTES_MAX))
]]
	REPLACEMENT [[
	if (!set->broken && set->count == WH_DDS_SET_SAMPLES_MAX)
]])

mutant(NAME dds-set-of-none KIND test_dds_channel_random FILE dds/channel/set.c
	REMOVES "a set begins for a publisher that has a coherent writer"
	TEXT [[
	if (find(channel, &publisher) != NULL || !has_coherent_writer(channel, &publisher))
]]
	REPLACEMENT [[
	(void)has_coherent_writer;
	if (find(channel, &publisher) != NULL)
]])

# ---- time ----

mutant(NAME dds-word-of-anybody KIND test_dds_channel_random FILE dds/channel/due.c
	REMOVES "of time the lowest rank alone is believed"
	TEXT [[
	if (!is_lowest(channel, from->node, from->incarnation))
		return wh_dds_void(channel);
]]
	REPLACEMENT [[
	if (from->node > 1000)
		return wh_dds_void(channel);
]])

mutant(NAME dds-lease-crossed KIND test_dds_channel_random FILE dds/channel/due.c
	REMOVES "a word of a lease that has crossed its writer's is void"
	TEXT [[
	if (writer == NULL || !is_manual(writer) || !writer->alive || activity_of(channel, writer) != word->seen)
]]
	REPLACEMENT [[
	if (writer == NULL || !is_manual(writer) || !writer->alive)
]])

mutant(NAME dds-deadline-crossed KIND test_dds_channel FILE dds/channel/due.c
	REMOVES "a word of a deadline that has crossed a sample is void"
	TEXT [[
	if (claim == NULL || claim->late || claim->number != word->seen || !wh_dds_is_exclusive(writer))
]]
	REPLACEMENT [[
	if (claim == NULL || claim->late || !wh_dds_is_exclusive(writer))
]])

mutant(NAME dds-lost-keeps KIND test_dds_channel_random FILE dds/channel/due.c
	REMOVES "a writer that has lost its liveliness has no instances"
	TEXT [[
	wh_dds_drop_claims(channel, writer);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-lost-for-good KIND test_dds_channel_random FILE dds/channel/due.c
	REMOVES "a writer that is heard again is alive again"
	TEXT [[
	writer->activity++;
	writer->heard_ns = channel->now_ns;
	revive(channel, writer);
]]
	REPLACEMENT [[
	writer->activity++;
	writer->heard_ns = channel->now_ns;
]])

mutant(NAME dds-participant-unheard KIND test_dds_channel_random FILE dds/channel/due.c
	REMOVES "one writer of a participant speaks for all that are manual by participant"
	TEXT [[
	for (uint32_t i = 0; channel->dead > 0 && i < channel->endpoints.count; i++) {
]]
	REPLACEMENT [[
	for (uint32_t i = 0; channel->dead > 1000 && i < channel->endpoints.count; i++) {
]])

mutant(NAME dds-anybody-speaks KIND test_dds_channel_random FILE dds/channel/due.c
	REMOVES "the lowest rank alone has to say what has run out"
	TEXT [[
	if (!is_lowest(channel, channel->config.node, channel->config.incarnation))
		return 0;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-said-again-at-once KIND test_dds_channel FILE dds/channel/due.c
	REMOVES "what was said a moment ago is not said again"
	TEXT [[
	if (*told_ns != 0 && *told == seen && *told_ns + AGAIN_NS > end_ns)
		end_ns = *told_ns + AGAIN_NS;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-clean-crossed KIND test_dds_channel FILE dds/channel/due.c
	REMOVES "an instance that has a writer is not cleaned up"
	TEXT [[
	if (instance == NULL || instance->claims != NULL || instance->state != WH_DDS_DISPOSED ||
	    instance->changes != word->seen)
]]
	REPLACEMENT [[
	if (instance == NULL)
]])

mutant(NAME dds-look-owner KIND test_dds_channel FILE dds/channel/instance.c
	REMOVES "an owner that has changed is looked at at once: it may be late for long"
	TEXT [[
	channel->look_ns = INT64_MIN; /* it may be late for long */
]]
	REPLACEMENT [[
]])

mutant(NAME dds-look-revived KIND test_dds_channel FILE dds/channel/due.c
	REMOVES "the lease of a writer that is alive again runs"
	TEXT [[
	wh_dds_look_after(channel, writer->policies.liveliness.lease_ns);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-look-disposed KIND test_dds_channel FILE dds/channel/instance.c
	REMOVES "what begins to wait to be cleaned up is looked at in time"
	TEXT [[
		wh_dds_look_after(channel, instance->topic->terms.cleanup_ns);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-look-new KIND test_dds_channel_random FILE dds/channel/match.c
	REMOVES "the lease of a new writer is looked at in time"
	TEXT [[
	wh_dds_look_after(channel, endpoint->policies.liveliness.lease_ns);
]]
	REPLACEMENT [[
]])

# ---- states ----

mutant(NAME dds-state-claims KIND test_dds_channel_random FILE dds/channel/state.c
	REMOVES "a newcomer has the claims of a writer in the order in which they were made"
	TEXT [[
		take_claim_order(&in, channel, channel->endpoints.all[i]);
]]
	REPLACEMENT [[
		{
			struct wh_dds_claim *was = channel->endpoints.all[i]->claims, *was_end = channel->endpoints.all[i]->claims_end;
			struct wh_dds_in before = in;

			(void)was;
			(void)was_end;
			in.at += 4 + 16 * (size_t)wh_dds_take(&before, 4);
			in.left -= (size_t)(in.at - (before.at - 4));
			(void)take_claim_order;
		}
]])

mutant(NAME dds-state-matches KIND test_dds_channel_random FILE dds/channel/state.c
	REMOVES "a newcomer has the matches that follow from the policies"
	TEXT [[
			if (wh_dds_fits(writer, reader) && !wh_dds_link_match(writer, reader)) {
]]
	REPLACEMENT [[
			if (wh_dds_fits(writer, reader) && in->left == 0 && !wh_dds_link_match(writer, reader)) {
]])

mutant(NAME dds-state-late KIND test_dds_channel_random FILE dds/channel/state.c
	REMOVES "a newcomer knows which writers are late"
	TEXT [[
		wh_dds_put_number(out, claim->late, 1);
]]
	REPLACEMENT [[
		wh_dds_put_number(out, 0, 1);
]])

mutant(NAME dds-state-twice KIND test_dds_channel FILE dds/channel/state.c
	REMOVES "a state that says one writer's claim twice is none"
	TEXT [[
		if (claim == NULL || claim->told != 0) { /* twice */
]]
	REPLACEMENT [[
		if (claim == NULL) {
]])

# ---- the registry ----

mutant(NAME dds-registry-last KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "the first of a name fixes what the topic is"
	TEXT [[
	if (event->differs != WH_DDS_NOTHING)
		event->result = WHORL_DDS_RETCODE_PRECONDITION_NOT_MET;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-registry-channel KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "a topic is in one channel"
	TEXT [[
	if (strcmp(registration->channel, WH_DDS_ANY_CHANNEL) != 0 &&
]]
	REPLACEMENT [[
	if (strcmp(registration->channel, WH_DDS_ANY_CHANNEL) == 0 &&
]])

mutant(NAME dds-registry-kept KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "all that use a topic say alike how much is kept"
	TEXT [[
	return wh_dds_terms_equal(&is, &said) ? WH_DDS_NOTHING : WH_DDS_KEPT;
]]
	REPLACEMENT [[
	return WH_DDS_NOTHING;
]])

mutant(NAME dds-registry-stays KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "a topic goes with its last use"
	TEXT [[
	return topic->policies.durability >= WHORL_DDS_DURABILITY_TRANSIENT &&
	       is_channel_used(registry, topic->channel);
]]
	REPLACEMENT [[
	return is_channel_used(registry, topic->channel);
]])

mutant(NAME dds-registry-transient KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "a TRANSIENT topic stays while its channel is used"
	TEXT [[
	return topic->policies.durability >= WHORL_DDS_DURABILITY_TRANSIENT &&
	       is_channel_used(registry, topic->channel);
]]
	REPLACEMENT [[
	return topic->policies.durability >= WHORL_DDS_DURABILITY_TRANSIENT && is_channel_used(registry, topic->channel) &&
	       registry->topic_count > 1000;
]])

mutant(NAME dds-registry-logged KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "a logged topic stays when nobody uses it: what was written is on disk"
	TEXT [[
	if (topic->use_count > 0 || wh_dds_consistency(&topic->policies) == WHORL_DDS_CONSISTENCY_LOGGED)
]]
	REPLACEMENT [[
	if (topic->use_count > 0 || wh_dds_consistency(&topic->policies) > WHORL_DDS_CONSISTENCY_LOGGED)
]])

mutant(NAME dds-registry-numbers KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "no topic has the number of another"
	TEXT [[
		said->id = ++registry->numbers;
]]
	REPLACEMENT [[
		said->id = registry->numbers = registry->topic_count > 0 ? registry->topics[registry->topic_count - 1]->id + 1 : 1;
]])

mutant(NAME dds-registry-dead-use KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "uses of a participant that is gone end"
	TEXT [[
		end_uses(registry, registry->topics[i]);
]]
	REPLACEMENT [[
		if (registry->topic_count > 1000)
			end_uses(registry, registry->topics[i]);
]])

mutant(NAME dds-registry-strangers-drop KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "a participant drops its own uses alone"
	TEXT [[
	struct wh_dds_use *use = topic != NULL ? find_use(topic, from->node, from->incarnation) : NULL;

	if (use == NULL)
]]
	REPLACEMENT [[
	struct wh_dds_use *use = topic != NULL ? &topic->uses[0] : NULL;

	(void)from;
	if (use == NULL)
]])

mutant(NAME dds-registry-order KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "the registry takes messages in their order"
	TEXT [[
	if (!registry->began || from->place.view != registry->view || from->place.sequence < registry->next_sequence)
]]
	REPLACEMENT [[
	if (!registry->began || from->place.view != registry->view)
]])
