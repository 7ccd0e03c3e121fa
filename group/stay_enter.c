/* stay_enter.c - a program has its node enter and leave subgroups while the group runs (docs/decisions/0046): it makes a stay and puts it into
 * the node's list, and waits for what the loop makes of it (stay.c).
 */
#include "group/node_int.h"
#include "group/refuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define LOG_BYTES (1 << 30) /* of a durable one, if nothing else is said */

static void ask_loop(whorl_node *node)
{
	/* Release: what the loop is to find. Partner: wh_node_step_stays. */
	wh_store_release(&node->stays.asked, 1);
	wh_gate_ring(node->fixed.gate);
}

/* ---- entering: the parameters ----------------------------------------------------------------------------------------------- */

/* As much as the program's header has of them. */
static enum whorl_result read_options(struct whorl_subgroup_options *out, const struct whorl_subgroup_options *options)
{
	static const char *const function = "whorl_subgroup_enter";

	*out = (struct whorl_subgroup_options){.size = sizeof(*out)};
	if (options == NULL)
		return WHORL_OK;
	if (options->size < sizeof(options->size))
		return wh_refuse(function, "whorl_subgroup_options.size is not set");
	memcpy(out, options, options->size < sizeof(*out) ? options->size : sizeof(*out));
	if (out->mode > WHORL_DURABLE)
		return wh_refuse(function, "there is no such mode");
	if (out->refuse_max_ms > WH_REFUSE_MAX_MS)
		return wh_refuse(function, "refuse_max_ms is out of its range");
	if ((out->on_message != NULL) + (out->on_batch != NULL) + (out->on_offer != NULL) > 1)
		return wh_refuse(function, "more than one of on_message, on_batch and on_offer");
	if (out->state != NULL && !wh_node_state_holds(out->state))
		return wh_refuse(function, "whorl_state.size is not set, or one of its functions is missing");
	return WHORL_OK;
}

/* Its index, -1: there is none of that name. */
static int find_configured(const whorl_node *node, const char *name)
{
	for (uint32_t i = 0; i < node->fixed.config.subgroup_count; i++)
		if (strcmp(node->fixed.config.subgroups[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* What is not said is as the file says, or as usual there. */
static struct wh_parameters choose_parameters(const struct wh_subgroup_options *file,
					      const struct whorl_subgroup_options *said)
{
	bool durable =
		said->mode == WHORL_DURABLE || (said->mode == WHORL_MODE_DEFAULT && file->mode == WH_SUBGROUP_DURABLE);
	bool ordered =
		said->mode == WHORL_ORDERED || (said->mode == WHORL_MODE_DEFAULT && file->mode == WH_SUBGROUP_ORDERED);

	struct wh_parameters is = {
		.ordered = ordered || durable,
		.durable = durable,
		.state = said->state != NULL,
		.window = said->window != 0 ? said->window : (uint32_t)file->window,
		.message_bytes = said->message_bytes != 0 ? said->message_bytes : (uint32_t)file->message_bytes,
		.large_bytes = said->large_bytes != 0 ? said->large_bytes : (uint64_t)file->large_bytes,
	};

	if (is.large_bytes <= is.message_bytes) /* that is none */
		is.large_bytes = 0;
	return is;
}

/* All but whether there is a state, of which the file does not speak. */
static bool are_the_files(const struct wh_parameters *is, const struct wh_subgroup_options *file)
{
	struct wh_parameters files = choose_parameters(file, &(struct whorl_subgroup_options){.size = 0});

	files.state = is->state;
	return wh_parameters_equal(is, &files);
}

/* Fills in what `said` leaves to the file. */
static enum whorl_result find_parameters(struct wh_parameters *out, const whorl_node *node, const char *name,
					 struct whorl_subgroup_options *said)
{
	static const struct wh_subgroup_options usual = {
		.mode = WH_SUBGROUP_ORDERED, .window = 100, .message_bytes = 10240, .log_bytes = LOG_BYTES};
	static const char *const function = "whorl_subgroup_enter";
	const struct wh_subgroup_options *file = &usual;
	int configured = find_configured(node, name);

	if (!wh_name_holds(name))
		return wh_refuse(function, "the name is none: 1 to 63 of A-Z a-z 0-9 _ . -");
	if (configured >= 0 && !wh_subgroup_is_wished(&node->fixed.texts[configured]))
		return wh_refuse(function, "the file has a subgroup of that name, and not with members = wish");
	if (configured >= 0)
		file = &node->fixed.config.subgroups[configured].options;
	*out = choose_parameters(file, said);
	if (!wh_parameters_hold(out))
		return wh_refuse(function, "the window, message_bytes or large_bytes is out of its range");
	if (configured >= 0 && !are_the_files(out, file))
		return wh_refuse(function, "a parameter is not as the file says");
	if (out->durable && wh_parameters_largest(out) > WH_LOG_MESSAGE_MAX)
		return wh_refuse(function, "a message of a durable subgroup has 512 MB at most");
	if (out->durable && node->disk.logs == NULL) {
		(void)wh_refuse(function, "it is to be durable, and the group has no log_dir");
		return WHORL_UNSUPPORTED;
	}
	if (said->refuse_max_ms == 0)
		said->refuse_max_ms = (uint64_t)file->refuse_max_ms;
	said->one_thread |= file->sending_threads == WH_SENDING_THREADS_ONE;
	if (said->log_bytes == 0)
		said->log_bytes = (uint64_t)file->log_bytes;
	return WHORL_OK;
}

/* ---- entering: the handle --------------------------------------------------------------------------------------------------- */

/* Its ring in the rows of two views, and what it has by itself (whorl_estimate). */
static uint64_t estimate_stay(const whorl_subgroup *subgroup)
{
	const struct wh_parameters *is = &subgroup->fixed.parameters;
	uint32_t nodes = wh_node_config_nodes_max(&subgroup->node->fixed.config);
	uint64_t ring_bytes = wh_slots_lay(&(struct wh_slots){.window = 0}, 0, is->window, is->message_bytes,
					   subgroup->node->fixed.headers_apart);

	return sizeof(*subgroup) + wh_multicast_estimate(nodes, nodes) +
	       (subgroup->fixed.sends ? 2 * ring_bytes + wh_ring_estimate(is->window) : 0);
}

static void note_program(struct wh_subgroup_program *program, const struct whorl_subgroup_options *options)
{
	program->on_message = options->on_message;
	program->on_batch = options->on_batch;
	program->on_offer = options->on_offer;
	program->upcall_ctx = options->upcall_ctx;
	program->on_refused = options->on_refused;
	program->on_refused_ctx = options->on_refused_ctx;
	program->past_views.told = options->on_past_view;
	program->past_views.ctx = options->upcall_ctx;
}

static whorl_subgroup *new_stay(whorl_node *node, const char *name, const struct wh_parameters *parameters,
				const struct whorl_subgroup_options *options)
{
	whorl_subgroup *subgroup = wh_node_new_subgroup(node);
	struct wh_subgroup_fixed *fixed;

	if (subgroup == NULL)
		return NULL;
	fixed = wh_fixed_write(&subgroup->fixed);
	fixed->index = UINT32_MAX; /* no place yet */
	fixed->mine = true;
	fixed->parameters = *parameters;
	fixed->sends = !options->listens;
	fixed->anew = options->begin_anew && parameters->durable;
	fixed->one_thread = options->one_thread;
	fixed->log_bytes = node->fixed.config.log_bytes > 0 ? node->fixed.config.log_bytes : options->log_bytes;
	snprintf(fixed->own_name, sizeof(fixed->own_name), "%s", name);
	fixed->name = fixed->own_name;
	fixed->memory_bytes = estimate_stay(subgroup);
	note_program(wh_program_write(&subgroup->program), options);
	wh_told_begin(&subgroup->told)->stage = WH_STAGE_ENTERING;
	return subgroup;
}

/* With the lock. UINT32_MAX: there is none. */
static uint32_t free_place(const whorl_node *node)
{
	for (uint32_t at = node->fixed.config.subgroup_count; at < node->list.room; at++)
		if (node->list.subgroups[at] == NULL)
			return at;
	return UINT32_MAX;
}

static enum whorl_result fill_stay(whorl_subgroup *subgroup, const struct whorl_subgroup_options *options)
{
	struct wh_error err;
	enum whorl_result result =
		wh_node_fill_subgroup(subgroup, &subgroup->fixed.parameters, options->refuse_max_ms, &err);

	if (result == WHORL_OK && options->state != NULL)
		result = wh_node_open_state(subgroup, options->state, &err);
	else if (result == WHORL_OK && subgroup->fixed.durable)
		result = wh_node_open_log_state(subgroup, &err);
	return result;
}

/* WHORL_AGAIN: one of that name leaves. */
static enum whorl_result put_into_list(struct wh_held held, whorl_subgroup *subgroup,
				       const struct whorl_subgroup_options *options)
{
	whorl_node *node = subgroup->node;
	const whorl_subgroup *other = wh_node_find_stay(node, subgroup->fixed.name);
	uint64_t bytes = node->fixed.memory_bytes + wh_load_relaxed(&node->list.bytes) + subgroup->fixed.memory_bytes;
	enum whorl_result result;

	if (node->waiting.closes)
		return WHORL_CLOSED;
	if (other != NULL && wh_load_relaxed(&other->words.leaves) != 0)
		return WHORL_AGAIN;
	if (other != NULL)
		return wh_refuse("whorl_subgroup_enter", "this node is in it, or is entering it");
	wh_fixed_write(&subgroup->fixed)->index = free_place(node);
	if (subgroup->fixed.index == UINT32_MAX || bytes > (uint64_t)node->fixed.config.group.memory_max)
		return WHORL_MEMORY;
	result = fill_stay(subgroup, options);
	if (result != WHORL_OK)
		return result;
	wh_list_enter(held, &node->list, subgroup->fixed.index, subgroup, subgroup->fixed.memory_bytes);
	return WHORL_OK;
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------------- */

/* With the lock. WHORL_TIMEOUT: it may come yet. */
static enum whorl_result is_in(const void *ctx)
{
	const whorl_subgroup *subgroup = ctx;

	if (subgroup->told.failure.code != WHORL_OK)
		return subgroup->told.failure.code;
	if (subgroup->told.stage == WH_STAGE_LEFT || wh_load_relaxed(&subgroup->words.leaves) != 0)
		return WHORL_CLOSED;
	return subgroup->told.stage == WH_STAGE_ENTERING ? WHORL_TIMEOUT : WHORL_OK;
}

/* For the call that enters: a view has had it in, whatever has become of that since, or it was refused. */
static enum whorl_result has_entered(const void *ctx)
{
	const whorl_subgroup *subgroup = ctx;

	if (subgroup->told.stage == WH_STAGE_REFUSED)
		return subgroup->told.failure.code;
	return subgroup->told.stage == WH_STAGE_ENTERING ? WHORL_TIMEOUT : WHORL_OK;
}

static enum whorl_result is_ready(const void *ctx)
{
	const whorl_subgroup *subgroup = ctx;
	enum whorl_result result = wh_node_is_dynamic(subgroup) ? is_in(subgroup) : WHORL_OK;

	return result != WHORL_OK ? result : subgroup->told.ready ? WHORL_OK : WHORL_TIMEOUT;
}

static enum whorl_result has_left(const void *ctx)
{
	const whorl_subgroup *subgroup = ctx;

	return wh_stage_is_live(subgroup->told.stage) ? WHORL_TIMEOUT : WHORL_OK;
}

struct name_of { /* of a stay that is to come */
	const whorl_node *node;
	const char *name;
};

static enum whorl_result is_free(const void *ctx)
{
	const struct name_of *of = ctx;

	return wh_node_find_stay(of->node, of->name) != NULL ? WHORL_TIMEOUT : WHORL_OK;
}

/* What a call may be answered at once. WHORL_OK: it goes on. */
static enum whorl_result may_ask(const char *function, const whorl_node *node, int timeout_ms)
{
	enum whorl_result state = wh_node_state(node);

	if (state == WHORL_FORKED)
		return state;
	if (timeout_ms < 0)
		return wh_refuse(function, "a time-out below 0");
	if (timeout_ms > 0 && wh_node_in_upcall(node))
		return WHORL_WOULD_DEADLOCK;
	return state == WHORL_NO_QUORUM ? WHORL_OK : state;
}

/* ---- the interface ----------------------------------------------------------------------------------------------------------- */

/* When it has left what this node is leaving. */
static enum whorl_result add_stay(whorl_subgroup *subgroup, const struct whorl_subgroup_options *options,
				  uint64_t deadline_ns)
{
	whorl_node *node = subgroup->node;
	const struct name_of name = {node, subgroup->fixed.name};
	enum whorl_result result;

	for (;;) {
		uint64_t now_ns = wh_monotonic_ns();
		struct wh_held held = wh_waiting_enter(&node->waiting);

		result = put_into_list(held, subgroup, options);
		wh_waiting_leave(held);
		if (result != WHORL_AGAIN || now_ns >= deadline_ns)
			return result;
		result = wh_node_await(node, (int)((deadline_ns - now_ns) / WH_NS_PER_MS) + 1, is_free, &name);
		if (result != WHORL_OK && result != WHORL_TIMEOUT)
			return result;
	}
}

/* WHORL_TIMEOUT and WHORL_OK leave the handle to the program. */
static enum whorl_result await_entry(whorl_subgroup *subgroup, uint64_t deadline_ns)
{
	uint64_t now_ns = wh_monotonic_ns();
	uint64_t left_ns = now_ns < deadline_ns ? deadline_ns - now_ns : 0;
	enum whorl_result result = wh_node_await(subgroup->node, (int)((left_ns + WH_NS_PER_MS - 1) / WH_NS_PER_MS),
						 has_entered, subgroup);
	struct wh_held held;

	if (result == WHORL_OK || result == WHORL_TIMEOUT)
		return result;
	held = wh_waiting_enter(&subgroup->node->waiting);
	if (subgroup->told.stage == WH_STAGE_REFUSED)
		(void)wh_refuse("whorl_subgroup_enter", subgroup->told.failure.text);
	wh_waiting_leave(held);
	(void)whorl_subgroup_release(subgroup);
	return result;
}

enum whorl_result whorl_subgroup_enter(whorl_node *node, const char *name, const struct whorl_subgroup_options *options,
				       int timeout_ms, whorl_subgroup **out)
{
	struct whorl_subgroup_options said;
	struct wh_parameters parameters;
	enum whorl_result result;
	whorl_subgroup *subgroup;
	uint64_t deadline_ns;

	if (out != NULL)
		*out = NULL;
	if (node == NULL || name == NULL || out == NULL)
		return WH_REFUSE(node == NULL ? "no node" : name == NULL ? "no name" : "no place for the handle");
	result = may_ask(__func__, node, timeout_ms);
	if (result == WHORL_OK)
		result = read_options(&said, options);
	if (result == WHORL_OK)
		result = find_parameters(&parameters, node, name, &said);
	if (result != WHORL_OK)
		return result;
	subgroup = new_stay(node, name, &parameters, &said);
	if (subgroup == NULL)
		return WHORL_MEMORY;
	deadline_ns = wh_monotonic_ns() + (uint64_t)timeout_ms * WH_NS_PER_MS;
	result = add_stay(subgroup, &said, deadline_ns);
	if (result != WHORL_OK) {
		wh_node_free_subgroup(subgroup, false);
		return result;
	}
	ask_loop(node);
	result = timeout_ms > 0 ? await_entry(subgroup, deadline_ns) : WHORL_TIMEOUT;
	if (result == WHORL_OK || result == WHORL_TIMEOUT)
		*out = subgroup;
	return result;
}

enum whorl_result whorl_subgroup_ready(whorl_subgroup *subgroup, int timeout_ms)
{
	enum whorl_result result;

	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	result = may_ask(__func__, subgroup->node, timeout_ms);
	return result == WHORL_OK ? wh_node_await(subgroup->node, timeout_ms, is_ready, subgroup) : result;
}

#define NOT_ENTERED "it is one of the file, and was not entered"

enum whorl_result whorl_subgroup_leave(whorl_subgroup *subgroup, int timeout_ms)
{
	enum whorl_result result;

	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	if (!wh_node_is_dynamic(subgroup))
		return WH_REFUSE(NOT_ENTERED);
	result = may_ask(__func__, subgroup->node, timeout_ms);
	if (result != WHORL_OK)
		return result;
	wh_node_begin_to_leave(subgroup);
	ask_loop(subgroup->node);
	return wh_node_await(subgroup->node, timeout_ms, has_left, subgroup);
}

enum whorl_result whorl_subgroup_release(whorl_subgroup *subgroup)
{
	whorl_node *node;

	if (subgroup == NULL)
		return WHORL_OK;
	if (!wh_node_is_dynamic(subgroup))
		return WH_REFUSE(NOT_ENTERED);
	node = subgroup->node;
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	wh_node_begin_to_leave(subgroup);
	/* Release: the last that the program has done with it. Partner: step_stay. */
	wh_store_release(&subgroup->words.released, 1);
	ask_loop(node);
	return WHORL_OK;
}

/* In an RCU section. NULL: it is not dormant, as far as this node knows. */
static const struct wh_dormant *dormant_now(const whorl_subgroup *subgroup)
{
	const struct wh_epoch *epoch =
		subgroup->fixed.durable ? wh_rcu_dereference(subgroup->node->epochs.current) : NULL;

	return epoch != NULL ? wh_view_dormant(epoch->view, subgroup->fixed.name) : NULL;
}

static void say_why_not_yet(const whorl_subgroup *subgroup, char *text, size_t bytes)
{
	const struct wh_dormant *dormant;

	snprintf(text, bytes, "this node is not in it yet");
	wh_rcu_read_lock();
	dormant = dormant_now(subgroup);
	if (dormant != NULL)
		snprintf(text, bytes,
			 "it is dormant, and waits for a node with all of its log; it was last in view %" PRIu64
			 ", with",
			 dormant->last);
	for (uint32_t i = 0; dormant != NULL && i < dormant->member_count; i++)
		wh_text_add_id(text, bytes, " ", dormant->members[i].id);
	wh_rcu_read_unlock();
}

enum whorl_result whorl_subgroup_error(const whorl_subgroup *subgroup, char *text, size_t bytes)
{
	char why_not_yet[512];
	enum whorl_result result;
	struct wh_held held;
	whorl_node *node;

	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	node = subgroup->node;
	result = whorl_error(node, text, bytes);
	if (result != WHORL_OK)
		return result;
	say_why_not_yet(subgroup, why_not_yet, sizeof(why_not_yet));
	held = wh_waiting_enter(&node->waiting);
	if (wh_node_is_dynamic(subgroup))
		result = is_in(subgroup);
	else
		result = subgroup->told.is_member ? WHORL_OK : WHORL_TIMEOUT;
	if (result == WHORL_TIMEOUT)
		result = WHORL_AGAIN;
	if (text != NULL && bytes > 0)
		snprintf(text, bytes, "%s",
			 result == WHORL_OK       ? ""
			 : result == WHORL_AGAIN  ? why_not_yet
			 : result == WHORL_CLOSED ? "this node has left it, or is leaving it"
						  : subgroup->told.failure.text);
	wh_waiting_leave(held);
	return result;
}

/* For a function that lists ids. *room: for so many; *count is 0 until there are any. */
static enum whorl_result may_list(const char *function, const whorl_subgroup *subgroup, const uint32_t *ids,
				  uint32_t *count, uint32_t *room)
{
	*room = 0;
	if (subgroup == NULL || count == NULL)
		return wh_refuse(function, subgroup == NULL ? "no subgroup" : "no count");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (ids != NULL)
		*room = *count;
	*count = 0;
	return WHORL_OK;
}

enum whorl_result whorl_subgroup_awaited(const whorl_subgroup *subgroup, uint32_t *ids, uint32_t *count)
{
	const struct wh_dormant *dormant;
	uint32_t room;
	enum whorl_result result = may_list(__func__, subgroup, ids, count, &room);

	if (result != WHORL_OK)
		return result;
	wh_rcu_read_lock();
	dormant = dormant_now(subgroup);
	if (dormant != NULL)
		*count = dormant->member_count;
	for (uint32_t i = 0; i < room && i < *count; i++)
		ids[i] = dormant->members[i].id;
	wh_rcu_read_unlock();
	return WHORL_OK;
}

enum whorl_result whorl_subgroup_members(const whorl_subgroup *subgroup, uint32_t *ids, uint32_t *count)
{
	const struct wh_shard_member *member;
	const struct wh_epoch *epoch;
	uint32_t room;
	enum whorl_result result = may_list(__func__, subgroup, ids, count, &room);

	if (result != WHORL_OK)
		return result;
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(subgroup->node->epochs.current);
	member = epoch != NULL ? wh_epoch_shard_member(epoch, subgroup) : NULL;
	if (member != NULL)
		*count = member->layout->member_count;
	for (uint32_t i = 0; member != NULL && i < room && i < *count; i++)
		ids[i] = epoch->view->ids[member->layout->members[i]];
	wh_rcu_read_unlock();
	return member != NULL ? WHORL_OK : WHORL_AGAIN;
}
