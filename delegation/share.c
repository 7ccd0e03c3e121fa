/* share.c - see share.h. */
#include "delegation/share.h"

#include <stdlib.h>

#include "delegation/delegation_int.h"

struct whorl_shared {
	whorl_work *work;
	wh_word count;
	struct whorl_shared *older, *newer; /* [the work's lock] */
	size_t bytes;
	_Alignas(16) unsigned char data[];
};

static void list(struct whorl_shared *shared)
{
	whorl_work *work = shared->work;

	pthread_mutex_lock(&work->lock);
	shared->older = work->shared;
	if (shared->older != NULL)
		shared->older->newer = shared;
	work->shared = shared;
	pthread_mutex_unlock(&work->lock);
}

static void unlist(struct whorl_shared *shared)
{
	whorl_work *work = shared->work;

	pthread_mutex_lock(&work->lock);
	if (shared->newer != NULL)
		shared->newer->older = shared->older;
	else
		work->shared = shared->older;
	if (shared->older != NULL)
		shared->older->newer = shared->newer;
	pthread_mutex_unlock(&work->lock);
}

bool wh_is_shared(whorl_work *work, const void *address)
{
	const struct whorl_shared *shared;

	pthread_mutex_lock(&work->lock);
	for (shared = work->shared; shared != NULL && shared != address; shared = shared->older)
		continue;
	pthread_mutex_unlock(&work->lock);
	return shared != NULL;
}

enum whorl_result whorl_share(whorl_work *work, const void *data, size_t bytes, whorl_shared **shared)
{
	struct whorl_shared *made;

	if (shared != NULL)
		*shared = NULL;
	if (work == NULL || shared == NULL || (data == NULL && bytes > 0))
		return WH_REFUSE(work == NULL ? "no work" : shared == NULL ? "nowhere to put it" : "no data");
	if (bytes > SIZE_MAX / 2)
		return WHORL_MEMORY;
	made = aligned_alloc(16, (sizeof(*made) + bytes + 15) / 16 * 16);
	if (made == NULL)
		return WHORL_MEMORY;
	*made = (struct whorl_shared){.work = work, .bytes = bytes};
	wh_store_relaxed(&made->count, 1); /* no other thread knows of it */
	if (bytes > 0)
		memcpy(made->data, data, bytes);
	list(made);
	*shared = made;
	return WHORL_OK;
}

const void *whorl_shared_data(const whorl_shared *shared, size_t *bytes)
{
	if (shared == NULL) {
		WH_REFUSE("no data");
		return NULL;
	}
	if (bytes != NULL)
		*bytes = shared->bytes;
	return shared->data;
}

enum whorl_result whorl_shared_hold(whorl_shared *shared)
{
	if (shared == NULL)
		return WH_REFUSE("no data");
	wh_fetch_add(&shared->count, 1);
	return WHORL_OK;
}

void whorl_shared_drop(whorl_shared *shared)
{
	/* The last has seen all that the others read: each count releases and acquires. */
	if (shared == NULL || wh_fetch_add(&shared->count, UINT64_MAX) != 1)
		return;
	unlist(shared);
	free(shared);
}
