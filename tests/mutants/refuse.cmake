# refuse.cmake - delivery that may be refused (docs/decisions/0044). See mutants.cmake. The wrong rules of tests/models/refuse.c, and what
# was found beside them.

set(refusals --set sim.refusals=on)

mutant(NAME refused-acked-when-offered KIND views FILE predicates/deliver.c
	WORDS ${refusals}
	REMOVES "what is not taken is not delivered: delivered_num counts what was offered"
	TEXT [[
		mc->delivered_num = mc->batch[mc->rest_from].sequence;
]]
	REPLACEMENT [[
]])

mutant(NAME refused-cut-not-kept KIND views FILE predicates/deliver.c
	WORDS ${refusals}
	REMOVES "what lies below a cut and is not taken is kept"
	TEXT [[
		mc->failed = !mc->config.keep(mc->config.handle, mc->batch + taken, mc->run - taken);
]]
	REPLACEMENT [[
		mc->failed = false;
]])

mutant(NAME refused-new-before-old KIND test_group_offers FILE group/offer.c
	REMOVES "nothing is delivered in place before the backlog is empty"
	TEXT [[
	if (subgroup->offer.refuses || subgroup->offer.backlog.messages > 0)
		return 0;
]]
	REPLACEMENT [[
]]
	TEXT_2 [[
	if (subgroup->offer.refuses || subgroup->offer.backlog.messages > 0)
		wh_multicast_hold(member->mc);
]]
	REPLACEMENT_2 [[
	(void)subgroup;
	(void)member;
]])

mutant(NAME refused-not-sent KIND views FILE state/give.c SEED 230
	WORDS ${refusals}
	REMOVES "a state comes with its giver's backlog"
	TEXT [[
	if (refused->messages == 0)
]]
	REPLACEMENT [[
	if (refused->messages < UINT64_MAX)
]])

mutant(NAME refused-position-as-received KIND views SEED 52 RUNS 1 FILE predicates/multicast.c
	WORDS ${refusals}
	REMOVES "the position of a state says what was taken: it says what was received"
	TEXT [[
	return had != WH_UNKNOWN && had > sender->next ? had : sender->next;
]]
	REPLACEMENT [[
	return had != WH_UNKNOWN && had > sender->announced ? had : sender->announced;
]])

mutant(NAME refused-one-goes-back KIND test_group_offers FILE predicates/deliver.c
	REMOVES "of each sender its first message of the rest is next again: of one sender it is"
	TEXT [[
	for (uint32_t i = mc->rest_to; i-- > mc->rest_from;) {
]]
	REPLACEMENT [[
	for (uint32_t i = mc->rest_from + (rest > 0); i-- > mc->rest_from;) {
]])

mutant(NAME refused-again-forgotten KIND test_group_offers FILE group/offer.c
	REMOVES "the word that there is room is taken away before the upcall: it is taken away behind it"
	TEXT [[
	taken = subgroup->program.on_offer(messages, count, subgroup->program.upcall_ctx);
]]
	REPLACEMENT [[
	taken = subgroup->program.on_offer(messages, count, subgroup->program.upcall_ctx);
	(void)wh_exchange(&offer->again, 0);
]])

mutant(NAME refused-left-cold KIND views FILE group/offer.c
	WORDS ${refusals} --set sim.words=on
	REMOVES "a subgroup that is resumed is stepped"
	TEXT [[
	wh_hot_touch(&epoch->hot, wh_epoch_index(epoch, member));
]]
	REPLACEMENT [[
]])

mutant(NAME offered-again KIND test_group_offers FILE group/offer.c
	REMOVES "a pass that hears that the program asks is work: a loop may sleep before the one that offers"
	TEXT [[
		work++; /* a pass that offers comes behind this one, though nothing else has been done */
]]
	REPLACEMENT [[
]])
