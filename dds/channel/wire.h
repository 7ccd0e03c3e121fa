/* wire.h - what members of a channel say to each other, as bytes. docs/decisions/0052 says what for.
 *
 * The node and incarnation of a message's sender are the multicast's; an endpoint is named by its number there. A sample has a head of 16 bytes,
 * or 32 with a key, so what follows lies as well as the message does; all else is short and seldom. What comes is checked in full, and is no
 * message if it does not pass.
 *
 * Threads: any.
 */
#ifndef WH_DDS_CHANNEL_WIRE_H
#define WH_DDS_CHANNEL_WIRE_H

#include "dds/base/bytes.h"
#include "dds/policy/policy.h"

#define WH_DDS_KEY_BYTES 16
#define WH_DDS_NAME_BYTES 255 /* of a topic's name, at most, without its end */
#define WH_DDS_HEAD_BYTES 16  /* of a sample, without a key */
#define WH_DDS_DUE_BYTES 64   /* of what the lowest rank says, at most */

enum wh_dds_message_kind {
	WH_DDS_SAY_SAMPLE = 1, /* a sample, or what else becomes of an instance */
	WH_DDS_SAY_NEW,        /* an endpoint is announced */
	WH_DDS_SAY_CHANGE,     /* its policies are these now */
	WH_DDS_SAY_END,        /* it is deleted */
	WH_DDS_SAY_BEGIN,      /* a publisher's coherent set begins */
	WH_DDS_SAY_SET,        /* and ends */
	WH_DDS_SAY_ASSERT,     /* a writer, or (0) the participant, is alive */
	WH_DDS_SAY_LOST,       /* of the lowest rank: a writer's lease has run out */
	WH_DDS_SAY_LATE,       /* of the lowest rank: an owner's deadline has */
	WH_DDS_SAY_CLEAN,      /* of the lowest rank: a disposed instance was kept long enough */
	WH_DDS_SAY_KINDS
};

enum wh_dds_change { /* bits; none: the instance is registered */
		     WH_DDS_WRITE = 1,
		     WH_DDS_DISPOSE = 2,
		     WH_DDS_UNREGISTER = 4, /* not with WH_DDS_WRITE */
		     WH_DDS_CHANGES = 7
};

struct wh_dds_endpoint_id {
	uint64_t incarnation; /* of its node */
	uint32_t node;
	uint32_t number; /* from 1; none is used again in an incarnation */
};

/* What all endpoints of a topic must say alike, since it decides what the machine does for the topic. */
struct wh_dds_terms {
	uint64_t type_hash;
	bool keyed;
	enum whorl_dds_consistency_kind consistency;
	struct wh_dds_history history; /* of what is kept for late readers */
	struct wh_dds_limits limits;
	int64_t cleanup_ns;
};

/* Of a topic with these policies and this type. */
struct wh_dds_terms wh_dds_terms_of(const struct wh_dds_policies *topic, uint64_t type_hash, bool keyed);
bool wh_dds_terms_equal(const struct wh_dds_terms *one, const struct wh_dds_terms *other);

struct wh_dds_message {
	enum wh_dds_message_kind kind;
	uint32_t number;                     /* of the endpoint; BEGIN, SET: of the publisher */
	enum wh_dds_kind what;               /* WH_DDS_WRITER or _READER: NEW, CHANGE, END */
	uint32_t group;                      /* NEW */
	uint64_t topic;                      /* its number in the registry: NEW, CLEAN */
	char *name;                          /* of the topic, to be freed: NEW */
	struct wh_dds_terms terms;           /* NEW */
	struct wh_dds_policies policies;     /* to be freed: NEW, CHANGE */
	unsigned char key[WH_DDS_KEY_BYTES]; /* LATE, CLEAN */
	struct wh_dds_endpoint_id writer;    /* LOST, LATE */
	uint64_t seen;                       /* what its sender knew: LOST, LATE, CLEAN */
};

struct wh_dds_said {     /* WH_DDS_SAY_SAMPLE */
	uint32_t number; /* of the writer */
	uint8_t change;
	bool keyed;
	int64_t source_ns;
	unsigned char key[WH_DDS_KEY_BYTES]; /* zero if there is none */
	const unsigned char *bytes;          /* in the message */
	uint32_t count;
};

/* Writes the head of a sample; its bytes follow. Returns the length of the head: WH_DDS_HEAD_BYTES, and WH_DDS_KEY_BYTES more with a key.
 * key: NULL if the topic has none. */
size_t wh_dds_put_sample(unsigned char *at, uint32_t writer, uint8_t change, int64_t source_ns,
			 const unsigned char *key);
/* False: it is no sample, whatever its first byte says. */
bool wh_dds_take_sample(struct wh_dds_said *said, const void *bytes, size_t count);

/* Any other message. The fields that the kind does not have are not looked at. */
void wh_dds_put_message(struct wh_dds_out *out, const struct wh_dds_message *message);

/* Of any kind but a sample. WHORL_OK; WHORL_INVALID: it is no message; WHORL_MEMORY. To be freed only after WHORL_OK. */
WH_MUST_CHECK enum whorl_result wh_dds_take_message(struct wh_dds_message *message, const void *bytes, size_t count);
void wh_dds_message_free(struct wh_dds_message *message);

/* Parts of messages, and of states. */
void wh_dds_put_id(struct wh_dds_out *out, const struct wh_dds_endpoint_id *id);
void wh_dds_take_id(struct wh_dds_in *in, struct wh_dds_endpoint_id *id);
void wh_dds_put_terms(struct wh_dds_out *out, const struct wh_dds_terms *terms);
struct wh_dds_terms wh_dds_take_terms(struct wh_dds_in *in);

#endif
