/* whorl/whorl.h - totally ordered, atomic multicast and replication, embedded.
 *
 * A *group* is a set of nodes that agree on a sequence of messages. A *subgroup* is a set of members of the group with
 * its own senders, window and message size; every member delivers the messages of a subgroup in the same order. The
 * protocol is Derecho's atomic multicast with the optimisations of Spindle (Jha, Rosa, Birman, ICDCS 2022); sections
 * of that paper are cited as "Spindle §".
 *
 * A program in one glance (examples/hello.c is whole):
 *
 *     whorl_config *config = whorl_config_new();
 *     whorl_config_load_file(config, "group.ini");
 *     whorl_node *node;
 *     if (whorl_open(config, 0, NULL, &node) != WHORL_OK)
 *             errx(1, "%s", whorl_config_error(config));
 *     whorl_subgroup *orders = whorl_subgroup_find(node, "orders");
 *     whorl_on_message(orders, deliver, NULL);
 *     whorl_start(node);
 *     whorl_ready(node, 5000);
 *     whorl_send(orders, "hello", 5, 1000, NULL);
 *     whorl_close(node, 1000);
 *
 * THREADS. Each node has one loop, which runs the protocol and every upcall. With `[engine] thread = dedicated` (the
 * default) whorl_start makes a thread for it; with `thread = caller` your own thread runs it, by whorl_step. "Any
 * thread" below means any thread of the process, several at once, without registration. Library threads block all
 * signals but those of a fault of their own (SIGSEGV and the like), and the library installs no signal handlers and
 * raises no SIGPIPE.
 *
 * WAITING. Only whorl_ready, whorl_claim_wait, whorl_claim_large, whorl_send, whorl_frontier_wait, whorl_subgroup_enter,
 * whorl_subgroup_ready, whorl_subgroup_leave, whorl_wait and whorl_close wait, each with a time-out in milliseconds: 0 does not wait
 * at all; a negative one is refused (WHORL_INVALID). From an upcall they never wait: a time-out other than 0 gives
 * WHORL_WOULD_DEADLOCK at once.
 *
 * VIEWS. The members of a group at a time are a *view*. When a member dies, is cut off, stands still for
 * `failure_timeout_ms` or leaves, the others agree on the next view (virtual synchrony: docs/protocol.md). All nodes that go
 * from one view to the next have delivered the same messages in it. What a surviving sender had committed and was not delivered
 * is sent again in the next view, in order and exactly once, unless the program's layout function takes that sender out of its
 * shard, of which it is told (whorl_on_gone); what a dead sender had committed and was not received by all
 * survivors is gone for all. While a view changes, claims answer WHORL_AGAIN. A view may follow only with a strict majority
 * of the one before (or exactly half of it with `[group] tie_breaker`): a minority waits, and its claims answer
 * WHORL_NO_QUORUM, its commits WHORL_PENDING, until it hears a majority again. On shared memory members are not counted of which the
 * kernel proves that their process has ended (Linux 5.3; docs/operations.md, "On one host"): the last of two goes on. That
 * proof comes when the kernel has taken the memory of the process apart, and is waited for no longer than heartbeats are. A node that the others have removed, rightly or not, gets WHORL_REMOVED,
 * for good; it delivers nothing more. On a network members that cannot reach each other go on where they were if that takes no longer than
 * `[group] cut_max_ms`; then their connections end, for good, and a node that has lost so many of them, or of members that died, that it
 * will never hear a quorum again gets WHORL_CUT_OFF. The program closes such a node, and is started again.
 *
 * COMING IN. A node that is started joins the group of its name, or forms one with others if there is none (whorl_open). It is a
 * member when a view begins with it, and ready when it has the state of its subgroups (whorl_ready, whorl_on_state): as if it had
 * been upcalled for every message. A view that only takes nodes in is prepared while the one before goes on, and no node waits
 * for the newcomer. A node that has ended may be opened again, under its id: that is another *life*, and a view lies between the
 * two in which the id is no member. The indexes of its messages begin at 0 again; of what the life before had sent, and never saw
 * delivered, only the members know whether it was.
 *
 * UPCALLS run on the loop, one at a time for a node. An upcall may claim, commit, abort and send with time-out 0. It
 * must not be slow: while it runs the node neither receives nor acknowledges. A batch upcall, an offer, and 64 message upcalls in a
 * row, must be shorter than `failure_timeout_ms`, or the node's peers take it for dead. A program that cannot keep up refuses what it is
 * offered (whorl_on_offer), and holds up the senders alone.
 *
 * ERRORS. Functions return a whorl_result (result.h). Expected results (WHORL_AGAIN, WHORL_TIMEOUT, WHORL_CLOSED...)
 * carry no text; for others the object has one: whorl_config_error, whorl_error. Nothing here exits, prints or aborts
 * because of what a peer, a file or the system does.
 *
 * FORK. A child of fork() inherits a node that it cannot use: every call that does something gives WHORL_FORKED
 * (whorl_step, whorl_arm and whorl_frontier_get 0, the descriptors -1), except whorl_close, which frees the child's copy, its open claims as
 * well, and does not disturb the parent. Handles of subgroups that were entered are freed with it: whorl_subgroup_release does nothing there.
 * Open nodes after forking.
 *
 * STRUCTS grow, and a program that was compiled before goes on with a newer library. There is one rule. Each struct begins with
 * `size`, in bytes, and grows at its end alone. Where the program makes it (options, whorl_state, statistics) the program sets `size`
 * to its own sizeof, and the library reads and writes no more than that. Where the library makes it (messages, views, positions,
 * statuses) `size` is the library's, and an array of them is stepped through by it: WHORL_AT, not `[i]`. Two structs have no size,
 * because they never grow: whorl_claim, which has room inside, and whorl_batch_stats. Enumerations gain constants at their end, and
 * exported functions carry the version that they came with (WHORL_0.1).
 *
 * NULL where an object, a name or a result is expected is refused: WHORL_INVALID, or 0, NULL, -1 from what returns no whorl_result.
 * What may be NULL says so. WHORL_INVALID always has a reason in words: whorl_invalid_text.
 */
#ifndef WHORL_WHORL_H
#define WHORL_WHORL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <whorl/message.h>
#include <whorl/result.h>

/* ---- the library, and words for results -----------------------------------------------------------------------------*/

/* They stand before a function: it is exported; the compiler warns of a call that does not look at the result. */
#if defined(__GNUC__)
#define WHORL_API __attribute__((visibility("default")))
#define WHORL_MUST_CHECK __attribute__((warn_unused_result))
#else
#define WHORL_API
#define WHORL_MUST_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define WHORL_VERSION_MAJOR 0
#define WHORL_VERSION_MINOR 1
#define WHORL_VERSION_PATCH 0

/* The version of the library that is running, "0.1.0". */
WHORL_API const char *whorl_version(void);

/* "the time allowed ran out"; never NULL. */
WHORL_API const char *whorl_result_text(enum whorl_result result);

/* Why this thread was last answered WHORL_INVALID (or, by what returns no whorl_result, 0, NULL or -1): "whorl_claim: no subgroup",
 * "whorl_commit: the claim is finished already". "" if it never was. It is the thread's: valid until
 * a call of this thread is refused again. Any thread. */
WHORL_API const char *whorl_invalid_text(void);

/* ---- configuration --------------------------------------------------------------------------------------------------
 * The keys are described by `whorl config --describe` and in docs/configuration.md. A config is used by one thread at a
 * time; nodes copy what they need, so it may be freed once they are open. */

typedef struct whorl_config whorl_config;

WHORL_API whorl_config *whorl_config_new(void);         /* NULL when memory is out */
WHORL_API void whorl_config_free(whorl_config *config); /* NULL is fine */

/* Adds an ini file, or its text (`name` stands for the file's name in messages). All mistakes are collected.
 * WHORL_OK; WHORL_CONFIG: whorl_config_error has one line `FILE:LINE: section.key: what is wrong` for each. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_config_load_file(whorl_config *config, const char *path);
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_config_load_text(whorl_config *config, const char *name,
								    const char *text);

/* "engine.thread=caller", "subgroup orders.window=200": wins over what was or will be loaded. WHORL_OK, WHORL_CONFIG. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_config_set(whorl_config *config, const char *assignment);

/* A section of the file that belongs to the program and not to whorl; otherwise unknown sections are mistakes. Call it
 * before loading. `section` is copied. */
WHORL_API enum whorl_result whorl_config_ignore(whorl_config *config, const char *section);

/* For a program that `whorl launch` starts, once for each node of an ini file (docs/delegation.md, "Jobs"), or that is started by itself: the
 * environment says which. WHORL_CONFIG is the path of the file, which is added to `config`, and WHORL_ID the id for whorl_open, or any
 * (WHORL_ANY_ID). Sections of the file that are the program's own are named before, by whorl_config_ignore.
 * WHORL_OK; WHORL_NOT_FOUND: neither is there: nothing has launched this process, and nothing is done; WHORL_CONFIG: whorl_config_error says
 * what is wrong with the file, or with these words. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_launched(whorl_config *config, uint32_t *id);

/* What is wrong, one line each; "" if nothing is. Also the reason why whorl_open failed. Valid until the next call with
 * this config. */
WHORL_API const char *whorl_config_error(const whorl_config *config);

/* ---- nodes --------------------------------------------------------------------------------------------------------*/

typedef struct whorl_node whorl_node; /* whorl_subgroup: whorl/message.h */

enum whorl_log_level { WHORL_LOG_ERROR, WHORL_LOG_WARNING, WHORL_LOG_INFO, WHORL_LOG_DEBUG };

/* Gets each line of the library's log, without a newline. Any thread may call it; it must not call whorl, nor wait for a lock that
 * the program holds in a call of whorl. */
typedef void whorl_log_fn(enum whorl_log_level level, const char *line, void *ctx);

struct whorl_view {              /* the members of the group; belongs to the library */
	size_t size;             /* of this struct, at the library's */
	uint64_t number;         /* 0 is the first; each follows the one before */
	const uint32_t *members; /* node ids by rank: oldest members first */
	const uint32_t *joined;  /* that were not in the view before; all of them in the first */
	const uint32_t *left;    /* that were in the view before, and are not in this one */
	uint32_t member_count, joined_count, left_count;
	uint32_t rank;                /* mine */
	const uint64_t *incarnations; /* of the members, by rank: a node that has ended and is back has another */
};

enum whorl_role { WHORL_NO_MEMBER, WHORL_MEMBER, WHORL_SENDER }; /* a sender is a member as well */

/* Says what node `id` is in one shard of a subgroup that has `members = function`; called for each view but those that only end a
 * sender (below), each such subgroup, shard and member of the view (its `rank` is 0 here). It must depend on its arguments alone:
 * all nodes call it and must get the same. In one subgroup a node is in one shard at most (the first that takes it).
 * A sender that it makes a plain member of the same shard *ends*: it claims nothing more (WHORL_NOT_SENDER), and goes on being a
 * sender until all that it has claimed is delivered, which a view more brings about. One that it takes out of its shard, while it
 * sends in no other, loses what is not delivered by then (whorl_on_gone). Loop thread, and whorl_open. */
typedef enum whorl_role whorl_layout_fn(const struct whorl_view *view, const char *subgroup, uint32_t shard,
					uint32_t id, void *ctx);

struct whorl_open_options {
	size_t size;       /* sizeof(struct whorl_open_options) */
	whorl_log_fn *log; /* from the very start; NULL: errors and warnings go to stderr */
	void *log_ctx;
	whorl_layout_fn *layout; /* NULL: no subgroup has members = function */
	void *layout_ctx;
	/* true: an operator says, for this start alone, that there is no group of this name any more, and that this node forms one
	 * (docs/operations.md). It is checked against every node that can be reached: if one is a member, is invited into a view, or is
	 * met and says nothing, the node fails (WHORL_REFUSED); on a network what stands still may not be met, and counts as not reached. Without `state_dir` it is then a group of one, which all others join; with it and no
	 * founder it takes more than half of the configured nodes. Only ids below `nodes` can be told so, and if there is a founder only that
	 * one (WHORL_INVALID); `start = join` does not speak against it. Never set it in what a service runs again by itself. */
	bool form;
};

/* On shm, for whorl_open: an id that is free (0 .. nodes_max-1); whorl_node_id says which. A process of which the last life died
 * or left has let go of its id, and it is free, whether the others have noticed or not: then the node comes in after a view without it.
 * Nobody is refused while an id stays free, however many processes look for one at the same time. Ids below `nodes` come first, since
 * they count for the first view; with a `founder` the others do, and its id is the last; where `nodes` is 0 the first process gets 0, and
 * forms the group. Lists of members in the file name ids, so a node with an id that is just free may be in other subgroups than the
 * last time. With durable subgroups ids of which the directory in `log_dir` has a log come before all others, the one with the newest view
 * first: so what a process had on disk is taken up by the next one. */
#define WHORL_ANY_ID UINT32_MAX

/* Makes node `id` (0 .. nodes_max-1, or WHORL_ANY_ID) of the configured group: checks the configuration, estimates the memory and holds it
 * against `[group] memory_max`, and begins to meet the others. Waits for no other node; on tcp and verbs for the system's resolver,
 * which looks up each `[node N] address` that is a name. `options` may be NULL. Several nodes, also of
 * one group, may be opened in one process.
 * If a group of that name is running the node will join it. If not, it will form one with all the nodes that are configured; on shm, and
 * on networks with `[group] state_dir`, after `start_timeout_ms` with more than half of them, or as its founder, alone
 * (docs/operations.md). Where the file names no nodes (`nodes = 0`, on shm) node 0 forms it, alone and at once. With durable subgroups it
 * takes all configured nodes, or on shm the founder or node 0, and no logs in `log_dir`: else these nodes go on with what they have. There are never two groups of one name that both go on: docs/decisions/0032.
 * The id is held from here on. On shm a node that is opened and never started may be a member for all that the others know, and no group
 * is formed while it is there: start it, or close it.
 * With durable subgroups all that lies in the node's directory is read and checked here, which takes as long as the disk does; on shm it waits for three
 * `start_timeout_ms` and a `disk_timeout_ms` for a directory that another node has locked, as that may speak for it.
 * WHORL_OK; WHORL_CONFIG (addresses too: one that must be known and is not, or is not allowed without a key; a record in `state_dir`
 * that is damaged, or another node's); WHORL_INVALID (id, options); WHORL_MEMORY (more than `memory_max`; what the machine has is asked for
 * when a view begins); WHORL_SYSTEM (`state_dir` is not there, too); WHORL_REFUSED
 * (the id is in use; with WHORL_ANY_ID no id is free); WHORL_UNSUPPORTED (the transport: this machine lacks what it needs; WHORL_ANY_ID where
 * an id is an address: on tcp and verbs, and on sim). On failure *out is NULL, nothing is left, and whorl_config_error says why. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_open(whorl_config *config, uint32_t id,
							const struct whorl_open_options *options, whorl_node **out);

/* Memory in bytes that the node would allocate: its row (the rings) twice, for this view and for the next, and the private
 * arrays. Not in it, nor in `[group] memory_max`: the row of the view before, which is kept for a while after a change; 256 KiB
 * for each state that is given or taken, while it is; and what a newcomer keeps back until it has the state, up to
 * `[group] backlog_max` for each subgroup. Subgroups that the node enters while it runs are counted when it enters them
 * (whorl_subgroup_enter). WHORL_OK, also if it is more than memory_max; WHORL_CONFIG (`members = function` too:
 * there is none here); WHORL_INVALID (id; WHORL_ANY_ID too); WHORL_MEMORY; WHORL_UNSUPPORTED. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_estimate(whorl_config *config, uint32_t id, uint64_t *bytes);

/* Replaces the log's sink; fn NULL: stderr. Any thread, also before whorl_start. */
WHORL_API void whorl_set_log(whorl_node *node, whorl_log_fn *fn, void *ctx);

/* Starts the node: from here on upcalls happen. With thread = dedicated it makes the loop's thread, otherwise it only
 * permits whorl_step. Set upcalls before. WHORL_OK, WHORL_SYSTEM, WHORL_INVALID (started already). */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_start(whorl_node *node);

/* Waits until the node is a member: a first view has been formed with it, or it has joined, and has restored the state of its
 * subgroups (whorl_on_state). Before its first view claims answer WHORL_AGAIN; a newcomer that still restores is a member, and its
 * claims are taken: a program that sends from what the state says waits for this first. With thread = caller it runs the loop
 * meanwhile. Any thread.
 * WHORL_OK; WHORL_TIMEOUT (whorl_progress says what it waits for); WHORL_REFUSED (whorl_error says what refused it and why), and
 * whatever else it says of the node for good; WHORL_WOULD_DEADLOCK. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_ready(whorl_node *node, int timeout_ms);

/* Leaves the group and frees the node.
 * timeout_ms > 0 drains: no new claims are taken; the loop goes on until every message that this node has committed has
 * been delivered by all members, and this node has delivered what it counted as received; then, if the view is just changing,
 * until it has changed and all have begun it: a node that leaves before counts as failed for their quorum. Or until the time-out.
 * timeout_ms == 0 abandons at once. In both cases the node is gone afterwards; other members see that it left. What a newcomer
 * has kept back, because its state was not restored yet, is dropped: it counts as delivered (whorl_on_state).
 * Claims that are still open stay valid memory: their commit or abort gives WHORL_CLOSED and frees it.
 * No other call with this node may be under way or follow, except commit and abort of open claims; but threads may be in
 * whorl_frontier_wait when this begins. They go on waiting while it drains, then get WHORL_CLOSED, and it waits until they have left.
 * Beyond the time-out it waits for what cannot be interrupted: a call of the program's `read` or `restore`, and, with `[group]
 * state_dir`, a sync of the record that is under way. For a disk of `log_dir` that does not answer it waits for `disk_timeout_ms`, or twice that:
 * for what is being written or read there, and for its files to be closed. Then the thread that the disk holds is left behind, with memory of its
 * own and the lock of its directory, until the disk answers; it calls nothing of the program.
 * WHORL_OK (always, in a forked child); WHORL_TIMEOUT: something was abandoned; what whorl_error says of the node
 * (WHORL_NO_QUORUM, WHORL_REMOVED, WHORL_MEMBER_GONE...): likewise, because of that;
 * WHORL_WOULD_DEADLOCK (from an upcall) and WHORL_INVALID (negative time-out): nothing was done, the node is still open. */
WHORL_API enum whorl_result whorl_close(whorl_node *node, int timeout_ms);

/* How far the node is on its way into the group, in words for people: "forms a group of 3 nodes; missing: 0 2", "asks node 0, the
 * leader of view 4, to be let in", "restores orders: 312 MB from node 0" (docs/operations.md has all). At most `bytes` with the
 * terminating zero. Any thread. */
WHORL_API void whorl_progress(const whorl_node *node, char *text, size_t bytes);

/* WHORL_OK while the node works, else why it does not: WHORL_MEMBER_GONE (a member broke the rules so that what is to be
 * delivered cannot be), WHORL_REFUSED (by the group, or its configuration differs; or it was told to form a
 * group, `form`, where one may be; or its program has refused messages for longer than `refuse_max_ms`: whorl_on_refused), WHORL_REMOVED,
 * WHORL_CUT_OFF (it has lost so many members that it will never hear a quorum again: after `cut_max_ms`), WHORL_FORKED, WHORL_MEMORY and WHORL_SYSTEM (a view could not be installed; what is kept back outgrew `backlog_max`; the record in
 * `state_dir` could not be written), WHORL_SHARD_LOST (all members that could have given it the state of its shard are gone), all of them for good;
 * WHORL_NO_QUORUM, as long as too few members are heard. With `text` non-NULL also the words ("node 2 has died (its connection
 * closed)"), at most `bytes` with the terminating zero. Any thread. */
WHORL_API enum whorl_result whorl_error(const whorl_node *node, char *text, size_t bytes);

/* The id that the node was opened with, or that it has got (WHORL_ANY_ID): the same for as long as it is open. Any thread. */
WHORL_API uint32_t whorl_node_id(const whorl_node *node);
WHORL_API uint32_t whorl_node_count(const whorl_node *node); /* members of the current view; 0: there is none yet */

/* ---- views -----------------------------------------------------------------------------------------------------------*/

/* A view begins: on the loop, between the last message of the view before and the first of this one; also for the first
 * view. `view` and what it points to are valid until the upcall returns. */
typedef void whorl_view_fn(const struct whorl_view *view, void *ctx);

/* Before whorl_start: WHORL_INVALID afterwards. */
WHORL_API enum whorl_result whorl_on_view(whorl_node *node, whorl_view_fn *fn, void *ctx);

/* The current view: its number, and the ids of its members into `ids`, at most *count of them; *count becomes how many
 * there are. `number`, `ids` may be NULL. Any thread, upcalls too. WHORL_OK; WHORL_AGAIN: there is none yet (whorl_ready);
 * WHORL_FORKED. */
WHORL_API enum whorl_result whorl_view_members(const whorl_node *node, uint64_t *number, uint32_t *ids,
					       uint32_t *count);

/* ---- the loop, with thread = caller -----------------------------------------------------------------------------------
 * One thread at a time. Spinning: call whorl_step again and again. In an epoll program: */
/*
 *     while (running) {
 *             bool sleeps = whorl_step(node) == 0 && !whorl_yield(node) && whorl_arm(node) == 0;
 *
 *             epoll_wait(ep, events, n, sleeps ? -1 : 0);   // whorl_fd(node) is in it
 *     }
 */

/* Evaluates every predicate once, runs the triggers of those that hold, upcalls included. Never blocks. Returns how
 * much was done (0: nothing). With thread = dedicated, before whorl_start, from an upcall or in a forked child: 0. */
WHORL_API size_t whorl_step(whorl_node *node);

/* After a whorl_step that found nothing: does what the thread of a node does then (`[engine] idle`). True: it has paused, or let other threads
 * have the processor; that takes microseconds, beside threads that compute their turn, so milliseconds now and then. Look at your own
 * descriptors, and call whorl_step again. False: nothing has come for 100 us, or yielding costs much on this machine now: whorl_arm, and
 * sleep; with `idle = spin` or `yield` it is never false. A program that sleeps at once, without it, takes less of the processor, and a
 * message takes as much longer as its nodes take to wake: each member must, several times, and a sender with a small window waits for that
 * again and again. False also where whorl_step would do nothing. */
WHORL_API bool whorl_yield(whorl_node *node);

/* Arms the doorbell and takes a last look. 0: nothing to do, and whorl_fd becomes readable when there is; otherwise
 * what the look has done, and the doorbell is not armed. */
WHORL_API size_t whorl_arm(whorl_node *node);

/* One descriptor for everything: messages, commits by other threads, heartbeats, members that fail. Readable means: call
 * whorl_step. Add it to epoll (level-triggered); do not read or close it. */
WHORL_API int whorl_fd(whorl_node *node);

/* Makes passes, and between them does as whorl_yield; when that is false, arms, looks, and sleeps until there is something to do or the
 * time-out; then makes a pass. With `idle = spin` or `yield` it does not sleep. If whorl_yield was false already, and no pass has found work
 * since, it sleeps at once. It does not tell of room in a window: whorl_claim_wait waits for that, and makes passes too. WHORL_OK: something was
 * done; WHORL_TIMEOUT; WHORL_AGAIN (another thread makes a pass); WHORL_WOULD_DEADLOCK, WHORL_INVALID (not in caller mode, or not
 * started), WHORL_FORKED. */
WHORL_API enum whorl_result whorl_wait(whorl_node *node, int timeout_ms);

/* ---- subgroups and delivery -----------------------------------------------------------------------------------------*/

/* The node's place in a subgroup, through all views: owned by the node and valid until whorl_close. Of a subgroup with
 * shards it is the shard that the node is in. NULL if the configuration has no such subgroup, or its `members` are a list without
 * this node, or `wish`. Any thread. */
WHORL_API whorl_subgroup *whorl_subgroup_find(whorl_node *node, const char *name);
WHORL_API whorl_subgroup *whorl_subgroup_at(whorl_node *node,
					    size_t index); /* those of this node; NULL behind the last */

/* struct whorl_message: whorl/message.h */

/* A message is delivered: every member has it (ordered mode; Spindle §II-A). The sender's memory is read in place: a
 * sender that writes to a slot after committing it can make members differ, and nothing guards against that. */
typedef void whorl_message_fn(const struct whorl_message *message, void *ctx);
/* The same for all that can be delivered at once (Spindle §III-D); the array is valid until the upcall returns. Message i of it is
 * WHORL_AT(whorl_message, messages, i). */
typedef void whorl_batch_fn(const struct whorl_message *messages, size_t count, void *ctx);

/* The same, and the program may refuse: it returns how many of them it takes, from the first on (more than `count` is `count`). If that is
 * not all the rest is delivered later: docs below. */
typedef size_t whorl_offer_fn(const struct whorl_message *messages, size_t count, void *ctx);

/* One of the three per subgroup, before whorl_start. Set again it is replaced, and with `fn` NULL taken back. Without any, messages
 * are ordered, acknowledged and dropped. WHORL_OK; WHORL_INVALID: after whorl_start, or another one is set already; WHORL_FORKED. */
WHORL_API enum whorl_result whorl_on_message(whorl_subgroup *subgroup, whorl_message_fn *fn, void *ctx);
WHORL_API enum whorl_result whorl_on_batch(whorl_subgroup *subgroup, whorl_batch_fn *fn, void *ctx);
WHORL_API enum whorl_result whorl_on_offer(whorl_subgroup *subgroup, whorl_offer_fn *fn, void *ctx);

/* ---- refused delivery -------------------------------------------------------------------------------------------------
 * A program that has no room refuses: its whorl_offer_fn takes fewer than it is offered, or none. Nothing more of that subgroup is
 * offered to it until it asks, with whorl_offer_again. Then it gets the rest, in order, each message once; the data may lie
 * elsewhere by then. Nothing else is held up: heartbeats, views, other subgroups and its own sending go on.
 *
 * The rest stays in the rings of its senders: what is not taken is not delivered here. So their windows fill, and their claims get
 * WHORL_AGAIN; `WHORL_DELIVERED_BY_ALL`, and the draining of other nodes that close or rest, wait. That is the reader's pressure on the
 * writers. It decides how long: `[subgroup NAME] refuse_max_ms` is the time for which it may take nothing, and then it is told, or the
 * node leaves (whorl_on_refused).
 *
 * A change of view does not wait. What belongs to the view that ends, and is not taken, is copied, at most `[group] backlog_max` bytes:
 * beyond that the node fails, with WHORL_MEMORY. For others it counts as delivered from then on. It is offered first, after the upcall
 * of the new view (message.view tells), and before it is taken nothing of the new view is delivered, so that the windows fill again: a
 * change of view adds at most a window of each sender. A node that the layout takes out of its shard drops it.
 *
 * Such a program's state has what it has *taken* (whorl_on_state). When it gives that to a newcomer the library sends the copies along,
 * and the newcomer is upcalled for these messages first, though their views are before its own. `position` counts them as in the state.
 * A newcomer that refuses what was kept back for it is not ready.
 *
 * While whorl_close drains what is refused is offered again each millisecond; what is not taken in time is dropped (WHORL_TIMEOUT). */

/* Offer again: there is room. Also if nothing is refused, and then it may do nothing. What this thread has done before is seen by the offer
 * that follows, or by the one that is under way, if it refuses; so none is missed: free room first, then call this. Never blocks; wakes
 * the loop if it sleeps. Any thread, upcalls too.
 * WHORL_OK; WHORL_INVALID: the subgroup has no whorl_on_offer; WHORL_FORKED, WHORL_CLOSED, and whatever else whorl_error says of the node
 * for good. */
WHORL_API enum whorl_result whorl_offer_again(whorl_subgroup *subgroup);

/* The program has taken nothing of what it was offered for `refuse_max_ms` and more: `refused_ms`. Once, until it takes something. It
 * returns whether the node goes on, and holds up the others: false: the node leaves, that is, it fails (WHORL_REFUSED), is to be closed, and
 * the others go on without it. On the loop. */
typedef bool whorl_refused_fn(whorl_subgroup *subgroup, uint64_t refused_ms, void *ctx);

/* Without it, or with `fn` NULL, a node that refuses for longer than `refuse_max_ms` leaves. WHORL_OK; WHORL_INVALID: after whorl_start;
 * WHORL_FORKED. */
WHORL_API enum whorl_result whorl_on_refused(whorl_subgroup *subgroup, whorl_refused_fn *fn, void *ctx);

/* The messages of this node with the indexes `first` to `end` - 1 are gone: no member delivers them from here on. A view has just
 * begun, of which the program has been upcalled, in which the layout function has taken the node out of the shard that they were
 * for. In an ordered subgroup no member has delivered them; in an unordered one some may have, but not all. Aborted claims count,
 * too; those that are still open are finished with WHORL_NOT_SENDER. On the loop. */
typedef void whorl_gone_fn(whorl_subgroup *subgroup, uint64_t first, uint64_t end, void *ctx);

/* Before whorl_start: WHORL_INVALID afterwards. WHORL_FORKED. */
WHORL_API enum whorl_result whorl_on_gone(whorl_subgroup *subgroup, whorl_gone_fn *fn, void *ctx);

/* ---- large messages ---------------------------------------------------------------------------------------------------
 * A message of more than message_bytes (whorl_claim_large) lies in parts where it was received: in the ring of its sender, in place. A message
 * that was kept back (whorl_on_state) lies in one. These two are for any message; those of up to message_bytes have one part. Valid until
 * the upcall returns, as all of the message; any thread until then. */

/* Where part `part` lies, from 0 to message->parts - 1, and how long it is: 16-byte aligned, together message->bytes, in their order. On
 * shm a message has one part, or two where the ring ends. WHORL_OK; WHORL_NOT_FOUND: it has no such part; WHORL_INVALID: NULL. */
WHORL_API enum whorl_result whorl_message_part(const struct whorl_message *message, uint32_t part, const void **data,
					       size_t *bytes);

/* Copies what follows byte `from` of the message, at most `most` bytes. Returns how many: 0 from its end on, and for NULL. */
WHORL_API size_t whorl_message_copy(const struct whorl_message *message, size_t from, void *into, size_t most);

/* ---- state ------------------------------------------------------------------------------------------------------------
 * What the messages of a subgroup have made is the program's; a node that joins needs it as it was at one point of their order.
 * A member that has it gives a snapshot, as a stream of bytes of any length, and all go on meanwhile: the newcomer receives
 * and keeps back what is delivered until it has restored the state, and then is upcalled for what comes behind it. The snapshot for
 * a newcomer is taken after the view upcall of the view that it comes with, so what the giver's program does there is in it.
 *
 * What is kept back is acknowledged, and counts as delivered at once: for the windows of its senders, for their draining in
 * whorl_close. So a newcomer that ends before it is ready has acknowledged messages that its program never saw.
 *
 * View upcalls are not kept back. If the state depends on which members are there, the program compares it with whorl_view_members
 * when the state has been restored, as members may have come and gone meanwhile; message.view tells messages of views before the
 * last upcall. docs/decisions/0016; Derecho (TOCS 2019) §4.3 stops the group instead. */

struct whorl_position_of { /* where a state stands with one sender */
	uint32_t size;
	uint32_t id;          /* node id */
	uint64_t incarnation; /* which of its lives; 0: not known here */
	uint64_t next; /* index of its first message that is not in the state; of a dynamic subgroup, of its present stay */
};

/* Where a state stands in the order of messages. It has all that was delivered in views before `view`; and of `view`, ordered, all
 * with a sequence below `sequence`. So of two positions of one ordered shard, in one group, the one with the greater (view, sequence)
 * has more. */
struct whorl_position {
	size_t size;
	uint64_t view;
	uint64_t sequence; /* ordered mode; 0 otherwise */
	/* Of senders of that view; unordered, of all members. Those not named have sent nothing in that view that is in the state. */
	const struct whorl_position_of *senders; /* WHORL_AT(whorl_position_of, position->senders, i) */
	uint32_t sender_count;
	uint32_t shard;
};

enum whorl_restore_step {
	WHORL_RESTORE_BEGIN, /* empty. Comes again if another must be asked: throw away what you have */
	WHORL_RESTORE_BYTES, /* the next of them */
	WHORL_RESTORE_END    /* that was all */
};

/* `read` and `restore` are called on threads of the library's own, beside the loop, which goes on with its upcalls: of views, of
 * other subgroups, and at a giver of messages of this one. Several snapshots are read at once, each by one thread at a time; of one
 * subgroup there is one restore at a time, and those of several run side by side. So what they share, and what `ctx` points to,
 * needs locks of the program. They may call what any thread may, but not wait for themselves: in `restore` whorl_ready runs into its
 * time-out, and whorl_close from either never returns. (Where no thread can be had they run on the loop, which waits for them.) */
struct whorl_state {
	size_t size; /* sizeof(struct whorl_state) */
	/* On the loop, between two messages, and of a new view after its upcall: fixes the state as it is now, and returns a
	 * handle, or NULL if that cannot be done: another member is asked then. Nothing is delivered here meanwhile, so it must
	 * be quick: a copy of what is small, a version of what is persistent, copy on write. Several may be out at once.
	 * `position` says what is in it: all messages that were upcalled here, or that the state was restored with. It is the
	 * library's, until this returns. */
	void *(*snapshot)(const struct whorl_position *position, void *ctx);
	/* Writes up to `count` bytes (>= 4096) that come next. Returns how many, 0 at the end, -1 on failure. It may block, but
	 * not for a minute (or ten failure time-outs if that is more): then the newcomer asks another, and begins anew. */
	ptrdiff_t (*read)(void *snapshot, void *bytes, size_t count, void *ctx);
	/* The snapshot is not needed any more, whether it was read to its end or not. On a thread that reads, on the loop of a
	 * node that has failed, or in whorl_close. Each is released once. */
	void (*release)(void *snapshot, void *ctx);
	/* At the newcomer; no message of the subgroup is upcalled before it has returned true for WHORL_RESTORE_END. False: it
	 * cannot be restored; the node fails, with WHORL_SYSTEM. It may block. No bytes: the state is empty, as it is for a node
	 * that moves from a shard into one that no node was in before, and has to forget what it has. As it runs beside the loop,
	 * its last call may come after the upcall of a view in which the node is in no shard, or another: what was restored is then
	 * of no use.
	 *
	 * `read` and `restore` are called by threads that let others go first. Only where the loop's thread is a real-time one (SCHED_FIFO,
	 * SCHED_RR) are they real-time threads of the same priority, as they would get next to nothing beside it, and give up the
	 * processor after each piece of up to 256 KB: a call that computes for long holds up loops of that priority meanwhile. After three in a row
	 * that took 10 ms of a processor or more, the rest of that state goes at the normal priority. */
	bool (*restore)(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx);
	void *ctx;
};

/* A call of `read` or `restore` cannot be interrupted: whorl_close waits for it, and then there is no other. The functions are copied.
 * All members set them, or none: a newcomer without begins with nothing; of a durable subgroup it is upcalled for all that was delivered. WHORL_INVALID: after whorl_start, one is missing, or the subgroup was
 * entered: its options have them; WHORL_MEMORY. */
WHORL_API enum whorl_result whorl_on_state(whorl_subgroup *subgroup, const struct whorl_state *functions);

/* ---- subgroups at run time ------------------------------------------------------------------------------------------------
 * The file names subgroups, and which nodes are in them. Others are *dynamic*: nodes enter them by a name, and leave them, while the group
 * runs. The first node that enters a name makes the subgroup; those that follow must say the same parameters. When the last member
 * has left, or has died, it is gone: a node that enters the name then makes another, empty one. A subgroup of the file that has
 * `members = wish` is entered in the same way, with the parameters of the file.
 *
 * A node is in it from one view to another: one change of view serves all wishes that have come, of all nodes, and the subgroups that go
 * on stand still no longer than when a node joins. A node may be in 256 at a time, those that it is entering or leaving and those that
 * have not been released among them; a group may have 1,024. docs/decisions/0046, examples/topics.c.
 *
 * The handle is as those of the file, but that it is the program's, from whorl_subgroup_enter to whorl_subgroup_release, and that
 * whorl_subgroup_find and whorl_subgroup_at do not give it. It is for one *stay*: a node that has left and enters again gets another one, and
 * the indexes of its messages begin at 0 with each stay, at all members. In an unordered subgroup without a state a stay may deliver
 * what an earlier stay of the same node has delivered: messages that are sent again in a new view, as some member lacks them.
 *
 * Where the group has a `log_dir` they may be durable (mode WHORL_DURABLE, or `mode = durable` beside `members = wish`; "durable subgroups" below). Such
 * a one is never gone: when its last member has left, or has died, it is *dormant*, and so it is behind a restart of the group. Its name,
 * parameters and last members are kept. It comes back when one of these enters it that has all of its log on disk: this node restores its checkpoint, and is upcalled for
 * the messages behind it, with the views, sequence numbers and incarnations that they had, before whorl_subgroup_ready says that it is. Others that enter
 * are given the state by it. Until such a node enters others wait, and whorl_subgroup_error names the nodes for which they do: it never begins empty, but with `begin_anew`. */

enum whorl_mode { WHORL_MODE_DEFAULT, WHORL_ORDERED, WHORL_UNORDERED, WHORL_DURABLE };

/* What is 0 is as usual: ordered, a window of 100, 10,240 bytes, no large messages; of a subgroup of the file, as the file says. */
struct whorl_subgroup_options {
	size_t size; /* sizeof(struct whorl_subgroup_options) */
	/* The parameters, on which all members agree; whether there is a `state` is one of them. Their ranges are those of the keys of
	 * [subgroup NAME]. */
	enum whorl_mode mode;
	uint32_t window;
	uint32_t message_bytes;
	uint64_t large_bytes;
	/* The rest is this node's own. */
	bool listens; /* it sends nothing there, and has no ring: claims, and waits for a frontier, get WHORL_NOT_SENDER */
	whorl_message_fn *on_message; /* one of three, or none: whorl_on_message and so on */
	whorl_batch_fn *on_batch;
	whorl_offer_fn *on_offer;
	void *upcall_ctx;             /* of the one that is set */
	whorl_refused_fn *on_refused; /* whorl_on_refused */
	void *on_refused_ctx;
	uint64_t refuse_max_ms;          /* as the key; 0: as the file says, or no limit */
	const struct whorl_state *state; /* NULL: there is none (whorl_on_state) */
	/* Of a durable one. `log_bytes`: as the key; 0: as the file says, or 1 GB. `begin_anew`: if it is dormant, and no node that enters it now has
	 * its log, it begins with nothing, and what its logs have is given up. */
	uint64_t log_bytes;
	bool begin_anew;
	/* Durable, with a state; NULL: none. Where this node's log is read again: a view of then begins, before its first message is upcalled. Its members
	 * are those that were senders of the subgroup in it, by rank, with the incarnations that they had; joined and left are not said, and `rank` is
	 * UINT32_MAX. A view of which nothing came to this node's disk may be missing; one that the state has already may come again. On the loop, with
	 * upcall_ctx. For states that depend on which members there are: all members have to be senders then. */
	whorl_view_fn *on_past_view;
	bool one_thread; /* as `sending_threads = one`, below; false: as the file says */
};

/* Enters the subgroup of that name, and waits at most timeout_ms until a view has begun with this node in it. Its state may still come
 * (whorl_subgroup_ready). `options` may be NULL: all is as usual. The options and the functions of the state are copied. It may be called
 * before whorl_start, with timeout_ms 0, since no view begins before: then a node that joins a group comes into its first view with the subgroup.
 * Any thread, upcalls too with timeout_ms 0. With thread = caller it runs the loop meanwhile unless another thread does.
 * WHORL_OK: this node is in it; WHORL_TIMEOUT: not yet, and it goes on: whorl_subgroup_ready waits for it and may say WHORL_REFUSED later,
 * whorl_subgroup_leave takes it back. In these two cases *out is a handle, to be released; in all others it is NULL, and nothing is left:
 * WHORL_REFUSED: it is not as others have it, and whorl_invalid_text has the parameter, both values, and the node that has the other; or there
 * are 1,024 already. WHORL_AGAIN: this node is leaving a subgroup of that name, and has not left in time; with timeout_ms 0, not yet.
 * WHORL_INVALID: the name is none (1 to 63 of A-Z a-z 0-9 _ . -), or one of the file without `members = wish`; this node is in
 * it, or is entering it; a parameter is out of its range, or not the file's; more than one of the three functions is set, or the
 * state lacks one of its own. WHORL_UNSUPPORTED: it is to be durable, and the group has no `log_dir`. WHORL_MEMORY: with its ring, twice, and its private arrays the node would need more than
 * `memory_max`; 256 of this node; or memory is out. WHORL_CLOSED: whorl_close has begun. WHORL_WOULD_DEADLOCK, WHORL_FORKED, and
 * whatever else whorl_error says of the node for good. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_subgroup_enter(whorl_node *node, const char *name,
								  const struct whorl_subgroup_options *options,
								  int timeout_ms, whorl_subgroup **out);

/* Waits at most timeout_ms until this node is a member of the subgroup and has its state; of a subgroup of the file, too. With thread =
 * caller it runs the loop meanwhile unless another thread does. Any thread, upcalls too with timeout_ms 0.
 * WHORL_OK; WHORL_TIMEOUT: not yet; or why it will never be, as whorl_subgroup_error says it: WHORL_REFUSED, WHORL_CLOSED, WHORL_SHARD_LOST,
 * WHORL_SYSTEM, WHORL_MEMORY, and whatever whorl_error says of the node for good; WHORL_WOULD_DEADLOCK, WHORL_INVALID, WHORL_FORKED. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_subgroup_ready(whorl_subgroup *subgroup, int timeout_ms);

/* WHORL_OK: this node is a member of the subgroup; WHORL_AGAIN: it is entering it (the words say for which nodes it waits, if it is dormant), or, of a subgroup of the file, it is in no shard of it in
 * this view; WHORL_REFUSED: what it wished is not as others have it; WHORL_CLOSED: it has left, or is leaving. A node that cannot be given the
 * state of a subgroup that it has entered does not fail: it leaves that subgroup, may enter it again, and this says why: WHORL_SHARD_LOST (all
 * members that had the state have gone before they gave it), WHORL_SYSTEM (the program could not restore it), WHORL_MEMORY (what is kept back
 * outgrew `backlog_max`). Or what whorl_error says of the node. With `text` non-NULL also the words, at most `bytes` with the terminating zero.
 * Any thread. */
WHORL_API enum whorl_result whorl_subgroup_error(const whorl_subgroup *subgroup, char *text, size_t bytes);

/* The nodes for which this one waits in a durable subgroup that is dormant in the current view: its last members, of which one has to enter it that
 * has all of its log. Their ids into `ids`, at most *count of them; *count becomes how many there are, 0 where it is not dormant. `ids` may be
 * NULL. This node may be one of them. WHORL_OK; WHORL_INVALID; WHORL_FORKED. Never blocks. Any thread, upcalls too. */
WHORL_API enum whorl_result whorl_subgroup_awaited(const whorl_subgroup *subgroup, uint32_t *ids, uint32_t *count);

/* Leaves a subgroup that was entered, and waits at most timeout_ms until a view has begun without this node in it. From the call on claims get
 * WHORL_NOT_SENDER. What was claimed before is delivered first, so it takes as long as a claim stays open; and nodes that
 * have entered, or enter meanwhile, and get the state from this one, get all of it: also if this node is closed at once when it has left. So
 * where none dies, and each waits for WHORL_OK before it is closed, no newcomer is ever told WHORL_SHARD_LOST. Upcalls go on until it has left; none is made after this has returned WHORL_OK. The
 * handle stays, and answers. It cannot be taken back: to be in the subgroup again the node enters it again. Any thread, upcalls too with
 * timeout_ms 0. With thread = caller it runs the loop meanwhile unless another thread does.
 * WHORL_OK: it has left, or had never entered; WHORL_TIMEOUT: not yet, and it goes on; WHORL_INVALID: it is one of the file that was not
 * entered; WHORL_WOULD_DEADLOCK, WHORL_FORKED, WHORL_CLOSED, and whatever else whorl_error says of the node for good. */
WHORL_API enum whorl_result whorl_subgroup_leave(whorl_subgroup *subgroup, int timeout_ms);

/* The program has done with the handle. If the node has not left yet it leaves, without waiting for it; when it has, the handle is freed. No
 * other call with the handle may be under way or follow, but commit and abort of open claims; upcalls may come until it has left. whorl_close
 * frees those that were not released. NULL is fine. Never blocks. Any thread, upcalls too.
 * WHORL_OK; WHORL_INVALID: it is one of the file that was not entered; WHORL_FORKED. */
WHORL_API enum whorl_result whorl_subgroup_release(whorl_subgroup *subgroup);

/* The members of the subgroup (of this node's shard) in the current view: their ids into `ids`, at most *count of them; *count becomes how many
 * there are. `ids` may be NULL. WHORL_OK; WHORL_AGAIN: this node is no member of it, and *count is 0; WHORL_FORKED. Never blocks. Any
 * thread, upcalls too. */
WHORL_API enum whorl_result whorl_subgroup_members(const whorl_subgroup *subgroup, uint32_t *ids, uint32_t *count);

/* ---- sending ----------------------------------------------------------------------------------------------------------
 * claim, fill in place, commit or abort. Any number of threads at once, lock-free, and any number of claims out at once
 * (up to the window), finished in any order. Messages leave in the order of their claims: an open claim holds back the
 * later claims of this node in this subgroup (and no other node's), so finish it soon, and do not wait for a claim while
 * you hold another: its slot may be the one that all wait for.
 *
 * A claim belongs to the sender's stream of messages and not to a view: it may be opened in one view and committed in any
 * later one, and the message takes its place in the order of claims. A message that was committed is delivered; unless its node
 * fails or is removed before it knows that, when it is in doubt, or is taken out of its shard: whorl_subgroup_statistics counts
 * each kind. */

struct whorl_claim {      /* 64 bytes, now and later: what is to come takes of `room`. It needs no initialisation */
	void *data;       /* `bytes` long, 16-byte aligned, of unknown content; yours until commit or abort */
	size_t bytes;     /* as asked for; commit may say less */
	uint64_t number;  /* the message's index */
	void *stream;     /* private; NULL once it is finished */
	uint32_t slot;    /* private */
	uint32_t home;    /* private: the view that the memory of `data` belongs to */
	uint64_t room[3]; /* private */
};

/* Takes the next slot. bytes: 0 .. message_bytes of the subgroup. Never blocks. Any thread, upcalls too.
 * With `[subgroup NAME] sending_threads = one` the program promises that one thread sends there: the first that claims (or sends, or calls) in it, as
 * long as the node lives. Its claims need no locked instruction, which small messages notice; those of all other threads, upcalls on
 * the loop's thread too, are refused (WHORL_INVALID), and nothing else happens. Commits and aborts may be made by any thread.
 * A call (replica.h) is a claim by the thread that calls. In a subgroup that is served (whorl_work_serve) its worker sends, for all threads and other
 * workers that call there: the option fits, as long as the program claims nothing itself. Channels of topics (dds.h) have no such option.
 * WHORL_OK; WHORL_AGAIN: the window is full, the view is changing, there is none yet, or the shard has too few members: wait
 * with whorl_claim_wait or whorl_window_arm; WHORL_NOT_SENDER (in this view); WHORL_INVALID: larger than message_bytes
 * (whorl_claim_large takes it, if it is not larger than large_bytes);
 * WHORL_NO_QUORUM, WHORL_REMOVED, WHORL_CLOSED, WHORL_FORKED, and whatever else whorl_error says of the node. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_claim(whorl_subgroup *subgroup, size_t bytes,
							 struct whorl_claim *out);

/* The same, waiting for the window at most timeout_ms. With thread = caller it runs the loop meanwhile unless another
 * thread does. Also WHORL_TIMEOUT, WHORL_WOULD_DEADLOCK. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_claim_wait(whorl_subgroup *subgroup, size_t bytes, int timeout_ms,
							      struct whorl_claim *out);

/* Takes as many slots as a message of `bytes` needs, up to the subgroup's large_bytes, and waits for them at most timeout_ms. Such a
 * *large* message is delivered as one, or not at all, like any other. It lies in parts: whorl_claim_part says where, and claim->data is
 * the first of them. It takes as many indexes as slots: claim->number is its index, and the next claim's is as much higher. It is
 * finished once, with whorl_commit (of fewer bytes, too), whorl_commit_many or whorl_abort. With up to message_bytes it is whorl_claim_wait.
 * While a thread waits here no other claims of this node in this subgroup are made: they get WHORL_AGAIN, or wait, so that what becomes
 * free comes together. So it waits for a whole window of messages to be delivered, at most, if no claim is left open meanwhile; with
 * timeout_ms 0 it takes what is free, and has no such right. For programs that do not wait: there is room when the frontier is there that
 * whorl_claim_many names, for `count` slots. Any thread, upcalls too with timeout_ms 0.
 * WHORL_INVALID: larger than large_bytes, which is 0 if it is not configured; the other results of whorl_claim_wait, WHORL_AGAIN with
 * timeout_ms 0 alone. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_claim_large(whorl_subgroup *subgroup, size_t bytes, int timeout_ms,
							       struct whorl_claim *out);

/* Where part `part` of an open claim lies, from 0 on, and how long it is: together the parts are claim->bytes, in their order. On shm
 * a claim has one part, or two where the ring ends; elsewhere each slot is a part. Each is 16-byte aligned. Any thread.
 * WHORL_OK; WHORL_NOT_FOUND: it has no such part; WHORL_INVALID: NULL, or the claim is finished. */
WHORL_API enum whorl_result whorl_claim_part(const struct whorl_claim *claim, uint32_t part, void **data,
					     size_t *bytes);

/* The message is final and may leave; `bytes` <= claim->bytes are sent. The data must not be touched afterwards. Never
 * blocks. Each claim is finished exactly once, by any thread; again it is refused. Do not finish a copy
 * of the struct as well: that is not caught. If the loop sleeps this thread wakes it; on shm it sends first what is committed and wakes the
 * members that sleep, a system call for each. It makes no upcalls.
 * WHORL_OK: it will be delivered in its place, whatever view is current then, unless this node fails or is removed first, or the
 * layout function takes it out of the shard, of which the program is told (whorl_on_gone);
 * WHORL_PENDING: the same, but not before a majority is heard again; WHORL_INVALID: too many bytes, the claim is still
 * open; or it was finished before, and nothing is done. Of the following each says that the message is not sent, and will never be
 * delivered, by any member: WHORL_NOT_SENDER: this node was taken out of the shard; WHORL_REMOVED, and whatever else whorl_error
 * says of the node for good; WHORL_CLOSED: the node was closed; WHORL_FORKED. */
WHORL_API enum whorl_result whorl_commit(struct whorl_claim *claim, size_t bytes);

/* Takes `count` slots that follow each other, all or none, in one step: the messages have the indexes out[0].number and on, and no other
 * thread's is among them. `bytes` is the size of each. Each is finished by itself, with whorl_commit or whorl_abort, or many at once with
 * whorl_commit_many. Never blocks. Any thread, upcalls too.
 * WHORL_OK: all `count`; WHORL_INVALID: `count` is 0 or more than the subgroup's window, which can never be had, or as for whorl_claim;
 * the other results of whorl_claim, WHORL_AGAIN also where there is room, but not for all: none is claimed then. whorl_window_arm and
 * whorl_claim_wait know of one slot only; for `count` of them there is room when of this node's messages the one with the index
 * last + count - window is delivered by all (whorl_frontier_wait, whorl_frontier_arm), `last` being that of its newest claim. Where
 * that is past already the view is changing, or there is none, and whorl_window_arm tells of the end of that. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_claim_many(whorl_subgroup *subgroup, size_t bytes, size_t count,
							      struct whorl_claim *out);

/* Commits `count` open claims of one subgroup, however they were made: claims[i] with bytes[i], or, if `bytes` is NULL, each with as
 * many as were claimed. If they follow each other they leave together. Otherwise as whorl_commit, and there is one result for all:
 * WHORL_INVALID: `count` is 0; or for one of them there are too many bytes, or it was finished before, or is of another subgroup: nothing
 * is done, and all that were open are. WHORL_OK, WHORL_PENDING: all are accepted. WHORL_NOT_SENDER: none is sent that was claimed before
 * this node was taken out of the shard, as all claims of one whorl_claim_many are; claims that were made later are sent. The other
 * results of whorl_commit: none is sent. */
WHORL_API enum whorl_result whorl_commit_many(struct whorl_claim *claims, size_t count, const size_t *bytes);

/* Gives the slot back: nothing is delivered for it, and the claim is finished in any case. WHORL_OK (without a quorum, too);
 * WHORL_INVALID: it was finished before; or why it did not matter any more: the results of whorl_commit that say that nothing is sent. */
WHORL_API enum whorl_result whorl_abort(struct whorl_claim *claim);

/* Claim, copy, commit; of a large message too (whorl_claim_large). WHORL_OK and WHORL_PENDING, as of whorl_commit: it is accepted, and *index, unless `index` is NULL, is its
 * index: of this node's messages in this subgroup the upcall gets this one with that index. It is written before that can be,
 * also if an upcall comes before whorl_send returns. Whatever else it says, nothing is sent: the results of whorl_claim_wait
 * (timeout_ms 0: of whorl_claim), WHORL_NO_QUORUM among them, and those of whorl_commit that say so. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_send(whorl_subgroup *subgroup, const void *data, size_t bytes,
							int timeout_ms, uint64_t *index);

/* Declares that this node sends nothing in the subgroup until further notice, or takes it back (Spindle §III-B): with the next
 * view, which this brings about, no member waits for its rounds any more, and others may be chosen in its place (`senders` half,
 * one). Claims get WHORL_NOT_SENDER at once; what was claimed before is delivered first. A node that comes back gets WHORL_AGAIN
 * until it is settled whether it sends again; whorl_claim_wait waits for that. Never blocks. Any thread. WHORL_OK: it will be so,
 * unless the layout says otherwise; before the first view too; WHORL_CLOSED: it is leaving the subgroup, or has left it, or the node
 * is closed; and whatever else whorl_error says of the node for good. */
WHORL_API enum whorl_result whorl_pause_sending(whorl_subgroup *subgroup, bool pauses);
/* Asks node `id` to do that, as if its program had called whorl_pause_sending. WHORL_OK: it is asked, once; WHORL_NOT_FOUND: it is not in
 * the current view; WHORL_AGAIN: not now: there is no view yet, this node is not in the subgroup yet, or too much is under way to it; WHORL_CLOSED, and whatever else whorl_error
 * says of the node. Any thread. */
WHORL_API enum whorl_result whorl_request_pause(whorl_subgroup *subgroup, uint32_t id, bool pauses);

/* For programs that wait in poll or epoll (examples/window.c): after a claim's WHORL_AGAIN, whorl_window_arm; if that says WHORL_AGAIN
 * too, the descriptor says *room* for it, once, when there is some, or a claim would say why not. It is an eventfd that counts
 * (EFD_SEMAPHORE): each arm adds one, and each read of 8 bytes, which does not block, takes one. A program that reads once for each
 * arm that said WHORL_AGAIN finds it silent otherwise, whatever room there is. So arm once, read when it is readable, claim. A
 * thread that has not armed does not read: several may share the descriptor, and each that armed is told. Do not write to it or
 * close it; it is the node's.
 * fd: made by the first call, and then the same; an arm before it counts. -1 where this node is not a sender (errno is not touched);
 * there is one before the first view, which decides that, and for a node that comes back (whorl_pause_sending). -1 too where none can be
 * made (EMFILE, ENFILE, ENOMEM in errno): ask again later.
 * arm: WHORL_OK: claim at once: there is room, or the claim says why not (WHORL_NO_QUORUM, too: then try again later), nothing is
 * armed; WHORL_AGAIN: it is armed (before the first view, too); WHORL_NOT_SENDER, WHORL_INVALID, WHORL_FORKED: nothing is armed.
 * Never blocks. Any thread, upcalls too. */
WHORL_API int whorl_window_fd(whorl_subgroup *subgroup);
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_window_arm(whorl_subgroup *subgroup);

/* ---- what became of mine ------------------------------------------------------------------------------------------------
 * A commit says that a message will be delivered. Two *frontiers* say how far that is, for all messages that this node sends in a
 * subgroup: numbers F such that all of them with an index below F are past, and the one with the index F is not known to be.
 *
 * The index is that of the message as everywhere: whorl_claim's `number`, what whorl_send stores in *index, and message.index of the
 * upcall. It counts the messages of this node in this subgroup from 0, in the order of their claims, for as long as the node is open, or,
 * of a dynamic subgroup, for its stay. When it has left, all that it has sent is past, and a wait for more runs into its time-out.
 * A change of view does not touch it: what is sent again in a later view keeps its index, and frontiers go on where they were. A node
 * that is opened again begins at 0, with both frontiers 0.
 *
 * *All* are the members of the subgroup (of its shard) in the view in which the message is delivered, this node among them, but for
 * those that do not come into the view that follows. A member that is suspected counts until a view has begun without it; one that
 * is slow to deliver the rest of a view counts until it has begun the next one. A newcomer that keeps back what is
 * delivered, because its state is not restored yet, counts at once (whorl_on_state): its program has not seen these messages. One that
 * refuses counts when it takes them, or when a view begins for which they are kept (whorl_on_offer).
 *
 * An aborted claim is past when a message in its place would be. Messages that are gone because the layout function has taken this node out
 * of its shard (whorl_on_gone) count as past too, once the program has been told of them. An open claim is not past, and holds up
 * those behind it.
 *
 * Frontiers never fall. WHORL_DELIVERED_BY_ALL is never ahead of WHORL_RECEIVED_BY_ALL, if it is read first. Both may be late: they
 * say what this node has heard. Where too few members are heard they stand until there is a majority again, and when the node
 * has failed (WHORL_REMOVED and the like) for good. */

enum whorl_frontier {
	/* Every member has the message: it is delivered by all that go on, whatever happens to its sender, and lost only with the
	 * group. It comes when this node delivers the message itself, after its upcall. Unordered: as delivered by all. */
	WHORL_RECEIVED_BY_ALL,
	/* At every member the upcall with the message has returned. */
	WHORL_DELIVERED_BY_ALL,
};

/* The frontier: messages with indexes below are past. 0 at first, where nothing was sent, and in a forked child; 0 for no subgroup or
 * no such frontier (whorl_invalid_text). Never blocks. Any thread, upcalls too. */
WHORL_API uint64_t whorl_frontier_get(const whorl_subgroup *subgroup, enum whorl_frontier which);

/* Waits until message `index` is past, at most timeout_ms; the index may be of a message that is yet to come. Any number of threads, for any
 * indexes: each is woken for its own. With thread = caller it runs the loop meanwhile unless another thread does.
 * WHORL_OK: it is past, whatever has become of the node since; WHORL_TIMEOUT: it is not, by then; WHORL_NO_QUORUM: the same, and too few
 * members are heard now; WHORL_CLOSED: whorl_close has begun, and given up or finished before it was;
 * WHORL_REMOVED, and whatever else whorl_error says of the node for good: it will never be known here; WHORL_NOT_SENDER: this node can be no
 * member of the subgroup, or only listens there; WHORL_WOULD_DEADLOCK (from an upcall, unless timeout_ms is 0); WHORL_INVALID; WHORL_FORKED. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_frontier_wait(whorl_subgroup *subgroup, enum whorl_frontier which,
								 uint64_t index, int timeout_ms);

/* For programs that wait in poll or epoll (examples/frontier.c): whorl_frontier_arm; if that says WHORL_AGAIN, the descriptor says it,
 * once, when message `index` is past, or when it is certain that this will never be known here. It is an eventfd that counts
 * (EFD_SEMAPHORE), as that of the window: each arm adds one, and each read of 8 bytes, which does not block, takes one. So arm once, read
 * when it is readable, look with whorl_frontier_get. There is one for both frontiers. All that are armed for one of them are told when
 * the least of their indexes is past: a program that armed for several looks, and arms again for the rest. A thread that has not
 * armed does not read. Do not write to it or close it; it is the node's.
 * fd: -1 if the system has none left, or this node can be no member, or only listens.
 * arm: WHORL_OK: it is past, nothing is armed; WHORL_AGAIN: it is armed; WHORL_SYSTEM: no descriptor can be had; WHORL_NOT_SENDER, WHORL_INVALID,
 * WHORL_FORKED, WHORL_REMOVED and whatever else whorl_error says of the node for good: nothing is armed.
 * Never blocks. Any thread, upcalls too. */
WHORL_API int whorl_frontier_fd(whorl_subgroup *subgroup);
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_frontier_arm(whorl_subgroup *subgroup, enum whorl_frontier which,
								uint64_t index);

/* ---- statistics -------------------------------------------------------------------------------------------------------
 * Any thread, at any time, without disturbing the loop; each figure is exact, together they are of about one moment. */

struct whorl_batch_stats { /* never grows */
	uint64_t batches, events;
	uint64_t histogram[20]; /* batches of 1, 2-3, 4-7, ... */
};

/* The stages of a change of view at one member (docs/protocol.md). */
enum {
	WHORL_STAGE_WEDGED,       /* nothing is sent or received in the old view any more */
	WHORL_STAGE_PROPOSED,     /* the leader's proposal has come, or was made */
	WHORL_STAGE_ACKNOWLEDGED, /* the memory of the next view is shared with all its members */
	WHORL_STAGE_DECIDED,      /* the leader's decision, which members and which messages, has come and is echoed */
	WHORL_STAGE_AGREED,       /* all members have echoed it */
	WHORL_STAGE_INSTALLED,    /* the messages up to the cut are delivered, the new view has begun */
	WHORL_STAGE_DELIVERED,    /* the first message of the new view */
	WHORL_STAGES
};

/* The stages of a node's way into a group (docs/decisions/0016). */
enum {
	WHORL_ENTRY_MET,      /* the first other node, or that there is none */
	WHORL_ENTRY_INVITED,  /* into a view */
	WHORL_ENTRY_THERE,    /* its memory is shared with all its members */
	WHORL_ENTRY_BEGUN,    /* it has begun: this node is a member */
	WHORL_ENTRY_RESTORED, /* it has the state of all its subgroups */
	WHORL_ENTRIES
};

#define WHORL_STAGES_MAX 16 /* room for stages that are to come */

/* What a node complains of, and counts by kind. What others can make happen again and again is logged the 1st, 2nd, 4th, 8th time of
 * each kind; the counters know all. docs/operations.md says what to do. */
enum whorl_complaint {
	/* At its door, of callers, and of peers that it has called: */
	WHORL_COMPLAINT_UNPROVEN, /* the cluster key, the certificate or the user is missing, another, or another node's */
	WHORL_COMPLAINT_FOREIGN, /* of another group, version or layout, or its id is taken, or it had ended before */
	WHORL_COMPLAINT_GARBLED, /* what it says no node says: a program that is none, or a node that is broken */
	WHORL_COMPLAINT_SILENT,  /* a caller that has not said in time what it is. Not logged */
	WHORL_COMPLAINT_CROWDED, /* a caller that had to make room for another, or found none. Not logged */
	/* Of its own calls: */
	WHORL_COMPLAINT_REFUSED, /* a peer has refused this node */
	WHORL_COMPLAINT_UNREACHED, /* a peer to which no connection can be made, or which does not answer; not: none runs there */
	/* Of its host: */
	WHORL_COMPLAINT_STARVED, /* no descriptors, memory, or queue pairs of the device, to do what was asked for */
	WHORL_COMPLAINTS
};

#define WHORL_COMPLAINTS_MAX 16 /* room for kinds that are to come */

struct whorl_node_stats {
	size_t size; /* sizeof(struct whorl_node_stats) */
	uint64_t steps, idle_steps, yields, sleeps;
	uint64_t pushes;         /* ranges pushed */
	uint64_t writes;         /* pushes times peers, on verbs those made: what Spindle counts as RDMA writes */
	uint64_t bytes_pushed;   /* times peers */
	uint64_t posts, post_ns; /* calls of the transport, and the time they took (sampled) */
	uint64_t heartbeats;     /* pushes among the above that were heartbeats */
	uint64_t memory_bytes;   /* the estimate that was checked, with what was entered since (whorl_subgroup_enter) */
	uint64_t views;          /* installed, the first included */
	/* Of the last change of view, when each stage was reached here, in ns from the first suspicion, or, if no member was
	 * suspected, from the wedge; 0: not yet. */
	uint64_t change_ns[WHORL_STAGES_MAX];
	/* When this node reached each stage of coming in, in ns from whorl_start; 0: not yet. */
	uint64_t entry_ns[WHORL_STAGES_MAX];
	/* Of state, in bytes, through all transfers: given to others; restored here; kept back now until it is restored. */
	uint64_t state_given, state_taken, state_kept;
	uint64_t gives, takes;                     /* transfers under way now */
	uint64_t complaints[WHORL_COMPLAINTS_MAX]; /* so far, by enum whorl_complaint */
};

struct whorl_subgroup_stats {
	size_t size; /* sizeof(struct whorl_subgroup_stats) */
	/* My messages: claimed, given a round, of these aborted. As many as their indexes: a large one counts for each slot, here and in
	 * `resent`, `dropped` and `in_doubt`. */
	uint64_t claimed, sent, aborted;
	uint64_t resent;     /* of these, given a round again in a later view */
	uint64_t dropped;    /* committed or claimed, and never to be delivered: the layout took me out of the shard */
	uint64_t in_doubt;   /* sent, and removed before I knew whether the others deliver them */
	uint64_t open_claim; /* 1 + the index of the claim that the send predicate waits for; 0: none */
	uint64_t delivered, delivered_bytes;
	uint64_t nulls;                       /* rounds that I covered without a message (Spindle §III-B) */
	uint64_t received_num, delivered_num; /* mine: first sequence number of this view not received, not delivered */
	uint64_t window_full;                 /* claims that found the window full */
	uint64_t window_wait_ns;              /* time that whorl_claim_wait and whorl_send waited, over all threads */
	uint64_t upcall_longest_ns;           /* of a batch upcall; with message upcalls, of up to 64 in a row */
	uint32_t slowest_member;              /* node id of the member with the least delivered_num */
	uint64_t slowest_behind;              /* by how many sequence numbers it trails this node's received_num */
	struct whorl_batch_stats send, receive, deliver;
	uint64_t refusals;     /* offers of which not all was taken (whorl_on_offer) */
	uint64_t refused_kept; /* bytes: what changes of view have kept, and the program has not taken yet */
	/* Slots that I have passed on to the next member, my own too ([subgroup] relay_bytes), and the bytes of their payloads. The last member
	 * that a message comes to passes nothing on. */
	uint64_t relayed, relayed_bytes;
};

/* WHORL_OK, WHORL_INVALID (size 0). Fields beyond `size` are not written. */
WHORL_API enum whorl_result whorl_node_statistics(const whorl_node *node, struct whorl_node_stats *out);
WHORL_API enum whorl_result whorl_subgroup_statistics(const whorl_subgroup *subgroup, struct whorl_subgroup_stats *out);

/* ---- durable subgroups ---------------------------------------------------------------------------------------------------
 * With `mode = durable` a subgroup is ordered, and each member writes what it has received to a log in [group] log_dir/ID and syncs it: a
 * message is delivered when it is on the disk of every member of its shard. So any one whole log has all that was ever delivered, and
 * WHORL_DELIVERED_BY_ALL says that a message outlives the power of all but one. docs/log.md, docs/decisions/0058, docs/operations.md.
 *
 * A log is *whole* when nothing that was delivered is missing in it. That of a newcomer is, when the state that it was given is on its disk.
 * With functions for the state (whorl_on_state) a log that is longer than [subgroup] log_bytes gets a checkpoint: a snapshot of the state is
 * written to disk beside the loop, and what lies before it is removed. Without them the log is the state: it stays whole, and grows; and a node that
 * comes into a shard that has members, also one that was there before, is given all of a member's log, and upcalled for all of it, before
 * whorl_ready says that it is: messages of views that it was not in.
 *
 * A node leaves with WHORL_DISK when its disk fails (an error, or a sync that fails), is full, or does not answer for [group] disk_timeout_ms;
 * the others go on without it. */

struct whorl_log_stats {
	size_t size;        /* sizeof(struct whorl_log_stats) */
	uint64_t persisted; /* first sequence number of this view that is not on this node's disk, */
	uint64_t persisted_by_all; /* and, as far as this node knows, on those of all members: what is below may be delivered */
	uint64_t segments, bytes; /* files of the log, and their bytes */
	uint64_t used_bytes;      /* of these what holds messages */
	uint64_t batches, syncs;  /* ever written to this log; syncs since the node was opened */
	uint64_t longest_sync_ns; /* of writing a batch and syncing it */
	uint64_t checkpoints;     /* since the node was opened */
	bool whole;               /* see above */
	uint32_t slowest_member; /* node id of the member with the disk that all others wait for; UINT32_MAX: no member waits */
	uint64_t slowest_behind; /* by how many sequence numbers it trails what this node has received */
	/* Since the node was opened: how many batches it has synced, and what was in them. The quotients are what one batch has. */
	uint64_t written_batches, written_messages, written_bytes;
	uint64_t checks; /* times that all of it was read again, and was good, since the node was opened ([group] log_check_days) */
	bool rot; /* the last time it was not: it is not whole. With functions for the state a checkpoint makes good for it */
};

/* Of the log of this node's shard. WHORL_OK; WHORL_NOT_FOUND: the subgroup is not durable, or this node is in no shard of it yet;
 * WHORL_INVALID (size 0), WHORL_FORKED. Any thread, upcalls too. Fields beyond `size` are not written. */
WHORL_API enum whorl_result whorl_log_statistics(const whorl_subgroup *subgroup, struct whorl_log_stats *out);

/* Asks for a checkpoint of this node's log, whatever its length. It is begun by the loop, and whorl_log_stats.checkpoints says when one has
 * come to disk; nothing is waited for. WHORL_OK: it will be made; one that is asked for while another is on its way follows it.
 * WHORL_NOT_FOUND: the subgroup is not durable; WHORL_UNSUPPORTED: it has no functions for its state (whorl_on_state), and the log is
 * all that there is; WHORL_INVALID, WHORL_FORKED; or why the node has failed. Any thread, upcalls too. */
WHORL_API enum whorl_result whorl_checkpoint(whorl_subgroup *subgroup);

enum whorl_shard_condition {
	WHORL_SHARD_ACTIVE,
	WHORL_SHARD_INACTIVE, /* fewer than `members_min` members, or no sender: claims answer WHORL_AGAIN */
	WHORL_SHARD_GONE,     /* this node is not a member in this view, or there is none yet */
};

/* Of the current view. Where this node is not a member, or before its first view: no members, no senders, `sender` -1. */
struct whorl_subgroup_info {
	size_t size;
	const char *name; /* owned by the node */
	uint32_t members, senders;
	uint32_t window;        /* messages in flight per sender: slots */
	uint32_t message_bytes; /* largest message in one slot */
	int sender;             /* my rank among the senders, -1: I am none */
	uint32_t shard, shards; /* mine, of how many */
	enum whorl_shard_condition condition;
	uint64_t large_bytes; /* largest message in several slots; 0: there are none */
	uint64_t relay_bytes; /* slots with so many bytes go from member to member; 0: none does */
};
/* WHORL_OK, WHORL_INVALID (size 0), WHORL_FORKED. Any thread. */
WHORL_API enum whorl_result whorl_subgroup_describe(const whorl_subgroup *subgroup, struct whorl_subgroup_info *out);

/* The members of a shard that this node need not be in, in the current view: their ids into `ids`, at most *count of them; *count becomes
 * how many there are. `ids` may be NULL. WHORL_OK; WHORL_AGAIN: there is no view yet, and *count is 0; WHORL_NOT_FOUND: the view has no such shard; WHORL_FORKED. Never
 * blocks. Any thread, upcalls too. */
WHORL_API enum whorl_result whorl_shard_members(const whorl_node *node, const char *subgroup, uint32_t shard,
						uint32_t *ids, uint32_t *count);

/* How a shard fares that this node need not be in. WHORL_OK: it works; WHORL_AGAIN: too few members, no sender, or no view yet;
 * WHORL_SHARD_LOST: its last members have gone and its state with them; it stays empty, since only the application knows
 * what to put in its place; WHORL_NOT_FOUND: neither the configuration nor the view has such a shard; WHORL_FORKED. Any thread. */
WHORL_API enum whorl_result whorl_shard_state(const whorl_node *node, const char *subgroup, uint32_t shard);

#ifdef __cplusplus
}
#endif

#endif
