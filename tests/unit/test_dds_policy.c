/* test_dds_policy.c - the policies of entities: defaults, merging, changing, what fits what, bytes, texts, the table itself. */
#include <string.h>

#include "dds/policy/policy_int.h"
#include "tests/harness.h"

#define BIT(id) (UINT64_C(1) << WHORL_DDS_POLICY_##id)
#define MS INT64_C(1000000)

static struct wh_dds_policies one, other;
static struct wh_error err;
static enum whorl_dds_policy_id which;

static void begin(void)
{
	wh_dds_policies_init(&one, WH_DDS_READER);
	wh_dds_policies_init(&other, WH_DDS_READER);
	wh_error_clear(&err);
	which = WHORL_DDS_POLICY_INVALID;
}

static void end(void)
{
	wh_dds_policies_free(&one);
	wh_dds_policies_free(&other);
}

static void parse(struct wh_dds_policies *policies, const char *text)
{
	whorl_dds_return result = wh_dds_policies_parse(policies, text, &err);

	ck_assert_msg(result == WHORL_DDS_RETCODE_OK, "%s: %s", text, err.text);
}

/* As an entity of a kind has them. */
static void make(struct wh_dds_policies *policies, enum wh_dds_kind kind, const char *text)
{
	wh_dds_policies_free(policies);
	wh_dds_policies_init(policies, kind);
	parse(policies, text);
}

/* As bytes, alone. */
static void put(struct wh_dds_out *out, const struct wh_dds_policies *policies)
{
	*out = (struct wh_dds_out){.bytes = NULL};
	wh_dds_put_policies(out, policies);
	ck_assert(!out->failed);
}

static void take(const struct wh_dds_out *out, enum wh_dds_kind kind, struct wh_dds_policies *policies)
{
	struct wh_dds_in in = {.at = out->bytes, .left = out->count, .ok = true};

	ck_assert(wh_dds_take_policies(&in, policies, kind));
	ck_assert(!in.starved);
	ck_assert_uint_eq(in.left, 0);
}

/* ---- defaults, merging, changing -------------------------------------------------------------------------------------- */

START_TEST(defaults_are_those_of_dcps)
{
	ck_assert_int_eq(one.reliability.kind, WHORL_DDS_RELIABILITY_BEST_EFFORT);
	ck_assert_int_eq(one.reliability.max_blocking_ns, 100 * MS);
	ck_assert_int_eq(one.history.kind, WHORL_DDS_HISTORY_KEEP_LAST);
	ck_assert_int_eq(one.history.depth, 1);
	ck_assert_int_eq(one.service.history.depth, 1);
	ck_assert_int_eq(one.limits.samples, -1);
	ck_assert_int_eq(one.limits.instances, -1);
	ck_assert_int_eq(one.service.limits.samples_per_instance, -1);
	ck_assert_int_eq(one.durability, WHORL_DDS_DURABILITY_VOLATILE);
	ck_assert_int_eq(one.deadline_ns, WHORL_DDS_INFINITY);
	ck_assert_int_eq(one.liveliness.kind, WHORL_DDS_LIVELINESS_AUTOMATIC);
	ck_assert_int_eq(one.liveliness.lease_ns, WHORL_DDS_INFINITY);
	ck_assert_int_eq(one.lifespan_ns, WHORL_DDS_INFINITY);
	ck_assert_int_eq(one.separation_ns, 0);
	ck_assert_int_eq(one.ownership, WHORL_DDS_OWNERSHIP_SHARED);
	ck_assert_int_eq(one.presentation.scope, WHORL_DDS_PRESENTATION_INSTANCE);
	ck_assert(!one.presentation.coherent && !one.presentation.ordered);
	ck_assert(one.autodispose && one.autoenable);
	ck_assert_int_eq(one.purge.no_writers_ns, WHORL_DDS_INFINITY);
	ck_assert_int_eq(one.purge.disposed_ns, WHORL_DDS_INFINITY);
	ck_assert_uint_eq(one.set, 0);
	wh_dds_policies_init(&one, WH_DDS_WRITER);
	ck_assert_int_eq(one.reliability.kind, WHORL_DDS_RELIABILITY_RELIABLE);
}
END_TEST

/* An endpoint has its own, then those of its publisher, then those of its topic; and no others. */
START_TEST(endpoints_take_over)
{
	struct wh_dds_policies topic, publisher;

	wh_dds_policies_init(&topic, WH_DDS_TOPIC);
	wh_dds_policies_init(&publisher, WH_DDS_PUBLISHER);
	parse(&topic,
	      "history=7 durability=transient topic_data=t user_data=not consistency=stored ownership=exclusive");
	parse(&publisher,
	      "partition=a,b presentation.coherent=on group_data=g entity_factory=on history=9 user_data=not");
	wh_dds_policies_init(&one, WH_DDS_WRITER);
	parse(&one, "durability=volatile");
	ck_assert_int_eq(wh_dds_policies_merge(&one, WH_DDS_WRITER, &publisher, WH_DDS_PUBLISHER), 0);
	ck_assert_int_eq(wh_dds_policies_merge(&one, WH_DDS_WRITER, &topic, WH_DDS_TOPIC), 0);
	ck_assert_int_eq(one.history.depth, 7);
	ck_assert_int_eq(one.durability, WHORL_DDS_DURABILITY_VOLATILE);
	ck_assert_int_eq(one.ownership, WHORL_DDS_OWNERSHIP_EXCLUSIVE);
	ck_assert(one.presentation.coherent);
	ck_assert_uint_eq(one.set, BIT(DURABILITY) | BIT(PARTITION) | BIT(PRESENTATION) | BIT(GROUP_DATA) |
					   BIT(HISTORY) | BIT(OWNERSHIP) | BIT(TOPIC_DATA));
	ck_assert_uint_eq(one.partition.count, 4);
	ck_assert_mem_eq(one.partition.bytes, "a\0b", 4);
	ck_assert_uint_eq(one.user_data.count, 0);
	wh_dds_policies_free(&topic);
	wh_dds_policies_free(&publisher);
}
END_TEST

/* A set of policies that is for any entity: each takes what it has. */
START_TEST(what_an_entity_does_not_have_is_passed_over)
{
	parse(&other, "partition=p time_based_filter=1ms lifespan=1s deadline=2s consistency=stored");
	ck_assert_int_eq(wh_dds_policies_merge(&one, WH_DDS_READER, &other, WH_DDS_KINDS), 0);
	ck_assert_uint_eq(one.set, BIT(TIME_BASED_FILTER) | BIT(DEADLINE));
	ck_assert_int_eq(one.separation_ns, MS);
	ck_assert_int_eq(one.lifespan_ns, WHORL_DDS_INFINITY);
	ck_assert_uint_eq(one.partition.count, 0);
}
END_TEST

/* Of a policy that is set in part the rest is what it would be: of the next that says it, or by default, which is another one for writers. */
START_TEST(a_part_of_a_policy_sets_that_alone)
{
	static const enum wh_dds_kind kinds[] = {WH_DDS_WRITER, WH_DDS_READER};
	struct wh_dds_policies topic, said;
	struct wh_dds_out bytes;

	wh_dds_policies_init(&said, WH_DDS_KINDS);
	wh_dds_policies_init(&topic, WH_DDS_KINDS);
	parse(&said, "reliability.max_blocking=20s");
	ck_assert_uint_eq(said.set, BIT(RELIABILITY));
	for (size_t k = 0; k < 2; k++) {
		wh_dds_policies_init(&one, kinds[k]);
		ck_assert_int_eq(wh_dds_policies_merge(&one, kinds[k], &said, WH_DDS_KINDS), 0);
		ck_assert_int_eq(one.reliability.kind, k == 0);
		ck_assert_int_eq(one.reliability.max_blocking_ns, 20000 * MS);
		put(&bytes, &one); /* as others are told of it */
		ck_assert_uint_gt(bytes.count, 0);
		take(&bytes, kinds[k], &other);
		wh_dds_out_free(&bytes);
		ck_assert(wh_dds_policies_equal(&one, &other, NULL));
		ck_assert_uint_eq(other.lacks, one.lacks);
		ck_assert_int_eq(wh_dds_policies_change(&one, kinds[k], &said, NULL, NULL), 0); /* nothing */
		ck_assert_int_eq(one.reliability.kind, k == 0);
	}
	parse(&topic, "reliability=best_effort reliability.max_blocking=1s");
	wh_dds_policies_init(&one, WH_DDS_WRITER);
	ck_assert_int_eq(wh_dds_policies_merge(&one, WH_DDS_WRITER, &said, WH_DDS_KINDS), 0);
	ck_assert_int_eq(wh_dds_policies_merge(&one, WH_DDS_WRITER, &topic, WH_DDS_TOPIC), 0);
	ck_assert_int_eq(one.reliability.kind, WHORL_DDS_RELIABILITY_BEST_EFFORT); /* the topic says it */
	ck_assert_int_eq(one.reliability.max_blocking_ns, 20000 * MS);
	ck_assert_uint_eq(one.lacks, 0);
	/* A topic that sets a part, registered and read again, says no more. */
	wh_dds_policies_init(&topic, WH_DDS_TOPIC);
	ck_assert_int_eq(wh_dds_policies_merge(&topic, WH_DDS_TOPIC, &said, WH_DDS_KINDS), 0);
	put(&bytes, &topic);
	take(&bytes, WH_DDS_TOPIC, &topic);
	wh_dds_out_free(&bytes);
	wh_dds_policies_init(&one, WH_DDS_WRITER);
	ck_assert_int_eq(wh_dds_policies_merge(&one, WH_DDS_WRITER, &topic, WH_DDS_TOPIC), 0);
	ck_assert_int_eq(one.reliability.kind, WHORL_DDS_RELIABILITY_RELIABLE);
	ck_assert_int_eq(one.reliability.max_blocking_ns, 20000 * MS);
	/* Later it is set whole, or the other part is. */
	parse(&said, "reliability=best_effort");
	ck_assert_uint_eq(said.lacks, 0);
	ck_assert_int_eq(said.reliability.kind, WHORL_DDS_RELIABILITY_BEST_EFFORT);
}
END_TEST

START_TEST(copies_are_equal_and_apart)
{
	struct wh_dds_policies copy;
	uint64_t differ;

	parse(&one, "user_data=abc history=all partition=x reliability.max_blocking=5s");
	ck_assert_int_eq(wh_dds_policies_copy(&copy, &one), 0);
	ck_assert(wh_dds_policies_equal(&one, &copy, &differ));
	ck_assert_uint_eq(differ, 0);
	ck_assert_uint_eq(copy.set, one.set);
	ck_assert_ptr_ne(copy.user_data.bytes, one.user_data.bytes);
	copy.user_data.bytes[2] = 'd';
	copy.reliability.max_blocking_ns++;
	ck_assert(!wh_dds_policies_equal(&one, &copy, &differ));
	ck_assert_uint_eq(differ, BIT(USER_DATA) | BIT(RELIABILITY));
	wh_dds_policies_free(&copy);
}
END_TEST

START_TEST(some_policies_change_later)
{
	parse(&one, "deadline=1s history=3 user_data=a");
	parse(&other, "deadline=2s history=3 user_data=b time_based_filter=1ms");
	ck_assert_int_eq(wh_dds_policies_change(&one, WH_DDS_READER, &other, &which, &err), 0);
	ck_assert_int_eq(one.deadline_ns, 2000 * MS);
	ck_assert_int_eq(one.user_data.bytes[0], 'b');

	parse(&other, "deadline=3s history=4");
	ck_assert_int_eq(wh_dds_policies_change(&one, WH_DDS_READER, &other, &which, &err),
			 WHORL_DDS_RETCODE_IMMUTABLE_POLICY);
	ck_assert_int_eq(which, WHORL_DDS_POLICY_HISTORY);
	ck_assert_str_eq(err.text, "history: is fixed when the entity is created");
	ck_assert_int_eq(one.deadline_ns, 2000 * MS);

	make(&other, WH_DDS_READER, "time_based_filter=5s");
	ck_assert_int_eq(wh_dds_policies_change(&one, WH_DDS_READER, &other, &which, &err),
			 WHORL_DDS_RETCODE_INCONSISTENT_POLICY);
	ck_assert_int_eq(one.separation_ns, MS);
}
END_TEST

START_TEST(what_is_kept_for_late_readers)
{
	struct wh_dds_history history;
	struct wh_dds_limits limits;

	parse(&one, "history=5 resource_limits.samples=10");
	wh_dds_policies_kept(&one, &history, &limits);
	ck_assert_int_eq(history.depth, 5);
	ck_assert_int_eq(limits.samples, 10);
	parse(&one, "durability_service.keep=all durability_service.samples=20");
	wh_dds_policies_kept(&one, &history, &limits);
	ck_assert_int_eq(history.kind, WHORL_DDS_HISTORY_KEEP_ALL);
	ck_assert_int_eq(limits.samples, 20);
}
END_TEST

/* ---- checks ------------------------------------------------------------------------------------------------------------- */

#define OK WHORL_DDS_RETCODE_OK
#define INCONSISTENT WHORL_DDS_RETCODE_INCONSISTENT_POLICY
#define UNSUPPORTED WHORL_DDS_RETCODE_UNSUPPORTED

static const struct {
	enum wh_dds_kind kind;
	const char *text;
	whorl_dds_return result;
	enum whorl_dds_policy_id which;
} sets[] = {
	{WH_DDS_READER, "", OK, 0},
	{WH_DDS_READER, "history=5 resource_limits.samples_per_instance=5", OK, 0},
	{WH_DDS_READER, "history=6 resource_limits.samples_per_instance=5", INCONSISTENT, WHORL_DDS_POLICY_HISTORY},
	{WH_DDS_READER, "history=all resource_limits.samples_per_instance=5", OK, 0},
	{WH_DDS_READER, "history=all resource_limits.samples=5 resource_limits.samples_per_instance=5", OK, 0},
	{WH_DDS_READER, "history=all resource_limits.samples=4 resource_limits.samples_per_instance=5", INCONSISTENT,
	 WHORL_DDS_POLICY_RESOURCE_LIMITS},
	{WH_DDS_READER, "deadline=5ms time_based_filter=5ms", OK, 0},
	{WH_DDS_READER, "deadline=5ms time_based_filter=6ms", INCONSISTENT, WHORL_DDS_POLICY_TIME_BASED_FILTER},
	{WH_DDS_TOPIC, "durability_service.keep=2 durability_service.samples_per_instance=1", INCONSISTENT,
	 WHORL_DDS_POLICY_DURABILITY_SERVICE},
	{WH_DDS_TOPIC, "durability=transient", OK, 0},
	{WH_DDS_TOPIC, "durability=transient consistency=stored", OK, 0},
	{WH_DDS_TOPIC, "durability=transient consistency=atomic", INCONSISTENT, WHORL_DDS_POLICY_DURABILITY},
	{WH_DDS_TOPIC, "durability=transient_local consistency=unordered", UNSUPPORTED, WHORL_DDS_POLICY_DURABILITY},
	{WH_DDS_TOPIC, "ownership=exclusive consistency=unordered", UNSUPPORTED, WHORL_DDS_POLICY_OWNERSHIP},
	{WH_DDS_TOPIC, "consistency=unordered", OK, 0},
	{WH_DDS_TOPIC, "consistency=logged", OK, 0},
	{WH_DDS_TOPIC, "durability=persistent", OK, 0},
	{WH_DDS_TOPIC, "durability=persistent consistency=logged", OK, 0},
	{WH_DDS_TOPIC, "durability=transient consistency=logged", OK, 0},
	{WH_DDS_TOPIC, "durability=persistent consistency=stored", INCONSISTENT, WHORL_DDS_POLICY_DURABILITY},
	{WH_DDS_TOPIC, "durability=persistent consistency=atomic", INCONSISTENT, WHORL_DDS_POLICY_DURABILITY},
	{WH_DDS_TOPIC, "durability=persistent consistency=unordered", UNSUPPORTED, WHORL_DDS_POLICY_DURABILITY},
	{WH_DDS_WRITER, "durability=persistent", OK, 0},
	{WH_DDS_WRITER, "durability=transient", OK, 0},
	{WH_DDS_PUBLISHER, "entity_factory=off", UNSUPPORTED, WHORL_DDS_POLICY_ENTITY_FACTORY},
	{WH_DDS_PUBLISHER, "presentation=group presentation.coherent=on presentation.ordered=on", OK, 0},
	{WH_DDS_WRITER, "latency_budget=5s transport_priority=-3", OK, 0},
};

START_TEST(sets_are_checked)
{
	make(&one, sets[_i].kind, sets[_i].text);
	ck_assert_int_eq(wh_dds_policies_check(&one, sets[_i].kind, &which, &err), sets[_i].result);
	ck_assert_int_eq(which, sets[_i].which);
	ck_assert_int_eq(wh_dds_policies_check(&one, sets[_i].kind, NULL, NULL), sets[_i].result);
	if (sets[_i].result != OK)
		ck_assert_int_eq(strncmp(err.text, wh_dds_policy_name(which), strlen(wh_dds_policy_name(which))), 0);
}
END_TEST

/* Values that no text can say come from programs. */
START_TEST(values_out_of_range_are_refused)
{
	const enum whorl_dds_policy_id expected[] = {
		WHORL_DDS_POLICY_DEADLINE,        WHORL_DDS_POLICY_HISTORY,         WHORL_DDS_POLICY_HISTORY,
		WHORL_DDS_POLICY_RESOURCE_LIMITS, WHORL_DDS_POLICY_RESOURCE_LIMITS, WHORL_DDS_POLICY_DURABILITY,
		WHORL_DDS_POLICY_LIVELINESS,      WHORL_DDS_POLICY_PARTITION,       WHORL_DDS_POLICY_USER_DATA,
		WHORL_DDS_POLICY_LIFESPAN,
	};
	static unsigned char bytes[WH_DDS_DATA_BYTES + 1];
	int durability = 4;

	switch (_i) {
	case 0:
		one.deadline_ns = -1;
		break;
	case 1:
		one.history.depth = 0;
		break;
	case 2:
		one.history.depth = -5;
		break;
	case 3:
		one.limits.samples = 0;
		break;
	case 4:
		one.limits.instances = -2;
		break;
	case 5:
		memcpy(&one.durability, &durability, sizeof(durability));
		break;
	case 6:
		one.liveliness.lease_ns = 0;
		break;
	case 7:
		one.partition = (struct wh_dds_octets){(unsigned char *)"ab", 2};
		break;
	case 8:
		one.user_data = (struct wh_dds_octets){bytes, sizeof(bytes)};
		break;
	case 9:
		one.lifespan_ns = 0;
		break;
	}
	ck_assert_int_eq(wh_dds_policies_check(&one, WH_DDS_READER, &which, &err), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_int_eq(which, expected[_i]);
	one.partition = one.user_data = (struct wh_dds_octets){NULL, 0};
}
END_TEST

START_TEST(the_service_counts_only_if_it_is_set)
{
	one.service.history.depth = 5;
	one.service.limits.samples_per_instance = 1;
	ck_assert_int_eq(wh_dds_policies_check(&one, WH_DDS_WRITER, &which, &err), OK);
	one.set |= BIT(DURABILITY_SERVICE);
	ck_assert_int_eq(wh_dds_policies_check(&one, WH_DDS_WRITER, &which, &err), INCONSISTENT);
}
END_TEST

START_TEST(what_a_topic_promises)
{
	static const struct {
		const char *text;
		enum whorl_dds_consistency_kind kind;
	} topics[] = {
		{"", WHORL_DDS_CONSISTENCY_ATOMIC},
		{"reliability=best_effort", WHORL_DDS_CONSISTENCY_ATOMIC},
		{"durability=transient_local", WHORL_DDS_CONSISTENCY_STORED},
		{"durability=transient", WHORL_DDS_CONSISTENCY_STORED},
		{"durability=persistent", WHORL_DDS_CONSISTENCY_LOGGED},
		{"consistency=stored", WHORL_DDS_CONSISTENCY_STORED},
		{"consistency=unordered", WHORL_DDS_CONSISTENCY_UNORDERED},
		{"consistency=atomic durability=transient", WHORL_DDS_CONSISTENCY_ATOMIC},
	};

	for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++) {
		make(&one, WH_DDS_TOPIC, topics[i].text);
		ck_assert_int_eq(wh_dds_consistency(&one), topics[i].kind);
	}
}
END_TEST

static const struct {
	enum whorl_dds_consistency_kind topic;
	const char *text;
	whorl_dds_return result;
	enum whorl_dds_policy_id which;
} suits[] = {
	{WHORL_DDS_CONSISTENCY_ATOMIC, "", OK, 0},
	{WHORL_DDS_CONSISTENCY_ATOMIC, "durability=transient_local", INCONSISTENT, WHORL_DDS_POLICY_DURABILITY},
	{WHORL_DDS_CONSISTENCY_ATOMIC, "ownership=exclusive presentation.coherent=on", OK, 0},
	{WHORL_DDS_CONSISTENCY_STORED, "durability=transient", OK, 0},
	{WHORL_DDS_CONSISTENCY_STORED, "durability=volatile", OK, 0},
	{WHORL_DDS_CONSISTENCY_STORED, "durability=persistent", INCONSISTENT, WHORL_DDS_POLICY_DURABILITY},
	{WHORL_DDS_CONSISTENCY_LOGGED, "", OK, 0},
	{WHORL_DDS_CONSISTENCY_LOGGED, "durability=transient_local", OK, 0},
	{WHORL_DDS_CONSISTENCY_LOGGED, "durability=persistent ownership=exclusive presentation.coherent=on", OK, 0},
	{WHORL_DDS_CONSISTENCY_UNORDERED, "reliability=best_effort deadline=1s", OK, 0},
	{WHORL_DDS_CONSISTENCY_UNORDERED, "durability=transient_local", UNSUPPORTED, WHORL_DDS_POLICY_DURABILITY},
	{WHORL_DDS_CONSISTENCY_UNORDERED, "ownership=exclusive", UNSUPPORTED, WHORL_DDS_POLICY_OWNERSHIP},
	{WHORL_DDS_CONSISTENCY_UNORDERED, "presentation.coherent=on", UNSUPPORTED, WHORL_DDS_POLICY_PRESENTATION},
	{WHORL_DDS_CONSISTENCY_UNORDERED, "presentation.ordered=on", OK, 0},
	{WHORL_DDS_CONSISTENCY_UNORDERED, "presentation=topic presentation.ordered=on", UNSUPPORTED,
	 WHORL_DDS_POLICY_PRESENTATION},
};

START_TEST(endpoints_suit_their_topic)
{
	make(&one, WH_DDS_WRITER, suits[_i].text);
	ck_assert_int_eq(wh_dds_policies_suit(&one, suits[_i].topic, &which, &err), suits[_i].result);
	ck_assert_int_eq(which, suits[_i].which);
}
END_TEST

/* ---- offers and requests -------------------------------------------------------------------------------------------------- */

static const struct {
	const char *offered, *requested;
	uint64_t failed;
} matches[] = {
	{"", "", 0},
	{"reliability=reliable", "reliability=best_effort", 0},
	{"reliability=best_effort", "reliability=reliable", BIT(RELIABILITY)},
	{"reliability.max_blocking=1s", "reliability.max_blocking=2s", 0},
	{"durability=transient", "durability=transient_local", 0},
	{"durability=transient_local", "durability=transient", BIT(DURABILITY)},
	{"durability=persistent", "durability=transient", 0},
	{"durability=persistent", "durability=persistent", 0},
	{"durability=transient", "durability=persistent", BIT(DURABILITY)},
	{"presentation=group", "presentation=topic", 0},
	{"presentation=instance", "presentation=topic", BIT(PRESENTATION)},
	{"presentation.coherent=on", "presentation.coherent=off", 0},
	{"", "presentation.coherent=on", BIT(PRESENTATION)},
	{"presentation.coherent=on", "presentation.ordered=on", BIT(PRESENTATION)},
	{"deadline=1s", "deadline=1s", 0},
	{"deadline=1s", "deadline=2s", 0},
	{"deadline=2s", "deadline=1s", BIT(DEADLINE)},
	{"", "deadline=1s", BIT(DEADLINE)},
	{"latency_budget=1s", "", BIT(LATENCY_BUDGET)},
	{"", "latency_budget=1s", 0},
	{"ownership=exclusive", "ownership=exclusive", 0},
	{"ownership=exclusive", "", BIT(OWNERSHIP)},
	{"", "ownership=exclusive", BIT(OWNERSHIP)},
	{"liveliness=manual_by_topic", "liveliness=manual_by_participant", 0},
	{"liveliness=automatic", "liveliness=manual_by_participant", BIT(LIVELINESS)},
	{"liveliness.lease=1s", "liveliness.lease=2s", 0},
	{"liveliness.lease=2s", "liveliness.lease=1s", BIT(LIVELINESS)},
	{"destination_order=source", "", 0},
	{"", "destination_order=source", BIT(DESTINATION_ORDER)},
	{"history=1 lifespan=1s partition=a ownership_strength=3", "history=all partition=b time_based_filter=1s", 0},
	{"", "durability=transient deadline=1s ownership=exclusive", BIT(DURABILITY) | BIT(DEADLINE) | BIT(OWNERSHIP)},
};

START_TEST(offers_meet_requests)
{
	/* Of all that fail the first is told. */
	int first = matches[_i].failed != 0 ? __builtin_ctzll(matches[_i].failed) : 0;

	parse(&one, matches[_i].offered);
	parse(&other, matches[_i].requested);
	ck_assert_int_eq(wh_dds_policies_match(&one, &other), first);
}
END_TEST

static const struct {
	const char *pattern, *name;
	bool fits;
} patterns[] = {
	{"", "", true},
	{"a", "", false},
	{"", "a", false},
	{"abc", "abc", true},
	{"abc", "abd", false},
	{"a*", "a", true},
	{"a*c", "abbbc", true},
	{"a*c", "abbbd", false},
	{"*a*b*", "xxaxxbxx", true},
	{"*a*b*", "xxbxxaxx", false},
	{"*ab", "aab", true},
	{"***", "", true},
	{"?", "", false},
	{"a?c", "abc", true},
	{"a?c", "ac", false},
	{"[abc]x", "bx", true},
	{"[abc]x", "dx", false},
	{"[!abc]x", "dx", true},
	{"[!abc]x", "ax", false},
	{"[a-c]", "b", true},
	{"[a-c]", "d", false},
	{"[a-]", "-", true},
	{"[]]", "]", true},
	{"[!]]", "]", false},
	{"[!]]", "a", true},
	{"[a", "[a", true},
	{"[", "[", true},
	{"[]", "[]", true},
	{"sensor/[0-9]*", "sensor/7/left", true},
	{"[\x80-\xff]", "\xc3", true},
};

START_TEST(names_fit_patterns)
{
	ck_assert(wh_dds_pattern_fits(patterns[_i].pattern, patterns[_i].name) == patterns[_i].fits);
}
END_TEST

/* What an exponential search would never come back from. */
START_TEST(patterns_are_quick)
{
	char name[2001], pattern[2001];

	memset(name, 'a', 2000);
	for (size_t i = 0; i < 1998; i += 2)
		memcpy(pattern + i, "*a", 2);
	memcpy(pattern + 1998, "b", 2);
	name[2000] = '\0';
	ck_assert(!wh_dds_pattern_fits(pattern, name));
}
END_TEST

static const struct {
	const char *one, *other;
	bool meet;
} partitions[] = {
	{"", "", true},
	{"", "partition=", true},
	{"", "partition=a", false},
	{"", "partition=a,", true},
	{"partition=a", "partition=a", true},
	{"partition=a,b", "partition=c,b", true},
	{"partition=a,b", "partition=c,d", false},
	{"partition=a*", "partition=abc", true},
	{"partition=abc", "partition=x,a?c", true},
	{"partition=a*", "partition=a*", false},
	{"partition=*", "", true},
	{"partition=[ab]c", "partition=bc", true},
};

START_TEST(partitions_meet)
{
	parse(&one, partitions[_i].one);
	parse(&other, partitions[_i].other);
	ck_assert(wh_dds_partitions_meet(&one, &other) == partitions[_i].meet);
	ck_assert(wh_dds_partitions_meet(&other, &one) == partitions[_i].meet);
}
END_TEST

/* ---- bytes ---------------------------------------------------------------------------------------------------------------- */

static const char all_set[] =
	"user_data=u%00%ff durability=transient presentation=topic presentation.coherent=on deadline=5ms latency_budget=1us "
	"ownership=exclusive ownership_strength=-7 liveliness=manual_by_topic liveliness.lease=3s time_based_filter=2ms "
	"partition=a,,b*%20c reliability=reliable reliability.max_blocking=inf destination_order=source history=all "
	"resource_limits.samples=9 resource_limits.instances=8 resource_limits.samples_per_instance=7 entity_factory=off "
	"writer_data_lifecycle=off reader_data_lifecycle.no_writers=1s reader_data_lifecycle.disposed=0 topic_data=t "
	"group_data=g transport_priority=4 lifespan=9s durability_service.keep=3 durability_service.samples=6 "
	"durability_service.instances=5 durability_service.samples_per_instance=4 durability_service.cleanup=8ns "
	"consistency=logged ignore_local=process";

START_TEST(bytes_say_all)
{
	struct wh_dds_out bytes;
	struct wh_dds_in in = {.ok = true};

	parse(&one, all_set);
	ck_assert_uint_eq(one.set, wh_dds_policies_of(WH_DDS_KINDS));
	put(&bytes, &one);
	ck_assert_uint_gt(bytes.count, 100);
	wh_dds_policies_free(&other);
	wh_dds_put(&bytes, "more", 4); /* it is there still when they are read */
	in.at = bytes.bytes;
	in.left = bytes.count;
	ck_assert(wh_dds_take_policies(&in, &other, WH_DDS_WRITER));
	ck_assert(!in.starved);
	ck_assert_uint_eq(in.left, 4);
	ck_assert(wh_dds_policies_equal(&one, &other, NULL));
	ck_assert_uint_eq(one.set, other.set);
	wh_dds_out_free(&bytes);
}
END_TEST

/* What is not set is not said: the defaults of the kind hold. */
START_TEST(bytes_leave_defaults_out)
{
	struct wh_dds_out bytes;

	parse(&one, "ownership_strength=-2");
	put(&bytes, &one);
	ck_assert_uint_eq(bytes.count, 6);
	ck_assert_mem_eq(bytes.bytes, "\x07\xfe\xff\xff\xff", 6);
	take(&bytes, WH_DDS_WRITER, &other);
	wh_dds_out_free(&bytes);
	ck_assert_int_eq(other.strength, -2);
	ck_assert_int_eq(other.reliability.kind, WHORL_DDS_RELIABILITY_RELIABLE);
	ck_assert_uint_eq(other.set, BIT(OWNERSHIP_STRENGTH));
}
END_TEST

static const struct {
	const char *bytes;
	size_t count;
} wrong[] = {
	{"", 0},                                                  /* nothing */
	{"\x07\x01\x00\x00", 4},                                  /* cut */
	{"\x06\x01", 2},                                          /* no end */
	{"\x17", 2},                                              /* no policy 23 */
	{"\x60", 2},                                              /* nor 96 */
	{"\x06\x02", 3},                                          /* no such ownership */
	{"\x0f\x02", 3},                                          /* no flag */
	{"\x06\x01\x02\x00", 5},                                  /* not in order */
	{"\x06\x01\x06\x01", 5},                                  /* twice */
	{"\x0a\x01\x00\x00", 5},                                  /* one empty name, written otherwise */
	{"\x0a\x02\x00\x61\x61", 6},                              /* a name without a zero */
	{"\x0a\x09\x00\x61", 5},                                  /* names that are cut */
	{"\x0d\xff\xff\xff\xff", 6},                              /* a depth below 0 */
	{"\x0e\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00", 14}, /* a limit of 0 */
	{"\x04\xff\xff\xff\xff\xff\xff\xff\xff", 10},             /* a deadline below 0 */
	{"\x04\x00\x00\x00\x00\x00\x00\x00\x00", 10},             /* and of 0 */
};

START_TEST(wrong_bytes_are_refused)
{
	struct wh_dds_in in = {.at = (const unsigned char *)wrong[_i].bytes, .left = wrong[_i].count, .ok = true};
	struct wh_dds_policies policies;

	ck_assert(!wh_dds_take_policies(&in, &policies, WH_DDS_READER));
	ck_assert(!in.ok && !in.starved);
	ck_assert_ptr_null(policies.partition.bytes);
}
END_TEST

START_TEST(the_largest_fit)
{
	static unsigned char most[WH_DDS_DATA_BYTES];
	struct wh_dds_out bytes;

	parse(&one, all_set);
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++)
		if (wh_dds_field_has_bytes(&wh_dds_fields[i]))
			ck_assert(wh_dds_field_replace(&one, &wh_dds_fields[i], most, sizeof(most)));
	put(&bytes, &one);
	ck_assert_uint_gt(bytes.count, 4 * WH_DDS_DATA_BYTES);
	take(&bytes, WH_DDS_READER, &other);
	wh_dds_out_free(&bytes);
}
END_TEST

/* ---- texts ---------------------------------------------------------------------------------------------------------------- */

static char *text;
static size_t text_bytes;

static FILE *text_open(void)
{
	FILE *out = open_memstream(&text, &text_bytes);

	ck_assert_ptr_nonnull(out);
	return out;
}

static void expect_text(FILE *out, const char *expected)
{
	fclose(out);
	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(texts_are_read_and_written)
{
	FILE *out;

	parse(&one, all_set);
	out = text_open();
	wh_dds_policies_print(out, &one, one.set);
	fclose(out);
	parse(&other, text);
	ck_assert_msg(wh_dds_policies_equal(&one, &other, NULL), "%s", text);
	free(text);

	make(&one, WH_DDS_WRITER, "  history=3\tdeadline=1500ms\n partition=a,b%2cc user_data=%41%25 ");
	out = text_open();
	wh_dds_policies_print(out, &one, one.set);
	expect_text(out, "user_data=A%25 deadline=1500ms partition=a,b%2cc history=3");
	make(&one, WH_DDS_WRITER, "");
	out = text_open();
	wh_dds_policies_print(out, &one, BIT(RELIABILITY) | BIT(HISTORY) | BIT(RESOURCE_LIMITS));
	expect_text(out,
		    "reliability=reliable reliability.max_blocking=100ms history=1 resource_limits.samples=unlimited "
		    "resource_limits.instances=unlimited resource_limits.samples_per_instance=unlimited");
}
END_TEST

static const struct {
	const char *text, *complaint;
} mistakes[] = {
	{"reliability", "\"reliability\": it says nothing, expected POLICY=VALUE"},
	{"history=3 hist=all",
	 "\"hist=all\": there is no such policy, expected one of user_data durability presentation "},
	{"history=3 history=4", "\"history=4\": it is set twice"},
	{"history=0", "\"history=0\": the value is not right, expected a number from 1 to 2147483647, or all"},
	{"history=2147483648", "\"history=2147483648\": the value is not right"},
	{"history=99999999999999999999", "\"history=99999999999999999999\": the value is not right"},
	{"history=", "\"history=\": the value is not right"},
	{"history=-1", "\"history=-1\": the value is not right"},
	{"history=3x", "\"history=3x\": the value is not right"},
	{"resource_limits.samples=-1", "\"resource_limits.samples=-1\": the value is not right"},
	{"resource_limits=3",
	 "\"resource_limits=3\": the policy has several parts, expected one of resource_limits.samples "
	 "resource_limits.instances resource_limits.samples_per_instance"},
	{"reliability.blocking=3s", "\"reliability.blocking=3s\": the policy has no such part, expected one of "
				    "reliability.kind reliability.max_blocking"},
	{"reliability=yes", "\"reliability=yes\": the value is not right, expected one of best_effort, reliable"},
	{"deadline=5", "\"deadline=5\": the value is not right, expected a number and ns, us, ms or s, not 0, or inf"},
	{"deadline=0", "\"deadline=0\": the value is not right"},
	{"deadline=-5s", "\"deadline=-5s\": the value is not right"},
	{"deadline=9223372036854775807ns", "\"deadline=9223372036854775807ns\": the value is not right"},
	{"deadline=9223372037s", "\"deadline=9223372037s\": the value is not right"},
	{"writer_data_lifecycle=yes", "\"writer_data_lifecycle=yes\": the value is not right, expected on or off"},
	{"user_data=%4", "\"user_data=%4\": the value is not right, expected at most 2048 bytes"},
	{"user_data=%", "\"user_data=%\": the value is not right"},
	{"partition=a%00b", "\"partition=a%00b\": the value is not right, expected names with commas"},
	{"ownership_strength=2147483648", "\"ownership_strength=2147483648\": the value is not right, expected a number "
					  "from -2147483648 to 2147483647"},
	{"=", "\"=\": there is no such policy"},
	{".", "\".\": it says nothing"},
};

START_TEST(mistakes_are_named)
{
	struct wh_dds_policies before;

	parse(&one, "lifespan=5s");
	ck_assert_int_eq(wh_dds_policies_copy(&before, &one), 0);
	ck_assert_int_eq(wh_dds_policies_parse(&one, mistakes[_i].text, &err), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_msg(strncmp(err.text, mistakes[_i].complaint, strlen(mistakes[_i].complaint)) == 0, "%s", err.text);
	ck_assert(wh_dds_policies_equal(&one, &before, NULL));
	ck_assert_uint_eq(one.set, before.set);
	ck_assert_int_eq(wh_dds_policies_parse(&one, mistakes[_i].text, NULL), WHORL_DDS_RETCODE_BAD_PARAMETER);
	wh_dds_policies_free(&before);
}
END_TEST

START_TEST(data_has_its_most)
{
	static char words[10000] = "user_data=", names[10000] = "partition=";

	memset(words + 10, 'x', WH_DDS_DATA_BYTES);
	parse(&one, words);
	ck_assert_uint_eq(one.user_data.count, WH_DDS_DATA_BYTES);
	words[10 + WH_DDS_DATA_BYTES] = 'x';
	ck_assert_int_eq(wh_dds_policies_parse(&one, words, &err), WHORL_DDS_RETCODE_BAD_PARAMETER);
	memset(names + 10, 'x', WH_DDS_PARTITION_BYTES - 1);
	parse(&one, names);
	names[10 + WH_DDS_PARTITION_BYTES - 1] = 'x';
	ck_assert_int_eq(wh_dds_policies_parse(&one, names, &err), WHORL_DDS_RETCODE_BAD_PARAMETER);
	memset(words + 10, 'x', sizeof(words) - 11);
	ck_assert_int_eq(wh_dds_policies_parse(&one, words, &err), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_ptr_nonnull(strstr(err.text, "it is too long, expected at most 8191 bytes"));
}
END_TEST

/* ---- the table ------------------------------------------------------------------------------------------------------------ */

/* Rows and fields ascend, each row has fields, each field a row, defaults are allowed, and each policy of DCPS is there. */
START_TEST(the_table_is_sound)
{
	uint64_t fields = 0;
	int last = 0;

	for (size_t i = 0; i < WH_DDS_POLICY_COUNT; i++) {
		ck_assert_int_gt((int)wh_dds_policy_rows[i].id, last);
		last = (int)wh_dds_policy_rows[i].id;
		ck_assert(last == (int)i + 1 || last >= WHORL_DDS_POLICY_CONSISTENCY);
		ck_assert_uint_ne(wh_dds_policy_rows[i].kinds, 0);
	}
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		ck_assert(i == 0 || field->policy >= wh_dds_fields[i - 1].policy);
		ck_assert_ptr_nonnull(wh_dds_policy_row(field->policy));
		ck_assert(wh_dds_field_has_bytes(field) || wh_dds_field_allows(field, field->fallback));
		ck_assert(wh_dds_field_has_bytes(field) || wh_dds_field_allows(field, field->writers));
		ck_assert_uint_le(field->offset + wh_dds_field_size(field), sizeof(struct wh_dds_policies));
		fields |= UINT64_C(1) << field->policy;
	}
	ck_assert_uint_eq(fields, wh_dds_policies_of(WH_DDS_KINDS));
	ck_assert_uint_eq(wh_dds_policies_of(WH_DDS_PUBLISHER),
			  BIT(PRESENTATION) | BIT(PARTITION) | BIT(GROUP_DATA) | BIT(ENTITY_FACTORY));
	ck_assert_uint_eq(wh_dds_policies_of(WH_DDS_PARTICIPANT), BIT(USER_DATA) | BIT(ENTITY_FACTORY));
	ck_assert_str_eq(wh_dds_policy_name(WHORL_DDS_POLICY_INVALID), "invalid");
	ck_assert_str_eq(wh_dds_policy_name(WHORL_DDS_POLICY_CONSISTENCY), "consistency");
}
END_TEST

START_TEST(the_table_describes_itself)
{
	FILE *out = text_open();
	size_t lines = 0;

	wh_dds_policies_describe(out);
	fclose(out);
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	ck_assert_uint_eq(lines, WH_DDS_POLICY_COUNT + 2);
	ck_assert_ptr_nonnull(strstr(text,
				     "| `reliability`* | topic, writer, reader | `kind` one of best_effort, reliable "
				     "(best_effort, a writer's reliable); `max_blocking` a number and ns, us, ms or s, "
				     "or inf (100ms) | no | "));
	ck_assert_ptr_nonnull(strstr(text, "| `user_data` | participant, writer, reader | "));
	free(text);
}
END_TEST

#define add_each(test_case, test, array) tcase_add_loop_test(test_case, test, 0, sizeof(array) / sizeof(*(array)))

Suite *suite(void)
{
	Suite *policies = suite_create("dds_policy");
	TCase *sets_case = tcase_create("sets"), *match = tcase_create("match"), *bytes = tcase_create("bytes"),
	      *texts = tcase_create("texts");

	tcase_add_test(sets_case, defaults_are_those_of_dcps);
	tcase_add_test(sets_case, endpoints_take_over);
	tcase_add_test(sets_case, what_an_entity_does_not_have_is_passed_over);
	tcase_add_test(sets_case, a_part_of_a_policy_sets_that_alone);
	tcase_add_test(sets_case, copies_are_equal_and_apart);
	tcase_add_test(sets_case, some_policies_change_later);
	tcase_add_test(sets_case, what_is_kept_for_late_readers);
	add_each(sets_case, sets_are_checked, sets);
	tcase_add_loop_test(sets_case, values_out_of_range_are_refused, 0, 10);
	tcase_add_test(sets_case, the_service_counts_only_if_it_is_set);
	tcase_add_test(sets_case, what_a_topic_promises);
	add_each(sets_case, endpoints_suit_their_topic, suits);
	add_each(match, offers_meet_requests, matches);
	add_each(match, names_fit_patterns, patterns);
	tcase_add_test(match, patterns_are_quick);
	add_each(match, partitions_meet, partitions);
	tcase_add_test(bytes, bytes_say_all);
	tcase_add_test(bytes, bytes_leave_defaults_out);
	add_each(bytes, wrong_bytes_are_refused, wrong);
	tcase_add_test(bytes, the_largest_fit);
	tcase_add_test(texts, texts_are_read_and_written);
	add_each(texts, mistakes_are_named, mistakes);
	tcase_add_test(texts, data_has_its_most);
	tcase_add_test(texts, the_table_is_sound);
	tcase_add_test(texts, the_table_describes_itself);
	for (size_t i = 0; i < 4; i++) {
		TCase *test_case = (TCase *[]){sets_case, match, bytes, texts}[i];

		tcase_add_checked_fixture(test_case, begin, end);
		suite_add_tcase(policies, test_case);
	}
	return policies;
}
