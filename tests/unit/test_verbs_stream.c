/* Streams of the RDMA transport, as far as they need no device: what a forked child does with them. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness.h"
#include "transport/verbs/verbs_int.h"

#define STREAMS 3

struct lab {
	struct wh_transport_ops ops; /* of `t`, to be told that a stream calls the loop */
	struct wh_verbs *t;
	struct wh_verbs_link link;
	struct wh_stream *taken; /* the first; the events of the others have not been taken */
	pid_t child;             /* -1: to be forked when the loop is called */
};

static struct lab *the_lab;

/* What destroy() does there with streams, and what their user does after it. */
static void end_in_child(struct lab *lab)
{
	alarm(2);
	lab->t->forked = true;
	wh_event_queue_drop(&lab->t->event_queue);
	wh_verbs_streams_end(lab->t, NULL);
	lab->taken->ops->close(lab->taken);
	_exit(0);
}

/* A stream calls the loop with its lock held: the child has it as if a thread of the parent's were inside. */
static void fork_here(struct wh_transport *transport)
{
	(void)transport;
	if (the_lab->child != -1)
		return;
	the_lab->child = fork();
	if (the_lab->child == 0)
		end_in_child(the_lab);
}

/* Node 1 says so. */
static void hear(struct lab *lab, enum wh_verbs_kind kind, uint32_t stream, size_t bytes)
{
	struct wh_verbs_stream_message *message = calloc(1, sizeof(*message) + bytes);

	message->head.kind = kind;
	message->head.bytes = (uint32_t)(sizeof(*message) + bytes);
	message->stream = stream;
	ck_assert(wh_verbs_stream_on_message(lab->t, &lab->t->peers[1], message));
	free(message);
}

/* Node 1 has opened streams to this one, and has sent `bytes` on the first. */
static struct lab *lab_make(size_t bytes)
{
	struct lab *lab = the_lab = calloc(1, sizeof(*lab));
	const struct wh_transport_config config = {.env = wh_env_system()};
	struct wh_transport_event event;

	lab->t = calloc(1, sizeof(*lab->t) + 2 * sizeof(lab->t->peers[0]));
	lab->ops.wake = fork_here;
	lab->t->base.ops = &lab->ops;
	lab->t->nodes = 2;
	lab->link.serial = 1;
	lab->t->peers[1] = (struct wh_verbs_peer){.state = WH_VERBS_MET, .node = 1, .link = &lab->link};
	wh_event_queue_init(&lab->t->event_queue, &config, "verbs", lab->t->events, WH_VERBS_EVENTS,
			    WH_VERBS_EVENTS_AT_ONCE);
	for (uint32_t stream = 1; stream <= STREAMS; stream++)
		hear(lab, WH_VERBS_STREAM_OPEN, stream, 0);
	ck_assert(wh_event_queue_next(&lab->t->event_queue, &event));
	lab->taken = event.stream;
	hear(lab, WH_VERBS_STREAM_DATA, 1, bytes);
	return lab;
}

static void lab_free(struct lab *lab)
{
	wh_event_queue_drop(&lab->t->event_queue);
	wh_verbs_streams_end(lab->t, NULL);
	lab->taken->ops->close(lab->taken);
	free(lab->t);
	free(lab);
}

START_TEST(a_forked_child_waits_for_no_lock)
{
	struct lab *lab = lab_make(64);
	unsigned char bytes[64];
	int status;

	lab->child = -1;
	ck_assert_int_eq(lab->taken->ops->read(lab->taken, bytes, sizeof(bytes)), sizeof(bytes));
	ck_assert_int_gt(lab->child, 0);
	ck_assert_int_eq(waitpid(lab->child, &status, 0), lab->child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child hung");
	lab_free(lab);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs_stream");
	TCase *cases = tcase_create("stream");

	tcase_add_test(cases, a_forked_child_waits_for_no_lock);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
