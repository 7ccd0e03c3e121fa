# dds_ignore_local.cmake - what matches in one process, and a waitset as a condition, taken out one rule at a time. See mutants.cmake.

mutant(NAME dds-ignore-local-writer KIND test_dds_ignore_local FILE dds/channel/match.c
	REMOVES "a writer may refuse its own process, too"
	TEXT [[
	bool ignores = writer->policies.ignore_local != WHORL_DDS_IGNORE_LOCAL_NONE ||
]]
	REPLACEMENT [[
	bool ignores =
]])

mutant(NAME dds-ignore-local-all KIND test_dds_ignore_local FILE dds/channel/match.c
	REMOVES "samples of a process are ignored where it says so"
	TEXT [[
	return !(ignores && wh_dds_is_member(&writer->id, reader->id.node, reader->id.incarnation)) &&
]]
	REPLACEMENT [[
	return (!ignores || true) &&
]])

mutant(NAME dds-waitset-condition-stays KIND test_dds_ignore_local FILE dds/waiting.c
	REMOVES "a waitset that is deleted is at no other one any more"
	TEXT [[
	wh_dds_condition_close(&waitset->base.condition.condition);
]]
	REPLACEMENT [[
]])
