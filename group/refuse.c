/* refuse.c - see refuse.h. */
#include "group/refuse.h"

#include <stdio.h>

#include <whorl/whorl.h>

static _Thread_local char refusal[1200]; /* the name of a function, and a text of wh_error */

enum whorl_result wh_refuse(const char *function, const char *why)
{
	snprintf(refusal, sizeof(refusal), "%s: %s", function, why);
	return WHORL_INVALID;
}

const char *whorl_invalid_text(void)
{
	return refusal;
}
