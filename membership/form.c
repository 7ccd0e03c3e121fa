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
#include "membership/join_int.h"

/* Is that node forming, as far as this one knows? */
static bool is_forming(const struct wh_join *join, uint32_t node)
{
	const struct wh_known_node *known = &join->roster->known_nodes[node];

	if (node == join->roster->id) /* one that only joins is counted by nobody, not by itself either */
		return join->may_form || join->forced;
	return known->introduced && known->differs == NULL && known->standing == WH_FORMING;
}

/* A node with a lower id is forming, and has said something since then. */
static bool is_lower(const struct wh_join *join, uint64_t since_ns)
{
	for (uint32_t node = 0; node < join->roster->id; node++)
		if (is_forming(join, node) && join->roster->known_nodes[node].heard_ns >= since_ns)
			return true;
	return false;
}

/* A node with a lower id is forming, other than one that was silent when this node invited and has said nothing since but that it
 * follows the invitation. */
static bool is_not_lowest(const struct wh_join *join)
{
	for (uint32_t node = 0; node < join->roster->id; node++) {
		const struct wh_known_node *known = &join->roster->known_nodes[node];
		bool is_silent = known->heard_ns < join->invited_ns || known->opened == join->key;

		if (is_forming(join, node) && !(join->passes_over && is_silent))
			return true;
	}
	return false;
}

/* A key that is greater than all keys that the forming nodes have seen; its low bits are this node's alone. */
static uint64_t choose_key(const struct wh_join *join)
{
	uint64_t floor = join->floor;

	for (uint32_t node = 0; node < join->configured; node++)
		if (is_forming(join, node) && node != join->roster->id && join->roster->known_nodes[node].key > floor)
			floor = join->roster->known_nodes[node].key;
	return ((floor >> 8) + 1) << 8 | join->roster->id;
}

/* A node that was invited and did not come in time is left out for a while; where it takes all nodes there is no use in that. */
static bool is_awaited(const struct wh_join *join, uint32_t node)
{
	return join->rule == WH_FORM_ALL || node == join->roster->id ||
	       join->roster->known_nodes[node].not_before_ns <= join->roster->loop->now_ns;
}

/* ---- may a view be formed? (0032) ------------------------------------------------------------------------------------ */

/* A node that is there, this one included, and has been counted in a group before; -1: none. */
static int find_recorded(const struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;

	if (join->record != 0)
		return (int)roster->id;
	for (uint32_t node = 0; node < roster->nodes; node++)
		if (roster->known_nodes[node].introduced && roster->known_nodes[node].differs == NULL &&
		    roster->known_nodes[node].group != 0)
			return (int)node;
	return -1;
}

/* A node that is there and is to form a group by an operator's word: it forms one, and no other node does; -1: none. */
static int forced_other(const struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;

	for (uint32_t node = 0; node < roster->nodes; node++)
		if (roster->known_nodes[node].introduced && roster->known_nodes[node].forced)
			return (int)node;
	return -1;
}

/* May so many of the configured nodes form a group, as far as this one knows? */
static bool may_form(const struct wh_join *join, uint32_t count)
{
	if (count == join->configured)
		return true;
	if (join->rule != WH_FORM_MAJORITY || 2 * count <= join->configured)
		return false;
	return !join->records || join->forced || find_recorded(join) < 0;
}

bool wh_form_agrees(const struct wh_join *join, uint32_t from, const struct wh_view *view)
{
	if (join->forced)
		return false;
	if (join->roster->known_nodes[from].forced)
		return 2 * view->members > join->configured;
	return forced_other(join) < 0 && may_form(join, view->members);
}

/* On one host: a process that holds an id of the group and has not said what it is, or only that it follows an invitation. It may be
 * a member that stands still. */
static bool find_silent(const struct wh_join *join, uint32_t *node, int *pid)
{
	const struct wh_roster *roster = join->roster;
	struct wh_transport *transport = roster->transport;

	for (*node = 0; join->one_host && *node < roster->nodes; ++*node) {
		const struct wh_known_node *known = &roster->known_nodes[*node];

		if (*node == roster->id || (known->incarnation != 0 && known->introduced && !known->follows))
			continue;
		*pid = transport->ops->holder(transport, *node);
		if (*pid != 0)
			return true;
	}
	return false;
}

bool wh_form_knows_all(const struct wh_join *join)
{
	struct wh_transport *transport = join->roster->transport;
	uint32_t node;
	int pid;

	if (!join->one_host)
		return true;
	return !find_silent(join, &node, &pid) && join->roster->quiet && transport->ops->service(transport) == 0;
}

/* This node gives up; its program is told why. */
WH_PRINTF(2, 3)
static bool fail_as_refused(struct wh_join *join, const char *format, ...)
{
	char why[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	wh_join_tell_refused(join, why);
	return true;
}

static size_t invite_newcomers(struct wh_join *join, const struct wh_newcomer *newcomers, uint32_t count,
			       uint32_t voters)
{
	const struct wh_env *env = join->roster->diag->env;
	struct wh_loop *loop = join->roster->loop;
	uint64_t key = choose_key(join), group = env->random_u64(env->ctx) | 1;
	struct wh_view *view;
	struct wh_error err;
	enum whorl_result result;

	if (!wh_form_knows_all(join)) {
		wh_loop_at(loop, loop->now_ns + WH_NS_PER_MS);
		return 0;
	}
	if (!wh_is_first_view(key))
		return fail_as_refused(join,
				       "so many first views have come to nothing that there are no names for more");
	result = wh_view_create(&view, group, newcomers, count, voters, join->layout, &err);

	if (result == WHORL_MEMORY)
		return 0; /* in the next pass */
	if (result != WHORL_OK)
		return fail_as_refused(join, "%s", err.text);
	if (wh_join_requests_invite(join->requests, view, key, true) != WHORL_OK) {
		wh_view_free(view);
		return 0; /* no memory: in the next pass */
	}
	wh_join_follow(join, view, key, join->roster->id);
	return 1;
}

/* ---- coordinating -------------------------------------------------------------------------------------------------------- */

static uint32_t find_formers(const struct wh_join *join, struct wh_newcomer newcomers[WH_NODES_MAX])
{
	const struct wh_roster *roster = join->roster;
	uint32_t count = 0;

	for (uint32_t node = 0; node < join->configured; node++)
		if (is_forming(join, node) && is_awaited(join, node))
			newcomers[count++] = (struct wh_newcomer){
				node, node == roster->id ? roster->incarnation : roster->known_nodes[node].incarnation};
	return count;
}

bool wh_form_has_all(const struct wh_join *join)
{
	struct wh_newcomer newcomers[WH_NODES_MAX];

	return find_formers(join, newcomers) == join->configured;
}

/* The quorum is one of all configured nodes. */
static size_t invite_formers(struct wh_join *join, const struct wh_newcomer *newcomers, uint32_t count)
{
	return invite_newcomers(join, newcomers, count, join->configured);
}

/* Forms a view when it can be formed. That is for the lowest id to do; where it could and says nothing, the others do not wait for it. */
static size_t coordinate_forming(struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;
	struct wh_newcomer newcomers[WH_NODES_MAX];
	uint64_t now = roster->loop->now_ns, until = join->began_ns + join->start_timeout_ns;
	uint64_t silence_ns = WH_SILENT_TIMEOUTS * join->start_timeout_ns;
	uint32_t count = find_formers(join, newcomers);

	if (count < join->configured && now < until)
		wh_loop_at(roster->loop, until);
	if ((count < join->configured && now < until) || !may_form(join, count)) {
		join->could_ns = 0;
		return 0;
	}
	if (join->could_ns == 0)
		join->could_ns = now;
	join->passes_over = is_lower(join, 0);
	if (join->passes_over && (now < join->could_ns + silence_ns || is_lower(join, now - silence_ns + 1)))
		return 0;
	return invite_formers(join, newcomers, count);
}

/* No other node of the group is there but nodes that seek, as this one does. */
static size_t found_group(struct wh_join *join)
{
	struct wh_newcomer me = {join->roster->id, join->roster->incarnation};

	if ((join->record != 0 && !join->forced) || (join->restart != NULL && !wh_restart_may_found(join->restart)))
		return 0;
	return invite_newcomers(join, &me, 1, 1);
}

/* Too many of the configured nodes are configured otherwise. */
static bool cannot_form(const struct wh_join *join, uint32_t *other)
{
	uint32_t differ = 0;

	for (uint32_t node = 0; node < join->configured; node++)
		if (join->roster->known_nodes[node].introduced && join->roster->known_nodes[node].differs != NULL) {
			differ++;
			*other = node;
		}
	return differ > 0 && 2 * (join->configured - differ) <= join->configured;
}

/* ---- by an operator's word (0032) --------------------------------------------------------------------------------------- */

bool wh_form_is_forbidden(struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;

	if (join->forced && join->restart != NULL)
		return fail_as_refused(join,
				       "told to form a group, but of a durable one no disk may be left out; start it "
				       "without that word");
	for (uint32_t node = 0; join->forced && join->state == WH_JOIN_SEEKING && node < roster->nodes; node++) {
		const struct wh_known_node *known = &roster->known_nodes[node];
		bool follows_me = known->opened != 0 && known->opened == join->floor;

		if (!known->introduced)
			continue;
		if (known->standing == WH_MEMBER_OF)
			return fail_as_refused(join,
					       "told to form a group, but node %u is a member of group %016" PRIx64
					       ", in view %" PRIu64
					       ": start this node without that word to join it, or end that group",
					       node, known->group, known->view);
		if ((known->follows && !follows_me) || known->forced)
			return fail_as_refused(
				join, "told to form a group, but node %u is %s: wait until it has, and join it", node,
				known->follows ? "invited into one" : "told so as well");
	}
	return false;
}

/* A node that is there and does not say what it is may be a member. */
static bool refuse_beside_silent(struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;

	for (uint32_t node = 0; node < roster->nodes; node++)
		if (roster->known_nodes[node].incarnation != 0 && !roster->known_nodes[node].introduced)
			return fail_as_refused(
				join,
				"told to form a group, but node %u is there and says nothing: it may be a member; end it first",
				node);
	return false;
}

/* For people: the nodes that could not be asked. */
static void warn_of_absent(const struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;
	char ids[256] = "";

	for (uint32_t node = 0; node < roster->nodes; node++)
		if (node != roster->id && roster->known_nodes[node].incarnation == 0)
			wh_text_add_id(ids, sizeof(ids), " ", node);
	if (ids[0] != '\0')
		wh_log(roster->diag, WH_LOG_WARNING,
		       "forms a group by an operator's word; these nodes were not reached: %s. If one of them is a member of a "
		       "group of this name, there are two groups now",
		       ids);
}

/* Alone; but where records let a majority form, and others may have none, with a majority. */
static size_t form_by_force(struct wh_join *join)
{
	uint64_t now = join->roster->loop->now_ns, patience_ns = WH_SILENT_TIMEOUTS * join->start_timeout_ns;
	struct wh_newcomer newcomers[WH_NODES_MAX];
	uint32_t count, node;
	bool is_silent;
	int pid;

	if (refuse_beside_silent(join))
		return 1;
	is_silent = find_silent(join, &node, &pid);
	if (is_silent && now < join->began_ns + join->patience_ns + patience_ns) {
		wh_loop_at(join->roster->loop, now + WH_NS_PER_MS);
		return 0;
	}
	if (is_silent)
		return fail_as_refused(
			join, "told to form a group, but node %u (pid %d) is there and may be a member; end it first",
			node, pid);
	if (join->waits_ns == 0)
		warn_of_absent(join);
	join->waits_ns = join->waits_ns == 0 ? now : join->waits_ns;
	if (!join->records || join->rule != WH_FORM_MAJORITY)
		return found_group(join);
	count = find_formers(join, newcomers);
	if (count < join->configured && now < join->waits_ns + join->start_timeout_ns) {
		wh_loop_at(join->roster->loop, join->waits_ns + join->start_timeout_ns);
		return 0;
	}
	if (may_form(join, count))
		return invite_formers(join, newcomers, count);
	wh_loop_at(join->roster->loop, join->waits_ns + patience_ns);
	return now < join->waits_ns + patience_ns
		       ? 0
		       : fail_as_refused(
				 join,
				 "told to form a group, but of %u configured nodes %u are there: with state_dir it takes more than "
				 "half; start more of them, or lower `nodes` in the file of all",
				 join->configured, count);
}

/* The nodes are there, and too few of them go with this one: for good. */
static bool is_hopeless(struct wh_join *join)
{
	const struct wh_roster *roster = join->roster;
	uint32_t other = 0;

	if (join->founder >= 0 || join->forced || !cannot_form(join, &other))
		return false;
	return fail_as_refused(
		join, "those that go with this node are no majority of %u: of node %u the %s from those here%s%s",
		join->configured, other, roster->known_nodes[other].differs, join->refusal[0] != '\0' ? ": " : "",
		join->refusal);
}

/* This node's own invitation, if something speaks against it now. */
static void look_after_mine(struct wh_join *join)
{
	if (join->state == WH_JOIN_INVITED && join->by == join->roster->id && join->founder < 0 && !join->forced &&
	    join->view->number == 0 && is_not_lowest(join))
		wh_join_drop(join, "not the lowest");
	if (join->state != WH_JOIN_SEEKING && join->waits_ns != 0)
		join->waits_ns =
			join->roster->loop->now_ns; /* if the invitation comes to nothing, the wait begins again */
	if (join->state != WH_JOIN_SEEKING && join->could_ns == 0 && join->view->number == 0)
		join->could_ns = join->roster->loop->now_ns; /* another node could form a view */
}

size_t wh_join_form(struct wh_join *join)
{
	struct wh_roster *roster = join->roster;

	look_after_mine(join);
	if (join->state != WH_JOIN_SEEKING)
		return 0;
	if (join->requests->key != 0 &&
	    !wh_restart_invites_others(join->restart)) /* this node's was dropped: nodes that follow it still are told */
		(void)wh_join_requests_invite(join->requests, NULL, 0, true);
	if ((!join->may_form && !join->forced) || wh_join_member(join) >= 0)
		return 0;
	if (wh_join_looks_around(join)) {
		wh_loop_at(roster->loop, roster->loop->now_ns + WH_NS_PER_MS);
		return 0;
	}
	if (!join->forced && join->founder < 0 && !wh_join_forms(join))
		return 0;
	if (join->restart != NULL && join->restart->round.phase > WH_ROUND_ASKS)
		return 0;
	if (is_hopeless(join))
		return 1;
	if (join->forced)
		return form_by_force(join);
	if (forced_other(join) >= 0)
		return 0;
	if (join->founder >= 0)
		return (uint32_t)join->founder == roster->id ? found_group(join) : 0;
	return coordinate_forming(join);
}

/* ---- for people ---------------------------------------------------------------------------------------------------------- */

static void explain_founder(const struct wh_join *join, char *text, size_t bytes)
{
	bool is_other = join->founder != (int)join->roster->id;

	if (is_other && join->configured == 0)
		snprintf(
			text, bytes,
			"waits for node %d, which forms the group: if it is gone, the next process without an id of its own does",
			join->founder);
	else if (is_other || (!join->may_form && !join->forced))
		snprintf(text, bytes, "waits for node %d, the founder of the group", join->founder);
	else if (join->restart != NULL && !wh_restart_may_found(join->restart))
		snprintf(
			text, bytes,
			"waits for a node of the group that has a log: there are such directories beside that of this node");
	else if (join->record != 0 && !join->forced)
		snprintf(text, bytes,
			 "waits for a member: it has founded group %016" PRIx64
			 ", and founds another only if an operator says so (--form)",
			 join->record);
	else
		snprintf(text, bytes, "looks for members of the group before it founds it");
}

static void explain_missing(const struct wh_join *join, char *text, size_t bytes)
{
	const struct wh_roster *roster = join->roster;
	int other = join->records ? find_recorded(join) : -1, forced = forced_other(join);
	bool all = true;

	if (forced >= 0) {
		snprintf(text, bytes, "waits for the group that node %d forms by an operator's word", forced);
		return;
	}
	snprintf(text, bytes, "forms a group of %u nodes; missing:", join->configured);
	for (uint32_t node = 0; node < join->configured; node++)
		if (!is_forming(join, node)) {
			wh_text_add(text, bytes, " %u%s", node,
				    roster->known_nodes[node].introduced && roster->known_nodes[node].differs != NULL
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
			    other, other == (int)roster->id ? join->record : roster->known_nodes[other].group);
}

static void explain_silent(const struct wh_join *join, uint32_t node, int pid, char *text, size_t bytes)
{
	snprintf(text, bytes, "waits for node %u", node);
	if (pid > 0)
		wh_text_add(text, bytes, ", pid %d", pid);
	wh_text_add(text, bytes, ", which is there and %s: it may be a member",
		    join->roster->known_nodes[node].follows ? "follows an invitation" : "silent");
}

void wh_form_explain(const struct wh_join *join, char *text, size_t bytes)
{
	uint32_t node;
	int pid = 0;

	if (!wh_join_looks_around(join) && find_silent(join, &node, &pid))
		explain_silent(join, node, pid, text, bytes);
	else if (join->restart != NULL && wh_restart_explain(join, text, bytes))
		return;
	else if (join->founder >= 0)
		explain_founder(join, text, bytes);
	else if ((!join->may_form && !join->forced) || join->roster->id >= join->configured)
		snprintf(text, bytes, "waits for a group that it can join");
	else
		explain_missing(join, text, bytes);
}
