/* sim_logged.c - programs with logged topics, that all end and come back, one play for each seed: see topics_play.h, runner.h. */
#include <errno.h>

#include "tests/sim/runner.h"
#include "tests/sim/topics_play.h"

int main(int argc, char **argv)
{
	char name[] = "sim-logged"; /* participants say it, and a message that is longer takes longer */

	program_invocation_short_name = name;
	return runner_main(argc, argv, 100, topics_play_logged);
}
