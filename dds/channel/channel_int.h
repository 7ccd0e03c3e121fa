/* channel_int.h - the inside of a channel's machine. Each file has one concern of it, and calls those of the others by the functions here:
 *
 *     channel.c           messages and views come in; members; what is counted
 *     channel/match.c     endpoints come, change and end; which match
 *     channel/instance.c  which writers have an instance, which owns it, its state; samples are told
 *     channel/history.c   what is kept for late readers
 *     channel/set.c       coherent sets
 *     channel/due.c       what the lowest rank has to say of time
 *     channel/heard.c     samples of unordered topics
 *     channel/state.c     the whole as bytes
 *
 * What is marked [here] is this member's alone: no part of the state, and nothing that others have may follow from it.
 * A function that returns bool returns false if there was no memory.
 */
#ifndef WH_DDS_CHANNEL_INT_H
#define WH_DDS_CHANNEL_INT_H

#include "dds/channel/channel.h"

#define WH_DDS_GONE_MAX 1024

struct wh_dds_claim { /* a writer has an instance: it has registered, or written it */
	struct wh_dds_instance *instance;
	struct wh_dds_endpoint *writer;
	struct wh_dds_claim *next;                      /* of the instance, the best one first */
	struct wh_dds_claim *writer_prev, *writer_next; /* of the writer, in the order in which they were made */
	bool late;                 /* its deadline has run out: it owns nothing before its next sample */
	uint64_t number;           /* of its writer's last sample of the instance */
	int64_t heard_ns, told_ns; /* [here] */
	uint64_t told;             /* [here] */
};

struct wh_dds_entry { /* a sample of the history; or (no WH_DDS_WRITE) that the instance was disposed of then */
	struct wh_dds_entry *prev, *next; /* of the topic, in the order */
	struct wh_dds_entry *instance_prev, *instance_next;
	struct wh_dds_instance *instance;
	struct wh_dds_endpoint *writer; /* it may have ended */
	bool behind;                    /* by source time another sample of the instance was newer when it came */
	struct wh_dds_sample sample;
};

struct wh_dds_instance {
	struct wh_dds_link link;
	struct wh_dds_topic *topic;
	struct wh_dds_instance *prev, *next; /* of the topic, in the order in which they came */
	unsigned char key[WH_DDS_KEY_BYTES];
	struct wh_dds_claim *claims;
	struct wh_dds_endpoint *owner; /* the best exclusive one that is not late */
	enum wh_dds_state state;
	uint32_t disposed_generations, no_writers_generations;
	uint64_t changes;         /* how often its state was made, or made again */
	struct wh_dds_place left; /* where the last writer left it, if none has it */
	bool timed;               /* a sample came that is ordered by source time; the newest of these: */
	int64_t newest_ns;
	struct wh_dds_endpoint_id newest;
	struct wh_dds_entry *entries, *entries_end;
	uint32_t kept, kept_behind; /* entries with a sample; of these, behind */
	int64_t idle_ns, told_ns;   /* [here] since when it waits to be cleaned up */
	uint64_t told;              /* [here] */
	uint64_t replayed;          /* [here] the order of the reader that it was last told to */
};

struct wh_dds_topic {
	struct wh_dds_topic *next; /* by `id` */
	uint64_t id;               /* its number in the registry */
	char *name;
	struct wh_dds_terms terms;
	struct wh_dds_endpoints readers, writers; /* that have not ended */
	struct wh_dds_instance *instances, *instances_end;
	struct wh_dds_entry *entries, *entries_end;
	uint64_t kept;           /* entries with a sample */
	uint32_t kept_instances; /* instances that have entries */
};

struct wh_dds_item { /* a sample that waits for the end of its set */
	struct wh_dds_endpoint *writer;
	struct wh_dds_sample sample;
};

struct wh_dds_set {
	struct wh_dds_set *next; /* in the order in which they began */
	struct wh_dds_endpoint_id publisher;
	struct wh_dds_item *items;
	uint32_t count, room;
	uint64_t bytes;
	bool broken; /* what comes is dropped */
	uint64_t dropped;
};

struct wh_dds_channel {
	struct wh_dds_channel_config config;
	bool began; /* there is a view */
	uint64_t view;
	uint64_t next_sequence; /* no message that is lower comes */
	struct wh_dds_member *members;
	uint32_t member_count;
	struct wh_dds_index endpoint_index; /* those that have ended too */
	struct wh_dds_endpoints endpoints;  /* that have not ended */
	struct wh_dds_endpoints ended;      /* writers of which there are entries, or that linger */
	uint64_t orders;                    /* the last one given */
	uint32_t dead;                      /* writers that are not alive */
	struct wh_dds_index instance_index;
	struct wh_dds_topic *topics;
	struct wh_dds_set *sets;
	struct wh_dds_channel_counts counts; /* endpoints to entries: when asked; strays, unheard: [here] */
	struct wh_dds_place place;           /* of what is being applied */
	int64_t now_ns;                      /* [here] */
	int64_t look_ns;                     /* [here] nothing runs out before that: channel/due.c */
	struct wh_dds_stray *strays;         /* [here] the oldest first */
	uint64_t stray_bytes;                /* [here] */
	struct wh_dds_endpoint_id *gone;     /* [here] unordered: writers that ended before all of theirs was heard */
	uint64_t gone_count;                 /* [here] the last WH_DDS_GONE_MAX of so many */
	int64_t hush_ns;                     /* [here] unordered: wh_dds_channel_hush does nothing before that */
	struct wh_dds_endpoint *recent;      /* [here] the writer of the last sample; NULL: it is to be looked for */
};

/* ---- channel.c ---- */

void wh_dds_tell_event(const struct wh_dds_channel *channel, const struct wh_dds_event *event);
struct wh_dds_member *wh_dds_member_find(const struct wh_dds_channel *channel, uint32_t node, uint64_t incarnation);
bool wh_dds_is_member(const struct wh_dds_endpoint_id *id, uint32_t node, uint64_t incarnation);
int wh_dds_id_compare(const struct wh_dds_endpoint_id *one, const struct wh_dds_endpoint_id *other);
/* The one that has ended, or has not; NULL if there is none. */
struct wh_dds_endpoint *wh_dds_endpoint_find(const struct wh_dds_channel *channel, enum wh_dds_kind kind,
					     const struct wh_dds_endpoint_id *id, bool ended);
struct wh_dds_topic *wh_dds_topic_find(const struct wh_dds_channel *channel, uint64_t id);
/* The last endpoint or entry may be gone: then it goes. */
void wh_dds_topic_settle(struct wh_dds_channel *channel, struct wh_dds_topic *topic);

/* What a message says of an instance. False: its writer has other keys. */
bool wh_dds_read_sample(const struct wh_dds_endpoint *writer, const struct wh_dds_from *from,
			const struct wh_dds_said *said, struct wh_dds_sample *sample);

/* ---- channel/heard.c ---- */

/* The writer that samples of this name are of; unordered, one that lingers, too. NULL: there is none. */
struct wh_dds_endpoint *wh_dds_writer_of(const struct wh_dds_channel *channel, const struct wh_dds_endpoint_id *id);
bool wh_dds_lingers(const struct wh_dds_channel *channel, const struct wh_dds_endpoint *endpoint);
bool wh_dds_linger(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, bool died);
/* Those that no reader matches any more go. */
bool wh_dds_linger_no_more(struct wh_dds_channel *channel);
/* The writer is known now: what has waited for it is heard. */
bool wh_dds_hear_strays(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer);
void wh_dds_strays_forget(struct wh_dds_channel *channel, uint32_t node, uint64_t incarnation);
void wh_dds_writer_gone(struct wh_dds_channel *channel, const struct wh_dds_endpoint *writer);
void wh_dds_strays_free(struct wh_dds_channel *channel);

/* ---- channel/match.c ---- */

/* Where the one with this order is in the list, or should be. */
uint32_t wh_dds_endpoints_place(const struct wh_dds_endpoints *list, uint64_t order);
bool wh_dds_endpoints_add(struct wh_dds_endpoints *list, struct wh_dds_endpoint *endpoint);
void wh_dds_endpoints_remove(struct wh_dds_endpoints *list, const struct wh_dds_endpoint *endpoint);
bool wh_dds_fits(const struct wh_dds_endpoint *writer, const struct wh_dds_endpoint *reader);
/* Into the lists and the index; no event. If there is no memory it is freed, now or with the channel. */
bool wh_dds_endpoint_hang(struct wh_dds_channel *channel, struct wh_dds_endpoint *endpoint);
bool wh_dds_link_match(struct wh_dds_endpoint *one, struct wh_dds_endpoint *other);
void wh_dds_endpoint_free(struct wh_dds_endpoint *endpoint);
/* A writer that has ended may be of no use any more. */
void wh_dds_writer_settle(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer);
uint64_t wh_dds_endpoint_number(enum wh_dds_kind kind, const struct wh_dds_endpoint_id *id); /* for the index */

enum whorl_result wh_dds_announce(struct wh_dds_channel *channel, const struct wh_dds_from *from,
				  struct wh_dds_message *message);
enum whorl_result wh_dds_change_policies(struct wh_dds_channel *channel, const struct wh_dds_from *from,
					 const struct wh_dds_message *message);
/* why: WHORL_DDS_RETCODE_OK, or ALREADY_DELETED: one of them has ended. */
void wh_dds_unmatch(struct wh_dds_channel *channel, struct wh_dds_endpoint *one, struct wh_dds_endpoint *other,
		    whorl_dds_return why);
/* The writer leaves its instances; with `autodispose` they are disposed of, unless it has died. */
bool wh_dds_end_claims(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, bool died);
/* died: its participant has not ended it, so nothing is disposed of. */
bool wh_dds_endpoint_end(struct wh_dds_channel *channel, struct wh_dds_endpoint *endpoint, bool died);

/* ---- channel/instance.c ---- */

struct wh_dds_instance *wh_dds_instance_find(const struct wh_dds_channel *channel, const struct wh_dds_topic *topic,
					     const unsigned char *key);
/* The one that is there, or a new one; NULL: no memory. */
struct wh_dds_instance *wh_dds_instance_get(struct wh_dds_channel *channel, struct wh_dds_topic *topic,
					    const unsigned char *key);
struct wh_dds_claim *wh_dds_claim_find(const struct wh_dds_instance *instance, const struct wh_dds_endpoint *writer);
/* NULL: no memory. No event. */
struct wh_dds_claim *wh_dds_claim_add(struct wh_dds_instance *instance, struct wh_dds_endpoint *writer);
/* The sample takes effect where the channel is. */
bool wh_dds_take_effect(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, struct wh_dds_sample *sample);
/* The writer has none of its instances any more; nothing is disposed of. */
void wh_dds_drop_claims(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer);
/* What decides over owners is another now: of this claim, of all of the writer. */
void wh_dds_claim_weigh(struct wh_dds_channel *channel, struct wh_dds_claim *claim);
void wh_dds_weigh_claims(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer);
/* The reader has lost the writer, which goes on. */
void wh_dds_tell_last_writers(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer,
			      struct wh_dds_endpoint *reader);
bool wh_dds_has_writer(const struct wh_dds_instance *instance, const struct wh_dds_endpoint *reader);
/* It may wait for nothing any more, or be of no use. */
void wh_dds_instance_settle(struct wh_dds_channel *channel, struct wh_dds_instance *instance);

struct wh_dds_question {
	wh_dds_ask *ask;
	void *ctx;
};

/* Of the local readers that the sample would be told to, if it took effect now: all say yes. */
bool wh_dds_ask_now(const struct wh_dds_channel *channel, const struct wh_dds_question *question,
		    struct wh_dds_endpoint *writer, const struct wh_dds_sample *sample);
/* The same, if it took effect behind others. */
bool wh_dds_ask_later(const struct wh_dds_question *question, struct wh_dds_endpoint *writer,
		      const struct wh_dds_sample *sample);

/* ---- channel/history.c ---- */

bool wh_dds_keep(struct wh_dds_channel *channel, struct wh_dds_instance *instance, struct wh_dds_endpoint *writer,
		 struct wh_dds_sample *sample, bool behind);
/* When it was told: the limits push out what they have no room for. */
void wh_dds_hold_limits(struct wh_dds_channel *channel, struct wh_dds_instance *instance);
/* Behind all that are there; for the state alone. */
void wh_dds_entry_hang(struct wh_dds_entry *entry);
void wh_dds_forget_instance(struct wh_dds_channel *channel, struct wh_dds_instance *instance);
void wh_dds_forget_writer(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer);
void wh_dds_forget_topic(struct wh_dds_channel *channel, struct wh_dds_topic *topic);
/* What was kept, told to a reader: of all that match it, or of one writer. Returns of how many samples. */
uint64_t wh_dds_replay(struct wh_dds_channel *channel, struct wh_dds_endpoint *reader,
		       const struct wh_dds_endpoint *writer);

/* ---- channel/set.c ---- */

/* The set that is open for the writer; NULL if there is none. */
struct wh_dds_set *wh_dds_set_of(const struct wh_dds_channel *channel, const struct wh_dds_endpoint *writer);
bool wh_dds_set_add(struct wh_dds_channel *channel, struct wh_dds_set *set, struct wh_dds_endpoint *writer,
		    const struct wh_dds_sample *sample);
enum whorl_result wh_dds_set_begin(struct wh_dds_channel *channel, const struct wh_dds_from *from, uint32_t group);
enum whorl_result wh_dds_set_end(struct wh_dds_channel *channel, const struct wh_dds_from *from, uint32_t group);
void wh_dds_set_forget_writer(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer);
void wh_dds_set_forget_member(struct wh_dds_channel *channel, uint32_t node, uint64_t incarnation);
bool wh_dds_set_ask(const struct wh_dds_channel *channel, const struct wh_dds_question *question,
		    const struct wh_dds_endpoint_id *publisher);
void wh_dds_set_free(struct wh_dds_set *set);

/* ---- channel/due.c ---- */

/* A writer has written, or said that it is alive. */
void wh_dds_writer_heard(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer);
/* Something may run out so long after now, that before could not. */
void wh_dds_look_after(struct wh_dds_channel *channel, int64_t lasts_ns);
enum whorl_result wh_dds_assert(struct wh_dds_channel *channel, const struct wh_dds_from *from, uint32_t number);
enum whorl_result wh_dds_apply_word(struct wh_dds_channel *channel, const struct wh_dds_from *from,
				    const struct wh_dds_message *message);

static inline bool wh_dds_is_exclusive(const struct wh_dds_endpoint *endpoint)
{
	return endpoint->policies.ownership == WHORL_DDS_OWNERSHIP_EXCLUSIVE;
}

static inline bool wh_dds_by_source(const struct wh_dds_endpoint *endpoint)
{
	return endpoint->policies.destination_order == WHORL_DDS_DESTINATION_ORDER_BY_SOURCE_TIMESTAMP;
}

/* It means nothing here. */
static inline enum whorl_result wh_dds_void(struct wh_dds_channel *channel)
{
	channel->counts.voids++;
	return WHORL_OK;
}

#endif
