/* change_int.h - what suspicion.c, propose.c and change.c share. */
#ifndef WH_MEMBERSHIP_CHANGE_INT_H
#define WH_MEMBERSHIP_CHANGE_INT_H

#include "membership/change.h"

/* The layer above is told; it asks nothing of this view meanwhile but to suspect. `rank` and `why` as in wh_fact. */
void wh_change_tell(const struct wh_change *change, enum wh_fact_kind kind, uint32_t rank, const char *why);

/* Takes in heartbeats and what rows say; states what is new if a quorum is heard. Returns how much was new. */
size_t wh_suspicion_step(struct wh_change *change);

/* All that the members which I trust have said of others is in my row, none of them has said anything of me, and no dead member has
 * left me behind. To be
 * asked after what a step acts upon has been read: a member that goes along with a decision has then said of every member
 * what the maker of the decision says. */
bool wh_suspicion_heeds(const struct wh_change *change);

/* That member holds up the change. It is suspected if that leaves a quorum; otherwise it is forgotten: it may be held up itself
 * by what no member can help. */
void wh_suspicion_lags(struct wh_change *change, uint32_t rank);

/* The decision in that row can be mine: I have made or echoed it, or else I have acknowledged the memory of the view that it is
 * about, and it is about messages that it can be about. */
bool wh_change_fits(const struct wh_change *change, uint32_t rank);

/* Of each durable shard some member that goes on in it has a whole log; or none goes on (0058). */
bool wh_change_has_logs(const struct wh_change *change);

/* As leader: what is proposed leaves a durable shard to members of which none has a whole log, though others that go on have: in the attempts to
 * come nobody leaves it. True: that is new. */
bool wh_change_finds_keeps(struct wh_change *change);
/* As leader, of an attempt that leaves members out, when all others have wedged: of a durable dynamic subgroup none of these has a whole log. So that
 * the group need not wait for one that has they are put out of it, and it is dormant. True: it was not so before. */
bool wh_change_finds_outs(struct wh_change *change);

/* What this member waits for never comes: it goes on no more. */
void wh_suspicion_give_up(struct wh_change *change);

/* Do the members that I do not suspect make a quorum? */
bool wh_suspicion_trusted_quorum(const struct wh_change *change);

/* ---- propose.c ---- */

/* As leader, when a member is suspected: proposes a view without it. Returns how much it did. */
size_t wh_propose_without(struct wh_change *change);
/* Another, if that one would leave a durable shard without its log. Returns how much it did. */
size_t wh_propose_keeping(struct wh_change *change);
/* When no member is suspected and none has stopped: what leads to a next view, as leader and as follower. */
size_t wh_prepare(struct wh_change *change);
/* As leader: all have opened what I propose, all newcomers are there, and no log is waited for: the view goes on meanwhile. */
bool wh_prepared(const struct wh_change *change);
/* Opens what the leader proposes; says so in my row when it is open. */
size_t wh_acknowledge_proposal(struct wh_change *change);

/* ---- confirm.c ---- */

/* Confirms the questions of others, unless this member has wedged, and counts what they say to mine. Returns how much was new. */
size_t wh_confirm_step(struct wh_change *change);

/* ---- serve.c: nothing of it is done where no node wishes anything ---- */

/* Says what this node wishes to its leader, and in its row that it has. Returns how much it did. */
size_t wh_serve_step(struct wh_change *change);
/* As leader: is it time for a view that serves what has come? */
bool wh_serve_is_due(struct wh_change *change);
/* As leader: the digest of the view that follows by `next` in the next attempt, with what has come served; 0: nothing is, or, if there is no
 * other reason for a view (`alone`), that would change nothing. */
uint64_t wh_serve_compose(struct wh_change *change, const struct wh_next *next, bool alone);
/* As leader: a member has replaced a set that my last attempt serves. */
bool wh_serve_is_replaced(const struct wh_change *change);
/* As leader: may the newcomers be invited? Each has been told which of its wishes are refused. */
bool wh_serve_has_told_newcomers(const struct wh_change *change);
/* As leader: sends what is to be sent. */
size_t wh_serve_send(struct wh_change *change);
/* Of the last attempt, which is of that digest. 0: it serves no wishes, and what an earlier one said is not sent any more. While one with wishes is
 * under way this node says no new set. */
void wh_serve_note(struct wh_change *change, uint32_t leader, uint64_t digest);
/* The view that the leader has sent for the attempt of that key. As wh_serving_take. */
enum whorl_result wh_serve_take(struct wh_change *change, struct wh_view **out, uint32_t leader, uint64_t key,
				uint64_t digest);
/* Does it succeed this view, which `next` is made of? WHORL_OK; WHORL_AGAIN: another is coming; WHORL_MEMORY; WHORL_INVALID:
 * *why, which is set only then. */
enum whorl_result wh_serve_check(struct wh_change *change, const struct wh_view *view, const struct wh_next *next,
				 const char **why);

/* The last of the `words` of the record of that attempt: it tells whether the others are that attempt's, and all of them. */
uint64_t wh_proposal_seal(const uint64_t *record, uint64_t words, uint64_t attempt);

static inline uint64_t wh_ticket(uint32_t leader, uint64_t attempt)
{
	return (uint64_t)(leader + 1) << 16 | attempt;
}

/* The image of the proposal that is open. */
static inline uint64_t wh_ticket_image(const struct wh_change *change)
{
	return wh_image_key(change->view->number, (uint32_t)(change->ticket >> 16) - 1,
			    change->ticket & WH_ATTEMPTS_MAX);
}

/* ---- looking ---- */

static inline uint32_t wh_change_me(const struct wh_change *change)
{
	return change->sst->image->my_rank;
}

/* Its row may be read: it is trusted, or it left in order, or is dead, and the row is final. */
static inline bool wh_change_reads(const struct wh_change *change, uint32_t rank)
{
	return change->suspicion.said[rank] != WH_FAILED;
}

static inline uint64_t wh_row(const struct wh_change *change, uint32_t rank, struct wh_counter_col column)
{
	return rank == wh_change_me(change) ? wh_sst_mine(change->sst, column)
					    : wh_sst_observe(change->sst, rank, column);
}

static inline uint64_t wh_row_of(const struct wh_change *change, uint32_t rank, struct wh_array_col column,
				 uint32_t index)
{
	return wh_row(change, rank, (struct wh_counter_col){column.offset + 8 * index});
}

static inline bool wh_row_flag(const struct wh_change *change, uint32_t rank, struct wh_flag_col column)
{
	return wh_row(change, rank, (struct wh_counter_col){column.offset}) != 0;
}

/* The lowest rank that I do not suspect; me at the latest. */
static inline uint32_t wh_change_leader(const struct wh_change *change)
{
	uint32_t rank = 0;

	while (!wh_change_trusts(change, rank))
		rank++;
	return rank;
}

static inline void wh_change_advance(struct wh_change *change, int stage)
{
	if (change->stage_ns[stage] == 0 && change->began_ns != 0)
		change->stage_ns[stage] = wh_env_now(change->diag->env) - change->began_ns;
}

#endif
