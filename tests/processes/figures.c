/* figures.c - see figures.h. */
#include "tests/processes/figures.h"

#include <inttypes.h>
#include <stdlib.h>

/* Upper ends in microseconds; the last has none. */
static const unsigned buckets[] = {10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000};

#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]) + 1)

bool figures_note(struct figures *f, uint64_t since_ns, uint64_t takes_ns)
{
	size_t room = f->count < f->room ? f->room : 2 * f->room + 64;
	uint64_t *since = realloc(f->since, room * sizeof(*since)), *takes;

	if (since == NULL)
		return false;
	f->since = since;
	takes = realloc(f->takes, room * sizeof(*takes));
	if (takes == NULL)
		return false;
	f->takes = takes;
	f->room = room;
	since[f->count] = since_ns;
	takes[f->count++] = takes_ns;
	return true;
}

bool figures_note_way(struct figures *f, size_t stages, const uint64_t *since_ns)
{
	uint64_t before = 0;
	bool noted = true;

	for (size_t stage = 0; stage < stages && noted; stage++) {
		uint64_t since = since_ns[stage];

		noted = figures_note(&f[stage], since, since > before ? since - before : 0);
		before = since > before ? since : before;
	}
	return noted;
}

int figures_compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

static void sort(struct figures *f)
{
	if (f->count == 0)
		return;
	qsort(f->since, f->count, sizeof(f->since[0]), figures_compare);
	qsort(f->takes, f->count, sizeof(f->takes[0]), figures_compare);
}

static double percentile(const uint64_t *sorted, size_t count, unsigned percent)
{
	return count > 0 ? (double)sorted[(count - 1) * percent / 100] / 1000 : 0;
}

static void fill(const struct figures *f, size_t histogram[BUCKETS])
{
	for (size_t i = 0; i < f->count; i++) {
		size_t bucket = 0;

		while (bucket < BUCKETS - 1 && f->takes[i] >= buckets[bucket] * UINT64_C(1000))
			bucket++;
		histogram[bucket]++;
	}
}

void figures_print_head(const char *beginning)
{
	printf("%-14s %26s   %26s   %s\n%-14s %8s %8s %8s   %8s %8s %8s  ", "microseconds", beginning,
	       "since the stage before", "how many took less than ... since the stage before", "stage", "median", "p90",
	       "max", "median", "p90", "max");
	for (size_t bucket = 0; bucket < BUCKETS - 1; bucket++)
		printf(" %5u", buckets[bucket]);
	printf("  more\n");
}

void figures_print(struct figures *f)
{
	size_t histogram[BUCKETS] = {0};

	sort(f);
	fill(f, histogram);
	printf("%-14s %8.0f %8.0f %8.0f   %8.0f %8.0f %8.0f  ", f->name, percentile(f->since, f->count, 50),
	       percentile(f->since, f->count, 90), percentile(f->since, f->count, 100),
	       percentile(f->takes, f->count, 50), percentile(f->takes, f->count, 90),
	       percentile(f->takes, f->count, 100));
	for (size_t bucket = 0; bucket < BUCKETS; bucket++)
		printf(" %5zu", histogram[bucket]);
	printf("\n");
}

void figures_write(struct figures *f, FILE *out)
{
	size_t histogram[BUCKETS] = {0};

	sort(f);
	fill(f, histogram);
	fprintf(out, "{\"stage\": \"%s\", \"count\": %zu, ", f->name, f->count);
	for (int takes = 0; takes < 2; takes++) {
		const uint64_t *sorted = takes ? f->takes : f->since;

		fprintf(out, "\"%s_us\": {\"p50\": %.1f, \"p90\": %.1f, \"max\": %.1f}, ", takes ? "takes" : "since",
			percentile(sorted, f->count, 50), percentile(sorted, f->count, 90),
			percentile(sorted, f->count, 100));
	}
	fprintf(out, "\"histogram\": [");
	for (size_t bucket = 0; bucket < BUCKETS; bucket++)
		fprintf(out, "%s%zu", bucket > 0 ? ", " : "", histogram[bucket]);
	fprintf(out, "]}");
}

void figures_free(struct figures *f)
{
	free(f->since);
	free(f->takes);
	*f = (struct figures){.name = f->name};
}
