/* read.h - reads that have all that was delivered anywhere when they began (docs/decisions/0048): a model.
 *
 * A view v, in which messages are received and delivered, and one change of it: some of its members go on without the
 * others, and perhaps with a newcomer, in v'. Those that are left out notice nothing: they are slow, or cut off, or
 * about to be told. In some worlds v' ends too: its members, but for the reader, go on once more. Members may be *gone*
 * at any time: they have left in order, or are dead; what they have done counts.
 *
 * Of the change itself only that is here which a read can see (change.h and death.h have the rest). Those that go on
 * wedge. When all have, each agrees, in its time. When those that have agreed are a quorum each may *install*, which is
 * to deliver up to the cut and begin the next view. That quorum is taken without those that are gone.
 *
 * One member reads, perhaps more than once. A read begins; a question is raised for all reads that wait, and what is to
 * be applied is noted; each other member confirms, if it may; when a quorum has, and what was noted is applied at the
 * reader, the read is made. The reader may apply messages later than it delivers them: it keeps them back until it has
 * the state, or its program has not taken them yet.
 *
 * What must hold: a read has all that had been delivered anywhere when it began; and where nothing keeps the reader
 * from it every read comes to an end.
 *
 * In the worlds that *travel* words take any time. In the others a word is seen when it is said. That loses nothing: to
 * see it later is to do later what follows from it, and each step may come as late as it likes as it is.
 */
#ifndef WH_MODELS_READ_H
#define WH_MODELS_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"

#define MEMBERS 5 /* at most, with the newcomer */
#define READS 2
#define PLANS 4

typedef uint8_t members; /* a set of ranks */

/* What is done otherwise than by the rule. */
enum mutation {
	NO_QUORUM = 1 << 0,         /* nothing is waited for */
	DELIVERED_NOTED = 1 << 1,   /* a read notes how much is delivered here */
	STABLE_NOTED = 1 << 2,      /* or how much it sees that all have received */
	WEDGED_CONFIRM = 1 << 3,    /* a wedged member confirms */
	EARLY = 1 << 4,             /* a word counts that was said before the read began */
	UNTIL_INSTALLED = 1 << 5,   /* a member confirms until it installs */
	LEADER_ALONE = 1 << 6,      /* the lowest rank's word will do */
	OF_THE_SHARD = 1 << 7,      /* a quorum of the shard's members */
	HALF = 1 << 8,              /* half will do, without a tie-breaker */
	UNCOUNTED = 1 << 9,         /* those of which the reader knows that they are gone are not counted */
	SHARES_UNDER_WAY = 1 << 10, /* a read takes part in a question that was raised before it began */
	RAISES_WEDGED = 1 << 11,    /* a reader that has wedged asks, and counts itself */
	CHANGE_ANSWERS = 1 << 12,   /* a read that has waited through a change asks no more */
	KEPT_BACK_COUNTS = 1 << 13, /* what is delivered counts, though it is not applied */
	OLD_FORGOTTEN = 1 << 14,    /* what earlier views have left to be applied is not looked at */
	/* Other rules that do: */
	UNTIL_AGREED = 1 << 15, /* a member confirms, and a reader asks, until it agrees to a decision */
	NOTED_FIRST = 1 << 16,  /* what is received is noted when the read begins, not when the question is raised */
	HEEDED = 1 << 17,       /* those that are gone are not counted unless they have wedged */
	ASKED_AGAIN = 1 << 18,  /* a read that has its quorum and sees a new view asks there */
	LOOK_COUNTS = 1 << 20,  /* a member that was not wedged when it saw the question confirms */
	/* Without an order: */
	SENDERS_ASKED = 1 << 19, /* the sender's word is waited for too, and what it had announced by then is noted */
};

struct world {
	uint8_t count; /* of members of v */
	bool newcomer; /* comes into v', as the next rank */
	uint8_t reader, reads;
	members plans[PLANS];  /* those that may go on, 0: the view does not end */
	uint8_t plan_count;    /* 0: one, the first */
	uint8_t first, second; /* messages in v and in v' */
	int8_t tie_breaker;    /* a rank, -1: none */
	members shard;         /* that has the messages, 0: all */
	members may_go;
	uint8_t before; /* messages of views before, which all have but a reader that `lags` */
	bool lags;      /* the reader applies later than it delivers */
	bool stateless; /* and begins without the state */
	bool again;     /* v' ends too, without the reader */
	bool unordered; /* member 0 sends, and each delivers what it receives */
	bool travel;    /* words take time; one read, which asks when it begins */
	uint32_t mutations;
};

struct member {
	uint8_t received, delivered, wedged, agreed, installed; /* of v */
	uint8_t received_next, delivered_next, wedged_next;     /* of v' */
	uint8_t beyond;                                         /* delivered in the view after v' */
	uint8_t gone;
	uint8_t saw, confirmed, heard; /* the last question of v: seen, confirmed, and that heard by the reader */
	uint8_t confirmed_next;        /* of v' */
};

enum phase { NOT_BEGUN, WAITS, ASKS, ASKS_NEXT /* in v' */, CONFIRMED, DONE };
#define UNKNOWN 255

struct read {
	uint8_t phase, noted, due, question;
};

struct state {
	members plan, known; /* to go on; the reader knows that they are gone */
	uint8_t asked, asked_next, applied, restored;
	struct read reads[READS];
	struct member m[MEMBERS];
	uint8_t seen[3][3], seen_next[3]; /* with `travel`: what i has seen that j has received */
};

enum step_kind {
	RECEIVE,
	SEE,
	DELIVER,
	WEDGE,
	AGREE,
	INSTALL,
	RECEIVE_NEXT,
	SEE_NEXT,
	DELIVER_NEXT,
	SEE_QUESTION,
	CONFIRM,
	HEAR_CONFIRM,
	BEGIN,
	RAISE,
	READ,
	APPLY,
	RESTORE,
	GO_AWAY,
	KNOW,
	WEDGE_NEXT,
	GO_BEYOND,
	BEGINNING, /* with those that may go on */
	STEP_KINDS
};

/* ---- read_rules.c ------------------------------------------------------------------------------------------------ */

void begin(struct search *x);
void go_on(struct search *x, const struct state *s);
/* It may read now. */
bool may_read(const struct world *w, const struct state *s, int read);
/* It would not have all that it must have. */
bool is_stale(const struct world *w, const struct state *s, int read);
/* In a state in which nothing follows: a read is not over that should be. */
bool is_stuck(const struct world *w, const struct state *s);

#endif
