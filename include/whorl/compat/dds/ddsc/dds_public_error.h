/* ddsc/dds_public_error.h - results, and what a program says of its own failures. */
#ifndef WHORL_COMPAT_DDSC_DDS_PUBLIC_ERROR_H
#define WHORL_COMPAT_DDSC_DDS_PUBLIC_ERROR_H

#include <dds/ddsrt/log.h>
#include <dds/ddsrt/retcode.h>
#include <dds/export.h>

#endif
