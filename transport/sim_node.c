/* sim_node.c - endpoints of the simulator: how they meet, their doorbells, events, control messages, and how they
 * leave. */
#include "transport/sim_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_node *node_of(struct wh_transport *transport)
{
	return (struct sim_node *)transport;
}

/* ---- the doorbell ----------------------------------------------------------------------------------------------------- */

static void ring_now(struct sim_node *node)
{
	if (node->dead)
		return;
	node->rung = true;
	if (node->sim->options.rung != NULL)
		node->sim->options.rung(node->sim->options.ctx, node->id);
}

static void ring_late(void *ctx, uint64_t argument)
{
	struct sim_node *node = ctx;

	(void)argument;
	node->ringing = false;
	node->sim->under_way--;
	ring_now(node);
}

/* Of rings that are under way one is enough: it comes after all that they are for. */
void wh_sim_ring(struct sim_node *node)
{
	struct wh_sim *sim = node->sim;

	if (sim->options.ring_max_ns == 0) {
		ring_now(node);
		return;
	}
	if (node->ringing || node->dead)
		return;
	node->ringing = true;
	sim->under_way++;
	wh_sim_at(sim, sim->now_ns + wh_dice_between(&sim->dice, 0, sim->options.ring_max_ns), ring_late, node, 0);
}

/* What waits for service ends a wait like a ring, once it has been rung for. */
static bool is_rung(const struct sim_node *node)
{
	return node->rung || (node->inbox.head != NULL && !node->ringing);
}

bool wh_sim_rung(const struct wh_sim *sim, uint32_t node)
{
	return is_rung(&sim->nodes[node]);
}

static void sim_arm(struct wh_transport *transport)
{
	node_of(transport)->armed = true;
}

static void sim_disarm(struct wh_transport *transport)
{
	node_of(transport)->armed = false;
}

static void sim_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct sim_node *node = node_of(transport);
	uint64_t until = node->sim->now_ns + timeout_ns;

	while (!node->dead && !is_rung(node) && wh_sim_step(node->sim, until))
		;
	node->rung = false;
	node->armed = false;
}

static void sim_wake(struct wh_transport *transport)
{
	wh_sim_ring(node_of(transport));
}

static int sim_fd(struct wh_transport *transport)
{
	(void)transport;
	return -1;
}

/* ---- notices and events ------------------------------------------------------------------------------------------------- */

static void append(struct sim_queue *queue, struct sim_notice *notice)
{
	notice->next = NULL;
	*queue->tail = notice;
	queue->tail = &notice->next;
}

static struct sim_notice *take(struct sim_queue *queue)
{
	struct sim_notice *notice = queue->head;

	if (notice != NULL) {
		queue->head = notice->next;
		if (queue->head == NULL)
			queue->tail = &queue->head;
	}
	return notice;
}

static size_t length(const struct sim_queue *queue)
{
	size_t count = 0;

	for (const struct sim_notice *notice = queue->head; notice != NULL; notice = notice->next)
		count++;
	return count;
}

static void clear(struct sim_queue *queue, const struct wh_image *image)
{
	struct sim_notice **at = &queue->head;

	while (*at != NULL) {
		struct sim_notice *notice = *at;

		if (image != NULL && notice->image != image) {
			at = &notice->next;
			continue;
		}
		*at = notice->next;
		free(notice);
	}
	queue->tail = at;
}

void wh_sim_forget(struct sim_node *node, const struct wh_image *image)
{
	size_t before = length(&node->inbox);

	clear(&node->inbox, image);
	clear(&node->events, image);
	node->sim->under_way -= before - length(&node->inbox);
}

static struct sim_notice *new_notice(struct wh_sim *sim, int kind, uint32_t about, struct wh_image *image,
				     const void *text, size_t bytes)
{
	struct sim_notice *notice = calloc(1, sizeof(*notice) + bytes + 1);

	if (notice == NULL) {
		wh_sim_condemn(sim, about, "no memory for a notice");
		return NULL;
	}
	notice->kind = kind;
	notice->node = about;
	notice->image = image;
	notice->bytes = bytes;
	memcpy(notice->text, text, bytes);
	sim->under_way++;
	return notice;
}

static void drop_notice(struct wh_sim *sim, struct sim_notice *notice)
{
	sim->under_way--;
	free(notice);
}

/* After the news that its sender is gone nothing is seen of it any more. */
static void receive_notice(struct sim_node *node, struct sim_notice *notice)
{
	struct sim_link *back = wh_sim_link(node->sim, node->id, notice->node);

	if (back->gone || node->dead) {
		drop_notice(node->sim, notice);
		return;
	}
	back->gone = notice->kind == WH_EVENT_PEER_DOWN || notice->kind == WH_EVENT_PEER_LEFT ||
		     notice->kind == WH_EVENT_REFUSED;
	append(&node->inbox, notice);
	wh_sim_ring(node);
}

static void deliver(struct sim_link *link, struct sim_notice *notice)
{
	bool control = notice->kind == WH_EVENT_CONTROL;

	receive_notice(&link->sim->nodes[link->to], notice);
	if (control) {
		link->controls_flying--;
		wh_sim_arrived(link);
	}
}

/* A notice or a message that was under way has arrived, or has come as far as the cut; `to` is the receiver's id. */
static void arrive(void *ctx, uint64_t to)
{
	struct sim_notice *notice = ctx;
	struct sim_link *link = wh_sim_link(notice->sim, notice->node, (uint32_t)to);

	if (link->cut_off || link->held.head != NULL)
		append(&link->held, notice);
	else
		deliver(link, notice);
}

static void release(void *ctx, uint64_t argument)
{
	struct sim_link *link = ctx;

	(void)argument;
	while (!link->cut_off && link->held.head != NULL)
		deliver(link, take(&link->held));
}

void wh_sim_release(struct sim_link *link)
{
	if (link->held.head != NULL)
		wh_sim_at(link->sim, link->sim->now_ns + wh_sim_delay(link), release, link, 0);
}

void wh_sim_drop_held(struct sim_link *link)
{
	while (link->held.head != NULL)
		drop_notice(link->sim, take(&link->held));
}

void wh_sim_drop_event(struct sim_event *event)
{
	if (event->fn == arrive)
		free(event->ctx);
}

void wh_sim_notify(struct sim_node *node, enum wh_transport_event_kind kind, uint32_t about, struct wh_image *image,
		   const char *text)
{
	struct sim_notice *notice = new_notice(node->sim, kind, about, image, text, strlen(text));

	if (notice != NULL)
		receive_notice(node, notice);
}

void wh_sim_send_notice(struct sim_link *link, uint64_t when_ns, int kind, uint64_t key, const void *text, size_t bytes)
{
	struct sim_notice *notice = new_notice(link->sim, kind, link->from, NULL, text, bytes);

	if (notice == NULL)
		return;
	notice->sim = link->sim;
	notice->key = key;
	wh_sim_at(link->sim, when_ns, arrive, notice, link->to);
}

void wh_sim_send_row(struct sim_link *link, enum sim_notice_kind kind, uint64_t key)
{
	wh_sim_send_notice(link, link->sim->now_ns + wh_sim_delay(link), (int)kind, key, "", 0);
}

/* What service() sees. True: it is an event as well. */
static bool see(struct sim_node *node, const struct sim_notice *notice)
{
	switch (notice->kind) {
	case SIM_ROW_OFFERED:
		wh_sim_image_offered(node, notice->node, notice->key);
		return false;
	case SIM_ROW_CONFIRMED:
		wh_sim_image_confirmed(node, notice->node, notice->key);
		return false;
	case WH_EVENT_IMAGE_READY:
		wh_sim_image_become_ready(notice->image);
		return true;
	default:
		return true;
	}
}

static size_t sim_service(struct wh_transport *transport)
{
	struct sim_node *node = node_of(transport);
	struct sim_notice *notice;
	size_t count = 0;

	while ((notice = take(&node->inbox)) != NULL) {
		if (see(node, notice))
			append(&node->events, notice);
		else
			free(notice);
		node->sim->under_way--;
		count++;
	}
	return count;
}

static bool sim_next_event(struct wh_transport *transport, struct wh_transport_event *out)
{
	struct sim_node *node = node_of(transport);
	struct sim_notice *notice = take(&node->events);

	if (notice == NULL)
		return false;
	out->kind = (enum wh_transport_event_kind)notice->kind;
	out->node = notice->node;
	out->image = notice->image;
	out->bytes = notice->bytes;
	memcpy(out->text, notice->text, notice->bytes + (notice->kind != WH_EVENT_CONTROL));
	if (notice->kind == WH_EVENT_CONTROL)
		wh_sim_link(node->sim, notice->node, node->id)->controls--;
	free(notice);
	return true;
}

static enum whorl_result sim_control_send(struct wh_transport *transport, uint32_t to, const void *bytes, size_t count)
{
	struct sim_node *node = node_of(transport);
	struct wh_sim *sim = node->sim;
	struct sim_link *link;
	uint64_t due;

	if (count > WH_CONTROL_MAX || to >= sim->options.nodes || to == node->id)
		return WHORL_INVALID;
	link = wh_sim_link(sim, node->id, to);
	if (link->gone || node->dead)
		return WHORL_MEMBER_GONE;
	if (!wh_sim_connected(link) || link->controls == SIM_CONTROLS)
		return WHORL_AGAIN;
	due = wh_sim_later(sim->now_ns + wh_sim_delay(link), link->control_due_ns);
	link->control_due_ns = due;
	link->controls++;
	link->controls_flying++;
	wh_sim_send_notice(link, due, WH_EVENT_CONTROL, 0, bytes, count);
	return WHORL_OK;
}

/* ---- meeting and leaving --------------------------------------------------------------------------------------------- */

static void refuse(struct sim_node *node, const struct sim_node *other, const char *why)
{
	char text[128];

	snprintf(text, sizeof(text), "node %u is refused: %s", other->id, why);
	wh_sim_notify(node, WH_EVENT_REFUSED, other->id, NULL, text);
}

void wh_sim_refuse_each_other(struct sim_node *one, struct sim_node *other, const char *why)
{
	refuse(one, other, why);
	refuse(other, one, why);
}

/* `from` meets `to`; it takes both ways. */
static void meet(void *ctx, uint64_t argument)
{
	struct sim_link *link = ctx, *back = wh_sim_link(link->sim, link->to, link->from);
	struct sim_node *node = &link->sim->nodes[link->from], *other = &link->sim->nodes[link->to];

	(void)argument;
	link->postponed = link->cut_off || back->cut_off;
	if (link->postponed)
		return;
	link->sim->under_way--;
	if (node->dead || other->dead || node->left || other->left || strcmp(node->group, other->group) != 0)
		return;
	link->met = true;
	if (node->nodes != other->nodes) {
		refuse(node, other, "it counts the nodes otherwise");
		return;
	}
	if (back->met)
		wh_sim_image_exchange(node, other);
}

void wh_sim_meet(struct sim_link *link)
{
	wh_sim_at(link->sim, link->sim->now_ns + wh_sim_delay(link), meet, link, 0);
}

void wh_sim_arrived(struct sim_link *link)
{
	if (!link->leaving || link->head != NULL || link->controls_flying > 0 || link->broken)
		return;
	link->leaving = false;
	wh_sim_send_notice(link, link->sim->now_ns + wh_sim_delay(link), WH_EVENT_PEER_LEFT, 0, "", 0);
}

static void sim_leave(struct wh_transport *transport)
{
	struct sim_node *node = node_of(transport);

	if (node->dead || node->left)
		return;
	node->left = true;
	for (uint32_t to = 0; to < node->sim->options.nodes; to++) {
		struct sim_link *link = wh_sim_link(node->sim, node->id, to);

		if (wh_sim_link(node->sim, to, node->id)->met) {
			link->leaving = true;
			wh_sim_arrived(link);
		}
	}
}

static void sim_destroy(struct wh_transport *transport, bool forked)
{
	struct sim_node *node = node_of(transport);

	(void)forked; /* all memory is this process's own */
	wh_sim_crash(node->sim, node->id);
	while (node->images != NULL)
		wh_sim_image_close(&node->images->base);
}

static const struct wh_transport_ops sim_ops = {
	.name = "sim",
	.image_open = wh_sim_image_open,
	.image_close = wh_sim_image_close,
	.post = wh_sim_post,
	.freeze = wh_sim_freeze,
	.service = sim_service,
	.next_event = sim_next_event,
	.arm = sim_arm,
	.disarm = sim_disarm,
	.wait = sim_wait,
	.wake = sim_wake,
	.fd = sim_fd,
	.control_send = sim_control_send,
	.leave = sim_leave,
	.destroy = sim_destroy,
};

enum whorl_result wh_sim_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				struct wh_error *err)
{
	struct wh_sim *sim = ctx;
	struct sim_node *node;

	*out = NULL;
	if (config->node >= sim->options.nodes || config->nodes > sim->options.nodes)
		return wh_error_set(err, WHORL_INVALID, "the simulated world has %u nodes", sim->options.nodes);
	node = &sim->nodes[config->node];
	if (node->created)
		return wh_error_set(err, WHORL_REFUSED, "node %u is there already", config->node);
	node->created = true;
	node->base.ops = &sim_ops;
	node->nodes = config->nodes;
	snprintf(node->group, sizeof(node->group), "%s", config->group);
	for (uint32_t i = 0; i < sim->options.nodes; i++) {
		struct sim_link *to = wh_sim_link(sim, node->id, i), *from = wh_sim_link(sim, i, node->id);

		if (i == node->id || !sim->nodes[i].created)
			continue;
		sim->under_way += 2;
		wh_sim_meet(to);
		wh_sim_meet(from);
	}
	*out = &node->base;
	return WHORL_OK;
}
