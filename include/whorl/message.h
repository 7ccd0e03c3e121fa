/* whorl/message.h - a message as an upcall gets it. */
#ifndef WHORL_MESSAGE_H
#define WHORL_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

typedef struct whorl_subgroup whorl_subgroup;

struct whorl_message {
	const void *data; /* in place in the sender's ring; 16-byte aligned; valid until the upcall returns */
	size_t bytes;
	uint32_t sender; /* node id */
	uint64_t index; /* of this message among those its sender committed in this subgroup, from 0. Ordered mode: gap-free
			      except for aborted claims, which take a number too */
	uint64_t view;     /* number of the view in which it is delivered */
	uint64_t sequence; /* its place in the view's total order (ordered mode): round x senders + rank. Grows, with gaps
			      where a sender had nothing to say; begins anew in each view, so (view, sequence) is the place
			      in the whole. Unordered mode: equal to index */
	whorl_subgroup *subgroup;
};

#endif
