/* test_delegate_link.c - a worker and its link, with a lane that is played: what the worker writes and in which order, and what it makes of
 * whatever another node writes to it.
 */
#include <stdlib.h>

#include "delegation/link.h"
#include "tests/unit/delegate_lab.h"

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
	static const size_t ends_at[] = {WH_REGION_CALLS, WH_REGION_ANSWERS, WH_REGION_BYTES};
	bool with_guard = false;

	for (size_t i = 0; i < 3; i++)
		with_guard = with_guard || op->offset + op->bytes == ends_at[i];
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

static const struct wh_slot *their_slot(const struct lab *lab, size_t offset)
{
	return (const struct wh_slot *)(const void *)((const char *)lab->p->theirs + offset + WH_SLOT_MORE);
}

static void write_slot(struct lab *lab, size_t offset, const struct wh_slot *slot, uint64_t guard)
{
	for (size_t i = 0; i < WH_SLOT_BYTES / 8 - 1; i++) {
		uint64_t word;

		memcpy(&word, (const char *)slot + 8 * i, 8);
		wh_store_relaxed(&lab->p->words[(offset + WH_SLOT_MORE) / 8 + i], word);
	}
	wh_store_release(&lab->p->words[(offset + WH_SLOT_MORE + WH_SLOT_BYTES) / 8 - 1], guard);
}

/* What the other node writes: one call. */
static struct wh_slot one_call(uint16_t function, uint32_t property, const void *args, size_t bytes)
{
	const struct wh_record record = {function, (uint16_t)bytes, property};
	struct wh_slot slot = {.begins = (uint16_t)(WH_SLOT_ROOM - sizeof(record) - wh_padded(bytes)), .count = 1};

	memcpy(slot.room + slot.begins, &record, sizeof(record));
	memcpy(slot.room + slot.begins + sizeof(record), args, bytes);
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

START_TEST(one_write_for_a_batch)
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
	ck_assert_uint_eq(wh_load_relaxed(&their_slot(&lab, WH_REGION_CALLS)->guard), 1);
	lab_close(&lab);
}
END_TEST

/* Where the words of a write come in any order the guard is a write of its own, behind the others; also if it could not be posted at once. */
START_TEST(the_guard_comes_last)
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
	ck_assert_uint_eq(wh_load_relaxed(&their_slot(&lab, WH_REGION_CALLS)->guard), 1);
	ck_assert_uint_eq(their_slot(&lab, WH_REGION_CALLS)->count, 1);
	ck_assert(!lab.p->torn);
	lab_close(&lab);
}
END_TEST

/* ---- what is read ------------------------------------------------------------------------------------------------------------------ */

static struct wh_slot entrust_call(const struct lab *lab, uint64_t id)
{
	const struct wh_entrust_args args = {.id = id, .type_number = wh_table_type(&lab->work->table, &counter_type)};

	return one_call(WH_ENTRUST, 0, &args, sizeof(args));
}

START_TEST(it_serves)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	int dropped = atomic_load(&counters_dropped);
	const struct wh_slot *answers;
	struct wh_answer answer;
	struct wh_slot slot;
	uint32_t name;

	meet_and_greet(&lab);
	slot = entrust_call(&lab, 77);
	write_slot(&lab, WH_REGION_CALLS, &slot, 1);
	step(&lab);
	answers = their_slot(&lab, WH_REGION_ANSWERS);
	ck_assert_uint_eq(wh_load_relaxed(&answers->guard), 1);
	ck_assert_uint_eq(answers->count, 1);
	memcpy(&answer, answers->room + answers->begins, sizeof(answer));
	memcpy(&name, answers->room + answers->begins + sizeof(answer), sizeof(name));
	ck_assert_uint_eq(answer.status, WHORL_OK);
	ck_assert_uint_eq(stats_of(lab.work, 0).properties, 1);
	slot = one_call((uint16_t)wh_table_find(&lab.work->table, &counter_add), name, &(struct add){4}, 8);
	write_slot(&lab, WH_REGION_CALLS, &slot, 2);
	step(&lab);
	ck_assert_uint_eq(wh_load_relaxed(&answers->guard), 2);
	/* Its node ends, and its handle with it. */
	say(&lab, WH_EVENT_PEER_DOWN);
	step(&lab);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped + 1);
	ck_assert_uint_eq(stats_of(lab.work, 0).properties, 0);
	ck_assert(!lab.p->open);
	lab_close(&lab);
}
END_TEST

/* A property comes from that node, whole or not. */
static uint32_t adopt(struct lab *lab, size_t bytes, uint32_t *name)
{
	const struct wh_slot *answers = their_slot(lab, WH_REGION_ANSWERS);
	struct {
		struct wh_entrust_args args;
		struct counter counter;
	} call = {.args = {.id = 77, .type_number = wh_table_type(&lab->work->table, &counter_type)}};
	struct wh_slot slot = one_call(WH_ADOPT, 0, &call, bytes);
	struct wh_answer answer;

	ck_assert_uint_le(bytes, sizeof(call));
	write_slot(lab, WH_REGION_CALLS, &slot, 1);
	step(lab);
	ck_assert_uint_eq(answers->count, 1);
	memcpy(&answer, answers->room + answers->begins, sizeof(answer));
	memcpy(name, answers->room + answers->begins + sizeof(answer), sizeof(*name));
	return answer.status;
}

/* It is a copy, which is not dropped, until its node has said that it is here: by the mover's handle. */
START_TEST(it_comes_from_there)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	const struct wh_toggle_args toggle = {.id = 78, .node = THERE};
	int dropped = atomic_load(&counters_dropped);
	struct wh_slot slot;
	uint32_t name;

	meet_and_greet(&lab);
	ck_assert_uint_eq(adopt(&lab, sizeof(struct wh_entrust_args) + sizeof(struct counter), &name), WHORL_OK);
	ck_assert_uint_eq(stats_of(lab.work, 0).properties, 1);
	if (_i == 1) {
		slot = one_call(WH_TOGGLE, name, &toggle, sizeof(toggle));
		write_slot(&lab, WH_REGION_CALLS, &slot, 2);
		step(&lab);
	}
	say(&lab, WH_EVENT_PEER_DOWN);
	step(&lab);
	ck_assert_int_eq(atomic_load(&counters_dropped), dropped + _i);
	ck_assert_uint_eq(stats_of(lab.work, 0).properties, 0);
	lab_close(&lab);
}
END_TEST

/* None of its bytes, or too few: it is nothing that was moved. */
START_TEST(less_than_all_of_it)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	uint32_t name;

	meet_and_greet(&lab);
	ck_assert_uint_eq(adopt(&lab, _i == 0 ? 0 : sizeof(struct wh_entrust_args) + (_i == 1 ? 0 : 4), &name),
			  WHORL_INVALID);
	ck_assert_uint_eq(stats_of(lab.work, 0).properties, 0);
	lab_close(&lab);
}
END_TEST

START_TEST(other_functions_are_refused)
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
END_TEST

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
START_TEST(garbage_ends_the_link)
{
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);
	uint64_t guard = 1;
	struct wh_slot slot;

	meet_and_greet(&lab);
	call_far(&lab);
	slot = entrust_call(&lab, 77);
	garbage[_i](&slot, &guard);
	write_slot(&lab, WH_REGION_CALLS, &slot, guard);
	step(&lab);
	ck_assert(!lab.p->open);
	ck_assert(!is_up(&lab));
	ck_assert_uint_eq(stats_of(lab.work, 0).properties, 0);
	await(ends == 1, (step(&lab), (void)whorl_poll(lab.work, 0)));
	ck_assert_int_eq(ended, WHORL_IN_DOUBT);
	lab_close(&lab);
}
END_TEST

/* An answer that is none: the call is in doubt. */
START_TEST(garbage_in_answers)
{
	static const struct wh_answer heads[] = {{WHORL_OK, 4}, {12345, 0}, {WHORL_GONE, 8}, {WHORL_OK, 4000}};
	struct wh_slot slot = {.count = 1, .flags = WH_BATCH_STATUSES, .begins = WH_SLOT_ROOM - 16};
	struct lab lab = lab_make(WH_REMOTE_ASCENDING);

	meet_and_greet(&lab);
	call_far(&lab);
	memcpy(slot.room + slot.begins, &heads[_i], sizeof(heads[_i]));
	write_slot(&lab, WH_REGION_ANSWERS, &slot, 1);
	step(&lab);
	await(ends == 1, (step(&lab), (void)whorl_poll(lab.work, 0)));
	ck_assert_int_eq(ended, WHORL_IN_DOUBT);
	ck_assert(!lab.p->open);
	lab_close(&lab);
}
END_TEST

START_TEST(garbage_for_a_greeting)
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
END_TEST

/* What had been sent is in doubt, what had not never runs. */
START_TEST(it_dies)
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
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("delegate_link");
	TCase *tcase = tcase_create("link");

	tcase_add_test(tcase, one_write_for_a_batch);
	tcase_add_test(tcase, the_guard_comes_last);
	tcase_add_test(tcase, it_serves);
	tcase_add_loop_test(tcase, it_comes_from_there, 0, 2);
	tcase_add_loop_test(tcase, less_than_all_of_it, 0, 3);
	tcase_add_test(tcase, other_functions_are_refused);
	tcase_add_loop_test(tcase, garbage_ends_the_link, 0, GARBAGE);
	tcase_add_loop_test(tcase, garbage_in_answers, 0, 4);
	tcase_add_loop_test(tcase, garbage_for_a_greeting, 0, 2);
	tcase_add_loop_test(tcase, it_dies, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
