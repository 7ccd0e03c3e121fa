/* status_ask.c - asking a node how it is; see whorl/status.h. */
#include "group/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "membership/view.h"
#include "transport/shm.h"
#include "transport/tcp.h"

static enum whorl_result check(const char *group, uint32_t id, int timeout_ms, struct wh_error *err)
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

/* By tcp if there is an address, else on shared memory. */
static enum whorl_result ask_by(const struct wh_tcp_asked *asked, int timeout_ms, struct whorl_status **out,
				struct wh_error *err)
{
	uint64_t timeout_ns = (uint64_t)timeout_ms * WH_NS_PER_MS;
	unsigned char question[WH_STATUS_QUESTION_BYTES];
	unsigned char *answer = malloc(WH_ANSWER_MAX);
	size_t count = wh_status_question(question), bytes = WH_ANSWER_MAX;
	enum whorl_result result;

	if (answer == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for an answer");
	if (asked->address != NULL)
		result = wh_tcp_ask(asked, question, count, timeout_ns, answer, &bytes, err);
	else
		result = wh_shm_ask(asked->group, asked->node, question, count, timeout_ns, answer, &bytes, err);
	if (result == WHORL_OK)
		result = wh_status_decode(out, answer, bytes, err);
	free(answer);
	return result;
}

/* On shared memory, then where the group is on tcp if it has no addresses. Whoever answers for somebody else is not believed. */
static enum whorl_result ask(const char *group, uint32_t id, int timeout_ms, struct whorl_status **out,
			     struct wh_error *err)
{
	char address[WH_TCP_ADDRESS_BYTES];
	struct wh_tcp_asked asked = {.group = group, .node = id};
	enum whorl_result result = ask_by(&asked, timeout_ms, out, err);

	if (result == WHORL_NOT_FOUND) {
		wh_tcp_address_default(group, id, address);
		asked.address = address;
		result = ask_by(&asked, timeout_ms, out, err);
		if (result == WHORL_NOT_FOUND)
			wh_error_set(err, result, "node %u of group %s is not running", id, group);
	}
	if (result == WHORL_OK && (strcmp((*out)->group, group) != 0 || (*out)->id != id)) {
		result = wh_error_set(err, WHORL_REFUSED, "it answers as node %u of %s", (*out)->id, (*out)->group);
		whorl_status_free(*out);
		*out = NULL;
	}
	if (result == WHORL_REFUSED)
		wh_error_prefix(err, "node %u of %s", id, group);
	return result;
}

static enum whorl_result tell(enum whorl_result result, const struct wh_error *err, char *text, size_t bytes)
{
	if (text != NULL && bytes > 0)
		snprintf(text, bytes, "%s",
			 result == WHORL_OK     ? ""
			 : err->text[0] != '\0' ? err->text
						: wh_result_text(result));
	return result;
}

enum whorl_result whorl_status_get_at(const char *address, int timeout_ms, struct whorl_status **out, char *text,
				      size_t bytes)
{
	const struct wh_tcp_asked asked = {.address = address, .group = "", .node = WH_SECURE_VISITOR};
	struct wh_error err = {0};
	enum whorl_result result;

	*out = NULL;
	if (address == NULL)
		result = wh_error_set(&err, WHORL_INVALID, "no address");
	else if (timeout_ms < 0)
		result = wh_error_set(&err, WHORL_INVALID, "a time-out of %d ms", timeout_ms);
	else
		result = wh_tcp_address_check(address, &err);
	if (result != WHORL_OK)
		wh_error_prefix(&err, "address");
	else
		result = ask_by(&asked, timeout_ms, out, &err);
	return tell(result, &err, text, bytes);
}

enum whorl_result whorl_status_get(const char *group, uint32_t id, int timeout_ms, struct whorl_status **out,
				   char *text, size_t bytes)
{
	struct wh_error err = {0};
	enum whorl_result result = check(group, id, timeout_ms, &err);

	*out = NULL;
	if (result == WHORL_OK)
		result = ask(group, id, timeout_ms, out, &err);
	return tell(result, &err, text, bytes);
}
