/* policy.c - see policy.h. */
#include "dds/policy.h"
