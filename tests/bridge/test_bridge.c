/* test_bridge.c - parts of the bridge: versions of libddsc, lines of its log, offers, places of samples. */
#include "tests/harness.h"

#include <stdlib.h>

#include "bridge/garbage.h"
#include "bridge/lane.h"
#include "bridge/version.h"

TEST(another_version_is_told_with_both)
{
	char text[256] = "", same[64];

	snprintf(same, sizeof(same), "/usr/lib/libddsc.so.%s", "0.10.2");
	ck_assert(wh_bridge_version_is(same, text, sizeof(text)));
	ck_assert(!wh_bridge_version_is("/opt/libddsc.so.0.11.0", text, sizeof(text)));
	ck_assert_ptr_nonnull(strstr(text, "0.10.2"));
	ck_assert_ptr_nonnull(strstr(text, "0.11.0"));
	ck_assert(!wh_bridge_version_is("libddsc", text, sizeof(text)));
	ck_assert(!wh_bridge_version_is("/usr/lib/libddsc.so.0.10.20", text, sizeof(text)));
}

TEST(the_topic_of_garbage_is_found)
{
	char name[32];

	ck_assert(wh_bridge_garbage_topic(
		"data(application, vendor 1.16): 1:2:3:4 #5: deserialization rt/a/m::T failed (x)", name, sizeof(name)));
	ck_assert_str_eq(name, "rt/a");
	ck_assert(!wh_bridge_garbage_topic("data(builtin, vendor 1.16): 1:2:3:4 #5: deserialization failed", name,
					   sizeof(name)));
	ck_assert(!wh_bridge_garbage_topic("something else", name, sizeof(name)));
	ck_assert(!wh_bridge_garbage_topic("1: deserialization a-name-that-is-too-long-for-what-there-is/T failed",
					   name, sizeof(name)));
	ck_assert(!wh_bridge_garbage_topic("1: deserialization a/T", name, sizeof(name)));
}

static char *text_of_rtps(dds_qos_t *qos)
{
	whorl_dds_qos *offer = wh_bridge_offer_of_rtps(qos);
	char *text = wh_bridge_offer_text(offer);

	whorl_dds_delete_qos(offer);
	dds_delete_qos(qos);
	return text;
}

static dds_qos_t *some_policies(void)
{
	dds_qos_t *qos = dds_create_qos();
	const char *names[] = {"one", "two"};

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, 5);
	dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
	dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_LAST, 7, -1, -1, -1);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 3);
	dds_qset_deadline(qos, DDS_SECS(2));
	dds_qset_ownership(qos, DDS_OWNERSHIP_EXCLUSIVE);
	dds_qset_ownership_strength(qos, 4);
	dds_qset_partition(qos, 2, names);
	dds_qset_userdata(qos, "hello", 5);
	return qos;
}

TEST(an_offer_keeps_what_readers_look_at)
{
	char *text = text_of_rtps(some_policies());
	static const char *const parts[] = {"reliability=reliable", "durability=transient", "deadline=2s",
					    "ownership=exclusive",  "ownership_strength=4", "partition=one,two",
					    "user_data=hello"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		ck_assert_msg(strstr(text, parts[i]) != NULL, "%s is not in %s", parts[i], text);
	free(text);
}

TEST(the_same_offers_have_the_same_text)
{
	char *one = text_of_rtps(some_policies()), *same = text_of_rtps(some_policies()), *other;
	dds_qos_t *qos = some_policies();

	dds_qset_ownership_strength(qos, 5);
	other = text_of_rtps(qos);
	ck_assert_str_eq(one, same);
	ck_assert_str_ne(one, other);
	free(one);
	free(same);
	free(other);
}

TEST(an_offer_comes_back_as_it_was)
{
	dds_qos_t *qos = some_policies(), *writer;
	whorl_dds_qos *offer = wh_bridge_offer_of_rtps(qos);
	dds_durability_kind_t durability;
	int32_t strength;
	dds_duration_t deadline;
	uint32_t count;
	char **names;

	writer = wh_bridge_rtps_writer(offer);
	ck_assert(dds_qget_durability(writer, &durability) && durability == DDS_DURABILITY_TRANSIENT_LOCAL);
	ck_assert(dds_qget_ownership_strength(writer, &strength) && strength == 4);
	ck_assert(dds_qget_deadline(writer, &deadline) && deadline == DDS_SECS(2));
	ck_assert(dds_qget_partition(writer, &count, &names) && count == 2);
	ck_assert_str_eq(names[1], "two");
	for (uint32_t i = 0; i < count; i++)
		dds_free(names[i]);
	dds_free(names);
	dds_delete_qos(writer);
	dds_delete_qos(qos);
	whorl_dds_delete_qos(offer);
}

TEST(samples_are_sorted_by_place)
{
	struct wh_bridge_batch batch;

	ck_assert(wh_bridge_batch_new(&batch, 16));
	batch.order[0] = (struct wh_bridge_place){2, 0, 0};
	batch.order[1] = (struct wh_bridge_place){1, 9, 1};
	batch.order[2] = (struct wh_bridge_place){1, 3, 2};
	batch.order[3] = (struct wh_bridge_place){1, 3, 3};
	wh_bridge_batch_sort(&batch, 4);
	ck_assert_uint_eq(batch.order[0].index, 2);
	ck_assert_uint_eq(batch.order[1].index, 3);
	ck_assert_uint_eq(batch.order[2].index, 1);
	ck_assert_uint_eq(batch.order[3].index, 0);
	wh_bridge_batch_free(&batch);
}

TEST(patterns_are_a_shells)
{
	struct wh_bridge bridge = {.patterns = {"rt/*", "x?"}, .pattern_count = 2};

	ck_assert(wh_bridge_wants(&bridge, "rt/chatter/more"));
	ck_assert(wh_bridge_wants(&bridge, "xy"));
	ck_assert(!wh_bridge_wants(&bridge, "xyz"));
	ck_assert(!wh_bridge_wants(&bridge, ""));
}

TEST(writers_are_remembered)
{
	struct wh_bridge_lane lane = {.topic = NULL};

	ck_assert_ptr_null(wh_bridge_lane_verdict(&lane, 7));
	wh_bridge_lane_decide(&lane, 7, true);
	wh_bridge_lane_decide(&lane, 8, false);
	ck_assert(wh_bridge_lane_verdict(&lane, 7)->is_ours);
	ck_assert(!wh_bridge_lane_verdict(&lane, 8)->is_ours);
	ck_assert(wh_bridge_lane_verdict(&lane, 7)->is_ours);
	free(lane.verdicts);
}

TEST_SUITE("bridge")
