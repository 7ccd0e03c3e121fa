/* ddsrt/types.h - integers, and how they are printed. */
#ifndef WHORL_COMPAT_DDSRT_TYPES_H
#define WHORL_COMPAT_DDSRT_TYPES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define PRIdSIZE "zd"
#define PRIuSIZE "zu"
#define PRIxSIZE "zx"

#endif
