/* launch_plan.c - which nodes a job has, and on which hosts. See launch.h. */
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/launch.h"

#define HOST_BYTES WH_OPTION_TEXT_BYTES /* of a name, with the NUL */

/* ---- ids ------------------------------------------------------------------------------------------------------------ */

/* "3" or "2-4" at *text, which is behind it and its comma then. */
static bool read_range(const char **text, uint32_t below, uint32_t *first, uint32_t *last)
{
	char *end;
	unsigned long number;

	for (uint32_t *out = first;; out = last) {
		if (**text < '0' || **text > '9')
			return false;
		number = strtoul(*text, &end, 10);
		if (number >= below)
			return false;
		*out = (uint32_t)number;
		*text = end;
		if (out == last || *end != '-')
			break;
		(*text)++;
	}
	if (**text != '\0' && **text != ',')
		return false;
	*text += **text == ',' && (*text)[1] != '\0';
	return true;
}

/* Each once, in any order. */
static bool choose_ids(struct wh_launch *launch, uint32_t below)
{
	bool chosen[WH_NODES_MAX] = {false};
	const char *text = launch->ids;
	uint32_t first, last;

	while (*text != '\0') {
		last = UINT32_MAX;
		if (!read_range(&text, below, &first, &last))
			return false;
		if (last == UINT32_MAX)
			last = first;
		if (first > last)
			return false;
		for (; first <= last; first++) {
			if (chosen[first])
				return false;
			chosen[first] = true;
			launch->nodes[launch->count++].id = first;
		}
	}
	return launch->count > 0;
}

static enum wh_exit choose_nodes(struct wh_launch *launch, const struct wh_node_config *config)
{
	uint32_t below = wh_node_config_nodes_max(config);

	if (launch->ids == NULL) {
		launch->count = (uint32_t)config->group.nodes;
		for (uint32_t i = 0; i < launch->count; i++)
			launch->nodes[i].id = i;
		if (launch->count > 0)
			return WH_EXIT_GOOD;
		wh_say("%s names no nodes (nodes = 0): how many, --nodes 0-3?", launch->file);
		return WH_EXIT_USAGE;
	}
	if (choose_ids(launch, below))
		return WH_EXIT_GOOD;
	wh_say("--nodes is \"%s\", expected ids from 0 to %u, each once, as in 0,2-4", launch->ids, below - 1);
	return WH_EXIT_USAGE;
}

/* ---- ranks ---------------------------------------------------------------------------------------------------------- */

/* How many commands srun or mpirun has started together with this one; 0: it has not said. */
static uint32_t size_of_job(void)
{
	static const char *const names[] = {"SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *text = getenv(names[i]);
		unsigned long size = text == NULL ? 0 : strtoul(text, NULL, 10);

		if (size > 0 && size < UINT32_MAX)
			return (uint32_t)size;
	}
	return 0;
}

/* One of several commands runs the node of its rank, here. One alone, as in a script of a batch job, runs them all. */
static enum wh_exit take_rank(struct wh_launch *launch)
{
	int rank = launch->ranks ? wh_command_rank(UINT32_MAX) : -1;
	uint32_t size = size_of_job();

	if (rank < 0 || size == 1)
		return WH_EXIT_GOOD;
	if ((size != 0 && size != launch->count) || (uint32_t)rank >= launch->count) {
		wh_say("this is command %d of %u that were started together, and there are %u nodes to be started: as many as nodes, or "
		       "--ranks off",
		       rank, size == 0 ? (uint32_t)rank + 1 : size, launch->count);
		return WH_EXIT_USAGE;
	}
	launch->nodes[0] = (struct wh_launch_node){.id = launch->nodes[rank].id};
	launch->count = 1;
	return WH_EXIT_GOOD;
}

/* ---- hosts ---------------------------------------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;

	return address->sa_family == AF_INET    ? ntohl(four->sin_addr.s_addr) >> 24 == 127
	       : address->sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)
						: false;
}

static bool is_same(const struct sockaddr *one, const struct sockaddr *other)
{
	if (other == NULL || one->sa_family != other->sa_family)
		return false;
	if (one->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)one)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)(const void *)other)->sin_addr.s_addr;
	return one->sa_family == AF_INET6 &&
	       memcmp(&((const struct sockaddr_in6 *)(const void *)one)->sin6_addr,
		      &((const struct sockaddr_in6 *)(const void *)other)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

static bool is_of_interface(const struct ifaddrs *interfaces, const struct sockaddr *address)
{
	for (; interfaces != NULL; interfaces = interfaces->ifa_next)
		if (is_same(address, interfaces->ifa_addr))
			return true;
	return false;
}

/* A name that the resolver does not know may be one that ssh does. */
static bool is_here(const struct ifaddrs *interfaces, const char *host)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char name[256] = "";
	bool here = false;

	if (gethostname(name, sizeof name - 1) == 0 && strcmp(host, name) == 0)
		return true;
	if (strcmp(host, "localhost") == 0)
		return true;
	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return false;
	for (const struct addrinfo *one = found; one != NULL && !here; one = one->ai_next)
		here = is_loopback(one->ai_addr) || is_of_interface(interfaces, one->ai_addr);
	freeaddrinfo(found);
	return here;
}

/* Of "host:port" or "[2001:db8::1]:port". */
static void host_of_address(const char *address, char host[HOST_BYTES])
{
	const char *behind = strrchr(address, ':');
	size_t length = behind == NULL ? strlen(address) : (size_t)(behind - address);

	if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	snprintf(host, HOST_BYTES, "%.*s", (int)length, address);
}

/* The one that is number `turn` of a list. False: a name is missing, or too long. */
static bool host_of_list(const char *list, uint32_t turn, char host[HOST_BYTES])
{
	uint32_t count = 1;
	size_t length;

	for (const char *c = list; *c != '\0'; c++)
		count += *c == ',';
	for (turn %= count; turn > 0; turn--)
		list = strchr(list, ',') + 1;
	length = strcspn(list, ",");
	snprintf(host, HOST_BYTES, "%.*s", (int)length, list);
	return length > 0 && length < HOST_BYTES && list[0] != '-'; /* it is no option of ssh */
}

static enum wh_exit find_host(struct wh_launch *launch, const struct wh_node_config *config, uint32_t index,
			      const struct ifaddrs *interfaces)
{
	struct wh_launch_node *node = &launch->nodes[index];
	char *host = launch->names + (size_t)index * HOST_BYTES;
	char address[WH_OPTION_TEXT_BYTES];

	if (launch->hosts != NULL) {
		if (!host_of_list(launch->hosts, index, host)) {
			wh_say("--hosts is \"%s\", expected names, as in a,b,c", launch->hosts);
			return WH_EXIT_USAGE;
		}
	} else if (config->addresses != NULL) {
		wh_node_config_address(config, node->id, address);
		host_of_address(address, host);
	} else {
		return WH_EXIT_GOOD;
	}
	/* Nodes often have a host in common: it is looked up once. */
	if (index > 0 && strcmp(host, host - HOST_BYTES) == 0)
		node->host = launch->nodes[index - 1].host != NULL ? host : NULL;
	else if (!is_here(interfaces, host))
		node->host = host;
	return WH_EXIT_GOOD;
}

enum wh_exit wh_launch_plan(struct wh_launch *launch, const struct wh_node_config *config)
{
	struct ifaddrs *interfaces = NULL;
	enum wh_exit status;

	if (config->group.transport == WH_TRANSPORT_SIM) {
		wh_say("%s: the nodes of transport sim are no processes: whorl sim", launch->file);
		return WH_EXIT_USAGE;
	}
	launch->nodes = calloc(WH_NODES_MAX, sizeof *launch->nodes);
	launch->names = calloc(WH_NODES_MAX, HOST_BYTES);
	if (launch->nodes == NULL || launch->names == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return WH_EXIT_MACHINE;
	}
	status = choose_nodes(launch, config);
	if (status == WH_EXIT_GOOD) {
		uint32_t all = launch->count;

		status = take_rank(launch);
		if (status != WH_EXIT_GOOD || launch->count < all)
			return status;
	}
	if (getifaddrs(&interfaces) != 0)
		interfaces = NULL; /* then only names, and addresses of the loopback interface, are known to be here */
	for (uint32_t i = 0; i < launch->count && status == WH_EXIT_GOOD; i++)
		status = find_host(launch, config, i, interfaces);
	if (interfaces != NULL)
		freeifaddrs(interfaces);
	return status;
}

void wh_launch_free(struct wh_launch *launch)
{
	free(launch->file);
	free(launch->nodes);
	free(launch->names);
}
