#include "tests/support/newcomers.h"

uint64_t incarnation_of(uint32_t id, uint32_t before)
{
	return UINT64_C(1000000007) * (before + 1) + id;
}

uint32_t newcomers_of(const char *ids, struct wh_newcomer out[WH_NODES_MAX])
{
	uint32_t count = 0;

	while (isdigit((unsigned char)*ids)) {
		char *end;
		uint32_t id = (uint32_t)strtoul(ids, &end, 10);

		out[count++] = (struct wh_newcomer){id, incarnation_of(id, 0)};
		ids = *end == ',' ? end + 1 : end;
	}
	return count;
}

enum whorl_result view_of_all(struct wh_view **out, uint32_t count, const struct wh_layout_config *layout,
			      struct wh_error *err)
{
	struct wh_newcomer newcomers[WH_NODES_MAX];

	for (uint32_t id = 0; id < count; id++)
		newcomers[id] = (struct wh_newcomer){id, incarnation_of(id, 0)};
	return wh_view_create(out, 7, newcomers, count, count, layout, err);
}
