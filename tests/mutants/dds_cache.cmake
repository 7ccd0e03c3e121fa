# dds_cache.cmake - what a reader keeps and gives (dds/cache*.c, copy.c, timer.c), which conditions hold, and which listener hears (waitset.c,
# condition.c, listener.c, status.c), taken out one rule at a time. See mutants.cmake.

mutant(NAME dds-cache-reborn-not-new KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an instance that lives again is new"
	TEXT [[
		wh_dds_instance_set(cache, instance, WH_DDS_IS_ALIVE, true);
]]
	REPLACEMENT [[
		wh_dds_instance_set(cache, instance, WH_DDS_IS_ALIVE, instance->is_new);
]])

mutant(NAME dds-cache-generation KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an instance that was disposed of and lives again has one generation more"
	TEXT [[
			instance->disposed_generation++;
]]
	REPLACEMENT [[
			;
]])

mutant(NAME dds-cache-no-writers-generation KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an instance that had no writers and lives again has one generation more"
	TEXT [[
			instance->no_writers_generation++;
]]
	REPLACEMENT [[
			;
]])

mutant(NAME dds-cache-left-over-disposed KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what is disposed of stays so when its last writer has gone"
	TEXT [[
	return (does & WH_DDS_DOES_LEAVE) && instance->life == WH_DDS_IS_ALIVE ? WH_DDS_IS_LEFT : instance->life;
]]
	REPLACEMENT [[
	return does & WH_DDS_DOES_LEAVE ? WH_DDS_IS_LEFT : instance->life;
]])

mutant(NAME dds-cache-depth KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "KEEP_LAST keeps no more than its depth"
	TEXT [[
		while (instance->data_count >= cache->depth)
]]
	REPLACEMENT [[
		while (instance->data_count > cache->depth)
]])

mutant(NAME dds-cache-dataless-pile-up KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "KEEP_LAST has one sample without data of an instance at most"
	TEXT [[
	} else if (instance->dataless != NULL) {
]]
	REPLACEMENT [[
	} else if (instance->dataless != NULL && instance->handle == 0) {
]])

mutant(NAME dds-cache-pushes-out-dataless KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a sample without data takes no place of one with data"
	TEXT [[
	return sample->has_data ? sample : sample->behind[WH_DDS_OF_INSTANCE];
]]
	REPLACEMENT [[
	return sample;
]])

mutant(NAME dds-cache-instances-unlimited KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "there are no more instances than max_instances"
	TEXT [[
	if (instance == NULL && cache->instance_count >= cache->instances_most)
]]
	REPLACEMENT [[
	if (instance == NULL && cache->instance_count > cache->instances_most)
]])

mutant(NAME dds-cache-samples-unlimited KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "there are no more samples than max_samples"
	TEXT [[
	if (cache->held + cache->asked + before >= cache->samples_most)
]]
	REPLACEMENT [[
	if (cache->held + cache->asked + before > cache->samples_most)
]])

mutant(NAME dds-cache-samples-per-instance-unlimited KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an instance has no more samples than max_samples_per_instance"
	TEXT [[
	if (kept + before >= cache->samples_per_instance_most)
]]
	REPLACEMENT [[
	if (kept + before > cache->samples_per_instance_most)
]])

mutant(NAME dds-cache-set-makes-room KIND test_dds_cache_random FILE dds/cache/cache.c
	REMOVES "samples of a set that has not ended make no room for each other"
	TEXT [[
	if (instance != NULL && instance->data_count >= cache->depth && arrival->set == 0)
]]
	REPLACEMENT [[
	if (instance != NULL && instance->data_count >= cache->depth)
]])

mutant(NAME dds-cache-best-effort-waits KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a reader with BEST_EFFORT never refuses for now"
	TEXT [[
	return cache->keeps_all && cache->reliable && limit
]]
	REPLACEMENT [[
	return cache->keeps_all && limit
]])

mutant(NAME dds-cache-waits-for-instances KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an instance too many is rejected, and never waited for"
	TEXT [[
cache->reliable && limit != WHORL_DDS_REJECTED_BY_INSTANCES_LIMIT;
]]
	REPLACEMENT [[
cache->reliable && limit != WHORL_DDS_NOT_REJECTED;
]])

mutant(NAME dds-cache-last-chance KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what cannot be refused any more is lost"
	TEXT [[
	if (waits && !arrival->last_chance)
]]
	REPLACEMENT [[
	if (waits)
]])

mutant(NAME dds-cache-lost-without-end KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "the end of an instance counts, though it has no room"
	TEXT [[
		end_life(cache, instance, arrival->does, now_ns);
		wh_dds_cached_settle(cache, instance);
	}
	return WH_DDS_PUT_REJECTED;
]]
	REPLACEMENT [[
		wh_dds_cached_settle(cache, instance);
	}
	return WH_DDS_PUT_REJECTED;
]])

mutant(NAME dds-cache-nothing-told KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what changes nothing is no sample"
	TEXT [[
	return life_after(instance, arrival->does) != instance->life ? INSERT : IGNORE;
]]
	REPLACEMENT [[
	return INSERT;
]])

mutant(NAME dds-cache-left-unknown KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "of an instance that is not known it is nothing that its writers have gone"
	TEXT [[
		return arrival->does & WH_DDS_DOES_DISPOSE ? INSERT : IGNORE;
]]
	REPLACEMENT [[
		return INSERT;
]])

mutant(NAME dds-cache-expired-comes KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a sample that has expired does not come"
	TEXT [[
	if (arrival->expires_ns <= now_ns)
		return IGNORE;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-cache-unfiltered KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "the content filter keeps out"
	TEXT [[
	if (cache->filter != NULL && !cache->filter
]]
	REPLACEMENT [[
	if (cache->filter != NULL && copy == NULL && !cache->filter
]])

mutant(NAME dds-cache-too-early-comes KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "TIME_BASED_FILTER holds back what comes too early"
	TEXT [[
	    now_ns >= instance->accept_ns || arrival
]]
	REPLACEMENT [[
	    true || arrival
]])

mutant(NAME dds-cache-newborn-too-early KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an instance that lives again is told of at once"
	TEXT [[
	if (arrival->set != 0 || instance == NULL || instance->life != WH_DDS_IS_ALIVE ||
]]
	REPLACEMENT [[
	if (arrival->set != 0 || instance == NULL ||
]])

mutant(NAME dds-cache-too-early-lost KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a RELIABLE reader gets the last sample, though it came too early"
	TEXT [[
	return cache->reliable ? WITHHOLD : IGNORE;
]]
	REPLACEMENT [[
	return IGNORE;
]])

mutant(NAME dds-cache-too-early-kept KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a reader with BEST_EFFORT never gets what came too early"
	TEXT [[
	return cache->reliable ? WITHHOLD : IGNORE;
]]
	REPLACEMENT [[
	return WITHHOLD;
]])

mutant(NAME dds-cache-held-back-for-ever KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what was held back comes when its time has come"
	TEXT [[
		wh_dds_timer_set(&cache->timers, &instance->release, instance->accept_ns);
]]
	REPLACEMENT [[
		;
]])

mutant(NAME dds-cache-held-back-after-the-end KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what was held back comes before the end of its instance"
	TEXT [[
	if (!(does & WH_DDS_DOES_DATA) && instance->withheld_expires_ns > now_ns) {
]]
	REPLACEMENT [[
	if (instance->handle == 0) {
]])

mutant(NAME dds-cache-held-back-behind-newer KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what was held back is nothing any more when something newer has come"
	TEXT [[
	precede(cache, instance, arrival->does, now_ns);
]]
	REPLACEMENT [[
	if (!(arrival->does & WH_DDS_DOES_DATA))
		precede(cache, instance, arrival->does, now_ns);
]])

mutant(NAME dds-cache-held-back-without-room KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what was held back waits for room"
	TEXT [[
	if (limit != WHORL_DDS_NOT_REJECTED && is_waited_for(cache, limit)) {
]]
	REPLACEMENT [[
	if (limit != WHORL_DDS_NOT_REJECTED && is_waited_for(cache, limit) && sample != NULL) {
]])

mutant(NAME dds-cache-end-with-data-lost KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "data that has expired may end its instance"
	TEXT [[
	if (result != WH_DDS_PUT_UNWANTED || !leave_data_out(&end, arrival))
]]
	REPLACEMENT [[
	if (result != WH_DDS_PUT_UNWANTED || !leave_data_out(&end, arrival) || cache != NULL)
]])

mutant(NAME dds-cache-not-asked-of-the-end KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a reader is asked whether it is full for an end whose data has expired, too"
	TEXT [[
	if (verdict == IGNORE && leave_data_out(&end, arrival))
]]
	REPLACEMENT [[
	if (verdict == IGNORE && leave_data_out(&end, arrival) && cache == NULL)
]])

mutant(NAME dds-cache-roomy-when-full KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a reader is not roomy when the next sample may have no room"
	TEXT [[
	most -= cache->held;
]]
	REPLACEMENT [[
	most -= cache->held - (cache->held > 0);
]])

mutant(NAME dds-cache-roomy-for-one KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a reader is not roomy when what it has withheld has no room beside the next sample"
	TEXT [[
		return most >= 2 ? 1 : 0;
]]
	REPLACEMENT [[
		return 1;
]])

mutant(NAME dds-cache-broken-set KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "of a set that is not whole nothing more is kept"
	TEXT [[
		if (set != NULL && set->broken) {
]]
	REPLACEMENT [[
		if (set != NULL && set->broken && cache == NULL) {
]])

mutant(NAME dds-cache-set-never-expires KIND test_dds_cache_random FILE dds/cache/cache.c
	REMOVES "of a set that has ended what has expired does not come"
	TEXT [[
	if (has_expired)
]]
	REPLACEMENT [[
	has_expired = false;
	if (has_expired)
]])

mutant(NAME dds-cache-purge-of-the-living KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an instance that lives again is not purged"
	TEXT [[
		wh_dds_timer_clear(&cache->timers, &instance->purge);
		wh_dds_instance_set
]]
	REPLACEMENT [[
		wh_dds_instance_set
]])

mutant(NAME dds-cache-no-purge KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "READER_DATA_LIFECYCLE purges"
	TEXT [[
	wh_dds_timer_set(&cache->timers, &instance->purge, wh_dds_later(now_ns, cache->purge_ns[life]));
]]
	REPLACEMENT [[
]])

mutant(NAME dds-cache-instance-stays KIND test_dds_cache FILE dds/cache/instance.c
	REMOVES "an instance of which nothing is left to know is freed"
	TEXT [[
	if (is_over && instance->sample_count == 0
]]
	REPLACEMENT [[
	if (is_over && cache->keyed == false && instance->sample_count == 0
]])

mutant(NAME dds-cache-instance-goes-with-writers KIND test_dds_cache FILE dds/cache/instance.c
	REMOVES "an instance that has writers is known, though it is disposed of and has no samples"
	TEXT [[
(instance->writers_gone && instance->life != WH_DDS_IS_ALIVE);
]]
	REPLACEMENT [[
instance->life != WH_DDS_IS_ALIVE;
]])

mutant(NAME dds-cache-states-not-moved KIND test_dds_cache FILE dds/cache/instance.c
	REMOVES "the counts of samples follow the state of their instance"
	TEXT [[
	wh_dds_count_fewer(cache, from, count);
	wh_dds_count_more(cache, to, count);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-cache-next-is-the-same KIND test_dds_cache FILE dds/cache/instance.c
	REMOVES "the next instance is behind the one that is named"
	TEXT [[
		if (at->handle > handle) {
]]
	REPLACEMENT [[
		if (at->handle >= handle && handle != 0) {
]])

mutant(NAME dds-cache-always-new KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "an instance is new once"
	TEXT [[
		if (instance->is_new && !select->peek)
]]
	REPLACEMENT [[
		if (instance->is_new && select->peek)
]])

mutant(NAME dds-cache-peek-reads KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "to peek changes no state"
	TEXT [[
		} else if (!select->peek) {
]]
	REPLACEMENT [[
		} else {
]])

mutant(NAME dds-cache-never-read KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "a sample that was read is read"
	TEXT [[
	sample->read = true;
	instance->unread_count--;
	wh_dds_count_more(cache, wh_dds_combination(instance, true), 1);
	wh_dds_queue_pass(&instance->samples, sample, WH_DDS_OF_INSTANCE);
	if (cache->ordered)
		wh_dds_queue_pass(&cache->samples, sample, WH_DDS_OF_READER);
]]
	REPLACEMENT [[
	wh_dds_count_more(cache, wh_dds_combination(instance, false), 1);
]])

mutant(NAME dds-cache-unread-not-moved KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "where the samples begin that are not read"
	TEXT [[
	wh_dds_queue_pass(&instance->samples, sample, WH_DDS_OF_INSTANCE);
	if (cache->ordered
]]
	REPLACEMENT [[
	if (cache->ordered
]])

mutant(NAME dds-cache-sample-rank KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "the rank of a sample is how many of its instance follow"
	TEXT [[
		.sample_rank = instance->rank++,
]]
	REPLACEMENT [[
		.sample_rank = instance->rank,
]])

mutant(NAME dds-cache-generation-rank KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "the rank of a generation is counted from the newest that is returned"
	TEXT [[
		.generation_rank = instance->newest_generation - generation,
]]
	REPLACEMENT [[
		.generation_rank = generation_of(instance->disposed_generation, instance->no_writers_generation) - generation,
]])

mutant(NAME dds-cache-unordered KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "with PRESENTATION ordered the samples of a topic come in its order"
	TEXT [[
	if (cache->ordered) {
		pick_from
]]
	REPLACEMENT [[
	if (cache->ordered && !cache->keyed) {
		pick_from
]])

mutant(NAME dds-cache-query-wants-all KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "a query condition gives what it wants"
	TEXT [[
	       (pick->query == 0 || (sample->wanted_by & pick->query) != 0);
]]
	REPLACEMENT [[
	       true;
]])

mutant(NAME dds-cache-buffer-overrun KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "a sample is not copied into memory that is too small"
	TEXT [[
	if (select->copy_bytes > 0 && !all_fit(&pick, select->copy_bytes))
]]
	REPLACEMENT [[
	if (select->copy_bytes > 1u << 31 && !all_fit(&pick, select->copy_bytes))
]])

mutant(NAME dds-cache-infos-overrun KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "no more of an info is written than the program has room for"
	TEXT [[
		memcpy((unsigned char *)infos + i * info_bytes, &info, bytes);
]]
	REPLACEMENT [[
		memcpy((unsigned char *)infos + i * info_bytes, &info, bytes > 0 ? sizeof(info) : 0);
]])

mutant(NAME dds-cache-data-still-available KIND test_dds_cache FILE dds/cache/read.c
	REMOVES "DATA_AVAILABLE has not changed any more once samples were read"
	TEXT [[
		cache->statuses->changed &= ~(uint32_t)WHORL_DDS_DATA_AVAILABLE_STATUS;
]]
	REPLACEMENT [[
		;
]])

mutant(NAME dds-cache-loans-free KIND test_dds_cache FILE dds/cache/loan.c
	REMOVES "samples that are taken and lent count against the limits"
	TEXT [[
		loan->taken = true;
		cache->held++;
]]
	REPLACEMENT [[
		loan->taken = false;
]])

mutant(NAME dds-cache-read-not-held KIND test_dds_cache FILE dds/cache/loan.c
	REMOVES "a sample that is lent is held, though the cache loses it"
	TEXT [[
			wh_dds_copy_hold(copy, 1);
]]
	REPLACEMENT [[
			wh_dds_copy_hold(copy, 0);
]])

mutant(NAME dds-cache-one-return-ends-all KIND test_dds_cache FILE dds/cache/loan.c
	REMOVES "a copy that is lent twice comes back twice"
	TEXT [[
		if (--loan->times == 0)
]]
	REPLACEMENT [[
		if (--loan->times < 2)
]])

mutant(NAME dds-cache-end-lost-with-its-data KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "a sample that is lost ends its instance all the same, and that is told"
	TEXT [[
		if (keep_end(cache, instance, arrival, now_ns))
]]
	REPLACEMENT [[
		if (limit == WHORL_DDS_NOT_REJECTED && keep_end(cache, instance, arrival, now_ns))
]])

mutant(NAME dds-cache-ends-pile-up KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "ends beyond the limits are told in one"
	TEXT [[
		verdict = tells_end(instance) ? IGNORE : INSERT;
]]
	REPLACEMENT [[
		verdict = tells_end(instance) && now_ns == 0 ? IGNORE : INSERT;
]])

mutant(NAME dds-cache-ends-of-lost-data-pile-up KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "ends of samples that are lost are told in one"
	TEXT [[
	if (leave_data_out(&end, arrival) && is_kept_anyway(instance, &end) && !tells_end(instance))
]]
	REPLACEMENT [[
	if (leave_data_out(&end, arrival) && is_kept_anyway(instance, &end))
]])

mutant(NAME dds-cache-end-told-by-what-is-read KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what was read tells of no later end"
	TEXT [[
	return last != NULL && !last->has_data && !last->read && instance->withheld == NULL;
]]
	REPLACEMENT [[
	return last != NULL && !last->has_data && instance->withheld == NULL;
]])

mutant(NAME dds-cache-end-told-before-what-is-held-back KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "what is held back is before the end, whatever tells that"
	TEXT [[
	return last != NULL && !last->has_data && !last->read && instance->withheld == NULL;
]]
	REPLACEMENT [[
	return last != NULL && !last->has_data && !last->read;
]])

mutant(NAME dds-cache-half-a-set KIND test_dds_cache FILE dds/cache/set.c
	REMOVES "of a set that is not whole nothing is visible"
	TEXT [[
	if (!whole)
		empty(cache, set);
]]
	REPLACEMENT [[
	(void)whole;
]])

mutant(NAME dds-cache-lost-of-a-set KIND test_dds_cache FILE dds/cache/set.c
	REMOVES "a set of which one sample is lost is not whole"
	TEXT [[
	set->broken = true;
	empty(cache, set);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-cache-deadline-drifts KIND test_dds_cache FILE dds/cache/time.c
	REMOVES "deadlines go on from the last sample"
	TEXT [[
		instance->heard_ns += times * cache->deadline_ns;
]]
	REPLACEMENT [[
		instance->heard_ns = now_ns;
]])

mutant(NAME dds-cache-deadline-of-the-dead KIND test_dds_cache FILE dds/cache/time.c
	REMOVES "an instance that is not alive has no deadline"
	TEXT [[
	if (instance->life != WH_DDS_IS_ALIVE || cache->deadline_ns == WH_DDS_NEVER)
]]
	REPLACEMENT [[
	if (cache->deadline_ns == WH_DDS_NEVER)
]])

mutant(NAME dds-cache-deadline-unmoved KIND test_dds_cache FILE dds/cache/time.c
	REMOVES "a sample moves the deadline of its instance"
	TEXT [[
	uint64_t due_ns = wh_dds_later(instance->heard_ns, cache->deadline_ns);
]]
	REPLACEMENT [[
	uint64_t due_ns = now_ns;
]])

mutant(NAME dds-cache-purge-of-nothing KIND test_dds_cache FILE dds/cache/time.c
	REMOVES "to purge an instance is to remove its samples"
	TEXT [[
	while (instance->samples.first != NULL)
		wh_dds_cache_discard(cache, instance->samples.first);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-cache-deadline-unchanged KIND test_dds_cache FILE dds/cache/time.c
	REMOVES "a DEADLINE that was changed counts from then on"
	TEXT [[
	instance->heard_ns = now_ns;
	instance->accept_ns
]]
	REPLACEMENT [[
	instance->accept_ns
]])

mutant(NAME dds-cache-query-of-what-was-there KIND test_dds_cache FILE dds/cache/query.c
	REMOVES "a query is put to what is in the cache already"
	TEXT [[
			wh_dds_query_ask(query, sample);
]]
	REPLACEMENT [[
			(void)sample;
]])

mutant(NAME dds-cache-query-of-dataless KIND test_dds_cache_random FILE dds/cache/query.c
	REMOVES "samples without data pass every query"
	TEXT [[
	if (sample->has_data && !query->filter(copy->data, copy->bytes, query->ctx))
]]
	REPLACEMENT [[
	if (!query->filter(copy->data, copy->bytes, query->ctx))
]])

mutant(NAME dds-cache-query-of-other-states KIND test_dds_cache FILE dds/cache/query.c
	REMOVES "a query holds only by samples of its states"
	TEXT [[
		if ((sample->wanted_by & bit) != 0 && (wanted >> wh_dds_combination(instance, sample->read) & 1) != 0)
]]
	REPLACEMENT [[
		if ((sample->wanted_by & bit) != 0)
]])

mutant(NAME dds-copy-never-trimmed KIND test_dds_copy FILE dds/base/copy.c
	REMOVES "what lies idle beyond what a pool keeps goes back"
	TEXT [[
		if (pool->counts.bytes > pool->keep_bytes)
]]
	REPLACEMENT [[
		if (pool->counts.bytes > pool->keep_bytes + ((size_t)1 << 40))
]])

mutant(NAME dds-copy-all-trimmed KIND test_dds_copy FILE dds/base/copy.c
	REMOVES "a pool keeps what it is to keep"
	TEXT [[
	for (; idle->next != NULL && kept + bytes <= pool->keep_bytes; idle = idle->next)
]]
	REPLACEMENT [[
	for (; idle->next != NULL && kept > pool->keep_bytes; idle = idle->next)
]])

mutant(NAME dds-copy-never-used-again KIND test_dds_copy FILE dds/base/copy.c
	REMOVES "copies that were given back are used again"
	TEXT [[
	if (copy == NULL && wh_load_relaxed(&class->returned) != 0) {
]]
	REPLACEMENT [[
	if (copy == NULL && wh_load_relaxed(&class->returned) == 1) {
]])

mutant(NAME dds-copy-classes-too-far-apart KIND test_dds_copy FILE dds/base/copy.c
	REMOVES "of a block a fifth is idle at most"
	TEXT [[
	return 4 * (bits - CLASS_BITS) + (uint32_t)(last >> (bits - 2) & 3);
]]
	REPLACEMENT [[
	return 4 * (bits - CLASS_BITS) + 3;
]])

mutant(NAME dds-timer-late-first KIND test_dds_copy FILE dds/base/timer.c
	REMOVES "the timer that is due first is first"
	TEXT [[
	if (other->due_ns < one->due_ns) {
]]
	REPLACEMENT [[
	if (other->due_ns > one->due_ns) {
]])

mutant(NAME dds-timer-lost-behind KIND test_dds_copy FILE dds/base/timer.c
	REMOVES "timers behind one that is cleared stay"
	TEXT [[
			timer->before->next = timer->next;
]]
	REPLACEMENT [[
			timer->before->next = NULL;
]])

mutant(NAME dds-timer-early KIND test_dds_copy FILE dds/base/timer.c
	REMOVES "no timer comes before it is due"
	TEXT [[
	if (first == NULL || first->due_ns > now_ns)
]]
	REPLACEMENT [[
	if (first == NULL || first->due_ns > now_ns + 1)
]])

mutant(NAME dds-waitset-quiet-when-attached KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "a condition that holds when it is attached is found"
	TEXT [[
	wh_dds_attachment_say(attachment, wh_dds_condition_holds(attachment->condition));
]]
	REPLACEMENT [[
	wh_dds_attachment_say(attachment, false);
]])

mutant(NAME dds-waitset-triggered-by-conditions KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "a waitset is triggered by its program alone, not by what is attached"
	TEXT [[
	triggered = waitset->triggered;
]]
	REPLACEMENT [[
	triggered = is_up(waitset);
]])

mutant(NAME dds-waitset-attached-twice KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "a condition is attached to a waitset once"
	TEXT [[
	else if (find(waitset, condition) == NULL)
		attach
]]
	REPLACEMENT [[
	else if (attachment != NULL)
		attach
]])

mutant(NAME dds-waitset-descriptor-stays KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "the descriptor is quiet when nothing holds any more"
	TEXT [[
		(void)eventfd_read(waitset->descriptor, &value);
]]
	REPLACEMENT [[
		(void)value;
]])

mutant(NAME dds-waitset-descriptor-quiet KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "the descriptor can be read while something holds, also if it did before it was asked for"
	TEXT [[
		waitset->descriptor = eventfd(is_up(waitset), EFD_CLOEXEC | EFD_NONBLOCK);
]]
	REPLACEMENT [[
		waitset->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
]])

mutant(NAME dds-waitset-trigger-unseen KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "a waitset that is triggered itself wakes its threads"
	TEXT [[
	return waitset->ready_count > 0 || waitset->triggered;
]]
	REPLACEMENT [[
	return waitset->ready_count > 0;
]])

mutant(NAME dds-waitset-foreign KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "conditions that share no lock with a waitset are refused"
	TEXT [[
	if (waitset->signals != condition->signals)
]]
	REPLACEMENT [[
	if (condition->signals == NULL)
]])

mutant(NAME dds-condition-taken-stays KIND test_dds_condition FILE dds/entity/condition.c
	REMOVES "a guard that was taken holds no more"
	TEXT [[
	if (held)
		change(condition, false);
]]
	REPLACEMENT [[
]])

mutant(NAME ddsc-entry-of-a-late-child KIND test_ddsc_threads FILE ddsc/entry.c
	REMOVES "what has come below an entity while that was deleted loses its entry, too"
	TEXT [[
		gather_all(&family);
]]
	REPLACEMENT [[
		(void)gather_all;
]])

mutant(NAME dds-attached-to-the-closed KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "nothing is attached to what was closed"
	TEXT [[
	if (waitset->closed || condition->closed)
		result
]]
	REPLACEMENT [[
	if (waitset->closed)
		result
]])

mutant(NAME dds-descriptor-of-the-closed KIND test_dds_condition FILE dds/entity/waitset.c
	REMOVES "a waitset that was closed has no descriptor any more"
	TEXT [[
	if (waitset->descriptor < 0 && !waitset->closed)
]]
	REPLACEMENT [[
	if (waitset->descriptor < 0)
]])

mutant(NAME dds-filter-goes-with-its-topic KIND test_dds_in_place FILE dds/reader.c
	REMOVES "a filter's argument lasts as long as the readers that ask it"
	TEXT [[
	reader->filter = wh_dds_filter_hold(topic->filter);
]]
	REPLACEMENT [[
	reader->filter = topic->filter;
	if (reader->filter != NULL && reader->filter->refs == 1)
		(void)wh_dds_filter_hold(reader->filter);
]])

mutant(NAME dds-filter-not-released KIND test_dds_in_place FILE dds/waiting.c
	REMOVES "the argument of a query's filter is released where there is no query"
	TEXT [[
	wh_dds_filter_put(((struct wh_dds_condition_entity *)(void *)entity)->filter);
	wh_dds_base_free_all(entity);
]]
	REPLACEMENT [[
	wh_dds_base_free_all(entity);
]])

mutant(NAME dds-condition-close-leaves KIND test_dds_condition FILE dds/entity/condition.c
	REMOVES "a condition that is gone is attached nowhere"
	TEXT [[
	while (condition->attachments != NULL)
]]
	REPLACEMENT [[
	while (condition->attachments != NULL && condition->attachments == NULL)
]])

mutant(NAME dds-condition-status-of-others KIND test_dds_condition FILE dds/entity/condition.c
	REMOVES "a status condition holds by those statuses that it asks for"
	TEXT [[
(statuses->changed & condition->enabled) != 0);
]]
	REPLACEMENT [[
statuses->changed != 0);
]])

mutant(NAME dds-listener-farthest KIND test_dds_listener FILE dds/status/listener.c
	REMOVES "the nearest listener hears of a status"
	TEXT [[
	if (asked_by(listeners->own) & status)
		return listeners->own;
	if
]]
	REPLACEMENT [[
	if ((asked_by(listeners->own) & ~(asked_by(listeners->group) | asked_by(listeners->participant))) & status)
		return listeners->own;
	if
]])

mutant(NAME dds-listener-data-twice KIND test_dds_listener FILE dds/status/listener.c
	REMOVES "new data that a subscriber's listener hears of goes to no reader's"
	TEXT [[
		changed &= ~(uint32_t)WHORL_DDS_DATA_AVAILABLE_STATUS;
]]
	REPLACEMENT [[
		changed &= ~(uint32_t)WHORL_DDS_DATA_ON_READERS_STATUS;
]])

mutant(NAME dds-listener-merge-overwrites KIND test_dds_listener FILE dds/status/listener.c
	REMOVES "a listener keeps its own functions when another is added to it"
	TEXT [[
	for (uint32_t left = from->asks & ~to->asks; left != 0;
]]
	REPLACEMENT [[
	for (uint32_t left = from->asks; left != 0;
]])

mutant(NAME dds-listener-not-taken-away KIND test_dds_listener FILE dds/status/listener.c
	REMOVES "NULL takes a function away"
	TEXT [[
	listener->asks = function != NULL ? listener->asks | status : listener->asks & ~status;
]]
	REPLACEMENT [[
	listener->asks |= status;
]])

mutant(NAME dds-status-change-stays KIND test_dds_listener FILE dds/status/status.c
	REMOVES "changes are counted from when a status was looked at last"
	TEXT [[
		it->inconsistent_topic.total_count_change = 0; /* all others begin alike */
]]
	REPLACEMENT [[
		;
]])

mutant(NAME dds-status-taken-has-changed KIND test_dds_listener FILE dds/status/status.c
	REMOVES "a status that was taken has not changed"
	TEXT [[
	statuses->changed &= ~status;
]]
	REPLACEMENT [[
]])

mutant(NAME dds-status-matches-grow KIND test_dds_listener FILE dds/status/status.c
	REMOVES "the end of a match is no match"
	TEXT [[
	if (change > 0) {
]]
	REPLACEMENT [[
	{
]])

mutant(NAME dds-end-with-data KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an end that is told without its data has the key alone"
	TEXT [[
	*copy = key;
]]
	REPLACEMENT [[
	memcpy(key->data, (*copy)->data, key->bytes);
	*copy = key;
]])

mutant(NAME dds-unwanted-end-with-data KIND test_dds_cache FILE dds/cache/cache.c
	REMOVES "an end whose data is not wanted has the key alone"
	TEXT [[
	end.copy = cache->key_of(cache->key_ctx, arrival->copy);
]]
	REPLACEMENT [[
	wh_dds_copy_hold(arrival->copy, 1);
	end.copy = arrival->copy;
]])

mutant(NAME dds-in-place-end-untold KIND test_dds_in_place FILE dds/deliver.c
	REMOVES "a reader in place is told of an end whose data it does not want"
	TEXT [[
	if (does(event) == WH_DDS_DOES_DATA)
		return;
	key
]]
	REPLACEMENT [[
	if (is_data)
		return;
	key
]])
