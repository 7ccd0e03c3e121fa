/* cases_remote_ends.c - T7: which nodes may, how much, and what is left when a node goes (R3 to R6). */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tests/conformance/remote.h"

#define LONG_NS (10 * WH_NS_PER_S)
#define SHORT_NS (30 * WH_NS_PER_MS)

static const struct wh_remote_ops *ops_of(const struct remote *r, uint32_t id)
{
	return r->g->at[id].transport->ops->remote;
}

/* ---- which nodes may, and what ------------------------------------------------------------------------------------ */

START_TEST(t7_a_node_without_a_grant_has_nothing)
{
	struct remote *r = remote_make(3, test_seed(1));
	struct wh_region *region = remote_open(r, 0, 5, 4096);
	struct wh_remote_op op = remote_add(0, 1);

	op.region = 5;
	remote_grant(r, region, 0, 1);
	ck_assert_int_eq(remote_post(r, 1, op), WHORL_OK);
	ck_assert_int_eq(remote_post(r, 2, op), WHORL_NOT_FOUND);
	ck_assert_int_eq(remote_post(r, 0, op), WHORL_OK);
	op.node = 1; /* a region of that name, of another */
	ck_assert_int_eq(remote_post(r, 0, op), WHORL_NOT_FOUND);
	ck_assert_int_eq(remote_post(r, 2, op), WHORL_NOT_FOUND);
	UNTIL_TAKEN(r, remote_is_done(r, 1, 0) && remote_is_done(r, 0, 0));
	ck_assert_uint_eq(region->words[0], 2);
	ck_assert_int_eq(region->ops->grant(region, 1), WHORL_OK); /* again */
	for (int k = 0; k < 20; k++)
		group_pass(r->g);
	remote_take_all(r);
	ck_assert_uint_eq(r->at[1].granted, 2);
	ck_assert_uint_eq(r->at[2].granted, 1);
	ck_assert_int_eq(region->ops->grant(region, 0), WHORL_INVALID);
	ck_assert_int_eq(region->ops->grant(region, 3), WHORL_INVALID);
	remote_free(r);
}
END_TEST

START_TEST(t7_nobody_is_granted_anything_before_the_meeting)
{
	struct remote *r = calloc(1, sizeof(*r));
	struct wh_remote_op op = remote_add(0, 1);

	ck_assert_ptr_nonnull(r);
	r->g = group_make(2, test_seed(2));
	r->region = remote_open(r, 0, REGION, 8);
	ck_assert_int_eq(r->region->ops->grant(r->region, 1), WHORL_MEMBER_GONE);
	ck_assert_int_eq(remote_post(r, 1, op), WHORL_MEMBER_GONE);
	ck_assert_uint_eq(remote_do(r, 0, op), 0); /* a node needs no other for its own */
	remote_meet(r);
	remote_grant(r, r->region, 0, 1);
	ck_assert_uint_eq(remote_do(r, 1, op), 1);
	remote_free(r);
}
END_TEST

START_TEST(t7_names_and_sizes_of_regions)
{
	static const uint64_t bad[] = {0, 4, 12, WH_REMOTE_REGION_MAX + 8, UINT64_MAX - 7};
	struct remote *r = remote_make(2, test_seed(3));
	struct wh_transport *me = r->g->at[0].transport;
	struct wh_region *regions[WH_REMOTE_REGIONS], *extra;
	enum whorl_result result;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(ops_of(r, 0)->region_open(me, 1, bad[i], &extra, NULL), WHORL_INVALID);
	ck_assert_int_eq(ops_of(r, 0)->region_open(me, REGION, 64, &extra, NULL), WHORL_INVALID); /* it is open */
	regions[0] = r->region;
	for (uint64_t k = 1; k < WH_REMOTE_REGIONS; k++) {
		regions[k] = remote_open(r, 0, 1000 + k, 8 * k);
		remote_grant(r, regions[k], 0, 1);
	}
	ck_assert_int_eq(ops_of(r, 0)->region_open(me, 1, 64, &extra, NULL), WHORL_AGAIN);
	for (uint64_t k = 1; k < WH_REMOTE_REGIONS; k++) {
		struct wh_remote_op op = remote_add(8 * k - 8, k);

		op.region = 1000 + k;
		ck_assert_uint_eq(remote_do(r, 1, op), 0);
		ck_assert_uint_eq(wh_load_acquire(&regions[k]->words[k - 1]), k);
	}
	regions[7]->ops->region_close(regions[7]);
	UNTIL_TAKEN(r, (result = ops_of(r, 0)->region_open(me, 2, 64, &extra, NULL)) != WHORL_AGAIN);
	ck_assert_int_eq(result, WHORL_OK);
	UNTIL_TAKEN(r, r->at[1].withdrawn == 1);
	ck_assert_uint_eq(r->at[1].withdrawal.region, 1007);
	remote_free(r);
}
END_TEST

/* None of these is taken, and nothing of them is done. */
START_TEST(t7_what_is_out_of_range_is_refused)
{
	static uint64_t words[WH_REMOTE_BYTES_MAX / 8 + 1];
	const uint64_t end = REGION_BYTES, most = WH_REMOTE_BYTES_MAX;
	struct wh_remote_op bad[] = {
		remote_read(0, words, 0),
		remote_read(4, words, 8),
		remote_read(0, words, 12),
		remote_read(end, words, 8),
		remote_read(end - 8, words, 16),
		remote_read(0, words, most + 8),
		remote_read(UINT64_MAX - 7, words, 8),
		remote_read(8, words, UINT64_MAX - 7),
		remote_write(0, words, 0),
		remote_write(1, words, 8),
		remote_write(end - most + 8, words, most),
		remote_write(0, words, 9),
		remote_tell(4, words, 8, 1),
		remote_tell(end, words, 8, 1),
		remote_tell(end + 8, words, 0, 1),
		remote_tell(3, words, 0, 1),
		remote_add(1, 1),
		remote_add(end, 1),
		remote_add(end - 4, 1),
		remote_add(UINT64_MAX - 7, 1),
		remote_swap(7, 0, 1),
		remote_swap(end, 0, 1),
		{.kind = (enum wh_remote_kind)77, .region = REGION, .bytes = 8, .into = words},
		{.kind = WH_REMOTE_READ, .node = 9, .region = REGION, .bytes = 8, .into = words},
		{.kind = WH_REMOTE_READ, .node = UINT32_MAX, .region = REGION, .bytes = 8, .into = words},
	};
	struct remote *r = remote_make(2, test_seed(4));

	memset(words, 0xee, sizeof(words));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (uint32_t id = 0; id < 2; id++)
			ck_assert_msg(remote_post(r, id, bad[i]) == WHORL_INVALID, "number %zu", i);
	for (int k = 0; k < 20; k++)
		group_pass(r->g);
	remote_take_all(r);
	ck_assert_uint_eq(r->at[0].immediate_count, 0);
	for (uint64_t i = 0; i < REGION_BYTES / 8; i++)
		ck_assert_uint_eq(r->region->words[i], 0);
	remote_do(r, 1, remote_read(end - most, words, most)); /* the last that may be read */
	ck_assert_uint_eq(words[0], 0);
	remote_do(r, 1, remote_tell(end, NULL, 0, 1)); /* nothing, at its end */
	remote_free(r);
}
END_TEST

START_TEST(t7_a_batch_ends_at_the_first_that_is_refused)
{
	struct remote *r = remote_make(2, test_seed(5));
	struct wh_remote_op ops[] = {remote_add(0, 1), remote_add(0, 1), remote_add(1, 1), remote_add(0, 1)};
	struct wh_transport *transport = r->g->at[1].transport;
	size_t posted = 9;

	for (uint64_t i = 0; i < 4; i++)
		ops[i].cookie = i;
	ck_assert_int_eq(ops_of(r, 1)->post(transport, ops, 4, &posted), WHORL_INVALID);
	ck_assert_uint_eq(posted, 2);
	r->at[1].to[0].posted = 2;
	UNTIL_TAKEN(r, remote_is_done(r, 1, 0));
	ck_assert_uint_eq(wh_load_acquire(&r->region->words[0]), 2);
	ck_assert_int_eq(ops_of(r, 1)->post(transport, ops, 0, &posted), WHORL_OK);
	ck_assert_uint_eq(posted, 0);
	remote_free(r);
}
END_TEST

/* ---- bounds (R4) -------------------------------------------------------------------------------------------------- */

static uint64_t post_until_refused(struct remote *r, uint32_t from, struct wh_remote_op op)
{
	uint64_t count = 0;
	enum whorl_result result;

	while ((result = remote_post(r, from, op)) == WHORL_OK)
		ck_assert_uint_lt(count++, 10000);
	ck_assert_int_eq(result, WHORL_AGAIN);
	return count;
}

START_TEST(t7_so_many_are_outstanding)
{
	struct remote *r = remote_make(3, test_seed(10));
	struct wh_region *region = remote_open(r, 2, REGION, 8);
	struct wh_remote_op elsewhere = remote_add(0, 1);

	elsewhere.node = 2;
	remote_grant(r, region, 2, 1);
	r->at[1].idle = true;
	for (uint64_t round = 1; round <= 5; round++) {
		ck_assert_uint_eq(post_until_refused(r, 1, remote_add(0, 1)), WH_REMOTE_OUTSTANDING);
		for (int k = 0; k < 20; k++) /* done or not, they count until they are taken */
			group_pass(r->g);
		ck_assert_int_eq(remote_post(r, 1, remote_add(0, 1)), WHORL_AGAIN);
		ck_assert_int_eq(remote_post(r, 1, elsewhere), WHORL_OK);        /* another target, */
		ck_assert_int_eq(remote_post(r, 2, remote_add(8, 1)), WHORL_OK); /* another initiator */
		UNTIL_TAKEN(r, remote_take(r, 1) && remote_is_done(r, 1, 0) && remote_is_done(r, 1, 2));
		ck_assert_uint_eq(wh_load_acquire(&r->region->words[0]), round * WH_REMOTE_OUTSTANDING);
	}
	UNTIL_TAKEN(r, remote_is_done(r, 2, 0));
	remote_free(r);
}
END_TEST

START_TEST(t7_so_many_immediates_are_not_taken)
{
	struct remote *r = remote_make(3, test_seed(11));
	uint32_t sent = 0;

	r->at[0].idle = true;
	for (enum whorl_result result = WHORL_OK; result == WHORL_OK; sent += result == WHORL_OK) {
		UNTIL_TAKEN(r, remote_is_done(r, 1, 0));
		result = remote_post(r, 1, remote_tell(0, NULL, 0, sent));
		ck_assert(result == WHORL_OK || result == WHORL_AGAIN);
	}
	ck_assert_uint_eq(sent, WH_REMOTE_IMMEDIATES);
	ck_assert_uint_eq(remote_do(r, 1, remote_add(0, 1)), 0); /* they hold up nothing else */
	ck_assert_int_eq(remote_post(r, 2, remote_tell(0, NULL, 0, 5)), WHORL_OK);
	UNTIL_TAKEN(r, remote_is_done(r, 2, 0));
	r->at[0].idle = false;
	UNTIL_TAKEN(r, remote_post(r, 1, remote_tell(0, NULL, 0, sent)) == WHORL_OK);
	UNTIL_TAKEN(r, r->at[0].immediate_count == WH_REMOTE_IMMEDIATES + 2);
	for (uint32_t i = 0, next = 0; i < r->at[0].immediate_count; i++)
		ck_assert_uint_eq(r->at[0].immediates[i], r->at[0].immediate_from[i] == 1 ? next++ : 5);
	remote_free(r);
}
END_TEST

/* ---- ends (R3, R5) ------------------------------------------------------------------------------------------------ */

/* As much as there may be, some of each kind. */
static void post_all_sorts(struct remote *r, uint32_t from, uint64_t *into)
{
	static const uint64_t data[64];

	for (uint32_t k = 0; k < WH_REMOTE_OUTSTANDING / 4; k++) {
		ck_assert_int_eq(remote_post(r, from, remote_add(8, 1)), WHORL_OK);
		ck_assert_int_eq(remote_post(r, from, remote_write(1024, data, sizeof(data))), WHORL_OK);
		ck_assert_int_eq(remote_post(r, from, remote_read(8, into, 8)), WHORL_OK);
		ck_assert_int_eq(remote_post(r, from, remote_tell(0, NULL, 0, k)), WHORL_OK);
	}
}

static void check_all_are_completed(struct remote *r, uint32_t by)
{
	const struct remote_pair *pair = &r->at[by].to[0];

	UNTIL_TAKEN(r, remote_is_done(r, by, 0));
	ck_assert_uint_eq(pair->results[WHORL_OK] + pair->results[WHORL_MEMBER_GONE], WH_REMOTE_OUTSTANDING);
	for (int k = 0; k < 50; k++) { /* nothing more comes: remote_take looks at the count */
		group_pass(r->g);
		remote_take_all(r);
	}
	ck_assert_int_eq(remote_post(r, by, remote_add(8, 1)), WHORL_MEMBER_GONE);
	ck_assert_uint_eq(r->at[by].withdrawn, 0);
}

/* Odd ones leave. */
START_TEST(t7_the_end_of_a_target_completes_all)
{
	struct remote *r = remote_make(3, test_seed(20 + (uint64_t)_i));
	uint64_t into[2] = {0};

	for (int k = _i / 2; k > 0; k--)
		group_pass(r->g);
	post_all_sorts(r, 1, &into[0]);
	post_all_sorts(r, 2, &into[1]);
	if (_i % 2 == 1)
		group_close(r->g, 0);
	else
		group_kill(r->g, 0);
	UNTIL_TAKEN(r, r->g->at[1].ended[0] != 0 && r->g->at[2].ended[0] != 0);
	check_all_are_completed(r, 1);
	check_all_are_completed(r, 2);
	remote_free(r);
}
END_TEST

/* A node that posts to the dead and to others is served by the others. */
START_TEST(t7_the_end_of_one_is_of_no_account_to_another)
{
	struct remote *r = remote_make(4, test_seed(30));
	struct wh_region *region = remote_open(r, 3, 9, 64);
	struct wh_remote_op op = remote_add(0, 1);

	op.node = 3;
	op.region = 9;
	remote_grant(r, region, 3, 1);
	for (int k = 0; k < 30; k++) {
		ck_assert_int_eq(remote_post(r, 1, remote_add(0, 1)), WHORL_OK);
		ck_assert_int_eq(remote_post(r, 1, op), WHORL_OK);
		ck_assert_int_eq(remote_post(r, 2, remote_add(16, 1)), WHORL_OK);
	}
	group_kill(r->g, 2); /* an initiator */
	for (int k = 0; k < 30; k++)
		ck_assert_int_eq(remote_post(r, 1, remote_add(0, 1)), WHORL_OK);
	UNTIL_TAKEN(r, remote_is_done(r, 1, 0));
	ck_assert_uint_eq(r->region->words[0], 60);
	group_kill(r->g, 0); /* a target */
	UNTIL_TAKEN(r, r->g->at[1].down == 2);
	ck_assert_uint_eq(remote_do(r, 1, op), 30);
	ck_assert_uint_eq(r->at[1].to[3].results[WHORL_OK], 31);
	remote_free(r);
}
END_TEST

/* Grants are of one life to one life. */
START_TEST(t7_another_incarnation_is_granted_anew)
{
	struct remote *r = remote_make(2, test_seed(31));
	uint64_t incarnation = wh_world.incarnation(r->g->world, 0);

	remote_do(r, 1, remote_add(0, 1));
	group_kill(r->g, 0);
	UNTIL_TAKEN(r, r->g->at[1].down == 1);
	group_restart(r->g, 0);
	remote_meet(r);
	ck_assert_int_eq(remote_post(r, 1, remote_add(0, 1)), WHORL_NOT_FOUND);
	r->region = remote_open(r, 0, REGION, 64);
	remote_grant(r, r->region, 0, 1);
	ck_assert_uint_ne(r->at[1].grant.incarnation, incarnation);
	ck_assert_uint_eq(remote_do(r, 1, remote_add(0, 1)), 0);

	group_kill(r->g, 1);
	UNTIL_TAKEN(r, r->g->at[0].down == 1);
	group_restart(r->g, 1);
	memset(&r->at[1], 0, sizeof(r->at[1]));
	remote_meet(r);
	for (int k = 0; k < 20; k++)
		group_pass(r->g);
	ck_assert_int_eq(remote_post(r, 1, remote_add(0, 1)), WHORL_NOT_FOUND);
	remote_grant(r, r->region, 0, 1);
	ck_assert_uint_eq(remote_do(r, 1, remote_add(0, 1)), 1);
	remote_do(r, 1, remote_tell(0, NULL, 0, 3));
	UNTIL_TAKEN(r, r->at[0].immediate_count == 1);
	remote_free(r);
}
END_TEST

/* What was posted to it ends well, or is not found; none of it is ever seen in another region. */
START_TEST(t7_a_region_is_closed)
{
	static uint64_t ones[512];
	struct remote *r = remote_make(3, test_seed(40 + (uint64_t)_i));
	struct wh_region *next;
	const struct remote_pair *pair = &r->at[1].to[0];
	struct wh_remote_op op = remote_write(0, ones, sizeof(ones));
	enum whorl_result result;

	memset(ones, 0xff, sizeof(ones));
	for (int k = 0; k < WH_REMOTE_OUTSTANDING; k++)
		ck_assert_int_eq(remote_post(r, 1, op), WHORL_OK);
	for (int k = 0; k < _i; k++)
		group_pass(r->g);
	r->region->ops->region_close(r->region);
	ck_assert_int_eq(remote_post(r, 0, op), WHORL_NOT_FOUND);
	next = remote_open(r, 0, REGION + 1, REGION_BYTES);
	remote_grant(r, next, 0, 2);
	UNTIL_TAKEN(r, (result = remote_post(r, 1, op)) != WHORL_OK && result != WHORL_AGAIN);
	ck_assert_int_eq(result, WHORL_NOT_FOUND);
	UNTIL_TAKEN(r, remote_is_done(r, 1, 0) && r->at[1].withdrawn == 1);
	UNTIL_TAKEN(r, r->at[2].withdrawn == 1);
	ck_assert_uint_eq(r->at[1].withdrawal.region, REGION);
	ck_assert_uint_eq(r->at[1].withdrawal.incarnation, wh_world.incarnation(r->g->world, 0));
	ck_assert_uint_eq(pair->results[WHORL_OK] + pair->results[WHORL_NOT_FOUND], pair->done);
	for (int k = 0; k < 20; k++)
		group_pass(r->g);
	for (uint64_t i = 0; i < REGION_BYTES / 8; i++)
		ck_assert_uint_eq(next->words[i], 0);
	op = remote_add(0, 1);
	op.region = REGION + 1;
	ck_assert_int_eq(remote_post(r, 1, op), WHORL_NOT_FOUND);
	remote_grant(r, next, 0, 1);
	ck_assert_uint_eq(remote_do(r, 1, op), 0);
	remote_free(r);
}
END_TEST

/* Immediates to a region that is closed meanwhile are given or not; but none counts for ever as not taken. */
START_TEST(t7_immediates_to_a_closed_region)
{
	struct remote *r = remote_make(2, test_seed(45 + (uint64_t)_i));
	struct wh_region *other = remote_open(r, 0, REGION + 1, 8);
	struct wh_remote_op op = remote_tell(0, NULL, 0, 1);
	enum whorl_result result;

	remote_grant(r, other, 0, 1);
	for (int k = 0; k < WH_REMOTE_IMMEDIATES; k++)
		ck_assert_int_eq(remote_post(r, 1, op), WHORL_OK);
	for (int k = 0; k < _i; k++)
		group_pass(r->g);
	r->region->ops->region_close(r->region);
	UNTIL_TAKEN(r, remote_is_done(r, 1, 0) && r->at[1].withdrawn == 1);
	for (int k = 0; k < 20; k++)
		group_pass(r->g);
	remote_take_all(r);
	ck_assert_uint_eq(r->at[0].immediate_count, r->at[1].to[0].results[WHORL_OK]);
	op.region = REGION + 1;
	for (int k = 0; k < 2 * WH_REMOTE_IMMEDIATES; k++) {
		UNTIL_TAKEN(r, (result = remote_post(r, 1, op)) != WHORL_AGAIN);
		ck_assert_int_eq(result, WHORL_OK);
	}
	UNTIL_TAKEN(r, remote_is_done(r, 1, 0));
	remote_free(r);
}
END_TEST

/* A node that takes no events meanwhile is not overrun, and hears in the end of what is left. */
START_TEST(t7_regions_come_and_go)
{
	struct remote *r = remote_make(2, test_seed(48));
	struct wh_region *region = NULL;
	uint64_t name = 1000;

	r->at[1].idle = true;
	for (int round = 0; round < 3 * WH_REMOTE_REGIONS; round++) {
		if (region != NULL)
			region->ops->region_close(region);
		region = NULL;
		UNTIL(r->g, ops_of(r, 0)->region_open(r->g->at[0].transport, ++name, 64, &region, NULL) == WHORL_OK);
		UNTIL(r->g, region->ops->grant(region, 1) == WHORL_OK);
		if (round % 8 == 0)
			group_pass(r->g);
		if (round % 32 == 0)
			remote_take(r, 1);
	}
	ck_assert_uint_eq(r->g->at[0].down + r->g->at[1].down + r->g->at[0].refused + r->g->at[1].refused, 0);
	r->at[1].idle = false;
	UNTIL_TAKEN(r, r->at[1].grant.region == name && r->at[1].withdrawn == r->at[1].granted - 2);
	ck_assert_uint_eq(remote_do(r, 1, remote_add(0, 1)), 0); /* the first has been there all the time */
	remote_free(r);
}
END_TEST

/* ---- sleep (R6) --------------------------------------------------------------------------------------------------- */

/* What has been going on is over, so nothing else ends a wait. */
static void settle(struct remote *r)
{
	for (uint32_t id = 0; id < r->g->nodes; id++)
		for (int k = 0; k < PATIENCE && wh_world.wait(r->g->world, id, 3 * SHORT_NS); k++) {
			group_pass(r->g);
			remote_take_all(r);
		}
}

START_TEST(t7_an_immediate_wakes_a_sleeper)
{
	struct remote *r = remote_make(3, test_seed(50));
	struct wh_transport *me = r->g->at[0].transport;
	uint64_t data = 0;

	settle(r);
	for (uint32_t k = 1; k <= 10; k++) {
		data = k;
		me->ops->arm(me);
		remote_take(r, 0);
		ck_assert_uint_eq(r->at[0].immediate_count, k - 1);
		ck_assert_int_eq(remote_post(r, 1 + k % 2, remote_tell(64, &data, 8, k)), WHORL_OK);
		ck_assert(wh_world.wait(r->g->world, 0, LONG_NS));
		UNTIL_TAKEN(r, r->at[0].immediate_count == k && remote_is_done(r, 1 + k % 2, 0));
		ck_assert_uint_eq(wh_load_acquire(&r->region->words[8]), k);
		while (wh_world.wait(r->g->world, 0, SHORT_NS)) /* a ring that is left over */
			group_pass(r->g);
	}
	me->ops->arm(me);
	ck_assert(!wh_world.wait(r->g->world, 0, SHORT_NS));
	remote_free(r);
}
END_TEST

struct served {
	struct remote *r;
	wh_word stop;
};

static void *serve_thread(void *ctx)
{
	struct served *served = ctx;
	struct wh_transport *transport = served->r->g->at[0].transport;

	while (wh_load_acquire(&served->stop) == 0) {
		transport->ops->service(transport);
		sched_yield();
	}
	return NULL;
}

/* The target's loop runs; the initiator sleeps, unless it has found it already. */
START_TEST(t7_a_completion_wakes_a_sleeper)
{
	struct served served = {.r = remote_make(2, test_seed(51))};
	struct wh_transport *me = served.r->g->at[1].transport;
	struct remote *r = served.r;
	pthread_t target;

	settle(r);
	ck_assert_int_eq(pthread_create(&target, NULL, serve_thread, &served), 0);
	for (uint64_t k = 0; k < (is_dear() ? 20 : 200); k++) {
		ck_assert_int_eq(remote_post(r, 1, remote_add(0, 1)), WHORL_OK);
		while (remote_take(r, 1) && !remote_is_done(r, 1, 0)) {
			me->ops->arm(me);
			if (remote_take(r, 1) && remote_is_done(r, 1, 0))
				me->ops->disarm(me);
			else
				ck_assert(wh_world.wait(r->g->world, 1, LONG_NS));
			me->ops->service(me);
		}
		ck_assert_uint_eq(r->at[1].to[0].value, k);
	}
	wh_store_release(&served.stop, 1); /* partner: serve_thread */
	pthread_join(target, NULL);
	remote_free(r);
}
END_TEST

#define ROUNDS (is_dear() ? 100u : 2000u)

/* One tells, and waits until the other has told back; both sleep. */
struct player {
	struct remote *r;
	uint32_t id;
	uint64_t region;
	bool starts, late;
};

static bool has_immediate(const struct player *p, uint32_t k)
{
	struct wh_transport *transport = p->r->g->at[p->id].transport;
	struct wh_remote_event event;
	bool found = false;

	while (transport->ops->remote->next(transport, &event))
		if (event.kind == WH_REMOTE_IMMEDIATE) {
			ck_assert_uint_eq(event.immediate, k);
			found = true;
		} else {
			ck_assert_int_eq(event.result, WHORL_OK);
		}
	return found;
}

static bool await(struct player *p, uint32_t k)
{
	struct wh_transport *transport = p->r->g->at[p->id].transport;

	while (!has_immediate(p, k)) {
		bool woken;

		transport->ops->service(transport);
		transport->ops->arm(transport);
		if (has_immediate(p, k)) {
			transport->ops->disarm(transport);
			return true;
		}
		woken = wh_world.wait(p->r->g->world, p->id, LONG_NS);
		transport->ops->service(transport);
		if (!woken && has_immediate(p, k)) /* it was there, and no ring came */
			return false;
	}
	return true;
}

static void *player_thread(void *ctx)
{
	struct player *p = ctx;

	for (uint32_t k = 0; k < ROUNDS && !p->late; k++) {
		if (!p->starts)
			p->late = !await(p, k);
		while (!p->late) {
			struct wh_remote_op op = remote_tell(0, NULL, 0, k);
			struct wh_transport *transport = p->r->g->at[p->id].transport;
			size_t posted;

			op.node = 1 - p->id;
			op.region = p->region;
			if (transport->ops->remote->post(transport, &op, 1, &posted) == WHORL_OK)
				break;
			transport->ops->service(transport);
		}
		if (p->starts)
			p->late = !await(p, k);
	}
	return NULL;
}

START_TEST(t7_no_immediate_is_slept_through)
{
	struct remote *r = remote_make(2, test_seed(52));
	struct wh_region *back = remote_open(r, 1, REGION + 1, 8);
	struct player players[] = {{r, 0, REGION + 1, true, false}, {r, 1, REGION, false, false}};
	pthread_t threads[2];

	remote_grant(r, back, 1, 0);
	settle(r);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, player_thread, &players[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert(!players[0].late && !players[1].late);
	remote_free(r);
}
END_TEST

TCase *cases_remote_ends(void)
{
	TCase *cases = tcase_create("remote ends");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t7_a_node_without_a_grant_has_nothing);
	tcase_add_test(cases, t7_nobody_is_granted_anything_before_the_meeting);
	tcase_add_test(cases, t7_names_and_sizes_of_regions);
	tcase_add_test(cases, t7_what_is_out_of_range_is_refused);
	tcase_add_test(cases, t7_a_batch_ends_at_the_first_that_is_refused);
	tcase_add_test(cases, t7_so_many_are_outstanding);
	tcase_add_test(cases, t7_so_many_immediates_are_not_taken);
	tcase_add_loop_test(cases, t7_the_end_of_a_target_completes_all, 0, 6);
	tcase_add_test(cases, t7_the_end_of_one_is_of_no_account_to_another);
	tcase_add_test(cases, t7_another_incarnation_is_granted_anew);
	tcase_add_loop_test(cases, t7_a_region_is_closed, 0, 3);
	tcase_add_loop_test(cases, t7_immediates_to_a_closed_region, 0, 3);
	tcase_add_test(cases, t7_regions_come_and_go);
	tcase_add_test(cases, t7_an_immediate_wakes_a_sleeper);
	if (wh_world.threads) {
		tcase_add_test(cases, t7_a_completion_wakes_a_sleeper);
		tcase_add_test(cases, t7_no_immediate_is_slept_through);
	}
	return cases;
}
