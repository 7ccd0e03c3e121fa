/* test_dds_heard.c - a machine of unordered topics: endpoints are alike at all members, whatever each has heard of samples, in which order, and whether
 * before their writer was known or after it had ended.
 * Labels: random
 */
#include <stdlib.h>

#include "tests/patience.h"
#include "tests/support/dds_channel_lab.h"
#include "transport/dice.h"

#define LOOSE "consistency=unordered"

/* ---- by hand ------------------------------------------------------------------------------------------------------------------- */

static struct wh_dds_channel *machine;
static char told[8192];
static uint64_t sequence;

static void note(void *ctx, const struct wh_dds_event *event)
{
	size_t at = strlen(told);

	(void)ctx;
	if (event->what == WH_DDS_VERDICT || event->what == WH_DDS_HISTORY_END || event->what == WH_DDS_COMES ||
	    event->what == WH_DDS_GOES)
		return;
	ck_assert_uint_lt(at, sizeof(told) - 200);
	lab_line(told + at, 200, event);
	strcat(told, "\n");
}

/* What was told since this was last asked. */
static void tells(const char *expected)
{
	ck_assert_str_eq(told, expected);
	told[0] = '\0';
}

static void view(uint64_t number, uint32_t count)
{
	const struct wh_dds_member members[] = {{.node = 1, .incarnation = 11}, {.node = 2, .incarnation = 12}};

	sequence = 0;
	ck_assert_int_eq(wh_dds_channel_view(machine, number, members, count), WHORL_OK);
}

/* Node 1 looks on: endpoints of it are local. */
static void begin(void)
{
	const struct wh_dds_channel_config config = {
		.node = 1, .incarnation = 11, .unordered = true, .watches = true, .tell = note};

	machine = wh_dds_channel_new(&config);
	ck_assert_ptr_nonnull(machine);
	told[0] = '\0';
	view(1, 2);
}

static void end(void)
{
	wh_dds_channel_free(machine);
}

static void say(uint32_t node, const struct lab_message *message)
{
	const struct wh_dds_from from = {node, node + 10, {1, ++sequence}};

	ck_assert_int_eq(wh_dds_channel_apply(machine, &from, message->bytes, message->count, 0), WHORL_OK);
}

static void announce(uint32_t node, enum wh_dds_kind kind, uint32_t number, const char *policies)
{
	struct lab_message message;

	lab_announce(&message, &(struct lab_new){.kind = kind,
						 .number = number,
						 .group = 1,
						 .topic = 7,
						 .name = "t",
						 .topic_policies = LOOSE,
						 .policies = policies});
	say(node, &message);
}

static void make_end(struct lab_message *message, enum wh_dds_kind kind, uint32_t number)
{
	lab_say(message, &(struct wh_dds_message){.kind = WH_DDS_SAY_END, .number = number, .what = kind});
}

static void end_endpoint(uint32_t node, enum wh_dds_kind kind, uint32_t number)
{
	struct lab_message message;

	make_end(&message, kind, number);
	say(node, &message);
}

static void hear(uint32_t node, const struct lab_message *message)
{
	const struct wh_dds_from from = {node, node + 10, {0, 0}};

	ck_assert_int_eq(wh_dds_channel_hear(machine, &from, message->bytes, message->count, 0), WHORL_OK);
}

static void hear_sample(uint32_t node, uint32_t writer, uint8_t change, int key, const char *text)
{
	struct lab_message message;

	lab_sample(&message, writer, change, 5, key, text);
	hear(node, &message);
}

static void hear_end(uint32_t node, uint32_t writer)
{
	struct lab_message message;

	make_end(&message, WH_DDS_WRITER, writer);
	hear(node, &message);
}

static struct wh_dds_channel_counts counts_of(void)
{
	struct wh_dds_channel_counts counts;

	wh_dds_channel_counts(machine, &counts);
	return counts;
}

TEST_CASE("by_hand");

/* What comes before its writer is known waits, and is told in its order. */
TEST(a_sample_before_its_writer)
{
	begin();
	announce(1, WH_DDS_READER, 1, "");
	hear_sample(2, 3, WH_DDS_WRITE, 1, "a");
	hear_sample(2, 4, WH_DDS_WRITE, 1, "x");
	hear_sample(2, 3, WH_DDS_WRITE, 1, "b");
	tells("");
	ck_assert_uint_eq(counts_of().strays, 3);
	announce(2, WH_DDS_WRITER, 3, "");
	tells("match r1.1 w2.3\nsample r1.1 w2.3 k1 #1 c1 @0.0 t5 'a' a0.0\nsample r1.1 w2.3 k1 #2 c1 @0.0 t5 'b' a0.0\n");
	ck_assert_uint_eq(counts_of().strays, 1);
	hear_sample(2, 3, WH_DDS_DISPOSE, 1, "");
	tells("sample r1.1 w2.3 k1 #3 c2 @0.0 t5 '' d0.0\n");
	view(2, 1);
	ck_assert_uint_eq(counts_of().strays, 0); /* its member is gone */
	ck_assert_uint_eq(counts_of().unheard, 1);
	end();
}

/* They are bounded, and the oldest go first. */
TEST(many_before_their_writer)
{
	static const char big[WH_DDS_STRAY_BYTES_MAX] = {WH_DDS_SAY_SAMPLE};
	const struct wh_dds_from from = {2, 12, {0, 0}};
	const char *first, *end_of;

	begin();
	announce(1, WH_DDS_READER, 1, "");
	for (int i = 0; i < WH_DDS_STRAYS_MAX + 10; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%d", i);
		hear_sample(2, i < 10 ? 3 : 4, WH_DDS_WRITE, 1, text);
	}
	ck_assert_uint_eq(counts_of().strays, WH_DDS_STRAYS_MAX);
	ck_assert_uint_eq(counts_of().unheard, 10);
	announce(2, WH_DDS_WRITER, 3, "");
	tells("match r1.1 w2.3\n");
	for (int i = 0; i < 3; i++) { /* each has room alone, and no two together */
		unsigned char *bytes = malloc(sizeof(big));

		memcpy(bytes, big, sizeof(big));
		wh_dds_put_sample(bytes, 5, WH_DDS_WRITE, 0, NULL);
		ck_assert_int_eq(wh_dds_channel_hear(machine, &from, bytes, sizeof(big) - (i == 2 ? 0 : 1), 0),
				 WHORL_OK);
		ck_assert_uint_eq(counts_of().strays, 1);
		ck_assert_uint_eq(counts_of().unheard, 10 + WH_DDS_STRAYS_MAX + (uint64_t)i);
		free(bytes);
	}
	ck_assert_int_eq(wh_dds_channel_hear(machine, &from, big, 100, 0), WHORL_OK); /* of no writer */
	first = told;
	end_of = told + strlen(told);
	ck_assert_ptr_eq(first, end_of);
	end();
}

/* It ends at all members where that is said, and for a reader here behind its last sample. */
TEST(a_writer_that_lingers)
{
	begin();
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_READER, 2, "");
	announce(2, WH_DDS_WRITER, 3, "writer_data_lifecycle=off");
	hear_sample(2, 3, WH_DDS_WRITE, 1, "a");
	tells("match r1.1 w2.3\nsample r1.1 w2.3 k1 #1 c1 @0.0 t5 'a' a0.0\n");
	end_endpoint(2, WH_DDS_WRITER, 3);
	tells("");
	ck_assert_uint_eq(counts_of().endpoints, 2);
	ck_assert_ptr_nonnull(wh_dds_channel_lingering(machine, 0));
	ck_assert_ptr_null(wh_dds_channel_lingering(machine, 1));
	announce(1, WH_DDS_READER, 4, ""); /* has nothing to do with it */
	hear_sample(2, 3, WH_DDS_WRITE, 2, "b");
	tells("sample r1.1 w2.3 k2 #2 c1 @0.0 t5 'b' a0.0\n");
	hear_end(2, 3);
	tells("last r1.1 w2.3 k1 @0.0 n0.0\nlast r1.1 w2.3 k2 @0.0 n0.0\nunmatch r1.1 w2.3 =-9\n");
	ck_assert_ptr_null(wh_dds_channel_lingering(machine, 0));
	ck_assert_uint_eq(counts_of().instances, 0);
	end();
}

/* The other way round. */
TEST(an_end_that_is_heard_first)
{
	begin();
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_WRITER, 3, "");
	hear_sample(2, 3, WH_DDS_WRITE, 1, "a");
	tells("match r1.1 w2.3\nsample r1.1 w2.3 k1 #1 c1 @0.0 t5 'a' a0.0\n");
	hear_end(2, 3); /* it autodisposes */
	tells("sample r1.1 w2.3 k1 #0 c6 @0.0 t0 '' d0.0\nlast r1.1 w2.3 k1 @0.0 d0.0\n");
	hear_sample(2, 3, WH_DDS_WRITE, 1, "late"); /* nothing is behind its end */
	hear_end(2, 3);
	tells("");
	ck_assert_uint_eq(counts_of().unheard, 2);
	end_endpoint(2, WH_DDS_WRITER, 3);
	tells("unmatch r1.1 w2.3 =-9\n");
	ck_assert_ptr_null(wh_dds_channel_lingering(machine, 0));
	end();
}

/* A writer of a member that has died lingers until it is said that nothing more comes: then nothing is disposed of. */
TEST(a_dead_writer_lingers)
{
	begin();
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_WRITER, 3, "");
	hear_sample(2, 3, WH_DDS_WRITE, 1, "a");
	told[0] = '\0';
	view(2, 1);
	hear_sample(2, 3, WH_DDS_WRITE, 1, "b"); /* it was refused before */
	tells("sample r1.1 w2.3 k1 #2 c1 @0.0 t5 'b' a0.0\n");
	ck_assert_int_eq(wh_dds_channel_finish(machine, wh_dds_channel_lingering(machine, 0), 0), WHORL_OK);
	tells("last r1.1 w2.3 k1 @0.0 n0.0\nunmatch r1.1 w2.3 =-9\n");
	end();
}

/* Nobody here waits for it. */
TEST(one_without_a_reader_here_ends_at_once)
{
	begin();
	announce(2, WH_DDS_READER, 2, "");
	announce(1, WH_DDS_WRITER, 3, "");
	end_endpoint(1, WH_DDS_WRITER, 3);
	tells("match r2.2 w1.3\nunmatch r2.2 w1.3 =-9\n");
	ck_assert_ptr_null(wh_dds_channel_lingering(machine, 0));
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_WRITER, 4, "");
	end_endpoint(2, WH_DDS_WRITER, 4);
	ck_assert_ptr_nonnull(wh_dds_channel_lingering(machine, 0));
	told[0] = '\0';
	end_endpoint(1, WH_DDS_READER, 1); /* the one that it was for */
	tells("unmatch r1.1 w2.4 =-9\n");
	ck_assert_ptr_null(wh_dds_channel_lingering(machine, 0));
	end_endpoint(2, WH_DDS_READER, 2);
	ck_assert_uint_eq(counts_of().topics, 0);
	end();
}

/* This member has left the way of the samples. */
TEST(a_reader_that_parts)
{
	const struct wh_dds_endpoint_id id = {11, 1, 1};

	begin();
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_WRITER, 3, "");
	announce(2, WH_DDS_WRITER, 4, "");
	hear_sample(2, 3, WH_DDS_WRITE, 1, "a");
	end_endpoint(2, WH_DDS_WRITER, 4);
	told[0] = '\0';
	ck_assert_int_eq(wh_dds_channel_part(machine, wh_dds_channel_find(machine, WH_DDS_READER, &id)), WHORL_OK);
	tells("last r1.1 w2.3 k1 @0.0 a0.0\nunmatch r1.1 w2.3\nunmatch r1.1 w2.4\n");
	ck_assert_ptr_null(wh_dds_channel_lingering(machine, 0));
	hear_sample(2, 3, WH_DDS_WRITE, 1, "b");
	tells("");
	end();
}

/* Of unordered topics nothing is sent that needs an order, and nothing of others is announced here. */
TEST(what_means_nothing_here)
{
	struct lab_message message;
	uint64_t digest, voids;

	begin();
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_WRITER, 3, "");
	told[0] = '\0';
	voids = counts_of().voids;
	lab_sample(&message, 3, WH_DDS_WRITE, 5, 1, "ordered");
	say(2, &message);
	lab_say(&message, &(struct wh_dds_message){.kind = WH_DDS_SAY_BEGIN, .number = 1});
	say(2, &message);
	ck_assert_uint_eq(counts_of().voids, voids + 2);
	hear_sample(2, 3, WH_DDS_WRITE, 1, "is no part of a set");
	tells("sample r1.1 w2.3 k1 #1 c1 @0.0 t5 'is no part of a set' a0.0\n");
	lab_announce(&message, &(struct lab_new){.kind = WH_DDS_WRITER,
						 .number = 5,
						 .topic = 8,
						 .name = "u",
						 .topic_policies = "consistency=atomic",
						 .policies = ""});
	say(2, &message);
	ck_assert_uint_eq(counts_of().endpoints, 2);
	digest = lab_digest(machine);
	hear_sample(2, 3, WH_DDS_UNREGISTER, 9, ""); /* that it never had */
	hear_sample(2, 3, WH_DDS_WRITE, -1, "no key");
	lab_change(&message, WH_DDS_WRITER, 3, "user_data=x");
	hear(2, &message);
	make_end(&message, WH_DDS_READER, 1);
	hear(1, &message);
	message.count = 0;
	hear(2, &message);
	for (size_t i = 1; i < sizeof(message.bytes); i = 2 * i + 1) {
		memset(message.bytes, (int)i, i);
		message.count = i;
		hear(2, &message);
	}
	tells("");
	ck_assert_uint_eq(lab_digest(machine), digest);
	ck_assert_uint_gt(counts_of().unheard, 10);
	end();
}

/* A lease goes by what is said in the order of endpoints; what is heard only says that it has not run out. */
TEST(a_lease)
{
	struct wh_dds_message message = {.kind = WH_DDS_SAY_LOST, .writer = {12, 2, 3}};
	unsigned char word[WH_DDS_DUE_BYTES];
	struct lab_message sample, lost;
	const struct wh_dds_from from = {2, 12, {0, 0}};
	int64_t next;

	begin();
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_WRITER, 3, "liveliness=manual_by_topic liveliness.lease=1s");
	lab_sample(&sample, 3, WH_DDS_WRITE, 5, 1, "a");
	ck_assert_int_eq(wh_dds_channel_hear(machine, &from, sample.bytes, sample.count, 900000000), WHORL_OK);
	ck_assert_uint_eq(wh_dds_channel_due(machine, 1500000000, word, &next), 0);
	ck_assert_int_eq(next, 1900000000);
	ck_assert_uint_gt(wh_dds_channel_due(machine, 1900000000, word, &next), 0);
	told[0] = '\0';
	lab_say(&lost, &message);
	say(1, &lost); /* it has asserted nothing: what it has heard others need not know */
	tells("last r1.1 w2.3 k1 @0.0 n0.0\nliveliness r1.1 w2.3 dead\n");
	end();
}

static void hear_at(const struct lab_message *message, int64_t now_ns)
{
	const struct wh_dds_from from = {2, 12, {0, 0}};

	ck_assert_int_eq(wh_dds_channel_hear(machine, &from, message->bytes, message->count, now_ns), WHORL_OK);
}

/* All know that it is silent, and then something is heard that it had said before: it has that instance for a while, and no longer. */
TEST(what_is_heard_of_a_silent_writer)
{
	const struct wh_dds_message is_lost = {.kind = WH_DDS_SAY_LOST, .writer = {12, 2, 3}};
	struct lab_message one, other, lost;

	begin();
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_WRITER, 3, "liveliness=manual_by_topic liveliness.lease=2s");
	announce(2, WH_DDS_WRITER, 4, "liveliness=manual_by_topic liveliness.lease=20ms");
	lab_sample(&one, 3, WH_DDS_WRITE, 5, 1, "a");
	lab_sample(&other, 4, WH_DDS_WRITE, 5, 2, "b");
	hear_at(&one, 100000000);
	ck_assert_int_eq(wh_dds_channel_hushes(machine), WHORL_DDS_INFINITY);
	lab_say(&lost, &is_lost);
	say(1, &lost);
	ck_assert_int_eq(wh_dds_channel_hushes(machine), WHORL_DDS_INFINITY); /* it has nothing */
	told[0] = '\0';
	hear_at(&one, 3000000000);
	ck_assert_int_eq(wh_dds_channel_hushes(machine), 5000000000);
	hear_at(&one, 4000000000);
	hear_at(&other, 4000000000);
	told[0] = '\0';
	ck_assert_int_eq(wh_dds_channel_hush(machine, 5000000000), 6000000000);
	tells("");
	ck_assert_int_eq(wh_dds_channel_hush(machine, 6000000000), WHORL_DDS_INFINITY);
	tells("last r1.1 w2.3 k1 @0.0 n0.0\n");
	end();
}

/* It says again that it is alive, and that comes later than its samples. */
TEST(what_is_heard_of_a_writer_that_speaks_again)
{
	const struct wh_dds_message is_lost = {.kind = WH_DDS_SAY_LOST, .writer = {12, 2, 3}};
	const struct wh_dds_message is_alive = {.kind = WH_DDS_SAY_ASSERT, .number = 3};
	struct lab_message sample, message;

	begin();
	announce(1, WH_DDS_READER, 1, "");
	announce(2, WH_DDS_WRITER, 3, "liveliness=manual_by_topic liveliness.lease=20ms");
	lab_say(&message, &is_lost);
	say(1, &message);
	lab_sample(&sample, 3, WH_DDS_WRITE, 5, 1, "a");
	hear_at(&sample, 100000000);
	ck_assert_int_eq(wh_dds_channel_hushes(machine), 1100000000); /* a second, though its lease is shorter */
	ck_assert_int_eq(wh_dds_channel_hush(machine, 1099999999), 1100000000);
	lab_say(&message, &is_alive);
	say(2, &message);
	told[0] = '\0';
	ck_assert_int_eq(wh_dds_channel_hush(machine, 9000000000), WHORL_DDS_INFINITY);
	tells("");
	end();
}

/* ---- at random ----------------------------------------------------------------------------------------------------------------- */

#define MEMBERS 3
#define STEPS 400
#define LINES 1024

struct line { /* of a stream, or of the order */
	uint32_t node;
	struct lab_message message;
};

struct writer { /* of the plan */
	uint32_t node, number, sent;
	bool there, ended;
};

struct reader { /* of what it was told */
	uint32_t number;
	bool there;
	uint32_t next[64]; /* of each writer's number: the sample that follows; 0: none has come */
	bool over[64];     /* its end was told */
};

static struct party { /* a member */
	struct wh_dds_channel *machine;
	struct reader readers[64];
	size_t heard[MEMBERS + 1]; /* of each stream */
	size_t applied;
} parties[MEMBERS + 1]; /* from 1 */

static struct line *order, *streams[MEMBERS + 1];
static size_t order_count, stream_count[MEMBERS + 1];
static struct writer writers[64];
static uint32_t writer_count, reader_count;

static void watch(void *ctx, const struct wh_dds_event *event)
{
	struct party *party = ctx;
	struct reader *reader = event->reader != NULL ? &party->readers[event->reader->id.number] : NULL;
	uint32_t writer = event->writer != NULL ? event->writer->id.number : 0, count = 0;

	if (event->what == WH_DDS_UNMATCH && reader != NULL && event->reader->local)
		reader->over[writer] = true;
	if (event->what != WH_DDS_SAMPLE || (event->sample->change & WH_DDS_WRITE) == 0)
		return;
	ck_assert(event->reader->local && !reader->over[writer]);
	memcpy(&count, event->sample->bytes, sizeof(count));
	ck_assert_msg(reader->next[writer] == 0 || count == reader->next[writer], "%u where %u was expected", count,
		      reader->next[writer]);
	reader->next[writer] = count + 1;
}

static struct wh_dds_channel *new_machine(uint32_t node)
{
	const struct wh_dds_channel_config config = {
		.node = node, .incarnation = node + 10, .unordered = true, .tell = watch, .ctx = &parties[node]};
	struct wh_dds_channel *made = wh_dds_channel_new(&config);

	ck_assert_ptr_nonnull(made);
	return made;
}

static void plan_announcement(uint32_t node, enum wh_dds_kind kind, uint32_t number)
{
	struct line *line = &order[order_count++];

	line->node = node;
	lab_announce(&line->message, &(struct lab_new){.kind = kind,
						       .number = number,
						       .group = 1,
						       .topic = 7,
						       .name = "t",
						       .topic_policies = LOOSE,
						       .policies = ""});
}

static void plan_sample(struct writer *writer)
{
	struct line *line = &streams[writer->node][stream_count[writer->node]++];

	lab_sample(&line->message, writer->number, WH_DDS_WRITE, 0, (int)(writer->sent % 3), "");
	memcpy(line->message.bytes + line->message.count, &writer->sent, sizeof(writer->sent));
	line->message.count += sizeof(writer->sent);
	writer->sent++;
}

static void plan_end(struct writer *writer)
{
	writer->ended = true;
	make_end(&streams[writer->node][stream_count[writer->node]++].message, WH_DDS_WRITER, writer->number);
	order[order_count].node = writer->node;
	make_end(&order[order_count++].message, WH_DDS_WRITER, writer->number);
}

/* One thing that a program does, and nothing that a writer does before its own member has applied its announcement matters here. */
static void plan(struct wh_dice *random)
{
	uint32_t what = (uint32_t)wh_dice_below(random, 20), node = 1 + (uint32_t)wh_dice_below(random, MEMBERS);
	struct writer *writer = writer_count > 0 ? &writers[wh_dice_below(random, writer_count)] : NULL;

	if (what == 0 && writer_count < 30) {
		writers[writer_count] =
			(struct writer){.node = node, .number = 1 + writer_count, .sent = 1, .there = true};
		plan_announcement(node, WH_DDS_WRITER, writers[writer_count++].number);
	} else if (what == 1 && reader_count < 30) {
		plan_announcement(node, WH_DDS_READER, 31 + reader_count++);
	} else if (writer != NULL && !writer->ended && what == 2 && wh_dice_below(random, 3) == 0) {
		plan_end(writer);
	} else if (writer != NULL && !writer->ended) {
		plan_sample(writer);
	}
}

static void apply_next(struct party *party)
{
	const struct line *line = &order[party->applied++];
	const struct wh_dds_from from = {line->node, line->node + 10, {1, party->applied}};

	ck_assert_int_eq(wh_dds_channel_apply(party->machine, &from, line->message.bytes, line->message.count, 0),
			 WHORL_OK);
}

static void hear_next(struct party *party, uint32_t of)
{
	const struct line *line = &streams[of][party->heard[of]++];
	const struct wh_dds_from from = {of, of + 10, {0, 0}};

	ck_assert_int_eq(wh_dds_channel_hear(party->machine, &from, line->message.bytes, line->message.count, 0),
			 WHORL_OK);
}

/* A member goes on, in one of the two ways; false: it has all of both. */
static bool step(struct wh_dice *random, struct party *party)
{
	uint32_t of = (uint32_t)wh_dice_below(random, MEMBERS + 1);
	bool some = party->applied < order_count;

	if (of == 0 && party->applied < order_count)
		apply_next(party);
	else if (of > 0 && party->heard[of] < stream_count[of])
		hear_next(party, of);
	for (uint32_t i = 1; i <= MEMBERS; i++)
		some = some || party->heard[i] < stream_count[i];
	return some;
}

/* At the same place of the order two have one state, whatever they have heard. */
static void compare_states(void)
{
	for (uint32_t i = 2; i <= MEMBERS; i++)
		if (parties[i].applied == parties[1].applied)
			ck_assert_uint_eq(lab_digest(parties[i].machine), lab_digest(parties[1].machine));
}

/* A newcomer is given what has no part of what was heard. */
static void restore_one(uint32_t node)
{
	size_t count;
	unsigned char *state = lab_state(parties[node].machine, &count);
	struct wh_dds_channel *other = new_machine(node);

	ck_assert_int_eq(wh_dds_channel_restore(other, state, count, 0), WHORL_OK);
	ck_assert_uint_eq(lab_digest(other), lab_digest(parties[node].machine));
	wh_dds_channel_free(other);
	free(state);
}

static void begin_parties(void)
{
	struct wh_dds_member members[MEMBERS];

	for (uint32_t i = 0; i < MEMBERS; i++)
		members[i] = (struct wh_dds_member){.node = i + 1, .incarnation = i + 11};
	order = calloc(LINES, sizeof(*order));
	order_count = writer_count = reader_count = 0;
	for (uint32_t i = 1; i <= MEMBERS; i++) {
		memset(&parties[i], 0, sizeof(parties[i]));
		parties[i].machine = new_machine(i);
		ck_assert_int_eq(wh_dds_channel_view(parties[i].machine, 1, members, MEMBERS), WHORL_OK);
		streams[i] = calloc(LINES, sizeof(*streams[i]));
		stream_count[i] = 0;
	}
}

static void end_parties(void)
{
	for (uint32_t i = 1; i <= MEMBERS; i++) {
		wh_dds_channel_free(parties[i].machine);
		free(streams[i]);
	}
	free(order);
}

/* All have ended, and all of each writer was told to those that had heard some of it. */
static void look_at_the_end(void)
{
	struct wh_dds_channel_counts counts;

	for (uint32_t i = 1; i <= MEMBERS; i++) {
		wh_dds_channel_counts(parties[i].machine, &counts);
		ck_assert_uint_eq(counts.strays, 0);
		ck_assert_uint_eq(counts.unheard, 0);
		ck_assert_uint_eq(counts.instances, 0);
		ck_assert_ptr_null(wh_dds_channel_lingering(parties[i].machine, 0));
		for (uint32_t r = 31; r < 31 + reader_count; r++)
			for (uint32_t w = 0; w < writer_count; w++)
				ck_assert(parties[i].readers[r].next[writers[w].number] == 0 ||
					  parties[i].readers[r].next[writers[w].number] == writers[w].sent);
	}
	compare_states();
}

TEST_CASE("at_random", .patience_s = 20);

TEST_LOOP(in_any_order, 0, 60)
{
	struct wh_dice random;

	random = (struct wh_dice){(uint64_t)_i};
	begin_parties();
	for (int i = 0; i < STEPS; i++) {
		plan(&random);
		for (uint32_t k = 0; k < wh_dice_below(&random, 6); k++)
			(void)step(&random, &parties[1 + wh_dice_below(&random, MEMBERS)]);
		if (i % 5 == 0)
			compare_states();
		if (i % 50 == 0)
			restore_one(1 + (uint32_t)wh_dice_below(&random, MEMBERS));
	}
	for (uint32_t i = 0; i < writer_count; i++)
		if (!writers[i].ended)
			plan_end(&writers[i]);
	for (uint32_t i = 1; i <= MEMBERS; i++)
		while (step(&random, &parties[i]))
			;
	look_at_the_end();
	end_parties();
}

TEST_SUITE("dds_heard")
