/* json.c - samples as JSON, by the description of their fields.
 *
 * Integers and booleans are what they are in JSON, floating-point numbers too, or "nan", "inf", "-inf"; texts, and single chars, are strings; an
 * array is an array. A text's bytes that are no UTF-8 are written as the characters of their numbers. Behind the head of a type of
 * bytes: "bytes", in hexadecimal digits.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dds/type/type_int.h"

static bool is_text(const struct whorl_dds_field *field)
{
	return field->kind == WHORL_DDS_FIELD_CHAR;
}

static bool is_open(const struct whorl_dds_type *type)
{
	return (type->flags & WHORL_DDS_TYPE_BYTES) != 0;
}

/* What a decimal point is must not depend on the program. In glibc this locale costs no memory, so it is always there. */
static locale_t enter_c_locale(void)
{
	return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

/* ---- writing ---------------------------------------------------------------------------------------------------------------- */

static void write_text(FILE *out, const unsigned char *text, size_t length)
{
	unsigned code;

	fputc('"', out);
	for (size_t at = 0, bytes; at < length; at += bytes) {
		bytes = wh_text_utf8(text + at, length - at, &code);
		if (bytes == 0 || code < ' ' || code == 0x7f)
			fprintf(out, "\\u%04x", text[at]);
		else
			fprintf(out, "%s%.*s", text[at] == '"' || text[at] == '\\' ? "\\" : "", (int)bytes, text + at);
		bytes += bytes == 0;
	}
	fputc('"', out);
}

static void write_real(FILE *out, double value, int digits)
{
	if (isnan(value))
		fputs("\"nan\"", out);
	else if (isinf(value))
		fputs(value < 0 ? "\"-inf\"" : "\"inf\"", out);
	else
		fprintf(out, "%.*g", digits, value);
}

/* A number of so many bytes, with its sign if it has one. */
static int64_t load_integer(const unsigned char *at, uint32_t bytes, bool is_signed)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < bytes; i++) {
		uint8_t byte = at[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bytes - 1 - i : i];

		value = value << 8 | byte;
	}
	if (is_signed && bytes < 8 && (value >> (8 * bytes - 1) & 1) != 0)
		value |= UINT64_MAX << 8 * bytes;
	return (int64_t)value;
}

static void write_element(FILE *out, const struct whorl_dds_field *field, const unsigned char *at)
{
	uint32_t bytes = wh_dds_kind_bytes(field->kind);
	double real;
	float half;

	switch (field->kind) {
	case WHORL_DDS_FIELD_BOOL:
		fputs(*at != 0 ? "true" : "false", out);
		break;
	case WHORL_DDS_FIELD_FLOAT:
		memcpy(&half, at, sizeof(half));
		write_real(out, (double)half, 9);
		break;
	case WHORL_DDS_FIELD_DOUBLE:
		memcpy(&real, at, sizeof(real));
		write_real(out, real, 17);
		break;
	case WHORL_DDS_FIELD_INT8:
	case WHORL_DDS_FIELD_INT16:
	case WHORL_DDS_FIELD_INT32:
	case WHORL_DDS_FIELD_INT64:
		fprintf(out, "%" PRId64, load_integer(at, bytes, true));
		break;
	default:
		fprintf(out, "%" PRIu64, (uint64_t)load_integer(at, bytes, false));
		break;
	}
}

static void write_field(FILE *out, const struct whorl_dds_field *field, const unsigned char *at)
{
	fprintf(out, "\"%s\":", field->name);
	if (is_text(field)) {
		write_text(out, at, strnlen((const char *)at, field->count));
		return;
	}
	if (field->count > 1)
		fputc('[', out);
	for (uint32_t i = 0; i < field->count; i++) {
		if (i > 0)
			fputc(',', out);
		write_element(out, field, at + i * wh_dds_kind_bytes(field->kind));
	}
	if (field->count > 1)
		fputc(']', out);
}

whorl_dds_return wh_dds_type_json(FILE *out, const struct whorl_dds_type *type, const void *sample, size_t bytes)
{
	const unsigned char *from = sample;
	locale_t before;

	if (type->field_count == 0 && !is_open(type))
		return WHORL_DDS_RETCODE_UNSUPPORTED;
	if (!wh_dds_type_fits(type, bytes))
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	before = enter_c_locale();
	fputc('{', out);
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct whorl_dds_field *field = wh_dds_field_at(type, i);

		if (i > 0)
			fputc(',', out);
		write_field(out, field, from + field->offset);
	}
	if (is_open(type)) {
		fprintf(out, "%s\"bytes\":\"", type->field_count > 0 ? "," : "");
		for (size_t i = type->bytes; i < bytes; i++)
			fprintf(out, "%02x", from[i]);
		fputc('"', out);
	}
	fputc('}', out);
	uselocale(before);
	return WHORL_DDS_RETCODE_OK;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------ */

struct parser {
	const struct whorl_dds_type *type;
	const char *text, *at;
	unsigned char *sample;
	size_t room, bytes; /* of the memory; of the sample so far */
	uint64_t seen[(WH_DDS_FIELDS_MAX + 64) / 64];
	struct wh_error *err;
	const char *member; /* that is being read; "" */
};

static bool complain(struct parser *parser, const char *wrong)
{
	wh_error_set(parser->err, WHORL_INVALID, "byte %zu of the object%s%s: %s", (size_t)(parser->at - parser->text),
		     parser->member[0] != '\0' ? ", " : "", parser->member, wrong);
	return false;
}

static char peek(struct parser *parser)
{
	parser->at += strspn(parser->at, " \t\r\n");
	return *parser->at;
}

static bool expect(struct parser *parser, char sign)
{
	char wrong[] = "expected ?";

	if (peek(parser) != sign) {
		wrong[sizeof(wrong) - 2] = sign;
		return complain(parser, wrong);
	}
	parser->at++;
	return true;
}

static bool parse_hex4(struct parser *parser, uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++) {
		int digit = wh_text_digit(*parser->at);

		if (digit < 0)
			return complain(parser, "expected four hexadecimal digits");
		*out = *out << 4 | (uint32_t)digit;
		parser->at++;
	}
	return true;
}

/* Behind a backslash. Writes the character as UTF-8; returns how many bytes, 0 if it is none. */
static size_t parse_escape(struct parser *parser, char out[4])
{
	static const char signs[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *sign = *parser->at != '\0' ? strchr(signs, *parser->at) : NULL;
	uint32_t code, low;

	if (sign != NULL) {
		out[0] = meant[sign - signs];
		parser->at++;
		return 1;
	}
	if (*parser->at++ != 'u')
		return complain(parser, "there is no such escape");
	if (!parse_hex4(parser, &code))
		return 0;
	if (code >= 0xd800 && code < 0xdc00) {
		if (strncmp(parser->at, "\\u", 2) != 0)
			return complain(parser, "half of a pair");
		parser->at += 2;
		if (!parse_hex4(parser, &low) || low < 0xdc00 || low > 0xdfff)
			return complain(parser, "half of a pair");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	if (code >= 0xdc00 && code <= 0xdfff)
		return complain(parser, "half of a pair");
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* A string, into so many bytes; *length: of it. It has no zero behind it. */
static bool parse_string(struct parser *parser, char *out, size_t room, size_t *length)
{
	*length = 0;
	if (!expect(parser, '"'))
		return false;
	while (*parser->at != '"') {
		char character[4];
		size_t bytes = 1;

		if ((unsigned char)*parser->at < ' ')
			return complain(parser, "the string does not end");
		character[0] = *parser->at++;
		if (character[0] == '\\')
			bytes = parse_escape(parser, character);
		if (bytes == 0)
			return false;
		if (bytes > room - *length)
			return complain(parser, "the string is too long");
		memcpy(out + *length, character, bytes);
		*length += bytes;
	}
	parser->at++;
	return true;
}

/* ---- reading: values ------------------------------------------------------------------------------------------------------------ */

/* A number of JSON: digits without a zero before them, and so on. Returns its length; 0: it is none. */
static size_t number_length(const char *text, bool *integer)
{
	size_t at = text[0] == '-', digits = strspn(text + at, "0123456789");

	*integer = true;
	if (digits == 0 || (digits > 1 && text[at] == '0'))
		return 0;
	at += digits;
	if (text[at] == '.') {
		*integer = false;
		digits = strspn(text + at + 1, "0123456789");
		if (digits == 0)
			return 0;
		at += 1 + digits;
	}
	if (text[at] == 'e' || text[at] == 'E') {
		*integer = false;
		at++;
		at += text[at] == '+' || text[at] == '-';
		digits = strspn(text + at, "0123456789");
		if (digits == 0)
			return 0;
		at += digits;
	}
	return at;
}

static bool parse_real(struct parser *parser, const struct whorl_dds_field *field, unsigned char *to)
{
	double value;
	float half;
	bool integer;
	size_t length = number_length(parser->at, &integer);
	char name[8];

	if (peek(parser) == '"') {
		if (!parse_string(parser, name, sizeof(name) - 1, &length))
			return false;
		name[length] = '\0';
		if (strcmp(name, "nan") != 0 && strcmp(name, "inf") != 0 && strcmp(name, "-inf") != 0)
			return complain(parser, "expected a number, \"nan\", \"inf\" or \"-inf\"");
		value = name[0] == 'n' ? (double)NAN : name[0] == '-' ? -(double)INFINITY : (double)INFINITY;
	} else {
		if (length == 0)
			return complain(parser, "expected a number");
		value = strtod(parser->at, NULL);
		parser->at += length;
		if (isinf(value) || (field->kind == WHORL_DDS_FIELD_FLOAT && isinf((float)value)))
			return complain(parser, "the number is too large");
	}
	half = (float)value;
	if (field->kind == WHORL_DDS_FIELD_FLOAT)
		memcpy(to, &half, sizeof(half));
	else
		memcpy(to, &value, sizeof(value));
	return true;
}

static bool parse_integer(struct parser *parser, const struct whorl_dds_field *field, unsigned char *to)
{
	uint32_t bytes = wh_dds_kind_bytes(field->kind);
	bool is_signed = field->kind == WHORL_DDS_FIELD_INT8 || field->kind == WHORL_DDS_FIELD_INT16 ||
			 field->kind == WHORL_DDS_FIELD_INT32 || field->kind == WHORL_DDS_FIELD_INT64;
	uint64_t most = UINT64_MAX >> (64 - 8 * bytes + is_signed), value = 0;
	bool negative = *parser->at == '-', integer, overflow = false;
	size_t length = number_length(parser->at, &integer);

	if (length == 0 || !integer)
		return complain(parser, "expected a number without a fraction");
	for (size_t i = negative; i < length; i++) {
		overflow |= __builtin_mul_overflow(value, 10, &value);
		overflow |= __builtin_add_overflow(value, (uint64_t)(parser->at[i] - '0'), &value);
	}
	if (overflow || (negative && !is_signed && value > 0) || value > most + (negative && is_signed))
		return complain(parser, "the number is out of its range");
	parser->at += length;
	value = negative ? -value : value;
	for (uint32_t i = 0; i < bytes; i++)
		to[__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : bytes - 1 - i] = (unsigned char)(value >> 8 * i);
	return true;
}

static bool parse_element(struct parser *parser, const struct whorl_dds_field *field, unsigned char *to)
{
	peek(parser);
	if (field->kind == WHORL_DDS_FIELD_FLOAT || field->kind == WHORL_DDS_FIELD_DOUBLE)
		return parse_real(parser, field, to);
	if (field->kind != WHORL_DDS_FIELD_BOOL)
		return parse_integer(parser, field, to);
	*to = strncmp(parser->at, "true", 4) == 0;
	if (*to == 0 && strncmp(parser->at, "false", 5) != 0)
		return complain(parser, "expected true or false");
	parser->at += *to ? 4 : 5;
	return true;
}

static bool parse_value(struct parser *parser, const struct whorl_dds_field *field)
{
	unsigned char *to = parser->sample + field->offset;
	size_t length;

	if (is_text(field))
		return parse_string(parser, (char *)to, field->count, &length);
	if (field->count == 1)
		return parse_element(parser, field, to);
	for (uint32_t i = 0; i < field->count; i++)
		if (!expect(parser, i == 0 ? '[' : ',') ||
		    !parse_element(parser, field, to + i * wh_dds_kind_bytes(field->kind)))
			return false;
	return expect(parser, ']');
}

/* Behind the head of a type of bytes. */
static bool parse_bytes(struct parser *parser)
{
	if (!expect(parser, '"'))
		return false;
	for (; *parser->at != '"'; parser->at += 2) {
		int high = wh_text_digit(parser->at[0]), low = high >= 0 ? wh_text_digit(parser->at[1]) : -1;

		if (low < 0)
			return complain(parser, "expected pairs of hexadecimal digits");
		if (parser->bytes == parser->room || parser->bytes == parser->type->bytes_max)
			return complain(parser, "these are too many bytes");
		parser->sample[parser->bytes++] = (unsigned char)(high * 16 + low);
	}
	parser->at++;
	return true;
}

/* ---- reading: objects ------------------------------------------------------------------------------------------------------------- */

static bool parse_member(struct parser *parser)
{
	const struct whorl_dds_type *type = parser->type;
	char name[WHORL_DDS_NAME_BYTES];
	size_t length;
	uint32_t i = 0;

	if (!parse_string(parser, name, sizeof(name) - 1, &length))
		return false;
	name[length] = '\0';
	while (i < type->field_count && strcmp(wh_dds_field_at(type, i)->name, name) != 0)
		i++;
	if (strlen(name) != length || (i == type->field_count && !(is_open(type) && strcmp(name, "bytes") == 0)))
		return complain(parser, "the type has no such field");
	parser->member = i < type->field_count ? wh_dds_field_at(type, i)->name : "bytes";
	if ((parser->seen[i / 64] >> i % 64 & 1) != 0)
		return complain(parser, "it is there twice");
	parser->seen[i / 64] |= UINT64_C(1) << i % 64;
	if (!expect(parser, ':'))
		return false;
	if (i == type->field_count ? !parse_bytes(parser) : !parse_value(parser, wh_dds_field_at(type, i)))
		return false;
	parser->member = "";
	return true;
}

static bool parse_object(struct parser *parser)
{
	if (!expect(parser, '{'))
		return false;
	if (peek(parser) == '}') {
		parser->at++;
	} else {
		do {
			if (!parse_member(parser))
				return false;
		} while (peek(parser) == ',' && parser->at++ != NULL);
		if (!expect(parser, '}'))
			return false;
	}
	return peek(parser) == '\0' || complain(parser, "there is more behind it");
}

whorl_dds_return wh_dds_type_from_json(const struct whorl_dds_type *type, const char *text, void *sample, size_t room,
				       struct wh_error *err)
{
	struct parser parser = {.type = type,
				.text = text,
				.at = text,
				.sample = sample,
				.room = room,
				.bytes = type->bytes,
				.err = err,
				.member = ""};
	locale_t before;
	bool good;

	if (type->field_count == 0 && !is_open(type)) {
		wh_error_set(err, WHORL_UNSUPPORTED, "the fields of the type are not described");
		return WHORL_DDS_RETCODE_UNSUPPORTED;
	}
	if (room < type->bytes) {
		wh_error_set(err, WHORL_INVALID, "there is room for %zu bytes, a sample has %" PRIu32, room,
			     type->bytes);
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	}
	memset(sample, 0, type->bytes);
	before = enter_c_locale();
	good = parse_object(&parser);
	uselocale(before);
	return good ? (whorl_dds_return)parser.bytes : WHORL_DDS_RETCODE_BAD_PARAMETER;
}
