# dds_policy.cmake - rules of topics' policies, types and handles, taken out one at a time (docs/decisions/0052). See mutants.cmake.

# ---- policies ----

mutant(NAME dds-merge-over KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "what an endpoint sets itself is not taken from its topic"
	TEXT [[
from->set & ~to->set & mask
]]
	REPLACEMENT [[
from->set & mask
]])

mutant(NAME dds-part-is-all KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "a policy that is set in part leaves the other part to what it would be"
	TEXT [[
			policies->lacks |= wh_dds_field_bit(&wh_dds_fields[i]);
]]
	REPLACEMENT [[
			policies->lacks |= 0;
]])

mutant(NAME dds-part-not-filled KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "what an endpoint sets in part has the other part of its topic"
	TEXT [[
	bool merged = fill_in(to, from, mask) &&
]]
	REPLACEMENT [[
	bool merged =
]])

mutant(NAME dds-part-said-whole KIND test_dds_policy FILE dds/policy/bytes.c
	REMOVES "a part of a policy that was not set is not said"
	TEXT [[
	if (wh_dds_field_is_lacking(policies, field)) {
]]
	REPLACEMENT [[
	if (policies == NULL) {
]])

mutant(NAME dds-merge-all KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "an entity passes over the policies that it does not have"
	TEXT [[
	return mask & wh_dds_policies_of(of);
]]
	REPLACEMENT [[
	return mask | wh_dds_policies_of(of);
]])

mutant(NAME dds-merge-apart KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "a publisher's policies reach its writers"
	TEXT [[
			if (wh_dds_policy_rows[i].reaches)
]]
	REPLACEMENT [[
			if (wh_dds_policy_rows[i].reaches && kind == WH_DDS_TOPIC)
]])

mutant(NAME dds-change-fixed KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "a policy that is fixed does not change"
	TEXT [[
	if (fixed != 0)
]]
	REPLACEMENT [[
	if (fixed != 0 && fixed == UINT64_MAX)
]])

mutant(NAME dds-change-same KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "a fixed policy may be set to the value that it has"
	TEXT [[
	fixed = differing(now, wanted) & mask;
]]
	REPLACEMENT [[
	fixed = differing(now, wanted) | mask;
]])

mutant(NAME dds-change-unchecked KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "what is changed must fit the rest"
	TEXT [[
	result = copy_policies(&then, wanted, mask) ? wh_dds_policies_check(&then, kind, which, err)
]]
	REPLACEMENT [[
	result = copy_policies(&then, wanted, mask) ? WHORL_DDS_RETCODE_OK
]])

mutant(NAME dds-match-less KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "an offered deadline is no longer than the requested one"
	TEXT [[
		return offered <= requested;
]]
	REPLACEMENT [[
		return true;
]])

mutant(NAME dds-match-alike KIND test_dds_policy FILE dds/policy/policy.c
	REMOVES "ownership is the same at both"
	TEXT [[
		return offered == requested;
]]
	REPLACEMENT [[
		return offered >= requested;
]])

mutant(NAME dds-service-unset KIND test_dds_policy FILE dds/policy/check.c
	REMOVES "without DURABILITY_SERVICE the history is the topic's"
	TEXT [[
	*history = service ? policies->service.history : policies->history;
]]
	REPLACEMENT [[
	*history = service || policies->set != 0 ? policies->service.history : policies->history;
]])

mutant(NAME dds-stored-unset KIND test_dds_policy FILE dds/policy/check.c
	REMOVES "without CONSISTENCY a topic is what its DURABILITY needs"
	TEXT [[
		return WHORL_DDS_CONSISTENCY_STORED;
]]
	REPLACEMENT [[
		return WHORL_DDS_CONSISTENCY_ATOMIC;
]])

mutant(NAME dds-atomic-kept KIND test_dds_policy FILE dds/policy/check.c
	REMOVES "durability on an atomic topic is refused, and not served with nothing"
	TEXT [[
		if (endpoint->durability != WHORL_DDS_DURABILITY_VOLATILE)
]]
	REPLACEMENT [[
		if (endpoint->durability > WHORL_DDS_DURABILITY_PERSISTENT)
]])

mutant(NAME dds-unordered-owner KIND test_dds_policy FILE dds/policy/check.c
	REMOVES "an unordered topic has no owners"
	TEXT [[
	if (policies->ownership == WHORL_DDS_OWNERSHIP_EXCLUSIVE)
]]
	REPLACEMENT [[
	if (policies->ownership > WHORL_DDS_OWNERSHIP_EXCLUSIVE)
]])

mutant(NAME dds-persistent-stored KIND test_dds_policy FILE dds/policy/check.c
	REMOVES "what is to outlive all programs is refused on a topic that lies in memory alone"
	TEXT [[
		if (endpoint->durability == WHORL_DDS_DURABILITY_PERSISTENT)
]]
	REPLACEMENT [[
		if (endpoint->durability > WHORL_DDS_DURABILITY_PERSISTENT)
]])

mutant(NAME dds-bytes-twice KIND test_dds_policy FILE dds/policy/bytes.c
	REMOVES "policies as bytes ascend"
	TEXT [[
		if (id > last && id < 64 &&
]]
	REPLACEMENT [[
		if (id < 64 &&
]])

mutant(NAME dds-bytes-range KIND test_dds_policy FILE dds/policy/bytes.c
	REMOVES "a value out of its range is refused"
	TEXT [[
	in->ok = in->ok && wh_dds_field_allows(field, value);
]]
	REPLACEMENT [[
	in->ok = in->ok && value < INT64_MAX;
]])

mutant(NAME dds-patterns-meet KIND test_dds_policy FILE dds/policy/pattern.c
	REMOVES "two patterns never match"
	TEXT [[
	if (pattern_a && pattern_b)
		return false;
]]
	REPLACEMENT [[
	if (pattern_a && pattern_b && a[0] == '\0')
		return false;
]])

mutant(NAME dds-pattern-back KIND test_dds_policy FILE dds/policy/pattern.c
	REMOVES "behind a * every place is tried"
	TEXT [[
			name = ++tried;
]]
	REPLACEMENT [[
			name++;
]])

mutant(NAME dds-text-twice KIND test_dds_policy FILE dds/policy/text.c
	REMOVES "a policy is set once in a text"
	TEXT [[
	reader->seen |= bit;
]]
	REPLACEMENT [[
	reader->seen |= 0;
]])

mutant(NAME dds-text-half KIND test_dds_policy FILE dds/policy/text.c
	REMOVES "of a text with a mistake nothing is set"
	TEXT [[
	if (result != WHORL_DDS_RETCODE_OK) {
		wh_dds_policies_free(&then);
		return result;
	}
	wh_dds_policies_free(policies);
	*policies = then;
	return WHORL_DDS_RETCODE_OK;
]]
	REPLACEMENT [[
	wh_dds_policies_free(policies);
	*policies = then;
	return result;
]])

# ---- types ----

mutant(NAME dds-type-pointer KIND test_dds_type FILE dds/type/type.c
	REMOVES "a sample has no pointers"
	TEXT [[
	if (field->kind == WHORL_DDS_FIELD_POINTER)
]]
	REPLACEMENT [[
	if (field->kind == WHORL_DDS_FIELD_POINTER && field->count == 0)
]])

mutant(NAME dds-type-bounds KIND test_dds_type FILE dds/type/type.c
	REMOVES "fields lie in the sample"
	TEXT [[
	if (field->count == 0 || bytes > type->bytes || field->offset > type->bytes - bytes)
]]
	REPLACEMENT [[
	if (field->count == 0 || bytes > type->bytes)
]])

mutant(NAME dds-type-hash KIND test_dds_type FILE dds/type/type.c
	REMOVES "types with other fields have other hashes"
	TEXT [[
	nameless.name = "";
]]
	REPLACEMENT [[
	nameless.name = "";
	nameless.field_count = 0;
]])

mutant(NAME dds-type-nameless KIND test_dds_registry FILE dds/channel/registry.c
	REMOVES "a type without a name goes with any"
	TEXT [[
	return strcmp(one, other) == 0 || strcmp(one, WH_DDS_NAMELESS) == 0 || strcmp(other, WH_DDS_NAMELESS) == 0;
]]
	REPLACEMENT [[
	return strcmp(one, other) == 0;
]])

mutant(NAME dds-key-text KIND test_dds_type FILE dds/type/type.c
	REMOVES "what is behind the end of a text is no part of a key"
	TEXT [[
		size_t bytes = is_text(type, part) ? strnlen(from, part->bytes) : part->bytes;
]]
	REPLACEMENT [[
		size_t bytes = is_text(type, part) && from[0] == '\0' ? 0 : part->bytes;
]])

mutant(NAME dds-key-part KIND test_dds_type FILE dds/type/type.c
	REMOVES "of a long key every byte counts"
	TEXT [[
	for (size_t at = 0; at < count; at += 8) {
]]
	REPLACEMENT [[
	for (size_t at = 0; at < count; at += 16) {
]])

mutant(NAME dds-type-tail KIND test_dds_type FILE dds/type/decode.c
	REMOVES "bytes that are a type are nothing more"
	TEXT [[
	if (wh_dds_in_end(in) == WHORL_OK)
]]
	REPLACEMENT [[
	if (in->ok)
]])

mutant(NAME dds-json-range KIND test_dds_type FILE dds/type/json.c
	REMOVES "a number fits its field"
	TEXT [[
	if (overflow || (negative && !is_signed && value > 0) || value > most + (negative && is_signed))
]]
	REPLACEMENT [[
	if (overflow || (negative && !is_signed && value > 0))
]])

# ---- handles ----

mutant(NAME dds-handle-deleted KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "what was deleted cannot be got, though it is still held"
	TEXT [[
		if (turn < word >> TURN_SHIFT || (word & DELETED) != 0)
]]
	REPLACEMENT [[
		if (turn < word >> TURN_SHIFT || (word & HOLDERS) == 0)
]])

mutant(NAME dds-peek-deleted KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "what was deleted is not seen without holding it either"
	TEXT [[
	if (place == NULL || (word & ~HOLDERS) != turn << TURN_SHIFT)
]]
	REPLACEMENT [[
	if (place == NULL || (word & ~(HOLDERS | DELETED)) != turn << TURN_SHIFT)
]])

mutant(NAME dds-peek-not-awaited KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "nothing is closed while a thread sees it without holding it"
	TEXT [[
	wh_dds_table_await_peeks(table);
	pthread_mutex_lock(&table->lock);
]]
	REPLACEMENT [[
	pthread_mutex_lock(&table->lock);
]])

mutant(NAME dds-peek-behind-child KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "nor is a parent, by the thread that has closed its last child"
	TEXT [[
		mine = entity->left && entity->first == NULL && !entity->closing;
]]
	REPLACEMENT [[
		mine = entity->deleted && entity->first == NULL && !entity->closing;
]])

mutant(NAME dds-closed-while-made KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "what another thread still makes is not closed"
	TEXT [[
		bool leaves = !at->making && !at->left && at->ops->leave != NULL;

		at->left = !at->making;
]]
	REPLACEMENT [[
		bool leaves = !at->left && at->ops->leave != NULL;

		at->left = true;
]])

mutant(NAME dds-made-and-not-closed KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "it is closed when it is made"
	TEXT [[
	entity->making = false;
	deleted = entity->deleted;
]]
	REPLACEMENT [[
	entity->making = false;
	deleted = false;
]])

mutant(NAME dds-handle-turn KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "a handle of an earlier use of a place is none of the present one"
	TEXT [[
		if (turn < word >> TURN_SHIFT || (word & DELETED) != 0)
]]
	REPLACEMENT [[
		if ((word & DELETED) != 0)
]])

mutant(NAME dds-handle-again KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "a place that has had all its turns is used no more"
	TEXT [[
	if (wh_load_relaxed(&place->word) >> TURN_SHIFT >= TURNS_MAX)
		return;
]]
	REPLACEMENT [[
	if (wh_load_relaxed(&place->word) >> TURN_SHIFT >= TURNS_MAX)
		wh_store_relaxed(&place->word, 0);
]])

mutant(NAME dds-parent-first KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "children are closed before their parents"
	TEXT [[
		mine = entity->left && entity->first == NULL && !entity->closing;
]]
	REPLACEMENT [[
		mine = entity->left && !entity->closing;
]]
	TEXT_2 [[
		if (at->first == NULL && at->left && !at->closing)
]]
	REPLACEMENT_2 [[
		if (at->left && !at->closing)
]])

mutant(NAME dds-closed-twice KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "one thread closes an entity"
	TEXT [[
		entity->closing = entity->closing || mine;
]]
	REPLACEMENT [[
		entity->closing = entity->closing || (mine && entity->parent == NULL);
]])

mutant(NAME dds-left-open KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "the thread that has closed the last child goes on with the parent"
	TEXT [[
			parent = entity->parent;
			if (parent != NULL)
				wh_dds_entity_hold(parent);
]]
	REPLACEMENT [[
]])

mutant(NAME dds-parent-unheld KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "a parent is there as long as a child is held"
	TEXT [[
	if (parent != NULL)
		wh_dds_entity_hold(parent);
	link_entity(entity);
]]
	REPLACEMENT [[
	link_entity(entity);
]]
	TEXT_2 [[
		entity = parent; /* it was held with it */
]]
	REPLACEMENT_2 [[
		entity = parent == entity ? parent : NULL;
]])

mutant(NAME dds-below-deleted KIND test_dds_entity FILE dds/entity/entity.c
	REMOVES "nothing is created below what is deleted"
	TEXT [[
	if (parent != NULL && parent->deleted)
]]
	REPLACEMENT [[
	if (parent != NULL && parent->handle == 0)
]])
