/* payload.h - what is in a message, and whether it is sent at all, follows from its sender: each reader can check every byte,
 * and no list of what was sent is needed.
 */
#ifndef WH_PROCESSES_PAYLOAD_H
#define WH_PROCESSES_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/processes/board.h"

static inline uint64_t payload_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Everything of a message is drawn from this. */
static inline uint64_t payload_key(const struct board *board, uint32_t group, uint32_t life, uint64_t index)
{
	return payload_mix(payload_mix(board->seed ^ (uint64_t)group << 32 ^ life) ^ index);
}

static inline bool payload_aborted(uint64_t key)
{
	return key % 61 == 0;
}

/* Half of them are short. 0 bytes are a message too. */
static inline size_t payload_bytes(uint64_t key, uint32_t group)
{
	size_t most = groups[group].message_bytes;

	if (key >> 8 & 1)
		most /= 10;
	return (size_t)(key >> 16) % (most + 1);
}

static inline uint64_t payload_word(uint64_t key, size_t at)
{
	return payload_mix(key ^ at);
}

static inline void payload_fill(uint64_t key, void *data, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = payload_word(key, at);

		memcpy((unsigned char *)data + at, &word, bytes - at < 8 ? bytes - at : 8);
	}
}

/* Are the bytes from `from` (a multiple of 8) to `to` as they should be? Mixes what it read into *digest. */
static inline bool payload_read(uint64_t key, const void *data, size_t from, size_t to, uint64_t *digest)
{
	bool intact = true;

	for (size_t at = from; at < to; at += 8) {
		size_t bytes = to - at < 8 ? to - at : 8;
		uint64_t word = payload_word(key, at), got = 0;

		memcpy(&got, (const unsigned char *)data + at, bytes);
		intact = intact && memcmp(&got, &word, bytes) == 0;
		*digest = payload_mix(*digest ^ got);
	}
	return intact;
}

static inline uint64_t payload_digest(uint64_t key, size_t bytes)
{
	unsigned char data[MESSAGE_MAX];
	uint64_t digest = 0;

	payload_fill(key, data, bytes);
	payload_read(key, data, 0, bytes, &digest);
	return digest;
}

/* ---- states --------------------------------------------------------------------------------------------------------- */

#define IMPRINT_CHECK 0x1a9b3c2du

static inline size_t imprint_bytes(const struct imprint *imprint)
{
	return offsetof(struct imprint, sent) + imprint->lives * sizeof(imprint->sent[0]);
}

/* The message becomes part of the state. */
static inline void imprint_take(struct imprint *imprint, uint32_t life, uint64_t index, uint64_t digest)
{
	struct sent *sent = &imprint->sent[life];
	uint64_t word = payload_mix(digest ^ payload_mix(index << 10 ^ life));

	if (life >= imprint->lives)
		imprint->lives = life + 1;
	imprint->count++;
	if (groups[imprint->group].ordered)
		imprint->chain = payload_mix(imprint->chain ^ word);
	sent->next = index + 1;
	sent->count++;
	sent->chain = payload_mix(sent->chain ^ word);
}

static inline uint64_t imprint_digest(const struct imprint *imprint)
{
	uint64_t digest = payload_mix(imprint->shard ^ imprint->chain);

	for (uint32_t life = 0; !groups[imprint->group].ordered && life < imprint->lives; life++)
		digest ^= payload_mix(imprint->sent[life].chain ^ payload_mix(life)) * (imprint->sent[life].count > 0);
	return digest;
}

#endif
