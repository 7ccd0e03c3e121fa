# What a pass leaves to a later one (predicates/gather.c).

mutant(NAME gather-waits-for-ever KIND test_gather FILE predicates/gather.c
	REMOVES "a pass that finds no new message sends what was gathered"
	TEXT [[
	if (count == before || count >= most)
]]
	REPLACEMENT [[
	if (count == 0 || count >= most)
]])

mutant(NAME gather-has-no-end KIND test_gather FILE predicates/gather.c
	REMOVES "half of a window is enough"
	TEXT [[
	if (count == before || count >= most)
]]
	REPLACEMENT [[
	if (count == before)
]])

mutant(NAME gather-takes-its-time KIND test_gather FILE predicates/gather.c
	REMOVES "gathering ends with its time"
	TEXT [[
	if (before == 0)
		mc->gather_since_ns
]]
	REPLACEMENT [[
	if (true)
		mc->gather_since_ns
]])

mutant(NAME gather-alone KIND test_gather FILE predicates/gather.c
	REMOVES "where little is on its way a message leaves at once"
	TEXT [[
	    ring->sent - ring->freed < mc->config.window / 4)
]]
	REPLACEMENT [[
	    false)
]])

mutant(NAME gather-looks-away KIND test_gather FILE predicates/loop.c
	REMOVES "a look is left out once for each pass that gathers"
	TEXT [[
	loop->gathers = false;
]]
	REPLACEMENT [[
]])
