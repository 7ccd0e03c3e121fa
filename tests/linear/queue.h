/* queue.h - is a history of pushes and pops one that a single queue, first in, first out, could have given?
 *
 * All values that are pushed differ, and each operation has ended. Then the history is linearizable if and only if it has none of four
 * faults (Henzinger, Sezgin and Vafeiadis 2013), which are looked for one by one. No orders are tried: a long history is no harder.
 */
#ifndef WH_TESTS_LINEAR_QUEUE_H
#define WH_TESTS_LINEAR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue_op {
	bool pushes;
	bool found;     /* of a pop: the queue was not empty */
	uint64_t value; /* pushed, or popped */
	uint64_t began_ns, ended_ns;
};

/* NULL: it could. Else what is wrong, and *at (may be NULL) is the operation that shows it. An end of memory ends the program. */
const char *queue_judge(const struct queue_op *ops, size_t count, size_t *at);

#endif
