/* whorl/status.h - what a running node says of itself to a program that asks: which nodes are in the group, how far each
 * member is, which of them lag.
 *
 * The program need be no member and open nothing: `whorl status` is such a program. On shm it runs on the same host, as the same
 * user; on tcp it runs where it can reach the node. A node answers on its loop, between two passes: a node that is not started,
 * has been stopped, or is in a long upcall, does not answer in time. Asking costs a node some microseconds, and the group nothing.
 *
 *     struct whorl_status *status;
 *     char why[256];
 *     if (whorl_status_get("orders", 0, 1000, &status, why, sizeof why) != WHORL_OK)
 *             errx(1, "%s", why);
 *     printf("node %u is in view %llu\n", status->id, (unsigned long long)status->view);
 *     whorl_status_free(status);
 */
#ifndef WHORL_STATUS_H
#define WHORL_STATUS_H

#include <whorl/whorl.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHORL_NOBODY UINT32_MAX /* where a node id would stand */

enum whorl_standing {
	WHORL_IS_SEEKING, /* looks for others, or asks to be let in */
	WHORL_IS_FORMING, /* has met no group, and waits for others to form one with */
	WHORL_IS_INVITED, /* a view is to begin with it */
	WHORL_IS_MEMBER,
	WHORL_IS_LEAVING, /* whorl_close waits for what is under way */
	WHORL_HAS_FAILED  /* for good: `result` says why: removed, refused... */
};

/* Where a change of view stands at a node. */
enum whorl_change_step {
	WHORL_CHANGE_NONE,         /* there is none */
	WHORL_CHANGE_SUSPECTING,   /* a member is suspected */
	WHORL_CHANGE_PREPARING,    /* a next view is proposed, and the view goes on */
	WHORL_CHANGE_WEDGED,       /* the view has stopped */
	WHORL_CHANGE_ACKNOWLEDGED, /* ... and the memory of the next one is there */
	WHORL_CHANGE_DECIDED,      /* what is delivered in this view is decided */
	WHORL_CHANGE_SETTLED,      /* ... for good, and is being delivered */
};

/* Where a restart of a durable group stands at a node that is no member (docs/decisions/0058). */
enum whorl_restart_step {
	WHORL_RESTART_NONE,  /* there is none: it is a member, or its disk has nothing, or no subgroup is durable */
	WHORL_RESTART_LOOKS, /* it looks for the others, or waits for what the coordinator makes of all that was heard */
	WHORL_RESTART_ASKS,  /* it coordinates, and asks disks what they have */
	WHORL_RESTART_AGREES, /* ... they are to agree to what follows their last view */
	WHORL_RESTART_BEGINS, /* ... they have: the view is to begin */
};

/* Failed: it is taken to have, and is counted. Dead: there is proof that its process has ended, and it is not. */
enum whorl_suspicion { WHORL_IS_TRUSTED, WHORL_HAS_LEFT, WHORL_IS_FAILED, WHORL_IS_DEAD };

struct whorl_status_member { /* of the node's view, by rank */
	uint32_t size;
	uint32_t id;
	uint64_t incarnation;
	uint64_t heard_ms; /* since its last heartbeat here, or since the view began; of the node itself 0 */
	enum whorl_suspicion suspicion; /* what the node says of it */
	bool overdue;                   /* not heard for the failure time-out, though not suspected (yet) */
};

struct whorl_status_place { /* of a member of a shard; its counters as they have come to the node that answers */
	uint32_t size;
	uint32_t id;
	bool sends, rests;
	/* Ordered mode: the first sequence numbers of this view that it has not received, not delivered. Unordered: messages of
	 * this view that it has delivered, both. Durable: of what it has received only that which is on its disk is said. */
	uint64_t received_num, delivered_num;
	uint64_t persisted_num; /* durable: the first of this view that is not on its disk; else 0, as of a node that is too old to say */
};

struct whorl_status_shard {
	uint32_t size;
	char name[64]; /* of the subgroup */
	uint32_t shard, shards;
	bool ordered;
	bool lost;                            /* WHORL_SHARD_LOST */
	enum whorl_shard_condition condition; /* WHORL_SHARD_GONE: the node is not in it; nothing but counts follows */
	uint32_t members, senders, resting;
	uint32_t window, message_bytes;
	struct whorl_subgroup_stats *stats; /* of the node; NULL where it is not in it */
	uint32_t place_count; /* 0 where the node is not in it and it is not dormant, otherwise `members` */
	struct whorl_status_place *places; /* WHORL_AT(whorl_status_place, shard->places, i) */
	uint64_t large_bytes;              /* the largest message; 0: message_bytes, or that library does not say */
	bool durable;                      /* then it is ordered, too */
	struct whorl_log_stats
		*log; /* of the node's log; NULL: it is not durable, or has none yet, or the node is not in it */
	/* A durable one in which no member is left (whorl.h, "subgroups at run time"): `members` it had last, in view `last_view`; `places` has their
	 * ids alone. It comes back when one of them enters it that has all of its log. */
	bool dormant;
	uint64_t last_view;
	uint64_t relay_bytes; /* slots that hold so many go from member to member; 0: none does, or the library of that node is older and does not say */
};

struct whorl_status_missing { /* a member that a restart has not heard of */
	uint32_t size;
	uint32_t id;
	char address[64]; /* as it is configured; "": it is on this host */
};

struct whorl_status_worker { /* of delegation (whorl/delegate.h): as struct whorl_worker_stats, where the words are explained */
	size_t size;
	uint64_t open_ns; /* so long it has been open: what the times are shares of */
	uint64_t calls, lent_calls;
	uint64_t batches, batch_calls, largest_batch;
	uint64_t deferred, refused;
	uint64_t functions_ns, looking_ns;
	uint64_t properties, fibers, fibers_started;
	uint64_t passes, sleeps;
};

/* All of it is the library's: `size` of each struct is, and its arrays are stepped through by WHORL_AT (whorl.h, STRUCTS). */
struct whorl_status {
	size_t size;
	char version[16]; /* of its library */
	char group[64];
	uint32_t id, pid;
	uint64_t incarnation;
	uint64_t identity; /* of the group that it is in: drawn when the group was formed, the same for all its members; 0: in none */
	uint64_t other; /* of another group of this name that it has met, and is to be ended; 0: none */
	enum whorl_standing standing;
	enum whorl_result result; /* of whorl_error */
	char error[512];          /* its words */
	char progress[256];       /* of whorl_progress */
	bool ready;               /* whorl_ready would say so: it has the state of its subgroups as well */
	uint32_t failure_timeout_ms;

	/* Of its view. member_count 0: it has none, and nothing of this is known. */
	uint64_t view;
	uint32_t voters; /* nodes that a quorum is taken of */
	uint32_t leader; /* node ids, WHORL_NOBODY: none */
	uint32_t tie_breaker;
	bool quorum; /* it hears one */
	enum whorl_change_step change;
	uint64_t change_ms; /* so long it has been under way */
	uint32_t member_count;
	struct whorl_status_member *members; /* WHORL_AT(whorl_status_member, status->members, rank) */

	struct whorl_node_stats *stats; /* of a node of an older version `size` is less: what lies behind is not known */
	uint32_t shard_count;
	struct whorl_status_shard
		*shards; /* in the order of the configuration: WHORL_AT(whorl_status_shard, status->shards, i) */
	uint32_t shards_left_off; /* that had no room in the answer */

	/* Of the work that is open at the node (whorl_work_open), by number: the first, if there is more than one. 0: there is none, or
	 * the node's library is too old to say. */
	uint32_t worker_count;
	struct whorl_status_worker *workers; /* WHORL_AT(whorl_status_worker, status->workers, worker) */

	/* Of the node's disk, where a subgroup is durable. It leaves when one of the two is as long as the third. */
	uint64_t disk_busy_ms; /* so long the disk has been asked for one thing, and has not answered; 0: it is not asked */
	uint64_t disk_full_ms;    /* so long there has been no room; it is tried again and again. 0: there is */
	uint32_t disk_timeout_ms; /* 0: no subgroup is durable, or the node is too old to say */

	/* Of a restart of all. */
	enum whorl_restart_step restart;
	uint32_t coordinator;  /* node id; WHORL_NOBODY: none is known here */
	uint64_t restart_view; /* at the coordinator, when it has heard of one: the view that the group goes on from, */
	uint32_t missing_count;
	struct whorl_status_missing *
		missing; /* and which of its members have not come back, by id: WHORL_AT(whorl_status_missing, status->missing, i) */
};

/* Asks node `id` of the group of that name. `text` may be NULL; otherwise it gets the words for what is not WHORL_OK, at most
 * `bytes` with the terminating zero. Any thread; waits at most `timeout_ms`. Of a group on tcp or verbs only if it has no
 * `[node N] address`: else whorl_status_of finds it.
 * WHORL_OK: *out is to be freed by whorl_status_free; WHORL_NOT_FOUND: no such node is running; WHORL_TIMEOUT: it is there, and has
 * not answered; WHORL_AGAIN: its host cannot be reached, so nothing is known of it; WHORL_REFUSED: it is another user's, of another version, or its answer makes no sense; WHORL_INVALID: the name, the
 * id, a negative time-out; WHORL_MEMORY; WHORL_SYSTEM. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_status_get(const char *group, uint32_t id, int timeout_ms,
							      struct whorl_status **out, char *text, size_t bytes);
/* Asks whatever node of whatever group on tcp or verbs is at `address`: host:port or [address]:port. As above; WHORL_NOT_FOUND:
 * nothing listens there, or the name is not known; how long the system's resolver takes for a name does not count. A node that has
 * a cluster key or TLS refuses. Which of the two transports it is on is found out by asking as of tcp first, which a node on verbs counts as
 * a complaint (WHORL_COMPLAINT_FOREIGN): a program that asks often uses whorl_status_of. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_status_get_at(const char *address, int timeout_ms,
								 struct whorl_status **out, char *text, size_t bytes);
/* Asks node `id` of the group that the configuration describes: on its transport, at its address, with its cluster key and
 * certificates (docs/security.md). As above; also WHORL_CONFIG: the configuration, or a file that it names, is not as it should be;
 * WHORL_UNSUPPORTED: it is on verbs, and this host has no device. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_status_of(whorl_config *config, uint32_t id, int timeout_ms,
							     struct whorl_status **out, char *text, size_t bytes);
WHORL_API void whorl_status_free(struct whorl_status *status); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
