/* policy.h - the policies of an entity (quality of service): 22 of DCPS, CONSISTENCY and IGNORE_LOCAL.
 *
 * One table (policy/table.c) says of each what it is called, which entities have it, whether a reader's request is
 * checked against a writer's offer, whether it may change later, its fields, their defaults and their words. All that is done with
 * policies is made of the table: defaults, merging, checks, bytes, texts, the manual.
 *
 * A `struct wh_dds_policies` always has a value in each field: a default, or what was set (bit of `set`). It owns the bytes of its
 * octets: free it with wh_dds_policies_free, copy it with wh_dds_policies_copy. One that is all zero owns nothing, and may be freed.
 * An endpoint's policies, as the others are told of them, have those of its publisher or subscriber merged in, and where the endpoint
 * sets none those of its topic.
 *
 * Threads: any; nothing here has a state.
 */
#ifndef WH_DDS_POLICY_H
#define WH_DDS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <whorl/dds.h>

#include "base/error.h"
#include "dds/base/bytes.h"

#define WH_DDS_DATA_BYTES 2048      /* of user_data, topic_data, group_data each, at most */
#define WH_DDS_PARTITION_BYTES 2048 /* of all partitions' names with their zeros, at most */

enum wh_dds_kind { /* of an entity */
		   WH_DDS_PARTICIPANT,
		   WH_DDS_TOPIC,
		   WH_DDS_PUBLISHER,
		   WH_DDS_SUBSCRIBER,
		   WH_DDS_WRITER,
		   WH_DDS_READER,
		   WH_DDS_READ_CONDITION,
		   WH_DDS_QUERY_CONDITION,
		   WH_DDS_GUARD_CONDITION,
		   WH_DDS_STATUS_CONDITION,
		   WH_DDS_WAITSET,
		   WH_DDS_KINDS
};

struct wh_dds_history {
	enum whorl_dds_history_kind kind;
	int32_t depth; /* >= 1; with KEEP_ALL it says nothing */
};

struct wh_dds_limits { /* >= 1, or WHORL_DDS_UNLIMITED */
	int32_t samples, instances, samples_per_instance;
};

struct wh_dds_octets {
	unsigned char *bytes; /* NULL if there are none */
	uint32_t count;
};

/* Durations are >= 0, in nanoseconds; WHORL_DDS_INFINITY: for ever. */
struct wh_dds_policies {
	uint64_t set; /* bit 1 << enum whorl_dds_policy_id: it was set, and is no default */
	uint64_t lacks; /* bit i, field i of the table: its policy was set without it, so it is the default of the entity that has it */
	struct {
		enum whorl_dds_reliability_kind kind;
		int64_t max_blocking_ns;
	} reliability;
	struct wh_dds_history history;
	struct wh_dds_limits limits;
	enum whorl_dds_durability_kind durability;
	struct {
		int64_t cleanup_ns;
		struct wh_dds_history history;
		struct wh_dds_limits limits;
	} service; /* DURABILITY_SERVICE */
	int64_t deadline_ns;
	struct {
		enum whorl_dds_liveliness_kind kind;
		int64_t lease_ns;
	} liveliness;
	int64_t lifespan_ns;
	int64_t separation_ns; /* TIME_BASED_FILTER */
	enum whorl_dds_ownership_kind ownership;
	int32_t strength; /* OWNERSHIP_STRENGTH */
	enum whorl_dds_destination_order_kind destination_order;
	struct {
		enum whorl_dds_presentation_scope scope;
		bool coherent, ordered;
	} presentation;
	struct wh_dds_octets partition; /* names, each with a zero behind it; one alone that is empty is written as none */
	bool autodispose;               /* WRITER_DATA_LIFECYCLE: unregistering an instance disposes of it */
	struct {
		int64_t no_writers_ns, disposed_ns;
	} purge; /* READER_DATA_LIFECYCLE */
	struct wh_dds_octets user_data, topic_data, group_data;
	int64_t latency_budget_ns;
	int32_t priority; /* TRANSPORT_PRIORITY */
	bool autoenable;  /* ENTITY_FACTORY */
	enum whorl_dds_consistency_kind consistency;
	enum whorl_dds_ignore_local_kind ignore_local;
};

static inline bool wh_dds_policies_has(const struct wh_dds_policies *policies, enum whorl_dds_policy_id id)
{
	return (policies->set >> id & 1) != 0;
}

/* All fields get the defaults of an entity of this kind; nothing is set. What *policies held before is not freed. */
void wh_dds_policies_init(struct wh_dds_policies *policies, enum wh_dds_kind kind);
void wh_dds_policies_free(struct wh_dds_policies *policies);

/* WHORL_DDS_RETCODE_OK, or OUT_OF_RESOURCES: then *to owns nothing. What *to held before is not freed. */
WH_MUST_CHECK whorl_dds_return wh_dds_policies_copy(struct wh_dds_policies *to, const struct wh_dds_policies *from);

/* Takes over what `from`, of an entity of kind `of`, has set, `to` has not, and an entity of `kind` has. `of` = WH_DDS_KINDS: `from` is of
 * any entity; what `kind` does not have is passed over. An endpoint takes over from its publisher or subscriber, and then from its topic;
 * from these it also gets what says something of it though it is not its own (PRESENTATION, PARTITION, GROUP_DATA, TOPIC_DATA).
 * WHORL_DDS_RETCODE_OK, or OUT_OF_RESOURCES: then some are taken over, and `to` is good still. */
WH_MUST_CHECK whorl_dds_return wh_dds_policies_merge(struct wh_dds_policies *to, enum wh_dds_kind kind,
						     const struct wh_dds_policies *from, enum wh_dds_kind of);

/* Sets later what `wanted`, of any entity, sets. WHORL_DDS_RETCODE_OK; IMMUTABLE_POLICY: a policy that is fixed would have another value;
 * OUT_OF_RESOURCES; and the results of wh_dds_policies_check. If it is not OK *now is as it was. */
WH_MUST_CHECK whorl_dds_return wh_dds_policies_change(struct wh_dds_policies *now, enum wh_dds_kind kind,
						      const struct wh_dds_policies *wanted,
						      enum whorl_dds_policy_id *which, struct wh_error *err);

/* How much of a writer's samples is kept for late readers, by its merged policies (or those of a topic): DURABILITY_SERVICE, or if that
 * is not set HISTORY and RESOURCE_LIMITS. */
void wh_dds_policies_kept(const struct wh_dds_policies *policies, struct wh_dds_history *history,
			  struct wh_dds_limits *limits);

/* What a topic with these policies promises: CONSISTENCY, or if that is not set what its DURABILITY needs. */
enum whorl_dds_consistency_kind wh_dds_consistency(const struct wh_dds_policies *topic);

/* Do they fit each other, as those of an entity of `kind`? WHORL_DDS_RETCODE_OK; BAD_PARAMETER: a value is out of its range;
 * INCONSISTENT_POLICY: two contradict each other; UNSUPPORTED. *which: the first policy that is to blame; err says why. Both may be
 * NULL. */
WH_MUST_CHECK whorl_dds_return wh_dds_policies_check(const struct wh_dds_policies *policies, enum wh_dds_kind kind,
						     enum whorl_dds_policy_id *which, struct wh_error *err);

/* Can a topic of this consistency give a writer or reader what it asks for? Results as above. */
WH_MUST_CHECK whorl_dds_return wh_dds_policies_suit(const struct wh_dds_policies *endpoint,
						    enum whorl_dds_consistency_kind topic,
						    enum whorl_dds_policy_id *which, struct wh_error *err);

/* Does the writer offer what the reader requests? WHORL_DDS_POLICY_INVALID: yes; otherwise the first policy that fails, in the order of
 * their numbers. Partitions are another question. */
enum whorl_dds_policy_id wh_dds_policies_match(const struct wh_dds_policies *offered,
					       const struct wh_dds_policies *requested);

/* Does the name fit the pattern: `*` any bytes, `?` one, [a-z] [!a-z] one of a set? The same on all machines, whatever the locale. */
bool wh_dds_pattern_fits(const char *pattern, const char *name);
/* Have the two a partition in common? A name with * ? [ is a pattern for the other's; two patterns never match. */
bool wh_dds_partitions_meet(const struct wh_dds_policies *one, const struct wh_dds_policies *other);
/* The next name behind `name`, the first one for NULL; NULL at the end. No partition is "" once. */
const char *wh_dds_partition_next(const struct wh_dds_policies *policies, const char *name);

/* Are all values equal, set or not? *differ (may be NULL): bits of those that are not. */
bool wh_dds_policies_equal(const struct wh_dds_policies *one, const struct wh_dds_policies *other, uint64_t *differ);

/* ---- bytes -------------------------------------------------------------------------------------------------------------- */

/* What is set. A value that no policy may have fails *out. */
void wh_dds_put_policies(struct wh_dds_out *out, const struct wh_dds_policies *policies);
/* Reads them over the defaults of `kind`; all else is as in wh_dds_policies_init. Any bytes may come: they must be what wh_dds_put_policies
 * writes, with each value in its range. False: they are not, or there is no memory for them: *in says so, and *policies owns nothing. */
bool wh_dds_take_policies(struct wh_dds_in *in, struct wh_dds_policies *policies, enum wh_dds_kind kind);

/* ---- texts ---------------------------------------------------------------------------------------------------------------- */

/* Sets what a text says: `reliability=reliable reliability.max_blocking=100ms history=all deadline=1s partition=a,b`. Words are separated
 * by blanks; in data, and in names of partitions, %20 is the byte 0x20. WHORL_DDS_RETCODE_OK; BAD_PARAMETER: err (may be NULL) says which
 * word is wrong and what was expected; OUT_OF_RESOURCES. If it is not OK *policies is as it was. */
WH_MUST_CHECK whorl_dds_return wh_dds_policies_parse(struct wh_dds_policies *policies, const char *text,
						     struct wh_error *err);

/* Writes the policies that are bits of `mask`: a text that wh_dds_policies_parse reads. */
void wh_dds_policies_print(FILE *out, const struct wh_dds_policies *policies, uint64_t mask);

/* "reliability"; "invalid" if there is no such policy. */
const char *wh_dds_policy_name(enum whorl_dds_policy_id id);
/* "atomic". */
const char *wh_dds_consistency_name(enum whorl_dds_consistency_kind kind);
/* Which policies an entity of this kind has, as bits; WH_DDS_KINDS: all there are. */
uint64_t wh_dds_policies_of(enum wh_dds_kind kind);

/* The table of all policies, for the manual (Markdown). */
void wh_dds_policies_describe(FILE *out);

#endif
