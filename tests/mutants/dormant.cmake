# dormant.cmake - durable subgroups that are made at run time (docs/decisions/0058), taken out one rule at a time. See mutants.cmake.

mutant(NAME dormant-parts-count KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "a log that is not whole brings nothing back"
	TEXT [[
	if (holding == NULL || !holding->whole || member == NULL)
]]
	REPLACEMENT [[
	if (holding == NULL || member == NULL)
]])

mutant(NAME dormant-strangers-count KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "only what its last members have brings it back"
	TEXT [[
	if (holding == NULL || !holding->whole || member == NULL)
		return false;
]]
	REPLACEMENT [[
	if (holding == NULL || !holding->whole)
		return false;
	if (member == NULL)
		return true;
]])

mutant(NAME dormant-any-view-counts KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "a log that ends before the last view, or the one before, brings nothing back"
	TEXT [[
	return holding->last == draft->dormant->last || (holding->last == draft->dormant->before && member->had);
]]
	REPLACEMENT [[
	return true;
]])

mutant(NAME dormant-entered-counts KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "what had entered in the last view has no log of the view before"
	TEXT [[
(holding->last == draft->dormant->before && member->had)
]]
	REPLACEMENT [[
holding->last == draft->dormant->before
]])

mutant(NAME dormant-other-birth-counts KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "the log of another subgroup of that name brings nothing back"
	TEXT [[
 || wish->refused || wish->holding.birth != draft->birth ||
]]
	REPLACEMENT [[
 || wish->refused ||
]])

mutant(NAME dormant-no-frontier KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "a log that goes less far than all had it has rotted"
	TEXT [[
		if (holding != NULL && holding->last == draft->from && holding->frontier > frontier)
]]
	REPLACEMENT [[
		if (0)
]])

mutant(NAME dormant-greatest-place KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "it comes back from the least place of the logs that bring it back"
	TEXT [[
		draft->cut = holding->place < draft->cut ? holding->place : draft->cut;
]]
	REPLACEMENT [[
		draft->cut = draft->cut == UINT64_MAX || holding->place > draft->cut ? holding->place : draft->cut;
]])

mutant(NAME dormant-views-mixed KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "of the logs those count that end in the latest view"
	TEXT [[
		if (holding == NULL || holding->last != draft->from || holding->place < frontier)
]]
	REPLACEMENT [[
		if (holding == NULL || holding->place < frontier)
]])

mutant(NAME dormant-anew-beside-log KIND test_wishes_dormant FILE membership/compose.c
	REMOVES "nothing is begun anew beside its log"
	TEXT [[
	if (draft->asleep && wish->anew && draft->dormant != NULL)
]]
	REPLACEMENT [[
	if (wish->anew && draft->dormant != NULL)
]])

mutant(NAME dormant-all-had KIND test_wishes_dormant FILE membership/dormant.c
	REMOVES "of each last member it is known whether it had entered in the last view"
	TEXT [[
						  : !wh_rank_is_in(subgroup->entered, subgroup->entered_count, rank)};
]]
	REPLACEMENT [[
						  : true};
]])

mutant(NAME dormant-before-by-number KIND test_wishes_dormant FILE membership/dormant.c
	REMOVES "the view before the last is the one that it came back from"
	TEXT [[
subgroup->from > 0 ? subgroup->from : view->number - 1,
]]
	REPLACEMENT [[
view->number - 1,
]])

mutant(NAME dormant-gone-with-members KIND test_wishes_dormant FILE membership/layout.c
	REMOVES "what has lost its last member is dormant, whatever ended it"
	TEXT [[
			if (was->parameters.durable &&
]]
	REPLACEMENT [[
			if (0 &&
]])

mutant(NAME dormant-forgotten KIND test_wishes_dormant FILE membership/layout.c
	REMOVES "what is dormant stays so in each view"
	TEXT [[
	for (uint32_t i = 0; i < before->dormant_count; i++)
		if (!wh_dormant_copy
]]
	REPLACEMENT [[
	for (uint32_t i = 0; i < 0; i++)
		if (!wh_dormant_copy
]])

mutant(NAME dormant-forgetting-follows KIND test_wishes_dormant FILE membership/succeed.c
	REMOVES "a view that forgets what was dormant is no successor"
	TEXT [[
		if (is != NULL ? !wh_dormant_equals(is, was)
			       : !has_birth(view, was->birth) && !is_born_as(view, was->name))
]]
	REPLACEMENT [[
		if (is != NULL && !wh_dormant_equals(is, was))
]])

mutant(NAME dormant-changing-follows KIND test_wishes_dormant FILE membership/succeed.c
	REMOVES "a view in which what was dormant is another is no successor"
	TEXT [[
		if (is != NULL ? !wh_dormant_equals(is, was)
			       :
]]
	REPLACEMENT [[
		if (is != NULL ? false :
]])

mutant(NAME dormant-log-unsaid-follows KIND test_wishes_dormant FILE membership/succeed.c
	REMOVES "a view that takes my log for what I have not said is no successor"
	TEXT [[
		if (wh_rank_is_in(it->returned, it->returned_count, me) &&
]]
	REPLACEMENT [[
		if (0 &&
]])

mutant(NAME dormant-strangers-follow KIND test_wishes_dormant FILE membership/succeed.c
	REMOVES "a view that brings it back by the log of another node than its last members is no successor"
	TEXT [[
		if (member == NULL || (is->from == was->before && !member->had))
]]
	REPLACEMENT [[
		if (0)
]])

mutant(NAME dormant-twice-on-the-wire KIND test_wire_views FILE membership/wire.c
	REMOVES "a node is a last member once"
	TEXT [[
		if (!reader->ok || seen[id])
]]
	REPLACEMENT [[
		if (!reader->ok)
]])

mutant(NAME dormant-seat-on-the-wire KIND test_wire_views FILE membership/wire.c
	REMOVES "a dormant subgroup has a seat of its own"
	TEXT [[
	    wh_birth_view(out->birth) == 0 || has_seat(view, wh_birth_seat(out->birth)) ||
]]
	REPLACEMENT [[
	    wh_birth_view(out->birth) == 0 ||
]])

mutant(NAME dormant-holds-up-the-group KIND test_change_durable FILE membership/change.c
	REMOVES "the group goes on without a member that has all of the log of a dynamic subgroup"
	TEXT [[
		change->puts_out[g] = true;
		any = true;
]]
	REPLACEMENT [[
]])

mutant(NAME dormant-put-out-at-the-least KIND test_change_durable FILE membership/change.c
	REMOVES "those that are put out deliver no more than some of them have delivered"
	TEXT [[
change->puts_out[g] ? cut_where_put_out(change, &change->cuts_from[g])
						      : cut_of(change, &change->cuts_from[g]);
]]
	REPLACEMENT [[
cut_of(change, &change->cuts_from[g]);
]])

mutant(NAME dormant-newcomer-forgets KIND sim-dormant RUNS 300 FILE group/durable.c
	REMOVES "the disk of a newcomer keeps what it has of dynamic subgroups"
	TEXT [[
		if (was->group == standing.group &&
		    !keep_dormant(&standing, was, NULL, NULL, epoch->view->dormant_count))
			return false;
]]
	REPLACEMENT [[
		if (!keep_dormant(&standing, &(struct wh_standing){.group = 0}, NULL, NULL, epoch->view->dormant_count))
			return false;
]])

mutant(NAME dormant-end-unknown KIND sim-dormant RUNS 300 FILE group/durable.c
	REMOVES "where a log ends that falls asleep is known in the same life"
	TEXT [[
			ok = wh_logs_fall_asleep(node->disk.logs, sleeps);
]]
	REPLACEMENT [[
			(void)sleeps;
]])

mutant(NAME dormant-returns-without-log KIND sim-dormant RUNS 300 FILE group/durable.c
	REMOVES "the log of a member that comes back is whole"
	TEXT [[
		out.begins = layout->cut;
		out.whole = true;
]]
	REPLACEMENT [[
		out.begins = layout->cut;
		out.whole = false;
]])

mutant(NAME dormant-recovers-nothing KIND sim-dormant RUNS 300 FILE group/durable_state.c
	REMOVES "a member that comes back is upcalled for what its log has"
	TEXT [[
	state->recovers = true;
	state->until =
]]
	REPLACEMENT [[
	state->until =
]])

mutant(NAME dormant-wished-too-early KIND sim-dormant RUNS 300 FILE group/stay.c
	REMOVES "what a disk holds is said when its node's view has begun"
	TEXT [[
 (!subgroup->fixed.durable || subgroup->node->epochs.current != NULL) &&
]]
	REPLACEMENT [[
]])

mutant(NAME dormant-sleeps-on KIND sim-dormant RUNS 300 FILE group/stay.c
	REMOVES "what was refused as dormant is wished again when it is so no more"
	TEXT [[
		if (stay->sleeps && wh_view_dormant(epoch->view, subgroup->fixed.name) == NULL) {
]]
	REPLACEMENT [[
		if (0) {
]])

mutant(NAME dormant-follows-unsaid KIND sim-dormant RUNS 300 FILE group/durable.c
	REMOVES "a log says which view it goes on from when it comes back"
	TEXT [[
					.follows = back ? member->layout->from : 0,
]]
	REPLACEMENT [[
					.follows = 0,
]])

mutant(NAME dormant-end-unmarked KIND sim-dormant RUNS 1000 FILE group/durable.c
	REMOVES "the view that a log ends in has begun there when it comes back"
	TEXT [[
		if (returns(epoch, layout) && slept != NULL && !wh_logs_mark_dormant(logs, slept))
]]
	REPLACEMENT [[
		if (0)
]])

mutant(NAME dormant-restart-forgets-returned KIND sim-dormant SEED 55 RUNS 1 FILE membership/restart_voice.c
	REMOVES "a disk that has agreed to a view that brings a subgroup back keeps its log in a restart"
	TEXT [[
	out->before = slept->key;
	out->begins = shard->cut;
	out->whole = true;
	return true;
]]
	REPLACEMENT [[
	return false;
]])
