/* channel.h - the state machine of a channel: what its ordered messages, and the views of its members, make of endpoints, matches, instances,
 * owners, coherent sets and the history.
 *
 * Every member of the channel has one, and all are the same at each place of the order: what comes in is the same, and nothing else decides.
 * No clock does: of time the lowest rank says what it has seen run out (wh_dds_channel_due), and that holds from the place of its message.
 * What comes out are events, told on the way. A newcomer is given the state of another, and is equal from then on.
 *
 * Bytes of a peer may be anything. What is no message is counted as garbage, what means nothing where it comes (a writer that is not there, a
 * word that crossed another) as void; neither changes anything else, alike at all members.
 *
 * A machine of *unordered* topics has endpoints and matches in the same way, and none of the samples: these come another way, in each writer's order
 * alone, and each member hears them for itself (wh_dds_channel_hear). So instances, and the numbers of samples, are each member's, and in no state.
 *
 * No memory: the function says WHORL_MEMORY, and the machine is no use any more but to be freed: its member can no longer go with the others.
 *
 * Threads: one at a time. Nothing blocks.
 */
#ifndef WH_DDS_CHANNEL_H
#define WH_DDS_CHANNEL_H

#include "dds/base/bytes.h"
#include "dds/base/index.h"
#include "dds/channel/wire.h"
#include "dds/policy/policy.h"

#define WH_DDS_CHANNEL_VERSION 1
#define WH_DDS_ENDPOINTS_MAX 65536       /* in a channel */
#define WH_DDS_SET_SAMPLES_MAX 65536     /* in a coherent set that is open; one that grows beyond is dropped */
#define WH_DDS_SET_BYTES_MAX (1 << 26)   /* the same */
#define WH_DDS_STRAYS_MAX 1024           /* samples of writers that are not known yet */
#define WH_DDS_STRAY_BYTES_MAX (1 << 22) /* the same */

struct wh_dds_place { /* in the total order */
	uint64_t view, sequence;
};

struct wh_dds_from { /* of a message */
	uint32_t node;
	uint64_t incarnation;
	struct wh_dds_place place;
};

struct wh_dds_member {
	uint32_t node;
	uint64_t incarnation;
	uint64_t activity; /* how often it has said that it is alive, in this channel */
	int64_t heard_ns;  /* when it did so last, by this member's clock */
};

/* NULL: it is none of these. */
struct wh_dds_member *wh_dds_members_find(struct wh_dds_member *members, uint32_t count, uint32_t node,
					  uint64_t incarnation);

struct wh_dds_topic;
struct wh_dds_instance;
struct wh_dds_endpoint;

struct wh_dds_endpoints { /* by `order` */
	struct wh_dds_endpoint **all;
	uint32_t count, room;
};

/* A writer or a reader. To be read by the outside; a writer that has ended lives on while the history has samples of it. */
struct wh_dds_endpoint {
	struct wh_dds_link link;
	struct wh_dds_endpoint_id id;
	enum wh_dds_kind kind; /* WH_DDS_WRITER, WH_DDS_READER */
	uint32_t group;        /* number of its publisher or subscriber at its participant */
	uint64_t order;        /* grows from one that is announced to the next */
	bool local;            /* this member's */
	bool ended;
	struct wh_dds_topic *topic;
	struct wh_dds_policies policies;
	struct wh_dds_endpoints matches; /* of the other kind */
	void *user;                      /* of a local one: what the layer above hangs there */
	/* of a writer */
	bool alive;
	uint64_t samples;  /* how many have come of it: the number of the last one */
	uint64_t activity; /* as that of a member, of this writer alone */
	int64_t heard_ns;
	uint64_t told; /* the activity of which it was last said that nothing followed, and when */
	int64_t told_ns;
	struct wh_dds_claim *claims; /* of instances, the first one first */
	struct wh_dds_claim *claims_end;
	bool heard_out;                 /* of an unordered topic: its end has come behind its samples */
	bool died;                      /* of one that lingers */
	uint64_t entries;               /* in the history */
	struct wh_dds_endpoints locals; /* of its matches those that are this member's */
	struct wh_dds_claim *recent;    /* of its last sample; NULL: it is to be looked for */
};

enum wh_dds_state { WH_DDS_ALIVE, WH_DDS_DISPOSED, WH_DDS_NO_WRITERS };

/* A sample, or what else is said of an instance, where it takes effect. A sample of a coherent set does so where the set ends. */
struct wh_dds_sample {
	struct wh_dds_place place;
	uint64_t number; /* among its writer's, from 1; what was lost with a set leaves a gap. 0: of its writer's end */
	uint8_t change;  /* enum wh_dds_change, as bits */
	int64_t source_ns;
	unsigned char key[WH_DDS_KEY_BYTES];
	const unsigned char *bytes; /* of a sample; without WH_DDS_WRITE whatever its writer says of the key */
	uint32_t count;
	struct wh_dds_block *block; /* where `bytes` lie, if they lie in one: to be held instead of copied; else NULL */
	/* The instance, of all writers of the topic, when this had taken effect. */
	enum wh_dds_state state;
	uint32_t disposed_generations, no_writers_generations;
	bool history; /* it is told to a reader that came later */
};

enum wh_dds_event_kind {
	WH_DDS_VERDICT, /* of what this member has announced: `id`, `kind`, `result`, `policy`; `endpoint` if it is there */
	WH_DDS_MATCH,   /* reader, writer */
	WH_DDS_UNMATCH, /* reader, writer; `result`: WHORL_DDS_RETCODE_OK, or ALREADY_DELETED: one of them has ended */
	WH_DDS_INCOMPATIBLE, /* reader, writer, policy: the first that fails */
	WH_DDS_SAMPLE,       /* reader, writer, sample */
	WH_DDS_LAST_WRITER, /* reader, writer, sample (key, place): no writer that it matches has the instance any more */
	WH_DDS_HISTORY_END,     /* reader, count: so many samples of the history were told */
	WH_DDS_OWNER,           /* topic, sample (key): the writer owns the instance now; NULL: none */
	WH_DDS_LIVELINESS,      /* reader, writer; `alive` */
	WH_DDS_LIVELINESS_LOST, /* writer: a local one */
	WH_DDS_DEADLINE,  /* writer, sample (key), of which no sample came in time, so that it is no owner; told once */
	WH_DDS_SET_BEGIN, /* `id` (node, incarnation, its group as the number), count: so many samples follow, as one */
	WH_DDS_SET_END,
	WH_DDS_SET_LOST, /* the same, count: so many are dropped */
	WH_DDS_CHANGED,  /* endpoint: its policies are others now; of any member's */
	WH_DDS_COMES,    /* endpoint: of any member's, if the configuration `watches`; matches come behind it */
	WH_DDS_GOES,     /* the same, of one that ends */
	WH_DDS_DROPPED,  /* writer, sample: it goes with its coherent set; if the configuration `watches` */
};

/* Of a reader and a writer one at least is this member's; samples are told of local readers alone. */
struct wh_dds_event {
	enum wh_dds_event_kind what;
	struct wh_dds_endpoint *reader, *writer, *endpoint;
	const struct wh_dds_topic *topic;
	const struct wh_dds_sample *sample;
	struct wh_dds_endpoint_id id;
	enum wh_dds_kind kind;
	whorl_dds_return result;
	enum whorl_dds_policy_id policy;
	uint64_t count;
	bool alive;
};

/* What events point to is there until it returns. It may not call the machine. */
typedef void wh_dds_tell(void *ctx, const struct wh_dds_event *event);

struct wh_dds_channel_config {
	uint32_t node; /* this member */
	uint64_t incarnation;
	bool all;       /* as if all endpoints were this member's: for tests, and what looks on */
	bool watches;   /* it is told of all endpoints that come and go, and of all samples that sets take along */
	bool unordered; /* its topics are */
	wh_dds_tell *tell;
	void *ctx;
};

struct wh_dds_channel;

/* NULL: no memory. */
struct wh_dds_channel *wh_dds_channel_new(const struct wh_dds_channel_config *config);
void wh_dds_channel_free(struct wh_dds_channel *channel);

/* A view of the channel's members begins: these, in the order of their ranks. What was of another member ends. Views and messages come in
 * their order: behind a view none of an earlier one. A view that is known already changes nothing. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_dds_channel_view(struct wh_dds_channel *channel, uint64_t number,
						    const struct wh_dds_member *members, uint32_t count);

/* A message is delivered. now_ns: this member's clock, for what it may have to say later. WHORL_OK, whatever it is; WHORL_MEMORY;
 * WHORL_INVALID: not behind what came before: nothing is done. */
WH_MUST_CHECK enum whorl_result wh_dds_channel_apply(struct wh_dds_channel *channel, const struct wh_dds_from *from,
						     const void *bytes, size_t count, int64_t now_ns);

/* Unordered: a sample, or the end of a writer behind its last one, has come; of a sender, in the order in which it was said. The place of `from` is not
 * looked at, and events have none. What is of a writer that is not known yet waits until it is announced, or its member goes, WH_DDS_STRAYS_MAX of
 * all writers at most: then the oldest are dropped. WHORL_OK, whatever it is; WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_dds_channel_hear(struct wh_dds_channel *channel, const struct wh_dds_from *from,
						    const void *bytes, size_t count, int64_t now_ns);

/* Unordered: writers that have ended, of which local readers may have to hear more. NULL at the end. */
struct wh_dds_endpoint *wh_dds_channel_lingering(const struct wh_dds_channel *channel, uint32_t at);
/* There is no more: now its readers are told that it has ended. */
WH_MUST_CHECK enum whorl_result wh_dds_channel_finish(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer,
						      int64_t now_ns);
/* Unordered: the local reader hears nothing any more, since this member has left the way of its samples: all its writers end for it. */
WH_MUST_CHECK enum whorl_result wh_dds_channel_part(struct wh_dds_channel *channel, struct wh_dds_endpoint *reader);

/* Unordered: what a writer has said before it was silent may be heard when all know that it is, and what it says to be alive again may come later than
 * its samples. So it has these instances here, and if it is still silent when its lease has passed since, and a second, it has them no more.
 * Changes nothing that others have. Returns when to ask again, which falls by what is heard; WHORL_DDS_INFINITY: there is no such writer. */
int64_t wh_dds_channel_hush(struct wh_dds_channel *channel, int64_t now_ns);
int64_t wh_dds_channel_hushes(const struct wh_dds_channel *channel); /* the same, and does nothing */

/* Has the reader room for the sample, behind those of the same message that it was asked for before? */
typedef bool wh_dds_ask(void *ctx, struct wh_dds_endpoint *reader, struct wh_dds_endpoint *writer,
			const struct wh_dds_sample *sample);

/* Asks the local readers that the message would be told to, before it is applied: so that it may be refused, and come again (0044). Changes nothing.
 * False: one said no. It is asked for samples, for ends of coherent sets, and for ends of writers, which dispose of what they had; not for what is
 * told of instances that have no writer any more, nor for the history of a new reader. All that are told were asked; of a set, and of writers that
 * compete, some may be asked and not told. */
bool wh_dds_channel_ask(struct wh_dds_channel *channel, const struct wh_dds_from *from, const void *bytes, size_t count,
			wh_dds_ask *ask, void *ctx);

/* When wh_dds_channel_due has to be asked; it falls by what is applied. WHORL_DDS_INFINITY: this member has nothing to say. */
int64_t wh_dds_channel_next(const struct wh_dds_channel *channel);
/* What this member, if it is the lowest rank, has to say of time: one message to be sent to the channel, its length; 0: nothing. To be called
 * until it says 0, when something was applied (it costs nothing if nothing can have run out), and at *next_ns. Changes nothing that others have. */
size_t wh_dds_channel_due(struct wh_dds_channel *channel, int64_t now_ns, unsigned char out[WH_DDS_DUE_BYTES],
			  int64_t *next_ns);

/* The state, for a newcomer. To be looked at for `failed`. The machine may go on while it is read. */
void wh_dds_channel_save(const struct wh_dds_channel *channel, struct wh_dds_out *out);
/* Into a machine that is new. No event. WHORL_OK; WHORL_MEMORY; WHORL_INVALID: it is no state (the machine is no use then). */
WH_MUST_CHECK enum whorl_result wh_dds_channel_restore(struct wh_dds_channel *channel, const void *bytes, size_t count,
						       int64_t now_ns);
/* Of the state: equal where the state is. *failed: there was no memory for it. */
uint64_t wh_dds_channel_digest(const struct wh_dds_channel *channel, bool *failed);

/* The endpoint that has not ended; NULL if there is none. */
struct wh_dds_endpoint *wh_dds_channel_find(const struct wh_dds_channel *channel, enum wh_dds_kind kind,
					    const struct wh_dds_endpoint_id *id);
bool wh_dds_matches(const struct wh_dds_endpoint *one, const struct wh_dds_endpoint *other);
const char *wh_dds_topic_name(const struct wh_dds_topic *topic);
uint64_t wh_dds_topic_number(const struct wh_dds_topic *topic); /* in the registry */
/* Those that have not ended, in the order in which they came; NULL at the end. */
const struct wh_dds_endpoint *wh_dds_channel_endpoint(const struct wh_dds_channel *channel, uint32_t at);

struct wh_dds_channel_counts { /* what has come, alike at all members */
	uint64_t garbage, voids;
	uint64_t sets_dropped, samples_dropped; /* with these sets */
	uint64_t not_kept; /* samples that the limits of a history had no room for, or pushed out */
	uint64_t endpoints, topics, instances, entries;
	uint64_t strays, unheard; /* of this member alone: that wait; that were dropped, or were garbage */
};

void wh_dds_channel_counts(const struct wh_dds_channel *channel, struct wh_dds_channel_counts *counts);

#endif
