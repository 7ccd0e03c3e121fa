/* large.c - a program that sends files of any length up to a megabyte as one message each, in a subgroup of which a slot has 64 KiB.
 *
 * A message that is larger than a slot takes several, and lies in parts: the sender fills them in place, one after the other, and the
 * receiver reads them in place. It is delivered as one, after the messages before it and before those behind it, or by no member.
 */
#include <err.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <whorl/whorl.h>

#define NODES 3
#define FILES 40

static atomic_int files[NODES], bytes[NODES];

/* Byte i of a file of that length. */
static unsigned char byte_of(size_t length, size_t i)
{
	return (unsigned char)(length + i * 7);
}

static void deliver(const struct whorl_message *message, void *ctx)
{
	unsigned id = *(const unsigned *)ctx;
	const unsigned char *data;
	const void *part;
	size_t at = 0, length;

	for (uint32_t k = 0; whorl_message_part(message, k, &part, &length) == WHORL_OK; k++) {
		data = part;
		for (size_t i = 0; i < length; i++)
			if (data[i] != byte_of(message->bytes, at++))
				errx(1, "node %u: byte %zu of %zu is wrong", id, at - 1, message->bytes);
	}
	atomic_fetch_add(&bytes[id], (int)message->bytes);
	atomic_fetch_add(&files[id], 1);
}

/* A file of that length, made where it is sent from. */
static uint64_t send_file(whorl_subgroup *subgroup, size_t length)
{
	struct whorl_claim claim;
	enum whorl_result result = whorl_claim_large(subgroup, length, 10000, &claim);
	size_t at = 0, room;
	void *part;

	if (result != WHORL_OK)
		errx(1, "claim: %s", whorl_result_text(result));
	for (uint32_t k = 0; whorl_claim_part(&claim, k, &part, &room) == WHORL_OK; k++)
		for (size_t i = 0; i < room; i++)
			((unsigned char *)part)[i] = byte_of(length, at++);
	result = whorl_commit(&claim, length);
	if (result != WHORL_OK)
		errx(1, "commit: %s", whorl_result_text(result));
	return claim.number;
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	unsigned ids[NODES];
	whorl_node *nodes[NODES];
	uint64_t last = 0;
	char text[256];

	alarm(60); /* should anything stand still */
	snprintf(text, sizeof(text),
		 "[group]\nname = large-%d\nnodes = %d\n[subgroup files]\nsenders = 0\nwindow = 20\n"
		 "message_bytes = 65536\nlarge_bytes = 1048576\n",
		 (int)getpid(), NODES);
	if (whorl_config_load_text(config, "large", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	for (unsigned id = 0; id < NODES; id++) {
		ids[id] = id;
		if (whorl_open(config, id, NULL, &nodes[id]) != WHORL_OK ||
		    whorl_on_message(whorl_subgroup_find(nodes[id], "files"), deliver, &ids[id]) != WHORL_OK ||
		    whorl_start(nodes[id]) != WHORL_OK)
			errx(1, "node %u: %s", id, whorl_config_error(config));
	}
	if (whorl_ready(nodes[0], 10000) != WHORL_OK)
		errx(1, "node 0 is not ready");
	for (size_t i = 1; i <= FILES; i++)
		last = send_file(whorl_subgroup_find(nodes[0], "files"), 1048576 * i / FILES);
	if (whorl_frontier_wait(whorl_subgroup_find(nodes[0], "files"), WHORL_DELIVERED_BY_ALL, last, 20000) != WHORL_OK)
		errx(1, "the last is not delivered by all");
	for (unsigned id = 0; id < NODES; id++)
		printf("node %u: %d files, %d bytes\n", id, atomic_load(&files[id]), atomic_load(&bytes[id]));
	for (unsigned id = 0; id < NODES; id++)
		if (whorl_close(nodes[id], 5000) != WHORL_OK)
			errx(1, "node %u does not close", id);
	whorl_config_free(config);
	return 0;
}
