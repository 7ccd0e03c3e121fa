/* The parts of the RDMA transport that need no device: the count of requests, which Soft-RoCE cannot test, as it takes any number
 * of them, and what is believed of messages. */
#include <string.h>

#include "tests/harness.h"
#include "transport/verbs/verbs_int.h"

/* ---- the count ---------------------------------------------------------------------------------------------------- */

/* A device of that depth, which breaks if it is given more: it completes in order, and says so of what is signalled. */
struct device {
	uint64_t given, finished;
	uint64_t marks[512], marks_in, marks_out; /* numbers of the signalled ones */
};

static uint64_t state = 1;

static uint64_t dice(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

static void give(struct device *device, struct wh_verbs_count *count)
{
	if (wh_verbs_count_post(count))
		device->marks[device->marks_in++ % 512] = count->posted;
	device->given++;
	ck_assert_uint_le(device->given - device->finished, count->depth);
}

static void finish(struct device *device, struct wh_verbs_count *count)
{
	device->finished++;
	if (device->marks_out == device->marks_in || device->marks[device->marks_out % 512] != device->finished)
		return;
	ck_assert(wh_verbs_count_done(count, device->marks[device->marks_out++ % 512]));
}

TEST_LOOP(the_depth_is_kept_and_reached, 0, 8)
{
	const uint32_t depths[] = {1, 2, 3, 4, 7, 16, 128, 256};
	uint32_t depth = depths[_i], most = 0;
	struct wh_verbs_count count = wh_verbs_count(depth);
	struct device device = {0};

	state = test_seed(1);
	while (device.given < 20000) {
		for (uint64_t burst = dice(2 * depth + 2); burst > 0 && wh_verbs_count_room(&count) > 0; burst--)
			give(&device, &count);
		most = device.given - device.finished > most ? (uint32_t)(device.given - device.finished) : most;
		for (uint64_t burst = dice(depth + 1); burst > 0 && device.finished < device.given; burst--)
			finish(&device, &count);
		/* However many are under way: when all that were given are finished there is room again. */
		if (wh_verbs_count_room(&count) == 0)
			while (device.finished < device.given)
				finish(&device, &count);
		ck_assert_uint_gt(wh_verbs_count_room(&count), 0);
	}
	ck_assert_uint_eq(most, depth);
	ck_assert_uint_ge(device.marks_in, device.given / (depth >= 4 ? depth / 4 : 1) - 1);
}

TEST(few_are_signalled)
{
	struct wh_verbs_count count = wh_verbs_count(256);
	uint32_t signalled = 0;

	for (uint32_t i = 0; i < 256; i++)
		signalled += wh_verbs_count_post(&count);
	ck_assert_uint_eq(signalled, 4);
	ck_assert_uint_eq(wh_verbs_count_room(&count), 0);
	ck_assert_uint_eq(count.signalled, 256); /* the last one is, or a full queue would say nothing any more */
}

TEST(the_last_can_be_asked_for)
{
	struct wh_verbs_count count = wh_verbs_count(256);

	ck_assert(!wh_verbs_count_post(&count));
	wh_verbs_count_post_signalled(&count);
	ck_assert_uint_eq(count.signalled, 2);
	ck_assert_uint_eq(wh_verbs_count_room(&count), 254);
	ck_assert(wh_verbs_count_done(&count, 2));
	ck_assert_uint_eq(wh_verbs_count_room(&count), 256);
	for (int i = 0; i < 63; i++)
		ck_assert(!wh_verbs_count_post(&count));
	ck_assert(wh_verbs_count_post(&count));
}

TEST(what_was_not_posted_is_not_done)
{
	struct wh_verbs_count count = wh_verbs_count(8);

	ck_assert(!wh_verbs_count_done(&count, 0));
	ck_assert(!wh_verbs_count_done(&count, 1));
	for (int i = 0; i < 4; i++)
		(void)wh_verbs_count_post(&count);
	ck_assert(!wh_verbs_count_done(&count, 5));
	ck_assert(wh_verbs_count_done(&count, 2));
	ck_assert(!wh_verbs_count_done(&count, 2));
	ck_assert(!wh_verbs_count_done(&count, 1));
	ck_assert(wh_verbs_count_done(&count, 4));
	ck_assert_uint_eq(wh_verbs_count_room(&count), 8);
}

/* ---- messages ----------------------------------------------------------------------------------------------------- */

TEST(messages_come_as_they_went)
{
	const struct wh_verbs_message all[] = {
		{.kind = WH_VERBS_TOKEN, .token = "0123456789abcde"},
		{.kind = WH_VERBS_SHUT, .number = UINT64_MAX},
		{.kind = WH_VERBS_ACCOUNT, .qp = 0xfffffe, .psn = 0xffffff},
		{.kind = WH_VERBS_GRANT, .number = 7, .bytes = 4096, .address = UINT64_C(1) << 63, .rkey = UINT32_MAX},
		{.kind = WH_VERBS_WITHDRAWN, .number = 8},
		{.kind = WH_VERBS_RELEASED, .number = 9},
		{.kind = WH_VERBS_IMMEDIATES, .number = 10},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		unsigned char bytes[WH_VERBS_MESSAGE_MAX];
		struct wh_verbs_message again;
		struct wh_message_head head;
		size_t count = wh_verbs_put_message(bytes, &all[i]);

		ck_assert(wh_message_head_take(&head, bytes));
		ck_assert_uint_eq(count, WH_HEAD_BYTES + head.bytes);
		ck_assert(wh_verbs_take_message(&again, &head, bytes + WH_HEAD_BYTES));
		ck_assert_int_eq(again.kind, all[i].kind);
		ck_assert_uint_eq(again.number, all[i].number);
		ck_assert_mem_eq(again.token, all[i].token, sizeof(again.token));
		ck_assert_uint_eq(again.rkey, all[i].rkey);
	}
}

/* Each kind has one size, and there are no others. */
TEST(sizes_are_those_of_kinds)
{
	static const uint32_t sizes[WH_MESSAGE_KINDS] = {
		[WH_VERBS_TOKEN] = 16, [WH_VERBS_ACCOUNT] = 8, [WH_VERBS_GRANT] = 20};
	unsigned char body[64] = {0};
	struct wh_verbs_message message;

	for (uint8_t kind = 0; kind < WH_MESSAGE_KINDS; kind++)
		for (uint32_t bytes = 0; bytes <= sizeof(body); bytes++) {
			const struct wh_message_head head = {.kind = kind, .bytes = bytes};
			bool good = kind >= WH_VERBS_TOKEN && kind < WH_VERBS_KINDS && bytes == sizes[kind];

			ck_assert_int_eq(wh_verbs_take_message(&message, &head, body), good);
		}
}

TEST(numbers_that_no_device_has_are_refused)
{
	unsigned char bytes[WH_VERBS_MESSAGE_MAX];
	struct wh_verbs_message message = {.kind = WH_VERBS_ACCOUNT, .psn = 1 << 24};
	struct wh_message_head head;

	(void)wh_verbs_put_message(bytes, &message);
	ck_assert(wh_message_head_take(&head, bytes));
	ck_assert(!wh_verbs_take_message(&message, &head, bytes + WH_HEAD_BYTES));
	message = (struct wh_verbs_message){.kind = WH_VERBS_GRANT, .bytes = 4096, .address = UINT64_MAX - 4095};
	(void)wh_verbs_put_message(bytes, &message);
	ck_assert(wh_message_head_take(&head, bytes));
	ck_assert(!wh_verbs_take_message(&message, &head, bytes + WH_HEAD_BYTES));
}

TEST(a_hello_is_of_this_byte_order)
{
	const uint64_t other = __builtin_bswap64(WH_VERBS_MAGIC);
	unsigned char own[WH_VERBS_HELLO_BYTES];

	wh_verbs_put_hello(own);
	ck_assert(wh_verbs_take_hello(own, sizeof(own)));
	ck_assert(!wh_verbs_take_hello(own, sizeof(own) - 1));
	ck_assert(!wh_verbs_take_hello(own, 0)); /* of tcp */
	memcpy(own, &other, sizeof(other));
	ck_assert(!wh_verbs_take_hello(own, sizeof(own)));
}

/* Does an offer with those parts hold, of a row of so many bytes? */
static bool holds(uint64_t base, const struct wh_row_part *parts, size_t count, uint64_t row_bytes)
{
	const struct wh_verbs_offer offer = {.base = base, .rkey = 1, .in_qp = 2, .out_qp = 3, .out_psn = 4};
	struct wh_row_part again[WH_VERBS_PARTS_MAX];
	static unsigned char own[WH_OWN_OFFER_MAX];
	struct wh_verbs_offer taken;
	size_t bytes = wh_verbs_put_offer(own, &offer, parts, count), taken_count;

	ck_assert_uint_le(bytes, sizeof(own));
	if (!wh_verbs_take_offer(&taken, again, &taken_count, own, bytes, row_bytes))
		return false;
	ck_assert_mem_eq(&taken, &offer, sizeof(offer));
	ck_assert_uint_eq(taken_count, count);
	ck_assert_mem_eq(again, parts, count * sizeof(parts[0]));
	return true;
}

TEST(parts_of_an_offer)
{
	struct wh_row_part parts[] = {{0, 4096}, {8192, 4096}, {16384, 100}};
	static struct wh_row_part most[WH_VERBS_PARTS_MAX];

	ck_assert(holds(1 << 20, parts, 3, 16484));
	ck_assert(holds(1 << 20, parts, 0, 16484));
	ck_assert(!holds(1 << 20, parts, 3, 16483)); /* beyond the row */
	ck_assert(holds(UINT64_MAX - 16484, parts, 3, 16484));
	ck_assert(!holds(UINT64_MAX - 16483, parts, 3, 16484));
	parts[2].bytes = UINT64_MAX;
	ck_assert(!holds(1 << 20, parts, 3, UINT64_MAX));
	parts[2] = (struct wh_row_part){4096, 0};
	ck_assert(!holds(1 << 20, parts, 3, 1 << 20));
	parts[2] = (struct wh_row_part){12287, 1}; /* one over another */
	ck_assert(!holds(1 << 20, parts, 3, 1 << 20));
	for (size_t i = 0; i < WH_VERBS_PARTS_MAX; i++)
		most[i] = (struct wh_row_part){i * 8192, 4096};
	ck_assert(holds(1 << 20, most, WH_VERBS_PARTS_MAX, UINT64_C(1) << 30));
}

TEST(sizes_of_an_offer)
{
	static unsigned char own[WH_OWN_OFFER_MAX + 16];
	struct wh_row_part parts[WH_VERBS_PARTS_MAX];
	struct wh_verbs_offer offer;
	size_t count;

	for (size_t bytes = 0; bytes <= sizeof(own); bytes++)
		if (wh_verbs_take_offer(&offer, parts, &count, own, bytes, 1 << 20))
			ck_assert_uint_eq(bytes, WH_VERBS_OFFER_BYTES); /* parts of no bytes are none */
	own[23] = 1;                                                    /* a number that no queue pair begins with */
	ck_assert(!wh_verbs_take_offer(&offer, parts, &count, own, WH_VERBS_OFFER_BYTES, 1 << 20));
}

/* ---- without a device --------------------------------------------------------------------------------------------- */

TEST(a_node_without_a_device_is_told_so)
{
	const char *addresses[] = {"127.0.0.1:9", "127.0.0.1:10"};
	struct wh_transport_config config = {.env = wh_env_system(),
					     .group = "none",
					     .node = 0,
					     .nodes = 2,
					     .addresses = addresses,
					     .incarnation = 1,
					     .patience_ns = WH_NS_PER_S};
	struct wh_transport *transport;
	struct wh_error err;

	ck_assert_int_eq(wh_verbs_create(&config, NULL, &transport, &err), WHORL_UNSUPPORTED);
	ck_assert_ptr_null(transport);
	ck_assert_msg(strstr(err.text, "RDMA device") != NULL && strstr(err.text, "./run softroce") != NULL, "%s",
		      err.text);
	addresses[1] = "nowhere";
	ck_assert_int_eq(wh_verbs_create(&config, NULL, &transport, &err), WHORL_CONFIG);
	ck_assert_msg(strstr(err.text, "nowhere") != NULL, "%s", err.text);
	config.addresses = NULL;
	if (wh_verbs_create(&config, NULL, &transport, &err) == WHORL_OK) { /* there is one, and it has an address */
		transport->ops->destroy(transport, false);
		return;
	}
	ck_assert_int_eq(err.code, WHORL_UNSUPPORTED);
	ck_assert_msg(strstr(err.text, "RDMA device") != NULL && strstr(err.text, "./run softroce") != NULL, "%s",
		      err.text);
}

TEST_SUITE("verbs")
