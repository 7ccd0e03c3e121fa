/* test_status.c - what a node says of itself, as bytes: what is written is read, and what makes no sense is not believed. */
#include <check.h>
#include <string.h>

#include <whorl/status.h>

#include "group/status/status.h"
#include "tests/harness.h"
#include "transport/transport.h"

static unsigned char bytes[WH_ANSWER_MAX];

static struct whorl_status_member members[] = {
	{.id = 0, .incarnation = 0x1111222233334444, .heard_ms = 0},
	{.id = 3, .incarnation = 7, .heard_ms = 249, .suspicion = WHORL_HAS_LEFT},
	{.id = 255, .incarnation = UINT64_MAX, .heard_ms = UINT64_MAX, .suspicion = WHORL_IS_FAILED, .overdue = true},
};

static struct whorl_status_place places[] = {
	{.id = 0, .sends = true, .received_num = 1000, .delivered_num = 998, .persisted_num = 999},
	{.id = 255,
	 .sends = true,
	 .rests = true,
	 .received_num = UINT64_MAX,
	 .delivered_num = 1,
	 .persisted_num = UINT64_MAX - 1},
};

static struct whorl_log_stats log_stats;

static struct whorl_status_missing missing[] = {
	{.id = 1, .address = "[2001:db8::1]:7000"},
	{.id = 255, .address = ""},
};

static struct whorl_subgroup_stats shard_stats = {.claimed = 1,
						  .sent = 2,
						  .slowest_member = 255,
						  .slowest_behind = 17,
						  .relayed = 18,
						  .relayed_bytes = UINT64_C(1) << 40,
						  .deliver = {.batches = 3, .events = 9, .histogram = {1, 2, 3}}};

static struct whorl_status_shard shards[] = {
	{.name = "orders",
	 .shards = 1,
	 .ordered = true,
	 .condition = WHORL_SHARD_ACTIVE,
	 .members = 2,
	 .senders = 2,
	 .resting = 1,
	 .window = 32768,
	 .message_bytes = 10240,
	 .large_bytes = UINT64_C(1) << 33,
	 .relay_bytes = 4096,
	 .stats = &shard_stats,
	 .place_count = 2,
	 .places = places,
	 .durable = true,
	 .log = &log_stats},
	{.name = "other", .shard = 1, .shards = 2, .lost = true, .condition = WHORL_SHARD_GONE, .durable = true},
};

static struct whorl_node_stats node_stats = {.steps = 1,
					     .memory_bytes = 2,
					     .change_ns = {5, 6},
					     .entry_ns = {7, 8},
					     .takes = 9,
					     .complaints = {[WHORL_COMPLAINT_STARVED] = 11}};

static struct whorl_status_worker workers[] = {
	{.open_ns = 1000, .calls = 90, .batches = 9, .functions_ns = 250},
	{.open_ns = UINT64_MAX, .sleeps = 3},
};

static struct whorl_status example(void)
{
	return (struct whorl_status){
		.version = "0.1.0",
		.group = "demo",
		.id = 3,
		.pid = 4711,
		.incarnation = 7,
		.standing = WHORL_IS_MEMBER,
		.result = WHORL_NO_QUORUM,
		.error = "nodes 0 and 255 are not heard",
		.progress = "is a member",
		.ready = true,
		.failure_timeout_ms = 1000,
		.view = 12,
		.voters = 3,
		.leader = 0,
		.tie_breaker = WHORL_NOBODY,
		.change = WHORL_CHANGE_WEDGED,
		.change_ms = 15,
		.member_count = 3,
		.members = members,
		.stats = &node_stats,
		.shard_count = 2,
		.shards = shards,
		.worker_count = 2,
		.workers = workers,
		.disk_busy_ms = 17,
		.disk_full_ms = UINT64_MAX,
		.disk_timeout_ms = 5000,
		.restart = WHORL_RESTART_AGREES,
		.coordinator = 3,
		.restart_view = 11,
		.missing_count = 2,
		.missing = missing,
	};
}

static struct whorl_status *decode(size_t count)
{
	struct whorl_status *out;
	struct wh_error err = {0};

	ck_assert_msg(wh_status_decode(&out, bytes, count, &err) == WHORL_OK, "%s", err.text);
	return out;
}

/* There are holes between the fields, so each by itself. */
static void same_members(const struct whorl_status *one, const struct whorl_status *other)
{
	ck_assert_uint_eq(one->member_count, other->member_count);
	for (uint32_t i = 0; i < one->member_count; i++) {
		ck_assert_uint_eq(one->members[i].id, other->members[i].id);
		ck_assert_uint_eq(one->members[i].incarnation, other->members[i].incarnation);
		ck_assert_uint_eq(one->members[i].heard_ms, other->members[i].heard_ms);
		ck_assert_int_eq(one->members[i].suspicion, other->members[i].suspicion);
		ck_assert_int_eq(one->members[i].overdue, other->members[i].overdue);
	}
}

static void same_shard(const struct whorl_status_shard *one, const struct whorl_status_shard *other)
{
	ck_assert_str_eq(one->name, other->name);
	ck_assert_uint_eq(one->shard, other->shard);
	ck_assert_uint_eq(one->shards, other->shards);
	ck_assert_int_eq(one->ordered, other->ordered);
	ck_assert_int_eq(one->lost, other->lost);
	ck_assert_int_eq(one->condition, other->condition);
	ck_assert_uint_eq(one->members, other->members);
	ck_assert_uint_eq(one->senders, other->senders);
	ck_assert_uint_eq(one->resting, other->resting);
	ck_assert_uint_eq(one->window, other->window);
	ck_assert_uint_eq(one->message_bytes, other->message_bytes);
	ck_assert_uint_eq(one->large_bytes, other->large_bytes);
	ck_assert_int_eq(one->durable, other->durable);
	ck_assert_int_eq(one->dormant, other->dormant);
	ck_assert_uint_eq(one->last_view, other->last_view);
	ck_assert_uint_eq(one->relay_bytes, other->relay_bytes);
	ck_assert_uint_eq(one->place_count, other->place_count);
	for (uint32_t i = 0; i < one->place_count; i++) {
		ck_assert_uint_eq(one->places[i].id, other->places[i].id);
		ck_assert_int_eq(one->places[i].sends, other->places[i].sends);
		ck_assert_int_eq(one->places[i].rests, other->places[i].rests);
		ck_assert_uint_eq(one->places[i].received_num, other->places[i].received_num);
		ck_assert_uint_eq(one->places[i].delivered_num, other->places[i].delivered_num);
		ck_assert_uint_eq(one->places[i].persisted_num, other->places[i].persisted_num);
	}
}

/* These structs are words alone, but for a hole behind slowest_member. */
static void same_stats(const struct whorl_subgroup_stats *one, const struct whorl_subgroup_stats *other)
{
	const size_t hole = offsetof(struct whorl_subgroup_stats, slowest_member), behind = hole + 8;

	ck_assert_mem_eq((const char *)one + 8, (const char *)other + 8, hole - 8);
	ck_assert_uint_eq(one->slowest_member, other->slowest_member);
	ck_assert_mem_eq((const char *)one + behind, (const char *)other + behind, sizeof *one - behind);
}

/* Likewise, but for a flag and an id between the words. */
static void same_log(const struct whorl_log_stats *one, const struct whorl_log_stats *other)
{
	const size_t whole = offsetof(struct whorl_log_stats, whole),
		     behind = offsetof(struct whorl_log_stats, slowest_behind),
		     rot = offsetof(struct whorl_log_stats, rot);

	ck_assert_mem_eq((const char *)one + 8, (const char *)other + 8, whole - 8);
	ck_assert_int_eq(one->whole, other->whole);
	ck_assert_uint_eq(one->slowest_member, other->slowest_member);
	ck_assert_mem_eq((const char *)one + behind, (const char *)other + behind, rot - behind);
	ck_assert_int_eq(one->rot, other->rot);
}

static void same_restart(const struct whorl_status *one, const struct whorl_status *other)
{
	ck_assert_uint_eq(one->disk_busy_ms, other->disk_busy_ms);
	ck_assert_uint_eq(one->disk_full_ms, other->disk_full_ms);
	ck_assert_uint_eq(one->disk_timeout_ms, other->disk_timeout_ms);
	ck_assert_int_eq(one->restart, other->restart);
	ck_assert_uint_eq(one->coordinator, other->coordinator);
	ck_assert_uint_eq(one->restart_view, other->restart_view);
	ck_assert_uint_eq(one->missing_count, other->missing_count);
	for (uint32_t i = 0; i < one->missing_count; i++) {
		ck_assert_uint_eq(one->missing[i].id, other->missing[i].id);
		ck_assert_str_eq(one->missing[i].address, other->missing[i].address);
	}
}

/* Every word of a struct of statistics has a value of its own, so none can have been forgotten. */
static void fill(void *stats, size_t size)
{
	for (size_t i = 8; i + 8 <= size; i += 8)
		memcpy((char *)stats + i, &(uint64_t){0x0101010101010101 * (i / 8)}, 8);
}

TEST(what_is_written_is_read)
{
	struct whorl_status before = example(), *after;
	size_t count;

	fill(before.stats, sizeof *before.stats);
	fill(shards[0].stats, sizeof *shards[0].stats);
	fill(&workers[1], sizeof workers[1]);
	fill(&log_stats, sizeof log_stats);
	log_stats.whole = true;
	log_stats.rot = true;
	log_stats.slowest_member = 255;
	count = wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION);
	after = decode(count);
	ck_assert_str_eq(after->version, before.version);
	ck_assert_str_eq(after->group, before.group);
	ck_assert_uint_eq(after->id, before.id);
	ck_assert_uint_eq(after->pid, before.pid);
	ck_assert_uint_eq(after->incarnation, before.incarnation);
	ck_assert_int_eq(after->standing, before.standing);
	ck_assert_int_eq(after->result, before.result);
	ck_assert_str_eq(after->error, before.error);
	ck_assert_str_eq(after->progress, before.progress);
	ck_assert_int_eq(after->ready, before.ready);
	ck_assert_uint_eq(after->failure_timeout_ms, before.failure_timeout_ms);
	ck_assert_uint_eq(after->view, before.view);
	ck_assert_uint_eq(after->voters, before.voters);
	ck_assert_uint_eq(after->leader, before.leader);
	ck_assert_uint_eq(after->tie_breaker, before.tie_breaker);
	ck_assert_int_eq(after->quorum, before.quorum);
	ck_assert_int_eq(after->change, before.change);
	ck_assert_uint_eq(after->change_ms, before.change_ms);
	ck_assert_mem_eq((char *)after->stats + 8, (char *)before.stats + 8, sizeof *before.stats - 8);
	same_members(&before, after);
	ck_assert_uint_eq(after->shard_count, 2);
	ck_assert_uint_eq(after->shards_left_off, 0);
	for (uint32_t i = 0; i < 2; i++)
		same_shard(&shards[i], &after->shards[i]);
	same_stats(shards[0].stats, after->shards[0].stats);
	ck_assert_ptr_null(after->shards[1].stats); /* the node is not in it */
	ck_assert_uint_eq(after->shards[0].log->size, sizeof log_stats);
	same_log(&log_stats, after->shards[0].log);
	ck_assert_ptr_null(after->shards[1].log);
	same_restart(&before, after);
	ck_assert_uint_eq(after->worker_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(after->workers[i].size, sizeof workers[i]);
		ck_assert_mem_eq((char *)&after->workers[i] + 8, (char *)&workers[i] + 8, sizeof workers[i] - 8);
	}
	whorl_status_free(after);
}

/* A node answers in the version that it is asked in, and what has come since then is not known. */
TEST(the_version_before)
{
	struct whorl_status before = example(), *after;
	size_t count = wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION);
	size_t less = wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION_LEAST);

	/* Of the shards one is this node's; of a worker its size is not written, and how many there are takes two bytes. Then of the disk, the
	 * restart, and those that are missing; of each shard two flags, whether it is dormant, and since when; of its members a place; and its log. Of each from where on slots are relayed, and how
	 * much was. */
	ck_assert_uint_eq(count - less, 8 * (WHORL_COMPLAINTS_MAX + 2 + 2) + 2 + sizeof workers -
						2 * sizeof workers[0].size + 36 + 2 * 4 + strlen(missing[0].address) +
						2 * 4 + 2 * 8 + 14 * 8 + 8 + 2 * 10 + 4 * 8);
	after = decode(less);
	ck_assert(!after->shards[0].durable);
	ck_assert_ptr_null(after->shards[0].log);
	ck_assert_uint_eq(after->shards[0].places[0].persisted_num, 0);
	ck_assert_uint_eq(after->disk_timeout_ms, 0);
	ck_assert_int_eq(after->restart, WHORL_RESTART_NONE);
	ck_assert_uint_eq(after->coordinator, WHORL_NOBODY);
	ck_assert_uint_eq(after->missing_count, 0);
	ck_assert_uint_eq(after->worker_count, 0);
	ck_assert_ptr_null(after->workers);
	ck_assert_uint_eq(after->stats->size, offsetof(struct whorl_node_stats, complaints));
	ck_assert_uint_eq(after->stats->entry_ns[1], 8);
	ck_assert_uint_eq(after->shards[0].stats->slowest_behind, 17);
	ck_assert_uint_eq(after->shards[0].stats->size, offsetof(struct whorl_subgroup_stats, refusals));
	ck_assert_uint_eq(after->shards[0].stats->refusals, 0);
	ck_assert_uint_eq(after->shards[0].large_bytes, 0);
	whorl_status_free(after);
	after = decode(wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION));
	ck_assert_uint_eq(after->stats->size, sizeof *after->stats);
	ck_assert_uint_eq(after->shards[0].stats->size, sizeof *after->shards[0].stats);
	ck_assert_uint_eq(after->shards[0].stats->relayed, 18);
	ck_assert_uint_eq(after->shards[0].stats->relayed_bytes, UINT64_C(1) << 40);
	ck_assert_uint_eq(after->shards[0].relay_bytes, 4096);
	whorl_status_free(after);
	after = decode(wh_status_encode(bytes, sizeof bytes, &before, 10));
	ck_assert_uint_eq(after->shards[0].stats->size, offsetof(struct whorl_subgroup_stats, relayed));
	ck_assert_uint_eq(after->shards[0].stats->relayed, 0);
	ck_assert_uint_eq(after->shards[0].relay_bytes, 0);
	ck_assert_uint_eq(after->stats->complaints[WHORL_COMPLAINT_STARVED], 11);
	whorl_status_free(after);
}

/* Its last members need not be in the view. One that is too old to know of any is told of none. */
TEST(a_shard_may_be_dormant)
{
	static struct whorl_status_place last[] = {{.id = 77}, {.id = 3}};
	static struct whorl_status_shard some[2];
	struct whorl_status before = example(), *after;
	struct wh_error err;

	some[0] = shards[0];
	some[1] = (struct whorl_status_shard){.name = "sleeps",
					      .shards = 1,
					      .ordered = true,
					      .durable = true,
					      .dormant = true,
					      .last_view = 12,
					      .condition = WHORL_SHARD_GONE,
					      .members = 2,
					      .place_count = 2,
					      .places = last};
	before.shards = some;
	after = decode(wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION));
	ck_assert_uint_eq(after->shard_count, 2);
	same_shard(&after->shards[1], &some[1]);
	whorl_status_free(after);
	after = decode(wh_status_encode(bytes, sizeof bytes, &before, 8));
	ck_assert_uint_eq(after->shard_count, 1);
	ck_assert_uint_eq(after->shards_left_off, before.shards_left_off);
	whorl_status_free(after);
	some[1].durable = false;
	ck_assert_int_eq(wh_status_decode(&after, bytes,
					  wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION), &err),
			 WHORL_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "dormant"));
}

TEST(a_node_without_a_view)
{
	struct whorl_status before = {.group = "demo",
				      .standing = WHORL_IS_SEEKING,
				      .leader = WHORL_NOBODY,
				      .stats = &node_stats},
			    *after;

	after = decode(wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION));
	ck_assert_uint_eq(after->member_count, 0);
	ck_assert_ptr_null(after->members);
	ck_assert_ptr_null(after->shards);
	ck_assert_uint_eq(after->worker_count, 0);
	ck_assert_ptr_null(after->workers);
	whorl_status_free(after);
}

static size_t write_with(uint32_t worker_count)
{
	struct whorl_status status = example();

	status.worker_count = worker_count;
	return wh_status_encode(bytes, sizeof bytes, &status, WH_STATUS_VERSION);
}

/* No more than a node can have, and no more than are there. */
TEST(workers_that_are_not_there)
{
	static unsigned char none[WH_ANSWER_MAX];
	struct whorl_status *out;
	struct wh_error err;
	size_t count = write_with(0), at = 0;

	memcpy(none, bytes, count);
	ck_assert_uint_eq(write_with(2), count + sizeof workers - 2 * sizeof workers[0].size);
	while (bytes[at] == none[at])
		at++;
	ck_assert_uint_eq(bytes[at], 2); /* here is how many */
	count = write_with(2);
	bytes[at] = 3;
	ck_assert_int_eq(wh_status_decode(&out, bytes, count, &err), WHORL_REFUSED);
	bytes[at] = 1;
	ck_assert_int_eq(wh_status_decode(&out, bytes, count, &err), WHORL_REFUSED);
	bytes[at] = (WH_SHOWN_MAX + 1) & 0xff;
	bytes[at + 1] = (WH_SHOWN_MAX + 1) >> 8;
	ck_assert_int_eq(wh_status_decode(&out, bytes, sizeof bytes, &err), WHORL_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "out of its range"));
	ck_assert_ptr_null(out);
}

TEST(what_has_no_room_is_left_off)
{
	static struct whorl_status_member many[256];
	static struct whorl_status_place all[256];
	static struct whorl_status_shard much[64];
	static struct whorl_status_worker busy[WH_SHOWN_MAX];
	struct whorl_status before = example(), *after;
	size_t count;

	for (uint32_t i = 0; i < 256; i++) {
		many[i].id = i;
		all[i].id = i;
	}
	for (uint32_t i = 0; i < 64; i++)
		much[i] = (struct whorl_status_shard){
			.shards = 1, .members = 256, .stats = &shard_stats, .place_count = 256, .places = all};
	much[63] = (struct whorl_status_shard){.name = "small", .shards = 1, .stats = &shard_stats};
	before.member_count = 256;
	before.members = many;
	before.shard_count = 64;
	before.shards = much;
	before.worker_count = WH_SHOWN_MAX;
	before.workers = busy;
	count = wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION);
	ck_assert_uint_gt(count, sizeof bytes / 2);
	after = decode(count);
	ck_assert_uint_eq(after->member_count, 256);
	ck_assert_uint_eq(after->worker_count, WH_SHOWN_MAX); /* they and the members always find room */
	ck_assert_uint_gt(after->shard_count, 1);
	ck_assert_uint_eq(after->shard_count + after->shards_left_off, 64);
	ck_assert_uint_gt(after->shards_left_off, 0);
	ck_assert_str_eq(after->shards[after->shard_count - 1].name, "small"); /* what has room still finds it */
	whorl_status_free(after);
	ck_assert_uint_eq(wh_status_encode(bytes, 100, &before, WH_STATUS_VERSION), 0); /* not even its head */
}

TEST(questions)
{
	unsigned char question[WH_STATUS_QUESTION_BYTES + 1] = {0};
	struct whorl_status *out;
	struct wh_error err;

	ck_assert_uint_eq(wh_status_question(question, WH_STATUS_VERSION), WH_STATUS_QUESTION_BYTES);
	ck_assert_uint_eq(wh_status_take_question(question, WH_STATUS_QUESTION_BYTES), WH_STATUS_VERSION);
	ck_assert(!wh_status_take_question(question, WH_STATUS_QUESTION_BYTES + 1));
	ck_assert(!wh_status_take_question(question, WH_STATUS_QUESTION_BYTES - 1));
	ck_assert(!wh_status_take_question(question, 0));
	question[4]++; /* the version */
	ck_assert(!wh_status_take_question(question, WH_STATUS_QUESTION_BYTES));
	question[4]--;
	question[0]++;
	ck_assert(!wh_status_take_question(question, WH_STATUS_QUESTION_BYTES));
	/* The version before is spoken too, and the one before that is not. */
	wh_status_question(question, WH_STATUS_VERSION_LEAST);
	ck_assert_uint_eq(wh_status_take_question(question, WH_STATUS_QUESTION_BYTES), WH_STATUS_VERSION_LEAST);
	wh_status_question(question, WH_STATUS_VERSION_LEAST - 1);
	ck_assert_uint_eq(wh_status_take_question(question, WH_STATUS_QUESTION_BYTES), 0);
	/* A node that shrugs is asked again in its version, if that is an older one. */
	wh_status_question(question, WH_STATUS_VERSION_LEAST);
	ck_assert_uint_eq(wh_status_take_shrug(question, WH_STATUS_QUESTION_BYTES, WH_STATUS_VERSION),
			  WH_STATUS_VERSION_LEAST);
	ck_assert_uint_eq(wh_status_take_shrug(question, WH_STATUS_QUESTION_BYTES - 1, WH_STATUS_VERSION), 0);
	ck_assert_uint_eq(wh_status_take_shrug(question, wh_status_shrug(question), WH_STATUS_VERSION), 0);
	/* A shrug is no status. */
	ck_assert_int_eq(wh_status_decode(&out, question, wh_status_shrug(question), &err), WHORL_REFUSED);
	question[4]++;
	ck_assert_int_eq(wh_status_decode(&out, question, WH_STATUS_QUESTION_BYTES, &err), WHORL_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "version"));
}

/* Nothing but the whole is a status. */
TEST(cut_short)
{
	struct whorl_status before = example(), *out;
	size_t count = wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION);

	for (size_t less = 0; less < count; less++) {
		unsigned char *exact = malloc(less + 1); /* so that a sanitizer sees a read beyond */
		struct wh_error err;

		memcpy(exact, bytes, less);
		ck_assert_int_eq(wh_status_decode(&out, exact, less, &err), WHORL_REFUSED);
		ck_assert_ptr_null(out);
		free(exact);
	}
	ck_assert_int_eq(wh_status_decode(&out, bytes, count + 1, NULL), WHORL_REFUSED);
}

/* What does not fit together. */
TEST(a_status_that_does_not_fit_together_is_refused)
{
	struct whorl_status before = example(), *out;
	struct whorl_status_member twice[] = {members[0], members[0], members[1]};
	struct whorl_status_shard fewer = shards[0], stranger = shards[0], logless = shards[0];
	struct whorl_status_missing none[] = {missing[0], missing[0]};
	struct whorl_status_place outside[] = {places[0], {.id = 99}};
	struct wh_error err;

#define REFUSED(word)                                                                                                  \
	do {                                                                                                           \
		size_t count_ = wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION);                     \
		ck_assert_uint_gt(count_, 0);                                                                          \
		ck_assert_int_eq(wh_status_decode(&out, bytes, count_, &err), WHORL_REFUSED);                          \
		ck_assert_msg(strstr(err.text, word) != NULL, "%s", err.text);                                         \
	} while (0)

	before.members = twice;
	REFUSED("twice");
	before = example();
	before.leader = 77;
	REFUSED("leader");
	before = example();
	before.shards = &fewer;
	before.shard_count = 1;
	fewer.members = 3;
	REFUSED("not as many");
	before.shards = &stranger;
	stranger.places = outside;
	REFUSED("not in the view");
	before.shards = &logless;
	logless.durable = false;
	REFUSED("a shard that has none");
	logless = shards[1];
	logless.log = &log_stats;
	REFUSED("a shard that has none");
	before = example();
	before.missing = none;
	REFUSED("missing twice");
	before = example();
	before.restart = WHORL_RESTART_NONE;
	REFUSED("nothing is restarted");
}

TEST(texts_do_not_control_the_terminal)
{
	struct whorl_status before = example(), *after;

	strcpy(before.error, "a\033[2Jb\nc\x7f ü");
	after = decode(wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION));
	ck_assert_str_eq(after->error, "a?[2Jb?c? ü");
	whorl_status_free(after);
}

/* Whatever comes: an answer, or none, and no byte read that is not there. */
TEST(scribbles)
{
	uint64_t random = test_seed(20);
	struct whorl_status before = example(), *out;
	size_t count = wh_status_encode(bytes, sizeof bytes, &before, WH_STATUS_VERSION);
	unsigned accepted = 0;

	for (int run = 0; run < 100000; run++) {
		unsigned char *copy = malloc(count);
		unsigned flips;

		memcpy(copy, bytes, count);
		random = random * 6364136223846793005 + 1442695040888963407;
		flips = 1 + (unsigned)(random >> 60);
		for (unsigned i = 0; i < flips; i++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			copy[(random >> 33) % count] = (unsigned char)(random >> 20);
		}
		if (wh_status_decode(&out, copy, count, NULL) == WHORL_OK) {
			accepted++;
			ck_assert_uint_le(out->member_count, 256);
			whorl_status_free(out);
		}
		free(copy);
	}
	ck_assert_uint_gt(accepted, 0); /* most of it is counters */
	ck_assert_uint_lt(accepted, 100000);
}

TEST(asking_for_what_cannot_be)
{
	struct whorl_status *out;
	char text[128], name[80];

	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	ck_assert_int_eq(whorl_status_get("", 0, 10, &out, text, sizeof text), WHORL_INVALID);
	ck_assert_int_eq(whorl_status_get(NULL, 0, 10, &out, text, sizeof text), WHORL_INVALID);
	ck_assert_int_eq(whorl_status_get(name, 0, 10, &out, text, sizeof text), WHORL_INVALID);
	ck_assert_int_eq(whorl_status_get("nobody", 256, 10, &out, text, sizeof text), WHORL_INVALID);
	ck_assert_int_eq(whorl_status_get("nobody", 0, -1, &out, NULL, 0), WHORL_INVALID);
	ck_assert_int_eq(whorl_status_get("there-is-no-such-group", 0, 100, &out, text, sizeof text), WHORL_NOT_FOUND);
	ck_assert_ptr_null(out);
	ck_assert_str_ne(text, "");
	whorl_status_free(NULL);
}

TEST_SUITE("status")
