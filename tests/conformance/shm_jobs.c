/* shm_jobs.c - what the shared memory transport does off the loop: the spare row, and the end of large images. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

#define LARGE_ROW (8u << 20)

static const unsigned char *spare_base(struct node *n)
{
	NODE_UNTIL(n, spare_state(n) == WH_SHM_SPARE_MADE);
	return ((struct wh_shm *)n->transport)->jobs->memory.base;
}

TEST_CASE("jobs", .timeout_s = 60);

TEST(the_spare_is_the_next_row)
{
	struct wh_image *image[2];
	struct node n[2];
	const unsigned char *spare;

	nodes_make(n, 2);
	for (uint32_t id = 0; id < 2; id++)
		node_open(&n[id], ROW_BYTES);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	memset(n[0].image->own, 1, ROW_BYTES);
	spare = spare_base(&n[0]);
	for (uint32_t id = 0; id < 2; id++) /* smaller: it fits, and peers take it */
		image[id] = node_open_of(&n[id], 2, 3, ROW_BYTES - WH_ROW_ALIGN);
	ck_assert_ptr_eq(image[0]->own, spare);
	for (uint64_t k = 0; k < ROW_BYTES; k++)
		ck_assert_int_eq(spare[k], 0);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), image[0]->ready && image[1]->ready));
	image_post_word(image[0], 64, 5);
	ck_assert_uint_eq(image_column(image[1], 0, 64), 5);
	spare = spare_base(&n[0]);
	ck_assert_ptr_ne(spare, image[0]->own);
	image_close(image[0]);
	image[0] = node_open_of(&n[0], 3, 1, 2 * ROW_BYTES); /* larger: it does not */
	ck_assert_ptr_ne(image[0]->own, spare);
	NODE_UNTIL(&n[0], image[0]->ready && spare_state(&n[0]) == WH_SHM_SPARE_MADE &&
				  ((struct wh_shm *)n[0].transport)->jobs->memory.bytes >= 2 * ROW_BYTES);
	spare = spare_base(&n[0]);
	image[0] = node_open_of(&n[0], 4, 1, 2 * ROW_BYTES);
	ck_assert_ptr_eq(image[0]->own, spare);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* The next view has more members, and so a little larger columns; or one has many fewer, and the spare is much too large. */
TEST(a_large_spare_has_some_room)
{
	const uint64_t more = 16 * WH_ROW_ALIGN;
	struct wh_image *image[2];
	struct node n[2];
	const unsigned char *spare;

	nodes_make(n, 2);
	for (uint32_t id = 0; id < 2; id++)
		node_open(&n[id], LARGE_ROW);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	spare = spare_base(&n[0]);
	for (uint32_t id = 0; id < 2; id++)
		image[id] = node_open_of(&n[id], 2, 3, LARGE_ROW + more);
	ck_assert_ptr_eq(image[0]->own, spare);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), image[0]->ready && image[1]->ready));
	spare = spare_base(&n[0]);
	image_close(image[0]);
	image[0] = node_open_of(&n[0], 3, 1, LARGE_ROW / 2);
	ck_assert_ptr_ne(image[0]->own, spare);
	NODE_UNTIL(&n[0], spare_state(&n[0]) == WH_SHM_SPARE_MADE &&
				  ((struct wh_shm *)n[0].transport)->jobs->memory.bytes < LARGE_ROW);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* A caller that is not pressed waits for one that takes long to make, and for no other. */
TEST(a_large_spare_is_worth_a_wait)
{
	char group[40];
	struct node n;

	node_make(&n, new_group(group), 0, 1);
	ck_assert(!n.transport->ops->prepares(n.transport));
	n.image = node_open_of(&n, 1, 1, LARGE_ROW);
	NODE_UNTIL(&n, n.image->ready);
	ck_assert(!n.transport->ops->prepares(n.transport));
	n.image = node_open_of(&n, 2, 1, 2 * LARGE_ROW);
	NODE_UNTIL(&n, n.image->ready);
	ck_assert(n.transport->ops->prepares(n.transport));
	NODE_UNTIL(&n, !n.transport->ops->prepares(n.transport));
	ck_assert_uint_eq(spare_state(&n), WH_SHM_SPARE_MADE);
	ck_assert_uint_ge(((struct wh_shm *)n.transport)->jobs->memory.bytes, 2 * LARGE_ROW);
	node_free(&n);
}

/* One that is closed before it is ready has taken the spare all the same. */
TEST(another_spare_is_made_for_one_that_was_in_vain)
{
	struct node n[2];

	nodes_make(n, 2);
	for (uint32_t id = 0; id < 2; id++)
		node_open(&n[id], ROW_BYTES);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	NODE_UNTIL(&n[0], spare_state(&n[0]) == WH_SHM_SPARE_MADE);
	image_close(node_open_of(&n[0], 2, 3, ROW_BYTES));
	ck_assert_uint_eq(spare_state(&n[0]), WH_SHM_SPARE_NONE);
	NODE_UNTIL(&n[0], spare_state(&n[0]) == WH_SHM_SPARE_MADE);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* Jobs that do not begin before the transport ends. */
struct late {
	struct wh_env env;
	wh_word ends;
};

struct late_job {
	const struct late *late;
	void (*run)(void *argument);
	void *argument;
};

static void *run_late(void *ctx)
{
	struct late_job job = *(struct late_job *)ctx;

	free(ctx);
	while (wh_load_acquire(&job.late->ends) == 0)
		sched_yield();
	job.run(job.argument);
	return NULL;
}

static void submit_late(void *ctx, void (*run)(void *argument), void *argument)
{
	struct late_job *job = malloc(sizeof(*job));
	pthread_t thread;

	ck_assert_ptr_nonnull(job);
	*job = (struct late_job){.late = ctx, .run = run, .argument = argument};
	ck_assert_int_eq(pthread_create(&thread, NULL, run_late, job), 0);
	pthread_detach(thread);
}

static struct late late; /* a job may end after the test */

/* A transport that ends waits for its jobs, and leaves nothing. */
TEST_LOOP(jobs_end_with_the_transport, 0, 2)
{
	char group[40];
	const struct wh_transport_config config = {.env = &late.env,
						   .group = new_group(group),
						   .node = 0,
						   .nodes = 1,
						   .incarnation = INCARNATION(0),
						   .patience_ns = WH_NS_PER_S};
	int before = count_fds();
	struct node n = {.nodes = 1};
	struct wh_error err;

	late.env = *wh_env_system();
	late.env.ctx = &late;
	late.env.submit = submit_late;
	wh_store_release(&late.ends, 0);
	ck_assert_int_eq(wh_shm_create(&config, NULL, &n.transport, &err), WHORL_OK);
	node_open(&n, LARGE_ROW);
	if (_i == 0) /* there is a spare to be made, or memory to be freed */
		NODE_UNTIL(&n, spare_state(&n) == WH_SHM_SPARE_IN_WORK);
	else
		image_close(n.image);
	wh_store_release(&late.ends, 1);
	node_free(&n);
	ck_assert_int_eq(rows_mapped(), 0);
	ck_assert_int_eq(count_fds(), before);
}

/* As it comes. */
TEST_LOOP(jobs_end_at_any_time, 0, 6)
{
	int before = count_fds();
	struct node n[2];

	nodes_make(n, 2);
	for (uint32_t id = 0; id < 2; id++)
		node_open(&n[id], LARGE_ROW);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	if (_i % 2 == 0)
		NODE_UNTIL(&n[0], spare_state(&n[0]) != WH_SHM_SPARE_NONE);
	node_open_of(&n[0], 2, 1, LARGE_ROW);
	image_close(n[0].image);
	node_free(&n[0]);
	node_free(&n[1]);
	ck_assert_int_eq(rows_mapped(), 0);
	ck_assert_int_eq(count_fds(), before);
}

TEST(large_images_go_off_the_loop)
{
	struct node n;
	int fds;

	nodes_make(&n, 1);
	node_open(&n, LARGE_ROW);
	NODE_UNTIL(&n, n.image->ready && spare_state(&n) == WH_SHM_SPARE_MADE);
	fds = count_fds();
	for (uint64_t key = 2; key < 10; key++) {
		struct wh_image *next = node_open_of(&n, key, 1, LARGE_ROW);

		image_close(n.image);
		n.image = next;
	}
	NODE_UNTIL(&n, spare_state(&n) == WH_SHM_SPARE_MADE && rows_mapped() == 2 && count_fds() == fds);
	node_free(&n);
}

/* A fork has none of the threads, and what they were at goes with it: all that they had written down. So it comes when
 * the spare has a page: its map was written down before that. (Between mmap and that it would keep the map until exit.) */
TEST(a_fork_does_not_wait_for_jobs)
{
	struct node n;
	pid_t child;
	int before = rows_mapped();

	nodes_make(&n, 1);
	node_open(&n, 8 * LARGE_ROW);
	NODE_UNTIL(&n, spare_state(&n) == WH_SHM_SPARE_MADE || rows_present() == before + 2);
	child = fork();
	if (child == 0) {
		uint64_t start = test_now();

		n.transport->ops->destroy(n.transport, true);
		_exit(test_now() - start < WH_NS_PER_S && rows_mapped() == before ? 0 : 1);
	}
	ck_assert_int_eq(reap(child), 0);
	node_free(&n);
}

TEST_SUITE("shm and its jobs")

int main(void)
{
	return test_main(suite());
}
