/* hot.c - see hot.h. tests/models/quiet.c has the rule. */
#include "predicates/hot.h"

#include <stdlib.h>

#define BUSY_LOOK 8 /* each so many passes that had work, and */
#define IDLE_LOOK 4 /* that had none */
#define ALL_LOOK 64 /* passes, until it is asked whether nearly all are hot still */
/* A busy loop takes bits away so often: a barrier costs microseconds, and other threads of the process some. */
#define TAKE_NS (10 * WH_NS_PER_MS)

enum whorl_result wh_hot_init(struct wh_hot *hot, const struct wh_hot_config *config, struct wh_error *err)
{
	uint32_t words = config->sst->image->members * config->moved.count;
	uint32_t bits = config->committed_words * WH_COMMITTED_BITS;

	*hot = (struct wh_hot){.config = *config, .taken_ns = config->loop->now_ns};
	hot->members = calloc(config->most + 1, sizeof(*hot->members));
	hot->list = calloc(config->most + 1, sizeof(*hot->list));
	hot->of_subgroup = calloc(config->subgroups + 1, sizeof(*hot->of_subgroup));
	hot->of_bit = calloc(bits + 1, sizeof(*hot->of_bit));
	hot->seen = calloc(words + 1, sizeof(*hot->seen));
	if (hot->members == NULL || hot->list == NULL || hot->of_subgroup == NULL || hot->of_bit == NULL ||
	    hot->seen == NULL) {
		wh_hot_close(hot);
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u subgroups", config->subgroups);
	}
	for (uint32_t g = 0; g < config->subgroups; g++)
		hot->of_subgroup[g] = WH_HOT_COLD;
	for (uint32_t i = 0; i < bits; i++)
		hot->of_bit[i] = WH_HOT_COLD;
	return WHORL_OK;
}

void wh_hot_close(struct wh_hot *hot)
{
	free(hot->members);
	free(hot->list);
	free(hot->of_subgroup);
	free(hot->of_bit);
	free(hot->seen);
	*hot = (struct wh_hot){.count = 0};
}

uint64_t wh_hot_estimate(uint32_t peers, uint32_t words, uint32_t subgroups)
{
	return (uint64_t)subgroups * (sizeof(struct wh_hot_member) + 2 * sizeof(uint32_t)) +
	       (uint64_t)words * (peers * sizeof(uint64_t) + sizeof(uint64_t));
}

/* ---- hot and cold ------------------------------------------------------------------------------------------------------- */

/* It may have moved. What is named is to be seen, so two steps tell: one that finds nothing, and the next, behind which it is cold again.
 * What works stays hot for longer. */
static void heat(struct wh_hot *hot, uint32_t m)
{
	struct wh_hot_member *member = &hot->members[m];
	uint32_t idle = hot->config.cools - 1;

	if (member->at != WH_HOT_COLD && member->idle < idle)
		return;
	member->idle = idle;
	if (member->at != WH_HOT_COLD)
		return;
	member->at = hot->count;
	hot->list[hot->count++] = m;
}

/* The one that has its turn; the last of the list, which has not had it yet, takes its place. */
static void cool(struct wh_hot *hot)
{
	uint32_t last = hot->list[--hot->count];

	hot->members[hot->list[hot->next]].at = WH_HOT_COLD;
	hot->list[hot->next] = last;
	if (hot->next < hot->count)
		hot->members[last].at = hot->next;
}

/* Its ring has no bit, so it does not cool. */
static bool is_watched(const struct wh_hot_member *member)
{
	return member->ring != NULL && member->ring->committed == NULL;
}

void wh_hot_add(struct wh_hot *hot, struct wh_multicast *mc, uint32_t subgroup, struct wh_ring *ring, uint32_t bit)
{
	uint32_t m = hot->member_count++;

	hot->members[m] = (struct wh_hot_member){.mc = mc, .ring = ring, .at = WH_HOT_COLD};
	hot->of_subgroup[subgroup] = m;
	hot->watches = hot->watches || is_watched(&hot->members[m]);
	if (ring != NULL && hot->config.committed_words > 0)
		hot->of_bit[bit] = m;
	heat(hot, m);
	wh_hot_share_all(hot);
}

void wh_hot_watch_disk(struct wh_hot *hot, uint32_t subgroup)
{
	hot->members[hot->of_subgroup[subgroup]].durable = hot->durable = true;
}

void wh_hot_touch(struct wh_hot *hot, uint32_t subgroup)
{
	if (hot->of_subgroup[subgroup] != WH_HOT_COLD)
		heat(hot, hot->of_subgroup[subgroup]);
}

void wh_hot_note_idle(struct wh_hot *hot)
{
	struct wh_hot_member *member = &hot->members[hot->list[hot->next]];
	bool rests = member->idle >= hot->config.cools;
	bool marked = rests && !hot->all && member->ring != NULL && wh_ring_has_committed(member->ring);

	if (rests && !hot->all && !marked && !is_watched(member)) {
		cool(hot);
		return;
	}
	member->idle += !rests;
	hot->lingers |= marked;
	hot->next++;
}

/* ---- the time for delivery ------------------------------------------------------------------------------------------------ */

static void share(struct wh_hot *hot, uint32_t by)
{
	if (hot->shared_by == by || by == 0)
		return;
	hot->shared_by = by;
	hot->share_ns = hot->config.deliver_ns / by;
}

void wh_hot_share_all(struct wh_hot *hot)
{
	share(hot, hot->member_count);
}

/* ---- bits of rings -------------------------------------------------------------------------------------------------------- */

/* There is no barrier any more: a commit may have seen a bit that was gone. All that are hot have theirs again, and so stay hot. */
static void put_back(struct wh_hot *hot)
{
	for (uint32_t i = 0; i < hot->count; i++)
		if (hot->members[hot->list[i]].ring != NULL)
			wh_ring_set_committed(hot->members[hot->list[i]].ring, true);
}

/* Takes the lowest bit away, and returns its member. WH_HOT_COLD: that ring has none in this view. */
static uint32_t take_lowest(const struct wh_hot *hot, uint32_t word, uint64_t *bits)
{
	uint32_t bit = (uint32_t)__builtin_ctzll(*bits);

	*bits &= *bits - 1;
	return hot->of_bit[word * WH_COMMITTED_BITS + bit];
}

static void heat_rings(struct wh_hot *hot, uint32_t word, uint64_t bits)
{
	while (bits != 0) {
		uint32_t m = take_lowest(hot, word, &bits);

		if (m != WH_HOT_COLD)
			heat(hot, m);
	}
}

/* The bits, then the barrier that parking makes, then the look at these rings. Partner: wh_ring_say_committed. */
void wh_hot_park(struct wh_hot *hot)
{
	wh_word *words = hot->config.committed;

	for (uint32_t i = 0; i < hot->config.committed_words && !hot->all; i++)
		if (wh_load_relaxed(&words[i]) != 0)
			heat_rings(hot, i, wh_exchange(&words[i], 0));
}

/* While it is busy: of those that would be cold but for their bit. */
static void take_bits(struct wh_hot *hot)
{
	hot->taken_ns = hot->config.loop->now_ns;
	hot->lingers = false;
	for (uint32_t i = 0; i < hot->count; i++) {
		struct wh_hot_member *member = &hot->members[hot->list[i]];

		if (member->idle < hot->config.cools || member->ring == NULL)
			continue;
		heat(hot, hot->list[i]);
		wh_ring_set_committed(member->ring, false);
	}
	/* The bits, then the look at these rings. Partner: wh_ring_say_committed. */
	if (!wh_gate_barrier(hot->config.loop->gate))
		put_back(hot);
}

static void look_at_bits(struct wh_hot *hot)
{
	for (uint32_t i = 0; i < hot->config.committed_words; i++) {
		/* Acquire: the marks behind them. Partner: wh_ring_say_committed. */
		uint64_t bits = wh_load_acquire(&hot->config.committed[i]);

		while (bits != 0) {
			uint32_t m = take_lowest(hot, i, &bits);

			if (m != WH_HOT_COLD && hot->members[m].at == WH_HOT_COLD)
				heat(hot, m);
		}
	}
}

/* Hot, as it may deliver now: what comes to disk is not noticed a second time. */
static void send_persisted(struct wh_hot *hot)
{
	for (uint32_t m = 0; m < hot->member_count; m++) {
		if (!hot->members[m].durable || !wh_multicast_has_persisted(hot->members[m].mc))
			continue;
		wh_multicast_send(hot->members[m].mc);
		if (hot->members[m].at == WH_HOT_COLD)
			heat(hot, m);
	}
}

void wh_hot_send(struct wh_hot *hot)
{
	if (hot->durable)
		send_persisted(hot);
	for (uint32_t m = 0; m < hot->member_count && (hot->config.committed_words == 0 || hot->watches); m++)
		if (hot->config.committed_words == 0 || is_watched(&hot->members[m]))
			wh_multicast_send(hot->members[m].mc);
	for (uint32_t i = 0; i < hot->config.committed_words; i++) {
		uint64_t bits = wh_load_acquire(&hot->config.committed[i]); /* as in look_at_bits */

		while (bits != 0) {
			uint32_t m = take_lowest(hot, i, &bits);

			if (m != WH_HOT_COLD)
				wh_multicast_send(hot->members[m].mc);
		}
	}
}

void wh_hot_exchange(const struct wh_hot *hot, uint32_t subgroup)
{
	uint32_t m = hot->of_subgroup[subgroup];

	if (m != WH_HOT_COLD && hot->members[m].at != WH_HOT_COLD)
		wh_multicast_exchange(hot->members[m].mc);
}

/* ---- words of peers --------------------------------------------------------------------------------------------------------- */

static void heat_named(struct wh_hot *hot, uint32_t word, uint32_t names)
{
	for (; names != 0; names &= names - 1) {
		uint32_t g = word * WH_MOVED_NAMES + (uint32_t)__builtin_ctz(names);

		if (g < hot->config.subgroups && hot->of_subgroup[g] != WH_HOT_COLD)
			heat(hot, hot->of_subgroup[g]);
	}
}

/* Seen is what was read here, before the counters: what is pushed behind it changes the word again. */
static void look_at_row(struct wh_hot *hot, uint32_t rank)
{
	struct wh_array_col moved = hot->config.moved;
	uint64_t *seen = &hot->seen[rank * moved.count];

	for (uint32_t i = 0; i < moved.count; i++) {
		/* Acquire, in observe: the counters behind which it was pushed. Partner: wh_moves_say. */
		uint64_t word = wh_sst_observe_array(hot->config.sst, rank, moved, i);

		if (word == seen[i])
			continue;
		heat_named(hot, i, wh_moved_between(seen[i], word));
		seen[i] = word;
	}
}

static void look_at_words(struct wh_hot *hot)
{
	const struct wh_image *image = hot->config.sst->image;

	for (uint32_t rank = 0; rank < image->members; rank++)
		if (rank != image->my_rank)
			look_at_row(hot, rank);
	hot->config.looks->words += (uint64_t)(image->members - 1) * hot->config.moved.count;
}

/* ---- nearly all ---------------------------------------------------------------------------------------------------------------- */

/* Those that have worked lately: what is named only may not have moved for long. */
static uint32_t count_busy(const struct wh_hot *hot)
{
	uint32_t busy = 0;

	for (uint32_t m = 0; m < hot->member_count; m++)
		busy += hot->members[m].at != WH_HOT_COLD && hot->members[m].idle + 1 < hot->config.cools;
	return busy;
}

/* From now on words are looked at again. Until now none were: all may have moved. */
static void leave_all(struct wh_hot *hot)
{
	hot->all = false;
	for (uint32_t m = 0; m < hot->member_count; m++)
		heat(hot, m);
	look_at_words(hot);
}

static void enter_all(struct wh_hot *hot)
{
	hot->all = true;
	for (uint32_t m = 0; m < hot->member_count; m++)
		if (hot->members[m].at == WH_HOT_COLD)
			heat(hot, m);
}

/* Few are never nearly all. */
static bool are_nearly_all(const struct wh_hot *hot)
{
	uint32_t least = hot->member_count - hot->member_count / 8;

	return hot->count > least && count_busy(hot) > least;
}

/* Of durable ones: what has come to disk since. What comes later rings. */
static void look_at_disks(struct wh_hot *hot)
{
	for (uint32_t m = 0; m < hot->member_count; m++)
		if (hot->members[m].durable && hot->members[m].at == WH_HOT_COLD &&
		    wh_multicast_has_persisted(hot->members[m].mc))
			heat(hot, m);
}

static void look(struct wh_hot *hot)
{
	hot->passes = 0;
	if (hot->all) {
		if (2 * count_busy(hot) <= hot->member_count)
			leave_all(hot);
		return;
	}
	look_at_words(hot);
	look_at_bits(hot);
	if (hot->durable)
		look_at_disks(hot);
	if (are_nearly_all(hot))
		enter_all(hot);
}

/* ---- a pass ------------------------------------------------------------------------------------------------------------------------ */

static bool is_due(struct wh_hot *hot)
{
	uint32_t every = hot->all ? ALL_LOOK : hot->found ? BUSY_LOOK : IDLE_LOOK;
	bool last = hot->config.loop->looks_last, slept = hot->slept;

	hot->slept = last;
	hot->found = false;
	return ++hot->passes >= every || ((last || slept) && !hot->all);
}

void wh_hot_look(struct wh_hot *hot)
{
	const struct wh_loop *loop = hot->config.loop;

	if (is_due(hot))
		look(hot);
	if (loop->looks_last && !loop->sure)
		put_back(hot);
	else if (hot->lingers && loop->now_ns - hot->taken_ns >= TAKE_NS)
		take_bits(hot);
	share(hot, hot->count);
}
