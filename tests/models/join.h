/* join.h - views that follow each other, with nodes that come in, and the first one: a model of docs/decisions/0016.
 *
 * An *actor* is one incarnation of a node: a node that returns is another actor with the same id. Actors have images, rows in
 * them, and a queue of control messages to each other. Whatever is published in a row is a message to each other member of the
 * image, in order for each pair; control messages are in order for each pair, too, but the two are not ordered with each other.
 * An actor that dies takes along what has not arrived: its end may be heard before its last words.
 *
 * One thing happens at a time: a message is taken in, an actor takes one of the protocol's steps, or something goes wrong.
 * Time-outs may come at any time; in the end, when nothing goes wrong any more, only where nothing else happens.
 *
 * What a proposal or a decision says is looked up in the image of the view that it was made in, by the rank of its maker: no
 * member reads either before the word that guards it.
 *
 * The decision (0014) is in join_change.c, newcomers and the first view in join_entry.c, rows and the network in join_rules.c,
 * what must be true in join_checks.c, text in join_text.c, what is tried in join.c.
 */
#ifndef WH_MODELS_JOIN_H
#define WH_MODELS_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"
#include "sets.h"

#define ACTORS 12
#define MEMBERS 6   /* of a view, at most */
#define ATTEMPTS 14 /* of one leader in a view; number 0 is none */
#define RESERVE 3   /* of these, for those that fail */
#define IMAGES 24
#define LOG 60   /* messages of one member in an image */
#define QUEUE 24 /* control messages on their way */

typedef uint16_t actors; /* a set */
typedef uint8_t ranks;   /* a set */

/* What may be done otherwise than by the rules. */
enum mutation {
	ENTER_UNBIDDEN,          /* a newcomer enters when its image is ready */
	ENTER_BY_NEWCOMER,       /* ... when any member beats in it, newcomers that have not entered too */
	WEDGE_BEFORE_THERE,      /* the leader does not wait for the newcomers */
	WEDGE_BEFORE_ACK,        /* ... for the members */
	NEWCOMERS_WITH_SUSPECTS, /* a leader that suspects a member takes others in */
	LOWER_KEY,               /* an invitation with a lower key is followed */
	DROP_WITH_LEADER,        /* an invitation is void when its leader is gone */
	VOTERS_ARE_MEMBERS,      /* of view 0, too */
	OLD_AND_NEW,             /* an id is taken in while it is in the view */
	INTRO_NUMBER_IGNORED,    /* any member of another image makes an invitation void */
	NEVER_VOID,              /* what members say of their view does not end an invitation */
	BEGUN_ALONE,             /* view 0: an actor that sees that another has begun does not begin */
	SILENT_DROP,             /* view 0: an actor that drops an image does not say so */
	PROMISE_BROKEN,          /* view 0: an actor that is there drops when another one in it is lost */
	REINVITED_WHEN_THERE,    /* view 0: an actor that is there follows another invitation of its coordinator */
	BEGUN_WITHOUT_MAJORITY,  /* view 0: begins with the actors that are there */
	COORDINATORS_STAY,       /* a coordinator that meets a lower one goes on with its own */
	FORM_RASHLY,             /* before all that are there have been met and have said what they are */
	DROP_UNLOOKED,           /* an actor that hears that others are gone does not look at their rows once more */
	NO_RESERVE,              /* of attempts, for failures */
	NEVER_LEFT_OUT,          /* a newcomer that does not come is waited for */
	GONE_BY_ID,              /* an incarnation is not told from another */
	TOO_MANY,                /* come in at once */
	NO_BEAT,                 /* a member that has settled does not beat in the next view before it is there */
	BEAT_EARLY,              /* members beat in the next view as soon as it is open */
	SILENT_WITHDRAWAL,       /* a newcomer that is left out is not told */
	FORM_BESIDE,             /* an actor that knows a member forms a group all the same */
	TELL_UNLOOKED,           /* an actor that meets another says what it is before it looks at its rows */
	LAST_DROP_COUNTS,        /* view 0: of what others drop only the last is remembered */
	SEEKERS_ARE_MEMBERS,     /* an actor that says that it is in no view may still be in that of an invitation */
	THERE_NOT_KEYED,         /* whatever image a newcomer is there with */
	WITHDRAWN_NOT_KEYED,
	HEEDLESS_WEDGE,        /* before it has heard which members others suspect */
	DROP_WITH_COORDINATOR, /* view 0: an invited actor drops when the coordinator is gone */
	HASTY_DROP,            /* an actor that says that it is in no view is taken at its word at once */
	NEVER_RENEWED,         /* a view 0 of some is not followed by one of the same */
	UNTOLD,                /* view 0: an actor that has dropped it is not told which ones are in it */
	BEATEN_UNHEARD,        /* a member that has agreed does not look whether the next view has begun */
	MUTATIONS
};
#define M(mutation) (UINT64_C(1) << (mutation))

enum how { GROUP /* there is one already */, MAJORITY, FOUNDER };

struct world {
	const char *what;
	uint8_t ids;                                                /* of nodes */
	uint8_t configured;                                         /* ids below */
	uint8_t first;                                              /* GROUP: the members are the ids below */
	uint8_t how;                                                /* enum how */
	uint8_t tie_breaker;                                        /* 1 + an id; 0: none */
	uint8_t crashes, returns, cuts, leaves, timeouts, mistakes; /* at most */
	uint8_t mortal, leavers;   /* sets of ids: those that may crash (0: all), that may leave */
	uint8_t doubters, doubted; /* sets of ids: each of those may think each of these dead, by mistake */
	uint8_t absent;            /* set of ids: not there in the beginning; they come as a returning actor does */
	bool acquainted;           /* all have met already */
	bool traffic;              /* each member has a message in each view */
	uint64_t mutations;
};

struct row {
	uint8_t beat;                             /* 1: there, 2: it has begun */
	uint8_t received;                         /* received_num */
	ranks failed, left;                       /* suspected[] */
	uint8_t attempt;                          /* proposed */
	uint8_t acknowledged;                     /* (rank of the leader + 1) << 4 | attempt */
	uint8_t agreed;                           /* rank of the leader + 1 */
	uint8_t decider;                          /* rank of the maker of that decision, + 1: stands for the values */
	bool wedged : 1, installed : 1, gone : 1; /* gone: PEER_LEFT, behind the last word */
};

enum what { BEAT, RECEIVED, FAILED, LEFT, WEDGED, PROPOSED, ACKNOWLEDGED, AGREED, INSTALLED, GONE };

struct message { /* a push */
	uint8_t what, a, b;
};

enum kind { INTRO, JOIN, VIEW, WITHDRAWN, THERE };
enum standing { UNKNOWN, SEEKS, FORMS, BELONGS };

struct control { /* a control message */
	uint8_t kind;
	int8_t a, b; /* INTRO: standing, image; others: image */
};

struct image {
	uint8_t number, attempt;
	int8_t base;     /* the image of the view before, -1: first views */
	int8_t proposer; /* a rank there; of first views the actor that coordinates */
	uint8_t count;
	uint8_t member[MEMBERS]; /* actors by rank */
	ranks fresh;             /* the newcomers */
	uint8_t voters;
	actors opened, there, begun;         /* the actors that ever have, were, have */
	ranks ahead;                         /* the members that have installed the next */
	bool delivered;                      /* a member has delivered the message of this view */
	int8_t next;                         /* the image of the view after it, -1: none is final */
	uint8_t cut;                         /* with it */
	int8_t proposals[MEMBERS][ATTEMPTS]; /* images; NOTHING: a withdrawal */
	int8_t decided[MEMBERS];
	uint8_t decided_cut[MEMBERS];
	uint8_t published[MEMBERS];
	struct message log[MEMBERS][LOG];
};

#define NOTHING (-1)
#define NONE (-1)

enum status { UNBORN, SEEKING, FORMING, INVITED, AT_HAND /* there */, MEMBER, ALIVE = MEMBER, DEAD, REMOVED, AWAY };

struct actor {
	uint8_t status;
	actors met, gone;       /* those that it has met; those that it has heard have ended */
	actors wants;           /* those that have asked to come in */
	int8_t there[ACTORS];   /* the image that each says it is there with */
	int8_t dropped[ACTORS]; /* each has said that it has no part in the first views up to that image */
	bool passes;            /* it coordinates although a lower one forms, which is silent */
	int8_t floor;           /* nor has it itself */
	uint8_t says[ACTORS];   /* enum standing, as last introduced */
	int8_t of[ACTORS];      /* and the image, of a member */
	int8_t at[2];           /* images: the view's, and the next one's or that of its invitation */
	bool ready;             /* at[1] is */
	bool settled, stopped;
	uint8_t opened; /* the proposal that it follows, as `acknowledged` */
	uint8_t delivered;
	struct row rows[2][MEMBERS]; /* its own, and its copies of the others' */
	uint8_t seen[2][MEMBERS];
	ranks frozen[2], known[2]; /* those that it does not read any more; those that are to be suspected */
};

struct state {
	struct actor a[ACTORS];
	struct control queue[ACTORS][ACTORS][QUEUE]; /* [from][to] */
	uint8_t queued[ACTORS][ACTORS];
	actors cut[ACTORS];
	uint8_t crashed, returned, cuts, left, late, mistaken;
	uint8_t images;
	bool full; /* what is modelled is exhausted: nothing follows from the run */
	const char *wrong;
	struct image image[IMAGES];
};

enum step_kind {
	MEET,      /* i meets p */
	HEAR,      /* i takes in a control message of p */
	SEE,       /* i takes in a push of the member p of its view */
	SEE_NEXT,  /* ... of the image at[1] */
	END,       /* i hears that p has ended */
	ASK,       /* i asks p to be let in */
	SUSPECT,   /* i freezes the rank p and says that it failed */
	MARK,      /* i says that the rank p left */
	LEAVE_OUT, /* i proposes a view without the actor p, a newcomer */
	OUT,       /* i learns that it was removed */
	FORM,
	COORDINATE,
	VOID,     /* i drops its invitation */
	PREPARED, /* the image at[1] is ready */
	ENTER,
	TAKE_IN, /* i proposes a view with those that want to come in */
	WEDGE,
	PROPOSE,
	OPEN,
	ACKNOWLEDGE,
	DECIDE,
	ADOPT,
	ECHO,
	SETTLE,
	INSTALL,
	RECEIVE, /* the rest may happen or not */
	LEAVE,
	CRASH,
	RETURN,
	CUT, /* i and p cannot reach each other any more */
	STEP_KINDS
};

/* When a step may be taken. */
enum mood {
	ANY,
	CALM, /* nothing goes wrong any more, and no time-outs */
	LATE, /* the same, and time-outs */
};

extern const char *const step_names[STEP_KINDS];
extern const bool takes_two[STEP_KINDS];

void begin(const struct world *w, struct state *s);
bool can(const struct world *w, const struct state *s, struct step step, enum mood mood);
/* NULL: all is well, else what is wrong. */
const char *take(const struct world *w, struct state *s, struct step step);
/* Nothing can happen any more. NULL: it may end so. */
const char *ended(struct search *x, const struct state *s);
int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out);
/* Where nothing else can happen: time-outs. */
int late_steps(const struct world *w, const struct state *s, struct step *out);
void copy(struct state *to, const struct state *from);

/* ---- what actors know (join_rules.c) ---- */

static inline bool does(const struct world *w, enum mutation mutation)
{
	return (w->mutations & M(mutation)) != 0;
}

static inline bool alive(const struct state *s, int i)
{
	return s->a[i].status != UNBORN && s->a[i].status <= ALIVE;
}

static inline int id_of(const struct world *w, int i)
{
	return i % w->ids;
}

static inline bool reaches(const struct state *s, int i, int p)
{
	return has(s->a[i].met & (actors)~s->a[i].gone, p);
}

static inline const struct image *image_at(const struct state *s, int i, int slot)
{
	return &s->image[s->a[i].at[slot]];
}

int rank_of(const struct image *image, int actor);
/* Which is the later image? */
bool is_later(const struct state *s, int image, int than);
void publish(struct state *s, int i, int slot, enum what what, int a, int b);
void send(struct state *s, int i, int p, enum kind kind, int a, int b);
void tell(const struct world *w, struct state *s, int i, int p);
void tell_all(const struct world *w, struct state *s, int i);
int new_image(struct state *s);
void close_image(struct state *s, int i);
void open_image(struct state *s, int i, int image);

/* ---- join_text.c ---- */

void print_step(const struct world *w, const struct state *s, struct step step);
#define KEY 8192
size_t key_of(const struct world *w, const struct state *s, uint8_t *out);

/* ---- join_checks.c ---- */

/* That image is one of a view now. NULL: all is well. */
const char *use(const struct world *w, const struct state *s, int image);
const char *look_at_deliveries(const struct world *w, struct state *s);

/* ---- join_change.c ---- */

int leader(const struct state *s, int i);
ranks unsuspected(const struct state *s, int i);
bool heedful(const struct world *w, const struct state *s, int i);
bool quorum(const struct world *w, const struct image *image, ranks votes, ranks left);
void stop(struct state *s, int i);
uint8_t delivered(const struct state *s, int i);
/* As leader: proposes the next view without those that it suspects, with these; or (renews) even if no member comes or goes. */
void propose(const struct world *w, struct state *s, int i, actors newcomers, bool renews);
bool can_change(const struct world *w, const struct state *s, struct step step, enum mood mood);
const char *take_change(const struct world *w, struct state *s, struct step step);
bool united(const struct world *w, const struct state *s, int i);

/* ---- join_entry.c ---- */

bool can_enter(const struct world *w, const struct state *s, struct step step, enum mood mood);
const char *take_entry(const struct world *w, struct state *s, struct step step);
void hear(const struct world *w, struct state *s, int i, int p, struct control message);

#endif
