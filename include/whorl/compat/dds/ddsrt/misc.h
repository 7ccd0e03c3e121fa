/* ddsrt/misc.h - warnings that a program turns off for some lines, and other small things. */
#ifndef WHORL_COMPAT_DDSRT_MISC_H
#define WHORL_COMPAT_DDSRT_MISC_H

#include <limits.h>

#define DDSRT_STRINGIFY(x) DDSRT_STRINGIFY1(x)
#define DDSRT_STRINGIFY1(x) #x

#define WHORL_COMPAT_PRAGMA(text) _Pragma(#text)
#define WHORL_COMPAT_IGNORE(warning) WHORL_COMPAT_PRAGMA(GCC diagnostic ignored warning)

#ifdef __clang__
#define DDSRT_WARNING_CLANG_OFF(name) _Pragma("GCC diagnostic push") WHORL_COMPAT_IGNORE(DDSRT_STRINGIFY1(-W##name))
#define DDSRT_WARNING_CLANG_ON(name) _Pragma("GCC diagnostic pop")
#define DDSRT_WARNING_GNUC_OFF(name)
#define DDSRT_WARNING_GNUC_ON(name)
#else
#define DDSRT_WARNING_CLANG_OFF(name)
#define DDSRT_WARNING_CLANG_ON(name)
#define DDSRT_WARNING_GNUC_OFF(name) _Pragma("GCC diagnostic push") WHORL_COMPAT_IGNORE(DDSRT_STRINGIFY1(-W##name))
#define DDSRT_WARNING_GNUC_ON(name) _Pragma("GCC diagnostic pop")
#endif
#define DDSRT_WARNING_MSVC_OFF(number)
#define DDSRT_WARNING_MSVC_ON(number)
#define DDSRT_WARNING_DEPRECATED_OFF                                                                                   \
	DDSRT_WARNING_CLANG_OFF(deprecated - declarations)                                                             \
	DDSRT_WARNING_GNUC_OFF(deprecated - declarations)
#define DDSRT_WARNING_DEPRECATED_ON                                                                                    \
	DDSRT_WARNING_CLANG_ON(deprecated - declarations)                                                              \
	DDSRT_WARNING_GNUC_ON(deprecated - declarations)
#define DDSRT_UNUSED_ARG(argument) (void)(argument)

#endif
