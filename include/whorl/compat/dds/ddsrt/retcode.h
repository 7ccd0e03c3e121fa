/* ddsrt/retcode.h - results. */
#ifndef WHORL_COMPAT_DDSRT_RETCODE_H
#define WHORL_COMPAT_DDSRT_RETCODE_H

#include <stdint.h>

#include <dds/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t dds_return_t; /* 0, a count, or < 0 */

#define DDS_RETCODE_OK (0)
#define DDS_RETCODE_ERROR (-1)
#define DDS_RETCODE_UNSUPPORTED (-2)
#define DDS_RETCODE_BAD_PARAMETER (-3)
#define DDS_RETCODE_PRECONDITION_NOT_MET (-4)
#define DDS_RETCODE_OUT_OF_RESOURCES (-5)
#define DDS_RETCODE_NOT_ENABLED (-6)
#define DDS_RETCODE_IMMUTABLE_POLICY (-7)
#define DDS_RETCODE_INCONSISTENT_POLICY (-8)
#define DDS_RETCODE_ALREADY_DELETED (-9)
#define DDS_RETCODE_TIMEOUT (-10)
#define DDS_RETCODE_NO_DATA (-11)
#define DDS_RETCODE_ILLEGAL_OPERATION (-12)
#define DDS_RETCODE_NOT_ALLOWED_BY_SECURITY (-13)

/* Results that no function here gives; programs compare with them. */
#define DDS_XRETCODE_BASE (-50)
#define DDS_XRETCODE(number) (DDS_XRETCODE_BASE - (number))
#define DDS_RETCODE_IN_PROGRESS DDS_XRETCODE(1)
#define DDS_RETCODE_TRY_AGAIN DDS_XRETCODE(2)
#define DDS_RETCODE_INTERRUPTED DDS_XRETCODE(3)
#define DDS_RETCODE_NOT_ALLOWED DDS_XRETCODE(4)
#define DDS_RETCODE_HOST_NOT_FOUND DDS_XRETCODE(5)
#define DDS_RETCODE_NO_NETWORK DDS_XRETCODE(6)
#define DDS_RETCODE_NO_CONNECTION DDS_XRETCODE(7)
#define DDS_RETCODE_NOT_ENOUGH_SPACE DDS_XRETCODE(8)
#define DDS_RETCODE_OUT_OF_RANGE DDS_XRETCODE(9)
#define DDS_RETCODE_NOT_FOUND DDS_XRETCODE(10)

/* A result in words; of either sign. */
DDS_EXPORT const char *dds_strretcode(dds_return_t result);

#ifdef __cplusplus
}
#endif

#endif
