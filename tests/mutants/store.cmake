# store.cmake - mechanisms of `whorl delegate kv` (tools/delegate_kv.h), taken out one at a time. See mutants.cmake.

mutant(NAME store-no-order KIND test_store FILE tools/delegate_kv_command.c
	REMOVES "replies leave in the order of the commands: each leaves when it is there"
	TEXT [[
	return slot == slot_at(client, client->first) ? &client->out : &slot->reply;
]]
	REPLACEMENT [[
	return &client->out;
]])

mutant(NAME store-waits-not KIND test_store FILE tools/delegate_kv_command.c
	REMOVES "a reply waits for those before it"
	TEXT [[
	while (client->first != client->behind && slot_at(client, client->first)->done) {
]]
	REPLACEMENT [[
	while (client->first != client->behind) {
]])

mutant(NAME store-range-short KIND test_store FILE tools/delegate_kv_store.c
	REMOVES "each shard has an equal range of hashes: the last has none"
	TEXT [[
	return (uint32_t)((hash >> 32) * shard_count >> 32);
]]
	REPLACEMENT [[
	return (uint32_t)((hash >> 32) * (shard_count - 1) >> 32);
]])

mutant(NAME store-range-low KIND test_store FILE tools/delegate_kv_store.c
	REMOVES "a shard has a range of hashes"
	TEXT [[
	return (uint32_t)((hash >> 32) * shard_count >> 32);
]]
	REPLACEMENT [[
	return (uint32_t)(hash % shard_count);
]])

mutant(NAME store-any-request KIND test_store FILE tools/delegate_kv_store.c
	REMOVES "a gate refuses what is no request"
	TEXT [[
	if (what >> 24 >= WH_KV_OPS || r->key.bytes > bytes)
]]
	REPLACEMENT [[
	if (what >> 24 >= WH_KV_OPS)
]])

mutant(NAME store-slots-unchecked KIND test_store FILE tools/delegate_kv_client.c
	REMOVES "a client has so many commands under way, and no more"
	TEXT [[
	return !c->ends && !c->held && unwritten(c) < OUT_PAUSE && under_way < WH_KV_SLOTS &&
]]
	REPLACEMENT [[
	return !c->ends && !c->held && unwritten(c) < OUT_PAUSE && under_way < 100000 &&
]])

mutant(NAME store-endless-out KIND test_store FILE tools/delegate_kv_client.c
	REMOVES "nothing more is done for a client that does not take its replies"
	TEXT [[
	return !c->ends && !c->held && unwritten(c) < OUT_PAUSE && under_way < WH_KV_SLOTS &&
]]
	REPLACEMENT [[
	return !c->ends && !c->held && under_way < WH_KV_SLOTS &&
]])

mutant(NAME store-endless-patience KIND test_store FILE tools/delegate_kv_client.c
	REMOVES "a client that takes no reply is closed"
	TEXT [[
		else if ((!is_idle(c) || unwritten(c) > 0) && thread->now_ms > c->moved_ms + patience_ms)
]]
	REPLACEMENT [[
		else if (patience_ms == 0)
]])

mutant(NAME store-large-reply KIND test_store FILE tools/delegate_kv_command.c
	REMOVES "the reply of a command has a limit"
	TEXT [[
		if ((uint64_t)slot->number > WH_KV_COMMAND_MAX)
]]
	REPLACEMENT [[
		if (0)
]])

mutant(NAME store-overflow KIND test_store FILE tools/delegate_kv_table.c
	REMOVES "a number does not overflow"
	TEXT [[
	if (r->by > 0 ? value > INT64_MAX - r->by : value < INT64_MIN - r->by)
]]
	REPLACEMENT [[
	if (r->by > 0 ? value > INT64_MAX - r->by : 0)
]])
