/* state_place.h - the place of a state as bytes: it goes before the state from a giver to the logs of a newcomer, and before a checkpoint of one's
 * own (durable_state.c).
 *
 *     key, number and sequence number of the view (8 each), how many senders (8), then for each its id, the number of its first message that
 *     is not in the state, and its incarnation (8 each); little-endian
 */
#ifndef WH_GROUP_LOGS_STATE_PLACE_H
#define WH_GROUP_LOGS_STATE_PLACE_H

#include <whorl/whorl.h>

#include "persistence/log.h"

#define WH_STATE_PLACE_HEAD_BYTES 32
#define WH_STATE_PLACE_SENDER_BYTES 24
#define WH_STATE_PLACE_BYTES_MAX (WH_STATE_PLACE_HEAD_BYTES + WH_STATE_PLACE_SENDER_BYTES * (size_t)WH_LOG_SENDERS_MAX)

/* Bytes of one with so many senders. */
size_t wh_state_place_bytes(uint32_t senders);
/* `key` is that of its view; `at` has room for wh_state_place_bytes. */
void wh_state_place_put(unsigned char *at, uint64_t key, const struct whorl_position *position);

/* The first bytes of one, which another node says: so many bytes it takes, or as many as are needed to know. SIZE_MAX: it cannot be one. */
size_t wh_state_place_needs(const unsigned char *bytes, size_t count);
/* All of it. False: it is none. */
bool wh_state_place_take(const unsigned char *bytes, size_t count, struct wh_log_position *out);

#endif
