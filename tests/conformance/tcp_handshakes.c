/* tcp_handshakes.c - handshakes of TLS, which a worker does: node 0 goes on while its steps wait for a thread, or while one is under way,
 * and may end meanwhile. The test has the jobs of node 0, and stops OpenSSL in the middle of one: nothing here is a matter of time. */
#define WITH_KEY false
#define WITH_TLS true

#include <arpa/inet.h>
#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

struct job {
	void (*run)(void *argument);
	void *argument;
};

static struct {
	enum { ON_THREADS, KEPT, AT_ONCE } how;
	struct job *kept;
	wh_word count, ended;
} jobs;

static void run_job(void *argument)
{
	struct job job = *(struct job *)argument;

	free(argument);
	job.run(job.argument);
	(void)wh_fetch_add(&jobs.ended, 1);
}

static void submit(void *ctx, void (*run)(void *argument), void *argument)
{
	struct job *job = malloc(sizeof(*job));

	(void)ctx;
	ck_assert_ptr_nonnull(job);
	*job = (struct job){run, argument};
	(void)wh_fetch_add(&jobs.count, 1);
	if (jobs.how == ON_THREADS) {
		wh_env_system()->submit(NULL, run_job, job);
	} else if (jobs.how == AT_ONCE) {
		run_job(job);
	} else {
		ck_assert_ptr_null(jobs.kept);
		jobs.kept = job;
	}
}

/* On a thread, or here and now; and from now on the others are not kept. */
static void release_job(bool now)
{
	struct job *job = jobs.kept;

	jobs.kept = NULL;
	jobs.how = ON_THREADS;
	if (now)
		run_job(job);
	else
		wh_env_system()->submit(NULL, run_job, job);
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

static uint32_t count_working(void)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < wh_session_slots(session()); slot++) {
		const struct wh_conn *c = wh_session_conn(session(), slot);

		count += c != NULL && c->working_ns != 0;
	}
	return count;
}

static uint32_t connections(uint32_t id)
{
	const struct wh_session *of = wh_tcp_of(nodes[id].transport)->base.session;
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < wh_session_slots(of); slot++)
		count += wh_session_conn(of, slot) != NULL;
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

/* From now on. One that is on its way ends first: it would do what comes. */
static void keep_jobs(void)
{
	UNTIL(wh_load_acquire(&jobs.ended) == wh_load_relaxed(&jobs.count));
	jobs.how = KEPT;
}

/* They have met, and of a call that has crossed the other nothing is left. */
static void start_two(void)
{
	start(0);
	start(2);
	UNTIL(nodes[0].met == 1 && nodes[2].met == 1 && connections(0) == 1 && connections(2) == 1);
}

/* ---- steps that wait for a thread -------------------------------------------------------------------------------------- */

/* It is not the stranger's time, however long it takes. */
START_TEST(the_loop_goes_on)
{
	const struct wh_conn *c = NULL;

	start_two();
	keep_jobs();
	start(1);
	UNTIL(jobs.kept != NULL && (c = working(false)) != NULL);
	wh_session_door_tick(session(), wh_env_now(wh_env_system()) + LONG_NS);
	ck_assert_ptr_eq(working(false), c);
	talk();
	ck_assert(!has_met(1));
	release_job(false);
	UNTIL(has_met(1) && nodes[1].met == 2);
	end_all();
}
END_TEST

/* Nor that of a node which is called. */
START_TEST(a_call_of_its_own_waits)
{
	const struct wh_conn *c = NULL;

	start(1);
	keep_jobs();
	start(0);
	UNTIL(jobs.kept != NULL && (c = working(true)) != NULL);
	wh_session_call_absent(session(), wh_env_now(wh_env_system()) + LONG_NS);
	ck_assert_ptr_eq(working(true), c);
	release_job(false);
	UNTIL(has_met(1) && nodes[1].met == 1);
	end_all();
}
END_TEST

/* The job comes when all is closed: it finds nothing. */
START_TEST(what_waits_ends_with_the_node)
{
	start_two();
	keep_jobs();
	start(1);
	UNTIL(jobs.kept != NULL && working(false) != NULL);
	nodes[0].transport->ops->leave(nodes[0].transport);
	ck_assert_ptr_null(working(false));
	release_job(false);
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
	ck_assert_uint_gt(wh_load_relaxed(&jobs.count), 0);
	end_all();
}
END_TEST

/* What is done waits for room for events. */
START_TEST(what_is_done_finds_no_room)
{
	struct wh_event_queue *events;

	start_two();
	keep_jobs();
	start(1);
	UNTIL(jobs.kept != NULL && working(false) != NULL);
	events = wh_session_events(session());
	while (!wh_event_queue_is_full(events))
		wh_event_queue_event(events, WH_EVENT_CONTROL, 2, 102, "x", 1);
	release_job(true);
	for (int k = 0; k < 3; k++)
		(void)nodes[0].transport->ops->service(nodes[0].transport);
	ck_assert_ptr_nonnull(working(false));
	take_events(&nodes[0]);
	(void)nodes[0].transport->ops->service(nodes[0].transport);
	ck_assert_ptr_null(working(false));
	UNTIL(has_met(1) && nodes[1].met == 2);
	end_all();
}
END_TEST

/* Begins TLS with node 0, from its own host or from another. */
static int call_from(bool own_host)
{
	const unsigned char preamble[] = {'w', 'h', 'o', 'r', 'l', 2, WH_TCP_VERSION, 0};
	struct sockaddr_in from = {.sin_family = AF_INET};
	char text[WH_TCP_ADDRESS_BYTES];
	struct wh_tcp_address to;
	struct wh_error err;
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	wh_tcp_address_default(world->group, 0, text);
	ck_assert_int_eq(wh_tcp_address_find(text, &to, &err), WHORL_OK);
	ck_assert_int_eq(inet_pton(AF_INET, "127.0.0.3", &from.sin_addr), 1);
	if (own_host)
		from.sin_addr = ((const struct sockaddr_in *)&to.at)->sin_addr;
	ck_assert_int_eq(bind(s, (const struct sockaddr *)&from, sizeof(from)), 0);
	ck_assert_int_eq(connect(s, (const struct sockaddr *)&to.at, to.bytes), 0);
	ck_assert_int_eq(send(s, preamble, sizeof(preamble), MSG_NOSIGNAL), sizeof(preamble));
	return s;
}

/* Though a stranger has called before. */
START_TEST(a_host_of_the_configuration_goes_first)
{
	uint32_t source, index;
	int sockets[2];

	start_two();
	keep_jobs();
	sockets[0] = call_from(false);
	UNTIL(jobs.kept != NULL && count_working() == 1);
	sockets[1] = call_from(true);
	UNTIL(count_working() == 2);
	release_job(true);
	ck_assert(wh_tcp_shaker_done(wh_tcp_of(nodes[0].transport)->wire->shaker, &source, &index));
	ck_assert_int_eq((int)source, WH_TCP_FROM_CONN);
	ck_assert(wh_session_conn(session(), index)->configured);
	for (int i = 0; i < 2; i++)
		close(sockets[i]);
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
		ck_assert_uint_eq(connections(0), 1);
	}
	ck_assert_int_eq(pthread_create(&opener, NULL, open_gate, NULL), 0);
	end(0, _i == 2); /* 2: as a process that is killed */
	ck_assert_uint_eq(wh_load_acquire(&gate.inside), 0);
	pthread_join(opener, NULL);
	end_all();
}
END_TEST

/* A forked child has no worker: it closes the descriptor and waits for nothing. Here all goes on. */
START_TEST(a_child_is_forked_meanwhile)
{
	pid_t child;
	int status;

	start_two();
	wh_store_release(&gate.holds, 1);
	start(1);
	UNTIL(wh_load_acquire(&gate.inside) != 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		for (uint32_t id = 0; id < NODES; id++)
			end(id, true);
		_exit(count_fds() == fds_before ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	wh_store_release(&gate.holds, 0);
	UNTIL(has_met(1) && nodes[1].met == 2);
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
	keep_jobs();
	stream = open_stream();
	UNTIL(jobs.kept != NULL);
	wh_tcp_stream_tick(w, wh_env_now(wh_env_system()) + LONG_NS);
	ck_assert_ptr_nonnull(beginning());
	talk();
	if (_i == 1)
		stream->ops->close(stream);
	else
		ck_assert_int_eq(stream->ops->write(stream, "y", 1), 1);
	release_job(false);
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
	tcase_add_test(waiting, a_host_of_the_configuration_goes_first);
	tcase_add_loop_test(working_now, the_node_ends_meanwhile, 0, 3);
	tcase_add_test(working_now, a_child_is_forked_meanwhile);
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
