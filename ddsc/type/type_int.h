/* type_int.h - a type, and what makes one, for tests that give any words. */
#ifndef WH_DDSC_TYPE_INT_H
#define WH_DDSC_TYPE_INT_H

#include "ddsc/type/codec.h"

enum { WH_DDSC_OF_SAMPLE, WH_DDSC_OF_KEY };
enum { WH_DDSC_APART, WH_DDSC_JOINED };

struct wh_ddsc_type {
	struct wh_ddsc_shape shape;
	struct wh_ddsc_program programs[2][2][2]; /* of what, form - 1, joined; without bodies: there is no such form */
};

/* wh_ddsc_type_create, of a descriptor with `words` words at the most. */
WH_MUST_CHECK whorl_dds_return wh_ddsc_type_create_of(struct wh_ddsc_type **out,
						      const struct wh_ddsc_descriptor *descriptor, size_t words,
						      struct wh_error *err);

#endif
