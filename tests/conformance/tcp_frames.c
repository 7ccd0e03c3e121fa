/* tcp_frames.c - pushes as frames: whatever piece of the stream has come, no reader sees half of anything, and what does not belong
 * here ends the connection and nothing else. */
#include <string.h>
#include <unistd.h>

#include "base/atomics.h"
#include "tests/conformance/tcp_raw.h"
#include "transport/tcp/tcp_int.h"

#define KEY 9
#define RING CONTROL_BYTES

struct pushed { /* a push of two ranges and two words, as bytes */
	unsigned char bytes[WH_HEAD_BYTES + WH_TCP_OWNER_BYTES + 2 * WH_TCP_RANGE_BYTES + 2 * WH_TCP_WORD_BYTES + 600];
	size_t count;
};

/* The connection is ended by the other side. */
static void push_what_ends_it(struct raw *raw, int s, const struct pushed *push)
{
	raw_send(s, push->bytes, push->count);
	RAW_UNTIL(raw, raw->down == 1);
	close(s);
}

static size_t put_push(unsigned char *bytes, uint64_t key, const struct wh_tcp_span *spans, uint16_t span_count,
		       const struct wh_tcp_word *words, uint16_t word_count, unsigned char fill)
{
	struct wh_message_head head = {
		.kind = WH_MESSAGE_PUSH, .flags = WH_TCP_LOUD, .ranges = span_count, .words = word_count, .number = key};
	const size_t table_bytes = wh_tcp_table_bytes(&head);
	unsigned char *at = bytes + WH_HEAD_BYTES;

	head.bytes = (uint32_t)table_bytes;
	for (uint16_t i = 0; i < span_count; i++, at += WH_TCP_RANGE_BYTES) {
		wh_tcp_span_put(at, &spans[i]);
		head.bytes += spans[i].bytes;
	}
	for (uint16_t i = 0; i < word_count; i++, at += WH_TCP_WORD_BYTES)
		wh_tcp_word_put(at, &words[i]);
	wh_message_head_put(bytes, &head);
	memset(at, fill, head.bytes - table_bytes);
	return WH_HEAD_BYTES + head.bytes;
}

static struct pushed make_push(uint64_t key, uint64_t number)
{
	const struct wh_tcp_span spans[] = {{RING, 200}, {RING + 1000, 100}};
	const struct wh_tcp_word words[] = {{64, number}, {4096, number}};
	struct pushed push;

	push.count = put_push(push.bytes, key, spans, 2, words, 2, (unsigned char)number);
	return push;
}

static uint64_t word_at(const struct raw *raw, uint64_t offset)
{
	return wh_load_acquire((const wh_word *)(const void *)(raw->image->control[1] + offset));
}

static bool holds(const struct raw *raw, uint64_t number)
{
	const unsigned char *row = raw->image->row[1];

	for (size_t i = 0; i < 200; i++)
		if (row[RING + i] != (unsigned char)number || row[RING + 1000 + i % 100] != (unsigned char)number)
			return false;
	return row[RING + 200] == 0 && row[RING + 1100] == 0;
}

/* Cut at each byte: the words come with the last, and then all is there. The first piece comes with the frame before it. */
START_TEST(a_push_in_two_pieces)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	uint64_t number = 0;

	raw_open(raw, s, KEY);
	for (size_t cut = 1; cut < make_push(KEY, 1).count; cut++) {
		struct pushed push = make_push(KEY, ++number);
		unsigned char together[WH_HEAD_BYTES + WH_CONTROL_MAX + sizeof(push.bytes)];
		size_t before = wh_message_put_control(together, "x", 1);

		memcpy(together + before, push.bytes, cut);
		raw_send(s, together, before + cut);
		RAW_UNTIL(raw, raw->controls == number);
		ck_assert_uint_eq(word_at(raw, 64), number - 1);
		ck_assert_uint_eq(word_at(raw, 4096), number - 1);
		raw_send(s, push.bytes + cut, push.count - cut);
		RAW_UNTIL(raw, word_at(raw, 4096) == number);
		ck_assert_uint_eq(word_at(raw, 64), number);
		ck_assert(holds(raw, number));
	}
	ck_assert_uint_eq(raw->down, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* One byte at a time, as the worst of networks: what has found its place stays there. */
START_TEST(a_push_byte_by_byte)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_push(KEY, 7);

	raw_open(raw, s, KEY);
	for (size_t i = 0; i < push.count; i++) {
		push.bytes[i] =
			i < push.count - 300 ? push.bytes[i] : (unsigned char)i; /* each byte of a range its own */
		ck_assert_uint_eq(word_at(raw, 4096), 0);
		raw_send(s, push.bytes + i, 1);
		raw_pass(raw);
	}
	RAW_UNTIL(raw, word_at(raw, 4096) == 7);
	ck_assert_mem_eq(raw->image->row[1] + RING, push.bytes + push.count - 300, 200);
	ck_assert_mem_eq(raw->image->row[1] + RING + 1000, push.bytes + push.count - 100, 100);
	close(s);
	raw_free(raw);
}
END_TEST

/* Everything until now has been taken in. */
static void settle(struct raw *raw, int s)
{
	unsigned char frame[WH_HEAD_BYTES + WH_CONTROL_MAX];
	uint32_t controls = raw->controls;

	raw_send(s, frame, wh_message_put_control(frame, "x", 1));
	RAW_UNTIL(raw, raw->controls == controls + 1);
}

/* A piece of a frame has been taken in, in all likelihood: nothing tells. */
static void settle_half(struct raw *raw)
{
	for (int i = 0; i < 3; i++)
		raw_pass(raw);
}

/* As it is while there is no room to tell the peer that its row is mapped: it cannot have meant this image. */
START_TEST(a_push_before_its_row_is_said_to_be_mapped)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_push(KEY, 7);

	raw_open(raw, s, KEY);
	((struct wh_session_image *)raw->image)->rows[1].told = false;
	raw_send(s, push.bytes, push.count);
	settle(raw, s);
	ck_assert(holds(raw, 0));
	ck_assert_uint_eq(word_at(raw, 64), 0);
	((struct wh_session_image *)raw->image)->rows[1].told = true;
	raw_send(s, push.bytes, push.count);
	settle(raw, s);
	ck_assert(holds(raw, 7));
	ck_assert_uint_eq(word_at(raw, 64), 7);
	close(s);
	raw_free(raw);
}
END_TEST

/* Before a push is whole it is known that something of that row arrives; of a row that is frozen nothing does any more. */
START_TEST(bytes_are_counted_as_they_arrive)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_push(KEY, 7);
	const uint64_t *arrived;

	raw_open(raw, s, KEY);
	arrived = raw->image->arrived;
	ck_assert_uint_eq(arrived[0] + arrived[1], 0);
	raw_send(s, push.bytes, push.count - 250);
	RAW_UNTIL(raw, arrived[1] == 50);
	raw_send(s, push.bytes + push.count - 250, 249);
	RAW_UNTIL(raw, arrived[1] == 299);
	ck_assert_uint_eq(word_at(raw, 64), 0);
	raw_send(s, push.bytes + push.count - 1, 1);
	RAW_UNTIL(raw, arrived[1] == 300 + 16); /* and two words */
	raw->image->ops->freeze(raw->image, 1);
	raw_send(s, push.bytes, push.count);
	settle(raw, s);
	ck_assert_uint_eq(arrived[1], 316);
	ck_assert_uint_eq(arrived[0], 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* A push lands in the image that it names, or nowhere (T8). */
START_TEST(a_push_to_another_image)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed next = make_push(KEY + 1, 4), never = make_push(KEY + 2, 5), before = make_push(KEY - 1, 6);
	struct wh_image *first;

	raw_open(raw, s, KEY);
	first = raw->image;
	raw_open(raw, s, KEY + 1);
	raw_send(s, before.bytes, before.count);
	raw_send(s, never.bytes, never.count);
	settle(raw, s);
	ck_assert_uint_eq(word_at(raw, 64), 0);
	raw_send(s, next.bytes, next.count);
	settle(raw, s);
	ck_assert_uint_eq(word_at(raw, 64), 4);
	ck_assert(holds(raw, 4));
	raw->image = first;
	ck_assert_uint_eq(word_at(raw, 64), 0);
	ck_assert(holds(raw, 0));
	ck_assert_uint_eq(raw->down, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* The row in an image is that of one incarnation, and the next does not write there. */
START_TEST(a_push_of_the_next_life)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_push(KEY, 3);

	raw_open(raw, s, KEY);
	close(s);
	s = raw_meet(raw, RAW_INCARNATION + 1);
	raw_send(s, push.bytes, push.count);
	settle(raw, s);
	ck_assert_uint_eq(word_at(raw, 64), 0);
	ck_assert(holds(raw, 0));
	close(s);
	raw_free(raw);
}
END_TEST

/* In the middle of a push, wherever that is, the row is frozen, or the image closes, or both: what follows it is understood. */
START_TEST(a_push_that_is_not_wanted_any_more)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	unsigned char frame[WH_HEAD_BYTES + WH_CONTROL_MAX];
	uint64_t key = KEY;

	for (size_t cut = 1; cut < make_push(KEY, 1).count; cut += 7, key++) {
		struct pushed push = make_push(key, 3);
		uint32_t controls = raw->controls;

		raw_open(raw, s, key);
		raw_send(s, push.bytes, cut);
		raw_pass(raw);
		if (_i != 1)
			raw->image->ops->freeze(raw->image, 1);
		if (_i != 0)
			raw->image->ops->image_close(raw->image);
		raw_send(s, push.bytes + cut, push.count - cut);
		raw_send(s, frame, wh_message_put_control(frame, "x", 1));
		RAW_UNTIL(raw, raw->controls == controls + 1);
		if (_i != 0)
			continue;
		ck_assert_uint_eq(word_at(raw, 64), 0);
		ck_assert_uint_eq(word_at(raw, 4096), 0);
		raw->image->ops->image_close(raw->image);
	}
	ck_assert_uint_eq(raw->down, 0);
	close(s);
	raw_free(raw);
}
END_TEST

static const struct {
	struct wh_tcp_span span;
	struct wh_tcp_word word;
} strays[] = {
	{{ROW_BYTES - 50, 100}, {64, 1}},           /* across the end of the row */
	{{RING + WH_ROW_ALIGN - 50, 100}, {64, 1}}, /* into a part that is not read here */
	{{UINT64_MAX - 99, 100}, {64, 1}},
	{{0, 0}, {64, 1}}, /* far away; nothing at all */
	{{RING, 100}, {68, 1}},
	{{RING, 100}, {ROW_BYTES, 1}} /* a word that is none; behind the row */
};

START_TEST(a_push_to_elsewhere)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push;

	raw_open(raw, s, KEY);
	push.count = put_push(push.bytes, KEY, &strays[_i].span, 1, &strays[_i].word, 1, 1);
	push_what_ends_it(raw, s, &push);
	ck_assert_ptr_nonnull(strstr(raw->text, "broken the protocol"));
	ck_assert_uint_eq(word_at(raw, 64), 0);
	raw_free(raw);
}
END_TEST

/* ---- what is relayed ------------------------------------------------------------------------------------------------------ */

static struct pushed make_relayed(uint32_t owner, const struct wh_tcp_span *spans, uint16_t span_count, uint64_t word)
{
	const struct wh_tcp_word words[] = {{64, word}};
	unsigned char *body;
	struct wh_message_head head;
	struct pushed push;

	push.count = put_push(push.bytes, KEY, spans, span_count, words, 1, (unsigned char)word) + WH_TCP_OWNER_BYTES;
	body = push.bytes + WH_HEAD_BYTES;
	ck_assert(wh_tcp_head_take(&head, push.bytes));
	memmove(body + WH_TCP_OWNER_BYTES, body, head.bytes);
	wh_tcp_owner_put(body, owner);
	head.flags |= WH_TCP_RELAYED;
	head.bytes += WH_TCP_OWNER_BYTES;
	wh_message_head_put(push.bytes, &head);
	return push;
}

static const unsigned char *place_of(const struct raw *raw, uint32_t rank)
{
	return ((const struct wh_tcp_image *)raw->image)->places[rank];
}

static uint64_t word_of(const struct raw *raw, uint32_t rank)
{
	return wh_load_acquire((const wh_word *)(const void *)(place_of(raw, rank) + 64));
}

/* The first and the last slot, as long as they are. The owner has not said that it has this image; the image is not ready. Words are of the row of
 * the one that pushes. Cut anywhere. */
START_TEST(relayed_bytes_have_their_place)
{
	static const struct wh_tcp_span spans[] = {{RING + 16, 240}, {RING + 16 + 2 * 256, 50}};
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	uint64_t number = 0;

	raw_open_relay(raw, s, KEY, 1);
	for (size_t cut = 1; cut < make_relayed(2, spans, 2, 1).count; cut += 7) {
		struct pushed push = make_relayed(2, spans, 2, ++number);

		raw_send(s, push.bytes, cut);
		settle_half(raw);
		ck_assert_uint_eq(word_of(raw, 1), number - 1);
		raw_send(s, push.bytes + cut, push.count - cut);
		RAW_UNTIL(raw, word_of(raw, 1) == number);
		for (size_t k = 0; k < 3 * 256; k++) {
			bool is_in = (k >= 16 && k < 256) || (k >= 528 && k < 578);

			ck_assert_int_eq(place_of(raw, 2)[RING + k], is_in ? (unsigned char)number : 0);
		}
		ck_assert_uint_eq(word_of(raw, 2), 0);
		ck_assert_int_eq(place_of(raw, 1)[RING + 16], 0);
	}
	ck_assert_uint_eq(raw->down + raw->ready, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* It comes from the member before, and goes into a slot of that row; or the member has broken the protocol. */
static const struct {
	uint32_t owner;
	struct wh_tcp_span span;
} spoilt[] = {
	{0, {RING + 16, 100}}, /* mine */
	{1, {RING + 16, 100}}, /* its own, which it need not name */
	{3, {RING + 16, 100}}, /* no member's */
	{UINT32_MAX, {RING + 16, 100}},
	{2, {RING, 16}}, /* a header, ... */
	{2, {RING + 8, 100}},
	{2, {RING + 16, 241}}, /* ... and the one behind */
	{2, {RING + 256, 16}},
	{2, {RING + 16, 600}},         /* two slots, with what is between */
	{2, {RING + 16 + 3 * 256, 1}}, /* no slot is there */
	{2, {64, 8}},                  /* columns */
	{2, {ROW_BYTES, 8}},
	{2, {UINT64_MAX - 99, 100}},
};

START_TEST(relayed_bytes_go_nowhere_else)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_relayed(spoilt[_i].owner, &spoilt[_i].span, 1, 1);

	raw_open_relay(raw, s, KEY, 1);
	push_what_ends_it(raw, s, &push);
	ck_assert_ptr_nonnull(strstr(raw->text, "broken the protocol"));
	ck_assert_uint_eq(word_of(raw, 1), 0);
	for (size_t k = 0; k < ROW_BYTES; k++)
		ck_assert_int_eq(place_of(raw, 2)[k], 0);
	raw_free(raw);
}
END_TEST

/* Another than the member before is in the chain, whatever it says. */
START_TEST(relayed_bytes_of_the_wrong_member)
{
	static const struct wh_tcp_span span = {RING + 16, 100};
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_relayed(2, &span, 1, 1);

	raw_open_relay(raw, s, KEY, 0);
	push_what_ends_it(raw, s, &push);
	ck_assert_int_eq(place_of(raw, 2)[RING + 16], 0);
	raw_free(raw);
}
END_TEST

/* Where nothing is relayed nothing may be. */
START_TEST(no_member_relays_unasked)
{
	static const struct wh_tcp_span span = {RING + 16, 100};
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_relayed(2 * (uint32_t)_i, &span, 1, 1);

	raw_open(raw, s, KEY);
	push_what_ends_it(raw, s, &push);
	ck_assert_uint_eq(word_at(raw, 64), 0);
	raw_free(raw);
}
END_TEST

/* Of one that is frozen, or in an image that has been closed: it is read and forgotten, wherever it is cut. */
START_TEST(relayed_bytes_that_are_not_wanted_any_more)
{
	static const struct wh_tcp_span span = {RING + 16, 240};
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_relayed(2, &span, 1, 9);

	raw_open_relay(raw, s, KEY, 1);
	raw_send(s, push.bytes, push.count - 100);
	settle_half(raw);
	if (_i == 0)
		raw->image->ops->freeze(raw->image, 1);
	else
		raw->image->ops->image_close(raw->image);
	raw_send(s, push.bytes + push.count - 100, 100);
	settle(raw, s);
	ck_assert_uint_eq(raw->down, 0);
	if (_i == 0) {
		ck_assert_int_eq(place_of(raw, 2)[RING + 255], 0);
		ck_assert_uint_eq(word_of(raw, 1), 0);
		raw->image->ops->image_close(raw->image);
	}
	close(s);
	raw_free(raw);
}
END_TEST

/* What the head says of its body is not so. */
START_TEST(a_head_that_lies)
{
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);
	struct pushed push = make_push(KEY, 1);

	raw_open(raw, s, KEY);
	push.bytes[_i] ^= _i == 8 ? 1 : 0x40; /* the kind, how many ranges, how many words, how long */
	push_what_ends_it(raw, s, &push);
	ck_assert_uint_eq(word_at(raw, 64), 0);
	raw_free(raw);
}
END_TEST

/* No peer pushes before it has met the node. */
START_TEST(a_push_of_a_stranger)
{
	struct raw *raw = raw_make();
	struct pushed push = make_push(KEY, 1);
	unsigned char body[WH_BODY_MAX];
	struct wh_message_head head;
	int s = raw_call(raw);

	raw_send(s, push.bytes, push.count);
	ck_assert(!raw_receive(raw, s, &head, body));
	ck_assert_uint_eq(raw->met + raw->down, 0);
	close(s);
	raw_free(raw);
}
END_TEST

/* ---- what the node pushes --------------------------------------------------------------------------------------------- */

/* The words of the next push that the node sends, which has `ranges` ranges. */
static uint32_t receive_words(struct raw *raw, int s, uint32_t ranges, struct wh_tcp_word words[WH_TCP_WORDS_MAX])
{
	static struct wh_tcp_span spans[WH_TCP_RANGES_MAX];
	unsigned char body[WH_BODY_MAX];
	struct wh_message_head head;

	do {
		ck_assert(raw_receive(raw, s, &head, body));
	} while (head.kind != WH_MESSAGE_PUSH);
	ck_assert_uint_eq(head.number, KEY);
	ck_assert(wh_tcp_table_take(&head, body, spans, words));
	ck_assert_uint_eq(head.ranges, ranges);
	return head.words;
}

/* A counter is what it was when it was posted, and comes behind what was posted before it (T2, T4); what is pushed of the columns
 * goes as words, of which no reader sees half (T3), wherever the stream is cut. */
START_TEST(words_leave_as_they_were_posted)
{
	static const uint32_t to[] = {1};
	const struct wh_push word = {.kind = WH_PUSH_WORD, .to_count = 1, .to = to};
	const struct wh_push bytes = {.kind = WH_PUSH_BYTES, .to_count = 1, .to = to};
	static struct wh_tcp_word words[WH_TCP_WORDS_MAX];
	static const struct wh_tcp_word expected[] = {{64, 1}, {72, 1}, {64, 2}, {128, 5}, {136, 0}};
	struct wh_push pushes[] = {word, word, word, bytes};
	struct raw *raw = raw_make();
	int s = raw_meet(raw, RAW_INCARNATION);

	raw_open(raw, s, KEY);
	for (int i = 0; i < 3; i++) {
		pushes[i].offset = expected[i].offset;
		pushes[i].value = expected[i].value;
	}
	pushes[3].offset = 129; /* a part of one, and of the next */
	pushes[3].bytes = 10;
	raw->image->own[128] = 5;
	(void)raw->node->ops->take(raw->node); /* what follows is gathered */
	raw->image->ops->post(raw->image, pushes, 4);
	raw->node->ops->flush(raw->node);
	ck_assert_uint_eq(receive_words(raw, s, 0, words), 5);
	for (int i = 0; i < 5; i++) {
		ck_assert_uint_eq(words[i].offset, expected[i].offset);
		ck_assert_uint_eq(words[i].value, expected[i].value);
	}
	close(s);
	raw_free(raw);
}
END_TEST

static const int lies[] = {0, 3, 5, 8}; /* bytes of a head */

int main(void)
{
	Suite *suite = suite_create("tcp-frames");
	TCase *cases = tcase_create("frames");

	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, a_push_in_two_pieces);
	tcase_add_test(cases, a_push_byte_by_byte);
	tcase_add_test(cases, a_push_before_its_row_is_said_to_be_mapped);
	tcase_add_test(cases, bytes_are_counted_as_they_arrive);
	tcase_add_test(cases, a_push_to_another_image);
	tcase_add_test(cases, a_push_of_the_next_life);
	tcase_add_loop_test(cases, a_push_that_is_not_wanted_any_more, 0, 3);
	tcase_add_test(cases, relayed_bytes_have_their_place);
	tcase_add_loop_test(cases, relayed_bytes_go_nowhere_else, 0, sizeof(spoilt) / sizeof(spoilt[0]));
	tcase_add_test(cases, relayed_bytes_of_the_wrong_member);
	tcase_add_loop_test(cases, no_member_relays_unasked, 0, 2);
	tcase_add_loop_test(cases, relayed_bytes_that_are_not_wanted_any_more, 0, 2);
	tcase_add_loop_test(cases, a_push_to_elsewhere, 0, sizeof(strays) / sizeof(strays[0]));
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		tcase_add_loop_test(cases, a_head_that_lies, lies[i], lies[i] + 1);
	tcase_add_test(cases, a_push_of_a_stranger);
	tcase_add_test(cases, words_leave_as_they_were_posted);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
