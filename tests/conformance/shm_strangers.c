/* shm_strangers.c - other processes of this user that connect: they say nothing, say garbage, or belong to another group. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"
#include "transport/session/session_int.h"

/* A node that serves as a peer in this process. */
static void meet_each_other(struct node *a, struct node *b)
{
	NODE_UNTIL(a, (node_pass(b), a->image->ready && b->image->ready));
	ck_assert_uint_eq(a->refused + a->down + a->left + b->refused + b->down + b->left, 0);
}

/* ---- silence and garbage ------------------------------------------------------------------------------------------ */

#define SILENT (WH_SESSION_STRANGERS + 40)

TEST_CASE("strangers", .timeout_s = 60);

/* More than there are places for, before and after; and the group forms. */
TEST(silence_disturbs_nobody)
{
	static struct raw silent[SILENT];
	char group[40];
	struct node n[2];

	node_make(&n[0], new_group(group), 0, 2);
	node_open(&n[0], ROW_BYTES);
	for (size_t i = 0; i < SILENT; i++) {
		raw_connect(&silent[i], group, 0, 1, 2);
		close(silent[i].doorbell);
		close(silent[i].page);
		node_pass(&n[0]);
	}
	node_make(&n[1], group, 1, 2);
	node_open(&n[1], ROW_BYTES);
	meet_each_other(&n[0], &n[1]);
	for (size_t i = 0; i < SILENT; i++) { /* a quarter of a second each, at most */
		ck_assert_int_eq(raw_receive(&silent[i], &n[0]), WH_WIRE_ENDED);
		close(silent[i].socket);
	}
	node_free(&n[0]);
	node_free(&n[1]);
}

/* What is sent after connecting, in place of a good hello. */
static void misbehave(struct raw *r, int how)
{
	const int fds[] = {r->doorbell, r->page};
	const int many[] = {r->doorbell, r->page, r->page, r->page, r->page, r->page};
	const struct wh_opening opening = {
		.version = WH_SHM_VERSION, .node = 1, .incarnation = INCARNATION(1), .to = INCARNATION(0)};
	unsigned char noise[6000], hello[WH_MESSAGE_MAX];
	size_t bytes = raw_hello(r, hello);
	uint64_t random = (uint64_t)how;
	struct iovec place = {.iov_base = hello, .iov_len = bytes};
	union {
		struct cmsghdr align;
		unsigned char bytes[CMSG_SPACE(sizeof(many))];
	} control = {.bytes = {0}};
	struct msghdr message = {
		.msg_iov = &place, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	for (size_t i = 0; i < sizeof(noise); i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		noise[i] = (unsigned char)(random >> 56);
	}
	switch (how) {
	case 0: /* noise, with descriptors */
		(void)raw_send(r->socket, noise, 100, fds, 2);
		return;
	case 1: /* larger than any message */
		(void)raw_send(r->socket, noise, sizeof(noise), fds, 2);
		return;
	case 2: /* half a hello */
		(void)raw_send(r->socket, hello, bytes / 2, fds, 2);
		return;
	case 3: /* no descriptors */
		(void)raw_send(r->socket, hello, bytes, NULL, 0);
		return;
	case 4: /* one is missing */
		(void)raw_send(r->socket, hello, bytes, fds, 1);
		return;
	case 5: /* too many */
		control.align = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(many)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.align), many, sizeof(many));
		(void)sendmsg(r->socket, &message, MSG_NOSIGNAL);
		return;
	case 6: /* something else than a hello first */
		(void)raw_say(r->socket, WH_MESSAGE_MAPPED, 1);
		return;
	case 7: /* an unknown kind */
		hello[0] = 77;
		(void)raw_send(r->socket, hello, bytes, fds, 2);
		return;
	case 8: /* a hello of a node that does not exist */
		r->hello.node = 99;
		raw_say_hello(r);
		return;
	case 9: /* of the very node that is called */
		r->hello.node = 0;
		raw_say_hello(r);
		return;
	case 10: /* an empty message */
		(void)raw_send(r->socket, noise, 0, NULL, 0);
		return;
	case 11: /* a stream, which only a peer opens, over its connection */
		(void)raw_send(r->socket, hello, wh_message_put_opening(hello, &opening), &r->socket, 1);
		return;
	case 12: /* a byte more than it says */
		(void)raw_send(r->socket, hello, bytes + 1, fds, 2);
		return;
	case 13: /* no incarnation */
		r->hello.incarnation = 0;
		raw_say_hello(r);
		return;
	default: /* away again */
		shutdown(r->socket, SHUT_RDWR);
		return;
	}
}

#define MISBEHAVIOURS 15

TEST_LOOP(garbage_disturbs_nobody, 0, MISBEHAVIOURS)
{
	char group[40];
	struct node n[2];
	struct raw r;
	int before;

	node_make(&n[0], new_group(group), 0, 2);
	node_open(&n[0], ROW_BYTES);
	for (int k = 0; k < 50; k++) /* the first timer */
		node_pass(&n[0]);
	before = count_fds();
	for (int again = 0; again < 3; again++) {
		raw_connect(&r, group, 0, 1, 2);
		misbehave(&r, _i);
		for (int k = 0; k < 10; k++)
			node_pass(&n[0]);
		raw_close(&r);
	}
	for (int k = 0; k < 10; k++)
		node_pass(&n[0]);
	ck_assert_int_eq(count_fds(), before); /* descriptors that came along are closed */
	ck_assert_uint_eq(n[0].refused + n[0].down + n[0].left, 0);
	node_make(&n[1], group, 1, 2);
	node_open(&n[1], ROW_BYTES);
	meet_each_other(&n[0], &n[1]);
	raw_connect(&r, group, 0, 1, 2); /* and once more, when all are there */
	misbehave(&r, _i);
	for (int k = 0; k < 10; k++)
		node_pass(&n[0]);
	ck_assert_uint_eq(n[0].refused + n[0].down + n[0].left, 0);
	raw_close(&r);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* ---- a peer that has been let in and breaks the protocol ---------------------------------------------------------- */

static void send_offer(struct raw *r, uint64_t view, int fd)
{
	const struct wh_offer offer = {
		.key = view, .layout_digest = ROW_BYTES, .members = 2, .rank = 1, .row_bytes = ROW_BYTES};

	ck_assert(raw_say_offer(r, &offer, ROW_BYTES, fd));
}

static void let_in(struct raw *r, struct node *n, char group[40])
{
	node_make(n, new_group(group), 0, 2);
	raw_be_met(r, n, group, 1);
}

TEST_LOOP(garbage_of_a_peer_ends_it, 0, 2)
{
	char group[40];
	struct node n;
	struct raw r;

	let_in(&r, &n, group);
	if (_i == 0)
		raw_say_hello(&r); /* a second time */
	else
		ck_assert(raw_send(r.socket, "garbage", 7, &r.page, 1));
	NODE_UNTIL(&n, n.down == 1);
	ck_assert_msg(strstr(n.text, "broken the protocol") != NULL, "%s", n.text);
	ck_assert_uint_eq(n.refused + n.left, 0);
	raw_close(&r);
	node_free(&n);
}

/* Offers that are never taken up cost a bounded number of descriptors. */
TEST(offers_are_bounded)
{
	char group[40];
	struct node n;
	struct raw r;
	int before;

	let_in(&r, &n, group);
	before = count_fds();
	for (uint64_t view = 2; view < 40; view++) {
		send_offer(&r, view, r.page);
		node_pass(&n);
	}
	for (int k = 0; k < 20; k++)
		node_pass(&n);
	ck_assert_int_eq(count_fds(), before + WH_SESSION_OFFERS);
	raw_close(&r);
	NODE_UNTIL(&n, n.down == 1);
	ck_assert_int_eq(count_fds(), before - 5); /* the three of r, and the socket and doorbell of the peer */
	node_free(&n);
}

/* A row that is not sealed, or not as large as it should be, is not mapped. */
TEST_LOOP(a_row_that_could_vanish_is_refused, 0, 3)
{
	char group[40];
	struct node n;
	struct raw r;
	int fd = memfd_create("test-row", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	let_in(&r, &n, group);
	node_open(&n, ROW_BYTES);
	ck_assert_int_eq(ftruncate(fd, _i == 0 ? ROW_BYTES : ROW_BYTES - WH_ROW_ALIGN), 0);
	if (_i == 1)
		ck_assert_int_eq(
			fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
	send_offer(&r, 1, _i == 2 ? r.doorbell : fd);
	NODE_UNTIL(&n, n.refused == 1);
	ck_assert_msg(strstr(n.text, "memory file") != NULL, "%s", n.text);
	close(fd);
	raw_close(&r);
	node_free(&n);
}

/* One thing is different each time, the file is as the offer says; or it is not. */
TEST_LOOP(an_offer_that_does_not_fit_is_refused, 0, 5)
{
	const struct wh_offer offer = {.key = 1,
				       .layout_digest = ROW_BYTES + (_i == 0),
				       .members = 2 + (_i == 1),
				       .rank = 1 - (_i == 2),
				       .row_bytes = ROW_BYTES * (1 + (_i == 3))};
	uint64_t bytes = _i == 4 ? ROW_BYTES / 2 : offer.row_bytes; /* that the file has */
	char group[40];
	struct node n;
	struct raw r;
	int fd = memfd_create("test-row", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	let_in(&r, &n, group);
	node_open(&n, ROW_BYTES);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
	ck_assert(raw_say_offer(&r, &offer, bytes, fd));
	NODE_UNTIL(&n, n.refused == 1);
	ck_assert_msg(strstr(n.text, _i == 4 ? "memory file is not as large" : "lay out image 1 differently") != NULL,
		      "%s", n.text);
	close(fd);
	raw_close(&r);
	node_free(&n);
}

/* ---- refused on both sides ---------------------------------------------------------------------------------------- */

/* What the hand-made peer is told, and what the node says of it. */
static void check_refusal(struct raw *r, struct node *n, const char *reason)
{
	enum wh_wire_result what;

	do { /* it may have been let in before */
		what = raw_receive(r, n);
		ck_assert_int_eq(what, WH_WIRE_DONE);
		wh_shm_datagram_close_fds(&r->got);
	} while (r->head.kind != WH_MESSAGE_REFUSED);
	ck_assert_msg(strstr(raw_refusal(r).reason, reason) != NULL, "told: %s", raw_refusal(r).reason);
	NODE_UNTIL(n, n->refused == 1);
	ck_assert_msg(strstr(n->text, reason) != NULL && strstr(n->text, "refused node 1 (pid ") != NULL, "%s",
		      n->text);
	ck_assert_int_eq(raw_receive(r, n), WH_WIRE_ENDED);
	ck_assert_uint_eq(n->down + n->left, 0);
}

TEST_LOOP(a_hello_that_does_not_fit_is_refused, 0, 6)
{
	static const char *const reasons[] = {
		"version 7 of the protocol", "a group of 3 nodes",         "of group other",
		"no proper doorbell",        "memory file has 2048 bytes", "pages have 3"};
	char group[40];
	struct node n;
	struct raw r;
	int other[2];

	node_make(&n, new_group(group), 0, 2);
	raw_connect(&r, group, 0, 1, 2);
	ck_assert_int_eq(pipe2(other, O_CLOEXEC), 0);
	switch (_i) {
	case 0:
		r.hello.version = 7;
		break;
	case 1:
		r.hello.nodes = 3;
		break;
	case 2:
		snprintf(r.hello.group, sizeof(r.hello.group), "other");
		break;
	case 3:
		ck_assert_int_ge(dup2(other[1], r.doorbell), 0); /* a write to it could block */
		break;
	case 4:
		close(r.page);
		r.page = memfd_create("test-page", MFD_CLOEXEC);
		ck_assert_int_eq(ftruncate(r.page, 2048), 0);
		break;
	default:
		r.status.page = 3;
		break;
	}
	raw_say_hello(&r);
	check_refusal(&r, &n, reasons[_i]);
	raw_close(&r);
	close(other[0]);
	close(other[1]);
	node_free(&n);
}

/* The first fields of a hello are the same in all versions, whatever follows. */
TEST(a_longer_hello_of_another_version_is_told_so)
{
	unsigned char longer[WH_MESSAGE_MAX];
	struct wh_message_head head;
	char group[40];
	struct node n;
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	raw_connect(&r, group, 0, 1, 2);
	r.hello.version = 9;
	memset(longer, 1, sizeof(longer));
	ck_assert_uint_lt(raw_hello(&r, longer), sizeof(longer) - 100);
	ck_assert(wh_message_head_take(&head, longer));
	head.bytes += 100;
	wh_message_head_put(longer, &head);
	ck_assert(raw_send(r.socket, longer, WH_HEAD_BYTES + head.bytes, &r.page, 1));
	check_refusal(&r, &n, "version 9 of the protocol");
	raw_close(&r);
	node_free(&n);
}

/* A hello without what goes with it, its descriptors there. */
TEST(a_hello_without_its_page_is_refused)
{
	unsigned char shorter[WH_MESSAGE_MAX];
	char group[40];
	struct node n;
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	raw_connect(&r, group, 0, 1, 2);
	ck_assert(raw_send(r.socket, shorter, wh_message_put_hello(shorter, &r.hello, 0), (int[]){r.doorbell, r.page},
			   2));
	check_refusal(&r, &n, "0 bytes of its own");
	raw_close(&r);
	node_free(&n);
}

/* ---- versions that had other messages ----------------------------------------------------------------------------- */

/* As they lay in memory, in version 3. */
struct older_head {
	uint64_t magic;
	uint32_t version, kind;
};

struct older_hello {
	struct older_head head;
	uint32_t node, nodes;
	uint64_t incarnation, claim[3];
	char group[64];
};

struct older_refused {
	struct older_head head;
	uint64_t incarnation;
	char reason[512];
};

#define OLDER_HEAD(of_kind)                                                                                            \
	{                                                                                                              \
		.magic = UINT64_C(0x6d68732d6c726877), .version = 3, .kind = (of_kind)                                 \
	}

/* A node, or a visitor, of version 3: it is told so in its own words, and then there is the end. */
TEST_LOOP(those_of_version_3_are_told_so, 0, 2)
{
	const struct older_hello hello = {.head = OLDER_HEAD(1), .node = 1, .nodes = 2, .incarnation = 42};
	const struct older_head query = OLDER_HEAD(7);
	struct older_refused told;
	ssize_t got = -1;
	char group[40];
	struct node n;
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	for (int again = 0; again < 2; again++) {
		raw_connect(&r, group, 0, 1, 2);
		if (_i == 0)
			ck_assert(raw_send(r.socket, &hello, sizeof(hello), (int[]){r.doorbell, r.page}, 2));
		else
			ck_assert(raw_send(r.socket, &query, sizeof(query), NULL, 0));
		NODE_UNTIL(&n, (got = recv(r.socket, &told, sizeof(told), MSG_DONTWAIT)) >= 0);
		ck_assert_int_eq(got, sizeof(told));
		ck_assert_uint_eq(told.head.magic, hello.head.magic);
		ck_assert_uint_eq(told.head.version, WH_SHM_VERSION);
		ck_assert_uint_eq(told.head.kind, 5);
		ck_assert_uint_eq(told.incarnation, INCARNATION(0));
		ck_assert_msg(strstr(told.reason,
				     again == 0 || _i == 1 ? "version 3 of the protocol" : "is gone for good") != NULL,
			      "%s", told.reason);
		ck_assert_int_eq(recv(r.socket, &told, sizeof(told), MSG_DONTWAIT), 0);
		raw_close(&r);
	}
	ck_assert_uint_eq(n.refused, _i == 0); /* a visitor is nothing to it */
	ck_assert_uint_eq(n.met + n.down + n.query, 0);
	node_free(&n);
}

/* Half of a hello of theirs, one of a version that never had such messages, and another message of theirs are garbage. */
TEST_LOOP(what_is_nothing_in_version_3_either, 0, 3)
{
	struct older_hello hello = {.head = OLDER_HEAD(_i == 2 ? 3 : 1), .node = 1, .nodes = 2, .incarnation = 42};
	char group[40];
	struct node n;
	struct raw r;

	node_make(&n, new_group(group), 0, 2);
	raw_connect(&r, group, 0, 1, 2);
	if (_i == 1)
		hello.head.version = WH_SHM_VERSION;
	ck_assert(raw_send(r.socket, &hello, _i == 0 ? sizeof(hello.head) : sizeof(hello), NULL, 0));
	ck_assert_int_eq(raw_receive(&r, &n), WH_WIRE_ENDED);
	ck_assert_uint_eq(n.refused + n.met, 0);
	raw_close(&r);
	node_free(&n);
}

/* ---- others of this version --------------------------------------------------------------------------------------- */

/* Nodes, this time, that disagree on how many they are. */
TEST(nodes_of_different_counts_refuse_each_other)
{
	char group[40];
	struct node a, b;

	node_make(&a, new_group(group), 0, 2);
	node_make(&b, group, 1, 3);
	NODE_UNTIL(&a, (node_pass(&b), a.refused == 1 && b.refused == 1));
	ck_assert_msg(strstr(a.text, "refused node 1") != NULL, "%s", a.text);
	ck_assert_msg(strstr(b.text, "refused by node 0") != NULL, "%s", b.text);
	ck_assert_msg(strstr(b.text, "node 1 is of a group of 3 nodes, node 0 of one of 2") != NULL, "%s", b.text);
	node_free(&a);
	node_free(&b);
}

/* A node that the group does not need is told so; the group goes on. */
TEST(a_node_too_many_is_refused_alone)
{
	char group[40];
	struct node n[2], third;

	new_group(group);
	for (uint32_t id = 0; id < 2; id++) {
		node_make(&n[id], group, id, 2);
		node_open(&n[id], ROW_BYTES);
	}
	node_make(&third, group, 2, 3);
	NODE_UNTIL(&third, (node_pass(&n[0]), node_pass(&n[1]), third.refused == 2));
	meet_each_other(&n[0], &n[1]);
	ck_assert_uint_eq(third.down, 0);
	node_free(&third);
	for (int k = 0; k < 20; k++) {
		node_pass(&n[0]);
		node_pass(&n[1]);
	}
	meet_each_other(&n[0], &n[1]);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* In a process of its own: says hello as node 1, without its name, and must be turned away for that reason. */
static int usurp(const char *group)
{
	uint64_t deadline = test_now() + PATIENCE_NS;
	enum wh_wire_result what = WH_WIRE_LATER;
	struct raw r;

	raw_connect(&r, group, 0, 1, 2);
	r.hello.incarnation = 77;
	raw_say_hello(&r);
	while (what == WH_WIRE_LATER && test_now() < deadline)
		what = wh_shm_datagram_receive(r.socket, &r.got);
	return what == WH_WIRE_DONE && wh_message_head_take(&r.head, r.got.bytes) &&
			       strstr(raw_refusal(&r).reason, "is here already") != NULL
		       ? 0
		       : 1;
}

/* No process gets the place of a node that is here, nor does one that was come back as if nothing had been. */
TEST(a_place_is_taken_once)
{
	char group[40], pid[40];
	struct wh_error err;
	struct node n[2], again;
	int status = 1;
	pid_t child;

	new_group(group);
	snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
	for (uint32_t id = 0; id < 2; id++) {
		node_make(&n[id], group, id, 2);
		node_open(&n[id], ROW_BYTES);
	}
	meet_each_other(&n[0], &n[1]);
	ck_assert_int_eq(node_try(&again, group, 1, 2, WH_HUGE_OFF, &err), WHORL_REFUSED);
	ck_assert_msg(strstr(err.text, "node 1 of group test-") != NULL &&
			      strstr(err.text, "is already running") != NULL && strstr(err.text, pid) != NULL,
		      "%s", err.text);
	child = spawn(usurp, group);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), waitpid(child, &status, WNOHANG) == child));
	ck_assert_int_eq(status, 0);
	meet_each_other(&n[0], &n[1]);

	node_free(&n[1]);
	NODE_UNTIL(&n[0], n[0].down == 1);
	node_make(&n[1], group, 1, 2);
	NODE_UNTIL(&n[1], (node_pass(&n[0]), n[1].refused == 1));
	ck_assert_msg(strstr(n[1].text, "is gone for good") != NULL, "%s", n[1].text);
	ck_assert_uint_eq(n[0].down, 1);
	ck_assert_uint_eq(n[0].refused, 0);
	node_free(&n[0]);
	node_free(&n[1]);
}

TEST_SUITE("shm and strangers")

int main(void)
{
	return test_main(suite());
}
