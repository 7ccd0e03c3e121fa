/* measure.c - how many bytes a sample has as CDR, and whether it has that form at all. */
#include "ddsc/type/codec.h"

struct measuring {
	const struct wh_ddsc_program *program;
	size_t at;
	struct wh_ddsc_wrong *wrong;
};

static bool is_right(struct measuring *measuring, const struct wh_ddsc_step *step, const char *what)
{
	if (what == NULL && measuring->at > UINT32_MAX)
		what = "ends behind 4 GB";
	if (what != NULL)
		*measuring->wrong = (struct wh_ddsc_wrong){step->offset, what};
	return what == NULL;
}

static void pass(struct measuring *measuring, unsigned align, size_t bytes)
{
	measuring->at = ((measuring->at + align - 1) & ~(size_t)(align - 1)) + bytes;
}

static bool measure_body(struct measuring *measuring, const struct wh_ddsc_body *body, const char *base);

static bool measure_elements(struct measuring *measuring, const struct wh_ddsc_step *step, const char *at,
			     uint32_t count)
{
	const struct wh_ddsc_body *body = wh_ddsc_body_of(measuring->program, step);

	if (body->run > 0 && count > 0) {
		pass(measuring, body->run, (size_t)step->bytes * count);
		return is_right(measuring, step, wh_ddsc_check_run(measuring->program, step, at, count));
	}
	for (uint32_t i = 0; i < count; i++)
		if (!measure_body(measuring, body, at + (size_t)i * step->bytes))
			return false;
	return true;
}

static bool measure_sequence(struct measuring *measuring, const struct wh_ddsc_step *step, const char *at)
{
	struct wh_ddsc_sequence sequence;
	const char *wrong = wh_ddsc_sequence_at(step, at, &sequence);

	pass(measuring, 4, 4 + 4 * (size_t)step->is_delimited);
	if (wrong != NULL)
		return is_right(measuring, step, wrong);
	if (step->what == WH_DDSC_ELEMENTS)
		return measure_elements(measuring, step, sequence.buffer, sequence.length);
	if (sequence.length > 0)
		pass(measuring, wh_ddsc_numbers_align(measuring->program, step), (size_t)step->width * sequence.length);
	return is_right(measuring, step, NULL);
}

static bool measure_step(struct measuring *measuring, const struct wh_ddsc_step *step, const char *base)
{
	const char *at = base + step->offset;
	size_t length;

	switch ((enum wh_ddsc_do)step->what) {
	case WH_DDSC_COPY:
		pass(measuring, step->align, step->bytes);
		return true;
	case WH_DDSC_CHECK_BOOL:
	case WH_DDSC_CHECK_ENUM:
	case WH_DDSC_CHECK_BITS:
		return is_right(measuring, step, wh_ddsc_check(step, at, step->count));
	case WH_DDSC_NARROW: {
		uint32_t value;

		memcpy(&value, at, sizeof(value));
		pass(measuring, step->align, step->width);
		return is_right(measuring, step, wh_ddsc_check_enum(value, step->most));
	}
	case WH_DDSC_PUT_STRING:
		pass(measuring, 4, 5 + strlen(wh_ddsc_string_at(at)));
		return is_right(measuring, step, NULL);
	case WH_DDSC_PUT_TEXT:
		length = strnlen(at, step->bytes);
		pass(measuring, 4, 5 + length);
		return is_right(measuring, step, length == step->bytes ? "is longer than its bound" : NULL);
	case WH_DDSC_NUMBERS:
	case WH_DDSC_ELEMENTS:
		return measure_sequence(measuring, step, at);
	case WH_DDSC_REPEAT:
		pass(measuring, step->align, 4 * (size_t)step->is_delimited);
		return measure_elements(measuring, step, at, step->count);
	case WH_DDSC_DELIMIT:
		pass(measuring, 4, 4);
		return measure_body(measuring, wh_ddsc_body_of(measuring->program, step), base);
	}
	return false;
}

static bool measure_body(struct measuring *measuring, const struct wh_ddsc_body *body, const char *base)
{
	const struct wh_ddsc_step *steps = &measuring->program->steps[body->first];

	for (uint32_t i = 0; i < body->count; i++)
		if (!measure_step(measuring, &steps[i], base))
			return false;
	return true;
}

size_t wh_ddsc_measure(const struct wh_ddsc_program *program, const void *sample, struct wh_ddsc_wrong *wrong)
{
	struct measuring measuring = {.program = program, .wrong = wrong};
	static const struct wh_ddsc_step all = {.offset = 0};

	*wrong = (struct wh_ddsc_wrong){0, NULL};
	if (!measure_body(&measuring, &program->bodies[program->top], sample) || !is_right(&measuring, &all, NULL))
		return SIZE_MAX;
	return measuring.at;
}
