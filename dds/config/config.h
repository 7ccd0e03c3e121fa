/* config.h - what a file says of topics: [dds], [channel NAME] and [topic PATTERN].
 *
 * All else in the file is the group's, and read by whorl_config_load_file, which passes over these three.
 */
#ifndef WH_DDS_CONFIG_H
#define WH_DDS_CONFIG_H

#include "base/option.h"

extern const struct wh_option_table wh_dds_table, wh_dds_channel_table, wh_dds_topic_table;

#define WH_DDS_OWN "own"       /* in place of a channel: one of the topic's own */
#define WH_DDS_SHARED "shared" /* one of those that are always there */
#define WH_DDS_CONTROL "dds.control"
#define WH_DDS_SETTINGS_NAME_BYTES 64
#define WH_DDS_DOMAIN_DIRECTORY "/domain-" /* and the number, below `directory` */

enum wh_dds_slow_reader { WH_DDS_SLOW_LOSE, WH_DDS_SLOW_LEAVE };

struct wh_dds_shape { /* of a subgroup that is a channel */
	uint32_t message_bytes, window;
	uint64_t large_bytes;
	bool unordered;
	bool durable; /* for logged topics: what is delivered is on the disks of its members */
};

struct wh_dds_channel_setting {
	char name[WH_DDS_SETTINGS_NAME_BYTES];
	struct wh_dds_shape shape;
};

struct wh_dds_topic_setting {
	char pattern[WH_DDS_SETTINGS_NAME_BYTES];
	char channel[WH_DDS_SETTINGS_NAME_BYTES];
};

struct wh_dds_settings {
	uint64_t patience_ms; /* 0: for ever */
	uint64_t rest_ms;     /* 0: never */
	enum wh_dds_slow_reader slow;
	char directory[WH_OPTION_TEXT_BYTES]; /* "": none */
	uint64_t log_bytes;                   /* a log of logged topics that is longer is written anew */
	bool has_group;                       /* the file has a group; else it is made from the domain */
	struct wh_dds_channel_setting *channels;
	size_t channel_count;
	struct wh_dds_topic_setting *topics; /* in the order of the file: the first that fits counts */
	size_t topic_count;
};

/* As without a file. */
void wh_dds_settings_init(struct wh_dds_settings *settings);
void wh_dds_settings_free(struct wh_dds_settings *settings);

struct wh_dds_names {
	bool (*is_shared)(const char *name); /* of a channel that is there without a file */
	/* Of any that there may be, with the channels of the file. */
	bool (*is_channel)(const struct wh_dds_settings *settings, const char *name);
};

/* Fills in what the file says; others of its sections are passed over, but none [subgroup NAME] may have the name of a channel.
 * WHORL_OK; WHORL_CONFIG: *mistakes are all that there are, one a line, to be freed; WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_dds_settings_load(struct wh_dds_settings *settings, const char *file,
						     const struct wh_dds_names *names, char **mistakes);

#endif
