/* meet.c - lives in the simulator: how endpoints meet, how they leave, and how one takes another's place.
 *
 * Each knocks at each other, as soon as both are there; when the other's service() has seen that, the first meets it.
 * What a life knows of another goes one way only: it has not met it, it has met it, it is over. Between lives of one host
 * that another knows of, the end of the first comes before the meeting with the second.
 */
#include "sim/net/sim_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_MAX_NS (WH_NS_PER_S - WH_NS_PER_MS)

static struct sim_node *node_of(struct wh_transport *transport)
{
	return (struct sim_node *)transport;
}

/* ---- meeting ------------------------------------------------------------------------------------------------------------- */

static bool is_kept_apart(const struct sim_link *link)
{
	return link->wire->cut_off || link->back->wire->cut_off;
}

/* A node that has left is still met by the nodes that it had met while it was there: it may have sent them something. */
static bool can_meet(const struct sim_link *link)
{
	const struct sim_node *node = link->from, *other = link->to;

	if (node->dead || node->left || link->broken || strcmp(node->group, other->group) != 0)
		return false;
	return other->left ? link->back->met : !other->dead;
}

void wh_sim_refuse(struct sim_link *link, const char *why)
{
	char text[128];

	snprintf(text, sizeof(text), "node %u is refused: %s", link->to->id, why);
	wh_sim_tell(link->back, WH_EVENT_REFUSED, text);
}

static void meet_now(struct sim_link *link)
{
	if (!can_meet(link)) {
		wh_sim_end_link(link);
		return;
	}
	if (link->from->nodes != link->to->nodes) {
		wh_sim_refuse(link, "it counts the nodes otherwise");
		return;
	}
	link->met = true;
	wh_sim_tell(link->back, WH_EVENT_PEER_MET, "");
	wh_sim_release(link->back);
	wh_sim_image_exchange(link);
}

/* True: the end of the life before comes first, and will come by itself. News of a death may be overtaken: then it is the
 * new life that tells of it. Only that tells it of one that ended in silence. */
static bool must_wait(struct sim_link *link)
{
	struct sim_link *former = wh_sim_former(link);
	char text[128];

	if (former == NULL || former->over)
		return false;
	if (!former->met || (former->ending && (former->to->left || wh_dice_one_in(&link->sim->dice, 2))))
		return true;
	snprintf(text, sizeof(text), "node %u is down (another has taken its place)", former->to->id);
	wh_sim_tell(former->back, WH_EVENT_PEER_DOWN, text);
	return false;
}

/* `from` meets `to`; it takes both ways. */
static void meet_or_wait(void *ctx, uint64_t argument)
{
	struct sim_link *link = ctx;

	(void)argument;
	link->postponed = is_kept_apart(link);
	if (link->postponed)
		return;
	link->waiting = must_wait(link);
	if (link->waiting)
		return;
	link->sim->under_way--;
	meet_now(link);
}

static void meet_soon(struct sim_link *link)
{
	wh_sim_at(link->sim, link->sim->now_ns + wh_sim_notice_delay(link), meet_or_wait, link, 0);
}

void wh_sim_answer_knock(struct sim_link *link)
{
	if (!link->knocking)
		return;
	link->knocking = false;
	meet_soon(link);
}

void wh_sim_meet_after_all(struct sim_link *link)
{
	if (!link->postponed || is_kept_apart(link))
		return;
	link->postponed = false;
	meet_soon(link);
}

static struct sim_link *next_newer(const struct sim_link *link)
{
	struct sim_link *newer = link->from->links[link->to->id];

	while (newer != link && newer->older != link)
		newer = newer->older;
	return newer;
}

void wh_sim_end_link(struct sim_link *link)
{
	struct sim_link *next = next_newer(link);

	link->over = true;
	wh_sim_remote_end(link->lane);
	wh_sim_answer_knock(link->back); /* which no node will */
	wh_sim_release(link->back);      /* to where no node hears it */
	if (!next->waiting)
		return;
	next->waiting = false;
	meet_soon(next);
}

/* ---- a new life ---------------------------------------------------------------------------------------------------------- */

static struct sim_link *new_link(struct sim_node *from, struct sim_node *to)
{
	struct sim_link *link = calloc(1, sizeof(*link));

	if (link == NULL)
		return NULL;
	link->sim = from->sim;
	link->wire = wh_sim_wire(from->sim, from->id, to->id);
	link->from = from;
	link->to = to;
	link->tail = &link->head;
	link->held.tail = &link->held.head;
	return link;
}

static void add_link(struct sim_link *link, struct sim_link *back)
{
	link->back = back;
	link->older = link->wire->links;
	link->wire->links = link;
	link->from->links[link->to->id] = link;
	link->knocking = true;
	link->sim->under_way++;
	wh_sim_send_notice(link, link->sim->now_ns + wh_sim_notice_delay(link), SIM_KNOCK, 0, "", 0);
}

enum whorl_result wh_sim_introduce(struct sim_node *node, struct wh_error *err)
{
	struct wh_sim *sim = node->sim;

	for (uint32_t id = 0; id < sim->options.nodes; id++) {
		struct sim_node *other = sim->hosts[id].life;
		struct sim_link *to, *from;

		if (other == NULL || other == node || other->dead)
			continue;
		to = new_link(node, other);
		from = new_link(other, node);
		if (to == NULL || from == NULL) {
			free(to);
			free(from);
			return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated link");
		}
		to->sought = true;
		from->sought = other->began_ns == node->began_ns;
		add_link(to, from);
		add_link(from, to);
	}
	node->search_ns = 1 + wh_dice_below(&sim->dice, 2 * sim->options.latency_max_ns + 1);
	return WHORL_OK;
}

/* ---- searching ----------------------------------------------------------------------------------------------------------- */

/* It was there first, and its meeting has not been taken notice of. */
static bool is_missed(const struct sim_node *node, const struct sim_link *link)
{
	return link != NULL && link->sought && node->known[link->to->id] != link && (link->met || can_meet(link)) &&
	       !link->over && !is_kept_apart(link);
}

bool wh_sim_searching(struct wh_transport *transport)
{
	struct sim_node *node = node_of(transport);
	uint64_t for_ns = node->sim->now_ns - node->began_ns;
	bool missed = for_ns < node->search_ns;

	for (uint32_t id = 0; id < node->sim->options.nodes && node->searching && !missed; id++)
		missed = is_missed(node, node->links[id]);
	node->searching = missed && for_ns < SEARCH_MAX_NS;
	return node->searching;
}

/* ---- leaving ------------------------------------------------------------------------------------------------------------- */

void wh_sim_arrived(struct sim_link *link)
{
	if (!link->leaving || link->head != NULL || link->controls_flying > 0 || link->broken ||
	    wh_sim_streams_flying(link))
		return;
	link->leaving = false;
	wh_sim_send_notice(link, link->sim->now_ns + wh_sim_notice_delay(link), WH_EVENT_PEER_LEFT, 0, "", 0);
}

void wh_sim_leave(struct wh_transport *transport)
{
	struct sim_node *node = node_of(transport);

	if (node->dead || node->left)
		return;
	node->left = true;
	for (uint32_t to = 0; to < node->sim->options.nodes; to++) {
		struct sim_link *link = node->links[to];

		if (link == NULL || !(link->met || link->back->met))
			continue;
		link->leaving = true;
		link->back->ending = true;
		wh_sim_arrived(link);
	}
}
