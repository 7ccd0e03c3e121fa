/* entity.h - handles: numbers by which a program names entities, and the tree that these are in.
 *
 * A handle is the place of an entity in a table (16 bits) and how often that place was used before (15 bits). So a handle is never given
 * twice, and one that was deleted is known to be: a place with its count at the end is used no more. Looking a handle up takes no lock: each
 * place has a word with its count, whether the entity was deleted, and by how many it is held.
 *
 * What uses an entity holds it: got by wh_dds_entity_get, given back by wh_dds_entity_put; its parent is held with it. A deleted
 * entity cannot be got any more, is closed, and is freed by the last that gives it back, which may be long after.
 *
 * What is over at once may do without, and *peek*: it sees the entity within wh_rcu_read_lock, and waits for nothing there (base/rcu.h). So a
 * sample is written without a locked instruction but that of the claim: each would wait until the sample's bytes have left the processor.
 * Nothing that was deleted is closed before those that peeked have gone.
 *
 * Deleting: the entity and all below it are marked, so that nothing is created below them; then each is closed when its children have been.
 * Where another thread is at a child already, that thread goes on with the parent; and it is at what it still makes. So no thread waits for
 * another, and a listener may delete whatever it wants, even the participant that runs it.
 *
 * Threads: any.
 */
#ifndef WH_DDS_ENTITY_H
#define WH_DDS_ENTITY_H

#include <pthread.h>

#include "base/atomics.h"
#include "base/error.h"
#include "dds/policy/policy.h"

#define WH_DDS_ENTITIES_MAX 65536       /* at a time */
#define WH_DDS_ENTITY_BEYOND 0x7fff0000 /* handles are below */

struct wh_dds_entity;
struct wh_dds_table;

struct wh_dds_entity_ops {
	/* It was deleted, and is closed when its turn comes: until then it holds up nothing. It does not block. Once, when it is made, and before any of
	 * the tree is closed by that thread, without a lock of the table. May be NULL. */
	void (*leave)(struct wh_dds_entity *entity);
	/* It was deleted: ends what it does, and wakes what waits for it; it may block. Its children have been closed. Once, by one of
	 * the threads that delete, without a lock of the table. */
	void (*close)(struct wh_dds_entity *entity);
	/* Nobody has it any more. Its parent is there still. */
	void (*free)(struct wh_dds_entity *entity);
};

struct wh_dds_entity {                       /* the beginning of what an entity is; filled in by wh_dds_table_add */
	struct wh_dds_table *table;          /* [const] */
	const struct wh_dds_entity_ops *ops; /* [const] */
	struct wh_dds_entity *parent;        /* [const] NULL: it is a participant. Held */
	whorl_dds_entity handle;             /* [const] */
	enum wh_dds_kind kind;               /* [const] */
	/* [lock] */
	bool making, deleted;
	bool left; /* deleted, and those that peeked have gone: it may be closed */
	bool closing;
	struct wh_dds_entity *first, *last; /* its children that are not closed yet, the oldest first */
	struct wh_dds_entity *before, *behind;
};

struct wh_dds_table *wh_dds_table_new(void); /* NULL: memory is out */
/* All entities must have been deleted, and given back. */
void wh_dds_table_free(struct wh_dds_table *table);

/* Names an entity, below `parent`, which the caller holds (NULL: it has none); the entity's memory is the caller's before, and
 * with a handle the table's. The caller holds it then, and makes it: until it calls wh_dds_entity_made others may use it and delete it, and it
 * is not closed. Returns the handle; OUT_OF_RESOURCES; ALREADY_DELETED: the parent has been. */
WH_MUST_CHECK whorl_dds_entity wh_dds_table_add(struct wh_dds_table *table, struct wh_dds_entity *entity,
						enum wh_dds_kind kind, struct wh_dds_entity *parent,
						const struct wh_dds_entity_ops *ops);
/* It is made. Closes it, if it was deleted meanwhile, and then its parents as far as they were. Once, by the caller of wh_dds_table_add. */
void wh_dds_entity_made(struct wh_dds_entity *entity);

#define WH_DDS_KIND(kind) (1U << (kind))
#define WH_DDS_ANY_KIND ((1U << WH_DDS_KINDS) - 1)

/* Holds the entity of that handle, if it is of one of these kinds, as bits. WHORL_DDS_RETCODE_OK; BAD_PARAMETER: it never was a handle;
 * ALREADY_DELETED; ILLEGAL_OPERATION: it is of another kind. If it is not OK *out is NULL. */
WH_MUST_CHECK whorl_dds_return wh_dds_entity_get(struct wh_dds_table *table, whorl_dds_entity handle, uint32_t kinds,
						 struct wh_dds_entity **out);
/* The same, without holding it: it is there until wh_rcu_read_unlock. NULL: wh_dds_entity_get says why. */
struct wh_dds_entity *wh_dds_entity_peek(struct wh_dds_table *table, whorl_dds_entity handle, uint32_t kinds);
/* Returns when those that peek now have gone; in a child of fork() there are none. Not while this thread peeks. */
void wh_dds_table_await_peeks(const struct wh_dds_table *table);
/* Holds it once more: one that is held already. */
void wh_dds_entity_hold(struct wh_dds_entity *entity);
/* Gives it back. NULL is nothing. */
void wh_dds_entity_put(struct wh_dds_entity *entity);

/* Deletes it and all below it. The caller holds it, and gives it back later. WHORL_DDS_RETCODE_OK: it is closed, or another thread will,
 * which is at it or a child of it; ALREADY_DELETED: another has. */
whorl_dds_return wh_dds_entity_delete(struct wh_dds_entity *entity);

/* Writes the handles of at most `room` children that are not deleted, oldest first; NULL: of entities without a parent. Returns how many
 * there are. */
uint32_t wh_dds_entity_children(struct wh_dds_table *table, const struct wh_dds_entity *entity,
				whorl_dds_entity *handles, size_t room);

#endif
