/* epoll.c - a node inside a program that has an epoll loop of its own: thread = caller, no thread is made.
 *
 * The program waits for a timer and for two nodes of one group. At each tick of the timer node 0 sends a message; both
 * deliver it. The order of things in the loop is the point: step until there is nothing to do, arm, and sleep only if
 * arming found nothing either.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 2
#define TICKS 5
#define STEPS_AT_ONCE 100 /* a busy group must not starve the timer */

static unsigned deliveries;

static void print_message(const struct whorl_message *message, void *ctx)
{
	printf("node %u delivers \"%.*s\"\n", whorl_node_id(ctx), (int)message->bytes, (const char *)message->data);
	deliveries++;
}

static int send_tick(int timer, whorl_subgroup *subgroup)
{
	static unsigned long ticks;
	struct whorl_claim claim;
	uint64_t expired;

	if (read(timer, &expired, sizeof(expired)) != sizeof(expired) || ticks == TICKS)
		return 0;
	/* Never waits: if the window is full, this tick is dropped. (window.c waits for room.) */
	if (whorl_claim(subgroup, 32, &claim) == WHORL_OK)
		return whorl_commit(&claim, (size_t)snprintf(claim.data, 32, "tick %lu", ++ticks)) != WHORL_OK;
	return 0;
}

/* True if all nodes sleep with their doorbells armed. */
static int nothing_to_do(whorl_node *nodes[])
{
	int idle = 1;

	for (unsigned id = 0; id < NODES; id++) {
		for (int i = 0; i < STEPS_AT_ONCE && whorl_step(nodes[id]) > 0; i++)
			;
		idle &= whorl_arm(nodes[id]) == 0;
	}
	return idle;
}

static int watch_fd(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static int run_loop(whorl_node *nodes[], int epoll, int timer)
{
	struct epoll_event events[NODES + 1];

	while (deliveries < NODES * TICKS) {
		char text[256];
		int n;

		if (whorl_error(nodes[0], text, sizeof(text)) != WHORL_OK)
			return fprintf(stderr, "epoll: %s\n", text), 1;
		n = epoll_wait(epoll, events, NODES + 1, nothing_to_do(nodes) ? -1 : 0);
		for (int i = 0; i < n; i++) /* readable nodes are stepped anyway */
			if (events[i].data.fd == timer && send_tick(timer, whorl_subgroup_find(nodes[0], "ticks")) != 0)
				return 1;
	}
	return 0;
}

int main(void)
{
	const struct itimerspec every_20_ms = {{0, 20000000}, {0, 20000000}};
	int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	whorl_config *config = whorl_config_new();
	whorl_node *nodes[NODES];
	char text[256];
	int failed;

	alarm(20); /* should anything stand still */
	snprintf(text, sizeof(text),
		 "[group]\nname = epoll-%d\nnodes = %d\n[subgroup ticks]\n[engine]\nthread = caller\n", (int)getpid(),
		 NODES);
	if (config == NULL || whorl_config_load_text(config, "epoll", text) != WHORL_OK)
		return fprintf(stderr, "epoll: it cannot begin\n"), 1;
	for (unsigned id = 0; id < NODES; id++) {
		if (whorl_open(config, id, NULL, &nodes[id]) != WHORL_OK)
			return fprintf(stderr, "epoll: %s\n", whorl_config_error(config)), 1;
		whorl_on_message(whorl_subgroup_find(nodes[id], "ticks"), print_message, nodes[id]);
		if (whorl_start(nodes[id]) != WHORL_OK || watch_fd(epoll, whorl_fd(nodes[id])) != 0)
			return fprintf(stderr, "epoll: node %u does not start\n", id), 1;
	}
	timerfd_settime(timer, 0, &every_20_ms, NULL);
	failed = watch_fd(epoll, timer) != 0 || run_loop(nodes, epoll, timer);
	for (unsigned id = 0; id < NODES; id++)
		whorl_close(nodes[id], 0); /* all is delivered: nothing to drain */
	whorl_config_free(config);
	return failed;
}
