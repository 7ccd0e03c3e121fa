/* remote.c - whorl-remote: how many one-sided writes (T7) a second two processes of one host make, over shm or tcp.
 *
 *     whorl-remote [--transport shm|tcp] [--bytes N] [--outstanding N] [--seconds N] [--lane] [--poll]
 *
 * Node 0 writes so many bytes at a time to a region of node 1, a process of its own, with so many writes under way at most. One that has nothing to do looks again some times, and sleeps then; with --poll it never does. It prints
 * what it did, writes a second, bytes a second, and what a write has cost each of the two of the processor. With --lane the two use lane 1 of each node, and not the nodes' own endpoints.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "transport/remote.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"

#define NAME UINT64_C(1)
#define REGION_BYTES (UINT64_C(1) << 20)
#define MEETING_NS (20 * WH_NS_PER_S)
#define PASSES 64 /* between two looks at the clock */

struct plan {
	wh_transport_create *create;
	const char *transport;
	uint64_t bytes, seconds;
	uint32_t outstanding;
	bool lane, polls;
	char group[48];
};

struct end {
	struct wh_transport *node;
	struct wh_transport *transport; /* the node itself, or its lane */
	bool met, gone;
	uint64_t region; /* of the other; 0: none yet */
	uint64_t posted, done;
	int idle; /* passes that found nothing */
	bool polls;
};

static void fail(const char *what)
{
	fprintf(stderr, "whorl-remote: %s\n", what);
	exit(EXIT_FAILURE);
}

static uint64_t now_ns(void)
{
	return wh_env_now(wh_env_system());
}

static void open_end(struct end *end, const struct plan *plan, uint32_t node)
{
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = plan->group,
						   .node = node,
						   .nodes = 2,
						   .incarnation = 1 + node,
						   .patience_ns = WH_NS_PER_S};
	struct wh_error err;

	*end = (struct end){.polls = plan->polls};
	if (plan->create(&config, NULL, &end->node, &err) != WHORL_OK)
		fail(err.text);
	end->transport = end->node;
	if (plan->lane && end->node->ops->lane_open(end->node, 1, &end->transport, &err) != WHORL_OK)
		fail(err.text);
}

static void close_end(struct end *end)
{
	if (end->transport != end->node)
		end->transport->ops->destroy(end->transport, false);
	end->node->ops->destroy(end->node, false);
}

static void take_events(struct end *end, struct wh_transport *t)
{
	static struct wh_transport_event event;

	(void)t->ops->service(t);
	while (t->ops->next_event(t, &event)) {
		if (t != end->transport)
			continue;
		end->met = end->met || event.kind == WH_EVENT_PEER_MET;
		end->gone = end->gone || event.kind == WH_EVENT_PEER_DOWN || event.kind == WH_EVENT_PEER_LEFT;
	}
}

/* What is not the fast path. */
static void serve(struct end *end)
{
	take_events(end, end->node);
	if (end->transport != end->node)
		take_events(end, end->transport);
}

/* What has come; and what was posted leaves. True: something has come. */
static bool look(struct end *end)
{
	struct wh_transport *t = end->transport;
	struct wh_remote_event event;
	bool found = t->ops->take != NULL && t->ops->take(t) > 0;

	for (; t->ops->remote->next(t, &event); found = true) {
		if (event.kind == WH_REMOTE_GRANTED)
			end->region = event.region;
		else if (event.kind == WH_REMOTE_DONE)
			end->done++;
	}
	if (t->ops->flush != NULL)
		t->ops->flush(t);
	return found;
}

static void pass(struct end *end)
{
	struct wh_transport *t = end->transport;

	end->idle = look(end) ? 0 : end->idle + 1;
	if (end->idle < PASSES || end->polls)
		return;
	t->ops->arm(t);
	if (look(end))
		t->ops->disarm(t);
	else
		t->ops->wait(t, WH_NS_PER_MS);
	end->idle = 0;
}

/* Until it is killed, or the other has gone, or its process, which has started this one. */
static void be_target(const struct plan *plan, pid_t other)
{
	struct wh_region *region;
	struct wh_error err;
	bool granted = false;
	struct end end;

	open_end(&end, plan, 1);
	if (end.transport->ops->remote->region_open(end.transport, NAME, REGION_BYTES, &region, &err) != WHORL_OK)
		fail(err.text);
	while (!end.gone && getppid() == other) {
		serve(&end);
		granted = granted || (end.met && region->ops->grant(region, 0) == WHORL_OK);
		for (int k = 0; k < PASSES; k++)
			pass(&end);
	}
	close_end(&end);
}

static void wait_for_grant(struct end *end)
{
	uint64_t until = now_ns() + MEETING_NS;

	while (end->region == 0) {
		serve(end);
		pass(end);
		if (now_ns() > until)
			fail("the two have not met");
	}
}

/* Returns how many writes were done in that time. */
static uint64_t write_for(struct end *end, const struct plan *plan, uint64_t ns)
{
	static const uint64_t from[WH_REMOTE_BYTES_MAX / 8] = {1, 2, 3};
	struct wh_remote_op op = {
		.kind = WH_REMOTE_WRITE, .node = 1, .region = end->region, .bytes = plan->bytes, .from = from};
	uint64_t until = now_ns() + ns, begin = end->done;

	while (now_ns() < until && !end->gone) {
		for (int k = 0; k < PASSES; k++) {
			struct wh_remote_op ops[WH_REMOTE_OUTSTANDING];
			size_t count = 0, taken = 0;

			for (; end->posted + count - end->done < plan->outstanding; count++) {
				op.offset = (end->posted + count) * WH_REMOTE_BYTES_MAX % REGION_BYTES;
				ops[count] = op;
			}
			if (count > 0)
				(void)end->transport->ops->remote->post(end->transport, ops, count, &taken);
			end->posted += taken;
			pass(end);
		}
		serve(end);
	}
	return end->done - begin;
}

/* Of the processor, of this process or of the child that has ended. */
static double used_us(int whose)
{
	struct rusage used;

	(void)getrusage(whose, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void measure(const struct plan *plan, pid_t child)
{
	double seconds, used, used_there;
	uint64_t writes, begin;
	struct end end;

	open_end(&end, plan, 0);
	wait_for_grant(&end);
	(void)write_for(&end, plan, WH_NS_PER_S / 10); /* until it is warm */
	used = used_us(RUSAGE_SELF);
	begin = now_ns();
	writes = write_for(&end, plan, plan->seconds * WH_NS_PER_S);
	seconds = (double)(now_ns() - begin) / WH_NS_PER_S;
	used = used_us(RUSAGE_SELF) - used;
	if (end.gone || writes == 0)
		fail("the other has gone");
	kill(child, SIGTERM);
	(void)waitpid(child, NULL, 0);
	used_there = used_us(RUSAGE_CHILDREN);
	printf("%s%s bytes=%llu outstanding=%u writes/s=%.0f GB/s=%.3f processor_us=%.2f+%.2f\n", plan->transport,
	       plan->lane ? " lane" : "", (unsigned long long)plan->bytes, (unsigned)plan->outstanding,
	       (double)writes / seconds, (double)writes * (double)plan->bytes / seconds / 1e9, used / (double)writes,
	       used_there / (double)end.done);
	close_end(&end);
}

static uint64_t number_of(const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (*end != '\0' || number < least || number > most) {
		fprintf(stderr, "whorl-remote: %s: a number from %llu to %llu is expected\n", text,
			(unsigned long long)least, (unsigned long long)most);
		exit(2);
	}
	return number;
}

static void take_option(struct plan *plan, int option)
{
	switch (option) {
	case 't':
		plan->transport = optarg;
		plan->create = strcmp(optarg, "shm") == 0 ? wh_shm_create : wh_tcp_create;
		if (strcmp(optarg, "shm") != 0 && strcmp(optarg, "tcp") != 0)
			exit((fprintf(stderr, "whorl-remote: --transport %s: shm or tcp is expected\n", optarg), 2));
		return;
	case 'b':
		plan->bytes = number_of(optarg, 8, WH_REMOTE_BYTES_MAX) & ~UINT64_C(7);
		return;
	case 'o':
		plan->outstanding = (uint32_t)number_of(optarg, 1, WH_REMOTE_OUTSTANDING);
		return;
	case 's':
		plan->seconds = number_of(optarg, 1, 3600);
		return;
	case 'l':
		plan->lane = true;
		return;
	case 'p':
		plan->polls = true;
		return;
	default:
		fprintf(stderr, "usage: whorl-remote [--transport shm|tcp] [--bytes N] [--outstanding N] [--seconds N] "
				"[--lane] [--poll]\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"transport", required_argument, NULL, 't'},
						{"bytes", required_argument, NULL, 'b'},
						{"outstanding", required_argument, NULL, 'o'},
						{"seconds", required_argument, NULL, 's'},
						{"lane", no_argument, NULL, 'l'},
						{"poll", no_argument, NULL, 'p'},
						{0}};
	struct plan plan = {.create = wh_tcp_create, .transport = "tcp", .bytes = 4096, .seconds = 2, .outstanding = 64};
	pid_t me = getpid(), child;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		take_option(&plan, option);
	snprintf(plan.group, sizeof(plan.group), "whorl-remote-%d", (int)me);
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		be_target(&plan, me);
		_exit(0);
	}
	measure(&plan, child);
	return EXIT_SUCCESS;
}
