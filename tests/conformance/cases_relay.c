/* cases_relay.c - T14: bytes of another member's row. A relay pushes what it has of the row of 0 on to 2. */
#include <string.h>

#include "tests/conformance/suite.h"

#define RANGES 3

static struct wh_push push_relayed(uint64_t k)
{
	static const uint32_t to[] = {2};

	return (struct wh_push){.kind = WH_PUSH_BYTES,
				.relayed = 1,
				.to_count = 1,
				.to = to,
				.offset = RELAY_AT + k * WH_ROW_ALIGN,
				.bytes = RELAY_BYTES};
}

/* 0 pushes bytes to 1 alone, and a word that is on top of them. */
static void push_to_1(struct group *g, unsigned char value, uint64_t word)
{
	static const uint32_t to[] = {1};
	struct wh_push pushes[2] = {
		{.kind = WH_PUSH_BYTES, .to_count = 1, .to = to, .offset = RELAY_AT, .bytes = RANGES * WH_ROW_ALIGN},
		{.kind = WH_PUSH_WORD, .to_count = 1, .to = to, .offset = 64, .value = word}};

	memset(g->at[0].image[1]->own + RELAY_AT, value, RANGES * WH_ROW_ALIGN);
	post(g, 0, 1, pushes, 2);
	UNTIL(g, column(g, 1, 1, 0, 64) == word);
}

/* 1 pushes most of them on, between bytes of its own row, and a word of that behind them. */
static void pass_on(struct group *g, uint64_t word)
{
	struct wh_push pushes[] = {push_bytes(g, 1, RELAY_AT, 100),       push_relayed(0), push_relayed(1),
				   push_bytes(g, 1, RELAY_AT + 100, 100), push_relayed(2), push_word(g, 1, 128, word)};

	memset(g->at[1].image[1]->own + RELAY_AT, (int)word + 100, 200);
	post(g, 1, 1, pushes, sizeof(pushes) / sizeof(pushes[0]));
}

/* With what was relayed, and with nothing that lies between. */
static void assert_filled(const struct group *g, uint32_t at, unsigned char value)
{
	const unsigned char *bytes = g->at[at].image[1]->row[0] + RING_0;

	for (uint64_t k = 0; k < RING_BYTES; k++) {
		bool is_relayed = k >= 64 && (k - 64) % WH_ROW_ALIGN < RELAY_BYTES && k < 64 + RANGES * WH_ROW_ALIGN;

		ck_assert_int_eq(bytes[k], is_relayed ? value : 0);
	}
}

/* What 1 has pushed of its own. */
static void assert_own(const struct group *g, uint32_t at, unsigned char value)
{
	for (uint64_t k = 0; k < 200; k++)
		ck_assert_int_eq(g->at[at].image[1]->row[1][RELAY_AT + k], value);
	ck_assert_int_eq(g->at[at].image[1]->row[1][RELAY_AT + 200], 0);
}

START_TEST(t14_relayed_bytes_come_before_the_word_behind_them)
{
	struct group *g = group_make(4, test_seed(1));

	group_open(g, 1);
	for (uint64_t i = 1; i <= times(20); i++) {
		push_to_1(g, (unsigned char)i, i);
		ck_assert_int_eq(g->at[2].image[1]->row[0][RELAY_AT], i - 1);
		pass_on(g, i);
		UNTIL(g, column(g, 2, 1, 1, 128) == i);
		assert_filled(g, 2, (unsigned char)i);
		assert_own(g, 2, (unsigned char)(i + 100));
		ck_assert_uint_eq(column(g, 2, 1, 0, 64), 0); /* bytes of that row, and none of its words */
		ck_assert_int_eq(g->at[3].image[1]->row[0][RELAY_AT], 0);
	}
	group_free(g);
}
END_TEST

/* The relay's image goes, and what it has posted comes all the same. */
START_TEST(t14_a_relay_that_closes_has_pushed)
{
	struct group *g = group_make(3, test_seed(2));

	group_open(g, 1);
	ck_assert(g->at[0].transport->ops->relays);
	push_to_1(g, 7, 1);
	pass_on(g, 1);
	group_close_image(g, 1, 1);
	UNTIL(g, column(g, 2, 1, 1, 128) == 1);
	assert_filled(g, 2, 7);
	group_free(g);
}
END_TEST

/* The owner of the row has ended, or is frozen: what others have of it goes on. */
START_TEST(t14_the_owner_need_not_be_there)
{
	struct group *g = group_make(3, test_seed(3));

	group_open(g, 1);
	push_to_1(g, 9, 1);
	group_kill(g, 0);
	UNTIL(g, g->at[2].down_of[0] == 1 && g->at[1].down_of[0] == 1);
	g->at[2].image[1]->ops->freeze(g->at[2].image[1], 0);
	g->at[1].image[1]->ops->freeze(g->at[1].image[1], 0);
	pass_on(g, 1);
	UNTIL(g, column(g, 2, 1, 1, 128) == 1);
	assert_filled(g, 2, 9);
	group_free(g);
}
END_TEST

TCase *cases_relay(void)
{
	TCase *tc = tcase_create("relay");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, t14_relayed_bytes_come_before_the_word_behind_them);
	tcase_add_test(tc, t14_a_relay_that_closes_has_pushed);
	tcase_add_test(tc, t14_the_owner_need_not_be_there);
	return tc;
}
