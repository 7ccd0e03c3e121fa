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

mutant(NAME ddsc-topics-are-atomic KIND test_ddsc_api FILE ddsc/kept.c
	REMOVES "a topic may keep what its writers ask for, whatever it was created with"
	TEXT [[
		(void)whorl_dds_qset_consistency(qos, WHORL_DDS_CONSISTENCY_STORED);
]]
	REPLACEMENT [[
		(void)whorl_dds_qset_consistency(qos, WHORL_DDS_CONSISTENCY_ATOMIC);
]])

mutant(NAME ddsc-kept-is-not-theirs KIND test_ddsc_api FILE ddsc/kept.c
	REMOVES "a topic that a native program has registered is joined as it is"
	TEXT [[
		take_over(qos, theirs);
]]
	REPLACEMENT [[
		(void)whorl_dds_qset_consistency(qos, WHORL_DDS_CONSISTENCY_STORED);
]])

mutant(NAME dds-fields-must-agree KIND test_ddsc_api FILE dds/agree.c
	REMOVES "one of two programs may describe the fields of the same struct"
	TEXT [[
		type->hash = named->type_hash;
]]
	REPLACEMENT [[
		type->hash = named->type_hash + 1;
]])

mutant(NAME dds-any-size-agrees KIND test_ddsc_api FILE dds/agree.c
	REMOVES "a struct of another size is another type"
	TEXT [[
	if (one->bytes != other->bytes || one->align != other->align || one->flags != other->flags ||
]]
	REPLACEMENT [[
	if (one->align != other->align || one->flags != other->flags ||
]])

mutant(NAME dds-unsaid-is-atomic KIND test_ddsc_api FILE dds/agree.c
	REMOVES "a topic of which nothing is said is stored where others have it so"
	TEXT [[
		changed = agree_consistency(&topic->base.policies, &named->policies);
]]
	REPLACEMENT [[
		changed = false;
]])

mutant(NAME dds-volatile-is-unsaid KIND test_dds_agree FILE dds/agree.c
	REMOVES "a topic that says how durable it is says it"
	TEXT [[
	    wh_dds_policies_has(policies, WHORL_DDS_POLICY_DURABILITY) ||
]]
	REPLACEMENT [[
]])

mutant(NAME dds-keeps-as-others KIND test_dds_agree FILE dds/agree.c
	REMOVES "a topic that says how much is kept says it"
	TEXT [[
	if (wh_dds_policies_has(policies, WHORL_DDS_POLICY_DURABILITY_SERVICE))
		return true;
]]
	REPLACEMENT [[
]])

mutant(NAME ddsc-key-is-not-freed KIND test_ddsc_api FILE ddsc/memory.c
	REMOVES "what a key points to is freed alone"
	TEXT [[
		wh_ddsc_key_release(type, sample);
]]
	REPLACEMENT [[
		wh_ddsc_sample_release(type, sample);
]])
