/* limit.c - the limit of verbs by itself: so many nodes, all of which write to all, messages of so many bytes.
 *
 *     softroce-limit NODES BYTES WINDOW [threads]     prints what a node reads per second; status 0 if that is anything
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/limit/limit.h"

#define NODES_MOST 8

int main(int argc, char **argv)
{
	uint32_t members[NODES_MOST], nodes = argc < 4 ? 0 : (uint32_t)atoi(argv[1]);
	struct wh_limit_ring rings[NODES_MOST];
	struct wh_limit_plan plan = {
		.kind = WH_LIMIT_VERBS, .nodes = nodes, .rings = rings, .ring_count = nodes, .processes = argc < 5};
	struct wh_limit_result result;
	struct wh_watch watch;
	struct wh_error err = {0};

	if (nodes < 1 || nodes > NODES_MOST) {
		fprintf(stderr, "usage: softroce-limit NODES BYTES WINDOW [threads]\n");
		return 2;
	}
	plan.measure_ms = 500;
	for (uint32_t node = 0; node < nodes; node++) {
		members[node] = node;
		rings[node] = (struct wh_limit_ring){.writer = node,
						     .readers = members,
						     .reader_count = nodes,
						     .window = (uint32_t)atoi(argv[3]),
						     .bytes = (uint32_t)atoi(argv[2])};
	}
	if (wh_watch_open(&watch, &err) != WHORL_OK || wh_limit_measure(&plan, &watch, &result, &err) != WHORL_OK) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	wh_watch_close(&watch);
	printf("%u nodes, %s bytes: %.0f messages/s, %.2f MB/s, best with %u messages per write; with one %.0f; stable %.0f\n",
	       nodes, argv[2], result.rate.messages_per_s, result.rate.bytes_per_s / 1e6, result.publish_every,
	       result.per_message.messages_per_s, result.stable_write.messages_per_s);
	return result.rate.messages_per_s > 0 && result.stable_write.messages_per_s > 0 ? 0 : 1;
}
