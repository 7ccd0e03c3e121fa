/* test_replica_calls.c - calls are applied at all members, in one order, and answered at their caller's; what is refused is never applied.
 * One thread makes all passes, if not said otherwise.
 * Labels: threads
 */
#include <pthread.h>

#include "tests/support/replica_lab.h"

/* ---- answers -------------------------------------------------------------------------------------------------------------------- */

TEST_CASE("answers");

TEST(a_call_is_answered_at_its_caller_alone)
{
	struct lab *l = lab_start(3, FAR, "[subgroup s]\n" CALLER);
	struct told told = {0};

	ck_ok(call_word(&l->machines[1], 7, &told));
	ck_assert(!is_told(&told));
	await(lab_agrees(l, 1), replica_lab_step(l));
	await(is_told(&told), replica_lab_step(l));
	for (unsigned id = 0; id < 3; id++) {
		const struct applied *call = &l->machines[id].log[0];

		ck_assert_uint_eq(call->word, 7);
		ck_assert_uint_eq(call->caller, 1);
		ck_assert_uint_eq(call->index, 0);
		ck_assert_uint_eq(call->bytes, 8);
		ck_assert(call->awaited == (id == 1));
		ck_assert_uint_eq(call->view, told.view);
		ck_assert_uint_eq(call->sequence, told.sequence);
	}
	ck_assert_int_eq(told.result, WHORL_OK);
	ck_assert_uint_eq(told.bytes, 8);
	ck_assert_uint_eq(told.word, 7);
	ck_assert_str_eq(told.text, "");
	cluster_hush(&l->c);
	ck_assert(is_told(&told)); /* once */
	replica_lab_free(l);
}

#define MANY 200

/* All of them call, as fast as their windows let them. Each answer tells where the order had come to. */
TEST(outcomes_come_in_the_order_of_the_calls)
{
	static struct told told[2][MANY];
	struct lab *l = lab_start(2, FAR, "[subgroup s]\nwindow = 5\n" CALLER);
	unsigned made[2] = {0};

	while (made[0] < MANY || made[1] < MANY)
		for (unsigned id = 0; id < 2; id++) {
			enum whorl_result result =
				made[id] < MANY ? call_word(&l->machines[id], 100 * made[id] + id, &told[id][made[id]])
						: WHORL_AGAIN;

			ck_assert(result == WHORL_OK || result == WHORL_AGAIN);
			made[id] += result == WHORL_OK;
			if (result == WHORL_AGAIN)
				replica_lab_step(l);
		}
	await(lab_agrees(l, 2 * MANY) && is_told(&told[0][MANY - 1]) && is_told(&told[1][MANY - 1]),
	      replica_lab_step(l));
	for (unsigned id = 0; id < 2; id++)
		for (unsigned i = 0; i < MANY; i++) {
			ck_assert(is_told(&told[id][i]));
			ck_assert_int_eq(told[id][i].result, WHORL_OK);
			ck_assert(i == 0 || told[id][i].order > told[id][i - 1].order);
		}
	for (unsigned id = 0, next[2] = {0}; id < 1; id++) /* each answer is that of its own call */
		for (unsigned long at = 0, total = 0; at < l->machines[id].logged; at++) {
			const struct applied *call = &l->machines[id].log[at];
			const struct told *t = &told[call->caller][next[call->caller]++];

			total = total * 31 + call->word;
			ck_assert_uint_eq(t->word, total);
			ck_assert_uint_eq(t->sequence, call->sequence);
			ck_assert_uint_ge(t->applied, at + 1); /* when `apply` has returned */
		}
	replica_lab_free(l);
}

static struct told *watched;

static bool see_that_none_is_told(struct machine *m, const struct whorl_call *call)
{
	(void)m;
	ck_assert_uint_eq(atomic_load(&watched->times), 0);
	ck_assert_int_eq(whorl_answer(call, "now", 3), WHORL_OK);
	ck_assert_uint_eq(atomic_load(&watched->times), 0);
	return true;
}

/* Several calls of one run: none is told before all of it is applied. */
TEST(no_outcome_comes_while_apply_runs)
{
	struct lab *l = lab_start(1, FAR, "[subgroup s]\n" CALLER);
	struct told told[3] = {0};

	l->machines[0].answer = see_that_none_is_told;
	watched = &told[0];
	for (unsigned i = 0; i < 3; i++)
		ck_ok(call_word(&l->machines[0], i, &told[i]));
	await(is_told(&told[2]), replica_lab_step(l));
	ck_assert_uint_eq(atomic_load(&l->machines[0].runs), 1);
	ck_assert_uint_eq(told[0].applied, 3);
	ck_assert_uint_lt(told[0].order, told[1].order);
	ck_assert_uint_lt(told[1].order, told[2].order);
	replica_lab_free(l);
}

/* By the word: no answer; one of no bytes; megabytes, which differ. */
enum { UNANSWERED, EMPTY, LARGE };
#define LARGE_BYTES (3000001)

static bool answer_as_asked(struct machine *m, const struct whorl_call *call)
{
	uint64_t word = m->log[m->logged - 1].word;
	unsigned char *bytes;

	if (word % 3 == UNANSWERED)
		return true;
	if (word % 3 == EMPTY) {
		ck_assert_int_eq(whorl_answer(call, NULL, 0), WHORL_OK);
		return true;
	}
	bytes = malloc(LARGE_BYTES);
	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < LARGE_BYTES; i++)
		bytes[i] = (unsigned char)(i * 7 + word);
	ck_assert_int_eq(whorl_answer(call, bytes, LARGE_BYTES), WHORL_OK);
	free(bytes);
	return true;
}

struct large {
	struct told told;
	uint64_t word;
};

static void look_at_answer(const struct whorl_outcome *outcome, void *ctx)
{
	const struct large *large = ctx;

	note_outcome(outcome, ctx);
	ck_assert_uint_eq(outcome->size, sizeof(*outcome));
	ck_assert_uint_eq(outcome->bytes, large->word % 3 == LARGE ? LARGE_BYTES : 0);
	for (size_t i = 0; i < outcome->bytes; i++)
		if (((const unsigned char *)outcome->answer)[i] != (unsigned char)(i * 7 + large->word))
			ck_abort_msg("byte %zu of the answer is another", i);
}

TEST(answers_of_no_bytes_and_of_megabytes)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n" CALLER);
	struct large calls[9] = {0};

	l->machines[0].answer = l->machines[1].answer = answer_as_asked;
	for (unsigned i = 0; i < 9; i++) {
		calls[i].word = i;
		ck_ok(whorl_call(l->machines[0].subgroup, &calls[i].word, sizeof(calls[i].word), look_at_answer,
				 &calls[i]));
	}
	await(is_told(&calls[8].told), replica_lab_step(l));
	for (unsigned i = 0; i < 9; i++)
		ck_assert(is_told(&calls[i].told));
	replica_lab_free(l);
}

static bool answer_twice(struct machine *m, const struct whorl_call *call)
{
	uint64_t ticket, word = m->log[m->logged - 1].word;

	if (!call->awaited) { /* nothing is done, and nothing is wrong */
		ck_assert_int_eq(whorl_answer(call, "x", 1), WHORL_OK);
		ck_assert_int_eq(whorl_answer(call, "x", 1), WHORL_OK);
		ck_assert_uint_eq(whorl_defer(call), 0);
		return true;
	}
	if (word == 0) {
		ck_assert_int_eq(whorl_answer(call, "first", 5), WHORL_OK);
	} else {
		ticket = whorl_defer(call);
		ck_assert_uint_ne(ticket, 0);
		*(uint64_t *)m->more = ticket;
	}
	ck_assert_int_eq(whorl_answer(call, "second", 6), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "answered or deferred already"));
	ck_assert_uint_eq(whorl_defer(call), 0);
	return true;
}

TEST(a_call_is_answered_once)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n" CALLER);
	struct told told[2] = {0};
	uint64_t ticket = 0;

	l->machines[0].answer = l->machines[1].answer = answer_twice;
	l->machines[0].more = &ticket;
	ck_ok(call_word(&l->machines[0], 0, &told[0]));
	ck_ok(call_word(&l->machines[0], 1, &told[1]));
	ck_ok(call_word(&l->machines[0], 0, NULL)); /* of which no outcome is told */
	await(lab_agrees(l, 3), replica_lab_step(l));
	await(is_told(&told[0]), replica_lab_step(l));
	ck_assert_uint_eq(told[0].bytes, 5);
	ck_ok(whorl_answer_later(l->machines[0].subgroup, ticket, "later", 5));
	await(is_told(&told[1]), replica_lab_step(l));
	ck_assert_mem_eq(&told[1].word, "later", 5);
	replica_lab_free(l);
}

static bool keep_call(struct machine *m, const struct whorl_call *call)
{
	*(struct whorl_call *)m->more = *call;
	return true;
}

static struct whorl_call kept;

static void answer_what_is_kept(const struct whorl_outcome *outcome, void *ctx)
{
	note_outcome(outcome, ctx);
	ck_assert_int_eq(whorl_answer(&kept, "x", 1), WHORL_INVALID);
	ck_assert_uint_eq(whorl_defer(&kept), 0);
}

TEST(an_answer_outside_of_apply_is_refused)
{
	struct lab *l = lab_start(1, FAR, "[subgroup s]\n" CALLER);
	struct told told = {0};

	l->machines[0].answer = keep_call;
	l->machines[0].more = &kept;
	ck_ok(whorl_call(l->machines[0].subgroup, "x", 1, answer_what_is_kept, &told));
	await(is_told(&told), replica_lab_step(l));
	ck_assert_uint_eq(told.bytes, 0);
	ck_assert_int_eq(whorl_answer(&kept, "x", 1), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "not one of an `apply` that runs"));
	ck_assert_uint_eq(whorl_defer(&kept), 0);
	replica_lab_free(l);
}

/* ---- answers that come later ------------------------------------------------------------------------------------------------- */

struct tickets {
	uint64_t given[LOG_MAX];
	atomic_uint count;
};

static bool defer_each(struct machine *m, const struct whorl_call *call)
{
	struct tickets *tickets = m->more;

	if (!call->awaited)
		return true;
	tickets->given[atomic_load(&tickets->count)] = whorl_defer(call);
	ck_assert_uint_ne(tickets->given[atomic_load(&tickets->count)], 0);
	atomic_fetch_add(&tickets->count, 1);
	return true;
}

TEST_CASE("later");

/* The order goes on meanwhile; tickets are answered in any order, each once. */
TEST(answers_that_come_later)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n" CALLER);
	static struct tickets tickets;
	struct told told[3] = {0};
	whorl_subgroup *s = l->machines[0].subgroup;

	l->machines[0].answer = l->machines[1].answer = defer_each;
	l->machines[0].more = &tickets;
	for (unsigned i = 0; i < 3; i++)
		ck_ok(call_word(&l->machines[0], i, &told[i]));
	await(lab_agrees(l, 3), replica_lab_step(l));
	cluster_hush(&l->c);
	ck_assert(!is_told(&told[0]) && !is_told(&told[1]) && !is_told(&told[2]));
	ck_ok(whorl_answer_later(s, tickets.given[2], "two", 3));
	ck_assert_int_eq(whorl_answer_later(s, tickets.given[2], "two", 3), WHORL_NOT_FOUND);
	ck_assert(!is_told(&told[2])); /* on the loop */
	await(is_told(&told[2]), replica_lab_step(l));
	ck_ok(whorl_answer_later(s, tickets.given[0], NULL, 0));
	await(is_told(&told[0]), replica_lab_step(l));
	ck_assert(!is_told(&told[1]));
	ck_assert_mem_eq(&told[2].word, "two", 3);
	ck_assert_uint_eq(told[2].sequence, l->machines[1].log[2].sequence);
	ck_assert_uint_eq(told[0].bytes, 0);
	ck_assert_int_eq(whorl_answer_later(s, tickets.given[0], "x", 1), WHORL_NOT_FOUND);
	ck_assert_int_eq(whorl_answer_later(s, 12345, "x", 1), WHORL_NOT_FOUND);
	ck_ok(whorl_answer_later(s, 0, "x", 1));
	ck_ok(whorl_answer_later(s, tickets.given[1], "one", 3));
	await(is_told(&told[1]), replica_lab_step(l));
	/* A ticket that is over is not taken for the next one of its place. */
	ck_ok(call_word(&l->machines[0], 9, &(struct told){0}));
	await(atomic_load(&tickets.count) == 4, replica_lab_step(l));
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_ne(tickets.given[3], tickets.given[i]);
		ck_assert_int_eq(whorl_answer_later(s, tickets.given[i], "x", 1), WHORL_NOT_FOUND);
	}
	ck_ok(whorl_answer_later(s, tickets.given[3], "x", 1));
	cluster_hush(&l->c);
	replica_lab_free(l);
}

struct answerer {
	struct lab *l;
	struct tickets *tickets;
};

static void *answer_all(void *ctx)
{
	struct answerer *a = ctx;

	for (unsigned i = 0; i < MANY; i++) {
		await(atomic_load(&a->tickets->count) > i, sched_yield());
		ck_ok(whorl_answer_later(a->l->machines[0].subgroup, a->tickets->given[i], &i, sizeof(i)));
	}
	return NULL;
}

/* Loops of their own, which sleep when nothing is to be done: the answer wakes them. */
TEST(an_answer_from_another_thread)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\nwindow = 1\n");
	static struct tickets tickets;
	static struct told told[MANY];
	struct answerer answerer = {l, &tickets};
	pthread_t thread;

	l->machines[0].answer = l->machines[1].answer = defer_each;
	l->machines[0].more = &tickets;
	ck_assert_int_eq(pthread_create(&thread, NULL, answer_all, &answerer), 0);
	for (unsigned i = 0; i < MANY; i++) {
		await(call_word(&l->machines[0], i, &told[i]) == WHORL_OK, sched_yield());
		if (i % 50 == 49)
			await(is_told(&told[i]), sched_yield());
	}
	await(is_told(&told[MANY - 1]), sched_yield());
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < MANY; i++) {
		ck_assert(is_told(&told[i]));
		ck_assert_uint_eq((unsigned)told[i].word, i);
	}
	replica_lab_free(l);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------------------ */

static size_t patterned(unsigned char *bytes, size_t count, unsigned seed)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)(i * 13 + i / 251 + seed);
	return count;
}

static bool see_whole(struct machine *m, const struct whorl_call *call)
{
	static unsigned char expected[100000];

	ck_assert_uint_eq((uintptr_t)call->data % 16, 0);
	ck_assert_uint_eq(call->size, sizeof(*call));
	ck_assert(!call->replayed);
	if (call->bytes == 0)
		ck_assert_ptr_null(call->data);
	patterned(expected, call->bytes, (unsigned)call->bytes);
	ck_assert_mem_eq(call->data == NULL ? expected : call->data, expected, call->bytes);
	(void)m;
	ck_assert_int_eq(whorl_answer(call, &call->bytes, sizeof(call->bytes)), WHORL_OK);
	return true;
}

TEST_CASE("made");

/* Slots of a kilobyte. Calls of no bytes, of a slot, of many, mixed with short ones; all applied whole. */
TEST(calls_in_parts_are_applied_whole)
{
	static const size_t sizes[] = {1, 0, 1024, 1025, 5000, 16, 65536, 3, 2048, 40000};
	static unsigned char data[100000];
	struct lab *l =
		lab_start(2, FAR, "[subgroup s]\nwindow = 100\nmessage_bytes = 1024\nlarge_bytes = 65536\n" CALLER);
	struct told told[10] = {0};

	l->machines[0].answer = l->machines[1].answer = see_whole;
	for (unsigned i = 0; i < 10; i++) {
		patterned(data, sizes[i], (unsigned)sizes[i]);
		await(whorl_call(l->machines[1].subgroup, data, sizes[i], note_outcome, &told[i]) == WHORL_OK,
		      replica_lab_step(l));
	}
	await(lab_agrees(l, 10) && is_told(&told[9]), replica_lab_step(l));
	for (unsigned i = 0; i < 10; i++) {
		ck_assert(is_told(&told[i]));
		ck_assert_uint_eq(told[i].word, sizes[i]);
		ck_assert_uint_eq(l->machines[0].log[i].bytes, sizes[i]);
	}
	ck_assert_int_eq(whorl_call(l->machines[1].subgroup, data, 65537, note_outcome, &told[0]), WHORL_INVALID);
	cluster_hush(&l->c);
	ck_assert(lab_agrees(l, 10));
	ck_assert(is_told(&told[0]));
	replica_lab_free(l);
}

/* ---- what is refused ---------------------------------------------------------------------------------------------------------------- */

static void expect_never(struct lab *l, enum whorl_result refused, enum whorl_result expected, struct told *told)
{
	ck_assert_int_eq(refused, expected);
	cluster_hush(&l->c);
	ck_assert_uint_eq(atomic_load(&told->times), 0);
}

TEST(what_is_refused_is_never_applied)
{
	struct lab *l = replica_lab_open(2, FAR,
					 "[subgroup s]\nsenders = 0\nwindow = 2\nmessage_bytes = 8\n"
					 "[subgroup plain]\n" CALLER);
	struct told told = {0}, accepted[2] = {0};
	struct machine *m = l->machines;

	expect_never(l, call_word(&m[0], 1, &told), WHORL_AGAIN, &told); /* there is no view yet */
	cluster_start(&l->c);
	expect_never(l, call_word(&m[1], 1, &told), WHORL_NOT_SENDER, &told);
	expect_never(l, whorl_call(m[0].subgroup, "123456789", 9, note_outcome, &told), WHORL_INVALID, &told);
	expect_never(l, whorl_call(m[0].subgroup, NULL, 1, note_outcome, &told), WHORL_INVALID, &told);
	expect_never(l, whorl_call(NULL, "x", 1, note_outcome, &told), WHORL_INVALID, &told);
	expect_never(l, whorl_call(subgroup_of(&l->c, 0, "plain"), "x", 1, note_outcome, &told), WHORL_INVALID, &told);
	ck_assert_str_eq(whorl_invalid_text(), "whorl_call: the subgroup has no whorl_on_calls");
	ck_ok(call_word(&m[0], 1, &accepted[0]));
	ck_ok(call_word(&m[0], 2, &accepted[1]));
	ck_assert_int_eq(call_word(&m[0], 3, &told), WHORL_AGAIN); /* the window */
	await(is_told(&accepted[1]), replica_lab_step(l));
	cluster_hush(&l->c);
	ck_assert_uint_eq(atomic_load(&m[0].count), 2);
	ck_assert_uint_eq(atomic_load(&m[1].count), 2);
	ck_assert_uint_eq(atomic_load(&told.times), 0);
	replica_lab_free(l);
}

static void take_message(const struct whorl_message *message, void *ctx)
{
	(void)message;
	(void)ctx;
}

static void take_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	(void)messages;
	(void)count;
	(void)ctx;
}

static size_t take_offer(const struct whorl_message *messages, size_t count, void *ctx)
{
	(void)messages;
	(void)ctx;
	return count;
}

static enum whorl_result set_upcall(whorl_subgroup *s, int kind)
{
	return kind == 0   ? whorl_on_message(s, take_message, NULL)
	       : kind == 1 ? whorl_on_batch(s, take_batch, NULL)
			   : whorl_on_offer(s, take_offer, NULL);
}

TEST_LOOP(upcalls_of_other_kinds, 0, 3)
{
	struct cluster c;
	struct machine m = {0};
	whorl_subgroup *calls, *other;

	cluster_open(&c, 1, FAR, "[subgroup calls]\n[subgroup other]\n[subgroup loose]\nmode = unordered\n" CALLER);
	calls = subgroup_of(&c, 0, "calls");
	other = subgroup_of(&c, 0, "other");
	ck_ok(set_upcall(other, _i));
	ck_assert_int_eq(whorl_on_calls(other, apply_calls, &m), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "another upcall is set"));
	ck_ok(whorl_on_calls(calls, apply_calls, &m));
	ck_assert_int_eq(set_upcall(calls, _i), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "another upcall is set"));
	ck_assert_int_eq(whorl_on_calls(calls, apply_calls, &m), WHORL_INVALID);
	ck_assert_int_eq(whorl_on_calls(subgroup_of(&c, 0, "loose"), apply_calls, &m), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "unordered"));
	ck_assert_int_eq(whorl_on_calls(calls, NULL, &m), WHORL_INVALID);
	cluster_start(&c);
	ck_assert_int_eq(whorl_on_calls(calls, apply_calls, &m), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "after whorl_start"));
	ck_assert_int_eq(whorl_send(calls, "x", 1, 0, NULL), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "whorl_call makes one"));
	ck_ok(whorl_send(other, "x", 1, 0, NULL));
	cluster_hush(&c);
	ck_assert_uint_eq(atomic_load(&m.count), 0);
	cluster_free(&c);
}

/* It has upcalls among the options that it was entered with. */
TEST(a_subgroup_that_is_entered_has_no_calls)
{
	struct machine m = {0};
	whorl_subgroup *entered;
	struct cluster c;

	cluster_open(&c, 1, FAR, "[subgroup s]\n" CALLER);
	ck_assert_int_eq(whorl_subgroup_enter(c.nodes[0], "more", NULL, 0, &entered), WHORL_TIMEOUT);
	ck_assert_int_eq(whorl_on_calls(entered, apply_calls, &m), WHORL_INVALID);
	ck_ok(whorl_subgroup_release(entered));
	cluster_start(&c);
	cluster_hush(&c);
	cluster_free(&c);
}

/* ---- claims --------------------------------------------------------------------------------------------------------------------------- */

static uint64_t *words_of(struct whorl_claim *claim)
{
	return claim->data;
}

TEST(claims_become_calls)
{
	struct lab *l = lab_start(2, FAR, "[subgroup s]\n[subgroup plain]\n" CALLER);
	whorl_subgroup *s = l->machines[0].subgroup;
	struct whorl_claim claim, many[3], plain;
	struct told told = {0};

	ck_ok(whorl_claim(s, 8, &claim));
	*words_of(&claim) = 11;
	ck_assert_int_eq(whorl_call_commit(&claim, 9, note_outcome, &told), WHORL_INVALID); /* open still */
	ck_assert_int_eq(whorl_call_commit(NULL, 8, note_outcome, &told), WHORL_INVALID);
	ck_ok(whorl_call_commit(&claim, 8, note_outcome, &told));
	ck_assert_int_eq(whorl_call_commit(&claim, 8, note_outcome, &told), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "finished already"));
	ck_ok(whorl_claim_many(s, 8, 3, many)); /* calls of which no outcome is told */
	for (unsigned i = 0; i < 3; i++)
		*words_of(&many[i]) = 20 + i;
	ck_ok(whorl_commit_many(many, 3, NULL));
	ck_ok(whorl_claim(s, 8, &claim));
	*words_of(&claim) = 30;
	ck_ok(whorl_commit(&claim, 8));
	ck_ok(whorl_claim(s, 8, &claim));
	ck_ok(whorl_abort(&claim)); /* is none */
	await(lab_agrees(l, 5) && is_told(&told), replica_lab_step(l));
	ck_assert_uint_eq(told.word, 11);
	ck_assert(l->machines[0].log[0].awaited);
	for (unsigned i = 1; i < 5; i++)
		ck_assert(!l->machines[0].log[i].awaited);
	ck_ok(whorl_claim(subgroup_of(&l->c, 0, "plain"), 8, &plain));
	ck_assert_int_eq(whorl_call_commit(&plain, 8, note_outcome, &told), WHORL_INVALID);
	ck_assert_str_eq(whorl_invalid_text(), "whorl_call_commit: the subgroup has no whorl_on_calls");
	ck_ok(whorl_abort(&plain));
	replica_lab_free(l);
}

/* ---- calls from upcalls ---------------------------------------------------------------------------------------------------------------- */

#define CHAIN 20

struct chain {
	struct told told[3 * CHAIN];
	struct look looks[CHAIN];
	unsigned calls, reads;
	struct machine *machine;
};

static void call_next(struct chain *chain);

static void call_in_read(enum whorl_result result, void *ctx)
{
	struct chain *chain = ctx;

	note_look(result, &chain->looks[chain->reads - 1]);
	ck_assert_int_eq(result, WHORL_OK);
	call_next(chain);
}

/* Reads, and what it reads calls. */
static void read_in_done(const struct whorl_outcome *outcome, void *ctx)
{
	struct chain *chain = ctx;
	size_t bytes = 0;

	note_outcome(outcome, &chain->told[chain->calls - 1]);
	ck_assert_int_eq(whorl_call_wait(chain->machine->subgroup, "x", 1, NULL, &bytes, 1000), WHORL_WOULD_DEADLOCK);
	ck_assert_int_eq(whorl_call_wait(chain->machine->subgroup, "x", 1, NULL, &bytes, 0), WHORL_WOULD_DEADLOCK);
	if (chain->reads == CHAIN)
		return;
	chain->looks[chain->reads].machine = chain->machine;
	chain->reads++;
	ck_ok(whorl_read(chain->machine->subgroup, chain->reads % 2 == 0 ? WHORL_LOCAL : WHORL_LINEARIZABLE,
			 call_in_read, chain));
}

static void call_next(struct chain *chain)
{
	uint64_t word = chain->calls;

	/* The chain is the loop's from here on: it may be told before whorl_call returns. */
	chain->told[chain->calls].machine = chain->machine;
	chain->calls++;
	ck_ok(whorl_call(chain->machine->subgroup, &word, sizeof(word), read_in_done, chain));
}

/* `apply` makes a call of its own for each of the first ones, and waits for none. */
static bool call_in_apply(struct machine *m, const struct whorl_call *call)
{
	unsigned long total = atomic_load(&m->total);
	uint64_t word = 1000;

	if (call->awaited && m->log[m->logged - 1].word < 5)
		ck_ok(whorl_call(m->subgroup, &word, sizeof(word), note_outcome, m->more));
	ck_assert_int_eq(whorl_call_wait(m->subgroup, "x", 1, NULL, NULL, 10), WHORL_WOULD_DEADLOCK);
	ck_assert_int_eq(whorl_answer(call, &total, sizeof(total)), WHORL_OK);
	return true;
}

TEST_LOOP(calls_from_done_and_read, 0, 2)
{
	/* Where each node has a thread the other one may be several calls behind, and in `done` none waits for the window. */
	struct lab *l =
		lab_start(2, FAR, _i == 0 ? "[subgroup s]\nwindow = 2\n" CALLER : "[subgroup s]\nwindow = 64\n");
	static struct chain chain;

	chain = (struct chain){.machine = &l->machines[1]};
	call_next(&chain);
	await(atomic_load(&chain.told[CHAIN].times) == 1, replica_lab_step(l));
	await(lab_agrees(l, CHAIN + 1), replica_lab_step(l));
	for (unsigned i = 0; i < CHAIN; i++) {
		ck_assert(is_told(&chain.told[i]));
		ck_assert(has_looked(&chain.looks[i]));
		ck_assert_uint_ge(chain.looks[i].count, i + 1); /* what it was told of is there */
	}
	replica_lab_free(l);
}

TEST_LOOP(calls_from_apply, 0, 2)
{
	struct lab *l = lab_start(2, FAR, _i == 0 ? "[subgroup s]\n" CALLER : "[subgroup s]\n");
	struct told told = {0}, nested = {0};

	l->machines[0].answer = l->machines[1].answer = call_in_apply;
	l->machines[0].more = &nested;
	ck_ok(call_word(&l->machines[0], 0, &told));
	await(is_told(&nested), replica_lab_step(l));
	await(lab_agrees(l, 2), replica_lab_step(l));
	ck_assert(is_told(&told));
	ck_assert_uint_lt(told.order, nested.order);
	ck_assert_uint_eq(nested.word, 1000);
	replica_lab_free(l);
}

TEST_SUITE("replica_calls")
