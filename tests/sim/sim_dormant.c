/* sim_dormant.c - durable subgroups that nodes enter and leave, one play for each seed: see dormant_play.h, runner.h. */
#include "tests/sim/dormant_play.h"
#include "tests/sim/runner.h"

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 100, dormant_play);
}
