/* answer.h - what a node says of itself to a visitor (group/status/status.h). On the loop, between two passes.
 */
#ifndef WH_GROUP_ANSWER_H
#define WH_GROUP_ANSWER_H

#include "group/status/status.h"

/* Answers a question that has come to the node; whatever it does not understand is told so. On the loop, between two passes. It
 * allocates, for a moment, in proportion to the members and shards of the view; without memory there is no answer. */
void wh_status_answer(whorl_node *node, const void *question, size_t bytes, uint64_t query);

/* The node as it is now. On the loop. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_status_make(whorl_node *node, struct whorl_status **out);

#endif
