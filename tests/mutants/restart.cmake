# restart.cmake - what brings a durable group back (docs/decisions/0058), taken out one rule at a time. See mutants.cmake.

# ---- what a disk says of views ----

mutant(NAME standing-unsynced KIND test_standing FILE persistence/standing.c
	REMOVES "a standing is on disk when it has been written"
	TEXT [[
		result = file->file->ops->sync(file->file, err);
	if (result == WHORL_OK)
		file->slot = !file->slot;
]]
	REPLACEMENT [[
		file->slot = !file->slot;
]])

mutant(NAME standing-over-itself KIND test_standing FILE persistence/standing.c
	REMOVES "the slots of a standing are written in turn"
	TEXT [[
	enum whorl_result result = write_copies(file, !file->slot, slot, bytes, err);
]]
	REPLACEMENT [[
	enum whorl_result result = write_copies(file, file->slot = 1, slot, bytes, err);
]])

mutant(NAME standing-unchecked KIND test_standing FILE persistence/standing.c
	REMOVES "a slot that does not check is passed over"
	TEXT [[
	if (whole && slot_checksum(bytes, length) == (uint32_t)wh_take_number(&reader, 4)) {
]]
	REPLACEMENT [[
	if (whole) {
]])

mutant(NAME standing-lost-is-blank KIND test_standing FILE persistence/standing.c
	REMOVES "a file of which no slot checks is refused: it is taken for a blank one"
	TEXT [[
		result = wh_error_set(err, WHORL_DISK, "what this disk says of views is damaged in all of its places");
]]
	REPLACEMENT "")

mutant(NAME standing-once KIND test_standing FILE persistence/standing.c
	REMOVES "a standing lies on disk twice"
	TEXT [[
	for (uint32_t copy = 0; copy < COPIES && result == WHORL_OK; copy++)
		result = write_at(
]]
	REPLACEMENT [[
	for (uint32_t copy = 0; copy < 1 && result == WHORL_OK; copy++)
		result = write_at(
]])

mutant(NAME standing-read-unsynced KIND test_standing FILE persistence/standing.c
	REMOVES "what is read of a standing is synced before anything is said of it"
	TEXT [[
	if (result == WHORL_OK)
		result = file->file->ops->sync(file->file, err);
	if (result == WHORL_OK)
		result = file->directory->ops->sync(file->directory, err);
]]
	REPLACEMENT "")

mutant(NAME standing-made-in-place KIND test_standing FILE persistence/standing.c
	REMOVES "a file is made beside, and then takes its name"
	TEXT [[
	enum whorl_result result = make_beside(file->directory, FILE_NAME BESIDE, &made.file, err);
]]
	REPLACEMENT [[
	enum whorl_result result = make_beside(file->directory, FILE_NAME, &made.file, err);
]] TEXT_2 [[
		result = take_name(file->directory, made.file, FILE_NAME BESIDE, FILE_NAME, err);
]] REPLACEMENT_2 [[
		result = take_name(file->directory, made.file, FILE_NAME, FILE_NAME, err);
]])

mutant(NAME name-unsynced KIND test_standing FILE persistence/standing.c
	REMOVES "the name of a new file is on disk when it has been written"
	TEXT [[
	return result == WHORL_OK ? directory->ops->sync(directory, err) : result;
]]
	REPLACEMENT [[
	return result;
]])

mutant(NAME standing-written-on KIND test_standing FILE persistence/standing.c
	REMOVES "no write follows one that failed"
	TEXT [[
	file->failed = result != WHORL_AGAIN; /* without room nothing is synced, and what counts is not written to */
]]
	REPLACEMENT "")

mutant(NAME view-of-another-key KIND test_standing FILE persistence/standing.c
	REMOVES "a view's checksum covers its key"
	TEXT [[
	wh_put_number(name, key, 8);
]]
	REPLACEMENT [[
	wh_put_number(name, 0 * key, 8);
]])

# ---- the end of a view ----

mutant(NAME decided-unkept KIND test_change_durable FILE membership/change.c
	REMOVES "a decision is on disk before the row of its maker says it"
	TEXT [[
	if (!is_kept(change, wh_change_me(change)) || !heeds_still(change))
]]
	REPLACEMENT [[
	if (!heeds_still(change))
]])

mutant(NAME adopted-unkept KIND test_change_durable FILE membership/change.c
	REMOVES "what a leader adopts is on disk before its row says it"
	TEXT [[
	if (!is_kept(change, me) || !heeds_still(change))
]]
	REPLACEMENT [[
	if (!heeds_still(change))
]])

mutant(NAME echoed-unkept KIND test_change_durable FILE membership/change.c
	REMOVES "what a member echoes is on disk before its row says it"
	TEXT [[
	if (!is_kept(change, lead) || !heeds_still(change))
]]
	REPLACEMENT [[
	if (!heeds_still(change))
]])

mutant(NAME caught-up-unkept KIND test_change_durable FILE membership/change.c
	REMOVES "what another has installed is on disk before a row says that its member agrees"
	TEXT [[
		if (change->agreed == 0 && !is_kept(change, by))
			return 0;
]]
	REPLACEMENT "")

mutant(NAME heedless-behind-the-disk KIND test_change_durable FILE membership/change.c
	REMOVES "what others say is heeded once more when a decision is on disk"
	TEXT [[
	return change->on.keep == NULL || wh_suspicion_heeds(change);
]]
	REPLACEMENT [[
	(void)change;
	return true;
]])

mutant(NAME no-log-goes-on KIND test_change_durable FILE membership/change.c
	REMOVES "no view is decided in which a durable shard keeps members and none of them is whole"
	TEXT [[
	return wh_change_has_logs(change) && wh_suspicion_trusted_quorum(change) && wh_suspicion_heeds(change);
]]
	REPLACEMENT [[
	return wh_suspicion_trusted_quorum(change) && wh_suspicion_heeds(change);
]])

mutant(NAME next-view-unread KIND test_change_durable FILE membership/change.c
	REMOVES "the members of a durable shard that go on are those that it has in the next view"
	TEXT [[
	if (next == NULL)
		return true;
]]
	REPLACEMENT [[
	(void)there;
	if (shard == NULL || shard != NULL)
		return true;
]])

mutant(NAME entered-is-whole KIND test_change_durable FILE membership/change.c
	REMOVES "what a member that enters the shard anew has had there is nothing"
	TEXT [[
	return shard != NULL && there >= 0 && wh_rank_find(shard->members, shard->member_count, (uint32_t)there) >= 0 &&
	       wh_rank_find(shard->entered, shard->entered_count, (uint32_t)there) < 0;
]]
	REPLACEMENT [[
	return shard != NULL && there >= 0 && wh_rank_find(shard->members, shard->member_count, (uint32_t)there) >= 0;
]])

mutant(NAME log-leaves-shard KIND test_change_durable FILE membership/change.c
	REMOVES "behind a failure a function does not take the only whole log out of its shard"
	TEXT [[
	work += wh_propose_keeping(change);
]]
	REPLACEMENT "")

mutant(NAME log-leaves-shard-prepared KIND test_change_durable FILE membership/propose.c
	REMOVES "nor in a view that is prepared while the one before goes on"
	TEXT [[
	if (count == change->coming_count && !wh_change_finds_keeps(change) && !wh_serve_is_replaced(change))
]]
	REPLACEMENT [[
	if (count == change->coming_count && !wh_serve_is_replaced(change))
]])

mutant(NAME kept-unsaid KIND test_change_durable FILE membership/propose.c
	REMOVES "all members know in which subgroups nobody leaves its shard"
	TEXT [[
				.keeps = *renews_in(change) >> 1};
]]
	REPLACEMENT [[
				.keeps = 0};
]])

mutant(NAME stops-without-log KIND test_change_durable FILE membership/propose.c
	REMOVES "a view goes on until some log is whole"
	TEXT [[
	return wh_change_has_logs(change) && change->suspicion.quorum && wh_suspicion_heeds(change);
]]
	REPLACEMENT [[
	return change->suspicion.quorum && wh_suspicion_heeds(change);
]])

mutant(NAME kept-leaves KIND test_layout FILE membership/layout.c
	REMOVES "where a log is needed nobody leaves its shard"
	TEXT [[
	if (draft->keeps)
		keep_in_shards(draft, name, layout);
]]
	REPLACEMENT [[
	(void)keep_in_shards;
]])

mutant(NAME restart-asks-functions KIND test_layout FILE membership/view.c
	REMOVES "behind a restart no function is asked"
	TEXT [[
	result = wh_layout_make(view, before, &(struct wh_next){.removed = removed, .rests = rests, .settles = true},
]]
	REPLACEMENT [[
	result = wh_layout_make(view, before, &(struct wh_next){.removed = removed, .rests = rests},
]])

mutant(NAME empty-shard-waits KIND test_change_durable FILE membership/change.c
	REMOVES "a shard of which no member goes on holds up nobody"
	TEXT [[
	return !goes_on;
]]
	REPLACEMENT [[
	return false && goes_on;
]])

mutant(NAME log-held-against-leader KIND test_change_durable FILE membership/change.c
	REMOVES "while a whole log is missing no member is held to hold up the others"
	TEXT [[
	if (work > 0 || late || !change->suspicion.quorum || is_held_up_by_log(change))
]]
	REPLACEMENT [[
	(void)is_held_up_by_log;
	if (work > 0 || late || !change->suspicion.quorum)
]])

mutant(NAME log-waited-for-ever KIND test_change_durable FILE membership/change.c
	REMOVES "a member that waits for a whole log gives up in the end"
	TEXT [[
		wh_suspicion_give_up(change); /* a restart of all finds the one that has it (0058) */
]]
	REPLACEMENT [[
		return true;
]])

# ---- what a round decides (of the table in 0058, and more) ----

mutant(NAME restart-newest-forgotten KIND test_restart_find FILE membership/restart_find.c
	REMOVES "the newest view of all disks counts: the first that was heard does"
	TEXT [[
		if (!any || is_newer(search, standing)) {
]]
	REPLACEMENT [[
		if (!any) {
]])

mutant(NAME restart-lost-end-counts KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a log that ends below what another says that all had has rotted"
	TEXT [[
	return *extent >= frontier;
]]
	REPLACEMENT [[
	(void)frontier;
	return true;
]])

mutant(NAME restart-agreed-is-begun KIND test_restart_find FILE membership/restart_find.c
	REMOVES "what one disk has agreed to was not decided for that"
	TEXT [[
	return is_quorum(seekers, view, votes, gone, gone_count);
}

/* Of two
]]
	REPLACEMENT [[
	(void)votes;
	return true;
}

/* Of two
]])

mutant(NAME restart-ballots-mixed KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a view is decided at one ballot"
	TEXT [[
	return one->base == other->base && one->ballot == other->ballot && one->next == other->next &&
]]
	REPLACEMENT [[
	return one->base == other->base && one->next == other->next &&
]])

mutant(NAME restart-agreed-is-nothing KIND test_restart_find FILE membership/restart_find.c
	REMOVES "what a voter has agreed to is taken up"
	TEXT [[
	agreed = find_agreement(search);
]]
	REPLACEMENT [[
	(void)take_up;
	(void)find_agreement;
	agreed = NULL;
]])

mutant(NAME restart-lowest-ballot KIND test_restart_find FILE membership/restart_find.c
	REMOVES "of what was agreed to that of the highest ballot is taken up"
	TEXT [[
		    (best == NULL || report->standing.ballot > best->ballot))
]]
	REPLACEMENT [[
		    (best == NULL || report->standing.ballot < best->ballot))
]])

mutant(NAME restart-agreed-elsewhere KIND test_restart_find FILE membership/restart_find.c
	REMOVES "only what follows the newest view is taken up"
	TEXT [[
		if (report != NULL && report->standing.base == search->base && report->standing.ballot > 0 &&
]]
	REPLACEMENT [[
		if (report != NULL && report->standing.ballot > 0 &&
]])

mutant(NAME restart-no-majority KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a majority of the newest view is needed"
	TEXT [[
	if (is_quorum(search->seekers, view, out->votes, search->gone, search->gone_count))
]]
	REPLACEMENT [[
	if (is_quorum(search->seekers, view, out->votes, search->gone, search->gone_count) || out->verdict == 0)
]])

mutant(NAME restart-no-home KIND test_restart_find FILE membership/restart_find.c
	REMOVES "one of those that count must be configured"
	TEXT [[
	return home && wh_quorum_holds(&quorum, count, tie);
]]
	REPLACEMENT [[
	return (home || count > 0) && wh_quorum_holds(&quorum, count, tie);
]])

mutant(NAME restart-left-votes KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a node that left does not count in the view that it left"
	TEXT [[
		if (report == NULL || !report->standing.left || report->standing.base != key)
]]
	REPLACEMENT [[
		if (report == NULL || key == key)
]])

mutant(NAME restart-left-before KIND test_restart_find FILE membership/restart_find.c
	REMOVES "that it left in an earlier view is nothing"
	TEXT [[
		if (report == NULL || !report->standing.left || report->standing.base != key)
]]
	REPLACEMENT [[
		if (report == NULL || !report->standing.left)
]])

mutant(NAME restart-all-left-is-none KIND test_restart_find FILE membership/restart_find.c
	REMOVES "where all members have come all count, also those that have left"
	TEXT [[
	if (find_alone(search->seekers, search->base, view) == NULL && have_all_come(search->seekers, view)) {
]]
	REPLACEMENT [[
	if (find_alone(search->seekers, search->base, view) == NULL && have_all_come(search->seekers, view) && false) {
]])

mutant(NAME restart-holder-unnamed KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a node that has the log that a round waits for, and is not there itself, is named as missing"
	TEXT [[
		if (!search->gone[id])
			out->missing.ids[out->missing.count++] = id;
]]
	REPLACEMENT "")

mutant(NAME restart-shards-forgotten KIND test_restart_find FILE membership/restart_find.c
	REMOVES "of each durable shard a whole log is needed"
	TEXT [[
	if (any || shard->member_count == 0 || is_given_up(search, index))
]]
	REPLACEMENT [[
	if (any || shard->member_count < 99 || is_given_up(search, index))
]])

mutant(NAME restart-longest-log KIND test_restart_find FILE membership/restart_find.c
	REMOVES "the cut is the least of the whole logs"
	TEXT [[
		cut = !any || extent < cut ? extent : cut;
]]
	REPLACEMENT [[
		cut = !any || extent > cut ? extent : cut;
]])

mutant(NAME restart-void-counts KIND test_restart_find FILE membership/restart_find.c
	REMOVES "what a log has of an earlier view is not of the newest"
	TEXT [[
	*extent = report->standing.base == search->base ? log->extent : 0;
]]
	REPLACEMENT [[
	*extent = log->extent;
]])

mutant(NAME restart-newcomer-counts KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a log counts when its standing says that it is whole"
	TEXT [[
	if (shard == NULL || !shard->whole || log->rotten)
]]
	REPLACEMENT [[
	if (shard == NULL || log->rotten)
]])

mutant(NAME restart-rot-counts KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a log with rot does not count"
	TEXT [[
	if (shard == NULL || !shard->whole || log->rotten)
]]
	REPLACEMENT [[
	if (shard == NULL || !shard->whole)
]])

mutant(NAME restart-short-log-counts KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a log that has less than the newest view begins with does not count"
	TEXT [[
		return log->extent >= begin->begins;
]]
	REPLACEMENT [[
		return true;
]])

mutant(NAME restart-others-unheard KIND test_restart_find FILE membership/restart_find.c
	REMOVES "where base begins is known from those of other shards as well"
	TEXT [[
	if (mine == NULL && other == NULL)
		return false;
]]
	REPLACEMENT [[
	if (mine == NULL)
		return false;
]])

mutant(NAME restart-speaks-and-joins KIND test_restart_find FILE membership/restart_find.c
	REMOVES "a disk that is spoken for is no member of what follows"
	TEXT [[
		incarnations[rank] = out->votes[id] ? seekers->incarnations[id] : 0;
]]
	REPLACEMENT [[
		incarnations[rank] = out->votes[id] ? 100 + id : 0;
]] TEXT_2 [[
		if (!out->votes[id] || search->seekers->incarnations[id] == 0)
]] REPLACEMENT_2 [[
		if (!out->votes[id])
]])

mutant(NAME restart-another-group KIND test_restart_find FILE membership/restart_find.c
	REMOVES "what another group has on disk counts for nothing"
	TEXT [[
	if (heard == NULL || !heard->is_heard || heard->report.standing.group != seekers->group)
]]
	REPLACEMENT [[
	if (heard == NULL || !heard->is_heard)
]])

mutant(NAME restart-enters-nothing KIND test_restart_find FILE membership/view.c
	REMOVES "behind a restart members without a whole log enter"
	TEXT [[
		if (entered[rank] || whole == NULL || !whole[rank])
]]
	REPLACEMENT [[
		if (entered[rank] || whole == NULL)
]])

mutant(NAME restart-plain-goes-on KIND test_restart_find FILE membership/view.c
	REMOVES "behind a restart what is not durable begins with nothing"
	TEXT [[
		enter_shard(shard, durable ? whole : NULL);
]]
	REPLACEMENT [[
		if (durable)
			enter_shard(shard, whole);
]])

# ---- the round ----

mutant(NAME restart-promise-unwritten KIND test_restart_random FILE membership/restart_voice.c
	REMOVES "a promise is on disk before it is answered"
	TEXT [[
	kept = restart->on.keep_standing(restart->ctx, voice->disk, &standing);
	wh_standing_free(&standing);
]]
	REPLACEMENT [[
	kept = true;
	wh_standing_free(&standing);
]])

mutant(NAME restart-promises-less KIND test_restart FILE membership/restart_voice.c
	REMOVES "a disk that has promised more promises no less"
	TEXT [[
	if (floor >= ballot)
		return;
]]
	REPLACEMENT "")

mutant(NAME restart-agreed-unwritten KIND test_restart_random FILE membership/restart_voice.c
	REMOVES "an agreement is on disk before it is told"
	TEXT [[
		done = make_standing(join, voice, &standing) && keep(restart, voice->disk, &standing);
]]
	REPLACEMENT [[
		done = make_standing(join, voice, &standing);
		wh_standing_free(&standing);
]])

mutant(NAME restart-view-unwritten KIND test_restart_random FILE membership/restart_voice.c
	REMOVES "a view is on disk before a standing names it"
	TEXT [[
		done = restart->on.keep_view(restart->ctx, voice->disk, agreement->next, voice->views[1],
					     voice->view_bytes[1]);
]]
	REPLACEMENT [[
		done = true;
]])

mutant(NAME restart-there-unagreed KIND test_restart_random FILE membership/join.c
	REMOVES "a node is there in what a round has decided when its disk has agreed"
	TEXT [[
	    !wh_restart_has_agreed(join->restart, join->key))
		return false;
]]
	REPLACEMENT [[
	    join->by == UINT32_MAX)
		return false;
]])

mutant(NAME restart-agrees-late KIND test_restart_random FILE membership/restart_voice.c
	REMOVES "what was to be agreed to before a promise is nothing behind it"
	TEXT [[
	drop_agreement(voice);
	voice->follows = voice->asked;
]]
	REPLACEMENT [[
	voice->follows = voice->asked;
]])

mutant(NAME restart-member-promises KIND test_restart FILE membership/join.c
	REMOVES "a member has no part in a restart"
	TEXT [[
		return join->restart == NULL || join->state == WH_JOIN_IN ||
]]
	REPLACEMENT [[
		join->state = WH_JOIN_SEEKING;
	if (message->kind >= WH_WIRE_ASK)
		return join->restart == NULL ||
]])

mutant(NAME restart-logs-in-no-turn KIND test_restart FILE membership/restart_round.c
	REMOVES "a view is agreed to first by those that have the whole logs"
	TEXT [[
		if (!lent && !heard->lends) {
]]
	REPLACEMENT [[
		if (!lent && !heard->lends && false) {
]])

mutant(NAME restart-stale-reports KIND test_restart_find FILE membership/restart_find.c
	REMOVES "what a member said before the newest view was known, and that says nothing of it, is asked for again"
	TEXT [[
		    seekers->known < search->number)
]]
	REPLACEMENT [[
		    seekers->known < search->number && false)
]])

mutant(NAME restart-asks-not-again KIND test_restart FILE membership/restart_round.c
	REMOVES "a round that hears of a view which was not known when it asked asks anew"
	TEXT [[
	struct wh_seekers seekers = {restart,       join->layout, wh_restart_group(restart),
				     round->ballot, round->known, incarnations};
]]
	REPLACEMENT [[
	struct wh_seekers seekers = {restart,       join->layout, wh_restart_group(restart),
				     round->ballot, UINT64_MAX, incarnations};
]])

mutant(NAME restart-impatient KIND test_restart FILE membership/restart_round.c
	REMOVES "members that have not come are waited for"
	TEXT [[
	until = patience_of(join, finding.all_heard);
]]
	REPLACEMENT [[
	until = patience_of(join, true);
]])

mutant(NAME restart-silent-waited-for KIND test_restart FILE membership/restart_round.c
	REMOVES "a node that could coordinate and is silent is passed over"
	TEXT [[
		if (is_participant(join, node) && join->roster->known_nodes[node].heard_ns + silence_ns > now)
]]
	REPLACEMENT [[
		if (is_participant(join, node) && silence_ns + now > 0)
]])

mutant(NAME restart-anybody-asks KIND test_restart FILE membership/restart_round.c
	REMOVES "the node with the lowest id coordinates"
	TEXT [[
	return join->restart->round.phase > WH_ROUND_ASKS || (!is_lower(join) && !gives_way(join));
]]
	REPLACEMENT [[
	(void)is_lower;
	return join->restart->round.phase > WH_ROUND_ASKS || (join->roster->id != 1 && !gives_way(join));
]])

mutant(NAME restart-deserted KIND test_restart FILE membership/restart.c
	REMOVES "members of what has lost its coordinator do not wait for it"
	TEXT [[
	return since_ns + patience_ns <= join->roster->loop->now_ns;
]]
	REPLACEMENT [[
	return since_ns + patience_ns == 0;
]])

mutant(NAME restart-begun-is-given-up KIND test_restart FILE membership/restart_round.c
	REMOVES "when all have agreed a member that is lost is no matter for the round: its coordinator gives up what some have begun"
	TEXT [[
	if (!wh_restart_is_enough(join, round->next, round->ballot) || has_given_up(join))
]]
	REPLACEMENT [[
	if (lacks_members(join) || has_given_up(join))
]])

mutant(NAME restart-begins-with-too-few KIND test_restart FILE membership/restart.c
	REMOVES "those that begin a view behind a restart are a quorum of it"
	TEXT [[
	return home && wh_quorum_holds(&quorum, count, tie);
]]
	REPLACEMENT [[
	(void)tie;
	return home && count > 0;
]])

mutant(NAME restart-holds-not-on KIND test_restart FILE membership/restart.c
	REMOVES "a node that is there has no ear for the rounds of others"
	TEXT [[
		if (holds_on(join, node)) /* it asks again */
]]
	REPLACEMENT [[
		if (holds_on(join, node) && false)
]])

mutant(NAME restart-forms-beside-logs KIND test_restart FILE membership/join.c
	REMOVES "no group is formed beside a log"
	TEXT [[
	return join->restart != NULL && wh_restart_disk(join->restart) == WH_DISK_STANDS;
]]
	REPLACEMENT [[
	(void)join;
	return false;
]])

mutant(NAME restart-first-is-a-log KIND test_restart FILE membership/join.c
	REMOVES "a first view in which nothing was done does not forbid to form another"
	TEXT [[
	return join->restart != NULL && wh_restart_disk(join->restart) == WH_DISK_STANDS;
]]
	REPLACEMENT [[
	return join->restart != NULL && wh_restart_disk(join->restart) != WH_DISK_BLANK;
]])

mutant(NAME restart-before-forming KIND test_restart FILE membership/restart_round.c
	REMOVES "where all are there to form a group a first view is not restarted"
	TEXT [[
	if (wh_form_has_all(join))
		return true;
	if (roster->loop->now_ns < until)
		wh_loop_at(roster->loop, until);
	return roster->loop->now_ns < until;
]]
	REPLACEMENT [[
	return roster->loop->now_ns < until - until;
]])

mutant(NAME restart-promise-ends-first KIND test_restart FILE membership/restart_voice.c
	REMOVES "a promise leaves a first view in which nothing was done what it is"
	TEXT [[
	standing.promised = voice->asked;
]]
	REPLACEMENT [[
	standing.promised = voice->asked;
	standing.first = false;
]])

mutant(NAME restart-uninvited KIND test_restart FILE membership/join_requests.c
	REMOVES "into what a round has decided all are invited"
	TEXT [[
			       (wh_is_first_view(key) || wh_rank_find(view->joined, view->joined_count, node) >= 0) &&
]]
	REPLACEMENT [[
			       wh_rank_find(view->joined, view->joined_count, node) >= 0 &&
]])

mutant(NAME restart-takes-any KIND test_restart FILE membership/restart_voice.c
	REMOVES "what a node asks to agree to is checked"
	TEXT [[
		return result != WHORL_INVALID;
	}
	voice = find_voice(join->restart, agreement.disk);
]]
	REPLACEMENT [[
		return true;
	}
	voice = find_voice(join->restart, agreement.disk);
]])

mutant(NAME restart-forced KIND test_restart FILE membership/form.c
	REMOVES "an operator's word forms no durable group"
	TEXT [[
	if (join->forced && join->restart != NULL)
]]
	REPLACEMENT [[
	if (join->forced && join->restart == NULL)
]])

mutant(NAME restart-entered-is-whole KIND test_restart FILE membership/restart_voice.c
	REMOVES "what a member enters behind a restart is not whole"
	TEXT [[
		    (agreement->taken_up || !enters(agreement, out.subgroup, out.shard));
]]
	REPLACEMENT [[
		    (agreement->taken_up || !enters(agreement, out.subgroup, out.shard) || old->whole);
]])

mutant(NAME restart-not-whole-is KIND test_restart_random FILE membership/restart_voice.c
	REMOVES "a log becomes whole by no agreement"
	TEXT [[
	out.whole = wh_log_counts(was, old, &log, agreement->base, begin) &&
]]
	REPLACEMENT [[
	out.whole =
]])

mutant(NAME restart-leaves-still KIND test_restart FILE membership/restart_voice.c
	REMOVES "a node that goes on has not left"
	TEXT [[
				    .left = stays && was->left && !goes_on,
]]
	REPLACEMENT [[
				    .left = was->left,
]])
