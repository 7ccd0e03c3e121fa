/* test_session_complaints.c - what a session complains of is counted by kind, and each kind is logged by itself. On a wire in memory
 * (fake_wire.h): node 0 has the session. */
#include "tests/support/fake_wire.h"

#define LIFE 201 /* of the nodes that are played */
#define PLACES WH_SESSION_STRANGERS

static struct fake_net net;
static uint64_t counts[WH_COMPLAINTS];

static void setup(void)
{
	fake_net_init(&net);
}

static void teardown(void)
{
	fake_net_free(&net);
}

static void begin(void)
{
	fake_open(&net, 0, fake_life(0));
	fake_advance(&net, WH_NS_PER_MS);
}

/* Node 1 listens, and has been called. */
static struct fake_end *begin_calling(void)
{
	net.node[1].wire.listens = true;
	begin();
	return fake_accept(&net, 1);
}

static void hang_up(struct fake_end *end)
{
	fake_close_end(end);
	fake_pump(&net);
}

/* A caller that is hung up by the session: what it says is that, and it came in the name of node 1. */
static void come_with(const struct wh_hello *hello)
{
	struct fake_end *end = fake_call(&net, 1, 0);

	if (hello != NULL)
		fake_say_hello_with(end, hello, 0, -1);
	else
		fake_say_plain(end, WH_MESSAGE_PING, 0);
	fake_pump(&net);
	ck_assert_ptr_null(end->other);
	hang_up(end);
}

/* So many of that kind, and none of another. */
static void expect(enum wh_complaint kind, uint64_t count)
{
	wh_session_complaints(net.node[0].session, counts);
	for (uint32_t i = 0; i < WH_COMPLAINTS; i++)
		ck_assert_msg(counts[i] == (i == (uint32_t)kind ? count : 0), "%u of kind %u, after %u of kind %u",
			      (unsigned)counts[i], i, (unsigned)count, (unsigned)kind);
}

static bool admits_no_node(const struct wh_conn *c, uint32_t node, uint64_t incarnation,
			   char reason[WH_MESSAGE_REASON_BYTES])
{
	(void)c, (void)node, (void)incarnation;
	snprintf(reason, WH_MESSAGE_REASON_BYTES, "its certificate says other");
	return false;
}

/* ---- at the door ----------------------------------------------------------------------------------------------------- */

TEST_CASE("complaints", .setup = setup, .teardown = teardown);

/* Where what it has proven is another node, as a node and as a stream's opener. */
TEST(callers_that_have_not_proven_what_they_say)
{
	const struct wh_opening opening = {FAKE_VERSION, 1, LIFE, fake_life(0), 66};
	const struct wh_hello hello = fake_hello(1, LIFE, 1);
	unsigned char message[WH_MESSAGE_MAX];
	struct fake_end *end;

	net.node[0].wire_ops.admits = admits_no_node;
	begin();
	come_with(&hello);
	expect(WH_COMPLAINT_UNPROVEN, 1);
	end = fake_call(&net, 1, 0);
	fake_say(end, message, wh_message_put_opening(message, &opening));
	fake_pump(&net);
	ck_assert_ptr_null(end->other);
	hang_up(end);
	expect(WH_COMPLAINT_UNPROVEN, 2);
}

/* Before its first message: the wire says what was wrong. */
TEST_LOOP(callers_that_the_wire_refuses, 0, WH_COMPLAINTS)
{
	struct fake_end *end;

	net.node[0].wire.greets = WH_WIRE_REFUSED;
	net.node[0].wire.reason = "as the wire says";
	net.node[0].wire.fault = (enum wh_complaint)_i;
	begin();
	end = fake_call(&net, 1, 0);
	fake_pump(&net);
	ck_assert_ptr_null(end->other);
	hang_up(end);
	expect((enum wh_complaint)_i, 1);
}

/* 0: it speaks another version; 1: it is of another group; 2: it has the id of this node; 3: it had ended; 4: a question. */
TEST_LOOP(callers_that_are_foreign, 0, 5)
{
	struct wh_hello hello = fake_hello(_i == 2 ? 0 : 1, LIFE, 2);
	unsigned char message[WH_MESSAGE_MAX];
	struct fake_end *end;

	begin();
	if (_i == 3)
		hang_up(fake_meet(&net, 1, LIFE, 1, 0));
	hello.version += _i == 0;
	hello.group[0] = _i == 1 ? 'h' : 'g';
	if (_i < 4) {
		come_with(&hello);
	} else {
		end = fake_call(&net, 1, 0);
		fake_say(end, message, wh_message_put_query(message, FAKE_VERSION + 1, "how?", 4));
		fake_pump(&net);
		ck_assert_ptr_null(end->other);
		hang_up(end);
	}
	expect(WH_COMPLAINT_FOREIGN, 1);
}

/* 0: no first message; 1: no message, of a stranger; 2: of a peer; 3: a peer's message that has no place. */
TEST_LOOP(what_makes_no_sense, 0, 4)
{
	struct fake_end *end;

	begin();
	if (_i == 0) {
		come_with(NULL);
	} else {
		end = _i == 1 ? fake_call(&net, 1, 0) : fake_meet(&net, 1, LIFE, 1, 0);
		if (_i == 3)
			fake_say_plain(end, WH_MESSAGE_TAKEN, 0);
		else
			end->other->broken = end->other->ready = true;
		fake_pump(&net);
		ck_assert_ptr_null(end->other);
		hang_up(end);
	}
	expect(WH_COMPLAINT_GARBLED, 1);
}

TEST(callers_that_say_nothing)
{
	struct fake_end *ends[3];

	begin();
	for (int i = 0; i < 3; i++)
		ends[i] = fake_call(&net, 1, 0);
	fake_pump(&net);
	hang_up(ends[0]); /* it went by itself */
	expect(WH_COMPLAINT_SILENT, 0);
	fake_advance(&net, WH_SESSION_SILENT_NS + WH_NS_PER_MS);
	expect(WH_COMPLAINT_SILENT, 2);
	ck_assert_uint_eq(net.fake.warnings, 0);
	hang_up(ends[1]);
	hang_up(ends[2]);
}

/* Those that make room, and those that find none where all the others have proven what they are. */
TEST(a_crowd)
{
	static struct fake_end *ends[PLACES + 2];

	begin();
	for (int i = 0; i < PLACES + 2; i++) {
		ends[i] = fake_call(&net, 1, 0);
		ends[i]->other->base.configured = false;
		ends[i]->other->base.proven = i > 0;
		fake_pump(&net);
		expect(WH_COMPLAINT_CROWDED, i < PLACES ? 0 : (uint64_t)(i - PLACES + 1));
	}
	ck_assert_ptr_null(ends[0]->other);
	ck_assert_ptr_null(ends[PLACES + 1]->other);
	ck_assert_uint_eq(net.fake.warnings, 0);
	for (int i = 0; i < PLACES + 2; i++)
		fake_close_end(ends[i]);
	fake_pump(&net);
}

/* ---- of its own calls ------------------------------------------------------------------------------------------------ */

TEST(a_peer_that_refuses)
{
	const struct wh_refused refused = {LIFE, "not with me"};
	unsigned char message[WH_REFUSED_MAX];
	struct fake_end *called = begin_calling();

	fake_say(called, message, wh_message_put_refused(message, FAKE_VERSION, &refused));
	fake_pump(&net);
	expect(WH_COMPLAINT_REFUSED, 1);
	hang_up(called);
}

/* 0: before its first message, as the wire says; 1: what it says is of another group; 2: it has not proven what it says. */
TEST_LOOP(a_peer_that_answers_is_unfit, 0, 3)
{
	static const enum wh_complaint kinds[] = {WH_COMPLAINT_REFUSED, WH_COMPLAINT_FOREIGN, WH_COMPLAINT_UNPROVEN};
	struct wh_hello hello = fake_hello(1, LIFE, 0);
	struct fake_end *called;

	if (_i == 0) {
		net.node[0].wire.greets = WH_WIRE_REFUSED;
		net.node[0].wire.reason = "it has refused";
		net.node[0].wire.fault = WH_COMPLAINT_REFUSED;
	}
	if (_i == 2)
		net.node[0].wire_ops.admits = admits_no_node;
	called = begin_calling();
	hello.group[0] = _i == 1 ? 'h' : 'g';
	if (_i > 0)
		fake_say_hello_with(called, &hello, 0, -1);
	fake_pump(&net);
	ck_assert_ptr_null(called->other);
	expect(kinds[_i], 1);
	hang_up(called);
}

TEST(a_peer_that_does_not_answer)
{
	struct fake_end *called = begin_calling();

	fake_advance(&net, WH_NS_PER_S - 5 * WH_NS_PER_MS);
	expect(WH_COMPLAINT_UNREACHED, 0);
	fake_advance(&net, 5 * WH_NS_PER_MS);
	expect(WH_COMPLAINT_UNREACHED, 1);
	hang_up(called);
	net.node[1].wire.listens = false; /* where none runs there is nothing to complain of */
	fake_advance(&net, 10 * WH_NS_PER_S);
	expect(WH_COMPLAINT_UNREACHED, 1);
}

TEST(a_peer_that_cannot_be_reached)
{
	net.node[0].wire.greets = WH_WIRE_BROKEN;
	net.node[0].wire.reason = "no route to host";
	hang_up(begin_calling());
	expect(WH_COMPLAINT_UNREACHED, 1);
}

/* ---- of its host ------------------------------------------------------------------------------------------------------ */

TEST(an_answer_that_has_no_room)
{
	unsigned char message[WH_MESSAGE_MAX];
	struct fake_end *end;

	begin();
	end = fake_call(&net, 1, 0);
	fake_say(end, message, wh_message_put_query(message, FAKE_VERSION, "how?", 4));
	fake_pump(&net);
	end->other->deaf = true;
	wh_session_answer(net.node[0].session, net.node[0].query, "so", 2);
	expect(WH_COMPLAINT_STARVED, 1);
	hang_up(end);
}

/* ---- the log ---------------------------------------------------------------------------------------------------------- */

/* The 1st, 2nd, 4th, 8th of each kind; what is noise of one kind hides none of another. */
TEST(each_kind_is_logged_by_itself)
{
	struct wh_event_queue *queue;
	unsigned before;

	begin();
	queue = wh_session_events(net.node[0].session);
	for (uint32_t kind = 0; kind < WH_COMPLAINTS; kind++) {
		before = net.fake.warnings;
		for (unsigned n = 1; n <= 20; n++) {
			wh_event_queue_complain(queue, (enum wh_complaint)kind, "kind %u, number %u", kind, n);
			ck_assert_uint_eq(net.fake.warnings - before, 1U + (n >= 2) + (n >= 4) + (n >= 8) + (n >= 16));
			if (n == 1)
				ck_assert_ptr_null(strstr(net.fake.last_warning, "so far"));
		}
		ck_assert_ptr_nonnull(strstr(net.fake.last_warning, "number 16 (16 like it so far)"));
	}
	wh_session_complaints(net.node[0].session, counts);
	for (uint32_t kind = 0; kind < WH_COMPLAINTS; kind++)
		ck_assert_uint_eq(counts[kind], 20);
}

TEST_SUITE("session_complaints")
