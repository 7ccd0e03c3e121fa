/* records.c - see records.h. */
#include "tests/cli/records.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "bench/limit/payload.h"

#define SENDERS_MAX 256

struct record {
	uint32_t sender, crc;
	uint64_t index;
};

struct records {
	struct record *list;
	size_t count;
};

static struct records read_records(const char *directory, uint32_t node, const struct records_subgroup *subgroup)
{
	struct records records = {.list = calloc(subgroup->total + 1, sizeof *records.list)};
	char path[512], name[64];
	struct record record;
	size_t bytes;
	FILE *file;
	int fields;

	snprintf(path, sizeof path, "%s/node-%u.txt", directory, node);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s is not there", path);
	while ((fields = fscanf(file, "%63s %" SCNu32 " %" SCNu64 " %zu %" SCNx32 "\n", name, &record.sender,
				&record.index, &bytes, &record.crc)) == 5) {
		if (strcmp(name, subgroup->name) != 0)
			continue;
		ck_assert_msg(records.count < subgroup->total, "%s has more than %" PRIu64 " messages", path,
			      subgroup->total);
		ck_assert_uint_eq(bytes, subgroup->bytes);
		records.list[records.count++] = record;
	}
	ck_assert_msg(fields == EOF, "%s has a line that is not understood", path);
	ck_assert_msg(records.count == subgroup->total, "%s has %zu of %" PRIu64 " messages of %s", path, records.count,
		      subgroup->total, subgroup->name);
	fclose(file);
	return records;
}

/* The messages of each sender, one sender after the other. */
static struct records by_sender(const struct records *records, const struct records_subgroup *subgroup)
{
	struct records sorted = {.list = calloc(records->count + 1, sizeof *sorted.list)};

	for (uint32_t s = 0; s < subgroup->sender_count; s++)
		for (size_t i = 0; i < records->count; i++)
			if (records->list[i].sender == subgroup->senders[s])
				sorted.list[sorted.count++] = records->list[i];
	ck_assert_msg(sorted.count == records->count, "messages of a node that is no sender");
	return sorted;
}

static void check_no_gaps(const struct records *records)
{
	uint64_t next[SENDERS_MAX] = {0};

	for (size_t i = 0; i < records->count; i++) {
		ck_assert_uint_lt(records->list[i].sender, SENDERS_MAX);
		ck_assert_uint_eq(records->list[i].index, next[records->list[i].sender]);
		next[records->list[i].sender]++;
	}
}

static void check_equal(const struct records *a, const struct records *b, const struct records_subgroup *subgroup,
			uint32_t node)
{
	for (size_t i = 0; i < a->count; i++)
		ck_assert_msg(memcmp(&a->list[i], &b->list[i], sizeof a->list[i]) == 0,
			      "%s: node %u differs from node %u at message %zu: %u/%" PRIu64 " and %u/%" PRIu64,
			      subgroup->name, node, subgroup->members[0], i, b->list[i].sender, b->list[i].index,
			      a->list[i].sender, a->list[i].index);
}

/* The content of each message, filled in anew; into the digest as a node does it. */
static uint64_t digest_of(const struct records *records, const struct records_subgroup *subgroup)
{
	uint64_t *message = calloc(subgroup->bytes / sizeof *message + 1, sizeof *message);
	uint64_t all = 0, each[SENDERS_MAX] = {0};

	for (size_t i = 0; i < records->count; i++) {
		const struct record *r = &records->list[i];
		uint64_t value;

		wh_payload_fill(message, subgroup->bytes, wh_payload_seed(subgroup->number, r->sender, r->index));
		ck_assert_uint_eq(r->crc, wh_crc32c(0, message, subgroup->bytes));
		value = wh_payload_digest(message, subgroup->bytes) + (r->index << 16 | r->sender) * WH_PAYLOAD_SPREAD +
			subgroup->bytes;
		all = wh_payload_mix(all, value);
		each[r->sender] = wh_payload_mix(each[r->sender], value);
	}
	free(message);
	if (subgroup->ordered)
		return all;
	all = 0;
	for (uint32_t s = 0; s < subgroup->sender_count; s++)
		all = wh_payload_mix(all, each[subgroup->senders[s]]);
	return all;
}

uint64_t records_check(const char *directory, const struct records_subgroup *subgroup)
{
	struct records first = {0};
	uint64_t digest;

	for (uint32_t m = 0; m < subgroup->member_count; m++) {
		struct records records = read_records(directory, subgroup->members[m], subgroup);

		check_no_gaps(&records);
		if (!subgroup->ordered) {
			struct records sorted = by_sender(&records, subgroup);

			free(records.list);
			records = sorted;
		}
		if (m == 0) {
			first = records;
			continue;
		}
		check_equal(&first, &records, subgroup, subgroup->members[m]);
		free(records.list);
	}
	digest = digest_of(&first, subgroup);
	free(first.list);
	return digest;
}
