/* Pushes of the RDMA transport against a device of this test's own: one that breaks if it is given more than its queue holds,
 * which Soft-RoCE does not. */
#include <stddef.h>
#include <string.h>

#include "tests/harness.h"
#include "transport/verbs/verbs_int.h"

#define ROW_BYTES 65536
#define PEER_AT UINT64_C(0x100000000)
#define WORDS 32 /* at the beginning of the row, each pushed in turn */

/* What the device has been given, oldest first. It reads bytes when it carries a request out, and inline ones at once. */
struct given {
	uint64_t number, offset;
	unsigned char copy[WH_VERBS_INLINE];
	uint32_t bytes;
	bool inlined, signalled, rings;
};

struct lab {
	struct wh_verbs *t;
	struct wh_verbs_image image;
	struct wh_verbs_row row;
	struct wh_session_row state;
	uint32_t touched[1];
	unsigned char own[ROW_BYTES], peer[ROW_BYTES];

	struct ibv_context context;
	struct ibv_qp pair;
	struct ibv_cq cq, in;
	struct ibv_mr mr;

	struct given given[WH_VERBS_DEPTH];
	uint64_t given_in, given_out; /* requests */
	struct ibv_wc done[WH_VERBS_DEPTH];
	uint64_t done_in, done_out; /* completions */
	uint64_t doorbells, rings;
	uint64_t most; /* that were outstanding at a time */
	uint64_t dice;
};

static struct lab *lab_of(struct ibv_context *context)
{
	return (struct lab *)((char *)context - offsetof(struct lab, context));
}

static uint64_t roll(struct lab *lab, uint64_t below)
{
	lab->dice = lab->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (lab->dice >> 33) % below;
}

/* ---- the device --------------------------------------------------------------------------------------------------- */

static void take_request(struct lab *lab, const struct ibv_send_wr *request)
{
	struct given *given = &lab->given[lab->given_in % WH_VERBS_DEPTH];

	ck_assert_msg(lab->given_in - lab->given_out < WH_VERBS_DEPTH, "more than the queue holds");
	ck_assert_int_eq(request->num_sge, 1);
	*given = (struct given){.number = request->wr_id,
				.offset = request->wr.rdma.remote_addr - PEER_AT,
				.bytes = request->sg_list->length,
				.inlined = (request->send_flags & IBV_SEND_INLINE) != 0,
				.signalled = (request->send_flags & IBV_SEND_SIGNALED) != 0,
				.rings = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM};
	ck_assert_uint_le(given->offset + given->bytes, ROW_BYTES);
	if (given->inlined) {
		ck_assert_uint_le(given->bytes, sizeof(given->copy));
		memcpy(given->copy, (const void *)(uintptr_t)request->sg_list->addr, given->bytes);
	}
	lab->given_in++;
	lab->rings += given->rings;
	if (lab->given_in - lab->given_out > lab->most)
		lab->most = lab->given_in - lab->given_out;
}

static int post_send(struct ibv_qp *pair, struct ibv_send_wr *chain, struct ibv_send_wr **bad)
{
	struct lab *lab = lab_of(pair->context);

	(void)bad;
	lab->doorbells++;
	for (; chain != NULL; chain = chain->next) {
		ck_assert(chain->next == NULL || chain->opcode == IBV_WR_RDMA_WRITE); /* the woken end sees all of it */
		take_request(lab, chain);
	}
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *out)
{
	struct lab *lab = lab_of(cq->context);
	int count = 0;

	for (; cq == &lab->cq && count < room && lab->done_out != lab->done_in; count++)
		out[count] = lab->done[lab->done_out++ % WH_VERBS_DEPTH];
	return count;
}

/* The oldest is carried out. */
static void finish_one(struct lab *lab)
{
	const struct given *given = &lab->given[lab->given_out++ % WH_VERBS_DEPTH];

	memcpy(lab->peer + given->offset, given->inlined ? given->copy : lab->own + given->offset, given->bytes);
	if (given->signalled)
		lab->done[lab->done_in++ % WH_VERBS_DEPTH] =
			(struct ibv_wc){.wr_id = given->number, .status = IBV_WC_SUCCESS};
}

static struct lab *lab_make(void)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	lab->t = calloc(1, sizeof(*lab->t));
	lab->t->env = wh_env_system();
	lab->context.ops.post_send = post_send;
	lab->context.ops.poll_cq = poll_cq;
	lab->pair.context = lab->cq.context = lab->in.context = &lab->context;
	lab->t->device.in = &lab->in;
	lab->image.base.base =
		(struct wh_image){.transport = &lab->t->base.base, .own = lab->own, .members = 1, .my_rank = 1};
	lab->image.rows = &lab->row;
	lab->image.base.rows = &lab->state;
	lab->image.mr = &lab->mr;
	lab->image.touched = lab->touched;
	lab->row.out.qp = &lab->pair;
	lab->row.out.cq = &lab->cq;
	lab->row.out.count = wh_verbs_count(WH_VERBS_DEPTH);
	lab->row.out.places = calloc(1, sizeof(*lab->row.out.places));
	lab->row.out.places[0] = (struct wh_verbs_place){0, ROW_BYTES, PEER_AT};
	lab->row.out.place_count = 1;
	lab->row.out.open = true;
	lab->dice = test_seed(1);
	return lab;
}

static void lab_free(struct lab *lab)
{
	free(lab->row.out.queue);
	free(lab->row.out.places);
	free(lab->t);
	free(lab);
}

/* ---- pushes ------------------------------------------------------------------------------------------------------- */

static const uint32_t the_peer[] = {0};

static struct wh_push word(uint64_t offset, uint64_t value)
{
	return (struct wh_push){.kind = WH_PUSH_WORD, .offset = offset, .value = value, .to = the_peer, .to_count = 1};
}

/* Number k: 200 bytes of the row, all of them k, and the word behind them. */
static void push_number(struct lab *lab, uint64_t k)
{
	uint64_t at = 1024 + k % 256 * 200;
	struct wh_push pushes[] = {
		{.kind = WH_PUSH_BYTES, .offset = at, .bytes = 200, .to = the_peer, .to_count = 1, .no_wake = true},
		word(k % WORDS * 8, k),
	};

	memset(lab->own + at, (int)(k & 0xff), 200);
	wh_verbs_post(&lab->image.base.base, pushes, 2);
}

static uint64_t seen(const struct lab *lab)
{
	uint64_t most = 0, value;

	for (uint32_t i = 0; i < WORDS; i++) {
		memcpy(&value, lab->peer + i * sizeof(value), sizeof(value));
		most = value > most ? value : most;
	}
	return most;
}

/* Whatever is pushed, and however late the device is, it has no more than its queue holds; and everything arrives in
 * order. */
TEST(the_queue_is_never_overrun)
{
	struct lab *lab = lab_make();
	uint64_t pushed = 0, last = 0;

	for (int round = 0; round < 1000; round++) {
		lab->t->gathers = roll(lab, 2) == 0;
		for (uint64_t burst = roll(lab, 100); burst > 0 && pushed - seen(lab) < 200; burst--)
			push_number(lab, ++pushed);
		wh_verbs_flush(lab->t, &lab->image);
		for (uint64_t burst = roll(lab, 300); burst > 0 && lab->given_out < lab->given_in; burst--) {
			finish_one(lab);
			ck_assert_uint_ge(seen(lab), last);
			last = seen(lab);
			ck_assert_uint_eq(lab->peer[1024 + last % 256 * 200], last & 0xff);
		}
		(void)wh_verbs_out_advance(lab->t, &lab->image, &lab->row);
	}
	for (int i = 0; i < 1000 && seen(lab) < pushed; i++) {
		while (lab->given_out < lab->given_in)
			finish_one(lab);
		(void)wh_verbs_out_advance(lab->t, &lab->image, &lab->row);
	}
	ck_assert_uint_eq(seen(lab), pushed);
	ck_assert_uint_gt(pushed, 10000);
	ck_assert_uint_eq(lab->row.out.failed_ns, 0);
	ck_assert_uint_eq(lab->most, WH_VERBS_DEPTH);
	lab_free(lab);
}

/* What a pass pushes leaves at its end, as one chain that rings once; without a pass it leaves at once. */
TEST(a_pass_is_one_chain)
{
	struct lab *lab = lab_make();
	struct wh_push other = word(512, 7);

	push_number(lab, 1);
	ck_assert_uint_eq(lab->doorbells, 1);
	ck_assert_uint_eq(lab->given_in, 2);
	lab->t->gathers = true;
	push_number(lab, 2);
	push_number(lab, 3);
	wh_verbs_post(&lab->image.base.base, &other, 1);
	ck_assert_uint_eq(lab->doorbells, 1);
	wh_verbs_flush(lab->t, &lab->image);
	ck_assert_uint_eq(lab->doorbells, 2);
	ck_assert_uint_eq(lab->given_in, 7);
	ck_assert_uint_eq(lab->rings, 2);
	wh_verbs_flush(lab->t, &lab->image);
	ck_assert_uint_eq(lab->doorbells, 2);
	lab_free(lab);
}

/* A word is what it was when it was pushed (T4); the same word twice in a row is one write. */
TEST(words_are_copied_when_pushed)
{
	struct lab *lab = lab_make();
	struct wh_push first = word(0, 1), second = word(8, 2), third = word(8, 3);
	uint64_t value;

	lab->t->gathers = true;
	wh_verbs_post(&lab->image.base.base, &first, 1);
	wh_verbs_post(&lab->image.base.base, &second, 1);
	wh_verbs_post(&lab->image.base.base, &third, 1);
	memset(lab->own, 0xff, 16);
	wh_verbs_flush(lab->t, &lab->image);
	ck_assert_uint_eq(lab->given_in, 2);
	finish_one(lab);
	finish_one(lab);
	memcpy(&value, lab->peer, sizeof(value));
	ck_assert_uint_eq(value, 1);
	memcpy(&value, lab->peer + 8, sizeof(value));
	ck_assert_uint_eq(value, 3);
	lab_free(lab);
}

static void finish_all(struct lab *lab)
{
	while (lab->given_out < lab->given_in)
		finish_one(lab);
}

static uint64_t word_at_peer(const struct lab *lab, uint64_t offset)
{
	uint64_t value;

	memcpy(&value, lab->peer + offset, sizeof(value));
	return value;
}

static struct wh_push beside(uint64_t offset, uint64_t value)
{
	struct wh_push push = word(offset, value);

	push.may_reorder = true;
	return push;
}

/* Neighbours, each beside the one before, are one write, with their last values; what is not beside comes behind them. */
TEST(words_that_stand_beside_are_one_write)
{
	struct lab *lab = lab_make();
	const struct wh_push pushes[] = {word(8, 1),   beside(16, 2), beside(24, 3), beside(16, 4),
					 beside(0, 5), beside(32, 6), word(0, 7),    beside(16, 8)};

	lab->t->gathers = true;
	wh_verbs_post(&lab->image.base.base, pushes, sizeof(pushes) / sizeof(pushes[0]));
	wh_verbs_flush(lab->t, &lab->image);
	ck_assert_uint_eq(lab->doorbells, 1);
	ck_assert_uint_eq(lab->given_in, 4); /* 0 to 24, as many as there may be; 32; 0; 16 */
	finish_one(lab);
	for (uint64_t i = 0; i < 5; i++)
		ck_assert_uint_eq(word_at_peer(lab, 8 * i), ((const uint64_t[]){5, 1, 4, 3, 0})[i]);
	finish_one(lab);
	ck_assert_uint_eq(word_at_peer(lab, 32), 6);
	finish_one(lab);
	ck_assert_uint_eq(word_at_peer(lab, 0), 7);
	ck_assert_uint_eq(word_at_peer(lab, 16), 4);
	finish_one(lab);
	ck_assert_uint_eq(word_at_peer(lab, 16), 8);
	lab_free(lab);
}

#define MANY 20000
#define FEW_WORDS 7

struct history {
	uint64_t pushed;
	uint64_t offsets[MANY + 1], run[MANY + 1]; /* of push k, with value k: with which it may be seen together */
};

static void push_any(struct lab *lab, struct history *history)
{
	uint64_t k = ++history->pushed;
	struct wh_push push = word(roll(lab, FEW_WORDS) * 8, k);

	push.may_reorder = roll(lab, 3) > 0;
	push.may_delay = roll(lab, 4) == 0;
	history->offsets[k] = push.offset;
	history->run[k] = push.may_reorder && k > 1 ? history->run[k - 1] : k;
	wh_verbs_post(&lab->image.base.base, &push, 1);
}

/* Of a push that is seen all has been seen that was pushed before its run of words beside each other. */
static void check_order(const struct lab *lab, const struct history *history, uint64_t *seen_before)
{
	uint64_t most = *seen_before;

	for (uint64_t i = 0; i < FEW_WORDS; i++) {
		uint64_t k = word_at_peer(lab, 8 * i);

		if (k > 0 && history->run[k] - 1 > most)
			most = history->run[k] - 1;
	}
	for (uint64_t j = *seen_before + 1; j <= most; j++)
		ck_assert_uint_ge(word_at_peer(lab, history->offsets[j]), j);
	*seen_before = most;
}

TEST(only_what_stands_beside_may_come_before)
{
	struct history *history = calloc(1, sizeof(*history));
	struct lab *lab = lab_make();
	uint64_t before = 0;

	while (history->pushed < MANY) {
		lab->t->gathers = roll(lab, 4) > 0;
		for (uint64_t burst = roll(lab, 20); burst > 0 && history->pushed < MANY; burst--)
			push_any(lab, history);
		wh_verbs_flush_pass(lab->t, &lab->image);
		for (uint64_t burst = roll(lab, 20); burst > 0 && lab->given_out < lab->given_in; burst--) {
			finish_one(lab);
			check_order(lab, history, &before);
		}
		(void)wh_verbs_out_advance(lab->t, &lab->image, &lab->row);
	}
	for (int i = 0; i < 1000; i++) {
		wh_verbs_flush(lab->t, &lab->image);
		finish_all(lab);
		(void)wh_verbs_out_advance(lab->t, &lab->image, &lab->row);
	}
	for (uint64_t k = MANY - 100; k <= MANY; k++)
		ck_assert_uint_ge(word_at_peer(lab, history->offsets[k]), k);
	ck_assert_uint_lt(lab->given_in, MANY);
	lab_free(lab);
	free(history);
}

/* What is patient goes with what is not, or when its time is up. */
TEST(patient_words_wait_for_company)
{
	struct lab *lab = lab_make();
	struct wh_push alone = word(0, 1), other = word(512, 2);
	uint64_t end = wh_env_now(lab->t->env) + WH_NS_PER_S;

	alone.may_delay = true;
	lab->t->gathers = true;
	wh_verbs_post(&lab->image.base.base, &alone, 1);
	wh_verbs_flush_pass(lab->t, &lab->image);
	ck_assert_uint_eq(lab->doorbells, 0);
	wh_verbs_post(&lab->image.base.base, &other, 1);
	wh_verbs_flush_pass(lab->t, &lab->image);
	ck_assert_uint_eq(lab->doorbells, 1);
	ck_assert_uint_eq(lab->given_in, 2);
	alone.value = 3;
	wh_verbs_post(&lab->image.base.base, &alone, 1);
	while (lab->doorbells == 1 && wh_env_now(lab->t->env) < end)
		wh_verbs_flush_pass(lab->t, &lab->image);
	ck_assert_uint_eq(lab->doorbells, 2);
	finish_all(lab);
	ck_assert_uint_eq(word_at_peer(lab, 0), 3);
	lab_free(lab);
}

/* ---- the time-out --------------------------------------------------------------------------------------------------- */

/* Within a failure time-out a lost packet can be sent again, and the device gives no peer up before the heartbeat does. */
TEST(the_heartbeat_decides)
{
	for (uint64_t ms = 1; ms <= 600000; ms += ms / 7 + 1) {
		uint64_t failure_ns = ms * WH_NS_PER_MS;
		uint8_t timeout = wh_verbs_timeout(failure_ns);
		uint64_t once_ns = UINT64_C(4096) << timeout;

		ck_assert_uint_ge(timeout, WH_VERBS_TIMEOUT_LEAST);
		ck_assert_uint_le(timeout, WH_VERBS_TIMEOUT_MOST);
		if (timeout > WH_VERBS_TIMEOUT_LEAST)
			ck_assert_uint_le(3 * once_ns, failure_ns);
		if (failure_ns < 8 * (UINT64_C(4096) << WH_VERBS_TIMEOUT_MOST))
			ck_assert_uint_gt((WH_VERBS_RETRIES + 1) * once_ns, failure_ns);
	}
	ck_assert_uint_eq(wh_verbs_timeout(WH_NS_PER_S), 16);
	ck_assert_uint_eq(wh_verbs_timeout(10 * WH_NS_PER_S), 17);
}

TEST_SUITE("verbs_out")
