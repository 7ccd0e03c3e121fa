# sizes.cmake - what makes the limit of a benchmark with messages of several sizes one of the same mix, and what a sealed one needs, taken out
# one at a time. See mutants.cmake.

mutant(NAME sizes-free-rings KIND test_figures FILE bench/limit/rings.c
	REMOVES "on shm a writer fills no ring much further than its others, where sizes differ"
	TEXT [[
		if (w->mixed)
]]
	REPLACEMENT [[
		if (w->mixed && window == 0)
]])

mutant(NAME sizes-out-of-step KIND test_figures FILE bench/limit/limit_int.h
	COMPILE bench/limit/rings.c
	REMOVES "how far a ring is ahead of the others of its writer counts"
	TEXT [[
	uint64_t ahead = count - least;
]]
	REPLACEMENT [[
	uint64_t ahead = count == least ? 0 : 1;
]])

mutant(NAME sizes-turns-alike KIND test_figures FILE bench/limit/sockets.c
	REMOVES "on tcp a turn has as many messages of each ring: those of the smaller have as many bytes"
	TEXT [[
			row->turns[count++] = (struct turn){ring, slot, (uint64_t)row->messages * slot};
]]
	REPLACEMENT [[
			row->turns[count++] = (struct turn){ring, slot, row->cycle / row->ring_count / slot * slot};
]])

mutant(NAME sizes-read-as-the-first KIND test_figures FILE bench/limit/sockets.c
	REMOVES "a reader knows the ring of each message: it takes all for those of the first"
	TEXT [[
		read += turn->ring->bytes;
]]
	REPLACEMENT [[
		read += row->turns[0].ring->bytes;
]])

mutant(NAME sealed-limit-pipes KIND test_figures FILE bench/limit/seal.c
	REMOVES "what the limit seals for a node that has ended raises no SIGPIPE"
	TEXT [[
	return tell(bio, send(seal->socket, bytes, (size_t)count, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
]]
	REPLACEMENT [[
	return tell(bio, send(seal->socket, bytes, (size_t)count, 0), BIO_FLAGS_WRITE);
]])
