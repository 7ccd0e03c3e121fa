/* participant.h - what membership/ has done by the layer above: the one table of functions for the change of a view (change.h) and for the way of a
 * node into one (join.h); group/ fills it in.
 *
 *     open --- is_open --- has_begun --- begin        the view that comes next, or first: there is at most one
 *        \________ discard
 *     wedge --- keep --- deliver                      the view that ends
 *     told                                            what has happened: nothing is asked
 *
 * Those of the first line are the same for both: memory of a view in which this node will be a member. A node that comes in has no view that
 * ends.
 *
 * Threads: the loop's. Nothing here may block.
 */
#ifndef WH_MEMBERSHIP_PARTICIPANT_H
#define WH_MEMBERSHIP_PARTICIPANT_H

#include "membership/view.h"

enum wh_fact_kind {
	WH_FACT_SUSPECTED, /* that member of my view is, from now on; `why` is for people */
	WH_FACT_BROKEN,    /* its row holds what no member can have said: `why` is what. It is to be suspected */
	WH_FACT_HEARD,     /* a quorum of my view is heard again, */
	WH_FACT_UNHEARD,   /* after too few were to suspect those that are not */
	WH_FACT_REMOVED,   /* the others go on without this node: `rank` says so */
	WH_FACT_CUT_OFF, /* no quorum of my view can ever be heard again: too many connections have ended. Or a log is missing, and does not come */
	WH_FACT_REFUSED  /* the group will not have this node, or it cannot form one: for good. `why` */
};

struct wh_fact {
	enum wh_fact_kind kind;
	uint32_t rank;   /* of the view that ends; 0 where nothing is said of it */
	const char *why; /* NULL where nothing is said of it. A literal, but for WH_FACT_REFUSED: that is the caller's */
};

struct wh_participant {
	/* Begins to open the memory of a view. With `next` it comes after the one that this node is in: `view` is that view, if it serves wishes;
	 * NULL: it follows from `next`. Without, this node is new in `view`. `view` becomes the participant's, also on failure. An earlier one has
	 * been discarded. Returns the view that is opening, which stays until it is discarded or has begun. NULL: that cannot be done; a node that
	 * has stopped, or is in no view, cannot go on then, and has said why. */
	const struct wh_view *(*open)(void *ctx, const struct wh_next *next, struct wh_view *view, uint64_t key);
	/* Is it open, but for members that no node waits for (those that are suspected; wh_join_misses), and on disk what must be before others
	 * count on it? A node that comes in then also says in it that it is there. */
	bool (*is_open)(void *ctx);
	/* Has it begun, as far as rows tell? Then it is final, and not only for the node that has begun it. `late`: of a first view, a node that is
	 * not there now is not waited for any more. A view behind a restart has when some member has begun it, or wh_restart_may_begin, all are
	 * there or lost, and wh_restart_is_enough. */
	bool (*has_begun)(void *ctx, bool late);
	/* What is open is not needed, if something is; and nothing of a key below this will be asked for any more. 0: nothing is said of keys. */
	void (*discard)(void *ctx, uint64_t key);
	/* The view that is open begins, and the one that this node was in is over. */
	void (*begin)(void *ctx);

	/* Nothing is sent or received in the view any more; the last counters have been pushed. */
	void (*wedge)(void *ctx);
	/* Is it on disk that this node agrees to the view that is open, of image `key`, and to these cuts, by subgroup, at that ballot (rank + 1 of
	 * the decision's maker)? Begins to write it if it is not; asked again in each pass, of the same or, if that one came to nothing, another.
	 * What it writes last counts. NULL: nothing is kept. */
	bool (*keep)(void *ctx, uint64_t key, uint64_t ballot, const uint64_t *cuts);
	/* Delivers up to the cuts, by subgroup, for some while. *done: all of it. Returns how much was delivered. */
	size_t (*deliver)(void *ctx, const uint64_t *cuts, bool *done);

	void (*told)(void *ctx, const struct wh_fact *fact);
};

#endif
