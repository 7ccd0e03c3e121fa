/* status_json.c - a report for programs: one JSON object for each node, a line each.
 *
 * The keys are a stable interface (docs/operations.md): a later version only adds some. What is not known is null. Incarnations are
 * strings of 16 hexadecimal digits: they do not fit into the numbers that many readers of JSON have.
 */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "tools/status.h"

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
	set_value(object, key, json_string(value)); /* NULL, if it is not UTF-8: then the key is missing */
}

static void set_node(json_t *object, const char *key, uint32_t id)
{
	set_value(object, key, id == WHORL_NOBODY ? json_null() : json_integer(id));
}

/* Numbers of 64 bits that are names. */
static void set_name(json_t *object, const char *key, uint64_t name)
{
	char text[24];

	snprintf(text, sizeof text, "%016" PRIx64, name);
	set_text(object, key, text);
}

#define COUNTS(object, ...)                                                                                            \
	do {                                                                                                           \
		const struct {                                                                                         \
			const char *key;                                                                               \
			uint64_t value;                                                                                \
		} counts_[] = {__VA_ARGS__};                                                                           \
		for (size_t c_ = 0; c_ < sizeof counts_ / sizeof counts_[0]; c_++)                                     \
			set_count(object, counts_[c_].key, counts_[c_].value);                                         \
	} while (0)
#define COUNT(from, field)                                                                                             \
	{                                                                                                              \
#field, (from)->field                                                                                  \
	}

static json_t *times_of(const uint64_t *ns, const char *const *names, size_t count)
{
	json_t *object = json_object();

	for (size_t i = 0; i < count; i++)
		set_value(object, names[i], ns[i] != 0 ? json_integer((json_int_t)ns[i]) : json_null());
	return object;
}

static json_t *complaints_of(const struct whorl_status *status)
{
	json_t *object;

	if (!wh_report_tells_complaints(status))
		return json_null();
	object = json_object();
	for (uint32_t kind = 0; kind < WHORL_COMPLAINTS; kind++)
		set_count(object, wh_report_complaint((enum whorl_complaint)kind), status->stats->complaints[kind]);
	return object;
}

static json_t *node_stats(const struct whorl_status *status)
{
	const struct whorl_node_stats *s = status->stats;

	static const char *const stages[WHORL_STAGES] = {"wedged", "proposed",  "acknowledged", "decided",
							 "agreed", "installed", "delivered"};
	static const char *const entries[WHORL_ENTRIES] = {"met", "invited", "there", "begun", "restored"};
	json_t *object = json_object();

	COUNTS(object, COUNT(s, steps), COUNT(s, idle_steps), COUNT(s, yields), COUNT(s, sleeps), COUNT(s, pushes),
	       COUNT(s, writes), COUNT(s, bytes_pushed), COUNT(s, posts), COUNT(s, post_ns), COUNT(s, heartbeats),
	       COUNT(s, memory_bytes), COUNT(s, views), COUNT(s, state_given), COUNT(s, state_taken),
	       COUNT(s, state_kept), COUNT(s, gives), COUNT(s, takes));
	set_value(object, "change_ns", times_of(s->change_ns, stages, WHORL_STAGES));
	set_value(object, "entry_ns", times_of(s->entry_ns, entries, WHORL_ENTRIES));
	set_value(object, "complaints", complaints_of(status));
	return object;
}

static json_t *batch_of(const struct whorl_batch_stats *s)
{
	json_t *object = json_object();

	COUNTS(object, COUNT(s, batches), COUNT(s, events));
	set_value(object, "mean", s->batches > 0 ? json_real((double)s->events / (double)s->batches) : json_null());
	return object;
}

static json_t *subgroup_stats(const struct whorl_subgroup_stats *s)
{
	json_t *object = json_object();

	COUNTS(object, COUNT(s, claimed), COUNT(s, sent), COUNT(s, aborted), COUNT(s, resent), COUNT(s, dropped),
	       COUNT(s, in_doubt), COUNT(s, delivered), COUNT(s, delivered_bytes), COUNT(s, nulls),
	       COUNT(s, received_num), COUNT(s, delivered_num), COUNT(s, window_full), COUNT(s, window_wait_ns),
	       COUNT(s, upcall_longest_ns), COUNT(s, slowest_member), COUNT(s, slowest_behind), COUNT(s, refusals),
	       COUNT(s, refused_kept), COUNT(s, relayed), COUNT(s, relayed_bytes));
	set_value(object, "open_claim", s->open_claim != 0 ? json_integer((json_int_t)s->open_claim - 1) : json_null());
	set_value(object, "send", batch_of(&s->send));
	set_value(object, "receive", batch_of(&s->receive));
	set_value(object, "deliver", batch_of(&s->deliver));
	return object;
}

static json_t *places_of(const struct whorl_status_shard *shard)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < shard->place_count; i++) {
		const struct whorl_status_place *place = &shard->places[i];
		json_t *object = json_object();

		set_node(object, "node", place->id);
		set_value(object, "sends", json_boolean(place->sends));
		set_value(object, "rests", json_boolean(place->rests));
		set_count(object, "received_num", place->received_num);
		set_count(object, "delivered_num", place->delivered_num);
		set_value(object, "persisted_num",
			  shard->durable ? json_integer((json_int_t)place->persisted_num) : json_null());
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *log_of(const struct whorl_log_stats *s)
{
	json_t *object;

	if (s == NULL)
		return json_null();
	object = json_object();
	COUNTS(object, COUNT(s, persisted), COUNT(s, persisted_by_all), COUNT(s, segments), COUNT(s, bytes),
	       COUNT(s, used_bytes), COUNT(s, batches), COUNT(s, syncs), COUNT(s, longest_sync_ns),
	       COUNT(s, checkpoints), COUNT(s, slowest_behind), COUNT(s, written_batches), COUNT(s, written_messages),
	       COUNT(s, written_bytes));
	COUNTS(object, COUNT(s, checks));
	set_value(object, "whole", json_boolean(s->whole));
	set_value(object, "rot", json_boolean(s->rot));
	set_node(object, "slowest_member", s->slowest_member);
	return object;
}

/* null: nothing is durable, or it does not say. */
static json_t *disk_of(const struct whorl_status *status)
{
	json_t *object;

	if (status->disk_timeout_ms == 0)
		return json_null();
	object = json_object();
	set_count(object, "busy_ms", status->disk_busy_ms);
	set_count(object, "full_ms", status->disk_full_ms);
	set_count(object, "timeout_ms", status->disk_timeout_ms);
	return object;
}

static json_t *restart_of(const struct whorl_status *status)
{
	json_t *object, *missing;

	if (status->restart == WHORL_RESTART_NONE)
		return json_null();
	object = json_object();
	missing = json_array();
	for (uint32_t i = 0; i < status->missing_count; i++) {
		json_t *node = json_object();

		set_node(node, "node", status->missing[i].id);
		set_text(node, "address", status->missing[i].address);
		json_array_append_new(missing, node);
	}
	set_text(object, "step", wh_report_restart(status->restart));
	set_node(object, "coordinator", status->coordinator);
	set_count(object, "view", status->restart_view);
	set_value(object, "missing", missing);
	return object;
}

static json_t *shards_of(const struct whorl_status *status)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < status->shard_count; i++) {
		const struct whorl_status_shard *s = &status->shards[i];
		bool mine = s->condition != WHORL_SHARD_GONE;
		json_t *object = json_object();

		set_text(object, "subgroup", s->name);
		set_text(object, "mode", wh_report_mode(s));
		set_value(object, "member", json_boolean(mine));
		set_value(object, "active", mine ? json_boolean(s->condition == WHORL_SHARD_ACTIVE) : json_null());
		set_value(object, "lost", json_boolean(s->lost));
		set_value(object, "dormant", json_boolean(s->dormant));
		set_value(object, "last_view", s->dormant ? json_integer((json_int_t)s->last_view) : json_null());
		COUNTS(object, COUNT(s, shard), COUNT(s, shards), COUNT(s, members), COUNT(s, senders),
		       COUNT(s, resting), COUNT(s, window), COUNT(s, message_bytes), COUNT(s, large_bytes),
		       COUNT(s, relay_bytes));
		set_value(object, "stats", mine ? subgroup_stats(s->stats) : json_null());
		set_value(object, "places", places_of(s));
		set_value(object, "log", log_of(s->log));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *workers_of(const struct whorl_status *status)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < status->worker_count; i++) {
		const struct whorl_status_worker *s = &status->workers[i];
		json_t *object = json_object();

		set_count(object, "worker", i);
		COUNTS(object, COUNT(s, open_ns), COUNT(s, calls), COUNT(s, lent_calls), COUNT(s, batches),
		       COUNT(s, batch_calls), COUNT(s, largest_batch), COUNT(s, deferred), COUNT(s, refused),
		       COUNT(s, functions_ns), COUNT(s, looking_ns), COUNT(s, properties), COUNT(s, fibers),
		       COUNT(s, fibers_started), COUNT(s, passes), COUNT(s, sleeps));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *members_of(const struct whorl_status *status)
{
	static const char *const suspicions[] = {"trusted", "left", "failed", "dead"};
	json_t *array = json_array();

	for (uint32_t i = 0; i < status->member_count; i++) {
		const struct whorl_status_member *member = &status->members[i];
		json_t *object = json_object();

		set_node(object, "node", member->id);
		set_name(object, "incarnation", member->incarnation);
		set_count(object, "heard_ms", member->heard_ms);
		set_text(object, "suspicion", suspicions[member->suspicion]);
		set_value(object, "overdue", json_boolean(member->overdue));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *view_of(const struct whorl_status *status)
{
	json_t *object;

	if (status->member_count == 0)
		return json_null();
	object = json_object();
	set_count(object, "number", status->view);
	set_value(object, "members", members_of(status));
	set_node(object, "leader", status->leader);
	set_node(object, "tie_breaker", status->tie_breaker);
	set_count(object, "voters", status->voters);
	set_value(object, "quorum", json_boolean(status->quorum));
	set_text(object, "change", wh_report_change(status->change));
	set_count(object, "change_ms", status->change_ms);
	return object;
}

static void set_status(json_t *object, const struct whorl_status *status)
{
	set_text(object, "version", status->version);
	set_count(object, "pid", status->pid);
	set_name(object, "incarnation", status->incarnation);
	set_name(object, "identity", status->identity);
	set_name(object, "other_group", status->other);
	set_text(object, "standing", wh_report_standing(status));
	set_value(object, "ready", json_boolean(status->ready));
	set_text(object, "progress", status->progress);
	set_text(object, "error", status->error);
	set_count(object, "failure_timeout_ms", status->failure_timeout_ms);
	set_value(object, "view", view_of(status));
	set_value(object, "shards", shards_of(status));
	set_count(object, "shards_left_off", status->shards_left_off);
	set_value(object, "workers", workers_of(status));
	set_value(object, "disk", disk_of(status));
	set_value(object, "restart", restart_of(status));
	set_value(object, "stats", node_stats(status));
}

static uint64_t wall_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void wh_report_print_json(FILE *out, const struct wh_report *report)
{
	uint64_t now = wall_clock_ms();

	for (uint32_t id = 0; id < WH_NODES_MAX; id++) {
		const struct wh_report_node *node = &report->nodes[id];
		bool member = report->speaker != NULL && wh_report_member(report->speaker, id) != NULL;
		json_t *object;

		if (node->result == WHORL_NOT_FOUND && (!member || report->only >= 0))
			continue;
		object = json_object();
		set_count(object, "time_ms", now);
		set_text(object, "group", report->group);
		set_node(object, "node", id);
		set_text(object, "answer", node->result == WHORL_OK ? "ok" : wh_report_answer(node->result));
		set_text(object, "text", node->text);
		if (node->status != NULL)
			set_status(object, node->status);
		json_dumpf(object, out, JSON_COMPACT);
		fputc('\n', out);
		json_decref(object);
	}
}
