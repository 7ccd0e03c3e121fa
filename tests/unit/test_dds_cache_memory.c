/* test_dds_cache_memory.c - memory is out: at every allocation of a reader's cache, of a pool of copies, of waitsets and listeners, in turn.
 * Labels: nosan
 *
 * Each time the call must say so, change nothing, and work when there is memory again; at the end nothing is left.
 */
#include "dds/entity/condition.h"
#include "dds/status/listener.h"
#include "tests/support/cache_lab.h"
#include "tests/unit/refuse.h"

/* What a program does with a reader, as steps that say whether there was memory. One that had none is done again. */
struct story {
	struct lab lab;
	struct wh_dds_copy *copy;
	int step;
	long at; /* allocations until one is refused, in the calls that are tried; below 0: it was */
};

static void arm(const struct story *story)
{
	refuse_at = story->at;
}

static void disarm(struct story *story)
{
	story->at = refuse_at;
	refuse_at = -1;
}

static bool put(struct story *story, unsigned does, uint64_t instance, uint64_t set)
{
	struct wh_dds_arrival arrival = {.does = does, .expires_ns = WH_DDS_NEVER, .set = set};
	enum wh_dds_put_result result;

	arm(story);
	if (story->copy == NULL)
		story->copy = wh_dds_copy_take(story->lab.pool, sizeof(int));
	disarm(story);
	if (story->copy == NULL)
		return false;
	story->copy->facts = (struct wh_dds_facts){.instance = instance, .sequence = 1 + (uint64_t)story->step};
	arrival.copy = story->copy;
	arm(story);
	result = wh_dds_cache_put(story->lab.cache, &arrival, 1);
	disarm(story);
	ck_assert(wh_dds_cache_is_sound(story->lab.cache));
	if (result == WH_DDS_PUT_NO_MEMORY)
		return false;
	ck_assert_int_eq(result, WH_DDS_PUT_KEPT);
	story->copy = NULL;
	return true;
}

static bool take(struct story *story, bool goes)
{
	struct wh_dds_select select = {.take = goes, .info_bytes = sizeof(story->lab.infos[0])};
	whorl_dds_return result;

	arm(story);
	result = wh_dds_cache_read(story->lab.cache, &select, story->lab.lent, story->lab.infos, LAB_ROOM);
	disarm(story);
	ck_assert(wh_dds_cache_is_sound(story->lab.cache));
	if (result == WHORL_DDS_RETCODE_OUT_OF_RESOURCES)
		return false;
	ck_assert_int_eq(result, goes ? 7 : 4);
	story->lab.count = result;
	return true;
}

static bool step(struct story *story)
{
	switch (story->step) {
	case 0:
		arm(story);
		story->lab.pool = wh_dds_pool_create(1 << 20);
		disarm(story);
		return story->lab.pool != NULL;
	case 1:
		arm(story);
		story->lab.cache = wh_dds_cache_create(&story->lab.options);
		disarm(story);
		return story->lab.cache != NULL;
	case 2:
		return put(story, WH_DDS_DOES_DATA, 1, 0);
	case 3:
		return put(story, WH_DDS_DOES_DATA, 2, 0);
	case 4:
		return put(story, WH_DDS_DOES_DATA, 3, 9); /* of a set */
	case 5:
		return put(story, WH_DDS_DOES_DATA, 1, 0); /* held back */
	case 6:
		return put(story, WH_DDS_DOES_DISPOSE, 2, 0);
	case 7:
		wh_dds_cache_end_set(story->lab.cache, 9, true, 2);
		return take(story, false); /* one of 1 and 3, two of 2 */
	case 8:
		return put(story, WH_DDS_DOES_DATA | WH_DDS_DOES_LEAVE, 4, 0);
	default:
		/* What came too early, the samples that were read, and the last one. Where there is no memory it is tried again. */
		arm(story);
		while (wh_dds_cache_due(story->lab.cache) != WH_DDS_NEVER)
			wh_dds_cache_pass_time(story->lab.cache, story->lab.now += 1000);
		disarm(story);
		return put(story, WH_DDS_DOES_DISPOSE, 1, 0);
	}
}

#define STEPS 10

/* Returns whether an allocation was refused. */
static bool tell(long at)
{
	struct story story = {.at = at};
	bool was_out;

	lab_init(&story.lab);
	story.lab.policies.separation_ns = 100;
	while (story.step < STEPS) {
		bool done = step(&story);

		ck_assert(done || story.at < 0);
		story.step += done;
	}
	was_out = story.at < 0;
	story.at = -1;
	ck_assert_int_eq(wh_dds_cache_return(story.lab.cache, story.lab.lent, (size_t)story.lab.count),
			 WHORL_DDS_RETCODE_OK);
	ck_assert(take(&story, true));
	cache_lab_close(&story.lab);
	return was_out;
}

TEST(a_reader_without_memory)
{
	long at = 0, lives, left = 0;

	for (bool was_out = true; was_out; at++) {
		lives = live;
		was_out = tell(at);
		left = live - lives;
		ck_assert_int_eq(left, 0);
	}
	ck_assert_int_gt(at, 15);
}

TEST(conditions_without_memory)
{
	struct wh_dds_signals signals;
	struct wh_dds_waitset waitset;
	struct wh_dds_condition guard;
	whorl_dds_return first, second;
	whorl_dds_listener *listener;

	wh_dds_signals_init(&signals);
	wh_dds_waitset_init(&waitset, &signals);
	wh_dds_condition_init(&guard, &signals, 1);
	refuse_at = 0;
	first = wh_dds_waitset_attach(&waitset, &guard, 1);
	second = wh_dds_waitset_attach(&waitset, &guard, 1);
	wh_dds_waitset_close(&waitset);
	wh_dds_waitset_free(&waitset);
	wh_dds_condition_close(&guard);
	wh_dds_signals_free(&signals);
	refuse_at = 0;
	listener = whorl_dds_create_listener(NULL);
	refuse_at = -1;
	ck_assert_int_eq(first, WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
	ck_assert_int_eq(second, WHORL_DDS_RETCODE_OK);
	ck_assert_ptr_null(listener);
}

TEST_SUITE("dds_cache_memory")
