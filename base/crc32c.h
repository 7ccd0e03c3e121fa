/* crc32c.h - CRC-32C (Castagnoli), the checksum of what is kept or compared, portable and incremental.
 *
 * It finds accidents, not attacks.
 */
#ifndef WH_BASE_CRC32C_H
#define WH_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` is the checksum of, followed by `bytes` more; 0 is the checksum of nothing. So
 * wh_crc32c(wh_crc32c(0, a, n), b, m) is that of a and b as one. */
uint32_t wh_crc32c(uint32_t crc, const void *data, size_t bytes);

/* The same on any processor, and slower: the former is held against it. */
uint32_t wh_crc32c_by_tables(uint32_t crc, const void *data, size_t bytes);

#endif
