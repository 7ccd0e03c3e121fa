# delegation_moves.cmake - properties that move to other nodes (delegation/move.c), taken out one rule at a time. See mutants.cmake.

mutant(NAME delegate-moves-all KIND test_delegate_moves FILE delegation/move.c
	REMOVES "what is not of bytes alone stays in its process"
	TEXT [[
	return (flags & WHORL_TYPE_STAYS) == 0 && (type->drop == NULL || (flags & WHORL_TYPE_TRAVELS) != 0);
]]
	REPLACEMENT [[
	return (flags & WHORL_TYPE_STAYS) == 0;
]])

mutant(NAME delegate-moves-bound KIND test_delegate_moves FILE delegation/move.c
	REMOVES "what says that it stays does"
	TEXT [[
	return (flags & WHORL_TYPE_STAYS) == 0 && (type->drop == NULL || (flags & WHORL_TYPE_TRAVELS) != 0);
]]
	REPLACEMENT [[
	return type->drop == NULL || (flags & WHORL_TYPE_TRAVELS) != 0;
]])

mutant(NAME delegate-open-while-it-moves KIND test_delegate_moves FILE delegation/move.c
	REMOVES "calls wait while a property moves"
	TEXT [[
	property->state = WH_PROPERTY_MOVING;
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-moves-to-the-dead KIND test_delegate_killed FILE delegation/move.c
	REMOVES "a property stays if its new place ends before it has answered"
	TEXT [[
		property->state = WH_PROPERTY_LIVE;
		if (later->to->link != NULL
]]
	REPLACEMENT [[
		if (later->to->link != NULL
]])

mutant(NAME delegate-stays-untold KIND test_delegate_killed FILE delegation/move.c
	REMOVES "the mover is told that it stays as the new place has ended"
	TEXT [[
			status = WHORL_MEMBER_GONE;
]]
	REPLACEMENT [[
			status = WHORL_IN_DOUBT;
]])

mutant(NAME delegate-moved-and-dropped KIND test_delegate_moves FILE delegation/move.c
	REMOVES "a property is not dropped where it has moved away from"
	TEXT [[
	if (later->to->link != NULL)
		free(property->object);
]]
	REPLACEMENT [[
	if (later->to->link != NULL && property->type->drop != NULL)
		property->type->drop(property->object);
	if (later->to->link != NULL)
		free(property->object);
]])

mutant(NAME delegate-copy-dropped KIND test_delegate_link FILE delegation/property.c
	REMOVES "what has come from another node is a copy until that one knows that it is here"
	TEXT [[
	if (property->type->drop != NULL && !property->arriving) {
]]
	REPLACEMENT [[
	if (property->type->drop != NULL) {
]])

mutant(NAME delegate-moved-in-part KIND test_delegate_link FILE delegation/perform.c
	REMOVES "a property comes with all of its bytes"
	TEXT [[
	if (args.id == 0 || (bytes != type->bytes && (bytes != 0 || moved)))
]]
	REPLACEMENT [[
	if (args.id == 0 || (bytes != type->bytes && bytes != 0))
]])

mutant(NAME delegate-mover-of-the-old-place KIND test_delegate_killed FILE delegation/move.c
	REMOVES "the handle that the mover gets is counted as the mover's"
	TEXT [[
	given = wh_make_handle(me, property->to, name, args.id, args.mover);
]]
	REPLACEMENT [[
	given = wh_make_handle(me, property->to, name, args.id, me->work->node);
]])

mutant(NAME delegate-sent-on-short KIND test_delegate_moves FILE delegation/move.c
	REMOVES "what is sent on to another node may have a result of any length"
	TEXT [[
		ticket.result_bytes = wh_result_bytes(&me->work->table.known[record->function]);
]]
	REPLACEMENT [[
		ticket.result_bytes = me->work->table.known[record->function].result_bytes;
]])

mutant(NAME delegate-move-not-undone KIND test_delegate_moves FILE delegation/answer.c
	REMOVES "the handle of a move that was not waited for is given back where it was made"
	TEXT [[
		if (place.id != id || wh_trustee_of(channel->client->work, &there, &trustee) != WHORL_OK)
			return;
]]
	REPLACEMENT [[
		if (place.id != id || place.node != channel->client->work->node ||
		    wh_trustee_of(channel->client->work, &there, &trustee) != WHORL_OK)
			return;
]])

mutant(NAME delegate-way-never-shorter KIND test_delegate_trusts FILE delegation/move.c
	REMOVES "a place that is left tells those that send on to it"
	TEXT [[
	wh_follow_tell(me, property, later->record.property);
]]
	REPLACEMENT [[
]])

mutant(NAME delegate-shortcut-overtakes KIND test_delegate_trusts FILE delegation/follow.c
	REMOVES "calls wait while their way becomes shorter"
	TEXT [[
	property->state = WH_PROPERTY_MOVING;
	if (ask(me, property, later) == WHORL_OK)
]]
	REPLACEMENT [[
	if (ask(me, property, later) == WHORL_OK)
]])

mutant(NAME delegate-moved-on-meanwhile KIND test_delegate_trusts FILE delegation/follow.c
	REMOVES "one that moves on while it is asked for is asked for again"
	TEXT [[
		property->has_moved_on = true;
]]
	REPLACEMENT [[
		property->has_moved_on = false;
]])
