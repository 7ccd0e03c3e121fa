/* query.c - the asking side of a query; see query.h. */
#include "transport/session/query.h"

#include <poll.h>

#include "base/env.h"

#define AGAIN_MS 2 /* at first, then twice as long each time, ... */
#define AGAIN_MS_MAX 64

int wh_query_time_left(const struct wh_query *q)
{
	uint64_t now = wh_env_now(wh_env_system()), ms;

	if (now >= q->deadline_ns)
		return 0;
	ms = (q->deadline_ns - now) / WH_NS_PER_MS + 1;
	return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

enum whorl_result wh_query_ask(const struct wh_query *q, wh_query_try *once, void *ctx, struct wh_error *err)
{
	enum whorl_result result;
	int again_ms = AGAIN_MS;

	if (q->count > WH_CONTROL_MAX)
		return wh_error_set(err, WHORL_INVALID, "a question of %zu bytes to %s is too long", q->count,
				    q->asked);
	do { /* it has hung up: to make room, for want of descriptors, or it is about to end */
		result = once(ctx, q, err);
		if (result == WHORL_AGAIN && wh_query_time_left(q) > 0)
			(void)poll(NULL, 0, again_ms);
		again_ms = 2 * again_ms < AGAIN_MS_MAX ? 2 * again_ms : AGAIN_MS_MAX;
	} while (result == WHORL_AGAIN && wh_query_time_left(q) > 0);
	if (result == WHORL_AGAIN)
		return wh_error_set(err, WHORL_TIMEOUT, "%s does not answer", q->asked);
	return result;
}

size_t wh_query_message(const struct wh_query *q, unsigned char out[WH_MESSAGE_MAX])
{
	return wh_message_put_query(out, q->version, q->bytes, q->count);
}

enum whorl_result wh_query_explain_bad(const struct wh_query *q, struct wh_error *err)
{
	return wh_error_set(err, WHORL_SYSTEM, "%s answers with a bad message", q->asked);
}

enum whorl_result wh_query_on_head(const struct wh_query *q, struct wh_message_head *head,
				   const unsigned char bytes[WH_HEAD_BYTES], struct wh_error *err)
{
	if (!wh_message_head_take(head, bytes) || (head->kind != WH_MESSAGE_ANSWER && head->kind != WH_MESSAGE_REFUSED))
		return wh_query_explain_bad(q, err);
	return WHORL_OK;
}

enum whorl_result wh_query_on_body(const struct wh_query *q, const struct wh_message_head *head, struct wh_error *err)
{
	struct wh_refused refused;

	*q->answer_bytes = 0;
	if (head->kind == WH_MESSAGE_ANSWER) {
		*q->answer_bytes = head->bytes;
		return WHORL_OK;
	}
	if (!wh_message_take_refused(&refused, head, q->answer))
		return wh_query_explain_bad(q, err);
	return wh_error_set(err, WHORL_REFUSED, "refused by %s: %s", q->asked, refused.reason);
}
