/* text.h - texts for people, in fixed buffers: writing one allocates nothing and cannot fail; and what texts from outside are made of. */
#ifndef WH_BASE_TEXT_H
#define WH_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Adds to the text in a buffer of so many bytes. What does not fit is cut, and the text then ends in "..."; a buffer of less than 4
 * bytes keeps what it has. The arguments may not point into the buffer. */
void wh_text_add(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
void wh_text_vadd(char *text, size_t bytes, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));

/* Text from outside, in a buffer of so many bytes: now it ends, and what is not printable ASCII is a question mark. */
void wh_text_tame(char *text, size_t bytes);

/* Adds a node id to a list of them: behind `separator`, unless it is the first in the buffer. */
void wh_text_add_id(char *text, size_t bytes, const char *separator, uint32_t id);

/* The length of the character of UTF-8 at `s`, where there are so many bytes, one at least; 0 if it is none. *code is its number. */
size_t wh_text_utf8(const unsigned char *s, size_t bytes, unsigned *code);

/* What a hexadecimal digit counts, -1 if it is none. */
int wh_text_digit(char c);

#endif
