# entries.cmake - mechanisms by which a node comes into a view, or a group begins (docs/decisions/0016), taken out one at a time. See
# mutants.cmake and views.cmake.

# ---- the newcomer ----

mutant(NAME asks-anybody KIND views FILE membership/entry.c
	REMOVES "who wants to come in asks the leader"
	TEXT [[
	if (leader >= lobby->nodes || lobby->guests[leader].incarnation == 0 ||
	    lobby->guests[leader].standing != WH_MEMBER_OF)
		leader = (uint32_t)member;
]]
	REPLACEMENT [[
	leader = (uint32_t)member;
]])

mutant(NAME asks-once KIND views FILE membership/entry.c
	REMOVES "who wants to come in asks again"
	TEXT [[
	if (leader == entry->asked && entry->asked_ns != 0 && now < entry->asked_ns + ASK_AGAIN_NS) {
]]
	REPLACEMENT [[
	if (leader == entry->asked && entry->asked_ns != 0) {
]])

mutant(NAME asks-the-oldest KIND views FILE membership/entry.c
	REMOVES "of those who say that they are members one of the latest view is asked"
	TEXT [[
	return one->quorum != other->quorum ? one->quorum : one->view > other->view;
]]
	REPLACEMENT [[
	return one->quorum != other->quorum ? one->quorum : one->view < other->view;
]])

mutant(NAME there-untold KIND views FILE membership/entry.c
	REMOVES "who is there says so to the leader"
	TEXT [[
	entry->said_there = entry->said_there || say_there(entry, true);
]]
	REPLACEMENT "")

mutant(NAME opened-untold KIND test_entry FILE membership/entry.c
	REMOVES "who has opened its image says so"
	TEXT [[
		entry->said_open = entry->said_open || say_there(entry, false);
]]
	REPLACEMENT "")

mutant(NAME lower-key-counts KIND test_entry FILE membership/entry.c
	REMOVES "of two invitations the one with the greater key counts"
	TEXT [[
		return !follows || key > entry->key;
	if (!wh_entry_forms
]]
	REPLACEMENT [[
		return !follows || key != entry->key;
	if (!wh_entry_forms
]])

mutant(NAME never-void KIND test_entry FILE membership/entry.c
	REMOVES "an invitation is void when all who could tell are lost"
	TEXT [[
	else if (has_lost_its_members(entry))
		why = "members gone";
]]
	REPLACEMENT [[
	(void)has_lost_its_members;
]])

mutant(NAME void-without-leader KIND views FILE membership/entry.c
	SEED 3800 WORDS --set sim.nodes_min=3 --set sim.nodes_max=3 --set sim.subgroups_max=1
	      --set sim.messages_max=20 --set sim.deliveries_max=300 --set sim.latency_max_us=200
	      --fault "join 3 at 0.934 ms" --fault "crash 0 silently at decide 1"
	      --fault "cut 0,1 and 2 for 44.598 ms at 20.377 ms" --fault "crash 0 after wedge 1"
	      --fault "crash 2 at 29.156 ms" --fault "return 2 at 78.700 ms"
	REMOVES "an invitation stays when only the leader is gone"
	TEXT [[
	else if (has_lost_its_members(entry))
		why = "members gone";
]]
	REPLACEMENT [[
	else if (has_lost_its_members(entry) || entry->lobby->guests[entry->by].incarnation == 0)
		why = "members gone";
]])

mutant(NAME no-members-count KIND test_entry FILE membership/entry.c
	REMOVES "a member that says it is none cannot tell that a view has begun"
	TEXT [[
		if (is_new(view, rank) || (is_none && waited_ns >= entry->start_timeout_ns) ||
]]
	REPLACEMENT [[
		(void)is_none;
		if (is_new(view, rank) ||
]])

mutant(NAME never-overtaken KIND test_entry FILE membership/entry.c
	REMOVES "an invitation is void when somebody is in another view of that number, or a later one"
	TEXT [[
	if (why == NULL && is_overtaken(entry))
		why = "overtaken";
]]
	REPLACEMENT [[
	(void)is_overtaken;
]])

mutant(NAME dropped-unlooked KIND test_entry FILE membership/entry.c
	REMOVES "before an invitation is dropped its rows are looked at"
	TEXT [[
	if (entry->state != WH_ENTRY_SEEKING)
		work += arrive(entry);
	if (entry->state == WH_ENTRY_IN)
		return work;
	if (entry->state != WH_ENTRY_SEEKING)
		look_after(entry);
]]
	REPLACEMENT [[
	if (entry->state != WH_ENTRY_SEEKING)
		look_after(entry);
	if (entry->state != WH_ENTRY_SEEKING)
		work += arrive(entry);
	if (entry->state == WH_ENTRY_IN)
		return work;
]])

mutant(NAME enters-with-newcomers KIND views FILE group/epoch.c
	REMOVES "a view has begun when a member that is not new beats, or one who has begun it"
	TEXT [[
	       (beat == WH_BEAT_THERE && wh_rank_find(view->joined, view->joined_count, view->ids[rank]) < 0);
]]
	REPLACEMENT [[
	       (beat == WH_BEAT_THERE && view->number > 0);
]])

mutant(NAME enters-unasked KIND views FILE group/enter.c
	REMOVES "a newcomer enters when the view has begun: it does when it is there"
	TEXT [[
	if (view->number != 0 || 2 * there <= view->voters)
		return false;
]]
	REPLACEMENT [[
	if (view->number != 0)
		return true;
	if (2 * there <= view->voters)
		return false;
]])

mutant(NAME arrived-is-begun KIND views FILE membership/heartbeat.c
	REMOVES "the heartbeat of who is there says nothing of the view's beginning"
	TEXT [[
	return value == 0 ? WH_BEAT_NONE : value <= ARRIVED + 1 ? WH_BEAT_THERE : WH_BEAT_BEGUN;
]]
	REPLACEMENT [[
	return value == 0 ? WH_BEAT_NONE : value < ARRIVED ? WH_BEAT_THERE : WH_BEAT_BEGUN;
]])

mutant(NAME beats-undecided KIND views FILE group/install.c
	REMOVES "members beat in the next view's memory once the decision is final"
	TEXT [[
	if (proposed->image->ready)
		return true;
	for
]]
	REPLACEMENT [[
	if (proposed->image->ready) {
		wh_heartbeat_beat(&epoch->node->proposed->heartbeat);
		return true;
	}
	for
]])

# ---- the first view ----

mutant(NAME forms-unsearched KIND test_entry_refused FILE membership/entry.c
	REMOVES "nobody forms a group before it has looked for all who are there"
	TEXT [[
	if (transport->ops->searching(transport))
		return true;
]]
	REPLACEMENT [[
	(void)transport;
]])

mutant(NAME forms-unintroduced KIND test_form FILE membership/entry.c
	REMOVES "nobody forms a group before all whom it has met have said what they are"
	TEXT [[
		if (entry->lobby->guests[node].incarnation != 0 && !entry->lobby->guests[node].introduced)
			return true;
]]
	REPLACEMENT [[
		continue;
]])

mutant(NAME silent-are-awaited KIND views FILE membership/entry.c
	SEED 2 WORDS --set sim.nodes_min=3 --set sim.nodes_max=3 --set sim.subgroups_max=1
	      --set sim.messages_max=2 --set sim.deliveries_max=20 --set sim.latency_max_us=2000
	      --fault "crash 1 silently at met 1" --fault "return 1 at 0.286 ms"
	REMOVES "who does not say what it is is not waited for for ever"
	TEXT [[
	if (entry->lobby->loop->now_ns >= entry->began_ns + entry->patience_ns)
		return false;
	for
]]
	REPLACEMENT [[
	for
]])

mutant(NAME forms-beside-members KIND test_first_view FILE membership/entry.c
	REMOVES "who has met a member forms nothing"
	TEXT [[
	       wh_entry_member(entry) < 0 && (entry->state != WH_ENTRY_SEEKING || !wh_entry_looks_around(entry));
]]
	REPLACEMENT [[
	       (entry->state != WH_ENTRY_SEEKING || !wh_entry_looks_around(entry));
]])

mutant(NAME floor-forgotten KIND test_first_view FILE membership/entry.c
	REMOVES "a first view that was dropped is not followed again"
	TEXT [[
	if (!wh_entry_forms(entry) || key <= entry->floor)
		return false;
]]
	REPLACEMENT [[
	if (!wh_entry_forms(entry))
		return false;
]])

mutant(NAME there-follows-another KIND test_first_view FILE membership/entry.c
	REMOVES "who is there has promised to go on in that first view: it follows another invitation"
	TEXT [[
	return !follows || (entry->state == WH_ENTRY_INVITED && wh_is_first_view(entry->key) && from == entry->by &&
]]
	REPLACEMENT [[
	return !follows || (wh_is_first_view(entry->key) && from == entry->by &&
]])

mutant(NAME follows-two KIND test_first_view FILE membership/entry.c
	REMOVES "who follows an invitation into a first view does not hear another coordinator"
	TEXT [[
	return !follows || (entry->state == WH_ENTRY_INVITED && wh_is_first_view(entry->key) && from == entry->by &&
]]
	REPLACEMENT [[
	(void)from;
	return !follows || (entry->state == WH_ENTRY_INVITED && wh_is_first_view(entry->key) &&
]])

mutant(NAME there-withdraws KIND test_entry FILE membership/entry.c
	REMOVES "who is there in a first view goes on in it, though its coordinator withdraws"
	TEXT [[
	if (entry->state == WH_ENTRY_INVITED ? node == entry->by : !wh_is_first_view(message->key))
]]
	REPLACEMENT [[
	if (node == entry->by || !wh_is_first_view(message->key))
]])

mutant(NAME there-gives-up KIND views FILE membership/entry.c
	REMOVES "who is there in a first view goes on in it, though its coordinator is gone, or it takes long"
	TEXT [[
		return now >= entry->there_ns + THERE_TIMEOUTS * entry->start_timeout_ns ? "nobody comes" : NULL;
]]
	REPLACEMENT [[
		return now >= entry->there_ns + THERE_TIMEOUTS ? "nobody comes" : NULL;
]])

mutant(NAME there-for-ever KIND test_first_view FILE membership/entry.c
	REMOVES "who is there in a first view, and nobody comes, gives it up in the end"
	TEXT [[
		return now >= entry->there_ns + THERE_TIMEOUTS * entry->start_timeout_ns ? "nobody comes" : NULL;
]]
	REPLACEMENT [[
		return NULL;
]])

mutant(NAME minority-is-there KIND test_first_view FILE membership/entry.c
	REMOVES "a first view that no majority can be in any more is dropped"
	TEXT [[
	if (2 * left <= view->voters)
		return "no majority is left";
]]
	REPLACEMENT [[
	(void)left;
]])

mutant(NAME first-for-ever KIND views FILE membership/entry.c
	REMOVES "an invitation into a first view is given up after a while"
	TEXT [[
	if (now >= until)
		return "not all came";
]]
	REPLACEMENT [[
	(void)now;
]])

mutant(NAME void-without-coordinator KIND test_first_view FILE membership/entry.c
	REMOVES "a first view may have begun though its coordinator is gone"
	TEXT [[
	return NULL; /* also if the coordinator is gone: somebody may have begun it */
]]
	REPLACEMENT [[
	return entry->by == entry->lobby->id || entry->lobby->guests[entry->by].incarnation != 0 ? NULL
												 : "coordinator gone";
]])

mutant(NAME dropped-untold KIND test_first_view FILE membership/entry.c
	REMOVES "who drops a first view tells all who are in it"
	TEXT [[
		wh_admission_renounce(entry->admission, entry->view, entry->key);
		entry->floor
]]
	REPLACEMENT [[
		entry->floor
]])

mutant(NAME dropped-unheard KIND test_first_view FILE membership/lobby.c
	REMOVES "who has dropped a first view has no part in it"
	TEXT [[
	if (wh_is_first_view(message->key) && message->key > 0 && key > guest->dropped)
		guest->dropped = key;
]]
	REPLACEMENT [[
	(void)guest;
	(void)key;
]])

mutant(NAME dropped-shrinks KIND test_first_view FILE membership/lobby.c
	REMOVES "who has dropped a first view has no part in earlier ones either"
	TEXT [[
	if (wh_is_first_view(message->key) && message->key > 0 && key > guest->dropped)
]]
	REPLACEMENT [[
	if (wh_is_first_view(message->key) && message->key > 0)
]])

mutant(NAME invites-and-stays KIND test_lobby FILE membership/lobby.c
	REMOVES "who invites into a first view has no part in those before"
	TEXT [[
	uint64_t key = message->key - (message->kind == WH_WIRE_VIEW);
]]
	REPLACEMENT [[
	uint64_t key = message->kind == WH_WIRE_VIEW ? 0 : message->key;
]])

mutant(NAME wishes-starve KIND test_prepare_rests FILE membership/propose.c
	REMOVES "members' wishes do not wait for who may never come"
	TEXT [[
	if (change->one_by_one && (wishes || renews)) /* members do not wait for who may never come */
		most = 0;
]]
	REPLACEMENT "")

mutant(NAME hasty-followers KIND test_first_view FILE membership/entry.c
	REMOVES "it is the coordinator that gives up a first view which not all come into"
	TEXT [[
	return entry->invited_ns + (waits ? WH_SILENT_TIMEOUTS : 1) * entry->start_timeout_ns;
]]
	REPLACEMENT [[
	(void)waits;
	return entry->invited_ns + entry->start_timeout_ns;
]])

mutant(NAME one-begins KIND views FILE group/enter.c
	SEED 9 WORDS --set sim.nodes_min=5 --set sim.nodes_max=5 --set sim.subgroups_max=1
	      --set sim.messages_max=2 --set sim.deliveries_max=20 --set sim.latency_max_us=20
	      --fault "stall 4 for 5.867 ms at 1.871 ms"
	REMOVES "a first view begins when all are there, or lost, or late: it does when one is"
	TEXT [[
	if (view->number != 0 || 2 * there <= view->voters)
		return false;
	return node->entry.rule == WH_FORM_ALL ? said == view->members : awaited == 0 || late;
]]
	REPLACEMENT [[
	(void)late;
	(void)said;
	return view->number == 0 && (awaited == 0 || there > 1);
]])

mutant(NAME begins-at-majority KIND test_timelines_forming FILE group/enter.c
	REMOVES "a first view waits for all who were invited: it begins with a majority"
	TEXT [[
	if (view->number != 0 || 2 * there <= view->voters)
		return false;
	return node->entry.rule == WH_FORM_ALL ? said == view->members : awaited == 0 || late;
]]
	REPLACEMENT [[
	(void)awaited;
	(void)late;
	(void)said;
	return view->number == 0 && 2 * there > view->voters;
]])

mutant(NAME begins-in-minority KIND views FILE group/enter.c
	SEED 9 WORDS --set sim.nodes_min=5 --set sim.nodes_max=5 --set sim.subgroups_max=1
	      --set sim.messages_max=2 --set sim.deliveries_max=20 --set sim.latency_max_us=20
	      --fault "stall 4 for 5.867 ms at 1.871 ms"
	REMOVES "a first view begins only with a majority"
	TEXT [[
	if (view->number != 0 || 2 * there <= view->voters)
		return false;
	return node->entry.rule == WH_FORM_ALL ? said == view->members : awaited == 0 || late;
]]
	REPLACEMENT [[
	(void)said;
	return view->number == 0 && (awaited == 0 || late) && there > 0;
]])

mutant(NAME two-coordinate KIND test_form FILE membership/form.c
	REMOVES "a coordinator that meets a lower one withdraws"
	TEXT [[
		wh_entry_drop(entry, "not the lowest");
]]
	REPLACEMENT [[
		wh_loop_at(entry->lobby->loop, UINT64_MAX);
]])

mutant(NAME all-coordinate KIND test_first_view FILE membership/form.c
	REMOVES "the lowest of those who form a group coordinates: all do"
	TEXT [[
	entry->passes_over = is_lower(entry, 0);
]]
	REPLACEMENT [[
	entry->passes_over = false;
]]
	TEXT_2 [[
		wh_entry_drop(entry, "not the lowest");
]]
	REPLACEMENT_2 [[
		wh_loop_at(entry->lobby->loop, UINT64_MAX);
]])

mutant(NAME lower-first-keys KIND test_form FILE membership/form.c
	REMOVES "the key of a first view is greater than all that those who come have seen"
	TEXT [[
		if (is_forming(entry, node) && node != entry->lobby->id && entry->lobby->guests[node].key > floor)
			floor = entry->lobby->guests[node].key;
]]
	REPLACEMENT [[
		continue;
]])

mutant(NAME invites-all-again KIND test_form FILE membership/form.c
	REMOVES "who did not come is left out of the next first view"
	TEXT [[
	       entry->lobby->guests[node].not_before_ns <= entry->lobby->loop->now_ns;
]]
	REPLACEMENT [[
	       node != UINT32_MAX;
]])

mutant(NAME quorum-of-few KIND views FILE membership/form.c
	REMOVES "the quorum of a first view is taken of all configured nodes"
	TEXT [[
	return invite(entry, newcomers, count, entry->configured);
]]
	REPLACEMENT [[
	return invite(entry, newcomers, count, count);
]])

mutant(NAME minority-forms KIND views FILE membership/form.c
	REMOVES "a first view has more than half of the configured nodes"
	TEXT [[
	if ((count < entry->configured && now < until) || !may_form(entry, count)) {
]]
	REPLACEMENT [[
	if (count < entry->configured && now < until) {
]]
	TEXT_2 [[
	return invite(entry, newcomers, count, entry->configured);
]]
	REPLACEMENT_2 [[
	return invite(entry, newcomers, count, count);
]])

mutant(NAME gone-is-not-lost KIND test_entry FILE membership/lobby.c
	REMOVES "who has ended is lost to the views that it was invited into"
	TEXT [[
	guest->ended[0] = before.incarnation;
]]
	REPLACEMENT [[
	guest->ended[0] = 0;
]])

mutant(NAME silent-coordinates KIND test_form_silent FILE membership/form.c
	REMOVES "who coordinates and is silent is passed over after a while"
	TEXT [[
	if (entry->passes_over && (now < entry->could_ns + silence_ns || is_lower(entry, now - silence_ns + 1)))
]]
	REPLACEMENT [[
	if (entry->passes_over && silence_ns > 0)
]])
