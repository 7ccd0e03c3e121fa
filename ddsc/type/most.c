/* most.c - how many bytes a program can make at most. */
#include "ddsc/type/program.h"

struct bound {
	size_t at;     /* SIZE_MAX: there is none */
	bool is_exact; /* all before is of one length, so padding is known */
};

static void more(struct bound *bound, size_t bytes)
{
	bound->at = bound->at < SIZE_MAX - bytes ? bound->at + bytes : SIZE_MAX;
}

static void align(struct bound *bound, unsigned to)
{
	if (to > 1)
		more(bound, bound->is_exact ? -bound->at & (to - 1) : to - 1);
}

static void add_body(const struct wh_ddsc_program *program, const struct wh_ddsc_body *body, struct bound *bound);

static void add_elements(const struct wh_ddsc_program *program, const struct wh_ddsc_step *step, struct bound *bound)
{
	const struct wh_ddsc_body *body = wh_ddsc_body_of(program, step);
	struct bound each = {0, false};
	size_t before = bound->at;

	if (step->count <= 64) {
		for (uint32_t i = 0; i < step->count; i++)
			add_body(program, body, bound);
		return;
	}
	add_body(program, body, &each);
	bound->is_exact = false;
	bound->at = each.at > (SIZE_MAX - before) / step->count ? SIZE_MAX : before + each.at * step->count;
}

static void add_step(const struct wh_ddsc_program *program, const struct wh_ddsc_step *step, struct bound *bound)
{
	align(bound, step->align);
	switch ((enum wh_ddsc_do)step->what) {
	case WH_DDSC_COPY:
		more(bound, step->bytes);
		break;
	case WH_DDSC_CHECK_BOOL:
	case WH_DDSC_CHECK_ENUM:
	case WH_DDSC_CHECK_BITS:
		break;
	case WH_DDSC_NARROW:
		more(bound, step->width);
		break;
	case WH_DDSC_PUT_TEXT:
		more(bound, 4 + (size_t)step->bytes);
		bound->is_exact = false;
		break;
	case WH_DDSC_REPEAT:
		more(bound, 4 * step->is_delimited);
		add_elements(program, step, bound);
		break;
	case WH_DDSC_DELIMIT:
		more(bound, 4);
		add_body(program, wh_ddsc_body_of(program, step), bound);
		break;
	case WH_DDSC_NUMBERS:
	case WH_DDSC_ELEMENTS:
		more(bound, 4 + 4 * step->is_delimited);
		if (step->count == UINT32_MAX) {
			bound->at = SIZE_MAX;
		} else if (step->what == WH_DDSC_NUMBERS) {
			align(bound, wh_ddsc_numbers_align(program, step));
			more(bound, (size_t)step->width * step->count);
		} else {
			add_elements(program, step, bound);
		}
		bound->is_exact = false;
		break;
	case WH_DDSC_PUT_STRING:
		bound->at = SIZE_MAX;
		break;
	}
}

static void add_body(const struct wh_ddsc_program *program, const struct wh_ddsc_body *body, struct bound *bound)
{
	for (uint32_t i = 0; i < body->count && bound->at < SIZE_MAX; i++)
		add_step(program, &program->steps[body->first + i], bound);
}

size_t wh_ddsc_program_most(const struct wh_ddsc_program *program)
{
	struct bound bound = {0, true};

	add_body(program, &program->bodies[program->top], &bound);
	return bound.at;
}
