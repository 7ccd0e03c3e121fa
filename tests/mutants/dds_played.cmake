# dds_played.cmake - rules of participants (docs/decisions/0052), taken out one at a time; sim-topics must notice. See mutants.cmake.

mutant(NAME topics-view-at-once KIND sim-topics RUNS 300 FILE dds/line.c
	REMOVES "a view waits for messages of views before it"
	TEXT [[
	if (line->views != NULL && is_clear(line))
]]
	REPLACEMENT [[
	if (line->views != NULL && (is_clear(line) || line->views->number > 0))
]])

mutant(NAME topics-view-after-message KIND sim-topics RUNS 300 FILE dds/line.c
	REMOVES "a view holds before the first message of it"
	TEXT [[
	apply_views(line, message->view);
]]
	REPLACEMENT [[
	if (message->view > 0)
		apply_views(line, message->view - 1);
]])

mutant(NAME topics-views-left KIND sim-topics RUNS 300 FILE dds/line.c
	REMOVES "a view that is clear holds without a message"
	TEXT [[
	if (line->views != NULL && is_clear(line))
		apply_views(line, UINT64_MAX);
]]
	REPLACEMENT [[
	if (line->views != NULL && is_clear(line) && line->node == NULL)
		apply_views(line, UINT64_MAX);
]])

mutant(NAME topics-full-not-refused KIND sim-topics RUNS 300 FILE dds/deliver.c
	REMOVES "a sample for which a reader has no room is refused"
	TEXT [[
	return full;
}

/* ---- statuses
]]
	REPLACEMENT [[
	return false;
}

/* ---- statuses
]])

mutant(NAME topics-end-is-lost KIND sim-topics RUNS 300 FILE dds/cache/cache.c
	REMOVES "that an instance has ended is kept beyond the limits"
	TEXT [[
	if (verdict == INSERT && !is_kept_anyway(instance, arrival))
]]
	REPLACEMENT [[
	if (verdict == INSERT && (!is_kept_anyway(instance, arrival) || now_ns > 0))
]])

mutant(NAME topics-end-unsaid KIND sim-topics RUNS 300 FILE dds/endpoint.c
	REMOVES "the end of a writer is said"
	TEXT [[
	say_end(end);
]]
	REPLACEMENT [[
	if (end->base.entity.kind == WH_DDS_READER)
		say_end(end);
]])

mutant(NAME topics-unmatch-untold KIND sim-topics RUNS 300 FILE dds/deliver.c
	REMOVES "a reader is told of a writer's end"
	TEXT [[
	case WH_DDS_UNMATCH:
		change_matched(event, event->what == WH_DDS_MATCH ? 1 : -1);
]]
	REPLACEMENT [[
		change_matched(event, 1);
		break;
	case WH_DDS_UNMATCH:
]])

mutant(NAME topics-key-unkept KIND sim-topics RUNS 300 FILE dds/deliver.c
	REMOVES "the end of an instance has its key"
	TEXT [[
		wh_dds_type_from_key(type, sample->key, copy->data);
	else if (known != NULL)
]]
	REPLACEMENT [[
		(void)known;
	else if (known != NULL)
]])
