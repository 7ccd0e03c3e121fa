# verbs.cmake - what the RDMA transport does for its device (transport/verbs/out.c), and to know its peers, taken out one at a time. See mutants.cmake.

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

# ---- connections (transport/verbs/link.c) and leaving --------------------------------------------------------------------------

mutant(NAME request-without-token KIND test_verbs_link FILE transport/verbs/link.c
	REMOVES "a program that asks to be connected has the token of a peer that has been met"
	TEXT [[
		link->state == WH_VERBS_BROKEN) &&
	       is_token(link->token, request->token);
]]
	REPLACEMENT [[
		link->state == WH_VERBS_BROKEN) &&
	       is_token(link->token, link->token);
]])

mutant(NAME request-of-another-life KIND test_verbs_link FILE transport/verbs/link.c
	REMOVES "... and is the incarnation that has been met"
	TEXT [[
	return peer->state == WH_PEER_MET && peer->incarnation == request->incarnation &&
]]
	REPLACEMENT [[
	return peer->state == WH_PEER_MET &&
]])

mutant(NAME token-used-twice KIND test_verbs_link FILE transport/verbs/link.c
	REMOVES "a token is used once: it can be read in the request"
	TEXT [[
	       (link->state == WH_VERBS_EXPECTED || link->state == WH_VERBS_ANSWERED ||
		link->state == WH_VERBS_BROKEN) &&
]]
	REPLACEMENT [[
	       link->state != WH_VERBS_APART &&
]])

mutant(NAME link-outlives-session KIND test_verbs_link FILE transport/verbs/verbs.c
	REMOVES "when the session's connection with a peer ends the one by librdmacm ends too, and the token is nothing"
	TEXT [[
	wh_verbs_link_close(t, &t->peers[node].link);
]]
	REPLACEMENT [[
]])

mutant(NAME late-answer-unheard KIND test_verbs_link FILE transport/verbs/link.c
	REMOVES "what has come is heard before a try is given up"
	TEXT [[
	if (is_late(link, now) && link->state == WH_VERBS_CALLS)
		look_again(t);
]]
	REPLACEMENT [[
	if (false)
		look_again(t);
]])

mutant(NAME no-last-words KIND test_verbs_link FILE transport/verbs/link.c
	REMOVES "a peer that has closed its connection by librdmacm may still say by the session that it has left"
	TEXT [[
	link->at_ns = wh_env_now(t->env) + LAST_WORDS_NS;
]]
	REPLACEMENT [[
	link->at_ns = wh_env_now(t->env);
]])

mutant(NAME leaves-before-writes KIND test_verbs_link FILE transport/verbs/verbs.c
	REMOVES "before peers hear that a node goes what it has pushed is there"
	TEXT [[
	linger(t);
	wh_tcp_wire_deafen(t->wire);
]]
	REPLACEMENT [[
	wh_tcp_wire_deafen(t->wire);
]])

mutant(NAME part-beyond-row KIND test_verbs FILE transport/verbs/message.c
	REMOVES "the parts of an offer lie within the row"
	TEXT [[
		    parts[i].bytes > row_bytes - parts[i].offset)
]]
	REPLACEMENT [[
		    false)
]])

mutant(NAME lane-token-without-port KIND test_verbs_link FILE transport/verbs/link.c
	REMOVES "the token of a lane has a port, that of a node has none"
	TEXT [[
	    (t->lane != 0) != (message->number != 0))
]]
	REPLACEMENT [[
	    false)
]])
