# restart.cmake - what brings a durable group back (docs/decisions/0058), taken out one rule at a time. See mutants.cmake.

# ---- what a disk says of views ----

mutant(NAME standing-unsynced KIND test_standing FILE persistence/standing.c
	REMOVES "a standing is on disk when it has been written"
	TEXT [[
		result = file->file->ops->sync(file->file, err);
	if (result == WHORL_OK)
		file->slot = !file->slot;
]]
	REPLACEMENT [[
		file->slot = !file->slot;
]])

mutant(NAME standing-over-itself KIND test_standing FILE persistence/standing.c
	REMOVES "the slots of a standing are written in turn"
	TEXT [[
	enum whorl_result result = write_at(file->file, place_of(file, !file->slot), slot, bytes, err);
]]
	REPLACEMENT [[
	enum whorl_result result = write_at(file->file, place_of(file, file->slot = 1), slot, bytes, err);
]])

mutant(NAME standing-unchecked KIND test_standing FILE persistence/standing.c
	REMOVES "a slot that does not check is passed over"
	TEXT [[
	if (whole && slot_checksum(bytes, length) == (uint32_t)wh_take_number(&reader, 4)) {
]]
	REPLACEMENT [[
	if (whole) {
]])

mutant(NAME standing-lost-is-blank KIND test_standing FILE persistence/standing.c
	REMOVES "a file of which no slot checks is refused: it is taken for a blank one"
	TEXT [[
		result = wh_error_set(err, WHORL_DISK, "what this disk says of views is damaged in both of its places");
]]
	REPLACEMENT "")

mutant(NAME standing-made-in-place KIND test_standing FILE persistence/standing.c
	REMOVES "a file is made beside, and then takes its name"
	TEXT [[
	enum whorl_result result = make_beside(file->directory, FILE_NAME BESIDE, &made, err);
]]
	REPLACEMENT [[
	enum whorl_result result = make_beside(file->directory, FILE_NAME, &made, err);
]] TEXT_2 [[
		result = take_name(file->directory, made, FILE_NAME BESIDE, FILE_NAME, err);
]] REPLACEMENT_2 [[
		result = take_name(file->directory, made, FILE_NAME, FILE_NAME, err);
]])

mutant(NAME name-unsynced KIND test_standing FILE persistence/standing.c
	REMOVES "the name of a new file is on disk when it has been written"
	TEXT [[
	return result == WHORL_OK ? directory->ops->sync(directory, err) : result;
]]
	REPLACEMENT [[
	return result;
]])

mutant(NAME standing-written-on KIND test_standing FILE persistence/standing.c
	REMOVES "no write follows one that failed"
	TEXT [[
	file->failed = true;
]]
	REPLACEMENT "")

mutant(NAME view-of-another-key KIND test_standing FILE persistence/standing.c
	REMOVES "a view's checksum covers its key"
	TEXT [[
	wh_put_number(name, key, 8);
]]
	REPLACEMENT [[
	wh_put_number(name, 0 * key, 8);
]])

# ---- the end of a view ----

mutant(NAME decided-unkept KIND test_change_durable FILE membership/change.c
	REMOVES "a decision is on disk before the row of its maker says it"
	TEXT [[
	if (!is_kept(change, wh_change_me(change)) || !heeds_still(change))
]]
	REPLACEMENT [[
	if (!heeds_still(change))
]])

mutant(NAME adopted-unkept KIND test_change_durable FILE membership/change.c
	REMOVES "what a leader adopts is on disk before its row says it"
	TEXT [[
	if (!is_kept(change, me) || !heeds_still(change))
]]
	REPLACEMENT [[
	if (!heeds_still(change))
]])

mutant(NAME echoed-unkept KIND test_change_durable FILE membership/change.c
	REMOVES "what a member echoes is on disk before its row says it"
	TEXT [[
	if (!is_kept(change, lead) || !heeds_still(change))
]]
	REPLACEMENT [[
	if (!heeds_still(change))
]])

mutant(NAME caught-up-unkept KIND test_change_durable FILE membership/change.c
	REMOVES "what another has installed is on disk before a row says that its member agrees"
	TEXT [[
		if (change->agreed == 0 && !is_kept(change, by))
			return 0;
]]
	REPLACEMENT "")

mutant(NAME heedless-behind-the-disk KIND test_change_durable FILE membership/change.c
	REMOVES "what others say is heeded once more when a decision is on disk"
	TEXT [[
	return change->on.keep == NULL || wh_suspicion_heeds(change);
]]
	REPLACEMENT [[
	(void)change;
	return true;
]])

mutant(NAME no-log-goes-on KIND test_change_durable FILE membership/change.c
	REMOVES "no view is decided in which a durable shard keeps members and none of them is whole"
	TEXT [[
	return shard_without_log(change) < 0 && wh_suspicion_trusted_quorum(change) && wh_suspicion_heeds(change);
]]
	REPLACEMENT [[
	return wh_suspicion_trusted_quorum(change) && wh_suspicion_heeds(change);
]])

mutant(NAME empty-shard-waits KIND test_change_durable FILE membership/change.c
	REMOVES "a shard of which no member goes on holds up nobody"
	TEXT [[
	return !goes_on;
]]
	REPLACEMENT [[
	return false && goes_on;
]])

mutant(NAME log-held-against-leader KIND test_change_durable FILE membership/change.c
	REMOVES "while a whole log is missing no member is held to hold up the others"
	TEXT [[
	if (work > 0 || late || !change->suspicion.quorum || is_held_up_by_log(change))
]]
	REPLACEMENT [[
	(void)is_held_up_by_log;
	if (work > 0 || late || !change->suspicion.quorum)
]])

mutant(NAME log-waited-for-ever KIND test_change_durable FILE membership/change.c
	REMOVES "a member that waits for a whole log gives up in the end"
	TEXT [[
		wh_suspicion_give_up(change); /* a restart of all finds the one that has it (0058) */
]]
	REPLACEMENT [[
		return true;
]])
