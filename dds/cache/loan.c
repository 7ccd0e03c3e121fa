/* loan.c - what the program has in its hands: see cache.h. */
#include <stdlib.h>

#include "dds/cache/cache_int.h"

/* Another one for each address, and its low bits are of all bits of the address (Fibonacci hashing). */
static uint64_t number_of(const struct wh_dds_copy *copy)
{
	uint64_t number = (uint64_t)(uintptr_t)copy * UINT64_C(0x9e3779b97f4a7c15);

	return number ^ number >> 32;
}

static struct wh_dds_loan *find(const struct wh_dds_cache *cache, const struct wh_dds_copy *copy)
{
	/* The link is the first member. */
	return (struct wh_dds_loan *)(void *)wh_dds_index_find(&cache->loans, number_of(copy));
}

static struct wh_dds_loan *pop(struct wh_dds_cache *cache)
{
	struct wh_dds_loan *loan = cache->free_loans;

	cache->free_loans = loan->next_free;
	cache->free_loan_count--;
	return loan;
}

static void push(struct wh_dds_cache *cache, struct wh_dds_loan *loan)
{
	loan->next_free = cache->free_loans;
	cache->free_loans = loan;
	cache->free_loan_count++;
}

bool wh_dds_loans_reserve(struct wh_dds_cache *cache, size_t count)
{
	if (!wh_dds_index_reserve(&cache->loans))
		return false;
	while (cache->free_loan_count < count) {
		struct wh_dds_loan *loan = malloc(sizeof(*loan));

		if (loan == NULL)
			return false;
		push(cache, loan);
	}
	return true;
}

void wh_dds_lend(struct wh_dds_cache *cache, struct wh_dds_copy *copy, bool taken)
{
	struct wh_dds_loan *loan = find(cache, copy);

	if (loan == NULL) {
		loan = pop(cache);
		*loan = (struct wh_dds_loan){.copy = copy};
		(void)wh_dds_index_add(&cache->loans, &loan->link, number_of(copy));
		if (!taken)
			wh_dds_copy_hold(copy, 1);
	} else if (taken) {
		wh_dds_copy_drop(copy);
	}
	loan->times++;
	cache->loan_count++;
	if (taken) {
		loan->taken = true;
		cache->held++;
	}
}

static void end_loan(struct wh_dds_cache *cache, struct wh_dds_loan *loan, struct wh_dds_drops *drops)
{
	wh_dds_index_remove(&cache->loans, &loan->link);
	wh_dds_drops_add(drops, loan->copy);
	cache->held -= loan->taken;
	push(cache, loan);
}

whorl_dds_return wh_dds_cache_return(struct wh_dds_cache *cache, void *const *data, size_t count)
{
	struct wh_dds_drops drops = {.first = NULL};
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	for (size_t i = 0; i < count; i++) {
		struct wh_dds_loan *loan = find(cache, wh_dds_copy_of(data[i]));

		if (loan == NULL) {
			result = WHORL_DDS_RETCODE_PRECONDITION_NOT_MET;
			continue;
		}
		cache->loan_count--;
		if (--loan->times == 0)
			end_loan(cache, loan, &drops);
	}
	wh_dds_drops_end(&drops);
	return result;
}

size_t wh_dds_cache_lent(const struct wh_dds_cache *cache)
{
	return cache->loan_count;
}

void wh_dds_loans_free(struct wh_dds_cache *cache)
{
	for (size_t i = 0; i < cache->loans.slot_count; i++) {
		while (cache->loans.slots[i] != NULL) {
			struct wh_dds_loan *loan = (struct wh_dds_loan *)(void *)cache->loans.slots[i];

			wh_dds_index_remove(&cache->loans, &loan->link);
			wh_dds_copy_drop(loan->copy);
			free(loan);
		}
	}
	while (cache->free_loans != NULL)
		free(pop(cache));
	wh_dds_index_free(&cache->loans);
}
