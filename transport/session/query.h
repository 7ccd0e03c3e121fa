/* query.h - a process that is no node asks one a question, and gets one answer (T11): what is the same on every wire. The side that is
 * asked is transport/session/door.c. Any thread: no session is needed.
 */
#ifndef WH_TRANSPORT_SESSION_QUERY_H
#define WH_TRANSPORT_SESSION_QUERY_H

#include "base/error.h"
#include "transport/session/message.h"

struct wh_query {
	const char *asked; /* as errors name it: "node 1 of group g", "the node at host:port" */
	const void *bytes;
	size_t count;
	uint32_t version;
	uint64_t deadline_ns;
	unsigned char *answer; /* WH_ANSWER_MAX bytes */
	size_t *answer_bytes;
};

/* Milliseconds that are left, at least 1; 0: none. */
int wh_query_time_left(const struct wh_query *q);

/* Connects, sends wh_query_message, receives the answer: each wire's own. WHORL_AGAIN: it has not come to that, or the connection has
 * ended before: it can be tried once more. */
typedef enum whorl_result wh_query_try(void *ctx, const struct wh_query *q, struct wh_error *err);

/* Tries until the time is over. WHORL_TIMEOUT: no answer has come; else as `once`. WHORL_INVALID: the question is too long. */
WH_MUST_CHECK enum whorl_result wh_query_ask(const struct wh_query *q, wh_query_try *once, void *ctx,
					     struct wh_error *err);

/* The question as a message; returns how long that is. */
size_t wh_query_message(const struct wh_query *q, unsigned char out[WH_MESSAGE_MAX]);

/* Judges what has come: the head, and later the body, which has been read into `answer`. WHORL_OK; WHORL_REFUSED; WHORL_SYSTEM: it is no
 * answer. */
WH_MUST_CHECK enum whorl_result wh_query_on_head(const struct wh_query *q, struct wh_message_head *head,
						 const unsigned char bytes[WH_HEAD_BYTES], struct wh_error *err);
enum whorl_result wh_query_explain_bad(const struct wh_query *q, struct wh_error *err); /* WHORL_SYSTEM */
WH_MUST_CHECK enum whorl_result wh_query_on_body(const struct wh_query *q, const struct wh_message_head *head,
						 struct wh_error *err);

#endif
