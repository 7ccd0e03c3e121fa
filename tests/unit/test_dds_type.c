/* test_dds_type.c - types of topics: what the macro makes, checks, keys, bytes, texts, samples as JSON.
 * Labels: random
 */
#include <math.h>
#include <string.h>

#include "dds/type/type_int.h"
#include "tests/harness.h"
#include "transport/dice.h"

#define OK WHORL_DDS_RETCODE_OK
#define BAD WHORL_DDS_RETCODE_BAD_PARAMETER

struct inner {
	double depth;
};

struct pose {
	int32_t id;
	char name[8];
	double x;
	float f[2];
	bool on;
	signed char i8;
	unsigned char u8;
	short i16;
	unsigned short u16;
	unsigned u32;
	long i64;
	unsigned long long u64;
	char letter;
	struct inner inner;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_KEY(struct pose, name),
	       WHORL_DDS_FIELD(struct pose, x), WHORL_DDS_FIELD(struct pose, f), WHORL_DDS_FIELD(struct pose, on),
	       WHORL_DDS_FIELD(struct pose, i8), WHORL_DDS_FIELD(struct pose, u8), WHORL_DDS_FIELD(struct pose, i16),
	       WHORL_DDS_FIELD(struct pose, u16), WHORL_DDS_FIELD(struct pose, u32), WHORL_DDS_FIELD(struct pose, i64),
	       WHORL_DDS_FIELD(struct pose, u64), WHORL_DDS_FIELD(struct pose, letter),
	       WHORL_DDS_FIELD(struct pose, inner.depth));

struct pointed {
	int32_t id;
	char *name;
};

WHORL_DDS_TYPE(pointed_type, struct pointed, WHORL_DDS_KEY(struct pointed, id), WHORL_DDS_FIELD(struct pointed, name));

static const char pose_words[] =
	"@key long id; @key string<8> name; double x; float f[2]; boolean on; int8 i8; octet u8; short i16; unsigned short u16; "
	"unsigned long u32; long long i64; unsigned long long u64; char letter; double inner.depth";

static const struct whorl_dds_type bytes_type = {
	.size = sizeof(bytes_type), .name = "bytes", .align = 1, .flags = WHORL_DDS_TYPE_BYTES, .bytes_max = 1000};

static struct whorl_dds_type *type, *other;
static struct wh_error err;
static char *text;
static size_t text_bytes;

static void begin(void)
{
	wh_error_clear(&err);
	ck_assert_int_eq(wh_dds_type_new(&type, &pose_type, &err), OK);
	other = NULL;
}

static void end(void)
{
	wh_dds_type_free(type);
	wh_dds_type_free(other);
}

static struct whorl_dds_type *parse(const char *name, const char *words)
{
	whorl_dds_return result;

	wh_dds_type_free(other);
	result = wh_dds_type_parse(&other, name, words, &err);
	ck_assert_msg(result == OK, "%s: %s", words, err.text);
	return other;
}

/* ---- what types are ------------------------------------------------------------------------------------------------------- */

START_TEST(the_macro_knows_the_fields)
{
	static const uint32_t kinds[] = {
		WHORL_DDS_FIELD_INT32,  WHORL_DDS_FIELD_CHAR,   WHORL_DDS_FIELD_DOUBLE, WHORL_DDS_FIELD_FLOAT,
		WHORL_DDS_FIELD_BOOL,   WHORL_DDS_FIELD_INT8,   WHORL_DDS_FIELD_UINT8,  WHORL_DDS_FIELD_INT16,
		WHORL_DDS_FIELD_UINT16, WHORL_DDS_FIELD_UINT32, WHORL_DDS_FIELD_INT64,  WHORL_DDS_FIELD_UINT64,
		WHORL_DDS_FIELD_CHAR,   WHORL_DDS_FIELD_DOUBLE,
	};

	ck_assert_uint_eq(type->field_count, sizeof(kinds) / sizeof(*kinds));
	for (uint32_t i = 0; i < type->field_count; i++)
		ck_assert_uint_eq(type->fields[i].kind, kinds[i]);
	ck_assert_str_eq(type->name, "struct pose");
	ck_assert_uint_eq(type->bytes, sizeof(struct pose));
	ck_assert_uint_eq(type->align, _Alignof(struct pose));
	ck_assert_uint_eq(type->fields[1].count, 8);
	ck_assert_uint_eq(type->fields[3].count, 2);
	ck_assert_str_eq(type->fields[13].name, "inner.depth");
	ck_assert_uint_eq(type->fields[13].offset, offsetof(struct pose, inner.depth));
	ck_assert_uint_eq(type->key_count, 2);
	ck_assert_uint_eq(type->keys[1].offset, offsetof(struct pose, name));
	ck_assert_uint_eq(type->keys[1].bytes, 8);
	ck_assert_uint_ne(type->hash, 0);
	ck_assert_int_eq(wh_dds_type_new(&other, &pointed_type, &err), BAD);
	ck_assert_str_eq(err.text, "field name is a pointer, or no number, text or array of numbers");
}
END_TEST

/* The words of a type, laid out as the compiler does it. */
START_TEST(words_are_the_same_type)
{
	ck_assert_uint_eq(parse("struct pose", pose_words)->hash, type->hash);
	ck_assert_uint_eq(parse("", pose_words)->hash, type->hash);
	ck_assert_ptr_eq(other->name + 1, strchr(other->name, '\0') + 1);
}
END_TEST

static const char *const others[] = {
	"long id",
	"@key long ix; @key string<8> name; double x[8]",
	"@key long id; @key string<8> name; double x[8]",
};

START_TEST(types_differ)
{
	ck_assert_uint_ne(parse("struct pose", others[_i])->hash, type->hash);
}
END_TEST

START_TEST(keys_and_hashes_differ)
{
	struct whorl_dds_type plain = *type;
	struct whorl_dds_field fields[14];

	memcpy(fields, type->fields, sizeof(fields));
	fields[1].flags = 0;
	plain.fields = fields;
	plain.key_count = 0;
	plain.hash = 0;
	ck_assert_int_eq(wh_dds_type_new(&other, &plain, &err), OK);
	ck_assert_uint_eq(other->key_count, 1);
	ck_assert_uint_ne(other->hash, type->hash);
	wh_dds_type_free(other);
	plain = *type;
	plain.hash = 5;
	ck_assert_int_eq(wh_dds_type_new(&other, &plain, &err), OK);
	ck_assert_uint_eq(other->hash, 5);
}
END_TEST

/* Each mistake in a type that is else right. */
START_TEST(mistakes_are_refused)
{
	static const char *const says[] = {
		"the size of the type is not set",
		"a type has a name of less than 256 bytes",
		"the name of a type is printable ASCII",
		"the type has unknown flags",
		"the alignment is a power of two up to 64, here 3",
		"the alignment is a power of two up to 64, here 128",
		"a sample has 1 to 1073741824 bytes, a multiple of its alignment, here 0",
		"a sample has 1 to 1073741824 bytes, a multiple of its alignment, here 97",
		"bytes_max is for WHORL_DDS_TYPE_BYTES, and no less than bytes there, here 5",
		"bytes_max is for WHORL_DDS_TYPE_BYTES, and no less than bytes there, here 5",
		"field 0: its size is not set",
		"field 0: its name must be letters, digits, _ and .",
		"field id: there is no kind 13",
		"field id does not lie in the 80 bytes of the type",
		"field id does not lie in the 80 bytes of the type",
		"field id does not lie in the 80 bytes of the type",
		"field id has unknown flags",
		"two fields are called id",
		"part 0 of the key does not lie in the 80 bytes of the type",
		"part 0 of the key does not lie in the 80 bytes of the type",
		"a key may have 64 parts, here are 65",
		"there may be 256 fields, here are 257",
		"a key has at most 64 parts and 1024 bytes, here 1 and 1025",
	};
	static const char name[300] = "";
	struct whorl_dds_field fields[14];
	struct whorl_dds_key key = {0, 4};
	struct whorl_dds_type wrong = *type;
	char long_name[300];

	memcpy(fields, type->fields, sizeof(fields));
	memset(long_name, 'x', sizeof(long_name));
	long_name[256] = '\0';
	wrong.fields = fields;
	wrong.key_count = _i >= 18 && _i <= 20 ? 1 : 0;
	wrong.keys = &key;
	switch (_i) {
	case 0:
		wrong.size = 8;
		break;
	case 1:
		wrong.name = long_name;
		break;
	case 2:
		wrong.name = "\t";
		break;
	case 3:
		wrong.flags = 2;
		break;
	case 4:
		wrong.align = 3;
		break;
	case 5:
		wrong.align = 128;
		break;
	case 6:
		wrong.bytes = 0;
		break;
	case 7:
		wrong.bytes = 97;
		break;
	case 8:
		wrong.bytes_max = 5;
		break;
	case 9:
		wrong.flags = WHORL_DDS_TYPE_BYTES;
		wrong.bytes_max = 5;
		break;
	case 10:
		fields[0].size = 8;
		break;
	case 11:
		fields[0].name = name;
		break;
	case 12:
		fields[0].kind = 13;
		break;
	case 13:
		fields[0].offset = 93;
		break;
	case 14:
		fields[0].count = 0;
		break;
	case 15:
		fields[0].count = 0x40000001;
		break;
	case 16:
		fields[0].flags = 2;
		break;
	case 17:
		fields[1].name = "id";
		break;
	case 18:
		key.bytes = 0;
		break;
	case 19:
		key.offset = 93;
		break;
	case 20:
		wrong.key_count = 65;
		break;
	case 21:
		wrong.field_count = 257;
		break;
	case 22:
		wrong.key_count = 1;
		wrong.bytes = 1032;
		key.bytes = 1025;
		break;
	}
	ck_assert_int_eq(wh_dds_type_new(&other, &wrong, &err), BAD);
	ck_assert_str_eq(err.text, says[_i]);
	ck_assert_ptr_null(other);
	ck_assert_int_eq(wh_dds_type_new(&other, &wrong, NULL), BAD);
}
END_TEST

static const struct {
	const char *words, *says;
} wrong_words[] = {
	{"", "byte 0 of the type: expected fields, as in \"long w; @key long n\", found \"\""},
	{"long", "byte 4 of the type: expected a name, found \"\""},
	{"lang w", "byte 0 of the type: there is no type \"lang\""},
	{"long w long n", "byte 7 of the type: expected ; between fields, found \"long\""},
	{"long w; w", "byte 8 of the type: there is no type \"w\""},
	{"string name", "byte 7 of the type: expected string<BYTES>, found \"name\""},
	{"string<0> name", "byte 7 of the type: expected string<BYTES>, found \"0\""},
	{"string<8> name[2]", "byte 14 of the type: expected [COUNT], of what is no string, found \"[\""},
	{"long v[", "byte 7 of the type: expected [COUNT], of what is no string, found \"\""},
	{"long v[-1]", "byte 7 of the type: expected [COUNT], of what is no string, found \"-\""},
	{"long v[268435456]", "byte 17 of the type: expected less than 256 MB, found \"\""},
	{"unsigned double x", "byte 0 of the type: there is no type \"unsigned double\""},
	{"long long long x", "byte 15 of the type: expected ; between fields, found \"x\""},
	{"long 1x", "field 0: its name must be letters, digits, _ and ."},
	{"long a; long a", "two fields are called a"},
	{"long a;; long b", "byte 7 of the type: there is no type \";\""},
};

START_TEST(wrong_words_are_refused)
{
	ck_assert_int_eq(wh_dds_type_parse(&other, "", wrong_words[_i].words, &err), BAD);
	ck_assert_str_eq(err.text, wrong_words[_i].says);
}
END_TEST

/* ---- keys ------------------------------------------------------------------------------------------------------------------- */

START_TEST(keys_are_taken_out_and_put_in)
{
	struct pose pose = {.id = 5, .name = "abc\0xyz", .x = 3.0}, same = {.id = 5, .name = "abc\0zyx", .x = 4.0};
	unsigned char key[12], hash[WH_DDS_HASH_BYTES], second[WH_DDS_HASH_BYTES];
	const unsigned char expected[WH_DDS_HASH_BYTES] = {5, 0, 0, 0, 'a', 'b', 'c'};

	ck_assert_uint_eq(wh_dds_type_key_bytes(type), 12);
	ck_assert(wh_dds_type_is_keyed(type));
	wh_dds_type_key_hash(type, &pose, hash);
	wh_dds_type_key_hash(type, &same, second);
	ck_assert_mem_eq(hash, expected, sizeof(hash));
	ck_assert_mem_eq(hash, second, sizeof(hash)); /* behind the end of a text is nothing */
	wh_dds_type_key(type, &pose, key);
	memset(&same, 0xff, sizeof(same));
	wh_dds_type_from_key(type, key, &same);
	ck_assert_int_eq(same.id, 5);
	ck_assert_str_eq(same.name, "abc");
	ck_assert_mem_eq(&same.x, &(double){0.0}, sizeof(double));
}
END_TEST

/* What is longer than the hash is hashed: each bit of the key counts, and of no other field. */
START_TEST(long_keys_are_hashed)
{
	unsigned char sample[48] = {0}, hash[WH_DDS_HASH_BYTES], second[WH_DDS_HASH_BYTES];

	parse("", "@key octet a[17]; octet b; @key octet c[23]; octet d[7]");
	ck_assert_uint_eq(wh_dds_type_key_bytes(other), 40);
	wh_dds_type_key_hash(other, sample, hash);
	for (size_t bit = 0; bit < 8 * sizeof(sample); bit++) {
		size_t byte = bit / 8;

		sample[byte] ^= (unsigned char)(1 << bit % 8);
		wh_dds_type_key_hash(other, sample, second);
		ck_assert((memcmp(hash, second, sizeof(hash)) == 0) == (byte == 17 || byte >= 41));
		sample[byte] ^= (unsigned char)(1 << bit % 8);
	}
}
END_TEST

START_TEST(listed_keys_count)
{
	const struct whorl_dds_key keys[] = {{8, 2}, {0, 4}};
	struct whorl_dds_type listed = {
		.size = sizeof(listed), .name = "", .bytes = 12, .align = 4, .keys = keys, .key_count = 2};
	unsigned char sample[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, hash[WH_DDS_HASH_BYTES];

	ck_assert_int_eq(wh_dds_type_new(&other, &listed, &err), OK);
	wh_dds_type_key_hash(other, sample, hash);
	ck_assert_mem_eq(hash, "\x09\x0a\x01\x02\x03\x04\x00", 7);
	ck_assert_int_eq(wh_dds_type_json(stdout, other, sample, 12), WHORL_DDS_RETCODE_UNSUPPORTED);
	ck_assert_int_eq(wh_dds_type_from_json(other, "{}", sample, 12, &err), WHORL_DDS_RETCODE_UNSUPPORTED);
}
END_TEST

START_TEST(sizes_fit)
{
	ck_assert(wh_dds_type_fits(type, sizeof(struct pose)));
	ck_assert(!wh_dds_type_fits(type, sizeof(struct pose) - 1));
	ck_assert_int_eq(wh_dds_type_new(&other, &bytes_type, &err), OK);
	ck_assert(wh_dds_type_fits(other, 0));
	ck_assert(wh_dds_type_fits(other, 1000));
	ck_assert(!wh_dds_type_fits(other, 1001));
	ck_assert(!wh_dds_type_is_keyed(other));
}
END_TEST

/* ---- bytes --------------------------------------------------------------------------------------------------------------------- */

START_TEST(types_travel)
{
	struct wh_dds_out out = {.bytes = NULL};

	wh_dds_type_encode(type, &out);
	ck_assert(!out.failed);
	ck_assert_int_eq(wh_dds_type_decode(&other, out.bytes, out.count, &err), OK);
	ck_assert_uint_eq(other->hash, type->hash);
	ck_assert_str_eq(other->name, type->name);
	ck_assert_uint_eq(other->key_count, 2);
	ck_assert_str_eq(other->fields[13].name, "inner.depth");
	wh_dds_type_free(other);
	for (size_t count = 0; count < out.count; count++)
		ck_assert_int_eq(wh_dds_type_decode(&other, out.bytes, count, &err), BAD);
	wh_dds_put_number(&out, 0, 1);
	ck_assert_int_eq(wh_dds_type_decode(&other, out.bytes, out.count, &err), BAD);
	wh_dds_out_free(&out);
}
END_TEST

/* Any bytes: they are refused, or are a type that passes all checks again. */
START_TEST(garbage_is_refused)
{
	struct wh_dice dice = {test_seed(1)};
	struct wh_dds_out out = {.bytes = NULL};
	unsigned char bytes[4096];
	size_t taken = 0;

	wh_dds_type_encode(type, &out);
	for (int round = 0; round < 4000; round++) {
		memcpy(bytes, out.bytes, out.count);
		for (uint64_t changes = wh_dice_below(&dice, 4); changes != UINT64_MAX; changes--)
			bytes[wh_dice_below(&dice, out.count)] = (unsigned char)wh_dice_roll(&dice);
		if (wh_dds_type_decode(&other, bytes, out.count, &err) != OK) {
			ck_assert_ptr_null(other);
			continue;
		}
		taken++;
		wh_dds_type_free(type);
		ck_assert_int_eq(wh_dds_type_new(&type, other, &err), OK);
		wh_dds_type_free(other);
	}
	other = NULL;
	ck_assert_uint_gt(taken, 100);
	ck_assert_uint_lt(taken, 3900);
	wh_dds_out_free(&out);
}
END_TEST

/* ---- JSON ----------------------------------------------------------------------------------------------------------------------- */

static void expect_json(const struct whorl_dds_type *of, const void *sample, size_t bytes, const char *expected)
{
	FILE *out = open_memstream(&text, &text_bytes);

	ck_assert_int_eq(wh_dds_type_json(out, of, sample, bytes), OK);
	fclose(out);
	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(samples_are_json)
{
	const struct pose pose = {.id = -5,
				  .name = "a\"\\\x01",
				  .x = 0.1,
				  .f = {1.5f, -2.0f},
				  .on = true,
				  .i8 = -128,
				  .u8 = 255,
				  .i16 = -32768,
				  .u16 = 65535,
				  .u32 = 4294967295,
				  .i64 = INT64_MIN,
				  .u64 = UINT64_MAX,
				  .letter = 'x',
				  .inner = {(double)INFINITY}};
	const char *json =
		"{\"id\":-5,\"name\":\"a\\\"\\\\\\u0001\",\"x\":0.10000000000000001,\"f\":[1.5,-2],\"on\":true,"
		"\"i8\":-128,\"u8\":255,\"i16\":-32768,\"u16\":65535,\"u32\":4294967295,"
		"\"i64\":-9223372036854775808,\"u64\":18446744073709551615,\"letter\":\"x\",\"inner.depth\":\"inf\"}";
	struct pose back;

	expect_json(type, &pose, sizeof(pose), json);
	ck_assert_int_eq(wh_dds_type_from_json(type, json, &back, sizeof(back), &err), sizeof(back));
	expect_json(type, &back, sizeof(back), json);
	ck_assert_int_eq(wh_dds_type_from_json(type, " { \"inner.depth\" : 1e3 , \"f\":[ 0.25 ,2],\"id\":7 } ", &back,
					       sizeof(back), &err),
			 sizeof(back));
	ck_assert_int_eq(back.id, 7);
	ck_assert(back.inner.depth > 999.9 && back.inner.depth < 1000.1 && back.f[0] < 0.26f && back.f[0] > 0.24f);
	ck_assert_int_eq(back.on, 0);
	ck_assert_int_eq(wh_dds_type_from_json(type, "{}", &back, sizeof(back), &err), sizeof(back));
	ck_assert_int_eq(wh_dds_type_json(stdout, type, &pose, sizeof(pose) - 1), BAD);
}
END_TEST

START_TEST(texts_are_utf8)
{
	struct pose pose = {.name = "\xc3\xa4\xe2\x82\xac\x7f"}, back;

	parse("", "string<12> name");
	expect_json(other, pose.name, 12 - 4 + 4, "{\"name\":\"\xc3\xa4\xe2\x82\xac\\u007f\"}");
	expect_json(other, "\xff\xc3(\xed\xa0\x80\xf5\0..", 12,
		    "{\"name\":\"\\u00ff\\u00c3(\\u00ed\\u00a0\\u0080\\u00f5\"}");
	ck_assert_int_eq(wh_dds_type_from_json(other, "{\"name\":\"\\u00e4\\u20ac\\ud83d\\ude00\\/\\n\"}", &back,
					       sizeof(back), &err),
			 12);
	ck_assert_mem_eq(&back, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80/\n", 12);
}
END_TEST

START_TEST(bytes_are_hexadecimal)
{
	unsigned char sample[8];
	struct whorl_dds_type head;

	ck_assert_int_eq(wh_dds_type_new(&other, &bytes_type, &err), OK);
	expect_json(other, "\x01\xfe", 2, "{\"bytes\":\"01fe\"}");
	ck_assert_int_eq(wh_dds_type_from_json(other, "{\"bytes\":\"01fE\"}", sample, 8, &err), 2);
	ck_assert_mem_eq(sample, "\x01\xfe", 2);
	ck_assert_int_eq(wh_dds_type_from_json(other, "{\"bytes\":\"000000000000000000\"}", sample, 8, &err), BAD);
	ck_assert_str_eq(err.text, "byte 26 of the object, bytes: these are too many bytes");
	ck_assert_int_eq(wh_dds_type_from_json(other, "{\"bytes\":\"0\"}", sample, 8, &err), BAD);
	head = *parse("", "@key short id");
	head.flags = WHORL_DDS_TYPE_BYTES;
	head.bytes_max = 3;
	wh_dds_type_free(type);
	ck_assert_int_eq(wh_dds_type_new(&type, &head, &err), OK);
	ck_assert_int_eq(wh_dds_type_from_json(type, "{\"bytes\":\"07\",\"id\":258}", sample, 8, &err), 3);
	ck_assert_mem_eq(sample, "\x02\x01\x07", 3);
	expect_json(type, sample, 3, "{\"id\":258,\"bytes\":\"07\"}");
	ck_assert_int_eq(wh_dds_type_from_json(type, "{\"bytes\":\"0708\",\"id\":258}", sample, 8, &err), BAD);
}
END_TEST

static const struct {
	const char *json, *says;
} wrong_json[] = {
	{"", "byte 0 of the object: expected {"},
	{"[]", "byte 0 of the object: expected {"},
	{"{", "byte 1 of the object: expected \""},
	{"{\"id\"", "byte 5 of the object, id: expected :"},
	{"{\"id\":", "byte 6 of the object, id: expected a number without a fraction"},
	{"{\"id\":1", "byte 7 of the object: expected }"},
	{"{\"id\":1,}", "byte 8 of the object: expected \""},
	{"{\"id\":1}x", "byte 8 of the object: there is more behind it"},
	{"{\"id\":1,\"id\":1}", "byte 12 of the object, id: it is there twice"},
	{"{\"ix\":1}", "byte 5 of the object: the type has no such field"},
	{"{\"id\\u0000\":1}", "byte 11 of the object: the type has no such field"},
	{"{\"id\":1.5}", "byte 6 of the object, id: expected a number without a fraction"},
	{"{\"id\":01}", "byte 6 of the object, id: expected a number without a fraction"},
	{"{\"id\":-}", "byte 6 of the object, id: expected a number without a fraction"},
	{"{\"id\":\"1\"}", "byte 6 of the object, id: expected a number without a fraction"},
	{"{\"id\":2147483648}", "byte 6 of the object, id: the number is out of its range"},
	{"{\"id\":-2147483649}", "byte 6 of the object, id: the number is out of its range"},
	{"{\"u8\":256}", "byte 6 of the object, u8: the number is out of its range"},
	{"{\"u8\":-1}", "byte 6 of the object, u8: the number is out of its range"},
	{"{\"u64\":18446744073709551616}", "byte 7 of the object, u64: the number is out of its range"},
	{"{\"u64\":99999999999999999999999}", "byte 7 of the object, u64: the number is out of its range"},
	{"{\"x\":1.}", "byte 5 of the object, x: expected a number"},
	{"{\"x\":1e}", "byte 5 of the object, x: expected a number"},
	{"{\"x\":.5}", "byte 5 of the object, x: expected a number"},
	{"{\"x\":1e999}", "byte 10 of the object, x: the number is too large"},
	{"{\"x\":\"big\"}", "byte 10 of the object, x: expected a number, \"nan\", \"inf\" or \"-inf\""},
	{"{\"f\":[1]}", "byte 7 of the object, f: expected ,"},
	{"{\"f\":[1,2,3]}", "byte 9 of the object, f: expected ]"},
	{"{\"f\":1}", "byte 5 of the object, f: expected ["},
	{"{\"f\":[1e39,0]}", "byte 10 of the object, f: the number is too large"},
	{"{\"on\":1}", "byte 6 of the object, on: expected true or false"},
	{"{\"name\":\"123456789\"}", "byte 18 of the object, name: the string is too long"},
	{"{\"name\":\"1", "byte 10 of the object, name: the string does not end"},
	{"{\"name\":\"\n\"}", "byte 9 of the object, name: the string does not end"},
	{"{\"name\":\"\\q\"}", "byte 11 of the object, name: there is no such escape"},
	{"{\"name\":\"\\u12\"}", "byte 13 of the object, name: expected four hexadecimal digits"},
	{"{\"name\":\"\\ud800\"}", "byte 15 of the object, name: half of a pair"},
	{"{\"name\":\"\\udc00\"}", "byte 15 of the object, name: half of a pair"},
	{"{\"name\":5}", "byte 8 of the object, name: expected \""},
	{"{\"bytes\":\"00\"}", "byte 8 of the object: the type has no such field"},
};

START_TEST(wrong_json_is_refused)
{
	struct pose pose;

	ck_assert_int_eq(wh_dds_type_from_json(type, wrong_json[_i].json, &pose, sizeof(pose), &err), BAD);
	ck_assert_str_eq(err.text, wrong_json[_i].says);
	ck_assert_int_eq(wh_dds_type_from_json(type, wrong_json[_i].json, &pose, sizeof(pose), NULL), BAD);
	ck_assert_int_eq(wh_dds_type_from_json(type, "{}", &pose, sizeof(pose) - 1, &err), BAD);
}
END_TEST

/* Any samples of any type: the text says all, and gives the same sample back. */
START_TEST(random_samples_go_through_json)
{
	struct wh_dice dice = {test_seed(2)};
	struct pose pose, back;

	for (int round = 0; round < 1500; round++) {
		char *again;
		size_t again_bytes;
		FILE *out;

		for (size_t i = 0; i < sizeof(pose); i++)
			((unsigned char *)&pose)[i] = (unsigned char)wh_dice_roll(&dice);
		memset(&pose.on, (int)wh_dice_below(&dice, 2), 1);
		for (size_t i = 0; i < sizeof(pose.name); i++)
			pose.name[i] = (char)wh_dice_below(&dice, 128);
		pose.letter = (char)wh_dice_below(&dice, 128);
		out = open_memstream(&text, &text_bytes);
		ck_assert_int_eq(wh_dds_type_json(out, type, &pose, sizeof(pose)), OK);
		fclose(out);
		ck_assert_msg(wh_dds_type_from_json(type, text, &back, sizeof(back), &err) > 0, "%s: %s", text,
			      err.text);
		ck_assert_int_eq(back.id, pose.id);
		ck_assert_uint_eq(back.u64, pose.u64);
		out = open_memstream(&again, &again_bytes);
		ck_assert_int_eq(wh_dds_type_json(out, type, &back, sizeof(back)), OK);
		fclose(out);
		ck_assert_str_eq(again, text);
		free(text);
		free(again);
	}
}
END_TEST

#define add_each(test_case, test, array) tcase_add_loop_test(test_case, test, 0, sizeof(array) / sizeof(*(array)))

Suite *suite(void)
{
	Suite *types = suite_create("dds_type");
	TCase *made = tcase_create("made"), *keys = tcase_create("keys"), *bytes = tcase_create("bytes"),
	      *json = tcase_create("json");

	tcase_add_test(made, the_macro_knows_the_fields);
	tcase_add_test(made, words_are_the_same_type);
	add_each(made, types_differ, others);
	tcase_add_test(made, keys_and_hashes_differ);
	tcase_add_loop_test(made, mistakes_are_refused, 0, 23);
	add_each(made, wrong_words_are_refused, wrong_words);
	tcase_add_test(keys, keys_are_taken_out_and_put_in);
	tcase_add_test(keys, long_keys_are_hashed);
	tcase_add_test(keys, listed_keys_count);
	tcase_add_test(keys, sizes_fit);
	tcase_add_test(bytes, types_travel);
	tcase_add_test(bytes, garbage_is_refused);
	tcase_add_test(json, samples_are_json);
	tcase_add_test(json, texts_are_utf8);
	tcase_add_test(json, bytes_are_hexadecimal);
	add_each(json, wrong_json_is_refused, wrong_json);
	tcase_add_test(json, random_samples_go_through_json);
	for (size_t i = 0; i < 4; i++) {
		TCase *test_case = (TCase *[]){made, keys, bytes, json}[i];

		tcase_add_checked_fixture(test_case, begin, end);
		suite_add_tcase(types, test_case);
	}
	return types;
}
