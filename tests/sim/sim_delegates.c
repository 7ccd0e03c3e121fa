/* sim_delegates.c - programs with delegation, in processes that die, leave and come late, one play for each seed: see delegates_play.h, runner.h. */
#include "tests/sim/delegates_play.h"
#include "tests/sim/runner.h"

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 100, delegates_play);
}
