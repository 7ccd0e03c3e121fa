/* table.c - what policies there are, and the values of their fields. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/text.h"
#include "dds/policy/policy_int.h"

#define MS ((int64_t)WH_NS_PER_MS)
#define AT(member) offsetof(struct wh_dds_policies, member)
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

_Static_assert(sizeof(enum whorl_dds_durability_kind) == sizeof(int), "enumerations are read as int");

#define ENDPOINTS (1U << WH_DDS_WRITER | 1U << WH_DDS_READER)
#define GROUPS (1U << WH_DDS_PUBLISHER | 1U << WH_DDS_SUBSCRIBER)
#define TOPIC (1U << WH_DDS_TOPIC)
#define WRITER (1U << WH_DDS_WRITER)
#define READER (1U << WH_DDS_READER)
#define PARTICIPANT (1U << WH_DDS_PARTICIPANT)

const struct wh_dds_policy_row wh_dds_policy_rows[WH_DDS_POLICY_COUNT] = {
	{WHORL_DDS_POLICY_USER_DATA, "user_data", PARTICIPANT | ENDPOINTS, false, true,
	 "Bytes of the program's own, which the others see in the built-in topics."},
	{WHORL_DDS_POLICY_DURABILITY, "durability", TOPIC | ENDPOINTS, false, false,
	 "For how long samples are kept for late readers: not at all, while the writer lives, while a member of the channel does, on disk."},
	{WHORL_DDS_POLICY_PRESENTATION, "presentation", GROUPS, true, false,
	 "Whether sets of samples become visible at once, and in which scope readers see the order of the writers."},
	{WHORL_DDS_POLICY_DEADLINE, "deadline", TOPIC | ENDPOINTS, false, true,
	 "A sample of each instance comes at least once in this time, or both sides are told."},
	{WHORL_DDS_POLICY_LATENCY_BUDGET, "latency_budget", TOPIC | ENDPOINTS, false, true,
	 "Kept and matched; it has no effect."},
	{WHORL_DDS_POLICY_OWNERSHIP, "ownership", TOPIC | ENDPOINTS, false, false,
	 "Whether all writers of an instance are read, or the strongest alone."},
	{WHORL_DDS_POLICY_OWNERSHIP_STRENGTH, "ownership_strength", WRITER, false, true,
	 "The larger one owns an instance."},
	{WHORL_DDS_POLICY_LIVELINESS, "liveliness", TOPIC | ENDPOINTS, false, false,
	 "What says that a writer is alive: that its node is a member, or the program, at least once in each lease."},
	{WHORL_DDS_POLICY_TIME_BASED_FILTER, "time_based_filter", READER, false, true,
	 "A reader is given no more than one sample of an instance in this time."},
	{WHORL_DDS_POLICY_PARTITION, "partition", GROUPS, true, true,
	 "Writers and readers match that have a name in common; * ? [a-z] match many."},
	{WHORL_DDS_POLICY_RELIABILITY, "reliability", TOPIC | ENDPOINTS, false, false,
	 "Whether a writer waits when there is no room, at most max_blocking, or drops the sample."},
	{WHORL_DDS_POLICY_DESTINATION_ORDER, "destination_order", TOPIC | ENDPOINTS, false, false,
	 "Whether the last sample of an instance is the last in the order of the topic, or the one with the latest source time."},
	{WHORL_DDS_POLICY_HISTORY, "history", TOPIC | ENDPOINTS, false, false,
	 "How many samples of each instance are kept."},
	{WHORL_DDS_POLICY_RESOURCE_LIMITS, "resource_limits", TOPIC | ENDPOINTS, false, false,
	 "What is more than these is rejected, and counted."},
	{WHORL_DDS_POLICY_ENTITY_FACTORY, "entity_factory", PARTICIPANT | GROUPS, false, true,
	 "Entities are enabled when they are created. Only on is there."},
	{WHORL_DDS_POLICY_WRITER_DATA_LIFECYCLE, "writer_data_lifecycle", WRITER, false, true,
	 "Whether unregistering an instance disposes of it, too."},
	{WHORL_DDS_POLICY_READER_DATA_LIFECYCLE, "reader_data_lifecycle", READER, false, true,
	 "After what time a reader forgets an instance that has no writers, or was disposed of."},
	{WHORL_DDS_POLICY_TOPIC_DATA, "topic_data", TOPIC, true, true,
	 "Bytes of the program's own, which the others see in the built-in topics."},
	{WHORL_DDS_POLICY_GROUP_DATA, "group_data", GROUPS, true, true,
	 "Bytes of the program's own, which the others see in the built-in topics."},
	{WHORL_DDS_POLICY_TRANSPORT_PRIORITY, "transport_priority", TOPIC | WRITER, false, true,
	 "Kept; it has no effect."},
	{WHORL_DDS_POLICY_LIFESPAN, "lifespan", TOPIC | WRITER, false, true,
	 "How long after its source time a sample may be read."},
	{WHORL_DDS_POLICY_DURABILITY_SERVICE, "durability_service", TOPIC | WRITER, false, false,
	 "How much is kept for late readers. If it is not set: as history and resource_limits say."},
	{WHORL_DDS_POLICY_CONSISTENCY, "consistency", TOPIC, false, false,
	 "What all readers of a topic have in common: nothing; one order, all or nothing; the same and its history; the same on disk. If it "
	 "is not set: what durability needs."},
	{WHORL_DDS_POLICY_IGNORE_LOCAL, "ignore_local", ENDPOINTS, false, false,
	 "Whether a writer and a reader of one process match; either may refuse. Participants of one process and domain are one."},
};

static const char *const durabilities[] = {"volatile", "transient_local", "transient", "persistent", NULL};
static const char *const scopes[] = {"instance", "topic", "group", NULL};
static const char *const ownerships[] = {"shared", "exclusive", NULL};
static const char *const livelinesses[] = {"automatic", "manual_by_participant", "manual_by_topic", NULL};
static const char *const reliabilities[] = {"best_effort", "reliable", NULL};
static const char *const orders[] = {"reception", "source", NULL};
static const char *const locals[] = {"none", "participant", "process", NULL};
static const char *const consistencies[] = {"unordered", "atomic", "stored", "logged", NULL};

/* A field with one default, a writer's as well. */
#define FIELD(policy, kind, rule, key, main, words, member, least, fallback)                                           \
	{                                                                                                              \
		WHORL_DDS_POLICY_##policy, WH_DDS_##kind, WH_DDS_##rule, key, main, words, AT(member), least,          \
			fallback, fallback                                                                             \
	}

const struct wh_dds_field wh_dds_fields[WH_DDS_FIELD_COUNT] = {
	FIELD(USER_DATA, DATA, FREE, "value", true, NULL, user_data, 0, 0),
	FIELD(DURABILITY, WORD, MORE, "kind", true, durabilities, durability, 0, 0),
	FIELD(PRESENTATION, WORD, MORE, "scope", true, scopes, presentation.scope, 0, 0),
	FIELD(PRESENTATION, FLAG, MORE, "coherent", false, NULL, presentation.coherent, 0, 0),
	FIELD(PRESENTATION, FLAG, MORE, "ordered", false, NULL, presentation.ordered, 0, 0),
	FIELD(DEADLINE, DURATION, LESS, "period", true, NULL, deadline_ns, 1, WHORL_DDS_INFINITY),
	FIELD(LATENCY_BUDGET, DURATION, LESS, "duration", true, NULL, latency_budget_ns, 0, 0),
	FIELD(OWNERSHIP, WORD, ALIKE, "kind", true, ownerships, ownership, 0, 0),
	FIELD(OWNERSHIP_STRENGTH, NUMBER, FREE, "value", true, NULL, strength, 0, 0),
	FIELD(LIVELINESS, WORD, MORE, "kind", true, livelinesses, liveliness.kind, 0, 0),
	FIELD(LIVELINESS, DURATION, LESS, "lease", false, NULL, liveliness.lease_ns, 1, WHORL_DDS_INFINITY),
	FIELD(TIME_BASED_FILTER, DURATION, FREE, "separation", true, NULL, separation_ns, 0, 0),
	FIELD(PARTITION, NAMES, FREE, "names", true, NULL, partition, 0, 0),
	{WHORL_DDS_POLICY_RELIABILITY, WH_DDS_WORD, WH_DDS_MORE, "kind", true, reliabilities, AT(reliability.kind), 0,
	 WHORL_DDS_RELIABILITY_BEST_EFFORT, WHORL_DDS_RELIABILITY_RELIABLE},
	FIELD(RELIABILITY, DURATION, FREE, "max_blocking", false, NULL, reliability.max_blocking_ns, 0, 100 * MS),
	FIELD(DESTINATION_ORDER, WORD, MORE, "kind", true, orders, destination_order, 0, 0),
	FIELD(HISTORY, KEEP, FREE, "keep", true, NULL, history, 0, 1),
	FIELD(RESOURCE_LIMITS, LIMIT, FREE, "samples", false, NULL, limits.samples, 0, WHORL_DDS_UNLIMITED),
	FIELD(RESOURCE_LIMITS, LIMIT, FREE, "instances", false, NULL, limits.instances, 0, WHORL_DDS_UNLIMITED),
	FIELD(RESOURCE_LIMITS, LIMIT, FREE, "samples_per_instance", false, NULL, limits.samples_per_instance, 0,
	      WHORL_DDS_UNLIMITED),
	FIELD(ENTITY_FACTORY, FLAG, FREE, "autoenable", true, NULL, autoenable, 0, 1),
	FIELD(WRITER_DATA_LIFECYCLE, FLAG, FREE, "autodispose", true, NULL, autodispose, 0, 1),
	FIELD(READER_DATA_LIFECYCLE, DURATION, FREE, "no_writers", false, NULL, purge.no_writers_ns, 0,
	      WHORL_DDS_INFINITY),
	FIELD(READER_DATA_LIFECYCLE, DURATION, FREE, "disposed", false, NULL, purge.disposed_ns, 0, WHORL_DDS_INFINITY),
	FIELD(TOPIC_DATA, DATA, FREE, "value", true, NULL, topic_data, 0, 0),
	FIELD(GROUP_DATA, DATA, FREE, "value", true, NULL, group_data, 0, 0),
	FIELD(TRANSPORT_PRIORITY, NUMBER, FREE, "value", true, NULL, priority, 0, 0),
	FIELD(LIFESPAN, DURATION, FREE, "duration", true, NULL, lifespan_ns, 1, WHORL_DDS_INFINITY),
	FIELD(DURABILITY_SERVICE, KEEP, FREE, "keep", false, NULL, service.history, 0, 1),
	FIELD(DURABILITY_SERVICE, LIMIT, FREE, "samples", false, NULL, service.limits.samples, 0, WHORL_DDS_UNLIMITED),
	FIELD(DURABILITY_SERVICE, LIMIT, FREE, "instances", false, NULL, service.limits.instances, 0,
	      WHORL_DDS_UNLIMITED),
	FIELD(DURABILITY_SERVICE, LIMIT, FREE, "samples_per_instance", false, NULL, service.limits.samples_per_instance,
	      0, WHORL_DDS_UNLIMITED),
	FIELD(DURABILITY_SERVICE, DURATION, FREE, "cleanup", false, NULL, service.cleanup_ns, 0, 0),
	FIELD(CONSISTENCY, WORD, FREE, "kind", true, consistencies, consistency, 0, WHORL_DDS_CONSISTENCY_ATOMIC),
	FIELD(IGNORE_LOCAL, WORD, FREE, "kind", true, locals, ignore_local, 0, WHORL_DDS_IGNORE_LOCAL_NONE),
};

const struct wh_dds_policy_row *wh_dds_policy_row(enum whorl_dds_policy_id id)
{
	for (size_t i = 0; i < WH_DDS_POLICY_COUNT; i++)
		if (wh_dds_policy_rows[i].id == id)
			return &wh_dds_policy_rows[i];
	return NULL;
}

const char *wh_dds_policy_name(enum whorl_dds_policy_id id)
{
	const struct wh_dds_policy_row *row = wh_dds_policy_row(id);

	return row != NULL ? row->name : "invalid";
}

const char *wh_dds_consistency_name(enum whorl_dds_consistency_kind kind)
{
	return consistencies[kind];
}

uint64_t wh_dds_policies_of(enum wh_dds_kind kind)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < WH_DDS_POLICY_COUNT; i++)
		if (kind == WH_DDS_KINDS || (wh_dds_policy_rows[i].kinds >> kind & 1) != 0)
			mask |= UINT64_C(1) << wh_dds_policy_rows[i].id;
	return mask;
}

/* ---- the values of fields --------------------------------------------------------------------------------------------- */

int64_t wh_dds_field_load(const struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	const char *at = (const char *)policies + field->offset;
	struct wh_dds_history history;
	int32_t number;
	int64_t duration;
	int word;

	switch (field->kind) {
	case WH_DDS_WORD:
		memcpy(&word, at, sizeof(word));
		return word;
	case WH_DDS_FLAG:
		return *(const bool *)at;
	case WH_DDS_DURATION:
		memcpy(&duration, at, sizeof(duration));
		return duration;
	case WH_DDS_NUMBER:
	case WH_DDS_LIMIT:
		memcpy(&number, at, sizeof(number));
		return number;
	case WH_DDS_KEEP:
		memcpy(&history, at, sizeof(history));
		if (history.kind == WHORL_DDS_HISTORY_KEEP_ALL)
			return 0;
		return history.kind == WHORL_DDS_HISTORY_KEEP_LAST && history.depth >= 1 ? history.depth : -1;
	default:
		return 0;
	}
}

void wh_dds_field_store(struct wh_dds_policies *policies, const struct wh_dds_field *field, int64_t number)
{
	char *at = (char *)policies + field->offset;
	struct wh_dds_history history = {WHORL_DDS_HISTORY_KEEP_ALL, 1};

	switch (field->kind) {
	case WH_DDS_WORD:
		memcpy(at, &(int){(int)number}, sizeof(int));
		break;
	case WH_DDS_FLAG:
		*(bool *)at = number != 0;
		break;
	case WH_DDS_DURATION:
		memcpy(at, &number, sizeof(number));
		break;
	case WH_DDS_NUMBER:
	case WH_DDS_LIMIT:
		memcpy(at, &(int32_t){(int32_t)number}, sizeof(int32_t));
		break;
	case WH_DDS_KEEP:
		if (number > 0)
			history = (struct wh_dds_history){WHORL_DDS_HISTORY_KEEP_LAST, (int32_t)number};
		memcpy(at, &history, sizeof(history));
		break;
	default:
		break;
	}
}

bool wh_dds_field_allows(const struct wh_dds_field *field, int64_t number)
{
	int64_t words = 0;

	switch (field->kind) {
	case WH_DDS_WORD:
		while (field->words[words] != NULL)
			words++;
		return number >= 0 && number < words;
	case WH_DDS_FLAG:
		return number == 0 || number == 1;
	case WH_DDS_DURATION:
		return number >= field->least;
	case WH_DDS_NUMBER:
		return number >= INT32_MIN && number <= INT32_MAX;
	case WH_DDS_LIMIT:
		return number == WHORL_DDS_UNLIMITED || (number >= 1 && number <= INT32_MAX);
	case WH_DDS_KEEP:
		return number >= 0 && number <= INT32_MAX;
	default:
		return false;
	}
}

size_t wh_dds_field_size(const struct wh_dds_field *field)
{
	switch (field->kind) {
	case WH_DDS_WORD:
		return sizeof(int);
	case WH_DDS_FLAG:
		return sizeof(bool);
	case WH_DDS_DURATION:
		return sizeof(int64_t);
	case WH_DDS_NUMBER:
	case WH_DDS_LIMIT:
		return sizeof(int32_t);
	case WH_DDS_KEEP:
		return sizeof(struct wh_dds_history);
	default:
		return sizeof(struct wh_dds_octets);
	}
}

struct wh_dds_octets *wh_dds_field_octets(struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	return (struct wh_dds_octets *)(void *)((char *)policies + field->offset);
}

const struct wh_dds_octets *wh_dds_field_bytes(const struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	return (const struct wh_dds_octets *)(const void *)((const char *)policies + field->offset);
}

bool wh_dds_field_allows_bytes(const struct wh_dds_field *field, const void *bytes, size_t count)
{
	if (field->kind == WH_DDS_DATA)
		return count <= WH_DDS_DATA_BYTES;
	return count != 1 && count <= WH_DDS_PARTITION_BYTES &&
	       (count == 0 || ((const char *)bytes)[count - 1] == '\0');
}

bool wh_dds_field_replace(struct wh_dds_policies *policies, const struct wh_dds_field *field, const void *bytes,
			  size_t count)
{
	struct wh_dds_octets *octets = wh_dds_field_octets(policies, field);
	unsigned char *copy = NULL;

	if (count > 0) {
		copy = malloc(count);
		if (copy == NULL)
			return false;
		memcpy(copy, bytes, count);
	}
	free(octets->bytes);
	*octets = (struct wh_dds_octets){copy, (uint32_t)count};
	return true;
}

/* ---- words ------------------------------------------------------------------------------------------------------------ */

static void expect_words(const struct wh_dds_field *field, char *text, size_t bytes)
{
	for (size_t i = 0; field->words[i] != NULL; i++)
		wh_text_add(text, bytes, "%s%s", i == 0 ? "one of " : ", ", field->words[i]);
}

void wh_dds_field_expected(const struct wh_dds_field *field, char *text, size_t bytes)
{
	text[0] = '\0';
	switch (field->kind) {
	case WH_DDS_WORD:
		expect_words(field, text, bytes);
		break;
	case WH_DDS_FLAG:
		wh_text_add(text, bytes, "on or off");
		break;
	case WH_DDS_DURATION:
		wh_text_add(text, bytes, "a number and ns, us, ms or s%s, or inf", field->least > 0 ? ", not 0" : "");
		break;
	case WH_DDS_NUMBER:
		wh_text_add(text, bytes, "a number from %" PRId32 " to %" PRId32, INT32_MIN, INT32_MAX);
		break;
	case WH_DDS_LIMIT:
	case WH_DDS_KEEP:
		wh_text_add(text, bytes, "a number from 1 to %" PRId32 ", or %s", INT32_MAX,
			    field->kind == WH_DDS_KEEP ? "all" : "unlimited");
		break;
	case WH_DDS_DATA:
		wh_text_add(text, bytes, "at most %d bytes, with %%20 for the byte 0x20", WH_DDS_DATA_BYTES);
		break;
	case WH_DDS_NAMES:
		wh_text_add(text, bytes, "names with commas between them, less than %d bytes", WH_DDS_PARTITION_BYTES);
		break;
	}
}

/* "100ms", "inf". Returns text. */
static const char *duration_text(int64_t ns, char *text, size_t bytes)
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = {{1000 * MS, "s"}, {MS, "ms"}, {1000, "us"}, {1, "ns"}};
	size_t i = 0;

	if (ns == WHORL_DDS_INFINITY) {
		snprintf(text, bytes, "inf");
		return text;
	}
	while (ns % units[i].ns != 0)
		i++;
	snprintf(text, bytes, "%" PRId64 "%s", ns / units[i].ns, units[i].name);
	return text;
}

const char *wh_dds_field_text(const struct wh_dds_field *field, int64_t number, char *text, size_t bytes)
{
	if (field->kind == WH_DDS_DURATION)
		return duration_text(number, text, bytes);
	if (field->kind == WH_DDS_WORD)
		snprintf(text, bytes, "%s", field->words[number]);
	else if (field->kind == WH_DDS_FLAG)
		snprintf(text, bytes, "%s", number != 0 ? "on" : "off");
	else if (field->kind == WH_DDS_LIMIT && number == WHORL_DDS_UNLIMITED)
		snprintf(text, bytes, "unlimited");
	else if (field->kind == WH_DDS_KEEP && number == 0)
		snprintf(text, bytes, "all");
	else
		snprintf(text, bytes, "%" PRId64, number);
	return text;
}

/* ---- the manual ------------------------------------------------------------------------------------------------------- */

static bool is_matched(enum whorl_dds_policy_id id)
{
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++)
		if (wh_dds_fields[i].policy == id && wh_dds_fields[i].rule != WH_DDS_FREE)
			return true;
	return false;
}

static void describe_kinds(FILE *out, uint32_t kinds)
{
	static const char *const names[] = {"participant", "topic", "publisher", "subscriber", "writer", "reader"};
	const char *separator = "";

	for (size_t i = 0; i < COUNT(names); i++) {
		if ((kinds >> i & 1) == 0)
			continue;
		fprintf(out, "%s%s", separator, names[i]);
		separator = ", ";
	}
}

/* `kind` *volatile*, ... : each field with its default. */
static void describe_fields(FILE *out, enum whorl_dds_policy_id id)
{
	const char *separator = "";

	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];
		char expected[128], value[WH_DDS_VALUE_BYTES] = "", other[WH_DDS_VALUE_BYTES] = "";

		if (field->policy != id)
			continue;
		wh_dds_field_expected(field, expected, sizeof(expected));
		if (!wh_dds_field_has_bytes(field)) {
			wh_dds_field_text(field, field->fallback, value, sizeof(value));
			wh_dds_field_text(field, field->writers, other, sizeof(other));
		}
		if (strcmp(value, other) != 0)
			fprintf(out, "%s`%s` %s (%s, a writer's %s)", separator, field->key, expected, value, other);
		else
			fprintf(out, "%s`%s` %s (%s)", separator, field->key, expected, value[0] ? value : "none");
		separator = "; ";
	}
}

void wh_dds_policies_describe(FILE *out)
{
	fputs("| policy | of | fields (and their defaults) | changes later | meaning |\n|---|---|---|---|---|\n", out);
	for (size_t i = 0; i < WH_DDS_POLICY_COUNT; i++) {
		const struct wh_dds_policy_row *row = &wh_dds_policy_rows[i];

		fprintf(out, "| `%s`%s | ", row->name, is_matched(row->id) ? "*" : "");
		describe_kinds(out, row->kinds);
		fputs(" | ", out);
		describe_fields(out, row->id);
		fprintf(out, " | %s | %s |\n", row->later ? "yes" : "no", row->meaning);
	}
}
