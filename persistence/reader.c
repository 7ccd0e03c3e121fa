/* reader.c - a file of a log, forwards, in large pieces. See log_int.h. */
#include <stdlib.h>
#include <string.h>

#include "persistence/log_int.h"

enum whorl_result wh_log_reader_open(struct wh_log_reader *reader, struct wh_directory *directory, const char *name,
				     struct wh_error *err)
{
	enum whorl_result result;

	wh_log_ask(reader->asking);
	result = directory->ops->open(directory, name, false, &reader->file, err);
	if (result != WHORL_OK)
		return result;
	reader->start = 0;
	reader->have = 0;
	reader->limit = 0;
	result = reader->file->ops->size(reader->file, &reader->bytes, err);
	if (result != WHORL_OK)
		wh_log_reader_close(reader);
	return result;
}

void wh_log_reader_close(struct wh_log_reader *reader)
{
	if (reader->file != NULL)
		reader->file->ops->close(reader->file);
	reader->file = NULL;
}

void wh_log_reader_free(struct wh_log_reader *reader)
{
	wh_log_reader_close(reader);
	free(reader->buffer);
	reader->buffer = NULL;
	reader->room = 0;
}

/* Room for so many bytes; what is there stays. */
static enum whorl_result make_room(struct wh_log_reader *reader, size_t bytes, struct wh_error *err)
{
	unsigned char *buffer;

	if (bytes <= reader->room)
		return WHORL_OK;
	bytes = (size_t)wh_log_round(bytes, WH_LOG_READ_BYTES);
	buffer = aligned_alloc(WH_LOG_BLOCK_BYTES, bytes);
	if (buffer == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %zu bytes of a log", bytes);
	if (reader->have > 0)
		memcpy(buffer, reader->buffer, reader->have);
	free(reader->buffer);
	reader->buffer = buffer;
	reader->room = bytes;
	return WHORL_OK;
}

/* So much is to be in the buffer, which begins with what is wanted. */
static size_t amount(const struct wh_log_reader *reader, size_t wanted)
{
	uint64_t most = reader->room;

	if (reader->limit != 0 && reader->start + most > reader->limit)
		most = reader->limit > reader->start ? reader->limit - reader->start : 0;
	return most > wanted ? (size_t)most : wanted;
}

enum whorl_result wh_log_reader_want(struct wh_log_reader *reader, uint64_t at, size_t bytes, const unsigned char **out,
				     struct wh_error *err)
{
	enum whorl_result result;
	size_t got;

	*out = NULL;
	if (at > reader->bytes || reader->bytes - at < bytes)
		return WHORL_OK;
	if (at < reader->start || at > reader->start + reader->have)
		reader->have = 0;
	if (reader->have == 0)
		reader->start = at;
	if (at + bytes > reader->start + reader->have) {
		reader->have -= (size_t)(at - reader->start);
		if (reader->have > 0)
			memmove(reader->buffer, reader->buffer + (at - reader->start), reader->have);
		reader->start = at;
		result = make_room(reader, bytes > WH_LOG_READ_BYTES ? bytes : WH_LOG_READ_BYTES, err);
		wh_log_ask(reader->asking);
		if (result == WHORL_OK)
			result = reader->file->ops->read(reader->file, at + reader->have, reader->buffer + reader->have,
							 amount(reader, bytes) - reader->have, &got, err);
		if (result != WHORL_OK)
			return result;
		reader->have += got;
		if (reader->have < bytes) /* it has become shorter */
			return WHORL_OK;
	}
	*out = reader->buffer + (at - reader->start);
	return WHORL_OK;
}

enum whorl_result wh_log_reader_batch(struct wh_log_reader *reader, uint64_t at, uint64_t identity,
				      struct wh_log_batch_head *head, bool *headed, const unsigned char **body,
				      struct wh_error *err)
{
	const unsigned char *bytes;
	enum whorl_result result = wh_log_reader_want(reader, at, WH_LOG_HEAD_BYTES, &bytes, err);

	*body = NULL;
	*headed = result == WHORL_OK && bytes != NULL && wh_log_batch_decode(head, bytes) && head->log == identity;
	if (!*headed)
		return result;
	result = wh_log_reader_want(reader, at, (size_t)wh_log_batch_bytes(head), &bytes, err);
	if (result == WHORL_OK && bytes != NULL && wh_log_body_check(head, bytes + WH_LOG_HEAD_BYTES))
		*body = bytes + WH_LOG_HEAD_BYTES;
	return result;
}
