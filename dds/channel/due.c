/* due.c - what time does to a channel: the lowest rank says what it has seen run out, and that holds from the place of its word. See channel.h.
 *
 * A word says what its sender knew: how often the writer was heard, the number of the last sample, how often the state was made. If something
 * has come meanwhile the word is void. So what crosses on the way does no harm, and all members judge alike.
 */
#include "dds/channel/channel_int.h"

#include <string.h>

#define AGAIN_NS INT64_C(1000000000) /* what was said, and has not come, is said again after that */

static bool is_manual(const struct wh_dds_endpoint *writer)
{
	return writer->policies.liveliness.kind != WHORL_DDS_LIVELINESS_AUTOMATIC;
}

static bool is_by_participant(const struct wh_dds_endpoint *writer)
{
	return writer->policies.liveliness.kind == WHORL_DDS_LIVELINESS_MANUAL_BY_PARTICIPANT;
}

/* So that the machine can be asked after each message it is not looked through each time: only what begins to run, or may run out sooner than was known,
 * moves the next look. What is heard again runs out later. */
void wh_dds_look_after(struct wh_dds_channel *channel, int64_t lasts_ns)
{
	int64_t now_ns = channel->now_ns;

	if (now_ns < 0 || lasts_ns < WHORL_DDS_INFINITY - now_ns)
		channel->look_ns = now_ns + lasts_ns < channel->look_ns ? now_ns + lasts_ns : channel->look_ns;
}

/* ---- being heard ---------------------------------------------------------------------------------------------------------- */

/* How often it was heard, as far as its lease goes. */
static uint64_t activity_of(const struct wh_dds_channel *channel, const struct wh_dds_endpoint *writer)
{
	const struct wh_dds_member *member;

	if (!is_by_participant(writer))
		return writer->activity;
	member = wh_dds_member_find(channel, writer->id.node, writer->id.incarnation);
	return member != NULL ? member->activity : 0;
}

static void tell_liveliness(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	struct wh_dds_event event = {.what = WH_DDS_LIVELINESS, .writer = writer, .alive = writer->alive};

	for (uint32_t i = 0; i < writer->matches.count; i++) {
		event.reader = writer->matches.all[i];
		if (event.reader->local)
			wh_dds_tell_event(channel, &event);
	}
	if (!writer->alive && writer->local)
		wh_dds_tell_event(channel, &(struct wh_dds_event){.what = WH_DDS_LIVELINESS_LOST, .writer = writer});
}

static void revive(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	if (writer->alive)
		return;
	writer->alive = true;
	channel->dead--;
	wh_dds_look_after(channel, writer->policies.liveliness.lease_ns);
	tell_liveliness(channel, writer);
}

static void participant_heard(struct wh_dds_channel *channel, struct wh_dds_member *member)
{
	member->activity++;
	member->heard_ns = channel->now_ns;
	for (uint32_t i = 0; channel->dead > 0 && i < channel->endpoints.count; i++) {
		struct wh_dds_endpoint *it = channel->endpoints.all[i];

		if (it->kind == WH_DDS_WRITER && is_by_participant(it) &&
		    wh_dds_is_member(&it->id, member->node, member->incarnation))
			revive(channel, it);
	}
}

void wh_dds_writer_heard(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	if (!is_manual(writer))
		return;
	if (is_by_participant(writer)) {
		struct wh_dds_member *member = wh_dds_member_find(channel, writer->id.node, writer->id.incarnation);

		if (member != NULL)
			participant_heard(channel, member);
		return;
	}
	writer->activity++;
	writer->heard_ns = channel->now_ns;
	revive(channel, writer);
}

enum whorl_result wh_dds_assert(struct wh_dds_channel *channel, const struct wh_dds_from *from, uint32_t number)
{
	struct wh_dds_endpoint_id id = {from->incarnation, from->node, number};
	struct wh_dds_endpoint *writer = number > 0 ? wh_dds_channel_find(channel, WH_DDS_WRITER, &id) : NULL;

	if (number == 0)
		participant_heard(channel, wh_dds_member_find(channel, from->node, from->incarnation));
	else if (writer == NULL || !is_manual(writer))
		return wh_dds_void(channel);
	else
		wh_dds_writer_heard(channel, writer);
	return WHORL_OK;
}

/* ---- what the lowest rank has said ---------------------------------------------------------------------------------------- */

static enum whorl_result apply_lost(struct wh_dds_channel *channel, const struct wh_dds_message *word)
{
	struct wh_dds_endpoint *writer = wh_dds_channel_find(channel, WH_DDS_WRITER, &word->writer);

	if (writer == NULL || !is_manual(writer) || !writer->alive || activity_of(channel, writer) != word->seen)
		return wh_dds_void(channel);
	writer->alive = false;
	channel->dead++;
	wh_dds_drop_claims(channel, writer);
	tell_liveliness(channel, writer);
	return WHORL_OK;
}

static enum whorl_result apply_late(struct wh_dds_channel *channel, const struct wh_dds_message *word)
{
	struct wh_dds_endpoint *writer = wh_dds_channel_find(channel, WH_DDS_WRITER, &word->writer);
	struct wh_dds_instance *instance =
		writer != NULL ? wh_dds_instance_find(channel, writer->topic, word->key) : NULL;
	struct wh_dds_claim *claim = instance != NULL ? wh_dds_claim_find(instance, writer) : NULL;
	struct wh_dds_sample about = {.place = channel->place};

	if (claim == NULL || claim->late || claim->number != word->seen || !wh_dds_is_exclusive(writer))
		return wh_dds_void(channel);
	claim->late = true;
	memcpy(about.key, word->key, WH_DDS_KEY_BYTES);
	if (writer->local)
		wh_dds_tell_event(channel, &(struct wh_dds_event){.what = WH_DDS_DEADLINE,
								  .writer = writer,
								  .topic = writer->topic,
								  .sample = &about});
	wh_dds_claim_weigh(channel, claim);
	return WHORL_OK;
}

static enum whorl_result apply_clean(struct wh_dds_channel *channel, const struct wh_dds_message *word)
{
	struct wh_dds_topic *topic = wh_dds_topic_find(channel, word->topic);
	struct wh_dds_instance *instance = topic != NULL ? wh_dds_instance_find(channel, topic, word->key) : NULL;

	if (instance == NULL || instance->claims != NULL || instance->state != WH_DDS_DISPOSED ||
	    instance->changes != word->seen)
		return wh_dds_void(channel);
	wh_dds_forget_instance(channel, instance);
	wh_dds_instance_settle(channel, instance);
	wh_dds_topic_settle(channel, topic);
	return WHORL_OK;
}

static bool is_lowest(const struct wh_dds_channel *channel, uint32_t node, uint64_t incarnation)
{
	return channel->member_count > 0 && channel->members[0].node == node &&
	       channel->members[0].incarnation == incarnation;
}

enum whorl_result wh_dds_apply_word(struct wh_dds_channel *channel, const struct wh_dds_from *from,
				    const struct wh_dds_message *message)
{
	if (!is_lowest(channel, from->node, from->incarnation))
		return wh_dds_void(channel);
	if (message->kind == WH_DDS_SAY_LOST)
		return apply_lost(channel, message);
	return message->kind == WH_DDS_SAY_LATE ? apply_late(channel, message) : apply_clean(channel, message);
}

/* ---- what it has to say --------------------------------------------------------------------------------------------------- */

struct look { /* at all that may run out */
	const struct wh_dds_channel *channel;
	int64_t now_ns, next_ns;
	struct wh_dds_message word;
	bool found;
};

/* Has it run out, and was that not said already, a moment ago? */
static bool is_due(struct look *look, int64_t since_ns, int64_t lasts_ns, uint64_t seen, uint64_t *told,
		   int64_t *told_ns)
{
	int64_t end_ns;

	if (lasts_ns >= WHORL_DDS_INFINITY - (since_ns > 0 ? since_ns : 0))
		return false;
	end_ns = since_ns + lasts_ns;
	if (*told_ns != 0 && *told == seen && *told_ns + AGAIN_NS > end_ns)
		end_ns = *told_ns + AGAIN_NS;
	if (end_ns > look->now_ns) {
		look->next_ns = end_ns < look->next_ns ? end_ns : look->next_ns;
		return false;
	}
	*told = seen;
	*told_ns = look->now_ns;
	look->word.seen = seen;
	return true;
}

static bool look_at_lease(struct look *look, struct wh_dds_endpoint *writer)
{
	const struct wh_dds_member *member;
	int64_t heard_ns = writer->heard_ns;

	if (!is_manual(writer) || !writer->alive)
		return false;
	member = wh_dds_member_find(look->channel, writer->id.node, writer->id.incarnation);
	if (is_by_participant(writer) && member != NULL && member->heard_ns > heard_ns)
		heard_ns = member->heard_ns;
	if (!is_due(look, heard_ns, writer->policies.liveliness.lease_ns, activity_of(look->channel, writer),
		    &writer->told, &writer->told_ns))
		return false;
	look->word.kind = WH_DDS_SAY_LOST;
	look->word.writer = writer->id;
	return true;
}

/* Of owners alone: of others nothing follows. */
static bool look_at_deadlines(struct look *look, struct wh_dds_endpoint *writer)
{
	if (!wh_dds_is_exclusive(writer) || writer->policies.deadline_ns == WHORL_DDS_INFINITY)
		return false;
	for (struct wh_dds_claim *claim = writer->claims; claim != NULL; claim = claim->writer_next) {
		if (claim->instance->owner != writer || !is_due(look, claim->heard_ns, writer->policies.deadline_ns,
								claim->number, &claim->told, &claim->told_ns))
			continue;
		look->word.kind = WH_DDS_SAY_LATE;
		look->word.writer = writer->id;
		memcpy(look->word.key, claim->instance->key, WH_DDS_KEY_BYTES);
		return true;
	}
	return false;
}

static bool look_at_disposed(struct look *look, struct wh_dds_topic *topic)
{
	if (topic->kept == 0 || topic->terms.cleanup_ns == WHORL_DDS_INFINITY)
		return false;
	for (struct wh_dds_instance *it = topic->instances; it != NULL; it = it->next) {
		if (it->claims != NULL || it->state != WH_DDS_DISPOSED ||
		    !is_due(look, it->idle_ns, topic->terms.cleanup_ns, it->changes, &it->told, &it->told_ns))
			continue;
		look->word.kind = WH_DDS_SAY_CLEAN;
		look->word.topic = topic->id;
		memcpy(look->word.key, it->key, WH_DDS_KEY_BYTES);
		return true;
	}
	return false;
}

static bool look_at_all(struct look *look)
{
	const struct wh_dds_endpoints *all = &look->channel->endpoints;

	for (uint32_t i = 0; i < all->count; i++)
		if (all->all[i]->kind == WH_DDS_WRITER &&
		    (look_at_lease(look, all->all[i]) || look_at_deadlines(look, all->all[i])))
			return true;
	for (struct wh_dds_topic *topic = look->channel->topics; topic != NULL; topic = topic->next)
		if (look_at_disposed(look, topic))
			return true;
	return false;
}

int64_t wh_dds_channel_next(const struct wh_dds_channel *channel)
{
	return is_lowest(channel, channel->config.node, channel->config.incarnation) ? channel->look_ns
										     : WHORL_DDS_INFINITY;
}

size_t wh_dds_channel_due(struct wh_dds_channel *channel, int64_t now_ns, unsigned char out[WH_DDS_DUE_BYTES],
			  int64_t *next_ns)
{
	struct look look = {.channel = channel, .now_ns = now_ns, .next_ns = WHORL_DDS_INFINITY};
	struct wh_dds_out bytes = {.bytes = NULL};
	size_t count = 0;

	*next_ns = WHORL_DDS_INFINITY;
	if (!is_lowest(channel, channel->config.node, channel->config.incarnation))
		return 0;
	if (now_ns >= channel->look_ns) {
		if (look_at_all(&look)) {
			wh_dds_put_message(&bytes, &look.word);
			count = bytes.failed ? 0 : bytes.count;
			if (count > 0)
				memcpy(out, bytes.bytes, count);
			look.next_ns = count > 0 ? now_ns : now_ns + AGAIN_NS;
			wh_dds_out_free(&bytes);
		}
		channel->look_ns = look.next_ns;
	}
	*next_ns = channel->look_ns;
	return count;
}
