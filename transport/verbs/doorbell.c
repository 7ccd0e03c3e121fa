/* doorbell.c - the doorbell: going to sleep, and being woken.
 *
 * arm() asks the device to tell when the next completion comes, and then takes those that are there: whatever was pushed
 * for them is seen by the look that follows. What comes after that makes the completion channel readable. A ring that
 * service() takes while armed is remembered, as the look may have been before it.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/verbs/verbs_int.h"

#define EPOLL_AT_ONCE 16
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

static bool something_is_heard(struct wh_verbs *t)
{
	size_t bytes;

	for (struct wh_verbs_link *link = t->links; link != NULL; link = link->next)
		if (link->peer != NULL && (link->ended || wh_verbs_link_peek(link, &bytes) != NULL))
			return true;
	return false;
}

static bool writes_wait(const struct wh_verbs *t)
{
	for (const struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; rank < image->base.members; rank++)
			if (image->rows[rank].out.queue_in != image->rows[rank].out.queue_out)
				return true;
	return false;
}

void wh_verbs_wake(struct wh_transport *transport)
{
	const uint64_t one = 1;

	(void)!write(wh_verbs_of(transport)->doorbell, &one, sizeof(one)); /* a full counter is readable as well */
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
	if (something_is_heard(t) && !wh_event_queue_is_full(&t->event_queue))
		wh_verbs_wake(transport);
	if (writes_wait(t))
		wh_dial_timer(&t->redial, WH_NS_PER_MS);
}

void wh_verbs_disarm(struct wh_transport *transport)
{
	wh_verbs_of(transport)->armed = false;
}

void wh_verbs_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct epoll_event events[EPOLL_AT_ONCE];
	uint64_t rings;
	int n;

	if (t->rung)
		timeout_ns = 0;
	n = wh_dial_wait(&t->redial, t->epoll, events, EPOLL_AT_ONCE,
			 timeout_ns < WAIT_MAX_NS ? timeout_ns : WAIT_MAX_NS);
	wh_verbs_disarm(transport);
	t->rung = false;
	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 >> 32 == WH_VERBS_DOORBELL)
			(void)!read(t->doorbell, &rings, sizeof(rings));
		if (events[i].data.u64 >> 32 == WH_VERBS_COMPLETION)
			wh_verbs_drain_channel(t);
	}
}
