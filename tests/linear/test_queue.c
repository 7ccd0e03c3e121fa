/* test_queue.c - the judge of queues is judged: on histories that are known to be right or wrong, and against all orders. */
#include <string.h>

#include "tests/harness.h"
#include "tests/linear/queue.h"

#define OPS_MOST 6

#define PUSH(value, began, ended)                                                                                      \
	{                                                                                                              \
		true, false, value, began, ended                                                                       \
	}
#define POP(value, began, ended)                                                                                       \
	{                                                                                                              \
		false, true, value, began, ended                                                                       \
	}
#define NOTHING(began, ended)                                                                                          \
	{                                                                                                              \
		false, false, 0, began, ended                                                                          \
	}

static const struct history {
	const char *wrong; /* NULL: nothing */
	size_t count;
	struct queue_op ops[OPS_MOST];
} histories[] = {
	{NULL, 0, {{0}}},
	{NULL, 4, {PUSH(1, 0, 1), PUSH(2, 2, 3), POP(1, 4, 5), POP(2, 6, 7)}},
	{NULL, 4, {PUSH(1, 0, 3), PUSH(2, 2, 3), POP(2, 4, 5), POP(1, 6, 7)}},
	{NULL, 3, {PUSH(1, 0, 9), NOTHING(1, 2), POP(1, 3, 4)}},
	{NULL, 3, {PUSH(1, 0, 1), NOTHING(2, 5), POP(1, 4, 6)}},
	{"a value is popped before one that was pushed earlier",
	 4,
	 {PUSH(1, 0, 1), PUSH(2, 2, 3), POP(2, 4, 5), POP(1, 6, 7)}},
	{"a value is popped before one that was pushed earlier", 3, {PUSH(1, 0, 1), PUSH(2, 2, 3), POP(2, 4, 5)}},
	{"a value is popped twice", 3, {PUSH(1, 0, 1), POP(1, 2, 3), POP(1, 4, 5)}},
	{"a value is popped that was never pushed", 2, {PUSH(1, 0, 1), POP(2, 2, 3)}},
	{"a value is popped before it was pushed", 2, {POP(1, 0, 1), PUSH(1, 2, 3)}},
	{"two pushes of one value", 2, {PUSH(1, 0, 1), PUSH(1, 2, 3)}},
	{"a pop finds nothing in a queue that is not empty", 2, {PUSH(1, 0, 1), NOTHING(2, 3)}},
	{"a pop finds nothing in a queue that is not empty",
	 5,
	 {PUSH(1, 0, 1), PUSH(2, 3, 4), NOTHING(2, 8), POP(1, 5, 6), POP(2, 9, 10)}},
};

TEST_CASE("all", .timeout_s = 60);

TEST_LOOP(what_is_known, 0, (int)(sizeof histories / sizeof histories[0]))
{
	const struct history *it = &histories[_i];
	const char *wrong = queue_judge(it->ops, it->count, NULL);

	if (it->wrong == NULL)
		ck_assert_msg(wrong == NULL, "%s", wrong);
	else
		ck_assert_str_eq(wrong != NULL ? wrong : "nothing", it->wrong);
}

/* ---- against all orders ------------------------------------------------------------------------------------------------------- */

struct order {
	const struct queue_op *ops;
	size_t count;
	unsigned placed; /* a set */
	uint64_t queue[OPS_MOST];
	size_t head, tail;
};

static bool may_be_next(const struct order *order, size_t i)
{
	for (size_t j = 0; j < order->count; j++)
		if ((order->placed >> j & 1) == 0 && order->ops[j].ended_ns < order->ops[i].began_ns)
			return false;
	return true;
}

static bool has_order(struct order order)
{
	if (order.placed == (1u << order.count) - 1)
		return true;
	for (size_t i = 0; i < order.count; i++) {
		const struct queue_op *op = &order.ops[i];
		struct order next = order;

		if ((order.placed >> i & 1) != 0 || !may_be_next(&order, i))
			continue;
		next.placed |= 1u << i;
		if (op->pushes)
			next.queue[next.tail++] = op->value;
		else if (op->found != (order.head < order.tail) || (op->found && order.queue[next.head++] != op->value))
			continue;
		if (has_order(next))
			return true;
	}
	return false;
}

static uint64_t draw(uint64_t *dice, uint64_t below)
{
	*dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*dice >> 33) % below;
}

/* Values 1, 2 ... are pushed; what is popped is drawn, mostly of them. */
static size_t make_history(uint64_t *dice, struct queue_op *ops)
{
	size_t count = 1 + draw(dice, OPS_MOST);
	uint64_t pushed = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t began = draw(dice, 12);

		ops[i] = (struct queue_op){.began_ns = began, .ended_ns = began + draw(dice, 5)};
		ops[i].pushes = draw(dice, 2) == 0;
		ops[i].found = !ops[i].pushes && draw(dice, 3) > 0;
		if (ops[i].pushes)
			ops[i].value = ++pushed;
		else if (ops[i].found)
			ops[i].value = 1 + draw(dice, 3);
	}
	return count;
}

TEST(it_agrees_with_all_orders)
{
	uint64_t dice = test_seed(20);
	unsigned good = 0, bad = 0;

	for (int i = 0; i < 50000; i++) {
		struct queue_op ops[OPS_MOST];
		struct order order = {.ops = ops};
		bool can;

		order.count = make_history(&dice, ops);
		can = has_order(order);
		ck_assert_msg(can == (queue_judge(ops, order.count, NULL) == NULL), "history %d", i);
		good += can;
		bad += !can;
	}
	ck_assert_uint_gt(good, 5000);
	ck_assert_uint_gt(bad, 5000);
}

TEST_SUITE("queue")

int main(void)
{
	return test_main(suite());
}
