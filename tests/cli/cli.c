/* cli.c - see cli.h. */
#include "tests/cli/cli.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- files -----------------------------------------------------------------------------------------------------------*/

void cli_dir_make(struct cli_dir *dir)
{
	ck_assert_ptr_nonnull(mkdtemp(test_temporary(dir->path, "whorl-cli")));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	return remove(path);
}

void cli_dir_remove(struct cli_dir *dir)
{
	nftw(dir->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *cli_path(const struct cli_dir *dir, const char *name)
{
	static char paths[8][512];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof paths[0], "%s/%s", dir->path, name);
	return path;
}

const char *cli_write(const struct cli_dir *dir, const char *name, const char *text)
{
	const char *path = cli_path(dir, name);
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	return path;
}

char *cli_read(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t bytes = 0;

	if (file == NULL)
		return NULL;
	if (getdelim(&text, &bytes, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

const char *cli_command = WHORL_COMMAND;

/* ---- the command --------------------------------------------------------------------------------------------------------*/

static void become(const char *const *arguments, const struct cli *cli, pid_t test)
{
	const char *argv[64] = {cli_command};
	int out = open(cli->out_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	int err = open(cli->err_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	int of_test = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	for (size_t i = 0; arguments[i] != NULL && i + 2 < sizeof argv / sizeof argv[0]; i++)
		argv[i + 1] = arguments[i];
	setsid(); /* so that its processes can be found, and a failing test's can be killed */
	/* However the test ends: also where it fails, which no handler of it is told. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != test)
		_exit(126);
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(126);
	execv(cli_command, (char *const *)argv);
	dprintf(of_test, "%s: %s\n", cli_command, strerror(errno));
	_exit(127);
}

void cli_start(struct cli *cli, const struct cli_dir *dir, const char *const *arguments)
{
	pid_t test;

	*cli = (struct cli){.status = -1};
	snprintf(cli->out_path, sizeof cli->out_path, "%s/stdout", dir->path);
	(void)truncate(cli->out_path, 0); /* what one before has written is not to be taken for this one's */
	snprintf(cli->err_path, sizeof cli->err_path, "%s/stderr", dir->path);
	fflush(NULL);
	test = getpid();
	cli->pid = fork();
	ck_assert_int_ge(cli->pid, 0);
	if (cli->pid == 0)
		become(arguments, cli, test);
}

void cli_wait(struct cli *cli)
{
	long began = now_ms();
	int status;

	while (waitpid(cli->pid, &status, WNOHANG) == 0) {
		if (now_ms() - began > CLI_TIMEOUT_MS) {
			kill(-cli->pid, SIGKILL);
			waitpid(cli->pid, &status, 0);
			ck_abort_msg("the command did not end in %ld ms", CLI_TIMEOUT_MS);
		}
		pause_ms(2);
	}
	cli->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	cli->out = cli_read(cli->out_path);
	cli->err = cli_read(cli->err_path);
	ck_assert_ptr_nonnull(cli->out);
	ck_assert_ptr_nonnull(cli->err);
}

void cli_free(struct cli *cli)
{
	free(cli->out);
	free(cli->err);
	*cli = (struct cli){0};
}

void cli_run(struct cli *cli, const struct cli_dir *dir, const char *const *arguments)
{
	cli_start(cli, dir, arguments);
	cli_wait(cli);
}

void cli_await_telling(struct cli *cli, bool (*holds)(void *ctx), void (*tell)(void *ctx), void *ctx, const char *what)
{
	long began = now_ms();
	siginfo_t info = {0};

	while (!holds(ctx)) {
		bool ended = cli != NULL && waitid(P_PID, (id_t)cli->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
			     info.si_pid != 0;

		if (ended || now_ms() - began > CLI_TIMEOUT_MS) {
			if (cli != NULL)
				kill(-cli->pid, SIGKILL);
			if (tell != NULL)
				tell(ctx);
			fflush(stdout);
			ck_abort_msg("%s did not come%s", what, ended ? ": the command has ended" : "");
		}
		pause_ms(2);
	}
}

void cli_await(struct cli *cli, bool (*holds)(void *ctx), void *ctx, const char *what)
{
	cli_await_telling(cli, holds, NULL, ctx, what);
}

/* ---- what is there -------------------------------------------------------------------------------------------------------*/

size_t cli_children(const struct cli *cli, pid_t *pids, size_t most)
{
	char path[64], *list, *next, *end;
	size_t count = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)cli->pid, (int)cli->pid);
	list = cli_read(path);
	for (next = list; next != NULL; next = end) {
		long pid = strtol(next, &end, 10);

		if (end == next)
			break;
		if (count < most)
			pids[count] = (pid_t)pid;
		count++;
	}
	free(list);
	return count;
}

/* Of a process: its session, 0 if it is a zombie or gone. */
static pid_t session_of(const char *pid)
{
	char path[64], state = 'Z', *text, *behind;
	int session = 0;

	snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
	text = cli_read(path);
	behind = text != NULL ? strrchr(text, ')') : NULL; /* the name may have anything in it */
	if (behind == NULL || sscanf(behind + 1, " %c %*d %*d %d", &state, &session) != 2 || state == 'Z')
		session = 0;
	free(text);
	return session;
}

size_t cli_processes(const struct cli *cli)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t count = 0;

	ck_assert_ptr_nonnull(proc);
	while ((entry = readdir(proc)) != NULL)
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && session_of(entry->d_name) == cli->pid)
			count++;
	closedir(proc);
	return count;
}

size_t cli_lines_with(const char *text, const char *const *words)
{
	size_t count = 0;

	while (*text != '\0') {
		size_t length = strcspn(text, "\n");
		bool all = true;

		for (size_t w = 0; all && words[w] != NULL; w++)
			all = memmem(text, length, words[w], strlen(words[w])) != NULL;
		count += all;
		text += length + (text[length] == '\n');
	}
	return count;
}

size_t cli_sockets(const char *name)
{
	char *text = cli_read("/proc/net/unix");
	size_t count;

	ck_assert_ptr_nonnull(text);
	count = CLI_LINES_WITH(text, name);
	free(text);
	return count;
}
