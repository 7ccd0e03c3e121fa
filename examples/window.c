/* window.c - a program with an epoll loop of its own that sends more than the window holds: it sleeps until there is room.
 *
 * The nodes have threads of their own. The program waits for a timer, which makes work in bursts, and for the window of its subgroup.
 * The window's descriptor stays in epoll all the time: it says *room* once for each time that the program has armed it, and nothing
 * while there is room and nothing to send. The program counts how often it was woken for that.
 */
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 2
#define BURSTS 20
#define BURST 100 /* messages, to a window of 8 */

struct sender {
	whorl_subgroup *subgroup;
	unsigned queued, sent; /* messages */
	unsigned arms, wakes;
	bool armed; /* the descriptor will say that there is room */
};

/* Sends what there is room for; if something is left, asks to be told of room. It never waits. */
static void send_what_goes(struct sender *s)
{
	while (s->queued > 0 && !s->armed) {
		enum whorl_result result = whorl_send(s->subgroup, &s->sent, sizeof(s->sent), 0, NULL);

		if (result == WHORL_OK) {
			s->queued--;
			s->sent++;
		} else if (result != WHORL_AGAIN) {
			errx(1, "send: %s", whorl_result_text(result));
		} else if (whorl_window_arm(s->subgroup) == WHORL_AGAIN) { /* else there is room by now */
			s->armed = true;
			s->arms++;
		}
	}
}

static void watch_fd(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		err(1, "epoll_ctl");
}

static void run_sender(struct sender *s)
{
	const struct itimerspec every_5_ms = {{0, 5000000}, {0, 5000000}};
	int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int window = whorl_window_fd(s->subgroup);

	watch_fd(epoll, timer);
	watch_fd(epoll, window);
	timerfd_settime(timer, 0, &every_5_ms, NULL);
	for (unsigned bursts = 0; bursts < BURSTS || s->queued > 0;) {
		struct epoll_event event;
		uint64_t count;

		if (epoll_wait(epoll, &event, 1, 10000) != 1)
			errx(1, "nothing happens any more");
		if (event.data.fd == window) {
			s->wakes++;
			if (read(window, &count, sizeof(count)) == sizeof(count)) /* it has been said, and is silent */
				s->armed = false;
		} else if (read(timer, &count, sizeof(count)) == sizeof(count) && bursts < BURSTS) {
			bursts++;
			s->queued += BURST;
		}
		send_what_goes(s);
	}
	close(timer);
	close(epoll);
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	whorl_node *nodes[NODES];
	struct sender sender = {0};
	char text[256];

	alarm(30); /* should anything stand still */
	snprintf(text, sizeof(text), "[group]\nname = window-%d\nnodes = %d\n[subgroup work]\nwindow = 8\n",
		 (int)getpid(), NODES);
	if (whorl_config_load_text(config, "window", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_open(config, id, NULL, &nodes[id]) != WHORL_OK || whorl_start(nodes[id]) != WHORL_OK)
			errx(1, "node %u: %s", id, whorl_config_error(config));
	sender.subgroup = whorl_subgroup_find(nodes[0], "work");
	if (sender.subgroup == NULL || whorl_ready(nodes[0], 10000) != WHORL_OK)
		errx(1, "node 0 is not ready");
	run_sender(&sender);
	printf("%u messages sent; the window was armed %u times, and woke the program %u times\n", sender.sent,
	       sender.arms, sender.wakes);
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_close(nodes[id], 5000) != WHORL_OK)
			errx(1, "node %u does not close", id);
	whorl_config_free(config);
	return sender.wakes != sender.arms;
}
