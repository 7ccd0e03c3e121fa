/* views.c - views as nodes enter them: which node sits where, and what the truth about each sender begins with. See play_int.h. */
#include <stdlib.h>

#include "persistence/standing.h"
#include "predicates/multicast.h"
#include "sim/check_int.h"
#include "sim/play_int.h"

/* ---- a view, when the first node enters it ------------------------------------------------------------------------------- */

/* NULL: there is no such life, and the run has failed. */
static struct actor *find_life(struct play *play, const struct wh_view *installed, uint32_t rank)
{
	for (uint32_t i = 0; i < play->lives; i++)
		if (play->actors[i].id == installed->ids[rank] &&
		    play->actors[i].incarnation == installed->incarnations[rank])
			return &play->actors[i];
	wh_play_fail(play, "incarnation: view %llu has node %u in a life that it never had",
		     (unsigned long long)installed->number, installed->ids[rank]);
	return NULL;
}

uint64_t wh_app_number(const struct app *app, uint64_t number, uint32_t life, uint64_t index)
{
	const struct view *view = app->actor->play->views;

	for (; view != NULL && wh_play_is_dynamic(app->actor->play, app->g); view = view->before)
		for (uint32_t i = 0; i < view->shard_count && view->number <= number; i++)
			for (uint32_t k = 0; k < view->shards[i].member_count && view->shards[i].g == app->g; k++)
				if (view->shards[i].members[k].actor->life == life)
					return view->shards[i].members[k].base + index;
	return index;
}

/* What it had claimed before this stay, which it has begun with this view, or with one before. */
static uint64_t find_base(const struct app *app, const struct wh_view *installed, const struct wh_view_subgroup *layout,
			  uint32_t rank)
{
	if (wh_rank_find(layout->entered, layout->entered_count, rank) >= 0 && layout->birth != 0)
		return app->stream->claimed;
	return wh_app_number(app, installed->number, app->actor->life, 0);
}

static void make_members(struct shard *shard, const struct wh_view *installed, const struct wh_view_subgroup *layout)
{
	struct play *play = shard->view->play;

	for (uint32_t i = 0; i < layout->member_count; i++) {
		uint32_t rank = layout->members[i];
		struct actor *actor = find_life(play, installed, rank);
		struct shard_member *member = &shard->members[i];

		*member =
			(struct shard_member){.actor = actor,
					      .shard = shard,
					      .app = &actor->apps[shard->g],
					      .base = find_base(&actor->apps[shard->g], installed, layout, rank),
					      .fresh = wh_rank_find(layout->entered, layout->entered_count, rank) >= 0,
					      .me = wh_rank_find(layout->senders, layout->sender_count, rank)};
		member->taken = wh_plan_alloc(layout->sender_count, sizeof(*member->taken));
	}
	for (uint32_t s = 0; s < layout->sender_count; s++)
		shard->parts[s].stream = find_life(play, installed, layout->senders[s])->apps[shard->g].stream;
}

static void make_shard(struct view *view, uint32_t index, const struct wh_view *installed)
{
	const struct wh_view_subgroup *layout = &installed->subgroups[index];
	struct shard *shard = &view->shards[index];
	uint32_t g = wh_play_subgroup_of(view->play, layout);

	*shard = (struct shard){.view = view,
				.index = index,
				.number = layout->shard,
				.g = g,
				.ordered = view->play->subgroups[g].plan->ordered,
				.active = layout->state == WH_SHARD_ACTIVE,
				.member_count = layout->member_count,
				.part_count = layout->sender_count};
	shard->members = wh_plan_alloc(layout->member_count, sizeof(*shard->members));
	shard->parts = wh_plan_alloc(layout->sender_count, sizeof(*shard->parts));
	make_members(shard, installed, layout);
}

/* A view of all nodes is what the plan says, if nothing was there before it. */
static void check_first(const struct view *view)
{
	const struct wh_plan *plan = view->play->plan;

	if (view->ids != (UINT64_C(1) << view->play->nodes) - 1)
		return;
	for (uint32_t i = 0; i < view->shard_count && !wh_play_is_dynamic(view->play, view->shards[i].g); i++) {
		const struct shard *shard = &view->shards[i];
		const struct wh_plan_subgroup *subgroup = &plan->subgroups[shard->g];
		uint64_t members = 0, senders = 0;

		for (uint32_t k = 0; k < shard->member_count; k++)
			members |= UINT64_C(1) << shard->members[k].actor->id;
		for (uint32_t s = 0; s < shard->part_count; s++)
			senders |= UINT64_C(1) << shard->parts[s].stream->app->actor->id;
		if (plan->config.subgroups[shard->g].options.shards == 1 && !subgroup->by_function &&
		    (members != subgroup->members || senders != subgroup->senders))
			wh_play_fail(view->play, "layout: g%u has members %llx and senders %llx in the first view",
				     shard->g, (unsigned long long)members, (unsigned long long)senders);
	}
}

static struct view *find_view(const struct play *play, uint64_t number)
{
	struct view *view = play->views;

	while (view != NULL && view->number != number)
		view = view->before;
	return view;
}

static struct view *make_view(struct play *play, const struct wh_view *installed, uint64_t key)
{
	struct view *view = wh_plan_alloc(1, sizeof(*view));

	*view = (struct view){.play = play,
			      .before = play->views,
			      .number = installed->number,
			      .group = installed->group,
			      .key = key,
			      .voters = installed->voters,
			      .shard_count = installed->subgroup_count};
	for (uint32_t rank = 0; rank < installed->members; rank++) {
		const struct actor *actor = find_life(play, installed, rank);

		if (actor == NULL) {
			free(view);
			return NULL;
		}
		view->members |= UINT64_C(1) << actor->life;
		view->ids |= UINT64_C(1) << actor->id;
	}
	for (uint32_t i = 0; i < installed->subgroup_count; i++)
		view->rests |= installed->subgroups[i].resting_count > 0;
	view->shards = wh_plan_alloc(installed->subgroup_count, sizeof(*view->shards));
	for (uint32_t i = 0; i < installed->subgroup_count; i++)
		make_shard(view, i, installed);
	play->views = view;
	if (installed->number == 0)
		check_first(view);
	return view;
}

/* ---- a node enters --------------------------------------------------------------------------------------------------------- */

int wh_shard_sender(const struct shard *shard, uint32_t node)
{
	for (uint32_t s = 0; s < shard->part_count; s++)
		if (shard->parts[s].stream->app->actor->id == node)
			return (int)s;
	return -1;
}

struct shard_member *wh_shard_member(const struct shard *shard, const struct actor *actor)
{
	for (uint32_t i = 0; i < shard->member_count; i++)
		if (shard->members[i].actor == actor)
			return &shard->members[i];
	return NULL;
}

struct shard_member *wh_app_member_in(const struct app *app, uint64_t installed)
{
	const struct view *view = find_view(app->actor->play, installed);

	for (uint32_t i = 0; view != NULL && i < view->shard_count; i++) {
		struct shard_member *member = NULL;

		if (view->shards[i].g == app->g)
			member = wh_shard_member(&view->shards[i], app->actor);
		if (member != NULL)
			return member;
	}
	return NULL;
}

struct stream *wh_app_stream_in(const struct app *app, uint64_t installed, uint32_t sender)
{
	const struct view *view = find_view(app->actor->play, installed);

	for (uint32_t i = 0; view != NULL && i < view->shard_count; i++) {
		int s = view->shards[i].g == app->g ? wh_shard_sender(&view->shards[i], sender) : -1;

		if (s >= 0)
			return view->shards[i].parts[s].stream;
	}
	return NULL;
}

void wh_play_forsake_view(struct actor *actor)
{
	for (uint32_t g = 0; g < actor->play->subgroup_count; g++) {
		struct app *app = &actor->apps[g];

		if (app->member != NULL)
			app->member->gone = true;
		app->member = NULL;
	}
}

/* What it has taken in by now is nothing yet, but where each sender's messages begin. */
static void sit_down(struct shard_member *member)
{
	const struct shard *shard = member->shard;
	struct wh_inspect_member now;

	member->app->member = member;
	member->entered = true;
	if (!shard->active || !wh_inspect_member(member->actor->node, shard->index, &now))
		return;
	for (uint32_t s = 0; s < shard->part_count; s++) {
		struct wh_inspect_sender sender = wh_inspect_sender(member->actor->node, shard->index, s);

		if (sender.next != WH_UNKNOWN)
			sender.next += wh_check_member_of(shard, s)->base;
		member->taken[s] = (struct taken){.announced = sender.next, .done = sender.next};
	}
	if (member->me >= 0) {
		struct part *part = &shard->parts[member->me];

		part->begun = true;
		part->first = part->sent = now.announced + member->base;
	}
}

/* Members in their whorl_close that some node has taken as leaving in order: a quorum is not taken of them. A member that only
 * begins to close may have failed for the others. */
static bool is_seen_to_leave(const struct play *play, const struct actor *leaver)
{
	bool seen = false;

	for (uint32_t k = 0; k < play->lives && leaver->leaving && !leaver->crashed; k++)
		seen |= k != leaver->life && play->actors[k].node != NULL &&
			wh_inspect_saw_leave(play->actors[k].node, leaver->id, leaver->incarnation);
	return seen;
}

/* One that has crashed when its disk said already that it had left in order: a restart does not count it (docs/decisions/0058). */
static bool is_kept_as_left(const struct play *play, const struct actor *leaver)
{
	struct wh_standing standing;
	bool left;

	if (!leaver->leaving || !leaver->crashed || leaver->view == NULL || !play->plan->logs)
		return false;
	left = wh_kept_standing(play, leaver->id, &standing) && standing.left && standing.base == leaver->view->key;
	wh_standing_free(&standing);
	return left;
}

/* Nor is one taken of those of which some node has proof that they are dead. */
static void tell_uncounted(const struct play *play)
{
	for (uint32_t i = 0; i < play->lives; i++) {
		const struct actor *actor = &play->actors[i];

		if (is_seen_to_leave(play, actor) || is_kept_as_left(play, actor) ||
		    wh_play_is_proved_dead(actor, UINT64_MAX))
			wh_history_leaving(play->history, i);
	}
}

bool wh_play_is_proved_dead(const struct actor *actor, uint64_t set)
{
	const struct play *play = actor->play;

	for (uint32_t i = 0; i < play->lives && play->plan->proofs; i++)
		if ((set >> i & 1) != 0 && wh_sim_has_proof(play->sim, play->actors[i].id, play->actors[i].incarnation,
							    actor->id, actor->incarnation))
			return true;
	return false;
}

/* `shown`: the view as the application was told of it; NULL: it was not yet. */
static void tell_history(struct actor *actor, const struct wh_view *installed, const struct whorl_view *shown)
{
	struct play *play = actor->play;
	struct wh_history_place *places = wh_plan_alloc(play->subgroup_count, sizeof(*places));
	struct wh_history_dynamic *dynamic = wh_plan_alloc(installed->dynamic_count, sizeof(*dynamic));
	uint32_t rank = (uint32_t)wh_view_rank(installed, actor->id);

	for (uint32_t i = 0; i < installed->subgroup_count; i++) {
		const struct wh_view_subgroup *layout = &installed->subgroups[i];
		uint32_t g = wh_play_subgroup_of(play, layout);
		struct wh_history_place *place = &places[g];

		if (wh_rank_find(layout->members, layout->member_count, rank) < 0)
			continue;
		place->shard = layout->shard;
		place->inactive = layout->state != WH_SHARD_ACTIVE;
		place->needs = layout->entered_count < layout->member_count &&
			       wh_rank_find(layout->entered, layout->entered_count, rank) >= 0;
		place->rests = wh_rank_find(layout->resting, layout->resting_count, rank) >= 0;
		place->role = wh_rank_find(layout->senders, layout->sender_count, rank) < 0 ? WH_HISTORY_MEMBER
											    : WH_HISTORY_SENDER;
		wh_tell(actor, TOLD_VIEW, g, installed->number, place->role, place->shard);
	}
	tell_uncounted(play);
	wh_play_tell_dynamic(play, installed, dynamic);
	wh_history_view(play->history, actor->life,
			&(struct wh_history_view){.number = installed->number,
						  .restarts = wh_inspect_restarts(actor->node),
						  .count = installed->members,
						  .rank = rank,
						  .members = installed->ids,
						  .places = places,
						  .joined = shown != NULL ? shown->joined : NULL,
						  .joined_count = shown != NULL ? shown->joined_count : 0,
						  .left = shown != NULL ? shown->left : NULL,
						  .left_count = shown != NULL ? shown->left_count : 0,
						  .dynamic = dynamic,
						  .dynamic_count = installed->dynamic_count});
	free(dynamic);
	free(places);
}

/* A node that rests, or has ended, has sent all that it had claimed before. */
static void check_sent_all(struct app *app)
{
	const struct stream *stream = app->stream;
	uint64_t committed = stream->claimed;

	for (uint64_t i = 0; i < stream->open_count; i++)
		if (!stream->messages[stream->open[i]].lapsed)
			wh_play_fail(app->actor->play, "rest: %s, g%u: it is no sender, with claim %llu open",
				     app->actor->name, app->g, (unsigned long long)stream->open[i]);
	while (committed > stream->lapsed && stream->messages[committed - 1].state != MESSAGE_COMMITTED)
		committed--;
	if (committed > stream->lapsed && app->own < committed - 1 + stream->messages[committed - 1].slots &&
	    !app->behind && !app->awaits)
		wh_play_fail(app->actor->play, "rest: %s, g%u: it is no sender, and message %llu is not delivered",
			     app->actor->name, app->g, (unsigned long long)committed - 1);
}

/* A node that was taken out of its shard, and may not send in another though others could, has lost what was not sent. */
static void look_at_role(struct app *app)
{
	const struct shard_member *member = app->member;
	bool sends = member != NULL && member->me >= 0;
	bool stays = member != NULL && app->shard == (int)member->shard->number;

	if (member == NULL && app->shard >= 0 && (app->awaits || app->behind))
		app->dropped = app->stream->claimed;
	if (stays && app->was_sender && !sends)
		check_sent_all(app);
	/* One that leaves a dynamic subgroup has rested before, and lost nothing. */
	if (wh_play_is_dynamic(app->actor->play, app->g))
		stays = true;
	app->astray = !sends && (app->astray || (!stays && app->shard >= 0));
	if (app->astray && (member == NULL || member->shard->active))
		wh_stream_lapse(app->stream);
	app->was_sender = sends;
	app->shard = member != NULL ? (int)member->shard->number : -1;
	wh_stream_unbar(app->stream);
}

/* All that it has in this view. */
static void enter_shards(struct actor *actor, struct view *view, const struct wh_view *installed)
{
	uint32_t rank = (uint32_t)wh_view_rank(installed, actor->id);

	for (uint32_t i = 0; i < view->shard_count; i++) {
		const struct wh_view_subgroup *layout = &installed->subgroups[i];
		struct shard_member *member = wh_shard_member(&view->shards[i], actor);

		if (member == NULL)
			continue;
		sit_down(member);
		if (layout->birth != 0 && wh_rank_find(layout->entered, layout->entered_count, rank) >= 0)
			wh_wish_begins(member->app);
		if (wh_inspect_restarts(actor->node) && wh_rank_find(layout->entered, layout->entered_count, rank) < 0)
			wh_app_returns(member->app);
		if (wh_rank_find(layout->entered, layout->entered_count, rank) >= 0)
			wh_app_begin(member->app, layout->entered_count < layout->member_count);
	}
}

bool wh_play_ended_late(const struct play *play, const struct view *view)
{
	uint64_t crashed = 0;

	for (uint32_t i = 0; i < play->lives; i++)
		crashed |= play->actors[i].crashed ? UINT64_C(1) << i : 0;
	return play->late_ends && (view->members & crashed) != 0;
}

static uint64_t lives_in(struct play *play, const struct wh_view *installed)
{
	uint64_t members = 0;

	for (uint32_t rank = 0; rank < installed->members; rank++) {
		const struct actor *actor = find_life(play, installed, rank);

		members |= actor != NULL ? UINT64_C(1) << actor->life : 0;
	}
	return members;
}

/* Members of a view that live and have not left its group, though some of them may be cut off or stand still. A member that has not
 * begun a first view may yet, unless it has dropped it. */
static uint64_t find_living(const struct play *play, const struct view *view)
{
	uint64_t living = 0;

	for (uint32_t i = 0; i < play->lives; i++) {
		const struct actor *actor = &play->actors[i];

		if ((view->members >> i & 1) != 0 && wh_actor_runs(actor) && !actor->removed &&
		    !wh_inspect_dropped(actor->node, view->key) && wh_inspect_may_be_in(actor->node, view->group))
			living |= UINT64_C(1) << i;
	}
	return living;
}

/* Newcomers that have let go of the view, as all its other members had ended: none is left to invite them again. (Where ends are proved
 * they would be a quorum of it.) */
static bool have_let_go(const struct play *play, const struct view *view, uint64_t living)
{
	for (uint32_t i = 0; i < play->lives; i++)
		if ((living >> i & 1) != 0 && !wh_inspect_has_let_go(play->actors[i].node, view->key))
			return false;
	return true;
}

/* Can they ever go on in this view, or from it to the next? Members that have left in order do not count. A member that the others
 * took to have failed before is taken for one that left, which is to err on the side of two groups. */
static bool can_go_on(const struct play *play, const struct view *view)
{
	uint64_t living = find_living(play, view);
	struct view left = *view;

	for (uint32_t i = 0; i < play->lives; i++)
		left.voters -= (view->members >> i & 1) != 0 && play->actors[i].left;
	return wh_liveness_is_quorum(play, &left, living) && !have_let_go(play, view, living);
}

/* There may be another group of this name when no node of the first can go on any more, and that is the end of this run; never two
 * that can. */
static void enter_another_group(struct play *play, const struct actor *actor, const struct wh_view *installed,
				uint64_t key)
{
	struct view other = {.play = play,
			     .number = installed->number,
			     .group = installed->group,
			     .key = key,
			     .voters = installed->voters};

	for (uint32_t rank = 0; rank < installed->members; rank++)
		other.ids |= UINT64_C(1) << installed->ids[rank];
	other.members = lives_in(play, installed);
	if (can_go_on(play, play->views) && can_go_on(play, &other))
		wh_play_fail(play,
			     "two groups: %s enters view %llu of another group, and the first can go on from view %llu",
			     actor->name, (unsigned long long)installed->number,
			     (unsigned long long)play->views->number);
	wh_anew_check(actor);
	play->extinct = true;
}

/* That of its shard; NULL: there is none any more. */
static const struct wh_view_subgroup *find_layout(const struct app *app, const struct wh_view *installed)
{
	for (uint32_t i = 0; i < installed->subgroup_count; i++)
		if ((int)installed->subgroups[i].shard == app->shard &&
		    wh_play_subgroup_of(app->actor->play, &installed->subgroups[i]) == app->g)
			return &installed->subgroups[i];
	return NULL;
}

/* It goes on in its shard; else what it has refused there is dropped. */
static bool stays(const struct app *app, const struct wh_view *installed)
{
	uint32_t rank = (uint32_t)wh_view_rank(installed, app->actor->id);
	const struct wh_view_subgroup *layout = app->shard >= 0 ? find_layout(app, installed) : NULL;

	return layout != NULL && wh_rank_find(layout->members, layout->member_count, rank) >= 0 &&
	       wh_rank_find(layout->entered, layout->entered_count, rank) < 0;
}

/* Its logs have been upcalled, those too that have nothing. */
static void end_replays(struct actor *actor, const struct wh_view *installed)
{
	uint32_t rank = (uint32_t)wh_view_rank(installed, actor->id);

	for (uint32_t i = 0; i < installed->subgroup_count && wh_inspect_restarts(actor->node); i++) {
		const struct wh_view_subgroup *layout = &installed->subgroups[i];
		struct app *app = &actor->apps[wh_play_subgroup_of(actor->play, layout)];

		if (!app->replays && wh_rank_find(layout->members, layout->member_count, rank) >= 0 &&
		    wh_rank_find(layout->entered, layout->entered_count, rank) < 0)
			(void)wh_app_replays(app, layout->shard, 0);
	}
}

void wh_play_enter_view(struct actor *actor, const struct whorl_view *shown)
{
	struct play *play = actor->play;
	const struct wh_view *installed = wh_inspect_view(actor->node);
	struct view *view;

	if (installed == NULL || play->extinct || (actor->view != NULL && actor->view->number == installed->number))
		return;
	if (play->views != NULL && play->views->group != installed->group) {
		enter_another_group(play, actor, installed, wh_inspect_key(actor->node));
		return;
	}
	view = find_view(play, installed->number);
	if (view != NULL && (view->key != wh_inspect_key(actor->node) || view->members != lives_in(play, installed))) {
		wh_play_fail(play, "one line: there are two views %llu", (unsigned long long)installed->number);
		return;
	}
	for (uint32_t g = 0; g < play->subgroup_count; g++)
		if (actor->apps[g].refuses && (!stays(&actor->apps[g], installed) ||
					       wh_inspect_refused(actor->node, g, play->subgroups[g].birth)))
			wh_app_lags(&actor->apps[g]);
	for (uint32_t i = 0; i < installed->dynamic_count; i++)
		if (wh_play_bear(play, &wh_view_dynamic(installed)[i]) == UINT32_MAX)
			return;
	if (actor->leaving)
		wh_wishes_look_at_states(actor);
	wh_play_forsake_view(actor);
	end_replays(actor, installed);
	tell_history(actor, installed, shown);
	if (wh_history_broken(play->history) != NULL)
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	else if (view == NULL)
		view = make_view(play, installed, wh_inspect_key(actor->node));
	if (wh_play_failed(play))
		return;
	actor->view = view;
	enter_shards(actor, view, installed);
	wh_wishes_enter_view(actor);
	for (uint32_t g = 0; g < play->subgroup_count; g++)
		look_at_role(&actor->apps[g]);
	wh_sim_note(play->sim, installed->number << 32 | actor->id);
	play->useful_step = play->steps;
}

/* ---- the end --------------------------------------------------------------------------------------------------------------- */

static void free_shard(struct shard *shard)
{
	for (uint32_t i = 0; i < shard->member_count; i++)
		free(shard->members[i].taken);
	for (uint32_t i = 0; i < shard->member_count; i++)
		free(shard->members[i].kept.entries);
	for (uint32_t s = 0; s < shard->part_count; s++)
		free(shard->parts[s].rounds);
	free(shard->members);
	free(shard->parts);
	free(shard->order);
}

void wh_play_free_views(struct play *play)
{
	while (play->views != NULL) {
		struct view *view = play->views;

		play->views = view->before;
		for (uint32_t i = 0; i < view->shard_count; i++)
			free_shard(&view->shards[i]);
		free(view->shards);
		free(view);
	}
}
