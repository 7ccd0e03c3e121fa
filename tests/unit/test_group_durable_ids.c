/* test_group_durable_ids.c - durable groups of nodes without ids of their own: the first forms it, and one restarts alone what several had.
 *
 * Labels: threads
 */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/group.h"
#include "tests/support/saved.h"

#define NODES 3

static struct lab {
	char directory[64];
	whorl_config *config;
	whorl_node *nodes[NODES];
	atomic_ulong messages[NODES]; /* that the program has of each: its state */
} lab;

/* ---- a program that counts ------------------------------------------------------------------------------------------ */

static void count_message(const struct whorl_message *message, void *ctx)
{
	(void)message;
	atomic_fetch_add((atomic_ulong *)ctx, 1);
}

struct copy {
	uint64_t messages;
	bool read;
};

static void *take_copy(const struct whorl_position *position, void *ctx)
{
	struct copy *copy = calloc(1, sizeof(*copy));

	(void)position;
	ck_assert_ptr_nonnull(copy);
	copy->messages = atomic_load((atomic_ulong *)ctx);
	return copy;
}

static ptrdiff_t read_copy(void *snapshot, void *bytes, size_t count, void *ctx)
{
	struct copy *copy = snapshot;

	(void)ctx;
	if (copy->read || count < sizeof(copy->messages))
		return copy->read ? 0 : -1;
	copy->read = true;
	memcpy(bytes, &copy->messages, sizeof(copy->messages));
	return sizeof(copy->messages);
}

static void release_copy(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

static bool restore_copy(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	uint64_t messages;

	if (step != WHORL_RESTORE_BYTES)
		return true;
	if (count != sizeof(messages))
		return false;
	memcpy(&messages, bytes, sizeof(messages));
	atomic_store((atomic_ulong *)ctx, messages);
	return true;
}

/* ---- the nodes -------------------------------------------------------------------------------------------------------- */

static void make_lab(const char *group)
{
	char text[1024], name[64];

	snprintf(lab.directory, sizeof(lab.directory), "%s/whorl-durable-XXXXXX",
		 getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(lab.directory));
	snprintf(text, sizeof(text),
		 "[group]\nname = %s\nnodes_max = 4\nlog_dir = %s\ndisk_timeout_ms = 120000\nmemory_max = 4g\nstart_timeout_ms = 1000\n"
		 "%s[subgroup orders]\nmode = durable\nwindow = 64\nmessage_bytes = 64\n",
		 group_name(name, sizeof(name)), lab.directory, group);
	lab.config = whorl_config_new();
	ck_assert_ptr_nonnull(lab.config);
	ck_assert_msg(whorl_config_load_text(lab.config, "test", text) == WHORL_OK, "%s",
		      whorl_config_error(lab.config));
}

static void begin(unsigned i, uint32_t id)
{
	whorl_subgroup *subgroup;

	ck_assert_msg(whorl_open(lab.config, id, NULL, &lab.nodes[i]) == WHORL_OK, "%s",
		      whorl_config_error(lab.config));
	subgroup = whorl_subgroup_find(lab.nodes[i], "orders");
	atomic_store(&lab.messages[i], 0);
	ck_ok(whorl_on_message(subgroup, count_message, &lab.messages[i]));
	ck_ok(whorl_on_state(subgroup, &(struct whorl_state){.size = sizeof(struct whorl_state),
							     .snapshot = take_copy,
							     .read = read_copy,
							     .release = release_copy,
							     .restore = restore_copy,
							     .ctx = &lab.messages[i]}));
	ck_ok(whorl_start(lab.nodes[i]));
}

static void send_some(unsigned i, uint64_t count)
{
	for (uint64_t value = 0; value < count; value++) {
		enum whorl_result result;

		await((result = whorl_send(whorl_subgroup_find(lab.nodes[i], "orders"), &value, sizeof(value), 0,
					   NULL)) != WHORL_AGAIN,
		      sched_yield());
		ck_ok(result);
	}
}

static bool is_ready(unsigned i)
{
	return whorl_ready(lab.nodes[i], 0) == WHORL_OK;
}

static void end(unsigned i)
{
	ck_ok(whorl_close(lab.nodes[i], 60000));
	lab.nodes[i] = NULL;
}

static void free_lab(void)
{
	for (unsigned i = 0; i < NODES; i++)
		if (lab.nodes[i] != NULL)
			end(i);
	remove_directory(lab.directory);
	whorl_config_free(lab.config);
}

TEST_CASE("ids", .timeout_s = 300);

/* The first process forms it. Later one alone has what it had, under the same id, and goes on. */
TEST(the_first_forms_it)
{
	make_lab("nodes = 0\n");
	begin(0, WHORL_ANY_ID);
	await(is_ready(0), sched_yield());
	ck_assert_uint_eq(whorl_node_id(lab.nodes[0]), 0);
	send_some(0, 20);
	await(atomic_load(&lab.messages[0]) == 20, sched_yield());
	end(0);
	begin(0, WHORL_ANY_ID);
	await(is_ready(0), sched_yield());
	ck_assert_uint_eq(whorl_node_id(lab.nodes[0]), 0);
	ck_assert_uint_eq(atomic_load(&lab.messages[0]), 20);
	send_some(0, 5);
	await(atomic_load(&lab.messages[0]) == 25, sched_yield());
	free_lab();
}

static bool have_all(unsigned nodes, unsigned long messages)
{
	for (unsigned i = 0; i < nodes; i++)
		if (atomic_load(&lab.messages[i]) < messages)
			return false;
	return true;
}

static bool are_ready(unsigned nodes)
{
	for (unsigned i = 0; i < nodes; i++)
		if (!is_ready(i))
			return false;
	return true;
}

/* It takes the directory of a member of the newest view, and speaks for the others. */
TEST(one_restarts_what_three_had)
{
	uint32_t ids[NODES], id;

	make_lab("nodes = 3\n");
	for (unsigned i = 0; i < NODES; i++)
		begin(i, WHORL_ANY_ID);
	await(are_ready(NODES), sched_yield());
	for (unsigned i = 0; i < NODES; i++)
		send_some(i, 10);
	await(have_all(NODES, 30), sched_yield());
	ids[0] = whorl_node_id(lab.nodes[0]);
	end(0); /* the others go on without it: its disk is behind */
	send_some(1, 10);
	await(atomic_load(&lab.messages[1]) == 40 && atomic_load(&lab.messages[2]) == 40, sched_yield());
	end(1);
	end(2);
	begin(0, WHORL_ANY_ID);
	await(is_ready(0), sched_yield());
	id = whorl_node_id(lab.nodes[0]);
	ck_assert_msg(id < NODES && id != ids[0], "it has id %u", id);
	ck_assert_uint_eq(atomic_load(&lab.messages[0]), 40);
	free_lab();
}

/* The first batches of its log have rotted. */
static void damage_log(uint32_t id)
{
	char path[128], name[512];
	const struct dirent *entry;
	DIR *directory;
	unsigned count = 0;

	snprintf(path, sizeof(path), "%s/%u", lab.directory, id);
	directory = opendir(path);
	ck_assert_ptr_nonnull(directory);
	while ((entry = readdir(directory)) != NULL) {
		FILE *file;

		if (strstr(entry->d_name, ".log") == NULL)
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		file = fopen(name, "r+b");
		ck_assert_ptr_nonnull(file);
		ck_assert_int_eq(fseek(file, 4096 + 40, SEEK_SET), 0);
		ck_assert_int_eq(fputc(0x55, file), 0x55);
		ck_assert_int_eq(fclose(file), 0);
		count++;
	}
	closedir(directory);
	ck_assert_uint_gt(count, 0);
}

/* All end at once, and the log of the one that is started again is damaged: it copies that of another, for which it speaks. */
TEST(one_restarts_with_the_log_of_another)
{
	char saved[96];

	make_lab("nodes = 3\n");
	snprintf(saved, sizeof(saved), "%s-saved", lab.directory);
	ck_assert_int_eq(mkdir(saved, 0700), 0);
	for (unsigned i = 0; i < NODES; i++)
		begin(i, i);
	await(are_ready(NODES), sched_yield());
	for (unsigned i = 0; i < NODES; i++)
		send_some(i, 10);
	await(have_all(NODES, 30), sched_yield());
	usleep(300000); /* until the logs have their caps */
	copy_directories(lab.directory, saved, NODES);
	for (unsigned i = 0; i < NODES; i++)
		end(i);
	copy_directories(saved, lab.directory, NODES);
	damage_log(1);
	begin(0, 1);
	await(is_ready(0), sched_yield());
	ck_assert_uint_eq(atomic_load(&lab.messages[0]), 30);
	send_some(0, 5);
	await(atomic_load(&lab.messages[0]) == 35, sched_yield());
	end(0);
	begin(0, 1); /* from its own log */
	await(is_ready(0), sched_yield());
	ck_assert_uint_eq(atomic_load(&lab.messages[0]), 35);
	remove_directory(saved);
	free_lab();
}

/* A founder with nothing on its disk forms no group beside what lies on the others: it waits for a node that has some, and says so. */
TEST(none_is_formed_beside_logs)
{
	char path[128], text[256];

	make_lab("nodes = 0\n");
	begin(0, 3);
	begin(1, 0);
	await(are_ready(2), sched_yield());
	send_some(0, 10);
	await(have_all(2, 10), sched_yield());
	end(1);
	send_some(0, 1); /* in a view of its own: so its disk alone is a majority */
	await(atomic_load(&lab.messages[0]) == 11, sched_yield());
	end(0);
	snprintf(path, sizeof(path), "%s/0", lab.directory);
	remove_directory(path);
	begin(0, 0);
	await((whorl_progress(lab.nodes[0], text, sizeof(text)), strstr(text, "that has a log") != NULL),
	      sched_yield());
	ck_assert(!is_ready(0));
	begin(1, WHORL_ANY_ID);
	await(are_ready(2), sched_yield());
	ck_assert_uint_eq(whorl_node_id(lab.nodes[1]), 3);
	ck_assert_uint_eq(atomic_load(&lab.messages[1]), 11);
	free_lab();
}

TEST_SUITE("group_durable_ids")
