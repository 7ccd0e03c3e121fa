#include "tests/support/log_lab.h"

/* ---- making one ------------------------------------------------------------------------------------------------------- */

static void lab_operates(void *ctx, enum wh_sim_disk_op op, uint64_t number)
{
	struct lab *lab = ctx;

	(void)op;
	lab->unasked++;
	lab->most_unasked = lab->unasked > lab->most_unasked ? lab->unasked : lab->most_unasked;
	if (lab->kill_at != 0 && number == lab->kill_at)
		wh_sim_disk_end(lab->user);
}

static void lab_passes(void *ctx, uint64_t ns)
{
	struct lab *lab = ctx;

	lab->unasked_ns += ns;
	lab->most_unasked_ns = lab->unasked_ns > lab->most_unasked_ns ? lab->unasked_ns : lab->most_unasked_ns;
}

void lab_asks(void *ctx)
{
	struct lab *lab = ctx;

	lab->unasked = lab->unasked_ns = 0;
}

enum whorl_result log_lab_begin(struct lab *lab)
{
	struct wh_sim_disk_hooks hooks = {.operates = lab_operates, .pass = lab->times ? lab_passes : NULL, .ctx = lab};
	const struct wh_disk *table;
	int holder;
	enum whorl_result result;

	lab->user = wh_sim_disk_begin(lab->disk, 1, &hooks);
	ck_assert_ptr_nonnull(lab->user);
	table = wh_sim_disk_table(lab->user);
	result = table->directory(table->ctx, LAB_PATH, true, &lab->directory, &lab->err);
	return result == WHORL_OK ? lab->directory->ops->lock(lab->directory, &holder, &lab->err) : result;
}

void log_lab_end(struct lab *lab)
{
	wh_log_close(lab->log);
	lab->log = NULL;
	if (lab->directory != NULL)
		lab->directory->ops->close(lab->directory);
	lab->directory = NULL;
	wh_sim_disk_end(lab->user);
}

enum whorl_result log_lab_open(struct lab *lab)
{
	enum whorl_result result = log_lab_begin(lab);

	if (result == WHORL_OK)
		result = wh_log_open(&lab->log, lab->directory, &lab->config, &lab->found, &lab->err);
	return result;
}

struct lab *lab_new(uint64_t seed)
{
	struct wh_sim_disk_options options = {.seed = seed};
	struct lab *lab = calloc(1, sizeof(*lab));

	ck_assert_ptr_nonnull(lab);
	ck_assert_int_eq(wh_sim_disk_new(&lab->disk, &options, NULL), WHORL_OK);
	ck_assert(wh_sim_disk_mount(lab->disk, "logs"));
	lab->dice = wh_dice_split(seed, 1);
	lab->power = wh_dice_split(seed, 2);
	lab->config = (struct wh_log_config){.owner = {.group = 77, .group_name = "g", .subgroup = "orders", .node = 3},
					     .fresh = seed | 1,
					     .segment_bytes = 1,
					     .batch_bytes = 4 * LAB_MESSAGE_BYTES,
					     .batch_messages = LAB_MESSAGES};
	return lab;
}

void log_lab_free(struct lab *lab)
{
	log_lab_end(lab);
	wh_sim_disk_free(lab->disk);
	free(lab);
}

/* ---- what is written -------------------------------------------------------------------------------------------------- */

static unsigned char lab_byte(uint64_t salt, uint64_t at)
{
	return (unsigned char)wh_mix(salt + at / 8) + (unsigned char)at;
}

static void lab_fill(unsigned char *out, uint64_t salt, uint64_t from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = lab_byte(salt, from + i);
}

/* The view that the first `count` batches end in: NULL if none. */
static const struct lab_batch *lab_view(const struct lab *lab, uint32_t count)
{
	while (count-- > 0)
		if (lab->batches[count].begin)
			return &lab->batches[count];
	return NULL;
}

/* Where it ends. */
static uint64_t lab_end_of(const struct lab *lab, uint32_t count)
{
	return count == 0 || lab->batches[count - 1].begin ? 0 : lab->batches[count - 1].next;
}

static struct lab_batch *lab_draw_begin(struct lab *lab)
{
	const struct lab_batch *before = lab_view(lab, lab->synced);
	struct lab_batch *batch = &lab->batches[lab->synced];
	uint64_t end = lab_end_of(lab, lab->synced);

	*batch = (struct lab_batch){.begin = true, .key = wh_dice_roll(&lab->dice), .salt = wh_dice_roll(&lab->dice)};
	batch->view = before == NULL ? 0 : before->view + 1 + wh_dice_one_in(&lab->dice, 10);
	batch->cut = wh_dice_one_in(&lab->dice, 2) ? end : wh_dice_below(&lab->dice, end + 1);
	if (wh_dice_one_in(&lab->dice, 10))
		batch->cut = end + 5;
	if (before != NULL && lab->mark.there && lab->mark.point.number == before->view &&
	    batch->cut < lab->mark.point.place)
		batch->cut = lab->mark.point.place; /* what is in a state was delivered */
	batch->sender_count = 1 + (uint32_t)wh_dice_below(&lab->dice, 4);
	for (uint32_t i = 0; i < batch->sender_count; i++)
		batch->senders[i] = (struct wh_log_sender){i, wh_dice_roll(&lab->dice)};
	return batch;
}

static struct lab_batch *lab_draw_messages(struct lab *lab)
{
	const struct lab_batch *view = lab_view(lab, lab->synced);
	struct lab_batch *batch = &lab->batches[lab->synced];

	*batch = (struct lab_batch){.key = view->key, .view = view->view, .salt = wh_dice_roll(&lab->dice)};
	batch->first = batch->next = lab_end_of(lab, lab->synced);
	batch->frontier = wh_dice_below(&lab->dice, batch->first + 1);
	for (uint32_t i = 0; i < 10; i++, batch->next++) {
		if (batch->count == LAB_MESSAGES || wh_dice_one_in(&lab->dice, 3))
			continue;
		batch->messages[batch->count++] = (struct wh_log_message){
			.place = batch->next,
			.index = wh_dice_below(&lab->dice, 1000),
			.sender = (uint32_t)wh_dice_below(&lab->dice, view->sender_count),
			.slots = 1,
			.bytes = (uint32_t)wh_dice_below(
				&lab->dice, wh_dice_one_in(&lab->dice, 3) ? LAB_MESSAGE_BYTES / 3 * 2 - 15 : 40)};
	}
	return batch;
}

static struct lab_batch *lab_draw_cap(struct lab *lab)
{
	const struct lab_batch *view = lab_view(lab, lab->synced);
	struct lab_batch *batch = &lab->batches[lab->synced];

	*batch = (struct lab_batch){.key = view->key, .view = view->view};
	batch->first = batch->next = lab_end_of(lab, lab->synced);
	return batch;
}

enum whorl_result lab_append(struct lab *lab, const struct lab_batch *batch)
{
	static unsigned char data[LAB_MESSAGES][LAB_MESSAGE_BYTES];
	struct wh_log_record records[LAB_MESSAGES];
	struct iovec parts[LAB_MESSAGES][2];
	struct wh_log_batch out = {batch->first, batch->next, batch->frontier, records, batch->count};

	for (uint32_t i = 0; i < batch->count; i++) {
		const struct wh_log_message *m = &batch->messages[i];

		lab_fill(data[i], batch->salt + m->place, 0, m->bytes);
		parts[i][0] = (struct iovec){data[i], m->bytes / 3};
		parts[i][1] = (struct iovec){data[i] + m->bytes / 3, m->bytes - m->bytes / 3};
		records[i] = (struct wh_log_record){m->place, m->index, m->sender, m->slots, m->bytes, 2, parts[i]};
	}
	return wh_log_append(lab->log, &out, &lab->err);
}

enum whorl_result log_lab_write(struct lab *lab)
{
	bool begins = lab->synced == 0 || wh_dice_one_in(&lab->dice, 8);
	bool caps = !begins && !wh_log_is_capped(lab->log) && wh_dice_one_in(&lab->dice, 6);
	struct lab_batch *batch = begins ? lab_draw_begin(lab) : caps ? lab_draw_cap(lab) : lab_draw_messages(lab);
	struct wh_log_begin begin = {batch->key, batch->view, batch->cut, 0, batch->sender_count, batch->senders};
	enum whorl_result result;

	ck_assert_uint_lt(lab->synced, LAB_BATCHES - 1);
	lab->written = lab->synced + 1;
	result = begins ? wh_log_begin_view(lab->log, &begin, &lab->err)
		 : caps ? wh_log_cap(lab->log, wh_dice_below(&lab->dice, 30), &lab->err)
			: lab_append(lab, batch);
	if (result == WHORL_OK)
		result = wh_log_sync(lab->log, &lab->err);
	if (result == WHORL_OK)
		lab->synced = lab->written;
	return result;
}

static struct lab_mark lab_draw_mark(struct lab *lab)
{
	const struct lab_batch *view = lab_view(lab, lab->synced);
	uint64_t least = lab->mark.there && lab->mark.point.number == view->view ? lab->mark.point.place : 0;
	uint64_t end = lab_end_of(lab, lab->synced);

	return (struct lab_mark){
		.there = true,
		.point = {view->key, view->view, least < end ? wh_dice_between(&lab->dice, least, end) : least},
		.bytes = wh_dice_one_in(&lab->dice, 12) ? wh_dice_below(&lab->dice, 600000)
							: wh_dice_below(&lab->dice, 3000),
		.salt = wh_dice_roll(&lab->dice)};
}

static enum whorl_result lab_write_state(struct wh_checkpoint *checkpoint, const struct lab_mark *mark,
					 struct wh_error *err)
{
	static unsigned char data[70000];
	enum whorl_result result = WHORL_OK;
	size_t some;

	for (uint64_t at = 0; at < mark->bytes && result == WHORL_OK; at += some) {
		some = mark->bytes - at < sizeof(data) ? (size_t)(mark->bytes - at) : sizeof(data);
		lab_fill(data, mark->salt, at, some);
		result = wh_checkpoint_write(checkpoint, data, some, err);
	}
	return result == WHORL_OK ? wh_checkpoint_sync(checkpoint, err) : result;
}

enum whorl_result lab_check_point(struct lab *lab)
{
	struct lab_mark mark = lab_draw_mark(lab);
	struct wh_log_position position = {.point = mark.point, .count = 1, .of = {{5, mark.salt, 9}}};
	struct wh_checkpoint *checkpoint;
	uint64_t more = wh_dice_below(&lab->dice, 4);
	enum whorl_result result = wh_checkpoint_begin(&checkpoint, lab->log, &position, &lab->err);

	if (result == WHORL_OK)
		result = lab_write_state(checkpoint, &mark, &lab->err);
	lab->next_mark = mark;
	while (result == WHORL_OK && more-- > 0 && lab_view(lab, lab->synced)->view == mark.point.number)
		result = log_lab_write(lab);
	if (result == WHORL_OK && !wh_dice_one_in(&lab->dice, 5)) {
		result = wh_checkpoint_finish(checkpoint, &lab->err);
		if (result == WHORL_OK)
			lab->mark = mark;
	} else {
		wh_checkpoint_drop(checkpoint);
	}
	return result;
}

enum whorl_result lab_work(struct lab *lab, uint32_t steps)
{
	enum whorl_result result = WHORL_OK;

	while (steps-- > 0 && result == WHORL_OK) {
		if (lab->synced > 0 && wh_dice_one_in(&lab->dice, 7))
			result = lab_check_point(lab);
		else
			result = log_lab_write(lab);
		if (result == WHORL_OK)
			result = wh_log_prepare(lab->log, &lab->err);
	}
	return result;
}

/* ---- what must be there ----------------------------------------------------------------------------------------------- */

static void lab_check_view(const struct lab_batch *begin, const struct wh_log_entry *entry)
{
	ck_assert_int_eq(entry->kind, WH_LOG_VIEW);
	ck_assert_uint_eq(entry->view->key, begin->key);
	ck_assert_uint_eq(entry->view->number, begin->view);
	ck_assert(entry->view->begun);
	ck_assert_uint_eq(entry->view->sender_count, begin->sender_count);
	for (uint32_t i = 0; i < begin->sender_count; i++) {
		ck_assert_uint_eq(entry->view->senders[i].id, begin->senders[i].id);
		ck_assert_uint_eq(entry->view->senders[i].incarnation, begin->senders[i].incarnation);
	}
}

static void lab_check_message(const struct lab_batch *batch, uint32_t i, const struct wh_log_entry *entry)
{
	const struct wh_log_message *m = &batch->messages[i], *found = &entry->message;
	const unsigned char *data = found->data;
	unsigned char expected[LAB_MESSAGE_BYTES];

	ck_assert_int_eq(entry->kind, WH_LOG_MESSAGE);
	ck_assert_uint_eq(entry->view->number, batch->view);
	ck_assert(found->place == m->place && found->index == m->index && found->sender == m->sender &&
		  found->slots == m->slots && found->bytes == m->bytes);
	ck_assert_uint_eq((uintptr_t)data % 16, 0);
	lab_fill(expected, batch->salt + m->place, 0, m->bytes);
	ck_assert(memcmp(data, expected, m->bytes) == 0);
}

/* What counts of the view that begins with batch `at`: the cut of the next one, if that is the next. */
static uint64_t lab_cut_of(const struct lab *lab, uint32_t at, uint32_t count)
{
	for (uint32_t i = at + 1; i < count; i++)
		if (lab->batches[i].begin)
			return lab->batches[i].view == lab->batches[at].view + 1 ? lab->batches[i].cut : UINT64_MAX;
	return UINT64_MAX;
}

static void lab_check_content(struct lab *lab, const struct lab_mark *mark, uint32_t count)
{
	struct wh_log_cursor *cursor;
	struct wh_log_entry entry;
	uint64_t cut = 0;

	ck_assert_int_eq(wh_log_cursor_open(&cursor, lab->log, NULL, NULL, &lab->err), WHORL_OK);
	for (uint32_t i = 0; i < count; i++) {
		const struct lab_batch *batch = &lab->batches[i];

		if (batch->begin)
			cut = lab_cut_of(lab, i, count);
		if (mark->there && batch->view < mark->point.number)
			continue;
		if (batch->begin) {
			ck_assert_int_eq(wh_log_cursor_next(cursor, &entry, &lab->err), WHORL_OK);
			lab_check_view(batch, &entry);
		}
		for (uint32_t k = 0; k < batch->count; k++) {
			if (batch->messages[k].place >= cut || (mark->there && batch->view == mark->point.number &&
								batch->messages[k].place < mark->point.place))
				continue;
			ck_assert_int_eq(wh_log_cursor_next(cursor, &entry, &lab->err), WHORL_OK);
			lab_check_message(batch, k, &entry);
		}
	}
	ck_assert_int_eq(wh_log_cursor_next(cursor, &entry, &lab->err), WHORL_OK);
	ck_assert_int_eq(entry.kind, WH_LOG_END);
	wh_log_cursor_close(cursor);
}

static void lab_check_state(struct lab *lab, const struct lab_mark *mark)
{
	static unsigned char data[50000], expected[50000];
	struct wh_checkpoint *checkpoint;
	uint64_t at = 0;
	size_t got;

	if (!mark->there) {
		ck_assert_int_eq(wh_checkpoint_open(&checkpoint, lab->log, &lab->err), WHORL_NOT_FOUND);
		return;
	}
	ck_assert_int_eq(wh_checkpoint_open(&checkpoint, lab->log, &lab->err), WHORL_OK);
	do {
		ck_assert_int_eq(wh_checkpoint_read(checkpoint, data, sizeof(data), &got, &lab->err), WHORL_OK);
		lab_fill(expected, mark->salt, at, got);
		ck_assert(memcmp(data, expected, got) == 0);
		at += got;
	} while (got > 0);
	ck_assert_uint_eq(at, mark->bytes);
	wh_checkpoint_drop(checkpoint);
}

void lab_check(struct lab *lab)
{
	struct wh_log_statistics statistics;
	struct wh_log_position position;
	uint32_t count;

	ck_assert_msg(lab->found.verdict != WH_LOG_ROT, "%s at %ju: %s", lab->found.file, (uintmax_t)lab->found.offset,
		      lab->found.why);
	wh_log_statistics(lab->log, &statistics);
	ck_assert_uint_ge(statistics.batches, lab->synced);
	ck_assert_uint_le(statistics.batches, lab->written);
	count = (uint32_t)statistics.batches;
	if (wh_log_position(lab->log, &position) && lab->next_mark.there && position.of[0].next == lab->next_mark.salt)
		lab->mark = lab->next_mark;
	lab->next_mark.there = false;
	lab_check_state(lab, &lab->mark);
	lab_check_content(lab, &lab->mark, count);
	lab->synced = lab->written = count;
}

void lab_again(struct lab *lab)
{
	log_lab_end(lab);
	wh_sim_disk_crash(lab->disk, &lab->power);
	ck_assert_msg(log_lab_open(lab) == WHORL_OK, "%s", lab->err.text);
	lab_check(lab);
}

void lab_again_whole(struct lab *lab)
{
	lab_again(lab);
	ck_assert_msg(lab->found.verdict == WH_LOG_WHOLE || lab->synced == 0, "%s", lab->found.why);
}
