/* shm_processes.c - shared memory between processes: what the MMU forbids, what the kernel tells, what is left behind. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

/* A child that is node 1 of 2, its image ready; and has told node 0 so by a word. */
static void be_node_1(struct node *n, const char *group)
{
	node_make(n, group, 1, 2);
	node_open(n, ROW_BYTES);
	NODE_UNTIL(n, n->image->ready);
	node_post_word(n, 64, 1);
}

/* Until it is killed. */
static int just_stay(const char *group)
{
	struct node n;

	for (be_node_1(&n, group); true; node_pass(&n))
		;
	return 0;
}

static void meet_node_1(struct node *n, const char *group)
{
	node_make(n, group, 0, 2);
	node_open(n, ROW_BYTES);
	NODE_UNTIL(n, n->image->ready && node_column(n, 1, 64) == 1);
}

/* ---- the MMU ------------------------------------------------------------------------------------------------------ */

/* Offsets in the row of node 0, and whether it is a write that must fault there. */
static const struct stray {
	uint64_t offset;
	bool write;
} strays[] = {
	{64, true},                        /* a column */
	{RING_READ, true},                 /* a ring that is read here */
	{RING_UNREAD, true},               /* one that is not */
	{RING_UNREAD, false},              /* nor can it be read */
	{RING_READ + WH_ROW_ALIGN, false}, /* nor what lies behind the last part */
};

static int stray_child(const char *group, const struct stray *stray)
{
	volatile unsigned char *row;
	struct node n;

	be_node_1(&n, group);
	signal(SIGSEGV, SIG_DFL); /* a sanitizer would have it */
	row = (volatile unsigned char *)(uintptr_t)n.image->row[0];
	if (row[0] != 0 || row[RING_READ] != 0)
		return 1;
	if (stray->write)
		row[stray->offset] = 1;
	else if (row[stray->offset] == 0)
		return 2;
	return 3;
}

TEST_CASE("processes", .timeout_s = 60);

TEST_LOOP(a_stray_access_faults, 0, sizeof(strays) / sizeof(strays[0]))
{
	char group[40];
	struct node n;
	pid_t child;
	int status;

	new_group(group);
	child = fork();
	if (child == 0)
		_exit(stray_child(group, &strays[_i]));
	meet_node_1(&n, group);
	status = reap(child);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status %x", (unsigned)status);
	for (uint64_t k = 0; k < ROW_BYTES; k++)
		ck_assert_int_eq(n.image->own[k], 0);
	NODE_UNTIL(&n, n.down == 1);
	node_free(&n);
}

static void check_sealed(int fd, uint64_t bytes)
{
	void *map;

	ck_assert_ptr_eq(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_ne(mprotect(map, bytes, PROT_READ | PROT_WRITE), 0);
	ck_assert_int_lt(write(fd, "x", 1), 0);
	ck_assert_int_ne(ftruncate(fd, 0), 0);
	ck_assert_int_ne(ftruncate(fd, (off_t)bytes * 2), 0);
	ck_assert_int_ne(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes), 0);
	ck_assert_int_ne(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	munmap(map, bytes);
}

TEST(what_a_peer_gets_cannot_be_written)
{
	char group[40];
	struct node n;
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	node_open(&n, ROW_BYTES);
	raw_connect(&r, group, 0, 1, 2);
	raw_say_hello(&r);
	ck_assert_int_eq(raw_receive(&r, &n), WH_WIRE_DONE);
	ck_assert_int_eq(r.head.kind, WH_MESSAGE_HELLO);
	check_sealed(r.got.fds[1], WH_SHM_STATUS_BYTES);
	wh_shm_datagram_close_fds(&r.got);
	ck_assert_int_eq(raw_receive(&r, &n), WH_WIRE_DONE);
	ck_assert_int_eq(r.head.kind, WH_MESSAGE_OFFER);
	check_sealed(r.got.fds[0], ROW_BYTES);
	wh_shm_datagram_close_fds(&r.got);
	raw_close(&r);
	node_free(&n);
}

/* ---- death, leaving, forks ---------------------------------------------------------------------------------------- */

TEST(a_kill_is_noticed_at_once)
{
	char group[40], died[40];
	uint64_t killed;
	struct node n;
	pid_t child = spawn(just_stay, new_group(group));

	meet_node_1(&n, group);
	n.transport->ops->arm(n.transport);
	kill(child, SIGKILL);
	killed = test_now();
	for (int k = 0; k < 100 && n.down == 0; k++) { /* the wait itself ends, not only its time */
		n.transport->ops->wait(n.transport, PATIENCE_NS);
		node_pass(&n);
	}
	ck_assert_uint_eq(n.down, 1);
	ck_assert_uint_lt(test_now() - killed, 5 * WH_NS_PER_S); /* long before any time-out */
	snprintf(died, sizeof(died), "node 1 (pid %d) has died", (int)child);
	ck_assert_msg(strstr(n.text, died) != NULL, "%s", n.text);
	ck_assert_uint_eq(node_column(&n, 1, 64), 1);
	for (int k = 0; k < 20; k++)
		node_pass(&n);
	ck_assert_uint_eq(n.down + n.left, 1);
	reap(child);
	node_free(&n);
}

static int leave_when_told(const char *group)
{
	struct node n;

	be_node_1(&n, group);
	NODE_UNTIL(&n, node_column(&n, 0, 64) == 1);
	n.transport->ops->leave(n.transport);
	node_free(&n);
	return 0;
}

TEST(leaving_between_processes)
{
	char group[40];
	struct node n;
	pid_t child = spawn(leave_when_told, new_group(group));

	meet_node_1(&n, group);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&n, n.left == 1);
	ck_assert_int_eq(reap(child), 0);
	for (int k = 0; k < 20; k++)
		node_pass(&n);
	ck_assert_uint_eq(n.down + n.refused, 0);
	node_free(&n);
}

/* A node that has left hears no more of the others, which hang up because it left. */
TEST(leaving_is_silent)
{
	char group[40];
	struct node n, peer;

	node_make(&n, new_group(group), 0, 2);
	node_make(&peer, group, 1, 2);
	node_open(&n, ROW_BYTES);
	node_open(&peer, ROW_BYTES);
	NODE_UNTIL(&n, (node_pass(&peer), n.image->ready && peer.image->ready));
	n.transport->ops->leave(n.transport);
	NODE_UNTIL(&n, (node_pass(&peer), peer.left == 1));
	for (int k = 0; k < 50; k++)
		node_pass(&n);
	ck_assert_uint_eq(n.left + n.down + n.refused, 0);
	node_free(&n);
	node_free(&peer);
}

/* A fork lets go; that is nothing to the node nor to its peers. And when the node closes while its fork lives on, with
 * copies of all descriptors, the peers see it all the same. */
TEST(a_fork_only_lets_go)
{
	char group[40];
	struct node n, peer;
	pid_t child;

	node_make(&n, new_group(group), 0, 2);
	node_make(&peer, group, 1, 2);
	node_open(&n, ROW_BYTES);
	node_open(&peer, ROW_BYTES);
	NODE_UNTIL(&n, (node_pass(&peer), n.image->ready && peer.image->ready));
	child = fork();
	if (child == 0) {
		n.transport->ops->destroy(n.transport, true);
		_exit(0);
	}
	ck_assert_int_eq(reap(child), 0);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&peer, node_column(&peer, 0, 64) == 1);
	n.transport->ops->arm(n.transport);
	node_post_word(&peer, 64, 2);
	n.transport->ops->wait(n.transport, PATIENCE_NS);
	ck_assert_uint_eq(node_column(&n, 1, 64), 2);
	for (int k = 0; k < 20; k++) {
		node_pass(&n);
		node_pass(&peer);
	}
	ck_assert_uint_eq(n.down + n.left + peer.down + peer.left, 0);

	child = fork();
	if (child == 0)
		for (;;)
			pause();
	node_free(&n);
	NODE_UNTIL(&peer, peer.down == 1);
	kill(child, SIGKILL);
	reap(child);
	node_free(&peer);
}

/* ---- nothing stays ------------------------------------------------------------------------------------------------ */

/* A program that is started must not inherit a row, a doorbell or a name. */
static void check_close_on_exec(void)
{
	for (int fd = 3; fd < 256; fd++) {
		char path[40], what[100];
		ssize_t bytes;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		bytes = readlink(path, what, sizeof(what) - 1);
		what[bytes < 0 ? 0 : bytes] = '\0';
		if (strncmp(what, "socket:", 7) == 0 || strncmp(what, "anon_inode:", 11) == 0 ||
		    strncmp(what, "/memfd:", 7) == 0)
			ck_assert_msg((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "%d: %s", fd, what);
	}
}

TEST(nothing_is_left_behind)
{
	char group[40];
	struct node n[3];
	int before = count_fds();

	new_group(group);
	for (uint32_t id = 0; id < 3; id++) {
		node_make(&n[id], group, id, 3);
		node_open(&n[id], ROW_BYTES);
	}
	for (uint32_t id = 0; id < 3; id++)
		NODE_UNTIL(&n[id], (node_pass(&n[0]), node_pass(&n[1]), node_pass(&n[2]), n[id].image->ready));
	check_close_on_exec();
	ck_assert(lines_with("/proc/net/unix", group));
	ck_assert(lines_with("/proc/self/maps", "whorl-row"));
	n[0].transport->ops->image_close(n[0].image);
	n[1].transport->ops->leave(n[1].transport);
	for (uint32_t id = 0; id < 3; id++)
		node_free(&n[id]);
	ck_assert(!lines_with("/proc/net/unix", group));
	ck_assert_int_eq(memories_mapped(), 0);
	ck_assert_int_eq(count_fds(), before);
}

TEST(nothing_is_left_of_the_killed)
{
	char group[40];
	struct node n;
	int before = count_fds();
	pid_t child = spawn(just_stay, new_group(group));

	meet_node_1(&n, group);
	kill(child, SIGKILL);
	reap(child);
	NODE_UNTIL(&n, n.down == 1);
	node_free(&n);
	ck_assert(!lines_with("/proc/net/unix", group));
	ck_assert_int_eq(memories_mapped(), 0);
	ck_assert_int_eq(count_fds(), before);
}

/* Creation and opening that fail leave nothing either. */
TEST(nothing_is_left_of_a_failure)
{
	char group[40];
	struct wh_error err;
	struct node n, again;
	int before = count_fds();

	node_make(&n, new_group(group), 0, 2);
	ck_assert_int_eq(node_try(&again, group, 0, 2, WH_HUGE_OFF, &err), WHORL_REFUSED);
	ck_assert_ptr_null(again.transport);
	node_free(&n);
	ck_assert_int_eq(node_try(&n, "a-name-that-is-much-longer-than-anything-that-fits-into-an-address", 0, 2,
				  WH_HUGE_OFF, &err),
			 WHORL_INVALID);
	ck_assert_int_eq(count_fds(), before);
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static enum whorl_result open_row(struct node *n, uint64_t bytes, struct wh_error *err)
{
	const struct wh_row_part parts[] = {{0, WH_ROW_ALIGN}};
	const struct wh_row_spec rows[] = {{0, INCARNATION(0), bytes, parts, 1}, {1, INCARNATION(1), bytes, parts, 1}};
	const struct wh_image_spec spec = {
		.key = 1, .members = 2, .my_rank = n->id, .control_bytes = WH_ROW_ALIGN, .rows = rows};

	return n->transport->ops->image_open(n->transport, &spec, &n->image, err);
}

TEST(too_much_memory_is_an_error)
{
	char group[40];
	struct wh_error err;
	struct node n;
	int before;

	node_make(&n, new_group(group), 0, 2);
	before = count_fds();
	ck_assert_int_eq(open_row(&n, UINT64_C(1) << 46, &err), WHORL_MEMORY);
	ck_assert_ptr_null(n.image);
	ck_assert_msg(strstr(err.text, "70368744177664 bytes") != NULL, "%s", err.text);
	ck_assert_int_eq(count_fds(), before);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){65536, RLIM_INFINITY}), 0);
	ck_assert_int_eq(open_row(&n, 65536, &err), WHORL_MEMORY); /* not the signal that writing too far brings */
	ck_assert_msg(strstr(err.text, "ulimit") != NULL, "%s", err.text);
	ck_assert_int_eq(open_row(&n, ROW_BYTES, &err), WHORL_OK);
	node_free(&n);
}

/* With one descriptor more each time, until it works. */
TEST(too_few_descriptors_is_an_error)
{
	enum whorl_result result = WHORL_SYSTEM;
	char group[40];
	struct wh_error err;
	struct rlimit usual;
	struct node n;
	int before = count_fds(), more;

	new_group(group);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	for (more = 0; more < 20 && result != WHORL_OK; more++) {
		allow_fds(more);
		result = node_try(&n, group, 0, 2, WH_HUGE_OFF, &err);
		if (result == WHORL_OK)
			result = open_row(&n, ROW_BYTES, &err);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
		if (result != WHORL_OK) {
			ck_assert_int_eq(result, WHORL_SYSTEM);
			ck_assert_str_ne(err.text, "");
		}
		if (n.transport != NULL)
			node_free(&n);
		ck_assert_int_eq(count_fds(), before);
	}
	ck_assert_int_eq(result, WHORL_OK);
	ck_assert_int_gt(more, 5);
}

/* A node that is out of descriptors meets the others when it has some again; and does not spin meanwhile. */
TEST(peers_wait_for_descriptors)
{
	char group[40];
	uint64_t waits = 0, start;
	struct rlimit usual;
	struct node n;
	pid_t child;

	node_make(&n, new_group(group), 0, 2);
	node_open(&n, ROW_BYTES);
	child = spawn(just_stay, group);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	allow_fds(0);
	for (start = test_now(); test_now() - start < 300 * WH_NS_PER_MS; waits++) {
		n.transport->ops->wait(n.transport, 50 * WH_NS_PER_MS);
		node_pass(&n);
	}
	ck_assert(!n.image->ready);
	ck_assert_uint_lt(waits, 100);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
	NODE_UNTIL(&n, n.image->ready);
	ck_assert_uint_eq(n.refused + n.down, 0);
	kill(child, SIGKILL);
	reap(child);
	node_free(&n);
}

/* What huge pages the machine has is not known here; an error must say so, and trying must never fail. */
TEST(huge_pages)
{
	char group[40];
	struct wh_error err;
	struct node n[2];
	enum whorl_result result;

	new_group(group);
	ck_assert_int_eq(node_try(&n[0], group, 0, 2, WH_HUGE_REQUIRE, &err), WHORL_OK);
	ck_assert_int_eq(node_try(&n[1], group, 1, 2, WH_HUGE_TRY, &err), WHORL_OK);
	result = open_row(&n[0], ROW_BYTES, &err);
	if (result != WHORL_OK) {
		ck_assert_int_eq(result, WHORL_MEMORY);
		ck_assert_msg(strstr(err.text, "huge pages") != NULL, "%s", err.text);
		node_free(&n[0]);
		ck_assert_int_eq(node_try(&n[0], group, 0, 2, WH_HUGE_OFF, &err), WHORL_OK);
		ck_assert_int_eq(open_row(&n[0], ROW_BYTES, &err), WHORL_OK);
	}
	ck_assert_int_eq(open_row(&n[1], ROW_BYTES, &err), WHORL_OK);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	node_post_word(&n[0], 64, 1);
	node_post_word(&n[1], 64, 2);
	ck_assert_uint_eq(node_column(&n[1], 0, 64), 1);
	ck_assert_uint_eq(node_column(&n[0], 1, 64), 2);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* ---- what it costs ------------------------------------------------------------------------------------------------ */

TEST(one_ring_for_one_parking)
{
	char group[40];
	struct node n[2];
	struct wh_transport *sleeper;
	uint64_t rings;

	new_group(group);
	for (uint32_t id = 0; id < 2; id++) {
		node_make(&n[id], group, id, 2);
		node_open(&n[id], ROW_BYTES);
	}
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	sleeper = n[1].transport;
	for (uint64_t k = 0; k < 10; k++) {
		rings = wh_shm_rings(n[0].transport);
		sleeper->ops->arm(sleeper);
		for (uint64_t i = 0; i < 100; i++)
			node_post_word(&n[0], 64, k * 100 + i);
		ck_assert_uint_eq(wh_shm_rings(n[0].transport), rings + 1);
		if (k % 2 == 0)
			sleeper->ops->wait(sleeper, PATIENCE_NS);
		else
			sleeper->ops->disarm(sleeper);
		node_post_word(&n[0], 64, k * 100 + 100);
		ck_assert_uint_eq(wh_shm_rings(n[0].transport), rings + 1);
	}
	node_free(&n[0]);
	node_free(&n[1]);
}

/* Once all have met nothing wakes an idle node: no timer runs on. */
TEST(idle_means_idle)
{
	const uint64_t nap = 2 * WH_NS_PER_S;
	char group[40];
	struct node n[2];
	uint64_t start;

	new_group(group);
	for (uint32_t id = 0; id < 2; id++) {
		node_make(&n[id], group, id, 2);
		node_open(&n[id], ROW_BYTES);
	}
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	for (uint32_t id = 0; id < 2; id++) {
		uint64_t slept = 0;

		for (int naps = 0; naps < 3 && slept < nap; naps++) { /* the first may meet the last of the timer */
			node_pass(&n[id]);
			start = test_now();
			n[id].transport->ops->arm(n[id].transport);
			n[id].transport->ops->wait(n[id].transport, nap);
			slept = test_now() - start;
		}
		ck_assert_uint_ge(slept, nap);
	}
	node_free(&n[0]);
	node_free(&n[1]);
}

TEST_SUITE("shm between processes")

int main(void)
{
	return test_main(suite());
}
