/* entry.h - what this library knows of an entity, beside whorl: by its handle, which is whorl's.
 *
 * A process has one table, as a handle is all that a program gives. An entry is made with its entity, or when a function is first called with it: a
 * listener may be called for a reader before the function that creates it has returned. It goes when the entity is deleted, and with it what it
 * holds. A thread that uses one holds it meanwhile.
 */
#ifndef WH_DDSC_ENTRY_H
#define WH_DDSC_ENTRY_H

#include <pthread.h>

#include "ddsc/kind.h"
#include "ddsc/lent.h"
#include "ddsc/listener.h"
#include "ddsc/own.h"

struct wh_ddsc_filter;

struct wh_ddsc_entry {
	wh_word refs;
	struct wh_ddsc_entry *next;    /* of its place in the table */
	struct wh_ddsc_entry *dropped; /* of those that one call has taken out of it */
	whorl_dds_entity handle;
	struct wh_ddsc_kind *kind; /* of a topic, writer, reader or condition of one; else NULL */
	whorl_dds_entity reader;   /* of a condition */
	bool copies; /* a reader that holds up its writers when it is full: what it lends of whorl's would count as what it has */
	bool drops;                    /* a writer that is BEST_EFFORT */
	pthread_mutex_t lock;          /* of what follows */
	dds_listener_t *listener;      /* its own; NULL: none */
	struct wh_ddsc_own own;        /* policies that whorl does not have */
	struct wh_ddsc_filter *filter; /* of a topic, or of a query condition */
	struct wh_ddsc_lent lent;      /* what a reader has lent */
};

/* Finds it, or makes it: BAD_PARAMETER, ALREADY_DELETED: there is no such entity, and whorl_dds_text says so for `function`. */
whorl_dds_return wh_ddsc_entry_get(const char *function, whorl_dds_entity handle, struct wh_ddsc_entry **out);
/* The same of a topic that was created with this kind, which it holds. */
whorl_dds_return wh_ddsc_entry_of(const char *function, whorl_dds_entity handle, struct wh_ddsc_kind *kind,
				  struct wh_ddsc_entry **out);
/* The same, of an entity that has samples: ILLEGAL_OPERATION otherwise. */
whorl_dds_return wh_ddsc_entry_typed(const char *function, whorl_dds_entity handle, struct wh_ddsc_entry **out);
void wh_ddsc_entry_put(struct wh_ddsc_entry *entry); /* NULL is nothing */
/* One that is there, to be looked at between wh_rcu_read_lock and unlock: what does not change, and what follows from it. NULL: none was made. */
const struct wh_ddsc_entry *wh_ddsc_entry_peek(whorl_dds_entity handle);

/* Those of an entity that was deleted, and of its children. */
whorl_dds_return wh_ddsc_delete(whorl_dds_entity handle);

/* Any kind that is registered so, held; NULL: this process has created no topic of it. */
struct wh_ddsc_kind *wh_ddsc_entry_kind(uint64_t hash);

/* How many there are: for tests. */
size_t wh_ddsc_entries(void);

#endif
