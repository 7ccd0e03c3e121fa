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
typedef uint64_t __attribute__((vector_size(2 * sizeof(word)))) two;
typedef uint64_t __attribute__((vector_size(4 * sizeof(word)))) four;
typedef uint64_t __attribute__((vector_size(8 * sizeof(word)))) eight;

/* Fills the whole lines among `words` words. Returns how many words they have. */
typedef size_t fill_lines_fn(word *out, size_t words, uint64_t seed);

/* Reads `words` words, whole lines. Per lane two sums, of the words and of the running sums: the second weighs each word by its place.
 * All multipliers differ, so lanes that change places change the digest; that of a word is odd in all. */
typedef uint64_t digest_lines_fn(const word *in, size_t words);

/* With vectors of a type that the processor has: of wider ones a compiler makes what it can, and one that has two vectors to a line
 * took them to pieces by way of the stack, at a fifteenth of the speed. Text, and no function that is inlined: a compiler splits a wide
 * vector in a function before it is inlined in one that has wide vectors. */
#define LINES(way, isa, vector)                                                                                        \
	typedef vector __attribute__((may_alias, aligned(sizeof(word)))) vector##_of_message;                          \
	enum { vector##s = LANES * sizeof(word) / sizeof(vector), vector##_lanes = LANES / vector##s };                \
                                                                                                                       \
	static isa size_t fill_lines_##way(word *out, size_t words, uint64_t seed)                                     \
	{                                                                                                              \
		vector next[vector##s];                                                                                \
		size_t i = 0;                                                                                          \
                                                                                                                       \
		for (size_t l = 0; l < LANES; l++)                                                                     \
			next[l / vector##_lanes][l % vector##_lanes] = seed + l;                                       \
		for (; i + LANES <= words; i += LANES)                                                                 \
			for (size_t v = 0; v < vector##s; v++, out += vector##_lanes) {                                \
				*(vector##_of_message *)out = next[v];                                                 \
				next[v] += LANES;                                                                      \
			}                                                                                              \
		return i;                                                                                              \
	}                                                                                                              \
                                                                                                                       \
	static isa uint64_t digest_lines_##way(const word *in, size_t words)                                           \
	{                                                                                                              \
		vector sum[vector##s] = {{0}}, weighed[vector##s] = {{0}};                                             \
		uint64_t digest = 0;                                                                                   \
                                                                                                                       \
		for (size_t i = 0; i < words; i += LANES)                                                              \
			for (size_t v = 0; v < vector##s; v++, in += vector##_lanes) {                                 \
				sum[v] += *(const vector##_of_message *)in;                                            \
				weighed[v] += sum[v];                                                                  \
			}                                                                                              \
		for (size_t l = 0; l < LANES; l++)                                                                     \
			digest +=                                                                                      \
				sum[l / vector##_lanes][l % vector##_lanes] * (4 * l + WH_PAYLOAD_SPREAD) +            \
				2 * weighed[l / vector##_lanes][l % vector##_lanes] * (4 * l + 2 + WH_PAYLOAD_SPREAD); \
		return digest;                                                                                         \
	}

LINES(plain, , two)
#ifdef __x86_64__
LINES(half, __attribute__((target("avx2"))), four)
LINES(whole, __attribute__((target("avx512f"))), eight)
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
