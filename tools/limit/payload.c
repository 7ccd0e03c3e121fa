/* payload.c - see payload.h. */
#include "tools/limit/payload.h"

#include <string.h>

#define LANES 8

/* A message is bytes of no type: its words may alias anything. */
typedef uint64_t __attribute__((may_alias)) word;

void wh_payload_fill(void *data, size_t bytes, uint64_t seed)
{
	word *out = data;
	size_t words = bytes / sizeof(word), i = 0;
	uint64_t lane[LANES];

	for (size_t l = 0; l < LANES; l++)
		lane[l] = seed + l * WH_PAYLOAD_SPREAD;
	for (; i + LANES <= words; i += LANES)
		for (size_t l = 0; l < LANES; l++) {
			out[i + l] = lane[l];
			lane[l] += LANES * WH_PAYLOAD_SPREAD;
		}
	for (; i < words; i++)
		out[i] = seed + i * WH_PAYLOAD_SPREAD;
	if (bytes % sizeof(word) != 0) {
		uint64_t last = seed + words * WH_PAYLOAD_SPREAD;

		memcpy(out + words, &last, bytes % sizeof(word));
	}
}

/* Per lane two sums, of the words and of the running sums: the second weighs each word by its place. */
uint64_t wh_payload_digest(const void *data, size_t bytes)
{
	const word *in = data;
	size_t words = bytes / sizeof(word), i = 0;
	uint64_t sum[LANES] = {0}, weighed[LANES] = {0}, digest = bytes;

	if (words >= LANES) {
		for (; i + LANES <= words; i += LANES)
			for (size_t l = 0; l < LANES; l++) {
				sum[l] += in[i + l];
				weighed[l] += sum[l];
			}
		/* All multipliers differ, so lanes that change places change the digest; that of a word is odd in all. */
		for (size_t l = 0; l < LANES; l++)
			digest += sum[l] * (4 * l + WH_PAYLOAD_SPREAD) + 2 * weighed[l] * (4 * l + 2 + WH_PAYLOAD_SPREAD);
	}
	for (; i < words; i++)
		digest = wh_payload_mix(digest, in[i]);
	if (bytes % sizeof(word) != 0) {
		uint64_t last = 0;

		memcpy(&last, in + words, bytes % sizeof(word));
		digest = wh_payload_mix(digest, last);
	}
	return digest;
}
