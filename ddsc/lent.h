/* lent.h - what a reader lends: samples in memory of our own, and what it needs for a call of whorl_dds_take. Both are kept to be used again.
 *
 * Samples of a plain type lie in whorl's loan, and are none of these.
 */
#ifndef WH_DDSC_LENT_H
#define WH_DDSC_LENT_H

#include <pthread.h>

#include "ddsc/kind.h"

struct wh_ddsc_block { /* samples, one behind the other */
	struct wh_ddsc_block *next;
	const struct wh_ddsc_kind *kind; /* what clears them; built-in ones: wh_ddsc_builtin_clear */
	size_t bytes, room;              /* of a sample; samples */
	size_t used;                     /* have something to clear */
	_Alignas(max_align_t) unsigned char samples[];
};

struct wh_ddsc_scratch { /* for one call */
	size_t room;
	struct whorl_dds_sample_info *infos;
	void **data;
};

struct wh_ddsc_loan { /* of whorl's, that the program has: samples of a plain type */
	void *first;
	void **samples; /* of more than one; else NULL. A program may come with fewer than it was given */
	int32_t count;
};

struct wh_ddsc_lent {
	struct wh_ddsc_block *out;      /* lent, newest first */
	struct wh_ddsc_block *kept;     /* one that came back; NULL: none */
	struct wh_ddsc_scratch scratch; /* room 0: none, or a call uses it */
	struct wh_ddsc_loan *loans;     /* of whorl's */
	size_t loan_count, loan_room;
	void **list; /* of one that came back; NULL: none */
	size_t list_room;
};

/* A block for so many samples. NULL when memory is out. `lock` is that of *lent. */
struct wh_ddsc_block *wh_ddsc_block_get(struct wh_ddsc_lent *lent, pthread_mutex_t *lock,
					const struct wh_ddsc_kind *kind, size_t count);
/* Gives it back, or says that it is lent now. */
void wh_ddsc_block_keep(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, struct wh_ddsc_block *block);
void wh_ddsc_block_lend(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, struct wh_ddsc_block *block);
/* Takes the one that begins with this sample out of those that are lent. NULL: there is none. */
struct wh_ddsc_block *wh_ddsc_block_back(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, const void *first);

static inline void *wh_ddsc_block_at(struct wh_ddsc_block *block, size_t i)
{
	return block->samples + i * block->bytes;
}

/* False when memory is out. */
bool wh_ddsc_scratch_get(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, size_t count, struct wh_ddsc_scratch *out);
void wh_ddsc_scratch_put(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, struct wh_ddsc_scratch *scratch);

/* Notes what was lent; false when memory is out. And takes it back: what is lent no more, to be let go; false: there is no such loan. */
bool wh_ddsc_loan_note(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, void *const *samples, int32_t count);
bool wh_ddsc_loan_back(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, const void *first, struct wh_ddsc_loan *out);
void wh_ddsc_loan_let_go(struct wh_ddsc_lent *lent, pthread_mutex_t *lock, struct wh_ddsc_loan *loan);

/* Frees all that there is, lent or not. */
void wh_ddsc_lent_end(struct wh_ddsc_lent *lent);

#endif
