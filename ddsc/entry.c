/* entry.c - see entry.h. */
#include "ddsc/entry.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/rcu.h"
#include "ddsc/filter.h"

#define PLACES 1024 /* a power of two */

/* A handle is all that a program has. The lock is of those that change it: calls find their entry without. */
static struct {
	pthread_mutex_t lock;
	pid_t process; /* the first that has put something in; in a child of it threads that looked at the fork are never seen to leave */
	uint64_t insertions;
	struct wh_ddsc_entry *places[PLACES];
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct wh_ddsc_entry **place_of(whorl_dds_entity handle)
{
	return &table.places[(uint32_t)handle * UINT32_C(2654435769) >> 22];
}

static struct wh_ddsc_entry **find(whorl_dds_entity handle)
{
	struct wh_ddsc_entry **at = place_of(handle);

	while (*at != NULL && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

const struct wh_ddsc_entry *wh_ddsc_entry_peek(whorl_dds_entity handle)
{
	const struct wh_ddsc_entry *entry = wh_rcu_dereference(*place_of(handle));

	while (entry != NULL && entry->handle != handle)
		entry = wh_rcu_dereference(entry->next);
	return entry;
}

/* The table's hold is given back only when all that look here have left (end_dropped): it is there to be held. */
static struct wh_ddsc_entry *hold(whorl_dds_entity handle)
{
	struct wh_ddsc_entry *entry;

	wh_rcu_read_lock();
	entry = (struct wh_ddsc_entry *)(uintptr_t)wh_ddsc_entry_peek(handle);
	if (entry != NULL)
		(void)wh_fetch_add(&entry->refs, 1);
	wh_rcu_read_unlock();
	return entry;
}

void wh_ddsc_entry_put(struct wh_ddsc_entry *entry)
{
	if (entry == NULL || wh_fetch_add(&entry->refs, UINT64_MAX) != 1)
		return;
	wh_ddsc_lent_end(&entry->lent);
	wh_ddsc_filter_let_go(entry->filter);
	wh_ddsc_own_free(&entry->own);
	dds_delete_listener(entry->listener);
	wh_ddsc_kind_let_go(entry->kind);
	pthread_mutex_destroy(&entry->lock);
	free(entry);
}

/* ---- making ----------------------------------------------------------------------------------------------------------------- */

/* What a topic is, that no function here has created: it was found, or is built in. */
static struct wh_ddsc_kind *kind_of_topic(whorl_dds_entity topic)
{
	const struct whorl_dds_type *type;

	if (topic >= WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT && topic <= WHORL_DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION)
		return wh_ddsc_kind_builtin((uint32_t)topic);
	type = whorl_dds_get_type(topic);
	if (type == NULL)
		return NULL;
	if ((type->flags & WHORL_DDS_TYPE_BYTES) != 0)
		return wh_ddsc_entry_kind(type->hash);
	return wh_ddsc_kind_found(type);
}

/* What is learnt of an entity from whorl, and from the entry of its topic. */
static void learn(struct wh_ddsc_entry *entry)
{
	whorl_dds_entity topic = whorl_dds_get_topic(entry->handle);
	whorl_dds_entity reader = whorl_dds_get_datareader(entry->handle);
	struct wh_ddsc_entry *of = NULL;

	entry->reader = reader > 0 ? reader : 0;
	if (topic <= 0)
		topic = entry->handle; /* it may be one */
	else
		of = hold(reader > 0 ? reader : topic);
	if (of != NULL && of->kind != NULL)
		entry->kind = wh_ddsc_kind_hold(of->kind);
	else
		entry->kind = kind_of_topic(topic);
	wh_ddsc_entry_put(of);
}

static void learn_policies(struct wh_ddsc_entry *entry)
{
	enum whorl_dds_reliability_kind reliability = WHORL_DDS_RELIABILITY_RELIABLE;
	enum whorl_dds_history_kind history = WHORL_DDS_HISTORY_KEEP_LAST;
	int32_t samples = WHORL_DDS_UNLIMITED, each = WHORL_DDS_UNLIMITED;
	whorl_dds_qos *qos = whorl_dds_create_qos();

	if (qos != NULL && whorl_dds_get_qos(entry->handle, qos) == WHORL_DDS_RETCODE_OK) {
		(void)whorl_dds_qget_reliability(qos, &reliability, NULL);
		(void)whorl_dds_qget_history(qos, &history, NULL);
		(void)whorl_dds_qget_resource_limits(qos, &samples, NULL, &each);
	}
	whorl_dds_delete_qos(qos);
	entry->drops = reliability == WHORL_DDS_RELIABILITY_BEST_EFFORT;
	entry->copies = !entry->drops && history == WHORL_DDS_HISTORY_KEEP_ALL &&
			(samples != WHORL_DDS_UNLIMITED || each != WHORL_DDS_UNLIMITED);
}

/* Puts it into the table, unless another thread has been faster: then that one. A deleted entity's is not kept. */
static struct wh_ddsc_entry *insert(struct wh_ddsc_entry *entry)
{
	struct wh_ddsc_entry **at, *there;

	pthread_mutex_lock(&table.lock);
	if (table.process == 0)
		table.process = getpid();
	at = find(entry->handle);
	there = *at;
	if (there == NULL) {
		wh_rcu_publish(*at, entry);
		table.insertions++;
	} else {
		(void)wh_fetch_add(&there->refs, 1);
	}
	pthread_mutex_unlock(&table.lock);
	if (there == NULL)
		return entry;
	wh_ddsc_entry_put(entry); /* as often as it is held: it is in no table */
	wh_ddsc_entry_put(entry);
	return there;
}

/* Takes it out of the table. Threads that look at it go on from there, so its link stays as it is. */
static void drop(whorl_dds_entity handle, struct wh_ddsc_entry **dropped)
{
	struct wh_ddsc_entry **at, *entry;

	pthread_mutex_lock(&table.lock);
	at = find(handle);
	entry = *at;
	if (entry != NULL) {
		wh_rcu_publish(*at, entry->next);
		entry->dropped = *dropped;
		*dropped = entry;
	}
	pthread_mutex_unlock(&table.lock);
}

static void end_dropped(struct wh_ddsc_entry *dropped)
{
	bool looks;

	if (dropped == NULL)
		return;
	pthread_mutex_lock(&table.lock);
	looks = table.process == getpid();
	pthread_mutex_unlock(&table.lock);
	if (looks)
		wh_rcu_synchronize();
	for (struct wh_ddsc_entry *next; dropped != NULL; dropped = next) {
		next = dropped->dropped;
		wh_ddsc_entry_put(dropped);
	}
}

static bool is_dead(whorl_dds_entity handle)
{
	return whorl_dds_get_parent(handle) == WHORL_DDS_RETCODE_ALREADY_DELETED;
}

whorl_dds_return wh_ddsc_entry_of(const char *function, whorl_dds_entity handle, struct wh_ddsc_kind *kind,
				  struct wh_ddsc_entry **out)
{
	struct wh_ddsc_entry *entry = hold(handle), *dropped = NULL;
	whorl_dds_return parent;

	*out = entry;
	if (entry != NULL)
		return WHORL_DDS_RETCODE_OK;
	parent = whorl_dds_get_parent(handle);
	if (parent < 0)
		return whorl_dds_refuse(function, parent,
					parent == WHORL_DDS_RETCODE_ALREADY_DELETED ? "the entity has been deleted"
										    : "there is no such entity");
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return whorl_dds_refuse(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	wh_store_relaxed(&entry->refs, 2); /* the table's, and the caller's */
	entry->handle = handle;
	pthread_mutex_init(&entry->lock, NULL);
	if (kind != NULL)
		entry->kind = wh_ddsc_kind_hold(kind);
	else
		learn(entry);
	if (entry->kind != NULL && entry->kind->builtin == 0)
		learn_policies(entry);
	*out = insert(entry);
	if (is_dead(handle)) /* its end may have come before there was an entry to drop */
		drop(handle, &dropped);
	end_dropped(dropped);
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return wh_ddsc_entry_get(const char *function, whorl_dds_entity handle, struct wh_ddsc_entry **out)
{
	return wh_ddsc_entry_of(function, handle, NULL, out);
}

whorl_dds_return wh_ddsc_entry_typed(const char *function, whorl_dds_entity handle, struct wh_ddsc_entry **out)
{
	whorl_dds_return result = wh_ddsc_entry_get(function, handle, out);

	if (result != WHORL_DDS_RETCODE_OK || (*out)->kind != NULL)
		return result;
	wh_ddsc_entry_put(*out);
	*out = NULL;
	return whorl_dds_refuse(function, WHORL_DDS_RETCODE_ILLEGAL_OPERATION, "the entity has no samples");
}

struct wh_ddsc_kind *wh_ddsc_entry_kind(uint64_t hash)
{
	struct wh_ddsc_kind *kind = NULL;

	pthread_mutex_lock(&table.lock);
	for (size_t i = 0; i < PLACES && kind == NULL; i++)
		for (struct wh_ddsc_entry *it = table.places[i]; it != NULL && kind == NULL; it = it->next)
			if (it->kind != NULL && it->kind->type != NULL && it->kind->whorl.hash == hash)
				kind = wh_ddsc_kind_hold(it->kind);
	pthread_mutex_unlock(&table.lock);
	return kind;
}

size_t wh_ddsc_entries(void)
{
	size_t count = 0;

	pthread_mutex_lock(&table.lock);
	for (size_t i = 0; i < PLACES; i++)
		for (const struct wh_ddsc_entry *it = table.places[i]; it != NULL; it = it->next)
			count++;
	pthread_mutex_unlock(&table.lock);
	return count;
}

/* ---- deleting --------------------------------------------------------------------------------------------------------------- */

struct family {
	whorl_dds_entity *all;
	size_t count, room;
};

static bool add(struct family *family, whorl_dds_entity handle)
{
	if (family->count == family->room) {
		size_t room = family->room > 0 ? 2 * family->room : 16;
		whorl_dds_entity *all = realloc(family->all, room * sizeof(*all));

		if (all == NULL)
			return false;
		family->all = all;
		family->room = room;
	}
	family->all[family->count++] = handle;
	return true;
}

/* The handles of an entity, and of all below it. One that comes behind its end looks itself whether it is dead. */
static void gather(struct family *family, whorl_dds_entity handle)
{
	if (!add(family, handle))
		return;
	for (size_t done = family->count - 1; done < family->count; done++) {
		whorl_dds_entity children[64], *list = children;
		whorl_dds_return count = whorl_dds_get_children(family->all[done], children, 64);

		if (count > 64) {
			list = calloc((size_t)count, sizeof(*list));
			if (list == NULL)
				return;
			count = whorl_dds_get_children(family->all[done], list, (size_t)count);
		}
		for (whorl_dds_return i = 0; i < count; i++)
			if (!add(family, list[i]))
				break;
		if (list != children)
			free(list);
	}
}

static uint64_t insertions(void)
{
	uint64_t count;

	pthread_mutex_lock(&table.lock);
	count = table.insertions;
	pthread_mutex_unlock(&table.lock);
	return count;
}

/* And those of the table, as one of them may have come below what was gathered before. */
static void gather_all(struct family *family)
{
	pthread_mutex_lock(&table.lock);
	for (size_t i = 0; i < PLACES; i++)
		for (const struct wh_ddsc_entry *it = table.places[i]; it != NULL; it = it->next)
			if (!add(family, it->handle))
				break;
	pthread_mutex_unlock(&table.lock);
}

whorl_dds_return wh_ddsc_delete(whorl_dds_entity handle)
{
	struct family family = {.all = NULL};
	uint64_t inserted = insertions();
	whorl_dds_entity parent = whorl_dds_get_parent(handle); /* one that was made for the entity goes with it */
	struct wh_ddsc_entry *dropped = NULL;
	whorl_dds_return result;

	gather(&family, handle);
	/* A listener that runs may use what belongs to others of them: all have returned before anything is deleted, as in Cyclone DDS. */
	for (size_t i = 0; i < family.count; i++)
		(void)whorl_dds_set_listener(family.all[i], NULL);
	result = whorl_dds_delete(handle);
	if (insertions() != inserted)
		gather_all(&family);
	for (size_t i = 0; i < family.count; i++)
		if (is_dead(family.all[i]))
			drop(family.all[i], &dropped);
	if (parent > 0 && is_dead(parent))
		drop(parent, &dropped);
	end_dropped(dropped);
	free(family.all);
	return result;
}
