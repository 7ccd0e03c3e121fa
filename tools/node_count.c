/* node_count.c - a replicated counter, and a load of messages that feed it.
 *
 * Each message adds a number. The state of a subgroup is how many messages there were, their sum, and a digest of all of them in
 * their order: members that show the same count show the same digest, whenever they came. --state adds bytes to it, which take
 * their time to be transferred.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "tools/node.h"

#define STATE_MAGIC UINT64_C(0x31746e756f636877)
#define HEAD_WORDS 5
#define PATTERN_BYTES 8191        /* a prime: pieces of any usual length begin anywhere in it */
#define LINE_NS (WH_NS_PER_S / 4) /* at least, between two lines that nobody asked for */

struct sum {
	uint64_t count, value, digest;
};

struct counter {
	pthread_mutex_t lock; /* deliveries and the restoring are on threads of the library; main looks */
	struct sum sum;       /* [lock] */
	wh_word every;        /* [main writes] it is told at multiples of this; 0: not */
	uint64_t told_ns;     /* [deliveries] */
	uint64_t seen;        /* [main] `count` a second ago */
	uint64_t random;      /* [main] */

	unsigned char pattern[PATTERN_BYTES]; /* [const] what --state is made of, again and again */

	struct restoring {             /* [the library's thread that restores] */
		uint64_t taken, total; /* bytes */
		unsigned char head[HEAD_WORDS * 8];
		struct sum sum;
	} restoring;
};

static uint64_t mix_bits(uint64_t word)
{
	word = (word ^ word >> 33) * UINT64_C(0xff51afd7ed558ccd);
	return word ^ word >> 29;
}

/* ---- deliveries ------------------------------------------------------------------------------------------------------------ */

static void tell_sum(struct wh_member_part *part, const struct sum *sum)
{
	struct wh_member *member = part->member;
	char digest[24];

	snprintf(digest, sizeof digest, "%016" PRIx64, sum->digest);
	wh_member_tell(member,
		       WH_MEMBER_JSON(member, "{s:s, s:i, s:s, s:I, s:I, s:s}", "event", "counter", "node",
				      (int)member->id, "subgroup", part->name, "count", (json_int_t)sum->count, "value",
				      (json_int_t)sum->value, "digest", digest),
		       "%s: %" PRIu64 " messages, value %" PRIu64 ", digest %s", part->name, sum->count, sum->value,
		       digest);
}

static void add_message(struct wh_member_part *part, struct counter *counter, const struct whorl_message *message)
{
	struct sum *sum = &counter->sum;
	uint64_t amount = 0, every = wh_load_relaxed(&counter->every), this, now;

	memcpy(&amount, message->data, message->bytes < 8 ? message->bytes : 8);
	this = mix_bits(amount ^ mix_bits(message->index ^ mix_bits(message->sender + 1)));
	sum->count++;
	sum->value += amount;
	/* Without an order among senders the digest has none either. */
	sum->digest = part->ordered ? mix_bits(sum->digest ^ this) : sum->digest + this;
	if (every == 0 || sum->count % every != 0)
		return;
	now = wh_member_now();
	if (part->member->options->every == 0 && now - counter->told_ns < LINE_NS)
		return;
	counter->told_ns = now;
	tell_sum(part, sum);
}

static void deliver_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct wh_member_part *part = ctx;
	struct counter *counter = part->own;

	pthread_mutex_lock(&counter->lock);
	for (size_t i = 0; i < count; i++)
		add_message(part, counter, &messages[i]);
	pthread_mutex_unlock(&counter->lock);
}

/* ---- the state: a head of words, then a pattern ---------------------------------------------------- */

struct snapshot {
	unsigned char head[HEAD_WORDS * 8];
	uint64_t at, total;
};

/* What stands at `at`, and how much of it follows, at most `count`. */
static const unsigned char *pattern_at(const struct counter *counter, uint64_t at, size_t *count)
{
	size_t from = (size_t)(at % PATTERN_BYTES);

	if (*count > PATTERN_BYTES - from)
		*count = PATTERN_BYTES - from;
	return counter->pattern + from;
}

static void put_word(unsigned char *at, uint64_t word)
{
	for (int i = 0; i < 8; i++)
		at[i] = (unsigned char)(word >> 8 * i);
}

static uint64_t word_at(const unsigned char *at)
{
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
		word |= (uint64_t)at[i] << 8 * i;
	return word;
}

static void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	struct wh_member_part *part = ctx;
	struct counter *counter = part->own;
	struct snapshot *snapshot = malloc(sizeof *snapshot);

	(void)position;
	if (snapshot == NULL)
		return NULL;
	*snapshot = (struct snapshot){.total = sizeof snapshot->head + (uint64_t)part->member->options->state};
	pthread_mutex_lock(&counter->lock);
	put_word(snapshot->head, STATE_MAGIC);
	put_word(snapshot->head + 8, counter->sum.count);
	put_word(snapshot->head + 16, counter->sum.value);
	put_word(snapshot->head + 24, counter->sum.digest);
	put_word(snapshot->head + 32, snapshot->total);
	pthread_mutex_unlock(&counter->lock);
	return snapshot;
}

static ptrdiff_t read_snapshot(void *handle, void *bytes, size_t count, void *ctx)
{
	const struct wh_member_part *part = ctx;
	struct snapshot *snapshot = handle;
	unsigned char *out = bytes;

	if (count > snapshot->total - snapshot->at)
		count = (size_t)(snapshot->total - snapshot->at);
	for (size_t done = 0, some; done < count; done += some, snapshot->at += some) {
		const unsigned char *from = snapshot->head + snapshot->at;

		some = count - done;
		if (snapshot->at >= sizeof snapshot->head)
			from = pattern_at(part->own, snapshot->at, &some);
		else if (some > sizeof snapshot->head - snapshot->at)
			some = (size_t)(sizeof snapshot->head - snapshot->at);
		memcpy(out + done, from, some);
	}
	return (ptrdiff_t)count;
}

/* The head is whole. */
static bool take_head(struct restoring *restoring)
{
	const unsigned char *head = restoring->head;

	restoring->sum = (struct sum){word_at(head + 8), word_at(head + 16), word_at(head + 24)};
	restoring->total = word_at(head + 32);
	return word_at(head) == STATE_MAGIC;
}

static bool take_bytes(const struct counter *counter, struct restoring *restoring, const unsigned char *bytes,
		       size_t count)
{
	while (count > 0 && restoring->taken < sizeof restoring->head) {
		restoring->head[restoring->taken++] = *bytes++;
		count--;
		if (restoring->taken == sizeof restoring->head && !take_head(restoring))
			return false;
	}
	for (size_t some; count > 0; bytes += some, count -= some, restoring->taken += some) {
		const unsigned char *right;

		some = count;
		right = pattern_at(counter, restoring->taken, &some);
		if (memcmp(bytes, right, some) != 0)
			return false;
	}
	return true;
}

static bool restore_counter(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct wh_member_part *part = ctx;
	struct counter *counter = part->own;
	struct restoring *restoring = &counter->restoring;

	switch (step) {
	case WHORL_RESTORE_BEGIN:
		*restoring = (struct restoring){.taken = 0};
		return true;
	case WHORL_RESTORE_BYTES:
		return take_bytes(counter, restoring, bytes, count);
	case WHORL_RESTORE_END:
		if (restoring->taken < sizeof restoring->head || restoring->taken != restoring->total)
			return false;
		pthread_mutex_lock(&counter->lock);
		counter->sum = restoring->sum;
		pthread_mutex_unlock(&counter->lock);
		tell_sum(part, &restoring->sum);
		return true;
	}
	return false;
}

/* ---- sending ----------------------------------------------------------------------------------------------------------------- */

static bool has_next_message(struct wh_member_part *part, size_t *bytes)
{
	const struct wh_member_options *options = part->member->options;
	int64_t wanted = options->bytes >= 0 ? options->bytes : options->run->bytes;

	*bytes = wanted < part->message_bytes ? (size_t)wanted : part->message_bytes;
	return true;
}

/* A number from 1 to 9, and the message's own number for all the rest. */
static void fill_message(struct wh_member_part *part, void *data, size_t bytes, uint64_t number)
{
	struct counter *counter = part->own;
	uint64_t amount;

	counter->random = mix_bits(counter->random + UINT64_C(0x9e3779b97f4a7c15));
	amount = 1 + counter->random % 9;
	memset(data, (int)(number & 0xff), bytes);
	memcpy(data, &amount, bytes < 8 ? bytes : 8);
}

/* ---- once a second ----------------------------------------------------------------------------------------------- */

/* The least power of ten that so many messages a second reach once a second. */
static uint64_t round_step(double rate)
{
	uint64_t step = 1;

	while ((double)step < rate)
		step *= 10;
	return step;
}

static void look_at_counter(struct wh_member_part *part, uint64_t now_ns)
{
	struct counter *counter = part->own;
	uint64_t count;

	(void)now_ns;
	if (part->member->options->every > 0 || part->member->options->quiet)
		return;
	pthread_mutex_lock(&counter->lock);
	count = counter->sum.count;
	pthread_mutex_unlock(&counter->lock);
	wh_store_relaxed(&counter->every, count > counter->seen ? round_step((double)(count - counter->seen)) : 0);
	counter->seen = count;
}

static void tell_rates(struct wh_member_part *part, uint64_t now_ns)
{
	struct wh_member *member = part->member;
	struct whorl_subgroup_stats stats = {.size = sizeof stats};
	double seconds = (double)(now_ns - part->told_ns) / 1e9, delivered, bytes, sent;
	char figures[3][32];

	if (member->options->quiet || whorl_subgroup_statistics(part->subgroup, &stats) != WHORL_OK)
		return;
	delivered = (double)(stats.delivered - part->told.delivered) / seconds;
	bytes = (double)(stats.delivered_bytes - part->told.delivered_bytes) / seconds;
	sent = (double)(stats.sent - part->told.sent) / seconds;
	part->told = stats;
	if (part->told_ns != 0)
		wh_member_tell(member,
			       WH_MEMBER_JSON(member, "{s:s, s:i, s:s, s:f, s:f, s:f, s:I}", "event", "load", "node",
					      (int)member->id, "subgroup", part->name, "delivered_per_s", delivered,
					      "bytes_per_s", bytes, "sent_per_s", sent, "delivered",
					      (json_int_t)stats.delivered),
			       "%s: delivers %s/s, %s/s; sends %s/s", part->name,
			       wh_figure_text(delivered, figures[0], sizeof figures[0]),
			       wh_size_text((uint64_t)bytes, figures[1], sizeof figures[1]),
			       wh_figure_text(sent, figures[2], sizeof figures[2]));
	part->told_ns = now_ns;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------------------- */

static enum whorl_result open_counter(struct wh_member_part *part)
{
	struct counter *counter = calloc(1, sizeof *counter);

	if (counter == NULL)
		return WHORL_MEMORY;
	pthread_mutex_init(&counter->lock, NULL);
	for (uint64_t i = 0; i < PATTERN_BYTES; i++)
		counter->pattern[i] = (unsigned char)mix_bits(i);
	counter->random = wh_member_now() ^ part->member->id;
	wh_store_relaxed(&counter->every, (uint64_t)part->member->options->every);
	part->own = counter;
	return whorl_on_batch(part->subgroup, deliver_batch, part);
}

static void close_counter(struct wh_member_part *part)
{
	struct counter *counter = part->own;

	if (counter == NULL)
		return;
	pthread_mutex_destroy(&counter->lock);
	free(counter);
}

static const struct whorl_state counter_state = {
	.snapshot = take_snapshot, .read = read_snapshot, .restore = restore_counter};

const struct wh_member_run wh_member_counter = {.name = "counter",
						.rate = 10,
						.bytes = 8,
						.state = &counter_state,
						.open = open_counter,
						.close = close_counter,
						.next = has_next_message,
						.fill = fill_message,
						.second = look_at_counter};

const struct wh_member_run wh_member_load = {.name = "load",
					     .rate = 0,
					     .bytes = 1024,
					     .state = &counter_state,
					     .open = open_counter,
					     .close = close_counter,
					     .next = has_next_message,
					     .fill = fill_message,
					     .second = tell_rates};
