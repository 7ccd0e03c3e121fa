# dds_played.cmake - rules of participants (docs/decisions/0052), taken out one at a time; sim-topics must notice. See mutants.cmake.

mutant(NAME topics-view-at-once KIND sim-topics RUNS 250 FILE dds/line_views.c
	REMOVES "a view waits for messages of views before it"
	TEXT [[
	if (line->views == NULL || !is_clear(line))
]]
	REPLACEMENT [[
	if (line->views == NULL)
]])

mutant(NAME topics-view-after-message KIND sim-topics RUNS 250 FILE dds/line_messages.c
	REMOVES "a view holds before the first message of it"
	TEXT [[
	wh_dds_line_apply_views(line, message->view);
]]
	REPLACEMENT [[
	if (message->view > 0)
		wh_dds_line_apply_views(line, message->view - 1);
]])

mutant(NAME topics-views-left KIND sim-topics RUNS 250 FILE dds/line_views.c
	REMOVES "a view that is clear holds without a message"
	TEXT [[
	if (line->views == NULL || !is_clear(line))
]]
	REPLACEMENT [[
	if (line->views == NULL || line->node != NULL)
]])

mutant(NAME topics-full-not-refused KIND sim-topics RUNS 250 FILE dds/deliver.c
	REMOVES "a sample for which a reader has no room is refused"
	TEXT [[
	return full;
}

/* ---- statuses
]]
	REPLACEMENT [[
	return false;
}

/* ---- statuses
]])

mutant(NAME topics-end-is-lost KIND sim-topics RUNS 250 FILE dds/cache/cache.c
	REMOVES "that an instance has ended is kept beyond the limits"
	TEXT [[
	if (*limit != WHORL_DDS_NOT_REJECTED && is_kept_anyway(instance, arrival)) {
]]
	REPLACEMENT [[
	if (*limit != WHORL_DDS_NOT_REJECTED && is_kept_anyway(instance, arrival) && now_ns == 0) {
]])

mutant(NAME topics-end-lost-with-its-data KIND sim-topics SEED 6017152 RUNS 1 FILE dds/cache/cache.c
	REMOVES "a sample that is lost ends its instance all the same"
	TEXT [[
		if (keep_end(cache, instance, arrival, now_ns))
]]
	REPLACEMENT [[
		if (limit == WHORL_DDS_NOT_REJECTED && keep_end(cache, instance, arrival, now_ns))
]])

mutant(NAME topics-end-unsaid KIND sim-topics RUNS 250 FILE dds/endpoint.c
	REMOVES "the end of a writer is said"
	TEXT [[
	say_end(end);
]]
	REPLACEMENT [[
	if (end->base.entity.kind == WH_DDS_READER)
		say_end(end);
]])

mutant(NAME topics-unmatch-untold KIND sim-topics RUNS 250 FILE dds/deliver.c
	REMOVES "a reader is told of a writer's end"
	TEXT [[
	case WH_DDS_UNMATCH:
		change_matched(event, event->what == WH_DDS_MATCH ? 1 : -1);
]]
	REPLACEMENT [[
		change_matched(event, 1);
		break;
	case WH_DDS_UNMATCH:
]])

mutant(NAME topics-key-unkept KIND sim-topics RUNS 250 FILE dds/deliver.c
	REMOVES "the end of an instance has its key"
	TEXT [[
		wh_dds_type_from_key(type, sample->key, copy->data);
	else if (known != NULL)
]]
	REPLACEMENT [[
		(void)known;
	else if (known != NULL)
]])

mutant(NAME topics-verdict-behind-matches KIND sim-topics RUNS 250 FILE dds/channel/match.c
	REMOVES "the verdict is told before the matches"
	TEXT [[
	if (endpoint->local)
		wh_dds_tell_event(channel, &(struct wh_dds_event){.what = WH_DDS_VERDICT,
								  .endpoint = endpoint,
								  .id = endpoint->id,
								  .kind = endpoint->kind});
	tell_watcher(channel, WH_DDS_COMES, endpoint);
	for (uint32_t i = 0; i < others->count; i++)
		if (!try_match(channel, endpoint, others->all[i]))
			return false;
]]
	REPLACEMENT [[
	tell_watcher(channel, WH_DDS_COMES, endpoint);
	for (uint32_t i = 0; i < others->count; i++)
		if (!try_match(channel, endpoint, others->all[i]))
			return false;
	if (endpoint->local)
		wh_dds_tell_event(channel, &(struct wh_dds_event){.what = WH_DDS_VERDICT,
								  .endpoint = endpoint,
								  .id = endpoint->id,
								  .kind = endpoint->kind});
]])

mutant(NAME topics-history-before-matches KIND sim-topics RUNS 250 FILE dds/channel/match.c
	REMOVES "the history is told behind the matches"
	TEXT [[
	for (uint32_t i = 0; i < others->count; i++)
		if (!try_match(channel, endpoint, others->all[i]))
			return false;
	if (endpoint->kind == WH_DDS_READER && endpoint->local) {
		uint64_t count = wh_dds_replay(channel, endpoint, NULL);
]]
	REPLACEMENT [[
	uint64_t told = endpoint->kind == WH_DDS_READER && endpoint->local ? wh_dds_replay(channel, endpoint, NULL) : 0;

	for (uint32_t i = 0; i < others->count; i++)
		if (!try_match(channel, endpoint, others->all[i]))
			return false;
	if (endpoint->kind == WH_DDS_READER && endpoint->local) {
		uint64_t count = told;
]])

mutant(NAME topics-history-not-given KIND sim-topics RUNS 250 FILE dds/channel/state.c
	REMOVES "a newcomer is given all of the history"
	TEXT [[
	for (const struct wh_dds_entry *it = topic->entries; it != NULL; it = it->next)
		count++;
	wh_dds_put_number(out, count, 8);
	for (const struct wh_dds_entry *it = topic->entries; it != NULL; it = it->next) {
]]
	REPLACEMENT [[
	for (const struct wh_dds_entry *it = topic->entries; it != NULL; it = it->next)
		count++;
	count -= count > 1;
	wh_dds_put_number(out, count, 8);
	for (const struct wh_dds_entry *it = topic->entries; it != NULL && count-- > 0; it = it->next) {
]])

mutant(NAME dds-leaves-full KIND test_dds_slow FILE dds/reader.c
	REMOVES "a reader that is deleted refuses nothing any more"
	TEXT [[
	reader->leaves = true;
]]
	REPLACEMENT [[
	reader->leaves = false;
]])

mutant(NAME dds-leaves-unoffered KIND test_dds_slow FILE dds/reader.c
	REMOVES "what a reader that is deleted has refused is offered again"
	TEXT [[
	reader->leaves = true;
	refused = reader->refused;
]]
	REPLACEMENT [[
	reader->leaves = true;
	refused = false;
]])

mutant(NAME dds-end-not-asked KIND test_dds_slow FILE dds/deliver.c
	REMOVES "the end of a writer is refused by a reader that has no room for what it disposes of"
	TEXT [[
 .one = kind == WH_DDS_SAY_SET || kind == WH_DDS_SAY_END,
]]
	REPLACEMENT [[
 .one = kind == WH_DDS_SAY_SET,
]])

mutant(NAME dds-ask-end KIND test_dds_channel_random FILE dds/channel/channel.c
	REMOVES "readers are asked for what a writer disposes of when it ends"
	TEXT [[
		roomy = ask_end(channel, &question, endpoint, &from->place);
]]
	REPLACEMENT [[
		roomy = endpoint->kind == WH_DDS_WRITER || ask_end(channel, &question, endpoint, &from->place);
]])

mutant(NAME topics-expired-read KIND sim-topics RUNS 250 FILE dds/reader.c
	REMOVES "what is over is not read"
	TEXT [[
	if (wh_dds_cache_due(reader->cache) != WH_DDS_NEVER)
		*refused = pass_time(reader, wh_dds_clock());
]]
	REPLACEMENT [[
]])

mutant(NAME dds-expired-not-offered KIND test_dds_slow FILE dds/reader.c
	REMOVES "where what is over leaves room, what was refused is offered again"
	TEXT [[
	reader->refused = false;
	return refused;
]]
	REPLACEMENT [[
	return refused && now_ns == 0;
]])

mutant(NAME dds-end-expires KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "that an instance has ended has no lifespan"
	TEXT [[
	add(cache, instance, sample, sample->has_data ? expires_ns : WH_DDS_NEVER);
]]
	REPLACEMENT [[
	add(cache, instance, sample, expires_ns);
]])

mutant(NAME topics-lost-keeps KIND sim-topics RUNS 250 FILE dds/channel/due.c
	REMOVES "a writer that has lost its liveliness has no instances"
	TEXT [[
	wh_dds_drop_claims(channel, writer);
	tell_liveliness(channel, writer);
]]
	REPLACEMENT [[
	tell_liveliness(channel, writer);
]])

mutant(NAME topics-partition-unfelt KIND sim-topics RUNS 250 FILE dds/channel/match.c
	REMOVES "endpoints that have no partition in common any more are parted"
	TEXT [[
		if (was ? wh_dds_fits(pair.writer, pair.reader) : failed_alike(endpoint, before, others->all[i]))
]]
	REPLACEMENT [[
		if (was || failed_alike(endpoint, before, others->all[i]))
]])

mutant(NAME topics-deadline-uncounted KIND sim-topics RUNS 250 FILE dds/cache/time.c
	REMOVES "a deadline is missed as often as it passes"
	TEXT [[
		uint64_t times = 1 + (now_ns - due_ns) / cache->deadline_ns;
]]
	REPLACEMENT [[
		uint64_t times = 1 + (now_ns - due_ns) / cache->deadline_ns + (instance->life == WH_DDS_IS_ALIVE) * 100;
]])

mutant(NAME dds-entity-not-left KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "what is deleted lets go of what it holds up, before any of its tree is closed"
	TEXT [[
		bool leaves = !at->making && !at->left && at->ops->leave != NULL;
]]
	REPLACEMENT [[
		bool leaves = !at->making && !at->left && at->ops->leave != NULL && root->parent == NULL && root->first == NULL;
]])

mutant(NAME topics-loans-end-in-listener KIND sim-topics RUNS 2 SEED 110 FILE dds/reader.c
	REMOVES "what a listener on another thread was lent is there until it has returned"
	TEXT [[
	wh_dds_listener_await(&reader->end.base);
	pthread_mutex_lock(&reader->end.base.lock);
	cache = reader->cache;
]]
	REPLACEMENT [[
	pthread_mutex_lock(&reader->end.base.lock);
	cache = reader->cache;
]])

# ---- what one seed of three has beside the rest ----

mutant(NAME topics-loose-dead-over-at-once KIND sim-topics RUNS 250 FILE dds/stream.c
	REMOVES "a writer that was deleted or has died ends behind the last of its samples"
	TEXT [[
			return is_silent(reader->end.stream, &writer->id);
]]
	REPLACEMENT [[
			return reader->end.stream != NULL;
]])

mutant(NAME topics-loose-behind-refused KIND sim-topics RUNS 250 FILE dds/stream.c
	REMOVES "nothing of a stream is taken behind what was refused"
	TEXT [[
	while (taken < count && hear_message(stream, WHORL_AT(whorl_message, messages, taken)))
		taken++;
]]
	REPLACEMENT [[
	while (taken < count) {
		(void)hear_message(stream, WHORL_AT(whorl_message, messages, taken));
		taken++;
	}
]])

mutant(NAME topics-group-one-writer KIND sim-topics RUNS 250 FILE dds/channel/set.c
	REMOVES "a set is that of all writers of its publisher"
	TEXT [[
			ok = wh_dds_take_effect(channel, set->items[i].writer, &set->items[i].sample);
]]
	REPLACEMENT [[
			ok = set->items[i].writer != set->items[0].writer ||
			     wh_dds_take_effect(channel, set->items[i].writer, &set->items[i].sample);
]])

mutant(NAME topics-group-two-places KIND sim-topics RUNS 250 FILE dds/channel/set.c
	REMOVES "a set has one place, whichever topics it is of"
	TEXT [[
			set->items[i].sample.place = channel->place;
]]
	REPLACEMENT [[
			if (set->items[i].writer == set->items[0].writer)
				set->items[i].sample.place = channel->place;
]])

mutant(NAME topics-group-unordered KIND sim-topics RUNS 250 FILE dds/cache/cache.c
	REMOVES "a reader of a GROUP that is ordered has all instances in one order"
	TEXT [[
			 policies->presentation.scope != WHORL_DDS_PRESENTATION_INSTANCE;
]]
	REPLACEMENT [[
			 policies->presentation.scope == WHORL_DDS_PRESENTATION_TOPIC;
]])

mutant(NAME topics-group-not-broken KIND sim-topics RUNS 250 FILE dds/channel/set.c
	REMOVES "a writer that is deleted in a GROUP set takes all of it along, whichever topics it is of"
	TEXT [[
	if (writer->policies.presentation.scope == WHORL_DDS_PRESENTATION_GROUP)
		break_set(channel, set);
]]
	REPLACEMENT [[
]])

mutant(NAME topics-source-late KIND sim-topics RUNS 250 FILE dds/channel/history.c
	REMOVES "a late reader by source time is told nothing that was older than the newest"
	TEXT [[
	if ((entry->behind && wh_dds_by_source(reader)) ||
	    (!has_sample(entry)
]]
	REPLACEMENT [[
	if ((!has_sample(entry)
]])

mutant(NAME topics-source-forgotten KIND sim-topics SEED 1001 RUNS 250 FILE dds/channel/state.c
	REMOVES "a newcomer is told the newest source time of each instance"
	TEXT [[
	instance->newest_ns = (int64_t)wh_dds_take(in, 8);
]]
	REPLACEMENT [[
	instance->newest_ns = 0 * (int64_t)wh_dds_take(in, 8);
]])

mutant(NAME topics-source-time-unsaid KIND sim-topics RUNS 250 FILE dds/writer.c
	REMOVES "a sample has the source time that its writer says"
	TEXT [[
	writing->time = options->has_time ? options->timestamp : whorl_dds_now();
]]
	REPLACEMENT [[
	writing->time = whorl_dds_now();
]])

mutant(NAME topics-filter-keeps-the-first KIND sim-topics RUNS 250 FILE dds/cache/cache.c
	REMOVES "of what comes too early the newest is held back"
	TEXT [[
	if (instance->withheld != NULL)
		wh_dds_copy_drop(instance->withheld);
	instance->withheld = arrival->copy;
]]
	REPLACEMENT [[
	if (instance->withheld != NULL) {
		wh_dds_copy_drop(arrival->copy);
		return;
	}
	instance->withheld = arrival->copy;
]])

mutant(NAME topics-filter-again-at-once KIND sim-topics RUNS 250 FILE dds/cache/cache.c
	REMOVES "the time of a filter begins again with what it had held back"
	TEXT [[
	insert(cache, instance, sample, WH_DDS_DOES_DATA, instance->withheld_expires_ns, now_ns);
	instance->accept_ns = wh_dds_later(now_ns, cache->separation_ns);
]]
	REPLACEMENT [[
	insert(cache, instance, sample, WH_DDS_DOES_DATA, instance->withheld_expires_ns, now_ns);
]])

mutant(NAME topics-in-place-stateless KIND sim-topics RUNS 250 SEED 200 FILE dds/deliver.c
	REMOVES "a reader in place is told that an instance that it knows has no writers"
	TEXT [[
	if (state != NULL)
		*state = info.instance_state;
]]
	REPLACEMENT [[
]])

mutant(NAME topics-in-place-disposed-unseen KIND sim-topics RUNS 250 FILE dds/deliver.c
	REMOVES "a reader in place is told that an instance was disposed of"
	TEXT [[
	return event->sample->state == WH_DDS_DISPOSED ? WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE
						       : WHORL_DDS_ALIVE_INSTANCE_STATE;
]]
	REPLACEMENT [[
	return WHORL_DDS_ALIVE_INSTANCE_STATE;
]])
