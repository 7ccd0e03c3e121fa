/* payload.c - see payload.h.
 *
 * Both functions go by lines of the cache, a vector for each, and do so in as many ways as processors have widths of vectors: the
 * widest that this one has is taken. A line that is written by one store costs the core that fills it less than one of four, and the
 * core that reads it too. All ways write and find the same.
 *
 * The vectors are spelled out: left to themselves, one compiler unrolls the loops and the next does not, and one version got a
 * loop over eight lanes wrong (tests/cli/test_figures.c looks at every byte of every way). What is done once for each message, and not for each
 * line, is a multiplication and two sums over lanes: a small message costs mostly that.
 */
#include "bench/limit/payload.h"

#include <string.h>

#define LANES 8 /* words of a line */

/* A message is bytes of no type: its words may alias anything. Its lines are aligned as its words are. */
typedef uint64_t __attribute__((may_alias)) word;
typedef uint64_t __attribute__((vector_size(2 * sizeof(word)))) two;
typedef uint64_t __attribute__((vector_size(4 * sizeof(word)))) four;
typedef uint64_t __attribute__((vector_size(8 * sizeof(word)))) eight;

static const _Alignas(LANES * sizeof(word)) uint64_t places[LANES] = {0, 1, 2, 3, 4, 5, 6, 7};

typedef void fill_fn(void *data, size_t bytes, uint64_t seed);
typedef uint64_t digest_fn(const void *data, size_t bytes);

/* Less than a line. */
static inline void fill_rest(word *out, size_t bytes, uint64_t seed)
{
	size_t words = bytes / sizeof(word);
	uint64_t last = seed + words;

	for (size_t i = 0; i < words; i++)
		out[i] = seed + i;
	if (bytes % sizeof(word) != 0)
		memcpy(out + words, &last, bytes % sizeof(word));
}

static inline uint64_t digest_rest(const word *in, size_t bytes, uint64_t digest)
{
	size_t words = bytes / sizeof(word);
	uint64_t last = 0;

	for (size_t i = 0; i < words; i++)
		digest = wh_payload_mix(digest, in[i]);
	if (bytes % sizeof(word) == 0)
		return digest;
	memcpy(&last, in + words, bytes % sizeof(word));
	return wh_payload_mix(digest, last);
}

/* Left to itself a compiler keeps the vectors of a line in memory. */
#define UNROLLED _Pragma("GCC unroll 8")

/* With vectors of a type that the processor has: of wider ones a compiler makes what it can, and one that has two vectors to a line
 * took them to pieces by way of the stack, at a fifteenth of the speed. Text, and no function that is inlined: a compiler splits a wide
 * vector in a function before it is inlined in one that has wide vectors.
 *
 * The digest has two sums for each lane, of the words and of the running sums: the second weighs each word by its place. With the lane's number l
 * and SPREAD they count `4 l + SPREAD` and twice `4 l + 2 + SPREAD`: all multipliers differ, so lanes that change places change the
 * digest; that of a word is odd in all. What is to be multiplied by SPREAD is added up first. */
#define WAY(way, isa, vector)                                                                                          \
	typedef vector __attribute__((may_alias, aligned(sizeof(word)))) vector##_of_message;                          \
	enum { vector##s = LANES * sizeof(word) / sizeof(vector), vector##_lanes = LANES / vector##s };                \
                                                                                                                       \
	static isa void fill_##way(void *data, size_t bytes, uint64_t seed)                                            \
	{                                                                                                              \
		const vector *lanes = (const vector *)(const void *)places;                                            \
		vector next[vector##s];                                                                                \
		word *out = data;                                                                                      \
                                                                                                                       \
		UNROLLED for (size_t v = 0; v < vector##s; v++) next[v] = lanes[v] + seed;                             \
		for (; bytes >= LANES * sizeof(word); bytes -= LANES * sizeof(word), seed += LANES, out += LANES)      \
			UNROLLED for (size_t v = 0; v < vector##s; v++)                                                \
			{                                                                                              \
				*(vector##_of_message *)(out + v * vector##_lanes) = next[v];                          \
				next[v] += LANES;                                                                      \
			}                                                                                              \
		fill_rest(out, bytes, seed);                                                                           \
	}                                                                                                              \
                                                                                                                       \
	static isa uint64_t digest_##way(const void *data, size_t bytes)                                               \
	{                                                                                                              \
		const vector *lanes = (const vector *)(const void *)places;                                            \
		vector sum[vector##s] = {{0}}, weighed[vector##s] = {{0}}, spread = {0}, rest = {0};                   \
		const word *in = data;                                                                                 \
		uint64_t digest = bytes;                                                                               \
                                                                                                                       \
		for (; bytes >= LANES * sizeof(word); bytes -= LANES * sizeof(word), in += LANES)                      \
			UNROLLED for (size_t v = 0; v < vector##s; v++)                                                \
			{                                                                                              \
				sum[v] += *(const vector##_of_message *)(in + v * vector##_lanes);                     \
				weighed[v] += sum[v];                                                                  \
			}                                                                                              \
		UNROLLED for (size_t v = 0; v < vector##s; v++)                                                        \
		{                                                                                                      \
			vector both = sum[v] + 2 * weighed[v];                                                         \
                                                                                                                       \
			spread += both;                                                                                \
			rest += 4 * (lanes[v] * both + weighed[v]);                                                    \
		}                                                                                                      \
		for (size_t l = 0; l < vector##_lanes; l++)                                                            \
			digest += spread[l] * WH_PAYLOAD_SPREAD + rest[l];                                             \
		return digest_rest(in, bytes, digest);                                                                 \
	}

WAY(plain, , two)
#ifdef __x86_64__
WAY(half, __attribute__((target("avx2"))), four)
WAY(whole, __attribute__((target("avx512f"))), eight)
#endif

static const struct {
	fill_fn *fill;
	digest_fn *digest;
} ways[] = {
	{fill_plain, digest_plain},
#ifdef __x86_64__
	{fill_half, digest_half},
	{fill_whole, digest_whole},
#endif
};

static inline unsigned fastest(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx512f") ? 2 : __builtin_cpu_supports("avx2") ? 1 : 0;
#else
	return 0;
#endif
}

unsigned wh_payload_ways(void)
{
	return fastest() + 1;
}

void wh_payload_fill_by(unsigned way, void *data, size_t bytes, uint64_t seed)
{
	ways[way].fill(data, bytes, seed);
}

uint64_t wh_payload_digest_by(unsigned way, const void *data, size_t bytes)
{
	return ways[way].digest(data, bytes);
}

void wh_payload_fill(void *data, size_t bytes, uint64_t seed)
{
	ways[fastest()].fill(data, bytes, seed);
}

uint64_t wh_payload_digest(const void *data, size_t bytes)
{
	return ways[fastest()].digest(data, bytes);
}
