/* test_ddsc_type.c - types as idlc describes them: which are made, what is said of them, and their samples as bytes. */
#include <sys/mman.h>
#include <unistd.h>

#include "ddsc/type/type_int.h"
#include "tests/harness.h"
#include "tests/support/descriptors.h"

static struct wh_error err;
static struct wh_ddsc_type *type;

static void make(const struct wh_ddsc_descriptor *descriptor)
{
	ck_assert_msg(wh_ddsc_type_create(&type, descriptor, &err) == WHORL_DDS_RETCODE_OK, "%s", err.text);
}

static void end(void)
{
	wh_ddsc_type_free(type);
}

TEST_CASE("what is known of a type", .teardown = end);

TEST(a_type_says_what_it_is)
{
	const struct wh_ddsc_shape *shape;

	make(&keyed_descriptor);
	shape = wh_ddsc_type_shape(type);
	ck_assert_str_eq(shape->name, "keyed");
	ck_assert_uint_eq(shape->bytes, sizeof(struct keyed));
	ck_assert_uint_eq(shape->align, 8);
	ck_assert(!shape->is_plain && shape->is_final && shape->key_is_plain);
	ck_assert_uint_eq(shape->key_count, 1);
	ck_assert_str_eq(shape->keys[0].name, "keyval");
	ck_assert_uint_eq(shape->keys[0].offset, 4);
	ck_assert_uint_eq(shape->keys[0].bytes, 4);
	ck_assert(!shape->keys[0].is_text);
	ck_assert_uint_eq(shape->key_bytes_max, 4);
	ck_assert_uint_eq(shape->bytes_max, SIZE_MAX);
}

TEST(keys_are_in_the_order_of_their_ids)
{
	const struct wh_ddsc_shape *shape;

	make(&all_descriptor);
	shape = wh_ddsc_type_shape(type);
	ck_assert_uint_eq(shape->key_count, 2);
	ck_assert_str_eq(shape->keys[0].name, "code");
	ck_assert_uint_eq(shape->keys[0].offset, offsetof(struct all, code));
	ck_assert(shape->keys[0].is_text && !shape->keys[1].is_text);
	ck_assert_str_eq(shape->keys[1].name, "id");
	ck_assert_uint_ge(shape->key_bytes_max, 12); /* 4 + "abc" + 4 */
	ck_assert_uint_le(shape->key_bytes_max, 15);
}

TEST(a_plain_type_is_known)
{
	make(&older_descriptor);
	ck_assert(wh_ddsc_type_shape(type)->is_plain);
	ck_assert(!wh_ddsc_type_shape(type)->is_final);
	ck_assert_uint_eq(wh_ddsc_type_shape(type)->bytes_max, 8);
	ck_assert_uint_eq(wh_ddsc_type_shape(type)->key_count, 0);
	ck_assert_uint_eq(wh_ddsc_type_shape(type)->key_bytes_max, 0);
}

/* ---- bytes -------------------------------------------------------------------------------------------------------------------- */

TEST_CASE("bytes", .teardown = end);

TEST(a_sample_is_these_bytes)
{
	static const unsigned char wanted[] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 7, 8, 9};
	struct keyed sample = {1, 2, {3, 3, (unsigned char[]){7, 8, 9}, false}}, read = {0};
	unsigned char bytes[sizeof(wanted)];

	make(&keyed_descriptor);
	for (enum wh_ddsc_form form = WH_DDSC_XCDR1; form <= WH_DDSC_XCDR2; form++) {
		ck_assert_uint_eq(wh_ddsc_encoded_bytes(type, form, &sample, &err), sizeof(wanted));
		ck_assert_uint_eq(wh_ddsc_encode(type, form, &sample, bytes, sizeof(bytes)), sizeof(wanted));
		ck_assert_mem_eq(bytes, wanted, sizeof(wanted));
		ck_assert(wh_ddsc_decode(type, form, false, bytes, sizeof(bytes), &read, &err));
		ck_assert_uint_eq(read.seq, 1);
		ck_assert_uint_eq(read.keyval, 2);
		ck_assert_uint_eq(read.baggage.length, 3);
		ck_assert(read.baggage.release);
		ck_assert_mem_eq(read.baggage.buffer, wanted + 12, 3);
	}
	wh_ddsc_sample_clear(type, &read);
	ck_assert_ptr_null(read.baggage.buffer);
	ck_assert_uint_eq(read.seq, 0);
}

/* What lies side by side in memory has padding between it in CDR, or not, by where it is there. */
TEST(padding_is_by_the_position)
{
	static const unsigned char wanted[] = {2, 0, 0, 0, 'x', 0, 1, 2, 3, 4, 0, 0, 5, 0, 0, 0, 17, 0, 0,
					       0, 2, 0, 0, 0,   6, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0,  9},
				   classic[] = {2, 0, 0, 0, 'x', 0, 1, 2, 3, 4, 0, 0, 5, 0, 0, 0, 2,
						0, 0, 0, 6, 0,   0, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9};
	struct tailed list[2] = {{6, 7}, {8, 9}};
	struct mixed sample = {(char[]){"x"}, 1, 2, 3, 4, 5, {2, 2, list, false}};
	unsigned char bytes[64];

	make(&mixed_descriptor);
	ck_assert_uint_eq(wh_ddsc_encode(type, WH_DDSC_XCDR2, &sample, bytes, sizeof(bytes)), sizeof(wanted));
	ck_assert_mem_eq(bytes, wanted, sizeof(wanted));
	ck_assert_uint_eq(wh_ddsc_encode(type, WH_DDSC_XCDR1, &sample, bytes, sizeof(bytes)), sizeof(classic));
	ck_assert_mem_eq(bytes, classic, sizeof(classic));
}

TEST(a_big_endian_sample_is_read)
{
	static const unsigned char bytes[] = {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 7, 8, 9};
	struct keyed read = {0};

	make(&keyed_descriptor);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, true, bytes, sizeof(bytes), &read, &err));
	ck_assert(read.seq == 1 && read.keyval == 2 && read.baggage.length == 3);
	wh_ddsc_sample_clear(type, &read);
}

TEST(a_key_is_these_bytes)
{
	static const unsigned char wanted[] = {3, 0, 0, 0, 'h', 'i', 0, 0, 5, 0, 0, 0};
	struct all sample = {.id = 5, .code = "hi"}, read;
	unsigned char bytes[sizeof(wanted)];

	make(&all_descriptor);
	ck_assert_uint_eq(wh_ddsc_key_bytes(type, WH_DDSC_XCDR2, &sample, &err), sizeof(wanted));
	ck_assert_uint_eq(wh_ddsc_key_encode(type, WH_DDSC_XCDR2, &sample, bytes, sizeof(bytes)), sizeof(wanted));
	ck_assert_mem_eq(bytes, wanted, sizeof(wanted));
	memset(&read, 0xee, sizeof(read));
	ck_assert(wh_ddsc_key_decode(type, WH_DDSC_XCDR2, false, bytes, sizeof(bytes), &read, &err));
	ck_assert_int_eq(read.id, 5);
	ck_assert_mem_eq(read.code, "hi\0", 4);
	memset(&sample, 0xee, sizeof(sample)); /* all else is as it was */
	sample.id = read.id;
	memcpy(sample.code, read.code, sizeof(sample.code));
	ck_assert_mem_eq(&sample, &read, sizeof(read));
}

TEST(room_that_is_too_small_is_not_left)
{
	struct keyed sample = {1, 2, {3, 3, (unsigned char[]){7, 8, 9}, false}};
	unsigned char bytes[16];

	make(&keyed_descriptor);
	for (size_t room = 0; room < 15; room++) {
		memset(bytes, 0xaa, sizeof(bytes));
		ck_assert_uint_eq(wh_ddsc_encode(type, WH_DDSC_XCDR2, &sample, bytes, room), SIZE_MAX);
		for (size_t i = room; i < sizeof(bytes); i++)
			ck_assert_uint_eq(bytes[i], 0xaa);
	}
}

/* Pages of which the last may not be touched. */
static unsigned char *before_a_wall(size_t bytes, int fill)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
	memset(pages, fill, page);
	return pages + page - bytes;
}

/* Here a string without an end, and a sequence that is said to be longer than it is. */
TEST(no_more_is_looked_at_than_has_room)
{
	struct mixed text = {.text = (char *)before_a_wall(64, 'a')};
	struct all enums = {.colours = {1 << 28, 1 << 28, before_a_wall(200, 0), false}};
	unsigned char bytes[200];

	make(&mixed_descriptor);
	ck_assert_uint_eq(wh_ddsc_encode(type, WH_DDSC_XCDR2, &text, bytes, 64), SIZE_MAX);
	wh_ddsc_type_free(type);
	make(&all_descriptor);
	ck_assert_uint_eq(wh_ddsc_encode(type, WH_DDSC_XCDR2, &enums, bytes, sizeof(bytes)), SIZE_MAX);
}

TEST(padding_is_zero)
{
	struct all sample;
	struct wh_ddsc_sequence none = {0};
	unsigned char bytes[512];
	size_t count;

	make(&all_descriptor);
	memset(bytes, 0xff, sizeof(bytes));
	memset(&sample, 0xff, sizeof(sample)); /* between its members, too */
	sample.flag = true;
	sample.bits = 1;
	sample.colour = sample.tiny = 0;
	sample.text = NULL;
	sample.bytes = sample.bools = sample.more_parts = sample.texts = sample.lists = sample.colours = none;
	for (int i = 0; i < 2; i++)
		sample.parts[i] = (struct part){.name = ""};
	sample.part = (struct part){.name = ""};
	memset(sample.code, 0, sizeof(sample.code));
	count = wh_ddsc_encode(type, WH_DDSC_XCDR2, &sample, bytes, sizeof(bytes));
	ck_assert_uint_ne(count, SIZE_MAX);
	ck_assert_uint_eq(bytes[4], 1);
	ck_assert_uint_eq(bytes[5], 0);          /* before the bits */
	for (size_t i = 13; i < count - 16; i++) /* of the narrow enum, up to the stamps */
		ck_assert_uint_ne(bytes[i], 0xff);
}

TEST(no_form_but_two)
{
	struct older sample = {1};
	unsigned char bytes[8] = {0};

	make(&older_descriptor);
	ck_assert_uint_eq(wh_ddsc_encoded_bytes(type, WH_DDSC_XCDR1, &sample, &err), SIZE_MAX);
	ck_assert_ptr_nonnull(strstr(err.text, "@final"));
	ck_assert_uint_eq(wh_ddsc_encode(type, WH_DDSC_XCDR1, &sample, bytes, 8), SIZE_MAX);
	ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR1, false, bytes, 8, &sample, &err));
	ck_assert_uint_eq(wh_ddsc_encode(type, (enum wh_ddsc_form)0, &sample, bytes, 8), SIZE_MAX);
	ck_assert_uint_eq(wh_ddsc_encode(type, (enum wh_ddsc_form)3, &sample, bytes, 8), SIZE_MAX);
	ck_assert_uint_eq(wh_ddsc_key_bytes(type, WH_DDSC_XCDR1, &sample, &err), 0);
	ck_assert_uint_eq(wh_ddsc_key_encode(type, WH_DDSC_XCDR1, &sample, bytes, 0), 0);
	ck_assert(wh_ddsc_key_decode(type, WH_DDSC_XCDR1, false, bytes, 0, &sample, &err));
}

/* ---- samples that are wrong ------------------------------------------------------------------------------------------------------ */

static void refuses(const struct all *sample, const char *what)
{
	unsigned char bytes[512];

	ck_assert_uint_eq(wh_ddsc_encoded_bytes(type, WH_DDSC_XCDR2, sample, &err), SIZE_MAX);
	ck_assert_msg(strstr(err.text, what) != NULL, "%s", err.text);
	ck_assert_uint_eq(wh_ddsc_encode(type, WH_DDSC_XCDR2, sample, bytes, sizeof(bytes)), SIZE_MAX);
}

TEST(a_sample_that_is_wrong_is_refused)
{
	struct all sample = {.text = NULL};
	uint32_t colour = ALL_COLOURS + 1;
	unsigned char bools[] = {1, 0, 1, 1};

	make(&all_descriptor);
	ck_assert_uint_ne(wh_ddsc_encoded_bytes(type, WH_DDSC_XCDR2, &sample, &err), SIZE_MAX);
	sample.colour = ALL_COLOURS + 1;
	refuses(&sample, "is no value of its enum");
	sample.colour = ALL_COLOURS;
	sample.tiny = 4;
	refuses(&sample, "at byte 12 of its struct is no value of its enum");
	sample.tiny = 3;
	sample.bits = 4;
	refuses(&sample, "has bits");
	sample.bits = ALL_BITS;
	memcpy(sample.code, "four", 4);
	refuses(&sample, "is longer than its bound");
	memcpy(sample.code, "thr", 4);
	sample.bools = (struct wh_ddsc_sequence){4, 4, bools, false};
	refuses(&sample, "is longer than its bound");
	sample.bools.length = 3;
	bools[2] = 2;
	refuses(&sample, "is no boolean");
	bools[2] = 1;
	sample.colours = (struct wh_ddsc_sequence){1, 1, &colour, false};
	refuses(&sample, "is no value of its enum");
	colour = 0;
	sample.lists = (struct wh_ddsc_sequence){0, 1, NULL, false};
	refuses(&sample, "has a length and no buffer");
	sample.lists.length = 0;
	ck_assert_uint_ne(wh_ddsc_encoded_bytes(type, WH_DDSC_XCDR2, &sample, &err), SIZE_MAX);
}

/* ---- bytes that are wrong -------------------------------------------------------------------------------------------------------- */

static void refuses_bytes(const unsigned char *bytes, size_t count, const char *what)
{
	struct all read = {.text = NULL};

	ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, count, &read, &err));
	ck_assert_msg(strstr(err.text, what) != NULL, "%s", err.text);
	wh_ddsc_sample_clear(type, &read);
}

static size_t encode_all(unsigned char bytes[512])
{
	struct part parts[1] = {{1.5, "part", true}};
	char *texts[2] = {(char[]){"one"}, (char[]){"two"}};
	uint16_t numbers[] = {1, 2, 3};
	struct wh_ddsc_sequence lists[1] = {{3, 3, numbers, false}};
	uint32_t colours[] = {2, 1};
	struct all sample = {.id = 7,
			     .flag = true,
			     .bits = ALL_BITS,
			     .colour = 1,
			     .tiny = 2,
			     .text = (char[]){"text"},
			     .part = {2.5, "five5", false},
			     .bytes = {3, 3, (unsigned char[]){1, 2, 3}, false},
			     .bools = {2, 2, (unsigned char[]){1, 0}, false},
			     .more_parts = {1, 1, parts, false},
			     .texts = {2, 2, texts, false},
			     .lists = {1, 1, lists, false},
			     .colours = {2, 2, colours, false},
			     .code = "abc",
			     .stamps = {-1, 1}};
	size_t count = wh_ddsc_encode(type, WH_DDSC_XCDR2, &sample, bytes, 512);

	ck_assert_uint_ne(count, SIZE_MAX);
	ck_assert_uint_eq(wh_ddsc_encoded_bytes(type, WH_DDSC_XCDR2, &sample, &err), count);
	return count;
}

TEST(bytes_that_end_early_are_refused)
{
	unsigned char bytes[512], *piece;
	struct all read = {.text = NULL};
	size_t count;

	make(&all_descriptor);
	count = encode_all(bytes);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, count, &read, &err));
	for (size_t some = 0; some < count; some++) {
		piece = malloc(some + 1);
		memcpy(piece, bytes, some);
		ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR2, false, piece, some, &read, &err));
		ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR2, true, piece, some, &read, &err));
		free(piece);
	}
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, count + 3, &read, &err)); /* what is behind it */
	wh_ddsc_sample_clear(type, &read);
}

TEST(bytes_that_are_wrong_are_refused)
{
	unsigned char bytes[512], wrong[512];
	size_t count;

	make(&all_descriptor);
	count = encode_all(bytes);
#define WRONG(at, value, what)                                                                                         \
	memcpy(wrong, bytes, count);                                                                                   \
	wrong[at] = (value);                                                                                           \
	refuses_bytes(wrong, count, what)
	WRONG(4, 2, "at byte 4 of its struct is no boolean");
	WRONG(6, 7, "has bits");
	WRONG(8, ALL_COLOURS + 1, "is no value of its enum");
	WRONG(12, 4, "at byte 12 of its struct is no value of its enum");
	WRONG(16, 0, "at byte 16 of its struct is a string without an end");
	WRONG(24, 'x', "is a string without an end"); /* instead of its zero */
	WRONG(19, 0xff, "is cut off");
	WRONG(36, 7, "is longer than its bound");                          /* part.name */
	WRONG(48, 1, "is cut off");                                        /* the length of parts */
	WRONG(92, 4, "at byte 96 of its struct is longer than its bound"); /* bools */
#undef WRONG
}

/* Elements of a sequence that would need more bytes than there are have no memory. */
TEST(absurd_lengths_are_refused)
{
	static const unsigned char bytes[] = {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
	struct keyed read = {0};

	make(&keyed_descriptor);
	ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, sizeof(bytes), &read, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "is cut off"));
	ck_assert_ptr_null(read.baggage.buffer);
	ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR2, true, bytes, sizeof(bytes), &read, &err));
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------------- */

TEST(memory_is_used_again)
{
	unsigned char small[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7},
		      large[] = {0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 7, 8, 9, 6};
	struct keyed read = {0};
	void *buffer;

	make(&keyed_descriptor);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, large, sizeof(large), &read, &err));
	buffer = read.baggage.buffer;
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, small, sizeof(small), &read, &err));
	ck_assert_ptr_eq(read.baggage.buffer, buffer);
	ck_assert_uint_eq(read.baggage.length, 1);
	ck_assert_uint_eq(read.baggage.maximum, 4);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, large, sizeof(large), &read, &err));
	ck_assert_ptr_eq(read.baggage.buffer, buffer);
	wh_ddsc_sample_clear(type, &read);
}

TEST(a_buffer_of_the_programs_own_is_not_freed)
{
	unsigned char large[] = {0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 7, 8, 9, 6}, own[8] = {0};
	struct keyed read = {.baggage = {8, 0, own, false}};

	make(&keyed_descriptor);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, large, sizeof(large), &read, &err));
	ck_assert_ptr_eq(read.baggage.buffer, own); /* it has room */
	ck_assert_uint_eq(own[3], 6);
	wh_ddsc_sample_clear(type, &read);
	read.baggage = (struct wh_ddsc_sequence){2, 2, own, false};
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, large, sizeof(large), &read, &err));
	ck_assert_ptr_ne(read.baggage.buffer, own);
	ck_assert(read.baggage.release);
	wh_ddsc_sample_clear(type, &read);
}

TEST(what_a_sample_points_to_is_released)
{
	unsigned char bytes[512], own[1] = {5};
	struct all sample = {.text = NULL};
	size_t count;

	make(&all_descriptor);
	count = encode_all(bytes);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, count, &sample, &err));
	free(sample.bytes.buffer);
	sample.bytes = (struct wh_ddsc_sequence){1, 1, own, false};
	wh_ddsc_sample_release(type, &sample);
	ck_assert_ptr_null(sample.text);
	ck_assert_ptr_null(sample.texts.buffer);
	ck_assert_uint_eq(sample.texts.length, 0);
	ck_assert_ptr_null(sample.lists.buffer);
	ck_assert_ptr_eq(sample.bytes.buffer, own);
	ck_assert_uint_eq(sample.bytes.length, 1);
	ck_assert(sample.id == 7 && sample.flag && sample.stamps[0] == -1);
	wh_ddsc_sample_clear(type, &sample);
	ck_assert(sample.id == 0 && sample.bytes.buffer == NULL);
	ck_assert_uint_eq(own[0], 5);
}

/* ---- types that grow ------------------------------------------------------------------------------------------------------------- */

TEST_CASE("types that grow", .teardown = end);

TEST(what_an_older_sample_does_not_have_is_empty)
{
	static const unsigned char bytes[] = {4, 0, 0, 0, 9, 0, 0, 0}, swapped[] = {0, 0, 0, 4, 0, 0, 0, 9};
	struct newer read = {.b = 5, .code = "old", .one = {3}, .two = {{1}, {2}}};
	struct newer other = {.b = 5};

	make(&newer_descriptor);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, sizeof(bytes), &read, &err));
	ck_assert(read.a == 9 && read.b == 0 && read.one.a == 0 && read.two[0].a == 0 && read.two[1].a == 0);
	ck_assert_str_eq(read.text, "");
	ck_assert_str_eq(read.code, "");
	ck_assert_uint_eq(read.numbers.length, 0);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, true, swapped, sizeof(swapped), &other, &err));
	ck_assert(other.a == 9 && other.b == 0);
	wh_ddsc_sample_clear(type, &read);
	wh_ddsc_sample_clear(type, &other);
}

TEST(what_a_newer_sample_has_more_is_passed_over)
{
	static const unsigned char bytes[] = {8, 0, 0, 0, 9, 0, 0, 0, 1, 1, 1, 1};
	struct older read = {0};

	make(&older_descriptor);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, sizeof(bytes), &read, &err));
	ck_assert_uint_eq(read.a, 9);
	/* But not what is behind all that there is, and no member ends within. */
	ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, sizeof(bytes) - 1, &read, &err));
	ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR2, false, (const unsigned char[]){2, 0, 0, 0, 9, 0, 0, 0}, 8, &read,
				  &err));
	ck_assert_ptr_nonnull(strstr(err.text, "is cut off"));
}

TEST(elements_may_be_older_too)
{
	/* all, one element: its length, a */
	static const unsigned char bytes[] = {12, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9, 0, 0, 0};
	unsigned char wrong[sizeof(bytes) + 4] = {0};
	struct wh_ddsc_sequence read = {0};

	make(&many_descriptor);
	ck_assert(wh_ddsc_decode(type, WH_DDSC_XCDR2, false, bytes, sizeof(bytes), &read, &err));
	ck_assert_uint_eq(read.length, 1);
	ck_assert_uint_eq(((struct newer *)read.buffer)->a, 9);
	ck_assert_str_eq(((struct newer *)read.buffer)->text, "");
	memcpy(wrong, bytes, sizeof(bytes));
	wrong[0] = 16;
	ck_assert(!wh_ddsc_decode(type, WH_DDSC_XCDR2, false, wrong, sizeof(wrong), &read, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "has another length than its elements"));
	wh_ddsc_sample_clear(type, &read);
}

TEST_SUITE("ddsc_type")
