/* names.h - what members are called. The words of a descriptor do not say it; the type objects that come with it do (XTypes, "type mapping"), if it has
 * some. They are bytes like any others: each length is held against what is left.
 */
#ifndef WH_DDSC_NAMES_H
#define WH_DDSC_NAMES_H

#include "ddsc/type/type.h"

struct wh_ddsc_place {  /* of a member in its struct */
	uint32_t index; /* among the members, without its base */
	bool is_base;   /* it is the base itself */
};

/* The name of the last of these places, each in the struct that the one before is, or has as elements: "inner.choice". False: it is not said. */
bool wh_ddsc_name_of(const struct wh_ddsc_descriptor *descriptor, const struct wh_ddsc_place *places, uint32_t count,
		     char *out, size_t bytes);

#endif
