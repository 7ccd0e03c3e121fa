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

		memcpy(&word.value, image->base.base.own + word.offset, sizeof(word.value));
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
	struct wh_session_image *image = wh_session_image_of(w->session, wh_session_peer(w->session, node), key, rank);
]]
	REPLACEMENT [[
	struct wh_session_image *open = wh_session_images(w->session);
	struct wh_session_image *image = wh_session_image_of(w->session, wh_session_peer(w->session, node),
							     open != NULL ? open->base.key : key, rank);
]])

mutant(NAME tcp-image-closed KIND conformance-tcp-frames FILE transport/tcp/image.c
	REMOVES "the rest of a push goes nowhere when its image has closed"
	TEXT [[
			wh_tcp_in_forget(&conn->link->in, image);
]]
	REPLACEMENT [[
			(void)image->closed;
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

mutant(NAME tcp-full-delays-others KIND conformance-tcp FILE transport/tcp/wire.c
	WORDS CK_RUN_CASE=peer
	REMOVES "a peer with a full socket holds up no other"
	TEXT [[
		if (conn == NULL || conn->link == NULL || !conn->link->dirty || (conn->link->patient && !patient_ones))
			continue;
]]
	REPLACEMENT [[
		if (conn != NULL && conn->link != NULL && conn->link->out.blocked)
			return;
		if (conn == NULL || conn->link == NULL || !conn->link->dirty || (conn->link->patient && !patient_ones))
			continue;
]])

# ---- queries ------------------------------------------------------------------------------------------------------------

mutant(NAME tcp-unreached-is-there KIND test_tcp_query FILE transport/tcp/query.c
	REMOVES "a node that was never connected to is not said to be there"
	TEXT [[
	if (result == WHORL_TIMEOUT && !way.reached)
]]
	REPLACEMENT [[
	if (result == WHORL_TIMEOUT && !way.reached && false)
]])

mutant(NAME tcp-silent-is-away KIND test_tcp_query FILE transport/tcp/query.c
	REMOVES "a node that was connected to is there, though it says nothing"
	TEXT [[
	way->reached = true;
]]
	REPLACEMENT [[
]])

