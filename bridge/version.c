/* version.c - see version.h. */
#include "bridge/version.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dds/dds.h>
#include <dds/version.h>

bool wh_bridge_version_is(const char *file, char *text, size_t bytes)
{
	const char *slash = strrchr(file, '/'), *name = slash != NULL ? slash + 1 : file;
	const char *version = strstr(name, ".so.");

	if (version != NULL && strcmp(version + 4, DDS_VERSION) == 0)
		return true;
	snprintf(text, bytes, "this bridge was built with libddsc %s, and here is %s (%s)", DDS_VERSION,
		 version != NULL ? version + 4 : "one without a version", file);
	return false;
}

bool wh_bridge_version_fits(char *text, size_t bytes)
{
	char path[PATH_MAX];
	Dl_info info;

	if (dladdr((const void *)(uintptr_t)&dds_create_participant, &info) == 0 || info.dli_fname == NULL ||
	    realpath(info.dli_fname, path) == NULL) {
		snprintf(text, bytes, "this bridge was built with libddsc %s, and no file of it is found", DDS_VERSION);
		return false;
	}
	return wh_bridge_version_is(path, text, bytes);
}
