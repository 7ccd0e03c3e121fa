/* test_session_random.c - three sessions on a wire in memory (fake_wire.h): what has come is heard in any order, time leaps, calls are
 * given up, nodes end and come again.
 * Labels: random
 *
 * At each step: an incarnation is met once, and then ends at most once, before the next is met; messages come while it is met, in
 * order, each once. When there are no faults any more all meet.
 */
#include "tests/support/fake_wire.h"
#include "transport/dice.h"

#define RUNS 400
#define STEPS 300
#define LIVES 64 /* of all nodes in a run */

struct seen {          /* by one life of a node, of a peer */
	uint64_t met;  /* which; 0: none */
	uint32_t next; /* of its messages */
	bool ended[LIVES];
};

static struct fake_net net;
static struct wh_dice dice;
static struct seen seen[FAKE_NODES][FAKE_NODES];
static uint32_t sent[FAKE_NODES][FAKE_NODES]; /* since the present lives have met */
static uint64_t lives;
static bool lazy, slow; /* in this run: nodes seldom listen; greetings take their time */

static uint32_t pick(uint32_t below)
{
	return (uint32_t)wh_dice_below(&dice, below);
}

/* ---- what is told --------------------------------------------------------------------------------------------------- */

static void look_at_event(uint32_t node, const struct wh_transport_event *event)
{
	struct seen *of = &seen[node][event->node];
	uint32_t number;

	switch (event->kind) {
	case WH_EVENT_PEER_MET:
		ck_assert_uint_eq(of->met, 0);
		ck_assert(event->incarnation > 0 && event->incarnation <= lives && !of->ended[event->incarnation]);
		of->met = event->incarnation;
		of->next = sent[node][event->node] = 0;
		break;
	case WH_EVENT_PEER_DOWN:
	case WH_EVENT_PEER_LEFT:
		ck_assert_uint_eq(of->met, event->incarnation);
		of->ended[of->met] = true;
		of->met = 0;
		break;
	case WH_EVENT_CONTROL:
		ck_assert_uint_eq(of->met, event->incarnation);
		memcpy(&number, event->text, sizeof(number));
		ck_assert_uint_eq(number, of->next++);
		break;
	default:
		ck_abort_msg("an event of kind %d: %s", (int)event->kind, event->text);
	}
}

static void take_events(void)
{
	static struct wh_transport_event event;

	for (uint32_t id = 0; id < FAKE_NODES; id++)
		while (net.node[id].session != NULL && wh_session_next_event(net.node[id].session, &event))
			look_at_event(id, &event);
}

/* ---- what happens --------------------------------------------------------------------------------------------------- */

static void open_node(uint32_t id)
{
	memset(seen[id], 0, sizeof(seen[id]));
	fake_open(&net, id, ++lives);
}

static void end_node(uint32_t id, bool leaves)
{
	if (leaves)
		wh_session_leave(net.node[id].session);
	fake_kill(&net, id);
}

/* One connection of a node, whichever. */
static void hear_one(uint32_t id)
{
	struct wh_session *s = net.node[id].session;
	uint32_t from = pick(wh_session_slots(s));

	for (uint32_t i = 0; i < wh_session_slots(s); i++) {
		uint32_t slot = (from + i) % wh_session_slots(s);
		struct fake_end *end = fake_of(wh_session_conn(s, slot));

		if (end == NULL || !end->ready || !end->watched || wh_session_is_full(s))
			continue;
		end->ready = false;
		(void)wh_session_on_ready(s, slot);
		return;
	}
}

/* The greeting of one connection of a node, or of all, is over: what was said on it long ago is heard now. */
static void greet(uint32_t id, bool all)
{
	const struct wh_session *s = net.node[id].session;
	uint32_t from = pick(wh_session_slots(s));

	for (uint32_t i = 0; i < wh_session_slots(s); i++) {
		struct fake_end *end = fake_of(wh_session_conn(s, (from + i) % wh_session_slots(s)));

		if (end == NULL || end->greets == WH_WIRE_DONE)
			continue;
		end->greets = WH_WIRE_DONE;
		end->ready = true;
		if (!all)
			return;
	}
}

static void send_one(uint32_t id)
{
	uint32_t to = (id + 1 + pick(FAKE_NODES - 1)) % FAKE_NODES;

	take_events(); /* it may just have been met */
	if (wh_session_control_send(net.node[id].session, to, &sent[id][to], sizeof(sent[id][to])) == WHORL_OK)
		sent[id][to]++;
}

static void leap(uint32_t id)
{
	net.fake.now_ns += pick(3) == 0 ? pick(1500) * WH_NS_PER_MS : pick(5000) * WH_NS_PER_US;
	net.node[id].wire.alarm_ns = 0;
	(void)wh_session_on_timer(net.node[id].session);
}

static void step(uint32_t id)
{
	if (net.node[id].session == NULL) {
		if (pick(4) == 0)
			open_node(id);
		return;
	}
	switch (pick(12)) {
	case 0:
		wh_session_on_caller(net.node[id].session);
		break;
	case 1:
		send_one(id);
		break;
	case 2:
		leap(id);
		break;
	case 3:
		(void)wh_session_service(net.node[id].session);
		break;
	case 4:
		if (pick(10) == 0 && lives < LIVES - FAKE_NODES - 1)
			end_node(id, pick(2) == 0);
		break;
	case 5:
		take_events();
		break;
	case 6:
		greet(id, false);
		break;
	default:
		if (!lazy || pick(4) == 0)
			hear_one(id);
		break;
	}
}

static void draw_greetings(bool slowly)
{
	for (uint32_t id = 0; id < FAKE_NODES; id++)
		net.node[id].wire.greets = slowly && pick(2) == 0 ? WH_WIRE_LATER : WH_WIRE_DONE;
}

/* ---- the end -------------------------------------------------------------------------------------------------------- */

static bool all_have_met(void)
{
	for (uint32_t a = 0; a < FAKE_NODES; a++)
		for (uint32_t b = 0; b < FAKE_NODES; b++)
			if (a != b && seen[a][b].met != net.node[b].session->incarnation)
				return false;
	return true;
}

static void rest(void)
{
	draw_greetings(false);
	for (uint32_t id = 0; id < FAKE_NODES; id++) {
		if (net.node[id].session == NULL)
			open_node(id);
		greet(id, true);
		for (uint32_t i = 0; i < net.node[id].wire.waiting; i++)
			net.node[id].wire.backlog[i]->greets = WH_WIRE_DONE;
	}
	for (int i = 0; i < 8000 && !all_have_met(); i++) {
		net.fake.now_ns += WH_NS_PER_MS;
		for (uint32_t id = 0; id < FAKE_NODES; id++)
			if (net.node[id].wire.alarm_ns != 0 && net.node[id].wire.alarm_ns <= net.fake.now_ns) {
				net.node[id].wire.alarm_ns = 0;
				(void)wh_session_on_timer(net.node[id].session);
			}
		for (int k = 0; k < 4; k++) {
			fake_hear(&net);
			take_events();
		}
	}
}

/* A descriptor, a connection or a place that is without a peer would be one too many. */
static void count_connections(void)
{
	for (uint32_t id = 0; id < FAKE_NODES; id++) {
		const struct wh_session *s = net.node[id].session;
		uint32_t count = 0;

		for (uint32_t slot = 0; slot < wh_session_slots(s); slot++)
			count += wh_session_conn(s, slot) != NULL;
		ck_assert_uint_eq(count, FAKE_NODES - 1);
	}
}

TEST_CASE("random", .timeout_s = 30);

TEST(all_meet_in_the_end)
{
	uint64_t first = test_seed(1);

	for (uint64_t seed = first; seed < first + RUNS; seed++) {
		dice = wh_dice_split(seed, 0);
		fake_net_init(&net);
		memset(seen, 0, sizeof(seen));
		memset(sent, 0, sizeof(sent));
		lives = 0;
		lazy = pick(2) == 0;
		slow = pick(2) == 0;
		for (int i = 0; i < STEPS; i++) {
			draw_greetings(slow);
			step(pick(FAKE_NODES));
		}
		take_events();
		rest();
		ck_assert_msg(all_have_met(), "seed %" PRIu64 ": not all have met", seed);
		net.fake.now_ns += 2 * WH_SESSION_STRANGER_NS;
		for (uint32_t id = 0; id < FAKE_NODES; id++)
			(void)wh_session_on_timer(net.node[id].session);
		for (int k = 0; k < 20; k++) {
			fake_hear(&net);
			take_events();
		}
		ck_assert(all_have_met());
		count_connections();
		fake_net_free(&net);
	}
}

TEST_SUITE("session_random")
