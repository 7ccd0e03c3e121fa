/* restart_find.c - what a round decides, of what was reported: see restart.h, and docs/decisions/0058, *the restart*, 3 to 5. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "membership/restart_int.h"

struct search {
	const struct wh_seekers *seekers;
	struct wh_finding *out;
	uint64_t base, number;
	const struct wh_view *view; /* the base's */
	bool gone[WH_NODES_MAX];    /* by id: its members that have left in it */
	uint32_t gone_count;
	bool *known;                   /* by subgroup of base: where it begins is known, */
	struct wh_shard_begin *begins; /* and this is it */
	bool *whole;                   /* as in struct wh_return */
	bool *durable;
};

/* NULL: nothing was heard of that disk that counts. */
static const struct wh_report *report_of(const struct wh_seekers *seekers, uint32_t disk)
{
	const struct wh_restart *restart = seekers->restart;
	const struct wh_heard_disk *heard = disk < restart->nodes ? &restart->round.heard[disk] : NULL;

	if (heard == NULL || !heard->is_heard || heard->report.standing.group != seekers->group)
		return NULL;
	return &heard->report;
}

/* The view of that key, if some disk has it. */
static struct wh_view *find_view(const struct wh_seekers *seekers, uint64_t key)
{
	for (uint32_t disk = 0; disk < seekers->restart->nodes; disk++) {
		const struct wh_report *report = report_of(seekers, disk);

		if (report != NULL && report->standing.base == key && report->base != NULL)
			return report->base;
		if (report != NULL && report->standing.ballot > 0 && report->standing.next == key &&
		    report->next != NULL)
			return report->next;
	}
	return NULL;
}

/* ---- 3: the newest view that was decided --------------------------------------------------------------------------------- */

static bool is_same_agreement(const struct wh_standing *one, const struct wh_standing *other)
{
	return one->base == other->base && one->ballot == other->ballot && one->next == other->next &&
	       one->cut_count == other->cut_count &&
	       (one->cut_count == 0 || memcmp(one->cuts, other->cuts, one->cut_count * sizeof(*one->cuts)) == 0);
}

/* The disk that was begun anew in that view, NULL: none was. There is one: another has another identity. */
static const struct wh_report *find_alone(const struct wh_seekers *seekers, uint64_t key, const struct wh_view *view)
{
	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct wh_report *report = report_of(seekers, view->ids[rank]);

		if (report != NULL && report->standing.alone && report->standing.base == key)
			return report;
	}
	return NULL;
}

/* The members of that view that have left in it, by id; or all but one that was begun anew. */
static uint32_t find_gone(const struct wh_seekers *seekers, uint64_t key, const struct wh_view *view,
			  bool gone[WH_NODES_MAX])
{
	const struct wh_report *alone = find_alone(seekers, key, view);
	uint32_t count = 0;

	memset(gone, 0, WH_NODES_MAX * sizeof(*gone));
	for (uint32_t rank = 0; alone != NULL && rank < view->members; rank++)
		gone[view->ids[rank]] = view->ids[rank] != alone->disk;
	if (alone != NULL)
		return view->voters - 1;
	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct wh_report *report = report_of(seekers, view->ids[rank]);

		if (report == NULL || !report->standing.left || report->standing.base != key)
			continue;
		gone[view->ids[rank]] = true;
		count++;
	}
	return count;
}

/* Of that view's members, but for those that are gone, those in `votes`. */
static bool is_quorum(const struct wh_seekers *seekers, const struct wh_view *view, const bool *votes, const bool *gone,
		      uint32_t gone_count)
{
	int tie_breaker = seekers->restart->tie_breaker;
	struct wh_quorum quorum = {.members = view->voters - gone_count, .tie_breaker = tie_breaker};
	bool tie = false, home = false;
	uint32_t count = 0;

	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t id = view->ids[rank];

		if (!votes[id] || gone[id])
			continue;
		count++;
		tie = tie || (int)id == tie_breaker;
		home = home || id < seekers->restart->home;
	}
	return home && wh_quorum_holds(&quorum, count, tie);
}

/* What that disk has agreed to was decided: a quorum of the view before has agreed to the same, at the same ballot. */
static bool is_decided(const struct wh_seekers *seekers, const struct wh_standing *standing)
{
	const struct wh_view *view = standing->ballot > 0 ? find_view(seekers, standing->base) : NULL;
	bool gone[WH_NODES_MAX], votes[WH_NODES_MAX] = {false};
	uint32_t gone_count;

	if (view == NULL)
		return false;
	gone_count = find_gone(seekers, standing->base, view, gone);
	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct wh_report *report = report_of(seekers, view->ids[rank]);

		votes[view->ids[rank]] = report != NULL && is_same_agreement(&report->standing, standing);
	}
	return is_quorum(seekers, view, votes, gone, gone_count);
}

/* Of two of one number that of which the view is known. There are no two: but a newcomer may not know well what took it in. */
static bool is_newer(const struct search *search, const struct wh_standing *standing)
{
	if (standing->number != search->number)
		return standing->number > search->number;
	return standing->base != search->base && find_view(search->seekers, search->base) == NULL;
}

static void find_newest(struct search *search)
{
	const struct wh_seekers *seekers = search->seekers;
	bool any = false;

	for (uint32_t disk = 0; disk < seekers->restart->nodes; disk++) {
		const struct wh_report *report = report_of(seekers, disk);
		const struct wh_standing *standing = report != NULL ? &report->standing : NULL;

		if (standing == NULL)
			continue;
		if (!any || is_newer(search, standing)) {
			search->base = standing->base;
			search->number = standing->number;
			any = true;
		}
		if (standing->number + 1 > search->number && is_decided(seekers, standing)) {
			search->base = standing->next;
			search->number = standing->number + 1;
		}
	}
	search->view = any ? find_view(seekers, search->base) : NULL;
}

/* Some member of base has said nothing of base, and was asked before that was known. It may have come into base since, in this life or another,
 * and have ended: what it said is no promise there. A disk that has agreed to base did so before. This node itself has come into no view since. */
static bool is_stale(const struct search *search)
{
	const struct wh_seekers *seekers = search->seekers;

	for (uint32_t rank = 0; rank < search->view->members; rank++) {
		uint32_t id = search->view->ids[rank];
		const struct wh_report *report = report_of(seekers, id);

		if (report != NULL && seekers->restart->round.heard[id].by != seekers->restart->voices[0].disk &&
		    report->standing.base != search->base &&
		    !(report->standing.ballot > 0 && report->standing.next == search->base) &&
		    seekers->known < search->number)
			return true;
	}
	return false;
}

/* ---- 4: the voters --------------------------------------------------------------------------------------------------- */

static void say_missing(struct search *search)
{
	struct wh_finding *out = search->out;

	snprintf(out->why, sizeof(out->why),
		 "waits for more of the members of view %" PRIu64 " to come back with their disks; missing:",
		 search->number);
	for (uint32_t rank = 0; rank < search->view->members; rank++)
		if (report_of(search->seekers, search->view->ids[rank]) == NULL)
			wh_text_add_id(out->why, sizeof(out->why), " ", search->view->ids[rank]);
	for (uint32_t rank = 0; rank < search->view->members; rank++)
		if (search->gone[search->view->ids[rank]])
			wh_text_add(out->why, sizeof(out->why), "; node %u has left", search->view->ids[rank]);
}

/* All members were heard, so none has gone on without those that have left but as a report says. Then marks are nothing. */
static bool have_all_come(const struct wh_seekers *seekers, const struct wh_view *view)
{
	for (uint32_t rank = 0; rank < view->members; rank++)
		if (report_of(seekers, view->ids[rank]) == NULL)
			return false;
	return true;
}

/* The members that were heard, and have not left. False: they are no quorum. */
static bool find_voters(struct search *search)
{
	const struct wh_view *view = search->view;
	struct wh_finding *out = search->out;

	search->gone_count = find_gone(search->seekers, search->base, view, search->gone);
	out->all_heard = true;
	out->missing.view = search->number;
	if (find_alone(search->seekers, search->base, view) == NULL && have_all_come(search->seekers, view)) {
		memset(search->gone, 0, sizeof(search->gone));
		search->gone_count = 0;
	}
	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t id = view->ids[rank];
		bool heard = report_of(search->seekers, id) != NULL || search->gone[id];

		out->all_heard = out->all_heard && heard;
		if (!heard)
			out->missing.ids[out->missing.count++] = id;
		out->votes[id] = heard && !search->gone[id];
	}
	if (is_quorum(search->seekers, view, out->votes, search->gone, search->gone_count))
		return true;
	say_missing(search);
	return false;
}

/* ---- where base begins in its shards ----------------------------------------------------------------------------------- */

/* As a disk says it that stands on base. */
static bool begin_as_said(const struct wh_standing *standing, struct wh_shard_begin *out)
{
	const struct wh_shard_standing *mine = wh_standing_shard(standing, out->subgroup, out->shard);
	const struct wh_shard_begin *other =
		wh_begin_of(standing->others, standing->other_count, out->subgroup, out->shard);

	if (mine == NULL && other == NULL)
		return false;
	out->before = mine != NULL ? mine->before : other->before;
	out->begins = mine != NULL ? mine->begins : other->begins;
	return true;
}

/* As it follows from what a disk has agreed to, of which base came. */
static bool begin_as_agreed(const struct search *search, const struct wh_standing *standing, struct wh_shard_begin *out)
{
	const struct wh_view *before = find_view(search->seekers, standing->base);
	int index = before != NULL ? wh_subgroup_index(before, out->subgroup, out->shard) : -1;

	if (index < 0 || (uint32_t)index >= standing->cut_count)
		return false;
	out->before = standing->base;
	out->begins = standing->cuts[index];
	return true;
}

/* A log may have nothing from before base though others have: its node came in with base. */
static bool find_begin(const struct search *search, struct wh_shard_begin *out)
{
	bool known = false;

	for (uint32_t disk = 0; disk < search->seekers->restart->nodes && out->before == 0; disk++) {
		const struct wh_report *report = report_of(search->seekers, disk);

		if (report == NULL)
			continue;
		if (report->standing.base == search->base)
			known = begin_as_said(&report->standing, out) || known;
		else if (report->standing.ballot > 0 && report->standing.next == search->base)
			known = begin_as_agreed(search, &report->standing, out) || known;
	}
	return known;
}

static void find_begins(struct search *search)
{
	struct wh_agreement *agreement = &search->out->agreement;

	for (uint32_t g = 0; g < search->view->subgroup_count; g++) {
		const struct wh_view_subgroup *shard = &search->view->subgroups[g];

		search->begins[g] =
			(struct wh_shard_begin){.subgroup = wh_subgroup_number(shard), .shard = shard->shard};
		search->durable[g] = wh_restart_is_durable(search->seekers->restart, shard);
		search->known[g] = search->durable[g] && find_begin(search, &search->begins[g]);
		if (search->known[g])
			agreement->begins[agreement->begin_count++] = search->begins[g];
	}
}

/* ---- 5: take up, or decide --------------------------------------------------------------------------------------------- */

/* The voter that has agreed to something after base, at the highest ballot; NULL: none has. */
static const struct wh_standing *find_agreement(const struct search *search)
{
	const struct wh_standing *best = NULL;

	for (uint32_t disk = 0; disk < search->seekers->restart->nodes; disk++) {
		const struct wh_report *report = search->out->votes[disk] ? report_of(search->seekers, disk) : NULL;

		if (report != NULL && report->standing.base == search->base && report->standing.ballot > 0 &&
		    (best == NULL || report->standing.ballot > best->ballot))
			best = &report->standing;
	}
	return best;
}

static void take_up(struct search *search, const struct wh_standing *standing)
{
	struct wh_finding *out = search->out;

	out->agreement.next_view = find_view(search->seekers, standing->next);
	if (out->agreement.next_view == NULL || standing->cut_count != search->view->subgroup_count) {
		snprintf(out->why, sizeof(out->why),
			 "waits for a disk that has view %" PRIu64 ", which one has agreed to", search->number + 1);
		return;
	}
	out->agreement.taken_up = true;
	out->agreement.next = standing->next;
	if (standing->cut_count > 0)
		memcpy(out->agreement.cuts, standing->cuts, standing->cut_count * sizeof(*standing->cuts));
	out->verdict = WH_VERDICT_TAKES_UP;
}

bool wh_log_counts(const struct wh_standing *standing, const struct wh_shard_standing *shard,
		   const struct wh_log_report *log, uint64_t base, const struct wh_shard_begin *begin)
{
	if (shard == NULL || !shard->whole || log->rotten)
		return false;
	if (standing->base == base)
		return true;
	/* A member of base had all that comes before it on disk when base was decided. */
	if (begin == NULL)
		return false;
	if (standing->base == begin->before)
		return log->extent >= begin->begins;
	return standing->ballot > 0 && standing->next == begin->before && begin->begins == 0;
}

/* What that disk says of its log of that shard of base; NULL: it has none. */
static const struct wh_log_report *log_of(const struct search *search, const struct wh_report *report, uint32_t index)
{
	const struct wh_shard_begin *begin = &search->begins[index];
	const struct wh_shard_standing *shard =
		report != NULL ? wh_standing_shard(&report->standing, begin->subgroup, begin->shard) : NULL;

	return shard != NULL ? &report->logs[shard - report->standing.shards] : NULL;
}

/* So far all members of the shard had it on disk in base, as some log says, which need not be whole itself. */
static uint64_t find_frontier(const struct search *search, uint32_t index)
{
	uint64_t frontier = 0;

	for (uint32_t disk = 0; disk < search->seekers->restart->nodes; disk++) {
		const struct wh_report *report = report_of(search->seekers, disk);
		const struct wh_log_report *log = log_of(search, report, index);

		if (log != NULL && report->standing.base == search->base && log->frontier > frontier)
			frontier = log->frontier;
	}
	return frontier;
}

/* How far that disk's log of the shard goes in base. False: it does not count: where less is left than was there its end has rotted. */
static bool find_extent(const struct search *search, uint32_t id, uint32_t index, uint64_t frontier, uint64_t *extent)
{
	const struct wh_report *report = report_of(search->seekers, id);
	const struct wh_shard_begin *begin = &search->begins[index];
	const struct wh_log_report *log = log_of(search, report, index);

	if (log == NULL || !wh_log_counts(&report->standing, &report->standing.shards[log - report->logs], log,
					  search->base, search->known[index] ? begin : NULL))
		return false;
	*extent = report->standing.base == search->base ? log->extent : 0;
	return *extent >= frontier;
}

/* A disk that was begun anew has not all of that shard, as it has said: so nobody has. One that has had all of it, and has lost some, waits. */
static bool is_given_up(const struct search *search, uint32_t index)
{
	const struct wh_view_subgroup *shard = &search->view->subgroups[index];
	const struct wh_report *alone = find_alone(search->seekers, search->base, search->view);
	const struct wh_shard_standing *mine =
		alone != NULL ? wh_standing_shard(&alone->standing, wh_subgroup_number(shard), shard->shard) : NULL;

	return alone != NULL && (mine == NULL || !mine->whole);
}

/* A round waits for the log of that shard. The nodes that have it count as missing, if their disks are there and they are not; those that were
 * not heard do anyway, and one that has left counts when they have come. */
static void say_lacks(struct search *search, uint32_t index, uint64_t frontier)
{
	const struct wh_view_subgroup *shard = &search->view->subgroups[index];
	struct wh_finding *out = search->out;
	uint64_t extent;

	out->lacks_log = true;
	snprintf(out->why, sizeof(out->why), "waits for a node that has all of the log of %s (shard %u) on its disk",
		 shard->name, shard->shard);
	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t id = search->view->ids[shard->members[i]];

		if (!find_extent(search, id, index, frontier, &extent))
			continue;
		wh_text_add(out->why, sizeof(out->why), "; node %u has, and %s", id,
			    search->gone[id] ? "has left: it counts when all members of that view have come"
					     : "is not here itself");
		if (!search->gone[id])
			out->missing.ids[out->missing.count++] = id;
	}
	for (uint32_t i = 0; i < out->missing.count; i++)
		if (report_of(search->seekers, out->missing.ids[i]) == NULL)
			wh_text_add_id(out->why, sizeof(out->why), i == 0 ? "; missing: " : " ", out->missing.ids[i]);
}

/* Of the shard's members that come back some has all of it; the cut is the least that one of these has. False: none has. */
static bool cut_shard(struct search *search, uint32_t index)
{
	const struct wh_view *view = search->view;
	const struct wh_view_subgroup *shard = &view->subgroups[index];
	struct wh_finding *out = search->out;
	bool any = false;
	uint64_t cut = 0, extent, frontier = find_frontier(search, index);

	for (uint32_t i = 0; i < shard->member_count; i++) {
		uint32_t rank = shard->members[i], id = view->ids[rank];

		if (!find_extent(search, id, index, frontier, &extent))
			continue;
		if (!out->votes[id] || search->seekers->incarnations[id] == 0)
			continue;
		search->whole[(size_t)index * view->members + rank] = true;
		cut = !any || extent < cut ? extent : cut;
		any = true;
	}
	out->agreement.cuts[index] = cut;
	if (any || shard->member_count == 0 || is_given_up(search, index))
		return true;
	say_lacks(search, index, frontier);
	return false;
}

/* Of what a disk that was begun anew has not all nothing is left: it alone counts. */
static bool keeps_birth(void *ctx, uint64_t birth)
{
	const struct wh_report *alone = ctx;
	const struct wh_shard_standing *shard = wh_standing_shard(&alone->standing, birth, 0);
	const struct wh_dormant_log *dormant = wh_standing_dormant(&alone->standing, birth);

	return (shard != NULL && shard->whole) || (dormant != NULL && dormant->shard.whole);
}

static enum whorl_result decide_anew(struct search *search)
{
	const struct wh_seekers *seekers = search->seekers;
	struct wh_finding *out = search->out;
	uint64_t incarnations[WH_NODES_MAX];
	const struct wh_report *alone = find_alone(seekers, search->base, search->view);
	struct wh_return returns = {.incarnations = incarnations,
				    .durable = search->durable,
				    .whole = search->whole,
				    .keeps = alone != NULL ? keeps_birth : NULL,
				    .ctx = (void *)(uintptr_t)alone};
	struct wh_error err;
	enum whorl_result result;
	uint32_t count = 0;

	for (uint32_t rank = 0; rank < search->view->members; rank++) {
		uint32_t id = search->view->ids[rank];

		incarnations[rank] = out->votes[id] ? seekers->incarnations[id] : 0;
		count += incarnations[rank] != 0;
	}
	for (uint32_t g = 0; g < search->view->subgroup_count; g++)
		if (search->durable[g] && search->view->subgroups[g].birth == 0 && !cut_shard(search, g))
			return WHORL_OK; /* dynamic ones are dormant behind it: nothing is cut before one comes back */
	if (count == 0) {
		snprintf(out->why, sizeof(out->why), "waits for a member of view %" PRIu64, search->number);
		return WHORL_OK;
	}
	result = wh_view_return(&out->made, search->view, &returns, seekers->layout, &err);
	if (result != WHORL_OK)
		return result;
	out->agreement.next_view = out->made;
	out->agreement.next = seekers->ballot;
	out->verdict = WH_VERDICT_DECIDES;
	return WHORL_OK;
}

static enum whorl_result find_next(struct search *search)
{
	uint32_t count = search->view->subgroup_count;
	struct wh_agreement *agreement = &search->out->agreement;
	const struct wh_standing *agreed;

	search->begins = calloc((size_t)count + 1, sizeof(*search->begins));
	search->known = calloc((size_t)count + 1, sizeof(*search->known));
	search->durable = calloc((size_t)count + 1, sizeof(*search->durable));
	search->whole = calloc((size_t)count * search->view->members + 1, sizeof(*search->whole));
	agreement->begins = calloc((size_t)count + 1, sizeof(*agreement->begins));
	agreement->cuts = calloc((size_t)count + 1, sizeof(*agreement->cuts));
	if (search->begins == NULL || search->known == NULL || search->durable == NULL || search->whole == NULL ||
	    agreement->begins == NULL || agreement->cuts == NULL)
		return WHORL_MEMORY;
	agreement->cut_count = count;
	agreement->base = search->base;
	agreement->base_view = find_view(search->seekers, search->base);
	find_begins(search);
	agreed = find_agreement(search);
	if (agreed == NULL)
		return decide_anew(search);
	take_up(search, agreed);
	return WHORL_OK;
}

enum whorl_result wh_restart_find(struct wh_finding *out, const struct wh_seekers *seekers)
{
	struct search search = {.seekers = seekers, .out = out};
	enum whorl_result result = WHORL_OK;

	*out = (struct wh_finding){.verdict = WH_VERDICT_WAITS};
	find_newest(&search);
	out->number = search.number;
	out->stale = search.view != NULL && is_stale(&search);
	if (search.view == NULL)
		snprintf(out->why, sizeof(out->why), "waits for a disk that has view %" PRIu64 " of the group",
			 search.number);
	else if (out->stale)
		snprintf(out->why, sizeof(out->why),
			 "asks again, as there is a view %" PRIu64 " of which some say nothing", search.number);
	else if (find_voters(&search))
		result = find_next(&search);
	wh_begins_sort(out->agreement.begins, out->agreement.begin_count);
	free(search.begins);
	free(search.known);
	free(search.durable);
	free(search.whole);
	if (result != WHORL_OK)
		wh_finding_free(out);
	return result;
}

void wh_finding_free(struct wh_finding *finding)
{
	free(finding->agreement.begins);
	free(finding->agreement.cuts);
	wh_view_free(finding->made);
	*finding = (struct wh_finding){.verdict = WH_VERDICT_WAITS};
}
