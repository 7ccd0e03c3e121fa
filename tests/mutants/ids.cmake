# ids.cmake - ids for nodes to which any is right, and groups that name no nodes (docs/decisions/0047). See mutants.cmake.

mutant(NAME any-id-once KIND test_any_id FILE group/config/any_id.c
	WORDS CK_RUN_CASE=order
	REMOVES "ids are tried once more: an id that is let go of behind the place that is looked at is found"
	TEXT [[
	for (int pass = 0; pass < PASSES && result == WHORL_AGAIN; pass++)
]]
	REPLACEMENT [[
	for (int pass = 1; pass < PASSES && result == WHORL_AGAIN; pass++)
]])

mutant(NAME any-id-from-the-first KIND test_any_id FILE group/config/any_id.c
	WORDS CK_RUN_CASE=order
	REMOVES "ids are tried from a random place on"
	TEXT [[
			*id = (from + i) % nodes;
]]
	REPLACEMENT [[
			(void)from;
			*id = i;
]])

mutant(NAME any-id-gives-up KIND test_any_id FILE group/config/any_id.c
	WORDS CK_RUN_CASE=order
	REMOVES "an id that is taken is passed over: it is the end"
	TEXT [[
			if (result != WHORL_AGAIN)
				return result;
]]
	REPLACEMENT [[
			if (result != WHORL_AGAIN || turn_of(any->config, *id) == turn)
				return result;
]])

mutant(NAME any-id-configured-last KIND test_any_id FILE group/config/any_id.c
	WORDS CK_RUN_CASE=order
	REMOVES "ids that count for the first view come first"
	TEXT [[
	return !is_configured;
]]
	REPLACEMENT [[
	return is_configured;
]])

mutant(NAME any-id-founder-first KIND test_any_id FILE group/config/any_id.c
	WORDS CK_RUN_CASE=order
	REMOVES "the id of a founder is left to it as long as another is free"
	TEXT [[
		return is_founder ? 2 : is_configured;
]]
	REPLACEMENT [[
		return is_configured;
]])

mutant(NAME any-id-first-later KIND test_any_id FILE group/config/any_id.c
	WORDS CK_RUN_CASE=order
	REMOVES "where no node is named the first process gets the id of the founder"
	TEXT [[
		return !is_founder;
]]
	REPLACEMENT [[
		return is_founder;
]])

mutant(NAME taken-id-is-an-error KIND test_any_id FILE transport/shm/name.c
	WORDS CK_RUN_CASE=nodes
	REMOVES "a name that a process holds is passed over"
	TEXT [[
		return errno == EADDRINUSE ? WHORL_AGAIN : wh_error_system(err, errno, "bind");
]]
	REPLACEMENT [[
		return wh_error_system(err, errno, "bind");
]])

mutant(NAME any-id-kept KIND test_any_id FILE group/node.c
	WORDS CK_RUN_CASE=nodes
	REMOVES "a node that cannot be opened lets go of its id"
	TEXT [[
	if (place.held >= 0)
		close(place.held);
	return result;
]]
	REPLACEMENT [[
	return result;
]])

mutant(NAME nobody-forms KIND test_group_config FILE group/config/config.c
	REMOVES "where no node is named node 0 forms the group"
	TEXT [[
	return wh_node_config_names_none(config) ? 0
]]
	REPLACEMENT [[
	return wh_node_config_names_none(config) ? -1
]])
