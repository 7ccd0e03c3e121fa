/* status.h - what a node says of itself to a visitor (transport.h, T11), as a struct and as bytes.
 *
 *     the visitor   wh_status_question -> the transport -> wh_status_decode            whorl_status_get (ask.c)
 *     the node      WH_EVENT_QUERY -> wh_status_answer: wh_status_make, wh_status_encode -> answer()       group/answer.c
 *
 * A question names the version that its answer is to have. A node that does not speak it says which it speaks itself, and is asked
 * again in that: so nodes and visitors that differ in it understand each other, and the older one says what both know.
 *
 * The bytes are little-endian, begin with a version, and are checked in full before anything of them is believed: they come from
 * another process (wire.c).
 */
#ifndef WH_GROUP_STATUS_H
#define WH_GROUP_STATUS_H

#include <whorl/status.h>

#include "base/error.h"
#include "group/config/config.h"
#include "group/config/secret.h"
#include "group/status/shown.h"

/* 3: with complaints; 4: members may be dead; 5: with refusals; 6: with large messages; 7: with workers; 8: with logs and
 * restarts; 10: with logs that have been read again; 11: with what is relayed */
#define WH_STATUS_VERSION 11
#define WH_STATUS_VERSION_LEAST 2 /* is spoken and understood too */
#define WH_STATUS_QUESTION_BYTES 8

/* An empty one, for whorl_status_free; NULL: there is no memory. */
struct whorl_status *wh_status_new(void);

/* Returns the length, at most `bytes`, in that version. Shards that have no room are left off, and counted as that. */
size_t wh_status_encode(unsigned char *out, size_t bytes, const struct whorl_status *status, uint32_t version);
/* WHORL_OK, WHORL_MEMORY, WHORL_REFUSED (text says what is wrong). */
WH_MUST_CHECK enum whorl_result wh_status_decode(struct whorl_status **out, const void *bytes, size_t count,
						 struct wh_error *err);

/* Which nodes to ask, and with what: made of a configuration once, for any number of questions, from any threads. */
struct wh_inquiry {
	const struct wh_node_config *config; /* not its own; the owner keeps it meanwhile */
	struct wh_secret secret;
};

/* Reads the files that the configuration names. The results of wh_secret_load. */
WH_MUST_CHECK enum whorl_result wh_inquiry_open(struct wh_inquiry *out, const struct wh_node_config *config,
						struct wh_error *err);
void wh_inquiry_close(struct wh_inquiry *inquiry);
/* The results of whorl_status_get. */
WH_MUST_CHECK enum whorl_result wh_inquiry_send(const struct wh_inquiry *inquiry, uint32_t id, int timeout_ms,
						struct whorl_status **out, struct wh_error *err);

/* The results of whorl_status_get_at. `verbs`: is it a node on verbs, as far as that is known? It is found out
 * and told, for the next time: a node complains of each question in another version than its own. */
WH_MUST_CHECK enum whorl_result wh_status_get_at(const char *address, bool *verbs, int timeout_ms,
						 struct whorl_status **out, struct wh_error *err);

size_t wh_status_question(unsigned char out[WH_STATUS_QUESTION_BYTES], uint32_t version);
/* The version in which it is to be answered. 0: it is none, or of a version that is not spoken here. */
uint32_t wh_status_take_question(const void *bytes, size_t count);
/* What is said to those: its own version. */
size_t wh_status_shrug(unsigned char out[WH_STATUS_QUESTION_BYTES]);
/* The version to ask in again, of what came in answer to a question in `asked`. 0: it is no shrug, or there is none. */
uint32_t wh_status_take_shrug(const void *bytes, size_t count, uint32_t asked);

#endif
