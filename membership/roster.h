/* roster.h - all nodes of the group that have been met, members or not, and what they say that they are (docs/decisions/0016).
 *
 *     roster.c       the nodes that are there; intros
 *     join_requests.c   at a member: nodes that want to come in, are invited, are there. Also of the coordinator of a first view
 *     join.c       at a node that is no member: seeking, being invited, entering; forming a first view
 *
 * Threads: the loop's. Memory: wh_roster_init allocates a known node for each id; nothing else allocates
 * but for an invitation.
 */
#ifndef WH_MEMBERSHIP_ROSTER_H
#define WH_MEMBERSHIP_ROSTER_H

#include "base/check.h"
#include "membership/wire.h"
#include "predicates/loop.h"
#include "transport/transport.h"

#define WH_LIVES_KEPT 4 /* of one id that have ended; of what came before nothing is known any more */
#define WH_FAILURES_MAX 6

struct wh_known_node {        /* another node of the group, by id */
	uint64_t incarnation; /* of the node that has been met; 0: none is there */
	uint64_t heard_ns;    /* when it said something last */
	bool introduced;      /* what follows has been said by it */
	const char *differs;  /* NULL, or what of its configuration is not as here: it is not counted, and not let in */
	bool quorum;          /* of a member: it hears one */
	bool follows;         /* of another: it follows an invitation */
	bool forced;          /* an operator has told it to form a group (0032) */
	uint64_t group; /* of a member: which; of another: that of its record, or of what it has on disk; 0: none */
	uint64_t members[WH_NODES_MAX / 64]; /* of a member: the ids in its view */
	enum wh_condition standing;
	uint32_t leader;               /* of a member: as it sees it */
	uint64_t view;                 /* of a member: its number */
	enum wh_disk_is disk;          /* of another: what it has on disk, where nodes keep logs, */
	uint64_t base;                 /* and the number of the view that it stands on */
	uint64_t key;                  /* of its image; of others: keys of first views must be greater */
	uint64_t told;                 /* which of my intros it has been sent; 0: none */
	uint64_t ended[WH_LIVES_KEPT]; /* incarnations that were there, and are gone; the last first */
	uint64_t dead[WH_LIVES_KEPT]; /* incarnations of which it was proved that their process has ended; the last first */
	uint64_t dropped; /* it has said that it has no part in images of first views up to that key any more */

	/* join_requests.c */
	uint64_t wanted_ns;     /* when it asked last to be let in; 0: never */
	bool recalls;           /* it is to be told that `recalled` is void */
	uint32_t sent;          /* how much of the invitation it has been sent, in bytes */
	uint64_t invited;       /* the key that it is invited by; 0: it is not */
	uint64_t recalled;      /* a key */
	uint64_t opened;        /* the last key of an image that has been opened there */
	uint64_t there;         /* the last key of an image that is ready there */
	uint32_t failures;      /* how often it has been waited for in vain, up to some number */
	uint64_t not_before_ns; /* it has been waited for in vain */
};

struct wh_roster { /* the fields up to `subgroups_digest` are set by the caller */
	struct wh_diag *diag;
	struct wh_loop *loop;
	struct wh_transport *transport;
	uint32_t id, nodes; /* mine; all ids are below */
	uint64_t incarnation;
	uint64_t group_digest, subgroups_digest; /* of the configuration */

	const struct wh_view *view;        /* of which I am a member; NULL: of none */
	struct wh_known_node *known_nodes; /* by id */
	struct wh_wire intro;              /* mine */
	uint64_t version;                  /* of it, from 1 */
	uint64_t other;   /* another group of this name has been met, and it was told (0032); 0: none */
	uint64_t seen;    /* no member yet: the greatest key of a first view; it goes out with the next intro */
	bool outstanding; /* some have not been told */
	bool quiet;       /* nothing of the others has come in this pass */
};

/* WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_roster_init(struct wh_roster *roster, struct wh_error *err);
void wh_roster_close(struct wh_roster *roster);

void wh_roster_met(struct wh_roster *roster, uint32_t node, uint64_t incarnation);
void wh_roster_gone(struct wh_roster *roster, uint32_t node);
/* Its process has ended: a view that begins later may have it as a member (0039). */
void wh_roster_died(struct wh_roster *roster, uint32_t node, uint64_t incarnation);

/* A WITHDRAWN or VIEW from that node: it has no part in that image any more, or in any but the one that it invites into. */
void wh_roster_dropped(struct wh_roster *roster, uint32_t node, const struct wh_wire *message);

/* What I am from now on. All nodes that are not in `view` with me are told. */
void wh_roster_introduce(struct wh_roster *roster, const struct wh_wire *intro, const struct wh_view *view);

/* A WH_WIRE_INTRO from that node. */
void wh_roster_on_intro(struct wh_roster *roster, uint32_t node, const struct wh_wire *message);

/* A member of another group of this name that is there; -1: none is. `group` 0: any two that differ, and both hear a quorum. */
int wh_roster_stranger(const struct wh_roster *roster, uint64_t group);

/* Says so in the log, when another group of this name is met: two identities, and the nodes in them (0032). */
void wh_roster_watch_groups(struct wh_roster *roster);

/* Tells the nodes that have not been told. Cheap when there are none. */
size_t wh_roster_step(struct wh_roster *roster);

/* False: the queue is full; the loop comes round soon. A message to a node that is gone counts as sent. */
bool wh_roster_send(struct wh_roster *roster, uint32_t node, const struct wh_wire *message);
/* What takes several messages of that kind and key: `bytes` from *sent on, `total` in all. Returns how many messages have gone, and moves
 * *sent on; it is `total` when all have. */
size_t wh_roster_send_pieces(struct wh_roster *roster, uint32_t node, enum wh_wire_kind kind, uint64_t key,
			     const unsigned char *bytes, uint32_t total, uint32_t *sent);

/* Is that incarnation there? */
static inline bool wh_roster_has(const struct wh_roster *roster, uint32_t node, uint64_t incarnation)
{
	return node == roster->id ? incarnation == roster->incarnation
				  : roster->known_nodes[node].incarnation == incarnation;
}

static inline bool wh_is_first_view(uint64_t key)
{
	return key < WH_FIRST_KEYS;
}

static inline bool wh_is_among_lives(const uint64_t *lives, uint64_t incarnation)
{
	for (int i = 0; i < WH_LIVES_KEPT; i++)
		if (lives[i] == incarnation)
			return true;
	return false;
}

/* Is there proof that the process of this incarnation has ended? */
static inline bool wh_roster_has_died(const struct wh_roster *roster, uint32_t node, uint64_t incarnation)
{
	return wh_is_among_lives(roster->known_nodes[node].dead, incarnation);
}

/* It is known that this incarnation is there no more, or has no part in that image. (A node that was never met may still come,
 * also when another life of its id is there: which of the two is the later one cannot be told.) */
static inline bool wh_roster_lost(const struct wh_roster *roster, uint32_t node, uint64_t incarnation, uint64_t key)
{
	const struct wh_known_node *known = &roster->known_nodes[node];

	if (node == roster->id)
		return false;
	return wh_is_among_lives(known->ended, incarnation) ||
	       (known->incarnation == incarnation && wh_is_first_view(key) && known->dropped >= key);
}

/* ---- join_requests.c: the nodes that come in ------------------------------------------------------------------------------ */

struct wh_join_requests {
	struct wh_roster *roster;
	uint64_t patience_ns; /* a node that did not come in time is invited again after so long, or longer */
	uint32_t turn;        /* from which id on newcomers are looked for */
	uint64_t key;         /* of the invitation that is out; 0: none */
	unsigned char *bytes; /* the view that it is into */
	size_t count;
	bool outstanding; /* something is still to be sent */
};

/* A JOIN or THERE. True: a node wants to come in; a leader should look. A member that does not lead answers with an intro. */
bool wh_join_requests_on_message(struct wh_join_requests *requests, uint32_t node, const struct wh_wire *message,
				 bool leads);

/* Is that newcomer there, with the memory of `key`? */
enum wh_arrival { WH_ARRIVAL_COMING, WH_ARRIVAL_THERE, WH_ARRIVAL_GONE };
enum wh_arrival wh_join_requests_arrival(const struct wh_join_requests *requests, uint64_t key,
					 const struct wh_newcomer *newcomer);

/* The nodes that want to come in and may. Returns how many, at most `max`. */
uint32_t wh_join_requests_newcomers(struct wh_join_requests *requests, struct wh_newcomer *out, uint32_t max);

/* A newcomer of `view` is invited into it, by `key`; a node that was invited and is not any more is told, and, if it did not
 * come in time (`blames`), not invited again for a while. NULL: no node is. WHORL_OK, WHORL_MEMORY: no node has been invited,
 * and none of them will arrive. */
enum whorl_result wh_join_requests_invite(struct wh_join_requests *requests, const struct wh_view *view, uint64_t key,
					  bool blames);

/* All in that first view are told that this node has no part in it any more. */
void wh_join_requests_renounce(struct wh_join_requests *requests, const struct wh_view *view, uint64_t key);

/* `view` has begun: a node that is in it wants no more. */
void wh_join_requests_settle(struct wh_join_requests *requests, const struct wh_view *view);

size_t wh_join_requests_step(struct wh_join_requests *requests);
void wh_join_requests_close(struct wh_join_requests *requests);

#endif
