/* heartbeat.c - see heartbeat.h. */
#include "membership/heartbeat.h"

#include <stdlib.h>

enum whorl_result wh_heartbeat_init(struct wh_heartbeat *heartbeat, struct wh_error *err)
{
	const struct wh_image *image = heartbeat->sst->image;

	heartbeat->heard = calloc(image->members, sizeof(*heartbeat->heard));
	heartbeat->peer_ranks = calloc(image->members, sizeof(*heartbeat->peer_ranks));
	if (heartbeat->heard == NULL || heartbeat->peer_ranks == NULL) {
		wh_heartbeat_close(heartbeat);
		return wh_error_set(err, WHORL_MEMORY, "no memory for the heartbeats of %u members", image->members);
	}
	for (uint32_t rank = 0; rank < image->members; rank++)
		if (rank != image->my_rank)
			heartbeat->peer_ranks[heartbeat->peers.count++] = rank;
	heartbeat->peers.ranks = heartbeat->peer_ranks;
	return WHORL_OK;
}

void wh_heartbeat_close(struct wh_heartbeat *heartbeat)
{
	free(heartbeat->heard);
	free(heartbeat->peer_ranks);
	heartbeat->heard = NULL;
	heartbeat->peer_ranks = NULL;
}

void wh_heartbeat_begin(struct wh_heartbeat *heartbeat, const bool *heard)
{
	uint64_t now = heartbeat->loop->now_ns;

	heartbeat->begun = true;
	heartbeat->looked_ns = now;
	if (heard ==
	    NULL) /* what a node said while it read its log did not say that the view has begun, and others may wait for just that */
		heartbeat->next_push_ns = 0;
	for (uint32_t rank = 0; rank < heartbeat->sst->image->members; rank++)
		heartbeat->heard[rank] = (struct wh_heard){.when_ns = now, .afresh = heard == NULL || heard[rank]};
}

/* A heartbeat: a number that grows, whether the view has begun, whether its sender is deaf. */
#define DEAF 1
#define BEGUN 2
#define FIRST 4

void wh_heartbeat_arrive(struct wh_heartbeat *heartbeat)
{
	if (wh_sst_mine(heartbeat->sst, heartbeat->column) != 0)
		return;
	wh_sst_publish(heartbeat->sst, heartbeat->pushes, heartbeat->column, FIRST, heartbeat->peers);
	wh_pushes_post(heartbeat->pushes);
	wh_count(heartbeat->pushed, 1);
}

enum wh_beat wh_heartbeat_of(const struct wh_heartbeat *heartbeat, uint32_t rank)
{
	uint64_t value = wh_sst_observe(heartbeat->sst, rank, heartbeat->column);

	return value == 0 ? WH_BEAT_NONE : (value & BEGUN) == 0 ? WH_BEAT_THERE : WH_BEAT_BEGUN;
}

void wh_heartbeat_forgive(struct wh_heartbeat *heartbeat)
{
	for (uint32_t rank = 0; rank < heartbeat->sst->image->members; rank++) {
		struct wh_heard *heard = &heartbeat->heard[rank];

		if (heard->overdue)
			*heard = (struct wh_heard){
				.value = heard->value, .arrived = heard->arrived, .when_ns = heartbeat->loop->now_ns};
		if (heard->deaf_ns != 0)
			heard->deaf_ns = heartbeat->loop->now_ns;
	}
}

/* Its heartbeats wait behind what is arriving. What the last one said about hearing a quorum is as old as that one. */
static void on_bytes(struct wh_heard *heard, uint64_t now, uint64_t arrived)
{
	*heard = (struct wh_heard){.value = heard->value,
				   .arrived = arrived,
				   .when_ns = now,
				   .afresh = true,
				   .deaf_ns = heard->deaf_ns != 0 ? now : 0};
}

static void look_at_member(struct wh_heartbeat *heartbeat, uint64_t now, uint32_t rank, bool late)
{
	const uint64_t *arrivals = heartbeat->sst->image->arrived;
	struct wh_heard *heard = &heartbeat->heard[rank];
	uint64_t value = wh_sst_observe(heartbeat->sst, rank, heartbeat->column);
	uint64_t arrived = arrivals != NULL ? arrivals[rank] : 0;

	if (late || value != heard->value) {
		uint64_t deaf_ns = (value & DEAF) == 0 ? 0 : heard->deaf_ns != 0 && !late ? heard->deaf_ns : now;

		*heard = (struct wh_heard){
			.value = value, .arrived = arrived, .when_ns = now, .afresh = !late, .deaf_ns = deaf_ns};
	} else if (arrived != heard->arrived) {
		on_bytes(heard, now, arrived);
	} else if (now - heard->when_ns > heartbeat->timeout_ns) {
		heard->overdue = true;
		heard->afresh = false;
	}
}

bool wh_heartbeat_beat(struct wh_heartbeat *heartbeat)
{
	uint64_t now = heartbeat->loop->now_ns, last = wh_sst_mine(heartbeat->sst, heartbeat->column);

	if (now < heartbeat->next_push_ns) {
		wh_loop_at(heartbeat->loop, heartbeat->next_push_ns);
		return false;
	}
	wh_sst_publish_no_wake(heartbeat->sst, heartbeat->pushes, heartbeat->column,
			       (last / FIRST + 1) * FIRST + (heartbeat->begun ? BEGUN : 0) +
				       (heartbeat->deaf ? DEAF : 0),
			       heartbeat->peers);
	wh_pushes_post(heartbeat->pushes);
	wh_count(heartbeat->pushed, 1);
	heartbeat->next_push_ns = now + heartbeat->timeout_ns / 4;
	wh_loop_at(heartbeat->loop, heartbeat->next_push_ns);
	return true;
}

bool wh_heartbeat_step(struct wh_heartbeat *heartbeat)
{
	uint64_t now = heartbeat->loop->now_ns;
	bool late = now - heartbeat->looked_ns > heartbeat->timeout_ns / 2;

	if (!wh_heartbeat_beat(heartbeat))
		return false;
	for (uint32_t i = 0; i < heartbeat->peers.count; i++)
		look_at_member(heartbeat, now, heartbeat->peers.ranks[i], late);
	heartbeat->looked_ns = now;
	return true;
}
