/* size.h - how much, in words for people: three digits and a unit, whatever the size. */
#ifndef WH_BASE_SIZE_H
#define WH_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#define WH_SIZE_BYTES 16 /* enough for any, with the zero */

/* "312 MB", "1.50 kB", "7 B"; powers of 1000. At most `room` bytes. Returns buf. */
const char *wh_size_text(uint64_t bytes, char *buf, size_t room);
/* "1.23 M", "12 k", "7": how many. */
const char *wh_figure_text(double value, char *buf, size_t room);

#endif
