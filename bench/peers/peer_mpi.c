/* peer_mpi.c - MPI beside the others.
 *
 *     mpirun -n 3 ... peer-mpi BOARD BATCH_BYTES
 *
 * All nodes sending: rounds of MPI_Allgather, in each of which a rank gives as many messages as make up BATCH_BYTES, at least
 * one. The result of a round is read by rank: that is a total order. One sender: MPI_Bcast of one message.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/measure.h"

struct mpi {
	struct peers_node node;
	int count;    /* messages of a rank in a round */
	size_t bytes; /* of a rank in a round */
	char *out, *in;
};

/* Fills this rank's part of a round: void messages behind its last. */
static void fill_round(struct mpi *m)
{
	for (int i = 0; i < m->count; i++) {
		void *message = m->out + (size_t)i * m->node.plan.bytes;

		if (peers_sends(&m->node))
			peers_fill(&m->node, message);
		else
			((struct peers_header *)message)->kind = PEERS_VOID;
	}
}

static void take_round(struct mpi *m)
{
	for (size_t i = 0; i < (size_t)m->count * m->node.plan.nodes; i++) {
		const struct peers_header *message = (const void *)(m->in + i * m->node.plan.bytes);

		if (message->kind != PEERS_VOID)
			peers_take(&m->node, message, m->node.plan.bytes);
	}
}

static void gather_all(struct mpi *m)
{
	while (!peers_complete(&m->node)) {
		fill_round(m);
		MPI_Allgather(m->out, (int)m->bytes, MPI_BYTE, m->in, (int)m->bytes, MPI_BYTE, MPI_COMM_WORLD);
		take_round(m);
	}
}

static void broadcast_all(struct mpi *m)
{
	while (!peers_complete(&m->node)) {
		if (peers_sends(&m->node)) {
			peers_pace(&m->node);
			peers_fill(&m->node, m->in);
		}
		MPI_Bcast(m->in, (int)m->node.plan.bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
		peers_take(&m->node, m->in, m->node.plan.bytes);
	}
}

int main(int argc, char *argv[])
{
	static struct mpi m;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 3)
		peers_fail("usage: %s BOARD BATCH_BYTES", argv[0]);
	peers_open_as(&m.node, argv[1], (uint32_t)rank);
	if ((uint32_t)size != m.node.plan.nodes)
		peers_fail("%d ranks for %u nodes", size, m.node.plan.nodes);
	m.count = (int)(strtoul(argv[2], NULL, 10) / m.node.plan.bytes);
	if (m.count == 0)
		m.count = 1;
	m.bytes = (size_t)m.count * m.node.plan.bytes;
	m.out = calloc(1, m.bytes);
	m.in = calloc((size_t)size, m.bytes);
	if (m.out == NULL || m.in == NULL)
		peers_fail("no memory");
	MPI_Barrier(MPI_COMM_WORLD); /* connections are made when they are first used */
	MPI_Allgather(m.out, (int)m.bytes, MPI_BYTE, m.in, (int)m.bytes, MPI_BYTE, MPI_COMM_WORLD);
	peers_ready(&m.node, NULL, NULL);
	if (m.node.plan.senders == 1)
		broadcast_all(&m);
	else
		gather_all(&m);
	peers_finish(&m.node, NULL, NULL);
	MPI_Finalize();
	free(m.out);
	free(m.in);
	return 0;
}
