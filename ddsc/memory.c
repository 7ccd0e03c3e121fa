/* memory.c - memory that samples are made of, results and time: what needs no entity. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dds/dds.h>

#include "ddsc/kind.h"

void *dds_alloc(size_t bytes)
{
	return calloc(1, bytes > 0 ? bytes : 1);
}

void *dds_realloc(void *memory, size_t bytes)
{
	return realloc(memory, bytes > 0 ? bytes : 1);
}

void *dds_realloc_zero(void *memory, size_t bytes)
{
	void *moved = dds_realloc(memory, bytes);

	if (moved != NULL)
		memset(moved, 0, bytes);
	return moved;
}

void dds_free(void *memory)
{
	free(memory);
}

char *dds_string_alloc(size_t length)
{
	return length < SIZE_MAX ? dds_alloc(length + 1) : NULL;
}

char *dds_string_dup(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

void dds_string_free(char *text)
{
	free(text);
}

/* What is said not to be freed (`_release`) stays, and so do numbers. A descriptor that is no type's leaves the sample as it is. */
static void free_contents(void *sample, const dds_topic_descriptor_t *descriptor, bool all)
{
	struct wh_ddsc_type *type;

	if (wh_ddsc_type_create(&type, (const struct wh_ddsc_descriptor *)(const void *)descriptor, NULL) !=
	    DDS_RETCODE_OK)
		return;
	if (all)
		wh_ddsc_sample_release(type, sample);
	else
		wh_ddsc_key_release(type, sample);
	wh_ddsc_type_free(type);
}

void dds_sample_free(void *sample, const dds_topic_descriptor_t *descriptor, dds_free_op_t what)
{
	if (sample == NULL || descriptor == NULL)
		return;
	if ((what & (DDS_FREE_CONTENTS_BIT | DDS_FREE_KEY_BIT)) != 0)
		free_contents(sample, descriptor, (what & DDS_FREE_CONTENTS_BIT) != 0);
	if ((what & DDS_FREE_ALL_BIT) != 0)
		free(sample);
}

/* ---- results and time ------------------------------------------------------------------------------------------------------- */

/* Programs give a result as it came, or as a number > 0. */
const char *dds_strretcode(dds_return_t result)
{
	return whorl_dds_strretcode(result > 0 ? -result : result);
}

dds_time_t dds_time(void)
{
	return whorl_dds_now();
}

void dds_sleepfor(dds_duration_t duration)
{
	struct timespec left = {.tv_sec = duration / DDS_NSECS_IN_SEC, .tv_nsec = duration % DDS_NSECS_IN_SEC};

	while (duration > 0 && nanosleep(&left, &left) != 0)
		; /* a signal came */
}
