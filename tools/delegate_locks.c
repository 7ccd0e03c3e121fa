/* delegate_locks.c - the ways of fetch-add without delegation. Each object has a line of its own, and within what guards it the thread
 * pauses for one instruction, as is customary for this measurement. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tools/delegate.h"

#if WH_HAVE_MCS
#include <ck_spinlock.h>
#endif

#define LINE 128 /* two cache lines: processors fetch them in pairs */

static void *lines(size_t count, size_t bytes)
{
	void *memory = aligned_alloc(LINE, count * bytes);

	if (memory == NULL)
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
	else
		memset(memory, 0, count * bytes);
	return memory;
}

static void free_objects(struct wh_fetch *fetch)
{
	free(fetch->objects);
	fetch->objects = NULL;
}

static uint64_t add_one(uint64_t *n)
{
	wh_cpu_relax();
	return (*n)++;
}

/* ---- mutex ------------------------------------------------------------------------------------------------------------------- */

struct guarded {
	_Alignas(LINE) pthread_mutex_t lock;
	uint64_t n;
};

static bool open_mutex(struct wh_fetch *fetch)
{
	struct guarded *objects = lines(fetch->delegate->objects, sizeof *objects);

	for (uint32_t i = 0; objects != NULL && i < fetch->delegate->objects; i++)
		pthread_mutex_init(&objects[i].lock, NULL);
	fetch->objects = objects;
	return objects != NULL;
}

static uint64_t add_mutex(struct wh_fetch_thread *thread, uint32_t object)
{
	struct guarded *it = &((struct guarded *)thread->fetch->objects)[object];
	uint64_t before;

	pthread_mutex_lock(&it->lock);
	before = add_one(&it->n);
	pthread_mutex_unlock(&it->lock);
	return before;
}

static void run_mutex(struct wh_fetch_thread *thread)
{
	wh_fetch_each(thread, add_mutex);
}

static uint64_t sum_mutex(struct wh_fetch *fetch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < fetch->delegate->objects; i++)
		sum += ((struct guarded *)fetch->objects)[i].n;
	return sum;
}

static void close_mutex(struct wh_fetch *fetch)
{
	for (uint32_t i = 0; i < fetch->delegate->objects; i++)
		pthread_mutex_destroy(&((struct guarded *)fetch->objects)[i].lock);
	free_objects(fetch);
}

const struct wh_way wh_way_mutex = {"mutex", "pthread_mutex", NULL, open_mutex, run_mutex, sum_mutex, close_mutex};

/* ---- spin ------------------------------------------------------------------------------------------------------------------- */

struct spun {
	_Alignas(LINE) pthread_spinlock_t lock;
	uint64_t n;
};

static bool open_spin(struct wh_fetch *fetch)
{
	struct spun *objects = lines(fetch->delegate->objects, sizeof *objects);

	for (uint32_t i = 0; objects != NULL && i < fetch->delegate->objects; i++)
		pthread_spin_init(&objects[i].lock, PTHREAD_PROCESS_PRIVATE);
	fetch->objects = objects;
	return objects != NULL;
}

static uint64_t add_spin(struct wh_fetch_thread *thread, uint32_t object)
{
	struct spun *it = &((struct spun *)thread->fetch->objects)[object];
	uint64_t before;

	pthread_spin_lock(&it->lock);
	before = add_one(&it->n);
	pthread_spin_unlock(&it->lock);
	return before;
}

static void run_spin(struct wh_fetch_thread *thread)
{
	wh_fetch_each(thread, add_spin);
}

static uint64_t sum_spin(struct wh_fetch *fetch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < fetch->delegate->objects; i++)
		sum += ((struct spun *)fetch->objects)[i].n;
	return sum;
}

static void close_spin(struct wh_fetch *fetch)
{
	for (uint32_t i = 0; i < fetch->delegate->objects; i++)
		pthread_spin_destroy(&((struct spun *)fetch->objects)[i].lock);
	free_objects(fetch);
}

const struct wh_way wh_way_spin = {"spin", "pthread_spinlock", NULL, open_spin, run_spin, sum_spin, close_spin};

/* ---- MCS: a queue of those that wait, each on a line of its own -------------------------------------------------------------- */

#if WH_HAVE_MCS
struct queued {
	_Alignas(LINE) ck_spinlock_mcs_t lock;
	uint64_t n;
};

static bool open_mcs(struct wh_fetch *fetch)
{
	struct queued *objects = lines(fetch->delegate->objects, sizeof *objects);

	for (uint32_t i = 0; objects != NULL && i < fetch->delegate->objects; i++)
		ck_spinlock_mcs_init(&objects[i].lock);
	fetch->objects = objects;
	return objects != NULL;
}

static uint64_t add_mcs(struct wh_fetch_thread *thread, uint32_t object)
{
	struct queued *it = &((struct queued *)thread->fetch->objects)[object];
	_Alignas(LINE) ck_spinlock_mcs_context_t place;
	uint64_t before;

	ck_spinlock_mcs_lock(&it->lock, &place);
	before = add_one(&it->n);
	ck_spinlock_mcs_unlock(&it->lock, &place);
	return before;
}

static void run_mcs(struct wh_fetch_thread *thread)
{
	wh_fetch_each(thread, add_mcs);
}

static uint64_t sum_mcs(struct wh_fetch *fetch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < fetch->delegate->objects; i++)
		sum += ((struct queued *)fetch->objects)[i].n;
	return sum;
}

const struct wh_way wh_way_mcs = {"mcs",       "the MCS lock of Concurrency Kit", NULL, open_mcs, run_mcs, sum_mcs,
				  free_objects};
#else
const struct wh_way wh_way_mcs = {
	"mcs",
	"the MCS lock of Concurrency Kit",
	"this whorl was built without libck-dev, or for ThreadSanitizer, which does not know it",
	NULL,
	NULL,
	NULL,
	NULL};
#endif

/* ---- combining: a queue in which the first serves the others (Fatourou and Kallimanis 2012)---------------------------------------- */

#define COMBINED_MOST 64 /* that one thread serves before it hands on */
#define SPINS 100        /* before a thread that waits gives its processor away */

enum { WAITS, LEADS, SERVED };

struct combine_node {
	_Alignas(LINE) wh_word next; /* the node behind; 0: none yet */
	wh_word state;               /* of the request that is in it */
	uint64_t before;             /* its result */
};

struct combined {
	_Alignas(LINE) wh_word tail; /* the node that is free for the next request */
	_Alignas(LINE) uint64_t n;
};

struct combining {
	struct combined *objects;
	struct combine_node *nodes; /* one for each object, and one for each thread, which has it as its own */
};

static void close_combine(struct wh_fetch *fetch)
{
	struct combining *all = fetch->objects;

	if (all == NULL)
		return;
	free(all->objects);
	free(all->nodes);
	free_objects(fetch);
}

static bool open_combine(struct wh_fetch *fetch)
{
	uint32_t objects = fetch->delegate->objects, threads = fetch->delegate->threads;
	struct combining *all = lines(1, LINE);

	fetch->objects = all;
	if (all == NULL)
		return false;
	all->objects = lines(objects, sizeof *all->objects);
	all->nodes = lines((size_t)objects + threads, sizeof *all->nodes);
	if (all->objects == NULL || all->nodes == NULL) {
		close_combine(fetch);
		return false;
	}
	for (uint32_t i = 0; i < objects; i++) {
		wh_store_relaxed(&all->nodes[i].state, LEADS); /* the first that comes */
		wh_store_relaxed(&all->objects[i].tail, (uintptr_t)&all->nodes[i]);
	}
	return true;
}

static uint64_t await_turn(const struct combine_node *mine)
{
	uint64_t state;

	for (uint32_t spins = 1; (state = wh_load_acquire(&mine->state)) == WAITS; spins++) /* partner: lead */
		if (spins % SPINS == 0)
			sched_yield();
		else
			wh_cpu_relax();
	return state;
}

/* Serves from its own node on, until there is no request any more; the next node's thread leads then, when it comes, or now. */
static void lead(struct combined *object, struct combine_node *node)
{
	struct combine_node *next;

	for (int served = 0; served < COMBINED_MOST; served++) {
		next = (struct combine_node *)(uintptr_t)wh_load_acquire(&node->next); /* partner: add_combine */
		if (next == NULL)
			break;
		node->before = add_one(&object->n);
		wh_store_release(&node->state, SERVED); /* partner: await_turn */
		node = next;
	}
	wh_store_release(&node->state, LEADS); /* partner: await_turn */
}

static uint64_t add_combine(struct wh_fetch_thread *thread, uint32_t object)
{
	struct combining *all = thread->fetch->objects;
	struct combined *it = &all->objects[object];
	struct combine_node *free_next = thread->own, *mine;

	wh_store_relaxed(&free_next->next, 0);
	wh_store_relaxed(&free_next->state, WAITS);
	mine = (struct combine_node *)(uintptr_t)wh_exchange(&it->tail, (uintptr_t)free_next);
	wh_store_release(&mine->next, (uintptr_t)free_next); /* partner: lead */
	thread->own = mine;
	if (await_turn(mine) == LEADS)
		lead(it, mine);
	return mine->before;
}

static void run_combine(struct wh_fetch_thread *thread)
{
	struct combining *all = thread->fetch->objects;

	thread->own = &all->nodes[thread->fetch->delegate->objects + thread->number];
	wh_fetch_each(thread, add_combine);
}

static uint64_t sum_combine(struct wh_fetch *fetch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < fetch->delegate->objects; i++)
		sum += ((struct combining *)fetch->objects)->objects[i].n;
	return sum;
}

const struct wh_way wh_way_combine = {
	"combine",    "a queue whose first thread serves the others", NULL, open_combine, run_combine, sum_combine,
	close_combine};

/* ---- an atomic instruction --------------------------------------------------------------------------------------------------- */

struct atom {
	_Alignas(LINE) wh_word n;
};

static bool open_atomic(struct wh_fetch *fetch)
{
	fetch->objects = lines(fetch->delegate->objects, sizeof(struct atom));
	return fetch->objects != NULL;
}

static uint64_t add_atomic(struct wh_fetch_thread *thread, uint32_t object)
{
	wh_cpu_relax();
	return wh_fetch_add(&((struct atom *)thread->fetch->objects)[object].n, 1);
}

static void run_atomic(struct wh_fetch_thread *thread)
{
	wh_fetch_each(thread, add_atomic);
}

static uint64_t sum_atomic(struct wh_fetch *fetch)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < fetch->delegate->objects; i++)
		sum += wh_load_relaxed(&((struct atom *)fetch->objects)[i].n);
	return sum;
}

const struct wh_way wh_way_atomic = {
	"atomic", "fetch_add of the processor", NULL, open_atomic, run_atomic, sum_atomic, free_objects};
