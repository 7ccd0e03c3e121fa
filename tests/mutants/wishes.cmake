# wishes.cmake - what a leader composes of the wishes of all, and what a member looks at before it goes along (docs/decisions/0046), taken
# out one at a time. See mutants.cmake.

# ---- composing ----

mutant(NAME seat-at-once KIND test_wishes FILE membership/compose.c
	REMOVES "a seat is not used again in the view that ends its subgroup"
	TEXT [[
	for (uint32_t i = 0; i < before->dynamic_count; i++)
		work->taken[wh_birth_seat(wh_view_dynamic(before)[i].birth)] = true;
]]
	REPLACEMENT [[
	for (uint32_t i = 0; i < before->dynamic_count; i++)
		work->taken[wh_birth_seat(wh_view_dynamic(before)[i].birth)] = false;
]])

mutant(NAME leaves-unrested KIND test_wishes FILE membership/compose.c
	REMOVES "a member rests before it leaves"
	TEXT [[
		if ((work->drafts[i].is[rank] & SENDS) != 0 && wh_wish_find(set, work->drafts[i].name) == NULL)
			return false;
]]
	REPLACEMENT [[
		if (work->drafts[i].is[rank] == (SENDS | RESTS) && wh_wish_find(set, work->drafts[i].name) == NULL)
			return false;
]])

mutant(NAME name-goes-on KIND test_wishes FILE membership/compose.c
	REMOVES "a subgroup in which no member stays has ended, also if its name is wished"
	TEXT [[
		if (has_members(&work->drafts[i], members))
]]
	REPLACEMENT [[
		if (has_members(&work->drafts[i], members) || members > 0)
]])

mutant(NAME served-again KIND test_wishes FILE membership/compose.c
	REMOVES "a set that has been served is not looked at again"
	TEXT [[
	if (set == NULL || set->number <= work->view->served[rank])
]]
	REPLACEMENT [[
	if (set == NULL || set->number < work->view->served[rank])
]])

mutant(NAME served-forgotten KIND test_wishes FILE membership/view.c
	REMOVES "a view without wishes serves what the view before did"
	TEXT [[
			view->served[view->members] = before->served[rank];
]]
	REPLACEMENT [[
			view->served[view->members] = 0;
]])

mutant(NAME listeners-rest KIND test_wishes FILE membership/layout.c
	REMOVES "a member that listens does not rest"
	TEXT [=[
		places->resting[ranks[rank]] = sends && rest;
]=]
	REPLACEMENT [=[
		places->resting[ranks[rank]] = rest;
]=])

# ---- succeeding ----

mutant(NAME seat-unlooked KIND test_wishes_wrong FILE membership/succeed.c
	REMOVES "a member looks whether a seat is used again at once"
	TEXT [[
		if (born && used)
]]
	REPLACEMENT [[
		if (born && used && was == is)
]])

mutant(NAME replaced-set-served KIND test_wishes_wrong FILE membership/succeed.c
	REMOVES "what serves a set that was replaced is not acknowledged"
	TEXT [[
	if (view->served[me] < mine->number)
		return WH_OUT_OF_DATE;
]]
	REPLACEMENT [[
	if (view->served[me] < mine->number)
		return WH_SUCCEEDS;
]])

mutant(NAME place-unlooked KIND test_wishes_wrong FILE membership/succeed.c
	REMOVES "a member looks whether it is where it wishes to be"
	TEXT [[
	return verdict(check_my_wishes(view, me, mine, refused), why);
]]
	REPLACEMENT [[
	(void)check_my_wishes(view, me, mine, refused);
	return WH_SUCCEEDS;
]])

mutant(NAME moved-unlooked KIND test_wishes_wrong FILE membership/succeed.c
	REMOVES "a member that has wished nothing new looks whether it is where it was"
	TEXT [[
		return verdict(check_unmoved(view, base, me), why);
]]
	REPLACEMENT [[
		return verdict(check_unmoved(base, base, me), why);
]])

mutant(NAME end-unlooked KIND test_wishes_wrong FILE membership/succeed.c
	REMOVES "a member looks whether a subgroup ends in which some member sends"
	TEXT [[
		wrong = check_ended(view, base);
]]
	REPLACEMENT [[
		wrong = check_ended(base, base);
]])

mutant(NAME names-twice KIND test_wishes_wrong FILE membership/wire.c
	REMOVES "no two subgroups of a view have one name"
	TEXT [[
		twice += strcmp(names[i - 1], names[i]) == 0;
]]
	REPLACEMENT [[
		twice += strcmp(names[i - 1], names[i]) > 0;
]])

# ---- collecting ----

mutant(NAME coming-unawaited KIND test_collect FILE membership/collect.c
	REMOVES "a set is waited for that a row says is on its way"
	TEXT [[
	if (now_ns >= most_ns || (!coming && now_ns >= quiet_ns))
]]
	REPLACEMENT [[
	if (now_ns >= most_ns || now_ns >= quiet_ns)
]])

mutant(NAME never-long-enough KIND test_collect FILE membership/collect.c
	REMOVES "the first set waits for so long and no longer"
	TEXT [[
	if (now_ns >= most_ns || (!coming && now_ns >= quiet_ns))
]]
	REPLACEMENT [[
	if (!coming && now_ns >= quiet_ns)
]])

mutant(NAME composed-for-ever KIND test_collect FILE membership/collect.c
	REMOVES "a set that changed nothing is not composed again before another view"
	TEXT [=[
		any = set != NULL && set->number != collect->of[view->ids[rank]].considered;
]=]
	REPLACEMENT [=[
		any = set != NULL;
]=])

# ---- saying ----

mutant(NAME said-once KIND test_wishing FILE membership/wishing.c
	REMOVES "what is not served is said again"
	TEXT [[
	    (wishing->said_ns != 0 && now - wishing->said_ns >= WH_WISHING_AGAIN_NS))
]]
	REPLACEMENT [[
	    (wishing->said_ns != 0 && now < wishing->said_ns))
]])

mutant(NAME said-while-held KIND test_wishing FILE membership/wishing.c
	REMOVES "while a proposal with wishes is under way a node says nothing new"
	TEXT [[
	if (wishing->differs && !wishing->held)
]]
	REPLACEMENT [[
	if (wishing->differs)
]])

mutant(NAME refused-for-ever KIND test_wishing FILE membership/wishing.c
	REMOVES "what one leader has refused another may meet"
	TEXT [[
	if (wishing->to != leader || wishing->to_incarnation != incarnation)
		memset(wishing->refused, 0, sizeof(wishing->refused));
]]
	REPLACEMENT [[
	if (wishing->to_incarnation == 0)
		memset(wishing->refused, 0, sizeof(wishing->refused));
]])
