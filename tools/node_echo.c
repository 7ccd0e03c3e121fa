/* node_echo.c - lines that are typed at any member are printed by all, in one order.
 *
 * The last of them are the state: a member that comes later is shown what was said before.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/node.h"

#define HISTORY_MAX 100
#define SAID_BYTES 1000 /* of a line that is kept */
#define STATE_MAGIC UINT32_C(0x6f686365)
#define ENTRY_HEAD 16
#define STATE_MAX (8 + HISTORY_MAX * (ENTRY_HEAD + SAID_BYTES))

struct said {
	uint64_t view;
	uint32_t sender, bytes;
	char text[SAID_BYTES];
};

struct echo {
	pthread_mutex_t lock;            /* deliveries and the restoring are on threads of the library */
	uint64_t count;                  /* [lock] lines ever said, as far as known; the last HISTORY_MAX are kept */
	struct said said[HISTORY_MAX];   /* [lock] by number modulo HISTORY_MAX */
	char input[65536];               /* [main] typed and not sent */
	size_t typed;                    /* [main] */
	unsigned char coming[STATE_MAX]; /* [the library's thread that restores] */
	size_t taken;
};

/* ---- deliveries ------------------------------------------------------------------------------------------------------------ */

/* For a terminal, which is to obey no stranger, or for JSON, which is UTF-8. */
static void clean_text(const struct said *said, bool json, char text[SAID_BYTES + 1])
{
	json_t *utf8;

	for (uint32_t i = 0; i < said->bytes; i++)
		text[i] = (unsigned char)said->text[i] < ' ' || said->text[i] == 127 ? '?' : said->text[i];
	text[said->bytes] = '\0';
	utf8 = json ? json_string(text) : NULL;
	for (uint32_t i = 0; json && utf8 == NULL && i < said->bytes; i++)
		text[i] = (unsigned char)text[i] > 127 ? '?' : text[i];
	json_decref(utf8);
}

static void tell_message(struct wh_member_part *part, const struct said *said, bool before)
{
	struct wh_member *member = part->member;
	char text[SAID_BYTES + 1];

	clean_text(said, member->options->json, text);
	wh_member_tell(member,
		       WH_MEMBER_JSON(member, "{s:s, s:i, s:s, s:i, s:I, s:b, s:s}", "event", "echo", "node",
				      (int)member->id, "subgroup", part->name, "sender", (int)said->sender, "view",
				      (json_int_t)said->view, "before", (int)before, "text", text),
		       "%sview %" PRIu64 ", node %u: %s", before ? "before, in " : "", said->view, said->sender, text);
}

static void deliver_message(const struct whorl_message *message, void *ctx)
{
	struct wh_member_part *part = ctx;
	struct echo *echo = part->own;
	struct said *said;

	pthread_mutex_lock(&echo->lock);
	said = &echo->said[echo->count++ % HISTORY_MAX];
	said->view = message->view;
	said->sender = message->sender;
	said->bytes = message->bytes < SAID_BYTES ? (uint32_t)message->bytes : SAID_BYTES;
	memcpy(said->text, message->data, said->bytes);
	pthread_mutex_unlock(&echo->lock);
	tell_message(part, said, false); /* nothing writes to it but the next delivery */
}

/* ---- the state: how many lines, then each ------------------------------------------------------------------------ */

struct snapshot {
	size_t at, bytes;
	unsigned char data[STATE_MAX];
};

static void put_number(unsigned char *at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_number(const unsigned char *at, size_t bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

static void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	struct wh_member_part *part = ctx;
	struct echo *echo = part->own;
	struct snapshot *snapshot = malloc(sizeof *snapshot);
	uint64_t kept;

	(void)position;
	if (snapshot == NULL)
		return NULL;
	snapshot->at = 0;
	pthread_mutex_lock(&echo->lock);
	kept = echo->count < HISTORY_MAX ? echo->count : HISTORY_MAX;
	put_number(snapshot->data, STATE_MAGIC, 4);
	put_number(snapshot->data + 4, kept, 4);
	snapshot->bytes = 8;
	for (uint64_t n = echo->count - kept; n < echo->count; n++) {
		const struct said *said = &echo->said[n % HISTORY_MAX];
		unsigned char *at = snapshot->data + snapshot->bytes;

		put_number(at, said->view, 8);
		put_number(at + 8, said->sender, 4);
		put_number(at + 12, said->bytes, 4);
		memcpy(at + ENTRY_HEAD, said->text, said->bytes);
		snapshot->bytes += ENTRY_HEAD + said->bytes;
	}
	pthread_mutex_unlock(&echo->lock);
	return snapshot;
}

static ptrdiff_t read_snapshot(void *handle, void *bytes, size_t count, void *ctx)
{
	struct snapshot *snapshot = handle;

	(void)ctx;
	if (count > snapshot->bytes - snapshot->at)
		count = snapshot->bytes - snapshot->at;
	memcpy(bytes, snapshot->data + snapshot->at, count);
	snapshot->at += count;
	return (ptrdiff_t)count;
}

/* All of it has come. False: that is no such state. */
static bool take_state(struct echo *echo)
{
	const unsigned char *at = echo->coming, *end = at + echo->taken;
	uint64_t count;

	if (end - at < 8 || get_number(at, 4) != STATE_MAGIC)
		return false;
	count = get_number(at + 4, 4);
	at += 8;
	if (count > HISTORY_MAX)
		return false;
	for (uint64_t n = 0; n < count; n++) {
		struct said *said = &echo->said[n];

		if (end - at < ENTRY_HEAD)
			return false;
		said->view = get_number(at, 8);
		said->sender = (uint32_t)get_number(at + 8, 4);
		said->bytes = (uint32_t)get_number(at + 12, 4);
		at += ENTRY_HEAD;
		if (said->bytes > SAID_BYTES || (size_t)(end - at) < said->bytes)
			return false;
		memcpy(said->text, at, said->bytes);
		at += said->bytes;
	}
	echo->count = count;
	return at == end;
}

static bool restore_echo(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct wh_member_part *part = ctx;
	struct echo *echo = part->own;
	bool good;

	switch (step) {
	case WHORL_RESTORE_BEGIN:
		echo->taken = 0;
		return true;
	case WHORL_RESTORE_BYTES:
		if (count > sizeof echo->coming - echo->taken)
			return false;
		memcpy(echo->coming + echo->taken, bytes, count);
		echo->taken += count;
		return true;
	case WHORL_RESTORE_END:
		pthread_mutex_lock(&echo->lock);
		good = take_state(echo);
		pthread_mutex_unlock(&echo->lock);
		for (uint64_t n = 0; good && n < echo->count; n++)
			tell_message(part, &echo->said[n], true);
		return good;
	}
	return false;
}

/* ---- sending ----------------------------------------------------------------------------------------------------------------- */

/* How much of what is typed goes into the next message; 0: no line is whole yet. A line that is too long is cut in pieces. */
static size_t line_length(const struct wh_member_part *part)
{
	const struct echo *echo = part->own;
	const char *end = memchr(echo->input, '\n', echo->typed);
	size_t most = part->message_bytes < SAID_BYTES ? part->message_bytes : SAID_BYTES;
	size_t length = end != NULL ? (size_t)(end - echo->input) : echo->typed;

	return length > most ? most : end != NULL ? length : 0;
}

static bool has_next_message(struct wh_member_part *part, size_t *bytes)
{
	struct echo *echo = part->own;

	while (echo->typed > 0 && echo->input[0] == '\n') /* an empty line, or what is left of one that was sent */
		memmove(echo->input, echo->input + 1, --echo->typed);
	*bytes = line_length(part);
	return *bytes > 0;
}

static void fill_message(struct wh_member_part *part, void *data, size_t bytes, uint64_t number)
{
	struct echo *echo = part->own;

	(void)number;
	memcpy(data, echo->input, bytes);
	echo->typed -= bytes;
	memmove(echo->input, echo->input + bytes, echo->typed);
}

static bool has_room(const struct wh_member_part *part)
{
	const struct echo *echo = part->own;

	return sizeof echo->input - echo->typed > WH_INPUT_BYTES;
}

static void on_bytes(struct wh_member_part *part, const char *text, size_t bytes, bool whole)
{
	struct echo *echo = part->own;

	memcpy(echo->input + echo->typed, text, bytes);
	echo->typed += bytes;
	if (whole)
		echo->input[echo->typed++] = '\n';
}

/* ---- beginning and end ------------------------------------------------------------------------------------------------------- */

static enum whorl_result open_echo(struct wh_member_part *part)
{
	struct echo *echo = calloc(1, sizeof *echo);

	if (echo == NULL)
		return WHORL_MEMORY;
	pthread_mutex_init(&echo->lock, NULL);
	part->own = echo;
	return whorl_on_message(part->subgroup, deliver_message, part);
}

static void close_echo(struct wh_member_part *part)
{
	struct echo *echo = part->own;

	if (echo == NULL)
		return;
	pthread_mutex_destroy(&echo->lock);
	free(echo);
}

static const struct whorl_state echo_state = {.snapshot = take_snapshot, .read = read_snapshot, .restore = restore_echo};

const struct wh_member_run wh_member_echo = {.name = "echo",
					     .rate = 0,
					     .only_first = true,
					     .state = &echo_state,
					     .open = open_echo,
					     .close = close_echo,
					     .next = has_next_message,
					     .fill = fill_message,
					     .on_bytes = on_bytes,
					     .has_room = has_room};
