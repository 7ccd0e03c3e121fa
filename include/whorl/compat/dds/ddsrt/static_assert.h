/* ddsrt/static_assert.h - assertions at compile time. */
#ifndef WHORL_COMPAT_DDSRT_STATIC_ASSERT_H
#define WHORL_COMPAT_DDSRT_STATIC_ASSERT_H

#ifdef __cplusplus
#define DDSRT_STATIC_ASSERT(condition) static_assert(condition, #condition)
#else
#define DDSRT_STATIC_ASSERT(condition) _Static_assert(condition, #condition)
#endif

#endif
