/* cluster_int.h - what the parts of the parent know of each other: cluster.c acts, outcome.c sees what follows. */
#ifndef WH_PROCESSES_CLUSTER_INT_H
#define WH_PROCESSES_CLUSTER_INT_H

#include "tests/processes/cluster.h"

#define CLOSE_MS ((int)test_patience(30000))

cluster_is cluster_is_warm;

#endif
