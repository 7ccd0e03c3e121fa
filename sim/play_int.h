/* play_int.h - one run of real nodes in the simulated world, from a plan, a schedule of faults, and a seed.
 *
 *     play.c      the phases of a run: open, work, calm, silence, close
 *     faults.c    what goes wrong, when its moment comes
 *     actors.c    nodes: when they make a pass, sleep, wake; what happens inside of upcalls
 *     streams.c   applications: claims, finished in any order, aborted, kept open
 *     states.c    the states of applications, given to nodes that come
 *     views.c    views, as nodes enter them
 *     wishes.c   dynamic subgroups: which nodes enter and leave them
 *     calls.c     applications that are state machines: calls, their answers and outcomes
 *     reads.c     reads of their states
 *     checkers.c  what must hold in a view after each pass; deliveries.c: at each upcall; failures.c: of a node
 *     kept.c      what lies on the disks of durable subgroups
 *     frontiers.c     what a sender is told of its messages
 *     liveness.c      what must be so in the end
 *     returns.c       which nodes must bring a group back
 *     anew.c          what one disk has becomes a group of its own
 *     report.c    what is told of a run that has failed
 *     inspect.c   how all these look into a node
 *     history.c   what must hold across views of all that applications see
 *
 * One thing happens at a time, chosen by virtual time: a node makes a pass, a piece of a push arrives, an application
 * does something, a fault comes. Each of them has a pace of its own, from a wide range, so in each run some are slow. An
 * upcall may take its time: other things happen before it returns.
 *
 * A node may end and come back. Each time that it is opened is a *life* of it, with everything of its own: a struct actor.
 * Sets are of lives, bit i for life i, unless they are said to be of nodes; the first life of node i is life i.
 *
 * Subgroups are numbered: those of the configuration, and then dynamic ones, from their birth on. A dynamic subgroup is a subgroup like
 * others, and the stream of a node in it goes on from one stay of the node to the next: the library counts its messages from 0 in each.
 *
 * What all this is held against is the truth: what applications did (struct stream), and what senders' own rows say at the
 * end of their passes (struct part).
 */
#ifndef WH_SIM_PLAY_INT_H
#define WH_SIM_PLAY_INT_H

#include <whorl/whorl.h>

#include "sim/history.h"
#include "sim/inspect.h"
#include "sim/net/sim.h"
#include "sim/play.h"
#include "transport/dice.h"

/* ---- applications -------------------------------------------------------------------------------------------------------- */

/* A part is no message: it is of a large one that begins before it. */
enum message_state { MESSAGE_NONE, MESSAGE_OPEN, MESSAGE_COMMITTED, MESSAGE_ABORTED, MESSAGE_REFUSED, MESSAGE_PART };

struct message { /* a claim, and what has become of it */
	struct whorl_claim claim;
	enum message_state state;
	bool lapsed; /* it was open when its node was taken out of its shard */
	uint32_t bytes;
	uint32_t slots;    /* numbers that it has */
	uint32_t part;     /* of a part: which, from 1 on */
	bool applied;      /* by some member, of a subgroup with calls */
	bool gone;         /* its caller was told that no member applies it */
	struct call *call; /* its outcome is told; NULL: it is not */
};

/* A place in the order of a shard: of which view, and how many messages of that. All of the views before lies before it. */
struct place {
	uint64_t view, count;
};

enum answering { ANSWERS_NOT, ANSWERS_AT_ONCE, ANSWERS_LATER };

struct call { /* a message of which its application wants the outcome */
	struct stream *stream;
	uint64_t number;
	enum answering answering;
	bool applied;  /* here */
	bool failed;   /* that is, in a run of which one could not be applied */
	bool refused;  /* it was never accepted */
	bool settled;  /* its outcome was told */
	bool answered; /* of one that is answered later */
	uint64_t view, sequence, ticket;
	size_t answer_bytes;
	struct call *next; /* of this stream, the one before */
};

struct read { /* of the state of an application */
	struct app *app;
	bool linearizable, settled;
	struct place must; /* what was applied, by any member of the shard, when it began */
	uint64_t stay;     /* of its application when it began */
	struct read *next; /* the one before */
};

/* In what order a stream finishes what it has claimed. */
enum manner { AT_ONCE, IN_ORDER, IN_ANY_ORDER, BACKWARDS };

struct stream { /* all that one node sends in one subgroup, in all views */
	struct app *app;
	struct wh_dice dice;
	struct message *messages; /* by number */
	uint64_t quota, claimed;
	uint64_t base;   /* of these those that were claimed in stays before */
	uint64_t lapsed; /* of those below some were dropped: its node was taken out of its shard */
	uint64_t *open;  /* numbers of open claims, in the order of their claims */
	uint64_t open_count;
	uint64_t kept_open; /* this number is claimed and not finished; UINT64_MAX: none */
	uint64_t pace_ns, burst, abort_in, bytes_max;
	uint64_t large_max, slot_bytes; /* large_max 0: no message is larger than a slot */
	enum manner manner;
	bool scheduled;     /* it has a turn to come */
	bool busy;          /* in that turn it has something to do */
	bool patient;       /* it has been told that there is no quorum, and asks again some time */
	bool starved;       /* it waits for window_fd */
	bool barred;        /* its node is no sender in this view */
	bool stopped;       /* its node has ended */
	struct call *calls; /* the newest */
};

struct app { /* one node in one subgroup, in all views */
	struct actor *actor;
	uint32_t g;
	whorl_subgroup *subgroup; /* NULL: not open, or it can never be a member, or its program has done with it */
	struct stream *stream;
	struct shard_member *member; /* in the current view; NULL: none */
	bool was_sender;             /* in it */
	int shard;                   /* in it, as a shard of the subgroup; -1: none */
	bool astray; /* it has been taken out of a shard, and has sent in none since: what it had claimed has nowhere to go */
	uint64_t *next; /* by life: of the messages of that sender the first that was not delivered or passed over */
	uint64_t past[2]; /* of its own messages: up to where all have received, and have delivered, as it was told last */
	uint64_t armed; /* 1 + the index that it is to be told of; 0: none */
	enum whorl_frontier armed_for;
	uint64_t own; /* of its own messages, whatever state it has begun with since */
	uint64_t deliveries;

	uint64_t state; /* its application's: the digest of all that it has delivered, or taken over with a state */
	bool awaits;    /* it needs a state, and has none */
	bool empties;   /* that is the empty one, since no node was in its shard before */
	const struct app *giver; /* that is to give it, and had it when this one entered; NULL: none */
	bool is_out;             /* its last stay is over: a view has begun without it, in which its node is */
	uint64_t stay;           /* how often it has entered a shard */
	uint64_t since; /* in which view it has entered this one, or its state was given: what is of views before came with the state */
	uint64_t coming_stay;  /* in which of these the state that is being restored has begun to come */
	bool behind;           /* it has one, or has refused, and may be upcalled messages of views before its own */
	bool refuses;          /* it does, now and then */
	bool asks;             /* it has refused, and will say when it takes more */
	unsigned char *coming; /* of the state that is being restored */
	size_t coming_bytes, coming_room;

	/* Of a subgroup with calls. */
	bool applies; /* it is in its upcall for calls */
	uint64_t declines_at; /* it does not apply the call of that number, counted from 1, and its node fails; 0: it applies all */
	struct place applied; /* how far its state is */
	uint64_t outcomes; /* 1 + the number of the last call with an outcome that was told in the order of the calls */
	struct read *reads; /* the newest */
	uint64_t dropped; /* of its calls below this some were kept back when it left its shard, and are not applied here */
	uint64_t given;  /* those below are in a state that it was given */
	uint64_t untold; /* calls that are applied, with an outcome that is due in this pass */
	uint64_t reads_left, reads_pace_ns;
	bool may_hurry, hurries;
	uint64_t reads_answered; /* since its last turn: reads that begin in upcalls come to an end */

	/* Of a durable subgroup. */
	struct look { /* into the log of a shard, from outside */
		uint32_t shard;
		uint64_t segment, at; /* of the next batch */
		bool begun;
	} * looks;
	uint32_t look_count;
	const struct shard_member
		*anew;      /* what its disk had all of when it was begun anew: of its last life. NULL: nothing */
	bool replays;       /* what its log has was, or is, upcalled again */
	bool needs;         /* a state, in this stay: some other member had it */
	uint64_t log_taken; /* so much of a log that is its state had come, after its last pass */
	uint64_t whole_in;  /* the last stay in which its log was said to be whole */
};

struct stay { /* of one node in a dynamic subgroup, from its wish on */
	struct actor *actor;
	uint32_t name; /* of the plan */
	bool otherwise, listens, refuses;
	bool leaves, released; /* what its program has asked for */
	bool over;
	enum whorl_result lost; /* why it leaves unasked; WHORL_OK: it does not */
	whorl_subgroup *handle; /* NULL: released */
	struct app *app;        /* NULL: it has been in no view */
	struct stay *next;      /* of this node, the one before */
};

enum actor_state { ACTOR_ABSENT, ACTOR_UNOPENED, ACTOR_AWAKE, ACTOR_ASLEEP, ACTOR_GONE };

struct actor { /* one life of a node */
	struct play *play;
	uint32_t id, life; /* life: its number among all, and its bit in sets */
	char name[32];     /* "node 3", "node 3 (life 2)" */
	uint64_t incarnation;
	bool joins;       /* it never forms a group */
	uint32_t reached; /* bit k: stage k of coming in */
	uint32_t rests;   /* by how many faults it rests */
	whorl_node *node; /* also after a crash, until the end */
	struct wh_dice dice;
	enum actor_state state;
	uint64_t turn; /* the number of the turn that counts; others were overtaken */
	uint64_t pace_ns;
	uint32_t idle; /* passes without work, in a row */
	bool in_pass;
	bool opening; /* its node is being opened, which may take time */
	bool leaving; /* its passes are made by whorl_close */
	bool anew;    /* what its disk had was made a group of its own */
	bool crashed, left;
	bool vanished;             /* crashed, and no node is told */
	bool removed;              /* or failed for good in another way: it does nothing any more */
	bool drained;              /* and left nothing undelivered */
	bool declined;             /* its application could not apply a call */
	uint64_t stalled_until_ns; /* it makes no pass before */
	uint64_t stall_ns;         /* its next upcall takes so long */
	struct view *view;         /* the view that it is in; NULL: none yet */
	struct app *apps;          /* by subgroup */
	struct stay *stays;        /* the newest */
	uint64_t looked_at;        /* so many syncs its disk had had, when it was looked into, */
	struct view *looked_in;    /* and it was in this view */
	bool known_there;          /* it is counted in a group, and its disk has it */
	uint64_t accused;          /* nodes of which it has said, in any view, that they are gone */
	struct heard {             /* by node: its heartbeat, as this one had it after its last pass */
		uint64_t key;      /* of the image */
		uint64_t value, when_ns;
		bool overdue;
	} heard[WH_FAULT_NODES_MAX];
};

/* ---- views ---------------------------------------------------------------------------------------------------------------- */

struct part { /* what one sender sends in one shard of one view: the truth */
	struct stream *stream;
	bool begun;       /* it is in this view */
	uint64_t first;   /* number of the first message that it may send here */
	uint64_t sent;    /* its messages below have a round */
	uint64_t *rounds; /* of messages first, first + 1, ... */
	uint64_t capacity;
	uint64_t with_slots; /* rounds of these */
};

struct taken { /* by a member, of a sender: what was so when it was last looked at */
	uint64_t covered, announced;
	uint64_t done; /* slots with upcalls that have returned */
};

struct entry { /* of the order of a shard: of which sender rank */
	uint32_t s;
	uint64_t index, sequence;
};

struct shard_member { /* one member of one shard in one view */
	struct actor *actor;
	struct shard *shard;
	struct app *app;
	uint64_t base;       /* of its messages: those of stays before */
	int me;              /* sender rank, -1: none */
	bool fresh;          /* it was not in the shard in the view before */
	bool entered;        /* it is in this view, or was */
	bool gone;           /* it was: it is in a later one, or closed, or what it did last is not known */
	struct taken *taken; /* by sender rank */
	uint64_t covered, received_num, delivered_num;
	uint64_t deliveries;
	uint64_t next_sequence; /* all below have been delivered, or were no sender's */
	uint64_t in_pass;       /* upcalls in this pass */
	bool in_upcall;
	uint32_t upcall_sender;
	bool wedged;
	struct wh_inspect_said last_said; /* when it was seen to be wedged */
	struct kept {                     /* on its disk, of a durable shard */
		struct entry *entries;    /* messages, in their order */
		uint64_t count, capacity;
		uint64_t next; /* all numbers below */
	} kept;
};

struct shard { /* one shard in one view */
	struct view *view;
	uint32_t index;  /* in the view */
	uint32_t number; /* in the subgroup */
	uint32_t g;      /* the subgroup */
	bool ordered;
	bool active;
	struct shard_member *members; /* by place among the members */
	uint32_t member_count;
	struct part *parts; /* by sender rank */
	uint32_t part_count;
	uint64_t rounds;     /* 1 + the highest round with a slot, of any sender */
	struct entry *order; /* as the foremost member delivers it */
	uint64_t order_count, order_capacity;
};

struct view { /* a view, made when the first node enters it */
	struct play *play;
	struct view *before;
	uint64_t number;
	uint64_t group;        /* its identity */
	uint64_t key;          /* of its image */
	uint64_t members, ids; /* lives, and nodes */
	uint32_t voters;       /* how many a quorum is taken of */
	bool rests;            /* some node rests in it */
	struct shard *shards;  /* by shard */
	uint32_t shard_count;
};

/* What an application did or saw, for reports. */
enum told_kind {
	TOLD_VIEW,
	TOLD_COMMIT,
	TOLD_REFUSED,
	TOLD_DELIVER,
	TOLD_GIVE,
	TOLD_RESTORE,
	TOLD_CAUGHT_UP,
	TOLD_REST,
	TOLD_WISH,
	TOLD_OUTCOME,
	TOLD_READ
};

struct told {
	uint64_t when_ns;
	const struct actor *actor;
	enum told_kind kind;
	uint32_t g;
	uint64_t a, b, c; /* as the kind has it: report.c */
};

#define TOLD 512 /* the last of them are kept */

/* ---- the run -------------------------------------------------------------------------------------------------------------- */

struct play_subgroup {
	const struct wh_plan_subgroup *plan;
	const struct wh_subgroup_options *options;
	bool stateful;
	bool calls;             /* its applications are state machines */
	struct place *furthest; /* of these: by shard, what some member has applied */
	/* Of a dynamic one. */
	uint32_t name;  /* of the plan */
	uint64_t birth; /* 0: it is configured */
	struct wh_plan_subgroup own_plan;
	struct wh_subgroup_options own_options;
};

struct play {
	const struct wh_plan *plan;
	const struct wh_schedule *schedule;
	struct wh_sim *sim;
	struct wh_history *history;
	struct wh_dice dice;
	uint32_t nodes;                         /* ids are below */
	uint32_t lives, lives_max;              /* that there are, and will be at most */
	uint32_t subgroup_count, subgroups_max; /* that there are, and will be at most */
	struct play_subgroup *subgroups;
	struct actor *actors;        /* by life */
	struct actor **at;           /* by node id: its newest life */
	struct view *views;          /* the newest */
	uint64_t *disks;             /* by node id: the record that it keeps; 0: none */
	bool late_ends;              /* a node may end, and others notice it after more than a start time-out */
	bool extinct;                /* no node of the group can go on, or others have formed one of that name */
	uint64_t steps, useful_step; /* events; of them the last that moved anything on */
	uint32_t awake, busy_streams;
	uint32_t refusing; /* applications that will ask for what they have refused */
	uint32_t calling;  /* answers and reads that will come */
	bool declined;     /* some application could not apply a call */
	uint32_t depth;    /* upcalls that are taking their time */
	uint32_t passes;   /* that are being made: one may sleep for no time, and others happen meanwhile */

	uint32_t long_upcall_in; /* one upcall in so many takes time; 0: none does */
	uint64_t linger_ns;      /* at most so much */
	uint32_t reply_in;       /* one upcall in so many sends; 0: none does */
	bool hasty;              /* nodes close as soon as all is delivered, with acknowledgements still under way */
	bool drains;             /* they drain */

	bool met;                          /* all nodes have, or need not: times count from `met_ns` */
	uint64_t met_ns;                   /* when */
	uint32_t unopened;                 /* of those that are there at the beginning */
	bool suspected;                    /* some node has suspected another, or proposed a view */
	uint32_t faults_due;               /* with a time, that have not come or are not over */
	struct actor **subjects;           /* by fault: the life that it has come about for */
	uint64_t (*seen)[WH_MOMENT_COUNT]; /* by node id: how often each of its moments has come */
	uint32_t *cuts;                    /* from x nodes + to: by how many faults that link is cut */
	uint32_t *links_harmed;            /* by node id: by how many faults any link of it is cut or slow */
	uint32_t *disks_ill;  /* by node id: by how many faults its disk is slow, full or does not answer for a while */
	uint64_t restless_ns; /* when a fault came or ended last */
	uint64_t slowest_ns;  /* so long anything took on the slowest link that there was */
	uint64_t vanished_ns; /* when a node ended last that no other is told of */
	struct wh_sim_link_cost link;      /* of all links that no fault has slowed down */
	struct wh_sim_disk_cost disk_cost; /* of all disks that no fault has slowed down */
	bool calm;                         /* no more will come */
	uint64_t touched;                  /* lives that faults have touched */
	uint64_t disks_harmed; /* nodes with a disk that has failed, hangs, is full, or slow, or was so; or has bytes that rot */
	uint64_t disks_rot; /* of these those with bytes that rot */
	uint64_t broken;    /* lives with a connection that has ended for good */
	uint64_t happened;  /* bit i: fault i of the schedule */
	uint64_t awaiting;  /* likewise: a wish of a node that is not open */
	uint32_t *tries;    /* by fault: how often a wish had to wait for the end of a stay */
	uint64_t survivors; /* lives; in the end. 0: no node may go on */

	/* Told of each moment, before the faults of that moment come about. */
	void (*watch)(void *ctx, const struct actor *actor, enum wh_moment moment);
	void *watch_ctx;

	bool closing;
	struct told *told; /* round and round */
	uint64_t told_count;
	FILE *log;         /* NULL: nowhere */
	char (*dump)[200]; /* where lines of the log go while a node's events are dumped, round and round */
	uint64_t dumped;
	char verdict[512]; /* "": good */
};

/* States are given to nodes that come. */
static inline bool wh_play_has_states(const struct play *play)
{
	return play->plan->state_bytes > 0;
}

static inline bool wh_play_is_dynamic(const struct play *play, uint32_t g)
{
	return play->subgroups[g].birth != 0;
}

/* Some node was cut off from another for a while. */
static inline bool wh_play_was_cut(const struct play *play)
{
	for (uint32_t i = 0; play->schedule != NULL && i < play->schedule->count; i++)
		if ((play->happened >> i & 1) != 0 && play->schedule->faults[i].kind == WH_FAULT_CUT)
			return true;
	return false;
}

/* Some node stood still for so long. */
static inline bool wh_play_stood_still(const struct play *play, uint64_t ns)
{
	for (uint32_t i = 0; play->schedule != NULL && i < play->schedule->count; i++)
		if ((play->happened >> i & 1) != 0 && play->schedule->faults[i].kind == WH_FAULT_STALL &&
		    play->schedule->faults[i].for_us * WH_NS_PER_US >= ns)
			return true;
	return false;
}

/* Things go wrong, or the group grows. */
static inline bool wh_play_has_faults(const struct play *play)
{
	return (play->schedule != NULL && play->schedule->count > 0) || wh_play_has_states(play) || play->plan->logs;
}

/* Its disk may be the reason why a node fails. */
static inline bool wh_disk_is_harmed(const struct play *play, uint32_t id)
{
	return (play->disks_harmed >> id & 1) != 0;
}

static inline uint64_t wh_play_timeout_ns(const struct play *play)
{
	return (uint64_t)play->plan->config.group.failure_timeout_ms * WH_NS_PER_MS;
}

static inline uint64_t wh_play_start_ns(const struct play *play)
{
	return (uint64_t)play->plan->config.group.start_timeout_ms * WH_NS_PER_MS;
}

/* One event, if there is one by then. */
bool wh_play_step(struct play *play, uint64_t until_ns);
/* All sleep, and nothing is under way. */
bool wh_play_is_quiet(const struct play *play);

/* ---- faults.c ---------------------------------------------------------------------------------------------------------- */

/* All nodes have met: time counts from now. */
void wh_faults_arm(struct play *play);
/* This moment of this node has come, once more. */
void wh_faults_moment(struct actor *actor, enum wh_moment moment);
/* The hook of the world: this push is about to be posted. */
/* And before each operation of a disk. */
void wh_faults_operating(void *ctx, uint32_t node, enum wh_sim_disk_op op, uint64_t number);
void wh_faults_posting(void *ctx, uint32_t node, uint64_t key, const struct wh_push *push);
void wh_actor_crash(struct actor *actor, bool silently);
/* A node has been opened: what is wrong with its links is wrong with this life too. */
void wh_faults_born(struct actor *actor);

/* ---- actors.c ---------------------------------------------------------------------------------------------------------- */

void wh_actor_init(struct actor *actor, struct play *play, uint32_t life, uint32_t id);
void wh_actor_open(struct actor *actor);
/* The power goes, and its program waits for the directory that another node speaks for. */
void wh_actor_stop_opening(struct actor *actor);
/* Another life of that node, or its first, as the fault has it. False: not now. */
bool wh_actor_return(struct play *play, const struct wh_fault *fault);
void wh_actor_rest(struct actor *actor, bool rests);
void wh_actor_free(struct actor *actor);
void wh_actor_rung(struct actor *actor);
void wh_actor_leave(struct actor *actor, int timeout_ms); /* closes it */
void wh_actor_leave_soon(struct actor *actor);
/* Its application finishes what it has begun, and closes it in order. False: not now, it is busy. */
bool wh_actor_depart(struct actor *actor);
/* It makes passes, and its application has turns. */
static inline bool wh_actor_runs(const struct actor *actor)
{
	return actor->state == ACTOR_AWAKE || actor->state == ACTOR_ASLEEP;
}

/* ---- streams.c --------------------------------------------------------------------------------------------------------- */

void wh_stream_init(struct stream *stream, struct app *app);
/* A stay begins: it claims some more. */
void wh_stream_begin_stay(struct stream *stream);
void wh_stream_schedule(struct stream *stream);
/* One claim, or the end of one. False: there is nothing to be done now. */
bool wh_stream_act(struct stream *stream);
void wh_stream_look(struct stream *stream);  /* is there room for a starved one? */
void wh_stream_lapse(struct stream *stream); /* its node was taken out of its shard: what is open never leaves */
void wh_stream_unbar(struct stream *stream); /* there is a new view */
void wh_stream_stop(struct stream *stream);  /* finishes what is open, claims no more */
/* After its node was closed: what is still open keeps the node's memory. */
void wh_stream_finish_late(struct stream *stream);
void wh_stream_free(struct stream *stream);
/* How many of its messages are finished, up to the first that is open. */
uint64_t wh_stream_finished(const struct stream *stream);
/* What that message holds. */
struct wh_payload_id wh_stream_payload(const struct stream *stream, uint64_t number);

/* ---- states.c ---------------------------------------------------------------------------------------------------------- */

/* The subgroup is open: gives it the functions for its state. */
void wh_state_of_app(struct app *app);
/* It has entered the shard in this view, in which some member has a state, or none. */
void wh_app_begin(struct app *app, bool needs_state);
/* A view restarts the group, and its log is to be upcalled first: of that shard, behind a state with that digest, 0: from the beginning. False:
 * the run has failed. */
bool wh_app_replays(struct app *app, uint32_t shard, uint64_t digest);
/* Without functions for a state a durable log is one: a newcomer is upcalled for all of it. */
static inline bool wh_app_is_log(const struct app *app)
{
	const struct play *play = app->actor->play;

	return play->subgroups[app->g].plan->durable && !wh_play_has_states(play);
}
/* What it is upcalled of that view now comes out of a log: its own, before the view that restarts the group; or the one that it was given. */
bool wh_app_reads_log(const struct app *app, uint64_t view);
/* It begins to be. False: that is broken. */
bool wh_app_takes_log(struct app *app);
/* It may have been, and there was nothing in it. */
void wh_app_look_for_log(struct app *app);
/* And that view begins. */
void wh_app_returns(struct app *app);
/* A message has been delivered. */
void wh_app_add(struct app *app, uint64_t payload);
/* The pass is over: is it behind still? */
void wh_app_look(struct app *app);
/* A view begins, and of the one before it has refused some: that is kept for it, or dropped with its place. */
void wh_app_lags(struct app *app);

/* ---- views.c ---------------------------------------------------------------------------------------------------------- */

/* The node is in a view that it was not in before; its application has been shown that, or NULL. */
void wh_play_enter_view(struct actor *actor, const struct whorl_view *shown);
/* A member of it has crashed, and that may go unnoticed for longer than a first view is waited for. */
bool wh_play_ended_late(const struct play *play, const struct view *view);
/* Has some life of that set the proof that this one is dead? */
bool wh_play_is_proved_dead(const struct actor *actor, uint64_t set);
/* This node's passes will not be looked at any more. */
void wh_play_forsake_view(struct actor *actor);
void wh_play_free_views(struct play *play);
/* The rank of that node, an id, among the senders, -1. */
int wh_shard_sender(const struct shard *shard, uint32_t node);
struct shard_member *wh_shard_member(const struct shard *shard, const struct actor *actor);
/* The member that the node was, in that subgroup and view; NULL: it was none. */
struct shard_member *wh_app_member_in(const struct app *app, uint64_t view);
/* What that node sent there then, in a view that this one need not have been in; NULL: nothing. */
struct stream *wh_app_stream_in(const struct app *app, uint64_t view, uint32_t sender);

/* The number of a message of that life, which the library calls `index`, in the view. */
uint64_t wh_app_number(const struct app *app, uint64_t view, uint32_t life, uint64_t index);

/* ---- wishes.c --------------------------------------------------------------------------------------------------------- */

/* False: not now. */
bool wh_wish_carry_out(struct actor *actor, const struct wh_fault *fault, uint64_t i);
/* The node is open, and has not been started: what it has wished by now. */
void wh_wishes_opened(struct actor *actor);
/* The number of that dynamic subgroup, which may be born with this view. UINT32_MAX: the run has failed. */
uint32_t wh_play_bear(struct play *play, const struct wh_view_subgroup *layout);
/* The number of the subgroup, of which some node has begun a view that has it. */
uint32_t wh_play_subgroup_of(const struct play *play, const struct wh_view_subgroup *layout);
void wh_app_init(struct app *app, struct actor *actor, uint32_t g); /* actors.c */
/* What the history is told of the dynamic subgroups of that view. */
void wh_play_tell_dynamic(const struct play *play, const struct wh_view *view, struct wh_history_dynamic *out);
/* Its node has entered the dynamic subgroup in this view. */
void wh_wish_begins(struct app *app);
/* The node is in a view: what has begun and ended for it. */
void wh_wishes_enter_view(struct actor *actor);
/* Which of them it leaves, as their state could not be had. A node in whorl_close is not asked between its passes. */
void wh_wishes_look_at_states(struct actor *actor);
/* The pass is over: what it is told of its stays is so. */
void wh_check_stays(struct actor *actor);
/* Its node has wished to leave what it is in. */
bool wh_app_leaves(const struct app *app);
/* Its stay ends as its state could not be had. */
bool wh_app_has_lost(const struct app *app);
/* No stay of it lasts any more. */
void wh_wishes_closed(struct actor *actor);
void wh_wishes_free(struct actor *actor);
/* Some wish of the node is not met, and not refused. */
bool wh_wishes_lack(const struct actor *actor, char *what, size_t bytes);

/* ---- calls.c ---------------------------------------------------------------------------------------------------------- */

/* The subgroup is open, and has calls. */
void wh_calls_of_app(struct app *app);
/* It is in the shard that it has entered as far as that; then how far it is when a message has been upcalled. */
void wh_calls_stand_at(struct app *app, struct place place);
void wh_calls_upcalled(struct app *app, const struct whorl_message *message);
/* A claim is committed as a call. NULL: as a message, of which no outcome is told. */
struct call *wh_call_new(struct stream *stream, uint64_t number);
/* What the library is told of it: whorl_call_commit, or whorl_call with this data. */
enum whorl_result wh_call_commit(struct call *call, struct whorl_claim *claim, size_t bytes);
enum whorl_result wh_call_make(struct app *app, struct call *call, const void *data, size_t bytes);
/* Of one that is still open after whorl_close. */
enum whorl_result wh_call_commit_late(struct app *app, struct whorl_claim *claim);
/* An entry is taken by a call that waits for its outcome: a claim may be told to wait. */
bool wh_call_may_wait(const struct stream *stream, uint64_t number);
/* The pass is over: what is applied, and is not to be answered later, has an outcome. */
void wh_check_calls(const struct app *app);
/* Some outcome is due. `closed`: all are. */
bool wh_calls_lack(const struct app *app, bool closed, char *what, size_t bytes);
void wh_calls_free(struct app *app);
/* What may be done in an upcall, now and then. */
void wh_calls_act(struct app *app);

/* ---- reads.c ---------------------------------------------------------------------------------------------------------- */

void wh_reads_of_app(struct app *app);
/* Something goes wrong with its links, or it stands still: it reads again and again, till that is over. */
void wh_reads_hurry(struct actor *actor);
/* One, of either kind. */
void wh_read_one(struct app *app);
bool wh_reads_lack(const struct app *app, char *what, size_t bytes);
void wh_reads_free(struct app *app);

/* actors.c: a message, as all upcalls for messages have it. False: no node is there any more to get it. */
bool wh_actor_upcall(struct app *app, const struct whorl_message *message);
/* actors.c: upcalls of one stay, for its options. */
void wh_actor_take_upcalls(struct stay *stay, struct whorl_subgroup_options *options);
/* states.c */
struct whorl_state wh_state_of_stay(struct stay *stay);

/* ---- checkers.c, deliveries.c ------------------------------------------------------------------------------------------- */

void wh_check_pass(struct actor *actor);
void wh_check_node(struct actor *actor); /* failures.c */
/* Takes in what is settled in the middle of a pass, but for what the member that is in an upcall does. */
void wh_check_settle(struct actor *actor);
/* The pass in which it has crashed is over. */
void wh_check_died(struct actor *actor);
void wh_check_claim(const struct stream *stream, uint64_t number);
void wh_check_upcall(struct app *app, const struct whorl_message *message);
void wh_check_payload(const struct app *app, const struct whorl_message *message);
/* No node is left that could give it the state that it lacks (failures.c). */
bool wh_app_is_orphan(const struct app *app);
/* What survivors count as received is theirs, whichever nodes have crashed. */
void wh_check_held(struct play *play);

/* ---- kept.c ------------------------------------------------------------------------------------------------------------- */

struct wh_standing;
/* Takes in what has come to the disk of this life since. */
void wh_kept_look(struct actor *actor);
/* The member delivers what stands at that place of the order of its shard: it is on all disks. */
void wh_kept_check(const struct shard_member *member, uint64_t place, const struct whorl_message *message);
/* What the disk of that node says of views. False: nothing, or it cannot be read. It is freed in either case. */
bool wh_kept_standing(const struct play *play, uint32_t id, struct wh_standing *out);
/* The view with that key, as some disk has it; NULL: none has. It is freed by the caller. */
struct wh_view *wh_kept_view(const struct play *play, uint64_t key);
/* It is about to say that step in the view with that key. */
void wh_kept_step(const struct actor *actor, enum wh_moment step, uint64_t key, const struct wh_push *push);
/* The pass is over. */
void wh_kept_pass(struct actor *actor);

/* ---- rots.c ------------------------------------------------------------------------------------------------------------- */

struct wh_sim_disk;
/* A bit is turned on the disk of that node, by fault `i`; not where that could not be told from what was never there. */
void wh_rot_disk(struct play *play, struct wh_sim_disk *disk, uint32_t node, uint64_t i);

/* ---- returns.c ---------------------------------------------------------------------------------------------------------- */

/* None of these lives is in a view: those that must be in one in the end, as their disks say. 0: none must. */
uint64_t wh_returns_find(const struct play *play, uint64_t running);

/* ---- anew.c ------------------------------------------------------------------------------------------------------------- */

/* The node is about to be opened, and its program has ended: its directory is begun anew. */
void wh_anew_begin(struct actor *actor);
/* It is in a view of that group: it has been upcalled for all that its disk had. */
void wh_anew_check(const struct actor *actor);

/* ---- frontiers.c -------------------------------------------------------------------------------------------------------- */

/* The pass is over: what it is told has become of its messages is so. */
void wh_check_frontiers(struct app *app);
/* Nothing happens any more: it is told all that is so. */
void wh_check_frontiers_end(const struct app *app);

/* ---- report.c ----------------------------------------------------------------------------------------------------------- */

void wh_report(struct play *play);
void wh_tell(const struct actor *actor, enum told_kind kind, uint32_t g, uint64_t a, uint64_t b, uint64_t c);
/* Where the nodes' logs go: nowhere, but for the events that a report asks for. */
void wh_report_line(void *ctx, uint32_t node, enum wh_log_level level, const char *line);

/* ---- liveness.c, liveness_end.c --------------------------------------------------------------------------------------------------- */

/* Faults have stopped: goes on until all is delivered that must be, or it is plain that nothing can be any more. */
bool wh_liveness_settle(struct play *play);
/* Do these lives make a quorum of that view? Some of its members may have left in order. */
bool wh_liveness_is_quorum(const struct play *play, const struct view *view, uint64_t set);
/* Is there a quorum of its view with it, of lives that run, are connected and trust each other? */
bool wh_liveness_may_go_on(const struct play *play, const struct actor *actor);
/* No node may go on: of the last view no quorum is left; or all of it are gone, and nodes that come may not form another. */
bool wh_liveness_is_over(const struct play *play);
/* Is all that its senders commit delivered in a bounded time? */
bool wh_liveness_must_progress(const struct play *play, const struct shard *shard);
/* Nothing happens any more: is everything delivered that can be? */
void wh_liveness_check(struct play *play);
/* All others have delivered all that the node that left in order has committed. */
void wh_liveness_check_left(const struct actor *actor);
/* An idle group posts heartbeats, and nothing else. */
void wh_liveness_check_silence(struct play *play);

#endif
