/* history.c - see history.h: claims and deliveries. */
#include "sim/history_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLAIMS_APART_MAX 65536 /* by how much a claim may be ahead of all others of its sender: more than any window */

bool wh_history_break(struct wh_history *h, const char *format, ...)
{
	va_list arguments;

	if (h->is_broken)
		return false;
	h->is_broken = true;
	va_start(arguments, format);
	vsnprintf(h->text, sizeof(h->text), format, arguments);
	va_end(arguments);
	return false;
}

bool wh_history_memory_out(struct wh_history *h)
{
	return wh_history_break(h, "memory: the history does not fit");
}

struct wh_history_who wh_history_who(const struct wh_history *h, uint32_t life)
{
	const struct life *of = life < h->life_count && h->lives[life].id != NOBODY ? &h->lives[life] : NULL;
	struct wh_history_who who;

	snprintf(who.text, sizeof(who.text), "node %" PRIu32, of != NULL ? of->id : life);
	if (of != NULL && of->which > 1)
		snprintf(who.text, sizeof(who.text), "node %" PRIu32 " (life %" PRIu32 ")", of->id, of->which);
	return who;
}

bool wh_history_lives(struct wh_history *h, uint32_t node, const char *does)
{
	static const char *const how[] = {
		[LEFT] = "left", [REMOVED] = "was told that it is removed", [CRASHED] = "crashed"};

	if (h->is_broken)
		return false;
	if (node >= h->life_count || h->lives[node].id == NOBODY)
		return wh_history_break(h, "gone: node %" PRIu32 " %s, and there is none", node, does);
	if (h->lives[node].fate >= LEFT)
		return wh_history_break(h, "gone: %s %s after it %s", wh_history_who(h, node).text, does,
					how[h->lives[node].fate]);
	return true;
}

bool wh_history_born(struct wh_history *h, uint32_t life, uint32_t id)
{
	struct life *born;

	if (h->is_broken)
		return false;
	if (life >= h->life_count || id >= h->nodes || h->lives[life].id != NOBODY)
		return wh_history_break(h, "gone: life %" PRIu32 " of node %" PRIu32 " cannot begin", life, id);
	born = &h->lives[life];
	*born = (struct life){.id = id, .which = 1, .first = UINT64_MAX};
	for (uint32_t n = 0; n < h->life_count; n++)
		born->which += n != life && h->lives[n].id == id;
	return true;
}

bool wh_history_begins(struct wh_history *h, uint32_t life, uint64_t view)
{
	if (!wh_history_lives(h, life, "begins"))
		return false;
	h->lives[life].first = view;
	return true;
}

struct wh_history_at wh_history_at(const struct subgroup *g, uint32_t unit, uint64_t view)
{
	struct wh_history_at at;
	char shard[16] = "";

	if (g->shards > 1)
		snprintf(shard, sizeof(shard), "/%" PRIu32, unit - g->unit);
	snprintf(at.text, sizeof(at.text), "%.40s%s, view %" PRIu64, g->name, shard, view);
	return at;
}

void *wh_history_grown(void *array, uint64_t need, uint64_t *capacity, size_t bytes)
{
	uint64_t wanted = *capacity ? *capacity : 32;
	void *larger;

	if (need <= *capacity)
		return array;
	while (wanted < need)
		wanted *= 2;
	larger = realloc(array, wanted * bytes);
	if (larger != NULL)
		*capacity = wanted;
	return larger;
}

/* ---- making and freeing ---------------------------------------------------------------------------------------------- */

static bool make_subgroup(struct wh_history *h, struct subgroup *g, const struct wh_history_subgroup *config)
{
	g->lives = h->life_count;
	g->title = config->title;
	g->seat = config->seat;
	g->born = config->born;
	g->parameters = config->parameters;
	g->ordered = config->ordered;
	g->stateful = config->stateful;
	g->durable = config->durable;
	g->shards = config->shards > 1 ? config->shards : 1;
	g->unit = h->units;
	h->units += g->shards;
	g->name = strdup(config->name);
	g->streams = calloc(h->life_count, sizeof(*g->streams));
	g->members = calloc(h->life_count, sizeof(*g->members));
	g->next = calloc((size_t)h->life_count * h->life_count, sizeof(*g->next));
	g->since = calloc(g->shards, sizeof(*g->since));
	if (g->name == NULL || g->streams == NULL || g->members == NULL || g->next == NULL || g->since == NULL)
		return false;
	for (uint32_t n = 0; n < h->life_count; n++)
		g->members[n].next = g->next + (size_t)n * h->life_count;
	for (uint32_t s = 0; s < g->shards; s++)
		g->since[s] = UINT64_MAX;
	return true;
}

struct subgroup *wh_history_add_subgroup(struct wh_history *h, const struct wh_history_subgroup *config)
{
	struct subgroup *larger = realloc(h->subgroups, (h->subgroup_count + 1) * sizeof(*larger));
	struct subgroup *g;

	if (larger == NULL)
		return NULL;
	h->subgroups = larger;
	g = &larger[h->subgroup_count++];
	*g = (struct subgroup){.dynamic = true};
	return make_subgroup(h, g, config) ? g : NULL;
}

static bool make_lives(struct wh_history *h, const struct wh_history_config *config)
{
	h->life_count = config->lives > 0 ? config->lives : config->nodes;
	h->lives = calloc(h->life_count, sizeof(*h->lives));
	if (h->lives == NULL)
		return false;
	for (uint32_t n = 0; n < h->life_count; n++)
		h->lives[n].id = NOBODY;
	for (uint32_t n = 0; n < h->life_count; n++)
		if (config->ids != NULL || n < config->nodes)
			wh_history_born(h, n, config->ids != NULL ? config->ids[n] : n);
	return true;
}

struct wh_history *wh_history_new(const struct wh_history_config *config)
{
	struct wh_history *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->nodes = config->nodes;
	h->tie_breaker = config->tie_breaker < (int64_t)config->nodes ? config->tie_breaker : -1;
	h->joins = config->joins;
	h->configured = config->configured > 0 ? config->configured : config->nodes;
	h->founded = config->founded;
	h->founder = config->founder;
	h->all = config->all;
	h->home = config->home;
	h->one_host = config->one_host;
	h->subgroups = calloc(config->subgroup_count, sizeof(*h->subgroups));
	if (!make_lives(h, config) || h->subgroups == NULL)
		goto fail;
	h->subgroup_count = config->subgroup_count;
	for (uint32_t g = 0; g < config->subgroup_count; g++)
		if (!make_subgroup(h, &h->subgroups[g], &config->subgroups[g]))
			goto fail;
	return h;
fail:
	wh_history_free(h);
	return NULL;
}

static void free_subgroup(struct subgroup *g, uint32_t lives)
{
	for (uint32_t n = 0; g->streams != NULL && n < lives; n++)
		free(g->streams[n].messages);
	free(g->since);
	free(g->streams);
	free(g->members);
	free(g->next);
	free(g->name);
}

void wh_history_free(struct wh_history *h)
{
	if (h == NULL)
		return;
	for (uint64_t v = 0; v < h->view_count; v++)
		wh_history_free_view(h->views[v]);
	for (uint64_t s = 0; s < h->state_count; s++)
		free(h->states[s].next);
	for (uint32_t g = 0; g < h->subgroup_count; g++)
		free_subgroup(&h->subgroups[g], h->life_count);
	free(h->states);
	free(h->wishes);
	free(h->views);
	free(h->subgroups);
	free(h->lives);
	free(h);
}

const char *wh_history_broken(const struct wh_history *h)
{
	return h->is_broken ? h->text : NULL;
}

uint64_t wh_history_deliveries(const struct wh_history *h)
{
	return h->deliveries;
}

/* ---- claims ---------------------------------------------------------------------------------------------------------- */

/* The claim, and room for it; NULL: broken. */
static struct message *claim_of(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t index)
{
	struct stream *stream;
	struct message *messages;

	if (node >= h->life_count || subgroup >= h->subgroup_count) {
		wh_history_break(
			h, "committed: node %" PRIu32 " finishes a claim in subgroup %" PRIu32 ", one of which is not",
			node, subgroup);
		return NULL;
	}
	stream = &h->subgroups[subgroup].streams[node];
	if (index >= stream->count + CLAIMS_APART_MAX) {
		wh_history_break(h, "committed: %s finishes claim %" PRIu64 " (%s), far beyond its others",
				 wh_history_who(h, node).text, index, h->subgroups[subgroup].name);
		return NULL;
	}
	messages = wh_history_grown(stream->messages, index + 1, &stream->capacity, sizeof(*messages));
	if (messages == NULL) {
		wh_history_memory_out(h);
		return NULL;
	}
	stream->messages = messages;
	for (; stream->count <= index; stream->count++)
		messages[stream->count] = (struct message){.state = UNKNOWN};
	return &messages[index];
}

static void finish_claim(struct stream *stream, struct message *message, enum claim_state state)
{
	message->state = state;
	while (stream->known < stream->count && stream->messages[stream->known].state != UNKNOWN)
		stream->known++;
}

bool wh_history_commit(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t index, uint64_t digest)
{
	struct message *message;

	if (!wh_history_lives(h, node, "commits"))
		return false;
	message = claim_of(h, node, subgroup, index);
	if (message == NULL)
		return false;
	if (message->state != UNKNOWN)
		return wh_history_break(h, "committed: %s commits claim %" PRIu64 " (%s), which it has %s",
					wh_history_who(h, node).text, index, h->subgroups[subgroup].name,
					message->state == COMMITTED ? "committed" : "aborted");
	message->digest = digest;
	finish_claim(&h->subgroups[subgroup].streams[node], message, COMMITTED);
	return true;
}

bool wh_history_abort(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t index)
{
	struct message *message;

	if (h->is_broken) /* a life that has left or was removed may have claims open */
		return false;
	message = claim_of(h, node, subgroup, index);
	if (message == NULL)
		return false;
	if (message->delivered)
		return wh_history_break(h,
					"committed: message %" PRIu64 " of %s is aborted or refused, and %s has "
					"delivered it (%s)",
					index, wh_history_who(h, node).text, wh_history_who(h, message->by).text,
					wh_history_at(&h->subgroups[subgroup], message->unit, message->view).text);
	finish_claim(&h->subgroups[subgroup].streams[node], message, ABORTED);
	return true;
}

bool wh_history_knows(const struct wh_history *h, uint32_t subgroup, uint64_t view, uint32_t sender, uint64_t index)
{
	const struct view *in = wh_history_find_view(h, view);
	uint32_t life = in != NULL ? wh_history_sender_in(h, in, sender) : NOBODY;

	return subgroup < h->subgroup_count && life != NOBODY && index < h->subgroups[subgroup].streams[life].known;
}

/* ---- deliveries ------------------------------------------------------------------------------------------------------ */

/* "same order: node 2 delivers message 7 of node 0 where ... (orders, view 2, place 31)" */
WH_PRINTF(5, 6)
static bool refuse_delivery(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d,
			    const char *property, const char *format, ...)
{
	const struct subgroup *g = &h->subgroups[d->subgroup];
	const struct member *member = &g->members[node];
	char why[256], place[32] = "";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	if (g->ordered)
		snprintf(place, sizeof(place), ", place %" PRIu64, member->position);
	return wh_history_break(h, "%s: %s delivers message %" PRIu64 " of node %" PRIu32 "%s (%s%s)", property,
				wh_history_who(h, node).text, d->index, d->sender, why,
				wh_history_at(g, member->unit, d->view).text, place);
}

/* It may have been left behind in a view before the member came, by one that has refused it and takes it later; and no state has it. */
static bool may_be_refused(const struct subgroup *g, const struct member *member)
{
	for (uint32_t n = 0; n < g->lives && !g->stateful; n++)
		if (g->members[n].behind && g->members[n].unit == member->unit && g->members[n].at != NULL &&
		    g->members[n].at->number < member->joined)
			return true;
	return false;
}

bool wh_history_may_miss(const struct subgroup *g, const struct member *member, const struct stream *stream,
			 uint64_t index)
{
	const struct message *message = &stream->messages[index];

	if (message->state != COMMITTED)
		return message->state == ABORTED;
	if (message->delivered &&
	    (message->unit != member->unit || (message->view < member->joined && !member->restored)))
		return true;
	if (!message->delivered && may_be_refused(g, member))
		return true;
	if (message->delivered && message->view < g->since[member->unit - g->unit]) /* a restart has forgotten it */
		return true;
	return index < stream->lapsed && !(g->ordered && message->delivered);
}

/* May the node deliver anything, and what belongs to that view? */
static bool check_view_of(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d)
{
	const struct member *member = &h->subgroups[d->subgroup].members[node];
	const struct view *view = h->lives[node].view;

	if (view == NULL && member->behind && member->at != NULL) /* it is restarting */
		return true;
	if (view == NULL)
		return refuse_delivery(h, node, d, "its view", " and is in no view");
	if (member->awaits)
		return refuse_delivery(h, node, d, "state", " and has no state yet");
	if (member->behind ? d->view > view->number || d->view < member->oldest : d->view != view->number)
		return refuse_delivery(h, node, d, "its view", " and is in view %" PRIu64, view->number);
	if (member->place.role == WH_HISTORY_OUT || (member->place.inactive && d->view == view->number))
		return refuse_delivery(h, node, d, "its view", " and is in no active shard");
	return true;
}

/* Is the node where the delivery says it is, and the sender too? Which life of it that is. */
static bool check_place(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d, uint32_t *from)
{
	const struct view *view;
	const struct member *member, *sender;

	if (d->subgroup >= h->subgroup_count || d->sender >= h->nodes)
		return wh_history_break(h,
					"its view: %s delivers a message of node %" PRIu32 " in subgroup %" PRIu32
					", one of which there is not",
					wh_history_who(h, node).text, d->sender, d->subgroup);
	if (!check_view_of(h, node, d))
		return false;
	view = wh_history_find_view(h, d->view);
	if (view == NULL || view->place[d->sender] == 0)
		return refuse_delivery(h, node, d, "its view", ", which is not in the view");
	*from = wh_history_sender_in(h, view, d->sender);
	if (*from == NOBODY)
		return refuse_delivery(h, node, d, "its view", ", which has not begun that view");
	member = &h->subgroups[d->subgroup].members[node];
	sender = &h->subgroups[d->subgroup].members[*from];
	if (h->lives[*from].view == view && (sender->place.role != WH_HISTORY_SENDER || sender->unit != member->unit))
		return refuse_delivery(h, node, d, "its view", ", which is no sender there");
	return true;
}

/* Is it the next of its sender, and what that has committed? */
static bool check_stream(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d, uint32_t from)
{
	const struct subgroup *g = &h->subgroups[d->subgroup];
	const struct member *member = &g->members[node];
	const struct stream *stream = &g->streams[from];
	const struct message *message = d->index < stream->count ? &stream->messages[d->index] : NULL;
	uint64_t expected = member->next[from];

	if (message == NULL || message->state == UNKNOWN)
		return refuse_delivery(h, node, d, "committed", ", which is not committed");
	if (message->state == ABORTED)
		return refuse_delivery(h, node, d, "committed", ", which is aborted");
	if (d->index < expected)
		return refuse_delivery(h, node, d, "no duplicate", " again, or behind message %" PRIu64, expected - 1);
	while (expected < d->index && wh_history_may_miss(g, member, stream, expected))
		expected++;
	if (expected < d->index)
		return refuse_delivery(h, node, d, "no gap", " without message %" PRIu64, expected);
	if (message->digest != d->digest)
		return refuse_delivery(h, node, d, "payload", " with digest %016" PRIx64 ", committed was %016" PRIx64,
				       d->digest, message->digest);
	return true;
}

/* The delivery is the first at its place. */
static bool extend_order(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d, uint32_t from,
			 struct order *order)
{
	const struct subgroup *g = &h->subgroups[d->subgroup];
	const struct message *message = &g->streams[from].messages[d->index];
	struct entry *entries;

	if (message->delivered && (message->view != d->view || message->unit != g->members[node].unit))
		return refuse_delivery(h, node, d, "same set", ", which %s delivered in %s",
				       wh_history_who(h, message->by).text,
				       wh_history_at(g, message->unit, message->view).text);
	if (order->closed)
		return refuse_delivery(h, node, d, "nothing that a survivor lacks",
				       ", without which %s has gone on to the next view",
				       wh_history_who(h, order->closed_by).text);
	if (order->count > 0 && d->sequence <= order->entries[order->count - 1].sequence)
		return refuse_delivery(h, node, d, "same order", " with sequence %" PRIu64 " behind sequence %" PRIu64,
				       d->sequence, order->entries[order->count - 1].sequence);
	entries = wh_history_grown(order->entries, order->count + 1, &order->capacity, sizeof(*entries));
	if (entries == NULL)
		return wh_history_memory_out(h);
	order->entries = entries;
	entries[order->count++] =
		(struct entry){.index = d->index, .sequence = d->sequence, .sender = from, .by = node};
	return true;
}

static bool check_order(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d, uint32_t from)
{
	struct subgroup *g = &h->subgroups[d->subgroup];
	const struct member *member = &g->members[node];
	struct order *order;
	const struct entry *entry;

	if (member->behind && member->at->number > d->view)
		return refuse_delivery(h, node, d, "no duplicate", ", and has what comes after that view");
	if (member->behind && !wh_history_move_on(h, node, g, d->view))
		return false;
	order = &member->at->orders[member->unit];
	if (member->position == order->count)
		return extend_order(h, node, d, from, order);
	entry = &order->entries[member->position];
	if (entry->sender != from || entry->index != d->index)
		return refuse_delivery(h, node, d, "same order", " where %s delivered message %" PRIu64 " of %s",
				       wh_history_who(h, entry->by).text, entry->index,
				       wh_history_who(h, entry->sender).text);
	if (entry->sequence != d->sequence)
		return refuse_delivery(h, node, d, "same order", " with sequence %" PRIu64 ", %s with %" PRIu64,
				       d->sequence, wh_history_who(h, entry->by).text, entry->sequence);
	return true;
}

/* It was begun anew, and has that of its last view when others have gone on without: it is in its own group alone. */
static bool is_of_its_own(struct wh_history *h, uint32_t node, struct subgroup *g, const struct wh_history_delivery *d)
{
	const struct member *member = &g->members[node];
	const struct order *order;

	if (!h->lives[node].anew || !g->ordered || !member->behind || member->at->number > d->view ||
	    !wh_history_move_on(h, node, g, d->view))
		return false;
	order = &member->at->orders[member->unit];
	return order->closed && member->position >= order->count;
}

bool wh_history_deliver(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d)
{
	struct subgroup *g;
	struct member *member;
	struct message *message;
	uint32_t from = NOBODY;

	if (!wh_history_lives(h, node, "delivers") || !check_place(h, node, d, &from) ||
	    !check_stream(h, node, d, from))
		return false;
	g = &h->subgroups[d->subgroup];
	member = &g->members[node];
	if (is_of_its_own(h, node, g, d)) {
		member->next[from] = d->index + 1;
		member->position++;
		return true;
	}
	if (g->ordered && !check_order(h, node, d, from))
		return false;
	if (!g->ordered && d->sequence != d->index)
		return refuse_delivery(h, node, d, "same order", " with sequence %" PRIu64 ", expected its index",
				       d->sequence);
	message = &g->streams[from].messages[d->index];
	if (!message->delivered) {
		message->delivered = true;
		message->view = d->view;
		message->unit = member->unit;
		message->by = node;
	}
	member->next[from] = d->index + 1;
	member->position++;
	h->deliveries++;
	return true;
}
