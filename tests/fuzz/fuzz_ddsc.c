/* fuzz_ddsc.c - any bytes as samples of types that idlc could describe, and any words as descriptors. The first byte says which:
 *
 *     0 to 5   a sample of a type of tests/support/descriptors.h; the second byte says its form, and its byte order. What is accepted is written in
 *              one way only, and that is read as the same.
 *     d        a descriptor: the sizes of struct and key, its words, and behind them bytes that are a sample of it, if it is one
 *
 *     n        what is said of members' names, of a member in a member: they are found or not
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_ddsc
 *     build/fuzz/tests/fuzz/fuzz_ddsc -max_total_time=600 -max_len=1000 CORPUS_DIRECTORY
 */
#include <stdlib.h>

#include "ddsc/type/names.h"
#include "ddsc/type/type_int.h"
#include "tests/support/descriptors.h"

#define WORDS_MAX 128
#define BYTES_MAX 4096 /* of a struct that a descriptor has */
#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static const struct wh_ddsc_descriptor *const descriptors[] = {&keyed_descriptor, &all_descriptor,  &older_descriptor,
							       &newer_descriptor, &many_descriptor, &mixed_descriptor};

/* A sample that was read is written, and read again, and written: the same. */
static void write_again(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample)
{
	size_t count = wh_ddsc_encoded_bytes(type, form, sample, NULL);
	unsigned char *bytes, *again;
	void *read = calloc(1, wh_ddsc_type_shape(type)->bytes);

	REQUIRE(count != SIZE_MAX && count <= (form == WH_DDSC_XCDR2 ? wh_ddsc_type_shape(type)->bytes_max : SIZE_MAX));
	bytes = malloc(count + 1);
	again = malloc(count + 1);
	REQUIRE(wh_ddsc_encode(type, form, sample, bytes, count) == count);
	REQUIRE(count == 0 || wh_ddsc_encode(type, form, sample, bytes, count - 1) == SIZE_MAX);
	REQUIRE(wh_ddsc_encode(type, form, sample, bytes, count) == count);
	REQUIRE(wh_ddsc_decode(type, form, false, bytes, count, read, NULL));
	REQUIRE(wh_ddsc_encode(type, form, read, again, count) == count);
	REQUIRE(memcmp(bytes, again, count) == 0);
	wh_ddsc_sample_clear(type, read);
	free(read);
	free(bytes);
	free(again);
}

static void try_keys(const struct wh_ddsc_type *type, enum wh_ddsc_form form, bool big, const void *sample,
		     const uint8_t *data, size_t size)
{
	size_t count = wh_ddsc_key_bytes(type, form, sample, NULL);
	unsigned char *bytes = malloc(count + 1);
	void *read = calloc(1, wh_ddsc_type_shape(type)->bytes);

	REQUIRE(count != SIZE_MAX);
	REQUIRE(wh_ddsc_key_encode(type, form, sample, bytes, count) == count);
	REQUIRE(wh_ddsc_key_decode(type, form, false, bytes, count, read, NULL));
	(void)wh_ddsc_key_decode(type, form, big, data, size, read, NULL);
	wh_ddsc_sample_clear(type, read);
	free(read);
	free(bytes);
}

static void try_sample(const struct wh_ddsc_type *type, uint8_t how, const uint8_t *data, size_t size)
{
	enum wh_ddsc_form form = how & 1 ? WH_DDSC_XCDR1 : WH_DDSC_XCDR2;
	void *sample = calloc(1, wh_ddsc_type_shape(type)->bytes);
	bool big = (how & 2) != 0;

	for (size_t half = how & 4 ? 2 : 1; half > 0; half--) { /* into one that was read before */
		if (!wh_ddsc_decode(type, form, big, data, size / half, sample, NULL))
			continue;
		write_again(type, form, sample);
		try_keys(type, form, big, sample, data, size);
	}
	wh_ddsc_sample_clear(type, sample);
	free(sample);
}

/* No sequence has elements so large that a few of them need more memory than the fuzzer has. */
static bool is_small(const struct wh_ddsc_type *type)
{
	const struct wh_ddsc_program *program = &type->programs[WH_DDSC_OF_SAMPLE][WH_DDSC_XCDR2 - 1][WH_DDSC_JOINED];

	for (uint32_t i = 0; i < program->step_count; i++)
		if (program->steps[i].bytes > 16 * BYTES_MAX)
			return false;
	return true;
}

static void try_descriptor(const uint8_t *data, size_t size)
{
	size_t count = size < 5 ? 0 : data[4] % (WORDS_MAX + 1);
	struct wh_ddsc_key_name keys[2] = {{"one", 0, 0}, {"two", 0, 1}};
	struct wh_ddsc_descriptor descriptor = {.align = 8, .name = "t", .keys = keys};
	struct wh_ddsc_type *type;
	uint32_t *words;

	if (size < 8 + 4 * count)
		return;
	descriptor.bytes = (data[0] | (uint32_t)data[1] << 8) % BYTES_MAX;
	descriptor.op_count = data[2];
	descriptor.key_count = data[3] % 3;
	keys[0].at = data[5];
	keys[1].at = data[6];
	words = malloc(4 * count + 1);
	memcpy(words, data + 8, 4 * count);
	descriptor.ops = words;
	if (wh_ddsc_type_create_of(&type, &descriptor, count, NULL) == WHORL_DDS_RETCODE_OK) {
		free(words); /* it is not needed any more */
		words = NULL;
		for (uint8_t i = 0; i < 2 && is_small(type); i++)
			try_sample(type, data[7] ^ i, data + 8 + 4 * count, size - 8 - 4 * count);
		wh_ddsc_type_free(type);
	}
	free(words);
}

static void try_names(const uint8_t *data, size_t size)
{
	struct wh_ddsc_descriptor descriptor = {.name = "m::opt"};
	const struct wh_ddsc_place places[] = {{data[0] % 8, data[0] >= 240}, {data[1] % 8, data[1] >= 240}};
	char name[64];

	descriptor.mapping = (struct wh_ddsc_blob){malloc(size - 1), (uint32_t)(size - 2)};
	memcpy(descriptor.mapping.bytes, data + 2, size - 2);
	for (uint32_t count = 1; count <= 2; count++)
		if (wh_ddsc_name_of(&descriptor, places, count, name, sizeof(name)))
			REQUIRE(strlen(name) > 0 && strlen(name) < sizeof(name));
	free(descriptor.mapping.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wh_ddsc_type *type;

	if (size < 2)
		return 0;
	if (data[0] == 'd') {
		try_descriptor(data + 1, size - 1);
	} else if (data[0] == 'n' && size > 3) {
		try_names(data + 1, size - 1);
	} else if (data[0] < sizeof(descriptors) / sizeof(*descriptors)) {
		REQUIRE(wh_ddsc_type_create(&type, descriptors[data[0]], NULL) == WHORL_DDS_RETCODE_OK);
		try_sample(type, data[1], data + 2, size - 2);
		wh_ddsc_type_free(type);
	}
	return 0;
}
