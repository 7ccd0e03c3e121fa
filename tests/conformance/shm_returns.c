/* shm_returns.c - T8, where rows are used again: memory that a member may still read is none of another image's.
 */
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

#define LARGE_ROW (2u << 20)
#define A_WHILE 100 /* passes in which what should not happen does not */

static struct wh_shm *shm_of(const struct node *n)
{
	return (struct wh_shm *)n->transport;
}

/* Which memory file it is. */
static uint64_t file_of(const struct wh_shm_memory *memory)
{
	struct stat st;

	ck_assert_int_eq(fstat(memory->fd, &st), 0);
	return st.st_ino;
}

static uint64_t spare_file(struct node *n, struct node *other)
{
	NODE_UNTIL(n, (node_pass(other), spare_state(n) == WH_SHM_SPARE_MADE));
	return file_of(&shm_of(n)->jobs->memory);
}

static uint64_t row_file(const struct wh_image *image)
{
	return file_of(&((const struct wh_shm_image *)(const void *)image)->own);
}

static bool is_all(const unsigned char *bytes, unsigned char value, size_t count)
{
	return bytes[0] == value && memcmp(bytes, bytes + 1, count - 1) == 0;
}

/* However slow this test is: no other row is made before the one that is to come back. */
static void wait_for_rows(struct node *n)
{
	shm_of(n)->spare_due_ns = shm_of(n)->spare_last_ns = test_now() + 3600 * WH_NS_PER_S;
}

/* `held`: node 0 makes no row for the next image meanwhile, however long it takes. */
static void await_ready(struct node n[2], struct wh_image *const image[2], bool held)
{
	NODE_UNTIL(&n[0],
		   (held ? wait_for_rows(&n[0]) : (void)0, node_pass(&n[1]), image[0]->ready && image[1]->ready));
}

/* Image `key`, ready, of two nodes; the ring of node 0 is full of its number. */
static void open_rows(struct node n[2], struct wh_image *image[2], uint64_t key, bool held)
{
	for (uint32_t id = 0; id < 2; id++)
		image[id] = node_open_of(&n[id], key, 3, LARGE_ROW);
	await_ready(n, image, held);
	ck_assert(is_all(image[0]->own, 0, LARGE_ROW));
	memset(image[0]->own + RING_READ, (int)key, WH_ROW_ALIGN);
	image_post_word(image[0], 64, key);
	ck_assert_uint_eq(image_column(image[1], 0, 64), key);
}

static void open_both(struct node n[2], struct wh_image *image[2], uint64_t key)
{
	open_rows(n, image, key, false);
}

static void assert_reads(const struct wh_image *image, uint64_t key)
{
	ck_assert_uint_eq(image_column(image, 0, 64), key);
	ck_assert(is_all(image->row[0] + RING_READ, (unsigned char)key, WH_ROW_ALIGN));
}

/* Two images, the first of which is over. */
static void begin(struct node n[2], struct wh_image *first[2], struct wh_image *second[2])
{
	nodes_make(n, 2);
	open_both(n, first, 1);
	(void)spare_file(&n[0], &n[1]);
	(void)spare_file(&n[1], &n[0]);
	open_both(n, second, 2);
	wait_for_rows(&n[0]);
}

TEST_CASE("returns", .timeout_s = 60);

/* Whichever closes it first. It is all zeros, though all of it was written; the peer takes it as any other. */
TEST_LOOP(a_row_comes_back_when_all_have_let_go, 0, 2)
{
	struct wh_image *image[4][2];
	struct node n[2];
	uint64_t file;

	begin(n, image[0], image[1]);
	file = row_file(image[0][0]);
	memset(image[0][0]->own, 1, LARGE_ROW);
	image_close(image[0][_i]);
	wait_for_rows(&n[0]);
	for (int k = 0; k < A_WHILE / 10; k++)
		nodes_pass(n, 2);
	image_close(image[0][1 - _i]);
	ck_assert_uint_eq(spare_file(&n[0], &n[1]), file);
	open_rows(n, image[2], 3, true);
	ck_assert_uint_eq(row_file(image[2][0]), file);
	assert_reads(image[1][1], 2);
	assert_reads(image[2][1], 3);
	file = row_file(image[1][0]); /* and so it goes on: two files are enough */
	wait_for_rows(&n[0]);
	image_close(image[1][1]);
	image_close(image[1][0]);
	ck_assert_uint_eq(spare_file(&n[0], &n[1]), file);
	open_both(n, image[3], 4);
	assert_reads(image[3][1], 4);
	ck_assert_uint_eq(n[0].down + n[0].refused + n[1].down + n[1].refused, 0);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* The peer stands still, or has been removed and does not know, or has let go of another image alone: it reads what it read. */
TEST_LOOP(a_row_that_may_be_read_is_not_used_again, 0, 3)
{
	struct wh_image *image[3][2];
	struct node n[2];
	uint64_t file;

	begin(n, image[0], image[1]);
	file = row_file(image[0][0]);
	if (_i == 1)
		image_freeze(image[0][0], 1);
	image_close(image[0][0]);
	if (_i == 2)
		image_close(image[1][1]);
	ck_assert_uint_ne(spare_file(&n[0], &n[1]), file);
	for (int k = 0; k < A_WHILE; k++)
		nodes_pass(n, 2);
	open_both(n, image[2], 3);
	ck_assert_uint_ne(row_file(image[2][0]), file);
	assert_reads(image[0][1], 1);
	assert_reads(image[2][1], 3);
	image_close(image[0][1]); /* too late */
	for (int k = 0; k < A_WHILE; k++)
		nodes_pass(n, 2);
	ck_assert_uint_ne(spare_file(&n[0], &n[1]), file);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* The peer has ended without a word: a process that is not seen any more may read all the same. Before the owner closes, or after. */
TEST_LOOP(a_row_of_a_peer_that_has_ended_is_not_used_again, 0, 2)
{
	struct wh_image *image[2][2];
	struct node n[2];
	uint64_t file;

	begin(n, image[0], image[1]);
	file = row_file(image[0][0]);
	if (_i == 1)
		image_close(image[0][0]);
	node_free(&n[1]);
	NODE_UNTIL(&n[0], n[0].down + n[0].left == 1);
	if (_i == 0)
		image_close(image[0][0]);
	NODE_UNTIL(&n[0], spare_state(&n[0]) == WH_SHM_SPARE_MADE);
	ck_assert_uint_ne(file_of(&shm_of(&n[0])->jobs->memory), file);
	ck_assert_ptr_null(shm_of(&n[0])->returning.memory.base);
	node_free(&n[0]);
}

/* It is not made anew for a ring more: a member that pauses, and sends again, alternates between two sizes. */
TEST(a_row_that_grows_back_has_a_spare)
{
	const uint64_t less = LARGE_ROW - LARGE_ROW / 8;
	struct wh_image *image[4];
	struct node n;
	char group[40];
	uint64_t file;

	node_make(&n, new_group(group), 0, 1);
	image[0] = node_open_of(&n, 1, 1, LARGE_ROW);
	NODE_UNTIL(&n, image[0]->ready && spare_state(&n) == WH_SHM_SPARE_MADE);
	image[1] = node_open_of(&n, 2, 1, less);
	NODE_UNTIL(&n, image[1]->ready && spare_state(&n) == WH_SHM_SPARE_MADE);
	file = file_of(&shm_of(&n)->jobs->memory);
	image[2] = node_open_of(&n, 3, 1, LARGE_ROW);
	ck_assert_uint_eq(row_file(image[2]), file);
	NODE_UNTIL(&n, image[2]->ready && spare_state(&n) == WH_SHM_SPARE_MADE);
	file = row_file(image[1]);
	image_close(image[1]); /* nothing is kept for it: there is a spare */
	ck_assert_uint_ne(file_of(&shm_of(&n)->jobs->memory), file);
	node_free(&n);
}

/* Of what is not open, of what was not offered; and what is no such message. */
TEST(let_go_without_sense)
{
	char group[40];
	struct node n;
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	node_open(&n, LARGE_ROW);
	raw_be_met(&r, &n, group, 1);
	for (uint64_t key = 0; key < 3; key++)
		ck_assert(raw_say(r.socket, WH_SHM_LET_GO, key));
	for (int k = 0; k < A_WHILE; k++)
		node_pass(&n);
	ck_assert_uint_eq(n.down + n.refused, 0);
	ck_assert(raw_say_claim(&r, WH_SHM_LET_GO, 1, LARGE_ROW, -1));
	NODE_UNTIL(&n, n.down + n.refused == 1);
	raw_close(&r);
	node_free(&n);
}

/* A transport ends, in a fork too, while a row is awaited: nothing of it is left. */
TEST(a_row_that_is_awaited_goes_with_its_transport)
{
	int before = count_fds(), status;
	struct wh_image *image[2][2];
	struct node n[2];
	pid_t child;

	begin(n, image[0], image[1]);
	for (int k = 0; k < A_WHILE;
	     k++) /* what is under way arrives: a lost offer keeps memory with ThreadSanitizer */
		nodes_pass(n, 2);
	image_close(image[0][0]);
	ck_assert_ptr_nonnull(shm_of(&n[0])->returning.memory.base);
	child = fork();
	if (child == 0) {
		n[0].transport->ops->destroy(n[0].transport, true);
		_exit(0);
	}
	status = reap(child);
	ck_assert_int_eq(status, 0);
	node_free(&n[0]);
	node_free(&n[1]);
	ck_assert_int_eq(rows_mapped(), 0);
	ck_assert_int_eq(count_fds(), before);
}

TEST_SUITE("shm and rows that come back")

int main(void)
{
	return test_main(suite());
}
