/* codec.h - programs at work: what type.h says of samples, for one program.
 *
 * Of a sequence in memory, all elements up to the larger of its maximum and its length are zero or were decoded before.
 */
#ifndef WH_DDSC_CODEC_H
#define WH_DDSC_CODEC_H

#include <string.h>

#include "ddsc/type/program.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a little-endian machine is needed: numbers are copied as they lie in memory"
#endif

struct wh_ddsc_wrong { /* of a member: where it lies in its struct or element, and what is wrong with it; NULL: nothing */
	uint32_t offset;
	const char *what;
};

size_t wh_ddsc_measure(const struct wh_ddsc_program *program, const void *sample, struct wh_ddsc_wrong *wrong);
size_t wh_ddsc_write(const struct wh_ddsc_program *program, const void *sample, unsigned char *to, size_t room);
bool wh_ddsc_read(const struct wh_ddsc_program *program, bool swap, const unsigned char *from, size_t bytes,
		  void *sample, struct wh_ddsc_wrong *wrong);
/* Frees what the members point to. */
void wh_ddsc_release(const struct wh_ddsc_program *program, void *sample);

/* Of a step that checks: NULL, or what is wrong with the members in memory that begin there. */
const char *wh_ddsc_check(const struct wh_ddsc_step *step, const char *at, uint32_t count);
/* The same of so many elements that were copied, each of which has these steps. */
const char *wh_ddsc_check_run(const struct wh_ddsc_program *program, const struct wh_ddsc_step *step, const char *at,
			      uint32_t count);
const char *wh_ddsc_check_enum(uint32_t value, uint64_t most);

/* Of a string in a sample; NULL is an empty one. */
static inline const char *wh_ddsc_string_at(const char *at)
{
	const char *string;

	memcpy(&string, at, sizeof(string));
	return string != NULL ? string : "";
}

/* A sequence as it lies in a sample. NULL, or what is wrong with it. */
static inline const char *wh_ddsc_sequence_at(const struct wh_ddsc_step *step, const char *at,
					      struct wh_ddsc_sequence *out)
{
	/* Not all of it: its last byte, a bool, may be anything in memory that is not ours. */
	memcpy(&out->length, at + offsetof(struct wh_ddsc_sequence, length), sizeof(out->length));
	memcpy(&out->buffer, at + offsetof(struct wh_ddsc_sequence, buffer), sizeof(out->buffer));
	if (out->length > step->count)
		return "is longer than its bound";
	return out->length > 0 && out->buffer == NULL ? "has a length and no buffer" : NULL;
}

#endif
