/* option.h - values of options on the command line. */
#ifndef WH_COMMAND_OPTION_H
#define WH_COMMAND_OPTION_H

#include <argp.h>
#include <stdint.h>

/* A whole number from `least` to `most`; else argp_error says what was expected of `option`, which ends the program. */
uint64_t wh_option_number(const struct argp_state *state, const char *option, const char *text, uint64_t least,
			  uint64_t most);

#endif
