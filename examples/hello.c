/* hello.c - two nodes in one process, a message from each, delivered by both in the same order. */
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
#include <whorl/whorl.h>

static sem_t delivered;

static void deliver(const struct whorl_message *m, void *me)
{
	printf("node %u delivers from %u: %.*s\n", whorl_node_id(me), m->sender, (int)m->bytes, (const char *)m->data);
	sem_post(&delivered);
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	whorl_node *nodes[2];

	sem_init(&delivered, 0, 0);
	alarm(10); /* should anything stand still */
	if (whorl_config_load_text(config, "hello", "[group]\nname = hello\nnodes = 2\n[subgroup talk]\n") != WHORL_OK ||
	    whorl_open(config, 0, NULL, &nodes[0]) != WHORL_OK || whorl_open(config, 1, NULL, &nodes[1]) != WHORL_OK)
		return fprintf(stderr, "%s\n", whorl_config_error(config)), 1;
	for (int i = 0; i < 2; i++) {
		whorl_subgroup *talk = whorl_subgroup_find(nodes[i], "talk");

		whorl_on_message(talk, deliver, nodes[i]);
		if (whorl_start(nodes[i]) != WHORL_OK)
			return 1;
	}
	for (int i = 0; i < 2; i++) /* waits until both have met, and are a group */
		if (whorl_send(whorl_subgroup_find(nodes[i], "talk"), "hello", 5, 1000) != WHORL_OK)
			return 1;
	for (int i = 0; i < 4; i++) /* two messages at each of two nodes */
		sem_wait(&delivered);
	whorl_close(nodes[0], 1000);
	whorl_close(nodes[1], 1000);
	whorl_config_free(config);
	return 0;
}
