/* release.c - frees what a sample points to. */
#include <stdlib.h>

#include "ddsc/type/codec.h"

static void release_body(const struct wh_ddsc_program *program, const struct wh_ddsc_body *body, char *base);

static void release_elements(const struct wh_ddsc_program *program, const struct wh_ddsc_step *step, char *at,
			     uint32_t count)
{
	const struct wh_ddsc_body *body = wh_ddsc_body_of(program, step);

	for (uint32_t i = 0; i < count && body->has_pointers; i++)
		release_body(program, body, at + (size_t)i * step->bytes);
}

/* A buffer that is not to be freed is the program's, and so is all that is in it. */
static void release_sequence(const struct wh_ddsc_program *program, const struct wh_ddsc_step *step, char *at)
{
	struct wh_ddsc_sequence sequence;

	memcpy(&sequence, at, sizeof(sequence));
	if (sequence.release && sequence.buffer != NULL) {
		if (step->what == WH_DDSC_ELEMENTS)
			release_elements(program, step, sequence.buffer,
					 sequence.maximum > sequence.length ? sequence.maximum : sequence.length);
		free(sequence.buffer);
		memset(at, 0, sizeof(sequence));
	}
}

static void release_string(char *at)
{
	char *string;

	memcpy(&string, at, sizeof(string));
	free(string);
	string = NULL;
	memcpy(at, &string, sizeof(string));
}

static void release_body(const struct wh_ddsc_program *program, const struct wh_ddsc_body *body, char *base)
{
	for (uint32_t i = 0; i < body->count; i++) {
		const struct wh_ddsc_step *step = &program->steps[body->first + i];

		switch ((enum wh_ddsc_do)step->what) {
		case WH_DDSC_PUT_STRING:
			release_string(base + step->offset);
			break;
		case WH_DDSC_NUMBERS:
		case WH_DDSC_ELEMENTS:
			release_sequence(program, step, base + step->offset);
			break;
		case WH_DDSC_REPEAT:
			release_elements(program, step, base + step->offset, step->count);
			break;
		case WH_DDSC_DELIMIT:
			release_body(program, wh_ddsc_body_of(program, step), base);
			break;
		default:
			break;
		}
	}
}

void wh_ddsc_release(const struct wh_ddsc_program *program, void *sample)
{
	const struct wh_ddsc_body *top = &program->bodies[program->top];

	if (top->has_pointers)
		release_body(program, top, sample);
}
