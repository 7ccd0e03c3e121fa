# verbs.cmake - what the RDMA transport does for its device (transport/verbs/out.c), taken out one at a time. See mutants.cmake.

mutant(NAME requests-uncounted KIND test_verbs_out FILE transport/verbs/out.c
	REMOVES "no more requests are outstanding than the queue holds: nobody looks for room"
	TEXT [[
		while (chain.count < CHAIN_MAX && out->queue_out != out->queue_in &&
		       wh_verbs_count_room(&out->count) > 0)
]]
	REPLACEMENT [[
		while (chain.count < CHAIN_MAX && out->queue_out != out->queue_in)
]])

mutant(NAME completions-unasked KIND test_verbs_out FILE transport/verbs/out.c
	REMOVES "of the requests some report themselves, so that it is known how many are outstanding"
	TEXT [[
	if (wh_verbs_count_post(&out->count))
		request->send_flags |= IBV_SEND_SIGNALED;
]]
	REPLACEMENT [[
	(void)wh_verbs_count_post(&out->count);
]])

mutant(NAME guards-beside KIND test_verbs_out FILE transport/verbs/out.c
	REMOVES "words go as one write only if each may be seen before the one that was pushed before it"
	TEXT [[
	if (last->words == 0 || (!push->may_reorder && (last->words > 1 || push->offset != last->offset)))
]]
	REPLACEMENT [[
	if (last->words == 0)
]])

mutant(NAME ring-first KIND test_verbs_out FILE transport/verbs/out.c
	REMOVES "the doorbell is the last write of a chain: a loop that is woken sees what was pushed before"
	TEXT [[
		chain->requests[chain->count - 1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
]]
	REPLACEMENT [[
		chain->requests[0].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
]])
