/* known.c - the instances that a writer has, or that a reader has seen, by the hashes of their keys. See node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

static uint64_t number_of(const unsigned char *hash)
{
	uint64_t number;

	memcpy(&number, hash, sizeof(number));
	return wh_dds_spread(number);
}

struct wh_dds_known *wh_dds_known_find(const struct wh_dds_known_list *instances, const unsigned char *hash)
{
	uint64_t number = number_of(hash);
	struct wh_dds_link *link = wh_dds_index_find(&instances->index, number);

	for (; link != NULL; link = wh_dds_index_next(link->next, number))
		if (memcmp(((struct wh_dds_known *)link)->hash, hash, WH_DDS_HASH_BYTES) == 0)
			return (struct wh_dds_known *)link;
	return NULL;
}

struct wh_dds_known *wh_dds_known_by_handle(const struct wh_dds_known_list *instances, whorl_dds_instance_handle handle)
{
	struct wh_dds_known *it = instances->all;

	while (it != NULL && it->handle != handle)
		it = it->next;
	return it;
}

struct wh_dds_known *wh_dds_known_add(struct wh_dds_known_list *instances, const struct wh_dds_topic_entity *topic,
				      const void *data, const unsigned char *hash)
{
	struct wh_dds_known *it = malloc(sizeof(*it) + wh_dds_type_key_bytes(topic->type));

	if (it == NULL)
		return NULL;
	memcpy(it->hash, hash, WH_DDS_HASH_BYTES);
	it->handle = wh_dds_instance_handle_of(topic->id, hash);
	it->heard_ns = 0;
	it->state = 0;
	wh_dds_type_key(topic->type, data, it->key);
	if (!wh_dds_index_add(&instances->index, &it->link, number_of(hash))) {
		free(it);
		return NULL;
	}
	it->next = instances->all;
	instances->all = it;
	return it;
}

void wh_dds_known_remove(struct wh_dds_known_list *instances, const unsigned char *hash)
{
	struct wh_dds_known *it = wh_dds_known_find(instances, hash), **at = &instances->all;

	if (it == NULL)
		return;
	while (*at != it)
		at = &(*at)->next;
	*at = it->next;
	wh_dds_index_remove(&instances->index, &it->link);
	free(it);
}

void wh_dds_known_free(struct wh_dds_known_list *instances)
{
	for (struct wh_dds_known *it = instances->all, *next; it != NULL; it = next) {
		next = it->next;
		free(it);
	}
	wh_dds_index_free(&instances->index);
}
