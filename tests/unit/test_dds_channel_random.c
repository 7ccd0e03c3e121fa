/* test_dds_channel_random.c - channels at random: members that come, die and leave, writers and readers of many policies, samples, coherent sets, words of
 * the lowest rank that are right, late, or somebody else's, and garbage.
 *
 * Every member has a machine, and gets the same. One more looks on as if all endpoints were its own, and what it tells must be what the reference has
 * (dds_reference.h); what a member tells is the part of it that concerns its own endpoints; all states are equal after each step.
 * Newcomers restore the state of another; and any member may be replaced by one that has restored its state, and nobody notices.
 * Labels: random
 */
#include "tests/support/dds_channel_lab.h"
#include "tests/unit/dds_reference.h"
#include "transport/dice.h"

#define ROUNDS 150
#define STEPS_MOST 400
#define NODES 5
#define LIVES 40

static const struct ref_topic topics[REF_TOPICS] = {
	{"last", "durability=transient history=2", true, true, 2, 0, 0, 0, false},
	{"all",
	 "durability=transient durability_service.keep=all durability_service.samples=6 durability_service.instances=3 "
	 "durability_service.samples_per_instance=4 durability_service.cleanup=5ns",
	 true, true, 0, 6, 3, 4, true},
	{"plain", "", false, false, 1, 0, 0, 0, false},
	{"waits", "durability=transient_local history=all durability_service.keep=all durability_service.cleanup=inf",
	 true, true, 0, 0, 0, 0, true},
};

struct member {
	struct wh_dds_channel *machine;
	uint32_t node;
	unsigned life; /* its incarnation */
	uint64_t told; /* a digest of what it told */
	uint64_t expected;
};

struct story {
	struct wh_dice dice;
	struct ref ref;
	struct member members[NODES]; /* by rank */
	unsigned count;
	struct member watch;
	char text[REF_TEXT]; /* what the one that watches told in this step */
	size_t length;
	unsigned lives;
	unsigned numbers;           /* of endpoints: the last one */
	unsigned favourite;         /* the topic of most */
	bool exclusive[REF_TOPICS]; /* most of its endpoints */
	int64_t now_ns;
	unsigned asked,
		samples; /* of the message that is delivered: readers that were asked, and told of what is no history */
	unsigned told[15]; /* how often what was told, and what was said */
	unsigned restored, garbage, words, questions;
};

static uint32_t draw(struct story *story, uint32_t below)
{
	return (uint32_t)(wh_dice_roll(&story->dice) % below);
}

#define must(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("%s", #condition);                                                                \
	} while (0)

/* ---- what is told --------------------------------------------------------------------------------------------------------- */

static uint64_t add_line(uint64_t digest, const char *line)
{
	for (; *line != '\0'; line++)
		digest = (digest ^ (unsigned char)*line) * UINT64_C(0x100000001b3);
	return digest;
}

static bool is_of(const struct wh_dds_endpoint *endpoint, const struct member *member)
{
	return endpoint != NULL && wh_dds_is_member(&endpoint->id, member->node, member->life);
}

static bool concerns(const struct wh_dds_event *event, const struct member *member)
{
	switch (event->what) {
	case WH_DDS_VERDICT:
		return wh_dds_is_member(&event->id, member->node, member->life);
	case WH_DDS_MATCH:
	case WH_DDS_UNMATCH:
	case WH_DDS_INCOMPATIBLE:
		return is_of(event->reader, member) || is_of(event->writer, member);
	case WH_DDS_SAMPLE:
	case WH_DDS_LAST_WRITER:
	case WH_DDS_HISTORY_END:
	case WH_DDS_LIVELINESS:
		return is_of(event->reader, member);
	case WH_DDS_LIVELINESS_LOST:
	case WH_DDS_DEADLINE:
		return is_of(event->writer, member);
	default:
		return true;
	}
}

static void member_tells(void *ctx, const struct wh_dds_event *event)
{
	struct member *member = ctx;
	char line[256];

	lab_line(line, sizeof(line), event);
	must(concerns(event, member));
	member->told = add_line(member->told, line);
}

static void watch_tells(void *ctx, const struct wh_dds_event *event)
{
	struct story *story = ctx;
	char line[256];

	lab_line(line, sizeof(line), event);
	story->told[event->what]++;
	story->samples += event->what == WH_DDS_SAMPLE && !event->sample->history;
	must(story->length + strlen(line) + 2 < REF_TEXT);
	story->length += (size_t)sprintf(story->text + story->length, "%s\n", line);
	for (unsigned i = 0; i < story->count; i++)
		if (concerns(event, &story->members[i]))
			story->members[i].expected = add_line(story->members[i].expected, line);
}

static void check(struct story *story)
{
	struct ref *ref = &story->ref;
	uint64_t digest = lab_digest(story->watch.machine);
	size_t at = 0;

	if (story->length != ref->length || memcmp(story->text, ref->text, ref->length) != 0) {
		while (at < story->length && at < ref->length && story->text[at] == ref->text[at])
			at++;
		while (at > 0 && story->text[at - 1] != '\n')
			at--;
		story->text[story->length] = ref->text[ref->length] = '\0';
		ck_abort_msg("at %u.%u told:\n%.500sexpected:\n%.500s", ref->view, ref->sequence, story->text + at,
			     ref->text + at);
	}
	for (unsigned i = 0; i < story->count; i++) {
		must(story->members[i].told == story->members[i].expected);
		must(lab_digest(story->members[i].machine) == digest);
	}
	story->length = ref->length = 0;
}

/* ---- members -------------------------------------------------------------------------------------------------------------- */

static struct wh_dds_channel *machine_of(struct member *member)
{
	struct wh_dds_channel_config config = {
		.node = member->node, .incarnation = member->life, .tell = member_tells, .ctx = member};
	struct wh_dds_channel *machine = wh_dds_channel_new(&config);

	must(machine != NULL);
	return machine;
}

static void restore(struct story *story, struct member *member, const struct wh_dds_channel *from)
{
	size_t count;
	unsigned char *bytes = lab_state(from, &count);

	member->machine = machine_of(member);
	must(wh_dds_channel_restore(member->machine, bytes, count, story->now_ns) == WHORL_OK);
	must(lab_digest(member->machine) == lab_digest(from));
	free(bytes);
	story->restored++;
}

/* One that has restored takes the place of another. */
static void replace(struct story *story)
{
	struct member *member = &story->members[draw(story, story->count)];
	struct wh_dds_channel *was = member->machine;

	restore(story, member, was);
	wh_dds_channel_free(was);
}

static bool is_there(const struct story *story, uint32_t node)
{
	for (unsigned i = 0; i < story->count; i++)
		if (story->members[i].node == node)
			return true;
	return false;
}

static void give_view(struct story *story)
{
	struct wh_dds_member now[NODES] = {{0}};

	for (unsigned i = 0; i < story->count; i++)
		now[i] = (struct wh_dds_member){.node = story->members[i].node, .incarnation = story->members[i].life};
	must(wh_dds_channel_view(story->watch.machine, story->ref.view, now, story->count) == WHORL_OK);
	for (unsigned i = 0; i < story->count; i++)
		if (story->members[i].machine != NULL)
			must(wh_dds_channel_view(story->members[i].machine, story->ref.view, now, story->count) ==
			     WHORL_OK);
	story->ref.lowest_node = now[0].node;
	story->ref.lowest_life = (unsigned)now[0].incarnation;
}

/* Members go, one stays at least; others come, and are given the state in the new view. */
static void change_view(struct story *story)
{
	struct ref *ref = &story->ref;
	unsigned left = 0;

	ref->view++;
	ref->sequence = 0;
	for (unsigned i = 0, count = story->count; i < count; i++) {
		struct member *member = &story->members[i];

		if (draw(story, 5) == 0 && (left > 0 || i + 1 < count)) {
			ref_bury(ref, member->life);
			wh_dds_channel_free(member->machine);
			continue;
		}
		story->members[left] = *member;
		story->members[left].machine->config.ctx = &story->members[left];
		left++;
	}
	story->count = left;
	for (uint32_t node = 0; node < NODES && story->lives + 1 < LIVES; node++)
		if (!is_there(story, node) && draw(story, 3) == 0)
			story->members[story->count++] = (struct member){.node = node, .life = ++story->lives};
	give_view(story);
	for (unsigned i = 0; i < story->count; i++)
		if (story->members[i].machine == NULL) {
			restore(story, &story->members[i], story->members[draw(story, left)].machine);
			story->members[i].expected = story->members[i].told; /* before, it was told nothing */
		}
}

/* ---- messages ------------------------------------------------------------------------------------------------------------- */

static bool has_room(void *ctx, struct wh_dds_endpoint *reader, struct wh_dds_endpoint *writer,
		     const struct wh_dds_sample *sample)
{
	struct story *story = ctx;

	(void)sample;
	must(wh_dds_matches(writer, reader));
	story->asked++;
	return true;
}

/* Those that are told were asked before; and where a message is one sample of a writer that competes with none no others were. */
static void ask(struct story *story, const struct wh_dds_from *from, const struct lab_message *message)
{
	struct wh_dds_said said;
	int w = -1;

	story->asked = story->samples = 0;
	must(wh_dds_channel_ask(story->watch.machine, from, message->bytes, message->count, has_room, story));
	must(wh_dds_channel_apply(story->watch.machine, from, message->bytes, message->count, story->now_ns) ==
	     WHORL_OK);
	must(story->asked >= story->samples);
	if (wh_dds_take_sample(&said, message->bytes, message->count))
		w = ref_find(&story->ref, true, from->node, (unsigned)from->incarnation, said.number);
	if (w >= 0 && !story->ref.endpoints[w].exclusive)
		must(story->asked == story->samples);
	story->questions += story->asked > 1;
}

static void deliver(struct story *story, uint32_t node, uint64_t life, const struct lab_message *message)
{
	struct wh_dds_from from = {node, life, {story->ref.view, story->ref.sequence}};

	story->now_ns += draw(story, 3);
	ask(story, &from, message);
	for (unsigned i = 0; i < story->count; i++)
		must(wh_dds_channel_apply(story->members[i].machine, &from, message->bytes, message->count,
					  story->now_ns + i) == WHORL_OK);
}

static const struct member *any_member(struct story *story)
{
	return &story->members[draw(story, story->count)];
}

/* One that lives, mostly; -1: none is there. */
static int any_endpoint(struct story *story, bool writes, const struct member *of)
{
	for (int tries = 0; tries < 8 && story->ref.count > 0; tries++) {
		int e = (int)draw(story, (uint32_t)story->ref.count);
		const struct ref_endpoint *it = &story->ref.endpoints[e];

		if (it->writes == writes && it->live && (of == NULL || it->life == of->life))
			return e;
	}
	return -1;
}

static const char *const durabilities[] = {"volatile", "transient_local", "transient"};
static const char *const scopes[] = {"instance", "topic", "group"};
static const char *const livelinesses[] = {"automatic", "manual_by_participant", "manual_by_topic"};
static const struct {
	const char *text;
	unsigned bits;
} partitions[] = {{"partition=", 1}, {"partition=a", 2}, {"partition=b", 4}, {"partition=a,b", 6}, {"partition=*", 8}};

static void draw_policies(struct story *story, struct ref_endpoint *it, char *text)
{
	unsigned partition = draw(story, 8) < 5 ? 0 : draw(story, 5);

	it->durability = topics[it->topic].stored ? (int)draw(story, 3) : 0;
	if (it->durability > 0 && !it->writes && draw(story, 3) > 0)
		it->durability = 1;
	it->exclusive = story->exclusive[it->topic] != (draw(story, 12) == 0);
	it->by_source = draw(story, 3) < (it->writes ? 2 : 1);
	it->partitions = partitions[partition].bits;
	it->coherent = it->writes ? draw(story, 2) : draw(story, 10) == 0;
	it->scope = it->writes ? (int)draw(story, 3) : (int)draw(story, 8) / 6;
	it->liveliness = it->writes ? (int)draw(story, 3) : 0;
	it->autodispose = draw(story, 2);
	it->strength = (int)draw(story, 3);
	text += sprintf(text,
			"durability=%s ownership=%s destination_order=%s presentation=%s presentation.coherent=%s %s",
			durabilities[it->durability], it->exclusive ? "exclusive" : "shared",
			it->by_source ? "source" : "reception", scopes[it->scope], it->coherent ? "on" : "off",
			partitions[partition].text);
	if (it->writes)
		sprintf(text,
			" liveliness=%s liveliness.lease=6ns writer_data_lifecycle=%s ownership_strength=%d deadline=7ns",
			livelinesses[it->liveliness], it->autodispose ? "on" : "off", it->strength);
}

static void announce(struct story *story)
{
	struct ref *ref = &story->ref;
	const struct member *member = any_member(story);
	struct ref_endpoint *it = &ref->endpoints[ref->count];
	struct lab_message message;
	char text[512];
	int e = ref->count;

	if (ref->count == REF_ENDPOINTS)
		return;
	*it = (struct ref_endpoint){.writes = draw(story, 2),
				    .live = true,
				    .node = member->node,
				    .life = member->life,
				    .number = ++story->numbers,
				    .group = 1 + draw(story, 2),
				    .topic = draw(story, 3) > 0 ? story->favourite : draw(story, REF_TOPICS)};
	draw_policies(story, it, text);
	lab_announce(&message, &(struct lab_new){.kind = it->writes ? WH_DDS_WRITER : WH_DDS_READER,
						 .number = it->number,
						 .group = it->group,
						 .topic = 10 + it->topic,
						 .name = topics[it->topic].name,
						 .topic_policies = topics[it->topic].policies,
						 .policies = text,
						 .keyless = !topics[it->topic].keyed});
	deliver(story, member->node, member->life, &message);
	ref->count++;
	ref_tell(ref, "verdict %u.%u\n", it->node, it->number);
	for (int other = 0; other < e; other++)
		if (ref_are_pair(ref, e, other))
			ref_try(ref, e, other);
	if (!it->writes) {
		unsigned count = ref_replay(ref, e, -1);

		ref_tell(ref, "end r%u.%u", it->node, it->number);
		ref_tell(ref, count > 0 ? " (%u)\n" : "\n", count);
	}
}

static void change(struct story *story)
{
	struct ref *ref = &story->ref;
	int e = any_endpoint(story, draw(story, 2), NULL);
	unsigned partition = draw(story, 5), before;
	struct lab_message message;
	struct ref_endpoint *it;
	char text[128];

	if (e < 0)
		return;
	it = &ref->endpoints[e];
	before = it->partitions;
	it->partitions = partitions[partition].bits;
	it->strength = (int)draw(story, 3);
	it->autodispose = draw(story, 2);
	sprintf(text, "ownership_strength=%d writer_data_lifecycle=%s %s", it->strength, it->autodispose ? "on" : "off",
		partitions[partition].text);
	lab_change(&message, it->writes ? WH_DDS_WRITER : WH_DDS_READER, it->number, text);
	deliver(story, it->node, it->life, &message);
	ref_tell(ref, "changed %u.%u\n", it->node, it->number);
	for (int key = it->writes ? ref_first_claim(ref, e, 0) : -1; key >= 0;
	     key = ref_first_claim(ref, e, ref->claims[e][key].serial))
		ref_owner(ref, it->topic, (unsigned)key);
	for (int other = 0; other < ref->count; other++) {
		int w = it->writes ? e : other, r = it->writes ? other : e;
		bool fits, told;

		if (!ref_are_pair(ref, e, other))
			continue;
		told = ref_meet(before, ref->endpoints[other].partitions) &&
		       ref_fails(&ref->endpoints[w], &ref->endpoints[r]) != NULL; /* nothing of that can change */
		fits = ref_meet(ref->endpoints[w].partitions, ref->endpoints[r].partitions) &&
		       ref_fails(&ref->endpoints[w], &ref->endpoints[r]) == NULL;
		if (ref->match[w][r] && !fits)
			ref_unmatch(ref, w, r, false);
		else if (!ref->match[w][r] && !told && ref_try(ref, e, other))
			ref_replay(ref, r, w);
	}
}

static void end(struct story *story)
{
	int e = any_endpoint(story, draw(story, 2), NULL);
	struct wh_dds_message said = {.kind = WH_DDS_SAY_END};
	struct lab_message message;
	struct ref_endpoint *it;

	if (e < 0)
		return;
	it = &story->ref.endpoints[e];
	said.number = it->number;
	said.what = it->writes ? WH_DDS_WRITER : WH_DDS_READER;
	lab_say(&message, &said);
	deliver(story, it->node, it->life, &message);
	ref_end(&story->ref, e, false);
}

static void sample(struct story *story)
{
	static const uint8_t changes[] = {0, 1, 1, 1, 1, 1, 2, 3, 4, 6};
	int e = any_endpoint(story, true, NULL);
	struct ref_item said = {.change = changes[draw(story, 10)], .source_ns = (int)draw(story, 20)};
	struct lab_message message;
	bool keyed;

	if (e < 0)
		return;
	keyed = topics[story->ref.endpoints[e].topic].keyed;
	said.key = keyed ? draw(story, REF_KEYS) : 0;
	if (draw(story, 4) > 0)
		sprintf(said.text, "%u", draw(story, 1000));
	lab_sample(&message, story->ref.endpoints[e].number, (uint8_t)said.change, said.source_ns,
		   keyed ? (int)said.key : -1, said.text);
	deliver(story, story->ref.endpoints[e].node, story->ref.endpoints[e].life, &message);
	ref_sample(&story->ref, e, &said);
}

static void bracket(struct story *story, bool begins)
{
	const struct member *member = any_member(story);
	struct wh_dds_message said = {.kind = begins ? WH_DDS_SAY_BEGIN : WH_DDS_SAY_SET, .number = 1 + draw(story, 2)};
	struct lab_message message;

	lab_say(&message, &said);
	deliver(story, member->node, member->life, &message);
	if (begins)
		ref_set_begin(&story->ref, member->node, member->life, said.number);
	else
		ref_set_end(&story->ref, member->node, member->life, said.number);
}

static void say_alive(struct story *story)
{
	const struct member *member = any_member(story);
	int e = draw(story, 2) ? any_endpoint(story, true, member) : -1;
	struct wh_dds_message said = {.kind = WH_DDS_SAY_ASSERT, .number = e >= 0 ? story->ref.endpoints[e].number : 0};
	struct lab_message message;

	lab_say(&message, &said);
	deliver(story, member->node, member->life, &message);
	ref_heard(&story->ref, member->node, member->life, e);
}

/* ---- words of the lowest rank --------------------------------------------------------------------------------------------- */

static void ref_word(struct ref *ref, const struct wh_dds_message *word)
{
	unsigned key = word->key[0];
	int e = ref_find(ref, true, word->writer.node, (unsigned)word->writer.incarnation, word->writer.number);
	struct ref_endpoint *it = e >= 0 ? &ref->endpoints[e] : NULL;

	if (word->kind == WH_DDS_SAY_LOST && it != NULL && it->liveliness > 0 && !it->dead &&
	    word->seen == (it->liveliness == 1 ? ref->heard[it->life] : it->activity)) {
		it->dead = true;
		for (int k; (k = ref_first_claim(ref, e, 0)) >= 0;)
			ref_drop_claim(ref, e, (unsigned)k);
		ref_liveliness(ref, e);
	} else if (word->kind == WH_DDS_SAY_LATE && it != NULL && it->exclusive && ref->claims[e][key].has &&
		   !ref->claims[e][key].late && ref->claims[e][key].number == word->seen) {
		ref->claims[e][key].late = true;
		ref_tell(ref, "deadline w%u.%u k%u\n", it->node, it->number, key);
		ref_owner(ref, it->topic, key);
	} else if (word->kind == WH_DDS_SAY_CLEAN) {
		unsigned topic = (unsigned)word->topic - 10;
		struct ref_instance *is = &ref->instances[topic][key];
		int first;

		for (int w = 0; w < ref->count; w++)
			if (ref->endpoints[w].topic == topic && ref->claims[w][key].has)
				return;
		if (is->born == 0 || is->state != 1 || is->changes != word->seen)
			return;
		while ((first = ref_first_kept(ref, topic, key)) >= 0)
			ref_remove_kept(ref, first);
		ref_settle(ref, topic, key);
	}
}

/* What the lowest rank has to say is delivered now, or when others came first; or another says it. */
static void speak(struct story *story)
{
	struct lab_message message = {.count = 0};
	struct wh_dds_message word;
	int64_t next_ns;
	struct wh_dds_channel *lowest = story->members[0].machine;
	const struct member *from = &story->members[0];

	for (unsigned i = 1; i < story->count; i++)
		must(wh_dds_channel_due(story->members[i].machine, story->now_ns, message.bytes, &next_ns) == 0);
	story->now_ns += 2;
	message.count = wh_dds_channel_due(lowest, story->now_ns, message.bytes, &next_ns);
	must(next_ns > story->now_ns || message.count > 0);
	if (message.count == 0) { /* also if all is looked through */
		lowest->look_ns = INT64_MIN;
		must(wh_dds_channel_due(lowest, story->now_ns, message.bytes, &next_ns) == 0);
	}
	if (message.count == 0)
		return;
	must(wh_dds_take_message(&word, message.bytes, message.count) == WHORL_OK);
	story->words++;
	if (draw(story, 4) == 0) {
		say_alive(story);
		check(story);
		story->ref.sequence++;
	}
	if (draw(story, 4) == 0) {
		sample(story);
		check(story);
		story->ref.sequence++;
	}
	if (draw(story, 5) == 0)
		from = any_member(story);
	deliver(story, from->node, from->life, &message);
	if (from->life == story->ref.lowest_life)
		ref_word(&story->ref, &word);
}

/* ---- what means nothing --------------------------------------------------------------------------------------------------- */

static void babble(struct story *story)
{
	const struct member *member = any_member(story);
	struct lab_message message = {.count = draw(story, 40)};
	int e = any_endpoint(story, true, NULL);

	story->garbage++;
	for (size_t i = 0; i < message.count; i++)
		message.bytes[i] = (unsigned char)draw(story, 256);
	if (message.count > 0 && draw(story, 2) == 0) { /* of no kind */
		message.bytes[0] = (unsigned char)(WH_DDS_SAY_KINDS + draw(story, 100));
	} else if (e >= 0 && draw(story, 2) == 0) { /* of a life that is none, or with a key where there is none */
		bool keyed = topics[story->ref.endpoints[e].topic].keyed;

		lab_sample(&message, story->ref.endpoints[e].number, 1, 0, keyed ? -1 : 0, "x");
	} else {
		struct wh_dds_message said = {.kind = WH_DDS_SAY_END, .number = 1, .what = WH_DDS_WRITER};

		lab_say(&message, &said);
		message.count -= draw(story, 2);
		if (message.count == 6) {
			deliver(story, member->node, 999, &message);
			return;
		}
		message.count = message.count == 5 ? draw(story, 6) : message.count;
	}
	if (e >= 0 && message.bytes[0] == WH_DDS_SAY_SAMPLE)
		deliver(story, story->ref.endpoints[e].node, story->ref.endpoints[e].life, &message);
	else
		deliver(story, member->node, member->life, &message);
}

/* ---- stories -------------------------------------------------------------------------------------------------------------- */

static void act(struct story *story)
{
	uint32_t what = draw(story, 100);

	if (what < 2)
		change_view(story);
	else if (what < 13)
		announce(story);
	else if (what < 18)
		change(story);
	else if (what < 22)
		end(story);
	else if (what < 29)
		bracket(story, true);
	else if (what < 36)
		bracket(story, false);
	else if (what < 40)
		say_alive(story);
	else if (what < 48)
		speak(story);
	else if (what < 52)
		babble(story);
	else
		sample(story);
}

static void begin(struct story *story, uint64_t seed)
{
	struct wh_dds_channel_config config = {.all = true, .tell = watch_tells, .ctx = story};

	memset(story, 0, sizeof(*story));
	story->dice = (struct wh_dice){seed};
	story->ref.topics = topics;
	story->ref.view = draw(story, 3);
	story->favourite = draw(story, REF_TOPICS);
	for (unsigned i = 0; i < REF_TOPICS; i++)
		story->exclusive[i] = draw(story, 2);
	story->watch.machine = wh_dds_channel_new(&config);
	story->count = 1 + draw(story, NODES - 1);
	for (unsigned i = 0; i < story->count; i++) {
		story->members[i] = (struct member){.node = i, .life = ++story->lives};
		story->members[i].machine = machine_of(&story->members[i]);
	}
	give_view(story);
}

static unsigned all_told[15], all_restored, all_garbage, all_words, all_questions;

static void run(struct story *story, uint64_t seed)
{
	uint32_t steps = 50;

	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	begin(story, seed);
	steps += draw(story, STEPS_MOST);
	for (uint32_t i = 0; i < steps; i++) {
		act(story);
		check(story);
		story->ref.sequence += 1 + draw(story, 3);
		if (draw(story, 4) == 0)
			replace(story);
	}
	for (unsigned i = 0; i < 15; i++)
		all_told[i] += story->told[i];
	all_restored += story->restored;
	all_garbage += story->garbage;
	all_words += story->words;
	all_questions += story->questions;
	for (unsigned i = 0; i < story->count; i++)
		wh_dds_channel_free(story->members[i].machine);
	wh_dds_channel_free(story->watch.machine);
}

TEST_CASE("dds_channel_random", .timeout_s = 60);

TEST(channels_at_random)
{
	struct story *story = malloc(sizeof(*story));
	uint64_t seed = test_seed(1);

	for (uint64_t round = 0; round < ROUNDS; round++) {
		run(story, seed + round);
	}
	free(story);
	for (unsigned i = 0; i < 15; i++) { /* all of it has happened */
		printf("%u ", all_told[i]);
		ck_assert_uint_gt(all_told[i], 20);
	}
	ck_assert_uint_gt(all_restored, 100);
	ck_assert_uint_gt(all_garbage, 100);
	ck_assert_uint_gt(all_words, 100);
	ck_assert_uint_gt(all_questions, 100);
}

TEST_SUITE("dds_channel_random")
