/* shm_deaths.c - T12 where processes are real: they are killed, stopped, run on without a connection, or become another program; and
 * what a node says of it, on each kind of kernel. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

/* What the kernel is taken to lack: nothing, what 6.5 brought, all. */
static const uint32_t kernels[] = {0, WH_SHM_LACKS_PEERPIDFD, WH_SHM_LACKS_PEERPIDFD | WH_SHM_LACKS_PIDFD_OPEN};

#define WITH_PROOF 2 /* of them, the first */
#define ALL_KERNELS 3
#define A_WHILE 1000 /* passes: a tenth of a second, or more */

/* ---- node 0, which is the test's, and others ------------------------------------------------------------------------ */

static void make_on(struct node *n, uint32_t id, const char *group, uint32_t nodes, uint32_t lacks)
{
	node_make(n, group, id, nodes);
	((struct wh_shm *)n->transport)->wire.lacks = lacks;
}

static const struct wh_shm_life *lives_of_1(const struct node *n)
{
	return ((struct wh_shm *)n->transport)->peers[1].lives;
}

static void live_again(struct node *n, const char *group, uint64_t incarnation)
{
	node_make_again(n, group, 1, 2, incarnation);
	NODE_UNTIL(n, n->met == 1);
}

static void pass_a_while(struct node *n)
{
	for (int k = 0; k < A_WHILE; k++)
		node_pass(n);
}

/* Node 1 of 2, with the image of both, that has said so by a word. */
static void be_ready(struct node *n, const char *group)
{
	node_make(n, group, 1, 2);
	node_open(n, ROW_BYTES);
	NODE_UNTIL(n, n->image->ready);
	node_post_word(n, 64, 1);
}

static int just_stay(const char *group)
{
	struct node n;

	for (be_ready(&n, group); true; node_pass(&n))
		;
	return 0;
}

static void meet_ready(struct node *n, const char *group, uint32_t lacks)
{
	make_on(n, 0, group, 2, lacks);
	node_open(n, ROW_BYTES);
	NODE_UNTIL(n, n->image->ready && node_column(n, 1, 64) == 1);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	reap(child);
}

/* ---- it is proven --------------------------------------------------------------------------------------------------- */

static void check_killed(struct node *n, pid_t child, bool reaped)
{
	uint64_t deadline = test_now() + PATIENCE_NS;

	kill(child, SIGKILL);
	if (reaped)
		reap(child);
	while (n->dead == 0 && test_now() < deadline) { /* each wait ends by itself, and not only its time */
		n->transport->ops->arm(n->transport);
		n->transport->ops->wait(n->transport, 2 * PATIENCE_NS);
		node_pass(n);
	}
	ck_assert_uint_eq(n->dead, 1);
	ck_assert_uint_eq(n->last_dead, INCARNATION(1));
	pass_a_while(n);
	ck_assert_uint_eq(n->dead, 1);
	ck_assert_uint_eq(n->down, 1);
	ck_assert_uint_eq(n->left + n->refused, 0);
	if (!reaped)
		reap(child);
}

/* Killed, and its parent looks at once or not at all. Node 0 is there first, and is called. */
START_TEST(killed)
{
	char group[40];
	struct node n;
	pid_t child;
	int before = count_fds();

	make_on(&n, 0, new_group(group), 2, kernels[_i % WITH_PROOF]);
	node_open(&n, ROW_BYTES);
	pass_a_while(&n);
	child = spawn_here(just_stay, group);
	NODE_UNTIL(&n, n.image->ready && node_column(&n, 1, 64) == 1);
	check_killed(&n, child, _i >= WITH_PROOF);
	node_free(&n);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

/* Node 0 comes later, and calls. */
START_TEST(killed_when_called)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(just_stay, new_group(group));
	int before = count_fds();

	for (int k = 0; k < 1000 && lines_with("/proc/net/unix", group) == 0; k++)
		usleep(10000);
	meet_ready(&n, group, kernels[_i % WITH_PROOF]);
	check_killed(&n, child, _i >= WITH_PROOF);
	node_free(&n);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

static int hold_memory(const char *group)
{
	const size_t bytes = (size_t)128 << 20;
	unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	(void)madvise(memory, bytes, MADV_NOHUGEPAGE);
	memset(memory, 1, bytes);
	return just_stay(group);
}

START_TEST(killed_with_much_memory)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(hold_memory, new_group(group));

	meet_ready(&n, group, kernels[_i]);
	check_killed(&n, child, false);
	node_free(&n);
}
END_TEST

/* And it has heard node 0 say so. */
static void be_told(struct node *n, const char *group)
{
	be_ready(n, group);
	NODE_UNTIL(n, node_column(n, 0, 64) == 1);
}

/* A child of it keeps the connection open, so that has no end. */
static int fork_and_stay(const char *group)
{
	struct node n;
	pid_t child;

	be_told(&n, group);
	for (uint64_t k = 0; k < 20; k++)
		ck_assert_int_eq(n.transport->ops->control_send(n.transport, 0, &k, sizeof(k)), WHORL_OK);
	child = fork();
	if (child == 0) {
		(void)setpgid(0, 0);
		return stay();
	}
	node_post_word(&n, 72, (uint64_t)child);
	return stay();
}

/* Node 0 has not looked since node 1 was told, of which that is the child. */
static pid_t grandchild_of(struct node *n)
{
	node_post_word(n, 64, 1);
	while (node_column(n, 1, 72) == 0)
		usleep(1000);
	return (pid_t)node_column(n, 1, 72);
}

/* And what it has said comes first, though there is much of it, and its process was seen to have ended before any of that. */
START_TEST(killed_and_its_child_has_the_connection)
{
	char group[40], died[40];
	struct node n;
	pid_t child = spawn_here(fork_and_stay, new_group(group)), grandchild;
	siginfo_t info;

	meet_ready(&n, group, kernels[_i]);
	grandchild = grandchild_of(&n);
	kill(child, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	NODE_UNTIL(&n, n.dead == 1);
	ck_assert_uint_eq(n.down, 1);
	ck_assert_uint_eq(n.controls_at_dead, 20);
	snprintf(died, sizeof(died), "node 1 (pid %d) has died", (int)child);
	ck_assert_msg(strstr(n.text, died) != NULL, "%s", n.text);
	reap(child);
	ck_assert_int_eq(kill(grandchild, SIGKILL), 0);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead + n.down, 2);
	node_free(&n);
}
END_TEST

/* A loop that takes no events does not lose that one. */
START_TEST(a_proof_waits_for_room)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(fork_and_stay, new_group(group)), grandchild;

	meet_ready(&n, group, kernels[_i]);
	grandchild = grandchild_of(&n);
	end(child);
	for (int k = 0; k < A_WHILE; k++)
		n.transport->ops->service(n.transport);
	ck_assert(wh_session_is_full(((struct wh_shm *)n.transport)->base.session));
	NODE_UNTIL(&n, n.dead == 1);
	ck_assert_uint_eq(n.controls_at_dead, 20);
	kill(grandchild, SIGKILL);
	node_free(&n);
}
END_TEST

/* ---- it is not ------------------------------------------------------------------------------------------------------ */

START_TEST(stopped)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(just_stay, new_group(group));
	int status;

	meet_ready(&n, group, kernels[_i]);
	kill(child, SIGSTOP);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead + n.down, 0);
	kill(child, SIGCONT);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead + n.down, 0);
	check_killed(&n, child, false);
	node_free(&n);
}
END_TEST

/* Its connection ends, and it runs on; then it is killed. */
static void check_runs_on(int (*body)(const char *group), uint32_t lacks)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(body, new_group(group));

	meet_ready(&n, group, lacks);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&n, n.down == 1);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, 0);
	ck_assert_int_eq(kill(child, 0), 0);
	check_killed(&n, child, false);
	node_free(&n);
}

static int close_and_stay(const char *group)
{
	struct node n;

	be_told(&n, group);
	node_free(&n);
	return stay();
}

START_TEST(closed_and_runs_on)
{
	check_runs_on(close_and_stay, kernels[_i]);
}
END_TEST

static void *become_sleep(void *unused)
{
	(void)unused;
	execlp("sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

static int become_another(const char *group)
{
	struct node n;

	be_told(&n, group);
	become_sleep(NULL);
	return 1;
}

static int become_another_by_a_thread(const char *group)
{
	pthread_t thread;
	struct node n;

	be_told(&n, group);
	if (pthread_create(&thread, NULL, become_sleep, NULL) == 0)
		pthread_join(thread, NULL);
	return 1;
}

START_TEST(became_another_program)
{
	check_runs_on(_i < WITH_PROOF ? become_another : become_another_by_a_thread, kernels[_i % WITH_PROOF]);
}
END_TEST

/* Nodes 1 and 2 are one process, and 1 ends. */
static int two_nodes(const char *group)
{
	struct node n[2];

	for (uint32_t i = 0; i < 2; i++) {
		node_make(&n[i], group, i + 1, 3);
		node_open(&n[i], ROW_BYTES);
	}
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	node_free(&n[0]);
	for (;;)
		node_pass(&n[1]);
	return 0;
}

START_TEST(one_of_two_nodes_of_a_process_ended)
{
	char group[40];
	struct node n;
	pid_t child;

	make_on(&n, 0, new_group(group), 3, kernels[_i]);
	node_open(&n, ROW_BYTES);
	child = spawn_here(two_nodes, group);
	NODE_UNTIL(&n, n.image->ready && n.down == 1);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, 0);
	end(child);
	NODE_UNTIL(&n, n.dead == 2 && n.down == 2);
	node_free(&n);
}
END_TEST

/* A node of this very process: no descriptor is held for it. */
START_TEST(a_node_of_ones_own_process)
{
	struct node n[2];

	nodes_make(n, 2);
	for (uint32_t id = 0; id < 2; id++)
		((struct wh_shm *)n[id].transport)->wire.lacks = kernels[_i];
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].met == 1 && n[1].met == 1));
	for (size_t i = 0; i < WH_SHM_LIVES; i++)
		ck_assert_int_eq(lives_of_1(&n[0])[i].pidfd, -1);
	node_free(&n[1]);
	NODE_UNTIL(&n[0], n[0].down == 1);
	pass_a_while(&n[0]);
	ck_assert_uint_eq(n[0].dead, 0);
	ck_assert(!((struct wh_shm *)n[0].transport)->wire.proofless); /* nothing to be said of it */
	node_free(&n[0]);
}
END_TEST

static int leave_and_stay(const char *group)
{
	struct node n;

	be_told(&n, group);
	n.transport->ops->leave(n.transport);
	node_free(&n);
	return stay();
}

START_TEST(left)
{
	char group[40];
	struct node n;
	pid_t child;
	int fds;

	make_on(&n, 0, new_group(group), 2, kernels[_i]);
	node_open(&n, ROW_BYTES);
	fds = count_fds();
	child = spawn_here(leave_and_stay, group);
	NODE_UNTIL(&n, n.image->ready && node_column(&n, 1, 64) == 1);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&n, n.left == 1);
	ck_assert_int_le(count_fds(), fds + 1); /* of its process one is kept; its own row is let go of as well */
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, 0);
	end(child);
	if (_i < WITH_PROOF)
		NODE_UNTIL(&n, n.dead == 1);
	pass_a_while(&n);
	ck_assert_int_le(count_fds(), fds);
	ck_assert_uint_eq(n.dead, _i < WITH_PROOF);
	ck_assert_uint_eq(n.left, 1);
	ck_assert_uint_eq(n.down, 0);
	node_free(&n);
}
END_TEST

/* It has left and ended before node 0 looks: both come at once, and are told in this order. */
START_TEST(left_and_ended)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(leave_and_stay, new_group(group));

	meet_ready(&n, group, kernels[_i]);
	node_post_word(&n, 64, 1);
	while (wh_load_acquire(&((struct wh_shm *)n.transport)->peers[1].status->left) == 0)
		usleep(1000);
	usleep(10000);
	end(child);
	pass_a_while(&n);
	ck_assert_uint_eq(n.left, 1);
	ck_assert_uint_eq(n.down, 0);
	ck_assert_uint_eq(n.dead, _i < WITH_PROOF);
	node_free(&n);
}
END_TEST

/* Node 0 itself has left: nothing comes any more, and nothing wakes it. */
START_TEST(nothing_comes_when_i_have_left)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(close_and_stay, new_group(group));
	uint64_t start;

	meet_ready(&n, group, kernels[_i]);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&n, n.down == 1);
	n.transport->ops->leave(n.transport);
	end(child);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, 0);
	start = test_now();
	n.transport->ops->arm(n.transport);
	n.transport->ops->wait(n.transport, 50 * WH_NS_PER_MS);
	ck_assert_uint_ge(test_now() - start, 50 * WH_NS_PER_MS);
	node_free(&n);
}
END_TEST

/* A process of a fork only closes what it has of it: the proof comes all the same. */
START_TEST(a_fork_takes_no_proof_away)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(just_stay, new_group(group)), fork_of_mine;

	meet_ready(&n, group, kernels[_i]);
	fork_of_mine = fork();
	if (fork_of_mine == 0) {
		n.transport->ops->destroy(n.transport, true);
		_exit(0);
	}
	ck_assert_int_eq(reap(fork_of_mine), 0);
	check_killed(&n, child, false);
	node_free(&n);
}
END_TEST

/* ---- lives ---------------------------------------------------------------------------------------------------------- */

static int be_the_second(const char *group)
{
	struct node n;

	for (live_again(&n, group, 1000); true; node_pass(&n))
		;
	return 0;
}

/* Its place is taken by another process, which is met; then comes the proof of the one before. */
START_TEST(the_next_is_met_before)
{
	char group[40];
	struct node n;
	pid_t first = spawn_here(close_and_stay, new_group(group)), second;

	meet_ready(&n, group, kernels[_i]);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&n, n.down == 1);
	second = spawn_here(be_the_second, group);
	NODE_UNTIL(&n, n.met == 2);
	ck_assert_uint_eq(n.last_met, 1000);
	ck_assert_uint_eq(n.dead, 0);
	end(first);
	NODE_UNTIL(&n, n.dead == 1);
	ck_assert_uint_eq(n.last_dead, INCARNATION(1));
	ck_assert_uint_eq(n.down, 1);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead + n.down, 2);
	end(second);
	NODE_UNTIL(&n, n.dead == 2);
	ck_assert_uint_eq(n.last_dead, 1000);
	node_free(&n);
}
END_TEST

#define MANY_LIVES (2 * WH_SHM_LIVES + 1)

static int live_many_times(const char *group)
{
	struct node n;

	for (uint64_t life = 1; life <= MANY_LIVES; life++) {
		live_again(&n, group, 1000 + life);
		node_free(&n);
	}
	return stay();
}

START_TEST(of_many_lives_the_last_are_watched)
{
	char group[40];
	struct node n;
	pid_t child;
	int fds;

	make_on(&n, 0, new_group(group), 2, kernels[_i]);
	pass_a_while(&n);
	fds = count_fds();
	child = spawn_here(live_many_times, group);
	NODE_UNTIL(&n, n.met == MANY_LIVES && n.down == MANY_LIVES);
	ck_assert_int_le(count_fds(), fds + WH_SHM_LIVES);
	for (size_t i = 0; i < WH_SHM_LIVES; i++)
		ck_assert_uint_gt(lives_of_1(&n)[i].incarnation, 1000 + MANY_LIVES - WH_SHM_LIVES);
	end(child);
	NODE_UNTIL(&n, n.dead == WH_SHM_LIVES);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, WH_SHM_LIVES);
	ck_assert_int_le(count_fds(), fds);
	node_free(&n);
}
END_TEST

/* What epoll has told may be of a life that was in its place before. */
START_TEST(what_epoll_says_is_looked_at)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(just_stay, new_group(group));

	meet_ready(&n, group, kernels[_i]);
	for (uint32_t i = 0; i < WH_SHM_LIVES; i++)
		ck_assert_uint_eq(wh_shm_proof_on_ready((struct wh_shm *)n.transport, WH_SHM_LIVES + i), 0);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead + n.down, 0);
	ck_assert((fcntl(lives_of_1(&n)[0].pidfd, F_GETFD) & FD_CLOEXEC) != 0);
	end(child);
	node_free(&n);
}
END_TEST

/* ---- last words ----------------------------------------------------------------------------------------------------- */

static wh_word *said; /* shared with children: what node 1 has stored in its row before that */

/* Says one after the other, as long as it lives. */
static int say_numbers(const char *group)
{
	struct node n;

	be_ready(&n, group);
	for (uint64_t k = 1; true; k++) {
		node_post_word(&n, 128, k);
		wh_store_relaxed(said, k);
	}
	return 0;
}

START_TEST(the_last_words_are_read)
{
	char group[40];
	uint64_t frozen_at, last;
	struct node n;
	pid_t child;

	said = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = spawn_here(say_numbers, new_group(group));
	meet_ready(&n, group, kernels[_i % WITH_PROOF]);
	NODE_UNTIL(&n, node_column(&n, 1, 128) > 10);
	image_freeze(n.image, 1);
	frozen_at = node_column(&n, 1, 128);
	NODE_UNTIL(&n, wh_load_relaxed(said) > frozen_at + 100);
	kill(child, SIGKILL);
	NODE_UNTIL(&n, n.dead == 1);
	ck_assert_uint_eq(node_column(&n, 1, 128), frozen_at);
	ck_assert(n.image->ops->thaw(n.image, 1));
	last = node_column(&n, 1, 128);
	ck_assert(last == wh_load_relaxed(said) || last == wh_load_relaxed(said) + 1);
	pass_a_while(&n);
	ck_assert_uint_eq(node_column(&n, 1, 128), last);
	image_close(n.image);
	node_free(&n);
	reap(child);
}
END_TEST

static int meet_alone(const char *group)
{
	struct node n;

	for (node_make(&n, group, 1, 2); true; node_pass(&n))
		;
	return 0;
}

/* It never opened the image. */
START_TEST(a_row_that_never_was)
{
	char group[40];
	struct node n;
	pid_t child = spawn_here(meet_alone, new_group(group));

	make_on(&n, 0, group, 2, kernels[_i]);
	NODE_UNTIL(&n, n.met == 1);
	node_open(&n, ROW_BYTES);
	end(child);
	NODE_UNTIL(&n, n.dead == 1);
	ck_assert(!n.image->ops->thaw(n.image, 1));
	ck_assert(!n.image->ops->thaw(n.image, 0));
	node_free(&n);
}
END_TEST

/* Of an image that is not ready, which is all that a loop may be waiting for. */
START_TEST(thawing_wakes)
{
	const struct wh_poll *poll;
	struct node n[2];

	nodes_make(n, 2);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].met == 1 && n[1].met == 1));
	node_open(&n[1], ROW_BYTES); /* which offers its row, and does not take that of the other */
	node_open(&n[0], ROW_BYTES);
	pass_a_while(&n[0]);
	poll = &((struct wh_shm *)n[0].transport)->poll;
	(void)wh_poll_hush(poll);
	ck_assert(n[0].image->ops->thaw(n[0].image, 1));
	ck_assert(wh_poll_hush(poll));
	NODE_UNTIL(&n[0], n[0].image->ready);
	ck_assert(n[0].image->ops->thaw(n[0].image, 1));
	ck_assert(!wh_poll_hush(poll));
	node_free(&n[0]);
	node_free(&n[1]);
}
END_TEST

/* ---- no proof can be had -------------------------------------------------------------------------------------------- */

struct lines {
	int warnings, proofless;
};

static void count_line(void *ctx, enum wh_log_level level, const char *line)
{
	struct lines *lines = ctx;

	lines->warnings += level <= WH_LOG_WARNING;
	lines->proofless += strstr(line, "there will be no proof") != NULL;
}

static void make_logging(struct node *n, const char *group, uint32_t nodes, struct wh_env *env, struct lines *lines)
{
	struct wh_transport_config config = {
		.group = group, .nodes = nodes, .incarnation = INCARNATION(0), .patience_ns = WH_NS_PER_S};
	struct wh_error err;

	*env = *wh_env_system();
	env->ctx = lines;
	env->log = count_line;
	config.env = env;
	*n = (struct node){.nodes = nodes};
	ck_assert_msg(wh_shm_create(&config, NULL, &n->transport, &err) == WHORL_OK, "%s", err.text);
}

static int meet_as_2(const char *group)
{
	struct node n;

	for (node_make(&n, group, 2, 3); true; node_pass(&n))
		;
	return 0;
}

static int meet_as_1(const char *group)
{
	struct node n;

	for (node_make(&n, group, 1, 3); true; node_pass(&n))
		;
	return 0;
}

/* Neither way: it goes on as on a network, and says so once, not of each. */
START_TEST(no_way_to_a_proof)
{
	struct lines lines = {.warnings = 0};
	struct wh_env env;
	char group[40];
	struct node n;
	pid_t children[2];

	make_logging(&n, new_group(group), 3, &env, &lines);
	((struct wh_shm *)n.transport)->wire.lacks = kernels[ALL_KERNELS - 1];
	children[0] = spawn_here(meet_as_1, group);
	children[1] = spawn_here(meet_as_2, group);
	NODE_UNTIL(&n, n.met == 2);
	ck_assert_int_eq(lines.proofless, 1);
	ck_assert_int_eq(lines.warnings, 1);
	end(children[0]);
	end(children[1]);
	NODE_UNTIL(&n, n.down == 2);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, 0);
	node_free(&n);
}
END_TEST

/* ---- a pid that is not that of the one that speaks ------------------------------------------------------------------ *
 * Before 6.5. A process connects, says HELLO, and a child of it goes on with the connection. */

struct taker {
	int go[2]; /* a byte: answer */
	pid_t pid; /* of the child, that writes it before it answers: its parent may not run again before that */
};

static int take(const struct raw *r, struct taker *taker)
{
	char byte;

	taker->pid = getpid();
	if (read(taker->go[0], &byte, 1) != 1)
		return 1;
	if (!raw_say(r->socket, WH_MESSAGE_TAKEN, 0))
		return 2;
	return stay();
}

/* The process that connects. */
static int connect_and_fork(const char *group, struct taker *taker)
{
	struct raw r;

	raw_connect(&r, group, 0, 1, 2);
	raw_say_hello_alone(&r);
	return fork() == 0 ? take(&r, taker) : stay();
}

static struct taker *taker_new(void)
{
	struct taker *taker = mmap(NULL, sizeof(*taker), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(taker, MAP_FAILED);
	ck_assert_int_eq(pipe(taker->go), 0);
	return taker;
}

static pid_t spawn_taker(const char *group, struct taker *taker)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(connect_and_fork(group, taker));
	return pid;
}

static bool is_answered(const struct node *n)
{
	return wh_session_peer(((struct wh_shm *)n->transport)->base.session, 1)->state == WH_PEER_ANSWERED;
}

/* The pid that the kernel knows the connection by is not that of the process that answers: its end proves nothing. */
START_TEST(another_process_answers)
{
	struct taker *taker = taker_new();
	char group[40];
	struct node n;
	pid_t child;

	make_on(&n, 0, new_group(group), 2, WH_SHM_LACKS_PEERPIDFD);
	child = spawn_taker(group, taker);
	NODE_UNTIL(&n, is_answered(&n));
	ck_assert_int_eq(write(taker->go[1], "x", 1), 1);
	NODE_UNTIL(&n, n.met == 1);
	ck_assert_int_gt(taker->pid, 0);
	ck_assert_int_eq(kill(taker->pid, 0), 0);
	end(child);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead + n.down, 0);
	kill(taker->pid, SIGKILL);
	NODE_UNTIL(&n, n.down == 1);
	pass_a_while(&n);
	ck_assert_uint_eq(n.dead, 0);
	node_free(&n);
}
END_TEST

/* The process that was opened has ended when the answer comes: so another has its pid, though it is the same. */
START_TEST(the_pid_is_used_again)
{
	struct wh_shm_wire wire = {.lacks = WH_SHM_LACKS_PEERPIDFD};
	struct wh_shm_conn conn = {.wire = &wire, .pidfd = -1};
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	conn.socket = ends[0];
	conn.pid = fork();
	if (conn.pid == 0)
		_exit(stay());
	wh_shm_proof_ask(&conn);
	ck_assert_int_ge(conn.pidfd, 0);
	ck_assert(conn.doubted);
	if (_i == 1)
		kill(conn.pid, SIGKILL);
	if (_i == 1)
		ck_assert_int_eq(waitid(P_PID, (id_t)conn.pid, &(siginfo_t){.si_pid = 0}, WEXITED | WNOWAIT), 0);
	wh_shm_proof_on_answer(&conn, conn.pid);
	ck_assert(!conn.doubted);
	ck_assert((conn.pidfd < 0) == (_i == 1));
	wh_shm_proof_drop(&conn);
	end(conn.pid);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

static void add_proven(TCase *cases)
{
	tcase_add_loop_test(cases, killed, 0, 2 * WITH_PROOF);
	tcase_add_loop_test(cases, killed_when_called, 0, 2 * WITH_PROOF);
	tcase_add_loop_test(cases, killed_with_much_memory, 0, WITH_PROOF);
	tcase_add_loop_test(cases, killed_and_its_child_has_the_connection, 0, WITH_PROOF);
	tcase_add_loop_test(cases, a_proof_waits_for_room, 0, WITH_PROOF);
	tcase_add_loop_test(cases, a_fork_takes_no_proof_away, 0, WITH_PROOF);
}

static void add_unproven(TCase *cases)
{
	tcase_add_loop_test(cases, stopped, 0, WITH_PROOF);
	tcase_add_loop_test(cases, closed_and_runs_on, 0, WITH_PROOF);
	tcase_add_loop_test(cases, became_another_program, 0, 2 * WITH_PROOF);
	tcase_add_loop_test(cases, one_of_two_nodes_of_a_process_ended, 0, WITH_PROOF);
	tcase_add_loop_test(cases, a_node_of_ones_own_process, 0, ALL_KERNELS);
	tcase_add_loop_test(cases, left, 0, ALL_KERNELS);
	tcase_add_loop_test(cases, left_and_ended, 0, ALL_KERNELS);
	tcase_add_loop_test(cases, nothing_comes_when_i_have_left, 0, ALL_KERNELS);
	tcase_add_test(cases, no_way_to_a_proof);
}

static void add_lives(TCase *cases)
{
	tcase_add_loop_test(cases, the_next_is_met_before, 0, WITH_PROOF);
	tcase_add_loop_test(cases, of_many_lives_the_last_are_watched, 0, WITH_PROOF);
	tcase_add_loop_test(cases, what_epoll_says_is_looked_at, 0, WITH_PROOF);
	tcase_add_test(cases, another_process_answers);
	tcase_add_loop_test(cases, the_pid_is_used_again, 0, 2);
}

static void add_words(TCase *cases)
{
	tcase_add_loop_test(cases, the_last_words_are_read, 0, 10);
	tcase_add_loop_test(cases, a_row_that_never_was, 0, WITH_PROOF);
	tcase_add_test(cases, thawing_wakes);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*add)(TCase *cases);
	} all[] = {{"proven", add_proven}, {"unproven", add_unproven}, {"lives", add_lives}, {"words", add_words}};
	Suite *suite = suite_create("shm and deaths");

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		TCase *cases = tcase_create(all[i].name);

		tcase_set_timeout(cases, 60);
		all[i].add(cases);
		suite_add_tcase(suite, cases);
	}
	return test_main(suite);
}
