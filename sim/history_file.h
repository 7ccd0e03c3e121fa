/* history_file.h - what the application of a real process sees, line by line, and several such logs as one history.
 *
 *     V number rank 0,1,4 place...     a view upcall: members by rank; its own place in each subgroup, in their order:
 *                                      - in none, m1 member of shard 1, s0 sender of shard 0; a ? behind it: inactive
 *     C subgroup index digest          about to commit: written before whorl_commit
 *     A subgroup index                 about to abort (written before), or the commit was refused
 *     D subgroup view sender index sequence digest
 *                                      a message upcall
 *     G subgroup digest                takes a snapshot of its state, to give it
 *     T subgroup digest                has restored the state that it was given
 *     R                                learnt that it was removed
 *     L                                whorl_close is called
 *     E                                it has returned
 *
 * Each life of a node has a log of its own. Numbers are decimal, digests hexadecimal. Each line is written at once, so a
 * process that is killed leaves whole lines and perhaps a piece of one at the end, which is ignored. Where commits were
 * refused, the A stands before the next C of the subgroup.
 */
#ifndef WH_SIM_HISTORY_FILE_H
#define WH_SIM_HISTORY_FILE_H

#include <stdio.h>

#include "sim/history.h"

/* Any thread. False: it could not be written. */
bool wh_history_log_view(FILE *log, const struct wh_history_view *view, uint32_t subgroups);
bool wh_history_log_commit(FILE *log, uint32_t subgroup, uint64_t index, uint64_t digest);
bool wh_history_log_abort(FILE *log, uint32_t subgroup, uint64_t index);
bool wh_history_log_deliver(FILE *log, const struct wh_history_delivery *delivery);
bool wh_history_log_gave(FILE *log, uint32_t subgroup, uint64_t digest);
bool wh_history_log_restored(FILE *log, uint32_t subgroup, uint64_t digest);
bool wh_history_log_removed(FILE *log);
bool wh_history_log_leaving(FILE *log);
bool wh_history_log_left(FILE *log);

/* Tells the history what the logs say: logs[life], NULL where there is none. Each log in its own order; view by view, a
 * delivery once the claim is known, and what is restored once it has been given. False: something is broken, which may be a
 * log ("log: node 2, line 17: ..."). A caller that knows which nodes died tells that afterwards, and may then ask for progress. */
bool wh_history_replay(struct wh_history *h, FILE *const logs[]);

#endif
