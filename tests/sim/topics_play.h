/* topics_play.h - random programs with topics, on the processes of topics_host.h, that are killed, stand still, leave, come late and come back;
 * and what must be true of all that they have seen.
 *
 *     topics_play.c        the programs and faults of a seed
 *     topics_more.c        what programs of some seeds do beside that
 *     topics_logged.c      the programs and faults of a seed of sim-logged
 *     topics_harm.c        of some of these: disks that are lost, or rot
 *     topics_ends.c        their readers and writers, and what is noted of them
 *     topics_check.c       the judge, when all is over
 *     topics_check_time.c  what it says of lifespans, leases, deadlines, owners and readers that were elsewhere
 *     topics_check_more.c  what it says of the kinds of topics_more.c
 *
 * There are four topics. *plain*: atomic, with disposals and unregistrations; a reader gets what comes behind its place. *stored*: a late reader gets the
 * history, of writers that are TRANSIENT or TRANSIENT_LOCAL. *owned*: one owner of each instance, by strengths that change. *sets*: what a publisher writes
 * between a beginning and an end. One process, the keeper, lives all the time and has a reader of three, so that no channel ends.
 *
 * One seed of three has *more*, drawn from dice of its own, so that the programs of all others are what they were before there was more. *loose*: unordered.
 * *timed*: by source time, with times that writers choose; stored, for readers that go by it and readers that do not. *one* and *other*: what a
 * publisher writes to both between a beginning and an end, with GROUP presentation. And readers of plain that have a filter of times, or read in
 * place, where they also write.
 *
 * sim-logged plays programs of two more topics, *logged* and *apart*, each on a channel of its own, in a group that has a directory. All of it ends, by a
 * loss of power or otherwise, and comes back, in part or as a whole; in the end all that ever were there come, and must have what was there.
 */
#ifndef WH_TESTS_SIM_TOPICS_PLAY_H
#define WH_TESTS_SIM_TOPICS_PLAY_H

#include <whorl/dds.h>

#include "tests/sim/topics_host.h"

enum topics_kind {
	TOPICS_PLAIN,
	TOPICS_STORED,
	TOPICS_OWNED,
	TOPICS_SETS,
	TOPICS_FIRST_KINDS, /* those of all seeds */
	TOPICS_LOOSE = TOPICS_FIRST_KINDS,
	TOPICS_TIMED,
	TOPICS_ONE,
	TOPICS_OTHER,
	TOPICS_MORE_KINDS,                 /* those of seeds that have more */
	TOPICS_LOGGED = TOPICS_MORE_KINDS, /* of sim-logged: both logged, on two channels */
	TOPICS_APART,
	TOPICS_KINDS
};

/* Where a program has its readers and its writers. */
enum topics_slot {
	TOPICS_SLOT_FIRST, /* of all seeds: three */
	TOPICS_SLOT_MORE = 3,
	TOPICS_SLOT_PAIR = 5, /* of one and of other */
	TOPICS_SLOT_ECHO = 7, /* a writer of readers in place */
	TOPICS_SLOTS
};

#define TOPICS_KEYS 4
#define TOPICS_IDS 5 /* nodes that may be there */

struct topics_sample { /* as it travels */
	int32_t key;
	uint32_t writer; /* its number in the run, from 1 */
	uint32_t n;      /* of this writer, from 0 */
	uint32_t set, index, count;
};

enum topics_change { TOPICS_WRITE, TOPICS_DISPOSE, TOPICS_WRITE_DISPOSE, TOPICS_UNREGISTER };

struct topics_written { /* one that a program has tried to write */
	enum topics_change change;
	int32_t key;
	uint64_t from_ns, to_ns; /* when it was called, and when that returned; 0: it has not */
	whorl_dds_return result;
	uint32_t set;
	bool ended;            /* the end of its set was said, with success */
	bool acknowledged;     /* all members had it: that was said */
	bool broken;           /* a writer of its set was deleted before the end */
	uint64_t source_ns;    /* of the timed topic: the time that it was given */
	int32_t strength, low; /* of the writer; and the least since what it had written before */
	/* What readers have seen (topics_check.c). */
	bool seen;
	bool seen_by_source; /* by a reader that goes by source time */
	uint32_t seen_by;    /* the last reader that was looked at */
	uint64_t view, sequence, number, taken_ns;
};

struct topics_writer {
	uint32_t number;
	enum topics_kind kind;
	struct topics_life *life;
	struct wh_dice *dice;
	whorl_dds_entity entity, publisher;
	uint32_t echoes; /* how many it may still write in a listener */
	int32_t strength, low;
	bool local;                                  /* TRANSIENT_LOCAL, of the stored topic; else TRANSIENT */
	enum whorl_dds_liveliness_kind liveliness;   /* manual: with a lease, and it may be silent for longer */
	uint64_t lease_ns, lifespan_ns, deadline_ns; /* 0: none */
	uint32_t lost, missed;      /* what it was told of its liveliness and its deadlines, at the end */
	uint64_t noted_ns;          /* when that was; 0: it was not asked */
	uint64_t made_ns;           /* 0: it was not, or not yet */
	bool unsure;                /* whether it is, or is gone */
	uint64_t going_ns, gone_ns; /* its deletion was called, and returned */
	struct topics_written *written;
	uint32_t count, room;
};

struct topics_entry {                                        /* of what a reader has taken */
	uint64_t view, sequence, number, asked_ns, taken_ns; /* before it was taken, and after */
	uint64_t source_ns, reception_ns;                    /* of the world */
	uint32_t state;
	bool valid;
	struct topics_sample sample; /* without data the key alone */
};

struct topics_reader {
	uint32_t number;
	enum topics_kind kind;
	struct topics_life *life;
	struct wh_dice *dice;
	whorl_dds_entity entity;
	uint32_t stay;   /* of its life */
	bool local;      /* TRANSIENT_LOCAL, of the stored topic; else TRANSIENT */
	bool listens;    /* a listener takes */
	bool limited;    /* it may have no room, and holds up the others */
	bool in_place;   /* it is told on the loop, and takes nothing */
	bool by_source;  /* of the timed topic: it goes by source time */
	bool ended;      /* it was deleted, and that has returned */
	uint64_t gap_ns; /* the time of its filter; 0: none */
	uint64_t from_ns, made_ns, gone_ns;
	uint64_t channel_began; /* of a stored topic: the view in which its channel began */
	bool taking;
	bool final; /* it was there to the end, and has taken all */
	bool more; /* it took as many as it could hold, and could take no more afterwards: an instance at a time, so not up to some place */
	uint64_t deadline_ns; /* 0: none */
	/* It was in another partition: when that was said, and held; and when that it is back. 0: not yet, or never. */
	uint64_t off_ns, away_ns, back_ns, on_ns;
	bool vague;                   /* whether it is there is not known */
	uint64_t slowest_ns, last_ns; /* the longest time in which it took nothing; when it took last */
	/* What it was told, at the end. */
	int32_t matched, lost;
	uint32_t alive, silent, missed;
	uint64_t noted_ns;
	struct topics_entry *entries;
	uint32_t count, room;
};

struct topics_life { /* of a process */
	struct topics_play *play;
	struct topics_process *process;
	uint32_t id;
	uint32_t phase; /* of a logged play: between two ends of all */
	bool keeper, joins;
	struct wh_dice dice, more;
	whorl_dds_entity participant, topics[TOPICS_KINDS];
	struct topics_writer *writers[TOPICS_SLOTS];
	struct topics_reader *readers[TOPICS_SLOTS];
	bool in, failed, done, leaves, settled;
	bool asserts;   /* at the end, when nothing is written, that it is alive */
	uint32_t stays; /* how often it comes */
	uint32_t stay;  /* which of these it is */
	bool stalled;   /* it stood still once */
	uint64_t killed_ns;
	uint64_t leaving_ns; /* the longest time in which a participant was deleted, before all end and the last may be too few */
};

struct topics_play {
	uint64_t seed;
	bool verbose;
	struct wh_dice dice;
	struct topics_world *world;
	bool more;
	bool logged; /* topics_logged.c */
	uint32_t phase;
	bool one_host, leaving, last; /* of it: all are to end; it is the last phase */
	uint32_t founders;            /* of it: ids below form the group */
	/* Of it: disks are lost, or rot, by dice of their own; ids, as bits: of the disks that were harmed, and of those that were lost. */
	bool harms;
	struct wh_dice harm_dice;
	uint32_t harmed, lost;
	bool transient;       /* the stored topic; else it is TRANSIENT_LOCAL, and so are its writers */
	uint64_t patience_ns; /* for readers that are full */
	struct topics_life **lives;
	uint32_t life_count;
	struct topics_writer **writers;
	uint32_t writer_count;
	struct topics_reader **readers;
	uint32_t reader_count;
	uint32_t sets;
	uint64_t settled_ns; /* when all that go on had taken the last */
	bool calm;           /* faults are over, and so are programs: the last is taken */
	bool whole;          /* the keeper lived to the end, and the group with it */
	char *verdict;
	size_t verdict_bytes;
};

/* ---- topics_play.c ---- */

/* runner_fn */
bool topics_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes);
/* Keeps the first. */
__attribute__((format(printf, 2, 3))) void topics_fail(struct topics_play *play, const char *format, ...);
bool topics_failed(const struct topics_play *play);
void *topics_must(void *memory);
bool topics_goes_on(struct topics_life *life);
void topics_take_from_all(struct topics_life *life);
/* Its participant is deleted, and some of its writers before. */
void topics_leave(struct topics_life *life);
struct topics_life *topics_begin_life(struct topics_play *play, uint32_t id, bool joins, void (*fn)(void *ctx));
struct topics_life *topics_life_of(const struct topics_play *play, uint32_t id);
bool topics_goes_until(struct topics_play *play, uint64_t until_ns);
bool topics_all_ended(const struct topics_play *play);
void topics_free_play(struct topics_play *play);

/* ---- topics_logged.c ---- */

/* runner_fn */
bool topics_play_logged(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes);
__attribute__((format(printf, 2, 3))) void topics_tell(const struct topics_life *life, const char *format, ...);

/* ---- topics_harm.c: of a play with harms ---- */

/* Nothing is lost with that disk: others have all, and can go on. */
bool topics_can_spare(const struct topics_play *play, uint32_t id);
/* It is lost, or rots; its process has ended. */
void topics_harm_disk(struct topics_play *play, uint32_t id);
/* Time passes until all others are in a view behind that number. False: the play has failed. */
bool topics_await_others(struct topics_play *play, uint64_t number, uint32_t id);
/* Some disk, if that can be spared; `end` ends a process at once. Time passes until the others have all again. False: the play has failed. */
bool topics_harm(struct topics_play *play, void (*end)(struct topics_play *play, uint32_t id));

/* ---- topics_more.c ---- */

void topics_begin_more(struct topics_life *keeper);
void topics_act_more(struct topics_life *life);
/* What a reader of these is; by its dice. */
void topics_draw_more_reader(struct topics_reader *reader);
/* Both writers, with their publisher; both readers, with their subscriber. */
void topics_end_pair_writers(struct topics_life *life);
void topics_end_pair_readers(struct topics_life *life);
void topics_write_pair(struct topics_life *life);

/* ---- topics_ends.c ---- */

extern const char *const topics_names[TOPICS_KINDS];
extern const struct whorl_dds_type *const topics_type;

whorl_dds_qos *topics_topic_qos(const struct topics_play *play, enum topics_kind kind);
whorl_dds_qos *topics_group_qos(enum topics_kind kind);
bool topics_is_of_pair(enum topics_kind kind);
bool topics_is_logged(enum topics_kind kind);
void topics_take(struct topics_reader *reader);
/* Waits for data; what the condition says must be what there is. */
void topics_await_data(struct topics_reader *reader);
void topics_make_reader(struct topics_life *life, uint32_t slot, enum topics_kind kind);
/* Of that subscriber, or publisher. False: it is not there. */
bool topics_make_reader_of(struct topics_life *life, uint32_t slot, enum topics_kind kind, whorl_dds_entity subscriber);
bool topics_make_writer_of(struct topics_life *life, uint32_t slot, enum topics_kind kind, whorl_dds_entity publisher);
/* To another partition, and back, once. */
void topics_move_reader(struct topics_reader *reader);
void topics_end_reader(struct topics_life *life, uint32_t slot);
void topics_make_writer(struct topics_life *life, uint32_t slot, enum topics_kind kind);
void topics_write(struct topics_life *life, uint32_t slot);
/* One sample; in a set, which of how many. */
whorl_dds_return topics_write_one(struct topics_writer *writer, enum topics_change change, uint32_t set, uint32_t index,
				  uint32_t count);
void topics_change_strength(struct topics_writer *writer);
void topics_assert(const struct topics_life *life);
void topics_end_writer(struct topics_life *life, uint32_t slot);
void topics_note_statuses(struct topics_life *life);

/* ---- topics_check.c, topics_check_time.c, topics_check_more.c ---- */

void topics_judge(struct topics_play *play);
int topics_compare(uint64_t view, uint64_t sequence, uint64_t other_view, uint64_t other_sequence);
bool topics_has_data(const struct topics_written *it);
/* Do their policies go together? */
bool topics_fit(const struct topics_reader *reader, const struct topics_writer *writer);
/* It was there when the last was taken. */
bool topics_was_there_last(const struct topics_writer *writer);
/* That reader has not the sample, and need not: the sample's time was over, or the reader was elsewhere. */
bool topics_is_excused(const struct topics_play *play, const struct topics_reader *reader,
		       const struct topics_writer *writer, const struct topics_written *it);
/* Of a reader of which all samples are marked (seen_by). */
void topics_judge_times(struct topics_play *play, const struct topics_reader *reader);
void topics_judge_owners(struct topics_play *play, const struct topics_reader *reader);
/* Of one that was there to the end. */
void topics_judge_end_times(struct topics_play *play, const struct topics_reader *reader);
void topics_judge_writer(struct topics_play *play, const struct topics_writer *writer);
bool topics_may_lose(const struct topics_play *play, const struct topics_reader *reader);
/* That reader need not have the sample: something newer is in its place. */
bool topics_is_hidden(const struct topics_play *play, const struct topics_reader *reader,
		      const struct topics_writer *writer, const struct topics_written *it);
/* Until when a filter of times may hold back the sample, behind what came last of its instance. 0: there was nothing that it could come too early
 * behind, or the reader has no filter. */
uint64_t topics_held_until(const struct topics_play *play, const struct topics_reader *reader,
			   const struct topics_written *it);
/* Of the loose topic: what a process has not received it does not know. */
bool topics_is_unheard(const struct topics_reader *reader, const struct topics_writer *writer, int32_t key);
/* As many as were sent are counted from the one sample to the other; if it is known which were. */
bool topics_counts_right(const struct topics_writer *writer, uint32_t one, uint64_t number, uint32_t other,
			 uint64_t other_number);
/* Of a set of which one is seen, all are: at that place. */
void topics_complete_sets(struct topics_play *play);
void topics_judge_more(struct topics_play *play, const struct topics_reader *reader);

#endif
