/* payload.h - what a benchmark writes into its messages, and how it reads them.
 *
 * The sender fills every byte and each receiver reads every byte, with these two functions; the limit (limit.h) uses
 * the same two, so that a run and its limit differ by the protocol alone. Both are loops over whole lines of the cache, each
 * one vector, as wide as the processor has them.
 */
#ifndef WH_BENCH_LIMIT_PAYLOAD_H
#define WH_BENCH_LIMIT_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/* An odd number with bits all over: spreads small numbers (2^64 divided by the golden ratio). */
#define WH_PAYLOAD_SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* Word k of the message becomes seed + k; a last partial word is cut off. `data` is aligned to 8. */
void wh_payload_fill(void *data, size_t bytes, uint64_t seed);

/* A digest of all bytes and of their number: any change of a single word changes it. `data` is aligned to 8. It guards
 * against mistakes, not against people. */
uint64_t wh_payload_digest(const void *data, size_t bytes);

/* The same two by one of the ways that this processor has, of which the last is the fastest; all do the same. */
unsigned wh_payload_ways(void);
void wh_payload_fill_by(unsigned way, void *data, size_t bytes, uint64_t seed);
uint64_t wh_payload_digest_by(unsigned way, const void *data, size_t bytes);

/* The seed of message `index` of `sender` in the subgroup of number `subgroup`: each message has content of its own. */
static inline uint64_t wh_payload_seed(uint32_t subgroup, uint32_t sender, uint64_t index)
{
	return (((uint64_t)subgroup << 16 | sender) << 40 ^ index) * WH_PAYLOAD_SPREAD;
}

/* Takes one more value into a digest of a sequence; the order counts. */
static inline uint64_t wh_payload_mix(uint64_t digest, uint64_t value)
{
	digest = (digest ^ value) * WH_PAYLOAD_SPREAD;
	return digest ^ digest >> 29;
}

#endif
