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

bool wh_history_lives(struct wh_history *h, uint32_t node, const char *does)
{
	static const char *const how[] = {
		[LEFT] = "left", [REMOVED] = "was told that it is removed", [CRASHED] = "crashed"};

	if (h->is_broken)
		return false;
	if (node >= h->nodes)
		return wh_history_break(h, "gone: node %" PRIu32 " %s, and there is none", node, does);
	if (h->node[node].fate >= LEFT)
		return wh_history_break(h, "gone: node %" PRIu32 " %s after it %s", node, does,
					how[h->node[node].fate]);
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
	g->ordered = config->ordered;
	g->shards = config->shards > 1 ? config->shards : 1;
	g->unit = h->units;
	h->units += g->shards;
	g->name = strdup(config->name);
	g->streams = calloc(h->nodes, sizeof(*g->streams));
	g->seats = calloc(h->nodes, sizeof(*g->seats));
	g->next = calloc((size_t)h->nodes * h->nodes, sizeof(*g->next));
	if (g->name == NULL || g->streams == NULL || g->seats == NULL || g->next == NULL)
		return false;
	for (uint32_t n = 0; n < h->nodes; n++)
		g->seats[n].next = g->next + (size_t)n * h->nodes;
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
	h->node = calloc(config->nodes, sizeof(*h->node));
	h->subgroups = calloc(config->subgroup_count, sizeof(*h->subgroups));
	if (h->node == NULL || h->subgroups == NULL)
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

static void free_subgroup(struct subgroup *g, uint32_t nodes)
{
	for (uint32_t n = 0; g->streams != NULL && n < nodes; n++)
		free(g->streams[n].messages);
	free(g->streams);
	free(g->seats);
	free(g->next);
	free(g->name);
}

void wh_history_free(struct wh_history *h)
{
	if (h == NULL)
		return;
	for (uint64_t v = 0; v < h->view_count; v++)
		wh_history_free_view(h->views[v], h->units);
	for (uint32_t g = 0; g < h->subgroup_count; g++)
		free_subgroup(&h->subgroups[g], h->nodes);
	free(h->views);
	free(h->subgroups);
	free(h->node);
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

	if (node >= h->nodes || subgroup >= h->subgroup_count) {
		wh_history_break(
			h, "committed: node %" PRIu32 " finishes a claim in subgroup %" PRIu32 ", one of which is not",
			node, subgroup);
		return NULL;
	}
	stream = &h->subgroups[subgroup].streams[node];
	if (index >= stream->count + CLAIMS_APART_MAX) {
		wh_history_break(h,
				 "committed: node %" PRIu32 " finishes claim %" PRIu64 " (%s), far beyond its others",
				 node, index, h->subgroups[subgroup].name);
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

static void finish(struct stream *stream, struct message *message, enum claim_state state)
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
		return wh_history_break(
			h, "committed: node %" PRIu32 " commits claim %" PRIu64 " (%s), which it has %s", node, index,
			h->subgroups[subgroup].name, message->state == COMMITTED ? "committed" : "aborted");
	message->digest = digest;
	finish(&h->subgroups[subgroup].streams[node], message, COMMITTED);
	return true;
}

bool wh_history_abort(struct wh_history *h, uint32_t node, uint32_t subgroup, uint64_t index)
{
	struct message *message;

	if (h->is_broken) /* who has left or was removed may have claims open */
		return false;
	message = claim_of(h, node, subgroup, index);
	if (message == NULL)
		return false;
	if (message->delivered)
		return wh_history_break(h,
					"committed: message %" PRIu64 " of node %" PRIu32
					" is aborted or refused, and node %" PRIu32 " has delivered it (%s)",
					index, node, message->by,
					wh_history_at(&h->subgroups[subgroup], message->unit, message->view).text);
	finish(&h->subgroups[subgroup].streams[node], message, ABORTED);
	return true;
}

bool wh_history_knows(const struct wh_history *h, uint32_t subgroup, uint32_t sender, uint64_t index)
{
	return subgroup < h->subgroup_count && sender < h->nodes &&
	       index < h->subgroups[subgroup].streams[sender].known;
}

/* ---- deliveries ------------------------------------------------------------------------------------------------------ */

/* "same order: node 2 delivers message 7 of node 0 where ... (orders, view 2, place 31)" */
WH_PRINTF(5, 6)
static bool refuse(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d, const char *property,
		   const char *format, ...)
{
	const struct subgroup *g = &h->subgroups[d->subgroup];
	const struct seat *seat = &g->seats[node];
	char why[256], place[32] = "";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	if (g->ordered)
		snprintf(place, sizeof(place), ", place %" PRIu64, seat->position);
	return wh_history_break(h, "%s: node %" PRIu32 " delivers message %" PRIu64 " of node %" PRIu32 "%s (%s%s)",
				property, node, d->index, d->sender, why, wh_history_at(g, seat->unit, d->view).text,
				place);
}

bool wh_history_may_miss(const struct subgroup *g, const struct seat *seat, const struct stream *stream, uint64_t index)
{
	const struct message *message = &stream->messages[index];

	if (message->state != COMMITTED)
		return message->state == ABORTED;
	if (message->delivered && (message->unit != seat->unit || message->view < seat->joined))
		return true;
	return index < stream->lapsed && !(g->ordered && message->delivered);
}

/* Is the node where the delivery says it is, and the sender too? */
static bool check_place(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d)
{
	const struct view *view = h->node[node].view;
	const struct seat *seat, *sender;

	if (d->subgroup >= h->subgroup_count || d->sender >= h->nodes)
		return wh_history_break(h,
					"its view: node %" PRIu32 " delivers a message of node %" PRIu32
					" in subgroup %" PRIu32 ", one of which there is not",
					node, d->sender, d->subgroup);
	seat = &h->subgroups[d->subgroup].seats[node];
	sender = &h->subgroups[d->subgroup].seats[d->sender];
	if (view == NULL)
		return refuse(h, node, d, "its view", " and is in no view");
	if (view->number != d->view)
		return refuse(h, node, d, "its view", " and is in view %" PRIu64, view->number);
	if (seat->place.role == WH_HISTORY_OUT || seat->place.inactive)
		return refuse(h, node, d, "its view", " and is in no active shard");
	if (!view->has[d->sender])
		return refuse(h, node, d, "its view", ", which is not in the view");
	if (h->node[d->sender].view == view && (sender->place.role != WH_HISTORY_SENDER || sender->unit != seat->unit))
		return refuse(h, node, d, "its view", ", which is no sender there");
	return true;
}

/* Is it the next of its sender, and what that has committed? */
static bool check_stream(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d)
{
	const struct subgroup *g = &h->subgroups[d->subgroup];
	const struct seat *seat = &g->seats[node];
	const struct stream *stream = &g->streams[d->sender];
	const struct message *message = d->index < stream->count ? &stream->messages[d->index] : NULL;
	uint64_t expected = seat->next[d->sender];

	if (message == NULL || message->state == UNKNOWN)
		return refuse(h, node, d, "committed", ", which is not committed");
	if (message->state == ABORTED)
		return refuse(h, node, d, "committed", ", which is aborted");
	if (d->index < expected)
		return refuse(h, node, d, "no duplicate", " again, or behind message %" PRIu64, expected - 1);
	while (expected < d->index && wh_history_may_miss(g, seat, stream, expected))
		expected++;
	if (expected < d->index)
		return refuse(h, node, d, "no gap", " without message %" PRIu64, expected);
	if (message->digest != d->digest)
		return refuse(h, node, d, "payload", " with digest %016" PRIx64 ", committed was %016" PRIx64,
			      d->digest, message->digest);
	return true;
}

/* The delivery is the first at its place. */
static bool extend_order(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d, struct order *order)
{
	const struct subgroup *g = &h->subgroups[d->subgroup];
	const struct message *message = &g->streams[d->sender].messages[d->index];
	struct entry *entries;

	if (message->delivered && (message->view != d->view || message->unit != g->seats[node].unit))
		return refuse(h, node, d, "same set", ", which node %" PRIu32 " delivered in %s", message->by,
			      wh_history_at(g, message->unit, message->view).text);
	if (order->closed)
		return refuse(h, node, d, "nothing that a survivor lacks",
			      ", without which node %" PRIu32 " has gone on to the next view", order->closed_by);
	if (order->count > 0 && d->sequence <= order->entries[order->count - 1].sequence)
		return refuse(h, node, d, "same order", " with sequence %" PRIu64 " behind sequence %" PRIu64,
			      d->sequence, order->entries[order->count - 1].sequence);
	entries = wh_history_grown(order->entries, order->count + 1, &order->capacity, sizeof(*entries));
	if (entries == NULL)
		return wh_history_memory_out(h);
	order->entries = entries;
	entries[order->count++] =
		(struct entry){.index = d->index, .sequence = d->sequence, .sender = d->sender, .by = node};
	return true;
}

static bool check_order(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d)
{
	const struct seat *seat = &h->subgroups[d->subgroup].seats[node];
	struct order *order = &h->node[node].view->orders[seat->unit];
	const struct entry *entry;

	if (seat->position == order->count)
		return extend_order(h, node, d, order);
	entry = &order->entries[seat->position];
	if (entry->sender != d->sender || entry->index != d->index)
		return refuse(h, node, d, "same order",
			      " where node %" PRIu32 " delivered message %" PRIu64 " of node %" PRIu32, entry->by,
			      entry->index, entry->sender);
	if (entry->sequence != d->sequence)
		return refuse(h, node, d, "same order", " with sequence %" PRIu64 ", node %" PRIu32 " with %" PRIu64,
			      d->sequence, entry->by, entry->sequence);
	return true;
}

bool wh_history_deliver(struct wh_history *h, uint32_t node, const struct wh_history_delivery *d)
{
	struct subgroup *g;
	struct seat *seat;
	struct message *message;

	if (!wh_history_lives(h, node, "delivers") || !check_place(h, node, d) || !check_stream(h, node, d))
		return false;
	g = &h->subgroups[d->subgroup];
	seat = &g->seats[node];
	if (g->ordered && !check_order(h, node, d))
		return false;
	if (!g->ordered && d->sequence != d->index)
		return refuse(h, node, d, "same order", " with sequence %" PRIu64 ", expected its index", d->sequence);
	message = &g->streams[d->sender].messages[d->index];
	if (!message->delivered) {
		message->delivered = true;
		message->view = d->view;
		message->unit = seat->unit;
		message->by = node;
	}
	seat->next[d->sender] = d->index + 1;
	seat->position++;
	h->deliveries++;
	return true;
}
