/* sim.h - the transport of the simulator: no network, no threads, virtual time, everything from one seed.
 *
 * A world is a network and the nodes on it, in one thread. It promises what transport.h promises and nothing beyond:
 *
 *   T1-T3  Each ordered pair of nodes has a queue of pushes. A push begins to appear when the one before it is
 *          whole; its words appear in pieces, one piece at a time, in any order, with time between them. Pairs know
 *          nothing of each other, and some may be many times slower.
 *   T4     WH_PUSH_BYTES are read from the sender's row when the piece appears, as late as a network card may;
 *          WH_PUSH_WORD carries what it was given. The sender's own row has a word at once.
 *   T5     A node that crashes is reported to each peer after a while; what it had under way is cut off anywhere.
 *   T6     A push rings when the last of its batch is whole, if the node is armed then; the ring may be late, and is
 *          never lost. Nothing can block here: wait() lets the world's time pass, and the scheduler of nodes asks
 *          wh_sim_rung() instead.
 *   T8     An image is ready at a node when it has seen the rows of all others, and they have said that they have its
 *          own. A node that is gone is waited for until it is frozen; one that is cut off, until then or until it is healed.
 *   T9     The row of a member that was frozen before the image was ready is NULL, whatever had come of it.
 *   T7     Operations go to their target, are carried out one after the other and in pieces, and their completions come back,
 *          each way with the latency of the link. To some targets, as it happens, they wait there for its loop. A number for
 *          its owner rings if that is armed, and so does a completion.
 *   T10    Nodes meet by the session that the other transports have (transport/session/), over calls to each other's hosts: a
 *          host answers at once whether a life is there, or is vanished, and says nothing. What is sent over a call is late, comes in
 *          order, and is seen by service() only. leave() is kept, whatever happens to the leaver afterwards: all that it has
 *          posted, sent and written arrives, and then its last word.
 *          A stream holds a few bytes, another number of them each time; read and write give and take what they like of
 *          what they could, and wait() never waits. When its writer's node has left, all that was written can be read;
 *          when it is down, what had arrived, or nothing any more.
 *   T11    wh_sim_query() is a visitor.
 *   T12    If it is asked for: rows are memory of one host. What a node has posted is seen in the end by all that have its row, whatever
 *          becomes of the node, of a connection, or of freeze, and each sees it at its own time; but all of it before any of
 *          them is told that the node's process has ended. Of a node that was killed each that has met it is told so, some time
 *          later, or, sometimes, never; of one that has left in order it may be told. Whatever else ends is a process that goes on.
 *
 * A node may end and come back: wh_sim_create() makes a new life of an id when its last one has crashed, vanished or been
 * destroyed. What was under way from or to the old life never reaches the new one. The host of a life that has ended answers that
 * it knows of no such connection when something comes for it; of one that vanished, when another is there. Clocks, dice and costs are
 * an id's and go on.
 *
 * Whatever happens is an event with a time; wh_sim_step() makes the next one happen. The world's user adds events
 * of its own (a node's pass, an application's turn, a fault). The same seed and the same calls give the same run, and
 * wh_sim_digest() tells whether two runs were the same. Time passes between events only; each node's clock has an
 * offset of its own.
 *
 * What costs time: a push is posted (its node is busy), is put on the wire by the node's card, occupies the link, and
 * arrives after the latency. All but the latency is nothing unless it is asked for. With a model of the card (struct wh_sim_card)
 * nothing of that is drawn: a push arrives when cards, links and the latency let it.
 */
#ifndef WH_SIM_NET_SIM_H
#define WH_SIM_NET_SIM_H

#include "sim/disk.h"
#include "transport/transport.h"

struct wh_sim;

#define WH_SIM_PIECES_MAX 16

struct wh_sim_link_cost {                        /* from one node to another */
	uint64_t latency_min_ns, latency_max_ns; /* of a push, a message, a notice */
	uint64_t bytes_per_s;                    /* of pushes; 0: any number */
};

struct wh_sim_node_cost {
	uint64_t post_ns;     /* the node is busy for so long with a call of post(), */
	uint64_t push_ns;     /* and with each push to each peer */
	uint64_t bytes_per_s; /* that its card sends to all peers together; 0: any number */
};

/* A network card with one link to a switch that never blocks, the same at each node (sim/net/card.c). It takes turns among its peers; what
 * goes to one of them stays in order. The link of the receiver is shared by all that comes in, first come, first served. */
struct wh_sim_card {
	uint64_t bytes_per_s; /* of the link, each way; 0: there is no card, and the costs below are used */
	uint64_t latency_ns, latency_4k_ns; /* of a write alone, from the end of its posting: of one byte, of 4096 */
	uint64_t inline_bytes; /* a write of so many bytes takes them along; a longer one is fetched from memory first */
	uint64_t write_ns;     /* the card works so long on a write at least */
	uint64_t turn_bytes;   /* so much to one peer, then the next has its turn */
	/* What else it meets (sim/net/card_room.c). Where the first of them is 0 there is no such limit. */
	uint64_t memory_bytes_per_s; /* of each host's memory: what cards fetch and write there, and what its processors copy */
	uint64_t queue_pairs;   /* of so many peers the card knows the connection... */
	uint64_t queue_pair_ns; /* ...and that of another takes so long to fetch */
	uint64_t port_bytes;    /* the switch keeps so much for one receiver: then cards that send to it wait */
};

/* The latency of a write of so many bytes with nothing else under way. */
uint64_t wh_sim_card_latency_ns(const struct wh_sim_card *card, uint64_t bytes);

/* That host's memory moves so many bytes beside all else that it moves. Returns when it has, from now on; now, if nothing limits it. */
uint64_t wh_sim_memory_move(struct wh_sim *sim, uint32_t node, uint64_t bytes);

/* Lines that cards have written since the last call into what is pushed word by word: no processor of that node has read them yet. With a card. */
uint64_t wh_sim_lines_read(struct wh_sim *sim, uint32_t node);

struct wh_sim_options {
	uint32_t nodes; /* ids are 0 .. nodes-1; any of them may be there, or come, or not */
	uint64_t seed;
	uint64_t latency_min_ns, latency_max_ns; /* of a push, a message, a notice */
	uint64_t bytes_per_s;                    /* of pushes, per link; 0: any number */
	struct wh_sim_node_cost node_cost;       /* of all nodes */
	struct wh_sim_card card;         /* of all nodes: then `pieces` is 1, and nothing else of pushes is drawn */
	uint32_t pieces;                 /* that a push is torn into at most, 1 .. WH_SIM_PIECES_MAX */
	uint32_t gap_bytes;              /* as in struct wh_transport_ops */
	bool joins;                      /* words beside each other are one push, torn like others; not with a card */
	bool one_host;                   /* holder() knows which ids are held; messages and notices come at once */
	bool proofs;                     /* T12, also with one_host alone; not with a card */
	bool uneven;                     /* some pairs are up to 64 times slower than that */
	bool disks;                      /* each host has one; all one, with one_host */
	struct wh_sim_disk_options disk; /* of each; its seed is drawn */
	uint64_t wake_ns;       /* a lasting job that is woken begins so much later; 0: drawn, up to WH_NS_PER_MS */
	uint64_t ring_max_ns;   /* a ring takes at most so long */
	uint64_t notice_max_ns; /* a death is noticed at most so much later, at each peer at its own time */
	uint64_t proof_max_ns;  /* and proved at most so much later, after all that is under way from it */

	/* Told as it happens; each may be NULL. */
	void (*log)(void *ctx, uint32_t node, enum wh_log_level level, const char *line);
	void (*rung)(void *ctx, uint32_t node);                     /* its wait() would end now */
	void (*lane_rung)(void *ctx, uint32_t node, uint32_t lane); /* and that of this lane of it */
	void (*working)(void *ctx, uint32_t node,
			bool begins); /* a job of the node's begins or goes on, and ends or waits */
	/* Before each operation on a disk, numbered from 1 for each disk. It may let this node crash, or the power go: then the
	 * operation is not done. */
	void (*operating)(void *ctx, uint32_t node, enum wh_sim_disk_op op, uint64_t number);
	/* Before each push, into the image with that key. It may let this node crash: then this push and those after it are
	 * not posted. */
	void (*posting)(void *ctx, uint32_t node, uint64_t key, const struct wh_push *push);
	/* At the end of post(): the node is busy until wh_sim_busy_until. It may let that time pass before it returns, if it can go on with
	 * others meanwhile. */
	void (*posted)(void *ctx, uint32_t node);
	/* A thread of the node naps. True: it has let time pass, and others go on; else the next things happen now, for so long. */
	bool (*napping)(void *ctx, uint32_t node, uint64_t ns);
	void *ctx;
};

WH_MUST_CHECK enum whorl_result wh_sim_new(struct wh_sim **out, const struct wh_sim_options *options,
					   struct wh_error *err);
/* All endpoints have been destroyed. Streams may be open still: there is no node at their other ends any more. */
void wh_sim_free(struct wh_sim *sim);

/* For what is posted from now on. */
void wh_sim_link_set(struct wh_sim *sim, uint32_t from, uint32_t to, const struct wh_sim_link_cost *cost);
void wh_sim_node_set(struct wh_sim *sim, uint32_t node, const struct wh_sim_node_cost *cost);

/* The environment of a node's process, which begins with this call if the one before has ended (wh_sim_crash, wh_sim_vanish, wh_sim_exit): the
 * world's clock, dice of its own, a fatal() that only records the verdict, a nap() in which the next things happen, lasting jobs,
 * and, with `disks`, files. It lives as long as the world.
 *
 * Lasting jobs are fibers, and so are other jobs where there are disks: an operation on a disk takes its time, and others go on meanwhile.
 * Outside of jobs it takes none, and fails where the disk hangs. When the process ends its lasting jobs stand still; what ends them then
 * (background_end) lets them go on, with a disk that fails, until their call returns. Other jobs do that at once. A call that
 * background_end did not wait for to its end, and that has not ended by then, is let go on so when the world is freed. */
const struct wh_env *wh_sim_env(struct wh_sim *sim, uint32_t node);

/* A job of a process that has not ended is at work, waits for its disk, or will be at work soon; where there are disks. */
bool wh_sim_jobs_run(const struct wh_sim *sim);

/* On one host: a process that is about to be that node has its id, and no endpoint yet. */
void wh_sim_hold(struct wh_sim *sim, uint32_t node, bool holds);

/* The disk of its host; NULL: there are none. */
struct wh_sim_disk *wh_sim_disk_of(const struct wh_sim *sim, uint32_t node);

wh_transport_create
	wh_sim_create; /* ctx: the world. At any time. WHORL_OK, WHORL_MEMORY, WHORL_INVALID (no such node, no incarnation),
			* WHORL_REFUSED (the id is taken, or has had that incarnation) */

/* ---- time ---------------------------------------------------------------------------------------------------------- */

typedef void wh_sim_fn(void *ctx, uint64_t argument);

uint64_t wh_sim_now(const struct wh_sim *sim);
/* Calls fn(ctx, argument) at that time, or now if it has passed. Of two events at one time the one that was added
 * first comes first. */
void wh_sim_at(struct wh_sim *sim, uint64_t when_ns, wh_sim_fn *fn, void *ctx, uint64_t argument);
/* Makes the next event happen, if it is due by `until_ns`. Otherwise it is `until_ns` now, and it returns false. */
bool wh_sim_step(struct wh_sim *sim, uint64_t until_ns);
/* Until then posting keeps the node from its next pass; the scheduler of nodes sees to it. */
uint64_t wh_sim_busy_until(const struct wh_sim *sim, uint32_t node);

/* ---- visitors (T11) ------------------------------------------------------------------------------------------------ */

typedef void wh_sim_answer_fn(void *ctx, const void *bytes, size_t count);

/* A visitor asks a node; fn(ctx, ...) is called with its answer, from within answer(), if there will be one. False: no node is
 * there, or the question is longer than WH_CONTROL_MAX. */
bool wh_sim_query(struct wh_sim *sim, uint32_t node, const void *question, size_t bytes, wh_sim_answer_fn *fn,
		  void *ctx);

/* A process that is no node connects to one, and says that, if anything. As many as that are a crowd at the door. */
void wh_sim_call_as_stranger(struct wh_sim *sim, uint32_t node, const void *message, size_t bytes);

/* ---- faults --------------------------------------------------------------------------------------------------------
 *
 * They happen at once, may be called from events and hooks, and are in the digest. */

/* The node's life ends without a word. What it had under way is cut off anywhere; peers hear of it later. Its endpoint
 * still has to be destroyed, and does nothing any more. */
void wh_sim_crash(struct wh_sim *sim, uint32_t node);
/* The same, and no node is told, until it comes back: as of a machine that loses its power. */
void wh_sim_vanish(struct wh_sim *sim, uint32_t node);

/* The node's process has ended in order, after it has been closed: what is left of it goes. Another begins when the node is opened again. */
void wh_sim_exit(struct wh_sim *sim, uint32_t node);
/* The host loses its power, and has it again at once: it vanishes, and of what was written to its disk and not synced anything is left. With
 * one_host that is all nodes. */
void wh_sim_power_loss(struct wh_sim *sim, uint32_t node);

/* Nothing comes through from `from` to `to`, until it is healed: no push, message, byte or notice, of no life, and they do not
 * meet. All of it waits, and goes on then in its order, as on a connection that tries again. The way back is another
 * link. */
void wh_sim_cut_off(struct wh_sim *sim, uint32_t from, uint32_t to);
void wh_sim_heal(struct wh_sim *sim, uint32_t from, uint32_t to);

/* The connection of these two lives ends, both ways: what is under way is cut off anywhere, what is sent later is dropped, and each
 * finds out at its own time. If one had met the other that is for good, and nothing comes through between them any more; if not they
 * call again. Lives that come after them meet. */
void wh_sim_break(struct wh_sim *sim, uint32_t one, uint32_t other);

/* ---- what a scheduler and a test look at --------------------------------------------------------------------------- */

/* wait() of this node would end at once; of this lane of it. */
bool wh_sim_rung(const struct wh_sim *sim, uint32_t node);
bool wh_sim_lane_rung(const struct wh_sim *sim, uint32_t node, uint32_t lane);

/* Pushes, messages and calls that have not arrived, or not been seen by service(), rings that are late, and ends of streams that
 * the living have not closed; what a cut holds up is among them. Calls to where no life is are not: they are made for ever. */
uint64_t wh_sim_under_way(const struct wh_sim *sim);

struct wh_sim_traffic {            /* from one node to another */
	uint64_t pushes, messages; /* that have not arrived; `messages` counts control messages */
	uint64_t streams;          /* that the sender has opened, and that are not closed at both ends */
	uint64_t late_ns; /* so much later than it was due a push has arrived, or has not: behind others, or cut off. The worst so far */
	bool cut_off;
	/* Of the lives that are there now. */
	bool met, broken;
	bool gone; /* the sender knows that the receiver is */
};
struct wh_sim_traffic wh_sim_traffic(const struct wh_sim *sim, uint32_t from, uint32_t to);

/* The first broken invariant, "node 3: FILE:LINE: check failed: ...", or breach of transport.h; NULL: none. */
const char *wh_sim_verdict(const struct wh_sim *sim);

/* That life of `peer` has been told that the process of that life of `node` has ended (T12). */
bool wh_sim_has_proof(const struct wh_sim *sim, uint32_t peer, uint64_t peer_incarnation, uint32_t node,
		      uint64_t incarnation);

/* A pass is one event, and yet the rows of others may change between two of its looks (sst/sst.h). wh_sim_look comes before each look, in a
 * build of the library for that: within a pass some of what is under way to that node may arrive then. */
void wh_sim_begin_pass(struct wh_sim *sim);
void wh_sim_end_pass(struct wh_sim *sim);
void wh_sim_look(struct wh_transport *transport);

/* Of everything that has happened, and of what the user adds. */
uint64_t wh_sim_digest(const struct wh_sim *sim);
void wh_sim_note(struct wh_sim *sim, uint64_t value);

struct wh_sim_counts {
	uint64_t posts, batch_max; /* calls of post(), and the most pushes in one */
	uint64_t loud, quiet;      /* pushes posted */
	uint64_t rings;            /* of others' doorbells, that cost a wake */
};
struct wh_sim_counts wh_sim_counts(const struct wh_sim *sim, uint32_t node);

#endif
