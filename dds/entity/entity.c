/* entity.c - see entity.h. */
#include "dds/entity/entity.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/rcu.h"

#define CHUNK 256 /* places; they are made as they are needed, and stay until the table is freed */
#define CHUNKS (WH_DDS_ENTITIES_MAX / CHUNK)
#define TURNS_MAX 0x7ffe /* of a place */

/* The word of a place: its turn (how often it was used, from 1), whether its entity was deleted, and how many hold that. The table is one of
 * these until the entity is closed, so it is not freed before. */
#define TURN_SHIFT 48
#define DELETED (UINT64_C(1) << 40)
#define HOLDERS UINT64_C(0xffffffff)

struct place {
	wh_word word;
	struct wh_dds_entity *entity; /* [lock, while nobody holds it] */
	uint32_t next;                /* [lock] of the free ones */
};

struct wh_dds_table {
	pid_t process; /* [const] */
	pthread_mutex_t lock;
	_Atomic(struct place *) chunks[CHUNKS]; /* [lock writes] */
	uint32_t used;                          /* [lock] places that ever were */
	uint32_t first_free, last_free;         /* [lock] NONE; the one that is free longest comes first */
	struct wh_dds_entity *first, *last;     /* [lock] entities without a parent */
};

#define NONE UINT32_MAX

struct wh_dds_table *wh_dds_table_new(void)
{
	struct wh_dds_table *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return NULL;
	table->process = getpid();
	pthread_mutex_init(&table->lock, NULL);
	table->first_free = table->last_free = NONE;
	return table;
}

void wh_dds_table_free(struct wh_dds_table *table)
{
	for (size_t i = 0; i < CHUNKS; i++)
		free(atomic_load_explicit(&table->chunks[i], memory_order_relaxed));
	pthread_mutex_destroy(&table->lock);
	free(table);
}

/* ---- places ----------------------------------------------------------------------------------------------------------------- */

/* NULL: there never was such a place. */
static struct place *place_at(struct wh_dds_table *table, uint32_t index)
{
	/* partner: the release in new_place */
	struct place *chunk = atomic_load_explicit(&table->chunks[index / CHUNK], memory_order_acquire);

	return chunk != NULL ? &chunk[index % CHUNK] : NULL;
}

/* One that never was. NONE: there is none, or memory is out. With the lock. */
static uint32_t new_place(struct wh_dds_table *table)
{
	uint32_t index = table->used;

	if (index == WH_DDS_ENTITIES_MAX)
		return NONE;
	if (index % CHUNK == 0) {
		struct place *chunk = calloc(CHUNK, sizeof(*chunk));

		if (chunk == NULL)
			return NONE;
		atomic_store_explicit(&table->chunks[index / CHUNK], chunk,
				      memory_order_release); /* partner: place_at */
	}
	table->used++;
	return index;
}

static uint32_t take_place(struct wh_dds_table *table)
{
	uint32_t index = table->first_free;

	if (index == NONE)
		return new_place(table);
	table->first_free = place_at(table, index)->next;
	if (table->first_free == NONE)
		table->last_free = NONE;
	return index;
}

/* Nobody holds it. One that has had all of its turns is never used again: handles are given once. With the lock. */
static void give_place(struct wh_dds_table *table, uint32_t index)
{
	struct place *place = place_at(table, index);

	place->entity = NULL;
	if (wh_load_relaxed(&place->word) >> TURN_SHIFT >= TURNS_MAX)
		return;
	place->next = NONE;
	if (table->last_free != NONE)
		place_at(table, table->last_free)->next = index;
	else
		table->first_free = index;
	table->last_free = index;
}

static struct place *place_of(const struct wh_dds_entity *entity)
{
	return place_at(entity->table, (uint32_t)entity->handle & 0xffff);
}

/* ---- the tree --------------------------------------------------------------------------------------------------------------- */

static void link_entity(struct wh_dds_entity *entity)
{
	struct wh_dds_entity *parent = entity->parent;
	struct wh_dds_entity **first = parent != NULL ? &parent->first : &entity->table->first;
	struct wh_dds_entity **last = parent != NULL ? &parent->last : &entity->table->last;

	entity->before = *last;
	entity->behind = NULL;
	if (*last != NULL)
		(*last)->behind = entity;
	else
		*first = entity;
	*last = entity;
}

static void unlink_entity(struct wh_dds_entity *entity)
{
	struct wh_dds_entity *parent = entity->parent;
	struct wh_dds_entity **first = parent != NULL ? &parent->first : &entity->table->first;
	struct wh_dds_entity **last = parent != NULL ? &parent->last : &entity->table->last;

	*(entity->before != NULL ? &entity->before->behind : first) = entity->behind;
	*(entity->behind != NULL ? &entity->behind->before : last) = entity->before;
}

whorl_dds_entity wh_dds_table_add(struct wh_dds_table *table, struct wh_dds_entity *entity, enum wh_dds_kind kind,
				  struct wh_dds_entity *parent, const struct wh_dds_entity_ops *ops)
{
	whorl_dds_entity result = WHORL_DDS_RETCODE_ALREADY_DELETED;
	struct place *place;
	uint32_t index;
	uint64_t turn;

	pthread_mutex_lock(&table->lock);
	if (parent != NULL && parent->deleted)
		goto out;
	result = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	index = take_place(table);
	if (index == NONE)
		goto out;
	place = place_at(table, index);
	turn = (wh_load_relaxed(&place->word) >> TURN_SHIFT) + 1;
	result = (whorl_dds_entity)(turn << 16 | index);
	*entity = (struct wh_dds_entity){
		.table = table, .ops = ops, .parent = parent, .handle = result, .kind = kind, .making = true};
	if (parent != NULL)
		wh_dds_entity_hold(parent);
	link_entity(entity);
	place->entity = entity;
	wh_store_release(
		&place->word,
		turn << TURN_SHIFT |
			2); /* until it is deleted, and the caller's; partner: the acquire of wh_dds_entity_get */
out:
	pthread_mutex_unlock(&table->lock);
	return result;
}

uint32_t wh_dds_entity_children(struct wh_dds_table *table, const struct wh_dds_entity *entity,
				whorl_dds_entity *handles, size_t room)
{
	uint32_t count = 0;

	pthread_mutex_lock(&table->lock);
	for (struct wh_dds_entity *child = entity != NULL ? entity->first : table->first; child != NULL;
	     child = child->behind) {
		if (child->deleted)
			continue;
		if (count < room)
			handles[count] = child->handle;
		count++;
	}
	pthread_mutex_unlock(&table->lock);
	return count;
}

/* ---- holding ---------------------------------------------------------------------------------------------------------------- */

whorl_dds_return wh_dds_entity_get(struct wh_dds_table *table, whorl_dds_entity handle, uint32_t kinds,
				   struct wh_dds_entity **out)
{
	uint64_t turn = handle > 0 ? (uint64_t)handle >> 16 : 0, word;
	struct place *place = turn > 0 ? place_at(table, (uint32_t)handle & 0xffff) : NULL;

	*out = NULL;
	if (place == NULL)
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	word = wh_load_acquire(&place->word); /* partner: the release of wh_dds_table_add */
	do {
		if (turn > word >> TURN_SHIFT)
			return WHORL_DDS_RETCODE_BAD_PARAMETER;
		if (turn < word >> TURN_SHIFT || (word & DELETED) != 0)
			return WHORL_DDS_RETCODE_ALREADY_DELETED;
	} while (!wh_compare_swap(&place->word, &word, word + 1));
	if ((kinds >> place->entity->kind & 1) == 0) {
		wh_dds_entity_put(place->entity);
		return WHORL_DDS_RETCODE_ILLEGAL_OPERATION;
	}
	*out = place->entity;
	return WHORL_DDS_RETCODE_OK;
}

struct wh_dds_entity *wh_dds_entity_peek(struct wh_dds_table *table, whorl_dds_entity handle, uint32_t kinds)
{
	uint64_t turn = handle > 0 ? (uint64_t)handle >> 16 : 0;
	struct place *place = turn > 0 ? place_at(table, (uint32_t)handle & 0xffff) : NULL;
	uint64_t word =
		place != NULL ? wh_load_acquire(&place->word) : 0; /* partner: the release of wh_dds_table_add */

	/* It is closed only when all that loaded a word without DELETED have left (wh_dds_entity_delete), and its place is given on behind that. */
	if (place == NULL || (word & ~HOLDERS) != turn << TURN_SHIFT)
		return NULL;
	return (kinds >> place->entity->kind & 1) != 0 ? place->entity : NULL;
}

void wh_dds_table_await_peeks(const struct wh_dds_table *table)
{
	if (table->process == getpid()) /* or else the threads that peeked at the fork would be waited for for ever */
		wh_rcu_synchronize();
}

void wh_dds_entity_hold(struct wh_dds_entity *entity)
{
	(void)wh_fetch_add(&place_of(entity)->word, 1);
}

void wh_dds_entity_put(struct wh_dds_entity *entity)
{
	while (entity != NULL) {
		struct wh_dds_table *table = entity->table;
		struct wh_dds_entity *parent = entity->parent;
		uint32_t index = (uint32_t)entity->handle & 0xffff;

		/* What the others did with it is seen by the last one, which frees it: both are this. */
		if ((wh_fetch_add(&place_of(entity)->word, UINT64_MAX) & HOLDERS) != 1)
			return;
		entity->ops->free(entity);
		pthread_mutex_lock(&table->lock);
		give_place(table, index);
		pthread_mutex_unlock(&table->lock);
		entity = parent; /* it was held with it */
	}
}

/* ---- deleting --------------------------------------------------------------------------------------------------------------- */

/* One that is marked may be looked at without the lock by the thread that closes it. */
static void mark(struct wh_dds_entity *entity)
{
	if (entity->deleted)
		return;
	entity->deleted = true;
	(void)wh_fetch_or(&place_of(entity)->word, DELETED);
}

/* The one that comes behind `entity` in a walk through all below `root`, parents first; NULL at the end. */
static struct wh_dds_entity *next_below(const struct wh_dds_entity *root, struct wh_dds_entity *entity)
{
	if (entity->first != NULL)
		return entity->first;
	while (entity != root && entity->behind == NULL)
		entity = entity->parent;
	return entity != root ? entity->behind : NULL;
}

/* What is still made is left to its maker. With the lock, which is given back meanwhile: then the walk goes on from where it was, if that is
 * still there. */
static void leave_all(struct wh_dds_table *table, struct wh_dds_entity *root)
{
	struct wh_dds_entity *at = root, *last = NULL;

	while (at != NULL) {
		bool leaves = !at->making && !at->left && at->ops->leave != NULL;

		at->left = !at->making;
		if (leaves) {
			wh_dds_entity_hold(at);
			pthread_mutex_unlock(&table->lock);
			at->ops->leave(at);
			wh_dds_entity_put(last);
			pthread_mutex_lock(&table->lock);
			last = at;
			at = at->closing ? root : next_below(root, at);
		} else {
			at = next_below(root, at);
		}
	}
	pthread_mutex_unlock(&table->lock);
	wh_dds_entity_put(last);
	pthread_mutex_lock(&table->lock);
}

/* One without children that no thread is at; NULL: there is none. */
static struct wh_dds_entity *find_leaf(struct wh_dds_entity *root)
{
	for (struct wh_dds_entity *at = root; at != NULL; at = next_below(root, at))
		if (at->first == NULL && at->left && !at->closing)
			return at;
	return NULL;
}

/* Closes it, if it was left, has no children, and no thread is at it; and then its parents, where that holds for them. The caller
 * holds it; that hold is given back. */
static void close_upwards(struct wh_dds_entity *entity)
{
	while (entity != NULL) {
		struct wh_dds_table *table = entity->table;
		struct wh_dds_entity *parent = NULL;
		bool mine;

		pthread_mutex_lock(&table->lock);
		mine = entity->left && entity->first == NULL && !entity->closing;
		entity->closing = entity->closing || mine;
		pthread_mutex_unlock(&table->lock);
		if (mine) {
			entity->ops->close(entity);
			pthread_mutex_lock(&table->lock);
			unlink_entity(entity);
			pthread_mutex_unlock(&table->lock);
			parent = entity->parent;
			if (parent != NULL)
				wh_dds_entity_hold(parent);
			wh_dds_entity_put(entity); /* the table's hold */
		}
		wh_dds_entity_put(entity);
		entity = parent;
	}
}

/* Closes it and all below it, which are marked, and its parents, as far as that may be now. */
static void close_below(struct wh_dds_entity *entity)
{
	struct wh_dds_table *table = entity->table;
	struct wh_dds_entity *leaf;

	wh_dds_table_await_peeks(table);
	pthread_mutex_lock(&table->lock);
	leave_all(table, entity);
	do {
		leaf = find_leaf(entity);
		if (leaf != NULL)
			wh_dds_entity_hold(leaf);
		pthread_mutex_unlock(&table->lock);
		close_upwards(leaf);
		pthread_mutex_lock(&table->lock);
	} while (leaf != NULL);
	pthread_mutex_unlock(&table->lock);
}

whorl_dds_return wh_dds_entity_delete(struct wh_dds_entity *entity)
{
	struct wh_dds_table *table = entity->table;

	pthread_mutex_lock(&table->lock);
	if (entity->deleted) {
		pthread_mutex_unlock(&table->lock);
		return WHORL_DDS_RETCODE_ALREADY_DELETED;
	}
	for (struct wh_dds_entity *at = entity; at != NULL; at = next_below(entity, at))
		mark(at);
	pthread_mutex_unlock(&table->lock);
	close_below(entity);
	return WHORL_DDS_RETCODE_OK;
}

void wh_dds_entity_made(struct wh_dds_entity *entity)
{
	struct wh_dds_table *table = entity->table;
	bool deleted;

	pthread_mutex_lock(&table->lock);
	entity->making = false;
	deleted = entity->deleted;
	pthread_mutex_unlock(&table->lock);
	if (deleted)
		close_below(entity);
}
