/* launch_job.c - a job while it runs: its keepers are started, heard, signalled and ended. See launch.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "tools/launch.h"

#define LIMIT_STATUS 124 /* as timeout(1) has it */
#define LAST_MS 5000     /* a keeper ends so soon after its program was killed, or is killed itself */
#define STRAY_MS 1000 /* so long behind its end the output of a program is read, which another process may hold open */

enum { OUT, ERR, STREAMS };

struct node {
	const struct wh_launch_node *plan;
	pid_t pid;   /* of the keeper, or of ssh; 0: it has ended */
	int control; /* -1: closed */
	struct wh_inlet inlets[STREAMS];
	bool started; /* its keeper has said so */
	uint64_t close_at_ns;
};

enum phase {
	RUNS,
	ENDS,    /* all were asked to */
	KILLED,  /* those that had not were killed */
	GIVEN_UP /* and what still has not is left alone */
};

struct job {
	const struct wh_launch *launch;
	struct node *nodes; /* [launch->count] */
	uint32_t count, running;
	struct wh_outlet outlets[STREAMS];
	struct wh_outlet *to[STREAMS]; /* both the first, where both are one file: lines are whole there too */
	struct pollfd *fds;            /* [3 + STREAMS * count] */
	int signal_fd;
	char greeting[64];
	enum phase phase;
	bool interrupted;
	uint64_t start_by_ns, limit_ns, next_phase_ns; /* 0: none */
	int status;                                    /* of the job: of the first that has failed */
};

static uint64_t now_ns(void)
{
	return wh_clock_ns();
}

/* Behind the lines that wait, so that it is not within one of them. */
static void say(struct job *job, const char *format, ...) WH_PRINTF(2, 3);
static void say(struct job *job, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	wh_outlet_add(job->to[ERR], "whorl: ", line, strlen(line));
}

static const char *host_of(const struct node *node)
{
	return node->plan->host != NULL ? node->plan->host : "this one";
}

static void fail(struct job *job, int status)
{
	if (job->status == 0)
		job->status = status;
}

/* ---- signals and ends ----------------------------------------------------------------------------------------------- */

static void tell(struct node *node, char byte)
{
	if (node->control >= 0 && write(node->control, &byte, 1) != 1) {
		close(node->control); /* its keeper has ended, or hears nothing: the end of the pipe says it too */
		node->control = -1;
	}
}

/* With what it has started itself; it may not have come to its setsid yet. */
static void kill_keeper(const struct node *node)
{
	kill(-node->pid, SIGKILL);
	kill(node->pid, SIGKILL);
}

static void tell_started(struct job *job, char byte)
{
	for (uint32_t i = 0; i < job->count; i++)
		if (job->nodes[i].pid != 0 && job->nodes[i].started)
			tell(&job->nodes[i], byte);
}

/* One that has not said so may have started its program all the same. A keeper of this host hears what it is told when it has; a host that is not
 * reached is not waited for: ssh is killed, and a keeper there hears the end of its pipe. */
static void ask_all(struct job *job, char byte)
{
	for (uint32_t i = 0; i < job->count; i++) {
		struct node *node = &job->nodes[i];

		if (node->pid != 0 && (node->started || node->plan->host == NULL))
			tell(node, byte);
		else if (node->pid != 0)
			kill_keeper(node);
	}
}

static void kill_all(struct job *job)
{
	job->phase = KILLED;
	job->next_phase_ns = now_ns() + LAST_MS * WH_NS_PER_MS;
	ask_all(job, WH_KEEP_KILL);
}

static void end_all(struct job *job, char byte)
{
	if (job->phase != RUNS)
		return;
	job->phase = ENDS;
	job->next_phase_ns = now_ns() + (uint64_t)job->launch->grace_ms * WH_NS_PER_MS;
	ask_all(job, byte);
}

static void next_phase(struct job *job)
{
	if (job->phase == ENDS) {
		say(job, "%u of %u programs have not ended %d ms after they were asked to, and are killed",
		    job->running, job->count, job->launch->grace_ms);
		fail(job, 128 + SIGKILL);
		kill_all(job);
		return;
	}
	job->next_phase_ns = now_ns() + STRAY_MS * WH_NS_PER_MS;
	if (job->phase == KILLED)
		for (uint32_t i = 0; i < job->count; i++)
			if (job->nodes[i].pid != 0)
				kill_keeper(&job->nodes[i]);
	job->phase = job->phase == KILLED ? GIVEN_UP : job->phase;
}

static void take_signal(struct job *job, int number)
{
	for (const struct wh_keep_signal *one = wh_keep_signals; one->signal != 0; one++) {
		if (one->signal != number)
			continue;
		if (!one->ends) {
			tell_started(job, one->byte);
		} else if (job->interrupted) {
			kill_all(job);
		} else {
			job->interrupted = true;
			if (job->start_by_ns != 0)
				fail(job, WH_EXIT_INTERRUPTED);
			if (job->phase == RUNS)
				end_all(job, one->byte);
			else
				ask_all(job, one->byte);
		}
	}
}

static void take_signals(struct job *job)
{
	struct signalfd_siginfo info;

	while (read(job->signal_fd, &info, sizeof info) == sizeof info)
		take_signal(job, (int)info.ssi_signo);
}

/* ---- starting ------------------------------------------------------------------------------------------------------- */

/* 'word', for a shell. */
static void quote(FILE *out, const char *word)
{
	fputs(" '", out);
	for (; *word != '\0'; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	fputc('\'', out);
}

/* The words of --ssh, which blanks divide. */
static size_t add_ssh(char **argv, const char *ssh)
{
	char *room = strdup(ssh), *rest = NULL;
	size_t count = 0;

	for (char *word = room == NULL ? NULL : strtok_r(room, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest))
		argv[count++] = word;
	return count;
}

/* All words of `argv` as one, for the shell of another host: exec, so that no shell stays there. NULL: no memory. */
static char *shell_command(char *const *argv)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (out == NULL)
		return NULL;
	fputs("exec", out);
	for (; *argv != NULL; argv++)
		quote(out, *argv);
	return fclose(out) == 0 ? text : NULL;
}

/* In the child, and it is not freed: memory ends with exec. */
static char **command_of(const struct job *job, const struct node *node)
{
	static char launch[] = "launch", keep[] = WH_KEEP;
	static char self[4096], directory[4096], id[16], grace[16];
	const struct wh_launch *plan = job->launch;
	bool far = node->plan->host != NULL;
	char *head[] = {far ? (char *)plan->whorl : self,
			launch,
			keep,
			(char *)job->greeting,
			id,
			grace,
			directory,
			plan->file};
	size_t heads = sizeof head / sizeof head[0], words = 0;
	char **argv, **called;

	while (plan->program[words] != NULL)
		words++;
	argv = calloc(heads + words + 1, sizeof *argv);
	called = calloc(strlen(plan->ssh) + 3, sizeof *called);
	if (argv == NULL || called == NULL || readlink("/proc/self/exe", self, sizeof self - 1) < 0 ||
	    getcwd(directory, sizeof directory) == NULL)
		return NULL;
	snprintf(id, sizeof id, "%u", node->plan->id);
	snprintf(grace, sizeof grace, "%d", plan->grace_ms);
	memcpy(argv, head, sizeof head);
	memcpy(argv + heads, plan->program, words * sizeof *argv);
	if (!far)
		return argv;
	words = add_ssh(called, plan->ssh);
	called[words] = (char *)node->plan->host;
	called[words + 1] = shell_command(argv);
	return words == 0 || called[words + 1] == NULL ? NULL : called;
}

/* A session of its own: what a terminal says is for the launcher, and ssh has none to ask for a password, so it fails at once instead. */
static _Noreturn void become_keeper(const struct job *job, const struct node *node, const int *ends, pid_t parent)
{
	char **argv;
	sigset_t none;

	setsid();
	if (node->plan->host != NULL)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a keeper sees the end of its pipe, and ends its program in order */
	if (getppid() != parent)
		_exit(WH_EXIT_MACHINE);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(ends[fd], fd) < 0)
			_exit(WH_EXIT_MACHINE);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	argv = command_of(job, node);
	if (argv != NULL)
		execvp(argv[0], argv);
	wh_say("%s: it cannot be started: %s", argv != NULL ? argv[0] : "a keeper", strerror(errno));
	_exit(WH_EXIT_MACHINE);
}

/* ends[0..2] are the child's, ours[0..2] the launcher's. */
static bool make_pipes(int ends[3], int ours[3])
{
	int pipes[3][2];

	for (int i = 0; i < 3; i++) {
		if (pipe2(pipes[i], O_CLOEXEC) != 0) {
			while (--i >= 0) {
				close(pipes[i][0]);
				close(pipes[i][1]);
			}
			return false;
		}
		ends[i] = pipes[i][i == 0 ? 0 : 1];
		ours[i] = pipes[i][i == 0 ? 1 : 0];
	}
	fcntl(ours[0], F_SETFL, O_NONBLOCK); /* bytes for a keeper that hears nothing are not waited for */
	return true;
}

static bool open_inlets(struct job *job, struct node *node, const int ours[3])
{
	for (int s = 0; s < STREAMS; s++) {
		struct wh_inlet *inlet = &node->inlets[s];

		*inlet = (struct wh_inlet){
			.fd = ours[s + 1], .id = node->plan->id, .to = job->to[s], .line = malloc(WH_INLET_LINE)};
		if (inlet->line == NULL)
			return false;
	}
	node->inlets[OUT].greeting = job->greeting;
	return true;
}

static bool start_node(struct job *job, struct node *node)
{
	int ends[3], ours[3];
	pid_t parent = getpid();

	if (!make_pipes(ends, ours)) {
		say(job, "pipes for node %u: %s", node->plan->id, strerror(errno));
		return false;
	}
	node->control = ours[0];
	if (!open_inlets(job, node, ours)) {
		say(job, "%s", whorl_result_text(WHORL_MEMORY));
		return false;
	}
	node->pid = fork();
	if (node->pid == 0)
		become_keeper(job, node, ends, parent);
	for (int fd = 0; fd < 3; fd++)
		close(ends[fd]);
	if (node->pid < 0) {
		node->pid = 0;
		say(job, "fork: %s", strerror(errno));
		return false;
	}
	job->running++;
	return true;
}

static void start_all(struct job *job)
{
	uint32_t i;

	for (i = 0; i < job->count; i++) {
		struct node *node = &job->nodes[i];

		node->plan = &job->launch->nodes[i];
		node->control = -1;
		node->inlets[OUT].fd = node->inlets[ERR].fd = -1;
	}
	for (i = 0; i < job->count; i++)
		if (!start_node(job, &job->nodes[i])) {
			fail(job, WH_EXIT_MACHINE);
			end_all(job, WH_KEEP_END);
			return;
		}
}

/* ---- what has ended ------------------------------------------------------------------------------------------------- */

static void describe(int status, char *text, size_t bytes)
{
	if (status > 128 && status < 128 + NSIG)
		snprintf(text, bytes, "status %d: signal %d, %s", status, status - 128, strsignal(status - 128));
	else
		snprintf(text, bytes, "status %d", status);
}

static void node_has_ended(struct job *job, struct node *node, int status)
{
	bool shared = job->launch->shared && job->phase == RUNS;
	char text[128];

	job->running--;
	node->pid = 0;
	node->close_at_ns = now_ns() + STRAY_MS * WH_NS_PER_MS;
	describe(status, text, sizeof text);
	while (!node->started && node->inlets[OUT].fd >= 0 && wh_inlet_take(&node->inlets[OUT])) /* it may lie there */
		node->started = node->inlets[OUT].greeting == NULL;
	if (!node->started && job->phase == RUNS) {
		say(job, "host %s was not reached: what was to start node %u there has ended with %s; all are ended",
		    host_of(node), node->plan->id, text);
		fail(job, WH_EXIT_FAILED);
		end_all(job, WH_KEEP_END);
	}
	if (!node->started || status == 0)
		return;
	if (job->phase == RUNS)
		say(job, "node %u has ended with %s%s%s", node->plan->id, text,
		    status == 255 && node->plan->host != NULL ? ", or its connection has" : "",
		    shared && job->running > 0 ? "; the others are ended" : "");
	fail(job, status);
	if (shared)
		end_all(job, WH_KEEP_END);
}

static void reap(struct job *job)
{
	for (uint32_t i = 0; i < job->count; i++) {
		struct node *node = &job->nodes[i];
		int how;

		if (node->pid == 0 || waitpid(node->pid, &how, WNOHANG) != node->pid)
			continue;
		node_has_ended(job, node, WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how));
	}
}

/* ---- time ----------------------------------------------------------------------------------------------------------- */

static void look_for_missing(struct job *job, uint64_t now)
{
	bool missing = false;

	for (uint32_t i = 0; i < job->count; i++) {
		const struct node *node = &job->nodes[i];

		if (node->started || node->pid == 0)
			continue;
		missing = true;
		if (now >= job->start_by_ns)
			say(job, "host %s has not started node %u in %d ms; all are ended", host_of(node),
			    node->plan->id, job->launch->start_ms);
	}
	if (missing && now < job->start_by_ns)
		return;
	job->start_by_ns = 0;
	if (missing) {
		fail(job, WH_EXIT_FAILED);
		end_all(job, WH_KEEP_END);
	}
}

static void look_at_time(struct job *job)
{
	uint64_t now = now_ns();

	if (job->start_by_ns != 0 && job->phase == RUNS)
		look_for_missing(job, now);
	if (job->limit_ns != 0 && now >= job->limit_ns && job->phase == RUNS) {
		say(job, "the job has not ended in %lld ms, and is ended", (long long)job->launch->limit_ms);
		fail(job, LIMIT_STATUS);
		end_all(job, WH_KEEP_END);
	}
	if (job->next_phase_ns != 0 && now >= job->next_phase_ns && job->running > 0)
		next_phase(job);
	for (uint32_t i = 0; i < job->count; i++)
		for (int s = 0; s < STREAMS; s++)
			if (job->nodes[i].pid == 0 && job->nodes[i].inlets[s].fd >= 0 &&
			    now >= job->nodes[i].close_at_ns)
				wh_inlet_close(&job->nodes[i].inlets[s]);
}

static void earlier(uint64_t *at, uint64_t other)
{
	if (other != 0 && other < *at)
		*at = other;
}

static int idle_ms(const struct job *job)
{
	uint64_t now = now_ns(), at = UINT64_MAX;

	if (job->phase == RUNS) {
		earlier(&at, job->start_by_ns);
		earlier(&at, job->limit_ns);
	} else if (job->running > 0) {
		earlier(&at, job->next_phase_ns);
	}
	for (uint32_t i = 0; i < job->count; i++)
		if (job->nodes[i].pid == 0 && (job->nodes[i].inlets[OUT].fd >= 0 || job->nodes[i].inlets[ERR].fd >= 0))
			earlier(&at, job->nodes[i].close_at_ns);
	if (at == UINT64_MAX)
		return -1;
	at = at <= now ? 0 : (at - now) / WH_NS_PER_MS + 1;
	return at > INT32_MAX ? INT32_MAX : (int)at;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------- */

/* Streams of programs are not read while what they have said before is not taken. One that has not greeted has as much room again: it would be
 * missing, though it is there. */
static bool is_held_up(const struct node *node, int s)
{
	size_t waits = node->inlets[s].fd < 0 ? 0 : wh_outlet_waits(node->inlets[s].to);

	return waits > (node->started ? WH_OUTLET_FULL : 2 * WH_OUTLET_FULL);
}

static nfds_t fill_fds(struct job *job)
{
	nfds_t count = 1;

	job->fds[0] = (struct pollfd){.fd = job->signal_fd, .events = POLLIN};
	for (int s = 0; s < STREAMS; s++) {
		bool waits = wh_outlet_waits(&job->outlets[s]) > 0;

		job->fds[count++] = (struct pollfd){.fd = waits ? job->outlets[s].fd : -1, .events = POLLOUT};
	}
	for (uint32_t i = 0; i < job->count; i++)
		for (int s = 0; s < STREAMS; s++) {
			const struct node *node = &job->nodes[i];
			int fd = is_held_up(node, s) ? -1 : node->inlets[s].fd;

			job->fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
		}
	return count;
}

static void take_output(struct job *job)
{
	const struct pollfd *fd = job->fds + 1;

	for (int s = 0; s < STREAMS; s++, fd++)
		if (fd->fd >= 0 && fd->revents != 0)
			wh_outlet_write(&job->outlets[s]);
	for (uint32_t i = 0; i < job->count; i++)
		for (int s = 0; s < STREAMS; s++, fd++) {
			struct node *node = &job->nodes[i];

			if (fd->fd < 0 || fd->revents == 0 || is_held_up(node, s))
				continue;
			(void)wh_inlet_take(&node->inlets[s]);
			node->started = node->started || (s == OUT && node->inlets[OUT].greeting == NULL);
		}
}

/* Nobody reads what the programs say: they are not let run on for nothing. */
static void look_at_outlets(struct job *job)
{
	if (!job->outlets[OUT].failed && !job->outlets[ERR].failed)
		return;
	if (job->phase == RUNS)
		say(job, "the output cannot be written; all are ended");
	fail(job, WH_EXIT_FAILED);
	end_all(job, WH_KEEP_END);
}

static bool is_over(const struct job *job)
{
	if (job->phase == GIVEN_UP && now_ns() >= job->next_phase_ns)
		return true;
	if (job->running > 0)
		return false;
	for (uint32_t i = 0; i < job->count; i++)
		if (job->nodes[i].inlets[OUT].fd >= 0 || job->nodes[i].inlets[ERR].fd >= 0)
			return false;
	return wh_outlet_waits(&job->outlets[OUT]) + wh_outlet_waits(&job->outlets[ERR]) == 0 ||
	       (job->interrupted && job->phase >= KILLED);
}

static void go_on(struct job *job)
{
	while (!is_over(job)) {
		nfds_t count = fill_fds(job);

		if (poll(job->fds, count, idle_ms(job)) > 0) {
			if (job->fds[0].revents != 0)
				take_signals(job);
			take_output(job);
		}
		reap(job);
		look_at_outlets(job);
		look_at_time(job);
	}
}

/* ---- opening and closing -------------------------------------------------------------------------------------------- */

static bool open_signals(struct job *job)
{
	sigset_t set;

	sigemptyset(&set);
	for (const struct wh_keep_signal *one = wh_keep_signals; one->signal != 0; one++)
		sigaddset(&set, one->signal);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	job->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return job->signal_fd >= 0;
}

static void open_outlets(struct job *job)
{
	struct stat out, err;

	job->outlets[OUT].fd = STDOUT_FILENO;
	job->outlets[ERR].fd = STDERR_FILENO;
	job->to[OUT] = job->to[ERR] = &job->outlets[OUT];
	if (fstat(STDOUT_FILENO, &out) != 0 || fstat(STDERR_FILENO, &err) != 0 || out.st_dev != err.st_dev ||
	    out.st_ino != err.st_ino)
		job->to[ERR] = &job->outlets[ERR];
}

static void close_job(struct job *job)
{
	for (uint32_t i = 0; job->nodes != NULL && i < job->count; i++) {
		if (job->nodes[i].control >= 0)
			close(job->nodes[i].control);
		for (int s = 0; s < STREAMS; s++)
			wh_inlet_close(&job->nodes[i].inlets[s]);
	}
	for (int s = 0; s < STREAMS; s++)
		free(job->outlets[s].data);
	if (job->signal_fd >= 0)
		close(job->signal_fd);
	free(job->nodes);
	free(job->fds);
}

int wh_launch_run(const struct wh_launch *launch)
{
	struct job job = {.launch = launch, .count = launch->count, .signal_fd = -1};
	const struct wh_env *env = wh_env_system();

	job.nodes = calloc(launch->count, sizeof *job.nodes);
	job.fds = calloc(1 + STREAMS + (size_t)STREAMS * launch->count, sizeof *job.fds);
	if (job.nodes == NULL || job.fds == NULL || !open_signals(&job)) {
		wh_say("a job cannot be started: %s", strerror(errno));
		free(job.nodes);
		free(job.fds);
		return WH_EXIT_MACHINE;
	}
	open_outlets(&job);
	snprintf(job.greeting, sizeof job.greeting, "whorl-launch %016llx",
		 (unsigned long long)env->random_u64(env->ctx));
	job.start_by_ns = now_ns() + (uint64_t)launch->start_ms * WH_NS_PER_MS;
	job.limit_ns = launch->limit_ms == 0 ? 0 : now_ns() + (uint64_t)launch->limit_ms * WH_NS_PER_MS;
	start_all(&job);
	go_on(&job);
	close_job(&job);
	return job.status;
}
