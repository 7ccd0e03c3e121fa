/* scenes.c - views as nodes enter them: which node sits where, and what the truth about each sender begins with. See play_int.h. */
#include <stdlib.h>

#include "sim/play_int.h"

/* ---- a view, when the first node enters it ------------------------------------------------------------------------------- */

/* NULL: there is no such life, and the run has failed. */
static struct actor *find_life(struct play *play, const struct wh_view *view, uint32_t rank)
{
	for (uint32_t i = 0; i < play->lives; i++)
		if (play->actors[i].id == view->ids[rank] && play->actors[i].incarnation == view->incarnations[rank])
			return &play->actors[i];
	wh_play_fail(play, "incarnation: view %llu has node %u in a life that it never had",
		     (unsigned long long)view->number, view->ids[rank]);
	return NULL;
}

static void seat_members(struct circle *circle, const struct wh_view *view, const struct wh_view_subgroup *shard)
{
	struct play *play = circle->scene->play;

	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t rank = shard->members[i];
		struct actor *actor = find_life(play, view, rank);
		struct seat *seat = &circle->seats[i];

		*seat = (struct seat){.actor = actor,
				      .circle = circle,
				      .place = &actor->places[circle->g],
				      .me = wh_rank_find(shard->senders, shard->sender_count, rank)};
		seat->taken = wh_plan_alloc(shard->sender_count, sizeof(*seat->taken));
	}
	for (uint32_t s = 0; s < shard->sender_count; s++)
		circle->parts[s].stream = find_life(play, view, shard->senders[s])->places[circle->g].stream;
}

static void make_circle(struct scene *scene, uint32_t index, const struct wh_view *view)
{
	const struct wh_view_subgroup *shard = &view->subgroups[index];
	struct circle *circle = &scene->circles[index];

	*circle = (struct circle){.scene = scene,
				  .shard = index,
				  .g = shard->configured,
				  .ordered = scene->play->plan->subgroups[shard->configured].ordered,
				  .active = shard->state == WH_SHARD_ACTIVE,
				  .seat_count = shard->member_count,
				  .part_count = shard->sender_count};
	circle->seats = wh_plan_alloc(shard->member_count, sizeof(*circle->seats));
	circle->parts = wh_plan_alloc(shard->sender_count, sizeof(*circle->parts));
	seat_members(circle, view, shard);
}

/* A view of all nodes is what the plan says, if nothing was there before it. */
static void check_first(const struct scene *scene)
{
	const struct wh_plan *plan = scene->play->plan;

	if (scene->ids != (UINT64_C(1) << scene->play->nodes) - 1)
		return;
	for (uint32_t i = 0; i < scene->circle_count; i++) {
		const struct circle *circle = &scene->circles[i];
		const struct wh_plan_subgroup *subgroup = &plan->subgroups[circle->g];
		uint64_t members = 0, senders = 0;

		for (uint32_t k = 0; k < circle->seat_count; k++)
			members |= UINT64_C(1) << circle->seats[k].actor->id;
		for (uint32_t s = 0; s < circle->part_count; s++)
			senders |= UINT64_C(1) << circle->parts[s].stream->place->actor->id;
		if (plan->config.subgroups[circle->g].options.shards == 1 && !subgroup->by_function &&
		    (members != subgroup->members || senders != subgroup->senders))
			wh_play_fail(scene->play, "layout: g%u has members %llx and senders %llx in the first view",
				     circle->g, (unsigned long long)members, (unsigned long long)senders);
	}
}

static struct scene *find_scene(const struct play *play, uint64_t number)
{
	struct scene *scene = play->scenes;

	while (scene != NULL && scene->number != number)
		scene = scene->before;
	return scene;
}

static struct scene *make_scene(struct play *play, const struct wh_view *view, uint64_t key)
{
	struct scene *scene = wh_plan_alloc(1, sizeof(*scene));

	*scene = (struct scene){.play = play,
				.before = play->scenes,
				.number = view->number,
				.group = view->group,
				.key = key,
				.voters = view->voters,
				.circle_count = view->subgroup_count};
	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct actor *actor = find_life(play, view, rank);

		if (actor == NULL) {
			free(scene);
			return NULL;
		}
		scene->members |= UINT64_C(1) << actor->life;
		scene->ids |= UINT64_C(1) << actor->id;
	}
	for (uint32_t i = 0; i < view->subgroup_count; i++)
		scene->rests |= view->subgroups[i].resting_count > 0;
	scene->circles = wh_plan_alloc(view->subgroup_count, sizeof(*scene->circles));
	for (uint32_t i = 0; i < view->subgroup_count; i++)
		make_circle(scene, i, view);
	play->scenes = scene;
	if (view->number == 0)
		check_first(scene);
	return scene;
}

/* ---- a node enters --------------------------------------------------------------------------------------------------------- */

int wh_circle_sender(const struct circle *circle, uint32_t node)
{
	for (uint32_t s = 0; s < circle->part_count; s++)
		if (circle->parts[s].stream->place->actor->id == node)
			return (int)s;
	return -1;
}

struct seat *wh_circle_seat(const struct circle *circle, const struct actor *actor)
{
	for (uint32_t i = 0; i < circle->seat_count; i++)
		if (circle->seats[i].actor == actor)
			return &circle->seats[i];
	return NULL;
}

struct seat *wh_scene_seat(const struct place *place, uint64_t view)
{
	const struct scene *scene = find_scene(place->actor->play, view);

	for (uint32_t i = 0; scene != NULL && i < scene->circle_count; i++) {
		struct seat *seat = NULL;

		if (scene->circles[i].g == place->g)
			seat = wh_circle_seat(&scene->circles[i], place->actor);
		if (seat != NULL)
			return seat;
	}
	return NULL;
}

void wh_scene_forsake(struct actor *actor)
{
	for (uint32_t g = 0; g < actor->play->plan->config.subgroup_count; g++) {
		struct place *place = &actor->places[g];

		if (place->seat != NULL)
			place->seat->gone = true;
		place->seat = NULL;
	}
}

/* What it has taken in by now is nothing yet, but where each sender's messages begin. */
static void sit_down(struct seat *seat)
{
	const struct circle *circle = seat->circle;
	struct wh_inspect_seat now;

	seat->place->seat = seat;
	seat->entered = true;
	if (!circle->active || !wh_inspect_seat(seat->actor->node, circle->shard, &now))
		return;
	for (uint32_t s = 0; s < circle->part_count; s++) {
		struct wh_inspect_sender sender = wh_inspect_sender(seat->actor->node, circle->shard, s);

		seat->taken[s] = (struct taken){.announced = sender.next, .done = sender.next};
	}
	if (seat->me >= 0) {
		struct part *part = &circle->parts[seat->me];

		part->begun = true;
		part->first = part->sent = now.announced;
	}
}

/* Members in their whorl_close that some node has taken as leaving in order: a quorum is not taken of them. A member that only
 * begins to close may have failed for the others. */
static void tell_leavers(const struct play *play)
{
	for (uint32_t i = 0; i < play->lives; i++) {
		const struct actor *leaver = &play->actors[i];
		bool seen = false;

		for (uint32_t k = 0; k < play->lives && leaver->leaving && !leaver->crashed; k++)
			seen |= k != i && play->actors[k].node != NULL &&
				wh_inspect_saw_leave(play->actors[k].node, leaver->id, leaver->incarnation);
		if (seen)
			wh_history_leaving(play->history, i);
	}
}

/* `shown`: the view as the application was told of it; NULL: it was not yet. */
static void tell_history(struct actor *actor, const struct wh_view *view, const struct whorl_view *shown)
{
	struct play *play = actor->play;
	uint32_t subgroups = play->plan->config.subgroup_count;
	struct wh_history_place *places = wh_plan_alloc(subgroups, sizeof(*places));
	uint32_t rank = (uint32_t)wh_view_rank(view, actor->id);

	for (uint32_t i = 0; i < view->subgroup_count; i++) {
		const struct wh_view_subgroup *shard = &view->subgroups[i];
		struct wh_history_place *place = &places[shard->configured];

		if (wh_rank_find(shard->members, shard->member_count, rank) < 0)
			continue;
		place->shard = shard->shard;
		place->inactive = shard->state != WH_SHARD_ACTIVE;
		place->rests = wh_rank_find(shard->resting, shard->resting_count, rank) >= 0;
		place->role = wh_rank_find(shard->senders, shard->sender_count, rank) < 0 ? WH_HISTORY_MEMBER
											  : WH_HISTORY_SENDER;
		wh_tell(actor, TOLD_VIEW, shard->configured, view->number, place->role, place->shard);
	}
	tell_leavers(play);
	wh_history_view(play->history, actor->life,
			&(struct wh_history_view){.number = view->number,
						  .count = view->members,
						  .rank = rank,
						  .members = view->ids,
						  .places = places,
						  .joined = shown != NULL ? shown->joined : NULL,
						  .joined_count = shown != NULL ? shown->joined_count : 0,
						  .left = shown != NULL ? shown->left : NULL,
						  .left_count = shown != NULL ? shown->left_count : 0});
	free(places);
}

/* A node that rests, or has ended, has sent all that it had claimed before. */
static void check_sent_all(struct place *place)
{
	const struct stream *stream = place->stream;
	uint64_t committed = stream->claimed;

	for (uint64_t i = 0; i < stream->open_count; i++)
		if (!stream->messages[stream->open[i]].lapsed)
			wh_play_fail(place->actor->play, "rest: %s, g%u: it is no sender, with claim %llu open",
				     place->actor->name, place->g, (unsigned long long)stream->open[i]);
	while (committed > stream->lapsed && stream->messages[committed - 1].state != MESSAGE_COMMITTED)
		committed--;
	if (committed > stream->lapsed && place->own < committed && !place->behind && !place->awaits)
		wh_play_fail(place->actor->play, "rest: %s, g%u: it is no sender, and message %llu is not delivered",
			     place->actor->name, place->g, (unsigned long long)committed - 1);
}

/* A node that was taken out of its shard, and may not send in another though others could, has lost what was not sent. */
static void look_at_role(struct place *place)
{
	const struct seat *seat = place->seat;
	bool sends = seat != NULL && seat->me >= 0;
	bool stays = seat != NULL && place->shard == (int)seat->circle->shard;

	if (stays && place->was_sender && !sends)
		check_sent_all(place);
	place->astray = !sends && (place->astray || (!stays && place->shard >= 0));
	if (place->astray && (seat == NULL || seat->circle->active))
		wh_stream_lapse(place->stream);
	place->was_sender = sends;
	place->shard = seat != NULL ? (int)seat->circle->shard : -1;
	wh_stream_unbar(place->stream);
}

/* All that it has in this view. */
static void take_seats(struct actor *actor, struct scene *scene, const struct wh_view *view)
{
	uint32_t rank = (uint32_t)wh_view_rank(view, actor->id);

	for (uint32_t i = 0; i < scene->circle_count; i++) {
		const struct wh_view_subgroup *shard = &view->subgroups[i];
		struct seat *seat = wh_circle_seat(&scene->circles[i], actor);

		if (seat == NULL)
			continue;
		sit_down(seat);
		if (wh_rank_find(shard->entered, shard->entered_count, rank) >= 0)
			wh_place_begin(seat->place, shard->entered_count < shard->member_count);
	}
}

bool wh_scene_ended_late(const struct play *play, const struct scene *scene)
{
	uint64_t crashed = 0;

	for (uint32_t i = 0; i < play->lives; i++)
		crashed |= play->actors[i].crashed ? UINT64_C(1) << i : 0;
	return play->late_ends && (scene->members & crashed) != 0;
}

static uint64_t lives_in(struct play *play, const struct wh_view *view)
{
	uint64_t members = 0;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct actor *actor = find_life(play, view, rank);

		members |= actor != NULL ? UINT64_C(1) << actor->life : 0;
	}
	return members;
}

/* Members of a view that live and have not left its group, though some of them may be cut off or stand still. A member that has not
 * begun a first view may yet, unless it has dropped it. */
static uint64_t find_living(const struct play *play, const struct scene *scene)
{
	uint64_t living = 0;

	for (uint32_t i = 0; i < play->lives; i++) {
		const struct actor *actor = &play->actors[i];

		if ((scene->members >> i & 1) != 0 && wh_actor_runs(actor) && !actor->removed &&
		    !wh_inspect_dropped(actor->node, scene->key) && wh_inspect_may_be_in(actor->node, scene->group))
			living |= UINT64_C(1) << i;
	}
	return living;
}

/* Can they ever go on in this view, or from it to the next? Members that have left in order do not count. A member that the others
 * took to have failed before is taken for one that left, which is to err on the side of two groups. */
static bool can_go_on(const struct play *play, const struct scene *scene)
{
	struct scene left = *scene;

	for (uint32_t i = 0; i < play->lives; i++)
		left.voters -= (scene->members >> i & 1) != 0 && play->actors[i].left;
	return wh_liveness_is_quorum(play, &left, find_living(play, scene));
}

/* There may be another group of this name when no node of the first can go on any more, and that is the end of this run; never two
 * that can. */
static void enter_another_group(struct play *play, const struct actor *actor, const struct wh_view *view, uint64_t key)
{
	struct scene other = {
		.play = play, .number = view->number, .group = view->group, .key = key, .voters = view->voters};

	for (uint32_t rank = 0; rank < view->members; rank++)
		other.ids |= UINT64_C(1) << view->ids[rank];
	other.members = lives_in(play, view);
	if (can_go_on(play, play->scenes) && can_go_on(play, &other))
		wh_play_fail(play,
			     "two groups: %s enters view %llu of another group, and the first can go on from view %llu",
			     actor->name, (unsigned long long)view->number, (unsigned long long)play->scenes->number);
	play->extinct = true;
}

void wh_scene_enter(struct actor *actor, const struct whorl_view *shown)
{
	struct play *play = actor->play;
	const struct wh_view *view = wh_inspect_view(actor->node);
	struct scene *scene;

	if (view == NULL || play->extinct || (actor->scene != NULL && actor->scene->number == view->number))
		return;
	if (play->scenes != NULL && play->scenes->group != view->group) {
		enter_another_group(play, actor, view, wh_inspect_key(actor->node));
		return;
	}
	scene = find_scene(play, view->number);
	if (scene != NULL && (scene->key != wh_inspect_key(actor->node) || scene->members != lives_in(play, view))) {
		wh_play_fail(play, "one line: there are two views %llu", (unsigned long long)view->number);
		return;
	}
	wh_scene_forsake(actor);
	tell_history(actor, view, shown);
	if (wh_history_broken(play->history) != NULL)
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	else if (scene == NULL)
		scene = make_scene(play, view, wh_inspect_key(actor->node));
	if (wh_play_failed(play))
		return;
	actor->scene = scene;
	take_seats(actor, scene, view);
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++)
		look_at_role(&actor->places[g]);
	wh_sim_note(play->sim, view->number << 32 | actor->id);
	play->useful_step = play->steps;
}

/* ---- the end --------------------------------------------------------------------------------------------------------------- */

static void free_circle(struct circle *circle)
{
	for (uint32_t i = 0; i < circle->seat_count; i++)
		free(circle->seats[i].taken);
	for (uint32_t s = 0; s < circle->part_count; s++)
		free(circle->parts[s].rounds);
	free(circle->seats);
	free(circle->parts);
	free(circle->order);
}

void wh_scenes_free(struct play *play)
{
	while (play->scenes != NULL) {
		struct scene *scene = play->scenes;

		play->scenes = scene->before;
		for (uint32_t i = 0; i < scene->circle_count; i++)
			free_circle(&scene->circles[i]);
		free(scene->circles);
		free(scene);
	}
}
