/* probe.c - tells whether RDMA verbs work here at all, so that a failure of the machine is not taken for one of whorl.
 *
 * Two processes connect by librdmacm, one writes into the memory of the other by libibverbs, payload before guard, as
 * whorl's transport does; the other polls the guard, and looks whether the payload is there.
 *
 *     probe ADDRESS ADDRESS     the addresses of the one that is written to and of the one that writes
 *
 * Exit status: 0 it works; 1 it does not: said what failed; killed by SIGALRM: a call did not return for 20 s.
 */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT "7471"
#define ROUNDS 200
#define PAYLOAD_WORDS 1024
#define PATIENCE_S 20 /* librdmacm's calls have no time-out of their own */

struct memory { /* of the target */
	uint64_t payload[PAYLOAD_WORDS];
	_Atomic uint64_t guard; /* [the writer] how many rounds have been written */
	uint64_t seen;          /* [the target] how many it has found whole; the writer reads it from there */
};

struct place { /* what the target says of its memory when it accepts */
	uint64_t address;
	uint32_t key;
};

static bool complain(const char *what)
{
	fprintf(stderr, "probe: %s: %s\n", what, strerror(errno));
	return false;
}

/* An endpoint with a queue pair; one that listens has only `from`. */
static struct rdma_cm_id *endpoint(const char *from, const char *to)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = to == NULL ? RAI_PASSIVE : 0},
			     *found = NULL;
	struct rdma_addrinfo *source = NULL;
	struct ibv_qp_init_attr attributes = {
		.cap = {.max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 8},
		.qp_type = IBV_QPT_RC};
	struct rdma_cm_id *id = NULL;

	if (to != NULL) {
		struct rdma_addrinfo passive = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_PASSIVE};

		if (rdma_getaddrinfo(from, NULL, &passive, &source) != 0)
			return complain(from), NULL;
		hints.ai_src_addr = source->ai_src_addr;
		hints.ai_src_len = source->ai_src_len;
	}
	if (rdma_getaddrinfo(to != NULL ? to : from, PORT, &hints, &found) != 0)
		complain("rdma_getaddrinfo");
	else if (rdma_create_ep(&id, found, NULL, &attributes) != 0)
		complain("rdma_create_ep");
	if (found != NULL)
		rdma_freeaddrinfo(found);
	if (source != NULL)
		rdma_freeaddrinfo(source);
	return id;
}

/* ---- the one that is written to --------------------------------------------------------------------------------------*/

/* Waits for each round, and looks whether its payload was there before its guard. */
static bool check_rounds(struct memory *memory)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		while (atomic_load_explicit(&memory->guard, memory_order_acquire) < round) /* partner: the device */
			sched_yield();
		for (size_t i = 0; i < PAYLOAD_WORDS; i++)
			if (memory->payload[i] != round + i) {
				fprintf(stderr, "probe: round %d: word %zu came after the guard\n", (int)round, i);
				return false;
			}
		memory->seen = round;
	}
	return true;
}

static bool serve(const char *address, int listening)
{
	struct rdma_cm_id *listener = endpoint(address, NULL), *id;
	struct memory memory = {0};
	struct ibv_mr *region;

	if (listener == NULL)
		return false;
	if (rdma_listen(listener, 1) != 0)
		return complain("rdma_listen");
	if (write(listening, "l", 1) != 1)
		return complain("write");
	if (rdma_get_request(listener, &id) != 0)
		return complain("rdma_get_request");
	region = ibv_reg_mr(id->pd, &memory, sizeof memory,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	if (region == NULL)
		return complain("ibv_reg_mr");

	struct place place = {(uintptr_t)&memory, region->rkey};
	struct rdma_conn_param how = {.private_data = &place,
				      .private_data_len = sizeof place,
				      .responder_resources = 1,
				      .initiator_depth = 1,
				      .rnr_retry_count = 6};

	if (rdma_accept(id, &how) != 0)
		return complain("rdma_accept");
	return check_rounds(&memory);
}

/* ---- the one that writes ---------------------------------------------------------------------------------------------*/

static bool await(struct rdma_cm_id *id)
{
	struct ibv_wc done;

	if (rdma_get_send_comp(id, &done) != 1)
		return complain("rdma_get_send_comp");
	if (done.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "probe: a request failed: %s\n", ibv_wc_status_str(done.status));
		return false;
	}
	return true;
}

/* Payload and guard, linked, rung for once; only the guard completes, and it is copied when posted. */
static bool write_round(struct rdma_cm_id *id, const struct ibv_mr *mine, const struct place *place, uint64_t round)
{
	struct memory *memory = mine->addr;
	struct ibv_sge payload = {(uintptr_t)memory->payload, sizeof memory->payload, mine->lkey};
	struct ibv_sge guard = {(uintptr_t)&round, sizeof round, 0};
	struct ibv_send_wr second = {.opcode = IBV_WR_RDMA_WRITE,
				     .sg_list = &guard,
				     .num_sge = 1,
				     .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
				     .wr.rdma = {place->address + offsetof(struct memory, guard), place->key}};
	struct ibv_send_wr first = {.next = &second,
				    .opcode = IBV_WR_RDMA_WRITE,
				    .sg_list = &payload,
				    .num_sge = 1,
				    .wr.rdma = {place->address, place->key}};
	struct ibv_send_wr *bad;

	for (size_t i = 0; i < PAYLOAD_WORDS; i++)
		memory->payload[i] = round + i;
	errno = ibv_post_send(id->qp, &first, &bad);
	return errno == 0 ? await(id) : complain("ibv_post_send");
}

/* Until the target has seen the round: a completion does not say so, and the next would overwrite its payload. */
static bool await_seen(struct rdma_cm_id *id, struct ibv_mr *mine, const struct place *place, uint64_t round)
{
	struct memory *memory = mine->addr;

	do {
		if (rdma_post_read(id, NULL, &memory->seen, sizeof memory->seen, mine, IBV_SEND_SIGNALED,
				   place->address + offsetof(struct memory, seen), place->key) != 0)
			return complain("rdma_post_read");
		if (!await(id))
			return false;
	} while (memory->seen < round);
	return true;
}

static bool write_rounds(const char *from, const char *to)
{
	struct rdma_conn_param how = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 6, .rnr_retry_count = 6};
	struct rdma_cm_id *id = endpoint(from, to);
	struct memory memory = {0};
	struct ibv_mr *mine;
	struct place place;

	if (id == NULL)
		return false;
	mine = ibv_reg_mr(id->pd, &memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
	if (mine == NULL)
		return complain("ibv_reg_mr");
	if (rdma_connect(id, &how) != 0)
		return complain("rdma_connect");
	if (id->event == NULL || id->event->param.conn.private_data_len < sizeof place)
		return complain("what the target said when it accepted");
	memcpy(&place, id->event->param.conn.private_data, sizeof place);
	for (uint64_t round = 1; round < ROUNDS; round++)
		if (!write_round(id, mine, &place, round) || !await_seen(id, mine, &place, round))
			return false;
	if (!write_round(id, mine, &place, ROUNDS)) /* the target ends when it sees this one */
		return false;
	printf("probe: %s: %s wrote %d times %zu bytes and a guard to %s, and all came in order\n",
	       id->verbs->device->name, from, ROUNDS, sizeof memory.payload, to);
	return true;
}

int main(int argc, char **argv)
{
	int listening[2], status;
	char token;
	pid_t target;

	if (argc != 3 || pipe(listening) != 0) {
		fprintf(stderr, "usage: probe ADDRESS ADDRESS\n");
		return 2;
	}
	target = fork();
	alarm(PATIENCE_S);
	if (target == 0) {
		close(listening[0]);
		_exit(serve(argv[1], listening[1]) ? 0 : 1);
	}
	close(listening[1]);
	if (target < 0 || read(listening[0], &token, 1) != 1 || !write_rounds(argv[2], argv[1]))
		return 1;
	return waitpid(target, &status, 0) == target && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
