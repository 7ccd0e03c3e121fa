/* ddsrt/align.h - alignment of a type, as generated code asks for it. */
#ifndef WHORL_COMPAT_DDSRT_ALIGN_H
#define WHORL_COMPAT_DDSRT_ALIGN_H

#ifdef __cplusplus
#define dds_alignof alignof
#else
#define dds_alignof _Alignof
#endif

#endif
