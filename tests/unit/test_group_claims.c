/* test_group_claims.c - claim, fill in place, commit or abort: by many threads, in any order, and against the window.
 * Labels: threads
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>

#include "tests/support/group.h"

#define CALLER "[engine]\nthread = caller\n"

/* ---- the window ------------------------------------------------------------------------------------------------------ */

TEST_CASE("claims", .timeout_s = 60);

TEST(a_full_window_says_again)
{
	struct whorl_claim claims[3], more;
	struct cluster c;
	whorl_subgroup *s;
	uint64_t began;

	cluster_open(&c, 1, "", "[subgroup s]\nwindow = 3\nmessage_bytes = 8\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	for (unsigned i = 0; i < 3; i++) {
		ck_ok(whorl_claim(s, 8, &claims[i]));
		ck_assert_uint_eq(claims[i].number, i);
		ck_assert_uint_eq(claims[i].bytes, 8);
		memcpy(claims[i].data, &(uint64_t){i}, 8);
	}
	ck_assert_int_eq(whorl_claim(s, 8, &more), WHORL_AGAIN);
	ck_assert_int_eq(whorl_claim_wait(s, 8, 0, &more), WHORL_AGAIN);
	ck_assert_int_eq(whorl_claim_wait(s, 8, -1, &more), WHORL_INVALID);
	began = now_ms();
	ck_assert_int_eq(whorl_claim_wait(s, 8, 30, &more), WHORL_TIMEOUT);
	ck_assert_uint_ge(now_ms() - began, 29);
	ck_assert_int_eq(whorl_send(s, "x", 1, 1, NULL), WHORL_TIMEOUT);
	ck_ok(whorl_commit(&claims[0], 8));
	ck_ok(whorl_claim_wait(s, 8, PATIENCE_MS, &more)); /* it drives the loop */
	ck_assert_uint_eq(more.number, 3);
	ck_ok(whorl_commit(&claims[2], 8)); /* in any order */
	ck_ok(whorl_commit(&claims[1], 8));
	ck_ok(whorl_abort(&more));
	await(recorded(c.records[0]) == 3, whorl_step(c.nodes[0]));
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(c.records[0]->entries[i].word, i);
	ck_assert_uint_ge(stats_of(s).window_full, 3);
	ck_assert_uint_ge(stats_of(s).window_wait_ns, 29000000);
	cluster_free(&c);
}

TEST(the_window_has_a_descriptor)
{
	struct whorl_claim claim;
	struct cluster c;
	struct pollfd fd;
	whorl_subgroup *s;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 2\nmessage_bytes = 8\nsenders = one\n");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	ck_assert_int_eq(whorl_window_fd(subgroup_of(&c, 1, "s")), -1);
	ck_assert_int_eq(whorl_window_arm(subgroup_of(&c, 1, "s")), WHORL_NOT_SENDER);
	fd = (struct pollfd){.fd = whorl_window_fd(s), .events = POLLIN};
	ck_ok(whorl_window_arm(s)); /* there is room */
	for (uint64_t i = 0; i < 1000; i++) {
		enum whorl_result result;

		while ((result = whorl_claim(s, 8, &claim)) == WHORL_AGAIN)
			if (whorl_window_arm(s) == WHORL_AGAIN) {
				ck_assert_int_eq(poll(&fd, 1, PATIENCE_MS), 1);
				ck_assert(took_room(s));
			}
		ck_ok(result);
		memcpy(claim.data, &i, sizeof(i));
		ck_ok(whorl_commit(&claim, sizeof(i)));
	}
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	cluster_free(&c);
}

static bool says_room(whorl_subgroup *s, int timeout_ms)
{
	struct pollfd fd = {.fd = whorl_window_fd(s), .events = POLLIN};

	return poll(&fd, 1, timeout_ms) == 1;
}

/* Arms are counted, of whichever thread: as many as are out are told, once. Then there is silence, whatever room there is. */
TEST(each_arm_is_told_of_room_once)
{
	struct whorl_claim claims[2];
	struct cluster c;
	whorl_subgroup *s;

	cluster_open(&c, 1, "", "[subgroup s]\nwindow = 2\n[engine]\nthread = caller\n");
	cluster_start(&c);
	await(cluster_is_ready(&c), cluster_step(&c));
	s = subgroup_of(&c, 0, "s");
	for (int i = 0; i < 3; i++)
		ck_ok(whorl_window_arm(s)); /* there is room: nothing is armed */
	ck_assert(!says_room(s, 0));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++)
			ck_ok(whorl_claim(s, 1, &claims[i]));
		for (int i = 0; i < 3; i++)
			ck_assert_int_eq(whorl_window_arm(s), WHORL_AGAIN);
		cluster_step(&c);
		ck_assert(!says_room(s, 0));
		for (int i = 0; i < 2; i++)
			ck_ok(whorl_commit(&claims[i], 1));
		await(says_room(s, 0), cluster_step(&c));
		ck_ok(whorl_window_arm(s)); /* is no arm, and takes nothing */
		for (int i = 0; i < 3; i++)
			ck_assert(took_room(s));
		ck_assert(!says_room(s, 0));
		ck_assert(!took_room(s));
		await(stats_of(s).delivered == 2u * (unsigned)round + 2, cluster_step(&c));
		ck_assert(!says_room(s, 0));
	}
	cluster_free(&c);
}

/* A program that waits for its window and for other things, and now and then has something to send. Messages come and go, there is
 * room nearly always; it wakes for its own arms and for nothing else. */
TEST(a_program_that_has_nothing_to_send_sleeps)
{
	unsigned long wakes = 0, arms = 0, sent = 0;
	struct whorl_claim claim;
	bool armed = false;
	uint64_t until;
	struct cluster c;
	whorl_subgroup *s;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 4\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	for (int burst = 0; burst < 20; burst++) {
		for (int i = 0; i < 20;) {
			enum whorl_result result = whorl_claim(s, 1, &claim);

			if (result == WHORL_OK) {
				ck_ok(whorl_commit(&claim, 1));
				sent++, i++;
				continue;
			}
			ck_assert_int_eq(result, WHORL_AGAIN);
			if (!armed && whorl_window_arm(s) == WHORL_AGAIN)
				armed = true, arms++;
			if (armed && says_room(s, PATIENCE_MS)) {
				wakes++;
				ck_assert(took_room(s));
				armed = false;
			}
		}
		for (until = now_ms() + 10; now_ms() < until;) /* nothing to send */
			wakes += says_room(s, 2);
	}
	ck_assert_uint_eq(wakes, arms);
	await(all_recorded(c.records, 2, sent), sched_yield());
	cluster_free(&c);
}

/* The second time is told, and nothing else happens. */
TEST(a_claim_is_finished_once)
{
	struct whorl_claim claim;
	struct cluster c;
	whorl_subgroup *s;

	cluster_open(&c, 1, "", "[subgroup s]\nwindow = 2\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	for (unsigned i = 0; i < 6; i++) {
		ck_ok(whorl_claim_wait(s, 8, PATIENCE_MS, &claim));
		memset(claim.data, 0, 8);
		ck_assert_int_eq(whorl_commit(&claim, 9), WHORL_INVALID); /* too many; it is open */
		ck_assert_str_eq(whorl_invalid_text(), "whorl_commit: more than was claimed; the claim is still open");
		ck_ok(i % 2 == 0 ? whorl_commit(&claim, 8) : whorl_abort(&claim));
		ck_assert_int_eq(whorl_commit(&claim, 8), WHORL_INVALID);
		ck_assert_str_eq(whorl_invalid_text(), "whorl_commit: the claim is finished already");
		ck_assert_int_eq(whorl_abort(&claim), WHORL_INVALID);
		ck_assert_str_eq(whorl_invalid_text(), "whorl_abort: the claim is finished already");
	}
	ck_ok(whorl_claim_wait(s, 8, PATIENCE_MS, &claim));
	ck_ok(whorl_send(s, "x", 1, PATIENCE_MS, NULL));
	ck_ok(whorl_commit(&claim, 1));
	await(recorded(c.records[0]) == 5, sched_yield());
	ck_assert_uint_eq(stats_of(s).aborted, 3);
	ck_ok(whorl_close(c.nodes[0], PATIENCE_MS));
	c.nodes[0] = NULL;
	ck_assert_int_eq(whorl_commit(&claim, 1), WHORL_INVALID); /* the node is not asked: it is not there any more */
	cluster_free(&c);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------------ */

static bool change_view(struct cluster *c, bool pauses)
{
	uint64_t before, number;
	uint32_t none = 0;

	ck_ok(whorl_view_members(c->nodes[0], &before, NULL, &none));
	ck_ok(whorl_pause_sending(subgroup_of(c, 1, "s"), pauses));
	await(whorl_view_members(c->nodes[0], &number, NULL, &none) == WHORL_OK && number > before, sched_yield());
	return number == before + 1;
}

/* The descriptor is asked for before the arm, before the view changes, behind that, or when there is room already: it is told once. */
TEST_LOOP(a_descriptor_is_told_however_late_it_is_made, 0, 4)
{
	struct whorl_claim claim;
	struct pollfd fd;
	struct cluster c;
	whorl_subgroup *s;

	cluster_open(&c, 2, "", "[subgroup s]\nwindow = 1\n");
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	if (_i == 0)
		ck_assert(!took_room(s));
	ck_ok(whorl_claim_wait(s, 1, PATIENCE_MS, &claim));
	ck_assert_int_eq(whorl_window_arm(s), WHORL_AGAIN);
	if (_i == 1)
		ck_assert(!took_room(s));
	ck_assert(change_view(&c, true));
	if (_i == 2)
		ck_assert(!took_room(s));
	ck_ok(whorl_commit(&claim, 1));
	if (_i == 3)
		ck_ok(whorl_claim_wait(s, 1, PATIENCE_MS, &claim));
	if (_i == 3)
		ck_ok(whorl_abort(&claim));
	fd = (struct pollfd){.fd = whorl_window_fd(s), .events = POLLIN};
	ck_assert_int_eq(fd.fd, whorl_window_fd(s));
	ck_assert_int_eq(poll(&fd, 1, PATIENCE_MS), 1);
	ck_assert(took_room(s));
	ck_assert(change_view(&c, false)); /* nothing was armed: it says nothing */
	ck_assert(!took_room(s));
	cluster_free(&c);
}

#define SUBGROUPS 120
#define FEW 60 /* descriptors, beside those that are open */

/* Subgroups cost no descriptors. Where there are none left a program is told so when it asks for one, and threads that wait in a call
 * wait all the same. */
TEST(subgroups_need_no_descriptors)
{
	static char subgroups[SUBGROUPS * 30];
	struct rlimit limit, few;
	struct whorl_claim claim;
	int open = dup(0), given = 0;
	struct cluster c;
	size_t at = 0;

	for (int i = 0; i < SUBGROUPS; i++)
		at += (size_t)sprintf(subgroups + at, "[subgroup s%d]\nwindow=1\n", i);
	close(open);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = (rlim_t)(open + FEW);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	cluster_open(&c, 1, "", subgroups);
	cluster_start(&c);
	ck_ok(whorl_ready(c.nodes[0], PATIENCE_MS));
	for (size_t i = 0; i < SUBGROUPS; i++)
		given += whorl_window_fd(whorl_subgroup_at(c.nodes[0], i)) >= 0;
	ck_assert(given > 0 && given < FEW);
	ck_assert_int_eq(whorl_window_fd(whorl_subgroup_at(c.nodes[0], SUBGROUPS - 1)), -1);
	ck_assert_int_eq(errno, EMFILE);
	for (int i = 0; i < 100; i++) { /* each waits for the one before */
		ck_ok(whorl_claim_wait(whorl_subgroup_at(c.nodes[0], SUBGROUPS - 1), 1, PATIENCE_MS, &claim));
		ck_ok(whorl_commit(&claim, 1));
	}
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_ge(whorl_window_fd(whorl_subgroup_at(c.nodes[0], SUBGROUPS - 1)), 0);
	cluster_free(&c);
}

/* Several threads asleep for the same window: a signal for one is not lost to another. */
static void *send_by_descriptor(void *ctx)
{
	whorl_subgroup *s = ctx;
	struct pollfd fd = {.fd = whorl_window_fd(s), .events = POLLIN};

	for (int i = 0; i < 500; i++)
		while (whorl_send(s, "message", 7, 0, NULL) != WHORL_OK)
			if (whorl_window_arm(s) == WHORL_AGAIN) {
				ck_assert_int_eq(poll(&fd, 1, PATIENCE_MS), 1);
				(void)took_room(
					s); /* another thread may have been quicker: then it took its own, which is mine */
			}
	return NULL;
}

TEST(many_threads_wait_for_one_window)
{
	pthread_t threads[4];
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\nwindow = 1\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, send_by_descriptor, subgroup_of(&c, 0, "s"));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	await(recorded(c.records[0]) == 2000, sched_yield());
	cluster_free(&c);
}

static void check_sequence(const struct whorl_message *messages, size_t count, void *ctx)
{
	atomic_ulong *delivered = ctx;

	for (size_t i = 0; i < count; i++)
		if (messages[i].index != *delivered || messages[i].sequence != *delivered ||
		    *(const uint64_t *)messages[i].data != (*delivered)++)
			ck_abort_msg("another message than number %lu", *delivered);
}

/* A guard tells how many slots are announced modulo 2^16; half of that can come at once. */
TEST(the_largest_window_goes_round)
{
	enum { WINDOW = 32768, ROUNDS = 5 };
	atomic_ulong delivered[2] = {0};
	uint64_t number = 0;
	struct cluster c;

	cluster_open(&c, 2, "", "[subgroup s]\nmessage_bytes = 8\nwindow = 32768\nsenders = one\n" CALLER);
	for (unsigned id = 0; id < 2; id++)
		ck_ok(whorl_on_batch(subgroup_of(&c, id, "s"), check_sequence, &delivered[id]));
	cluster_start(&c);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		while (whorl_send(subgroup_of(&c, 0, "s"), &number, sizeof(number), 0, NULL) == WHORL_OK)
			number++;
		ck_assert_uint_eq(number, round * WINDOW);
		await(delivered[0] == number && delivered[1] == number, cluster_step(&c));
		for (int pass = 0; pass < 3; pass++)
			cluster_step(&c);
	}
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).send.batches, ROUNDS);
	cluster_free(&c);
}

/* ---- claims in the open ------------------------------------------------------------------------------------------------ */

/* A claim that is not finished holds back what this node claims later, and no other node; it can be seen; abort releases. */
TEST_LOOP(a_held_claim_stalls_only_its_sender, 0, 2)
{
	struct whorl_claim held;
	struct cluster c;

	cluster_open(&c, 3, "", "[subgroup s]\nmessage_bytes = 8\nwindow = 64\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), &(uint64_t){1}, 8, 0, NULL));
	ck_ok(whorl_claim(subgroup_of(&c, 0, "s"), 8, &held));
	ck_ok(whorl_send(subgroup_of(&c, 0, "s"), &(uint64_t){3}, 8, 0, NULL));
	for (uint64_t i = 0; i < 300; i++)
		for (unsigned id = 1; id < 3; id++)
			ck_ok(whorl_send(subgroup_of(&c, id, "s"), &i, 8, PATIENCE_MS, NULL));
	await(all_recorded(c.records, 3, 601), sched_yield());
	await(stats_of(subgroup_of(&c, 0, "s")).open_claim == 1 + held.number, sched_yield());
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).claimed, 3);
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).sent, 1);
	ck_ok(_i == 0 ? whorl_abort(&held) : whorl_commit(&held, 0));
	await(all_recorded(c.records, 3, _i == 0 ? 602 : 603), sched_yield());
	await(stats_of(subgroup_of(&c, 0, "s")).open_claim == 0, sched_yield());
	ck_assert_uint_eq(stats_of(subgroup_of(&c, 0, "s")).aborted, _i == 0);
	records_agree(c.records[0], c.records[2]);
	cluster_free(&c);
}

TEST_LOOP(aborted_claims_take_a_number_and_no_message, 0, 2)
{
	struct cluster c;

	cluster_open(&c, 2, "",
		     _i == 0 ? "[subgroup s]\nwindow = 2\nmessage_bytes = 8\n" CALLER
			     : "[subgroup s]\nwindow = 2\nmessage_bytes = 8\nmode = unordered\n" CALLER);
	cluster_record(&c, "s");
	cluster_start(&c);
	for (uint64_t i = 0; i < 30; i++) {
		struct whorl_claim claim;

		ck_ok(whorl_claim_wait(subgroup_of(&c, 0, "s"), 8, 0, &claim));
		memcpy(claim.data, &i, 8);
		ck_ok(i % 3 == 1 ? whorl_abort(&claim) : whorl_commit(&claim, 8));
		for (int pass = 0; pass < 10; pass++) /* every node in turn, until the slot is free again */
			cluster_step(&c);
	}
	ck_assert_uint_eq(recorded(c.records[1]), 20);
	records_agree(c.records[0], c.records[1]);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_uint_eq(c.records[1]->entries[i].index, i / 2 * 3 + i % 2 * 2);
	cluster_free(&c);
}

/* ---- what is refused ----------------------------------------------------------------------------------------------------- */

TEST(sizes_and_senders_are_checked)
{
	struct whorl_claim claim;
	struct cluster c;
	whorl_subgroup *s;

	cluster_open(&c, 2, "", "[subgroup s]\nmessage_bytes = 100\nsenders = 0\n" CALLER);
	cluster_start(&c);
	s = subgroup_of(&c, 0, "s");
	ck_assert_int_eq(whorl_claim(s, 101, &claim), WHORL_INVALID);
	ck_assert_int_eq(whorl_claim(s, SIZE_MAX, &claim), WHORL_INVALID);
	ck_assert_int_eq(whorl_send(s, NULL, 101, 10, NULL), WHORL_INVALID);
	ck_ok(whorl_claim(s, 50, &claim));
	ck_assert_int_eq(whorl_commit(&claim, 51), WHORL_INVALID); /* still open */
	ck_ok(whorl_commit(&claim, 50));
	ck_assert_int_eq(whorl_claim(subgroup_of(&c, 1, "s"), 1, &claim), WHORL_NOT_SENDER);
	ck_assert_int_eq(whorl_send(subgroup_of(&c, 1, "s"), "x", 1, 10, NULL), WHORL_NOT_SENDER);
	cluster_free(&c);
}

/* ---- many threads ---------------------------------------------------------------------------------------------------------- */

struct filler {
	whorl_subgroup *subgroup;
	unsigned thread;
};

#define CLAIMS 1000u
#define AT_ONCE 3

static uint32_t mix(uint64_t number, unsigned at)
{
	return (uint32_t)((number + 1) * 2654435761u + at * 40503u);
}

/* Holds several claims at once, fills each with words that follow from its number, and finishes the last one first. Only
 * the first may be waited for: a thread that holds an old claim and waits for a new one may wait for itself. */
static void *fill_in_place(void *ctx)
{
	struct filler *filler = ctx;
	struct whorl_claim claims[AT_ONCE];

	for (unsigned done = 0; done < CLAIMS;) {
		unsigned held = 0;

		ck_ok(whorl_claim_wait(filler->subgroup, 64, PATIENCE_MS, &claims[held++]));
		while (held < AT_ONCE && done + held < CLAIMS &&
		       whorl_claim(filler->subgroup, 64, &claims[held]) == WHORL_OK)
			held++;
		done += held;
		for (unsigned k = 0; k < held; k++)
			for (unsigned at = 0; at < 16; at++)
				((uint32_t *)claims[k].data)[at] = mix(claims[k].number, at);
		while (held-- > 0)
			ck_ok(claims[held].number % 50 == 7 ? whorl_abort(&claims[held])
							    : whorl_commit(&claims[held], 64));
	}
	return NULL;
}

static void check_words(const struct whorl_message *message, void *ctx)
{
	const uint32_t *words = message->data;

	ck_assert_uint_eq(message->bytes, 64);
	for (unsigned at = 0; at < 16; at++)
		ck_assert_uint_eq(words[at], mix(message->index, at));
	record_message(message, ctx);
}

TEST(many_threads_fill_slots_at_once)
{
	enum { THREADS = 4 };
	struct filler fillers[2 * THREADS];
	pthread_t threads[2 * THREADS];
	uint64_t delivered;
	struct cluster c;

	cluster_open(&c, 2, "",
		     "[subgroup s]\nmessage_bytes = 64\nwindow = 13\n"); /* fewer slots than could be claimed */
	for (unsigned id = 0; id < 2; id++)
		ck_ok(whorl_on_message(subgroup_of(&c, id, "s"), check_words, c.records[id]));
	cluster_start(&c);
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		fillers[i] = (struct filler){.subgroup = subgroup_of(&c, i % 2, "s"), .thread = i};
		pthread_create(&threads[i], NULL, fill_in_place, &fillers[i]);
	}
	for (unsigned i = 0; i < 2 * THREADS; i++)
		pthread_join(threads[i], NULL);
	delivered = 2 * THREADS * CLAIMS;
	for (unsigned id = 0; id < 2; id++) {
		struct whorl_subgroup_stats stats;

		await(stats_of(subgroup_of(&c, id, "s")).sent == THREADS * CLAIMS, sched_yield());
		stats = stats_of(subgroup_of(&c, id, "s"));
		ck_assert_uint_gt(stats.aborted, 0);
		delivered -= stats.aborted;
	}
	await(all_recorded(c.records, 2, delivered), sched_yield());
	records_agree(c.records[0], c.records[1]);
	cluster_free(&c);
}

TEST_SUITE("group: claims")
