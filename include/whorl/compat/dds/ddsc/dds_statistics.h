/* ddsc/dds_statistics.h - what an entity has counted. */
#ifndef WHORL_COMPAT_DDSC_DDS_STATISTICS_H
#define WHORL_COMPAT_DDSC_DDS_STATISTICS_H

#include <dds/dds.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dds_stat_kind { DDS_STAT_KIND_UINT32, DDS_STAT_KIND_UINT64, DDS_STAT_KIND_LENGTHTIME };

struct dds_stat_keyvalue {
	const char *name;
	enum dds_stat_kind kind;
	union {
		uint32_t u32;
		uint64_t u64;
		uint64_t lengthtime;
	} u;
};

struct dds_statistics {
	dds_entity_t entity;
	uint64_t opaque;
	dds_time_t time; /* of the last refresh */
	size_t count;
	struct dds_stat_keyvalue kv[];
};

/* Of a writer or reader. NULL: it is none, or memory is out. */
DDS_EXPORT struct dds_statistics *dds_create_statistics(dds_entity_t entity);
DDS_EXPORT dds_return_t dds_refresh_statistics(struct dds_statistics *statistics);
DDS_EXPORT void dds_delete_statistics(struct dds_statistics *statistics);
/* NULL: there is none of this name. */
DDS_EXPORT const struct dds_stat_keyvalue *dds_lookup_statistic(const struct dds_statistics *statistics,
								const char *name);

#ifdef __cplusplus
}
#endif

#endif
