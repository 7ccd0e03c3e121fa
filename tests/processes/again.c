/* again.c - see again.h. That the states are the same after so many messages is seen to in logs.c; here it is where they stood. */
#include "tests/processes/again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sequence { /* of a subgroup: what came first, second, ...; a place without a view + 1 is not known */
	struct place {
		uint64_t view, sequence, index, digest;
		uint32_t sender, seen_by; /* lives */
	} * places;
	uint64_t count, room;
};

static const struct record *record_at(const struct cluster *c, uint32_t life, uint64_t at)
{
	return board_record(c->board, &c->board->state[life], at);
}

/* ---- messages ----------------------------------------------------------------------------------------------------------- */

static bool reserve(struct sequence *all, uint64_t count)
{
	uint64_t room = 2 * count + 1000;
	struct place *places;

	if (count < all->room)
		return true;
	places = realloc(all->places, room * sizeof(*places));
	if (places == NULL)
		return false;
	memset(places + all->room, 0, (room - all->room) * sizeof(*places));
	all->places = places;
	all->room = room;
	return true;
}

static bool is_same(const struct place *a, const struct place *b)
{
	return a->view == b->view && a->sequence == b->sequence && a->index == b->index && a->digest == b->digest &&
	       a->sender == b->sender;
}

/* What the life has delivered as its message number `at`. */
static bool take_message(struct sequence *all, uint64_t at, uint32_t life, const struct record *record, char *text,
			 size_t bytes)
{
	const struct place now = {.view = record->view + 1,
				  .sequence = record->sequence,
				  .index = record->index,
				  .digest = record->digest,
				  .sender = record->sender,
				  .seen_by = life};
	struct place *place;

	snprintf(text, bytes, "again: no memory");
	if (!reserve(all, at))
		return false;
	place = &all->places[at];
	if (place->view == 0)
		*place = now;
	if (is_same(place, &now))
		return true;
	snprintf(text, bytes,
		 "again: %s: what comes behind %llu others is message %llu of life %u (view %llu, place %llu) for life %u, and "
		 "message %llu of life %u (view %llu, place %llu) for life %u",
		 groups[record->group].name, (unsigned long long)at, (unsigned long long)now.index, now.sender,
		 (unsigned long long)now.view - 1, (unsigned long long)now.sequence, life,
		 (unsigned long long)place->index, place->sender, (unsigned long long)place->view - 1,
		 (unsigned long long)place->sequence, place->seen_by);
	return false;
}

/* Returns how many messages that is; UINT64_MAX: they are not those of others. */
static uint64_t take_life(struct sequence *all, const struct cluster *c, uint32_t life, uint32_t group, char *text,
			  size_t bytes)
{
	uint64_t count = 0;

	for (uint64_t at = 0; at < c->board->state[life].records; at++) {
		const struct record *record = record_at(c, life, at);

		if (record->group != group || record->kind == RECORD_VIEW)
			continue;
		if (record->kind == RECORD_RESTORED)
			count = record->count;
		else if (record->kind == RECORD_MESSAGE && !take_message(all, count++, life, record, text, bytes))
			return UINT64_MAX;
	}
	if (count > all->count)
		all->count = count;
	return count;
}

static bool messages_agree(const struct cluster *c, uint32_t group, char *text, size_t bytes)
{
	struct sequence all = {.places = NULL};
	uint64_t counts[LIVES_MAX];
	bool agree = true;

	for (uint32_t life = 0; life < c->lives && agree; life++) {
		counts[life] = take_life(&all, c, life, group, text, bytes);
		agree = counts[life] != UINT64_MAX;
	}
	for (uint32_t life = 0; life < c->lives && agree; life++) {
		const struct state *state = &c->board->state[life];

		agree = c->children[life].fate != FATE_LIVES || state->first_view == 0 || counts[life] == all.count;
		if (!agree)
			snprintf(text, bytes,
				 "again: %s: %llu messages were delivered, at node %u (life %u) %llu of them",
				 groups[group].name, (unsigned long long)all.count, state->id, life,
				 (unsigned long long)counts[life]);
	}
	free(all.places);
	return agree;
}

/* ---- views -------------------------------------------------------------------------------------------------------------- */

static bool is_same_view(const struct record *a, const struct record *b)
{
	return a->bytes == b->bytes && memcmp(a->ids, b->ids, a->bytes) == 0;
}

/* `first`: of each number the first record of it. */
static bool views_of(const struct cluster *c, uint32_t life, const struct record **first, uint64_t views, char *text,
		     size_t bytes)
{
	uint64_t next = UINT64_MAX;

	for (uint64_t at = 0; at < c->board->state[life].records; at++) {
		const struct record *record = record_at(c, life, at);

		if (record->kind != RECORD_VIEW)
			continue;
		if (next != UINT64_MAX && record->view != next) {
			snprintf(text, bytes, "again: life %u goes from view %llu to view %llu", life,
				 (unsigned long long)next - 1, (unsigned long long)record->view);
			return false;
		}
		next = record->view + 1;
		if (record->view >= views)
			continue;
		if (first[record->view] == NULL)
			first[record->view] = record;
		if (!is_same_view(first[record->view], record)) {
			snprintf(text, bytes, "again: view %llu has other members for life %u than for others",
				 (unsigned long long)record->view, life);
			return false;
		}
	}
	return true;
}

static bool views_agree(const struct cluster *c, char *text, size_t bytes)
{
	const struct record **first;
	uint64_t views = 0;
	bool agree = true;

	for (uint32_t life = 0; life < c->lives; life++)
		if (c->board->state[life].view >= views)
			views = c->board->state[life].view + 1;
	first = calloc(views, sizeof(struct record *));
	snprintf(text, bytes, "again: no memory");
	if (first == NULL)
		return false;
	for (uint32_t life = 0; life < c->lives && agree; life++)
		agree = views_of(c, life, first, views, text, bytes);
	free(first);
	return agree;
}

bool again_agree(const struct cluster *c, char *text, size_t bytes)
{
	bool agree = views_agree(c, text, bytes);

	for (uint32_t group = 0; group < GROUPS && agree; group++)
		agree = !groups[group].ordered || messages_agree(c, group, text, bytes);
	return agree;
}
