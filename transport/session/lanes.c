/* lanes.c - see lanes.h. */
#include "transport/session/lanes.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

struct lane {
	bool opened;                    /* now or before */
	struct wh_transport *transport; /* NULL: it is not open */
	struct wh_conn **callers;       /* by node: waits to be taken; NULL, all: none ever has */
};

struct wh_lanes {
	pthread_mutex_t lock;
	uint32_t nodes;            /* [const] */
	uint32_t users;            /* [lock] */
	wh_word changes;           /* [lock writes, any thread reads] */
	wh_word open;              /* [lock writes, any thread reads] bit k - 1: lane k */
	wh_word holds;             /* [lock writes, any thread reads] */
	struct wh_transport *node; /* [lock] NULL: it has ended */
	struct lane lanes[WH_LANES_MAX];
	struct wh_lanes_peer peers[]; /* [lock] */
};

struct wh_lanes *wh_lanes_new(struct wh_transport *node, uint32_t nodes)
{
	struct wh_lanes *lanes = calloc(1, sizeof(*lanes) + nodes * sizeof(lanes->peers[0]));

	if (lanes == NULL)
		return NULL;
	if (pthread_mutex_init(&lanes->lock, NULL) != 0) {
		free(lanes);
		return NULL;
	}
	lanes->nodes = nodes;
	lanes->node = node;
	lanes->users = 1;
	return lanes;
}

struct wh_lanes *wh_lanes_hold(struct wh_lanes *lanes)
{
	pthread_mutex_lock(&lanes->lock);
	lanes->users++;
	pthread_mutex_unlock(&lanes->lock);
	return lanes;
}

/* In a forked child another thread of the parent may have had the lock, which is nobody's to give back. */
static void lock(struct wh_lanes *lanes, bool forked)
{
	if (!forked)
		pthread_mutex_lock(&lanes->lock);
}

static void unlock(struct wh_lanes *lanes, bool forked)
{
	if (!forked)
		pthread_mutex_unlock(&lanes->lock);
}

void wh_lanes_let_go(struct wh_lanes *lanes, bool forked)
{
	uint32_t users;

	if (lanes == NULL)
		return;
	lock(lanes, forked);
	users = --lanes->users;
	unlock(lanes, forked);
	if (users > 0)
		return;
	for (uint32_t i = 0; i < WH_LANES_MAX; i++)
		free(lanes->lanes[i].callers);
	if (!forked)
		pthread_mutex_destroy(&lanes->lock);
	free(lanes);
}

/* All that lanes look at has changed; they are told at once. */
static void tell(struct wh_lanes *lanes)
{
	(void)wh_fetch_add(&lanes->changes, 1); /* partner: wh_lanes_changes */
	for (uint32_t i = 0; i < WH_LANES_MAX; i++)
		if (lanes->lanes[i].transport != NULL)
			lanes->lanes[i].transport->ops->wake(lanes->lanes[i].transport);
}

/* ---- of the node -------------------------------------------------------------------------------------------------- */

void wh_lanes_node_ends(struct wh_lanes *lanes, bool forked)
{
	lock(lanes, forked);
	lanes->node = NULL;
	unlock(lanes, forked);
}

void wh_lanes_met(struct wh_lanes *lanes, uint32_t node, uint64_t incarnation)
{
	pthread_mutex_lock(&lanes->lock);
	lanes->peers[node].incarnation = incarnation;
	lanes->peers[node].open = 0;
	tell(lanes);
	pthread_mutex_unlock(&lanes->lock);
}

void wh_lanes_ended(struct wh_lanes *lanes, uint32_t node, uint64_t incarnation, bool left)
{
	struct wh_lanes_peer *peer = &lanes->peers[node];

	pthread_mutex_lock(&lanes->lock);
	if (peer->incarnation == incarnation) {
		peer->incarnation = 0;
		if (left)
			peer->left = incarnation;
		tell(lanes);
	}
	pthread_mutex_unlock(&lanes->lock);
}

void wh_lanes_of_peer(struct wh_lanes *lanes, uint32_t node, uint64_t incarnation, uint64_t open)
{
	struct wh_lanes_peer *peer = &lanes->peers[node];

	pthread_mutex_lock(&lanes->lock);
	if (peer->incarnation == incarnation) {
		peer->open = open;
		tell(lanes);
	}
	pthread_mutex_unlock(&lanes->lock);
}

void wh_lanes_hold_connections(struct wh_lanes *lanes)
{
	pthread_mutex_lock(&lanes->lock);
	wh_store_release(&lanes->holds, 1); /* partner: wh_lanes_hold_through_cuts */
	tell(lanes);
	pthread_mutex_unlock(&lanes->lock);
}

uint64_t wh_lanes_open_here(const struct wh_lanes *lanes)
{
	return wh_load_acquire(&lanes->open); /* partner: wh_lanes_open, wh_lanes_close */
}

static struct lane *find(struct wh_lanes *lanes, uint32_t lane)
{
	return lane > 0 && lane <= WH_LANES_MAX ? &lanes->lanes[lane - 1] : NULL;
}

bool wh_lanes_hand_over(struct wh_lanes *lanes, uint32_t lane, uint32_t node, struct wh_conn *c, struct wh_conn **older)
{
	struct lane *to = find(lanes, lane);
	bool takes;

	*older = NULL;
	pthread_mutex_lock(&lanes->lock);
	takes = to != NULL && to->transport != NULL;
	if (takes) {
		*older = to->callers[node];
		to->callers[node] = c;
		(void)wh_fetch_add(&lanes->changes, 1); /* partner: wh_lanes_changes */
		to->transport->ops->wake(to->transport);
	}
	pthread_mutex_unlock(&lanes->lock);
	return takes;
}

/* ---- of a lane ---------------------------------------------------------------------------------------------------- */

enum whorl_result wh_lanes_check(uint32_t lane, struct wh_error *err)
{
	if (lane > 0 && lane <= WH_LANES_MAX)
		return WHORL_OK;
	return wh_error_set(err, WHORL_INVALID, "lane %" PRIu32 ": lanes have the numbers 1 to %d", lane, WH_LANES_MAX);
}

/* WHORL_OK, and it has room for callers; else why it cannot be opened. */
static enum whorl_result prepare(const struct wh_lanes *lanes, uint32_t lane, struct lane *place, struct wh_error *err)
{
	if (place->opened) /* its incarnation may have been met, and is met once */
		return wh_error_set(err, WHORL_INVALID,
				    "lane %" PRIu32 " has been opened before: a node opens each once", lane);
	if (lanes->node == NULL)
		return wh_error_set(err, WHORL_MEMBER_GONE, "lane %" PRIu32 " cannot be opened: its node has ended",
				    lane);
	place->callers = calloc(lanes->nodes, sizeof(struct wh_conn *));
	if (place->callers == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for lane %" PRIu32, lane);
	return WHORL_OK;
}

enum whorl_result wh_lanes_open(struct wh_lanes *lanes, uint32_t lane, struct wh_transport *transport,
				struct wh_error *err)
{
	struct lane *place = find(lanes, lane);
	enum whorl_result result;

	pthread_mutex_lock(&lanes->lock);
	result = prepare(lanes, lane, place, err);
	if (result == WHORL_OK) {
		place->opened = true;
		place->transport = transport;
		(void)wh_fetch_or(&lanes->open, UINT64_C(1) << (lane - 1)); /* partner: wh_lanes_open_here */
		lanes->node->ops->wake(lanes->node);
	}
	pthread_mutex_unlock(&lanes->lock);
	return result;
}

void wh_lanes_close(struct wh_lanes *lanes, uint32_t lane, bool forked)
{
	lock(lanes, forked);
	find(lanes, lane)->transport = NULL;
	(void)wh_fetch_and(&lanes->open, ~(UINT64_C(1) << (lane - 1))); /* partner: wh_lanes_open_here */
	if (!forked && lanes->node != NULL)
		lanes->node->ops->wake(lanes->node);
	unlock(lanes, forked);
}

uint64_t wh_lanes_changes(const struct wh_lanes *lanes)
{
	return wh_load_acquire(&lanes->changes); /* partner: tell, wh_lanes_hand_over */
}

bool wh_lanes_hold_through_cuts(const struct wh_lanes *lanes)
{
	return wh_load_acquire(&lanes->holds) != 0; /* partner: wh_lanes_hold_connections */
}

struct wh_lanes_peer wh_lanes_peer(struct wh_lanes *lanes, uint32_t node)
{
	struct wh_lanes_peer peer;

	pthread_mutex_lock(&lanes->lock);
	peer = lanes->peers[node];
	pthread_mutex_unlock(&lanes->lock);
	return peer;
}

struct wh_conn *wh_lanes_take_caller(struct wh_lanes *lanes, uint32_t lane, bool forked)
{
	struct wh_conn *c = NULL, **callers;

	lock(lanes, forked);
	callers = find(lanes, lane)->callers;
	for (uint32_t node = 0; node < lanes->nodes && c == NULL; node++) {
		c = callers[node];
		callers[node] = NULL;
	}
	unlock(lanes, forked);
	return c;
}
