/* test_history_random.c - long histories of a group that does all right: they pass, damaged ones do not, and merged from
 * logs they are the same.
 */
#include <stdbool.h>
#include <string.h>

#include "sim/history_file.h"
#include "tests/unit/history.h"

#define CLAIMS 600 /* of one sender in one subgroup at most */
#define EVENTS 60000
#define NODES 7
#define GROUPS 3

struct event {
	char kind; /* as in a log; X: crashed */
	uint32_t node, subgroup;
	uint64_t number; /* of a view or claim */
	struct wh_history_delivery delivery;
};

struct line { /* what a shard delivers in the view */
	uint32_t sender;
	uint64_t index, sequence;
};

struct world { /* a group that does all right, at random */
	struct wh_dice dice;
	struct event *events;
	uint32_t event_count;
	uint32_t views, count;
	uint32_t members[NODES + 1][NODES], counts[NODES + 1]; /* by view */
	bool aborted[GROUPS][NODES][CLAIMS];
	uint64_t claims[GROUPS][NODES], given[GROUPS][NODES]; /* given: a place in an order */
	uint64_t next[GROUPS][NODES][NODES];                  /* ticks: expected by a node of a sender */
	struct line line[GROUPS][2][NODES * CLAIMS];
	uint32_t length[GROUPS][2], position[GROUPS][NODES];
	bool dead[NODES];
};

static struct event *note(struct world *w, char kind, uint32_t node)
{
	ck_assert_uint_lt(w->event_count, EVENTS);
	w->events[w->event_count] = (struct event){.kind = kind, .node = node};
	return &w->events[w->event_count++];
}

/* Half of the ranks send orders, two of three ticks; the shards of parts are shared out by rank. So places change with
 * every view. */
static struct wh_history_place place_at(uint32_t subgroup, uint32_t rank)
{
	if (subgroup == 2)
		return (struct wh_history_place){.role = WH_HISTORY_SENDER, .shard = rank % 2};
	if (rank % 3 == 2 || (subgroup == 0 && rank % 2 == 1))
		return (struct wh_history_place){.role = WH_HISTORY_MEMBER};
	return (struct wh_history_place){.role = WH_HISTORY_SENDER};
}

static struct wh_history_place place_in(const struct world *w, uint32_t view, uint32_t subgroup, uint32_t node)
{
	for (uint32_t rank = 0; rank < w->counts[view]; rank++)
		if (w->members[view][rank] == node)
			return place_at(subgroup, rank);
	return (struct wh_history_place){.role = WH_HISTORY_OUT};
}

static struct wh_history_place place_now(const struct world *w, uint32_t subgroup, uint32_t node)
{
	return place_in(w, w->views, subgroup, node);
}

static void claim(struct world *w, uint32_t g, uint32_t node)
{
	uint64_t index = w->claims[g][node];
	struct event *event;

	if (place_now(w, g, node).role != WH_HISTORY_SENDER || index + 2 > CLAIMS)
		return;
	for (int i = 1; i >= 0; i--) { /* two, finished in the other order */
		w->aborted[g][node][index + (uint64_t)i] = wh_dice_one_in(&w->dice, 4);
		event = note(w, w->aborted[g][node][index + (uint64_t)i] ? 'A' : 'C', node);
		event->subgroup = g;
		event->number = index + (uint64_t)i;
	}
	w->claims[g][node] = index + 2;
}

/* Gives a message of the node a place in the order of its shard. */
static void give(struct world *w, uint32_t g, uint32_t node)
{
	struct wh_history_place place = place_now(w, g, node);
	uint32_t length = w->length[g][place.shard];
	struct line *line = w->line[g][place.shard];

	while (w->given[g][node] < w->claims[g][node] && w->aborted[g][node][w->given[g][node]])
		w->given[g][node]++;
	if (place.role != WH_HISTORY_SENDER || w->given[g][node] == w->claims[g][node])
		return;
	line[length] = (struct line){node, w->given[g][node]++, length > 0 ? line[length - 1].sequence : 0};
	line[length].sequence += 1 + wh_dice_below(&w->dice, 9);
	w->length[g][place.shard]++;
}

static void upcall(struct world *w, uint32_t g, uint32_t node, const struct line *line)
{
	note(w, 'D', node)->delivery = (struct wh_history_delivery){
		g, line->sender, w->views, line->index, line->sequence, digest_of(g, line->sender, line->index)};
}

/* The next message at this node, of what is in order below `limit`. */
static bool next_upcall(struct world *w, uint32_t g, uint32_t node, uint32_t limit)
{
	uint32_t shard = place_now(w, g, node).shard;

	if (w->position[g][node] >= limit)
		return false;
	upcall(w, g, node, &w->line[g][shard][w->position[g][node]++]);
	return true;
}

static bool next_tick(struct world *w, uint32_t node, uint32_t sender)
{
	uint64_t *next = &w->next[1][node][sender];

	while (*next < w->claims[1][sender] && w->aborted[1][sender][*next])
		(*next)++;
	if (*next == w->claims[1][sender] || place_now(w, 1, sender).role != WH_HISTORY_SENDER)
		return false;
	upcall(w, 1, node, &(struct line){sender, *next, *next});
	(*next)++;
	return true;
}

static void anything(struct world *w)
{
	uint32_t g = (uint32_t)wh_dice_below(&w->dice, GROUPS);
	uint32_t node = w->members[w->views][wh_dice_below(&w->dice, w->count)];
	uint32_t sender = w->members[w->views][wh_dice_below(&w->dice, w->count)];

	switch (wh_dice_below(&w->dice, 5)) {
	case 0:
		claim(w, g, node);
		break;
	case 1:
		if (g != 1)
			give(w, g, node);
		break;
	default:
		if (g == 1)
			next_tick(w, node, sender);
		else
			next_upcall(w, g, node, w->length[g][place_now(w, g, node).shard]);
	}
}

/* Where the order of a shard ends: at least where any member is. */
static uint32_t cut_of(struct world *w, uint32_t g, uint32_t shard)
{
	uint32_t least = 0;

	for (uint32_t rank = 0; rank < w->count; rank++) {
		uint32_t node = w->members[w->views][rank];

		if (place_now(w, g, node).shard == shard && w->position[g][node] > least)
			least = w->position[g][node];
	}
	return (uint32_t)wh_dice_between(&w->dice, least, w->length[g][shard]);
}

/* The next view without those that have `dead` set anew. */
static void change(struct world *w)
{
	uint32_t cut[GROUPS][2] = {{0}}, before = w->views, stay = 0;
	bool gone[NODES] = {false};

	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t shard = 0; shard < 2; shard++)
			cut[g][shard] = cut_of(w, g, shard);
	for (uint32_t victims = 0; victims < (w->count - 1) / 2 && !(victims && wh_dice_one_in(&w->dice, 2));
	     victims++) {
		uint32_t victim = w->members[before][wh_dice_below(&w->dice, w->count)];

		char kind = "XER"[wh_dice_below(&w->dice, 3)];

		if (gone[victim])
			continue;
		while (kind == 'R' && wh_dice_one_in(&w->dice, 2) && next_upcall(w, 0, victim, cut[0][0]))
			; /* it learns it a little later */
		note(w, kind, victim);
		gone[victim] = w->dead[victim] = true;
	}
	for (uint32_t rank = 0; rank < w->count; rank++)
		if (!gone[w->members[before][rank]])
			w->members[before + 1][stay++] = w->members[before][rank];
	w->counts[before + 1] = stay;
	for (uint32_t rank = (uint32_t)wh_dice_below(&w->dice, stay), i = 0; i < stay; i++, rank = (rank + 1) % stay) {
		uint32_t node = w->members[before + 1][rank];

		for (uint32_t g = 0; g < GROUPS; g += 2)
			while (next_upcall(w, g, node, cut[g][place_now(w, g, node).shard]))
				;
		note(w, 'V', node)->number = before + 1;
	}
	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t shard = 0; shard < 2; shard++) {
			for (uint32_t i = w->length[g][shard]; i-- > cut[g][shard];)
				w->given[g][w->line[g][shard][i].sender] = w->line[g][shard][i].index;
			w->length[g][shard] = 0;
		}
	for (uint32_t node = 0; node < NODES; node++)
		for (uint32_t g = 0; g < GROUPS; g++) {
			struct wh_history_place was = place_now(w, g, node), is = place_in(w, before + 1, g, node);

			w->position[g][node] = 0;
			if (was.role == WH_HISTORY_SENDER && (is.role == WH_HISTORY_OUT || is.shard != was.shard)) {
				w->given[g][node] = w->claims[g][node];
				for (uint32_t other = 0; other < NODES; other++)
					w->next[g][other][node] = w->claims[g][node];
			}
		}
	w->views = before + 1;
	w->count = stay;
}

/* Everything that can be delivered is. */
static void settle(struct world *w)
{
	for (uint32_t rank = 0; rank < w->count; rank++)
		for (uint32_t i = 0; i < CLAIMS; i++) {
			give(w, 0, w->members[w->views][rank]);
			give(w, 2, w->members[w->views][rank]);
		}
	for (uint32_t rank = 0; rank < w->count; rank++) {
		uint32_t node = w->members[w->views][rank];

		for (uint32_t g = 0; g < GROUPS; g += 2)
			while (next_upcall(w, g, node, w->length[g][place_now(w, g, node).shard]))
				;
		for (uint32_t s = 0; s < w->count; s++)
			while (next_tick(w, node, w->members[w->views][s]))
				;
	}
}

static struct world *new_world(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	ck_assert_ptr_nonnull(w);
	w->events = calloc(EVENTS, sizeof(*w->events));
	ck_assert_ptr_nonnull(w->events);
	w->dice.state = seed;
	w->count = w->counts[0] = NODES;
	for (uint32_t n = 0; n < NODES; n++) {
		w->members[0][n] = n;
		note(w, 'V', n);
	}
	while (w->count > 2) {
		for (uint64_t steps = 100 + wh_dice_below(&w->dice, 2000); steps > 0; steps--)
			anything(w);
		change(w);
	}
	settle(w);
	return w;
}

static void free_world(struct world *w)
{
	free(w->events);
	free(w);
}

static bool tell(struct wh_history *h, const struct world *w, const struct event *event)
{
	struct wh_history_place places[GROUPS];

	switch (event->kind) {
	case 'V':
		for (uint32_t rank = 0; rank < w->counts[event->number]; rank++) {
			if (w->members[event->number][rank] != event->node)
				continue;
			for (uint32_t g = 0; g < GROUPS; g++)
				places[g] = place_at(g, rank);
			return wh_history_view(h, event->node,
					       &(struct wh_history_view){.number = event->number,
									 .count = w->counts[event->number],
									 .rank = rank,
									 .members = w->members[event->number],
									 .places = places});
		}
		return false;
	case 'C':
		return wh_history_commit(h, event->node, event->subgroup, event->number,
					 digest_of(event->subgroup, event->node, event->number));
	case 'A':
		return wh_history_abort(h, event->node, event->subgroup, event->number);
	case 'D':
		return wh_history_deliver(h, event->node, &event->delivery);
	case 'X':
		return wh_history_crashed(h, event->node);
	case 'R':
		return wh_history_removed(h, event->node);
	default:
		return wh_history_left(h, event->node);
	}
}

/* Is the whole history good? Why not goes to the output. */
static bool judge(const struct world *w)
{
	struct wh_history *h = make(NODES, -1, false);
	bool survives[NODES], good = true;

	for (uint32_t n = 0; n < NODES; n++)
		survives[n] = !w->dead[n];
	for (uint32_t i = 0; i < w->event_count && good; i++)
		good = tell(h, w, &w->events[i]);
	good = good && wh_history_end(h, survives);
	if (!good)
		printf("%s\n", wh_history_broken(h));
	wh_history_free(h);
	return good;
}

TEST(long_ones_pass)
{
	struct wh_dice dice = {test_seed(1)};

	for (int i = 0; i < 20; i++) {
		struct world *w = new_world(wh_dice_roll(&dice));

		ck_assert(judge(w));
		free_world(w);
	}
}

/* ---- and broken ones of them fail ------------------------------------------------------------------------------------ */

static bool same_message(const struct event *a, const struct event *b)
{
	return a->kind == 'D' && b->kind == 'D' && a->subgroup == b->subgroup &&
	       a->delivery.subgroup == b->delivery.subgroup && a->delivery.sender == b->delivery.sender &&
	       a->delivery.index == b->delivery.index;
}

static bool delivered_elsewhere(const struct world *w, const struct event *event)
{
	for (uint32_t i = 0; i < w->event_count; i++)
		if (w->events[i].node != event->node && same_message(&w->events[i], event))
			return true;
	return false;
}

static void drop(struct world *w, struct event *event)
{
	struct event *end = w->events + --w->event_count;

	memmove(event, event + 1, (size_t)(end - event) * sizeof(*event));
}

/* The next delivery of this node in the same subgroup and view; NULL: there is none. */
static struct event *follower(const struct world *w, struct event *event)
{
	for (struct event *e = event + 1; e < w->events + w->event_count; e++)
		if (e->kind == 'D' && e->node == event->node && e->delivery.subgroup == event->delivery.subgroup)
			return e->delivery.view == event->delivery.view ? e : NULL;
	return NULL;
}

static void swap(struct event *a, struct event *b)
{
	struct wh_history_delivery kept = a->delivery;

	a->delivery = b->delivery;
	b->delivery = kept;
}

/* Breaks one delivery; false: this one cannot be broken that way. */
static bool damage(struct world *w, struct event *event, int way)
{
	bool ordered = event->delivery.subgroup != 1;
	struct event *next = follower(w, event);

	if (event->kind != 'D')
		return false;
	switch (way) {
	case 0:
		event->delivery.digest ^= UINT64_C(1) << 40;
		return true;
	case 1: /* one more time, instead of the next */
		if (next != NULL)
			next->delivery = event->delivery;
		return next != NULL;
	case 2:
		if (next != NULL && (ordered || next->delivery.sender == event->delivery.sender)) {
			swap(event, next);
			return true;
		}
		return false;
	case 3:
		if (!ordered || w->dead[event->node] || !delivered_elsewhere(w, event))
			return false;
		drop(w, event);
		return true;
	default: /* before it was committed */
		for (struct event *e = w->events; e < event; e++)
			if (e->kind == 'C' && e->node == event->delivery.sender &&
			    e->subgroup == event->delivery.subgroup && e->number == event->delivery.index) {
				drop(w, e);
				return true;
			}
		return false;
	}
}

TEST_LOOP(damaged_ones_fail, 0, 5)
{
	struct wh_dice dice = {test_seed(1) + (uint64_t)_i};

	for (int i = 0; i < 20; i++) {
		struct world *w = new_world(wh_dice_roll(&dice));

		while (!damage(w, &w->events[wh_dice_below(&dice, w->event_count)], _i))
			;
		ck_assert(!judge(w));
		free_world(w);
	}
}

/* ---- logs ------------------------------------------------------------------------------------------------------------ */

static void log_event(FILE *log, const struct world *w, const struct event *event)
{
	struct wh_history_place places[GROUPS];
	bool good = true;

	if (event->kind == 'V') {
		struct wh_history_view view = {.number = event->number,
					       .count = w->counts[event->number],
					       .members = w->members[event->number],
					       .places = places};

		while (view.members[view.rank] != event->node)
			view.rank++;
		for (uint32_t g = 0; g < GROUPS; g++)
			places[g] = place_at(g, view.rank);
		good = wh_history_log_view(log, &view, GROUPS);
	} else if (event->kind == 'C') {
		good = wh_history_log_commit(log, event->subgroup, event->number,
					     digest_of(event->subgroup, event->node, event->number));
	} else if (event->kind == 'A') {
		good = wh_history_log_abort(log, event->subgroup, event->number);
	} else if (event->kind == 'D') {
		good = wh_history_log_deliver(log, &event->delivery);
	} else if (event->kind == 'R') {
		good = wh_history_log_removed(log);
	} else if (event->kind == 'E') {
		good = wh_history_log_leaving(log) && wh_history_log_left(log);
	} else { /* crashed in the middle of a line */
		good = fputs("D 0 1", log) >= 0;
	}
	ck_assert(good);
}

/* Each node's log by itself; merged they are the same history. */
TEST(logs_are_merged)
{
	struct wh_dice dice = {test_seed(1)};
	struct world *w = new_world(wh_dice_roll(&dice));
	struct wh_history *h = make(NODES, -1, false);
	FILE *logs[NODES];
	char *text[NODES];
	size_t bytes[NODES];
	bool survives[NODES];
	uint64_t deliveries = 0;

	for (uint32_t n = 0; n < NODES; n++)
		ck_assert_ptr_nonnull(logs[n] = open_memstream(&text[n], &bytes[n]));
	for (uint32_t i = 0; i < w->event_count; i++) {
		log_event(logs[w->events[i].node], w, &w->events[i]);
		deliveries += w->events[i].kind == 'D';
	}
	for (uint32_t n = 0; n < NODES; n++) {
		fclose(logs[n]);
		ck_assert_ptr_nonnull(logs[n] = fmemopen(text[n], bytes[n], "r"));
		survives[n] = !w->dead[n];
	}
	ck_assert_msg(wh_history_replay(h, logs), "%s", wh_history_broken(h));
	ck_assert_uint_eq(wh_history_deliveries(h), deliveries);
	ck_assert_msg(wh_history_end(h, survives), "%s", wh_history_broken(h));
	for (uint32_t n = 0; n < NODES; n++) {
		fclose(logs[n]);
		free(text[n]);
	}
	wh_history_free(h);
	free_world(w);
}

TEST_SUITE("history_random")
