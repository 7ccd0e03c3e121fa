/* whorl/message.h - a message as an upcall gets it. */
#ifndef WHORL_MESSAGE_H
#define WHORL_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

/* Element `index` of an array of struct `type` that the library has made. Its elements lie as far apart as the first of them says,
 * which may be more than this header's sizeof (whorl.h, STRUCTS):
 *     const struct whorl_message *m = WHORL_AT(whorl_message, messages, i); */
#define WHORL_AT(type, array, index)                                                                                   \
	((const struct type *)(const void *)((const char *)(array) + (size_t)(index) * (array)->size))

typedef struct whorl_subgroup whorl_subgroup;

struct whorl_message {
	uint32_t size;   /* of this struct, at the library's */
	uint32_t sender; /* node id */
	const void *
		data; /* in place in the sender's ring; 16-byte aligned; valid until the upcall returns. All `bytes`, if
			     * `parts` is 1; else the first part: whorl_message_part */
	size_t bytes; /* of all parts */
	uint64_t index; /* of this message among those its sender committed in this subgroup (in its present stay, if that is
			      dynamic), from 0. Ordered mode: gap-free except for aborted claims, which take a number too, and
			      large messages, which take several */
	uint64_t view;     /* number of the view in which it is delivered */
	uint64_t sequence; /* its place in the view's total order (ordered mode): round x senders + rank. Grows, with gaps
			      where a sender had nothing to say; begins anew in each view, so (view, sequence) is the place
			      in the whole. Unordered mode: equal to index */
	whorl_subgroup *subgroup;
	uint64_t incarnation; /* of the sender: which of its lives. With the subgroup's name, (sender, incarnation, index) names a
				 * message for good. In a dynamic subgroup `view` belongs to the name, since there indexes begin at 0
				 * with each stay of the sender; without an order members may deliver one message in different views */
	uint32_t parts; /* in how many places of memory it lies: 1, but for large messages (whorl_message_part) */
	uint32_t indexes; /* how many it has taken, from `index` on: 1, but for large messages. The next one of this sender has
			     * index + indexes, or a higher one */
	const void *pieces; /* private; NULL for a message in one part */
};

#endif
