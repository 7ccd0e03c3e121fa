/* test_dds_channel_memory.c - memory is out: at every allocation of a channel's machine and of the registry, as they apply messages, save and restore, in
 * turn. Each time the call must say so, and what was allocated is freed with the machine.
 * Labels: nosan
 */
#include "dds/channel/registry.h"
#include "tests/support/dds_channel_lab.h"
#include "tests/unit/refuse.h"

#define MESSAGES 16

static struct lab_message messages[MESSAGES];
static bool unordered, heard[MESSAGES]; /* on a stream */
static struct wh_dds_member members[2] = {{.node = 1, .incarnation = 101}, {.node = 2, .incarnation = 102}};
static unsigned char state[65536];
static size_t message_count, state_bytes;

static void announce(enum wh_dds_kind kind, uint32_t number, const char *policies)
{
	lab_announce(&messages[message_count++],
		     &(struct lab_new){.kind = kind,
				       .number = number,
				       .group = 1,
				       .topic = 7,
				       .name = "t",
				       .topic_policies =
					       unordered ? "consistency=unordered" : "durability=transient history=all",
				       .policies = policies});
}

static void simple(enum wh_dds_message_kind kind, uint32_t number)
{
	struct wh_dds_message message = {.kind = kind, .number = number, .what = WH_DDS_WRITER};

	lab_say(&messages[message_count++], &message);
}

static void prepare_channel(void)
{
	message_count = 0;
	unordered = false;
	memset(heard, 0, sizeof(heard));
	announce(WH_DDS_WRITER, 1, "durability=transient partition=a presentation=topic presentation.coherent=on");
	announce(WH_DDS_READER, 2, "durability=transient partition=*");
	announce(WH_DDS_WRITER, 3, "ownership=exclusive durability=transient");
	lab_sample(&messages[message_count++], 1, WH_DDS_WRITE, 0, 1, "one");
	simple(WH_DDS_SAY_BEGIN, 1);
	lab_sample(&messages[message_count++], 1, WH_DDS_WRITE, 0, 2, "two");
	simple(WH_DDS_SAY_SET, 1);
	lab_change(&messages[message_count++], WH_DDS_WRITER, 3, "ownership_strength=2 user_data=abc");
	lab_sample(&messages[message_count++], 3, 0, 0, 3, "");
	simple(WH_DDS_SAY_END, 1);
	simple(WH_DDS_SAY_BEGIN, 1);
}

/* What waits for its writer, what lingers, and ends on both ways. */
static void prepare_unordered(void)
{
	prepare_channel();
	message_count = 0;
	unordered = true;
	heard[0] = heard[3] = heard[5] = heard[6] = true;
	lab_sample(&messages[message_count++], 1, WH_DDS_WRITE, 0, 1, "waits");
	announce(WH_DDS_READER, 2, "");
	announce(WH_DDS_WRITER, 1, "");
	lab_sample(&messages[message_count++], 1, WH_DDS_WRITE, 0, 2, "heard");
	simple(WH_DDS_SAY_END, 1);
	lab_sample(&messages[message_count++], 1, WH_DDS_WRITE, 0, 3, "it lingers");
	simple(WH_DDS_SAY_END, 1);
	announce(WH_DDS_WRITER, 3, "user_data=abc");
}

static enum whorl_result run_channel(void)
{
	struct wh_dds_channel_config config = {.all = true, .unordered = unordered};
	struct wh_dds_channel *machine = wh_dds_channel_new(&config);
	enum whorl_result result = machine != NULL ? wh_dds_channel_view(machine, 1, members, 2) : WHORL_MEMORY;
	struct wh_dds_cursor cursor = {0, 0, 0};
	struct wh_dds_out out = {.bytes = NULL};

	for (size_t i = 0; result == WHORL_OK && i < message_count; i++) {
		struct wh_dds_from from = {1, 101, {1, i}};

		result = heard[i] ? wh_dds_channel_hear(machine, &from, messages[i].bytes, messages[i].count, 0)
				  : wh_dds_channel_apply(machine, &from, messages[i].bytes, messages[i].count, 0);
	}
	if (result == WHORL_OK)
		result = wh_dds_channel_view(machine, 2, members, 1);
	if (result == WHORL_OK) {
		wh_dds_channel_save(machine, &out);
		result = out.failed ? WHORL_MEMORY : WHORL_OK;
		state_bytes = wh_dds_out_read(&out, &cursor, state, sizeof(state));
		wh_dds_out_free(&out);
	}
	wh_dds_channel_free(machine);
	return result;
}

static enum whorl_result restore_channel(void)
{
	struct wh_dds_channel_config config = {.all = true, .unordered = unordered};
	struct wh_dds_channel *machine = wh_dds_channel_new(&config);
	enum whorl_result result =
		machine != NULL ? wh_dds_channel_restore(machine, state, state_bytes, 0) : WHORL_MEMORY;

	wh_dds_channel_free(machine);
	return result;
}

static void keep_message(struct wh_dds_out *out)
{
	struct wh_dds_cursor cursor = {0, 0, 0};
	struct lab_message *message = &messages[message_count++];

	message->count = wh_dds_out_read(out, &cursor, message->bytes, sizeof(message->bytes));
	wh_dds_out_free(out);
}

static void prepare_registry(void)
{
	struct wh_dds_policies policies = lab_policies(WH_DDS_TOPIC, "topic_data=abc");
	struct wh_dds_policies of_participant = lab_policies(WH_DDS_PARTICIPANT, "user_data=abc");
	struct wh_dds_registration topic = {.name = "t",
					    .channel = "c",
					    .type = "s",
					    .description = wh_dds_block_new("long x", 6),
					    .policies = &policies};
	struct wh_dds_out out = {.bytes = NULL};

	message_count = 0;
	wh_dds_put_participant(&out, "me", 1, &of_participant);
	keep_message(&out);
	wh_dds_put_registration(&out, &topic);
	keep_message(&out);
	wh_dds_put_participant(&out, "me", 1, &of_participant);
	keep_message(&out);
	wh_dds_put_data(&out, 1, &policies);
	keep_message(&out);
	wh_dds_block_drop(topic.description);
	wh_dds_policies_free(&policies);
	wh_dds_policies_free(&of_participant);
}

static enum whorl_result run_registry(void)
{
	struct wh_dds_registry_config config = {.all = true};
	struct wh_dds_registry *machine = wh_dds_registry_new(&config);
	enum whorl_result result = machine != NULL ? wh_dds_registry_view(machine, 1, members, 2) : WHORL_MEMORY;
	struct wh_dds_cursor cursor = {0, 0, 0};
	struct wh_dds_out out = {.bytes = NULL};

	for (size_t i = 0; result == WHORL_OK && i < message_count; i++) {
		struct wh_dds_from from = {1, 101, {1, i}};

		result = wh_dds_registry_apply(machine, &from, messages[i].bytes, messages[i].count);
	}
	if (result == WHORL_OK) {
		wh_dds_registry_save(machine, &out);
		result = out.failed ? WHORL_MEMORY : WHORL_OK;
		state_bytes = wh_dds_out_read(&out, &cursor, state, sizeof(state));
		wh_dds_out_free(&out);
	}
	wh_dds_registry_free(machine);
	return result;
}

static enum whorl_result restore_registry(void)
{
	struct wh_dds_registry_config config = {.all = true};
	struct wh_dds_registry *machine = wh_dds_registry_new(&config);
	enum whorl_result result =
		machine != NULL ? wh_dds_registry_restore(machine, state, state_bytes) : WHORL_MEMORY;

	wh_dds_registry_free(machine);
	return result;
}

static const struct {
	void (*prepare)(void);
	enum whorl_result (*before)(void);
	enum whorl_result (*call)(void);
	long least; /* so many allocations at least */
} calls[] = {{prepare_channel, NULL, run_channel, 40},   {prepare_channel, run_channel, restore_channel, 10},
	     {prepare_unordered, NULL, run_channel, 15}, {prepare_unordered, run_channel, restore_channel, 5},
	     {prepare_registry, NULL, run_registry, 15}, {prepare_registry, run_registry, restore_registry, 10}};

TEST_LOOP(memory_is_out, 0, (int)(sizeof(calls) / sizeof(calls[0])))
{
	enum whorl_result result = WHORL_MEMORY;
	long before, refused_at = 0;

	calls[_i].prepare();
	ck_assert(calls[_i].before == NULL || calls[_i].before() == WHORL_OK);
	for (; result != WHORL_OK; refused_at++) {
		before = live;
		refuse_at = refused_at;
		result = calls[_i].call();
		if (refuse_at < 0 && result == WHORL_OK)
			ck_abort_msg("allocation %ld was refused, and nobody said so", refused_at);
		if (live != before)
			ck_abort_msg("allocation %ld: %ld are left", refused_at, live - before);
		ck_assert(result == WHORL_OK || result == WHORL_MEMORY);
	}
	refuse_at = -1;
	ck_assert_int_ge(refused_at, calls[_i].least);
}

TEST_SUITE("dds_channel_memory")
