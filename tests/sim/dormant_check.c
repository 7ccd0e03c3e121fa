/* dormant_check.c - see dormant_play.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/inspect.h"
#include "tests/sim/dormant_play.h"

struct dormant_birth *dormant_newest(const struct dormant_play *play, uint32_t name)
{
	for (uint32_t i = play->birth_count; i-- > 0;)
		if (play->births[i]->name == name)
			return play->births[i];
	return NULL;
}

/* ---- births --------------------------------------------------------------------------------------------------------------------- */

static const struct wh_view_subgroup *find_named(const struct wh_view *view, const char *name)
{
	const struct wh_view_subgroup *dynamic = view != NULL ? wh_view_dynamic(view) : NULL;

	for (uint32_t i = 0; view != NULL && i < view->dynamic_count; i++)
		if (strcmp(dynamic[i].name, name) == 0)
			return &dynamic[i];
	return NULL;
}

/* Some program that may have begun it said so. */
static bool was_begun_anew(const struct dormant_play *play, uint32_t name)
{
	for (uint32_t i = 0; i < play->stay_count; i++)
		if (play->stays[i]->name == name && play->stays[i]->anew && play->stays[i]->birth == NULL)
			return true;
	return false;
}

static struct dormant_birth *be_born(struct dormant_stay *stay, uint64_t group, uint64_t birth)
{
	struct dormant_play *play = stay->life->play;
	const struct dormant_birth *before = dormant_newest(play, stay->name);
	struct dormant_birth *out;

	if (before != NULL && before->group == group && !was_begun_anew(play, stay->name))
		dormant_fail(play, "births: node %u finds %s begun anew, and no program said so", stay->life->id,
			     play->names[stay->name].name);
	for (uint32_t i = 0; i < play->birth_count; i++)
		if (play->births[i]->group != group && play->births[i]->count > 0)
			dormant_fail(play, "births: node %u is in another group, and something was delivered before",
				     stay->life->id);
	out = dormant_must(calloc(1, sizeof(*out)));
	*out = (struct dormant_birth){.group = group, .birth = birth, .name = stay->name, .number = play->birth_count};
	play->births = dormant_more(play->births, play->birth_count, sizeof(struct dormant_birth *));
	play->births[play->birth_count++] = out;
	dormant_tell(stay->life, "%s is born, number %u", play->names[stay->name].name, out->number);
	return out;
}

/* False: it is in none. */
static bool find_birth(struct dormant_stay *stay)
{
	struct dormant_play *play = stay->life->play;
	whorl_node *node = dormant_node_until_closed(stay->life->process);
	const struct wh_view *view = node != NULL ? wh_inspect_view(node) : NULL;
	const struct wh_view_subgroup *is = find_named(view, play->names[stay->name].name);

	if (stay->birth != NULL)
		return true;
	if (is == NULL)
		return false;
	for (uint32_t i = 0; i < play->birth_count && stay->birth == NULL; i++)
		if (play->births[i]->group == view->group && play->births[i]->birth == is->birth &&
		    play->births[i]->name == stay->name)
			stay->birth = play->births[i];
	if (stay->birth == NULL)
		stay->birth = be_born(stay, view->group, is->birth);
	else if (stay->birth != dormant_newest(play, stay->name))
		dormant_fail(play, "births: node %u is in %s as it was before it was begun anew", stay->life->id,
			     play->names[stay->name].name);
	return true;
}

/* ---- the order ------------------------------------------------------------------------------------------------------------------ */

static bool is_behind(const struct dormant_entry *entry, const struct dormant_entry *last)
{
	return entry->view > last->view || (entry->view == last->view && entry->sequence > last->sequence);
}

static void put_in_order(struct dormant_stay *stay, const struct dormant_entry *entry)
{
	struct dormant_play *play = stay->life->play;
	struct dormant_birth *birth = stay->birth;
	struct dormant_stay *sender;

	if (entry->stay >= play->stay_count || play->stays[entry->stay]->name != stay->name ||
	    entry->number >= play->stays[entry->stay]->sent) {
		dormant_fail(play, "order: node %u is told in %s what was not sent: %" PRIu64 " of stay %" PRIu64,
			     stay->life->id, play->names[stay->name].name, entry->number, entry->stay);
		return;
	}
	sender = play->stays[entry->stay];
	if (entry->number != sender->ordered || entry->sender != sender->life->id || entry->index != entry->number)
		dormant_fail(play,
			     "order: node %u is told in %s message %" PRIu64 " (index %" PRIu64 ") of stay %" PRIu64
			     " (node %" PRIu64 "), behind the first %" PRIu64,
			     stay->life->id, play->names[stay->name].name, entry->number, entry->index, entry->stay,
			     entry->sender, sender->ordered);
	if (sender->birth != NULL && sender->birth != birth)
		dormant_fail(play, "order: what was sent in one birth of %s is delivered in another",
			     play->names[stay->name].name);
	if (birth->count > 0 && !is_behind(entry, &birth->order[birth->count - 1]))
		dormant_fail(play, "order: in %s %" PRIu64 ".%" PRIu64 " comes behind %" PRIu64 ".%" PRIu64,
			     play->names[stay->name].name, entry->view, entry->sequence,
			     birth->order[birth->count - 1].view, birth->order[birth->count - 1].sequence);
	sender->ordered++;
	if (birth->count == birth->room) {
		birth->room = birth->room > 0 ? 2 * birth->room : 64;
		birth->order = dormant_must(realloc(birth->order, birth->room * sizeof(*birth->order)));
	}
	birth->order[birth->count++] = *entry;
}

static void take_entry(struct dormant_stay *stay, const struct dormant_entry *entry)
{
	struct dormant_play *play = stay->life->play;
	struct dormant_birth *birth = stay->birth;

	if (stay->told == birth->count)
		put_in_order(stay, entry);
	if (dormant_failed(play))
		return;
	if (memcmp(&birth->order[stay->told], entry, sizeof(*entry)) != 0)
		dormant_fail(play,
			     "order: node %u is told in %s, as number %zu, message %" PRIu64 " of stay %" PRIu64
			     " at %" PRIu64 ".%" PRIu64 "; and another was told %" PRIu64 " of stay %" PRIu64
			     " at %" PRIu64 ".%" PRIu64,
			     stay->life->id, play->names[stay->name].name, stay->told, entry->number, entry->stay,
			     entry->view, entry->sequence, birth->order[stay->told].number,
			     birth->order[stay->told].stay, birth->order[stay->told].view,
			     birth->order[stay->told].sequence);
	stay->told++;
}

void dormant_check_message(struct dormant_stay *stay, const struct whorl_message *message)
{
	struct dormant_play *play = stay->life->play;
	struct dormant_entry entry = {.view = message->view,
				      .sequence = message->sequence,
				      .incarnation = message->incarnation,
				      .index = message->index,
				      .sender = message->sender};
	uint64_t said[2];

	if (dormant_failed(play))
		return;
	if (stay->over || !find_birth(stay)) {
		dormant_fail(play, "order: node %u is told something in %s, and is not in it", stay->life->id,
			     play->names[stay->name].name);
		return;
	}
	if (message->bytes < sizeof(said)) {
		dormant_fail(play, "order: node %u is told %zu bytes in %s", stay->life->id, message->bytes,
			     play->names[stay->name].name);
		return;
	}
	memcpy(said, message->data, sizeof(said));
	entry.stay = said[0];
	entry.number = said[1];
	for (size_t i = sizeof(said); i < message->bytes; i++)
		if (((const unsigned char *)message->data)[i] != (unsigned char)(said[0] + said[1] + i))
			dormant_fail(play, "order: a message in %s has other bytes than were sent",
				     play->names[stay->name].name);
	take_entry(stay, &entry);
}

/* ---- states --------------------------------------------------------------------------------------------------------------------- */

void dormant_check_snapshot(struct dormant_stay *stay, const struct whorl_position *position)
{
	struct dormant_play *play = stay->life->play;
	const struct dormant_birth *birth = stay->birth;

	for (size_t i = 0; birth != NULL && i < birth->count; i++) {
		const struct dormant_entry *entry = &birth->order[i];
		bool is_below = entry->view < position->view ||
				(entry->view == position->view && entry->sequence < position->sequence);

		if (is_below != (i < stay->told))
			dormant_fail(play,
				     "state: node %u has been told %zu messages in %s, and gives its state at %" PRIu64
				     ".%" PRIu64,
				     stay->life->id, stay->told, play->names[stay->name].name, position->view,
				     position->sequence);
	}
}

void dormant_check_restored(struct dormant_stay *stay)
{
	struct dormant_play *play = stay->life->play;
	size_t count = stay->bytes / sizeof(struct dormant_entry);

	if (dormant_failed(play))
		return;
	if (stay->over)
		dormant_fail(play, "state: node %u restores %s, which it has left", stay->life->id,
			     play->names[stay->name].name);
	if (!find_birth(stay))
		return; /* it has let go of it meanwhile: that is of no use any more */
	if (stay->bytes % sizeof(struct dormant_entry) != 0 || count > stay->birth->count ||
	    (count > 0 && memcmp(stay->restored, stay->birth->order, stay->bytes) != 0))
		dormant_fail(play, "state: node %u restores in %s what is not the beginning of what was delivered",
			     stay->life->id, play->names[stay->name].name);
	stay->told = count;
}

/* ---- stays ---------------------------------------------------------------------------------------------------------------------- */

void dormant_check_entering(struct dormant_stay *stay)
{
	stay->newest = dormant_newest(stay->life->play, stay->name);
	stay->floor = stay->newest != NULL ? stay->newest->count : 0;
}

void dormant_check_ready(struct dormant_stay *stay)
{
	struct dormant_play *play = stay->life->play;

	if (!find_birth(stay))
		dormant_fail(play, "ready: node %u is in %s, and its view does not say so", stay->life->id,
			     play->names[stay->name].name);
	else if (stay->birth == stay->newest && stay->told < stay->floor)
		dormant_fail(
			play,
			"ready: node %u is ready in %s with %zu messages, and %zu had been delivered when it entered",
			stay->life->id, play->names[stay->name].name, stay->told, stay->floor);
	else if (stay->birth != stay->newest && stay->newest != NULL && stay->birth->number < stay->newest->number)
		dormant_fail(play, "ready: node %u is in a birth of %s that is over", stay->life->id,
			     play->names[stay->name].name);
}

void dormant_check_left(struct dormant_stay *stay)
{
	stay->over = true;
	stay->drained = !stay->lost;
}

/* Some may have been kept back where it was not ready yet, so this is looked at in the end. */
void dormant_check_drained(struct dormant_play *play)
{
	for (uint32_t i = 0; i < play->stay_count; i++) {
		const struct dormant_stay *stay = play->stays[i];

		if (stay->drained && stay->birth != NULL && stay->birth == dormant_newest(play, stay->name) &&
		    stay->ordered != stay->sent)
			dormant_fail(play,
				     "left: node %u has left %s (stay %u), and of the %" PRIu64
				     " messages that it sent %" PRIu64 " were delivered",
				     stay->life->id, play->names[stay->name].name, stay->number, stay->sent,
				     stay->ordered);
	}
}

bool dormant_is_quiet(const struct dormant_stay *stay)
{
	return stay->ready && stay->birth != NULL && stay->ordered == stay->sent && stay->told == stay->birth->count;
}
