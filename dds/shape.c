/* shape.c - channels by their names: how large what they carry may be, and which one a topic lies on. See node.h.
 *
 * The name of a channel, which the registry has, says all that whorl_subgroup_enter wants: of one that is there without a file, of one of the
 * file, and of a topic's own: that name begins with the class of its samples' size. It says, too, whether the channel is for unordered or logged topics.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "dds/node.h"

#define KINDS 4 /* of channels in each class: enum whorl_dds_consistency_kind */

static const struct {
	const char *own;          /* the beginning of the name of a topic's own channel of that class */
	const char *loose;        /* the same, of an unordered topic */
	const char *logged;       /* of a logged one */
	const char *names[KINDS]; /* of those that are shared, by consistency */
	struct wh_dds_shape shape;
} classes[] = {
	{"own.s.",
	 "own.us.",
	 "own.ds.",
	 {"dds.s.unordered", "dds.s.atomic", "dds.s.stored", "dds.s.logged"},
	 {256, 2048, 32768, false, false}},
	{"own.m.",
	 "own.um.",
	 "own.dm.",
	 {"dds.m.unordered", "dds.m.atomic", "dds.m.stored", "dds.m.logged"},
	 {2048, 256, 131072, false, false}},
	/* For bytes of any number that may be very many: small ones have a window as others have, and each of the largest has room. Slots are an odd
	   number of lines apart, so that their beginnings do not share a few places of the processor's caches. */
	{"own.b.",
	 "own.ub.",
	 "own.db.",
	 {"dds.b.unordered", "dds.b.atomic", "dds.b.stored", "dds.b.logged"},
	 {1088, 2048, 524288, false, false}},
	{"own.l.",
	 "own.ul.",
	 "own.dl.",
	 {"dds.l.unordered", "dds.l.atomic", "dds.l.stored", "dds.l.logged"},
	 {16384, 64, 524288, false, false}},
	{"own.x.",
	 "own.ux.",
	 "own.dx.",
	 {"dds.x.unordered", "dds.x.atomic", "dds.x.stored", "dds.x.logged"},
	 {524288, 16, 8388608, false, false}},
};
static const struct wh_dds_shape control = {4096, 32, 131072, false, false};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SLOT_BYTES_MOST 16384
#define UNORDERED ".unordered" /* how the name of such a channel ends, if it is no topic's own */
#define LOGGED ".logged"       /* the same */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
	size_t length = strlen(text), end = strlen(with);

	return length > end && strcmp(text + length - end, with) == 0;
}

static bool is_unordered(const char *channel)
{
	return begins(channel, WH_DDS_OWN ".") ? begins(channel, WH_DDS_OWN ".u") : ends(channel, UNORDERED);
}

static bool is_logged(const char *channel)
{
	return begins(channel, WH_DDS_OWN ".") ? begins(channel, WH_DDS_OWN ".d") : ends(channel, LOGGED);
}

static bool is_shared(const char *channel)
{
	for (size_t i = 0; i < COUNT(classes); i++)
		for (size_t kind = 0; kind < KINDS; kind++)
			if (strcmp(classes[i].names[kind], channel) == 0)
				return true;
	return false;
}

/* One of the file; with `bytes` of its name. */
static bool find_setting(const struct wh_dds_settings *settings, const char *channel, size_t bytes,
			 struct wh_dds_shape *out)
{
	for (size_t i = 0; i < settings->channel_count; i++)
		if (strlen(settings->channels[i].name) == bytes &&
		    strncmp(settings->channels[i].name, channel, bytes) == 0) {
			*out = settings->channels[i].shape;
			return true;
		}
	return false;
}

static bool find_shape(const struct wh_dds_settings *settings, const char *channel, struct wh_dds_shape *out)
{
	size_t length = strlen(channel);

	if (find_setting(settings, channel, length, out))
		return true;
	for (size_t i = 0; i < COUNT(classes); i++) {
		bool is = begins(channel, classes[i].own) || begins(channel, classes[i].loose) ||
			  begins(channel, classes[i].logged);

		for (size_t kind = 0; kind < KINDS; kind++)
			is = is || strcmp(classes[i].names[kind], channel) == 0;
		if (is) {
			*out = classes[i].shape;
			return true;
		}
	}
	*out = control;
	return strcmp(channel, WH_DDS_CONTROL) == 0 ||
	       (is_unordered(channel) && find_setting(settings, channel, length - strlen(UNORDERED), out)) ||
	       (is_logged(channel) && find_setting(settings, channel, length - strlen(LOGGED), out));
}

bool wh_dds_shape_of(const struct wh_dds_settings *settings, const char *channel, struct wh_dds_shape *out)
{
	bool found = find_shape(settings, channel, out);

	out->unordered = is_unordered(channel);
	out->durable = is_logged(channel);
	return found;
}

static bool is_channel(const struct wh_dds_settings *settings, const char *name)
{
	struct wh_dds_shape shape;

	return wh_dds_shape_of(settings, name, &shape);
}

const struct wh_dds_names wh_dds_channel_names = {.is_shared = is_shared, .is_channel = is_channel};

/* ---- topics -------------------------------------------------------------------------------------------------------------------- */

/* What its largest sample takes, with its head. */
static uint64_t most_bytes(const struct whorl_dds_type *type)
{
	uint64_t bytes = (type->flags & WHORL_DDS_TYPE_BYTES) != 0 ? type->bytes_max : type->bytes;

	return bytes + WH_DDS_HEAD_BYTES + WH_DDS_KEY_BYTES;
}

/* What is to lie in one slot: all of a sample, but of bytes of any number that may be very many only the head, or each small one would
 * have a slot for the largest. */
static uint64_t slot_bytes(const struct whorl_dds_type *type)
{
	uint64_t most = most_bytes(type);

	return (type->flags & WHORL_DDS_TYPE_BYTES) == 0 || most <= SLOT_BYTES_MOST
		       ? most
		       : type->bytes + WH_DDS_HEAD_BYTES + WH_DDS_KEY_BYTES;
}

/* The class of the first in which a sample takes one slot, or else at all. COUNT(classes): none does. */
static size_t shared_for(const struct wh_dds_settings *settings, const struct whorl_dds_type *type,
			 enum whorl_dds_consistency_kind consistency)
{
	uint64_t most = most_bytes(type), slot = slot_bytes(type);
	size_t fits = COUNT(classes);
	struct wh_dds_shape shape;

	for (size_t i = 0; i < COUNT(classes); i++) {
		if (!wh_dds_shape_of(settings, classes[i].names[consistency], &shape) || most > shape.large_bytes)
			continue;
		if (slot <= shape.message_bytes)
			return i;
		fits = i;
	}
	return fits;
}

/* The class and the name, where a channel may be called so; else what may stay of the name, and a number that follows from all of it. */
static void name_own(const char *topic, const char *class_name, char out[WH_DDS_CHANNEL_NAME_BYTES + 1])
{
	size_t length = strlen(topic), kept = length, begin = strlen(class_name),
	       room = WH_DDS_CHANNEL_NAME_BYTES - begin;
	uint64_t number = length;
	bool whole = length <= room;

	for (size_t i = 0; i < length; i++) {
		whole = whole && (isalnum((unsigned char)topic[i]) || strchr("_.-", topic[i]) != NULL);
		number = wh_dds_spread(number ^ (unsigned char)topic[i]);
	}
	if (!whole && kept > room - 17)
		kept = room - 17;
	memcpy(out, class_name, begin);
	for (size_t i = 0; i < kept; i++)
		out[begin + i] = isalnum((unsigned char)topic[i]) || strchr("_.-", topic[i]) != NULL ? topic[i] : '_';
	out[begin + kept] = '\0';
	if (!whole)
		snprintf(out + begin + kept, 18, ".%016llx", (unsigned long long)number);
}

static const char *setting_of(const struct wh_dds_settings *settings, const char *topic)
{
	for (size_t i = 0; i < settings->topic_count; i++)
		if (wh_dds_pattern_fits(settings->topics[i].pattern, topic))
			return settings->topics[i].channel;
	return WH_DDS_SHARED;
}

/* A channel of the file has the sizes for unordered and logged topics, too, which are on others of its name. */
static whorl_dds_return take_setting(const char *function, const struct wh_dds_settings *settings, const char *topic,
				     uint64_t most, const char *setting, enum whorl_dds_consistency_kind consistency,
				     char out[WH_DDS_CHANNEL_NAME_BYTES + 1])
{
	bool unordered = consistency == WHORL_DDS_CONSISTENCY_UNORDERED,
	     logged = consistency == WHORL_DDS_CONSISTENCY_LOGGED;
	const char *is = wh_dds_consistency_name(consistency), *suffix = "";
	struct wh_dds_shape shape;

	if (!wh_dds_shape_of(settings, setting, &shape) || most > shape.large_bytes)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "topic %s: a sample takes up to %llu bytes, and its channel %s has large_bytes = "
				  "%llu",
				  topic, (unsigned long long)most, setting, (unsigned long long)shape.large_bytes);
	if ((shape.unordered && !unordered) || (shape.durable && !logged))
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "topic %s: its channel %s is for %s topics", topic, setting,
				  shape.unordered ? "unordered" : "logged");
	if ((unordered && !shape.unordered) || (logged && !shape.durable))
		suffix = unordered ? UNORDERED : LOGGED;
	if (strlen(setting) + strlen(suffix) > WH_DDS_CHANNEL_NAME_BYTES)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "topic %s is %s, and %s%s is too long for the name of its channel", topic, is,
				  setting, suffix);
	if (suffix[0] != '\0' && is_shared(setting))
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "topic %s is %s, and channel %s is not",
				  topic, is, setting);
	memcpy(out, setting, strlen(setting) + 1);
	memcpy(out + strlen(setting), suffix, strlen(suffix) + 1);
	return WHORL_DDS_RETCODE_OK;
}

/* What the name of a topic's own channel begins with. */
static const char *own_of(size_t at, enum whorl_dds_consistency_kind consistency)
{
	switch (consistency) {
	case WHORL_DDS_CONSISTENCY_UNORDERED:
		return classes[at].loose;
	case WHORL_DDS_CONSISTENCY_LOGGED:
		return classes[at].logged;
	default:
		return classes[at].own;
	}
}

whorl_dds_return wh_dds_channel_of(const char *function, const struct wh_dds_settings *settings, const char *topic,
				   const struct whorl_dds_type *type, enum whorl_dds_consistency_kind consistency,
				   char out[WH_DDS_CHANNEL_NAME_BYTES + 1])
{
	const char *setting = setting_of(settings, topic);
	size_t at;

	if (strcmp(setting, WH_DDS_OWN) != 0 && strcmp(setting, WH_DDS_SHARED) != 0)
		return take_setting(function, settings, topic, most_bytes(type), setting, consistency, out);
	at = shared_for(settings, type, consistency);
	if (at == COUNT(classes))
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "topic %s: no channel takes samples of %llu bytes", topic,
				  (unsigned long long)most_bytes(type));
	if (strcmp(setting, WH_DDS_SHARED) == 0)
		snprintf(out, WH_DDS_CHANNEL_NAME_BYTES + 1, "%s", classes[at].names[consistency]);
	else
		name_own(topic, own_of(at, consistency), out);
	return WHORL_DDS_RETCODE_OK;
}
