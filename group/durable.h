/* durable.h - what durable subgroups ask of a node: its standing follows its views, and its views' messages go to their logs
 * (docs/decisions/0058). Nothing of it does anything where no subgroup is durable: node->disk.logs is NULL.
 *
 * Threads: the loop's.
 */
#ifndef WH_GROUP_DURABLE_H
#define WH_GROUP_DURABLE_H

#include "group/epoch.h"
#include "group/logs/logs.h"
#include "persistence/standing.h"

/* At whorl_open: the directory is locked and read. The results of wh_logs_open; WHORL_OK if nothing is durable. */
WH_MUST_CHECK enum whorl_result wh_durable_open(whorl_node *node, struct wh_error *err);

/* One pass: the node has failed if its disk has. */
void wh_durable_look(whorl_node *node);

/* `epoch` is proposed: its view goes to disk; then it is. False: not yet. */
bool wh_durable_is_prepared(struct wh_epoch *epoch);
/* The proposed epoch is one that this node enters: what its disk has to say of that before the node is there. False: not yet. */
bool wh_durable_has_entered(whorl_node *node);
/* What this node's disk has of the dynamic subgroup of that name, if it is dormant: said with a wish for it. Nothing: birth 0. */
void wh_durable_hold(const whorl_node *node, const char *name, struct wh_holding *out);
/* A stay in a durable subgroup may end: another member's log is whole, or there is no other. */
bool wh_durable_may_leave_stay(const whorl_subgroup *subgroup);

/* The current view is followed by that of `key`, decided by ballot, with these cuts. False: that is not on disk yet. */
bool wh_durable_keep(struct wh_epoch *epoch, uint64_t key, uint64_t ballot, const uint64_t *cuts);

/* This node is to leave in order: its disk says so before others may go on as without it, and nothing of that view counts here any more
 * (0058, Left). True: it may go now: its disk says so, or nothing is durable, or it can only go as one that has failed (it is alone, has
 * failed, or is no member). False: not yet; its disk is to be marked, or another member's log is to be whole first. */
bool wh_durable_leave(whorl_node *node);
/* What that has come to, for whorl_close. Its thread, when there is no loop any more. */
bool wh_durable_may_say_left(const whorl_node *node);

/* `epoch` begins behind `before` (NULL: it is this node's first): its standing, and its messages, go to disk from now on. */
void wh_durable_begin(struct wh_epoch *epoch, const struct wh_epoch *before);

/* durable_restart.c. What the rounds of a restart ask of this node. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_durable_open_restart(whorl_node *node, struct wh_error *err);

/* The proposed epoch has begun. If it is one of a restart, what the logs of its shards have is upcalled first (0058). */
bool wh_durable_begins_replay(whorl_node *node);
/* One pass of that. Returns how much was done. *done: all of it. */
size_t wh_durable_replay(whorl_node *node, bool *done);

/* durable_state.c. The functions of the program become those that write to the log, too. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_durable_wrap_state(whorl_subgroup *subgroup, struct whorl_state *functions,
						      struct wh_error *err);
void wh_durable_free_state(whorl_subgroup *subgroup, bool forked);
/* They are those of durable_log.c: the program has none, and no checkpoint is made. */
void wh_durable_note_log(whorl_subgroup *subgroup);
/* A dynamic subgroup comes back in `epoch` from this node's log, among others: its program is given what lies there, before what is delivered now. */
void wh_durable_recover(const struct wh_epoch *epoch, const struct wh_shard_member *member);
/* Up to where that is still to be done. False: it is not, or has been. */
bool wh_durable_recovers(const whorl_subgroup *subgroup, struct wh_log_place *until);
void wh_durable_recovered(whorl_subgroup *subgroup);
/* Of such a log that was given: how it is being upcalled, and where it ends. NULL: none was. */
struct wh_replay **wh_durable_history(whorl_subgroup *subgroup, struct wh_log_place *until);
/* Those of the program; NULL: it has none. */
const struct whorl_state *wh_durable_program_state(const whorl_subgroup *subgroup);
/* The stay is over: what lies in its log is not upcalled any more. True: jobs still use its program's functions, in this pass. */
bool wh_durable_stops(whorl_subgroup *subgroup);
/* A checkpoint is to be made. Any thread. */
void wh_durable_ask_checkpoint(whorl_subgroup *subgroup);
/* One pass: makes one, if it is time. */
void wh_durable_step_state(whorl_subgroup *subgroup, uint64_t log_bytes);

/* durable_log.c. What a subgroup without functions has for a state: its log. */
struct whorl_state wh_durable_log_functions(whorl_subgroup *subgroup);
/* Upcalls what a log that is read again has: a view, if one begins, and these messages. Returns how many of them the program takes. */
size_t wh_durable_upcall(whorl_subgroup *subgroup, struct wh_replay *replay, const struct whorl_message *messages,
			 size_t count);
/* A state was restored: if it is a log all of it is upcalled. False: there is more, in a later pass. *work: how much was. */
bool wh_durable_precede(whorl_subgroup *subgroup, size_t *work);

/* durable_disk.c. How the logs in the directory of node `id` are opened, that of this node or of another on its host; without `wake`. `config`
 * outlives them. */
void wh_durable_logs_config(struct wh_logs_config *out, const struct wh_node_config *config, const struct wh_env *env,
			    uint32_t id);
/* Wakes the loop of the node ctx. Any thread. */
void wh_durable_wake(void *ctx);

/* durable_others.c. One pass, while this node seeks: it speaks for disks of ended nodes on this host, when it is time. */
void wh_durable_speak(whorl_node *node);
/* It copies a log to its own disk: what that disk is to say comes after that. */
bool wh_durable_copies(const whorl_node *node);
/* And that disk is the one to which it is copied, or from which: nothing else begins in its logs meanwhile. */
bool wh_durable_copies_disk(const whorl_node *node, uint32_t disk);
/* What lies on that disk: this node's, unless it speaks for it. */
struct wh_logs *wh_durable_logs_of(const whorl_node *node, uint32_t disk);
/* It does so no more: a view has begun, or the node ends, and its loop has. Their directories are let go of aside. */
void wh_durable_hush(whorl_node *node);
/* Closes these logs, aside. The loop's, or the end of the node's. NULL is fine. */
void wh_durable_close_aside(whorl_node *node, struct wh_logs *logs);

/* The view of the standing's base begins in the log of that shard. And where it has not begun there. False: no memory. */
WH_MUST_CHECK bool wh_durable_mark(whorl_node *node, struct wh_logs *logs, const struct wh_standing *standing,
				   const struct wh_shard_standing *shard);
WH_MUST_CHECK bool wh_durable_mark_base(whorl_node *node, struct wh_logs *logs, const struct wh_standing *standing,
					const struct wh_shard_standing *shard);

/* The source of that shard member, which is durable. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_durable_source(struct wh_epoch *epoch, struct wh_shard_member *member,
						  uint32_t index, struct wh_error *err);

#endif
