/* test_dds_channel.c - the rules of a channel's machine, one by one (docs/decisions/0052), in stories of a few messages; what random runs
 * do not show by themselves.
 */
#include "tests/support/dds_channel_lab.h"
#include "tests/support/seeds.h"

#define SECOND INT64_C(1000000000)

struct lab {
	struct wh_dds_channel *machine;
	const char *topic; /* its policies */
	bool keyless;
	uint64_t topic_id, view, sequence;
	int64_t now_ns;
	char told[8192];
	struct lab_message message;
	struct wh_dds_block *held;  /* of the last sample that was told */
	unsigned char script[2048]; /* what was said, as tests/fuzz/fuzz_dds.c reads it, while there is room */
	size_t script_bytes;
};

static struct lab lab;

static void tell(void *ctx, const struct wh_dds_event *event)
{
	char line[256];

	(void)ctx;
	if (event->what == WH_DDS_SAMPLE && event->sample->block != NULL) {
		wh_dds_block_drop(lab.held);
		lab.held = wh_dds_block_hold(event->sample->block);
	}
	lab_line(line, sizeof(line), event);
	ck_assert_uint_lt(strlen(lab.told) + strlen(line) + 2, sizeof(lab.told));
	strcat(strcat(lab.told, line), "\n");
}

static struct wh_dds_channel *machine(uint32_t node, bool all)
{
	struct wh_dds_channel_config config = {.node = node, .incarnation = 100 + node, .all = all, .tell = tell};
	struct wh_dds_channel *made = wh_dds_channel_new(&config);

	ck_assert_ptr_nonnull(made);
	return made;
}

/* Members are node 1 to `count`, by rank. */
static void view(uint32_t count)
{
	struct wh_dds_member members[8] = {{0}};

	for (uint32_t i = 0; i < count; i++)
		members[i] = (struct wh_dds_member){.node = i + 1, .incarnation = 101 + i};
	ck_assert_int_eq(wh_dds_channel_view(lab.machine, ++lab.view, members, count), WHORL_OK);
	lab.sequence = 0;
}

static void begin(void)
{
	memset(&lab, 0, sizeof(lab));
	lab.machine = machine(1, true);
	lab.topic = "durability=transient history=all";
	lab.topic_id = 7;
	view(3);
}

static void keep(uint32_t node, const unsigned char *bytes, size_t count)
{
	unsigned char *at = lab.script + lab.script_bytes;

	if (lab.script_bytes + 3 + count > sizeof(lab.script))
		return;
	at[0] = (unsigned char)(count >> 8);
	at[1] = (unsigned char)count;
	at[2] = (unsigned char)node;
	memcpy(at + 3, bytes, count);
	lab.script_bytes += 3 + count;
}

static void end(void)
{
	if (lab.script_bytes > 0)
		keep_seed('m', (int)(lab.script_bytes * 1000 + lab.script[lab.script_bytes - 1]), lab.script,
			  lab.script_bytes);
	wh_dds_channel_free(lab.machine);
	wh_dds_block_drop(lab.held);
}

static void say(uint32_t node)
{
	struct wh_dds_from from = {node, 100 + node, {lab.view, lab.sequence++}};

	keep(node, lab.message.bytes, lab.message.count);
	ck_assert_int_eq(wh_dds_channel_apply(lab.machine, &from, lab.message.bytes, lab.message.count, lab.now_ns),
			 WHORL_OK);
}

/* Endpoint 12 is the second of node 1. */
static void announce(enum wh_dds_kind kind, uint32_t number, const char *policies)
{
	lab_announce(&lab.message, &(struct lab_new){.kind = kind,
						     .number = number,
						     .group = 1,
						     .topic = lab.topic_id,
						     .name = "t",
						     .topic_policies = lab.topic,
						     .policies = policies,
						     .keyless = lab.keyless});
	say(number / 10);
}

static void writer(uint32_t number, const char *policies)
{
	announce(WH_DDS_WRITER, number, policies);
}

static void reader(uint32_t number, const char *policies)
{
	announce(WH_DDS_READER, number, policies);
}

static void change(uint32_t number, uint8_t what, int key, int64_t source_ns, const char *text)
{
	lab_sample(&lab.message, number, what, source_ns, key, text);
	say(number / 10);
}

static void write_to(uint32_t number, int key, const char *text)
{
	change(number, WH_DDS_WRITE, key, 0, text);
}

static void simple(uint32_t node, enum wh_dds_message_kind kind, uint32_t number, enum wh_dds_kind what)
{
	lab_say(&lab.message, &(struct wh_dds_message){.kind = kind, .number = number, .what = what});
	say(node);
}

static void finish(uint32_t number, enum wh_dds_kind kind)
{
	simple(number / 10, WH_DDS_SAY_END, number, kind);
}

/* What was told since it was last asked. */
static void expect(const char *told)
{
	ck_assert_str_eq(lab.told, told);
	lab.told[0] = '\0';
}

static struct wh_dds_channel_counts counts(void)
{
	struct wh_dds_channel_counts now;

	wh_dds_channel_counts(lab.machine, &now);
	return now;
}

static void hush(void)
{
	lab.told[0] = '\0';
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------------- */

TEST_CASE("dds_channel", .timeout_s = 30, .setup = begin, .teardown = end);

TEST(a_sample_is_these_bytes)
{
	static const unsigned char plain[] = {1, 1, 0, 0, 5, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 'x'};
	static const unsigned char keyed[] = {1, 12, 0, 0, 5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					      9, 0,  0, 0, 0, 0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0};
	struct wh_dds_said said;

	lab_sample(&lab.message, 5, WH_DDS_WRITE, 258, -1, "x");
	ck_assert_uint_eq(lab.message.count, sizeof(plain));
	ck_assert_mem_eq(lab.message.bytes, plain, sizeof(plain));
	lab_sample(&lab.message, 5, WH_DDS_UNREGISTER, -1, 9, "");
	ck_assert_uint_eq(lab.message.count, sizeof(keyed));
	ck_assert_mem_eq(lab.message.bytes, keyed, sizeof(keyed));
	ck_assert(wh_dds_take_sample(&said, keyed, sizeof(keyed)));
	ck_assert(said.keyed && said.change == WH_DDS_UNREGISTER && said.source_ns == -1 && said.count == 0);
	ck_assert_uint_eq(said.key[0], 9);
	lab.message.bytes[1] |= WH_DDS_WRITE; /* both to write and to leave it */
	ck_assert(!wh_dds_take_sample(&said, lab.message.bytes, sizeof(keyed)));
}

static void some_message(struct lab_message *out, int kind)
{
	struct wh_dds_message message = {.kind = (enum wh_dds_message_kind)kind,
					 .number = 3,
					 .what = WH_DDS_READER,
					 .topic = 7,
					 .writer = {104, 4, 41},
					 .seen = 1000};

	dds_channel_lab_key(message.key, 6);
	if (kind == WH_DDS_SAY_NEW)
		lab_announce(out, &(struct lab_new){.kind = WH_DDS_WRITER,
						    .number = 3,
						    .group = 4,
						    .topic = 8,
						    .name = "name",
						    .topic_policies = "history=all",
						    .policies = "partition=a,b user_data=xyz"});
	else if (kind == WH_DDS_SAY_CHANGE)
		lab_change(out, WH_DDS_WRITER, 3, "ownership_strength=-1");
	else if (kind == WH_DDS_SAY_SAMPLE)
		lab_sample(out, 3, WH_DDS_DISPOSE, 1, 2, "key");
	else
		lab_say(out, &message);
}

/* False: it is no message. */
static bool write_again(struct lab_message *again, const struct lab_message *said)
{
	struct wh_dds_message message;
	struct wh_dds_said sample;

	if (wh_dds_take_sample(&sample, said->bytes, said->count)) {
		again->count = wh_dds_put_sample(again->bytes, sample.number, sample.change, sample.source_ns,
						 sample.keyed ? sample.key : NULL);
		memcpy(again->bytes + again->count, sample.bytes, sample.count);
		again->count += sample.count;
		return true;
	}
	if (wh_dds_take_message(&message, said->bytes, said->count) != WHORL_OK)
		return false;
	lab_say(again, &message);
	wh_dds_message_free(&message);
	return true;
}

/* Each byte is made another, each end is cut: it is no message, or one that is written so. */
TEST_LOOP(messages_are_written_in_one_way, WH_DDS_SAY_SAMPLE, WH_DDS_SAY_KINDS)
{
	static struct lab_message said, again;
	size_t others = 0;

	some_message(&said, _i);
	for (size_t cut = 0, all = said.count; cut <= all; cut++) {
		said.count = cut;
		ck_assert(write_again(&again, &said) == (cut == all || (_i == WH_DDS_SAY_SAMPLE && cut >= 32)));
	}
	for (size_t at = 0; at < said.count; at++) {
		unsigned char was = said.bytes[at];

		for (unsigned value = 0; value < 256; value++) {
			said.bytes[at] = (unsigned char)value;
			if (!write_again(&again, &said))
				continue;
			others++;
			if (again.count != said.count || memcmp(again.bytes, said.bytes, said.count) != 0)
				ck_abort_msg("byte %zu as %u: it is written in another way", at, value);
		}
		said.bytes[at] = was;
	}
	ck_assert_uint_gt(others, said.count);
}

TEST(names_are_not_too_long)
{
	char name[10241];
	size_t lengths[] = {255, 256, 10240};

	for (int i = 0; i < 3; i++) {
		memset(name, 'n', sizeof(name));
		name[lengths[i]] = '\0';
		lab_announce(&lab.message, &(struct lab_new){.kind = WH_DDS_WRITER,
							     .number = 11 + (uint32_t)i,
							     .topic = 7,
							     .name = name,
							     .topic_policies = "",
							     .policies = ""});
		say(1);
	}
	ck_assert_uint_eq(counts().garbage, 2);
	ck_assert_uint_eq(counts().endpoints, 1);
}

/* ---- verdicts ------------------------------------------------------------------------------------------------------------- */

TEST(the_first_fixes_what_a_topic_is)
{
	writer(11, "");
	lab.topic = "durability=transient history=3";
	writer(12, "");
	lab.topic = "durability=transient history=all durability_service.keep=all durability_service.cleanup=1s";
	writer(13, "");
	lab.topic = "consistency=atomic history=all";
	writer(14, "");
	lab.topic = "durability=transient history=all";
	lab.keyless = true;
	writer(15, "");
	lab.keyless = false;
	writer(16, "");
	expect("verdict 1.11\nverdict 1.12 =-4\nverdict 1.13 =-4\nverdict 1.14 =-4\nverdict 1.15 =-4\nverdict 1.16\n");
	ck_assert_uint_eq(counts().endpoints, 2);
}

TEST(policies_must_fit)
{
	lab.topic = "";
	writer(11, "durability=transient_local");
	writer(12, "durability=persistent");
	reader(13, "deadline=1ms time_based_filter=2ms");
	writer(14, "");
	writer(14, "");
	expect("verdict 1.11 =-8 durability\nverdict 1.12 =-8 durability\nverdict 1.13 =-8 time_based_filter\nverdict 1.14\n");
	ck_assert_uint_eq(counts().voids, 1); /* the same number once more */
	lab_change(&lab.message, WH_DDS_WRITER, 14, "ownership=exclusive");
	say(1);
	lab_change(&lab.message, WH_DDS_WRITER, 15, "");
	say(1);
	expect("verdict 1.14 =-7 ownership\n");
	ck_assert_uint_eq(counts().voids, 3);
}

TEST(a_number_is_not_used_again_while_something_of_it_is_kept)
{
	writer(11, "durability=transient writer_data_lifecycle=off");
	write_to(11, 1, "x");
	finish(11, WH_DDS_WRITER);
	writer(11, "durability=transient");
	ck_assert_uint_eq(counts().voids, 1);
	ck_assert_uint_eq(counts().endpoints, 0);
}

TEST(there_are_not_too_many_endpoints)
{
	lab.topic = "";
	lab.machine->config.tell = NULL;
	writer(11, "");
	for (uint32_t i = 1; i < WH_DDS_ENDPOINTS_MAX; i++) {
		struct wh_dds_from from = {1, 101, {lab.view, lab.sequence++}};

		lab.message.bytes[1] = (unsigned char)(i + 11);
		lab.message.bytes[2] = (unsigned char)((i + 11) >> 8);
		lab.message.bytes[3] = (unsigned char)((i + 11) >> 16);
		if (wh_dds_channel_apply(lab.machine, &from, lab.message.bytes, lab.message.count, 0) != WHORL_OK)
			ck_abort_msg("endpoint %u", i);
	}
	ck_assert_uint_eq(counts().endpoints, WH_DDS_ENDPOINTS_MAX);
	lab.machine->config.tell = tell;
	lab_announce(&lab.message, &(struct lab_new){.kind = WH_DDS_READER,
						     .number = 1,
						     .topic = 7,
						     .name = "t",
						     .topic_policies = "",
						     .policies = ""});
	say(2);
	expect("verdict 2.1 =-5\n");
}

/* The registry has given the name again. */
TEST(what_was_kept_under_a_former_number_goes)
{
	writer(11, "durability=transient writer_data_lifecycle=off");
	write_to(11, 1, "x");
	finish(11, WH_DDS_WRITER);
	ck_assert_uint_eq(counts().entries, 1);
	lab.topic_id = 8;
	hush();
	reader(21, "durability=transient");
	expect("verdict 2.21\nend r2.21\n");
	ck_assert_uint_eq(counts().entries, 0);
	ck_assert_uint_eq(counts().topics, 1);
}

/* ---- places --------------------------------------------------------------------------------------------------------------- */

static enum whorl_result say_at(uint64_t at_view, uint64_t sequence)
{
	struct wh_dds_from from = {1, 101, {at_view, sequence}};

	return wh_dds_channel_apply(lab.machine, &from, "", 0, 0);
}

TEST(messages_come_in_their_order)
{
	struct wh_dds_channel *fresh = machine(1, true), *was = lab.machine;

	lab.machine = fresh;
	ck_assert_int_eq(say_at(0, 0), WHORL_INVALID); /* there is no view yet */
	lab.machine = was;
	ck_assert_int_eq(say_at(1, 5), WHORL_OK);
	ck_assert_int_eq(say_at(1, 5), WHORL_INVALID);
	ck_assert_int_eq(say_at(1, 4), WHORL_INVALID);
	ck_assert_int_eq(say_at(2, 6), WHORL_INVALID);
	ck_assert_int_eq(say_at(0, 6), WHORL_INVALID);
	ck_assert_uint_eq(counts().garbage, 1);
	view(2);
	ck_assert_int_eq(say_at(2, 0), WHORL_OK);
	ck_assert_int_eq(say_at(1, 9), WHORL_INVALID);
	wh_dds_channel_free(fresh);
}

TEST(a_view_that_is_known_changes_nothing)
{
	uint64_t digest;

	writer(31, "");
	hush();
	digest = lab_digest(lab.machine);
	lab.view--;
	view(1);
	ck_assert_uint_eq(lab_digest(lab.machine), digest);
	view(2);
	ck_assert_uint_eq(counts().endpoints, 0);
	lab_sample(&lab.message, 31, WH_DDS_WRITE, 0, 1, "x");
	say(3);
	ck_assert_uint_eq(counts().voids, 1);
}

TEST(what_a_stranger_says_is_void)
{
	writer(41, ""); /* of node 4, which is no member */
	ck_assert_uint_eq(counts().voids, 1);
	ck_assert_uint_eq(counts().endpoints, 0);
	expect("");
}

/* ---- what is the same to the random test, in words ------------------------------------------------------------------------- */

TEST(a_late_reader_gets_what_was_kept_with_its_places)
{
	writer(11, "durability=transient writer_data_lifecycle=off");
	write_to(11, 1, "a");
	write_to(11, 2, "b");
	change(11, WH_DDS_DISPOSE, 1, 0, "");
	write_to(11, 1, "c");
	hush();
	view(3);
	reader(21, "durability=transient_local");
	expect("verdict 2.21\nmatch r2.21 w1.11\nsample r2.21 w1.11 k1 #1 c1 @1.1 t0 'a' a0.0 h\n"
	       "sample r2.21 w1.11 k2 #2 c1 @1.2 t0 'b' a0.0 h\nsample r2.21 w1.11 k1 #3 c2 @1.3 t0 '' d0.0 h\n"
	       "sample r2.21 w1.11 k1 #4 c1 @1.4 t0 'c' a1.0 h\nend r2.21 (3)\n");
	finish(11, WH_DDS_WRITER);
	hush();
	reader(22, "durability=transient");
	expect("verdict 2.22\nsample r2.22 w1.11 k1 #1 c1 @1.1 t0 'a' a0.0 h\n"
	       "sample r2.22 w1.11 k2 #2 c1 @1.2 t0 'b' a0.0 h\nsample r2.22 w1.11 k1 #3 c2 @1.3 t0 '' d0.0 h\n"
	       "sample r2.22 w1.11 k1 #4 c1 @1.4 t0 'c' a1.0 h\nlast r2.22 w1.11 k1 @2.1 n1.0 h\n"
	       "last r2.22 w1.11 k2 @2.1 n0.0 h\nend r2.22 (3)\n");
}

/* All members are of lives that are over: what was written to a logged topic stays, with its places, but for what went with its writer. */
TEST(what_is_logged_outlives_all_its_members)
{
	const struct wh_dds_member newcomer = {.node = 1, .incarnation = 900};
	struct wh_dds_from from = {1, 900, {0, 0}};

	lab.topic = "durability=persistent history=all";
	writer(11, "durability=persistent");
	writer(12, "durability=transient_local");
	writer(21, "durability=transient");
	write_to(11, 1, "a");
	write_to(12, 2, "b");
	write_to(21, 3, "c");
	ck_assert_int_eq(wh_dds_channel_view(lab.machine, lab.view + 5, &newcomer, 1), WHORL_OK);
	ck_assert_uint_eq(counts().endpoints, 0);
	ck_assert_uint_eq(counts().entries, 2);
	hush();
	from.place.view = lab.view + 5;
	lab_announce(&lab.message, &(struct lab_new){.kind = WH_DDS_READER,
						     .number = 1,
						     .topic = lab.topic_id,
						     .name = "t",
						     .topic_policies = lab.topic,
						     .policies = "durability=transient_local"});
	ck_assert_int_eq(wh_dds_channel_apply(lab.machine, &from, lab.message.bytes, lab.message.count, 0), WHORL_OK);
	expect("verdict 1.1\nsample r1.1 w1.11 k1 #1 c1 @1.3 t0 'a' a0.0 h\nsample r1.1 w2.21 k3 #1 c1 @1.5 t0 'c' a0.0 h\n"
	       "last r1.1 w1.11 k1 @6.0 n0.0 h\nlast r1.1 w2.21 k3 @6.0 n0.0 h\nend r1.1 (2)\n");
	from.place.sequence++;
	lab_announce(&lab.message, &(struct lab_new){.kind = WH_DDS_READER,
						     .number = 2,
						     .topic = lab.topic_id,
						     .name = "t",
						     .topic_policies = lab.topic,
						     .policies = "durability=persistent"});
	ck_assert_int_eq(wh_dds_channel_apply(lab.machine, &from, lab.message.bytes, lab.message.count, 0), WHORL_OK);
	expect("verdict 1.2\nsample r1.2 w1.11 k1 #1 c1 @1.3 t0 'a' a0.0 h\nlast r1.2 w1.11 k1 @6.0 n0.0 h\nend r1.2 (1)\n");
}

TEST(the_stronger_owns_until_it_is_late_or_gone)
{
	lab.topic = "";
	reader(31, "ownership=exclusive");
	writer(11, "ownership=exclusive ownership_strength=1 deadline=1s");
	writer(21, "ownership=exclusive ownership_strength=2 deadline=1s");
	hush();
	write_to(11, 1, "a");
	write_to(21, 1, "b");
	write_to(11, 1, "c");
	expect("owner w1.11 k1\nsample r3.31 w1.11 k1 #1 c1 @1.3 t0 'a' a0.0\nowner w2.21 k1\n"
	       "sample r3.31 w2.21 k1 #1 c1 @1.4 t0 'b' a0.0\n");
	view(1);
	expect("owner w1.11 k1\nunmatch r3.31 w2.21 =-9\nunmatch r3.31 w1.11 =-9\n");
}

static void alter(uint32_t number, enum wh_dds_kind kind, const char *policies)
{
	lab_change(&lab.message, kind, number, policies);
	say(number / 10);
}

/* What does not match is told when it becomes so, and not with each change. */
TEST(policies_that_change_match_anew)
{
	lab.topic = "";
	writer(11, "deadline=1s");
	reader(21, "deadline=2s");
	hush();
	alter(11, WH_DDS_WRITER, "deadline=3s");
	expect("changed 1.11\nunmatch r2.21 w1.11\nincompatible r2.21 w1.11 deadline\n");
	alter(11, WH_DDS_WRITER, "user_data=x");
	alter(21, WH_DDS_READER, "user_data=x latency_budget=1s");
	expect("changed 1.11\nchanged 2.21\n");
	alter(21, WH_DDS_READER, "partition=p");
	alter(21, WH_DDS_READER, "partition=");
	expect("changed 2.21\nchanged 2.21\nincompatible r2.21 w1.11 deadline\n");
	alter(21, WH_DDS_READER, "deadline=3s");
	expect("changed 2.21\nmatch r2.21 w1.11\n");
}

TEST(a_set_is_whole_or_absent)
{
	lab.topic = "";
	reader(31, "");
	writer(11, "presentation=topic presentation.coherent=on");
	writer(21, "presentation=topic presentation.coherent=on");
	hush();
	simple(1, WH_DDS_SAY_BEGIN, 1, 0);
	simple(2, WH_DDS_SAY_BEGIN, 1, 0);
	write_to(11, 1, "a");
	write_to(21, 1, "b");
	write_to(21, 2, "c");
	expect("");
	simple(2, WH_DDS_SAY_SET, 1, 0);
	expect("set 2.1 (2)\nsample r3.31 w2.21 k1 #1 c1 @1.8 t0 'b' a0.0\nsample r3.31 w2.21 k2 #2 c1 @1.8 t0 'c' a0.0\n"
	       "set-end 2.1 (2)\n");
	finish(11, WH_DDS_WRITER);
	hush();
	simple(1, WH_DDS_SAY_SET, 1, 0);
	expect("set-lost 1.1 (1)\n");
	ck_assert_uint_eq(counts().sets_dropped, 1);
	ck_assert_uint_eq(counts().samples_dropped, 1);
}

TEST_LOOP(a_set_that_is_too_large_is_dropped, 0, 2)
{
	lab.topic = "";
	reader(31, "");
	writer(11, "presentation=topic presentation.coherent=on");
	simple(1, WH_DDS_SAY_BEGIN, 1, 0);
	hush();
	lab_sample(&lab.message, 11, WH_DDS_WRITE, 0, 1, "");
	for (uint32_t i = 0; i < WH_DDS_SET_SAMPLES_MAX + (uint32_t)_i; i++) {
		struct wh_dds_from from = {1, 101, {lab.view, lab.sequence++}};

		if (wh_dds_channel_apply(lab.machine, &from, lab.message.bytes, lab.message.count, 0) != WHORL_OK)
			ck_abort_msg("sample %u", i);
	}
	lab.machine->config.tell = _i > 0 ? tell : NULL;
	simple(1, WH_DDS_SAY_SET, 1, 0);
	expect(_i > 0 ? "set-lost 1.1 (65537)\n" : "");
	ck_assert_uint_eq(counts().samples_dropped, _i > 0 ? WH_DDS_SET_SAMPLES_MAX + 1 : 0);
}

TEST(a_set_of_too_many_bytes_is_dropped)
{
	struct wh_dds_from from = {1, 101, {lab.view, 100}};
	size_t each = WH_DDS_SET_BYTES_MAX / 4;
	unsigned char *large = calloc(1, WH_DDS_HEAD_BYTES + WH_DDS_KEY_BYTES + each);
	unsigned char key[WH_DDS_KEY_BYTES] = {0};
	size_t head = wh_dds_put_sample(large, 11, WH_DDS_WRITE, 0, key);

	lab.topic = "";
	writer(11, "presentation=topic presentation.coherent=on");
	simple(1, WH_DDS_SAY_BEGIN, 1, 0);
	hush();
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(wh_dds_channel_apply(lab.machine, &from, large, head + (i < 4 ? each : 1), 0),
				 WHORL_OK);
		from.place.sequence++;
	}
	lab.sequence = from.place.sequence;
	simple(1, WH_DDS_SAY_SET, 1, 0);
	expect("set-lost 1.1 (5)\n");
	free(large);
}

/* ---- time ----------------------------------------------------------------------------------------------------------------- */

static size_t due(int64_t now_ns, int64_t *next_ns)
{
	lab.now_ns = now_ns;
	lab.message.count = wh_dds_channel_due(lab.machine, now_ns, lab.message.bytes, next_ns);
	return lab.message.count;
}

TEST(a_lease_runs_out_at_its_time)
{
	int64_t next_ns;

	lab.now_ns = SECOND;
	lab.topic = "";
	reader(21, "");
	writer(11, "liveliness=manual_by_topic liveliness.lease=2s");
	writer(12, "liveliness=manual_by_participant liveliness.lease=5s");
	writer(13, "liveliness.lease=1ms");
	write_to(11, 1, "a");
	hush();
	ck_assert_uint_eq(due(2 * SECOND, &next_ns), 0);
	ck_assert_int_eq(next_ns, 3 * SECOND);
	ck_assert_uint_eq(due(3 * SECOND - 1, &next_ns), 0);
	ck_assert_uint_gt(due(3 * SECOND, &next_ns), 0);
	ck_assert_uint_eq(due(3 * SECOND, &next_ns), 0); /* it is on its way */
	ck_assert_int_eq(next_ns, 4 * SECOND);
	ck_assert_uint_gt(due(4 * SECOND, &next_ns), 0); /* it was lost */
	say(1);
	expect("last r2.21 w1.11 k1 @1.5 n0.0\nliveliness r2.21 w1.11 dead\nlost w1.11\n");
	ck_assert_uint_eq(due(4 * SECOND, &next_ns), 0);
	ck_assert_int_eq(next_ns, 6 * SECOND);
	write_to(11, 1, "b");
	expect("liveliness r2.21 w1.11 alive\nsample r2.21 w1.11 k1 #2 c1 @1.6 t0 'b' a0.0\n");
	finish(11, WH_DDS_WRITER);
	simple(1, WH_DDS_SAY_ASSERT, 0, 0);
	ck_assert_uint_eq(due(6 * SECOND, &next_ns), 0);
	write_to(12, 1, "c");
	hush();
	ck_assert_uint_eq(due(11 * SECOND - 1, &next_ns), 0);
	ck_assert_uint_gt(due(11 * SECOND, &next_ns), 0);
	say(1);
	expect("last r2.21 w1.12 k1 @1.10 n0.0\nliveliness r2.21 w1.12 dead\nlost w1.12\n");
}

TEST(a_lease_begins_anew)
{
	int64_t next_ns;

	lab.topic = "";
	ck_assert_uint_eq(due(0, &next_ns), 0);
	writer(11, "liveliness=manual_by_topic liveliness.lease=2s");
	ck_assert_uint_eq(due(SECOND, &next_ns), 0);
	ck_assert_int_eq(next_ns, 2 * SECOND);
	ck_assert_uint_gt(due(2 * SECOND, &next_ns), 0);
	say(1);
	ck_assert_uint_eq(due(3 * SECOND, &next_ns), 0);
	ck_assert_int_eq(next_ns, WHORL_DDS_INFINITY);
	write_to(11, 1, "a");
	ck_assert_uint_eq(due(5 * SECOND - 1, &next_ns), 0);
	ck_assert_int_eq(next_ns, 5 * SECOND);
	ck_assert_uint_gt(due(5 * SECOND, &next_ns), 0);
}

TEST(a_word_that_was_crossed_is_void)
{
	struct lab_message word;
	int64_t next_ns;

	lab.topic = "";
	writer(11, "ownership=exclusive deadline=2s");
	ck_assert_uint_eq(due(0, &next_ns), 0);
	ck_assert_int_eq(next_ns, WHORL_DDS_INFINITY);
	write_to(11, 1, "a");
	hush();
	ck_assert_uint_gt(due(3 * SECOND, &next_ns), 0);
	word = lab.message;
	write_to(11, 1, "b");
	lab.message = word;
	say(1);
	expect("");
	ck_assert_uint_eq(counts().voids, 1);
	ck_assert_uint_gt(due(5 * SECOND, &next_ns), 0);
	word = lab.message;
	say(2); /* not the lowest rank */
	expect("");
	lab.message = word;
	say(1);
	expect("deadline w1.11 k1\nowner k1\n");
	ck_assert_uint_eq(due(100 * SECOND, &next_ns), 0);
	ck_assert_int_eq(next_ns, WHORL_DDS_INFINITY);
	write_to(11, 1, "c");
	expect("owner w1.11 k1\n");
}

TEST(what_is_disposed_is_cleaned_up)
{
	struct lab_message crossed;
	int64_t next_ns;

	lab.topic = "durability=transient durability_service.cleanup=2s";
	writer(11, "durability=transient");
	write_to(11, 1, "a");
	write_to(11, 2, "b");
	ck_assert_uint_eq(due(SECOND, &next_ns), 0);
	ck_assert_int_eq(next_ns, WHORL_DDS_INFINITY);
	change(11, WH_DDS_UNREGISTER, 1, 0, "");
	ck_assert_uint_eq(due(3 * SECOND - 1, &next_ns), 0);
	ck_assert_int_eq(next_ns, 3 * SECOND);
	ck_assert_uint_eq(counts().entries, 3);
	ck_assert_uint_gt(due(3 * SECOND, &next_ns), 0);
	crossed = lab.message;
	write_to(11, 1, "c");
	lab.message = crossed;
	say(1);
	ck_assert_uint_eq(counts().entries, 2); /* the one sample that is kept of each */
	change(11, WH_DDS_UNREGISTER, 1, 0, "");
	lab.message = crossed;
	say(1);
	ck_assert_uint_eq(counts().voids, 2);
	ck_assert_uint_eq(counts().entries, 3);
	ck_assert_uint_gt(due(5 * SECOND, &next_ns), 0);
	say(1);
	ck_assert_uint_eq(counts().entries, 1);
	ck_assert_uint_eq(counts().instances, 1);
	finish(11, WH_DDS_WRITER);
	ck_assert_uint_gt(due(7 * SECOND, &next_ns), 0);
	say(1);
	ck_assert_uint_eq(counts().entries, 0);
	ck_assert_uint_eq(counts().topics, 0);
}

/* ---- states --------------------------------------------------------------------------------------------------------------- */

/* Something of everything. */
static void fill(void)
{
	writer(11, "durability=transient writer_data_lifecycle=off destination_order=source");
	reader(31, "durability=transient partition=*");
	writer(21, "ownership=exclusive ownership_strength=3 presentation=group presentation.coherent=on deadline=1s");
	writer(22, "liveliness=manual_by_topic liveliness.lease=1s user_data=abc partition=x,y");
	change(11, WH_DDS_WRITE, 1, 5, "five");
	change(11, WH_DDS_WRITE, 1, 4, "four");
	write_to(11, 2, "");
	change(11, WH_DDS_DISPOSE, 2, 9, "k");
	write_to(21, 3, "three");
	write_to(22, 2, "");
	write_to(22, 3, "");
	finish(11, WH_DDS_WRITER);
	simple(2, WH_DDS_SAY_BEGIN, 1, 0);
	write_to(21, 1, "set");
	hush();
}

static enum whorl_result restore(const unsigned char *bytes, size_t count, uint64_t *digest)
{
	struct wh_dds_channel *fresh = machine(2, false);
	enum whorl_result result = wh_dds_channel_restore(fresh, bytes, count, 0);

	if (result == WHORL_OK)
		*digest = lab_digest(fresh);
	wh_dds_channel_free(fresh);
	return result;
}

static uint64_t digest_of(const unsigned char *bytes, size_t count)
{
	struct wh_dds_out out = {.bytes = NULL};
	uint64_t digest;

	wh_dds_put(&out, bytes, count);
	digest = wh_dds_out_digest(&out);
	wh_dds_out_free(&out);
	return digest;
}

/* Each byte is made another, each end is cut: it is no state, or one that is written so. */
TEST(states_are_written_in_one_way)
{
	static const unsigned char others[] = {0, 255, 3};
	uint64_t digest, good = 0;
	unsigned char *bytes;
	size_t count;

	fill();
	bytes = lab_state(lab.machine, &count);
	keep_seed('s', 0, bytes, count);
	ck_assert_uint_eq(digest_of(bytes, count), lab_digest(lab.machine));
	for (size_t cut = 0; cut < count; cut++)
		if (restore(bytes, cut, &digest) != WHORL_INVALID)
			ck_abort_msg("cut at %zu of %zu", cut, count);
	for (size_t at = 0; at < count; at++) {
		unsigned char was = bytes[at];

		for (unsigned i = 0; i < 11; i++) {
			bytes[at] = (unsigned char)(i < 8 ? was ^ 1 << i : others[i - 8]);
			if (restore(bytes, count, &digest) != WHORL_OK)
				continue;
			good++;
			if (digest != digest_of(bytes, count))
				ck_abort_msg("byte %zu as %u: it is written in another way", at, bytes[at]);
		}
		bytes[at] = was;
	}
	ck_assert_uint_gt(good, 100);
	free(bytes);
}

/* It is read beside the machine, which goes on. */
TEST(a_state_is_that_of_its_place)
{
	struct wh_dds_out out = {.bytes = NULL};
	struct wh_dds_cursor cursor = {0, 0, 0};
	unsigned char *bytes, piece[7];
	uint64_t before, digest;
	size_t count = 0, got;

	fill();
	before = lab_digest(lab.machine);
	wh_dds_channel_save(lab.machine, &out);
	ck_assert(!out.failed && out.inset_count > 0);
	simple(2, WH_DDS_SAY_SET, 1, 0);
	view(1);
	bytes = malloc(wh_dds_out_bytes(&out));
	while ((got = wh_dds_out_read(&out, &cursor, piece, sizeof(piece))) > 0) {
		memcpy(bytes + count, piece, got);
		count += got;
	}
	ck_assert_uint_eq(count, wh_dds_out_bytes(&out));
	wh_dds_out_free(&out);
	ck_assert_int_eq(restore(bytes, count, &digest), WHORL_OK);
	ck_assert_uint_eq(digest, before);
	ck_assert_uint_ne(digest, lab_digest(lab.machine));
	free(bytes);
}

/* What a reader holds of a sample is good when the history has let go of it. */
TEST(a_sample_that_is_kept_can_be_held)
{
	lab.topic = "durability=transient history=1";
	writer(11, "durability=transient");
	reader(21, "");
	write_to(11, 1, "first");
	ck_assert_ptr_nonnull(lab.held);
	ck_assert_uint_eq(lab.held->count, 5);
	lab.machine->config.tell = NULL;
	write_to(11, 1, "second");
	finish(11, WH_DDS_WRITER);
	ck_assert_mem_eq(lab.held->bytes, "first", 5);
}

/* A machine tells what concerns its own endpoints. */
TEST(a_machine_tells_what_is_its_own)
{
	wh_dds_channel_free(lab.machine);
	lab.machine = machine(2, false);
	lab.view = 0;
	view(3);
	lab.topic = "";
	writer(11, "");
	reader(31, "");
	reader(21, "");
	write_to(11, 1, "a");
	expect("verdict 2.21\nmatch r2.21 w1.11\nend r2.21\nsample r2.21 w1.11 k1 #1 c1 @1.3 t0 'a' a0.0\n");
}

TEST_SUITE("dds_channel")
