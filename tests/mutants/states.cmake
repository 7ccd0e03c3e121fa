# states.cmake - mechanisms by which states come to newcomers, numbers to another life, and members to rest (docs/decisions/0016), taken
# out one at a time. See mutants.cmake and views.cmake.

# ---- which members give, from where ----

mutant(NAME enters-stateless KIND views FILE group/transfer.c
	REMOVES "a member that enters a shard awaits its state"
	TEXT [[
	} else if (giver >= 0) {
]]
	REPLACEMENT [[
	} else if (giver >= 0 && giver < 0) {
]])

mutant(NAME first-stay-remembered KIND test_timelines_stays FILE group/install.c
	REMOVES "a member that is given a state forgets what was delivered to it in an earlier stay in the shard"
	TEXT [[
		subgroup->had[id] = WH_UNKNOWN;
]]
	REPLACEMENT [[
		subgroup->had[id] = subgroup->had[id];
]])

mutant(NAME newcomer-gives KIND views FILE group/transfer.c
	SEED 1741 WORDS --set sim.nodes_min=3 --set sim.nodes_max=3 --set sim.subgroups_max=2
	      --set sim.messages_max=20 --set sim.deliveries_max=300 --set sim.latency_max_us=1000
	      --set sim.fault_kinds=join,slow,stall --set sim.faults_max=4
	REMOVES "a giver has not entered the shard in this view"
	TEXT [[
			return (int)layout->members[i];
]]
	REPLACEMENT [[
			return (int)layout->members[layout->member_count - 1];
]])

mutant(NAME unheard-unnamed KIND test_group_position FILE group/transfer.c
	REMOVES "unordered, a position names all of the view: also senders that the giver has not heard"
	TEXT [[
		if (!named[id])
]]
	REPLACEMENT [[
		if (!named[id] && knows &&
		    wh_rank_find(member->layout->members, member->layout->member_count, rank) >= 0)
]])

mutant(NAME snapshot-early KIND views FILE group/transfer.c
	REMOVES "the position says the first message that is not in the state: one before"
	TEXT [[
		uint64_t next = member->mc != NULL ? wh_multicast_next(member->mc, s) : subgroup->had[id];
]]
	REPLACEMENT [[
		uint64_t next = member->mc != NULL ? wh_multicast_next(member->mc, s) : subgroup->had[id];

		if (next != WH_UNKNOWN && next > 0)
			next--;
]])

mutant(NAME snapshot-late KIND views FILE group/transfer.c
	REMOVES "the position says the first message that is not in the state: one behind"
	TEXT [[
		uint64_t next = member->mc != NULL ? wh_multicast_next(member->mc, s) : subgroup->had[id];
]]
	REPLACEMENT [[
		uint64_t next = member->mc != NULL ? wh_multicast_next(member->mc, s) : subgroup->had[id];

		if (next != WH_UNKNOWN)
			next++;
]])

mutant(NAME position-of-others KIND views FILE predicates/multicast.c
	SEED 53000 WORDS --set sim.nodes_min=3 --set sim.nodes_max=5 --set sim.subgroups_max=1
	      --set sim.messages_max=100 --set sim.deliveries_max=500 --set sim.latency_max_us=500
	      --set sim.fault_kinds=join,crash,leave,stall --set sim.faults_max=8
	REMOVES "the position of a sender that has said nothing in this view is that of the view before"
	TEXT [[
	if (sender->first == WH_UNKNOWN)
		return had;
	return had
]]
	REPLACEMENT [[
	if (sender->first == WH_UNKNOWN)
		return 0;
	return had
]])

mutant(NAME old-members-give KIND views FILE group/transfer.c
	SEED 700 WORDS --set sim.forming=all --set sim.nodes_min=3 --set sim.nodes_max=3 --set sim.subgroups_max=1
	      --set sim.latency_max_us=100
	      --fault "join 3 at 20 ms" --fault "join 4 at 20 ms" --fault "crash 1 at 31 ms"
	      --fault "slow 1 to 4 by 20 for 100 ms at 20 ms" --fault "stall 0 for 30 ms after suspect 1"
	REMOVES "a member that has entered a shard too is asked for its state in the end"
	TEXT [[
	for (int entered = 0; member != NULL && entered <= 1; entered++)
]]
	REPLACEMENT [[
	for (int entered = 0; member != NULL && entered < 1; entered++)
]])

mutant(NAME removed-giver-awaited KIND views FILE group/transfer.c
	REMOVES "a giver that is not in the view any more is replaced"
	TEXT [[
			wh_state_removed(wh_node_use_state(subgroup), epoch->view->left[k]);
]]
	REPLACEMENT [[
			continue;
]])

mutant(NAME gone-giver-awaited KIND test_state_asked FILE state/await.c
	REMOVES "a giver that is gone is replaced"
	TEXT [[
	/* What it has written may be there, or come: a stream says itself when it is at its end. */
	give_up(state, node);
]]
	REPLACEMENT "")

mutant(NAME gone-not-forsaken KIND views FILE state/await.c
	REMOVES "nothing more is given to a newcomer that is gone"
	TEXT [[
	wh_state_forsake(state, node);
]]
	REPLACEMENT "")

mutant(NAME cut-off-for-good KIND test_state_await FILE state/await.c
	REMOVES "a stream that was cut off is asked for again"
	TEXT [[
	give_up(state, transfer->node);
}

/* A take
]]
	REPLACEMENT [[
}

/* A take
]])

mutant(NAME asks-nobody KIND views FILE state/await.c
	REMOVES "a giver that does not give is not the only member that is asked"
	TEXT [[
	if (now_ns(state) >= state->asked_until_ns) {
]]
	REPLACEMENT [[
	if (now_ns(state) >= state->asked_until_ns && state->asks) {
]])

mutant(NAME one-round KIND test_state_asked FILE state/await.c
	REMOVES "all are asked once more before a state is given up"
	TEXT [[
	if (++state->round == WH_STATE_ROUNDS) {
]]
	REPLACEMENT [[
	if (++state->round > 0) {
]])

mutant(NAME slow-has-nothing KIND test_state_asked FILE state/await.c
	REMOVES "a giver that is slow is asked again"
	TEXT [[
	state->somebody_is_silent |= transfer->end == WH_TRANSFER_SILENT; /* and has it */
]]
	REPLACEMENT "")

mutant(NAME hopeless KIND views FILE state/await.c
	REMOVES "when nobody has a state any more it is lost"
	TEXT [[
	if (++state->round == WH_STATE_ROUNDS) {
]]
	REPLACEMENT [[
	if (++state->round == 1000000) {
]])

mutant(NAME gives-nothing KIND views FILE state/give.c
	REMOVES "a member that awaits a state itself gives none"
	TEXT [[
	if (state->phase == WH_STATE_HAS && state->hooks.may_give(state->hooks.ctx, node))
		give_now(state, node);
	else
]]
	REPLACEMENT [[
	if (state->hooks.may_give(state->hooks.ctx, node))
		give_now(state, node);
	else
]])

mutant(NAME undeclined KIND views FILE state/give.c
	SEED 9 WORDS --set sim.nodes_min=2 --set sim.nodes_max=2 --set sim.subgroups_max=1
	      --set sim.messages_max=50 --set sim.deliveries_max=300 --set sim.latency_max_us=200
	      --fault "join 2 at 9.761 ms" --fault "join 3 at 9.761 ms" --fault "join 4 at 9.761 ms"
	      --fault "crash 0 after upcall 1" --fault "cut 1 from 0,2,3,4 for 0.071 ms at 9.761 ms"
	REMOVES "a member that has no state says so"
	TEXT [[
if (due == WH_ANSWER_DECLINE || (due == WH_ANSWER_GIVE && !wh_state_has_hope(state)))
]]
	REPLACEMENT [[
if (due == WH_ANSWER_DECLINE)
]])

mutant(NAME declined-at-the-end KIND test_state_asked FILE state/await.c
	REMOVES "a member that may just have been given all of a state does not say that it has none"
	TEXT [[
	       (state->phase == WH_STATE_AWAITS && (may_yet_have_it(state) || state->expects));
]]
	REPLACEMENT [[
	       (state->phase == WH_STATE_AWAITS && (is_taking(state) || state->expects));
]])

mutant(NAME declined-before-it-comes KIND test_state_await FILE state/await.c
	REMOVES "a member that is to be given a state does not say that it has none"
	TEXT [[
	       (state->phase == WH_STATE_AWAITS && (may_yet_have_it(state) || state->expects));
]]
	REPLACEMENT [[
	       (state->phase == WH_STATE_AWAITS && may_yet_have_it(state));
]])

mutant(NAME stale-taken KIND test_state_await FILE state/wire.c
	REMOVES "a state of a view before that in which somebody came is not taken"
	TEXT [[
	if (view < header->view) {
]]
	REPLACEMENT [[
	if (view + 1000 < header->view) {
]])

mutant(NAME begun-once KIND views FILE state/take.c
	REMOVES "a restore that begins anew says so"
	TEXT [[
			restore_part(take, WHORL_RESTORE_BEGIN, NULL, 0);
]]
	REPLACEMENT [[
			if (take->transfer.state->filters)
				restore_part(take, WHORL_RESTORE_BEGIN, NULL, 0);
]])

mutant(NAME cut-off-is-all KIND views FILE state/take.c
	REMOVES "a stream that ends without its end was cut off"
	TEXT [[
	if (got < 0) {
		end_as_cut(take, "it ended too early");
		return false;
	}
]]
	REPLACEMENT [[
	if (got < 0) {
		restore_part(take, WHORL_RESTORE_END, NULL, 0);
		return false;
	}
]])

mutant(NAME state-outlives-shard KIND views FILE group/transfer.c
	REMOVES "a member that leaves a shard forgets what it had restored of it"
	TEXT [[
			wh_state_leave(wh_node_use_state(subgroup));
]]
	REPLACEMENT [[
			continue;
]])

mutant(NAME lost-unheard KIND test_state_asked FILE state/await.c
	REMOVES "a member that hears no quorum does not take a state for lost"
	TEXT [[
	if (state->somebody_is_silent || !state->hooks.hears_quorum(state->hooks.ctx) ||
]]
	REPLACEMENT [[
	if (state->somebody_is_silent ||
]])

mutant(NAME done-forgotten KIND test_state_asked FILE state/await.c
	REMOVES "a state is as good when its giver is removed at its end"
	TEXT [[
		wh_take_hurry(state->take);
]]
	REPLACEMENT [[
		wh_take_stop(state->take, WH_TAKE_UNWANTED);
]])

mutant(NAME left-and-forgotten KIND test_group_stays FILE state/await.c
	WORDS CK_RUN_CASE=states
	REMOVES "what a member has written that has left since is restored"
	TEXT [[
		wh_take_hurry(state->take);
]]
	REPLACEMENT [[
		wh_take_stop(state->take, WH_TAKE_WILL_DO);
]])

mutant(NAME removed-for-ever KIND test_state_asked FILE state/take.c
	REMOVES "of a giver that was removed and is silent nothing is hoped for long"
	TEXT [[
	if (wh_load_relaxed(&take->hurried) != 0)
]]
	REPLACEMENT [[
	if (wh_load_relaxed(&take->hurried) > 1)
]])

mutant(NAME unrestored-begins KIND test_state_await FILE state/await.c
	REMOVES "what is restored when a shard is entered anew is of no use"
	TEXT [[
	wh_take_stop(state->take, WH_TAKE_UNWANTED);
	forget_state(state);
	memset(state->tried
]]
	REPLACEMENT [[
	memset(state->tried
]])

mutant(NAME moved-state-kept KIND views FILE state/await.c
	REMOVES "a member that moves into a shard that begins with nothing forgets what it has of another"
	TEXT [[
	if (!had || state->phase == WH_STATE_FAILED)
		return;
]]
	REPLACEMENT [[
	if (had || !had)
		return;
]])

mutant(NAME unwanted-restored KIND test_state_threads FILE state/take.c
	REMOVES "of a state that is not wanted any more nothing more is handed on"
	TEXT [[
	if (wh_transfer_is_to_stop(&take->transfer)) {
]]
	REPLACEMENT [[
	if (take->transfer.state == NULL) {
]])

mutant(NAME had-on-from-another-shard KIND test_timelines_stays FILE group/install.c
	REMOVES "unordered, a member that begins with the empty state forgets what was delivered to it in another shard"
	TEXT [[
	if (member != NULL && wh_node_begins(subgroup, member, epoch->rank))
]]
	REPLACEMENT [[
	if (member != NULL && wh_node_begins(subgroup, member, epoch->rank) &&
	    member->layout->entered_count < member->layout->member_count)
]])

# ---- what is kept back ----

mutant(NAME upcalls-unrestored KIND views FILE state/keep.c
	REMOVES "what is delivered before the state is restored is kept back"
	TEXT [[
	wh_state_keep_back(state, messages, count);
	if (state->phase
]]
	REPLACEMENT [[
	if (state->phase == WH_STATE_AWAITS) {
		return upcall_messages(state, messages, count);
	}
	wh_state_keep_back(state, messages, count);
	if (state->phase
]])

mutant(NAME overtakes-backlog KIND test_state_keep FILE state/keep.c
	REMOVES "what is delivered while it catches up comes behind what is kept back"
	TEXT [[
	wh_state_keep_back(state, messages, count);
	if (state->phase
]]
	REPLACEMENT [[
	if (state->phase == WH_STATE_CATCHES_UP) {
		return upcall_messages(state, messages, count);
	}
	wh_state_keep_back(state, messages, count);
	if (state->phase
]])

mutant(NAME newest-first KIND views FILE state/backlog.c
	REMOVES "what is kept back is upcalled in its order"
	TEXT [[
	for (size_t offset = block->begin; count < most && offset < block->end; count++) {
		out[count] = record_at(block, offset)->message;
		offset += record_bytes(&out[count]);
	}
	return count;
]]
	REPLACEMENT [[
	for (size_t offset = block->begin; count < most && offset < block->end; count++) {
		out[count] = record_at(block, offset)->message;
		offset += record_bytes(&out[count]);
	}
	for (size_t i = 0; i < count / 2; i++) {
		struct whorl_message swapped = out[i];

		out[i] = out[count - 1 - i];
		out[count - 1 - i] = swapped;
	}
	return count;
]])

mutant(NAME backlog-uncopied KIND views FILE state/backlog.c
	REMOVES "what is kept back is copied"
	TEXT [[
	record->message.data = record + 1;
]]
	REPLACEMENT "")

mutant(NAME position-ignored KIND views FILE state/keep.c
	REMOVES "what is in the state is not upcalled again"
	TEXT [[
		if (!is_in_state(state, &messages[i]))
			continue;
		if (!upcall_run
]]
	REPLACEMENT [[
		if (state->phase != WH_STATE_FAILED || !is_in_state(state, &messages[i]))
			continue;
		if (!upcall_run
]])

mutant(NAME filter-ends-early KIND test_state_await FILE state/keep.c
	REMOVES "the position may be ahead of what was kept back"
	TEXT [[
	state->phase = WH_STATE_HAS;
	state->keeps = state->filters;
	state->hooks.restored
]]
	REPLACEMENT [[
	state->phase = WH_STATE_HAS;
	state->keeps = state->filters = false;
	state->hooks.restored
]])

mutant(NAME filter-for-ever KIND test_state_keep FILE state/keep.c
	REMOVES "what comes is looked at until all have come up to the position"
	TEXT [[
	if (state->behind_count == 0 || (state->hooks.ordered && message->view > state->floor_view))
		state->filters = false;
]]
	REPLACEMENT [[
	(void)message;
]])

mutant(NAME position-viewless KIND test_state_keep FILE state/keep.c
	REMOVES "the position is in a view: what was delivered before that is in the state"
	TEXT [[
	if (state->hooks.ordered && message->view != state->floor_view)
		return is_older;
]]
	REPLACEMENT "")

mutant(NAME life-ignored KIND views FILE state/keep.c SEED 320
	REMOVES "unordered: numbers tell what is in a state within one life of a sender"
	TEXT [[
	if (life != 0)
		return life < 0;
	return
]]
	REPLACEMENT [[
	(void)life;
	return
]])

mutant(NAME unnamed-upcalled KIND test_state_keep FILE state/keep.c
	REMOVES "unordered: what senders had sent that the position does not name is in the state"
	TEXT [[
	return (is_older && !state->floor_has[message->sender]) || message->index < state->floor[message->sender];
]]
	REPLACEMENT [[
	(void)is_older;
	return message->index < state->floor[message->sender];
]])

mutant(NAME lives-unnoted KIND views FILE state/keep.c
	REMOVES "it is known in which view a sender's life began"
	TEXT [=[
		began[0] = view;
		state->declined_early
]=]
	REPLACEMENT [=[
		began[0] = view * 0;
		state->declined_early
]=])

mutant(NAME gives-as-delivered KIND test_state_await FILE state/give.c
	REMOVES "what was restored and not delivered here is in the state that is given on"
	TEXT [[
	wh_state_raise_position(state, &header.position, &header.view);
	give->have
]]
	REPLACEMENT [[
	give->have
]])

mutant(NAME raised-as-later KIND test_state_keep FILE state/keep.c
	REMOVES "what was restored of a later view is given on as of that view"
	TEXT [[
	if (is_later)
		return;
	*view = state->floor_view;
]]
	REPLACEMENT [[
	if (is_later)
		return;
]])

mutant(NAME had-on-from-earlier-life KIND views FILE group/install.c
	REMOVES "what was had of a sender is of one life"
	TEXT [=[
		subgroup->had[epoch->view->joined[i]] = 0;
]=]
	REPLACEMENT [[
		continue;
]])

# ---- which members rest ----

mutant(NAME claims-in-between KIND views FILE group/epoch.c
	SEED 2 WORDS --set sim.nodes_min=4 --set sim.nodes_max=4 --set sim.subgroups_max=2
	      --set sim.messages_max=2 --set sim.deliveries_max=300 --set sim.latency_max_us=1000
	      --fault "rest 1 for 11.365 ms at 1.696 ms" --fault "crash 2 after propose 1"
	REMOVES "a member that has taken back that it rests claims when it is a sender again"
	TEXT [[
	if (!said)
		wh_node_settle_rest(subgroup, rests, resting);
]]
	REPLACEMENT [[
	if (ring != NULL)
		wh_ring_pause(ring, rests);
	if (!said)
		wh_node_settle_rest(subgroup, rests, resting);
]])

mutant(NAME rest-read-before-tells-claims KIND test_group_rests FILE group/rest.c
	REMOVES "claims of a node that has taken back that it rests wait until the loop has read that"
	TEXT [[
	told = may_send && !resting && wh_load_relaxed(&subgroup->words.returns) != 0;
]]
	REPLACEMENT [[
	told = wh_load_relaxed(&subgroup->words.rests) != WH_RESTS && !resting && wh_load_relaxed(&subgroup->words.returns) != 0;
]])

mutant(NAME rests-for-good KIND test_prepare_rests FILE membership/propose.c
	REMOVES "a member that wishes to send again does"
	TEXT [[
			     said + (said % 2 == rests ? 2 : 1), change->heartbeat->peers);
]]
	REPLACEMENT [[
			     said + (said % 2 == rests ? 2 : 2), change->heartbeat->peers);
]])

mutant(NAME resting-sends KIND test_group_rests FILE membership/layout.c
	REMOVES "a resting member is no sender"
	TEXT [[
		places->sender[rank] = in && places->sender[rank] && !draft->declared[rank];
]]
	REPLACEMENT [[
		places->sender[rank] = in && places->sender[rank];
]])

mutant(NAME rests-unheard KIND test_timelines_stays FILE group/epoch.c
	REMOVES "unordered, a sender that wants to rest waits until the others, too, have delivered what it has committed"
	TEXT [[
	return member->mc != NULL ? wh_multicast_has_sent_all(member->mc)
				  : wh_ring_settled(ring) == wh_ring_claimed(ring);
]]
	REPLACEMENT [[
	if (member->mc != NULL && member->sends && member->subgroup->fixed.mode != WH_MODE_ORDERED)
		return wh_multicast_next(member->mc, (uint32_t)wh_rank_find(member->layout->senders, member->layout->sender_count,
									  member->subgroup->node->epochs.current->rank)) ==
		       wh_ring_claimed(ring);
	return member->mc != NULL ? wh_multicast_has_sent_all(member->mc) : wh_ring_settled(ring) == wh_ring_claimed(ring);
]])

mutant(NAME idle-drops KIND views FILE group/install.c
	REMOVES "what was claimed in a shard that is inactive now stays until it is active"
	TEXT [[
		wh_ring_rest(subgroup->ring, first, member->ends);
]]
	REPLACEMENT [[
		(void)wh_ring_drop(subgroup->ring, first);
]])

# ---- memory of views ----

mutant(NAME wishes-in-old-view KIND views FILE group/install.c
	REMOVES "what is wished is said again in each view"
	TEXT [[
	node->rests.open = wh_node_all_places(node);
]]
	REPLACEMENT "")

mutant(NAME position-too-far KIND test_group_joins FILE group/transfer.c
	REMOVES "the position of a snapshot has nothing that was not upcalled"
	TEXT [[
		subgroup->fixed.mode == WH_MODE_ORDERED && member->mc != NULL ? wh_multicast_sequence(member->mc) : 0;
]]
	REPLACEMENT [[
		subgroup->fixed.mode == WH_MODE_ORDERED && member->mc != NULL ? wh_multicast_sequence(member->mc) + 9 : 0;
]])

mutant(NAME position-forgets-the-restored KIND test_state_keep FILE state/keep.c
	REMOVES "a member that gives on a state that it was given tells that state's position"
	TEXT [[
		position->sequence = state->floor_sequence;
]]
	REPLACEMENT [[
		position->sequence += 0;
]])

mutant(NAME early-question-dropped KIND test_timelines_joins FILE group/transfer.c
	WORDS CK_RUN_CASE=following
	REMOVES "a node that is asked for a state before its view begins answers when it has begun"
	TEXT [[
		subgroup->asked_early[from] = true;
]]
	REPLACEMENT [[
		subgroup->asked_early[from] = false;
]])

# In CI, under ThreadSanitizer; one claim in a hundred returns on a machine at work. So the mutant takes its time between the looks.
mutant(NAME returns-between-looks KIND test_group_rests FILE group/send.c
	WORDS CK_RUN_CASE=rests
	REMOVES "a claim that finds the ring away, and then that its node is not to return any more, looks at the ring again"
	TEXT [[
	return wh_load_acquire(&subgroup->words.returns) != 0 || is_coming(subgroup) || wh_ring_is_open(subgroup->ring);
]]
	REPLACEMENT [[
	for (volatile int i = 0; i < 3000; i++)
		;
	return wh_load_acquire(&subgroup->words.returns) != 0 || is_coming(subgroup);
]])

mutant(NAME rests-comes-late KIND test_group_rests FILE group/send.c
	REMOVES "a node that sends in a view of which its ring knows nothing yet is told to wait"
	TEXT [[
	sends = member != NULL && member->sends && !member->ends;
]]
	REPLACEMENT [[
	sends = false;
]])

mutant(NAME small-stands-back KIND test_state_threads FILE state/state.c
	REMOVES "what gives or takes a small state does not stand back"
	TEXT [[
	if (wh_load_relaxed(&transfer->bytes) <= WH_STATE_SMALL && thread_ns() - transfer->cpu_ns <= WH_STATE_SMALL_NS)
]]
	REPLACEMENT [[
	if (thread_ns() < transfer->cpu_ns)
]])

mutant(NAME large-goes-on KIND test_state_threads FILE state/state.c
	REMOVES "what reads for long pauses, though it is little"
	TEXT [[
	if (wh_load_relaxed(&transfer->bytes) <= WH_STATE_SMALL && thread_ns() - transfer->cpu_ns <= WH_STATE_SMALL_NS)
]]
	REPLACEMENT [[
	if (wh_load_relaxed(&transfer->bytes) <= WH_STATE_SMALL)
]])

mutant(NAME real-time-stands-back KIND test_state_threads FILE base/thread.c
	REMOVES "work that real-time loops wait for stays a real-time thread's"
	TEXT [[
	if (policy != SCHED_RR && policy != SCHED_FIFO) {
]]
	REPLACEMENT [[
	if (policy >= 0) {
]])

# ---- what moves a large state, beside loops ----

mutant(NAME state-silence-pauses KIND test_state_turns FILE state/give.c
	REMOVES "a giver does not pause where the loop has nothing to do"
	TEXT [[
	return give->busy != before;
]]
	REPLACEMENT [[
	return give->busy != before || before == 0;
]])

mutant(NAME state-never-pauses KIND test_state_turns FILE state/give.c
	REMOVES "a giver pauses where the loop is at work"
	TEXT [[
	if (pause_ns > 0)
		nanosleep(&pause, NULL);
]]
	REPLACEMENT [[
	if (pause_ns > UINT64_MAX / 2)
		nanosleep(&pause, NULL);
]])

mutant(NAME state-turns-kept KIND test_state_turns FILE state/state.c
	REMOVES "real-time threads that move a state yield after each piece"
	TEXT [[
	if (transfer->slow_pieces < WH_STATE_SLOW_PIECES) {
		(void)sched_yield();
		return;
	}
]]
	REPLACEMENT [[
	if (transfer->slow_pieces < WH_STATE_SLOW_PIECES)
		return;
]])

mutant(NAME state-slow-keeps-its-turns KIND test_state_turns FILE state/state.c
	REMOVES "a program that is slow at reading or restoring stands back among real-time threads, too"
	TEXT [[
	wh_thread_stand_back();
	transfer->takes_turns = false;
]]
	REPLACEMENT [[
	(void)sched_yield();
]])

mutant(NAME state-slow-once KIND test_state_turns FILE state/state.c
	REMOVES "one slow piece, or another later, is not enough to stand back"
	TEXT [[
	transfer->slow_pieces = now_ns - transfer->cpu_ns < WH_STATE_SLOW_NS ? 0 : transfer->slow_pieces + 1;
]]
	REPLACEMENT [[
	transfer->slow_pieces += now_ns - transfer->cpu_ns < WH_STATE_SLOW_NS ? 0 : 1;
]])
