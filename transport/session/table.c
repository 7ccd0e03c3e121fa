/* table.c - what is the session's alone in the table of a transport; see session.h. */
#include "transport/session/session.h"

static struct wh_session *of(struct wh_transport *t)
{
	return ((struct wh_session_transport *)t)->session;
}

bool wh_session_table_next_event(struct wh_transport *t, struct wh_transport_event *out)
{
	return wh_session_next_event(of(t), out);
}

enum whorl_result wh_session_table_control_send(struct wh_transport *t, uint32_t node, const void *bytes, size_t count)
{
	return wh_session_control_send(of(t), node, bytes, count);
}

enum whorl_result wh_session_table_stream_open(struct wh_transport *t, uint32_t node, uint64_t tag,
					       struct wh_stream **out)
{
	return wh_session_stream_open(of(t), node, tag, out);
}

bool wh_session_table_searching(struct wh_transport *t)
{
	return wh_session_searching(of(t));
}

void wh_session_table_answer(struct wh_transport *t, uint64_t query, const void *bytes, size_t count)
{
	wh_session_answer(of(t), query, bytes, count);
}

void wh_session_table_past(struct wh_transport *t, uint64_t key)
{
	wh_session_past(of(t), key);
}

void wh_session_table_lanes_part(struct wh_transport *t, uint32_t node, uint64_t incarnation)
{
	wh_session_lanes_part(of(t), node, incarnation);
}

void wh_session_table_complaints(const struct wh_transport *t, uint64_t out[WH_COMPLAINTS])
{
	wh_session_complaints(((const struct wh_session_transport *)t)->session, out);
}
