/* frontier.c - a program that keeps what it sends until all members have delivered it, and sends many messages at a time.
 *
 * It claims 16 slots in one step, fills them and commits them together. What it has sent stays in an outbox, from which another
 * program could send it again, until no member can lose it any more. It never waits in the library: it sleeps in poll until the
 * descriptor of its frontiers says that a message is delivered by all.
 */
#include <err.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 3
#define WINDOW 50
#define BATCH 16
#define MESSAGES 4000 /* a multiple of BATCH */

struct outbox {
	whorl_subgroup *subgroup;
	uint64_t sent, kept_from; /* messages: what lies between is kept */
	uint64_t most;
};

/* All of a batch or nothing. False: there is no room for all of it now. */
static int send_batch(struct outbox *box)
{
	struct whorl_claim claims[BATCH];
	enum whorl_result result = whorl_claim_many(box->subgroup, sizeof(uint64_t), BATCH, claims);

	if (result == WHORL_AGAIN)
		return 0;
	if (result != WHORL_OK)
		errx(1, "claim: %s", whorl_result_text(result));
	for (int i = 0; i < BATCH; i++)
		memcpy(claims[i].data, &claims[i].number, sizeof(uint64_t));
	result = whorl_commit_many(claims, BATCH, NULL);
	if (result != WHORL_OK)
		errx(1, "commit: %s", whorl_result_text(result));
	box->sent = claims[BATCH - 1].number + 1; /* indexes count from 0 */
	return 1;
}

/* Sleeps until all have delivered the message with that index. */
static void sleep_until_delivered(struct outbox *box, uint64_t index)
{
	struct pollfd frontier = {.fd = whorl_frontier_fd(box->subgroup), .events = POLLIN};
	enum whorl_result result = whorl_frontier_arm(box->subgroup, WHORL_DELIVERED_BY_ALL, index);
	uint64_t told;

	if (result == WHORL_OK) /* it is by now */
		return;
	if (result != WHORL_AGAIN)
		errx(1, "arm: %s", whorl_result_text(result));
	if (poll(&frontier, 1, 10000) != 1 || read(frontier.fd, &told, sizeof(told)) != sizeof(told))
		errx(1, "nothing happens any more");
}

/* What all have delivered need not be kept. The rest is never more than a window. */
static void forget_delivered(struct outbox *box)
{
	box->kept_from = whorl_frontier_get(box->subgroup, WHORL_DELIVERED_BY_ALL);
	if (box->sent - box->kept_from > box->most)
		box->most = box->sent - box->kept_from;
}

static void run(struct outbox *box)
{
	while (box->kept_from < MESSAGES) {
		while (box->sent < MESSAGES && send_batch(box))
			forget_delivered(box);
		/* Of the last message, or of that which makes room for the next batch. */
		sleep_until_delivered(box, box->sent < MESSAGES ? box->sent - 1 + BATCH - WINDOW : box->sent - 1);
		forget_delivered(box);
	}
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	struct outbox box = {0};
	whorl_node *nodes[NODES];
	char text[256];

	alarm(30); /* should anything stand still */
	snprintf(text, sizeof(text),
		 "[group]\nname = frontier-%d\nnodes = %d\n[subgroup work]\nsenders = 0\nwindow = %d\n", (int)getpid(),
		 NODES, WINDOW);
	if (whorl_config_load_text(config, "frontier", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_open(config, id, NULL, &nodes[id]) != WHORL_OK || whorl_start(nodes[id]) != WHORL_OK)
			errx(1, "node %u: %s", id, whorl_config_error(config));
	box.subgroup = whorl_subgroup_find(nodes[0], "work");
	if (box.subgroup == NULL || whorl_ready(nodes[0], 10000) != WHORL_OK)
		errx(1, "node 0 is not ready");
	run(&box);
	printf("%d messages are delivered by all; at most %d were kept\n", MESSAGES, (int)box.most);
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_close(nodes[id], 5000) != WHORL_OK)
			errx(1, "node %u does not close", id);
	whorl_config_free(config);
	return 0;
}
