/* noref.c - arguments are values: what they point to is not sent. C cannot say so of a type; a build with costly checks looks. */
#include "delegation/delegation_int.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "delegation/share.h"

/* Programs, heaps, stacks and maps of 64-bit Linux lie above the one and below the other; numbers that people count with lie below both. */
#define LOWEST (UINT64_C(0x50) << 40)
#define HIGHEST (UINT64_C(0x80) << 40)
#define PAGE 4096

static bool is_mapped(uint64_t address)
{
	unsigned char resident[1];
	int saved_errno = errno;
	bool mapped = mincore((void *)(uintptr_t)(address & ~(uint64_t)(PAGE - 1)), 1, resident) == 0;

	errno = saved_errno;
	return mapped;
}

bool wh_find_pointer(whorl_work *work, const void *data, size_t bytes, size_t *at)
{
	uint64_t value;

	for (*at = 0; *at + sizeof(value) <= bytes; *at += sizeof(value)) {
		memcpy(&value, (const unsigned char *)data + *at, sizeof(value));
		if (value >= LOWEST && value < HIGHEST && value != (uint64_t)(uintptr_t)work && is_mapped(value) &&
		    !wh_is_shared(work, (const void *)(uintptr_t)value))
			return true;
	}
	return false;
}

enum whorl_result wh_check_arguments(whorl_work *work, const struct whorl_function *function, const void *data,
				     size_t bytes)
{
#ifdef NDEBUG
	(void)work, (void)function, (void)data, (void)bytes;
#else
	char why[256];
	size_t at;

	if (wh_find_pointer(work, data, bytes, &at)) {
		snprintf(why, sizeof(why),
			 "the arguments of %s hold an address at byte %zu: what it points to is not sent",
			 function->name, at);
		return wh_refuse("whorl_apply_function", why);
	}
#endif
	return WHORL_OK;
}
