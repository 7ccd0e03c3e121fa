/* test_gather.c - committed messages that a pass leaves to a later one, and the look that the loop leaves out then. */
#include "predicates/multicast_int.h"
#include "tests/support/bell.h"
#include "tests/support/ring.h"

#define SLOTS 40
#define QUARTER (SLOTS / 4)
#define GATHER_NS (300 * WH_NS_PER_US) /* as in gather.c */

struct table {
	struct bench *b;
	struct wh_multicast mc;
	bool gathers;
};

static void commit(struct table *t, uint32_t count)
{
	while (count-- > 0) {
		struct wh_claim c = claim(t->b);

		finish(t->b, &c, 1, false);
	}
}

static void set_up(struct table *t, uint32_t on_its_way)
{
	*t = (struct table){.b = ring_make(SLOTS, BYTES, false)};
	t->mc.config = (struct wh_multicast_config){
		.diag = &t->b->env.diag, .ring = t->b->ring, .window = SLOTS, .gathers = &t->gathers};
	commit(t, on_its_way);
	take(t->b->ring, false);
}

TEST_CASE("gather", .timeout_s = 60);

TEST(what_others_follow_is_gathered)
{
	struct table t;

	set_up(&t, QUARTER);
	ck_assert(!wh_gather(&t.mc)); /* there is nothing */
	for (int i = 0; i < 5; i++) {
		t.gathers = false;
		commit(&t, 1);
		ck_assert(wh_gather(&t.mc));
		ck_assert(t.gathers);
	}
	t.gathers = false;
	ck_assert(!wh_gather(&t.mc)); /* none has followed */
	ck_assert(!t.gathers);
	ck_assert_uint_eq(take(t.b->ring, false), 5);
	ck_assert(!wh_gather(&t.mc));
	ring_discard(t.b);
}

TEST(a_message_leaves_at_once_with_little_on_its_way)
{
	struct table t;

	set_up(&t, QUARTER - 1);
	commit(&t, 1);
	ck_assert(!wh_gather(&t.mc));
	take(t.b->ring, false);
	commit(&t, 1);
	ck_assert(wh_gather(&t.mc));
	ring_discard(t.b);
}

/* Slots wrap meanwhile. */
TEST(half_of_the_window_is_enough)
{
	struct table t;

	set_up(&t, SLOTS - 3);
	take(t.b->ring, true);
	commit(&t, QUARTER);
	take(t.b->ring, false);
	for (uint32_t i = 1; i < SLOTS / 2; i++) {
		commit(&t, 1);
		ck_assert(wh_gather(&t.mc));
	}
	commit(&t, 1);
	ck_assert(!wh_gather(&t.mc));
	ck_assert_uint_eq(take(t.b->ring, false), SLOTS / 2);
	ring_discard(t.b);
}

TEST(it_takes_no_longer_than_it_may)
{
	struct table t;

	set_up(&t, QUARTER);
	commit(&t, 1);
	ck_assert(wh_gather(&t.mc));
	t.b->env.now_ns += GATHER_NS - 1;
	commit(&t, 1);
	ck_assert(wh_gather(&t.mc));
	t.b->env.now_ns += 1;
	commit(&t, 1);
	ck_assert(!wh_gather(&t.mc));
	commit(&t, 1); /* and anew */
	ck_assert(wh_gather(&t.mc));
	ring_discard(t.b);
}

/* A loop with a thread of its own, a node that does not send. */
TEST(none_is_gathered_where_none_may)
{
	struct table t;

	set_up(&t, QUARTER);
	commit(&t, 1);
	t.mc.config.gathers = NULL;
	ck_assert(!wh_gather(&t.mc));
	t.mc.config.gathers = &t.gathers;
	t.mc.config.ring = NULL;
	ck_assert(!wh_gather(&t.mc));
	ck_assert(!t.gathers);
	ring_discard(t.b);
}

static unsigned looks;

static size_t note_look(struct wh_transport *transport)
{
	(void)transport;
	looks++;
	return 0;
}

static size_t gather_in_pass(void *ctx)
{
	struct fixture *f = ctx;

	if (f->work > 0)
		f->loop.gathers = true;
	return f->work;
}

/* For one pass, and then for as long as that is said anew. */
TEST(the_next_pass_does_not_look_at_the_transport)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);
	struct wh_transport_ops ops = *f->bell.base.ops;

	ops.take = note_look;
	f->bell.base.ops = &ops;
	add(f, gather_in_pass);
	f->work = 1;
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(looks, 1);
	wh_loop_step(&f->loop);
	f->work = 0;
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(looks, 1);
	wh_loop_step(&f->loop);
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(looks, 3);
	bell_discard(f);
}

TEST_SUITE("gather")
