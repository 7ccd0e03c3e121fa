/* again.h - is what was delivered once delivered again, and nothing else? The judgement on groups that come back after the end of all. */
#ifndef WH_PROCESSES_AGAIN_H
#define WH_PROCESSES_AGAIN_H

#include "tests/processes/cluster.h"

/* Of durable subgroups, over all lives, after the end of all: there is one sequence of messages, each in one place of one view, of which
 * each life has seen all up to somewhere (with what is in a state that it began with); those that live at the end have seen all of it. And of
 * a number there is one view, and numbers are consecutive at each. What is wrong goes to `text`. */
bool again_agree(const struct cluster *c, char *text, size_t bytes);

#endif
