/* sim_topics.c - programs with topics, in processes that die, leave and come late, one play for each seed: see topics_play.h, runner.h. */
#include <errno.h>

#include "tests/sim/runner.h"
#include "tests/sim/topics_play.h"

int main(int argc, char **argv)
{
	char name[] = "sim-topics"; /* participants say it, and a message that is longer takes longer */

	program_invocation_short_name = name;
	return runner_main(argc, argv, 100, topics_play);
}
