/* test_judge.c - what is lost, doubled or torn is found in what clients have seen, and answers of a server are understood. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/kv/judge.h"

#define COUNT 4 /* keys, by their classes */
#define LEDGER 5
#define MS UINT64_C(1000000)

/* ---- ledgers ------------------------------------------------------------------------------------------------------------------ */

static struct linear_op append(uint64_t began_ns, uint64_t ended_ns, uint64_t token, uint64_t answer)
{
	return (struct linear_op){.key = LEDGER,
				  .kind = LINEAR_APPEND,
				  .argument = token,
				  .answer = answer,
				  .began_ns = began_ns,
				  .ended_ns = ended_ns};
}

static struct linear_op add(uint64_t began_ns, uint64_t ended_ns, uint64_t answer)
{
	return (struct linear_op){.key = COUNT,
				  .kind = LINEAR_ADD,
				  .argument = 1,
				  .answer = answer,
				  .began_ns = began_ns,
				  .ended_ns = ended_ns};
}

/* Is it good, with that text as the end of the key? */
static bool judge_ops(const struct linear_op *ops, size_t count, const char *end)
{
	struct judge judge = {.keys = COMMAND_KEYS, .expects_bad = true};
	bool good;

	judge.ends = calloc(COMMAND_KEYS, sizeof(*judge.ends));
	judge.ends[ops[0].key] = strdup(end);
	for (size_t i = 0; i < count; i++)
		history_add(&judge.all, &ops[i]);
	good = judge_all(&judge, NULL);
	judge_free(&judge);
	return good;
}

TEST(a_ledger_has_each_once)
{
	struct linear_op ops[] = {append(1, 2, 0x10, 1), append(3, 4, 0x20, 2), append(5, LINEAR_UNKNOWN, 0x30, 0)};

	ck_assert(judge_ops(ops, 3, "00000000100000000020"));
	ck_assert(judge_ops(ops, 3, "000000001000000000200000000030"));
	ck_assert(!judge_ops(ops, 3, "0000000010"));                               /* lost */
	ck_assert(!judge_ops(ops, 3, "000000001000000000200000000020"));           /* twice */
	ck_assert(!judge_ops(ops, 3, "0000000010000000002000000000300000000030")); /* unknown, and twice */
	ck_assert(!judge_ops(ops, 3, "000000001000000000200000000040"));           /* nobody's */
	ops[2].goes_on = true;
	ops[2].then = (struct linear_step){.kind = LINEAR_APPEND, .argument = 0x40};
	ck_assert(judge_ops(ops, 3, "00000000100000000020"));
	ck_assert(judge_ops(ops, 3, "0000000010000000002000000000300000000040"));
	ck_assert(!judge_ops(ops, 3, "000000001000000000200000000030")); /* half of it */
}

TEST(a_count_has_each_once)
{
	struct linear_op ops[] = {add(1, 2, 1), add(3, 4, 2), add(5, LINEAR_UNKNOWN, 0)};

	ck_assert(judge_ops(ops, 3, "2"));
	ck_assert(judge_ops(ops, 3, "3"));
	ck_assert(!judge_ops(ops, 3, "1"));
	ck_assert(!judge_ops(ops, 3, "4"));
}

/* Many that are unknown, and never were: the end has shown it, and the search is no harder. */
TEST(what_never_was_is_no_burden)
{
	struct linear_op ops[80];

	for (uint64_t i = 0; i < 80; i++)
		ops[i] = append(i + 1, i < 79 ? LINEAR_UNKNOWN : 1000, 0x10 + i, i < 79 ? 0 : 1);
	ck_assert(judge_ops(ops, 80, "000000005f"));
}

TEST(a_stale_read_is_told_as_one)
{
	struct linear_op ops[] = {
		add(1, 2, 1),
		add(3, 4, 2),
		{.key = COUNT, .kind = LINEAR_GET, .found = true, .answer = 1, .began_ns = 5, .ended_ns = 6}};
	struct judge judge = {.keys = COMMAND_KEYS, .expects_bad = true};
	bool stale = false;

	judge.ends = calloc(COMMAND_KEYS, sizeof(*judge.ends));
	for (size_t i = 0; i < 3; i++)
		history_add(&judge.all, &ops[i]);
	ck_assert(!judge_all(&judge, &stale));
	ck_assert(stale);
	judge_free(&judge);
}

/* ---- answers ------------------------------------------------------------------------------------------------------------------ */

static const struct answer {
	enum command_class class;
	enum linear_kind kind, then; /* then: LINEAR_KINDS: none */
	const char *bytes;
	enum command_end end;
	bool found;
	uint64_t answer;
} answers[] = {
	{COMMAND_NUMBER, LINEAR_GET, LINEAR_KINDS, "$-1\r\n", COMMAND_DONE, false, 0},
	{COMMAND_NUMBER, LINEAR_GET, LINEAR_KINDS, "$2\r\n17\r\n", COMMAND_DONE, true, 17},
	{COMMAND_TEXT, LINEAR_GET, LINEAR_KINDS, "$10\r\n0000000011\r\n", COMMAND_DONE, true, 17},
	{COMMAND_NUMBER, LINEAR_ADD, LINEAR_KINDS, ":17\r\n", COMMAND_DONE, false, 17},
	{COMMAND_TEXT, LINEAR_APPEND, LINEAR_KINDS, ":30\r\n", COMMAND_DONE, false, 3},
	{COMMAND_TEXT, LINEAR_CLAIM, LINEAR_KINDS, "+OK\r\n", COMMAND_DONE, false, 0},
	{COMMAND_TEXT, LINEAR_CLAIM, LINEAR_KINDS, "$-1\r\n", COMMAND_DONE, true, 0},
	{COMMAND_TEXT, LINEAR_REMOVE, LINEAR_KINDS, ":1\r\n", COMMAND_DONE, true, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, "+OK\r\n", COMMAND_DONE, false, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, "+KO\r\n", COMMAND_ODD, false, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, ":1\r\n", COMMAND_ODD, false, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, "-LOADING wait\r\n", COMMAND_LOADING, false, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, "-CLUSTERDOWN no quorum\r\n", COMMAND_CLUSTERDOWN, false, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, "-OOM full\r\n", COMMAND_OOM, false, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, "-ERR what\r\n", COMMAND_ODD, false, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, "", COMMAND_UNKNOWN, false, 0},
	{COMMAND_TEXT, LINEAR_SET, LINEAR_KINDS, "+O", COMMAND_UNKNOWN, false, 0},
	{COMMAND_TEXT, LINEAR_GET, LINEAR_KINDS, "$10\r\n00000", COMMAND_UNKNOWN, false, 0},
	{COMMAND_NUMBER, LINEAR_ADD, LINEAR_GET, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:17\r\n$2\r\n17\r\n", COMMAND_DONE,
	 false, 17},
	{COMMAND_NUMBER, LINEAR_ADD, LINEAR_GET, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:17\r\n", COMMAND_UNKNOWN, false,
	 17},
	{COMMAND_NUMBER, LINEAR_ADD, LINEAR_GET, "+OK\r\n+QUEUED\r\n+QUEUED\r\n-CLUSTERDOWN no quorum\r\n",
	 COMMAND_CLUSTERDOWN, false, 0},
	{COMMAND_NUMBER, LINEAR_ADD, LINEAR_GET, "+OK\r\n-LOADING wait\r\n+QUEUED\r\n-EXECABORT\r\n", COMMAND_LOADING,
	 false, 0},
	{COMMAND_NUMBER, LINEAR_ADD, LINEAR_GET, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*1\r\n:17\r\n", COMMAND_ODD, false, 0},
	{COMMAND_NUMBER, LINEAR_ADD, LINEAR_GET, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:17\r\n-ERR what\r\n", COMMAND_ODD,
	 false, 17},
};

TEST_LOOP(answers_are_understood, 0, (int)(sizeof(answers) / sizeof(answers[0])))
{
	const struct answer *is = &answers[_i];
	uint64_t key = is->class == COMMAND_TEXT ? 2 : 0;
	struct linear_op op = {
		.key = key, .kind = is->kind, .goes_on = is->then != LINEAR_KINDS, .then = {.kind = is->then}};
	struct resp resp = {.until_ns = resp_now_ns() + 10000 * MS};
	char text[160];
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	resp.fd = ends[0];
	ck_assert_int_eq(write(ends[1], is->bytes, strlen(is->bytes)), (ssize_t)strlen(is->bytes));
	close(ends[1]);
	ck_assert_int_eq(command_take(&resp, &op, text), is->end);
	ck_assert_int_eq(op.found, is->found);
	ck_assert_uint_eq(op.answer, is->answer);
	resp_free(&resp);
}

TEST_SUITE("judge")

int main(void)
{
	return test_main(suite());
}
