/* version.h - which libddsc this program runs with. Its numbers and layouts are not those of other versions. */
#ifndef WH_BRIDGE_VERSION_H
#define WH_BRIDGE_VERSION_H

#include <stdbool.h>
#include <stddef.h>

/* The version is in the name of the library's file. False: it is another one than this program was built with, and `text` says both. */
bool wh_bridge_version_fits(char *text, size_t bytes);

/* The same of a file of this name. */
bool wh_bridge_version_is(const char *file, char *text, size_t bytes);

#endif
