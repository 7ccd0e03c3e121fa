/* version.h - the version of Cyclone DDS that these headers stand for. */
#ifndef WHORL_COMPAT_VERSION_H
#define WHORL_COMPAT_VERSION_H

#define DDS_VERSION "0.10.2"
#define DDS_VERSION_MAJOR 0
#define DDS_VERSION_MINOR 10
#define DDS_VERSION_PATCH 2
#define DDS_PROJECT_NAME "CycloneDDS"

#endif
