/* logs.h - do the logs of all members tell one story, and one that may be told? */
#ifndef WH_PROCESSES_LOGS_H
#define WH_PROCESSES_LOGS_H

#include "tests/processes/cluster.h"

/* After the end of all. What is wrong goes to `text`. */
bool logs_agree(const struct cluster *c, char *text, size_t bytes);

#endif
