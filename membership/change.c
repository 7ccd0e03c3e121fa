/* change.c - the change of one view: see change.h, and docs/decisions/0014 for the protocol.
 *
 * One function for each step of the table there, in its order. Each looks at the rows and at what this member has said, and
 * does its step if it is time; so it does not matter which member fails when, or in what order things are seen.
 */
#include "membership/change_int.h"

#include <stdlib.h>
#include <string.h>

/* A member that is heard, but holds up the others for so many failure time-outs, is suspected; a leader after twice that. */
#define STANDING_TIMEOUTS 2

enum whorl_result wh_change_init(struct wh_change *change, struct wh_error *err)
{
	uint32_t members = change->view->members, subgroups = change->view->subgroup_count;
	struct wh_suspicion *s = &change->suspicion;

	s->said = calloc(members, sizeof(*s->said));
	s->seen = calloc(members, sizeof(*s->seen));
	s->known = calloc(members, sizeof(*s->known));
	s->left = calloc(members, sizeof(*s->left));
	s->lags = calloc(members, sizeof(*s->lags));
	s->wanted = calloc(members, sizeof(*s->wanted));
	s->why = calloc(members, sizeof(*s->why));
	change->confirming.seen = calloc(members, sizeof(*change->confirming.seen));
	change->left_out = calloc(members, sizeof(*change->left_out));
	change->rests = calloc(2 * subgroups * wh_rest_words(change->view) + 1, sizeof(*change->rests));
	change->record = calloc(wh_proposal_words(change->view), sizeof(*change->record));
	change->cuts = calloc(subgroups ? subgroups : 1, sizeof(*change->cuts));
	change->puts_out = calloc(subgroups ? subgroups : 1, sizeof(*change->puts_out));
	if (s->said == NULL || s->seen == NULL || s->known == NULL || s->left == NULL || s->lags == NULL ||
	    s->wanted == NULL || s->why == NULL || change->confirming.seen == NULL || change->left_out == NULL ||
	    change->rests == NULL || change->record == NULL || change->cuts == NULL || change->puts_out == NULL) {
		wh_change_close(change);
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view of %u members", members);
	}
	s->quorum = true;
	change->told = wh_ticket(wh_change_me(change), 0);
	change->wanted = true;
	return WHORL_OK;
}

void wh_change_close(struct wh_change *change)
{
	struct wh_suspicion *s = &change->suspicion;

	free(s->said);
	free(s->seen);
	free(s->known);
	free(s->left);
	free(s->lags);
	free(s->wanted);
	free(s->why);
	free(change->confirming.seen);
	free(change->left_out);
	free(change->rests);
	free(change->record);
	free(change->cuts);
	free(change->puts_out);
	memset(s, 0, sizeof(*s));
	change->confirming.seen = NULL;
	change->left_out = NULL;
	change->rests = change->record = NULL;
	change->cuts = NULL;
}

void wh_change_tell(const struct wh_change *change, enum wh_fact_kind kind, uint32_t rank, const char *why)
{
	change->on.told(change->ctx, &(struct wh_fact){.kind = kind, .rank = rank, .why = why});
}

/* ---- looking ------------------------------------------------------------------------------------------------------ */

static uint32_t member_count(const struct wh_change *change)
{
	return change->view->members;
}

static bool breaks_barrier(const struct wh_change *change, uint32_t rank)
{
	for (uint32_t before = 0; before < wh_change_me(change); before++)
		if (wh_row_of(change, rank, change->columns.suspected, before) == WH_TRUSTED)
			return true;
	return false;
}

/* Every member that I trust suspects all those before me. What one of the suspects has said to such a member is then known:
 * the member has seen it before it suspected, and I see what the member made of it. */
static bool is_past_barrier(const struct wh_change *change)
{
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (wh_change_trusts(change, rank) && breaks_barrier(change, rank))
			return false;
	return true;
}

/* ---- wedge -------------------------------------------------------------------------------------------------------- */

static size_t wedge(struct wh_change *change)
{
	if (change->wedged)
		return 0;
	change->began_ns = change->standing_ns = wh_env_now(change->diag->env);
	change->on.wedge(change->ctx);
	change->wedged = true;
	wh_sst_publish_flag(change->sst, change->pushes, change->columns.wedged, change->heartbeat->peers);
	wh_pushes_post(change->pushes);
	wh_event(change->diag, "wedge", change->view->number, 0, 0);
	wh_change_advance(change, WH_STAGE_WEDGED);
	if (change->ticket != 0) /* prepared while the view went on */
		wh_change_advance(change, WH_STAGE_PROPOSED);
	if (change->ticket != 0 && change->ticket == change->acknowledged)
		wh_change_advance(change, WH_STAGE_ACKNOWLEDGED);
	return 1;
}

/* No member is suspected: the leader stops when the next view is prepared, and the others because the leader has. */
static bool is_time_to_stop(const struct wh_change *change)
{
	uint32_t lead = wh_change_leader(change);

	if (lead != wh_change_me(change))
		return wh_row_flag(change, lead, change->columns.wedged);
	return wh_prepared(change);
}

/* ---- the decision ----------------------------------------------------------------------------------------------------- */

/* Is it on disk that I agree to what is in `cuts`, as rank `by` has decided? Before that no row says it: the power may go, and of what was
 * agreed to then nothing may be forgotten (0058). */
static bool is_kept(const struct wh_change *change, uint32_t by)
{
	return change->on.keep == NULL ||
	       change->on.keep(change->ctx, wh_ticket_image(change), (uint64_t)by + 1, change->cuts);
}

/* Behind what may have taken as long as a disk does. */
static bool heeds_still(const struct wh_change *change)
{
	return change->on.keep == NULL || wh_suspicion_heeds(change);
}

/* My row says the decision of rank `by`. Its values first, and only once; they never change. */
static void publish_decision(struct wh_change *change, uint32_t by)
{
	const struct wh_to to = change->heartbeat->peers;

	if (change->agreed == 0) {
		wh_sst_publish(change->sst, change->pushes, change->columns.image, wh_ticket_image(change), to);
		for (uint32_t g = 0; g < change->columns.cut.count; g++)
			wh_sst_publish_array(change->sst, change->pushes, change->columns.cut, g, change->cuts[g], to);
		wh_pushes_post(change->pushes);
	}
	change->agreed = (uint64_t)by + 1;
	wh_sst_publish(change->sst, change->pushes, change->columns.agreed, change->agreed, to);
	wh_pushes_post(change->pushes);
	wh_change_advance(change, WH_STAGE_DECIDED);
}

/* No member decides that I deliver what I have not received, or not on disk, nor that I have not delivered what I have: all survivors have
 * that, as cut_of finds. */
static bool is_within_reach(const struct wh_change *change, uint32_t subgroup, uint64_t cut)
{
	const struct wh_cut_source *source = &change->cuts_from[subgroup];
	uint32_t me = wh_change_me(change);

	return wh_rank_find(source->members, source->count, me) < 0 ||
	       (cut <= wh_row(change, me, source->stable_num) && cut >= wh_row(change, me, source->delivered_num));
}

static bool is_of_my_image(const struct wh_change *change, uint32_t rank)
{
	return change->ticket != 0 && change->ticket == change->acknowledged &&
	       wh_row(change, rank, change->columns.image) == wh_ticket_image(change);
}

bool wh_change_fits(const struct wh_change *change, uint32_t rank)
{
	bool fits = is_of_my_image(change, rank);

	for (uint32_t g = 0; fits && g < change->columns.cut.count; g++) {
		uint64_t cut = wh_row_of(change, rank, change->columns.cut, g);

		fits = is_within_reach(change, g, cut) && (change->agreed == 0 || change->cuts[g] == cut);
	}
	return fits;
}

/* Reads the decision in that row: what is checked is what is kept. False: it cannot be mine, as I have one, and it is another; or
 * I have not acknowledged the memory of the view that it is about, or it is about messages that it cannot be about. */
static bool read_decision(struct wh_change *change, uint32_t from)
{
	bool same = is_of_my_image(change, from);

	for (uint32_t g = 0; same && g < change->columns.cut.count; g++) {
		uint64_t cut = wh_row_of(change, from, change->columns.cut, g);

		if (change->agreed == 0)
			change->cuts[g] = cut;
		same = change->cuts[g] == cut && is_within_reach(change, g, cut);
	}
	return same;
}

/* Takes the decision out of that row. False: it cannot be mine, which is nowhere so unless some member breaks the rules. */
static bool take_decision(struct wh_change *change, uint32_t from)
{
	bool mine = read_decision(change, from);

	if (!mine)
		wh_change_tell(change, WH_FACT_BROKEN, from, "decision is not the one that was made");
	return mine;
}

/* Configured ones are where they were. NULL: it is not there any more. */
static const struct wh_view_subgroup *find_in_next(const struct wh_change *change, const struct wh_view *next,
						   uint32_t subgroup)
{
	uint64_t birth = change->view->subgroups[subgroup].birth;

	if (birth == 0)
		return &next->subgroups[subgroup];
	for (uint32_t i = 0; i < next->dynamic_count; i++)
		if (wh_view_dynamic(next)[i].birth == birth)
			return &wh_view_dynamic(next)[i];
	return NULL;
}

/* Is that member of the shard one in the next view as well? It may leave it for another, or for none, if a function says so. */
static bool stays_in_shard(const struct wh_change *change, const struct wh_view *next, uint32_t subgroup, uint32_t rank)
{
	const struct wh_view_subgroup *shard = next != NULL ? find_in_next(change, next, subgroup) : NULL;
	int there = next != NULL ? wh_view_rank(next, change->view->ids[rank]) : -1;

	if (next == NULL)
		return true;
	return shard != NULL && there >= 0 && wh_rank_find(shard->members, shard->member_count, (uint32_t)there) >= 0 &&
	       wh_rank_find(shard->entered, shard->entered_count, (uint32_t)there) < 0;
}

/* Of the members of that durable shard that go on, in the next view if there is one, some has a whole log; or none goes on. Else the group
 * would go on without what one disk still has. */
static bool has_whole_log(const struct wh_change *change, const struct wh_view *next, uint32_t subgroup)
{
	const struct wh_view_subgroup *shard = &change->view->subgroups[subgroup];
	bool goes_on = false;

	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t rank = shard->members[i];

		if (!wh_change_trusts(change, rank) || !stays_in_shard(change, next, subgroup, rank))
			continue;
		if (wh_row_of(change, rank, change->columns.whole, subgroup) != 0)
			return true;
		goes_on = true;
	}
	return !goes_on;
}

/* The subgroup of which none has; -1: there is none. */
static int shard_without_log(const struct wh_change *change)
{
	const struct wh_view *next = change->next;

	for (uint32_t g = 0; g < change->columns.whole.count; g++)
		if (change->cuts_from[g].durable && !has_whole_log(change, next, g))
			return (int)g;
	return -1;
}

/* A function may put the members with whole logs elsewhere, and leave those that have none. */
bool wh_change_finds_keeps(struct wh_change *change)
{
	const struct wh_view *next = change->next;
	uint64_t keeps = change->keeps;

	for (uint32_t g = 0; next != NULL && g < change->columns.whole.count; g++)
		if (change->cuts_from[g].durable && change->view->subgroups[g].birth == 0 &&
		    !has_whole_log(change, next, g) && has_whole_log(change, NULL, g))
			keeps |= wh_keeps_bit(change->view->subgroups[g].configured);
	if (keeps == change->keeps)
		return false;
	change->keeps = keeps;
	return true;
}

bool wh_change_finds_outs(struct wh_change *change)
{
	const struct wh_view *next = change->next;
	bool any = false;

	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (wh_change_trusts(change, rank) && !wh_row_flag(change, rank, change->columns.wedged))
			return false;
	for (uint32_t g = 0; next != NULL && g < change->columns.whole.count; g++) {
		if (!change->cuts_from[g].durable || change->view->subgroups[g].birth == 0 || change->puts_out[g] ||
		    has_whole_log(change, next, g))
			continue;
		change->puts_out[g] = true;
		any = true;
	}
	return any;
}

bool wh_change_has_logs(const struct wh_change *change)
{
	return shard_without_log(change) < 0;
}

static bool all_are_ready(const struct wh_change *change)
{
	uint64_t ticket = wh_ticket(wh_change_me(change), change->attempt);

	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (wh_change_trusts(change, rank) && (!wh_row_flag(change, rank, change->columns.wedged) ||
						       wh_row(change, rank, change->columns.acknowledged) != ticket))
			return false;
	return wh_change_has_logs(change) && wh_suspicion_trusted_quorum(change) && wh_suspicion_heeds(change);
}

/* What a survivor of the shard has delivered is on all disks, also on those of members that have a whole log and are gone; of more that is
 * not known, and nobody goes on with it. */
static uint64_t cut_where_put_out(const struct wh_change *change, const struct wh_cut_source *source)
{
	uint64_t cut = 0;

	for (uint32_t i = 0; i < source->count; i++) {
		uint64_t delivered = wh_row(change, source->members[i], source->delivered_num);

		if (wh_change_trusts(change, source->members[i]) && delivered > cut)
			cut = delivered;
	}
	return cut;
}

/* The least that a survivor of the shard has: no member can have delivered more, and all survivors have it. */
static uint64_t cut_of(const struct wh_change *change, const struct wh_cut_source *source)
{
	uint64_t cut = UINT64_MAX;

	for (uint32_t i = 0; i < source->count; i++) {
		uint64_t stable = wh_row(change, source->members[i], source->stable_num);

		if (wh_change_trusts(change, source->members[i]) && stable < cut)
			cut = stable;
	}
	return cut == UINT64_MAX ? 0 : cut;
}

static size_t decide(struct wh_change *change)
{
	if (!all_are_ready(change))
		return 0;
	for (uint32_t g = 0; g < change->columns.cut.count; g++)
		change->cuts[g] = change->puts_out[g] ? cut_where_put_out(change, &change->cuts_from[g])
						      : cut_of(change, &change->cuts_from[g]);
	if (!is_kept(change, wh_change_me(change)) || !heeds_still(change))
		return 0;
	wh_event(change->diag, "decide", change->view->number, change->attempt, 0);
	publish_decision(change, wh_change_me(change));
	return 1;
}

/* `dead` holds a decision that `rank`, which I trust, cannot follow, though it has not been accused there. */
static bool is_beyond(const struct wh_change *change, uint32_t rank, uint32_t dead)
{
	return rank != wh_change_me(change) && wh_change_trusts(change, rank) &&
	       wh_row_of(change, dead, change->columns.suspected, rank) == WH_TRUSTED &&
	       wh_row(change, rank, change->columns.acknowledged) != change->acknowledged;
}

/* A decision in the row of a dead member that I cannot follow is nothing to me, unless I am left behind by it: its owner has waited for
 * my word. I may have read its row too late: it had failed first, another attempt was followed, and the memory of its view was
 * given up. So may another have done that I trust, and then it is nothing to me either. Of members that are not dead a decision that
 * cannot be followed is what no member makes, and lead_change says so. */
static bool is_void(const struct wh_change *change, uint32_t rank)
{
	if (change->suspicion.said[rank] != WH_DEAD)
		return false;
	for (uint32_t other = 0; other < member_count(change); other++)
		if (is_beyond(change, other, rank))
			return true;
	return !wh_change_fits(change, rank);
}

/* The readable row with the decision of the highest rank, mine too; -1: there is none. */
static int decided_row(const struct wh_change *change)
{
	uint64_t highest = 0;
	int best = -1;

	for (uint32_t rank = 0; rank < member_count(change); rank++) {
		uint64_t agreed = wh_change_reads(change, rank) ? wh_row(change, rank, change->columns.agreed) : 0;

		if (agreed > highest && !is_void(change, rank)) {
			highest = agreed;
			best = (int)rank;
		}
	}
	return best;
}

static size_t propose_and_decide(struct wh_change *change)
{
	size_t work = wh_propose_without(change);

	work += wh_acknowledge_proposal(change);
	work += wh_propose_keeping(change);
	return work + decide(change);
}

/* As leader. What may have been decided before me is decided again under my rank; only if there is nothing is it mine. */
static size_t lead_change(struct wh_change *change)
{
	uint32_t me = wh_change_me(change);
	int decided;

	if (change->agreed == (uint64_t)me + 1 || !is_past_barrier(change))
		return 0;
	decided = decided_row(change);
	if (decided < 0)
		return propose_and_decide(change);
	if (!wh_suspicion_heeds(change) || !take_decision(change, (uint32_t)decided))
		return 0;
	if (!is_kept(change, me) || !heeds_still(change))
		return 0;
	wh_event(change->diag, "adopt", change->view->number, (uint64_t)decided, 0);
	publish_decision(change, me);
	return 1;
}

/* As follower. Between my look at what the leader suspects and its decision it may have suspected me: that is looked at
 * again before I say yes. */
static size_t echo(struct wh_change *change, uint32_t lead)
{
	uint64_t agreed = wh_row(change, lead, change->columns.agreed);

	if (agreed != (uint64_t)lead + 1 || agreed <= change->agreed || !wh_suspicion_heeds(change) ||
	    !take_decision(change, lead))
		return 0;
	if (!is_kept(change, lead) || !heeds_still(change))
		return 0;
	wh_event(change->diag, "echo", change->view->number, lead, 0);
	publish_decision(change, lead);
	return 1;
}

/* ---- the end ----------------------------------------------------------------------------------------------------------- */

static bool says_the_same(const struct wh_change *change, uint32_t rank)
{
	if (wh_row(change, rank, change->columns.agreed) != change->agreed ||
	    wh_row(change, rank, change->columns.image) != wh_ticket_image(change))
		return false;
	for (uint32_t g = 0; g < change->columns.cut.count; g++)
		if (wh_row_of(change, rank, change->columns.cut, g) != change->cuts[g])
			return false;
	return true;
}

static bool all_say_the_same(const struct wh_change *change)
{
	if (change->agreed == 0)
		return false;
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (wh_change_trusts(change, rank) && !says_the_same(change, rank))
			return false;
	return wh_suspicion_trusted_quorum(change) && wh_suspicion_heeds(change);
}

/* The members that went ahead may be gone, and have been the quorum; but the newcomers that came in with them show that they did.
 * The name of an image stands for one decision, and mine is of that image. So it is final, as in catch_up: nothing is heeded any
 * more, for what those members have said before they died can perhaps not be said here. */
static bool others_are_there(const struct wh_change *change)
{
	return change->agreed != 0 && change->on.has_begun(change->ctx, false);
}

/* Some member has gone ahead: what it installed is what all install, and it will say nothing more here. That is final, whatever
 * accusations there are meanwhile: a member that hears no quorum, and so can say nothing of it itself, goes along. But if the
 * decision is not mine I may have been left out, and not have looked yet. */
static size_t catch_up(struct wh_change *change)
{
	for (uint32_t rank = 0; rank < member_count(change); rank++) {
		uint32_t by;

		if (rank == wh_change_me(change) || !wh_change_trusts(change, rank) ||
		    !wh_row_flag(change, rank, change->columns.installed) ||
		    (!read_decision(change, rank) && !wh_suspicion_heeds(change)))
			continue;
		if (!take_decision(change, rank))
			return 0;
		by = (uint32_t)wh_row(change, rank, change->columns.agreed) - 1;
		if (change->agreed == 0 && !is_kept(change, by))
			return 0;
		wh_event(change->diag, "catch up", change->view->number, rank, 0);
		if (change->agreed == 0)
			publish_decision(change, by);
		change->settled = true;
		return 1;
	}
	return 0;
}

static size_t settle_decision(struct wh_change *change)
{
	size_t work = 0;

	if (all_say_the_same(change) || others_are_there(change)) {
		change->settled = true;
		work = 1;
	} else {
		work = catch_up(change);
	}
	if (change->settled)
		wh_change_advance(change, WH_STAGE_AGREED);
	return work;
}

static size_t finish_change(struct wh_change *change)
{
	bool done = false;
	size_t work = change->on.deliver(change->ctx, change->cuts, &done);

	if (!done)
		return work + 1;
	wh_sst_publish_flag(change->sst, change->pushes, change->columns.installed, change->heartbeat->peers);
	wh_pushes_post(change->pushes);
	wh_event(change->diag, "install", change->view->number + 1, 0, 0);
	change->installed = true;
	change->on.begin(change->ctx);
	return work + 1;
}

/* ---- members that hold up the others --------------------------------------------------------------------------------- */

/* Do I wait for something that `rank` should have said? */
static bool is_lagging(const struct wh_change *change, uint32_t rank, uint32_t lead)
{
	uint32_t me = wh_change_me(change);

	if (change->agreed == (uint64_t)lead + 1)
		return wh_row(change, rank, change->columns.agreed) != change->agreed;
	if (lead != me)
		return rank == lead;
	if (!is_past_barrier(change))
		return breaks_barrier(change, rank);
	return !wh_row_flag(change, rank, change->columns.wedged) ||
	       wh_row(change, rank, change->columns.acknowledged) != wh_ticket(me, change->attempt);
}

/* No member holds up the others where a log does. */
static bool is_held_up_by_log(struct wh_change *change)
{
	int subgroup = change->agreed == 0 ? shard_without_log(change) : -1;

	if (subgroup >= 0 && change->log_missed_ns == 0) {
		change->log_missed_ns = change->loop->now_ns;
		wh_log(change->diag, WH_LOG_WARNING,
		       "of the members that are left of subgroup %s none has all of its log: the group waits for one that has",
		       change->view->subgroups[subgroup].name);
	}
	if (subgroup < 0)
		change->log_missed_ns = 0;
	else if (change->give_up_ns != 0 && change->loop->now_ns - change->log_missed_ns > change->give_up_ns)
		wh_suspicion_give_up(change); /* a restart of all finds the one that has it (0058) */
	return subgroup >= 0;
}

/* A member that is heard and does not go along (its memory is out, its messages do not get through) would hold up all for
 * ever. */
static void watch_members(struct wh_change *change, size_t work)
{
	uint64_t now = change->loop->now_ns, patience = STANDING_TIMEOUTS * change->heartbeat->timeout_ns;
	uint32_t lead = wh_change_leader(change), me = wh_change_me(change);
	bool late = now - change->watched_ns > change->heartbeat->timeout_ns / 2;

	change->watched_ns = now;
	if (work > 0 || late || !change->suspicion.quorum || is_held_up_by_log(change))
		change->standing_ns = now;
	if (now - change->standing_ns <= (lead == me ? patience : 2 * patience))
		return;
	change->standing_ns = now;
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (rank != me && wh_change_trusts(change, rank) && is_lagging(change, rank, lead))
			wh_suspicion_lags(change, rank);
}

uint32_t wh_change_leader_of(const struct wh_change *change)
{
	return wh_change_leader(change);
}

bool wh_change_leads(const struct wh_change *change)
{
	return wh_change_leader(change) == wh_change_me(change);
}

/* ---- one pass ---------------------------------------------------------------------------------------------------------- */

size_t wh_change_step(struct wh_change *change)
{
	size_t work;
	uint32_t lead_rank;

	if (change->removed || change->installed)
		return 0;
	work = wh_suspicion_step(change);
	if (change->removed)
		return work;
	work += wh_confirm_step(change);
	work += wh_serve_step(change);
	if (change->suspicion.count == 0 && !change->wedged) {
		size_t prepared = wh_prepare(change);

		if (!is_time_to_stop(change))
			return work + prepared;
		work += prepared;
	}
	work += wedge(change);
	lead_rank = wh_change_leader(change);
	if (!change->settled) {
		if (lead_rank == wh_change_me(change))
			work += lead_change(change);
		else if (change->agreed == 0)
			work += wh_acknowledge_proposal(change);
		if (lead_rank != wh_change_me(change))
			work += echo(change, lead_rank);
		work += settle_decision(change);
	}
	if (change->settled)
		return work + finish_change(change);
	watch_members(change, work);
	return work;
}
