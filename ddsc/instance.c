/* instance.c - instances: their handles and keys; and what of writing is neither sample nor instance. */
#include <string.h>

#include <dds/ddsc/dds_data_allocator.h>
#include <dds/ddsc/dds_loan_api.h>

#include "ddsc/entry.h"

/* What whorl finds the key in: the sample, or a head that is made of it. NULL: it has no such form. */
static const void *keyed(const struct wh_ddsc_entry *entry, const void *data,
			 unsigned char head[WH_DDSC_HEAD_BYTES_MAX])
{
	if (entry->kind->is_plain)
		return data;
	return wh_ddsc_kind_head(entry->kind, data, head) ? head : NULL;
}

dds_return_t dds_register_instance(dds_entity_t writer, dds_instance_handle_t *handle, const void *data)
{
	unsigned char head[WH_DDSC_HEAD_BYTES_MAX];
	struct wh_ddsc_entry *entry;
	dds_return_t result;
	const void *key;

	if (handle == NULL || data == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no sample, or no memory for the handle");
	result = wh_ddsc_entry_typed(__func__, writer, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	key = keyed(entry, data, head);
	result = key != NULL ? whorl_dds_register_instance(writer, handle, key)
			     : whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "the key is too long");
	wh_ddsc_entry_put(entry);
	return result;
}

dds_instance_handle_t dds_lookup_instance(dds_entity_t entity, const void *data)
{
	unsigned char head[WH_DDSC_HEAD_BYTES_MAX];
	dds_instance_handle_t handle = DDS_HANDLE_NIL;
	struct wh_ddsc_entry *entry;
	const void *key;

	if (data == NULL || wh_ddsc_entry_typed(__func__, entity, &entry) != DDS_RETCODE_OK)
		return DDS_HANDLE_NIL;
	key = entry->kind->builtin == 0 ? keyed(entry, data, head) : NULL;
	if (key != NULL)
		handle = whorl_dds_lookup_instance(entry->reader != 0 ? entry->reader : entity, key);
	wh_ddsc_entry_put(entry);
	return handle;
}

dds_instance_handle_t dds_instance_lookup(dds_entity_t entity, const void *data)
{
	return dds_lookup_instance(entity, data);
}

/* What `data` held before is not freed: it may never have been a sample. */
static dds_return_t give_key(const char *function, struct wh_ddsc_entry *entry, dds_instance_handle_t instance,
			     void *data)
{
	unsigned char head[WH_DDSC_HEAD_BYTES_MAX];
	dds_return_t result = whorl_dds_instance_get_key(entry->handle, instance, entry->kind->is_plain ? data : head);

	if (result != DDS_RETCODE_OK || entry->kind->is_plain)
		return result;
	memset(data, 0, entry->kind->sample_bytes);
	if (wh_ddsc_kind_unpack(entry->kind, head, entry->kind->head_bytes, false, data))
		return result;
	return whorl_dds_refuse(function, DDS_RETCODE_ERROR, "the key of the instance is none of this type");
}

dds_return_t dds_instance_get_key(dds_entity_t entity, dds_instance_handle_t instance, void *data)
{
	struct wh_ddsc_entry *entry;
	dds_return_t result;

	if (data == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no memory for the key");
	result = wh_ddsc_entry_typed(__func__, entity, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	result = entry->kind->builtin != 0
			 ? whorl_dds_refuse(__func__, DDS_RETCODE_UNSUPPORTED, "a key of a built-in topic")
			 : give_key(__func__, entry, instance, data);
	wh_ddsc_entry_put(entry);
	return result;
}

/* ---- writers and publishers ------------------------------------------------------------------------------------------------- */

void dds_write_flush(dds_entity_t writer)
{
	(void)writer;
}

void dds_write_set_batch(bool on)
{
	(void)on;
}

dds_return_t dds_wait_for_acks(dds_entity_t entity, dds_duration_t timeout)
{
	return whorl_dds_wait_for_acks(entity, timeout);
}

dds_return_t dds_begin_coherent(dds_entity_t entity)
{
	return whorl_dds_begin_coherent(entity);
}

dds_return_t dds_end_coherent(dds_entity_t entity)
{
	return whorl_dds_end_coherent(entity);
}

dds_return_t dds_suspend(dds_entity_t publisher)
{
	(void)publisher;
	return whorl_dds_refuse(__func__, DDS_RETCODE_UNSUPPORTED, "a publisher cannot be suspended");
}

dds_return_t dds_resume(dds_entity_t publisher)
{
	(void)publisher;
	return whorl_dds_refuse(__func__, DDS_RETCODE_UNSUPPORTED, "a publisher cannot be suspended");
}

/* ---- loans of writers ------------------------------------------------------------------------------------------------------- */

bool dds_is_loan_available(const dds_entity_t entity)
{
	struct wh_ddsc_entry *entry;
	bool is;

	if (wh_ddsc_entry_typed(__func__, entity, &entry) != DDS_RETCODE_OK)
		return false;
	is = entry->kind->is_plain && entry->kind->builtin == 0;
	wh_ddsc_entry_put(entry);
	return is;
}

bool dds_is_shared_memory_available(const dds_entity_t entity)
{
	return dds_is_loan_available(entity);
}

bool is_loan_available(const dds_entity_t entity)
{
	return dds_is_loan_available(entity);
}

/* `bytes` 0: of a sample. */
static dds_return_t lend(const char *function, dds_entity_t writer, size_t bytes, void **out)
{
	struct wh_ddsc_entry *entry;
	dds_return_t result;

	if (out == NULL)
		return whorl_dds_refuse(function, DDS_RETCODE_BAD_PARAMETER, "no memory for the pointer");
	result = wh_ddsc_entry_typed(function, writer, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	if (!entry->kind->is_plain)
		result = whorl_dds_refuse(function, DDS_RETCODE_UNSUPPORTED, "samples of this type have pointers");
	else if (bytes != 0 && bytes != entry->kind->sample_bytes)
		result =
			whorl_dds_refuse(function, DDS_RETCODE_BAD_PARAMETER, "samples of this type have another size");
	else
		result = whorl_dds_request_loan(writer, 0, out);
	wh_ddsc_entry_put(entry);
	return result;
}

dds_return_t dds_loan_sample(dds_entity_t writer, void **sample)
{
	return lend(__func__, writer, 0, sample);
}

dds_return_t dds_loan_shared_memory_buffer(dds_entity_t writer, size_t bytes, void **buffer)
{
	return lend(__func__, writer, bytes, buffer);
}

/* ---- allocators ------------------------------------------------------------------------------------------------------------- */

static dds_return_t check(const char *function, const dds_data_allocator_t *allocator)
{
	return allocator != NULL ? DDS_RETCODE_OK
				 : whorl_dds_refuse(function, DDS_RETCODE_BAD_PARAMETER, "no allocator");
}

dds_return_t dds_data_allocator_init(dds_entity_t entity, dds_data_allocator_t *allocator)
{
	struct wh_ddsc_entry *entry = NULL;
	dds_return_t result = check(__func__, allocator);

	if (result == DDS_RETCODE_OK && entity != DDS_DATA_ALLOCATOR_ALLOC_ON_HEAP)
		result = wh_ddsc_entry_typed(__func__, entity, &entry);
	wh_ddsc_entry_put(entry);
	if (result == DDS_RETCODE_OK)
		*allocator = (dds_data_allocator_t){.entity = entity};
	return result;
}

dds_return_t dds_data_allocator_init_heap(dds_data_allocator_t *allocator)
{
	return dds_data_allocator_init(DDS_DATA_ALLOCATOR_ALLOC_ON_HEAP, allocator);
}

dds_return_t dds_data_allocator_fini(dds_data_allocator_t *allocator)
{
	dds_return_t result = check(__func__, allocator);

	if (result == DDS_RETCODE_OK)
		*allocator = (dds_data_allocator_t){.entity = 0};
	return result;
}

void *dds_data_allocator_alloc(dds_data_allocator_t *allocator, size_t bytes)
{
	return check(__func__, allocator) == DDS_RETCODE_OK ? dds_alloc(bytes) : NULL;
}

dds_return_t dds_data_allocator_free(dds_data_allocator_t *allocator, void *memory)
{
	dds_free(memory);
	return check(__func__, allocator);
}
