/* The requests that all queue pairs of the RDMA transport share for rings, and what the end of a queue pair does to them: on a device
 * of this test's own, which drops what no thread has taken of a queue pair that is destroyed, as some do. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tests/harness.h"
#include "transport/verbs/verbs_int.h"

#define QUEUE 4096 /* completions */
#define ROWS 3

struct lab {
	struct wh_transport_ops ops;
	struct wh_verbs *t;
	struct wh_verbs_image image;
	struct wh_verbs_row rows[ROWS];
	struct wh_session_row states[ROWS];
	const unsigned char *control[ROWS];
	unsigned char frozen[ROWS * 8];

	struct ibv_context context;
	struct ibv_srq srq;
	struct ibv_cq in;
	struct ibv_qp pairs[ROWS];
	struct ibv_mr keys[ROWS];

	uint32_t held, room; /* requests that wait, and how many more there may be */
	uint32_t pairs_of[QUEUE];
	uint32_t done_in, done_out;
};

static struct lab *lab_of(struct ibv_context *context)
{
	return (struct lab *)((char *)context - offsetof(struct lab, context));
}

/* ---- the device --------------------------------------------------------------------------------------------------- */

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	struct lab *lab = lab_of(srq->context);

	ck_assert_ptr_null(request->next);
	if (lab->room == 0) {
		*bad = request;
		return ENOMEM;
	}
	lab->room--;
	lab->held++;
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
	struct lab *lab = lab_of(cq->context);
	int count = 0;

	for (; count < most && lab->done_out != lab->done_in; lab->done_out++, lab->room++)
		out[count++] = (struct ibv_wc){.qp_num = lab->pairs_of[lab->done_out % QUEUE],
					       .opcode = IBV_WC_RECV_RDMA_WITH_IMM};
	return count;
}

static void ring(struct lab *lab, uint32_t rank)
{
	if (lab->pairs[rank].state == IBV_QPS_ERR || lab->held == 0)
		return;
	lab->held--;
	ck_assert_uint_lt(lab->done_in - lab->done_out, QUEUE);
	lab->pairs_of[lab->done_in++ % QUEUE] = lab->pairs[rank].qp_num;
}

int ibv_modify_qp(struct ibv_qp *pair, struct ibv_qp_attr *wanted, int mask)
{
	ck_assert_int_eq(mask, IBV_QP_STATE);
	pair->state = wanted->qp_state;
	return 0;
}

/* The peer rings as long as it can, and of the last ring it is never heard. */
int ibv_destroy_qp(struct ibv_qp *pair)
{
	struct lab *lab = lab_of(pair->context);
	uint32_t rank = pair->qp_num, kept = lab->done_out;

	for (int i = 0; i < 5; i++)
		ring(lab, rank);
	for (uint32_t i = lab->done_out; i != lab->done_in; i++)
		if (lab->pairs_of[i % QUEUE] != rank)
			lab->pairs_of[kept++ % QUEUE] = lab->pairs_of[i % QUEUE];
	lab->room += lab->done_in - kept;
	lab->done_in = kept;
	lab->held--;
	lab->room++;
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *key)
{
	(void)key;
	return 0;
}

/* ---- an image ----------------------------------------------------------------------------------------------------- */

static void wake(struct wh_transport *transport)
{
	(void)transport;
}

/* Rank 0 is this node. */
static struct lab *lab_make(void)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	lab->t = calloc(1, sizeof(*lab->t));
	lab->ops.wake = wake;
	lab->t->base.base.ops = &lab->ops;
	lab->context.ops.post_srq_recv = post_srq_recv;
	lab->context.ops.poll_cq = poll_cq;
	lab->srq.context = lab->in.context = &lab->context;
	lab->t->device.in = &lab->in;
	lab->t->device.srq = &lab->srq;
	lab->image.base.base = (struct wh_image){.ops = &lab->ops, .transport = &lab->t->base.base, .members = ROWS};
	lab->image.rows = lab->rows;
	lab->image.frozen = lab->frozen;
	lab->image.base.rows = lab->states;
	lab->image.base.control = lab->control;
	lab->room = WH_VERBS_RINGS;
	wh_verbs_device_fill(&lab->t->device);
	return lab;
}

static void lab_free(struct lab *lab)
{
	free(lab->t);
	free(lab);
}

static void open_row(struct lab *lab, uint32_t rank)
{
	lab->pairs[rank] = (struct ibv_qp){.context = &lab->context, .qp_num = rank, .state = IBV_QPS_RTR};
	lab->rows[rank].in = &lab->pairs[rank];
	lab->rows[rank].mr = &lab->keys[rank];
	lab->states[rank].frozen = false;
}

/* However many queue pairs have come and gone with rings that no thread had seen, as many rings as ever can come. */
TEST(no_request_is_lost_with_a_queue_pair)
{
	struct lab *lab = lab_make();

	ck_assert_uint_eq(lab->held, WH_VERBS_RINGS);
	for (int round = 0; round < 1000; round++) {
		for (uint32_t rank = 1; rank < ROWS; rank++)
			open_row(lab, rank);
		for (int i = 0; i < 20; i++)
			ring(lab, 1 + (uint32_t)i % (ROWS - 1));
		for (uint32_t rank = 1; rank < ROWS; rank++) {
			wh_verbs_freeze(&lab->image.base.base, rank);
			ck_assert_ptr_null(lab->rows[rank].in);
		}
		ck_assert_uint_eq(lab->held, WH_VERBS_RINGS);
	}
	ck_assert_uint_eq(lab->room, 0);
	lab_free(lab);
}

/* Those of the others are not put back twice. */
TEST(there_are_never_more_than_there_is_room_for)
{
	struct lab *lab = lab_make();

	open_row(lab, 1);
	open_row(lab, 2);
	for (int i = 0; i < 3 * WH_VERBS_RINGS; i++)
		ring(lab, 1 + (uint32_t)i % 2);
	ck_assert_uint_eq(lab->held, 0);
	wh_verbs_freeze(&lab->image.base.base, 1);
	while (wh_verbs_poll_in(lab->t) > 0)
		;
	ck_assert_uint_eq(lab->held, WH_VERBS_RINGS);
	lab_free(lab);
}

TEST_SUITE("verbs_in")
