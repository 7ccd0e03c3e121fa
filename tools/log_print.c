/* log_print.c - what a node has on disk, for people and for programs. The keys of the JSON are a stable interface (docs/operations.md): a later
 * version only adds some.
 */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/text.h"
#include "tools/log.h"

/* ---- for people ------------------------------------------------------------------------------------------------------------ */

/* The identity of its group. Its standing says so, where there is one: the files are of the first that the directory was made for. */
static uint64_t group_of(const struct wh_logs_report *report)
{
	return report->standing_result == WHORL_OK && !wh_standing_is_blank(&report->standing) ? report->standing.group
											       : report->identity.group;
}

static void print_standing(FILE *out, const struct wh_logs_report *report)
{
	const struct wh_standing *standing = &report->standing;

	if (report->standing_result != WHORL_OK) {
		fprintf(out, "  standing: unreadable: %s\n", report->standing_err.text);
		return;
	}
	if (wh_standing_is_blank(standing)) {
		fputs("  standing: blank\n", out);
		return;
	}
	fprintf(out, "  standing: view %" PRIu64 ", key %016" PRIx64 "%s%s%s%s\n", standing->number, standing->base,
		standing->first ? ", a first view" : "", standing->left ? ", left in order" : "",
		standing->alone ? ", begun anew" : "", report->passed_over ? "; one of its copies does not check" : "");
	if (standing->ballot != 0)
		fprintf(out, "    agreed to the view of key %016" PRIx64 " by ballot %" PRIu64 "\n", standing->next,
			standing->ballot);
	if (standing->promised != 0)
		fprintf(out, "    promised ballot %" PRIu64 "\n", standing->promised);
	for (uint32_t i = 0; i < standing->shard_count; i++)
		fprintf(out, "    subgroup %" PRIu64 ", shard %" PRIu32 ": %s%s\n", standing->shards[i].subgroup,
			standing->shards[i].shard, standing->shards[i].whole ? "whole" : "not whole",
			standing->shards[i].left ? ", left" : "");
}

static void print_views(FILE *out, const struct wh_log *log)
{
	struct wh_log_point end = wh_log_end(log);
	uint32_t count, gaps = 0;
	const struct wh_log_view *views = wh_log_views(log, &count);

	if (count == 0)
		return;
	for (uint32_t i = 0; i < count; i++)
		gaps += views[i].gap;
	fprintf(out,
		"    views %" PRIu64 " to %" PRIu64 ", the last up to place %" PRIu64 ", on all disks up to %" PRIu64
		"\n",
		views[0].number, end.number, end.place, views[count - 1].frontier);
	if (gaps > 0)
		fprintf(out, "    something is missing before %" PRIu32 " of them\n", gaps);
}

static void print_log(FILE *out, const struct wh_log_report *report)
{
	struct wh_log_statistics statistics;
	struct wh_log_position position;
	struct wh_log_owner owner;

	if (report->result != WHORL_OK) {
		fprintf(out, "  log %s: unreadable: %s\n", report->files, report->err.text);
		return;
	}
	owner = *wh_log_owner(report->log);
	wh_text_tame(owner.subgroup, sizeof(owner.subgroup));
	if (owner.group != 0)
		fprintf(out, "  log of %s, shard %" PRIu32 ": %s\n", owner.subgroup, owner.shard,
			wh_log_report_verdict(report));
	else
		fprintf(out, "  log %s: %s\n", report->files, wh_log_report_verdict(report));
	if (report->found.why[0] != '\0')
		fprintf(out, "    %s%sat %" PRIu64 ": %s\n", report->found.file,
			report->found.file[0] != '\0' ? " " : "", report->found.offset, report->found.why);
	wh_log_statistics(report->log, &statistics);
	fprintf(out,
		"    segments: %" PRIu64 ", %" PRIu64 " bytes, %" PRIu64 " used; batches: %" PRIu64 " to %" PRIu64
		"%s\n",
		statistics.segments, statistics.bytes, statistics.used, statistics.first, statistics.batches,
		wh_log_is_capped(report->log) ? "" : ", without a cap");
	if (report->found.verdict != WH_LOG_ROT)
		print_views(out, report->log);
	if (wh_log_position(report->log, &position))
		fprintf(out, "    checkpoint: view %" PRIu64 ", place %" PRIu64 "; %" PRIu64 " bytes\n",
			position.point.number, position.point.place, statistics.checkpoint_bytes);
}

void wh_logs_report_print(FILE *out, const struct wh_logs_report *report)
{
	if (report->identity_result == WHORL_OK)
		fprintf(out, "%s: node %" PRIu32 " of %s, identity %016" PRIx64 "\n", report->path,
			report->identity.node, report->identity.name, group_of(report));
	else
		fprintf(out, "%s: %s\n", report->path,
			report->identity_result == WHORL_NOT_FOUND ? "there is no identity"
								   : report->identity_err.text);
	print_standing(out, report);
	for (uint32_t i = 0; i < report->count; i++)
		print_log(out, &report->logs[i]);
}

/* ---- for programs ---------------------------------------------------------------------------------------------------------- */

/* jansson's functions take a value over, and refuse one that is NULL: when memory is out a key is missing, or all. */
static void set_value(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_count(json_t *object, const char *key, uint64_t value)
{
	set_value(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *value)
{
	set_value(object, key, json_string(value));
}

/* Numbers of 64 bits that are names. */
static void set_name(json_t *object, const char *key, uint64_t name)
{
	char text[24];

	snprintf(text, sizeof text, "%016" PRIx64, name);
	set_text(object, key, text);
}

static json_t *standing_of(const struct wh_logs_report *report)
{
	const struct wh_standing *standing = &report->standing;
	json_t *object = json_object(), *shards = json_array();

	set_count(object, "view", standing->number);
	set_name(object, "key", standing->base);
	set_value(object, "first", json_boolean(standing->first));
	set_value(object, "left", json_boolean(standing->left));
	set_value(object, "begun_anew", json_boolean(standing->alone));
	set_count(object, "promised", standing->promised);
	set_count(object, "ballot", standing->ballot);
	set_name(object, "next", standing->next);
	set_value(object, "slot_damaged", json_boolean(report->passed_over));
	for (uint32_t i = 0; i < standing->shard_count; i++) {
		json_t *shard = json_object();

		set_count(shard, "subgroup", standing->shards[i].subgroup);
		set_count(shard, "shard", standing->shards[i].shard);
		set_value(shard, "whole", json_boolean(standing->shards[i].whole));
		set_value(shard, "left", json_boolean(standing->shards[i].left));
		json_array_append_new(shards, shard);
	}
	set_value(object, "shards", shards);
	return object;
}

static json_t *view_of(const struct wh_log_view *view)
{
	json_t *object = json_object(), *senders = json_array();

	set_count(object, "view", view->number);
	set_name(object, "key", view->key);
	set_count(object, "end", view->end);
	set_count(object, "void_end", view->void_end);
	set_count(object, "frontier", view->frontier);
	set_value(object, "gap", json_boolean(view->gap));
	for (uint32_t i = 0; i < view->sender_count; i++) {
		json_t *sender = json_object();

		set_count(sender, "node", view->senders[i].id);
		set_name(sender, "incarnation", view->senders[i].incarnation);
		json_array_append_new(senders, sender);
	}
	set_value(object, "senders", senders);
	return object;
}

static json_t *point_of(const struct wh_log_point *point)
{
	json_t *object = json_object();

	set_count(object, "view", point->number);
	set_name(object, "key", point->key);
	set_count(object, "place", point->place);
	return object;
}

static json_t *checkpoint_of(const struct wh_log *log, uint64_t bytes)
{
	struct wh_log_position position;
	json_t *object;

	if (!wh_log_position(log, &position))
		return json_null();
	object = point_of(&position.point);
	set_count(object, "bytes", bytes);
	return object;
}

static void set_log(json_t *object, const struct wh_log_report *report)
{
	struct wh_log_point end = wh_log_end(report->log);
	struct wh_log_statistics statistics;
	struct wh_log_owner owner = *wh_log_owner(report->log);
	json_t *views = json_array();
	uint32_t count;
	const struct wh_log_view *of = wh_log_views(report->log, &count);

	wh_log_statistics(report->log, &statistics);
	wh_text_tame(owner.subgroup, sizeof(owner.subgroup));
	set_text(object, "subgroup", owner.subgroup);
	set_count(object, "shard", owner.shard);
	set_text(object, "file", report->found.file);
	set_count(object, "offset", report->found.offset);
	set_text(object, "why", report->found.why);
	set_count(object, "segments", statistics.segments);
	set_count(object, "bytes", statistics.bytes);
	set_count(object, "used_bytes", statistics.used);
	set_count(object, "first_batch", statistics.first);
	set_count(object, "batches", statistics.batches);
	set_value(object, "capped", json_boolean(wh_log_is_capped(report->log)));
	set_value(object, "end", point_of(&end));
	set_value(object, "checkpoint", checkpoint_of(report->log, statistics.checkpoint_bytes));
	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(views, view_of(&of[i]));
	set_value(object, "views", views);
}

static json_t *log_of(const struct wh_log_report *report)
{
	json_t *object = json_object();

	set_text(object, "files", report->files);
	set_text(object, "verdict", wh_log_report_verdict(report));
	if (report->result == WHORL_OK)
		set_log(object, report);
	else
		set_text(object, "why", report->err.text);
	return object;
}

void wh_logs_report_print_json(FILE *out, const struct wh_logs_report *report)
{
	json_t *object = json_object(), *logs = json_array();

	set_text(object, "directory", report->path);
	set_value(object, "good", json_boolean(wh_logs_report_is_good(report)));
	if (report->identity_result == WHORL_OK) {
		set_count(object, "node", report->identity.node);
		set_text(object, "group", report->identity.name);
		set_name(object, "identity", group_of(report));
		set_name(object, "made_for", report->identity.group);
	} else {
		set_text(object, "identity_error",
			 report->identity_result == WHORL_NOT_FOUND ? "there is none" : report->identity_err.text);
	}
	if (report->standing_result != WHORL_OK)
		set_text(object, "standing_error", report->standing_err.text);
	else
		set_value(object, "standing",
			  wh_standing_is_blank(&report->standing) ? json_null() : standing_of(report));
	for (uint32_t i = 0; i < report->count; i++)
		json_array_append_new(logs, log_of(&report->logs[i]));
	set_value(object, "logs", logs);
	json_dumpf(object, out, JSON_COMPACT);
	fputs("\n", out);
	json_decref(object);
}
