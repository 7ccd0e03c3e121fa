/* hello.c - two nodes in one process, a message from each, delivered by both in the same order. */
#include <err.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
#include <whorl/whorl.h>

static sem_t delivered;

static void print_message(const struct whorl_message *m, void *me)
{
	printf("node %u delivers from %u: %.*s\n", whorl_node_id(me), m->sender, (int)m->bytes, (const char *)m->data);
	sem_post(&delivered);
}

static void exit_unless_ok(const whorl_node *node, const char *what, enum whorl_result result)
{
	char how_far[256];

	if (result == WHORL_OK)
		return;
	whorl_progress(node, how_far, sizeof(how_far));
	errx(1, "%s: %s (node %u %s)", what, whorl_result_text(result), whorl_node_id(node), how_far);
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	whorl_subgroup *talk[2];
	whorl_node *nodes[2];

	sem_init(&delivered, 0, 0);
	alarm(20); /* should anything stand still */
	if (whorl_config_load_text(config, "hello", "[group]\nname = hello\nnodes = 2\n[subgroup talk]\n") != WHORL_OK ||
	    whorl_open(config, 0, NULL, &nodes[0]) != WHORL_OK || whorl_open(config, 1, NULL, &nodes[1]) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	for (int i = 0; i < 2; i++) {
		if ((talk[i] = whorl_subgroup_find(nodes[i], "talk")) == NULL)
			errx(1, "node %d has no subgroup talk", i);
		exit_unless_ok(nodes[i], "upcall", whorl_on_message(talk[i], print_message, nodes[i]));
		exit_unless_ok(nodes[i], "start", whorl_start(nodes[i]));
	}
	for (int i = 0; i < 2; i++) /* until both have met, and are a group */
		exit_unless_ok(nodes[i], "ready", whorl_ready(nodes[i], 5000));
	for (int i = 0; i < 2; i++)
		exit_unless_ok(nodes[i], "send", whorl_send(talk[i], "hello", 5, 1000, NULL));
	for (int i = 0; i < 4; i++) /* two messages at each of two nodes */
		sem_wait(&delivered);
	for (int i = 0; i < 2; i++)
		if (whorl_close(nodes[i], 1000) != WHORL_OK) /* the node is gone in any case */
			errx(1, "close: not everything was delivered");
	whorl_config_free(config);
	return 0;
}
