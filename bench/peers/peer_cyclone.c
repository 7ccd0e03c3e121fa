/* peer_cyclone.c - Cyclone DDS beside the others: a topic, and in each node a writer and a reader of it.
 *
 *     CYCLONEDDS_URI=... peer-cyclone BOARD ID
 *
 * Reliable, all samples kept: a writer waits for its slowest reader. Small samples are gathered into packets (write batching) where
 * messages come in a stream, and each is flushed where they come at intervals. One thread writes, one reads.
 */
#include <dds/dds.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/peers/measure.h"

#include <peers_message.h>

#define TAKE_MAX 256
#define PATIENCE DDS_SECS(30)

struct cyclone {
	struct peers_node node;
	dds_entity_t participant, writer, reader, waitset;
};

static dds_entity_t check_made(dds_entity_t entity, const char *what)
{
	if (entity < 0)
		peers_fail("%s: %s", what, dds_strretcode(-entity));
	return entity;
}

static const dds_topic_descriptor_t *type_of(uint32_t bytes)
{
	switch (bytes) {
	case 128:
		return &peers_128_desc;
	case 1024:
		return &peers_1024_desc;
	case 10240:
		return &peers_10240_desc;
	default:
		peers_fail("peers_message.idl has no message of %u bytes", bytes);
	}
}

static void open_entities(struct cyclone *c)
{
	dds_qos_t *qos = dds_create_qos();
	dds_entity_t topic;

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, PATIENCE);
	dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
	c->participant = check_made(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL), "participant");
	dds_write_set_batch(c->node.plan.gap_us == 0); /* of what there is, so only now */
	topic = check_made(dds_create_topic(c->participant, type_of(c->node.plan.bytes), "peers", qos, NULL), "topic");
	c->writer = check_made(dds_create_writer(c->participant, topic, qos, NULL), "writer");
	c->reader = check_made(dds_create_reader(c->participant, topic, qos, NULL), "reader");
	dds_delete_qos(qos);
	dds_set_status_mask(c->reader, DDS_DATA_AVAILABLE_STATUS);
	c->waitset = check_made(dds_create_waitset(c->participant), "waitset");
	check_made(dds_waitset_attach(c->waitset, c->reader, c->reader), "attach");
}

/* Waits until this node's writer has all readers and its reader all writers; alarm() ends it if they do not come. */
static void await_others(const struct cyclone *c)
{
	dds_publication_matched_status_t readers = {0};
	dds_subscription_matched_status_t writers = {0};

	do {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		dds_get_publication_matched_status(c->writer, &readers);
		dds_get_subscription_matched_status(c->reader, &writers);
	} while (readers.current_count < c->node.plan.nodes || writers.current_count < c->node.plan.nodes);
}

static void *write_all(void *ctx)
{
	struct cyclone *c = ctx;
	void *sample = aligned_alloc(64, PEERS_BYTES_MAX);

	while (peers_sends(&c->node)) {
		dds_return_t result;

		peers_pace(&c->node);
		peers_fill(&c->node, sample);
		result = dds_write(c->writer, sample);
		if (result != DDS_RETCODE_OK)
			peers_fail("write: %s", dds_strretcode(-result));
	}
	dds_write_flush(c->writer);
	free(sample);
	return NULL;
}

static void read_all(struct cyclone *c)
{
	static dds_sample_info_t infos[TAKE_MAX];
	void *samples[TAKE_MAX] = {NULL}; /* NULL: lent by the reader, until they are returned */

	while (!peers_complete(&c->node)) {
		dds_return_t count = dds_take(c->reader, samples, infos, TAKE_MAX, TAKE_MAX);

		if (count < 0)
			peers_fail("take: %s", dds_strretcode(-count));
		for (int32_t i = 0; i < count; i++)
			if (infos[i].valid_data)
				peers_take(&c->node, samples[i], c->node.plan.bytes);
		if (count > 0)
			dds_return_loan(c->reader, samples, count);
		else if (dds_waitset_wait(c->waitset, NULL, 0, PATIENCE) == 0)
			peers_fail("nothing comes");
	}
}

int main(int argc, char *argv[])
{
	static struct cyclone c;
	pthread_t sender;

	peers_open(&c.node, argc, argv);
	open_entities(&c);
	await_others(&c);
	peers_ready(&c.node, NULL, NULL);
	if (pthread_create(&sender, NULL, write_all, &c) != 0)
		peers_fail("no thread");
	read_all(&c);
	pthread_join(sender, NULL);
	peers_finish(&c.node, NULL, NULL);
	dds_delete(c.participant);
	return 0;
}
