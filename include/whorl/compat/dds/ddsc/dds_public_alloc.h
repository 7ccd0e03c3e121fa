/* ddsc/dds_public_alloc.h - memory that samples are made of. It is malloc()'s. */
#ifndef WHORL_COMPAT_DDSC_DDS_PUBLIC_ALLOC_H
#define WHORL_COMPAT_DDSC_DDS_PUBLIC_ALLOC_H

#include <stddef.h>

#include <dds/export.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dds_topic_descriptor;
struct dds_sequence;

#define DDS_FREE_KEY_BIT 0x01
#define DDS_FREE_CONTENTS_BIT 0x02
#define DDS_FREE_ALL_BIT 0x04

typedef enum {
	DDS_FREE_ALL = DDS_FREE_KEY_BIT | DDS_FREE_CONTENTS_BIT | DDS_FREE_ALL_BIT,
	DDS_FREE_CONTENTS = DDS_FREE_KEY_BIT | DDS_FREE_CONTENTS_BIT,
	DDS_FREE_KEY = DDS_FREE_KEY_BIT,
} dds_free_op_t;

/* Memory that is all 0. NULL when memory is out. */
DDS_EXPORT void *dds_alloc(size_t bytes);
DDS_EXPORT void *dds_realloc(void *memory, size_t bytes);
DDS_EXPORT void *dds_realloc_zero(void *memory, size_t bytes); /* the bytes of all of it are 0 */
DDS_EXPORT void dds_free(void *memory);

DDS_EXPORT char *dds_string_alloc(size_t length); /* of so many bytes and a zero */
DDS_EXPORT char *dds_string_dup(const char *text);
DDS_EXPORT void dds_string_free(char *text);

/* Frees what a sample points to, what its key points to alone, or that and the sample itself. */
DDS_EXPORT void dds_sample_free(void *sample, const struct dds_topic_descriptor *descriptor, dds_free_op_t what);

#ifdef __cplusplus
}
#endif

#endif
