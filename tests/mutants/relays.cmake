# relays.cmake - members pass large slots on in a chain, and count as received what they hold (docs/decisions/0074). See mutants.cmake. Wrong rules
# of tests/models/relay.c are among them.

set(relays --set sim.relays=on)

# ---- what is taken in ----

mutant(NAME relays-by-guard KIND views FILE predicates/receive.c
	WORDS ${relays}
	REMOVES "what is relayed is taken in when it is here: the guard is enough"
	TEXT [[
	if (mc->relays != NULL && !mine &&
]]
	REPLACEMENT [[
	if (mc->relays != NULL && mine &&
]])

mutant(NAME relays-one-more KIND views FILE predicates/relay.c
	WORDS ${relays}
	REMOVES "the word says how many slots are here: one more is taken in"
	TEXT [[
	       (relay->here < held || !wh_is_relayed(
]]
	REPLACEMENT [[
	       (relay->here <= held || !wh_is_relayed(
]])

mutant(NAME relays-in-part KIND views FILE predicates/relay.c
	WORDS ${relays} --set sim.large=on
	REMOVES "a message is taken in when all of its parts are here: those that are"
	TEXT [[
	while (begin > sender->announced && header_of(mc, sender, begin - 1).round == round)
		begin--;
]]
	REPLACEMENT [[
	if (begin > sender->announced && header_of(mc, sender, begin - 1).round == round)
		round++;
]])

mutant(NAME relays-word-first KIND views FILE predicates/relay.c
	WORDS ${relays}
	REMOVES "the word that counts a payload leaves behind it (T2)"
	TEXT [[
	uint64_t offset = wh_slot_payload(&sender->slots, (uint32_t)(number % c->window));

]]
	REPLACEMENT [[
	uint64_t offset = wh_slot_payload(&sender->slots, (uint32_t)(number % c->window));

	wh_sst_publish_array(c->sst, c->pushes, c->columns.relayed, s, number + 1, next);
]]
	TEXT_2 [[
next.ranks, next.count);
	wh_sst_publish_array(c->sst, c->pushes, c->columns.relayed, s, number + 1, next);
]]
	REPLACEMENT_2 [[
next.ranks, next.count);
]])

mutant(NAME relays-anew-from-0 KIND test_relay FILE predicates/relay.c
	REMOVES "slots are counted from the first message of the view"
	TEXT [[
		mc->relays[sender].here = mc->relays[sender].passed = first;
]]
	REPLACEMENT [[
		mc->relays[sender].here = mc->relays[sender].passed = first - first;
]])

# ---- what is passed on ----

mutant(NAME relays-unheld KIND views FILE predicates/relay.c
	WORDS ${relays}
	REMOVES "a relay passes on what it holds: what its sender has announced"
	TEXT [[
	while (relay->here < *announced &&
]]
	REPLACEMENT [[
	while (relay->passed < *announced && !relay->ends) {
		struct wh_slot_header header = header_of(mc, sender, relay->passed);

		if (wh_is_relayed(&mc->config, header))
			pass_on(mc, s, relay->passed, header.bytes);
		relay->passed++;
	}
	while (relay->here < *announced &&
]]
	TEXT_2 [[
bool wh_relay_limit(
]]
	REPLACEMENT_2 [[
static void pass_on(struct wh_multicast *mc, uint32_t s, uint64_t number, uint32_t bytes);

bool wh_relay_limit(
]])

mutant(NAME relays-none-of-mine KIND test_relay FILE predicates/relay.c
	REMOVES "the sender's own payloads go to the next in its chain"
	TEXT [[
	uint64_t here = (int)s == mc->config.me ? mc->announced : relay->here, bytes = 0;
]]
	REPLACEMENT [[
	uint64_t here = relay->here, bytes = 0;
]])

mutant(NAME relays-of-my-row KIND views FILE predicates/relay.c
	WORDS ${relays}
	REMOVES "a relay pushes bytes of the sender's row: of its own"
	TEXT [[
	if ((int)s == c->me)
]]
	REPLACEMENT [[
	if ((int)s == c->me || c->me >= 0)
]])

mutant(NAME relays-round-the-ring KIND test_relay FILE predicates/relay.c
	REMOVES "a chain ends before its sender"
	TEXT [[
		mc->relays[s].ends = mc->relays[s].next == c->senders[s];
]]
	REPLACEMENT [[
		mc->relays[s].ends = false;
]])

mutant(NAME relays-before-acknowledging KIND test_relay FILE predicates/multicast.c
	REMOVES "acknowledgements do not wait for payloads that are passed on"
	TEXT [[
	wh_announce(mc);
	if (work + taken > 0)
		wh_acknowledge(mc, taken);
]]
	REPLACEMENT [[
	wh_announce(mc);
	if (mc->relays != NULL)
		work += wh_relay_slots(mc);
	if (work + taken > 0)
		wh_acknowledge(mc, taken);
]])

mutant(NAME relays-not-when-lent KIND test_relay FILE predicates/multicast.c
	REMOVES "a thread that sends for a loop that sleeps passes its payloads on"
	TEXT [[
	if (mc->relays != NULL)
		work += wh_relay_slots(mc);
	if (work == 0)
]]
	REPLACEMENT [[
	if (work == 0)
]])

mutant(NAME relays-and-to-all KIND test_relay FILE predicates/send.c
	REMOVES "what is relayed does not go from its sender to all"
	TEXT [[
	return wh_slot_payload(&place->slots, slot) + (wh_is_relayed(&mc->config, header) ? 0 : header.bytes);
]]
	REPLACEMENT [[
	return wh_slot_payload(&place->slots, slot) + header.bytes;
]])

# ---- what is believed ----

mutant(NAME relays-count-believed KIND test_relay FILE predicates/relay.c
	REMOVES "no more can have been relayed than a window beyond what is delivered"
	TEXT [[
	if (held > sender->next + mc->config.window) {
]]
	REPLACEMENT [[
	if (held > sender->next + mc->config.window + 1) {
]])

mutant(NAME relays-round-over KIND test_relay FILE predicates/relay.c
	REMOVES "a slot that is not here has a round that was not taken in"
	TEXT [[
	if (round < sender->covered || round >= *covered ||
]]
	REPLACEMENT [[
	if (round >= *covered ||
]])

mutant(NAME relays-round-uncovered KIND test_relay FILE predicates/relay.c
	REMOVES "a slot that is not here has a round that the guard covers"
	TEXT [[
	if (round < sender->covered || round >= *covered ||
]]
	REPLACEMENT [[
	if (round < sender->covered ||
]])

mutant(NAME relays-slots-left-out KIND test_relay FILE predicates/relay.c
	REMOVES "before a slot that is not here there are no more slots than rounds have"
	TEXT [[
	    begin - sender->announced > (round - sender->covered) * mc->config.parts_most) {
]]
	REPLACEMENT [[
	    begin < sender->announced) {
]])

mutant(NAME relays-any-length KIND test_relay FILE predicates/multicast_int.h COMPILE predicates/relay.c
	REMOVES "no more is passed on than a slot has room for"
	TEXT [[
header.bytes >= config->relay_bytes &&
	       header.bytes <= config->message_bytes;
]]
	REPLACEMENT [[
header.bytes >= config->relay_bytes;
]])

# ---- what nodes agree on, and transports can ----

mutant(NAME relays-agreed KIND test_group_config FILE group/config/config.c
	REMOVES "nodes agree on relay_bytes"
	TEXT [[
		if (options->relay_bytes > 0) /* likewise, behind a mark: it is no large_bytes */
]]
	REPLACEMENT [[
		if (options->relay_bytes < 0)
]])

mutant(NAME relays-on-shm KIND test_group_open FILE group/config/config.c
	REMOVES "on which transports no member relays the configuration says, with the line"
	TEXT [[
	else if (without != NULL)
]]
	REPLACEMENT [[
	else if (without != NULL && options->relay_bytes < 0)
]])

mutant(NAME relays-anywhere KIND test_group_open FILE group/node.c
	REMOVES "a world whose transport cannot relay refuses the option"
	TEXT [[
		if (config->subgroups[i].options.relay_bytes > 0)
]]
	REPLACEMENT [[
		if (config->subgroups[i].options.relay_bytes < 0)
]])

# ---- on tcp: bytes from a network ----

mutant(NAME relays-from-anywhere KIND conformance-tcp-frames FILE transport/session/image.c
	REMOVES "bytes of another member's row are taken from the member before in the chain"
	TEXT [[
relay->owner == owner && relay->before == before && relay_holds
]]
	REPLACEMENT [[
relay->owner == owner && before < image->base.members && relay_holds
]])

mutant(NAME relays-of-any-row KIND conformance-tcp-frames FILE transport/session/image.c
	REMOVES "and of the row of a sender whose chain it is in"
	TEXT [[
relay->owner == owner && relay->before == before && relay_holds
]]
	REPLACEMENT [[
owner < image->base.members && relay->before == before && relay_holds
]])

mutant(NAME relays-headers KIND conformance-tcp-frames FILE transport/session/image.c
	REMOVES "and lie in one slot: headers are their sender's own"
	TEXT [[
at % relay->stride < relay->bytes &&
	       bytes <= relay->bytes - at % relay->stride;
]]
	REPLACEMENT [[
bytes <= relay->count * relay->stride - at;
]])

mutant(NAME relays-behind-the-ring KIND conformance-tcp-frames FILE transport/session/image.c
	REMOVES "and in one that is there"
	TEXT [[
at / relay->stride < relay->count && at
]]
	REPLACEMENT [[
at
]])

mutant(NAME relays-words-of-others KIND conformance-tcp-frames FILE transport/tcp/in.c
	REMOVES "the words of a push are of the row of the one that pushes, whatever its bytes are of"
	TEXT [[
	in->columns = in->image->places[rank];
]]
	REPLACEMENT [[
	in->columns = in->image->places[owner];
]])

mutant(NAME relays-no-place KIND conformance-tcp-frames FILE transport/tcp/image.c
	REMOVES "what is relayed has a place before its owner has offered its row"
	TEXT [[
	for (size_t i = 0; i < image->base.relay_count; i++) {
		uint32_t owner
]]
	REPLACEMENT [[
	for (size_t i = 0; i < 0 * image->base.relay_count; i++) {
		uint32_t owner
]])

mutant(NAME relays-own-row KIND conformance-tcp FILE transport/tcp/out.c
	REMOVES "a relay pushes its copy of the sender's row, not its own row"
	TEXT [[
	return range->owner == image->base.base.my_rank ? image->base.base.own : image->places[range->owner];
]]
	REPLACEMENT [[
	return image->base.base.own;
]])

mutant(NAME relays-unnamed KIND conformance-tcp FILE transport/tcp/out.c
	REMOVES "the frame says which row it is of"
	TEXT [[
	head->flags |= WH_TCP_RELAYED;
	wh_tcp_owner_put(at, range->owner);
	return at + WH_TCP_OWNER_BYTES;
]]
	REPLACEMENT [[
	(void)head;
	return at;
]])

mutant(NAME relays-wrong-neighbour KIND views FILE group/rows.c
	WORDS ${relays}
	REMOVES "the member before in a chain is the one before in the list of members"
	TEXT [[
((uint32_t)me + subgroup->member_count - 1) % subgroup->member_count
]]
	REPLACEMENT [[
((uint32_t)me + 1) % subgroup->member_count
]])

# ---- what is shown of it ----

mutant(NAME relays-bytes-uncounted KIND test_relay FILE predicates/relay.c
	REMOVES "the bytes that are passed on are counted"
	TEXT [[
		bytes += header.bytes;
]]
	REPLACEMENT [[
		bytes += 1;
]])

mutant(NAME relays-untold KIND test_status FILE group/status/wire.c
	REMOVES "a status says what a member has relayed, to those that know of it"
	TEXT [[
	const bool refusals = walk->version >= 5, relays = walk->version >= 11;
]]
	REPLACEMENT [[
	const bool refusals = walk->version >= 5, relays = walk->version >= 12;
]])
