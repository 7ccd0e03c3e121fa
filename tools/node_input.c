/* node_input.c - what is typed at a member: commands, and lines that it says (--run echo).
 *
 * Nothing is read that is not meant for it: from a terminal only in the foreground (a process that reads it from elsewhere is
 * stopped by the system, and a member that stands still is removed), from anything else only if that was asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group/config/config.h"
#include "tools/node.h"

/* ---- commands ------------------------------------------------------------------------------------------------------ */

static void tell_rest(struct wh_member *member, const char *subgroup, uint32_t id, bool rests, enum whorl_result result)
{
	const char *does = rests ? "rest" : "send again", *why = whorl_result_text(result);
	char text[160];

	if (result == WHORL_OK)
		snprintf(text, sizeof text, "is %sto %s", id == member->id ? "" : "asked ", does);
	else
		snprintf(text, sizeof text, "cannot be asked to %s: %s", does, why);
	wh_member_tell(member,
		       WH_MEMBER_JSON(member, "{s:s, s:i, s:s, s:i, s:b, s:s}", "event", "rest", "node", (int)member->id,
				      "subgroup", subgroup, "of", (int)id, "rests", (int)rests, "result", why),
		       "%s: node %u %s", subgroup, id, text);
}

/* In the subgroup that was chosen, or in all that this node is in. */
static void request_rest(struct wh_member *member, uint32_t id, bool rests)
{
	const char *only = member->options->subgroup;
	whorl_subgroup *subgroup;

	for (size_t i = 0; (subgroup = whorl_subgroup_at(member->node, i)) != NULL; i++) {
		struct whorl_subgroup_info info = {.size = sizeof info};

		if (whorl_subgroup_describe(subgroup, &info) == WHORL_OK &&
		    (only == NULL || strcmp(info.name, only) == 0))
			tell_rest(member, info.name, id, rests, whorl_request_pause(subgroup, id, rests));
	}
}

static void obey_command(struct wh_member *member, char *line)
{
	static const char blanks[] = " \t\r";
	char *at, *end = "", *word = strtok_r(line, blanks, &at), *argument = strtok_r(NULL, blanks, &at);
	unsigned long id = argument != NULL ? strtoul(argument, &end, 10) : member->id;
	bool good = *end == '\0' && id < WH_NODES_MAX && strtok_r(NULL, blanks, &at) == NULL;

	if (word == NULL)
		return;
	if (good && (strcmp(word, "rest") == 0 || strcmp(word, "send") == 0)) {
		request_rest(member, (uint32_t)id, word[0] == 'r');
	} else if (argument == NULL && strcmp(word, "leave") == 0) {
		member->leaves = true;
	} else {
		wh_progress("");
		wh_say("commands are: rest, send (each of this node, or with the id of another), leave");
	}
}

/* ---- lines --------------------------------------------------------------------------------------------------------- */

bool wh_input_listens(const struct wh_member *member)
{
	const struct wh_member_run *run = member->options->run;

	if (member->input.ended ||
	    (run->on_bytes != NULL && (member->part_count == 0 || !run->has_room(&member->parts[0]))))
		return false;
	if (isatty(STDIN_FILENO))
		return tcgetpgrp(STDIN_FILENO) == getpgrp();
	return run->on_bytes != NULL || member->options->commands;
}

/* The first `count` bytes that were typed: a line, without its end, or a piece of one that is longer than there is room for. */
static void on_bytes(struct wh_member *member, size_t count, bool whole)
{
	struct wh_input *input = &member->input;
	const struct wh_member_run *run = member->options->run;
	bool slash = count > 0 && input->bytes[0] == '/', middle = input->middle;

	input->middle = !whole;
	if (run->on_bytes != NULL && (middle || !slash)) {
		run->on_bytes(&member->parts[0], input->bytes, count, whole);
	} else if (!middle) {
		input->bytes[count] = '\0';
		obey_command(member, input->bytes + slash);
	}
}

void wh_input_take(struct wh_member *member)
{
	struct wh_input *input = &member->input;
	ptrdiff_t count = read(STDIN_FILENO, input->bytes + input->typed, WH_INPUT_BYTES - input->typed);
	char *end;

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	input->ended = count <= 0;
	input->typed += count > 0 ? (size_t)count : 0;
	while ((end = memchr(input->bytes, '\n', input->typed)) != NULL) {
		size_t length = (size_t)(end - input->bytes);

		on_bytes(member, length, true);
		input->typed -= length + 1;
		memmove(input->bytes, end + 1, input->typed);
	}
	if (input->typed < WH_INPUT_BYTES && !(input->ended && (input->typed > 0 || input->middle)))
		return;
	on_bytes(member, input->typed, input->ended); /* what is too long, or has no end */
	input->typed = 0;
}
