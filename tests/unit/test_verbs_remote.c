/* Regions of the RDMA transport, as far as they need no device: what a peer says of them. */
#include <string.h>

#include "tests/harness.h"
#include "transport/verbs_lane.h"

struct lab {
	struct wh_verbs *t;
	struct wh_verbs_lane *lane; /* to node 1 */
};

static struct wh_verbs_lane *connected(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_lane *lane = wh_verbs_lane_of(t, &t->peers[node]);

	ck_assert_ptr_nonnull(lane);
	lane->connected = true;
	lane->serial = ++t->serials;
	return lane;
}

/* Node 0, which has met node 1. */
static struct lab lab_make(void)
{
	struct wh_verbs *t = calloc(1, sizeof(*t) + 2 * sizeof(t->peers[0]));

	ck_assert_ptr_nonnull(t);
	t->nodes = 2;
	t->incarnation = 6;
	t->env = wh_env_system();
	t->peers[0].state = WH_VERBS_SELF;
	t->peers[1] = (struct wh_verbs_peer){.state = WH_VERBS_MET, .node = 1, .incarnation = 7};
	return (struct lab){t, connected(t, 1)};
}

static void lab_free(struct lab *lab)
{
	wh_verbs_lanes_free(lab->t, true);
	free(lab->t);
}

static bool hear(struct lab *lab, enum wh_verbs_kind kind, uint64_t name)
{
	const struct wh_verbs_region_message message = {
		.head.kind = kind, .name = name, .bytes = 4096, .address = name << 32, .rkey = (uint32_t)name};

	return wh_verbs_remote_hear(lab->t, &lab->t->peers[1], &message);
}

/* ---- what a peer grants ------------------------------------------------------------------------------------------- */

/* An owner may open a region in place of one that it has closed before I have taken the event of its end: of what is kept for
 * me there is twice as much then as it has open. */
START_TEST(grants_whose_end_is_not_taken_have_places)
{
	struct lab lab = lab_make();
	struct wh_remote_event event;

	for (uint64_t name = 1; name <= WH_REMOTE_REGIONS; name++)
		ck_assert(hear(&lab, WH_VERBS_GRANT, name));
	for (uint64_t name = 1; name <= WH_REMOTE_REGIONS; name++)
		ck_assert(wh_remote_lane_next(&lab.lane->base, &event));
	for (uint64_t name = 1; name <= WH_REMOTE_REGIONS; name++)
		ck_assert(hear(&lab, WH_VERBS_WITHDRAWN, name));
	for (uint64_t name = 101; name <= 100 + WH_REMOTE_REGIONS; name++)
		ck_assert(hear(&lab, WH_VERBS_GRANT, name));
	ck_assert(!hear(&lab, WH_VERBS_GRANT, 1000));
	for (uint64_t name = 101; name <= 100 + WH_REMOTE_REGIONS; name++) {
		const struct wh_remote_grant *grant = wh_remote_grant_find(&lab.lane->base, name);

		ck_assert_uint_eq(wh_verbs_lane_place(lab.lane, grant)->address, name << 32);
		ck_assert_uint_eq(wh_verbs_lane_place(lab.lane, grant)->rkey, name);
	}
	ck_assert_uint_eq(lab.lane->release_count, WH_REMOTE_REGIONS); /* nothing else has been written to */
	for (uint64_t i = 0; i < WH_REMOTE_REGIONS; i++)
		ck_assert_uint_eq(lab.lane->releases[i], i + 1);
	ck_assert_ptr_null(lab.lane->qp);
	ck_assert_ptr_null(lab.lane->memory.base);
	lab_free(&lab);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_remote");
	TCase *cases = tcase_create("remote");

	tcase_add_test(cases, grants_whose_end_is_not_taken_have_places);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
