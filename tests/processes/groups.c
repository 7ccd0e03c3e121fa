/* groups.c - the subgroups that a group of processes has, and what its configuration says of them. */
#include <stdio.h>
#include <string.h>

#include "tests/processes/cluster.h"

const struct group groups[GROUPS] = {
	{.name = "main", .ordered = true, .window = 32, .message_bytes = MESSAGE_MAX, .members = 0x1f, .senders = 0x0f},
	{.name = "side", .ordered = true, .window = 8, .message_bytes = 200, .members = 0x0e, .senders = 0x0a},
	{.name = "loose", .ordered = false, .window = 8, .message_bytes = 400, .members = 0x1d, .senders = 0x0c},
};

/* The lists above count for a group of five that stays as it is. */
static bool has_lists(const struct cluster *c)
{
	return c->options.nodes == 5 && c->options.nodes_max == 0;
}

bool cluster_takes_part(const struct cluster *c, uint32_t group, uint32_t id)
{
	return !has_lists(c) || (groups[group].members >> id & 1) != 0;
}

bool cluster_sends(const struct cluster *c, uint32_t group, uint32_t id)
{
	return !has_lists(c) || (groups[group].senders >> id & 1) != 0;
}

static size_t write_list(const struct cluster *c, char *at, size_t room, const char *key, uint64_t ids)
{
	size_t length = (size_t)snprintf(at, room, "%s = ", key);
	const char *separator = "";

	if (!has_lists(c))
		return length + (size_t)snprintf(at + length, room - length, "all\n");
	for (uint32_t id = 0; id < 5; id++)
		if (ids >> id & 1) {
			length += (size_t)snprintf(at + length, room - length, "%s%u", separator, id);
			separator = ",";
		}
	return length + (size_t)snprintf(at + length, room - length, "\n");
}

/* The transport, and members that relay on it (docs/decisions/0074). */
static bool relays(const struct cluster *c)
{
	return c->options.transport != NULL && strcmp(c->options.transport, "tcp-relays") == 0;
}

static const char *transport_of(const struct cluster *c)
{
	if (relays(c))
		return "tcp";
	return c->options.transport != NULL ? c->options.transport : "shm";
}

static size_t write_group(const struct cluster *c, char *at, size_t room)
{
	const struct cluster_options *o = &c->options;
	size_t length =
		(size_t)snprintf(at, room, "[group]\nname = %s\ntransport = %s\nnodes = %u\nfailure_timeout_ms = %u\n",
				 c->name, transport_of(c), o->nodes, o->timeout_ms);

	if (o->tie_breaker)
		length += (size_t)snprintf(at + length, room - length, "tie_breaker = 0\n");
	if (o->founder)
		length += (size_t)snprintf(at + length, room - length, "founder = 0\n");
	if (c->state_dir[0] != '\0')
		length += (size_t)snprintf(at + length, room - length, "state_dir = %s\n", c->state_dir);
	if (c->log_dir[0] != '\0')
		length += (size_t)snprintf(at + length, room - length, "log_dir = %s\ndisk_timeout_ms = 120000\n",
					   c->log_dir);
	if (o->nodes_max > 0)
		length += (size_t)snprintf(at + length, room - length, "nodes_max = %u\n", o->nodes_max);
	if (o->start_timeout_ms > 0)
		length += (size_t)snprintf(at + length, room - length, "start_timeout_ms = %u\n", o->start_timeout_ms);
	if (o->state_share > 0)
		length += (size_t)snprintf(at + length, room - length, "state_share = %u\n", o->state_share);
	if (o->backlog_bytes > 0)
		length += (size_t)snprintf(at + length, room - length, "backlog_max = %llu\nmemory_max = 64g\n",
					   (unsigned long long)o->backlog_bytes);
	return length;
}

void cluster_write_config(const struct cluster *c)
{
	char *at = c->board->config, *end = at + sizeof(c->board->config);

	at += write_group(c, at, (size_t)(end - at));
	if (c->options.death_waits)
		at += snprintf(at, (size_t)(end - at), "[engine]\ndeath_waits = on\n");
	for (const struct group *group = groups; group < groups + GROUPS; group++) {
		at += snprintf(at, (size_t)(end - at), "[subgroup %s]\nmode = %s\nwindow = %u\nmessage_bytes = %u\n",
			       group->name,
			       !group->ordered      ? "unordered"
			       : c->options.durable ? "durable"
						    : "ordered",
			       group->window, group->message_bytes);
		if (group->ordered && c->options.log_bytes > 0)
			at += snprintf(at, (size_t)(end - at), "log_bytes = %llu\n",
				       (unsigned long long)c->options.log_bytes);
		if (group->ordered && relays(c))
			at += snprintf(at, (size_t)(end - at), "relay_bytes = 100\n");
		if (group == groups && c->options.shards > 1)
			at += snprintf(at, (size_t)(end - at), "shards = %u\n", c->options.shards);
		at += write_list(c, at, (size_t)(end - at), "members", group->members);
		at += write_list(c, at, (size_t)(end - at), "senders", group->senders);
	}
}
