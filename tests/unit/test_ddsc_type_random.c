/* test_ddsc_type_random.c - samples at random come back as they were; bytes of samples that are changed are refused, or are those that they are
 * read from; and a sample that was read before does not change what is read into it.
 * Labels: random
 */
#include "tests/harness.h"
#include "tests/support/descriptors.h"
#include "tests/support/sample_lab.h"

#define SAMPLES 400
#define ROOM 8192

static const struct wh_ddsc_descriptor *const descriptors[] = {&keyed_descriptor, &all_descriptor,  &older_descriptor,
							       &newer_descriptor, &many_descriptor, &mixed_descriptor};
#define TYPES ((int)(sizeof(descriptors) / sizeof(*descriptors)))

static struct sample_lab lab;
static unsigned char bytes[ROOM];

static void begin(int i, uint64_t seed)
{
	struct wh_error err = {.text = ""};

	ck_assert_msg(sample_lab_init(&lab, descriptors[i], test_seed(seed), &err), "%s", err.text);
}

static enum wh_ddsc_form draw_form(void)
{
	return lab.shape->is_final && sample_lab_draw(&lab, 2) == 0 ? WH_DDSC_XCDR1 : WH_DDSC_XCDR2;
}

static size_t encode(enum wh_ddsc_form form, const void *sample)
{
	size_t count = wh_ddsc_encoded_bytes(lab.type, form, sample, NULL);

	ck_assert_uint_le(count, ROOM);
	ck_assert_uint_eq(wh_ddsc_encode(lab.type, form, sample, bytes, count), count);
	return count;
}

TEST_CASE("all", .timeout_s = 60);

TEST_LOOP(samples_come_back, 0, TYPES)
{
	void *old;

	begin(_i, 1);
	old = sample_lab_zero(&lab);
	for (int i = 0; i < SAMPLES; i++) {
		enum wh_ddsc_form form = draw_form();
		void *sample = sample_lab_new(&lab);
		size_t count = encode(form, sample);

		ck_assert(wh_ddsc_decode(lab.type, form, false, bytes, count, old, NULL));
		ck_assert(sample_lab_same(&lab, sample, old));
		if (form == WH_DDSC_XCDR2)
			ck_assert_uint_le(count, lab.shape->bytes_max);
		sample_lab_drop(&lab, sample);
	}
	sample_lab_drop(&lab, old);
	sample_lab_free(&lab);
}

TEST_LOOP(bytes_that_are_changed, 0, TYPES)
{
	void *read;

	begin(_i, 2);
	read = sample_lab_zero(&lab);
	for (int i = 0; i < 20 * SAMPLES; i++) {
		enum wh_ddsc_form form = draw_form();
		void *sample = sample_lab_new(&lab), *again = sample_lab_zero(&lab);
		size_t count = encode(form, sample);

		for (uint32_t k = sample_lab_draw(&lab, 4); k > 0 && count > 0; k--)
			bytes[sample_lab_draw(&lab, (uint32_t)count)] = (unsigned char)sample_lab_draw(&lab, 256);
		count -= sample_lab_draw(&lab, 8) == 0 ? sample_lab_draw(&lab, (uint32_t)count) : 0;
		if (wh_ddsc_decode(lab.type, form, sample_lab_draw(&lab, 4) == 0, bytes, count, read, NULL)) {
			count = encode(form, read);
			ck_assert(wh_ddsc_decode(lab.type, form, false, bytes, count, again, NULL));
			ck_assert(sample_lab_same(&lab, read, again));
		}
		sample_lab_drop(&lab, sample);
		sample_lab_drop(&lab, again);
	}
	sample_lab_drop(&lab, read);
	sample_lab_free(&lab);
}

TEST_SUITE("ddsc_type_random")
