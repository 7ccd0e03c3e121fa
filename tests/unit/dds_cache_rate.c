/* dds_cache_rate.c - what a reader's cache costs beside a bare copy of the same bytes: a sample is put into a block, read by the program,
 * and given back.
 *
 *     dds_cache_rate [SAMPLES]
 *
 * As a test it only has to work. The copy and the cache are measured in turn, in the thread's own time; the least of several turns
 * counts.
 */
#include <string.h>
#include <time.h>

#include "dds/cache/cache.h"
#include "tests/harness.h"

#define TURNS 7
#define BATCH_MOST 64

struct shape {
	const char *name;
	size_t bytes;
	uint32_t batch;     /* samples between two takes */
	uint32_t instances; /* 0: no keys */
};

struct lab {
	struct wh_dds_pool *pool;
	struct wh_dds_cache *cache;
	struct wh_dds_statuses statuses;
	uint64_t written;
	unsigned char *source, *hot;
	void *data[BATCH_MOST];
	whorl_dds_sample_info infos[BATCH_MOST];
};

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void write_one(struct lab *lab, const struct shape *shape)
{
	struct wh_dds_copy *copy = wh_dds_copy_take(lab->pool, shape->bytes);
	struct wh_dds_arrival arrival = {.copy = copy, .does = WH_DDS_DOES_DATA, .expires_ns = WH_DDS_NEVER};

	if (copy == NULL)
		abort();
	lab->written++;
	copy->facts = (struct wh_dds_facts){
		.instance = 1 + (shape->instances > 0 ? lab->written % shape->instances : 0), .sequence = lab->written};
	memcpy(copy->data, lab->source, shape->bytes);
	if (wh_dds_cache_put(lab->cache, &arrival, 1) != WH_DDS_PUT_KEPT)
		abort();
}

static double of_cache(struct lab *lab, const struct shape *shape, uint64_t samples)
{
	static const struct wh_dds_select take = {.take = true, .info_bytes = sizeof(whorl_dds_sample_info)};
	double begin = now_ns();

	for (uint64_t i = 0; i < samples; i += shape->batch) {
		for (uint32_t k = 0; k < shape->batch; k++)
			write_one(lab, shape);
		if (wh_dds_cache_read(lab->cache, &take, lab->data, lab->infos, BATCH_MOST) != (int32_t)shape->batch ||
		    wh_dds_cache_return(lab->cache, lab->data, shape->batch) != WHORL_DDS_RETCODE_OK)
			abort();
	}
	return (now_ns() - begin) / (double)samples;
}

static double of_copy(struct lab *lab, const struct shape *shape, uint64_t samples)
{
	double begin = now_ns();

	for (uint64_t i = 0; i < samples; i++) {
		memcpy(lab->hot, lab->source, shape->bytes);
		__asm__ __volatile__("" : : "r"(lab->hot) : "memory");
	}
	return (now_ns() - begin) / (double)samples;
}

static void measure(const struct shape *shape, uint64_t samples)
{
	struct lab lab = {
		.pool = wh_dds_pool_create(1 << 20), .source = calloc(1, shape->bytes), .hot = calloc(1, shape->bytes)};
	struct wh_dds_policies policies;
	struct wh_dds_cache_options options = {
		.policies = &policies, .statuses = &lab.statuses, .keyed = shape->instances > 0};
	double cache = 1e18, copy = 1e18;

	wh_dds_policies_init(&policies, WH_DDS_READER);
	policies.history.kind = WHORL_DDS_HISTORY_KEEP_ALL;
	lab.cache = wh_dds_cache_create(&options);
	if (lab.pool == NULL || lab.cache == NULL || lab.source == NULL || lab.hot == NULL)
		abort();
	for (int turn = 0; turn < TURNS; turn++) {
		double one = of_cache(&lab, shape, samples), other = of_copy(&lab, shape, samples);

		cache = one < cache ? one : cache;
		copy = other < copy ? other : copy;
	}
	printf("%-24s %6zu bytes  cache %7.1f ns  copy %7.1f ns  %5.2f times\n", shape->name, shape->bytes, cache, copy,
	       cache / copy);
	wh_dds_cache_free(lab.cache);
	wh_dds_pool_close(lab.pool);
	wh_dds_policies_free(&policies);
	free(lab.source);
	free(lab.hot);
}

int main(int argc, char **argv)
{
	static const struct shape shapes[] = {
		{"one at a time", 128, 1, 0},        {"32 at a time", 128, 32, 0},
		{"100 instances, one", 128, 1, 100}, {"100 instances, 32", 128, 32, 100},
		{"one at a time", 10240, 1, 0},      {"32 at a time", 10240, 32, 0},
	};
	uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 6400;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		measure(&shapes[i], (samples + 63) / 64 * 64);
	return 0;
}
