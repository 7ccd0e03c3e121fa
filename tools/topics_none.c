/* topics_none.c - `whorl dds` of a whorl that was built without topics. */
#include "tools/commands.h"

int wh_topics_main(int argc, char **argv)
{
	(void)argc;
	wh_say("%s: this whorl was built without topics (WHORL_DDS)", argv[0]);
	return WH_EXIT_MACHINE;
}
