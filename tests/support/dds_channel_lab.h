/* dds_channel_lab.h - messages of a channel, made of texts, and machines that they are given to. */
#ifndef WH_TESTS_SUPPORT_DDS_CHANNEL_LAB_H
#define WH_TESTS_SUPPORT_DDS_CHANNEL_LAB_H

#include <string.h>

#include "dds/channel/channel_int.h"
#include "tests/harness.h"

#define LAB_HASH 0x1234

struct lab_message { /* as bytes */
	unsigned char bytes[16384];
	size_t count;
};

struct wh_dds_policies lab_policies(enum wh_dds_kind kind, const char *text);
void lab_say(struct lab_message *out, const struct wh_dds_message *message);

struct lab_new { /* of an endpoint */
	enum wh_dds_kind kind;
	uint32_t number, group;
	uint64_t topic;
	const char *name, *topic_policies, *policies;
	bool keyless;
};

void lab_announce(struct lab_message *out, const struct lab_new *new);
void lab_change(struct lab_message *out, enum wh_dds_kind kind, uint32_t number, const char *policies);
void dds_channel_lab_key(unsigned char key[WH_DDS_KEY_BYTES], uint32_t number);

/* key: the number of one; < 0: none. */
void lab_sample(struct lab_message *out, uint32_t writer, uint8_t change, int64_t source_ns, int key, const char *text);

/* What was told, as a text of a line. */
void lab_line(char *line, size_t bytes, const struct wh_dds_event *event);

/* A state as bytes in one piece; to be freed. */
unsigned char *lab_state(const struct wh_dds_channel *channel, size_t *count);
uint64_t lab_digest(const struct wh_dds_channel *channel);

#endif
