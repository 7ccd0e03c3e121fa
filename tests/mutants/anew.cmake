# anew.cmake - what makes a group of what one disk has (docs/decisions/0058, *Begun anew*), taken out one rule at a time. See mutants.cmake.

mutant(NAME anew-others-are-missed KIND test_restart_find FILE membership/restart_find.c
	REMOVES "of the members of its view a disk that was begun anew alone counts"
	TEXT [[
	if (alone != NULL)
		return view->voters - 1;
]]
	REPLACEMENT [[
	if (alone != NULL)
		return 0;
]])

mutant(NAME anew-shards-of-others-are-missed KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a shard of which a disk that was begun anew has not all begins with nothing"
	TEXT [[
	if (any || shard->member_count == 0 || is_given_up(search, index))
]]
	REPLACEMENT [[
	if (any || shard->member_count == 0)
]])

mutant(NAME anew-rot-is-given-up KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a log of which a disk that was begun anew had all is waited for"
	TEXT [[
	return alone != NULL && (mine == NULL || !mine->whole);
]]
	REPLACEMENT [[
	return alone != NULL;
]])

mutant(NAME anew-view-of-the-old-group KIND test_group_durable FILE membership/restart_voice.c
	REMOVES "the view of a disk that was begun anew is one of its group"
	TEXT [[
	view->group = wh_restart_standing(restart, disk)->group; /* of one that was begun anew it has another there */
]]
	REPLACEMENT [[
]])

mutant(NAME anew-not-alone KIND test_anew FILE persistence/anew.c
	REMOVES "its standing says that it counts alone"
	TEXT [[
	standing->alone = true;
]]
	REPLACEMENT [[
]])

mutant(NAME anew-agreement-stays KIND test_anew FILE persistence/anew.c
	REMOVES "what it has agreed to in the old group is given up"
	TEXT [[
	standing->ballot = standing->next = 0;
	standing->cut_count = 0;
]]
	REPLACEMENT [[
]])

mutant(NAME anew-rot-is-taken KIND test_anew FILE persistence/anew.c
	REMOVES "nothing begins anew with rot"
	TEXT [[
	if (found.verdict == WH_LOG_ROT)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME anew-without-a-view KIND test_anew FILE persistence/anew.c
	REMOVES "nothing begins anew without its view"
	TEXT [[
		result = check_view(check->directory, standing->base, check->err);
]]
	REPLACEMENT [[
		(void)check_view;
]])

mutant(NAME anew-files-of-the-new-group KIND test_group_durable FILE group/logs/orders.c
	REMOVES "a directory is of the group that it was made for, as its logs are"
	TEXT [[
	struct wh_identity identity = {.group = logs->identity.group != 0 ? logs->identity.group : group,
				       .node = logs->config.node};
]]
	REPLACEMENT [[
	struct wh_identity identity = {.group = group, .node = logs->config.node};
]])

mutant(NAME anew-what-is-not-whole-stays KIND test_group_durable FILE group/logs/logs.c
	REMOVES "what is not whole is removed where it was begun anew"
	TEXT [[
	if (logs->standing.alone && !shard->whole)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME anew-old-directories-are-missed KIND test_group_durable FILE group/logs/logs.c
	REMOVES "on one host directories of another group are not waited for"
	TEXT [[
	return wh_standing_is_blank(&logs->standing) || logs->standing.first ? 0 : logs->standing.group;
]]
	REPLACEMENT [[
	return 0 * logs->standing.group;
]])
