/* launch_keep.c - the keeper of one program of a job: what lies between it and the launcher. See launch.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "group/config/launched.h"
#include "tools/launch.h"

#define CANNOT_RUN 126 /* as shells say it */
#define NOT_FOUND 127

const struct wh_keep_signal wh_keep_signals[] = {
	{SIGINT, 'I', true},   {SIGTERM, WH_KEEP_END, true}, {SIGHUP, 'H', true}, {SIGQUIT, 'Q', true},
	{SIGUSR1, '1', false}, {SIGUSR2, '2', false},        {0, 0, false},
};

struct keeper {
	uint32_t id;
	int64_t grace_ms;
	const char *directory, *file;
	char **program;
	pid_t pid;
	int child_fd;        /* readable when a child has ended */
	bool orphaned;       /* the launcher is gone */
	uint64_t kill_at_ns; /* 0: not yet */
};

/* ---- the program ---------------------------------------------------------------------------------------------------- */

static _Noreturn void become_program(const struct keeper *keeper, pid_t parent)
{
	char id[16];
	sigset_t none;
	int number;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the keeper may be killed, too */
	if (getppid() != parent)
		_exit(CANNOT_RUN);
	for (const struct wh_keep_signal *one = wh_keep_signals; one->signal != 0; one++)
		signal(one->signal, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	snprintf(id, sizeof id, "%u", keeper->id);
	if (setenv(WH_LAUNCHED_ID, id, 1) != 0 || setenv(WH_LAUNCHED_CONFIG, keeper->file, 1) != 0)
		_exit(CANNOT_RUN);
	execvp(keeper->program[0], keeper->program);
	number = errno;
	wh_say("%s: it cannot be started: %s", keeper->program[0], strerror(number));
	_exit(number == ENOENT ? NOT_FOUND : CANNOT_RUN);
}

/* What it reads is nothing: the keeper's standard input is the launcher's. */
static bool start_program(struct keeper *keeper, int control)
{
	int nothing = open("/dev/null", O_RDONLY);
	pid_t parent = getpid();

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
		return false;
	if (nothing != STDIN_FILENO)
		close(nothing);
	keeper->pid = fork();
	if (keeper->pid == 0) {
		close(control);
		become_program(keeper, parent);
	}
	if (keeper->pid > 0)
		setpgid(keeper->pid, keeper->pid); /* whichever of the two is first */
	return keeper->pid > 0;
}

/* ---- its end -------------------------------------------------------------------------------------------------------- */

/* What it has started and left is a child of the keeper (PR_SET_CHILD_SUBREAPER), in whatever group. */
static void kill_children(void)
{
	char path[64];
	FILE *list;
	int pid;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	list = fopen(path, "re");
	while (list != NULL && fscanf(list, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	if (list != NULL)
		fclose(list);
}

static void sweep(const struct keeper *keeper)
{
	const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};
	pid_t pid;

	kill(-keeper->pid, SIGKILL);
	for (;;) { /* each may have had others, which are children of the keeper then; the list may leave some out */
		kill_children();
		do
			pid = waitpid(-1, NULL, WNOHANG);
		while (pid > 0 || (pid < 0 && errno == EINTR));
		if (pid < 0)
			return;
		nanosleep(&pause, NULL);
	}
}

/* True: the program has ended, with *status. */
static bool reap(const struct keeper *keeper, int *status)
{
	int how;

	for (;;) {
		pid_t pid = waitpid(-1, &how, WNOHANG);

		if (pid <= 0)
			return false;
		if (pid != keeper->pid)
			continue;
		*status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
		return true;
	}
}

/* ---- the launcher --------------------------------------------------------------------------------------------------- */

static void ask_to_end(struct keeper *keeper)
{
	kill(-keeper->pid, SIGTERM);
	keeper->kill_at_ns = wh_clock_ns() + (uint64_t)keeper->grace_ms * WH_NS_PER_MS;
	keeper->orphaned = true;
}

static void hear(struct keeper *keeper, int control)
{
	char bytes[64];
	ssize_t count = read(control, bytes, sizeof bytes);

	if (count < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (count <= 0) {
		ask_to_end(keeper);
		return;
	}
	for (ssize_t i = 0; i < count; i++) {
		if (bytes[i] == WH_KEEP_KILL)
			kill(-keeper->pid, SIGKILL);
		for (const struct wh_keep_signal *one = wh_keep_signals; one->signal != 0; one++)
			if (one->byte == bytes[i])
				kill(-keeper->pid, one->signal);
	}
}

/* Until the next thing that is to be done by itself; -1: there is none. */
static int idle_ms(const struct keeper *keeper)
{
	uint64_t now = wh_clock_ns();

	if (keeper->kill_at_ns == 0)
		return -1;
	return now >= keeper->kill_at_ns ? 0 : (int)((keeper->kill_at_ns - now) / WH_NS_PER_MS) + 1;
}

static int keep(struct keeper *keeper, int control)
{
	struct signalfd_siginfo info;
	int status = 0;

	while (!reap(keeper, &status)) {
		struct pollfd fds[2] = {{.fd = keeper->child_fd, .events = POLLIN},
					{.fd = keeper->orphaned ? -1 : control, .events = POLLIN}};

		if (poll(fds, 2, idle_ms(keeper)) > 0) {
			while (read(keeper->child_fd, &info, sizeof info) == sizeof info)
				;
			if (fds[1].revents != 0)
				hear(keeper, control);
		}
		if (keeper->kill_at_ns != 0 && wh_clock_ns() >= keeper->kill_at_ns) {
			kill(-keeper->pid, SIGKILL);
			keeper->kill_at_ns = 0;
		}
	}
	sweep(keeper);
	return status;
}

/* What a terminal, or a service that is stopped, says to all goes to the launcher too, and it decides. Blocked, not ignored: what is sent to
 * the program before it is one waits for it. */
static bool prepare(struct keeper *keeper)
{
	sigset_t children, blocked;

	sigemptyset(&blocked);
	for (const struct wh_keep_signal *one = wh_keep_signals; one->signal != 0; one++)
		sigaddset(&blocked, one->signal);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, 0); /* of what has become this process: the end of the pipe is told in order */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	keeper->child_fd = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
	return keeper->child_fd >= 0;
}

static bool read_number(const char *text, int64_t most, int64_t *out)
{
	char *end;
	long long number = strtoll(text, &end, 10);

	*out = number;
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && number <= most;
}

int wh_keep_main(int argc, char **argv)
{
	struct keeper keeper = {0};
	char greeting[128];
	int64_t id;
	int control;

	if (argc < 8 || !read_number(argv[3], WH_NODES_MAX - 1, &id) ||
	    !read_number(argv[4], INT32_MAX, &keeper.grace_ms)) {
		wh_say(WH_KEEP " is for `whorl launch` itself");
		return WH_EXIT_USAGE;
	}
	keeper.id = (uint32_t)id;
	keeper.directory = argv[5];
	keeper.file = argv[6];
	keeper.program = argv + 7;
	control = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (control < 0 || !prepare(&keeper)) {
		wh_say("a keeper cannot work: %s", strerror(errno));
		return WH_EXIT_MACHINE;
	}
	(void)!chdir(keeper.directory); /* where there is none the program begins where a login does */
	snprintf(greeting, sizeof greeting, "%.100s\n", argv[2]);
	if (write(STDOUT_FILENO, greeting, strlen(greeting)) != (ssize_t)strlen(greeting))
		return WH_EXIT_MACHINE;
	if (!start_program(&keeper, control)) {
		wh_say("%s: it cannot be started: %s", keeper.program[0], strerror(errno));
		return WH_EXIT_MACHINE;
	}
	return keep(&keeper, control);
}
