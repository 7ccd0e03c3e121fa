/* option.c - see option.h. */
#include "command/option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

uint64_t wh_option_number(const struct argp_state *state, const char *option, const char *text, uint64_t least,
			  uint64_t most)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least || value > most)
		argp_error(state, "%s is \"%s\", expected a number from %" PRIu64 " to %" PRIu64, option, text, least,
			   most);
	return value;
}
