/* shm_streams.c - streams in shared memory: between processes, through forks, and what a peer sends that is none. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

#define TAG 7
#define CHUNK (1u << 18)

static void meet(struct node *n)
{
	nodes_make(n, 2);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].met == 1 && n[1].met == 1));
}

/* Of n[0], with its other end at n[1]. */
static struct wh_stream *open_stream(struct node *n)
{
	struct wh_stream *stream;

	ck_assert_int_eq(n[0].transport->ops->stream_open(n[0].transport, 1, TAG, &stream), WHORL_OK);
	NODE_UNTIL(&n[1], n[1].stream != NULL);
	ck_assert_uint_eq(n[1].tag, TAG);
	return stream;
}

static ptrdiff_t read_once(struct wh_stream *stream, void *bytes, size_t count)
{
	stream->ops->wait(stream, false, PATIENCE_NS);
	return stream->ops->read(stream, bytes, count);
}

/* ---- between processes -------------------------------------------------------------------------------------------- */

#define MUCH (UINT64_C(256) << 20)

static int write_much(const char *group)
{
	static unsigned char bytes[CHUNK];
	struct wh_stream *stream;
	struct node n;

	node_make(&n, group, 1, 2);
	NODE_UNTIL(&n, n.met == 1);
	if (n.transport->ops->stream_open(n.transport, 0, TAG, &stream) != WHORL_OK)
		return 1;
	for (uint64_t at = 0; at < MUCH;) {
		ptrdiff_t done;

		memset(bytes, (int)(at / CHUNK), CHUNK);
		done = stream->ops->write(stream, bytes + at % CHUNK, CHUNK - at % CHUNK);
		if (done < 0)
			return 2;
		if (done == 0)
			stream->ops->wait(stream, true, PATIENCE_NS);
		at += (uint64_t)done;
	}
	node_free(&n); /* and with it the process: what it has written is read */
	return 0;
}

/* No assertion for each byte that is looked at: half a million of them would cost what the time below is to show. */
static bool is_what_was_written(const unsigned char *bytes, ptrdiff_t count, uint64_t at)
{
	for (ptrdiff_t i = 0; i < count; i += 512)
		if (bytes[i] != (unsigned char)((at + (uint64_t)i) / CHUNK))
			return false;
	return true;
}

TEST_CASE("streams", .timeout_s = 60);

TEST(much_goes_through_a_stream)
{
	static unsigned char bytes[CHUNK];
	uint64_t at = 0, used;
	char group[40];
	struct node n;
	pid_t child = spawn(write_much, new_group(group));
	ptrdiff_t done;

	node_make(&n, group, 0, 2);
	NODE_UNTIL(&n, n.stream != NULL);
	used = test_cpu();
	while ((done = read_once(n.stream, bytes, CHUNK)) >= 0) {
		ck_assert(is_what_was_written(bytes, done, at));
		at += (uint64_t)done;
	}
	ck_assert_uint_eq(at, MUCH);
	if (!WH_TSAN)
		ck_assert_uint_lt(test_cpu() - used, WH_NS_PER_S); /* a tenth of it, on any machine of today */
	ck_assert_int_eq(reap(child), 0);
	n.stream->ops->close(n.stream);
	node_free(&n);
}

static int read_for_ever(const char *group)
{
	static unsigned char bytes[CHUNK];
	struct node n;

	node_make(&n, group, 1, 2);
	NODE_UNTIL(&n, n.stream != NULL);
	for (;;)
		(void)read_once(n.stream, bytes, CHUNK);
}

static int write_for_ever(const char *group)
{
	struct wh_stream *stream;
	struct node n;

	node_make(&n, group, 1, 2);
	NODE_UNTIL(&n, n.met == 1);
	if (n.transport->ops->stream_open(n.transport, 0, TAG, &stream) != WHORL_OK)
		return 1;
	for (;;)
		if (stream->ops->write(stream, "x", 1) == 0)
			stream->ops->wait(stream, true, PATIENCE_NS);
}

/* A kill ends the wait of the other side, and is no signal to it. */
TEST_LOOP(death_ends_a_stream, 0, 2)
{
	static unsigned char bytes[CHUNK];
	char group[40];
	struct wh_stream *stream;
	struct node n;
	ptrdiff_t done;
	pid_t child = spawn(_i == 0 ? read_for_ever : write_for_ever, new_group(group));

	node_make(&n, group, 0, 2);
	NODE_UNTIL(&n, n.met == 1);
	if (_i == 0) {
		ck_assert_int_eq(n.transport->ops->stream_open(n.transport, 1, TAG, &stream), WHORL_OK);
	} else {
		NODE_UNTIL(&n, n.stream != NULL);
		stream = n.stream;
	}
	for (uint64_t k = 0; true; k++) {
		done = _i == 0 ? stream->ops->write(stream, bytes, CHUNK) : stream->ops->read(stream, bytes, 100);
		if (done < 0)
			break;
		if (done == 0)
			stream->ops->wait(stream, _i == 0, PATIENCE_NS);
		if (k == 50)
			kill(child, SIGKILL);
	}
	reap(child);
	stream->ops->close(stream);
	node_free(&n);
}

/* ---- forks, and what is left behind ------------------------------------------------------------------------------- */

/* A fork has copies of both ends. What it does with them is nothing to the stream, and does not keep it alive. */
TEST_LOOP(a_fork_has_no_part_in_a_stream, 0, 2)
{
	struct wh_stream *stream;
	char bytes[10];
	struct node n[2];
	pid_t child;

	meet(n);
	stream = open_stream(n);
	child = fork();
	if (child == 0) {
		stream->ops->close(stream);
		n[1].stream->ops->close(n[1].stream);
		n[0].transport->ops->destroy(n[0].transport, true);
		n[1].transport->ops->destroy(n[1].transport, true);
		_exit(0);
	}
	ck_assert_int_eq(reap(child), 0);
	ck_assert_int_eq(stream->ops->write(stream, "hello", 5), 5);
	ck_assert_int_eq(read_once(n[1].stream, bytes, sizeof(bytes)), 5);
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	if (_i == 0) {
		stream->ops->close(stream);
		ck_assert_int_eq(read_once(n[1].stream, bytes, sizeof(bytes)), -1);
		n[1].stream->ops->close(n[1].stream);
	} else {
		n[1].stream->ops->close(n[1].stream);
		ck_assert_int_eq(stream->ops->write(stream, "hello", 5), -1);
		stream->ops->close(stream);
	}
	kill(child, SIGKILL);
	reap(child);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* Open, taken or not, closed or not at the other side: what a program that it starts would inherit, and what stays. */
TEST_LOOP(streams_leave_no_descriptors, 0, 2)
{
	struct wh_stream *streams[4];
	int before = count_fds();
	struct node n[2];

	meet(n);
	for (int k = 0; k < 4; k++)
		ck_assert_int_eq(n[0].transport->ops->stream_open(n[0].transport, 1, TAG, &streams[k]), WHORL_OK);
	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0)
			ck_assert((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	if (_i == 1)
		for (int k = 0; k < 10; k++) /* they have become events, which are not taken */
			n[1].transport->ops->service(n[1].transport);
	node_free(&n[1]);
	for (int k = 0; k < 4; k++) {
		ck_assert_int_eq(streams[k]->ops->write(streams[k], "x", 1), -1);
		streams[k]->ops->close(streams[k]);
	}
	node_free(&n[0]);
	ck_assert_int_eq(count_fds(), before);
}

/* ---- what is no stream -------------------------------------------------------------------------------------------- */

static void send_end(const struct raw *r, int fd)
{
	const struct wh_opening opening = {.version = WH_SHM_VERSION,
					   .node = r->hello.node,
					   .incarnation = r->hello.incarnation,
					   .to = INCARNATION(0),
					   .tag = TAG};
	unsigned char message[WH_MESSAGE_MAX];

	ck_assert(raw_send(r->socket, message, wh_message_put_opening(message, &opening), &fd, fd >= 0));
}

/* A file, which always has something to say; a socket of another kind; none at all. */
TEST_LOOP(what_is_no_stream_ends_its_sender, 0, 3)
{
	char group[40];
	struct node n;
	struct raw r;
	int fds[2];

	node_make(&n, new_group(group), 0, 2);
	raw_be_met(&r, &n, group, 1);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
	if (_i == 0)
		send_end(&r, r.page);
	else if (_i == 1)
		send_end(&r, fds[0]);
	else
		send_end(&r, -1);
	NODE_UNTIL(&n, n.down == 1);
	ck_assert_msg(strstr(n.text, "broken the protocol") != NULL, "%s", n.text);
	ck_assert_ptr_null(n.stream);
	close(fds[0]);
	close(fds[1]);
	raw_close(&r);
	node_free(&n);
}

/* The other end can do with the socket what it likes: reading does not block, and nothing is a signal. */
TEST(a_stream_that_is_made_to_block)
{
	char group[40], byte;
	struct node n;
	struct raw r;
	int fds[2];

	node_make(&n, new_group(group), 0, 2);
	raw_be_met(&r, &n, group, 1);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	send_end(&r, fds[0]);
	NODE_UNTIL(&n, n.stream != NULL);
	close(fds[0]);
	ck_assert_int_eq(n.stream->ops->read(n.stream, &byte, 1), 0);
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	ck_assert_int_eq(n.stream->ops->read(n.stream, &byte, 1), 1);
	close(fds[1]);
	ck_assert_int_eq(n.stream->ops->write(n.stream, "x", 1), -1);
	ck_assert_int_eq(n.stream->ops->read(n.stream, &byte, 1), -1);
	n.stream->ops->close(n.stream);
	raw_close(&r);
	NODE_UNTIL(&n, n.down == 1);
	node_free(&n);
}

TEST_SUITE("shm and streams")

int main(void)
{
	return test_main(suite());
}
