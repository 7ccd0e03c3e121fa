/* hot.h - which subgroups a pass steps: those in which something moves (docs/decisions/0041).
 *
 * A subgroup is *hot* or *cold*. A hot one is stepped in each pass. It cools when some steps in a row have found nothing: a loop that
 * had no other would now be allowed to sleep, so nothing is missed as long as neither a peer's counter nor its own ring moves. That is
 * found by a *look*, in some passes:
 *
 *     peers      each says in words of its row which subgroups have moved (moves.h); those become hot
 *     my ring    a commit sets its bit (smc/ring.h), and a ring with its bit set is hot and does not cool. The bit is taken away before
 *                the loop sleeps, or now and then if it is busy with others; then comes a barrier on all threads, then a look at the ring
 *
 * A look is always made between arm and sleep. It comes before the steps of its pass, and a word counts as seen with the value that was
 * read: what moves behind it changes the word again, and the push of that rings.
 *
 * With few subgroups in the view there are neither words nor bits, and all are stepped in each pass. That is also done while nearly all
 * are hot: then no word is looked at, and when it ends all are hot once more.
 *
 * Threads: the loop's. Memory: allocated by wh_hot_init.
 */
#ifndef WH_PREDICATES_HOT_H
#define WH_PREDICATES_HOT_H

#include "predicates/loop.h"
#include "predicates/multicast.h"

struct wh_looks { /* over all passes: steps of subgroups, those that found something, words of peers that were looked at. For those that count what
		   * a pass costs */
	uint64_t steps, found, words;
};

struct wh_hot_config {
	struct wh_loop *loop;
	struct wh_sst *sst;
	struct wh_array_col moved; /* empty: all are stepped in each pass */
	wh_word *committed;        /* bits of rings, of this node through all views */
	uint32_t committed_words;  /* 0 if `moved` is empty */
	uint32_t subgroups;        /* of the view */
	uint32_t most;             /* members, at most */
	uint32_t cools;            /* behind so many steps that found nothing, at least 1 */
	uint64_t deliver_ns;       /* so long may a pass deliver, all together */
	struct wh_looks *looks;    /* counted here */
};

#define WH_HOT_COOLS 16

struct wh_hot_member {
	struct wh_multicast *mc;
	struct wh_ring *ring; /* NULL: it does not send */
	uint32_t at;          /* in the list; WH_HOT_COLD: it is cold */
	bool durable;         /* what comes to disk heats it */
	uint32_t idle;        /* steps in a row that found nothing, `cools` at most */
};

#define WH_HOT_COLD UINT32_MAX

struct wh_hot {
	struct wh_hot_config config;   /* [const] */
	struct wh_hot_member *members; /* [const but for at, idle] */
	uint32_t *of_subgroup;         /* [const] of the view: its member, or WH_HOT_COLD */
	uint32_t *of_bit;              /* [const] likewise, of a bit of `committed` */
	uint32_t member_count;         /* [const] */
	uint32_t *list;                /* members that are hot */
	uint32_t count, next;          /* of the list; the one that has its turn */
	uint64_t *seen;                /* by rank and word */
	uint64_t share_ns;             /* of deliver_ns, for each that is hot */
	uint32_t shared_by;            /* of how many that is the share */
	uint32_t passes;               /* since the last look */
	bool all;                      /* are stepped, and no word is looked at */
	bool found;                    /* the last pass did: it had work */
	bool watches;                  /* [const] a ring has no bit (wh_ring_use_bit): it stays hot */
	bool durable;                  /* [const] some of them are: what comes to disk heats them */
	bool lingers;                  /* a ring would cool but for its bit */
	bool slept;                    /* perhaps: the last pass was the one between arm and sleep */
	uint64_t taken_ns;             /* when bits were taken away while it was busy */
};

/* WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_hot_init(struct wh_hot *hot, const struct wh_hot_config *config,
					    struct wh_error *err);
void wh_hot_close(struct wh_hot *hot);
uint64_t wh_hot_estimate(uint32_t peers, uint32_t words, uint32_t subgroups);

/* A member, hot. `ring`: the one that it sends from, and its bit; NULL: it does not send. Before the first pass. */
void wh_hot_add(struct wh_hot *hot, struct wh_multicast *mc, uint32_t subgroup, struct wh_ring *ring, uint32_t bit);

/* The member of that subgroup, which was added, is durable. Before the first pass. */
void wh_hot_watch_disk(struct wh_hot *hot, uint32_t subgroup);

/* It is to be stepped, whatever words and bits say. Not between begin and the end of a pass. */
void wh_hot_touch(struct wh_hot *hot, uint32_t subgroup);

/* At the end of a view all deliver, and share the time for it. */
void wh_hot_share_all(struct wh_hot *hot);

/* Before the loop parks: bits go, and these rings are looked at in the pass that follows. */
void wh_hot_park(struct wh_hot *hot);

/* Sends what has been committed, says what has come to disk, and nothing else (wh_multicast_send): for a thread that has borrowed the loop. */
void wh_hot_send(struct wh_hot *hot);

/* All of a step but its upcalls, of that subgroup's member if it is hot: for a thread that has borrowed the loop. What is cold stays so, for the
 * loop to find. */
void wh_hot_exchange(const struct wh_hot *hot, uint32_t subgroup);

/* ---- a pass: begin, then next, step it, note how much that was, until there is none --------------------------------------- */

void wh_hot_look(struct wh_hot *hot);

static inline void wh_hot_begin(struct wh_hot *hot)
{
	hot->next = 0;
	if (hot->config.moved.count > 0)
		wh_hot_look(hot);
	hot->config.looks->steps += hot->count;
}

static inline struct wh_multicast *wh_hot_next(struct wh_hot *hot)
{
	return hot->next < hot->count ? hot->members[hot->list[hot->next]].mc : NULL;
}

/* It has found nothing. */
void wh_hot_note_idle(struct wh_hot *hot);

/* Returns `work`. */
static inline size_t wh_hot_note(struct wh_hot *hot, size_t work)
{
	if (work == 0 && hot->config.moved.count > 0) {
		wh_hot_note_idle(hot);
		return 0;
	}
	if (work > 0) {
		hot->members[hot->list[hot->next]].idle = 0;
		hot->found = true;
		hot->config.looks->found++;
	}
	hot->next++;
	return work;
}

#endif
