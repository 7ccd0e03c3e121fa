/* write.c - writes a sample as CDR. Padding is zero, whatever lies between members in memory. Of a sample that is larger than the room no more is
 * looked at than would fit: so it takes no longer than the room lets it.
 */
#include "ddsc/type/codec.h"

struct writing {
	const struct wh_ddsc_program *program;
	unsigned char *to;
	size_t at, room;
};

/* Room for so many bytes, behind padding; NULL: there is none. */
static inline unsigned char *next(struct writing *writing, unsigned align, size_t bytes)
{
	size_t pad = -writing->at & (align - 1);
	unsigned char *at = writing->to + writing->at;

	if (pad > writing->room - writing->at || bytes > writing->room - writing->at - pad)
		return NULL;
	for (size_t i = 0; i < pad; i++)
		at[i] = 0;
	writing->at += pad + bytes;
	return at + pad;
}

static inline bool put(struct writing *writing, unsigned align, const void *from, size_t bytes)
{
	unsigned char *at = next(writing, align, bytes);

	if (at == NULL)
		return false;
	if (bytes == 4)
		memcpy(at, from, 4);
	else if (bytes == 8)
		memcpy(at, from, 8);
	else
		memcpy(at, from, bytes);
	return true;
}

static bool put_number(struct writing *writing, uint32_t number)
{
	return put(writing, 4, &number, sizeof(number));
}

static bool put_text(struct writing *writing, const char *text, size_t length)
{
	static const char end = '\0';

	return length < UINT32_MAX && put_number(writing, (uint32_t)length + 1) && put(writing, 1, text, length) &&
	       put(writing, 1, &end, 1);
}

static bool write_body(struct writing *writing, const struct wh_ddsc_body *body, const char *base);

/* What lies behind a length of four bytes, which was left open at `behind`, has been written. */
static bool close_length(struct writing *writing, size_t behind)
{
	size_t length = writing->at - behind;
	uint32_t number = (uint32_t)length;

	memcpy(writing->to + behind - sizeof(number), &number, sizeof(number));
	return length <= UINT32_MAX;
}

static bool write_elements(struct writing *writing, const struct wh_ddsc_step *step, const char *at, uint32_t count)
{
	const struct wh_ddsc_body *body = wh_ddsc_body_of(writing->program, step);

	if (body->run > 0 && count > 0)
		return put(writing, body->run, at, (size_t)step->bytes * count) &&
		       wh_ddsc_check_run(writing->program, step, at, count) == NULL;
	for (uint32_t i = 0; i < count; i++)
		if (!write_body(writing, body, at + (size_t)i * step->bytes))
			return false;
	return true;
}

static bool write_sequence(struct writing *writing, const struct wh_ddsc_step *step, const char *at)
{
	struct wh_ddsc_sequence sequence;
	size_t behind;

	if (wh_ddsc_sequence_at(step, at, &sequence) != NULL || (step->is_delimited && !put_number(writing, 0)))
		return false;
	behind = writing->at;
	if (!put_number(writing, sequence.length))
		return false;
	if (step->what == WH_DDSC_NUMBERS)
		return sequence.length == 0 || put(writing, wh_ddsc_numbers_align(writing->program, step),
						   sequence.buffer, (size_t)step->width * sequence.length);
	return write_elements(writing, step, sequence.buffer, sequence.length) &&
	       (!step->is_delimited || close_length(writing, behind));
}

static bool write_array(struct writing *writing, const struct wh_ddsc_step *step, const char *at)
{
	size_t behind;

	if (step->is_delimited && !put_number(writing, 0))
		return false;
	behind = writing->at;
	return write_elements(writing, step, at, step->count) && (!step->is_delimited || close_length(writing, behind));
}

static bool write_narrow(struct writing *writing, const struct wh_ddsc_step *step, const char *at)
{
	unsigned char bytes[8] = {0};
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	memcpy(bytes, at, sizeof(value));
	return wh_ddsc_check_enum(value, step->most) == NULL && put(writing, step->align, bytes, step->width);
}

static bool write_step(struct writing *writing, const struct wh_ddsc_step *step, const char *base)
{
	const char *at = base + step->offset;
	size_t length;

	switch ((enum wh_ddsc_do)step->what) {
	case WH_DDSC_COPY:
		return put(writing, step->align, at, step->bytes);
	case WH_DDSC_CHECK_BOOL:
	case WH_DDSC_CHECK_ENUM:
	case WH_DDSC_CHECK_BITS:
		return wh_ddsc_check(step, at, step->count) == NULL;
	case WH_DDSC_NARROW:
		return write_narrow(writing, step, at);
	case WH_DDSC_PUT_STRING:
		at = wh_ddsc_string_at(at);
		length = strnlen(at, writing->room - writing->at); /* as long as that: there is no room for it */
		return put_text(writing, at, length);
	case WH_DDSC_PUT_TEXT:
		length = strnlen(at, step->bytes);
		return length < step->bytes && put_text(writing, at, length);
	case WH_DDSC_NUMBERS:
	case WH_DDSC_ELEMENTS:
		return write_sequence(writing, step, at);
	case WH_DDSC_REPEAT:
		return write_array(writing, step, at);
	case WH_DDSC_DELIMIT:
		if (!put_number(writing, 0))
			return false;
		length = writing->at;
		return write_body(writing, wh_ddsc_body_of(writing->program, step), base) &&
		       close_length(writing, length);
	}
	return false;
}

static bool write_body(struct writing *writing, const struct wh_ddsc_body *body, const char *base)
{
	const struct wh_ddsc_step *steps = &writing->program->steps[body->first];

	for (uint32_t i = 0; i < body->count; i++)
		if (!write_step(writing, &steps[i], base))
			return false;
	return true;
}

size_t wh_ddsc_write(const struct wh_ddsc_program *program, const void *sample, unsigned char *to, size_t room)
{
	struct writing writing = {.program = program, .to = to, .room = room};

	return write_body(&writing, &program->bodies[program->top], sample) && writing.at <= UINT32_MAX ? writing.at
													: SIZE_MAX;
}
