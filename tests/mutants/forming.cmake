# forming.cmake - when a group may be formed, so that there are never two (docs/decisions/0032). See mutants.cmake.

mutant(NAME majority-without-records KIND test_timelines_forming FILE membership/form.c
	REMOVES "a first view has all configured nodes: on a network a majority without records forms one"
	TEXT [[
	if (join->rule != WH_FORM_MAJORITY || 2 * count <= join->configured)
]]
	REPLACEMENT [[
	if (2 * count <= join->configured)
]])

mutant(NAME homeless-quorum KIND test_timelines_forming FILE membership/suspicion.c
	REMOVES "each view has a configured node: those that joined go on alone"
	TEXT [[
	return poll->home && wh_quorum_holds(&poll->quorum, poll->votes, poll->tie);
]]
	REPLACEMENT [[
	return wh_quorum_holds(&poll->quorum, poll->votes, poll->tie);
]])

mutant(NAME all-begin-early KIND test_timelines_forming FILE group/participant.c
	REMOVES "a first view of all begins when all have said that they are there: it does when those that are lost are left out"
	TEXT [[
	return node->entry.join.rule == WH_FORM_ALL ? said == view->members : awaited == 0 || late;
]]
	REPLACEMENT [[
	(void)said;
	return awaited == 0 || late;
]])

mutant(NAME record-unwritten KIND test_timelines_forming FILE group/participant.c
	REMOVES "the record is on disk before a node says that it is there"
	TEXT [[
	if (!ready || !record_group(node, proposed->view->group) || !wh_durable_has_entered(node))
		return false;
]]
	REPLACEMENT [[
	(void)record_group(node, proposed->view->group);
	if (!ready || !wh_durable_has_entered(node))
		return false;
]])

mutant(NAME record-unread KIND test_timelines_forming FILE membership/form.c
	REMOVES "what has been in a group forms none by majority"
	TEXT [[
	return !join->records || join->forced || find_recorded(join) < 0;
]]
	REPLACEMENT [[
	(void)find_recorded;
	return true;
]])

mutant(NAME records-of-others-unread KIND test_form FILE membership/form.c
	REMOVES "no majority is formed beside a node that has been in a group"
	TEXT [[
		    roster->known_nodes[node].group != 0)
			return (int)node;
]]
	REPLACEMENT [[
		    roster->known_nodes[node].group == 1)
			return (int)node;
]])

mutant(NAME record-disagrees KIND test_form FILE membership/form.c
	REMOVES "what has been in a group follows no invitation of a majority"
	TEXT [[
	return forced_other(join) < 0 && may_form(join, view->members);
]]
	REPLACEMENT [[
	return view->members > 0;
]])

mutant(NAME founds-again KIND test_timelines_forming FILE membership/form.c
	REMOVES "a founder founds once in its life"
	TEXT [[
	if ((join->record != 0 && !join->forced) || (join->restart != NULL && !wh_restart_may_found(join->restart)))
]]
	REPLACEMENT [[
	if (join->restart != NULL && !wh_restart_may_found(join->restart))
]])

mutant(NAME silent-on-one-host KIND test_timelines_forming FILE membership/form.c
	REMOVES "on one host what holds an id and is silent is waited for: for a time"
	TEXT [[
	return !find_silent(join, &node, &pid) && join->roster->quiet && transport->ops->service(transport) == 0;
]]
	REPLACEMENT [[
	return (!find_silent(join, &node, &pid) ||
		join->roster->loop->now_ns >= join->began_ns + join->patience_ns) &&
	       join->roster->quiet && transport->ops->service(transport) == 0;
]])

mutant(NAME unheard-on-one-host KIND test_form FILE membership/form.c
	REMOVES "on one host what others have said since is taken in before a group is formed"
	TEXT [[
	return !find_silent(join, &node, &pid) && join->roster->quiet && transport->ops->service(transport) == 0;
]]
	REPLACEMENT [[
	(void)transport;
	return !find_silent(join, &node, &pid);
]])

mutant(NAME forced-beside-members KIND test_form FILE membership/form.c
	REMOVES "an operator's word is checked: a member forbids it"
	TEXT [[
		if (known->standing == WH_MEMBER_OF)
			return fail_as_refused(join,
]]
	REPLACEMENT [[
		if (known->standing > WH_MEMBER_OF)
			return fail_as_refused(join,
]])

mutant(NAME forced-beside-invited KIND test_form FILE membership/form.c
	REMOVES "an operator's word is checked: a node that is invited forbids it"
	TEXT [[
		if ((known->follows && !follows_me) || known->forced)
]]
	REPLACEMENT [[
		if (known->forced && !follows_me)
]])

mutant(NAME forced-beside-silent KIND test_form FILE membership/form.c
	REMOVES "an operator's word is checked: a node that says nothing forbids it"
	TEXT [[
	if (refuse_beside_silent(join))
		return 1;
]]
	REPLACEMENT [[
	(void)refuse_beside_silent;
]])

mutant(NAME forced-alone-with-records KIND test_form FILE membership/form.c
	REMOVES "where there are records an operator's word takes a majority"
	TEXT [[
	if (!join->records || join->rule != WH_FORM_MAJORITY)
		return found_group(join);
]]
	REPLACEMENT [[
	if (join->configured > 0)
		return found_group(join);
]])

mutant(NAME forms-beside-forced KIND test_form FILE membership/form.c
	REMOVES "beside a node that an operator has told to form a group nobody forms another"
	TEXT [[
	if (forced_other(join) >= 0)
		return 0;
]]
	REPLACEMENT [[
	(void)forced_other;
]])

mutant(NAME there-joins-another KIND test_first_view FILE membership/join.c
	REMOVES "a node that is there in a first view follows no invitation of another group"
	TEXT [[
	if (is_bound && view->group != join->view->group)
		return false;
]]
	REPLACEMENT [[
	(void)is_bound;
]])

mutant(NAME joins-between KIND test_roster FILE membership/join.c
	REMOVES "a node between two groups that both go on joins neither"
	TEXT [[
	if (member < 0 || wh_join_is_between(join))
]]
	REPLACEMENT [[
	if (member < 0)
]])

mutant(NAME groups-untold KIND test_roster FILE membership/roster.c
	REMOVES "two groups that meet say so"
	TEXT [[
	if (other != 0 && other != roster->other) {
]]
	REPLACEMENT [[
	if (other != 0 && other == roster->other + 1) {
]])

mutant(NAME identity-forgotten KIND test_timelines_forming FILE membership/view.c
	REMOVES "the next view is of the same group"
	TEXT [[
	view->group = before->group;
	view->number = before->number + 1;
	add_survivors(view, before, next
]]
	REPLACEMENT [[
	view->group = before->group + 1;
	view->number = before->number + 1;
	add_survivors(view, before, next
]])
