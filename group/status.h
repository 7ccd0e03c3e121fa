/* status.h - what a node says of itself to a visitor (transport.h, T11), as a struct and as bytes.
 *
 *     the visitor   wh_status_question -> the transport -> wh_status_decode            whorl_status_get (status_ask.c)
 *     the node      WH_EVENT_QUERY -> wh_status_answer: wh_status_make, wh_status_encode -> answer()       status.c
 *
 * The bytes are little-endian, begin with a version, and are checked in full before anything of them is believed: they come from
 * another process (status_wire.c).
 */
#ifndef WH_GROUP_STATUS_H
#define WH_GROUP_STATUS_H

#include <whorl/status.h>

#include "base/error.h"
#include "group/config.h"
#include "group/secret.h"

#define WH_STATUS_VERSION 2
#define WH_STATUS_QUESTION_BYTES 8

/* Answers a question that has come to the node; whatever it does not understand is told so. On the loop, between two passes. It
 * allocates, for a moment, in proportion to the members and shards of the view; without memory there is no answer. */
void wh_status_answer(whorl_node *node, const void *question, size_t bytes, uint64_t query);

/* The node as it is now. On the loop. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_status_make(whorl_node *node, struct whorl_status **out);

/* An empty one, for whorl_status_free; NULL: there is no memory. */
struct whorl_status *wh_status_new(void);

/* Returns the length, at most `bytes`. Shards that have no room are left off, and counted as that. */
size_t wh_status_encode(unsigned char *out, size_t bytes, const struct whorl_status *status);
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

size_t wh_status_question(unsigned char out[WH_STATUS_QUESTION_BYTES]);
/* Is it one that this version answers? */
bool wh_status_is_question(const void *bytes, size_t count);
/* What is said to those that it does not: its version. */
size_t wh_status_shrug(unsigned char out[WH_STATUS_QUESTION_BYTES]);

#endif
