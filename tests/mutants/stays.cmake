# stays.cmake - subgroups at run time, above membership/ (docs/decisions/0046). See mutants.cmake; the rest is in wishes.cmake.

mutant(NAME stay-numbers-go-on KIND test_group_stays FILE group/install.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "a node that enters again begins at 0 for those that had it before"
	TEXT [=[
		subgroup->had[view->ids[member->layout->entered[i]]] = 0;
]=]
	REPLACEMENT [[
		(void)view, (void)subgroup;
]])

mutant(NAME stay-is-no-life KIND test_group_stays FILE group/transfer.c
	WORDS CK_RUN_CASE=states
	REMOVES "what came with a state says nothing of a later stay of a sender"
	TEXT [[
	wh_state_begin_view(subgroup->state, view->number, ids, count);
]]
	REPLACEMENT [[
	(void)ids;
]])

mutant(NAME stay-leaves-before-it-rests KIND test_group_stays FILE group/stay.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "a name is wished until all is sent, so that what else is wished is not held up"
	TEXT [[
	if ((!subgroup->fixed.sends || wh_epoch_has_said_rest(subgroup->node->epochs.current, subgroup)) &&
]]
	REPLACEMENT [[
	if (
]])

mutant(NAME stay-takes-the-state-away KIND test_group_stays FILE group/stay.c
	WORDS CK_RUN_CASE=states
	REMOVES "a node leaves when those that have entered have what it gives"
	TEXT [[
	    (subgroup->state == NULL || !wh_state_gives(subgroup->state)) &&
]]
	REPLACEMENT [[
	    true &&
]])

mutant(NAME stay-fails-the-node KIND test_group_stays FILE group/transfer.c
	WORDS CK_RUN_CASE=states
	REMOVES "a state that cannot be had costs the stay alone"
	TEXT [[
	if (wh_node_is_dynamic(subgroup))
		wh_node_fail_stay(subgroup, code, why);
]]
	REPLACEMENT [[
	if (subgroup == NULL)
		return;
]])

mutant(NAME stay-is-ready-at-once KIND test_group_stays FILE group/ready.c
	WORDS CK_RUN_CASE=states
	REMOVES "whorl_subgroup_ready waits for the state"
	TEXT [[
		told->ready = told->is_member && (subgroup->state == NULL || !wh_state_restores(subgroup->state));
]]
	REPLACEMENT [[
		told->ready = told->is_member;
]])

mutant(NAME stay-enters-what-it-leaves KIND test_group_stays FILE group/stay_enter.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "what is being left is entered when it has been left"
	TEXT [[
	if (other != NULL && wh_load_relaxed(&other->words.leaves) != 0)
		return WHORL_AGAIN;
]]
	REPLACEMENT [[
	if (other != NULL && wh_load_relaxed(&other->words.leaves) != 0)
		other = NULL;
]])

mutant(NAME stay-twice KIND test_group_stays FILE group/stay_enter.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "a node enters a name once"
	TEXT [[
	if (other != NULL)
		return wh_refuse("whorl_subgroup_enter", "this node is in it, or is entering it");
]]
	REPLACEMENT [[
]])

mutant(NAME stay-beyond-memory KIND test_group_stays FILE group/stay_enter.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "what is entered counts for memory_max"
	TEXT [[
	if (subgroup->fixed.index == UINT32_MAX || bytes > (uint64_t)node->fixed.config.group.memory_max)
]]
	REPLACEMENT [[
	(void)bytes;
	if (subgroup->fixed.index == UINT32_MAX)
]])

mutant(NAME stay-refused-claims-wait KIND test_group_stays FILE group/stay.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "claims in what was refused are told that this node does not send"
	TEXT [[
		(void)wh_ring_drop(subgroup->ring, 0); /* no claim has been made: they get WHORL_NOT_SENDER now */
]]
	REPLACEMENT [[
		(void)subgroup;
]])

mutant(NAME stay-never-freed KIND test_group_stays FILE group/stay.c
	WORDS CK_RUN_CASE=ends
	REMOVES "a stay that is over and released gives its place back"
	TEXT [[
		 wh_load_acquire(&subgroup->words.released) != 0) /* partner: whorl_subgroup_release */
]]
	REPLACEMENT [[
		 wh_load_acquire(&subgroup->words.released) > 1)
]])

mutant(NAME rests-taken-back-by-a-stay KIND test_group_stays FILE group/rest.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "a node that leaves does not send again"
	TEXT [[
	is_taken = leaves || wh_load_relaxed(&subgroup->words.leaves) == 0;
]]
	REPLACEMENT [[
	is_taken = true;
]])

mutant(NAME stay-asked-without-a-number KIND test_group_stays FILE group/rest.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "no node is asked to rest in what this node has not entered yet"
	TEXT [[
	if (result == WHORL_OK && wh_node_is_dynamic(subgroup) && !is_in(subgroup)) /* no node knows its number */
]]
	REPLACEMENT [[
	if (result == WHORL_OK && wh_node_is_dynamic(subgroup) && subgroup->fixed.index == 0 && !is_in(subgroup))
]])

mutant(NAME no-bit-and-cold KIND test_group_stays FILE predicates/hot.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "a ring without a bit stays hot"
	TEXT [[
	if (rests && !hot->all && !marked && !is_watched(member)) {
]]
	REPLACEMENT [[
	if (rests && !hot->all && !marked) {
]])

mutant(NAME file-is-not-asked KIND test_group_stays FILE group/stay_enter.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "what is wished of a subgroup of the file is as the file says"
	TEXT [[
	if (configured >= 0 && !are_the_files(out, file))
]]
	REPLACEMENT [[
	if (configured < -1 && !are_the_files(out, file))
]])

mutant(NAME file-name-is-entered KIND test_group_stays FILE group/stay_enter.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "a subgroup of the file is entered only if it says so"
	TEXT [[
	if (configured >= 0 && !wh_subgroup_is_wished(&node->fixed.texts[configured]))
]]
	REPLACEMENT [[
	if (configured < -1 && !wh_subgroup_is_wished(&node->fixed.texts[configured]))
]])

mutant(NAME stay-given-up-awaited KIND test_group_stays FILE group/ready.c
	WORDS CK_RUN_CASE=ends
	REMOVES "a state of a stay that ends is not waited for: a newcomer is ready without it"
	TEXT [[
		if (subgroup->state != NULL && wh_state_restores(subgroup->state) &&
		    wh_load_relaxed(&subgroup->words.leaves) == 0)
]]
	REPLACEMENT [[
		if (subgroup->state != NULL && wh_state_restores(subgroup->state))
]])

mutant(NAME stay-begins-while-closing KIND test_group_stays FILE group/stay_enter.c
	WORDS CK_RUN_CASE=ends
	REMOVES "from whorl_close on no stay begins"
	TEXT [[
	if (node->waiting.closes)
]]
	REPLACEMENT [[
	if (wh_node_state(node) == WHORL_CLOSED)
]])

mutant(NAME stay-takes-functions KIND test_group_stays FILE group/program.c
	WORDS CK_RUN_CASE=ends
	REMOVES "whether a dynamic subgroup has a state is agreed on: functions come as well afterwards"
	TEXT [[
	if (wh_node_is_dynamic(subgroup)) /* all
]]
	REPLACEMENT [[
	if (subgroup->node->waiting.closes) /* all
]])

