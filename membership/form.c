/* form.c - the first view of a group: formed by a majority of the configured nodes, or by its founder (docs/decisions/0016).
 *
 * Of those who are forming the lowest whom I have met coordinates: it invites them all, and does it anew if one of them
 * goes or does not come. Two may take themselves for the lowest for a while: whoever follows the invitation of one does not
 * hear the other, so that at most one of them can be followed by all whom it invites.
 */
#include <stdio.h>

#include "membership/entry_int.h"

/* Is that node one of those who are forming, as far as is known here? */
static bool is_forming(const struct wh_entry *entry, uint32_t node)
{
	const struct wh_guest *guest = &entry->lobby->guests[node];

	if (node == entry->lobby->id)
		return true;
	return guest->introduced && guest->differs == NULL && guest->standing == WH_FORMING;
}

/* Somebody lower is forming, and has said something since. */
static bool is_lower(const struct wh_entry *entry, uint64_t since_ns)
{
	for (uint32_t node = 0; node < entry->lobby->id; node++)
		if (is_forming(entry, node) && entry->lobby->guests[node].heard_ns >= since_ns)
			return true;
	return false;
}

/* Somebody lower is, and not one who was silent when I invited, and has said nothing since but that he follows me. */
static bool is_not_lowest(const struct wh_entry *entry)
{
	for (uint32_t node = 0; node < entry->lobby->id; node++) {
		const struct wh_guest *guest = &entry->lobby->guests[node];
		bool is_silent = guest->heard_ns < entry->invited_ns || guest->opened == entry->key;

		if (is_forming(entry, node) && !(entry->passes_over && is_silent))
			return true;
	}
	return false;
}

/* A key that is greater than all that those who are to come have seen; its low bits are mine alone. */
static uint64_t choose_key(const struct wh_entry *entry)
{
	uint64_t floor = entry->floor;

	for (uint32_t node = 0; node < entry->configured; node++)
		if (is_forming(entry, node) && node != entry->lobby->id && entry->lobby->guests[node].key > floor)
			floor = entry->lobby->guests[node].key;
	return ((floor >> 8) + 1) << 8 | entry->lobby->id;
}

/* Who is invited by me and has not come for so long is left out for a while. */
static bool is_awaited(const struct wh_entry *entry, uint32_t node)
{
	return node == entry->lobby->id || entry->lobby->guests[node].not_before_ns <= entry->lobby->loop->now_ns;
}

static size_t invite(struct wh_entry *entry, const struct wh_newcomer *newcomers, uint32_t count, uint32_t voters)
{
	uint64_t key = choose_key(entry);
	struct wh_view *view;
	struct wh_error err;
	enum whorl_result result;

	if (!wh_is_first_view(key)) {
		entry->on.refused(entry->ctx,
				  "so many first views have come to nothing that there are no names for more");
		return 1;
	}
	result = wh_view_create(&view, newcomers, count, voters, entry->layout, &err);

	if (result == WHORL_MEMORY)
		return 0; /* in the next pass */
	if (result != WHORL_OK) {
		entry->on.refused(entry->ctx, err.text);
		return 1;
	}
	if (wh_admission_invite(entry->admission, view, key, true) != WHORL_OK) {
		wh_view_free(view);
		return 0; /* no memory: in the next pass */
	}
	wh_entry_follow(entry, view, key, entry->lobby->id);
	return 1;
}

/* When a view can be formed. It is for the lowest to do so; one who could, and says nothing, must not keep all others waiting. */
static size_t coordinate(struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;
	struct wh_newcomer newcomers[WH_NODES_MAX];
	uint64_t now = lobby->loop->now_ns, until = entry->began_ns + entry->start_timeout_ns;
	uint64_t silence_ns = WH_SILENT_TIMEOUTS * entry->start_timeout_ns;
	uint32_t count = 0;

	for (uint32_t node = 0; node < entry->configured; node++)
		if (is_forming(entry, node) && is_awaited(entry, node))
			newcomers[count++] = (struct wh_newcomer){
				node, node == lobby->id ? lobby->incarnation : lobby->guests[node].incarnation};
	if (count < entry->configured && now < until)
		wh_loop_at(lobby->loop, until);
	if (count < entry->configured && (now < until || 2 * count <= entry->configured)) {
		entry->could_ns = 0;
		return 0;
	}
	if (entry->could_ns == 0)
		entry->could_ns = now;
	entry->passes_over = is_lower(entry, 0);
	if (entry->passes_over && (now < entry->could_ns + silence_ns || is_lower(entry, now - silence_ns + 1)))
		return 0;
	return invite(entry, newcomers, count, entry->configured);
}

/* Too many of the configured nodes are configured otherwise. */
static bool cannot_form(const struct wh_entry *entry, uint32_t *other)
{
	uint32_t differ = 0;

	for (uint32_t node = 0; node < entry->configured; node++)
		if (entry->lobby->guests[node].introduced && entry->lobby->guests[node].differs != NULL) {
			differ++;
			*other = node;
		}
	return differ > 0 && 2 * (entry->configured - differ) <= entry->configured;
}

size_t wh_entry_form(struct wh_entry *entry)
{
	struct wh_lobby *lobby = entry->lobby;
	uint32_t other = 0;
	char why[768];

	if (entry->state == WH_ENTRY_INVITED && entry->by == lobby->id && entry->founder < 0 && is_not_lowest(entry))
		wh_entry_drop(entry, "not the lowest");
	if (entry->state != WH_ENTRY_SEEKING) {
		if (entry->could_ns == 0 && wh_is_first_view(entry->key))
			entry->could_ns = lobby->loop->now_ns; /* somebody could */
		return 0;
	}
	if (entry->admission->key != 0) /* mine was dropped: whoever follows it still is told */
		(void)wh_admission_invite(entry->admission, NULL, 0, true);
	if (!entry->may_form || wh_entry_member(entry) >= 0)
		return 0;
	if (wh_entry_looks_around(entry)) {
		wh_loop_at(lobby->loop, lobby->loop->now_ns + WH_NS_PER_MS);
		return 0;
	}
	if (entry->founder >= 0) {
		struct wh_newcomer me = {lobby->id, lobby->incarnation};

		return (uint32_t)entry->founder == lobby->id ? invite(entry, &me, 1, 1) : 0;
	}
	if (!wh_entry_forms(entry))
		return 0;
	if (cannot_form(entry, &other)) {
		snprintf(why, sizeof(why),
			 "those that go with this node are no majority of %u: of node %u the %s from those here%s%s",
			 entry->configured, other, lobby->guests[other].differs, entry->refusal[0] != '\0' ? ": " : "",
			 entry->refusal);
		entry->on.refused(entry->ctx, why);
		return 1;
	}
	return coordinate(entry);
}

void wh_form_explain(const struct wh_entry *entry, char *text, size_t bytes)
{
	const struct wh_lobby *lobby = entry->lobby;
	size_t at;
	int length;

	if (entry->may_form && entry->founder == (int)lobby->id) {
		snprintf(text, bytes, "looks for members of the group before it founds it");
		return;
	}
	if (!entry->may_form || lobby->id >= entry->configured || entry->founder >= 0) {
		snprintf(text, bytes,
			 entry->founder >= 0 ? "waits for node %d, the founder of the group"
					     : "waits for a group that it can join",
			 entry->founder);
		return;
	}
	length = snprintf(text, bytes, "forms a group of %u nodes; missing:", entry->configured);
	at = length < 0 ? 0 : (size_t)length;
	for (uint32_t node = 0; node < entry->configured && at + 8 < bytes; node++)
		if (!is_forming(entry, node)) {
			length = snprintf(text + at, bytes - at, " %u", node);
			at += length < 0 ? 0 : (size_t)length;
		}
}
