# ddsc_api.cmake - what libwhorl_ddsc does with entities, samples and loans, taken out one rule at a time. See mutants.cmake.

mutant(NAME ddsc-children-stay KIND test_ddsc_api FILE ddsc/entry.c
	REMOVES "what is known of children goes with their parent"
	TEXT [[
		if (is_dead(family.all[i]))
			drop(family.all[i], &dropped);
]]
	REPLACEMENT [[
		if (is_dead(family.all[i]) && i == 0)
			drop(family.all[i], &dropped);
]])

mutant(NAME ddsc-lent-is-not-given-back KIND test_ddsc_api FILE ddsc/read.c
	REMOVES "what was lent and is read into again is given back"
	TEXT [[
	bool lends = wanted->data[0] == NULL || give_back(home, wanted->data[0]);
]]
	REPLACEMENT [[
	bool lends = wanted->data[0] == NULL;
]])

mutant(NAME ddsc-head-without-zeros KIND test_ddsc_api FILE ddsc/kind.c
	REMOVES "behind a key its head is zero"
	TEXT [[
	memset(head + bytes, 0, kind->head_bytes - bytes);
]]
	REPLACEMENT [[
	memset(head + bytes, (int)((uintptr_t)sample >> 4) & 255, kind->head_bytes - bytes);
]])

mutant(NAME ddsc-wrong-value-is-forgotten KIND test_ddsc_api FILE ddsc/qos.c
	REMOVES "a value out of its range is refused when an entity is created with it"
	TEXT [[
	if (qos->is_wrong)
]]
	REPLACEMENT [[
	if (qos->is_wrong && result == NULL)
]])
