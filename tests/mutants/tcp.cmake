# tcp.cmake - what makes images out of frames, and keeps peers that send bad messages, nothing, or too much from doing harm
# (transport/tcp/tcp_int.h), taken out one at a time. See mutants.cmake.

# ---- guards and what they guard -----------------------------------------------------------------------------------------

mutant(NAME tcp-words-early KIND conformance-tcp-frames FILE transport/tcp/in.c
	REMOVES "the words of a push are stored when all its ranges are there"
	TEXT [[
	in->large = in->left >= LARGE_PUSH;
]]
	REPLACEMENT [[
	in->large = in->left >= LARGE_PUSH;
	for (uint32_t i = 0; in->row != NULL && i < in->word_count; i++)
		wh_store_release((wh_word *)(void *)(in->row + in->words[i].offset), in->words[i].value);
]])

mutant(NAME tcp-words-ahead KIND test_tcp_queue FILE transport/tcp/queue.c
	REMOVES "words leave with the last of the ranges that were posted before them"
	TEXT [[
	*ranges = n - q->range_at;
	if (n < q->range_count)
		return;
]]
	REPLACEMENT [[
	*ranges = n - q->range_at;
]])

mutant(NAME tcp-words-overtake KIND test_tcp_queue FILE transport/tcp/queue.c
	REMOVES "a newer value takes the place of the word that was posted last, and of no earlier one"
	TEXT [[
	struct wh_tcp_value *last = q->word_count > q->word_at ? &q->words[q->word_count - 1] : NULL;
]]
	REPLACEMENT [[
	struct wh_tcp_value *last = NULL;

	for (uint32_t i = q->word_at; i < q->word_count; i++)
		if (q->words[i].image == image && q->words[i].word.offset == offset)
			last = &q->words[i];
]])

mutant(NAME tcp-words-alive KIND conformance-tcp-frames FILE transport/tcp/out.c
	REMOVES "a word leaves as it was when it was posted"
	TEXT [[
		wh_tcp_word_put(at, &q->words[q->word_at + i].word);
]]
	REPLACEMENT [[
	{
		struct wh_tcp_word word = q->words[q->word_at + i].word;

		memcpy(&word.value, image->base.own + word.offset, sizeof(word.value));
		wh_tcp_word_put(at, &word);
	}
]])

mutant(NAME tcp-columns-as-bytes KIND conformance-tcp-frames FILE transport/tcp/image.c
	REMOVES "columns that are pushed as bytes leave as words, of which no reader sees half"
	TEXT [[
	if (push->offset >= control)
		return
]]
	REPLACEMENT [[
	if (push->offset + control >= control)
		return
]])

mutant(NAME tcp-range-grows KIND test_tcp_queue FILE transport/tcp/queue.c
	REMOVES "a range that is on its way does not grow: how long it is has been said"
	TEXT [[
	first = first < q->fixed ? q->fixed : first;
]]
	REPLACEMENT [[
	first += 0 * q->fixed;
]])

# ---- what comes -----------------------------------------------------------------------------------------------------------

mutant(NAME tcp-half-frame-lost KIND conformance-tcp-frames FILE transport/tcp/in.c
	REMOVES "the beginning of a frame is kept until its rest comes"
	TEXT [[
		in->count -= in->at;
		in->at = 0;
]]
	REPLACEMENT [[
		in->count = in->at = 0;
]])

mutant(NAME tcp-half-range-lost KIND conformance-tcp-frames FILE transport/tcp/in.c
	REMOVES "what comes goes on where the range stopped"
	TEXT [[
			in->span_done += (uint32_t)bytes;
]]
	REPLACEMENT [[
			in->span_done = (uint32_t)bytes;
]])

mutant(NAME tcp-bytes-not-counted KIND conformance-tcp-frames FILE transport/tcp/in.c
	REMOVES "that a peer's bytes arrive is known before the whole of a push has come"
	TEXT [[
		*in->arrived += bytes;
]]
	REPLACEMENT [[
		*in->arrived += in->left == 0 ? bytes : 0;
]])

mutant(NAME tcp-range-anywhere KIND conformance-tcp-frames FILE transport/tcp/in.c
	REMOVES "a range lies in the parts of the row that have a place here"
	TEXT [[
		if (!wh_tcp_row_holds(row, in->spans[i].offset, in->spans[i].bytes))
]]
	REPLACEMENT [[
		if (in->spans[i].offset + in->spans[i].bytes > row->bytes)
]])

mutant(NAME tcp-table-believed KIND test_tcp_frame FILE transport/tcp/frame.c
	REMOVES "the ranges of a push are as many bytes as follow its table"
	TEXT [[
	return left == 0;
]]
	REPLACEMENT [[
	return left < UINT64_MAX;
]])

mutant(NAME tcp-image-any KIND conformance-tcp-frames FILE transport/tcp/image.c
	REMOVES "a push lands in the image that it names"
	TEXT [[
		for (uint32_t rank = 0; (*image)->base.key == key && rank < (*image)->base.members; rank++) {
]]
	REPLACEMENT [[
		for (uint32_t rank = 0; key > 0 && rank < (*image)->base.members; rank++) {
]])

mutant(NAME tcp-image-closed KIND conformance-tcp-frames FILE transport/tcp/image.c
	REMOVES "the rest of a push goes nowhere when its image has closed"
	TEXT [[
			wh_tcp_in_forget(&t->peers[node].link->in, image);
]]
	REPLACEMENT [[
			(void)image->next;
]])

mutant(NAME tcp-row-of-another-life KIND conformance-tcp-frames FILE transport/tcp/image.c
	REMOVES "a row is that of one incarnation"
	TEXT [[
	return row->peer->state == WH_TCP_MET && row->peer->incarnation == row->incarnation;
]]
	REPLACEMENT [[
	return row->peer->state == WH_TCP_MET;
]])

mutant(NAME tcp-one-end-in-mind KIND conformance-tcp-strangers FILE transport/tcp/peer.c
	WORDS CK_RUN_CASE=lives
	REMOVES "an incarnation that has ended is not met again when another has ended since"
	TEXT [[
		wh_known_incarnations_add(&peer->ended, peer->incarnation);
]]
	REPLACEMENT [[
		peer->ended.of[0] = peer->incarnation;
]])

# ---- peers that take too much ----------------------------------------------------------------------------------------------

mutant(NAME tcp-queue-endless KIND test_tcp_queue FILE transport/tcp/queue.c
	REMOVES "what waits for one peer is bounded"
	TEXT [[
	if (wanted > WH_TCP_QUEUE_MAX)
		return false;
]]
	REPLACEMENT [[
	if (wanted > 4 * WH_TCP_QUEUE_MAX)
		return false;
]])

mutant(NAME tcp-silent-stay KIND conformance-tcp-strangers FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=in-time
	REMOVES "a stranger that says nothing has a quarter of a second"
	TEXT [[
	return stranger->spoke ? WH_TCP_STRANGER_NS : WH_TCP_SILENT_NS;
]]
	REPLACEMENT [[
	return stranger->spoke ? WH_TCP_STRANGER_NS : 4 * WH_TCP_SILENT_NS;
]])

mutant(NAME tcp-full-stays KIND conformance-tcp-strangers FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=door
	REMOVES "the last that calls gets a place"
	TEXT [[
	place = first_to_go(t, configured);
]]
	REPLACEMENT [[
	place = NULL;
	(void)first_to_go;
]])

mutant(NAME tcp-silent-outlive-speakers KIND conformance-tcp-strangers FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=door
	REMOVES "a place is taken from a stranger that has said nothing, before one that has"
	TEXT [[
		return !one->spoke;
]]
	REPLACEMENT [[
		return one->spoke;
]])

mutant(NAME tcp-sources-are-alike KIND conformance-tcp-strangers FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=door
	REMOVES "of those that speak, the source with most places gives one up"
	TEXT [[
		if (places != others)
			return places > others;
]]
	REPLACEMENT [[
		if (places != others && places == 0)
			return places > others;
]])

mutant(NAME tcp-no-places-kept KIND conformance-tcp-strangers FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=door
	REMOVES "places are kept for calls from hosts of the configuration"
	TEXT [[
	if (place != NULL && (configured || others < WH_TCP_STRANGERS))
]]
	REPLACEMENT [[
	if (place != NULL && (configured || others < 2 * WH_TCP_STRANGERS))
]])

mutant(NAME tcp-proven-put-out KIND conformance-tcp-keys FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=keys
	REMOVES "a stranger that has proven what it is does not lose its place"
	TEXT [[
	return stranger->shaken && (t->ground.key != NULL || t->ground.tls != NULL);
]]
	REPLACEMENT [[
	return stranger->shaken && (t->ground.key != NULL || t->ground.tls != NULL) && false;
]])

mutant(NAME tcp-second-for-all KIND conformance-tcp-keys FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=in-time
	REMOVES "a stranger has a second for each word of the greeting"
	TEXT [[
	if (stranger->channel.turns != turns) {
]]
	REPLACEMENT [[
	if (stranger->channel.turns < turns) {
]])

mutant(NAME tcp-asked-too-long-ago KIND conformance-tcp-strangers FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=in-time
	REMOVES "a query is not sent away for the time that its answer takes"
	TEXT [[
	return stranger->query == 0 && now >= stranger->since_ns + time_of(stranger);
]]
	REPLACEMENT [[
	return now >= stranger->since_ns + time_of(stranger);
]])

mutant(NAME tcp-late-to-look KIND conformance-tcp-keys FILE transport/tcp/meet.c
	WORDS CK_RUN_CASE=in-time
	REMOVES "a node that has looked late looks for an answer before it gives up a call"
	TEXT [[
		if (is_late(peer, now))
			look_again(t, peer);
]]
	REPLACEMENT [[
		(void)look_again;
]])

mutant(NAME tcp-full-delays-others KIND conformance-tcp FILE transport/tcp/tcp.c
	WORDS CK_RUN_CASE=peer
	REMOVES "a peer with a full socket holds up no other"
	TEXT [[
		if (link == NULL || !link->dirty || (link->patient && !patient_ones))
			continue;
]]
	REPLACEMENT [[
		if (link != NULL && link->out.blocked)
			return;
		if (link == NULL || !link->dirty || (link->patient && !patient_ones))
			continue;
]])

# ---- queries ------------------------------------------------------------------------------------------------------------

mutant(NAME tcp-unreached-is-there KIND test_tcp_query FILE transport/tcp/query.c
	REMOVES "a node that was never connected to is not said to be there"
	TEXT [[
	if (result == WHORL_AGAIN && !q.reached)
]]
	REPLACEMENT [[
	if (result == WHORL_AGAIN && !q.reached && false)
]])

mutant(NAME tcp-silent-is-away KIND test_tcp_query FILE transport/tcp/query.c
	REMOVES "a node that was connected to is there, though it says nothing"
	TEXT [[
	q->reached = true;
]]
	REPLACEMENT [[
]])

# ---- meeting ------------------------------------------------------------------------------------------------------------

mutant(NAME tcp-answered-gives-way KIND conformance-tcp-strangers FILE transport/tcp/accept.c
	WORDS CK_RUN_CASE=calls
	REMOVES "an answered call is not put aside for a call of another incarnation before its connection has ended"
	TEXT [[
	if (peer->state == WH_TCP_MET || (peer->state == WH_TCP_ANSWERED && peer->incarnation != hello->incarnation))
]]
	REPLACEMENT [[
	if (peer->state == WH_TCP_MET)
]])

mutant(NAME tcp-rejected-forgotten KIND conformance-tcp-strangers FILE transport/tcp/meet.c
	WORDS CK_RUN_CASE=calls
	REMOVES "a rejected peer is called again"
	TEXT [[
	return peer->state == WH_TCP_ABSENT || peer->state == WH_TCP_REJECTED;
]]
	REPLACEMENT [[
	return peer->state == WH_TCP_ABSENT;
]])

mutant(NAME tcp-refusal-told-again KIND conformance-tcp-strangers FILE transport/tcp/peer.c
	WORDS CK_RUN_CASE=calls
	REMOVES "a node tells once of each incarnation that it has refused"
	TEXT [[
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused node
]]
	REPLACEMENT [[
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation) || true)
		wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused node
]])

mutant(NAME tcp-ended-untold KIND conformance-tcp-strangers FILE transport/tcp/meet.c
	WORDS CK_RUN_CASE=calls
	REMOVES "a life that was met and has ended is told so when it answers a call"
	TEXT [[
		wh_tcp_refuse(t, peer, "node %" PRIu32 " is gone for good", peer->node); /* it may not know */
]]
	REPLACEMENT [[
		wh_tcp_end_connection(t, peer, WH_TCP_REJECTED);
]])
