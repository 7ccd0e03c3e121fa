/* test_log.c - logs and identities on a disk where nothing goes wrong, and what they refuse. */
#include "base/crc32c.h"
#include "persistence/format_int.h"
#include "persistence/identity.h"
#include "tests/support/log_lab.h"

static const struct wh_log_sender senders[2] = {{4, 40}, {6, 60}};

static void begin_view(struct lab *lab, uint64_t number, uint64_t cut)
{
	struct wh_log_begin begin = {100 + number, number, cut, 0, 2, senders};

	ck_assert_msg(wh_log_begin_view(lab->log, &begin, &lab->err) == WHORL_OK, "%s", lab->err.text);
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
}

/* A message of one byte at each place: the number of the view. */
static void append(struct lab *lab, uint64_t view, uint64_t first, uint64_t next)
{
	unsigned char data = (unsigned char)view;
	struct iovec part = {&data, 1};
	struct wh_log_record records[LAB_MESSAGES];
	struct wh_log_batch batch = {first, next, first, records, (uint32_t)(next - first)};

	for (uint64_t i = 0; i < next - first; i++)
		records[i] = (struct wh_log_record){first + i, first + i, (uint32_t)i % 2, 1, 1, 1, &part};
	ck_assert_msg(wh_log_append(lab->log, &batch, &lab->err) == WHORL_OK, "%s", lab->err.text);
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
}

static void reopen(struct lab *lab, enum wh_log_verdict expected)
{
	log_lab_end(lab);
	ck_assert_msg(log_lab_open(lab) == WHORL_OK, "%s", lab->err.text);
	ck_assert_msg(lab->found.verdict == expected, "%s", lab->found.why);
}

static void expect(struct lab *lab, const struct wh_log_point *from, const struct wh_log_point *until, const char *all)
{
	char found[256] = "";
	struct wh_log_cursor *cursor;
	struct wh_log_entry entry;

	ck_assert_msg(wh_log_cursor_open(&cursor, lab->log, from, until, &lab->err) == WHORL_OK, "%s", lab->err.text);
	for (;;) {
		size_t used = strlen(found);

		ck_assert_int_eq(wh_log_cursor_next(cursor, &entry, &lab->err), WHORL_OK);
		if (entry.kind == WH_LOG_END)
			break;
		if (entry.kind == WH_LOG_VIEW)
			snprintf(found + used, sizeof(found) - used, "%sv%ju%s", used > 0 ? " " : "",
				 (uintmax_t)entry.view->number, entry.view->gap ? "!" : "");
		else
			snprintf(found + used, sizeof(found) - used, " %ju", (uintmax_t)entry.message.place);
		if (entry.kind == WH_LOG_MESSAGE)
			ck_assert_uint_eq(*(const unsigned char *)entry.message.data, entry.view->number);
	}
	wh_log_cursor_close(cursor);
	ck_assert_str_eq(found, all);
}

/* ---- views and places ---------------------------------------------------------------------------------------------------- */

START_TEST(void_is_dropped)
{
	struct lab *lab = lab_new(1);
	struct wh_log_point from = {100, 0, 2}, until = {101, 1, 1};
	const struct wh_log_view *views;
	uint32_t count;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(lab->found.verdict, WH_LOG_BLANK);
	begin_view(lab, 0, 0);
	append(lab, 0, 0, 3);
	append(lab, 0, 3, 6);
	begin_view(lab, 1, 4); /* 4 and 5 are void */
	append(lab, 1, 0, 2);
	begin_view(lab, 2, 2);
	for (int i = 0; i < 2; i++) {
		expect(lab, NULL, NULL, "v0 0 1 2 3 v1 0 1 v2");
		expect(lab, &from, NULL, "v0 2 3 v1 0 1 v2");
		expect(lab, &from, &until, "v0 2 3 v1 0");
		expect(lab, NULL, &from, "v0 0 1");
		views = wh_log_views(lab->log, &count);
		ck_assert_uint_eq(count, 3);
		ck_assert(views[0].end == 4 && views[0].void_end == 6 && views[0].frontier == 3 && !views[0].gap);
		ck_assert(views[1].end == 2 && views[2].end == 0 && views[2].sender_count == 2);
		ck_assert(wh_log_end(lab->log).number == 2 && wh_log_end(lab->log).place == 0);
		reopen(lab, WH_LOG_WHOLE);
		ck_assert(lab->found.end.number == 2 && lab->found.end.key == 102);
	}
	log_lab_free(lab);
}
END_TEST

START_TEST(gaps_are_told)
{
	struct lab *lab = lab_new(1);

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	begin_view(lab, 3, 12); /* nothing was here before: no gap */
	append(lab, 3, 0, 2);
	begin_view(lab, 4, 3); /* 2 is missing */
	append(lab, 4, 0, 1);
	begin_view(lab, 6, 0); /* a view is missing */
	begin_view(lab, 7, 0);
	expect(lab, NULL, NULL, "v3 0 1 v4! 0 v6! v7");
	reopen(lab, WH_LOG_WHOLE);
	expect(lab, NULL, NULL, "v3 0 1 v4! 0 v6! v7");
	log_lab_free(lab);
}
END_TEST

/* A checkpoint in the middle: what lies before is forgotten, at last on the disk too. */
START_TEST(a_checkpoint_takes_the_place)
{
	struct lab *lab = lab_new(1);
	struct wh_log_position position = {.point = {100, 0, 4}, .count = 1, .of = {{4, 17, 40}}}, found;
	struct wh_log_point before = {100, 0, 3};
	struct wh_checkpoint *checkpoint;
	struct wh_log_statistics statistics;
	struct wh_log_cursor *cursor;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	begin_view(lab, 0, 0);
	for (uint64_t i = 0; i < 30; i++) {
		append(lab, 0, i, i + 1);
		ck_assert_int_eq(wh_log_prepare(lab->log, &lab->err), WHORL_OK);
	}
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err), WHORL_OK);
		ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &lab->err), WHORL_INVALID); /* it is not synced */
		ck_assert_int_eq(wh_checkpoint_write(checkpoint, "state", 5, &lab->err), WHORL_OK);
		ck_assert_int_eq(wh_checkpoint_sync(checkpoint, &lab->err), WHORL_OK);
		ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &lab->err), WHORL_OK);
		wh_log_statistics(lab->log, &statistics);
		ck_assert_uint_eq(statistics.checkpoint_bytes, 5);
		ck_assert(round == 0 ? statistics.first == 0 : statistics.first > 10);
		expect(lab, NULL, NULL,
		       round == 0 ? "v0 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29"
				  : "v0 28 29");
		reopen(lab, WH_LOG_WHOLE);
		ck_assert(wh_log_position(lab->log, &found) && found.count == 1 && found.of[0].id == 4);
		ck_assert(found.of[0].next == 17 && found.of[0].incarnation == 40);
		ck_assert_uint_eq(found.point.place, position.point.place);
		ck_assert_int_eq(wh_log_cursor_open(&cursor, lab->log, &before, NULL, &lab->err), WHORL_INVALID);
		position.point.place = 28;
	}
	position.point.place = 27; /* backwards */
	ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err), WHORL_INVALID);
	append(lab, 0, 30, 32);
	expect(lab, NULL, NULL, "v0 28 29 30 31");
	log_lab_free(lab);
}
END_TEST

/* The state of a node that came in: ahead of what its log has. */
START_TEST(a_state_that_was_given)
{
	struct lab *lab = lab_new(1);
	struct wh_log_position position = {.point = {105, 5, 4}};
	struct wh_checkpoint *checkpoint;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	begin_view(lab, 1, 0); /* of an earlier life */
	append(lab, 1, 0, 2);
	ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_write(checkpoint, "x", 1, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_sync(checkpoint, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &lab->err), WHORL_INVALID); /* its view has not begun */
	begin_view(lab, 5, 9);
	append(lab, 5, 0, 2);
	ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &lab->err), WHORL_OK);
	ck_assert_uint_eq(wh_log_end(lab->log).place, 4);
	for (int i = 0; i < 2; i++) {
		expect(lab, NULL, NULL, "v5");
		reopen(lab, WH_LOG_WHOLE);
		ck_assert_uint_eq(lab->found.end.place, 4);
	}
	append(lab, 5, 2, 6);
	begin_view(lab, 6, 6);
	expect(lab, NULL, NULL, "v5 4 5 v6");
	position.point =
		(struct wh_log_point){105, 5, 6}; /* again in that view, which begins behind where its segment does */
	ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_sync(checkpoint, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &lab->err), WHORL_OK);
	reopen(lab, WH_LOG_WHOLE);
	expect(lab, NULL, NULL, "v5 v6");
	log_lab_free(lab);
}
END_TEST

/* ---- what is refused --------------------------------------------------------------------------------------------------- */

START_TEST(arguments_are_checked)
{
	struct lab *lab = lab_new(1);
	struct wh_log_begin begin = {1, 5, 0, 0, 2, senders};
	unsigned char data[8] = {0};
	struct iovec part = {data, 8};
	struct wh_log_record record = {0, 0, 0, 1, 8, 1, &part};
	struct wh_log_batch batch = {0, 1, 0, &record, 1};
	struct wh_log_config config = lab->config;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_INVALID); /* no view has begun */
	ck_assert_int_eq(wh_log_begin_view(lab->log, &begin, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_INVALID); /* that is not synced */
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_log_begin_view(lab->log, &begin, &lab->err), WHORL_INVALID); /* it has begun */
	batch.first = batch.next = 1;
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_INVALID); /* from 0 on */
	batch.first = 0;
	record.sender = 2;
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_INVALID); /* of two senders */
	record.sender = 1;
	record.bytes = 7;
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_INVALID);
	record.bytes = 8;
	record.place = 1;
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_INVALID);
	record.place = 0;
	batch.frontier = 1;
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_INVALID);
	batch.frontier = 0;
	ck_assert_int_eq(wh_log_append(lab->log, &batch, &lab->err), WHORL_OK);
	begin.number = 6;
	ck_assert_int_eq(wh_log_begin_view(lab->log, &begin, &lab->err), WHORL_INVALID); /* that is not synced */
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_log_sync(lab->log, &lab->err), WHORL_OK); /* nothing to do */
	log_lab_end(lab);
	lab->config.fresh = 0;
	ck_assert_int_eq(log_lab_open(lab), WHORL_INVALID);
	log_lab_end(lab);
	lab->config = config;
	lab->config.batch_bytes = UINT32_MAX;
	ck_assert_int_eq(log_lab_open(lab), WHORL_INVALID);
	log_lab_free(lab);
}
END_TEST

static void expect_config(struct lab *lab, const char *text)
{
	struct wh_log_config config = lab->config;

	log_lab_end(lab);
	ck_assert_int_eq(log_lab_open(lab), WHORL_CONFIG);
	ck_assert_msg(strstr(lab->err.text, text) != NULL, "%s", lab->err.text);
	ck_assert_ptr_null(lab->log);
	lab->config = config;
}

START_TEST(logs_of_others)
{
	struct lab *lab = lab_new(1);
	struct wh_log_config config = lab->config;
	const char *name = "orders.0.0000000000000000.log", *other = "orders.1.0000000000000000.log";

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	begin_view(lab, 0, 0);
	lab->config.owner.group = 78;
	expect_config(lab, "another group");
	lab->config = config;
	lab->config.owner.node = 4;
	expect_config(lab, "of node 3, and not of node 4");
	lab->config = config;
	log_lab_end(lab);
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	ck_assert_int_eq(lab->directory->ops->rename(lab->directory, name, other, &lab->err), WHORL_OK);
	lab->config.owner.shard = 1;
	expect_config(lab, "of subgroup orders, shard 0");
	log_lab_free(lab);
}
END_TEST

/* The header of a file, changed and with the right sum. */
static void change_header(struct lab *lab, const char *name, size_t at, uint32_t value)
{
	unsigned char block[WH_LOG_BLOCK_BYTES];
	struct iovec part = {block, sizeof(block)};
	struct wh_file *file;
	size_t got;

	ck_assert_int_eq(lab->directory->ops->open(lab->directory, name, false, &file, &lab->err), WHORL_OK);
	ck_assert_int_eq(file->ops->read(file, 0, block, sizeof(block), &got, &lab->err), WHORL_OK);
	wh_log_put32(block + at, value);
	wh_log_put32(block + sizeof(block) - 4, wh_crc32c(0, block, sizeof(block) - 4));
	ck_assert_int_eq(file->ops->write(file, 0, &part, 1, &lab->err), WHORL_OK);
	file->ops->close(file);
}

START_TEST(later_formats)
{
	struct lab *lab = lab_new(1);
	const char *name = "orders.0.0000000000000000.log";
	struct wh_log_found found;
	struct wh_log *log;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	begin_view(lab, 0, 0);
	change_header(lab, name, 8, WH_LOG_FORMAT + 1);
	expect_config(lab, "has format 2, and this whorl knows 1");
	ck_assert_int_eq(wh_log_open_files(&log, lab->directory, "orders.0", &found, &lab->err), WHORL_CONFIG);
	change_header(lab, name, 8, WH_LOG_FORMAT);
	reopen(lab, WH_LOG_WHOLE);
	log_lab_free(lab);
}
END_TEST

/* ---- reading alone ----------------------------------------------------------------------------------------------------- */

static void count_log(void *ctx, const char *files)
{
	*(int *)ctx += strcmp(files, "orders.0") == 0 ? 1 : 100;
}

START_TEST(looking_changes_nothing)
{
	struct lab *lab = lab_new(1);
	struct wh_log_begin begin = {200, 200, 0, 0, 0, NULL};
	struct wh_log_found found;
	struct wh_log *log;
	uint64_t operations;
	int logs = 0;

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	ck_assert_int_eq(lab_work(lab, 30), WHORL_OK);
	log_lab_end(lab);
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	wh_sim_disk_fail(lab->disk, WH_SIM_DISK_WRITE, 1000);
	wh_sim_disk_fail(lab->disk, WH_SIM_DISK_SYNC, 1000);
	wh_sim_disk_fail(lab->disk, WH_SIM_DISK_NAME, 1000);
	wh_sim_disk_fail(lab->disk, WH_SIM_DISK_SYNC_NAMES, 1000);
	ck_assert_int_eq(wh_log_list(lab->directory, count_log, &logs, &lab->err), WHORL_OK);
	ck_assert_int_eq(logs, 1);
	ck_assert_int_eq(wh_log_open_files(&log, lab->directory, "none.0", &found, &lab->err), WHORL_NOT_FOUND);
	ck_assert_msg(wh_log_open_files(&log, lab->directory, "orders.0", &found, &lab->err) == WHORL_OK, "%s",
		      lab->err.text);
	ck_assert_int_eq(found.verdict, WH_LOG_WHOLE);
	ck_assert(wh_log_owner(log)->node == 3 && strcmp(wh_log_owner(log)->group_name, "g") == 0);
	operations = wh_sim_disk_operations(lab->disk);
	ck_assert_int_eq(wh_log_begin_view(log, &begin, &lab->err), WHORL_INVALID);
	ck_assert_int_eq(wh_log_prepare(log, &lab->err), WHORL_INVALID);
	ck_assert_uint_eq(wh_sim_disk_operations(lab->disk), operations);
	lab->log = log;
	lab->found = found;
	lab_check(lab);
	log_lab_free(lab);
}
END_TEST

/* ---- names --------------------------------------------------------------------------------------------------------------- */

START_TEST(names_of_files)
{
	char long_name[WH_LOG_NAME_BYTES], files[WH_LOG_FILES_BYTES], again[WH_LOG_FILES_BYTES],
		name[WH_FILE_NAME_BYTES];
	uint64_t number;

	ck_assert_str_eq(wh_log_files(files, "orders-1_x", 12), "orders-1_x.12");
	ck_assert_str_eq(wh_log_files(files, "a/b.c", 0), "a%2fb%2ec.0");
	memset(long_name, '/', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	wh_log_files(files, long_name, UINT32_MAX);
	wh_log_file_name(name, files, WH_LOG_FILE_CHECKPOINT, UINT64_MAX);
	ck_assert_uint_lt(strlen(name), WH_FILE_NAME_BYTES - 1);
	ck_assert_int_eq(wh_log_file_read(name, again, &number), WH_LOG_FILE_CHECKPOINT);
	ck_assert_str_eq(again, files);
	ck_assert(number == UINT64_MAX);
	long_name[0] = 'a';
	ck_assert_str_ne(wh_log_files(again, long_name, UINT32_MAX), files);
	ck_assert_int_eq(wh_log_file_read("identity", again, &number), WH_LOG_FILE_OTHER);
	ck_assert_int_eq(wh_log_file_read("orders.0.00000000000000A0.log", again, &number), WH_LOG_FILE_OTHER);
	ck_assert_int_eq(wh_log_file_read("0000000000000000.log", again, &number), WH_LOG_FILE_OTHER);
}
END_TEST

/* ---- identities ---------------------------------------------------------------------------------------------------------- */

START_TEST(an_identity_is_kept)
{
	struct lab *lab = lab_new(1);
	struct wh_identity mine = {.group = 5, .name = "orders", .node = 3}, found, other;

	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	ck_assert_int_eq(wh_identity_read(lab->directory, &found, &lab->err), WHORL_NOT_FOUND);
	ck_assert_int_eq(wh_identity_write(lab->directory, &mine, &lab->err), WHORL_OK);
	for (int i = 0; i < 10; i++) {
		log_lab_end(lab);
		wh_sim_disk_crash(lab->disk, &lab->power);
		ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
		ck_assert_int_eq(wh_identity_read(lab->directory, &found, &lab->err), WHORL_OK);
		ck_assert(found.group == 5 && found.node == 3 && strcmp(found.name, "orders") == 0);
	}
	ck_assert_int_eq(wh_identity_check(&found, &mine, &lab->err), WHORL_OK);
	other = (struct wh_identity){.group = 0, .name = "orders", .node = 3};
	ck_assert_int_eq(wh_identity_check(&found, &other, &lab->err), WHORL_OK);
	other.group = 6;
	ck_assert_int_eq(wh_identity_check(&found, &other, &lab->err), WHORL_CONFIG);
	other = (struct wh_identity){.group = 5, .name = "other", .node = 3};
	ck_assert_int_eq(wh_identity_check(&found, &other, &lab->err), WHORL_CONFIG);
	other = (struct wh_identity){.group = 5, .name = "orders", .node = 2};
	ck_assert_int_eq(wh_identity_check(&found, &other, &lab->err), WHORL_CONFIG);
	for (uint64_t at = 0; at < 96; at++) {
		ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, "identity", at, 4));
		ck_assert_int_eq(wh_identity_read(lab->directory, &found, &lab->err), WHORL_DISK);
		ck_assert(wh_sim_disk_rot(lab->disk, LAB_PATH, "identity", at, 4));
	}
	log_lab_free(lab);
}
END_TEST

/* The power goes while it is written, over another: it is one of the two; and when it has been written it is this one. */
static bool write_identity(uint64_t seed, uint64_t operation)
{
	struct lab *lab = lab_new(seed);
	struct wh_identity before = {.group = 1, .name = "g", .node = 1}, after = {.group = 2, .name = "h", .node = 2},
			   found;
	bool crashed;

	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	ck_assert_int_eq(wh_identity_write(lab->directory, &before, &lab->err), WHORL_OK);
	wh_sim_disk_crash_at(lab->disk, wh_sim_disk_operations(lab->disk) + operation);
	crashed = wh_identity_write(lab->directory, &after, &lab->err) != WHORL_OK;
	log_lab_end(lab);
	wh_sim_disk_crash(lab->disk, &lab->power);
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	ck_assert_int_eq(wh_identity_read(lab->directory, &found, &lab->err), WHORL_OK);
	ck_assert(found.group == 2 || (crashed && found.group == 1));
	log_lab_free(lab);
	return crashed;
}

START_TEST(an_identity_is_one_of_two)
{
	for (uint64_t seed = 1; seed <= 40; seed++)
		for (uint64_t operation = 1; write_identity(seed, operation); operation++)
			;
}
END_TEST

/* ---- a log of another node ------------------------------------------------------------------------------------------------ */

static void count_ask(void *ctx)
{
	++*(int *)ctx;
}

/* With its checkpoint, views, caps and all; what lay there before goes. The power goes behind it. */
START_TEST(a_log_is_copied)
{
	struct lab *lab = lab_new(1 + (uint64_t)_i);
	struct wh_log_position position = {.point = {100, 0, 4}, .count = 1, .of = {{4, 17, 40}}}, found;
	struct wh_log_owner owner;
	struct wh_checkpoint *checkpoint;
	struct wh_directory *other;
	const struct wh_disk *table;
	const struct wh_log_view *views;
	int asked = 0;
	uint32_t count;
	const struct wh_log_asking by = {count_ask, &asked};

	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	begin_view(lab, 0, 0);
	append(lab, 0, 0, 6);
	ck_assert_int_eq(wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_write(checkpoint, "state", 5, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_sync(checkpoint, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_checkpoint_finish(checkpoint, &lab->err), WHORL_OK);
	begin_view(lab, 1, 5);
	append(lab, 1, 0, 3);
	ck_assert_int_eq(wh_log_cap(lab->log, 2, &lab->err), WHORL_OK);
	reopen(lab, WH_LOG_WHOLE); /* that gives the checkpoint another name */
	table = wh_sim_disk_table(lab->user);
	ck_assert_int_eq(table->directory(table->ctx, "logs/8", true, &other, &lab->err), WHORL_OK);
	owner = lab->config.owner;
	owner.node = 8;
	owner.group = 78;
	owner.shard = 1;
	ck_assert_int_eq(wh_log_copy(other, &owner, lab->directory, &by, &lab->err), WHORL_NOT_FOUND);
	owner.shard = 0;
	ck_assert_int_eq(wh_log_copy(other, &owner, lab->directory, &by, &lab->err), WHORL_OK);
	ck_assert_int_eq(wh_log_copy(other, &owner, lab->directory, &by, &lab->err), WHORL_OK);
	ck_assert_int_gt(asked, 4);
	other->ops->close(other);
	log_lab_end(lab);
	wh_sim_disk_crash(lab->disk, &lab->power);
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	lab->directory->ops->close(lab->directory);
	table = wh_sim_disk_table(lab->user);
	ck_assert_int_eq(table->directory(table->ctx, "logs/8", false, &lab->directory, &lab->err), WHORL_OK);
	lab->config.owner.node = 8;
	lab->config.owner.group = 78;
	ck_assert_msg(wh_log_open(&lab->log, lab->directory, &lab->config, &lab->found, &lab->err) == WHORL_OK, "%s",
		      lab->err.text);
	ck_assert_msg(lab->found.verdict == WH_LOG_WHOLE, "%s", lab->found.why);
	expect(lab, NULL, NULL, "v0 4 v1 0 1 2");
	ck_assert(wh_log_position(lab->log, &found) && found.point.place == 4 && found.of[0].next == 17);
	views = wh_log_views(lab->log, &count);
	ck_assert_uint_eq(views[count - 1].frontier, 2);
	append(lab, 1, 3, 5);
	expect(lab, NULL, NULL, "v0 4 v1 0 1 2 3 4");
	log_lab_free(lab);
}
END_TEST

/* The power goes in each operation of it: what is there is rot, or less, or all; and can be discarded. */
START_TEST(a_copy_that_is_cut_off)
{
	bool ended = false;

	for (uint64_t operation = 1; !ended; operation++) {
		struct lab *lab = lab_new(operation);
		struct wh_log_owner owner = lab->config.owner;
		struct wh_directory *other;
		const struct wh_disk *table;
		int asked = 0;
		const struct wh_log_asking by = {count_ask, &asked};

		owner.node = 8;
		ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
		begin_view(lab, 0, 0);
		for (uint64_t i = 0; i < 20; i++)
			append(lab, 0, i, i + 1);
		table = wh_sim_disk_table(lab->user);
		ck_assert_int_eq(table->directory(table->ctx, "logs/8", true, &other, &lab->err), WHORL_OK);
		wh_sim_disk_crash_at(lab->disk, wh_sim_disk_operations(lab->disk) + operation);
		ended = wh_log_copy(other, &owner, lab->directory, &by, &lab->err) == WHORL_OK;
		other->ops->close(other);
		log_lab_end(lab);
		wh_sim_disk_crash(lab->disk, &lab->power);
		ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
		lab->directory->ops->close(lab->directory);
		table = wh_sim_disk_table(lab->user);
		ck_assert_int_eq(table->directory(table->ctx, "logs/8", false, &lab->directory, &lab->err), WHORL_OK);
		lab->config.owner.node = 8;
		for (int i = 0; i < 2; i++) {
			ck_assert_msg(wh_log_open(&lab->log, lab->directory, &lab->config, &lab->found, &lab->err) ==
					      WHORL_OK,
				      "%s", lab->err.text);
			ck_assert(i == 0 ? !ended || lab->found.verdict == WH_LOG_WHOLE
					 : lab->found.verdict == WH_LOG_BLANK);
			wh_log_close(lab->log);
			lab->log = NULL;
			ck_assert_int_eq(wh_log_discard(lab->directory, "orders", 0, NULL, &lab->err), WHORL_OK);
		}
		log_lab_free(lab);
	}
}
END_TEST

static uint64_t take_most(struct lab *lab)
{
	uint64_t most = lab->most_unasked;

	lab->unasked = lab->most_unasked = 0;
	lab->unasked_ns = lab->most_unasked_ns = 0;
	return most;
}

/* A log of many files, one of which is large: the disk is asked in pieces, and said to be, whatever is done with all of it. */
START_TEST(long_calls_ask_in_pieces)
{
	struct lab *lab = lab_new(1);
	const struct wh_sim_disk_cost cost = {.bytes_per_s = (uint64_t)64 << 20};
	const struct wh_log_asking asking = {lab_asks, lab};
	struct wh_log_owner owner = lab->config.owner;
	struct wh_directory *other;
	const struct wh_disk *table;
	struct wh_log_statistics has;
	struct wh_file *last;
	char name[WH_FILE_NAME_BYTES], files[WH_LOG_FILES_BYTES];

	lab->times = true;
	lab->config.asking = &asking;
	ck_assert_int_eq(log_lab_open(lab), WHORL_OK);
	begin_view(lab, 0, 0);
	for (uint64_t i = 0; i < 200; i++)
		append(lab, 0, i, i + 1);
	wh_log_statistics(lab->log, &has);
	ck_assert_uint_gt(has.segments, 12);
	wh_log_file_name(name, wh_log_files(files, "orders", 0), WH_LOG_FILE_SEGMENT, has.segments - 1);
	log_lab_end(lab);
	ck_assert_int_eq(log_lab_begin(lab), WHORL_OK);
	ck_assert_int_eq(lab->directory->ops->open(lab->directory, name, false, &last, &lab->err), WHORL_OK);
	ck_assert_int_eq(last->ops->allocate(last, (uint64_t)200 << 20, &lab->err), WHORL_OK);
	ck_assert_int_eq(last->ops->sync(last, &lab->err), WHORL_OK);
	last->ops->close(last);
	wh_sim_disk_cost_set(lab->disk, &cost);
	(void)take_most(lab);
	ck_assert_int_eq(wh_log_open(&lab->log, lab->directory, &lab->config, &lab->found, &lab->err), WHORL_OK);
	ck_assert_int_eq(lab->found.verdict, WH_LOG_WHOLE);
	ck_assert_uint_le(take_most(lab), 12);
	table = wh_sim_disk_table(lab->user);
	ck_assert_int_eq(table->directory(table->ctx, "logs/8", true, &other, &lab->err), WHORL_OK);
	owner.node = 8;
	(void)take_most(lab);
	ck_assert_int_eq(wh_log_copy(other, &owner, lab->directory, &asking, &lab->err), WHORL_OK);
	ck_assert_uint_lt(lab->most_unasked_ns, 2000000000);
	ck_assert_uint_le(take_most(lab), 4);
	ck_assert_int_eq(wh_log_discard(other, "orders", 0, &asking, &lab->err), WHORL_OK);
	ck_assert_uint_le(take_most(lab), 4);
	other->ops->close(other);
	log_lab_free(lab);
}
END_TEST

Suite *suite(void)
{
	Suite *suite = suite_create("log");
	TCase *content = tcase_create("content"), *refused = tcase_create("refused"),
	      *identities = tcase_create("identities");

	tcase_add_test(content, void_is_dropped);
	tcase_add_test(content, gaps_are_told);
	tcase_add_test(content, a_checkpoint_takes_the_place);
	tcase_add_test(content, a_state_that_was_given);
	tcase_add_loop_test(content, a_log_is_copied, 0, 10);
	tcase_add_test(content, a_copy_that_is_cut_off);
	tcase_add_test(content, long_calls_ask_in_pieces);
	tcase_add_test(content, looking_changes_nothing);
	tcase_add_test(content, names_of_files);
	tcase_add_test(refused, arguments_are_checked);
	tcase_add_test(refused, logs_of_others);
	tcase_add_test(refused, later_formats);
	tcase_add_test(identities, an_identity_is_kept);
	tcase_add_test(identities, an_identity_is_one_of_two);
	suite_add_tcase(suite, content);
	suite_add_tcase(suite, refused);
	suite_add_tcase(suite, identities);
	return suite;
}
