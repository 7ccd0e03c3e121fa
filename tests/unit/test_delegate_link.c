/* test_delegate_link.c - a worker and its link, with a lane that is played: what the worker writes and in which order, and what it makes of
 * whatever another node writes to it.
 */
#include <stdlib.h>

#include "delegation/link.h"
#include "tests/support/delegate_lab.h"

#define HERE 0
#define THERE 1
#define LIFE 7 /* of this node */
#define THEIR_LIFE 99
#define THEIRS 5 /* the name of their region */

struct played { /* a node's transport, and its only lane */
	struct wh_transport node, lane;
	struct wh_transport_ops node_ops, lane_ops;
	struct wh_region mine;
	wh_word words[WH_REGION_BYTES / 8]; /* of this node's region: the test writes what the other would */
	uint64_t theirs[WH_REGION_BYTES / 8], before[WH_REGION_BYTES / 8];
	bool open;
	struct wh_transport_event events[8];
	struct wh_remote_event remote[8];
	unsigned event_count, remote_count, writes, immediates;
	unsigned refuse; /* so many posts */
	bool torn;       /* a guard was there before what it guards */
};

static struct played *of(struct wh_transport *t)
{
	return (struct played *)((char *)t - offsetof(struct played, lane));
}

/* ---- the lane -------------------------------------------------------------------------------------------------------------------- */

static enum whorl_result played_open(struct wh_transport *t, uint64_t name, uint64_t bytes, struct wh_region **out,
				     struct wh_error *err);

static enum whorl_result played_grant(struct wh_region *region, uint32_t node)
{
	(void)region;
	return node == THERE ? WHORL_OK : WHORL_INVALID;
}

static void played_close(struct wh_region *region)
{
	of(region->transport)->open = false;
}

/* Its words come in the worst order: a guard with others in one write comes before them. */
static void note_guard(struct played *p, const struct wh_remote_op *op)
{
	size_t end = op->offset + op->bytes;
	bool with_guard = end == sizeof(struct wh_greeting) ||
			  (end > WH_REGION_CALLS && (end - WH_REGION_CALLS) % (WH_SLOT_MORE + WH_SLOT_BYTES) == 0);

	if (!with_guard || (p->lane_ops.capabilities & WH_REMOTE_ASCENDING) != 0)
		return;
	p->torn = p->torn || op->bytes > sizeof(uint64_t) || memcmp(p->theirs, p->before, sizeof(p->before)) == 0;
	memcpy(p->before, p->theirs, sizeof(p->before));
}

static enum whorl_result played_post(struct wh_transport *t, const struct wh_remote_op *ops, size_t count,
				     size_t *posted)
{
	struct played *p = of(t);

	for (*posted = 0; *posted < count; ++*posted) {
		const struct wh_remote_op *op = &ops[*posted];

		ck_assert_uint_eq(op->node, THERE);
		ck_assert_uint_eq(op->region, THEIRS);
		ck_assert_uint_eq(op->offset % 8 + op->bytes % 8, 0);
		ck_assert_uint_le(op->offset + op->bytes, WH_REGION_BYTES);
		ck_assert_uint_le(op->bytes, WH_REMOTE_BYTES_MAX);
		if (p->refuse > 0) {
			p->refuse--;
			return WHORL_AGAIN;
		}
		note_guard(p, op);
		memcpy((char *)p->theirs + op->offset, op->from, op->bytes);
		p->writes++;
		p->immediates += op->kind == WH_REMOTE_WRITE_IMMEDIATE;
	}
	return WHORL_OK;
}

static bool played_next(struct wh_transport *t, struct wh_remote_event *out)
{
	struct played *p = of(t);

	if (p->remote_count == 0)
		return false;
	*out = p->remote[0];
	memmove(p->remote, p->remote + 1, --p->remote_count * sizeof(p->remote[0]));
	return true;
}

static const struct wh_remote_ops remote_ops = {played_open, played_grant, played_close, played_post, played_next};

static enum whorl_result played_open(struct wh_transport *t, uint64_t name, uint64_t bytes, struct wh_region **out,
				     struct wh_error *err)
{
	struct played *p = of(t);

	(void)err;
	ck_assert(!p->open);
	ck_assert_uint_eq(bytes, WH_REGION_BYTES);
	p->open = true;
	p->mine = (struct wh_region){&remote_ops, t, name, bytes, p->words};
	*out = &p->mine;
	return WHORL_OK;
}

static size_t nothing_done(struct wh_transport *t)
{
	(void)t;
	return 0;
}

static void nothing(struct wh_transport *t)
{
	(void)t;
}

static void no_wait(struct wh_transport *t, uint64_t timeout_ns)
{
	(void)t;
	(void)timeout_ns;
}

static void no_destroy(struct wh_transport *t, bool forked)
{
	(void)t;
	(void)forked;
}

static bool played_event(struct wh_transport *t, struct wh_transport_event *out)
{
	struct played *p = of(t);

	if (p->event_count == 0)
		return false;
	*out = p->events[0];
	memmove(p->events, p->events + 1, --p->event_count * sizeof(p->events[0]));
	return true;
}

static enum whorl_result played_lane(struct wh_transport *t, uint32_t lane, struct wh_transport **out,
				     struct wh_error *err)
{
	(void)err;
	ck_assert_uint_eq(lane, 1);
	*out = &((struct played *)t)->lane; /* its first field */
	return WHORL_OK;
}

/* ---- a work on it ----------------------------------------------------------------------------------------------------------------- */

struct lab {
	struct played *p;
	whorl_work *work;
};

static struct lab lab_make(uint32_t capabilities)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 1, WHORL_FUNCTIONS_LINKED};
	struct lab lab = {.p = calloc(1, sizeof(*lab.p))};
	struct wh_endpoint endpoint = {.transport = &lab.p->node, .node = HERE, .nodes = 2, .incarnation = LIFE};
	const struct wh_work_plan plan = {.env = wh_env_system(), .node = HERE, .endpoint = &endpoint};
	struct wh_error err;

	lab.p->node_ops = (struct wh_transport_ops){.name = "played", .lane_open = played_lane};
	lab.p->lane_ops = (struct wh_transport_ops){.name = "played",
						    .capabilities = capabilities,
						    .remote = &remote_ops,
						    .service = nothing_done,
						    .next_event = played_event,
						    .arm = nothing,
						    .disarm = nothing,
						    .wait = no_wait,
						    .wake = nothing,
						    .leave = nothing,
						    .destroy = no_destroy};
	lab.p->node.ops = &lab.p->node_ops;
	lab.p->lane.ops = &lab.p->lane_ops;
	ck_assert_msg(wh_work_make_on(&options, &plan, &lab.work, &err) == WHORL_OK, "%s", err.text);
	return lab;
}

static void step(struct lab *lab)
{
	for (int i = 0; i < 5; i++)
		wh_work_step(lab->work, 0);
}

static void say(struct lab *lab, enum wh_transport_event_kind kind)
{
	lab->p->events[lab->p->event_count++] =
		(struct wh_transport_event){.kind = kind, .node = THERE, .incarnation = THEIR_LIFE};
}

static void greet_here(struct lab *lab, uint64_t digest, uint64_t incarnation)
{
	const struct wh_greeting greeting = {
		.digest = digest, .workers = 1, .incarnation = incarnation, .guard = WH_REGION_VERSION};

	for (size_t i = 0; i < sizeof(greeting) / 8; i++) {
		uint64_t word;

		memcpy(&word, (const char *)&greeting + 8 * i, 8);
		wh_store_release(&lab->p->words[i], word);
	}
}

static void meet(struct lab *lab)
{
	say(lab, WH_EVENT_PEER_MET);
	lab->p->remote[lab->p->remote_count++] = (struct wh_remote_event){.kind = WH_REMOTE_GRANTED,
									  .node = THERE,
									  .incarnation = THEIR_LIFE,
									  .region = THEIRS,
									  .bytes = WH_REGION_BYTES};
	step(lab);
}

static void meet_and_greet(struct lab *lab)
{
	meet(lab);
	greet_here(lab, lab->work->table.digest, THEIR_LIFE);
	step(lab);
}

static void lab_close(struct lab *lab)
{
	step(lab);
	ck_ok(whorl_work_close(lab->work, 0));
	free(lab->p);
}

/* Batch `number` of that ring, or what lies where it would. */
static const struct wh_slot *their_slot(const struct lab *lab, size_t ring, uint64_t number)
{
	return (const struct wh_slot *)(const void *)((const char *)lab->p->theirs + wh_region_place(ring, number));
}

static uint64_t their_guard(const struct lab *lab, size_t ring, uint64_t number)
{
	return wh_load_relaxed(&their_slot(lab, ring, number)->guard);
}

static void write_damaged(struct lab *lab, size_t ring, uint64_t number, const struct wh_slot *slot, uint64_t guard)
{
	wh_word *words = lab->p->words + wh_region_place(ring, number) / 8;

	for (size_t i = 0; i < WH_SLOT_BYTES / 8 - 1; i++) {
		uint64_t word;

		memcpy(&word, (const char *)slot + 8 * i, 8);
		wh_store_relaxed(&words[i], word);
	}
	wh_store_release(&words[WH_SLOT_BYTES / 8 - 1], guard);
}

static void write_slot(struct lab *lab, size_t ring, uint64_t number, const struct wh_slot *slot)
{
	write_damaged(lab, ring, number, slot, number);
}

/* What the other node writes: one call. */
static struct wh_slot one_call(uint16_t function, uint32_t property, const void *args, size_t bytes)
{
	const struct wh_record record = {function, (uint16_t)bytes, property};
	struct wh_slot slot = {.begins = (uint16_t)(WH_SLOT_ROOM - wh_record_bytes(&record)), .count = 1};

	memcpy(slot.room + slot.begins, &record, sizeof(record));
	memcpy(slot.room + slot.begins + sizeof(record), args, bytes & WH_RECORD_BYTES);
	return slot;
}

static struct whorl_trust far_trust(const struct lab *lab)
{
	return (struct whorl_trust){.work = lab->work, .id = 1, .node = THERE, .property = 1025, .room = {THEIR_LIFE}};
}

static enum whorl_result ended;
static int ends;

static void note_end(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	(void)answer;
	(void)bytes;
	(void)ctx;
	ended = result;
	ends++;
}

static void call_far(struct lab *lab)
{
	const struct whorl_trust trust = far_trust(lab);

	ends = 0;
	ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){3}, note_end, NULL));
	step(lab);
}

static bool is_up(const struct lab *lab)
{
	struct wh_party *proxy;
	const struct wh_far_place place = {.node = THERE, .worker = 0};

	return wh_far_at(lab->work, &place, &proxy) == WHORL_OK;
}

/* ---- what is written --------------------------------------------------------------------------------------------------------------- */

TEST(one_write_for_a_batch)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	const struct whorl_trust trust = far_trust(&lab);

	meet(&lab);
	ck_assert(!is_up(&lab));
	ck_assert_uint_eq(lab.p->writes, 1); /* the greeting */
	ck_assert_uint_eq(lab.p->theirs[0], lab.work->table.digest);
	greet_here(&lab, lab.work->table.digest, THEIR_LIFE);
	step(&lab);
	ck_assert(is_up(&lab));
	for (uint64_t i = 0; i < 5; i++)
		ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){i}, NULL, NULL));
	step(&lab);
	/* The first went by itself to the worker here, and on; the others together, when its answer has come. */
	ck_assert_uint_eq(lab.p->writes, 2);
	ck_assert_uint_eq(lab.p->immediates, 2);
	ck_assert_uint_eq(their_guard(&lab, WH_REGION_CALLS, 1), 1);
	lab_close(&lab);
}

/* Where the words of a write come in any order the guard is a write of its own, behind the others; also if it could not be posted at once. */
TEST(the_guard_comes_last)
{
	struct lab lab = lab_make(0);

	meet_and_greet(&lab);
	ck_assert(is_up(&lab));
	ck_assert_uint_eq(lab.p->writes, 2);
	ck_assert_uint_eq(lab.p->immediates, 1);
	lab.p->refuse = 3;
	call_far(&lab);
	ck_assert_uint_eq(lab.p->refuse, 0);
	ck_assert_uint_eq(lab.p->writes, 4);
	ck_assert_uint_eq(lab.p->immediates, 2);
	ck_assert_uint_eq(their_guard(&lab, WH_REGION_CALLS, 1), 1);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_CALLS, 1)->count, 1);
	ck_assert(!lab.p->torn);
	lab_close(&lab);
}

/* ---- several under way ------------------------------------------------------------------------------------------------------------ */

/* Long enough for all that can happen without the other node. */
static void drive(struct lab *lab)
{
	for (int i = 0; i < 300; i++) {
		step(lab);
		(void)whorl_poll(lab->work, 0);
	}
}

static void call_with_bytes(struct lab *lab, size_t bytes)
{
	const struct whorl_trust trust = far_trust(lab);
	unsigned char *data = calloc(1, bytes);

	ends = 0;
	ck_ok(whorl_apply_bytes_then(&trust, text_same, data, bytes, note_end, NULL));
	free(data);
	drive(lab);
}

/* What the other node writes: answers that are none, or the beginning of some. */
static void settle(struct lab *lab, uint64_t number, uint64_t settles, bool more)
{
	const struct wh_slot slot = {.begins = WH_SLOT_ROOM,
				     .flags = WH_BATCH_STATUSES | (more ? WH_BATCH_MORE : 0),
				     .settles = (uint16_t)settles};

	write_slot(lab, WH_REGION_ANSWERS, number, &slot);
	drive(lab);
}

/* As many as there are slots; others when it has been said that these are free. */
TEST_LOOP(batches_go_while_there_are_slots, 0, 2)
{
	struct lab lab = lab_make(_i == 0 ? WH_REMOTE_ASCENDING : 0);
	const unsigned each = _i == 0 ? 1 : 2;

	meet_and_greet(&lab);
	call_with_bytes(&lab, (size_t)2 * WH_RING * 4096);
	ck_assert_uint_eq(lab.p->writes, each * (1 + WH_RING));
	for (uint64_t number = 1; number <= WH_RING; number++)
		ck_assert_uint_eq(their_guard(&lab, WH_REGION_CALLS, number), number);
	settle(&lab, 1, 10, _i == 1);
	ck_assert_uint_eq(lab.p->writes, each * (1 + WH_RING + 10));
	ck_assert_uint_eq(their_guard(&lab, WH_REGION_CALLS, WH_RING + 10), WH_RING + 10);
	ck_assert_uint_eq(their_guard(&lab, WH_REGION_CALLS, 11), 11);
	ck_assert(!lab.p->torn);
	ck_assert(is_up(&lab));
	lab_close(&lab);
}

/* A batch with room left waits for one that had room left, and for no others. */
TEST(calls_come_together)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	const struct whorl_trust trust = far_trust(&lab);

	meet_and_greet(&lab);
	for (uint64_t i = 0; i < 5; i++) {
		ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){i}, NULL, NULL));
		drive(&lab);
	}
	ck_assert_uint_eq(lab.p->writes, 2);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_CALLS, 1)->count, 1);
	write_slot(&lab, WH_REGION_ANSWERS, 1,
		   &(struct wh_slot){.begins = WH_SLOT_ROOM - 8, .count = 1, .settles = 1}); /* 0 */
	drive(&lab);
	ck_assert_uint_eq(lab.p->writes, 3);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_CALLS, 2)->count, 4);
	write_slot(&lab, WH_REGION_ANSWERS, 2,
		   &(struct wh_slot){.begins = WH_SLOT_ROOM - 32, .count = 4, .settles = 2});
	drive(&lab);
	call_with_bytes(&lab, 10000);
	ck_assert_uint_eq(lab.p->writes, 3 + 3); /* two that are full, and the end */
	ck_assert_uint_eq(their_guard(&lab, WH_REGION_CALLS, 5), 5);
	lab_close(&lab);
}

/* ---- what is read ------------------------------------------------------------------------------------------------------------------ */

static struct wh_slot entrust_call(const struct lab *lab, uint64_t id)
{
	const struct wh_entrust_args args = {.id = id, .type_number = wh_table_type(&lab->work->table, &counter_type)};

	return one_call(WH_ENTRUST, 0, &args, sizeof(args));
}

TEST(it_serves)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	int dropped = atomic_load(&counters_dropped);
	const struct wh_slot *answers;
	struct wh_answer answer;
	struct wh_slot slot;
	uint32_t name;

	meet_and_greet(&lab);
	slot = entrust_call(&lab, 77);
	write_slot(&lab, WH_REGION_CALLS, 1, &slot);
	step(&lab);
	answers = their_slot(&lab, WH_REGION_ANSWERS, 1);
	ck_assert_uint_eq(wh_load_relaxed(&answers->guard), 1);
	ck_assert_uint_eq(answers->count, 1);
	ck_assert_uint_eq(answers->settles, 1);
	memcpy(&answer, answers->room + answers->begins, sizeof(answer));
	memcpy(&name, answers->room + answers->begins + sizeof(answer), sizeof(name));
	ck_assert_uint_eq(answer.status, WHORL_OK);
	ck_assert_uint_eq(worker_stats_of(lab.work, 0).properties, 1);
	slot = one_call((uint16_t)wh_table_find(&lab.work->table, &counter_add), name, &(struct add){4}, 8);
	write_slot(&lab, WH_REGION_CALLS, 2, &slot);
	step(&lab);
	ck_assert_uint_eq(their_guard(&lab, WH_REGION_ANSWERS, 2), 2);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_ANSWERS, 2)->settles, 2);
	/* Its node ends, and its handle with it. */
	say(&lab, WH_EVENT_PEER_DOWN);
	step(&lab);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped + 1);
	ck_assert_uint_eq(worker_stats_of(lab.work, 0).properties, 0);
	ck_assert(!lab.p->open);
	lab_close(&lab);
}

#define LONG 200000

static unsigned char long_byte(size_t i)
{
	return (unsigned char)(i * 7 + i / 251);
}

WHORL_FUNCTION_OF_BYTES(text_long, struct text, 0)
{
	unsigned char *answer = malloc(LONG);

	(void)data;
	(void)bytes;
	for (size_t i = 0; i < LONG; i++)
		answer[i] = long_byte(i);
	if (whorl_reply_add(reply, answer, LONG) != WHORL_OK)
		property->bytes = SIZE_MAX;
	free(answer);
}

/* The name of a text that the other node entrusts by its first batch. */
static uint32_t entrust_text(struct lab *lab)
{
	const struct wh_entrust_args args = {.id = 77, .type_number = wh_table_type(&lab->work->table, &text_type)};
	const struct wh_slot slot = one_call(WH_ENTRUST, 0, &args, sizeof(args)), *answers;
	uint32_t name;

	write_slot(lab, WH_REGION_CALLS, 1, &slot);
	step(lab);
	ck_assert_uint_eq(their_guard(lab, WH_REGION_ANSWERS, 1), 1);
	answers = their_slot(lab, WH_REGION_ANSWERS, 1);
	memcpy(&name, answers->room + answers->begins + sizeof(struct wh_answer), sizeof(name));
	return name;
}

static size_t collect(const struct lab *lab, uint64_t first, uint64_t last, unsigned char *into)
{
	size_t bytes = 0;

	for (uint64_t number = first; number <= last; number++) {
		const struct wh_slot *slot = their_slot(lab, WH_REGION_ANSWERS, number);
		int begins = (int16_t)slot->begins;

		ck_assert_uint_eq(wh_load_relaxed(&slot->guard), number);
		memcpy(into + bytes, (const unsigned char *)slot + begins, (size_t)(WH_SLOT_ROOM - begins));
		bytes += (size_t)(WH_SLOT_ROOM - begins);
	}
	return bytes;
}

/* They come by themselves, as far as there are slots; the next calls are not served before all of them have gone. */
TEST(long_answers)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	unsigned char *got = malloc((size_t)2 * WH_RING * 4096);
	struct wh_answer answer;
	struct wh_slot slot;
	size_t bytes;
	uint32_t name;

	meet_and_greet(&lab);
	name = entrust_text(&lab);
	slot = one_call((uint16_t)wh_table_find(&lab.work->table, &text_long), name, "", 0);
	write_slot(&lab, WH_REGION_CALLS, 2, &slot);
	slot = one_call((uint16_t)wh_table_find(&lab.work->table, &text_same), name, "last", 4);
	write_slot(&lab, WH_REGION_CALLS, 3, &slot);
	drive(&lab);
	ck_assert_uint_eq(lab.p->writes, 1 + WH_RING);
	ck_assert_uint_eq(worker_stats_of(lab.work, 0).calls, 2);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_ANSWERS, WH_RING)->flags, WH_BATCH_STATUSES | WH_BATCH_MORE);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_ANSWERS, WH_RING)->settles, 1);
	bytes = collect(&lab, 2, WH_RING, got);
	wh_store_release(&lab.p->words[WH_REGION_TAKEN / 8], WH_RING);
	drive(&lab);
	bytes += collect(&lab, WH_RING + 1, 51, got + bytes);
	ck_assert_uint_eq(bytes, sizeof(answer) + LONG);
	memcpy(&answer, got, sizeof(answer));
	ck_assert_uint_eq(answer.bytes, LONG);
	for (size_t i = 0; i < LONG; i++)
		ck_assert(got[sizeof(answer) + i] == long_byte(i));
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_ANSWERS, 51)->flags, WH_BATCH_STATUSES);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_ANSWERS, 51)->settles, 2);
	ck_assert_uint_eq(collect(&lab, 52, 52, got), sizeof(answer) + 8);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_ANSWERS, 52)->settles, 3);
	free(got);
	lab_close(&lab);
}

/* Arguments in parts: a batch that has no answer is answered if nothing else is to come, or once for half a ring. */
TEST(parts_are_answered_together)
{
	const uint64_t last = WH_RING / 2 + 6;
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	const struct wh_slot *answers;
	unsigned char part[8] = {0};
	struct wh_slot slot;
	uint32_t name;

	meet_and_greet(&lab);
	name = entrust_text(&lab);
	slot = one_call(WH_PART, (uint32_t)(8 * (last - 2)), part, sizeof(part));
	write_slot(&lab, WH_REGION_CALLS, 2, &slot);
	step(&lab);
	ck_assert_uint_eq(their_guard(&lab, WH_REGION_ANSWERS, 2), 2);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_ANSWERS, 2)->settles, 2);
	for (uint64_t number = 3; number < last; number++)
		write_slot(&lab, WH_REGION_CALLS, number, &slot);
	slot = one_call((uint16_t)wh_table_find(&lab.work->table, &text_same), name, part, WH_RECORD_ASSEMBLED);
	write_slot(&lab, WH_REGION_CALLS, last, &slot);
	step(&lab);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_ANSWERS, 3)->settles, 2 + WH_RING / 2);
	answers = their_slot(&lab, WH_REGION_ANSWERS, 4);
	ck_assert_uint_eq(answers->settles, last);
	ck_assert_uint_eq(answers->begins, WH_SLOT_ROOM - sizeof(struct wh_answer) - 8 * (last - 2));
	ck_assert_uint_eq(lab.p->writes, 1 + 4);
	lab_close(&lab);
}

/* That answers have been taken is told once for half a ring; also if it could not be posted at once. */
TEST(answers_are_told_to_be_taken)
{
	struct wh_slot slot = {.begins = 0, .count = 1, .flags = WH_BATCH_STATUSES | WH_BATCH_MORE};
	const struct wh_answer head = {WHORL_OK, 40 * WH_SLOT_ROOM - 8};
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	const uint64_t *told = &lab.p->theirs[WH_REGION_TAKEN / 8];

	meet_and_greet(&lab);
	call_with_bytes(&lab, 5);
	memcpy(slot.room, &head, sizeof(head));
	for (uint64_t number = 1; number <= 40; number++) {
		if (number == 40) {
			slot.flags = WH_BATCH_STATUSES;
			slot.settles = 1;
		}
		lab.p->refuse = number == WH_RING / 2;
		write_slot(&lab, WH_REGION_ANSWERS, number, &slot);
		step(&lab);
		ck_assert_uint_eq(*told, number / (WH_RING / 2) * (WH_RING / 2));
	}
	await(ends == 1, (step(&lab), (void)whorl_poll(lab.work, 0)));
	ck_ok(ended);
	ck_assert_uint_eq(lab.p->writes, 2 + 40 / (WH_RING / 2));
	lab_close(&lab);
}

/* A property comes from that node, whole or not. */
static uint32_t adopt(struct lab *lab, size_t bytes, uint32_t *name)
{
	const struct wh_slot *answers = their_slot(lab, WH_REGION_ANSWERS, 1);
	struct {
		struct wh_entrust_args args;
		struct counter counter;
	} call = {.args = {.id = 77, .type_number = wh_table_type(&lab->work->table, &counter_type)}};
	struct wh_slot slot = one_call(WH_ADOPT, 0, &call, bytes);
	struct wh_answer answer;

	ck_assert_uint_le(bytes, sizeof(call));
	write_slot(lab, WH_REGION_CALLS, 1, &slot);
	step(lab);
	ck_assert_uint_eq(answers->count, 1);
	memcpy(&answer, answers->room + answers->begins, sizeof(answer));
	memcpy(name, answers->room + answers->begins + sizeof(answer), sizeof(*name));
	return answer.status;
}

/* It is a copy, which is not dropped, until its node has said that it is here: by the mover's handle. */
TEST_LOOP(it_comes_from_there, 0, 2)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	const struct wh_toggle_args toggle = {.id = 78, .node = THERE};
	int dropped = atomic_load(&counters_dropped);
	struct wh_slot slot;
	uint32_t name;

	meet_and_greet(&lab);
	ck_assert_uint_eq(adopt(&lab, sizeof(struct wh_entrust_args) + sizeof(struct counter), &name), WHORL_OK);
	ck_assert_uint_eq(worker_stats_of(lab.work, 0).properties, 1);
	if (_i == 1) {
		slot = one_call(WH_TOGGLE, name, &toggle, sizeof(toggle));
		write_slot(&lab, WH_REGION_CALLS, 2, &slot);
		step(&lab);
	}
	say(&lab, WH_EVENT_PEER_DOWN);
	step(&lab);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped + _i);
	ck_assert_uint_eq(worker_stats_of(lab.work, 0).properties, 0);
	lab_close(&lab);
}

/* None of its bytes, or too few: it is nothing that was moved. */
TEST_LOOP(less_than_all_of_it, 0, 3)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	uint32_t name;

	meet_and_greet(&lab);
	ck_assert_uint_eq(adopt(&lab, _i == 0 ? 0 : sizeof(struct wh_entrust_args) + (_i == 1 ? 0 : 4), &name),
			  WHORL_INVALID);
	ck_assert_uint_eq(worker_stats_of(lab.work, 0).properties, 0);
	lab_close(&lab);
}

TEST(other_functions_are_refused)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	const struct wh_far_place place = {.node = THERE, .worker = 0};
	const struct whorl_trust trust = far_trust(&lab);
	struct wh_party *proxy;

	meet(&lab);
	greet_here(&lab, lab.work->table.digest + 1, THEIR_LIFE);
	step(&lab);
	ck_assert_int_eq(wh_far_at(lab.work, &place, &proxy), WHORL_REFUSED);
	ck_assert_int_eq(whorl_apply_then(&trust, counter_add, &(struct add){1}, NULL, NULL), WHORL_REFUSED);
	ck_assert_uint_eq(lab.p->writes, 1);
	lab_close(&lab);
}

static void garbage_number(struct wh_slot *slot, uint64_t *guard)
{
	(void)slot;
	*guard = 5;
}

static void garbage_begin(struct wh_slot *slot, uint64_t *guard)
{
	(void)guard;
	slot->begins = 3;
}

static void garbage_beyond(struct wh_slot *slot, uint64_t *guard)
{
	(void)guard;
	slot->begins = (uint16_t)(-WH_SLOT_MORE - 8);
}

static void garbage_count(struct wh_slot *slot, uint64_t *guard)
{
	(void)guard;
	slot->count = 9;
}

static void garbage_flags(struct wh_slot *slot, uint64_t *guard)
{
	(void)guard;
	slot->flags = 0x40;
}

static void garbage_question(struct wh_slot *slot, uint64_t *guard)
{
	(void)guard;
	*slot = (struct wh_slot){.begins = WH_SLOT_ROOM, .flags = WH_BATCH_CONTINUE};
}

static void (*const garbage[])(struct wh_slot *slot, uint64_t *guard) = {
	garbage_number, garbage_begin, garbage_beyond, garbage_count, garbage_flags, garbage_question};
#define GARBAGE ((int)(sizeof(garbage) / sizeof(garbage[0])))

/* That link ends, and no other; what is here goes on. */
TEST_LOOP(garbage_ends_the_link, 0, GARBAGE)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	uint64_t guard = 1;
	struct wh_slot slot;

	meet_and_greet(&lab);
	call_far(&lab);
	slot = entrust_call(&lab, 77);
	garbage[_i](&slot, &guard);
	write_damaged(&lab, WH_REGION_CALLS, 1, &slot, guard);
	step(&lab);
	ck_assert(!lab.p->open);
	ck_assert(!is_up(&lab));
	ck_assert_uint_eq(worker_stats_of(lab.work, 0).properties, 0);
	await(ends == 1, (step(&lab), (void)whorl_poll(lab.work, 0)));
	ck_assert_int_eq(ended, WHORL_IN_DOUBT);
	lab_close(&lab);
}

struct bad_answer {
	struct wh_answer head;
	uint16_t bytes, count, flags, settles; /* bytes: that lie behind the head */
	enum whorl_result expected;            /* what the call ends as */
};

#define STATUSES WH_BATCH_STATUSES

static const struct bad_answer bad_answers[] = {
	{{WHORL_OK, 4}, 8, 1, STATUSES, 1, WHORL_IN_DOUBT},
	{{12345, 0}, 0, 1, STATUSES, 1, WHORL_IN_DOUBT},
	{{WHORL_GONE, 8}, 8, 1, STATUSES, 1, WHORL_IN_DOUBT},
	{{WHORL_OK, 4000}, 8, 1, STATUSES, 1, WHORL_IN_DOUBT},
	{{WHORL_OK, 8}, 16, 1, STATUSES, 1, WHORL_OK},              /* more than answers */
	{{WHORL_OK, 8}, 8, 2, STATUSES, 1, WHORL_IN_DOUBT},         /* to more calls than there are */
	{{WHORL_OK, 8}, 8, 1, STATUSES, 2, WHORL_IN_DOUBT},         /* that settle more batches than there are */
	{{WHORL_OK, 0}, 0, 0, STATUSES, 1, WHORL_IN_DOUBT},         /* none, of what they settle */
	{{WHORL_OK, 8}, 8, 1, WH_BATCH_REFUSED, 1, WHORL_IN_DOUBT}, /* a trustee ends the link instead */
	{{WHORL_OK, 8}, 8, 1, STATUSES | WH_BATCH_MORE, 1, WHORL_IN_DOUBT}, /* that settle before their end */
	{{WHORL_OK, 8}, 8, 1, STATUSES | 0x40, 1, WHORL_IN_DOUBT},
};
#define BAD_ANSWERS ((int)(sizeof(bad_answers) / sizeof(bad_answers[0])))

/* An answer that is none: the call is in doubt. */
TEST_LOOP(garbage_in_answers, 0, BAD_ANSWERS)
{
	const struct bad_answer *bad = &bad_answers[_i];
	struct wh_slot slot = {
		.begins = WH_SLOT_ROOM, .count = bad->count, .flags = bad->flags, .settles = bad->settles};
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);

	meet_and_greet(&lab);
	call_far(&lab);
	if (bad->count > 0) {
		slot.begins = (uint16_t)(WH_SLOT_ROOM - sizeof(bad->head) - bad->bytes);
		memcpy(slot.room + slot.begins, &bad->head, sizeof(bad->head));
	}
	write_slot(&lab, WH_REGION_ANSWERS, 1, &slot);
	step(&lab);
	await(ends == 1, (step(&lab), (void)whorl_poll(lab.work, 0)));
	ck_assert_int_eq(ended, bad->expected);
	ck_assert(!lab.p->open);
	lab_close(&lab);
}

/* More answers taken than there are, and fewer than before. */
TEST_LOOP(garbage_for_what_is_taken, 0, 2)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	struct wh_slot slot;

	meet_and_greet(&lab);
	slot = entrust_call(&lab, 77);
	write_slot(&lab, WH_REGION_CALLS, 1, &slot);
	step(&lab);
	wh_store_release(&lab.p->words[WH_REGION_TAKEN / 8], 1);
	step(&lab);
	ck_assert(is_up(&lab));
	wh_store_release(&lab.p->words[WH_REGION_TAKEN / 8], _i == 0 ? 2 : 0);
	step(&lab);
	ck_assert(!is_up(&lab));
	ck_assert(!lab.p->open);
	lab_close(&lab);
}

TEST_LOOP(garbage_for_a_greeting, 0, 2)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);

	meet(&lab);
	if (_i == 0)
		greet_here(&lab, lab.work->table.digest, THEIR_LIFE + 1);
	else
		wh_store_release(&lab.p->words[7], 12);
	step(&lab);
	ck_assert(!is_up(&lab));
	ck_assert(!lab.p->open);
	lab_close(&lab);
}

/* What had been sent is in doubt, what had not never runs. */
TEST_LOOP(it_dies, 0, 2)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	const struct whorl_trust trust = far_trust(&lab);

	say(&lab, WH_EVENT_PEER_MET);
	step(&lab);
	ends = 0;
	if (_i == 0) {
		ck_ok(whorl_apply_then(&trust, counter_add, &(struct add){3}, note_end, NULL));
		step(&lab);
	} else {
		meet_and_greet(&lab);
		call_far(&lab);
	}
	ck_assert_int_eq(ends, 0);
	say(&lab, _i == 0 ? WH_EVENT_PEER_LEFT : WH_EVENT_PEER_DOWN);
	step(&lab);
	await(ends == 1, (step(&lab), (void)whorl_poll(lab.work, 0)));
	ck_assert_int_eq(ended, _i == 0 ? WHORL_GONE : WHORL_IN_DOUBT);
	ck_assert_int_eq(whorl_apply_then(&trust, counter_add, &(struct add){3}, note_end, NULL), WHORL_GONE);
	lab_close(&lab);
}

TEST_SUITE("delegate_link")
