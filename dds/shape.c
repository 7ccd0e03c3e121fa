/* shape.c - channels by their names: how large what they carry may be, and which one a topic lies on. See node.h.
 *
 * The name of a channel, which the registry has, says all that whorl_subgroup_enter wants: of one that is there without a file, of one of the
 * file, and of a topic's own: that name begins with the class of its samples' size.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "dds/node.h"

static const struct {
	const char *name, *own; /* the beginning of the name of a topic's own channel of that class */
	struct wh_dds_shape shape;
} shapes[] = {
	{WH_DDS_CONTROL, NULL, {4096, 32, 131072}},        {"dds.s.atomic", "own.s.", {256, 2048, 32768}},
	{"dds.s.stored", "own.s.", {256, 2048, 32768}},    {"dds.m.atomic", "own.m.", {2048, 256, 131072}},
	{"dds.m.stored", "own.m.", {2048, 256, 131072}},   {"dds.l.atomic", "own.l.", {16384, 64, 524288}},
	{"dds.l.stored", "own.l.", {16384, 64, 524288}},   {"dds.x.atomic", "own.x.", {524288, 16, 8388608}},
	{"dds.x.stored", "own.x.", {524288, 16, 8388608}},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OWN_BYTES 6 /* "own.s." */
#define SLOT_BYTES_MOST 16384

bool wh_dds_is_shared_channel(const char *channel)
{
	for (size_t i = 1; i < COUNT(shapes); i++)
		if (strcmp(shapes[i].name, channel) == 0)
			return true;
	return false;
}

bool wh_dds_shape_of(const struct wh_dds_settings *settings, const char *channel, struct wh_dds_shape *out)
{
	for (size_t i = 0; i < settings->channel_count; i++)
		if (strcmp(settings->channels[i].name, channel) == 0) {
			*out = settings->channels[i].shape;
			return true;
		}
	for (size_t i = 0; i < COUNT(shapes); i++)
		if (strcmp(shapes[i].name, channel) == 0 ||
		    (shapes[i].own != NULL && strncmp(shapes[i].own, channel, OWN_BYTES) == 0)) {
			*out = shapes[i].shape;
			return true;
		}
	return false;
}

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

/* The first in which that takes one slot, or else a sample at all. NULL: none does. */
static const char *shared_for(const struct wh_dds_settings *settings, const struct whorl_dds_type *type,
			      enum whorl_dds_consistency_kind consistency)
{
	size_t first = consistency == WHORL_DDS_CONSISTENCY_STORED ? 2 : 1;
	uint64_t most = most_bytes(type), slot = slot_bytes(type);
	const char *fits = NULL;
	struct wh_dds_shape shape;

	for (size_t i = first; i < COUNT(shapes); i += 2) {
		if (!wh_dds_shape_of(settings, shapes[i].name, &shape) || most > shape.large_bytes)
			continue;
		if (slot <= shape.message_bytes)
			return shapes[i].name;
		fits = shapes[i].name;
	}
	return fits;
}

/* The class and the name, where a channel may be called so; else what may stay of the name, and a number that follows from all of it. */
static void name_own(const char *topic, const char *class_name, char out[WH_DDS_CHANNEL_NAME_BYTES + 1])
{
	size_t length = strlen(topic), kept = length, room = WH_DDS_CHANNEL_NAME_BYTES - OWN_BYTES;
	uint64_t number = length;
	bool whole = length <= room;

	for (size_t i = 0; i < length; i++) {
		whole = whole && (isalnum((unsigned char)topic[i]) || strchr("_.-", topic[i]) != NULL);
		number = wh_dds_spread(number ^ (unsigned char)topic[i]);
	}
	if (!whole && kept > room - 17)
		kept = room - 17;
	memcpy(out, class_name, OWN_BYTES);
	for (size_t i = 0; i < kept; i++)
		out[OWN_BYTES + i] =
			isalnum((unsigned char)topic[i]) || strchr("_.-", topic[i]) != NULL ? topic[i] : '_';
	out[OWN_BYTES + kept] = '\0';
	if (!whole)
		snprintf(out + OWN_BYTES + kept, 18, ".%016llx", (unsigned long long)number);
}

static const char *setting_of(const struct wh_dds_settings *settings, const char *topic)
{
	for (size_t i = 0; i < settings->topic_count; i++)
		if (wh_dds_pattern_fits(settings->topics[i].pattern, topic))
			return settings->topics[i].channel;
	return WH_DDS_SHARED;
}

whorl_dds_return wh_dds_channel_of(const char *function, const struct wh_dds_settings *settings, const char *topic,
				   const struct whorl_dds_type *type, enum whorl_dds_consistency_kind consistency,
				   char out[WH_DDS_CHANNEL_NAME_BYTES + 1])
{
	const char *setting = setting_of(settings, topic), *shared = shared_for(settings, type, consistency);
	struct wh_dds_shape shape;

	if (strcmp(setting, WH_DDS_OWN) != 0 && strcmp(setting, WH_DDS_SHARED) != 0) {
		shape.large_bytes = 0;
		if (!wh_dds_shape_of(settings, setting, &shape) || most_bytes(type) > shape.large_bytes)
			return wh_dds_say(
				function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				"topic %s: a sample takes up to %llu bytes, and its channel %s has large_bytes = "
				"%llu",
				topic, (unsigned long long)most_bytes(type), setting,
				(unsigned long long)shape.large_bytes);
		snprintf(out, WH_DDS_CHANNEL_NAME_BYTES + 1, "%s", setting);
		return WHORL_DDS_RETCODE_OK;
	}
	if (shared == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "topic %s: no channel takes samples of %llu bytes", topic,
				  (unsigned long long)most_bytes(type));
	if (strcmp(setting, WH_DDS_SHARED) == 0) {
		snprintf(out, WH_DDS_CHANNEL_NAME_BYTES + 1, "%s", shared);
		return WHORL_DDS_RETCODE_OK;
	}
	for (size_t i = 1; i < COUNT(shapes); i++)
		if (strcmp(shapes[i].name, shared) == 0)
			name_own(topic, shapes[i].own, out);
	return WHORL_DDS_RETCODE_OK;
}
