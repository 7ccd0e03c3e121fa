/* status_print.c - a report for people: which nodes are there, then for each shard how far its members are, then the workers of delegation. */
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "tools/status.h"

/* ---- the group ------------------------------------------------------------------------------------------------------------- */

/* `status`: of the node that knows most of it; NULL: there is none. */
static void print_restart(FILE *out, const struct whorl_status *status)
{
	char missing[768];

	if (status == NULL)
		return;
	fprintf(out, "a restart from logs, ");
	if (status->coordinator != WHORL_NOBODY)
		fprintf(out, "by node %u: %s", status->coordinator, wh_report_restart(status->restart));
	else
		fprintf(out, "%s", wh_report_restart(status->restart));
	if (status->missing_count > 0)
		fprintf(out, "; of the members of view %" PRIu64 " missing: %s", status->restart_view,
			wh_report_missing(status, missing, sizeof missing));
	fputc('\n', out);
}

static void print_view(FILE *out, const struct wh_report *report)
{
	const struct whorl_status *speaker = report->speaker;

	if (speaker == NULL) {
		fprintf(out, "group %s: %s\n", report->group[0] != '\0' ? report->group : "unknown",
			wh_report_has_answer(report) ? "no view" : "no node has said anything");
		print_restart(out, wh_report_restarter(report));
		return;
	}
	fprintf(out, "group %s (%016" PRIx64 "): view %" PRIu64 ", members", report->group, speaker->identity,
		speaker->view);
	for (uint32_t i = 0; i < speaker->member_count; i++)
		fprintf(out, " %u", speaker->members[i].id);
	if (speaker->leader != WHORL_NOBODY)
		fprintf(out, ", leader %u", speaker->leader);
	fprintf(out, ", a quorum is %u", speaker->voters / 2 + 1);
	if (speaker->tie_breaker != WHORL_NOBODY && speaker->voters % 2 == 0)
		fprintf(out, " or %u with node %u", speaker->voters / 2, speaker->tie_breaker);
	fprintf(out, "%s\n", speaker->quorum ? "" : ", which is not heard");
	if (speaker->change != WHORL_CHANGE_NONE)
		fprintf(out, "the view is changing, for %" PRIu64 " ms: %s\n", speaker->change_ms,
			wh_report_change(speaker->change));
}

/* ---- the nodes ------------------------------------------------------------------------------------------------------------- */

/* How long ago, at most, one of the others has heard this member: "12 ms"; "-" if none of them says. Returns buf. */
static const char *heard_text(const struct wh_report *report, uint32_t id, char *buf, size_t room)
{
	uint64_t longest = 0;
	bool said = false;

	for (uint32_t other = 0; other < WH_NODES_MAX; other++) {
		const struct whorl_status *status = report->nodes[other].status;
		const struct whorl_status_member *member = status != NULL ? wh_report_member(status, id) : NULL;

		if (other == id || member == NULL || status->view != report->speaker->view)
			continue;
		said = true;
		if (member->heard_ms > longest)
			longest = member->heard_ms;
	}
	snprintf(buf, room, "-");
	if (said)
		snprintf(buf, room, "%" PRIu64 " ms", longest);
	return buf;
}

/* What is under way at a node, or what it waits for. */
static void print_remark(FILE *out, const struct whorl_status *status)
{
	const struct whorl_node_stats *stats = status->stats;
	char size[32];

	if (status->standing == WHORL_HAS_FAILED)
		fprintf(out, "  %s", status->error);
	else if (status->standing != WHORL_IS_MEMBER || !status->ready)
		fprintf(out, "  %s", status->progress);
	if (stats->takes > 0)
		fprintf(out, "  takes state: %s so far", wh_size_text(stats->state_taken, size, sizeof size));
	if (stats->gives > 0)
		fprintf(out, "  gives state: %s so far", wh_size_text(stats->state_given, size, sizeof size));
	if (stats->state_kept > 0)
		fprintf(out, "  keeps back %s", wh_size_text(stats->state_kept, size, sizeof size));
	if (status->disk_full_ms > 0)
		fprintf(out, "  its disk is full, for %" PRIu64 " ms", status->disk_full_ms);
	else if (wh_report_disk_hangs(status))
		fprintf(out, "  its disk has not answered for %" PRIu64 " ms", status->disk_busy_ms);
}

static void print_node(FILE *out, const struct wh_report *report, uint32_t id)
{
	const struct wh_report_node *node = &report->nodes[id];
	const struct whorl_status *status = node->status;
	bool member = report->speaker != NULL && wh_report_member(report->speaker, id) != NULL;
	char heard[32] = "-", size[32], view[24] = "-";

	if (!member && node->result == WHORL_NOT_FOUND)
		return;
	if (member)
		heard_text(report, id, heard, sizeof heard);
	if (status == NULL) {
		fprintf(out, "%4u  %-10s %8s %8s %10s %9s\n", id,
			node->result == WHORL_NOT_FOUND && report->only >= 0 ? "-" : wh_report_answer(node->result),
			"-", "-", heard, "-");
		return;
	}
	if (status->member_count > 0)
		snprintf(view, sizeof view, "%" PRIu64, status->view);
	fprintf(out, "%4u  %-10s %8s %8u %10s %9s", id, wh_report_standing(status), view, status->pid, heard,
		wh_size_text(status->stats->memory_bytes, size, sizeof size));
	print_remark(out, status);
	fputc('\n', out);
}

/* A line for a node that has any. */
static void print_complaints(FILE *out, const struct whorl_status *status)
{
	bool any = false;

	if (status == NULL || !wh_report_tells_complaints(status))
		return;
	for (uint32_t kind = 0; kind < WHORL_COMPLAINTS; kind++) {
		if (status->stats->complaints[kind] == 0)
			continue;
		if (!any)
			fprintf(out, "complaints of node %u:", status->id);
		fprintf(out, "%s %s %" PRIu64, any ? "," : "", wh_report_complaint((enum whorl_complaint)kind),
			status->stats->complaints[kind]);
		any = true;
	}
	if (any)
		fputc('\n', out);
}

/* ---- the shards ------------------------------------------------------------------------------------------------------------ */

/* Of all that are in the shard the first that answers, the speaker before others: its counters are of one moment, and can be held
 * against each other. */
static const struct whorl_status_shard *observe_shard(const struct wh_report *report,
						      const struct whorl_status_shard *shard, uint32_t *observer)
{
	const struct whorl_status_shard *seen = wh_report_shard(report->speaker, shard->name, shard->shard);

	*observer = report->speaker->id;
	for (uint32_t id = 0; seen == NULL && id < WH_NODES_MAX; id++) {
		const struct whorl_status *status = report->nodes[id].status;

		if (status == NULL || status->view != report->speaker->view || status->member_count == 0)
			continue;
		seen = wh_report_shard(status, shard->name, shard->shard);
		*observer = id;
	}
	return seen;
}

struct frontier { /* of a shard */
	uint64_t received, least_received, delivered, least_delivered, persisted, least_persisted;
};

static struct frontier find_frontier(const struct whorl_status_shard *seen)
{
	struct frontier frontier = {
		.least_received = UINT64_MAX, .least_delivered = UINT64_MAX, .least_persisted = UINT64_MAX};

	for (uint32_t i = 0; i < seen->place_count; i++) {
		const struct whorl_status_place *place = &seen->places[i];

		if (place->received_num > frontier.received)
			frontier.received = place->received_num;
		if (place->received_num < frontier.least_received)
			frontier.least_received = place->received_num;
		if (place->delivered_num > frontier.delivered)
			frontier.delivered = place->delivered_num;
		if (place->delivered_num < frontier.least_delivered)
			frontier.least_delivered = place->delivered_num;
		if (place->persisted_num > frontier.persisted)
			frontier.persisted = place->persisted_num;
		if (place->persisted_num < frontier.least_persisted)
			frontier.least_persisted = place->persisted_num;
	}
	return frontier;
}

/* The same in the report before; NULL: there was none, or it was another incarnation. */
static const struct whorl_status_shard *shard_before(const struct wh_report *report, const struct wh_report *before,
						     const struct whorl_status *status,
						     const struct whorl_status_shard *own)
{
	const struct whorl_status *earlier = before != NULL ? before->nodes[status->id].status : NULL;

	if (earlier == NULL || earlier->incarnation != status->incarnation || report->at_ns == before->at_ns)
		return NULL;
	return wh_report_shard(earlier, own->name, own->shard);
}

static double per_second(const struct wh_report *report, const struct wh_report *before, uint64_t more)
{
	return (double)more * 1e9 / (double)(report->at_ns - before->at_ns);
}

/* Deliveries per second since the report before: "-" if that says nothing. Returns buf. */
static const char *rate_text(const struct wh_report *report, const struct wh_report *before,
			     const struct whorl_status *status, const struct whorl_status_shard *own, char *buf,
			     size_t room)
{
	const struct whorl_status_shard *shard = shard_before(report, before, status, own);

	snprintf(buf, room, "-");
	if (shard != NULL && own->stats->delivered >= shard->stats->delivered)
		snprintf(buf, room, "%.0f",
			 per_second(report, before, own->stats->delivered - shard->stats->delivered));
	return buf;
}

static void print_place(FILE *out, const struct wh_report *report, const struct wh_report *before,
			const struct whorl_status_shard *seen, const struct whorl_status_place *place,
			const struct frontier *frontier)
{
	const struct whorl_status *status = report->nodes[place->id].status;
	const struct whorl_status_shard *own = status != NULL ? wh_report_shard(status, seen->name, seen->shard) : NULL;
	uint64_t behind = frontier->received > place->delivered_num ? frontier->received - place->delivered_num : 0;
	char sent[24] = "-", delivered[24] = "-", rate[24] = "-";

	if (own != NULL) {
		snprintf(sent, sizeof sent, "%" PRIu64, own->stats->sent);
		snprintf(delivered, sizeof delivered, "%" PRIu64, own->stats->delivered);
		rate_text(report, before, status, own, rate, sizeof rate);
	}
	fprintf(out, "%4u  %-5s %12s %12s %10s %12" PRIu64 " %12" PRIu64 " %8" PRIu64, place->id,
		place->rests   ? "rests"
		: place->sends ? "yes"
			       : "no",
		sent, delivered, rate, place->received_num, place->delivered_num, behind);
	/* A member of a durable shard says what it has received when it is on its disk. */
	if (seen->durable && frontier->persisted > place->persisted_num &&
	    place->persisted_num == frontier->least_persisted)
		fprintf(out, "  all wait for its disk");
	else if (frontier->received > place->received_num && place->received_num == frontier->least_received)
		fprintf(out, "  all wait for it to receive");
	else if (frontier->delivered > place->delivered_num && place->delivered_num == frontier->least_delivered)
		fprintf(out, "  the slowest");
	if (own != NULL && own->stats->open_claim != 0)
		fprintf(out, "  claim %" PRIu64 " is open", own->stats->open_claim - 1);
	fputc('\n', out);
}

/* Of one node: what is a quotient has been so since it was opened. */
static void print_log(FILE *out, uint32_t id, const struct whorl_status_place *place, const struct whorl_log_stats *log)
{
	char bytes[32] = "-", batch[24] = "-", size[32];

	if (log->written_batches > 0) {
		snprintf(batch, sizeof batch, "%.1f", (double)log->written_messages / (double)log->written_batches);
		wh_size_text(log->written_bytes / log->written_batches, bytes, sizeof bytes);
	}
	fprintf(out,
		"%4u  %-9s %12" PRIu64 " %12" PRIu64 " %9" PRIu64 " %10s %12" PRIu64 " %10s %10s %9.3f ms %6" PRIu64
		"\n",
		id,
		log->rot     ? "rot"
		: log->whole ? "yes"
			     : "not yet",
		place->persisted_num, log->persisted_by_all, log->segments, wh_size_text(log->bytes, size, sizeof size),
		log->syncs, batch, bytes, (double)log->longest_sync_ns / 1e6, log->checkpoints);
}

/* What its members have on disk, of those that say so themselves. */
static void print_logs(FILE *out, const struct wh_report *report, const struct whorl_status_shard *seen)
{
	bool any = false;

	for (uint32_t i = 0; seen->durable && i < seen->place_count; i++) {
		const struct whorl_status *status = report->nodes[seen->places[i].id].status;
		const struct whorl_status_shard *own =
			status != NULL ? wh_report_shard(status, seen->name, seen->shard) : NULL;

		if (own == NULL || own->log == NULL)
			continue;
		if (!any)
			fprintf(out, "%4s  %-9s %12s %12s %9s %10s %12s %10s %10s %12s %6s\n", "log", "whole",
				"on disk to", "on all to", "segments", "size", "syncs", "a sync has", "of bytes",
				"longest", "states");
		any = true;
		print_log(out, status->id, &seen->places[i], own->log);
	}
}

/* Bytes per second passed on since the report before; "-": as for deliveries. Returns buf. */
static const char *relay_rate(const struct wh_report *report, const struct wh_report *before,
			      const struct whorl_status *status, const struct whorl_status_shard *own, char *buf,
			      size_t room)
{
	const struct whorl_status_shard *shard = shard_before(report, before, status, own);

	snprintf(buf, room, "-");
	if (shard != NULL && own->stats->relayed_bytes >= shard->stats->relayed_bytes)
		wh_size_text(
			(uint64_t)per_second(report, before, own->stats->relayed_bytes - shard->stats->relayed_bytes),
			buf, room);
	return buf;
}

/* What members have passed on, of those that say so. */
static void print_relays(FILE *out, const struct wh_report *report, const struct wh_report *before,
			 const struct whorl_status_shard *seen)
{
	bool any = false;

	for (uint32_t i = 0; seen->relay_bytes > 0 && i < seen->place_count; i++) {
		const struct whorl_status *status = report->nodes[seen->places[i].id].status;
		const struct whorl_status_shard *own =
			status != NULL ? wh_report_shard(status, seen->name, seen->shard) : NULL;
		char bytes[32], rate[32];

		if (own == NULL)
			continue;
		if (!any)
			fprintf(out, "relay  %12s %10s %10s\n", "slots", "of bytes", "per s");
		any = true;
		fprintf(out, "%5u  %12" PRIu64 " %10s %10s\n", status->id, own->stats->relayed,
			wh_size_text(own->stats->relayed_bytes, bytes, sizeof bytes),
			relay_rate(report, before, status, own, rate, sizeof rate));
	}
}

static void print_dormant(FILE *out, const struct whorl_status_shard *shard)
{
	fprintf(out, "; dormant since view %" PRIu64 ", until one of these enters it that has all of its log:",
		shard->last_view);
	for (uint32_t i = 0; i < shard->place_count; i++)
		fprintf(out, " %u", shard->places[i].id);
	fputc('\n', out);
}

static void print_shard(FILE *out, const struct wh_report *report, const struct wh_report *before,
			const struct whorl_status_shard *shard)
{
	uint32_t observer;
	const struct whorl_status_shard *seen = observe_shard(report, shard, &observer);
	struct frontier frontier;

	fprintf(out, "\n%s", shard->name);
	if (shard->shards > 1)
		fprintf(out, ", shard %u of %u", shard->shard, shard->shards);
	fprintf(out, ": %s, window %u, messages up to %" PRIu64 " bytes", wh_report_mode(shard), shard->window,
		shard->large_bytes > 0 ? shard->large_bytes : shard->message_bytes);
	if (shard->large_bytes > 0)
		fprintf(out, ", %u in a slot", shard->message_bytes);
	if (shard->relay_bytes > 0)
		fprintf(out, ", relayed from %" PRIu64 " on", shard->relay_bytes);
	if (shard->dormant) {
		print_dormant(out, shard);
		return;
	}
	if (seen == NULL) {
		fprintf(out, "; %s\n", shard->lost ? "lost" : "nobody in it answers");
		return;
	}
	fprintf(out, "%s\n%4s  %-5s %12s %12s %10s %12s %12s %8s\n",
		seen->condition == WHORL_SHARD_INACTIVE ? "; it waits" : "", "node", "sends", "sent", "delivered",
		"per s", "received to", "delivered to", "behind");
	frontier = find_frontier(seen);
	for (uint32_t i = 0; i < seen->place_count; i++)
		print_place(out, report, before, seen, &seen->places[i], &frontier);
	print_logs(out, report, seen);
	print_relays(out, report, before, seen);
	if (observer != report->speaker->id)
		fprintf(out, "      as node %u sees it\n", observer);
}

/* ---- the workers of delegation ----------------------------------------------------------------------------------------------- */

/* The same worker in the report before; all zero: none is known. */
static struct whorl_status_worker worker_before(const struct wh_report *before, const struct whorl_status *status,
						uint32_t number)
{
	const struct whorl_status *earlier = before != NULL ? before->nodes[status->id].status : NULL;

	if (earlier == NULL || earlier->incarnation != status->incarnation || earlier->worker_count <= number ||
	    earlier->workers[number].open_ns >= status->workers[number].open_ns)
		return (struct whorl_status_worker){0};
	return earlier->workers[number];
}

/* Times are of samples, so they may seem to be more than there was. Returns buf. */
static const char *share_text(uint64_t part, uint64_t whole, char *buf, size_t room)
{
	double share = whole > 0 ? 100.0 * (double)part / (double)whole : 0;

	snprintf(buf, room, "%.1f %%", share < 100 ? share : 100);
	return buf;
}

static void print_worker(FILE *out, uint32_t node, uint32_t number, const struct whorl_status_worker *worker,
			 const struct whorl_status_worker *earlier)
{
	uint64_t time = worker->open_ns - earlier->open_ns;
	char batch[24] = "-", functions[24], looking[24];

	if (worker->batches > 0)
		snprintf(batch, sizeof batch, "%.1f", (double)worker->batch_calls / (double)worker->batches);
	fprintf(out, "%4u  %6u %12" PRIu64 " %12" PRIu64 " %8s %10s %10s %10" PRIu64 " %8" PRIu64 "\n", node, number,
		worker->calls, worker->lent_calls, batch,
		share_text(worker->functions_ns - earlier->functions_ns, time, functions, sizeof functions),
		share_text(worker->looking_ns - earlier->looking_ns, time, looking, sizeof looking), worker->properties,
		worker->fibers);
}

/* Of all nodes that have any. */
static void print_workers(FILE *out, const struct wh_report *report, const struct wh_report *before)
{
	bool any = false;

	for (uint32_t id = 0; id < WH_NODES_MAX; id++) {
		const struct whorl_status *status = report->nodes[id].status;

		for (uint32_t i = 0; status != NULL && i < status->worker_count; i++) {
			const struct whorl_status_worker earlier = worker_before(before, status, i);

			if (!any)
				fprintf(out, "\ndelegation\n%4s  %6s %12s %12s %8s %10s %10s %10s %8s\n", "node",
					"worker", "calls", "lent", "batch", "functions", "looking", "properties",
					"fibers");
			any = true;
			print_worker(out, id, i, &status->workers[i], &earlier);
		}
	}
}

/* ---- more of one node ------------------------------------------------------------------------------------------------------ */

static void print_times(FILE *out, const char *what, const uint64_t *ns, const char *const *names, size_t count)
{
	bool any = false;

	fprintf(out, "%s", what);
	for (size_t i = 0; i < count; i++) {
		if (ns[i] == 0)
			continue;
		fprintf(out, "%s %s %.3f", any ? "," : "", names[i], (double)ns[i] / 1e6);
		any = true;
	}
	fputs(any ? " ms\n" : " -\n", out);
}

static double mean_of(const struct whorl_batch_stats *batch)
{
	return batch->batches > 0 ? (double)batch->events / (double)batch->batches : 0;
}

static void print_own_shard(FILE *out, const struct whorl_status_shard *shard)
{
	const struct whorl_subgroup_stats *s = shard->stats;

	fprintf(out,
		"%s: claimed %" PRIu64 ", sent %" PRIu64 " (again %" PRIu64 "), aborted %" PRIu64 ", dropped %" PRIu64
		", in doubt %" PRIu64 ", nulls %" PRIu64 "; delivered %" PRIu64 ", %" PRIu64 " bytes\n",
		shard->name, s->claimed, s->sent, s->resent, s->aborted, s->dropped, s->in_doubt, s->nulls,
		s->delivered, s->delivered_bytes);
	fprintf(out,
		"%s: the window was full %" PRIu64
		" times, waited for %.3f s; longest upcall %.3f ms; a batch sends %.1f, "
		"receives %.1f, delivers %.1f\n",
		shard->name, s->window_full, (double)s->window_wait_ns / 1e9, (double)s->upcall_longest_ns / 1e6,
		mean_of(&s->send), mean_of(&s->receive), mean_of(&s->deliver));
}

static void print_more(FILE *out, const struct whorl_status *status)
{
	static const char *const stages[WHORL_STAGES] = {"wedged", "proposed",  "acknowledged",  "decided",
							 "agreed", "installed", "first delivery"};
	static const char *const entries[WHORL_ENTRIES] = {"met", "invited", "there", "begun", "restored"};
	const struct whorl_node_stats *s = status->stats;

	fprintf(out, "\nwhorl %s, incarnation %016" PRIx64 ", failure time-out %u ms, views %" PRIu64 "\n",
		status->version, status->incarnation, status->failure_timeout_ms, s->views);
	print_times(out, "came in:", s->entry_ns, entries, WHORL_ENTRIES);
	print_times(out, "last change of view:", s->change_ns, stages, WHORL_STAGES);
	fprintf(out,
		"loop: %" PRIu64 " passes, %" PRIu64 " without work, %" PRIu64 " yields, %" PRIu64 " sleeps; %" PRIu64
		" pushes, %" PRIu64 " writes, %" PRIu64 " bytes, %" PRIu64 " heartbeats\n",
		s->steps, s->idle_steps, s->yields, s->sleeps, s->pushes, s->writes, s->bytes_pushed, s->heartbeats);
	fprintf(out, "state: given %" PRIu64 " bytes, taken %" PRIu64 ", kept back %" PRIu64 "\n", s->state_given,
		s->state_taken, s->state_kept);
	for (uint32_t i = 0; i < status->shard_count; i++)
		if (status->shards[i].condition != WHORL_SHARD_GONE)
			print_own_shard(out, &status->shards[i]);
}

void wh_report_print(FILE *out, const struct wh_report *report, const struct wh_report *before)
{
	print_view(out, report);
	fprintf(out, "%4s  %-10s %8s %8s %10s %9s\n", "node", "is", "view", "pid", "heard", "memory");
	for (uint32_t id = 0; id < WH_NODES_MAX; id++)
		print_node(out, report, id);
	for (uint32_t id = 0; id < WH_NODES_MAX; id++)
		print_complaints(out, report->nodes[id].status);
	for (uint32_t i = 0; report->speaker != NULL && i < report->speaker->shard_count; i++)
		print_shard(out, report, before, &report->speaker->shards[i]);
	if (report->speaker != NULL && report->speaker->shards_left_off > 0)
		fprintf(out, "\n%u more shards have no room in an answer\n", report->speaker->shards_left_off);
	print_workers(out, report, before);
	if (report->only >= 0 && report->nodes[report->only].status != NULL)
		print_more(out, report->nodes[report->only].status);
}
