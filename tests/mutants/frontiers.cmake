# frontiers.cmake - mechanisms by which a program is told what has become of its messages (docs/decisions/0042), and by which it claims
# many at a time, taken out one at a time. See mutants.cmake.

# ---- what is past ----

mutant(NAME frontier-unheld KIND test_group_frontiers FILE group/install.c
	REMOVES "in a new view what this node had delivered is told when all that go on have delivered it: it is told at once"
	TEXT [[
	if (subgroup->ring != NULL && old == NULL)
]]
	REPLACEMENT [[
	if (subgroup->ring != NULL)
]])

# One run in twenty of test_group_frontiers on a busy machine: a member's last word came between two looks at its row. That it comes
# there is rare in sim-looks, too, so the mutant looks often.
mutant(NAME frontier-held-for-ever KIND looks FILE group/epoch.c
	REMOVES "what all have delivered is told before the memory of that view goes, by what was read there last: by what was read before"
	TEXT [[
	bool over = wh_load_acquire(&epoch->grace) != 0 && rings_are_done(epoch) && all_have_gone_on(epoch, current);

]]
	REPLACEMENT [[
	bool over = false;

	if (current->holds && epoch == current->older)
		release_rings(current);
	for (int i = 0; i < 50 && !over && wh_load_acquire(&epoch->grace) != 0 && rings_are_done(epoch); i++)
		over = all_have_gone_on(epoch, current);
]]
	TEXT_2 [[
	if (current->holds && epoch == current->older)
		release_rings(current);
	if (!over)
]]
	REPLACEMENT_2 [[
	if (!over)
]])

# One run in some 60,000; sim-looks-found plays it: two members met when the memory of the first view was there.
mutant(NAME frontier-frozen KIND looks FILE group/epoch.c
	SEED 1052684 RUNS 1
	WORDS --set sim.flavour=any --set sim.nodes_min=2 --set sim.nodes_max=9 --set sim.messages_max=1 --set sim.deliveries_max=1
	      --fault "join 2 at 146.585 ms" --fault "join 3 at 0 ms" --fault "cut 1,3,4 and 2 for 136.929 ms at 133.309 ms"
	REMOVES "a member whose row was frozen goes on when it has begun the current view"
	TEXT [[
	       (wh_image_is_frozen(before->image, rank) &&
]]
	REPLACEMENT [[
	       (wh_image_is_frozen(before->image, before->rank) &&
]])

mutant(NAME frontier-begun-unsaid KIND test_heartbeat FILE membership/heartbeat.c
	REMOVES "a member that beats in the next view's memory, and delivers still, has not begun it"
	TEXT [[
			       (last / FIRST + 1) * FIRST + (heartbeat->begun ? BEGUN : 0) +
]]
	REPLACEMENT [[
			       (last / FIRST + 1) * FIRST + (last / FIRST > 1 ? BEGUN : 0) +
]])

mutant(NAME frontier-trusts KIND views FILE group/epoch.c
	WORDS --set sim.fault_kinds=stall,slow
	REMOVES "a member that is suspected in the new view counts, until a view begins without it"
	TEXT [[
		if (rank != before->rank && now >= 0 && !has_gone_on(before, rank, current, (uint32_t)now))
]]
	REPLACEMENT [[
		if (rank != before->rank && now >= 0 && wh_change_trusts(&current->change, (uint32_t)now) &&
		    !has_gone_on(before, rank, current, (uint32_t)now))
]])

mutant(NAME frontier-unreleased KIND views FILE group/epoch.c
	REMOVES "what is held is told when all have begun the new view"
	TEXT [[
	if (current->holds && epoch == current->older)
]]
	REPLACEMENT [[
	if (current->holds && epoch == current->older && epoch->view->number == UINT64_MAX)
]])

mutant(NAME frontier-announced FILE predicates/deliver.c
	REMOVES "received by all are those that this node delivers: all that it has announced"
	TEXT [[
WH_RECEIVED_BY_ALL, mc->senders[mc->config.me].next
]]
	REPLACEMENT [[
WH_RECEIVED_BY_ALL, mc->senders[mc->config.me].announced
]])

mutant(NAME frontier-own-delivery KIND test_group_frontiers FILE predicates/deliver.c
	REMOVES "delivered by all is more than delivered here"
	TEXT [[
		wh_frontier_move(&mc->config.ring->frontiers, WH_RECEIVED_BY_ALL,
]]
	REPLACEMENT [[
		for (int which = 0; which < WH_FRONTIERS; which++)
			wh_frontier_move(&mc->config.ring->frontiers, (enum wh_frontier)which,
]])

mutant(NAME frontier-gone-first KIND test_group_frontiers FILE group/install.c
	REMOVES "what is gone is past when the program has been told"
	TEXT [[
	if (subgroup->ring != NULL && old == NULL)
]]
	REPLACEMENT [[
	if (subgroup->ring != NULL && (old == NULL || member == NULL))
]])

# ---- to be told ----

mutant(NAME frontier-untold FILE smc/frontier.h COMPILE smc/ring.c predicates/deliver.c
	REMOVES "the loop looks whether its move is wanted"
	TEXT [[
	if (__builtin_expect(to > wh_load_relaxed(&frontiers->wanted[which]), 0))
]]
	REPLACEMENT [[
	if (to > wh_load_relaxed(&frontiers->wanted[which]) && to == UINT64_MAX)
]])

mutant(NAME frontier-told-early KIND test_frontier FILE smc/frontier.c
	REMOVES "an index is past when the frontier is beyond it: it is when the frontier is there"
	TEXT [[
	return wh_frontier_past(frontiers, which) > index;
]]
	REPLACEMENT [[
	return wh_frontier_past(frontiers, which) + 1 > index;
]])

mutant(NAME frontier-arm-forgotten KIND test_frontier FILE smc/frontier.c
	REMOVES "each arm is told: one of them is"
	TEXT [[
		(void)!write(frontiers->fd, &arms->count, sizeof(arms->count));
]]
	REPLACEMENT [[
		arms->count = 1;
		(void)!write(frontiers->fd, &arms->count, sizeof(arms->count));
]])

mutant(NAME frontier-one-woken KIND test_frontier FILE smc/frontier.c
	REMOVES "when one thread has been told the next one is wanted"
	TEXT [[
	tell_arms(frontiers, all);
	find_wanted(frontiers);
]]
	REPLACEMENT [[
	tell_arms(frontiers, all);
	for (int which = 0; which < WH_FRONTIERS; which++)
		wh_store_relaxed(&frontiers->wanted[which], UINT64_MAX);
]])

mutant(NAME frontier-failure-untold KIND test_group_frontiers FILE group/fail.c
	REMOVES "the end of the node is told to those that wait for frontiers"
	TEXT [[
	wh_node_wake_waits(node);
]]
	REPLACEMENT [[
	(void)node;
]])

mutant(NAME frontier-upcall-waits KIND test_group_frontiers FILE group/frontier.c
	REMOVES "an upcall does not wait"
	TEXT [[
	if (timeout_ms > 0 && wh_node_in_upcall(subgroup->node))
]]
	REPLACEMENT [[
	if (timeout_ms > 1000 && wh_node_in_upcall(subgroup->node))
]])

# ---- many at a time ----

mutant(NAME many-numbers KIND test_ring_many FILE smc/ring.c
	REMOVES "claims of many take as many numbers: one"
	TEXT [[
				    (number + count) << ring->slot_bits |
]]
	REPLACEMENT [[
				    (number + 1) << ring->slot_bits |
]])

mutant(NAME many-slots KIND test_ring_many FILE smc/ring.c
	REMOVES "claims of many take as many slots: one"
	TEXT [[
wh_slot_behind(slot, count, ring->window))) {
]]
	REPLACEMENT [[
wh_slot_behind(slot, 1, ring->window))) {
]])

mutant(NAME many-part KIND test_ring_many FILE smc/ring.c
	REMOVES "all or none: where there is room for one there is for all"
	TEXT [[
		if (number + count > limit ||
]]
	REPLACEMENT [[
		if (number >= limit ||
]])

mutant(NAME many-half-refused KIND test_group_many FILE group/send.c
	REMOVES "a commit of many is refused before anything is done"
	TEXT [[
	for (size_t i = 0; i < count; i++) {
		if (claims[i].stream == NULL)
]]
	REPLACEMENT [[
	for (size_t i = 0; i < 1; i++) {
		if (claims[i].stream == NULL)
]])

mutant(NAME many-orphans KIND test_group_many FILE group/send.c
	REMOVES "a commit of many frees a closed node when the last of its claims is finished, and not before"
	TEXT [[
	if (wh_fetch_add(&node->uses.orphans, 0 - count) == count)
]]
	REPLACEMENT [[
	if (wh_fetch_add(&node->uses.orphans, 0 - count) > 0)
]])
