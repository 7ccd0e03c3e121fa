/* tcp_regions.c - regions on tcp, with a peer that is played frame by frame: what it may ask, and what ends it (T7). */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/conformance/tcp_raw.h"
#include "transport/remote.h"

#define NAME 7 /* of the node's region, and of the peer's */
#define BYTES 8192

static unsigned char frame[WH_HEAD_BYTES + WH_BODY_MAX], body[WH_BODY_MAX];

struct met { /* a node, and a peer that it has granted its region */
	struct raw *raw;
	struct wh_region *region;
	int s;
};

static const struct wh_remote_ops *ops_of(const struct met *m)
{
	return m->raw->node->ops->remote;
}

static struct met meet(void)
{
	struct met m = {.raw = raw_make()};

	m.s = raw_meet(m.raw, RAW_INCARNATION);
	RAW_UNTIL(m.raw, m.raw->met == 1);
	ck_assert_int_eq(ops_of(&m)->region_open(m.raw->node, NAME, BYTES, &m.region, NULL), WHORL_OK);
	return m;
}

static struct met meet_and_grant(void)
{
	struct met m = meet();

	ck_assert_int_eq(m.region->ops->grant(m.region, RAW_ME), WHORL_OK);
	raw_expect(m.raw, m.s, WH_TCP_GRANT, body);
	ck_assert_uint_eq(wh_tcp_take_grant(body), BYTES);
	return m;
}

static void part(struct met *m)
{
	close(m->s);
	raw_free(m->raw);
}

static void ask(const struct met *m, struct wh_remote_op op)
{
	op.region = NAME;
	raw_send(m->s, frame, wh_tcp_put_remote(frame, &op));
}

static struct wh_message_head answer(const struct met *m)
{
	struct wh_message_head head;

	ck_assert(raw_receive(m->raw, m->s, &head, body));
	ck_assert_int_eq((int)head.kind, WH_TCP_REMOTE_DONE);
	return head;
}

static bool next(const struct met *m, struct wh_remote_event *out)
{
	return ops_of(m)->next(m->raw->node, out);
}

static void must_end(struct met *m)
{
	RAW_UNTIL(m->raw, m->raw->down == 1);
	ck_assert_ptr_nonnull(strstr(m->raw->text, "broken the protocol"));
	for (uint64_t i = 0; i < BYTES / 8; i++)
		ck_assert_uint_eq(m->region->words[i], 0);
	part(m);
}

/* ---- what it may ask ---------------------------------------------------------------------------------------------- */

TEST_CASE("regions", .timeout_s = 60);

TEST(what_was_not_granted_is_not_found)
{
	const uint64_t one = 1;
	struct wh_remote_event event;
	struct met m = meet();

	ask(&m, (struct wh_remote_op){.kind = WH_REMOTE_FETCH_ADD, .add = 1});
	ask(&m, (struct wh_remote_op){.kind = WH_REMOTE_READ, .bytes = 8});
	ask(&m, (struct wh_remote_op){.kind = WH_REMOTE_WRITE_IMMEDIATE, .bytes = 8, .from = &one});
	for (int k = 0; k < 3; k++) {
		struct wh_message_head head = answer(&m);

		ck_assert_int_eq(head.flags, WHORL_NOT_FOUND);
		ck_assert_uint_eq(head.bytes, 0);
	}
	ck_assert_uint_eq(m.region->words[0], 0);
	ck_assert(!next(&m, &event));
	ck_assert_uint_eq(m.raw->down, 0);
	part(&m);
}

/* Cut at each byte: it is done once, and when it is whole. */
TEST(an_operation_in_two_pieces)
{
	const uint64_t words[] = {5, 6, 7};
	const struct wh_remote_op op = {
		.kind = WH_REMOTE_WRITE_IMMEDIATE, .region = NAME, .bytes = 24, .from = words, .immediate = 9};
	struct met m = meet_and_grant();
	struct wh_remote_event event;
	size_t count = wh_tcp_put_remote(frame, &op);

	for (size_t cut = 1; cut < count; cut++) {
		count = wh_tcp_put_remote(frame, &op);
		m.region->words[2] = 0;
		raw_send(m.s, frame, cut);
		raw_pass(m.raw);
		ck_assert_uint_eq(m.region->words[2], 0);
		ck_assert(!next(&m, &event));
		raw_send(m.s, frame + cut, count - cut);
		do { /* credits come between */
			struct wh_message_head head;

			ck_assert(raw_receive(m.raw, m.s, &head, body));
			if (head.kind == WH_TCP_CREDIT)
				continue;
			ck_assert_int_eq((int)head.kind, WH_TCP_REMOTE_DONE);
			ck_assert_int_eq(head.flags, WHORL_OK);
			break;
		} while (true);
		ck_assert_uint_eq(m.region->words[2], 7);
		ck_assert(next(&m, &event) && event.kind == WH_REMOTE_IMMEDIATE && event.immediate == 9);
		ck_assert_uint_eq(event.incarnation, RAW_INCARNATION);
		ck_assert(!next(&m, &event));
	}
	part(&m);
}

/* ---- what ends it ------------------------------------------------------------------------------------------------- */

static const struct wh_remote_op strays[] = {
	{.kind = WH_REMOTE_FETCH_ADD, .offset = 4, .add = 1},
	{.kind = WH_REMOTE_FETCH_ADD, .offset = BYTES, .add = 1},
	{.kind = WH_REMOTE_COMPARE_SWAP, .offset = UINT64_MAX - 7, .desired = 1},
	{.kind = WH_REMOTE_READ, .bytes = 0},
	{.kind = WH_REMOTE_READ, .bytes = 12},
	{.kind = WH_REMOTE_READ, .offset = BYTES - 8, .bytes = 16},
	{.kind = WH_REMOTE_READ, .bytes = WH_REMOTE_BYTES_MAX + 8},
	{.kind = WH_REMOTE_READ, .bytes = UINT32_MAX - 7},
	{.kind = WH_REMOTE_WRITE, .bytes = 0},
	{.kind = WH_REMOTE_WRITE, .offset = BYTES - 8, .bytes = 16},
	{.kind = WH_REMOTE_WRITE_IMMEDIATE, .offset = BYTES + 8},
	{.kind = WH_REMOTE_WRITE_IMMEDIATE, .offset = 3, .bytes = 8},
};

TEST_LOOP(an_operation_to_elsewhere, 0, sizeof(strays) / sizeof(strays[0]))
{
	static const uint64_t ones[] = {1, 1};
	struct met m = meet_and_grant();
	struct wh_remote_op op = strays[_i];

	if (op.kind == WH_REMOTE_WRITE || op.kind == WH_REMOTE_WRITE_IMMEDIATE)
		op.from = ones;
	ask(&m, op);
	must_end(&m);
}

/* Frames that no operation is, or that were not asked for. */
static size_t put_bad_message(int how)
{
	static const uint64_t ones[] = {1, 1};
	struct wh_remote_op op = {.kind = WH_REMOTE_WRITE, .region = NAME, .bytes = 16, .from = ones};
	size_t count = wh_tcp_put_remote(frame, &op), at;

	switch (how) {
	case 0: /* no kind */
		frame[1] = WH_REMOTE_COMPARE_SWAP + 1;
		return count;
	case 1: /* half a word */
		frame[8] -= 4;
		return count - 4;
	case 2: /* more than belongs there */
		frame[1] = WH_REMOTE_FETCH_ADD;
		return count;
	case 3: /* nothing is outstanding */
		return wh_tcp_put_done(frame, WHORL_OK, 1, NULL, 0);
	case 4: /* nothing was sent */
		return wh_message_put_plain(frame, WH_TCP_CREDIT, 1);
	case 5: /* nothing was granted */
		return wh_message_put_plain(frame, WH_TCP_WITHDRAWN, NAME);
	case 6:
		return wh_tcp_put_grant(frame, NAME, 0);
	case 7:
		return wh_tcp_put_grant(frame, NAME, 12);
	case 8:
		return wh_tcp_put_grant(frame, NAME, WH_REMOTE_REGION_MAX + 8);
	case 9: /* twice */
		at = wh_tcp_put_grant(frame, NAME, 8);
		return at + wh_tcp_put_grant(frame + at, NAME, 8);
	default: /* more than there may be */
		at = 0;
		for (uint64_t name = 0; name <= WH_REMOTE_REGIONS; name++)
			at += wh_tcp_put_grant(frame + at, name, 8);
		return at;
	}
}

TEST_LOOP(a_bad_message_ends_its_sender, 0, 11)
{
	struct met m = meet_and_grant();

	raw_send(m.s, frame, put_bad_message(_i));
	must_end(&m);
}

/* More immediates than have been taken leave room for. */
TEST(immediates_beyond_their_number)
{
	struct met m = meet_and_grant();
	struct wh_remote_event event;
	const struct wh_remote_op op = {.kind = WH_REMOTE_WRITE_IMMEDIATE};

	for (int k = 0; k < WH_REMOTE_IMMEDIATES; k++)
		ask(&m, op);
	for (int k = 0; k < WH_REMOTE_IMMEDIATES; k++)
		ck_assert_int_eq(answer(&m).flags, WHORL_OK);
	ck_assert(next(&m, &event)); /* room for one */
	ask(&m, op);
	ck_assert_int_eq(answer(&m).flags, WHORL_OK);
	ck_assert_uint_eq(m.raw->down, 0);
	ask(&m, op);
	must_end(&m);
}

/* A peer that asks and does not listen to the answers fills the way to it; then as many wait as there may be, and no more. */
TEST(questions_without_end)
{
	const struct wh_remote_op op = {.kind = WH_REMOTE_READ, .region = NAME, .bytes = WH_REMOTE_BYTES_MAX};
	struct met m = meet_and_grant();
	size_t count = wh_tcp_put_remote(frame, &op);

	for (int k = 0; k < 20000 && m.raw->down == 0; k++) {
		(void)!send(m.s, frame, count, MSG_NOSIGNAL); /* it may have been hung up already */
		if (k % 32 == 0)
			m.raw->node->ops->service(m.raw->node);
		if (k % 256 == 0)
			raw_pass(m.raw);
	}
	must_end(&m);
}

/* ---- what it answers ---------------------------------------------------------------------------------------------- */

/* The node reads 16 bytes of the peer's region; what comes is no answer to that. */
static size_t put_answer(int how)
{
	static const uint64_t words[] = {1, 2, 3};

	switch (how) {
	case 0:
		return wh_tcp_put_done(frame, WHORL_OK, 0, words, 8);
	case 1:
		return wh_tcp_put_done(frame, WHORL_OK, 0, words, 24);
	case 2:
		return wh_tcp_put_done(frame, WHORL_OK, 0, words, 0);
	case 3:
		return wh_tcp_put_done(frame, WHORL_NOT_FOUND, 0, words, 16);
	default:
		return wh_tcp_put_done(frame, WHORL_AGAIN, 0, words, 0);
	}
}

static void post_read(const struct met *m, uint64_t *into)
{
	const struct wh_remote_op op = {
		.kind = WH_REMOTE_READ, .node = RAW_ME, .region = NAME, .bytes = 16, .into = into, .cookie = 3};
	struct wh_remote_event event = {.kind = WH_REMOTE_DONE};
	size_t posted;

	raw_send(m->s, frame, wh_tcp_put_grant(frame, NAME, 64));
	RAW_UNTIL(m->raw, next(m, &event));
	ck_assert_int_eq(event.kind, WH_REMOTE_GRANTED);
	ck_assert_int_eq(ops_of(m)->post(m->raw->node, &op, 1, &posted), WHORL_OK);
	raw_expect(m->raw, m->s, WH_TCP_REMOTE, body);
}

TEST_LOOP(an_answer_to_something_else, 0, 5)
{
	struct wh_remote_event event;
	struct met m = meet_and_grant();
	uint64_t into[3] = {9, 9, 9};

	post_read(&m, into);
	raw_send(m.s, frame, put_answer(_i));
	RAW_UNTIL(m.raw, m.raw->down == 1);
	ck_assert(next(&m, &event));
	ck_assert_int_eq(event.kind, WH_REMOTE_DONE);
	ck_assert_int_eq(event.result, WHORL_MEMBER_GONE);
	ck_assert_uint_eq(event.cookie, 3);
	ck_assert(!next(&m, &event));
	ck_assert(into[0] == 9 && into[1] == 9 && into[2] == 9);
	must_end(&m);
}

TEST(an_answer)
{
	static const uint64_t words[] = {1, 2};
	struct wh_remote_event event;
	struct met m = meet_and_grant();
	uint64_t into[3] = {9, 9, 9};

	post_read(&m, into);
	raw_send(m.s, frame, wh_tcp_put_done(frame, WHORL_OK, 0, words, 16));
	RAW_UNTIL(m.raw, next(&m, &event));
	ck_assert_int_eq(event.kind, WH_REMOTE_DONE);
	ck_assert_int_eq(event.result, WHORL_OK);
	ck_assert(into[0] == 1 && into[1] == 2 && into[2] == 9);
	part(&m);
}

TEST_SUITE("tcp-regions")

int main(void)
{
	return test_main(suite());
}
