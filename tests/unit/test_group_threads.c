/* test_group_threads.c - random schedules of real threads, for a sanitizer to look at: several threads of each node claim, commit
 * and abort at paces of their own while loops sleep, are borrowed and come late, and nodes close under open claims.
 *
 * A run follows from its seed as far as threads do: which thread does what, and how long each waits before the next step. Half of
 * the runs have one processor, on which threads are interrupted anywhere. What must hold of what has been delivered is checked
 * when all is over: it is what the answers have promised.
 * Labels: threads random
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "tests/unit/own_wait.h"
#include "transport/dice.h"

#define PATIENCE_MS 40000
#define RUNS 16
#define NODES_MOST 3
#define THREADS_MOST 3
#define HELD_MOST 4
#define QUOTA 60 /* claims of a thread */
#define CLAIMS_MOST (THREADS_MOST * QUOTA)

enum fate { UNTOLD, ACCEPTED, ABORTED, REFUSED };

struct member { /* a node of the run */
	struct run *run;
	uint32_t id;
	whorl_node *node;
	whorl_subgroup *subgroup;
	pthread_rwlock_t open; /* read: calls of the node; write: no more of them */
	bool closing;          /* [open] */
	enum whorl_result closed;
	wh_word fates[CLAIMS_MOST]; /* by index: what its program was told */
	wh_word delivered;          /* by its loop, as are the next two */
	uint64_t next[NODES_MOST];
	struct {
		uint32_t sender;
		uint64_t index;
	} order[NODES_MOST * CLAIMS_MOST];
};

struct worker { /* one thread of a node's program, or the one that closes it */
	struct member *member;
	struct wh_dice dice;
	uint64_t quota, pause_us;
	struct whorl_claim held[HELD_MOST];
	uint32_t held_count;
	pthread_t thread;
};

struct run {
	uint32_t nodes, threads;
	bool ordered;
	struct member shard_members[NODES_MOST];
	struct worker workers[NODES_MOST][THREADS_MOST], closers[NODES_MOST];
};

static struct wh_dice of_waits; /* whatever thread rolls it: it is chance that is wanted */
static wh_word rings;           /* loops that a thread has found asleep */

static void (*real_wake)(struct wh_transport *transport);

/* Not at all, for a turn of others, or for so long that loops go to sleep. */
static void pause_a_little(struct wh_dice *dice, uint64_t most_us)
{
	uint64_t ns = wh_dice_below(dice, most_us + 1) * WH_NS_PER_US;

	if (wh_dice_one_in(dice, 3))
		sched_yield();
	else if (ns > 0 && wh_dice_one_in(dice, 2))
		nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* A loop that has lent itself comes late to sleep, and late back. */
static void own_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct wh_dice dice = {wh_mix((uint64_t)wh_env_now(wh_env_system()) ^ of_waits.state)};

	pause_a_little(&dice, 100);
	real_wait(transport, timeout_ns);
	pause_a_little(&dice, 300);
}

static void own_wake(struct wh_transport *transport)
{
	wh_fetch_add(&rings, 1);
	real_wake(transport);
}

static enum whorl_result create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				struct wh_error *err)
{
	enum whorl_result result = create_own_wait(config, ctx, out, err);

	if (result == WHORL_OK && real_wake == NULL) {
		real_wake = own_ops.wake;
		own_ops.wake = own_wake;
	}
	return result;
}

/* ---- what programs do ------------------------------------------------------------------------------------------------------- */

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct member *member = ctx;
	uint64_t at = wh_load_relaxed(&member->delivered), word;

	memcpy(&word, message->data, sizeof(word));
	ck_assert_uint_eq(word, message->index);
	ck_assert_uint_ge(message->index, member->next[message->sender]);
	member->next[message->sender] = message->index + 1;
	member->order[at].sender = message->sender;
	member->order[at].index = message->index;
	wh_store_release(&member->delivered, at + 1);
}

static void finish(struct worker *worker, uint32_t which)
{
	struct whorl_claim claim = worker->held[which];
	bool aborts = wh_dice_one_in(&worker->dice, 6);
	enum whorl_result result;

	worker->held[which] = worker->held[--worker->held_count];
	memcpy(claim.data, &claim.number, sizeof(claim.number));
	result = aborts ? whorl_abort(&claim) : whorl_commit(&claim, sizeof(claim.number));
	ck_assert_msg(result == WHORL_OK || result == WHORL_CLOSED, "%s", whorl_result_text(result));
	ck_assert_uint_eq(wh_exchange(&worker->member->fates[claim.number], aborts               ? ABORTED
									    : result == WHORL_OK ? ACCEPTED
												 : REFUSED),
			  UNTOLD); /* no other thread has had it */
}

/* False: the node is about to close. */
static bool claim_one(struct worker *worker)
{
	struct member *member = worker->member;
	enum whorl_result result;
	bool may;

	pthread_rwlock_rdlock(&member->open);
	may = !member->closing;
	if (may) {
		result = whorl_claim_wait(member->subgroup, sizeof(uint64_t), (int)wh_dice_below(&worker->dice, 3),
					  &worker->held[worker->held_count]);
		ck_assert_msg(result == WHORL_OK || result == WHORL_TIMEOUT || result == WHORL_AGAIN, "%s",
			      whorl_result_text(result));
		worker->held_count += result == WHORL_OK;
		worker->quota -= result == WHORL_OK;
	}
	pthread_rwlock_unlock(&member->open);
	return may;
}

/* What it holds when the node closes it finishes beside that, or when the node has gone. */
static void *work(void *ctx)
{
	struct worker *worker = ctx;
	uint64_t most = wh_dice_between(&worker->dice, 1, HELD_MOST);

	while (worker->quota > 0) {
		pause_a_little(&worker->dice, worker->pause_us);
		if (worker->held_count < most && !claim_one(worker))
			break;
		if (worker->held_count > 0 && (worker->held_count == most || wh_dice_one_in(&worker->dice, 2)))
			finish(worker, (uint32_t)wh_dice_below(&worker->dice, worker->held_count));
	}
	while (worker->held_count > 0) {
		pause_a_little(&worker->dice, worker->pause_us);
		finish(worker, (uint32_t)wh_dice_below(&worker->dice, worker->held_count));
	}
	return NULL;
}

/* It drains, or abandons what is under way. */
static void *close_some_time(void *ctx)
{
	struct worker *closer = ctx;
	struct member *member = closer->member;

	nanosleep(&(struct timespec){.tv_nsec = (long)(wh_dice_below(&closer->dice, 40) * WH_NS_PER_MS)}, NULL);
	pthread_rwlock_wrlock(&member->open);
	member->closing = true;
	pthread_rwlock_unlock(&member->open);
	member->closed = whorl_close(member->node, wh_dice_one_in(&closer->dice, 2) ? PATIENCE_MS : 0);
	return NULL;
}

/* ---- a run ------------------------------------------------------------------------------------------------------------------ */

static void open_shard_member(struct run *run, uint32_t id, int64_t window)
{
	struct member *member = &run->shard_members[id];
	struct wh_group_options group = {.nodes = run->nodes,
					 .start_timeout_ms = PATIENCE_MS,
					 .failure_timeout_ms = PATIENCE_MS,
					 .memory_max = 1 << 30};
	static unsigned runs;

	snprintf(group.name, sizeof(group.name), "threads-%u", id == 0 ? ++runs : runs);
	*member = (struct member){.run = run, .id = id};
	ck_assert_int_eq(pthread_rwlock_init(&member->open, NULL), 0);
	member->node = open_on(create, id, &group, run->ordered ? WH_SUBGROUP_ORDERED : WH_SUBGROUP_UNORDERED, window);
	member->subgroup = whorl_subgroup_find(member->node, "g");
	ck_assert_int_eq(whorl_on_message(member->subgroup, on_message, member), WHORL_OK);
	ck_assert_int_eq(whorl_start(member->node), WHORL_OK);
}

static void begin(struct run *run, struct wh_dice *dice)
{
	int64_t window = (int64_t)wh_dice_between(dice, 1, 12);

	run->nodes = (uint32_t)wh_dice_between(dice, 2, NODES_MOST);
	run->threads = (uint32_t)wh_dice_between(dice, 2, THREADS_MOST);
	run->ordered = !wh_dice_one_in(dice, 4);
	for (uint32_t id = 0; id < run->nodes; id++)
		open_shard_member(run, id, window);
	for (uint32_t id = 0; id < run->nodes; id++)
		ck_assert_int_eq(whorl_ready(run->shard_members[id].node, PATIENCE_MS), WHORL_OK);
	for (uint32_t id = 0; id < run->nodes; id++) {
		for (uint32_t t = 0; t < run->threads; t++) {
			struct worker *worker = &run->workers[id][t];

			*worker = (struct worker){.member = &run->shard_members[id], .quota = QUOTA};
			worker->dice = (struct wh_dice){wh_dice_roll(dice)};
			worker->pause_us = wh_dice_one_in(dice, 2) ? 20 : 600;
			ck_assert_int_eq(pthread_create(&worker->thread, NULL, work, worker), 0);
		}
		run->closers[id] = (struct worker){.member = &run->shard_members[id], .dice = {wh_dice_roll(dice)}};
	}
	for (uint32_t id = 1; id < run->nodes; id++)
		ck_assert_int_eq(pthread_create(&run->closers[id].thread, NULL, close_some_time, &run->closers[id]), 0);
}

/* Node 0 stays to the end, and then drains. */
static void end(struct run *run)
{
	for (uint32_t id = 0; id < run->nodes; id++)
		for (uint32_t t = 0; t < run->threads; t++)
			pthread_join(run->workers[id][t].thread, NULL);
	for (uint32_t id = 1; id < run->nodes; id++)
		pthread_join(run->closers[id].thread, NULL);
	run->shard_members[0].closed = whorl_close(run->shard_members[0].node, PATIENCE_MS);
	ck_assert_int_eq(run->shard_members[0].closed, WHORL_OK);
	for (uint32_t id = 0; id < run->nodes; id++)
		pthread_rwlock_destroy(&run->shard_members[id].open);
}

/* Of each sender what was accepted, in its order, and nothing else; all of it if that drained and was told so. */
static void check_sender(const struct run *run, uint32_t sender)
{
	const struct member *from = &run->shard_members[sender], *last = &run->shard_members[0];
	uint64_t next = 0, count = wh_load_acquire(&last->delivered);

	for (uint64_t at = 0; at < count; at++) {
		uint64_t index = last->order[at].index;

		if (last->order[at].sender != sender)
			continue;
		for (; next < index; next++)
			ck_assert_msg(wh_load_acquire(&from->fates[next]) != ACCEPTED,
				      "message %" PRIu64 " of node %u was accepted, and a later one is delivered", next,
				      sender);
		ck_assert_msg(wh_load_acquire(&from->fates[index]) == ACCEPTED,
			      "message %" PRIu64 " of node %u is delivered, and was refused or aborted", index, sender);
		next = index + 1;
	}
	for (; from->closed == WHORL_OK && next < CLAIMS_MOST; next++)
		ck_assert_msg(wh_load_acquire(&from->fates[next]) != ACCEPTED,
			      "message %" PRIu64 " of node %u, which has drained, is not delivered", next, sender);
}

/* A node that has left has delivered the beginning of what the last node has. */
static void check_order(const struct run *run, uint32_t id)
{
	const struct member *member = &run->shard_members[id], *last = &run->shard_members[0];
	uint64_t count = wh_load_acquire(&member->delivered);

	ck_assert_uint_le(count, wh_load_acquire(&last->delivered));
	for (uint64_t at = 0; at < count; at++) {
		ck_assert_uint_eq(member->order[at].sender, last->order[at].sender);
		ck_assert_uint_eq(member->order[at].index, last->order[at].index);
	}
}

static void play(uint64_t seed)
{
	static struct run run;
	struct wh_dice dice = {seed};
	cpu_set_t all, one;

	of_waits = (struct wh_dice){seed};
	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	if (wh_dice_one_in(&dice, 2))
		ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	begin(&run, &dice);
	end(&run);
	for (uint32_t id = 0; id < run.nodes; id++)
		check_sender(&run, id);
	for (uint32_t id = 1; id < run.nodes && run.ordered; id++)
		check_order(&run, id);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
}

TEST_CASE("threads", .timeout_s = 60);

TEST(threads_at_random)
{
	struct wh_dice dice = {test_seed(1)};

	wh_store_relaxed(&rings, 0);
	for (int i = 0; i < RUNS; i++) {
		uint64_t seed = wh_dice_roll(&dice);

		printf("run %d, seed %" PRIu64 "\n", i, seed);
		fflush(stdout);
		play(seed);
	}
	ck_assert_uint_gt(wh_load_relaxed(&rings), 0);
}

TEST_SUITE("group_threads")
