/* test_redial.c - when the others are called, and for how long they are searched for. */
#include "tests/support/fake.h"
#include "transport/session/redial.h"

#define SELDOM_NS WH_NS_PER_S
#define PATIENCE_NS (3 * WH_NS_PER_S)

struct lab {
	struct fake_env fake;
	struct wh_redial redial;
	uint64_t alarm_ns;              /* the earliest that has been asked for; 0: none */
	struct wh_redial_peer calls[3]; /* of the peers; a fourth node is this one */
};

static void note_alarm(void *ctx, uint64_t in_ns)
{
	struct lab *lab = ctx;

	if (lab->alarm_ns == 0 || lab->fake.now_ns + in_ns < lab->alarm_ns)
		lab->alarm_ns = lab->fake.now_ns + in_ns;
}

static void open_lab(struct lab *lab)
{
	struct wh_transport_config config = {.nodes = 4, .patience_ns = PATIENCE_NS};

	*lab = (struct lab){0};
	fake_env_init(&lab->fake);
	config.env = &lab->fake.env;
	wh_redial_init(&lab->redial, &config, note_alarm, lab);
	wh_redial_begin(&lab->redial);
}

static void search_after(struct lab *lab, uint64_t ns)
{
	lab->fake.now_ns += ns;
	wh_redial_search(&lab->redial);
}

TEST(a_node_that_does_not_answer_is_called_later_each_time)
{
	uint64_t before = 0, in_ns;
	struct lab lab;

	open_lab(&lab);
	for (int times = 0; times < 20; times++) {
		wh_redial_soon(&lab.redial, &lab.calls[0]);
		in_ns = lab.calls[0].at_ns - lab.fake.now_ns;
		ck_assert(in_ns == 2 * before || in_ns == SELDOM_NS || before == 0);
		ck_assert_uint_ge(in_ns, before);
		before = in_ns;
	}
	ck_assert_uint_eq(before, SELDOM_NS);
	ck_assert(!lab.calls[0].sought);
	wh_redial_met(&lab.redial, &lab.calls[0]);
	wh_redial_soon(&lab.redial, &lab.calls[0]);
	ck_assert_uint_lt(lab.calls[0].at_ns - lab.fake.now_ns, SELDOM_NS / 100); /* it begins anew */
}

TEST(all_new_ones_are_called_and_a_few_of_the_others)
{
	struct wh_redial_peer unknown = {0}, absent = {.sought = true}, later = {.at_ns = 2 * WH_NS_PER_S};
	uint32_t again = 0, called = 0;

	for (int i = 0; i < 100; i++) {
		ck_assert(wh_redial_is_due(&unknown, WH_NS_PER_S, &again));
		ck_assert(!wh_redial_is_due(&later, WH_NS_PER_S, &again));
		called += wh_redial_is_due(&absent, WH_NS_PER_S, &again);
	}
	ck_assert_uint_eq(called, 16);
}

TEST(the_search_ends_when_all_are_sought)
{
	struct lab lab;

	open_lab(&lab);
	wh_redial_tried(&lab.redial, lab.fake.now_ns, UINT64_MAX);
	wh_redial_met(&lab.redial, &lab.calls[0]);
	wh_redial_met(&lab.redial, &lab.calls[0]); /* once more: that is no other peer */
	wh_redial_seldom(&lab.redial, &lab.calls[1]);
	search_after(&lab, WH_NS_PER_MS);
	ck_assert(lab.redial.searching);
	wh_redial_sought(&lab.redial, &lab.calls[2]);
	search_after(&lab, WH_NS_PER_MS);
	ck_assert(!lab.redial.searching);
}

TEST(the_search_ends_with_the_patience)
{
	struct lab lab;

	open_lab(&lab);
	search_after(&lab, 2 * PATIENCE_NS);
	ck_assert(lab.redial.searching); /* no node has been called yet */
	wh_redial_tried(&lab.redial, lab.fake.now_ns, UINT64_MAX);
	for (uint64_t past = WH_NS_PER_S / 4; past < PATIENCE_NS; past += WH_NS_PER_S / 4) {
		search_after(&lab, WH_NS_PER_S / 4);
		ck_assert(lab.redial.searching);
	}
	search_after(&lab, WH_NS_PER_S / 4);
	ck_assert(!lab.redial.searching);
}

TEST(a_node_that_was_away_searches_anew)
{
	struct lab lab;

	open_lab(&lab);
	wh_redial_tried(&lab.redial, lab.fake.now_ns, UINT64_MAX);
	search_after(&lab, 1);
	search_after(&lab, 10 * PATIENCE_NS); /* the answers may all be waiting to be read */
	ck_assert(lab.redial.searching);
}

TEST_SUITE("redial")
