# delegation_links.cmake - trusts of other nodes (delegation/link.h), taken out one rule at a time. See mutants.cmake.

mutant(NAME delegate-any-digest KIND test_delegate_link FILE delegation/link.c
	REMOVES "nothing goes between programs that know other functions"
	TEXT [[
	if (greeting->digest != work->table.digest) {
]]
	REPLACEMENT [[
	if (0) {
]])

mutant(NAME delegate-mail-stays KIND test_delegate_remote FILE delegation/party.c
	REMOVES "a fiber for another node that goes by mail is started there"
	TEXT [[
	if (origin.channel->relay != NULL) { /* it is started at another node, to which this worker speaks */
]]
	REPLACEMENT [[
	if (0) {
]])

mutant(NAME delegate-mailed-padding KIND test_delegate_remote FILE delegation/party.c
	REMOVES "the result of a fiber that went by mail and ended at once has the size of its function's"
	TEXT [[
status == WHORL_OK ? bytes : 0);
]]
	REPLACEMENT [[
bytes == 0 ? 0 : wh_bytes_left(&out));
]])

mutant(NAME delegate-any-node-unmet KIND test_delegate_remote FILE delegation/far.c
	REMOVES "of other nodes only workers that can be called now are chosen, those that fibers go to"
	TEXT [[
		if (standing_of(&far->links[k]) == WHORL_OK && count++ == turn)
]]
	REPLACEMENT [[
		if (k == range.first && count++ == turn)
]])

mutant(NAME delegate-ready-without-links KIND test_delegate_remote FILE delegation/far.c
	REMOVES "a work is ready when all members have been met"
	TEXT [[
		if (ids[i] != work->node)
]]
	REPLACEMENT [[
		if (i > 0 && ids[i] < work->node)
]])

mutant(NAME delegate-guard-with-data KIND test_delegate_link FILE delegation/link.c
	REMOVES "where the words of a write come in any order the guard is a write of its own"
	TEXT [[
	if (whole) {
]]
	REPLACEMENT [[
	(void)whole;
	if (1) {
]])

mutant(NAME delegate-handles-of-the-dead KIND test_delegate_link FILE delegation/link.c
	REMOVES "the handles of a node that has ended end with it"
	TEXT [[
	wh_properties_forget(link->me, link->far->holder);
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-any-answer KIND test_delegate_link FILE delegation/answer.c
	REMOVES "an answer from another process is of the size that its function has, and a result that there is"
	TEXT [[
	if (channel->carrier == NULL)
		return true;
]]
	REPLACEMENT [[
	if (1)
		return true;
]])

mutant(NAME delegate-any-batch KIND test_delegate_link FILE delegation/link.c
	REMOVES "what is no batch ends the link"
	TEXT [[
	if (taken == WH_TAKEN && (in->calls.flags != 0 || !wh_batch_is_whole_in(&in->calls, WH_SLOT_MORE)))
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME delegate-any-number KIND test_delegate_link FILE delegation/region.c
	REMOVES "a batch is the next, or garbage"
	TEXT [[
	if (guard != last + 1)
		return WH_TAKEN_GARBAGE;
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-lost-post KIND test_delegate_link FILE delegation/link.c
	REMOVES "a batch that could not be posted is posted later"
	TEXT [[
		work = write_rest(link) + look_at_taken(link);
]]
	REPLACEMENT [[
		work = 0 * write_rest(link) + look_at_taken(link);
]]
	TEXT_2 [[
		if (link->ways[number].slot != NULL && !link->broken) {
]]
	REPLACEMENT_2 [[
		if (0) {
]])

mutant(NAME delegate-answers-without-slots KIND test_delegate_link FILE delegation/link.c
	REMOVES "a batch goes where one lay that has been taken"
	TEXT [[
	       way->written - (calls ? channel->settled : link->taken_there) < WH_RING;
]]
	REPLACEMENT [[
	       (!calls || way->written - channel->settled < WH_RING); /* of answers none */
]])

mutant(NAME delegate-calls-without-slots KIND test_delegate_link FILE delegation/link.c
	REMOVES "no more batches of calls are under way than there are slots"
	TEXT [[
	       way->written - (calls ? channel->settled : link->taken_there) < WH_RING;
]]
	REPLACEMENT [[
	       (calls || way->written - link->taken_there < WH_RING); /* of calls none */
]])

mutant(NAME delegate-every-call-alone KIND test_delegate_link FILE delegation/send.c
	REMOVES "calls come together while some are under way"
	TEXT [[
	       (channel->settled >= channel->partial || fills_slot(channel));
]]
	REPLACEMENT [[
	       true;
]])

mutant(NAME delegate-end-waits KIND test_delegate_link FILE delegation/send.c
	REMOVES "the end of long arguments does not wait for the answer to their beginning"
	TEXT [[
	       (channel->settled >= channel->partial || fills_slot(channel));
]]
	REPLACEMENT [[
	       (!wh_in_flight(channel) || fills_slot(channel));
]])

mutant(NAME delegate-serves-on KIND test_delegate_link FILE delegation/serve.c
	REMOVES "calls wait for the answers before theirs"
	TEXT [[
		if (wh_bytes_left(&channel->out) > 0) {
]]
	REPLACEMENT [[
		if (wh_bytes_left(&channel->out) > 0 && channel->carrier->take(channel) == WH_TAKEN) {
			channel->served++;
			(void)run_batch(me, channel, false);
		} else if (wh_bytes_left(&channel->out) > 0) {
]])

mutant(NAME delegate-settled-too-early KIND test_delegate_link FILE delegation/link.c
	REMOVES "a batch of calls is settled when all its answers are there"
	TEXT [[
			number--; /* not yet */
]]
	REPLACEMENT [[
			number -= 0;
]])

mutant(NAME delegate-nothing-is-answered KIND test_delegate_link FILE delegation/link.c
	REMOVES "half a ring of batches without answers is answered"
	TEXT [[
	return slot->count == 0 && slot->begins == WH_SLOT_ROOM && settled - link->settled < WH_RING / 2 &&
]]
	REPLACEMENT [[
	return slot->count == 0 && slot->begins == WH_SLOT_ROOM &&
]])

mutant(NAME delegate-parts-are-answered KIND test_delegate_link FILE delegation/link.c
	REMOVES "batches without answers are answered together"
	TEXT [[
		else if (can_wait(link, slot, number))
]]
	REPLACEMENT [[
		else if (number == 0 && can_wait(link, slot, number))
]])

mutant(NAME delegate-answers-not-told KIND test_delegate_link FILE delegation/link.c
	REMOVES "that answers have been taken is told, also if it could not be posted at once"
	TEXT [[
	if (!link->broken)
		tell_taken(link);
	return written;
]]
	REPLACEMENT [[
	return written;
]])

mutant(NAME delegate-any-taken KIND test_delegate_link FILE delegation/link.c
	REMOVES "no more answers are taken than there are, and none is given back"
	TEXT [[
	if (taken - link->taken_there > link->ways[WH_WAY_ANSWERS].written - link->taken_there)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME delegate-any-settled KIND test_delegate_link FILE delegation/answer.c
	REMOVES "answers settle batches that have been sent"
	TEXT [[
	    end > channel->sent || settled > channel->posted)
]]
	REPLACEMENT [[
	    end > channel->sent)
]])

mutant(NAME delegate-answers-behind KIND test_delegate_link FILE delegation/answer.c
	REMOVES "nothing lies behind the answers of a batch"
	TEXT [[
	if (!settle_all(channel, end, &reader, (slot->flags & WH_BATCH_STATUSES) != 0) || reader.at != reader.end)
]]
	REPLACEMENT [[
	if (!settle_all(channel, end, &reader, (slot->flags & WH_BATCH_STATUSES) != 0))
]])

mutant(NAME delegate-unanswered-settled KIND test_delegate_link FILE delegation/answer.c
	REMOVES "when all batches are settled all calls are answered"
	TEXT [[
	return settled < channel->posted || channel->first == channel->sent;
]]
	REPLACEMENT [[
	return true;
]])

mutant(NAME delegate-settled-before-the-end KIND test_delegate_link FILE delegation/answer.c
	REMOVES "a batch whose answers go on is not settled"
	TEXT [[
			return settled < channel->posted;
]]
	REPLACEMENT [[
			return true;
]])

mutant(NAME delegate-slots-until-the-end KIND test_delegate_link FILE delegation/answer.c
	REMOVES "slots are free while long answers come"
	TEXT [[
		if (more) {
			channel->settled = settled;
]]
	REPLACEMENT [[
		if (more) {
]])
