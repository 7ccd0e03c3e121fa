/* cluster.c - see cluster.h: starting, waiting and harming; what must follow is in outcome.c. */
#include "tests/processes/cluster_int.h"

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
#include <time.h>
#include <unistd.h>

#include "tests/processes/disks.h"
#include "tests/processes/payload.h"

static const char *const fates[] = {"lives", "killed", "exited", "stopped", "removed", "doubtful", "leaves", "refused"};
static const char *const stages[] = {"beginning", "open", "ready", "quiet", "closed"};

/* ---- failing -------------------------------------------------------------------------------------------------------- */

static void print_member(const struct cluster *c, uint32_t life)
{
	const struct state *state = &c->board->state[life];

	fprintf(stderr,
		"  node %u, life %u (%s, %s): view %llu of members %llx, %llu messages; error: %s (%s); claim: %s\n",
		state->id, life, fates[c->children[life].fate], stages[state->stage], (unsigned long long)state->view,
		(unsigned long long)state->members, (unsigned long long)state->total,
		whorl_result_text((enum whorl_result)state->error), state->text,
		whorl_result_text((enum whorl_result)state->claim));
	if (state->stage == STAGE_OPEN)
		fprintf(stderr, "    progress: %s\n", state->progress);
	for (uint32_t g = 0; g < GROUPS; g++) {
		fprintf(stderr, "    group %u: claimed %llu, committed %llu; delivered of each:", g,
			(unsigned long long)state->claimed[g], (unsigned long long)state->committed[g]);
		for (uint32_t s = 0; s < c->lives; s++)
			if (state->delivered[g][s] > 0)
				fprintf(stderr, " %u:%llu", s, (unsigned long long)state->delivered[g][s]);
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
	for (uint32_t n = c->note_count > NOTES ? c->note_count - NOTES : 0; n < c->note_count; n++)
		fprintf(stderr, "  %s\n", c->notes[n % NOTES]);
	for (uint32_t life = 0; life < c->lives; life++)
		if (!c->children[life].ended || c->board->state[life].complained || life + 4 >= c->lives)
			print_member(c, life);
	for (uint32_t life = 0; life < c->lives; life++)
		if (c->children[life].pid > 0 && !c->children[life].ended)
			kill(c->children[life].pid, SIGKILL);
	while (wait(NULL) > 0) /* until then they may make files */
		;
	cluster_remove_records(c);
	if (getenv("WHORL_DISKS") == NULL)
		disks_remove(c);
	exit(EXIT_FAILURE);
}

void cluster_note(struct cluster *c, const char *format, ...)
{
	char *note = c->notes[c->note_count++ % NOTES];
	size_t bytes = sizeof(c->notes[0]);
	int length = snprintf(note, bytes, "%10.3f s: ", (double)(now_ns() - c->board->start_ns) / 1e9);
	va_list args;

	va_start(args, format);
	vsnprintf(note + length, bytes - (size_t)length, format, args);
	va_end(args);
	if (getenv("WHORL_NOTES") != NULL)
		fprintf(stderr, "%s\n", note);
}

static bool may_end(const struct cluster *c, uint32_t life)
{
	enum fate fate = c->children[life].fate;

	return fate == FATE_KILLED || fate == FATE_EXITED || fate == FATE_REFUSED || c->children[life].closes ||
	       c->board->closing;
}

/* A living node may lack a quorum for a while, and nothing else. */
static bool is_lost(const struct cluster *c, uint32_t life)
{
	uint32_t error = c->board->state[life].error;

	return error != WHORL_OK && error != WHORL_NO_QUORUM;
}

_Noreturn static void fail_ended(struct cluster *c, uint32_t life, const char *what)
{
	siginfo_t info = {.si_pid = 0};

	waitid(P_PID, (id_t)c->children[life].pid, &info, WEXITED | WNOHANG | WNOWAIT);
	cluster_fail(c, "life %u has ended (%s %d), while waiting for: %s", life,
		     info.si_code == CLD_EXITED ? "exit status" : "signal", info.si_status, what);
}

void cluster_pass(struct cluster *c, uint64_t deadline, const char *what)
{
	struct pollfd ends[LIVES_MAX];

	for (uint32_t life = 0; life < c->lives; life++)
		ends[life] = (struct pollfd){
			.fd = may_end(c, life) || c->children[life].ended ? -1 : c->children[life].pidfd,
			.events = POLLIN};
	poll(ends, c->lives, 1);
	for (uint32_t life = 0; life < c->lives; life++) {
		if (c->board->state[life].complained)
			cluster_fail(c, "life %u complains", life);
		if (c->children[life].fate == FATE_LIVES && is_lost(c, life))
			cluster_fail(c, "life %u is lost, while waiting for: %s", life, what);
		if (ends[life].revents != 0)
			fail_ended(c, life, what);
	}
	if (now_ns() > deadline)
		cluster_fail(c, "too long: %s", what);
}

uint64_t cluster_draw(struct cluster *c, uint64_t below)
{
	return payload_mix(payload_mix(c->options.seed) + c->draws++) % below;
}

void cluster_at(uint64_t from_ns, uint64_t after_ns)
{
	uint64_t until = from_ns + after_ns;

	for (uint64_t now = now_ns(); now < until; now = now_ns()) {
		const struct timespec rest = {.tv_sec = (time_t)((until - now) / 1000000000),
					      .tv_nsec = (long)((until - now) % 1000000000)};

		ppoll(NULL, 0, &rest, NULL);
	}
}

/* ---- starting ------------------------------------------------------------------------------------------------------- */

static void *make_memory(const char *name, size_t bytes, int *fd)
{
	void *at = MAP_FAILED;

	*fd = memfd_create(name, 0); /* which the members inherit */
	if (*fd >= 0 && ftruncate(*fd, (off_t)bytes) == 0)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
	if (at == MAP_FAILED) {
		perror(name);
		exit(EXIT_FAILURE);
	}
	return at;
}

/* The rest of every state. */
static void make_body(struct cluster *c)
{
	size_t bytes = c->options.body_bytes;
	uint64_t *words;

	c->board->body_fd = -1;
	if (bytes == 0)
		return;
	words = make_memory("processes-body", bytes, &c->board->body_fd);
	for (size_t i = 0; i < bytes / 8; i++)
		words[i] = payload_word(c->options.seed, i);
	munmap(words, bytes);
	c->board->body_bytes = bytes;
	c->board->body_groups = c->options.body_groups;
}

bool cluster_is_on_one_host(const struct cluster *c)
{
	return c->options.transport == NULL || strcmp(c->options.transport, "shm") == 0;
}

static void make_state_dir(struct cluster *c)
{
	if (!c->options.records || cluster_is_on_one_host(c))
		return;
	snprintf(c->state_dir, sizeof(c->state_dir), "/tmp/whorl-records-XXXXXX");
	if (mkdtemp(c->state_dir) == NULL) {
		perror(c->state_dir);
		exit(EXIT_FAILURE);
	}
}

void cluster_remove_records(const struct cluster *c)
{
	char path[sizeof(c->state_dir) + 64];

	for (uint32_t id = 0; id < LIVES_MAX && c->state_dir[0] != '\0'; id++) {
		snprintf(path, sizeof(path), "%s/%s.%u.group", c->state_dir, c->name, id);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s.%u.group.new", c->state_dir, c->name, id);
		unlink(path);
	}
	if (c->state_dir[0] != '\0')
		rmdir(c->state_dir);
}

void cluster_make(struct cluster *c, const struct cluster_options *options)
{
	*c = (struct cluster){.options = *options};
	snprintf(c->name, sizeof(c->name), "processes-%d-%llx", (int)getpid(), (unsigned long long)now_ns());
	make_state_dir(c);
	disks_make(c);
	c->board = make_memory("processes-board", sizeof(*c->board), &c->board_fd);
	make_body(c);
	cluster_write_config(c);
	c->board->seed = options->seed;
	c->board->durable = options->durable;
	c->board->parent = getpid();
	c->board->ballast_bytes = c->options.ballast_bytes;
	c->board->start_ns = now_ns();
}

uint32_t cluster_add(struct cluster *c, uint32_t id, const char *quirk)
{
	uint32_t life = c->lives;
	struct child *child = &c->children[life];
	struct state *state = &c->board->state[life];
	const char *thread = c->options.thread;
	char number[12], descriptor[12];

	if (life == LIVES_MAX)
		cluster_fail(c, "too many lives");
	state->id = id;
	state->caller = thread != NULL ? strcmp(thread, "caller") == 0 : (life + c->options.seed) % 2 == 1;
	if (quirk != NULL)
		snprintf(state->quirk, sizeof(state->quirk), "%s", quirk);
	c->board->lives = ++c->lives;
	snprintf(number, sizeof(number), "%u", life);
	snprintf(descriptor, sizeof(descriptor), "%d", c->board_fd);
	child->pid = fork();
	if (child->pid == 0) {
		disks_watch(c, id);
		execl("/proc/self/exe", "member", "member", number, descriptor, (char *)NULL);
		_exit(3);
	}
	child->pidfd = child->pid > 0 ? pidfd_open(child->pid, 0) : -1;
	if (child->pidfd < 0)
		cluster_fail(c, "no process for node %u: %s", id, strerror(errno));
	return life;
}

bool cluster_is_ready(const struct cluster *c, uint32_t life)
{
	return c->board->state[life].stage == STAGE_READY;
}

void cluster_start(struct cluster *c, const struct cluster_options *options)
{
	cluster_make(c, options);
	for (uint32_t id = 0; id < (options->first > 0 ? options->first : options->nodes); id++)
		cluster_add(c, id, NULL);
	UNTIL(c, cluster_all(c, cluster_is_ready));
	c->first_slot = board_slot(c->board, now_ns()) + 1;
}

/* ---- waiting for messages ------------------------------------------------------------------------------------------- */

bool cluster_all(const struct cluster *c, cluster_is *is)
{
	for (uint32_t life = 0; life < c->lives; life++)
		if (c->children[life].fate == FATE_LIVES && !is(c, life))
			return false;
	return true;
}

uint64_t cluster_living(const struct cluster *c)
{
	uint64_t living = 0;

	for (uint32_t life = 0; life < c->lives; life++)
		if (c->children[life].fate == FATE_LIVES)
			living |= UINT64_C(1) << c->board->state[life].id;
	return living;
}

void cluster_deliver(struct cluster *c, uint64_t more)
{
	uint64_t goals[LIVES_MAX];

	for (uint32_t life = 0; life < c->lives; life++)
		goals[life] = c->board->state[life].total + more;
	for (uint32_t life = 0; life < c->lives; life++)
		if (c->children[life].fate == FATE_LIVES)
			UNTIL(c, c->board->state[life].total >= goals[life]);
}

/* The seed has its say in when that is. */
void cluster_warm_up(struct cluster *c)
{
	UNTIL(c, cluster_all(c, cluster_is_warm));
	cluster_deliver(c, 1 + payload_mix(c->options.seed) % 5000);
}

/* ---- faults --------------------------------------------------------------------------------------------------------- */

void cluster_order(struct cluster *c, uint32_t life, enum order order)
{
	c->board->state[life].order = order;
}

void cluster_kill(struct cluster *c, uint32_t life)
{
	cluster_measure(c);
	c->children[life].fate = FATE_KILLED;
	kill(c->children[life].pid, SIGKILL);
}

void cluster_exit(struct cluster *c, uint32_t life)
{
	cluster_measure(c);
	c->children[life].fate = FATE_EXITED;
	cluster_order(c, life, ORDER_EXIT);
}

static bool stands_still(const struct cluster *c, uint32_t life)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)c->children[life].pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0;
}

void cluster_stop(struct cluster *c, uint32_t life)
{
	cluster_measure(c);
	kill(c->children[life].pid, SIGSTOP);
	UNTIL(c, stands_still(c, life));
	c->children[life].fate = FATE_STOPPED;
}

void cluster_stop_reading(struct cluster *c, uint32_t life)
{
	cluster_measure(c);
	cluster_order(c, life, ORDER_STOP_READING);
	UNTIL(c, stands_still(c, life));
	c->children[life].fate = FATE_STOPPED;
}

void cluster_continue(struct cluster *c, uint32_t life, enum fate fate)
{
	c->children[life].fate = fate;
	kill(c->children[life].pid, SIGCONT);
}

void cluster_close(struct cluster *c, uint32_t life)
{
	c->children[life].closes = true;
	c->board->state[life].close_ms = CLOSE_MS;
	cluster_order(c, life, ORDER_CLOSE);
}

void cluster_leave(struct cluster *c, uint32_t life)
{
	cluster_measure(c);
	c->children[life].fate = FATE_LEAVES;
	cluster_close(c, life);
}

/* ---- gaps ----------------------------------------------------------------------------------------------------------- */

void cluster_watch_gaps(struct cluster *c)
{
	c->board->gaps_from = now_ns();
}

double cluster_longest_gap_ms(const struct cluster *c)
{
	uint64_t from = c->board->gaps_from, now = now_ns(), longest = 0;

	for (uint32_t life = 0; life < c->lives; life++) {
		const struct state *state = &c->board->state[life];
		uint64_t last = state->last_ns > from ? state->last_ns : from, gap = now > last ? now - last : 0;

		if (c->children[life].fate != FATE_LIVES || state->ready_ns == 0 || state->ready_ns > from)
			continue;
		if (state->gap_from == from && state->gap_ns > gap)
			gap = state->gap_ns;
		if (gap > longest)
			longest = gap;
	}
	return (double)longest / 1e6;
}
