/* cache_lab.h - a reader's cache on a table: what comes is one line, what is read is a text. */
#ifndef WH_TESTS_SUPPORT_CACHE_LAB_H
#define WH_TESTS_SUPPORT_CACHE_LAB_H

#include <string.h>

#include "base/text.h"
#include "dds/cache/cache.h"
#include "tests/harness.h"

#define LAB_ANY ((uint32_t)(WHORL_DDS_ANY_SAMPLE_STATE | WHORL_DDS_ANY_VIEW_STATE | WHORL_DDS_ANY_INSTANCE_STATE))
#define LAB_ROOM 64

struct lab {
	struct wh_dds_policies policies;
	struct wh_dds_statuses statuses;
	struct wh_dds_cache_options options;
	struct wh_dds_pool *pool;
	struct wh_dds_cache *cache;
	uint64_t sequence;
	uint64_t now;
	uint64_t expires; /* of what comes next */
	uint64_t set;
	bool last_chance;
	void *lent[LAB_ROOM]; /* by the last read */
	whorl_dds_sample_info infos[LAB_ROOM];
	int count;
	char text[1024]; /* what the last read gave */
};

/* Its policies may be changed before lab_open. Reliable, keyed, and it keeps all. */
void lab_init(struct lab *lab);
void cache_lab_open(struct lab *lab);
void lab_keep_last(struct lab *lab, int32_t depth);
void lab_limit(struct lab *lab, int32_t samples, int32_t instances, int32_t samples_per_instance);
void cache_lab_close(struct lab *lab);

/* A sample or another change of its instance comes. */
enum wh_dds_put_result lab_put(struct lab *lab, unsigned does, uint64_t instance, int value);
enum wh_dds_put_result cache_lab_write(struct lab *lab, uint64_t instance, int value);
enum wh_dds_put_result lab_dispose(struct lab *lab, uint64_t instance);
enum wh_dds_put_result lab_leave(struct lab *lab, uint64_t instance);

/* "1:7nNa " for each: instance 1, value 7 (- if there is none), sample state (n not read, r read), view (N new, o not), instance (a alive,
 * d disposed, w no writers). */
void lab_write_text(struct lab *lab);
void lab_return(struct lab *lab);

/* Keeps the loans: lab_return. */
const char *lab_select(struct lab *lab, const struct wh_dds_select *select, size_t room);
const char *lab_read(struct lab *lab, uint32_t mask);
const char *lab_peek(struct lab *lab);
const char *lab_take(struct lab *lab, uint32_t mask);

#endif
