/* test_size.c - sizes in words: three digits, and never nothing of something. */
#include "base/size.h"

#include "tests/harness.h"

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{0, "0 B"},
	{1, "1 B"},
	{999, "999 B"},
	{1000, "1.00 kB"},
	{9994, "9.99 kB"},
	{9996, "10.0 kB"},
	{99940, "99.9 kB"},
	{99960, "100 kB"},
	{312000000, "312 MB"},
	{999499999, "999 MB"},
	{999500000, "1.00 GB"},
	{UINT64_MAX, "18.4 EB"},
};

TEST_LOOP(in_words, 0, sizeof(sizes) / sizeof(sizes[0]))
{
	char buf[WH_SIZE_BYTES];

	ck_assert_str_eq(wh_size_text(sizes[_i].bytes, buf, sizeof(buf)), sizes[_i].text);
}

TEST_SUITE("size")
