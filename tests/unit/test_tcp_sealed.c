/* test_tcp_sealed.c - what a connection with TLS writes and reads, over pairs of sockets. */
#include <sys/socket.h>

#include "tests/support/certificates.h"
#include "tests/support/secure_lab.h"
#include "transport/tcp/tcp_int.h"

#define WIRE_BYTES (1u << 20)
#define RECORD_HEAD 5
#define REKEY_BYTES 200000 /* more than most of these say, and less than a full socket is filled with */

static struct lab lab;
static struct authority authority;
static struct wh_tcp_channel ends[2];
static unsigned char said[WIRE_BYTES], heard[WIRE_BYTES], wire[WIRE_BYTES];

static void equip(int end, const char *name, uint32_t node)
{
	const struct certificate_wish wish = {.names = name, .from_s = -60, .until_s = 3600};
	char certificate[LAB_PATH_BYTES], key[LAB_PATH_BYTES], path[LAB_PATH_BYTES];
	const struct wh_secure_files files = {.certificate = certificate, .key = key, .authority = path};
	struct wh_error err;

	lab_path(&lab, "authority", path);
	lab_path(&lab, "certificate", certificate);
	lab_path(&lab, "private", key);
	certificate_make(&authority, &wish, certificate, key);
	ck_assert_msg(wh_secure_tls_load(&files, "g", node, &lab.ground[end].tls, &err) == WHORL_OK, "%s", err.text);
}

static void setup(void)
{
	char path[LAB_PATH_BYTES];
	int pair[2];

	secure_lab_begin(&lab);
	lab_path(&lab, "authority", path);
	authority_make(&authority, "authority", path);
	equip(CALLER, "URI:whorl://g/1", 1);
	equip(ANSWERER, "URI:whorl://g/2", 2);
	lab.ground[CALLER].rekey_bytes = REKEY_BYTES;
	lab_meet(&lab);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	for (int i = 0; i < 2; i++) {
		ends[i] = WH_TCP_NO_CHANNEL;
		ends[i].fd = pair[i];
		ends[i].secure = lab.end[i];
		ends[i].wraps = true;
		lab.end[i] = NULL;
	}
	for (size_t i = 0; i < sizeof(said); i++)
		said[i] = (unsigned char)(i * 7 + (i >> 8) * 13);
}

static void teardown(void)
{
	for (int i = 0; i < 2; i++)
		wh_tcp_channel_close(&ends[i], false);
	authority_free(&authority);
	secure_lab_end(&lab);
}

/* `sizes` end with 0. Returns how many parts. */
static size_t cut(unsigned char *bytes, const size_t *sizes, struct iovec *parts, size_t *sum)
{
	size_t count = 0;

	for (*sum = 0; sizes[count] > 0; *sum += sizes[count++])
		parts[count] = (struct iovec){bytes + *sum, sizes[count]};
	return count;
}

/* The records that wait in the socket. */
static size_t count_records(size_t *bytes)
{
	ssize_t there = recv(ends[ANSWERER].fd, wire, sizeof(wire), MSG_PEEK | MSG_DONTWAIT);
	size_t count = 0, at = 0;

	*bytes = there > 0 ? (size_t)there : 0;
	for (; at + RECORD_HEAD <= *bytes; count++)
		at += RECORD_HEAD + ((size_t)wire[at + 3] << 8 | wire[at + 4]);
	ck_assert_uint_eq(at, *bytes);
	return count;
}

/* All that is there, in pieces of an odd size. */
static size_t hear(size_t had)
{
	for (;;) {
		const struct iovec parts[] = {{heard + had, 3}, {heard + had + 3, 5000}, {heard + had + 5003, 1}};
		size_t done;

		if (wh_tcp_channel_read(&ends[ANSWERER], parts, 3, &done) != WH_TCP_DONE)
			return had;
		had += done;
	}
}

TEST_CASE("sealed", .setup = setup, .teardown = teardown);

TEST(small_parts_share_a_record)
{
	struct iovec parts[200];
	size_t sizes[201] = {0}, sum, done, there;

	for (size_t i = 0; i < 200; i++)
		sizes[i] = 1 + i % 80;
	ck_assert_uint_eq(cut(said, sizes, parts, &sum), 200);
	ck_assert_int_eq(wh_tcp_channel_write(&ends[CALLER], parts, 200, &done), WH_TCP_DONE);
	ck_assert_uint_eq(done, sum);
	ck_assert_uint_eq(count_records(&there), 1);
	ck_assert_uint_lt(there, sum + 64);
	ck_assert_uint_eq(hear(0), sum);
	ck_assert_int_eq(memcmp(said, heard, sum), 0);
}

TEST(small_and_large_parts_fill_records)
{
	const size_t sizes[] = {100, 40000, 7, 10000, 1, 16384, 16383, 16385, 3, 0};
	struct iovec parts[16];
	size_t sum, done, had = 0, at = 0, count = cut(said, sizes, parts, &sum);

	while (at < sum) { /* as the socket takes it */
		size_t first = 0, before = at;

		while (before >= parts[first].iov_len)
			before -= parts[first++].iov_len;
		parts[first] = (struct iovec){(char *)parts[first].iov_base + before, parts[first].iov_len - before};
		if (wh_tcp_channel_write(&ends[CALLER], parts + first, count - first, &done) == WH_TCP_DONE)
			at += done;
		(void)cut(said, sizes, parts, &sum);
		had = hear(had);
	}
	for (int i = 0; wh_tcp_channel_flush(&ends[CALLER]) == WH_TCP_LATER && i < 100; i++)
		had = hear(had);
	ck_assert_uint_eq(hear(had), sum);
	ck_assert_int_eq(memcmp(said, heard, sum), 0);
}

TEST(records_are_full)
{
	const size_t sizes[] = {100, 40000, 200, 20000, 0};
	struct iovec parts[4];
	size_t sum, done, there, count = cut(said, sizes, parts, &sum);

	ck_assert_int_eq(wh_tcp_channel_write(&ends[CALLER], parts, count, &done), WH_TCP_DONE);
	ck_assert_uint_eq(done, sum);
	ck_assert_uint_le(count_records(&there), sum / 16384 + 1);
}

TEST(a_full_socket_loses_nothing)
{
	const int small = 4096;
	size_t at = 0, had = 0, done;
	bool was_full = false;

	ck_assert_int_eq(setsockopt(ends[CALLER].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	while (at < 600000) {
		const struct iovec parts[] = {{said + at, 90}, {said + at + 90, 30000}};
		enum wh_tcp_io io = wh_tcp_channel_write(&ends[CALLER], parts, 2, &done);

		at += io == WH_TCP_DONE ? done : 0;
		was_full |= io == WH_TCP_LATER;
		ck_assert(io == WH_TCP_DONE || io == WH_TCP_LATER);
		if (io == WH_TCP_LATER)
			had = hear(had);
	}
	ck_assert(was_full);
	while (wh_tcp_channel_flush(&ends[CALLER]) == WH_TCP_LATER)
		had = hear(had);
	ck_assert_uint_eq(hear(had), at);
	ck_assert_int_eq(memcmp(said, heard, at), 0);
}

/* Nothing that was taken waits for a later call. */
TEST(a_careful_one_keeps_nothing)
{
	const struct iovec out = {said, WIRE_BYTES};
	size_t done, at = 0, had = 0;
	enum wh_tcp_io io;

	wh_tcp_channel_take_care(&ends[CALLER]);
	for (int i = 0; i < 20; i++) {
		const struct iovec rest = {said + at, out.iov_len - at};

		io = at < out.iov_len ? wh_tcp_channel_write(&ends[CALLER], &rest, 1, &done) : WH_TCP_LATER;
		ck_assert(io == WH_TCP_DONE || io == WH_TCP_LATER);
		ck_assert(!wh_tcp_channel_unsent(&ends[CALLER]));
		at += io == WH_TCP_DONE ? done : 0;
		ck_assert(i > 0 || (at > 0 && at < out.iov_len));
		had = io == WH_TCP_LATER ? hear(had) : had;
		ck_assert(io == WH_TCP_DONE || had == at);
	}
	ck_assert_uint_eq(had, out.iov_len);
	ck_assert_int_eq(memcmp(said, heard, had), 0);
}

/* An answer behind which the connection is closed: it has left, or it is said that it has not; with TLS or without. */
TEST_LOOP(the_last_has_left_or_not, 0, 2)
{
	const struct iovec parts[] = {{said, 12}, {said + 12, 60000}};
	const int small = 4096, large = 1 << 18;

	ends[CALLER].wraps = _i == 1;
	ck_assert_int_eq(setsockopt(ends[CALLER].fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large)), 0);
	ck_assert(wh_tcp_channel_write_last(&ends[CALLER], parts, 2, 60012));
	ck_assert(!wh_tcp_channel_unsent(&ends[CALLER]));
	ck_assert_int_eq(setsockopt(ends[CALLER].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	ck_assert(!wh_tcp_channel_write_last(&ends[CALLER], parts, 2, 60012));
	ck_assert_int_eq(shutdown(ends[ANSWERER].fd, SHUT_RDWR), 0);
	ck_assert(wh_tcp_channel_write_last(&ends[CALLER], parts, 2, 60012)); /* to which end would that matter */
}

/* Nothing of it fits at all. */
TEST(the_last_into_a_full_socket)
{
	const struct iovec part = {said, sizeof(said)};
	size_t done;

	ends[CALLER].wraps = false;
	while (wh_tcp_channel_write(&ends[CALLER], &part, 1, &done) == WH_TCP_DONE)
		;
	ck_assert(!wh_tcp_channel_write_last(&ends[CALLER], &part, 1, sizeof(said)));
}

TEST(a_look_receives_nothing)
{
	const struct iovec out = {said, 5000}, first = {heard, 10}, rest = {heard + 10, 100000};
	size_t done;

	ck_assert_int_eq(wh_tcp_channel_write(&ends[CALLER], &out, 1, &done), WH_TCP_DONE);
	ends[ANSWERER].looks = true;
	ck_assert_int_eq(wh_tcp_channel_read(&ends[ANSWERER], &first, 1, &done), WH_TCP_LATER);
	ends[ANSWERER].looks = false;
	ck_assert_int_eq(wh_tcp_channel_read(&ends[ANSWERER], &first, 1, &done), WH_TCP_DONE);
	ck_assert_int_eq(wh_tcp_channel_write(&ends[CALLER], &out, 1, &done), WH_TCP_DONE);
	ends[ANSWERER].looks = true; /* what has been received is opened, and no more */
	ck_assert_int_eq(wh_tcp_channel_read(&ends[ANSWERER], &rest, 1, &done), WH_TCP_DONE);
	ck_assert_uint_eq(done, 4990);
}

TEST(the_end_comes_behind_the_last_byte)
{
	const struct iovec out = {said, 40000}, in = {heard, 100000};
	size_t done;

	ck_assert_int_eq(wh_tcp_channel_write(&ends[CALLER], &out, 1, &done), WH_TCP_DONE);
	ck_assert_uint_eq(done, 40000);
	wh_tcp_channel_close(&ends[CALLER], false);
	ck_assert_int_eq(wh_tcp_channel_read(&ends[ANSWERER], &in, 1, &done), WH_TCP_DONE);
	ck_assert_uint_eq(done, 40000);
	ck_assert_int_eq(memcmp(said, heard, 40000), 0);
	ck_assert_int_eq(wh_tcp_channel_read(&ends[ANSWERER], &in, 1, &done), WH_TCP_ENDED);
}

TEST(a_changed_byte_breaks_it)
{
	const struct iovec out = {said, 300}, in = {heard, 1000};
	size_t done, there;

	ck_assert_int_eq(wh_tcp_channel_write(&ends[CALLER], &out, 1, &done), WH_TCP_DONE);
	ck_assert_uint_eq(count_records(&there), 1);
	ck_assert_int_eq(recv(ends[ANSWERER].fd, wire, there, 0), (ssize_t)there);
	wire[there / 2] ^= 1;
	ck_assert_int_eq(send(ends[CALLER].fd, wire, there, 0), (ssize_t)there);
	ck_assert_int_eq(wh_tcp_channel_read(&ends[ANSWERER], &in, 1, &done), WH_TCP_BROKEN);
	ck_assert(strstr(wh_tcp_channel_reason(&ends[ANSWERER]), "node 1") != NULL);
}

TEST_SUITE("tcp_sealed")
