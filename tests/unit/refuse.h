/* refuse.h - an allocator that refuses, for tests of what happens when memory is out. One file of a program includes it, and
 * the program has the label nosan: a sanitizer interposes the same functions.
 */
#ifndef WH_TESTS_REFUSE_H
#define WH_TESTS_REFUSE_H

#include <stdbool.h>
#include <stdlib.h>

static long refuse_at = -1; /* allocations until one is refused; below 0: never */
static long live;           /* allocated and not freed */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static void *count_allocation(void *memory)
{
	live += memory != NULL;
	return memory;
}

static bool refused(void)
{
	return refuse_at >= 0 && refuse_at-- == 0;
}

void *malloc(size_t bytes)
{
	return refused() ? NULL : count_allocation(__libc_malloc(bytes));
}

void *calloc(size_t n, size_t bytes)
{
	return refused() ? NULL : count_allocation(__libc_calloc(n, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return refused() ? NULL : count_allocation(__libc_memalign(alignment, bytes));
}

void *realloc(void *old, size_t bytes)
{
	if (refused())
		return NULL;
	return old == NULL ? count_allocation(__libc_malloc(bytes)) : __libc_realloc(old, bytes);
}

void free(void *memory)
{
	live -= memory != NULL;
	__libc_free(memory);
}

#endif
