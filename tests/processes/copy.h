/* copy.h - as many bytes as a state has, moved by the plainest pair of programs there is: what stands beside a transfer. */
#ifndef WH_PROCESSES_COPY_H
#define WH_PROCESSES_COPY_H

#include <stdbool.h>
#include <stdint.h>

/* Over the kind of connection that the transport has for states: one process writes `bytes` bytes, as many at a time as the system takes, and another
 * copies what has come into memory of its own and compares that, as the restore of a member does (states.c). How long from its first byte
 * to its last, in seconds; 0: it did not come to that. */
double copy_seconds(bool tcp, uint64_t bytes, uint64_t seed);

#endif
