/* seeds.h - with WHORL_SEEDS=DIRECTORY tests keep there what they write, for tests/fuzz to begin with. */
#ifndef WH_TESTS_SUPPORT_SEEDS_H
#define WH_TESTS_SUPPORT_SEEDS_H

#include "tests/harness.h"

/* As the input that begins with `kind`. */
void keep_seed(char kind, int number, const unsigned char *bytes, size_t count);

#endif
