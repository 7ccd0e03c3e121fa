# mutants.cmake - mechanisms that are taken out of the library one at a time, to see a test fail for each.
#
# mutant(NAME name [KIND kind] FILE file [COMPILE source...] [SEED first] [WORDS word...] REMOVES what
#        TEXT [[...]] REPLACEMENT [[...]] [TEXT_2 [[...]] REPLACEMENT_2 [[...]]])
#
# TEXT, which is in FILE exactly once, becomes REPLACEMENT. What is compiled anew is FILE, or COMPILE if that is a header.
# KIND, what it does: views, groups with faults as `whorl sim` runs them with views.ini and WORDS; looks, the same with rows that change
# within a pass, as in sim-looks; the name of a test, that test, with WORDS in its environment; if it is not given, sim-random. The
# text stands here as it stands there, tabs and all: the build leads a change of the one to the other.

# ---- the order of slots and guard (T2, T3, T4) ----

mutant(NAME guard-first FILE predicates/send.c
	REMOVES "slots before guard: the guard is posted first"
	TEXT [[
	mc->announced = ring->sent;
	push_slots(mc, first, count);
]]
	REPLACEMENT [[
	mc->announced = ring->sent;
	wh_announce(mc);
	push_slots(mc, first, count);
]])

mutant(NAME guard-live FILE predicates/send.c
	REMOVES "the guard is copied when posted (T4): it is read from the row when it leaves"
	TEXT [[
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.guard, guard, mc->peers);
]]
	REPLACEMENT [[
	wh_store_release((wh_word *)(void *)(mc->config.sst->image->own + mc->config.columns.guard.offset), guard);
	wh_push_bytes(mc->config.pushes, mc->config.columns.guard.offset, 8, mc->peers.ranks, mc->peers.count);
]])

mutant(NAME one-push FILE predicates/send.c
	REMOVES "the guard travels in a later push than its slots (T3): one range holds both"
	TEXT [[
	push_range(mc, first, before_wrap);
]]
	REPLACEMENT [[
	uint32_t guard_at = mc->config.columns.guard.offset;
	uint64_t end = wh_slot_payload(&mc->config.place->slots, first) +
		       (uint64_t)before_wrap * mc->config.place->slots.payload_stride;

	if (mc->config.subgroup == 0) { /* its ring lies behind the columns */
		mc->guard = wh_guard_make(mc->covered, mc->announced);
		wh_store_release((wh_word *)(void *)(mc->config.sst->image->own + guard_at), mc->guard);
		wh_push_bytes(mc->config.pushes, guard_at, end - guard_at, mc->peers.ranks, mc->peers.count);
	} else {
		push_range(mc, first, before_wrap);
	}
]])

mutant(NAME wrap-forgotten FILE predicates/send.c
	REMOVES "the second range of a batch that wraps"
	TEXT [[
	if (before_wrap < count)
]]
	REPLACEMENT [[
	if (before_wrap > count)
]])

mutant(NAME announced-unchecked FILE predicates/deliver.c
	REMOVES "only announced slots are read: so is the one behind them"
	TEXT [[
	if (sender->next == sender->announced) {
]]
	REPLACEMENT [[
	if (sender->next == sender->announced + 1) {
]])

# ---- the window ----

mutant(NAME window-on-received FILE predicates/send.c
	REMOVES "the window counts what is delivered: it counts what is received"
	TEXT [[
	uint64_t least = ordered ? mc->delivered_num : mc->senders[c->me].next, first = mc->senders[c->me].first;
]]
	REPLACEMENT [[
	struct wh_counter_col received_num = c->columns.received_num;
	uint64_t least = ordered ? mc->received_num : mc->senders[c->me].next, first = mc->senders[c->me].first;

	for (uint32_t i = 0; ordered && i < mc->peers.count; i++)
		if (wh_sst_observe(c->sst, mc->peers.ranks[i], received_num) < least)
			least = wh_sst_observe(c->sst, mc->peers.ranks[i], received_num);
	if (ordered)
		return least;
]])

mutant(NAME window-plus-one FILE smc/ring.c
	REMOVES "the window is not one more than it is"
	TEXT [[
	uint64_t limit = ring->freed + ring->window, end = number_end(ring);
]]
	REPLACEMENT [[
	uint64_t limit = ring->freed + ring->window + 1, end = number_end(ring);
]])

mutant(NAME window-frees-one-early FILE predicates/send.c
	REMOVES "a slot is free when all have delivered it: one is freed before"
	TEXT [[
		if (header.round * mc->config.sender_count + (uint32_t)mc->config.me >= least)
]]
	REPLACEMENT [[
		if (header.round * mc->config.sender_count + (uint32_t)mc->config.me > least)
]])

mutant(NAME window-skips-one FILE predicates/send.c
	REMOVES "all members count for the window: one is left out"
	TEXT [[
	for (uint32_t i = 0; i < mc->peers.count; i++) {
		uint32_t rank = mc->peers.ranks[i];
]]
	REPLACEMENT [[
	for (uint32_t i = 1; i < mc->peers.count; i++) {
		uint32_t rank = mc->peers.ranks[i];
]])

mutant(NAME window-skips-me FILE predicates/send.c
	REMOVES "all members count for the window: the sender itself is left out"
	TEXT [[
	uint64_t least = ordered ? mc->delivered_num : mc->senders[c->me].next, first = mc->senders[c->me].first;
]]
	REPLACEMENT [[
	uint64_t least = mc->peers.count > 0 ? UINT64_MAX : ordered ? mc->delivered_num : mc->senders[c->me].next;
	uint64_t first = mc->senders[c->me].first;
]])

mutant(NAME window-never-told FILE smc/ring.c
	REMOVES "a thread that waits for the window is told of room"
	TEXT [[
	if (wh_load_relaxed(&ring->starved) == 0)
]]
	REPLACEMENT [[
	if (wh_load_relaxed(&ring->starved) < UINT64_MAX)
]])

mutant(NAME window-tells-one KIND test_group_claims FILE smc/ring.c
	REMOVES "each that armed is told of room: one of them is"
	TEXT [[
		add_to(fd, arms);
]]
	REPLACEMENT [[
		add_to(fd, 1);
]])

mutant(NAME window-tells-again KIND test_group_claims FILE smc/ring.c
	REMOVES "a thread that armed is told of room once: it is told as often as there is some"
	TEXT [[
	arms = wh_fetch_and(&ring->starved, STARVED_IN_A_CALL) / STARVED_ARM;
]]
	REPLACEMENT [[
	arms = wh_load_relaxed(&ring->starved) / STARVED_ARM;
]])

mutant(NAME finished-twice KIND test_group_claims FILE group/send.c
	REMOVES "a claim is finished once"
	TEXT [[
	claim->stream = NULL;
]]
	REPLACEMENT [[
]])

mutant(NAME arm-is-kept KIND test_group_claims FILE smc/ring.c
	REMOVES "a thread that sees that there is room takes its arm back: it is told of it later"
	TEXT [[
		if (wh_compare_swap(&ring->starved, &starved, starved - STARVED_ARM))
			return true;
]]
	REPLACEMENT [[
		return true;
]])

# ---- rounds and nulls ----

mutant(NAME null-swapped FILE predicates/null.c
	REMOVES "a sender that ranks above owes one round less: above and below are swapped"
	TEXT [[
		uint64_t target = j > me || covered == 0 ? covered : covered - 1;
]]
	REPLACEMENT [[
		uint64_t target = j < me || covered == 0 ? covered : covered - 1;
]])

mutant(NAME null-too-far FILE predicates/null.c
	REMOVES "nulls end where others have covered: they go one further"
	TEXT [[
		uint64_t target = j > me || covered == 0 ? covered : covered - 1;
]]
	REPLACEMENT [[
		uint64_t target = j > me && covered > 0 ? covered + 1 : covered;
]])

mutant(NAME no-nulls FILE predicates/null.c
	REMOVES "rounds that are owed are covered"
	TEXT [[
	if (mc->covered >= owed)
		return 0;
]]
	REPLACEMENT [[
	if (mc->covered >= owed || owed > 0)
		return 0;
]])

mutant(NAME null-unannounced FILE predicates/multicast.c
	REMOVES "the guard leaves after null: nulls are told with the next message only"
	TEXT [[
	size_t work = wh_send(mc);
	size_t taken = wh_receive(mc);

	if (mc->config.switches.null_sends)
		work += wh_null(mc);
	wh_announce(mc);
]]
	REPLACEMENT [[
	size_t work = wh_send(mc);
	size_t taken = wh_receive(mc);

	if (work > 0)
		wh_announce(mc);
	if (mc->config.switches.null_sends)
		work += wh_null(mc);
]])

mutant(NAME round-at-claim FILE predicates/send.c
	REMOVES "the loop alone gives out rounds: a message has the round of its claim number"
	TEXT [[
			      (struct wh_slot_header){.round = mc->covered++, .bytes = bytes, .aborted = aborted});
]]
	REPLACEMENT [[
			      (struct wh_slot_header){.round = ring->sent, .bytes = bytes, .aborted = aborted});
		if (mc->covered <= ring->sent)
			mc->covered = ring->sent + 1;
]])

mutant(NAME commit-order-ignored FILE smc/ring.h COMPILE predicates/send.c
	REMOVES "only the finished prefix leaves: a slot that was finished once is taken as finished"
	TEXT [[
	if (mark >> 1 != number + 1)
		return false;
]]
	REPLACEMENT [[
	if (mark >> 1 == 0 || number >= wh_load_relaxed(&ring->claim) >> 16)
		return false;
]])

mutant(NAME abort-leaves-hole FILE predicates/send.c
	REMOVES "an abort is a slot with a round: it is counted, and has none"
	TEXT [[
		wh_slot_write(&place->slots, place->row, ring->sent_slot,
			      (struct wh_slot_header){.round = mc->covered++, .bytes = bytes, .aborted = aborted});
]]
	REPLACEMENT [[
		if (!aborted)
			wh_slot_write(&place->slots, place->row, ring->sent_slot,
				      (struct wh_slot_header){.round = mc->covered++, .bytes = bytes});
]])

# ---- receiving and delivering ----

mutant(NAME received-ignores-one FILE predicates/receive.c
	REMOVES "received_num is the least over all senders: the last is left out"
	TEXT [[
	for (uint64_t s = 0; s < senders; s++) {
]]
	REPLACEMENT [[
	for (uint64_t s = 0; s + (senders > 1) < senders; s++) {
]])

mutant(NAME slot-taken-early FILE predicates/receive.c
	REMOVES "without receive batching a slot is taken in with its round: it is taken in one round before"
	TEXT [[
	if (header.round > sender->covered)
]]
	REPLACEMENT [[
	if (header.round > sender->covered + 1)
]])

mutant(NAME unstable FILE predicates/deliver.c
	REMOVES "stability: what this member has received is delivered, whether others have it or not"
	TEXT [[
	for (uint32_t i = 0; i < mc->peers.count && least > mc->delivered_num; i++) {
]]
	REPLACEMENT [[
	for (uint32_t i = 0; i < 0 * mc->peers.count; i++) {
]])

mutant(NAME unstable-by-one FILE predicates/deliver.c
	REMOVES "stability asks all members: one is left out"
	TEXT [[
	for (uint32_t i = 0; i < mc->peers.count && least > mc->delivered_num; i++) {
]]
	REPLACEMENT [[
	for (uint32_t i = 1; i < mc->peers.count && least > mc->delivered_num; i++) {
]])

mutant(NAME delivered-before-upcall FILE predicates/deliver.c
	REMOVES "delivered_num is pushed after the upcalls have returned"
	TEXT [[
	messages = deliver_below(mc, limit);
	flush_run(mc);
]]
	REPLACEMENT [[
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.delivered_num, limit, mc->peers);
	wh_pushes_post(mc->config.pushes);
	messages = deliver_below(mc, limit);
	flush_run(mc);
]])

mutant(NAME delivered-untold FILE predicates/deliver.c
	REMOVES "delivered_num is pushed"
	TEXT [[
			       WH_PUSH_MAY_REORDER | (awaited ? 0 : WH_PUSH_MAY_DELAY), mc->peers);
]]
	REPLACEMENT [[
			       WH_PUSH_MAY_REORDER | (awaited ? 0 : WH_PUSH_MAY_DELAY),
			       awaited ? (struct wh_to){NULL, 0} : mc->peers);
]])

mutant(NAME unordered-before-upcall FILE predicates/deliver.c
	REMOVES "unordered: delivered_of is pushed after the upcalls have returned"
	TEXT [[
	flush_run(mc);
	if (__builtin_expect(mc->halts, 0))
		*messages -= step_back(mc);
]]
	REPLACEMENT [[
	wh_sst_publish_array(mc->config.sst, mc->config.pushes, mc->config.columns.delivered_of,
			     (uint32_t)(sender - mc->senders), sender->next,
			     (struct wh_to){&sender->rank, sender - mc->senders == mc->config.me ? 0 : 1});
	wh_pushes_post(mc->config.pushes);
	flush_run(mc);
	if (__builtin_expect(mc->halts, 0))
		*messages -= step_back(mc);
	return sender->next - from;
]])

# ---- the doorbell ----

mutant(NAME no-last-look FILE predicates/loop.c
	REMOVES "a look is taken between arming and sleeping"
	TEXT [[
	work = serve_transport(loop);
	work += wh_loop_step(loop);
]]
	REPLACEMENT [[
	work = serve_transport(loop);
]])

mutant(NAME work-does-not-renew-the-wait KIND test_loop FILE predicates/loop.c
	REMOVES "a pass that did something begins the time anew in which a loop yields before it sleeps"
	TEXT [[
		wh_backoff_renew(&loop->backoff);
]]
	REPLACEMENT [[
		(void)0;
]])

mutant(NAME lingers-after-its-time KIND test_loop FILE predicates/loop.c
	REMOVES "a loop that was advised to sleep does not yield anew before there was work"
	TEXT [[
	bool lingers = !loop->backoff.spent;
]]
	REPLACEMENT [[
	bool lingers = true;
]])

mutant(NAME lingers-never KIND test_loop FILE predicates/loop.c
	REMOVES "a program that waits looks again for a while before it sleeps"
	TEXT [[
	bool lingers = !loop->backoff.spent;
]]
	REPLACEMENT [[
	bool lingers = false;
]])

mutant(NAME wait-sleeps-at-once KIND test_group_caller FILE group/caller.c
	REMOVES "whorl_wait yields for a while before it sleeps"
	TEXT [[
	work = wh_loop_linger(&node->loop, deadline);
]]
	REPLACEMENT [[
	work = 0;
]])

mutant(NAME lingers-beyond-the-deadline KIND test_loop FILE predicates/loop.c
	REMOVES "it looks again no longer than it was told to wait"
	TEXT [[
	while (work == 0 && lingers && loop->now_ns < deadline_ns) {
]]
	REPLACEMENT [[
	while (work == 0 && lingers && loop->now_ns < deadline_ns + WH_NS_PER_MS) {
]])

mutant(NAME short-yields-forgive KIND test_backoff FILE base/backoff.c
	REMOVES "long yields count also where short ones lie between them"
	TEXT [[
		doubt_the_crowd(backoff);
]]
	REPLACEMENT [[
		backoff->lost_ns = 0;
]])

mutant(NAME one-short-yield-proves KIND test_backoff FILE base/backoff.c
	REMOVES "one short yield behind a crowded time does not end it"
	TEXT [[
	backoff->lost_ns /= 2;
]]
	REPLACEMENT [[
	backoff->lost_ns = 0;
]])

mutant(NAME lost-time-is-kept KIND test_backoff FILE base/backoff.c
	REMOVES "what was lost to long yields is forgotten with time"
	TEXT [[
	backoff->lost_ns = backoff->lost_ns > forgotten ? backoff->lost_ns - forgotten : 0;
]]
	REPLACEMENT [[
]])

mutant(NAME yields-in-an-upcall KIND test_group_caller FILE group/caller.c
	REMOVES "an upcall that would yield is advised not to"
	TEXT [[
	if (!may_step(node) || wh_node_in_upcall(node))
		return false;
	if (!wh_passes_take(&node->passes))
		return true;
	backoff
]]
	REPLACEMENT [[
	if (!may_step(node))
		return false;
	if (!wh_passes_take(&node->passes))
		return true;
	backoff
]])

mutant(NAME commit-does-not-ring FILE base/gate.h COMPILE group/send.c
	REMOVES "a commit rings the loop that sleeps"
	TEXT [[
		gate->wake(gate->ctx);
]]
	REPLACEMENT [[
		(void)gate;
]])

mutant(NAME commit-leaves-it-to-the-loop KIND test_group_lent FILE group/run.c
	REMOVES "a commit that finds the loop asleep sends"
	TEXT [[
		wh_epoch_send(node);
]]
	REPLACEMENT [[
]])

mutant(NAME lent-send-unacknowledged KIND test_group_lent FILE predicates/multicast.c
	REMOVES "a thread that sends for a loop that sleeps says that it has what it sent"
	TEXT [[
		wh_acknowledge(mc, 0); /* the others wait for what I have received, and be it my own */
]]
	REPLACEMENT [[
		(void)mc;
]])

mutant(NAME tcp-sleeps-unlent KIND test_group_lent FILE transport/tcp/tcp.c
	REMOVES "on tcp a loop is lent while its thread sleeps"
	TEXT [[
	bool lends = lending != NULL && ns > 0;
]]
	REPLACEMENT [[
	bool lends = false;
]])

mutant(NAME loop-runs-borrowed KIND test_loop_thread FILE predicates/loop.c
	REMOVES "a loop that wakes waits for the thread that has borrowed it"
	TEXT [[
	while (!wh_gate_take_back(loop->gate))
]]
	REPLACEMENT [[
	if (!wh_gate_take_back(loop->gate))
]])

mutant(NAME yield-is-not-lent KIND test_loop_thread FILE predicates/loop.c
	REMOVES "a loop that yields is lent"
	TEXT [[
	bool lent = loop->transport->ops->helper_may_post && loop->idle != WH_IDLE_SPIN &&
]]
	REPLACEMENT [[
	bool lent = loop->transport->ops->helper_may_post && loop->idle == WH_IDLE_SPIN &&
]])

mutant(NAME yield-takes-nothing-back KIND test_loop_thread FILE predicates/loop.c
	REMOVES "a loop that has yielded takes back what it lent before it makes a pass"
	TEXT [[
	if (lent)
		take_back(loop);
	wh_store_relaxed(&loop->stats.yields, loop->backoff.yields);
]]
	REPLACEMENT [[
	wh_store_relaxed(&loop->stats.yields, loop->backoff.yields);
]])

mutant(NAME waiter-looks-only KIND test_group_lent FILE group/caller.c
	REMOVES "a thread that waits for room, or for a frontier, helps a loop that does not run"
	TEXT [[
		help(subgroup);
]]
	REPLACEMENT [[
		(void)subgroup;
]])

mutant(NAME waiter-only-sends KIND test_group_lent FILE predicates/hot.c
	REMOVES "a thread that waits for room takes in and acknowledges for a loop that does not run"
	TEXT [[
		wh_multicast_exchange(hot->members[m].mc);
]]
	REPLACEMENT [[
		wh_multicast_send(hot->members[m].mc);
]])

mutant(NAME delivery-tells-at-its-end KIND test_group_delivery FILE predicates/deliver.c
	REMOVES "between two runs of upcalls senders that are behind are told"
	TEXT [[
	mc->delivered_num = sequence;
	tell_delivered(mc, true);
]]
	REPLACEMENT [[
	(void)sequence;
]])

mutant(NAME delivery-tells-each-run KIND test_group_delivery FILE predicates/deliver.c
	REMOVES "between two runs of upcalls senders are told only when a quarter of a window was used"
	TEXT [[
	    !has_used(mc, mc->config.window / 4))
]]
	REPLACEMENT [[
	    !has_used(mc, 1))
]])

mutant(NAME delivery-tells-too-much KIND test_group_delivery FILE predicates/deliver.c
	REMOVES "what is told between two runs has been upcalled"
	TEXT [[
	if (mc->run > 0 || mc->halts ||
]]
	REPLACEMENT [[
	if (mc->halts ||
]])

mutant(NAME rounds-with-nulls FILE predicates/deliver.c
	REMOVES "rounds taken at a time end where a sender has a null"
	TEXT [[
	while (header.round == round + count && wh_slot_holds_one(header, longest)) {
]]
	REPLACEMENT [[
	while (round + count > 0 && wh_slot_holds_one(header, longest)) {
]])

mutant(NAME rounds-beyond-a-null FILE predicates/deliver.c
	REMOVES "rounds taken at a time end where a sender without a message has one again"
	TEXT [[
				 : sender->ahead.round > round ? sender->ahead.round - round
]]
	REPLACEMENT [[
				 : sender->ahead.round > round ? most
]])

mutant(NAME rounds-aborted FILE predicates/deliver.c
	REMOVES "rounds taken at a time have messages in all slots: those that were aborted are upcalled"
	TEXT [[
	while (header.round == round + count && wh_slot_holds_one(header, longest)) {
]]
	REPLACEMENT [[
	while (header.round == round + count && longest > 0) {
]])

mutant(NAME heartbeat-bytes-unheard KIND test_heartbeat FILE membership/heartbeat.c
	REMOVES "a member is heard when its bytes arrive, though its heartbeats wait behind them"
	TEXT [[
	} else if (arrived != heard->arrived) {
]]
	REPLACEMENT [[
	} else if (arrived < heard->arrived) {
]])

mutant(NAME heartbeat-bytes-are-new KIND test_heartbeat FILE membership/heartbeat.c
	REMOVES "bytes that came while the loop was stopped are not heard anew"
	TEXT [[
.value = value, .arrived = arrived,
]]
	REPLACEMENT [[
.value = value, .arrived = late ? heard->arrived : arrived,
]])

mutant(NAME heartbeat-deaf-of-old KIND test_heartbeat FILE membership/heartbeat.c
	REMOVES "a member that is late to say that it hears no quorum has not said so all the time"
	TEXT [[
				   .deaf_ns = heard->deaf_ns != 0 ? now : 0};
]]
	REPLACEMENT [[
				   .deaf_ns = heard->deaf_ns};
]])

mutant(NAME heartbeat-rings FILE membership/heartbeat.c
	REMOVES "heartbeats do not ring"
	TEXT [[
	wh_sst_publish_no_wake(heartbeat->sst,
]]
	REPLACEMENT [[
	wh_sst_publish(heartbeat->sst,
]])

mutant(NAME single-held-up KIND test_ring_single FILE smc/ring.c
	REMOVES "a thread that may not send does not hold up the one that does"
	TEXT [[
	if (ring->single && !wh_single_may_send(ring))
]]
	REPLACEMENT [[
	if (wh_load_relaxed(&ring->wanted) == UINT64_MAX)
]])
