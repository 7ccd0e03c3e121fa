#include "tests/support/group.h"

void record_one(struct record *record, const struct whorl_message *message)
{
	unsigned long at = atomic_load_explicit(&record->count, memory_order_relaxed);
	struct entry entry = {.index = message->index,
			      .sequence = message->sequence,
			      .sender = message->sender,
			      .bytes = (uint32_t)message->bytes};

	memcpy(&entry.word, message->data, message->bytes < 8 ? message->bytes : 8);
	if (at < RECORD_MAX)
		record->entries[at] = entry;
	atomic_store_explicit(&record->count, at + 1, memory_order_release);
}

void record_message(const struct whorl_message *message, void *ctx)
{
	struct record *record = ctx;

	atomic_fetch_add(&record->upcalls, 1);
	record_one(record, message);
}

void record_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct record *record = ctx;

	atomic_fetch_add(&record->upcalls, 1);
	for (size_t i = 0; i < count; i++)
		record_one(record, &messages[i]);
}

unsigned long recorded(const struct record *record)
{
	return atomic_load_explicit(&record->count, memory_order_acquire);
}

void records_agree(const struct record *a, const struct record *b)
{
	ck_assert_uint_eq(recorded(a), recorded(b));
	ck_assert_uint_le(recorded(a), RECORD_MAX);
	for (unsigned long i = 0; i < recorded(a); i++)
		ck_assert_mem_eq(&a->entries[i], &b->entries[i], sizeof(a->entries[i]));
}

bool all_recorded(struct record *const *records, unsigned count, unsigned long messages)
{
	for (unsigned i = 0; i < count; i++)
		if (recorded(records[i]) < messages)
			return false;
	return true;
}

const char *group_name(char *name, size_t bytes)
{
	static unsigned groups;

	snprintf(name, bytes, "test-%d-%u-%u", (int)getpid(), groups++, (unsigned)now_ms());
	return name;
}

void cluster_configure(struct cluster *cluster, unsigned count, const char *group, const char *rest)
{
	char text[4096], name[64];

	*cluster = (struct cluster){.config = whorl_config_new(), .count = count};
	cluster->caller = strstr(rest, "thread = caller") != NULL;
	snprintf(text, sizeof(text), "[group]\nname = %s\nnodes = %u\n%s\n%s", group_name(name, sizeof(name)), count,
		 group, rest);
	ck_assert_ptr_nonnull(cluster->config);
	ck_assert_msg(whorl_config_load_text(cluster->config, "test", text) == WHORL_OK, "%s",
		      whorl_config_error(cluster->config));
}

void cluster_open_node(struct cluster *cluster, unsigned id)
{
	ck_assert_msg(whorl_open(cluster->config, id, cluster->options, &cluster->nodes[id]) == WHORL_OK, "%s",
		      whorl_config_error(cluster->config));
	cluster->records[id] = calloc(1, sizeof(struct record));
	ck_assert_ptr_nonnull(cluster->records[id]);
}

void cluster_open(struct cluster *cluster, unsigned count, const char *group, const char *rest)
{
	cluster_configure(cluster, count, group, rest);
	for (unsigned id = 0; id < count; id++)
		cluster_open_node(cluster, id);
}

whorl_subgroup *subgroup_of(struct cluster *cluster, unsigned id, const char *name)
{
	whorl_subgroup *subgroup = whorl_subgroup_find(cluster->nodes[id], name);

	ck_assert_ptr_nonnull(subgroup);
	return subgroup;
}

void cluster_record(struct cluster *cluster, const char *name)
{
	for (unsigned id = 0; id < cluster->count; id++) {
		whorl_subgroup *subgroup = whorl_subgroup_find(cluster->nodes[id], name);

		if (subgroup != NULL)
			ck_ok(whorl_on_message(subgroup, record_message, cluster->records[id]));
	}
}

void cluster_step(struct cluster *cluster)
{
	for (unsigned id = 0; id < cluster->count && cluster->caller; id++)
		if (cluster->nodes[id] != NULL)
			whorl_step(cluster->nodes[id]);
	if (!cluster->caller)
		sched_yield();
}

void cluster_hush(struct cluster *cluster)
{
	for (unsigned quiet = 0; quiet < 100; quiet++)
		for (unsigned id = 0; id < cluster->count; id++)
			if (cluster->nodes[id] != NULL && whorl_step(cluster->nodes[id]) > 0)
				quiet = 0;
}

bool cluster_is_ready(struct cluster *cluster)
{
	for (unsigned id = 0; id < cluster->count; id++)
		if (cluster->nodes[id] != NULL && whorl_ready(cluster->nodes[id], 0) != WHORL_OK)
			return false;
	return true;
}

void cluster_start(struct cluster *cluster)
{
	for (unsigned id = 0; id < cluster->count; id++)
		ck_ok(whorl_start(cluster->nodes[id]));
	await(cluster_is_ready(cluster), cluster_step(cluster));
}

void cluster_leave(struct cluster *cluster, unsigned id)
{
	whorl_close(cluster->nodes[id], 0);
	cluster->nodes[id] = NULL;
}

uint64_t view_of(whorl_node *node)
{
	uint64_t number;
	uint32_t count = 0;

	ck_ok(whorl_view_members(node, &number, NULL, &count));
	return number;
}

bool cluster_is_in_view(struct cluster *cluster, uint64_t number)
{
	for (unsigned id = 0; id < cluster->count; id++)
		if (cluster->nodes[id] != NULL && view_of(cluster->nodes[id]) < number)
			return false;
	return true;
}

void cluster_await_view(struct cluster *cluster, uint64_t number)
{
	await(cluster_is_in_view(cluster, number), cluster_step(cluster));
	for (unsigned id = 0; id < cluster->count; id++)
		if (cluster->nodes[id] != NULL)
			ck_assert_uint_eq(view_of(cluster->nodes[id]), number);
}

void cluster_free(struct cluster *cluster)
{
	for (unsigned id = 0; id < cluster->count; id++) {
		if (cluster->nodes[id] != NULL)
			whorl_close(cluster->nodes[id], 0);
		free(cluster->records[id]);
	}
	whorl_config_free(cluster->config);
}

struct whorl_subgroup_stats stats_of(whorl_subgroup *subgroup)
{
	struct whorl_subgroup_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_subgroup_statistics(subgroup, &stats));
	return stats;
}

bool took_room(whorl_subgroup *subgroup)
{
	uint64_t room = 0;

	return read(whorl_window_fd(subgroup), &room, sizeof(room)) == sizeof(room) && room == 1;
}
