/* status_ask.c - asks the nodes of a group, and finds out what is wrong with it. */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "base/env.h"
#include "base/text.h"
#include "base/thread.h"
#include "tools/status.h"

#define ASKERS 32 /* nodes that do not answer are waited for side by side */

struct round {
	struct wh_report *report;
	const struct wh_report_whom *whom;
	int timeout_ms;
	wh_word next; /* id to ask */
};

static void tell_failure(struct wh_report_node *node, const struct wh_error *err)
{
	if (node->result != WHORL_OK)
		snprintf(node->text, sizeof node->text, "%.*s", (int)sizeof node->text - 1,
			 err->text[0] != '\0' ? err->text : whorl_result_text(node->result));
}

static void query_one(const struct round *round, uint32_t id)
{
	struct wh_report_node *node = &round->report->nodes[id];
	struct wh_error err = {.text = ""};

	if (!round->whom->by_file) {
		node->result = whorl_status_get(round->whom->group, id, round->timeout_ms, &node->status, node->text,
						sizeof node->text);
		return;
	}
	node->result = wh_inquiry_send(&round->whom->inquiry, id, round->timeout_ms, &node->status, &err);
	tell_failure(node, &err);
}

static void *ask_nodes(void *ctx)
{
	struct round *round = ctx;
	uint64_t id;

	while ((id = wh_fetch_add(&round->next, 1)) < WH_NODES_MAX)
		query_one(round, (uint32_t)id);
	return NULL;
}

/* A view that is further; the leader's own word before another's. */
static bool speaks_rather(const struct whorl_status *one, const struct whorl_status *than)
{
	if (than == NULL || one->view != than->view)
		return than == NULL || one->view > than->view;
	return one->id == one->leader && than->id != than->leader;
}

static void choose_speaker(struct wh_report *report)
{
	report->speaker = NULL;
	for (uint32_t id = 0; id < WH_NODES_MAX; id++) {
		const struct whorl_status *status = report->nodes[id].status;

		if (status != NULL && status->member_count > 0 && status->standing != WHORL_HAS_FAILED &&
		    speaks_rather(status, report->speaker))
			report->speaker = status;
	}
}

/* Which node it is stands in the answer. */
static void query_at(struct wh_report *report, struct wh_report_whom *whom, int timeout_ms)
{
	struct wh_report_node found = {.result = WHORL_NOT_FOUND};
	struct wh_error err = {.text = ""};

	found.result = wh_status_get_at(whom->address, &whom->verbs, timeout_ms, &found.status, &err);
	tell_failure(&found, &err);
	report->only = found.status != NULL ? (int)found.status->id : 0;
	report->nodes[report->only] = found;
	if (found.status != NULL)
		snprintf(report->group, sizeof report->group, "%s", found.status->group);
}

void wh_report_make(struct wh_report *report, struct wh_report_whom *whom, int only, int timeout_ms)
{
	struct round round = {.report = report, .whom = whom, .timeout_ms = timeout_ms};
	pthread_t threads[ASKERS];
	uint32_t count = 0;

	*report = (struct wh_report){.only = only, .by_file = whom->by_file, .at_ns = wh_clock_ns()};
	snprintf(report->group, sizeof report->group, "%s", whom->group);
	for (uint32_t id = 0; id < WH_NODES_MAX; id++)
		report->nodes[id].result = WHORL_NOT_FOUND;
	if (whom->address != NULL) {
		query_at(report, whom, timeout_ms);
	} else if (only >= 0) {
		query_one(&round, (uint32_t)only);
	} else {
		while (count < ASKERS &&
		       wh_thread_create(&threads[count], "asker", -1, ask_nodes, &round, NULL) == WHORL_OK)
			count++;
		ask_nodes(&round);
		while (count > 0)
			pthread_join(threads[--count], NULL);
	}
	choose_speaker(report);
}

void wh_status_report_free(struct wh_report *report)
{
	for (uint32_t id = 0; id < WH_NODES_MAX; id++) {
		whorl_status_free(report->nodes[id].status);
		report->nodes[id].status = NULL;
	}
}

bool wh_report_is_empty(const struct wh_report *report)
{
	for (uint32_t id = 0; id < WH_NODES_MAX; id++)
		if (report->nodes[id].result != WHORL_NOT_FOUND)
			return false;
	return true;
}

bool wh_report_has_answer(const struct wh_report *report)
{
	for (uint32_t id = 0; id < WH_NODES_MAX; id++)
		if (report->nodes[id].status != NULL)
			return true;
	return false;
}

const char *wh_report_answer(enum whorl_result result)
{
	return result == WHORL_TIMEOUT     ? "silent"
	       : result == WHORL_NOT_FOUND ? "gone"
	       : result == WHORL_AGAIN     ? "unreached"
	       : result == WHORL_REFUSED   ? "refused"
					   : "unclear";
}

const char *wh_report_standing(const struct whorl_status *status)
{
	static const char *const words[] = {"seeking", "forming", "invited", "member", "leaving", "failed"};

	if (status->standing == WHORL_HAS_FAILED && status->result == WHORL_REMOVED)
		return "removed";
	if (status->standing == WHORL_HAS_FAILED && status->result == WHORL_CUT_OFF)
		return "cut off";
	if (status->standing == WHORL_HAS_FAILED && status->result == WHORL_REFUSED)
		return "refused";
	if (status->standing == WHORL_IS_MEMBER && !status->ready)
		return "restoring";
	return words[status->standing];
}

const char *wh_report_change(enum whorl_change_step step)
{
	static const char *const words[] = {"none",         "suspecting", "preparing", "wedged",
					    "acknowledged", "decided",    "settled"};

	return words[step];
}

const char *wh_report_mode(const struct whorl_status_shard *shard)
{
	return shard->durable ? "durable" : shard->ordered ? "ordered" : "unordered";
}

const char *wh_report_restart(enum whorl_restart_step step)
{
	static const char *const words[] = {"none", "looks", "asks", "agrees", "begins"};

	return words[step];
}

const struct whorl_status *wh_report_restarter(const struct wh_report *report)
{
	const struct whorl_status *best = NULL;

	for (uint32_t id = 0; report->speaker == NULL && id < WH_NODES_MAX; id++) {
		const struct whorl_status *status = report->nodes[id].status;

		if (status != NULL && status->restart != WHORL_RESTART_NONE &&
		    (best == NULL || status->restart > best->restart))
			best = status;
	}
	return best;
}

const char *wh_report_missing(const struct whorl_status *status, char *text, size_t bytes)
{
	text[0] = '\0';
	for (uint32_t i = 0; i < status->missing_count; i++) {
		const struct whorl_status_missing *missing = &status->missing[i];

		wh_text_add(text, bytes, "%s%u", i > 0 ? ", " : "", missing->id);
		if (missing->address[0] != '\0')
			wh_text_add(text, bytes, " (%s)", missing->address);
	}
	return text;
}

#define HANGS_PART 4 /* of disk_timeout_ms */

bool wh_report_disk_hangs(const struct whorl_status *status)
{
	return status->disk_timeout_ms > 0 && status->disk_busy_ms >= status->disk_timeout_ms / HANGS_PART;
}

const char *wh_report_complaint(enum whorl_complaint kind)
{
	static const char *const words[WHORL_COMPLAINTS] = {"unproven", "foreign", "garbled",   "silent",
							    "crowded",  "refused", "unreached", "starved"};

	return words[kind];
}

bool wh_report_tells_complaints(const struct whorl_status *status)
{
	return status->stats->size > offsetof(struct whorl_node_stats, complaints);
}

const struct whorl_status_member *wh_report_member(const struct whorl_status *status, uint32_t id)
{
	for (uint32_t i = 0; i < status->member_count; i++)
		if (status->members[i].id == id)
			return &status->members[i];
	return NULL;
}

const struct whorl_status_shard *wh_report_shard(const struct whorl_status *status, const char *name, uint32_t shard)
{
	for (uint32_t i = 0; i < status->shard_count; i++)
		if (status->shards[i].condition != WHORL_SHARD_GONE && status->shards[i].shard == shard &&
		    strcmp(status->shards[i].name, name) == 0)
			return &status->shards[i];
	return NULL;
}

/* ---- what is wrong ------------------------------------------------------------------------------------------------------- */

struct judge {
	const struct wh_report *report;
	wh_report_say_fn *say;
	void *ctx;
	uint32_t count;
};

static void add_complaint(struct judge *judge, const char *format, ...) WH_PRINTF(2, 3);
static void add_complaint(struct judge *judge, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	judge->say(judge->ctx, line);
	judge->count++;
}

/* Do both know the same members in the view of that number? */
static bool is_same_view(const struct whorl_status *one, const struct whorl_status *other)
{
	bool same = one->view == other->view && one->member_count == other->member_count;

	for (uint32_t i = 0; same && i < one->member_count; i++)
		same = one->members[i].id == other->members[i].id &&
		       one->members[i].incarnation == other->members[i].incarnation;
	return same;
}

static const char *list_members(const struct whorl_status *status, char *text, size_t bytes)
{
	text[0] = '\0';
	for (uint32_t i = 0; i < status->member_count; i++)
		wh_text_add_id(text, bytes, " ", status->members[i].id);
	return text;
}

/* The first node that answers for another group than the speaker's; NULL: there is none. */
static const struct whorl_status *find_other(const struct wh_report *report)
{
	for (uint32_t id = 0; id < WH_NODES_MAX; id++) {
		const struct whorl_status *status = report->nodes[id].status;

		if (status != NULL && status->standing != WHORL_HAS_FAILED && status->member_count > 0 &&
		    status->identity != report->speaker->identity)
			return status;
	}
	return NULL;
}

/* Two groups of one name: what answers, or what the speaker has met. */
static void judge_groups(struct judge *judge)
{
	const struct whorl_status *speaker = judge->report->speaker, *other = find_other(judge->report);
	char here[256], there[256];

	if (other == NULL && speaker->other == 0)
		return;
	list_members(speaker, here, sizeof here);
	if (other != NULL)
		add_complaint(judge,
			      "there are two groups of this name: %016" PRIx64 " with nodes %s, and %016" PRIx64
			      " with nodes %s; end the nodes of one of them",
			      speaker->identity, here, other->identity, list_members(other, there, sizeof there));
	else
		add_complaint(judge,
			      "there are two groups of this name: %016" PRIx64
			      " with nodes %s, which have met members of %016" PRIx64 "; end the nodes of one of them",
			      speaker->identity, here, speaker->other);
}

/* It tries again and again, and others may wait for it; in the end it leaves. */
static void judge_disk(struct judge *judge, const struct whorl_status *status)
{
	if (status->disk_full_ms > 0)
		add_complaint(judge,
			      "the disk of node %u has been full for %" PRIu64
			      " ms: it tries again, and leaves after %u ms (group.disk_timeout_ms)",
			      status->id, status->disk_full_ms, status->disk_timeout_ms);
	else if (wh_report_disk_hangs(status))
		add_complaint(judge,
			      "the disk of node %u has not answered for %" PRIu64
			      " ms: it leaves after %u ms (group.disk_timeout_ms)",
			      status->id, status->disk_busy_ms, status->disk_timeout_ms);
}

static void judge_restart(struct judge *judge)
{
	const struct whorl_status *status = wh_report_restarter(judge->report);
	char missing[768];

	if (status == NULL)
		return;
	if (status->missing_count > 0)
		add_complaint(judge,
			      "the group is restarted from its logs, and members of view %" PRIu64
			      " have not come back with their disks: node %s",
			      status->restart_view, wh_report_missing(status, missing, sizeof missing));
	else
		add_complaint(judge, "the group is restarted from its logs: %s", status->progress);
}

static void judge_answer(struct judge *judge, const struct whorl_status *status)
{
	const struct whorl_status *speaker = judge->report->speaker;

	if (status->standing == WHORL_HAS_FAILED) {
		add_complaint(judge, "node %u has failed: %s", status->id,
			      status->error[0] != '\0' ? status->error : whorl_result_text(status->result));
		return;
	}
	judge_disk(judge, status);
	if (status->member_count == 0)
		return;
	if (status->result == WHORL_NO_QUORUM || !status->quorum)
		add_complaint(judge, "node %u hears no quorum%s%s", status->id, status->error[0] != '\0' ? ": " : "",
			      status->error);
	if (status->identity != speaker->identity)
		return; /* judge_groups has said so */
	if (status->view != speaker->view)
		add_complaint(judge, "node %u is in view %" PRIu64 ", node %u in view %" PRIu64, status->id,
			      status->view, speaker->id, speaker->view);
	else if (!is_same_view(status, speaker))
		add_complaint(judge, "nodes %u and %u are in different views of the same number, %" PRIu64, status->id,
			      speaker->id, status->view);
}

/* A member of the view that does not speak as one. */
static void judge_member(struct judge *judge, const struct whorl_status_member *member)
{
	const struct whorl_status *speaker = judge->report->speaker;
	const struct wh_report_node *node = &judge->report->nodes[member->id];

	if (node->result == WHORL_NOT_FOUND && judge->report->only < 0)
		add_complaint(judge, "node %u is a member of view %" PRIu64 ", and is not running", member->id,
			      speaker->view);
	else if (node->status != NULL && node->status->incarnation != member->incarnation)
		add_complaint(judge, "node %u has been started anew, and view %" PRIu64 " has the one before",
			      member->id, speaker->view);
	if (member->suspicion == WHORL_HAS_LEFT)
		add_complaint(judge, "node %u leaves: the next view will be without it", member->id);
	else if (member->suspicion == WHORL_IS_FAILED)
		add_complaint(judge, "node %u suspects node %u: the next view will be without it", speaker->id,
			      member->id);
	else if (member->suspicion == WHORL_IS_DEAD)
		add_complaint(judge, "node %u is dead: the next view will be without it", member->id);
	else if (member->overdue)
		add_complaint(judge, "node %u has not heard node %u for %" PRIu64 " ms", speaker->id, member->id,
			      member->heard_ms);
}

static void judge_shard(struct judge *judge, const struct whorl_status_shard *shard)
{
	char which[96];

	snprintf(which, sizeof which, "%s", shard->name);
	if (shard->shards > 1)
		snprintf(which, sizeof which, "shard %u of %s", shard->shard, shard->name);
	if (shard->dormant) /* nothing is missed, as no node wishes it, or it waits and says so */
		return;
	if (shard->lost)
		add_complaint(judge, "%s is lost: no member has survived, and its state is gone", which);
	else if (shard->senders == 0)
		add_complaint(judge, "%s has no sender: it waits", which);
	else if (shard->condition == WHORL_SHARD_INACTIVE)
		add_complaint(judge, "%s has too few members (%u): it waits", which, shard->members);
}

/* A host that is down and has no member in the view is as it should be, or that cannot be known. */
static bool is_missed(const struct wh_report *report, uint32_t id)
{
	return report->nodes[id].result != WHORL_AGAIN || report->speaker == NULL ||
	       wh_report_member(report->speaker, id) != NULL;
}

uint32_t wh_report_judge(const struct wh_report *report, wh_report_say_fn *say, void *ctx)
{
	struct judge judge = {.report = report, .say = say, .ctx = ctx};
	const struct whorl_status *speaker = report->speaker;
	bool refused = false;

	if (speaker == NULL && wh_report_has_answer(report))
		add_complaint(&judge, "there is no view: nobody is a member");
	judge_restart(&judge);
	if (speaker != NULL)
		judge_groups(&judge);
	for (uint32_t id = 0; id < WH_NODES_MAX; id++) {
		const struct wh_report_node *node = &report->nodes[id];

		if (node->status != NULL)
			judge_answer(&judge, node->status);
		else if (node->result == WHORL_TIMEOUT)
			add_complaint(
				&judge,
				"node %u is there and does not answer: it is stopped, not started, or in a long upcall",
				id);
		else if (node->result != WHORL_NOT_FOUND && is_missed(report, id))
			add_complaint(&judge, "node %u: %s", id, node->text);
		refused |= node->result == WHORL_REFUSED;
	}
	if (refused && !wh_report_has_answer(report) && !report->by_file)
		add_complaint(
			&judge,
			"a group with a cluster key or TLS tells nothing to a program that has neither: ask with its file, `whorl status FILE.ini`");
	for (uint32_t i = 0; speaker != NULL && i < speaker->member_count; i++)
		judge_member(&judge, &speaker->members[i]);
	for (uint32_t i = 0; speaker != NULL && i < speaker->shard_count; i++)
		judge_shard(&judge, &speaker->shards[i]);
	return judge.count;
}
