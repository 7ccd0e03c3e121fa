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

START_TEST(the_depth_is_kept_and_reached)
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
END_TEST

START_TEST(few_are_signalled)
{
	struct wh_verbs_count count = wh_verbs_count(256);
	uint32_t signalled = 0;

	for (uint32_t i = 0; i < 256; i++)
		signalled += wh_verbs_count_post(&count);
	ck_assert_uint_eq(signalled, 4);
	ck_assert_uint_eq(wh_verbs_count_room(&count), 0);
	ck_assert_uint_eq(count.signalled, 256); /* the last one is, or a full queue would say nothing any more */
}
END_TEST

START_TEST(the_last_can_be_asked_for)
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
END_TEST

START_TEST(what_was_not_posted_is_not_done)
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
END_TEST

/* ---- messages ----------------------------------------------------------------------------------------------------- */

static const struct wh_verbs_hello hello = {
	.magic = WH_VERBS_MAGIC, .version = 1, .node = 3, .incarnation = 7, .group = 9, .nodes = 4};

START_TEST(a_hello_is_read)
{
	struct wh_verbs_hello out, other = hello;
	unsigned char padded[56] = {0}; /* librdmacm gives all that there is room for */

	memcpy(padded, &hello, sizeof(hello));
	ck_assert(wh_verbs_read_hello(padded, sizeof(padded), &out));
	ck_assert_mem_eq(&out, &hello, sizeof(hello));
	ck_assert(!wh_verbs_read_hello(padded, sizeof(hello) - 1, &out));
	ck_assert(!wh_verbs_read_hello("", 0, &out));
	other.magic = __builtin_bswap64(hello.magic); /* a host of the other byte order */
	ck_assert(!wh_verbs_read_hello(&other, sizeof(other), &out));
	other = hello;
	other.incarnation = 0;
	ck_assert(!wh_verbs_read_hello(&other, sizeof(other), &out));
}
END_TEST

START_TEST(a_refusal_is_read_and_tamed)
{
	struct wh_verbs_refusal refusal = {.hello = hello, .verdict = WH_VERBS_NEVER}, out;

	memset(refusal.reason, 'x', sizeof(refusal.reason)); /* without an end */
	refusal.reason[1] = '\033';
	ck_assert(wh_verbs_read_refusal(&refusal, sizeof(refusal), &out));
	ck_assert_uint_eq(strlen(out.reason), sizeof(out.reason) - 1);
	ck_assert_int_eq(out.reason[1], '?');
	ck_assert(!wh_verbs_read_refusal(&refusal, sizeof(refusal) - 1, &out));
	refusal.verdict = WH_VERBS_COME;
	ck_assert(!wh_verbs_read_refusal(&refusal, sizeof(refusal), &out));
	refusal.verdict = 77;
	ck_assert(!wh_verbs_read_refusal(&refusal, sizeof(refusal), &out));
}
END_TEST

/* Each kind has a least and a most; a head that says another size than came is none. */
START_TEST(sizes_are_those_of_kinds)
{
	static union wh_verbs_message message;
	const struct {
		uint32_t kind;
		size_t least, most;
	} kinds[] = {
		{WH_VERBS_CREDIT, sizeof(struct wh_verbs_head), sizeof(struct wh_verbs_head)},
		{WH_VERBS_MAPPED, sizeof(struct wh_verbs_about), sizeof(struct wh_verbs_about)},
		{WH_VERBS_CONTROL, sizeof(struct wh_verbs_head), sizeof(struct wh_verbs_control)},
		{WH_VERBS_REFUSED, sizeof(struct wh_verbs_refused), sizeof(struct wh_verbs_refused)},
		{WH_VERBS_GOODBYE, sizeof(struct wh_verbs_head), sizeof(struct wh_verbs_head)},
		{WH_VERBS_STREAM_DATA, sizeof(struct wh_verbs_stream_message) + 1, WH_VERBS_MESSAGE_MAX},
		{WH_VERBS_STREAM_END, sizeof(struct wh_verbs_stream_message), sizeof(struct wh_verbs_stream_message)},
		{0, 1, 0},
		{WH_VERBS_KINDS, 1, 0},
		{UINT32_MAX, 1, 0},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (uint32_t bytes = 0; bytes <= WH_VERBS_MESSAGE_MAX; bytes++) {
			bool good = bytes >= kinds[i].least && bytes <= kinds[i].most;

			message.head.kind = kinds[i].kind;
			message.head.bytes = bytes;
			ck_assert_int_eq(wh_verbs_message_is_sound(&message, bytes), good);
			message.head.bytes = bytes + 1;
			ck_assert(!wh_verbs_message_is_sound(&message, bytes));
		}
}
END_TEST

START_TEST(parts_of_an_offer)
{
	static union wh_verbs_message message;
	struct wh_verbs_offer *offer = &message.offer;
	const struct wh_row_part good[] = {{0, 4096}, {8192, 4096}, {16384, 100}};

	*offer = (struct wh_verbs_offer){.head.kind = WH_VERBS_OFFER, .base = 1 << 20, .part_count = 3};
	memcpy(offer->parts, good, sizeof(good));
	offer->head.bytes = sizeof(*offer) + sizeof(good);
	ck_assert(wh_verbs_message_is_sound(&message, sizeof(*offer) + sizeof(good)));
	ck_assert(wh_verbs_parts_are_sound(offer, 16484));
	ck_assert(!wh_verbs_parts_are_sound(offer, 16483)); /* beyond the row */
	offer->parts[2].bytes = UINT64_MAX;
	ck_assert(!wh_verbs_parts_are_sound(offer, UINT64_MAX));
	offer->parts[2] = (struct wh_row_part){4096, 0};
	ck_assert(!wh_verbs_parts_are_sound(offer, 1 << 20));
	offer->parts[2] = (struct wh_row_part){12287, 1}; /* one over another */
	ck_assert(!wh_verbs_parts_are_sound(offer, 1 << 20));
	offer->parts[2] = good[2];
	offer->base = UINT64_MAX - 100;
	ck_assert(!wh_verbs_parts_are_sound(offer, 1 << 20));
	offer->part_count = 4;
	ck_assert(!wh_verbs_message_is_sound(&message, sizeof(*offer) + sizeof(good)));
	offer->part_count = UINT32_MAX;
	ck_assert(!wh_verbs_message_is_sound(&message, sizeof(*offer) + sizeof(good)));
}
END_TEST

/* ---- without a device --------------------------------------------------------------------------------------------- */

START_TEST(a_node_without_a_device_is_told_so)
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
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs");
	TCase *cases = tcase_create("pure");

	tcase_add_loop_test(cases, the_depth_is_kept_and_reached, 0, 8);
	tcase_add_test(cases, few_are_signalled);
	tcase_add_test(cases, the_last_can_be_asked_for);
	tcase_add_test(cases, what_was_not_posted_is_not_done);
	tcase_add_test(cases, a_hello_is_read);
	tcase_add_test(cases, a_refusal_is_read_and_tamed);
	tcase_add_test(cases, sizes_are_those_of_kinds);
	tcase_add_test(cases, parts_of_an_offer);
	tcase_add_test(cases, a_node_without_a_device_is_told_so);
	suite_add_tcase(suite, cases);
	return test_main(suite);
}
