# joins.cmake - mechanisms by which members take nodes in and change which nodes send (docs/decisions/0016), taken out
# one at a time. See mutants.cmake and views.cmake.

# ---- what a proposal is ----

mutant(NAME record-unguarded KIND test_prepare FILE membership/propose.c
	REMOVES "a record is read if its seal is that of the attempt"
	TEXT [[
	return change->record[words - 1] == wh_proposal_seal(change->record, words, attempt);
]]
	REPLACEMENT [[
	return true;
]])

mutant(NAME record-guarded-by-number KIND test_prepare FILE membership/propose.c
	REMOVES "a record is read if its seal is that of the attempt: a member that has read it looks at `proposed` again, which has not come"
	TEXT [[
	return change->record[words - 1] == wh_proposal_seal(change->record, words, attempt);
]]
	REPLACEMENT [[
	return wh_row(change, leader, change->columns.proposed) == attempt;
]])

mutant(NAME seal-unnumbered KIND test_prepare FILE membership/propose.c
	REMOVES "a seal is of one attempt"
	TEXT [[
	return attempt << 32 | wh_crc32c(0, record, (words - 1) * sizeof(*record));
]]
	REPLACEMENT [[
	(void)attempt;
	return wh_crc32c(0, record, (words - 1) * sizeof(*record));
]])

mutant(NAME newcomers-stay KIND views FILE membership/propose.c
	REMOVES "once somebody has failed nobody is taken in: those of the last attempt are"
	TEXT [[
	if (change->coming_count > 0)
		invite(change, 0, 0);
	publish_attempt(change, NULL, 0, false, 0); /* what follows a failure follows from rows */
]]
	REPLACEMENT [[
	publish_attempt(change, change->coming, change->coming_count, false, 0);
	invite(change, wh_image_key(change->view->number, wh_change_me(change), change->attempt), change->coming_count);
]])

mutant(NAME wishes-with-failures KIND test_prepare FILE membership/propose.c
	REMOVES "once somebody has failed nobody's wish to rest is met"
	TEXT [[
	keep_roles(change);
	if (change->coming_count > 0)
]]
	REPLACEMENT [[
	(void)find_roles(change);
	if (change->coming_count > 0)
]])

mutant(NAME all-at-once KIND views FILE membership/view.h COMPILE membership/propose.c membership/change.c group/rows.c
	REMOVES "newcomers are fewer than members"
	TEXT [[
	uint32_t fewer = view->members > 1 ? view->members - 1 : 1;
]]
	REPLACEMENT [[
	uint32_t fewer = view->members + WH_NEWCOMERS_MAX;
]])

mutant(NAME nothing-installed KIND test_prepare FILE membership/propose.c
	REMOVES "an attempt that changes nothing gives up the one before"
	TEXT [[
	else if (come == WHORL_OK && changes_something(change)) /* else it is given up, or there is no memory for it */
]]
	REPLACEMENT [[
	else if (come == WHORL_OK)
]])

mutant(NAME renewal-is-nothing KIND views FILE membership/propose.c
	REMOVES "a view that is to follow does, though nothing changes"
	TEXT [[
	return change->coming_count > 0 || (*renews_in(change) & RENEWS) != 0;
]]
	REPLACEMENT [[
	return change->coming_count > 0;
]])

mutant(NAME no-renewal KIND test_prepare_rests FILE membership/propose.c
	REMOVES "a first view with a quorum that is taken of other nodes is followed at once"
	TEXT [[
	if (change->view->voters > member_count(change) ||
]]
	REPLACEMENT [[
	if (
]])

mutant(NAME taken-back-for-ever KIND views FILE membership/propose.c
	SEED 5 WORDS --set sim.nodes_min=4 --set sim.nodes_max=4 --set sim.subgroups_max=1
	      --set sim.messages_max=20 --set sim.deliveries_max=300 --set sim.latency_max_us=20
	      --fault "rest 2 for 1.126 ms at 21.067 ms"
	REMOVES "a member that has taken back a wish sends again with the next view, which follows"
	TEXT [[
			if (wh_row_of(change, subgroup->members[i], change->columns.wish, g) > 1)
				return true;
]]
	REPLACEMENT [[
			(void)subgroup;
]])

mutant(NAME rests-as-seen KIND views FILE membership/propose.c SEED 660
	REMOVES "the proposal says which members rest: each member takes the wishes that it sees"
	TEXT [[
	memcpy(change->rests, rests_in(change), 2 * role_words(change) * sizeof(*change->rests));
]]
	REPLACEMENT [[
	memcpy(change->rests, rests_in(change), 2 * role_words(change) * sizeof(*change->rests));
	(void)find_rests(change, change->rests, true);
]])

mutant(NAME rests-forgotten KIND test_prepare_rests FILE membership/propose.c
	REMOVES "a resting member goes on resting"
	TEXT [[
			if (wish == 0 || only_listens(subgroup, rank))
]]
	REPLACEMENT [[
			if (only_listens(subgroup, rank))
]])

# ---- preparing ----

mutant(NAME wedges-unopened KIND views FILE membership/propose.c
	SEED 7190 WORDS --set sim.forming=all
	REMOVES "nobody stops before all members have opened the memory of the next view"
	TEXT [[
	if (change->ticket != wh_ticket(wh_change_me(change), change->attempt) || !all_have_opened(change))
		return false;
]]
	REPLACEMENT [[
	(void)all_have_opened;
	if (change->ticket != wh_ticket(wh_change_me(change), change->attempt))
		return false;
]])

mutant(NAME together-again KIND views FILE membership/propose.c
	SEED 200 WORDS --set sim.forming=all
	REMOVES "after an attempt that left somebody out newcomers come one by one"
	TEXT [[
	uint32_t most = change->one_at_a_time ? 1 : wh_newcomers_most(change->view), count;
]]
	REPLACEMENT [[
	uint32_t most = wh_newcomers_most(change->view), count;
]])

mutant(NAME wedges-alone KIND test_prepare FILE membership/propose.c
	REMOVES "no member stops before all newcomers are there"
	TEXT [[
		if (arrival_of(change, i) != WH_ARRIVAL_THERE)
			return false;
]]
	REPLACEMENT [[
		continue;
]])

mutant(NAME wedges-replaced KIND test_prepare FILE membership/propose.c
	REMOVES "the leader stops for its last attempt, not for one that it has replaced"
	TEXT [[
	if (change->ticket != wh_ticket(wh_change_me(change), change->attempt) || !all_have_opened(change))
		return false;
]]
	REPLACEMENT [[
	if (change->ticket == 0 || !all_have_opened(change))
		return false;
]])

mutant(NAME wedges-unheard KIND test_prepare FILE membership/propose.c
	REMOVES "nobody stops for newcomers without a quorum"
	TEXT [[
	return wh_change_has_logs(change) && change->suspicion.quorum && wh_suspicion_heeds(change);
]]
	REPLACEMENT [[
	return wh_change_has_logs(change);
]])

mutant(NAME begins-unheard KIND test_prepare FILE membership/propose.c
	REMOVES "nobody is taken in without a quorum"
	TEXT [[
	if (change->loop->now_ns < change->rests_until_ns || !change->suspicion.quorum || !wh_suspicion_heeds(change) ||
]]
	REPLACEMENT [[
	if (change->loop->now_ns < change->rests_until_ns ||
]])

mutant(NAME awaits-for-ever KIND test_prepare FILE membership/propose.c
	REMOVES "a newcomer that does not come is left out"
	TEXT [[
		if (arrival == WH_ARRIVAL_THERE || (arrival == WH_ARRIVAL_COMING && waited <= patience))
]]
	REPLACEMENT [[
		if (arrival == WH_ARRIVAL_THERE || arrival == WH_ARRIVAL_COMING)
]])

mutant(NAME prepares-for-ever KIND views FILE membership/propose.c
	SEED 200 WORDS --set sim.forming=all
	REMOVES "an attempt that does not come about is given up"
	TEXT [[
	if (waited > PREPARE_TIMEOUTS * patience) {
]]
	REPLACEMENT [[
	if (waited > 1000 * PREPARE_TIMEOUTS * patience) {
]])

mutant(NAME gone-may-come KIND test_prepare FILE membership/join_requests.c
	REMOVES "a newcomer that has ended is left out at once: it is waited for as one that is late"
	TEXT [[
		return WH_ARRIVAL_GONE;
]]
	REPLACEMENT [[
		return WH_ARRIVAL_COMING;
]])

mutant(NAME withdrawn-untold KIND views FILE membership/propose.c SEED 320
	REMOVES "newcomers are told when an attempt is given up"
	TEXT [[
	invite(change, 0, 0);
	if (changes
]]
	REPLACEMENT [[
	if (changes
]])

mutant(NAME wedges-at-proposal KIND views FILE membership/change.c
	REMOVES "the view goes on while the next is prepared: all stop when they see a proposal"
	TEXT [[
		return wh_row_flag(change, lead, change->columns.wedged);
	return wh_prepared(change);
]]
	REPLACEMENT [[
		return change->ticket != 0;
	return wh_prepared(change);
]])

# ---- which nodes come in ----

mutant(NAME asks-remembered KIND test_join_requests FILE membership/join_requests.c
	REMOVES "a node that asks no more does not want to come in"
	TEXT [[
	return known->wanted_ns != 0 && roster->loop->now_ns - known->wanted_ns < WANTS_NS;
]]
	REPLACEMENT [[
	(void)roster;
	return known->wanted_ns != 0;
]])

mutant(NAME twice-a-member KIND test_join_requests FILE membership/join_requests.c
	REMOVES "an id is taken in again only after a view without it"
	TEXT [[
		    wh_view_rank(roster->view, node) >= 0 || roster->loop->now_ns < known->not_before_ns)
]]
	REPLACEMENT [[
		    wh_view_rank_of(roster->view, node, known->incarnation) >= 0 ||
		    roster->loop->now_ns < known->not_before_ns)
]])

mutant(NAME asked-again-at-once KIND test_join_requests FILE membership/join_requests.c
	REMOVES "a node that did not come is not waited for again at once"
	TEXT [[
		    wh_view_rank(roster->view, node) >= 0 || roster->loop->now_ns < known->not_before_ns)
]]
	REPLACEMENT [[
		    wh_view_rank(roster->view, node) >= 0)
]])

mutant(NAME all-are-late KIND test_join_requests FILE membership/join_requests.c
	REMOVES "only a node that holds up the others has to wait"
	TEXT [[
	return known->opened != known->invited || (all_opened && known->there != known->invited);
]]
	REPLACEMENT [[
	(void)known;
	(void)all_opened;
	return true;
]])

mutant(NAME none-are-late KIND views FILE membership/join_requests.c SEED 320
	REMOVES "a node that holds up the others has to wait"
	TEXT [[
	return known->opened != known->invited || (all_opened && known->there != known->invited);
]]
	REPLACEMENT [[
	(void)known;
	(void)all_opened;
	return false;
]])

mutant(NAME late-if-unopened KIND test_join_requests FILE membership/join_requests.c
	REMOVES "of nodes that cannot meet not all are invited again at once"
	TEXT [[
	return known->opened != known->invited || (all_opened && known->there != known->invited);
]]
	REPLACEMENT [[
	(void)all_opened;
	return known->opened != known->invited;
]])

mutant(NAME recall-forgotten KIND test_join_requests FILE membership/join_requests.c
	REMOVES "a node that was invited and is not any more is told"
	TEXT [[
	known->recalls = true;
	known->recalled = known->invited;
	known->invited = 0;
]]
	REPLACEMENT [[
	known->invited = 0;
]])

mutant(NAME leader-unnamed KIND test_join_requests FILE membership/join_requests.c
	REMOVES "a member that is asked to let a node in and does not lead says which member does"
	TEXT [[
		known->told = 0; /* which member leads */
		requests->roster->outstanding = true;
]]
	REPLACEMENT "")

mutant(NAME settled-unrecalled KIND test_join_requests FILE membership/join_requests.c
	REMOVES "when a view begins, a node that was invited and is not in it is told"
	TEXT [[
		else if (known->invited != 0)
			recall_invitation(requests, known, false, true);
		known->invited = 0;
]]
	REPLACEMENT [[
		known->invited = 0;
]])

mutant(NAME invited-as-another KIND test_join_requests FILE membership/join_requests.c
	REMOVES "an invitation is for an incarnation"
	TEXT [[
		bool invited = view != NULL && known->incarnation != 0 &&
			       (wh_is_first_view(key) || wh_rank_find(view->joined, view->joined_count, node) >= 0) &&
			       wh_view_rank_of(view, node, known->incarnation) >= 0;
]]
	REPLACEMENT [[
		bool invited = view != NULL && known->incarnation != 0 &&
			       (wh_is_first_view(key) || wh_rank_find(view->joined, view->joined_count, node) >= 0);
]])

# ---- what is past ----

mutant(NAME missed-not-past KIND test_prepare FILE membership/propose.c
	REMOVES "attempts that were withdrawn before a member saw them are past, too"
	TEXT [[
	change->on.discard(change->ctx, key); /* also those attempts that I have never seen, and others have */
]]
	REPLACEMENT [[
	if (change->ticket != 0)
		change->on.discard(change->ctx, key);
]])

mutant(NAME invited-unheard KIND test_join_requests FILE membership/join_requests.c
	REMOVES "my intro goes to a node before an invitation does"
	TEXT [[
		if (known->told == 0 && (known->recalls || known->invited != 0)) {
]]
	REPLACEMENT [[
		if (false) {
]])

mutant(NAME past-kept KIND conformance-shm-offers FILE transport/session/image.c
	REMOVES "offers that are past are let go of at once"
	TEXT [[
			if (peer->offers[i].there && !is_wanted(s, peer, peer->offers[i].offer.key))
				drop_offer(s, peer, &peer->offers[i]);
]]
	REPLACEMENT [[
			if (key > 8 && peer->offers[i].there && !is_wanted(s, peer, peer->offers[i].offer.key))
				drop_offer(s, peer, &peer->offers[i]);
]])

mutant(NAME shm-answered-gives-way KIND conformance-shm-meetings FILE transport/session/door.c
	WORDS CK_RUN_CASE=calls
	REMOVES "an answered call is not put aside for a late call of another life"
	TEXT [[
	if (peer->state == WH_PEER_MET || (peer->state == WH_PEER_ANSWERED && peer->incarnation != hello->incarnation))
]]
	REPLACEMENT [[
	if (peer->state == WH_PEER_MET)
]])

mutant(NAME shm-last-words-lost KIND conformance-shm-meetings FILE transport/session/peer.c
	WORDS CK_RUN_CASE=lives
	REMOVES "all that a peer has sent is taken in before another process has its place"
	TEXT [[
		*dry = room && !peer->conn->more;
]]
	REPLACEMENT [[
		*dry = room;
]])
