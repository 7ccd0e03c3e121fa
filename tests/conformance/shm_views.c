/* shm_views.c - images that follow one another in shared memory: members that never come, die, stop or are frozen,
 * candidates that are closed before they are ready, and what is left behind by all that.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

#define A_WHILE 100 /* passes in which what should not happen does not */

/* ---- members that do not come ------------------------------------------------------------------------------------- */

static void check_frozen_unseen(const struct wh_image *image, uint32_t rank)
{
	ck_assert_ptr_null(image->row[rank]);
	for (uint64_t k = 0; k < WH_ROW_ALIGN; k++)
		ck_assert_int_eq(image->control[rank][k], 0);
}

/* Node 1 of three, of which the last never comes; it goes when node 0 says so. */
static int be_second_of_three(const char *group)
{
	struct node n;

	node_make(&n, group, 1, 3);
	node_open(&n, ROW_BYTES);
	for (int k = 0; k < 10; k++)
		node_pass(&n);
	image_freeze(n.image, 2);
	NODE_UNTIL(&n, n.image->ready);
	check_frozen_unseen(n.image, 2);
	node_post_word(&n, 64, 1);
	NODE_UNTIL(&n, node_column(&n, 0, 64) == 2);
	n.transport->ops->leave(n.transport);
	node_free(&n);
	return 0;
}

TEST_CASE("views", .timeout_s = 60);

TEST(a_node_that_never_comes_is_not_waited_for)
{
	char group[40];
	struct node n;
	pid_t child = spawn(be_second_of_three, new_group(group));
	int fds;

	node_make(&n, group, 0, 3);
	fds = count_fds();
	node_open(&n, ROW_BYTES);
	for (int k = 0; k < A_WHILE; k++)
		node_pass(&n);
	ck_assert(!n.image->ready);
	image_freeze(n.image, 2);
	ck_assert(!n.image->ready);
	NODE_UNTIL(&n, n.image->ready && node_column(&n, 1, 64) == 1);
	check_frozen_unseen(n.image, 2);
	node_post_word(&n, 64, 2);
	NODE_UNTIL(&n, n.left == 1);
	NODE_UNTIL(&n, spare_state(&n) == WH_SHM_SPARE_MADE);
	ck_assert_int_eq(reap(child), 0);
	NODE_UNTIL(&n, n.dead == 1);
	ck_assert_int_eq(count_fds(),
			 fds + 1); /* the spare's; my row is let go of, as it will not be asked for any more */
	node_free(&n);
}

/* Key 1 becomes ready, then node 1 stays until it is killed. */
static int just_stay(const char *group)
{
	struct node n;

	node_make(&n, group, 1, 2);
	node_open(&n, ROW_BYTES);
	for (uint64_t k = 1;; node_pass(&n))
		if (n.image->ready)
			node_post_word(&n, 64, k++);
	return 0;
}

TEST_LOOP(the_dead_are_waited_for_until_frozen, 0, 2)
{
	char group[40];
	struct wh_image *next = NULL;
	struct node n;
	pid_t child = spawn(just_stay, new_group(group));
	uint64_t frozen;

	node_make(&n, group, 0, 2);
	node_open(&n, ROW_BYTES);
	NODE_UNTIL(&n, n.image->ready);
	kill(child, SIGKILL);
	reap(child);
	if (_i == 0) /* opened before the death is known, or after */
		next = node_open_of(&n, 2, 3, ROW_BYTES);
	NODE_UNTIL(&n, n.down == 1);
	if (_i == 1)
		next = node_open_of(&n, 2, 3, ROW_BYTES);
	for (int k = 0; k < A_WHILE; k++)
		node_pass(&n);
	NODE_UNTIL(&n, spare_state(&n) == WH_SHM_SPARE_MADE); /* there is no timer left that would end the wait */
	ck_assert(!next->ready);
	frozen = test_now();
	image_freeze(next, 1);
	while (!next->ready && test_now() - frozen < PATIENCE_NS / 2) { /* the wait itself ends */
		n.transport->ops->arm(n.transport);
		n.transport->ops->wait(n.transport, PATIENCE_NS);
		node_pass(&n);
	}
	ck_assert_uint_lt(test_now() - frozen, PATIENCE_NS / 2);
	check_frozen_unseen(next, 1);
	image_close(n.image); /* of one with a peer that is gone */
	image_post_word(next, 64, 1);
	ck_assert_uint_eq(wh_shm_rings(n.transport), 0);
	ck_assert_uint_eq(n.down + n.left + n.refused, 1);
	node_free(&n);
}

/* It has given me its row, which says something; I have frozen it before it was ready. */
TEST(what_was_mapped_and_frozen_reads_as_zeros)
{
	struct wh_image *images[3];
	struct node n[3];

	nodes_make(n, 3);
	images[1] = node_open_of(&n[1], 1, 7, ROW_BYTES);
	images[2] = node_open_of(&n[2], 1, 7, ROW_BYTES);
	image_freeze(images[1], 0);
	NODE_UNTIL(&n[1], (node_pass(&n[2]), images[1]->ready));
	image_post_word(images[1], 64, 77);
	images[0] = node_open_of(&n[0], 1, 7, ROW_BYTES);
	for (int k = 0; k < A_WHILE; k++)
		nodes_pass(n, 3);
	ck_assert(!images[0]->ready); /* a node that froze me does not take my row, so I cannot be ready with it */
	image_freeze(images[0], 1);
	NODE_UNTIL(&n[0], (nodes_pass(n, 3), images[0]->ready));
	check_frozen_unseen(images[0], 1);
	ck_assert_uint_eq(image_column(images[1], 0, 64), 0);
	for (uint32_t id = 0; id < 3; id++)
		node_free(&n[id]);
}

/* ---- stopped, and frozen while it writes -------------------------------------------------------------------------- */

TEST(the_stopped_stay_and_the_frozen_are_not_heard)
{
	char group[40];
	uint64_t seen;
	struct node n;
	pid_t child = spawn(just_stay, new_group(group));
	int status;

	node_make(&n, group, 0, 2);
	node_open(&n, ROW_BYTES);
	NODE_UNTIL(&n, n.image->ready && node_column(&n, 1, 64) > 0);
	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
	ck_assert(WIFSTOPPED(status));
	for (uint64_t k = 0; k < A_WHILE; k++) {
		node_post_word(&n, 64, k);
		node_pass(&n);
	}
	ck_assert_uint_eq(n.down + n.left + n.refused, 0);
	seen = node_column(&n, 1, 64);
	image_freeze(n.image, 1);
	kill(child, SIGCONT);
	/* Its memory is its own, and mapped here: it goes on writing there. */
	NODE_UNTIL(&n, wh_load_acquire((const wh_word *)(const void *)(n.image->row[1] + 64)) > seen + 10);
	ck_assert_uint_eq(node_column(&n, 1, 64), seen);
	ck_assert_uint_eq(n.down + n.left + n.refused, 0);
	kill(child, SIGKILL);
	reap(child);
	NODE_UNTIL(&n, n.down == 1);
	ck_assert_uint_eq(node_column(&n, 1, 64), seen);
	node_free(&n);
}

TEST_LOOP(neither_the_frozen_nor_the_gone_are_rung, 0, 2)
{
	struct node n[2];

	nodes_make(n, 2);
	for (uint32_t id = 0; id < 2; id++)
		node_open(&n[id], ROW_BYTES);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	n[1].transport->ops->arm(n[1].transport);
	if (_i == 0)
		image_freeze(n[0].image, 1);
	else
		node_free(&n[1]);
	NODE_UNTIL(&n[0], _i == 0 || n[0].down == 1);
	node_post_word(&n[0], 64, 1);
	ck_assert_uint_eq(wh_shm_rings(n[0].transport), 0);
	node_free(&n[0]);
	if (_i == 0)
		node_free(&n[1]);
}

/* ---- candidates in turn ------------------------------------------------------------------------------------------- */

#define TURNS 20

/* Of key 2 .. TURNS + 1: which nodes are in it, and what becomes of it at each of them. */
static uint32_t turn_members(uint64_t key)
{
	static const uint32_t members[] = {7, 3, 5, 6, 7, 3};

	return members[key % 6];
}

static void one_turn(struct node *n, uint64_t key)
{
	struct wh_image *image;

	if ((turn_members(key) & 1u << n->id) == 0)
		return;
	image = node_open_of(n, key, turn_members(key), ROW_BYTES);
	if (key % 4 == 0)
		NODE_UNTIL(n, image->ready);
	for (uint64_t k = 0; k < (key + n->id) % 4 * 3; k++)
		node_pass(n);
	image_close(image);
}

static void all_say(struct node *n, struct wh_image *image, uint64_t offset, uint64_t word)
{
	image_post_word(image, offset, word);
	for (uint32_t rank = 0; rank < image->members; rank++)
		NODE_UNTIL(n, image_column(image, rank, offset) == word);
}

/* In a row, each at its own pace; then the next view, and the end of the first. */
static void take_turns(struct node *n)
{
	struct wh_image *old = n->image;
	int fds, rows;

	NODE_UNTIL(n, n->image->ready && spare_state(n) == WH_SHM_SPARE_MADE);
	fds = count_fds();
	rows = rows_mapped();
	all_say(n, old, 80, 1); /* no node has offered anything before all have counted */
	for (uint64_t key = 2; key < 2 + TURNS; key++)
		one_turn(n, key);
	n->image = node_open_of(n, 2 + TURNS, 7, ROW_BYTES);
	NODE_UNTIL(n, n->image->ready);
	all_say(n, n->image, 64, 100);
	ck_assert_uint_eq(image_column(old, 0, 64) + image_column(old, 1, 64) + image_column(old, 2, 64), 0);
	image_close(old);
	NODE_UNTIL(n, spare_state(n) == WH_SHM_SPARE_MADE && count_fds() == fds && rows_mapped() == rows);
	ck_assert_uint_eq(n->down + n->left + n->refused, 0);
}

static int turn_and_leave(const char *group, uint32_t id)
{
	struct node n;

	node_make(&n, group, id, 3);
	node_open(&n, ROW_BYTES);
	take_turns(&n);
	node_post_word(&n, 72, 1);
	NODE_UNTIL(&n, node_column(&n, 0, 72) == 1);
	n.transport->ops->leave(n.transport);
	node_free(&n);
	return 0;
}

static int turn_1(const char *group)
{
	return turn_and_leave(group, 1);
}

static int turn_2(const char *group)
{
	return turn_and_leave(group, 2);
}

/* ---- maps ----------------------------------------------------------------------------------------------------------- */

#define PAGES (1u << 18) /* more than there may be maps */

/* Makes maps until no more can be had: each page has another protection than its neighbours. */
static unsigned char *use_up_maps(void)
{
	unsigned char *pages =
		mmap(NULL, (size_t)PAGES * WH_ROW_ALIGN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	for (size_t k = 0; k < PAGES; k += 2)
		if (mprotect(pages + k * WH_ROW_ALIGN, WH_ROW_ALIGN, PROT_READ) != 0)
			return pages;
	munmap(pages, (size_t)PAGES * WH_ROW_ALIGN);
	return NULL; /* more than this kernel has by default */
}

/* Parts that touch, and those that do not, are where they should be, and nothing between them. Where maps have run out the error
 * says what to look at. */
TEST(parts_are_mapped_or_the_want_of_maps_is_named)
{
	const struct wh_row_part of[] = {{0, WH_ROW_ALIGN}, {RING_READ, WH_ROW_ALIGN}};
	struct wh_shm_parts parts = {.of = of, .count = 2, .soon = WH_ROW_ALIGN};
	const struct wh_shm_wish wish = {.name = "whorl-row", .bytes = ROW_BYTES};
	struct wh_shm_memory memory;
	struct wh_shm_claim claim;
	enum whorl_result result;
	struct wh_shm_room room;
	struct wh_shm_view view;
	unsigned char *pages;
	struct wh_error err;
	int maps;

	ck_assert_int_eq(wh_shm_memory_make(&memory, &wish, &err), WHORL_OK);
	claim = wh_shm_memory_claim(&memory, ROW_BYTES, false);
	maps = rows_mapped();
	ck_assert_int_eq(wh_shm_view_map(&view, memory.fd, &claim, &parts, false, &err), WHORL_OK);
	ck_assert_int_eq(rows_mapped(), maps + 2);
	memory.base[RING_READ] = 7;
	ck_assert_int_eq(view.base[RING_READ], 7);
	wh_shm_view_unmap(&view);
	ck_assert_int_eq(rows_mapped(), maps);
	/* In a room that was taken before they go with that. */
	ck_assert(wh_shm_room_take(&room, WH_ROW_ALIGN + wh_shm_room_for(ROW_BYTES)));
	parts.room = room.base + WH_ROW_ALIGN;
	ck_assert_int_eq(wh_shm_view_map(&view, memory.fd, &claim, &parts, false, &err), WHORL_OK);
	ck_assert(WH_TSAN || view.base == parts.room);
	ck_assert_int_eq(view.base[RING_READ], 7);
	ck_assert_int_eq(rows_mapped(), maps + 2);
	wh_shm_view_unmap(&view);
	wh_shm_room_free(&room);
	ck_assert_int_eq(rows_mapped(), maps);
	parts.room = NULL;
	pages = WH_TSAN ? NULL : use_up_maps(); /* ThreadSanitizer itself needs some */
	if (pages != NULL) {
		result = wh_shm_view_map(&view, memory.fd, &claim, &parts, false, &err);
		munmap(pages, (size_t)PAGES * WH_ROW_ALIGN);
		ck_assert_int_eq(result, WHORL_SYSTEM);
		ck_assert_ptr_nonnull(strstr(err.text, "/proc/sys/vm/max_map_count"));
		ck_assert_int_eq(rows_mapped(), maps);
	}
	wh_shm_memory_free(&memory);
}

TEST(candidates_in_turn_leave_nothing)
{
	char group[40];
	struct node n;
	pid_t children[2];
	int before = count_fds();

	children[0] = spawn(turn_1, new_group(group));
	children[1] = spawn(turn_2, group);
	node_make(&n, group, 0, 3);
	node_open(&n, ROW_BYTES);
	take_turns(&n);
	NODE_UNTIL(&n, node_column(&n, 1, 72) == 1 && node_column(&n, 2, 72) == 1);
	node_post_word(&n, 72, 1);
	NODE_UNTIL(&n, n.left == 2);
	ck_assert_int_eq(reap(children[0]), 0);
	ck_assert_int_eq(reap(children[1]), 0);
	node_free(&n);
	ck_assert_int_eq(count_fds(), before);
	ck_assert_int_eq(rows_mapped(), 0);
}

TEST_SUITE("shm and views")

int main(void)
{
	return test_main(suite());
}
