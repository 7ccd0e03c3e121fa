/* address.c - where the nodes of a group are that is given no addresses; see verbs.h. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "transport/dice.h"
#include "transport/verbs/verbs_int.h"

#define GIDS_MAX 256
#define PORT_FIRST 16384 /* below the ports that systems choose for callers */
#define PORTS 8000

/* Takes the number `*skip` of the IPv4 addresses of a device; is it not among them, *skip becomes less by how many there are. */
static bool take(struct ibv_context *context, uint32_t *skip, char host[INET_ADDRSTRLEN])
{
	static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff}; /* RoCE has IPv4 addresses as IPv6 ones */
	struct ibv_gid_entry entries[GIDS_MAX];
	ssize_t count = ibv_query_gid_table(context, entries, GIDS_MAX, 0);

	for (ssize_t i = 0; i < count; i++)
		if (entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    memcmp(entries[i].gid.raw, mapped, sizeof(mapped)) == 0 && (*skip)-- == 0)
			return inet_ntop(AF_INET, entries[i].gid.raw + sizeof(mapped), host, INET_ADDRSTRLEN) != NULL;
	return false;
}

/* As take(), over all devices of this host. */
static bool take_of_all(uint32_t *skip, char host[INET_ADDRSTRLEN])
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	bool found = false;

	for (int i = 0; list != NULL && i < count && !found; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);

		if (context == NULL)
			continue;
		found = take(context, skip, host);
		ibv_close_device(context);
	}
	if (list != NULL)
		ibv_free_device_list(list);
	return found;
}

enum whorl_result wh_verbs_address_default(const char *group, uint32_t node, char address[WH_VERBS_ADDRESS_BYTES],
					   struct wh_error *err)
{
	char host[INET_ADDRSTRLEN];
	uint32_t skip = node, count;
	uint64_t hash = 0;

	if (!take_of_all(&skip, host)) {
		count = node - skip;
		skip = count > 0 ? node % count : 0;
		if (count == 0 || !take_of_all(&skip, host))
			return wh_error_set(err, WHORL_UNSUPPORTED,
					    "group.transport = verbs: this host has no RDMA device with an IPv4 "
					    "address, in hardware or Soft-RoCE (`rdma link` lists them); ./run softroce "
					    "tries it in a virtual machine");
	}
	for (; *group != '\0'; group++)
		hash = wh_mix(hash ^ (unsigned char)*group);
	snprintf(address, WH_VERBS_ADDRESS_BYTES, "%s:%" PRIu32, host, PORT_FIRST + (uint32_t)(hash % PORTS) + node);
	return WHORL_OK;
}
