/* whorl/result.h - what a call can answer.
 *
 * One list makes the constants and their texts (whorl_result_text), so they cannot drift apart. WHORL_OK is 0 and every
 * other result is positive; a later version only appends.
 */
#ifndef WHORL_RESULT_H
#define WHORL_RESULT_H

/* The list: X(the constant without WHORL_, its value, its text) for each result. */
#define WHORL_RESULTS(X)                                                                                               \
	/* Expected: part of normal work, no text is kept. */                                                          \
	X(OK, 0, "done")                                                                                               \
	X(AGAIN, 1, "not now: the window is full, or there is nothing yet")                                            \
	X(TIMEOUT, 2, "the time allowed ran out")                                                                      \
	X(CLOSED, 3, "the node is closed or closing")                                                                  \
	X(NOT_FOUND, 4, "there is nothing of that name")                                                               \
	X(NOT_SENDER, 5, "this node is not a sender of the subgroup")                                                  \
	X(WOULD_DEADLOCK, 6, "a call that waits was made from an upcall, which the loop itself runs")                  \
	X(FORKED, 7, "this process is a fork of the one that opened the node; here it may only be closed")             \
	/* Operating: the object that was called keeps a text that says more. */                                       \
	X(INVALID, 8, "an argument is out of its range")                                                               \
	X(CONFIG, 9, "the configuration has mistakes")                                                                 \
	X(MEMORY, 10, "more memory than there is, or than the configuration allows")                                   \
	X(SYSTEM, 11, "the operating system refused")                                                                  \
	X(REFUSED, 12, "a peer was refused, or refused us: other user, version, group or layout")                      \
	X(MEMBER_GONE, 13, "a member is gone, or its memory holds what no member can have said")                       \
	X(UNSUPPORTED, 14, "this build or this machine cannot do that")                                                \
	X(NO_QUORUM, 15, "too few members are heard to go on: a quorum of the view is needed")                         \
	X(REMOVED, 16, "the other members have removed this node from the group")                                      \
	X(SHARD_LOST, 17, "no member of the shard has survived")                                                       \
	X(PENDING, 18, "accepted: it will be sent when enough members are heard again")                                \
	X(IN_DOUBT, 19, "accepted, and this node cannot tell any more what has become of it")                          \
	X(TOO_SMALL, 20, "the answer does not fit into the room that was given")                                       \
	X(CUT_OFF, 21, "this node has lost so many members for good that it will never hear a quorum again")           \
	X(GONE, 22, "there is no such property: the function did not run")                                             \
	X(DISK, 23, "this node's disk has failed, is full, or does not answer")

enum whorl_result {
#define WHORL_RESULT_CONSTANT(name, value, text) WHORL_##name = (value),
	WHORL_RESULTS(WHORL_RESULT_CONSTANT)
#undef WHORL_RESULT_CONSTANT
};

#endif
