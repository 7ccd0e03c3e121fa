/* jobs.c - what takes long and is done off the loop: making memory present, and giving it back.
 *
 * A view's row is a new memory file, or one that no node reads any more (returns.c): never one that a removed node may still read.
 * To give a file of many megabytes its pages takes milliseconds, which the loop does not have when views change; so the
 * row of the next view is prepared while nothing happens. It is as large as the last, or as the one before if that was a little larger:
 * a member that rests and sends again needs the same as before. If the next view needs more, or
 * comes before it is made, image_open makes one itself, and takes the time. A view with more members has a little larger columns,
 * so a large row has a little more than it needs: a newcomer costs no new one.
 */
#include "transport/shm/shm_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SPARE_AFTER_NS (20 * WH_NS_PER_MS) /* images are left alone: the change of views is over, or makes a pause */
#define SPARE_LAST_NS                                                                                                  \
	(100 * WH_NS_PER_MS)      /* a row that comes back is waited for so long: others are slow to close views */
#define PIECE (UINT64_C(1) << 20) /* bytes that are zeroed between looks whether to stop */
#define WAITED_FOR (UINT64_C(16) << 20)      /* bytes of a row: to make so many takes longer than the pause above */
#define SLACK (UINT64_C(64) << 10)           /* bytes that a large spare has more */
#define DISCARD_OFF_LOOP (UINT64_C(1) << 20) /* bytes; a thread is cheaper than to unmap so many */
#define JOBS_END_NS (5 * WH_NS_PER_S)
#define JOBS_POLL_NS (100 * WH_NS_PER_US)

/* ---- the end of jobs ---------------------------------------------------------------------------------------------- */

struct wh_shm_jobs *wh_shm_jobs_new(int huge_pages)
{
	struct wh_shm_jobs *jobs = calloc(1, sizeof(*jobs));

	if (jobs == NULL)
		return NULL;
	wh_store_relaxed(&jobs->users, 1);
	jobs->memory.fd = jobs->returned.fd = -1;
	jobs->wish = (struct wh_shm_wish){.name = "whorl-row", .huge_pages = huge_pages, .stop = &jobs->stop};
	jobs->pid = getpid();
	return jobs;
}

/* The last one frees it. */
static void let_go(struct wh_shm_jobs *jobs)
{
	if (wh_fetch_add(&jobs->users, (uint64_t)-1) != 1)
		return;
	wh_shm_memory_free(&jobs->memory);
	wh_shm_memory_free(&jobs->returned);
	free(jobs);
}

/* A forked child has a copy of all this as it was, half-made memory too, and none of the threads. */
void wh_shm_jobs_free(const struct wh_env *env, struct wh_shm_jobs *jobs)
{
	const struct timespec poll = {.tv_nsec = (long)JOBS_POLL_NS};
	uint64_t deadline = wh_env_now(env) + JOBS_END_NS;

	if (jobs->pid != getpid())
		wh_store_relaxed(&jobs->users, 1);
	wh_store_relaxed(&jobs->stop, 1); /* partner: make_present */
	while (wh_load_acquire(&jobs->users) > 1 && wh_env_now(env) < deadline)
		nanosleep(&poll, NULL);
	let_go(jobs);
}

static void submit(const struct wh_shm *t, void (*job)(void *argument), void *argument)
{
	wh_fetch_add(&t->jobs->users, 1);
	t->env->submit(t->env->ctx, job, argument);
}

/* ---- the spare ---------------------------------------------------------------------------------------------------- */

/* Without it views change all the same: so it takes no more than half of what the machine has left. One that does not
 * fit any more goes. */
static void make_spare(void *argument)
{
	struct wh_shm_jobs *jobs = argument;
	bool made;

	wh_shm_memory_free(&jobs->memory);
	made = (jobs->wish.huge_pages == WH_HUGE_REQUIRE || jobs->wish.bytes <= wh_shm_memory_available() / 2) &&
	       wh_shm_memory_make(&jobs->memory, &jobs->wish, NULL) == WHORL_OK;
	/* All of it, before the loop takes it. Partner: the acquire in wh_shm_spare_take */
	wh_store_release(&jobs->spare, made ? WH_SHM_SPARE_MADE : WH_SHM_SPARE_NONE);
	let_go(jobs);
}

/* What came back, all zeros as if it were new. */
static void zero_spare(void *argument)
{
	struct wh_shm_jobs *jobs = argument;
	struct wh_shm_memory *memory = &jobs->memory;

	wh_shm_memory_free(memory);
	*memory = jobs->returned;
	jobs->returned = (struct wh_shm_memory){.fd = -1};
	for (uint64_t at = 0; at < memory->bytes && wh_load_relaxed(&jobs->stop) == 0; at += PIECE)
		memset(memory->base + at, 0, memory->bytes - at < PIECE ? memory->bytes - at : PIECE);
	/* Once it is to stop no spare is taken any more. Partner: the acquire in wh_shm_spare_take */
	wh_store_release(&jobs->spare, WH_SHM_SPARE_MADE);
	let_go(jobs);
}

uint64_t wh_shm_spare_room(uint64_t bytes)
{
	return bytes + (bytes < WH_SHM_LARGE ? 0 : SLACK);
}

void wh_shm_spare_later(struct wh_shm *t)
{
	t->spare_due_ns = wh_env_now(t->env) + SPARE_AFTER_NS;
	t->spare_last_ns = wh_env_now(t->env) + SPARE_LAST_NS;
	wh_poll_alarm(&t->poll, SPARE_AFTER_NS);
}

/* Large enough, and not much larger: what a row has too much is memory that is not used. */
static bool fits(const struct wh_shm_memory *memory, uint64_t bytes)
{
	return memory->bytes >= bytes && memory->bytes - bytes <= bytes / 4 + SLACK;
}

/* Of the last two rows the larger, if it would not be much too large for the last. */
static uint64_t wanted(const struct wh_shm *t)
{
	bool shrank = t->row_bytes_before > t->row_bytes && t->row_bytes_before - t->row_bytes <= t->row_bytes / 4;

	return wh_shm_spare_room(shrank ? t->row_bytes_before : t->row_bytes);
}

/* There is one, or there will be: that is not to be made. */
static bool is_there(const struct wh_shm *t)
{
	uint64_t state = wh_load_acquire(&t->jobs->spare);

	return state == WH_SHM_SPARE_IN_WORK || (state == WH_SHM_SPARE_MADE && fits(&t->jobs->memory, wanted(t)));
}

static bool is_unwanted(const struct wh_shm *t)
{
	return wh_session_images(t->base.session) == NULL || wh_session_has_left(t->base.session) || is_there(t);
}

void wh_shm_spare_tick(struct wh_shm *t)
{
	uint64_t now = wh_env_now(t->env);
	bool waits;

	if (t->spare_due_ns == 0)
		return;
	waits = !is_unwanted(t) && wh_shm_row_comes(t) && now < t->spare_last_ns;
	if (now >= t->spare_due_ns && waits)
		t->spare_due_ns = now + SPARE_AFTER_NS;
	if (now < t->spare_due_ns) {
		wh_poll_alarm(&t->poll, t->spare_due_ns - now);
		return;
	}
	t->spare_due_ns = 0;
	wh_shm_row_give_up(t);
	if (is_unwanted(t))
		return;
	wh_store_relaxed(&t->jobs->spare, WH_SHM_SPARE_IN_WORK);
	t->jobs->wish.bytes = wanted(t);
	submit(t, make_spare, t->jobs);
}

void wh_shm_spare_give(struct wh_shm *t, struct wh_shm_memory *memory)
{
	if (is_unwanted(t) || !fits(memory, wanted(t))) {
		wh_shm_memory_discard(t, memory);
		return;
	}
	t->jobs->returned = *memory;
	*memory = (struct wh_shm_memory){.fd = -1};
	wh_store_relaxed(&t->jobs->spare, WH_SHM_SPARE_IN_WORK);
	submit(t, zero_spare, t->jobs);
}

/* A small row is made present sooner than it is waited for; one that is in work, or comes back, is there sooner than another is made. */
bool wh_shm_spare_comes(const struct wh_shm *t)
{
	bool soon = wh_load_relaxed(&t->jobs->spare) == WH_SHM_SPARE_IN_WORK;

	if (t->row_bytes < WH_SHM_LARGE || wh_session_has_left(t->base.session))
		return false;
	return soon || (t->spare_due_ns != 0 && !is_there(t) && (t->row_bytes >= WAITED_FOR || wh_shm_row_comes(t)));
}

bool wh_shm_spare_take(struct wh_shm *t, uint64_t bytes, struct wh_shm_memory *out)
{
	struct wh_shm_jobs *jobs = t->jobs;

	if (wh_load_acquire(&jobs->spare) != WH_SHM_SPARE_MADE || !fits(&jobs->memory, bytes))
		return false;
	*out = jobs->memory;
	jobs->memory = (struct wh_shm_memory){.fd = -1};
	wh_store_relaxed(&jobs->spare, WH_SHM_SPARE_NONE);
	return true;
}

/* ---- memory that is not needed any more --------------------------------------------------------------------------------------- */

static void free_image(void *argument)
{
	struct wh_shm_image *image = argument;
	struct wh_shm_jobs *jobs = image->jobs;

	wh_shm_image_free(image);
	let_go(jobs);
}

struct discarded {
	struct wh_shm_jobs *jobs;
	struct wh_shm_memory memory;
};

static void free_memory(void *argument)
{
	struct discarded *discarded = argument;
	struct wh_shm_jobs *jobs = discarded->jobs;

	wh_shm_memory_free(&discarded->memory);
	free(discarded);
	let_go(jobs);
}

void wh_shm_memory_discard(struct wh_shm *t, struct wh_shm_memory *memory)
{
	struct discarded *discarded = memory->bytes < DISCARD_OFF_LOOP ? NULL : malloc(sizeof(*discarded));

	if (discarded == NULL) {
		wh_shm_memory_free(memory);
		return;
	}
	*discarded = (struct discarded){t->jobs, *memory};
	*memory = (struct wh_shm_memory){.fd = -1};
	submit(t, free_memory, discarded);
}

void wh_shm_image_discard(struct wh_shm *t, struct wh_shm_image *image)
{
	uint64_t bytes = image->room.bytes + (image->own.base != NULL ? image->own.bytes : 0);

	for (uint32_t rank = 0; rank < image->base.base.members; rank++)
		bytes += image->views[rank].map_bytes;
	if (bytes < DISCARD_OFF_LOOP) {
		wh_shm_image_free(image);
		return;
	}
	image->jobs = t->jobs;
	submit(t, free_image, image);
}
