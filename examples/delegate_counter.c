/* delegate_counter.c - a counter that its owner counts: four threads and four fibers add to it, without a lock. */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <whorl/delegate.h>

#define ADDS 10000

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

/* A plain thread waits for each. */
static void *add_in_thread(void *ctx)
{
	struct whorl_trust *trust = ctx;
	uint64_t n;

	for (int i = 0; i < ADDS; i++)
		if (whorl_apply(trust, counter_add, &(struct add){1}, &n, 10000) != WHORL_OK)
			errx(1, "a call has no answer");
	return NULL;
}

static void count_answer(enum whorl_result result, const void *answer, size_t bytes, void *ctx)
{
	uint64_t *answers = ctx;

	(void)answer, (void)bytes;
	if (result != WHORL_OK)
		errx(1, "a call has ended as: %s", whorl_result_text(result));
	++*answers;
}

/* A fiber: it sends many, and waits for their answers now and then. What it gets is a value: the trust may be in it. */
struct job {
	struct whorl_trust trust;
};

WHORL_FUNCTION(add_in_fiber, struct whorl_none, struct job, uint64_t, 0)
{
	struct whorl_trust trust = args->trust;
	uint64_t answers = 0;

	for (uint64_t sent = 1; sent <= ADDS; sent++) {
		if (whorl_apply_then(&trust, counter_add, &(struct add){1}, count_answer, &answers) != WHORL_OK)
			errx(1, "a call is not taken");
		while (sent - answers >= 64)
			if (whorl_poll(trust.work, 10000) != WHORL_OK)
				errx(1, "no answer comes");
	}
	while (answers < ADDS)
		if (whorl_poll(trust.work, 10000) != WHORL_OK)
			errx(1, "no answer comes");
	if (whorl_trust_drop(&trust) != WHORL_OK)
		errx(1, "the trust is not this fiber's");
	*result = answers;
}

int main(void)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};
	struct whorl_join joins[4];
	struct whorl_trust trust;
	pthread_t threads[4];
	whorl_work *work;
	uint64_t n, sum = 0;

	if (whorl_work_open(NULL, &options, &work) != WHORL_OK)
		errx(1, "workers: %s", whorl_invalid_text());
	if (whorl_entrust(work, whorl_at_any(), &counter_type, NULL, 0, &trust, 1000) != WHORL_OK)
		errx(1, "entrust: %s", whorl_invalid_text());
	for (uint32_t i = 0; i < 4; i++) {
		struct whorl_place place = whorl_at_worker(WHORL_NODE_HERE, i % 2);
		struct job job;

		/* Each fiber has a handle of its own, which belongs to its worker. */
		if (whorl_trust_clone(&trust, &job.trust) != WHORL_OK ||
		    whorl_trust_send(&job.trust, place) != WHORL_OK ||
		    whorl_spawn(work, place, add_in_fiber, &job, &joins[i]) != WHORL_OK)
			errx(1, "no fiber");
		if (pthread_create(&threads[i], NULL, add_in_thread, &trust) != 0)
			errx(1, "no thread");
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		if (whorl_join(&joins[i], &n, sizeof(n), 60000) != WHORL_OK)
			errx(1, "a fiber does not end");
		sum += n;
	}
	if (whorl_apply(&trust, counter_add, &(struct add){0}, &n, 10000) != WHORL_OK)
		errx(1, "no answer");
	printf("fibers: %llu answers; the counter is at %llu\n", (unsigned long long)sum, (unsigned long long)n);
	if (whorl_trust_drop(&trust) != WHORL_OK || whorl_work_close(work, 10000) != WHORL_OK)
		errx(1, "close");
	return 0;
}
