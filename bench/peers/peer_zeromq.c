/* peer_zeromq.c - ZeroMQ beside the others: each node publishes on tcp, and subscribes to all.
 *
 *     peer-zeromq BOARD ID ADDRESS... [--high-water N]
 *
 * ADDRESS k is where node k listens. XPUB with NODROP instead of PUB, which drops what a subscriber is too slow for: here the sender
 * waits. A node hears itself by `inproc`. One thread sends, one receives, and the library has one for its sockets; it gathers
 * the small messages that wait for a connection into writes of 8 KB.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "bench/peers/measure.h"

#define HIGH_WATER 1000 /* messages that may wait on either side of a connection */
#define SOCKET_BYTES (1024 * 1024)
#define PATIENCE_MS 30000

struct zeromq {
	struct peers_node node;
	void *context, *publisher, *subscriber;
	int high_water;
};

static void set_option(void *socket, int option, int value)
{
	if (zmq_setsockopt(socket, option, &value, sizeof(value)) != 0)
		peers_fail("option %d: %s", option, zmq_strerror(errno));
}

static void *make_socket(const struct zeromq *z, int type)
{
	void *socket = zmq_socket(z->context, type);

	if (socket == NULL)
		peers_fail("socket: %s", zmq_strerror(errno));
	set_option(socket, ZMQ_SNDHWM, z->high_water);
	set_option(socket, ZMQ_RCVHWM, z->high_water);
	set_option(socket, ZMQ_SNDBUF, SOCKET_BYTES);
	set_option(socket, ZMQ_RCVBUF, SOCKET_BYTES);
	set_option(socket, ZMQ_SNDTIMEO, PATIENCE_MS);
	set_option(socket, ZMQ_RCVTIMEO, PATIENCE_MS);
	set_option(socket, ZMQ_LINGER, 0);
	return socket;
}

static void make_endpoint(const char *address, char endpoint[static 128])
{
	snprintf(endpoint, 128, "tcp://%s", address);
}

static void open_sockets(struct zeromq *z, char *addresses[])
{
	char endpoint[128];

	z->context = zmq_ctx_new();
	z->publisher = make_socket(z, ZMQ_XPUB);
	z->subscriber = make_socket(z, ZMQ_SUB);
	set_option(z->publisher, ZMQ_XPUB_NODROP, 1);
	set_option(z->publisher, ZMQ_XPUB_VERBOSE, 1);
	make_endpoint(addresses[z->node.id], endpoint);
	if (zmq_bind(z->publisher, endpoint) != 0 || zmq_bind(z->publisher, "inproc://own") != 0)
		peers_fail("%s: %s", endpoint, zmq_strerror(errno));
	if (zmq_setsockopt(z->subscriber, ZMQ_SUBSCRIBE, "", 0) != 0)
		peers_fail("subscribe: %s", zmq_strerror(errno));
	for (uint32_t n = 0; n < z->node.plan.nodes; n++) {
		make_endpoint(addresses[n], endpoint);
		if (zmq_connect(z->subscriber, n == z->node.id ? "inproc://own" : endpoint) != 0)
			peers_fail("%s: %s", endpoint, zmq_strerror(errno));
	}
}

/* Every subscriber says so to the publisher; equal subscriptions are told once each with XPUB_VERBOSE. */
static void await_subscribers(struct zeromq *z)
{
	char subscription[8];

	for (uint32_t n = 0; n < z->node.plan.nodes; n++)
		if (zmq_recv(z->publisher, subscription, sizeof(subscription), 0) < 0)
			peers_fail("not all subscribe: %s", zmq_strerror(errno));
}

static void *send_all(void *ctx)
{
	struct zeromq *z = ctx;

	while (peers_sends(&z->node)) {
		zmq_msg_t message;

		peers_pace(&z->node);
		if (zmq_msg_init_size(&message, z->node.plan.bytes) != 0)
			peers_fail("message: %s", zmq_strerror(errno));
		peers_fill(&z->node, zmq_msg_data(&message));
		if (zmq_msg_send(&message, z->publisher, 0) < 0)
			peers_fail("send: %s", zmq_strerror(errno));
	}
	return NULL;
}

static void receive_all(struct zeromq *z)
{
	zmq_msg_t message;

	zmq_msg_init(&message);
	while (!peers_complete(&z->node)) {
		if (zmq_msg_recv(&message, z->subscriber, 0) < 0)
			peers_fail("receive: %s", zmq_strerror(errno));
		peers_take(&z->node, zmq_msg_data(&message), zmq_msg_size(&message));
	}
	zmq_msg_close(&message);
}

int main(int argc, char *argv[])
{
	static struct zeromq z = {.high_water = HIGH_WATER};
	pthread_t sender;
	int rest;

	peers_open(&z.node, argc, argv);
	rest = 3 + (int)z.node.plan.nodes;
	if (argc < rest)
		peers_fail("an address for each node");
	if (argc > rest + 1 && strcmp(argv[rest], "--high-water") == 0)
		z.high_water = atoi(argv[rest + 1]);
	open_sockets(&z, argv + 3);
	await_subscribers(&z);
	peers_ready(&z.node, NULL, NULL);
	if (pthread_create(&sender, NULL, send_all, &z) != 0)
		peers_fail("no thread");
	receive_all(&z);
	pthread_join(sender, NULL);
	peers_finish(&z.node, NULL, NULL);
	zmq_close(z.publisher);
	zmq_close(z.subscriber);
	zmq_ctx_term(z.context);
	return 0;
}
