/* set.c - coherent sets. See channel_int.h.
 *
 * A set is what the writers of one publisher say between its begin and its end. It waits here, and takes effect as a whole where it ends: at all
 * readers, in the history, for instances and owners. It is whole or absent: the publisher's participant may go before it has ended. A writer that
 * is deleted in an open set takes along what it has there; with scope GROUP, where the set is that of all writers together, all of it.
 */
#include "dds/channel/channel_int.h"

#include <stdlib.h>
#include <string.h>

static struct wh_dds_set *find(const struct wh_dds_channel *channel, const struct wh_dds_endpoint_id *publisher)
{
	struct wh_dds_set *set = channel->sets;

	while (set != NULL && wh_dds_id_compare(&set->publisher, publisher) != 0)
		set = set->next;
	return set;
}

struct wh_dds_set *wh_dds_set_of(const struct wh_dds_channel *channel, const struct wh_dds_endpoint *writer)
{
	struct wh_dds_endpoint_id publisher = {writer->id.incarnation, writer->id.node, writer->group};

	return writer->policies.presentation.coherent ? find(channel, &publisher) : NULL;
}

static void drop_items(struct wh_dds_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		wh_dds_block_drop(set->items[i].sample.block);
	free(set->items);
	set->items = NULL;
	set->count = set->room = 0;
	set->bytes = 0;
}

void wh_dds_set_free(struct wh_dds_set *set)
{
	drop_items(set);
	free(set);
}

static void tell_lost(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer,
		      const struct wh_dds_sample *sample)
{
	if (channel->config.watches)
		wh_dds_tell_event(channel,
				  &(struct wh_dds_event){.what = WH_DDS_DROPPED, .writer = writer, .sample = sample});
}

static void tell_all_lost(struct wh_dds_channel *channel, const struct wh_dds_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		tell_lost(channel, set->items[i].writer, &set->items[i].sample);
}

static void break_set(struct wh_dds_channel *channel, struct wh_dds_set *set)
{
	tell_all_lost(channel, set);
	set->dropped += set->count;
	set->broken = true;
	drop_items(set);
}

bool wh_dds_set_add(struct wh_dds_channel *channel, struct wh_dds_set *set, struct wh_dds_endpoint *writer,
		    const struct wh_dds_sample *sample)
{
	struct wh_dds_item *item;

	if (!set->broken && (set->count == WH_DDS_SET_SAMPLES_MAX || set->bytes + sample->count > WH_DDS_SET_BYTES_MAX))
		break_set(channel, set);
	if (set->broken) {
		set->dropped++;
		tell_lost(channel, writer, sample);
		return true;
	}
	item = wh_dds_list_room(set->items, set->count, &set->room, sizeof(*item));
	if (item == NULL)
		return false;
	set->items = item;
	item = &set->items[set->count];
	*item = (struct wh_dds_item){writer, *sample};
	item->sample.block = wh_dds_block_new(sample->bytes, sample->count);
	if (item->sample.block == NULL)
		return false;
	item->sample.bytes = item->sample.block->bytes;
	set->count++;
	set->bytes += sample->count;
	return true;
}

static bool has_coherent_writer(const struct wh_dds_channel *channel, const struct wh_dds_endpoint_id *publisher)
{
	for (uint32_t i = 0; i < channel->endpoints.count; i++) {
		const struct wh_dds_endpoint *it = channel->endpoints.all[i];

		if (it->kind == WH_DDS_WRITER && it->group == publisher->number &&
		    wh_dds_is_member(&it->id, publisher->node, publisher->incarnation) &&
		    it->policies.presentation.coherent)
			return true;
	}
	return false;
}

enum whorl_result wh_dds_set_begin(struct wh_dds_channel *channel, const struct wh_dds_from *from, uint32_t group)
{
	struct wh_dds_endpoint_id publisher = {from->incarnation, from->node, group};
	struct wh_dds_set **at = &channel->sets, *set;

	if (find(channel, &publisher) != NULL || !has_coherent_writer(channel, &publisher))
		return wh_dds_void(channel);
	set = calloc(1, sizeof(*set));
	if (set == NULL)
		return WHORL_MEMORY;
	set->publisher = publisher;
	while (*at != NULL)
		at = &(*at)->next;
	*at = set;
	return WHORL_OK;
}

static void tell(struct wh_dds_channel *channel, enum wh_dds_event_kind what, const struct wh_dds_set *set,
		 uint64_t count)
{
	wh_dds_tell_event(channel, &(struct wh_dds_event){.what = what, .id = set->publisher, .count = count});
}

static void tell_dropped(struct wh_dds_channel *channel, const struct wh_dds_set *set, uint64_t count)
{
	channel->counts.sets_dropped++;
	channel->counts.samples_dropped += count;
	tell(channel, WH_DDS_SET_LOST, set, count);
}

static void unhang(struct wh_dds_channel *channel, struct wh_dds_set *set)
{
	struct wh_dds_set **at = &channel->sets;

	while (*at != set)
		at = &(*at)->next;
	*at = set->next;
}

/* Off the list first: what takes effect is in no set. */
enum whorl_result wh_dds_set_end(struct wh_dds_channel *channel, const struct wh_dds_from *from, uint32_t group)
{
	struct wh_dds_endpoint_id publisher = {from->incarnation, from->node, group};
	struct wh_dds_set *set = find(channel, &publisher);
	bool ok = true;

	if (set == NULL)
		return wh_dds_void(channel);
	unhang(channel, set);
	if (set->dropped > 0)
		tell_dropped(channel, set, set->dropped);
	if (set->count > 0) {
		tell(channel, WH_DDS_SET_BEGIN, set, set->count);
		for (uint32_t i = 0; ok && i < set->count; i++) {
			set->items[i].sample.place = channel->place;
			ok = wh_dds_take_effect(channel, set->items[i].writer, &set->items[i].sample);
		}
		tell(channel, WH_DDS_SET_END, set, set->count);
	}
	wh_dds_set_free(set);
	return ok ? WHORL_OK : WHORL_MEMORY;
}

void wh_dds_set_forget_writer(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	struct wh_dds_set *set = wh_dds_set_of(channel, writer);
	uint32_t left = 0;

	if (set == NULL)
		return;
	for (uint32_t i = 0; i < set->count; i++) {
		if (set->items[i].writer != writer) {
			set->items[left++] = set->items[i];
			continue;
		}
		set->bytes -= set->items[i].sample.count;
		set->dropped++;
		tell_lost(channel, writer, &set->items[i].sample);
		wh_dds_block_drop(set->items[i].sample.block);
	}
	if (left == set->count)
		return;
	set->count = left;
	if (writer->policies.presentation.scope == WHORL_DDS_PRESENTATION_GROUP)
		break_set(channel, set);
}

void wh_dds_set_forget_member(struct wh_dds_channel *channel, uint32_t node, uint64_t incarnation)
{
	for (struct wh_dds_set *set = channel->sets, *next; set != NULL; set = next) {
		next = set->next;
		if (!wh_dds_is_member(&set->publisher, node, incarnation))
			continue;
		unhang(channel, set);
		tell_all_lost(channel, set);
		if (set->count + set->dropped > 0)
			tell_dropped(channel, set, set->count + set->dropped);
		wh_dds_set_free(set);
	}
}

bool wh_dds_set_ask(const struct wh_dds_channel *channel, const struct wh_dds_question *question,
		    const struct wh_dds_endpoint_id *publisher)
{
	const struct wh_dds_set *set = find(channel, publisher);

	for (uint32_t i = 0; set != NULL && i < set->count; i++)
		if (!wh_dds_ask_later(question, set->items[i].writer, &set->items[i].sample))
			return false;
	return true;
}
