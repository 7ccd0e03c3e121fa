# shards.cmake - mechanisms of replicated trusts (delegation/shard.h; docs/decisions/0062), taken out one at a time. See mutants.cmake.

mutant(NAME shard-state-at-once KIND sim-trusts RUNS 3000 FILE delegation/shard_queue.c
	REMOVES "a state is fixed in its place, behind the calls that were handed over before"
	TEXT [[
	else if (takes)
		queue->last->next = note;
	if (takes) {
		queue->last = note;
]]
	REPLACEMENT [[
	else if (takes && note->kind == WH_NOTE_SNAPSHOT) {
		note->next = queue->first;
		queue->first = note;
	} else if (takes)
		queue->last->next = note;
	if (takes) {
		if (note->next == NULL)
			queue->last = note;
]])

mutant(NAME shard-reads-at-once KIND sim-trusts RUNS 3000 FILE delegation/shard_queue.c
	REMOVES "a linearizable read is made in its place, behind the calls that were handed over before"
	TEXT [[
	else if (takes)
		queue->last->next = note;
	if (takes) {
		queue->last = note;
]]
	REPLACEMENT [[
	else if (takes && note->kind == WH_NOTE_READ) {
		note->next = queue->first;
		queue->first = note;
	} else if (takes)
		queue->last->next = note;
	if (takes) {
		if (note->next == NULL)
			queue->last = note;
]])

mutant(NAME shard-room-untold KIND sim-trusts RUNS 100 FILE delegation/shard_queue.c
	REMOVES "a worker that has room again asks for what was refused"
	TEXT [[
	return wh_load_relaxed(&queue->refuses) != 0 && wh_exchange(&queue->refuses, 0) != 0;
]]
	REPLACEMENT [[
	return false;
]])

mutant(NAME shard-refused-taken KIND sim-trusts RUNS 100 FILE replica/calls.c
	REMOVES "what a layer has not taken is shown to it again"
	TEXT [[
		if (taken < run)
			return done;
]]
	REPLACEMENT [[
		done += run - taken;
]])

mutant(NAME shard-taken-refused KIND sim-trusts RUNS 100 FILE delegation/shard.c
	REMOVES "what was handed over is not shown again"
	TEXT [[
		free(run);
	}
	return taken;
]]
	REPLACEMENT [[
		free(run);
	}
	return taken > 1 ? taken - 1 : taken;
]])

mutant(NAME shard-local-unknown KIND sim-trusts RUNS 1000 FILE delegation/shard_worker.c
	REMOVES "a local read of what this member does not have yet goes by the order"
	TEXT [[
	if (status != WHORL_GONE)
		return status;
	out->end = begins;
	return order(shard, wish);
]]
	REPLACEMENT [[
	(void)begins;
	return status;
]])

mutant(NAME shard-doubt-untold KIND sim-trusts RUNS 1000 FILE delegation/shard.c
	REMOVES "a call of which the loop says that it is in doubt ends"
	TEXT [[
	if (outcome->result == WHORL_OK) {
]]
	REPLACEMENT [[
	if (outcome->result == WHORL_OK || outcome->result == WHORL_IN_DOUBT) {
]])

mutant(NAME shard-any-digest KIND sim-trusts RUNS 1000 FILE delegation/shard_table.c
	REMOVES "a program that knows other functions cannot restore the state"
	TEXT [[
	if (reader.digest != 0 && reader.digest != table->kinds->digest)
		return WH_LOADED_ODD;
	table->digest = reader.digest;
]]
	REPLACEMENT [[
	table->digest = reader.digest == 0 ? 0 : table->kinds->digest;
]])

mutant(NAME shard-odd-calls KIND test_shard_table FILE delegation/shard_table.c
	REMOVES "no call of a program that knows other functions runs"
	TEXT [[
	if (call->digest != table->digest)
		return WHORL_REFUSED;
]]
	REPLACEMENT [[
]])

mutant(NAME shard-odd-member KIND test_shard_table FILE delegation/shard_table.c
	REMOVES "a member that knows other functions applies nothing"
	TEXT [[
	if (table->digest != table->kinds->digest)
		return WH_SHARD_ODD;
]]
	REPLACEMENT [[
]])

mutant(NAME shard-made-again KIND test_shard_table FILE delegation/shard_table.c
	REMOVES "the first call makes it, and the others find it"
	TEXT [[
	struct wh_shard_property *property = find_name(table, call->name);
	uint32_t number;
]]
	REPLACEMENT [[
	struct wh_shard_property *property = NULL;
	uint32_t number;
]])

mutant(NAME shard-other-type KIND test_shard_table FILE delegation/shard_table.c
	REMOVES "a property is found under its name by its type alone"
	TEXT [[
	if (property != NULL && property->type != type)
		return WHORL_INVALID;
]]
	REPLACEMENT [[
]])

mutant(NAME shard-reads-of-others KIND test_shard_table FILE delegation/shard_table.c
	REMOVES "reads of others do not run here"
	TEXT [[
	if (!wanted && is_read(table->kinds, call->function))
		return WHORL_OK;
]]
	REPLACEMENT [[
]])

mutant(NAME shard-saved-as-bytes KIND test_shard_table FILE delegation/shard_table.c
	REMOVES "a property that holds more than its struct is saved by its function"
	TEXT [[
	if (is_saved(property->type))
		return property->type->save(property->object, &into) && !into.failed;
]]
	REPLACEMENT [[
]])

mutant(NAME shard-items-unbounded KIND test_shard_table FILE delegation/shard_wire.c
	REMOVES "of an image no more is read than there is"
	TEXT [[
	    !item.ok || out->id == 0 || bytes > item.left)
]]
	REPLACEMENT [[
	    !item.ok || out->id == 0)
]])

mutant(NAME shard-queue-full KIND test_shard_table FILE delegation/shard_queue.c
	REMOVES "calls that the worker has not come to are bounded"
	TEXT [[
	       (calls + n == 0 || (calls + n < queue->calls_most && waiting + *all + bytes[n] <= queue->bytes_most)))
]]
	REPLACEMENT [[
	       calls + waiting + queue->bytes_most > 0)
]])

mutant(NAME shard-any-function KIND test_shard_trusts FILE delegation/shard_trust.c
	REMOVES "only deterministic functions run on the members of a shard"
	TEXT [[
	if (shard->kinds.numbers[wish->function] == UINT32_MAX)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME shard-launches KIND test_shard_trusts FILE delegation/shard_trust.c
	REMOVES "no function that waits runs on the members of a shard"
	TEXT [[
	if (wish->launched)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME shard-dropped-untold KIND test_shard_trusts FILE group/offer.c
	REMOVES "of calls that were refused, and are dropped with the place in the shard, it is told that they are in doubt"
	TEXT [[
	tell_missed(subgroup);
	wh_backlog_clear(&subgroup->offer.backlog);
]]
	REPLACEMENT [[
	wh_backlog_clear(&subgroup->offer.backlog);
]])

mutant(NAME shard-read-outside KIND test_shard_trusts FILE delegation/shard_worker.c
	REMOVES "a node that is no member of the shard any more reads nothing there"
	TEXT [[
	if (result == WHORL_OK || result == WHORL_NO_QUORUM)
		result = wh_layer_membership(shard->subgroup);
]]
	REPLACEMENT [[
]])

mutant(NAME shard-checkpoint-early KIND test_shard_trusts FILE group/durable_state.c
	REMOVES "a checkpoint waits for a state that is not fixed yet"
	TEXT [[
	       state->subgroup->node->fixed.world_env->nap == NULL)
]]
	REPLACEMENT [[
	       state == NULL)
]])

mutant(NAME shard-sent-late KIND test_shard_trusts FILE delegation/shard_worker.c
	REMOVES "a call whose caller waits no longer is not sent any more"
	TEXT [[
	if (now < shard->deadline_ns)
		return;
]]
	REPLACEMENT [[
	return;
]])
