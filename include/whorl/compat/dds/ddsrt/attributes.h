/* ddsrt/attributes.h - attributes of functions. */
#ifndef WHORL_COMPAT_DDSRT_ATTRIBUTES_H
#define WHORL_COMPAT_DDSRT_ATTRIBUTES_H

#define ddsrt_attribute_malloc __attribute__((malloc))
#define ddsrt_attribute_unused __attribute__((unused))
#define ddsrt_attribute_noreturn __attribute__((noreturn))
#define ddsrt_attribute_warn_unused_result __attribute__((warn_unused_result))
#define ddsrt_attribute_format_printf(format, arguments) __attribute__((format(printf, format, arguments)))
#define ddsrt_nonnull(arguments) __attribute__((nonnull arguments))
#define ddsrt_nonnull_all __attribute__((nonnull))

#endif
