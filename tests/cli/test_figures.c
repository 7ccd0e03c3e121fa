/* test_figures.c - what the figures of a benchmark rest on: the payload, the histogram, the crew, the limit. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "bench/histogram.h"
#include "bench/limit/limit.h"
#include "bench/limit/payload.h"
#include "bench/limit/seal.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- payload ---------------------------------------------------------------------------------------------------------*/

#define MOST 300

static _Alignas(16) unsigned char message[MOST + 16];

TEST_CASE("figures", .timeout_s = TEST_UNTIMED);

/* Exactly `bytes` bytes are written, whatever their number. */
TEST(fill_writes_all_and_no_more)
{
	for (size_t bytes = 0; bytes <= MOST; bytes++) {
		uint64_t word;

		memset(message, 0xee, sizeof message);
		wh_payload_fill(message, bytes, 77);
		for (size_t i = 0; i + 8 <= bytes; i += 8) {
			memcpy(&word, message + i, 8);
			ck_assert_uint_eq(word, 77 + i / 8);
		}
		word = 77 + bytes / 8;
		ck_assert_int_eq(memcmp(message + bytes / 8 * 8, &word, bytes % 8), 0);
		for (size_t i = bytes; i < sizeof message; i++)
			ck_assert_uint_eq(message[i], 0xee);
	}
}

/* Whatever the width of a processor's vectors, nodes of several machines fill and find the same. */
TEST(all_ways_do_the_same)
{
	static _Alignas(64) unsigned char first[2048], other[2048];

	ck_assert_uint_ge(wh_payload_ways(), 1);
	for (unsigned way = 0; way < wh_payload_ways(); way++)
		for (size_t bytes = 0; bytes + 16 <= sizeof first; bytes += bytes < 200 ? 1 : 61)
			for (size_t at = 0; at <= 8; at += 8) {
				memset(first, 0xee, sizeof first);
				memset(other, 0xee, sizeof other);
				wh_payload_fill_by(0, first + at, bytes, UINT64_MAX - 3);
				wh_payload_fill_by(way, other + at, bytes, UINT64_MAX - 3);
				ck_assert_mem_eq(first, other, sizeof first);
				ck_assert_uint_eq(wh_payload_digest_by(0, first + at, bytes),
						  wh_payload_digest_by(way, other + at, bytes));
			}
}

/* Every single bit, the length, and the places of words count; what lies behind the message does not. */
TEST(digest_reads_all_and_no_more)
{
	for (size_t bytes = 1; bytes <= MOST; bytes += bytes < 20 ? 1 : 17) {
		uint64_t digest;

		wh_payload_fill(message, bytes, 123);
		digest = wh_payload_digest(message, bytes);
		for (size_t bit = 0; bit < 8 * bytes; bit++) {
			message[bit / 8] ^= (unsigned char)(1 << bit % 8);
			ck_assert_uint_ne(wh_payload_digest(message, bytes), digest);
			message[bit / 8] ^= (unsigned char)(1 << bit % 8);
		}
		message[bytes] ^= 1;
		ck_assert_uint_eq(wh_payload_digest(message, bytes), digest);
		ck_assert_uint_ne(wh_payload_digest(message, bytes - 1), digest);
	}
}

TEST(digest_sees_words_change_places)
{
	uint64_t words[32], digest, kept;

	wh_payload_fill(words, sizeof words, 5);
	digest = wh_payload_digest(words, sizeof words);
	for (size_t a = 0; a < COUNT(words); a++)
		for (size_t b = 0; b < a; b++) {
			kept = words[a];
			words[a] = words[b];
			words[b] = kept;
			ck_assert_uint_ne(wh_payload_digest(words, sizeof words), digest);
			words[b] = words[a];
			words[a] = kept;
		}
	ck_assert_uint_eq(wh_payload_digest(words, sizeof words), digest);
}

TEST(zeros_of_other_lengths_differ)
{
	memset(message, 0, sizeof message);
	for (size_t a = 0; a <= MOST; a++)
		for (size_t b = 0; b < a; b++)
			ck_assert_uint_ne(wh_payload_digest(message, a), wh_payload_digest(message, b));
}

/* ---- histogram ---------------------------------------------------------------------------------------------------------*/

TEST(histogram_error_is_bounded)
{
	for (uint64_t value = 0; value < UINT64_C(1) << (WH_HISTOGRAM_TOP - 1); value += 1 + value / 777) {
		struct wh_histogram histogram = {0};
		double found;

		wh_histogram_add(&histogram, value);
		wh_histogram_add(&histogram, UINT64_MAX); /* so that the median is not the greatest */
		found = wh_histogram_quantile(&histogram, 0.5);
		ck_assert_double_le(fabs(found - (double)value), 0.016 * (double)value);
	}
}

TEST(histogram_quantiles)
{
	struct wh_histogram a = {0}, b = {0};

	ck_assert_double_eq(wh_histogram_quantile(&a, 0.5), 0);
	for (uint64_t value = 1; value <= 1000; value++)
		wh_histogram_add(value % 2 ? &a : &b, value);
	wh_histogram_merge(&a, &b);
	ck_assert_uint_eq(a.count, 1000);
	ck_assert_double_eq_tol(wh_histogram_quantile(&a, 0.5), 500, 8);
	ck_assert_double_eq_tol(wh_histogram_quantile(&a, 0.99), 990, 16);
	ck_assert_double_eq(wh_histogram_quantile(&a, 1), 1000);
}

/* ---- crew --------------------------------------------------------------------------------------------------------------*/

struct crowd {
	struct wh_phase phase;
	wh_word said[4]; /* by each worker */
};

static int follow(void *ctx, uint32_t worker)
{
	struct crowd *crowd = ctx;

	while (wh_phase_get(&crowd->phase) == 0)
		wh_phase_wait(&crowd->phase, 0, 10000);
	wh_store_release(&crowd->said[worker], 1);
	return (int)worker;
}

/* Processes and threads alike: they share memory, follow the phase, and each end is told once. */
TEST_LOOP(crew_follows_and_ends, 0, 2)
{
	struct crowd *crowd = wh_shared_alloc(sizeof *crowd, false);
	bool seen[4] = {false};
	struct wh_watch watch;
	struct wh_crew crew;
	struct wh_error err;
	uint32_t worker;
	int status;

	ck_assert_int_eq(wh_watch_open(&watch, &err), WHORL_OK);
	ck_assert_int_eq(wh_crew_start(&crew, &watch, 4, _i == 0, follow, crowd, &err), WHORL_OK);
	ck_assert(!wh_crew_reap(&crew, &worker, &status));
	wh_phase_set(&crowd->phase, 1);
	while (crew.running > 0) {
		if (!wh_crew_reap(&crew, &worker, &status)) {
			wh_watch_wait(&watch, 10000);
			continue;
		}
		ck_assert(!seen[worker]);
		seen[worker] = true;
		ck_assert(WIFEXITED(status));
		ck_assert_int_eq(WEXITSTATUS(status), (int)worker);
		ck_assert_uint_eq(wh_load_acquire(&crowd->said[worker]), 1);
	}
	ck_assert(wh_crew_end(&crew, 0));
	wh_watch_close(&watch);
	wh_shared_free(crowd, sizeof *crowd);
}

/* ---- limit -------------------------------------------------------------------------------------------------------------*/

static const struct {
	uint32_t nodes, window, bytes;
	bool processes, caller;
} limits[] = {
	{2, 10, 1000, true, false}, {2, 10, 1000, true, true},   {3, 1, 0, true, false},
	{2, 100, 1, false, false},  {3, 1000, 128, false, true}, {1, 1, 65536, true, true},
};

static bool has_rates(const struct wh_limit_plan *plan, const struct wh_limit_result *result)
{
	bool is_tcp = plan->kind == WH_LIMIT_TCP;

	return result->rate.messages_per_s > 0 && (!is_tcp || result->best_write.messages_per_s > 0) &&
	       (!is_tcp || !plan->tls || plan->nodes == 1 || result->sealed_write.messages_per_s > 0);
}

/* On a machine that is busy nothing may move in 20 ms: then longer. */
static void measure(struct wh_limit_plan *plan, struct wh_limit_result *result)
{
	struct wh_watch watch;
	struct wh_error err;

	ck_assert_int_eq(wh_watch_open(&watch, &err), WHORL_OK);
	do
		ck_assert_int_eq(wh_limit_measure(plan, &watch, result, &err), WHORL_OK);
	while (!has_rates(plan, result) && (plan->measure_ms *= 8) < 2000);
	wh_watch_close(&watch);
}

/* It moves bytes, in all the shapes of a run. */
static void move_bytes(int _i, enum wh_limit_kind kind, struct wh_limit_result *result)
{
	const uint32_t all[] = {0, 1, 2};
	struct wh_limit_ring rings[3];
	struct wh_limit_plan plan = {.kind = kind,
				     .nodes = limits[_i].nodes,
				     .rings = rings,
				     .ring_count = limits[_i].nodes,
				     .processes = limits[_i].processes,
				     .caller = limits[_i].caller,
				     .tls = _i % 2 == 0,
				     .huge = _i % 2 == 1,
				     .paced = _i % 2 == 0,
				     .measure_ms = 20};

	for (uint32_t n = 0; n < plan.nodes; n++)
		rings[n] = (struct wh_limit_ring){.writer = n,
						  .readers = all,
						  .reader_count = plan.nodes,
						  .window = limits[_i].window,
						  .bytes = limits[_i].bytes};
	measure(&plan, result);
	for (size_t trip = 0; trip < 2; trip++) /* no message goes there and back in no time, nor alone */
		ck_assert_int_eq(result->round_trip_us[trip] > 0, plan.nodes > 1);
	for (size_t trip = 0; trip < 2; trip++) {
		ck_assert_int_eq(result->pattern_us[trip] > 0, plan.nodes > 1);
		ck_assert_int_eq(result->sent_apart_us[trip] > 0, plan.nodes > 1 && plan.paced && !plan.caller);
	}
}

static void check_rate(int _i, const struct wh_limit_rate *rate)
{
	ck_assert_double_gt(rate->messages_per_s, 0);
	ck_assert_double_eq_tol(rate->bytes_per_s, rate->messages_per_s * limits[_i].bytes,
				rate->messages_per_s * limits[_i].bytes * 1e-3 + 1e-9);
}

TEST_LOOP(limit_of_shm, 0, COUNT(limits))
{
	struct wh_limit_result result;

	move_bytes(_i, WH_LIMIT_SHM, &result);
	check_rate(_i, &result.rate);
	ck_assert(result.publish_every == 1 || result.publish_every == 8 || result.publish_every == 64);
}

TEST_LOOP(limit_of_tcp, 0, COUNT(limits))
{
	struct wh_limit_result result;

	move_bytes(_i, WH_LIMIT_TCP, &result);
	check_rate(_i, &result.rate);
	check_rate(_i, &result.best_write);
	if (_i % 2 == 0 && limits[_i].nodes > 1)
		check_rate(_i, &result.sealed_write);
	else if (_i % 2 == 1)
		ck_assert_double_eq(result.sealed_write.messages_per_s, 0);
	ck_assert_double_eq(result.prefetched_bytes_per_s, 0);
}

struct seal_end {
	struct wh_limit_seal *seal;
	int socket;
	bool connects;
};

static void *open_seal(void *context)
{
	struct seal_end *end = context;

	ck_assert_int_eq(wh_limit_seal_open(&end->seal, end->socket, end->connects, 7), 0);
	return NULL;
}

/* The nodes of a run do not end at one moment: what is sealed for one that has gone is refused, and raises no SIGPIPE. */
TEST(a_sealed_end_may_go)
{
	struct seal_end ends[2] = {{.connects = true}, {.connects = false}};
	static const char bytes[1000];
	char read[sizeof bytes];
	pthread_t other;
	int sockets[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	for (size_t e = 0; e < 2; e++)
		ends[e].socket = sockets[e];
	ck_assert_int_eq(pthread_create(&other, NULL, open_seal, &ends[1]), 0);
	(void)open_seal(&ends[0]);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
	ck_assert_int_eq(wh_limit_seal_receive(ends[0].seal, read, sizeof read), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(wh_limit_seal_send(ends[0].seal, bytes, sizeof bytes), sizeof bytes);
	ck_assert_int_eq(wh_limit_seal_receive(ends[1].seal, read, sizeof read), sizeof read);
	wh_limit_seal_close(ends[1].seal);
	ck_assert_int_eq(close(sockets[1]), 0);
	ck_assert_int_eq(wh_limit_seal_send(ends[0].seal, bytes, sizeof bytes), -1);
	ck_assert_int_eq(errno, ECONNRESET);
	wh_limit_seal_close(ends[0].seal);
	ck_assert_int_eq(close(sockets[0]), 0);
}

/* tests/softroce/ measures it where there is a device; without one it is said what is missing. */
TEST(limit_of_verbs_needs_a_device)
{
	uint32_t members[] = {0, 1};
	struct wh_limit_ring ring = {0, members, 2, 10, 1000, 1};
	struct wh_limit_plan plan = {.kind = WH_LIMIT_VERBS,
				     .nodes = 2,
				     .rings = &ring,
				     .ring_count = 1,
				     .processes = true,
				     .measure_ms = 20};
	struct wh_limit_result result;
	struct wh_watch watch;
	struct wh_error err;

	ck_assert_int_eq(wh_watch_open(&watch, &err), WHORL_OK);
	if (wh_limit_measure(&plan, &watch, &result, &err) == WHORL_OK) {
		ck_assert_double_gt(result.per_message.bytes_per_s, 0);
		ck_assert_double_ge(result.rate.bytes_per_s, result.per_message.bytes_per_s);
		ck_assert_double_gt(result.stable_write.bytes_per_s, 0);
	} else {
		ck_assert_ptr_nonnull(strstr(err.text, "no RDMA device"));
	}
	wh_watch_close(&watch);
}

/* On tcp the rings of a node share its connections, and not all of them are for everybody. */
TEST_LOOP(limit_of_subgroups_that_overlap, 0, 4)
{
	const uint32_t all[] = {0, 1, 2}, first[] = {0, 1}, last[] = {1, 2};
	struct wh_limit_ring rings[] = {{0, first, 2, 10, 1000, 1}, {0, all, 3, 20, 1000, 1},
					{0, first, 2, 10, 1000, 1}, {1, last, 2, 10, 1000, 1},
					{1, all, 3, 20, 1000, 1},   {2, last, 2, 10, 1000, 1}};

	for (size_t r = 0; r < COUNT(rings); r++) /* of several sizes, also across readers */
		rings[r].bytes = _i / 2 == 0 ? 1000 : (uint32_t)(1000 * r * r);
	struct wh_limit_plan plan = {.kind = WH_LIMIT_TCP,
				     .nodes = 3,
				     .rings = rings,
				     .ring_count = COUNT(rings),
				     .caller = _i % 2 == 1,
				     .measure_ms = 20};
	struct wh_limit_result result;
	struct wh_watch watch;
	struct wh_error err;

	ck_assert_int_eq(wh_watch_open(&watch, &err), WHORL_OK);
	ck_assert_int_eq(wh_limit_measure(&plan, &watch, &result, &err), WHORL_OK);
	wh_watch_close(&watch);
	ck_assert_double_gt(result.rate.messages_per_s, 0);
	ck_assert_double_gt(result.best_write.messages_per_s, 0);
}

/* As many of each are read, however much faster the small ones are; and there is a small one for each large one. */
TEST_LOOP(limit_of_several_sizes, 0, 6)
{
	static const enum wh_limit_kind kinds[] = {WH_LIMIT_SHM, WH_LIMIT_TCP, WH_LIMIT_TCP};
	const uint32_t both[] = {0, 1};
	struct wh_limit_ring rings[] = {{0, both, 2, 20, 16, 1}, {0, both, 2, 10, 20000, 1}};
	struct wh_limit_plan plan = {.kind = kinds[_i / 2],
				     .nodes = 2,
				     .rings = rings,
				     .ring_count = COUNT(rings),
				     .processes = true,
				     .tls = _i / 2 == 2,
				     .caller = _i % 2 == 1,
				     .measure_ms = 100};
	const double mean = (16 + 20000) / 2.0;
	struct wh_limit_result result;

	measure(&plan, &result);
	ck_assert_double_eq_tol(result.rate.bytes_per_s / result.rate.messages_per_s, mean, 0.2 * mean);
	if (plan.kind == WH_LIMIT_TCP)
		ck_assert_double_eq_tol(result.best_write.bytes_per_s / result.best_write.messages_per_s, mean,
					0.2 * mean);
}

TEST_SUITE("figures")

int main(void)
{
	return test_main(suite());
}
