# delegation_links.cmake - trusts of other nodes (delegation/link.h), taken out one rule at a time. See mutants.cmake.

mutant(NAME delegate-any-digest KIND test_delegate_link FILE delegation/link.c
	REMOVES "nothing goes between programs that know other functions"
	TEXT [[
	if (greeting->digest != work->table.digest) {
]]
	REPLACEMENT [[
	if (0) {
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
	if (taken == WH_TAKEN && is_sound(in))
]]
	REPLACEMENT [[
	if (taken == WH_TAKEN)
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
		work = write_rest(link) + take_calls(link) + take_answers(link);
]]
	REPLACEMENT [[
		work = take_calls(link) + take_answers(link);
]])
