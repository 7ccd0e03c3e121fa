/* option.c - values to text and back, as an option table says. */
#include "base/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The factor of a suffix, 0 if there is no such suffix. */
static int64_t suffix_factor(const char *suffix, bool bytes)
{
	const int64_t kilo = bytes ? 1024 : 1000;

	if (suffix[0] == '\0')
		return 1;
	if (suffix[1] != '\0')
		return 0;
	switch (suffix[0]) {
	case 'k':
	case 'K':
		return kilo;
	case 'm':
	case 'M':
		return kilo * kilo;
	case 'g':
	case 'G':
		return kilo * kilo * kilo;
	default:
		return 0;
	}
}

/* Digits, a minus before them or not, a suffix behind them or not; no other base, no plus, no blanks. False if it is
 * none of these, or does not fit. */
static bool parse_integer(const char *text, bool bytes, int64_t *out)
{
	bool negative = *text == '-';
	const char *digit = text + negative;
	bool overflow = false;
	int64_t value = 0, factor;

	if (*digit < '0' || *digit > '9')
		return false;
	for (; *digit >= '0' && *digit <= '9'; digit++) {
		int64_t unit = negative ? '0' - *digit : *digit - '0'; /* INT64_MIN has no positive twin */

		overflow |= __builtin_mul_overflow(value, 10, &value);
		overflow |= __builtin_add_overflow(value, unit, &value);
	}
	factor = suffix_factor(digit, bytes);
	overflow |= __builtin_mul_overflow(value, factor, &value);
	if (factor == 0 || overflow)
		return false;
	*out = value;
	return true;
}

const char *wh_option_expected(const struct wh_option *option, char *buf, size_t bytes)
{
	if (bytes > 0)
		buf[0] = '\0';
	switch (option->kind) {
	case WH_OPTION_INTEGER:
		wh_text_add(buf, bytes, "%" PRId64 " to %" PRId64, option->least, option->most);
		break;
	case WH_OPTION_SWITCH:
		wh_text_add(buf, bytes, "on | off");
		break;
	case WH_OPTION_CHOICE:
		for (size_t i = 0; option->choices[i] != NULL; i++)
			wh_text_add(buf, bytes, "%s%s", i == 0 ? "one of " : ", ", option->choices[i]);
		break;
	case WH_OPTION_TEXT:
		wh_text_add(buf, bytes, "text of at most %d bytes", WH_OPTION_TEXT_BYTES - 1);
		break;
	}
	return buf;
}

/* "is "x", expected y" */
static enum whorl_result refuse_value(const struct wh_option *option, const char *value, struct wh_error *err)
{
	char expected[512];
	const char *ellipsis;
	int quoted = wh_error_quote(value, strlen(value), &ellipsis);

	if (option->kind == WH_OPTION_SWITCH)
		snprintf(expected, sizeof(expected), "on or off");
	else
		wh_option_expected(option, expected, sizeof(expected));
	return wh_error_set(err, WHORL_CONFIG, "is \"%.*s%s\", expected %s%s", quoted, value, ellipsis,
			    option->kind == WH_OPTION_INTEGER ? "a number from " : "", expected);
}

static enum whorl_result parse_text(const char *value, char *field, struct wh_error *err)
{
	size_t length = strlen(value);

	if (length >= WH_OPTION_TEXT_BYTES)
		return wh_error_set(err, WHORL_CONFIG, "is %zu bytes long, expected at most %d", length,
				    WH_OPTION_TEXT_BYTES - 1);
	memset(field, 0, WH_OPTION_TEXT_BYTES); /* so that two structs of equal values are equal bytes */
	memcpy(field, value, length);
	return WHORL_OK;
}

static enum whorl_result parse_value(const struct wh_option *option, const char *value, void *out, struct wh_error *err)
{
	char *field = (char *)out + option->offset;
	int64_t number;

	switch (option->kind) {
	case WH_OPTION_INTEGER:
		if (!parse_integer(value, strcmp(option->unit, "bytes") == 0, &number) || number < option->least ||
		    number > option->most)
			return refuse_value(option, value, err);
		memcpy(field, &number, sizeof(number));
		return WHORL_OK;
	case WH_OPTION_SWITCH:
		if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
			return refuse_value(option, value, err);
		memcpy(field, &(bool){strcmp(value, "on") == 0}, sizeof(bool));
		return WHORL_OK;
	case WH_OPTION_CHOICE:
		for (int i = 0; option->choices[i] != NULL; i++) {
			if (strcmp(value, option->choices[i]) == 0) {
				memcpy(field, &i, sizeof(i));
				return WHORL_OK;
			}
		}
		return refuse_value(option, value, err);
	case WH_OPTION_TEXT:
		return parse_text(value, field, err);
	}
	return wh_error_set(err, WHORL_CONFIG, "is of kind %d, which does not exist", (int)option->kind);
}

enum whorl_result wh_option_parse(const struct wh_option *option, const char *value, void *out, struct wh_error *err)
{
	return parse_value(option, value, out, err);
}

void wh_option_defaults(const struct wh_option_table *table, void *out)
{
	memset(out, 0, table->bytes);
	for (size_t i = 0; i < table->count; i++)
		parse_value(&table->options[i], table->options[i].fallback, out, NULL);
}

const char *wh_option_header(const struct wh_option_table *table, char *buf, size_t bytes)
{
	static const char *const names[] = {"", " NAME", " PATTERN"}; /* as enum wh_option_naming */

	snprintf(buf, bytes, "%s%s", table->section, names[table->naming]);
	return buf;
}

const struct wh_option *wh_option_find(const struct wh_option_table *table, const char *key)
{
	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->options[i].key, key) == 0)
			return &table->options[i];
	}
	return NULL;
}

static size_t field_bytes(enum wh_option_kind kind)
{
	switch (kind) {
	case WH_OPTION_INTEGER:
		return sizeof(int64_t);
	case WH_OPTION_SWITCH:
		return sizeof(bool);
	case WH_OPTION_CHOICE:
		return sizeof(int);
	case WH_OPTION_TEXT:
		return WH_OPTION_TEXT_BYTES;
	}
	return 0;
}

static enum whorl_result check_option(const struct wh_option_table *table, const struct wh_option *option,
				      struct wh_error *err)
{
	if (option->unit == NULL || option->fallback == NULL || option->meaning == NULL)
		return wh_error_set(err, WHORL_INVALID, "unit, fallback or meaning is missing");
	if (wh_option_find(table, option->key) != option)
		return wh_error_set(err, WHORL_INVALID, "the key is there twice");
	if (field_bytes(option->kind) == 0 || option->offset > table->bytes ||
	    table->bytes - option->offset < field_bytes(option->kind))
		return wh_error_set(err, WHORL_INVALID, "the value lies outside of the struct");
	if (option->kind == WH_OPTION_CHOICE && (option->choices == NULL || option->choices[0] == NULL))
		return wh_error_set(err, WHORL_INVALID, "there is nothing to choose from");
	if (option->kind == WH_OPTION_TEXT && option->sweep)
		return wh_error_set(err, WHORL_INVALID, "a text cannot be a list: its commas are its own");
	return WHORL_OK;
}

enum whorl_result wh_option_table_check(const struct wh_option_table *table, struct wh_error *err)
{
	void *values = calloc(1, table->bytes);
	enum whorl_result result = WHORL_OK;

	if (values == NULL)
		return wh_error_set(err, WHORL_MEMORY, "[%s]: memory is out", table->section);
	for (size_t i = 0; i < table->count && result == WHORL_OK; i++) {
		const struct wh_option *option = &table->options[i];

		result = check_option(table, option, err);
		if (result == WHORL_OK)
			result = parse_value(option, option->fallback, values, err);
		if (result != WHORL_OK && err != NULL)
			wh_error_prefix(err, "%s.%s", table->section, option->key);
	}
	free(values);
	return result;
}
