# stays_played.cmake - dynamic subgroups (docs/decisions/0046) in groups with faults, as `whorl sim` plays them with wishes. See mutants.cmake.

set(wishes --set sim.wishes=on)

mutant(NAME stay-goes-on KIND views FILE group/install.c
	WORDS ${wishes}
	REMOVES "a node that enters again begins its messages at 0 at all members: they go on behind those of its stay before"
	TEXT [=[
		subgroup->had[view->ids[member->layout->entered[i]]] = 0;
]=]
	REPLACEMENT [=[
		subgroup->had[view->ids[member->layout->entered[i]]] += 0;
]=])

mutant(NAME taken-back-unsaid KIND views FILE group/stay.c SEED 500
	WORDS ${wishes}
	REMOVES "a wish is taken back when the set that was said last is without it"
	TEXT [[
	return wh_wish_find(&node->entry.serving->wishing.said, subgroup->fixed.name) == NULL &&
]]
	REPLACEMENT [[
	return node != NULL &&
]])

mutant(NAME out-is-in KIND views FILE group/stay.c
	WORDS ${wishes}
	REMOVES "a stay is over when a view without it has begun"
	TEXT [[
			stay->is_out = subgroup->told.stage != WH_STAGE_ENTERING;
]]
	REPLACEMENT [[
			stay->is_out = subgroup->told.stage == WH_STAGE_IN;
]])

# Of wishes.cmake, those that the simulator must notice too, in whole groups.

mutant(NAME seat-at-once-played KIND views FILE membership/compose.c
	WORDS ${wishes}
	REMOVES "a seat is not used again in the view that ends its subgroup"
	TEXT [[
	for (uint32_t i = 0; i < before->dynamic_count; i++)
		work->taken[wh_birth_seat(wh_view_dynamic(before)[i].birth)] = true;
]]
	REPLACEMENT [[
	for (uint32_t i = 0; i < before->dynamic_count; i++)
		work->taken[wh_birth_seat(wh_view_dynamic(before)[i].birth)] = false;
]])

mutant(NAME leaves-out-and-serves-played KIND views FILE membership/propose.c
	WORDS ${wishes}
	REMOVES "what leaves a member out serves no wishes"
	TEXT [[
	publish_attempt(change, NULL, 0, false, 0); /* what follows a failure follows from rows */
]]
	REPLACEMENT [[
	publish_attempt(change, NULL, 0, false, serve_wishes(change, change->coming, 0, false, true));
]])

mutant(NAME unread-acknowledged-played KIND views FILE membership/propose.c
	WORDS ${wishes}
	REMOVES "a member that does not have a view which serves wishes does not go along with it"
	TEXT [[
	if (come == WHORL_AGAIN)
		return;
]]
	REPLACEMENT [[
	if (come == WHORL_AGAIN)
		come = WHORL_OK;
]])

mutant(NAME listeners-rest-for-ever KIND test_group_stays FILE membership/propose.c
	WORDS CK_RUN_CASE=wishes
	REMOVES "what only listens has nothing to rest from, whatever its row says: one view is made after the other"
	TEXT [[
			if (wish == 0 || only_listens(subgroup, rank))
]]
	REPLACEMENT [[
			if (wish == 0 || (only_listens(subgroup, rank) && wish == 0))
]])

mutant(NAME stay-leaves-those-let-in-played KIND views FILE group/transfer.c SEED 430
	WORDS ${wishes}
	REMOVES "a node whose leave was said gives first to those that a view has let in meanwhile"
	TEXT [[
			wh_node_stay_to_give(subgroup);
]]
	REPLACEMENT [[
			continue;
]])

mutant(NAME stay-not-as-the-file KIND views FILE group/stay_enter.c SEED 60
	WORDS ${wishes}
	REMOVES "a wish for a subgroup of the file that differs from it is refused by the node's own"
	TEXT [[
	if (configured >= 0 && !are_the_files(out, file))
]]
	REPLACEMENT [[
	if (configured >= 0 && node == NULL && !are_the_files(out, file))
]])
