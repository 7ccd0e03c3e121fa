/* topics_play.h - random programs with topics, on the processes of topics_host.h, that are killed, stand still, leave, come late and come back;
 * and what must be true of all that they have seen.
 *
 *     topics_play.c      the programs and faults of a seed, and what they note
 *     topics_check.c     the judge, when all is over
 *
 * There are four topics. *plain*: atomic, with disposals and unregistrations; a reader gets what comes behind its place. *stored*: a late reader gets the history.
 * *owned*: one owner of each instance. *sets*: what a publisher writes between a beginning and an end. One process, the keeper, lives all the time
 * and has a reader of each, so that no channel ends.
 */
#ifndef WH_TESTS_SIM_TOPICS_PLAY_H
#define WH_TESTS_SIM_TOPICS_PLAY_H

#include <whorl/dds.h>

#include "tests/sim/topics_host.h"

enum topics_kind { TOPICS_PLAIN, TOPICS_STORED, TOPICS_OWNED, TOPICS_SETS, TOPICS_KINDS };

#define TOPICS_KEYS 4

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
	bool ended; /* the end of its set was said, with success */
	/* What readers have seen (topics_check.c). */
	bool seen;
	uint32_t seen_by; /* the last reader that was looked at */
	uint64_t view, sequence, number, taken_ns;
};

struct topics_writer {
	uint32_t number;
	enum topics_kind kind;
	struct topics_life *life;
	whorl_dds_entity entity, publisher;
	int32_t strength;
	uint64_t made_ns;           /* 0: it was not, or not yet */
	bool unsure;                /* whether it is, or is gone */
	uint64_t going_ns, gone_ns; /* its deletion was called, and returned */
	struct topics_written *written;
	uint32_t count, room;
};

struct topics_entry { /* of what a reader has taken */
	uint64_t view, sequence, number, taken_ns;
	whorl_dds_instance_handle publication;
	uint32_t node, state;
	bool valid;
	struct topics_sample sample; /* without data the key alone */
};

struct topics_reader {
	uint32_t number;
	enum topics_kind kind;
	struct topics_life *life;
	whorl_dds_entity entity;
	bool local;   /* TRANSIENT_LOCAL, of the stored topic; else TRANSIENT */
	bool listens; /* a listener takes */
	bool limited; /* it may have no room, and holds up the others */
	uint64_t from_ns, made_ns, gone_ns;
	bool taking;
	bool final; /* it was there to the end, and has taken all */
	int32_t matched, lost;
	struct topics_entry *entries;
	uint32_t count, room;
};

struct topics_life { /* of a process */
	struct topics_play *play;
	struct topics_process *process;
	uint32_t id;
	bool keeper, joins;
	struct wh_dice dice;
	whorl_dds_entity participant, topics[TOPICS_KINDS];
	struct topics_writer *writers[3];
	struct topics_reader *readers[3];
	bool in, failed, done, leaves, settled;
	uint64_t killed_ns;
};

struct topics_play {
	uint64_t seed;
	bool verbose;
	struct wh_dice dice;
	struct topics_world *world;
	bool transient; /* the stored topic: its writers are TRANSIENT, else TRANSIENT_LOCAL */
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

/* runner_fn */
bool topics_play(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes);
/* Keeps the first. */
__attribute__((format(printf, 2, 3))) void topics_fail(struct topics_play *play, const char *format, ...);
bool topics_failed(const struct topics_play *play);
void topics_judge(struct topics_play *play);

#endif
