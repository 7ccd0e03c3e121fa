/* test_base_crc32c.c - CRC-32C: known answers, and the tables, and the instruction if there is one, against the definition. */
#include <string.h>

#include "base/crc32c.h"
#include "tests/harness.h"

typedef uint32_t sum_fn(uint32_t crc, const void *data, size_t bytes);

static sum_fn *const sums[] = {wh_crc32c, wh_crc32c_by_tables};

/* The examples of RFC 3720, B.4, and the customary one. */
TEST_LOOP(known_answers, 0, 2)
{
	unsigned char data[32];

	ck_assert_uint_eq(sums[_i](0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(sums[_i](0, "", 0), 0);
	memset(data, 0, sizeof(data));
	ck_assert_uint_eq(sums[_i](0, data, sizeof(data)), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	ck_assert_uint_eq(sums[_i](0, data, sizeof(data)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)i;
	ck_assert_uint_eq(sums[_i](0, data, sizeof(data)), 0x46dd794e);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(31 - i);
	ck_assert_uint_eq(sums[_i](0, data, sizeof(data)), 0x113fdb5c);
}

/* The definition: division by the polynomial, bit by bit. */
static uint32_t bit_by_bit(const unsigned char *data, size_t bytes)
{
	uint32_t crc = ~(uint32_t)0;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* Every byte at every place of a step of eight reaches every entry of every table. */
TEST_LOOP(every_entry_of_every_table, 0, 2)
{
	unsigned char data[8];

	for (int place = 0; place < 8; place++) {
		for (int byte = 0; byte < 256; byte++) {
			memset(data, 0x5a, sizeof(data));
			data[place] = (unsigned char)byte;
			ck_assert_uint_eq(sums[_i](0, data, 8), bit_by_bit(data, 8));
		}
	}
}

/* All lengths, all alignments, in one go and in two. */
TEST_LOOP(pieces_make_the_whole, 0, 2)
{
	unsigned char data[80];
	uint32_t state = 1;

	for (size_t i = 0; i < sizeof(data); i++) {
		state = state * 1664525 + 1013904223;
		data[i] = (unsigned char)(state >> 24);
	}
	for (size_t start = 0; start < 8; start++) {
		for (size_t bytes = 0; bytes <= 64; bytes++) {
			uint32_t whole = bit_by_bit(data + start, bytes);

			ck_assert_uint_eq(sums[_i](0, data + start, bytes), whole);
			for (size_t first = 0; first <= bytes; first++) {
				uint32_t crc = sums[_i](0, data + start, first);

				ck_assert_uint_eq(sums[_i](crc, data + start + first, bytes - first), whole);
			}
		}
	}
}

TEST_SUITE("crc32c")
