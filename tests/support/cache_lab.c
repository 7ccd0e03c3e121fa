#include "tests/support/cache_lab.h"

/* What has no data is -1. */
static struct wh_dds_copy *lab_key_of(void *ctx, const struct wh_dds_copy *sample)
{
	struct lab *lab = ctx;
	const int value = -1;
	struct wh_dds_copy *copy = wh_dds_copy_take(lab->pool, sizeof(value));

	ck_assert_ptr_nonnull(copy);
	memcpy(copy->data, &value, sizeof(value));
	copy->facts = sample->facts;
	return copy;
}

void lab_init(struct lab *lab)
{
	*lab = (struct lab){.now = 1000, .expires = WH_DDS_NEVER};
	wh_dds_policies_init(&lab->policies, WH_DDS_READER);
	lab->policies.reliability.kind = WHORL_DDS_RELIABILITY_RELIABLE;
	lab->policies.history.kind = WHORL_DDS_HISTORY_KEEP_ALL;
	lab->options = (struct wh_dds_cache_options){.policies = &lab->policies,
						     .statuses = &lab->statuses,
						     .keyed = true,
						     .key_of = lab_key_of,
						     .key_ctx = lab};
}

void cache_lab_open(struct lab *lab)
{
	lab->pool = wh_dds_pool_create(1 << 20);
	lab->cache = wh_dds_cache_create(&lab->options);
	ck_assert_ptr_nonnull(lab->pool);
	ck_assert_ptr_nonnull(lab->cache);
}

void lab_keep_last(struct lab *lab, int32_t depth)
{
	lab->policies.history.kind = WHORL_DDS_HISTORY_KEEP_LAST;
	lab->policies.history.depth = depth;
}

void lab_limit(struct lab *lab, int32_t samples, int32_t instances, int32_t samples_per_instance)
{
	lab->policies.limits = (struct wh_dds_limits){samples, instances, samples_per_instance};
}

void cache_lab_close(struct lab *lab)
{
	wh_dds_cache_free(lab->cache);
	wh_dds_pool_close(lab->pool);
	wh_dds_policies_free(&lab->policies);
}

enum wh_dds_put_result lab_put(struct lab *lab, unsigned does, uint64_t instance, int value)
{
	struct wh_dds_copy *copy = wh_dds_copy_take(lab->pool, sizeof(value));
	struct wh_dds_arrival arrival = {.copy = copy,
					 .does = does,
					 .expires_ns = lab->expires,
					 .set = lab->set,
					 .last_chance = lab->last_chance};
	enum wh_dds_put_result result;
	bool full, roomy = wh_dds_cache_room(lab->cache) > 0;

	ck_assert_ptr_nonnull(copy);
	if ((does & WH_DDS_DOES_DATA) == 0)
		value = -1;
	memcpy(copy->data, &value, sizeof(value));
	copy->facts = (struct wh_dds_facts){.instance = instance, .view = 1, .sequence = ++lab->sequence};
	full = wh_dds_cache_is_full(lab->cache, &arrival, lab->now);
	result = wh_dds_cache_put(lab->cache, &arrival, lab->now);
	ck_assert(lab->last_chance || full == (result == WH_DDS_PUT_FULL));
	ck_assert(!roomy || !full);
	if (result != WH_DDS_PUT_KEPT)
		wh_dds_copy_drop(copy);
	ck_assert(wh_dds_cache_is_sound(lab->cache));
	return result;
}

enum wh_dds_put_result cache_lab_write(struct lab *lab, uint64_t instance, int value)
{
	return lab_put(lab, WH_DDS_DOES_DATA, instance, value);
}

enum wh_dds_put_result lab_dispose(struct lab *lab, uint64_t instance)
{
	return lab_put(lab, WH_DDS_DOES_DISPOSE, instance, -1);
}

enum wh_dds_put_result lab_leave(struct lab *lab, uint64_t instance)
{
	return lab_put(lab, WH_DDS_DOES_LEAVE, instance, -1);
}

void lab_write_text(struct lab *lab)
{
	lab->text[0] = '\0';
	for (int i = 0; i < lab->count; i++) {
		const whorl_dds_sample_info *info = &lab->infos[i];
		char number[16] = "-";
		int value;

		memcpy(&value, lab->lent[i], sizeof(value));
		ck_assert(info->valid_data || value == -1);
		if (info->valid_data)
			snprintf(number, sizeof(number), "%d", value);
		wh_text_add(lab->text, sizeof(lab->text), "%d:%s%c%c%c ", (int)info->instance_handle, number,
			    info->sample_state == WHORL_DDS_READ_SAMPLE_STATE ? 'r' : 'n',
			    info->view_state == WHORL_DDS_NEW_VIEW_STATE ? 'N' : 'o',
			    info->instance_state == WHORL_DDS_ALIVE_INSTANCE_STATE                ? 'a'
			    : info->instance_state == WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE ? 'd'
												  : 'w');
	}
}

void lab_return(struct lab *lab)
{
	ck_assert_int_eq(wh_dds_cache_return(lab->cache, lab->lent, (size_t)lab->count), WHORL_DDS_RETCODE_OK);
	lab->count = 0;
}

const char *lab_select(struct lab *lab, const struct wh_dds_select *select, size_t room)
{
	struct wh_dds_select it = *select;

	it.info_bytes = sizeof(lab->infos[0]);
	lab->count = wh_dds_cache_read(lab->cache, &it, lab->lent, lab->infos, room);
	ck_assert(wh_dds_cache_is_sound(lab->cache));
	lab_write_text(lab);
	return lab->text;
}

const char *lab_read(struct lab *lab, uint32_t mask)
{
	lab_select(lab, &(struct wh_dds_select){.mask = mask}, LAB_ROOM);
	lab_return(lab);
	return lab->text;
}

const char *lab_peek(struct lab *lab)
{
	lab_select(lab, &(struct wh_dds_select){.mask = LAB_ANY, .peek = true}, LAB_ROOM);
	lab_return(lab);
	return lab->text;
}

const char *lab_take(struct lab *lab, uint32_t mask)
{
	lab_select(lab, &(struct wh_dds_select){.mask = mask, .take = true}, LAB_ROOM);
	lab_return(lab);
	return lab->text;
}
