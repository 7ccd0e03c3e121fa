/* liveness.c - what must be so in the end; liveness_end.c has the rest of it. See play_int.h.
 *
 *     progress    once faults have stopped, a strict majority of the last view that is connected and runs, and in which
 *                 no node suspects another, goes on: in a bounded time it has a view without the dead, all that it has
 *                 committed is delivered by all of it, and a node that it has removed knows that. All nodes that want
 *                 to come in are in, and have the state of their subgroups; a node that does not rest any more may
 *                 send. If there is no view, a majority of the configured nodes that is connected has formed the first
 */
#include <inttypes.h>
#include <string.h>

#include "membership/join.h"
#include "membership/roster.h"
#include "sim/payload.h"
#include "sim/play_int.h"
#include "state/state.h"

#define PATIENCE_TIMEOUTS 20 /* so long nothing may change before something is amiss */
#define OUTSIDE_TIMEOUTS                                                                                               \
	(2 << WH_FAILURES_MAX) /* the longest that an admission lets one wait before it is invited again */
#define SLICES 3               /* looks per failure time-out */
/* A node that could coordinate a first view and is silent is passed over, and a node that does not come into it is waited for:
 * start time-outs. */
#define FORM_TIMEOUTS 12
/* A node that does not give a state that it was asked for is not asked again; and over slow links one takes its time. */
#define RESTORE_TIMEOUTS (60 * WH_STATE_PATIENCE)

/* ---- delivered? -------------------------------------------------------------------------------------------------- */

/* How many of its messages must have been delivered by now: those before its first open claim. */
static bool stream_is_done(const struct stream *stream)
{
	bool keeps = stream->kept_open < stream->claimed && stream->messages[stream->kept_open].state == MESSAGE_OPEN;

	return keeps || stream->claimed == stream->quota;
}

bool wh_liveness_must_progress(const struct play *play, const struct shard *shard)
{
	if (!shard->active)
		return false;
	if (!shard->ordered || shard->part_count == 1 || play->plan->config.engine.null_sends)
		return true;
	return !wh_play_has_faults(play) && wh_plan_progresses(play->plan, shard->g);
}

/* Its state? */
static bool state_lacks(const struct shard_member *member, char *what, size_t bytes)
{
	if (!member->app->awaits || wh_app_has_lost(member->app))
		return false;
	snprintf(what, bytes, "%s, g%u, view %" PRIu64 ": has not restored its state", member->actor->name,
		 member->shard->g, member->shard->view->number);
	return true;
}

/* What is not as it must be, in words; false: nothing. */
static bool member_lacks(const struct shard_member *member, char *what, size_t bytes)
{
	const struct shard *shard = member->shard;

	for (uint32_t s = 0; s < shard->part_count; s++) {
		const struct stream *stream = shard->parts[s].stream;
		uint64_t expected = wh_stream_finished(stream), done = member->taken[s].done;

		if (done < shard->parts[s].first)
			done = shard->parts[s].first;
		if (done == expected)
			continue;
		snprintf(what, bytes,
			 "%s, g%u, view %" PRIu64 ": is done with %" PRIu64 " messages of %s, expected %" PRIu64,
			 member->actor->name, shard->g, shard->view->number, done, stream->app->actor->name, expected);
		return true;
	}
	if (!shard->ordered || member->deliveries == shard->order_count)
		return false;
	snprintf(what, bytes, "%s, g%u, view %" PRIu64 ": has delivered %" PRIu64 " of %" PRIu64 " messages",
		 member->actor->name, shard->g, shard->view->number, member->deliveries, shard->order_count);
	return true;
}

/* No sender has anything left to do but those behind a claim that is kept open. */
static bool stream_lacks(const struct part *part, char *what, size_t bytes)
{
	const struct stream *stream = part->stream;
	uint64_t finished = wh_stream_finished(stream);

	if (stream_is_done(stream) && part->sent == finished)
		return false;
	snprintf(what, bytes,
		 "%s, g%u: has claimed %" PRIu64 " of %" PRIu64 " messages%s, finished %" PRIu64 ", and sent %" PRIu64,
		 stream->app->actor->name, stream->app->g, stream->claimed, stream->quota,
		 stream->starved ? " (and waits for the window)" : "", finished, part->sent);
	return true;
}

/* It was told that there is no quorum, and has not looked again since: what it has to say comes later. */
static bool is_patient(const struct part *part, char *what, size_t bytes)
{
	const struct stream *stream = part->stream;

	if (!stream->patient)
		return false;
	snprintf(what, bytes, "%s, g%u: waits for a quorum, and is a member where there is one",
		 stream->app->actor->name, stream->app->g);
	return true;
}

static bool view_lacks(const struct view *view, uint64_t survivors, char *what, size_t bytes)
{
	for (uint32_t i = 0; i < view->shard_count; i++) {
		const struct shard *shard = &view->shards[i];

		for (uint32_t k = 0; k < shard->member_count; k++)
			if ((survivors >> shard->members[k].actor->life & 1) != 0 &&
			    state_lacks(&shard->members[k], what, bytes))
				return true;
		for (uint32_t s = 0; s < shard->part_count; s++)
			if ((survivors >> shard->parts[s].stream->app->actor->life & 1) != 0 &&
			    is_patient(&shard->parts[s], what, bytes))
				return true;
		if (!wh_liveness_must_progress(view->play, shard))
			continue;
		for (uint32_t s = 0; s < shard->part_count; s++)
			if ((survivors >> shard->parts[s].stream->app->actor->life & 1) != 0 &&
			    stream_lacks(&shard->parts[s], what, bytes))
				return true;
		for (uint32_t k = 0; k < shard->member_count; k++)
			if ((survivors >> shard->members[k].actor->life & 1) != 0 &&
			    member_lacks(&shard->members[k], what, bytes))
				return true;
	}
	return false;
}

void wh_liveness_check(struct play *play)
{
	char what[256];

	if (play->views != NULL && !wh_play_failed(play) && view_lacks(play->views, UINT64_MAX, what, sizeof(what)))
		wh_play_fail(play, "progress: %s", what);
}

/* ---- which nodes must go on? ------------------------------------------------------------------------------------- */

struct state {                   /* of a run with all its faults over */
	const struct view *last; /* the last view that any node that runs is in */
	uint64_t running;        /* lives that have not failed for good */
	uint64_t survivors;      /* of these a majority of the last view that trust each other; 0: there is none */
	uint64_t suspicions;     /* of all of them, mixed */
	uint64_t deliveries;
	uint64_t taken; /* bytes of logs that are states */
	bool restoring; /* some node is */
};

/* What a node knows of another, and may not say without a quorum, is heard of when no node was ever cut off. But of two nodes with
 * an ended connection it may have believed one, said so in the view before, and then gone along with the nodes that believe the
 * other into a view in which they need it for a quorum. */
static uint64_t distrusted_by(const struct actor *actor)
{
	uint64_t knows = wh_inspect_distrusts(actor->node);

	if (wh_play_was_cut(actor->play))
		return knows;
	return wh_inspect_suspects(actor->node) | (actor->play->broken != 0 ? knows & actor->accused : 0);
}

static bool are_connected(const struct play *play, const struct actor *a, const struct actor *b)
{
	return !wh_sim_traffic(play->sim, a->id, b->id).broken && !wh_sim_traffic(play->sim, b->id, a->id).broken;
}

/* They are connected, and neither suspects the other. */
static bool trust_each_other(const struct play *play, const struct actor *a, const struct actor *b)
{
	return are_connected(play, a, b) && (distrusted_by(a) >> b->id & 1) == 0 &&
	       (distrusted_by(b) >> a->id & 1) == 0;
}

/* By life of `set`: which lives of it trust that one. */
static void find_trust(const struct play *play, uint64_t set, uint64_t *trusts)
{
	for (uint32_t a = 0; a < play->lives; a++) {
		trusts[a] = UINT64_C(1) << a;
		for (uint32_t b = 0; b < play->lives && (set >> a & 1) != 0; b++)
			if (b != a && (set >> b & 1) != 0 && trust_each_other(play, &play->actors[a], &play->actors[b]))
				trusts[a] |= UINT64_C(1) << b;
	}
}

static bool all_trust(const struct play *play, const uint64_t *trusts, uint64_t set)
{
	for (uint32_t a = 0; a < play->lives; a++)
		if ((set >> a & 1) != 0 && (set & ~trusts[a]) != 0)
			return false;
	return true;
}

/* A member that ended before its row came is counted also when it is proved dead: what it may have said in that view is not known
 * (docs/decisions/0039). */
static bool all_have_row(const struct play *play, const struct view *view, uint64_t set, const struct actor *of)
{
	for (uint32_t i = 0; i < play->lives; i++)
		if (((set & view->members) >> i & 1) != 0 && play->actors[i].view == view &&
		    !wh_inspect_has_row(play->actors[i].node, of->id, of->incarnation))
			return false;
	return true;
}

/* Lives of `set` that would say of that one that it is dead: not those to which it has left in order, as of that member nothing more is
 * said. (Another to which its connection had ended before may count it, and lack the proof: 0039.) */
static uint64_t find_witnesses(const struct play *play, uint64_t set, const struct actor *of)
{
	for (uint32_t i = 0; i < play->lives; i++)
		if ((set >> i & 1) != 0 && play->actors[i].node != NULL &&
		    (wh_inspect_says_left(play->actors[i].node) >> of->id & 1) != 0)
			set &= ~(UINT64_C(1) << i);
	return set;
}

/* Members of that view of which some of `set` have proof that they are dead, and would say so. */
static uint32_t count_proved(const struct play *play, const struct view *view, uint64_t set)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < play->lives; i++)
		count += (view->members >> i & 1) != 0 &&
			 wh_play_is_proved_dead(&play->actors[i], find_witnesses(play, set, &play->actors[i])) &&
			 all_have_row(play, view, set, &play->actors[i]);
	return count;
}

/* Of that view, with the members that left in order, and without those of which some of them have proof that they are dead. */
bool wh_liveness_is_quorum(const struct play *play, const struct view *view, uint64_t set)
{
	bool home = !wh_plan_needs_home(play->plan);
	int tie_breaker = wh_node_config_tie_breaker(&play->plan->config);
	struct wh_quorum quorum = {.members = view->voters - count_proved(play, view, set), .tie_breaker = -1};
	bool tie = false;

	if (tie_breaker >= 0 && (view->ids >> tie_breaker & 1) != 0)
		quorum.tie_breaker = tie_breaker;
	for (uint32_t i = 0; i < play->lives; i++) {
		bool votes = (set & view->members) >> i & 1;

		tie |= votes && quorum.tie_breaker >= 0 && play->actors[i].id == (uint32_t)tie_breaker;
		home |= votes && play->actors[i].id < play->plan->config.group.nodes;
	}
	return home && wh_quorum_holds(&quorum, (uint32_t)__builtin_popcountll(set & view->members), tie);
}

/* Lives of `set` that are in a view before the last: is there one in it to learn of the last from, or may they decide what follows
 * theirs? Only a node cut off for good may have seen that what they decided was agreed to. */
static bool can_follow(const struct play *play, const struct view *last, uint64_t set)
{
	bool can = true;

	for (uint32_t i = 0; i < play->lives; i++) {
		const struct view *view = play->actors[i].view;

		if ((set >> i & 1) == 0)
			continue;
		if (view == last && (last->before == NULL || (last->before->members >> i & 1) != 0))
			return true;
		if (view != last && (view == NULL || !wh_liveness_is_quorum(play, view, set)))
			can = false;
	}
	return can;
}

/* Have two members that have begun that view lost their connection? */
static bool is_torn(const struct play *play, const struct view *view)
{
	for (uint32_t a = 0; a < play->lives; a++)
		for (uint32_t b = 0; b < a; b++)
			if (play->actors[a].view == view && play->actors[b].view == view &&
			    !are_connected(play, &play->actors[a], &play->actors[b]))
				return true;
	return false;
}

/* A node that has promised to go on in a first view keeps that for some start time-outs: where one is cut off or stands still for
 * longer, just then, it may never see that another has begun it; nor may one that is not told in time which nodes it need not wait for. No node keeps the
 * promise when so many have ended that no majority is left. A node that was not there yet has promised nothing. Where a majority
 * forms a view, the others may begin it without that node, and it is lost if one of them vanishes before the next view, or two of
 * them lose their connection (docs/decisions/0016). */
static uint64_t find_dropped(const struct play *play, const struct view *last, uint64_t candidates)
{
	bool majority = 2 * (uint32_t)__builtin_popcountll(candidates) > last->voters;
	bool may = wh_play_was_cut(play) || wh_play_stood_still(play, WH_THERE_TIMEOUTS * wh_play_start_ns(play)) ||
		   wh_play_ended_late(play, last) || !majority;
	bool is_short = wh_plan_may_form(play->plan, (uint32_t)play->plan->config.group.nodes - 1);
	bool has_vanished = play->vanished_ns != 0 && candidates != last->members;
	bool lost = is_short && (has_vanished || is_torn(play, last));
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < play->lives; i++)
		if ((candidates >> i & 1) != 0 && wh_inspect_dropped(play->actors[i].node, last->key) &&
		    (may || (lost && !wh_inspect_has_promised(play->actors[i].node))))
			dropped |= UINT64_C(1) << i;
	return dropped;
}

/* Of each durable shard that has a member among them one has a whole log: else they wait, as without a quorum (docs/decisions/0058). */
static bool have_logs(const struct view *view, uint64_t set)
{
	for (uint32_t s = 0; s < view->shard_count; s++) {
		const struct shard *shard = &view->shards[s];
		bool goes_on = false, is_whole = !view->play->subgroups[shard->g].plan->durable;

		for (uint32_t k = 0; k < shard->member_count && !is_whole; k++) {
			const struct actor *actor = shard->members[k].actor;
			bool is_in = (set >> actor->life & 1) != 0;

			goes_on |= is_in;
			is_whole = is_in && actor->view == view && wh_inspect_is_whole(actor->node, shard->index);
		}
		if (goes_on && !is_whole)
			return false;
	}
	return true;
}

/* The largest quorum that trusts itself. */
static uint64_t find_survivors(const struct play *play, const struct view *last, uint64_t running)
{
	uint64_t candidates = last->members & running, best = 0, trusts[64];

	candidates &= ~find_dropped(play, last, candidates);
	find_trust(play, candidates, trusts);
	/* All subsets of the candidates, the largest first. */
	for (uint64_t set = candidates; set != 0; set = (set - 1) & candidates)
		if (__builtin_popcountll(set) > __builtin_popcountll(best) && wh_liveness_is_quorum(play, last, set) &&
		    all_trust(play, trusts, set) && can_follow(play, last, set))
			best = set;
	return have_logs(last, best) ? best : 0;
}

/* What one knows of the other is no more than that it is silent. */
static bool may_hear_each_other(const struct play *play, const struct actor *a, const struct actor *b)
{
	return are_connected(play, a, b) && (wh_inspect_distrusts(a->node) >> b->id & 1) == 0 &&
	       (wh_inspect_distrusts(b->node) >> a->id & 1) == 0;
}

bool wh_liveness_may_go_on(const struct play *play, const struct actor *actor)
{
	uint64_t candidates = 0, trusts[64];

	for (uint32_t i = 0; i < play->lives; i++)
		if (wh_actor_runs(&play->actors[i]) && !play->actors[i].removed && (actor->view->members >> i & 1) != 0)
			candidates |= UINT64_C(1) << i;
	for (uint32_t a = 0; a < play->lives; a++) {
		trusts[a] = UINT64_C(1) << a;
		for (uint32_t b = 0; b < play->lives; b++)
			if (b != a && (candidates >> a & candidates >> b & 1) != 0 &&
			    may_hear_each_other(play, &play->actors[a], &play->actors[b]))
				trusts[a] |= UINT64_C(1) << b;
	}
	for (uint64_t set = candidates; set != 0; set = (set - 1) & candidates)
		if ((set >> actor->life & 1) != 0 && wh_liveness_is_quorum(play, actor->view, set) &&
		    all_trust(play, trusts, set))
			return true;
	return false;
}

/* Has any of them been counted in a group before? Then it takes all configured nodes, and a founder founds no other. */
static bool have_records(const struct play *play, uint64_t running)
{
	for (uint32_t i = 0; i < play->lives && play->plan->disks; i++)
		if ((running >> i & 1) != 0 && play->disks[play->actors[i].id] != 0)
			return true;
	return false;
}

/* Is one of them on its way into a view of which a member has vanished? It waits until its connection to that one ends. That takes tcp
 * five seconds, as nothing of this node is at stake before; here it never ends. */
static bool wait_for_vanished(const struct play *play, uint64_t set)
{
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t k = 0; (set >> i & 1) != 0 && k < play->lives; k++)
			if (play->actors[k].vanished &&
			    wh_inspect_comes_to(play->actors[i].node, play->actors[k].id, play->actors[k].incarnation))
				return true;
	return false;
}

/* Likewise one that asks a member to be let in that has vanished: the others take it for one that has a part in the restart, and it has none. */
static bool ask_vanished(const struct play *play, uint64_t running)
{
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t k = 0; (running >> i & 1) != 0 && k < play->lives; k++)
			if (play->actors[k].vanished && play->at[play->actors[k].id] == &play->actors[k] &&
			    wh_inspect_asks(play->actors[i].node, play->actors[k].id, play->actors[k].incarnation))
				return true;
	return false;
}

/* There is no view: the nodes that must form the first one, if they are enough, and all connected. */
static uint64_t find_formers(const struct play *play, uint64_t running)
{
	int founder = wh_node_config_founder(&play->plan->config);
	uint64_t set = 0, trusts[64];
	uint32_t count;

	if (wh_node_config_is_durable(&play->plan->config)) {
		set = wh_returns_find(play, running);
		find_trust(play, set, trusts);
		return all_trust(play, trusts, set) && !wait_for_vanished(play, set) && !ask_vanished(play, running)
			       ? set
			       : 0;
	}
	for (uint32_t i = 0; i < play->lives; i++)
		if ((running >> i & 1) != 0 && play->actors[i].id < play->plan->config.group.nodes &&
		    !play->actors[i].joins && (founder < 0 || play->actors[i].id == (uint32_t)founder))
			set |= UINT64_C(1) << i;
	find_trust(play, set, trusts);
	count = (uint32_t)__builtin_popcountll(set);
	if (set == 0 || !all_trust(play, trusts, set) || !wh_plan_may_form(play->plan, count) ||
	    wait_for_vanished(play, set))
		return 0;
	if (founder >= 0)
		return have_records(play, set) ? 0 : set;
	return count < play->plan->config.group.nodes && have_records(play, running) ? 0 : set;
}

static struct state look_at_lives(const struct play *play)
{
	struct state state = {.last = NULL};

	for (uint32_t i = 0; i < play->lives; i++) {
		const struct actor *actor = &play->actors[i];

		if (!wh_actor_runs(actor) || actor->removed)
			continue;
		state.running |= UINT64_C(1) << i;
		state.suspicions = wh_mix(state.suspicions ^ wh_inspect_suspects(actor->node)) + i;
		if (actor->view != NULL && (state.last == NULL || actor->view->number > state.last->number))
			state.last = actor->view;
		for (uint32_t g = 0; g < play->subgroup_count; g++) {
			state.deliveries += actor->apps[g].deliveries;
			state.restoring |= actor->apps[g].awaits;
			state.taken += actor->apps[g].log_taken;
		}
	}
	if (state.last != NULL)
		state.survivors = find_survivors(play, state.last, state.running);
	else
		state.survivors = find_formers(play, state.running);
	return state;
}

bool wh_liveness_is_over(const struct play *play)
{
	struct state state = look_at_lives(play);

	return state.survivors == 0 && (state.last != NULL || find_formers(play, state.running) == 0);
}

static bool is_same(const struct state *a, const struct state *b)
{
	return a->last == b->last && a->running == b->running && a->survivors == b->survivors &&
	       a->suspicions == b->suspicions && a->deliveries == b->deliveries && a->taken == b->taken &&
	       a->restoring == b->restoring;
}

/* One that survives. */
static bool survivor_lacks(const struct actor *actor, const struct view *last, char *what, size_t bytes)
{
	if (last != NULL && actor->view == last && !wh_inspect_wedged(actor->node))
		return false;
	if (actor->view == NULL)
		snprintf(what, bytes, "%s is in no view yet", actor->name);
	else
		snprintf(what, bytes, "%s is %s view %" PRIu64 ", the last is %" PRIu64, actor->name,
			 wh_inspect_wedged(actor->node) ? "wedged in" : "in", actor->view->number, last->number);
	return true;
}

/* A node that it needs to come in cannot reach it. */
static bool is_apart(const struct actor *actor)
{
	return (actor->play->broken >> actor->life & 1) != 0;
}

/* One that is not in the last view, or is not wanted there. */
static bool other_lacks(const struct actor *actor, const struct state *state, char *what, size_t bytes)
{
	bool runs = (state->running >> actor->life & 1) != 0;
	char text[160];

	if ((state->last->members >> actor->life & 1) != 0) {
		snprintf(what, bytes, "%s is in the last view, %" PRIu64 ", and %s", actor->name, state->last->number,
			 runs ? "suspected" : "dead");
		return true;
	}
	if (!runs || whorl_error(actor->node, text, sizeof(text)) != WHORL_OK)
		return false;
	if (actor->view == NULL && is_apart(actor))
		return false;
	snprintf(what, bytes, "%s is not in the last view, and %s", actor->name,
		 actor->view == NULL ? "has not been let in" : "does not know it");
	return true;
}

/* It is a sender still, with nothing to send, and is to be none. */
static bool is_to_end(const struct actor *actor, char *what, size_t bytes)
{
	for (uint32_t g = 0; g < actor->play->subgroup_count; g++) {
		const struct shard_member *member = actor->apps[g].member;

		if (member == NULL || member->me < 0 || !wh_inspect_has_ended(actor->node, member->shard->index))
			continue;
		snprintf(what, bytes, "%s, g%u, view %" PRIu64 ": has ended, and is a sender still", actor->name, g,
			 member->shard->view->number);
		return true;
	}
	return false;
}

/* What is not as it must be where there are survivors. */
static bool play_lacks(const struct play *play, const struct state *state, char *what, size_t bytes)
{
	for (uint32_t i = 0; i < play->lives; i++) {
		const struct actor *actor = &play->actors[i];

		if ((state->survivors >> i & 1) != 0 ? survivor_lacks(actor, state->last, what, bytes)
						     : state->last != NULL && other_lacks(actor, state, what, bytes))
			return true;
	}
	for (uint32_t i = 0; i < play->lives; i++)
		if ((state->survivors >> i & 1) != 0 && is_to_end(&play->actors[i], what, bytes))
			return true;
	for (uint32_t i = 0; i < play->lives; i++)
		if ((state->survivors >> i & 1) != 0 && wh_wishes_lack(&play->actors[i], what, bytes))
			return true;
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t g = 0; (state->survivors >> i & 1) != 0 && g < play->subgroup_count; g++)
			if (wh_calls_lack(&play->actors[i].apps[g], false, what, bytes) ||
			    wh_reads_lack(&play->actors[i].apps[g], what, bytes))
				return true;
	if (state->last->rests) {
		snprintf(what, bytes, "in view %" PRIu64 " a node rests that does not want to", state->last->number);
		return true;
	}
	return view_lacks(state->last, state->survivors, what, bytes);
}

static bool history_ends(struct play *play, uint64_t survivors)
{
	bool survives[64] = {false};

	if (!play->plan->config.engine.null_sends)
		return true;
	for (uint32_t i = 0; i < play->lives; i++)
		survives[i] = (survivors >> i & 1) != 0;
	if (!wh_history_end(play->history, survives))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
	return !wh_play_failed(play);
}

static bool frontiers_end(struct play *play, uint64_t survivors)
{
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t g = 0; (survivors >> i & 1) != 0 && g < play->subgroup_count; g++)
			wh_check_frontiers_end(&play->actors[i].apps[g]);
	return !wh_play_failed(play);
}

/* Until all is quiet, for a moment, or time for a look has come. */
static bool go_on(struct play *play)
{
	uint64_t until_ns = wh_sim_now(play->sim) + wh_play_timeout_ns(play) / SLICES;

	while (wh_play_step(play, until_ns) && !wh_play_is_quiet(play))
		;
	return !wh_play_failed(play);
}

/* Perhaps of states that come early, or are not wanted any more. */
static bool streams_are_open(const struct play *play)
{
	return wh_play_has_states(play) && wh_sim_under_way(play->sim) > 0;
}

/* A node that was waited for in vain again and again, or came back so often, must wait itself (membership/join_requests.c). */
static bool somebody_is_outside(const struct play *play, const struct state *state)
{
	for (uint32_t i = 0; i < play->lives; i++)
		if ((state->running >> i & 1) != 0 && play->actors[i].view == NULL)
			return true;
	return false;
}

/* So long nothing may change. What a slow link has taken arrives when it would have, and all that follows on that link behind it, also if
 * the link is as fast as ever again. */
static uint64_t patience_ns(const struct play *play, const struct state *state)
{
	uint64_t timeout_ns = wh_play_timeout_ns(play), ns = PATIENCE_TIMEOUTS * timeout_ns + play->slowest_ns;

	if (state->last == NULL)
		ns += FORM_TIMEOUTS * wh_play_start_ns(play);
	else if (somebody_is_outside(play, state))
		ns += OUTSIDE_TIMEOUTS * timeout_ns;
	if (state->restoring || streams_are_open(play))
		ns += RESTORE_TIMEOUTS * timeout_ns;
	return ns;
}

/* Nodes that are kept out for good give up; and those that have failed end: their jobs may wait for a disk that hangs. */
static void dismiss_nodes(struct play *play, const struct state *state)
{
	uint64_t set = state->running & ~state->survivors;

	for (uint32_t i = 0; i < play->lives && play->plan->logs; i++)
		if (play->actors[i].removed && !play->actors[i].crashed && play->actors[i].node != NULL)
			set |= UINT64_C(1) << i;
	if (set == 0)
		return;
	for (uint32_t i = 0; i < play->lives; i++)
		if ((set >> i & 1) != 0)
			wh_actor_crash(&play->actors[i], false);
	wh_play_goes_on(play, 2 * wh_play_timeout_ns(play));
}

bool wh_liveness_settle(struct play *play)
{
	uint64_t since_ns = wh_sim_now(play->sim);
	struct state before = look_at_lives(play);
	bool dismissed = false;
	char what[256] = "";

	for (;;) {
		struct state now = look_at_lives(play);

		if (!is_same(&now, &before))
			since_ns = wh_sim_now(play->sim);
		before = now;
		if (now.survivors != 0 && wh_play_is_quiet(play) && !play_lacks(play, &now, what, sizeof(what))) {
			play->survivors = now.survivors;
			dismiss_nodes(play, &now);
			return frontiers_end(play, now.survivors) && history_ends(play, now.survivors);
		}
		if (wh_sim_now(play->sim) - since_ns > patience_ns(play, &now)) {
			if (dismissed || now.survivors == 0 || play_lacks(play, &now, what, sizeof(what)))
				break;
			dismiss_nodes(play,
				      &now); /* a lone node may give its state for ever to one that has vanished */
			dismissed = true;
			since_ns = wh_sim_now(play->sim);
		}
		if (!go_on(play))
			return false;
		if (play->extinct)
			return true;
	}
	if (before.survivors == 0)
		return true; /* no node may go on, and none has */
	if (!play_lacks(play, &before, what, sizeof(what)))
		snprintf(what, sizeof(what),
			 "%u nodes are awake, %u applications work, and %" PRIu64 " things are under way", play->awake,
			 play->busy_streams, wh_sim_under_way(play->sim));
	wh_play_fail(play, "progress: nothing has changed for %d failure time-outs, and %s", PATIENCE_TIMEOUTS, what);
	return false;
}
