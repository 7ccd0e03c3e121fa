/* test_sim_card.c - what the simulator's network card makes of pushes: how long each takes, and how links are shared. */
#include "tests/support/sim_lab.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PAGE WH_ROW_ALIGN

#define POST_NS 800
#define PUSH_NS 200

static const struct wh_sim_card paper = {.bytes_per_s = UINT64_C(12500000000),
					 .latency_ns = 1730,
					 .latency_4k_ns = 2460,
					 .inline_bytes = 64,
					 .write_ns = 10,
					 .turn_bytes = 16384};

static struct wh_sim_options options_of(const struct wh_sim_card *card, uint64_t seed)
{
	struct wh_sim_options options = plain(seed);

	options.card = *card;
	options.node_cost = (struct wh_sim_node_cost){.post_ns = POST_NS, .push_ns = PUSH_NS};
	return options;
}

/* A page in the time of 1 us, and nothing else costs anything. */
static const struct wh_sim_card slow_link = {.bytes_per_s = PAGE * UINT64_C(1000000), .turn_bytes = PAGE};
#define PAGE_NS 1000

TEST(latency_follows_the_size)
{
	ck_assert_uint_eq(wh_sim_card_latency_ns(&paper, 1), 1730);
	ck_assert_uint_eq(wh_sim_card_latency_ns(&paper, 64), 1730);
	ck_assert_uint_eq(wh_sim_card_latency_ns(&paper, 4096), 2460);
	for (uint64_t bytes = 1; bytes < 8192; bytes++)
		ck_assert_uint_le(wh_sim_card_latency_ns(&paper, bytes), wh_sim_card_latency_ns(&paper, bytes + 1));
	/* Beyond that only the link counts: 0.08 ns for each byte. */
	ck_assert_uint_eq(wh_sim_card_latency_ns(&paper, 4096 + 125000), 2460 + 10000);
}

static struct wh_push pages(uint32_t from, uint32_t to, uint64_t count)
{
	return (struct wh_push){.kind = WH_PUSH_BYTES,
				.to_count = 1,
				.to = others[from][0] == to ? &others[from][0] : &others[from][1],
				.offset = PAGE,
				.bytes = count * PAGE};
}

static struct wh_push word_to(uint32_t from, uint32_t to, uint64_t value)
{
	struct wh_push push = push_word(from, value);

	push.to_count = 1;
	push.to = others[from][0] == to ? &others[from][0] : &others[from][1];
	return push;
}

/* When that word was seen, after `start_ns`. */
static uint64_t seen_after(struct lab *lab, uint32_t at, uint32_t of, uint64_t value, uint64_t start_ns)
{
	while (word(lab, at, of) != value)
		ck_assert(wh_sim_step(lab->sim, start_ns + WH_NS_PER_S));
	return wh_sim_now(lab->sim) - start_ns;
}

TEST(a_write_alone_is_posted_then_has_its_latency)
{
	struct lab *lab = sim_lab_make(options_of(&paper, test_seed(1)));
	uint64_t start = wh_sim_now(lab->sim);
	const struct wh_push push = word_to(0, 1, 1);

	post(lab, 0, &push, 1);
	ck_assert_uint_eq(wh_sim_busy_until(lab->sim, 0), start + POST_NS + PUSH_NS);
	ck_assert_uint_eq(seen_after(lab, 1, 0, 1, start), POST_NS + PUSH_NS + 1730);
	end(lab);
}

TEST(posting_costs_each_batch_and_each_write)
{
	struct lab *lab = sim_lab_make(options_of(&paper, test_seed(2)));
	uint64_t start = wh_sim_now(lab->sim);

	post_page(lab, 0, 1); /* two pushes to two peers, posted together */
	ck_assert_uint_eq(wh_sim_busy_until(lab->sim, 0), start + POST_NS + 4 * PUSH_NS);
	post_word(lab, 0, 2);
	ck_assert_uint_eq(wh_sim_busy_until(lab->sim, 0), start + 2 * POST_NS + 6 * PUSH_NS);
	ck_assert_uint_eq(wh_sim_busy_until(lab->sim, 1), 0);
	end(lab);
}

static void count_posted(void *ctx, uint32_t node)
{
	struct lab *lab = ctx;

	ck_assert_uint_gt(wh_sim_busy_until(lab->sim, node), wh_sim_now(lab->sim));
	lab->hooked++;
}

TEST(the_scheduler_is_told_of_posting)
{
	struct wh_sim_options options = options_of(&paper, test_seed(3));
	struct lab *lab;
	uint64_t before;

	options.posted = count_posted;
	lab = sim_lab_make(options);
	before = lab->hooked;
	post_page(lab, 1, 1);
	ck_assert_uint_eq(lab->hooked, before + 1);
	end(lab);
}

/* One sender, two receivers: its own link is shared. */
TEST(a_link_is_shared_by_what_goes_out)
{
	struct lab *lab = sim_lab_make(options_of(&slow_link, test_seed(4)));
	uint64_t start = wh_sim_now(lab->sim) + POST_NS + PUSH_NS, took;
	const struct wh_push pushes[] = {pages(0, 1, 2), pages(0, 2, 2), word_to(0, 1, 1), word_to(0, 2, 2)};

	post(lab, 0, pushes, COUNT(pushes));
	took = seen_after(lab, 2, 0, 2, start);
	ck_assert_uint_ge(took, 4 * PAGE_NS);
	ck_assert_uint_le(took, 4 * PAGE_NS + 10);
	end(lab);
}

/* Two senders, one receiver: its link is shared, though each of theirs is half idle. */
TEST(a_link_is_shared_by_what_comes_in)
{
	struct lab *lab = sim_lab_make(options_of(&slow_link, test_seed(5)));
	uint64_t start = wh_sim_now(lab->sim) + POST_NS + PUSH_NS, first, second;

	for (uint32_t from = 0; from < 2; from++) {
		const struct wh_push pushes[] = {pages(from, 2, 2), word_to(from, 2, 1)};

		post(lab, from, pushes, COUNT(pushes));
	}
	first = seen_after(lab, 2, 0, 1, start);
	second = seen_after(lab, 2, 1, 1, start);
	ck_assert_uint_ge(first, 3 * PAGE_NS); /* they take turns, page by page */
	ck_assert_uint_ge(second, 4 * PAGE_NS);
	ck_assert_uint_le(second, 4 * PAGE_NS + 10);
	end(lab);
}

/* Both ways at once: neither is in the other's way. */
TEST(a_link_carries_both_ways)
{
	struct lab *lab = sim_lab_make(options_of(&slow_link, test_seed(6)));
	uint64_t start = wh_sim_now(lab->sim) + POST_NS + PUSH_NS;

	for (uint32_t from = 0; from < 2; from++) {
		const struct wh_push pushes[] = {pages(from, 1 - from, 3), word_to(from, 1 - from, 1)};

		post(lab, from, pushes, COUNT(pushes));
	}
	ck_assert_uint_le(seen_after(lab, 1, 0, 1, start), 3 * PAGE_NS + 10);
	ck_assert_uint_le(seen_after(lab, 0, 1, 1, start), 3 * PAGE_NS + 10);
	end(lab);
}

/* A short write to one peer does not wait for all of a long one to another. */
TEST(peers_take_turns)
{
	struct wh_sim_card card = slow_link;
	const struct wh_push pushes[] = {pages(0, 1, 3), word_to(0, 1, 1), word_to(0, 2, 2)};
	struct lab *lab;
	uint64_t start;

	card.turn_bytes = PAGE / 4;
	lab = sim_lab_make(options_of(&card, test_seed(7)));
	start = wh_sim_now(lab->sim) + POST_NS + COUNT(pushes) * PUSH_NS;
	post(lab, 0, pushes, COUNT(pushes));
	ck_assert_uint_le(seen_after(lab, 2, 0, 2, start), PAGE_NS / 4 + 10);
	ck_assert_uint_ge(seen_after(lab, 1, 0, 1, start), 3 * PAGE_NS - COUNT(pushes) * PUSH_NS);
	end(lab);
}

/* T2: a guard is short, and is never there before the page that it guards. */
TEST(a_guard_does_not_overtake)
{
	struct lab *lab = sim_lab_make(options_of(&paper, test_seed(8)));

	for (uint64_t value = 1; value <= 20; value++) {
		uint64_t start = wh_sim_now(lab->sim);

		post_page(lab, 0, value);
		for (uint32_t at = 1; at < NODES; at++) {
			const unsigned char *page = lab->image[at]->row[0] + PAGE;

			(void)seen_after(lab, at, 0, value, start);
			for (size_t i = 0; i < PAGE; i++)
				ck_assert_uint_eq(page[i], value);
		}
	}
	end(lab);
}

/* What a crash leaves of what is under way does not wait for the card for ever. */
TEST(crashes_end_what_the_card_has)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct lab *lab = sim_lab_make(options_of(&slow_link, test_seed(100 + seed)));

		for (uint64_t value = 1; value <= 3; value++)
			post_page(lab, 0, value);
		run(lab, 100 + 300 * seed);
		wh_sim_crash(lab->sim, 0);
		destroy(lab, 0);
		run(lab, LONG_NS);
		ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).pushes, 0);
		ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
		end(lab);
	}
}

/* ---- what there is only so much of ---------------------------------------------------------------------------------------- */

/* The link would take 1 us for a page, the memory takes 2: once to fetch, once to write. */
TEST(memory_is_slower_than_the_link)
{
	struct wh_sim_card card = slow_link;
	const struct wh_push pushes[] = {pages(0, 1, 3), word_to(0, 1, 1)};
	struct lab *lab;
	uint64_t start, took;

	card.memory_bytes_per_s = card.bytes_per_s / 2;
	lab = sim_lab_make(options_of(&card, test_seed(9)));
	start = wh_sim_now(lab->sim) + POST_NS + PUSH_NS;
	post(lab, 0, pushes, COUNT(pushes));
	took = seen_after(lab, 1, 0, 1, start);
	ck_assert_uint_ge(took, 3 * 2 * PAGE_NS);
	ck_assert_uint_le(took, 4 * 2 * PAGE_NS);
	end(lab);
}

/* What comes in and what goes out share it: with as much memory as link each way has, both ways at once take twice as long. */
TEST(memory_is_shared_by_both_ways)
{
	struct wh_sim_card card = slow_link;
	struct lab *lab;
	uint64_t start;

	card.memory_bytes_per_s = card.bytes_per_s;
	lab = sim_lab_make(options_of(&card, test_seed(10)));
	start = wh_sim_now(lab->sim) + POST_NS + PUSH_NS;
	for (uint32_t from = 0; from < 2; from++) {
		const struct wh_push pushes[] = {pages(from, 1 - from, 3), word_to(from, 1 - from, 1)};

		post(lab, from, pushes, COUNT(pushes));
	}
	ck_assert_uint_ge(seen_after(lab, 1, 0, 1, start), 5 * PAGE_NS);
	end(lab);
}

TEST(processors_move_memory_too)
{
	struct wh_sim_card card = slow_link;
	struct lab *lab = sim_lab_make(options_of(&card, test_seed(11)));

	ck_assert_uint_eq(wh_sim_memory_move(lab->sim, 0, PAGE), wh_sim_now(lab->sim)); /* there is no limit */
	end(lab);
	card.memory_bytes_per_s = card.bytes_per_s;
	lab = sim_lab_make(options_of(&card, test_seed(11)));
	run(lab, LONG_NS);
	ck_assert_uint_eq(wh_sim_memory_move(lab->sim, 0, PAGE), wh_sim_now(lab->sim) + PAGE_NS);
	ck_assert_uint_eq(wh_sim_memory_move(lab->sim, 0, PAGE), wh_sim_now(lab->sim) + 2 * PAGE_NS);
	ck_assert_uint_eq(wh_sim_memory_move(lab->sim, 1, PAGE), wh_sim_now(lab->sim) + PAGE_NS); /* its own */
	end(lab);
}

/* A word to one peer, then to the other, each alone: with room for one connection each is fetched, here and there; with room for two, none. */
static uint64_t there_and_elsewhere(uint64_t pairs)
{
	struct wh_sim_card card = paper;
	uint64_t sum = 0;
	struct lab *lab;

	card.queue_pairs = pairs;
	card.queue_pair_ns = 100000;
	lab = sim_lab_make(options_of(&card, test_seed(12)));
	for (uint64_t value = 1; value <= 6; value++) {
		uint32_t to = value % 2 == 0 ? 1 : 2;
		const struct wh_push push = word_to(0, to, value);
		uint64_t start = wh_sim_now(lab->sim);

		post(lab, 0, &push, 1);
		if (value <= 2) /* for the first time */
			(void)seen_after(lab, to, 0, value, start);
		else
			sum += seen_after(lab, to, 0, value, start);
	}
	end(lab);
	return sum;
}

TEST(connections_that_the_card_does_not_know_are_fetched)
{
	uint64_t alone = POST_NS + PUSH_NS + 1730;

	ck_assert_uint_eq(there_and_elsewhere(0), 4 * alone);
	ck_assert_uint_eq(there_and_elsewhere(2), 4 * alone);
	ck_assert_uint_ge(there_and_elsewhere(1), 4 * (alone + 100000)); /* the sender's */
}

/* Two nodes fill the link of a third, page by page. A word that one of them has for the other waits for a page of its card, and
 * that for the switch, if it keeps little. */
static uint64_t beside_a_crowd(uint64_t port_bytes)
{
	struct wh_sim_card card = slow_link;
	struct lab *lab;
	uint64_t start, took;

	card.port_bytes = port_bytes;
	lab = sim_lab_make(options_of(&card, test_seed(13)));
	start = wh_sim_now(lab->sim) + POST_NS + PUSH_NS;
	for (uint32_t from = 0; from < 2; from++) {
		const struct wh_push pushes[] = {pages(from, 2, 3), word_to(from, 2, 1), word_to(from, 1 - from, 2)};

		post(lab, from, pushes, COUNT(pushes));
	}
	took = seen_after(lab, 0, 1, 2, start);
	ck_assert_uint_le(seen_after(lab, 2, 0, 1, start), 6 * PAGE_NS + POST_NS); /* nothing is lost by it */
	end(lab);
	return took;
}

TEST(a_full_switch_stops_what_goes_elsewhere)
{
	uint64_t free = beside_a_crowd(0);

	ck_assert_uint_le(free, PAGE_NS + 10);
	ck_assert_uint_ge(beside_a_crowd(64), 2 * PAGE_NS - 64); /* until a page of the other's has gone, too */
	ck_assert_uint_eq(beside_a_crowd(100 * PAGE), free);
}

/* A link that ends while its card waits for the switch: the card goes on with others. */
TEST(crashes_end_what_a_full_switch_keeps)
{
	struct wh_sim_card card = slow_link;

	card.turn_bytes = PAGE / 4;
	card.port_bytes = 64;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct lab *lab = sim_lab_make(options_of(&card, test_seed(200 + seed)));

		for (uint64_t value = 1; value <= 3; value++)
			for (uint32_t from = 0; from < NODES; from++)
				post_page(lab, from, value);
		run(lab, 100 + 300 * seed);
		wh_sim_crash(lab->sim, 2);
		destroy(lab, 2);
		run(lab, LONG_NS);
		ck_assert_uint_eq(word(lab, 0, 1), 3);
		ck_assert_uint_eq(word(lab, 1, 0), 3);
		ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
		end(lab);
	}
}

/* A counter that changes twice before it is read is one line to read; of two nodes they are two. */
TEST(lines_that_cards_have_written_are_counted)
{
	struct lab *lab = sim_lab_make(options_of(&paper, test_seed(14)));

	(void)wh_sim_lines_read(lab->sim, 1);
	post_word(lab, 0, 1);
	post_word(lab, 0, 2);
	post_word(lab, 2, 1);
	run(lab, LONG_NS);
	ck_assert_uint_eq(wh_sim_lines_read(lab->sim, 1), 2);
	ck_assert_uint_eq(wh_sim_lines_read(lab->sim, 1), 0);
	post_word(lab, 0, 3);
	run(lab, LONG_NS);
	ck_assert_uint_eq(wh_sim_lines_read(lab->sim, 1), 1);
	end(lab);
}

TEST_SUITE("the simulator's network card")
