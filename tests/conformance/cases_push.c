/* cases_push.c - T1 to T4: what is pushed arrives, in order, whole, and never newer than what was pushed before it. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/suite.h"

/* ---- T1 ----------------------------------------------------------------------------------------------------------- */

START_TEST(t1_words_and_bytes_arrive)
{
	struct group *g = group_make(3, test_seed(1));

	group_open(g, 1);
	for (uint32_t i = 0; i < 3; i++) {
		struct wh_push pushes[] = {push_bytes(g, i, RING_0 + 4096, 100), push_word(g, i, 64, 1000 + i),
					   push_word(g, i, CONTROL_BYTES - 8, 2000 + i)};

		memset(g->at[i].image[1]->own + RING_0 + 4096, 'a' + (int)i, 100);
		post(g, i, 1, pushes, 3);
		ck_assert_uint_eq(column(g, i, 1, i, 64), 1000 + i); /* my own row has it at once */
	}
	for (uint32_t at = 0; at < 3; at++)
		for (uint32_t of = 0; of < 3; of++) {
			const unsigned char *bytes = g->at[at].image[1]->row[of] + RING_0 + 4096;

			UNTIL(g, column(g, at, 1, of, CONTROL_BYTES - 8) == 2000 + of);
			UNTIL(g, column(g, at, 1, of, 64) == 1000 + of);
			for (int k = 0; k < 100; k++)
				ck_assert_int_eq(bytes[k], 'a' + (int)of);
			ck_assert_int_eq(bytes[-1], 0);
			ck_assert_int_eq(bytes[100], 0);
			ck_assert_uint_eq(column(g, at, 1, of, 72), 0);
		}
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(g->at[i].ready, 1);
		ck_assert_uint_eq(g->at[i].down + g->at[i].left + g->at[i].refused, 0);
	}
	group_free(g);
}
END_TEST

START_TEST(t1_images_open_as_zeros)
{
	struct group *g = group_make(2, test_seed(2));

	group_open(g, 1);
	for (uint32_t at = 0; at < 2; at++)
		for (uint64_t k = 0; k < CONTROL_BYTES + RING_BYTES; k++)
			ck_assert_int_eq(g->at[at].image[1]->row[1 - at][k], 0);
	group_free(g);
}
END_TEST

/* The kernel reads there, and says if it cannot. */
static bool is_readable(const unsigned char *address, unsigned char *value)
{
	int fds[2];
	bool readable;

	ck_assert_int_eq(pipe(fds), 0);
	readable = write(fds[1], address, 1) == 1 && read(fds[0], value, 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return readable;
}

START_TEST(t1_rings_of_others_are_not_here)
{
	struct group *g = group_make(3, test_seed(3));
	const uint32_t reader = 1;
	struct wh_push pushes[2];
	unsigned char value;

	group_open(g, 1);
	memset(g->at[0].image[1]->own + RING_1, 7, RING_BYTES);
	pushes[0] = (struct wh_push){
		.kind = WH_PUSH_BYTES, .to_count = 1, .to = &reader, .offset = RING_1, .bytes = RING_BYTES};
	pushes[1] = push_word(g, 0, 64, 1);
	post(g, 0, 1, pushes, 2);
	UNTIL(g, column(g, 1, 1, 0, 64) == 1 && column(g, 2, 1, 0, 64) == 1);
	ck_assert_int_eq(g->at[1].image[1]->row[0][RING_1], 7);
	ck_assert_int_eq(g->at[1].image[1]->row[0][RING_1 + RING_BYTES - 1], 7);
	for (uint64_t k = 0; k < RING_BYTES && !wh_world.whole_rows; k += 512)
		if (is_readable(g->at[2].image[1]->row[0] + RING_1 + k, &value))
			ck_assert_int_eq(value, 0);
	group_free(g);
}
END_TEST

/* ---- T2, T3, T4: a torrent ---------------------------------------------------------------------------------------- *
 * Node 0 writes numbered messages into a small ring and guards them with a count; the others check every byte that the
 * count tells them is there, and say how far they are. Two more words follow each other: SECOND is never ahead. */

#define SLOTS 64
#define SLOT_WORDS 32
#define GUARD 64
#define DONE 128 /* of a reader: messages that it has checked */
#define FIRST 256
#define SECOND 512

#define STAMP UINT64_C(0x0000000100000001) /* both halves of a word say the same, or it was torn */

struct torrent {
	struct group *g;
	uint64_t messages;
	uint64_t sent;            /* [writer] */
	uint64_t seen[NODES_MAX]; /* [reader] */
	const char *wrong[NODES_MAX];
	uint64_t random[NODES_MAX];
};

static uint64_t word_of(uint64_t message, uint64_t k)
{
	return message * UINT64_C(0x9e3779b97f4a7c15) + k;
}

static uint64_t room(const struct torrent *t)
{
	uint64_t least = t->sent;

	for (uint32_t r = 1; r < t->g->nodes; r++) {
		uint64_t done = column(t->g, 0, 1, r, DONE);

		least = done < least ? done : least;
	}
	return SLOTS - (t->sent - least);
}

/* Sends some messages, each with a guard of its own, in one post or in several. */
static void write_some(struct torrent *t)
{
	struct group *g = t->g;
	uint64_t batch = 1 + next_random(&t->random[0]) % 4, free_slots = room(t);
	struct wh_push pushes[16];
	size_t count = 0;

	for (; batch > 0 && free_slots > 0 && t->sent < t->messages; batch--, free_slots--) {
		uint64_t offset = RING_0 + t->sent % SLOTS * SLOT_WORDS * 8;
		uint64_t *slot = (uint64_t *)(void *)(g->at[0].image[1]->own + offset);

		for (uint64_t k = 0; k < SLOT_WORDS; k++)
			slot[k] = word_of(t->sent, k);
		t->sent++;
		pushes[count++] = push_bytes(g, 0, offset, SLOT_WORDS * 8);
		pushes[count++] = push_word(g, 0, FIRST, t->sent * STAMP);
		pushes[count++] = push_word(g, 0, SECOND, t->sent * STAMP);
		pushes[count++] = push_word(g, 0, GUARD, t->sent * STAMP);
		if (next_random(&t->random[0]) % 2 == 0) {
			post(g, 0, 1, pushes, count);
			count = 0;
		}
	}
	if (count > 0)
		post(g, 0, 1, pushes, count);
}

static bool is_torn(uint64_t stamped)
{
	return stamped >> 32 != (stamped & UINT32_MAX);
}

static const char *read_some(struct torrent *t, uint32_t me)
{
	uint64_t second = column(t->g, me, 1, 0, SECOND), first = column(t->g, me, 1, 0, FIRST);
	uint64_t guard = column(t->g, me, 1, 0, GUARD);
	const unsigned char *row = t->g->at[me].image[1]->row[0];

	if (is_torn(first) || is_torn(second) || is_torn(guard))
		return "T3: a word is torn";
	if (first < second)
		return "T2: a later word came first";
	guard &= UINT32_MAX;
	if (guard < t->seen[me] || guard > t->seen[me] + SLOTS)
		return "the guard went back, or too far";
	if (guard == t->seen[me])
		return NULL;
	for (; t->seen[me] < guard; t->seen[me]++) {
		const uint64_t *slot =
			(const uint64_t *)(const void *)(row + RING_0 + t->seen[me] % SLOTS * SLOT_WORDS * 8);

		for (uint64_t k = 0; k < SLOT_WORDS; k++)
			if (slot[k] != word_of(t->seen[me], k))
				return "T2, T4: the guard is newer than its data";
	}
	post_word(t->g, me, 1, DONE, guard);
	return NULL;
}

static struct torrent *torrent_make(uint32_t nodes, uint64_t seed, uint64_t messages)
{
	struct torrent *t = calloc(1, sizeof(*t));

	ck_assert_ptr_nonnull(t);
	t->g = group_make(nodes, seed);
	t->messages = messages;
	for (uint32_t i = 0; i < nodes; i++)
		t->random[i] = seed + i;
	group_open(t->g, 1);
	return t;
}

static void torrent_free(struct torrent *t)
{
	for (uint32_t r = 1; r < t->g->nodes; r++) {
		ck_assert_msg(t->wrong[r] == NULL, "%s", t->wrong[r]);
		ck_assert_uint_eq(t->seen[r], t->messages);
	}
	group_free(t->g);
	free(t);
}

START_TEST(t2_t3_t4_torrent)
{
	struct torrent *t = torrent_make(3, test_seed(4 + (uint64_t)_i), is_dear() ? 600 : 3000);
	uint64_t random = (uint64_t)_i;
	int passes = 0;

	while ((t->seen[1] < t->messages || t->seen[2] < t->messages) && passes < PATIENCE) {
		uint32_t reader = 1 + (uint32_t)next_random(&random) % 2;

		write_some(t);
		if (t->wrong[reader] == NULL)
			t->wrong[reader] = read_some(t, reader);
		if (next_random(&random) % 4 == 0) {
			group_pass(t->g);
			passes++;
		}
	}
	torrent_free(t);
}
END_TEST

static void *writer_thread(void *ctx)
{
	struct torrent *t = ctx;
	struct wh_transport *transport = t->g->at[0].transport;

	while (t->sent < t->messages) {
		uint64_t before = t->sent;

		write_some(t);
		if (t->sent == before) {
			transport->ops->service(transport);
			sched_yield();
		}
	}
	return NULL;
}

struct reader {
	struct torrent *torrent;
	uint32_t me;
};

static void *reader_thread(void *ctx)
{
	struct torrent *t = ((struct reader *)ctx)->torrent;
	uint32_t me = ((struct reader *)ctx)->me;
	struct wh_transport *transport = t->g->at[me].transport;

	while (t->seen[me] < t->messages && t->wrong[me] == NULL) {
		uint64_t before = t->seen[me];

		t->wrong[me] = read_some(t, me);
		if (t->seen[me] == before) {
			transport->ops->service(transport);
			sched_yield();
		}
	}
	if (t->wrong[me] != NULL) /* the writer is to come to its end */
		post_word(t->g, me, 1, DONE, UINT32_MAX);
	return NULL;
}

START_TEST(t2_t3_t4_torrent_of_threads)
{
	struct torrent *t = torrent_make(3, test_seed(20), times(200000));
	struct reader readers[] = {{t, 1}, {t, 2}};
	pthread_t threads[3];

	ck_assert_int_eq(pthread_create(&threads[0], NULL, writer_thread, t), 0);
	ck_assert_int_eq(pthread_create(&threads[1], NULL, reader_thread, &readers[0]), 0);
	ck_assert_int_eq(pthread_create(&threads[2], NULL, reader_thread, &readers[1]), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	torrent_free(t);
}
END_TEST

/* ---- T4 ----------------------------------------------------------------------------------------------------------- */

/* Values that are posted one right after the other are all on their way as they were: a reader may miss some, but what it
 * sees of the guard says what it must find in the data. */
START_TEST(t4_a_word_is_what_it_was)
{
	struct group *g = group_make(2, test_seed(40 + (uint64_t)_i));
	uint64_t random = g->seed, sent = 0;

	group_open(g, 1);
	for (int round = 0; round < (is_dear() ? 100 : 300); round++) {
		for (uint64_t burst = 1 + next_random(&random) % 8; burst > 0; burst--) {
			struct wh_push pushes[2];

			sent++; /* entry `sent` is final, its guard follows */
			memcpy(g->at[0].image[1]->own + RING_0 + sent % 2048 * 8, &sent, sizeof(sent));
			pushes[0] = push_bytes(g, 0, RING_0 + sent % 2048 * 8, 8);
			pushes[1] = push_word(g, 0, GUARD, sent);
			post(g, 0, 1, pushes, 2);
		}
		for (int looks = 0; looks < 3; looks++) {
			uint64_t guard = column(g, 1, 1, 0, GUARD), entry;

			memcpy(&entry, g->at[1].image[1]->row[0] + RING_0 + guard % 2048 * 8, sizeof(entry));
			ck_assert_uint_eq(entry, guard);
			if (next_random(&random) % 2 == 0)
				group_pass(g);
		}
		if (round % 32 == 0) /* entries that are overwritten have been seen */
			UNTIL(g, column(g, 1, 1, 0, GUARD) == sent);
	}
	UNTIL(g, column(g, 1, 1, 0, GUARD) == sent);
	group_free(g);
}
END_TEST

TCase *cases_push(void)
{
	TCase *cases = tcase_create("push");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t1_words_and_bytes_arrive);
	tcase_add_test(cases, t1_images_open_as_zeros);
	tcase_add_test(cases, t1_rings_of_others_are_not_here);
	tcase_add_loop_test(cases, t2_t3_t4_torrent, 0, seeds(5));
	tcase_add_loop_test(cases, t4_a_word_is_what_it_was, 0, seeds(5));
	if (wh_world.threads)
		tcase_add_test(cases, t2_t3_t4_torrent_of_threads);
	return cases;
}
