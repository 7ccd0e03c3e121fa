/* test_status_nodes.c - asking nodes how they are, by the public interface: members, seekers, those that have failed or say
 * nothing.
 * Labels: threads
 */
#include <pthread.h>

#include <whorl/status.h>

#include "tests/support/group.h"

#define ASK_MS 10000

static struct cluster cluster;
static char name[64]; /* of the group */

static void setup(void)
{
	cluster = (struct cluster){.count = 0};
}

static void teardown(void)
{
	if (cluster.config != NULL)
		cluster_free(&cluster);
}

/* Of a group with a name that we know. */
static void configure(unsigned count, const char *group, const char *rest)
{
	char more[512];

	group_name(name, sizeof name);
	snprintf(more, sizeof more, "start_timeout_ms = 60000\n%s", group);
	cluster_configure(&cluster, count, more, rest);
	snprintf(more, sizeof more, "group.name=%s", name);
	ck_ok(whorl_config_set(cluster.config, more));
}

static void open_and_start(unsigned count, const char *group, const char *rest)
{
	configure(count, group, rest);
	for (unsigned id = 0; id < count; id++)
		cluster_open_node(&cluster, id);
	cluster_start(&cluster);
}

static struct whorl_status *ask(uint32_t id)
{
	struct whorl_status *status;
	char text[256];

	ck_assert_msg(whorl_status_get(name, id, ASK_MS, &status, text, sizeof text) == WHORL_OK, "%s", text);
	ck_assert_str_eq(text, "");
	ck_assert_str_eq(status->group, name);
	ck_assert_uint_eq(status->id, id);
	ck_assert_str_eq(status->version, whorl_version());
	ck_assert_uint_eq(status->pid, (uint32_t)getpid());
	return status;
}

static const char subgroups[] = "[subgroup a]\nwindow = 10\nmessage_bytes = 64\nlarge_bytes = 640\n"
				"[subgroup b]\nmembers = 1,2\nsenders = one\nmode = unordered\n";

TEST_CASE("nodes", .setup = setup, .teardown = teardown);

TEST(members)
{
	struct whorl_status *of[3];

	open_and_start(3, "tie_breaker = 1\n", subgroups);
	for (uint32_t id = 0; id < 3; id++) {
		of[id] = ask(id);
		ck_assert_int_eq(of[id]->standing, WHORL_IS_MEMBER);
		ck_assert(of[id]->ready);
		ck_assert_int_eq(of[id]->result, WHORL_OK);
		ck_assert_uint_eq(of[id]->view, 0);
		ck_assert_uint_eq(of[id]->leader, 0);
		ck_assert_uint_eq(of[id]->tie_breaker, 1);
		ck_assert(of[id]->quorum);
		ck_assert_int_eq(of[id]->change, WHORL_CHANGE_NONE);
		ck_assert_uint_eq(of[id]->member_count, 3);
		ck_assert_uint_eq(of[id]->shard_count, 2);
		ck_assert_uint_gt(of[id]->stats->steps, 0);
		ck_assert_uint_gt(of[id]->stats->memory_bytes, 0);
	}
	for (uint32_t id = 0; id < 3; id++)
		for (uint32_t other = 0; other < 3; other++) {
			ck_assert_uint_eq(of[id]->members[other].id, other);
			ck_assert_uint_eq(of[id]->members[other].incarnation, of[other]->incarnation);
			ck_assert_int_eq(of[id]->members[other].suspicion, WHORL_IS_TRUSTED);
		}
	ck_assert_uint_ne(of[0]->incarnation, of[1]->incarnation);
	for (uint32_t id = 0; id < 3; id++)
		whorl_status_free(of[id]);
}

/* Each but the last in the chain has passed on what holds enough, its own too. */
TEST(relays)
{
	const char *large = "[subgroup a]\nsenders = one\nwindow = 10\nmessage_bytes = 4096\nrelay_bytes = 1000\n";
	unsigned char bytes[2000] = {0};

	open_and_start(3, "transport = tcp\n", large);
	for (int i = 0; i < 5; i++)
		ck_ok(whorl_send(subgroup_of(&cluster, 0, "a"), bytes, sizeof bytes - (size_t)i, 1000, NULL));
	ck_ok(whorl_send(subgroup_of(&cluster, 0, "a"), bytes, 999, 1000, NULL));
	for (uint32_t id = 0; id < 3; id++)
		await(stats_of(subgroup_of(&cluster, id, "a")).delivered == 6, sched_yield());
	for (uint32_t id = 0; id < 3; id++) {
		struct whorl_status *status = ask(id);
		struct whorl_subgroup_stats here = stats_of(subgroup_of(&cluster, id, "a"));
		struct whorl_subgroup_info info = {.size = sizeof info};

		ck_ok(whorl_subgroup_describe(subgroup_of(&cluster, id, "a"), &info));
		ck_assert_uint_eq(info.relay_bytes, 1000);
		ck_assert_uint_eq(here.relayed, id < 2 ? 5 : 0);
		ck_assert_uint_eq(here.relayed_bytes, id < 2 ? 5 * 2000 - 10 : 0);
		ck_assert_uint_eq(status->shards[0].relay_bytes, 1000);
		ck_assert_uint_eq(status->shards[0].stats->relayed, id < 2 ? 5 : 0);
		ck_assert_uint_eq(status->shards[0].stats->relayed_bytes, id < 2 ? 5 * 2000 - 10 : 0);
		whorl_status_free(status);
	}
}

TEST(shards)
{
	struct whorl_status *status;
	struct whorl_status_shard *shard;

	open_and_start(3, "", subgroups);
	for (int i = 0; i < 5; i++)
		ck_ok(whorl_send(subgroup_of(&cluster, 2, "a"), "hello", 5, 1000, NULL));
	ck_ok(whorl_send(subgroup_of(&cluster, 1, "b"), "hello", 5, 1000, NULL));
	for (uint32_t id = 0; id < 3; id++) /* when all have delivered, what each knows of the others comes in */
		await(stats_of(subgroup_of(&cluster, id, "a")).delivered == 5, sched_yield());
	await(stats_of(subgroup_of(&cluster, 2, "b")).delivered == 1, sched_yield());
	status = ask(0);
	shard = &status->shards[0];
	ck_assert_str_eq(shard->name, "a");
	ck_assert(shard->ordered);
	ck_assert_int_eq(shard->condition, WHORL_SHARD_ACTIVE);
	ck_assert_uint_eq(shard->members, 3);
	ck_assert_uint_eq(shard->senders, 3);
	ck_assert_uint_eq(shard->window, 10);
	ck_assert_uint_eq(shard->message_bytes, 64);
	ck_assert_uint_eq(shard->large_bytes, 640);
	ck_assert_uint_eq(shard->stats->delivered, 5);
	ck_assert_uint_eq(shard->stats->delivered_bytes, 25);
	ck_assert_uint_eq(shard->place_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(shard->places[i].id, i);
		ck_assert(shard->places[i].sends);
		ck_assert_uint_le(shard->places[i].delivered_num, shard->places[i].received_num);
	}
	ck_assert_uint_ge(shard->places[0].delivered_num,
			  15); /* five rounds of three senders, all but the last nulls */
	shard = &status->shards[1];
	ck_assert_str_eq(shard->name, "b");
	ck_assert(!shard->ordered);
	ck_assert_int_eq(shard->condition, WHORL_SHARD_GONE); /* node 0 is not in it */
	ck_assert_uint_eq(shard->members, 2);
	ck_assert_uint_eq(shard->senders, 1);
	ck_assert_uint_eq(shard->place_count, 0);
	whorl_status_free(status);
	status = ask(2);
	shard = &status->shards[1];
	ck_assert_int_eq(shard->condition, WHORL_SHARD_ACTIVE);
	ck_assert_uint_eq(shard->place_count, 2);
	ck_assert(shard->places[0].sends && !shard->places[1].sends);
	ck_assert_uint_eq(shard->places[1].delivered_num, 1);
	whorl_status_free(status);
}

TEST(a_node_that_is_not_there_is_not_found)
{
	struct whorl_status *status = (void *)&cluster;
	char text[256];

	open_and_start(2, "nodes_max = 4\n", subgroups);
	ck_assert_int_eq(whorl_status_get(name, 3, ASK_MS, &status, text, sizeof text), WHORL_NOT_FOUND);
	ck_assert_ptr_null(status);
	ck_assert_str_ne(text, "");
	whorl_close(cluster.nodes[1], 1000);
	cluster.nodes[1] = NULL;
	ck_assert_int_eq(whorl_status_get(name, 1, ASK_MS, &status, NULL, 0), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_status_get("another", 0, ASK_MS, &status, NULL, 0), WHORL_NOT_FOUND);
}

/* It is open, and no thread makes its passes. */
TEST(a_question_to_a_node_that_does_not_answer_times_out)
{
	struct whorl_status *status;
	char text[256];

	configure(3, "", subgroups);
	cluster_open_node(&cluster, 0);
	ck_assert_int_eq(whorl_status_get(name, 0, 50, &status, text, sizeof text), WHORL_TIMEOUT);
	ck_assert_str_ne(text, "");
	ck_assert_int_eq(whorl_status_get(name, 0, 0, &status, NULL, 0), WHORL_TIMEOUT);
	ck_ok(whorl_start(cluster.nodes[0]));
	whorl_status_free(ask(0));
}

TEST(a_seeking_node_answers)
{
	struct whorl_status *status;

	configure(3, "", subgroups);
	cluster_open_node(&cluster, 1);
	ck_ok(whorl_start(cluster.nodes[1]));
	for (;;) {
		status = ask(1);
		ck_assert_uint_eq(status->member_count, 0);
		ck_assert_uint_eq(status->leader, WHORL_NOBODY);
		ck_assert(!status->ready);
		ck_assert(status->standing == WHORL_IS_SEEKING || status->standing == WHORL_IS_FORMING);
		if (status->standing == WHORL_IS_FORMING && status->progress[0] != '\0')
			break;
		whorl_status_free(status);
	}
	whorl_status_free(status);
}

/* Its configuration is another: it has failed, and says so until it is closed. */
TEST(a_failed_node_says_so_until_it_is_closed)
{
	struct whorl_status *status;

	open_and_start(2, "nodes_max = 3\n", subgroups);
	ck_ok(whorl_config_set(cluster.config, "subgroup a.window=11"));
	cluster.count = 3;
	cluster_open_node(&cluster, 2);
	ck_ok(whorl_start(cluster.nodes[2]));
	ck_assert_int_eq(whorl_ready(cluster.nodes[2], ASK_MS), WHORL_REFUSED);
	status = ask(2);
	ck_assert_int_eq(status->standing, WHORL_HAS_FAILED);
	ck_assert_int_eq(status->result, WHORL_REFUSED);
	ck_assert_str_ne(status->error, "");
	whorl_status_free(status);
}

static uint64_t refusals(const struct whorl_node_stats *stats)
{
	return stats->complaints[WHORL_COMPLAINT_FOREIGN] + stats->complaints[WHORL_COMPLAINT_REFUSED];
}

/* A node that counts another number of ids: each has refused the other, or was refused. The program itself can read that, too. */
TEST(complaints)
{
	struct whorl_node_stats stats = {.size = sizeof stats};
	struct whorl_status *status;

	open_and_start(2, "nodes_max = 3\n", subgroups);
	ck_ok(whorl_node_statistics(cluster.nodes[0], &stats));
	ck_assert_uint_eq(refusals(&stats), 0);
	ck_ok(whorl_config_set(cluster.config, "group.nodes_max=4"));
	cluster.count = 3;
	cluster_open_node(&cluster, 2);
	ck_ok(whorl_start(cluster.nodes[2]));
	for (unsigned id = 0; id < 3; id++) {
		ck_ok(whorl_node_statistics(cluster.nodes[id], &stats));
		await(refusals(&stats) > 0, ck_ok(whorl_node_statistics(cluster.nodes[id], &stats)));
		status = ask(id);
		ck_assert_uint_ge(refusals(status->stats), refusals(&stats));
		ck_assert_uint_eq(status->stats->complaints[WHORL_COMPLAINT_STARVED], 0);
		whorl_status_free(status);
	}
}

TEST(a_later_view)
{
	struct whorl_status *status;

	open_and_start(3, "", subgroups);
	cluster_leave(&cluster, 1);
	await(view_of(cluster.nodes[0]) == 1, sched_yield());
	status = ask(0);
	ck_assert_uint_eq(status->view, 1);
	ck_assert_uint_eq(status->voters, 2);
	ck_assert_uint_eq(status->member_count, 2);
	ck_assert_uint_eq(status->members[1].id, 2);
	ck_assert(status->quorum);
	ck_assert_uint_gt(status->stats->change_ns[WHORL_STAGE_INSTALLED], 0);
	ck_assert_uint_eq(status->stats->views, 2);
	whorl_status_free(status);
}

static void *step(void *ctx)
{
	atomic_bool *stop = ctx;

	while (!atomic_load(stop))
		cluster_step(&cluster);
	return NULL;
}

TEST(a_program_that_runs_the_loop_itself_answers)
{
	atomic_bool stop = false;
	pthread_t thread;

	open_and_start(2, "", "[subgroup a]\n[engine]\nthread = caller\n");
	pthread_create(&thread, NULL, step, &stop);
	for (uint32_t id = 0; id < 2; id++)
		whorl_status_free(ask(id));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

static void *ask_often(void *ctx)
{
	atomic_bool *stop = ctx;

	while (!atomic_load(stop)) {
		struct whorl_status *status = ask(0);

		ck_assert_uint_ge(status->shards[0].stats->received_num, status->shards[0].stats->delivered_num);
		whorl_status_free(status);
	}
	return NULL;
}

/* Several ask all the time, while messages are sent: all of them come. */
TEST(under_load)
{
	atomic_bool stop = false;
	pthread_t threads[3];

	open_and_start(3, "", "[subgroup a]\nwindow = 10\nmessage_bytes = 64\n");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, ask_often, &stop);
	for (int i = 0; i < 2000; i++)
		for (unsigned id = 0; id < 3; id++)
			ck_ok(whorl_send(subgroup_of(&cluster, id, "a"), &i, sizeof i, PATIENCE_MS, NULL));
	for (unsigned id = 0; id < 3; id++)
		await(stats_of(subgroup_of(&cluster, id, "a")).delivered == 6000, sched_yield());
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

TEST_SUITE("status_nodes")
