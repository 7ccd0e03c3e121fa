/* lane_processes.c - lanes between processes, on shared memory and on tcp: one is killed, and comes again as another life. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "tests/harness.h"
#include "tests/patience.h"
#include "transport/remote.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"

#define LANE 1
#define NAME UINT64_C(5)
#define LIVES 4
#define STEPS ((int)test_patience(30000))

static const struct {
	const char *name;
	wh_transport_create *create;
} transports[] = {{"shm", wh_shm_create}, {"tcp", wh_tcp_create}};

struct side { /* a node, and its lane */
	struct wh_transport *node, *lane;
	uint32_t met, left, down, granted, done;
	uint64_t incarnation; /* of the last that was met */
};

static bool open_side(struct side *s, int transport, const char *group, uint32_t node, uint64_t incarnation)
{
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = group,
						   .node = node,
						   .nodes = 2,
						   .incarnation = incarnation,
						   .patience_ns = WH_NS_PER_S};
	struct wh_error err = {.text = ""};

	*s = (struct side){0};
	if (transports[transport].create(&config, NULL, &s->node, &err) == WHORL_OK &&
	    s->node->ops->lane_open(s->node, LANE, &s->lane, &err) == WHORL_OK)
		return true;
	fprintf(stderr, "%s\n", err.text);
	return false;
}

static void drive(struct wh_transport *t)
{
	if (t->ops->take != NULL)
		(void)t->ops->take(t);
	if (t->ops->flush != NULL)
		t->ops->flush(t);
	(void)t->ops->service(t);
}

static void step(struct side *s)
{
	static struct wh_transport_event event;
	struct wh_remote_event remote;

	drive(s->node);
	while (s->node->ops->next_event(s->node, &event))
		;
	drive(s->lane);
	while (s->lane->ops->next_event(s->lane, &event)) {
		s->met += event.kind == WH_EVENT_PEER_MET;
		s->left += event.kind == WH_EVENT_PEER_LEFT;
		s->down += event.kind == WH_EVENT_PEER_DOWN;
		if (event.kind == WH_EVENT_PEER_MET)
			s->incarnation = event.incarnation;
	}
	while (s->lane->ops->remote->next(s->lane, &remote)) {
		s->granted += remote.kind == WH_REMOTE_GRANTED;
		s->done += remote.kind == WH_REMOTE_DONE && remote.result == WHORL_OK;
	}
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

#define SIDE_UNTIL(s, condition)                                                                                       \
	do {                                                                                                           \
		for (int steps_ = 0; steps_ < STEPS && !(condition); steps_++)                                         \
			step(s);                                                                                       \
		ck_assert_msg(condition, "never: %s", #condition);                                                     \
	} while (0)

/* Node 1: adds to the region of node 0 as soon as it may, and stays until it is killed, or told to go. */
static int be_node_1(int transport, const char *group, uint64_t incarnation, int go)
{
	const struct wh_remote_op op = {.kind = WH_REMOTE_FETCH_ADD, .node = 0, .region = NAME, .add = 1};
	struct side s;
	size_t posted;
	char word;

	if (!open_side(&s, transport, group, 1, incarnation))
		return 1;
	for (int k = 0; k < STEPS && s.granted == 0; k++)
		step(&s);
	if (s.lane->ops->remote->post(s.lane, &op, 1, &posted) != WHORL_OK)
		return 2;
	for (int k = 0; k < STEPS && read(go, &word, 1) != 1; k++)
		step(&s);
	s.lane->ops->leave(s.lane);
	s.node->ops->leave(s.node);
	s.lane->ops->destroy(s.lane, false);
	s.node->ops->destroy(s.node, false);
	return 0;
}

static void meet_life(struct side *s, struct wh_region *region, uint64_t life)
{
	SIDE_UNTIL(s, s->met == life);
	ck_assert_uint_eq(s->incarnation, 100 + life);
	SIDE_UNTIL(s, region->ops->grant(region, 1) == WHORL_OK);
	SIDE_UNTIL(s, wh_load_acquire(&region->words[0]) == life);
}

TEST_CASE("lives", .timeout_s = 60);

TEST_LOOP(a_node_that_is_killed_comes_back_on_its_lane, 0, 2)
{
	int go[2], status, transport = _i;
	struct wh_region *region;
	struct wh_error err;
	char group[40];
	struct side s;

	snprintf(group, sizeof(group), "lane-processes-%s-%d", transports[transport].name, (int)getpid());
	ck_assert_int_eq(pipe2(go, O_CLOEXEC | O_NONBLOCK), 0);
	for (uint64_t life = 1; life <= LIVES; life++) {
		pid_t child = fork();

		ck_assert_int_ge(child, 0);
		if (child == 0)
			_exit(be_node_1(transport, group, 100 + life, go[0]));
		if (life == 1) {
			ck_assert(open_side(&s, transport, group, 0, 7));
			ck_assert_int_eq(s.lane->ops->remote->region_open(s.lane, NAME, 64, &region, &err), WHORL_OK);
		}
		meet_life(&s, region, life);
		if (life < LIVES) {
			kill(child, SIGKILL);
			SIDE_UNTIL(&s, s.down == life);
		} else {
			ck_assert_int_eq(write(go[1], "g", 1), 1);
			SIDE_UNTIL(&s, s.left == 1);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(life < LIVES ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	s.lane->ops->destroy(s.lane, false);
	s.node->ops->destroy(s.node, false);
	close(go[0]);
	close(go[1]);
}

TEST_SUITE("lane-processes")

int main(void)
{
	return test_main(suite());
}
