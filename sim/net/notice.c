/* notice.c - what endpoints of the simulator are told: control messages, news of peers, the exchange of rows, streams.
 *
 * A notice is sent over a link, waits where a cut holds it up or its receiver has not met its sender yet, and then lies in
 * an inbox until service() sees it.
 */
#include "sim/net/sim_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- queues ------------------------------------------------------------------------------------------------------------ */

void wh_sim_queue_append(struct sim_queue *queue, struct sim_notice *notice)
{
	notice->next = NULL;
	*queue->tail = notice;
	queue->tail = &notice->next;
}

struct sim_notice *wh_sim_queue_take(struct sim_queue *queue)
{
	struct sim_notice *notice = queue->head;

	if (notice != NULL) {
		queue->head = notice->next;
		if (queue->head == NULL)
			queue->tail = &queue->head;
	}
	return notice;
}

static size_t queue_length(const struct sim_queue *queue)
{
	size_t count = 0;

	for (const struct sim_notice *notice = queue->head; notice != NULL; notice = notice->next)
		count++;
	return count;
}

void wh_sim_free_notice(struct sim_notice *notice)
{
	if (notice->stream != NULL)
		wh_sim_stream_disown(notice->stream);
	free(notice);
}

static void clear_queue(struct sim_queue *queue, const struct wh_image *image)
{
	struct sim_notice **at = &queue->head;

	while (*at != NULL) {
		struct sim_notice *notice = *at;

		if (image != NULL && notice->image != image) {
			at = &notice->next;
			continue;
		}
		*at = notice->next;
		wh_sim_free_notice(notice);
	}
	queue->tail = at;
}

void wh_sim_forget(struct sim_node *node, const struct wh_image *image)
{
	size_t before = queue_length(&node->inbox);

	clear_queue(&node->inbox, image);
	clear_queue(&node->events, image);
	node->sim->under_way -= before - queue_length(&node->inbox);
}

/* ---- on their way ------------------------------------------------------------------------------------------------------ */

static struct sim_notice *new_notice(struct wh_sim *sim, struct sim_link *link, int kind, const void *text,
				     size_t bytes)
{
	struct sim_notice *notice = calloc(1, sizeof(*notice) + bytes + 1);

	if (notice == NULL) {
		wh_sim_condemn(sim, link != NULL ? link->from->id : 0, "no memory for a notice");
		return NULL;
	}
	notice->link = link;
	notice->kind = kind;
	notice->bytes = bytes;
	memcpy(notice->text, text, bytes);
	sim->under_way++;
	return notice;
}

static void drop_notice(struct wh_sim *sim, struct sim_notice *notice)
{
	sim->under_way--;
	wh_sim_free_notice(notice);
}

static bool is_end(const struct sim_notice *notice)
{
	return notice->kind == WH_EVENT_PEER_DOWN || notice->kind == WH_EVENT_PEER_LEFT ||
	       notice->kind == WH_EVENT_REFUSED;
}

/* After the news that its sender is gone nothing is seen of it any more. */
static void receive_notice(struct sim_node *node, struct sim_notice *notice)
{
	struct sim_link *about = notice->link != NULL ? notice->link->back : NULL;
	bool over = about != NULL && about->over, ends = !over && is_end(notice);

	if (over || node->dead) {
		drop_notice(node->sim, notice);
	} else {
		wh_sim_queue_append(&node->inbox, notice);
		wh_sim_ring(node);
	}
	if (ends)
		wh_sim_end_link(about);
}

static void deliver_notice(struct sim_link *link, struct sim_notice *notice)
{
	if (notice->kind == WH_EVENT_CONTROL)
		link->controls_flying--;
	if (notice->kind == WH_EVENT_STREAM)
		wh_sim_stream_offer(notice->stream);
	receive_notice(link->to, notice);
	wh_sim_arrived(link);
}

/* By a cut, or until its receiver has met its sender. */
static bool is_held_up(const struct sim_link *link, const struct sim_notice *notice)
{
	return link->wire->cut_off || (notice->kind != SIM_KNOCK && !link->back->met && !link->back->over);
}

/* A notice or a message that was under way has arrived, or has come as far as the cut. */
static void let_notice_arrive(void *ctx, uint64_t argument)
{
	struct sim_notice *notice = ctx;
	struct sim_link *link = notice->link;

	(void)argument;
	if (is_held_up(link, notice) || link->held.head != NULL)
		wh_sim_queue_append(&link->held, notice);
	else
		deliver_notice(link, notice);
}

static void release_held(void *ctx, uint64_t argument)
{
	struct sim_link *link = ctx;

	(void)argument;
	while (link->held.head != NULL && !is_held_up(link, link->held.head))
		deliver_notice(link, wh_sim_queue_take(&link->held));
}

void wh_sim_release(struct sim_link *link)
{
	if (link->held.head != NULL)
		wh_sim_at(link->sim, link->sim->now_ns + wh_sim_notice_delay(link), release_held, link, 0);
}

void wh_sim_drop_held(struct sim_link *link)
{
	while (link->held.head != NULL)
		free(wh_sim_queue_take(&link->held));
}

void wh_sim_drop_arrival(const struct sim_event *event)
{
	if (event->fn == let_notice_arrive)
		free(event->ctx);
}

/* ---- sending ----------------------------------------------------------------------------------------------------------- */

void wh_sim_notify(struct sim_node *node, enum wh_transport_event_kind kind, uint64_t key, struct wh_image *image,
		   const void *text, size_t bytes)
{
	struct sim_notice *notice = new_notice(node->sim, NULL, kind, text, bytes);

	if (notice == NULL)
		return;
	notice->key = key;
	notice->image = image;
	receive_notice(node, notice);
}

void wh_sim_tell(struct sim_link *link, enum wh_transport_event_kind kind, const char *text)
{
	struct sim_notice *notice = new_notice(link->sim, link, kind, text, strlen(text));

	if (notice != NULL)
		receive_notice(link->to, notice);
}

void wh_sim_send_notice(struct sim_link *link, uint64_t when_ns, int kind, uint64_t key, const void *text, size_t bytes)
{
	struct sim_notice *notice = new_notice(link->sim, link, kind, text, bytes);

	if (notice == NULL)
		return;
	notice->key = key;
	wh_sim_at(link->sim, when_ns, let_notice_arrive, notice, 0);
}

void wh_sim_send_row(struct sim_link *link, enum sim_notice_kind kind, uint64_t key)
{
	wh_sim_send_notice(link, link->sim->now_ns + wh_sim_notice_delay(link), (int)kind, key, "", 0);
}

void wh_sim_send_stream(struct sim_link *link, struct sim_stream *stream)
{
	struct sim_notice *notice = new_notice(link->sim, link, WH_EVENT_STREAM, "", 0);

	if (notice == NULL) {
		wh_sim_stream_disown(stream);
		return;
	}
	notice->stream = stream;
	wh_sim_at(link->sim, link->sim->now_ns + wh_sim_notice_delay(link), let_notice_arrive, notice, 0);
}
