/* test_shard_trusts.c - replicated trusts: properties that all members of a shard have. Nodes in one process, each with its workers.
 * Labels: threads
 */
#include "delegation/shard.h"
#include "tests/support/shard_lab.h"
#include "tests/temporary.h"

#include <stdlib.h>
#include <unistd.h>

#include <whorl/replica.h>

#define MEMBERS 4

struct member {
	whorl_node *node;
	whorl_work *work;
	whorl_subgroup *subgroup;
};

static struct member members[MEMBERS];
static unsigned founders;
static char group[32];
static const char *subgroup_lines;
static const struct whorl_open_options *open_options;
static char group_lines[160];
static uint64_t room; /* for calls that a worker has not come to; 0: as it is */

static whorl_config *configure(const char *start)
{
	whorl_config *config = whorl_config_new();
	char text[640];

	snprintf(text, sizeof(text),
		 "[group]\nname = %s\nnodes = %u\nnodes_max = %d\ntransport = shm\nfailure_timeout_ms = 3000\nstart = %s\n%s"
		 "[engine]\nidle = adaptive\n[subgroup other]\n[subgroup s]\n%s",
		 group, founders, MEMBERS, start, group_lines, subgroup_lines);
	ck_assert_msg(whorl_config_load_text(config, "test", text) == WHORL_OK, "%s", whorl_config_error(config));
	return config;
}

static void open_with(unsigned id, const struct whorl_work_options *options)
{
	whorl_config *config = configure(id < founders ? "auto" : "join");
	struct member *m = &members[id];

	ck_assert_msg(whorl_open(config, id, open_options, &m->node) == WHORL_OK, "%s", whorl_config_error(config));
	whorl_config_free(config);
	ck_assert_msg(whorl_work_open(m->node, options, &m->work) == WHORL_OK, "%s", whorl_invalid_text());
	m->subgroup = whorl_subgroup_find(m->node, "s");
	ck_assert_msg(whorl_work_serve(m->work, m->subgroup, options->workers - 1) == WHORL_OK, "%s",
		      whorl_invalid_text());
	if (room != 0)
		m->work->shards[0]->queue.calls_most = room;
	ck_ok(whorl_start(m->node));
}

static void open_member(unsigned id)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};

	open_with(id, &options);
}

static void open_all(unsigned count, const char *lines)
{
	static unsigned groups;

	subgroup_lines = lines;
	founders = count;
	snprintf(group, sizeof(group), "shards-%d-%u", (int)getpid(), groups++);
	for (unsigned id = 0; id < count; id++)
		open_member(id);
	for (unsigned id = 0; id < count; id++)
		ck_ok(whorl_ready(members[id].node, PATIENCE_MS));
}

static void close_member(unsigned id)
{
	ck_ok(whorl_work_close(members[id].work, PATIENCE_MS));
	(void)whorl_close(members[id].node, PATIENCE_MS);
	members[id] = (struct member){0};
}

static void close_all(void)
{
	for (unsigned id = 0; id < MEMBERS; id++)
		if (members[id].node != NULL)
			close_member(id);
	ck_assert_int_eq(atomic_load(&words_alive), 0);
}

static struct whorl_trust named(unsigned id, const char *name, const struct whorl_type *type, const void *init)
{
	struct whorl_trust trust;
	enum whorl_result result = whorl_entrust_named(members[id].work, whorl_at_shard(members[id].subgroup), name,
						       type, init, init == NULL ? 0 : type->bytes, &trust, PATIENCE_MS);

	ck_assert_msg(result == WHORL_OK, "%s: %s", whorl_result_text(result), whorl_invalid_text());
	return trust;
}

static uint64_t add(const struct whorl_trust *trust, uint64_t by)
{
	uint64_t n = 0;

	ck_ok(whorl_apply(trust, sum_add, &(struct add){by}, &n, PATIENCE_MS));
	return n;
}

static struct sum sum_of(struct whorl_trust *trust, enum whorl_trust_reads reads)
{
	struct sum sum = {0};

	ck_ok(whorl_trust_reads(trust, reads));
	ck_ok(whorl_apply(trust, sum_read, NULL, &sum, PATIENCE_MS));
	return sum;
}

/* ---- what all members have -------------------------------------------------------------------------------------------------------- */

static void *add_five(void *ctx)
{
	struct whorl_trust trust = named(0, "sum", &sum_type, NULL);

	(void)ctx;
	for (int i = 0; i < 5; i++)
		(void)add(&trust, 1);
	ck_ok(whorl_trust_drop(&trust));
	return NULL;
}

/* Whatever threads call, the worker sends: one thread, as was promised. A thread that sends beside it breaks the promise. */
START_TEST(the_worker_is_the_one_that_sends)
{
	struct whorl_trust trust;
	struct whorl_claim claim;
	pthread_t other;

	open_all(2, "sending_threads = one\n");
	trust = named(0, "sum", &sum_type, &(struct sum){0});
	ck_assert_uint_eq(add(&trust, 1), 1);
	ck_assert_int_eq(pthread_create(&other, NULL, add_five, NULL), 0);
	for (int i = 0; i < 5; i++)
		(void)add(&trust, 1);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
	ck_assert_uint_eq(add(&trust, 1), 12);
	ck_assert_int_eq(whorl_claim(members[0].subgroup, 1, &claim), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(whorl_invalid_text(), "sending_threads"));
	ck_ok(whorl_trust_drop(&trust));
	close_all();
}
END_TEST

START_TEST(all_members_have_it)
{
	struct whorl_trust trusts[3];

	open_all(3, "");
	for (unsigned id = 0; id < 3; id++)
		trusts[id] = named(id, "sum", &sum_type, &(struct sum){100 * (id + 1), 0});
	ck_assert_uint_eq(trusts[0].id, trusts[1].id);
	ck_assert_uint_eq(trusts[0].id, trusts[2].id);
	for (unsigned id = 0; id < 3; id++)
		ck_assert_uint_eq(add(&trusts[id], 1), 101 + id);
	for (unsigned id = 0; id < 3; id++)
		for (int reads = WHORL_READS_ORDERED; reads <= WHORL_READS_LINEARIZABLE; reads++) {
			if (reads == WHORL_READS_LOCAL && id < 2) /* they may be late */
				continue;
			ck_assert_uint_eq(sum_of(&trusts[id], (enum whorl_trust_reads)reads).n, 103);
		}
	for (unsigned id = 0; id < 3; id++)
		await(sum_of(&trusts[id], WHORL_READS_LOCAL).adds == 3, (void)0);
	for (unsigned id = 0; id < 3; id++)
		ck_ok(whorl_trust_drop(&trusts[id]));
	close_all();
}
END_TEST

/* What a thread has been answered it reads, without a message. */
START_TEST(local_reads_have_what_was_answered_here)
{
	struct whorl_trust trust;

	open_all(2, "");
	trust = named(0, "sum", &sum_type, NULL);
	for (uint64_t i = 1; i <= 200; i++) {
		ck_assert_uint_eq(add(&trust, 1), i);
		ck_assert_uint_eq(sum_of(&trust, WHORL_READS_LOCAL).n, i);
	}
	close_all();
}
END_TEST

/* A linearizable read at another member has what was answered here before. */
START_TEST(linearizable_reads_have_what_was_answered_anywhere)
{
	struct whorl_trust one, other;

	open_all(3, "");
	one = named(0, "sum", &sum_type, NULL);
	other = named(2, "sum", &sum_type, NULL);
	for (uint64_t i = 1; i <= 100; i++) {
		ck_assert_uint_eq(add(&one, 1), i);
		ck_assert_uint_eq(sum_of(&other, WHORL_READS_LINEARIZABLE).n, i);
	}
	close_all();
}
END_TEST

static atomic_int answered, wrong;

static void note(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	(void)ctx;
	atomic_fetch_add(result == WHORL_OK && answer != NULL && bytes == 8 ? &answered : &wrong, 1);
}

/* More than a window, from a plain thread and from fibers of both workers: the one that has the shard, too. */
struct many {
	struct whorl_trust trust;
	uint64_t count;
};

WHORL_FUNCTION(add_many, struct whorl_none, struct many, uint64_t, 0)
{
	uint64_t n = 0;

	*result = 0;
	for (uint64_t i = 0; i < args->count; i++)
		if (whorl_apply(&args->trust, sum_add, &(struct add){1}, &n, PATIENCE_MS) == WHORL_OK)
			++*result;
}

START_TEST(many_calls_from_all_threads)
{
	struct whorl_trust trust;
	struct whorl_join joins[8];
	uint64_t done;

	open_all(3, "window = 8\n");
	trust = named(1, "sum", &sum_type, NULL);
	for (int i = 0; i < 8; i++)
		ck_ok(whorl_spawn(members[1].work, at((uint32_t)i % 2), add_many, &((struct many){trust, 50}),
				  &joins[i]));
	for (int i = 0; i < 1000; i++)
		ck_ok(whorl_apply_then(&trust, sum_add, &(struct add){1}, note, NULL));
	for (int i = 0; i < 8; i++) {
		ck_ok(whorl_join(&joins[i], &done, sizeof(done), PATIENCE_MS));
		ck_assert_uint_eq(done, 50);
	}
	await(atomic_load(&answered) == 1000, (void)whorl_poll(members[1].work, 1));
	ck_assert_int_eq(atomic_load(&wrong), 0);
	ck_assert_uint_eq(sum_of(&trust, WHORL_READS_ORDERED).n, 1400);
	close_all();
}
END_TEST

struct orderly { /* a thread, which has a property of its own */
	pthread_t thread;
	char name[8];
	int answers;
	uint64_t disordered;
};

#define ORDERLY 6
#define IN_ORDER 12000

static void count_answer(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	struct orderly *orderly = ctx;

	(void)bytes;
	if (result == WHORL_OK)
		memcpy(&orderly->disordered, answer, sizeof(orderly->disordered));
	orderly->answers += result == WHORL_OK;
}

static void *send_in_order(void *ctx)
{
	struct orderly *orderly = ctx;
	struct whorl_trust trust = named(0, orderly->name, &sum_type, NULL);

	for (uint64_t i = 0; i < IN_ORDER; i++)
		ck_ok(whorl_apply_then(&trust, sum_next, &(struct add){i}, count_answer, orderly));
	await(orderly->answers == IN_ORDER, (void)whorl_poll(members[0].work, 1));
	return NULL;
}

/* While the window opens and is full again, at any moment. */
START_TEST(calls_of_one_thread_keep_their_order)
{
	struct orderly all[ORDERLY] = {0};

	open_all(1, "window = 2\n");
	for (int i = 0; i < ORDERLY; i++) {
		snprintf(all[i].name, sizeof(all[i].name), "sum %d", i);
		ck_assert_int_eq(pthread_create(&all[i].thread, NULL, send_in_order, &all[i]), 0);
	}
	for (int i = 0; i < ORDERLY; i++) {
		pthread_join(all[i].thread, NULL);
		ck_assert_uint_eq(all[i].disordered, 0);
	}
	close_all();
}
END_TEST

START_TEST(bytes_of_any_length)
{
	static unsigned char data[100000], back[100000];
	size_t bytes = sizeof(back), told = 8;
	struct whorl_trust words;
	uint64_t all = 0;

	open_all(2, "large_bytes = 200000\n");
	words = named(0, "words", &words_type, NULL);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7 + i / 251) | 0x80;
	ck_ok(whorl_apply_bytes(&words, words_say, data, sizeof(data), &all, &told, PATIENCE_MS));
	ck_assert_uint_eq(all, sizeof(data));
	ck_ok(whorl_apply_bytes(&words, words_all, NULL, 0, back, &bytes, PATIENCE_MS));
	ck_assert_uint_eq(bytes, sizeof(data));
	ck_assert_mem_eq(back, data, sizeof(data));
	ck_ok(whorl_trust_reads(&words, WHORL_READS_LOCAL));
	bytes = 3;
	ck_assert_int_eq(whorl_apply_bytes(&words, words_all, NULL, 0, back, &bytes, PATIENCE_MS), WHORL_TOO_SMALL);
	ck_assert_uint_eq(bytes, sizeof(data));
	ck_ok(whorl_apply_bytes_then(&words, words_say, "x", 1, note, NULL));
	await(atomic_load(&answered) == 1, (void)whorl_poll(members[0].work, 1));
	close_all();
}
END_TEST

START_TEST(it_ends_for_all)
{
	struct whorl_trust one, other, again;
	uint64_t n;

	open_all(2, "");
	one = named(0, "words", &words_type, NULL);
	other = named(1, "words", &words_type, NULL);
	ck_ok(whorl_apply_bytes(&one, words_say, "a", 1, NULL, NULL, PATIENCE_MS));
	ck_ok(whorl_trust_end(&one, PATIENCE_MS));
	ck_assert_int_eq(whorl_trust_end(&other, PATIENCE_MS), WHORL_GONE);
	ck_assert_int_eq(whorl_apply_bytes(&other, words_say, "a", 1, NULL, NULL, PATIENCE_MS), WHORL_GONE);
	ck_ok(whorl_trust_reads(&other, WHORL_READS_LOCAL));
	ck_assert_int_eq(whorl_apply_bytes(&other, words_all, NULL, 0, NULL, NULL, PATIENCE_MS), WHORL_GONE);
	await(atomic_load(&words_alive) == 0, (void)0);
	again = named(1, "words", &sum_type, NULL); /* of another type */
	ck_ok(whorl_apply(&again, sum_add, &(struct add){3}, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 3);
	close_all();
}
END_TEST

/* ---- handles ---------------------------------------------------------------------------------------------------------------------- */

WHORL_FUNCTION(add_there, struct counter, struct many, uint64_t, 0)
{
	if (whorl_apply(&args->trust, sum_add, &(struct add){args->count}, result, PATIENCE_MS) != WHORL_OK)
		*result = UINT64_MAX;
}

START_TEST(handles_are_not_counted)
{
	struct whorl_trust trust, clone, there;
	struct many sent;
	uint64_t n = 0;

	open_all(2, "");
	trust = named(0, "sum", &sum_type, NULL);
	ck_ok(whorl_trust_reads(&trust, WHORL_READS_LOCAL));
	ck_ok(whorl_trust_clone(&trust, &clone));
	ck_assert_uint_eq(clone.room[1], WHORL_READS_LOCAL);
	ck_ok(whorl_trust_drop(&trust));
	ck_assert_uint_eq(trust.id, 0);
	ck_assert_uint_eq(add(&clone, 1), 1);
	ck_assert_int_eq(whorl_trust_move(&clone, at(0), PATIENCE_MS), WHORL_UNSUPPORTED);
	/* To another member, in the arguments of a call: there it has the same name. */
	ck_ok(whorl_entrust(members[0].work, whorl_at_worker(1, 0), &counter_type, NULL, 0, &there, PATIENCE_MS));
	sent = (struct many){clone, 5};
	ck_ok(whorl_trust_send(&sent.trust, whorl_at_worker(1, 0)));
	ck_assert_ptr_null(sent.trust.work);
	ck_ok(whorl_launch(&there, add_there, &sent, &n, PATIENCE_MS));
	ck_assert_uint_eq(n, 6);
	ck_ok(whorl_trust_drop(&there));
	ck_ok(whorl_trust_drop(&clone));
	trust = named(0, "sum", &sum_type, NULL);
	ck_assert_uint_eq(sum_of(&trust, WHORL_READS_ORDERED).n, 6);
	close_all();
}
END_TEST

/* The name of one that is not named is that of its type. */
START_TEST(a_shard_is_a_place)
{
	struct whorl_trust trust, same;

	open_all(1, "");
	ck_ok(whorl_entrust(members[0].work, whorl_at_shard(members[0].subgroup), &sum_type, NULL, 0, &trust,
			    PATIENCE_MS));
	same = named(0, "struct sum", &sum_type, NULL);
	ck_assert_uint_eq(add(&trust, 2), 2);
	ck_assert_uint_eq(add(&same, 2), 4);
	close_all();
}
END_TEST

/* ---- what is refused -------------------------------------------------------------------------------------------------------------- */

#define EXPECT_INVALID(call, words)                                                                                    \
	do {                                                                                                           \
		ck_assert_int_eq((call), WHORL_INVALID);                                                               \
		ck_assert_msg(strstr(whorl_invalid_text(), (words)) != NULL, "%s", whorl_invalid_text());              \
	} while (0)

START_TEST(what_is_refused)
{
	struct whorl_place shard;
	struct whorl_trust trust, other, here;
	unsigned char long_one[20000] = {0};
	struct member *m = &members[0];
	uint64_t n;

	open_all(1, "");
	shard = whorl_at_shard(m->subgroup);
	trust = named(0, "sum", &sum_type, NULL);
	EXPECT_INVALID(whorl_apply(&trust, sum_dice, &(struct add){1}, &n, PATIENCE_MS), "WHORL_DETERMINISTIC");
	EXPECT_INVALID(whorl_launch(&trust, sum_add, &(struct add){1}, &n, PATIENCE_MS), "waits");
	EXPECT_INVALID(whorl_launch_then(&trust, sum_add, &(struct add){1}, NULL, NULL), "waits");
	ck_assert_int_eq(whorl_apply_bytes(&trust, words_say, "a", 1, NULL, NULL, PATIENCE_MS), WHORL_INVALID);
	EXPECT_INVALID(whorl_entrust_named(m->work, shard, "sum", &words_type, NULL, 0, &other, PATIENCE_MS),
		       "another type");
	EXPECT_INVALID(whorl_entrust_named(m->work, shard, "kept", &kept_type, NULL, 0, &other, PATIENCE_MS),
		       "save and load");
	EXPECT_INVALID(whorl_entrust_named(m->work, shard, "", &sum_type, NULL, 0, &other, PATIENCE_MS), "the name");
	EXPECT_INVALID(whorl_entrust_named(m->work, shard, "w", &words_type, &(struct words){0}, sizeof(struct words),
					   &other, PATIENCE_MS),
		       "begins empty");
	EXPECT_INVALID(whorl_entrust_named(m->work, shard, "x", &sum_type, long_one, 3, &other, PATIENCE_MS),
		       "the size");
	other = named(0, "words", &words_type, NULL);
	EXPECT_INVALID(whorl_apply_bytes(&other, words_say, long_one, sizeof(long_one), NULL, NULL, PATIENCE_MS),
		       "longer");
	ck_assert_int_eq(whorl_entrust_named(m->work, whorl_at_shard(whorl_subgroup_find(m->node, "other")), "x",
					     &sum_type, NULL, 0, &other, PATIENCE_MS),
			 WHORL_UNSUPPORTED);
	ck_assert_int_eq(whorl_entrust_named(m->work, at(0), "x", &sum_type, NULL, 0, &other, PATIENCE_MS),
			 WHORL_UNSUPPORTED);
	here = entrust_counter(m->work, 0, 1);
	EXPECT_INVALID(whorl_trust_end(&here, PATIENCE_MS), "no shard");
	EXPECT_INVALID(whorl_trust_reads(&here, WHORL_READS_LOCAL), "no shard");
	EXPECT_INVALID(whorl_trust_reads(&trust, (enum whorl_trust_reads)7), "way to read");
	ck_ok(whorl_trust_drop(&here));
	EXPECT_INVALID(whorl_work_serve(m->work, m->subgroup, 0), "already");
	EXPECT_INVALID(whorl_work_serve(m->work, whorl_subgroup_find(m->node, "other"), 9), "no such worker");
	EXPECT_INVALID(whorl_work_serve(m->work, whorl_subgroup_find(m->node, "other"), 0), "after whorl_start");
	ck_assert_int_eq(whorl_apply(&trust, sum_add, &(struct add){1}, &n, 0), WHORL_TIMEOUT);
	ck_assert_uint_eq(sum_of(&trust, WHORL_READS_ORDERED).n, 0);
	close_all();
}
END_TEST

/* Two programs that do not know the same: the first call decides which of them goes on, and no call of the other runs. */
START_TEST(an_odd_member_fails)
{
	static const struct whorl_function *const fewer[] = {&sum_add};
	static const struct whorl_type *const types[] = {&sum_type};
	const struct whorl_work_options odd = {.size = sizeof(odd),
					       .workers = 1,
					       .functions = fewer,
					       .function_count = 1,
					       .types = types,
					       .type_count = 1};
	struct whorl_trust trust, other;
	char text[256];

	open_all(3, "");
	trust = named(0, "sum", &sum_type, NULL);
	open_with(3, &odd); /* it comes later */
	await(whorl_error(members[3].node, text, sizeof(text)) == WHORL_SYSTEM, (void)0);
	close_member(3);
	ck_assert_uint_eq(add(&trust, 1), 1);
	close_all();

	founders = 3; /* of two none would go on */
	strcat(group, "b");
	open_member(0);
	open_member(2);
	open_with(1, &odd); /* it is there from the beginning */
	trust = named(0, "sum", &sum_type, NULL);
	ck_assert_uint_eq(add(&trust, 1), 1);
	await(whorl_error(members[1].node, text, sizeof(text)) == WHORL_REFUSED, (void)0);
	ck_assert_ptr_nonnull(strstr(text, "know other functions"));
	ck_assert_int_eq(whorl_entrust_named(members[1].work, whorl_at_shard(members[1].subgroup), "sum", &sum_type,
					     NULL, 0, &other, PATIENCE_MS),
			 WHORL_REFUSED);
	close_member(1);
	ck_assert_uint_eq(add(&trust, 1), 2);
	close_all();
}
END_TEST

/* ---- members come, and workers lag -------------------------------------------------------------------------------------------------- */

START_TEST(a_newcomer_has_it)
{
	struct whorl_trust sum, words, there;
	size_t bytes = 8;
	char text[8];

	open_all(2, "");
	sum = named(0, "sum", &sum_type, &(struct sum){10, 0});
	words = named(0, "words", &words_type, NULL);
	ck_ok(whorl_apply_bytes(&words, words_say, "abc", 3, NULL, NULL, PATIENCE_MS));
	ck_assert_uint_eq(add(&sum, 5), 15);
	open_member(2);
	ck_ok(whorl_ready(members[2].node, PATIENCE_MS));
	there = named(2, "sum", &sum_type, NULL);
	ck_assert_uint_eq(there.id, sum.id);
	ck_assert_uint_eq(sum_of(&there, WHORL_READS_LOCAL).n, 15);
	there = named(2, "words", &words_type, NULL);
	ck_ok(whorl_trust_reads(&there, WHORL_READS_LOCAL));
	ck_ok(whorl_apply_bytes(&there, words_all, NULL, 0, text, &bytes, PATIENCE_MS));
	ck_assert_uint_eq(bytes, 3);
	ck_assert_mem_eq(text, "abc", 3);
	close_member(0);
	close_member(1);
	there = named(2, "sum", &sum_type, NULL); /* all that were there before have gone */
	ck_assert_uint_eq(add(&there, 1), 16);
	close_all();
}
END_TEST

/* The workers of the members lag: what is taken over waits, beyond that the loop refuses, and the senders wait. A state that is asked for
 * meanwhile is the one of its place in the order. */
START_TEST(workers_that_lag)
{
	struct whorl_trust sum, there;
	struct sum is;

	open_all(2, "window = 64\n");
	sum = named(0, "sum", &sum_type, NULL);
	atomic_store(&sums_are_held, true);
	for (int i = 0; i < 20000; i++)
		ck_ok(whorl_apply_then(&sum, sum_add, &(struct add){1}, note, NULL));
	open_member(2);
	for (int i = 0; i < 20; i++) {
		(void)whorl_poll(members[0].work, 5);
		ck_assert_int_eq(whorl_ready(members[2].node, 0), WHORL_TIMEOUT);
	}
	ck_assert_int_eq(atomic_load(&answered), 0);
	atomic_store(&sums_are_held, false);
	ck_ok(whorl_ready(members[2].node, PATIENCE_MS));
	await(atomic_load(&answered) == 20000, (void)whorl_poll(members[0].work, 1));
	ck_assert_int_eq(atomic_load(&wrong), 0);
	there = named(2, "sum", &sum_type, NULL);
	is = sum_of(&there, WHORL_READS_LINEARIZABLE);
	ck_assert_uint_eq(is.n, 20000);
	ck_assert_uint_eq(is.adds, 20000);
	close_all();
}
END_TEST

static atomic_int in_doubt, never_sent, ended;

static void note_any(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	(void)answer, (void)bytes, (void)ctx;
	atomic_fetch_add(&ended, 1);
	if (result == WHORL_IN_DOUBT)
		atomic_fetch_add(&in_doubt, 1);
	else if (result == WHORL_NOT_SENDER || result == WHORL_NOT_FOUND)
		atomic_fetch_add(&never_sent, 1);
	else if (result != WHORL_OK)
		atomic_fetch_add(&wrong, 1);
}

#define AT_ONCE 60 /* a fiber makes so many calls before others have their turn */

/* On the worker of the shard: all of them are sent in one pass, before it comes to the first. */
WHORL_FUNCTION(send_at_once, struct whorl_none, struct many, struct whorl_none, 0)
{
	for (uint64_t i = 0; i < args->count; i++)
		ck_ok(whorl_apply_then(&args->trust, sum_add, &(struct add){1}, note_any, NULL));
}

/* Node 0 is in the shard in views of two. */
static enum whorl_role role_of(const struct whorl_view *view, const char *name, uint32_t shard, uint32_t id, void *ctx)
{
	(void)name, (void)shard, (void)ctx;
	return id == 0 && view->member_count > 2 ? WHORL_NO_MEMBER : WHORL_SENDER;
}

/* It is taken out while its worker lags, so that what its loop has refused is dropped: of these calls it is told that they are in doubt, and of those
 * that had not been delivered that they never run. When it comes back it is given what the others have. */
START_TEST(a_member_is_taken_out_of_the_shard)
{
	static const struct whorl_open_options options = {.size = sizeof(options), .layout = role_of};
	enum { CALLS = 2000 };
	struct whorl_trust trust, other;
	struct sum is;

	open_options = &options;
	room = 1;
	open_all(2, "members = function\nwindow = 256\n");
	trust = named(0, "sum", &sum_type, NULL);
	other = named(1, "sum", &sum_type, NULL);
	atomic_store(&sums_are_held, true);
	ck_ok(whorl_spawn(members[0].work, at(1), send_at_once, &((struct many){trust, AT_ONCE}), NULL));
	for (int i = 0; i < CALLS - AT_ONCE; i++)
		ck_ok(whorl_apply_then(&trust, sum_add, &(struct add){1}, note_any, NULL));
	for (int i = 0; i < 60; i++)
		(void)whorl_poll(members[0].work, 5);
	open_member(2); /* it is given the state when the worker of node 1 comes to it */
	await(whorl_subgroup_members(members[0].subgroup, NULL, &(uint32_t){0}) == WHORL_AGAIN,
	      (void)whorl_poll(members[0].work, 1));
	atomic_store(&sums_are_held, false);
	await(atomic_load(&ended) == CALLS, (void)whorl_poll(members[0].work, 1));
	ck_assert_int_eq(atomic_load(&wrong), 0);
	ck_assert_int_gt(atomic_load(&in_doubt), 0);
	ck_assert_int_gt(atomic_load(&never_sent), 0);
	ck_assert_int_eq(whorl_apply(&trust, sum_add, &(struct add){1}, NULL, PATIENCE_MS), WHORL_NOT_FOUND);
	ck_ok(whorl_trust_reads(&trust, WHORL_READS_LOCAL));
	ck_assert_int_eq(whorl_apply(&trust, sum_read, NULL, &is, PATIENCE_MS), WHORL_NOT_FOUND);
	ck_ok(whorl_ready(members[2].node, PATIENCE_MS));
	is = sum_of(&other, WHORL_READS_ORDERED);
	ck_assert_uint_le(is.n, (uint64_t)(CALLS - atomic_load(&never_sent)));
	ck_assert_uint_ge(is.n, (uint64_t)(CALLS - atomic_load(&never_sent) - atomic_load(&in_doubt)));
	close_member(2);
	await(whorl_subgroup_members(members[0].subgroup, NULL, &(uint32_t){0}) == WHORL_OK, (void)0);
	ck_ok(whorl_ready(members[0].node, PATIENCE_MS));
	ck_assert_uint_eq(add(&trust, 1), is.n + 1);
	ck_assert_uint_eq(sum_of(&trust, WHORL_READS_LOCAL).n, is.n + 1);
	close_all();
}
END_TEST

/* There is no view before both are there. What was not sent in time never runs: the name is free. */
START_TEST(what_is_not_sent_in_time)
{
	struct whorl_trust trust;
	enum whorl_result result;

	open_all(0, "");
	founders = 2;
	open_member(0);
	result = whorl_entrust_named(members[0].work, whorl_at_shard(members[0].subgroup), "x", &sum_type, NULL, 0,
				     &trust, 200);
	ck_assert(result == WHORL_TIMEOUT || result == WHORL_IN_DOUBT); /* a worker that has no processor cannot say */
	open_member(1);
	ck_ok(whorl_ready(members[1].node, PATIENCE_MS));
	(void)named(0, "y", &sum_type, NULL);
	(void)named(1, "x", &words_type, NULL);
	close_all();
}
END_TEST

/* In a durable subgroup: a checkpoint waits for a worker that lags, and what lies before it and behind comes back when all have ended. */
START_TEST(all_end_and_come_back)
{
	struct whorl_log_stats log = {.size = sizeof(log)};
	char directory[TEST_PATH_BYTES], command[TEST_PATH_BYTES + 16], text[8];
	struct whorl_trust sum, words;
	size_t bytes = sizeof(text);

	ck_assert_ptr_nonnull(mkdtemp(test_temporary(directory, "shards")));
	snprintf(group_lines, sizeof(group_lines), "log_dir = %s\n", directory);
	open_all(2, "mode = durable\n");
	sum = named(0, "sum", &sum_type, NULL);
	words = named(1, "words", &words_type, NULL);
	ck_ok(whorl_apply_bytes(&words, words_say, "abc", 3, NULL, NULL, PATIENCE_MS));
	atomic_store(&sums_are_held, true);
	for (int i = 0; i < 40; i++)
		ck_ok(whorl_apply_then(&sum, sum_add, &(struct add){1}, note, NULL));
	for (int i = 0; i < 20; i++)
		(void)whorl_poll(members[0].work, 5);
	ck_ok(whorl_checkpoint(members[0].subgroup));
	for (int i = 0; i < 20; i++) { /* the loop begins it in a pass */
		ck_ok(whorl_send(whorl_subgroup_find(members[0].node, "other"), "x", 1, PATIENCE_MS, NULL));
		(void)whorl_poll(members[0].work, 5);
	}
	ck_ok(whorl_log_statistics(members[0].subgroup, &log));
	ck_assert_uint_eq(log.checkpoints, 0);
	atomic_store(&sums_are_held, false);
	await(atomic_load(&answered) == 40, (void)whorl_poll(members[0].work, 1));
	await(whorl_log_statistics(members[0].subgroup, &log) == WHORL_OK && log.checkpoints == 1, (void)0);
	ck_assert_uint_eq(add(&sum, 2), 42);
	close_member(0);
	close_member(1);
	open_member(0);
	open_member(1);
	for (unsigned id = 0; id < 2; id++)
		ck_ok(whorl_ready(members[id].node, PATIENCE_MS));
	sum = named(1, "sum", &sum_type, NULL);
	words = named(0, "words", &words_type, NULL);
	ck_assert_uint_eq(sum_of(&sum, WHORL_READS_ORDERED).n, 42);
	ck_ok(whorl_apply_bytes(&words, words_all, NULL, 0, text, &bytes, PATIENCE_MS));
	ck_assert_uint_eq(bytes, 3);
	close_all();
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Of calls that are under way when the work is closed each ends once; and then the node is a member without a state. */
START_TEST(a_work_is_closed)
{
	struct whorl_trust trust;

	open_all(2, "");
	trust = named(0, "sum", &sum_type, NULL);
	for (int i = 0; i < 1000; i++)
		ck_ok(whorl_apply_then(&trust, sum_add, &(struct add){1}, note, NULL));
	ck_ok(whorl_work_close(members[0].work, 0));
	ck_assert_int_eq(atomic_load(&answered) + atomic_load(&wrong), 1000);
	trust = named(1, "sum", &sum_type, NULL);
	(void)add(&trust, 1);
	ck_ok(whorl_close(members[0].node, PATIENCE_MS));
	members[0] = (struct member){0};
	(void)add(&trust, 1);
	close_all();
}
END_TEST

/* ---------------------------------------------------------------------------------------------------------------------------------- */

Suite *suite(void)
{
	Suite *s = suite_create("shard_trusts");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 200);
	tcase_add_test(tc, the_worker_is_the_one_that_sends);
	tcase_add_test(tc, all_members_have_it);
	tcase_add_test(tc, local_reads_have_what_was_answered_here);
	tcase_add_test(tc, linearizable_reads_have_what_was_answered_anywhere);
	tcase_add_test(tc, many_calls_from_all_threads);
	tcase_add_test(tc, calls_of_one_thread_keep_their_order);
	tcase_add_test(tc, bytes_of_any_length);
	tcase_add_test(tc, it_ends_for_all);
	tcase_add_test(tc, handles_are_not_counted);
	tcase_add_test(tc, a_shard_is_a_place);
	tcase_add_test(tc, what_is_refused);
	tcase_add_test(tc, an_odd_member_fails);
	tcase_add_test(tc, a_newcomer_has_it);
	tcase_add_test(tc, workers_that_lag);
	tcase_add_test(tc, a_member_is_taken_out_of_the_shard);
	tcase_add_test(tc, what_is_not_sent_in_time);
	tcase_add_test(tc, all_end_and_come_back);
	tcase_add_test(tc, a_work_is_closed);
	suite_add_tcase(s, tc);
	return s;
}
