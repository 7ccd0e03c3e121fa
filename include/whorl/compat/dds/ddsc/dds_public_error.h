/* ddsc/dds_public_error.h - results, and what a program says of its own failures. */
#ifndef WHORL_COMPAT_DDSC_DDS_PUBLIC_ERROR_H
#define WHORL_COMPAT_DDSC_DDS_PUBLIC_ERROR_H

#include "../ddsrt/log.h"
#include "../ddsrt/retcode.h"
#include "../export.h"

#endif
