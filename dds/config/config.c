/* config.c - see config.h. */
#include "dds/config/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the tables ---------------------------------------------------------------------------------------------------------------- */

struct dds_options {
	int64_t reader_patience_ms, rest_after_ms, log_bytes;
	int slow_reader;
	char directory[WH_OPTION_TEXT_BYTES];
};

static const char *const slow_readers[] = {"lose", "leave", NULL};

#define DDS(field) offsetof(struct dds_options, field)
static const struct wh_option dds_options[] = {
	{"reader_patience_ms", WH_OPTION_INTEGER, "ms", "10000", 0, INT64_C(86400000), NULL,
	 "A reader that keeps all, is reliable and has no room holds up its channel for so long; then see slow_reader. 0: for ever. Processes "
	 "may differ.",
	 DDS(reader_patience_ms), false},
	{"slow_reader", WH_OPTION_CHOICE, "", "lose", 0, 0, slow_readers,
	 "lose: the reader loses what it has no room for, and is told (SAMPLE_LOST); leave: its process leaves the channel, and its readers and "
	 "writers there are of no use any more. Processes may differ.",
	 DDS(slow_reader), false},
	{"rest_after_ms", WH_OPTION_INTEGER, "ms", "300", 0, INT64_C(86400000), NULL,
	 "A process that has only readers in a channel says nothing there: so long after it has said something it stops to be a sender, and the "
	 "others wait for its rounds no more. 0: it stays one. Processes may differ.",
	 DDS(rest_after_ms), false},
	{"directory", WH_OPTION_TEXT, "", "none", 0, 0, NULL,
	 "Where logged topics lie: a directory that outlives the machine's power, made if it is missing. Domain N has domain-N in it. For a file "
	 "without [group]; where there is one its log_dir says it. none: there are no logged topics. All processes of a domain say the same.",
	 DDS(directory), false},
	{"log_bytes", WH_OPTION_INTEGER, "bytes", "256m", 1 << 20, INT64_C(1) << 45, NULL,
	 "When the log of a channel of logged topics is longer, what they keep is written anew, and what lies before that goes. Processes may "
	 "differ.",
	 DDS(log_bytes), false},
};
const struct wh_option_table wh_dds_table = {
	"dds",       WH_OPTION_UNNAMED,  "Topics (whorl/dds.h), where WHORL_DDS names this file.",
	dds_options, COUNT(dds_options), sizeof(struct dds_options)};

struct channel_options {
	int64_t window, message_bytes, large_bytes;
};

#define CHANNEL(field) offsetof(struct channel_options, field)
static const struct wh_option channel_options[] = {
	{"window", WH_OPTION_INTEGER, "messages", "100", 1, 32768, NULL,
	 "Messages in flight per process: slots of its ring.", CHANNEL(window), false},
	{"message_bytes", WH_OPTION_INTEGER, "bytes", "10240", 256, INT64_C(1) << 30, NULL,
	 "The largest message in one slot, a multiple of 16; a sample has a head of at most 48 bytes.",
	 CHANNEL(message_bytes), false},
	{"large_bytes", WH_OPTION_INTEGER, "bytes", "32768", 4096, INT64_C(1) << 45, NULL,
	 "The largest message: one that is larger than message_bytes takes several slots. At most window times message_bytes.",
	 CHANNEL(large_bytes), false},
};
const struct wh_option_table wh_dds_channel_table = {
	"channel",
	WH_OPTION_NAMED,
	"A subgroup that topics can lie on. dds.s.atomic, dds.m.atomic, dds.b.atomic, dds.l.atomic, dds.x.atomic and the same with stored and unordered are there without; they "
	"can be given other sizes here, and so can dds.s.logged and so on. Unordered topics on a channel NAME have a subgroup NAME.unordered of its sizes, "
	"logged ones NAME.logged; a channel that is called so is theirs alone. All processes say the same.",
	channel_options,
	COUNT(channel_options),
	sizeof(struct channel_options)};

struct topic_options {
	char channel[WH_OPTION_TEXT_BYTES];
};

static const struct wh_option topic_options[] = {
	{"channel", WH_OPTION_TEXT, "", "shared", 0, 0, NULL,
	 "shared: one that is there for samples of that size; own: the topic has one alone; or the NAME of a [channel NAME].",
	 offsetof(struct topic_options, channel), false},
};
const struct wh_option_table wh_dds_topic_table = {
	"topic",
	WH_OPTION_PATTERN,
	"Topics whose names fit: * stands for any text, ? for one byte. Of several sections the first in the file counts. All processes say "
	"the same.",
	topic_options,
	COUNT(topic_options),
	sizeof(struct topic_options)};

static const struct wh_option_table *const tables[] = {&wh_dds_table, &wh_dds_channel_table, &wh_dds_topic_table};

/* ---- binding ------------------------------------------------------------------------------------------------------------------- */

static void set_options(struct wh_dds_settings *settings, const struct dds_options *options)
{
	settings->patience_ms = (uint64_t)options->reader_patience_ms;
	settings->rest_ms = (uint64_t)options->rest_after_ms;
	settings->slow = (enum wh_dds_slow_reader)options->slow_reader;
	settings->log_bytes = (uint64_t)options->log_bytes;
	if (strcmp(options->directory, "none") != 0)
		strcpy(settings->directory, options->directory);
}

void wh_dds_settings_init(struct wh_dds_settings *settings)
{
	struct dds_options options;

	wh_option_defaults(&wh_dds_table, &options);
	memset(settings, 0, sizeof(*settings));
	set_options(settings, &options);
}

void wh_dds_settings_free(struct wh_dds_settings *settings)
{
	free(settings->channels);
	free(settings->topics);
	settings->channels = NULL;
	settings->topics = NULL;
	settings->channel_count = settings->topic_count = 0;
}

static size_t count_of(const struct wh_conf *conf, const char *section)
{
	size_t count = 0;

	while (wh_conf_instance(conf, section, count) != NULL)
		count++;
	return count;
}

static void bind_channel(struct wh_conf *conf, const char *name, struct wh_dds_channel_setting *out)
{
	struct channel_options options;
	int64_t most;

	wh_conf_bind(conf, 0, &wh_dds_channel_table, name, &options);
	most = options.window * options.message_bytes;
	strcpy(out->name, name); /* as long as names of sections are at most */
	out->shape = (struct wh_dds_shape){(uint32_t)options.message_bytes, (uint32_t)options.window,
					   (uint64_t)options.large_bytes, false, false};
	if (out->shape.large_bytes < out->shape.message_bytes)
		out->shape.large_bytes = out->shape.message_bytes;
	if (strcmp(name, WH_DDS_OWN) == 0 || strcmp(name, WH_DDS_SHARED) == 0 || strcmp(name, WH_DDS_CONTROL) == 0 ||
	    strncmp(name, WH_DDS_OWN ".", strlen(WH_DDS_OWN ".")) == 0)
		wh_conf_mistake(conf, "channel", name, NULL,
				"the name has a meaning of its own, expected none of shared, own, own.*, dds.control");
	if (options.message_bytes % 16 != 0)
		wh_conf_mistake(conf, "channel", name, "message_bytes", "is %" PRId64 ", expected a multiple of 16",
				options.message_bytes);
	if ((int64_t)out->shape.large_bytes > most)
		wh_conf_mistake(conf, "channel", name, "large_bytes",
				"is %" PRIu64 ", expected at most window times message_bytes, %" PRId64,
				out->shape.large_bytes, most);
}

static bool is_channel(const struct wh_conf *conf, const char *name, const struct wh_dds_names *names)
{
	return strcmp(name, WH_DDS_OWN) == 0 || strcmp(name, WH_DDS_SHARED) == 0 ||
	       wh_conf_has(conf, "channel", name) || names->is_shared(name);
}

static void bind_topic(struct wh_conf *conf, const char *pattern, const struct wh_dds_names *names,
		       struct wh_dds_topic_setting *out)
{
	struct topic_options options;

	wh_conf_bind(conf, 0, &wh_dds_topic_table, pattern, &options);
	strcpy(out->pattern, pattern);
	if (strlen(options.channel) < sizeof(out->channel) && is_channel(conf, options.channel, names))
		strcpy(out->channel, options.channel);
	else
		wh_conf_mistake(conf, "topic", pattern, "channel",
				"is \"%s\", expected shared, own, or the NAME of a section [channel NAME]",
				options.channel);
}

/* Where the file has a group, that has a key for it. */
static void check_directory(struct wh_conf *conf, const struct wh_dds_settings *settings)
{
	if (settings->directory[0] == '\0')
		return;
	if (settings->has_group)
		wh_conf_mistake(conf, "dds", NULL, "directory",
				"is \"%s\", expected none: the file has a group, and group.log_dir says where logs lie",
				settings->directory);
	else if (strlen(settings->directory) + sizeof(WH_DDS_DOMAIN_DIRECTORY) + 5 > WH_OPTION_TEXT_BYTES)
		wh_conf_mistake(conf, "dds", NULL, "directory", "is longer than %d bytes",
				(int)(WH_OPTION_TEXT_BYTES - sizeof(WH_DDS_DOMAIN_DIRECTORY) - 5));
}

/* A channel's subgroup is made of what its section [channel NAME] says. Of the keys of [subgroup NAME] those of its parameters would have to say
 * the same, and others have no meaning there, or break it: with sending_threads = one the second thread that writes is refused. */
static void check_subgroups(struct wh_conf *conf, const struct wh_dds_settings *settings,
			    const struct wh_dds_names *names)
{
	const char *name;

	for (size_t i = 0; (name = wh_conf_passed_name(conf, "subgroup", &i)) != NULL;)
		if (names->is_channel(settings, name))
			wh_conf_mistake(conf, "subgroup", name, NULL,
					"a channel of topics is called so, expected another name; [channel NAME] says "
					"what a channel has");
}

static enum whorl_result bind_all(struct wh_conf *conf, struct wh_dds_settings *settings,
				  const struct wh_dds_names *names)
{
	size_t channels = count_of(conf, "channel"), topics = count_of(conf, "topic");
	struct dds_options options;

	wh_conf_bind(conf, 0, &wh_dds_table, NULL, &options);
	set_options(settings, &options);
	settings->has_group = wh_conf_passed_over(conf, "group") || wh_conf_passed_over(conf, "node");
	check_directory(conf, settings);
	settings->channels = calloc(channels + 1, sizeof(*settings->channels));
	settings->topics = calloc(topics + 1, sizeof(*settings->topics));
	if (settings->channels == NULL || settings->topics == NULL)
		return WHORL_MEMORY;
	settings->channel_count = channels;
	settings->topic_count = topics;
	for (size_t i = 0; i < channels; i++)
		bind_channel(conf, wh_conf_instance(conf, "channel", i), &settings->channels[i]);
	for (size_t i = 0; i < topics; i++)
		bind_topic(conf, wh_conf_instance(conf, "topic", i), names, &settings->topics[i]);
	check_subgroups(conf, settings, names);
	return wh_conf_check(conf);
}

enum whorl_result wh_dds_settings_load(struct wh_dds_settings *settings, const char *file,
				       const struct wh_dds_names *names, char **mistakes)
{
	static const char *const others[] = {"group", "subgroup", "engine", "node"};
	struct wh_conf *conf = wh_conf_new(tables, COUNT(tables));
	enum whorl_result result;

	*mistakes = NULL;
	wh_dds_settings_init(settings);
	if (conf == NULL)
		return WHORL_MEMORY;
	for (size_t i = 0; i < COUNT(others); i++)
		wh_conf_ignore(conf, others[i]);
	result = wh_conf_load_file(conf, file);
	if (result == WHORL_OK)
		result = wh_conf_check(conf);
	if (result == WHORL_OK)
		result = bind_all(conf, settings, names);
	if (result != WHORL_OK)
		wh_dds_settings_free(settings);
	if (result == WHORL_CONFIG) {
		*mistakes = strdup(wh_conf_mistakes(conf));
		result = *mistakes != NULL ? WHORL_CONFIG : WHORL_MEMORY;
	}
	wh_conf_free(conf);
	return result;
}
