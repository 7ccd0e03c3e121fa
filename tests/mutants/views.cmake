# views.cmake - mechanisms of the change of views that are taken out one at a time. See mutants.cmake.

# ---- suspicion (docs/decisions/0014: suspect, heed) ----

mutant(NAME no-freeze KIND views FILE membership/suspicion.c
	REMOVES "a suspect is frozen"
	TEXT [[
	if (kind == WH_FAILED)
		change->sst->image->ops->freeze(change->sst->image, rank);
]]
	REPLACEMENT "")

mutant(NAME leaver-failed-for-good KIND test_suspicion FILE membership/suspicion.c
	REMOVES "an accusation by a leaver is the matter of the view that it was made in"
	TEXT [[
	if (was->left[before_rank] && was->said[before_rank] < WH_FAILED)
		kind = WH_LEFT;
]]
	REPLACEMENT "")

mutant(NAME leaver-frozen-and-trusted KIND test_suspicion FILE membership/suspicion.c
	REMOVES "a member that my row said to have failed has not left in the next view"
	TEXT [[
	if (was->left[before_rank] && was->said[before_rank] < WH_FAILED)
]]
	REPLACEMENT [[
	if (was->left[before_rank])
]])

mutant(NAME leaves-bare-majority KIND test_group_joins FILE group/epoch.c
	REMOVES "a node that leaves a first view waits until the quorum is one of the view's members"
	TEXT [[
	if (epoch->view->voters > epoch->view->members)
		return false;
]]
	REPLACEMENT "")

mutant(NAME leaves-before-all-have-begun KIND test_timelines_stays FILE group/epoch.c
	REMOVES "a node that leaves waits until all have begun its view"
	TEXT [[
		    (change->suspicion.said[rank] == WH_TRUSTED && rank != epoch->rank && !has_settled(epoch, rank)))
]]
	REPLACEMENT [[
		    (rank == WH_NODES_MAX && has_settled(epoch, rank)))
]])

mutant(NAME leaves-what-it-received KIND test_timelines_stays FILE predicates/multicast.c
	REMOVES "a node that leaves has delivered what it counted as received"
	TEXT [[
	return wh_multicast_has_sent_all(mc) && mc->delivered_num == mc->received_num && !mc->refused;
]]
	REPLACEMENT [[
	return wh_multicast_has_sent_all(mc);
]])

mutant(NAME suspect-untold KIND test_timelines FILE membership/suspicion.c
	REMOVES "a suspicion is pushed to the suspect too: it is frozen before"
	TEXT [[
	wh_sst_publish_array(change->sst, change->pushes, change->columns.suspected, rank, kind,
			     change->heartbeat->peers);
]]
	REPLACEMENT [[
	if (kind == WH_FAILED)
		change->sst->image->ops->freeze(change->sst->image, rank);
	wh_sst_publish_array(change->sst, change->pushes, change->columns.suspected, rank, kind,
			     change->heartbeat->peers);
]])

mutant(NAME suspects-heard KIND views FILE membership/suspicion.c
	WORDS --set sim.nodes_min=4 --fault "cut 0,1 and 2,3 for 200 ms at 10 ms"
	REMOVES "what a suspect says of others is not heard"
	TEXT [[
	if (wanted[from] != WH_TRUSTED || wanted[of]
]]
	REPLACEMENT [[
	if (wanted[of]
]])

mutant(NAME removal-unseen KIND test_timelines FILE membership/suspicion.c
	REMOVES "a member that is suspected by one that it trusts is removed, and knows it"
	TEXT [[
	return of == wh_change_me(change) ? kind != WH_TRUSTED : kind >= WH_FAILED;
]]
	REPLACEMENT [[
	return of != wh_change_me(change) && kind >= WH_FAILED;
]])

mutant(NAME minority-suspects KIND views FILE membership/suspicion.c
	REMOVES "a suspicion is said only while a quorum is heard"
	TEXT [[
	return say_wanted(change, heard);
]]
	REPLACEMENT [[
	return say_wanted(change, true);
]]
	TEXT_2 [[
					  : change->removed || wh_suspicion_trusted_quorum(change);
]]
	REPLACEMENT_2 [[
					  : true;
]])

mutant(NAME suspects-too-early KIND views FILE membership/heartbeat.c
	REMOVES "a member that is heard in time is never suspected: half the failure time-out will do"
	TEXT [[
	} else if (now - heard->when_ns > heartbeat->timeout_ns) {
]]
	REPLACEMENT [[
	} else if (now - heard->when_ns > heartbeat->timeout_ns / 2) {
]])

mutant(NAME late-as-a-time-out KIND test_heartbeat FILE membership/heartbeat.c
	REMOVES "a member that is heard in time is never suspected: a loop is late only after the whole time-out"
	TEXT [[
	bool late = now - heartbeat->looked_ns > heartbeat->timeout_ns / 2;
]]
	REPLACEMENT [[
	bool late = now - heartbeat->looked_ns > heartbeat->timeout_ns;
]])

mutant(NAME late-and-impatient KIND test_change_leaders FILE membership/change.c
	REMOVES "a member that was late itself does not say that others hold it up"
	TEXT [[
	if (work > 0 || late || !change->suspicion.quorum || is_held_up_by_log(change))
]]
	REPLACEMENT [[
	(void)late;
	if (work > 0 || !change->suspicion.quorum || is_held_up_by_log(change))
]])

mutant(NAME any-quorum KIND views FILE membership/suspicion.c
	REMOVES "a quorum is a majority: any will do, to suspect, to decide and to settle"
	TEXT [[
static struct poll open_poll(const struct wh_change *change)
{
]]
	REPLACEMENT [[
#define wh_quorum_holds(quorum, votes, tie) ((void)(quorum), (void)(tie), (votes) > 0)
static struct poll open_poll(const struct wh_change *change)
{
]])

mutant(NAME half-quorum KIND views FILE membership/suspicion.c
	REMOVES "a quorum is more than half: half will do"
	TEXT [[
static struct poll open_poll(const struct wh_change *change)
{
]]
	REPLACEMENT [[
#define wh_quorum_holds(quorum, votes, tie) (2 * (votes) >= (quorum)->members || (tie))
static struct poll open_poll(const struct wh_change *change)
{
]])

mutant(NAME overdue-for-good KIND views FILE membership/heartbeat.c
	REMOVES "a member that is heard again is not overdue"
	TEXT [[
			.value = value, .arrived = arrived, .when_ns = now, .afresh = !late, .deaf_ns = deaf_ns};
]]
	REPLACEMENT [[
			.value = value, .arrived = arrived, .when_ns = now, .afresh = !late,
			.overdue = heard->overdue, .deaf_ns = deaf_ns};
]])

mutant(NAME late-blames-others KIND test_timelines FILE membership/heartbeat.c
	REMOVES "a member that was late itself, or heard no quorum, gives the others the whole time-out again"
	TEXT [[
	if (late || value != heard->value) {
]]
	REPLACEMENT [[
	if (value != heard->value) {
]]
	TEXT_2 [[
		if (heard->overdue)
]]
	REPLACEMENT_2 [[
		if (heard->overdue && heard->when_ns == 0)
]])

# ---- wedge ----

mutant(NAME counters-to-shard KIND views FILE predicates/multicast.c
	SEED 1001
	WORDS --set sim.nodes_min=4 --set sim.subgroups_max=4 --fault "crash 3 at 10 ms"
	      --fault "slow 1,2 to 0 by 50 for 200 ms at 1 ms"
	REMOVES "what shards have received is told to a leader that is not in them"
	TEXT [[
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.received_num, mc->received_num, everyone);
]]
	REPLACEMENT [[
	(void)everyone;
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.received_num, mc->received_num, mc->peers);
]])

mutant(NAME never-wedged KIND views FILE predicates/multicast.c
	REMOVES "a wedged member stops: it sends, receives and delivers on"
	TEXT [[
	mc->runs = false;
	if (mc->config.mode != WH_MODE_ORDERED)
]]
	REPLACEMENT [[
	if (mc->config.mode != WH_MODE_ORDERED)
]])

mutant(NAME wedged-not-deaf KIND views FILE predicates/multicast.c
	REMOVES "wedged means deaf: it receives, and says so"
	TEXT [[
	if (!mc->runs)
		return 0;
	if (wh_gather(mc))
]]
	REPLACEMENT [[
	if (!mc->runs && mc->config.mode == WH_MODE_ORDERED) {
		size_t taken = wh_receive(mc);

		if (taken > 0)
			wh_acknowledge(mc, taken);
		return taken;
	}
	if (!mc->runs)
		return 0;
	if (wh_gather(mc))
]])

mutant(NAME claims-open KIND views FILE smc/ring.c
	REMOVES "no claims between the wedge and the next view"
	TEXT [[
	uint64_t before = wh_fetch_or(&ring->claim, CLAIM_WEDGED);
]]
	REPLACEMENT [[
	uint64_t before = 0;
]])

# ---- proposals ----

mutant(NAME proposed-before-list KIND views FILE membership/propose.c
	REMOVES "which members an attempt leaves out is pushed before its record and its number"
	TEXT [[
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (!wh_change_trusts(change, rank) &&
		    wh_row_of(change, wh_change_me(change), change->columns.left_out, rank) == 0)
			wh_sst_publish_array(change->sst, change->pushes, change->columns.left_out, rank,
					     change->attempt, to);
]]
	REPLACEMENT ""
	TEXT_2 [[
	wh_event(change->diag, "propose", change->view->number, change->attempt, count);
]]
	REPLACEMENT_2 [[
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (!wh_change_trusts(change, rank) &&
		    wh_row_of(change, wh_change_me(change), change->columns.left_out, rank) == 0)
			wh_sst_publish_array(change->sst, change->pushes, change->columns.left_out, rank,
					     change->attempt, to);
	wh_pushes_post(change->pushes);
	wh_event(change->diag, "propose", change->view->number, change->attempt, count);
]])

mutant(NAME one-image-key KIND views FILE membership/change.h COMPILE membership/change.c membership/propose.c
	REMOVES "each attempt has an image of its own: they share a key"
	TEXT [[
	return WH_FIRST_KEYS | (number + 1) << 24 | (uint64_t)rank << 16 | attempt;
]]
	REPLACEMENT [[
	(void)rank;
	(void)attempt;
	return WH_FIRST_KEYS | (number + 1) << 24;
]])

mutant(NAME acknowledged-unopened KIND views FILE membership/propose.c
	REMOVES "a proposal is acknowledged when the memory of its view is open"
	TEXT [[
	if (ticket != change->ticket || !change->on.is_open(change->ctx) || !wh_suspicion_heeds(change))
]]
	REPLACEMENT [[
	if (ticket != change->ticket || !wh_suspicion_heeds(change))
]])

# ---- the decision ----

mutant(NAME decided-unwedged KIND views FILE membership/change.c
	REMOVES "wedge before the cut: members stop when they see the decision"
	TEXT [[
(!wh_row_flag(change, rank, change->columns.wedged) ||
						       wh_row(change, rank, change->columns.acknowledged) != ticket))
]]
	REPLACEMENT [[
(wh_row(change, rank, change->columns.acknowledged) != ticket))
]]
	TEXT_2 [[
	work += wedge(change);
]]
	REPLACEMENT_2 [[
	if (change->agreed != 0)
		work += wedge(change);
]])

mutant(NAME decided-unacknowledged KIND views FILE membership/change.c
	REMOVES "a decision waits until all have acknowledged the proposal"
	TEXT [[
(!wh_row_flag(change, rank, change->columns.wedged) ||
						       wh_row(change, rank, change->columns.acknowledged) != ticket))
]]
	REPLACEMENT [[
(ticket == 0 || !wh_row_flag(change, rank, change->columns.wedged)))
]])

mutant(NAME cut-of-leader KIND views FILE membership/change.c
	REMOVES "the cut is what all have received: it is what the leader has"
	TEXT [[
		uint64_t stable = wh_row(change, source->members[i], source->stable_num);
]]
	REPLACEMENT [[
		uint64_t stable = wh_row(change, wh_change_me(change), source->stable_num);
]])

mutant(NAME cut-skips-one KIND views FILE membership/change.c
	REMOVES "the cut is what all have received: one is not asked"
	TEXT [[
	for (uint32_t i = 0; i < source->count; i++) {
		uint64_t stable
]]
	REPLACEMENT [[
	for (uint32_t i = source->count > 1; i < source->count; i++) {
		uint64_t stable
]])

mutant(NAME cut-asks-suspects KIND views FILE membership/change.c
	REMOVES "suspects are not asked for the cut"
	TEXT [[
		if (wh_change_trusts(change, source->members[i]) && stable < cut)
]]
	REPLACEMENT [[
		if (stable < cut)
]])

mutant(NAME agreed-before-values KIND views FILE membership/change.c
	REMOVES "the values of a decision are pushed before `agreed`"
	TEXT [[
		wh_sst_publish(change->sst, change->pushes, change->columns.image, wh_ticket_image(change), to);
		for (uint32_t g = 0; g < change->columns.cut.count; g++)
]]
	REPLACEMENT [[
		wh_sst_publish(change->sst, change->pushes, change->columns.image, wh_ticket_image(change), to);
		wh_sst_publish(change->sst, change->pushes, change->columns.agreed, (uint64_t)by + 1, to);
		for (uint32_t g = 0; g < change->columns.cut.count; g++)
]])

# ---- heed (docs/decisions/0014: it stays at six steps) ----

mutant(NAME heedless-open KIND test_change FILE membership/propose.c
	REMOVES "a member that opens the memory of a next view heeds what others say"
	TEXT [[
	if (ticket != change->ticket && ticket != change->heeded && wh_suspicion_heeds(change) &&
]]
	REPLACEMENT [[
	if (ticket != change->ticket && ticket != change->heeded &&
]])

mutant(NAME heedless-acknowledge KIND test_change FILE membership/propose.c
	REMOVES "a member that acknowledges heeds what others say"
	TEXT [[
	if (ticket != change->ticket || !change->on.is_open(change->ctx) || !wh_suspicion_heeds(change))
]]
	REPLACEMENT [[
	if (ticket != change->ticket || !change->on.is_open(change->ctx))
]])

mutant(NAME heedless-decide KIND test_change FILE membership/change.c
	REMOVES "a leader that decides heeds what others say"
	TEXT [[
	return wh_change_has_logs(change) && wh_suspicion_trusted_quorum(change) && wh_suspicion_heeds(change);
]]
	REPLACEMENT [[
	return wh_change_has_logs(change) && wh_suspicion_trusted_quorum(change);
]])

mutant(NAME heedless-adopt KIND test_change_leaders FILE membership/change.c
	REMOVES "a leader that adopts a decision heeds what others say"
	TEXT [[
	if (!wh_suspicion_heeds(change) || !take_decision(change, (uint32_t)decided))
]]
	REPLACEMENT [[
	if (!take_decision(change, (uint32_t)decided))
]])

mutant(NAME heedless-echo KIND test_change FILE membership/change.c
	REMOVES "a member that echoes heeds what others say"
	TEXT [[
agreed <= change->agreed || !wh_suspicion_heeds(change) ||
]]
	REPLACEMENT [[
agreed <= change->agreed ||
]])

mutant(NAME heedless-settle KIND test_change FILE membership/change.c
	REMOVES "a decision is final for a member that heeds what others say"
	TEXT [[
			return false;
	return wh_suspicion_trusted_quorum(change) && wh_suspicion_heeds(change);
}

/* The members that went
]]
	REPLACEMENT [[
			return false;
	return wh_suspicion_trusted_quorum(change);
}

/* The members that went
]])

mutant(NAME nobody-heeds KIND views FILE membership/suspicion.c
	WORDS --set sim.flavour=splits
	REMOVES "what others say of others, and of oneself, is heeded"
	TEXT [[
			if (!is_heeded(change, from, of))
				return false;
]]
	REPLACEMENT [[
			(void)is_heeded(change, from, of);
]])

# ---- takeover, echo ----

mutant(NAME no-barrier KIND views FILE membership/change.c
	WORDS --set sim.nodes_min=4 --fault "crash 3 at 10 ms" --fault "crash 0 after decide 1"
	REMOVES "a leader that takes over waits until all suspect those before it"
	TEXT [[
	if (change->agreed == (uint64_t)me + 1 || !is_past_barrier(change))
]]
	REPLACEMENT [[
	(void)is_past_barrier;
	if (change->agreed == (uint64_t)me + 1)
]])

mutant(NAME no-adopting KIND views FILE membership/change.c
	WORDS --set sim.nodes_min=4 --fault "crash 3 at 10 ms" --fault "crash 0 after decide 1"
	REMOVES "a leader that takes over adopts a decision that it finds: only if it has agreed to it itself"
	TEXT [[
	if (decided < 0)
		return propose_and_decide(change);
]]
	REPLACEMENT [[
	if (change->agreed == 0)
		return propose_and_decide(change);
]])

mutant(NAME echo-unasked KIND views FILE membership/change.c
	WORDS --set sim.nodes_min=4 --fault "crash 3 at 10 ms" --fault "crash 0 after decide 1"
	REMOVES "a decision is final when all have echoed it: the leader's word will do"
	TEXT [[
		if (wh_change_trusts(change, rank) && !says_the_same(change, rank))
]]
	REPLACEMENT [[
		if (wh_change_trusts(change, rank) && rank == wh_change_leader(change) && !says_the_same(change, rank))
]])

mutant(NAME no-catching-up KIND test_change_leaders FILE membership/change.c
	REMOVES "what somebody has installed is final"
	TEXT [[
		work = catch_up(change);
]]
	REPLACEMENT [[
		(void)catch_up;
]])

mutant(NAME gone-ahead-accused KIND test_change_leaders FILE membership/suspicion.c
	REMOVES "nothing new is said of a member that has installed, whichever member accuses it"
	TEXT [[
	if (wanted[from] != WH_TRUSTED || wanted[of] != WH_TRUSTED || from == of || from == wh_change_me(change) ||
	    is_spared(change, of))
]]
	REPLACEMENT [[
	if (wanted[from] != WH_TRUSTED || wanted[of] != WH_TRUSTED || from == of || from == wh_change_me(change))
]])

mutant(NAME next-unseen KIND test_timelines_joins FILE membership/change.c
	WORDS CK_RUN_CASE=following
	REMOVES "a next view that others have begun was decided"
	TEXT [[
	return change->agreed != 0 && change->on.has_begun(change->ctx, false);
]]
	REPLACEMENT [[
	(void)change;
	return false;
]])

mutant(NAME next-heeded KIND test_timelines_joins FILE membership/change.c
	WORDS CK_RUN_CASE=following
	REMOVES "a member that can say nothing goes along with a next view that others have begun"
	TEXT [[
	return change->agreed != 0 && change->on.has_begun(change->ctx, false);
]]
	REPLACEMENT [[
	return change->agreed != 0 && change->on.has_begun(change->ctx, false) && wh_suspicion_heeds(change);
]])

mutant(NAME next-not-agreed KIND test_change_leaders FILE membership/change.c
	REMOVES "where its messages end is known of a view only by members that have agreed to it"
	TEXT [[
	return change->agreed != 0 && change->on.has_begun(change->ctx, false);
]]
	REPLACEMENT [[
	return change->on.has_begun(change->ctx, false);
]])

mutant(NAME final-heeded KIND test_change_leaders FILE membership/change.c
	REMOVES "a member that can say nothing goes along with what another has installed"
	TEXT [[
		    (!read_decision(change, rank) && !wh_suspicion_heeds(change)))
]]
	REPLACEMENT [[
		    !wh_suspicion_heeds(change))
]])

# ---- delivery to the cut, and the next view ----

mutant(NAME delivers-beyond-cut KIND views FILE predicates/deliver.c
	REMOVES "nothing behind the cut is delivered: all is that was received"
	TEXT [[
	messages = deliver_below(mc, cut);
]]
	REPLACEMENT [[
	messages = deliver_below(mc, mc->received_num);
]])

mutant(NAME installs-undelivered KIND views FILE membership/change.c
	REMOVES "the next view begins when all below the cut is delivered"
	TEXT [[
	if (!done)
		return work + 1;
	wh_sst_publish_flag
]]
	REPLACEMENT [[
	wh_sst_publish_flag
]])

mutant(NAME nothing-sent-again KIND views FILE group/install.c
	REMOVES "what was sent and not delivered is sent again"
	TEXT [[
		if (old->sends)
			first = end;
]]
	REPLACEMENT [[
		(void)end;
		if (old->sends)
			first = subgroup->ring->sent;
]])

mutant(NAME all-sent-again KIND views FILE predicates/multicast.c
	REMOVES "what was delivered is not sent again"
	TEXT [[
	return c->mode == WH_MODE_ORDERED ? mc->senders[c->me].next : least_had(mc, leaves);
]]
	REPLACEMENT [[
	return c->mode == WH_MODE_ORDERED ? mc->senders[c->me].first : least_had(mc, leaves);
]])

mutant(NAME first-untold KIND views FILE predicates/multicast.c
	REMOVES "receivers are told where a sender's messages begin"
	TEXT [[
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.first, first, mc->peers);
]]
	REPLACEMENT [[
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.first, first, (struct wh_to){NULL, 0});
]])

mutant(NAME not-copied KIND views FILE predicates/send.c
	REMOVES "a message that lies in the memory of the view before is copied"
	TEXT [[
	memcpy(place->row + wh_slot_payload(&place->slots, slot), from, bytes);
]]
	REPLACEMENT [[
	(void)place, (void)bytes;
]])

mutant(NAME home-forgotten KIND views FILE predicates/send.c
	REMOVES "a message that was copied is of the view that it was copied to"
	TEXT [[
	wh_ring_came_home(ring, slot);
]]
	REPLACEMENT "")

mutant(NAME home-is-here KIND views FILE smc/ring.h COMPILE group/send.c
	REMOVES "a message lies in the memory of the view in which it was claimed"
	TEXT [[
	ready->home = claim->home;
]]
	REPLACEMENT [[
	ready->home = ring->place->home;
]])

mutant(NAME places-forgotten KIND views FILE group/epoch.c
	REMOVES "a view's memory stays while claims made in it are open, or finished and not sent"
	TEXT [[
	bool over = wh_load_acquire(&epoch->grace) != 0 && rings_are_done(epoch) &&
]]
	REPLACEMENT [[
	(void)rings_are_done;
	bool over = wh_load_acquire(&epoch->grace) != 0 &&
]])

mutant(NAME memory-not-waited-for KIND views FILE group/epoch.c
	REMOVES "a view's memory stays until all that go on have installed the next: a grace period will do"
	TEXT [[
	bool over = wh_load_acquire(&epoch->grace) != 0 && rings_are_done(epoch) && all_have_gone_on(epoch, current);
]]
	REPLACEMENT [[
	(void)all_have_gone_on;
	bool over = wh_load_acquire(&epoch->grace) != 0 && rings_are_done(epoch);
]])

# ---- unordered mode ----

mutant(NAME duplicates KIND views FILE predicates/deliver.c
	REMOVES "unordered: what was delivered in a view before is passed over"
	TEXT [[
	bool message = !sender->ahead.aborted && sender->next >= sender->have;

	if (__builtin_expect(
]]
	REPLACEMENT [[
	bool message = !sender->ahead.aborted;

	if (__builtin_expect(
]])

mutant(NAME least-had-ignored KIND views FILE predicates/multicast.c SEED 270
	REMOVES "unordered: what some lack is sent again"
	TEXT [[
	return c->mode == WH_MODE_ORDERED ? mc->senders[c->me].next : least_had(mc, leaves);
]]
	REPLACEMENT [[
	(void)least_had;
	(void)leaves;
	return mc->senders[c->me].next;
]])

mutant(NAME cut-takes-back KIND test_change FILE membership/change.c
	REMOVES "a cut below what I have delivered is not believed"
	TEXT [[
	       (cut <= wh_row(change, me, source->stable_num) && cut >= wh_row(change, me, source->delivered_num));
]]
	REPLACEMENT [[
	       cut <= wh_row(change, me, source->stable_num);
]])

# ---- the end of a node ----

mutant(NAME removed-hears-on KIND test_group_failed FILE group/epoch.c
	REMOVES "a member that learns that it was removed is deaf at once"
	TEXT [[
		if (__builtin_expect(is_silent(epoch->node), 0)) /* just now: removed, or in a delivery */
]]
	REPLACEMENT [[
		if (is_silent(epoch->node) && !epoch->change.removed)
]])
