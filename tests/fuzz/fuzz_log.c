/* fuzz_log.c - any bytes as the files of a log: reading ends, within its memory; what is accepted is the same when it is read again, and can be
 * written to; and what was changed in a log is never accepted as something else: one change is rot, or costs the last batch at most, and nothing
 * where that is a cap.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_log
 *     build/fuzz/tests/fuzz/fuzz_log -max_total_time=600 -max_len=2048 CORPUS_DIRECTORY
 *
 * The input begins with what it is: 'r' a segment as it is; 'f' fields of batches, which get the sums that they need; 'c' a checkpoint's
 * header, in the same way; 'm' batches and caps that are written, then bytes that are changed.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/crc32c.h"
#include "persistence/format_int.h"
#include "sim/disk.h"

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

#define SEGMENT "s.0.0000000000000000.log"
#define CHECKPOINT "s.0.0000000000000001.checkpoint"
#define IDENTITY 99
#define BATCHES 24

struct input {
	const uint8_t *at;
	size_t left;
};

struct world {
	struct wh_sim_disk *disk;
	struct wh_directory *directory;
	unsigned char *segment; /* that is put together */
	size_t bytes;
};

/* What a log has, in a number; and in how many batches. */
struct content {
	enum wh_log_verdict verdict;
	uint64_t batches;
	uint32_t sum;
};

static uint8_t take(struct input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++;
}

static uint64_t take_many(struct input *input, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | take(input);
	return value;
}

static struct wh_log_config config_of(bool read_only)
{
	return (struct wh_log_config){.owner = {.group = 1, .group_name = "g", .subgroup = "s"},
				      .fresh = IDENTITY,
				      .segment_bytes = 1,
				      .batch_bytes = 256,
				      .batch_messages = 8,
				      .read_only = read_only};
}

/* ---- what is read -------------------------------------------------------------------------------------------------------- */

/* The sum of what the cursor gives, after so many batches. */
static uint32_t read_all(struct wh_log *log)
{
	struct wh_log_cursor *cursor;
	struct wh_log_entry entry;
	uint32_t sum = 0;

	REQUIRE(wh_log_cursor_open(&cursor, log, NULL, NULL, NULL) == WHORL_OK);
	do {
		REQUIRE(wh_log_cursor_next(cursor, &entry, NULL) == WHORL_OK);
		if (entry.kind == WH_LOG_VIEW) {
			sum = wh_crc32c(sum, &entry.view->number, sizeof(entry.view->number));
		} else if (entry.kind == WH_LOG_MESSAGE) {
			REQUIRE(entry.message.sender < entry.view->sender_count);
			REQUIRE(entry.message.place < entry.view->end);
			sum = wh_crc32c(sum, &entry.message.place, sizeof(entry.message.place));
			sum = wh_crc32c(sum, entry.message.data, entry.message.bytes);
		}
	} while (entry.kind != WH_LOG_END);
	wh_log_cursor_close(cursor);
	return sum;
}

static void read_state(struct wh_log *log)
{
	struct wh_checkpoint *checkpoint;
	unsigned char data[100];
	size_t got;

	if (wh_checkpoint_open(&checkpoint, log, NULL) != WHORL_OK)
		return;
	do
		REQUIRE(wh_checkpoint_read(checkpoint, data, sizeof(data), &got, NULL) == WHORL_OK);
	while (got > 0);
	wh_checkpoint_drop(checkpoint);
}

/* One more view. */
static void go_on(struct wh_log *log)
{
	struct wh_log_point end = wh_log_end(log);
	struct wh_log_begin begin = {.key = 1, .number = end.number + 1};
	struct wh_log_statistics before, after;

	wh_log_statistics(log, &before);
	if (end.number == UINT64_MAX || before.batches >= UINT64_MAX - 2)
		return;
	if (!wh_log_is_capped(log)) {
		REQUIRE(wh_log_cap(log, end.place, NULL) == WHORL_OK && wh_log_is_capped(log));
		before.batches++;
	}
	REQUIRE(wh_log_begin_view(log, &begin, NULL) == WHORL_OK);
	REQUIRE(wh_log_sync(log, NULL) == WHORL_OK);
	REQUIRE(!wh_log_is_capped(log));
	wh_log_statistics(log, &after);
	REQUIRE(after.batches == before.batches + 1 && wh_log_end(log).number == end.number + 1);
}

static struct content look(struct world *world, bool read_only, bool goes_on)
{
	struct wh_log_config config = config_of(read_only);
	struct content content = {WH_LOG_ROT, 0, 0};
	struct wh_log_statistics statistics;
	struct wh_log_found found;
	struct wh_log *log;

	if (wh_log_open(&log, world->directory, &config, &found, NULL) != WHORL_OK)
		return content; /* of another owner */
	content.verdict = found.verdict;
	wh_log_statistics(log, &statistics);
	content.batches = statistics.batches;
	if (found.verdict != WH_LOG_ROT) {
		content.sum = read_all(log);
		read_state(log);
		if (goes_on)
			go_on(log);
	}
	wh_log_close(log);
	return content;
}

/* As it is found, mended, and gone on with. */
static void judge(struct world *world)
{
	struct content found = look(world, true, false), mended = look(world, false, false), again;

	REQUIRE(found.verdict == mended.verdict);
	if (found.verdict == WH_LOG_ROT)
		return;
	REQUIRE(found.batches == mended.batches && found.sum == mended.sum);
	again = look(world, false, true);
	REQUIRE(again.verdict == WH_LOG_WHOLE || again.batches == 0);
	REQUIRE(again.batches == mended.batches && again.sum == mended.sum);
	again = look(world, false, false);
	REQUIRE(again.verdict == WH_LOG_WHOLE);
}

/* ---- what is there ------------------------------------------------------------------------------------------------------- */

static void put_file(struct world *world, const char *name, const void *bytes, size_t count)
{
	struct iovec part = {(void *)bytes, count};
	struct wh_file *file;

	REQUIRE(world->directory->ops->open(world->directory, name, true, &file, NULL) == WHORL_OK);
	REQUIRE(file->ops->write(file, 0, &part, 1, NULL) == WHORL_OK);
	file->ops->close(file);
}

static void begin_segment(struct world *world)
{
	struct wh_log_config config = config_of(false);
	struct wh_log_head head = {.owner = config.owner, .log = IDENTITY, .bytes = 8 * WH_LOG_BLOCK_BYTES};

	wh_log_head_encode(world->segment, WH_LOG_SEGMENT_MAGIC, &head);
	world->bytes = WH_LOG_BLOCK_BYTES;
}

static void end_segment(struct world *world)
{
	put_file(world, SEGMENT, world->segment, world->bytes + 4 * (size_t)WH_LOG_BLOCK_BYTES);
}

static void try_raw(struct world *world, struct input *input)
{
	begin_segment(world);
	memcpy(world->segment + world->bytes, input->at, input->left);
	world->bytes += (input->left + WH_LOG_BLOCK_BYTES - 1) / WH_LOG_BLOCK_BYTES * WH_LOG_BLOCK_BYTES;
	end_segment(world);
	judge(world);
}

/* A batch with fields and a body from the input, as it would follow. Few bits of each make most of them fit. */
static void put_batch(struct world *world, struct input *input, uint64_t number, uint32_t *chain)
{
	unsigned char *at = world->segment + world->bytes, *body = at + WH_LOG_HEAD_BYTES;
	uint8_t shape = take(input);
	struct wh_log_batch_head head = {.log = IDENTITY,
					 .number = number + (shape == 255),
					 .chain = *chain ^ (shape == 254),
					 .kind = 1 + (shape & 1),
					 .key = shape >> 1 & 1,
					 .view = take(input) & 15,
					 .count = take(input) & 7};

	head.first = head.kind == WH_LOG_KIND_MESSAGES ? take_many(input, shape & 4 ? 8 : 1) : 0;
	head.next = head.kind == WH_LOG_KIND_MESSAGES ? head.first + take(input) : 0;
	head.frontier = head.kind == WH_LOG_KIND_MESSAGES ? take_many(input, shape & 8 ? 8 : 1) : 0;
	head.body_bytes = head.kind == WH_LOG_KIND_BEGIN ? WH_LOG_BEGIN_BYTES + head.count * WH_LOG_SENDER_BYTES
							 : (uint32_t)take(input) * (shape & 16 ? 1 : 16);
	for (uint32_t i = 0; head.kind == WH_LOG_KIND_MESSAGES && i < head.count; i++) {
		struct wh_log_record record = {
			.place = head.first + take(input), .sender = take(input) & 3, .bytes = take(input)};

		wh_log_entry_encode(body + (size_t)i * WH_LOG_ENTRY_BYTES, &record);
	}
	for (uint32_t i = 0; i < head.body_bytes && (shape & 32) != 0; i++)
		body[i] ^= take(input);
	head.body_sum = wh_crc32c(0, body, head.body_bytes);
	wh_log_batch_encode(at, &head);
	if (head.body_bytes + WH_LOG_HEAD_BYTES < WH_LOG_BLOCK_BYTES)
		memset(body + head.body_bytes, 0, WH_LOG_BLOCK_BYTES - WH_LOG_HEAD_BYTES - head.body_bytes);
	world->bytes += wh_log_round(WH_LOG_HEAD_BYTES + (uint64_t)head.body_bytes, WH_LOG_BLOCK_BYTES);
	*chain = head.sum;
}

static void put_batches(struct world *world, struct input *input)
{
	uint32_t chain = 0;

	begin_segment(world);
	for (uint64_t i = 0; i < BATCHES && input->left > 0; i++)
		put_batch(world, input, i, &chain);
	end_segment(world);
}

static void try_fields(struct world *world, struct input *input)
{
	put_batches(world, input);
	judge(world);
}

/* A checkpoint in front of them: its numbers from the input, or its header byte by byte with the right sum. */
static void try_checkpoint(struct world *world, struct input *input)
{
	static unsigned char file[WH_LOG_CHECKPOINT_HEAD_MAX + WH_LOG_PIECE_HEAD_BYTES];
	static struct wh_log_mark mark;
	struct wh_log_config config = config_of(false);
	struct wh_log_head head = {.owner = config.owner, .log = IDENTITY, .number = 1};
	struct wh_log_piece piece = {0};
	uint8_t shape = take(input);
	size_t bytes;

	mark = (struct wh_log_mark){.position.point = {take(input) & 1, take(input) & 15, take(input)},
				    .batch = take(input) & 15,
				    .chain = shape & 1 ? (uint32_t)take_many(input, 4) : 0,
				    .written = take(input) & 15,
				    .begun = shape & 2,
				    .end = take(input),
				    .position.count = take(input) & 3,
				    .sender_count = take(input) & 3};
	bytes = wh_log_mark_encode(file, &head, &mark);
	for (size_t i = 0; i < 80 && (shape & 4) != 0; i++)
		file[WH_LOG_BLOCK_BYTES + i] ^= take(input);
	wh_log_put32(file + bytes - 4, wh_crc32c(0, file + WH_LOG_BLOCK_BYTES, bytes - WH_LOG_BLOCK_BYTES - 4));
	wh_log_piece_encode(file + bytes, &piece, IDENTITY);
	put_file(world, CHECKPOINT, file, bytes + WH_LOG_PIECE_HEAD_BYTES);
	put_batches(world, input);
	judge(world);
}

/* ---- what is written and changed ------------------------------------------------------------------------------------------- */

/* Batches by the functions. Returns how many; sums[k]: of what is there after k. *capped: the last is a cap. */
static uint32_t write_log(struct world *world, struct input *input, uint32_t sums[BATCHES + 1], bool *capped)
{
	static const struct wh_log_sender senders[2] = {{1, 1}, {2, 2}};
	static char data[40] = "what a message says, and a little more";
	struct wh_log_config config = config_of(false);
	struct wh_log_begin begin = {.key = 1, .sender_count = 2, .senders = senders};
	struct wh_log_found found;
	struct wh_log *log;
	uint32_t count = 0, steps = 1 + take(input) % BATCHES;
	uint64_t place = 0;

	REQUIRE(wh_log_open(&log, world->directory, &config, &found, NULL) == WHORL_OK);
	sums[0] = read_all(log);
	while (count < steps) {
		uint8_t shape = take(input), bytes = take(input);
		struct iovec part = {data, 0};
		struct wh_log_record record = {place, 0, shape & 1, 1, bytes % sizeof(data), 1, &part};
		struct wh_log_batch batch = {place, place + 1 + (shape >> 6), 0, &record, 1};

		part.iov_len = record.bytes;
		begin.cut = place;
		if (count == 0 || (shape & 14) == 0) {
			REQUIRE(wh_log_begin_view(log, &begin, NULL) == WHORL_OK);
			begin.number++;
			place = 0;
		} else if ((shape & 14) == 2 && !wh_log_is_capped(log)) {
			REQUIRE(wh_log_cap(log, bytes, NULL) == WHORL_OK);
		} else {
			REQUIRE(wh_log_append(log, &batch, NULL) == WHORL_OK);
			place = batch.next;
		}
		REQUIRE(wh_log_sync(log, NULL) == WHORL_OK);
		sums[++count] = read_all(log);
		*capped = wh_log_is_capped(log);
	}
	wh_log_close(log);
	return count;
}

static void try_changes(struct world *world, struct input *input)
{
	bool capped = false;
	uint32_t sums[BATCHES + 1], count = write_log(world, input, sums, &capped), changes = 0;
	struct content content;
	unsigned char block[512];
	struct wh_file *file;
	size_t got;

	REQUIRE(world->directory->ops->open(world->directory, SEGMENT, false, &file, NULL) == WHORL_OK);
	for (; input->left > 0; changes++) {
		struct iovec part = {block, sizeof(block)};
		uint64_t at = (uint64_t)take(input) % 16 * (sizeof(block) * 8) + take(input) % 2 * sizeof(block);

		REQUIRE(file->ops->read(file, at, block, sizeof(block), &got, NULL) == WHORL_OK);
		block[take_many(input, 2) % sizeof(block)] ^= take(input);
		part.iov_len = got;
		REQUIRE(file->ops->write(file, at, &part, 1, NULL) == WHORL_OK);
	}
	file->ops->close(file);
	content = look(world, true, false);
	if (content.verdict != WH_LOG_ROT)
		REQUIRE((changes > 1 || content.batches + 1 >= count) && content.batches <= count &&
			content.sum == sums[content.batches] && (changes > 1 || !capped || content.sum == sums[count]));
	judge(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wh_sim_disk_options options = {0};
	struct input input = {data, size};
	struct wh_sim_disk_user *user;
	const struct wh_disk *table;
	struct world world;

	REQUIRE(wh_sim_disk_new(&world.disk, &options, NULL) == WHORL_OK && wh_sim_disk_mount(world.disk, "d"));
	user = wh_sim_disk_begin(world.disk, 1, NULL);
	REQUIRE(user != NULL);
	table = wh_sim_disk_table(user);
	REQUIRE(table->directory(table->ctx, "d", false, &world.directory, NULL) == WHORL_OK);
	world.segment = calloc(1, size + (2 * BATCHES + 8) * (size_t)WH_LOG_BLOCK_BYTES);
	REQUIRE(world.segment != NULL);
	switch (take(&input)) {
	case 'r':
		try_raw(&world, &input);
		break;
	case 'f':
		try_fields(&world, &input);
		break;
	case 'c':
		try_checkpoint(&world, &input);
		break;
	case 'm':
		try_changes(&world, &input);
		break;
	}
	free(world.segment);
	world.directory->ops->close(world.directory);
	wh_sim_disk_free(world.disk);
	return 0;
}
