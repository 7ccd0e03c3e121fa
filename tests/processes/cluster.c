/* cluster.c - see cluster.h. */
#include "tests/processes/cluster.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/processes/logs.h"
#include "tests/processes/payload.h"

#define WARM_SLOTS 4

static const char *const fates[] = {"lives", "killed", "exited", "stopped", "removed", "doubtful"};
static const char *const stages[] = {"beginning", "ready", "quiet", "closed"};

/* ---- failing -------------------------------------------------------------------------------------------------------- */

static void print_member(const struct cluster *c, uint32_t id)
{
	const struct state *state = &c->board->state[id];

	fprintf(stderr, "  node %u (%s, %s): view %llu of members %llx, %llu messages; error: %s (%s); claim: %s\n", id,
		fates[c->children[id].fate], stages[state->stage], (unsigned long long)state->view,
		(unsigned long long)state->members, (unsigned long long)state->total,
		whorl_result_text((enum whorl_result)state->error), state->text,
		whorl_result_text((enum whorl_result)state->claim));
	for (uint32_t g = 0; g < GROUPS; g++) {
		fprintf(stderr, "    group %u: claimed %llu, committed %llu; delivered of each:", g,
			(unsigned long long)state->claimed[g], (unsigned long long)state->committed[g]);
		for (uint32_t s = 0; s < c->options.nodes; s++)
			fprintf(stderr, " %llu", (unsigned long long)state->delivered[g][s]);
		fprintf(stderr, "\n");
	}
	for (uint32_t n = state->line_count > LINES ? state->line_count - LINES : 0; n < state->line_count; n++)
		fprintf(stderr, "    log: %s\n", state->lines[n % LINES]);
	if (state->complained)
		fprintf(stderr, "    complains: %s\n", state->complaint);
}

void cluster_fail(struct cluster *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "failed (seed %llu): ", (unsigned long long)c->options.seed);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	for (uint32_t id = 0; id < c->options.nodes; id++)
		print_member(c, id);
	for (uint32_t id = 0; id < c->options.nodes; id++)
		if (c->children[id].pid > 0)
			kill(c->children[id].pid, SIGKILL);
	exit(EXIT_FAILURE);
}

static bool may_end(const struct cluster *c, uint32_t id)
{
	enum fate fate = c->children[id].fate;

	return fate == FATE_KILLED || fate == FATE_EXITED || c->board->closing;
}

/* Who lives may lack a quorum for a while, and nothing else. */
static bool is_lost(const struct cluster *c, uint32_t id)
{
	uint32_t error = c->board->state[id].error;

	return error != WHORL_OK && error != WHORL_NO_QUORUM;
}

_Noreturn static void fail_ended(struct cluster *c, uint32_t id, const char *what)
{
	siginfo_t info = {.si_pid = 0};

	waitid(P_PID, (id_t)c->children[id].pid, &info, WEXITED | WNOHANG | WNOWAIT);
	cluster_fail(c, "node %u has ended (%s %d), while waiting for: %s", id,
		     info.si_code == CLD_EXITED ? "exit status" : "signal", info.si_status, what);
}

void cluster_pass(struct cluster *c, uint64_t deadline, const char *what)
{
	struct pollfd ends[MEMBERS_MAX];

	for (uint32_t id = 0; id < c->options.nodes; id++)
		ends[id] = (struct pollfd){.fd = may_end(c, id) ? -1 : c->children[id].pidfd, .events = POLLIN};
	poll(ends, c->options.nodes, 1);
	for (uint32_t id = 0; id < c->options.nodes; id++) {
		if (c->board->state[id].complained)
			cluster_fail(c, "node %u complains", id);
		if (ends[id].revents != 0)
			fail_ended(c, id, what);
		if (c->children[id].fate == FATE_LIVES && is_lost(c, id))
			cluster_fail(c, "node %u is lost, while waiting for: %s", id, what);
	}
	if (now_ns() > deadline)
		cluster_fail(c, "too long: %s", what);
}

/* ---- starting ------------------------------------------------------------------------------------------------------- */

static bool make_board(struct cluster *c)
{
	c->board_fd = memfd_create("processes-board", 0); /* which the members inherit */
	if (c->board_fd < 0 || ftruncate(c->board_fd, sizeof(*c->board)) != 0)
		return false;
	c->board = mmap(NULL, sizeof(*c->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, c->board_fd, 0);
	return c->board != MAP_FAILED;
}

static void start_member(struct cluster *c, uint32_t id)
{
	struct child *child = &c->children[id];
	char number[12], descriptor[12];

	snprintf(number, sizeof(number), "%u", id);
	snprintf(descriptor, sizeof(descriptor), "%d", c->board_fd);
	child->pid = fork();
	if (child->pid == 0) {
		execl("/proc/self/exe", "member", "member", number, descriptor, (char *)NULL);
		_exit(3);
	}
	child->pidfd = child->pid > 0 ? pidfd_open(child->pid, 0) : -1;
	if (child->pidfd < 0)
		cluster_fail(c, "no process for node %u: %s", id, strerror(errno));
}

static bool is_ready(const struct cluster *c, uint32_t id)
{
	return c->board->state[id].stage == STAGE_READY;
}

void cluster_start(struct cluster *c, const struct cluster_options *options)
{
	*c = (struct cluster){.options = *options};
	snprintf(c->name, sizeof(c->name), "processes-%d-%llx", (int)getpid(), (unsigned long long)now_ns());
	if (!make_board(c)) {
		perror("the board");
		exit(EXIT_FAILURE);
	}
	cluster_write_config(c);
	c->board->seed = options->seed;
	c->board->parent = getpid();
	c->board->start_ns = now_ns();
	for (uint32_t id = 0; id < options->nodes; id++) {
		c->board->caller[id] = options->thread != NULL ? strcmp(options->thread, "caller") == 0
							       : (id + options->seed) % 2 == 1;
		start_member(c, id);
	}
	UNTIL(c, cluster_all(c, is_ready));
	c->first_slot = board_slot(c->board, now_ns()) + 1;
}

/* ---- what is seen --------------------------------------------------------------------------------------------------- */

bool cluster_all(const struct cluster *c, cluster_is *is)
{
	for (uint32_t id = 0; id < c->options.nodes; id++)
		if (c->children[id].fate == FATE_LIVES && !is(c, id))
			return false;
	return true;
}

uint64_t cluster_living(const struct cluster *c)
{
	uint64_t living = 0;

	for (uint32_t id = 0; id < c->options.nodes; id++)
		if (c->children[id].fate == FATE_LIVES)
			living |= UINT64_C(1) << id;
	return living;
}

static int descriptors_of(pid_t pid)
{
	char path[40];
	int count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	if (directory == NULL)
		return -1;
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

static int lines_with(const char *path, const char *word)
{
	char line[1024];
	int count = 0;
	FILE *file = fopen(path, "r");

	if (file == NULL)
		return -1;
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, word) != NULL;
	fclose(file);
	return count;
}

static int mappings_of(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return lines_with(path, "/memfd:whorl-");
}

/* ---- waiting for messages ------------------------------------------------------------------------------------------- */

void cluster_deliver(struct cluster *c, uint64_t more)
{
	uint64_t goals[MEMBERS_MAX];

	for (uint32_t id = 0; id < c->options.nodes; id++)
		goals[id] = c->board->state[id].total + more;
	for (uint32_t id = 0; id < c->options.nodes; id++)
		if (c->children[id].fate == FATE_LIVES)
			UNTIL(c, c->board->state[id].total >= goals[id]);
}

/* The slots of the tenths of a second in which it delivered anything; returns their number. */
static uint32_t paces_of(const struct cluster *c, uint32_t id, uint32_t paces[SLOTS])
{
	uint32_t end = board_slot(c->board, now_ns()), count = 0;

	for (uint32_t slot = c->first_slot; slot < end; slot++)
		if (c->board->state[id].slot[slot] > 0)
			paces[count++] = c->board->state[id].slot[slot];
	return count;
}

static bool is_warm(const struct cluster *c, uint32_t id)
{
	uint32_t paces[SLOTS];

	return paces_of(c, id, paces) >= WARM_SLOTS;
}

/* The seed has its say in when that is. */
void cluster_warm_up(struct cluster *c)
{
	UNTIL(c, cluster_all(c, is_warm));
	cluster_deliver(c, 1 + payload_mix(c->options.seed) % 5000);
}

static int compare_pace(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

/* Before the first fault. */
static void measure(struct cluster *c)
{
	uint32_t paces[SLOTS] = {0}, count;

	for (uint32_t id = 0; id < c->options.nodes && !c->harmed; id++) {
		struct child *child = &c->children[id];

		count = paces_of(c, id, paces);
		qsort(paces, count, sizeof(paces[0]), compare_pace);
		child->pace = paces[count / 4]; /* a busy machine has good and bad moments */
		child->descriptors = descriptors_of(child->pid);
		child->mappings = mappings_of(child->pid);
	}
	c->harmed = true;
	c->harmed_ns = now_ns();
	c->view_ms = 0;
}

/* ---- faults --------------------------------------------------------------------------------------------------------- */

void cluster_order(struct cluster *c, uint32_t id, enum order order)
{
	c->board->order[id] = order;
}

void cluster_kill(struct cluster *c, uint32_t id)
{
	measure(c);
	c->children[id].fate = FATE_KILLED;
	kill(c->children[id].pid, SIGKILL);
}

void cluster_exit(struct cluster *c, uint32_t id)
{
	measure(c);
	c->children[id].fate = FATE_EXITED;
	cluster_order(c, id, ORDER_EXIT);
}

static bool stands_still(const struct cluster *c, uint32_t id)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)c->children[id].pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0;
}

void cluster_stop(struct cluster *c, uint32_t id)
{
	measure(c);
	kill(c->children[id].pid, SIGSTOP);
	UNTIL(c, stands_still(c, id));
	c->children[id].fate = FATE_STOPPED;
}

void cluster_stop_reading(struct cluster *c, uint32_t id)
{
	measure(c);
	cluster_order(c, id, ORDER_STOP_READING);
	UNTIL(c, stands_still(c, id));
	c->children[id].fate = FATE_STOPPED;
}

void cluster_continue(struct cluster *c, uint32_t id, enum fate fate)
{
	c->children[id].fate = fate;
	kill(c->children[id].pid, SIGCONT);
}

/* ---- what must follow ----------------------------------------------------------------------------------------------- */

bool cluster_is_in_view(const struct cluster *c, uint32_t id)
{
	return c->board->state[id].members == cluster_living(c);
}

static bool is_quick(const struct cluster *c, uint32_t id)
{
	const struct state *state = &c->board->state[id];
	uint32_t end = board_slot(c->board, now_ns());

	for (uint32_t slot = board_slot(c->board, state->view_ns) + 1; slot < end; slot++)
		if (state->slot[slot] >= c->children[id].pace / 3)
			return true;
	return false;
}

/* What the dead and the past have taken up is given back. */
static bool is_tidy(const struct cluster *c, uint32_t id)
{
	const struct child *child = &c->children[id];

	return descriptors_of(child->pid) <= child->descriptors && mappings_of(child->pid) <= child->mappings;
}

void cluster_recover(struct cluster *c)
{
	UNTIL(c, cluster_all(c, cluster_is_in_view));
	for (uint32_t id = 0; id < c->options.nodes; id++) {
		uint64_t view_ns = c->board->state[id].view_ns;

		if (c->children[id].fate == FATE_LIVES && view_ns > c->harmed_ns + (uint64_t)(c->view_ms * 1e6))
			c->view_ms = (double)(view_ns - c->harmed_ns) / 1e6;
	}
	cluster_deliver(c, 500);
	UNTIL(c, cluster_all(c, is_quick));
	UNTIL(c, cluster_all(c, is_tidy));
}

void cluster_see_removed(struct cluster *c, uint32_t id)
{
	const struct state *state = &c->board->state[id];

	c->children[id].fate = FATE_REMOVED;
	UNTIL(c, state->error == WHORL_REMOVED);
	if (state->text[0] == '\0')
		cluster_fail(c, "node %u is removed, and whorl_error does not say why", id);
}

static bool lacks_quorum(const struct cluster *c, uint32_t id)
{
	const struct state *state = &c->board->state[id];

	bool claims = false;

	for (uint32_t g = 0; g < GROUPS; g++)
		claims |= cluster_sends(c, g, id);
	return state->error == WHORL_NO_QUORUM && (!claims || state->claim == WHORL_NO_QUORUM);
}

void cluster_see_no_quorum(struct cluster *c)
{
	UNTIL(c, cluster_all(c, lacks_quorum));
}

/* ---- the end -------------------------------------------------------------------------------------------------------- */

static bool is_quiet(const struct cluster *c, uint32_t id)
{
	return c->board->state[id].stage == STAGE_QUIET;
}

static bool has_all(const struct cluster *c, uint32_t id)
{
	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t sender = 0; sender < c->options.nodes && cluster_takes_part(c, g, id); sender++)
			if (c->children[sender].fate == FATE_LIVES &&
			    c->board->state[id].delivered[g][sender] != c->board->state[sender].committed[g])
				return false;
	return true;
}

static void check_end(struct cluster *c, uint32_t id, bool whole)
{
	const struct child *child = &c->children[id];
	uint32_t closed = c->board->state[id].close;
	siginfo_t info = {.si_pid = 0};
	int code, status;

	UNTIL(c, waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0);
	close(child->pidfd);
	code = child->fate == FATE_KILLED ? CLD_KILLED : CLD_EXITED;
	status = child->fate == FATE_KILLED ? SIGKILL : 0;
	if (info.si_code != code || info.si_status != status)
		cluster_fail(c, "node %u ended with %d (code %d)", id, info.si_status, info.si_code);
	if (c->board->state[id].complained)
		cluster_fail(c, "node %u complains", id);
	if (child->fate == FATE_LIVES && whole && closed != WHORL_OK)
		cluster_fail(c, "node %u closed: %s", id, whorl_result_text((enum whorl_result)closed));
	if (child->fate == FATE_REMOVED && closed == WHORL_TIMEOUT)
		cluster_fail(c, "node %u was removed, and closing waited for others", id);
}

void cluster_end(struct cluster *c, bool whole)
{
	char text[512];

	c->board->ending = true;
	if (whole) {
		UNTIL(c, cluster_all(c, is_quiet));
		UNTIL(c, cluster_all(c, has_all));
	}
	c->board->close_ms = whole ? 30000 : 200;
	c->board->closing = true;
	for (uint32_t id = 0; id < c->options.nodes; id++)
		check_end(c, id, whole);
	if (!logs_agree(c, text, sizeof(text)))
		cluster_fail(c, "%s", text);
	if (lines_with("/proc/net/unix", c->name) != 0)
		cluster_fail(c, "a socket's name is left behind");
	munmap(c->board, sizeof(*c->board));
	close(c->board_fd);
}
