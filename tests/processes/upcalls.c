/* upcalls.c - what a member does in upcalls: it checks every byte, and logs. */
#include "tests/processes/member_int.h"

#include <signal.h>
#include <unistd.h>

#include "tests/processes/payload.h"

void member_log(struct member *me, const struct record *record)
{
	struct state *state = me->state;
	uint64_t at = state->records;

	if (at % CHUNK_RECORDS == 0) {
		uint32_t chunk = at / CHUNK_RECORDS < CHUNKS ? me->board->chunks++ : CHUNKS;

		if (chunk >= CHUNKS) {
			member_complain(state, "the logs are full");
			return;
		}
		state->chunks[at / CHUNK_RECORDS] = (uint16_t)chunk;
	}
	*board_record(me->board, state, at) = *record;
	atomic_store_explicit(&state->records, at + 1, memory_order_release);
}

static uint64_t bits(const uint32_t *ids, uint32_t count)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= UINT64_C(1) << ids[i];
	return all;
}

static void begin_view(const struct whorl_view *view, void *ctx)
{
	struct member *me = ctx;
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	struct record record = {
		.kind = RECORD_VIEW, .sender = (uint16_t)view->rank, .bytes = view->member_count, .view = view->number};

	for (uint32_t g = 0; g < GROUPS; g++)
		states_note(&me->streams[g]);
	record.joined = (uint16_t)bits(view->joined, view->joined_count);
	record.left = (uint16_t)bits(view->left, view->left_count);
	for (uint32_t rank = 0; rank < view->member_count; rank++)
		record.ids[rank] = (uint8_t)view->members[rank];
	for (uint32_t g = 0; g < GROUPS; g++) {
		if (me->streams[g].subgroup == NULL ||
		    whorl_subgroup_describe(me->streams[g].subgroup, &info) != WHORL_OK)
			continue;
		me->state->shard[g] = record.shards[g] = me->streams[g].imprint->shard = (uint8_t)info.shard;
		record.sends |= (uint8_t)((info.sender >= 0) << g);
		record.waits |= (uint8_t)((info.condition != WHORL_SHARD_ACTIVE) << g);
	}
	member_log(me, &record);
	if (me->state->first_view == 0)
		me->state->first_view = view->number + 1;
	me->state->view_ns = now_ns();
	me->state->first_ns = 0;
	me->state->sends = record.sends;
	me->state->view = view->number;
	me->state->members = bits(view->members, view->member_count);
}

static void note_gap(const struct member *me, uint64_t now)
{
	struct state *state = me->state;
	uint64_t from = me->board->gaps_from, last = state->last_ns;

	if (state->gap_from != from) {
		state->gap_from = from;
		state->gap_ns = 0;
	}
	if (last < from)
		last = from;
	if (now > last && now - last > state->gap_ns)
		state->gap_ns = now - last;
	state->last_ns = now;
}

static void count(const struct member *me, const struct stream *stream, uint32_t life)
{
	struct state *state = me->state;
	uint64_t now = now_ns();

	if (state->first_ns == 0)
		state->first_ns = now;
	note_gap(me, now);
	state->slot[board_slot(me->board, now)]++;
	state->delivered[stream->group][life]++;
	state->in_state[stream->group]++;
	state->total++;
}

/* The life that has sent the message: of that node's lives the last one with a first view not later than the message's. It has
 * noted that view before it sent anything. What is in the message would not tell: some have no bytes. */
static uint32_t find_life(struct member *me, const struct whorl_message *message)
{
	struct sender *sender = &me->senders[message->sender];

	if (sender->known && sender->view == message->view)
		return sender->life;
	for (uint32_t life = 0; life < me->board->lives; life++) {
		struct state *state = &me->board->state[life];

		if (state->id == message->sender && state->first_view > 0 && state->first_view <= message->view + 1)
			*sender = (struct sender){true, life, message->view};
	}
	return sender->life;
}

/* Of each life all that it has committed, once, in its order; but for the last ones of one that was killed. */
static void check_turn(const struct stream *stream, uint32_t life, uint64_t index)
{
	const struct member *me = stream->member;
	uint64_t next = stream->imprint->sent[life].next;

	while (next < index && payload_aborted(payload_key(me->board, stream->group, life, next)))
		next++;
	if (next != index)
		member_complain(me->state, "%s: message %llu of life %u comes when it is message %llu's turn",
				groups[stream->group].name, (unsigned long long)index, life, (unsigned long long)next);
}

/* Reads the payload in place, in two halves: between them the whole process may stand still. */
static void deliver(const struct whorl_message *message, void *ctx)
{
	struct stream *stream = ctx;
	struct member *me = stream->member;
	uint32_t life = find_life(me, message);
	uint64_t key = payload_key(me->board, stream->group, life, message->index), digest = 0;
	size_t half = message->bytes / 16 * 8;
	bool intact = message->bytes == payload_bytes(key, stream->group) && !payload_aborted(key);
	struct record record = {.kind = RECORD_MESSAGE,
				.group = (uint8_t)stream->group,
				.sender = (uint16_t)life,
				.bytes = (uint32_t)message->bytes,
				.view = message->view,
				.index = message->index,
				.sequence = message->sequence};

	states_note(stream);
	intact = intact && payload_read(key, message->data, 0, half, &digest);
	if (half > 0 && member_take_order(me, ORDER_STOP_READING))
		raise(SIGSTOP);
	if (member_take_order(me, ORDER_EXIT))
		_exit(0);
	intact = intact && payload_read(key, message->data, half, message->bytes, &digest);
	if (!intact)
		member_complain(me->state, "%s: message %llu of node %u (%zu bytes) is not what was sent",
				groups[stream->group].name, (unsigned long long)message->index, message->sender,
				message->bytes);
	if (me->state->stage >= STAGE_READY && message->view != me->state->view)
		member_complain(me->state, "%s: message %llu of node %u is of view %llu, in view %llu",
				groups[stream->group].name, (unsigned long long)message->index, message->sender,
				(unsigned long long)message->view, (unsigned long long)me->state->view);
	if (me->board->durable && groups[stream->group].ordered)
		check_turn(stream, life, message->index);
	record.digest = digest;
	member_log(me, &record);
	imprint_take(stream->imprint, life, message->index, digest);
	count(me, stream, life);
}

static void deliver_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	for (size_t i = 0; i < count; i++)
		deliver(&messages[i], ctx);
}

void upcalls_set(struct member *me)
{
	for (uint32_t g = 0; g < GROUPS; g++) {
		struct stream *stream = &me->streams[g];

		*stream = (struct stream){.member = me, .group = g};
		stream->subgroup = whorl_subgroup_find(me->node, groups[g].name);
		if (stream->subgroup == NULL)
			continue;
		if (g % 2 == 0)
			whorl_on_message(stream->subgroup, deliver, stream);
		else
			whorl_on_batch(stream->subgroup, deliver_batch, stream);
	}
	whorl_on_view(me->node, begin_view, me);
	if (!states_begin(me))
		member_complain(me->state, "its states cannot be made");
}
