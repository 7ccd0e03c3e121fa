/* Arguments that are not there: every function of the interface refuses them with WHORL_INVALID and a text, or with 0, NULL or -1 where
 * it returns no result. cmake/whorl.map has all names that are exported; one that is missing in the table here fails, too.
 * Labels: threads
 */
#include <stdio.h>

#include <whorl/delegate.h>
#include <whorl/replica.h>
#include <whorl/status.h>

#include "tests/support/group.h"

static struct cluster cluster;
static whorl_config *config;
static whorl_node *node; /* that works; of a group of one */
static whorl_subgroup *subgroup;
static struct whorl_status *status;
static struct whorl_claim claim;
static char text[256];
static uint64_t number;

#define REFUSES(call) (must_refuse(__LINE__, (call) == WHORL_INVALID))
#define GIVES(value, call) (must_refuse(__LINE__, (call) == (value)))

static const char *name_of; /* the function that is called */

static void must_refuse(int line, bool refused)
{
	char begin[64];

	ck_assert_msg(refused, "line %d: %s does not refuse what is not there", line, name_of);
	/* whorl_claim_wait: ..., of whatever it was last called with. */
	snprintf(begin, sizeof(begin), "%s: ", name_of);
	ck_assert_msg(strncmp(whorl_invalid_text(), begin, strlen(begin)) == 0, "line %d: the text is \"%s\"", line,
		      whorl_invalid_text());
	ck_assert_msg(strlen(whorl_invalid_text()) > strlen(begin), "line %d: the text is empty", line);
}

static void *no_snapshot(const struct whorl_position *position, void *ctx)
{
	(void)position, (void)ctx;
	return NULL;
}

static void nothing(void)
{
} /* it takes nothing that could be NULL, or NULL is fine */

static void config_free(void)
{
	whorl_config_free(NULL);
}
static void status_free(void)
{
	whorl_status_free(NULL);
}

static void config_load_file(void)
{
	REFUSES(whorl_config_load_file(NULL, "x"));
	REFUSES(whorl_config_load_file(config, NULL));
}

static void config_load_text(void)
{
	REFUSES(whorl_config_load_text(NULL, "x", ""));
	REFUSES(whorl_config_load_text(config, NULL, ""));
	REFUSES(whorl_config_load_text(config, "x", NULL));
}

static void config_set(void)
{
	REFUSES(whorl_config_set(NULL, "group.nodes=1"));
	REFUSES(whorl_config_set(config, NULL));
}

static void config_ignore(void)
{
	REFUSES(whorl_config_ignore(NULL, "x"));
	REFUSES(whorl_config_ignore(config, NULL));
}

static void config_error(void)
{
	GIVES(whorl_invalid_text(), whorl_config_error(NULL));
}

static void open_(void)
{
	whorl_node *out = node;

	REFUSES(whorl_open(NULL, 0, NULL, &out));
	ck_assert_ptr_null(out);
	REFUSES(whorl_open(config, 0, NULL, NULL));
	REFUSES(whorl_open(config, 0, &(struct whorl_open_options){.size = 0}, &out));
	REFUSES(whorl_open(config, 4711, NULL, &out));
}

static void estimate(void)
{
	REFUSES(whorl_estimate(NULL, 0, &number));
	REFUSES(whorl_estimate(config, 0, NULL));
	REFUSES(whorl_estimate(config, 4711, &number));
}

static void set_log(void)
{
	whorl_set_log(NULL, NULL, NULL);
	REFUSES(WHORL_INVALID);
}

static void start(void)
{
	REFUSES(whorl_start(NULL));
	REFUSES(whorl_start(node)); /* again */
}

static void ready(void)
{
	REFUSES(whorl_ready(NULL, 0));
	REFUSES(whorl_ready(node, -1));
}

static void close_(void)
{
	REFUSES(whorl_close(NULL, 0));
	REFUSES(whorl_close(node, -1));
}

static void progress(void)
{
	strcpy(text, "x");
	whorl_progress(NULL, text, sizeof(text));
	REFUSES(WHORL_INVALID);
	ck_assert_str_eq(text, "");
	whorl_progress(node, NULL, sizeof(text));
	REFUSES(WHORL_INVALID);
	whorl_progress(NULL, NULL, 0);
}

static void error(void)
{
	REFUSES(whorl_error(NULL, text, sizeof(text)));
	REFUSES(whorl_error(NULL, NULL, 0));
	ck_assert_int_eq(whorl_error(node, NULL, 0), WHORL_OK);
}

static void node_id(void)
{
	GIVES(0, whorl_node_id(NULL));
}
static void node_count(void)
{
	GIVES(0, whorl_node_count(NULL));
}
static void on_gone(void)
{
	REFUSES(whorl_on_gone(NULL, NULL, NULL));
}

static void on_view(void)
{
	REFUSES(whorl_on_view(NULL, NULL, NULL));
}
static void step(void)
{
	GIVES(0, whorl_step(NULL));
}
static void yield_(void)
{
	GIVES(false, whorl_yield(NULL));
}

static void arm(void)
{
	GIVES(0, whorl_arm(NULL));
}
static void fd(void)
{
	GIVES(-1, whorl_fd(NULL));
}

static void view_members(void)
{
	uint32_t count = 0;

	REFUSES(whorl_view_members(NULL, NULL, NULL, &count));
	REFUSES(whorl_view_members(node, NULL, NULL, NULL));
}

static void wait_(void)
{
	REFUSES(whorl_wait(NULL, 0));
	REFUSES(whorl_wait(node, 0)); /* thread = dedicated */
}

static void subgroup_find(void)
{
	GIVES(NULL, whorl_subgroup_find(NULL, "s"));
	GIVES(NULL, whorl_subgroup_find(node, NULL));
}

static void subgroup_at(void)
{
	GIVES(NULL, whorl_subgroup_at(NULL, 0));
}
static void on_message(void)
{
	REFUSES(whorl_on_message(NULL, NULL, NULL));
}
static void offer_again(void)
{
	REFUSES(whorl_offer_again(NULL));
}

static void on_offer(void)
{
	REFUSES(whorl_on_offer(NULL, NULL, NULL));
}

static void on_refused(void)
{
	REFUSES(whorl_on_refused(NULL, NULL, NULL));
}

static void on_batch(void)
{
	REFUSES(whorl_on_batch(NULL, NULL, NULL));
}

static void on_state(void)
{
	struct whorl_state functions = {.size = sizeof(functions), .snapshot = no_snapshot};

	REFUSES(whorl_on_state(NULL, &functions));
	REFUSES(whorl_on_state(subgroup, NULL));
	REFUSES(whorl_on_state(subgroup, &functions)); /* started */
}

static void claim_(void)
{
	REFUSES(whorl_claim(NULL, 1, &claim));
	REFUSES(whorl_claim(subgroup, 1, NULL));
	REFUSES(whorl_claim(subgroup, SIZE_MAX, &claim));
}

static void claim_many(void)
{
	REFUSES(whorl_claim_many(NULL, 1, 1, &claim));
	REFUSES(whorl_claim_many(subgroup, 1, 1, NULL));
	REFUSES(whorl_claim_many(subgroup, 1, 0, &claim));
	REFUSES(whorl_claim_many(subgroup, 1, SIZE_MAX, &claim));
	REFUSES(whorl_claim_many(subgroup, SIZE_MAX, 1, &claim));
}

static void claim_large(void)
{
	REFUSES(whorl_claim_large(NULL, 1, 0, &claim));
	REFUSES(whorl_claim_large(subgroup, 1, 0, NULL));
	REFUSES(whorl_claim_large(subgroup, 1, -1, &claim));
	REFUSES(whorl_claim_large(subgroup, SIZE_MAX, 0, &claim));
}

static void claim_part(void)
{
	struct whorl_claim finished = {.stream = NULL};
	size_t bytes;
	void *data;

	REFUSES(whorl_claim_part(NULL, 0, &data, &bytes));
	REFUSES(whorl_claim_part(&finished, 0, &data, &bytes));
}

static void message_part(void)
{
	struct whorl_message message = {.size = sizeof(message), .parts = 1};
	const void *data;
	size_t bytes;

	REFUSES(whorl_message_part(NULL, 0, &data, &bytes));
	REFUSES(whorl_message_part(&message, 0, NULL, &bytes));
	REFUSES(whorl_message_part(&message, 0, &data, NULL));
}

static void message_copy(void)
{
	struct whorl_message message = {.size = sizeof(message), .parts = 1};
	char byte;

	GIVES(0, whorl_message_copy(NULL, 0, &byte, 1));
	GIVES(0, whorl_message_copy(&message, 0, NULL, 1));
}

static void commit_many(void)
{
	struct whorl_claim finished = {.stream = NULL};

	REFUSES(whorl_commit_many(NULL, 1, NULL));
	REFUSES(whorl_commit_many(&finished, 0, NULL));
	REFUSES(whorl_commit_many(&finished, 1, NULL));
}

static void claim_wait(void)
{
	REFUSES(whorl_claim_wait(NULL, 1, 0, &claim));
	REFUSES(whorl_claim_wait(subgroup, 1, 0, NULL));
	REFUSES(whorl_claim_wait(subgroup, 1, -1, &claim));
}

static void commit(void)
{
	REFUSES(whorl_commit(NULL, 1));
	REFUSES(whorl_commit(&(struct whorl_claim){0}, 0)); /* of nothing */
}

static void abort_(void)
{
	REFUSES(whorl_abort(NULL));
	REFUSES(whorl_abort(&(struct whorl_claim){0}));
}

static void send_(void)
{
	REFUSES(whorl_send(NULL, "x", 1, 0, NULL));
	REFUSES(whorl_send(subgroup, NULL, 1, 0, NULL));
	ck_ok(whorl_send(subgroup, NULL, 0, PATIENCE_MS, NULL)); /* no bytes need no data */
}

static void rest(void)
{
	REFUSES(whorl_pause_sending(NULL, true));
}
static void ask_to_rest(void)
{
	REFUSES(whorl_request_pause(NULL, 0, true));
}
static void frontier_get(void)
{
	GIVES(0, whorl_frontier_get(NULL, WHORL_DELIVERED_BY_ALL));
	GIVES(0, whorl_frontier_get(subgroup, (enum whorl_frontier)2));
}
static void frontier_wait(void)
{
	REFUSES(whorl_frontier_wait(NULL, WHORL_DELIVERED_BY_ALL, 0, 0));
	REFUSES(whorl_frontier_wait(subgroup, (enum whorl_frontier)2, 0, 0));
	REFUSES(whorl_frontier_wait(subgroup, WHORL_DELIVERED_BY_ALL, 0, -1));
}
static void frontier_fd(void)
{
	GIVES(-1, whorl_frontier_fd(NULL));
}
static void frontier_arm(void)
{
	REFUSES(whorl_frontier_arm(NULL, WHORL_DELIVERED_BY_ALL, 0));
	REFUSES(whorl_frontier_arm(subgroup, (enum whorl_frontier) - 1, 0));
}
static void window_fd(void)
{
	GIVES(-1, whorl_window_fd(NULL));
}
static void window_arm(void)
{
	REFUSES(whorl_window_arm(NULL));
}

static void node_statistics(void)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};

	REFUSES(whorl_node_statistics(NULL, &stats));
	REFUSES(whorl_node_statistics(node, NULL));
	stats.size = 0;
	REFUSES(whorl_node_statistics(node, &stats));
}

static void subgroup_statistics(void)
{
	struct whorl_subgroup_stats stats = {.size = sizeof(stats)};

	REFUSES(whorl_subgroup_statistics(NULL, &stats));
	REFUSES(whorl_subgroup_statistics(subgroup, NULL));
	stats.size = 0;
	REFUSES(whorl_subgroup_statistics(subgroup, &stats));
}

static void log_statistics(void)
{
	struct whorl_log_stats stats = {.size = sizeof(stats)};

	REFUSES(whorl_log_statistics(NULL, &stats));
	REFUSES(whorl_log_statistics(subgroup, NULL));
	stats.size = 0;
	REFUSES(whorl_log_statistics(subgroup, &stats));
}

static void checkpoint(void)
{
	REFUSES(whorl_checkpoint(NULL));
}

static void subgroup_describe(void)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};

	REFUSES(whorl_subgroup_describe(NULL, &info));
	REFUSES(whorl_subgroup_describe(subgroup, NULL));
	info.size = 0;
	REFUSES(whorl_subgroup_describe(subgroup, &info));
}

static void shard_state(void)
{
	REFUSES(whorl_shard_state(NULL, "s", 0));
	REFUSES(whorl_shard_state(node, NULL, 0));
}

static void subgroup_enter(void)
{
	static const char *const names[] = {"", "a b", "a\nb", "s"};
	struct whorl_subgroup_options options = {.size = 0};
	whorl_subgroup *out = subgroup;

	REFUSES(whorl_subgroup_enter(NULL, "t", NULL, 0, &out));
	ck_assert_ptr_null(out);
	REFUSES(whorl_subgroup_enter(node, NULL, NULL, 0, &out));
	REFUSES(whorl_subgroup_enter(node, "t", NULL, 0, NULL));
	REFUSES(whorl_subgroup_enter(node, "t", NULL, -1, &out));
	REFUSES(whorl_subgroup_enter(node, "t", &options, 0, &out));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		out = subgroup;
		REFUSES(whorl_subgroup_enter(node, names[i], NULL, 0, &out));
		ck_assert_ptr_null(out);
	}
	options = (struct whorl_subgroup_options){.size = sizeof(options), .mode = (enum whorl_mode) - 1};
	REFUSES(whorl_subgroup_enter(node, "t", &options, 0, &out));
	options = (struct whorl_subgroup_options){.size = sizeof(options), .window = UINT32_MAX};
	REFUSES(whorl_subgroup_enter(node, "t", &options, 0, &out));
	options = (struct whorl_subgroup_options){.size = sizeof(options), .message_bytes = UINT32_MAX};
	REFUSES(whorl_subgroup_enter(node, "t", &options, 0, &out));
	options = (struct whorl_subgroup_options){.size = sizeof(options), .large_bytes = UINT64_MAX};
	REFUSES(whorl_subgroup_enter(node, "t", &options, 0, &out));
	ck_ok(whorl_subgroup_enter(node, "t", NULL, PATIENCE_MS, &out)); /* as usual */
	ck_ok(whorl_subgroup_release(out));
}

static void subgroup_ready(void)
{
	REFUSES(whorl_subgroup_ready(NULL, 0));
	REFUSES(whorl_subgroup_ready(subgroup, -1));
}

static void subgroup_awaited(void)
{
	uint32_t ids[1], count = 1;

	REFUSES(whorl_subgroup_awaited(NULL, ids, &count));
	REFUSES(whorl_subgroup_awaited(subgroup, ids, NULL));
	ck_ok(whorl_subgroup_awaited(subgroup, NULL, &count));
	ck_assert_uint_eq(count, 0);
}

static void subgroup_error(void)
{
	REFUSES(whorl_subgroup_error(NULL, text, sizeof(text)));
	REFUSES(whorl_subgroup_error(NULL, NULL, 0));
	ck_ok(whorl_subgroup_error(subgroup, NULL, 0));
	ck_ok(whorl_subgroup_error(subgroup, text, 0));
}

static void subgroup_leave(void)
{
	REFUSES(whorl_subgroup_leave(NULL, 0));
	REFUSES(whorl_subgroup_leave(subgroup, -1));
	REFUSES(whorl_subgroup_leave(subgroup, 0)); /* one of the file */
}

static void subgroup_release(void)
{
	ck_ok(whorl_subgroup_release(NULL));
	REFUSES(whorl_subgroup_release(subgroup)); /* one of the file */
}

static void subgroup_members(void)
{
	uint32_t count = 0;

	REFUSES(whorl_subgroup_members(NULL, NULL, &count));
	REFUSES(whorl_subgroup_members(subgroup, NULL, NULL));
	ck_ok(whorl_subgroup_members(subgroup, NULL, &count));
	ck_assert_uint_eq(count, 1);
}

static void status_get(void)
{
	REFUSES(whorl_status_get(NULL, 0, 0, &status, text, sizeof(text)));
	ck_assert_str_ne(text, "");
	REFUSES(whorl_status_get("g", 0, 0, NULL, text, sizeof(text)));
	REFUSES(whorl_status_get("g", 0, -1, &status, NULL, 0));
}

static void status_get_at(void)
{
	REFUSES(whorl_status_get_at(NULL, 0, &status, text, sizeof(text)));
	REFUSES(whorl_status_get_at("127.0.0.1:1", 0, NULL, NULL, 0));
	REFUSES(whorl_status_get_at("127.0.0.1:1", -1, &status, NULL, 0));
}

static void status_of(void)
{
	REFUSES(whorl_status_of(NULL, 0, 0, &status, text, sizeof(text)));
	REFUSES(whorl_status_of(config, 0, 0, NULL, NULL, 0));
	REFUSES(whorl_status_of(config, 0, -1, &status, NULL, 0));
	REFUSES(whorl_status_of(config, 4711, 0, &status, NULL, 0));
}

static bool apply_nothing(const struct whorl_call *calls, size_t count, void *ctx)
{
	(void)calls, (void)count, (void)ctx;
	return true;
}

static void look_at_nothing(enum whorl_result result, void *ctx)
{
	(void)result, (void)ctx;
}

static void on_calls(void)
{
	REFUSES(whorl_on_calls(NULL, apply_nothing, NULL));
	REFUSES(whorl_on_calls(subgroup, NULL, NULL));
}

static void answer(void)
{
	struct whorl_call call = {.size = sizeof(call)};

	REFUSES(whorl_answer(NULL, "x", 1));
	REFUSES(whorl_answer(&call, NULL, 1));
}

static void defer(void)
{
	GIVES(0, whorl_defer(NULL));
}

/* The subgroup has no whorl_on_calls. */
static void answer_later(void)
{
	REFUSES(whorl_answer_later(NULL, 1, "x", 1));
	REFUSES(whorl_answer_later(subgroup, 1, "x", 1));
}

static void call(void)
{
	REFUSES(whorl_call(NULL, "x", 1, NULL, NULL));
	REFUSES(whorl_call(subgroup, "x", 1, NULL, NULL));
}

static void call_commit(void)
{
	REFUSES(whorl_call_commit(NULL, 1, NULL, NULL));
	ck_ok(whorl_claim(subgroup, 1, &claim));
	REFUSES(whorl_call_commit(&claim, 1, NULL, NULL));
	ck_ok(whorl_abort(&claim));
	REFUSES(whorl_call_commit(&claim, 1, NULL, NULL)); /* finished */
}

static void call_wait(void)
{
	REFUSES(whorl_call_wait(NULL, "x", 1, NULL, NULL, 0));
	REFUSES(whorl_call_wait(subgroup, "x", 1, NULL, NULL, 0));
}

static void read_(void)
{
	REFUSES(whorl_read(NULL, WHORL_LOCAL, look_at_nothing, NULL));
	REFUSES(whorl_read(subgroup, WHORL_LOCAL, look_at_nothing, NULL));
}

static void read_wait(void)
{
	REFUSES(whorl_read_wait(NULL, WHORL_LOCAL, look_at_nothing, NULL, 0));
	REFUSES(whorl_read_wait(subgroup, WHORL_LOCAL, look_at_nothing, NULL, 0));
}

static void shard_members(void)
{
	uint32_t count = 0;

	REFUSES(whorl_shard_members(NULL, "s", 0, NULL, &count));
	REFUSES(whorl_shard_members(node, NULL, 0, NULL, &count));
	REFUSES(whorl_shard_members(node, "s", 0, NULL, NULL));
}

static void shard_of(void)
{
	GIVES(0, whorl_shard_of(NULL, 1, 16));
	GIVES(0, whorl_shard_of("x", 1, 0));
}

/* ---- delegation ---------------------------------------------------------------------------------------------------------------------- */

struct thing {
	uint64_t n;
};

static WHORL_TYPE(thing_type, struct thing, NULL);

WHORL_FUNCTION(thing_set, struct thing, struct thing, uint64_t, 0)
{
	property->n = *result = args->n;
}

WHORL_FUNCTION_OF_BYTES(thing_bytes, struct thing, 0)
{
	property->n = bytes + (data == NULL) + (reply == NULL);
}

static whorl_work *work;
static struct whorl_trust trust;

static void open_work(void)
{
	struct whorl_work_options options = {.size = sizeof(options), WHORL_FUNCTIONS_LINKED};

	ck_ok(whorl_work_open(node, &options, &work));
	ck_ok(whorl_entrust(work, whorl_at_worker(whorl_node_id(node), 0), &thing_type, NULL, 0, &trust, PATIENCE_MS));
}

static void close_work(void)
{
	ck_ok(whorl_work_close(work, PATIENCE_MS));
}

static void work_open(void)
{
	struct whorl_work_options options = {.size = sizeof(options)};

	REFUSES(whorl_work_open(NULL, NULL, &work));
	REFUSES(whorl_work_open(NULL, &options, NULL));
	options.workers = WHORL_WORKERS_MAX + 1;
	REFUSES(whorl_work_open(NULL, &options, &work));
	options.workers = 1;
	options.dedicated = 2;
	REFUSES(whorl_work_open(NULL, &options, &work));
	options.dedicated = 0;
	options.stack_bytes = 100;
	REFUSES(whorl_work_open(NULL, &options, &work));
	options.stack_bytes = 0;
	options.function_count = 1;
	REFUSES(whorl_work_open(NULL, &options, &work));
	options.functions = (const struct whorl_function *const[]){NULL};
	REFUSES(whorl_work_open(NULL, &options, &work));
	options.size = 8;
	REFUSES(whorl_work_open(NULL, &options, &work));
	ck_assert_ptr_null(work);
}

static void work_close(void)
{
	open_work();
	REFUSES(whorl_work_close(NULL, 0));
	REFUSES(whorl_work_close(work, -1));
	close_work();
}

static void work_digest(void)
{
	GIVES(0, whorl_work_digest(NULL));
}

static void worker_statistics(void)
{
	struct whorl_worker_stats stats = {.size = sizeof(stats)};

	open_work();
	REFUSES(whorl_worker_statistics(NULL, 0, &stats));
	REFUSES(whorl_worker_statistics(work, 0, NULL));
	stats.size = 0;
	REFUSES(whorl_worker_statistics(work, 0, &stats));
	stats.size = sizeof(stats);
	ck_assert_int_eq(whorl_worker_statistics(work, 1, &stats), WHORL_NOT_FOUND);
	close_work();
}

static void entrust(void)
{
	struct whorl_trust out;

	open_work();
	REFUSES(whorl_entrust(NULL, whorl_at_any(), &thing_type, NULL, 0, &out, 0));
	REFUSES(whorl_entrust(work, whorl_at_any(), NULL, NULL, 0, &out, 0));
	REFUSES(whorl_entrust(work, whorl_at_any(), &thing_type, NULL, 0, NULL, 0));
	REFUSES(whorl_entrust(work, whorl_at_any(), &thing_type, NULL, 0, &out, -1));
	REFUSES(whorl_entrust(work, whorl_at_any(), &thing_type, text, 1, &out, 0));
	close_work();
}

static void entrust_named(void)
{
	struct whorl_trust out;

	open_work();
	REFUSES(whorl_entrust_named(NULL, whorl_at_any(), text, &thing_type, NULL, 0, &out, 0));
	REFUSES(whorl_entrust_named(work, whorl_at_any(), NULL, &thing_type, NULL, 0, &out, 0));
	REFUSES(whorl_entrust_named(work, whorl_at_any(), text, NULL, NULL, 0, &out, 0));
	REFUSES(whorl_entrust_named(work, whorl_at_any(), text, &thing_type, NULL, 0, NULL, 0));
	REFUSES(whorl_entrust_named(work, whorl_at_any(), text, &thing_type, NULL, 0, &out, -1));
	close_work();
}

static void work_serve(void)
{
	open_work();
	REFUSES(whorl_work_serve(NULL, NULL, 0));
	REFUSES(whorl_work_serve(work, NULL, 0));
	close_work();
}

static void trusts(void)
{
	struct whorl_trust none = {0}, out;

	open_work();
	if (strcmp(name_of, "whorl_trust_clone") == 0) {
		REFUSES(whorl_trust_clone(NULL, &out));
		REFUSES(whorl_trust_clone(&none, &out));
		REFUSES(whorl_trust_clone(&trust, NULL));
	} else if (strcmp(name_of, "whorl_trust_send") == 0) {
		REFUSES(whorl_trust_send(NULL, whorl_at_any()));
		REFUSES(whorl_trust_send(&none, whorl_at_any()));
	} else if (strcmp(name_of, "whorl_trust_end") == 0) {
		REFUSES(whorl_trust_end(NULL, 0));
		REFUSES(whorl_trust_end(&none, 0));
		REFUSES(whorl_trust_end(&trust, -1));
		REFUSES(whorl_trust_end(&trust, 0));
	} else if (strcmp(name_of, "whorl_trust_reads") == 0) {
		REFUSES(whorl_trust_reads(NULL, WHORL_READS_LOCAL));
		REFUSES(whorl_trust_reads(&none, WHORL_READS_LOCAL));
		REFUSES(whorl_trust_reads(&trust, WHORL_READS_LOCAL));
	} else if (strcmp(name_of, "whorl_trust_move") == 0) {
		REFUSES(whorl_trust_move(NULL, whorl_at_any(), 0));
		REFUSES(whorl_trust_move(&none, whorl_at_any(), 0));
		REFUSES(whorl_trust_move(&trust, whorl_at_any(), -1));
	} else {
		REFUSES(whorl_trust_drop(NULL));
		REFUSES(whorl_trust_drop(&none));
	}
	close_work();
}

static void apply_(void)
{
	struct thing args = {1};
	struct whorl_trust none = {0};
	uint64_t n;

	open_work();
	REFUSES(whorl_apply(NULL, thing_set, &args, &n, 0));
	REFUSES(whorl_apply(&none, thing_set, &args, &n, 0));
	REFUSES(whorl_apply_function(&trust, NULL, &args, &n, 0));
	REFUSES(whorl_apply(&trust, thing_set, NULL, &n, 0));
	REFUSES(whorl_apply(&trust, thing_set, &args, &n, -1));
	close_work();
}

static void launch_(void)
{
	struct thing args = {1};

	open_work();
	REFUSES(whorl_launch(NULL, thing_set, &args, NULL, 0));
	REFUSES(whorl_launch_function(&trust, NULL, &args, NULL, 0));
	REFUSES(whorl_launch(&trust, thing_set, NULL, NULL, 0));
	REFUSES(whorl_launch(&trust, thing_set, &args, NULL, -1));
	close_work();
}

static void apply_then_(void)
{
	struct thing args = {1};

	open_work();
	REFUSES(whorl_apply_then(NULL, thing_set, &args, NULL, NULL));
	REFUSES(whorl_apply_then_function(&trust, NULL, &args, NULL, NULL));
	REFUSES(whorl_apply_then(&trust, thing_set, NULL, NULL, NULL));
	REFUSES(whorl_apply_then_function(&trust, &thing_bytes, NULL, NULL, NULL));
	close_work();
}

static void launch_then_(void)
{
	struct thing args = {1};

	open_work();
	REFUSES(whorl_launch_then(NULL, thing_set, &args, NULL, NULL));
	REFUSES(whorl_launch_then_function(&trust, NULL, &args, NULL, NULL));
	REFUSES(whorl_launch_then(&trust, thing_set, NULL, NULL, NULL));
	close_work();
}

static void apply_bytes(void)
{
	open_work();
	REFUSES(whorl_apply_bytes(NULL, thing_bytes, "x", 1, NULL, NULL, 0));
	REFUSES(whorl_apply_bytes_function(&trust, NULL, "x", 1, NULL, NULL, 0));
	REFUSES(whorl_apply_bytes(&trust, thing_bytes, NULL, 1, NULL, NULL, 0));
	REFUSES(whorl_apply_bytes(&trust, thing_set, "x", 1, NULL, NULL, 0));
	REFUSES(whorl_apply_bytes(&trust, thing_bytes, "x", 1, NULL, NULL, -1));
	close_work();
}

static void apply_bytes_then(void)
{
	open_work();
	REFUSES(whorl_apply_bytes_then(NULL, thing_bytes, "x", 1, NULL, NULL));
	REFUSES(whorl_apply_bytes_then_function(&trust, NULL, "x", 1, NULL, NULL));
	REFUSES(whorl_apply_bytes_then(&trust, thing_bytes, NULL, 1, NULL, NULL));
	REFUSES(whorl_apply_bytes_then(&trust, thing_set, "x", 1, NULL, NULL));
	close_work();
}

static void reply_add(void)
{
	REFUSES(whorl_reply_add(NULL, "x", 1));
}

static void poll_(void)
{
	open_work();
	REFUSES(whorl_poll(NULL, 0));
	REFUSES(whorl_poll(work, -1));
	close_work();
}

static void spawn_(void)
{
	struct whorl_join join;

	open_work();
	REFUSES(whorl_spawn_function(NULL, whorl_at_any(), &thing_set, NULL, &join));
	REFUSES(whorl_spawn_function(work, whorl_at_any(), NULL, NULL, &join));
	REFUSES(whorl_spawn_function(work, whorl_at_any(), &thing_set, NULL, &join)); /* it is for a property */
	close_work();
}

static void join_(void)
{
	struct whorl_join none = {0};

	REFUSES(whorl_join(NULL, NULL, 0, 0));
	REFUSES(whorl_join(&none, NULL, 0, 0));
}

static void place_choose(void)
{
	struct whorl_place place = whorl_at_any();

	open_work();
	REFUSES(whorl_place_choose(NULL, &place));
	REFUSES(whorl_place_choose(work, NULL));
	close_work();
}

static void work_ready(void)
{
	open_work();
	REFUSES(whorl_work_ready(NULL, 0));
	REFUSES(whorl_work_ready(work, -1));
	close_work();
}

static void launched(void)
{
	uint32_t id;

	REFUSES(whorl_launched(NULL, &id));
	REFUSES(whorl_launched(config, NULL));
}

static void share_(void)
{
	whorl_shared *shared;

	open_work();
	REFUSES(whorl_share(NULL, "x", 1, &shared));
	REFUSES(whorl_share(work, NULL, 1, &shared));
	REFUSES(whorl_share(work, "x", 1, NULL));
	close_work();
}

static void shared_data(void)
{
	GIVES(NULL, whorl_shared_data(NULL, NULL));
}

static void shared_hold(void)
{
	REFUSES(whorl_shared_hold(NULL));
}

static void shared_drop(void)
{
	whorl_shared_drop(NULL);
}

static void work_here(void)
{
	ck_assert_ptr_null(whorl_work_here(NULL));
}

static const struct {
	const char *name;
	void (*try)(void);
} functions[] = {
	{"whorl_log_statistics", log_statistics},
	{"whorl_checkpoint", checkpoint},
	{"whorl_work_open", work_open},
	{"whorl_work_close", work_close},
	{"whorl_work_digest", work_digest},
	{"whorl_work_here", work_here},
	{"whorl_worker_statistics", worker_statistics},
	{"whorl_entrust", entrust},
	{"whorl_entrust_named", entrust_named},
	{"whorl_work_serve", work_serve},
	{"whorl_trust_clone", trusts},
	{"whorl_trust_end", trusts},
	{"whorl_trust_reads", trusts},
	{"whorl_trust_drop", trusts},
	{"whorl_trust_move", trusts},
	{"whorl_trust_send", trusts},
	{"whorl_apply_function", apply_},
	{"whorl_apply_then_function", apply_then_},
	{"whorl_apply_bytes_function", apply_bytes},
	{"whorl_apply_bytes_then_function", apply_bytes_then},
	{"whorl_launch_function", launch_},
	{"whorl_launch_then_function", launch_then_},
	{"whorl_reply_add", reply_add},
	{"whorl_poll", poll_},
	{"whorl_spawn_function", spawn_},
	{"whorl_join", join_},
	{"whorl_place_choose", place_choose},
	{"whorl_work_ready", work_ready},
	{"whorl_launched", launched},
	{"whorl_share", share_},
	{"whorl_shared_data", shared_data},
	{"whorl_shared_hold", shared_hold},
	{"whorl_shared_drop", shared_drop},
	{"whorl_fiber_yield", whorl_fiber_yield},
	{"whorl_abort", abort_},
	{"whorl_answer", answer},
	{"whorl_answer_later", answer_later},
	{"whorl_arm", arm},
	{"whorl_yield", yield_},
	{"whorl_call", call},
	{"whorl_call_commit", call_commit},
	{"whorl_call_wait", call_wait},
	{"whorl_defer", defer},
	{"whorl_on_calls", on_calls},
	{"whorl_read", read_},
	{"whorl_read_wait", read_wait},
	{"whorl_shard_members", shard_members},
	{"whorl_shard_of", shard_of},
	{"whorl_request_pause", ask_to_rest},
	{"whorl_claim", claim_},
	{"whorl_claim_large", claim_large},
	{"whorl_claim_many", claim_many},
	{"whorl_claim_part", claim_part},
	{"whorl_message_copy", message_copy},
	{"whorl_message_part", message_part},
	{"whorl_claim_wait", claim_wait},
	{"whorl_close", close_},
	{"whorl_commit", commit},
	{"whorl_commit_many", commit_many},
	{"whorl_config_error", config_error},
	{"whorl_config_free", config_free},
	{"whorl_config_ignore", config_ignore},
	{"whorl_config_load_file", config_load_file},
	{"whorl_config_load_text", config_load_text},
	{"whorl_config_new", nothing},
	{"whorl_config_set", config_set},
	{"whorl_error", error},
	{"whorl_estimate", estimate},
	{"whorl_fd", fd},
	{"whorl_frontier_arm", frontier_arm},
	{"whorl_frontier_fd", frontier_fd},
	{"whorl_frontier_get", frontier_get},
	{"whorl_frontier_wait", frontier_wait},
	{"whorl_invalid_text", nothing},
	{"whorl_node_count", node_count},
	{"whorl_node_id", node_id},
	{"whorl_node_statistics", node_statistics},
	{"whorl_offer_again", offer_again},
	{"whorl_on_batch", on_batch},
	{"whorl_on_offer", on_offer},
	{"whorl_on_refused", on_refused},
	{"whorl_on_gone", on_gone},
	{"whorl_on_message", on_message},
	{"whorl_on_state", on_state},
	{"whorl_on_view", on_view},
	{"whorl_open", open_},
	{"whorl_progress", progress},
	{"whorl_ready", ready},
	{"whorl_pause_sending", rest},
	{"whorl_result_text", nothing},
	{"whorl_send", send_},
	{"whorl_set_log", set_log},
	{"whorl_shard_state", shard_state},
	{"whorl_start", start},
	{"whorl_status_free", status_free},
	{"whorl_status_get", status_get},
	{"whorl_status_get_at", status_get_at},
	{"whorl_status_of", status_of},
	{"whorl_step", step},
	{"whorl_subgroup_at", subgroup_at},
	{"whorl_subgroup_awaited", subgroup_awaited},
	{"whorl_subgroup_describe", subgroup_describe},
	{"whorl_subgroup_enter", subgroup_enter},
	{"whorl_subgroup_error", subgroup_error},
	{"whorl_subgroup_find", subgroup_find},
	{"whorl_subgroup_leave", subgroup_leave},
	{"whorl_subgroup_members", subgroup_members},
	{"whorl_subgroup_ready", subgroup_ready},
	{"whorl_subgroup_release", subgroup_release},
	{"whorl_subgroup_statistics", subgroup_statistics},
	{"whorl_version", nothing},
	{"whorl_view_members", view_members},
	{"whorl_wait", wait_},
	{"whorl_window_arm", window_arm},
	{"whorl_window_fd", window_fd},
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

TEST_LOOP(what_is_not_there_is_refused, 0, (int)FUNCTIONS)
{
	cluster_open(&cluster, 1, "", "[subgroup s]\n");
	cluster_start(&cluster);
	config = cluster.config;
	node = cluster.nodes[0];
	subgroup = subgroup_of(&cluster, 0, "s");
	ck_ok(whorl_ready(node, PATIENCE_MS));
	ck_assert_str_eq(whorl_invalid_text(), ""); /* nothing was refused yet */
	name_of = functions[_i].name;
	functions[_i].try();
	ck_ok(whorl_error(node, NULL, 0)); /* the node does not mind */
	cluster_free(&cluster);
}

/* A typo in the name of a subgroup, in a program that looks at no result but the last. */
TEST(a_wrong_name_is_no_crash)
{
	whorl_subgroup *wrong;

	cluster_open(&cluster, 1, "", "[subgroup orders]\n");
	wrong = whorl_subgroup_find(cluster.nodes[0], "order");
	ck_assert_ptr_null(wrong);
	whorl_on_message(wrong, NULL, NULL);
	cluster_start(&cluster);
	ck_assert_int_eq(whorl_send(wrong, "x", 1, PATIENCE_MS, NULL), WHORL_INVALID);
	ck_assert_str_eq(whorl_invalid_text(), "whorl_send: no subgroup");
	cluster_free(&cluster);
}

/* In the map each name that is exported has a line of its own. */
TEST(no_function_is_missing)
{
	FILE *map = fopen(WHORL_MAP, "r");
	char line[256], name[64], end;
	size_t names = 0;

	ck_assert_ptr_nonnull(map);
	while (fgets(line, sizeof(line), map) != NULL) {
		size_t i = 0;

		if (sscanf(line, " %63[a-z_]%c", name, &end) != 2 || end != ';')
			continue;
		while (i < FUNCTIONS && strcmp(functions[i].name, name) != 0)
			i++;
		ck_assert_msg(i < FUNCTIONS, "%s is exported, and not tried with NULL here", name);
		names++;
	}
	ck_assert_uint_eq(names, FUNCTIONS);
	fclose(map);
}

TEST_SUITE("null")
