/* doorbell.c - the doorbell: going to sleep, and being woken.
 *
 * arm() asks the device to tell when the next completion comes, and then takes those that are there: whatever was pushed
 * for them is seen by the look that follows. What comes after that makes the completion channel readable. A ring that
 * service() takes while armed is remembered, as the look may have been before it. What peers say comes by sockets: it
 * is taken in by wait() itself.
 */
#include "transport/verbs/verbs_int.h"

#define WRITES_WAIT_NS WH_NS_PER_MS
#define WAIT_MAX_NS (3600 * WH_NS_PER_S)

/* Notices that have come. */
void wh_verbs_drain_channel(struct wh_verbs *t)
{
	struct ibv_cq *queue;
	void *context;

	while (t->notified && ibv_get_cq_event(t->device.channel, &queue, &context) == 0) {
		ibv_ack_cq_events(queue, 1);
		t->notified = false;
	}
}

static bool writes_wait(const struct wh_verbs *t)
{
	for (const struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; rank < image->base.base.members; rank++)
			if (image->rows[rank].out.queue_in != image->rows[rank].out.queue_out)
				return true;
	return false;
}

void wh_verbs_wake(struct wh_transport *transport)
{
	wh_poll_wake(&wh_verbs_of(transport)->poll);
}

void wh_verbs_arm(struct wh_transport *transport)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	if (t->armed)
		return;
	t->armed = true;
	wh_verbs_flush_all(t);
	wh_verbs_drain_channel(t);
	if (!t->notified && ibv_req_notify_cq(t->device.in, 0) == 0)
		t->notified = true;
	(void)wh_verbs_poll_in(t);
	t->rung = false;
	if (wh_tcp_wire_holds(t->wire))
		wh_verbs_wake(transport);
	if (writes_wait(t))
		wh_poll_alarm(&t->poll, WRITES_WAIT_NS);
}

void wh_verbs_disarm(struct wh_transport *transport)
{
	wh_verbs_of(transport)->armed = false;
}

/* Does one of them end a sleep? Most times that the timer runs out nothing is left of what it was set for. */
static size_t look(struct wh_verbs *t, const struct epoll_event *event)
{
	const struct wh_event_queue *news = wh_session_events(t->base.session);
	size_t work;

	switch (wh_poll_source(event)) {
	case WH_POLL_DOORBELL:
		return wh_poll_hush(&t->poll);
	case WH_VERBS_COMPLETION:
		wh_verbs_drain_channel(t);
		return 1;
	case WH_POLL_TIMER:
		(void)wh_verbs_dispatch(t, event);
		work = wh_verbs_advance(t);
		return work + (news->in != news->out);
	default:
		return wh_verbs_dispatch(t, event);
	}
}

void wh_verbs_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct epoll_event events[WH_POLL_AT_ONCE];
	uint64_t now = wh_env_now(t->env);
	uint64_t deadline = now + (timeout_ns < WAIT_MAX_NS ? timeout_ns : WAIT_MAX_NS);
	size_t work = 0;
	int n;

	do {
		n = wh_poll_wait(&t->poll, events, t->rung || now >= deadline ? 0 : deadline - now);
		for (int i = 0; i < n; i++)
			work += look(t, &events[i]);
		now = wh_env_now(t->env);
	} while (work == 0 && !t->rung && n >= 0 && now < deadline && !wh_session_is_full(t->base.session));
	wh_verbs_disarm(transport);
	t->rung = false;
}
