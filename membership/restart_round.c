/* restart_round.c - the round of a restart, at the node that coordinates it: see restart.h. */
#include <stdio.h>
#include <stdlib.h>

#include "membership/restart_int.h"

static void forget_disk(struct wh_heard_disk *heard)
{
	heard->is_heard = heard->votes = heard->agreed = heard->lends = false;
	wh_report_free(&heard->report);
	wh_restart_drop_bytes(&heard->agreement);
}

void wh_round_forget(struct wh_restart *restart)
{
	struct wh_round *round = &restart->round;
	struct wh_view *next = round->next;

	round->phase = WH_ROUND_NONE;
	round->ballot = 0;
	round->next = NULL;
	wh_view_free(next);
	for (uint32_t node = 0; node < restart->nodes && round->heard != NULL && round->asked != NULL; node++) {
		forget_disk(&round->heard[node]);
		round->asked[node] = (struct wh_asked_node){.incarnation = 0};
	}
	restart->waits[0] = '\0';
	restart->missing.count = 0;
	restart->missing.view = 0;
}

/* A member that hears a quorum is there: the group goes on, or does again. */
static bool has_met_members(const struct wh_join *join)
{
	int member = wh_join_member(join);

	return member >= 0 && join->roster->known_nodes[member].quorum;
}

/* Does that other node take part, as far as this one knows? */
static bool is_participant(const struct wh_join *join, uint32_t node)
{
	const struct wh_known_node *known = &join->roster->known_nodes[node];

	return node != join->roster->id && known->incarnation != 0 && known->introduced && known->differs == NULL &&
	       known->standing != WH_MEMBER_OF && known->disk != WH_DISK_BLANK &&
	       known->group == wh_restart_group(join->restart);
}

/* ---- the coordinator: asking ------------------------------------------------------------------------------------------ */

/* This node's round, if it still is that: no disk of its own has promised more. */
static bool is_current(const struct wh_restart *restart)
{
	const struct wh_voice *own = &restart->voices[0];

	return restart->round.phase != WH_ROUND_NONE && own->follows == restart->round.ballot && own->asked == 0;
}

/* Nodes that have been told of what came to nothing are told so; not when it may have begun: this node need not be a member. */
void wh_round_end(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;

	if (restart->round.invited && restart->round.phase == WH_ROUND_BEGINS && join->state != WH_JOIN_IN)
		wh_join_requests_settle(join->requests, restart->round.next);
	else if (restart->round.invited && join->state != WH_JOIN_IN)
		(void)wh_join_requests_invite(join->requests, NULL, 0, false);
	restart->round.invited = false;
	wh_round_forget(restart);
}

static uint64_t random_below(const struct wh_join *join, uint64_t ns)
{
	const struct wh_env *env = join->roster->diag->env;

	return ns > 0 ? env->random_u64(env->ctx) % ns : 0;
}

/* A greater one than all that were heard of. */
static uint64_t draw_ballot(const struct wh_join *join)
{
	const struct wh_restart *restart = join->restart;
	uint64_t highest = WH_NODES_MAX;

	highest = restart->highest > highest ? restart->highest : highest;
	highest = join->floor > highest ? join->floor : highest;
	for (uint32_t i = 0; i < restart->voice_count; i++) {
		uint64_t floor = wh_restart_floor_of(wh_restart_standing(restart, restart->voices[i].disk));

		highest = floor > highest ? floor : highest;
	}
	for (uint32_t node = 0; node < restart->nodes; node++) {
		const struct wh_known_node *known = &join->roster->known_nodes[node];

		if (known->introduced && known->standing != WH_MEMBER_OF && known->key > highest)
			highest = known->key;
	}
	return ((highest >> 8) + 1) << 8 | join->roster->id;
}

static size_t begin_round(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	struct wh_round *round = &restart->round;
	uint64_t now = join->roster->loop->now_ns;

	wh_round_end(join);
	round->ballot = draw_ballot(join);
	if (!wh_is_first_view(round->ballot)) {
		wh_join_tell_refused(
			join, "so many rounds of a restart have come to nothing that there are no ballots for more");
		return 0;
	}
	round->phase = WH_ROUND_ASKS;
	round->known = wh_restart_standing(restart, restart->voices[0].disk)->number;
	round->known = restart->known > round->known ? restart->known : round->known;
	round->asked_ns = now;
	round->until_ns = now + join->start_timeout_ns + random_below(join, join->start_timeout_ns);
	round->news = true;
	round->refused = round->lacks_log = false;
	for (uint32_t i = 0; i < restart->voice_count; i++)
		wh_voice_ask(join, &restart->voices[i], join->roster->id, round->ballot);
	wh_event(join->roster->diag, "asks", round->ballot, 0, 0);
	return 1;
}

/* It came to nothing. Two that ask against each other must not do so for ever. */
static size_t ask_anew(struct wh_join *join, const char *why)
{
	struct wh_restart *restart = join->restart;
	uint64_t patience = join->start_timeout_ns / 8 << (restart->failures < 4 ? restart->failures : 4);

	if (wh_restart_has_begun(join))
		return 0;
	wh_event(join->roster->diag, why, restart->round.ballot, 0, 0);
	if (wh_restart_follows_round(join) && join->by == join->roster->id)
		wh_join_drop(join, why);
	wh_round_end(join);
	restart->again_ns = join->roster->loop->now_ns + random_below(join, patience);
	restart->failures++;
	return 1;
}

/* Those that take part and have not been asked in this life. */
static size_t send_asks(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	size_t work = 0;

	for (uint32_t node = 0; node < join->restart->nodes; node++) {
		uint64_t incarnation = join->roster->known_nodes[node].incarnation;

		if (!is_participant(join, node) || round->asked[node].incarnation == incarnation ||
		    !wh_restart_send(join, node, WH_WIRE_ASK, round->ballot, 0))
			continue;
		round->asked[node] =
			(struct wh_asked_node){.incarnation = incarnation, .ns = join->roster->loop->now_ns};
		work++;
	}
	return work;
}

void wh_round_hear_report(struct wh_join *join, uint32_t node, const unsigned char *bytes, size_t count)
{
	struct wh_round *round = &join->restart->round;
	struct wh_report report;
	struct wh_heard_disk *heard;
	struct wh_error err;

	if (round->phase != WH_ROUND_ASKS)
		return;
	if (wh_report_decode(&report, bytes, count, join->layout, join->roster->nodes, &err) != WHORL_OK) {
		wh_log(join->roster->diag, WH_LOG_WARNING, "what node %u says of its disk is not heard: %s", node,
		       err.text);
		return;
	}
	heard = &round->heard[report.disk];
	forget_disk(heard);
	*heard = (struct wh_heard_disk){.is_heard = true,
					.by = node,
					.incarnation = node == join->roster->id
							       ? join->roster->incarnation
							       : join->roster->known_nodes[node].incarnation,
					.report = report};
	round->news = true;
}

static bool is_lost(const struct wh_join *join, const struct wh_heard_disk *heard)
{
	return !wh_roster_has(join->roster, heard->by, heard->incarnation);
}

/* What was heard of a disk counts as long as the node that spoke for it is there. True: one is lost that had been counted on. */
static bool forget_lost(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	bool any = false;

	for (uint32_t disk = 0; disk < join->restart->nodes; disk++) {
		struct wh_heard_disk *heard = &round->heard[disk];

		if (!heard->is_heard || !is_lost(join, heard))
			continue;
		any = any || heard->votes;
		forget_disk(heard);
		round->news = true;
	}
	return any;
}

/* ---- the coordinator: deciding ---------------------------------------------------------------------------------------- */

/* Until then it waits for disks that it could do without: those that have not come, and those that have been asked and not answered. */
static uint64_t patience_of(const struct wh_join *join, bool all_heard)
{
	const struct wh_round *round = &join->restart->round;
	uint64_t until = 0;

	if (all_heard)
		return 0;
	until = join->began_ns + join->start_timeout_ns;
	for (uint32_t node = 0; node < join->restart->nodes; node++) {
		uint64_t asked_ns = round->asked[node].incarnation != 0 ? round->asked[node].ns : round->asked_ns;

		if (is_participant(join, node) && !round->heard[node].is_heard &&
		    asked_ns + join->start_timeout_ns > until)
			until = asked_ns + join->start_timeout_ns;
	}
	return until;
}

/* On one host: no process may be a member that is silent, and no directory may be left that has not been read. */
static bool knows_host(struct wh_join *join)
{
	const struct wh_restart *restart = join->restart;
	bool heard[WH_NODES_MAX] = {false};

	if (!wh_form_knows_all(join))
		return false;
	for (uint32_t disk = 0; disk < restart->nodes; disk++)
		heard[disk] = restart->round.heard[disk].is_heard;
	return wh_restart_has_heard_all(restart, heard);
}

/* In what was decided that disk has a whole log of some shard. */
static bool lends(const struct wh_restart *restart, const struct wh_view *next, uint32_t disk)
{
	int rank = next != NULL ? wh_view_rank(next, disk) : -1;

	for (uint32_t g = 0; rank >= 0 && g < next->subgroup_count; g++) {
		const struct wh_view_subgroup *shard = &next->subgroups[g];

		if (wh_restart_is_durable(restart, shard) &&
		    wh_rank_is_in(shard->members, shard->member_count, (uint32_t)rank) &&
		    !wh_rank_is_in(shard->entered, shard->entered_count, (uint32_t)rank))
			return true;
	}
	return false;
}

/* Each voter is asked for its disk. False: no memory. */
static bool write_agreements(struct wh_join *join, struct wh_finding *finding)
{
	struct wh_round *round = &join->restart->round;

	for (uint32_t disk = 0; disk < join->restart->nodes; disk++) {
		struct wh_heard_disk *heard = &round->heard[disk];
		size_t bytes;

		heard->votes = finding->votes[disk];
		heard->lends = heard->votes && lends(join->restart, finding->made, disk);
		if (!heard->votes)
			continue;
		finding->agreement.disk = disk;
		if (wh_agreement_encode(&heard->agreement, &bytes, &finding->agreement) != WHORL_OK)
			return false;
		heard->bytes = (uint32_t)bytes;
		heard->sent = 0;
	}
	return true;
}

static size_t follow_finding(struct wh_join *join, struct wh_finding *finding)
{
	struct wh_round *round = &join->restart->round;
	uint64_t now = join->roster->loop->now_ns;

	if (!write_agreements(join, finding))
		return ask_anew(join, "no memory");
	round->phase = WH_ROUND_AGREES;
	round->taken_up = finding->verdict == WH_VERDICT_TAKES_UP;
	round->next = finding->made;
	finding->made = NULL;
	round->until_ns = now + join->start_timeout_ns + random_below(join, join->start_timeout_ns);
	wh_event(join->roster->diag, round->taken_up ? "takes up" : "decides", round->ballot,
		 finding->agreement.base_view->number, 0);
	return 1;
}

/* Of what was heard. */
static size_t decide(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	struct wh_round *round = &restart->round;
	uint64_t incarnations[WH_NODES_MAX] = {0}, now = join->roster->loop->now_ns, until;
	struct wh_seekers seekers = {restart,       join->layout, wh_restart_group(restart),
				     round->ballot, round->known, incarnations};
	struct wh_finding finding;
	size_t work = 0;

	if (!round->news) {
		wh_loop_at(join->roster->loop, round->until_ns);
		return 0;
	}
	for (uint32_t disk = 0; disk < restart->nodes; disk++)
		if (round->heard[disk].is_heard && round->heard[disk].by == disk)
			incarnations[disk] = round->heard[disk].incarnation;
	if (wh_restart_find(&finding, &seekers) != WHORL_OK)
		return 0; /* no memory: in the next pass */
	restart->known = finding.number > restart->known ? finding.number : restart->known;
	if (finding.stale) {
		wh_finding_free(&finding);
		return begin_round(join);
	}
	snprintf(restart->waits, sizeof(restart->waits), "%s", finding.why);
	restart->missing = finding.missing;
	round->lacks_log = finding.lacks_log;
	until = patience_of(join, finding.all_heard);
	round->news = finding.verdict != WH_VERDICT_WAITS; /* it may be time later */
	if (finding.verdict != WH_VERDICT_WAITS && now >= until && knows_host(join))
		work = follow_finding(join, &finding);
	else if (finding.verdict != WH_VERDICT_WAITS)
		wh_loop_at(join->roster->loop, until > now ? until : now + WH_NS_PER_MS);
	wh_finding_free(&finding);
	return work;
}

/* Some that was asked is there and has not answered: what it has promised to another may have been lost on the way. */
static bool is_unanswered(const struct wh_join *join)
{
	const struct wh_round *round = &join->restart->round;

	for (uint32_t node = 0; node < join->restart->nodes; node++)
		if (is_participant(join, node) && round->asked[node].incarnation != 0 && !round->heard[node].is_heard)
			return true;
	return false;
}

/* ---- the coordinator: all agree --------------------------------------------------------------------------------------- */

/* Else a quorum without them decides view after view, of which their disks know nothing, until no whole log counts any more. */
static bool have_lenders_agreed(const struct wh_restart *restart)
{
	for (uint32_t disk = 0; disk < restart->nodes; disk++)
		if (restart->round.heard[disk].lends && !restart->round.heard[disk].agreed)
			return false;
	return true;
}

/* Returns how many messages have gone. *all: nothing is left to be sent. */
static size_t send_agreements(struct wh_join *join, bool *all)
{
	struct wh_round *round = &join->restart->round;
	bool lent = have_lenders_agreed(join->restart);
	size_t work = 0;

	*all = true;
	for (uint32_t disk = 0; disk < join->restart->nodes; disk++) {
		struct wh_heard_disk *heard = &round->heard[disk];

		if (heard->agreement == NULL)
			continue;
		if (!lent && !heard->lends) {
			*all = false;
			continue;
		}
		if (heard->by == join->roster->id) {
			(void)wh_voice_take_agreement(join, heard->by, heard->agreement, heard->bytes);
			heard->sent = heard->bytes;
			work++;
		} else {
			work += wh_roster_send_pieces(join->roster, heard->by, WH_WIRE_AGREE, round->ballot,
						      heard->agreement, heard->bytes, &heard->sent);
		}
		if (heard->sent == heard->bytes)
			wh_restart_drop_bytes(&heard->agreement);
		else
			*all = false;
	}
	return work;
}

/* The members of what was decided are invited, this node too if it is one. Returns how much it did. */
static size_t invite_members(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	unsigned char *bytes;
	struct wh_view *mine = NULL;
	struct wh_error err;
	size_t count;

	if (wh_view_rank_of(round->next, join->roster->id, join->roster->incarnation) >= 0) {
		if (wh_view_encode(&bytes, &count, round->next) != WHORL_OK)
			return 0;
		if (wh_view_decode(&mine, bytes, count, join->layout, join->roster->nodes, &err) != WHORL_OK)
			mine = NULL;
		free(bytes);
		if (mine == NULL)
			return 0;
	}
	if (wh_join_requests_invite(join->requests, round->next, round->ballot, false) != WHORL_OK) {
		wh_view_free(mine);
		return 0;
	}
	round->invited = true;
	if (mine != NULL)
		wh_join_follow(join, mine, round->ballot, join->roster->id);
	return 1;
}

void wh_round_hear_agreed(struct wh_join *join, uint32_t node, uint32_t disk, uint64_t ballot)
{
	struct wh_round *round = &join->restart->round;
	struct wh_heard_disk *heard = disk < join->restart->nodes ? &round->heard[disk] : NULL;

	if (heard != NULL && round->phase == WH_ROUND_AGREES && round->ballot == ballot && heard->votes &&
	    heard->by == node)
		heard->agreed = true;
}

static bool have_all_agreed(const struct wh_restart *restart)
{
	for (uint32_t disk = 0; disk < restart->nodes; disk++)
		if (restart->round.heard[disk].votes && !restart->round.heard[disk].agreed)
			return false;
	return true;
}

/* A member of what was decided is there no more: then it cannot begin. */
static bool lacks_members(const struct wh_join *join)
{
	const struct wh_view *next = join->restart->round.next;

	for (uint32_t rank = 0; next != NULL && rank < next->members; rank++)
		if (!wh_roster_has(join->roster, next->ids[rank], next->incarnations[rank]))
			return true;
	return false;
}

static size_t collect_agreements(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	struct wh_round *round = &restart->round;
	bool all;
	size_t work = send_agreements(join, &all);

	if (all && !round->taken_up && !round->invited)
		work += invite_members(join);
	if (!all || !have_all_agreed(restart))
		return work;
	restart->failures = 0;
	if (round->taken_up) /* it was decided, which is known now: what follows it? */
		return work + begin_round(join);
	if (!round->invited)
		return work;
	round->phase = WH_ROUND_BEGINS;
	round->until_ns =
		join->roster->loop->now_ns + join->start_timeout_ns + random_below(join, join->start_timeout_ns);
	restart->begun = round->ballot;
	return work + 1;
}

static size_t send_begins(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	size_t work = 0;

	for (uint32_t rank = 0; rank < round->next->members; rank++) {
		uint32_t node = round->next->ids[rank];

		if (node == join->roster->id || round->asked[node].begin_told)
			continue;
		round->asked[node].begin_told = wh_restart_send(join, node, WH_WIRE_BEGIN, round->ballot, 0);
		work += round->asked[node].begin_told;
	}
	return work;
}

/* Some member that is there has not been told that its view may begin. */
static bool is_untold(const struct wh_join *join)
{
	const struct wh_round *round = &join->restart->round;

	for (uint32_t rank = 0; rank < round->next->members; rank++) {
		uint32_t node = round->next->ids[rank];

		if (node != join->roster->id && !round->asked[node].begin_told &&
		    wh_roster_has(join->roster, node, round->next->incarnations[rank]))
			return true;
	}
	return false;
}

/* ---- the coordinator: is it one? --------------------------------------------------------------------------------------- */

/* Some node with a lower id takes part, and is not silent: it coordinates. */
static bool is_lower(const struct wh_join *join)
{
	uint64_t now = join->roster->loop->now_ns, silence_ns = WH_SILENT_TIMEOUTS * join->start_timeout_ns;

	for (uint32_t node = 0; node < join->roster->id; node++)
		if (is_participant(join, node) && join->roster->known_nodes[node].heard_ns + silence_ns > now)
			return true;
	return false;
}

/* A first view that was never begun gives way to a group that has one that was, and to a new one, if all can form it. */
static bool gives_way(struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;
	uint64_t until = join->began_ns + join->start_timeout_ns;

	if (wh_restart_disk(join->restart) != WH_DISK_FIRST)
		return false;
	for (uint32_t node = 0; node < roster->nodes; node++)
		if (roster->known_nodes[node].introduced && roster->known_nodes[node].differs == NULL &&
		    roster->known_nodes[node].disk == WH_DISK_STANDS &&
		    roster->known_nodes[node].group != wh_restart_group(join->restart))
			return true;
	if (wh_form_has_all(join))
		return true;
	if (roster->loop->now_ns < until)
		wh_loop_at(roster->loop, until);
	return roster->loop->now_ns < until;
}

static bool may_coordinate(struct wh_join *join)
{
	if (wh_restart_disk(join->restart) == WH_DISK_BLANK || has_met_members(join) || wh_join_looks_around(join))
		return false;
	if (join->state != WH_JOIN_SEEKING &&
	    !(wh_restart_follows_round(join) && (join->by == join->roster->id || wh_restart_is_deserted(join))))
		return false;
	return join->restart->round.phase > WH_ROUND_ASKS || (!is_lower(join) && !gives_way(join));
}

/* What this node is a member of itself has been dropped here. */
static bool has_given_up(const struct wh_join *join)
{
	const struct wh_round *round = &join->restart->round;

	return round->invited && wh_view_rank_of(round->next, join->roster->id, join->roster->incarnation) >= 0 &&
	       !(wh_restart_follows_round(join) && join->key == round->ballot);
}

static size_t step_asking(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;
	uint64_t now = join->roster->loop->now_ns;

	if (now >= round->until_ns && is_unanswered(join))
		return ask_anew(join, "unanswered");
	if (now >= round->until_ns) {
		round->until_ns = now + join->start_timeout_ns;
		round->news = true;
	}
	return send_asks(join) + decide(join);
}

/* All have agreed, and some may have begun: then a node that is lost is a matter for the view, and what others have promised is too late. */
static size_t step_beginning(struct wh_join *join)
{
	struct wh_round *round = &join->restart->round;

	if (!wh_restart_is_enough(join, round->next, round->ballot) || has_given_up(join))
		return ask_anew(join, "lost too many");
	if (join->roster->loop->now_ns >= round->until_ns)
		return ask_anew(join, "no end");
	wh_loop_at(join->roster->loop, round->until_ns);
	return send_begins(join);
}

static size_t step_phase(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	struct wh_round *round = &restart->round;
	uint64_t now = join->roster->loop->now_ns;
	bool lost = forget_lost(join);

	if (round->phase == WH_ROUND_BEGINS)
		return step_beginning(join);
	if (lost || (round->phase == WH_ROUND_AGREES && (lacks_members(join) || has_given_up(join))))
		return ask_anew(join, "lost a node");
	if (round->refused || restart->highest > round->ballot)
		return ask_anew(join, "another has promised more");
	if (round->phase == WH_ROUND_ASKS)
		return step_asking(join);
	if (now >= round->until_ns)
		return ask_anew(join, "no end");
	wh_loop_at(join->roster->loop, round->until_ns);
	return collect_agreements(join);
}

size_t wh_round_step(struct wh_join *join)
{
	struct wh_restart *restart = join->restart;
	uint64_t now = join->roster->loop->now_ns;

	if (!may_coordinate(join)) {
		/* Where some have begun the others must hear it. */
		if (restart->round.phase == WH_ROUND_BEGINS && now < restart->round.until_ns && is_untold(join))
			return send_begins(join);
		if (restart->round.phase != WH_ROUND_NONE)
			wh_round_end(join);
		return 0;
	}
	if (restart->round.phase != WH_ROUND_NONE && restart->voices[0].asked == 0 && !is_current(restart)) {
		wh_round_end(join); /* another has asked this node: its round comes first */
		restart->again_ns = now + join->start_timeout_ns + random_below(join, join->start_timeout_ns);
	}
	if (restart->round.phase == WH_ROUND_NONE) {
		if (now < restart->again_ns) {
			wh_loop_at(join->roster->loop, restart->again_ns);
			return 0;
		}
		return begin_round(join);
	}
	return is_current(restart) ? step_phase(join) : 0; /* its own promise is on the way to its disk */
}
