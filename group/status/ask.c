/* ask.c - asking a node how it is; see whorl/status.h. */
#include "group/status/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/refuse.h"
#include "membership/view.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"
#include "transport/verbs/verbs.h"

#define NO_PLACE "no place for the status"

static enum whorl_result check_target(const char *group, uint32_t id, int timeout_ms, struct wh_error *err)
{
	if (group == NULL || group[0] == '\0' || strlen(group) >= WH_NAME_BYTES)
		return wh_error_set(err, WHORL_INVALID, "the name of a group has 1 to %d characters",
				    WH_NAME_BYTES - 1);
	if (id >= WH_NODES_MAX)
		return wh_error_set(err, WHORL_INVALID, "node %u: expected 0 to %d", id, WH_NODES_MAX - 1);
	if (timeout_ms < 0)
		return wh_error_set(err, WHORL_INVALID, "a time-out of %d ms", timeout_ms);
	return WHORL_OK;
}

static uint64_t deadline_of(int timeout_ms)
{
	return wh_env_now(wh_env_system()) + (uint64_t)timeout_ms * WH_NS_PER_MS;
}

/* At its address by tcp; without one on shared memory. The answer is to be in that version of a status. */
static enum whorl_result query_once(const struct wh_tcp_target *asked, uint32_t version, uint64_t deadline_ns,
				    unsigned char *answer, size_t *bytes, struct wh_error *err)
{
	uint64_t now = wh_env_now(wh_env_system()), left_ns = deadline_ns > now ? deadline_ns - now : 0;
	unsigned char question[WH_STATUS_QUESTION_BYTES];
	size_t count = wh_status_question(question, version);

	*bytes = WH_ANSWER_MAX;
	if (asked->address != NULL)
		return wh_tcp_query(asked, question, count, left_ns, answer, bytes, err);
	return wh_shm_query(asked->group, asked->node, question, count, left_ns, answer, bytes, err);
}

/* A node of an older version is asked in that. */
static enum whorl_result query_by(const struct wh_tcp_target *asked, uint64_t deadline_ns, struct whorl_status **out,
				  struct wh_error *err)
{
	unsigned char *answer = malloc(WH_ANSWER_MAX);
	enum whorl_result result;
	uint32_t older;
	size_t bytes;

	if (answer == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for an answer");
	result = query_once(asked, WH_STATUS_VERSION, deadline_ns, answer, &bytes, err);
	older = result == WHORL_OK ? wh_status_take_shrug(answer, bytes, WH_STATUS_VERSION) : 0;
	if (older != 0)
		result = query_once(asked, older, deadline_ns, answer, &bytes, err);
	if (result == WHORL_OK)
		result = wh_status_decode(out, answer, bytes, err);
	free(answer);
	return result;
}

/* A node that answers for another is not believed. */
static enum whorl_result believe_answer(enum whorl_result result, const char *group, uint32_t id,
					struct whorl_status **out, struct wh_error *err)
{
	if (result == WHORL_NOT_FOUND)
		wh_error_set(err, result, "node %u of group %s is not running", id, group);
	if (result == WHORL_OK && (strcmp((*out)->group, group) != 0 || (*out)->id != id)) {
		result = wh_error_set(err, WHORL_REFUSED, "it answers as node %u of %s", (*out)->id, (*out)->group);
		whorl_status_free(*out);
		*out = NULL;
	}
	if (result == WHORL_REFUSED)
		wh_error_prefix(err, "node %u of %s", id, group);
	return result;
}

/* On shared memory, then where the group is on tcp, and on verbs, if it has no addresses. */
static enum whorl_result ask_node(const char *group, uint32_t id, int timeout_ms, struct whorl_status **out,
				  struct wh_error *err)
{
	char address[WH_TCP_ADDRESS_BYTES], on_verbs[WH_VERBS_ADDRESS_BYTES];
	struct wh_tcp_target asked = {.group = group, .node = id};
	enum whorl_result result = query_by(&asked, deadline_of(timeout_ms), out, err);

	if (result == WHORL_NOT_FOUND) {
		wh_tcp_address_default(group, id, address);
		asked.address = address;
		result = query_by(&asked, deadline_of(timeout_ms), out, err);
	}
	if (result == WHORL_NOT_FOUND && wh_verbs_address_default(group, id, on_verbs, NULL) == WHORL_OK) {
		asked.address = on_verbs;
		asked.version = WH_VERBS_VERSION;
		result = query_by(&asked, deadline_of(timeout_ms), out, err);
	}
	return believe_answer(result, group, id, out, err);
}

enum whorl_result wh_inquiry_open(struct wh_inquiry *out, const struct wh_node_config *config, struct wh_error *err)
{
	out->config = config;
	return wh_secret_load(&config->group, WH_SECURE_VISITOR, wh_node_config_nodes_max(config), &out->secret, err);
}

void wh_inquiry_close(struct wh_inquiry *inquiry)
{
	wh_secret_free(&inquiry->secret);
}

enum whorl_result wh_inquiry_send(const struct wh_inquiry *inquiry, uint32_t id, int timeout_ms,
				  struct whorl_status **out, struct wh_error *err)
{
	const struct wh_node_config *config = inquiry->config;
	bool verbs = config->group.transport == WH_TRANSPORT_VERBS;
	char address[WH_TCP_ADDRESS_BYTES];
	struct wh_tcp_target asked = {.group = config->group.name,
				      .node = id,
				      .key = inquiry->secret.key,
				      .tls = inquiry->secret.tls,
				      .version = verbs ? WH_VERBS_VERSION : 0};

	*out = NULL;
	if (id >= wh_node_config_nodes_max(config))
		return wh_error_set(err, WHORL_NOT_FOUND, "group %s has no node %u", asked.group, id);
	if (verbs && wh_verbs_address_default(asked.group, id, address, err) != WHORL_OK && config->addresses == NULL)
		return err->code;
	if (config->group.transport == WH_TRANSPORT_TCP)
		wh_tcp_address_default(asked.group, id, address);
	if (verbs || config->group.transport == WH_TRANSPORT_TCP) {
		asked.address = config->addresses != NULL && config->addresses[id].address[0] != '\0'
					? config->addresses[id].address
					: address;
	}
	return believe_answer(query_by(&asked, deadline_of(timeout_ms), out, err), asked.group, id, out, err);
}

static enum whorl_result tell_result(const char *function, enum whorl_result result, const struct wh_error *err,
				     char *text, size_t bytes)
{
	if (text != NULL && bytes > 0)
		snprintf(text, bytes, "%s",
			 result == WHORL_OK     ? ""
			 : err->text[0] != '\0' ? err->text
						: wh_result_text(result));
	return result == WHORL_INVALID ? wh_refuse(function, err->text) : result;
}

/* On tcp and on verbs nodes are met in the same way, and say which version they speak before they refuse another. */
enum whorl_result wh_status_get_at(const char *address, bool *verbs, int timeout_ms, struct whorl_status **out,
				   struct wh_error *err)
{
	uint64_t deadline_ns = deadline_of(timeout_ms);
	uint32_t spoken = 0;
	struct wh_tcp_target asked = {.address = address,
				      .group = "",
				      .node = WH_SECURE_VISITOR,
				      .version = *verbs ? WH_VERBS_VERSION : 0,
				      .spoken = &spoken};
	enum whorl_result result = wh_tcp_address_check(address, err);

	*out = NULL;
	if (result != WHORL_OK) {
		wh_error_prefix(err, "address");
		return result;
	}
	result = query_by(&asked, deadline_ns, out, err);
	if (result != WHORL_REFUSED || spoken == 0 || (spoken == WH_VERBS_VERSION) == *verbs)
		return result;
	*verbs = !*verbs;
	asked.version = *verbs ? WH_VERBS_VERSION : 0;
	return query_by(&asked, deadline_ns, out, err);
}

enum whorl_result whorl_status_get_at(const char *address, int timeout_ms, struct whorl_status **out, char *text,
				      size_t bytes)
{
	struct wh_error err = {0};
	enum whorl_result result;
	bool verbs = false;

	if (out != NULL)
		*out = NULL;
	if (out == NULL)
		result = wh_error_set(&err, WHORL_INVALID, "address: " NO_PLACE);
	else if (address == NULL)
		result = wh_error_set(&err, WHORL_INVALID, "address: no address");
	else if (timeout_ms < 0)
		result = wh_error_set(&err, WHORL_INVALID, "address: a time-out of %d ms", timeout_ms);
	else
		result = wh_status_get_at(address, &verbs, timeout_ms, out, &err);
	return tell_result(__func__, result, &err, text, bytes);
}

enum whorl_result whorl_status_get(const char *group, uint32_t id, int timeout_ms, struct whorl_status **out,
				   char *text, size_t bytes)
{
	struct wh_error err = {0};
	enum whorl_result result = check_target(group, id, timeout_ms, &err);

	if (out == NULL)
		result = wh_error_set(&err, WHORL_INVALID, NO_PLACE);
	else
		*out = NULL;
	if (result == WHORL_OK)
		result = ask_node(group, id, timeout_ms, out, &err);
	return tell_result(__func__, result, &err, text, bytes);
}

enum whorl_result whorl_status_of(whorl_config *config, uint32_t id, int timeout_ms, struct whorl_status **out,
				  char *text, size_t bytes)
{
	struct wh_node_config bound;
	struct wh_inquiry inquiry;
	struct wh_error err = {0};
	enum whorl_result result;

	if (out != NULL)
		*out = NULL;
	if (config == NULL || out == NULL)
		wh_error_set(&err, WHORL_INVALID, config == NULL ? "no configuration" : NO_PLACE);
	else if (timeout_ms < 0)
		wh_error_set(&err, WHORL_INVALID, "a time-out of %d ms", timeout_ms);
	if (err.code != WHORL_OK)
		return tell_result(__func__, err.code, &err, text, bytes);
	result = wh_config_bind(config, &bound);
	if (result != WHORL_OK)
		return tell_result(__func__, wh_error_set(&err, result, "%s", whorl_config_error(config)), &err, text,
				   bytes);
	if (id >= wh_node_config_nodes_max(&bound))
		result = wh_error_set(&err, WHORL_INVALID, "group %s has no node %u", bound.group.name, id);
	else
		result = wh_inquiry_open(&inquiry, &bound, &err);
	if (result == WHORL_OK) {
		result = wh_inquiry_send(&inquiry, id, timeout_ms, out, &err);
		wh_inquiry_close(&inquiry);
	}
	wh_node_config_free(&bound);
	return tell_result(__func__, result, &err, text, bytes);
}
