/* crc32c.c - eight bytes a step: by an instruction of the processor, if it has one, else by eight tables.
 *
 * A CRC is linear: the entry of a byte is the sum (xor) of the entries of its bits. So each table follows from eight
 * numbers, the entries of 1, 2, 4 ... 128, and the compiler makes the tables. The numbers are the polynomial
 * 0x82f63b78 (bits reversed) and its successors, one bit further each: read them from right to left, top to bottom.
 */
#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>

#define ENTRY(b, p0, p1, p2, p3, p4, p5, p6, p7)                                                                       \
	(((b)&1 ? (p0) : 0) ^ ((b)&2 ? (p1) : 0) ^ ((b)&4 ? (p2) : 0) ^ ((b)&8 ? (p3) : 0) ^ ((b)&16 ? (p4) : 0) ^     \
	 ((b)&32 ? (p5) : 0) ^ ((b)&64 ? (p6) : 0) ^ ((b)&128 ? (p7) : 0))
#define ENTRIES_4(b, ...)                                                                                              \
	ENTRY(b, __VA_ARGS__), ENTRY((b) + 1, __VA_ARGS__), ENTRY((b) + 2, __VA_ARGS__), ENTRY((b) + 3, __VA_ARGS__)
#define ENTRIES_16(b, ...)                                                                                             \
	ENTRIES_4(b, __VA_ARGS__), ENTRIES_4((b) + 4, __VA_ARGS__), ENTRIES_4((b) + 8, __VA_ARGS__),                   \
		ENTRIES_4((b) + 12, __VA_ARGS__)
#define ENTRIES_64(b, ...)                                                                                             \
	ENTRIES_16(b, __VA_ARGS__), ENTRIES_16((b) + 16, __VA_ARGS__), ENTRIES_16((b) + 32, __VA_ARGS__),              \
		ENTRIES_16((b) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                                     \
	{                                                                                                              \
		ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__),                 \
			ENTRIES_64(192, __VA_ARGS__)                                                                   \
	}

/* after[k][b]: what byte b becomes when k more bytes have followed it. */
static const uint32_t after[8][256] = {
	TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78),
	TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9),
	TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743),
	TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f),
	TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c),
	TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6),
	TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4),
	TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664),
};

static uint32_t step_byte(uint32_t crc, unsigned char byte)
{
	return (crc >> 8) ^ after[0][(crc ^ byte) & 0xff];
}

/* The bytes are put together by their place, so that the order of bytes in the machine does not matter; on a
 * little-endian one the compiler makes a single load of it. */
static uint32_t load_four(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t sum_by_tables(uint32_t crc, const unsigned char *p, size_t bytes)
{
	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint32_t low = load_four(p) ^ crc;
		uint32_t high = load_four(p + 4);

		crc = after[7][low & 0xff] ^ after[6][low >> 8 & 0xff] ^ after[5][low >> 16 & 0xff] ^
		      after[4][low >> 24] ^ after[3][high & 0xff] ^ after[2][high >> 8 & 0xff] ^
		      after[1][high >> 16 & 0xff] ^ after[0][high >> 24];
	}
	for (; bytes > 0; bytes--, p++)
		crc = step_byte(crc, *p);
	return crc;
}

#if defined(__x86_64__)

#define HAS_INSTRUCTION() __builtin_cpu_supports("sse4.2")

__attribute__((target("sse4.2"))) static uint32_t sum_by_instruction(uint32_t crc, const unsigned char *p, size_t bytes)
{
	uint64_t sum = crc, eight;

	for (; bytes >= sizeof eight; bytes -= sizeof eight, p += sizeof eight) {
		memcpy(&eight, p, sizeof eight);
		sum = __builtin_ia32_crc32di(sum, eight);
	}
	crc = (uint32_t)sum;
	for (; bytes > 0; bytes--, p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}

#else

#define HAS_INSTRUCTION() false

static uint32_t sum_by_instruction(uint32_t crc, const unsigned char *p, size_t bytes)
{
	return sum_by_tables(crc, p, bytes);
}

#endif

uint32_t wh_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	return ~(HAS_INSTRUCTION() ? sum_by_instruction(~crc, data, bytes) : sum_by_tables(~crc, data, bytes));
}

uint32_t wh_crc32c_by_tables(uint32_t crc, const void *data, size_t bytes)
{
	return ~sum_by_tables(~crc, data, bytes);
}
