# delegation_played.cmake - rules of delegation (docs/decisions/0056, 0057), taken out one at a time; sim-delegates must notice. See mutants.cmake.

mutant(NAME delegates-any-digest KIND sim-delegates RUNS 250 FILE delegation/link.c
	REMOVES "nothing goes between programs that know other functions"
	TEXT [[
	if (greeting->digest != work->table.digest) {
]]
	REPLACEMENT [[
	if (0) {
]])

mutant(NAME delegates-guard-with-data KIND sim-delegates RUNS 250 FILE delegation/link.c
	REMOVES "where the words of a write come in any order the guard is a write of its own"
	TEXT [[
	if (whole) {
]]
	REPLACEMENT [[
	(void)whole;
	if (1) {
]])

mutant(NAME delegates-handles-of-the-dead KIND sim-delegates RUNS 250 FILE delegation/link.c
	REMOVES "the handles of a node that has ended end with it"
	TEXT [[
	wh_properties_forget(link->me, link->far->holder);
]]
	REPLACEMENT [[
]])

mutant(NAME delegates-gone-though-sent KIND sim-delegates RUNS 250 FILE delegation/link.c
	REMOVES "what was sent to a node that has ended is in doubt"
	TEXT [[
		wh_channel_end(link->out, WHORL_IN_DOUBT, WHORL_GONE);
]]
	REPLACEMENT [[
		wh_channel_end(link->out, WHORL_GONE, WHORL_GONE);
]])

mutant(NAME delegates-end-untold KIND sim-delegates RUNS 1000 FILE delegation/far.c
	REMOVES "workers that have not met a life learn of its end from those that have"
	TEXT [[
	wh_store_release(&far->ended, 1); /* partner: wh_link_look */
]]
	REPLACEMENT [[
]])

mutant(NAME delegates-any-life KIND sim-delegates RUNS 250 FILE delegation/far.c
	REMOVES "a trust is for one life of a node"
	TEXT [[
	far = trust->room[0] == 0 ? NULL : find(work->net, trust->node, trust->room[0]);
]]
	REPLACEMENT [[
	far = find(work->net, trust->node, 0);
]])

mutant(NAME delegates-served-again KIND sim-delegates RUNS 50 FILE delegation/serve.c
	REMOVES "a batch of another node is served once"
	TEXT [[
			(void)run_batch(me, channel, false);
			channel->served++;
]]
	REPLACEMENT [[
			(void)run_batch(me, channel, false);
			if (channel->served % 8 != 7 || me->looks % 2 != 0)
				channel->served++;
]])

mutant(NAME delegates-runs-taken-back KIND sim-delegates RUNS 250 FILE delegation/send.c
	REMOVES "what was not sent in time never runs"
	TEXT [[
		record.function = WH_NOTHING;
]]
	REPLACEMENT [[
]])

mutant(NAME delegates-no-latch KIND sim-delegates RUNS 50 FILE delegation/later.c
	REMOVES "a launched function has its property alone"
	TEXT [[
	if (property != NULL)
		property->latched = true;
]]
	REPLACEMENT [[
]])

mutant(NAME delegates-workers-unknown KIND sim-delegates RUNS 250 FILE delegation/link.c
	REMOVES "of a program that knows other functions it is known how many workers it has"
	TEXT [[
	wh_store_release(&link->far->workers, greeting->workers); /* partner: wh_far_at */
]]
	REPLACEMENT [[
	if (greeting->digest == work->table.digest)
		wh_store_release(&link->far->workers, greeting->workers);
]])

mutant(NAME delegates-workers-of-the-dead KIND sim-delegates SEED 349 RUNS 2 FILE delegation/far.c
	REMOVES "how many workers a node has is not known from a life that has ended"
	TEXT [[
	if (far == NULL || wh_load_acquire(&far->ended) != 0)
]]
	REPLACEMENT [[
	if (far == NULL)
]])
