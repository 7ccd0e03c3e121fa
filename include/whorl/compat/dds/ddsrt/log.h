/* ddsrt/log.h - what a program says of its own failures. It goes to standard error, from the program itself: the library has no log. */
#ifndef WHORL_COMPAT_DDSRT_LOG_H
#define WHORL_COMPAT_DDSRT_LOG_H

#include <stdio.h>
#include <stdlib.h>

#define DDS_LC_FATAL (1u)
#define DDS_LC_ERROR (2u)
#define DDS_LC_WARNING (4u)
#define DDS_LC_INFO (8u)

#define DDS_FATAL(...) (fprintf(stderr, __VA_ARGS__), abort())
#define DDS_ERROR(...) ((void)fprintf(stderr, __VA_ARGS__))
#define DDS_WARNING(...) ((void)fprintf(stderr, __VA_ARGS__))
#define DDS_INFO(...) ((void)fprintf(stderr, __VA_ARGS__))
#define DDS_LOG(category, ...) ((void)(category), (void)fprintf(stderr, __VA_ARGS__))

#endif
