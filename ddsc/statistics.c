/* statistics.c - what an entity has counted. Nothing is sent twice here, no reader discards what it received, and how long writers wait is not
 * counted: so all of them are 0. Programs look them up by the names that they have in Cyclone DDS.
 */
#include <stdlib.h>
#include <string.h>

#include <dds/ddsc/dds_statistics.h>

#include <whorl/dds.h>

static const struct dds_stat_keyvalue of_writer[] = {
	{.name = "rexmit_bytes", .kind = DDS_STAT_KIND_UINT64},
	{.name = "throttle_count", .kind = DDS_STAT_KIND_UINT32},
	{.name = "time_throttle", .kind = DDS_STAT_KIND_UINT64},
	{.name = "time_rexmit", .kind = DDS_STAT_KIND_UINT64},
};
static const struct dds_stat_keyvalue of_reader[] = {{.name = "discarded_bytes", .kind = DDS_STAT_KIND_UINT64}};

static struct dds_statistics *make(dds_entity_t entity, const struct dds_stat_keyvalue *values, size_t count)
{
	struct dds_statistics *made = calloc(1, sizeof(*made) + count * sizeof(*values));

	if (made == NULL)
		return NULL;
	made->entity = entity;
	made->count = count;
	made->time = dds_time();
	memcpy(made->kv, values, count * sizeof(*values));
	return made;
}

struct dds_statistics *dds_create_statistics(dds_entity_t entity)
{
	if (whorl_dds_get_matched_subscriptions(entity, NULL, 0) >= 0)
		return make(entity, of_writer, sizeof(of_writer) / sizeof(*of_writer));
	if (whorl_dds_get_matched_publications(entity, NULL, 0) >= 0)
		return make(entity, of_reader, sizeof(of_reader) / sizeof(*of_reader));
	return NULL;
}

dds_return_t dds_refresh_statistics(struct dds_statistics *statistics)
{
	dds_return_t parent;

	if (statistics == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no statistics");
	parent = whorl_dds_get_parent(statistics->entity);
	if (parent < 0)
		return parent;
	statistics->time = dds_time();
	return DDS_RETCODE_OK;
}

void dds_delete_statistics(struct dds_statistics *statistics)
{
	free(statistics);
}

const struct dds_stat_keyvalue *dds_lookup_statistic(const struct dds_statistics *statistics, const char *name)
{
	for (size_t i = 0; statistics != NULL && name != NULL && i < statistics->count; i++)
		if (strcmp(statistics->kv[i].name, name) == 0)
			return &statistics->kv[i];
	return NULL;
}
