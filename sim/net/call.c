/* call.c - the wire of sessions in the simulator: connections, and what is on its way over them.
 *
 * A call goes to a host. If a life is there the host says so at once, whether the life looks or not, as a kernel does; where none is,
 * the host says that; a host that has vanished says nothing. When the caller's host has heard it, and says so, the life gets the call in
 * its queue of callers: three ways, as on tcp, so what a caller says next is not far behind. From then on messages go both ways, in order, late, and as far as cuts let them. The end of a connection comes behind all that was sent before it. When a life
 * crashes what it had sent is cut off anywhere. What is sent to a life that has vanished is lost, until another is there: then the
 * host answers that it knows of no such connection.
 */
#include "sim/net/sim_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USER_BYTES (64u << 10) /* that may wait for one peer */
#define OWN_BYTES (72u << 10)  /* the same for the session's and the transport's own */
#define NO_HOST UINT32_MAX

static struct sim_end *end_of(struct wh_conn *c)
{
	return (struct sim_end *)c;
}

static struct sim_node *node_of(struct wh_wire *w)
{
	return (struct sim_node *)w;
}

static uint32_t other(uint32_t side)
{
	return 1 - side;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

static void append(struct sim_queue *queue, struct sim_message *message)
{
	message->next = NULL;
	*queue->tail = message;
	queue->tail = &message->next;
}

static struct sim_message *take(struct sim_queue *queue)
{
	struct sim_message *message = queue->head;

	if (message != NULL) {
		queue->head = message->next;
		if (queue->head == NULL)
			queue->tail = &queue->head;
	}
	return message;
}

static struct sim_call *new_call(struct wh_sim *sim, uint32_t from, uint32_t to)
{
	struct sim_call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return NULL;
	call->sim = sim;
	call->host[0] = from;
	call->host[1] = to;
	for (uint32_t side = 0; side < 2; side++) {
		call->come[side].tail = &call->come[side].head;
		call->most[side] = UINT64_MAX;
	}
	call->next = sim->calls;
	call->at = &sim->calls;
	if (call->next != NULL)
		call->next->at = &call->next;
	sim->calls = call;
	return call;
}

static void free_call(struct sim_call *call)
{
	*call->at = call->next;
	if (call->next != NULL)
		call->next->at = call->at;
	free(call);
}

static void let_go(struct sim_call *call)
{
	if (--call->users == 0)
		free_call(call);
}

/* It has been taken in. */
static void account_for(struct sim_message *message)
{
	message->call->sim->under_way -= message->counts;
	message->call->waiting[message->to] -= message->bytes;
}

static void free_message(struct sim_message *message)
{
	struct sim_call *call = message->call;

	if (message->stream != NULL)
		wh_sim_stream_disown(message->stream);
	free(message);
	let_go(call);
}

/* It is seen by no node. */
static void drop_message(struct sim_message *message)
{
	account_for(message);
	free_message(message);
}

static void drop_come(struct sim_call *call, uint32_t side)
{
	struct sim_message *message;

	while ((message = take(&call->come[side])) != NULL) {
		call->node[side]->come--;
		drop_message(message);
	}
}

/* ---- on their way ------------------------------------------------------------------------------------------------------ */

static struct sim_path *path_to(const struct sim_call *call, uint32_t side)
{
	return call->host[0] == NO_HOST ? NULL : wh_sim_path(call->sim, call->host[other(side)], call->host[side]);
}

static void let_arrive(void *ctx, uint64_t argument);

static uint64_t delay_to(const struct sim_call *call, uint32_t side)
{
	const struct sim_path *path = path_to(call, side);

	if (path == NULL || call->sim->options.one_host)
		return 0;
	return wh_dice_between(&call->sim->dice, path->cost.latency_min_ns, path->cost.latency_max_ns);
}

static bool is_broken(const struct sim_call *call)
{
	return call->torn || (call->link[0] != NULL && call->link[0]->broken);
}

/* Of its user's. */
static bool is_control(const struct sim_message *message)
{
	return message->kind == SIM_SAYS && message->data[0] == WH_MESSAGE_CONTROL;
}

/* A life that can be called; by a lane as by its node. */
static bool is_there(const struct sim_node *life, const struct sim_node *caller)
{
	const struct sim_link *link = NULL;

	if (life != NULL && caller != NULL)
		link = wh_sim_link_to(caller->main, life->id, life->incarnation);
	return life != NULL && !life->dead && !life->left && (caller == NULL || (link != NULL && !link->broken));
}

/* Where no life is a node calls again and again, for ever: that is nothing that a world waits for. */
static bool leads_somewhere(const struct sim_call *call)
{
	return is_there(call->sim->hosts[call->host[1]].life, call->node[0]);
}

/* NULL: no memory. */
static struct sim_message *new_message(struct sim_call *call, uint32_t to, enum sim_message_kind kind, const void *data,
				       size_t bytes)
{
	struct sim_message *message = calloc(1, sizeof(*message) + bytes);

	if (message == NULL) {
		wh_sim_condemn(call->sim, call->host[to], "no memory for a message");
		return NULL;
	}
	message->call = call;
	message->kind = kind;
	message->to = to;
	message->bytes = bytes;
	if (bytes > 0)
		memcpy(message->data, data, bytes);
	call->controls[to] += is_control(message);
	call->users++;
	call->sent[to]++;
	call->waiting[to] += bytes;
	message->counts = kind != SIM_NOBODY && (kind != SIM_CALLS || leads_somewhere(call));
	call->sim->under_way += message->counts;
	return message;
}

/* NULL: it does not leave. */
static struct sim_message *send_at(struct sim_call *call, uint32_t to, enum sim_message_kind kind, const void *data,
				   size_t bytes, uint64_t when_ns)
{
	struct sim_message *message = is_broken(call) ? NULL : new_message(call, to, kind, data, bytes);

	if (message == NULL)
		return NULL;
	call->due_ns[to] = wh_sim_later(when_ns, call->due_ns[to]);
	wh_sim_at(call->sim, call->due_ns[to], let_arrive, message, 0);
	return message;
}

static struct sim_message *send_message(struct sim_call *call, uint32_t to, enum sim_message_kind kind,
					const void *data, size_t bytes)
{
	return send_at(call, to, kind, data, bytes, call->sim->now_ns + delay_to(call, to));
}

/* Its node takes it in with the next service(). */
static void leave_with(struct sim_node *node, struct sim_queue *queue, struct sim_message *message)
{
	append(queue, message);
	node->come++;
	wh_sim_ring(node);
}

static void enter(struct sim_message *message)
{
	message->call->entered = true;
	leave_with(message->call->node[1], &message->call->node[1]->callers, message);
}

/* The life that gets the call: the one that is there now. A stranger's comes as it is. */
static void call_arrives(struct sim_message *message)
{
	struct sim_call *call = message->call;
	struct sim_node *life = call->sim->hosts[call->host[1]].life, *caller = call->node[0];

	if (is_there(life, caller)) {
		call->node[1] = life;
		if (caller == NULL) {
			enter(message);
			return;
		}
		call->link[0] = wh_sim_link_to(caller->main, life->id, life->incarnation);
		call->link[1] = call->link[0]->back;
		(void)send_message(call, 0, SIM_ACCEPTED, NULL, 0);
		drop_message(message);
		return;
	}
	if (life == NULL || life->left || (life->dead && !life->vanished))
		(void)send_message(call, 0, SIM_NOBODY, NULL, 0);
	call->finished[1] = true;
	drop_message(message);
}

/* Behind the end nothing comes; and when the sender has died what it had sent is cut off somewhere. */
static bool is_lost(struct sim_call *call, const struct sim_message *message)
{
	uint32_t to = message->to;

	call->came[to]++;
	return call->finished[to] || (message->kind != SIM_HANGS_UP && call->came[to] > call->most[to]);
}

static void find_out(void *ctx, uint64_t argument);

/* The host of that side knows of no such connection any more: its life has ended. Unless that host has vanished with it. What the life
 * said when it left comes first. */
static void reset(struct sim_call *call, uint32_t side)
{
	const struct sim_node *node = call->node[side];
	bool answers = node != NULL && (!node->vanished || call->sim->hosts[call->host[side]].life != node->main);
	struct sim_message *end;

	if (!answers || call->left[side] || call->end[other(side)] == NULL || call->finished[other(side)] ||
	    call->node[other(side)]->dead || is_broken(call) || path_to(call, other(side))->cut_off)
		return;
	end = new_message(call, other(side), SIM_HANGS_UP, NULL, 0);
	if (end != NULL)
		wh_sim_at(call->sim, call->sim->now_ns + delay_to(call, other(side)), find_out, end, 0);
}

static void deliver(struct sim_message *message)
{
	struct sim_call *call = message->call;
	uint32_t to = message->to;
	struct sim_node *node = call->node[to];

	wh_sim_note(call->sim, (uint64_t)message->kind << 32 | call->host[to]);
	wh_sim_note(call->sim, message->bytes);
	call->controls[to] -= is_control(message);
	if (message->stream != NULL)
		wh_sim_stream_offer(message->stream);
	if (message->kind == SIM_CALLS) {
		call_arrives(message);
	} else if (node == NULL || node->dead) {
		if (message->kind == SIM_SAYS)
			reset(call, to);
		drop_message(message);
	} else if (is_lost(call, message) || node->left) { /* of a node that has left nothing takes it */
		drop_message(message);
	} else if (to == 1 && !call->entered &&
		   message->kind != SIM_ENTERS) { /* its end, which overtakes its beginning */
		call->finished[1] = true;
		drop_message(message);
	} else if (message->kind == SIM_ENTERS) {
		enter(message);
	} else {
		if (message->kind == SIM_ACCEPTED)
			(void)send_message(call, 1, SIM_ENTERS, NULL, 0);
		call->finished[to] = message->kind == SIM_HANGS_UP || message->kind == SIM_NOBODY;
		leave_with(node, &call->come[to], message);
	}
}

/* It has arrived, or has come as far as the cut. */
static void let_arrive(void *ctx, uint64_t argument)
{
	struct sim_message *message = ctx;
	struct sim_path *path = path_to(message->call, message->to);

	(void)argument;
	if (path != NULL && (path->cut_off || path->held.head != NULL))
		append(&path->held, message);
	else
		deliver(message);
}

static void release(void *ctx, uint64_t argument)
{
	struct sim_path *path = ctx;

	(void)argument;
	while (path->held.head != NULL && !path->cut_off)
		deliver(take(&path->held));
}

void wh_sim_calls_release(struct wh_sim *sim, struct sim_path *path)
{
	if (path->held.head != NULL)
		wh_sim_at(sim, sim->now_ns + wh_dice_below(&sim->dice, path->cost.latency_max_ns + 1), release, path,
			  0);
}

static void find_out(void *ctx, uint64_t argument)
{
	(void)argument;
	deliver(ctx);
}

void wh_sim_drop_arrival(const struct sim_event *event)
{
	if (event->fn == let_arrive || event->fn == find_out)
		free(event->ctx);
}

void wh_sim_calls_free(struct wh_sim *sim)
{
	for (struct sim_call *call = sim->calls, *next; call != NULL; call = next) {
		struct sim_message *message;

		next = call->next;
		for (uint32_t side = 0; side < 2; side++)
			while ((message = take(&call->come[side])) != NULL)
				free(message);
		free(call);
	}
	for (uint32_t i = 0; sim->paths != NULL && i < sim->options.nodes * sim->options.nodes; i++) {
		struct sim_message *message;

		while ((message = take(&sim->paths[i].held)) != NULL)
			free(message);
	}
}

/* ---- connecting and accepting ------------------------------------------------------------------------------------------- */

static struct sim_end *new_end(struct sim_call *call, uint32_t side)
{
	struct sim_end *end = calloc(1, sizeof(*end));

	if (end == NULL)
		return NULL;
	end->call = call;
	end->side = side;
	end->base.configured = call->host[other(side)] != NO_HOST;
	end->base.source = call->host[other(side)];
	snprintf(end->base.text, sizeof(end->base.text), "host %" PRIu32, call->host[other(side)]);
	call->end[side] = end;
	call->users++;
	return end;
}

static enum wh_wire_result connect_to(struct wh_wire *w, uint32_t node, struct wh_conn **out,
				      char reason[WH_MESSAGE_REASON_BYTES])
{
	struct sim_node *from = node_of(w);
	struct sim_call *call = new_call(from->sim, from->id, node);
	struct sim_end *end = call != NULL ? new_end(call, 0) : NULL;

	(void)reason;
	if (end == NULL) {
		wh_sim_condemn(from->sim, from->id, "no memory for a call");
		return WH_WIRE_LATER;
	}
	call->node[0] = from;
	(void)send_message(call, 1, SIM_CALLS, NULL, 0);
	*out = &end->base;
	return WH_WIRE_DONE;
}

static enum wh_wire_result accept_caller(struct wh_wire *w, struct wh_conn **out)
{
	struct sim_node *node = node_of(w);
	struct sim_message *message = take(&node->callers);
	struct sim_end *end;

	if (message == NULL)
		return WH_WIRE_LATER;
	node->come--;
	end = new_end(message->call, 1);
	drop_message(message);
	if (end == NULL)
		return WH_WIRE_BROKEN;
	*out = &end->base;
	return WH_WIRE_DONE;
}

static void rest(struct wh_wire *w, bool rests)
{
	node_of(w)->rests = rests;
}

static bool watch(struct wh_conn *c, bool on)
{
	(void)c, (void)on;
	return true;
}

/* It is between two lanes from now on, and what has come is the lane's to take. */
static void hand_over(struct wh_conn *c, uint32_t lane, struct wh_message *m)
{
	struct sim_end *end = end_of(c);
	struct sim_call *call = end->call;
	struct sim_node *node = call->node[end->side], *to = wh_sim_lane_of(node, lane);
	struct sim_link *link = to != NULL ? wh_sim_link_to(to, call->node[0]->id, call->node[0]->incarnation) : NULL;

	(void)m;
	end->again = true;
	if (link == NULL) /* its caller has died */
		return;
	for (const struct sim_message *message = call->come[end->side].head; message != NULL; message = message->next) {
		node->come--;
		to->come++;
	}
	call->node[end->side] = to;
	call->link[1] = link;
	call->link[0] = link->back;
	wh_sim_ring(to);
}

static void take_over(struct wh_wire *w, struct wh_conn *c)
{
	(void)w, (void)c;
}

static enum wh_wire_result greet(struct wh_conn *c, char reason[WH_MESSAGE_REASON_BYTES])
{
	struct sim_end *end = end_of(c);
	struct sim_call *call = end->call;
	struct sim_message *first = call->come[end->side].head;

	(void)reason;
	if (end->side == 1)
		return WH_WIRE_DONE;
	if (first == NULL)
		return WH_WIRE_LATER;
	if (first->kind == SIM_NOBODY)
		return WH_WIRE_NOBODY;
	if (first->kind != SIM_ACCEPTED)
		return WH_WIRE_ENDED;
	call->node[0]->come--;
	drop_message(take(&call->come[0]));
	call->greeted = true;
	(void)send_message(call, 1, SIM_SAYS, call->hello, call->hello_bytes);
	return WH_WIRE_DONE;
}

/* As a kernel, which knows what it runs. */
static enum wh_wire_result holds_id(struct wh_conn *c, uint32_t node)
{
	const struct sim_call *call = end_of(c)->call;
	const struct sim_node *life = call->sim->hosts[node].life;

	if (life == NULL || life->dead)
		return WH_WIRE_LATER;
	return life == call->node[other(end_of(c)->side)] ? WH_WIRE_DONE : WH_WIRE_REFUSED;
}

static bool adopt(struct wh_conn *c)
{
	(void)c;
	return true;
}

/* ---- messages ----------------------------------------------------------------------------------------------------------- */

static enum wh_wire_result send(struct wh_conn *c, const unsigned char *message, size_t bytes, const int *fds,
				size_t fd_count, enum wh_wire_room room)
{
	struct sim_call *call = end_of(c)->call;
	uint32_t to = other(end_of(c)->side);

	(void)fds, (void)fd_count;
	if (call->node[other(to)]->dead)
		return WH_WIRE_ENDED;
	if (to == 1 && !call->greeted) { /* it is my hello, and leaves when the call is accepted */
		memcpy(call->hello, message, bytes);
		call->hello_bytes = bytes;
		return WH_WIRE_DONE;
	}
	if (call->waiting[to] + bytes > (room == WH_WIRE_OWN ? OWN_BYTES : USER_BYTES))
		return WH_WIRE_LATER;
	(void)send_message(call, to, SIM_SAYS, message, bytes);
	return WH_WIRE_DONE;
}

static bool finish(struct wh_conn *c, const struct iovec *parts, size_t count)
{
	struct sim_call *call = end_of(c)->call;
	unsigned char message[WH_MESSAGE_MAX];
	size_t bytes = 0;

	if (call->host[0] == NO_HOST) { /* a visitor has its answer at once */
		if (count == 2)
			call->fn(call->ctx, parts[1].iov_base, parts[1].iov_len);
		return true;
	}
	for (size_t i = 0; i < count && bytes + parts[i].iov_len <= sizeof(message); i++) {
		memcpy(message + bytes, parts[i].iov_base, parts[i].iov_len);
		bytes += parts[i].iov_len;
	}
	(void)send_message(call, other(end_of(c)->side), SIM_SAYS, message, bytes);
	return true;
}

static void hear(struct sim_end *end)
{
	if (end->heard != NULL)
		free_message(end->heard);
	end->heard = take(&end->call->come[end->side]);
	account_for(end->heard);
	end->call->node[end->side]->come--;
	end->base.spoke = true;
}

static enum wh_wire_result receive(struct wh_conn *c, struct wh_message *m)
{
	struct sim_end *end = end_of(c);
	struct sim_call *call = end->call;
	struct sim_message *first = call->come[end->side].head;

	if (m == NULL || (first == NULL && !end->again))
		return WH_WIRE_LATER;
	if (!end->again) {
		if (first->kind != SIM_SAYS)
			return WH_WIRE_ENDED;
		hear(end);
	}
	end->again = false;
	m->body = end->heard->data + WH_HEAD_BYTES;
	return wh_message_head_take(&m->head, end->heard->data) ? WH_WIRE_DONE : WH_WIRE_BROKEN;
}

/* ---- ends --------------------------------------------------------------------------------------------------------------- */

static void leave(struct wh_conn *c)
{
	struct sim_end *end = end_of(c);
	struct sim_link *link = end->call->link[end->side];

	if (link->broken)
		return;
	end->call->left[end->side] = true;
	end->call->users++;
	link->leaving = true;
	link->last_call = end->call;
	wh_sim_arrived(link);
}

void wh_sim_calls_say_goodbye(struct sim_link *link)
{
	struct sim_call *call = link->last_call;
	uint32_t to = call->link[0] == link ? 1 : 0;
	unsigned char message[WH_HEAD_BYTES];

	(void)send_message(call, to, SIM_SAYS, message, wh_message_put_plain(message, WH_MESSAGE_LEAVE, 0));
	(void)send_message(call, to, SIM_HANGS_UP, NULL, 0);
	let_go(call);
}

static void close_end(struct wh_conn *c, bool forked)
{
	struct sim_end *end = end_of(c);
	struct sim_call *call = end->call;
	uint32_t side = end->side, to = other(side);

	(void)forked;
	if (end->heard != NULL)
		free_message(end->heard);
	drop_come(call, side);
	call->closed[side] = call->finished[side] = true;
	call->end[side] = NULL;
	if (!call->node[side]->dead && !call->left[side] && !call->finished[to] && call->host[0] != NO_HOST)
		(void)send_message(call, to, SIM_HANGS_UP, NULL, 0);
	free(end);
	let_go(call);
}

/* ---- streams ------------------------------------------------------------------------------------------------------------ */

static enum whorl_result stream_open(struct wh_conn *c, const struct wh_opening *opening, struct wh_stream **out)
{
	struct sim_call *call = end_of(c)->call;
	unsigned char bytes[WH_HEAD_BYTES + WH_OPENING_BYTES];
	uint32_t to = other(end_of(c)->side);
	struct sim_message *message;
	struct sim_stream *stream;
	bool full = is_broken(call);

	if (call->node[end_of(c)->side]->dead)
		return WHORL_MEMBER_GONE;
	stream = full ? NULL : wh_sim_stream_new(call->link[end_of(c)->side], opening->tag, out, &full);
	if (stream == NULL)
		return full ? WHORL_AGAIN : WHORL_MEMORY;
	message = send_message(call, to, SIM_SAYS, bytes, wh_message_put_opening(bytes, opening));
	if (message != NULL)
		message->stream = stream;
	return WHORL_OK;
}

static enum wh_wire_result stream_take(struct wh_conn *c, struct wh_message *m, struct wh_stream **out)
{
	struct sim_message *heard = end_of(c)->heard;

	(void)m;
	if (heard->stream == NULL)
		return WH_WIRE_BROKEN;
	*out = wh_sim_stream_take(heard->stream);
	heard->stream = NULL;
	return WH_WIRE_DONE;
}

/* ---- time --------------------------------------------------------------------------------------------------------------- */

static void alarm_comes(void *ctx, uint64_t at_ns)
{
	struct sim_node *node = ctx;

	if (node->alarm_ns != at_ns || node->dead) /* it was set earlier, and has come */
		return;
	node->alarm_ns = 0;
	node->alarmed = true;
	wh_sim_tell_rung(node);
}

static void set_alarm(struct wh_wire *w, uint64_t in_ns)
{
	struct sim_node *node = node_of(w);
	uint64_t at_ns = node->sim->now_ns + in_ns;

	if (node->alarmed || (node->alarm_ns != 0 && node->alarm_ns <= at_ns))
		return;
	node->alarm_ns = at_ns;
	wh_sim_at(node->sim, at_ns, alarm_comes, node, at_ns);
}

#define WIRE_OPS                                                                                                       \
	.connect = connect_to, .accept = accept_caller, .rest = rest, .watch = watch, .greet = greet, .adopt = adopt,  \
	.send = send, .finish = finish, .receive = receive, .leave = leave, .close = close_end,                        \
	.hand_over = hand_over, .take_over = take_over, .stream_open = stream_open, .stream_take = stream_take,        \
	.alarm = set_alarm

const struct wh_wire_ops wh_sim_wire_ops = {WIRE_OPS, .answer_ns = WH_NS_PER_S};
const struct wh_wire_ops wh_sim_host_wire_ops = {WIRE_OPS, .holds_id = holds_id};

void wh_sim_calls_look_at_clock(struct sim_node *node)
{
	if (!node->alarmed)
		return;
	node->alarmed = false;
	(void)wh_session_on_timer(node->base.session);
}

size_t wh_sim_calls_serve(struct sim_node *node)
{
	size_t done = 0;

	wh_sim_calls_look_at_clock(node);
	if (node->come == 0)
		return 0;
	if (!node->rests)
		wh_session_on_caller(node->base.session);
	for (uint32_t slot = 0; slot < wh_session_slots(node->base.session) && node->come > 0; slot++) {
		struct sim_end *end = end_of(wh_session_conn(node->base.session, slot));

		if (end != NULL && end->call->come[end->side].head != NULL)
			done += wh_session_on_ready(node->base.session, slot);
	}
	return done;
}

/* ---- faults ------------------------------------------------------------------------------------------------------------- */

/* Of what is on its way to that side some arrives, or all. */
static void cut_off_to(struct sim_call *call, uint32_t side)
{
	struct wh_dice *dice = &call->sim->dice;

	if (call->sent[side] > call->came[side] && !wh_dice_one_in(dice, 3))
		call->most[side] = call->came[side] + wh_dice_below(dice, call->sent[side] - call->came[side]);
}

/* That side notices at some time that the other is no more. */
static uint64_t notice_time(const struct sim_call *call, uint32_t side)
{
	struct wh_sim *sim = call->sim;
	uint64_t late = sim->options.notice_max_ns;

	return sim->now_ns + delay_to(call, side) + (late > 0 ? wh_dice_between(&sim->dice, 0, late) : 0);
}

static void die_on(struct sim_call *call, uint32_t side, bool silently)
{
	drop_come(call, side);
	if (call->left[side] || call->host[0] == NO_HOST)
		return;
	cut_off_to(call, other(side));
	if (!silently && !call->finished[other(side)])
		(void)send_at(call, other(side), SIM_HANGS_UP, NULL, 0, notice_time(call, other(side)));
}

void wh_sim_calls_turn_away(struct sim_node *node)
{
	struct sim_message *caller;

	while ((caller = take(&node->callers)) != NULL) {
		caller->call->finished[1] = true; /* nor is what they say heard */
		drop_come(caller->call, 1);
		node->come--;
		drop_message(caller);
	}
}

void wh_sim_calls_die(struct sim_node *node, bool silently)
{
	struct sim_message *caller;
	struct sim_call *next;

	for (struct sim_call *call = node->sim->calls; call != NULL; call = next) {
		next = call->next;
		for (uint32_t side = 0; side < 2; side++)
			if (call->node[side] == node)
				die_on(call, side, silently);
	}
	while ((caller = take(&node->callers)) != NULL) {
		node->come--;
		drop_message(caller);
	}
}

/* Each side finds out by itself, whatever else does not come through. */
static void break_to(struct sim_call *call, uint32_t side)
{
	struct sim_message *end = new_message(call, side, SIM_HANGS_UP, NULL, 0);

	call->torn = true;
	cut_off_to(call, side);
	if (end != NULL)
		wh_sim_at(call->sim, notice_time(call, side), find_out, end, 0);
}

void wh_sim_calls_break(struct sim_link *link)
{
	for (struct sim_call *call = link->sim->calls; call != NULL; call = call->next)
		if (!call->torn && (call->link[0] == link || call->link[1] == link)) {
			break_to(call, 0);
			break_to(call, 1);
		}
}

uint64_t wh_sim_calls_messages(const struct wh_sim *sim, uint32_t from, uint32_t to)
{
	uint64_t count = 0;

	for (const struct sim_call *call = sim->calls; call != NULL; call = call->next)
		for (uint32_t side = 0; side < 2; side++)
			if (call->host[side] == to && call->host[other(side)] == from)
				count += call->controls[side];
	return count;
}

/* ---- strangers ---------------------------------------------------------------------------------------------------------- */

/* NULL: no memory. It is heard at once. */
static struct sim_call *new_stranger(struct wh_sim *sim, uint32_t node, const void *message, size_t bytes)
{
	struct sim_call *call = new_call(sim, NO_HOST, node);
	struct sim_message *calls, *says = NULL;

	if (call == NULL)
		return NULL;
	call->greeted = true;
	calls = new_message(call, 1, SIM_CALLS, NULL, 0);
	if (bytes > 0)
		says = new_message(call, 1, SIM_SAYS, message, bytes);
	if (calls != NULL)
		deliver(calls);
	if (says != NULL)
		deliver(says);
	return call;
}

void wh_sim_call_as_stranger(struct wh_sim *sim, uint32_t node, const void *message, size_t bytes)
{
	(void)new_stranger(sim, node, message, bytes);
}

/* ---- visitors ----------------------------------------------------------------------------------------------------------- */

bool wh_sim_query(struct wh_sim *sim, uint32_t node, const void *question, size_t bytes, wh_sim_answer_fn *fn,
		  void *ctx)
{
	const struct sim_node *life = sim->hosts[node].life;
	unsigned char message[WH_MESSAGE_MAX];
	struct sim_call *call;

	if (life == NULL || life->dead || bytes > WH_CONTROL_MAX)
		return false;
	call = new_stranger(sim, node, message, wh_message_put_query(message, SIM_VERSION, question, bytes));
	if (call == NULL)
		return false;
	call->fn = fn;
	call->ctx = ctx;
	return true;
}
