/* test_hot.c - which subgroups a pass steps, and the words by which others say where something moves. The multicasts are names alone:
 * the test says what their steps have found; but for a durable one, of which a thread that has borrowed the loop says what is on disk.
 * test_hot_threads.c has the words and bits under threads.
 */
#include "predicates/hot.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "predicates/multicast_int.h"
#include "predicates/persist.h"
#include "tests/support/fake.h"

#define SUBGROUPS 40 /* two words */
#define COOLS 4
#define IDLE_LOOK 4 /* passes that find nothing: in each so many one looks */
#define BUSY_LOOK 8
#define PASS_NS 9600

struct lab {
	struct fake_env env;
	struct fake_image image;
	struct wh_gate gate; /* made by hand */
	struct wh_loop loop;
	struct wh_sst sst;
	struct wh_pushes pushes;
	struct wh_push_stats push_stats;
	struct wh_layout layout;
	struct wh_array_col moved;
	struct wh_counter_col persisted_num;
	wh_word committed[1];
	struct wh_ring rings[SUBGROUPS]; /* have a bit, and nothing else */
	struct wh_looks looks;
	struct wh_hot hot;
	struct wh_moves moves;
	uint32_t works[SUBGROUPS]; /* so many steps more find something */
	uint32_t steps[SUBGROUPS];
	uint64_t mask; /* the last pass stepped these */
};

static struct lab *make_with(uint32_t count, bool has_words)
{
	struct lab *lab = aligned_alloc(64, (sizeof(*lab) + 63) / 64 * 64);
	struct wh_error err;

	ck_assert_ptr_nonnull(lab);
	memset(lab, 0, sizeof(*lab));
	fake_env_init(&lab->env);
	fake_image_init(&lab->image);
	lab->gate.heavy = true;
	lab->loop = (struct wh_loop){.gate = &lab->gate, .sure = true, .now_ns = 1000};
	wh_layout_line(&lab->layout);
	lab->moved = wh_layout_array(&lab->layout, has_words ? (count + WH_MOVED_NAMES - 1) / WH_MOVED_NAMES : 0);
	lab->persisted_num = wh_layout_counter(&lab->layout);
	ck_assert_int_eq(wh_sst_init(&lab->sst, &lab->env.diag, &lab->image.base, &lab->layout, &err), WHORL_OK);
	wh_pushes_init(&lab->pushes, &lab->env.env, &lab->push_stats, true);
	lab->pushes.image = &lab->image.base;
	ck_assert_int_eq(wh_hot_init(&lab->hot,
				     &(struct wh_hot_config){.loop = &lab->loop,
							     .sst = &lab->sst,
							     .moved = lab->moved,
							     .committed = lab->committed,
							     .committed_words = has_words ? 1 : 0,
							     .subgroups = count,
							     .most = count,
							     .cools = COOLS,
							     .deliver_ns = PASS_NS,
							     .looks = &lab->looks},
				     &err),
			 WHORL_OK);
	for (uint32_t g = 0; g < count; g++) {
		lab->rings[g].gate = &lab->gate;
		if (has_words)
			wh_ring_use_bit(&lab->rings[g], lab->committed, g);
		wh_hot_add(&lab->hot, (struct wh_multicast *)(void *)&lab->steps[g], g, &lab->rings[g], g);
	}
	if (has_words)
		ck_assert_int_eq(wh_moves_init(&lab->moves, &lab->sst, &lab->pushes, lab->moved, &err), WHORL_OK);
	return lab;
}

static struct lab *make(uint32_t count)
{
	return make_with(count, true);
}

static void discard(struct lab *lab)
{
	ck_assert_int_eq(lab->env.fatal, 0);
	wh_moves_close(&lab->moves);
	wh_hot_close(&lab->hot);
	wh_sst_close(&lab->sst);
	free(lab);
}

/* None is stepped twice. */
static uint64_t pass(struct lab *lab)
{
	struct wh_multicast *mc;

	lab->mask = 0;
	wh_hot_begin(&lab->hot);
	while ((mc = wh_hot_next(&lab->hot)) != NULL) {
		uint32_t g = (uint32_t)((uint32_t *)(void *)mc - lab->steps);
		size_t work = lab->works[g] > 0;

		ck_assert_msg((lab->mask >> g & 1) == 0, "%u is stepped twice", g);
		lab->mask |= UINT64_C(1) << g;
		lab->steps[g]++;
		lab->works[g] -= (uint32_t)work;
		ck_assert_uint_eq(wh_hot_note(&lab->hot, work), work);
	}
	return lab->mask;
}

static uint64_t last_pass(struct lab *lab)
{
	wh_hot_park(&lab->hot);
	lab->loop.looks_last = true;
	pass(lab);
	lab->loop.looks_last = false;
	return lab->mask;
}

/* Until nothing is stepped any more. */
static void settle(struct lab *lab)
{
	for (int i = 0; i < 200 && pass(lab) != 0; i++)
		;
	ck_assert_uint_eq(lab->mask, 0);
	ck_assert_uint_eq(lab->hot.count, 0);
}

/* The peer says so: in that word it has moved so often, and those lately. */
static void say(struct lab *lab, uint32_t word, uint64_t moves, uint32_t names)
{
	wh_store_release((wh_word *)(void *)(lab->image.peer + lab->moved.offset + 8 * word),
			 wh_moved_make(moves, names));
}

/* Passes until that one is stepped. */
static unsigned passes_until(struct lab *lab, uint32_t g, unsigned most)
{
	for (unsigned i = 1; i <= most; i++)
		if (pass(lab) >> g & 1)
			return i;
	return most + 1;
}

/* ---- hot and cold ------------------------------------------------------------------------------------------------------- */

TEST(few_are_stepped_in_each_pass)
{
	struct lab *lab = make_with(8, false);

	for (int i = 0; i < 300; i++)
		ck_assert_uint_eq(pass(lab), 0xff);
	ck_assert_uint_eq(last_pass(lab), 0xff);
	ck_assert_uint_eq(lab->looks.steps, 301 * 8);
	ck_assert_uint_eq(lab->looks.words, 0);
	discard(lab);
}

TEST(all_begin_hot_and_cool)
{
	struct lab *lab = make(SUBGROUPS);

	ck_assert_uint_eq(pass(lab), (UINT64_C(1) << SUBGROUPS) - 1);
	settle(lab);
	discard(lab);
}

TEST(one_that_works_stays_hot)
{
	struct lab *lab = make(12);

	settle(lab);
	say(lab, 0, 1, 1 << 5);
	lab->works[5] = 50;
	ck_assert_uint_le(passes_until(lab, 5, IDLE_LOOK), IDLE_LOOK);
	for (int i = 0; i < 49; i++)
		ck_assert_uint_eq(pass(lab), 1 << 5);
	/* Then it finds nothing: so often, and once more. */
	for (int i = 0; i <= COOLS; i++)
		ck_assert_uint_eq(pass(lab), 1 << 5);
	ck_assert_uint_eq(pass(lab), 0);
	discard(lab);
}

/* Of several in one pass that cool, and others that do not. */
TEST(cooling_leaves_out_no_other)
{
	struct lab *lab = make(12);

	settle(lab);
	say(lab, 0, 1, 0xe7f);
	lab->works[2] = lab->works[11] = 20;
	ck_assert_uint_le(passes_until(lab, 0, IDLE_LOOK), IDLE_LOOK);
	ck_assert_uint_eq(pass(lab), 0xe7f); /* those that found nothing once more */
	ck_assert_uint_eq(pass(lab), 1 << 2 | 1 << 11);
	discard(lab);
}

/* ---- words of peers ------------------------------------------------------------------------------------------------------- */

TEST(a_look_comes_in_some_passes)
{
	struct lab *lab = make(12);
	unsigned passes;

	settle(lab);
	while (lab->hot.passes != 0)
		pass(lab);
	say(lab, 0, 1, 1 << 3);
	ck_assert_uint_eq(passes_until(lab, 3, 20), IDLE_LOOK);
	lab->works[3] = 1000; /* from now on each pass has work */
	while (lab->hot.passes != 0 || !lab->hot.found)
		pass(lab);
	say(lab, 0, 2, 1 << 3 | 1 << 4);
	passes = passes_until(lab, 4, 20);
	ck_assert_uint_eq(passes, BUSY_LOOK);
	discard(lab);
}

TEST(a_look_comes_before_and_behind_each_sleep)
{
	struct lab *lab = make(12);

	settle(lab);
	while (lab->hot.passes != 0)
		pass(lab);
	say(lab, 0, 1, 1 << 3);
	ck_assert_uint_eq(last_pass(lab), 1 << 3);
	say(lab, 0, 2, 1 << 3 | 1 << 4);
	ck_assert_uint_eq(pass(lab), 1 << 3 | 1 << 4);
	discard(lab);
}

TEST(each_word_has_its_own)
{
	struct lab *lab = make(SUBGROUPS);

	settle(lab);
	say(lab, 1, 1, 1 << 2);
	ck_assert_uint_eq(last_pass(lab), UINT64_C(1) << (WH_MOVED_NAMES + 2));
	settle(lab);
	say(lab, 1, 2, WH_MOVED_ALL); /* also those that are none */
	ck_assert_uint_eq(last_pass(lab), ((UINT64_C(1) << SUBGROUPS) - 1) & ~(uint64_t)WH_MOVED_ALL);
	discard(lab);
}

TEST(what_was_missed_heats_all)
{
	struct lab *lab = make(12);

	settle(lab);
	say(lab, 0, 2 * WH_MOVED_STRETCH - 1, 1 << 1); /* this stretch, and the one in which the first move was */
	ck_assert_uint_eq(last_pass(lab), 1 << 1);
	settle(lab);
	say(lab, 0, 4 * WH_MOVED_STRETCH - 1, 1 << 1); /* the first that was missed is the first of its stretch */
	ck_assert_uint_eq(last_pass(lab), 1 << 1);
	settle(lab);
	say(lab, 0, 6 * WH_MOVED_STRETCH, 1 << 1);
	ck_assert_uint_eq(last_pass(lab), 0xfff);
	settle(lab);
	say(lab, 0, 7, 1 << 1); /* nonsense: it never falls */
	ck_assert_uint_eq(last_pass(lab), 0xfff);
	discard(lab);
}

/* ---- what I say --------------------------------------------------------------------------------------------------------------- */

static const uint32_t peer = 1;
static const struct wh_to to_peer = {&peer, 1};

static uint64_t said(const struct lab *lab, uint32_t word)
{
	return wh_sst_mine(&lab->sst, wh_array_at(lab->moved, word));
}

TEST(a_move_is_counted_and_named)
{
	struct lab *lab = make(SUBGROUPS);

	wh_moves_say(&lab->moves, 3, false, to_peer);
	wh_moves_say(&lab->moves, WH_MOVED_NAMES + 1, false, to_peer);
	wh_moves_say(&lab->moves, 4, true, to_peer);
	wh_pushes_post(&lab->pushes);
	ck_assert_uint_eq(said(lab, 0), wh_moved_make(2, 1 << 3 | 1 << 4));
	ck_assert_uint_eq(said(lab, 1), wh_moved_make(1, 1 << 1));
	ck_assert_uint_eq(lab->image.count, 3);
	for (int i = 0; i < 3; i++) { /* each rings, and comes behind what was pushed before */
		ck_assert(!lab->image.pushes[i].no_wake);
		ck_assert(!lab->image.pushes[i].may_reorder);
		ck_assert(lab->image.pushes[i].may_delay == (i == 2));
	}
	discard(lab);
}

/* A reader that looks at any time, and knows only the word of the last time, misses none. */
TEST(names_of_two_stretches_are_enough)
{
	struct lab *lab = make(12);
	uint64_t seen = 0, random = 1;
	uint32_t moved = 0;

	for (unsigned i = 0; i < 20 * WH_MOVED_STRETCH; i++) {
		uint32_t g = i % 4096 == 0 ? i / 4096 % 12 : 11;

		wh_moves_say(&lab->moves, g, false, (struct wh_to){&peer, 0});
		wh_pushes_post(&lab->pushes);
		lab->image.count = 0;
		moved |= 1U << g;
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		if (random >> 33 & (i < 10 * WH_MOVED_STRETCH ? 0x3ff : 0xfff))
			continue;
		ck_assert_uint_eq(wh_moved_between(seen, said(lab, 0)) & moved, moved);
		seen = said(lab, 0);
		moved = 0;
	}
	discard(lab);
}

TEST(names_of_old_moves_are_forgotten)
{
	struct lab *lab = make(12);

	wh_moves_say(&lab->moves, 7, false, to_peer);
	for (unsigned i = 1; i < 2 * WH_MOVED_STRETCH; i++) {
		wh_moves_say(&lab->moves, 1, false, to_peer);
		wh_pushes_post(&lab->pushes);
		lab->image.count = 0;
		ck_assert_uint_eq(said(lab, 0) & 1 << 7, i + 1 < 2 * WH_MOVED_STRETCH ? 1 << 7 : 0);
	}
	discard(lab);
}

TEST(numbers_come_to_an_end)
{
	struct lab *lab = make(SUBGROUPS);

	ck_assert(!wh_moves_exhausted(&lab->moves, WH_MOVED_NAMES));
	lab->sst.mine[lab->moved.offset / 8 + 1] = wh_moved_make((UINT64_C(1) << 39) - 1, 1);
	ck_assert(!wh_moves_exhausted(&lab->moves, WH_MOVED_NAMES));
	wh_moves_say(&lab->moves, WH_MOVED_NAMES, false, to_peer);
	wh_pushes_post(&lab->pushes);
	ck_assert(!wh_moves_exhausted(&lab->moves, 0));
	ck_assert(wh_moves_exhausted(&lab->moves, WH_MOVED_NAMES));
	discard(lab);
}

/* ---- my rings ------------------------------------------------------------------------------------------------------------------ */

static void commit(struct lab *lab, uint32_t g)
{
	wh_ring_say_committed(&lab->rings[g]);
	ck_assert(wh_ring_has_committed(&lab->rings[g]));
}

TEST(a_commit_heats)
{
	struct lab *lab = make(12);

	settle(lab);
	commit(lab, 6);
	ck_assert_uint_le(passes_until(lab, 6, 20), IDLE_LOOK);
	for (int i = 0; i < 30; i++) /* as long as its bit is set it does not cool */
		ck_assert_uint_eq(pass(lab), 1 << 6);
	ck_assert(wh_ring_has_committed(&lab->rings[6]));
	discard(lab);
}

static void wake_nothing(void *ctx)
{
	(void)ctx;
}

/* With one peer, of that rank; it has received 7, and sends nothing. */
static struct wh_multicast durable_one(struct lab *lab, struct wh_persist *persist, const uint32_t *rank)
{
	return (struct wh_multicast){.runs = true,
				     .received_num = 7,
				     .peers = {rank, 1},
				     .config = {.sst = &lab->sst,
						.pushes = &lab->pushes,
						.diag = &lab->env.diag,
						.mode = WH_MODE_ORDERED,
						.me = -1,
						.columns.persisted_num = lab->persisted_num,
						.persist = persist}};
}

/* By the thread of the log, while the loop sleeps. What is on disk may be what delivery waited for: the loop has to step it. */
TEST(what_comes_to_disk_is_said_and_heats)
{
	struct lab *lab = make(12);
	struct wh_persist persist;
	struct wh_error err;
	uint32_t rank = 1;
	struct wh_multicast *mc = calloc(1, sizeof(*mc));

	ck_assert_ptr_nonnull(mc);
	ck_assert_int_eq(wh_persist_init(&persist, 1, &err), WHORL_OK);
	persist.wake = wake_nothing;
	*mc = durable_one(lab, &persist, &rank);
	settle(lab);
	lab->hot.members[6].mc = mc;
	wh_hot_watch_disk(&lab->hot, 6);
	wh_hot_send(&lab->hot);
	ck_assert_uint_eq(lab->image.posts, 0);
	ck_assert_uint_eq(lab->hot.members[6].at, WH_HOT_COLD);
	wh_persist_say(&persist, 7);
	wh_hot_send(&lab->hot);
	ck_assert_uint_eq(lab->image.posts, 1);
	ck_assert_uint_eq(wh_sst_mine(&lab->sst, lab->persisted_num), 7);
	ck_assert_uint_ne(lab->hot.members[6].at, WH_HOT_COLD);
	wh_hot_send(&lab->hot); /* it is said once */
	ck_assert_uint_eq(lab->image.posts, 1);
	wh_persist_close(&persist);
	free(mc);
	discard(lab);
}

/* By a thread that waits for room, while the loop sleeps: no step follows in which what was held back would be said. */
TEST(what_a_waiter_moves_is_said_at_once)
{
	struct lab *lab = make(12);
	struct wh_counter_col word = wh_array_at(lab->moved, 0);
	struct wh_persist persist;
	struct wh_error err;
	uint32_t rank = 1;
	struct wh_multicast *mc = calloc(1, sizeof(*mc));

	ck_assert_ptr_nonnull(mc);
	ck_assert_int_eq(wh_persist_init(&persist, 1, &err), WHORL_OK);
	persist.wake = wake_nothing;
	*mc = durable_one(lab, &persist, &rank);
	mc->config.moves = &lab->moves;
	mc->config.subgroup = 6;
	mc->held = 1;
	mc->held_max = 8;
	settle(lab);
	lab->hot.members[6].mc = mc;
	wh_persist_say(&persist, 7);
	wh_hot_exchange(&lab->hot, 6); /* cold: it is left for the loop to find */
	ck_assert_uint_eq(lab->image.posts, 0);
	wh_hot_touch(&lab->hot, 6);
	wh_hot_exchange(&lab->hot, 6);
	ck_assert_uint_eq(wh_sst_mine(&lab->sst, lab->persisted_num), 7);
	ck_assert_uint_eq(wh_sst_mine(&lab->sst, word), wh_moved_make(1, 1 << 6));
	wh_hot_exchange(&lab->hot, 6); /* nothing is new */
	ck_assert_uint_eq(wh_sst_mine(&lab->sst, word), wh_moved_make(1, 1 << 6));
	wh_persist_close(&persist);
	free(mc);
	discard(lab);
}

TEST(the_bit_goes_before_a_sleep)
{
	struct lab *lab = make(12);

	settle(lab);
	commit(lab, 6);
	ck_assert_uint_eq(last_pass(lab), 1 << 6);
	ck_assert(!wh_ring_has_committed(&lab->rings[6]));
	settle(lab);
	commit(lab, 6);
	ck_assert_uint_eq(last_pass(lab), 1 << 6);
	discard(lab);
}

TEST(the_bit_goes_while_it_is_busy)
{
	struct lab *lab = make(12);

	settle(lab);
	commit(lab, 6);
	say(lab, 0, 1, 1 << 2);
	lab->works[2] = 1000;
	for (int i = 0; i < 100; i++)
		pass(lab);
	ck_assert_uint_eq(lab->mask, 1 << 2 | 1 << 6);
	ck_assert(wh_ring_has_committed(&lab->rings[6]));
	lab->loop.now_ns += 10 * WH_NS_PER_MS;
	for (int i = 0; i < 2; i++) /* gone, and looked at behind the barrier */
		ck_assert_uint_eq(pass(lab), 1 << 2 | 1 << 6);
	ck_assert(!wh_ring_has_committed(&lab->rings[6]));
	ck_assert_uint_eq(pass(lab), 1 << 2);
	discard(lab);
}

/* The kernel refuses barriers from now on. */
static void forbid_barriers(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* A thread may have seen the bit before it went, and its mark is not to be seen yet. */
TEST(without_a_barrier_the_bit_comes_back)
{
	struct lab *lab = make(12);

	forbid_barriers();
	lab->gate.heavy = false;
	settle(lab);
	commit(lab, 6);
	for (int i = 0; i < 30; i++)
		pass(lab);
	lab->loop.now_ns += 10 * WH_NS_PER_MS;
	pass(lab);
	ck_assert(wh_ring_has_committed(&lab->rings[6]));
	lab->loop.sure = false; /* parking was not ordered either */
	ck_assert_uint_eq(last_pass(lab), 1 << 6);
	ck_assert(wh_ring_has_committed(&lab->rings[6]));
	discard(lab);
}

/* ---- nearly all --------------------------------------------------------------------------------------------------------------- */

static void all_work(struct lab *lab, uint32_t count, uint32_t steps)
{
	for (uint32_t g = 0; g < count; g++)
		lab->works[g] = steps;
}

TEST(nearly_all_are_stepped_without_a_look)
{
	struct lab *lab = make(SUBGROUPS);
	uint64_t all = (UINT64_C(1) << SUBGROUPS) - 1, words;

	all_work(lab, SUBGROUPS, 100);
	for (int i = 0; i < 20; i++)
		ck_assert_uint_eq(pass(lab), all);
	ck_assert(lab->hot.all);
	words = lab->looks.words;
	for (int i = 0; i < 40; i++)
		ck_assert_uint_eq(pass(lab), all);
	ck_assert_uint_eq(last_pass(lab), all);
	ck_assert_uint_eq(lab->looks.words, words);
	discard(lab);
}

/* What moved while no word was looked at is found: all are stepped once more when it ends, and the word is seen before that. */
TEST(when_that_ends_all_are_hot)
{
	struct lab *lab = make(SUBGROUPS);
	uint64_t all = (UINT64_C(1) << SUBGROUPS) - 1;

	all_work(lab, SUBGROUPS, 20);
	for (int i = 0; i < 20; i++)
		pass(lab);
	ck_assert(lab->hot.all);
	say(lab, 0, 1, 1 << 3);
	while (lab->hot.all)
		ck_assert_uint_eq(pass(lab), all);
	ck_assert_uint_eq(lab->mask, all);
	settle(lab);
	ck_assert_uint_eq(last_pass(lab), 0); /* the word is not new any more */
	commit(lab, 9);
	ck_assert_uint_eq(last_pass(lab), 1 << 9);
	discard(lab);
}

TEST(few_are_never_nearly_all)
{
	struct lab *lab = make(7);

	all_work(lab, 7, 100);
	for (int i = 0; i < 90; i++)
		ck_assert_uint_eq(pass(lab), 0x7f);
	ck_assert(!lab->hot.all);
	discard(lab);
}

/* ---- the time for delivery ------------------------------------------------------------------------------------------------------ */

TEST(the_hot_share_the_time)
{
	struct lab *lab = make(12);

	ck_assert_uint_eq(lab->hot.share_ns, PASS_NS / 12);
	settle(lab);
	say(lab, 0, 1, 1 << 3);
	last_pass(lab);
	ck_assert_uint_eq(lab->hot.share_ns, PASS_NS);
	say(lab, 0, 2, 1 << 3 | 1 << 4 | 1 << 5);
	last_pass(lab);
	ck_assert_uint_eq(lab->hot.share_ns, PASS_NS / 3);
	wh_hot_share_all(&lab->hot);
	ck_assert_uint_eq(lab->hot.share_ns, PASS_NS / 12);
	discard(lab);
}

TEST_SUITE("hot")
