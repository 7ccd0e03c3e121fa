/* delegate_job.c - a job: the same program on one node or on twenty.
 *
 *     delegate_job                                      this process alone
 *     whorl launch group.ini -- delegate_job            one process for each node of the file
 *
 * The oldest member leads. It spawns fibers at all workers of all nodes, in turn; each has a handle of one trust, that of a counter at the
 * leader, and counts there. The leader joins the fibers and prints the sum. The others run what comes to them until they are told that
 * the job is done. (If one dies meanwhile, `whorl launch` ends them all.)
 */
#include <err.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <whorl/delegate.h>

#define FIBERS 24
#define ADDS 1000
#define PATIENCE_MS 60000
#define MEMBERS 256

/* ---- what is delegated -------------------------------------------------------------------------------------------------------- */

struct counter {
	uint64_t n;
};

struct add {
	uint64_t by;
};

static WHORL_TYPE(counter_type, struct counter, NULL);

WHORL_FUNCTION(counter_add, struct counter, struct add, uint64_t, WHORL_DETERMINISTIC)
{
	property->n += args->by;
	*result = property->n;
}

/* A fiber, at whichever worker of whichever node: the handle in its arguments is its own. Its result is the node. */
struct task {
	struct whorl_trust trust;
};

WHORL_FUNCTION(count_some, struct whorl_none, struct task, uint32_t, 0)
{
	struct whorl_trust trust = args->trust;
	struct whorl_place here;
	uint64_t n;

	if (whorl_work_here(&here) == NULL)
		errx(1, "this is no fiber");
	for (int i = 0; i < ADDS; i++)
		if (whorl_apply(&trust, counter_add, &(struct add){1}, &n, PATIENCE_MS) != WHORL_OK)
			errx(1, "a call has no answer");
	if (whorl_trust_drop(&trust) != WHORL_OK)
		errx(1, "drop: %s", whorl_invalid_text());
	*result = here.node;
}

static atomic_bool is_done; /* the one word that a node shares with its fibers */

WHORL_FUNCTION(end_job, struct whorl_none, struct whorl_none, struct whorl_none, 0)
{
	atomic_store(&is_done, true);
}

/* ---- coming in ---------------------------------------------------------------------------------------------------------------- */

/* The node that the launcher has started this process for; NULL: nothing has. */
static whorl_node *open_node(void)
{
	whorl_config *config = whorl_config_new();
	whorl_node *node = NULL;
	enum whorl_result result;
	uint32_t id;

	result = whorl_launched(config, &id);
	if (result == WHORL_OK)
		result = whorl_open(config, id, NULL, &node);
	if (result != WHORL_OK && result != WHORL_NOT_FOUND)
		errx(1, "%s", whorl_config_error(config));
	whorl_config_free(config);
	if (node != NULL && (whorl_start(node) != WHORL_OK || whorl_ready(node, PATIENCE_MS) != WHORL_OK))
		errx(1, "the group does not come together");
	return node;
}

static uint32_t oldest_member(const whorl_node *node)
{
	uint32_t ids[MEMBERS], count = MEMBERS;

	if (whorl_view_members(node, NULL, ids, &count) != WHORL_OK)
		errx(1, "no view");
	return ids[0];
}

/* ---- the two sides ------------------------------------------------------------------------------------------------------------ */

static void tell_others(whorl_work *work, const whorl_node *node)
{
	uint32_t ids[MEMBERS], count = MEMBERS;
	struct whorl_join join;

	if (node == NULL)
		return;
	if (whorl_view_members(node, NULL, ids, &count) != WHORL_OK)
		errx(1, "no view");
	for (uint32_t i = 0; i < count; i++) {
		enum whorl_result result;

		if (ids[i] == whorl_node_id(node))
			continue;
		result = whorl_spawn(work, whorl_at_worker(ids[i], WHORL_WORKER_ANY), end_job, NULL, &join);
		if (result != WHORL_OK)
			errx(1, "node %u cannot be told: %s", (unsigned)ids[i], whorl_result_text(result));
		result = whorl_join(&join, NULL, 0, PATIENCE_MS);
		if (result != WHORL_OK && result != WHORL_IN_DOUBT) /* it may end before its answer is here */
			errx(1, "node %u does not answer: %s", (unsigned)ids[i], whorl_result_text(result));
	}
}

static void lead(whorl_work *work, const whorl_node *node)
{
	struct whorl_join joins[FIBERS];
	struct whorl_trust trust;
	uint32_t at, nodes = 0;
	bool seen[MEMBERS] = {false};
	uint64_t n;

	if (whorl_entrust(work, whorl_at_any(), &counter_type, NULL, 0, &trust, PATIENCE_MS) != WHORL_OK)
		errx(1, "entrust: %s", whorl_invalid_text());
	for (int i = 0; i < FIBERS; i++) {
		struct whorl_place place = whorl_at_any_node();
		struct task task;

		/* The handle is sent where the fiber will be. */
		if (whorl_place_choose(work, &place) != WHORL_OK ||
		    whorl_trust_clone(&trust, &task.trust) != WHORL_OK ||
		    whorl_trust_send(&task.trust, place) != WHORL_OK ||
		    whorl_spawn(work, place, count_some, &task, &joins[i]) != WHORL_OK)
			errx(1, "no fiber");
	}
	for (int i = 0; i < FIBERS; i++) {
		enum whorl_result result = whorl_join(&joins[i], &at, sizeof(at), PATIENCE_MS);

		if (result != WHORL_OK)
			errx(1, "a fiber has not ended: %s (%s)", whorl_result_text(result), whorl_invalid_text());
		at = at < MEMBERS ? at : 0; /* alone there are no ids */
		nodes += !seen[at];
		seen[at] = true;
	}
	if (whorl_apply(&trust, counter_add, &(struct add){0}, &n, PATIENCE_MS) != WHORL_OK)
		errx(1, "no answer");
	printf("%d fibers on %u node%s: the sum is %llu\n", FIBERS, (unsigned)nodes, nodes == 1 ? "" : "s",
	       (unsigned long long)n);
	if (whorl_trust_drop(&trust) != WHORL_OK)
		errx(1, "drop: %s", whorl_invalid_text());
	tell_others(work, node);
}

/* Its workers run what comes. */
static void serve(const whorl_node *node)
{
	const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
	char text[256];

	while (!atomic_load(&is_done)) {
		if (whorl_error(node, text, sizeof(text)) != WHORL_OK)
			errx(1, "%s", text);
		nanosleep(&pause, NULL);
	}
}

int main(void)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};
	whorl_node *node = open_node();
	whorl_work *work;

	if (whorl_work_open(node, &options, &work) != WHORL_OK)
		errx(1, "workers: %s", whorl_invalid_text());
	if (whorl_work_ready(work, PATIENCE_MS) != WHORL_OK)
		errx(1, "the workers of a node do not come");
	if (node == NULL || whorl_node_id(node) == oldest_member(node))
		lead(work, node);
	else
		serve(node);
	if (whorl_work_close(work, PATIENCE_MS) != WHORL_OK)
		errx(1, "close");
	if (node != NULL)
		whorl_close(node, 10000);
	return 0;
}
