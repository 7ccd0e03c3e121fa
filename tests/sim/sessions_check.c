/* sessions_check.c - the promises of a session; see sessions_play.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/sessions_play.h"

#define WAITING_MAX (72u << 10)
#define USER_MAX (64u << 10)

void sessions_fail(struct sessions *s, const char *format, ...)
{
	va_list args;
	int n;

	if (s->verdict[0] != '\0')
		return;
	n = snprintf(s->verdict, sizeof(s->verdict), "at %.3f ms: ", (double)wh_sim_now(s->sim) / 1e6);
	va_start(args, format);
	vsnprintf(s->verdict + n, sizeof(s->verdict) - (size_t)n, format, args);
	va_end(args);
}

static uint32_t number_of(const struct sessions *s, const struct life *life)
{
	return (uint32_t)(life - s->lives);
}

static struct life *find(struct sessions *s, uint32_t host, uint64_t incarnation)
{
	for (uint32_t i = 0; i < s->life_count; i++)
		if (s->lives[i].host == host && s->lives[i].incarnation == incarnation)
			return &s->lives[i];
	return NULL;
}

/* ---- what happens ------------------------------------------------------------------------------------------------------ */

/* No other life of that host is met and not over (S1). */
static bool is_only(const struct sessions *s, const struct life *at, const struct life *of)
{
	for (uint32_t i = 0; i < s->life_count; i++)
		if (&s->lives[i] != of && s->lives[i].host == of->host && at->of[i].met && !at->of[i].over)
			return false;
	return true;
}

static void check_message(struct sessions *s, struct view *view, const struct life *at, const struct life *of,
			  const struct wh_transport_event *event)
{
	uint64_t number;

	memcpy(&number, event->text, sizeof(number));
	if (event->bytes < sizeof(number) || number != ++view->got || number > of->of[number_of(s, at)].sent)
		sessions_fail(s,
			      "S4: host %" PRIu32 " hears message %" PRIu64 " of host %" PRIu32 " as number %" PRIu64,
			      at->host, number, of->host, view->got);
}

static void check_end_of(struct sessions *s, struct view *view, const struct life *at, const struct life *of, bool left)
{
	if (!view->met || view->over)
		sessions_fail(s, "S1: for host %" PRIu32 " host %" PRIu32 " ends, which it has not met, or twice",
			      at->host, of->host);
	if (left && !of->left)
		sessions_fail(s, "S4: host %" PRIu32 " is told that host %" PRIu32 " has left", at->host, of->host);
	if (left && view->got != of->of[number_of(s, at)].sent)
		sessions_fail(s,
			      "S4: host %" PRIu32 " has heard %" PRIu64 " messages of host %" PRIu32
			      ", which left after %" PRIu64,
			      at->host, view->got, of->host, of->of[number_of(s, at)].sent);
	view->over = true;
	view->left = left;
}

static void check_about(struct sessions *s, struct life *at, struct life *of, const struct wh_transport_event *event)
{
	struct view *view = &at->of[number_of(s, of)];

	switch (event->kind) {
	case WH_EVENT_PEER_MET:
		if (view->met || view->over || !is_only(s, at, of))
			sessions_fail(s,
				      "S1: host %" PRIu32 " meets host %" PRIu32 " again, or before another has ended",
				      at->host, of->host);
		view->met = true;
		break;
	case WH_EVENT_PEER_LEFT:
	case WH_EVENT_PEER_DOWN:
		check_end_of(s, view, at, of, event->kind == WH_EVENT_PEER_LEFT);
		break;
	case WH_EVENT_REFUSED:
		if (view->over)
			sessions_fail(s, "S1: for host %" PRIu32 " host %" PRIu32 " is refused after its end", at->host,
				      of->host);
		view->over = view->refused = true;
		break;
	case WH_EVENT_CONTROL:
		if (!view->met || view->over)
			sessions_fail(s, "S2: host %" PRIu32 " hears host %" PRIu32 ", which it has not met", at->host,
				      of->host);
		else
			check_message(s, view, at, of, event);
		break;
	default:
		break;
	}
}

void sessions_check_event(struct sessions *s, struct life *at, const struct wh_transport_event *event)
{
	struct life *of;

	if (s->verbose)
		printf("%12.6f ms  host %" PRIu32 ": event %d of host %" PRIu32 " (%" PRIx64 ")\n",
		       (double)wh_sim_now(s->sim) / 1e6, at->host, (int)event->kind, event->node, event->incarnation);
	if (event->kind == WH_EVENT_IMAGE_READY || event->kind == WH_EVENT_QUERY)
		return;
	of = find(s, event->node, event->incarnation);
	if (of != NULL)
		check_about(s, at, of, event);
	else if (event->kind != WH_EVENT_REFUSED)
		sessions_fail(s, "S2: host %" PRIu32 " is told of an incarnation that never was", at->host);
}

static uint64_t waiting_for(const struct life *from, const struct life *to)
{
	const struct wh_peer *peer = wh_session_peer(((struct sim_node *)from->transport)->base.session, to->host);
	const struct sim_end *end = (const struct sim_end *)peer->conn;

	return end == NULL ? 0 : end->call->waiting[1 - end->side];
}

void sessions_check_sent(struct sessions *s, struct life *from, struct life *to, enum whorl_result result)
{
	const struct view *view = &from->of[number_of(s, to)];
	uint64_t waiting = waiting_for(from, to);

	if (result == WHORL_OK && (!view->met || view->over))
		sessions_fail(s, "S4: host %" PRIu32 " sends to host %" PRIu32 ", which it has not met", from->host,
			      to->host);
	if (result == WHORL_AGAIN && waiting + WH_HEAD_BYTES + WH_CONTROL_MAX <= USER_MAX)
		sessions_fail(s, "S5: host %" PRIu32 " is to wait, and only %" PRIu64 " bytes wait for host %" PRIu32,
			      from->host, waiting, to->host);
}

/* ---- at every step ------------------------------------------------------------------------------------------------------- */

static void check_conns(struct sessions *s, const struct life *life, const struct wh_session *session)
{
	for (uint32_t slot = 0; slot < session->slot_count; slot++) {
		const struct wh_conn *c = session->slots[slot];

		if (c == NULL)
			continue;
		if (c->slot != slot || (c->node != WH_NO_NODE && session->peers[c->node].conn != c))
			sessions_fail(s, "S9: host %" PRIu32 " has a connection that is no peer's", life->host);
		if (((const struct sim_end *)c)->call->waiting[0] > WAITING_MAX ||
		    ((const struct sim_end *)c)->call->waiting[1] > WAITING_MAX)
			sessions_fail(s, "S5: more waits than may, to or from host %" PRIu32, life->host);
	}
}

static bool has_connection(const struct wh_peer *peer)
{
	return peer->state == WH_PEER_CALLED || peer->state == WH_PEER_ANSWERED || peer->state == WH_PEER_MET;
}

static void check_peer(struct sessions *s, const struct life *life, const struct wh_session *session,
		       const struct wh_peer *peer)
{
	if (has_connection(peer) != (peer->conn != NULL))
		sessions_fail(s,
			      "S9: for host %" PRIu32 " host %" PRIu32 " is in state %d with a connection, or without",
			      life->host, peer->node, (int)peer->state);
	for (size_t i = 0; i < WH_SESSION_OFFERS; i++)
		if (peer->offers[i].there && peer->offers[i].offer.key < session->past_key &&
		    (life->image == NULL || peer->offers[i].offer.key != life->key))
			sessions_fail(s, "S6: host %" PRIu32 " keeps an offer of an image that is past", life->host);
}

/* It has been met, and may have ended since, which its host has yet to hear. */
static bool is_to_be_told(const struct life *life, uint32_t node, uint64_t incarnation)
{
	const struct wh_event_queue *queue = wh_session_events(((struct sim_node *)life->transport)->base.session);

	for (uint64_t at = queue->out; at != queue->in; at++) {
		const struct wh_transport_event *event = &queue->events[at % queue->room];

		if (event->kind == WH_EVENT_PEER_MET && event->node == node && event->incarnation == incarnation)
			return true;
	}
	return false;
}

/* A row that is mapped is of the life that it was meant for (S6). */
static void check_image(struct sessions *s, const struct life *life)
{
	const struct sim_image *image = (const struct sim_image *)life->image;

	for (uint32_t rank = 0; image != NULL && rank < image->base.base.members; rank++) {
		const struct wh_session_row *row = &image->base.rows[rank];
		const struct life *of = find(s, row->peer->node, row->incarnation);

		if (rank != image->base.base.my_rank && (row->mapped || row->confirmed) &&
		    (of == NULL || !(life->of[number_of(s, of)].met || wh_session_row_is_here(row) ||
				     is_to_be_told(life, row->peer->node, row->incarnation))))
			sessions_fail(s, "S6: host %" PRIu32 " has mapped a row of a life that it has not met",
				      life->host);
	}
}

void sessions_check_step(struct sessions *s)
{
	for (uint32_t host = 0; host < HOSTS; host++) {
		const struct life *life = s->at[host];
		const struct wh_session *session;

		if (life == NULL)
			continue;
		session = ((const struct sim_node *)life->transport)->base.session;
		check_conns(s, life, session);
		check_image(s, life);
		for (uint32_t node = 0; node < session->nodes; node++)
			check_peer(s, life, session, &session->peers[node]);
	}
}

/* ---- in the end ---------------------------------------------------------------------------------------------------------- */

static void check_pair(struct sessions *s, const struct life *one, const struct life *other)
{
	const struct view *a = &one->of[number_of(s, other)], *b = &other->of[number_of(s, one)];
	bool parted = s->parted[number_of(s, one)][number_of(s, other)];

	if (one->odd != other->odd) {
		/* Where another life of that host still counts as there the group can do without this one: it alone is told. */
		if ((!a->refused && is_only(s, one, other)) || (!b->refused && is_only(s, other, one)))
			sessions_fail(s, "S3: hosts %" PRIu32 " and %" PRIu32 " do not go together: told %d and %d",
				      one->host, other->host, a->refused, b->refused);
		return;
	}
	if (parted ? !(a->over || b->over || (a->met && b->met)) : !(a->met && !a->over && b->met && !b->over))
		sessions_fail(s, "S7: hosts %" PRIu32 " and %" PRIu32 " have not met (%d%d and %d%d)", one->host,
			      other->host, a->met, a->over, b->met, b->over);
	if (!a->over && !b->over && (a->got != b->sent || b->got != a->sent))
		sessions_fail(s, "S4: hosts %" PRIu32 " and %" PRIu32 " have not heard all", one->host, other->host);
}

/* Of lives that have ended: those that left were heard to their end, unless a broken connection was between. */
static void check_left(struct sessions *s, const struct life *at, const struct life *of)
{
	const struct view *view = &at->of[number_of(s, of)];

	if (view->met && !view->over)
		sessions_fail(s, "S7: host %" PRIu32 " has not been told of the end of host %" PRIu32, at->host,
			      of->host);
	if (view->met && of->left && !view->left && !s->parted[number_of(s, at)][number_of(s, of)])
		sessions_fail(s, "S4: host %" PRIu32 " has left, and host %" PRIu32 " is told that it has died",
			      of->host, at->host);
}

void sessions_check_end(struct sessions *s)
{
	for (uint32_t host = 0; host < HOSTS; host++) {
		const struct life *at = s->at[host];

		for (uint32_t i = 0; at != NULL && i < s->life_count; i++) {
			const struct life *of = &s->lives[i];

			if (of->host == host)
				continue;
			if (of == s->at[of->host])
				check_pair(s, at, of);
			else if (s->at[of->host] != NULL &&
				 s->at[of->host]->odd == at->odd) /* which has come in its place */
				check_left(s, at, of);
		}
	}
}
