/* stay.c - dynamic subgroups: this node enters and leaves them while the group runs (docs/decisions/0046).
 *
 * A *stay* begins with whorl_subgroup_enter and ends with the view that is without it. A thread of the program makes it and puts it into the
 * node's list; all else is the loop's:
 *
 *     ENTERING --- a view has begun with this node in it ---> IN --- leave ---> LEAVING --- a view has begun without it ---> LEFT
 *        |   \--- no leader meets what differs ---> REFUSED      it rests first, then its set is without the name       ^
 *        \--- leave, and neither the set that was said last has the name nor the view that is prepared ----------------+
 *
 * What the node wishes is a set (membership/wishing.h): a stay adds its name when it is to enter, and takes it away when it is to leave and
 * has nothing left to send. A stay that is over lives until it was released and no view that is kept refers to it.
 */
#include "group/durable.h"
#include "group/node_int.h"
#include "group/refuse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sst/columns.h"

#define LOG_BYTES (1 << 30)  /* of a durable one, if nothing else is said */
#define STEP_NS WH_NS_PER_MS /* a stay that waits for what no bell tells is looked at so often */
/* A wish that was refused in a view which is prepared is said again when one begins, or after so long: each set that comes has the leader propose
 * anew. */
#define AGAIN_NS (100 * WH_NS_PER_MS)

/* ---- finding -------------------------------------------------------------------------------------------------------------- */

static bool is_live(enum wh_stage stage)
{
	return stage == WH_STAGE_ENTERING || stage == WH_STAGE_IN || stage == WH_STAGE_LEAVING;
}

/* The next of its stays from place *at on. */
static whorl_subgroup *next_stay(const whorl_node *node, uint32_t *at)
{
	if (*at < node->fixed.config.subgroup_count)
		*at = node->fixed.config.subgroup_count;
	return wh_node_next_subgroup(node, at);
}

/* There is one of a name at most. */
static whorl_subgroup *find_live(const whorl_node *node, const char *name)
{
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = next_stay(node, &at)) != NULL;)
		if (is_live(subgroup->told.stage) && strcmp(subgroup->fixed.name, name) == 0)
			return subgroup;
	return NULL;
}

whorl_subgroup *wh_node_subgroup_of(const whorl_node *node, const struct wh_view_subgroup *layout)
{
	whorl_subgroup *subgroup;

	if (layout->configured != WH_NOT_CONFIGURED)
		return node->list.subgroups[layout->configured];
	subgroup = find_live(node, layout->name);
	return subgroup != NULL && !subgroup->stay.is_out ? subgroup : NULL;
}

static const struct wh_view_subgroup *find_birth(const struct wh_epoch *epoch, uint64_t birth)
{
	for (uint32_t i = 0; epoch != NULL && i < epoch->view->dynamic_count; i++)
		if (wh_view_dynamic(epoch->view)[i].birth == birth)
			return &wh_view_dynamic(epoch->view)[i];
	return NULL;
}

/* A node that says a birth that is not in my view has begun a later one, which is prepared here then: all its members have acknowledged
 * it before any began it. So nothing has to be kept for later. */
whorl_subgroup *wh_node_subgroup_by_number(const whorl_node *node, uint64_t number)
{
	const struct wh_view_subgroup *layout;

	if (number < node->fixed.config.subgroup_count)
		return node->list.subgroups[number];
	layout = find_birth(node->epochs.current, number);
	if (layout == NULL)
		layout = find_birth(node->epochs.proposed, number);
	return layout != NULL ? wh_node_subgroup_of(node, layout) : NULL;
}

/* Claims of the program find no sender from here on; that it rests is said when all is delivered (wh_epoch_rest). */
static void begin_to_leave(whorl_subgroup *subgroup)
{
	(void)wh_node_pause(subgroup, true, true);
}

/* ---- the stages ------------------------------------------------------------------------------------------------------------ */

/* Threads that wait for it look. */
static void come_to(whorl_subgroup *subgroup, enum wh_stage stage)
{
	whorl_node *node = subgroup->node;
	struct wh_held held;

	if (subgroup->told.stage == stage)
		return;
	held = wh_waiting_enter(&node->waiting);
	wh_told_write(held, &subgroup->told)->stage = stage;
	wh_waiting_tell(held);
	wh_waiting_leave(held);
	wh_places_add(&node->stays.moving, subgroup->fixed.index);
	wh_event(&node->diag, "stay", subgroup->stay.birth, (uint64_t)stage, subgroup->fixed.index);
}

/* The members that had all of its log have gone before another had: it is dormant, and these come back. What this node has sent in it since is
 * lost. */
static void is_put_out(whorl_subgroup *subgroup)
{
	whorl_node *node = subgroup->node;
	struct wh_held held;

	(void)wh_wishing_remove(&node->entry.serving->wishing, subgroup->fixed.name);
	subgroup->stay.wished = false;
	wh_log(&node->diag, WH_LOG_WARNING,
	       "this node is out of %s, which is dormant: those that had all of its log are gone",
	       subgroup->fixed.name);
	held = wh_waiting_enter(&node->waiting);
	wh_error_set(
		&wh_told_write(held, &subgroup->told)->failure, WHORL_SHARD_LOST,
		"%s: all members that had all of its log have gone before they gave it; it is dormant until one comes back",
		subgroup->fixed.name);
	wh_waiting_tell(held);
	wh_waiting_leave(held);
	begin_to_leave(subgroup);
}

void wh_node_begin_stays(const struct wh_epoch *epoch)
{
	whorl_node *node = epoch->node;
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = next_stay(node, &at)) != NULL;) {
		const struct wh_shard_member *member = wh_epoch_shard_member(epoch, subgroup);
		struct wh_stay *stay = &subgroup->stay;

		if (!is_live(subgroup->told.stage) || stay->is_out)
			continue;
		if (stay->sleeps && wh_view_dormant(epoch->view, subgroup->fixed.name) == NULL) {
			stay->sleeps = false; /* it has come back, or begun anew: it is wished again */
			wh_places_add(&node->stays.moving, subgroup->fixed.index);
		}
		stay->again_ns = 0;
		if (member == NULL) {
			stay->is_out = subgroup->told.stage != WH_STAGE_ENTERING;
			if (stay->is_out && stay->wished && subgroup->fixed.durable)
				is_put_out(subgroup);
			/* What takes it out else has served a set without it, and that was the last that was said. */
			WH_CHECK(&node->diag, !stay->is_out || !stay->wished);
			wh_places_add(&node->stays.moving, subgroup->fixed.index);
		} else if (subgroup->told.stage == WH_STAGE_ENTERING) {
			stay->birth = member->layout->birth;
			come_to(subgroup, WH_STAGE_IN);
		}
	}
}

static void say_refused(struct wh_error *err, const char *name, const struct wh_parameters *mine,
			const struct wh_refusal *refusal)
{
	static const char *const modes[] = {"unordered", "ordered", "durable"};
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {[WH_PARAMETER_WINDOW] = {"window", mine->window},
		       [WH_PARAMETER_BYTES] = {"message_bytes", mine->message_bytes},
		       [WH_PARAMETER_LARGE] = {"large_bytes", mine->large_bytes}};

	if (refusal->why == WH_REFUSED_TOO_MANY)
		wh_error_set(err, WHORL_REFUSED, "%s: the group has %d dynamic subgroups, and takes no more", name,
			     WH_DYNAMIC_MAX);
	else if (refusal->why == WH_REFUSED_CONFIGURED)
		wh_error_set(err, WHORL_REFUSED, "%s: the configuration of the leader has a subgroup of that name",
			     name);
	else if (refusal->parameter == WH_PARAMETER_MODE)
		wh_error_set(err, WHORL_REFUSED, "%s: its mode is %s here, and %s at node %" PRIu32, name,
			     modes[wh_parameters_mode(mine)],
			     refusal->theirs < sizeof(modes) / sizeof(modes[0]) ? modes[refusal->theirs] : "another",
			     refusal->node);
	else if (refusal->parameter == WH_PARAMETER_STATE)
		wh_error_set(err, WHORL_REFUSED,
			     "%s: there are %sfunctions for its state here, and %s at node %" PRIu32, name,
			     mine->state ? "" : "no ", refusal->theirs != 0 ? "some" : "none", refusal->node);
	else
		wh_error_set(err, WHORL_REFUSED, "%s: its %s is %" PRIu64 " here, and %" PRIu64 " at node %" PRIu32,
			     name, numbers[refusal->parameter].name, numbers[refusal->parameter].value, refusal->theirs,
			     refusal->node);
}

void wh_node_wish_refused(void *ctx, const struct wh_wish *wish, const struct wh_refusal *refusal)
{
	whorl_node *node = ctx;
	whorl_subgroup *subgroup = find_live(node, wish->name);
	struct wh_stay *stay = subgroup != NULL ? &subgroup->stay : NULL;
	struct wh_held held;

	if (stay == NULL || subgroup->told.stage != WH_STAGE_ENTERING)
		return;
	(void)wh_wishing_remove(&node->entry.serving->wishing, subgroup->fixed.name);
	stay->wished = false;
	if (refusal->why == WH_REFUSED_DORMANT) { /* not for good; a view may have begun meanwhile in which it is not */
		stay->sleeps = node->epochs.current == NULL ||
			       wh_view_dormant(node->epochs.current->view, subgroup->fixed.name) != NULL;
		stay->again_ns = stay->sleeps ? 0 : node->loop.now_ns + AGAIN_NS;
		wh_places_add(&node->stays.moving, subgroup->fixed.index);
		return;
	}
	/* Before a thread can read that it was refused. */
	if (subgroup->ring != NULL)
		(void)wh_ring_drop(subgroup->ring, 0); /* no claim has been made: they get WHORL_NOT_SENDER now */
	held = wh_waiting_enter(&node->waiting);
	say_refused(&wh_told_write(held, &subgroup->told)->failure, subgroup->fixed.name, &subgroup->fixed.parameters,
		    refusal);
	wh_waiting_leave(held);
	come_to(subgroup, WH_STAGE_REFUSED);
}

/* No node has the state that it was to be given, or its program could not restore it. Other subgroups go on: the node leaves this one, and may
 * enter it again. */
void wh_node_fail_stay(whorl_subgroup *subgroup, enum whorl_result code, const char *text)
{
	whorl_node *node = subgroup->node;
	struct wh_held held;

	wh_log(&node->diag, WH_LOG_WARNING, "this node leaves %s: its state: %s", subgroup->fixed.name, text);
	held = wh_waiting_enter(&node->waiting);
	wh_error_set(&wh_told_write(held, &subgroup->told)->failure, code, "%s: its state: %s", subgroup->fixed.name,
		     text);
	wh_waiting_tell(held);
	wh_waiting_leave(held);
	begin_to_leave(subgroup);
	wh_places_add(&node->stays.moving, subgroup->fixed.index);
}

/* ---- one pass -------------------------------------------------------------------------------------------------------------- */

static void wish_it(whorl_subgroup *subgroup)
{
	struct wh_wishing *wishing = &subgroup->node->entry.serving->wishing;
	struct wh_wish wish = {
		.sends = subgroup->fixed.sends, .parameters = subgroup->fixed.parameters, .anew = subgroup->fixed.anew};

	memcpy(wish.name, subgroup->fixed.own_name, sizeof(wish.name));
	if (subgroup->fixed.durable)
		wh_durable_hold(subgroup->node, wish.name, &wish.holding);
	subgroup->stay.wished = wh_wishing_add(wishing, &wish) == WHORL_OK; /* there is room: WH_STAYS_MAX */
}

/* A view that was under way when my set was without the name has let another in, and has me in it: that set it does not serve. So it is
 * known that I have not been out, and a set with the name takes the place of that one, before any proposal of this view has been seen: none
 * that takes me out by the earlier set is acknowledged here. I leave when I have given. */
void wh_node_stay_to_give(whorl_subgroup *subgroup)
{
	if (subgroup->told.stage != WH_STAGE_LEAVING || subgroup->stay.wished || !wh_state_gives(subgroup->state))
		return;
	wish_it(subgroup);
	wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
}

static void unwish_it(whorl_subgroup *subgroup)
{
	if (subgroup->stay.wished)
		(void)wh_wishing_remove(&subgroup->node->entry.serving->wishing, subgroup->fixed.name);
	subgroup->stay.wished = false;
}

/* What this node's disk holds of it is known when its view has begun: behind a restart, and where it comes in, it had been in it before. */
static bool may_wish(const whorl_subgroup *subgroup)
{
	const struct wh_stay *stay = &subgroup->stay;

	return !stay->wished && !stay->sleeps && (!subgroup->fixed.durable || subgroup->node->epochs.current != NULL) &&
	       subgroup->node->loop.now_ns >= stay->again_ns;
}

/* Neither what was said last nor a view that may come has this node in it. */
static bool is_taken_back(const whorl_subgroup *subgroup)
{
	const whorl_node *node = subgroup->node;

	return wh_wish_find(&node->entry.serving->wishing.said, subgroup->fixed.name) == NULL &&
	       (node->epochs.proposed == NULL || wh_epoch_shard_member(node->epochs.proposed, subgroup) == NULL);
}

/* It has left when no function of its program is called any more. */
static void end_stay(whorl_subgroup *subgroup)
{
	if (subgroup->state != NULL)
		wh_state_stop(wh_node_use_state(subgroup));
	if (subgroup->offer.listed || (subgroup->state != NULL && wh_state_is_busy(subgroup->state)) ||
	    wh_durable_stops(subgroup))
		wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
	else
		come_to(subgroup, WH_STAGE_LEFT);
}

/* It is in a view: its program sends nothing more, the view that takes it out finds nothing of it that is not delivered, and those that
 * have entered are given its state, which may be nowhere else. */
static void leave_it(whorl_subgroup *subgroup)
{
	come_to(subgroup, WH_STAGE_LEAVING);
	if (!subgroup->stay.wished)
		return;
	if ((!subgroup->fixed.sends || wh_epoch_has_said_rest(subgroup->node->epochs.current, subgroup)) &&
	    (subgroup->state == NULL || !wh_state_gives(subgroup->state)) &&
	    (!subgroup->fixed.durable || wh_durable_may_leave_stay(subgroup)))
		unwish_it(subgroup);
	else
		wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
}

static void take_it_back(whorl_subgroup *subgroup)
{
	unwish_it(subgroup);
	subgroup->stay.is_out = is_taken_back(subgroup);
	wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
}

static bool is_referred_to(const whorl_node *node, const whorl_subgroup *subgroup)
{
	for (const struct wh_epoch *epoch = node->epochs.current; epoch != NULL; epoch = epoch->older)
		if (wh_epoch_shard_member(epoch, subgroup) != NULL)
			return true;
	return node->epochs.proposed != NULL && wh_epoch_shard_member(node->epochs.proposed, subgroup) != NULL;
}

struct job { /* off the loop */
	whorl_node *node;
	whorl_subgroup *subgroup;
};

static void free_in_peace(void *argument)
{
	struct job job = *(struct job *)argument;

	free(argument);
	wh_rcu_synchronize();
	wh_node_free_subgroup(job.subgroup, false);
	wh_fetch_add(&job.node->uses.jobs, UINT64_MAX);
}

/* Nobody finds it any more; threads that have just finished a claim in it may still be there. */
static void free_it(whorl_subgroup *subgroup)
{
	whorl_node *node = subgroup->node;
	struct wh_held held;
	struct job *job;

	/* Acquire: a job of its state has done with it. Partner: job_ends, in transfer.c. */
	if (is_referred_to(node, subgroup) || wh_load_acquire(&subgroup->words.jobs) > 0 ||
	    wh_durable_stops(subgroup)) {
		wh_places_add(&node->stays.moving, subgroup->fixed.index);
		return;
	}
	job = malloc(sizeof(*job));
	held = wh_waiting_enter(&node->waiting);
	wh_list_leave(held, &node->list, subgroup->fixed.index, subgroup->fixed.memory_bytes);
	wh_waiting_leave(held);
	node->states.used = true; /* the list of those that are busy is made anew */
	if (job == NULL) {
		wh_rcu_synchronize();
		wh_node_free_subgroup(subgroup, false);
		return;
	}
	*job = (struct job){node, subgroup};
	wh_fetch_add(&node->uses.jobs, 1);
	node->fixed.env.submit(node->fixed.env.ctx, free_in_peace, job);
}

static void step_stay(whorl_subgroup *subgroup)
{
	struct wh_stay *stay = &subgroup->stay;
	bool leaves = wh_load_relaxed(&subgroup->words.leaves) != 0;

	if (is_live(subgroup->told.stage) && stay->is_out)
		end_stay(subgroup);
	else if (subgroup->told.stage == WH_STAGE_ENTERING && leaves)
		take_it_back(subgroup);
	else if (subgroup->told.stage == WH_STAGE_ENTERING && may_wish(subgroup))
		wish_it(subgroup);
	else if (subgroup->told.stage == WH_STAGE_ENTERING && !stay->wished && stay->again_ns != 0)
		wh_places_add(&subgroup->node->stays.moving, subgroup->fixed.index);
	else if (is_live(subgroup->told.stage) && leaves)
		leave_it(subgroup);
	else if (!is_live(subgroup->told.stage) &&
		 wh_load_acquire(&subgroup->words.released) != 0) /* partner: whorl_subgroup_release */
		free_it(subgroup);
}

void wh_node_step_stays(whorl_node *node)
{
	struct wh_places moving = node->stays.moving;
	whorl_subgroup *subgroup;

	/* Acquire: what was asked. Partner: ask_loop. */
	if (wh_load_acquire(&node->stays.asked) != 0 && wh_exchange(&node->stays.asked, 0) != 0)
		moving = wh_node_all_places(node);
	if (!wh_places_any(&moving) || wh_node_has_failed(node))
		return;
	node->stays.moving = (struct wh_places){0, 0};
	for (uint32_t at = moving.from; at < moving.to && (subgroup = next_stay(node, &at)) != NULL;)
		step_stay(subgroup);
	if (wh_places_any(&node->stays.moving))
		wh_loop_at(&node->loop, node->loop.now_ns + STEP_NS);
}

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
		result = wh_durable_open_log_state(subgroup, &err);
	return result;
}

/* WHORL_AGAIN: one of that name leaves. */
static enum whorl_result put_into_list(struct wh_held held, whorl_subgroup *subgroup,
				       const struct whorl_subgroup_options *options)
{
	whorl_node *node = subgroup->node;
	const whorl_subgroup *other = find_live(node, subgroup->fixed.name);
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

	return is_live(subgroup->told.stage) ? WHORL_TIMEOUT : WHORL_OK;
}

struct name_of { /* of a stay that is to come */
	const whorl_node *node;
	const char *name;
};

static enum whorl_result is_free(const void *ctx)
{
	const struct name_of *of = ctx;

	return find_live(of->node, of->name) != NULL ? WHORL_TIMEOUT : WHORL_OK;
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
	begin_to_leave(subgroup);
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
	begin_to_leave(subgroup);
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
