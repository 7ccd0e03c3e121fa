/* propose.c - what the next view is to be: see change.h; docs/decisions/0014 (propose, acknowledge), 0016 (which nodes come
 * in, which rest).
 *
 * A proposal commits no member to anything but to opening memory. When a member has failed all have stopped, and it is a view
 * without that member, and nothing else. When none has, it takes in newcomers and changes which members send, and is prepared
 * while the view goes on: no member stops before all have opened its memory and all newcomers are there, and if that does not come
 * to pass, another proposal takes its place, or one that changes nothing, by which it is given up.
 */
#include <string.h>

#include "base/crc32c.h"
#include "membership/change_int.h"

/* So many attempts of a view are left to failures, of which there are no more than members. */
#define ATTEMPTS_KEPT 1024

/* A newcomer has one failure time-out to be there, and a member that follows none of this so many. */
#define PREPARE_TIMEOUTS 2

static uint32_t member_count(const struct wh_change *change)
{
	return change->view->members;
}

/* ---- records --------------------------------------------------------------------------------------------------------- */

/* 1: a view follows even if nothing changes. Above that which subgroups keep their members, as in wh_next. */
#define RENEWS 1

static uint64_t *renews_in(const struct wh_change *change)
{
	return change->record + 2 * wh_newcomers_most(change->view);
}

static uint64_t *rests_in(const struct wh_change *change)
{
	return renews_in(change) + 1;
}

/* Of the next view, if it serves wishes. */
static uint64_t *digest_in(const struct wh_change *change)
{
	return change->record + wh_proposal_words(change->view) - 2;
}

static uint64_t role_words(const struct wh_change *change)
{
	return (uint64_t)change->view->subgroup_count * wh_rest_words(change->view);
}

static bool rests_in_view(const struct wh_view_subgroup *subgroup, uint32_t rank)
{
	return wh_rank_find(subgroup->resting, subgroup->resting_count, rank) >= 0;
}

/* In a dynamic subgroup: it has nothing to rest from, and no view has it rest, whatever it says (wh_view_next). */
static bool only_listens(const struct wh_view_subgroup *subgroup, uint32_t rank)
{
	return subgroup->birth != 0 && wh_rank_find(subgroup->senders, subgroup->sender_count, rank) < 0 &&
	       !rests_in_view(subgroup, rank);
}

/* The members that are to rest in the next view: those that do, but for what members wish. True: that is another set. */
static bool find_rests(const struct wh_change *change, uint64_t *rests, bool with_wishes)
{
	uint32_t words = wh_rest_words(change->view);
	bool differs = false;

	memset(rests, 0, role_words(change) * sizeof(*rests));
	for (uint32_t g = 0; g < change->view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &change->view->subgroups[g];

		for (uint32_t i = 0; i < subgroup->member_count; i++) {
			uint32_t rank = subgroup->members[i];
			uint64_t wish = with_wishes ? wh_row_of(change, rank, change->columns.wish, g) : 0;
			bool rested = rests_in_view(subgroup, rank), rest = wish % 2 == 1;

			if (wish == 0 || only_listens(subgroup, rank))
				rest = rested;
			differs = differs || rest != rested;
			if (rest)
				rests[g * words + rank / 64] |= UINT64_C(1) << rank % 64;
		}
	}
	return differs;
}

/* Of a dynamic subgroup, of which no member ends so: those that are put out of it. */
static bool find_outs(const struct wh_change *change, uint64_t *ended)
{
	uint32_t words = wh_rest_words(change->view);
	bool any = false;

	for (uint32_t g = 0; g < change->view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &change->view->subgroups[g];

		for (uint32_t i = 0; change->puts_out[g] && i < subgroup->member_count; i++) {
			ended[g * words + subgroup->members[i] / 64] |= UINT64_C(1) << subgroup->members[i] % 64;
			any = true;
		}
	}
	return any;
}

/* The ending members that have nothing left to send. True: there is one. */
static bool find_ended(const struct wh_change *change, uint64_t *ended)
{
	uint32_t words = wh_rest_words(change->view);
	bool any = false;

	memset(ended, 0, role_words(change) * sizeof(*ended));
	any = find_outs(change, ended);
	for (uint32_t g = 0; g < change->view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &change->view->subgroups[g];

		for (uint32_t i = 0; i < subgroup->ending_count; i++) {
			uint32_t rank = subgroup->ending[i];

			if (wh_row_of(change, rank, change->columns.ended, g) == 0)
				continue;
			ended[g * words + rank / 64] |= UINT64_C(1) << rank % 64;
			any = true;
		}
	}
	return any;
}

/* The roles of members in the next view, into the record. True: those of this one change. */
static bool find_roles(struct wh_change *change)
{
	uint64_t *rests = rests_in(change);
	bool differs = find_rests(change, rests, true);

	return find_ended(change, rests + role_words(change)) || differs;
}

/* They stay as they are. */
static void keep_roles(struct wh_change *change)
{
	uint64_t *rests = rests_in(change), words = role_words(change);

	(void)find_rests(change, rests, false);
	memset(rests + words, 0, words * sizeof(*rests));
	(void)find_outs(change, rests + words);
}

uint64_t wh_proposal_seal(const uint64_t *record, uint64_t words, uint64_t attempt)
{
	return attempt << 32 | wh_crc32c(0, record, (words - 1) * sizeof(*record));
}

/* Reads what the leader says of that attempt. False: it is written over (sst/columns.h, `proposal`), a later one is coming. */
static bool read_record(struct wh_change *change, uint32_t leader, uint64_t attempt)
{
	const struct wh_list_col list = change->columns.proposal;
	uint64_t words = wh_proposal_words(change->view), from = (attempt - 1) * words;

	for (uint32_t i = 0; i < words; i++) {
		uint32_t offset = list.entries + (uint32_t)((from + i) % list.capacity) * 8;

		change->record[i] = wh_row(change, leader, (struct wh_counter_col){offset});
	}
	return change->record[words - 1] == wh_proposal_seal(change->record, words, attempt);
}

static void take_roles(struct wh_change *change)
{
	memcpy(change->rests, rests_in(change), 2 * role_words(change) * sizeof(*change->rests));
}

/* NULL, or what is wrong with the newcomers that the record names. */
static const char *take_newcomers(struct wh_change *change)
{
	change->coming_count = 0;
	for (uint32_t i = 0; i < wh_newcomers_most(change->view) && change->record[2 * i] != 0; i++) {
		struct wh_newcomer newcomer = {.id = (uint32_t)(change->record[2 * i] - 1),
					       .incarnation = change->record[2 * i + 1]};

		if (change->record[2 * i] > change->nodes || newcomer.incarnation == 0)
			return "proposal takes in a node that cannot be";
		if (wh_view_rank(change->view, newcomer.id) >= 0)
			return "proposal takes in a node that is a member";
		for (uint32_t k = 0; k < i; k++)
			if (change->coming[k].id == newcomer.id)
				return "proposal takes in a node twice";
		change->coming[change->coming_count++] = newcomer;
	}
	return NULL;
}

static const char *take_left_out(struct wh_change *change, uint32_t leader, uint64_t attempt)
{
	for (uint32_t rank = 0; rank < member_count(change); rank++) {
		uint64_t first = wh_row_of(change, leader, change->columns.left_out, rank);

		change->left_out[rank] = first != 0 && first <= attempt;
	}
	return change->left_out[wh_change_me(change)] || change->left_out[leader]
		       ? "proposal leaves out a member that takes part in it"
		       : NULL;
}

static bool leaves_somebody_out(const struct wh_change *change)
{
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (change->left_out[rank])
			return true;
	return false;
}

/* Some member has ended. */
static bool ends_somebody(const struct wh_change *change)
{
	const uint64_t *ended = change->rests + role_words(change);

	for (uint64_t i = 0; i < role_words(change); i++)
		if (ended[i] != 0)
			return true;
	return false;
}

/* Something other than that, and than what wishes change. */
static bool changes_more(const struct wh_change *change)
{
	uint32_t words = wh_rest_words(change->view);

	if (leaves_somebody_out(change))
		return true;
	for (uint32_t g = 0; g < change->view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &change->view->subgroups[g];

		for (uint32_t i = 0; i < subgroup->member_count; i++) {
			uint32_t rank = subgroup->members[i];
			bool rests = change->rests[g * words + rank / 64] >> rank % 64 & 1;

			if (rests != rests_in_view(subgroup, rank))
				return true;
		}
	}
	return change->coming_count > 0 || (*renews_in(change) & RENEWS) != 0;
}

static bool changes_something(const struct wh_change *change)
{
	return ends_somebody(change) || changes_more(change) || *digest_in(change) != 0;
}

/* What the view after is made of, but for wishes: `left_out`, `coming` and `rests` are those of an attempt. */
static struct wh_next next_of(const struct wh_change *change)
{
	return (struct wh_next){.removed = change->left_out,
				.newcomers = change->coming,
				.newcomer_count = change->coming_count,
				.rests = change->rests,
				.ended = change->rests + role_words(change),
				.settles = !changes_more(change),
				.keeps = *renews_in(change) >> 1};
}

/* A first view with a quorum taken of nodes that are not in it is followed at once by one of the same members. And a member
 * that wished to rest in this view and has taken it back may not send before a view in which that is settled: it may be in a
 * proposal already. And a view that comes to the end of its attempts, or of its numbers, is followed by one that has all of them
 * again. */
static bool needs_renewal(const struct wh_change *change)
{
	if (change->view->voters > member_count(change) || change->ids_exhausted ||
	    change->attempt >= WH_ATTEMPTS_MAX - ATTEMPTS_KEPT)
		return true;
	for (uint32_t g = 0; g < change->view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &change->view->subgroups[g];

		for (uint32_t i = 0; i < subgroup->member_count; i++)
			if (wh_row_of(change, subgroup->members[i], change->columns.wish, g) > 1)
				return true;
	}
	return false;
}

/* ---- as leader: proposing ------------------------------------------------------------------------------------------------ */

/* The digest of what the next attempt serves, if it leaves nobody out, and these come in; the record says which rest. `alone`: nothing else
 * makes it necessary. */
static uint64_t serve_wishes(struct wh_change *change, const struct wh_newcomer *newcomers, uint32_t count, bool renews,
			     bool alone)
{
	struct wh_next next;

	*renews_in(change) = (renews ? RENEWS : 0) | change->keeps << 1;
	take_roles(change);
	memset(change->left_out, 0, member_count(change) * sizeof(*change->left_out));
	memcpy(change->coming, newcomers, count * sizeof(*newcomers));
	change->coming_count = count;
	next = next_of(change);
	return wh_serve_compose(change, &next, alone);
}

/* Publishes the next attempt: suspects are left out, `newcomers` come in, the record says which rest. What it guards first. */
static void publish_attempt(struct wh_change *change, const struct wh_newcomer *newcomers, uint32_t count, bool renews,
			    uint64_t digest)
{
	struct wh_to to = change->heartbeat->peers;
	uint64_t words = wh_proposal_words(change->view), before = change->attempt * words;
	enum whorl_result result;

	change->attempt++;
	change->attempted_ns = change->loop->now_ns;
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (!wh_change_trusts(change, rank) &&
		    wh_row_of(change, wh_change_me(change), change->columns.left_out, rank) == 0)
			wh_sst_publish_array(change->sst, change->pushes, change->columns.left_out, rank,
					     change->attempt, to);
	memset(change->record, 0, 2 * wh_newcomers_most(change->view) * sizeof(*change->record));
	*renews_in(change) = (renews ? RENEWS : 0) | change->keeps << 1;
	for (uint32_t i = 0; i < count; i++) {
		change->record[2 * i] = (uint64_t)newcomers[i].id + 1;
		change->record[2 * i + 1] = newcomers[i].incarnation;
	}
	*digest_in(change) = digest;
	wh_serve_note(change, wh_change_me(change), digest);
	change->record[words - 1] = wh_proposal_seal(change->record, words, change->attempt);
	result = wh_sst_append(change->sst, change->pushes, change->columns.proposal, change->record, (uint32_t)words,
			       before < words ? 0 : before - words, to);
	WH_CHECK(change->diag, result == WHORL_OK);
	wh_pushes_post(change->pushes);
	wh_sst_publish(change->sst, change->pushes, change->columns.proposed, change->attempt, to);
	wh_pushes_post(change->pushes);
	wh_event(change->diag, "propose", change->view->number, change->attempt, count);
}

/* The newcomers of the view that is open are invited into it, by `key`. A node that was invited and is not among them is told that it is
 * not any more; 0: no node is invited. */
static void invite(struct wh_change *change, uint64_t key, uint32_t count)
{
	bool blames = change->suspicion.count == 0; /* else it was a member that held it up */

	wh_event(change->diag, "invite", key, count, 0);
	if (wh_join_requests_invite(change->requests, count > 0 ? change->next : NULL, key, blames) != WHORL_OK)
		wh_log(change->diag, WH_LOG_WARNING, "no memory to invite %u nodes", count);
}

static enum wh_arrival arrival_of(const struct wh_change *change, uint32_t newcomer)
{
	return wh_join_requests_arrival(change->requests, wh_ticket_image(change), &change->coming[newcomer]);
}

static bool is_news(const struct wh_change *change)
{
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (!wh_change_trusts(change, rank) &&
		    wh_row_of(change, wh_change_me(change), change->columns.left_out, rank) == 0)
			return true;
	return false;
}

/* All that I suspect are left out, and no node comes in: the removal of a failed member does not wait for newcomers. */
size_t wh_propose_without(struct wh_change *change)
{
	if (!is_news(change) || change->attempt == WH_ATTEMPTS_MAX)
		return 0;
	keep_roles(change);
	if (change->coming_count > 0)
		invite(change, 0, 0);
	publish_attempt(change, NULL, 0, false, 0); /* what follows a failure follows from rows */
	return 1;
}

size_t wh_propose_keeping(struct wh_change *change)
{
	bool news;

	if (change->ticket != wh_ticket(wh_change_me(change), change->attempt) || change->attempt == WH_ATTEMPTS_MAX)
		return 0;
	news = wh_change_finds_keeps(change);
	if (leaves_somebody_out(change) && wh_change_finds_outs(change))
		news = true;
	if (!news)
		return 0;
	keep_roles(change);
	publish_attempt(change, NULL, 0, false, 0);
	return 1;
}

/* ---- acknowledging --------------------------------------------------------------------------------------------------------- */

/* A view may be followed by the next at once, and no member is to stand still for that: while none is suspected each waits until its own
 * memory is ready, the leader before it proposes. */
static bool is_memory_ready(struct wh_change *change)
{
	const struct wh_image *image = change->sst->image;

	if (image->ops->prepares == NULL || change->wedged || change->suspicion.count > 0 ||
	    !image->ops->prepares(image->transport))
		return true;
	wh_loop_at(change->loop, change->loop->now_ns + WH_NS_PER_MS);
	return false;
}

/* What another leader before has proposed is given up: my row says so before it is, by the number of no attempt. A decision for it may
 * be found yet, in the row of a dead member, and must not be adopted then (change.c, is_void). */
static void give_up_earlier(struct wh_change *change, uint32_t leader)
{
	uint64_t none = wh_ticket(leader, 0);

	if (change->acknowledged == 0 || change->acknowledged >= none || change->sst->image->ops->thaw == NULL)
		return;
	change->acknowledged = none;
	wh_sst_publish(change->sst, change->pushes, change->columns.acknowledged, none, change->heartbeat->peers);
	wh_pushes_post(change->pushes);
}

/* NULL, or what is wrong with the record of that attempt. */
static const char *take_record(struct wh_change *change, uint32_t leader, uint64_t attempt)
{
	const char *wrong = take_left_out(change, leader, attempt);

	take_roles(change);
	if (wrong == NULL)
		wrong = take_newcomers(change);
	if (wrong == NULL && *digest_in(change) != 0 && leaves_somebody_out(change))
		wrong = "proposal leaves out a member, and serves wishes";
	return wrong;
}

/* Begins to open the memory of what has been taken from the record; `view` as in open(). Returns NULL, or what is wrong with it. */
static const char *open_proposal(struct wh_change *change, struct wh_view *view, uint64_t key)
{
	struct wh_next next = next_of(change);
	const char *wrong = NULL;

	if (view != NULL && wh_serve_check(change, view, &next, &wrong) != WHORL_OK) {
		wh_view_free(view);
		return wrong;
	}
	wh_change_advance(change, WH_STAGE_PROPOSED);
	change->next = change->on.open(change->ctx, &next, view, key);
	if (change->next != NULL)
		change->ticket = change->heeded;
	return NULL;
}

/* Begins to open the memory of what the leader proposes; if it serves wishes, once that view has come whole. */
static void follow_proposal(struct wh_change *change, uint32_t leader, uint64_t attempt)
{
	uint64_t key = wh_image_key(change->view->number, leader, attempt), digest;
	enum whorl_result come = WHORL_OK;
	struct wh_view *view = NULL;
	const char *wrong;

	if (!read_record(change, leader, attempt))
		return;
	digest = *digest_in(change);
	wh_serve_note(change, leader, digest);
	if (digest != 0)
		come = wh_serve_take(change, &view, leader, key, digest);
	if (come == WHORL_AGAIN)
		return;
	give_up_earlier(change, leader);
	change->on.discard(change->ctx, key); /* also those attempts that I have never seen, and others have */
	change->ticket = 0;
	change->next = NULL;
	change->heeded = wh_ticket(leader, attempt);
	wrong = take_record(change, leader, attempt);
	if (wrong == NULL && come == WHORL_INVALID)
		wrong = "next view is none, or not the one of its proposal";
	if (wrong != NULL)
		wh_view_free(view);
	else if (come == WHORL_OK && changes_something(change)) /* else it is given up, or there is no memory for it */
		wrong = open_proposal(change, view, key);
	if (wrong != NULL)
		wh_change_tell(change, WH_FACT_BROKEN, leader, wrong);
}

size_t wh_acknowledge_proposal(struct wh_change *change)
{
	uint32_t lead = wh_change_leader(change);
	uint64_t attempt = wh_row(change, lead, change->columns.proposed);
	uint64_t ticket = wh_ticket(lead, attempt);

	if (attempt == 0 || attempt > WH_ATTEMPTS_MAX || ticket <= change->acknowledged)
		return 0;
	/* A proposal of a leader that some member has dropped meanwhile must not cost the memory of what may have been decided. */
	if (ticket != change->ticket && ticket != change->heeded && wh_suspicion_heeds(change) &&
	    is_memory_ready(change))
		follow_proposal(change, lead, attempt);
	if (ticket != change->ticket || !change->on.is_open(change->ctx) || !wh_suspicion_heeds(change))
		return 0;
	change->acknowledged = ticket;
	wh_sst_publish(change->sst, change->pushes, change->columns.acknowledged, ticket, change->heartbeat->peers);
	wh_pushes_post(change->pushes);
	wh_event(change->diag, "acknowledge", change->view->number, lead, attempt);
	wh_change_advance(change, WH_STAGE_ACKNOWLEDGED);
	return 1;
}

/* ---- preparing, while the view goes on -------------------------------------------------------------------------------------- */

static bool all_have_opened(const struct wh_change *change)
{
	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (wh_change_trusts(change, rank) &&
		    wh_row(change, rank, change->columns.acknowledged) != change->ticket)
			return false;
	return true;
}

bool wh_prepared(const struct wh_change *change)
{
	if (change->ticket != wh_ticket(wh_change_me(change), change->attempt) || !all_have_opened(change))
		return false; /* the last attempt, not one that it has replaced just now */
	for (uint32_t i = 0; i < change->coming_count; i++)
		if (arrival_of(change, i) != WH_ARRIVAL_THERE)
			return false;
	return wh_change_has_logs(change) && change->suspicion.quorum && wh_suspicion_heeds(change);
}

/* Which nodes want in, and which wishes are not met? Looked for when a node has come to me, and with my heartbeats. Where an attempt was
 * given up newcomers, which may never come, and bytes, which may never reach a member, come in attempts of their own. */
static size_t begin_attempt(struct wh_change *change)
{
	struct wh_newcomer newcomers[WH_NEWCOMERS_MAX];
	uint32_t most = change->one_at_a_time ? 1 : wh_newcomers_most(change->view), count;
	bool wishes = find_roles(change), renews = needs_renewal(change), due = wh_serve_is_due(change), rows_alone;
	uint64_t digest = 0;

	change->wanted = false; /* again with the next heartbeats */
	if (change->loop->now_ns < change->rests_until_ns || !change->suspicion.quorum || !wh_suspicion_heeds(change) ||
	    change->attempt >= WH_ATTEMPTS_MAX - ATTEMPTS_KEPT / 2)
		return 0;
	if (change->one_at_a_time && (wishes || renews)) /* members do not wait for newcomers that may never come */
		most = 0;
	rows_alone = most == 0;
	if (change->one_at_a_time && due && change->serves_next)
		most = 0;
	count = wh_join_requests_newcomers(change->requests, newcomers, most);
	change->may_serve = !change->one_at_a_time || (!rows_alone && count == 0);
	if (change->may_serve && (due || wishes || renews || count > 0))
		digest = serve_wishes(change, newcomers, count, renews, !wishes && !renews && count == 0);
	if (!wishes && count == 0 && !renews && digest == 0)
		return 0;
	publish_attempt(change, newcomers, count, renews, digest);
	change->serves_next = digest == 0;
	return 1;
}

/* It does not come to pass. */
static void give_up_attempt(struct wh_change *change)
{
	keep_roles(change);
	publish_attempt(change, NULL, 0, false, 0);
}

/* Another attempt, with these, takes its place. */
static void replace_attempt(struct wh_change *change, const struct wh_newcomer *newcomers, uint32_t count)
{
	bool wishes = find_roles(change), renews = needs_renewal(change);
	uint64_t digest = 0;

	if (change->may_serve)
		digest = serve_wishes(change, newcomers, count, renews, !wishes && !renews && count == 0);
	publish_attempt(change, newcomers, count, renews, digest);
}

/* Leaves out newcomers that do not come, or gives it all up. */
static size_t look_after(struct wh_change *change)
{
	uint64_t waited = change->loop->now_ns - change->attempted_ns, patience = change->heartbeat->timeout_ns;
	struct wh_newcomer still[WH_NEWCOMERS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < change->coming_count; i++) {
		enum wh_arrival arrival = arrival_of(change, i);

		if (arrival == WH_ARRIVAL_THERE || (arrival == WH_ARRIVAL_COMING && waited <= patience))
			still[count++] = change->coming[i];
	}
	if (waited > PREPARE_TIMEOUTS * patience) {
		give_up_attempt(change);
		change->one_at_a_time = true;
		return 1;
	}
	if (count == change->coming_count && !wh_change_finds_keeps(change) && !wh_serve_is_replaced(change))
		return 0;
	replace_attempt(change, still, count);
	return 1;
}

/* Opens it here; tells the nodes that are invited, and those that are not any more. A newcomer first hears what is refused. */
static size_t tell_invited(struct wh_change *change)
{
	uint64_t ticket = wh_ticket(wh_change_me(change), change->attempt);
	size_t work = wh_acknowledge_proposal(change);

	if (change->heeded != ticket)
		return work;
	if (change->ticket != 0 && !wh_serve_has_told_newcomers(change))
		return work + look_after(change);
	change->told = ticket;
	if (change->ticket != 0) {
		invite(change, wh_ticket_image(change), change->coming_count);
		return work + 1;
	}
	invite(change, 0, 0);
	if (changes_something(change)) { /* it cannot be opened here: the others need not keep it open */
		change->rests_until_ns = change->loop->now_ns + change->heartbeat->timeout_ns;
		give_up_attempt(change);
	}
	return work + 1;
}

static size_t prepare_as_leader(struct wh_change *change)
{
	size_t work = wh_acknowledge_proposal(change);

	return work + look_after(change);
}

static size_t prepare_to_lead(struct wh_change *change, uint32_t me)
{
	if (change->told != wh_ticket(me, change->attempt)) /* of the last attempt: also that it is given up */
		return tell_invited(change);
	if (change->ticket != 0)
		return prepare_as_leader(change);
	return (change->wanted || wh_serve_is_due(change)) && is_memory_ready(change) ? begin_attempt(change) : 0;
}

size_t wh_prepare(struct wh_change *change)
{
	uint32_t lead = wh_change_leader(change);
	size_t work;

	if (lead != wh_change_me(change))
		return wh_row(change, lead, change->columns.proposed) != 0 ? wh_acknowledge_proposal(change) : 0;
	work = prepare_to_lead(change, lead);
	return work + wh_serve_send(change);
}

bool wh_change_wish(struct wh_change *change, uint32_t subgroup, bool rests)
{
	uint64_t said = wh_row_of(change, wh_change_me(change), change->columns.wish, subgroup);

	if ((said % 2 == 1) == rests && said != 0)
		return false;
	wh_sst_publish_array(change->sst, change->pushes, change->columns.wish, subgroup,
			     said + (said % 2 == rests ? 2 : 1), change->heartbeat->peers);
	wh_pushes_post(change->pushes);
	change->wanted = true;
	return true;
}

bool wh_change_end(struct wh_change *change, uint32_t subgroup)
{
	if (wh_row_of(change, wh_change_me(change), change->columns.ended, subgroup) != 0)
		return false;
	wh_sst_publish_array(change->sst, change->pushes, change->columns.ended, subgroup, 1, change->heartbeat->peers);
	wh_pushes_post(change->pushes);
	change->wanted = true;
	return true;
}
