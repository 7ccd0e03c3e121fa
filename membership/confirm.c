/* confirm.c - see confirm.h. */
#include "membership/confirm.h"

#include "membership/change_int.h"

/* To see a question, to look whether I have wedged, and to say so is one step: it must not come between a wedge and its word. */
static size_t answer_questions(struct wh_change *change)
{
	size_t answers = 0;

	for (uint32_t i = 0; i < change->heartbeat->peers.count; i++) {
		const uint32_t *rank = &change->heartbeat->peers.ranks[i];
		uint64_t asked = wh_sst_observe(change->sst, *rank, change->columns.asked);

		if (__builtin_expect(asked == change->confirming.seen[*rank], 1))
			continue;
		change->confirming.seen[*rank] = asked;
		wh_sst_publish_array(change->sst, change->pushes, change->columns.confirmed, *rank, asked,
				     (struct wh_to){rank, 1});
		answers++;
	}
	if (answers > 0)
		wh_pushes_post(change->pushes);
	return answers;
}

/* Has that member confirmed my last question? A later one than I have asked is what no member can confirm. */
static bool has_confirmed(const struct wh_change *change, uint32_t rank)
{
	uint64_t confirmed = wh_sst_observe_array(change->sst, rank, change->columns.confirmed, wh_change_me(change));

	if (confirmed > change->confirming.asked)
		wh_change_tell(change, WH_FACT_BROKEN, rank, "word confirms what was not asked");
	return confirmed == change->confirming.asked;
}

/* All voters of the view count, those that have left or are dead among them: such a member may have gone on without me before. */
static bool quorum_confirms(const struct wh_change *change)
{
	struct wh_quorum all = {.members = change->view->voters, .tie_breaker = change->tie_breaker};
	bool tie = (int)wh_change_me(change) == change->tie_breaker;
	uint32_t votes = 1;

	for (uint32_t i = 0; i < change->heartbeat->peers.count; i++) {
		uint32_t rank = change->heartbeat->peers.ranks[i];

		if (!has_confirmed(change, rank))
			continue;
		votes++;
		tie = tie || (int)rank == change->tie_breaker;
	}
	return wh_quorum_holds(&all, votes, tie);
}

static size_t count_answers(struct wh_change *change)
{
	if (change->confirming.held == change->confirming.asked || !quorum_confirms(change))
		return 0;
	change->confirming.held = change->confirming.asked;
	wh_event(change->diag, "confirmed", change->view->number, change->confirming.held, 0);
	return 1;
}

uint64_t wh_confirm_ask(struct wh_change *change)
{
	struct wh_confirming *c = &change->confirming;

	if (change->wedged || c->held != c->asked)
		return 0;
	c->asked++;
	wh_sst_publish(change->sst, change->pushes, change->columns.asked, c->asked, change->heartbeat->peers);
	wh_pushes_post(change->pushes);
	wh_event(change->diag, "ask", change->view->number, c->asked, 0);
	return c->asked;
}

size_t wh_confirm_step(struct wh_change *change)
{
	size_t work = change->wedged ? 0 : answer_questions(change);

	return work + count_answers(change);
}
