/* reader.c - a program that reads at its own pace: it takes what it has room for, and refuses the rest until there is more.
 *
 * The loop must not wait for slow work, so a thread does it. Between them is a short queue. When that is full the reader refuses: the
 * messages wait in the rings, and their sender waits for its window. The thread says when there is room again. Heartbeats and views go
 * on meanwhile, so no other node takes this one for dead; should it take nothing for ten seconds, it leaves (refuse_max_ms).
 */
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 2
#define ROOM 10
#define MESSAGES 500

struct reader {
	whorl_subgroup *subgroup;
	pthread_mutex_t lock;
	pthread_cond_t some;
	uint64_t queue[ROOM];
	uint64_t put, got; /* messages, so far */
	unsigned refusals;
};

/* On the loop: takes as many as there is room for. */
static size_t offer(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct reader *reader = ctx;
	size_t taken = 0;

	pthread_mutex_lock(&reader->lock);
	for (; taken < count && reader->put - reader->got < ROOM; taken++, reader->put++)
		memcpy(&reader->queue[reader->put % ROOM], WHORL_AT(whorl_message, messages, taken)->data,
		       sizeof(uint64_t));
	reader->refusals += taken < count;
	pthread_cond_signal(&reader->some);
	pthread_mutex_unlock(&reader->lock);
	return taken;
}

/* The slow work. First room, then the word that there is some. */
static void *work(void *argument)
{
	const struct timespec slow = {.tv_nsec = 100000};
	struct reader *reader = argument;

	for (uint64_t expected = 0; expected < MESSAGES; expected++) {
		uint64_t number;

		pthread_mutex_lock(&reader->lock);
		while (reader->put == reader->got)
			pthread_cond_wait(&reader->some, &reader->lock);
		number = reader->queue[reader->got++ % ROOM];
		pthread_mutex_unlock(&reader->lock);
		if (whorl_offer_again(reader->subgroup) != WHORL_OK)
			errx(1, "the node is gone");
		if (number != expected)
			errx(1, "message %d comes where %d was expected", (int)number, (int)expected);
		nanosleep(&slow, NULL);
	}
	return NULL;
}

int main(void)
{
	struct reader reader = {.lock = PTHREAD_MUTEX_INITIALIZER, .some = PTHREAD_COND_INITIALIZER};
	whorl_config *config = whorl_config_new();
	whorl_node *nodes[NODES];
	whorl_subgroup *sender;
	pthread_t worker;
	char text[256];

	alarm(30); /* should anything stand still */
	snprintf(
		text, sizeof(text),
		"[group]\nname = reader-%d\nnodes = %d\n[subgroup work]\nsenders = 0\nwindow = 20\nrefuse_max_ms = 10000\n",
		(int)getpid(), NODES);
	if (whorl_config_load_text(config, "reader", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_open(config, id, NULL, &nodes[id]) != WHORL_OK)
			errx(1, "node %u: %s", id, whorl_config_error(config));
	sender = whorl_subgroup_find(nodes[0], "work");
	reader.subgroup = whorl_subgroup_find(nodes[1], "work");
	if (whorl_on_offer(reader.subgroup, offer, &reader) != WHORL_OK)
		errx(1, "node 1 cannot read");
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_start(nodes[id]) != WHORL_OK)
			errx(1, "node %u does not start", id);
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_ready(nodes[id], 10000) != WHORL_OK)
			errx(1, "node %u is not ready", id);
	if (pthread_create(&worker, NULL, work, &reader) != 0)
		err(1, "no thread");
	for (uint64_t i = 0; i < MESSAGES; i++) /* waits where the reader does not keep up */
		if (whorl_send(sender, &i, sizeof(i), 10000, NULL) != WHORL_OK)
			errx(1, "message %d is not sent", (int)i);
	pthread_join(worker, NULL);
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_close(nodes[id], 5000) != WHORL_OK)
			errx(1, "node %u does not close", id);
	printf("%d messages read in order, with room for %d; refused %u times\n", MESSAGES, ROOM, reader.refusals);
	whorl_config_free(config);
	return 0;
}
