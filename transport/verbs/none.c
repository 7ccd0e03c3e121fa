/* none.c - the transport for RDMA of a whorl that is built without it (WHORL_VERBS off). */
#include "transport/verbs/verbs.h"

#define WITHOUT "verbs: this whorl was built without RDMA (WHORL_VERBS)"

enum whorl_result wh_verbs_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				  struct wh_error *err)
{
	(void)config, (void)ctx;
	*out = NULL;
	return wh_error_set(err, WHORL_UNSUPPORTED, WITHOUT);
}

enum whorl_result wh_verbs_address_default(const char *group, uint32_t node, char address[WH_VERBS_ADDRESS_BYTES],
					   struct wh_error *err)
{
	(void)group, (void)node;
	address[0] = '\0';
	return wh_error_set(err, WHORL_UNSUPPORTED, WITHOUT);
}
