/* test_cli_launch.c - `whorl launch`: a program on all nodes, and what is left of it when any part of it ends.
 *
 * This program is the command as well, so that a mutant of it is what it starts; the last tests are of the command that was built.
 */
#include <argp.h>
#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/cli/cli.h"
#include "tests/harness.h"
#include "tools/commands.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct cli_dir dir;
static struct cli cli;
static char self[512], ini[512];

static const char *const launchers[] = {
	"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
	"PMIX_RANK"};

static void write_ini(const char *transport, const char *more)
{
	char text[512];

	snprintf(text, sizeof text,
		 "[group]\nname = launch-%d\nnodes = 3\ntransport = %s\n%s[subgroup s]\n[mine]\nkey = 1\n",
		 (int)getpid(), transport, more);
	snprintf(ini, sizeof ini, "%s", cli_write(&dir, "group.ini", text));
}

static void setup(void)
{
	for (size_t i = 0; i < COUNT(launchers); i++)
		unsetenv(launchers[i]);
	ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
	cli_command = self;
	cli_dir_make(&dir);
	write_ini("shm", "");
}

static void teardown(void)
{
	cli_free(&cli);
	cli_dir_remove(&dir);
}

/* A program: a script of that name. */
static const char *script(const char *name, const char *text)
{
	char whole[2048];
	const char *path;

	snprintf(whole, sizeof whole, "#!/bin/sh\n%s\n", text);
	path = cli_write(&dir, name, whole);
	ck_assert_int_eq(chmod(path, 0755), 0);
	return path;
}

/* Processes, zombies not counted, that have the test's directory in their command line: launchers, keepers, programs, what stands for ssh. */
static size_t left(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	ck_assert_ptr_nonnull(proc);
	while ((entry = readdir(proc)) != NULL) {
		char path[300], line[4096];
		size_t bytes = 0;
		FILE *file;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
		file = fopen(path, "r");
		if (file != NULL) {
			bytes = fread(line, 1, sizeof line, file); /* of a zombie there is none */
			fclose(file);
		}
		count += memmem(line, bytes, dir.path, strlen(dir.path)) != NULL;
	}
	closedir(proc);
	return count;
}

static bool is_empty(void *ctx)
{
	(void)ctx;
	return left() == 0;
}

/* Lines of the output so far that are this one. */
static size_t lines_now(const char *path, const char *line)
{
	char *text = cli_read(path);
	size_t count = 0, bytes = strlen(line);

	for (const char *at = text; at != NULL && *at != '\0'; at += strcspn(at, "\n") + 1) {
		count += strncmp(at, line, bytes) == 0 && (at[bytes] == '\n' || at[bytes] == '\0');
		if (at[strcspn(at, "\n")] == '\0')
			break;
	}
	free(text);
	return count;
}

static size_t lines(const char *text, const char *line)
{
	return lines_now(text == cli.out ? cli.out_path : cli.err_path, line);
}

static bool all_are_up(void *ctx)
{
	(void)ctx;
	return lines_now(cli.out_path, "0: up") + lines_now(cli.out_path, "1: up") + lines_now(cli.out_path, "2: up") ==
	       3;
}

static void start(const char *const *arguments)
{
	cli_start(&cli, &dir, arguments);
	cli_await(&cli, all_are_up, NULL, "all programs");
}
#define START(...) start((const char *const[]){"launch", __VA_ARGS__, NULL})
#define LAUNCH(...) CLI_RUN(&cli, &dir, "launch", __VA_ARGS__)

static long ms_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Times 20 ms, longer than a test waits at all: what a failing test leaves behind ends by itself. Signals go to all processes of a program,
 * which needs none of its children. */
#define LIVE "20000"

/* A program that runs until it is told: it notes that it was, and ends well. What it would say is not heard any more. */
#define WAITS WAITS_THEN(":")
#define WAITS_THEN(command)                                                                                            \
	"trap 'echo TERM >>\"$0.$WHORL_ID\"; exit 0' TERM\n"                                                           \
	"trap 'echo INT >>\"$0.$WHORL_ID\"; exit 0' INT\n"                                                             \
	"trap 'echo USR1' USR1\n"                                                                                      \
	"echo up\n"                                                                                                    \
	"exec 2>/dev/null\n" command "\n"                                                                              \
	"n=0; while [ $((n+=1)) -lt " LIVE " ]; do sleep 0.02; done"
/* And one that hears nothing, and has a child with a session of its own. */
#define DEAF                                                                                                           \
	"trap '' TERM INT\n"                                                                                           \
	"setsid sh -c 'n=0; while [ $((n+=1)) -lt " LIVE " ]; do sleep 0.02; done' \"$0\" &\n"                         \
	"echo up\n"                                                                                                    \
	"n=0; while [ $((n+=1)) -lt " LIVE " ]; do sleep 0.02; done"
/* Names a file in the environment: a keeper does nothing as long as it is there. */
#define KEEPERS_HELD "TEST_KEEPERS_HELD"
/* In place of ssh: HOST COMMAND, as its server runs it, and what a login may say before. */
#define NEAR "shift\nprintf 'welcome\\nto '\nexec sh -c \"$*\""

static size_t noted(const char *word)
{
	size_t count = 0;

	for (int id = 0; id < 3; id++) {
		char name[32];

		snprintf(name, sizeof name, "program.%d", id);
		count += lines_now(cli_path(&dir, name), word);
	}
	return count;
}

/* ---- ids and lines ------------------------------------------------------------------------------------------------- */

START_TEST(each_program_has_an_id)
{
	char line[600];

	LAUNCH(ini, "--", script("program", "echo \"node $WHORL_ID of $WHORL_CONFIG\"; echo \"  told $*\" >&2; cat"),
	       "a b", "c");
	CLI_ENDED(&cli, 0);
	for (int id = 0; id < 3; id++) {
		snprintf(line, sizeof line, "%d: node %d of %s", id, id, ini);
		ck_assert_uint_eq(lines(cli.out, line), 1);
		snprintf(line, sizeof line, "%d:   told a b c", id);
		ck_assert_uint_eq(lines(cli.err, line), 1);
	}
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "") + CLI_LINES_WITH(cli.err, ""), 6);
	ck_assert_uint_eq(left(), 0);
	cli_free(&cli);
	LAUNCH(ini, "--nodes", "2,0", script("program", "echo $WHORL_ID")); /* options and -- are for the launcher */
	ck_assert_uint_eq(lines(cli.out, "2: 2") + lines(cli.out, "0: 0"), 2);
	CLI_WROTE(&cli, out, 2, "");
}
END_TEST

/* From all at once, to two files or one. */
START_TEST(lines_are_not_mixed)
{
	const char *program =
		script("program", "line() { printf \"%0300d\" 0 | tr 0 \"$1\"; echo; }\n"
				  "o=$(line \"$WHORL_ID\") e=$(line x)\n"
				  "for i in $(seq 500); do echo \"$o\"; echo \"$e\" >&2; done\nprintf end");
	char command[1400], expected[400];

	snprintf(command, sizeof command, "exec \"%s\" launch \"%s\" -- \"%s\" >\"%s/both\" 2>&1", self, ini, program,
		 dir.path);
	LAUNCH(ini, "--nodes", "0", script("outer", command));
	CLI_ENDED(&cli, 0);
	for (int id = 0; id < 3; id++) {
		int head = snprintf(expected, sizeof expected, "%d: ", id);

		memset(expected + head, '0' + id, 300);
		expected[head + 300] = '\0';
		ck_assert_uint_eq(lines_now(cli_path(&dir, "both"), expected), 500);
		memset(expected + head, 'x', 300);
		ck_assert_uint_eq(lines_now(cli_path(&dir, "both"), expected), 500);
		snprintf(expected, sizeof expected, "%d: end", id);
		ck_assert_uint_eq(lines_now(cli_path(&dir, "both"), expected), 1);
	}
}
END_TEST

/* Any bytes, and a line of any length: in pieces, which put together are the line. */
START_TEST(long_lines_and_any_bytes)
{
	struct stat status;
	FILE *file;
	char line[70000];
	size_t pieces = 0;

	LAUNCH(ini, "--nodes", "1",
	       script("program", "head -c 200000 /dev/zero | tr '\\0' y\necho\nprintf 'a\\0b\\n'\n"
				 "head -c 65536 /dev/zero | tr '\\0' z\necho\necho\nprintf last"));
	CLI_ENDED(&cli, 0);
	file = fopen(cli.out_path, "r");
	ck_assert_ptr_nonnull(file);
	for (size_t rest = 200000; rest > 0; pieces++) {
		size_t bytes = rest < 65536 ? rest : 65536;

		ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
		ck_assert_uint_eq(strspn(line, pieces == 0 ? "1: " : "1+ "), 3);
		ck_assert_uint_eq(strspn(line + 3, "y"), bytes);
		ck_assert_str_eq(line + 3 + bytes, "\n");
		rest -= bytes;
	}
	ck_assert_uint_eq(fread(line, 1, 7, file), 7);
	ck_assert_int_eq(memcmp(line, "1: a\0b\n", 7), 0);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
	ck_assert_uint_eq(strspn(line + 3, "z"), 65536);
	ck_assert_ptr_nonnull(fgets(line, sizeof line, file)); /* not a piece of nothing */
	ck_assert_str_eq(line, "1: \n");
	ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
	ck_assert_str_eq(line, "1: last\n");
	ck_assert_int_eq(fstat(fileno(file), &status), 0);
	ck_assert_int_eq(ftell(file), status.st_size);
	fclose(file);
}
END_TEST

/* Its reader goes: all are ended, and what it had to say to nobody else is no reason to stay. */
START_TEST(nobody_reads)
{
	const char *program = script("program", "while :; do echo more; done");
	char command[1400];

	snprintf(command, sizeof command,
		 "{ \"%s\" launch \"%s\" --grace 0.2 -- \"%s\"; echo $? >\"%s/status\"; } | head -1", self, ini,
		 program, dir.path);
	LAUNCH(ini, "--nodes", "0", script("outer", command));
	ck_assert_uint_eq(lines_now(cli_path(&dir, "status"), "1"), 1);
	CLI_WROTE(&cli, err, 1, "output cannot be written");
	ck_assert_uint_eq(left(), 0);
}
END_TEST

/* ---- fates --------------------------------------------------------------------------------------------------------- */

START_TEST(one_fails_and_all_end)
{
	static const struct {
		const char *does, *said;
		int status;
	} ends[] = {{"exit 7", "status 7; the others are ended", 7},
		    {"kill -9 $$", "status 137: signal 9, Killed; the others are ended", 137},
		    {"exec /nowhere/at/all", "status 127; the others are ended", 127},
		    {"exit 1", "status 1; the others are ended", 1}};
	char text[512];

	for (size_t i = 0; i < COUNT(ends); i++) {
		snprintf(
			text, sizeof text,
			"if [ $WHORL_ID = 1 ]; then until [ -e $0.0.up ] && [ -e $0.2.up ]; do sleep 0.02; done\nrm $0.*.up; %s; fi\n" WAITS_THEN(
				": >$0.$WHORL_ID.up"),
			ends[i].does);
		LAUNCH(ini, "--grace", "300", "--", script("program", text));
		CLI_ENDED(&cli, ends[i].status);
		CLI_WROTE(&cli, err, 1, "whorl: node 1 has ended with", ends[i].said);
		CLI_WROTE(&cli, err, 1, "whorl: ");
		ck_assert_uint_eq(noted("TERM"), 2 * (i + 1));
		ck_assert_uint_eq(left(), 0);
		cli_free(&cli);
	}
}
END_TEST

/* Their status is that of the first that has failed, and one that ends well ends none. Node 2 fails when it has been said that 1 has. */
START_TEST(the_others_go_on)
{
	const char *program = script(
		"program", "case $WHORL_ID in 0) exit 0;; 1) exit 9;; esac\n"
			   "until [ $# = 1 ] || grep -q 'node 1 has ended' \"${0%/*}/stderr\"; do sleep 0.02; done\n"
			   "echo goes on; exit 5");

	LAUNCH(ini, "--fate", "view", "--", program);
	CLI_ENDED(&cli, 9);
	ck_assert_uint_eq(lines(cli.out, "2: goes on"), 1);
	CLI_WROTE(&cli, err, 1, "whorl: node 1 has ended with status 9");
	CLI_WROTE(&cli, err, 1, "whorl: node 2 has ended with status 5");
	CLI_WROTE(&cli, err, 0, "are ended");
	cli_free(&cli);
	LAUNCH(ini, "--nodes", "0,2", "--", program, "alone");
	CLI_ENDED(&cli, 5);
	ck_assert_uint_eq(lines(cli.out, "2: goes on"), 1);
}
END_TEST

START_TEST(what_cannot_be_started)
{
	LAUNCH(ini, "--", cli_path(&dir, "missing"));
	CLI_ENDED(&cli, 127);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.err, "missing: it cannot be started: No such file"), 1);
	cli_free(&cli);
	LAUNCH(ini, "--", cli_write(&dir, "plain", "no program\n"));
	CLI_ENDED(&cli, 126);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.err, "plain: it cannot be started: Permission denied"), 1);
	ck_assert_uint_eq(left(), 0);
}
END_TEST

/* Time runs out; what hears nothing is killed, and what it has started too. A slow machine may need longer than the limit before all
 * three hear nothing: then once more, with twice the limit. */
START_TEST(an_end_has_a_limit)
{
	const char *program = script("program", DEAF);
	char limit[32], said[64];
	bool all_were_up = false;
	long began;

	for (int ms = 500; !all_were_up; ms *= 2) {
		ck_assert_msg(ms < 50000, "all three are not up in %d ms", ms / 2);
		snprintf(limit, sizeof limit, "%.1f", ms / 1e3);
		snprintf(said, sizeof said, "the job has not ended in %d ms", ms);
		cli_free(&cli);
		began = ms_now();
		LAUNCH(ini, "--limit", limit, "--grace", "0.3", "--", program);
		all_were_up = all_are_up(NULL);
		CLI_ENDED(&cli, 124);
		ck_assert_int_ge(ms_now() - began, all_were_up ? ms + 300 : ms);
		CLI_WROTE(&cli, err, 1, said);
	}
	CLI_WROTE(&cli, err, 1, "3 of 3 programs have not ended 300 ms after");
	ck_assert_uint_eq(left(), 0);
}
END_TEST

/* A child with a session of its own would hold the launcher's pipes, and outlive the job. */
START_TEST(nothing_is_left_behind)
{
	LAUNCH(ini, "--",
	       script("program", "setsid sh -c 'n=0; while [ $((n+=1)) -lt " LIVE
				 " ]; do sleep 0.02; done' \"$0\" &\nsleep 0.2\necho done"));
	CLI_ENDED(&cli, 0);
	ck_assert_uint_eq(lines(cli.out, "0: done") + lines(cli.out, "1: done") + lines(cli.out, "2: done"), 3);
	ck_assert_uint_eq(left(), 0);
}
END_TEST

/* ---- signals ------------------------------------------------------------------------------------------------------- */

static bool all_have_heard(void *ctx)
{
	(void)ctx;
	return lines_now(cli.out_path, "0: USR1") + lines_now(cli.out_path, "1: USR1") +
		       lines_now(cli.out_path, "2: USR1") ==
	       3;
}

START_TEST(signals_go_on)
{
	START(ini, "--grace", "300", "--", script("program", WAITS));
	kill(cli.pid, SIGUSR1);
	cli_await(&cli, all_have_heard, NULL, "SIGUSR1 at all programs");
	kill(cli.pid, _i == 0 ? SIGTERM : SIGINT);
	cli_wait(&cli);
	CLI_ENDED(&cli, 0); /* as they have */
	ck_assert_uint_eq(noted("TERM"), _i == 0 ? 3 : 0);
	ck_assert_uint_eq(noted("INT"), _i == 0 ? 0 : 3);
	ck_assert_uint_eq(left(), 0);
}
END_TEST

START_TEST(the_second_signal_kills)
{
	START(ini, "--grace", "300", "--", script("program", DEAF));
	kill(cli.pid, SIGINT);
	usleep(100000); /* two at once are one */
	kill(cli.pid, SIGTERM);
	cli_wait(&cli);
	CLI_ENDED(&cli, 137);
	ck_assert_uint_eq(left(), 0);
}
END_TEST

/* The launcher is killed: no process is told but by the end of a pipe. Here, and on another host. */
START_TEST(the_launcher_is_killed)
{
	const char *hosts = _i % 2 == 0 ? "localhost" : "far";
	bool deaf = _i / 2 == 1;

	START(ini, "--hosts", hosts, "--ssh", script("ssh", NEAR), "--whorl", self, "--grace", deaf ? "0.2" : "300",
	      "--", script("program", deaf ? DEAF : WAITS));
	ck_assert_uint_ge(left(), 7);
	kill(cli.pid, SIGKILL);
	cli_wait(&cli);
	cli_await(NULL, is_empty, NULL, "the end of all processes");
	ck_assert_uint_eq(noted("TERM"), deaf ? 0 : 3);
}
END_TEST

/* A keeper is killed, and its program with it; of the others it is a node that has failed. */
START_TEST(a_keeper_is_killed)
{
	pid_t keepers[4];

	START(ini, "--", script("program", WAITS));
	ck_assert_uint_eq(cli_children(&cli, keepers, 4), 3);
	kill(keepers[1], SIGKILL);
	cli_wait(&cli);
	CLI_ENDED(&cli, 137);
	ck_assert_uint_eq(noted("TERM"), 2);
	cli_await(NULL, is_empty, NULL, "the end of all processes");
}
END_TEST

static bool keepers_are_there(void *ctx)
{
	pid_t keepers[4];

	(void)ctx;
	return cli_children(&cli, keepers, 4) == 3;
}

static bool all_have_noted_up(void *ctx)
{
	(void)ctx;
	return noted("up") == 3;
}

/* Its keepers have started their programs, and it has not read so when it is told to end: it cannot know it, as it stood still meanwhile. What
 * they have started is ended in order all the same, and what set itself apart too. */
START_TEST(an_end_before_it_is_known_that_they_run)
{
	const char *held = cli_write(&dir, "held", "");
	int how;

	setenv(KEEPERS_HELD, held, 1);
	cli_start(&cli, &dir,
		  (const char *const[]){
			  "launch", ini, "--grace", "300", "--start-timeout", "300", "--",
			  script("program", WAITS_THEN("setsid sh -c 'n=0; while [ $((n+=1)) -lt " LIVE
						       " ]; do sleep 0.02; done' \"$0\" &\necho up >>\"$0.$WHORL_ID\"")),
			  NULL});
	cli_await(&cli, keepers_are_there, NULL, "three keepers");
	kill(cli.pid, SIGSTOP);
	ck_assert_int_eq(waitpid(cli.pid, &how, WUNTRACED), cli.pid);
	ck_assert(WIFSTOPPED(how));
	ck_assert_int_eq(unlink(held), 0);
	cli_await(&cli, all_have_noted_up, NULL, "all programs");
	kill(cli.pid, SIGINT);
	kill(cli.pid, SIGCONT);
	cli_wait(&cli);
	CLI_ENDED(&cli, WH_EXIT_INTERRUPTED);
	ck_assert_uint_eq(noted("INT"), 3);
	ck_assert_uint_eq(left(), 0);
	unsetenv(KEEPERS_HELD);
}
END_TEST

/* ---- hosts --------------------------------------------------------------------------------------------------------- */

START_TEST(another_host)
{
	const char *program =
		script("a program's",
		       "printf '%s|' \"$WHORL_ID\" \"$WHORL_CONFIG\" \"$PWD\" \"$@\"; echo; echo e >&2; exit $4");
	char line[1400], here[512];

	ck_assert_ptr_nonnull(getcwd(here, sizeof here));
	LAUNCH(ini, "--hosts", "localhost,far", "--ssh", script("ssh", "echo \"$1\" >>\"$0.hosts\"\n" NEAR), "--whorl",
	       self, "--", program, "a  b", "it's \"$HOME\"", "", "0", "new\nline");
	CLI_ENDED(&cli, 0);
	ck_assert_uint_eq(lines(cli.out, "1: welcome"), 1);
	ck_assert_uint_eq(lines(cli.out, "1: to "), 1); /* what stood before the keeper's line */
	for (int id = 0; id < 3; id++) {
		snprintf(line, sizeof line, "%d: %d|%s|%s|a  b|it's \"$HOME\"||0|new", id, id, ini, here);
		ck_assert_uint_eq(lines(cli.out, line), 1);
	}
	CLI_WROTE(&cli, err, 3, ": e");
	ck_assert_uint_eq(lines_now(cli_path(&dir, "ssh.hosts"), "far"), 1);
	cli_free(&cli);
	LAUNCH(ini, "--hosts", "far", "--nodes", "2", "--ssh", cli_path(&dir, "ssh"), "--whorl", self, "--", program,
	       "", "", "", "33");
	CLI_ENDED(&cli, 33);
	ck_assert_uint_eq(left(), 0);
}
END_TEST

static bool is_there_behind_full_output(int seconds)
{
	const char *program =
		script("program", "cd \"${0%/*}\"\n[ $WHORL_ID = 0 ] || { sleep \"$1\"; echo >go; exit 0; }\n"
				  "for n in $(seq 600); do printf '%01000d\\n' 0; echo >>said; done");
	const char *ssh = script(
		"ssh", "said() { wc -l <\"${0%/*}/said\"; }\n"
		       "until n=$(said); sleep 0.2; [ \"$n\" -gt 100 ] && [ \"$n\" = \"$(said)\" ]; do :; done\n" NEAR);
	char command[2000], line[1010];
	bool is;

	for (size_t i = 0; i < 3; i++)
		unlink(cli_path(&dir, (const char *const[]){"go", "status", "both"}[i]));
	cli_write(&dir, "said", "");
	snprintf(command, sizeof command,
		 "cd \"%s\"\n{ \"%s\" launch \"%s\" --nodes 0,1 --hosts localhost,far --ssh \"%s\" --whorl \"%s\" "
		 "--start-timeout %d --grace 0.2 -- \"%s\" %d 2>err; echo $? >status; } |\n"
		 "{ until [ -e go ] || [ -s err ]; do sleep 0.02; done; cat >both; }",
		 dir.path, self, ini, ssh, self, seconds, program, 2 * seconds);
	cli_free(&cli);
	LAUNCH(ini, "--nodes", "2", "--", script("outer", command));
	is = lines_now(cli_path(&dir, "status"), "0") == 1;
	snprintf(line, sizeof line, "0: %01000d", 0);
	if (is)
		ck_assert_uint_eq(lines_now(cli_path(&dir, "both"), line), 600);
	return is;
}

/* What node 0 says is not taken by anything, and no more of it is read. Node 1, which begins when that is so, is not missed for that. A slow
 * machine may need longer than the time that it has, which is doubled then. */
START_TEST(a_host_that_is_reached_late)
{
	int seconds = 1;

	while (!is_there_behind_full_output(seconds)) {
		seconds *= 2;
		ck_assert_int_le(seconds, 16);
	}
	ck_assert_uint_eq(left(), 0);
}
END_TEST

/* Addresses of this host are here, all others are not. */
START_TEST(addresses_say_which_host)
{
	write_ini("tcp",
		  "key_file = /dev/null\n[node 0]\naddress = 127.0.0.1:7001\n[node 1]\naddress = 192.0.2.7:7001\n"
		  "[node 2]\naddress = [2001:db8::7]:7001\n");
	LAUNCH(ini, "--ssh", script("ssh", "echo \"$1\" >>\"$0.hosts\"\n" NEAR), "--whorl", self, "--",
	       script("program", "echo $WHORL_ID"));
	CLI_ENDED(&cli, 0);
	ck_assert_uint_eq(lines(cli.out, "0: 0") + lines(cli.out, "1: 1") + lines(cli.out, "2: 2"), 3);
	ck_assert_uint_eq(lines_now(cli_path(&dir, "ssh.hosts"), "192.0.2.7"), 1);
	ck_assert_uint_eq(lines_now(cli_path(&dir, "ssh.hosts"), "2001:db8::7"), 1);
	ck_assert_uint_eq(lines_now(cli_path(&dir, "ssh.hosts"), "127.0.0.1"), 0);
}
END_TEST

/* It fails, or hangs; or there is no such command. Those that were started are ended, whatever the fate. What hangs is given a second, and twice
 * that where the nodes of this host, on a slow machine, have not started in it. What was killed with ssh is awaited: it is no child of the
 * launcher. */
START_TEST(a_host_is_not_reached)
{
	static const struct {
		const char *ssh, *said;
		bool hangs;
	} hosts[] = {{"echo 'no route' >&2; exit 255",
		      "host far.away was not reached: what was to start node 1 there has ended with status 255", false},
		     {"exit 0", "host far.away was not reached: what was to start node 1 there has ended with status 0",
		      false},
		     {"n=0; while [ $((n+=1)) -lt " LIVE " ]; do sleep 0.02; done",
		      "host far.away has not started node 1 in ", true},
		     {"sh -c 'trap \"\" TERM; n=0; while [ $((n+=1)) -lt " LIVE " ]; do sleep 0.02; done' \"$0\"",
		      "host far.away has not started node 1 in ", true}};

	for (size_t i = 0; i < COUNT(hosts); i++) {
		bool was_slow = false;
		int seconds = hosts[i].hangs ? 1 : 100;
		char text[16];

		do {
			ck_assert_int_le(seconds, 100);
			snprintf(text, sizeof text, "%d", seconds);
			cli_free(&cli);
			LAUNCH(ini, "--hosts", "localhost,far.away,localhost", "--fate", i % 2 == 0 ? "view" : "shared",
			       "--grace", "300", "--start-timeout", text, "--ssh", script("ssh", hosts[i].ssh), "--",
			       script("program", WAITS));
			was_slow = hosts[i].hangs && CLI_LINES_WITH(cli.err, "host this one has not started") > 0;
			cli_await(NULL, is_empty, NULL, "the end of all processes");
			seconds *= 2;
		} while (was_slow);
		CLI_ENDED(&cli, 1);
		CLI_WROTE(&cli, err, 1, "whorl: ", hosts[i].said, "all are ended");
		CLI_WROTE(&cli, err, 1, "whorl: ");
		CLI_WROTE(&cli, err, i == 0, "1: no route");
		cli_free(&cli);
	}
	LAUNCH(ini, "--hosts", "far.away", "--ssh", cli_path(&dir, "missing"), "--", "true");
	CLI_ENDED(&cli, 1);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.err, "missing: it cannot be started"), 1);
}
END_TEST

/* ---- srun and mpirun ----------------------------------------------------------------------------------------------- */

START_TEST(one_of_several_runs_its_own)
{
	static const char *const ranks[][2] = {{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
					       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
					       {"PMI_RANK", "PMI_SIZE"}};
	const char *program = script("program", "echo $WHORL_ID");

	setenv(ranks[_i][0], "1", 1);
	LAUNCH(ini, "--hosts", "far", "--nodes", "1-2", "--", program); /* the host is where it was started */
	CLI_ENDED(&cli, 0);
	ck_assert_uint_eq(lines(cli.out, "2: 2"), 1);
	CLI_WROTE(&cli, out, 1, "");
	cli_free(&cli);
	setenv(ranks[_i][1], "3", 1);
	LAUNCH(ini, "--", program);
	ck_assert_uint_eq(lines(cli.out, "1: 1"), 1);
	CLI_WROTE(&cli, out, 1, "");
	cli_free(&cli);
	LAUNCH(ini, "--ranks", "off", "--", program);
	CLI_WROTE(&cli, out, 3, "");
	cli_free(&cli);
	setenv(ranks[_i][1], "4", 1);
	LAUNCH(ini, "--", program);
	CLI_ENDED(&cli, 2);
	CLI_WROTE(&cli, err, 1, "command 1 of 4", "there are 3 nodes");
	cli_free(&cli);
	setenv(ranks[_i][0], "0", 1);
	setenv(ranks[_i][1], "1", 1); /* alone, as in the script of a batch job */
	LAUNCH(ini, "--", program);
	CLI_ENDED(&cli, 0);
	CLI_WROTE(&cli, out, 3, "");
	cli_free(&cli);
	setenv(ranks[_i][0], "3", 1);
	unsetenv(ranks[_i][1]);
	LAUNCH(ini, "--", program);
	CLI_ENDED(&cli, 2);
}
END_TEST

/* ---- mistakes ------------------------------------------------------------------------------------------------------ */

START_TEST(mistakes)
{
	static const struct {
		const char *arguments[6], *said;
	} bad[] = {{{"--nodes", "3", "INI", "true"}, "expected ids from 0 to 2, each once"},
		   {{"--nodes", "0,0", "INI", "true"}, "each once"},
		   {{"--nodes", "2-1", "INI", "true"}, "each once"},
		   {{"--nodes", "0,", "INI", "true"}, "each once"},
		   {{"--nodes", "", "INI", "true"}, "each once"},
		   {{"--nodes", "0-", "INI", "true"}, "each once"},
		   {{"--nodes", "x", "INI", "true"}, "each once"},
		   {{"--hosts", "", "INI", "true"}, "expected names"},
		   {{"--hosts", "a,,b", "INI", "true"}, "expected names"},
		   {{"--hosts", "-oProxyCommand=x", "INI", "true"}, "expected names"},
		   {{"--fate", "none", "INI", "true"}, "expected shared or view"},
		   {{"--ranks", "yes", "INI", "true"}, "expected on or off"},
		   {{"--grace", "-1", "INI", "true"}, "expected seconds"},
		   {{"--grace", "1s", "INI", "true"}, "expected seconds"},
		   {{"--start-timeout", "0", "INI", "true"}, "expected seconds"},
		   {{"--limit", "", "INI", "true"}, "expected seconds"},
		   {{"--ssh", " ", "INI", "true"}, "--ssh is empty"},
		   {{"INI", "--"}, "which PROGRAM?"},
		   {{"INI"}, "which PROGRAM?"},
		   {{"--"}, "which FILE?"},
		   {{"/nowhere/x.ini", "true"}, "/nowhere/x.ini"}};

	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *arguments[8] = {"launch"};

		for (size_t k = 0; k < 6 && bad[i].arguments[k] != NULL; k++)
			arguments[k + 1] = strcmp(bad[i].arguments[k], "INI") == 0 ? ini : bad[i].arguments[k];
		cli_run(&cli, &dir, arguments);
		ck_assert_msg(cli.status == 2, "%zu: %d", i, cli.status);
		ck_assert_msg(CLI_LINES_WITH(cli.err, bad[i].said) >= 1, "%zu: %s", i, cli.err);
		ck_assert_str_eq(cli.out, "");
		cli_free(&cli);
	}
	LAUNCH("--keep", "x", "1");
	CLI_ENDED(&cli, 2);
	cli_free(&cli);
	LAUNCH("--keep", "x", "1000", "1", "/", ini, "true");
	CLI_ENDED(&cli, 2);
	cli_free(&cli);
	LAUNCH(cli_write(&dir, "none.ini", "[group]\nnodes = 0\nnodes_max = 4\n[subgroup s]\n"), "true");
	CLI_ENDED(&cli, 2);
	CLI_WROTE(&cli, err, 1, "names no nodes");
	cli_free(&cli);
	LAUNCH(cli_write(&dir, "list.ini", "[group]\nnodes = 2, 3\n[subgroup s]\n"), "true");
	CLI_ENDED(&cli, 2);
	cli_free(&cli);
	LAUNCH(cli_write(&dir, "sim.ini", "[group]\ntransport = sim\n[subgroup s]\n"), "true");
	CLI_ENDED(&cli, 2);
	CLI_WROTE(&cli, err, 1, "whorl sim");
}
END_TEST

/* ---- the command, and a program with the library ------------------------------------------------------------------- */

START_TEST(a_job)
{
	static const char *const transports[] = {"shm", "tcp"};
	char text[512];

	cli_command = WHORL_COMMAND;
	if (_i == 2) {
		cli_command = WHORL_JOB;
		cli_run(&cli, &dir, (const char *const[]){NULL});
		ck_assert_str_eq(cli.out, "24 fibers on 1 node: the sum is 24000\n");
		CLI_ENDED(&cli, 0);
		return;
	}
	snprintf(text, sizeof text,
		 "[group]\nname = job-%d\nnodes = 3\ntransport = %s\nfailure_timeout_ms = 20000\n"
		 "start_timeout_ms = 60000\n[subgroup s]\n",
		 (int)getpid(), transports[_i]);
	LAUNCH(cli_write(&dir, "job.ini", text), "--", WHORL_JOB);
	CLI_ENDED(&cli, 0);
	CLI_WROTE(&cli, out, 1, "24 fibers on 3 nodes: the sum is 24000");
	CLI_WROTE(&cli, out, 1, "");
	ck_assert_uint_eq(left(), 0);
}
END_TEST

START_TEST(it_is_told_what_it_says)
{
	cli_command = WHORL_COMMAND;
	CLI_RUN(&cli, &dir, "launch", "--help");
	CLI_ENDED(&cli, 0);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.out, "Exit status: 0 all"), 1);
	CLI_WROTE(&cli, out, 0, "--keep");
}
END_TEST

Suite *suite(void)
{
	Suite *suite = suite_create("cli_launch");
	TCase *tcase = tcase_create("launch");

	tcase_set_timeout(tcase, 0); /* cli_wait has its own */
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_program_has_an_id);
	tcase_add_test(tcase, lines_are_not_mixed);
	tcase_add_test(tcase, long_lines_and_any_bytes);
	tcase_add_test(tcase, nobody_reads);
	tcase_add_test(tcase, one_fails_and_all_end);
	tcase_add_test(tcase, the_others_go_on);
	tcase_add_test(tcase, what_cannot_be_started);
	tcase_add_test(tcase, an_end_has_a_limit);
	tcase_add_test(tcase, nothing_is_left_behind);
	tcase_add_loop_test(tcase, signals_go_on, 0, 2);
	tcase_add_test(tcase, the_second_signal_kills);
	tcase_add_loop_test(tcase, the_launcher_is_killed, 0, 4);
	tcase_add_test(tcase, a_keeper_is_killed);
	tcase_add_test(tcase, an_end_before_it_is_known_that_they_run);
	tcase_add_test(tcase, another_host);
	tcase_add_test(tcase, a_host_that_is_reached_late);
	tcase_add_test(tcase, addresses_say_which_host);
	tcase_add_test(tcase, a_host_is_not_reached);
	tcase_add_loop_test(tcase, one_of_several_runs_its_own, 0, 3);
	tcase_add_test(tcase, mistakes);
	tcase_add_loop_test(tcase, a_job, 0, 3);
	tcase_add_test(tcase, it_is_told_what_it_says);
	suite_add_tcase(suite, tcase);
	return suite;
}

static void hold_keeper(void)
{
	const char *held = getenv(KEEPERS_HELD);

	for (int n = 0; held != NULL && access(held, F_OK) == 0 && n < 100000; n++)
		usleep(1000);
}

/* `PROGRAM launch ...` is the command. */
int main(int argc, char **argv)
{
	argp_err_exit_status = WH_EXIT_USAGE;
	if (argc < 2 || strcmp(argv[1], "launch") != 0)
		return test_main(suite());
	if (argc > 2 && strcmp(argv[2], "--keep") == 0)
		hold_keeper();
	return wh_launch_main(argc - 1, argv + 1);
}
