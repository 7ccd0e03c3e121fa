/* ddsc/dds_loan_api.h - samples in memory of the library. */
#ifndef WHORL_COMPAT_DDSC_DDS_LOAN_API_H
#define WHORL_COMPAT_DDSC_DDS_LOAN_API_H

#include <dds/ddsc/dds_basic_types.h>
#include <dds/ddsrt/retcode.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Are samples of this writer or reader lent as they lie in the channel, without a copy? So it is of types without pointers. */
DDS_EXPORT bool dds_is_loan_available(const dds_entity_t entity);
DDS_EXPORT bool dds_is_shared_memory_available(const dds_entity_t entity);
DDS_EXPORT bool is_loan_available(const dds_entity_t entity);
/* Memory for one sample of this writer's, which dds_write or dds_return_loan takes over. */
DDS_EXPORT dds_return_t dds_loan_sample(dds_entity_t writer, void **sample);
DDS_EXPORT dds_return_t dds_loan_shared_memory_buffer(dds_entity_t writer, size_t bytes, void **buffer);

#ifdef __cplusplus
}
#endif

#endif
