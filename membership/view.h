/* view.h - the members of the group, and the members of each subgroup: immutable once made.
 *
 * A rank is a place in a view, 0 to members-1; a node id is for life. Members stand in the order of their age: survivors
 * keep their order from view to view, those that join come behind. In a view the members of a shard stand in the order of
 * their ranks, and so do its senders; a sender's place among them is its sender rank, which the total order is made of.
 *
 * The layout says which member is in which shard of which subgroup. It is computed anew for each view, from the view before, the
 * members that go, come and rest, and the configuration alone, so all members make the same (layout.c). Newcomers are sent it
 * (wire.h).
 *
 * Behind the shards of configured subgroups stand those that nodes enter and leave (*dynamic* ones, docs/decisions/0046), which only
 * wishes bring (wishes.h). A view that follows without any keeps of them the members that stay.
 */
#ifndef WH_MEMBERSHIP_VIEW_H
#define WH_MEMBERSHIP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define WH_NODES_MAX 256
#define WH_NAME_BYTES 64
#define WH_SHARDS_MAX 64    /* of one subgroup */
#define WH_DYNAMIC_MAX 1024 /* subgroups that nodes enter and leave, in a view */
/* A seat is not used again at once, so there are enough for those of two views. */
#define WH_SEATS (2 * WH_DYNAMIC_MAX)
#define WH_NOT_CONFIGURED UINT32_MAX
#define WH_MESSAGE_BYTES_MAX (1 << 30)

enum wh_shard_state {
	WH_SHARD_ACTIVE,
	WH_SHARD_INACTIVE, /* fewer members than its minimum, or no sender: nothing is sent in it in this view */
	WH_SHARD_LOST,     /* its last members have gone, and with them its state: for good */
};

struct wh_parameters { /* of a dynamic subgroup: those that enter it agree on them */
	bool ordered;
	bool durable; /* ordered, and on every member's disk before it is delivered */
	bool state;   /* the program has functions for its state */
	uint32_t window, message_bytes;
	uint64_t large_bytes; /* of the largest message; 0: none is larger than a slot (0045) */
};

/* One shard of a configured subgroup (their number and order never change), or a dynamic subgroup, which is whole. */
struct wh_view_subgroup {
	char name[WH_NAME_BYTES];
	uint32_t configured; /* index of the subgroup in the configuration; WH_NOT_CONFIGURED: it is dynamic */
	/* Of a dynamic one: its first view << 16 | its seat, a number which it has as long as it has members; 0 of others. */
	uint64_t birth;
	struct wh_parameters parameters; /* of a dynamic one */
	uint32_t shard, shards;          /* 0 of 1 where there is one only */
	enum wh_shard_state state;
	uint32_t member_count, sender_count, entered_count, resting_count, ending_count, returned_count;
	uint32_t *members; /* ranks, ascending */
	uint32_t *senders; /* ranks, ascending, members as well; index = sender rank */
	uint32_t *entered; /* ranks, ascending, of the members that were not in this shard in the view before; in the first
			    * view all: they have nothing of its state */
	uint32_t *resting; /* ranks, ascending, of the members that have declared that they do not send (0016) */
	/* Ranks, ascending, of the senders that the function has made plain members: they send until all that they have claimed is
	 * delivered, and claim nothing more (0016). */
	uint32_t *ending;
	/* Ranks, ascending, of those that have entered and have all of it in their logs, which end in view `from` at `cut`: it was dormant, and comes
	 * back in this view. None, 0 and 0 in all others. */
	uint32_t *returned;
	uint64_t from, cut;
};

/* A durable dynamic subgroup in which no member is left: a later view brings it back from their logs (0058). */
struct wh_dormant {
	char name[WH_NAME_BYTES];
	uint64_t birth;
	struct wh_parameters parameters;
	/* Numbers of views: of that in which it had members last, and of the one before it in their logs, if that has not begun there. */
	uint64_t last, before;
	uint32_t member_count;
	struct wh_last_member {
		uint32_t id;
		bool had; /* it had the log in `before`, too; else it had entered in `last` */
	} * members;      /* those of `last`, by their ranks there */
};

struct wh_view {
	uint64_t group;  /* identity of the group, drawn with its first view; each view takes it over (0032) */
	uint64_t number; /* from 0; each follows the one before */
	uint32_t members;
	uint32_t *ids;          /* node ids by rank */
	uint64_t *incarnations; /* by rank */
	uint32_t voters; /* a quorum of this view is taken of so many: its members, or (in the first view) all configured nodes */
	uint32_t joined_count, left_count;
	uint32_t *joined; /* node ids that were not in the view before; in the first view all of them */
	uint32_t *left;   /* node ids that were in the view before and are not in this one */
	uint32_t subgroup_count;
	uint32_t dynamic_count; /* of these the last, by their seats */
	struct wh_view_subgroup *subgroups;
	uint32_t dormant_count;     /* with the dynamic ones WH_DYNAMIC_MAX at most */
	struct wh_dormant *dormant; /* by their seats, which no others have meanwhile */
	/* By rank: the number of the last set of wishes of that member that is met in this view, but for what was refused; 0: none. */
	uint64_t *served;
};

#define WH_SEAT_BITS 16

static inline uint64_t wh_birth_make(uint64_t view, uint32_t seat)
{
	return view << WH_SEAT_BITS | seat;
}

static inline uint64_t wh_birth_view(uint64_t birth)
{
	return birth >> WH_SEAT_BITS;
}

static inline uint32_t wh_birth_seat(uint64_t birth)
{
	return (uint32_t)birth & ((1 << WH_SEAT_BITS) - 1);
}

enum wh_role { WH_ROLE_NONE, WH_ROLE_MEMBER, WH_ROLE_SENDER }; /* a sender is a member */

/* What node `id` is in that shard. A pure function of its arguments: every node asks it and must get the same. `view` has
 * its members, joined and left; of its subgroups nothing yet. */
typedef enum wh_role wh_layout_fn(const struct wh_view *view, const char *subgroup, uint32_t shard, uint32_t id,
				  void *ctx);

struct wh_subgroup_text { /* as a configuration says it */
	const char *name;
	/* all | 0,1,2 (node ids; of these, those that are in the view) | function | wish: nodes enter and leave it, so no view has a shard of
	 * it, and it is there as a dynamic subgroup of that name while it has members */
	const char *members;
	const char *senders;  /* all | half | one | 0,2: of the members; half: every second, rounded up; one: the first.
				With members = function it says nothing; with wish it is all */
	uint32_t shards;      /* >= 1; several: the members are shared out among them. With wish 1 */
	uint32_t members_min; /* a shard with fewer is inactive; >= 1. With wish 1 */
};

/* Do nodes enter and leave it? */
bool wh_subgroup_is_wished(const struct wh_subgroup_text *text);
/* How many it has in each view as configured: none, if nodes enter and leave it. */
uint32_t wh_subgroup_shards(const struct wh_subgroup_text *text);

struct wh_layout_config {
	const struct wh_subgroup_text *subgroups;
	uint32_t count;
	wh_layout_fn *function; /* for members = function; NULL: there is none */
	void *ctx;
};

struct wh_newcomer { /* a node that comes into a view */
	uint32_t id;
	uint64_t incarnation;
};

/* What the next view is made of. */
struct wh_next {
	const bool *removed;                 /* by rank of the view before: it is left out. NULL: none is */
	const struct wh_newcomer *newcomers; /* in no order; ids are distinct, and those of no survivor */
	uint32_t newcomer_count;
	/* By subgroup of the view before, wh_rest_words(before) words each: bit r % 64 of word r / 64 is set: the member of rank r
	 * rests. NULL: those that rest in the view before go on resting. */
	const uint64_t *rests;
	/* Likewise: the ending members that have nothing left to send; of a dynamic subgroup, which has none of these, those that are put out of
	 * it. NULL: none. */
	const uint64_t *ended;
	/* Nothing else changes: functions are not asked, and every member is what it was. */
	bool settles;
	/* Of these configured subgroups (wh_keeps_bit) nobody leaves a shard, whatever a function says: a log is needed there (0058). */
	uint64_t keeps;
};

#define WH_KEEPS_BITS 63

/* Those with the highest numbers share one. */
static inline uint64_t wh_keeps_bit(uint32_t configured)
{
	return UINT64_C(1) << (configured < WH_KEEPS_BITS ? configured : WH_KEEPS_BITS - 1);
}

/* Keys of images of first views lie below this, and those of all others not (wh_image_key in change.h): there are more attempts at one
 * than can ever be made. */
#define WH_FIRST_KEYS (UINT64_C(1) << 63)

/* The ballots of a restart's rounds are among the keys of first views, from this on: above all those of changes of a view, which are ranks + 1
 * (docs/decisions/0058). */
#define WH_RESTART_BALLOTS (WH_NODES_MAX + UINT64_C(1))

/* The number of the view that one of the others names. */
static inline uint64_t wh_image_view(uint64_t key)
{
	return (key & ~WH_FIRST_KEYS) >> 24;
}

#define WH_NEWCOMERS_MAX 64 /* into one view */

/* Into the view after this one: fewer than its members, so that these stay a majority of the next; into that of one member one. */
static inline uint32_t wh_newcomers_most(const struct wh_view *view)
{
	uint32_t fewer = view->members > 1 ? view->members - 1 : 1;

	return fewer < WH_NEWCOMERS_MAX ? fewer : WH_NEWCOMERS_MAX;
}

static inline uint32_t wh_rest_words(const struct wh_view *view)
{
	return (view->members + 63) / 64;
}

/* How many words a proposal of the view after this one has in a row (sst/columns.h, `proposal`). The last are a digest, and its seal. */
static inline uint32_t wh_proposal_words(const struct wh_view *view)
{
	return 2 * wh_newcomers_most(view) + 1 + 2 * view->subgroup_count * wh_rest_words(view) + 2;
}

/* The first view of that group: of `count` newcomers, ranked by their ids; a quorum is taken of `voters` nodes, at least `count`.
 * WHORL_OK, WHORL_MEMORY, WHORL_CONFIG (a list is wrong, or function without one; text says what is expected). */
WH_MUST_CHECK enum whorl_result wh_view_create(struct wh_view **out, uint64_t group,
					       const struct wh_newcomer *newcomers, uint32_t count, uint32_t voters,
					       const struct wh_layout_config *layout, struct wh_error *err);

/* The view after `before`; at least one survivor stays. Newcomers stand behind the survivors, by their ids. WHORL_OK,
 * WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_view_next(struct wh_view **out, const struct wh_view *before,
					     const struct wh_next *next, const struct wh_layout_config *layout,
					     struct wh_error *err);

/* What is left of a view when all of its members have ended, and some come back with what is on their disks (0058). */
struct wh_return {
	const uint64_t *
		incarnations; /* by rank of the view before: those that its members have now; 0: it has not come back */
	const bool *durable;  /* by subgroup (each shard) of the view before: its logs are what it goes on with */
	/* By subgroup of the view before, `members` of it each, by rank: the member has all of that log. The others enter it. */
	const bool *whole;
	/* Is there something left of the dynamic subgroup of that birth, which is durable? NULL: yes. */
	bool (*keeps)(void *ctx, uint64_t birth);
	void *ctx;
};

/* The view of those members of `before` that have come back, at least one; nobody joins it. Functions are not asked: every member is what it was,
 * so a log that is whole stays in its shard. What is not durable begins with nothing, so its members have entered it. Dynamic subgroups are gone,
 * or dormant if they are durable: no program has wished anything yet. Nobody rests. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_view_return(struct wh_view **out, const struct wh_view *before,
					       const struct wh_return *returns, const struct wh_layout_config *layout,
					       struct wh_error *err);
void wh_view_free(struct wh_view *view);

/* Can a group, or a subgroup, be called so? */
bool wh_name_holds(const char *name);

/* Checks one list alone, for messages that name the key. `nodes`: ids are below; `members` NULL: it is itself a member list. */
WH_MUST_CHECK enum whorl_result wh_view_check_list(uint32_t nodes, const char *members, const char *list,
						   struct wh_error *err);

/* The same for the number of shards: at most one for each member. */
WH_MUST_CHECK enum whorl_result wh_view_check_shards(uint32_t nodes, const char *members, uint32_t shards,
						     struct wh_error *err);

/* The place of `rank` in ascending `ranks`, -1 if it is not there. */
int wh_rank_find(const uint32_t *ranks, uint32_t count, uint32_t rank);

static inline bool wh_rank_is_in(const uint32_t *ranks, uint32_t count, uint32_t rank)
{
	return wh_rank_find(ranks, count, rank) >= 0;
}

/* The rank of node `id`, -1: it is not in the view. */
int wh_view_rank(const struct wh_view *view, uint32_t id);
/* The same, if it is that incarnation. */
int wh_view_rank_of(const struct wh_view *view, uint32_t id, uint64_t incarnation);

/* The dynamic subgroups of a view: the first of `dynamic_count`. */
static inline const struct wh_view_subgroup *wh_view_dynamic(const struct wh_view *view)
{
	return view->subgroups + (view->subgroup_count - view->dynamic_count);
}

/* NULL: none of that name, or birth, is dormant. */
const struct wh_dormant *wh_view_dormant(const struct wh_view *view, const char *name);
const struct wh_dormant *wh_view_dormant_born(const struct wh_view *view, uint64_t birth);
/* NULL: that node is none of its last members. */
const struct wh_last_member *wh_last_member_find(const struct wh_dormant *dormant, uint32_t id);

/* Can a subgroup be so? As the file may say it, with large_bytes 0 or larger than a slot. */
bool wh_parameters_hold(const struct wh_parameters *is);
/* 0 unordered, 1 ordered, 2 durable: as refusals say it. */
static inline unsigned wh_parameters_mode(const struct wh_parameters *is)
{
	return is->durable ? 2 : is->ordered;
}

/* Bytes of a message, at most. */
uint64_t wh_parameters_largest(const struct wh_parameters *is);
bool wh_parameters_equal(const struct wh_parameters *one, const struct wh_parameters *other);

/* The members' incarnations and ids, the layout and all else: are they the same? For checks. */
bool wh_view_equals(const struct wh_view *one, const struct wh_view *other);
/* The same of all but dynamic subgroups, and the numbers of served sets. */
bool wh_view_equals_but_wishes(const struct wh_view *one, const struct wh_view *other);

/* ---- quorum: the members that may decide what follows a view -------------------------------------------------------
 * More than half of its members, not counting those that left in order; or exactly half of them with the tie-breaker
 * (protocol.md 2.8; docs/protocol.md). */

struct wh_quorum {
	uint32_t members; /* `voters` of the view, without those that left in order */
	int tie_breaker;  /* a rank of the view, -1: none, or it is not a member */
};

bool wh_quorum_holds(const struct wh_quorum *quorum, uint32_t votes, bool tie_breaker_votes);

#endif
