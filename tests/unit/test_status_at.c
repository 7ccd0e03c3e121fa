/* test_status_at.c - asking whichever node is at an address: on tcp or on verbs, of this version or of an older one. The node is played
 * here, as far as a visitor sees it.
 * Labels: threads
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "group/status/status.h"
#include "tests/harness.h"
#include "tests/patience.h"
#include "transport/session/message.h"
#include "transport/tcp/tcp_int.h"
#include "transport/verbs/verbs.h"

#define PREAMBLE_BYTES 8
#define OTHER_VERSION 99

static struct played {
	int listener;
	char address[32];
	uint16_t version;       /* of its messages */
	uint32_t speaks;        /* the latest version of a status that it knows */
	_Atomic uint32_t calls; /* that have come */
	pthread_t thread;
} played;

static bool read_all(int fd, void *bytes, size_t count)
{
	return recv(fd, bytes, count, MSG_WAITALL) == (ssize_t)count;
}

/* As a node does that has not heard of later versions: it says which it speaks. */
static size_t answer_to(const unsigned char *question, size_t bytes, unsigned char *out, size_t room)
{
	struct whorl_node_stats stats = {.steps = 5, .complaints = {[WHORL_COMPLAINT_CROWDED] = 6}};
	const struct whorl_status status = {.group = "played", .id = 2, .leader = WHORL_NOBODY, .stats = &stats};
	uint32_t version = wh_status_take_question(question, bytes);

	if (version == 0 || version > played.speaks)
		return wh_status_question(out, played.speaks);
	return wh_status_encode(out, room, &status, version);
}

/* From the preamble, which is all the greeting there is without a key and TLS, to the answer. */
static void serve(int fd)
{
	unsigned char mine[PREAMBLE_BYTES] = "whorl", theirs[PREAMBLE_BYTES], head[WH_HEAD_BYTES], body[WH_BODY_MAX];
	static unsigned char answer[WH_ANSWER_MAX];
	struct wh_message_head message;
	size_t count;

	mine[6] = (unsigned char)played.version;
	mine[7] = (unsigned char)(played.version >> 8);
	if (!read_all(fd, theirs, sizeof(theirs)) || send(fd, mine, sizeof(mine), MSG_NOSIGNAL) < 0 ||
	    memcmp(mine, theirs, sizeof(mine)) != 0)
		return;
	if (!read_all(fd, head, sizeof(head)) || !wh_message_head_take(&message, head) ||
	    !read_all(fd, body, message.bytes))
		return;
	count = answer_to(body + WH_FIRST_BYTES, message.bytes - WH_FIRST_BYTES, answer, sizeof(answer));
	(void)!send(fd, head, wh_message_put_answer_head(head, count), MSG_NOSIGNAL);
	(void)!send(fd, answer, count, MSG_NOSIGNAL);
}

static void *serve_all(void *ctx)
{
	int fd;

	(void)ctx;
	while ((fd = accept(played.listener, NULL, NULL)) >= 0) {
		played.calls++;
		serve(fd);
		close(fd);
	}
	return NULL;
}

static void play(uint16_t version, uint32_t speaks)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(here);

	played = (struct played){.listener = socket(AF_INET, SOCK_STREAM, 0), .version = version, .speaks = speaks};
	ck_assert_int_eq(bind(played.listener, (const struct sockaddr *)&here, bytes), 0);
	ck_assert_int_eq(getsockname(played.listener, (struct sockaddr *)&here, &bytes), 0);
	ck_assert_int_eq(listen(played.listener, 8), 0);
	snprintf(played.address, sizeof(played.address), "127.0.0.1:%d", ntohs(here.sin_port));
	ck_assert_int_eq(pthread_create(&played.thread, NULL, serve_all, NULL), 0);
}

static void end(void)
{
	shutdown(played.listener, SHUT_RDWR);
	pthread_join(played.thread, NULL);
	close(played.listener);
}

static int patience_ms(void)
{
	return (int)(test_patience(10 * WH_NS_PER_S) / WH_NS_PER_MS);
}

static void expect_status(struct whorl_status *status, bool complaints)
{
	ck_assert_str_eq(status->group, "played");
	ck_assert_uint_eq(status->id, 2);
	ck_assert_uint_eq(status->stats->steps, 5);
	ck_assert(complaints == (status->stats->size > offsetof(struct whorl_node_stats, complaints)));
	ck_assert_uint_eq(status->stats->complaints[WHORL_COMPLAINT_CROWDED], complaints ? 6 : 0);
	whorl_status_free(status);
}

/* It names its version when it refuses the first question. */
TEST(a_node_on_verbs)
{
	struct whorl_status *status;
	char text[256];

	play(WH_VERBS_VERSION, WH_STATUS_VERSION);
	ck_assert_msg(whorl_status_get_at(played.address, patience_ms(), &status, text, sizeof(text)) == WHORL_OK, "%s",
		      text);
	ck_assert_str_eq(text, "");
	expect_status(status, true);
	ck_assert_uint_eq(played.calls, 2);
	end();
}

/* What has been found out once is good for the next time, until another node is there. */
TEST(it_is_found_out_once)
{
	struct whorl_status *status;
	struct wh_error err = {0};
	bool verbs = false;

	play(WH_VERBS_VERSION, WH_STATUS_VERSION);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(wh_status_get_at(played.address, &verbs, patience_ms(), &status, &err), WHORL_OK);
		expect_status(status, true);
		ck_assert(verbs);
		ck_assert_uint_eq(played.calls, 2 + i);
	}
	end();
	play(WH_TCP_VERSION, WH_STATUS_VERSION);
	ck_assert_int_eq(wh_status_get_at(played.address, &verbs, patience_ms(), &status, &err), WHORL_OK);
	expect_status(status, true);
	ck_assert(!verbs && played.calls == 2);
	end();
}

TEST(a_version_that_is_not_known)
{
	struct whorl_status *status = (void *)&played;
	char text[256];

	play(OTHER_VERSION, WH_STATUS_VERSION);
	ck_assert_int_eq(whorl_status_get_at(played.address, patience_ms(), &status, text, sizeof(text)),
			 WHORL_REFUSED);
	ck_assert_ptr_nonnull(strstr(text, "speaks version 99"));
	ck_assert_ptr_null(status);
	ck_assert_uint_eq(played.calls, 1);
	end();
}

/* 0: on tcp, 1: on verbs; it does not know the version of the question, says so, and is asked in its own. */
TEST_LOOP(an_older_node, 0, 2)
{
	struct whorl_status *status;
	char text[256];

	play(_i == 0 ? WH_TCP_VERSION : WH_VERBS_VERSION, 2);
	ck_assert_msg(whorl_status_get_at(played.address, patience_ms(), &status, text, sizeof(text)) == WHORL_OK, "%s",
		      text);
	expect_status(status, false);
	ck_assert_uint_eq(played.calls, 2 + (unsigned)_i);
	end();
}

/* Older than is understood here: that is said. */
TEST(a_node_that_is_too_old)
{
	struct whorl_status *status;
	char text[256];

	play(WH_TCP_VERSION, 1);
	ck_assert_int_eq(whorl_status_get_at(played.address, patience_ms(), &status, text, sizeof(text)),
			 WHORL_REFUSED);
	ck_assert_ptr_nonnull(strstr(text, "another version"));
	ck_assert_uint_eq(played.calls, 1);
	end();
}

TEST_SUITE("status_at")
