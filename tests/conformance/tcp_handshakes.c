/* tcp_handshakes.c - handshakes of TLS, which a worker does: node 0 goes on while its steps wait for a thread, or while one is under way,
 * and may end meanwhile. The test has the jobs of node 0, and stops OpenSSL in the middle of one: nothing here is a matter of time. */
#define WITH_KEY false
#define WITH_TLS true

#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/conformance/proofs.h"
#include "tests/harness.h"
#include "tests/patience.h"
#include "transport/secure/secure_int.h"
#include "transport/session/session_int.h"
#include "transport/tcp/tcp_int.h"

#define NODES 3
#define LONG_NS (100 * WH_NS_PER_S)

struct node {
	struct wh_transport *transport; /* NULL: it is not there */
	uint32_t met, controls;
	struct wh_stream *stream; /* the last that came */
};

static struct wh_world *world; /* of proofs_make: the group's name */
static struct proofs *proofs;
static struct node nodes[NODES];
static pthread_t loop; /* of all */
static int fds_before;

/* ---- jobs of node 0, and steps ---------------------------------------------------------------------------------------- */

static struct {
	enum { ON_THREADS, KEPT, AT_ONCE } how;
	void (*run)(void *argument); /* the one that is kept; one before it may not have ended yet, and does what comes */
	void *argument;
	uint32_t count;
} jobs;

static void submit(void *ctx, void (*run)(void *argument), void *argument)
{
	(void)ctx;
	jobs.count++;
	if (jobs.how == ON_THREADS) {
		wh_env_system()->submit(NULL, run, argument);
	} else if (jobs.how == AT_ONCE) {
		run(argument);
	} else {
		ck_assert(jobs.run == NULL);
		jobs.run = run;
		jobs.argument = argument;
	}
}

static void release_job(void)
{
	void (*run)(void *argument);

	run = jobs.run;
	jobs.run = NULL;
	jobs.how = ON_THREADS;
	if (run != NULL)
		submit(NULL, run, jobs.argument);
}

static struct {
	wh_word holds;  /* a step of node 0 goes no further, */
	wh_word inside; /* and one is there */
} gate;

static void wait_a_little(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* OpenSSL's, in each handshake of node 0. */
static void stop_at_gate(const SSL *ssl, int where, int value)
{
	(void)ssl, (void)where, (void)value;
	if (wh_load_acquire(&gate.holds) == 0)
		return;
	ck_assert_msg(!pthread_equal(pthread_self(), loop), "the loop shakes hands");
	wh_store_release(&gate.inside, 1);
	while (wh_load_acquire(&gate.holds) != 0)
		wait_a_little();
	wh_store_release(&gate.inside, 0);
}

static void *open_gate(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < 100; i++)
		wait_a_little();
	wh_store_release(&gate.holds, 0);
	return NULL;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static int count_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	ck_assert_ptr_nonnull(directory);
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

static void setup(void)
{
	world = calloc(1, sizeof(*world));
	ck_assert_ptr_nonnull(world);
	world->nodes = NODES;
	snprintf(world->group, sizeof(world->group), "handshakes-%016llx",
		 (unsigned long long)wh_env_system()->random_u64(NULL));
	proofs = proofs_make(world);
	loop = pthread_self();
	memset(&jobs, 0, sizeof(jobs));
	memset(nodes, 0, sizeof(nodes));
	memset(&gate, 0, sizeof(gate));
	SSL_CTX_set_info_callback(proofs->tls[0]->ctx, stop_at_gate);
	fds_before = count_fds();
}

static void start(uint32_t id)
{
	static struct wh_env env;
	struct wh_transport_config config = {.env = id == 0 ? &env : wh_env_system(),
					     .group = world->group,
					     .node = id,
					     .nodes = NODES,
					     .incarnation = 100 + id,
					     .tls = proofs->tls[id],
					     .patience_ns = WH_NS_PER_S};
	struct wh_error err;

	env = *wh_env_system();
	env.submit = submit;
	ck_assert_msg(wh_tcp_create(&config, NULL, &nodes[id].transport, &err) == WHORL_OK, "%s", err.text);
}

static void end(uint32_t id, bool forked)
{
	nodes[id].transport->ops->destroy(nodes[id].transport, forked);
	nodes[id].transport = NULL;
}

/* And nothing is left. */
static void end_all(void)
{
	for (uint32_t id = 0; id < NODES; id++) {
		if (nodes[id].transport != NULL)
			end(id, false);
		if (nodes[id].stream != NULL)
			nodes[id].stream->ops->close(nodes[id].stream);
	}
	ck_assert_int_eq(count_fds(), fds_before);
}

static void teardown(void)
{
	proofs_free(proofs, NODES);
	free(world);
}

static void take_event(struct node *n, const struct wh_transport_event *event)
{
	n->met += event->kind == WH_EVENT_PEER_MET;
	n->controls += event->kind == WH_EVENT_CONTROL;
	if (event->kind == WH_EVENT_STREAM)
		n->stream = event->stream;
}

static void take_events(struct node *n)
{
	static struct wh_transport_event event; /* large */

	while (n->transport->ops->next_event(n->transport, &event))
		take_event(n, &event);
}

static void pass(void)
{
	for (uint32_t id = 0; id < NODES; id++) {
		if (nodes[id].transport == NULL)
			continue;
		(void)nodes[id].transport->ops->service(nodes[id].transport);
		take_events(&nodes[id]);
	}
	wait_a_little();
}

#define PATIENCE ((int)test_patience(20000))
#define UNTIL(condition)                                                                                               \
	do {                                                                                                           \
		bool is_so_ = (condition);                                                                             \
		for (int passes_ = 0; passes_ < PATIENCE && !is_so_; passes_++) {                                      \
			pass();                                                                                        \
			is_so_ = (condition);                                                                          \
		}                                                                                                      \
		ck_assert_msg(is_so_, "never: %s", #condition);                                                        \
	} while (0)

static struct wh_session *session(void)
{
	return wh_tcp_of(nodes[0].transport)->base.session;
}

static bool has_met(uint32_t peer)
{
	return wh_session_peer(session(), peer)->state == WH_PEER_MET;
}

/* A connection of node 0 with a step that waits or is under way. */
static struct wh_conn *working(bool called)
{
	for (uint32_t slot = 0; slot < wh_session_slots(session()); slot++) {
		struct wh_conn *c = wh_session_conn(session(), slot);

		if (c != NULL && c->working_ns != 0 && c->called == called)
			return c;
	}
	return NULL;
}

static uint32_t connections(void)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < wh_session_slots(session()); slot++)
		count += wh_session_conn(session(), slot) != NULL;
	return count;
}

/* Messages go to and fro between node 0 and node 2. */
static void talk(void)
{
	for (uint32_t k = 1; k <= 10; k++) {
		ck_assert_int_eq(nodes[0].transport->ops->control_send(nodes[0].transport, 2, "x", 1), WHORL_OK);
		UNTIL(nodes[2].controls == k);
		ck_assert_int_eq(nodes[2].transport->ops->control_send(nodes[2].transport, 0, "x", 1), WHORL_OK);
		UNTIL(nodes[0].controls == k);
	}
}

static void start_two(void)
{
	start(0);
	start(2);
	UNTIL(nodes[0].met == 1 && nodes[2].met == 1);
}

/* ---- steps that wait for a thread -------------------------------------------------------------------------------------- */

/* It is not the stranger's time, however long it takes. */
START_TEST(the_loop_goes_on)
{
	const struct wh_conn *c = NULL;

	start_two();
	jobs.how = KEPT;
	start(1);
	UNTIL(jobs.run != NULL && (c = working(false)) != NULL);
	wh_session_door_tick(session(), wh_env_now(wh_env_system()) + LONG_NS);
	ck_assert_ptr_eq(working(false), c);
	talk();
	ck_assert(!has_met(1));
	release_job();
	UNTIL(has_met(1) && nodes[1].met == 2);
	end_all();
}
END_TEST

/* Nor that of a node which is called. */
START_TEST(a_call_of_its_own_waits)
{
	const struct wh_conn *c = NULL;

	start(1);
	jobs.how = KEPT;
	start(0);
	UNTIL(jobs.run != NULL && (c = working(true)) != NULL);
	wh_session_call_absent(session(), wh_env_now(wh_env_system()) + LONG_NS);
	ck_assert_ptr_eq(working(true), c);
	release_job();
	UNTIL(has_met(1) && nodes[1].met == 1);
	end_all();
}
END_TEST

/* The job comes when all is closed: it finds nothing. */
START_TEST(what_waits_ends_with_the_node)
{
	start_two();
	jobs.how = KEPT;
	start(1);
	UNTIL(jobs.run != NULL && working(false) != NULL);
	nodes[0].transport->ops->leave(nodes[0].transport);
	ck_assert_ptr_null(working(false));
	release_job();
	end(0, false);
	end_all();
}
END_TEST

START_TEST(without_threads_all_is_done_at_once)
{
	jobs.how = AT_ONCE;
	for (uint32_t id = 0; id < NODES; id++)
		start(id);
	for (uint32_t id = 0; id < NODES; id++)
		UNTIL(nodes[id].met == NODES - 1);
	ck_assert_uint_gt(jobs.count, 0);
	end_all();
}
END_TEST

/* What is done waits for room for events. */
START_TEST(what_is_done_finds_no_room)
{
	struct wh_event_queue *events;

	start_two();
	jobs.how = KEPT;
	start(1);
	UNTIL(jobs.run != NULL && working(false) != NULL);
	events = wh_session_events(session());
	while (!wh_event_queue_is_full(events))
		wh_event_queue_event(events, WH_EVENT_CONTROL, 2, 102, "x", 1);
	jobs.run(jobs.argument);
	jobs.run = NULL;
	for (int k = 0; k < 3; k++)
		(void)nodes[0].transport->ops->service(nodes[0].transport);
	ck_assert_ptr_nonnull(working(false));
	take_events(&nodes[0]);
	(void)nodes[0].transport->ops->service(nodes[0].transport);
	ck_assert_ptr_null(working(false));
	jobs.how = ON_THREADS;
	UNTIL(has_met(1) && nodes[1].met == 2);
	end_all();
}
END_TEST

/* ---- steps that are under way ------------------------------------------------------------------------------------------- */

/* One that is let go of while it is under way is closed when it ends. */
START_TEST(the_node_ends_meanwhile)
{
	pthread_t opener;

	start_two();
	wh_store_release(&gate.holds, 1);
	start(1);
	UNTIL(wh_load_acquire(&gate.inside) != 0);
	talk();
	if (_i == 0) {
		nodes[0].transport->ops->leave(nodes[0].transport);
		ck_assert_uint_eq(connections(), 1);
	}
	ck_assert_int_eq(pthread_create(&opener, NULL, open_gate, NULL), 0);
	end(0, _i == 2); /* 2: as a process that is killed */
	ck_assert_uint_eq(wh_load_acquire(&gate.inside), 0);
	pthread_join(opener, NULL);
	end_all();
}
END_TEST

/* ---- streams ------------------------------------------------------------------------------------------------------------ */

static struct wh_stream *open_stream(void)
{
	struct wh_stream *stream;

	ck_assert_int_eq(nodes[0].transport->ops->stream_open(nodes[0].transport, 2, 5, &stream), WHORL_OK);
	return stream;
}

static const struct wh_tcp_stream *beginning(void)
{
	return wh_tcp_of(nodes[0].transport)->wire->streams[0];
}

/* A stream's handshake waits like others; its owner may close it meanwhile. */
START_TEST(a_stream_waits)
{
	struct wh_tcp_wire *w;
	struct wh_stream *stream;
	char byte = 0;

	start_two();
	w = wh_tcp_of(nodes[0].transport)->wire;
	jobs.how = KEPT;
	stream = open_stream();
	UNTIL(jobs.run != NULL);
	wh_tcp_stream_tick(w, wh_env_now(wh_env_system()) + LONG_NS);
	ck_assert_ptr_nonnull(beginning());
	talk();
	if (_i == 1)
		stream->ops->close(stream);
	else
		ck_assert_int_eq(stream->ops->write(stream, "y", 1), 1);
	release_job();
	UNTIL(beginning() == NULL && nodes[2].stream != NULL);
	UNTIL(nodes[2].stream->ops->read(nodes[2].stream, &byte, 1) != 0);
	ck_assert_int_eq(byte, _i == 1 ? 0 : 'y');
	if (_i == 0)
		stream->ops->close(stream);
	end_all();
}
END_TEST

/* The node ends while a stream's step is under way; then its owner closes it. */
START_TEST(a_stream_outlives_the_node)
{
	struct wh_stream *stream;
	pthread_t opener;

	start_two();
	wh_store_release(&gate.holds, 1);
	stream = open_stream();
	UNTIL(wh_load_acquire(&gate.inside) != 0);
	ck_assert_int_eq(pthread_create(&opener, NULL, open_gate, NULL), 0);
	end(0, false);
	ck_assert_int_eq(stream->ops->write(stream, "y", 1), -1);
	end_all();
	stream->ops->close(stream);
	pthread_join(opener, NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tcp-handshakes");
	TCase *waiting = tcase_create("waiting"), *working_now = tcase_create("working"),
	      *streams = tcase_create("streams");

	tcase_add_test(waiting, the_loop_goes_on);
	tcase_add_test(waiting, a_call_of_its_own_waits);
	tcase_add_test(waiting, what_waits_ends_with_the_node);
	tcase_add_test(waiting, without_threads_all_is_done_at_once);
	tcase_add_test(waiting, what_is_done_finds_no_room);
	tcase_add_loop_test(working_now, the_node_ends_meanwhile, 0, 3);
	tcase_add_loop_test(streams, a_stream_waits, 0, 2);
	tcase_add_test(streams, a_stream_outlives_the_node);
	for (int i = 0; i < 3; i++) {
		TCase *cases[] = {waiting, working_now, streams};

		tcase_set_timeout(cases[i], 60);
		tcase_add_checked_fixture(cases[i], setup, teardown);
		suite_add_tcase(suite, cases[i]);
	}
	return test_main(suite);
}
