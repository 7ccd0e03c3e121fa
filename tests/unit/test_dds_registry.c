/* test_dds_registry.c - the registry of topics and participants: each rule, and participants at random, at several replicas and newcomers, against a plain
 * list of what was said.
 * Labels: random
 */
#include <string.h>

#include "dds/channel/registry.h"
#include "tests/support/seeds.h"
#include "transport/dice.h"

struct lab {
	struct wh_dds_registry *registry;
	uint64_t view, sequence;
	char told[4096];
	unsigned char message[16384];
	size_t count;
};

static struct lab lab;

static struct wh_dds_policies policies_of(enum wh_dds_kind kind, const char *text)
{
	struct wh_dds_policies policies;
	struct wh_error err = {.code = WHORL_OK};

	wh_dds_policies_init(&policies, kind);
	if (wh_dds_policies_parse(&policies, text, &err) != WHORL_DDS_RETCODE_OK)
		ck_abort_msg("%s: %s", text, err.text);
	return policies;
}

static void describe(char *line, const struct wh_dds_registry_event *event)
{
	static const char *const names[] = {"participant",   "participant-changed", "participant-gone", "topic",
					    "topic-changed", "topic-gone",          "topic-differs",    "registered"};
	static const char *const differs[] = {"", " type", " channel", " consistency", " kept"};

	line += sprintf(line, "%s", names[event->what]);
	if (event->what == WH_DDS_REGISTERED)
		line += sprintf(line, " #%u =%d%s", event->ticket, event->result, differs[event->differs]);
	if (event->policy != WHORL_DDS_POLICY_INVALID)
		line += sprintf(line, " %s", wh_dds_policy_name(event->policy));
	if (event->topic != NULL)
		line += sprintf(line, " %s %u %s", event->topic->name, (unsigned)event->topic->id,
				event->topic->channel);
	if (event->participant != NULL)
		sprintf(line, " %u.%u %s", event->participant->node, (unsigned)event->participant->incarnation,
			event->participant->name);
}

static void tell(void *ctx, const struct wh_dds_registry_event *event)
{
	char line[512];

	(void)ctx;
	describe(line, event);
	strcat(strcat(lab.told, line), "\n");
}

static void expect(const char *told)
{
	ck_assert_str_eq(lab.told, told);
	lab.told[0] = '\0';
}

static uint64_t uses_of(const struct wh_dds_named_topic *topic, uint32_t node, uint64_t incarnation)
{
	for (uint32_t i = 0; i < topic->use_count; i++)
		if (topic->uses[i].node == node && topic->uses[i].incarnation == incarnation)
			return topic->uses[i].count;
	return 0;
}

static void view(uint32_t count)
{
	struct wh_dds_member members[8] = {{0}};

	for (uint32_t i = 0; i < count; i++)
		members[i] = (struct wh_dds_member){.node = i + 1, .incarnation = 101 + i};
	ck_assert_int_eq(wh_dds_registry_view(lab.registry, ++lab.view, members, count), WHORL_OK);
	lab.sequence = 0;
}

static void begin(void)
{
	struct wh_dds_registry_config config = {.all = true, .tell = tell};

	memset(&lab, 0, sizeof(lab));
	lab.registry = wh_dds_registry_new(&config);
	view(3);
}

static void end(void)
{
	wh_dds_registry_free(lab.registry);
}

/* As bytes in one piece. */
static void take(struct wh_dds_out *out)
{
	struct wh_dds_cursor cursor = {0, 0, 0};

	if (out->failed || wh_dds_out_bytes(out) > sizeof(lab.message))
		ck_abort_msg("a message is too long");
	lab.count = wh_dds_out_read(out, &cursor, lab.message, sizeof(lab.message));
	wh_dds_out_free(out);
}

static void say(uint32_t node)
{
	struct wh_dds_from from = {node, 100 + node, {lab.view, lab.sequence++}};
	unsigned char script[2048] = {(unsigned char)(lab.count >> 8), (unsigned char)lab.count, (unsigned char)node};

	if (lab.count > 0 && lab.count + 3 <= sizeof(script)) { /* as tests/fuzz/fuzz_dds.c reads it */
		memcpy(script + 3, lab.message, lab.count);
		keep_seed('r', (int)(lab.count * 256 + lab.message[0]), script, lab.count + 3);
	}
	ck_assert_int_eq(wh_dds_registry_apply(lab.registry, &from, lab.message, lab.count), WHORL_OK);
}

static struct wh_dds_registration plain(const char *name)
{
	return (struct wh_dds_registration){
		.ticket = 5, .name = name, .channel = "c", .type = "s", .type_hash = 9, .keyed = true};
}

static void encode(struct wh_dds_registration topic, const char *text)
{
	struct wh_dds_policies policies = policies_of(WH_DDS_TOPIC, text);
	struct wh_dds_out out = {.bytes = NULL};

	topic.policies = &policies;
	wh_dds_put_registration(&out, &topic);
	take(&out);
	wh_dds_policies_free(&policies);
}

static void use(uint32_t node, struct wh_dds_registration topic, const char *text)
{
	encode(topic, text);
	say(node);
}

static void drop(uint32_t node, uint64_t topic)
{
	struct wh_dds_out out = {.bytes = NULL};

	wh_dds_put_drop(&out, topic);
	take(&out);
	say(node);
}

static struct wh_dds_registry_counts counts(void)
{
	struct wh_dds_registry_counts now;

	wh_dds_registry_counts(lab.registry, &now);
	return now;
}

static uint64_t digest(const struct wh_dds_registry *registry)
{
	bool failed;
	uint64_t is = wh_dds_registry_digest(registry, &failed);

	ck_assert(!failed);
	return is;
}

/* ---- rules ---------------------------------------------------------------------------------------------------------------- */

TEST_CASE("dds_registry", .timeout_s = 30, .setup = begin, .teardown = end);

TEST(the_first_of_a_name_fixes_it)
{
	struct wh_dds_registration t = plain("t");

	use(1, t, "durability=transient");
	use(2, t, "consistency=stored topic_data=x");
	expect("topic t 1 c\nregistered #5 =0 t 1 c\nregistered #5 =0 t 1 c\n");
	t.type = "other";
	use(2, t, "durability=transient");
	t = plain("t");
	t.type_hash++;
	use(2, t, "durability=transient");
	t = plain("t");
	t.keyed = false;
	use(2, t, "durability=transient");
	expect("registered #5 =-4 type t 1 c\nregistered #5 =-4 type t 1 c\nregistered #5 =-4 type t 1 c\n");
	t = plain("t");
	t.channel = "d";
	use(2, t, "durability=transient");
	t.channel = WH_DDS_ANY_CHANNEL;
	use(2, t, "durability=transient");
	t = plain("t");
	use(2, t, "");
	use(2, t, "durability=transient history=2");
	use(2, t, "durability=transient durability_service.cleanup=1s");
	expect("registered #5 =-4 channel t 1 c\nregistered #5 =0 t 1 c\nregistered #5 =-4 consistency t 1 c\n"
	       "registered #5 =-4 kept t 1 c\nregistered #5 =-4 kept t 1 c\n");
	ck_assert_uint_eq(counts().refused, 7);
	ck_assert_uint_eq(uses_of(wh_dds_registry_find(lab.registry, "t"), 2, 102), 2);
}

/* As a tool says them: the rest of the type counts. */
TEST(types_without_a_name_go_with_any)
{
	struct wh_dds_registration t = plain("t"), u = plain("u");

	use(1, t, "");
	t.type = WH_DDS_NAMELESS;
	use(2, t, "");
	t.type_hash++;
	use(2, t, "");
	expect("topic t 1 c\nregistered #5 =0 t 1 c\nregistered #5 =0 t 1 c\nregistered #5 =-4 type t 1 c\n");
	u.type = WH_DDS_NAMELESS;
	use(1, u, "");
	u = plain("u");
	use(2, u, "");
	expect("topic u 2 c\nregistered #5 =0 u 2 c\nregistered #5 =0 u 2 c\n");
}

TEST(a_topic_that_is_not_good_is_refused)
{
	struct wh_dds_registration t = plain("t");

	use(1, t, "history=5 resource_limits.samples_per_instance=4");
	t.channel = WH_DDS_ANY_CHANNEL;
	use(1, t, "");
	expect("registered #5 =-8 history\nregistered #5 =-3\n");
	ck_assert_ptr_null(wh_dds_registry_find(lab.registry, "t"));
	ck_assert_ptr_null(wh_dds_registry_find(NULL, "t"));
}

TEST(a_topic_goes_with_its_last_use)
{
	struct wh_dds_registration t = plain("t");

	use(1, t, "");
	use(2, t, "");
	use(2, t, "");
	drop(3, 1); /* it has no use of it */
	drop(2, 1);
	drop(2, 1);
	drop(2, 1);
	ck_assert_uint_eq(counts().voids, 2);
	expect("topic t 1 c\nregistered #5 =0 t 1 c\nregistered #5 =0 t 1 c\nregistered #5 =0 t 1 c\n");
	drop(1, 1);
	expect("topic-gone t 1 c\n");
	t.type = "other";
	use(1, t, "");
	expect("topic t 2 c\nregistered #5 =0 t 2 c\n"); /* of another number */
	use(3, t, "");
	view(2);
	ck_assert_ptr_nonnull(wh_dds_registry_find(lab.registry, "t"));
	lab.told[0] = '\0';
	drop(1, 2);
	expect("topic-gone t 2 c\n");
}

TEST(a_transient_topic_goes_with_the_last_use_of_its_channel)
{
	struct wh_dds_registration t = plain("t"), other = plain("other"), apart = plain("apart");

	apart.channel = "d";
	use(1, t, "durability=transient");
	use(2, other, "");
	use(2, apart, "");
	lab.told[0] = '\0';
	drop(1, 1);
	expect("");
	drop(2, 2);
	expect("topic-gone t 1 c\ntopic-gone other 2 c\n");
	ck_assert_ptr_nonnull(wh_dds_registry_find(lab.registry, "apart"));
}

/* Neither the last use nor the end of all participants takes it along, nor what is said of it. */
TEST(a_logged_topic_stays)
{
	struct wh_dds_registration t = plain("t"), other = plain("other");
	const struct wh_dds_member newcomer = {.node = 1, .incarnation = 900};
	struct wh_dds_from from = {1, 900, {0, 0}};

	use(1, t, "durability=persistent history=3");
	use(1, other, "consistency=logged");
	use(2, t, "durability=persistent history=3");
	lab.told[0] = '\0';
	drop(1, 1);
	drop(2, 1);
	drop(1, 2);
	expect("");
	ck_assert_int_eq(wh_dds_registry_view(lab.registry, ++lab.view, &newcomer, 1), WHORL_OK);
	expect("");
	from.place.view = lab.view;
	encode(t, "durability=persistent history=4");
	ck_assert_int_eq(wh_dds_registry_apply(lab.registry, &from, lab.message, lab.count), WHORL_OK);
	expect("registered #5 =-4 kept t 1 c\n");
	from.place.sequence++;
	t.channel = "*";
	encode(t, "durability=persistent history=3");
	ck_assert_int_eq(wh_dds_registry_apply(lab.registry, &from, lab.message, lab.count), WHORL_OK);
	expect("registered #5 =0 t 1 c\n");
	ck_assert_ptr_nonnull(wh_dds_registry_find(lab.registry, "other"));
}

TEST(participants_come_and_go)
{
	struct wh_dds_policies policies = policies_of(WH_DDS_PARTICIPANT, "user_data=x");
	struct wh_dds_out out = {.bytes = NULL};

	wh_dds_put_participant(&out, "me", 77, &policies);
	take(&out);
	say(3);
	say(3);
	say(9); /* no member */
	expect("participant 3.103 me\nparticipant-changed 3.103 me\n");
	ck_assert_uint_eq(counts().voids, 1);
	ck_assert_uint_eq(wh_dds_registry_participant(lab.registry, 0)->process, 77);
	use(3, plain("t"), "");
	lab.told[0] = '\0';
	view(2);
	expect("topic-gone t 1 c\nparticipant-gone 3.103 me\n");
	ck_assert_ptr_null(wh_dds_registry_participant(lab.registry, 0));
	wh_dds_policies_free(&policies);
}

TEST(what_may_change_of_a_topic_does)
{
	struct wh_dds_policies policies = policies_of(WH_DDS_TOPIC, "topic_data=new"),
			       fixed = policies_of(WH_DDS_TOPIC, "history=3");
	struct wh_dds_out out = {.bytes = NULL};

	use(1, plain("t"), "topic_data=old");
	lab.told[0] = '\0';
	wh_dds_put_data(&out, 1, &policies);
	take(&out);
	say(2); /* it does not use it */
	say(1);
	wh_dds_put_data(&out, 1, &fixed);
	take(&out);
	say(1);
	expect("topic-changed t 1 c\n");
	ck_assert_uint_eq(counts().voids, 2);
	ck_assert_mem_eq(wh_dds_registry_find(lab.registry, "t")->policies.topic_data.bytes, "new", 3);
	wh_dds_policies_free(&policies);
	wh_dds_policies_free(&fixed);
}

TEST(garbage_is_counted_and_names_are_not_too_long)
{
	char name[300] = "";
	struct wh_dds_registration t = plain(name);

	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	use(1, t, "");
	name[255] = '\0';
	use(1, t, "");
	t.channel = "a b";
	use(1, t, "");
	lab.count = 0;
	say(1);
	ck_assert_uint_eq(counts().garbage, 3);
	encode(t, "");
	for (size_t cut = 0, all = lab.count; cut < all; cut++) {
		lab.count = cut;
		say(1);
	}
	ck_assert_uint_eq(counts().refused, 0);
	ck_assert_ptr_null(wh_dds_registry_topic(lab.registry, 1));
}

TEST(messages_come_in_their_order)
{
	struct wh_dds_from from = {1, 101, {1, 5}};

	ck_assert_int_eq(wh_dds_registry_apply(lab.registry, &from, "", 0), WHORL_OK);
	ck_assert_int_eq(wh_dds_registry_apply(lab.registry, &from, "", 0), WHORL_INVALID);
	from.place = (struct wh_dds_place){2, 9};
	ck_assert_int_eq(wh_dds_registry_apply(lab.registry, &from, "", 0), WHORL_INVALID);
	ck_assert_uint_eq(counts().garbage, 1);
}

TEST_LOOP(people_are_told_what_differs, 0, 5)
{
	static const struct {
		const char *policies, *channel, *type, *expected;
	} cases[] = {
		{"durability=transient", "c", "other",
		 "topic t: its type is s (with a key, hash 0000000000000009), here other (with a key, hash 0000000000000009); node 2 registered it first"},
		{"durability=transient", "d", "s", "topic t: its channel is c, here d; node 2 registered it first"},
		{"", "c", "s", "topic t: its consistency is stored, here atomic; node 2 registered it first"},
		{"durability=transient history=all", "c", "s",
		 "topic t: for late readers it keeps 1 samples of an instance within -1 samples, -1 instances, -1 of each, cleaned up after 0 ns, "
		 "here all samples within -1 samples, -1 instances, -1 of each, cleaned up after 0 ns; node 2 registered it first"},
		{"durability=transient", "*", "s", "topic t: nothing differs; node 2 registered it first"},
	};
	struct wh_dds_registration t = plain("t");
	struct wh_dds_policies policies = policies_of(WH_DDS_TOPIC, cases[_i].policies);
	char text[512];

	use(2, t, "durability=transient");
	t.policies = &policies;
	t.channel = cases[_i].channel;
	t.type = cases[_i].type;
	wh_dds_registry_explain(text, sizeof(text), wh_dds_registry_find(lab.registry, "t"), &t);
	ck_assert_str_eq(text, cases[_i].expected);
	wh_dds_policies_free(&policies);
}

/* ---- states --------------------------------------------------------------------------------------------------------------- */

static struct wh_dds_registry *copy(const struct wh_dds_registry *registry, size_t cut, size_t at, unsigned char change)
{
	struct wh_dds_registry_config config = {.all = true};
	struct wh_dds_registry *made = wh_dds_registry_new(&config);
	struct wh_dds_out out = {.bytes = NULL};
	struct wh_dds_cursor cursor = {0, 0, 0};
	size_t count;
	unsigned char *bytes;
	enum whorl_result result;

	wh_dds_registry_save(registry, &out);
	count = wh_dds_out_bytes(&out);
	bytes = malloc(count);
	ck_assert_uint_eq(wh_dds_out_read(&out, &cursor, bytes, count), count);
	if (at < count)
		bytes[at] ^= change;
	else
		keep_seed('n', 0, bytes, count);
	result = wh_dds_registry_restore(made, bytes, count - cut);
	if (result == WHORL_OK) {
		struct wh_dds_out again = {.bytes = NULL};

		wh_dds_put(&again, bytes, count);
		ck_assert_uint_eq(digest(made), wh_dds_out_digest(&again));
		wh_dds_out_free(&again);
	} else {
		ck_assert_int_eq(result, WHORL_INVALID);
		wh_dds_registry_free(made);
		made = NULL;
	}
	wh_dds_out_free(&out);
	free(bytes);
	return made;
}

TEST(states_are_written_in_one_way)
{
	struct wh_dds_registration t = plain("t");
	struct wh_dds_policies policies = policies_of(WH_DDS_PARTICIPANT, "user_data=x");
	struct wh_dds_out out = {.bytes = NULL};
	size_t bytes, good = 0;

	wh_dds_put_participant(&out, "me", 77, &policies);
	take(&out);
	say(3);
	t.description = wh_dds_block_new("long x", 6);
	use(1, t, "durability=transient topic_data=abc");
	use(2, t, "durability=transient");
	use(2, plain("u"), "");
	wh_dds_registry_save(lab.registry, &out);
	bytes = wh_dds_out_bytes(&out);
	wh_dds_out_free(&out);
	for (size_t cut = 1; cut <= bytes; cut++)
		ck_assert_ptr_null(copy(lab.registry, cut, SIZE_MAX, 0));
	for (size_t at = 0; at < bytes; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct wh_dds_registry *other = copy(lab.registry, 0, at, (unsigned char)(1 << bit));

			good += other != NULL;
			wh_dds_registry_free(other);
		}
	ck_assert_uint_gt(good, 100);
	wh_dds_block_drop(t.description);
	wh_dds_policies_free(&policies);
}

/* ---- at random ------------------------------------------------------------------------------------------------------------ */

#define ROUNDS 200
#define REPLICAS 3
#define NAMES 4
#define LIVES 24

struct story { /* what is true of it, said plainly: for each name, number, type, channel and uses of each life */
	struct wh_dice dice;
	struct wh_dds_registry *replicas[REPLICAS];
	char told[REPLICAS][65536];
	uint64_t view, sequence, numbers;
	bool lives[LIVES];
	unsigned types[NAMES], channels[NAMES], uses[NAMES][LIVES];
	bool lasts[NAMES];
	uint64_t ids[NAMES]; /* 0: it is not there */
};

static uint32_t draw(struct story *story, uint32_t below)
{
	return (uint32_t)(wh_dice_roll(&story->dice) % below);
}

static void tell_story(void *ctx, const struct wh_dds_registry_event *event)
{
	char *told = ctx, line[512];

	describe(line, event);
	if (strlen(told) + strlen(line) + 2 > sizeof(((struct story *)0)->told[0]))
		told[0] = '\0'; /* alike at all */
	strcat(strcat(told, line), "\n");
}

static struct wh_dds_registry *replica(struct story *story, unsigned at)
{
	struct wh_dds_registry_config config = {.all = true, .tell = tell_story, .ctx = story->told[at]};

	return wh_dds_registry_new(&config);
}

static bool is_used(const struct story *story, unsigned name)
{
	for (unsigned life = 0; life < LIVES; life++)
		if (story->uses[name][life] > 0)
			return true;
	return false;
}

/* Topics that nothing holds are not there. */
static void settle(struct story *story)
{
	bool used[2] = {false, false};

	for (unsigned name = 0; name < NAMES; name++)
		if (story->ids[name] > 0 && is_used(story, name))
			used[story->channels[name]] = true;
	for (unsigned name = 0; name < NAMES; name++)
		if (story->ids[name] > 0 && !is_used(story, name) &&
		    !(story->lasts[name] && used[story->channels[name]]))
			story->ids[name] = 0;
}

static void deliver(struct story *story, unsigned life)
{
	struct wh_dds_from from = {life % 5, life, {story->view, story->sequence++}};

	for (unsigned i = 0; i < REPLICAS; i++)
		ck_assert_int_eq(wh_dds_registry_apply(story->replicas[i], &from, lab.message, lab.count), WHORL_OK);
}

static void register_one(struct story *story, unsigned life)
{
	static const char *const names[] = {"a", "b", "c", "d"}, *const types[] = {"s", "t"},
				 *const channels[] = {"x", "y"};
	unsigned name = draw(story, NAMES), type = draw(story, 5) == 0, channel = draw(story, 4) == 0;
	bool lasts = draw(story, 2);
	struct wh_dds_registration topic = plain(names[name]);

	topic.type = types[type];
	topic.channel = channels[channel];
	topic.ticket = draw(story, 1000);
	encode(topic, lasts ? "consistency=stored durability=transient" : "consistency=stored");
	deliver(story, life);
	if (!story->lives[life])
		return;
	if (story->ids[name] == 0) {
		story->ids[name] = ++story->numbers;
		story->types[name] = type;
		story->channels[name] = channel;
		story->lasts[name] = lasts;
	}
	story->uses[name][life] += story->types[name] == type && story->channels[name] == channel;
}

static void drop_one(struct story *story, unsigned life)
{
	unsigned name = draw(story, NAMES);
	struct wh_dds_out out = {.bytes = NULL};

	wh_dds_put_drop(&out, story->ids[name]);
	take(&out);
	deliver(story, life);
	story->uses[name][life] -= story->uses[name][life] > 0 && story->lives[life];
	settle(story);
}

static void next_view(struct story *story)
{
	struct wh_dds_member members[LIVES] = {{0}};
	uint32_t count = 0;

	story->view++;
	story->sequence = 0;
	for (unsigned life = 1; life < LIVES; life++) {
		story->lives[life] = draw(story, 3) > 0;
		if (story->lives[life])
			members[count++] = (struct wh_dds_member){.node = life % 5, .incarnation = life};
		for (unsigned name = 0; name < NAMES; name++)
			story->uses[name][life] *= story->lives[life];
	}
	for (unsigned i = 0; i < REPLICAS; i++)
		ck_assert_int_eq(wh_dds_registry_view(story->replicas[i], story->view, members, count), WHORL_OK);
	settle(story);
}

static void check(struct story *story)
{
	static const char *const names[] = {"a", "b", "c", "d"};

	for (unsigned i = 1; i < REPLICAS; i++)
		if (digest(story->replicas[i]) != digest(story->replicas[0]) ||
		    strcmp(story->told[i], story->told[0]) != 0)
			ck_abort_msg("replica %u is another one", i);
	for (unsigned name = 0; name < NAMES; name++) {
		const struct wh_dds_named_topic *topic = wh_dds_registry_find(story->replicas[0], names[name]);

		if ((topic != NULL ? topic->id : 0) != story->ids[name])
			ck_abort_msg("topic %s", names[name]);
		for (unsigned life = 1; topic != NULL && life < LIVES; life++)
			if (uses_of(topic, life % 5, life) != story->uses[name][life])
				ck_abort_msg("uses of topic %s by life %u", names[name], life);
	}
}

static void step(struct story *story)
{
	uint32_t what = draw(story, 20);
	unsigned life = 1 + draw(story, LIVES - 1), at = draw(story, REPLICAS);
	struct wh_dds_registry *was = story->replicas[at];

	if (what == 0) {
		next_view(story);
	} else if (what == 1) { /* garbage */
		lab.count = draw(story, 20);
		for (size_t i = 0; i < lab.count; i++)
			lab.message[i] = (unsigned char)draw(story, 128);
		deliver(story, life);
	} else if (what < 10) {
		drop_one(story, life);
	} else {
		register_one(story, life);
	}
	if (draw(story, 3) == 0) { /* a newcomer takes the place of one */
		struct wh_dds_registry_config config = {.all = true, .tell = tell_story, .ctx = story->told[at]};
		struct wh_dds_out out = {.bytes = NULL};

		wh_dds_registry_save(was, &out);
		take(&out);
		story->replicas[at] = wh_dds_registry_new(&config);
		ck_assert_int_eq(wh_dds_registry_restore(story->replicas[at], lab.message, lab.count), WHORL_OK);
		wh_dds_registry_free(was);
	}
	check(story);
}

TEST(registries_at_random)
{
	struct story *story = malloc(sizeof(*story));
	uint64_t seed = test_seed(1);

	for (uint64_t round = 0; round < ROUNDS; round++) {
		memset(story, 0, sizeof(*story));
		story->dice = (struct wh_dice){seed + round};
		for (unsigned i = 0; i < REPLICAS; i++)
			story->replicas[i] = replica(story, i);
		next_view(story);
		for (uint32_t i = 0, steps = draw(story, 200); i < steps; i++)
			step(story);
		for (unsigned i = 0; i < REPLICAS; i++)
			wh_dds_registry_free(story->replicas[i]);
	}
	free(story);
}

TEST_SUITE("dds_registry")
