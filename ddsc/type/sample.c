/* sample.c - samples and keys, by the programs of their type. */
#include <inttypes.h>

#include "ddsc/type/type_int.h"

static const struct wh_ddsc_program *program_of(const struct wh_ddsc_type *type, unsigned what, enum wh_ddsc_form form,
						unsigned joined)
{
	const struct wh_ddsc_program *program;

	if (form != WH_DDSC_XCDR1 && form != WH_DDSC_XCDR2)
		return NULL;
	program = &type->programs[what][form - 1][joined];
	return program->bodies != NULL ? program : NULL;
}

static void no_form(const struct wh_ddsc_type *type, struct wh_error *err)
{
	wh_error_set(err, WHORL_UNSUPPORTED, "type %s: it has no such form: XCDR1 is for types that are @final",
		     type->shape.name);
}

static void say(const struct wh_ddsc_type *type, const struct wh_ddsc_wrong *wrong, struct wh_error *err)
{
	wh_error_set(err, WHORL_INVALID, "type %s: the member at byte %" PRIu32 " of its struct %s", type->shape.name,
		     wrong->offset, wrong->what);
}

static size_t measure(const struct wh_ddsc_type *type, unsigned what, enum wh_ddsc_form form, const void *sample,
		      struct wh_error *err)
{
	const struct wh_ddsc_program *program = program_of(type, what, form, WH_DDSC_JOINED);
	struct wh_ddsc_wrong wrong;
	size_t bytes = SIZE_MAX;

	if (program == NULL) {
		no_form(type, err);
		return bytes;
	}
	bytes = wh_ddsc_measure(program, sample, &wrong);
	if (bytes == SIZE_MAX)
		say(type, &wrong, err);
	return bytes;
}

static size_t encode(const struct wh_ddsc_type *type, unsigned what, enum wh_ddsc_form form, const void *sample,
		     unsigned char *to, size_t room)
{
	const struct wh_ddsc_program *program = program_of(type, what, form, WH_DDSC_JOINED);

	return program != NULL ? wh_ddsc_write(program, sample, to, room) : SIZE_MAX;
}

static bool decode(const struct wh_ddsc_type *type, unsigned what, enum wh_ddsc_form form, bool big_endian,
		   const unsigned char *from, size_t bytes, void *sample, struct wh_error *err)
{
	const struct wh_ddsc_program *joined = program_of(type, what, form, WH_DDSC_JOINED),
				     *apart = program_of(type, what, form, WH_DDSC_APART);
	struct wh_ddsc_wrong wrong;

	if (joined == NULL) {
		no_form(type, err);
		return false;
	}
	if (!big_endian && wh_ddsc_read(joined, false, from, bytes, sample, &wrong))
		return true;
	/* A sample of an older type may end between two members that are copied as one. */
	if ((big_endian || !type->shape.is_final) && wh_ddsc_read(apart, big_endian, from, bytes, sample, &wrong))
		return true;
	say(type, &wrong, err);
	return false;
}

size_t wh_ddsc_encoded_bytes(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample,
			     struct wh_error *err)
{
	return measure(type, WH_DDSC_OF_SAMPLE, form, sample, err);
}

size_t wh_ddsc_encode(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample, unsigned char *to,
		      size_t room)
{
	return encode(type, WH_DDSC_OF_SAMPLE, form, sample, to, room);
}

bool wh_ddsc_decode(const struct wh_ddsc_type *type, enum wh_ddsc_form form, bool big_endian, const unsigned char *from,
		    size_t bytes, void *sample, struct wh_error *err)
{
	return decode(type, WH_DDSC_OF_SAMPLE, form, big_endian, from, bytes, sample, err);
}

size_t wh_ddsc_key_bytes(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample,
			 struct wh_error *err)
{
	return measure(type, WH_DDSC_OF_KEY, form, sample, err);
}

size_t wh_ddsc_key_encode(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample,
			  unsigned char *to, size_t room)
{
	return encode(type, WH_DDSC_OF_KEY, form, sample, to, room);
}

bool wh_ddsc_key_decode(const struct wh_ddsc_type *type, enum wh_ddsc_form form, bool big_endian,
			const unsigned char *from, size_t bytes, void *sample, struct wh_error *err)
{
	return decode(type, WH_DDSC_OF_KEY, form, big_endian, from, bytes, sample, err);
}

void wh_ddsc_sample_release(const struct wh_ddsc_type *type, void *sample)
{
	wh_ddsc_release(&type->programs[WH_DDSC_OF_SAMPLE][WH_DDSC_XCDR2 - 1][WH_DDSC_JOINED], sample);
}

void wh_ddsc_key_release(const struct wh_ddsc_type *type, void *sample)
{
	wh_ddsc_release(&type->programs[WH_DDSC_OF_KEY][WH_DDSC_XCDR2 - 1][WH_DDSC_JOINED], sample);
}

void wh_ddsc_sample_clear(const struct wh_ddsc_type *type, void *sample)
{
	wh_ddsc_sample_release(type, sample);
	memset(sample, 0, type->shape.bytes);
}
