/* disk.c - the limit of durable subgroups, see limit.h: bare programs that write to files and sync them, with no more under way than the
 * windows allow.
 *
 * They go on in steps while the parent says what a step is: so much, to the one file of each that was only given its room, or to the other
 * one, that was written before. For the former the file system has to note what is written now, which takes another write of
 * the disk; so it is measured apart what that costs. They write by the page cache, and past it; the better way counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "bench/limit/limit_int.h"
#include "command/scratch.h"

#define APPENDED_BYTES (UINT64_C(64) << 20) /* of a file, at least: then a new one takes its place */
#define WRITTEN_BYTES (UINT64_C(32) << 20)  /* likewise: then it is written again */
#define BATCHES_LEAST 4                     /* that fit into one */
#define BLOCK 4096                          /* writes begin at multiples of it */
#define SAMPLES 4096                        /* of times, at most, for each way */
#define STEP_WAIT_MS 20
#define NAP_MS 5 /* before one message alone: it finds a disk that has nothing to do */
#define WAYS (FILES * PATHS * SHARES)

enum { APPENDED, WRITTEN, FILES };
enum { CACHED, DIRECT, PATHS };
static const uint32_t shares[] = {0, 1, 2, 4, 8}; /* a step is of what can be in flight over this; 0: one message */
#define SHARES ((int)(sizeof shares / sizeof shares[0]))

/* Behind the counts in the shared memory, and behind it `done` of each node. */
struct steps {
	_Alignas(WH_CACHE_LINE) wh_word way; /* [parent] which file, path and share: see way_of */
	struct {                             /* [node 0] of each way */
		wh_word sampled;             /* times that are there */
		uint64_t ns[SAMPLES];        /* of steps */
	} times[WAYS];
	struct {
		_Alignas(WH_CACHE_LINE) struct wh_phase phase; /* [that node] steps that it has done */
	} done[];
};

struct best_way {
	struct wh_limit_rate rate;
	uint32_t share;
	bool direct;
	double sync_us; /* a step of one message, by the better path */
};

static uint64_t way_of(int file, int path, int share)
{
	return (uint64_t)((file * PATHS + path) * SHARES + share);
}

struct measurement {
	const struct wh_limit_plan *plan;
	struct wh_limit_run run;
	struct wh_scratch scratch;
};

struct worker {
	const struct measurement *m;
	struct steps *steps;
	uint32_t node;
	struct {
		int fd, path;
		uint64_t bytes, at;
	} files[FILES];
	uint64_t messages, bytes; /* that can be in flight to this node */
	char *batch;
};

static size_t steps_offset(const struct wh_limit_plan *plan)
{
	return wh_limit_round_up(wh_limit_shared_bytes(plan->nodes), WH_CACHE_LINE);
}

static size_t shared_bytes(const struct wh_limit_plan *plan)
{
	return steps_offset(plan) + sizeof(struct steps) + plan->nodes * sizeof(((struct steps *)0)->done[0]);
}

static struct steps *steps_of(const struct measurement *m)
{
	return (struct steps *)((char *)m->run.shared + steps_offset(m->plan));
}

/* What can be in flight to a node: the windows of all that it hears, with as many messages of each ring as of another. */
static uint64_t bytes_to(const struct wh_limit_plan *plan, uint32_t node, uint64_t *messages)
{
	uint64_t one_of_each = 0, rings = 0;

	*messages = 0;
	for (size_t r = 0; r < plan->ring_count; r++)
		for (uint32_t i = 0; i < plan->rings[r].reader_count; i++)
			if (plan->rings[r].readers[i] == node) {
				*messages += plan->rings[r].window;
				one_of_each += plan->rings[r].bytes;
				rings++;
			}
	return rings > 0 ? *messages * one_of_each / rings : 0;
}

static uint64_t batch_room(uint64_t bytes)
{
	return wh_limit_round_up(bytes > 0 ? bytes : 1, BLOCK);
}

uint64_t wh_limit_disk_memory(const struct wh_limit_plan *plan)
{
	uint64_t bytes = shared_bytes(plan), messages;

	for (uint32_t node = 0; node < plan->nodes; node++)
		bytes += batch_room(bytes_to(plan, node, &messages));
	return bytes;
}

/* ---- a node ------------------------------------------------------------------------------------------------------*/

static int write_all(int fd, const char *from, uint64_t bytes, uint64_t at)
{
	for (uint64_t done = 0; done < bytes;) {
		ssize_t count = pwrite(fd, from + done, bytes - done, (off_t)(at + done));

		if (count < 0 && errno != EINTR)
			return errno;
		done += count > 0 ? (uint64_t)count : 0;
	}
	return 0;
}

/* With all its room, of which the file system knows nothing more; or written once, in batches. Returns 0, or an errno value. */
static int open_file(struct worker *w, int which)
{
	uint64_t least = which == APPENDED ? APPENDED_BYTES : WRITTEN_BYTES, room = batch_room(w->bytes);
	char path[WH_SCRATCH_BYTES + 32];
	int number = 0;

	least = least < BATCHES_LEAST * room ? BATCHES_LEAST * room : least;
	snprintf(path, sizeof path, "%s/node-%u.%d", w->m->scratch.path, w->node, which);
	w->files[which].bytes = least;
	if (unlink(path) != 0 && errno != ENOENT)
		return errno;
	w->files[which].path = CACHED;
	w->files[which].fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (w->files[which].fd < 0)
		return errno;
	number = posix_fallocate(w->files[which].fd, 0, (off_t)least);
	for (uint64_t at = 0; which == WRITTEN && number == 0 && at + room <= least; at += room)
		number = write_all(w->files[which].fd, w->batch, room, at);
	if (number == 0 && fsync(w->files[which].fd) != 0)
		number = errno;
	return number;
}

static int worker_open(struct worker *w)
{
	int number;

	w->steps = steps_of(w->m);
	w->bytes = bytes_to(w->m->plan, w->node, &w->messages);
	w->batch = aligned_alloc(BLOCK, batch_room(w->bytes));
	if (w->batch == NULL)
		return ENOMEM;
	memset(w->batch, 'w', batch_room(w->bytes));
	number = open_file(w, APPENDED);
	return number != 0 ? number : open_file(w, WRITTEN);
}

/* The file is full. Returns 0, or an errno value. */
static int begin_anew(struct worker *w, int which)
{
	w->files[which].at = 0;
	if (which == WRITTEN)
		return 0;
	close(w->files[which].fd);
	return open_file(w, which);
}

/* Returns 0, or an errno value. */
static int take_path(struct worker *w, int which, int path)
{
	if (w->files[which].path == path)
		return 0;
	if (fcntl(w->files[which].fd, F_SETFL, O_RDWR | (path == DIRECT ? O_DIRECT : 0)) != 0)
		return errno;
	w->files[which].path = path;
	return 0;
}

/* Where there is no way past the page cache (tmpfs), by it. One write, and one sync. Returns 0, or an errno value. */
static int write_batch(struct worker *w, int which, int path, uint64_t bytes)
{
	uint64_t *at = &w->files[which].at;
	int number = *at + batch_room(bytes) > w->files[which].bytes ? begin_anew(w, which) : 0;

	if (number == 0 && take_path(w, which, path) != 0)
		number = take_path(w, which, CACHED);
	if (number == 0)
		number = write_all(w->files[which].fd, w->batch, batch_room(bytes), *at);
	*at += batch_room(bytes);
	if (number == 0 && fdatasync(w->files[which].fd) != 0)
		number = errno;
	return number;
}

/* Before step `step`: until all have done those before it, but for `ahead`: what is delivered is on all disks, and makes room for more. */
static void await_others(const struct worker *w, uint32_t step, uint32_t ahead)
{
	struct wh_phase *phase = &w->m->run.shared->phase;

	for (uint32_t node = 0; node < w->m->plan->nodes; node++) {
		struct wh_phase *done = &w->steps->done[node].phase;
		uint32_t seen;

		while (seen = wh_phase_get(done), seen + ahead < step && wh_phase_get(phase) == WH_LIMIT_RUN)
			wh_phase_wait(done, seen, STEP_WAIT_MS);
	}
}

static void note_time(struct steps *steps, uint64_t way, uint64_t ns)
{
	uint64_t sampled = wh_load_relaxed(&steps->times[way].sampled);

	if (sampled == SAMPLES)
		return;
	steps->times[way].ns[sampled] = ns;
	wh_store_release(&steps->times[way].sampled, sampled + 1); /* partner: median_us */
}

static int work_until_stop(struct worker *w)
{
	struct wh_limit_shared *shared = w->m->run.shared;
	const struct wh_env *env = wh_env_system();
	int number = 0;

	wh_limit_ready(shared);
	for (uint32_t step = 0; number == 0 && wh_phase_get(&shared->phase) == WH_LIMIT_RUN; step++) {
		uint64_t way = wh_load_relaxed(&w->steps->way), began;
		uint32_t share = shares[way % SHARES];
		uint64_t messages = share == 0 ? w->messages > 0 : w->messages / share;
		uint64_t bytes = w->messages > 0 ? messages * w->bytes / w->messages : 0;

		if (share == 0)
			nanosleep(&(struct timespec){.tv_nsec = NAP_MS * (long)WH_NS_PER_MS}, NULL);
		began = wh_env_now(env);
		if (messages > 0)
			number = write_batch(w, (int)(way / SHARES / PATHS), (int)(way / SHARES % PATHS), bytes);
		wh_phase_set(&w->steps->done[w->node].phase, step + 1);
		await_others(w, step + 1, share > 0 ? share - 1 : 0);
		wh_limit_add(&shared->counts[w->node], messages, bytes, 0);
		if (w->node == 0)
			note_time(w->steps, way, wh_env_now(env) - began);
	}
	return number;
}

static int run_node(void *ctx, uint32_t node)
{
	struct worker w = {.m = ctx, .node = node, .files = {{.fd = -1}, {.fd = -1}}};
	int number = worker_open(&w);

	if (number == 0)
		number = work_until_stop(&w);
	for (int which = 0; which < FILES; which++)
		if (w.files[which].fd >= 0)
			close(w.files[which].fd);
	free(w.batch);
	return number;
}

/* ---- the parent --------------------------------------------------------------------------------------------------*/

/* 0: there was no step. */
static double median_us(const struct steps *steps, uint64_t way)
{
	uint64_t count = wh_load_acquire(&steps->times[way].sampled); /* partner: note_time */
	uint64_t *sorted = malloc((count + 1) * sizeof *sorted);
	double us = 0;

	if (sorted != NULL) {
		memcpy(sorted, steps->times[way].ns, count * sizeof *sorted);
		us = wh_limit_median_us(sorted, count);
	}
	free(sorted);
	return us;
}

/* Each share, while the workers go on: the best of them, and how long a step of one message takes. */
static enum whorl_result measure_path(struct measurement *m, int file, int path, struct best_way *best,
				      struct wh_error *err)
{
	struct steps *steps = steps_of(m);
	enum whorl_result result = WHORL_OK;
	double us;

	for (int s = 0; s < SHARES && result == WHORL_OK; s++) {
		struct wh_limit_rate rate;

		wh_store_relaxed(&steps->way, way_of(file, path, s));
		result = wh_limit_rate(&m->run, &rate, err);
		if (result != WHORL_OK || shares[s] == 0 || rate.messages_per_s <= best->rate.messages_per_s)
			continue;
		best->rate = rate;
		best->share = shares[s];
		best->direct = path == DIRECT;
	}
	us = median_us(steps, way_of(file, path, 0));
	best->sync_us = best->sync_us == 0 || us < best->sync_us ? us : best->sync_us;
	return result;
}

static enum whorl_result measure_file(struct measurement *m, int file, struct best_way *best, struct wh_error *err)
{
	enum whorl_result result = measure_path(m, file, CACHED, best, err);

	return result == WHORL_OK ? measure_path(m, file, DIRECT, best, err) : result;
}

static enum whorl_result measure_files(struct measurement *m, struct wh_limit_result *result, struct wh_error *err)
{
	struct best_way of[FILES] = {0};
	enum whorl_result outcome = measure_file(m, APPENDED, &of[APPENDED], err);

	if (outcome == WHORL_OK)
		outcome = measure_file(m, WRITTEN, &of[WRITTEN], err);
	result->rate = of[APPENDED].rate;
	result->sync_share = of[APPENDED].share;
	result->sync_direct = of[APPENDED].direct;
	result->written_bytes_per_s = of[WRITTEN].rate.bytes_per_s;
	for (int file = 0; file < FILES; file++)
		result->sync_us[file] = of[file].sync_us;
	return outcome;
}

enum whorl_result wh_limit_disk(const struct wh_limit_plan *plan, struct wh_watch *watch,
				struct wh_limit_result *result, struct wh_error *err)
{
	struct measurement m = {.plan = plan};
	enum whorl_result outcome = wh_scratch_open(&m.scratch, plan->directory, err);

	if (outcome != WHORL_OK)
		return outcome;
	outcome = wh_limit_open(&m.run, plan, shared_bytes(plan), plan->nodes, err);
	if (outcome == WHORL_OK)
		outcome = wh_limit_start(&m.run, watch, plan->nodes, plan->nodes, run_node, &m, err);
	if (outcome == WHORL_OK)
		outcome = measure_files(&m, result, err);
	outcome = wh_limit_close(&m.run, outcome, err);
	if (!wh_scratch_close(&m.scratch) && outcome == WHORL_OK)
		outcome = wh_error_set(err, WHORL_SYSTEM, "limit: its files could not be removed");
	return outcome;
}
