/* dds_reference.h - what a channel's machine is to tell, worked out in another way: tables that are looked through from end to end, nothing that is
 * linked, indexed or kept up to date, and a text of all that is told. It takes actions, not bytes, and knows of policies what the random test makes of
 * them.
 */
#ifndef WH_TESTS_DDS_REFERENCE_H
#define WH_TESTS_DDS_REFERENCE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REF_ENDPOINTS 256 /* of a run, with those that have ended */
#define REF_KEYS 4
#define REF_TOPICS 4
#define REF_KEPT 4096
#define REF_ITEMS 512
#define REF_TEXT (1 << 20)

struct ref_topic { /* what is fixed of it */
	const char *name, *policies;
	bool keyed, stored;
	int depth;                    /* 0: all */
	int samples, instances, each; /* 0: no limit */
	bool waits;                   /* to be cleaned up */
};

struct ref_endpoint {
	bool writes, live, here; /* here: announced and accepted, at some time */
	unsigned node, life, number, group, topic;
	unsigned partitions; /* bits: "", a, b, a pattern that meets all names */
	int durability, scope, liveliness;
	bool exclusive, by_source, coherent, autodispose, dead;
	int strength;
	unsigned samples, activity;
};

struct ref_claim {
	bool has, late;
	unsigned number, serial;
};

struct ref_instance {
	int state; /* 0 alive, 1 disposed, 2 no writers */
	unsigned disposed, no_writers, changes;
	unsigned left_view, left_sequence;
	bool timed;
	int newest_ns, newest;
	int owner;     /* + 1 */
	unsigned born; /* 0: it is not there */
};

struct ref_kept {
	unsigned topic, key;
	int writer;
	unsigned view, sequence, number, change;
	int source_ns;
	char text[8];
	int state;
	unsigned disposed, no_writers;
	bool behind;
};

struct ref_item {
	int writer;
	unsigned number, change, key;
	int source_ns;
	char text[8];
};

struct ref_set {
	bool open, broken;
	unsigned node, life, group, began, dropped, count;
	struct ref_item items[REF_ITEMS];
};

struct ref {
	const struct ref_topic *topics;
	struct ref_endpoint endpoints[REF_ENDPOINTS]; /* in the order in which they were announced */
	int count;
	bool match[REF_ENDPOINTS][REF_ENDPOINTS];
	struct ref_claim claims[REF_ENDPOINTS][REF_KEYS];
	struct ref_instance instances[REF_TOPICS][REF_KEYS];
	struct ref_kept kept[REF_KEPT];
	int kept_count;
	struct ref_set sets[16];
	unsigned serials, begun;
	unsigned view, sequence; /* the place */
	unsigned heard[64];      /* of a life: how often its participant was */
	unsigned lowest_node, lowest_life;
	char text[REF_TEXT]; /* what was told since it was emptied */
	size_t length;
};

static inline void ref_tell(struct ref *ref, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	ref->length += (size_t)vsnprintf(ref->text + ref->length, REF_TEXT - ref->length, format, arguments);
	va_end(arguments);
	if (ref->length >= REF_TEXT)
		abort();
}

/* ---- which goes with which -------------------------------------------------------------------------------------------------- */

static inline bool ref_meet(unsigned one, unsigned other)
{
	unsigned names = 7, pattern = 8;

	return (one & other & names) != 0 || ((one & pattern) != 0 && (other & names) != 0) ||
	       ((other & pattern) != 0 && (one & names) != 0);
}

/* The policy that fails; NULL: none. */
static inline const char *ref_fails(const struct ref_endpoint *w, const struct ref_endpoint *r)
{
	if (w->durability < r->durability)
		return "durability";
	if (w->scope < r->scope || w->coherent < r->coherent)
		return "presentation";
	if (w->exclusive != r->exclusive)
		return "ownership";
	if (w->by_source < r->by_source)
		return "destination_order";
	return NULL;
}

static inline int ref_compare(const struct ref_endpoint *a, const struct ref_endpoint *b)
{
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->life != b->life)
		return a->life < b->life ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

enum ref_eyes { REF_ALL, REF_READER, REF_PARTITIONS };

/* The exclusive writer that has the best right to an instance; -1: none. In the eyes of a reader: of those it matches, and `self`. */
static inline int ref_best(const struct ref *ref, unsigned topic, unsigned key, enum ref_eyes eyes, int reader,
			   int self)
{
	int best = -1;

	for (int w = 0; w < ref->count; w++) {
		const struct ref_endpoint *it = &ref->endpoints[w], *was = best >= 0 ? &ref->endpoints[best] : NULL;

		if (!it->writes || it->topic != topic || !it->exclusive || !ref->claims[w][key].has ||
		    ref->claims[w][key].late)
			continue;
		if (eyes == REF_READER && w != self && !ref->match[w][reader])
			continue;
		if (eyes == REF_PARTITIONS && w != self && !ref_meet(it->partitions, ref->endpoints[self].partitions))
			continue;
		if (was == NULL || it->strength > was->strength ||
		    (it->strength == was->strength && ref_compare(it, was) < 0))
			best = w;
	}
	return best;
}

static inline void ref_owner(struct ref *ref, unsigned topic, unsigned key)
{
	int best = ref_best(ref, topic, key, REF_ALL, -1, -1);
	struct ref_instance *instance = &ref->instances[topic][key];

	if (instance->owner == best + 1)
		return;
	instance->owner = best + 1;
	if (best < 0)
		ref_tell(ref, "owner k%u\n", key);
	else
		ref_tell(ref, "owner w%u.%u k%u\n", ref->endpoints[best].node, ref->endpoints[best].number, key);
}

/* ---- what is kept --------------------------------------------------------------------------------------------------------- */

static inline void ref_remove_kept(struct ref *ref, int at)
{
	memmove(&ref->kept[at], &ref->kept[at + 1], (size_t)(ref->kept_count - at - 1) * sizeof(ref->kept[0]));
	ref->kept_count--;
}

static inline int ref_first_kept(const struct ref *ref, unsigned topic, unsigned key)
{
	for (int i = 0; i < ref->kept_count; i++)
		if (ref->kept[i].topic == topic && ref->kept[i].key == key)
			return i;
	return -1;
}

static inline void ref_trim(struct ref *ref, unsigned topic, unsigned key)
{
	int first = ref_first_kept(ref, topic, key);

	while (first >= 0 && (ref->kept[first].change & 1) == 0) {
		ref_remove_kept(ref, first);
		first = ref_first_kept(ref, topic, key);
	}
}

static inline int ref_count_kept(const struct ref *ref, unsigned topic, int key)
{
	int count = 0;

	for (int i = 0; i < ref->kept_count; i++)
		count += ref->kept[i].topic == topic && (key < 0 || ref->kept[i].key == (unsigned)key) &&
			 (ref->kept[i].change & 1) != 0;
	return count;
}

static inline void ref_push_out(struct ref *ref, unsigned topic, unsigned key)
{
	int victim = -1;

	for (int i = 0; i < ref->kept_count; i++) {
		const struct ref_kept *it = &ref->kept[i];

		if (it->topic != topic || it->key != key || (it->change & 1) == 0)
			continue;
		if (victim < 0 || (it->behind && !ref->kept[victim].behind))
			victim = i;
	}
	if (victim < 0)
		abort();
	ref_remove_kept(ref, victim);
	ref_trim(ref, topic, key);
}

/* An instance that nothing holds is forgotten. */
static inline void ref_settle(struct ref *ref, unsigned topic, unsigned key)
{
	struct ref_instance *instance = &ref->instances[topic][key];
	int first;

	for (int w = 0; w < ref->count; w++)
		if (ref->endpoints[w].topic == topic && ref->claims[w][key].has)
			return;
	while (instance->state == 1 && !ref->topics[topic].waits && (first = ref_first_kept(ref, topic, key)) >= 0)
		ref_remove_kept(ref, first);
	if (ref_first_kept(ref, topic, key) < 0)
		memset(instance, 0, sizeof(*instance));
}

static inline void ref_limits(struct ref *ref, unsigned topic, unsigned key)
{
	const struct ref_topic *is = &ref->topics[topic];

	if (is->depth > 0 && ref_count_kept(ref, topic, (int)key) > is->depth)
		ref_push_out(ref, topic, key);
	if (is->each > 0 && ref_count_kept(ref, topic, (int)key) > is->each)
		ref_push_out(ref, topic, key);
	if (is->samples > 0 && ref_count_kept(ref, topic, -1) > is->samples)
		for (int i = 0; i < ref->kept_count; i++)
			if (ref->kept[i].topic == topic) {
				unsigned oldest = ref->kept[i].key;

				ref_push_out(ref, topic, oldest);
				if (oldest != key)
					ref_settle(ref, topic, oldest);
				break;
			}
}

static inline void ref_keep(struct ref *ref, const struct ref_kept *new)
{
	const struct ref_topic *is = &ref->topics[new->topic];
	int instances = 0, last = -1;

	if (!is->stored || ref->endpoints[new->writer].durability == 0)
		return;
	for (unsigned key = 0; key < REF_KEYS; key++)
		instances += ref_first_kept(ref, new->topic, key) >= 0;
	if (ref_first_kept(ref, new->topic, new->key) < 0) {
		if ((new->change & 1) == 0 || (is->instances > 0 && instances >= is->instances))
			return;
	} else if ((new->change & 1) == 0 && new->behind) {
		return;
	}
	for (int i = 0; i < ref->kept_count; i++)
		if (ref->kept[i].topic == new->topic && ref->kept[i].key == new->key)
			last = i;
	if (last >= 0 && (ref->kept[last].change & 1) == 0 && (new->change & 1) == 0)
		ref_remove_kept(ref, last);
	if (ref->kept_count == REF_KEPT)
		abort();
	ref->kept[ref->kept_count++] = *new;
}

/* ---- samples -------------------------------------------------------------------------------------------------------------- */

static inline void ref_tell_last(struct ref *ref, int r, int w, unsigned key, unsigned view, unsigned sequence,
				 const char *history)
{
	const struct ref_endpoint *reader = &ref->endpoints[r], *writer = &ref->endpoints[w];
	const struct ref_instance *it = &ref->instances[writer->topic][key];

	for (int other = 0; other < ref->count; other++)
		if (ref->match[other][r] && ref->claims[other][key].has)
			return;
	ref_tell(ref, "last r%u.%u w%u.%u k%u @%u.%u %c%u.%u%s\n", reader->node, reader->number, writer->node,
		 writer->number, key, view, sequence, "adn"[it->state], it -> disposed, it -> no_writers, history);
}

static inline void ref_drop_claim(struct ref *ref, int w, unsigned key)
{
	unsigned topic = ref->endpoints[w].topic;
	struct ref_instance *instance = &ref->instances[topic][key];
	bool held = false;

	ref->claims[w][key].has = false;
	ref_owner(ref, topic, key);
	for (int other = 0; other < ref->count; other++)
		held = held || (ref->endpoints[other].topic == topic && ref->claims[other][key].has);
	if (!held) {
		instance->left_view = ref->view;
		instance->left_sequence = ref->sequence;
		instance->changes += instance->state == 0;
		instance->state = instance->state == 0 ? 2 : instance->state;
	}
	for (int r = 0; r < ref->count; r++)
		if (ref->match[w][r])
			ref_tell_last(ref, r, w, key, ref->view, ref->sequence, "");
	ref_settle(ref, topic, key);
}

/* The claim of a writer that was made first; -1: it has none. */
static inline int ref_first_claim(const struct ref *ref, int w, unsigned after)
{
	int first = -1;

	for (int key = 0; key < REF_KEYS; key++)
		if (ref->claims[w][key].has && ref->claims[w][key].serial > after &&
		    (first < 0 || ref->claims[w][key].serial < ref->claims[w][first].serial))
			first = key;
	return first;
}

static inline void ref_tell_sample(struct ref *ref, int r, const struct ref_kept *s, const char *history)
{
	const struct ref_endpoint *reader = &ref->endpoints[r], *writer = &ref->endpoints[s->writer];

	ref_tell(ref, "sample r%u.%u w%u.%u k%u #%u c%u @%u.%u t%d '%s' %c%u.%u%s\n", reader->node, reader->number,
		 writer->node, writer->number, s->key, s->number, s->change, s->view, s->sequence, s->source_ns,
		 s->text, "adn"[s->state], s -> disposed, s -> no_writers, history);
}

static inline bool ref_behind(const struct ref *ref, const struct ref_instance *it, const struct ref_kept *s)
{
	if (!ref->endpoints[s->writer].by_source || !it->timed || s->number == 0)
		return false;
	return s->source_ns < it->newest_ns ||
	       (s->source_ns == it->newest_ns &&
		ref_compare(&ref->endpoints[s->writer], &ref->endpoints[it->newest]) < 0);
}

static inline void ref_effect(struct ref *ref, struct ref_kept s)
{
	struct ref_endpoint *writer = &ref->endpoints[s.writer];
	struct ref_instance *it = &ref->instances[writer->topic][s.key];
	struct ref_claim *claim = &ref->claims[s.writer][s.key];
	bool leaves = (s.change & 4) != 0, counts;

	if (leaves && !claim->has)
		return;
	if (it->born == 0)
		it->born = ++ref->serials;
	if (!claim->has)
		*claim = (struct ref_claim){.has = true, .serial = ++ref->serials};
	claim->late = false;
	claim->number = s.number;
	ref_owner(ref, writer->topic, s.key);
	if (leaves && writer->autodispose)
		s.change |= 2;
	if ((s.change & 3) != 0) {
		counts = !writer->exclusive ||
			 ref_best(ref, writer->topic, s.key, REF_PARTITIONS, -1, s.writer) == s.writer;
		s.behind = counts && ref_behind(ref, it, &s);
		if (counts && !s.behind) {
			if (writer->by_source && s.number > 0) {
				it->timed = true;
				it->newest_ns = s.source_ns;
				it->newest = s.writer;
			}
			if ((s.change & 1) != 0) {
				it->disposed += it->state == 1;
				it->no_writers += it->state == 2;
				it->state = 0;
			}
			it->state = (s.change & 2) != 0 ? 1 : it->state;
			it->changes++;
		}
		s.state = (s.change & 2) != 0;
		s.disposed = it->disposed;
		s.no_writers = it->no_writers;
		s.topic = writer->topic;
		if (counts)
			ref_keep(ref, &s);
		for (int r = 0; r < ref->count; r++)
			if (ref->match[s.writer][r] && !(s.behind && ref->endpoints[r].by_source) &&
			    (!writer->exclusive ||
			     ref_best(ref, writer->topic, s.key, REF_READER, r, s.writer) == s.writer))
				ref_tell_sample(ref, r, &s, "");
		ref_limits(ref, writer->topic, s.key);
	}
	if (leaves)
		ref_drop_claim(ref, s.writer, s.key);
}

static inline struct ref_set *ref_set_of(struct ref *ref, unsigned node, unsigned life, unsigned group)
{
	for (int i = 0; i < 16; i++)
		if (ref->sets[i].open && ref->sets[i].node == node && ref->sets[i].life == life &&
		    ref->sets[i].group == group)
			return &ref->sets[i];
	return NULL;
}

static inline void ref_liveliness(struct ref *ref, int w)
{
	const struct ref_endpoint *writer = &ref->endpoints[w];

	for (int r = 0; r < ref->count; r++)
		if (ref->match[w][r])
			ref_tell(ref, "liveliness r%u.%u w%u.%u %s\n", ref->endpoints[r].node, ref->endpoints[r].number,
				 writer->node, writer->number, writer->dead ? "dead" : "alive");
	if (writer->dead)
		ref_tell(ref, "lost w%u.%u\n", writer->node, writer->number);
}

static inline void ref_heard(struct ref *ref, unsigned node, unsigned life, int self)
{
	int kind = self >= 0 ? ref->endpoints[self].liveliness : 1;

	if (kind == 0)
		return;
	if (kind == 1)
		ref->heard[life]++;
	else
		ref->endpoints[self].activity++;
	for (int w = 0; w < ref->count; w++) {
		struct ref_endpoint *it = &ref->endpoints[w];
		bool is = kind == 1 ? it->writes && it->live && it->node == node && it->life == life &&
					      it->liveliness == 1
				    : w == self;

		if (!is || !it->dead)
			continue;
		it->dead = false;
		ref_liveliness(ref, w);
	}
}

static inline void ref_sample(struct ref *ref, int w, const struct ref_item *said)
{
	struct ref_endpoint *writer = &ref->endpoints[w];
	struct ref_set *set = writer->coherent ? ref_set_of(ref, writer->node, writer->life, writer->group) : NULL;
	struct ref_kept s = {.writer = w,
			     .key = said->key,
			     .number = ++writer->samples,
			     .view = ref->view,
			     .sequence = ref->sequence,
			     .change = said->change,
			     .source_ns = said->source_ns};

	memcpy(s.text, said->text, sizeof(s.text));
	ref_heard(ref, writer->node, writer->life, w);
	if (set == NULL) {
		ref_effect(ref, s);
	} else if (set->broken) {
		set->dropped++;
	} else {
		if (set->count == REF_ITEMS)
			abort();
		set->items[set->count] = *said;
		set->items[set->count].writer = w;
		set->items[set->count++].number = s.number;
	}
}

static inline void ref_set_begin(struct ref *ref, unsigned node, unsigned life, unsigned group)
{
	bool coherent = false;

	for (int w = 0; w < ref->count; w++) {
		const struct ref_endpoint *it = &ref->endpoints[w];

		coherent = coherent || (it->writes && it->live && it->node == node && it->life == life &&
					it->group == group && it->coherent);
	}
	if (!coherent || ref_set_of(ref, node, life, group) != NULL)
		return;
	for (int i = 0; i < 16; i++)
		if (!ref->sets[i].open) {
			ref->sets[i] = (struct ref_set){
				.open = true, .node = node, .life = life, .group = group, .began = ++ref->begun};
			return;
		}
	abort();
}

static inline void ref_set_end(struct ref *ref, unsigned node, unsigned life, unsigned group)
{
	struct ref_set *set = ref_set_of(ref, node, life, group);

	if (set == NULL)
		return;
	set->open = false;
	if (set->dropped > 0)
		ref_tell(ref, "set-lost %u.%u (%u)\n", node, group, set->dropped);
	if (set->count == 0)
		return;
	ref_tell(ref, "set %u.%u (%u)\n", node, group, set->count);
	for (unsigned i = 0; i < set->count; i++) {
		const struct ref_item *said = &set->items[i];
		struct ref_kept s = {.writer = said->writer,
				     .key = said->key,
				     .number = said->number,
				     .view = ref->view,
				     .sequence = ref->sequence,
				     .change = said->change,
				     .source_ns = said->source_ns};

		memcpy(s.text, said->text, sizeof(s.text));
		ref_effect(ref, s);
	}
	ref_tell(ref, "set-end %u.%u (%u)\n", node, group, set->count);
}

/* ---- endpoints ------------------------------------------------------------------------------------------------------------ */

static inline bool ref_is_for(const struct ref *ref, const struct ref_kept *it, int r, int only)
{
	const struct ref_endpoint *reader = &ref->endpoints[r], *writer = &ref->endpoints[it->writer];

	return it->topic == reader->topic && (only < 0 || it->writer == only) &&
	       ref_meet(writer->partitions, reader->partitions) && ref_fails(writer, reader) == NULL &&
	       !(it->behind && reader->by_source);
}

/* Instances that no writer has are told of in the order in which they came. */
static inline void ref_replay_left(struct ref *ref, int r, const bool told[REF_KEYS])
{
	unsigned topic = ref->endpoints[r].topic, from = 0;

	for (;;) {
		const struct ref_instance *is = ref->instances[topic];
		int key = -1, last = -1;
		bool held = false;

		for (int k = 0; k < REF_KEYS; k++)
			if (told[k] && is[k].born > from && (key < 0 || is[k].born < is[key].born))
				key = k;
		if (key < 0)
			return;
		from = is[key].born;
		for (int i = 0; i < ref->kept_count; i++)
			if (ref->kept[i].topic == topic && ref->kept[i].key == (unsigned)key)
				last = ref->kept[i].writer;
		for (int w = 0; w < ref->count; w++)
			held = held || (ref->endpoints[w].topic == topic && ref->claims[w][key].has);
		ref_tell_last(ref, r, last, (unsigned)key, held ? ref->view : is[key].left_view,
			      held ? ref->sequence : is[key].left_sequence, " h");
	}
}

static inline unsigned ref_replay(struct ref *ref, int r, int only)
{
	bool told[REF_KEYS] = {false};
	unsigned count = 0;

	if (ref->endpoints[r].durability == 0)
		return 0;
	for (int i = 0; i < ref->kept_count; i++) {
		const struct ref_kept *it = &ref->kept[i];

		if (!ref_is_for(ref, it, r, only) || ((it->change & 1) == 0 && !told[it->key]))
			continue;
		ref_tell_sample(ref, r, it, " h");
		told[it->key] = true;
		count += (it->change & 1) != 0;
	}
	ref_replay_left(ref, r, told);
	return count;
}

static inline void ref_unmatch(struct ref *ref, int w, int r, bool ended)
{
	const struct ref_endpoint *writer = &ref->endpoints[w], *reader = &ref->endpoints[r];

	ref->match[w][r] = false;
	for (int key = ended ? -1 : ref_first_claim(ref, w, 0); key >= 0;
	     key = ref_first_claim(ref, w, ref->claims[w][key].serial))
		ref_tell_last(ref, r, w, (unsigned)key, ref->view, ref->sequence, "");
	ref_tell(ref, "unmatch r%u.%u w%u.%u%s\n", reader->node, reader->number, writer->node, writer->number,
		 ended ? " =-9" : "");
}

static inline bool ref_try(struct ref *ref, int one, int other)
{
	int w = ref->endpoints[one].writes ? one : other, r = w == one ? other : one;
	const struct ref_endpoint *writer = &ref->endpoints[w], *reader = &ref->endpoints[r];
	const char *fails = ref_fails(writer, reader);

	if (!ref_meet(writer->partitions, reader->partitions))
		return false;
	if (fails != NULL)
		ref_tell(ref, "incompatible r%u.%u w%u.%u %s\n", reader->node, reader->number, writer->node,
			 writer->number, fails);
	else
		ref_tell(ref, "match r%u.%u w%u.%u\n", reader->node, reader->number, writer->node, writer->number);
	ref->match[w][r] = fails == NULL;
	return fails == NULL;
}

static inline bool ref_are_pair(const struct ref *ref, int one, int other)
{
	const struct ref_endpoint *a = &ref->endpoints[one], *b = &ref->endpoints[other];

	return a->live && b->live && a->topic == b->topic && a->writes != b->writes;
}

static inline int ref_find(const struct ref *ref, bool writes, unsigned node, unsigned life, unsigned number)
{
	for (int i = 0; i < ref->count; i++) {
		const struct ref_endpoint *it = &ref->endpoints[i];

		if (it->live && it->writes == writes && it->node == node && it->life == life && it->number == number)
			return i;
	}
	return -1;
}

static inline void ref_end(struct ref *ref, int e, bool died)
{
	struct ref_endpoint *it = &ref->endpoints[e];
	struct ref_set *set = it->coherent ? ref_set_of(ref, it->node, it->life, it->group) : NULL;
	unsigned left = 0, had = set != NULL ? set->count : 0;

	for (unsigned i = 0; it->writes && i < had; i++)
		if (set->items[i].writer != e)
			set->items[left++] = set->items[i];
	if (it->writes && left < had) {
		set->dropped += had - left;
		set->count = left;
		if (it->scope == 2) {
			set->dropped += left;
			set->count = 0;
			set->broken = true;
		}
	}
	for (int key; it->writes && (key = ref_first_claim(ref, e, 0)) >= 0;) {
		struct ref_kept s = {
			.writer = e, .key = (unsigned)key, .change = 4, .view = ref->view, .sequence = ref->sequence};

		if (it->autodispose && !died)
			ref_effect(ref, s);
		else
			ref_drop_claim(ref, e, (unsigned)key);
	}
	if (it->writes && it->durability < 2) {
		for (int i = 0; i < ref->kept_count;)
			if (ref->kept[i].writer == e)
				ref_remove_kept(ref, i);
			else
				i++;
		for (unsigned key = 0; key < REF_KEYS; key++) {
			ref_trim(ref, it->topic, key);
			ref_settle(ref, it->topic, key);
		}
	}
	for (int other = 0; other < ref->count; other++) {
		if (it->writes && ref->match[e][other])
			ref_unmatch(ref, e, other, true);
		else if (!it->writes && ref->match[other][e])
			ref_unmatch(ref, other, e, true);
	}
	it->live = false;
}

/* The life that comes next but is no member of the view any more: what it had ends. In the order of the ranks that they had. */
static inline void ref_bury(struct ref *ref, unsigned life)
{
	for (unsigned from = 0;;) {
		struct ref_set *first = NULL;

		for (int i = 0; i < 16; i++) {
			struct ref_set *set = &ref->sets[i];

			if (set->open && set->life == life && set->began > from &&
			    (first == NULL || set->began < first->began))
				first = set;
		}
		if (first == NULL)
			break;
		from = first->began;
		first->open = false;
		if (first->count + first->dropped > 0)
			ref_tell(ref, "set-lost %u.%u (%u)\n", first->node, first->group,
				 first->count + first->dropped);
	}
	for (int e = 0; e < ref->count; e++)
		if (ref->endpoints[e].live && ref->endpoints[e].life == life)
			ref_end(ref, e, true);
}

#endif
