/* form.c - the first view of a group: formed by all configured nodes, by more than half of them, or by its founder
 * (docs/decisions/0016, and 0032 for when it may be).
 *
 * The forming node with the lowest id, as far as nodes have met, coordinates: it invites all forming nodes, and does so again when
 * one of them goes or does not come. Two nodes may each take themselves for the lowest for a while. A node that follows the
 * invitation of one does not follow the other's, so at most one of the two is followed by all nodes that it invites.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "membership/entry_int.h"

/* Is that node forming, as far as this one knows? */
static bool is_forming(const struct wh_entry *entry, uint32_t node)
{
	const struct wh_guest *guest = &entry->lobby->guests[node];

	if (node == entry->lobby->id)
		return true;
	return guest->introduced && guest->differs == NULL && guest->standing == WH_FORMING;
}

/* A node with a lower id is forming, and has said something since then. */
static bool is_lower(const struct wh_entry *entry, uint64_t since_ns)
{
	for (uint32_t node = 0; node < entry->lobby->id; node++)
		if (is_forming(entry, node) && entry->lobby->guests[node].heard_ns >= since_ns)
			return true;
	return false;
}

/* A node with a lower id is forming, other than one that was silent when this node invited and has said nothing since but that it
 * follows the invitation. */
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

/* A key that is greater than all keys that the forming nodes have seen; its low bits are this node's alone. */
static uint64_t choose_key(const struct wh_entry *entry)
{
	uint64_t floor = entry->floor;

	for (uint32_t node = 0; node < entry->configured; node++)
		if (is_forming(entry, node) && node != entry->lobby->id && entry->lobby->guests[node].key > floor)
			floor = entry->lobby->guests[node].key;
	return ((floor >> 8) + 1) << 8 | entry->lobby->id;
}

/* A node that was invited and did not come in time is left out for a while; where it takes all nodes there is no use in that. */
static bool is_awaited(const struct wh_entry *entry, uint32_t node)
{
	return entry->rule == WH_FORM_ALL || node == entry->lobby->id ||
	       entry->lobby->guests[node].not_before_ns <= entry->lobby->loop->now_ns;
}

/* ---- may a view be formed? (0032) ------------------------------------------------------------------------------------ */

/* A node that is there, this one included, and has been counted in a group before; -1: none. */
static int recorded(const struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;

	if (entry->record != 0)
		return (int)lobby->id;
	for (uint32_t node = 0; node < lobby->nodes; node++)
		if (lobby->guests[node].introduced && lobby->guests[node].differs == NULL &&
		    lobby->guests[node].group != 0)
			return (int)node;
	return -1;
}

/* A node that is there and is to form a group by an operator's word: it forms one, and no other node does; -1: none. */
static int forced_other(const struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;

	for (uint32_t node = 0; node < lobby->nodes; node++)
		if (lobby->guests[node].introduced && lobby->guests[node].forced)
			return (int)node;
	return -1;
}

/* May so many of the configured nodes form a group, as far as this one knows? */
static bool may_form(const struct wh_entry *entry, uint32_t count)
{
	if (count == entry->configured)
		return true;
	if (entry->rule != WH_FORM_MAJORITY || 2 * count <= entry->configured)
		return false;
	return !entry->records || entry->forced || recorded(entry) < 0;
}

bool wh_form_agrees(const struct wh_entry *entry, uint32_t from, const struct wh_view *view)
{
	if (entry->forced)
		return false;
	if (entry->lobby->guests[from].forced)
		return 2 * view->members > entry->configured;
	return forced_other(entry) < 0 && may_form(entry, view->members);
}

/* On one host: a process that holds an id of the group and has not said what it is, or only that it follows an invitation. It may be
 * a member that stands still. */
static bool find_silent(const struct wh_entry *entry, uint32_t *node, int *pid)
{
	const struct wh_lobby *lobby = entry->lobby;
	struct wh_transport *transport = lobby->transport;

	for (*node = 0; entry->one_host && *node < lobby->nodes; ++*node) {
		const struct wh_guest *guest = &lobby->guests[*node];

		if (*node == lobby->id || (guest->incarnation != 0 && guest->introduced && !guest->follows))
			continue;
		*pid = transport->ops->holder(transport, *node);
		if (*pid != 0)
			return true;
	}
	return false;
}

/* On one host: every node that is there has said what it is, and is that still, since what it said later would have come by now. */
static bool knows_all(const struct wh_entry *entry)
{
	struct wh_transport *transport = entry->lobby->transport;
	uint32_t node;
	int pid;

	if (!entry->one_host)
		return true;
	return !find_silent(entry, &node, &pid) && entry->lobby->quiet && transport->ops->service(transport) == 0;
}

/* This node gives up; its program is told why. */
WH_PRINTF(2, 3)
static bool refuse(struct wh_entry *entry, const char *format, ...)
{
	char why[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	entry->on.refused(entry->ctx, why);
	return true;
}

static size_t invite(struct wh_entry *entry, const struct wh_newcomer *newcomers, uint32_t count, uint32_t voters)
{
	const struct wh_env *env = entry->lobby->diag->env;
	struct wh_loop *loop = entry->lobby->loop;
	uint64_t key = choose_key(entry), group = env->random_u64(env->ctx) | 1;
	struct wh_view *view;
	struct wh_error err;
	enum whorl_result result;

	if (!knows_all(entry)) {
		wh_loop_at(loop, loop->now_ns + WH_NS_PER_MS);
		return 0;
	}
	if (!wh_is_first_view(key))
		return refuse(entry, "so many first views have come to nothing that there are no names for more");
	result = wh_view_create(&view, group, newcomers, count, voters, entry->layout, &err);

	if (result == WHORL_MEMORY)
		return 0; /* in the next pass */
	if (result != WHORL_OK)
		return refuse(entry, "%s", err.text);
	if (wh_admission_invite(entry->admission, view, key, true) != WHORL_OK) {
		wh_view_free(view);
		return 0; /* no memory: in the next pass */
	}
	wh_entry_follow(entry, view, key, entry->lobby->id);
	return 1;
}

/* ---- coordinating -------------------------------------------------------------------------------------------------------- */

static uint32_t find_formers(const struct wh_entry *entry, struct wh_newcomer newcomers[WH_NODES_MAX])
{
	const struct wh_lobby *lobby = entry->lobby;
	uint32_t count = 0;

	for (uint32_t node = 0; node < entry->configured; node++)
		if (is_forming(entry, node) && is_awaited(entry, node))
			newcomers[count++] = (struct wh_newcomer){
				node, node == lobby->id ? lobby->incarnation : lobby->guests[node].incarnation};
	return count;
}

/* The quorum is one of all configured nodes. */
static size_t invite_formers(struct wh_entry *entry, const struct wh_newcomer *newcomers, uint32_t count)
{
	return invite(entry, newcomers, count, entry->configured);
}

/* Forms a view when it can be formed. That is for the lowest id to do; where it could and says nothing, the others do not wait for it. */
static size_t coordinate(struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;
	struct wh_newcomer newcomers[WH_NODES_MAX];
	uint64_t now = lobby->loop->now_ns, until = entry->began_ns + entry->start_timeout_ns;
	uint64_t silence_ns = WH_SILENT_TIMEOUTS * entry->start_timeout_ns;
	uint32_t count = find_formers(entry, newcomers);

	if (count < entry->configured && now < until)
		wh_loop_at(lobby->loop, until);
	if ((count < entry->configured && now < until) || !may_form(entry, count)) {
		entry->could_ns = 0;
		return 0;
	}
	if (entry->could_ns == 0)
		entry->could_ns = now;
	entry->passes_over = is_lower(entry, 0);
	if (entry->passes_over && (now < entry->could_ns + silence_ns || is_lower(entry, now - silence_ns + 1)))
		return 0;
	return invite_formers(entry, newcomers, count);
}

/* No other node of the group is there but nodes that seek, as this one does. */
static size_t found(struct wh_entry *entry)
{
	struct wh_newcomer me = {entry->lobby->id, entry->lobby->incarnation};

	if (entry->record != 0 && !entry->forced)
		return 0;
	return invite(entry, &me, 1, 1);
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

/* ---- by an operator's word (0032) --------------------------------------------------------------------------------------- */

bool wh_form_is_forbidden(struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;

	for (uint32_t node = 0; entry->forced && entry->state == WH_ENTRY_SEEKING && node < lobby->nodes; node++) {
		const struct wh_guest *guest = &lobby->guests[node];
		bool follows_me = guest->opened != 0 && guest->opened == entry->floor;

		if (!guest->introduced)
			continue;
		if (guest->standing == WH_MEMBER_OF)
			return refuse(entry,
				      "told to form a group, but node %u is a member of group %016" PRIx64
				      ", in view %" PRIu64
				      ": start this node without that word to join it, or end that group",
				      node, guest->group, guest->view);
		if ((guest->follows && !follows_me) || guest->forced)
			return refuse(entry, "told to form a group, but node %u is %s: wait until it has, and join it",
				      node, guest->follows ? "invited into one" : "told so as well");
	}
	return false;
}

/* A node that is there and does not say what it is may be a member. */
static bool refuse_beside_silent(struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;

	for (uint32_t node = 0; node < lobby->nodes; node++)
		if (lobby->guests[node].incarnation != 0 && !lobby->guests[node].introduced)
			return refuse(
				entry,
				"told to form a group, but node %u is there and says nothing: it may be a member; end it first",
				node);
	return false;
}

/* For people: the nodes that could not be asked. */
static void warn_of_absent(const struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;
	char ids[256] = "";

	for (uint32_t node = 0; node < lobby->nodes; node++)
		if (node != lobby->id && lobby->guests[node].incarnation == 0)
			wh_text_add_id(ids, sizeof(ids), " ", node);
	if (ids[0] != '\0')
		wh_log(lobby->diag, WH_LOG_WARNING,
		       "forms a group by an operator's word; these nodes were not reached: %s. If one of them is a member of a "
		       "group of this name, there are two groups now",
		       ids);
}

/* Alone; but where records let a majority form, and others may have none, with a majority. */
static size_t form_by_force(struct wh_entry *entry)
{
	uint64_t now = entry->lobby->loop->now_ns, patience_ns = WH_SILENT_TIMEOUTS * entry->start_timeout_ns;
	struct wh_newcomer newcomers[WH_NODES_MAX];
	uint32_t count, node;
	bool is_silent;
	int pid;

	if (refuse_beside_silent(entry))
		return 1;
	is_silent = find_silent(entry, &node, &pid);
	if (is_silent && now < entry->began_ns + entry->patience_ns + patience_ns) {
		wh_loop_at(entry->lobby->loop, now + WH_NS_PER_MS);
		return 0;
	}
	if (is_silent)
		return refuse(entry,
			      "told to form a group, but node %u (pid %d) is there and may be a member; end it first",
			      node, pid);
	if (entry->waits_ns == 0)
		warn_of_absent(entry);
	entry->waits_ns = entry->waits_ns == 0 ? now : entry->waits_ns;
	if (!entry->records || entry->rule != WH_FORM_MAJORITY)
		return found(entry);
	count = find_formers(entry, newcomers);
	if (count < entry->configured && now < entry->waits_ns + entry->start_timeout_ns) {
		wh_loop_at(entry->lobby->loop, entry->waits_ns + entry->start_timeout_ns);
		return 0;
	}
	if (may_form(entry, count))
		return invite_formers(entry, newcomers, count);
	wh_loop_at(entry->lobby->loop, entry->waits_ns + patience_ns);
	return now < entry->waits_ns + patience_ns
		       ? 0
		       : refuse(entry,
				"told to form a group, but of %u configured nodes %u are there: with state_dir it takes more than "
				"half; start more of them, or lower `nodes` in the file of all",
				entry->configured, count);
}

/* The nodes are there, and too few of them go with this one: for good. */
static bool is_hopeless(struct wh_entry *entry)
{
	const struct wh_lobby *lobby = entry->lobby;
	uint32_t other = 0;

	if (entry->founder >= 0 || entry->forced || !cannot_form(entry, &other))
		return false;
	return refuse(entry,
		      "those that go with this node are no majority of %u: of node %u the %s from those here%s%s",
		      entry->configured, other, lobby->guests[other].differs, entry->refusal[0] != '\0' ? ": " : "",
		      entry->refusal);
}

/* This node's own invitation, if something speaks against it now. */
static void look_after_mine(struct wh_entry *entry)
{
	if (entry->state == WH_ENTRY_INVITED && entry->by == entry->lobby->id && entry->founder < 0 && !entry->forced &&
	    is_not_lowest(entry))
		wh_entry_drop(entry, "not the lowest");
	if (entry->state != WH_ENTRY_SEEKING && entry->waits_ns != 0)
		entry->waits_ns =
			entry->lobby->loop->now_ns; /* if the invitation comes to nothing, the wait begins again */
	if (entry->state != WH_ENTRY_SEEKING && entry->could_ns == 0 && wh_is_first_view(entry->key))
		entry->could_ns = entry->lobby->loop->now_ns; /* another node could form a view */
}

size_t wh_entry_form(struct wh_entry *entry)
{
	struct wh_lobby *lobby = entry->lobby;

	look_after_mine(entry);
	if (entry->state != WH_ENTRY_SEEKING)
		return 0;
	if (entry->admission->key != 0) /* this node's was dropped: nodes that follow it still are told */
		(void)wh_admission_invite(entry->admission, NULL, 0, true);
	if ((!entry->may_form && !entry->forced) || wh_entry_member(entry) >= 0)
		return 0;
	if (wh_entry_looks_around(entry)) {
		wh_loop_at(lobby->loop, lobby->loop->now_ns + WH_NS_PER_MS);
		return 0;
	}
	if (!entry->forced && entry->founder < 0 && !wh_entry_forms(entry))
		return 0;
	if (is_hopeless(entry))
		return 1;
	if (entry->forced)
		return form_by_force(entry);
	if (forced_other(entry) >= 0)
		return 0;
	if (entry->founder >= 0)
		return (uint32_t)entry->founder == lobby->id ? found(entry) : 0;
	return coordinate(entry);
}

/* ---- for people ---------------------------------------------------------------------------------------------------------- */

static void explain_founder(const struct wh_entry *entry, char *text, size_t bytes)
{
	if (entry->founder != (int)entry->lobby->id || (!entry->may_form && !entry->forced))
		snprintf(text, bytes, "waits for node %d, the founder of the group", entry->founder);
	else if (entry->record != 0 && !entry->forced)
		snprintf(text, bytes,
			 "waits for a member: it has founded group %016" PRIx64
			 ", and founds another only if an operator says so (--form)",
			 entry->record);
	else
		snprintf(text, bytes, "looks for members of the group before it founds it");
}

static void explain_missing(const struct wh_entry *entry, char *text, size_t bytes)
{
	const struct wh_lobby *lobby = entry->lobby;
	int other = entry->records ? recorded(entry) : -1, forced = forced_other(entry);
	bool all = true;

	if (forced >= 0) {
		snprintf(text, bytes, "waits for the group that node %d forms by an operator's word", forced);
		return;
	}
	snprintf(text, bytes, "forms a group of %u nodes; missing:", entry->configured);
	for (uint32_t node = 0; node < entry->configured; node++)
		if (!is_forming(entry, node)) {
			wh_text_add(text, bytes, " %u%s", node,
				    lobby->guests[node].introduced && lobby->guests[node].differs != NULL
					    ? " (configured otherwise)"
					    : "");
			all = false;
		}
	if (all)
		wh_text_add(text, bytes, " none");
	else if (other >= 0)
		wh_text_add(text, bytes,
			    "; node %d has been in group %016" PRIx64
			    ", so it takes all of them, or an operator's word (--form)",
			    other, other == (int)lobby->id ? entry->record : lobby->guests[other].group);
}

static void explain_silent(const struct wh_entry *entry, uint32_t node, int pid, char *text, size_t bytes)
{
	snprintf(text, bytes, "waits for node %u", node);
	if (pid > 0)
		wh_text_add(text, bytes, ", pid %d", pid);
	wh_text_add(text, bytes, ", which is there and %s: it may be a member",
		    entry->lobby->guests[node].follows ? "follows an invitation" : "silent");
}

void wh_form_explain(const struct wh_entry *entry, char *text, size_t bytes)
{
	uint32_t node;
	int pid = 0;

	if (!wh_entry_looks_around(entry) && find_silent(entry, &node, &pid))
		explain_silent(entry, node, pid, text, bytes);
	else if (entry->founder >= 0)
		explain_founder(entry, text, bytes);
	else if ((!entry->may_form && !entry->forced) || entry->lobby->id >= entry->configured)
		snprintf(text, bytes, "waits for a group that it can join");
	else
		explain_missing(entry, text, bytes);
}
