/* node.c - endpoints of the simulator: their table, their doorbells, and their lives. */
#include "sim/net/sim_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sim_node *node_of(struct wh_transport *transport)
{
	return (struct sim_node *)transport;
}

/* ---- the doorbell ----------------------------------------------------------------------------------------------------- */

void wh_sim_tell_rung(const struct sim_node *node)
{
	const struct wh_sim_options *options = &node->sim->options;

	if (node->lane != 0 && options->lane_rung != NULL)
		options->lane_rung(options->ctx, node->id, node->lane);
	else if (node->lane == 0 && options->rung != NULL)
		options->rung(options->ctx, node->id);
}

static void ring_now(struct sim_node *node)
{
	if (node->dead)
		return;
	node->rung = true;
	wh_sim_tell_rung(node);
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
	return node->rung || (node->come > 0 && !node->ringing);
}

bool wh_sim_lane_rung(const struct wh_sim *sim, uint32_t node, uint32_t lane)
{
	struct sim_node *life = sim->hosts[node].life;

	if (life != NULL)
		life = wh_sim_lane_of(life, lane);
	return life != NULL && (is_rung(life) || life->alarmed);
}

bool wh_sim_rung(const struct wh_sim *sim, uint32_t node)
{
	return wh_sim_lane_rung(sim, node, 0);
}

static void sim_arm(struct wh_transport *transport)
{
	node_of(transport)->armed = true;
}

static void sim_disarm(struct wh_transport *transport)
{
	node_of(transport)->armed = false;
}

#define UNTAKEN_NS UINT64_C(1000)

static void sim_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct sim_node *node = node_of(transport);
	uint64_t until = node->sim->now_ns + timeout_ns;
	bool untaken = !node->rung && node->come > 0 && node->come == node->come_before;

	node->come_before = node->come;
	if (untaken && !node->dead) /* it ends, and takes nothing any more: time goes on all the same, a little */
		(void)wh_sim_step(node->sim,
				  until < node->sim->now_ns + UNTAKEN_NS ? until : node->sim->now_ns + UNTAKEN_NS);
	while (!node->dead && !is_rung(node) && wh_sim_step(node->sim, until))
		if (!node->dead)
			wh_sim_calls_look_at_clock(node);
	while (node->dead && node->sim->options.disks &&
	       wh_sim_step(node->sim, until)) /* what is left of it is closed, and time goes on */
		continue;
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

/* ---- what the session does ---------------------------------------------------------------------------------------------- */

/* What the session says comes first: a proof behind the end of the same life. */
static bool sim_next_event(struct wh_transport *transport, struct wh_transport_event *out)
{
	return wh_session_table_next_event(transport, out) || wh_sim_next_proof(node_of(transport), out);
}

static size_t sim_service(struct wh_transport *transport)
{
	struct sim_node *node = node_of(transport);
	size_t done;

	if (node->dead)
		return 0;
	done = wh_sim_calls_serve(node);
	return done + wh_session_service(node->base.session) + wh_sim_remote_serve(node);
}

static void sim_answer(struct wh_transport *transport, uint64_t query, const void *bytes, size_t count)
{
	struct sim_node *node = node_of(transport);

	if (count > WH_ANSWER_MAX)
		wh_sim_condemn(node->sim, node->id, "answers with %zu bytes", count);
	else if (!node->dead)
		wh_session_answer(node->base.session, query, bytes, count);
}

static void sim_past(struct wh_transport *transport, uint64_t key)
{
	struct sim_node *node = node_of(transport);

	node->past_key = node->past_key < key ? key : node->past_key;
	if (!node->dead)
		wh_session_past(node->base.session, key);
}

/* Whatever happens to the leaver afterwards: all that it has posted, sent and written arrives, and then that it has left. */
static void sim_leave(struct wh_transport *transport)
{
	struct sim_node *node = node_of(transport);

	if (node->dead || node->left)
		return;
	node->left = true;
	wh_session_leave(node->base.session);
	wh_sim_calls_turn_away(node); /* else they would be something to serve, for ever */
}

void wh_sim_arrived(struct sim_link *link)
{
	if (!link->leaving || link->head != NULL || link->broken || wh_sim_streams_flying(link))
		return;
	link->leaving = false;
	wh_sim_calls_say_goodbye(link);
}

/* ---- peers -------------------------------------------------------------------------------------------------------------- */

struct sim_node *wh_sim_lane_of(struct sim_node *life, uint32_t lane)
{
	struct sim_node *found = lane == 0 ? life : life->lanes;

	while (found != NULL && found->lane != lane)
		found = found->next_lane;
	return found;
}

struct sim_link *wh_sim_link_to(const struct sim_node *node, uint32_t id, uint64_t incarnation)
{
	struct sim_link *link = node->links[id];

	while (link != NULL && link->to->incarnation != incarnation)
		link = wh_sim_former(link);
	return link;
}

struct sim_link *wh_sim_met(const struct sim_node *node, uint32_t id)
{
	const struct wh_peer *peer = id < node->nodes && !node->dead ? wh_session_peer(node->base.session, id) : NULL;

	return peer != NULL && peer->state == WH_PEER_MET ? wh_sim_link_to(node, id, peer->incarnation) : NULL;
}

static void on_end(struct wh_transport *transport, uint32_t id)
{
	struct sim_link *link = wh_sim_met(node_of(transport), id);

	if (link == NULL)
		return;
	link->over = true;
	wh_sim_remote_end(link->account);
}

static bool on_message(struct wh_transport *transport, uint32_t id, struct wh_message *m)
{
	return wh_sim_remote_on_message(node_of(transport), id, m);
}

static const struct wh_plane_ops plane_ops = {.ended = on_end, .on_message = on_message, .map = wh_sim_image_map};

/* ---- the beginning and the end ----------------------------------------------------------------------------------------- */

static void sim_destroy(struct wh_transport *transport, bool forked)
{
	struct sim_node *node = node_of(transport);

	(void)forked; /* all memory is this process's own */
	wh_sim_die(node, false);
	while (node->base.session != NULL && wh_session_images(node->base.session) != NULL)
		wh_sim_image_close(&wh_session_images(node->base.session)->base);
	wh_session_free(node->base.session, false);
	node->base.session = NULL;
	wh_lanes_let_go(node->lanes_in_common, false);
	node->lanes_in_common = NULL;
	wh_sim_remote_close(node);
}

void wh_sim_free_node(struct sim_node *node)
{
	while (node->lanes != NULL) {
		struct sim_node *lane = node->lanes;

		node->lanes = lane->next_lane;
		wh_sim_remote_free(lane);
		free(lane);
	}
	wh_sim_remote_free(node);
	free(node);
}

/* A number that stands for its process. */
static int sim_holder(struct wh_transport *transport, uint32_t node)
{
	const struct sim_host *host = &node_of(transport)->sim->hosts[node];

	return host->held || (host->life != NULL && !host->life->dead) ? (int)node + 1 : 0;
}

static enum whorl_result sim_lane_open(struct wh_transport *transport, uint32_t lane, struct wh_transport **out,
				       struct wh_error *err);

static const struct wh_transport_ops lane_ops = {
	.name = "sim",
	.remote = &wh_sim_remote_ops,
	.service = sim_service,
	.next_event = wh_session_table_next_event,
	.arm = sim_arm,
	.disarm = sim_disarm,
	.wait = sim_wait,
	.wake = sim_wake,
	.fd = sim_fd,
	.complaints = wh_session_table_complaints,
	.leave = sim_leave,
	.destroy = sim_destroy,
};

static const struct wh_transport_ops sim_ops = {
	.name = "sim",
	.remote = &wh_sim_remote_ops,
	.image_open = wh_sim_image_open,
	.image_close = wh_sim_image_close,
	.past = sim_past,
	.post = wh_sim_post,
	.freeze = wh_sim_freeze,
	.service = sim_service,
	.next_event = wh_session_table_next_event,
	.arm = sim_arm,
	.disarm = sim_disarm,
	.wait = sim_wait,
	.wake = sim_wake,
	.fd = sim_fd,
	.control_send = wh_session_table_control_send,
	.stream_open = wh_session_table_stream_open,
	.searching = wh_session_table_searching,
	.answer = sim_answer,
	.complaints = wh_session_table_complaints,
	.leave = sim_leave,
	.lane_open = sim_lane_open,
	.lanes_part = wh_session_table_lanes_part,
	.destroy = sim_destroy,
};

static struct sim_link *new_link(struct sim_node *from, struct sim_node *to)
{
	struct sim_link *link = calloc(1, sizeof(*link));

	if (link == NULL)
		return NULL;
	link->sim = from->sim;
	link->path = wh_sim_path(from->sim, from->id, to->id);
	link->from = from;
	link->to = to;
	link->tail = &link->head;
	return link;
}

static void add_link(struct sim_link *link, struct sim_link *back)
{
	link->back = back;
	link->older = link->path->links;
	link->former = link->from->links[link->to->id];
	link->path->links = link;
	link->from->links[link->to->id] = link;
}

/* Links between this life, which is new, and those that are there. */
static bool link_to_all(struct sim_node *node)
{
	struct wh_sim *sim = node->sim;

	for (uint32_t id = 0; id < sim->options.nodes; id++) {
		struct sim_node *life = sim->hosts[id].life;
		struct sim_link *to, *from;

		if (life != NULL)
			life = wh_sim_lane_of(life, node->lane);
		if (life == NULL || life == node || life->dead)
			continue;
		to = new_link(node, life);
		from = new_link(life, node);
		if (to == NULL || from == NULL) {
			free(to);
			free(from);
			return false;
		}
		add_link(to, from);
		add_link(from, to);
	}
	return true;
}

static void choose_table(struct sim_node *node)
{
	const struct wh_sim_options *options = &node->sim->options;

	node->base.base.ops = &node->ops;
	node->ops = node->lane == 0 ? sim_ops : lane_ops;
	if (node->lane != 0)
		return;
	node->ops.gap_bytes = options->gap_bytes;
	node->ops.relays = !options->proofs; /* of one host there is one memory */
	node->ops.holder = options->one_host ? sim_holder : NULL;
	if (options->proofs) {
		node->ops.thaw = wh_sim_thaw;
		node->ops.next_event = sim_next_event;
	}
}

/* `main` is NULL, or the node that it is a lane of. */
static struct sim_node *new_node(struct sim_host *host, const struct wh_transport_config *config, struct sim_node *main,
				 uint32_t lane)
{
	uint32_t ids = host->sim->options.nodes;
	struct sim_node *node = calloc(1, sizeof(*node) + ids * sizeof(*node->links));

	if (node == NULL)
		return NULL;
	node->sim = host->sim;
	node->host = host;
	node->id = host->id;
	node->lane = lane;
	node->main = main != NULL ? main : node;
	node->incarnation = config->incarnation;
	node->nodes = config->nodes;
	memcpy(node->group, config->group, strlen(config->group) + 1);
	choose_table(node);
	node->proofs_tail = &node->proofs;
	node->callers.tail = &node->callers.head;
	node->immediates_tail = &node->immediates;
	node->lanes_in_common =
		main != NULL ? wh_lanes_hold(main->lanes_in_common) : wh_lanes_new(&node->base.base, config->nodes);
	if (node->lanes_in_common == NULL) {
		free(node);
		return NULL;
	}
	return node;
}

static enum whorl_result begin_session(struct sim_node *node, const struct wh_transport_config *config,
				       struct wh_error *err)
{
	const struct wh_session_setup setup = {
		.config = config,
		.lanes = node->lanes_in_common,
		.lane = node->lane,
		.name = "sim",
		.version = SIM_VERSION,
		.wire_ops = node->sim->options.one_host ? &wh_sim_host_wire_ops : &wh_sim_wire_ops,
		.wire = (struct wh_wire *)node,
		.plane_ops = &plane_ops,
		.transport = &node->base.base,
	};
	enum whorl_result result = wh_session_new(&setup, &node->base.session, err);

	if (result == WHORL_OK && node->lane == 0)
		wh_session_begin(node->base.session);
	else if (result == WHORL_OK)
		result = wh_session_open_lane(node->base.session, err);
	return result;
}

/* Of a life that its host, or its node, has already. */
static enum whorl_result begin_life(struct sim_node *node, const struct wh_transport_config *config,
				    struct wh_transport **out, struct wh_error *err)
{
	enum whorl_result result = link_to_all(node)
					   ? begin_session(node, config, err)
					   : wh_error_set(err, WHORL_MEMORY, "no memory for a simulated link");

	if (result == WHORL_OK)
		*out = &node->base.base;
	else
		sim_destroy(&node->base.base, false);
	return result;
}

static enum whorl_result sim_lane_open(struct wh_transport *transport, uint32_t lane, struct wh_transport **out,
				       struct wh_error *err)
{
	struct sim_node *main = node_of(transport), *node;
	const struct wh_transport_config config = {.env = wh_sim_env(main->sim, main->id),
						   .group = main->group,
						   .node = main->id,
						   .nodes = main->nodes,
						   .incarnation = main->incarnation};
	enum whorl_result result = wh_lanes_check(lane, err);

	*out = NULL;
	if (result != WHORL_OK)
		return result;
	if (wh_sim_lane_of(main, lane) != NULL)
		return wh_error_set(err, WHORL_INVALID, "lane %u has been opened before: a node opens each once", lane);
	node = new_node(main->host, &config, main, lane);
	if (node == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated lane");
	node->next_lane = main->lanes;
	main->lanes = node;
	return begin_life(node, &config, out, err);
}

/* The id and the incarnation can be had. */
static enum whorl_result check_life(const struct wh_sim *sim, const struct wh_transport_config *config,
				    struct wh_error *err)
{
	if (config->node >= sim->options.nodes || config->nodes > sim->options.nodes)
		return wh_error_set(err, WHORL_INVALID, "the simulated world has %u nodes", sim->options.nodes);
	if (sim->hosts[config->node].life != NULL && !sim->hosts[config->node].life->dead)
		return wh_error_set(err, WHORL_REFUSED, "node %u is there already", config->node);
	for (const struct sim_node *node = sim->hosts[config->node].life; node != NULL; node = node->former)
		if (node->incarnation == config->incarnation)
			return wh_error_set(err, WHORL_REFUSED, "node %u has been there as this incarnation",
					    config->node);
	return wh_session_check(config, err);
}

enum whorl_result wh_sim_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				struct wh_error *err)
{
	struct wh_sim *sim = ctx;
	enum whorl_result result = check_life(sim, config, err);
	struct sim_host *host;
	struct sim_node *node;

	*out = NULL;
	if (result != WHORL_OK)
		return result;
	host = &sim->hosts[config->node];
	node = new_node(host, config, NULL, 0);
	if (node == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated node");
	node->former = host->life;
	host->life = node;
	wh_sim_note(sim, config->incarnation);
	return begin_life(node, config, out, err);
}
