/* Regions of the RDMA transport, as far as they need no device: what a peer says of them, and how operations end. */
#include "tests/support/verbs_lab.h"
#include "transport/verbs/account.h"

struct lab {
	struct verbs_lab *node; /* 0, which has met node 1 */
	struct wh_verbs *t;
	struct wh_verbs_account *account; /* to node 1 */
};

static struct wh_verbs_account *connected(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_account *account = wh_verbs_account_of(t, node);

	ck_assert_ptr_nonnull(account);
	account->connected = true;
	account->serial = ++t->serials;
	return account;
}

static struct lab lab_make(void)
{
	struct verbs_lab *node = verbs_lab_make(0);

	verbs_lab_meet(node, 1);
	node->t->peers[1].link.state = WH_VERBS_OPEN;
	return (struct lab){node, node->t, connected(node->t, 1)};
}

static void lab_free(struct lab *lab)
{
	lab->t->forked = true; /* there is no device to be told */
	verbs_lab_free(lab->node);
}

static bool hear(struct lab *lab, enum wh_verbs_kind kind, uint64_t name)
{
	struct wh_verbs_message message = {.kind = kind, .number = name};

	if (kind == WH_VERBS_GRANT) {
		message.bytes = 4096;
		message.address = name << 32;
		message.rkey = (uint32_t)name;
	}
	return verbs_lab_hear(lab->node, 1, &message);
}

/* ---- what a peer grants ------------------------------------------------------------------------------------------- */

/* An owner may open a region in place of one that it has closed before this node has taken the event of its end: of what is kept
 * for this node there is twice as much then as it has open. */
TEST(grants_have_places_until_their_end_is_taken)
{
	struct lab lab = lab_make();
	struct wh_remote_event event;

	for (uint64_t name = 1; name <= WH_REMOTE_REGIONS; name++)
		ck_assert(hear(&lab, WH_VERBS_GRANT, name));
	for (uint64_t name = 1; name <= WH_REMOTE_REGIONS; name++)
		ck_assert(wh_remote_account_next(&lab.account->base, &event));
	for (uint64_t name = 1; name <= WH_REMOTE_REGIONS; name++)
		ck_assert(hear(&lab, WH_VERBS_WITHDRAWN, name));
	for (uint64_t name = 101; name <= 100 + WH_REMOTE_REGIONS; name++)
		ck_assert(hear(&lab, WH_VERBS_GRANT, name));
	ck_assert(!hear(&lab, WH_VERBS_GRANT, 1000));
	for (uint64_t name = 101; name <= 100 + WH_REMOTE_REGIONS; name++) {
		const struct wh_remote_grant *grant = wh_remote_grant_find(&lab.account->base, name);

		ck_assert_uint_eq(wh_verbs_account_place(lab.account, grant)->address, name << 32);
		ck_assert_uint_eq(wh_verbs_account_place(lab.account, grant)->rkey, name);
	}
	ck_assert_uint_eq(lab.account->release_count, WH_REMOTE_REGIONS); /* nothing else has been written to */
	for (uint64_t i = 0; i < WH_REMOTE_REGIONS; i++)
		ck_assert_uint_eq(lab.account->releases[i], i + 1);
	ck_assert_ptr_null(lab.account->qp);
	ck_assert_ptr_null(lab.account->memory.base);
	lab_free(&lab);
}

/* ---- what is mine ------------------------------------------------------------------------------------------------- */

static void complete(struct lab *lab, const struct wh_verbs_account *account, enum ibv_wc_status status)
{
	const struct ibv_wc done = {.wr_id = wh_verbs_account_request(account, false), .status = status};

	wh_verbs_account_complete(lab->t, &done);
}

/* What is posted is completed once, whatever becomes of the queue pair to this node itself: no peer's end tells its end. */
TEST(a_broken_account_to_myself_completes_all)
{
	const enum ibv_wc_status how[] = {IBV_WC_SUCCESS, IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR,
					  IBV_WC_WR_FLUSH_ERR};
	const struct wh_remote_op op = {.kind = WH_REMOTE_WRITE, .bytes = 8};
	struct lab lab = lab_make();
	struct wh_verbs_account *own = connected(lab.t, 0);
	struct wh_remote_event event;

	for (int i = 0; i < 3; i++)
		wh_remote_posted(&own->base, &op, lab.t->incarnation);
	for (int i = 0; i < 4; i++) /* the last is of nothing */
		complete(&lab, own, how[i]);
	for (int i = 0; i < 3; i++) {
		ck_assert(wh_remote_account_next(&own->base, &event));
		ck_assert_int_eq(event.kind, WH_REMOTE_DONE);
		ck_assert_int_eq(event.result, i == 0 ? WHORL_OK : WHORL_MEMBER_GONE);
	}
	ck_assert(!wh_remote_account_next(&own->base, &event));
	lab_free(&lab);
}

/* The way to this node itself is found by what it listens with, which is gone by then. */
TEST(a_node_that_has_left_opens_no_region)
{
	struct lab lab = lab_make();
	struct wh_region *region = NULL;
	struct wh_error err = {0};

	wh_session_leave(lab.t->base.session);
	ck_assert_int_eq(wh_verbs_remote_ops.region_open(&lab.t->base.base, 5, 4096, &region, &err), WHORL_SYSTEM);
	ck_assert_ptr_null(region);
	lab_free(&lab);
}

/* What a peer says of an account before it has one breaks the protocol. */
TEST(a_grant_needs_an_account)
{
	struct lab lab = lab_make();

	lab.account->connected = false;
	ck_assert(!hear(&lab, WH_VERBS_GRANT, 1));
	ck_assert(!hear(&lab, WH_VERBS_WITHDRAWN, 1));
	ck_assert(!hear(&lab, WH_VERBS_RELEASED, 1));
	ck_assert(!hear(&lab, WH_VERBS_IMMEDIATES, 1));
	ck_assert(hear(&lab, WH_VERBS_IMMEDIATES, 0));
	lab_free(&lab);
}

TEST_SUITE("verbs_remote")
