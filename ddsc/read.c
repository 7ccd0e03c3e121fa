/* read.c - reading and taking. whorl lends samples, and what they say is decoded out of the loan: into the program's memory, or into memory that is
 * lent to it here. Samples of a plain type that the program wants to be lent are whorl's loan themselves.
 */
#include <string.h>

#include "ddsc/builtin.h"
#include "ddsc/entry.h"

#define NO_MASK UINT32_MAX /* of a condition: its own */

struct wanted {
	const char *function;
	bool take;
	void **data;
	dds_sample_info_t *infos;
	size_t count; /* that `data` has */
	uint32_t most;
	dds_instance_handle_t instance;
	uint32_t mask;
};

static void tell(dds_sample_info_t *to, const struct whorl_dds_sample_info *from)
{
	*to = (dds_sample_info_t){
		.sample_state = (dds_sample_state_t)from->sample_state,
		.view_state = (dds_view_state_t)from->view_state,
		.instance_state = (dds_instance_state_t)from->instance_state,
		.valid_data = from->valid_data,
		.source_timestamp = from->source_timestamp,
		.instance_handle = from->instance_handle,
		.publication_handle = from->publication_handle,
		.disposed_generation_count = from->disposed_generation_count,
		.no_writers_generation_count = from->no_writers_generation_count,
		.sample_rank = from->sample_rank,
		.generation_rank = from->generation_rank,
		.absolute_generation_rank = from->absolute_generation_rank,
	};
}

/* From whorl: into `scratch`. With a mask of its own a read condition's reader is asked, as the states of the condition do not count then; the filter of
 * a query counts in any case, and its states do. */
static dds_return_t fetch(const struct wanted *wanted, const struct wh_ddsc_entry *entry, void **data,
			  struct whorl_dds_sample_info *infos)
{
	struct whorl_dds_select select = {.size = sizeof(select), .instance = wanted->instance};
	dds_entity_t from = entry->handle;

	if (wanted->mask != NO_MASK) {
		select.mask = wanted->mask;
		if (entry->reader != 0 && entry->filter == NULL)
			from = entry->reader;
	}
	infos[0].size = sizeof(infos[0]);
	return wanted->take ? whorl_dds_take_select(from, &select, data, infos, wanted->most)
			    : whorl_dds_read_select(from, &select, data, infos, wanted->most);
}

/* One sample out of whorl's loan. */
static bool give(const struct wh_ddsc_kind *kind, const void *from, const struct whorl_dds_sample_info *info, void *to)
{
	if (kind->builtin != 0)
		return wh_ddsc_builtin_make(kind->builtin, from, info->valid_data, to);
	return wh_ddsc_kind_unpack(kind, from, info->bytes, info->valid_data, to);
}

/* Those that are no samples of this type are left out: another program has written them. Returns how many are left. */
static int32_t give_all(const struct wanted *wanted, const struct wh_ddsc_kind *kind,
			const struct wh_ddsc_scratch *scratch, int32_t count, struct wh_ddsc_block *block)
{
	int32_t given = 0;

	for (int32_t i = 0; i < count; i++) {
		void *to = block != NULL ? wh_ddsc_block_at(block, (size_t)given) : wanted->data[given];

		if (!give(kind, scratch->data[i], &scratch->infos[i], to))
			continue;
		wanted->data[given] = to;
		tell(&wanted->infos[given++], &scratch->infos[i]);
		if (block != NULL && (size_t)given > block->used)
			block->used = (size_t)given;
	}
	return given;
}

/* Memory of ours for so many, lent to the program. */
static dds_return_t lend(const struct wanted *wanted, struct wh_ddsc_entry *home, const struct wh_ddsc_scratch *scratch,
			 int32_t count)
{
	struct wh_ddsc_block *block = wh_ddsc_block_get(&home->lent, &home->lock, home->kind, (size_t)count);
	int32_t given;

	if (block == NULL)
		return whorl_dds_refuse(wanted->function, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	given = give_all(wanted, home->kind, scratch, count, block);
	if (given > 0) {
		wh_ddsc_block_lend(&home->lent, &home->lock, block);
	} else {
		wh_ddsc_block_keep(&home->lent, &home->lock, block);
		wanted->data[0] = NULL;
	}
	return given;
}

/* The samples as they lie in whorl. */
static dds_return_t lend_whorls(const struct wanted *wanted, struct wh_ddsc_entry *home,
				const struct wh_ddsc_scratch *scratch, int32_t count)
{
	if (!wh_ddsc_loan_note(&home->lent, &home->lock, scratch->data, count)) {
		(void)whorl_dds_return_loan(home->handle, scratch->data, count);
		return whorl_dds_refuse(wanted->function, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	}
	for (int32_t i = 0; i < count; i++) {
		wanted->data[i] = scratch->data[i];
		tell(&wanted->infos[i], &scratch->infos[i]);
	}
	return count;
}

static bool is_whorls(const struct wh_ddsc_entry *home)
{
	return home->kind->is_plain && home->kind->builtin == 0 && !home->copies;
}

static bool give_back_whorls(struct wh_ddsc_entry *home, const void *first)
{
	struct wh_ddsc_loan loan;
	void *only;

	if (!wh_ddsc_loan_back(&home->lent, &home->lock, first, &loan))
		return false;
	only = loan.first;
	(void)whorl_dds_return_loan(home->handle, loan.samples != NULL ? loan.samples : &only, loan.count);
	wh_ddsc_loan_let_go(&home->lent, &home->lock, &loan);
	return true;
}

/* Gives back what begins with this sample, if it is lent: all of it, whatever the program has made of its list of them since. */
static bool give_back(struct wh_ddsc_entry *home, const void *first)
{
	struct wh_ddsc_block *block;

	if (is_whorls(home))
		return give_back_whorls(home, first);
	block = wh_ddsc_block_back(&home->lent, &home->lock, first);
	if (block != NULL)
		wh_ddsc_block_keep(&home->lent, &home->lock, block);
	return block != NULL;
}

/* `home` is the reader's entry, `entry` what was asked: the reader or a condition of it. Programs read again into what they were lent, without giving it
 * back: that is lent anew. */
static dds_return_t look(struct wanted *wanted, const struct wh_ddsc_entry *entry, struct wh_ddsc_entry *home)
{
	bool lends = wanted->data[0] == NULL || give_back(home, wanted->data[0]);
	struct wh_ddsc_scratch scratch;
	dds_return_t count, lent;

	if (lends)
		wanted->data[0] = NULL;
	for (uint32_t i = 0; !lends && i < wanted->most; i++)
		if (wanted->data[i] == NULL) /* there is no memory for more */
			wanted->most = i;
	if (!wh_ddsc_scratch_get(&home->lent, &home->lock, wanted->most, &scratch))
		return whorl_dds_refuse(wanted->function, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	scratch.data[0] = NULL;
	count = lent = fetch(wanted, entry, scratch.data, scratch.infos);
	if (count > 0 && lends && is_whorls(home)) {
		count = lend_whorls(wanted, home, &scratch, lent);
	} else if (count > 0) {
		count = lends ? lend(wanted, home, &scratch, lent) : give_all(wanted, home->kind, &scratch, lent, NULL);
		(void)whorl_dds_return_loan(home->handle, scratch.data, lent);
	}
	wh_ddsc_scratch_put(&home->lent, &home->lock, &scratch);
	return count;
}

static dds_return_t get(struct wanted *wanted, dds_entity_t from)
{
	struct wh_ddsc_entry *entry, *home = NULL;
	dds_return_t result;

	if (wanted->data == NULL || wanted->infos == NULL || wanted->most == 0 || wanted->count < wanted->most ||
	    wanted->most > INT32_MAX)
		return whorl_dds_refuse(wanted->function, DDS_RETCODE_BAD_PARAMETER,
					"no samples are wanted, or there is no room for them");
	result = wh_ddsc_entry_typed(wanted->function, from, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	if (entry->reader != 0)
		result = wh_ddsc_entry_typed(wanted->function, entry->reader, &home);
	if (result == DDS_RETCODE_OK)
		result = look(wanted, entry, home != NULL ? home : entry);
	wh_ddsc_entry_put(home);
	wh_ddsc_entry_put(entry);
	return result;
}

/* Of an instance, which has to be said. */
static dds_return_t get_of(struct wanted *wanted, dds_entity_t from)
{
	if (wanted->instance == DDS_HANDLE_NIL)
		return whorl_dds_refuse(wanted->function, DDS_RETCODE_PRECONDITION_NOT_MET, "no instance");
	return get(wanted, from);
}

/* Whatever `data` has: they are lent. */
static void forget_memory(const struct wanted *wanted)
{
	if (wanted->data != NULL)
		wanted->data[0] = NULL;
}

static dds_return_t get_lent(struct wanted *wanted, dds_entity_t from)
{
	forget_memory(wanted);
	return get(wanted, from);
}

static dds_return_t get_of_lent(struct wanted *wanted, dds_entity_t from)
{
	forget_memory(wanted);
	return get_of(wanted, from);
}

dds_return_t dds_read(dds_entity_t from, void **buffers, dds_sample_info_t *infos, size_t count, uint32_t max_samples)
{
	return get(&(struct wanted){__func__, false, buffers, infos, count, max_samples, DDS_HANDLE_NIL, NO_MASK},
		   from);
}

dds_return_t dds_read_wl(dds_entity_t from, void **buffers, dds_sample_info_t *infos, uint32_t max_samples)
{
	return get_lent(
		&(struct wanted){__func__, false, buffers, infos, max_samples, max_samples, DDS_HANDLE_NIL, NO_MASK},
		from);
}

dds_return_t dds_read_mask(dds_entity_t from, void **buffers, dds_sample_info_t *infos, size_t count,
			   uint32_t max_samples, uint32_t mask)
{
	return get(&(struct wanted){__func__, false, buffers, infos, count, max_samples, DDS_HANDLE_NIL, mask}, from);
}

dds_return_t dds_read_mask_wl(dds_entity_t from, void **buffers, dds_sample_info_t *infos, uint32_t max_samples,
			      uint32_t mask)
{
	return get_lent(
		&(struct wanted){__func__, false, buffers, infos, max_samples, max_samples, DDS_HANDLE_NIL, mask},
		from);
}

dds_return_t dds_read_instance(dds_entity_t from, void **buffers, dds_sample_info_t *infos, size_t count,
			       uint32_t max_samples, dds_instance_handle_t instance)
{
	return get_of(&(struct wanted){__func__, false, buffers, infos, count, max_samples, instance, NO_MASK}, from);
}

dds_return_t dds_read_instance_wl(dds_entity_t from, void **buffers, dds_sample_info_t *infos, uint32_t max_samples,
				  dds_instance_handle_t instance)
{
	return get_of_lent(
		&(struct wanted){__func__, false, buffers, infos, max_samples, max_samples, instance, NO_MASK}, from);
}

dds_return_t dds_read_instance_mask(dds_entity_t from, void **buffers, dds_sample_info_t *infos, size_t count,
				    uint32_t max_samples, dds_instance_handle_t instance, uint32_t mask)
{
	return get_of(&(struct wanted){__func__, false, buffers, infos, count, max_samples, instance, mask}, from);
}

dds_return_t dds_read_instance_mask_wl(dds_entity_t from, void **buffers, dds_sample_info_t *infos,
				       uint32_t max_samples, dds_instance_handle_t instance, uint32_t mask)
{
	return get_of_lent(&(struct wanted){__func__, false, buffers, infos, max_samples, max_samples, instance, mask},
			   from);
}

dds_return_t dds_read_next(dds_entity_t reader, void **buffer, dds_sample_info_t *info)
{
	return get(&(struct wanted){__func__, false, buffer, info, 1, 1, DDS_HANDLE_NIL, DDS_NOT_READ_SAMPLE_STATE},
		   reader);
}

dds_return_t dds_read_next_wl(dds_entity_t reader, void **buffer, dds_sample_info_t *info)
{
	return get_lent(&(struct wanted){__func__, false, buffer, info, 1, 1, DDS_HANDLE_NIL, DDS_NOT_READ_SAMPLE_STATE},
			reader);
}

dds_return_t dds_take(dds_entity_t from, void **buffers, dds_sample_info_t *infos, size_t count, uint32_t max_samples)
{
	return get(&(struct wanted){__func__, true, buffers, infos, count, max_samples, DDS_HANDLE_NIL, NO_MASK}, from);
}

dds_return_t dds_take_wl(dds_entity_t from, void **buffers, dds_sample_info_t *infos, uint32_t max_samples)
{
	return get_lent(
		&(struct wanted){__func__, true, buffers, infos, max_samples, max_samples, DDS_HANDLE_NIL, NO_MASK},
		from);
}

dds_return_t dds_take_mask(dds_entity_t from, void **buffers, dds_sample_info_t *infos, size_t count,
			   uint32_t max_samples, uint32_t mask)
{
	return get(&(struct wanted){__func__, true, buffers, infos, count, max_samples, DDS_HANDLE_NIL, mask}, from);
}

dds_return_t dds_take_mask_wl(dds_entity_t from, void **buffers, dds_sample_info_t *infos, uint32_t max_samples,
			      uint32_t mask)
{
	return get_lent(
		&(struct wanted){__func__, true, buffers, infos, max_samples, max_samples, DDS_HANDLE_NIL, mask}, from);
}

dds_return_t dds_take_instance(dds_entity_t from, void **buffers, dds_sample_info_t *infos, size_t count,
			       uint32_t max_samples, dds_instance_handle_t instance)
{
	return get_of(&(struct wanted){__func__, true, buffers, infos, count, max_samples, instance, NO_MASK}, from);
}

dds_return_t dds_take_instance_wl(dds_entity_t from, void **buffers, dds_sample_info_t *infos, uint32_t max_samples,
				  dds_instance_handle_t instance)
{
	return get_of_lent(
		&(struct wanted){__func__, true, buffers, infos, max_samples, max_samples, instance, NO_MASK}, from);
}

dds_return_t dds_take_instance_mask(dds_entity_t from, void **buffers, dds_sample_info_t *infos, size_t count,
				    uint32_t max_samples, dds_instance_handle_t instance, uint32_t mask)
{
	return get_of(&(struct wanted){__func__, true, buffers, infos, count, max_samples, instance, mask}, from);
}

dds_return_t dds_take_instance_mask_wl(dds_entity_t from, void **buffers, dds_sample_info_t *infos,
				       uint32_t max_samples, dds_instance_handle_t instance, uint32_t mask)
{
	return get_of_lent(&(struct wanted){__func__, true, buffers, infos, max_samples, max_samples, instance, mask},
			   from);
}

dds_return_t dds_take_next(dds_entity_t reader, void **buffer, dds_sample_info_t *info)
{
	return get(&(struct wanted){__func__, true, buffer, info, 1, 1, DDS_HANDLE_NIL, DDS_NOT_READ_SAMPLE_STATE},
		   reader);
}

dds_return_t dds_take_next_wl(dds_entity_t reader, void **buffer, dds_sample_info_t *info)
{
	return get_lent(&(struct wanted){__func__, true, buffer, info, 1, 1, DDS_HANDLE_NIL, DDS_NOT_READ_SAMPLE_STATE},
			reader);
}

/* ---- giving back ------------------------------------------------------------------------------------------------------------ */

/* What a reader has not lent may be a writer's loan. */
static dds_return_t return_loan(const char *function, struct wh_ddsc_entry *home, void **buffers, int32_t count)
{
	if (give_back(home, buffers[0])) {
		buffers[0] = NULL;
		return DDS_RETCODE_OK;
	}
	if (home->kind->is_plain && home->kind->builtin == 0)
		return whorl_dds_return_loan(home->handle, buffers, count);
	return whorl_dds_refuse(function, DDS_RETCODE_PRECONDITION_NOT_MET, "it is not lent, or not any more");
}

/* After a call that gave no samples there is nothing to give back. */
dds_return_t dds_return_loan(dds_entity_t entity, void **buffers, int32_t count)
{
	struct wh_ddsc_entry *entry, *home = NULL;
	dds_return_t result;

	if (buffers == NULL || (count > 0 && buffers[0] == NULL))
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "nothing to give back");
	result = wh_ddsc_entry_typed(__func__, entity, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	if (entry->reader != 0)
		result = wh_ddsc_entry_typed(__func__, entry->reader, &home);
	if (result == DDS_RETCODE_OK && count > 0)
		result = return_loan(__func__, home != NULL ? home : entry, buffers, count);
	wh_ddsc_entry_put(home);
	wh_ddsc_entry_put(entry);
	return result;
}
