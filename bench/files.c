/* files.c - results as JSON, one object per run and line, and as CSV, one row per run.
 *
 * The keys of the JSON object are a stable interface (docs/benchmark.md): a later version only adds some. The CSV has
 * the same figures flat: a key within an object is `object.key`, a list is one cell.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "bench/bench.h"

struct wh_bench_files {
	FILE *json, *csv;
	const char *json_path, *csv_path;
	struct wh_bench_plot *plot;
	bool csv_has_head;
};

static FILE *open_one(const char *path)
{
	FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");

	if (file == NULL)
		wh_say("%s: %s", path, strerror(errno));
	return file;
}

enum whorl_result wh_bench_files_open(struct wh_bench_files **out, const char *json, const char *csv,
				      struct wh_bench_plot *plot)
{
	struct wh_bench_files *files = calloc(1, sizeof *files);

	*out = NULL;
	if (files == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return WHORL_MEMORY;
	}
	files->json_path = json;
	files->csv_path = csv;
	files->plot = plot;
	if ((json != NULL && (files->json = open_one(json)) == NULL) ||
	    (csv != NULL && (files->csv = open_one(csv)) == NULL)) {
		wh_bench_files_close(files);
		return WHORL_SYSTEM;
	}
	*out = files;
	return WHORL_OK;
}

bool wh_bench_files_close(struct wh_bench_files *files)
{
	bool good;

	if (files == NULL)
		return true;
	good = files->json == NULL || wh_close_file(files->json, files->json_path);
	good = (files->csv == NULL || wh_close_file(files->csv, files->csv_path)) && good;
	free(files);
	return good;
}

/* ---- the object ----------------------------------------------------------------------------------------------------------
 * jansson's functions take a value over, and refuse one that is NULL: when memory is out a key is missing, or all. */

static void set_value(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *integer_json(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* A figure of a run that is not timed is null: there is no such figure. */
static json_t *figure_json(const struct wh_bench_plan *plan, double value)
{
	return plan->deliveries == NULL ? json_real(value) : json_null();
}

static json_t *digest_json(uint64_t value)
{
	char text[17];

	snprintf(text, sizeof text, "%016" PRIx64, value);
	return json_string(text);
}

static json_t *latency_json(const struct wh_bench_plan *plan, const struct wh_bench_result *result)
{
	static const char *const names[] = WH_BENCH_LATENCIES;
	json_t *object;

	if (plan->options.latency_every == 0 || plan->deliveries != NULL)
		return json_null();
	object = json_object();
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		set_value(object, names[i], json_real(result->latency_us[i]));
	return object;
}

static json_t *batch_json(const struct whorl_batch_stats *stats)
{
	json_t *histogram = json_array();

	for (size_t i = 0; i < sizeof stats->histogram / sizeof stats->histogram[0]; i++)
		json_array_append_new(histogram, integer_json(stats->histogram[i]));
	return json_pack("{s:f,s:o}", "mean", stats->batches > 0 ? (double)stats->events / (double)stats->batches : 0.0,
			 "histogram", histogram);
}

static json_t *rate_before_json(const struct wh_bench_result *result, const struct wh_limit_rate *rate)
{
	return result->limited_before ? json_real(rate->bytes_per_s) : json_null();
}

/* What all limits have: the means, and both measurements. */
static json_t *rate_json(double bytes_per_s, double messages_per_s, json_t *before, const struct wh_limit_rate *after)
{
	return json_pack("{s:f,s:f,s:o,s:f}", "bytes_per_s", bytes_per_s, "messages_per_s", messages_per_s, "before",
			 before, "after", after->bytes_per_s);
}

/* The limits of tcp and verbs have two figures: the common keys are those of the first on tcp, of the second on verbs. */
static void set_writes(json_t *object, bool tcp, const struct wh_bench_result *result)
{
	json_t *common = rate_json(result->limit_bytes_per_s, result->limit_messages_per_s,
				   rate_before_json(result, &result->before.rate), &result->after.rate);
	json_t *other =
		tcp ? rate_json(result->best_write_bytes_per_s, result->best_write_messages_per_s,
				rate_before_json(result, &result->before.best_write), &result->after.best_write)
		    : rate_json(result->per_message_bytes_per_s, result->per_message_messages_per_s,
				rate_before_json(result, &result->before.per_message), &result->after.per_message);

	set_value(common, "fraction", json_real(result->fraction_of_limit));
	set_value(other, "fraction", json_real(tcp ? result->fraction_of_best_write : result->fraction_of_per_message));
	set_value(object, "per_message", tcp ? common : other);
	set_value(object, "best_write", tcp ? other : common);
}

/* Nothing where it was not measured. */
static void set_more(json_t *object, const char *name, json_t *rate, double messages_per_s, double fraction)
{
	set_value(rate, "fraction", json_real(fraction));
	if (messages_per_s > 0)
		set_value(object, name, json_incref(rate));
	json_decref(rate);
}

/* Of tcp with TLS, and of verbs. */
static void set_more_writes(json_t *object, const struct wh_bench_result *result)
{
	set_more(object, "sealed_write",
		 rate_json(result->sealed_write_bytes_per_s, result->sealed_write_messages_per_s,
			   rate_before_json(result, &result->before.sealed_write), &result->after.sealed_write),
		 result->sealed_write_messages_per_s, result->fraction_of_sealed_write);
	set_more(object, "stable_write",
		 rate_json(result->stable_write_bytes_per_s, result->stable_write_messages_per_s,
			   rate_before_json(result, &result->before.stable_write), &result->after.stable_write),
		 result->stable_write_messages_per_s, result->fraction_of_stable_write);
}

/* null: there are none. */
static json_t *trips_json(const double us[2])
{
	return us[WH_LIMIT_POLLING] > 0
		       ? json_pack("{s:f,s:f}", "polling", us[WH_LIMIT_POLLING], "sleeping", us[WH_LIMIT_SLEEPING])
		       : json_null();
}

static void set_trips(json_t *object, const struct wh_bench_plan *plan, const struct wh_bench_result *result)
{
	json_t *peers = json_array();

	set_value(object, "round_trip_us", trips_json(result->round_trip_us));
	set_value(object, "pattern_us", trips_json(result->pattern_us));
	set_value(object, "pattern_sent_apart_us", trips_json(result->sent_apart_us));
	for (uint32_t id = 0; id < plan->nodes; id++)
		json_array_append_new(peers, trips_json(result->after.peers[id].us));
	set_value(object, "peers_round_trip_us", wh_bench_is_whole(plan) ? json_null() : json_incref(peers));
	json_decref(peers);
}

static void set_syncs(json_t *object, const struct wh_bench_result *result)
{
	set_value(object, "sync_share",
		  json_pack("[ii]", (int)result->before.sync_share, (int)result->after.sync_share));
	set_value(object, "sync_direct", json_pack("[bb]", result->before.sync_direct, result->after.sync_direct));
	set_value(object, "written_bytes_per_s", json_real(result->written_bytes_per_s));
	set_value(object, "sync_us",
		  json_pack("{s:f,s:f}", "appended", result->sync_us[0], "written", result->sync_us[1]));
}

static json_t *limit_json(const struct wh_bench_plan *plan, const struct wh_bench_result *result)
{
	static const char *const names[] = {[WH_LIMIT_SHM] = "shm-rings",
					    [WH_LIMIT_TCP] = "tcp-sockets",
					    [WH_LIMIT_VERBS] = "verbs-writes",
					    [WH_LIMIT_DISK] = "disk-syncs"};
	enum wh_limit_kind kind = wh_bench_limit_kind(plan);
	json_t *object;

	if (!result->limited)
		return json_null();
	if (wh_bench_is_simulated(plan)) {
		object = rate_json(result->limit_bytes_per_s, result->limit_messages_per_s,
				   rate_before_json(result, &result->before.rate), &result->after.rate);
		set_value(object, "name", json_string("sim-link"));
		return object;
	}
	object = rate_json(result->limit_bytes_per_s, result->limit_messages_per_s,
			   rate_before_json(result, &result->before.rate), &result->after.rate);
	set_value(object, "name", json_string(names[kind]));
	if (kind == WH_LIMIT_DISK) {
		set_syncs(object, result);
		return object;
	}
	if (kind != WH_LIMIT_SHM)
		set_writes(object, kind == WH_LIMIT_TCP, result);
	set_more_writes(object, result);
	if (kind != WH_LIMIT_TCP) {
		set_value(object, "publish_every",
			  json_pack("[ii]", (int)result->before.publish_every, (int)result->after.publish_every));
		set_value(object, "prefetched_bytes_per_s",
			  json_real((result->before.prefetched_bytes_per_s + result->after.prefetched_bytes_per_s) / 2));
	}
	set_trips(object, plan, result);
	return object;
}

static json_t *ids_json(const uint32_t *list, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, integer_json(list[i]));
	return array;
}

static const char *mode_of(const struct wh_bench_subgroup *subgroup)
{
	return subgroup->durable ? "durable" : subgroup->ordered ? "ordered" : "unordered";
}

static json_t *subgroup_json(const struct wh_bench_run *run, uint32_t g, double seconds)
{
	const struct wh_bench_subgroup *subgroup = &run->plan->subgroups[g];
	uint64_t messages = 0, bytes = 0, nulls = 0;
	json_t *digests = json_array(), *object;
	uint32_t here = 0;

	for (uint32_t m = 0; m < subgroup->member_count; m++) {
		const struct wh_bench_part *part = wh_bench_part(&run->memory, run->plan, subgroup->members[m], g);
		bool is_here = wh_bench_is_here(run->plan, subgroup->members[m]);

		messages += wh_load_relaxed(&part->counted);
		bytes += wh_load_relaxed(&part->bytes);
		nulls += part->stats.nulls;
		here += is_here;
		json_array_append_new(digests, is_here ? digest_json(wh_load_relaxed(&part->digest)) : json_null());
	}
	here += here == 0; /* no member here has delivered anything */
	object =
		json_pack("{s:s,s:s,s:o,s:i,s:i,s:i,s:o}", "name", subgroup->name, "mode", mode_of(subgroup), "members",
			  ids_json(subgroup->members, subgroup->member_count), "senders", (int)subgroup->sender_count,
			  "window", (int)subgroup->window, "bytes", (int)subgroup->bytes, "order_digest", digests);
	set_value(object, "messages_per_s", figure_json(run->plan, (double)messages / here / seconds));
	set_value(object, "bytes_per_s", figure_json(run->plan, (double)bytes / here / seconds));
	set_value(object, "nulls", integer_json(nulls));
	set_value(object, "claim_batch", integer_json(subgroup->batch));
	return object;
}

/* One for each node, over the subgroups that it is a member of; null for a member of none, and for one that is not here. */
static json_t *order_digest(const struct wh_bench_run *run)
{
	const struct wh_bench_plan *plan = run->plan;
	json_t *array = json_array();

	for (uint32_t id = 0; id < plan->nodes; id++) {
		uint64_t sum = 0;
		uint32_t count = 0;

		for (uint32_t g = 0; g < plan->subgroup_count; g++) {
			const struct wh_bench_subgroup *subgroup = &plan->subgroups[g];

			if (!wh_bench_is_here(plan, id) ||
			    wh_rank_find(subgroup->members, subgroup->member_count, id) < 0)
				continue;
			sum = sum * 31 + wh_load_relaxed(&wh_bench_part(&run->memory, plan, id, g)->digest);
			count++;
		}
		json_array_append_new(array, count > 0 ? digest_json(sum) : json_null());
	}
	return array;
}

static json_t *idle_json(const struct wh_bench_plan *plan, const struct wh_bench_result *result)
{
	if (plan->options.idle_seconds == 0)
		return json_null();
	return json_pack("{s:f,s:f,s:I,s:I,s:I,s:f}", "seconds", result->idle_seconds, "cpu_fraction",
			 result->idle_cpu_fraction, "pushes", (json_int_t)result->idle_pushes, "heartbeats",
			 (json_int_t)result->idle_heartbeats, "sleeps", (json_int_t)result->idle_sleeps,
			 "next_message_us", result->idle_next_us);
}

/* null: nothing is durable. */
static json_t *disk_json(const struct wh_bench_plan *plan, const struct wh_bench_result *result)
{
	if (!plan->durable)
		return json_null();
	return json_pack("{s:s,s:I,s:I,s:f,s:f}", "log_dir", plan->log_dir, "batches", (json_int_t)result->log_batches,
			 "syncs", (json_int_t)result->log_syncs, "messages_per_sync", result->messages_per_sync,
			 "longest_sync_us", result->longest_sync_us);
}

static json_t *machine_json(void)
{
	struct utsname name = {.release = "unknown"};
	char model[128];
	cpu_set_t set;

	uname(&name);
	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof set, &set);
	return json_pack("{s:i,s:s,s:s}", "cpus", CPU_COUNT(&set), "model", wh_bench_cpu_model(model, sizeof model),
			 "kernel", name.release);
}

static json_t *doubts_json(const struct wh_bench_plan *plan, const struct wh_bench_result *result)
{
	static const char *const names[] = WH_BENCH_DOUBT_NAMES;
	uint32_t bits = wh_bench_doubts(plan, result);
	json_t *array = json_array();

	for (size_t d = 0; d < BENCH_DOUBTS; d++)
		if ((bits >> d & 1) != 0)
			json_array_append_new(array, json_string(names[d]));
	return array;
}

/* The choice `key` of a table, as it stands in a file. */
static json_t *choice_json(const struct wh_option_table *table, const char *key, int value)
{
	return json_string(wh_option_find(table, key)->choices[value]);
}

static void set_switches(json_t *object, const struct wh_engine_options *engine)
{
	set_value(object, "switches",
		  json_pack("{s:b,s:b,s:b,s:b,s:b}", "send_batching", engine->send_batching, "receive_batching",
			    engine->receive_batching, "delivery_batching", engine->delivery_batching, "null_sends",
			    engine->null_sends, "deferred_push", engine->deferred_push));
}

/* What was run. Senders, window, bytes and mode are those of the first subgroup; `subgroups` has all. */
static void set_question(json_t *object, const char *file, const struct wh_bench_run *run)
{
	const struct wh_bench_plan *plan = run->plan;
	const struct wh_bench_subgroup *first = &plan->subgroups[0];

	set_value(object, "version", json_string(whorl_version()));
	set_value(object, "file", json_string(file));
	set_value(object, "variant", json_string(plan->text));
	set_value(object, "run", integer_json(run->number));
	set_value(object, "timed", json_boolean(plan->deliveries == NULL));
	set_value(object, "transport", choice_json(&wh_group_table, "transport", plan->config.group.transport));
	set_value(object, "simulated", json_boolean(wh_bench_is_simulated(plan)));
	set_value(object, "nodes", integer_json(plan->nodes));
	set_value(object, "senders", integer_json(first->sender_count));
	set_value(object, "active_senders", integer_json(first->active_count));
	set_value(object, "delayed_senders", integer_json(first->delayed_count));
	set_value(object, "sender_delay_us", integer_json((uint64_t)plan->options.sender_delay_us));
	set_value(object, "senders_per_node", integer_json((uint64_t)plan->options.senders_per_node));
	set_value(object, "claim_batch", integer_json(first->batch)); /* `batch` is what the stages found at a time */
	set_value(object, "window", integer_json(first->window));
	set_value(object, "bytes", integer_json(first->bytes));
	set_value(object, "messages", integer_json((uint64_t)plan->options.messages));
	set_value(object, "mode", json_string(mode_of(first)));
	set_value(object, "thread", choice_json(&wh_engine_table, "thread", plan->config.engine.thread));
	set_value(object, "idle_policy", choice_json(&wh_engine_table, "idle", plan->config.engine.idle));
	set_value(object, "upcall", choice_json(&wh_bench_table, "upcall", plan->options.upcall));
	set_value(object, "copies", choice_json(&wh_bench_table, "copies", plan->options.copies));
	set_value(object, "processes", json_boolean(plan->options.processes));
	set_switches(object, &plan->config.engine);
}

static const char *latency_timing(const struct wh_bench_plan *plan)
{
	if (wh_bench_is_simulated(plan))
		return "from the claim, before filling, to the upcall at each node, in virtual time";
	return wh_bench_is_whole(plan)
		       ? "from the claim, before filling, to the upcall at each node; all on one host's "
			 "CLOCK_MONOTONIC, through stamps in shared memory"
		       : "of this node's messages: from the claim, before filling, to its own upcall";
}

static void set_answer(json_t *object, const struct wh_bench_run *run, const struct wh_bench_result *result)
{
	const struct wh_bench_plan *plan = run->plan;
	json_t *subgroups = json_array();

	for (uint32_t g = 0; g < plan->subgroup_count; g++)
		json_array_append_new(subgroups, subgroup_json(run, g, result->seconds));
	set_value(object, "seconds", figure_json(plan, result->seconds));
	set_value(object, "messages_per_s", figure_json(plan, result->messages_per_s));
	set_value(object, "bytes_per_s", figure_json(plan, result->bytes_per_s));
	set_value(object, "latency_us", latency_json(plan, result));
	set_value(object, "latency_samples", integer_json(result->latency_samples));
	set_value(object, "latency_timing", json_string(latency_timing(plan)));
	set_value(object, "order_digest", order_digest(run));
	set_value(object, "delivered", integer_json(result->delivered));
	set_value(object, "nulls", integer_json(result->nulls));
	set_value(object, "pushes", integer_json(result->pushes));
	set_value(object, "writes_posted", integer_json(result->writes));
	set_value(object, "bytes_pushed", integer_json(result->bytes_pushed));
	set_value(object, "post_seconds", figure_json(plan, result->post_seconds));
	set_value(object, "cpu_seconds", figure_json(plan, result->cpu_seconds));
	set_value(object, "sender_wait_fraction", figure_json(plan, result->sender_wait_fraction));
	set_value(object, "batch",
		  json_pack("{s:o,s:o,s:o}", "send", batch_json(&result->batch[0]), "receive",
			    batch_json(&result->batch[1]), "deliver", batch_json(&result->batch[2])));
	set_value(object, "disk", disk_json(plan, result));
	set_value(object, "limit", limit_json(plan, result));
	set_value(object, "fraction_of_limit", result->limited ? json_real(result->fraction_of_limit) : json_null());
	set_value(object, "doubts", doubts_json(plan, result));
	set_value(object, "idle", idle_json(plan, result));
	set_value(object, "subgroups", subgroups);
	set_value(object, "machine", machine_json());
}

/* ---- CSV -----------------------------------------------------------------------------------------------------------*/

static void write_cell(FILE *out, const char *text, bool first)
{
	if (!first)
		fputc(',', out);
	if (strpbrk(text, ",\"\n") == NULL) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* A list is one cell: its JSON. */
static void write_value(FILE *out, const json_t *value, bool first)
{
	char number[64];
	char *text;

	if (json_is_string(value)) {
		write_cell(out, json_string_value(value), first);
	} else if (json_is_real(value)) {
		snprintf(number, sizeof number, "%.9g", json_real_value(value));
		write_cell(out, number, first);
	} else if (json_is_null(value)) {
		write_cell(out, "", first);
	} else {
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		write_cell(out, text != NULL ? text : "", first);
		free(text);
	}
}

/* The head (the keys) or the row (the values) of an object; `prefix` is the path to it. */
static void write_row(FILE *out, json_t *object, const char *prefix, bool head, bool *first)
{
	for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
		json_t *value = json_object_iter_value(at);
		char path[128];

		snprintf(path, sizeof path, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", json_object_iter_key(at));
		if (json_is_object(value)) {
			write_row(out, value, path, head, first);
			continue;
		}
		if (head)
			write_cell(out, path, *first);
		else
			write_value(out, value, *first);
		*first = false;
	}
}

static void write_csv(struct wh_bench_files *files, json_t *object)
{
	bool first = true;

	if (!files->csv_has_head) {
		write_row(files->csv, object, "", true, &first);
		fputc('\n', files->csv);
		files->csv_has_head = true;
		first = true;
	}
	write_row(files->csv, object, "", false, &first);
	fputc('\n', files->csv);
}

/* To be freed; NULL: memory is out. */
static char *dump_line(const json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT), *line = NULL;

	if (text != NULL && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	return line;
}

enum whorl_result wh_bench_files_add(struct wh_bench_files *files, const char *file, const struct wh_bench_run *run,
				     const struct wh_bench_result *result)
{
	bool good = true;
	json_t *object;
	char *line;

	if (files->json == NULL && files->csv == NULL && !wh_bench_plot_is_wanted(files->plot))
		return WHORL_OK;
	object = json_object();
	set_question(object, file, run);
	set_answer(object, run, result);
	wh_bench_plot_add(files->plot, object);
	line = dump_line(object);
	if (line == NULL) {
		json_decref(object);
		wh_say("%s: the result", whorl_result_text(WHORL_MEMORY));
		return WHORL_MEMORY;
	}
	if (files->json != NULL) {
		good = wh_put(files->json, line, files->json_path); /* a program that reads along sees whole lines */
	}
	if (files->csv != NULL) {
		write_csv(files, object);
		good = wh_flush_file(files->csv, files->csv_path) && good;
	}
	free(line);
	json_decref(object);
	return good ? WHORL_OK : WHORL_SYSTEM; /* further runs would be in vain */
}
