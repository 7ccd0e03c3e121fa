/* test_session_images.c - how images become ready, which offers are kept, and what becomes of descriptors, on a wire in memory
 * (fake_wire.h): node 0 has the session, the others are played here. */
#include "tests/support/fake_wire.h"

#define LIFE 201 /* of the nodes that are played */
#define ROW (2 * WH_ROW_ALIGN)
#define DIGEST 77

static struct fake_net net;
static struct fake_node *me;
static struct fake_end *end; /* of node 1, which has been met */

static void setup(void)
{
	fake_net_init(&net);
	me = fake_open(&net, 0, fake_life(0));
	fake_advance(&net, WH_NS_PER_MS);
	end = fake_meet(&net, 1, LIFE, 1, 0);
}

static void teardown(void)
{
	fake_close_end(end);
	fake_pump(&net);
	fake_net_free(&net);
}

/* Of nodes 0 and 1, in this order. */
static struct wh_session_image *open_image(uint64_t key)
{
	static const struct wh_row_part parts[] = {{WH_ROW_ALIGN, WH_ROW_ALIGN}, {0, WH_ROW_ALIGN}};
	const struct wh_row_spec rows[] = {{0, fake_life(0), ROW, parts, 2}, {1, LIFE, ROW, parts, 2}};
	const struct wh_image_spec spec = {.key = key,
					   .layout_digest = DIGEST,
					   .members = 2,
					   .my_rank = 0,
					   .control_bytes = WH_ROW_ALIGN,
					   .rows = rows};
	struct wh_session_image *image = calloc(1, sizeof(*image));

	ck_assert_ptr_nonnull(image);
	ck_assert(wh_session_image_init(image, me->session, &me->transport, &spec));
	image->base.own = me->row;
	ck_assert(image->rows[1].part_count == 1 && image->rows[1].parts[0].bytes == ROW);
	wh_session_image_open(image);
	fake_pump(&net);
	return image;
}

static void close_image(struct wh_session_image *image)
{
	wh_session_image_close(image);
	wh_session_image_free(image);
	free(image);
}

static void say_offer_with(const struct wh_offer *offer, size_t own, int fd)
{
	unsigned char message[WH_MESSAGE_MAX];
	size_t bytes = wh_message_put_offer(message, offer, own);

	memset(message + bytes, 'o', own);
	fake_push(end->other, message, bytes + own, &fd, fd >= 0);
	fake_pump(&net);
}

static struct wh_offer offer_of(uint64_t key)
{
	return (struct wh_offer){key, DIGEST, 2, 1, ROW};
}

static void say_offer(uint64_t key)
{
	const struct wh_offer offer = offer_of(key);

	say_offer_with(&offer, 3, -1);
}

static void say_mapped(uint64_t key)
{
	fake_say_plain(end, WH_MESSAGE_MAPPED, key);
	fake_pump(&net);
}

static uint32_t kept(void)
{
	uint32_t count = 0;

	for (size_t i = 0; i < WH_SESSION_OFFERS; i++)
		count += me->session->peers[1].offers[i].there;
	return count;
}

static bool keeps(uint64_t key)
{
	for (size_t i = 0; i < WH_SESSION_OFFERS; i++)
		if (me->session->peers[1].offers[i].there && me->session->peers[1].offers[i].offer.key == key)
			return true;
	return false;
}

/* ---- becoming ready ------------------------------------------------------------------------------------------------- */

/* My row is offered, its row is mapped, and each knows. */
START_TEST(an_image_becomes_ready)
{
	struct wh_session_image *image;
	struct wh_offer offer;
	struct wh_message m;

	me->own_offer = 9;
	image = open_image(5);
	ck_assert_int_eq(fake_next(end, &m), WH_MESSAGE_OFFER);
	ck_assert(wh_message_take_offer(&offer, &m.head, m.body));
	ck_assert(offer.key == 5 && offer.layout_digest == DIGEST && offer.members == 2 && offer.rank == 0);
	ck_assert(offer.row_bytes == ROW && m.head.bytes == WH_OFFER_BYTES + 9);
	fake_expect(end, 0);
	say_mapped(5);
	ck_assert(!image->base.ready);
	say_offer(5);
	fake_expect(end, WH_MESSAGE_MAPPED);
	fake_expect(end, 0); /* it has mapped mine: no need to offer it again */
	ck_assert(image->base.ready);
	ck_assert(image->base.row[1] == me->row && image->base.control[1] == me->row && image->base.row[0] == me->row);
	ck_assert_uint_eq(me->events[WH_EVENT_IMAGE_READY], 1);
	ck_assert_uint_eq(kept(), 0);
	close_image(image);
}
END_TEST

/* What it says before my offer is not of this image of mine. */
START_TEST(only_what_was_offered_can_be_mapped)
{
	struct wh_session_image *image;

	me->offers_later = true;
	image = open_image(5);
	fake_expect(end, 0);
	say_offer(5);
	fake_expect(end, WH_MESSAGE_MAPPED);
	say_mapped(5);
	say_mapped(6); /* of no image of mine */
	me->offers_later = false;
	fake_pump(&net);
	fake_expect(end, WH_MESSAGE_OFFER);
	ck_assert(!image->base.ready);
	say_mapped(5);
	ck_assert(image->base.ready);
	close_image(image);
}
END_TEST

/* The peer may have dropped my offer, which came before it had opened this image. */
START_TEST(my_row_is_offered_again_when_its_row_comes)
{
	struct wh_session_image *image = open_image(5);

	fake_expect(end, WH_MESSAGE_OFFER);
	say_offer(5);
	ck_assert_uint_eq(fake_count(end, WH_MESSAGE_OFFER), 1);
	say_offer(5); /* it has been mapped */
	ck_assert_uint_eq(fake_count(end, WH_MESSAGE_OFFER), 0);
	ck_assert_uint_eq(me->mapped, 1);
	say_mapped(5);
	ck_assert(image->base.ready);
	close_image(image);
}
END_TEST

/* An offer, and that a row is mapped, have room that users cannot take; and where there is none they are tried again. */
START_TEST(images_need_no_room_of_users)
{
	struct wh_session_image *image;
	uint32_t sent = 0;

	while (wh_session_control_send(me->session, 1, "", 0) == WHORL_OK)
		sent++;
	image = open_image(5);
	ck_assert_uint_eq(fake_waiting(end), sent + 1);
	say_offer(5);
	ck_assert_uint_eq(fake_count(end, WH_MESSAGE_MAPPED), 1);
	close_image(image);
	fake_of(&end->other->base)->deaf = true;
	image = open_image(6);
	say_offer(6);
	ck_assert(image->rows[1].mapped && !image->rows[1].told && !image->rows[1].offered);
	ck_assert_uint_ne(me->wire.alarm_ns, 0);
	ck_assert_uint_le(me->wire.alarm_ns, net.fake.now_ns + 2 * WH_NS_PER_MS);
	ck_assert(wh_session_on_timer(me->session)); /* service is to try it */
	end->other->deaf = false;
	fake_pump(&net);
	ck_assert(image->rows[1].told && image->rows[1].offered);
	say_mapped(6);
	ck_assert(!wh_session_on_timer(me->session));
	close_image(image);
}
END_TEST

static void refuses(const struct wh_offer *offer, const char *why)
{
	struct wh_session_image *image = open_image(5);

	fake_expect(end, WH_MESSAGE_OFFER);
	say_offer_with(offer, 3, -1);
	fake_expect_refused(end, why);
	ck_assert_ptr_null(end->other);
	ck_assert_uint_eq(me->incarnations[WH_EVENT_REFUSED], LIFE);
	ck_assert_uint_eq(me->discarded, 1);
	ck_assert(!image->base.ready);
	close_image(image);
}

START_TEST(offers_that_do_not_fit_are_refused)
{
	struct wh_offer offer = offer_of(5);

	if (_i == 0)
		offer.layout_digest++;
	else if (_i == 1)
		offer.members++;
	else if (_i == 2)
		offer.rank = 0;
	else
		offer.row_bytes += WH_ROW_ALIGN;
	refuses(&offer, "lay out image 5 differently");
}
END_TEST

/* What the plane has to say of the bytes that came with it. */
START_TEST(an_offer_that_the_plane_refuses)
{
	const struct wh_offer offer = offer_of(5);

	me->maps = MAPS_NEVER;
	refuses(&offer, "row of node 1: no row");
}
END_TEST

START_TEST(an_offer_without_a_plane_is_no_offer)
{
	me->plane_ops.map = NULL;
	say_offer(5);
	ck_assert_ptr_null(end->other);
	ck_assert_ptr_nonnull(strstr(me->texts[WH_EVENT_PEER_DOWN], "broken the protocol"));
}
END_TEST

/* A row is that of one incarnation. */
START_TEST(the_next_life_has_no_part_in_an_image)
{
	struct wh_session_image *image = open_image(5);
	uint32_t rank;

	fake_expect(end, WH_MESSAGE_OFFER);
	ck_assert_ptr_eq(wh_session_image_of(me->session, &me->session->peers[1], 5, &rank), image);
	ck_assert_uint_eq(rank, 1);
	fake_close_end(end);
	fake_pump(&net);
	ck_assert_ptr_null(wh_session_image_of(me->session, &me->session->peers[1], 5, &rank));
	end = fake_meet(&net, 1, LIFE + 1, 1, 0);
	fake_expect(end, 0);
	ck_assert_ptr_null(wh_session_image_of(me->session, &me->session->peers[1], 5, &rank));
	say_offer(5);
	say_mapped(5);
	fake_expect(end, 0);
	ck_assert(!image->rows[1].mapped && !image->rows[1].confirmed);
	image->rows[1].frozen = true;
	fake_pump(&net);
	ck_assert(image->base.ready && image->base.row[1] == NULL);
	close_image(image);
}
END_TEST

/* It is ready, or could be, and it is not told any more. */
START_TEST(no_image_becomes_ready_after_leaving)
{
	struct wh_session_image *image = open_image(5), *later;
	unsigned char message[WH_MESSAGE_MAX];
	const struct wh_offer offer = offer_of(5);

	fake_say(end, message, wh_message_put_offer(message, &offer, 0));
	fake_say_plain(end, WH_MESSAGE_MAPPED, 5);
	if (_i == 0)
		fake_hear(&net);
	ck_assert(image->base.ready == (_i == 0));
	wh_session_leave(me->session);
	fake_pump(&net);
	later = open_image(6);
	ck_assert_uint_eq(me->events[WH_EVENT_IMAGE_READY], 0);
	ck_assert_uint_eq(fake_count(end, WH_MESSAGE_OFFER), 1);
	close_image(image);
	close_image(later);
}
END_TEST

/* ---- offers that are kept ------------------------------------------------------------------------------------------- */

START_TEST(of_too_many_offers_the_greater_keys_are_kept)
{
	for (uint64_t key = 10; key < 10 + WH_SESSION_OFFERS; key++)
		say_offer(key);
	ck_assert_uint_eq(kept(), WH_SESSION_OFFERS);
	say_offer(9);
	ck_assert(!keeps(9) && keeps(10));
	ck_assert_uint_eq(me->discarded, 1);
	say_offer(99);
	ck_assert(keeps(99) && !keeps(10) && keeps(11));
	ck_assert_uint_eq(me->discarded, 2);
	ck_assert_uint_eq(kept(), WH_SESSION_OFFERS);
	fake_close_end(end);
	fake_pump(&net);
	ck_assert_uint_eq(kept(), 0);
	ck_assert_uint_eq(me->discarded, 2 + WH_SESSION_OFFERS);
	end = fake_call(&net, 1, 0);
}
END_TEST

/* It is about to be used. 0: it is there; 1: it comes, and the lowest of the others goes. */
START_TEST(an_open_image_outranks_greater_keys)
{
	struct wh_session_image *image = open_image(5);

	me->maps = MAPS_LATER;
	for (uint64_t key = _i == 0 ? 5 : 6; key < 6 + WH_SESSION_OFFERS; key++)
		say_offer(key);
	if (_i == 1)
		say_offer(5);
	ck_assert(keeps(5) && !keeps(6) && keeps(7));
	me->maps = MAPS;
	fake_pump(&net);
	ck_assert(image->rows[1].mapped && !keeps(5));
	close_image(image);
}
END_TEST

/* What will not be opened any more is let go of, and when it comes. */
START_TEST(past_offers_are_dropped)
{
	struct wh_session_image *image;

	for (uint64_t key = 3; key < 9; key++)
		say_offer(key);
	wh_session_past(me->session, 6);
	ck_assert(!keeps(5) && keeps(6) && kept() == 3);
	ck_assert_uint_eq(me->discarded, 3);
	say_offer(5);
	ck_assert(!keeps(5) && me->discarded == 4);
	wh_session_past(me->session, 2); /* it does not go back */
	say_offer(5);
	ck_assert(!keeps(5));
	image = open_image(8);
	ck_assert(image->rows[1].mapped && kept() == 2);
	say_offer(8);
	ck_assert(!keeps(8)); /* it is mapped already */
	close_image(image);
	ck_assert_uint_eq(kept(), 0);
	say_offer(8);
	ck_assert_uint_eq(kept(), 0);
}
END_TEST

/* The later one counts: here it fits. */
START_TEST(an_offer_made_twice_takes_the_place_of_the_first)
{
	struct wh_offer wrong = offer_of(5);
	struct wh_session_image *image;

	wrong.layout_digest++;
	say_offer(4);
	say_offer_with(&wrong, 3, -1);
	say_offer(5);
	ck_assert_uint_eq(kept(), 2);
	ck_assert_uint_eq(me->discarded, 1);
	image = open_image(5);
	ck_assert(image->rows[1].mapped);
	ck_assert_uint_eq(me->events[WH_EVENT_REFUSED], 0);
	close_image(image);
}
END_TEST

/* ---- descriptors ---------------------------------------------------------------------------------------------------- *
 * One end of a pipe is sent: the other shows whether all copies are closed. */

static int watched[2];

static int new_pipe(void)
{
	ck_assert_int_eq(pipe2(watched, O_NONBLOCK | O_CLOEXEC), 0);
	return watched[1];
}

/* The test's own copy is closed: is there another? */
static bool is_closed(void)
{
	char byte;

	if (watched[1] >= 0)
		close(watched[1]);
	watched[1] = -1;
	return read(watched[0], &byte, 1) == 0;
}

/* 0: a caller's, that is let in; 1: one that is not; 2: an answer's; 3: nonsense of a stranger; 4: of a peer, with a message that has no
 * use for it; 5: with one that has no place there. */
START_TEST(descriptors_that_are_not_taken_are_closed)
{
	struct wh_hello hello = fake_hello(2, LIFE, 1);
	unsigned char message[WH_HEAD_BYTES];
	struct fake_end *other;
	int fd = new_pipe();

	net.node[2].wire.listens = _i == 2;
	if (_i == 2)
		fake_advance(&net, WH_NS_PER_S);
	other = _i == 2 ? fake_accept(&net, 2) : fake_call(&net, 2, 0);
	ck_assert_ptr_nonnull(other);
	if (_i == 1)
		hello.node = 0;
	if (_i < 3)
		fake_say_hello_with(other, &hello, 0, fd);
	else
		fake_push(_i == 3 ? other->other : end->other, message,
			  wh_message_put_plain(message, _i == 4 ? WH_MESSAGE_PONG : WH_MESSAGE_TAKEN, 0), &fd, 1);
	fake_pump(&net);
	ck_assert(is_closed());
	close(watched[0]);
	fake_close_end(other);
}
END_TEST

/* 0: it is kept until its image is open, and then not taken; 1: the plane takes it; 2: the connection ends; 3: it is past; 4: it is when
 * it comes; 5: another takes its place; 6: it does not fit. */
START_TEST(descriptors_of_offers)
{
	struct wh_session_image *image = NULL;
	struct wh_offer offer = offer_of(5);

	me->keeps_fd = _i == 1;
	offer.row_bytes += _i == 6;
	if (_i == 4)
		wh_session_past(me->session, 6);
	say_offer_with(&offer, 3, new_pipe());
	ck_assert(is_closed() == (_i == 4));
	if (_i < 2 || _i == 6)
		image = open_image(5);
	else if (_i == 2)
		fake_say_plain(end, WH_MESSAGE_LEAVE, 0);
	else if (_i == 3)
		wh_session_past(me->session, 6);
	else
		say_offer(5);
	fake_pump(&net);
	ck_assert(is_closed() == (_i != 1));
	if (_i == 1) {
		close(me->kept_fd);
		ck_assert(is_closed());
	}
	close(watched[0]);
	if (image != NULL)
		close_image(image);
}
END_TEST

/* What the plane adds gets there, with a HELLO and an OFFER: bytes and a descriptor, which stays its own. */
START_TEST(what_the_plane_adds_is_sent)
{
	struct wh_message m = {.fds = {-1, -1}};
	struct wh_session_image *image;
	struct fake_end *other;

	me->own_hello = WH_OWN_HELLO_MAX;
	me->own_offer = WH_OWN_OFFER_MAX;
	me->own_fd = new_pipe();
	other = fake_call(&net, 2, 0);
	fake_say_hello(other, 2, LIFE, 1);
	fake_pump(&net);
	other->adopted = true;
	image = open_image(5);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(fake_wire_receive(i == 0 ? &other->base : &end->base, &m), WH_WIRE_DONE);
		ck_assert_uint_eq(m.head.bytes, i == 0 ? WH_HELLO_BYTES + WH_OWN_HELLO_MAX : WH_BODY_MAX);
		ck_assert_int_eq(m.body[m.head.bytes - 1], 'o');
		ck_assert(m.fds[0] >= 0 && m.fds[1] == -1);
		wh_message_close_fds(&m);
	}
	ck_assert(is_closed());
	close(watched[0]);
	close_image(image);
	fake_close_end(other);
}
END_TEST

/* ---- parts ---------------------------------------------------------------------------------------------------------- */

#define PAGE(k) ((uint64_t)(k)*WH_ROW_ALIGN)

struct parts_case {
	struct wh_row_part given[6];
	size_t given_count;
	struct wh_row_part made[6];
	size_t made_count;
};

static const struct parts_case parts_cases[] = {
	{{{0}}, 0, {{0}}, 0},
	{{{0, PAGE(1)}}, 1, {{0, PAGE(1)}}, 1},
	/* neighbours, in any order */
	{{{0, PAGE(1)}, {PAGE(1), PAGE(2)}, {PAGE(3), PAGE(1)}}, 3, {{0, PAGE(4)}}, 1},
	{{{PAGE(3), PAGE(1)}, {PAGE(1), PAGE(2)}, {0, PAGE(1)}}, 3, {{0, PAGE(4)}}, 1},
	/* a gap stays one, however small: what lies in it is not to be read */
	{{{0, PAGE(1)}, {PAGE(2), PAGE(1)}}, 2, {{0, PAGE(1)}, {PAGE(2), PAGE(1)}}, 2},
	/* both, before a gap and behind it */
	{{{PAGE(5), PAGE(1)},
	  {PAGE(1), PAGE(1)},
	  {0, PAGE(1)},
	  {PAGE(7), PAGE(2)},
	  {PAGE(4), PAGE(1)},
	  {PAGE(9), PAGE(1)}},
	 6,
	 {{0, PAGE(2)}, {PAGE(4), PAGE(2)}, {PAGE(7), PAGE(3)}},
	 3},
};

START_TEST(parts_that_touch_become_one)
{
	const struct parts_case *it = &parts_cases[_i];
	const struct wh_row_part whole = {0, PAGE(10)};
	const struct wh_row_spec rows[] = {{0, fake_life(0), PAGE(10), &whole, 1},
					   {1, LIFE, PAGE(10), it->given, it->given_count},
					   {2, LIFE, PAGE(10), &whole, 1}};
	const struct wh_image_spec spec = {.key = 5, .members = 3, .control_bytes = WH_ROW_ALIGN, .rows = rows};
	struct wh_session_image image = {.settled = false};

	ck_assert(wh_session_image_init(&image, me->session, &me->transport, &spec));
	ck_assert_uint_eq(image.rows[1].part_count, it->made_count);
	for (size_t i = 0; i < it->made_count; i++) {
		ck_assert_uint_eq(image.rows[1].parts[i].offset, it->made[i].offset);
		ck_assert_uint_eq(image.rows[1].parts[i].bytes, it->made[i].bytes);
	}
	for (uint32_t rank = 0; rank < 3; rank += 2) /* those of the others are where they were */
		ck_assert(image.rows[rank].part_count == 1 && image.rows[rank].parts[0].bytes == PAGE(10));
	wh_session_image_free(&image);
}
END_TEST

static void add_images(TCase *cases)
{
	tcase_add_loop_test(cases, parts_that_touch_become_one, 0, (int)(sizeof(parts_cases) / sizeof(parts_cases[0])));
	tcase_add_test(cases, an_image_becomes_ready);
	tcase_add_test(cases, only_what_was_offered_can_be_mapped);
	tcase_add_test(cases, my_row_is_offered_again_when_its_row_comes);
	tcase_add_test(cases, images_need_no_room_of_users);
	tcase_add_loop_test(cases, offers_that_do_not_fit_are_refused, 0, 4);
	tcase_add_test(cases, an_offer_that_the_plane_refuses);
	tcase_add_test(cases, an_offer_without_a_plane_is_no_offer);
	tcase_add_test(cases, the_next_life_has_no_part_in_an_image);
	tcase_add_loop_test(cases, no_image_becomes_ready_after_leaving, 0, 2);
}

int main(void)
{
	Suite *suite = suite_create("session_images");
	TCase *images = tcase_create("images"), *offers = tcase_create("offers");

	add_images(images);
	tcase_add_test(offers, of_too_many_offers_the_greater_keys_are_kept);
	tcase_add_loop_test(offers, an_open_image_outranks_greater_keys, 0, 2);
	tcase_add_test(offers, past_offers_are_dropped);
	tcase_add_test(offers, an_offer_made_twice_takes_the_place_of_the_first);
	tcase_add_loop_test(offers, descriptors_that_are_not_taken_are_closed, 0, 6);
	tcase_add_loop_test(offers, descriptors_of_offers, 0, 7);
	tcase_add_test(offers, what_the_plane_adds_is_sent);
	tcase_add_checked_fixture(images, setup, teardown);
	tcase_add_checked_fixture(offers, setup, teardown);
	suite_add_tcase(suite, images);
	suite_add_tcase(suite, offers);
	return test_main(suite);
}
