/* ddsrt/time.h - times and durations, in nanoseconds; times since 1970. */
#ifndef WHORL_COMPAT_DDSRT_TIME_H
#define WHORL_COMPAT_DDSRT_TIME_H

#include <assert.h>
#include <stdint.h>

#include <dds/ddsrt/types.h>
#include <dds/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t dds_time_t;
typedef int64_t dds_duration_t;

#define DDS_NSECS_IN_SEC INT64_C(1000000000)
#define DDS_NSECS_IN_MSEC INT64_C(1000000)
#define DDS_NSECS_IN_USEC INT64_C(1000)
#define DDS_SECS(count) ((count)*DDS_NSECS_IN_SEC)
#define DDS_MSECS(count) ((count)*DDS_NSECS_IN_MSEC)
#define DDS_USECS(count) ((count)*DDS_NSECS_IN_USEC)

#define DDS_NEVER ((dds_time_t)INT64_MAX)
#define DDS_INFINITY ((dds_duration_t)INT64_MAX)
#define DDS_TIME_INVALID ((dds_time_t)INT64_MIN)
#define DDS_DURATION_INVALID ((dds_duration_t)INT64_MIN)

DDS_EXPORT dds_time_t dds_time(void);
DDS_EXPORT void dds_sleepfor(dds_duration_t duration); /* <= 0: it does not sleep */

#ifdef __cplusplus
}
#endif

#endif
