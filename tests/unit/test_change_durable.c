/* test_change_durable.c - the end of a view in which a subgroup is durable (docs/decisions/0058), at one member, the others by hand:
 * what is on disk before a word is said, what the cut is made of, and that some member goes on with a whole log.
 */
#include "tests/support/member.h"

static void persist(struct member *m, uint64_t below)
{
	wh_sst_publish(&m->sst, &m->pushes, m->persisted_num, below, m->heartbeat.peers);
	wh_pushes_post(&m->pushes);
}

static void say_persisted(struct member *m, const char *ranks, uint64_t below)
{
	for (; *ranks != '\0'; ranks++)
		say(m, (uint32_t)(*ranks - '0'), m->persisted_num.offset, below + (uint32_t)(*ranks - '0'));
}

static uint64_t agreed(const struct member *m)
{
	return mine(m, m->columns.agreed.offset);
}

/* ---- what is on disk --------------------------------------------------------------------------------------------------- */

TEST(a_leader_decides_when_that_is_on_disk)
{
	struct member *m = member_make(0, 5, -1);

	make_durable(m, "0");
	persist(m, 60);
	die(m, 4);
	settle(m);
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	say_persisted(m, "123", 50);
	forget_told(m);
	for (int pass = 0; pass < 3; pass++) {
		wh_change_step(&m->change);
		expect_told(m, "keep-7000001-1-51 ");
		ck_assert_uint_eq(agreed(m), 0);
		ck_assert_uint_eq(mine(m, m->columns.image.offset), 0);
	}
	m->kept = true;
	wh_change_step(&m->change);
	expect_my_decision(m, 0x7000001, 51, 1);
	expect_told(m, "keep-7000001-1-51 ");
	decide(m, "123", 0x7000001, 51, 0);
	settle(m);
	expect_told(m, "deliver-51-0 install ");
	member_free(m);
}

/* What was begun for an attempt that came to nothing gives way to the next. */
TEST(another_attempt_is_kept_anew)
{
	struct member *m = member_make(0, 5, -1);

	make_durable(m, "0");
	persist(m, 60);
	die(m, 4);
	settle(m);
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	say_persisted(m, "123", 50);
	settle(m);
	die(m, 1);
	settle(m);
	acknowledge(m, "23", 1, 100, TICKET(0, 2));
	forget_told(m);
	m->kept = true;
	settle(m);
	expect_told(m, "keep-7000002-1-52 ");
	expect_my_decision(m, 0x7000002, 52, 1);
	member_free(m);
}

TEST(a_follower_agrees_when_that_is_on_disk)
{
	struct member *m = member_make(2, 5, -1);

	make_durable(m, "0");
	persist(m, 60);
	propose(m, 0, 1, 4);
	settle(m);
	decide(m, "0", 0x7000001, 51, 0);
	forget_told(m);
	wh_change_step(&m->change);
	wh_change_step(&m->change);
	expect_told(m, "keep-7000001-1-51 keep-7000001-1-51 ");
	ck_assert_uint_eq(agreed(m), 0);
	m->kept = true;
	wh_change_step(&m->change);
	expect_my_decision(m, 0x7000001, 51, 1);
	member_free(m);
}

/* The ballot is the successor's. */
TEST(a_successor_adopts_when_that_is_on_disk)
{
	struct member *m = member_make(1, 5, 1);

	make_durable(m, "2");
	persist(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	acknowledge(m, "23", 4, 100, TICKET(0, 1));
	decide(m, "3", 0x7000001, 77, 0);
	die(m, 0);
	settle(m);
	forget_told(m);
	say_suspected(m, 2, 0, WH_FAILED);
	say_suspected(m, 3, 0, WH_FAILED);
	wh_change_step(&m->change);
	expect_told(m, "keep-7000001-2-77 ");
	ck_assert_uint_eq(agreed(m), 0);
	m->kept = true;
	wh_change_step(&m->change);
	expect_my_decision(m, 0x7000001, 77, 2);
	member_free(m);
}

TEST(a_member_catches_up_when_that_is_on_disk)
{
	struct member *m = member_make(2, 5, -1);

	make_durable(m, "0");
	persist(m, 60);
	propose(m, 0, 1, 4);
	settle(m);
	decide(m, "1", 0x7000001, 51, 0);
	say(m, 1, m->columns.installed.offset, 1);
	forget_told(m);
	wh_change_step(&m->change);
	expect_told(m, "keep-7000001-1-51 ");
	ck_assert_uint_eq(agreed(m), 0);
	m->kept = true;
	settle(m);
	expect_told(m, "keep-7000001-1-51 deliver-51-0 install ");
	expect_my_decision(m, 0x7000001, 51, 1);
	member_free(m);
}

/* A later decision of the same is another ballot. */
TEST(an_echo_of_a_successor_is_kept_too)
{
	struct member *m = member_make(2, 5, 1);

	make_durable(m, "2");
	m->kept = true;
	persist(m, 60);
	propose(m, 0, 1, 4);
	settle(m);
	decide(m, "0", 0x7000001, 51, 0);
	settle(m);
	expect_my_decision(m, 0x7000001, 51, 1);
	die(m, 0);
	m->kept = false;
	decide(m, "1", 0x7000001, 51, 1);
	forget_told(m);
	wh_change_step(&m->change);
	ck_assert_ptr_nonnull(strstr(m->told, "keep-7000001-2-51 "));
	ck_assert_uint_eq(agreed(m), 1);
	m->kept = true;
	wh_change_step(&m->change);
	ck_assert_uint_eq(agreed(m), 2);
	member_free(m);
}

/* ---- heed, once more ---------------------------------------------------------------------------------------------------- */

static void somebody_suspects_3(struct member *m)
{
	say_suspected(m, 1, 3, WH_FAILED);
}

static void another_suspects_3(struct member *m)
{
	say_suspected(m, 2, 3, WH_FAILED);
}

TEST(a_leader_heeds_behind_the_disk)
{
	struct member *m = member_make(0, 5, -1);

	make_durable(m, "0");
	die(m, 4);
	settle(m);
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	m->kept = true;
	m->while_kept = somebody_suspects_3;
	wh_change_step(&m->change);
	ck_assert(m->while_kept == NULL);
	ck_assert_uint_eq(agreed(m), 0);
	member_free(m);
}

TEST(a_follower_heeds_behind_the_disk)
{
	struct member *m = member_make(2, 5, -1);

	make_durable(m, "0");
	persist(m, 60);
	propose(m, 0, 1, 4);
	settle(m);
	decide(m, "0", 0x7000001, 51, 0);
	m->kept = true;
	m->while_kept = somebody_suspects_3;
	wh_change_step(&m->change);
	ck_assert(m->while_kept == NULL);
	ck_assert_uint_eq(agreed(m), 0);
	member_free(m);
}

TEST(a_successor_heeds_behind_the_disk)
{
	struct member *m = member_make(1, 5, 1);

	make_durable(m, "2");
	persist(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	acknowledge(m, "23", 4, 100, TICKET(0, 1));
	decide(m, "2", 0x7000001, 77, 0);
	die(m, 0);
	settle(m);
	say_suspected(m, 2, 0, WH_FAILED);
	say_suspected(m, 3, 0, WH_FAILED);
	m->kept = true;
	m->while_kept = another_suspects_3;
	wh_change_step(&m->change);
	ck_assert(m->while_kept == NULL);
	ck_assert_uint_eq(agreed(m), 0);
	member_free(m);
}

/* ---- the cut ------------------------------------------------------------------------------------------------------------ */

/* What they have received is more, and counts for nothing; nor does what a member has persisted that is suspected. */
TEST_LOOP(the_cut_is_what_all_have_on_disk, 0, 2)
{
	struct member *m = member_make(0, 5, -1);

	make_durable(m, "0");
	m->kept = true;
	receive(m, 200);
	persist(m, 60);
	say(m, 4, m->persisted_num.offset, 3);
	die(m, 4);
	settle(m);
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	say_persisted(m, "123", 40 + (uint64_t)_i * 40);
	settle(m);
	expect_my_decision(m, 0x7000001, _i == 0 ? 41 : 60, 1);
	member_free(m);
}

/* I have received it, and do not have it on disk: no member has decided that. */
TEST_LOOP(a_cut_beyond_my_disk, 0, 2)
{
	struct member *m = member_make(2, 5, -1);

	make_durable(m, "0");
	m->kept = true;
	receive(m, 200);
	persist(m, 60);
	propose(m, 0, 1, 4);
	settle(m);
	forget_told(m);
	decide(m, "0", 0x7000001, 60 + (uint64_t)_i, 0);
	wh_change_step(&m->change);
	ck_assert_int_eq(strstr(m->told, "broken-0 ") != NULL, _i == 1);
	ck_assert_uint_eq(agreed(m), _i == 0);
	member_free(m);
}

/* ---- whole logs --------------------------------------------------------------------------------------------------------- */

/* Of those that go on none has all of it; as soon as one has, they do. */
TEST(some_member_that_goes_on_has_a_whole_log)
{
	struct member *m = member_make(0, 5, -1);

	make_durable(m, "4");
	m->kept = true;
	die(m, 4);
	settle(m);
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	forget_told(m);
	settle(m);
	ck_assert_uint_eq(agreed(m), 0);
	expect_told(m, "");
	say(m, 3, m->whole.offset + 8, 1); /* of another subgroup */
	settle(m);
	ck_assert_uint_eq(agreed(m), 0);
	say(m, 3, m->whole.offset, 1);
	settle(m);
	ck_assert_uint_eq(agreed(m), 1);
	member_free(m);
}

/* Its members are gone, all of them. */
TEST(a_shard_without_members_holds_nobody_up)
{
	struct member *m = member_make(0, 5, -1);
	uint32_t gone[] = {3, 4};

	make_durable(m, "4");
	m->kept = true;
	m->subgroups[0].members = gone;
	m->subgroups[0].member_count = 2;
	die(m, 4);
	settle(m);
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	settle(m);
	ck_assert_uint_eq(agreed(m), 0);
	die(m, 3);
	settle(m);
	acknowledge(m, "12", 3, 100, TICKET(0, 2));
	settle(m);
	ck_assert_uint_eq(agreed(m), 1);
	member_free(m);
}

/* The next view, in which the member of that rank is none of the first subgroup any more. */
static void move_out(struct member *m, uint32_t out)
{
	static struct wh_view next;
	static struct wh_view_subgroup shards[GROUPS];
	static uint32_t rest[MEMBERS_MAX];
	uint32_t count = 0;

	for (uint32_t rank = 0; rank < m->view.members; rank++)
		if (rank != out)
			rest[count++] = rank;
	next = m->view;
	memcpy(shards, m->subgroups, sizeof(shards));
	shards[0].members = rest;
	shards[0].member_count = count;
	next.subgroups = shards;
	m->next = &next;
}

/* Nobody waits for a log of a dynamic one: its members are put out of it, and deliver what some of them have delivered, which is on all disks. */
TEST(those_without_a_whole_log_are_put_out)
{
	struct member *m = member_make(0, 5, -1);

	m->subgroups[0].birth = 1 << WH_SEAT_BITS;
	make_durable(m, "4");
	m->kept = true;
	persist(m, 90);
	say_persisted(m, "123", 80);
	for (uint32_t rank = 1; rank < 4; rank++)
		say(m, rank, m->delivered_num.offset, 40 + rank);
	move_out(m, 4);
	((struct wh_view *)m->next)->dynamic_count = GROUPS;
	die(m, 4);
	forget_told(m);
	settle(m);
	ck_assert_ptr_null(strstr(m->told, "7000002")); /* some may say yet that they have it */
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	settle(m);
	ck_assert_uint_eq(agreed(m), 0);
	ck_assert_ptr_nonnull(strstr(m->told, "-as-7000002 "));
	ck_assert(m->change.puts_out[0]);
	acknowledge(m, "123", 4, 100, TICKET(0, 2));
	settle(m);
	ck_assert_uint_eq(agreed(m), 0); /* as they are in it still */
	m->next->subgroups[0].member_count = 0;
	settle(m);
	expect_my_decision(m, 0x7000002, 43, 1);
	member_free(m);
}

/* A function takes the only one out that has it: in another attempt nobody leaves that subgroup. */
TEST(the_one_with_the_whole_log_is_kept)
{
	struct member *m = member_make(0, 5, -1);

	make_durable(m, "3");
	m->subgroups[0].configured = 2;
	m->kept = true;
	move_out(m, 3);
	die(m, 4);
	forget_told(m);
	settle(m);
	ck_assert_ptr_nonnull(strstr(m->told, "open-without-4-as-7000001 "));
	ck_assert_ptr_nonnull(strstr(m->told, "open-without-4-keeps-4-as-7000002 "));
	acknowledge(m, "123", 4, 100, TICKET(0, 2));
	settle(m);
	ck_assert_uint_eq(agreed(m), 0); /* it would be without a log still */
	m->change.next = &m->view;
	settle(m);
	ck_assert_uint_eq(agreed(m), 1);
	ck_assert_ptr_null(strstr(m->told, "7000003"));
	member_free(m);
}

/* Others have it, too, or none has: then a function has its way. */
TEST_LOOP(nobody_is_kept_for_nothing, 0, 2)
{
	struct member *m = member_make(0, 5, -1);

	make_durable(m, _i == 0 ? "23" : "");
	m->kept = true;
	move_out(m, 3);
	die(m, 4);
	forget_told(m);
	settle(m);
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	settle(m);
	ck_assert_ptr_null(strstr(m->told, "keeps"));
	ck_assert_uint_eq(agreed(m), _i == 0);
	member_free(m);
}

/* One that enters it there has nothing yet. */
TEST(who_enters_has_no_log)
{
	struct member *m = member_make(0, 5, -1);
	uint32_t entered[] = {2};

	make_durable(m, "23");
	m->kept = true;
	move_out(m, 3);
	((struct wh_view *)m->next)->subgroups[0].entered = entered;
	m->next->subgroups[0].entered_count = 1;
	die(m, 4);
	forget_told(m);
	settle(m);
	ck_assert_ptr_nonnull(strstr(m->told, "-keeps-1-"));
	member_free(m);
}

/* A follower's view keeps what its leader says. */
TEST(a_follower_keeps_what_the_leader_says)
{
	struct member *m = member_make(2, 5, -1);

	make_durable(m, "3");
	say(m, 0, record_word(m, 1, 2 * wh_newcomers_most(&m->view)), UINT64_C(5) << 1);
	propose(m, 0, 1, 4);
	forget_told(m);
	settle(m);
	ck_assert_ptr_nonnull(strstr(m->told, "open-without-4-keeps-5-as-7000001 "));
	member_free(m);
}

/* Nobody is suspected, and the view goes on until some log is whole; one that keeps is prepared likewise. */
TEST_LOOP(a_view_goes_on_until_a_log_is_whole, 0, 2)
{
	struct member *m = member_make(0, 3, -1);

	make_durable(m, _i == 0 ? "" : "2");
	m->kept = true;
	m->wants[7] = true;
	arrive(m, 7, WH_ARRIVAL_THERE);
	if (_i == 1)
		move_out(m, 2);
	m->change.wanted = true;
	settle(m);
	for (uint32_t rank = 1; rank < 3; rank++)
		say(m, rank, m->columns.acknowledged.offset, TICKET(0, 1 + (uint64_t)_i));
	settle(m);
	ck_assert(!m->change.wedged);
	ck_assert_int_eq(strstr(m->told, "-with-7.70-keeps-1-as-7000002 ") != NULL, _i == 1);
	m->change.next = &m->view;
	say(m, 1, m->whole.offset, 1);
	settle(m);
	ck_assert(m->change.wedged);
	member_free(m);
}

/* A follower does not hold it against its leader; and it is told, once. */
TEST(who_waits_for_a_log_suspects_nobody)
{
	struct member *m = member_make(2, 5, -1);

	make_durable(m, "4");
	propose(m, 0, 1, 4);
	acknowledge(m, "013", 4, 100, TICKET(0, 1));
	settle(m);
	forget_told(m);
	live(m, 40, "013");
	expect_told(m, "");
	ck_assert_uint_eq(m->env.warnings, 1);
	ck_assert_ptr_nonnull(strstr(m->env.last_warning, "none has all of its log"));
	say(m, 3, m->whole.offset, 1);
	live(m, 40, "013");
	ck_assert_ptr_nonnull(strstr(m->told, "suspect-0 "));
	member_free(m);
}

/* As a member that hears no quorum does. */
TEST_LOOP(who_waits_for_a_log_gives_up, 0, 2)
{
	struct member *m = member_make(2, 5, -1);

	make_durable(m, "4");
	m->change.give_up_ns = 10 * TIMEOUT_NS;
	propose(m, 0, 1, 4);
	acknowledge(m, "013", 4, 100, TICKET(0, 1));
	settle(m);
	forget_told(m);
	live(m, 36, "013");
	expect_told(m, "");
	if (_i == 1)
		say(m, 3, m->whole.offset, 1);
	live(m, 8, "013");
	expect_told(m, _i == 0 ? "gives-up " : "");
	member_free(m);
}

TEST_SUITE("change_durable")
