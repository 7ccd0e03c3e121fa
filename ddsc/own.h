/* own.h - policies that Cyclone DDS has, and whorl does not: kept with the entity, given back by dds_get_qos, and without effect. Other processes do
 * not see them.
 */
#ifndef WH_DDSC_OWN_H
#define WH_DDSC_OWN_H

#include <dds/dds.h>

#include <whorl/dds.h>

struct wh_ddsc_property {
	struct wh_ddsc_property *next;
	char *name;
	bool is_binary;
	unsigned char *value; /* of a text with its zero */
	size_t bytes;
};

struct wh_ddsc_own { /* all 0: nothing is set */
	bool has_type_consistency, has_representation;
	struct {
		dds_type_consistency_kind_t kind;
		bool ignore_sequence_bounds, ignore_string_bounds, ignore_member_names, prevent_type_widening,
			force_type_validation;
	} type_consistency;
	dds_data_representation_id_t *representations;
	uint32_t representation_count;
	char *entity_name; /* NULL: not set */
	struct wh_ddsc_property *properties;
};

void wh_ddsc_own_free(struct wh_ddsc_own *own); /* and makes it all 0 */
/* Adds to it what only `from` has set. False when memory is out: then some is added. */
bool wh_ddsc_own_merge(struct wh_ddsc_own *to, const struct wh_ddsc_own *from);
bool wh_ddsc_own_equal(const struct wh_ddsc_own *one, const struct wh_ddsc_own *other);
struct wh_ddsc_property **wh_ddsc_own_property(struct wh_ddsc_own *own, const char *name, bool is_binary);
bool wh_ddsc_own_set_property(struct wh_ddsc_own *own, const char *name, bool is_binary, const void *value,
			      size_t bytes);
void wh_ddsc_own_unset_property(struct wh_ddsc_own *own, const char *name, bool is_binary);

struct dds_qos {
	whorl_dds_qos *whorl;
	struct wh_ddsc_own own;
	bool is_wrong; /* a value that was out of its range: an entity that is created with it is refused */
};

/* whorl's part; NULL: of none. *result: BAD_PARAMETER: a value is out of its range. */
const whorl_dds_qos *wh_ddsc_qos_whorl(const char *function, const dds_qos_t *qos, dds_return_t *result);
/* A copy of whorl's. NULL when memory is out. */
dds_qos_t *wh_ddsc_qos_of(const whorl_dds_qos *qos);

#endif
