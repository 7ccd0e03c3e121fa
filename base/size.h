/* size.h - how much, in words for people: three digits and a unit, whatever the size. */
#ifndef WH_BASE_SIZE_H
#define WH_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#define WH_SIZE_BYTES 16 /* enough for any, with the zero */

/* "312 MB", "1.50 kB", "7 B"; powers of 1000. At most `room` bytes. Returns buf. */
const char *wh_size_text(uint64_t bytes, char *buf, size_t room);
/* The same of any figure with other units, the first for ones. */
const char *wh_scaled_text(double value, const char *const *units, size_t count, char *buf, size_t room);

#endif
