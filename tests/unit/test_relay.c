/* test_relay.c - relays in one subgroup (predicates/relay.c, docs/decisions/0074): what a member takes in and passes on, step by step. It is one
 * of three members. The test writes what the others push, word by word, and looks at what this one posts.
 */
#include "predicates/multicast_int.h"
#include "tests/support/fake.h"

#define MEMBERS 3
#define WINDOW 4
#define SLOT 64
#define SMALL 15
#define RELAYED 16 /* relay_bytes */
#define ROW 8192
#define RING 1024 /* where it begins */
#define PUSHES 256

static const uint32_t ranks[MEMBERS] = {0, 1, 2};
static const uint64_t lives[MEMBERS] = {11, 12, 13};

struct lab {
	struct fake_env env;
	struct wh_image image;
	struct wh_transport_ops ops;
	const unsigned char *control[MEMBERS], *row[MEMBERS];
	_Alignas(64) unsigned char rows[MEMBERS][ROW];
	struct wh_push pushes[PUSHES];
	uint32_t to[PUSHES][MEMBERS]; /* of each: as it was when it was posted */
	size_t count;
	struct wh_layout layout;
	struct wh_sst sst;
	struct wh_pushes batch;
	struct wh_push_stats push_stats;
	struct wh_multicast_stats stats;
	struct wh_subgroup_columns columns;
	struct wh_slots slots[1];
	struct wh_place place;
	struct wh_ring *ring; /* NULL: another member sends */
	struct wh_gate *gate;
	uint64_t had[MEMBERS], deliver_ns, now_ns;
	struct wh_multicast *mc;
	uint32_t sender, me;
	uint64_t delivered;
	int broken; /* rank; -1: none */
};

static void post(struct wh_image *image, const struct wh_push *pushes, size_t count)
{
	struct lab *lab = (struct lab *)((char *)image - offsetof(struct lab, image));

	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_lt(lab->count, PUSHES);
		lab->pushes[lab->count] = pushes[i];
		memcpy(lab->to[lab->count++], pushes[i].to, pushes[i].to_count * sizeof(uint32_t));
		if (pushes[i].kind == WH_PUSH_WORD)
			wh_store_release((wh_word *)(void *)(image->own + pushes[i].offset), pushes[i].value);
	}
}

static size_t deliver(void *ctx, const struct whorl_message *messages, size_t count)
{
	struct lab *lab = ctx;

	(void)messages;
	lab->delivered += count;
	return count;
}

static void broken(void *ctx, uint32_t rank, const char *what)
{
	struct lab *lab = ctx;

	(void)what;
	lab->broken = (int)rank;
}

static void wake(void *ctx)
{
	(void)ctx;
}

static void lay(struct lab *lab, bool apart)
{
	lab->columns.guard = wh_layout_counter(&lab->layout);
	lab->columns.received_num = wh_layout_counter(&lab->layout);
	lab->columns.delivered_num = wh_layout_counter(&lab->layout);
	lab->columns.first = wh_layout_counter(&lab->layout);
	lab->columns.relayed = wh_layout_array(&lab->layout, 1);
	ck_assert_uint_le(RING + wh_slots_lay(&lab->slots[0], RING, WINDOW, SLOT, apart), ROW);
}

static void open_ring(struct lab *lab)
{
	struct wh_error err;

	ck_assert_int_eq(wh_gate_create(&lab->gate, wake, lab, &err), WHORL_OK);
	ck_assert_int_eq(wh_ring_create(&lab->ring, lab->gate, &lab->env.diag, WINDOW, SLOT, &err), WHORL_OK);
	lab->place = (struct wh_place){.row = lab->rows[lab->me], .slots = lab->slots[0], .end = UINT64_MAX};
	wh_ring_enter(lab->ring, &lab->place, 0, false);
}

static void open_multicast(struct lab *lab, uint32_t parts_most)
{
	const struct wh_multicast_config config = {
		.diag = &lab->env.diag,
		.sst = &lab->sst,
		.pushes = &lab->batch,
		.columns = lab->columns,
		.mode = WH_MODE_ORDERED,
		.switches = {true, true, true, true, true},
		.window = WINDOW,
		.message_bytes = SLOT,
		.parts_most = parts_most,
		.relay_bytes = RELAYED,
		.ids = ranks,
		.incarnations = lives,
		.members = ranks,
		.member_count = MEMBERS,
		.senders = &lab->sender,
		.sender_ids = &lab->sender,
		.sender_count = 1,
		.me = lab->me == lab->sender ? 0 : -1,
		.slots = lab->slots,
		.ring = lab->ring,
		.place = lab->ring != NULL ? &lab->place : NULL,
		.had = lab->had,
		.stats = &lab->stats,
		.deliver_ns = &lab->deliver_ns,
		.now_ns = &lab->now_ns,
		.handle = lab,
		.deliver = deliver,
		.broken = broken,
	};
	struct wh_error err;

	ck_assert_int_eq(wh_multicast_create(&lab->mc, &config, &err), WHORL_OK);
	wh_multicast_begin(lab->mc, 0);
}

/* Member `me` of three, of which `sender` sends. */
static struct lab *make(uint32_t me, uint32_t sender, bool apart, uint32_t parts_most)
{
	struct lab *lab = aligned_alloc(64, (sizeof(*lab) + 63) / 64 * 64);
	struct wh_error err;

	ck_assert_ptr_nonnull(lab);
	memset(lab, 0, sizeof(*lab));
	fake_env_init(&lab->env);
	lab->ops = (struct wh_transport_ops){.name = "lab", .post = post, .relays = true};
	for (uint32_t i = 0; i < MEMBERS; i++) {
		lab->control[i] = lab->row[i] = lab->rows[i];
		lab->had[i] = WH_UNKNOWN;
	}
	lab->image = (struct wh_image){.ops = &lab->ops,
				       .members = MEMBERS,
				       .my_rank = me,
				       .own = lab->rows[me],
				       .control = lab->control,
				       .row = lab->row,
				       .ready = true};
	lab->me = me;
	lab->sender = sender;
	lab->deliver_ns = UINT64_MAX / 2;
	lab->broken = -1;
	lay(lab, apart);
	ck_assert_int_eq(wh_sst_init(&lab->sst, &lab->env.diag, &lab->image, &lab->layout, &err), WHORL_OK);
	wh_pushes_init(&lab->batch, &lab->env.env, &lab->push_stats, true);
	lab->batch.image = &lab->image;
	if (me == sender)
		open_ring(lab);
	open_multicast(lab, parts_most);
	return lab;
}

static void discard(struct lab *lab)
{
	ck_assert_int_eq(lab->env.fatal, 0);
	wh_multicast_free(lab->mc);
	wh_ring_free(lab->ring);
	if (lab->gate != NULL)
		wh_gate_free(lab->gate);
	wh_sst_close(&lab->sst);
	free(lab);
}

/* ---- what others push ---- */

static void set_word(struct lab *lab, uint32_t rank, uint32_t offset, uint64_t value)
{
	wh_store_release((wh_word *)(void *)(lab->rows[rank] + offset), value);
}

static void set_header(struct lab *lab, uint32_t slot, uint64_t round, uint32_t bytes)
{
	wh_slot_write(&lab->slots[0], lab->rows[lab->sender], slot,
		      (struct wh_slot_header){.round = round, .bytes = bytes});
}

static void set_guard(struct lab *lab, uint64_t covered, uint64_t announced)
{
	set_word(lab, lab->sender, lab->columns.guard.offset, wh_guard_make(covered, announced));
}

/* So many slots are here, says the member before this one. */
static void set_relayed(struct lab *lab, uint64_t slots)
{
	set_word(lab, (lab->me + MEMBERS - 1) % MEMBERS, lab->columns.relayed.offset, slots);
}

static size_t step(struct lab *lab)
{
	lab->count = 0;
	return wh_multicast_step(lab->mc);
}

/* ---- what this one posts ---- */

static uint64_t received(const struct lab *lab)
{
	return wh_multicast_received(lab->mc);
}

static uint64_t payload_of(const struct lab *lab, uint32_t slot)
{
	return wh_slot_payload(&lab->slots[0], slot);
}

/* Two pushes to rank `to` alone: the payload of a slot, then a word that counts it. Returns what comes behind. */
static size_t assert_passed(const struct lab *lab, size_t at, uint32_t slot, uint32_t bytes, uint32_t to)
{
	const struct wh_push *payload = &lab->pushes[at], *word = &lab->pushes[at + 1];

	ck_assert_uint_lt(at + 1, lab->count);
	ck_assert_int_eq(payload->kind, WH_PUSH_BYTES);
	ck_assert_uint_eq(payload->relayed, lab->me == lab->sender ? 0 : lab->sender + 1);
	ck_assert_uint_eq(payload->offset, payload_of(lab, slot % WINDOW));
	ck_assert_uint_eq(payload->bytes, bytes);
	ck_assert_uint_eq(payload->to_count, 1);
	ck_assert_uint_eq(lab->to[at][0], to);
	ck_assert_int_eq(word->kind, WH_PUSH_WORD);
	ck_assert_uint_eq(word->offset, lab->columns.relayed.offset);
	ck_assert_uint_eq(word->value, slot + 1);
	ck_assert_uint_eq(word->to_count, 1);
	ck_assert_uint_eq(lab->to[at + 1][0], to);
	return at + 2;
}

/* The place of the first push of that kind, of that row; `count` if there is none. */
static size_t find_push(const struct lab *lab, enum wh_push_kind kind, uint64_t offset)
{
	size_t i = 0;

	while (i < lab->count && (lab->pushes[i].kind != kind || lab->pushes[i].offset != offset))
		i++;
	return i;
}

TEST_CASE("relay", .timeout_s = 10);

/* ---- a relay ------------------------------------------------------------------------------------------------------------ */

TEST_LOOP(what_is_announced_is_not_here_yet, 0, 2)
{
	struct lab *lab = make(1, 0, _i == 1, 1);
	size_t at;

	set_header(lab, 0, 0, RELAYED);
	set_guard(lab, 1, 1);
	ck_assert_uint_eq(step(lab), 0);
	ck_assert_uint_eq(lab->count, 0);
	ck_assert_uint_eq(received(lab), 0);
	set_relayed(lab, 1);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 1);
	at = find_push(lab, WH_PUSH_WORD, lab->columns.received_num.offset);
	ck_assert_uint_eq(lab->pushes[at].to_count, 2);
	ck_assert_uint_eq(assert_passed(lab, at + 1, 0, RELAYED, 2),
			  lab->count); /* the acknowledgement does not wait for it */
	ck_assert_uint_eq(wh_load_relaxed(&lab->stats.relayed), 1);
	ck_assert_uint_eq(wh_load_relaxed(&lab->stats.relayed_bytes), RELAYED);
	ck_assert_uint_eq(step(lab), 0); /* once */
	discard(lab);
}

TEST(what_is_small_comes_with_its_guard)
{
	struct lab *lab = make(1, 0, false, 1);

	set_header(lab, 0, 0, SMALL);
	set_header(lab, 1, 1, RELAYED);
	set_header(lab, 2, 2, SMALL);
	set_guard(lab, 3, 3);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 1);
	ck_assert_uint_eq(lab->count, 1);
	set_relayed(lab, 2);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 3);
	ck_assert_uint_eq(assert_passed(lab, 1, 1, RELAYED, 2), lab->count);
	discard(lab);
}

/* What is no message has no payload. */
TEST(an_aborted_slot_is_not_relayed)
{
	struct lab *lab = make(1, 0, false, 1);

	wh_slot_write(&lab->slots[0], lab->rows[0], 0,
		      (struct wh_slot_header){.round = 0, .bytes = RELAYED, .aborted = 1});
	set_guard(lab, 1, 1);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 1);
	ck_assert_uint_eq(lab->count, 1);
	discard(lab);
}

/* Rounds without a slot are taken in up to the one that is not here; what the word says before the guard does is not read. */
TEST(nulls_before_it_are_taken_in)
{
	struct lab *lab = make(1, 0, false, 1);

	set_header(lab, 0, 3, RELAYED);
	set_relayed(lab, 0);
	set_guard(lab, 5, 1);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 3);
	set_relayed(lab, 1);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 5);
	discard(lab);
}

TEST(a_word_may_come_before_the_guard)
{
	struct lab *lab = make(1, 0, false, 1);

	set_relayed(lab, 1);
	ck_assert_uint_eq(step(lab), 0);
	ck_assert_uint_eq(received(lab), 0);
	set_header(lab, 0, 0, RELAYED);
	set_guard(lab, 1, 1);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 1);
	ck_assert_uint_eq(assert_passed(lab, 1, 0, RELAYED, 2), lab->count);
	discard(lab);
}

/* The parts of a message are passed on one by one, and taken in together. */
TEST(parts_flow_before_their_message_is_whole)
{
	struct lab *lab = make(1, 0, false, 3);

	set_header(lab, 0, 0, SMALL);
	for (uint32_t k = 0; k < 3; k++)
		wh_slot_write(&lab->slots[0], lab->rows[0], 1 + k,
			      (struct wh_slot_header){
				      .round = 1, .bytes = k < 2 ? SLOT : RELAYED, .more = (uint16_t)(k == 0 ? 2 : 0)});
	set_guard(lab, 2, 4);
	set_relayed(lab, 3);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 1);
	ck_assert_uint_eq(assert_passed(lab, assert_passed(lab, 1, 1, SLOT, 2), 2, SLOT, 2), lab->count);
	set_relayed(lab, 4);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 2);
	ck_assert_uint_eq(assert_passed(lab, 1, 3, RELAYED, 2), lab->count);
	discard(lab);
}

/* Once the slots have been used: they are counted on, from the first message of a view. */
TEST(slots_are_counted_from_the_first_of_the_view)
{
	struct lab *lab = make(1, 0, false, 1);

	set_word(lab, 0, lab->columns.first.offset, 6);
	set_header(lab, 2, 0, RELAYED);
	set_guard(lab, 1, 7);
	ck_assert_uint_eq(step(lab), 0);
	set_relayed(lab, 7);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 1);
	ck_assert_uint_eq(assert_passed(lab, 1, 6, RELAYED, 2), lab->count);
	discard(lab);
}

TEST(the_last_in_a_chain_passes_nothing_on)
{
	struct lab *lab = make(2, 0, false, 1);

	set_header(lab, 0, 0, RELAYED);
	set_guard(lab, 1, 1);
	set_relayed(lab, 1);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 1);
	ck_assert_uint_eq(lab->count, 1);
	discard(lab);
}

/* Each sender has a chain of its own: that of 2 goes on to 0. */
TEST(a_chain_begins_with_its_sender)
{
	struct lab *lab = make(0, 2, false, 1);

	set_header(lab, 0, 0, RELAYED);
	set_guard(lab, 1, 1);
	set_relayed(lab, 1);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(assert_passed(lab, 1, 0, RELAYED, 1), lab->count);
	discard(lab);
}

TEST(a_wedged_member_neither_takes_in_nor_passes_on)
{
	struct lab *lab = make(1, 0, false, 1);
	const uint32_t all[] = {0, 2};

	set_header(lab, 0, 0, RELAYED);
	set_guard(lab, 1, 1);
	ck_assert_uint_eq(step(lab), 0);
	wh_multicast_wedge(lab->mc, (struct wh_to){all, 2});
	wh_pushes_post(&lab->batch);
	set_relayed(lab, 1);
	ck_assert_uint_eq(step(lab), 0);
	ck_assert_uint_eq(lab->count, 0);
	ck_assert_uint_eq(received(lab), 0);
	discard(lab);
}

/* ---- the sender --------------------------------------------------------------------------------------------------------- */

static void send_one(struct lab *lab, uint32_t bytes)
{
	struct wh_claim claim;

	ck_assert_int_eq(wh_ring_claim(lab->ring, &claim), WHORL_OK);
	ck_assert(wh_ring_mark(lab->ring, 0, &claim, bytes, false));
}

/* All that goes to rank 2, which is not next in the chain. */
static uint64_t bytes_to_2(const struct lab *lab)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < lab->count; i++)
		for (uint32_t k = 0; k < lab->pushes[i].to_count; k++)
			if (lab->to[i][k] == 2 && lab->pushes[i].kind == WH_PUSH_BYTES)
				bytes += lab->pushes[i].bytes;
	return bytes;
}

TEST_LOOP(a_sender_pushes_headers_then_its_guard_then_payloads, 0, 2)
{
	bool apart = _i == 1;
	struct lab *lab = make(0, 0, apart, 1);
	size_t guard, at;

	send_one(lab, RELAYED);
	send_one(lab, SMALL);
	send_one(lab, SLOT);
	ck_assert_uint_gt(step(lab), 0);
	guard = find_push(lab, WH_PUSH_WORD, lab->columns.guard.offset);
	for (uint32_t slot = 0; slot < 3; slot++) {
		uint64_t header = lab->slots[0].headers + (uint64_t)slot * lab->slots[0].header_stride;
		size_t i = 0;

		while (i < guard &&
		       (lab->pushes[i].offset > header || lab->pushes[i].offset + lab->pushes[i].bytes < header + 16))
			i++;
		ck_assert_uint_lt(i, guard);
		ck_assert_uint_eq(lab->pushes[i].to_count, 2);
	}
	ck_assert_uint_eq(bytes_to_2(lab), 3 * sizeof(struct wh_slot_header) + SMALL);
	at = find_push(lab, WH_PUSH_BYTES, payload_of(lab, 0));
	ck_assert_uint_gt(at, guard);
	ck_assert_uint_eq(assert_passed(lab, assert_passed(lab, at, 0, RELAYED, 1), 2, SLOT, 1), lab->count);
	discard(lab);
}

/* By the thread that commits, while the loop sleeps: all that others wait for leaves. */
TEST(a_commit_that_sends_passes_on_too)
{
	struct lab *lab = make(0, 0, false, 1);

	send_one(lab, RELAYED);
	lab->count = 0;
	wh_multicast_send(lab->mc);
	ck_assert_uint_lt(find_push(lab, WH_PUSH_WORD, lab->columns.relayed.offset), lab->count);
	discard(lab);
}

/* ---- nonsense ----------------------------------------------------------------------------------------------------------- */

TEST(a_relay_that_counts_too_many_is_broken)
{
	struct lab *lab = make(2, 0, false, 1);

	set_header(lab, 0, 0, RELAYED);
	set_guard(lab, 1, 1);
	set_relayed(lab, WINDOW);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_int_eq(lab->broken, -1);
	set_header(lab, 1, 1, RELAYED);
	set_guard(lab, 2, 2);
	set_relayed(lab, WINDOW + 1);
	ck_assert_uint_eq(step(lab), 0);
	ck_assert_int_eq(lab->broken, 1);
	ck_assert_uint_eq(received(lab), 1);
	discard(lab);
}

/* A round that was taken in; one that the guard does not cover; one before which there are more slots than rounds. */
TEST_LOOP(a_header_of_another_round_breaks_its_sender, 0, 3)
{
	static const struct {
		uint64_t round[3];
		uint32_t bytes[3];
	} slots[3] = {{{0, 2, 3}, {RELAYED, RELAYED, RELAYED}},
		      {{4, 2, 3}, {RELAYED, RELAYED, RELAYED}},
		      {{1, 1, 2}, {SMALL, SMALL, RELAYED}}};
	struct lab *lab = make(1, 0, false, 1);

	set_header(lab, 0, 0, RELAYED);
	set_guard(lab, 1, 1);
	set_relayed(lab, 1);
	ck_assert_uint_gt(step(lab), 0);
	ck_assert_uint_eq(received(lab), 1);
	for (uint32_t k = 0; k < 3; k++)
		set_header(lab, k + 1, slots[_i].round[k], slots[_i].bytes[k]);
	set_guard(lab, 4, 4);
	(void)step(lab);
	ck_assert_int_eq(lab->broken, 0);
	ck_assert_uint_eq(received(lab), 1);
	discard(lab);
}

/* A length that no slot has is the sender's fault, and nobody reads beyond the slot for it. */
TEST(a_length_beyond_the_slot_is_not_passed_on)
{
	struct lab *lab = make(1, 0, false, 1);

	set_header(lab, 0, 0, SLOT + 1);
	set_guard(lab, 1, 1);
	set_relayed(lab, 1);
	(void)step(lab);
	ck_assert_uint_eq(find_push(lab, WH_PUSH_WORD, lab->columns.relayed.offset), lab->count);
	ck_assert_uint_eq(wh_load_relaxed(&lab->stats.relayed) + wh_load_relaxed(&lab->stats.relayed_bytes), 0);
	discard(lab);
}

TEST_SUITE("relay")
