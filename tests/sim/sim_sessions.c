/* sim_sessions.c - nodes that meet, leave, die and come back in a network that does its worst, one play for each seed: see
 * sessions_play.h, runner.h. */
#include "tests/sim/runner.h"
#include "tests/sim/sessions_play.h"

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 100, sessions_play);
}
