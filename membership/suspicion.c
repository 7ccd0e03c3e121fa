/* suspicion.c - which members are suspected, and which may say so (docs/decisions/0014; Derecho §4.3, without its rash ones).
 *
 * Three sources: heartbeats that are overdue, what the transport reports, and the rows of members that are not suspected
 * themselves. What they say is *wanted* here; it is *said*, in my own row, only while I hear a quorum afresh without those
 * it is said of. A member that was stopped for a while and wakes would otherwise suspect all others, and by gossip end the
 * group. Until then nothing is said, and the node tells its callers that there is no quorum. What heartbeats and rows show is
 * not remembered: a member that is heard again is not overdue. What is said is never taken back.
 *
 * On one host there is a fourth source, which is no guess: the kernel says that the process of a member has ended (0039). A
 * dead member is not counted, and its row, which is final, is read: what it decided may have been acted upon. What it says
 * of others counts for nothing, but for one thing (find_left_behind). *Dead* is said at the beginning of a pass, as other words are:
 * no step looks before it and acts behind it.
 */
#include <string.h>

#include "membership/change_int.h"

static uint32_t member_count(const struct wh_change *change)
{
	return change->view->members;
}

/* Counts votes. A member that left is not counted, nor is one that is dead: neither will ever take a step again. Without a configured node there is no quorum (0032). */
struct poll {
	struct wh_quorum quorum;
	uint32_t votes;
	bool tie, home;
};

static struct poll open_poll(const struct wh_change *change)
{
	return (struct poll){.quorum = {.members = change->view->voters, .tie_breaker = change->tie_breaker}};
}

static void cast_vote(struct poll *poll, const struct wh_change *change, uint32_t rank, uint64_t kind, bool votes)
{
	poll->votes += votes;
	poll->tie = poll->tie || (votes && (int)rank == change->tie_breaker);
	poll->home = poll->home || (votes && change->view->ids[rank] < change->home);
	poll->quorum.members -= kind == WH_LEFT || kind == WH_DEAD;
}

static bool has_quorum(const struct poll *poll)
{
	return poll->home && wh_quorum_holds(&poll->quorum, poll->votes, poll->tie);
}

bool wh_suspicion_trusted_quorum(const struct wh_change *change)
{
	struct poll poll = open_poll(change);

	for (uint32_t rank = 0; rank < member_count(change); rank++)
		cast_vote(&poll, change, rank, change->suspicion.said[rank], wh_change_trusts(change, rank));
	return has_quorum(&poll);
}

/* It will say nothing more in this view, its heartbeats are in the next. What becomes of it is that view's matter: here nothing new
 * is said of it, whichever member accuses it. */
static bool has_gone_ahead(const struct wh_change *change, uint32_t rank)
{
	return rank != wh_change_me(change) && wh_sst_observe_flag(change->sst, rank, change->columns.installed);
}

/* Those that are heard and nothing is to be said of, me among them. `if_proved`: were those dead of which the connection has ended. */
static bool hears_quorum(const struct wh_change *change, bool if_proved)
{
	struct poll poll = open_poll(change);

	for (uint32_t rank = 0; rank < member_count(change); rank++) {
		bool ended = if_proved && change->suspicion.known[rank] == WH_FAILED;
		uint64_t kind = ended ? WH_DEAD : change->suspicion.wanted[rank];
		bool heard = rank == wh_change_me(change) || wh_heartbeat_hears(change->heartbeat, rank) ||
			     has_gone_ahead(change, rank);

		cast_vote(&poll, change, rank, kind, kind == WH_TRUSTED && heard);
	}
	return has_quorum(&poll);
}

/* The suspicion goes to all others, to the suspect too, and is the last push to it: then it is frozen. Nothing of its row is
 * read in between. The row of one that is dead is not frozen, or not any more (may_be_read). */
static void say_suspicion(struct wh_change *change, uint32_t rank, uint64_t kind)
{
	struct wh_suspicion *s = &change->suspicion;
	const char *why = s->why[rank] != NULL ? s->why[rank]
			  : wh_heartbeat_overdue(change->heartbeat, rank)
				  ? "it has not been heard for the failure time-out"
			  : wh_heartbeat_is_deaf(change->heartbeat, rank) ? "it hears nobody"
									  : "others suspect it";

	s->said[rank] = kind;
	s->count++;
	wh_sst_publish_array(change->sst, change->pushes, change->columns.suspected, rank, kind,
			     change->heartbeat->peers);
	wh_sst_publish(change->sst, change->pushes, change->columns.suspicions, s->count, change->heartbeat->peers);
	wh_pushes_post(change->pushes);
	if (kind == WH_FAILED)
		change->sst->image->ops->freeze(change->sst->image, rank);
	wh_event(change->diag, "suspect", rank, kind, s->count);
	wh_change_tell(change, WH_FACT_SUSPECTED, rank, why);
}

/* Without a quorum a proof is said all the same: it is no guess, and of members that lack different proofs each may need those of the
 * others to have a quorum. */
static size_t say_wanted(struct wh_change *change, bool heard)
{
	struct wh_suspicion *s = &change->suspicion;
	size_t news = 0;

	for (uint32_t rank = 0; rank < member_count(change); rank++) {
		if (s->wanted[rank] == s->said[rank] || (!heard && s->wanted[rank] != WH_DEAD))
			continue;
		say_suspicion(change, rank, s->wanted[rank]);
		news++;
	}
	return news;
}

/* There are proofs of death, here and in the rows of others. */
static bool has_proofs(const struct wh_change *change)
{
	return change->sst->image->ops->thaw != NULL;
}

/* The connection of a process that was killed ends first, and the proof comes behind it, when the kernel has taken its memory apart. If
 * that is all that is missing callers need not hear of it. It is waited for no longer than for heartbeats. */
static bool awaits_proof(const struct wh_change *change)
{
	return has_proofs(change) && hears_quorum(change, true) &&
	       change->loop->now_ns - change->suspicion.unheard_ns <= change->heartbeat->timeout_ns;
}

static void tell_quorum(struct wh_change *change, bool heard)
{
	struct wh_suspicion *s = &change->suspicion;

	if (s->quorum != heard) {
		s->quorum = heard;
		s->unheard_ns = change->loop->now_ns;
		change->heartbeat->deaf = !heard;
		wh_event(change->diag, heard ? "quorum" : "no quorum", change->view->number, 0, 0);
	}
	if (heard ? !s->unheard_told : s->unheard_told || awaits_proof(change))
		return;
	s->unheard_told = !heard;
	wh_change_tell(change, heard ? WH_FACT_HEARD : WH_FACT_UNHEARD, 0, NULL);
}

/* A member that leaves while its row says that another has failed counts as failed itself: its row is complete, so all see the
 * same, and no member has to heed the suspicions of one that is not there to be asked. That another is dead is no suspicion: it will
 * be found in the rows of others, or not be needed. */
static bool has_suspects(const struct wh_change *change, uint32_t rank)
{
	for (uint32_t other = 0; other < member_count(change); other++)
		if (wh_sst_observe_array(change->sst, rank, change->columns.suspected, other) == WH_FAILED)
			return true;
	return false;
}

void wh_change_suspect(struct wh_change *change, uint32_t rank, enum wh_suspected kind, const char *why)
{
	struct wh_suspicion *s = &change->suspicion;

	s->left[rank] = s->left[rank] || kind == WH_LEFT;
	if (kind == WH_LEFT && has_suspects(change, rank))
		kind = WH_FAILED;
	if ((uint64_t)kind <= s->known[rank])
		return;
	if (kind == WH_DEAD && s->known[rank] == WH_LEFT && s->said[rank] < WH_FAILED)
		return; /* a process ends some time after its node has left in order */
	s->news = true;
	s->known[rank] = kind;
	s->why[rank] = why;
}

void wh_suspicion_lags(struct wh_change *change, uint32_t rank)
{
	change->suspicion.lags[rank] = change->suspicion.any_lags = true;
	change->suspicion.why[rank] = "it does not follow the change of view";
	change->suspicion.news = true;
}

void wh_change_inherit(struct wh_change *change, uint32_t rank, const struct wh_change *before, uint32_t before_rank)
{
	const struct wh_suspicion *was = &before->suspicion;
	uint64_t kind =
		was->known[before_rank] > was->said[before_rank] ? was->known[before_rank] : was->said[before_rank];

	/* Which members it accused before it left is the matter of the view that this was in: of members that left after a
	 * change the others may hear when they are still in it. But a member that my row said to have failed may be frozen in
	 * both. */
	if (was->left[before_rank] && was->said[before_rank] < WH_FAILED)
		kind = WH_LEFT;
	if (kind != WH_TRUSTED)
		wh_change_suspect(change, rank, (enum wh_suspected)kind, was->why[before_rank]);
}

static bool is_spared(const struct wh_change *change, uint32_t rank)
{
	return change->suspicion.said[rank] == WH_TRUSTED && has_gone_ahead(change, rank);
}

/* Is `from` to be asked, and does its row say that `of` has failed? Of me anything is an accusation; all hear from the
 * transport that another member left, behind that member's last words: others may know it before these have come here. */
static bool has_accused(const struct wh_change *change, uint32_t from, uint32_t of)
{
	const uint64_t *wanted = change->suspicion.wanted;
	uint64_t kind;

	if (wanted[from] != WH_TRUSTED || wanted[of] != WH_TRUSTED || from == of || from == wh_change_me(change) ||
	    is_spared(change, of))
		return false;
	kind = wh_sst_observe_array(change->sst, from, change->columns.suspected, of);
	return of == wh_change_me(change) ? kind != WH_TRUSTED : kind >= WH_FAILED;
}

/* The member by which I am accused. */
static uint32_t find_accuser(const struct wh_change *change)
{
	uint32_t me = wh_change_me(change);

	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (has_accused(change, rank, me))
			return rank;
	return me;
}

/* A dead member, by `kinds`, has agreed to a decision that I cannot follow, and its row accuses me: it may have gone on without me,
 * and have delivered, before its row said that it had installed. -1: there is none. Otherwise what the dead have said of others counts
 * for nothing: a last survivor that a dead member had accused, because it was stopped a while ago, would be removed, and the group
 * would end though its state was there. And a decision by a member that did not accuse me has waited for my word in vain. */
static int find_left_behind(const struct wh_change *change, const uint64_t *kinds)
{
	uint32_t me = wh_change_me(change);

	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (kinds[rank] == WH_DEAD && wh_row(change, rank, change->columns.agreed) != 0 &&
		    wh_row_of(change, rank, change->columns.suspected, me) != WH_TRUSTED &&
		    !wh_change_fits(change, rank))
			return (int)rank;
	return -1;
}

/* The others go on without me, or have. */
static void be_removed(struct wh_change *change, uint32_t by)
{
	change->removed = true;
	wh_event(change->diag, "removed", by, 0, 0);
	wh_change_tell(change, WH_FACT_REMOVED, by, NULL);
}

/* The member that most others accuse; of several the one that accuses most itself; of several the youngest. Or, with `least`, the
 * other way round. -1: no member is accused. */
static int choose_accused(const struct wh_change *change, bool least)
{
	uint32_t chosen = 0;
	int worst = -1;

	for (uint32_t rank = 0; rank < member_count(change); rank++) {
		uint32_t by = 0, of = 0, weight;

		for (uint32_t other = 0; other < member_count(change); other++)
			by += has_accused(change, other, rank);
		for (uint32_t other = 0; by > 0 && other < member_count(change); other++)
			of += has_accused(change, rank, other);
		weight = by * (WH_NODES_MAX + 1) + of;
		if (by > 0 && (worst < 0 || (least ? weight < chosen : weight >= chosen))) {
			chosen = weight;
			worst = (int)rank;
		}
	}
	return worst;
}

/* The row of `from` says that another member is dead. */
static void hear_of_death(struct wh_change *change, uint32_t from, uint32_t of)
{
	if (has_proofs(change))
		wh_change_suspect(change, of, WH_DEAD, "another member has proof that it is dead");
	else
		wh_change_tell(change, WH_FACT_BROKEN, from, "row says what cannot be known");
}

/* That a member is dead is known from a proof of my own, or from the row of one that I trust: both look at the same memory, and not all
 * may have a proof. Where there are none a row that says so makes no sense. (That a member left is not taken from rows: its last words
 * may not have come here. On networks nothing of this kind is: there it made two views.) */
static void hear_of_the_dead(struct wh_change *change)
{
	uint32_t me = wh_change_me(change);

	for (uint32_t from = 0; from < member_count(change); from++) {
		if (from == me || !wh_change_trusts(change, from) ||
		    wh_sst_observe(change->sst, from, change->columns.suspicions) == 0)
			continue;
		for (uint32_t of = 0; of < member_count(change); of++)
			if (of != me &&
			    wh_sst_observe_array(change->sst, from, change->columns.suspected, of) >= WH_DEAD)
				hear_of_death(change, from, of);
	}
}

/* Notes how far the rows that are asked have been looked at. True: one of them says something. */
static bool look_at_rows(struct wh_change *change)
{
	struct wh_suspicion *s = &change->suspicion;
	bool says = false;

	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (s->wanted[rank] == WH_TRUSTED && rank != wh_change_me(change)) {
			s->seen[rank] = wh_sst_observe(change->sst, rank, change->columns.suspicions);
			says = says || s->seen[rank] != 0;
		}
	return says;
}

/* The row of a dead member, which may be frozen: it is final now, and read again. What it holds may be a decision that others have
 * acted upon, so it is looked at after the proof and before the quorum that leaves its owner out. If it was never there its owner
 * remains one that has failed, and counts. */
static bool may_be_read(const struct wh_change *change, uint32_t rank)
{
	struct wh_image *image = change->sst->image;

	return image->ops->thaw != NULL && image->ops->thaw(image, rank);
}

/* What was said, and what the transport has said since: it stays so. */
static uint64_t final_at_first_hand(const struct wh_change *change, uint32_t rank)
{
	const struct wh_suspicion *s = &change->suspicion;

	if (is_spared(change, rank))
		return WH_TRUSTED;
	return s->known[rank] > s->said[rank] ? s->known[rank] : s->said[rank];
}

static uint64_t wanted_at_first_hand(const struct wh_change *change, uint32_t rank)
{
	const struct wh_suspicion *s = &change->suspicion;

	if (is_spared(change, rank))
		return WH_TRUSTED;
	if (s->known[rank] > s->said[rank])
		return s->known[rank] == WH_DEAD && !may_be_read(change, rank) ? WH_FAILED : s->known[rank];
	if (s->said[rank] == WH_TRUSTED && (s->lags[rank] || wh_heartbeat_overdue(change->heartbeat, rank) ||
					    (s->suspect_no_quorum && wh_heartbeat_is_deaf(change->heartbeat, rank))))
		return WH_FAILED;
	return s->said[rank];
}

/* What is to be said: what was said, what is known at first hand, which members are overdue; then what the rows of all others say.
 * A member that is to be suspected is not asked: of two that accuse each other one stays, and the word of one that accused another
 * and then was cut off itself counts for nothing, unless it was said here before. In the end no member that is left accuses
 * another that is left. True: some of it has not been said. */
static bool find_wanted(struct wh_change *change, bool least)
{
	struct wh_suspicion *s = &change->suspicion;
	int worst, by;

	for (uint32_t rank = 0; rank < member_count(change); rank++)
		s->wanted[rank] = wanted_at_first_hand(change, rank);
	by = find_left_behind(change, s->wanted);
	if (by >= 0) {
		be_removed(change, (uint32_t)by);
		return false;
	}
	while (look_at_rows(change) && (worst = choose_accused(change, least)) >= 0) {
		if ((uint32_t)worst == wh_change_me(change)) {
			be_removed(change, find_accuser(change));
			return false;
		}
		s->wanted[worst] = WH_FAILED;
	}
	return memcmp(s->wanted, s->said, member_count(change) * sizeof(*s->said)) != 0;
}

static bool is_news_in_rows(const struct wh_change *change)
{
	const struct wh_suspicion *s = &change->suspicion;

	for (uint32_t rank = 0; rank < member_count(change); rank++)
		if (s->said[rank] == WH_TRUSTED && rank != wh_change_me(change) &&
		    wh_sst_observe(change->sst, rank, change->columns.suspicions) != s->seen[rank])
			return true;
	return false;
}

/* What the row of `from` says of `of` mine says too, or need not. */
static bool is_heeded(const struct wh_change *change, uint32_t from, uint32_t of)
{
	uint64_t kind = wh_sst_observe_array(change->sst, from, change->columns.suspected, of);

	if (of == wh_change_me(change))
		return kind == WH_TRUSTED;
	return kind < WH_FAILED || !wh_change_trusts(change, of) || has_gone_ahead(change, of);
}

bool wh_suspicion_heeds(const struct wh_change *change)
{
	for (uint32_t from = 0; from < member_count(change); from++)
		for (uint32_t of = 0; wh_change_trusts(change, from) && of < member_count(change); of++)
			if (!is_heeded(change, from, of))
				return false;
	return find_left_behind(change, change->suspicion.said) < 0;
}

/* Where nothing is to be said those that are trusted were a quorum when the last was said, unless that was a proof. */
static bool finds_a_way(struct wh_change *change, bool least)
{
	return find_wanted(change, least) ? hears_quorum(change, false)
					  : change->removed || wh_suspicion_trusted_quorum(change);
}

/* Finds what is to be said. True: it may be. Of members that accuse each other those go that a quorum can do without; and a
 * deaf member goes if it is not needed for one: when all are, it was the network, and they will hear each other. */
static bool weigh_suspicions(struct wh_change *change)
{
	change->suspicion.suspect_no_quorum = true;
	if (finds_a_way(change, false) || finds_a_way(change, true))
		return true;
	change->suspicion.suspect_no_quorum = false;
	return finds_a_way(change, false) || finds_a_way(change, true);
}

/* ---- giving up (0051) ------------------------------------------------------------------------------------------------------ */

/* Pairs of members of which one accuses the other, none in two pairs: of each at least one will not go on, as that stays said. Those that
 * are in one count no more. */
static uint32_t count_quarrels(const struct wh_change *change)
{
	uint64_t *wanted = change->suspicion.wanted;
	uint32_t pairs = 0;

	for (uint32_t from = 0; from < member_count(change); from++)
		for (uint32_t of = 0; of < member_count(change); of++)
			if (has_accused(change, from, of)) {
				wanted[from] = wanted[of] = WH_FAILED;
				pairs++;
			}
	return pairs;
}

/* If all were heard again that have not been lost for good: could some of them be a quorum, or say that this node is removed? At most:
 * what there is of one may be much less. */
static bool may_hear_quorum(struct wh_change *change)
{
	struct wh_suspicion *s = &change->suspicion;
	struct poll poll = open_poll(change);

	for (uint32_t rank = 0; rank < member_count(change); rank++) {
		s->wanted[rank] = final_at_first_hand(change, rank);
		cast_vote(&poll, change, rank, s->wanted[rank], s->wanted[rank] == WH_TRUSTED);
	}
	if (find_accuser(change) != wh_change_me(change))
		return true;
	poll.votes -= count_quarrels(change);
	return has_quorum(&poll);
}

/* No quorum is heard, and has not been for long. Where there are proofs of death one may come yet. True: none ever will be. */
static bool is_lost(struct wh_change *change)
{
	if (change->give_up_ns == 0 || has_proofs(change) ||
	    change->loop->now_ns - change->suspicion.unheard_ns <= change->give_up_ns)
		return false;
	if (!may_hear_quorum(change))
		return true;
	(void)weigh_suspicions(change); /* what is wanted now, and not in the end */
	return false;
}

void wh_suspicion_give_up(struct wh_change *change)
{
	change->removed = true;
	wh_event(change->diag, "lost", change->view->number, 0, 0);
	wh_change_tell(change, WH_FACT_CUT_OFF, 0, NULL);
}

size_t wh_suspicion_step(struct wh_change *change)
{
	struct wh_suspicion *s = &change->suspicion;
	bool looked = wh_heartbeat_step(change->heartbeat), heard;

	change->wanted = change->wanted || looked; /* wishes lie in rows: they are looked for now and then */
	if (!looked && !s->news && !is_news_in_rows(change))
		return 0;
	hear_of_the_dead(change);
	s->news = false; /* what cannot be said yet is looked at again after the next heartbeats */
	heard = weigh_suspicions(change);
	if (s->any_lags) { /* for once only */
		memset(s->lags, 0, member_count(change) * sizeof(*s->lags));
		s->any_lags = false;
		heard = heard || weigh_suspicions(change);
	}
	if (heard && !s->quorum && !s->deadlines_extended && !change->removed) {
		/* Of many that were cut off or stood still the first comes back: the others may be just behind. Only once, for
		 * without those that are overdue it may be that a quorum is heard, and with them, and what they say, none. */
		wh_heartbeat_forgive(change->heartbeat);
		s->deadlines_extended = true;
		heard = weigh_suspicions(change);
	}
	if (change->removed)
		return 1;
	s->deadlines_extended = s->deadlines_extended && !heard;
	tell_quorum(change, heard);
	if (!heard && is_lost(change)) {
		wh_suspicion_give_up(change);
		return 1;
	}
	return say_wanted(change, heard);
}
