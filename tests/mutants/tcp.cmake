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
	for (uint32_t i = 0; in->columns != NULL && i < in->word_count; i++)
		wh_store_release((wh_word *)(void *)(in->columns + in->words[i].offset), in->words[i].value);
]])

mutant(NAME tcp-words-ahead KIND test_tcp_queue FILE transport/tcp/queue.c
	REMOVES "words leave with the last of the ranges that were posted before them"
	TEXT [[
 &&
	       q->words[n].behind <= q->left + *ranges;
]]
	REPLACEMENT [[
;
]])

mutant(NAME tcp-words-wait KIND test_tcp_queue FILE transport/tcp/queue.c
	REMOVES "a word that much lies before ends a frame: it does not wait for all that was posted behind it"
	TEXT [[
	bool ends = q->since >= ENDS_BYTES;
]]
	REPLACEMENT [[
	bool ends = false;
]])

mutant(NAME tcp-rows-mixed KIND test_tcp_queue FILE transport/tcp/queue.c
	REMOVES "the ranges of a frame are of one row"
	TEXT [[
 && first[n].owner == first->owner; n++) {
]]
	REPLACEMENT [[
; n++) {
]])

mutant(NAME tcp-rows-joined KIND test_tcp_queue FILE transport/tcp/queue.c
	REMOVES "a range continues one of its own row alone"
	TEXT [[
	if (old->image != image || old->owner != owner || offset
]]
	REPLACEMENT [[
	(void)owner;
	if (old->image != image || offset
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
		return wh_tcp_row_holds(&image->rows[rank], span->offset, span->bytes);
]]
	REPLACEMENT [[
		return span->offset + span->bytes <= image->rows[rank].bytes;
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


# ---- handshakes off the loop: tcp/shaker.c ------------------------------------------------------------------------------

mutant(NAME tcp-shakes-on-the-loop KIND conformance-tcp-handshakes FILE transport/tcp/wire.c
	WORDS CK_RUN_CASE=waiting
	REMOVES "handshakes of TLS are done off the loop"
	TEXT [[
	enum wh_tcp_io io = wh_tcp_shaker_shake(conn->wire->shaker, &conn->channel, &caller, &writes);
]]
	REPLACEMENT [[
	enum wh_tcp_io io = wh_tcp_shaker_shake(NULL, &conn->channel, &caller, &writes);
]])

mutant(NAME tcp-shakes-of-streams-on-the-loop KIND conformance-tcp-handshakes FILE transport/tcp/stream.c
	WORDS CK_RUN_CASE=streams
	REMOVES "those of streams too"
	TEXT [[
		io = wh_tcp_shaker_shake(w->shaker, &stream->channel, &caller, &writes);
]]
	REPLACEMENT [[
		io = wh_tcp_shaker_shake(NULL, &stream->channel, &caller, &writes);
]])

mutant(NAME tcp-shakes-are-alike KIND test_tcp_shaker FILE transport/tcp/shaker.c
	REMOVES "calls of this node, and from hosts of the configuration, are served first"
	TEXT [[
	put_last(caller->first ? &shaker->first : &shaker->waiting, step);
]]
	REPLACEMENT [[
	put_last(&shaker->waiting, step);
]])

mutant(NAME tcp-strangers-go-first KIND conformance-tcp-handshakes FILE transport/tcp/wire.c
	WORDS CK_RUN_CASE=waiting
	REMOVES "and those of strangers are not"
	TEXT [[
	const struct wh_tcp_caller caller = {WH_TCP_FROM_CONN, c->slot, .first = c->called || c->configured};
]]
	REPLACEMENT [[
	const struct wh_tcp_caller caller = {WH_TCP_FROM_CONN, c->slot, .first = true};
]])

mutant(NAME tcp-shakes-with-the-silent KIND test_tcp_shaker FILE transport/tcp/channel.c
	REMOVES "where nothing has come there is no step"
	TEXT [[
	*hears = io == WH_TCP_DONE;
]]
	REPLACEMENT [[
	*hears = io == WH_TCP_DONE || io == WH_TCP_LATER;
]])

mutant(NAME tcp-shaking-is-told KIND test_tcp_shaker FILE transport/tcp/shaker.c
	REMOVES "while the worker has a channel the poll tells nothing of its socket"
	TEXT [[
	(void)epoll_ctl(shaker->poll->epoll, EPOLL_CTL_DEL, channel->fd, NULL);
]]
	REPLACEMENT [[
]])

mutant(NAME tcp-shaken-is-untold KIND test_tcp_shaker FILE transport/tcp/shaker.c
	REMOVES "and then it does so again"
	TEXT [[
	    !wh_poll_watch(shaker->poll, EPOLL_CTL_ADD, channel->fd, EPOLLIN | (*writes ? EPOLLOUT : 0),
			   step->caller.source, step->caller.index))
]]
	REPLACEMENT [[
	    shaker->poll == NULL)
]])

mutant(NAME tcp-shakes-by-many KIND test_tcp_shaker FILE transport/tcp/shaker.c
	REMOVES "there is one worker at a time"
	TEXT [[
	works = shaker->works;
	shaker->works = true;
]]
	REPLACEMENT [[
	works = false;
	shaker->works = true;
]])

mutant(NAME tcp-shakes-for-the-closed KIND test_tcp_shaker FILE transport/tcp/shaker.c
	REMOVES "a step whose connection is closed while it waits ends at once"
	TEXT [[
	works = step->state == WORKS;
	step->dropped = works;
]]
	REPLACEMENT [[
	works = step->state != DONE;
	step->dropped = works;
]])

mutant(NAME tcp-shaken-stays-open KIND conformance-tcp-handshakes FILE transport/tcp/shaker.c
	WORDS CK_RUN_CASE=working
	REMOVES "a step whose connection is closed while it is under way frees what it has"
	TEXT [[
	if (dropped)
		free_step(step);
]]
	REPLACEMENT [[
	if (dropped)
		shaker->works = true;
]])

mutant(NAME tcp-shaker-of-the-parent KIND conformance-tcp-handshakes FILE transport/tcp/shaker.c
	WORDS CK_RUN_CASE=working
	REMOVES "a forked child closes what a worker has that it has not"
	TEXT [[
	if (shaker->pid != getpid()) {
		close(step->channel.fd);
		return;
	}
]]
	REPLACEMENT [[
]])

mutant(NAME tcp-shaker-ends-early KIND conformance-tcp-handshakes FILE transport/tcp/shaker.c
	WORDS CK_RUN_CASE=working
	REMOVES "a node that ends waits for the step that is under way"
	TEXT [[
	while (shaker->works && error == 0)
]]
	REPLACEMENT [[
	while (shaker->works && error > 0)
]])

mutant(NAME tcp-shaken-overflows KIND conformance-tcp-handshakes FILE transport/tcp/wire.c
	WORDS CK_RUN_CASE=waiting
	REMOVES "what is done and finds no room for its event waits, and is told of again"
	TEXT [[
	if (wh_tcp_shaker_done(w->shaker, &source, &index))
		wh_tcp_shaker_ring(w->shaker);
]]
	REPLACEMENT [[
]])

mutant(NAME tcp-stream-keeps-its-step KIND conformance-tcp-handshakes FILE transport/tcp/stream.c
	WORDS CK_RUN_CASE=streams
	REMOVES "a stream whose node ends while it shakes hands has no step any more"
	TEXT [[
	if (stream->channel.step != NULL) /* the stream's owner may close it when there is no shaker any more */
		wh_tcp_channel_close(&stream->channel, w->forked);
]]
	REPLACEMENT [[
]])

mutant(NAME tcp-stream-waits-in-vain KIND conformance-tcp-handshakes FILE transport/tcp/stream.c
	WORDS CK_RUN_CASE=streams
	REMOVES "the time for which a stream's step waits is not the other node's"
	TEXT [[
		stream->deadline_ns = UINT64_MAX;
]]
	REPLACEMENT [[
		stream->left_ns = 0;
]])

# ---- cuts (0051) ----------------------------------------------------------------------------------------------------------

mutant(NAME tcp-held-for-seconds KIND conformance-tcp-strangers FILE transport/tcp/wire.c
	REMOVES "a connection of members holds for as long as the configuration says"
	TEXT [[
	wh_tcp_channel_hold(&conn->channel, on ? conn->wire->cut_ns : 0);
]]
	REPLACEMENT [[
	wh_tcp_channel_hold(&conn->channel, on ? 0 * conn->wire->cut_ns : 0);
]])

mutant(NAME tcp-held-for-good KIND conformance-tcp-strangers FILE transport/tcp/wire.c
	REMOVES "one whose place another wants is given up after seconds"
	TEXT [[
	wh_tcp_channel_hold(&conn->channel, on ? conn->wire->cut_ns : 0);
]]
	REPLACEMENT [[
	wh_tcp_channel_hold(&conn->channel, on || conn->wire->cut_ns != 0 ? conn->wire->cut_ns : 0);
]])

# ---- records of TLS -------------------------------------------------------------------------------------------------

mutant(NAME tcp-a-record-for-each-part KIND test_tcp_sealed FILE transport/tcp/sealed.c
	REMOVES "small parts share a record"
	TEXT [[
	count = copy_from(from, record, most < sizeof(record) ? most : sizeof(record));
]]
	REPLACEMENT [[
	count = copy_from(from, record, rest);
]])

mutant(NAME tcp-records-half-full KIND test_tcp_sealed FILE transport/tcp/sealed.c
	REMOVES "a large part is sealed in whole records, and its end goes with what follows"
	TEXT [[
				      count > sizeof(record) ? count - count % sizeof(record) : count);
]]
	REPLACEMENT [[
				      count);
]])

mutant(NAME tcp-a-look-receives KIND test_tcp_sealed FILE transport/tcp/sealed.c
	REMOVES "others have their turn: a look opens what is there, and receives no more"
	TEXT [[
	if (channel->looks || channel->received != WH_TCP_DONE)
]]
	REPLACEMENT [[
	if (channel->received != WH_TCP_DONE)
]])

mutant(NAME tcp-sealed-without-end KIND test_tcp_sealed FILE transport/tcp/sealed.c
	REMOVES "the end of a connection with TLS is told"
	TEXT [[
	return channel->looks || channel->received == WH_TCP_DONE ? WH_TCP_LATER : channel->received;
]]
	REPLACEMENT [[
	return channel->received == WH_TCP_BROKEN ? WH_TCP_BROKEN : WH_TCP_LATER;
]])

mutant(NAME tcp-careless KIND test_tcp_sealed FILE transport/tcp/sealed.c
	REMOVES "a careful connection seals only what its socket has room for"
	TEXT [[
	return !channel->careful || poll(&room, 1, 0) > 0; /* or broken: the next call says so */
]]
	REPLACEMENT [[
	return !channel->careful || poll(&room, 1, 0) >= 0;
]])

mutant(NAME tcp-last-is-sealed-only KIND test_tcp_sealed FILE transport/tcp/channel.c
	REMOVES "an answer that is sealed and has not left has not left"
	TEXT [[
		return done == bytes && !wh_tcp_channel_unsent(channel);
]]
	REPLACEMENT [[
		return done == bytes;
]])
