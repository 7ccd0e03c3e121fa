/* dormant_program.c - see dormant_play.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/dormant_play.h"

#define CALM_MESSAGES 16 /* at most, of a stay in the end */

static bool is_over(const struct dormant_life *life)
{
	return dormant_failed(life->play) || life->process == NULL || dormant_is_dead(life->process);
}

/* ---- its state ------------------------------------------------------------------------------------------------------------------ */

static void take_message(const struct whorl_message *message, void *ctx)
{
	struct dormant_stay *stay = ctx;

	if (!is_over(stay->life))
		dormant_check_message(stay, message);
}

struct copy {
	struct dormant_stay *stay;
	size_t bytes, read;
	unsigned char data[];
};

static void *take_copy(const struct whorl_position *position, void *ctx)
{
	struct dormant_stay *stay = ctx;
	size_t bytes = stay->told * sizeof(struct dormant_entry);
	struct copy *copy;

	if (is_over(stay->life))
		return NULL;
	dormant_check_snapshot(stay, position);
	copy = dormant_must(calloc(1, sizeof(*copy) + bytes + 1));
	copy->stay = stay;
	copy->bytes = bytes;
	if (bytes > 0)
		memcpy(copy->data, stay->birth->order, bytes);
	return copy;
}

static void take_time(const struct dormant_stay *stay)
{
	struct dormant_life *life = stay->life;

	if (stay->slow_ns > 0 && !life->play->calm && !is_over(life))
		dormant_nap(life->process, 1 + wh_dice_below(&life->dice, stay->slow_ns));
}

static ptrdiff_t read_copy(void *snapshot, void *bytes, size_t count, void *ctx)
{
	struct copy *copy = snapshot;
	size_t rest;

	(void)ctx;
	take_time(copy->stay);
	if (is_over(copy->stay->life))
		return -1;
	rest = copy->bytes - copy->read;
	count = rest < count ? rest : count;
	memcpy(bytes, copy->data + copy->read, count);
	copy->read += count;
	return (ptrdiff_t)count;
}

static void release_copy(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

static bool restore_copy(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct dormant_stay *stay = ctx;

	take_time(stay);
	if (is_over(stay->life))
		return false;
	if (step == WHORL_RESTORE_BEGIN) {
		free(stay->restored);
		stay->restored = NULL;
		stay->bytes = 0;
	} else if (step == WHORL_RESTORE_BYTES && count > 0) {
		stay->restored = dormant_must(realloc(stay->restored, stay->bytes + count));
		memcpy((unsigned char *)stay->restored + stay->bytes, bytes, count);
		stay->bytes += count;
	} else if (step == WHORL_RESTORE_END) {
		dormant_check_restored(stay);
	}
	return true;
}

/* ---- entering ------------------------------------------------------------------------------------------------------------------- */

static struct dormant_stay *new_stay(struct dormant_life *life, uint32_t name)
{
	struct dormant_play *play = life->play;
	struct dormant_stay *stay = dormant_must(calloc(1, sizeof(*stay)));

	*stay = (struct dormant_stay){.life = life, .number = play->stay_count, .name = name};
	stay->listens = !play->calm && wh_dice_one_in(&life->dice, 8);
	stay->anew = play->begins_anew && !play->calm && wh_dice_one_in(&life->dice, 12);
	if (wh_dice_one_in(&life->dice, 3))
		stay->slow_ns = wh_dice_one_in(&life->dice, 2) ? 5 * WH_NS_PER_MS : 200 * WH_NS_PER_MS;
	play->stays = dormant_more(play->stays, play->stay_count, sizeof(struct dormant_stay *));
	play->stays[play->stay_count++] = stay;
	return stay;
}

void dormant_stay_free(struct dormant_stay *stay)
{
	free(stay->restored);
	free(stay);
}

static void enter(struct dormant_life *life, whorl_node *node, uint32_t name)
{
	const struct dormant_name *of = &life->play->names[name];
	struct dormant_stay *stay = new_stay(life, name);
	const struct whorl_state functions = {.size = sizeof(functions),
					      .snapshot = take_copy,
					      .read = read_copy,
					      .release = release_copy,
					      .restore = restore_copy,
					      .ctx = stay};
	const struct whorl_subgroup_options options = {.size = sizeof(options),
						       .mode = WHORL_DURABLE,
						       .window = of->window,
						       .message_bytes = DORMANT_MESSAGE_BYTES,
						       .log_bytes = of->log_bytes,
						       .listens = stay->listens,
						       .on_message = take_message,
						       .upcall_ctx = stay,
						       .state = of->has_state ? &functions : NULL,
						       .begin_anew = stay->anew};
	enum whorl_result result;

	dormant_check_entering(stay);
	result = whorl_subgroup_enter(node, of->name, &options, 0, &stay->subgroup);
	if (result == WHORL_TIMEOUT) {
		life->stays[name] = stay;
		dormant_tell(life, "enters %s: stay %u%s", of->name, stay->number, stay->anew ? ", anew" : "");
		return;
	}
	stay->over = true;
	if (result != WHORL_AGAIN && result != whorl_error(node, NULL, 0))
		dormant_fail(life->play, "enter: node %u, %s: %s %s", life->id, of->name, whorl_result_text(result),
			     whorl_invalid_text());
}

/* ---- in it ---------------------------------------------------------------------------------------------------------------------- */

static void let_go(struct dormant_stay *stay)
{
	(void)whorl_subgroup_release(stay->subgroup);
	stay->subgroup = NULL;
	stay->life->stays[stay->name] = NULL;
}

static void send_some(struct dormant_stay *stay, uint64_t count)
{
	struct dormant_life *life = stay->life;
	unsigned char data[DORMANT_MESSAGE_BYTES];
	enum whorl_result result = WHORL_OK;

	for (; count > 0 && !stay->listens && !stay->leaves && (result == WHORL_OK || result == WHORL_PENDING);
	     count--) {
		uint64_t said[2] = {stay->number, stay->sent}, index = UINT64_MAX;
		size_t bytes = wh_dice_between(&life->dice, sizeof(said), sizeof(data));

		for (size_t i = 0; i < bytes; i++)
			data[i] = (unsigned char)(said[0] + said[1] + i);
		memcpy(data, said, sizeof(said));
		stay->sent++; /* it may be upcalled before this returns */
		result = whorl_send(stay->subgroup, data, bytes, 0, &index);
		if (result != WHORL_OK && result != WHORL_PENDING)
			stay->sent--;
		else if (index != said[1])
			dormant_fail(life->play, "send: node %u: message %" PRIu64 " has index %" PRIu64, life->id,
				     said[1], index);
	}
}

/* What became of it. False: it is no more. */
static bool look(struct dormant_stay *stay, whorl_node *node)
{
	struct dormant_life *life = stay->life;
	char text[512];
	enum whorl_result result = whorl_subgroup_ready(stay->subgroup, 0);

	if (whorl_error(node, NULL, 0) != WHORL_OK)
		return false;
	if (result == WHORL_OK && !stay->ready) {
		stay->ready = true;
		dormant_tell(life, "is ready in %s with %zu messages", life->play->names[stay->name].name, stay->told);
		dormant_check_ready(stay);
	}
	if (whorl_subgroup_error(stay->subgroup, text, sizeof(text)) == WHORL_SHARD_LOST)
		stay->lost = true;
	if (stay->leaves) {
		if (whorl_subgroup_leave(stay->subgroup, 0) != WHORL_OK)
			return true;
		dormant_tell(life, "has left %s", life->play->names[stay->name].name);
		dormant_check_left(stay);
		let_go(stay);
		return false;
	}
	if (stay->lost) {
		dormant_tell(life, "%s: %s", life->play->names[stay->name].name, text);
		let_go(stay);
		return false;
	}
	if (result != WHORL_OK && result != WHORL_TIMEOUT)
		dormant_fail(life->play, "ready: node %u, %s: %s: %s", life->id, life->play->names[stay->name].name,
			     whorl_result_text(result), text);
	return true;
}

static void leave(struct dormant_stay *stay)
{
	dormant_tell(stay->life, "leaves %s", stay->life->play->names[stay->name].name);
	stay->leaves = true;
	(void)whorl_subgroup_leave(stay->subgroup, 0);
}

static void act_in(struct dormant_stay *stay)
{
	struct dormant_life *life = stay->life;
	struct dormant_play *play = life->play;

	if (play->silent || stay->leaves)
		return;
	switch (play->calm ? 20 : wh_dice_below(&life->dice, 30)) {
	case 0:
		leave(stay);
		break;
	case 1:
		dormant_tell(life, "lets go of %s", play->names[stay->name].name);
		let_go(stay);
		break;
	case 2:
	case 3:
		(void)whorl_checkpoint(stay->subgroup);
		break;
	default:
		if (wh_dice_one_in(&life->dice, 2) && (!play->calm || stay->sent < CALM_MESSAGES))
			send_some(stay, wh_dice_between(&life->dice, 1, 6));
	}
}

void dormant_program_begin(struct dormant_life *life, whorl_node *node)
{
	for (uint32_t name = 0; name < life->play->name_count; name++)
		if (wh_dice_one_in(&life->dice, 4))
			enter(life, node, name);
}

void dormant_program_act(struct dormant_life *life)
{
	whorl_node *node = dormant_node(life->process);
	struct dormant_play *play = life->play;
	uint32_t name = (uint32_t)wh_dice_below(&life->dice, play->name_count);

	if (node == NULL || dormant_failed(play) || whorl_error(node, NULL, 0) != WHORL_OK)
		return;
	life->is_ready = life->is_ready || whorl_ready(node, 0) == WHORL_OK;
	for (uint32_t i = 0; i < play->name_count; i++)
		if (life->stays[i] != NULL && !look(life->stays[i], node))
			return;
	if (life->stays[name] != NULL)
		act_in(life->stays[name]);
	else if (play->calm || wh_dice_one_in(&life->dice, 4))
		enter(life, node, name);
}

void dormant_program_end(struct dormant_life *life)
{
	for (uint32_t i = 0; i < DORMANT_NAMES; i++)
		life->stays[i] = NULL;
}
