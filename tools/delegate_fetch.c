/* delegate_fetch.c - `whorl delegate fetch-add`: threads add 1 to counters, for half a second each way, and each way in each run. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/thread.h"
#include "tools/delegate.h"

#define SLICE_NS (WH_NS_PER_S / 2)
#define PICKS_MOST (UINT32_C(1) << 18)

const struct wh_way *const wh_ways[WH_WAYS] = {&wh_way_mutex,  &wh_way_spin,  &wh_way_mcs,  &wh_way_combine,
					       &wh_way_atomic, &wh_way_trust, &wh_way_async};

struct outcome {                                 /* of one way in one run */
	double ops_per_s, p50, p99, p99_9, mean; /* us */
	double processor_us;                     /* of this process, for each operation */
};

struct measurement {
	struct wh_delegate *delegate;
	struct wh_fetch_thread *threads;
	double *weights;          /* sums of, with --zipf */
	struct outcome *outcomes; /* by run, then way */
};

uint64_t wh_fetch_now(void)
{
	return wh_clock_ns();
}

/* ---- which object, and when ----------------------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *dice) /* splitmix64 */
{
	uint64_t z = *dice += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* 0 to 1, without 1. */
static double draw_share(uint64_t *dice)
{
	return (double)(draw(dice) >> 11) * 0x1p-53;
}

/* Object i is drawn in proportion to 1 / (i + 1)^zipf. */
static uint32_t draw_object(const struct measurement *m, uint64_t *dice)
{
	uint32_t low = 0, high = m->delegate->objects - 1;
	double at;

	if (m->weights == NULL)
		return (uint32_t)(draw(dice) % m->delegate->objects);
	at = draw_share(dice) * m->weights[high];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (m->weights[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool make_weights(struct measurement *m)
{
	double sum = 0;

	if (m->delegate->zipf <= 0)
		return true;
	m->weights = malloc(m->delegate->objects * sizeof *m->weights);
	for (uint32_t i = 0; m->weights != NULL && i < m->delegate->objects; i++)
		m->weights[i] = sum += pow(i + 1.0, -m->delegate->zipf);
	return m->weights != NULL;
}

/* Drawn beforehand, so that drawing costs nothing later: 16 turns for each object, within bounds. */
static bool make_picks(struct measurement *m, struct wh_fetch_thread *thread)
{
	uint32_t count = 1;

	while (m->delegate->objects > 1 && count < PICKS_MOST && count / 16 < m->delegate->objects)
		count *= 2;
	thread->picks = malloc(count * sizeof *thread->picks);
	thread->pick_mask = count - 1;
	thread->dice = thread->number + 1;
	for (uint32_t i = 0; thread->picks != NULL && i < count; i++)
		thread->picks[i] = draw_object(m, &thread->dice);
	return thread->picks != NULL;
}

static double draw_gap(struct wh_fetch_thread *thread)
{
	return -log(1 - draw_share(&thread->dice)) * thread->gap;
}

bool wh_fetch_due(struct wh_fetch_thread *thread, uint64_t *due)
{
	double wait = thread->due - (double)wh_fetch_now();

	if (wait > 0) {
		if (wait > 2000)
			sched_yield();
		else
			wh_cpu_relax();
		return false;
	}
	*due = (uint64_t)thread->due;
	thread->due += draw_gap(thread);
	return true;
}

/* ---- the threads ------------------------------------------------------------------------------------------------------------------ */

void wh_fetch_begin(struct wh_fetch_thread *thread)
{
	pthread_barrier_wait(&thread->fetch->begin);
	thread->begun = wh_fetch_now();
	thread->due = (double)thread->begun + (thread->gap > 0 ? draw_gap(thread) : 0);
}

void wh_fetch_end(struct wh_fetch_thread *thread)
{
	thread->ended = wh_fetch_now();
}

static void *run_thread(void *ctx)
{
	struct wh_fetch_thread *thread = ctx;

	thread->fetch->way->run(thread);
	return NULL;
}

static void reset_thread(const struct measurement *m, struct wh_fetch *fetch, uint32_t i)
{
	struct wh_fetch_thread *thread = &m->threads[i];

	*thread = (struct wh_fetch_thread){.fetch = fetch,
					   .number = i,
					   .picks = thread->picks,
					   .pick_mask = thread->pick_mask,
					   .dice = thread->dice};
	if (m->delegate->load > 0)
		thread->gap = 1e9 * m->delegate->threads / m->delegate->load;
}

/* A slice of time, or less if a signal comes. */
static void wait_slice(struct wh_watch *watch)
{
	uint64_t until = wh_fetch_now() + SLICE_NS, now;

	while (watch->interrupted == 0 && (now = wh_fetch_now()) < until)
		wh_watch_wait(watch, (int)((until - now) / WH_NS_PER_MS) + 1);
}

/* Of those that there are. False: not all could be started, which was said. */
static bool start_threads(const struct measurement *m, struct wh_fetch *fetch, pthread_t *threads)
{
	struct wh_error err;

	for (uint32_t i = 0; i < m->delegate->threads; i++) {
		reset_thread(m, fetch, i);
		if (wh_thread_create(&threads[i], "fetch-add", -1, run_thread, &m->threads[i], &err) == WHORL_OK)
			continue;
		wh_say("%s", err.text);
		return false; /* those that there are wait at the barrier: the command ends with them */
	}
	return true;
}

/* ---- what has come of it ---------------------------------------------------------------------------------------------------------- */

/* Every operation has added 1 to an object, once. */
static bool check(const struct measurement *m, struct wh_fetch *fetch)
{
	uint64_t done = 0, sum = fetch->way->sum(fetch);

	for (uint32_t i = 0; i < m->delegate->threads; i++) {
		done += m->threads[i].done;
		if (m->threads[i].wrong == NULL)
			continue;
		wh_say("fetch-add: %s: %s", fetch->way->name, m->threads[i].wrong);
		return false;
	}
	if (sum != done)
		wh_say("fetch-add: %s: the objects have %" PRIu64 ", but %" PRIu64 " operations were made",
		       fetch->way->name, sum, done);
	return sum == done;
}

static double used_us(void)
{
	struct rusage used;

	(void)getrusage(RUSAGE_SELF, &used);
	return 1e6 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static struct outcome sum_up(const struct measurement *m, double processor_us)
{
	struct wh_histogram *latency = &m->threads[0].latency;
	struct outcome out = {0};
	double done = 0, sum_ns = 0;

	for (uint32_t i = 0; i < m->delegate->threads; i++) {
		const struct wh_fetch_thread *thread = &m->threads[i];

		if (i > 0)
			wh_histogram_merge(latency, &thread->latency);
		sum_ns += thread->sum_ns;
		done += (double)thread->done;
		if (thread->ended > thread->begun)
			out.ops_per_s += 1e9 * (double)thread->done / (double)(thread->ended - thread->begun);
	}
	out.p50 = wh_histogram_quantile(latency, 0.5) / 1e3;
	out.p99 = wh_histogram_quantile(latency, 0.99) / 1e3;
	out.p99_9 = wh_histogram_quantile(latency, 0.999) / 1e3;
	out.mean = latency->count > 0 ? sum_ns / (double)latency->count / 1e3 : 0;
	out.processor_us = done > 0 ? processor_us / done : 0;
	return out;
}

static bool measure_way(struct measurement *m, const struct wh_way *way, struct outcome *out)
{
	struct wh_fetch fetch = {.delegate = m->delegate, .way = way};
	pthread_t *threads = calloc(m->delegate->threads, sizeof *threads);
	double before;
	bool good;

	pthread_barrier_init(&fetch.begin, NULL, m->delegate->threads + 1);
	if (threads == NULL || !way->open(&fetch)) {
		free(threads);
		return false;
	}
	if (!start_threads(m, &fetch, threads))
		exit(WH_EXIT_MACHINE);
	before = used_us();
	pthread_barrier_wait(&fetch.begin);
	wait_slice(&m->delegate->watch);
	wh_store_relaxed(&fetch.stop, 1);
	for (uint32_t i = 0; i < m->delegate->threads; i++)
		pthread_join(threads[i], NULL);
	*out = sum_up(m, used_us() - before);
	good = check(m, &fetch);
	way->close(&fetch);
	pthread_barrier_destroy(&fetch.begin);
	free(threads);
	return good;
}

static enum wh_exit measure_all(struct measurement *m)
{
	const struct wh_delegate *delegate = m->delegate;

	for (uint32_t run = 0; run < delegate->runs; run++)
		for (uint32_t w = 0; w < delegate->way_count; w++) {
			struct outcome *out = &m->outcomes[run * delegate->way_count + w];

			if (!measure_way(m, delegate->ways[w], out))
				return WH_EXIT_FAILED;
			if (delegate->watch.interrupted != 0)
				return WH_EXIT_INTERRUPTED;
			printf("%s %.0f %.3f\n", delegate->ways[w]->name, out->ops_per_s, out->p50);
			if (!wh_flush_file(stdout, WH_STDOUT))
				return WH_EXIT_FAILED;
		}
	return WH_EXIT_GOOD;
}

/* ---- JSON: jansson's functions take a value over, and refuse one that is NULL: when memory is out a key is missing --------------- */

static int compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/* The median over the runs. `values` is room for them. */
static double median(double *values, uint32_t count)
{
	qsort(values, count, sizeof *values, compare);
	return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static json_t *json_outcome(const struct outcome *out)
{
	return json_pack("{s:f, s:{s:f, s:f, s:f, s:f}, s:f}", "ops_per_s", out->ops_per_s, "latency_us", "p50",
			 out->p50, "p99", out->p99, "p99_9", out->p99_9, "mean", out->mean, "processor_us",
			 out->processor_us);
}

static json_t *json_way(const struct measurement *m, uint32_t w, double *room)
{
	const struct wh_delegate *delegate = m->delegate;
	json_t *runs = json_array(), *way = json_pack("{s:s}", "way", delegate->ways[w]->name);

	for (uint32_t run = 0; run < delegate->runs; run++) {
		const struct outcome *out = &m->outcomes[run * delegate->way_count + w];

		room[run] = out->ops_per_s;
		json_array_append_new(runs, json_outcome(out));
	}
	json_object_set_new(way, "ops_per_s", json_real(median(room, delegate->runs)));
	for (uint32_t run = 0; run < delegate->runs; run++)
		room[run] = m->outcomes[run * delegate->way_count + w].p50;
	json_object_set_new(way, "latency_us", json_real(median(room, delegate->runs)));
	json_object_set_new(way, "runs", runs);
	return way;
}

static json_t *json_results(const struct measurement *m)
{
	const struct wh_delegate *delegate = m->delegate;
	json_t *ways = json_array();
	double *room = calloc(delegate->runs, sizeof *room);

	for (uint32_t w = 0; room != NULL && w < delegate->way_count; w++)
		json_array_append_new(ways, json_way(m, w, room));
	free(room);
	return json_pack("{s:s, s:i, s:i, s:f, s:f, s:b, s:i, s:o}", "command", delegate->command, "threads",
			 (int)delegate->threads, "objects", (int)delegate->objects, "zipf", delegate->zipf, "load",
			 delegate->load, "busy", delegate->busy, "runs", (int)delegate->runs, "ways", ways);
}

static enum wh_exit write_json(const struct measurement *m)
{
	const char *path = m->delegate->json;
	json_t *results = json_results(m);
	FILE *file = fopen(path, "w");
	bool good = file != NULL && results != NULL;

	if (file == NULL)
		wh_say("%s: %s", path, strerror(errno));
	else if (results == NULL)
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
	good = good && json_dumpf(results, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) == 0 &&
	       fputs("\n", file) >= 0;
	if (file != NULL && !wh_close_file(file, path))
		good = false;
	json_decref(results);
	return good ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}

/* ---- busy neighbours: a process on each processor that does nothing else ---------------------------------------------------------- */

struct neighbours {
	struct wh_crew crew;
	struct wh_phase *phase; /* 1: they may go */
	cpu_set_t processors;
};

static int be_busy(void *ctx, uint32_t worker)
{
	struct neighbours *all = ctx;
	cpu_set_t mine;
	uint32_t at = 0;

	CPU_ZERO(&mine);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all->processors) && at++ == worker)
			CPU_SET(cpu, &mine);
	(void)sched_setaffinity(0, sizeof mine, &mine);
	while (wh_phase_get(all->phase) == 0)
		for (int i = 0; i < 1000; i++)
			wh_cpu_relax();
	return WH_EXIT_GOOD;
}

static bool invite(struct neighbours *all, struct wh_delegate *delegate)
{
	struct wh_error err;

	all->phase = wh_shared_alloc(sizeof *all->phase, false);
	if (all->phase == NULL || sched_getaffinity(0, sizeof all->processors, &all->processors) != 0) {
		wh_say("--busy: %s", strerror(errno));
		return false;
	}
	if (wh_crew_start(&all->crew, &delegate->watch, (uint32_t)CPU_COUNT(&all->processors), true, be_busy, all,
			  &err) == WHORL_OK)
		return true;
	wh_say("%s", err.text);
	wh_shared_free(all->phase, sizeof *all->phase);
	return false;
}

static void see_off(struct neighbours *all)
{
	wh_phase_set(all->phase, 1);
	(void)wh_crew_end(&all->crew, 2000);
	wh_shared_free(all->phase, sizeof *all->phase);
}

/* ---- all of it -------------------------------------------------------------------------------------------------------------------- */

static bool make_room(struct measurement *m)
{
	const struct wh_delegate *delegate = m->delegate;
	bool good;

	m->threads = calloc(delegate->threads, sizeof *m->threads);
	m->outcomes = calloc((size_t)delegate->runs * delegate->way_count, sizeof *m->outcomes);
	good = m->threads != NULL && m->outcomes != NULL && make_weights(m);
	for (uint32_t i = 0; good && i < delegate->threads; i++) {
		m->threads[i].number = i;
		good = make_picks(m, &m->threads[i]);
	}
	if (!good)
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
	return good;
}

static void free_room(struct measurement *m)
{
	for (uint32_t i = 0; m->threads != NULL && i < m->delegate->threads; i++)
		free(m->threads[i].picks);
	free(m->threads);
	free(m->outcomes);
	free(m->weights);
}

enum wh_exit wh_delegate_fetch(struct wh_delegate *delegate)
{
	struct measurement m = {.delegate = delegate};
	struct neighbours neighbours = {.phase = NULL};
	enum wh_exit status = WH_EXIT_MACHINE;

	if (make_room(&m) && (!delegate->busy || invite(&neighbours, delegate))) {
		status = measure_all(&m);
		if (delegate->busy)
			see_off(&neighbours);
		if (status == WH_EXIT_GOOD && delegate->json != NULL)
			status = write_json(&m);
	}
	free_room(&m);
	return status;
}
