# commits.cmake - what a commit says is so. See mutants.cmake.

# ---- a node that fails ----

mutant(NAME refused-is-sent KIND test_group_failed FILE group/send.c
	REMOVES "what is refused is an aborted claim"
	TEXT [[
		taken = mark_one(subgroup, wh_ring_dropped(subgroup->ring), claim, bytes, aborted || !is_taken(result));
]]
	REPLACEMENT [[
		taken = mark_one(subgroup, wh_ring_dropped(subgroup->ring), claim, bytes, aborted);
]])

mutant(NAME failed-pass-goes-on KIND test_group_failed FILE group/epoch.c
	REMOVES "a node that fails in a delivery sends nothing more in that pass"
	TEXT [[
		if (__builtin_expect(is_silent(epoch->node), 0)) /* just now: removed, or in a delivery */
]]
	REPLACEMENT [[
		if (epoch->change.removed)
]])

mutant(NAME failed-acknowledges KIND test_group_failed FILE predicates/deliver.c
	REMOVES "a node that fails in a delivery does not say that it has delivered"
	TEXT [[
		if (mc->failed || mc->delivered_num == from)
			return mc->delivered_num - from;
]]
	REPLACEMENT [[
]])

mutant(NAME failed-upcalls KIND test_group_failed FILE group/upcall.c
	REMOVES "a node that has failed is upcalled nothing"
	TEXT [[
	if (__builtin_expect(wh_node_has_failed(subgroup->node), 0)) /* one of its subgroups, in this pass */
		return count;
]]
	REPLACEMENT [[
]])

# ---- a sender that the layout ends ----

mutant(NAME ending-forgotten KIND views FILE membership/layout.c
	SEED 1
	WORDS --set sim.subgroups_max=2 --set sim.faults_max=4
	REMOVES "a sender that is to be a plain member goes on until what it has claimed is delivered"
	TEXT [[
	keep_ending(draft);
]]
	REPLACEMENT [[
	if (draft->shards == 0)
		keep_ending(draft);
]])

mutant(NAME ended-early KIND views FILE group/epoch.c
	SEED 1
	WORDS --set sim.subgroups_max=2 --set sim.faults_max=4
	REMOVES "a role ends when all that was claimed is delivered"
	TEXT [[
	if (!has_sent_all(member))
		return false;
]]
	REPLACEMENT [[
]])

mutant(NAME ending-claims KIND test_group_roles FILE smc/ring.c
	REMOVES "a sender that ends claims nothing more"
	TEXT [[
	if (ends)
		wh_fetch_or
]]
	REPLACEMENT [[
	if (ends && opened == 0)
		wh_fetch_or
]])

mutant(NAME settling-asks KIND test_group_roles FILE membership/propose.c
	REMOVES "a view that only ends senders asks no function"
	TEXT [[
				.settles = !changes_more(change),
]]
	REPLACEMENT [[
				.settles = false,
]])

mutant(NAME settles-always KIND test_prepare_rests FILE membership/propose.c
	REMOVES "a view that ends senders and changes something else asks"
	TEXT [[
				.settles = !changes_more(change),
]]
	REPLACEMENT [[
				.settles = ends_somebody(change),
]])

mutant(NAME ended-with-failures KIND test_prepare_rests FILE membership/propose.c
	REMOVES "once a member has failed no sender is ended"
	TEXT [[
	memset(rests + words, 0, words * sizeof(*rests));
]]
	REPLACEMENT [[
	(void)find_ended(change, rests + words);
]])

mutant(NAME ended-unread KIND test_prepare_rests FILE membership/propose.c
	REMOVES "the leader looks for senders that have ended"
	TEXT [[
	return find_ended(change, rests + role_words(change)) || differs;
]]
	REPLACEMENT [[
	(void)find_ended(change, rests + role_words(change));
	memset(rests + role_words(change), 0, role_words(change) * sizeof(*rests));
	return differs;
]])

mutant(NAME gone-untold KIND test_group_roles FILE group/install.c
	REMOVES "the program is told which messages are gone"
	TEXT [[
		subgroup->gone_count = dropped;
]]
	REPLACEMENT [[
		subgroup->gone_count = 0;
]])

# ---- answers ----

mutant(NAME pending-untold KIND test_group_answers FILE group/send.c
	REMOVES "a commit without a quorum says that it is accepted"
	TEXT [[
	return result == WHORL_NO_QUORUM && !aborted ? WHORL_PENDING : WHORL_OK;
]]
	REPLACEMENT [[
	return aborted ? WHORL_OK : result;
]])

mutant(NAME index-too-late KIND test_group_answers FILE group/send.c
	REMOVES "the index of what is sent is there before it can be delivered"
	TEXT [[
	if (index != NULL) /* before it can be delivered */
		*index = claim.number;
	return whorl_commit(&claim, bytes);
]]
	REPLACEMENT [[
	result = whorl_commit(&claim, bytes);
	poll(NULL, 0, 2);
	if (index != NULL)
		*index = claim.number;
	return result;
]])

# ---- numbers ----

mutant(NAME numbers-mistrusted KIND test_group_streams FILE predicates/receive.c
	REMOVES "others take whatever number a ring can give"
	TEXT [[
	if (first > wh_ring_numbers(mc->config.window) || (
]]
	REPLACEMENT [[
	if (first > UINT64_C(1) << 48 || (
]])

mutant(NAME first-keys-few KIND test_form FILE membership/form.c
	REMOVES "keys of first views do not come to an end"
	TEXT [[
	if (!wh_is_first_view(key))
]]
	REPLACEMENT [[
	if (key >= 1 << 24)
]])

# ---- threads ----

mutant(NAME claims-unswapped KIND test_group_threads FILE smc/ring.c
	REMOVES "a claim is made by one compare-and-swap: by a look, and a store"
	TEXT [[
		if (wh_compare_swap(&ring->claim, &word,
				    (number + count) << ring->slot_bits | wh_slot_behind(slot, count, ring->window))) {
]]
	REPLACEMENT [[
		uint64_t after = (number + count) << ring->slot_bits | wh_slot_behind(slot, count, ring->window);

		if (word != wh_load_relaxed(&ring->claim)) {
			word = wh_load_relaxed(&ring->claim);
			continue;
		}
		for (int i = 0; i < 3000; i++)
			wh_fence_full(); /* somebody else comes in between */
		wh_store_release(&ring->claim, after);
		if (true) {
]])

mutant(NAME close-frees-claims KIND test_group_threads FILE group/close.c
	REMOVES "claims that are open when a node closes keep its memory"
	TEXT [[
	open = open_claims(node);
]]
	REPLACEMENT [[
	open = 0 * open_claims(node);
]])

mutant(NAME last-number-undelivered KIND test_group_streams FILE smc/ring.c
	REMOVES "a node whose numbers have come to an end delivers first what it has sent"
	TEXT [[
	return ring->freed == number_end(ring);
]]
	REPLACEMENT [[
	return wh_ring_claimed(ring) == number_end(ring);
]])
