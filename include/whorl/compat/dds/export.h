/* export.h - what marks a function that the library exports. */
#ifndef WHORL_COMPAT_EXPORT_H
#define WHORL_COMPAT_EXPORT_H

#ifndef DDS_EXPORT
#define DDS_EXPORT __attribute__((visibility("default")))
#endif
#ifndef DDS_NO_EXPORT
#define DDS_NO_EXPORT __attribute__((visibility("hidden")))
#endif
#ifndef DDS_DEPRECATED
#define DDS_DEPRECATED __attribute__((deprecated))
#endif
#ifndef DDS_DEPRECATED_EXPORT
#define DDS_DEPRECATED_EXPORT DDS_EXPORT DDS_DEPRECATED
#endif
#ifndef DDS_INLINE_EXPORT
#define DDS_INLINE_EXPORT DDS_EXPORT
#endif

#endif
