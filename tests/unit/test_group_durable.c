/* test_group_durable.c - durable subgroups of nodes in this process: what is delivered is on all disks, and disks that wait, fail or are full.
 *
 * Labels: threads
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <whorl/status.h>

#include "group/node.h"
#include "group/node_int.h"
#include "persistence/anew.h"
#include "persistence/log.h"
#include "persistence/standing.h"
#include "transport/shm/shm.h"

#include "gate_disk.h"
#include "tests/support/group.h"
#include "tests/support/saved.h"

#define NODES 3

static struct lab {
	struct cluster cluster;
	struct wh_node_config bound;
	struct wh_env envs[NODES];
	struct gate_disk disks[NODES];
	int64_t timeout_ms; /* of the disk of node 2; those of the others are waited for, whatever the machine does */
	char directory[64];
} lab;

/* ---- a group with a directory of logs ------------------------------------------------------------------------------- */

static void make_lab(const char *group, const char *rest)
{
	char text[512];

	snprintf(lab.directory, sizeof(lab.directory), "%s/whorl-durable-XXXXXX",
		 getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(lab.directory));
	snprintf(text, sizeof(text), "log_dir = %s\nmemory_max = 4g\n%s", lab.directory, group);
	cluster_configure(&lab.cluster, NODES, text, rest);
	ck_assert_msg(wh_config_bind(lab.cluster.config, &lab.bound) == WHORL_OK, "%s",
		      whorl_config_error(lab.cluster.config));
	for (unsigned id = 0; id < NODES; id++) {
		gate_disk_init(&lab.disks[id]);
		lab.envs[id] = *wh_env_system();
		lab.envs[id].disk = &lab.disks[id].disk;
	}
}

static enum whorl_result open_node(unsigned id, struct wh_error *err)
{
	const struct wh_world world = {.env = &lab.envs[id],
				       .create = wh_shm_create,
				       .headers_apart = true,
				       .one_host = true,
				       .take_id = wh_shm_take_id};
	enum whorl_result result;

	lab.bound.group.disk_timeout_ms = id == 2 && lab.timeout_ms > 0 ? lab.timeout_ms : 600000;
	result = wh_node_open(&lab.bound, id, &world, NULL, &lab.cluster.nodes[id], err);

	if (lab.cluster.records[id] == NULL)
		lab.cluster.records[id] = calloc(1, sizeof(struct record));
	ck_assert_ptr_nonnull(lab.cluster.records[id]);
	return result;
}

static void open_all(void)
{
	struct wh_error err;

	for (unsigned id = 0; id < NODES; id++)
		ck_assert_msg(open_node(id, &err) == WHORL_OK, "%s", err.text);
	cluster_record(&lab.cluster, "orders");
}

static void free_lab(void)
{
	for (unsigned id = 0; id < NODES; id++) {
		atomic_store(&lab.disks[id].holds, false);
		atomic_store(&lab.disks[id].is_full, false);
	}
	cluster_free(&lab.cluster);
	wh_node_config_free(&lab.bound);
	remove_directory(lab.directory);
}

static void send_some_in(unsigned id, const char *name, unsigned count)
{
	whorl_subgroup *subgroup = subgroup_of(&lab.cluster, id, name);

	for (uint64_t i = 0; i < count; i++) {
		enum whorl_result result;

		await((result = whorl_send(subgroup, &i, sizeof(i), 0, NULL)) != WHORL_AGAIN, sched_yield());
		ck_assert_int_eq(result, WHORL_OK);
	}
}

static void send_some(unsigned id, unsigned count)
{
	send_some_in(id, "orders", count);
}

static bool have_all(unsigned long messages)
{
	for (unsigned id = 0; id < NODES; id++)
		if (lab.cluster.nodes[id] != NULL && whorl_error(lab.cluster.nodes[id], NULL, 0) == WHORL_OK &&
		    recorded(lab.cluster.records[id]) < messages)
			return false;
	return true;
}

static struct wh_standing read_standing(unsigned id)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_standing_file file = {.directory = NULL};
	struct wh_directory *directory;
	struct wh_standing standing;
	struct wh_error err;
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", lab.directory, id);
	ck_ok(disk->directory(disk->ctx, path, false, &directory, &err));
	ck_ok(wh_standing_open(&file, directory, &standing, NULL, &err));
	wh_standing_close(&file);
	directory->ops->close(directory);
	return standing;
}

#define ORDERS "[subgroup orders]\nmode = durable\nwindow = 64\nmessage_bytes = 1024\n"

/* ---- delivery --------------------------------------------------------------------------------------------------------- */

TEST_CASE("delivery");

TEST(delivered_in_one_order)
{
	make_lab("", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	for (unsigned id = 0; id < NODES; id++)
		send_some(id, 500);
	await(have_all(1500), sched_yield());
	for (unsigned id = 1; id < NODES; id++)
		records_agree(lab.cluster.records[0], lab.cluster.records[id]);
	free_lab();
}

#define BESIDE "[subgroup beside]\nmode = ordered\nwindow = 8\nmessage_bytes = 64\n"

/* All have seen what node `id` had said of its disk before: it says no more of one message than of another later. Of two messages, one after
 * the other, so that all have had a pass behind that. */
static void pass_by(unsigned id)
{
	struct whorl_subgroup_stats stats;

	for (uint64_t round = 1; round <= 2; round++) {
		send_some_in(id, "beside", 1);
		for (unsigned other = 0; other < NODES; other++)
			await((stats = stats_of(subgroup_of(&lab.cluster, other, "beside"))).delivered >= round,
			      sched_yield());
	}
}

/* While the disk of one member does not answer no member delivers, though all have received. */
TEST(delivered_when_it_is_on_all_disks)
{
	struct whorl_subgroup_stats stats;

	make_lab("", ORDERS BESIDE);
	open_all();
	cluster_start(&lab.cluster);
	send_some(0, 10);
	await(have_all(10), sched_yield());
	atomic_store(&lab.disks[2].holds, true);
	send_some(0, 10);
	await(atomic_load(&lab.disks[2].held) > 0, sched_yield());
	for (unsigned id = 0; id < NODES; id++)
		await((stats = stats_of(subgroup_of(&lab.cluster, id, "orders"))).received_num >= 20, sched_yield());
	pass_by(2);
	for (unsigned id = 0; id < NODES; id++)
		ck_assert_uint_eq(recorded(lab.cluster.records[id]), 10);
	atomic_store(&lab.disks[2].holds, false);
	await(have_all(20), sched_yield());
	free_lab();
}

/* ---- caps ------------------------------------------------------------------------------------------------------------- */

struct on_disk {
	uint64_t batches, place, frontier;
	bool capped;
};

/* What a log has, while its node runs. */
static struct on_disk look_at_log(unsigned id)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_log_statistics statistics;
	struct wh_directory *directory;
	struct wh_log_found found;
	struct on_disk out;
	struct wh_log *log;
	struct wh_error err;
	char path[128];
	uint32_t count;

	snprintf(path, sizeof(path), "%s/%u", lab.directory, id);
	ck_ok(disk->directory(disk->ctx, path, false, &directory, &err));
	ck_ok(wh_log_open_files(&log, directory, "orders.0", &found, &err));
	wh_log_statistics(log, &statistics);
	out = (struct on_disk){statistics.batches, wh_log_end(log).place, 0, wh_log_is_capped(log)};
	out.frontier = wh_log_views(log, &count)[0].frontier;
	wh_log_close(log);
	directory->ops->close(directory);
	return out;
}

/* More messages, until every log is idle and its cap says that all have what is below it. A thread that is kept from its processor has others
 * cap their logs before they know that: then there is no other cap until more has come. Returns what was sent. */
static unsigned send_until_capped(unsigned before)
{
	unsigned sent = 0;
	bool done;

	do {
		send_some(0, 10);
		sent += 10;
		await(have_all(before + sent), sched_yield());
		done = true;
		for (unsigned id = 0; id < NODES; id++) {
			struct on_disk is;

			await((is = look_at_log(id)).capped, usleep(10000));
			ck_assert_uint_le(is.frontier, is.place);
			done = done && is.frontier == is.place;
		}
		ck_assert_uint_lt(sent, 1000);
	} while (!done);
	return sent;
}

/* When nothing comes any more each log gets a cap, and no more than one; and again behind what comes then. */
TEST(logs_that_are_idle_get_caps)
{
	struct on_disk is, was = {0};
	unsigned sent = 0;

	make_lab("", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	for (unsigned round = 1; round <= 2; round++) {
		sent += send_until_capped(sent);
		is = look_at_log(2);
		ck_assert_uint_ge(is.batches, was.batches + 2);
		usleep(300000);
		was = look_at_log(2);
		ck_assert_uint_eq(was.batches, is.batches);
	}
	free_lab();
}

/* A node that leaves in order does not wait for that. */
TEST(a_log_that_is_left_has_its_cap)
{
	make_lab("", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	send_some(0, 10);
	await(have_all(10), sched_yield());
	ck_ok(whorl_close(lab.cluster.nodes[2], 60000));
	lab.cluster.nodes[2] = NULL;
	ck_assert(look_at_log(2).capped);
	free_lab();
}

/* ---- disks that fail -------------------------------------------------------------------------------------------------- */

static bool has_failed(unsigned id, enum whorl_result code)
{
	return whorl_error(lab.cluster.nodes[id], NULL, 0) == code;
}

/* The others go on in a view without that node. */
static void expect_others_go_on(unsigned long had)
{
	char text[512];

	await(has_failed(2, WHORL_DISK), sched_yield());
	whorl_error(lab.cluster.nodes[2], text, sizeof(text));
	ck_assert_msg(strstr(text, "disk") != NULL || strstr(text, "error") != NULL, "%s", text);
	whorl_close(lab.cluster.nodes[2], 0);
	lab.cluster.nodes[2] = NULL;
	cluster_await_view(&lab.cluster, 1);
	send_some(1, 10);
	await(have_all(had + 10), sched_yield());
	records_agree(lab.cluster.records[0], lab.cluster.records[1]);
}

#define HUNG_MS 3000 /* disk_timeout_ms of a node with a disk that hangs: one that others use as well answers sooner */

TEST_CASE("faults");

/* A sync that fails is not tried again: the next would succeed, and say nothing. */
TEST(a_node_leaves_when_a_sync_fails)
{
	make_lab("", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	send_some(0, 10);
	await(have_all(10), sched_yield());
	atomic_store(&lab.disks[2].fails, true);
	send_some(0, 10);
	expect_others_go_on(20);
	free_lab();
}

TEST(a_node_leaves_when_its_disk_hangs)
{
	make_lab("", ORDERS);
	lab.timeout_ms = HUNG_MS;
	open_all();
	cluster_start(&lab.cluster);
	send_some(0, 10);
	await(have_all(10), sched_yield());
	atomic_store(&lab.disks[2].holds, true);
	send_some(0, 10);
	expect_others_go_on(20);
	free_lab();
}

/* As many as there is room for, so that its log is full soon. */
static void fill_window(void)
{
	static const char bytes[1024];
	whorl_subgroup *subgroup = subgroup_of(&lab.cluster, 0, "orders");
	enum whorl_result result = WHORL_OK;

	for (int i = 0; i < 64 && result == WHORL_OK; i++)
		result = whorl_send(subgroup, bytes, sizeof(bytes), 0, NULL);
	ck_assert(result == WHORL_OK || result == WHORL_AGAIN);
	sched_yield();
}

/* A segment is 4 MB: the third is where there is no room. One that is made before it is needed is refused for a moment; then its window stays
 * full. */
static void fill_segments(void)
{
	uint64_t busy_ns, full_ns = 0;

	atomic_store(&lab.disks[2].is_full, true);
	await((wh_logs_delays(lab.cluster.nodes[2]->disk.logs, wh_env_now(&lab.envs[2]), &busy_ns, &full_ns),
	       full_ns > WH_NS_PER_S),
	      fill_window());
}

TEST(a_full_disk_is_waited_for)
{
	unsigned long had;

	make_lab("", ORDERS "log_bytes = 1m\n");
	open_all();
	cluster_start(&lab.cluster);
	fill_segments();
	had = recorded(lab.cluster.records[0]);
	atomic_store(&lab.disks[2].is_full, false);
	await(have_all(had + 1), sched_yield());
	ck_ok(whorl_error(lab.cluster.nodes[2], NULL, 0));
	free_lab();
}

/* The first thing that needs room is what the disk says of views. */
TEST(a_disk_that_is_full_from_the_start_is_waited_for)
{
	make_lab("", ORDERS);
	atomic_store(&lab.disks[2].is_full, true);
	open_all();
	for (unsigned id = 0; id < NODES; id++)
		ck_ok(whorl_start(lab.cluster.nodes[id]));
	await(atomic_load(&lab.disks[2].refused) >= 3, sched_yield());
	ck_ok(whorl_error(lab.cluster.nodes[2], NULL, 0));
	ck_assert_int_ne(whorl_ready(lab.cluster.nodes[0], 0), WHORL_OK);
	atomic_store(&lab.disks[2].is_full, false);
	await(cluster_is_ready(&lab.cluster), cluster_step(&lab.cluster));
	send_some(2, 10);
	await(have_all(10), sched_yield());
	free_lab();
}

TEST(a_node_leaves_when_its_disk_stays_full)
{
	make_lab("", ORDERS "log_bytes = 1m\n");
	lab.timeout_ms = HUNG_MS;
	open_all();
	cluster_start(&lab.cluster);
	fill_segments();
	await(has_failed(2, WHORL_DISK), sched_yield());
	whorl_close(lab.cluster.nodes[2], 0);
	lab.cluster.nodes[2] = NULL;
	cluster_await_view(&lab.cluster, 1);
	free_lab();
}

/* ---- views ------------------------------------------------------------------------------------------------------------ */

/* What the next view is goes to disk before it is said; so no view comes while a disk does not answer, and then it does. */
static void expect_view_waits_for(const char *file)
{
	make_lab("failure_timeout_ms = 300000\n", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	atomic_store(&lab.disks[1].only, file);
	atomic_store(&lab.disks[1].holds, true);
	whorl_close(lab.cluster.nodes[2], 0);
	lab.cluster.nodes[2] = NULL;
	await(atomic_load(&lab.disks[1].held) > 0, sched_yield());
	for (int i = 0; i < 100; i++) {
		const struct timespec moment = {.tv_nsec = 1000000};

		nanosleep(&moment, NULL);
		ck_assert_uint_eq(view_of(lab.cluster.nodes[0]), 0);
		ck_assert_uint_eq(view_of(lab.cluster.nodes[1]), 0);
	}
	atomic_store(&lab.disks[1].holds, false);
	cluster_await_view(&lab.cluster, 1);
	free_lab();
}

TEST_CASE("views");

/* The view, before it is acknowledged. */
TEST(a_view_waits_until_it_is_on_disk)
{
	expect_view_waits_for("view-");
}

/* What follows the present one, before it is said. */
TEST(a_decision_waits_until_it_is_on_disk)
{
	expect_view_waits_for("standing");
}

/* ---- states ------------------------------------------------------------------------------------------------------------- */

/* The state is how many messages there were; its snapshot is that number, and 64 KB. */
struct program {
	atomic_ulong messages, restored;
	atomic_bool is_slow, has_ended;
	atomic_ulong late; /* calls behind the end of the node */
};

static struct program programs[NODES];

static void count_message(const struct whorl_message *message, void *ctx)
{
	struct program *program = ctx;

	atomic_fetch_add(&program->messages, 1);
	(void)message;
}

struct copy {
	uint64_t messages;
	size_t read;
};

static void *take_copy(const struct whorl_position *position, void *ctx)
{
	struct copy *copy = calloc(1, sizeof(*copy));

	(void)position;
	ck_assert_ptr_nonnull(copy);
	copy->messages = atomic_load(&((struct program *)ctx)->messages);
	return copy;
}

static ptrdiff_t read_copy(void *snapshot, void *bytes, size_t count, void *ctx)
{
	struct copy *copy = snapshot;

	(void)ctx;
	if (copy->read >= (64 << 10))
		return 0;
	memset(bytes, 0, count);
	if (copy->read == 0)
		memcpy(bytes, &copy->messages, sizeof(copy->messages));
	copy->read += count;
	return (ptrdiff_t)count;
}

static void release_copy(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

static bool restore_copy(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct program *program = ctx;
	static _Thread_local bool has_number;
	uint64_t messages;

	if (atomic_exchange(&program->is_slow, false)) /* longer than a disk is waited for */
		usleep(HUNG_MS * 1500);
	if (atomic_load(&program->has_ended))
		atomic_fetch_add(&program->late, 1);
	if (step == WHORL_RESTORE_BEGIN)
		has_number = false;
	if (step == WHORL_RESTORE_BYTES && !has_number && count >= sizeof(messages)) {
		memcpy(&messages, bytes, sizeof(messages));
		atomic_store(&program->messages, messages);
		has_number = true;
	}
	if (step == WHORL_RESTORE_END)
		atomic_fetch_add(&program->restored, 1);
	return true;
}

static void set_program(unsigned id)
{
	whorl_subgroup *subgroup = subgroup_of(&lab.cluster, id, "orders");
	const struct whorl_state functions = {.size = sizeof(functions),
					      .snapshot = take_copy,
					      .read = read_copy,
					      .release = release_copy,
					      .restore = restore_copy,
					      .ctx = &programs[id]};

	programs[id] = (struct program){0};
	ck_ok(whorl_on_message(subgroup, count_message, &programs[id]));
	ck_ok(whorl_on_state(subgroup, &functions));
}

static void open_programs(void)
{
	struct wh_error err;

	for (unsigned id = 0; id < NODES; id++) {
		ck_assert_msg(open_node(id, &err) == WHORL_OK, "%s", err.text);
		set_program(id);
	}
}

static bool is_whole(unsigned id)
{
	struct wh_standing standing = read_standing(id);
	const struct wh_shard_standing *shard = wh_standing_shard(&standing, 0, 0);
	bool whole = shard != NULL && shard->whole;

	wh_standing_free(&standing);
	return whole;
}

TEST_CASE("states");

/* A newcomer's log counts when the state that it was given is on its disk, and not before. */
TEST(a_newcomers_log_becomes_whole)
{
	struct wh_error err;

	make_lab("", ORDERS);
	open_programs();
	cluster_start(&lab.cluster);
	send_some(0, 100);
	await(atomic_load(&programs[2].messages) == 100, sched_yield());
	for (unsigned id = 0; id < NODES; id++)
		ck_assert(is_whole(id));
	whorl_close(lab.cluster.nodes[2], 0);
	lab.cluster.nodes[2] = NULL;
	cluster_await_view(&lab.cluster, 1);
	atomic_store(&lab.disks[2].only, "1.new");
	atomic_store(&lab.disks[2].holds, true);
	ck_assert_msg(open_node(2, &err) == WHORL_OK, "%s", err.text);
	set_program(2);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await(whorl_ready(lab.cluster.nodes[2], 0) == WHORL_OK, sched_yield());
	ck_assert_uint_eq(atomic_load(&programs[2].restored), 1);
	await(atomic_load(&lab.disks[2].held) > 0, sched_yield());
	ck_assert(!is_whole(2));
	atomic_store(&lab.disks[2].holds, false);
	send_some(1, 50);
	await(atomic_load(&programs[2].messages) == 150, sched_yield());
	await(is_whole(2), sched_yield());
	free_lab();
}

static atomic_bool has_seen_end;

static void look_for_end(void *ctx, enum wh_log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	if (strstr(line, "node 0 (") != NULL && strstr(line, " has died") != NULL)
		atomic_store(&has_seen_end, true);
}

/* Does what is written of views at that node, on disk or not, check in both of its places? */
static bool checks(unsigned id)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_standing_file file = {.directory = NULL};
	struct wh_directory *directory;
	struct wh_standing standing;
	struct wh_error err;
	bool passed_over;
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", lab.directory, id);
	ck_ok(disk->directory(disk->ctx, path, false, &directory, &err));
	ck_ok(wh_standing_open(&file, directory, &standing, &passed_over, &err));
	wh_standing_free(&standing);
	wh_standing_close(&file);
	directory->ops->close(directory);
	return !passed_over;
}

/* The member that has invited it ends before the newcomer's disk says where it comes in. */
TEST(a_newcomer_outlives_its_inviter)
{
	struct wh_error err;
	unsigned long held;

	make_lab("tie_breaker = 1\n", ORDERS);
	open_programs();
	cluster_start(&lab.cluster);
	whorl_close(lab.cluster.nodes[2], 0);
	lab.cluster.nodes[2] = NULL;
	cluster_await_view(&lab.cluster, 1);
	atomic_store(&lab.disks[2].only, "2/view-");
	atomic_store(&lab.disks[2].holds, true);
	lab.envs[2].log = look_for_end;
	ck_assert_msg(open_node(2, &err) == WHORL_OK, "%s", err.text);
	set_program(2);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await((held = atomic_load(&lab.disks[2].held)) > 0, sched_yield());
	whorl_close(lab.cluster.nodes[0], 0);
	lab.cluster.nodes[0] = NULL;
	await(atomic_load(&has_seen_end), sched_yield());
	atomic_store(&lab.disks[2].only, "2/standing");
	await(atomic_load(&lab.disks[2].held) > held, sched_yield());
	ck_assert(checks(2));
	atomic_store(&lab.disks[2].holds, false);
	await(whorl_ready(lab.cluster.nodes[2], 0) == WHORL_OK, sched_yield());
	free_lab();
}

static unsigned count_files(unsigned id, const char *end)
{
	char path[128];
	DIR *directory;
	const struct dirent *entry;
	unsigned count = 0;

	snprintf(path, sizeof(path), "%s/%u", lab.directory, id);
	directory = opendir(path);
	ck_assert_ptr_nonnull(directory);
	while ((entry = readdir(directory)) != NULL) {
		size_t length = strlen(entry->d_name);

		count += length > strlen(end) && strcmp(entry->d_name + length - strlen(end), end) == 0;
	}
	closedir(directory);
	return count;
}

/* A log that is longer than log_bytes gets a checkpoint, and what lies before it goes. */
TEST(a_long_log_gets_a_checkpoint)
{
	char bytes[1024] = "";
	whorl_subgroup *subgroup;

	make_lab("", ORDERS "log_bytes = 8m\n");
	open_programs();
	cluster_start(&lab.cluster);
	subgroup = subgroup_of(&lab.cluster, 0, "orders");
	for (unsigned i = 0; i < 40000; i++) {
		enum whorl_result result;

		await((result = whorl_send(subgroup, bytes, sizeof(bytes), 0, NULL)) != WHORL_AGAIN, sched_yield());
		ck_assert_int_eq(result, WHORL_OK);
	}
	await(atomic_load(&programs[2].messages) == 40000, sched_yield());
	for (unsigned id = 0; id < NODES; id++) {
		await(count_files(id, ".checkpoint") == 1, sched_yield());
		await(count_files(id, ".log") <= 8, sched_yield()); /* of more than 10 that were written */
	}
	free_lab();
}

/* ---- rot that is found while a node runs -------------------------------------------------------------------------------- */

static atomic_uint lines_of_rot;

static void count_rot(void *ctx, enum wh_log_level level, const char *line)
{
	(void)ctx;
	if (level == WH_LOG_ERROR && strstr(line, "has rot, and is no longer whole") != NULL)
		atomic_fetch_add(&lines_of_rot, 1);
}

static struct whorl_log_stats log_stats(unsigned id)
{
	struct whorl_log_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_log_statistics(subgroup_of(&lab.cluster, id, "orders"), &stats));
	return stats;
}

/* Before its first batch it has no statistics. */
static bool has_segments(unsigned id, uint64_t count)
{
	struct whorl_log_stats stats = {.size = sizeof(stats)};

	return whorl_log_statistics(subgroup_of(&lab.cluster, id, "orders"), &stats) == WHORL_OK &&
	       stats.segments >= count;
}

/* A byte of the first segment of that node, below its first batch. */
static void damage_log(unsigned id)
{
	char path[192], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/%u/orders.0.0000000000000000.log", lab.directory, id);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, 4096 + 40), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, 4096 + 40), 1);
	ck_assert_int_eq(close(fd), 0);
}

/* Node 2 finds it, tells it, and goes on. With functions for the state a checkpoint makes good for it; else it stays. */
TEST_LOOP(rot_is_found_in_time, 0, 2)
{
	bool has_functions = _i == 0;
	struct wh_standing standing;
	char bytes[1024] = "";

	make_lab("", ORDERS "log_bytes = 32m\n");
	lab.bound.check_ns = 50 * WH_NS_PER_MS;
	lab.envs[2].log = count_rot;
	if (has_functions)
		open_programs();
	else
		open_all();
	cluster_start(&lab.cluster);
	while (!has_segments(2, 3)) {
		enum whorl_result result;

		await((result = whorl_send(subgroup_of(&lab.cluster, 0, "orders"), bytes, sizeof(bytes), 0, NULL)) !=
			      WHORL_AGAIN,
		      sched_yield());
		ck_assert_int_eq(result, WHORL_OK);
	}
	ck_ok(whorl_close(lab.cluster.nodes[0], PATIENCE_MS));
	lab.cluster.nodes[0] = NULL;
	cluster_await_view(&lab.cluster, 1);
	await(log_stats(2).checks > 0, sched_yield());
	ck_assert(log_stats(2).whole && !log_stats(2).rot);
	damage_log(2);
	await(atomic_load(&lines_of_rot) > 0, sched_yield());
	if (has_functions) {
		await(!log_stats(2).rot, sched_yield());
		ck_assert(log_stats(2).whole);
		ck_assert_uint_gt(log_stats(2).checkpoints, 0);
		await(count_files(2, ".checkpoint") == 1, sched_yield());
	} else {
		ck_assert(log_stats(2).rot && !log_stats(2).whole);
	}
	ck_assert(!log_stats(1).rot);
	ck_ok(whorl_error(lab.cluster.nodes[2], NULL, 0));
	/* The other may leave for the sake of its log if that is good again; else not in order. */
	(void)whorl_close(lab.cluster.nodes[1], has_functions ? (int)test_patience(5000) : 300);
	lab.cluster.nodes[1] = NULL;
	standing = read_standing(1);
	ck_assert(standing.left == has_functions);
	wh_standing_free(&standing);
	free_lab();
}

/* ---- a log is read again ------------------------------------------------------------------------------------------------ */

static struct { /* what node 2 was upcalled for */
	char text[512];
	uint64_t incarnations[NODES];
	atomic_uint messages;
	unsigned long noted;
} past;

static void note(const char *format, unsigned long number)
{
	size_t length = strlen(past.text);

	snprintf(past.text + length, sizeof(past.text) - length, format, number);
}

static void note_messages(void)
{
	unsigned long messages = atomic_load(&past.messages);

	if (messages > past.noted)
		note(" and %lu messages; ", messages - past.noted);
	past.noted = messages;
}

static void note_past_view(const struct whorl_view *view, void *ctx)
{
	ck_assert_ptr_eq(ctx, &past);
	note_messages();
	note("view %lu:", view->number);
	for (uint32_t i = 0; i < view->member_count; i++) {
		note(" %lu", view->members[i]);
		ck_assert_uint_ne(view->incarnations[i], 0);
		past.incarnations[view->members[i]] = view->incarnations[i];
	}
}

static void note_past_message(const struct whorl_message *message, void *ctx)
{
	(void)ctx;
	if (past.incarnations[message->sender] != 0)
		ck_assert_uint_eq(message->incarnation, past.incarnations[message->sender]);
	atomic_fetch_add(&past.messages, 1);
}

/* Views of then come between the messages, each before the first of its own, with their senders. */
TEST_LOOP(views_of_a_log_are_told, 0, 2)
{
	whorl_subgroup *subgroup;
	struct wh_error err;

	make_lab("", ORDERS);
	lab.bound.batch_bytes = 4 << 20; /* as usual, but that runs are short */
	open_programs();
	cluster_start(&lab.cluster);
	send_some(0, 1);
	await(atomic_load(&programs[2].messages) == 1, sched_yield());
	send_some(2, 299); /* more than are read at once */
	await(atomic_load(&programs[1].messages) == 300, sched_yield());
	cluster_leave(&lab.cluster, 0);
	cluster_await_view(&lab.cluster, 1);
	send_some(1, 1);
	await(atomic_load(&programs[2].messages) == 301, sched_yield());
	cluster_leave(&lab.cluster, 1);
	cluster_leave(&lab.cluster, 2);
	for (unsigned id = 1; id < NODES; id++) {
		ck_assert_msg(open_node(id, &err) == WHORL_OK, "%s", err.text);
		set_program(id);
	}
	subgroup = subgroup_of(&lab.cluster, 2, "orders");
	ck_ok(whorl_on_message(subgroup, NULL, NULL));
	ck_ok(whorl_on_message(subgroup, note_past_message, NULL));
	wh_program_write(&subgroup->program)->past_views.told = _i == 0 ? note_past_view : NULL;
	wh_program_write(&subgroup->program)->past_views.ctx = &past;
	for (unsigned id = 1; id < NODES; id++)
		ck_ok(whorl_start(lab.cluster.nodes[id]));
	await(cluster_is_ready(&lab.cluster), sched_yield());
	ck_assert_uint_eq(atomic_load(&past.messages), 301);
	note_messages();
	ck_assert_str_eq(past.text, _i == 0 ? "view 0: 0 1 2 and 300 messages; view 1: 1 2 and 1 messages; "
					    : " and 301 messages; ");
	free_lab();
}

/* ---- without functions the log is the state ---------------------------------------------------------------------------- */

static void open_anew(unsigned id)
{
	struct wh_error err;

	free(lab.cluster.records[id]);
	lab.cluster.records[id] = NULL;
	ck_assert_msg(open_node(id, &err) == WHORL_OK, "%s", err.text);
	ck_ok(whorl_on_message(subgroup_of(&lab.cluster, id, "orders"), record_message, lab.cluster.records[id]));
}

static void expect_same(unsigned long messages)
{
	await(have_all(messages), sched_yield());
	for (unsigned id = 1; id < NODES; id++)
		records_agree(lab.cluster.records[0], lab.cluster.records[id]);
}

/* A newcomer is upcalled for all of it, and goes on with the others; what was given lies in its log, and it gives it on. */
TEST_LOOP(a_newcomer_is_given_the_log, 0, 2)
{
	char path[128];

	make_lab("", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	send_some(0, 300);
	await(have_all(300), sched_yield());
	ck_assert_int_eq(whorl_checkpoint(subgroup_of(&lab.cluster, 0, "orders")), WHORL_UNSUPPORTED);
	cluster_leave(&lab.cluster, 2);
	cluster_await_view(&lab.cluster, 1);
	send_some(1, 700);
	if (_i == 0) { /* its disk is lost, too */
		snprintf(path, sizeof(path), "%s/2", lab.directory);
		remove_directory(path);
	}
	open_anew(2);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	send_some(0, 100);
	await(whorl_ready(lab.cluster.nodes[2], 0) == WHORL_OK, sched_yield());
	await(is_whole(2), sched_yield());
	send_some(2, 100);
	expect_same(1200);
	/* The last one has all of it, and gives it to the others. */
	for (unsigned id = 0; id < NODES; id++)
		cluster_leave(&lab.cluster, id);
	for (unsigned id = 0; id < NODES; id++)
		open_anew(id);
	cluster_start(&lab.cluster);
	send_some(0, 10);
	expect_same(1210);
	free_lab();
}

/* ---- what it says to those that ask ---------------------------------------------------------------------------------- */

static struct whorl_status *ask(uint32_t id)
{
	struct whorl_status *status;
	char text[256];

	ck_assert_msg(whorl_status_of(lab.cluster.config, id, 10000, &status, text, sizeof(text)) == WHORL_OK, "%s",
		      text);
	ck_assert_uint_eq(status->disk_timeout_ms, 600000);
	ck_assert_int_eq(status->restart, WHORL_RESTART_NONE);
	ck_assert_uint_eq(status->shard_count, 2);
	ck_assert(!status->shards[1].durable);
	ck_assert_ptr_null(status->shards[1].log);
	ck_assert_uint_eq(status->shards[1].places[0].persisted_num, 0);
	ck_assert(status->shards[0].durable);
	ck_assert_ptr_nonnull(status->shards[0].log);
	return status;
}

/* How far that member's disk is, as node 0 sees it. */
static uint64_t persisted_by(uint32_t id)
{
	struct whorl_status *status = ask(0);
	uint64_t persisted = status->shards[0].places[id].persisted_num;

	ck_assert_uint_eq(status->shards[0].places[id].id, id);
	whorl_status_free(status);
	return persisted;
}

static bool waits_for(uint32_t id)
{
	struct whorl_status *status = ask(0);
	bool does = status->shards[0].log->slowest_member == id;

	whorl_status_free(status);
	return does;
}

/* Of node 2. */
static bool is_busy(void)
{
	struct whorl_status *status = ask(2);
	bool is = status->disk_busy_ms > 0 && status->disk_full_ms == 0;

	whorl_status_free(status);
	return is;
}

static bool is_seen_full(void)
{
	struct whorl_status *status = ask(2);
	bool is = status->disk_full_ms > 0;

	whorl_status_free(status);
	return is;
}

TEST_CASE("shown");

TEST(logs_are_shown)
{
	struct whorl_status *status;
	const struct whorl_log_stats *log;
	uint64_t next;

	make_lab("", ORDERS "log_bytes = 1g\n[subgroup plain]\nwindow = 10\n");
	open_all();
	cluster_start(&lab.cluster);
	send_some(1, 10);
	await(have_all(10), sched_yield());
	await(waits_for(UINT32_MAX), sched_yield()); /* which is looked at from time to time */
	status = ask(0);
	log = status->shards[0].log;
	ck_assert(log->whole);
	ck_assert_uint_eq(log->written_messages, 10);
	ck_assert_uint_eq(log->written_bytes, 10 * sizeof(uint64_t));
	ck_assert_uint_ge(log->written_batches, 1);
	ck_assert_uint_le(log->written_batches, 10);
	ck_assert_uint_gt(log->longest_sync_ns, 0);
	ck_assert_uint_ge(log->segments, 1);
	next = log->persisted;
	ck_assert_uint_ge(next, 10); /* with places that no message has */
	whorl_status_free(status);
	for (uint32_t id = 0; id < NODES; id++)
		await(persisted_by(id) == next, sched_yield());
	atomic_store(&lab.disks[2].holds, true);
	send_some(1, 10);
	await(persisted_by(0) > next && persisted_by(1) > next, sched_yield());
	ck_assert_uint_eq(persisted_by(2), next);
	await(waits_for(2) && is_busy(), sched_yield());
	atomic_store(&lab.disks[2].holds, false);
	await(have_all(20) && persisted_by(2) > next, sched_yield());
	free_lab();
}

TEST(a_full_disk_is_shown)
{
	make_lab("", ORDERS "log_bytes = 1m\n[subgroup plain]\nwindow = 10\n");
	open_all();
	cluster_start(&lab.cluster);
	send_some(0, 10);
	await(have_all(10), sched_yield());
	ck_assert(!is_seen_full());
	atomic_store(&lab.disks[2].is_full, true);
	await(is_seen_full(), fill_window());
	atomic_store(&lab.disks[2].is_full, false);
	await(!is_seen_full(), sched_yield());
	free_lab();
}

/* ---- begun anew -------------------------------------------------------------------------------------------------------- */

static void begin_anew(unsigned id, bool whole)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_standing standing;
	struct wh_standing_file file;
	struct wh_directory *directory;
	struct wh_error err;
	char path[128];

	snprintf(path, sizeof(path), "%s/%u", lab.directory, id);
	ck_ok(disk->directory(disk->ctx, path, false, &directory, &err));
	ck_assert_msg(wh_begin_anew(directory, 0xdef, &err) == WHORL_OK, "%s", err.text);
	ck_ok(wh_standing_open(&file, directory, &standing, NULL, &err));
	standing.shards[0].whole = whole;
	ck_ok(wh_standing_write(&file, &standing, &err));
	wh_standing_close(&file);
	wh_standing_free(&standing);
	directory->ops->close(directory);
}

TEST_CASE("anew");

/* With the directories of the others beside it, which are of another group now. A log that is not whole counts for nothing, and the shard begins
 * with nothing. */
TEST_LOOP(a_directory_that_was_begun_anew, 0, 2)
{
	const bool whole = _i == 0;
	const unsigned long had = 15, has = (whole ? had : 0) + 5;
	struct wh_standing standing;
	struct wh_error err;

	make_lab("start_timeout_ms = 600000\n", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	send_some(0, 10);
	await(have_all(10), sched_yield());
	cluster_leave(&lab.cluster, 0);
	cluster_await_view(&lab.cluster, 1);
	send_some(2, 5);
	await(recorded(lab.cluster.records[1]) == had, sched_yield());
	cluster_leave(&lab.cluster, 1); /* the other goes on without it */
	cluster_leave(&lab.cluster, 2);
	begin_anew(1, whole);
	ck_assert_msg(open_node(1, &err) == WHORL_OK, "%s", err.text);
	cluster_record(&lab.cluster, "orders");
	ck_ok(whorl_start(lab.cluster.nodes[1]));
	await(whorl_ready(lab.cluster.nodes[1], 0) == WHORL_OK, sched_yield());
	ck_assert_uint_eq(whorl_node_count(lab.cluster.nodes[1]), 1);
	send_some(1, 5);
	await(recorded(lab.cluster.records[1]) >= had + has, sched_yield());
	ck_assert_uint_eq(recorded(lab.cluster.records[1]), had + has);
	ck_assert(is_whole(1));
	standing = read_standing(1);
	ck_assert_uint_eq(standing.group, 0xdef);
	ck_assert(!standing.alone);
	ck_assert_uint_eq(standing.number, 2);
	wh_standing_free(&standing);
	cluster_leave(&lab.cluster, 1);
	/* It is a group as any other: what it has comes back, and is what there is now. */
	ck_assert_msg(open_node(1, &err) == WHORL_OK, "%s", err.text);
	cluster_record(&lab.cluster, "orders");
	ck_ok(whorl_start(lab.cluster.nodes[1]));
	await(whorl_ready(lab.cluster.nodes[1], 0) == WHORL_OK, sched_yield());
	ck_assert_uint_eq(recorded(lab.cluster.records[1]), had + 2 * has);
	free_lab();
}

/* ---- directories -------------------------------------------------------------------------------------------------------- */

TEST_CASE("directories");

TEST(a_directory_is_one_nodes)
{
	struct wh_error err;
	whorl_node *second;
	const struct wh_world world = {.env = &lab.envs[0],
				       .create = wh_shm_create,
				       .headers_apart = true,
				       .one_host = true,
				       .take_id = wh_shm_take_id};

	make_lab("", ORDERS);
	ck_assert_msg(open_node(0, &err) == WHORL_OK, "%s", err.text);
	snprintf(lab.bound.group.name, sizeof(lab.bound.group.name), "another-%d", (int)getpid());
	lab.bound.group.disk_timeout_ms = 100; /* it is waited for */
	ck_assert_int_eq(wh_node_open(&lab.bound, 0, &world, NULL, &second, &err), WHORL_DISK);
	ck_assert_msg(strstr(err.text, lab.directory) != NULL && strstr(err.text, "another process") != NULL, "%s",
		      err.text);
	free_lab();
}

TEST(there_has_to_be_a_directory)
{
	struct wh_error err;

	make_lab("", ORDERS);
	snprintf(lab.bound.group.log_dir, sizeof(lab.bound.group.log_dir), "%s/none", lab.directory);
	ck_assert_int_eq(open_node(0, &err), WHORL_DISK);
	ck_assert_msg(strstr(err.text, "log_dir") != NULL, "%s", err.text);
	free_lab();
}

/* ---- those of others ---------------------------------------------------------------------------------------------------- */

static struct {
	atomic_bool holds, has;
	void (*run)(void *argument);
	void *argument;
} job;

/* One job waits until the test has it run. */
static void submit_later(void *ctx, void (*run)(void *argument), void *argument)
{
	if (!atomic_exchange(&job.holds, false)) {
		wh_env_system()->submit(ctx, run, argument);
		return;
	}
	job.run = run;
	job.argument = argument;
	atomic_store(&job.has, true);
}

static void close_node(unsigned id)
{
	whorl_close(lab.cluster.nodes[id], 0);
	lab.cluster.nodes[id] = NULL;
}

/* No process has locked that directory. It is locked for a moment, so no node may want it meanwhile. */
static bool is_free(unsigned id)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_directory *directory;
	enum whorl_result result;
	struct wh_error err;
	char path[128];
	int holder;

	snprintf(path, sizeof(path), "%s/%u", lab.directory, id);
	ck_ok(disk->directory(disk->ctx, path, false, &directory, &err));
	result = directory->ops->lock(directory, &holder, &err);
	directory->ops->close(directory);
	return result == WHORL_OK;
}

/* Node 0 is to speak for the disk of node 1, and so is node 2, which is faster. When the group goes on the job of node 0 has not begun yet, or
 * is about to open that disk: what it opens then is let go, and node 1 can start. */
TEST_LOOP(disks_of_others_are_let_go, 0, 2)
{
	struct wh_error err;
	unsigned long held;
	bool later = _i == 0;

	make_lab("start_timeout_ms = 1000\n", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	close_node(1);
	cluster_await_view(&lab.cluster, 1);
	close_node(2);
	close_node(0);
	lab.envs[0].submit = submit_later;
	atomic_store(&job.holds, later);
	ck_assert_msg(open_node(0, &err) == WHORL_OK, "%s", err.text);
	atomic_store(&lab.disks[0].holds_directories, !later);
	ck_ok(whorl_start(lab.cluster.nodes[0]));
	await(later ? atomic_load(&job.has) : atomic_load(&lab.disks[0].held) > 0, sched_yield());
	ck_assert_msg(open_node(2, &err) == WHORL_OK, "%s", err.text);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await(cluster_is_ready(&lab.cluster), cluster_step(&lab.cluster));
	await(is_free(1), sched_yield()); /* node 2 has let go of it */
	if (later) {
		job.run(job.argument);
	} else {
		held = atomic_load(&lab.disks[0].held);
		atomic_store(&lab.disks[0].only, "1/");
		atomic_store(&lab.disks[0].holds, true);
		atomic_store(&lab.disks[0].holds_directories, false);
		for (int ms = 0; ms < 2000 && atomic_load(&lab.disks[0].held) == held; ms++)
			usleep(1000); /* it has locked it, and reads; or it came too late, and does not */
		atomic_store(&lab.disks[0].holds, false);
	}
	ck_assert_msg(open_node(1, &err) == WHORL_OK, "%s", err.text);
	ck_ok(whorl_start(lab.cluster.nodes[1]));
	await(cluster_is_ready(&lab.cluster), cluster_step(&lab.cluster));
	free_lab();
}

/* Node 0 speaks for the disks of the others, and its own does not answer. Another comes, and has its directory long before that. */
TEST(a_node_that_comes_has_its_disk_back)
{
	struct wh_error err;

	make_lab("start_timeout_ms = 1000\n", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	for (unsigned id = 0; id < NODES; id++)
		close_node(id);
	ck_assert_msg(open_node(0, &err) == WHORL_OK, "%s", err.text);
	atomic_store(&lab.disks[0].only, "0/standing");
	atomic_store(&lab.disks[0].holds, true);
	ck_ok(whorl_start(lab.cluster.nodes[0]));
	await(atomic_load(&lab.disks[0].held) > 0 && atomic_load(&lab.disks[0].locked) == 1 + NODES, sched_yield());
	ck_assert_msg(open_node(1, &err) == WHORL_OK, "%s", err.text);
	atomic_store(&lab.disks[0].holds, false);
	ck_ok(whorl_start(lab.cluster.nodes[1]));
	ck_assert_msg(open_node(2, &err) == WHORL_OK, "%s", err.text);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await(cluster_is_ready(&lab.cluster), cluster_step(&lab.cluster));
	free_lab();
}

static void *give_back_late(void *argument)
{
	struct wh_directory *directory = argument;

	usleep(500000); /* many times what node 1 would wait if disks took no time */
	directory->ops->close(directory);
	return NULL;
}

/* A node that speaks for the disk of node 1 takes longer to read it than the start time-outs are: node 1 waits as long as disks may take. */
TEST(a_directory_is_waited_for_as_long_as_its_disk_may_take)
{
	const struct wh_disk *disk = wh_disk_system();
	struct wh_directory *directory;
	struct wh_error err;
	char path[128];
	pthread_t thread;
	int holder;

	make_lab("start_timeout_ms = 10\n", ORDERS);
	snprintf(path, sizeof(path), "%s/1", lab.directory);
	ck_ok(disk->directory(disk->ctx, path, true, &directory, &err));
	ck_ok(directory->ops->lock(directory, &holder, &err));
	ck_assert_int_eq(pthread_create(&thread, NULL, give_back_late, directory), 0);
	ck_assert_msg(open_node(1, &err) == WHORL_OK, "%s", err.text);
	pthread_join(thread, NULL);
	free_lab();
}

/* ---- a log is copied ---------------------------------------------------------------------------------------------------- */

/* All end at once, the log of node 2 is damaged, and it starts alone: it copies that of node 0. With functions for a state. */
static void begin_to_copy(void)
{
	char saved[96];
	struct wh_error err;

	make_lab("start_timeout_ms = 200\n", ORDERS);
	open_programs();
	cluster_start(&lab.cluster);
	send_some(0, 100);
	for (unsigned id = 0; id < NODES; id++)
		await(atomic_load(&programs[id].messages) == 100, sched_yield());
	for (unsigned id = 0; id < NODES; id++)
		await(look_at_log(id).capped, sched_yield());
	snprintf(saved, sizeof(saved), "%s-saved", lab.directory);
	ck_assert_int_eq(mkdir(saved, 0700), 0);
	copy_directories(lab.directory, saved, NODES);
	for (unsigned id = 0; id < NODES; id++)
		close_node(id);
	copy_directories(saved, lab.directory, NODES);
	remove_directory(saved);
	damage_log(2);
	atomic_store(&lab.disks[2].only, "2/orders");
	ck_assert_msg(open_node(2, &err) == WHORL_OK, "%s", err.text);
	set_program(2);
}

static uint64_t read_promise(unsigned id)
{
	struct wh_standing standing = read_standing(id);
	uint64_t promised = standing.promised;

	wh_standing_free(&standing);
	return promised;
}

TEST_CASE("copies", .timeout_s = 60);

/* There is no room for the copy: it is tried again, and when that takes too long the node fails. */
TEST(a_copy_without_room_is_not_tried_for_ever)
{
	lab.timeout_ms = HUNG_MS;
	begin_to_copy();
	atomic_store(&lab.disks[2].refuses, true);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await(has_failed(2, WHORL_DISK), sched_yield());
	ck_assert_uint_gt(atomic_load(&lab.disks[2].refused), 1);
	atomic_store(&lab.disks[2].refuses, false);
	free_lab();
}

/* Node 0 comes while its log is copied, and there is no other. What was copied does not count: node 2 is given the state. */
TEST(a_copy_of_what_was_let_go_of_does_not_count)
{
	struct wh_error err;

	begin_to_copy();
	damage_log(1);
	atomic_store(&lab.disks[2].holds, true);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await(atomic_load(&lab.disks[2].held) > 0, sched_yield());
	ck_assert_msg(open_node(0, &err) == WHORL_OK, "%s", err.text); /* it has its directory */
	set_program(0);
	ck_ok(whorl_start(lab.cluster.nodes[0]));
	atomic_store(&lab.disks[2].holds, false);
	await(whorl_ready(lab.cluster.nodes[0], 0) == WHORL_OK && whorl_ready(lab.cluster.nodes[2], 0) == WHORL_OK,
	      sched_yield());
	await(is_whole(2), sched_yield());
	await(atomic_load(&programs[2].messages) == 100, sched_yield());
	ck_assert_uint_eq(atomic_load(&programs[2].restored), 1);
	free_lab();
}

/* Another node comes, and coordinates. The disk that is being read promises it nothing before the copy has come to its end. */
TEST(a_disk_that_is_read_promises_nothing)
{
	struct wh_error err;
	uint64_t promised, own;

	begin_to_copy();
	atomic_store(&lab.disks[2].holds, true);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await(atomic_load(&lab.disks[2].held) > 0, sched_yield());
	promised = read_promise(0);
	ck_assert_msg(open_node(1, &err) == WHORL_OK, "%s", err.text);
	set_program(1);
	own = read_promise(1);
	ck_ok(whorl_start(lab.cluster.nodes[1]));
	await(read_promise(1) > own, usleep(10000));
	usleep(500000);
	ck_assert_uint_eq(read_promise(0), promised);
	atomic_store(&lab.disks[2].holds, false);
	await(read_promise(0) > promised, usleep(10000));
	await(whorl_ready(lab.cluster.nodes[1], 0) == WHORL_OK && whorl_ready(lab.cluster.nodes[2], 0) == WHORL_OK,
	      sched_yield());
	free_lab();
}

/* What has come of the log of node 0 is less than what that had: the log of node 1 is copied. */
TEST(a_copy_that_is_short_does_not_count)
{
	static const char zeros[64 << 10];
	char path[192];
	int fd;

	begin_to_copy();
	atomic_store(&lab.disks[2].holds, true);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await(atomic_load(&lab.disks[2].held) > 0, sched_yield());
	snprintf(path, sizeof(path), "%s/2/orders.0.0000000000000000.log", lab.directory);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	for (off_t at = 8192; at < lseek(fd, 0, SEEK_END); at += (off_t)sizeof(zeros))
		ck_assert_int_eq(pwrite(fd, zeros, sizeof(zeros), at), sizeof(zeros));
	ck_assert_int_eq(close(fd), 0);
	atomic_store(&lab.disks[2].holds, false);
	await(whorl_ready(lab.cluster.nodes[2], 0) == WHORL_OK, sched_yield());
	await(atomic_load(&programs[2].messages) == 100, sched_yield());
	free_lab();
}

/* ---- a node ends, and its disk hangs -------------------------------------------------------------------------------------- */

static struct {
	atomic_bool has_ended, was_needed;
} rescue;

static atomic_ulong jobs_begun, jobs_ended;

struct counted {
	void (*run)(void *argument);
	void *argument;
};

static void run_counted(void *argument)
{
	struct counted counted = *(struct counted *)argument;

	free(argument);
	counted.run(counted.argument);
	atomic_fetch_add(&jobs_ended, 1);
}

static void submit_counted(void *ctx, void (*run)(void *argument), void *argument)
{
	struct counted *counted = malloc(sizeof(*counted));

	ck_assert_ptr_nonnull(counted);
	*counted = (struct counted){run, argument};
	atomic_fetch_add(&jobs_begun, 1);
	wh_env_system()->submit(ctx, run_counted, counted);
}

static void release(unsigned id)
{
	atomic_store(&lab.disks[id].holds, false);
	atomic_store(&lab.disks[id].holds_reads, false);
	atomic_store(&lab.disks[id].holds_directories, false);
}

/* A close that waits as long as the disk hangs fails the test, and does not hang in it. */
static void *rescue_close(void *ctx)
{
	uint64_t began = now_ms();

	(void)ctx;
	while (!atomic_load(&rescue.has_ended) && now_ms() - began < (uint64_t)PATIENCE_MS)
		usleep(1000);
	if (!atomic_load(&rescue.has_ended)) {
		atomic_store(&rescue.was_needed, true);
		release(2);
	}
	return NULL;
}

static void close_held_node(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, rescue_close, NULL), 0);
	close_node(2);
	atomic_store(&programs[2].has_ended, true);
	atomic_store(&rescue.has_ended, true);
	pthread_join(thread, NULL);
	ck_assert_msg(!atomic_load(&rescue.was_needed), "whorl_close waits as long as the disk hangs");
}

/* What was left behind ends when the disk answers: no process has these directories then. */
static void expect_all_let_go(void)
{
	release(2);
	await(atomic_load(&jobs_ended) == atomic_load(&jobs_begun), sched_yield());
	for (unsigned id = 0; id < NODES; id++)
		await(is_free(id), sched_yield());
	ck_assert_uint_eq(atomic_load(&programs[2].late), 0);
}

TEST_CASE("ends");

/* The disk hangs when the directory is opened from which a log is to be copied, and the node has ended when it answers. */
TEST(a_copy_does_not_outlive_its_node)
{
	struct gate_disk *gate = &lab.disks[2];
	unsigned long held, locked;

	lab.timeout_ms = 2 * HUNG_MS; /* of this the standing takes a part */
	begin_to_copy();
	locked = atomic_load(&gate->locked);
	atomic_store(&gate->only, "2/standing");
	atomic_store(&gate->holds, true);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	await(atomic_load(&gate->locked) == locked + 2 && atomic_load(&gate->held) > 0, sched_yield());
	held = atomic_load(&gate->held);
	atomic_store(&gate->holds_directories, true); /* those of the others are open */
	atomic_store(&gate->holds, false);
	await(atomic_load(&gate->held) > held, sched_yield());
	close_held_node();
	expect_all_let_go();
	free_lab();
}

/* Node 2 starts alone, and is to speak for the disks of the others: which do not answer when it looks at them, when it locks and reads them; or when
 * they are to promise something, as does its own. */
TEST_LOOP(disks_that_hang_do_not_hold_a_node, 0, 4)
{
	struct gate_disk *gate = &lab.disks[2];
	struct wh_error err;

	make_lab("start_timeout_ms = 200\n", ORDERS);
	open_all();
	cluster_start(&lab.cluster);
	for (unsigned id = 0; id < NODES; id++)
		close_node(id);
	lab.timeout_ms = HUNG_MS;
	lab.envs[2].submit = submit_counted;
	ck_assert_msg(open_node(2, &err) == WHORL_OK, "%s", err.text);
	atomic_store(&gate->holds_directories, _i == 0);
	atomic_store(&gate->only, _i == 1 ? "0/orders" : "/standing");
	atomic_store(&gate->holds_reads, _i == 1);
	atomic_store(&gate->holds, _i == 3);
	ck_ok(whorl_start(lab.cluster.nodes[2]));
	if (_i == 2)
		await(atomic_load(&gate->locked) == NODES, sched_yield());
	atomic_store(&gate->holds, _i >= 2);
	await(atomic_load(&gate->held) > 0, sched_yield());
	close_held_node();
	expect_all_let_go();
	free_lab();
}

/* All start again with a state on disk: of node 2 the disk hangs when that is read; or its program takes longer than the disk may. */
TEST_LOOP(a_state_that_is_read_again_does_not_outlive_its_node, 0, 2)
{
	struct wh_error err;

	make_lab("", ORDERS);
	open_programs();
	cluster_start(&lab.cluster);
	send_some(0, 100);
	await(atomic_load(&programs[2].messages) == 100, sched_yield());
	ck_ok(whorl_checkpoint(subgroup_of(&lab.cluster, 2, "orders")));
	await(count_files(2, ".checkpoint") == 1, sched_yield());
	for (unsigned id = 0; id < NODES; id++)
		close_node(id);
	lab.timeout_ms = HUNG_MS;
	for (unsigned id = 0; id < NODES; id++) {
		ck_assert_msg(open_node(id, &err) == WHORL_OK, "%s", err.text);
		set_program(id);
	}
	wh_program_write(&subgroup_of(&lab.cluster, 2, "orders")->program)->past_views.told = note_past_view;
	wh_program_write(&subgroup_of(&lab.cluster, 2, "orders")->program)->past_views.ctx = &past;
	atomic_store(&lab.disks[2].only, "2/orders");
	atomic_store(&lab.disks[2].holds_reads, _i == 0);
	atomic_store(&programs[2].is_slow, _i == 1);
	for (unsigned id = 0; id < NODES; id++)
		ck_ok(whorl_start(lab.cluster.nodes[id]));
	await(_i == 0 ? atomic_load(&lab.disks[2].held) > 0 : !atomic_load(&programs[2].is_slow), sched_yield());
	close_held_node();
	release(2);
	await(is_free(2), sched_yield());
	ck_assert_uint_eq(atomic_load(&programs[2].late), 0);
	free_lab();
}

TEST_SUITE("durable")
