# joining.cmake - mechanisms by which a node comes into a view, or a group begins (docs/decisions/0016), taken out one at a time. See
# mutants.cmake and views.cmake.

# ---- the newcomer ----

mutant(NAME asks-anybody KIND views FILE membership/join.c
	REMOVES "a node that wants to come in asks the leader"
	TEXT [[
	if (leader >= roster->nodes || roster->known_nodes[leader].incarnation == 0 ||
	    roster->known_nodes[leader].standing != WH_MEMBER_OF)
		leader = (uint32_t)member;
]]
	REPLACEMENT [[
	leader = (uint32_t)member;
]])

mutant(NAME asks-once KIND views FILE membership/join.c
	REMOVES "a node that wants to come in asks again"
	TEXT [[
	if (leader == join->asked && join->asked_ns != 0 && now < join->asked_ns + ASK_AGAIN_NS) {
]]
	REPLACEMENT [[
	if (leader == join->asked && join->asked_ns != 0) {
]])

mutant(NAME asks-the-oldest KIND views FILE membership/join.c SEED 605
	REMOVES "of the nodes that say that they are members one of the latest view is asked"
	TEXT [[
	return one->quorum != other->quorum ? one->quorum : one->view > other->view;
]]
	REPLACEMENT [[
	return one->quorum != other->quorum ? one->quorum : one->view < other->view;
]])

mutant(NAME there-untold KIND views FILE membership/join.c
	REMOVES "a newcomer that is there says so to the leader"
	TEXT [[
	join->said_there = join->said_there || say_there(join, true);
]]
	REPLACEMENT "")

mutant(NAME opened-untold KIND test_join FILE membership/join.c
	REMOVES "a newcomer that has opened its image says so"
	TEXT [[
		join->said_open = join->said_open || say_there(join, false);
]]
	REPLACEMENT "")

mutant(NAME lower-key-counts KIND test_join FILE membership/join.c
	REMOVES "of two invitations the one with the greater key counts"
	TEXT [[
		return !follows || key > join->key;
	if (join->restart
]]
	REPLACEMENT [[
		return !follows || key != join->key;
	if (join->restart
]])

mutant(NAME never-void KIND test_join FILE membership/join.c
	REMOVES "an invitation is void when all nodes that could tell are lost"
	TEXT [[
	else if (has_lost_its_members(join))
		why = "members gone";
]]
	REPLACEMENT [[
	(void)has_lost_its_members;
]])

mutant(NAME void-without-leader KIND views FILE membership/join.c
	WORDS --set sim.nodes_min=3 --set sim.nodes_max=3 --set sim.subgroups_max=1 --set sim.latency_max_us=200
	      --fault "join 3 at 1 ms" --fault "crash 0 after decide 1"
	      --fault "slow 1,2 to 3 by 1000 for 60 ms at 5 ms"
	REMOVES "an invitation stays when only the leader is gone"
	TEXT [[
	else if (has_lost_its_members(join))
		why = "members gone";
]]
	REPLACEMENT [[
	else if (has_lost_its_members(join) || join->roster->known_nodes[join->by].incarnation == 0)
		why = "members gone";
]])

mutant(NAME no-members-count KIND test_join FILE membership/join.c
	REMOVES "a member that says it is none cannot tell that a view has begun"
	TEXT [[
		if (is_new(view, rank) || (is_none && waited_ns >= join->start_timeout_ns) ||
]]
	REPLACEMENT [[
		(void)is_none;
		if (is_new(view, rank) ||
]])

mutant(NAME never-overtaken KIND test_join FILE membership/join.c
	REMOVES "an invitation is void when somebody is in another view of that number, or a later one"
	TEXT [[
	if (why == NULL && is_overtaken(join))
		why = "overtaken";
]]
	REPLACEMENT [[
	(void)is_overtaken;
]])

mutant(NAME dropped-unlooked KIND test_join FILE membership/join.c
	REMOVES "before an invitation is dropped its rows are looked at"
	TEXT [[
	if (join->state != WH_JOIN_SEEKING)
		work += come_into_view(join);
	if (join->state == WH_JOIN_IN)
		return work;
	if (join->state != WH_JOIN_SEEKING)
		look_after(join);
]]
	REPLACEMENT [[
	if (join->state != WH_JOIN_SEEKING)
		look_after(join);
	if (join->state != WH_JOIN_SEEKING)
		work += come_into_view(join);
	if (join->state == WH_JOIN_IN)
		return work;
]])

mutant(NAME enters-with-newcomers KIND views FILE group/epoch.c
	REMOVES "a view has begun when a member that is not new beats, or one that has begun it"
	TEXT [[
					 wh_rank_find(view->joined, view->joined_count, view->ids[rank]) < 0);
]]
	REPLACEMENT [[
					 view->number > 0);
]])

mutant(NAME enters-unasked KIND views FILE group/participant.c
	REMOVES "a newcomer enters when the view has begun: it does when it is there"
	TEXT [[
	if (view->number != 0)
		return wh_is_first_view(proposed->image->key) && there + lost == view->members &&
		       wh_restart_may_begin(&node->entry.restart, proposed->image->key) &&
		       wh_restart_is_enough(&node->entry.join, view, proposed->image->key);
]]
	REPLACEMENT [[
	if (view->number != 0)
		return node->epochs.current == NULL;
]])

mutant(NAME begun-is-said-late KIND test_heartbeat FILE membership/heartbeat.c
	REMOVES "a node that has read its log says at once that the view has begun"
	TEXT [[
		heartbeat->next_push_ns = 0;
]]
	REPLACEMENT [[
		heartbeat->next_push_ns += 0;
]])

mutant(NAME arrived-is-begun KIND views FILE membership/heartbeat.c
	REMOVES "the heartbeat of a newcomer that is there says nothing of the view's beginning"
	TEXT [[
	return value == 0 ? WH_BEAT_NONE : (value & BEGUN) == 0 ? WH_BEAT_THERE : WH_BEAT_BEGUN;
]]
	REPLACEMENT [[
	return value == 0 ? WH_BEAT_NONE : value < FIRST ? WH_BEAT_THERE : WH_BEAT_BEGUN;
]])

mutant(NAME beats-undecided KIND views FILE group/participant.c
	REMOVES "members beat in the next view's memory once the decision is final"
	TEXT [[
	if (node->epochs.current != NULL)
		return wh_durable_is_prepared(proposed) && ready;
]]
	REPLACEMENT [[
	if (node->epochs.current != NULL && ready)
		wh_heartbeat_beat(&proposed->heartbeat);
	if (node->epochs.current != NULL)
		return wh_durable_is_prepared(proposed) && ready;
]])

# ---- the first view ----

mutant(NAME forms-unsearched KIND test_join_refused FILE membership/join.c
	REMOVES "a node forms no group before it has looked for all that are there"
	TEXT [[
	if (transport->ops->searching(transport))
		return true;
]]
	REPLACEMENT [[
	(void)transport;
]])

mutant(NAME forms-unintroduced KIND test_form FILE membership/join.c
	REMOVES "a node forms no group before all that it has met have said what they are"
	TEXT [[
		if (join->roster->known_nodes[node].incarnation != 0 && !join->roster->known_nodes[node].introduced)
			return true;
]]
	REPLACEMENT [[
		continue;
]])

mutant(NAME silent-are-awaited KIND views FILE membership/join.c
	SEED 2 WORDS --set sim.nodes_min=3 --set sim.nodes_max=3 --set sim.subgroups_max=1
	      --set sim.messages_max=2 --set sim.deliveries_max=20 --set sim.latency_max_us=2000
	      --fault "crash 1 silently at met 1" --fault "return 1 at 0.286 ms"
	REMOVES "a node that does not say what it is is not waited for for ever"
	TEXT [[
	if (join->roster->loop->now_ns >= join->began_ns + join->patience_ns)
		return false;
	for
]]
	REPLACEMENT [[
	for
]])

mutant(NAME forms-beside-members KIND test_first_view FILE membership/join.c
	REMOVES "a node that has met a member forms nothing"
	TEXT [[
	       join->roster->id < join->configured && wh_join_member(join) < 0 &&
]]
	REPLACEMENT [[
	       join->roster->id < join->configured &&
]])

mutant(NAME floor-forgotten KIND test_first_view FILE membership/join.c
	REMOVES "a first view that was dropped is not followed again"
	TEXT [[
	if (!wh_join_forms(join) || key <= join->floor)
		return false;
]]
	REPLACEMENT [[
	if (!wh_join_forms(join))
		return false;
]])

mutant(NAME there-follows-another KIND test_first_view FILE membership/join.c
	REMOVES "a node that is there in a first view has promised to go on in it: it follows another invitation"
	TEXT [[
	return !follows ||
	       (join->state == WH_JOIN_INVITED && wh_is_first_view(join->key) && from == join->by &&
]]
	REPLACEMENT [[
	return !follows || (wh_is_first_view(join->key) && from == join->by &&
]])

mutant(NAME follows-two KIND test_first_view FILE membership/join.c
	REMOVES "a node that follows an invitation into a first view does not hear another coordinator"
	TEXT [[
	return !follows ||
	       (join->state == WH_JOIN_INVITED && wh_is_first_view(join->key) && from == join->by &&
]]
	REPLACEMENT [[
	(void)from;
	return !follows || (join->state == WH_JOIN_INVITED && wh_is_first_view(join->key) &&
]])

mutant(NAME there-withdraws KIND test_join FILE membership/join.c
	REMOVES "a node that is there in a first view goes on in it, though its coordinator withdraws"
	TEXT [[
	if (join->state == WH_JOIN_INVITED || (join->view != NULL && is_behind_restart(join->view, join->key))
		    ? node == join->by
		    : !wh_is_first_view(message->key))
]]
	REPLACEMENT [[
	if (node == join->by || !wh_is_first_view(message->key))
]])

mutant(NAME there-gives-up KIND views FILE membership/join.c
	REMOVES "a node that is there in a first view goes on in it, though its coordinator is gone, or it takes long"
	TEXT [[
		return now >= join->there_ns + WH_THERE_TIMEOUTS * join->start_timeout_ns ? "nobody comes" : NULL;
]]
	REPLACEMENT [[
		return now >= join->there_ns + WH_THERE_TIMEOUTS ? "nobody comes" : NULL;
]])

mutant(NAME there-for-ever KIND test_first_view FILE membership/join.c
	REMOVES "a node that is there in a first view into which no other comes gives it up in the end"
	TEXT [[
		return now >= join->there_ns + WH_THERE_TIMEOUTS * join->start_timeout_ns ? "nobody comes" : NULL;
]]
	REPLACEMENT [[
		return NULL;
]])

mutant(NAME minority-is-there KIND test_first_view FILE membership/join.c
	REMOVES "a first view that no majority can be in any more is dropped"
	TEXT [[
	return 2 * left > view->voters;
}
]]
	REPLACEMENT [[
	return left > 0;
}
]])

mutant(NAME first-for-ever KIND views FILE membership/join.c
	REMOVES "an invitation into a first view is given up after a while"
	TEXT [[
	if (now >= until)
		return "not all came";
]]
	REPLACEMENT [[
	(void)now;
]])

mutant(NAME void-without-coordinator KIND test_first_view FILE membership/join.c
	REMOVES "a first view may have begun though its coordinator is gone"
	TEXT [[
	return NULL; /* also if the coordinator is gone: some node may have begun it */
]]
	REPLACEMENT [[
	return join->by == join->roster->id || join->roster->known_nodes[join->by].incarnation != 0 ? NULL
												 : "coordinator gone";
]])

mutant(NAME dropped-untold KIND test_first_view FILE membership/join.c
	REMOVES "a node that drops a first view tells all that are in it"
	TEXT [[
		wh_join_requests_renounce(join->requests, join->view, join->key);
		join->floor
]]
	REPLACEMENT [[
		join->floor
]])

mutant(NAME dropped-unheard KIND test_first_view FILE membership/roster.c
	REMOVES "a node that has dropped a first view has no part in it"
	TEXT [[
	if (wh_is_first_view(message->key) && message->key > 0 && key > known->dropped)
		known->dropped = key;
]]
	REPLACEMENT [[
	(void)known;
	(void)key;
]])

mutant(NAME dropped-shrinks KIND test_first_view FILE membership/roster.c
	REMOVES "a node that has dropped a first view has no part in earlier ones either"
	TEXT [[
	if (wh_is_first_view(message->key) && message->key > 0 && key > known->dropped)
]]
	REPLACEMENT [[
	if (wh_is_first_view(message->key) && message->key > 0)
]])

mutant(NAME invites-and-stays KIND test_roster FILE membership/roster.c
	REMOVES "a node that invites into a first view has no part in those before"
	TEXT [[
	uint64_t key = message->key - (message->kind == WH_WIRE_VIEW);
]]
	REPLACEMENT [[
	uint64_t key = message->kind == WH_WIRE_VIEW ? 0 : message->key;
]])

mutant(NAME wishes-starve KIND test_prepare_rests FILE membership/propose.c
	REMOVES "members' wishes do not wait for newcomers that may never come"
	TEXT [[
	if (change->one_at_a_time && (wishes || renews)) /* members do not wait for newcomers that may never come */
		most = 0;
]]
	REPLACEMENT "")

mutant(NAME hasty-followers KIND test_first_view FILE membership/join.c
	REMOVES "it is the coordinator that gives up a first view which not all come into"
	TEXT [[
	return join->invited_ns + (waits ? WH_SILENT_TIMEOUTS : 1) * join->start_timeout_ns;
]]
	REPLACEMENT [[
	(void)waits;
	return join->invited_ns + join->start_timeout_ns;
]])

mutant(NAME one-begins KIND views FILE group/participant.c
	SEED 1230 WORDS --set sim.nodes_min=5 --set sim.nodes_max=5 --set sim.subgroups_max=1
	      --set sim.messages_max=2 --set sim.deliveries_max=20 --set sim.latency_max_us=20
	      --fault "stall 4 for 5.867 ms at 1.871 ms"
	REMOVES "a first view begins when all are there, or lost, or late: it does when one is"
	TEXT [[
	if (2 * there <= view->voters)
		return false;
	return node->entry.join.rule == WH_FORM_ALL ? said == view->members : awaited == 0 || late;
]]
	REPLACEMENT [[
	(void)late;
	(void)said;
	return (awaited == 0 || there > 1);
]])

mutant(NAME begins-at-majority KIND test_timelines_forming FILE group/participant.c
	REMOVES "a first view waits for all that were invited: it begins with a majority"
	TEXT [[
	if (2 * there <= view->voters)
		return false;
	return node->entry.join.rule == WH_FORM_ALL ? said == view->members : awaited == 0 || late;
]]
	REPLACEMENT [[
	(void)awaited;
	(void)late;
	(void)said;
	return 2 * there > view->voters;
]])

mutant(NAME begins-in-minority KIND views FILE group/participant.c
	SEED 1230 WORDS --set sim.nodes_min=5 --set sim.nodes_max=5 --set sim.subgroups_max=1
	      --set sim.messages_max=2 --set sim.deliveries_max=20 --set sim.latency_max_us=20
	      --fault "stall 4 for 5.867 ms at 1.871 ms"
	REMOVES "a first view begins only with a majority"
	TEXT [[
	if (2 * there <= view->voters)
		return false;
	return node->entry.join.rule == WH_FORM_ALL ? said == view->members : awaited == 0 || late;
]]
	REPLACEMENT [[
	(void)said;
	return (awaited == 0 || late) && there > 0;
]])

mutant(NAME two-coordinate KIND test_form FILE membership/form.c
	REMOVES "a coordinator that meets a lower one withdraws"
	TEXT [[
		wh_join_drop(join, "not the lowest");
]]
	REPLACEMENT [[
		wh_loop_at(join->roster->loop, UINT64_MAX);
]])

mutant(NAME all-coordinate KIND test_first_view FILE membership/form.c
	REMOVES "the lowest of the forming nodes coordinates: all do"
	TEXT [[
	join->passes_over = is_lower(join, 0);
]]
	REPLACEMENT [[
	join->passes_over = false;
]]
	TEXT_2 [[
		wh_join_drop(join, "not the lowest");
]]
	REPLACEMENT_2 [[
		wh_loop_at(join->roster->loop, UINT64_MAX);
]])

mutant(NAME lower-first-keys KIND test_form FILE membership/form.c
	REMOVES "the key of a first view is greater than all that the nodes that come have seen"
	TEXT [[
		if (is_forming(join, node) && node != join->roster->id && join->roster->known_nodes[node].key > floor)
			floor = join->roster->known_nodes[node].key;
]]
	REPLACEMENT [[
		continue;
]])

mutant(NAME invites-all-again KIND test_form FILE membership/form.c
	REMOVES "a node that did not come is left out of the next first view"
	TEXT [[
	       join->roster->known_nodes[node].not_before_ns <= join->roster->loop->now_ns;
]]
	REPLACEMENT [[
	       node != UINT32_MAX;
]])

mutant(NAME quorum-of-few KIND views FILE membership/form.c
	REMOVES "the quorum of a first view is taken of all configured nodes"
	TEXT [[
	return invite_newcomers(join, newcomers, count, join->configured);
]]
	REPLACEMENT [[
	return invite_newcomers(join, newcomers, count, count);
]])

mutant(NAME minority-forms KIND views FILE membership/form.c
	REMOVES "a first view has more than half of the configured nodes"
	TEXT [[
	if ((count < join->configured && now < until) || !may_form(join, count)) {
]]
	REPLACEMENT [[
	if (count < join->configured && now < until) {
]]
	TEXT_2 [[
	return invite_newcomers(join, newcomers, count, join->configured);
]]
	REPLACEMENT_2 [[
	return invite_newcomers(join, newcomers, count, count);
]])

mutant(NAME gone-is-not-lost KIND test_join FILE membership/roster.c
	REMOVES "a life that has ended is lost to the views that it was invited into"
	TEXT [[
	keep_life(known->ended, before.incarnation);
]]
	REPLACEMENT [[
	keep_life(known->ended, 0);
]])

mutant(NAME silent-coordinates KIND test_form_silent FILE membership/form.c
	REMOVES "a coordinator that is silent is passed over after a while"
	TEXT [[
	if (join->passes_over && (now < join->could_ns + silence_ns || is_lower(join, now - silence_ns + 1)))
]]
	REPLACEMENT [[
	if (join->passes_over && silence_ns > 0)
]])
