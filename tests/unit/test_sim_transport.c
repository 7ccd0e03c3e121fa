/* test_sim_transport.c - what only the simulator's transport has: costs, cuts, crashes of several kinds, late rings. What
 * it shares with other transports is in tests/conformance/. */
#include <string.h>

#include "base/atomics.h"
#include "tests/harness.h"
#include "transport/dice.h"
#include "transport/sim.h"

#define NODES 3
#define WORD 64 /* the column that tests push */
#define LONG_NS (10 * WH_NS_PER_S)

struct lab {
	struct wh_sim *sim;
	struct wh_transport *node[NODES];
	struct wh_image *image[NODES];
	uint32_t down[NODES][NODES], left[NODES][NODES]; /* [at][of] */
	uint64_t heard_ns[NODES];                        /* of the last such news */
	uint64_t messages[NODES], bytes[NODES];
	bool in_order;       /* messages of node 0 hold the numbers 1, 2, 3, ... */
	uint64_t crash_push; /* node 0 crashes before this push; UINT64_MAX: never */
	bool silently;
	uint64_t hooked, hooked_value; /* calls of the hook; what it saw last */
};

static const uint32_t others[NODES][NODES - 1] = {{1, 2}, {0, 2}, {0, 1}};

static void posting(void *ctx, uint32_t node, uint64_t key, const struct wh_push *push)
{
	struct lab *lab = ctx;

	if (node != 0)
		return;
	ck_assert_uint_eq(key, 1);
	if (push->kind == WH_PUSH_WORD) {
		ck_assert_uint_gt(push->value, lab->hooked_value);
		lab->hooked_value = push->value;
	}
	if (lab->hooked++ != lab->crash_push)
		return;
	if (lab->silently)
		wh_sim_vanish(lab->sim, node);
	else
		wh_sim_crash(lab->sim, node);
}

/* ---- a world, its nodes, an image of all ------------------------------------------------------------------------------- */

static struct wh_sim_options plain(uint64_t seed)
{
	return (struct wh_sim_options){.nodes = NODES, .seed = seed, .pieces = 1};
}

static struct wh_sim_options wild(uint64_t seed)
{
	return (struct wh_sim_options){
		.nodes = NODES, .seed = seed, .pieces = 5, .latency_min_ns = 10, .latency_max_ns = 5000, .uneven = true};
}

static void take_event(struct lab *lab, uint32_t at, const struct wh_transport_event *event)
{
	uint64_t number;

	switch (event->kind) {
	case WH_EVENT_PEER_DOWN:
		lab->down[at][event->node]++;
		lab->heard_ns[at] = wh_sim_now(lab->sim);
		break;
	case WH_EVENT_PEER_LEFT:
		lab->left[at][event->node]++;
		break;
	case WH_EVENT_CONTROL:
		memcpy(&number, event->text, sizeof(number));
		lab->in_order = lab->in_order && number == ++lab->messages[at];
		break;
	case WH_EVENT_IMAGE_READY:
	case WH_EVENT_REFUSED:
		break;
	}
}

static void service_all(struct lab *lab)
{
	static struct wh_transport_event event; /* large */

	for (uint32_t i = 0; i < NODES; i++) {
		if (lab->node[i] == NULL)
			continue;
		lab->node[i]->ops->service(lab->node[i]);
		while (lab->node[i]->ops->next_event(lab->node[i], &event))
			take_event(lab, i, &event);
	}
}

static void run_until(struct lab *lab, uint64_t until_ns)
{
	do {
		service_all(lab);
	} while (wh_sim_step(lab->sim, until_ns));
	service_all(lab);
}

static void run(struct lab *lab, uint64_t for_ns)
{
	run_until(lab, wh_sim_now(lab->sim) + for_ns);
}

static struct wh_image *open_image(struct lab *lab, uint32_t id, uint64_t key)
{
	const struct wh_row_part part = {0, 4 * WH_ROW_ALIGN};
	struct wh_row_spec rows[NODES];
	struct wh_image_spec spec = {
		.key = key, .members = NODES, .my_rank = id, .control_bytes = WH_ROW_ALIGN, .rows = rows};
	struct wh_image *image;
	struct wh_error err;

	for (uint32_t r = 0; r < NODES; r++)
		rows[r] = (struct wh_row_spec){r, 4 * WH_ROW_ALIGN, &part, 1};
	ck_assert_int_eq(lab->node[id]->ops->image_open(lab->node[id], &spec, &image, &err), WHORL_OK);
	return image;
}

/* Nobody has met yet. */
static struct lab *make_strangers(struct wh_sim_options options)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct wh_error err;

	ck_assert_ptr_nonnull(lab);
	lab->in_order = true;
	lab->crash_push = UINT64_MAX;
	options.posting = posting;
	options.ctx = lab;
	ck_assert_int_eq(wh_sim_new(&lab->sim, &options, &err), WHORL_OK);
	for (uint32_t i = 0; i < NODES; i++) {
		const struct wh_transport_config config = {
			.env = wh_sim_env(lab->sim, i), .group = "lab", .node = i, .nodes = NODES};

		ck_assert_int_eq(wh_sim_create(&config, lab->sim, &lab->node[i], &err), WHORL_OK);
	}
	return lab;
}

static struct lab *make(struct wh_sim_options options)
{
	struct lab *lab = make_strangers(options);

	for (uint32_t i = 0; i < NODES; i++)
		lab->image[i] = open_image(lab, i, 1);
	run(lab, LONG_NS);
	for (uint32_t i = 0; i < NODES; i++)
		ck_assert(lab->image[i]->ready);
	return lab;
}

static void leave_in_order(struct lab *lab, uint32_t id)
{
	lab->node[id]->ops->leave(lab->node[id]);
	lab->node[id]->ops->destroy(lab->node[id], false);
	lab->node[id] = NULL;
}

static void end(struct lab *lab)
{
	ck_assert_ptr_null(wh_sim_verdict(lab->sim));
	ck_assert(lab->in_order);
	for (uint32_t i = 0; i < NODES; i++)
		if (lab->node[i] != NULL)
			lab->node[i]->ops->destroy(lab->node[i], false);
	wh_sim_free(lab->sim);
	free(lab);
}

/* ---- pushes and messages ----------------------------------------------------------------------------------------------- */

static struct wh_push push_word(uint32_t from, uint64_t value)
{
	return (struct wh_push){
		.kind = WH_PUSH_WORD, .to_count = NODES - 1, .to = others[from], .offset = WORD, .value = value};
}

static void post(struct lab *lab, uint32_t from, const struct wh_push *pushes, size_t count)
{
	lab->image[from]->ops->post(lab->image[from], pushes, count);
}

static void post_word(struct lab *lab, uint32_t from, uint64_t value)
{
	const struct wh_push push = push_word(from, value);

	post(lab, from, &push, 1);
}

/* A page, then a word that says so. */
static void post_page(struct lab *lab, uint32_t from, uint64_t value)
{
	const struct wh_push pushes[] = {{.kind = WH_PUSH_BYTES,
					  .to_count = NODES - 1,
					  .to = others[from],
					  .offset = WH_ROW_ALIGN,
					  .bytes = WH_ROW_ALIGN},
					 push_word(from, value)};

	memset(lab->image[from]->own + WH_ROW_ALIGN, (int)value, WH_ROW_ALIGN);
	post(lab, from, pushes, 2);
}

static uint64_t word(const struct lab *lab, uint32_t at, uint32_t of)
{
	return wh_load_acquire((const wh_word *)(const void *)(lab->image[at]->control[of] + WORD));
}

static enum whorl_result send_number(struct lab *lab, uint32_t from, uint32_t to, uint64_t number)
{
	return lab->node[from]->ops->control_send(lab->node[from], to, &number, sizeof(number));
}

/* The word changes at that time after `start_ns`, and not before. */
static void assert_arrives(struct lab *lab, uint32_t at, uint32_t of, uint64_t value, uint64_t start_ns,
			   uint64_t after_ns)
{
	run_until(lab, start_ns + after_ns - 1);
	ck_assert_uint_lt(word(lab, at, of), value);
	run_until(lab, start_ns + after_ns);
	ck_assert_uint_eq(word(lab, at, of), value);
}

/* ---- costs ------------------------------------------------------------------------------------------------------------- */

START_TEST(a_link_has_a_latency)
{
	struct lab *lab = make(plain(test_seed(1)));
	uint64_t start = wh_sim_now(lab->sim);

	wh_sim_link_set(lab->sim, 0, 1, &(struct wh_sim_link_cost){1000, 1000, 0});
	wh_sim_link_set(lab->sim, 0, 2, &(struct wh_sim_link_cost){5000, 0, 0}); /* no more than the least: the least */
	post_word(lab, 0, 1);
	assert_arrives(lab, 1, 0, 1, start, 1000);
	assert_arrives(lab, 2, 0, 1, start, 5000);
	start = wh_sim_now(lab->sim);
	post_word(lab, 1, 2);
	run_until(lab, start + 100);
	ck_assert_uint_eq(word(lab, 0, 1), 2); /* the way back is another link */
	end(lab);
}
END_TEST

START_TEST(a_link_has_a_bandwidth)
{
	struct lab *lab = make(plain(test_seed(2)));
	uint64_t start = wh_sim_now(lab->sim);

	wh_sim_link_set(lab->sim, 0, 1, &(struct wh_sim_link_cost){100, 100, WH_NS_PER_S});
	post_page(lab, 0, 1);
	post_page(lab, 0, 2);
	run_until(lab, start + 1000);
	ck_assert_uint_eq(word(lab, 2, 0), 2);
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).pushes, 4);
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 2).pushes, 0);
	assert_arrives(lab, 1, 0, 1, start, 4096 + 8 + 100);
	assert_arrives(lab, 1, 0, 2, start, 2 * (4096 + 8) + 100);
	start = wh_sim_now(lab->sim);
	post_word(lab, 0, 3);
	assert_arrives(lab, 1, 0, 3, start, 8 + 100); /* an idle link has saved nothing up, and owes nothing */
	end(lab);
}
END_TEST

START_TEST(a_card_sends_to_all)
{
	struct lab *lab = make(plain(test_seed(3)));
	uint64_t start = wh_sim_now(lab->sim);

	wh_sim_node_set(lab->sim, 0, &(struct wh_sim_node_cost){.bytes_per_s = WH_NS_PER_S});
	post_page(lab, 0, 1);
	assert_arrives(lab, 1, 0, 1, start, 2 * 4096 + 8);
	assert_arrives(lab, 2, 0, 1, start, 2 * 4096 + 16);
	ck_assert_uint_le(wh_sim_busy_until(lab->sim, 0), start); /* that is not the node's time */
	end(lab);
}
END_TEST

START_TEST(posting_takes_the_node_time)
{
	struct wh_sim_options options = plain(test_seed(4));
	struct lab *lab;
	uint64_t start;

	options.node_cost = (struct wh_sim_node_cost){.post_ns = 100, .push_ns = 10};
	lab = make(options);
	start = wh_sim_now(lab->sim);
	post_word(lab, 0, 1);
	post_word(lab, 0, 2); /* in the same pass: the times add up */
	ck_assert_uint_eq(wh_sim_busy_until(lab->sim, 0), start + 2 * 120);
	ck_assert_uint_le(wh_sim_busy_until(lab->sim, 1), start);
	assert_arrives(lab, 1, 0, 1, start, 110);
	assert_arrives(lab, 2, 0, 1, start, 120);
	assert_arrives(lab, 1, 0, 2, start, 230);
	assert_arrives(lab, 2, 0, 2, start, 240);
	wh_sim_node_set(lab->sim, 0, &(struct wh_sim_node_cost){0});
	post_word(lab, 0, 3);
	ck_assert_uint_le(wh_sim_busy_until(lab->sim, 0), wh_sim_now(lab->sim));
	end(lab);
}
END_TEST

/* ---- cuts -------------------------------------------------------------------------------------------------------------- */

START_TEST(a_cut_holds_up_one_way)
{
	struct lab *lab = make(wild(test_seed(10) + (uint64_t)_i));
	uint64_t sent = 0;

	for (uint64_t k = 1; k <= 40; k++) {
		if (k == 10)
			wh_sim_cut_off(lab->sim, 0, 1);
		post_word(lab, 0, k);
		post_word(lab, 1, k);
		sent += send_number(lab, 0, 1, sent + 1) == WHORL_OK;
		run(lab, 1000);
	}
	run(lab, LONG_NS);
	ck_assert_uint_lt(word(lab, 1, 0), 40);
	ck_assert_uint_eq(word(lab, 2, 0), 40);
	ck_assert_uint_eq(word(lab, 0, 1), 40);
	ck_assert_uint_lt(lab->messages[1], sent);
	ck_assert(wh_sim_traffic(lab->sim, 0, 1).cut_off && !wh_sim_traffic(lab->sim, 1, 0).cut_off);
	ck_assert_uint_gt(wh_sim_traffic(lab->sim, 0, 1).pushes, 0);
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).messages, sent - lab->messages[1]);
	wh_sim_heal(lab->sim, 0, 1);
	sent += send_number(lab, 0, 1, sent + 1) == WHORL_OK; /* after those that were held up */
	for (uint64_t last = 0; last < 40; run(lab, 100)) {
		ck_assert_uint_ge(word(lab, 1, 0), last);
		last = word(lab, 1, 0);
	}
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[1], sent);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}
END_TEST

/* Cut and healed at any time, as often as it likes: all comes, in order. */
START_TEST(cuts_that_come_and_go)
{
	struct lab *lab = make(wild(test_seed(30) + (uint64_t)_i));
	struct wh_dice dice = wh_dice_split((uint64_t)_i, 7);
	uint64_t sent = 0, seen = 0;

	for (uint64_t k = 1; k <= 200; k++) {
		if (wh_dice_one_in(&dice, 3))
			wh_sim_cut_off(lab->sim, 0, 1);
		if (wh_dice_one_in(&dice, 3))
			wh_sim_heal(lab->sim, 0, 1);
		sent += send_number(lab, 0, 1, sent + 1) == WHORL_OK;
		post_page(lab, 0, k);
		run(lab, wh_dice_below(&dice, 3000));
		ck_assert_uint_ge(word(lab, 1, 0), seen);
		seen = word(lab, 1, 0);
	}
	leave_in_order(lab, 0);
	run(lab, 1000);
	wh_sim_heal(lab->sim, 0, 1);
	run(lab, LONG_NS);
	ck_assert_uint_eq(word(lab, 1, 0), 200);
	ck_assert_uint_eq(lab->messages[1], sent);
	ck_assert_uint_eq(lab->left[1][0], 1);
	ck_assert_uint_eq(lab->image[1]->row[0][2 * WH_ROW_ALIGN - 1], 200);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}
END_TEST

START_TEST(news_of_a_death_are_held_up)
{
	struct lab *lab = make(wild(test_seed(5)));

	wh_sim_cut_off(lab->sim, 0, 1);
	wh_sim_crash(lab->sim, 0);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[1][0], 0);
	ck_assert_uint_eq(lab->down[2][0], 1);
	wh_sim_heal(lab->sim, 0, 1);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[1][0], 1);
	ck_assert_uint_eq(lab->down[2][0], 1);
	end(lab);
}
END_TEST

START_TEST(who_is_cut_off_meets_later)
{
	struct lab *lab = make_strangers(wild(test_seed(6)));

	wh_sim_cut_off(lab->sim, 2, 0); /* one way is enough to keep them apart */
	for (uint32_t i = 0; i < NODES; i++)
		lab->image[i] = open_image(lab, i, 1);
	run(lab, LONG_NS);
	ck_assert(!lab->image[0]->ready && lab->image[1]->ready && !lab->image[2]->ready);
	ck_assert_int_eq(send_number(lab, 0, 2, 1), WHORL_AGAIN);
	ck_assert_uint_gt(wh_sim_under_way(lab->sim), 0);
	wh_sim_heal(lab->sim, 2, 0);
	run(lab, LONG_NS);
	ck_assert(lab->image[0]->ready && lab->image[2]->ready);
	ck_assert_int_eq(send_number(lab, 0, 2, 1), WHORL_OK);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[2], 1);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}
END_TEST

START_TEST(a_broken_connection_ends_for_both)
{
	struct lab *lab = make(wild(test_seed(50) + (uint64_t)_i));
	struct wh_image *next[NODES];
	uint64_t seen;

	for (uint64_t k = 1; k <= 30; k++)
		post_word(lab, 0, k);
	run(lab, 2000);
	wh_sim_break(lab->sim, 1, 0);
	wh_sim_break(lab->sim, 0, 1); /* again */
	post_word(lab, 0, 31);        /* it does not know yet */
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[0][1], 1);
	ck_assert_uint_eq(lab->down[1][0], 1);
	ck_assert_uint_eq(lab->down[2][0] + lab->down[2][1], 0);
	ck_assert(wh_sim_traffic(lab->sim, 0, 1).broken && wh_sim_traffic(lab->sim, 1, 0).broken);
	ck_assert(wh_sim_traffic(lab->sim, 0, 1).gone && !wh_sim_traffic(lab->sim, 0, 2).gone);
	seen = word(lab, 1, 0);
	ck_assert_uint_le(seen, 30);
	post_word(lab, 0, 32);
	run(lab, LONG_NS);
	ck_assert_uint_eq(word(lab, 1, 0), seen);
	ck_assert_uint_eq(word(lab, 2, 0), 32);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_MEMBER_GONE);
	for (uint32_t i = 0; i < NODES; i++)
		next[i] = open_image(lab, i, 2);
	run(lab, LONG_NS);
	ck_assert(!next[0]->ready && !next[1]->ready && next[2]->ready);
	next[0]->ops->freeze(next[0], 1);
	run(lab, LONG_NS);
	ck_assert(next[0]->ready && !next[1]->ready);
	wh_sim_crash(lab->sim, 0);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[1][0], 1); /* once is enough */
	ck_assert_uint_eq(lab->down[2][0], 1);
	end(lab);
}
END_TEST

/* That it leaves does not come through either. */
START_TEST(leaving_over_a_broken_connection)
{
	struct wh_sim_options options = wild(test_seed(12) + (uint64_t)_i);
	struct lab *lab;

	options.notice_max_ns = WH_NS_PER_MS; /* there would be time for it */
	lab = make(options);
	wh_sim_break(lab->sim, 0, 1);
	leave_in_order(lab, 0);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->left[1][0], 0);
	ck_assert_uint_eq(lab->down[1][0], 1);
	ck_assert_uint_eq(lab->left[2][0], 1);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}
END_TEST

/* ---- crashes ----------------------------------------------------------------------------------------------------------- */

/* Pages and words of node 0, of which it has posted `count` when it ends. What arrives is a prefix of them. */
static uint64_t assert_prefix(struct lab *lab, uint32_t at, uint64_t count)
{
	uint64_t seen = word(lab, at, 0);

	ck_assert_uint_le(seen, count);
	for (uint64_t k = 1; k <= seen; k++)
		ck_assert_uint_eq(lab->image[at]->row[0][WH_ROW_ALIGN + k], k);
	return seen;
}

static void post_numbered(struct lab *lab, uint64_t count)
{
	for (uint64_t k = 1; k <= count; k++) {
		const struct wh_push pushes[] = {{.kind = WH_PUSH_BYTES,
						  .to_count = NODES - 1,
						  .to = others[0],
						  .offset = WH_ROW_ALIGN + k,
						  .bytes = 1},
						 push_word(0, k)};

		lab->image[0]->own[WH_ROW_ALIGN + k] = (unsigned char)k;
		post(lab, 0, pushes, 2);
	}
}

START_TEST(a_silent_crash_is_told_to_nobody)
{
	uint64_t none = 0, all = 0, some = 0, seed = test_seed((uint64_t)_i);

	for (uint64_t k = 0; k < 200; k++) {
		struct lab *lab = make(wild(200 * seed + k));

		post_numbered(lab, 5);
		run(lab, 100 * k);
		if (_i == 0)
			wh_sim_vanish(lab->sim, 0);
		else
			wh_sim_crash(lab->sim, 0);
		post_numbered(lab, 10); /* which the dead do in vain */
		run(lab, LONG_NS);
		for (uint32_t at = 1; at < NODES; at++) {
			uint64_t seen = assert_prefix(lab, at, 5);

			ck_assert_uint_eq(lab->down[at][0], _i == 0 ? 0 : 1);
			none += seen == 0;
			all += seen == 5;
			some += seen > 0 && seen < 5;
		}
		ck_assert_int_eq(send_number(lab, 1, 0, 1), _i == 0 ? WHORL_OK : WHORL_MEMBER_GONE);
		run(lab, LONG_NS);
		ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
		end(lab);
	}
	ck_assert_uint_gt(none, 0);
	ck_assert_uint_gt(some, 0);
	ck_assert_uint_gt(all, 0);
}
END_TEST

START_TEST(each_notices_a_death_in_its_own_time)
{
	struct wh_sim_options options = plain(test_seed(7));
	struct lab *lab;
	uint64_t start;

	options.notice_max_ns = WH_NS_PER_MS;
	lab = make(options);
	start = wh_sim_now(lab->sim);
	wh_sim_crash(lab->sim, 0);
	run(lab, LONG_NS);
	for (uint32_t at = 1; at < NODES; at++) {
		ck_assert_uint_eq(lab->down[at][0], 1);
		ck_assert_uint_le(lab->heard_ns[at], start + WH_NS_PER_MS);
	}
	ck_assert_uint_ne(lab->heard_ns[1], lab->heard_ns[2]);
	end(lab);
}
END_TEST

/* The hook lets it crash before push number _i, of two posts with six pushes each. */
START_TEST(a_crash_in_the_middle_of_a_post)
{
	uint64_t seed = test_seed((uint64_t)_i);

	for (uint64_t n = 0; n < 20; n++) {
		struct lab *lab = make(wild(20 * seed + n));
		uint64_t k = 0;

		lab->crash_push = (uint64_t)_i;
		lab->silently = n % 2 == 0;
		for (int batch = 0; batch < 2; batch++) {
			struct wh_push pushes[6];

			for (int i = 0; i < 6; i++)
				pushes[i] = push_word(0, ++k);
			post(lab, 0, pushes, 6);
		}
		ck_assert_uint_eq(wh_sim_counts(lab->sim, 0).loud, _i < 12 ? _i : 12);
		ck_assert_uint_eq(lab->hooked, _i < 12 ? _i + 1 : 12);
		run(lab, LONG_NS);
		for (uint32_t at = 1; at < NODES; at++) {
			ck_assert_uint_le(word(lab, at, 0), _i);
			ck_assert_uint_eq(lab->down[at][0], lab->silently || _i >= 12 ? 0 : 1);
		}
		ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
		end(lab);
	}
}
END_TEST

/* Its last words come first, whatever happens to it then, and however late. */
START_TEST(leaving_is_kept)
{
	uint64_t seed = test_seed((uint64_t)_i);

	for (uint64_t n = 0; n < 50; n++) {
		struct lab *lab = make(wild(50 * seed + n));

		for (uint64_t k = 1; k <= 20; k++)
			post_page(lab, 0, k);
		ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_OK);
		if (n % 3 == 0)
			wh_sim_cut_off(lab->sim, 0, 2);
		lab->node[0]->ops->leave(lab->node[0]);
		if (_i == 0)
			wh_sim_crash(lab->sim, 0);
		else
			wh_sim_vanish(lab->sim, 0);
		for (int k = 0; lab->left[1][0] == 0 && k < 100000; k++)
			run(lab, 1000);
		ck_assert_uint_eq(word(lab, 1, 0), 20);
		ck_assert_uint_eq(lab->messages[1], 1);
		ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).pushes, 0);
		if (n % 3 == 0) {
			run(lab, LONG_NS);
			ck_assert_uint_eq(lab->left[2][0], 0);
			wh_sim_heal(lab->sim, 0, 2);
		}
		for (int k = 0; lab->left[2][0] == 0 && k < 100000; k++)
			run(lab, 1000);
		ck_assert_uint_eq(word(lab, 2, 0), 20);
		run(lab, LONG_NS);
		ck_assert_uint_eq(lab->down[1][0] + lab->down[2][0], 0);
		ck_assert_uint_eq(lab->left[1][0] + lab->left[2][0], 2);
		end(lab);
	}
}
END_TEST

/* A node that was killed in the middle of its pass goes on to its end, and nobody notices. */
START_TEST(the_dead_open_nothing)
{
	struct lab *lab = make(wild(test_seed(8)));
	struct wh_image *next[NODES];

	next[1] = open_image(lab, 1, 2);
	next[2] = open_image(lab, 2, 2);
	wh_sim_vanish(lab->sim, 0);
	next[0] = open_image(lab, 0, 2);
	next[0]->ops->freeze(next[0], 1);
	next[0]->ops->freeze(next[0], 2);
	lab->node[0]->ops->wake(lab->node[0]);
	run(lab, LONG_NS);
	ck_assert(!next[0]->ready && !next[1]->ready && !next[2]->ready);
	next[0]->ops->image_close(next[0]);
	next[1]->ops->freeze(next[1], 0);
	next[2]->ops->freeze(next[2], 0);
	run(lab, LONG_NS);
	ck_assert(next[1]->ready && next[2]->ready);
	ck_assert_ptr_null(next[1]->row[0]);
	end(lab);
}
END_TEST

/* ---- rings ------------------------------------------------------------------------------------------------------------- */

#define RING_NS (100 * WH_NS_PER_US)

START_TEST(rings_are_late)
{
	struct wh_sim_options options = plain(test_seed(9));
	uint64_t late = 0;
	struct lab *lab;

	options.ring_max_ns = RING_NS;
	lab = make(options);
	lab->node[1]->ops->wait(lab->node[1], 0); /* old rings are used up */
	for (uint64_t k = 1; k <= 50; k++) {
		uint64_t start = wh_sim_now(lab->sim);

		lab->node[1]->ops->arm(lab->node[1]);
		post_word(lab, 0, k);
		while (word(lab, 1, 0) < k)
			ck_assert(wh_sim_step(lab->sim, UINT64_MAX));
		late += !wh_sim_rung(lab->sim, 1);
		lab->node[1]->ops->wait(lab->node[1], LONG_NS);
		ck_assert_uint_le(wh_sim_now(lab->sim), start + RING_NS);
	}
	ck_assert_uint_gt(late, 40);
	ck_assert_uint_eq(wh_sim_counts(lab->sim, 0).rings, 50);
	lab->node[1]->ops->wake(lab->node[1]);
	ck_assert(!wh_sim_rung(lab->sim, 1));
	lab->node[1]->ops->wake(lab->node[1]);
	run(lab, RING_NS);
	ck_assert(wh_sim_rung(lab->sim, 1));
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}
END_TEST

START_TEST(rings_for_messages_are_late)
{
	struct wh_sim_options options = plain(test_seed(13));
	uint64_t late = 0;
	struct lab *lab;

	options.ring_max_ns = RING_NS;
	lab = make(options);
	lab->node[1]->ops->wait(lab->node[1], 0);
	for (uint64_t k = 1; k <= 50; k++) {
		uint64_t start = wh_sim_now(lab->sim);

		ck_assert_int_eq(send_number(lab, 0, 1, k), WHORL_OK);
		while (wh_sim_traffic(lab->sim, 0, 1).messages > 0)
			ck_assert(wh_sim_step(lab->sim, UINT64_MAX));
		late += !wh_sim_rung(lab->sim, 1);
		lab->node[1]->ops->wait(lab->node[1], LONG_NS);
		ck_assert_uint_le(wh_sim_now(lab->sim), start + RING_NS);
		ck_assert(wh_sim_rung(lab->sim, 1)); /* until it is seen to */
		service_all(lab);
		ck_assert(!wh_sim_rung(lab->sim, 1));
		ck_assert_uint_eq(lab->messages[1], k);
	}
	ck_assert_uint_gt(late, 40);
	end(lab);
}
END_TEST

/* It arms, looks, and sleeps as a loop does, between pushes, messages and rings that come when they like. If it has seen
 * less than there is it does not sleep for long. */
START_TEST(late_rings_are_never_lost)
{
	struct wh_sim_options options = wild(test_seed(70) + (uint64_t)_i);
	struct wh_dice dice = wh_dice_split(options.seed, 8);
	uint64_t posted = 0, sent = 0;
	struct lab *lab;

	options.ring_max_ns = RING_NS;
	lab = make(options);
	for (int round = 0; round < 300; round++) {
		uint64_t until, seen = 0, inbox;

		for (int moment = 0; moment < 3; moment++) {
			if (wh_dice_one_in(&dice, 3))
				post_word(lab, 0, ++posted);
			if (wh_dice_one_in(&dice, 8) && send_number(lab, 0, 1, sent + 1) == WHORL_OK)
				sent++;
			if (moment == 0)
				lab->node[1]->ops->arm(lab->node[1]);
			if (moment == 1)
				seen = word(lab, 1, 0);
			for (uint64_t steps = wh_dice_below(&dice, 4); steps > 0; steps--)
				if (!wh_sim_step(lab->sim, wh_sim_now(lab->sim) + 1000))
					break;
		}
		inbox = sent - lab->messages[1];
		until = wh_sim_now(lab->sim) + LONG_NS;
		if (seen < posted || inbox > 0) {
			lab->node[1]->ops->wait(lab->node[1], LONG_NS);
			ck_assert_uint_lt(wh_sim_now(lab->sim), until);
		}
		lab->node[1]->ops->disarm(lab->node[1]);
		if (wh_dice_one_in(&dice, 2))
			service_all(lab);
	}
	run(lab, LONG_NS);
	ck_assert_uint_eq(word(lab, 1, 0), posted);
	ck_assert_uint_eq(lab->messages[1], sent);
	end(lab);
}
END_TEST

/* Whatever it has posted that can be seen has rung, though it crashed in the middle of a batch. */
START_TEST(the_words_of_the_dead_ring)
{
	uint64_t seen = 0, seed = test_seed((uint64_t)_i);

	for (uint64_t n = 0; n < 100; n++) {
		struct wh_sim_options options = wild(100 * seed + n);
		struct wh_push pushes[10];
		struct lab *lab;

		options.ring_max_ns = n % 2 == 0 ? RING_NS : 0;
		lab = make(options);
		lab->silently = true;
		lab->crash_push = _i == 0 ? n % 10 : UINT64_MAX;
		lab->node[1]->ops->wait(lab->node[1], 0); /* old rings are used up */
		lab->node[1]->ops->arm(lab->node[1]);
		for (uint64_t k = 0; k < 10; k++)
			pushes[k] = push_word(0, k + 1);
		post(lab, 0, pushes, 10);
		for (uint64_t k = 0; k < n % 10; k++)
			wh_sim_step(lab->sim, UINT64_MAX);
		wh_sim_vanish(lab->sim, 0);
		run(lab, LONG_NS);
		ck_assert(word(lab, 1, 0) == 0 || wh_sim_rung(lab->sim, 1));
		seen += word(lab, 1, 0) > 0;
		end(lab);
	}
	ck_assert_uint_gt(seen, 20);
}
END_TEST

/* ---- the digest -------------------------------------------------------------------------------------------------------- */

enum { CUT = 1, CRASH = 2, RINGS = 4, COSTS = 8, ALL = 15 };

static uint64_t digest_of(uint64_t seed, unsigned what)
{
	struct wh_sim_options options = wild(seed);
	struct lab *lab;
	uint64_t digest;

	options.ring_max_ns = what & RINGS ? RING_NS : 0;
	options.notice_max_ns = RING_NS;
	if (what & COSTS)
		options.node_cost = (struct wh_sim_node_cost){10, 10, WH_NS_PER_S};
	lab = make(options);
	for (uint64_t k = 1; k <= 100; k++) {
		lab->node[1]->ops->arm(lab->node[1]);
		post_page(lab, k % NODES, k);
		if (what & CUT && k == 30)
			wh_sim_cut_off(lab->sim, 2, 1);
		if (what & CUT && k == 60)
			wh_sim_heal(lab->sim, 2, 1);
		if (what & CRASH && k == 80)
			wh_sim_crash(lab->sim, 0);
		run(lab, 1000);
	}
	run(lab, LONG_NS);
	digest = wh_sim_digest(lab->sim);
	end(lab);
	return digest;
}

START_TEST(the_same_seed_is_the_same_run)
{
	uint64_t seed = test_seed(11), digest = digest_of(seed, ALL);

	ck_assert_uint_eq(digest, digest_of(seed, ALL));
	ck_assert_uint_ne(digest, digest_of(seed + 1, ALL));
	for (unsigned what = 1; what < ALL; what <<= 1)
		ck_assert_uint_ne(digest, digest_of(seed, ALL - what));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("the simulator's transport");
	TCase *cases = tcase_create("sim transport");

	tcase_add_test(cases, a_link_has_a_latency);
	tcase_add_test(cases, a_link_has_a_bandwidth);
	tcase_add_test(cases, a_card_sends_to_all);
	tcase_add_test(cases, posting_takes_the_node_time);
	tcase_add_loop_test(cases, a_cut_holds_up_one_way, 0, 10);
	tcase_add_loop_test(cases, cuts_that_come_and_go, 0, 10);
	tcase_add_test(cases, news_of_a_death_are_held_up);
	tcase_add_test(cases, who_is_cut_off_meets_later);
	tcase_add_loop_test(cases, a_broken_connection_ends_for_both, 0, 10);
	tcase_add_loop_test(cases, leaving_over_a_broken_connection, 0, 5);
	tcase_add_loop_test(cases, a_silent_crash_is_told_to_nobody, 0, 2);
	tcase_add_test(cases, each_notices_a_death_in_its_own_time);
	tcase_add_loop_test(cases, a_crash_in_the_middle_of_a_post, 0, 14);
	tcase_add_loop_test(cases, leaving_is_kept, 0, 2);
	tcase_add_test(cases, the_dead_open_nothing);
	tcase_add_test(cases, rings_are_late);
	tcase_add_test(cases, rings_for_messages_are_late);
	tcase_add_loop_test(cases, late_rings_are_never_lost, 0, 20);
	tcase_add_loop_test(cases, the_words_of_the_dead_ring, 0, 2);
	tcase_add_test(cases, the_same_seed_is_the_same_run);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
