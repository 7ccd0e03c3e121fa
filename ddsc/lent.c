/* lent.c - see lent.h. */
#include "ddsc/lent.h"

#include <stdlib.h>
#include <string.h>

#include "ddsc/builtin.h"

#define KEPT_ROOM_MAX 4096 /* samples: a block that is larger is not kept */

static void clear(struct wh_ddsc_block *block)
{
	for (size_t i = 0; i < block->used; i++)
		if (block->kind->builtin != 0)
			wh_ddsc_builtin_clear(block->kind->builtin, wh_ddsc_block_at(block, i));
		else
			wh_ddsc_kind_clear(block->kind, wh_ddsc_block_at(block, i));
	block->used = 0;
}

static void end(struct wh_ddsc_block *block)
{
	if (block == NULL)
		return;
	clear(block);
	free(block);
}

struct wh_ddsc_block *wh_ddsc_block_get(struct wh_ddsc_lent *lent, pthread_mutex_t *lock,
					const struct wh_ddsc_kind *kind, size_t count)
{
	size_t bytes = kind->builtin != 0 ? wh_ddsc_builtin_bytes(kind->builtin) : kind->sample_bytes;
	struct wh_ddsc_block *block;

	pthread_mutex_lock(lock);
	block = lent->kept;
	lent->kept = NULL;
	pthread_mutex_unlock(lock);
	if (block != NULL && block->room >= count)
		return block;
	end(block);
	if (count > (SIZE_MAX - sizeof(*block)) / bytes)
		return NULL;
	block = calloc(1, sizeof(*block) + count * bytes);
	if (block == NULL)
		return NULL;
	block->kind = kind;
	block->bytes = bytes;
	block->room = count;
	return block;
}

void wh_ddsc_block_keep(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, struct wh_ddsc_block *block)
{
	struct wh_ddsc_block *other = block;

	if (block->kind->builtin != 0)
		clear(block); /* only samples of the codec's are read again into the memory that they have */
	if (block->room <= KEPT_ROOM_MAX) {
		pthread_mutex_lock(lock);
		other = lent->kept;
		lent->kept = block;
		pthread_mutex_unlock(lock);
	}
	end(other);
}

void wh_ddsc_block_lend(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, struct wh_ddsc_block *block)
{
	pthread_mutex_lock(lock);
	block->next = lent->out;
	lent->out = block;
	pthread_mutex_unlock(lock);
}

struct wh_ddsc_block *wh_ddsc_block_back(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, const void *first)
{
	struct wh_ddsc_block **at = &lent->out, *block;

	pthread_mutex_lock(lock);
	while (*at != NULL && (*at)->samples != (const unsigned char *)first)
		at = &(*at)->next;
	block = *at;
	if (block != NULL)
		*at = block->next;
	pthread_mutex_unlock(lock);
	return block;
}

static void free_scratch(struct wh_ddsc_scratch *scratch)
{
	free(scratch->infos);
	free((void *)scratch->data);
	*scratch = (struct wh_ddsc_scratch){0};
}

bool wh_ddsc_scratch_get(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, size_t count, struct wh_ddsc_scratch *out)
{
	pthread_mutex_lock(lock);
	*out = lent->scratch;
	lent->scratch = (struct wh_ddsc_scratch){0};
	pthread_mutex_unlock(lock);
	if (out->room >= count)
		return true;
	free_scratch(out);
	out->infos = malloc(count * sizeof(*out->infos));
	out->data = malloc(count * sizeof(*out->data));
	out->room = count;
	if (out->infos != NULL && out->data != NULL)
		return true;
	free_scratch(out);
	return false;
}

void wh_ddsc_scratch_put(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, struct wh_ddsc_scratch *scratch)
{
	struct wh_ddsc_scratch other = *scratch;

	if (scratch->room <= KEPT_ROOM_MAX) {
		pthread_mutex_lock(lock);
		other = lent->scratch;
		lent->scratch = *scratch;
		pthread_mutex_unlock(lock);
	}
	free_scratch(&other);
}

/* ---- whorl's loans ---------------------------------------------------------------------------------------------------------- */

static bool loan_room(struct wh_ddsc_lent *lent)
{
	size_t room = lent->loan_room > 0 ? 2 * lent->loan_room : 8;
	struct wh_ddsc_loan *loans;

	if (lent->loan_count < lent->loan_room)
		return true;
	loans = realloc(lent->loans, room * sizeof(*loans));
	if (loans == NULL)
		return false;
	lent->loans = loans;
	lent->loan_room = room;
	return true;
}

/* Room for so many pointers: that of a loan that came back, mostly. With the lock. */
static void **list_of(struct wh_ddsc_lent *lent, size_t count)
{
	void **list = lent->list;

	if (lent->list_room < count)
		return malloc(count * sizeof(*list));
	lent->list = NULL;
	lent->list_room = 0;
	return list;
}

bool wh_ddsc_loan_note(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, void *const *samples, int32_t count)
{
	struct wh_ddsc_loan loan = {.first = samples[0], .count = count};
	bool is_room;

	pthread_mutex_lock(lock);
	is_room = loan_room(lent);
	if (is_room && count > 1) {
		loan.samples = list_of(lent, (size_t)count);
		is_room = loan.samples != NULL;
	}
	if (is_room) {
		if (count > 1)
			memcpy((void *)loan.samples, (const void *)samples, (size_t)count * sizeof(*samples));
		lent->loans[lent->loan_count++] = loan;
	}
	pthread_mutex_unlock(lock);
	return is_room;
}

bool wh_ddsc_loan_back(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, const void *first, struct wh_ddsc_loan *out)
{
	bool found = false;

	pthread_mutex_lock(lock);
	for (size_t i = lent->loan_count; i-- > 0 && !found;) /* mostly the last one */
		if (lent->loans[i].first == first) {
			*out = lent->loans[i];
			lent->loans[i] = lent->loans[--lent->loan_count];
			found = true;
		}
	pthread_mutex_unlock(lock);
	return found;
}

void wh_ddsc_loan_let_go(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, struct wh_ddsc_loan *loan)
{
	void **list = loan->samples;

	if (list != NULL && loan->count <= KEPT_ROOM_MAX) {
		pthread_mutex_lock(lock);
		if (lent->list_room < (size_t)loan->count) {
			list = lent->list;
			lent->list = loan->samples;
			lent->list_room = (size_t)loan->count;
		}
		pthread_mutex_unlock(lock);
	}
	free((void *)list);
}

void wh_ddsc_lent_end(struct wh_ddsc_lent *lent)
{
	for (struct wh_ddsc_block *next; lent->out != NULL; lent->out = next) {
		next = lent->out->next;
		end(lent->out);
	}
	end(lent->kept);
	lent->kept = NULL;
	free_scratch(&lent->scratch);
	for (size_t i = 0; i < lent->loan_count; i++)
		free((void *)lent->loans[i].samples);
	free(lent->loans);
	free((void *)lent->list);
}
