/* test_dds_cache_random.c - a reader's cache beside another one that is as simple as can be: one list of samples, everything counted anew
 * each time. Samples, ends, sets and time come at random, and are read and taken at random; both must give the same.
 * Labels: random
 */
#include "tests/support/cache_lab.h"

#define STORIES 100
#define STEPS 400
#define HANDLES 6
#define ENTRIES 512

/* Check notes each of its own assertions, also those that hold. */
#define must(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("%s", #condition);                                                                \
	} while (0)

struct entry {
	uint64_t sequence, expires;
	int handle;
	bool data, read;
	uint32_t disposed, no_writers;
	unsigned does; /* of a set */
	uint64_t set;
};

struct plain_instance {
	bool born, is_new, gone;
	enum { LIVES, DISPOSED, LEFT } life;
	uint32_t disposed, no_writers;
	uint64_t purge;
	uint64_t busy_since;
};

struct loan {
	uint64_t sequence;
	void *data;
	bool taken;
};

struct plain {
	struct entry entries[ENTRIES], pending[ENTRIES];
	struct plain_instance instances[HANDLES + 1];
	struct loan loans[ENTRIES];
	bool broken[3], open[3]; /* sets 1 and 2 */
	int count, pending_count, loan_count;
	uint64_t turn;
};

struct story {
	uint64_t dice;
	struct lab lab;
	struct plain plain;
	struct wh_dds_query *query;
	bool ordered, keeps_all;
	int depth;
};

static uint32_t draw(struct story *story, uint32_t below)
{
	uint64_t value = story->dice += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((value ^ (value >> 31)) >> 33) % below;
}

/* ---- the plain one -------------------------------------------------------------------------------------------------------- */

static int count_of(const struct plain *plain, int handle, bool data_alone)
{
	int count = 0;

	for (int i = 0; i < plain->count; i++)
		count += plain->entries[i].handle == handle && (plain->entries[i].data || !data_alone);
	return count;
}

static int pending_of(const struct plain *plain, int handle)
{
	int count = 0;

	for (int i = 0; i < plain->pending_count; i++)
		count += plain->pending[i].handle == handle;
	return count;
}

static int held(const struct story *story)
{
	const struct plain *plain = &story->plain;
	int count = plain->pending_count;

	for (int i = 0; i < plain->count; i++)
		count += plain->entries[i].data || story->keeps_all;
	for (int i = 0; i < plain->loan_count; i++) { /* each copy once, if any of its loans was taken */
		bool first = true, taken = false;

		for (int k = 0; k < plain->loan_count; k++) {
			if (plain->loans[k].sequence != plain->loans[i].sequence)
				continue;
			first = first && k >= i;
			taken = taken || plain->loans[k].taken;
		}
		count += first && taken;
	}
	return count;
}

static bool exists(const struct plain *plain, int handle)
{
	return plain->instances[handle].born || pending_of(plain, handle) > 0;
}

static void settle(struct plain *plain, int handle)
{
	struct plain_instance *it = &plain->instances[handle];

	if (it->born && it->gone && it->life != LIVES && count_of(plain, handle, false) == 0 &&
	    pending_of(plain, handle) == 0)
		*it = (struct plain_instance){.born = false};
}

static void cut(struct plain *plain, int i)
{
	memmove(&plain->entries[i], &plain->entries[i + 1], (size_t)(--plain->count - i) * sizeof(struct entry));
}

static void revive(struct plain_instance *it)
{
	it->gone = false;
	if (it->life == DISPOSED)
		it->disposed++;
	else if (it->life == LEFT)
		it->no_writers++;
	if (it->life != LIVES)
		it->is_new = true;
	it->life = LIVES;
}

static int life_after(const struct plain_instance *it, unsigned does)
{
	if (does & WH_DDS_DOES_DISPOSE)
		return DISPOSED;
	return (does & WH_DDS_DOES_LEAVE) && it->life == LIVES ? LEFT : (int)it->life;
}

static void end_life(struct story *story, struct plain_instance *it, unsigned does)
{
	int life = life_after(it, does);

	it->gone = it->gone || (does & WH_DDS_DOES_LEAVE) != 0;
	if (life == (int)it->life)
		return;
	it->life = life;
	it->purge = story->lab.now + (uint64_t)(life == DISPOSED ? story->lab.policies.purge.disposed_ns
								 : story->lab.policies.purge.no_writers_ns);
}

static void push_out(struct story *story, const struct entry *entry)
{
	struct plain *plain = &story->plain;

	for (int i = 0; i < plain->count; i++) {
		if (plain->entries[i].handle != entry->handle || plain->entries[i].data != entry->data)
			continue;
		if (!entry->data || count_of(plain, entry->handle, true) >= story->depth) {
			cut(plain, i);
			return;
		}
	}
}

static void insert(struct story *story, struct entry entry, unsigned does)
{
	struct plain *plain = &story->plain;
	struct plain_instance *it = &plain->instances[entry.handle];

	entry.data = (does & WH_DDS_DOES_DATA) != 0;
	if (!entry.data)
		entry.expires = WH_DDS_NEVER;
	if (!it->born)
		*it = (struct plain_instance){.born = true, .is_new = true};
	if (entry.data)
		revive(it);
	if (!story->keeps_all)
		push_out(story, &entry);
	if (count_of(plain, entry.handle, false) == 0)
		it->busy_since = ++plain->turn;
	entry.disposed = it->disposed;
	entry.no_writers = it->no_writers;
	plain->entries[plain->count++] = entry;
	end_life(story, it, does);
}

static bool limit_met(const struct story *story, const struct entry *entry, unsigned does, bool *waits)
{
	const struct plain *plain = &story->plain;
	const struct wh_dds_limits *limits = &story->lab.policies.limits;
	bool data = (does & WH_DDS_DOES_DATA) != 0, there = exists(plain, entry->handle);
	int instances = 0, kept = count_of(plain, entry->handle, !story->keeps_all) + pending_of(plain, entry->handle);

	for (int h = 1; h <= HANDLES; h++)
		instances += exists(plain, h);
	*waits = false;
	if (!there && instances >= limits->instances)
		return true;
	*waits = story->keeps_all && story->lab.policies.reliability.kind == WHORL_DDS_RELIABILITY_RELIABLE;
	if (!data && !story->keeps_all)
		return false;
	if (!story->keeps_all && entry->set == 0 && count_of(plain, entry->handle, true) >= story->depth)
		return false;
	return held(story) >= limits->samples || (there && kept >= limits->samples_per_instance);
}

static void break_set(struct plain *plain, uint64_t set)
{
	plain->open[set] = plain->broken[set] = true;
	for (int i = plain->pending_count - 1; i >= 0; i--) {
		int handle = plain->pending[i].handle;

		if (plain->pending[i].set != set)
			continue;
		memmove(&plain->pending[i], &plain->pending[i + 1],
			(size_t)(--plain->pending_count - i) * sizeof(struct entry));
		settle(plain, handle);
	}
}

/* For its data there is no room. One without data that is not read yet, and is the last, tells of this end, too. */
static enum wh_dds_put_result end_beyond_limits(struct story *story, struct entry entry, unsigned does)
{
	struct plain *plain = &story->plain;
	struct plain_instance *it = &plain->instances[entry.handle];
	unsigned end = does & ~(unsigned)WH_DDS_DOES_DATA;
	bool told = false;

	for (int i = 0; i < plain->count; i++)
		if (plain->entries[i].handle == entry.handle)
			told = !plain->entries[i].data && !plain->entries[i].read;
	if (end != 0 && !told) {
		insert(story, entry, end);
		return WH_DDS_PUT_KEPT;
	}
	end_life(story, it, end);
	settle(plain, entry.handle);
	return does == end ? WH_DDS_PUT_UNWANTED : WH_DDS_PUT_REJECTED;
}

static enum wh_dds_put_result plain_put(struct story *story, struct entry entry, unsigned does)
{
	struct plain *plain = &story->plain;
	struct plain_instance *it = &plain->instances[entry.handle];
	bool waits;

	if (does & WH_DDS_DOES_DATA && entry.expires <= story->lab.now)
		does &= ~(unsigned)WH_DDS_DOES_DATA;
	if (does == 0)
		return WH_DDS_PUT_UNWANTED;
	if (!(does & WH_DDS_DOES_DATA) && entry.set == 0) {
		if (!it->born && !(does & WH_DDS_DOES_DISPOSE))
			return WH_DDS_PUT_UNWANTED;
		if (it->born && life_after(it, does) == (int)it->life) {
			it->gone = it->gone || (does & WH_DDS_DOES_LEAVE) != 0;
			settle(plain, entry.handle);
			return WH_DDS_PUT_UNWANTED;
		}
	}
	if (limit_met(story, &entry, does, &waits)) {
		if (story->lab.last_chance && it->born && entry.set == 0) {
			if (does & WH_DDS_DOES_DATA)
				revive(it);
			return end_beyond_limits(story, entry, does);
		}
		if (waits && !story->lab.last_chance)
			return WH_DDS_PUT_FULL;
		if (entry.set != 0) {
			break_set(plain, entry.set);
		} else if (it->born) {
			if (does & WH_DDS_DOES_DATA)
				revive(it);
			end_life(story, it, does);
			settle(plain, entry.handle);
		}
		return WH_DDS_PUT_REJECTED;
	}
	if (entry.set == 0) {
		insert(story, entry, does);
		return WH_DDS_PUT_KEPT;
	}
	plain->open[entry.set] = true;
	if (plain->broken[entry.set])
		return WH_DDS_PUT_UNWANTED;
	entry.does = does;
	plain->pending[plain->pending_count++] = entry;
	return WH_DDS_PUT_KEPT;
}

static void plain_end_set(struct story *story, uint64_t set, bool whole)
{
	struct plain *plain = &story->plain;

	if (!whole)
		break_set(plain, set);
	for (int i = 0; i < plain->pending_count;) {
		struct entry entry = plain->pending[i];
		struct plain_instance *it = &plain->instances[entry.handle];

		if (entry.set != set) {
			i++;
			continue;
		}
		memmove(&plain->pending[i], &plain->pending[i + 1],
			(size_t)(--plain->pending_count - i) * sizeof(struct entry));
		if (entry.does & WH_DDS_DOES_DATA && entry.expires <= story->lab.now)
			entry.does &= ~(unsigned)WH_DDS_DOES_DATA;
		if ((entry.does & WH_DDS_DOES_DATA) || (it->born ? life_after(it, entry.does) != (int)it->life
								 : (entry.does & WH_DDS_DOES_DISPOSE) != 0)) {
			insert(story, entry, entry.does);
			continue;
		}
		if (it->born)
			end_life(story, it, entry.does);
		settle(plain, entry.handle);
	}
	plain->broken[set] = plain->open[set] = false;
}

static void plain_pass_time(struct story *story)
{
	struct plain *plain = &story->plain;
	uint64_t now = story->lab.now;

	for (int i = plain->count - 1; i >= 0; i--) {
		const struct plain_instance *it = &plain->instances[plain->entries[i].handle];

		if (plain->entries[i].expires <= now || (it->life != LIVES && it->purge <= now))
			cut(plain, i);
	}
	for (int h = 1; h <= HANDLES; h++)
		settle(plain, h);
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static uint32_t state_of(const struct plain *plain, const struct entry *entry)
{
	const struct plain_instance *it = &plain->instances[entry->handle];

	return (entry->read ? 1u : 2u) | (it->is_new ? 4u : 8u) | 16u << it->life;
}

static bool is_wanted(const struct plain *plain, const struct entry *entry, uint32_t mask, bool even)
{
	uint32_t state = state_of(plain, entry);

	return (!(mask & 3) || state & mask & 3) && (!(mask & 12) || state & mask & 12) &&
	       (!(mask & 112) || state & mask & 112) && (!even || !entry->data || entry->sequence % 2 == 0);
}

static bool comes_before(const struct story *story, const struct entry *one, const struct entry *other)
{
	const struct plain *plain = &story->plain;

	return !story->ordered && plain->instances[one->handle].busy_since < plain->instances[other->handle].busy_since;
}

/* Indexes of entries, in the order in which they are given. */
static int plain_pick(const struct story *story, const struct wh_dds_select *select, int room, int *picked)
{
	const struct plain *plain = &story->plain;
	int count = 0, next = HANDLES + 1;

	for (int i = 0; i < plain->count && select->next; i++)
		if (is_wanted(plain, &plain->entries[i], select->mask, select->query != NULL) &&
		    plain->entries[i].handle > (int)select->instance && plain->entries[i].handle < next)
			next = plain->entries[i].handle;
	for (int i = 0; i < plain->count; i++) {
		const struct entry *entry = &plain->entries[i];
		int at = count;

		if (!is_wanted(plain, entry, select->mask, select->query != NULL) ||
		    (select->next ? entry->handle != next
				  : select->instance != 0 && entry->handle != (int)select->instance))
			continue;
		for (; at > 0 && comes_before(story, entry, &plain->entries[picked[at - 1]]); at--)
			picked[at] = picked[at - 1];
		picked[at] = i;
		count++;
	}
	return count < room ? count : room;
}

static void compare(const struct story *story, const int *picked, int count, int i)
{
	const struct plain *plain = &story->plain;
	const struct entry *entry = &plain->entries[picked[i]], *last = entry;
	const struct plain_instance *it = &plain->instances[entry->handle];
	const whorl_dds_sample_info *info = &story->lab.infos[i];
	uint32_t rank = 0, generation = entry->disposed + entry->no_writers;

	for (int k = i + 1; k < count; k++) {
		if (plain->entries[picked[k]].handle != entry->handle)
			continue;
		rank++;
		last = &plain->entries[picked[k]];
	}
	must(info->sequence == entry->sequence && (int)info->instance_handle == entry->handle);
	must((info->sample_state | info->view_state | info->instance_state) == state_of(plain, entry));
	must(info->valid_data == entry->data && info->sample_rank == rank);
	must(info->disposed_generation_count == entry->disposed);
	must(info->no_writers_generation_count == entry->no_writers);
	must(info->generation_rank == last->disposed + last->no_writers - generation);
	must(info->absolute_generation_rank == it->disposed + it->no_writers - generation);
}

static void note_loans(struct story *story, const int *picked, int count, bool taken)
{
	struct plain *plain = &story->plain;

	for (int i = 0; i < count; i++)
		plain->loans[plain->loan_count++] =
			(struct loan){plain->entries[picked[i]].sequence, story->lab.lent[i], taken};
}

static void plain_give(struct story *story, const int *picked, int count, const struct wh_dds_select *select)
{
	struct plain *plain = &story->plain;
	bool goes[ENTRIES] = {false};

	if (select->peek)
		return;
	for (int i = 0; i < count; i++) {
		goes[picked[i]] = select->take;
		plain->entries[picked[i]].read = true;
		plain->instances[plain->entries[picked[i]].handle].is_new = false;
	}
	for (int i = plain->count - 1; i >= 0; i--)
		if (goes[i])
			cut(plain, i);
	for (int h = 1; h <= HANDLES; h++)
		settle(plain, h);
}

static void read_some(struct story *story)
{
	struct wh_dds_select select = {.mask = draw(story, 3) ? 0 : draw(story, 128),
				       .take = draw(story, 2),
				       .next = draw(story, 4) == 0,
				       .instance = draw(story, 3) ? 0 : draw(story, HANDLES + 1),
				       .query = draw(story, 4) ? NULL : story->query};
	size_t room = 1 + draw(story, draw(story, 2) ? 4 : LAB_ROOM);
	int picked[ENTRIES], count;

	select.peek = !select.take && draw(story, 4) == 0;
	if (story->plain.loan_count > ENTRIES - 2 * LAB_ROOM)
		return;
	count = plain_pick(story, &select, (int)room, picked);
	lab_select(&story->lab, &select, room);
	if (!select.next && select.instance != 0 && !story->plain.instances[select.instance].born) {
		must(story->lab.count == WHORL_DDS_RETCODE_BAD_PARAMETER);
		return;
	}
	must(story->lab.count == count);
	for (int i = 0; i < count; i++)
		compare(story, picked, count, i);
	note_loans(story, picked, count, select.take);
	plain_give(story, picked, count, &select);
}

static void return_some(struct story *story)
{
	struct plain *plain = &story->plain;

	while (plain->loan_count > 0 && draw(story, 8) != 0) {
		int i = (int)draw(story, (uint32_t)plain->loan_count);

		must(wh_dds_cache_return(story->lab.cache, &plain->loans[i].data, 1) == WHORL_DDS_RETCODE_OK);
		/* Of two loans of one copy that was taken, it counts until both are back. */
		for (int k = 0; k < plain->loan_count; k++)
			if (plain->loans[k].sequence == plain->loans[i].sequence)
				plain->loans[k].taken = plain->loans[k].taken || plain->loans[i].taken;
		plain->loans[i] = plain->loans[--plain->loan_count];
	}
}

/* ---- stories -------------------------------------------------------------------------------------------------------------- */

static bool is_even(const void *data, size_t bytes, void *ctx)
{
	int value;

	(void)ctx;
	must(bytes == sizeof(value));
	memcpy(&value, data, sizeof(value));
	return value % 2 == 0;
}

static void put_some(struct story *story)
{
	static const unsigned deeds[] = {WH_DDS_DOES_DISPOSE, WH_DDS_DOES_LEAVE, WH_DDS_DOES_DATA | WH_DDS_DOES_DISPOSE,
					 WH_DDS_DOES_DISPOSE | WH_DDS_DOES_LEAVE};
	struct lab *lab = &story->lab;
	unsigned does = draw(story, 3) ? WH_DDS_DOES_DATA : deeds[draw(story, 4)];
	struct entry entry = {.handle = 1 + (int)draw(story, HANDLES), .sequence = lab->sequence + 1};

	lab->set = draw(story, 4) ? 0 : 1 + draw(story, 2);
	lab->expires = draw(story, 5) ? WH_DDS_NEVER : lab->now + draw(story, 40);
	lab->last_chance = draw(story, 6) == 0;
	entry.set = lab->set;
	/* Without data nothing expires. */
	entry.expires = does & WH_DDS_DOES_DATA ? lab->expires : WH_DDS_NEVER;
	if (!(does & WH_DDS_DOES_DATA))
		lab->expires = WH_DDS_NEVER;
	if (entry.expires <= lab->now) /* its end, if it has one, is without data, and so does not expire */
		lab->expires = entry.expires = lab->now;
	must(plain_put(story, entry, does) == lab_put(lab, does, (uint64_t)entry.handle, (int)entry.sequence));
}

static void look_around(struct story *story)
{
	const struct plain *plain = &story->plain;
	uint32_t mask = draw(story, 128);
	bool has = false, has_even = false;

	for (int i = 0; i < plain->count; i++) {
		has = has || is_wanted(plain, &plain->entries[i], mask, false);
		has_even = has_even || is_wanted(plain, &plain->entries[i], mask, true);
	}
	must(wh_dds_cache_has(story->lab.cache, mask) == has);
	must(wh_dds_query_has(story->query, mask) == has_even);
	for (int h = 1; h <= HANDLES; h++)
		must(wh_dds_cache_state(story->lab.cache, (uint64_t)h) ==
		     (plain->instances[h].born ? 16u << plain->instances[h].life : 0));
	must((int)wh_dds_cache_lent(story->lab.cache) == plain->loan_count);
}

static void step(struct story *story)
{
	struct lab *lab = &story->lab;
	uint64_t set = 1 + draw(story, 2);
	bool whole = draw(story, 4) != 0;

	switch (draw(story, 8)) {
	case 0:
		lab->now += draw(story, 20);
		plain_pass_time(story);
		wh_dds_cache_pass_time(lab->cache, lab->now);
		break;
	case 1:
		plain_end_set(story, set, whole);
		wh_dds_cache_end_set(lab->cache, set, whole, lab->now);
		break;
	case 2:
		read_some(story);
		break;
	case 3:
		return_some(story);
		break;
	default:
		put_some(story);
		break;
	}
	must(wh_dds_cache_is_sound(lab->cache));
	look_around(story);
}

static void begin(struct story *story)
{
	struct lab *lab = &story->lab;

	lab_init(lab);
	story->keeps_all = draw(story, 2);
	story->ordered = draw(story, 2);
	story->depth = 1 + (int)draw(story, 3);
	if (!story->keeps_all)
		lab_keep_last(lab, story->depth);
	lab->policies.presentation.scope = WHORL_DDS_PRESENTATION_TOPIC;
	lab->policies.presentation.ordered = story->ordered;
	lab->policies.reliability.kind =
		draw(story, 2) ? WHORL_DDS_RELIABILITY_RELIABLE : WHORL_DDS_RELIABILITY_BEST_EFFORT;
	lab_limit(lab, 4 + (int32_t)draw(story, 30), 1 + (int32_t)draw(story, HANDLES), 3 + (int32_t)draw(story, 8));
	lab->policies.purge.disposed_ns = draw(story, 2) ? WHORL_DDS_INFINITY : (int64_t)draw(story, 60);
	lab->policies.purge.no_writers_ns = draw(story, 2) ? WHORL_DDS_INFINITY : (int64_t)draw(story, 60);
	cache_lab_open(lab);
	story->query = wh_dds_query_create(lab->cache, is_even, NULL);
}

TEST(both_give_the_same)
{
	uint64_t seed = test_seed(1);

	for (uint64_t i = 0; i < STORIES; i++) {
		struct story story = {.dice = seed * 1000003 + i};

		begin(&story);
		for (int k = 0; k < STEPS; k++)
			step(&story);
		cache_lab_close(&story.lab);
	}
}

TEST_SUITE("dds_cache_random")
