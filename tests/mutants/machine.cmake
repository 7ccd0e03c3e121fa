# machine.cmake - what the model of a network card and of a processor costs (docs/decisions/0073), taken out one at a time. See mutants.cmake.

mutant(NAME machine-memory-of-one-way KIND test_sim_card FILE sim/net/card.c
	REMOVES "memory carries what comes in beside what goes out"
	TEXT [[
	receiver->port_free_ns = wh_sim_later(wh_sim_later(receiver->port_free_ns, start_ns) + takes_ns,
					      wh_sim_memory_move(link->sim, receiver->id, bytes));
]]
	REPLACEMENT [[
	receiver->port_free_ns = wh_sim_later(receiver->port_free_ns, start_ns) + takes_ns;
]])

mutant(NAME machine-knows-any-pair KIND test_sim_card FILE sim/net/card_room.c
	REMOVES "a card knows the connections that it used last, and no others"
	TEXT [[
	return since < host->sim->options.card.queue_pairs;
]]
	REPLACEMENT [[
	return since <= host->sim->options.card.queue_pairs;
]])

mutant(NAME machine-switch-never-full KIND test_sim_card FILE sim/net/card.c
	REMOVES "a card waits for a switch that is full for one receiver, with all that it has for others"
	TEXT [[
	uint64_t start_ns = wh_sim_later(sim->now_ns, wh_sim_port_opens_ns(link->to->host)), left_ns;
]]
	REPLACEMENT [[
	uint64_t start_ns = sim->now_ns, left_ns;
]])

mutant(NAME machine-lines-counted-twice KIND test_sim_card FILE sim/net/card_room.c
	REMOVES "a line that is written twice before it is read is one to read"
	TEXT [[
		if (lines->line[i] == line)
			return;
]]
	REPLACEMENT [[
		if (lines->line[i] == line)
			break;
]])
