/* fuzz_dds.c - any bytes as what members of a channel say, or of the control channel, or as the state of one: nothing may break, what is accepted is
 * written in one way only, and a newcomer is the same as the one that it has its state from. The first byte says as what the rest is taken:
 *
 *     m   messages of a channel: each with its length (two bytes) and its sender (one) before it; a length of 0 is a view, without that sender
 *     s   the state of a channel
 *     u   messages of unordered topics, as m; from 128 on the sender says them on a stream
 *     t   the state of unordered topics
 *     r   messages of the control channel, as m
 *     n   the state of a registry
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_dds
 *     export WHORL_SEEDS=CORPUS_DIRECTORY; build/fuzz/tests/test_dds_channel; build/fuzz/tests/test_dds_registry
 *     build/fuzz/tests/fuzz/fuzz_dds -max_total_time=600 -max_len=4200 CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "dds/channel/channel.h"
#include "dds/channel/registry.h"

#define NODES 3
#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

struct input {
	const uint8_t *at;
	size_t left;
};

static size_t take(struct input *in, unsigned bytes)
{
	size_t value = 0;

	for (; bytes > 0 && in->left > 0; bytes--, in->left--)
		value = value << 8 | *in->at++;
	return value;
}

/* As bytes in one piece, to be freed. */
static unsigned char *flatten(struct wh_dds_out *out, size_t *count)
{
	struct wh_dds_cursor cursor = {0, 0, 0};
	unsigned char *bytes;

	REQUIRE(!out->failed);
	*count = wh_dds_out_bytes(out);
	bytes = malloc(*count);
	REQUIRE(wh_dds_out_read(out, &cursor, bytes, *count) == *count);
	wh_dds_out_free(out);
	return bytes;
}

enum way { CHANNEL, UNORDERED, CONTROL };

static struct wh_dds_channel *new_channel(enum way way)
{
	const struct wh_dds_channel_config config = {
		.node = 1, .incarnation = 101, .all = true, .unordered = way == UNORDERED};

	return wh_dds_channel_new(&config);
}

static struct wh_dds_registry *new_registry(void)
{
	return wh_dds_registry_new(&(struct wh_dds_registry_config){.node = 1, .incarnation = 101, .all = true});
}

/* What is a state is written so. */
static void try_channel_state(const void *bytes, size_t count, enum way way)
{
	struct wh_dds_channel *channel = new_channel(way);
	struct wh_dds_out out = {.bytes = NULL};

	if (wh_dds_channel_restore(channel, bytes, count, 0) == WHORL_OK) {
		size_t again;
		unsigned char *written;

		wh_dds_channel_save(channel, &out);
		written = flatten(&out, &again);
		REQUIRE(again == count && memcmp(written, bytes, count) == 0);
		free(written);
	}
	wh_dds_channel_free(channel);
}

static void try_registry_state(const void *bytes, size_t count)
{
	struct wh_dds_registry *registry = new_registry();
	struct wh_dds_out out = {.bytes = NULL};

	if (wh_dds_registry_restore(registry, bytes, count) == WHORL_OK) {
		size_t again;
		unsigned char *written;

		wh_dds_registry_save(registry, &out);
		written = flatten(&out, &again);
		REQUIRE(again == count && memcmp(written, bytes, count) == 0);
		free(written);
	}
	wh_dds_registry_free(registry);
}

static uint32_t members(struct wh_dds_member *out, size_t without)
{
	uint32_t count = 0;

	for (uint32_t node = 1; node <= NODES; node++)
		if (node != without)
			out[count++] = (struct wh_dds_member){.node = node, .incarnation = 100 + node};
	return count;
}

/* Nothing more comes of writers that have ended. */
static void finish_all(struct wh_dds_channel *channel)
{
	struct wh_dds_endpoint *writer;

	while ((writer = wh_dds_channel_lingering(channel, 0)) != NULL)
		REQUIRE(wh_dds_channel_finish(channel, writer, 0) == WHORL_OK);
}

static void try_messages(struct input in, enum way way)
{
	bool control = way == CONTROL;
	struct wh_dds_channel *channel = control ? NULL : new_channel(way);
	struct wh_dds_registry *registry = control ? new_registry() : NULL;
	struct wh_dds_from from = {0};
	struct wh_dds_out out = {.bytes = NULL};
	struct wh_dds_member now[NODES];
	unsigned char *state, due[WH_DDS_DUE_BYTES];
	int64_t next_ns;
	size_t bytes;
	uint32_t count = members(now, 0);

	for (bool begins = true; in.left > 0 || begins; begins = false) {
		size_t length = begins ? 0 : take(&in, 2), said = begins ? 0 : take(&in, 1),
		       sender = said % (NODES + 1);

		if (length == 0) {
			if (way == UNORDERED)
				finish_all(channel);
			count = members(now, sender);
			from.place = (struct wh_dds_place){from.place.view + 1, 0};
			REQUIRE((control ? wh_dds_registry_view(registry, from.place.view, now, count)
					 : wh_dds_channel_view(channel, from.place.view, now, count)) == WHORL_OK);
			continue;
		}
		length = length < in.left ? length : in.left;
		from.node = (uint32_t)sender;
		from.incarnation = 100 + sender;
		REQUIRE((control ? wh_dds_registry_apply(registry, &from, in.at, length)
			 : way == UNORDERED && said >= 128
				 ? wh_dds_channel_hear(channel, &from, in.at, length, 0)
				 : wh_dds_channel_apply(channel, &from, in.at, length, (int64_t)from.place.sequence)) ==
			WHORL_OK);
		in.at += length;
		in.left -= length;
		from.place.sequence++;
	}
	if (control) {
		wh_dds_registry_save(registry, &out);
	} else {
		(void)wh_dds_channel_due(channel, INT64_MAX / 2, due, &next_ns);
		wh_dds_channel_save(channel, &out);
	}
	state = flatten(&out, &bytes);
	if (control) {
		struct wh_dds_registry *newcomer = new_registry();

		REQUIRE(wh_dds_registry_restore(newcomer, state, bytes) == WHORL_OK);
		wh_dds_registry_free(newcomer);
		try_registry_state(state, bytes);
	} else {
		struct wh_dds_channel *newcomer = new_channel(way);

		REQUIRE(wh_dds_channel_restore(newcomer, state, bytes, 0) == WHORL_OK);
		wh_dds_channel_free(newcomer);
		try_channel_state(state, bytes, way);
	}
	free(state);
	wh_dds_channel_free(channel);
	wh_dds_registry_free(registry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	switch (data[0]) {
	case 'm':
	case 'u':
	case 'r':
		try_messages((struct input){data + 1, size - 1}, data[0] == 'm'   ? CHANNEL
								 : data[0] == 'u' ? UNORDERED
										  : CONTROL);
		break;
	case 's':
	case 't':
		try_channel_state(data + 1, size - 1, data[0] == 's' ? CHANNEL : UNORDERED);
		break;
	case 'n':
		try_registry_state(data + 1, size - 1);
		break;
	default:
		break;
	}
	return 0;
}
