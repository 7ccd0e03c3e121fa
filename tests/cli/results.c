/* results.c - see results.h. */
#include "tests/cli/results.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

json_t *results_parse(const char *text)
{
	json_t *lines = json_array();

	while (*text != '\0') {
		size_t length = strcspn(text, "\n");
		json_error_t error;
		json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);

		ck_assert_msg(json_is_object(line), "no JSON object: %s: %.*s", error.text, (int)length, text);
		ck_assert_msg(text[length] == '\n', "the last line does not end");
		json_array_append_new(lines, line);
		text += length + 1;
	}
	return lines;
}

json_t *results_at(json_t *object, const char *path)
{
	const char *at = path;

	for (;;) {
		size_t length = strcspn(at, ".");
		char key[64];

		ck_assert_uint_lt(length, sizeof key);
		memcpy(key, at, length);
		key[length] = '\0';
		object = json_is_array(object) ? json_array_get(object, strtoul(key, NULL, 10))
					       : json_object_get(object, key);
		ck_assert_msg(object != NULL, "there is no %s", path);
		if (at[length] == '\0')
			return object;
		at += length + 1;
	}
}
