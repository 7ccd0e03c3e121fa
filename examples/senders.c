/* senders.c - several threads of each node fill slots in place at the same time, and commit in any order.
 *
 * A claim is a piece of the ring that other nodes read: what is written there is not copied again. Threads need no
 * registration and no lock. Messages leave in the order of their claims, whichever thread commits first. Each message holds what
 * follows from its sender and number, so each node can check all that it delivers; and a digest of the sequence, equal
 * at all nodes, shows that the order was the same.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 2
#define THREADS 3        /* of each node */
#define MESSAGES 20000ul /* of each thread */
#define WORDS 32

struct receiver {
	atomic_ulong delivered, wrong;
	uint64_t digest;
};

static uint64_t make_word(uint32_t sender, uint64_t number, unsigned at)
{
	return ((uint64_t)sender << 56 | number << 8 | at) * UINT64_C(0x9e3779b97f4a7c15);
}

static void check_messages(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct receiver *receiver = ctx;

	for (size_t i = 0; i < count; i++) {
		const struct whorl_message *message = WHORL_AT(whorl_message, messages, i);
		const uint64_t *words = message->data;
		unsigned long wrong = message->bytes != WORDS * sizeof(*words);

		for (unsigned at = 0; at < WORDS && !wrong; at++)
			wrong = words[at] != make_word(message->sender, message->index, at);
		receiver->digest = receiver->digest * 31 + words[0];
		receiver->wrong += wrong;
	}
	receiver->delivered += count;
}

static void *send_messages(void *node)
{
	whorl_subgroup *subgroup = whorl_subgroup_find(node, "samples");

	for (unsigned long i = 0; i < MESSAGES; i++) {
		struct whorl_claim claim;
		uint64_t *words;

		if (whorl_claim_wait(subgroup, WORDS * sizeof(*words), 5000, &claim) != WHORL_OK)
			return "claim";
		words = claim.data;
		for (unsigned at = 0; at < WORDS; at++) /* in place, while the other threads fill their slots */
			words[at] = make_word(whorl_node_id(node), claim.number, at);
		if (whorl_commit(&claim, WORDS * sizeof(*words)) != WHORL_OK)
			return "commit";
	}
	return NULL;
}

/* Waits until every node has delivered everything. */
static int all_delivered(struct receiver *receivers)
{
	const struct timespec a_while = {0, 1000000};
	unsigned long missing = 1;

	for (int turns = 0; turns < 20000 && missing > 0; turns++) {
		missing = 0;
		for (int id = 0; id < NODES; id++)
			missing += NODES * THREADS * MESSAGES - receivers[id].delivered;
		if (missing > 0)
			nanosleep(&a_while, NULL);
	}
	return missing == 0;
}

static int send_and_check(whorl_node *nodes[], struct receiver *receivers)
{
	pthread_t threads[NODES * THREADS];
	int failed = 0;
	void *error;

	for (int i = 0; i < NODES * THREADS; i++)
		if (pthread_create(&threads[i], NULL, send_messages, nodes[i % NODES]) != 0)
			return fprintf(stderr, "senders: no thread\n"), 1;
	for (int i = 0; i < NODES * THREADS; i++) {
		pthread_join(threads[i], &error);
		if (error != NULL)
			failed = fprintf(stderr, "senders: %s failed\n", (char *)error);
	}
	if (failed || !all_delivered(receivers))
		return fprintf(stderr, "senders: not everything was delivered\n"), 1;
	for (int id = 0; id < NODES; id++) {
		printf("node %d: %lu messages, %lu wrong, digest %016llx\n", id, receivers[id].delivered,
		       receivers[id].wrong, (unsigned long long)receivers[id].digest);
		failed |= receivers[id].wrong != 0 || receivers[id].digest != receivers[0].digest;
	}
	return failed;
}

int main(void)
{
	static struct receiver receivers[NODES];
	whorl_config *config = whorl_config_new();
	whorl_node *nodes[NODES];
	char text[256];
	int failed;

	snprintf(text, sizeof(text),
		 "[group]\nname = senders-%d\nnodes = %d\n[subgroup samples]\nmessage_bytes = %zu\n", (int)getpid(),
		 NODES, WORDS * sizeof(uint64_t));
	if (config == NULL || whorl_config_load_text(config, "senders", text) != WHORL_OK)
		return fprintf(stderr, "senders: it cannot begin\n"), 1;
	for (unsigned id = 0; id < NODES; id++) {
		if (whorl_open(config, id, NULL, &nodes[id]) != WHORL_OK)
			return fprintf(stderr, "senders: %s\n", whorl_config_error(config)), 1;
		whorl_on_batch(whorl_subgroup_find(nodes[id], "samples"), check_messages, &receivers[id]);
		if (whorl_start(nodes[id]) != WHORL_OK)
			return fprintf(stderr, "senders: node %u does not start\n", id), 1;
	}
	failed = send_and_check(nodes, receivers);
	for (unsigned id = 0; id < NODES; id++)
		whorl_close(nodes[id], 1000);
	whorl_config_free(config);
	return failed;
}
