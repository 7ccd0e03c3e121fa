#include "tests/support/dds_channel_lab.h"

struct wh_dds_policies lab_policies(enum wh_dds_kind kind, const char *text)
{
	struct wh_dds_policies policies;
	struct wh_error err = {.code = WHORL_OK};

	wh_dds_policies_init(&policies, kind);
	if (wh_dds_policies_parse(&policies, text, &err) != WHORL_DDS_RETCODE_OK)
		ck_abort_msg("%s: %s", text, err.text);
	return policies;
}

static struct wh_dds_terms lab_terms(const char *text, bool keyed)
{
	struct wh_dds_policies policies = lab_policies(WH_DDS_TOPIC, text);
	struct wh_dds_terms terms = wh_dds_terms_of(&policies, LAB_HASH, keyed);

	wh_dds_policies_free(&policies);
	return terms;
}

void lab_say(struct lab_message *out, const struct wh_dds_message *message)
{
	struct wh_dds_out bytes = {.bytes = NULL};

	wh_dds_put_message(&bytes, message);
	ck_assert(!bytes.failed && bytes.count <= sizeof(out->bytes));
	memcpy(out->bytes, bytes.bytes, bytes.count);
	out->count = bytes.count;
	wh_dds_out_free(&bytes);
}

void lab_announce(struct lab_message *out, const struct lab_new *new)
{
	struct wh_dds_message message = {.kind = WH_DDS_SAY_NEW,
					 .number = new->number,
					 .what = new->kind,
					 .group = new->group,
					 .topic = new->topic,
					 .name = (char *)new->name,
					 .terms = lab_terms(new->topic_policies, !new->keyless),
					 .policies = lab_policies(new->kind, new->policies)};

	lab_say(out, &message);
	wh_dds_policies_free(&message.policies);
}

void lab_change(struct lab_message *out, enum wh_dds_kind kind, uint32_t number, const char *policies)
{
	struct wh_dds_message message = {
		.kind = WH_DDS_SAY_CHANGE, .number = number, .what = kind, .policies = lab_policies(kind, policies)};

	lab_say(out, &message);
	wh_dds_policies_free(&message.policies);
}

void dds_channel_lab_key(unsigned char key[WH_DDS_KEY_BYTES], uint32_t number)
{
	memset(key, 0, WH_DDS_KEY_BYTES);
	memcpy(key, &number, sizeof(number));
}

void lab_sample(struct lab_message *out, uint32_t writer, uint8_t change, int64_t source_ns, int key, const char *text)
{
	unsigned char bytes[WH_DDS_KEY_BYTES];

	if (key >= 0)
		dds_channel_lab_key(bytes, (uint32_t)key);
	out->count = wh_dds_put_sample(out->bytes, writer, change, source_ns, key >= 0 ? bytes : NULL);
	memcpy(out->bytes + out->count, text, strlen(text));
	out->count += strlen(text);
}

void lab_line(char *line, size_t bytes, const struct wh_dds_event *event)
{
	static const char *const names[] = {"verdict",  "match", "unmatch", "incompatible", "sample",
					    "last",     "end",   "owner",   "liveliness",   "lost",
					    "deadline", "set",   "set-end", "set-lost",     "changed"};
	const struct wh_dds_sample *s = event->sample;
	int at = snprintf(line, bytes, "%s", names[event->what]);

	if (event->reader != NULL)
		at += snprintf(line + at, bytes - (size_t)at, " r%u.%u", event->reader->id.node,
			       event->reader->id.number);
	if (event->writer != NULL)
		at += snprintf(line + at, bytes - (size_t)at, " w%u.%u", event->writer->id.node,
			       event->writer->id.number);
	if (event->id.incarnation != 0)
		at += snprintf(line + at, bytes - (size_t)at, " %u.%u", event->id.node, event->id.number);
	if (event->result != 0)
		at += snprintf(line + at, bytes - (size_t)at, " =%d", event->result);
	if (event->policy != WHORL_DDS_POLICY_INVALID)
		at += snprintf(line + at, bytes - (size_t)at, " %s", wh_dds_policy_name(event->policy));
	if (s != NULL)
		at += snprintf(line + at, bytes - (size_t)at, " k%u", s->key[0]);
	if (s != NULL && event->what == WH_DDS_SAMPLE)
		at += snprintf(line + at, bytes - (size_t)at, " #%u c%u @%u.%u t%d '%.*s'", (unsigned)s->number,
			       s->change, (unsigned)s->place.view, (unsigned)s->place.sequence, (int)s->source_ns,
			       (int)s->count, (const char *)s->bytes);
	if (event->what == WH_DDS_LAST_WRITER)
		at += snprintf(line + at, bytes - (size_t)at, " @%u.%u", (unsigned)s->place.view,
			       (unsigned)s->place.sequence);
	if (event->what == WH_DDS_SAMPLE || event->what == WH_DDS_LAST_WRITER)
		at += snprintf(line + at, bytes - (size_t)at, " %c%u.%u%s", "adn"[s->state], s -> disposed_generations,
			       s -> no_writers_generations, s -> history ? " h" : "");
	if (event->what == WH_DDS_LIVELINESS)
		at += snprintf(line + at, bytes - (size_t)at, " %s", event->alive ? "alive" : "dead");
	if (event->count != 0)
		at += snprintf(line + at, bytes - (size_t)at, " (%u)", (unsigned)event->count);
	ck_assert_int_lt(at, (int)bytes);
}

unsigned char *lab_state(const struct wh_dds_channel *channel, size_t *count)
{
	struct wh_dds_out out = {.bytes = NULL};
	struct wh_dds_cursor cursor = {0, 0, 0};
	unsigned char *bytes;

	wh_dds_channel_save(channel, &out);
	ck_assert(!out.failed);
	*count = wh_dds_out_bytes(&out);
	bytes = malloc(*count);
	if (wh_dds_out_read(&out, &cursor, bytes, *count) != *count)
		ck_abort_msg("a state is not as long as it says");
	wh_dds_out_free(&out);
	return bytes;
}

uint64_t lab_digest(const struct wh_dds_channel *channel)
{
	bool failed;
	uint64_t digest = wh_dds_channel_digest(channel, &failed);

	if (failed)
		ck_abort_msg("no memory for a digest");
	return digest;
}
