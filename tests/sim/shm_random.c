/* shm_random.c - the same random combinations on shared memory, with real threads and processes: shm-random; see
 * runner.h.
 *
 * The nodes of a run live in one process or in several. Some have a thread of their own, others are stepped by one of
 * ours: turn by turn, by whorl_wait, or by poll on whorl_fd. On each node a few threads share all its streams; they
 * claim several slots at a time, and commit or abort them in any order. Each node records what it delivers in memory
 * that all processes see. When all is delivered everywhere the records are checked:
 *
 *     order     all members of an ordered subgroup have delivered the same sequence
 *     fifo      of each sender every committed message, once, in the order of its claims
 *     payload   as it was committed, looked at in the upcall
 */
#include "tests/sim/shm_play.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/runner.h"
#include "transport/dice.h"

/* ---- the records ---------------------------------------------------------------------------------------------------------- */

/* Of each sender the committed messages, in order and whole; and as many as there are. */
static void check_fifo(struct stage *stage, uint32_t g, uint32_t member)
{
	const struct subgroup *subgroup = &stage->subgroups[g];
	const struct record *record = &subgroup->records[member];
	uint32_t senders = stage->plan->subgroups[g].sender_count;
	uint64_t *next = wh_plan_alloc(senders, sizeof(*next));

	for (uint64_t k = 0; k < record->count && !shm_failed(stage); k++) {
		const struct delivery *d = &record->deliveries[k];
		const struct stream *stream = d->sender < senders ? &subgroup->streams[d->sender] : NULL;

		while (stream != NULL && next[d->sender] < stream->quota && stream->sent[next[d->sender]].aborted)
			next[d->sender]++;
		if (stream == NULL || d->index != next[d->sender] || d->index >= stream->quota)
			shm_fail(stage,
				 "fifo: member %u of g%u delivers message %" PRIu64 " of sender %u as number %" PRIu64,
				 member, g, d->index, d->sender, k);
		else if (!d->whole || d->bytes != stream->sent[d->index].bytes)
			shm_fail(stage, "payload: member %u of g%u: message %" PRIu64 " of sender %u", member, g,
				 d->index, d->sender);
		else
			next[d->sender]++;
	}
	for (uint32_t s = 0; s < senders && !shm_failed(stage); s++)
		while (next[s] < subgroup->streams[s].quota)
			if (!subgroup->streams[s].sent[next[s]++].aborted)
				shm_fail(stage, "fifo: member %u of g%u lacks messages of sender %u", member, g, s);
	free(next);
}

static void check_order(struct stage *stage, uint32_t g, uint32_t member)
{
	const struct record *record = &stage->subgroups[g].records[member], *first = &stage->subgroups[g].records[0];

	for (uint64_t k = 0; k < record->count && !shm_failed(stage); k++) {
		const struct delivery *d = &record->deliveries[k];

		if (k > 0 && d->sequence <= d[-1].sequence)
			shm_fail(stage, "order: member %u of g%u delivers number %" PRIu64 " after %" PRIu64, member, g,
				 d->sequence, d[-1].sequence);
		if (d->sequence != first->deliveries[k].sequence || d->sender != first->deliveries[k].sender)
			shm_fail(stage, "order: members %u and 0 of g%u differ in their delivery %" PRIu64, member, g,
				 k);
	}
}

static void check_records(struct stage *stage)
{
	for (uint32_t g = 0; g < stage->plan->config.subgroup_count; g++)
		for (uint32_t m = 0; m < stage->plan->subgroups[g].member_count && !shm_failed(stage); m++) {
			check_fifo(stage, g, m);
			if (stage->plan->subgroups[g].ordered)
				check_order(stage, g, m);
		}
}

/* ---- a run ---------------------------------------------------------------------------------------------------------------- */

static void *share(struct stage *stage, size_t count, size_t bytes)
{
	void *memory = stage->memory + stage->used;

	stage->used += (count * bytes + 63) / 64 * 64;
	if (stage->used > stage->bytes) {
		fprintf(stderr, "no memory for a run\n");
		exit(2);
	}
	return memory;
}

static void make_circle(struct stage *stage, uint32_t g, struct wh_dice *dice)
{
	const struct wh_plan_subgroup *planned = &stage->plan->subgroups[g];
	struct subgroup *subgroup = &stage->subgroups[g];
	uint64_t capacity = 0;

	subgroup->streams = share(stage, planned->sender_count, sizeof(*subgroup->streams));
	subgroup->records = share(stage, planned->member_count, sizeof(*subgroup->records));
	for (uint32_t s = 0; s < planned->sender_count; s++) {
		struct stream *stream = &subgroup->streams[s];

		stream->quota =
			planned->even ? planned->messages : (uint32_t)wh_dice_below(dice, planned->messages + 1);
		stream->sent = share(stage, stream->quota, sizeof(*stream->sent));
		capacity += stream->quota;
	}
	for (uint32_t m = 0; m < planned->member_count; m++) {
		subgroup->records[m].capacity = capacity;
		subgroup->records[m].deliveries = share(stage, capacity, sizeof(struct delivery));
	}
}

static struct stage *make_stage(const struct wh_plan *plan, struct wh_dice *dice)
{
	const size_t bytes = 256 << 20;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct stage *stage = memory;

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	*stage =
		(struct stage){.plan = plan, .memory = memory, .used = (sizeof(*stage) + 63) / 64 * 64, .bytes = bytes};
	stage->processes = 1;
#if !WH_TSAN /* it sees nothing across processes */
	if (!wh_dice_one_in(dice, 2))
		stage->processes = (uint32_t)wh_dice_between(dice, 1, node_count(stage) < 4 ? node_count(stage) : 4);
#endif
	stage->subgroups = share(stage, plan->config.subgroup_count, sizeof(*stage->subgroups));
	for (uint32_t g = 0; g < plan->config.subgroup_count; g++)
		make_circle(stage, g, dice);
	return stage;
}

static bool run(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	bool words = seed % 2 == 0;
#if WH_TSAN
	const struct wh_plan_limits limits = {.nodes = 5,
					      .rows_bytes = 8 << 20,
					      .deliveries = 1500,
					      .data_bytes = 1 << 20,
					      .all_progress = true,
					      .words = words};
#else
	const struct wh_plan_limits limits = {.nodes = 16,
					      .rows_bytes = 64 << 20,
					      .deliveries = 20000,
					      .data_bytes = 32 << 20,
					      .all_progress = true,
					      .words = words};
#endif
	struct wh_dice dice = wh_dice_split(seed, 300);
	struct stage *stage;
	struct wh_plan plan;
	bool good;

	wh_plan_make(&plan, seed, &limits);
	plan.config.group.transport = WH_TRANSPORT_SHM;
	plan.config.group.failure_timeout_ms = PATIENCE_MS;
	snprintf(plan.config.group.name, sizeof(plan.config.group.name), "shm-random-%d-%" PRIu64, (int)getpid(), seed);
	stage = make_stage(&plan, &dice);
	if (verbose) {
		printf("seed %" PRIu64 ", %u processes: ", seed, stage->processes);
		wh_plan_print(&plan, stdout);
		fflush(stdout);
	}
	shm_perform(stage);
	if (!shm_failed(stage))
		check_records(stage);
	good = !shm_failed(stage);
	if (!good) {
		snprintf(verdict, verdict_bytes, "%s", stage->verdict);
		printf("%u processes: ", stage->processes);
		wh_plan_print(&plan, stdout);
	}
	munmap(stage->memory, stage->bytes);
	wh_plan_free(&plan);
	return good;
}

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 30, run);
}
