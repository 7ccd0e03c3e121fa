/* test_ddsc_type_memory.c - memory is out: at every allocation that making a type, and reading a sample, makes, in turn.
 * Labels: nosan
 *
 * Each time it is said so, nothing is left behind, and a sample can be read into again.
 */
#include "ddsc/type/type_int.h"
#include "tests/harness.h"
#include "tests/support/descriptors.h"
#include "tests/unit/refuse.h"

static struct wh_error err;
static struct wh_ddsc_type *type;

TEST(a_type_is_made_or_nothing)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	long allocations = 0, was;

	ck_assert_ptr_null(type); /* Check has its memory */
	was = live;
	for (; result != WHORL_DDS_RETCODE_OK; allocations++) {
		ck_assert_int_lt(allocations, 500);
		refuse_at = allocations;
		result = wh_ddsc_type_create(&type, &all_descriptor, &err);
		refuse_at = -1;
		if (result == WHORL_DDS_RETCODE_OK)
			break;
		ck_assert_int_eq(result, WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
		ck_assert_ptr_nonnull(strstr(err.text, "no memory"));
		ck_assert_ptr_null(type);
		ck_assert_int_eq(live, was);
	}
	ck_assert_int_ge(allocations, 30);
	wh_ddsc_type_free(type);
	ck_assert_int_eq(live, was);
}

TEST(a_sample_is_read_or_can_be_read_again)
{
	char *texts[2] = {(char[]){"one"}, (char[]){"two"}}, *more[3] = {texts[0], texts[1], (char[]){"longer"}};
	struct part parts[1] = {{1.5, "part", true}};
	uint16_t numbers[] = {1, 2, 3};
	struct wh_ddsc_sequence lists[1] = {{3, 3, numbers, false}};
	struct all sample = {.text = (char[]){"text"},
			     .bytes = {3, 3, (unsigned char[]){1, 2, 3}, false},
			     .more_parts = {1, 1, parts, false},
			     .texts = {2, 2, texts, false},
			     .lists = {1, 1, lists, false}},
		   read = {.text = NULL};
	unsigned char bytes[512], longer[512];
	size_t count, longer_count;
	long allocations = 0, was = live;

	ck_assert_int_eq(wh_ddsc_type_create(&type, &all_descriptor, &err), WHORL_DDS_RETCODE_OK);
	count = wh_ddsc_encode(type, WH_DDSC_XCDR2, &sample, bytes, sizeof(bytes));
	sample.texts = (struct wh_ddsc_sequence){3, 3, more, false};
	sample.text = (char[]){"a longer text"};
	longer_count = wh_ddsc_encode(type, WH_DDSC_XCDR2, &sample, longer, sizeof(longer));
	for (bool ok = false; !ok; allocations++) {
		ck_assert_int_lt(allocations, 50);
		refuse_at = allocations;
		ok = wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, count, &read, &err) &&
		     wh_ddsc_decode(type, WH_DDSC_XCDR2, false, longer, longer_count, &read, &err);
		refuse_at = -1;
		if (!ok) {
			ck_assert_ptr_nonnull(strstr(err.text, "than there is memory for"));
			ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, count, &read, &err));
			ck_assert_str_eq(((char **)read.texts.buffer)[1], "two");
			wh_ddsc_sample_clear(type, &read);
		}
	}
	ck_assert_int_ge(allocations, 10);
	ck_assert_str_eq(((char **)read.texts.buffer)[2], "longer");
	wh_ddsc_sample_clear(type, &read);
	wh_ddsc_type_free(type);
	ck_assert_int_eq(live, was);
}

TEST_SUITE("ddsc_type_memory")
