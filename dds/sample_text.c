/* sample_text.c - types and samples as text, for programs: see type.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/base/text.h"
#include "dds/type/type.h"

struct whorl_dds_type *whorl_dds_type_parse(const char *name, const char *text)
{
	struct whorl_dds_type *type = NULL;
	struct wh_error err;
	whorl_dds_return result;

	if (name == NULL || text == NULL) {
		(void)WH_DDS_SAY(BAD_PARAMETER, "no name, or no text");
		return NULL;
	}
	wh_error_clear(&err);
	result = wh_dds_type_parse(&type, name, text, &err);
	if (result != WHORL_DDS_RETCODE_OK)
		(void)wh_dds_say(__func__, result, "%s", err.text[0] != '\0' ? err.text : "memory is out");
	return result == WHORL_DDS_RETCODE_OK ? type : NULL;
}

void whorl_dds_type_free(struct whorl_dds_type *type)
{
	wh_dds_type_free(type);
}

/* The program's type, as this library has it. */
static whorl_dds_return copy_type(const char *function, const struct whorl_dds_type *type, struct whorl_dds_type **copy)
{
	struct wh_error err;
	whorl_dds_return result;

	*copy = NULL;
	if (type == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "no type");
	wh_error_clear(&err);
	result = wh_dds_type_new(copy, type, &err);
	return result == WHORL_DDS_RETCODE_OK
		       ? result
		       : wh_dds_say(function, result, "%s", err.text[0] != '\0' ? err.text : "memory is out");
}

whorl_dds_return whorl_dds_sample_to_json(const struct whorl_dds_type *type, const void *data, size_t bytes, char *text,
					  size_t text_bytes)
{
	size_t length = 0, cut;
	char *whole = NULL;
	struct whorl_dds_type *copy;
	whorl_dds_return result;
	FILE *out;

	if (data == NULL || (text == NULL && text_bytes > 0))
		return WH_DDS_SAY(BAD_PARAMETER, "no sample, or no memory for its text");
	result = copy_type(__func__, type, &copy);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	out = open_memstream(&whole, &length);
	if (out == NULL) {
		wh_dds_type_free(copy);
		return WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	}
	if (wh_dds_type_fits(copy, bytes))
		result = wh_dds_type_json(out, copy, data, bytes);
	else
		result = WHORL_DDS_RETCODE_BAD_PARAMETER;
	wh_dds_type_free(copy);
	if (fclose(out) != 0)
		result = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	if (result == WHORL_DDS_RETCODE_OK && text_bytes > 0) {
		cut = length < text_bytes ? length : text_bytes - 1;
		memcpy(text, whole, cut);
		text[cut] = '\0';
	}
	free(whole);
	return result == WHORL_DDS_RETCODE_OK ? (whorl_dds_return)length
					      : wh_dds_say(__func__, result, "%s", whorl_dds_strretcode(result));
}

whorl_dds_return whorl_dds_sample_from_json(const struct whorl_dds_type *type, const char *text, void *data,
					    size_t bytes)
{
	struct whorl_dds_type *copy;
	struct wh_error err;
	whorl_dds_return result;

	if (text == NULL || data == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no text, or no memory for the sample");
	result = copy_type(__func__, type, &copy);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	wh_error_clear(&err);
	result = wh_dds_type_from_json(copy, text, data, bytes, &err);
	wh_dds_type_free(copy);
	return result >= 0 ? result
			   : wh_dds_say(__func__, result, "%s",
					err.text[0] != '\0' ? err.text : whorl_dds_strretcode(result));
}
