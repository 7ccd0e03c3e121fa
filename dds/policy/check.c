/* check.c - which policies contradict each other, or what a topic promises. */
#include <inttypes.h>
#include <stdarg.h>

#include "base/text.h"
#include "dds/policy/policy_int.h"

#define REFUSE(result, id, ...) wh_dds_refuse(blame, WHORL_DDS_RETCODE_##result, WHORL_DDS_POLICY_##id, __VA_ARGS__)

static enum whorl_result code_of(whorl_dds_return result)
{
	switch (result) {
	case WHORL_DDS_RETCODE_UNSUPPORTED:
		return WHORL_UNSUPPORTED;
	case WHORL_DDS_RETCODE_BAD_PARAMETER:
		return WHORL_INVALID;
	default:
		return WHORL_CONFIG;
	}
}

whorl_dds_return wh_dds_refuse(const struct wh_dds_blame *blame, whorl_dds_return result, enum whorl_dds_policy_id id,
			       const char *format, ...)
{
	char text[256] = "";
	va_list arguments;

	va_start(arguments, format);
	wh_text_vadd(text, sizeof(text), format, arguments);
	va_end(arguments);
	wh_error_set(blame->err, code_of(result), "%s: %s", wh_dds_policy_name(id), text);
	if (blame->which != NULL)
		*blame->which = id;
	return result;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------------- */

static whorl_dds_return check_ranges(const struct wh_dds_policies *policies, const struct wh_dds_blame *blame)
{
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];
		const struct wh_dds_octets *octets = wh_dds_field_bytes(policies, field);
		bool good = wh_dds_field_has_bytes(field)
				    ? wh_dds_field_allows_bytes(field, octets->bytes, octets->count)
				    : wh_dds_field_allows(field, wh_dds_field_load(policies, field));
		char expected[128];

		if (good)
			continue;
		wh_dds_field_expected(field, expected, sizeof(expected));
		return wh_dds_refuse(blame, WHORL_DDS_RETCODE_BAD_PARAMETER, field->policy,
				     "%s is out of its range, expected %s", field->key, expected);
	}
	return WHORL_DDS_RETCODE_OK;
}

/* ---- contradictions ------------------------------------------------------------------------------------------------------ */

static bool is_limited(int32_t limit)
{
	return limit != WHORL_DDS_UNLIMITED;
}

/* A depth, and the limits beside it. */
static whorl_dds_return check_room(const struct wh_dds_history *history, const struct wh_dds_limits *limits,
				   enum whorl_dds_policy_id of_history, enum whorl_dds_policy_id of_limits,
				   const struct wh_dds_blame *blame)
{
	int32_t each = limits->samples_per_instance;

	if (is_limited(limits->samples) && is_limited(each) && limits->samples < each)
		return wh_dds_refuse(blame, WHORL_DDS_RETCODE_INCONSISTENT_POLICY, of_limits,
				     "samples (%" PRId32 ") is less than samples_per_instance (%" PRId32 ")",
				     limits->samples, each);
	if (history->kind == WHORL_DDS_HISTORY_KEEP_LAST && is_limited(each) && history->depth > each)
		return wh_dds_refuse(blame, WHORL_DDS_RETCODE_INCONSISTENT_POLICY, of_history,
				     "keeps %" PRId32 " of an instance, but samples_per_instance is %" PRId32,
				     history->depth, each);
	return WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return check_contradictions(const struct wh_dds_policies *policies, const struct wh_dds_blame *blame)
{
	whorl_dds_return result = check_room(&policies->history, &policies->limits, WHORL_DDS_POLICY_HISTORY,
					     WHORL_DDS_POLICY_RESOURCE_LIMITS, blame);

	if (result == WHORL_DDS_RETCODE_OK && wh_dds_policies_has(policies, WHORL_DDS_POLICY_DURABILITY_SERVICE))
		result = check_room(&policies->service.history, &policies->service.limits,
				    WHORL_DDS_POLICY_DURABILITY_SERVICE, WHORL_DDS_POLICY_DURABILITY_SERVICE, blame);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (policies->separation_ns > policies->deadline_ns)
		return REFUSE(INCONSISTENT_POLICY, TIME_BASED_FILTER,
			      "samples that are further apart than the deadline would always miss it");
	return WHORL_DDS_RETCODE_OK;
}

/* ---- what is not there ---------------------------------------------------------------------------------------------------- */

static whorl_dds_return check_supported(const struct wh_dds_policies *policies, const struct wh_dds_blame *blame)
{
	if (!policies->autoenable)
		return REFUSE(UNSUPPORTED, ENTITY_FACTORY, "entities are enabled when they are created");
	return WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return suit_unordered(const struct wh_dds_policies *policies, const struct wh_dds_blame *blame)
{
	if (policies->durability != WHORL_DDS_DURABILITY_VOLATILE)
		return REFUSE(UNSUPPORTED, DURABILITY, "a topic that is unordered keeps no history");
	if (policies->ownership == WHORL_DDS_OWNERSHIP_EXCLUSIVE)
		return REFUSE(UNSUPPORTED, OWNERSHIP,
			      "without an order of the topic its readers have no owner in common");
	if (policies->presentation.coherent)
		return REFUSE(UNSUPPORTED, PRESENTATION, "a topic that is unordered has no coherent sets");
	if (policies->presentation.ordered && policies->presentation.scope != WHORL_DDS_PRESENTATION_INSTANCE)
		return REFUSE(UNSUPPORTED, PRESENTATION, "a topic that is unordered has no order to present");
	return WHORL_DDS_RETCODE_OK;
}

enum whorl_dds_consistency_kind wh_dds_consistency(const struct wh_dds_policies *topic)
{
	if (wh_dds_policies_has(topic, WHORL_DDS_POLICY_CONSISTENCY))
		return topic->consistency;
	switch (topic->durability) {
	case WHORL_DDS_DURABILITY_VOLATILE:
		return WHORL_DDS_CONSISTENCY_ATOMIC;
	case WHORL_DDS_DURABILITY_PERSISTENT:
		return WHORL_DDS_CONSISTENCY_LOGGED;
	default:
		return WHORL_DDS_CONSISTENCY_STORED;
	}
}

whorl_dds_return wh_dds_policies_suit(const struct wh_dds_policies *endpoint, enum whorl_dds_consistency_kind topic,
				      enum whorl_dds_policy_id *which, struct wh_error *err)
{
	const struct wh_dds_blame *blame = &(struct wh_dds_blame){which, err};

	switch (topic) {
	case WHORL_DDS_CONSISTENCY_UNORDERED:
		return suit_unordered(endpoint, blame);
	case WHORL_DDS_CONSISTENCY_ATOMIC:
		if (endpoint->durability != WHORL_DDS_DURABILITY_VOLATILE)
			return REFUSE(
				INCONSISTENT_POLICY, DURABILITY,
				"the topic is atomic and keeps no history: its consistency, or its durability, must say so");
		return WHORL_DDS_RETCODE_OK;
	case WHORL_DDS_CONSISTENCY_STORED:
		if (endpoint->durability == WHORL_DDS_DURABILITY_PERSISTENT)
			return REFUSE(
				INCONSISTENT_POLICY, DURABILITY,
				"the topic is stored in memory alone: its consistency, or its durability, must say that it is logged");
		return WHORL_DDS_RETCODE_OK;
	default: /* logged: it keeps as much as a writer can offer */
		return WHORL_DDS_RETCODE_OK;
	}
}

whorl_dds_return wh_dds_policies_check(const struct wh_dds_policies *policies, enum wh_dds_kind kind,
				       enum whorl_dds_policy_id *which, struct wh_error *err)
{
	const struct wh_dds_blame *blame = &(struct wh_dds_blame){which, err};
	whorl_dds_return result = check_ranges(policies, blame);

	if (result == WHORL_DDS_RETCODE_OK)
		result = check_contradictions(policies, blame);
	if (result == WHORL_DDS_RETCODE_OK)
		result = check_supported(policies, blame);
	if (result == WHORL_DDS_RETCODE_OK && kind == WH_DDS_TOPIC)
		result = wh_dds_policies_suit(policies, wh_dds_consistency(policies), which, err);
	return result;
}

void wh_dds_policies_kept(const struct wh_dds_policies *policies, struct wh_dds_history *history,
			  struct wh_dds_limits *limits)
{
	bool service = wh_dds_policies_has(policies, WHORL_DDS_POLICY_DURABILITY_SERVICE);

	*history = service ? policies->service.history : policies->history;
	*limits = service ? policies->service.limits : policies->limits;
}
