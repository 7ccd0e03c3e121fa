/* read.c - reads a sample from CDR. Nothing is believed: lengths are held against what is left before anything is allocated for them. */
#include <stdlib.h>

#include "ddsc/type/codec.h"

struct reading {
	const struct wh_ddsc_program *program;
	const unsigned char *from;
	size_t at, end; /* `end`: of the innermost that has a length */
	bool swap;
	struct wh_ddsc_wrong *wrong;
};

static bool is_wrong(struct reading *reading, const struct wh_ddsc_step *step, const char *what)
{
	if (what != NULL)
		*reading->wrong = (struct wh_ddsc_wrong){step->offset, what};
	return what != NULL;
}

static bool refuse(struct reading *reading, const struct wh_ddsc_step *step, const char *what)
{
	return !is_wrong(reading, step, what);
}

static const char cut_off[] = "is cut off", no_memory[] = "has more than there is memory for";

/* The next bytes, behind padding; NULL: they are not there. */
static inline const unsigned char *next(struct reading *reading, unsigned align, size_t bytes)
{
	size_t pad = -reading->at & (align - 1), left = reading->end - reading->at;
	const unsigned char *at;

	if (pad > left || bytes > left - pad)
		return NULL;
	at = reading->from + reading->at + pad;
	reading->at += pad + bytes;
	return at;
}

static void copy_swapped(unsigned char *to, const unsigned char *from, size_t bytes, unsigned width)
{
	for (size_t i = 0; i < bytes; i += width)
		for (unsigned k = 0; k < width; k++)
			to[i + k] = from[i + width - 1 - k];
}

static inline bool get(struct reading *reading, unsigned align, unsigned width, void *to, size_t bytes)
{
	const unsigned char *at = next(reading, align, bytes);

	if (at == NULL)
		return false;
	if (reading->swap && width > 1)
		copy_swapped(to, at, bytes, width);
	else if (bytes == 4)
		memcpy(to, at, 4);
	else if (bytes == 8)
		memcpy(to, at, 8);
	else
		memcpy(to, at, bytes);
	return true;
}

static bool get_number(struct reading *reading, uint32_t *number)
{
	return get(reading, 4, sizeof(*number), number, sizeof(*number));
}

/* ---- texts --------------------------------------------------------------------------------------------------------------------- */

/* A text with its end, and how many bytes that is; NULL: wrong. */
static const unsigned char *get_text(struct reading *reading, const struct wh_ddsc_step *step, uint32_t *bytes)
{
	const unsigned char *text = NULL;

	if (!get_number(reading, bytes) || (*bytes > 0 && (text = next(reading, 1, *bytes)) == NULL))
		(void)refuse(reading, step, cut_off);
	else if (*bytes == 0 || text[*bytes - 1] != '\0')
		(void)refuse(reading, step, "is a string without an end");
	else
		return text;
	return NULL;
}

static bool read_text(struct reading *reading, const struct wh_ddsc_step *step, char *to)
{
	uint32_t bytes;
	const unsigned char *text = get_text(reading, step, &bytes);

	if (text == NULL)
		return false;
	if (bytes > step->bytes)
		return refuse(reading, step, "is longer than its bound");
	memcpy(to, text, bytes);
	memset(to + bytes, 0, step->bytes - bytes);
	return true;
}

/* Memory for a string of so many bytes, with its end, where the pointer to the last one is. */
static char *string_room(char *at, size_t bytes)
{
	char *string;

	memcpy(&string, at, sizeof(string));
	if (string == NULL || strlen(string) + 1 < bytes) {
		free(string);
		string = malloc(bytes);
		memcpy(at, &string, sizeof(string));
	}
	return string;
}

static bool set_string(struct reading *reading, const struct wh_ddsc_step *step, char *at, const void *text,
		       size_t bytes)
{
	char *string = string_room(at, bytes);

	if (string == NULL)
		return refuse(reading, step, no_memory);
	memcpy(string, text, bytes);
	return true;
}

static bool read_string(struct reading *reading, const struct wh_ddsc_step *step, char *at)
{
	uint32_t bytes;
	const unsigned char *text = get_text(reading, step, &bytes);

	return text != NULL && set_string(reading, step, at, text, bytes);
}

/* ---- arrays and sequences -------------------------------------------------------------------------------------------------------- */

static bool read_body(struct reading *reading, const struct wh_ddsc_body *body, char *base);

static bool read_elements(struct reading *reading, const struct wh_ddsc_step *step, char *at, uint32_t count)
{
	const struct wh_ddsc_body *body = wh_ddsc_body_of(reading->program, step);

	if (body->run > 0 && count > 0) {
		unsigned width = reading->program->steps[body->first].width;

		if (!get(reading, body->run, width, at, (size_t)step->bytes * count))
			return refuse(reading, step, cut_off);
		return !is_wrong(reading, step, wh_ddsc_check_run(reading->program, step, at, count));
	}
	for (uint32_t i = 0; i < count; i++)
		if (!read_body(reading, body, at + (size_t)i * step->bytes))
			return false;
	return true;
}

/* Room for `count` elements; those that were there stay, and new ones are zero, unless all will be written. False: there is no memory, and nothing has
 * changed. */
static bool sequence_room(struct wh_ddsc_sequence *sequence, const struct wh_ddsc_step *step, uint32_t count,
			  bool zeroed)
{
	uint32_t there = sequence->maximum > sequence->length ? sequence->maximum : sequence->length, kept;
	char *buffer;

	if (sequence->buffer == NULL)
		there = 0;
	if (count <= there) {
		sequence->maximum = there;
		sequence->length = count;
		return true;
	}
	/* A buffer that is not to be freed is the program's own, and stays as it is. */
	kept = zeroed && sequence->release ? there : 0;
	buffer =
		kept > 0 ? realloc(sequence->buffer, (size_t)count * step->bytes) : malloc((size_t)count * step->bytes);
	if (buffer == NULL)
		return false;
	if (kept == 0 && sequence->release)
		free(sequence->buffer);
	if (zeroed)
		memset(buffer + (size_t)kept * step->bytes, 0, (size_t)(count - kept) * step->bytes);
	*sequence = (struct wh_ddsc_sequence){count, count, buffer, true};
	return true;
}

/* Elements that are not there before their bytes are: so many as would fit at the most. */
static bool can_have(struct reading *reading, const struct wh_ddsc_step *step, uint32_t count)
{
	uint32_t least =
		step->what == WH_DDSC_NUMBERS ? step->width : wh_ddsc_body_of(reading->program, step)->bytes_min;

	if (count > step->count)
		return refuse(reading, step, "is longer than its bound");
	return count <= (reading->end - reading->at) / least || refuse(reading, step, cut_off);
}

static bool read_sequence(struct reading *reading, const struct wh_ddsc_step *step, char *at)
{
	bool numbers = step->what == WH_DDSC_NUMBERS;
	struct wh_ddsc_sequence sequence;
	uint32_t count;

	if (!get_number(reading, &count))
		return refuse(reading, step, cut_off);
	if (!can_have(reading, step, count))
		return false;
	memcpy(&sequence, at, sizeof(sequence));
	if (!sequence_room(&sequence, step, count, !numbers && wh_ddsc_body_of(reading->program, step)->run == 0))
		return refuse(reading, step, no_memory);
	memcpy(at, &sequence, sizeof(sequence));
	if (!numbers)
		return read_elements(reading, step, sequence.buffer, count);
	return count == 0 ||
	       get(reading, wh_ddsc_numbers_align(reading->program, step), step->width, sequence.buffer,
		   (size_t)step->width * count) ||
	       refuse(reading, step, cut_off);
}

/* ---- structs ------------------------------------------------------------------------------------------------------------------- */

static bool set_missing(struct reading *reading, const struct wh_ddsc_step *step, uint32_t count, char *base);

/* A member that an older sample does not have is zero, or empty. */
static bool set_one_missing(struct reading *reading, const struct wh_ddsc_step *step, char *base)
{
	const struct wh_ddsc_body *body = wh_ddsc_body_of(reading->program, step);
	const struct wh_ddsc_step *steps = &reading->program->steps[body->first];
	char *at = base + step->offset;
	uint32_t none = 0;

	switch ((enum wh_ddsc_do)step->what) {
	case WH_DDSC_COPY:
	case WH_DDSC_NARROW:
	case WH_DDSC_PUT_TEXT:
		memset(at, 0, step->bytes);
		break;
	case WH_DDSC_CHECK_BOOL:
	case WH_DDSC_CHECK_ENUM:
	case WH_DDSC_CHECK_BITS:
		break;
	case WH_DDSC_PUT_STRING:
		return set_string(reading, step, at, "", 1);
	case WH_DDSC_NUMBERS:
	case WH_DDSC_ELEMENTS:
		memcpy(at + offsetof(struct wh_ddsc_sequence, length), &none, sizeof(none));
		break;
	case WH_DDSC_REPEAT:
		for (uint32_t i = 0; i < step->count; i++)
			if (!set_missing(reading, steps, body->count, at + (size_t)i * step->bytes))
				return false;
		break;
	case WH_DDSC_DELIMIT:
		return set_missing(reading, steps, body->count, base);
	}
	return true;
}

static bool set_missing(struct reading *reading, const struct wh_ddsc_step *step, uint32_t count, char *base)
{
	for (uint32_t i = 0; i < count; i++)
		if (!set_one_missing(reading, &step[i], base))
			return false;
	return true;
}

/* What lies behind a length: a struct may have more than is known here, and all else must be as long. */
static bool read_delimited(struct reading *reading, const struct wh_ddsc_step *step, char *base)
{
	size_t end = reading->end;
	uint32_t bytes;
	bool ok;

	if (!get_number(reading, &bytes) || bytes > end - reading->at)
		return refuse(reading, step, cut_off);
	reading->end = reading->at + bytes;
	if (step->what == WH_DDSC_DELIMIT)
		ok = read_body(reading, wh_ddsc_body_of(reading->program, step), base);
	else if (step->what == WH_DDSC_REPEAT)
		ok = read_elements(reading, step, base + step->offset, step->count);
	else
		ok = read_sequence(reading, step, base + step->offset);
	if (ok && step->what != WH_DDSC_DELIMIT && reading->at != reading->end)
		ok = refuse(reading, step, "has another length than its elements");
	reading->at = reading->end;
	reading->end = end;
	return ok;
}

static bool read_narrow(struct reading *reading, const struct wh_ddsc_step *step, char *at)
{
	unsigned char bytes[8] = {0};
	uint32_t value;

	if (!get(reading, step->align, step->width, bytes, step->width))
		return refuse(reading, step, cut_off);
	memcpy(&value, bytes, sizeof(value));
	memcpy(at, &value, sizeof(value));
	return !is_wrong(reading, step, wh_ddsc_check_enum(value, step->most));
}

static bool read_step(struct reading *reading, const struct wh_ddsc_step *step, char *base)
{
	char *at = base + step->offset;

	switch ((enum wh_ddsc_do)step->what) {
	case WH_DDSC_COPY:
		return get(reading, step->align, step->width, at, step->bytes) || refuse(reading, step, cut_off);
	case WH_DDSC_CHECK_BOOL:
	case WH_DDSC_CHECK_ENUM:
	case WH_DDSC_CHECK_BITS:
		return !is_wrong(reading, step, wh_ddsc_check(step, at, step->count));
	case WH_DDSC_NARROW:
		return read_narrow(reading, step, at);
	case WH_DDSC_PUT_STRING:
		return read_string(reading, step, at);
	case WH_DDSC_PUT_TEXT:
		return read_text(reading, step, at);
	case WH_DDSC_NUMBERS:
	case WH_DDSC_ELEMENTS:
		return step->is_delimited ? read_delimited(reading, step, base) : read_sequence(reading, step, at);
	case WH_DDSC_REPEAT:
		return step->is_delimited ? read_delimited(reading, step, base)
					  : read_elements(reading, step, at, step->count);
	case WH_DDSC_DELIMIT:
		return read_delimited(reading, step, base);
	}
	return false;
}

static bool read_body(struct reading *reading, const struct wh_ddsc_body *body, char *base)
{
	const struct wh_ddsc_step *steps = &reading->program->steps[body->first];

	for (uint32_t i = 0; i < body->count; i++) {
		if (steps[i].may_be_missing && reading->at == reading->end)
			return set_missing(reading, &steps[i], body->count - i, base);
		if (!read_step(reading, &steps[i], base))
			return false;
	}
	return true;
}

bool wh_ddsc_read(const struct wh_ddsc_program *program, bool swap, const unsigned char *from, size_t bytes,
		  void *sample, struct wh_ddsc_wrong *wrong)
{
	struct reading reading = {.program = program, .from = from, .end = bytes, .swap = swap, .wrong = wrong};

	*wrong = (struct wh_ddsc_wrong){0, NULL};
	return read_body(&reading, &program->bodies[program->top], sample);
}
