/* test_linear.c - the checker of histories is checked: on histories that are known to be right or wrong, and against all orders. */
#include <string.h>

#include "tests/harness.h"
#include "tests/linear/linear.h"

#define MOST 10000000

/* ---- histories in words ----------------------------------------------------------------------------------------------------- */

/* "KIND ARGUMENT ANSWER": ANSWER may be ?, - is not found. */
static const char *read_step(const char *line, struct linear_step *step)
{
	static const char *const names[LINEAR_KINDS] = {"get", "set", "claim", "add", "remove", "append"};
	char kind[24], answer[24];
	int end = 0;

	ck_assert_int_eq(sscanf(line, "%23s %" SCNu64 " %23s %n", kind, &step->argument, answer, &end), 3);
	step->kind = LINEAR_GET;
	while (strcmp(names[step->kind], kind) != 0)
		ck_assert_int_lt(++step->kind, LINEAR_KINDS);
	step->found = answer[0] != '-' && answer[0] != '?';
	step->answer = step->found ? strtoull(answer, NULL, 10) : 0;
	return line + end;
}

/* "BEGAN ENDED STEP", or two steps: ENDED may be ?. */
static struct linear_op read_op(const char *line, uint32_t client)
{
	struct linear_op op = {.client = client};
	struct linear_step step;
	char ended[24];
	int end = 0;

	ck_assert_int_eq(sscanf(line, "%" SCNu64 " %23s %n", &op.began_ns, ended, &end), 2);
	op.ended_ns = ended[0] == '?' ? LINEAR_UNKNOWN : strtoull(ended, NULL, 10);
	line = read_step(line + end, &step);
	op.kind = step.kind;
	op.argument = step.argument;
	op.found = step.found;
	op.answer = step.answer;
	op.goes_on = *line != '\0';
	if (op.goes_on)
		read_step(line, &op.then);
	return op;
}

static const struct history {
	const char *what;
	enum linear_verdict is;
	const char *ops[6];
} histories[] = {
	{"nothing", LINEAR_GOOD, {NULL}},
	{"one after the other",
	 LINEAR_GOOD,
	 {"0 1 get 0 -", "2 3 set 5 -", "4 5 get 0 5", "6 7 remove 0 1", "8 9 get 0 -"}},
	{"a read beside the write that it has not seen", LINEAR_GOOD, {"0 9 set 5 -", "1 2 get 0 -", "3 4 get 0 5"}},
	{"a stale read", LINEAR_BAD, {"0 1 set 5 -", "2 3 get 0 -"}},
	{"the same, of a value before", LINEAR_BAD, {"0 1 set 5 -", "2 3 set 6 -", "4 5 get 0 5"}},
	{"a read goes back", LINEAR_BAD, {"0 9 set 5 -", "1 2 get 0 5", "3 4 get 0 -"}},
	{"what nobody has written", LINEAR_BAD, {"0 9 set 5 -", "1 2 get 0 6"}},
	{"what is written later", LINEAR_BAD, {"0 1 get 0 5", "2 3 set 5 -"}},
	{"at one time they overlap", LINEAR_GOOD, {"0 2 set 5 -", "2 3 get 0 -"}},
	{"two writes at once, two readers that agree",
	 LINEAR_GOOD,
	 {"0 9 set 5 -", "0 9 set 6 -", "1 2 get 0 5", "3 4 get 0 6", "10 11 get 0 6"}},
	{"two writes at once, two readers that do not",
	 LINEAR_BAD,
	 {"0 9 set 5 -", "0 9 set 6 -", "1 2 get 0 5", "3 4 get 0 6", "5 6 get 0 5"}},
	{"both are told that it was free", LINEAR_BAD, {"0 9 claim 5 -", "0 9 claim 6 -"}},
	{"one is told so", LINEAR_GOOD, {"0 9 claim 5 -", "0 9 claim 6 1", "10 11 get 0 5"}},
	{"the other has it", LINEAR_BAD, {"0 9 claim 5 -", "0 9 claim 6 1", "10 11 get 0 6"}},
	{"added once each", LINEAR_GOOD, {"0 9 add 1 2", "0 9 add 1 1", "10 11 get 0 2"}},
	{"one is lost", LINEAR_BAD, {"0 9 add 1 1", "0 9 add 1 1"}},
	{"applied twice", LINEAR_BAD, {"0 1 add 1 1", "2 3 get 0 2"}},
	{"an acknowledged one is lost", LINEAR_BAD, {"0 1 add 1 1", "2 3 add 1 1"}},
	{"removed twice", LINEAR_BAD, {"0 1 set 5 -", "2 3 remove 0 1", "4 5 remove 0 1"}},
	{"unknown, and it was not", LINEAR_GOOD, {"0 ? set 5 ?", "1 2 get 0 -", "3 4 get 0 -"}},
	{"unknown, and it was, much later", LINEAR_GOOD, {"0 ? set 5 ?", "1 2 get 0 -", "3 4 get 0 5"}},
	{"unknown, and it was and was not", LINEAR_BAD, {"0 ? set 5 ?", "1 2 get 0 5", "3 4 get 0 -"}},
	{"unknown, before it was begun", LINEAR_BAD, {"1 2 get 0 5", "3 ? set 5 ?"}},
	{"unknown, twice", LINEAR_BAD, {"0 1 set 5 -", "2 ? add 1 ?", "3 4 get 0 7"}},
	{"unknown, and two of them were", LINEAR_GOOD, {"0 1 set 5 -", "2 ? add 1 ?", "2 ? add 1 ?", "3 4 get 0 7"}},
	{"a read of which nobody knows", LINEAR_GOOD, {"0 ? get 0 ?", "1 2 get 0 -"}},
	{"tokens one after the other",
	 LINEAR_GOOD,
	 {"0 1 append 5 1", "2 3 append 6 2", "4 5 set 7 -", "6 7 append 8 2"}},
	{"the first is what a set would be",
	 LINEAR_GOOD,
	 {"0 1 append 5 1", "2 3 get 0 5", "4 5 remove 0 1", "6 7 append 6 1"}},
	{"a token is lost", LINEAR_BAD, {"0 1 append 5 1", "2 3 append 6 1"}},
	{"a token is there twice", LINEAR_BAD, {"0 1 append 5 1", "2 3 append 6 3"}},
	{"the same, of an unknown one", LINEAR_BAD, {"0 ? append 5 ?", "1 2 append 6 3"}},
	{"an unknown one was", LINEAR_GOOD, {"0 ? append 5 ?", "1 2 append 6 2"}},
	{"added to what was appended", LINEAR_GOOD, {"0 1 append 5 1", "2 3 add 1 6", "4 5 append 7 2"}},
	{"two at once, and nothing between", LINEAR_GOOD, {"0 9 add 1 1 add 1 2", "0 9 add 1 3", "0 9 get 0 2"}},
	{"something between", LINEAR_BAD, {"0 9 add 1 1 add 1 3", "0 9 add 1 2"}},
	{"half of it was seen", LINEAR_BAD, {"0 9 add 1 1 add 1 2", "0 9 get 0 1"}},
	{"half of an unknown one was seen", LINEAR_BAD, {"0 ? add 1 ? add 1 ?", "0 9 get 0 1"}},
	{"all of an unknown one was seen", LINEAR_GOOD, {"0 ? add 1 ? add 1 ?", "0 9 get 0 2"}},
	{"the second step is wrong", LINEAR_BAD, {"0 1 set 5 -", "2 3 get 0 5 remove 0 -"}},
	{"an unknown read, and a write at once", LINEAR_GOOD, {"0 ? get 0 ? set 5 ?", "1 2 get 0 5"}},
};

static size_t read_history(struct linear_op *out, const struct history *history, uint64_t key)
{
	size_t count = 0;

	while (count < 6 && history->ops[count] != NULL) {
		out[count] = read_op(history->ops[count], (uint32_t)count);
		out[count].key = key;
		count++;
	}
	return count;
}

TEST_CASE("linear", .timeout_s = 60);

TEST_LOOP(what_is_known, 0, (int)(sizeof(histories) / sizeof(histories[0])))
{
	struct linear_op ops[6];
	struct linear_fault fault = {.text = ""};
	size_t count = read_history(ops, &histories[_i], 7);

	ck_assert_msg(linear_check(ops, count, MOST, &fault) == histories[_i].is, "%s", histories[_i].what);
	ck_assert_int_eq(linear_check(ops, count, MOST, NULL), histories[_i].is);
	if (histories[_i].is == LINEAR_BAD) {
		ck_assert_ptr_eq(strstr(fault.text, "key 7: behind "), fault.text);
		ck_assert_uint_lt(fault.placed, count);
	}
}

/* Of many keys each is by itself, and the fault has the key. */
TEST(keys_are_apart)
{
	enum { ALL = sizeof(histories) / sizeof(histories[0]) };
	struct linear_op ops[6 * ALL];
	struct linear_fault fault;
	size_t count = 0;

	for (size_t i = 0; i < ALL; i++)
		if (histories[i].is == LINEAR_GOOD)
			count += read_history(&ops[count], &histories[i], i);
	for (size_t i = 0; i + 1 < count; i += 2) { /* the order in which they come does not matter */
		struct linear_op op = ops[i];

		ops[i] = ops[count - 1 - i];
		ops[count - 1 - i] = op;
	}
	ck_assert_int_eq(linear_check(ops, count, MOST, &fault), LINEAR_GOOD);
	count += read_history(&ops[count], &histories[3], 1000);
	ck_assert_int_eq(linear_check(ops, count, MOST, &fault), LINEAR_BAD);
	ck_assert_uint_eq(fault.key, 1000);
	ck_assert_uint_eq(fault.placed, 1);
	ck_assert_int_eq(fault.op.kind, LINEAR_GET);
	ck_assert_str_eq(fault.text, "key 1000: behind 1 operations nothing explains client 1, from 2 to 3 ns, "
				     "get: it was not there");
	ck_assert_int_eq(linear_check(ops, count, 1, &fault), LINEAR_TOO_HARD);
}

TEST_LOOP(operations_are_told, 0, 7)
{
	static const struct {
		const char *op, *told;
	} cases[] = {
		{"1 2 get 0 5", "client 3, from 1 to 2 ns, get: 5"},
		{"1 2 set 5 -", "client 3, from 1 to 2 ns, set 5"},
		{"1 2 claim 5 1", "client 3, from 1 to 2 ns, claim 5: it was there"},
		{"1 2 add 5 6", "client 3, from 1 to 2 ns, add 5: 6"},
		{"1 ? remove 0 ?", "client 3, from 1 to ? ns, remove: ?"},
		{"1 ? set 5 ?", "client 3, from 1 to ? ns, set 5: ?"},
		{"1 2 append 5 6 get 0 7", "client 3, from 1 to 2 ns, append 5: 6 tokens, and at once get: 7"},
	};
	struct linear_op op = read_op(cases[_i].op, 3);
	char text[300];

	linear_tell(&op, text, sizeof(text));
	ck_assert_str_eq(text, cases[_i].told);
}

/* ---- all orders ------------------------------------------------------------------------------------------------------------- */

#define SMALL 6

struct dice {
	uint64_t is;
};

static uint64_t roll(struct dice *dice, uint64_t below)
{
	dice->is = dice->is * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (dice->is >> 33) % below;
}

struct copy {
	uint64_t text, tokens; /* nothing, if it has no tokens */
};

static void carry_out_step(struct linear_step *step, struct copy *copy)
{
	bool was = copy->tokens > 0;
	enum linear_kind kind = step->kind;

	step->found = (kind == LINEAR_GET || kind == LINEAR_CLAIM || kind == LINEAR_REMOVE) && was;
	step->answer = kind == LINEAR_GET && was ? copy->text : 0;
	if (kind == LINEAR_ADD) {
		step->answer = (was ? copy->text : 0) + step->argument;
		*copy = (struct copy){step->answer, 1};
	} else if (kind == LINEAR_APPEND) {
		copy->text = was ? linear_append(copy->text, step->argument) : step->argument;
		step->answer = ++copy->tokens;
	} else if (kind == LINEAR_SET || (kind == LINEAR_CLAIM && !was)) {
		*copy = (struct copy){step->argument, 1};
	} else if (kind == LINEAR_REMOVE) {
		copy->tokens = 0;
	}
}

/* What a single copy answers; not the checker's own words of it. */
static void carry_out(struct linear_op *op, struct copy *copy)
{
	struct linear_step first = {op->kind, op->argument, false, 0};

	carry_out_step(&first, copy);
	op->found = first.found;
	op->answer = first.answer;
	if (op->goes_on)
		carry_out_step(&op->then, copy);
}

static bool is_answer(const struct linear_op *op, const struct linear_op *would)
{
	return would->found == op->found && would->answer == op->answer &&
	       (!op->goes_on || (would->then.found == op->then.found && would->then.answer == op->then.answer));
}

/* Every order of every part of them that leaves out none that has ended. */
static bool some_order_does(const struct linear_op *ops, size_t count, unsigned placed, struct copy copy)
{
	bool all = true;

	for (size_t i = 0; i < count; i++)
		all &= (placed >> i & 1) != 0 || ops[i].ended_ns == LINEAR_UNKNOWN;
	if (all)
		return true;
	for (size_t i = 0; i < count; i++) {
		struct linear_op would = ops[i];
		struct copy then = copy;
		bool may = (placed >> i & 1) == 0;

		for (size_t k = 0; k < count && may; k++)
			may = (placed >> k & 1) != 0 || ops[k].ended_ns >= ops[i].began_ns;
		if (!may)
			continue;
		carry_out(&would, &then);
		if (ops[i].ended_ns != LINEAR_UNKNOWN && !is_answer(&ops[i], &would))
			continue;
		if (some_order_does(ops, count, placed | 1U << i, then))
			return true;
	}
	return false;
}

static struct linear_op random_op(struct dice *dice)
{
	struct linear_op op = {.kind = (enum linear_kind)roll(dice, LINEAR_KINDS), .argument = 1 + roll(dice, 2)};

	op.began_ns = roll(dice, 12);
	op.ended_ns = roll(dice, 5) == 0 ? LINEAR_UNKNOWN : op.began_ns + roll(dice, 6);
	if (op.kind == LINEAR_GET || op.kind == LINEAR_REMOVE)
		op.argument = 0;
	op.goes_on = roll(dice, 4) == 0;
	if (op.goes_on)
		op.then = (struct linear_step){.kind = (enum linear_kind)roll(dice, LINEAR_KINDS),
					       .argument = 1 + roll(dice, 2)};
	return op;
}

TEST(the_search_is_as_good_as_all_orders)
{
	struct dice dice = {test_seed(1)};
	unsigned good = 0, bad = 0;

	for (int i = 0; i < 30000; i++) {
		struct linear_op ops[SMALL];
		size_t count = 1 + roll(&dice, SMALL);
		struct copy copy = {0};
		bool expected;

		for (size_t k = 0; k < count; k++) { /* answers that could be, in an order that may not */
			ops[k] = random_op(&dice);
			carry_out(&ops[k], &copy);
		}
		expected = some_order_does(ops, count, 0, (struct copy){0});
		ck_assert_int_eq(linear_check(ops, count, MOST, NULL), expected ? LINEAR_GOOD : LINEAR_BAD);
		good += expected;
		bad += !expected;
	}
	ck_assert_uint_gt(good, 5000);
	ck_assert_uint_gt(bad, 5000);
}

/* ---- long ones -------------------------------------------------------------------------------------------------------------- */

#define CLIENTS 16
#define LONG 40000

/* Operations that take effect one after the other, each at some time between its beginning and its end; some ends nobody hears, and of
 * these some take no effect. */
static void make_long(struct linear_op *ops, struct dice *dice)
{
	uint64_t free_at[CLIENTS] = {0};
	struct copy copies[4] = {0};

	for (uint64_t i = 0; i < LONG; i++) {
		uint32_t client = (uint32_t)roll(dice, CLIENTS);
		uint64_t at = 100 * (i + 1), earliest = free_at[client];
		struct linear_op *op = &ops[i];

		*op = random_op(dice);
		op->key = roll(dice, 4);
		op->client = client;
		op->argument += op->kind == LINEAR_GET || op->kind == LINEAR_REMOVE ? 0 : 10 * i;
		op->began_ns = at - roll(dice, at - earliest < 1500 ? at - earliest : 1500);
		op->ended_ns = roll(dice, 2000) == 0 ? LINEAR_UNKNOWN : at + roll(dice, 1500);
		free_at[client] = at;
		if (op->ended_ns != LINEAR_UNKNOWN || roll(dice, 2) == 0)
			carry_out(op, &copies[op->key]);
	}
}

TEST(a_long_history_is_checked)
{
	struct linear_op *ops = calloc(LONG, sizeof(*ops));
	struct dice dice = {test_seed(2)};
	size_t at = LONG / 2;

	make_long(ops, &dice);
	ck_assert_int_eq(linear_check(ops, LONG, MOST, NULL), LINEAR_GOOD);
	while (ops[at].kind != LINEAR_GET || !ops[at].found || ops[at].ended_ns == LINEAR_UNKNOWN)
		at++;
	ops[at].answer = UINT64_MAX / 3; /* what nobody has written */
	ck_assert_int_eq(linear_check(ops, LONG, MOST, NULL), LINEAR_BAD);
	free(ops);
}

TEST_SUITE("linear")

int main(void)
{
	return test_main(suite());
}
