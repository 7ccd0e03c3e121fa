/* runner.h - the main() of a program that tries one seed after another.
 *
 *     PROGRAM [--seed N] [--runs K] [--verbose]
 *
 * Runs seeds N to N+K-1; N is also taken from WHORL_SEED. The first run that breaks a property ends it, and the command
 * that runs it again is printed. How many it has run is told on stderr: on a terminal each second, else twice a minute. Exit status: 0 all good, 1 a property is broken, 2 usage.
 */
#ifndef WH_TESTS_SIM_RUNNER_H
#define WH_TESTS_SIM_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One run. False: `verdict` says what is broken. */
typedef bool runner_fn(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes);

int runner_main(int argc, char **argv, uint64_t runs, runner_fn *run);

#endif
