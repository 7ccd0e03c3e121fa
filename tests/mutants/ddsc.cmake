# ddsc.cmake - checks of types as idlc describes them, and of their samples, taken out one at a time. See mutants.cmake.

mutant(NAME ddsc-sequence-bound KIND test_ddsc_type FILE ddsc/type/read.c
	REMOVES "a sequence that is read is held against its bound"
	TEXT [[
	if (count > step->count)
		return refuse(reading, step, "is longer than its bound");
]]
	REPLACEMENT [[
	;
]])

mutant(NAME ddsc-length-believed KIND test_ddsc_type FILE ddsc/type/read.c
	REMOVES "a length is held against what is left before there is memory for it"
	TEXT [[
	return count <= (reading->end - reading->at) / least ||
]]
	REPLACEMENT [[
	return least > 0 ||
]])

mutant(NAME ddsc-string-end KIND test_ddsc_type FILE ddsc/type/read.c
	REMOVES "a string ends with a zero"
	TEXT [[
text[*bytes - 1] != '\0')
]]
	REPLACEMENT [[
false)
]])

mutant(NAME ddsc-length-of-struct KIND test_ddsc_type FILE ddsc/type/read.c
	REMOVES "a struct that has a length ends with it"
	TEXT [[
	reading->end = reading->at + bytes;
]]
	REPLACEMENT [[
	;
]])

mutant(NAME ddsc-length-of-elements KIND test_ddsc_type FILE ddsc/type/read.c
	REMOVES "elements are as long as the length of all says"
	TEXT [[
step->what != WH_DDSC_DELIMIT && reading->at != reading->end)
]]
	REPLACEMENT [[
false)
]])

mutant(NAME ddsc-text-bound KIND test_ddsc_type FILE ddsc/type/read.c
	REMOVES "a bounded string that is read is held against its bound"
	TEXT [[
	if (bytes > step->bytes)
		return
]]
	REPLACEMENT [[
	if (bytes > step->bytes + 1)
		return
]])

mutant(NAME ddsc-missing KIND test_ddsc_type FILE ddsc/type/read.c
	REMOVES "what an older sample does not have is empty"
	TEXT [[
		if (steps[i].may_be_missing && reading->at == reading->end)
]]
	REPLACEMENT [[
		if (false)
]])

mutant(NAME ddsc-swap KIND test_ddsc_type FILE ddsc/type/read.c
	REMOVES "numbers of the other byte order are turned"
	TEXT [[
	if (reading->swap && width > 1)
]]
	REPLACEMENT [[
	if (false)
]])

mutant(NAME ddsc-apart KIND test_ddsc_type FILE ddsc/type/sample.c
	REMOVES "a sample that ends within what is copied as one is read member by member"
	TEXT [[
(big_endian || !type->shape.is_final)
]]
	REPLACEMENT [[
big_endian
]])

mutant(NAME ddsc-enum KIND test_ddsc_type FILE ddsc/type/check.c
	REMOVES "an enum is held against its largest value"
	TEXT [[
	return value > most ?
]]
	REPLACEMENT [[
	return value > most + 1 ?
]])

mutant(NAME ddsc-bool KIND test_ddsc_type FILE ddsc/type/check.c
	REMOVES "a boolean is 0 or 1"
	TEXT [[
	return all > 1 ?
]]
	REPLACEMENT [[
	return all > 3 ?
]])

mutant(NAME ddsc-bits KIND test_ddsc_type FILE ddsc/type/check.c
	REMOVES "a bitmask has no other bits"
	TEXT [[
(value & ~step->most) != 0
]]
	REPLACEMENT [[
false
]])

mutant(NAME ddsc-padding KIND test_ddsc_type FILE ddsc/type/write.c
	REMOVES "padding is zero"
	TEXT [[
		at[i] = 0;
]]
	REPLACEMENT [[
		;
]])

mutant(NAME ddsc-room KIND test_ddsc_type FILE ddsc/type/write.c
	REMOVES "nothing is written behind the room"
	TEXT [[
bytes > writing->room - writing->at - pad)
]]
	REPLACEMENT [[
false)
]])

mutant(NAME ddsc-text-beyond-room KIND test_ddsc_type FILE ddsc/type/write.c
	REMOVES "of a text no more is looked at than has room"
	TEXT [[
		length = strnlen(at, writing->room - writing->at);
]]
	REPLACEMENT [[
		length = strlen(at);
]])

mutant(NAME ddsc-run-beyond-room KIND test_ddsc_type FILE ddsc/type/write.c
	REMOVES "of a sequence no more is looked at than has room"
	TEXT [[
		return put(writing, body->run, at, (size_t)step->bytes * count) &&
		       wh_ddsc_check_run(writing->program, step, at, count) == NULL;
]]
	REPLACEMENT [[
		return wh_ddsc_check_run(writing->program, step, at, count) == NULL &&
		       put(writing, body->run, at, (size_t)step->bytes * count);
]])

mutant(NAME ddsc-own-buffer KIND test_ddsc_type FILE ddsc/type/release.c
	REMOVES "a buffer of the program's own is not freed"
	TEXT [[
	if (sequence.release && sequence.buffer != NULL) {
]]
	REPLACEMENT [[
	if (sequence.buffer != NULL) {
]])

mutant(NAME ddsc-unkept KIND test_ddsc_type_random FILE ddsc/type/read.c
	REMOVES "elements that are new are zero before they are read into"
	TEXT [[
		memset(buffer + (size_t)kept * step->bytes, 0,
]]
	REPLACEMENT [[
		memset(buffer + (size_t)kept * step->bytes, 1,
]])

mutant(NAME ddsc-position KIND test_ddsc_type FILE ddsc/type/program.c
	REMOVES "behind what has any length nothing is known of the position"
	TEXT [[
	making->modulus = 1;
	making->rest = 0;
]]
	REPLACEMENT [[
	;
]])

mutant(NAME ddsc-run KIND test_ddsc_type FILE ddsc/type/program.c
	REMOVES "elements are copied as one only if they lie so in CDR"
	TEXT [[
    run->bytes == element->bytes && element->bytes % run->align == 0)
]]
	REPLACEMENT [[
    run->bytes + 4 >= element->bytes)
]])

mutant(NAME ddsc-overlap KIND test_ddsc_type_descriptor FILE ddsc/type/tree.c
	REMOVES "no two members of a struct share a byte"
	TEXT [[
	if (member.offset < used ||
]]
	REPLACEMENT [[
	if (
]])

mutant(NAME ddsc-end-of-struct KIND test_ddsc_type_descriptor FILE ddsc/type/tree.c
	REMOVES "a member ends in its struct"
	TEXT [[
result == WHORL_DDS_RETCODE_OK && reading->tree->nodes[*self].bytes > room - member.offset)
]]
	REPLACEMENT [[
false)
]])

mutant(NAME ddsc-depth KIND test_ddsc_type_descriptor FILE ddsc/type/tree.c
	REMOVES "nesting is bounded"
	TEXT [[
	if (reading->depth == WH_DDSC_DEPTH_MAX)
]]
	REPLACEMENT [[
	if (reading->depth == WH_DDSC_DEPTH_MAX - 1)
]])

mutant(NAME ddsc-recursion KIND test_ddsc_type_descriptor FILE ddsc/type/tree.c
	REMOVES "a type that contains itself is not supported"
	TEXT [[
		if (reading->inside[i] == at)
]]
	REPLACEMENT [[
		if (reading->depth == 99)
]])

mutant(NAME ddsc-nodes KIND test_ddsc_type_descriptor FILE ddsc/type/tree.c
	REMOVES "a type has a bounded number of members"
	TEXT [[
	if (tree->count == WH_DDSC_NODES_MAX)
		return 0;
]]
	REPLACEMENT [[
	;
]])

mutant(NAME ddsc-jump KIND test_ddsc_type_descriptor FILE ddsc/type/words.c
	REMOVES "jumps end within the operations"
	TEXT [[
(uint64_t)to < words->count ?
]]
	REPLACEMENT [[
(uint64_t)to <= words->count ?
]])

mutant(NAME ddsc-words KIND test_ddsc_type_descriptor FILE ddsc/type/words.c
	REMOVES "an operation is all there"
	TEXT [[
	return count <= left ? count : 0;
]]
	REPLACEMENT [[
	return count;
]])

mutant(NAME ddsc-deleted-amid KIND test_ddsc_api FILE ddsc/entry.c
	REMOVES "what a listener uses is deleted when it has returned"
	TEXT [[
		(void)whorl_dds_set_listener(family.all[i], NULL);
]]
	REPLACEMENT [[
		(void)family.all[i];
]])
