/* check.c - which values members may have. */
#include "ddsc/type/codec.h"

const char *wh_ddsc_check_enum(uint32_t value, uint64_t most)
{
	return value > most ? "is no value of its enum" : NULL;
}

static const char *check_bools(const char *at, uint32_t count)
{
	unsigned char all = 0;

	for (uint32_t i = 0; i < count; i++)
		all |= (unsigned char)at[i];
	return all > 1 ? "is no boolean" : NULL;
}

static const char *check_bits(const struct wh_ddsc_step *step, const char *at)
{
	uint64_t value = 0;

	memcpy(&value, at, step->width);
	return (value & ~step->most) != 0 ? "has bits that its bitmask does not have" : NULL;
}

static const char *check_enums(const struct wh_ddsc_step *step, const char *at, uint32_t count)
{
	uint32_t value, largest = 0;

	for (uint32_t i = 0; i < count; i++) {
		memcpy(&value, at + (size_t)i * sizeof(value), sizeof(value));
		largest = value > largest ? value : largest;
	}
	return wh_ddsc_check_enum(largest, step->most);
}

const char *wh_ddsc_check(const struct wh_ddsc_step *step, const char *at, uint32_t count)
{
	const char *wrong = NULL;

	switch (step->what) {
	case WH_DDSC_CHECK_BOOL:
		return check_bools(at, count);
	case WH_DDSC_CHECK_ENUM:
		return check_enums(step, at, count);
	case WH_DDSC_CHECK_BITS:
		for (uint32_t i = 0; i < count && wrong == NULL; i++)
			wrong = check_bits(step, at + (size_t)i * step->width);
		return wrong;
	default:
		return NULL;
	}
}

const char *wh_ddsc_check_run(const struct wh_ddsc_program *program, const struct wh_ddsc_step *step, const char *at,
			      uint32_t count)
{
	const struct wh_ddsc_body *body = wh_ddsc_body_of(program, step);
	const char *wrong = NULL;

	for (uint32_t k = 1; k < body->count && wrong == NULL; k++) { /* the first one copies */
		const struct wh_ddsc_step *check = &program->steps[body->first + k];

		if (check->width == step->bytes) { /* they lie one behind the other */
			wrong = wh_ddsc_check(check, at, count);
			continue;
		}
		for (uint32_t i = 0; i < count && wrong == NULL; i++)
			wrong = wh_ddsc_check(check, at + (size_t)i * step->bytes + check->offset, check->count);
	}
	return wrong;
}
