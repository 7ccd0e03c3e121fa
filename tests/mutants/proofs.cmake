# proofs.cmake - proof of death on shared memory (T12): how it is got, what it is behind, what is read then; taken out one rule at a
# time. See mutants.cmake.

# ---- what is a proof ----------------------------------------------------------------------------------------------------

mutant(NAME pidfd-by-connection KIND conformance-shm-deaths FILE transport/session/peer.c
	WORDS CK_RUN_CASE=unproven
	REMOVES "the end of a connection is no proof"
	TEXT [[
				    "node %" PRIu32 " (%s) %s", peer->node, peer->text, how);
]]
	REPLACEMENT [[
				    "node %" PRIu32 " (%s) %s", peer->node, peer->text, how);
	if (!left)
		wh_event_queue_tell(&s->event_queue, WH_EVENT_PEER_DEAD, peer->node, incarnation, "dead");
]])

mutant(NAME pidfd-of-oneself KIND conformance-shm-deaths FILE transport/shm/proof.c
	WORDS CK_RUN_CASE=unproven
	REMOVES "nothing is proven of nodes of one's own process"
	TEXT [[
	if (conn->pid == getpid())
]]
	REPLACEMENT [[
	if (conn->pid == -1)
]])

mutant(NAME pidfd-of-another KIND conformance-shm-deaths FILE transport/shm/proof.c
	WORDS CK_RUN_CASE=lives
	REMOVES "the process that was opened is the one that answers"
	TEXT [[
	if (sender == conn->pid && !has_ended(conn->pidfd))
]]
	REPLACEMENT [[
	if (sender > 0 && !has_ended(conn->pidfd))
]])

mutant(NAME pidfd-of-a-pid-used-again KIND conformance-shm-deaths FILE transport/shm/proof.c
	WORDS CK_RUN_CASE=lives
	REMOVES "the process that was opened lives when the answer comes: else another may have its pid"
	TEXT [[
	if (sender == conn->pid && !has_ended(conn->pidfd))
]]
	REPLACEMENT [[
	if (sender == conn->pid)
]])

mutant(NAME pidfd-undoubted KIND conformance-shm-deaths FILE transport/shm/proof.c
	WORDS CK_RUN_CASE=lives
	REMOVES "a pid is doubted until there is an answer"
	TEXT [[
	conn->doubted = true;
]]
	REPLACEMENT [[
]])

mutant(NAME pidfd-unlooked KIND conformance-shm-deaths FILE transport/shm/proof.c
	WORDS CK_RUN_CASE=lives
	REMOVES "what epoll has told is looked at again: another life may be in that place"
	TEXT [[
	if (life->pidfd < 0 || !has_ended(life->pidfd))
]]
	REPLACEMENT [[
	if (life->pidfd < 0)
]])

# ---- when it is told ----------------------------------------------------------------------------------------------------

mutant(NAME pidfd-before-words KIND conformance-shm-deaths FILE transport/session/peer.c
	WORDS CK_RUN_CASE=proven
	REMOVES "what the dead have sent comes before the proof"
	TEXT [[
		(void)wh_session_read(s, peer, &dry);
		if (is_here
]]
	REPLACEMENT [[
		dry = true;
		if (is_here
]])

mutant(NAME pidfd-before-the-rest KIND test_session_death FILE transport/session/peer.c
	REMOVES "the proof waits until all is taken in that has come"
	TEXT [[
		if (is_here(peer, incarnation) && dry && !wh_session_is_full(s))
]]
	REPLACEMENT [[
		if (is_here(peer, incarnation) && !wh_session_is_full(s))
]])

mutant(NAME pidfd-before-the-end KIND conformance-shm-deaths FILE transport/session/peer.c
	WORDS CK_RUN_CASE=proven
	REMOVES "a proof ends a connection that a forked child has"
	TEXT [[
	if (is_here(peer, incarnation) || wh_session_is_full(s))
		return false;
]]
	REPLACEMENT [[
	if (wh_session_is_full(s))
		return false;
]]
	TEXT_2 [[
			wh_session_lose(s, peer, "has died");
]]
	REPLACEMENT_2 [[
			dry = false;
]])

mutant(NAME pidfd-without-room KIND test_session_death FILE transport/session/peer.c
	REMOVES "a proof waits for room"
	TEXT [[
	if (is_here(peer, incarnation) || wh_session_is_full(s))
		return false;
]]
	REPLACEMENT [[
	if (is_here(peer, incarnation))
		return false;
]]
	TEXT_2 [[
		if (is_here(peer, incarnation) && dry && !wh_session_is_full(s))
]]
	REPLACEMENT_2 [[
		if (is_here(peer, incarnation))
]])

mutant(NAME pidfd-when-left KIND test_session_death FILE transport/session/peer.c
	REMOVES "no proof comes to a node that has left"
	TEXT [[
	if (s->left)
		return true;
]]
	REPLACEMENT [[
]])

mutant(NAME pidfd-forgotten-by-a-fork KIND conformance-shm-deaths FILE transport/shm/proof.c
	WORDS CK_RUN_CASE=proven
	REMOVES "a forked child takes no descriptor out of epoll"
	TEXT [[
	if (life->pidfd >= 0 && !forked)
]]
	REPLACEMENT [[
	if (life->pidfd >= 0 && (!forked || life->pidfd != -1))
]])

mutant(NAME pidfd-of-the-first-lives KIND conformance-shm-deaths FILE transport/shm/proof.c
	WORDS CK_RUN_CASE=lives
	REMOVES "of many lives the last are watched"
	TEXT [[
peer->lives[i].number < place->number)
]]
	REPLACEMENT [[
peer->lives[i].number > place->number)
]])

# ---- what is read then --------------------------------------------------------------------------------------------------

mutant(NAME thaw-forgotten KIND conformance-shm FILE transport/shm/image.c
	WORDS CK_RUN_CASE=death
	REMOVES "the columns of a thawed member are read from its row again"
	TEXT [[
	image->base.control[rank] = image->base.row[rank] = row;
]]
	REPLACEMENT [[
	image->base.row[rank] = row;
]])

mutant(NAME thaw-waited-for KIND conformance-shm FILE transport/shm/image.c
	WORDS CK_RUN_CASE=death
	REMOVES "an image does not wait for a thawed member"
	TEXT [[
	image->base.rows[rank].frozen = true;
	image->base.control[rank] = image->base.row
]]
	REPLACEMENT [[
	image->base.control[rank] = image->base.row
]])

mutant(NAME thaw-sleeps KIND conformance-shm-deaths FILE transport/shm/image.c
	WORDS CK_RUN_CASE=words
	REMOVES "a loop that sleeps until an image is ready is woken"
	TEXT [[
	image->base.control[rank] = image->base.row[rank] = row;
	if (!base->ready)
]]
	REPLACEMENT [[
	image->base.control[rank] = image->base.row[rank] = row;
	if (base->ready)
]])

mutant(NAME thaw-of-oneself KIND conformance-shm FILE transport/shm/image.c
	WORDS CK_RUN_CASE=death
	REMOVES "a row that is not here is not thawed"
	TEXT [[
	if (rank == base->my_rank || row == NULL)
]]
	REPLACEMENT [[
	if (rank == base->my_rank)
]])

mutant(NAME thaw-until-ready KIND conformance-shm FILE transport/session/image.c
	WORDS CK_RUN_CASE=death
	REMOVES "the row of a thawed member can be read in an image that becomes ready later"
	TEXT [[
		else if (image->control[rank] != image->row[rank])
]]
	REPLACEMENT [[
		else
]])


# ---- who vouches for a process ------------------------------------------------------------------------------------------

mutant(NAME vouch-death-goes-at-once KIND test_death_waits FILE transport/shm/vouch.c
	REMOVES "a process whose death waits has a context that the kernel waits for"
	TEXT [[
	if (t->death_waits && t->hold == 0
]]
	REPLACEMENT [[
	if (t->death_waits && t->hold != 0
]])

mutant(NAME vouch-death-waits-for-ever KIND test_death_waits FILE transport/shm/vouch.c
	REMOVES "a node that is closed has no such context any more"
	TEXT [[
		(void)syscall(SYS_io_destroy, t->hold);
]]
	REPLACEMENT [[
		(void)0;
]])

mutant(NAME vouch-death-of-two-waits KIND test_death_waits FILE transport/shm/shm.c
	REMOVES "of two nodes the other waits for the proof, so its death is not to wait"
	TEXT [[config->death_waits && config->nodes > 2;]]
	REPLACEMENT [[config->death_waits;]])

mutant(NAME vouch-not-robust KIND conformance-shm-vouches FILE transport/shm/vouch.c
	WORDS CK_RUN_CASE=marks
	REMOVES "the kernel marks the mutex of a thread that ends"
	TEXT [[
		       pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
]]
	REPLACEMENT [[
]])

mutant(NAME vouch-inconsistent KIND conformance-shm-vouches FILE transport/shm/vouch.c
	WORDS CK_RUN_CASE=marks
	REMOVES "another thread vouches in the place of one that has ended"
	TEXT [[
		(void)pthread_mutex_consistent(&t->status->voucher);
]]
	REPLACEMENT [[
		(void)0;
]])

mutant(NAME vouch-beyond-the-page KIND conformance-shm-vouches FILE transport/shm/vouch.c
	WORDS CK_RUN_CASE=pages
	REMOVES "the word lies within the page"
	TEXT [[
	if (at == 0 || at > WH_SHM_STATUS_BYTES - sizeof(uint32_t) || at % sizeof(uint32_t) != 0)
]]
	REPLACEMENT [[
	if (at == 0 || at > WH_SHM_STATUS_BYTES || at % sizeof(uint32_t) != 0)
]])

mutant(NAME vouch-between-words KIND conformance-shm-vouches FILE transport/shm/vouch.c
	WORDS CK_RUN_CASE=pages
	REMOVES "the word is aligned"
	TEXT [[
	if (at == 0 || at > WH_SHM_STATUS_BYTES - sizeof(uint32_t) || at % sizeof(uint32_t) != 0)
]]
	REPLACEMENT [[
	if (at == 0 || at > WH_SHM_STATUS_BYTES - sizeof(uint32_t))
]])

mutant(NAME vouch-of-one-peer KIND conformance-shm-vouches FILE transport/shm/vouch.c
	WORDS CK_RUN_CASE=marks
	REMOVES "the peers are looked at in turn"
	TEXT [[
	t->next_looked = node + 1 < t->nodes ? node + 1 : 0;
]]
	REPLACEMENT [[
]])

mutant(NAME vouch-before-words KIND conformance-shm-vouches FILE transport/shm/wire.c
	WORDS CK_RUN_CASE=marks
	REMOVES "what was sent before the mark is read before the end"
	TEXT [[
	if (result == WH_WIRE_LATER && forsaken)
]]
	REPLACEMENT [[
	if (forsaken)
]])

mutant(NAME vouch-unheeded KIND conformance-shm-vouches FILE transport/shm/wire.c
	WORDS CK_RUN_CASE=marks
	REMOVES "the mark ends a connection"
	TEXT [[
	if (result == WH_WIRE_LATER && forsaken)
]]
	REPLACEMENT [[
	if (result == WH_WIRE_LATER && forsaken && conn->older)
]])

mutant(NAME loop-vouches-not KIND test_loop_thread FILE predicates/loop.c
	REMOVES "the thread of a loop vouches for its process"
	TEXT [[
		ops->vouch(loop->transport, true);
]]
	REPLACEMENT [[
		(void)0;
]])

mutant(NAME loop-vouches-for-ever KIND test_loop_thread FILE predicates/loop.c
	REMOVES "a loop that ends in order takes that back"
	TEXT [[
		ops->vouch(loop->transport, false);
]]
	REPLACEMENT [[
		(void)0;
]])
