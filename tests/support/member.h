/* member.h - one member of a view of which the test plays all others: their rows are written by hand, time stands still
 * unless moved, and what the change of view asks of its participant is noted as text.
 */
#ifndef WH_TESTS_SUPPORT_MEMBER_H
#define WH_TESTS_SUPPORT_MEMBER_H

#include <stdarg.h>

#include "membership/change_int.h"
#include "tests/support/fake.h"

#define MEMBERS_MAX 6
#define NODES 32
#define GROUPS 2 /* of the second no member is asked for a cut */
#define TIMEOUT_NS WH_NS_PER_S

struct member {
	struct wh_image image; /* first: the transport's functions get it */
	struct fake_env env;
	struct wh_loop loop; /* its clock, and the time that is asked for */
	struct wh_view view;
	struct wh_view_subgroup subgroups[GROUPS];
	uint32_t resting[16], ending[16];
	uint64_t incarnations[MEMBERS_MAX], served[MEMBERS_MAX];
	struct wh_layout layout;
	struct wh_node_columns columns;
	struct wh_counter_col received_num, delivered_num, persisted_num;
	struct wh_array_col whole; /* of durable subgroups: make_durable */
	struct wh_cut_source cuts_from[GROUPS];
	uint32_t everybody[MEMBERS_MAX];
	struct wh_sst sst;
	struct wh_pushes pushes;
	struct wh_push_stats push_stats;
	struct wh_heartbeat heartbeat;
	wh_word beats;
	struct wh_change change;
	const struct wh_view *next; /* what is open, as a layout makes it; NULL: every member stays what it is */

	_Alignas(64) unsigned char rows[MEMBERS_MAX][FAKE_ROW], frozen[MEMBERS_MAX][FAKE_ROW];
	const unsigned char *control[MEMBERS_MAX], *row[MEMBERS_MAX];
	size_t posts;                /* calls of post */
	uint32_t posted[128];        /* the offsets of words that were pushed, in order; heartbeats are not noted */
	size_t posted_post[128];     /* and in which post, */
	struct wh_to posted_to[128]; /* and to which ranks */
	size_t posted_count;
	bool quiet; /* the last push was */

	bool others_begin;               /* some member beats in the next view */
	struct wh_roster roster;         /* of all nodes: those that want to come in, */
	bool wants[NODES];               /* which ask again and again, */
	enum wh_arrival arrivals[NODES]; /* and how they follow an invitation */
	struct wh_join_requests requests;
	uint64_t invitations;                 /* events, of those of my invitations, that have been noted */
	char told[2048];                      /* by the change, one word for each call, see below */
	bool is_open;                         /* what it is answered */
	unsigned rounds;                      /* of delivery until all is done */
	bool cannot_open;                     /* memory is out */
	bool has_open;                        /* something */
	struct wh_view *opened;               /* the last that was, if it serves wishes */
	uint64_t past;                        /* no image below this key is opened any more */
	struct wh_transport transport;        /* has nothing but its name, */
	bool prepares;                        /* and what it answers */
	void (*meanwhile)(struct member *m);  /* called from is_open, once */
	bool kept;                            /* where it is durable: what keep answers, */
	void (*while_kept)(struct member *m); /* and calls before that, once */
};

/* ---- the transport ------------------------------------------------------------------------------------------------------- */

void member_post(struct wh_image *image, const struct wh_push *pushes, size_t count);
void member_freeze(struct wh_image *image, uint32_t rank);
bool member_prepares(struct wh_transport *transport);

extern const struct wh_transport_ops member_ops;

bool is_frozen(const struct member *m, uint32_t rank);

/* ---- the participant ------------------------------------------------------------------------------------------------------ */

/* Members that are left out, nodes that come in, members that rest (subgroup and rank), whether it serves wishes, and the key in
 * hexadecimal, without its first bit, as everywhere here.
 */
const struct wh_view *on_open(void *ctx, const struct wh_next *next, struct wh_view *view, uint64_t key);
bool on_is_open(void *ctx);
void on_discard(void *ctx, uint64_t key);

void forget_told(struct member *m);
/* The nodes that want to come in are as the test says: an image of that key is proposed. */
void play_newcomers(struct member *m, uint64_t key);
/* That node wants to come in, and follows an invitation so. */
void arrive(struct member *m, uint32_t id, enum wh_arrival how);
/* What was told since the last time. */
void expect_told(struct member *m, const char *expected);

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

void say(struct member *m, uint32_t rank, uint32_t offset, uint64_t value);
uint64_t said(const struct member *m, uint32_t rank, uint32_t offset);
uint64_t mine(const struct member *m, uint32_t offset);
void say_suspected(struct member *m, uint32_t from, uint32_t rank, uint64_t kind);
uint64_t my_suspicion(const struct member *m, uint32_t rank);

/* When the words at these offsets were pushed, 0: never. */
size_t posted_when(const struct member *m, uint32_t offset);

/* ---- time ------------------------------------------------------------------------------------------------------------------ */

void member_pass_ns(struct member *m, uint64_t ns);

/* It hears a quorum, and so its heartbeats are even. */
void beat(struct member *m, uint32_t rank);
void beat_deaf(struct member *m, uint32_t rank);

/* Time passes, in steps of a quarter of the time-out. Those in `heard` ("013") beat meanwhile. */
void live(struct member *m, unsigned quarters, const char *heard);

/* Passes until nothing is done. */
void settle(struct member *m);

/* ---- a change of view -------------------------------------------------------------------------------------------------------
 * The key of the image that leader r proposes in attempt a is 7 << 16 | r << 8 | a. */

#define TICKET(leader, attempt) (((uint64_t)(leader) + 1) << 16 | (attempt))

void die(struct member *m, uint32_t rank);
void member_leave(struct member *m, uint32_t rank);
uint64_t cut_offset(const struct member *m, uint32_t group);

/* Those members have suspected `suspect`, wedged with so much received, and acknowledged. */
void acknowledge(struct member *m, const char *ranks, uint32_t suspect, uint64_t received, uint64_t ticket);

uint32_t record_word(const struct member *m, uint64_t attempt, uint32_t i);

/* As that leader: what the record says is all. */
void seal_record(struct member *m, uint32_t leader, uint64_t attempt);
void propose(struct member *m, uint32_t leader, uint64_t attempt, uint32_t without);

/* All below this I have received. */
void receive(struct member *m, uint64_t below);

/* Their rows have that decision, as made by rank `by`. */
void decide(struct member *m, const char *ranks, uint64_t key, uint64_t cut, uint32_t by);
void expect_my_decision(const struct member *m, uint64_t key, uint64_t cut, uint64_t agreed);

/* ---- making ----------------------------------------------------------------------------------------------------------------- */

struct member *member_make(uint32_t me, uint32_t members, int tie_breaker);

/* The first subgroup is durable, and of the members those in `whole` ("013") have all of it. */
void make_durable(struct member *m, const char *whole);
void member_free(struct member *m);

#endif
