/* payload.c - see payload.h.
 *
 * Both functions go by lines of the cache, a vector for each, and do so in as many ways as processors have widths of vectors: the
 * widest that this one has is taken. A line that is written by one store costs the core that fills it less than one of four, and the
 * core that reads it too. All ways write and find the same.
 *
 * The vectors are spelled out: left to themselves, one compiler unrolls the loops and the next does not, and one version got a
 * loop over eight lanes wrong (tests/cli/test_figures.c looks at every byte of every way).
 */
#include "bench/limit/payload.h"

#include <string.h>

#define LANES 8 /* words of a line */

/* A message is bytes of no type: its words may alias anything. Its lines are aligned as its words are. */
typedef uint64_t __attribute__((may_alias)) word;
typedef uint64_t __attribute__((vector_size(LANES * sizeof(word)))) whole_line;
typedef uint64_t __attribute__((vector_size(LANES / 2 * sizeof(word)))) half_line;
typedef whole_line __attribute__((may_alias, aligned(sizeof(word)))) message_line;
typedef half_line __attribute__((may_alias, aligned(sizeof(word)))) message_half;

/* Fills the whole lines among `words` words. Returns how many words they have. */
typedef size_t fill_lines_fn(word *out, size_t words, uint64_t seed);

/* Reads `words` words, whole lines. Per lane two sums, of the words and of the running sums: the second weighs each word by its place.
 * All multipliers differ, so lanes that change places change the digest; that of a word is odd in all. */
typedef uint64_t digest_lines_fn(const word *in, size_t words);

/* Text, and no function that is inlined: a compiler splits a wide vector in a function before it is inlined in one that has
 * wide vectors. */
#define LINES(way, isa)                                                                                                \
	static isa size_t fill_lines_##way(word *out, size_t words, uint64_t seed)                                     \
	{                                                                                                              \
		whole_line next = (whole_line){0, 1, 2, 3, 4, 5, 6, 7} + seed;                                         \
		size_t i = 0;                                                                                          \
                                                                                                                       \
		for (; i + LANES <= words; i += LANES, next += LANES)                                                  \
			*(message_line *)(out + i) = next;                                                             \
		return i;                                                                                              \
	}                                                                                                              \
                                                                                                                       \
	static isa uint64_t digest_lines_##way(const word *in, size_t words)                                           \
	{                                                                                                              \
		whole_line sum = {0}, weighed = {0};                                                                   \
		uint64_t digest = 0;                                                                                   \
                                                                                                                       \
		for (size_t i = 0; i < words; i += LANES) {                                                            \
			sum += *(const message_line *)(in + i);                                                        \
			weighed += sum;                                                                                \
		}                                                                                                      \
		for (size_t l = 0; l < LANES; l++)                                                                     \
			digest += sum[l] * (4 * l + WH_PAYLOAD_SPREAD) +                                               \
				  2 * weighed[l] * (4 * l + 2 + WH_PAYLOAD_SPREAD);                                    \
		return digest;                                                                                         \
	}

LINES(plain, )
#ifdef __x86_64__
/* By halves of a line: a vector wider than the processor's goes through memory, as gcc 12 has it, and takes three times as long as no
 * vector at all. */
#define AVX2 __attribute__((target("avx2")))

static AVX2 size_t fill_lines_half(word *out, size_t words, uint64_t seed)
{
	half_line low = (half_line){0, 1, 2, 3} + seed, high = low + LANES / 2;
	size_t i = 0;

	for (; i + LANES <= words; i += LANES, low += LANES, high += LANES) {
		*(message_half *)(out + i) = low;
		*(message_half *)(out + i + LANES / 2) = high;
	}
	return i;
}

static AVX2 uint64_t digest_lines_half(const word *in, size_t words)
{
	half_line sum[2] = {{0}, {0}}, weighed[2] = {{0}, {0}};
	uint64_t digest = 0;

	for (size_t i = 0; i < words; i += LANES) {
		sum[0] += *(const message_half *)(in + i);
		sum[1] += *(const message_half *)(in + i + LANES / 2);
		weighed[0] += sum[0];
		weighed[1] += sum[1];
	}
	for (size_t l = 0; l < LANES; l++)
		digest += sum[l / 4][l % 4] * (4 * l + WH_PAYLOAD_SPREAD) +
			  2 * weighed[l / 4][l % 4] * (4 * l + 2 + WH_PAYLOAD_SPREAD);
	return digest;
}
LINES(whole, __attribute__((target("avx512f"))))
#endif

static const struct {
	fill_lines_fn *fill;
	digest_lines_fn *digest;
} ways[] = {
	{fill_lines_plain, digest_lines_plain},
#ifdef __x86_64__
	{fill_lines_half, digest_lines_half},
	{fill_lines_whole, digest_lines_whole},
#endif
};

unsigned wh_payload_ways(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx512f") ? 3 : __builtin_cpu_supports("avx2") ? 2 : 1;
#else
	return 1;
#endif
}

void wh_payload_fill_by(unsigned way, void *data, size_t bytes, uint64_t seed)
{
	word *out = data;
	size_t words = bytes / sizeof(word);
	uint64_t last = seed + words;

	for (size_t i = ways[way].fill(out, words, seed); i < words; i++)
		out[i] = seed + i;
	memcpy(out + words, &last, bytes % sizeof(word));
}

uint64_t wh_payload_digest_by(unsigned way, const void *data, size_t bytes)
{
	const word *in = data;
	size_t words = bytes / sizeof(word), whole = words / LANES * LANES;
	uint64_t digest = bytes, last = 0;

	if (whole > 0)
		digest += ways[way].digest(in, whole);
	for (size_t i = whole; i < words; i++)
		digest = wh_payload_mix(digest, in[i]);
	if (bytes % sizeof(word) != 0) {
		memcpy(&last, in + words, bytes % sizeof(word));
		digest = wh_payload_mix(digest, last);
	}
	return digest;
}

void wh_payload_fill(void *data, size_t bytes, uint64_t seed)
{
	wh_payload_fill_by(wh_payload_ways() - 1, data, bytes, seed);
}

uint64_t wh_payload_digest(const void *data, size_t bytes)
{
	return wh_payload_digest_by(wh_payload_ways() - 1, data, bytes);
}
