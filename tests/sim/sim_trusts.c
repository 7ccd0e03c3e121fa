/* sim_trusts.c - programs with replicated trusts, in processes that die, leave and come late, one play for each seed: see trusts_play.h, runner.h. */
#include "tests/sim/runner.h"
#include "tests/sim/trusts_play.h"

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 100, trusts_play);
}
