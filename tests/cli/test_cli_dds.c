/* test_cli_dds.c - `whorl dds`: what is written is printed by all, the same lines in the same order. */
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/cli/cli.h"
#include "tests/harness.h"
#include "tests/patience.h"

#define TYPE "@key long w; long n"
#define KEPT "reliability=reliable durability=transient history=all"

/* Each test has a domain of its own. */
static const char *domain_of(int test)
{
	static char text[16];

	snprintf(text, sizeof text, "%d", (int)((getpid() * 8 + test) % 60000));
	return text;
}

struct part { /* a command that runs */
	struct cli_dir dir;
	struct cli cli;
	int input; /* what is written there it reads; -1: nothing */
};

/* Where a command reads, and the test writes. */
static void open_input(struct part *part)
{
	const char *path = cli_path(&part->dir, "input");

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	part->input = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(part->input, 0);
}

static void start(struct part *part, bool reads, const char *const *arguments)
{
	int held = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), input;

	cli_dir_make(&part->dir);
	part->input = -1;
	if (reads)
		open_input(part);
	input = open(reads ? cli_path(&part->dir, "input") : "/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(input, 0);
	ck_assert_int_eq(dup2(input, STDIN_FILENO), STDIN_FILENO);
	close(input);
	cli_start(&part->cli, &part->dir, arguments);
	dup2(held, STDIN_FILENO);
	close(held);
}
#define START(part, reads, ...) start((part), (reads), (const char *const[]){"dds", __VA_ARGS__, NULL})

static void say(struct part *part, int writer, int from, int to)
{
	char line[64];

	for (int n = from; n <= to; n++) {
		int length = snprintf(line, sizeof line, "{\"w\": %d, \"n\": %d}\n", writer, n);

		ck_assert_int_eq(write(part->input, line, (size_t)length), length);
	}
}

/* Its end of the pipe is the last. */
static void end_input(struct part *part)
{
	close(part->input);
	part->input = -1;
}

struct wanted {
	const char *path, *words;
	size_t count;
};

static bool has_lines(void *ctx)
{
	const struct wanted *wanted = ctx;
	char *text = cli_read(wanted->path);
	size_t count = text != NULL ? CLI_LINES_WITH(text, wanted->words) : 0;

	free(text);
	return count >= wanted->count;
}

static void await_lines(struct part *part, const char *words, size_t count)
{
	struct wanted wanted = {part->cli.out_path, words, count};

	cli_await(&part->cli, has_lines, &wanted, words);
}

/* How it ended. Its output is in cli.out. */
static int end(struct part *part, int signal)
{
	if (signal != 0)
		kill(part->cli.pid, signal);
	cli_wait(&part->cli);
	return part->cli.status;
}

static void forget(struct part *part)
{
	if (part->input >= 0)
		close(part->input);
	cli_free(&part->cli);
	cli_dir_remove(&part->dir);
}

/* Check has no room for texts so long. */
static void check_same(const char *text, const char *expected)
{
	size_t at = 0;

	while (text[at] != '\0' && text[at] == expected[at])
		at++;
	while (at > 0 && text[at - 1] != '\n')
		at--;
	ck_assert_msg(strcmp(text, expected) == 0, "at byte %zu there is %.160s where another has %.160s", at,
		      text + at, expected + at);
}

TEST_CASE("order", .timeout_s = 60);

/* Readers from the beginning, one in the midst of it, and one at the end, of two writers of which one is killed as it writes. */
TEST(all_print_the_same_lines_also_late_and_after_a_kill)
{
	const char *domain = domain_of(0);
	struct part early, middle, late, killed, stays;
	struct part *readers[] = {&early, &middle, &late};

	START(&stays, true, "pub", "orders", "--domain", domain, "--type", TYPE, "--qos", KEPT, "--stay");
	START(&early, false, "sub", "orders", "--domain", domain, "--qos", KEPT);
	say(&stays, 2, 1, 100);
	await_lines(&early, "\"w\":2", 100);
	START(&killed, true, "pub", "orders", "--domain", domain, "--qos", KEPT);
	say(&killed, 1, 1, 200);
	await_lines(&early, "\"w\":1", 100);
	say(&stays, 2, 101, 300);
	say(&killed, 1, 201, 1000);
	START(&middle, false, "sub", "orders", "--domain", domain, "--qos", KEPT);
	await_lines(&early, "\"w\":1", 300);
	ck_assert_int_eq(end(&killed, SIGKILL), 128 + SIGKILL);
	await_lines(&early, "no_writers", 1);
	START(&late, false, "sub", "orders", "--domain", domain, "--qos", KEPT);
	say(&stays, 2, 301, 400);
	for (int i = 0; i < 3; i++) {
		await_lines(readers[i], "\"w\":2,\"n\":400}", 1);
		ck_assert_int_eq(end(readers[i], SIGTERM), 130);
		check_same(readers[i]->cli.out, early.cli.out);
	}
	ck_assert_uint_eq(CLI_LINES_WITH(early.cli.out, "\"w\":2"), 400);
	ck_assert_uint_eq(CLI_LINES_WITH(early.cli.out, "no_writers"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(early.cli.out, "no_writers", "value"), 0);
	ck_assert_uint_ge(CLI_LINES_WITH(early.cli.out, "\"w\":1"), 300);
	ck_assert_int_eq(end(&stays, SIGTERM), 0);
	for (int i = 0; i < 3; i++)
		forget(readers[i]);
	forget(&killed);
	forget(&stays);
}

TEST(a_reader_that_waits_gets_what_a_writer_says_that_ends)
{
	const char *domain = domain_of(1);
	struct part reader, writer;
	const char *lines = "{\"text\":\"a\\\"b\",\"x\":[1,0.5]}\n\n{\"text\":\"end\"}";

	START(&reader, false, "sub", "hello", "--domain", domain, "--count", "2", "--qos", "durability=transient");
	START(&writer, true, "pub", "hello", "--domain", domain, "--type", "string<8> text; double x[2]", "--qos", KEPT,
	      "--stay");
	ck_assert_int_gt(write(writer.input, lines, strlen(lines)), 0);
	end_input(&writer);
	ck_assert_int_eq(end(&reader, 0), 0);
	ck_assert_uint_eq(
		CLI_LINES_WITH(reader.cli.out,
			       "\"number\":1,\"state\":\"alive\",\"value\":{\"text\":\"a\\\"b\",\"x\":[1,0.5]}}"),
		1);
	ck_assert_uint_eq(CLI_LINES_WITH(reader.cli.out,
					 "\"number\":2,\"state\":\"alive\",\"value\":{\"text\":\"end\",\"x\":[0,0]}}"),
			  1);
	ck_assert_int_eq(end(&writer, SIGTERM), 0);
	ck_assert_str_eq(writer.cli.out, "");
	forget(&reader);
	forget(&writer);
}

TEST(an_echo_has_the_same_samples_in_the_same_order)
{
	const char *domain = domain_of(2);
	struct part writer, echo, reader, other;
	char *values[2];

	START(&writer, true, "pub", "a", "--domain", domain, "--type", TYPE, "--qos", KEPT, "--stay");
	START(&echo, false, "echo", "a", "--domain", domain, "--to", "b", "--qos", "durability=transient");
	START(&reader, false, "sub", "b", "--domain", domain, "--count", "50", "--qos", "durability=transient");
	say(&writer, 1, 1, 50);
	ck_assert_int_eq(end(&reader, 0), 0);
	START(&other, false, "sub", "a", "--domain", domain, "--count", "50", "--qos", "durability=transient");
	ck_assert_int_eq(end(&other, 0), 0);
	values[0] = strstr(reader.cli.out, "\"number\"");
	values[1] = strstr(other.cli.out, "\"number\"");
	for (int i = 0; i < 50; i++) {
		ck_assert_ptr_nonnull(values[0]);
		ck_assert_ptr_nonnull(values[1]);
		ck_assert_int_eq(strncmp(values[0], values[1], strcspn(values[0], "\n")), 0);
		values[0] = strstr(values[0] + 1, "\"number\"");
		values[1] = strstr(values[1] + 1, "\"number\"");
	}
	ck_assert_int_eq(end(&echo, SIGTERM), 130);
	ck_assert_int_eq(end(&writer, SIGTERM), 0);
	forget(&writer);
	forget(&echo);
	forget(&reader);
	forget(&other);
}

/* ---- what there is -------------------------------------------------------------------------------------------------------------- */

static char *list(const char *domain, const char *json)
{
	struct cli_dir dir;
	struct cli cli;
	char *text;

	cli_dir_make(&dir);
	CLI_RUN(&cli, &dir, "dds", "ls", "--domain", domain, json);
	ck_assert_msg(cli.status == 0, "%s", cli.err);
	text = strdup(cli.out);
	ck_assert_ptr_nonnull(text);
	cli_free(&cli);
	cli_dir_remove(&dir);
	return text;
}

/* The elements of an array of which a member has this text. */
static size_t count_with(const json_t *array, const char *member, const char *text)
{
	size_t count = 0, i;
	const json_t *element;

	json_array_foreach(array, i, element)
	{
		const char *value = json_string_value(json_object_get(element, member));

		count += value != NULL && strcmp(value, text) == 0;
	}
	return count;
}

/* The first of them: what another member says. */
static const json_t *of(const json_t *array, const char *key, const char *text, const char *member)
{
	size_t i;
	const json_t *element, *value;

	json_array_foreach(array, i, element)
	{
		const char *is = json_string_value(json_object_get(element, key));

		if (is == NULL || strcmp(is, text) != 0)
			continue;
		value = json_object_get(element, member);
		ck_assert_msg(value != NULL, "%s of %s is not there", member, text);
		return value;
	}
	ck_abort_msg("no %s is %s", key, text);
}

static json_t *list_json(const char *domain)
{
	char *text = list(domain, "--json");
	json_error_t error;
	json_t *all = json_loads(text, 0, &error);

	ck_assert_msg(all != NULL, "%s in %.200s", error.text, text);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "{"), 1);
	free(text);
	return all;
}

/* Of two writers and a reader of two topics: all of it, with policies, for people and for programs; and what has gone is gone. */
TEST(ls_tells_what_there_is)
{
	const char *domain = domain_of(5);
	struct part poses, orders, reader;
	json_t *all, *participants, *topics, *writers, *readers;
	char *text, policies[6000] = "deadline=5s user_data=";

	for (size_t at = strlen(policies); at + 4 <= sizeof(policies); at += 3)
		memcpy(policies + at, "%01", 4);
	START(&poses, true, "pub", "poses", "--domain", domain, "--type", "@key long id; double x", "--stay", "--qos",
	      policies);
	START(&orders, true, "pub", "orders", "--domain", domain, "--type", TYPE, "--qos", KEPT, "--stay");
	START(&reader, false, "sub", "orders", "--domain", domain, "--qos", KEPT);
	say(&orders, 1, 1, 3);
	await_lines(&reader, "\"w\":1", 3);
	ck_assert_int_gt(write(poses.input, "{\"id\": 1}\n", 10), 0);
	do { /* the other one may be on its way */
		all = list_json(domain);
		topics = json_object_get(all, "topics");
		writers = json_object_get(all, "writers");
		if (count_with(writers, "topic", "poses") == 1)
			break;
		json_decref(all);
	} while (true);
	participants = json_object_get(all, "participants");
	readers = json_object_get(all, "readers");
	ck_assert_uint_ge(json_array_size(participants), 3); /* and the one that asks, once it is known */
	ck_assert_uint_eq(json_array_size(topics), 2);
	ck_assert_uint_eq(json_array_size(writers), 2);
	ck_assert_uint_eq(json_array_size(readers), 1);
	ck_assert_int_eq(json_integer_value(of(topics, "name", "orders", "consistency")), 2);
	ck_assert_int_eq(json_integer_value(of(topics, "name", "poses", "consistency")), 1);
	ck_assert_str_eq(json_string_value(of(topics, "name", "orders", "channel")), "dds.s.stored");
	ck_assert_int_eq(json_integer_value(of(topics, "name", "poses", "bytes")), 16);
	ck_assert_ptr_nonnull(strstr(json_string_value(of(writers, "topic", "poses", "qos")), "deadline=5s"));
	ck_assert_ptr_nonnull(strstr(json_string_value(of(readers, "topic", "orders", "qos")), "durability=transient"));
	ck_assert_int_ge(json_integer_value(of(readers, "topic", "orders", "behind")), 0);
	ck_assert_uint_eq(
		count_with(participants, "handle", json_string_value(of(readers, "topic", "orders", "participant"))),
		1);
	ck_assert_int_ne(json_integer_value(of(writers, "topic", "poses", "node")),
			 json_integer_value(of(writers, "topic", "orders", "node")));
	json_decref(all);
	text = list(domain, NULL);
	ck_assert_uint_ge(CLI_LINES_WITH(text, "participant at node "), 3);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "topic orders, stored, in channel dds.s.stored"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "topic poses, atomic, in channel dds.s.atomic"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "  writer at node "), 2);
	ck_assert_uint_ge(CLI_LINES_WITH(text, "user_data=%01%01", "deadline=5s"), 1); /* long ones are whole */
	ck_assert_uint_eq(CLI_LINES_WITH(text, "  reader at node "), 1);
	free(text);
	ck_assert_int_eq(end(&reader, SIGTERM), 130);
	ck_assert_int_eq(end(&poses, SIGTERM), 0);
	all = list_json(domain);
	ck_assert_uint_eq(json_array_size(json_object_get(all, "readers")), 0);
	ck_assert_uint_eq(count_with(json_object_get(all, "writers"), "topic", "poses"), 0);
	ck_assert_uint_eq(count_with(json_object_get(all, "writers"), "topic", "orders"), 1);
	json_decref(all);
	ck_assert_int_eq(end(&orders, SIGTERM), 0);
	forget(&poses);
	forget(&orders);
	forget(&reader);
}

/* Figures are for a machine that does nothing else; here they are there, and readers agree. */
TEST_LOOP(perf_measures_topics_beside_the_bare_subgroup, 0, 3)
{
	static const char *const how[] = {"waitset", "listener", "in-place"};
	struct cli_dir dir;
	struct cli cli;
	char *text, *first, *second;

	cli_dir_make(&dir);
	CLI_RUN(&cli, &dir, "dds", "perf", "--seconds", "1", "--readers", "2", "--read", how[_i], "--consistency",
		_i == 1   ? "stored"
		: _i == 2 ? "logged"
			  : "atomic",
		"--json", cli_path(&dir, "results"));
	ck_assert_msg(cli.status == 0, "%s", cli.err);
	ck_assert_str_eq(cli.out, "");
	text = cli_read(cli_path(&dir, "results"));
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"lost\": 0"), 2);
	ck_assert_uint_eq(CLI_LINES_WITH(text, how[_i]), 1);
	for (int i = 0; i < 4; i++) {
		const char *key = (const char *const[]){
			"\"samples_per_s\": ", "\"messages_per_s\": ", "\"fraction_of_raw\": ", "\"p99\": "}[i];

		first = strstr(text, key);
		ck_assert_msg(first != NULL, "%s is not in %s", key, text);
		ck_assert_msg(strtod(first + strlen(key), NULL) > 0, "%s in %s", key, text);
	}
	first = strstr(text, "\"order_digest\": ");
	ck_assert_ptr_nonnull(first);
	second = strstr(first + 1, "\"order_digest\": ");
	ck_assert_ptr_nonnull(second);
	ck_assert_int_eq(strncmp(first, second, strlen("\"order_digest\": ") + 18), 0);
	free(text);
	cli_free(&cli);
	cli_dir_remove(&dir);
}

/* ---- what is wrong -------------------------------------------------------------------------------------------------------------- */

#define WRONG 16

TEST_CASE("wrong", .timeout_s = 60);

TEST_LOOP(what_is_wrong_is_said_with_its_place, 0, WRONG)
{
	static const struct {
		const char *arguments[8], *input, *words;
	} cases[WRONG] = {
		{{"dds"}, "", "which COMMAND?"},
		{{"dds", "put"}, "", "there is no command \"put\", expected pub, sub, echo, ls, perf or bridge"},
		{{"dds", "pub"}, "", "pub: which TOPIC?"},
		{{"dds", "ls", "a"}, "", "\"a\" is one word too many"},
		{{"dds", "sub", "a", "--count", "many"}, "", "--count is \"many\", expected a number from 0"},
		{{"dds", "ls", "--domain", "65536"}, "", "--domain is \"65536\", expected a number from 0 to 65535"},
		{{"dds", "sub", "a", "--qos", "reliability=often"}, "", "expected one of best_effort, reliable"},
		{{"dds", "pub", "a", "--type", "lng w"}, "", "there is no type \"lng\""},
		{{"dds", "perf", "--bytes", "15"}, "", "--bytes is \"15\", expected a number from 16 to 1000000"},
		{{"dds", "perf", "--transport", "udp"}, "", "--transport is \"udp\", expected shm or tcp"},
		{{"dds", "perf", "--consistency", "some"}, "", "expected unordered, atomic, stored or logged"},
		{{"dds", "echo", "a", "--to", "a"}, "", "--to is the topic itself"},
		{{"dds", "pub", "a b", "--type", "long w"}, "", "whorl_dds_create_topic"},
		{{"dds", "pub", "a", "--type", "long w"}, "{\"w\": 1}\n{\"x\": 1}\n", "standard input:2: "},
		{{"dds", "pub", "a", "--type", "long w"}, "{\"w\": 1", "standard input:1: "},
		{{"dds", "pub", "a", "--type", "short w"}, "{\"w\": 70000}\n", "standard input:1: "},
	};
	const char *arguments[12] = {NULL};
	struct part part;
	size_t count = 0;

	for (; cases[_i].arguments[count] != NULL; count++)
		arguments[count] = cases[_i].arguments[count];
	if (count > 1) {
		arguments[count++] = "--domain";
		arguments[count++] = domain_of(3);
	}
	start(&part, true, arguments);
	if (cases[_i].input[0] != '\0')
		ck_assert_int_gt(write(part.input, cases[_i].input, strlen(cases[_i].input)), 0);
	end_input(&part);
	ck_assert_int_eq(end(&part, 0), 2);
	ck_assert_msg(strstr(part.cli.err, cases[_i].words) != NULL, "\"%s\" is not in: %s", cases[_i].words,
		      part.cli.err);
	ck_assert_str_eq(part.cli.out, "");
	forget(&part);
}

/* Another type under the name: both are told, and the first goes on. */
TEST(a_type_that_differs_is_refused)
{
	const char *domain = domain_of(4);
	struct part first, second, reader;

	START(&first, true, "pub", "t", "--domain", domain, "--type", "long a", "--qos", KEPT, "--stay");
	START(&reader, false, "sub", "t", "--domain", domain, "--count", "2", "--qos", "durability=transient");
	ck_assert_int_gt(write(first.input, "{\"a\": 1}\n", 9), 0);
	await_lines(&reader, "\"a\":1", 1);
	START(&second, false, "pub", "t", "--domain", domain, "--type", "long b");
	ck_assert_int_eq(end(&second, 0), 2);
	ck_assert_ptr_nonnull(strstr(second.cli.err, "registered it first"));
	ck_assert_int_gt(write(first.input, "{\"a\": 2}\n", 9), 0);
	ck_assert_int_eq(end(&reader, 0), 0);
	ck_assert_int_eq(end(&first, SIGTERM), 0);
	forget(&first);
	forget(&second);
	forget(&reader);
}

/* A test that fails as its command writes. */
static void fail_beside(const char *domain)
{
	struct part stays;
	int left = 1;

	START(&stays, true, "pub", "t", "--domain", domain, "--type", TYPE, "--stay");
	say(&stays, 1, 1, 1);
	while (ioctl(stays.input, FIONREAD, &left) == 0 && left > 0) /* it has not begun */
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	cli_dir_remove(&stays.dir);
	_exit(1);
}

/* Its commands end as it does: the last of them lets go of a pipe. */
TEST(what_a_test_has_started_ends_with_it)
{
	struct pollfd ended = {.events = POLLIN};
	int ends[2];
	pid_t test;
	char byte;

	ck_assert_int_eq(pipe(ends), 0);
	test = fork();
	ck_assert_int_ge(test, 0);
	if (test == 0)
		fail_beside(domain_of(7));
	close(ends[1]);
	ck_assert_int_eq(waitpid(test, NULL, 0), test);
	ended.fd = ends[0];
	ck_assert_int_eq(poll(&ended, 1, (int)test_patience(10000)), 1);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

TEST_SUITE("cli dds")

int main(void)
{
	return test_main(suite());
}
