/* payload.c - see payload.h.
 *
 * The vectors are spelled out: left to themselves, one compiler unrolls the loops and the next does not, and one
 * version got a loop over eight lanes wrong (tests/cli/test_figures.c looks at every byte).
 */
#include "bench/limit/payload.h"

#include <string.h>

#define VECTORS 4 /* at a time: independent of each other, they hide each other's latency */
#define LANES 2   /* words of a vector */
#define BLOCK (VECTORS * LANES)

/* A message is bytes of no type: its words may alias anything. Its vectors are aligned as its words are. */
typedef uint64_t __attribute__((may_alias)) word;
typedef uint64_t __attribute__((vector_size(LANES * sizeof(word)))) vector;
typedef vector __attribute__((may_alias, aligned(sizeof(word)))) message_vector;

void wh_payload_fill(void *data, size_t bytes, uint64_t seed)
{
	word *out = data;
	size_t words = bytes / sizeof(word), i = 0;
	vector next = {seed, seed + 1};
	uint64_t last = seed + words;

	for (; i + BLOCK <= words; i += BLOCK) {
		for (size_t v = 0; v < VECTORS; v++)
			*(message_vector *)(out + i + v * LANES) = next + v * LANES;
		next += BLOCK;
	}
	for (; i < words; i++)
		out[i] = seed + i;
	memcpy(out + words, &last, bytes % sizeof(word));
}

/* Per lane two sums, of the words and of the running sums: the second weighs each word by its place. */
uint64_t wh_payload_digest(const void *data, size_t bytes)
{
	const word *in = data;
	size_t words = bytes / sizeof(word), i = 0;
	vector sum[VECTORS] = {0}, weighed[VECTORS] = {0};
	uint64_t digest = bytes, last = 0;

	for (; i + BLOCK <= words; i += BLOCK)
		for (size_t v = 0; v < VECTORS; v++) {
			sum[v] += *(const message_vector *)(in + i + v * LANES);
			weighed[v] += sum[v];
		}
	/* All multipliers differ, so lanes that change places change the digest; that of a word is odd in all. */
	for (size_t l = 0; i > 0 && l < BLOCK; l++)
		digest += sum[l / LANES][l % LANES] * (4 * l + WH_PAYLOAD_SPREAD) +
			  2 * weighed[l / LANES][l % LANES] * (4 * l + 2 + WH_PAYLOAD_SPREAD);
	for (; i < words; i++)
		digest = wh_payload_mix(digest, in[i]);
	if (bytes % sizeof(word) != 0) {
		memcpy(&last, in + words, bytes % sizeof(word));
		digest = wh_payload_mix(digest, last);
	}
	return digest;
}
