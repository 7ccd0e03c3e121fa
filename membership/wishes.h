/* wishes.h - what nodes wish of dynamic subgroups, and the view that meets it (docs/decisions/0046).
 *
 * A node says the whole *set* of what it wishes, in messages; the leader composes from all sets the next view, and every member checks
 * what comes before it acknowledges it: that it follows from the view before but for wishes, and that it places this member as it wishes.
 *
 *     wishes.c    sets, also as bytes
 *     compose.c   the leader: from sets to a view
 *     succeed.c   a member: does that view succeed mine?
 *
 * Threads: any; nothing here has a state.
 */
#ifndef WH_MEMBERSHIP_WISHES_H
#define WH_MEMBERSHIP_WISHES_H

#include <stddef.h>

#include "membership/view.h"

#define WH_WISHES_MAX 256                 /* in a set */
#define WH_SET_BYTES_MAX (256 * 114 + 16) /* of a set as bytes */

/* What a node's disk has of a subgroup that is dormant. */
struct wh_holding {
	uint64_t birth;    /* 0: nothing */
	uint64_t last;     /* number of the view that its log ends in, */
	uint64_t place;    /* and how far it goes there */
	uint64_t frontier; /* so far all its members had it on disk in that view, it says */
	bool whole;        /* it has all of it */
};

struct wh_wish {
	char name[WH_NAME_BYTES];
	bool sends;   /* else it listens */
	bool refused; /* at a leader: the node has been told so, and it stays so, whatever changes. Not as bytes */
	bool anew;    /* one that is dormant, and that no holding brings back, begins anew, with nothing */
	struct wh_holding holding; /* of a durable one */
	struct wh_parameters parameters;
};

struct wh_wish_set {     /* of one node */
	uint64_t number; /* from 1, in one incarnation; a later set has a greater one */
	uint32_t count;
	struct wh_wish wishes[WH_WISHES_MAX]; /* by name, ascending */
};

/* NULL: it is not wished. */
const struct wh_wish *wh_wish_find(const struct wh_wish_set *set, const char *name);

/* Returns the length. */
size_t wh_wish_set_encode(unsigned char out[WH_SET_BYTES_MAX], const struct wh_wish_set *set);
/* False: it is none, and `out` is anything. There is one way to write a set. */
bool wh_wish_set_decode(struct wh_wish_set *out, const void *bytes, size_t count);

/* ---- compose.c: the leader ---------------------------------------------------------------------------------------------- */

enum wh_refused {
	WH_REFUSED_PARAMETER = 1,
	WH_REFUSED_TOO_MANY,
	WH_REFUSED_CONFIGURED,
	WH_REFUSED_DORMANT /* no node is here that has its log: it is wished again when it is dormant no more */
};
enum wh_parameter {
	WH_PARAMETER_NONE,
	WH_PARAMETER_MODE,
	WH_PARAMETER_STATE,
	WH_PARAMETER_WINDOW,
	WH_PARAMETER_BYTES,
	WH_PARAMETER_LARGE
};

struct wh_refusal {          /* of one wish */
	uint32_t rank, wish; /* of the member in the next view; which of its set */
	enum wh_refused why;
	enum wh_parameter parameter; /* the first that differs */
	uint64_t theirs;             /* its value in the subgroup */
	uint32_t node;               /* the lowest id of those that are there with that value */
};

struct wh_composed {
	bool changes; /* some member enters or leaves: else there need be no view for it */
	uint32_t refusal_count, refusal_room;
	struct wh_refusal *refusals; /* by rank, then by wish. The caller frees it */
};

/* `view` follows `before`, and has no wishes yet. Meets those of `sets`, by rank of `view` (NULL: none has come: that member stays what it
 * is), in the order of ranks. A set that leaves a subgroup in which its member does not rest, and sends, is not served yet: it is as if it
 * had not come. WHORL_OK; WHORL_MEMORY: `view` is as it was, and `out` has nothing. */
WH_MUST_CHECK enum whorl_result wh_wishes_compose(struct wh_composed *out, struct wh_view *view,
						  const struct wh_view *before, const struct wh_wish_set *const *sets,
						  const struct wh_layout_config *layout);

/* ---- succeed.c: each member --------------------------------------------------------------------------------------------- */

enum wh_succession {
	WH_SUCCEEDS,
	WH_OUT_OF_DATE, /* it serves a set of mine that I have replaced, or meets what has been refused since: another is coming */
	WH_NO_SUCCESSOR /* its maker is broken */
};

/* `view`, which has been decoded, against `base`, which follows `before` by the record of the attempt alone. `mine`: what the member of
 * rank `me` of `view` wishes, and `refused`, by wish: what of it this leader has refused. `why` (NULL: for no one) is for people. */
enum wh_succession wh_wishes_succeed(const struct wh_view *view, const struct wh_view *base,
				     const struct wh_view *before, uint32_t me, const struct wh_wish_set *mine,
				     const bool *refused, const char **why);

/* The same of a newcomer, which has not seen the view before. */
enum wh_succession wh_wishes_place(const struct wh_view *view, uint32_t me, const struct wh_wish_set *mine,
				   const bool *refused, const char **why);

#endif
