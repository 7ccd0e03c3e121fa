/* text.c - policies as people write and read them. */
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/text.h"
#include "dds/policy/policy_int.h"

#define WORD_BYTES (4 * WH_DDS_DATA_BYTES) /* of one word: a key, and data with each byte as %20 */

/* ---- reading: values ---------------------------------------------------------------------------------------------------- */

static bool parse_digits(const char *text, const char **end, int64_t *out)
{
	bool overflow = false;
	int64_t value = 0;

	*end = text;
	for (; **end >= '0' && **end <= '9'; ++*end) {
		overflow |= __builtin_mul_overflow(value, 10, &value);
		overflow |= __builtin_add_overflow(value, **end - '0', &value);
	}
	*out = value;
	return *end != text && !overflow;
}

static bool parse_duration(const char *text, int64_t *out)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", WH_NS_PER_US}, {"ms", WH_NS_PER_MS}, {"s", WH_NS_PER_S}};
	const char *unit;
	int64_t number;

	*out = WHORL_DDS_INFINITY;
	if (strcmp(text, "inf") == 0)
		return true;
	if (!parse_digits(text, &unit, &number))
		return false;
	if (strcmp(text, "0") == 0) {
		*out = 0;
		return true;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return !__builtin_mul_overflow(number, (int64_t)units[i].ns, out) && *out != WHORL_DDS_INFINITY;
	return false;
}

static bool parse_whole(const char *text, int64_t *out)
{
	bool negative = *text == '-';
	const char *end;

	if (!parse_digits(text + negative, &end, out) || *end != '\0')
		return false;
	*out = negative ? -*out : *out;
	return true;
}

static bool parse_word(const struct wh_dds_field *field, const char *text, int64_t *out)
{
	for (*out = 0; field->words[*out] != NULL; ++*out)
		if (strcmp(text, field->words[*out]) == 0)
			return true;
	return false;
}

/* Of a field that is a number. */
static bool parse_number(const struct wh_dds_field *field, const char *text, int64_t *out)
{
	switch (field->kind) {
	case WH_DDS_WORD:
		return parse_word(field, text, out);
	case WH_DDS_FLAG:
		*out = strcmp(text, "on") == 0;
		return *out == 1 || strcmp(text, "off") == 0;
	case WH_DDS_DURATION:
		return parse_duration(text, out);
	case WH_DDS_LIMIT:
		*out = WHORL_DDS_UNLIMITED;
		return strcmp(text, "unlimited") == 0 || (parse_whole(text, out) && *out >= 1);
	case WH_DDS_KEEP:
		*out = 0;
		return strcmp(text, "all") == 0 || (parse_whole(text, out) && *out >= 1);
	default:
		return parse_whole(text, out);
	}
}

/* %20 becomes its byte, and where there are names a comma a zero. False: a % without its two digits, or a name with a zero. */
static bool unescape(const char *text, bool names, unsigned char *out, size_t *count)
{
	*count = 0;
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (*text == '%') {
			int high = wh_text_digit(text[1]), low = high >= 0 ? wh_text_digit(text[2]) : -1;

			if (low < 0)
				return false;
			byte = (unsigned char)(high * 16 + low);
			if (names && byte == 0)
				return false;
			text += 2;
		} else if (names && byte == ',') {
			byte = 0;
		}
		out[(*count)++] = byte;
	}
	if (names && *count > 0) /* one empty name is none */
		out[(*count)++] = 0;
	return true;
}

/* ---- reading: words ----------------------------------------------------------------------------------------------------- */

struct reader {
	struct wh_dds_policies *policies;
	uint64_t seen; /* bit i: field i was set already */
	struct wh_error *err;
	char word[WORD_BYTES];
	unsigned char bytes[WORD_BYTES];
};

/* Says what is wrong with the word, and what was expected. */
static whorl_dds_return complain(struct reader *reader, const char *wrong, const char *expected)
{
	const char *ellipsis;
	int quoted = wh_error_quote(reader->word, strlen(reader->word), &ellipsis);

	wh_error_set(reader->err, WHORL_CONFIG, "\"%.*s%s\": %s%s%s", quoted, reader->word, ellipsis, wrong,
		     expected[0] != '\0' ? ", expected " : "", expected);
	return WHORL_DDS_RETCODE_BAD_PARAMETER;
}

/* "reliability" or "reliability.max_blocking", of so many bytes. */
static bool has_name(const struct wh_dds_field *field, const char *name, size_t length)
{
	const char *policy = wh_dds_policy_name(field->policy);
	size_t bytes = strlen(policy);

	if (length < bytes || memcmp(name, policy, bytes) != 0)
		return false;
	if (length == bytes)
		return field->main;
	return name[bytes] == '.' && strlen(field->key) == length - bytes - 1 &&
	       memcmp(name + bytes + 1, field->key, length - bytes - 1) == 0;
}

/* The names that would have been right: the fields of the policy, or all policies. */
static whorl_dds_return complain_name(struct reader *reader, size_t length)
{
	size_t bytes = strcspn(reader->word, ".=");
	char names[768] = "one of", *wrong = "there is no such policy";
	const struct wh_dds_policy_row *row = NULL;

	for (size_t i = 0; i < WH_DDS_POLICY_COUNT; i++)
		if (strlen(wh_dds_policy_rows[i].name) == bytes &&
		    memcmp(wh_dds_policy_rows[i].name, reader->word, bytes) == 0)
			row = &wh_dds_policy_rows[i];
	for (size_t i = 0; i < WH_DDS_POLICY_COUNT && row == NULL; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s", wh_dds_policy_rows[i].name);
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT && row != NULL; i++)
		if (wh_dds_fields[i].policy == row->id)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s.%s", row->name,
				 wh_dds_fields[i].key);
	if (row != NULL)
		wrong = length > bytes ? "the policy has no such part" : "the policy has several parts";
	return complain(reader, wrong, names);
}

static whorl_dds_return set_field(struct reader *reader, const struct wh_dds_field *field, const char *value)
{
	uint64_t bit = wh_dds_field_bit(field);
	size_t count = 0;
	int64_t number;
	char expected[256];
	bool good;

	if ((reader->seen & bit) != 0)
		return complain(reader, "it is set twice", "");
	reader->seen |= bit;
	if (wh_dds_field_has_bytes(field))
		good = unescape(value, field->kind == WH_DDS_NAMES, reader->bytes, &count) &&
		       wh_dds_field_allows_bytes(field, reader->bytes, count);
	else
		good = parse_number(field, value, &number) && wh_dds_field_allows(field, number);
	if (!good) {
		wh_dds_field_expected(field, expected, sizeof(expected));
		return complain(reader, "the value is not right", expected);
	}
	if (!wh_dds_field_has_bytes(field))
		wh_dds_field_store(reader->policies, field, number);
	else if (!wh_dds_field_replace(reader->policies, field, reader->bytes, count))
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	wh_dds_field_is_set(reader->policies, field);
	return WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return parse_assignment(struct reader *reader)
{
	const char *equals = strchr(reader->word, '=');
	size_t length = equals != NULL ? (size_t)(equals - reader->word) : 0;

	if (equals == NULL)
		return complain(reader, "it says nothing", "POLICY=VALUE");
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++)
		if (has_name(&wh_dds_fields[i], reader->word, length))
			return set_field(reader, &wh_dds_fields[i], equals + 1);
	return complain_name(reader, length);
}

static whorl_dds_return parse_words(struct reader *reader, const char *text)
{
	static const char blanks[] = " \t\r\n";
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	for (text += strspn(text, blanks); *text != '\0' && result == WHORL_DDS_RETCODE_OK;
	     text += strspn(text, blanks)) {
		size_t length = strcspn(text, blanks);
		bool fits = length < sizeof(reader->word);
		size_t some = fits ? length : sizeof(reader->word) - 1;

		memcpy(reader->word, text, some);
		reader->word[some] = '\0';
		result = fits ? parse_assignment(reader) : complain(reader, "it is too long", "at most 8191 bytes");
		text += length;
	}
	return result;
}

whorl_dds_return wh_dds_policies_parse(struct wh_dds_policies *policies, const char *text, struct wh_error *err)
{
	struct reader *reader = malloc(sizeof(*reader));
	struct wh_dds_policies then;
	whorl_dds_return result = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;

	if (reader == NULL || wh_dds_policies_copy(&then, policies) != WHORL_DDS_RETCODE_OK) {
		free(reader);
		return result;
	}
	reader->policies = &then;
	reader->seen = 0;
	reader->err = err;
	result = parse_words(reader, text);
	free(reader);
	if (result != WHORL_DDS_RETCODE_OK) {
		wh_dds_policies_free(&then);
		return result;
	}
	wh_dds_policies_free(policies);
	*policies = then;
	return WHORL_DDS_RETCODE_OK;
}

/* ---- writing -------------------------------------------------------------------------------------------------------------- */

/* What may be misread is %20; in a string of JSON, too, where the text may be put. */
static void print_bytes(FILE *out, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] > ' ' && bytes[i] <= '~' && strchr("%,\"\\", bytes[i]) == NULL)
			fputc(bytes[i], out);
		else
			fprintf(out, "%%%02x", bytes[i]);
	}
}

static void print_names(FILE *out, const struct wh_dds_policies *policies)
{
	for (const char *name = wh_dds_partition_next(policies, NULL); name != NULL;
	     name = wh_dds_partition_next(policies, name)) {
		fputs(name == wh_dds_partition_next(policies, NULL) ? "" : ",", out);
		print_bytes(out, (const unsigned char *)name, strlen(name));
	}
}

void wh_dds_policies_print(FILE *out, const struct wh_dds_policies *policies, uint64_t mask)
{
	const char *separator = "";

	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];
		const struct wh_dds_octets *octets = wh_dds_field_bytes(policies, field);
		char value[WH_DDS_VALUE_BYTES];

		if ((mask >> field->policy & 1) == 0 || wh_dds_field_is_lacking(policies, field))
			continue;
		fprintf(out, "%s%s%s%s=", separator, wh_dds_policy_name(field->policy), field->main ? "" : ".",
			field->main ? "" : field->key);
		separator = " ";
		if (field->kind == WH_DDS_NAMES)
			print_names(out, policies);
		else if (field->kind == WH_DDS_DATA)
			print_bytes(out, octets->bytes, octets->count);
		else
			fputs(wh_dds_field_text(field, wh_dds_field_load(policies, field), value, sizeof(value)), out);
	}
}
