/* old.c - a program that was compiled with whorl's headers as they are, and runs with a library that has grown structs: batches,
 * views, the position of a snapshot and statuses are stepped through as whorl.h says (STRUCTS). Prints "grown" or "the same": what
 * the library is. Exit status 0: all was where it should be. */
#include <err.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <whorl/status.h>

#define NODES 3
#define MESSAGES 200

struct replica {
	uint32_t id;
	atomic_uint delivered, views;
	atomic_bool wrong, grown;
	uint64_t incarnations[NODES];
	uint64_t view, sequence;
};

static void deliver(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct replica *replica = ctx;

	for (size_t i = 0; i < count; i++) {
		const struct whorl_message *m = WHORL_AT(whorl_message, messages, i);
		uint32_t word[2];

		if (m->size < sizeof(*m) || m->bytes != sizeof(word) || m->sender >= NODES)
			replica->wrong = true;
		memcpy(word, m->data, sizeof(word));
		if (word[0] != m->sender || word[1] != m->index || m->incarnation != replica->incarnations[m->sender])
			replica->wrong = true;
		replica->grown = m->size > sizeof(*m);
	}
	replica->delivered += (unsigned)count;
}

static void see(const struct whorl_view *view, void *ctx)
{
	struct replica *replica = ctx;

	if (view->size < sizeof(*view) || view->members[view->rank] != replica->id)
		replica->wrong = true;
	for (uint32_t i = 0; i < view->member_count; i++)
		if (view->members[i] < NODES)
			replica->incarnations[view->members[i]] = view->incarnations[i];
	replica->views++;
}

static void *snapshot(const struct whorl_position *position, void *ctx)
{
	struct replica *replica = ctx;

	for (uint32_t i = 0; i < position->sender_count; i++) {
		const struct whorl_position_of *of = WHORL_AT(whorl_position_of, position->senders, i);

		if (of->size < sizeof(*of) || of->id >= NODES || of->incarnation != replica->incarnations[of->id] ||
		    of->next != (of->id < NODES - 1 ? MESSAGES : 0))
			replica->wrong = true;
	}
	if (position->size < sizeof(*position) || position->sender_count < NODES - 1)
		replica->wrong = true;
	return replica;
}

static ptrdiff_t read_nothing(void *state, void *bytes, size_t count, void *ctx)
{
	(void)state, (void)bytes, (void)count, (void)ctx;
	return 0;
}

static void release(void *state, void *ctx)
{
	(void)state, (void)ctx;
}

static bool restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	(void)step, (void)bytes, (void)ctx;
	return count == 0;
}

static void begin(whorl_config *config, struct replica *replica, whorl_node **node)
{
	struct whorl_state state = {sizeof(state), snapshot, read_nothing, release, restore, replica};
	struct whorl_open_options options = {.size = sizeof(options)};
	whorl_subgroup *work;

	if (whorl_open(config, replica->id, &options, node) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	work = whorl_subgroup_find(*node, "work");
	if (whorl_on_batch(work, deliver, replica) != WHORL_OK || whorl_on_state(work, &state) != WHORL_OK ||
	    whorl_on_view(*node, see, replica) != WHORL_OK || whorl_start(*node) != WHORL_OK)
		errx(1, "node %u: %s", replica->id, whorl_invalid_text());
}

static void send_all(whorl_node *node, uint32_t id)
{
	struct whorl_claim claim;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		const uint32_t word[2] = {id, i};

		if (whorl_claim_wait(whorl_subgroup_find(node, "work"), sizeof(word), 10000, &claim) != WHORL_OK)
			errx(1, "claim");
		memcpy(claim.data, word, sizeof(word));
		if (whorl_commit(&claim, sizeof(word)) != WHORL_OK)
			errx(1, "commit");
	}
}

/* All of a node's status: each array has what this program knows. */
static void ask(const char *group, const struct replica *replica)
{
	struct whorl_status *status;
	char why[256];

	if (whorl_status_get(group, 0, 5000, &status, why, sizeof(why)) != WHORL_OK)
		errx(1, "%s", why);
	if (status->size < sizeof(*status) || status->member_count != NODES || status->shard_count != 2)
		errx(1, "the status of the node is not there");
	for (uint32_t i = 0; i < NODES; i++) {
		const struct whorl_status_member *member = WHORL_AT(whorl_status_member, status->members, i);

		if (member->size < sizeof(*member) || member->id != i ||
		    member->incarnation != replica->incarnations[i])
			errx(1, "member %u is not there", i);
	}
	for (uint32_t s = 0; s < 2; s++) {
		const struct whorl_status_shard *shard = WHORL_AT(whorl_status_shard, status->shards, s);

		if (strcmp(shard->name, s == 0 ? "work" : "idle") != 0 || shard->place_count != NODES ||
		    shard->stats->delivered != (s == 0 ? MESSAGES * (NODES - 1) : 0))
			errx(1, "shard %u is not there", s);
		for (uint32_t i = 0; i < NODES; i++)
			if (WHORL_AT(whorl_status_place, shard->places, i)->id != i)
				errx(1, "place %u is not there", i);
	}
	if (status->stats->views != replica->views)
		errx(1, "the statistics of the node are not there");
	whorl_status_free(status);
}

int main(void)
{
	static struct replica replicas[NODES];
	whorl_config *config = whorl_config_new();
	struct whorl_node_stats stats = {.size = sizeof(stats)};
	whorl_node *nodes[NODES];
	char group[32], text[256];

	alarm(60);
	snprintf(group, sizeof(group), "old-%d", (int)getpid());
	snprintf(text, sizeof(text),
		 "[group]\nname = %s\nnodes = %d\nnodes_max = %d\n[subgroup work]\n[subgroup idle]\n", group, NODES - 1,
		 NODES);
	if (whorl_config_load_text(config, "old", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	for (uint32_t id = 0; id < NODES - 1; id++) {
		replicas[id].id = id;
		begin(config, &replicas[id], &nodes[id]);
	}
	for (uint32_t id = 0; id < NODES - 1; id++)
		if (whorl_ready(nodes[id], 10000) != WHORL_OK)
			errx(1, "node %u is not ready", id);
	for (uint32_t id = 0; id < NODES - 1; id++)
		send_all(nodes[id], id);
	for (uint32_t id = 0; id < NODES - 1; id++)
		while (replicas[id].delivered < MESSAGES * (NODES - 1))
			usleep(1000);
	replicas[NODES - 1].id = NODES - 1;
	begin(config, &replicas[NODES - 1], &nodes[NODES - 1]); /* it joins, and is given a snapshot */
	if (whorl_ready(nodes[NODES - 1], 10000) != WHORL_OK)
		errx(1, "the newcomer is not ready");
	while (replicas[0].views < 2 || replicas[NODES - 1].views < 1)
		usleep(1000);
	ask(group, &replicas[0]);
	if (whorl_node_statistics(nodes[0], &stats) != WHORL_OK || stats.views != replicas[0].views)
		errx(1, "the statistics are wrong");
	for (uint32_t id = 0; id < NODES; id++) {
		whorl_close(nodes[id], 5000);
		if (replicas[id].wrong)
			errx(1, "node %u has seen what is not so", id);
	}
	whorl_config_free(config);
	puts(replicas[0].grown ? "grown" : "the same");
	return 0;
}
