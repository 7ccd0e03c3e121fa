/* text.c - types as people write them: `long w; @key long n; string<16> name; double v[3]`, after IDL. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dds/type/type_int.h"

static const struct {
	const char *words;
	uint32_t kind;
} kinds[] = {
	{"boolean", WHORL_DDS_FIELD_BOOL},  {"char", WHORL_DDS_FIELD_CHAR},
	{"int8", WHORL_DDS_FIELD_INT8},     {"octet", WHORL_DDS_FIELD_UINT8},
	{"uint8", WHORL_DDS_FIELD_UINT8},   {"short", WHORL_DDS_FIELD_INT16},
	{"int16", WHORL_DDS_FIELD_INT16},   {"unsigned short", WHORL_DDS_FIELD_UINT16},
	{"uint16", WHORL_DDS_FIELD_UINT16}, {"long", WHORL_DDS_FIELD_INT32},
	{"int32", WHORL_DDS_FIELD_INT32},   {"unsigned long", WHORL_DDS_FIELD_UINT32},
	{"uint32", WHORL_DDS_FIELD_UINT32}, {"long long", WHORL_DDS_FIELD_INT64},
	{"int64", WHORL_DDS_FIELD_INT64},   {"unsigned long long", WHORL_DDS_FIELD_UINT64},
	{"uint64", WHORL_DDS_FIELD_UINT64}, {"float", WHORL_DDS_FIELD_FLOAT},
	{"double", WHORL_DDS_FIELD_DOUBLE},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(*kinds))
#define BYTES_MOST (1U << 28) /* of a field */

struct parser {
	const char *text, *begin, *at; /* of all, of the word, behind it */
	struct wh_error *err;
	struct whorl_dds_type type;
	struct whorl_dds_field fields[WH_DDS_FIELDS_MAX];
	char names[WH_DDS_FIELDS_MAX][64];
	char word[64]; /* the last one, or a sign; "" at the end */
};

static whorl_dds_return complain(const struct parser *parser, const char *expected)
{
	wh_error_set(parser->err, WHORL_INVALID, "byte %zu of the type: expected %s, found \"%s\"",
		     (size_t)(parser->begin - parser->text), expected, parser->word);
	return WHORL_DDS_RETCODE_BAD_PARAMETER;
}

static bool is_of_word(char c)
{
	return c == '_' || c == '.' || c == '@' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Goes to the next word or sign. One that is too long is cut, and then is none that is known. */
static void next(struct parser *parser)
{
	size_t length = 0;

	parser->at += strspn(parser->at, " \t\r\n");
	parser->begin = parser->at;
	while (is_of_word(parser->at[length]))
		length++;
	length += length == 0 && *parser->at != '\0';
	snprintf(parser->word, sizeof(parser->word), "%.*s", (int)length, parser->at);
	parser->at += length;
}

static bool is(const struct parser *parser, const char *word)
{
	return strcmp(parser->word, word) == 0;
}

/* `16`, and behind it the sign that ends it. */
static bool parse_count(struct parser *parser, const char *end, uint32_t *count)
{
	char *behind;
	unsigned long number;

	next(parser);
	number = strtoul(parser->word, &behind, 10);
	if (parser->word[0] < '0' || parser->word[0] > '9' || *behind != '\0' || number == 0 || number > BYTES_MOST)
		return false;
	*count = (uint32_t)number;
	next(parser);
	return is(parser, end);
}

static void add_word(struct parser *parser, char *words, size_t bytes)
{
	wh_text_add(words, bytes, "%s%s", words[0] != '\0' ? " " : "", parser->word);
	next(parser);
}

/* The words of a type; afterwards the word is what is behind them. */
static whorl_dds_return parse_kind(struct parser *parser, struct whorl_dds_field *field)
{
	const char *begin = parser->begin;
	char words[128] = "";

	if (is(parser, "string")) {
		next(parser);
		field->kind = WHORL_DDS_FIELD_CHAR;
		if (!is(parser, "<") || !parse_count(parser, ">", &field->count))
			return complain(parser, "string<BYTES>");
		next(parser);
		return WHORL_DDS_RETCODE_OK;
	}
	add_word(parser, words, sizeof(words));
	if (strcmp(words, "unsigned") == 0)
		add_word(parser, words, sizeof(words));
	if ((strcmp(words, "long") == 0 || strcmp(words, "unsigned long") == 0) && is(parser, "long"))
		add_word(parser, words, sizeof(words));
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (strcmp(words, kinds[i].words) == 0) {
			field->kind = kinds[i].kind;
			return WHORL_DDS_RETCODE_OK;
		}
	}
	wh_error_set(parser->err, WHORL_INVALID, "byte %zu of the type: there is no type \"%s\"",
		     (size_t)(begin - parser->text), words);
	return WHORL_DDS_RETCODE_BAD_PARAMETER;
}

/* `@key long n[3]`, and where it lies. */
static whorl_dds_return parse_field(struct parser *parser)
{
	struct whorl_dds_field *field;
	whorl_dds_return result;
	uint32_t align;
	char *name;

	if (parser->type.field_count >= WH_DDS_FIELDS_MAX)
		return complain(parser, "at most 256 fields");
	field = &parser->fields[parser->type.field_count];
	name = parser->names[parser->type.field_count];
	*field = (struct whorl_dds_field){.size = sizeof(*field), .count = 1, .name = name};
	if (is(parser, "@key")) {
		field->flags = WHORL_DDS_FIELD_IS_KEY;
		next(parser);
	}
	result = parse_kind(parser, field);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (parser->word[0] == '\0' || !is_of_word(parser->word[0]))
		return complain(parser, "a name");
	memcpy(name, parser->word, sizeof(parser->word));
	next(parser);
	if (is(parser, "[")) {
		if (field->count != 1 || !parse_count(parser, "]", &field->count))
			return complain(parser, "[COUNT], of what is no string");
		next(parser);
	}
	align = wh_dds_kind_bytes(field->kind);
	field->offset = (parser->type.bytes + align - 1) & ~(align - 1);
	if ((uint64_t)field->count * align > BYTES_MOST - field->offset)
		return complain(parser, "less than 256 MB");
	parser->type.bytes = field->offset + field->count * align;
	parser->type.align = align > parser->type.align ? align : parser->type.align;
	parser->type.field_count++;
	return WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return parse(struct parser *parser)
{
	next(parser);
	while (parser->word[0] != '\0') {
		whorl_dds_return result = parse_field(parser);

		if (result != WHORL_DDS_RETCODE_OK)
			return result;
		if (parser->word[0] != '\0' && !is(parser, ";"))
			return complain(parser, "; between fields");
		if (is(parser, ";"))
			next(parser);
	}
	if (parser->type.field_count == 0)
		return complain(parser, "fields, as in \"long w; @key long n\"");
	parser->type.bytes = (parser->type.bytes + parser->type.align - 1) & ~(parser->type.align - 1);
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return wh_dds_type_parse(struct whorl_dds_type **out, const char *name, const char *text,
				   struct wh_error *err)
{
	struct parser *parser = calloc(1, sizeof(*parser));
	whorl_dds_return result;

	*out = NULL;
	if (parser == NULL)
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	parser->text = parser->at = text;
	parser->err = err;
	parser->type = (struct whorl_dds_type){
		.size = sizeof(parser->type), .name = name, .align = 1, .fields = parser->fields};
	result = parse(parser);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_type_new(out, &parser->type, err);
	free(parser);
	return result;
}
