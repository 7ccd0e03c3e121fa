/* standby.c - two processes on one host, of which one is killed: the other goes on alone, and loses nothing that it has been answered.
 *
 * The primary counts in messages, and says which numbers both have delivered. It is killed in the middle. Of two nodes one is no
 * majority, so on a network the standby would wait for ever (or need a tie-breaker): the primary may live behind a cut. On one host the
 * kernel proves that its process has ended, and the standby goes on from where the two were.
 */
#include <err.h>
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define KILLED_AFTER 1000
#define MORE 10

struct counter {
	sem_t alone;
	uint64_t number; /* of the last message: what the next one follows */
};

static void on_number(const struct whorl_message *message, void *ctx)
{
	struct counter *counter = ctx;

	memcpy(&counter->number, message->data, sizeof(counter->number));
}

static void on_view(const struct whorl_view *view, void *ctx)
{
	struct counter *counter = ctx;

	if (view->member_count == 1)
		sem_post(&counter->alone);
}

static whorl_node *open_node(whorl_config *config, unsigned id, struct counter *counter)
{
	whorl_node *node;

	alarm(30); /* should anything stand still */
	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	whorl_on_view(node, on_view, counter);
	whorl_on_message(whorl_subgroup_find(node, "count"), on_number, counter);
	if (whorl_start(node) != WHORL_OK || whorl_ready(node, 10000) != WHORL_OK)
		errx(1, "node %u is not ready", id);
	return node;
}

static void send_number(whorl_node *node, uint64_t number)
{
	enum whorl_result result = whorl_send(whorl_subgroup_find(node, "count"), &number, sizeof(number), 10000, NULL);

	if (result != WHORL_OK)
		errx(1, "send: %s", whorl_result_text(result));
}

/* Until it is killed. `answered`, which its clients would have, is memory of both. */
static void be_primary(whorl_config *config, uint64_t *answered)
{
	struct counter counter = {.number = 0};
	whorl_node *node = open_node(config, 0, &counter);
	whorl_subgroup *count = whorl_subgroup_find(node, "count");

	for (uint64_t number = 1;; number++) {
		send_number(node, number);
		*answered = whorl_frontier_get(count, WHORL_DELIVERED_BY_ALL); /* indexes begin at 0, numbers at 1 */
		if (*answered >= KILLED_AFTER)
			raise(SIGKILL);
	}
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	uint64_t *answered = mmap(NULL, sizeof(*answered), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct counter counter = {.number = 0};
	uint64_t taken_over;
	whorl_node *node;
	char text[128];

	snprintf(text, sizeof(text), "[group]\nname = standby-%d\nnodes = 2\n[subgroup count]\n", (int)getpid());
	if (answered == MAP_FAILED || whorl_config_load_text(config, "standby", text) != WHORL_OK)
		errx(1, "it cannot begin");
	sem_init(&counter.alone, 0, 0);
	if (fork() == 0)
		be_primary(config, answered);
	node = open_node(config, 1, &counter);
	while (sem_wait(&counter.alone) != 0)
		;
	wait(NULL);
	taken_over = counter.number;
	for (uint64_t number = taken_over + 1; number <= taken_over + MORE; number++)
		send_number(node, number);
	if (whorl_close(node, 5000) != WHORL_OK) /* all is delivered */
		errx(1, "close: not everything was delivered");
	printf("answered up to %" PRIu64 ", taken over at %" PRIu64 ", now at %" PRIu64 "\n", *answered, taken_over,
	       counter.number);
	whorl_config_free(config);
	return taken_over < *answered || counter.number != taken_over + MORE;
}
