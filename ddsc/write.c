/* write.c - writing: a small sample is encoded on the stack, a larger one where it is sent from, in a loan of whorl's. One of a plain type is whorl's
 * sample as it is.
 *
 * For a small one its entry is looked at, and not held: that would be two of the dearer steps of a write.
 */
#include <string.h>

#include "base/rcu.h"
#include "ddsc/entry.h"

/* Behind what a function was called with. */
struct put {
	const char *function;
	struct whorl_dds_write_options how;
};

static bool is_for_data(enum whorl_dds_write_kind kind)
{
	return kind == WHORL_DDS_WRITE || kind == WHORL_DDS_WRITE_DISPOSE;
}

#define SMALL_BYTES 12288 /* for so few a copy more, out of a stack that is warm, is cheaper than a loan */

static dds_return_t cannot(const struct put *put)
{
	return whorl_dds_refuse(put->function, DDS_RETCODE_BAD_PARAMETER,
				"the key is too long, or the sample was changed while it was written");
}

static dds_return_t has_no_form(const struct put *put, const struct wh_ddsc_entry *writer, const void *data)
{
	struct wh_error err = {.text = ""};

	(void)wh_ddsc_kind_bytes(writer->kind, data, &err);
	return whorl_dds_refuse(put->function, DDS_RETCODE_BAD_PARAMETER, err.text);
}

/* What is to be written of a sample without an allocation: of a plain type itself, of another all of it, encoded in `small` of SMALL_BYTES. NULL: it
 * is none of these, or there is something to be said of it. What the end of an entry waits for (wh_rcu_synchronize) is no more than the
 * encoding of so few bytes, however large the sample is. */
static const void *encode_small(struct put *put, dds_entity_t writer, const void *data, unsigned char *small)
{
	const void *from = NULL;
	const struct wh_ddsc_entry *entry;

	wh_rcu_read_lock();
	entry = wh_ddsc_entry_peek(writer);
	if (entry != NULL && entry->kind != NULL && (entry->kind->is_plain || entry->kind->builtin != 0)) {
		from = data;
	} else if (entry != NULL && entry->kind != NULL && is_for_data(put->how.kind)) {
		put->how.bytes = wh_ddsc_kind_pack(entry->kind, data, small, SMALL_BYTES);
		if (put->how.bytes != SIZE_MAX)
			from = small;
	}
	wh_rcu_read_unlock();
	return from;
}

/* Encodes it in a loan. A writer that is BEST_EFFORT drops a sample for which there is no room. */
static dds_return_t put_encoded(struct put *put, struct wh_ddsc_entry *writer, const void *data)
{
	size_t bytes = wh_ddsc_kind_bytes(writer->kind, data, NULL);
	dds_return_t result;
	void *memory;

	if (bytes == SIZE_MAX)
		return has_no_form(put, writer, data);
	if (bytes > writer->kind->whorl.bytes_max)
		return whorl_dds_refuse(put->function, DDS_RETCODE_BAD_PARAMETER,
					"the sample has more bytes than a topic carries");
	result = whorl_dds_request_loan(writer->handle, bytes, &memory);
	if (result == DDS_RETCODE_TIMEOUT && writer->drops)
		return DDS_RETCODE_OK;
	if (result != DDS_RETCODE_OK)
		return result;
	if (wh_ddsc_kind_pack(writer->kind, data, memory, bytes) != bytes) {
		(void)whorl_dds_return_loan(writer->handle, &memory, 1);
		return cannot(put);
	}
	put->how.bytes = bytes;
	return whorl_dds_write_with(writer->handle, memory, &put->how);
}

/* Of a change of an instance the head is all that there is. */
static dds_return_t put_head(struct put *put, struct wh_ddsc_entry *writer, const void *data)
{
	unsigned char head[WH_DDSC_HEAD_BYTES_MAX];

	if (!wh_ddsc_kind_head(writer->kind, data, head))
		return whorl_dds_refuse(put->function, DDS_RETCODE_BAD_PARAMETER,
					"the key is too long, or has no such form");
	put->how.bytes = writer->kind->head_bytes;
	return whorl_dds_write_with(writer->handle, head, &put->how);
}

static dds_return_t put(struct put *put, dds_entity_t writer, const void *data)
{
	_Alignas(8) unsigned char small[SMALL_BYTES];
	struct wh_ddsc_entry *entry;
	dds_return_t result;
	const void *from;

	if (data == NULL)
		return whorl_dds_refuse(put->function, DDS_RETCODE_BAD_PARAMETER, "no sample");
	put->how.size = sizeof(put->how);
	from = encode_small(put, writer, data, small);
	if (from != NULL)
		return whorl_dds_write_with(writer, from, &put->how);
	result = wh_ddsc_entry_typed(put->function, writer, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	if (entry->kind->is_plain || entry->kind->builtin != 0)
		result = whorl_dds_write_with(writer, data, &put->how);
	else if (is_for_data(put->how.kind))
		result = put_encoded(put, entry, data);
	else
		result = put_head(put, entry, data);
	wh_ddsc_entry_put(entry);
	return result;
}

static dds_return_t put_kind(const char *function, enum whorl_dds_write_kind kind, dds_entity_t writer,
			     const void *data)
{
	struct put it = {.function = function, .how.kind = kind};

	return put(&it, writer, data);
}

static dds_return_t put_at(const char *function, enum whorl_dds_write_kind kind, dds_entity_t writer, const void *data,
			   dds_time_t time)
{
	struct put it = {.function = function, .how = {.kind = kind, .has_time = true, .timestamp = time}};

	if (time < 0)
		return whorl_dds_refuse(function, DDS_RETCODE_BAD_PARAMETER, "the time lies before 1970");
	return put(&it, writer, data);
}

dds_return_t dds_write(dds_entity_t writer, const void *data)
{
	return put_kind(__func__, WHORL_DDS_WRITE, writer, data);
}

dds_return_t dds_write_ts(dds_entity_t writer, const void *data, dds_time_t timestamp)
{
	return put_at(__func__, WHORL_DDS_WRITE, writer, data, timestamp);
}

dds_return_t dds_writedispose(dds_entity_t writer, const void *data)
{
	return put_kind(__func__, WHORL_DDS_WRITE_DISPOSE, writer, data);
}

dds_return_t dds_writedispose_ts(dds_entity_t writer, const void *data, dds_time_t timestamp)
{
	return put_at(__func__, WHORL_DDS_WRITE_DISPOSE, writer, data, timestamp);
}

dds_return_t dds_dispose(dds_entity_t writer, const void *data)
{
	return put_kind(__func__, WHORL_DDS_DISPOSE, writer, data);
}

dds_return_t dds_dispose_ts(dds_entity_t writer, const void *data, dds_time_t timestamp)
{
	return put_at(__func__, WHORL_DDS_DISPOSE, writer, data, timestamp);
}

dds_return_t dds_unregister_instance(dds_entity_t writer, const void *data)
{
	return put_kind(__func__, WHORL_DDS_UNREGISTER, writer, data);
}

dds_return_t dds_unregister_instance_ts(dds_entity_t writer, const void *data, dds_time_t timestamp)
{
	return put_at(__func__, WHORL_DDS_UNREGISTER, writer, data, timestamp);
}

/* ---- by the handle of an instance ------------------------------------------------------------------------------------------- */

static dds_return_t end_instance(const char *function, enum whorl_dds_write_kind kind, dds_entity_t writer,
				 dds_instance_handle_t instance, const dds_time_t *time)
{
	struct whorl_dds_write_options how = {.size = sizeof(how),
					      .kind = kind,
					      .has_time = time != NULL,
					      .timestamp = time != NULL ? *time : 0,
					      .instance = instance};

	if (instance == DDS_HANDLE_NIL)
		return whorl_dds_refuse(function, DDS_RETCODE_PRECONDITION_NOT_MET, "no instance");
	if (how.timestamp < 0)
		return whorl_dds_refuse(function, DDS_RETCODE_BAD_PARAMETER, "the time lies before 1970");
	return whorl_dds_write_with(writer, NULL, &how);
}

dds_return_t dds_dispose_ih(dds_entity_t writer, dds_instance_handle_t handle)
{
	return end_instance(__func__, WHORL_DDS_DISPOSE, writer, handle, NULL);
}

dds_return_t dds_dispose_ih_ts(dds_entity_t writer, dds_instance_handle_t handle, dds_time_t timestamp)
{
	return end_instance(__func__, WHORL_DDS_DISPOSE, writer, handle, &timestamp);
}

dds_return_t dds_unregister_instance_ih(dds_entity_t writer, dds_instance_handle_t handle)
{
	return end_instance(__func__, WHORL_DDS_UNREGISTER, writer, handle, NULL);
}

dds_return_t dds_unregister_instance_ih_ts(dds_entity_t writer, dds_instance_handle_t handle, dds_time_t timestamp)
{
	return end_instance(__func__, WHORL_DDS_UNREGISTER, writer, handle, &timestamp);
}
