/* node.c - endpoints of the simulator: how they meet, their doorbells, events, control messages, and how they
 * leave. */
#include "sim/net/sim_int.h"

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
	const struct sim_node *life = sim->hosts[node].life;

	return life != NULL && is_rung(life);
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

/* ---- events ------------------------------------------------------------------------------------------------------------ */

/* What service() sees. True: it is an event as well. */
static bool see_notice(struct sim_node *node, const struct sim_notice *notice)
{
	switch (notice->kind) {
	case SIM_ROW_OFFERED:
		wh_sim_image_offered(node, notice->link->from, notice->key);
		return false;
	case SIM_ROW_CONFIRMED:
		wh_sim_image_confirmed(node, notice->link->from, notice->key);
		return false;
	case SIM_KNOCK:
		wh_sim_answer_knock(notice->link);
		return false;
	case SIM_REGION_GRANTED:
	case SIM_REGION_WITHDRAWN:
		wh_sim_remote_on_message(node, notice);
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

	while ((notice = wh_sim_queue_take(&node->inbox)) != NULL) {
		if (see_notice(node, notice))
			wh_sim_queue_append(&node->events, notice);
		else
			wh_sim_free_notice(notice);
		node->sim->under_way--;
		count++;
	}
	return count + wh_sim_remote_serve(node);
}

/* What is particular to the kind. */
static void fill_event(struct wh_transport_event *out, struct sim_node *node, struct sim_notice *notice)
{
	switch (notice->kind) {
	case WH_EVENT_PEER_MET:
		node->known[out->node] = notice->link->back;
		break;
	case WH_EVENT_IMAGE_READY:
		out->image = notice->image;
		break;
	case WH_EVENT_CONTROL:
		notice->link->controls--;
		break;
	case WH_EVENT_STREAM:
		out->stream = wh_sim_stream_take(notice->stream, &out->tag);
		notice->stream = NULL;
		break;
	case WH_EVENT_QUERY:
		out->query = notice->key;
		break;
	default:
		break;
	}
}

static bool sim_next_event(struct wh_transport *transport, struct wh_transport_event *out)
{
	struct sim_node *node = node_of(transport);
	struct sim_notice *notice = wh_sim_queue_take(&node->events);
	const struct sim_node *about;

	if (notice == NULL)
		return false;
	about = notice->link != NULL ? notice->link->from : node;
	out->kind = (enum wh_transport_event_kind)notice->kind;
	out->node = about->id;
	out->incarnation = about->incarnation;
	out->image = NULL;
	out->tag = 0;
	out->bytes = notice->bytes;
	memcpy(out->text, notice->text, notice->bytes);
	if (notice->bytes < sizeof(out->text))
		out->text[notice->bytes] = '\0';
	fill_event(out, node, notice);
	wh_sim_free_notice(notice);
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
	link = node->known[to];
	if (node->dead || link == NULL || link->over)
		return WHORL_MEMBER_GONE;
	if (link->broken || link->controls == SIM_CONTROLS)
		return WHORL_AGAIN;
	due = wh_sim_later(sim->now_ns + wh_sim_notice_delay(link), link->control_due_ns);
	link->control_due_ns = due;
	link->controls++;
	link->controls_flying++;
	wh_sim_send_notice(link, due, WH_EVENT_CONTROL, 0, bytes, count);
	return WHORL_OK;
}

/* ---- visitors ---------------------------------------------------------------------------------------------------------- */

bool wh_sim_query(struct wh_sim *sim, uint32_t node, const void *question, size_t bytes, wh_sim_answer_fn *fn,
		  void *ctx)
{
	struct sim_node *life = sim->hosts[node].life;
	struct sim_query *query;

	if (life == NULL || life->dead || bytes > WH_CONTROL_MAX)
		return false;
	query = malloc(sizeof(*query));
	if (query == NULL)
		return false;
	*query = (struct sim_query){life->queries, ++sim->queries, fn, ctx};
	life->queries = query;
	wh_sim_notify(life, WH_EVENT_QUERY, query->number, NULL, question, bytes);
	return true;
}

static void sim_answer(struct wh_transport *transport, uint64_t number, const void *bytes, size_t count)
{
	struct sim_node *node = node_of(transport);

	if (count > WH_ANSWER_MAX)
		wh_sim_condemn(node->sim, node->id, "answers with %zu bytes", count);
	for (struct sim_query **at = &node->queries; *at != NULL && !node->dead; at = &(*at)->next) {
		struct sim_query *query = *at;

		if (query->number != number)
			continue;
		*at = query->next;
		query->fn(query->ctx, bytes, count);
		free(query);
		return;
	}
}

/* ---- the beginning and the end ----------------------------------------------------------------------------------------- */

static void sim_destroy(struct wh_transport *transport, bool forked)
{
	struct sim_node *node = node_of(transport);

	(void)forked; /* all memory is this process's own */
	wh_sim_die(node, false);
	while (node->images != NULL)
		wh_sim_image_close(&node->images->base);
	wh_sim_remote_close(node);
}

void wh_sim_free_node(struct sim_node *node)
{
	while (node->queries != NULL) {
		struct sim_query *query = node->queries;

		node->queries = query->next;
		free(query);
	}
	wh_sim_remote_free(node);
	free(node);
}

/* A number that stands for its process. */
static int sim_holder(struct wh_transport *transport, uint32_t node)
{
	const struct sim_node *life = node_of(transport)->sim->hosts[node].life;

	return life != NULL && !life->dead ? (int)node + 1 : 0;
}

static const struct wh_transport_ops sim_ops = {
	.name = "sim",
	.remote = &wh_sim_remote_ops,
	.image_open = wh_sim_image_open,
	.image_close = wh_sim_image_close,
	.past = wh_sim_past,
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
	.stream_open = wh_sim_stream_open,
	.searching = wh_sim_searching,
	.answer = sim_answer,
	.leave = wh_sim_leave,
	.destroy = sim_destroy,
};

static struct sim_node *new_node(struct sim_host *host, const struct wh_transport_config *config)
{
	uint32_t ids = host->sim->options.nodes;
	struct sim_node *node = calloc(1, sizeof(*node) + 2 * ids * sizeof(*node->links));

	if (node == NULL)
		return NULL;
	node->ops = sim_ops;
	node->ops.gap_bytes = host->sim->options.gap_bytes;
	node->ops.holder = host->sim->options.one_host ? sim_holder : NULL;
	node->base.ops = &node->ops;
	node->sim = host->sim;
	node->host = host;
	node->id = host->id;
	node->incarnation = config->incarnation;
	node->nodes = config->nodes;
	node->began_ns = host->sim->now_ns;
	node->searching = true;
	node->known = node->links + ids;
	node->inbox.tail = &node->inbox.head;
	node->events.tail = &node->events.head;
	node->immediates_tail = &node->immediates;
	snprintf(node->group, sizeof(node->group), "%s", config->group);
	return node;
}

enum whorl_result wh_sim_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				struct wh_error *err)
{
	struct wh_sim *sim = ctx;
	struct sim_host *host;
	struct sim_node *node;

	*out = NULL;
	if (config->node >= sim->options.nodes || config->nodes > sim->options.nodes)
		return wh_error_set(err, WHORL_INVALID, "the simulated world has %u nodes", sim->options.nodes);
	if (config->incarnation == 0)
		return wh_error_set(err, WHORL_INVALID, "a simulated node has no incarnation");
	host = &sim->hosts[config->node];
	if (host->life != NULL && !host->life->dead)
		return wh_error_set(err, WHORL_REFUSED, "node %u is there already", config->node);
	for (node = host->life; node != NULL; node = node->former)
		if (node->incarnation == config->incarnation)
			return wh_error_set(err, WHORL_REFUSED, "node %u has been there as this incarnation",
					    config->node);
	node = new_node(host, config);
	if (node == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated node");
	node->former = host->life;
	host->life = node;
	wh_sim_note(sim, config->incarnation);
	if (wh_sim_introduce(node, err) != WHORL_OK) {
		wh_sim_die(node, true);
		return WHORL_MEMORY;
	}
	*out = &node->base;
	return WHORL_OK;
}
