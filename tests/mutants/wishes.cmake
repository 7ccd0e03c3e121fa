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
		if (draft->asleep || has_members(draft, members))
]]
	REPLACEMENT [[
		if (draft->asleep || has_members(draft, members) || members > 0)
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

mutant(NAME large-undiffering KIND test_wishes FILE membership/compose.c
	REMOVES "those that enter agree on large_bytes"
	TEXT [[
	if (wished->large_bytes != are->large_bytes) {
]]
	REPLACEMENT [[
	if (false) {
]])

mutant(NAME large-unequal KIND test_wishes_wrong FILE membership/view.c
	REMOVES "a subgroup that goes on has the same large_bytes"
	TEXT [[
	       one->large_bytes == other->large_bytes;
]]
	REPLACEMENT [[
	       true;
]])

mutant(NAME large-of-window KIND test_wishes FILE membership/view.c
	REMOVES "a message is no larger than a window"
	TEXT [[
is->large_bytes <= (uint64_t)is->window * is->message_bytes &&
]]
	REPLACEMENT [[
is->large_bytes > 0 &&
]])

mutant(NAME parameters-unlooked KIND test_wishes FILE membership/wishes.c
	REMOVES "the parameters of a wish are checked"
	TEXT [[
	return reader->ok && wh_parameters_hold(&out->parameters);
]]
	REPLACEMENT [[
	return reader->ok;
]])

mutant(NAME view-parameters-unlooked KIND test_wishes FILE membership/wire.c
	REMOVES "the parameters of a subgroup of a view are checked"
	TEXT [[
	return reader->ok && wh_parameters_hold(out);
]]
	REPLACEMENT [[
	return reader->ok;
]])

mutant(NAME number-between KIND test_wire FILE membership/wire.c
	REMOVES "a number of a subgroup is as configured, or a birth"
	TEXT [[
	if (number >= WH_SUBGROUPS_MAX && !is_birth)
]]
	REPLACEMENT [[
	if (number > UINT16_MAX && !is_birth)
]])

# ---- members = wish ----

mutant(NAME wish-has-shards KIND test_layout FILE membership/layout.c
	REMOVES "a subgroup that nodes enter has no shards of the file"
	TEXT [[
	return wh_subgroup_is_wished(text) ? 0 : text->shards;
]]
	REPLACEMENT [[
	return text->shards;
]])

mutant(NAME wish-senders KIND test_layout FILE membership/layout.c
	REMOVES "of a subgroup that nodes enter the file names no senders"
	TEXT [[
	if (is_wish(members) && strcmp(list, "all") != 0)
]]
	REPLACEMENT [[
	if (is_wish(members) && list[0] == '\0')
]])

mutant(NAME wish-shared-out KIND test_layout FILE membership/layout.c
	REMOVES "a subgroup that nodes enter is whole"
	TEXT [[
	if (is_wish(members) && shards > 1)
]]
	REPLACEMENT [[
	if (is_wish(members) && shards > WH_SHARDS_MAX)
]])

mutant(NAME wish-minimum KIND test_group_config FILE group/config/config.c
	REMOVES "a subgroup that nodes enter begins with one member"
	TEXT [[
	if (strcmp(options->members, "wish") == 0 && options->members_min > 1)
]]
	REPLACEMENT [[
	if (strcmp(options->members, "wish") == 0 && options->members_min > WH_NODES_MAX)
]])

mutant(NAME wish-of-file-refused KIND test_wishes FILE membership/compose.c
	REMOVES "a name that the file has for nodes to enter is met"
	TEXT [[
		if (!wh_subgroup_is_wished(&layout->subgroups[i]) && strcmp(layout->subgroups[i].name, name) == 0)
]]
	REPLACEMENT [[
		if (strcmp(layout->subgroups[i].name, name) == 0)
]])

mutant(NAME wish-of-file-unread KIND test_wishes_wrong FILE membership/wire.c
	REMOVES "a view may have what the file has for nodes to enter"
	TEXT [[
		if (!wh_subgroup_is_wished(&layout->subgroups[i]))
]]
	REPLACEMENT [[
		if (layout->subgroups[i].name != NULL)
]])

mutant(NAME wish-has-a-handle KIND test_group_open FILE group/node.c
	REMOVES "of a subgroup that it has not entered a node has no handle"
	TEXT [[
	if (wh_subgroup_is_wished(text)) /* it is in what it enters, and that is no place of the file's */
		return false;
]]
	REPLACEMENT [[
]])

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

mutant(NAME changes-cost-nothing KIND test_collect FILE membership/collect.c
	REMOVES "where changes take long more wishes are waited for"
	TEXT [[
		collect->cost_ns = cost_ns < WH_COLLECT_COST_NS ? cost_ns : WH_COLLECT_COST_NS;
]]
	REPLACEMENT [[
		collect->cost_ns = 0 * cost_ns;
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

mutant(NAME refused-untold KIND test_wishing FILE membership/wishing.c
	REMOVES "the caller is told what of its wishes is refused"
	TEXT [[
	tell(wishing, &message->refusal);
]]
	REPLACEMENT [[
	(void)tell;
]])

mutant(NAME refused-told-again KIND test_wishing FILE membership/wishing.c
	REMOVES "the caller is told once of each wish that is refused"
	TEXT [[
	if (wishing->on_refused == NULL || wishing->told[refusal->wish])
]]
	REPLACEMENT [[
	if (wishing->on_refused == NULL)
]])

mutant(NAME told-for-ever KIND test_wishing FILE membership/wishing.c
	REMOVES "of a wish of another set the caller is told again"
	TEXT [[
	memset(wishing->told, 0, sizeof(wishing->told));
]]
	REPLACEMENT [[
	memset(wishing->told, 0, 0);
]])

# ---- serving: the first five are what the model of a change finds (tests/models/change.h, enum wish_mutation) ----

mutant(NAME unread-acknowledged KIND test_serve_follow FILE membership/propose.c
	REMOVES "a member that does not have a view which serves wishes does not go along with it"
	TEXT [[
	if (come == WHORL_AGAIN)
		return;
]]
	REPLACEMENT [[
	if (come == WHORL_AGAIN)
		come = WHORL_OK;
]])

mutant(NAME leaves-out-and-serves KIND test_serve FILE membership/propose.c
	REMOVES "what leaves a member out serves no wishes"
	TEXT [[
	publish_attempt(change, NULL, 0, false, 0); /* what follows a failure follows from rows */
]]
	REPLACEMENT [[
	publish_attempt(change, NULL, 0, false, serve_wishes(change, change->coming, 0, false, true));
]])

mutant(NAME successor-unchecked KIND test_serve_follow FILE membership/propose.c
	REMOVES "a view that is no successor is not acknowledged"
	TEXT [[
	if (view != NULL && wh_serve_check(change, view, &next, &wrong) != WHORL_OK) {
]]
	REPLACEMENT [[
	if (view != NULL && wh_serve_check(change, view, &next, &wrong) == WHORL_AGAIN) {
]])

mutant(NAME replaced-set-acknowledged KIND test_serve_follow FILE membership/serve.c
	REMOVES "a view that serves a set which was replaced is not acknowledged"
	TEXT [[
	if (is == WH_SUCCEEDS)
]]
	REPLACEMENT [[
	if (is == WH_SUCCEEDS || is == WH_OUT_OF_DATE)
]])

mutant(NAME proposed-once KIND test_serve FILE membership/propose.c
	REMOVES "a leader proposes anew when a set has come that replaces one which it serves"
	TEXT [[
	if (count == change->coming_count && !wh_change_finds_keeps(change) && !wh_serve_is_replaced(change))
]]
	REPLACEMENT [[
	if (count == change->coming_count && !wh_change_finds_keeps(change))
]])

mutant(NAME replaced-unserved KIND test_serve FILE membership/serving.c
	REMOVES "a set of a member of which a proposal serves none goes into the next view"
	TEXT [[
		if (serving->serves_anew[rank] && of->set != NULL && of->incarnation == next->incarnations[rank] &&
]]
	REPLACEMENT [[
		if (of->set != NULL && of->incarnation == next->incarnations[rank] &&
]])

mutant(NAME crossing-breaks KIND test_serve_follow FILE membership/serve.c
	REMOVES "a leader that serves a set which was replaced is not broken"
	TEXT [[
	return is == WH_OUT_OF_DATE ? WHORL_AGAIN : WHORL_INVALID;
]]
	REPLACEMENT [[
	*why = "next view serves a set that was replaced";
	return WHORL_INVALID;
]])

mutant(NAME says-anew-meanwhile KIND test_serve_follow FILE membership/serve.c
	REMOVES "while a proposal with wishes is under way a member says no new set"
	TEXT [[
	serving->wishing.held = digest != 0;
]]
	REPLACEMENT [[
	serving->wishing.held = digest == 1;
]])

mutant(NAME holds-for-good KIND test_serve_follow FILE membership/serve.c
	REMOVES "when a proposal with wishes is given up a member says what it held back"
	TEXT [[
	serving->wishing.held = digest != 0;
]]
	REPLACEMENT [[
	serving->wishing.held = serving->wishing.held || digest != 0;
]])

mutant(NAME out-and-served KIND test_serve_follow FILE membership/propose.c
	REMOVES "a leader that serves wishes in what leaves a member out is broken"
	TEXT [[
	if (wrong == NULL && *digest_in(change) != 0 && leaves_somebody_out(change))
]]
	REPLACEMENT [[
	if (wrong == NULL && *digest_in(change) == 1 && leaves_somebody_out(change))
]])

mutant(NAME digest-unlooked KIND test_serve_follow FILE membership/serving.c
	REMOVES "bytes of another digest are not those of the proposal"
	TEXT [[
	if (digest != ((uint64_t)whole.total << 32 | wh_crc32c(0, whole.bytes, whole.total)))
]]
	REPLACEMENT [[
	if (digest == 0)
]])

mutant(NAME any-bytes KIND test_serve_follow FILE membership/serving.c
	REMOVES "bytes are of one attempt, and whole"
	TEXT [[
	if (whole.bytes == NULL || whole.key != key || whole.have < whole.total)
]]
	REPLACEMENT [[
	if (whole.bytes == NULL || key == 0)
]])

mutant(NAME early-bytes-dropped KIND test_serve_follow FILE membership/serving.c
	REMOVES "bytes may come before the view that they follow has begun"
	TEXT [[
		if (wh_image_view(serving->come[node].key) <= view->number)
]]
	REPLACEMENT [[
		if (serving->come[node].bytes != NULL)
]])

mutant(NAME wished-before-sent KIND test_serve_follow FILE membership/serve.c
	REMOVES "a row says that a set was sent when it has been"
	TEXT [[
	if (wishing->said.number <= served || !has_said(wishing, leader))
]]
	REPLACEMENT [[
	if (wishing->said.number <= served || (!has_said(wishing, leader) && leader == UINT32_MAX))
]])

mutant(NAME wished-unread KIND test_serve FILE membership/serve.c
	REMOVES "a leader waits for a set that a row says is on its way"
	TEXT [[
		wished[rank] = wh_row(change, rank, change->columns.wished);
]]
	REPLACEMENT [[
		wished[rank] = 0;
]])

mutant(NAME refused-behind KIND test_serve FILE membership/serving.c
	REMOVES "a member hears what is refused before it sees a view without it"
	TEXT [[
		if (view->ids[rank] != serving->roster->id && !is_untold(serving, view->ids[rank]))
]]
	REPLACEMENT [[
		if (view->ids[rank] != serving->roster->id && (!is_untold(serving, view->ids[rank]) || rank > 0))
]])

mutant(NAME invites-untold KIND test_serve FILE membership/propose.c
	REMOVES "a newcomer hears what is refused before it is invited"
	TEXT [[
	if (change->ticket != 0 && !wh_serve_has_told_newcomers(change))
		return work + look_after(change);
]]
	REPLACEMENT "")

mutant(NAME untold-for-ever KIND test_serve FILE membership/propose.c
	REMOVES "a newcomer that cannot be told what is refused is left out in time"
	TEXT [[
	if (change->ticket != 0 && !wh_serve_has_told_newcomers(change))
		return work + look_after(change);
]]
	REPLACEMENT [[
	if (change->ticket != 0 && !wh_serve_has_told_newcomers(change))
		return work;
]])

mutant(NAME refused-view KIND test_serve FILE membership/serving.c
	REMOVES "there is no view for sets that change nothing"
	TEXT [[
	return serving->composed.changes || (serves && !alone) ? write_next(serving, key) : 0;
]]
	REPLACEMENT [[
	return serving->composed.changes || serves || alone ? write_next(serving, key) : 0;
]])

mutant(NAME wishes-first KIND test_serve FILE membership/propose.c
	REMOVES "after an attempt was given up newcomers come in without wishes"
	TEXT [[
	change->may_serve = !change->one_at_a_time || (!rows_alone && count == 0);
]]
	REPLACEMENT [[
	change->may_serve = !change->one_at_a_time || !rows_alone;
]])

mutant(NAME newcomers-always-first KIND test_serve FILE membership/propose.c
	REMOVES "wishes and newcomers take turns once an attempt was given up"
	TEXT [[
	if (change->one_at_a_time && due && change->serves_next)
		most = 0;
]]
	REPLACEMENT [[
	if (change->one_at_a_time && due && change->serves_next && most == 0)
		most = 0;
]])

mutant(NAME roles-wait-for-bytes KIND test_serve FILE membership/propose.c
	REMOVES "once an attempt was given up roles do not wait for bytes"
	TEXT [[
	change->may_serve = !change->one_at_a_time || (!rows_alone && count == 0);
]]
	REPLACEMENT [[
	(void)rows_alone;
	change->may_serve = !change->one_at_a_time || count == 0;
]])

# ---- newcomers ----

mutant(NAME wishes-unsaid KIND test_join_wishes FILE membership/join.c
	REMOVES "a newcomer says what it wishes behind what it asks"
	TEXT [[
	work += say_wishes(join);
]]
	REPLACEMENT [[
	(void)say_wishes;
]])

mutant(NAME newcomer-unplaced KIND test_join_wishes FILE membership/join.c
	REMOVES "a newcomer looks whether it is where it wishes to be"
	TEXT [[
	return places != WH_NO_SUCCESSOR;
]]
	REPLACEMENT [[
	return places != WH_NO_SUCCESSOR || view != NULL;
]])

mutant(NAME newcomer-follows-replaced KIND test_join_wishes FILE membership/join.c
	REMOVES "a newcomer does not follow an invitation by a set that it has replaced"
	TEXT [[
	if (places == WH_SUCCEEDS && goes_together(join, from, view))
]]
	REPLACEMENT [[
	if (places != WH_NO_SUCCESSOR && goes_together(join, from, view))
]])

mutant(NAME newcomer-says-on KIND test_join_wishes FILE membership/join.c
	REMOVES "a newcomer that has passed over an invitation says nothing new before the next"
	TEXT [[
	if (places == WH_OUT_OF_DATE) /* another comes, which serves what I said last */
		hold_wishes(join, true);
]]
	REPLACEMENT "")

mutant(NAME newcomer-holds-for-good KIND test_join_wishes FILE membership/join.c
	REMOVES "a newcomer says what it held back when no other invitation comes"
	TEXT [[
	if (join->state == WH_JOIN_SEEKING) /* what I had passed over, and of which no other has come */
		hold_wishes(join, false);
]]
	REPLACEMENT "")

mutant(NAME dynamic-unasked KIND test_join_wishes FILE membership/join.c
	REMOVES "where no node wishes anything no view has dynamic subgroups"
	TEXT [[
		return view->dynamic_count > 0 ? WH_NO_SUCCESSOR : wh_wishes_place(view, me, &nothing, refused, NULL);
]]
	REPLACEMENT [[
		return me == UINT32_MAX ? wh_wishes_place(view, me, &nothing, refused, NULL) : WH_SUCCEEDS;
]])

mutant(NAME poor-leader-broken KIND test_serve_memory FILE membership/serve.c
	REMOVES "a leader is not broken because there is no memory here to look at what it has sent"
	TEXT [[
	if (result != WHORL_OK)
		return WHORL_MEMORY;
]]
	REPLACEMENT [[
	*why = "next view cannot be looked at";
	if (result != WHORL_OK)
		return WHORL_INVALID;
]])

mutant(NAME refused-and-met KIND test_serve_random FILE membership/compose.c
	REMOVES "what a node has been told is refused is not met later"
	TEXT [[
	if (wish->refused)
		return true;
]]
	REPLACEMENT "")

mutant(NAME refusal-outruns KIND test_serve_random FILE membership/succeed.c
	REMOVES "a member waits when a refusal has come before the view that met the wish"
	TEXT [[
	if (meets_refused(view, me, mine, refused))
		return WH_OUT_OF_DATE;
]]
	REPLACEMENT [[
	if (meets_refused(view, me, mine, refused))
		return verdict("it places me where I do not wish to be", why);
]])

mutant(NAME look-asked-once KIND test_serve FILE membership/serve.c
	REMOVES "each pass of a leader asks to be woken when wishes have waited long enough"
	TEXT [[
		if (serving->look_ns != 0) /* each pass says anew what it waits for */
]]
	REPLACEMENT [[
		if (serving->look_ns == 1)
]])
