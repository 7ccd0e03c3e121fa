/* delegate_echo.h - what `whorl delegate echo` of processes (delegate_echo.c) and in simulation (delegate_echo_sim.c) share. */
#ifndef WH_TOOLS_DELEGATE_ECHO_H
#define WH_TOOLS_DELEGATE_ECHO_H

#include <whorl/delegate.h>

#include "bench/histogram.h"
#include "command/crew.h"
#include "command/output.h"
#include "delegation/traffic.h"
#include "tools/delegate_bare.h"

#define WH_ECHO_ROUNDS 3
#define WH_ECHO_HEAD_BYTES 16 /* of a call and of an answer, about */

enum { WH_ECHO_TRUST, WH_ECHO_GATHERED, WH_ECHO_PER_CALL, WH_ECHO_TURNS };

struct wh_echo_part {             /* a process, as the parent sees it */
	_Atomic uint32_t reached; /* the phase that it is through with */
	double rate[WH_ECHO_TURNS][WH_ECHO_ROUNDS];
	uint64_t calls;
	struct wh_traffic traffic;
	struct wh_histogram latency; /* ns */
};

struct wh_echo {
	uint32_t nodes, fibers, outstanding;
	uint64_t bytes;
	double seconds;
	const char *transport, *json;
	char config[8192];
	struct wh_watch watch;
	struct wh_phase phase;
	double calls_per_batch[WH_ECHO_ROUNDS]; /* [node 0 writes when the turn is over] */
	_Atomic uint64_t batch_bytes;           /* likewise */
	_Atomic uint64_t batch_calls;           /* likewise: calls in a batch, at least 1 */
	struct wh_echo_part parts[WH_BARE_NODES];
};

struct wh_echo_player { /* a node, for itself */
	struct wh_echo *echo;
	struct wh_echo_part *part;
	const struct wh_env *clock; /* NULL: the monotonic one */
	uint32_t number;
	whorl_node *node;
	whorl_work *work;
	struct wh_bare bare;
	struct whorl_trust trust;
	_Atomic bool stop;
	_Atomic uint64_t done;
	unsigned char *data;
};

/* ---- delegate_echo.c ---- */

uint64_t wh_echo_now(const struct wh_echo_player *player);
/* The work of a node, and then the property that it calls. False: it was said why. */
bool wh_echo_open_work(struct wh_echo_player *player);
bool wh_echo_entrust(struct wh_echo_player *player);
/* The fibers of a turn, which go on until `stop`. `joins` has room for all of them; *shared is to be dropped when they have ended. */
WH_MUST_CHECK enum whorl_result wh_echo_spawn(struct wh_echo_player *player, struct whorl_join *joins,
					      whorl_shared **shared);
/* Node 0: how large the batches were since then. */
void wh_echo_note_batches(struct wh_echo_player *player, int round, const struct whorl_worker_stats *before,
			  const struct wh_traffic *traffic);
/* Of bare writes: the bytes of a message in that turn, and how many may be under way; asks for more. */
uint64_t wh_echo_bare_bytes(const struct wh_echo *echo, int turn);
void wh_echo_bare_ask(struct wh_echo_player *player, uint64_t bytes, int turn, uint64_t *asked);

/* ---- delegate_echo_sim.c ---- */

/* All of it, in virtual time. WH_EXIT_GOOD: what came of it is in `echo`. */
enum wh_exit wh_echo_simulate(struct wh_echo *echo);

#endif
