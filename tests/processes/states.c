/* states.c - the states of a member's subgroups: what they are given and taken as.
 *
 * The bytes are the imprint of all messages so far, which says whether any is missing, twice or in another place, and then the
 * body, the same for all, as long as the parent wants it.
 */
#include "tests/processes/member_int.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/processes/payload.h"

struct snapshot {
	size_t at, head;
	unsigned char imprint[]; /* as much of it as is used */
};

static void log_state(const struct stream *stream, enum record_kind kind)
{
	const struct imprint *imprint = stream->imprint;

	member_log(stream->member, &(struct record){.kind = (uint8_t)kind,
						    .group = (uint8_t)stream->group,
						    .view = stream->member->state->view,
						    .state = imprint_digest(imprint),
						    .count = imprint->count,
						    .chain = imprint->chain});
}

void states_note(struct stream *stream)
{
	if (atomic_load_explicit(&stream->restored, memory_order_acquire)) {
		stream->restored = false;
		stream->behind = true;
		memcpy(stream->imprint, stream->coming, imprint_bytes(stream->coming));
		log_state(stream, RECORD_RESTORED);
	}
	if (stream->behind && stream->member->state->stage >= STAGE_READY) {
		stream->behind = false;
		log_state(stream, RECORD_CAUGHT_UP);
	}
}

static void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	struct stream *stream = ctx;
	struct snapshot *snapshot;
	size_t head;

	(void)position;
	states_note(stream);
	head = imprint_bytes(stream->imprint);
	snapshot = malloc(sizeof(*snapshot) + head);
	if (snapshot == NULL)
		return NULL;
	snapshot->at = 0;
	snapshot->head = head;
	memcpy(snapshot->imprint, stream->imprint, head);
	log_state(stream, RECORD_GAVE);
	return snapshot;
}

static void pause_a_while(const struct board *board)
{
	uint32_t us = board->pause_us;

	if (us > 0)
		nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L}, NULL);
}

static ptrdiff_t read_snapshot(void *handle, void *bytes, size_t count, void *ctx)
{
	const struct stream *stream = ctx;
	const struct member *me = stream->member;
	struct snapshot *snapshot = handle;
	size_t body = snapshot->at > snapshot->head ? snapshot->at - snapshot->head : 0;

	pause_a_while(me->board);
	if (snapshot->at < snapshot->head) {
		if (count > snapshot->head - snapshot->at)
			count = snapshot->head - snapshot->at;
		memcpy(bytes, snapshot->imprint + snapshot->at, count);
	} else {
		if (count > stream->body - body)
			count = stream->body - body;
		if (count > 0)
			memcpy(bytes, me->body + body, count);
	}
	snapshot->at += count;
	me->state->given += count;
	return (ptrdiff_t)count;
}

static void release_snapshot(void *handle, void *ctx)
{
	(void)ctx;
	free(handle);
}

/* ---- restoring ------------------------------------------------------------------------------------------------------ */

/* How long the imprint is, as far as is known by now. */
static size_t head_of(const struct stream *stream)
{
	if (stream->came < offsetof(struct imprint, sent))
		return offsetof(struct imprint, sent);
	return imprint_bytes(stream->coming);
}

static bool is_imprint(const struct stream *stream)
{
	const struct imprint *imprint = stream->coming;

	return stream->came < offsetof(struct imprint, sent) ||
	       (imprint->lives <= LIVES_MAX && imprint->group == stream->group && imprint->check == IMPRINT_CHECK);
}

/* Is the body as it should be? It is copied, as a program would. */
static bool take_body(struct stream *stream, const unsigned char *bytes, size_t count)
{
	size_t at = stream->came - head_of(stream);

	if (count > stream->body - at)
		return false;
	memcpy(stream->kept + at, bytes, count);
	return memcmp(stream->kept + at, stream->member->body + at, count) == 0;
}

static bool take_bytes(struct stream *stream, const unsigned char *bytes, size_t count)
{
	while (count > 0 && stream->came < head_of(stream)) {
		size_t part = head_of(stream) - stream->came;

		if (part > count)
			part = count;
		memcpy((unsigned char *)stream->coming + stream->came, bytes, part);
		stream->came += part;
		bytes += part;
		count -= part;
		if (!is_imprint(stream))
			return false;
	}
	if (count > 0 && !take_body(stream, bytes, count))
		return false;
	stream->came += count;
	return true;
}

/* Nothing is delivered yet. */
static void count_restored(const struct stream *stream)
{
	struct state *state = stream->member->state;

	for (uint32_t life = 0; life < stream->coming->lives; life++)
		state->delivered[stream->group][life] = stream->coming->sent[life].count;
	state->in_state[stream->group] = stream->coming->count;
}

static bool restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct stream *stream = ctx;
	struct member *me = stream->member;

	if (step == WHORL_RESTORE_BEGIN) {
		memset(stream->coming, 0, sizeof(*stream->coming));
		stream->came = 0;
	} else if (step == WHORL_RESTORE_BYTES) {
		if (stream->body > 0 && me->state->takes_ns == 0)
			me->state->takes_ns = now_ns();
		if (!take_bytes(stream, bytes, count)) {
			member_complain(me->state, "%s: the state is not what was given, near byte %zu",
					groups[stream->group].name, stream->came);
			return false;
		}
		me->state->taken += count;
		if (stream->body > 0 && stream->came == head_of(stream) + stream->body)
			me->state->took_ns = now_ns();
	} else if (stream->came != head_of(stream) + stream->body) {
		member_complain(me->state, "%s: the state has %zu bytes, not %zu", groups[stream->group].name,
				stream->came, head_of(stream) + stream->body);
		return false;
	} else {
		count_restored(stream);
		atomic_store_explicit(&stream->restored, true, memory_order_release);
	}
	return true;
}

/* ---- the beginning and the end -------------------------------------------------------------------------------------- */

static void *map(size_t bytes, int protection, int flags, int fd)
{
	void *at = mmap(NULL, bytes, protection, flags, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool begin(struct stream *stream)
{
	const struct board *board = stream->member->board;
	const struct whorl_state functions = {.size = sizeof(functions),
					      .snapshot = take_snapshot,
					      .read = read_snapshot,
					      .release = release_snapshot,
					      .restore = restore,
					      .ctx = stream};

	stream->imprint = calloc(1, sizeof(*stream->imprint));
	stream->coming = calloc(1, sizeof(*stream->coming));
	if (stream->imprint == NULL || stream->coming == NULL)
		return false;
	stream->imprint->group = stream->group;
	stream->imprint->check = IMPRINT_CHECK;
	if (board->body_groups >> stream->group & 1) {
		stream->body = board->body_bytes;
		stream->kept =
			map(stream->body, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
		if (stream->kept == NULL)
			return false;
	}
	return stream->subgroup == NULL || whorl_on_state(stream->subgroup, &functions) == WHORL_OK;
}

bool states_begin(struct member *me)
{
	bool good = true;

	if (me->board->body_groups != 0) {
		me->body = map(me->board->body_bytes, PROT_READ, MAP_SHARED, me->board->body_fd);
		good = me->body != NULL;
	}
	for (uint32_t g = 0; g < GROUPS; g++)
		good = good && begin(&me->streams[g]);
	return good;
}

void states_end(struct member *me)
{
	for (uint32_t g = 0; g < GROUPS; g++) {
		if (me->streams[g].imprint != NULL)
			states_note(&me->streams[g]);
		free(me->streams[g].imprint);
		free(me->streams[g].coming);
	}
}
