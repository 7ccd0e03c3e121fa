/* topics_bridge.c - `whorl dds bridge`: starts whorl-dds-bridge, which is a program of its own, since it links Cyclone DDS. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/topics.h"

#define PROGRAM "whorl-dds-bridge"

/* The folder that this command is in; false: the system does not say. */
static bool own_folder(char *folder, size_t bytes)
{
	ssize_t length = readlink("/proc/self/exe", folder, bytes - 1);
	char *slash;

	if (length < 0)
		return false;
	folder[length] = '\0';
	slash = strrchr(folder, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

enum wh_exit wh_topics_bridge(int argc, char **argv)
{
	static const char *const places[] = {"/" PROGRAM, "/../libexec/" PROGRAM, "/../libexec/whorl/" PROGRAM};
	static char name[] = "whorl dds bridge";
	char folder[PATH_MAX], path[PATH_MAX + 64];

	(void)argc;
	argv[0] = name;
	for (size_t i = 0; own_folder(folder, sizeof folder) && i < sizeof places / sizeof places[0]; i++) {
		snprintf(path, sizeof path, "%s%s", folder, places[i]);
		execv(path, argv);
		if (errno != ENOENT && errno != ENOTDIR) {
			wh_say("%s: %s", path, strerror(errno));
			return WH_EXIT_MACHINE;
		}
	}
	wh_say("dds bridge: there is no " PROGRAM " beside this command: install the package " PROGRAM
	       ", or build whorl where cyclonedds-dev is installed");
	return WH_EXIT_MACHINE;
}
