/* restart_lab.h - a durable group of a few nodes in one process that loses its power: real ways into a view (membership/join.h) and real
 * restarts (restart.h), over messages that are late or lost, with disks that take time for writes. What members of a view do is coarse: they
 * send, persist, agree to a next view and install it, as docs/decisions/0058 has it (tests/models/restart.h is the model of that), by the
 * lab's word alone.
 *
 * What must hold is looked at whenever a node begins a view:
 *     nothing lost   it begins with all that was delivered, and with that alone
 *     one group      no two views of one number begin, and none while a quorum of the one before goes on
 * and in the end, when all is calm, all come back (unless a disk was lost, or a log rots): members of one view, with whole logs.
 */
#ifndef WH_TESTS_SUPPORT_RESTART_LAB_H
#define WH_TESTS_SUPPORT_RESTART_LAB_H

#include <stdarg.h>
#include <stdlib.h>

#include "membership/change.h"
#include "membership/join_int.h"
#include "membership/restart_int.h"
#include "tests/support/fake.h"
#include "tests/support/newcomers.h"

#define NODES 4
#define SHARDS 2
#define LENGTH 200
#define VIEWS 2000
#define PACKETS 4096
#define START_NS (20 * WH_NS_PER_MS)

struct known_view {                    /* that some node has decided */
	uint64_t key, before;          /* and that of the one before, 0: it is the first; */
	const struct known_view *base; /* and this is it */
	struct wh_view *view;
	unsigned char *bytes;
	size_t count;
	uint64_t start[SHARDS]; /* so much of each shard is before it */
	bool on_disk[NODES], begun;
};

struct lab_log {
	uint32_t messages[LENGTH];
	uint64_t length;
};

struct lab_disk {
	struct wh_standing standing, pending;
	bool has_pending;
	uint64_t due_ns;
	uint64_t view_pending, view_due_ns;
	struct lab_log logs[SHARDS];
	bool rotten;
};

struct lab_node {
	struct wh_transport transport; /* first: its functions get it */
	struct fake_env env;
	struct world *world;
	uint32_t id, lives;
	bool up, began, may_be_refused, is_refused;
	uint64_t up_ns;
	struct wh_loop loop;
	struct wh_roster roster;
	struct wh_join_requests requests;
	struct wh_join join;
	struct wh_restart restart;
	struct wh_view *opened; /* it is invited into it, and rowed: there */
	uint64_t opened_key;
	bool rowed;
	uint64_t events;   /* that have been noted, for people */
	bool opens_late;   /* the memory of what it is invited into is not there yet */
	bool hangs;        /* it does nothing, and its connections stay */
	bool coming;       /* taken in by members, by the lab's word */
	uint64_t view_key; /* that it is a member of; 0: none */
	struct lab_disk disk;
};

struct packet {
	uint32_t from, to;
	uint64_t due_ns;
	size_t bytes;
	unsigned char message[WH_WIRE_BYTES];
};

struct world {
	uint32_t nodes, shards;
	int tie_breaker;
	uint64_t dice, now_ns;
	bool calm, verbose;
	struct wh_subgroup_text texts[2];
	struct wh_layout_config layout;
	struct lab_node node[NODES];
	bool linked[NODES][NODES], cut[NODES][NODES];
	uint64_t parted[NODES][NODES];  /* the sum of the lives of two that have met, and will not meet again */
	struct packet packets[PACKETS]; /* in order */
	size_t packet_count;
	struct known_view views[VIEWS];
	size_t view_count;

	/* The newest view that has begun, and the change of it. */
	uint64_t now;
	uint32_t order[SHARDS][LENGTH], messages;
	uint64_t sent[SHARDS], delivered[SHARDS], said[NODES][SHARDS];
	uint32_t log[SHARDS][LENGTH]; /* what was delivered */
	bool wedged[NODES], trusted[NODES], left[NODES], changes;
	uint64_t row[NODES], ballot, next, attempts;
	uint64_t newcomer; /* 1 + node */
	uint32_t restarts, takeups, formed;
	uint64_t seed;
};

uint64_t roll(struct world *w, uint64_t below);

/* With w->verbose. */
void WH_PRINTF(2, 3) say_of(const struct world *w, const char *format, ...);

#define REQUIRE(w, condition, ...)                                                                                     \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			printf("seed %" PRIu64 ": ", (w)->seed);                                                       \
			printf(__VA_ARGS__);                                                                           \
			printf("\n");                                                                                  \
			fflush(stdout);                                                                                \
			ck_abort_msg("%s", #condition);                                                                \
		}                                                                                                      \
	} while (0)

/* ---- views ------------------------------------------------------------------------------------------------------------ */

struct known_view *find_known(struct world *w, uint64_t key);
const struct wh_view_subgroup *shard_at(const struct known_view *known, uint32_t shard);

/* ---- disks ------------------------------------------------------------------------------------------------------------ */

bool is_whole_log(const struct lab_disk *disk, uint32_t shard);

/* ---- messages ---------------------------------------------------------------------------------------------------------- */

void link_nodes(struct world *w, uint32_t one, uint32_t other);
void unlink_nodes(struct world *w, uint32_t one, uint32_t other);

/* ---- lives ------------------------------------------------------------------------------------------------------------- */

void start_node(struct world *w, uint32_t id);
void end_node(struct world *w, uint32_t id);

/* ---- what members do ---------------------------------------------------------------------------------------------------- */

void send_message(struct world *w, uint32_t id);
void persist(struct world *w, uint32_t id);

/* A newcomer is given the state. */
void mark_whole(struct world *w, uint32_t id);

/* Those of `set` go on; 1 + the node that comes in. */
void begin_change(struct world *w, const bool *set, uint32_t newcomer);
void echo(struct world *w, uint32_t id);

/* All that are trusted have agreed: one of them goes on, or one follows. */
void install(struct world *w, uint32_t id);

/* A change without those that are gone, or with a node that seeks. */
void change(struct world *w);

/* A node that seeks is taken in by a group that goes on and lacks nobody. */
void take_in(struct world *w, uint32_t id);
void restart_lab_leave(struct world *w, uint32_t id);

/* ---- all --------------------------------------------------------------------------------------------------------------- */

struct world *make_world(uint64_t seed, uint32_t nodes, uint32_t shards, int tie_breaker);
void free_world(struct world *w);
void lose_power(struct world *w);
void wipe_disk(struct world *w, uint32_t id);

/* Everybody does what there is to do, once; time passes. */
void go_round(struct world *w);

/* A member that the others have gone on without, or that can never hear a quorum again, gives up, and is started again. */
void end_stale(struct world *w);

/* True: all are back within that time. */
bool calm_down(struct world *w, uint64_t within_ns);

#endif
