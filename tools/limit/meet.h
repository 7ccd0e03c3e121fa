/* meet.h - how the nodes of a limit on tcp connect: one connection for each pair, on loopback.
 *
 * The parent listens for all of its workers before it starts them, so that none of them has to try again; who connects
 * says a word that only they know, and its number. The sockets have the options of those of the transport.
 */
#ifndef WH_TOOLS_LIMIT_MEET_H
#define WH_TOOLS_LIMIT_MEET_H

#include <stdint.h>

#include "base/error.h"

struct wh_limit_meeting {
	uint32_t nodes;
	uint64_t word;
	int *listeners; /* [nodes] */
	uint16_t *ports;
};

/* WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM. [parent] */
WH_MUST_CHECK enum whorl_result wh_limit_meeting_open(struct wh_limit_meeting *meeting, uint32_t nodes,
						      struct wh_error *err);
void wh_limit_meeting_close(struct wh_limit_meeting *meeting);

/* Connects worker `node` with all others, and waits at most ten seconds for each. sockets[node] is -1. Returns 0, or the
 * errno value of what went wrong; either way wh_limit_part follows. [worker] */
WH_MUST_CHECK int wh_limit_meet(const struct wh_limit_meeting *meeting, uint32_t node, int *sockets);
void wh_limit_part(const struct wh_limit_meeting *meeting, int *sockets);

#endif
