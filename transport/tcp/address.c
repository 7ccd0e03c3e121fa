/* address.c - addresses as text, and what they mean; see tcp.h and tcp_int.h. */
#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/dice.h"
#include "transport/tcp/tcp_int.h"

#define DEFAULT_PORT 21700 /* and the node's id; below the ports that systems choose for callers */

static bool port_holds(const char *port)
{
	size_t digits = strspn(port, "0123456789");

	return digits > 0 && digits <= 5 && port[digits] == '\0' && atoi(port) >= 1 && atoi(port) <= 65535;
}

static bool host_holds(const char *host, bool bracketed)
{
	if (*host == '\0')
		return false;
	for (; *host != '\0'; host++)
		if (!isalnum((unsigned char)*host) && strchr(bracketed ? ":.%-_" : ".-_", *host) == NULL)
			return false;
	return true;
}

enum whorl_result wh_tcp_address_split(const char *text, char host[WH_TCP_HOST_BYTES], char port[8],
				       struct wh_error *err)
{
	bool bracketed = text[0] == '[';
	const char *from = bracketed ? text + 1 : text, *colon = strrchr(text, ':');
	size_t length = colon == NULL ? 0 : (size_t)(colon - from);

	if (colon != NULL && colon > from && bracketed && colon[-1] == ']')
		length--;
	else if (bracketed)
		length = 0;
	if (colon == NULL || length == 0 || length >= WH_TCP_HOST_BYTES || !port_holds(colon + 1))
		return wh_error_set(err, WHORL_INVALID, "is \"%s\", expected host:port or [address]:port", text);
	memcpy(host, from, length);
	host[length] = '\0';
	memcpy(port, colon + 1, strlen(colon + 1) + 1);
	if (!host_holds(host, bracketed))
		return wh_error_set(err, WHORL_INVALID, "is \"%s\", expected host:port or [address]:port", text);
	return WHORL_OK;
}

enum whorl_result wh_tcp_address_check(const char *address, struct wh_error *err)
{
	char host[WH_TCP_HOST_BYTES], port[8];

	return wh_tcp_address_split(address, host, port, err);
}

enum whorl_result wh_tcp_address_find(const char *text, struct wh_tcp_address *out, struct wh_error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	char host[WH_TCP_HOST_BYTES], port[8];
	enum whorl_result result = wh_tcp_address_split(text, host, port, err);
	struct addrinfo *found = NULL;
	unsigned char number[sizeof(struct in6_addr)];
	int error;

	*out = (struct wh_tcp_address){.bytes = 0};
	if (result != WHORL_OK)
		return result;
	out->is_name = inet_pton(AF_INET, host, number) != 1 && strchr(host, ':') == NULL;
	error = getaddrinfo(host, port, &hints, &found);
	if (error != 0 || found == NULL)
		return wh_error_set(err, WHORL_NOT_FOUND, "address %s: %s", text, gai_strerror(error));
	memcpy(&out->at, found->ai_addr, found->ai_addrlen);
	out->bytes = found->ai_addrlen;
	freeaddrinfo(found);
	return WHORL_OK;
}

bool wh_tcp_address_is_loopback(const struct wh_tcp_address *address)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->at;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&address->at;

	if (address->bytes == 0)
		return false;
	if (address->at.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) && in6->sin6_addr.s6_addr[12] == 127);
	return address->at.ss_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 == 127;
}

uint64_t wh_tcp_address_source(const struct wh_tcp_address *address)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->at;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&address->at;
	uint64_t halves[2];

	if (address->at.ss_family != AF_INET6)
		return in->sin_addr.s_addr;
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return in6->sin6_addr.s6_addr32[3];
	memcpy(halves, &in6->sin6_addr, sizeof(halves));
	return wh_mix(wh_mix(halves[0]) ^ halves[1]);
}

bool wh_tcp_address_same(const struct wh_tcp_address *a, const struct wh_tcp_address *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)&a->at, *b6 = (const struct sockaddr_in6 *)&b->at;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)&a->at, *b4 = (const struct sockaddr_in *)&b->at;

	if (a->at.ss_family != b->at.ss_family)
		return false;
	if (a->at.ss_family == AF_INET6)
		return a6->sin6_port == b6->sin6_port && memcmp(&a6->sin6_addr, &b6->sin6_addr, 16) == 0;
	return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

/* All of 127/8 is this host: groups that know nothing of each other do not meet there, as hardly two have the same three
 * bytes. */
void wh_tcp_address_default(const char *group, uint32_t node, char address[WH_TCP_ADDRESS_BYTES])
{
	uint64_t hash = wh_mix(geteuid());

	for (; *group != '\0'; group++)
		hash = wh_mix(hash ^ (unsigned char)*group);
	snprintf(address, WH_TCP_ADDRESS_BYTES, "127.%u.%u.%u:%" PRIu32, 64 + (unsigned)(hash & 127),
		 (unsigned)(hash >> 8 & 255), 1 + (unsigned)(hash >> 16) % 254, DEFAULT_PORT + node);
}
