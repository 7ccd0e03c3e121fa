/* shm_offers.c - offers of rows, and what else peers say of images: taken up late, never, or without sense; and events
 * that are not taken for a while.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"

#define A_WHILE 100 /* passes in which what should not happen does not */

/* ---- never taken up ----------------------------------------------------------------------------------------------- */

#define TURNS 20

/* Two with an image and a spare row each. Returns how many descriptors there are. */
static int begin_two(struct node n[2])
{
	nodes_make(n, 2);
	for (uint32_t id = 0; id < 2; id++)
		node_open(&n[id], ROW_BYTES);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].image->ready && n[1].image->ready));
	NODE_UNTIL(&n[0], (node_pass(&n[1]),
			   spare_state(&n[0]) == WH_SHM_SPARE_MADE && spare_state(&n[1]) == WH_SHM_SPARE_MADE));
	return count_fds();
}

TEST_CASE("offers", .timeout_s = 60);

/* One opens and closes; the other never does, and in the end opens what the first has open. */
TEST(offers_that_are_never_taken_up)
{
	struct wh_image *image[2];
	struct node n[2];
	int fds = begin_two(n), most = 0;

	for (uint64_t key = 2; key < 2 + TURNS; key++) {
		image[1] = node_open_of(&n[1], key, 3, ROW_BYTES);
		for (int k = 0; k < 5; k++)
			nodes_pass(n, 2);
		ck_assert(!image[1]->ready);
		image_close(image[1]);
		most = count_fds() > most ? count_fds() : most;
	}
	ck_assert_int_le(most, fds + WH_SESSION_OFFERS);
	image[1] = node_open_of(&n[1], 2 + TURNS, 3, ROW_BYTES);
	for (int k = 0; k < 5; k++)
		nodes_pass(n, 2);
	image[0] = node_open_of(&n[0], 2 + TURNS, 3, ROW_BYTES);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), image[0]->ready && image[1]->ready));
	image_close(image[0]); /* and with it the others' earlier offers */
	image_close(image[1]);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), spare_state(&n[0]) == WH_SHM_SPARE_MADE &&
						     spare_state(&n[1]) == WH_SHM_SPARE_MADE && count_fds() == fds));
	ck_assert_uint_eq(n[0].down + n[0].refused + n[1].down + n[1].refused, 0);
	node_free(&n[0]);
	node_free(&n[1]);
}

/* One says that those are past: it need not open a later one to let go of them, and one that comes late is not kept. What is
 * offered from there on is. */
TEST_LOOP(offers_that_are_past, 0, 2)
{
	struct wh_image *image, *taken_up;
	struct node n[2];
	int fds = begin_two(n);

	for (uint64_t key = 2; key <= 3; key++) {
		if (_i == 1)
			n[0].transport->ops->past(n[0].transport, 4);
		image = node_open_of(&n[1], key, 3, ROW_BYTES);
		for (int k = 0; k < 5; k++)
			nodes_pass(n, 2);
		image_close(image);
	}
	image = node_open_of(&n[1], 4, 3, ROW_BYTES);
	for (int k = 0; k < 5; k++)
		nodes_pass(n, 2);
	if (_i == 0) {
		int kept = count_fds();

		n[0].transport->ops->past(n[0].transport, 4);
		ck_assert_int_eq(count_fds(), kept - 2);
	}
	/* Its row, of which each has a descriptor. */
	NODE_UNTIL(&n[0], (node_pass(&n[1]), spare_state(&n[1]) == WH_SHM_SPARE_MADE && count_fds() == fds + 2));
	taken_up = node_open_of(&n[0], 4, 3, ROW_BYTES);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), image->ready && taken_up->ready));
	node_free(&n[0]);
	node_free(&n[1]);
}

/* ---- a hand-made peer --------------------------------------------------------------------------------------------- */

static void raw_offer(const struct raw *r, uint64_t key)
{
	const struct wh_offer offer = {
		.key = key, .layout_digest = ROW_BYTES, .members = 2, .rank = 1, .row_bytes = ROW_BYTES};

	ck_assert(raw_say_offer(r, &offer, ROW_BYTES, r->page));
}

static void raw_mapped(const struct raw *r, uint64_t key)
{
	ck_assert(raw_say(r->socket, WH_MESSAGE_MAPPED, key));
}

/* It is let in; `page` is its row from then on, which says 'x'. */
static void raw_meet(struct raw *r, struct node *n)
{
	char group[40];

	node_make(n, new_group(group), 0, 2);
	raw_be_met(r, n, group, 1);
	close(r->page);
	r->page = memfd_create("test-row", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(r->page, ROW_BYTES), 0);
	ck_assert_int_eq(pwrite(r->page, "x", 1, 64), 1);
	ck_assert_int_eq(fcntl(r->page, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL),
			 0);
}

/* What a peer says of images that are closed, or were never opened, is nothing to the one that is. */
TEST_LOOP(words_on_closed_images_are_ignored, 0, 2)
{
	struct wh_image *closed, *open;
	struct node n;
	struct raw r;
	int fds;

	raw_meet(&r, &n);
	closed = node_open_of(&n, 5, 3, ROW_BYTES);
	open = node_open_of(&n, 6, 3, ROW_BYTES);
	raw_offer(&r, 5);
	for (int k = 0; k < 10; k++)
		node_pass(&n);
	image_close(closed);
	NODE_UNTIL(&n, spare_state(&n) == WH_SHM_SPARE_MADE);
	fds = count_fds();
	for (uint64_t key = 1; key <= 9; key++) { /* those above 6 may still be opened */
		if (key == 6)
			continue;
		raw_mapped(&r, key);
		raw_offer(&r, key);
		node_pass(&n);
	}
	for (int k = 0; k < 10; k++)
		node_pass(&n);
	ck_assert_int_eq(count_fds(), fds + 3);
	ck_assert(!open->ready);
	if (_i == 1)
		image_freeze(open, 1);
	raw_offer(&r, 6);
	raw_mapped(&r, 6);
	NODE_UNTIL(&n, open->ready);
	ck_assert_int_eq(count_fds(), fds + 3 - 1); /* my row has been let go of */
	ck_assert_uint_eq(image_column(open, 1, 64), _i == 1 ? 0 : 'x');
	ck_assert_uint_eq(n.down + n.left + n.refused, 0);
	raw_close(&r);
	NODE_UNTIL(&n, n.down == 1);
	node_free(&n);
}

/* Whether they come in that order or in the other. */
TEST_LOOP(offers_of_the_greatest_keys_are_kept, 0, 2)
{
	const uint64_t last = 9, first = last - WH_SESSION_OFFERS - 1;
	struct wh_image *image;
	struct node n;
	struct raw r;

	raw_meet(&r, &n);
	for (uint64_t k = 0; k <= last - first; k++)
		raw_offer(&r, _i == 0 ? first + k : last - k);
	for (int k = 0; k < 10; k++)
		node_pass(&n);
	for (uint64_t key = last - WH_SESSION_OFFERS + 1; key <= last; key++) {
		image = node_open_of(&n, key, 3, ROW_BYTES);
		raw_mapped(&r, key);
		NODE_UNTIL(&n, image->ready);
		ck_assert_uint_eq(image_column(image, 1, 64), 'x');
	}
	raw_close(&r);
	node_free(&n);
}

/* It can be read, but did not take in the word that it may read too; then it is frozen. What was posted is for it. */
TEST_LOOP(what_was_posted_before_the_freeze_goes_out, 0, 2)
{
	enum wh_wire_result what;
	char message[WH_CONTROL_MAX] = "";
	struct wh_image *image;
	struct node n;
	struct raw r;
	int fds;

	raw_meet(&r, &n);
	image = node_open_of(&n, 1, 3, ROW_BYTES);
	while (n.transport->ops->control_send(n.transport, 1, message, sizeof(message)) == WHORL_OK)
		;
	raw_offer(&r, 1);
	raw_mapped(&r, 1);
	NODE_UNTIL(&n, image->ready && spare_state(&n) == WH_SHM_SPARE_MADE);
	if (_i == 1) { /* or it is gone: then my row will not be asked for any more */
		fds = count_fds();
		raw_close(&r);
		NODE_UNTIL(&n, n.down == 1);
		ck_assert_int_eq(count_fds(), fds - 3 - 2 - 1); /* of r; its connection and doorbell; my row */
		node_free(&n);
		return;
	}
	image_post_word(image, 64, 1);
	image_freeze(image, 1);
	ck_assert_uint_eq(image_column(image, 1, 64), 'x');
	do {
		what = raw_receive(&r, &n);
		ck_assert_int_eq(what, WH_WIRE_DONE);
		wh_shm_datagram_close_fds(&r.got);
	} while (r.head.kind != WH_MESSAGE_MAPPED);
	raw_close(&r);
	node_free(&n);
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

#define MANY 24
#define MESSAGES 4

struct seen { /* by node id */
	uint32_t controls[MANY], left[MANY], down[MANY], ends;
};

static enum whorl_result control(struct node *n)
{
	return n->transport->ops->control_send(n->transport, 0, "hello", 6);
}

static void take_events(const struct node *n, struct seen *seen)
{
	struct wh_transport_event event;

	n->transport->ops->service(n->transport);
	while (n->transport->ops->next_event(n->transport, &event)) {
		seen->controls[event.node] += event.kind == WH_EVENT_CONTROL;
		seen->left[event.node] += event.kind == WH_EVENT_PEER_LEFT;
		seen->down[event.node] += event.kind == WH_EVENT_PEER_DOWN;
		seen->ends += event.kind == WH_EVENT_PEER_LEFT || event.kind == WH_EVENT_PEER_DOWN;
	}
}

static void only_service(const struct node *n)
{
	for (int k = 0; k < 20; k++)
		n->transport->ops->service(n->transport);
}

/* More ends of peers, and messages before them, than there is room for; no event is taken meanwhile. */
TEST(no_event_is_lost)
{
	struct seen seen = {.ends = 0};
	struct node n[MANY];
	uint64_t start;

	nodes_make(n, MANY);
	for (uint32_t id = 1; id < MANY; id++) /* all meet */
		NODE_UNTIL(&n[id], (take_events(&n[0], &seen), control(&n[id]) == WHORL_OK));
	for (uint32_t id = 1; id < MANY; id++)
		for (int k = 1; k < MESSAGES; k++)
			ck_assert_int_eq(control(&n[id]), WHORL_OK);
	only_service(&n[0]);
	for (uint32_t id = 1; id < MANY; id++) {
		if (id % 2 == 0)
			n[id].transport->ops->leave(n[id].transport);
		node_free(&n[id]);
	}
	only_service(&n[0]);
	for (start = test_now(); seen.ends < MANY - 1 && test_now() - start < PATIENCE_NS;)
		take_events(&n[0], &seen);
	for (uint32_t id = 1; id < MANY; id++) {
		ck_assert_uint_eq(seen.controls[id], MESSAGES);
		ck_assert_uint_eq(seen.left[id], id % 2 == 0);
		ck_assert_uint_eq(seen.down[id], id % 2 == 1);
	}
	for (int k = 0; k < A_WHILE; k++)
		take_events(&n[0], &seen);
	ck_assert_uint_eq(seen.ends, MANY - 1);
	node_free(&n[0]);
}

TEST_SUITE("shm and offers")

int main(void)
{
	return test_main(suite());
}
