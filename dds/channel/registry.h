/* registry.h - the state machine of the control channel: which participants there are, and which topics, by their names.
 *
 * Every participant is in the control channel, and its messages have one order. So of two that register a name at once one is first, at all
 * participants alike: what it says of type, consistency, what is kept, and channel is the topic's, and one that says otherwise is refused, and told in what
 * it differs. A topic has a number, which no other ever has in this control channel, and *uses*: how often each participant has registered it. It
 * goes with its last use; one with a DURABILITY of TRANSIENT or beyond with the last use of any topic of its channel, since so long there is
 * a member there that keeps what was written. One that is logged never goes: what was written is on disk, and so is the registry.
 *
 * It is fed as a channel's machine is (channel.h): what is said there of views, order, garbage, memory and states holds here.
 * First bytes of its messages are above 128, those of a channel's below: endpoints of unordered topics go through the same subgroup.
 *
 * Threads: one at a time. Nothing blocks.
 */
#ifndef WH_DDS_REGISTRY_H
#define WH_DDS_REGISTRY_H

#include "dds/channel/channel.h"

#define WH_DDS_REGISTRY_VERSION 1
#define WH_DDS_TOPICS_MAX 65536
#define WH_DDS_CHANNEL_NAME_BYTES 63       /* without its end: as a subgroup's */
#define WH_DDS_TYPE_NAME_BYTES 255         /* the same */
#define WH_DDS_DESCRIPTION_BYTES (1 << 16) /* of a type's fields, at most */
#define WH_DDS_NAMELESS "?"                /* of a type without a name, which goes with any: of a tool */
#define WH_DDS_ANY_CHANNEL "*"             /* wherever the topic is; it must be there */

enum wh_dds_registry_kind {
	WH_DDS_SAY_PARTICIPANT = 129, /* what I am; again: my policies are others now */
	WH_DDS_SAY_TOPIC,             /* I use this topic once more */
	WH_DDS_SAY_DROP,              /* and once less */
	WH_DDS_SAY_DATA,              /* its policies are these now, as far as they may change */
	WH_DDS_REGISTRY_KINDS
};

struct wh_dds_participant {
	uint32_t node;
	uint64_t incarnation;
	char *name; /* of its process */
	uint32_t process;
	struct wh_dds_policies policies;
};

struct wh_dds_use {
	uint32_t node;
	uint64_t incarnation;
	uint64_t count;
};

struct wh_dds_named_topic {
	uint64_t id;
	char *name, *channel, *type;
	uint64_t type_hash;
	bool keyed;
	struct wh_dds_block *description; /* of its fields, for tools; NULL: none */
	struct wh_dds_policies policies;
	uint32_t first; /* node that registered it first */
	struct wh_dds_use *uses;
	uint32_t use_count, use_room;
};

struct wh_dds_registration { /* what WH_DDS_SAY_TOPIC says */
	uint32_t ticket;     /* names it for the participant that asks */
	const char *name, *channel, *type;
	uint64_t type_hash;
	bool keyed;
	struct wh_dds_block *description;
	const struct wh_dds_policies *policies; /* of the topic */
};

enum wh_dds_differs { WH_DDS_NOTHING, WH_DDS_TYPE, WH_DDS_CHANNEL, WH_DDS_CONSISTENCY, WH_DDS_KEPT };

enum wh_dds_registry_event_kind {
	WH_DDS_PARTICIPANT_NEW,
	WH_DDS_PARTICIPANT_CHANGED,
	WH_DDS_PARTICIPANT_GONE,
	WH_DDS_TOPIC_NEW,
	WH_DDS_TOPIC_CHANGED,
	WH_DDS_TOPIC_GONE,
	WH_DDS_TOPIC_DIFFERS, /* a registration of any member's that `differs` from `topic`; if the configuration `watches` */
	/* Of a registration of this member: `ticket`, `result`. OK: `topic`. PRECONDITION_NOT_MET: it `differs` from `topic`.
	 * BAD_PARAMETER: there is no such topic, and no channel was said. OUT_OF_RESOURCES: too many topics. INCONSISTENT_POLICY and so on:
	 * `policy`. */
	WH_DDS_REGISTERED,
};

struct wh_dds_registry_event {
	enum wh_dds_registry_event_kind what;
	const struct wh_dds_participant *participant;
	const struct wh_dds_named_topic *topic;
	uint32_t ticket;
	whorl_dds_return result;
	enum whorl_dds_policy_id policy;
	enum wh_dds_differs differs;
};

struct wh_dds_registry_config {
	uint32_t node; /* this member */
	uint64_t incarnation;
	bool all;     /* registrations of all members are told of */
	bool watches; /* it is told of all that differ */
	void (*tell)(void *ctx, const struct wh_dds_registry_event *event);
	void *ctx;
};

struct wh_dds_registry;

struct wh_dds_registry *wh_dds_registry_new(const struct wh_dds_registry_config *config);
void wh_dds_registry_free(struct wh_dds_registry *registry);

WH_MUST_CHECK enum whorl_result wh_dds_registry_view(struct wh_dds_registry *registry, uint64_t number,
						     const struct wh_dds_member *members, uint32_t count);
WH_MUST_CHECK enum whorl_result wh_dds_registry_apply(struct wh_dds_registry *registry, const struct wh_dds_from *from,
						      const void *bytes, size_t count);

void wh_dds_registry_save(const struct wh_dds_registry *registry, struct wh_dds_out *out);
WH_MUST_CHECK enum whorl_result wh_dds_registry_restore(struct wh_dds_registry *registry, const void *bytes,
							size_t count);
uint64_t wh_dds_registry_digest(const struct wh_dds_registry *registry, bool *failed);

/* NULL if there is none; so it is where there is no registry yet, before the first view. */
const struct wh_dds_named_topic *wh_dds_registry_find(const struct wh_dds_registry *registry, const char *name);
/* By number; NULL at the end. */
const struct wh_dds_named_topic *wh_dds_registry_topic(const struct wh_dds_registry *registry, uint32_t at);
const struct wh_dds_participant *wh_dds_registry_participant(const struct wh_dds_registry *registry, uint32_t at);

struct wh_dds_registry_counts {
	uint64_t garbage, voids, refused;
};

void wh_dds_registry_counts(const struct wh_dds_registry *registry, struct wh_dds_registry_counts *counts);

/* In what a registration differs from the topic that is there, for a person: "topic a: its type is x (hash 1), here y (hash 2); node 3
 * registered it". */
void wh_dds_registry_explain(char *text, size_t bytes, const struct wh_dds_named_topic *topic,
			     const struct wh_dds_registration *registration);

/* ---- messages ------------------------------------------------------------------------------------------------------------- */

void wh_dds_put_participant(struct wh_dds_out *out, const char *name, uint32_t process,
			    const struct wh_dds_policies *policies);
void wh_dds_put_registration(struct wh_dds_out *out, const struct wh_dds_registration *registration);
void wh_dds_put_drop(struct wh_dds_out *out, uint64_t topic);
void wh_dds_put_data(struct wh_dds_out *out, uint64_t topic, const struct wh_dds_policies *policies);

#endif
