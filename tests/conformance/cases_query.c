/* cases_query.c - T11: questions of visitors, which are no nodes. */
#include <string.h>

#include "tests/conformance/suite.h"

static unsigned char answer[WH_ANSWER_MAX];
static size_t answer_bytes;

static void give(struct group *g, uint32_t at, uint64_t query, const void *bytes, size_t count)
{
	g->at[at].transport->ops->answer(g->at[at].transport, query, bytes, count);
}

/* Waits for its end. */
static enum whorl_result end_of(struct group *g, uint32_t query)
{
	enum whorl_result result = WHORL_AGAIN;

	UNTIL(g, (result = wh_world.answered(g->world, query, answer, &answer_bytes)) != WHORL_AGAIN);
	return result;
}

START_TEST(t11_a_question_gets_its_answer)
{
	static const size_t questions[] = {0, 1, 100, WH_CONTROL_MAX}, answers[] = {0, 1, 5000, WH_ANSWER_MAX};
	static unsigned char given[WH_ANSWER_MAX];
	struct group *g = group_make(2, test_seed(1));
	unsigned char question[WH_CONTROL_MAX];
	uint64_t random = g->seed;

	for (int k = 0; k < 4; k++) {
		uint32_t query;

		for (size_t i = 0; i < sizeof(question); i++)
			question[i] = (unsigned char)next_random(&random);
		for (size_t i = 0; i < sizeof(given); i++)
			given[i] = (unsigned char)next_random(&random);
		query = wh_world.ask(g->world, 1, question, questions[k]);
		UNTIL(g, g->at[1].asked == (uint32_t)k + 1);
		ck_assert_uint_eq(g->at[1].question_bytes, questions[k]);
		ck_assert_mem_eq(g->at[1].question, question, questions[k]);
		give(g, 1, g->at[1].query, given, answers[k]);
		ck_assert_int_eq(end_of(g, query), WHORL_OK);
		ck_assert_uint_eq(answer_bytes, answers[k]);
		ck_assert_mem_eq(answer, given, answers[k]);
	}
	ck_assert_uint_eq(g->at[0].asked, 0);
	ck_assert_uint_eq(g->at[0].left + g->at[0].down + g->at[0].refused + g->at[1].refused, 0);
	group_free(g);
}
END_TEST

#define QUERIES 6

/* Each gets what is meant for it, in whatever order; and an answer to no visitor is nothing. */
START_TEST(t11_answers_find_their_queries)
{
	struct group *g = group_make(2, test_seed(2));
	uint64_t queries[QUERIES];
	uint32_t sent[QUERIES];

	for (uint32_t k = 0; k < QUERIES; k++) {
		sent[k] = wh_world.ask(g->world, 0, &k, sizeof(k));
		UNTIL(g, g->at[0].asked == k + 1);
		queries[k] = g->at[0].query;
		for (uint32_t i = 0; i < k; i++)
			ck_assert_uint_ne(queries[i], queries[k]);
	}
	give(g, 0, 0, "nobody", 7);
	give(g, 0, UINT64_MAX, "nobody", 7);
	for (uint32_t k = QUERIES; k-- > 0;)
		give(g, 0, queries[k], &k, sizeof(k));
	for (uint32_t k = 0; k < QUERIES; k++) {
		give(g, 0, queries[k], "again", 6);
		ck_assert_int_eq(end_of(g, sent[k]), WHORL_OK);
		ck_assert_uint_eq(answer_bytes, sizeof(k));
		ck_assert_mem_eq(answer, &k, sizeof(k));
	}
	group_free(g);
}
END_TEST

START_TEST(t11_nobody_is_there)
{
	struct group *g = group_make(2, test_seed(3));

	group_close(g, 1);
	ck_assert_int_eq(end_of(g, wh_world.ask(g->world, 1, "", 0)), WHORL_NOT_FOUND);
	group_free(g);
}
END_TEST

/* It goes before it has answered. */
START_TEST(t11_the_asked_goes)
{
	struct group *g = group_make(2, test_seed(4));
	uint32_t query = wh_world.ask(g->world, 1, "", 0);

	UNTIL(g, g->at[1].asked == 1);
	if (_i == 0)
		group_kill(g, 1);
	else
		group_close(g, 1);
	ck_assert_int_ne(end_of(g, query), WHORL_OK);
	group_free(g);
}
END_TEST

/* Visitors do not hold up nodes. */
START_TEST(t11_queries_do_not_hold_up_nodes)
{
	struct group *g = group_make(3, test_seed(5));
	uint32_t queries[QUERIES];

	for (uint32_t k = 0; k < QUERIES; k++)
		queries[k] = wh_world.ask(g->world, 0, &k, sizeof(k));
	UNTIL(g, g->at[0].asked >= QUERIES);
	group_open(g, 1);
	post_word(g, 0, 1, 64, 1);
	UNTIL(g, column(g, 1, 1, 0, 64) == 1 && column(g, 2, 1, 0, 64) == 1);
	group_close(g, 0);
	for (uint32_t k = 0; k < QUERIES; k++)
		ck_assert_int_ne(end_of(g, queries[k]), WHORL_OK);
	group_free(g);
}
END_TEST

TCase *cases_query(void)
{
	TCase *cases = tcase_create("query");

	if (wh_world.ask == NULL)
		return cases;
	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t11_a_question_gets_its_answer);
	tcase_add_test(cases, t11_answers_find_their_queries);
	tcase_add_test(cases, t11_nobody_is_there);
	tcase_add_loop_test(cases, t11_the_asked_goes, 0, 2);
	tcase_add_test(cases, t11_queries_do_not_hold_up_nodes);
	return cases;
}
