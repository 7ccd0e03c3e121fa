/* test_delegate_wakes.c - what lies in the slots of a trustee that sleeps is seen: it is woken by the thread that leaves it there, unless that
 * will ask again. The workers have no threads: the test puts them to sleep, and lends one, as another thread would have it that has
 * looked into the slots already.
 */
#include "delegation/delegation_int.h"

#include "tests/support/delegate_lab.h"

static whorl_work *work;
static struct whorl_trust proxied, direct; /* one that goes by worker 0 to worker 1, and one of worker 0 */
static int ended;

static void settle(void)
{
	for (int i = 0; i < 50; i++) {
		for (uint32_t worker = 0; worker < work->workers; worker++)
			wh_work_step(work, worker);
		wh_look(wh_party_here(work));
	}
}

static void sleeps(uint32_t worker)
{
	struct wh_loop *loop = &work->parties[worker]->worker->loop;

	ck_assert_uint_eq(wh_loop_arm(loop), 0);
	wh_gate_lend(loop->gate);
}

static bool is_rung(uint32_t worker)
{
	return (wh_gate_state(work->parties[worker]->gate) & WH_GATE_PARKED) == 0;
}

static void wakes(uint32_t worker)
{
	struct wh_loop *loop = &work->parties[worker]->worker->loop;

	ck_assert(wh_gate_take_back(loop->gate));
	wh_loop_disarm(loop);
}

/* Another thread has borrowed it, and has seen that there is nothing. */
static void is_borrowed(uint32_t worker)
{
	ck_assert(wh_gate_borrow(work->parties[worker]->gate));
}

static void is_given_back(uint32_t worker)
{
	wh_gate_give_back(work->parties[worker]->gate);
}

static void note_end(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	(void)answer;
	(void)bytes;
	(void)ctx;
	ck_ok(result);
	ended++;
}

WHORL_FUNCTION(make_trusts, struct whorl_none, struct whorl_none, struct whorl_none, 0)
{
	struct whorl_trust moved;

	ck_ok(whorl_entrust(work, at(0), &text_type, NULL, 0, &direct, 1000));
	ck_ok(whorl_entrust(work, at(0), &text_type, NULL, 0, &proxied, 1000));
	ck_ok(whorl_trust_clone(&proxied, &moved));
	ck_ok(whorl_trust_move(&moved, at(1), 1000));
	ck_ok(whorl_trust_send(&proxied, at(WHORL_WORKER_ANY)));
	ck_ok(whorl_trust_send(&direct, at(WHORL_WORKER_ANY)));
	ended = 0;
}

static void open_stepped(void)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};
	struct wh_error err;

	ck_ok(wh_work_make(&options, wh_env_system(), WHORL_NODE_HERE, false, &work, &err));
	ended = -1;
	ck_ok(whorl_spawn(work, at(0), make_trusts, NULL, NULL));
	settle();
	ck_assert_int_eq(ended, 0);
}

static void close_stepped(void)
{
	settle();
	ck_ok(whorl_work_close(work, 0));
}

/* The thread that has borrowed worker 0 sends on what comes there; worker 0 sleeps, and does not ask again. */
TEST(what_is_sent_on_by_a_borrower)
{
	static const unsigned char data[600];

	open_stepped();
	sleeps(0);
	sleeps(1);
	is_borrowed(1);
	ck_ok(whorl_apply_bytes_then(&proxied, text_same, data, sizeof(data), note_end, NULL));
	ck_assert(is_rung(1));
	is_given_back(1);
	wakes(0);
	wakes(1);
	settle();
	ck_assert_int_eq(ended, 1);
	close_stepped();
}

/* A thread that polls sends what waits, and may not come again. */
TEST(what_a_poll_sends)
{
	open_stepped();
	sleeps(0);
	for (int i = 0; i < 2; i++) /* the second waits for the answer of the first */
		ck_ok(whorl_apply_bytes_then(&direct, text_same, "text", 4, note_end, NULL));
	is_borrowed(0);
	ck_ok(whorl_poll(work, 1000));
	ck_assert_int_eq(ended, 1);
	ck_assert(is_rung(0));
	is_given_back(0);
	wakes(0);
	settle();
	ck_assert_int_eq(ended, 2);
	close_stepped();
}

/* The rest of a long answer is asked for by a thread that has looked for it on its way. */
TEST(the_rest_of_a_long_answer)
{
	static const unsigned char data[1000];
	struct whorl_trust other;

	open_stepped();
	ck_ok(whorl_trust_clone(&direct, &other));
	settle();
	sleeps(0);
	ck_ok(whorl_apply_bytes_then(&direct, text_twice, data, sizeof(data), note_end, NULL));
	is_borrowed(0);
	ck_ok(whorl_trust_drop(&other));
	ck_assert_int_eq(ended, 0);
	ck_assert(is_rung(0));
	is_given_back(0);
	wakes(0);
	settle();
	ck_assert_int_eq(ended, 1);
	close_stepped();
}

TEST_SUITE("delegate_wakes")
