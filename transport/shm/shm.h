/* shm.h - the transport for processes (and threads) of one host and one user.
 *
 * My row is a sealed memory file that peers map read-only, so the MMU enforces that a row has one writer. A word is
 * pushed by a release store into the row; bytes are already where they belong. The doorbell is an eventfd. Peers meet
 * over abstract Unix sockets named by user, group and node; the kernel vouches for the user at both ends. Nothing has
 * a name in a file system, so nothing is left behind, however a process ends. See transport.h for the contract.
 *
 * Bounds: a group's name has at most 63 bytes; of images that a peer has opened and this node has not, the eight of the
 * greatest keys are remembered.
 *
 * The process of each peer is watched by a descriptor, for T12; likewise that of a node which has closed its connections and runs on, or
 * has not ended yet. These are at most four for each node: of its lives before the last four no proof of death will come.
 *
 * A node that waits for others costs next to nothing: a newcomer calls it. A stream has a quarter of a megabyte under way,
 * or a little more. Of visitors and other strangers 256 at a time are let in; others come again by themselves.
 *
 * Memory: besides the row of each image that is open a node keeps a spare for the next one, about as large as its last row: twice
 * the row in a view, three times for a while after a change. The spare is a row of before that all have let go of, or a new one. If the machine has less than twice the spare's size left,
 * there is none, and image_open makes the row itself, which takes about half a millisecond per megabyte. A row goes when
 * its owner and all that have been offered it have let go of it.
 */
#ifndef WH_TRANSPORT_SHM_SHM_H
#define WH_TRANSPORT_SHM_SHM_H

#include "transport/transport.h"

/* ctx is not used. WHORL_OK, WHORL_SYSTEM, WHORL_MEMORY, WHORL_REFUSED (the id is taken), WHORL_INVALID (the name). */
wh_transport_create wh_shm_create;

/* Takes the id of a node: what calls it from now on waits for its transport. `*held` is for wh_transport_config.held, or to be closed.
 * Any thread. WHORL_OK; WHORL_AGAIN (a process has it, of whatever user); WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_shm_take_id(const char *group, uint32_t node, int *held, struct wh_error *err);

/* Asks node `node` of a group of this user a question (T11), and waits for its answer, at most WH_ANSWER_MAX bytes. Any thread; no
 * transport is needed. WHORL_OK; WHORL_NOT_FOUND (no such node is running); WHORL_TIMEOUT; WHORL_REFUSED (it is another
 * user's, or its version is another); WHORL_INVALID (the name or the question is too long); WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_shm_query(const char *group, uint32_t node, const void *question, size_t bytes,
					     uint64_t timeout_ns, void *answer, size_t *answer_bytes,
					     struct wh_error *err);

/* How often this node has rung a peer's doorbell, at the price of a system call each. Any thread. */
uint64_t wh_shm_rings(const struct wh_transport *transport);

#endif
