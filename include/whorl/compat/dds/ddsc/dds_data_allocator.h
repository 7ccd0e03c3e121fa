/* ddsc/dds_data_allocator.h - memory for samples, from a writer or from the heap. */
#ifndef WHORL_COMPAT_DDSC_DDS_DATA_ALLOCATOR_H
#define WHORL_COMPAT_DDSC_DDS_DATA_ALLOCATOR_H

#include <dds/dds.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DDS_DATA_ALLOCATOR_MAX_SIZE (12 * sizeof(void *))

typedef struct dds_data_allocator {
	dds_entity_t entity;
	union {
		unsigned char bytes[DDS_DATA_ALLOCATOR_MAX_SIZE];
		void *align_ptr;
		uint64_t align_u64;
	} opaque;
} dds_data_allocator_t;

/* Of a writer, a reader, or DDS_DATA_ALLOCATOR_ALLOC_ON_HEAP: memory of the heap in any case. */
DDS_EXPORT dds_return_t dds_data_allocator_init(dds_entity_t entity, dds_data_allocator_t *allocator);
DDS_EXPORT dds_return_t dds_data_allocator_init_heap(dds_data_allocator_t *allocator);
DDS_EXPORT dds_return_t dds_data_allocator_fini(dds_data_allocator_t *allocator);
DDS_EXPORT void *dds_data_allocator_alloc(dds_data_allocator_t *allocator, size_t bytes);
DDS_EXPORT dds_return_t dds_data_allocator_free(dds_data_allocator_t *allocator, void *memory);
DDS_EXPORT bool dds_is_loan_available(const dds_entity_t entity);
DDS_EXPORT bool is_loan_available(const dds_entity_t entity);

#ifdef __cplusplus
}
#endif

#endif
