/* whorl/dds.h - publish and subscribe: topics after OMG DDS (DCPS 1.4) on subgroups.
 *
 * Programs write samples of typed *topics*, and programs that read a topic get them. What DCPS says of entities, instances, policies
 * and statuses holds here, with one thing more: all readers of a topic see one order of the samples of all its writers, all or none of
 * them get what a writer wrote before it died, and one that joins late misses nothing (CONSISTENCY; Spindle §IV-F).
 *
 * A program in one glance:
 *
 *     struct pose { int32_t id; double x, y; };
 *     WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, x),
 *                    WHORL_DDS_FIELD(struct pose, y));
 *
 *     whorl_dds_entity participant = whorl_dds_create_participant(0, NULL, NULL);
 *     whorl_dds_entity topic = whorl_dds_create_topic(participant, &pose_type, "poses", NULL, NULL);
 *     whorl_dds_entity writer = whorl_dds_create_writer(participant, topic, NULL, NULL);
 *     whorl_dds_write(writer, &(struct pose){.id = 7, .x = 1.0});
 *
 *     whorl_dds_entity reader = whorl_dds_create_reader(participant, topic, NULL, NULL);
 *     struct whorl_dds_sample_info infos[8] = {{.size = sizeof(infos[0])}};
 *     void *poses[8] = {NULL};
 *     int32_t count = whorl_dds_take(reader, poses, infos, 8); // they are lent
 *     ...
 *     whorl_dds_return_loan(reader, poses, count);
 *     whorl_dds_delete(participant);
 *
 * ENTITIES are named by handles, numbers > 0. A function that creates one returns its handle or, < 0, the result that says why there is
 * none. An entity belongs to its parent, and whorl_dds_delete takes its children with it. A handle is never used again while its process
 * lives: with one that was deleted each function answers WHORL_DDS_RETCODE_ALREADY_DELETED, with a number that never was one
 * WHORL_DDS_RETCODE_BAD_PARAMETER, with an entity of a kind that the function is not for WHORL_DDS_RETCODE_ILLEGAL_OPERATION. These three,
 * and BAD_PARAMETER for NULL where an argument is needed, are not repeated below. Why the thread was last answered anything but
 * OK is in words in whorl_dds_text.
 *
 * RESULTS. A whorl_dds_return is 0 (OK), or a count, or < 0. Where the group has ended for this process (it was removed, cut off for
 * good, or closed) functions that need it answer WHORL_DDS_RETCODE_ERROR, and whorl_dds_text says what the node says.
 *
 * DOMAINS. A *domain* is a group of nodes, and a *participant* is in one; those of one process in one domain share a node. Domain N is a
 * group of this user on this host, on shared memory: programs come and go in any order, nothing is to be configured, and the last one ends
 * it. With WHORL_DDS=FILE.ini in the environment all domains are the group of that file instead (docs/configuration.md): `[group]` as
 * everywhere; on a network WHORL_DDS_ID says which node this is. A file without `[group]` leaves the groups as they are. Its `[channel NAME]` has
 * `window`, `message_bytes` and `large_bytes` as a subgroup has, `[topic PATTERN]` says `channel = NAME` or `channel = own`, and `[dds]` has `directory`, `log_bytes`, `reader_patience_ms`,
 * `slow_reader` and `rest_after_ms`. No `[subgroup NAME]` of it has the name of a channel. The node's
 * loop has a thread of its own, whatever `[engine] thread` says.
 *
 * CHANNELS. A *channel* is a subgroup that carries topics. By default a few are shared, by the size of samples and by consistency. A
 * process is in those of the topics that it uses. All topics of a channel share its window: a reader that holds up one topic of it
 * holds up its writers of the others (SLOW READERS). `channel = own` gives a topic one of its own.
 *
 * ORDER. All that has a meaning travels in the channel: samples, the ends of instances, new readers and writers and their ends,
 * changed policies, owners of instances. So all members of it agree on what came before what. A reader gets exactly what comes behind
 * the place where it was created, and before that the history that its DURABILITY asks for, each sample with its first place. A reader or
 * writer is created when its announcement has been delivered, and then it is known whether it fits the others. Topics on
 * different channels have no order among each other; GROUP presentation is for topics on one channel.
 *
 * UNORDERED TOPICS (CONSISTENCY) give that up for samples that are read as they come: those of one writer in its order, those of several as each
 * process receives them. Readers and writers are created, changed and deleted as everywhere, and their matches are the same for all, but there is no
 * place in the samples at which that happens: of what is written while a reader is created it gets some or none. A writer that is
 * deleted or dies ends behind the last of its samples that a process receives; of one that dies others may have received more. States
 * and generations of an instance, and the number of a sample, are what this process has received: processes may differ, those that come later have
 * counted less. With DESTINATION_ORDER by source time readers that have received the same come to the same last value. A sample that comes before its writer is known waits
 * for that, 1,024 in a process and 4 MB at most; of more the oldest are dropped, and no reader is told. Readers that are full hold up their channel
 * as everywhere (SLOW READERS), but lose what had to wait so.
 *
 * LOGGED TOPICS (CONSISTENCY; or DURABILITY PERSISTENT) survive the end of all their programs, and the power of the host: a sample is read, and
 * acknowledged (whorl_dds_wait_for_acks), when it is on the disk of each member of its channel. They need a directory: `[dds] directory`, or of
 * a file with a group `log_dir`; all processes of the domain say the same. The first program that uses such a topic again has its samples, with
 * their first places; its writers of then have gone, so its instances have no writers. What was TRANSIENT_LOCAL went with its writer. So has what a
 * writer had that was deleted while it disposes of what it had (WRITER_DATA_LIFECYCLE, which does so by default): what is to stay is written by
 * one that does not. DURABILITY_SERVICE says how much is kept; `cleanup` is counted anew from each start. The name stays, with its type and
 * policies: what registers it otherwise is refused, for as long as the directory is there. A process may have to wait for another: on a
 * network for one that was among the last in the channel; creating the topic, or what is the first on its channel, answers TIMEOUT, and
 * whorl_dds_text names the nodes. If a disk fails, or is full for `disk_timeout_ms`, its node leaves the group: writers get TIMEOUT meanwhile, and
 * then ERROR, and whorl_dds_text says what is wrong with it. The others go on.
 *
 * TIME. whorl_dds_time is nanoseconds since 1970, whorl_dds_duration nanoseconds; WHORL_DDS_INFINITY is without end. Every function that
 * waits has a time-out, 0 does not wait, < 0 is refused (BAD_PARAMETER). Creating and deleting entities, whorl_dds_set_qos and
 * writing with RELIABLE wait too, for the group, no longer than is said there. No wait changes a state by itself: a deadline or
 * lease that has run out is announced in the channel, and holds for all from that place.
 *
 * THREADS. Any function may be called by any thread, several at once, but those of policies and listeners as objects: an object is for one
 * thread at a time. Listeners and timers run on one thread of the participant's node, so listeners of one process follow each
 * other; they may call everything here but whorl_dds_spin_once, also what waits, create and delete. While a listener runs no other
 * does. An in-place listener (whorl_dds_lset_in_place) runs on the loop of the node instead, and may call whorl_dds_write and what never
 * waits; functions that would wait answer WHORL_DDS_RETCODE_ILLEGAL_OPERATION there. whorl_dds_delete waits until a listener of the entity that runs on
 * another thread has returned. After fork() the child may use nothing here.
 *
 * MEMORY. What is given to a function is copied before it returns, but for what says otherwise (a listener's argument, filters, loans).
 * Samples are copied once for each process, into blocks that all of its readers share and that loans lend; once there are as
 * many as RESOURCE_LIMITS and the speed of the program ask for, no sample costs an allocation.
 *
 * SLOW READERS. A reader with KEEP_ALL and RELIABLE that has no room left, because the program does not take, holds up its channel: writers
 * that need a place wait (max_blocking_time) and then get WHORL_DDS_RETCODE_TIMEOUT. That lasts no longer than
 * `reader_patience_ms`: then the reader loses samples, which it is told (SAMPLE_LOST), or with `slow_reader = leave` its process
 * leaves the channel: its readers there are told that no writer is left, its writers get WHORL_DDS_RETCODE_ERROR, and both are to be deleted. What
 * it makes afterwards enters the channel again. A reader with KEEP_LAST holds up nobody.
 *
 * STRUCTS as in whorl.h: they grow at their end. Those that have `size` and that the program makes are given its sizeof; of an array it is
 * set in the first element. The statuses have no size: a function that writes one is told how large it is.
 *
 * WHAT IS NOT THERE answers WHORL_DDS_RETCODE_UNSUPPORTED when the entity is created, never later: logged topics without a directory, entities
 * that are created disabled, on unordered topics what needs an order (DURABILITY beyond VOLATILE, EXCLUSIVE OWNERSHIP, coherent sets, PRESENTATION
 * ordered beyond INSTANCE), coherent or ordered GROUP presentation over topics of several channels, at one publisher or subscriber. LATENCY_BUDGET and
 * TRANSPORT_PRIORITY are kept and matched, and have no effect.
 */
#ifndef WHORL_DDS_H
#define WHORL_DDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <whorl/whorl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- names, numbers and results --------------------------------------------------------------------------------------- */

typedef int32_t whorl_dds_entity;   /* > 0: a handle; < 0: why there is none, a result */
typedef int32_t whorl_dds_return;   /* 0, a count, or < 0: one of WHORL_DDS_RETCODES */
typedef int64_t whorl_dds_time;     /* nanoseconds since 1970 */
typedef int64_t whorl_dds_duration; /* nanoseconds */

/* Names an instance of a topic, or an endpoint, or a participant: the same number in all processes. 0 is none. */
typedef uint64_t whorl_dds_instance_handle;

#define WHORL_DDS_INFINITY INT64_MAX /* of a duration: for ever; of a time: never */
#define WHORL_DDS_UNLIMITED (-1)     /* of a resource limit */
#define WHORL_DDS_NAME_BYTES 256     /* of a topic's, or type's, name with its zero, at most */

/* The list: X(the constant without WHORL_DDS_RETCODE_, its value, its text). The numbers are OMG's. */
#define WHORL_DDS_RETCODES(X)                                                                                          \
	X(OK, 0, "done")                                                                                               \
	X(ERROR, -1, "the operating system or the group refused")                                                      \
	X(UNSUPPORTED, -2, "this is not implemented")                                                                  \
	X(BAD_PARAMETER, -3, "an argument is out of its range, or no entity of the kind")                              \
	X(PRECONDITION_NOT_MET, -4, "not in this state")                                                               \
	X(OUT_OF_RESOURCES, -5, "memory or a limit is out")                                                            \
	X(NOT_ENABLED, -6, "the entity is not enabled")                                                                \
	X(IMMUTABLE_POLICY, -7, "this policy cannot be changed any more")                                              \
	X(INCONSISTENT_POLICY, -8, "policies contradict each other")                                                   \
	X(ALREADY_DELETED, -9, "the entity has been deleted")                                                          \
	X(TIMEOUT, -10, "the time allowed ran out")                                                                    \
	X(NO_DATA, -11, "there is nothing")                                                                            \
	X(ILLEGAL_OPERATION, -12, "not with an entity of this kind, or not here")

enum {
#define WHORL_DDS_RETCODE(name, value, text) WHORL_DDS_RETCODE_##name = (value),
	WHORL_DDS_RETCODES(WHORL_DDS_RETCODE)
#undef WHORL_DDS_RETCODE
};

/* "the time allowed ran out": a result in words. "unknown result" for a number that is none; 0 and counts are "done". */
WHORL_API const char *whorl_dds_strretcode(whorl_dds_return result);

/* Why this thread was last answered something < 0, with names and numbers: "whorl_dds_create_reader: history: keeps 6 of an instance, but
 * samples_per_instance is 5". "" if it never was. It is the thread's: valid until a call of this thread is refused again. */
WHORL_API const char *whorl_dds_text(void);
/* For libraries that stand on this one, and refuse what a program asked of them: the thread's text is "function: why" then. Returns `result`. */
WHORL_API whorl_dds_return whorl_dds_refuse(const char *function, whorl_dds_return result, const char *why);

/* The time now, by the clock that stamps samples. */
WHORL_API whorl_dds_time whorl_dds_now(void);

/* ---- types ------------------------------------------------------------------------------------------------------------
 * A type says how large a sample is, which of its fields are its key, and, for tools that print samples, what all its fields are
 * called. It is a plain struct without pointers, or bytes of any number, with or without a fixed head. Samples travel as they lie in
 * memory, so the processes of a domain have one byte order, and agree on the layout; that they do is checked when a topic is created.
 * All samples with one key are of one *instance*; a type without a key has one. */

enum whorl_dds_field_kind {
	WHORL_DDS_FIELD_BOOL = 1,
	WHORL_DDS_FIELD_CHAR, /* with a count above 1: a text, which ends at its first zero or with the field */
	WHORL_DDS_FIELD_INT8,
	WHORL_DDS_FIELD_UINT8,
	WHORL_DDS_FIELD_INT16,
	WHORL_DDS_FIELD_UINT16,
	WHORL_DDS_FIELD_INT32,
	WHORL_DDS_FIELD_UINT32,
	WHORL_DDS_FIELD_INT64,
	WHORL_DDS_FIELD_UINT64,
	WHORL_DDS_FIELD_FLOAT,
	WHORL_DDS_FIELD_DOUBLE,
	WHORL_DDS_FIELD_POINTER = 15, /* of what a sample cannot have: the type is refused */
};

enum { WHORL_DDS_FIELD_IS_KEY = 1 }; /* a flag of a field */

struct whorl_dds_field {
	uint32_t size;   /* sizeof(struct whorl_dds_field), in each element */
	uint32_t kind;   /* enum whorl_dds_field_kind */
	uint32_t offset; /* bytes */
	uint32_t count;  /* of an array: how many; else 1 */
	uint32_t flags;
	uint32_t unused;  /* 0 */
	const char *name; /* letters, digits, _ and . (a member of a struct in it) */
};

struct whorl_dds_key { /* a part of the key */
	uint32_t offset, bytes;
};

enum {                           /* flags of a type */
       WHORL_DDS_TYPE_BYTES = 1, /* samples are of any number of bytes, up to `bytes_max`, and at least `bytes` */
};

struct whorl_dds_type {
	size_t size;      /* sizeof(struct whorl_dds_type) */
	const char *name; /* "struct pose"; "": it goes with any name. Less than WHORL_DDS_NAME_BYTES */
	uint32_t bytes; /* of a sample; of WHORL_DDS_TYPE_BYTES its head, in which its fields and its key are: may be 0 */
	uint32_t align; /* of a sample: a power of two, at most 64 */
	uint32_t flags;
	uint32_t bytes_max;                   /* of WHORL_DDS_TYPE_BYTES */
	const struct whorl_dds_field *fields; /* NULL: they are not described */
	uint32_t field_count;                 /* at most 256 */
	uint32_t key_count;
	const struct whorl_dds_key *keys; /* NULL: the fields that say so */
	uint64_t hash; /* what must be the same in all processes; 0: it is made of all of the above but the name */
};

/* WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, x)); is a type and its fields, both
 * static and constant. The kinds are the compiler's knowledge (C11); a program in C++ names them with WHORL_DDS_FIELD_OF. */
#define WHORL_DDS_TYPE(name, type, ...)                                                                                \
	static const struct whorl_dds_field name##_fields[] = {__VA_ARGS__};                                           \
	static const struct whorl_dds_type name = {sizeof(struct whorl_dds_type),                                      \
						   #type,                                                              \
						   sizeof(type),                                                       \
						   WHORL_DDS_ALIGNOF(type),                                            \
						   0,                                                                  \
						   0,                                                                  \
						   name##_fields,                                                      \
						   sizeof(name##_fields) / sizeof(name##_fields[0]),                   \
						   0,                                                                  \
						   NULL,                                                               \
						   0}

/* A field of a struct: its name, kind and count are the member's. */
#define WHORL_DDS_FIELD(type, member)                                                                                  \
	WHORL_DDS_FIELD_OF(type, member, WHORL_DDS_KIND(((type *)0)->member), WHORL_DDS_COUNT(((type *)0)->member), 0)
/* The same of a member that is part of the key. */
#define WHORL_DDS_KEY(type, member)                                                                                    \
	WHORL_DDS_FIELD_OF(type, member, WHORL_DDS_KIND(((type *)0)->member), WHORL_DDS_COUNT(((type *)0)->member),    \
			   WHORL_DDS_FIELD_IS_KEY)
/* A field with all that there is to say of it. */
#define WHORL_DDS_FIELD_OF(type, member, kind, count, flags)                                                           \
	{                                                                                                              \
		sizeof(struct whorl_dds_field), (kind), offsetof(type, member), (count), (flags), 0, #member           \
	}

/* What these are made of. */
#ifdef __cplusplus
#define WHORL_DDS_ALIGNOF(type) alignof(type)
#else
#define WHORL_DDS_ALIGNOF(type) _Alignof(type)
#define WHORL_DDS_LONG (WHORL_DDS_FIELD_INT32 + 2 * (sizeof(long) == 8))
/* clang-format off */
#define WHORL_DDS_KIND_OF(value, mark, other)                                                                          \
	_Generic((value),                                                                                              \
		_Bool mark: WHORL_DDS_FIELD_BOOL,                                                                      \
		char mark: WHORL_DDS_FIELD_CHAR,                                                                       \
		signed char mark: WHORL_DDS_FIELD_INT8,                                                                \
		unsigned char mark: WHORL_DDS_FIELD_UINT8,                                                             \
		short mark: WHORL_DDS_FIELD_INT16,                                                                     \
		unsigned short mark: WHORL_DDS_FIELD_UINT16,                                                           \
		int mark: WHORL_DDS_FIELD_INT32,                                                                       \
		unsigned mark: WHORL_DDS_FIELD_UINT32,                                                                 \
		long mark: WHORL_DDS_LONG,                                                                             \
		unsigned long mark: WHORL_DDS_LONG + 1,                                                                \
		long long mark: WHORL_DDS_FIELD_INT64,                                                                 \
		unsigned long long mark: WHORL_DDS_FIELD_UINT64,                                                       \
		float mark: WHORL_DDS_FIELD_FLOAT,                                                                     \
		double mark: WHORL_DDS_FIELD_DOUBLE,                                                                   \
		default: other)
/* A value, or else what is no pointer and becomes one is an array, and of an array the kind of its elements. */
#define WHORL_DDS_KIND(value)                                                                                          \
	WHORL_DDS_KIND_OF(value, ,                                                                                     \
			  (WHORL_DDS_KIND_OF(&(value), **, 0) != 0) * WHORL_DDS_FIELD_POINTER +                        \
			  (WHORL_DDS_KIND_OF(&(value), **, 0) == 0) *                                                  \
				  WHORL_DDS_KIND_OF(value, *, WHORL_DDS_FIELD_POINTER))
/* clang-format on */
#define WHORL_DDS_COUNT(value) (sizeof(value) / WHORL_DDS_BYTES_OF(WHORL_DDS_KIND(value)))
/* Two bits for each kind: 1, 2, 4 or 8 bytes. A pointer is refused, whatever is said here. */
#define WHORL_DDS_BYTES_OF(kind) ((size_t)1 << ((0x3be9400 >> 2 * (kind)) & 3))
#endif

/* The type of topics that are bytes of any number, up to the largest message that their channel takes. */
WHORL_API const struct whorl_dds_type *whorl_dds_bytes_type(void);

/* ---- policies ------------------------------------------------------------------------------------------------------------
 * The *policies* of an entity (quality of service) are 22 of DCPS and two of whorl's own. What each means, which entities have it,
 * whether a reader's request is held against a writer's offer, whether it may change later and what its default is stands in one
 * table (docs/dds.md), and the text of each field, too.
 *
 * An object of policies has those that were set, and no others. An entity takes from it what it has, and passes over the rest. What it
 * does not set a writer or reader has from its publisher or subscriber, then from its topic, and else by default. A policy is set as a whole, and the
 * parts that a text does not name are as usual; but `reliability.max_blocking` alone says nothing of the kind, which is taken from elsewhere. */

/* The numbers are OMG's; CONSISTENCY and IGNORE_LOCAL are whorl's own. */
enum whorl_dds_policy_id {
	WHORL_DDS_POLICY_INVALID = 0,
	WHORL_DDS_POLICY_USER_DATA = 1,
	WHORL_DDS_POLICY_DURABILITY = 2,
	WHORL_DDS_POLICY_PRESENTATION = 3,
	WHORL_DDS_POLICY_DEADLINE = 4,
	WHORL_DDS_POLICY_LATENCY_BUDGET = 5,
	WHORL_DDS_POLICY_OWNERSHIP = 6,
	WHORL_DDS_POLICY_OWNERSHIP_STRENGTH = 7,
	WHORL_DDS_POLICY_LIVELINESS = 8,
	WHORL_DDS_POLICY_TIME_BASED_FILTER = 9,
	WHORL_DDS_POLICY_PARTITION = 10,
	WHORL_DDS_POLICY_RELIABILITY = 11,
	WHORL_DDS_POLICY_DESTINATION_ORDER = 12,
	WHORL_DDS_POLICY_HISTORY = 13,
	WHORL_DDS_POLICY_RESOURCE_LIMITS = 14,
	WHORL_DDS_POLICY_ENTITY_FACTORY = 15,
	WHORL_DDS_POLICY_WRITER_DATA_LIFECYCLE = 16,
	WHORL_DDS_POLICY_READER_DATA_LIFECYCLE = 17,
	WHORL_DDS_POLICY_TOPIC_DATA = 18,
	WHORL_DDS_POLICY_GROUP_DATA = 19,
	WHORL_DDS_POLICY_TRANSPORT_PRIORITY = 20,
	WHORL_DDS_POLICY_LIFESPAN = 21,
	WHORL_DDS_POLICY_DURABILITY_SERVICE = 22,
	WHORL_DDS_POLICY_CONSISTENCY = 32,
	WHORL_DDS_POLICY_IGNORE_LOCAL = 33,
};

/* Where one offers and another requests, more is a larger number. */
enum whorl_dds_durability_kind {
	WHORL_DDS_DURABILITY_VOLATILE,
	WHORL_DDS_DURABILITY_TRANSIENT_LOCAL,
	WHORL_DDS_DURABILITY_TRANSIENT,
	WHORL_DDS_DURABILITY_PERSISTENT,
};
enum whorl_dds_history_kind { WHORL_DDS_HISTORY_KEEP_LAST, WHORL_DDS_HISTORY_KEEP_ALL };
enum whorl_dds_ownership_kind { WHORL_DDS_OWNERSHIP_SHARED, WHORL_DDS_OWNERSHIP_EXCLUSIVE };
enum whorl_dds_liveliness_kind {
	WHORL_DDS_LIVELINESS_AUTOMATIC,
	WHORL_DDS_LIVELINESS_MANUAL_BY_PARTICIPANT,
	WHORL_DDS_LIVELINESS_MANUAL_BY_TOPIC,
};
enum whorl_dds_reliability_kind { WHORL_DDS_RELIABILITY_BEST_EFFORT, WHORL_DDS_RELIABILITY_RELIABLE };
enum whorl_dds_destination_order_kind {
	WHORL_DDS_DESTINATION_ORDER_BY_RECEPTION_TIMESTAMP,
	WHORL_DDS_DESTINATION_ORDER_BY_SOURCE_TIMESTAMP,
};
enum whorl_dds_presentation_scope {
	WHORL_DDS_PRESENTATION_INSTANCE,
	WHORL_DDS_PRESENTATION_TOPIC,
	WHORL_DDS_PRESENTATION_GROUP,
};
/* What all readers of a topic have in common (Spindle §IV-F). If it is not set, what the topic's DURABILITY needs. */
enum whorl_dds_consistency_kind {
	WHORL_DDS_CONSISTENCY_UNORDERED, /* nothing: samples as they are received, those of one writer in their order */
	WHORL_DDS_CONSISTENCY_ATOMIC,    /* one order, and all or none */
	WHORL_DDS_CONSISTENCY_STORED,    /* the same, and the members keep the history for those that come later */
	WHORL_DDS_CONSISTENCY_LOGGED,    /* the same on the disks of the members */
};

/* Whether a writer and a reader match that are in one process; either may say that they do not. Participants of one process and domain are one. */
enum whorl_dds_ignore_local_kind {
	WHORL_DDS_IGNORE_LOCAL_NONE,
	WHORL_DDS_IGNORE_LOCAL_PARTICIPANT,
	WHORL_DDS_IGNORE_LOCAL_PROCESS,
};

typedef struct whorl_dds_qos whorl_dds_qos;

WHORL_API whorl_dds_qos *whorl_dds_create_qos(void);                /* nothing is set. NULL when memory is out */
WHORL_API void whorl_dds_delete_qos(whorl_dds_qos *qos);            /* NULL is fine */
WHORL_API whorl_dds_return whorl_dds_reset_qos(whorl_dds_qos *qos); /* nothing is set any more. OK */

/* Makes `to` the same as `from`, or adds to it what only `from` has set. OK; OUT_OF_RESOURCES: memory is out, and `to` is as it was. */
WHORL_API whorl_dds_return whorl_dds_copy_qos(whorl_dds_qos *to, const whorl_dds_qos *from);
WHORL_API whorl_dds_return whorl_dds_merge_qos(whorl_dds_qos *to, const whorl_dds_qos *from);

/* Do they have the same set, to the same values? */
WHORL_API bool whorl_dds_qos_equal(const whorl_dds_qos *one, const whorl_dds_qos *other);

/* Sets what a text says: "reliability=reliable reliability.max_blocking=1s durability=transient history=all partition=a,b". Durations
 * have ns, us, ms or s, or are inf; in data, and in partitions, %20 is the byte 0x20.
 * OK; BAD_PARAMETER: whorl_dds_text has the word that is wrong, and what was expected; OUT_OF_RESOURCES. If it is not OK nothing is set. */
WHORL_API whorl_dds_return whorl_dds_qos_parse(whorl_dds_qos *qos, const char *text);
/* The text of all that is set, which whorl_dds_qos_parse reads, into `text` of so many bytes with its zero; it is cut if it does not fit.
 * Returns how long it is, uncut; OUT_OF_RESOURCES. */
WHORL_API whorl_dds_return whorl_dds_qos_text(const whorl_dds_qos *qos, char *text, size_t bytes);

/* Each sets one policy. What they are given is copied. Which values go together is seen when an entity is created with them.
 * OK; BAD_PARAMETER: a value is out of its range, and nothing is set; OUT_OF_RESOURCES. */
WHORL_API whorl_dds_return whorl_dds_qset_userdata(whorl_dds_qos *qos, const void *value, size_t bytes);
WHORL_API whorl_dds_return whorl_dds_qset_topicdata(whorl_dds_qos *qos, const void *value, size_t bytes);
WHORL_API whorl_dds_return whorl_dds_qset_groupdata(whorl_dds_qos *qos, const void *value, size_t bytes);
WHORL_API whorl_dds_return whorl_dds_qset_durability(whorl_dds_qos *qos, enum whorl_dds_durability_kind kind);
WHORL_API whorl_dds_return whorl_dds_qset_history(whorl_dds_qos *qos, enum whorl_dds_history_kind kind,
						  int32_t depth); /* depth >= 1; with KEEP_ALL it is not looked at */
WHORL_API whorl_dds_return
whorl_dds_qset_resource_limits(whorl_dds_qos *qos, int32_t max_samples, int32_t max_instances,
			       int32_t max_samples_per_instance); /* >= 1, or WHORL_DDS_UNLIMITED */
WHORL_API whorl_dds_return whorl_dds_qset_presentation(whorl_dds_qos *qos, enum whorl_dds_presentation_scope scope,
						       bool coherent, bool ordered);
WHORL_API whorl_dds_return whorl_dds_qset_lifespan(whorl_dds_qos *qos, whorl_dds_duration lifespan); /* > 0 */
WHORL_API whorl_dds_return whorl_dds_qset_deadline(whorl_dds_qos *qos, whorl_dds_duration period);   /* > 0 */
WHORL_API whorl_dds_return whorl_dds_qset_latency_budget(whorl_dds_qos *qos,
							 whorl_dds_duration duration); /* no effect */
WHORL_API whorl_dds_return whorl_dds_qset_ownership(whorl_dds_qos *qos, enum whorl_dds_ownership_kind kind);
WHORL_API whorl_dds_return whorl_dds_qset_ownership_strength(whorl_dds_qos *qos, int32_t value);
WHORL_API whorl_dds_return whorl_dds_qset_liveliness(whorl_dds_qos *qos, enum whorl_dds_liveliness_kind kind,
						     whorl_dds_duration lease); /* > 0 */
WHORL_API whorl_dds_return whorl_dds_qset_time_based_filter(whorl_dds_qos *qos, whorl_dds_duration separation);
WHORL_API whorl_dds_return whorl_dds_qset_partition(whorl_dds_qos *qos, uint32_t count,
						    const char *const *names); /* less than 2048 bytes in all */
WHORL_API whorl_dds_return whorl_dds_qset_reliability(whorl_dds_qos *qos, enum whorl_dds_reliability_kind kind,
						      whorl_dds_duration max_blocking_time);
WHORL_API whorl_dds_return whorl_dds_qset_transport_priority(whorl_dds_qos *qos, int32_t value); /* no effect */
WHORL_API whorl_dds_return whorl_dds_qset_destination_order(whorl_dds_qos *qos,
							    enum whorl_dds_destination_order_kind kind);
WHORL_API whorl_dds_return whorl_dds_qset_writer_data_lifecycle(whorl_dds_qos *qos, bool autodispose);
WHORL_API whorl_dds_return whorl_dds_qset_reader_data_lifecycle(whorl_dds_qos *qos, whorl_dds_duration no_writers,
								whorl_dds_duration disposed);
WHORL_API whorl_dds_return whorl_dds_qset_durability_service(whorl_dds_qos *qos, whorl_dds_duration cleanup,
							     enum whorl_dds_history_kind kind, int32_t depth,
							     int32_t max_samples, int32_t max_instances,
							     int32_t max_samples_per_instance);
WHORL_API whorl_dds_return whorl_dds_qset_entity_factory(whorl_dds_qos *qos, bool autoenable); /* only true is there */
WHORL_API whorl_dds_return whorl_dds_qset_consistency(whorl_dds_qos *qos, enum whorl_dds_consistency_kind kind);
WHORL_API whorl_dds_return whorl_dds_qset_ignore_local(whorl_dds_qos *qos, enum whorl_dds_ignore_local_kind kind);

/* Each says whether the policy is set, and gives its value, or if it is not set the default of a reader. What is not wanted may be NULL. */
WHORL_API bool whorl_dds_qget_durability(const whorl_dds_qos *qos, enum whorl_dds_durability_kind *kind);
WHORL_API bool whorl_dds_qget_history(const whorl_dds_qos *qos, enum whorl_dds_history_kind *kind, int32_t *depth);
WHORL_API bool whorl_dds_qget_resource_limits(const whorl_dds_qos *qos, int32_t *max_samples, int32_t *max_instances,
					      int32_t *max_samples_per_instance);
WHORL_API bool whorl_dds_qget_presentation(const whorl_dds_qos *qos, enum whorl_dds_presentation_scope *scope,
					   bool *coherent, bool *ordered);
WHORL_API bool whorl_dds_qget_lifespan(const whorl_dds_qos *qos, whorl_dds_duration *lifespan);
WHORL_API bool whorl_dds_qget_deadline(const whorl_dds_qos *qos, whorl_dds_duration *period);
WHORL_API bool whorl_dds_qget_latency_budget(const whorl_dds_qos *qos, whorl_dds_duration *duration);
WHORL_API bool whorl_dds_qget_ownership(const whorl_dds_qos *qos, enum whorl_dds_ownership_kind *kind);
WHORL_API bool whorl_dds_qget_ownership_strength(const whorl_dds_qos *qos, int32_t *value);
WHORL_API bool whorl_dds_qget_liveliness(const whorl_dds_qos *qos, enum whorl_dds_liveliness_kind *kind,
					 whorl_dds_duration *lease);
WHORL_API bool whorl_dds_qget_time_based_filter(const whorl_dds_qos *qos, whorl_dds_duration *separation);
WHORL_API bool whorl_dds_qget_reliability(const whorl_dds_qos *qos, enum whorl_dds_reliability_kind *kind,
					  whorl_dds_duration *max_blocking_time);
WHORL_API bool whorl_dds_qget_transport_priority(const whorl_dds_qos *qos, int32_t *value);
WHORL_API bool whorl_dds_qget_destination_order(const whorl_dds_qos *qos, enum whorl_dds_destination_order_kind *kind);
WHORL_API bool whorl_dds_qget_writer_data_lifecycle(const whorl_dds_qos *qos, bool *autodispose);
WHORL_API bool whorl_dds_qget_reader_data_lifecycle(const whorl_dds_qos *qos, whorl_dds_duration *no_writers,
						    whorl_dds_duration *disposed);
WHORL_API bool whorl_dds_qget_durability_service(const whorl_dds_qos *qos, whorl_dds_duration *cleanup,
						 enum whorl_dds_history_kind *kind, int32_t *depth,
						 int32_t *max_samples, int32_t *max_instances,
						 int32_t *max_samples_per_instance);
WHORL_API bool whorl_dds_qget_entity_factory(const whorl_dds_qos *qos, bool *autoenable);
WHORL_API bool whorl_dds_qget_consistency(const whorl_dds_qos *qos, enum whorl_dds_consistency_kind *kind);
WHORL_API bool whorl_dds_qget_ignore_local(const whorl_dds_qos *qos, enum whorl_dds_ignore_local_kind *kind);
/* Of these the bytes belong to the object: valid until it is changed or deleted. */
WHORL_API bool whorl_dds_qget_userdata(const whorl_dds_qos *qos, const void **value, size_t *bytes);
WHORL_API bool whorl_dds_qget_topicdata(const whorl_dds_qos *qos, const void **value, size_t *bytes);
WHORL_API bool whorl_dds_qget_groupdata(const whorl_dds_qos *qos, const void **value, size_t *bytes);
/* Name `index` of those that it has, NULL behind the last. Without a name it has one, "". */
WHORL_API const char *whorl_dds_qget_partition(const whorl_dds_qos *qos, uint32_t index);

/* ---- statuses ---------------------------------------------------------------------------------------------------------
 * What has happened to an entity, with counts. A status *changes* when it happens, until it is looked at: by a listener, or by
 * whorl_dds_take_status. */

/* The list: X(the constant without WHORL_DDS_ and _STATUS, the number of its bit, its text). The bits are OMG's. */
#define WHORL_DDS_STATUSES(X)                                                                                          \
	X(INCONSISTENT_TOPIC, 0, "inconsistent topic")                                                                 \
	X(OFFERED_DEADLINE_MISSED, 1, "offered deadline missed")                                                       \
	X(REQUESTED_DEADLINE_MISSED, 2, "requested deadline missed")                                                   \
	X(OFFERED_INCOMPATIBLE_QOS, 5, "offered incompatible qos")                                                     \
	X(REQUESTED_INCOMPATIBLE_QOS, 6, "requested incompatible qos")                                                 \
	X(SAMPLE_LOST, 7, "sample lost")                                                                               \
	X(SAMPLE_REJECTED, 8, "sample rejected")                                                                       \
	X(DATA_ON_READERS, 9, "data on readers")                                                                       \
	X(DATA_AVAILABLE, 10, "data available")                                                                        \
	X(LIVELINESS_LOST, 11, "liveliness lost")                                                                      \
	X(LIVELINESS_CHANGED, 12, "liveliness changed")                                                                \
	X(PUBLICATION_MATCHED, 13, "publication matched")                                                              \
	X(SUBSCRIPTION_MATCHED, 14, "subscription matched")

enum {
#define WHORL_DDS_STATUS_BIT(name, bit, text) WHORL_DDS_##name##_STATUS = 1 << (bit),
	WHORL_DDS_STATUSES(WHORL_DDS_STATUS_BIT)
#undef WHORL_DDS_STATUS_BIT
};

enum whorl_dds_rejected_kind {
	WHORL_DDS_NOT_REJECTED,
	WHORL_DDS_REJECTED_BY_INSTANCES_LIMIT,
	WHORL_DDS_REJECTED_BY_SAMPLES_LIMIT,
	WHORL_DDS_REJECTED_BY_SAMPLES_PER_INSTANCE_LIMIT,
};

/* What ends in _change: since the status was looked at last, by whorl_dds_take_status or a listener. */
struct whorl_dds_inconsistent_topic_status {
	uint32_t total_count;
	int32_t total_count_change;
};
struct whorl_dds_deadline_missed_status { /* offered, requested */
	uint32_t total_count;
	int32_t total_count_change;
	whorl_dds_instance_handle last_instance_handle;
};
struct whorl_dds_incompatible_qos_status { /* offered, requested */
	uint32_t total_count;
	int32_t total_count_change;
	enum whorl_dds_policy_id last_policy_id;
};
struct whorl_dds_sample_lost_status {
	uint32_t total_count;
	int32_t total_count_change;
};
struct whorl_dds_sample_rejected_status {
	uint32_t total_count;
	int32_t total_count_change;
	enum whorl_dds_rejected_kind last_reason;
	whorl_dds_instance_handle last_instance_handle;
};
struct whorl_dds_liveliness_lost_status {
	uint32_t total_count;
	int32_t total_count_change;
};
struct whorl_dds_liveliness_changed_status {
	uint32_t alive_count, not_alive_count;
	int32_t alive_count_change, not_alive_count_change;
	whorl_dds_instance_handle last_publication_handle;
};
struct whorl_dds_matched_status { /* publication: last_handle is a reader's; subscription: a writer's */
	uint32_t total_count, current_count;
	int32_t total_count_change, current_count_change;
	whorl_dds_instance_handle last_handle;
};

/* Which statuses have changed, as bits, of those that the entity's mask has. Never blocks. >= 0. */
WHORL_API whorl_dds_return whorl_dds_get_status_changes(whorl_dds_entity entity);

/* Writes one status, WHORL_DDS_*_STATUS, into `status`, at most `bytes`: its sizeof. `take`: from now on it has not changed. Never blocks.
 * OK; BAD_PARAMETER: it is not one status, or the entity does not have it, or it is one without a struct (DATA_AVAILABLE and
 * DATA_ON_READERS: look at whorl_dds_get_status_changes). */
WHORL_API whorl_dds_return whorl_dds_read_status(whorl_dds_entity entity, uint32_t id, void *status, size_t bytes);
WHORL_API whorl_dds_return whorl_dds_take_status(whorl_dds_entity entity, uint32_t id, void *status, size_t bytes);

/* Which statuses trigger the entity where it is attached to a waitset, and are in whorl_dds_get_status_changes: all, at first.
 * OK; BAD_PARAMETER: the entity does not have one of them. */
WHORL_API whorl_dds_return whorl_dds_set_status_mask(whorl_dds_entity entity, uint32_t mask);
WHORL_API whorl_dds_return whorl_dds_get_status_mask(whorl_dds_entity entity, uint32_t *mask);

/* ---- listeners ---------------------------------------------------------------------------------------------------------
 * A *listener* has functions for statuses; an entity calls its own, or, where that has none for the status, that of its parent, up to
 * the participant. A status that a listener was called for has not changed any more. DATA_ON_READERS of a subscriber comes before
 * DATA_AVAILABLE of its readers, and in place of it. Functions are called on the participant's thread (THREADS), each with the argument
 * that the listener was made with, for an entity that may be deleted meanwhile by another thread. */

typedef struct whorl_dds_listener whorl_dds_listener;
struct whorl_dds_sample_info;

WHORL_API whorl_dds_listener *whorl_dds_create_listener(void *arg); /* without functions. NULL when memory is out */
WHORL_API void whorl_dds_delete_listener(
	whorl_dds_listener *listener); /* NULL is fine. Entities that have it go on with a copy */
WHORL_API whorl_dds_return whorl_dds_reset_listener(whorl_dds_listener *listener); /* without functions again. OK */
/* Makes `to` the same as `from`, or adds to it the functions that only `from` has, with their argument. OK. */
WHORL_API whorl_dds_return whorl_dds_copy_listener(whorl_dds_listener *to, const whorl_dds_listener *from);
WHORL_API whorl_dds_return whorl_dds_merge_listener(whorl_dds_listener *to, const whorl_dds_listener *from);

typedef void whorl_dds_on_inconsistent_topic_fn(whorl_dds_entity topic,
						const struct whorl_dds_inconsistent_topic_status *status, void *arg);
typedef void whorl_dds_on_deadline_missed_fn(whorl_dds_entity endpoint,
					     const struct whorl_dds_deadline_missed_status *status, void *arg);
typedef void whorl_dds_on_incompatible_qos_fn(whorl_dds_entity endpoint,
					      const struct whorl_dds_incompatible_qos_status *status, void *arg);
typedef void whorl_dds_on_sample_lost_fn(whorl_dds_entity reader, const struct whorl_dds_sample_lost_status *status,
					 void *arg);
typedef void whorl_dds_on_sample_rejected_fn(whorl_dds_entity reader,
					     const struct whorl_dds_sample_rejected_status *status, void *arg);
typedef void whorl_dds_on_data_fn(whorl_dds_entity entity, void *arg); /* a reader, or a subscriber */
typedef void whorl_dds_on_liveliness_lost_fn(whorl_dds_entity writer,
					     const struct whorl_dds_liveliness_lost_status *status, void *arg);
typedef void whorl_dds_on_liveliness_changed_fn(whorl_dds_entity reader,
						const struct whorl_dds_liveliness_changed_status *status, void *arg);
typedef void whorl_dds_on_matched_fn(whorl_dds_entity endpoint, const struct whorl_dds_matched_status *status,
				     void *arg);
/* A sample where it lies, in one piece: valid until this returns. No reader keeps it, and nothing is copied but what came in parts.
 * `data` has the key alone if there is no data. */
typedef void whorl_dds_in_place_fn(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info,
				   void *arg);

/* Each gives the listener the function for one status; NULL takes it away. OK. */
WHORL_API whorl_dds_return whorl_dds_lset_inconsistent_topic(whorl_dds_listener *listener,
							     whorl_dds_on_inconsistent_topic_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_offered_deadline_missed(whorl_dds_listener *listener,
								  whorl_dds_on_deadline_missed_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_requested_deadline_missed(whorl_dds_listener *listener,
								    whorl_dds_on_deadline_missed_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_offered_incompatible_qos(whorl_dds_listener *listener,
								   whorl_dds_on_incompatible_qos_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_requested_incompatible_qos(whorl_dds_listener *listener,
								     whorl_dds_on_incompatible_qos_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_sample_lost(whorl_dds_listener *listener,
						      whorl_dds_on_sample_lost_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_sample_rejected(whorl_dds_listener *listener,
							  whorl_dds_on_sample_rejected_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_data_on_readers(whorl_dds_listener *listener, whorl_dds_on_data_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_data_available(whorl_dds_listener *listener, whorl_dds_on_data_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_liveliness_lost(whorl_dds_listener *listener,
							  whorl_dds_on_liveliness_lost_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_liveliness_changed(whorl_dds_listener *listener,
							     whorl_dds_on_liveliness_changed_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_publication_matched(whorl_dds_listener *listener,
							      whorl_dds_on_matched_fn *function);
WHORL_API whorl_dds_return whorl_dds_lset_subscription_matched(whorl_dds_listener *listener,
							       whorl_dds_on_matched_fn *function);

/* A reader that is created with this function has no cache: it is called on the loop for each sample (THREADS), must not be
 * slow (whorl.h, UPCALLS), and whorl_dds_read and the like answer ILLEGAL_OPERATION. It is for the reader itself: entities do not inherit it,
 * and whorl_dds_set_listener does not change it. DEADLINE and TIME_BASED_FILTER of such a reader are UNSUPPORTED. OK. */
WHORL_API whorl_dds_return whorl_dds_lset_in_place(whorl_dds_listener *listener, whorl_dds_in_place_fn *function);

/* Gives the entity a copy of the listener, in place of what it had; NULL: none. Waits until one of its functions that runs on another
 * thread has returned. OK; OUT_OF_RESOURCES. */
WHORL_API whorl_dds_return whorl_dds_set_listener(whorl_dds_entity entity, const whorl_dds_listener *listener);
/* Copies that of the entity into `listener`. OK. */
WHORL_API whorl_dds_return whorl_dds_get_listener(whorl_dds_entity entity, whorl_dds_listener *listener);

/* ---- entities ----------------------------------------------------------------------------------------------------------
 * Policies and a listener may be NULL where an entity is created: defaults, and none. Common answers of what creates one:
 * WHORL_DDS_RETCODE_BAD_PARAMETER: a policy is out of its range; INCONSISTENT_POLICY: two contradict each other, or the topic;
 * UNSUPPORTED: a policy asks for what is not there; OUT_OF_RESOURCES: memory; ERROR: the group. */

/* What is 0 is as usual. */
struct whorl_dds_participant_options {
	size_t size; /* sizeof(struct whorl_dds_participant_options) */
	const char *
		file; /* NULL: WHORL_DDS of the environment, or the domain on this host. Participants of one process and domain say the same */
	const char *node;         /* NULL: WHORL_DDS_ID; its id in that file */
	bool spins;               /* no thread is made: the program calls whorl_dds_spin_once */
	whorl_dds_duration ready; /* how long it waits for its group; 0: 10 s */
};

/* Joins the domain (DOMAINS), or begins it, and waits until this process is in it, at most 10 s. domain: 0 to 65535.
 * A handle; TIMEOUT: no group has formed, or none has let it in; and the common answers. */
WHORL_API whorl_dds_entity whorl_dds_create_participant(uint32_t domain, const whorl_dds_qos *qos,
							const whorl_dds_listener *listener);
/* With options, which may be NULL. */
WHORL_API whorl_dds_entity whorl_dds_create_participant_with(uint32_t domain,
							     const struct whorl_dds_participant_options *options,
							     const whorl_dds_qos *qos,
							     const whorl_dds_listener *listener);

/* Registers a topic in the domain, or finds that others have: name, type, consistency and channel hold from the first of them on, for as
 * long as one is there. What this one does not say is as they have it: a topic with neither CONSISTENCY nor DURABILITY is stored where
 * others have it so, and keeps what theirs does; and a type that is the same struct, with the same name and key, may have its fields described by
 * one and not by the other. Waits until that is known. The type is copied. Names are 1 to 255 bytes of printable ASCII without blanks, quotes or
 * * ? [ ].
 * A handle; PRECONDITION_NOT_MET: others have it with another type or consistency, and whorl_dds_text says what differs
 * (INCONSISTENT_TOPIC); BAD_PARAMETER: so is the name, or the type; OUT_OF_RESOURCES: there are as many topics or channels as a group can
 * have; and the common answers. */
WHORL_API whorl_dds_entity whorl_dds_create_topic(whorl_dds_entity participant, const struct whorl_dds_type *type,
						  const char *name, const whorl_dds_qos *qos,
						  const whorl_dds_listener *listener);
/* A topic of that name, with the type and policies that it was registered with; waits for it at most so long.
 * A handle; TIMEOUT: there is none; and the common answers. */
WHORL_API whorl_dds_entity whorl_dds_find_topic(whorl_dds_entity participant, const char *name,
						whorl_dds_duration timeout);

/* A handle, or the common answers. They do not wait. */
WHORL_API whorl_dds_entity whorl_dds_create_publisher(whorl_dds_entity participant, const whorl_dds_qos *qos,
						      const whorl_dds_listener *listener);
WHORL_API whorl_dds_entity whorl_dds_create_subscriber(whorl_dds_entity participant, const whorl_dds_qos *qos,
						       const whorl_dds_listener *listener);

/* The parent is a publisher or subscriber, or a participant: then one is made for it alone, with the same policies, and goes with it.
 * Waits until the process is in the topic's channel, and the announcement has been delivered: the readers that it matches then get all
 * that it writes, or the reader all that is written from there on. That others do not fit is no error: REQUESTED_ and
 * OFFERED_INCOMPATIBLE_QOS say it, on both sides.
 * A handle; TIMEOUT: the group has not answered in 10 s, or nothing more of the history has come in that time;
 * PRECONDITION_NOT_MET: the topic is of another participant; ILLEGAL_OPERATION:
 * in an in-place listener; and the common answers. */
WHORL_API whorl_dds_entity whorl_dds_create_writer(whorl_dds_entity parent, whorl_dds_entity topic,
						   const whorl_dds_qos *qos, const whorl_dds_listener *listener);
WHORL_API whorl_dds_entity whorl_dds_create_reader(whorl_dds_entity parent, whorl_dds_entity topic,
						   const whorl_dds_qos *qos, const whorl_dds_listener *listener);

/* Does the program want this sample? On the participant's thread, or the loop; it must not call anything here. `data` is in one piece. */
typedef bool whorl_dds_filter_fn(const void *data, size_t bytes, void *arg);

/* No thread uses `arg` any more. On any thread of the library or the program, also within the call that was given it; it must not call
 * anything here. */
typedef void whorl_dds_release_fn(void *arg);

/* Readers that are created with this topic from now on get only what it wants, and what has no data. Others with a handle of their own
 * for the same name do not. NULL: all. `arg` lasts until `release`, which is called once, whatever is answered: when the topic has another
 * filter, or is gone, and its readers are. (NULL: it must last as long as they do. Deleted by several threads at once they may
 * outlast the call of any one of them.) OK; OUT_OF_RESOURCES. */
WHORL_API whorl_dds_return whorl_dds_set_topic_filter(whorl_dds_entity topic, whorl_dds_filter_fn *filter, void *arg,
						      whorl_dds_release_fn *release);

/* Deletes an entity and its children. A writer's samples are delivered before its end, and with autodispose its instances are disposed of; a
 * reader's loans end. Topics go on while a reader or writer is there that was made with them. Waits for listeners (THREADS) and, at most 1 s,
 * for the announcement; the last participant of a process leaves the group.
 * OK; PRECONDITION_NOT_MET: a publisher or subscriber that was made for another entity: delete that one. */
WHORL_API whorl_dds_return whorl_dds_delete(whorl_dds_entity entity);

/* Entities are enabled when they are created: OK. */
WHORL_API whorl_dds_return whorl_dds_enable(whorl_dds_entity entity);

/* What belongs to what. None of these blocks. A handle: the parent (of a participant 0), the participant, the topic of a writer, reader or
 * condition, the reader of a condition. */
WHORL_API whorl_dds_entity whorl_dds_get_parent(whorl_dds_entity entity);
WHORL_API whorl_dds_entity whorl_dds_get_participant(whorl_dds_entity entity);
WHORL_API whorl_dds_entity whorl_dds_get_topic(whorl_dds_entity entity);
WHORL_API whorl_dds_entity whorl_dds_get_datareader(whorl_dds_entity condition);
/* Writes at most `count` children, oldest first; `children` may be NULL with 0. Returns how many there are. */
WHORL_API whorl_dds_return whorl_dds_get_children(whorl_dds_entity entity, whorl_dds_entity *children, size_t count);
/* The participants of this process in the domain, in the same way. */
WHORL_API whorl_dds_return whorl_dds_lookup_participant(uint32_t domain, whorl_dds_entity *participants, size_t count);
WHORL_API whorl_dds_return whorl_dds_get_domainid(whorl_dds_entity entity, uint32_t *domain);
/* The name of a topic, or of its type, into `name` of so many bytes with its zero; it is cut if it does not fit. Returns its length, uncut. */
WHORL_API whorl_dds_return whorl_dds_get_name(whorl_dds_entity topic, char *name, size_t bytes);
WHORL_API whorl_dds_return whorl_dds_get_type_name(whorl_dds_entity topic, char *name, size_t bytes);
/* How others call a participant, writer or reader. */
WHORL_API whorl_dds_return whorl_dds_get_instance_handle(whorl_dds_entity entity, whorl_dds_instance_handle *handle);

/* All policies of the entity, each set, in place of what `qos` had. OK; OUT_OF_RESOURCES. */
WHORL_API whorl_dds_return whorl_dds_get_qos(whorl_dds_entity entity, whorl_dds_qos *qos);
/* Changes those that `qos` sets and that may change later; matches follow, at one place for all. Waits for the announcement, at most 10 s.
 * OK; IMMUTABLE_POLICY: one of them is fixed, and would change; TIMEOUT: it will come, or has come; and the common answers. If it is
 * another one than OK and TIMEOUT nothing has changed. */
WHORL_API whorl_dds_return whorl_dds_set_qos(whorl_dds_entity entity, const whorl_dds_qos *qos);

/* For participants without a thread: does what there is to do, and waits for something at most so long. Listeners run in it. One
 * thread at a time.
 * > 0: something was done; 0: nothing was; ILLEGAL_OPERATION: the participant has a thread, or this is a listener. */
WHORL_API whorl_dds_return whorl_dds_spin_once(whorl_dds_entity participant, whorl_dds_duration timeout);

/* ---- writing -------------------------------------------------------------------------------------------------------------
 * Common answers: OK: the sample is on its way, and all matched readers get it, or, if this process dies first, all or none of them;
 * TIMEOUT: RELIABLE, and there was no room in the channel for max_blocking_time: nothing is written. A BEST_EFFORT writer drops it
 * instead, and answers OK. BAD_PARAMETER: it is larger than the channel takes; OUT_OF_RESOURCES: max_instances or max_samples of the writer;
 * NOT_ENABLED: never. A timestamp is the sample's source time; < 0 is refused. */

/* Writes a sample, with the time that it is now, or the one that is said. */
WHORL_API whorl_dds_return whorl_dds_write(whorl_dds_entity writer, const void *data);
WHORL_API whorl_dds_return whorl_dds_write_ts(whorl_dds_entity writer, const void *data, whorl_dds_time timestamp);
/* Of a type of WHORL_DDS_TYPE_BYTES. BAD_PARAMETER also: fewer than its head, or more than bytes_max. */
WHORL_API whorl_dds_return whorl_dds_write_bytes(whorl_dds_entity writer, const void *data, size_t bytes);

/* Writes a sample, and disposes of its instance: readers see it, and that it is the last. */
WHORL_API whorl_dds_return whorl_dds_writedispose(whorl_dds_entity writer, const void *data);
/* Disposes of an instance: of `data` the key alone is looked at. */
WHORL_API whorl_dds_return whorl_dds_dispose(whorl_dds_entity writer, const void *data);
/* Says that this writer will write the instance: readers count it as one of its writers. *handle: what names it. */
WHORL_API whorl_dds_return whorl_dds_register_instance(whorl_dds_entity writer, whorl_dds_instance_handle *handle,
						       const void *data);
/* Says that it will not any more; with autodispose it disposes of it, too. PRECONDITION_NOT_MET: it has not written or registered it. */
WHORL_API whorl_dds_return whorl_dds_unregister_instance(whorl_dds_entity writer, const void *data);

enum whorl_dds_write_kind {
	WHORL_DDS_WRITE,
	WHORL_DDS_WRITE_DISPOSE,
	WHORL_DDS_DISPOSE,
	WHORL_DDS_UNREGISTER,
	WHORL_DDS_REGISTER,
};

/* What is 0 is as usual. */
struct whorl_dds_write_options {
	size_t size; /* sizeof(struct whorl_dds_write_options) */
	enum whorl_dds_write_kind kind;
	bool has_time;
	whorl_dds_time timestamp; /* if has_time */
	size_t bytes;             /* of WHORL_DDS_TYPE_BYTES */
	whorl_dds_instance_handle
		instance; /* if not 0: `data` must be of this instance, and may be NULL where only its key is looked at */
};

/* All of the above, with all that can be said. `options` may be NULL. PRECONDITION_NOT_MET also: `data` is of another instance. */
WHORL_API whorl_dds_return whorl_dds_write_with(whorl_dds_entity writer, const void *data,
						const struct whorl_dds_write_options *options);

/* Memory for a sample, in place: what is then written with it is not copied, unless it takes several slots of its channel, or its type is aligned
 * to more than 16 bytes. `bytes`: of WHORL_DDS_TYPE_BYTES at most; others have 0. Then one function that writes with this writer, or
 * whorl_dds_return_loan, takes it over, also if it fails. It holds up what this process writes to the channel later until
 * then. Its bytes are not 0. Deleting the writer ends its loans.
 * OK; TIMEOUT: there is no room; BAD_PARAMETER; OUT_OF_RESOURCES. */
WHORL_API whorl_dds_return whorl_dds_request_loan(whorl_dds_entity writer, size_t bytes, void **data);

/* Which instance has this key; whether the entity is a writer or reader. 0: it knows none, or the entity is not one. Never blocks. */
WHORL_API whorl_dds_instance_handle whorl_dds_lookup_instance(whorl_dds_entity entity, const void *data);
/* Writes the key of an instance into a sample of which all else is 0. OK; BAD_PARAMETER: the entity does not know it. */
WHORL_API whorl_dds_return whorl_dds_instance_get_key(whorl_dds_entity entity, whorl_dds_instance_handle instance,
						      void *data);

/* Waits until all members of the channel have delivered what this writer, or all of this publisher, has written. OK; TIMEOUT. */
WHORL_API whorl_dds_return whorl_dds_wait_for_acks(whorl_dds_entity entity, whorl_dds_duration timeout);

/* Of a publisher with coherent PRESENTATION, or a writer of it: what is written between the two is a set, which readers that ask for it
 * see whole, at one place, or not at all (if this process dies before the end, or the end is never written). Sets may be nested: the outer
 * counts. OK; PRECONDITION_NOT_MET: it is not coherent, or there is no beginning; TIMEOUT: there was no room for the end: try again. */
WHORL_API whorl_dds_return whorl_dds_begin_coherent(whorl_dds_entity entity);
WHORL_API whorl_dds_return whorl_dds_end_coherent(whorl_dds_entity entity);

/* With MANUAL liveliness: a participant, or a writer, is alive. Writing says so, too. OK; TIMEOUT: there was no room to say it. */
WHORL_API whorl_dds_return whorl_dds_assert_liveliness(whorl_dds_entity entity);

/* ---- reading ----------------------------------------------------------------------------------------------------------- */

/* The states of a sample, of whether its instance was seen before (view), and of the instance; a mask of them selects samples that
 * are in one of each. Kinds without a bit in a mask count as any. */
enum {
	WHORL_DDS_READ_SAMPLE_STATE = 1,
	WHORL_DDS_NOT_READ_SAMPLE_STATE = 2,
	WHORL_DDS_ANY_SAMPLE_STATE = 3,
	WHORL_DDS_NEW_VIEW_STATE = 4,
	WHORL_DDS_NOT_NEW_VIEW_STATE = 8,
	WHORL_DDS_ANY_VIEW_STATE = 12,
	WHORL_DDS_ALIVE_INSTANCE_STATE = 16,
	WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE = 32,
	WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE = 64,
	WHORL_DDS_ANY_INSTANCE_STATE = 112,
	WHORL_DDS_ANY_STATE = 127,
};

/* The program makes an array of these, and says in the first how large they are: {{.size = sizeof(infos[0])}}. */
struct whorl_dds_sample_info {
	uint32_t size;
	uint32_t sample_state, view_state, instance_state; /* of before this call */
	bool valid_data; /* false: only that the instance has changed; the data is its key, and else 0 */
	uint32_t writer; /* node id */
	/* How often the instance had come to life again after it was disposed of, or had no writers, when this sample came. */
	uint32_t disposed_generation_count, no_writers_generation_count;
	uint32_t sample_rank;     /* how many samples of the instance follow in what was returned */
	uint32_t generation_rank; /* in how many lives, from this sample to the last of the instance in what was returned */
	uint32_t absolute_generation_rank; /* to the last that the reader has */
	size_t bytes;                      /* of the sample */
	whorl_dds_time source_timestamp, reception_timestamp;
	whorl_dds_instance_handle instance_handle, publication_handle;
	/* Its place in the order, the same at all readers: a sample with the greater (view, sequence) came later. History keeps them. Unordered: 0. */
	uint64_t view, sequence;
	uint64_t number; /* of this sample among its writer's, from 1. Unordered: among those that this process has received */
};
typedef struct whorl_dds_sample_info whorl_dds_sample_info;

/* Which samples. What is 0 is as usual. */
struct whorl_dds_select {
	size_t size;   /* sizeof(struct whorl_dds_select) */
	uint32_t mask; /* of states; 0: any */
	bool next;     /* samples of the first instance behind `instance` (0: of all) that has some */
	bool peek;     /* no state changes (whorl_dds_read_select) */
	whorl_dds_instance_handle instance; /* 0: of any */
	size_t buffer_bytes;                /* of WHORL_DDS_TYPE_BYTES: of each buffer of the program's */
};

/* Reads samples, or takes them out of the reader. `from` is a reader, or one of its conditions: then those that it is for. At most
 * `count`, and `data` and `infos` have so many elements. data[0] is NULL: they are lent, until whorl_dds_return_loan, and may be read by all
 * threads; otherwise each element points to memory of the program's for one sample, and gets a copy. Read samples stay and count as
 * read. Never blocks.
 * Samples of one instance follow each other, in their order; with PRESENTATION ordered in scope TOPIC all are in their order.
 * How many; 0: there are none; BAD_PARAMETER also: the first info has no size, or there is no such instance, or a buffer is smaller than its
 * sample; OUT_OF_RESOURCES. */
WHORL_API whorl_dds_return whorl_dds_read(whorl_dds_entity from, void **data, struct whorl_dds_sample_info *infos,
					  size_t count);
WHORL_API whorl_dds_return whorl_dds_take(whorl_dds_entity from, void **data, struct whorl_dds_sample_info *infos,
					  size_t count);
/* Those that are selected; of a condition, its states in place of the mask. */
WHORL_API whorl_dds_return whorl_dds_read_select(whorl_dds_entity from, const struct whorl_dds_select *select,
						 void **data, struct whorl_dds_sample_info *infos, size_t count);
WHORL_API whorl_dds_return whorl_dds_take_select(whorl_dds_entity from, const struct whorl_dds_select *select,
						 void **data, struct whorl_dds_sample_info *infos, size_t count);

/* Gives back what was lent: by a reader (or a condition of it), or by a writer, that is then not written. data[0] becomes NULL.
 * OK; PRECONDITION_NOT_MET: one of them is not lent (any more); the others are given back. */
WHORL_API whorl_dds_return whorl_dds_return_loan(whorl_dds_entity entity, void **data, int32_t count);

/* Waits until the reader has all of the history that its DURABILITY asks for. OK; TIMEOUT. */
WHORL_API whorl_dds_return whorl_dds_wait_for_historical_data(whorl_dds_entity reader, whorl_dds_duration timeout);

/* ---- conditions and waitsets ----------------------------------------------------------------------------------------------
 * A *condition* is triggered or not. An entity is one, too: by its statuses (whorl_dds_set_status_mask). A *waitset* waits for any of
 * those that are attached to it. */

/* Of a reader, which is its parent: triggered while there are samples of these states; a query, of those that the filter wants, which is
 * asked once for each sample when it comes. `arg` lasts until `release`, which is called once, whatever is answered: when the condition is
 * gone. (NULL: as with whorl_dds_set_topic_filter.) A handle; OUT_OF_RESOURCES: also of a 33rd query. */
WHORL_API whorl_dds_entity whorl_dds_create_readcondition(whorl_dds_entity reader, uint32_t mask);
WHORL_API whorl_dds_entity whorl_dds_create_querycondition(whorl_dds_entity reader, uint32_t mask,
							   whorl_dds_filter_fn *filter, void *arg,
							   whorl_dds_release_fn *release);
WHORL_API whorl_dds_return whorl_dds_get_mask(whorl_dds_entity condition, uint32_t *mask);

/* One that the program triggers. Its parent is any entity. Setting it never blocks; *was: whether it was triggered; taking it ends that. */
WHORL_API whorl_dds_entity whorl_dds_create_guardcondition(whorl_dds_entity parent);
WHORL_API whorl_dds_return whorl_dds_set_guardcondition(whorl_dds_entity condition, bool triggered);
WHORL_API whorl_dds_return whorl_dds_read_guardcondition(whorl_dds_entity condition, bool *was);
WHORL_API whorl_dds_return whorl_dds_take_guardcondition(whorl_dds_entity condition, bool *was);

/* 1: the condition or entity is triggered, or the waitset by whorl_dds_waitset_set_trigger: what is attached to it does not count, as with Cyclone DDS.
 * 0: it is not. Never blocks. */
WHORL_API whorl_dds_return whorl_dds_triggered(whorl_dds_entity entity);

/* The parent is a participant. */
WHORL_API whorl_dds_entity whorl_dds_create_waitset(whorl_dds_entity participant);
/* An entity is attached once, with any number that the wait gives back. It may be attached to several waitsets. Deleting it detaches it. A waitset
 * may be attached, too, also to itself: it is triggered there by whorl_dds_waitset_set_trigger.
 * OK; PRECONDITION_NOT_MET: it is attached already, or is not; OUT_OF_RESOURCES. */
WHORL_API whorl_dds_return whorl_dds_waitset_attach(whorl_dds_entity waitset, whorl_dds_entity entity, intptr_t cookie);
WHORL_API whorl_dds_return whorl_dds_waitset_detach(whorl_dds_entity waitset, whorl_dds_entity entity);
/* Writes at most `count` of what is attached. Returns how much there is. */
WHORL_API whorl_dds_return whorl_dds_waitset_get_entities(whorl_dds_entity waitset, whorl_dds_entity *entities,
							  size_t count);
/* Triggers the waitset itself, or ends that: a thread that waits comes back. */
WHORL_API whorl_dds_return whorl_dds_waitset_set_trigger(whorl_dds_entity waitset, bool triggered);

/* Waits until something that is attached is triggered, at most so long, or to that time. Writes the cookies of at most `count` of these.
 * Returns how many are triggered; 0: the time ran out, or the waitset itself was triggered. ILLEGAL_OPERATION: in an in-place listener.
 * ALREADY_DELETED: it was deleted meanwhile. */
WHORL_API whorl_dds_return whorl_dds_waitset_wait(whorl_dds_entity waitset, intptr_t *cookies, size_t count,
						  whorl_dds_duration timeout);
WHORL_API whorl_dds_return whorl_dds_waitset_wait_until(whorl_dds_entity waitset, intptr_t *cookies, size_t count,
							whorl_dds_time until);
/* A descriptor that poll and epoll find readable while something is triggered: for loops of the program's own, with
 * whorl_dds_waitset_wait(..., 0). It is the waitset's: not to be read or closed. >= 0; OUT_OF_RESOURCES. */
WHORL_API int whorl_dds_waitset_descriptor(whorl_dds_entity waitset);

/* ---- what there is in the domain --------------------------------------------------------------------------------------------
 * Participants, topics, writers and readers of the domain are samples of four topics, which every participant has: a reader of one gets what
 * there is, and then what comes and goes (as the end of its instance, which is disposed of). Their readers are RELIABLE, TRANSIENT_LOCAL and KEEP_LAST 1:
 * policies that say otherwise are UNSUPPORTED. Nothing writes them, and they match nothing. Samples are lent, and not copied (BAD_PARAMETER), since
 * they point to what is theirs: without data they have the handle alone. A process that has a reader of publications or
 * subscriptions enters all channels that topics are on. Participants of one process are one, with the policies that were set last. */

enum { /* in place of a topic of the program's */
       WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT = 0x7fff0001,
       WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC,
       WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION,
       WHORL_DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION,
};

struct whorl_dds_builtin_participant { /* belongs to the library */
	uint32_t size;
	uint32_t node; /* id */
	whorl_dds_instance_handle handle;
	uint64_t incarnation; /* of the node */
	const whorl_dds_qos *qos;
};

struct whorl_dds_builtin_topic { /* belongs to the library */
	uint32_t size;
	uint32_t consistency; /* enum whorl_dds_consistency_kind */
	whorl_dds_instance_handle handle;
	const char *name;
	const char *channel;               /* the subgroup's name */
	const struct whorl_dds_type *type; /* as the first has registered it; NULL: it is not described */
	const whorl_dds_qos *qos;
};

struct whorl_dds_builtin_endpoint { /* belongs to the library */
	uint32_t size;
	uint32_t node; /* id */
	whorl_dds_instance_handle handle, participant, topic;
	const char *topic_name, *type_name; /* "": what registers the topic is still on its way */
	const whorl_dds_qos *qos;           /* of its publisher or subscriber, too */
	/* Of a reader: how many messages of its channel its process was behind the last one that was known here, when this was made. Of other
	 * processes it is known of the slowest one, and else 0; so it is on unordered topics. */
	uint64_t behind;
};

/* Writes the handles of at most `count` readers, or writers, that match a writer, or reader, now. Returns how many there are. Never blocks. */
WHORL_API whorl_dds_return whorl_dds_get_matched_subscriptions(whorl_dds_entity writer,
							       whorl_dds_instance_handle *handles, size_t count);
WHORL_API whorl_dds_return whorl_dds_get_matched_publications(whorl_dds_entity reader,
							      whorl_dds_instance_handle *handles, size_t count);
/* What is known of one that it matches: to be freed by whorl_dds_builtin_endpoint_free. NULL: it does not match, or memory is out. */
WHORL_API struct whorl_dds_builtin_endpoint *whorl_dds_get_matched_endpoint(whorl_dds_entity entity,
									    whorl_dds_instance_handle handle);
WHORL_API void whorl_dds_builtin_endpoint_free(struct whorl_dds_builtin_endpoint *endpoint); /* NULL is fine */

/* ---- samples as text ----------------------------------------------------------------------------------------------------------
 * For tools: of types that describe their fields. */

/* The type of a topic, as it was registered. It is the topic's: valid until that is deleted. NULL: it is no topic. */
WHORL_API const struct whorl_dds_type *whorl_dds_get_type(whorl_dds_entity topic);

/* Reads the description of a type: "long w; @key long n; char name[16]", after IDL: boolean, char, octet, int8
 * to int64, uint8 to uint64, short, long (32 bits), long long, with unsigned, float, double, and string<N> (a text of N bytes). Laid out
 * as the C compiler lays out that struct. To be freed by whorl_dds_type_free. NULL: whorl_dds_text says what is wrong, and where. */
WHORL_API struct whorl_dds_type *whorl_dds_type_parse(const char *name, const char *text);
WHORL_API void whorl_dds_type_free(struct whorl_dds_type *type); /* NULL is fine */

/* A sample as one object of JSON, into `text` of so many bytes with its zero; and one read of it, into memory of so many bytes: fields that it
 * does not name are 0. Of WHORL_DDS_TYPE_BYTES what is behind the head is "bytes", in hexadecimal digits. The first returns the length of
 * the text, uncut, the second how many bytes the sample has. BAD_PARAMETER: whorl_dds_text says where the text is no JSON, or which member
 * the type does not have, or has otherwise; or the memory is too small; UNSUPPORTED: the type's fields are not described. */
WHORL_API whorl_dds_return whorl_dds_sample_to_json(const struct whorl_dds_type *type, const void *data, size_t bytes,
						    char *text, size_t text_bytes);
WHORL_API whorl_dds_return whorl_dds_sample_from_json(const struct whorl_dds_type *type, const char *text, void *data,
						      size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
