/* topics_more.c - what programs of some seeds do beside what those of all do: unordered topics, source time, GROUP presentation, filters of times,
 * and readers in place. See topics_play.h. All of it is drawn from dice of its own.
 */
#include "tests/sim/topics_play.h"

#define OK WHORL_DDS_RETCODE_OK

static const enum topics_kind pair[] = {TOPICS_ONE, TOPICS_OTHER};

static enum topics_kind draw_kind(struct topics_life *life)
{
	static const enum topics_kind kinds[] = {TOPICS_PLAIN, TOPICS_LOOSE, TOPICS_TIMED};

	return kinds[wh_dice_below(&life->more, 3)];
}

void topics_draw_more_reader(struct topics_reader *reader)
{
	struct wh_dice *dice = reader->dice;
	bool plain = reader->kind == TOPICS_PLAIN, timed = reader->kind == TOPICS_TIMED;
	bool patient = reader->life->play->patience_ns > WH_NS_PER_S; /* or it loses a set, and is told of one sample */

	reader->by_source = timed && !reader->life->keeper && !wh_dice_one_in(dice, 3);
	reader->in_place = !timed && !reader->life->keeper && wh_dice_one_in(dice, plain ? 2 : 4);
	if (reader->in_place)
		return;
	reader->limited = !reader->life->keeper && wh_dice_one_in(dice, 4) &&
			  (reader->kind == TOPICS_LOOSE || (topics_is_of_pair(reader->kind) && patient));
	reader->listens = reader->limited || wh_dice_one_in(dice, 3);
	if (plain)
		reader->gap_ns = wh_dice_between(dice, 5, 60) * WH_NS_PER_MS;
}

/* ---- one and other --------------------------------------------------------------------------------------------------------------- */

static void make_pair_readers(struct topics_life *life)
{
	whorl_dds_qos *of_group = topics_group_qos(TOPICS_ONE);
	whorl_dds_entity subscriber = whorl_dds_create_subscriber(life->participant, of_group, NULL);
	bool made = true;

	for (uint32_t i = 0; i < 2 && made; i++)
		made = topics_make_reader_of(life, TOPICS_SLOT_PAIR + i, pair[i], subscriber);
	if (!made && life->readers[TOPICS_SLOT_PAIR] != NULL)
		topics_end_pair_readers(life);
	else if (!made && subscriber > 0)
		(void)whorl_dds_delete(subscriber);
	whorl_dds_delete_qos(of_group);
}

void topics_end_pair_readers(struct topics_life *life)
{
	whorl_dds_entity subscriber = whorl_dds_get_parent(life->readers[TOPICS_SLOT_PAIR]->entity);
	struct topics_reader *readers[2];

	for (uint32_t i = 0; i < 2; i++) {
		readers[i] = life->readers[TOPICS_SLOT_PAIR + i];
		if (readers[i] == NULL)
			continue;
		topics_take(readers[i]);
		readers[i]->gone_ns = topics_now(life->play->world);
		topics_tell(life, "reader %u ends", readers[i]->number);
		life->readers[TOPICS_SLOT_PAIR + i] = NULL;
	}
	(void)whorl_dds_delete(subscriber);
	for (uint32_t i = 0; i < 2; i++)
		if (readers[i] != NULL)
			readers[i]->ended = true;
}

static void make_pair_writers(struct topics_life *life)
{
	whorl_dds_qos *of_group = topics_group_qos(TOPICS_ONE);
	whorl_dds_entity publisher = whorl_dds_create_publisher(life->participant, of_group, NULL);
	bool made = true;

	for (uint32_t i = 0; i < 2 && made; i++)
		made = topics_make_writer_of(life, TOPICS_SLOT_PAIR + i, pair[i], publisher);
	if (!made && life->writers[TOPICS_SLOT_PAIR] != NULL)
		topics_end_pair_writers(life);
	else if (!made && publisher > 0)
		(void)whorl_dds_delete(publisher);
	whorl_dds_delete_qos(of_group);
}

void topics_end_pair_writers(struct topics_life *life)
{
	struct topics_writer *writers[2];
	whorl_dds_entity publisher = 0;

	for (uint32_t i = 0; i < 2; i++) {
		writers[i] = life->writers[TOPICS_SLOT_PAIR + i];
		life->writers[TOPICS_SLOT_PAIR + i] = NULL;
		if (writers[i] == NULL)
			continue;
		publisher = writers[i]->publisher;
		writers[i]->going_ns = topics_now(life->play->world);
		topics_tell(life, "writer %u ends", writers[i]->number);
	}
	(void)whorl_dds_delete(publisher);
	for (uint32_t i = 0; i < 2; i++)
		if (writers[i] != NULL)
			writers[i]->gone_ns = topics_now(life->play->world);
}

/* In the open set: what it has there goes with it, and so does all of the set. */
static void end_one_of_pair(struct topics_life *life, uint32_t i)
{
	struct topics_writer *writer = life->writers[TOPICS_SLOT_PAIR + i];

	writer->going_ns = topics_now(life->play->world);
	life->writers[TOPICS_SLOT_PAIR + i] = NULL;
	topics_tell(life, "writer %u ends in a set: %d", writer->number, (int)whorl_dds_delete(writer->entity));
	writer->gone_ns = topics_now(life->play->world);
}

struct pair_set {
	uint32_t number, from[2];
	struct topics_writer *writers[2];
};

static bool has_some(const struct pair_set *set, uint32_t i)
{
	for (uint32_t n = set->from[i]; n < set->writers[i]->count; n++)
		if (set->writers[i]->written[n].result != WHORL_DDS_RETCODE_TIMEOUT)
			return true;
	return false;
}

static void note_end(const struct pair_set *set, bool broken)
{
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t n = set->from[i]; n < set->writers[i]->count; n++)
			*(broken ? &set->writers[i]->written[n].broken : &set->writers[i]->written[n].ended) = true;
}

static whorl_dds_return fill_set(struct topics_life *life, const struct pair_set *set)
{
	uint32_t count = (uint32_t)wh_dice_between(&life->more, 1, 6);
	whorl_dds_return result = OK;

	for (uint32_t index = 0; index < count && result == OK; index++) {
		struct topics_writer *writer = set->writers[wh_dice_below(&life->more, 2)];

		do
			result = topics_write_one(writer, TOPICS_WRITE, set->number, index, count);
		while (result == WHORL_DDS_RETCODE_TIMEOUT && !topics_is_dead(life->process) && !life->failed);
		if (wh_dice_one_in(&life->more, 4))
			topics_sleep(life->play->world, wh_dice_below(&life->more, 20 * WH_NS_PER_MS));
	}
	return result;
}

/* False: it has no end, or not all of its publisher's writers are there any more. */
static bool write_pair_set(struct topics_life *life)
{
	struct pair_set set = {.number = ++life->play->sets};
	uint32_t ends = (uint32_t)wh_dice_below(&life->more, 16);
	whorl_dds_return result;
	bool broken = false;

	for (uint32_t i = 0; i < 2; i++) {
		set.writers[i] = life->writers[TOPICS_SLOT_PAIR + i];
		set.from[i] = set.writers[i]->count;
	}
	result = whorl_dds_begin_coherent(set.writers[0]->publisher);
	if (result == OK)
		result = fill_set(life, &set);
	if (result != OK || ends == 0)
		return false;
	if (ends < 3) {
		broken = has_some(&set, ends - 1);
		end_one_of_pair(life, ends - 1);
	}
	do
		result = whorl_dds_end_coherent(set.writers[0]->publisher);
	while (result == WHORL_DDS_RETCODE_TIMEOUT && !topics_is_dead(life->process));
	if (result == OK || broken)
		note_end(&set, broken);
	return result == OK && ends >= 3;
}

void topics_write_pair(struct topics_life *life)
{
	if (wh_dice_one_in(&life->more, 3))
		(void)topics_write_one(life->writers[TOPICS_SLOT_PAIR + wh_dice_below(&life->more, 2)], TOPICS_WRITE, 0,
				       0, 0);
	else if (!write_pair_set(life))
		topics_end_pair_writers(life);
}

/* ---- programs --------------------------------------------------------------------------------------------------------------------- */

void topics_begin_more(struct topics_life *keeper)
{
	topics_make_reader(keeper, TOPICS_SLOT_MORE, TOPICS_LOOSE);
	topics_make_reader(keeper, TOPICS_SLOT_MORE + 1, TOPICS_TIMED);
	make_pair_readers(keeper);
}

static void use_reader(struct topics_life *life)
{
	uint32_t slot = TOPICS_SLOT_MORE + (uint32_t)wh_dice_below(&life->more, 2);

	if (life->readers[slot] == NULL)
		topics_make_reader(life, slot, draw_kind(life));
	else if (!life->keeper && wh_dice_one_in(&life->more, 4))
		topics_end_reader(life, slot);
}

static void use_pair_readers(struct topics_life *life)
{
	if (life->readers[TOPICS_SLOT_PAIR] == NULL)
		make_pair_readers(life);
	else if (!life->keeper && wh_dice_one_in(&life->more, 4))
		topics_end_pair_readers(life);
}

static void use_writer(struct topics_life *life, uint32_t slot, enum topics_kind kind)
{
	if (life->writers[slot] == NULL && topics_is_of_pair(kind))
		make_pair_writers(life);
	else if (life->writers[slot] == NULL)
		topics_make_writer(life, slot, kind);
	else if (wh_dice_one_in(&life->more, 4))
		topics_end_writer(life, slot);
}

void topics_act_more(struct topics_life *life)
{
	uint32_t slot = TOPICS_SLOT_MORE + (uint32_t)wh_dice_below(&life->more, 2);

	switch (wh_dice_below(&life->more, 10)) {
	case 0:
		use_reader(life);
		break;
	case 1:
		use_pair_readers(life);
		break;
	case 2:
		use_writer(life, slot, draw_kind(life));
		break;
	case 3:
		use_writer(life, TOPICS_SLOT_PAIR, TOPICS_ONE);
		break;
	case 4:
		use_writer(life, TOPICS_SLOT_ECHO, TOPICS_PLAIN);
		break;
	case 5:
	case 6:
		if (life->writers[TOPICS_SLOT_PAIR] != NULL)
			topics_write_pair(life);
		break;
	default:
		if (life->writers[slot] != NULL)
			topics_write(life, slot);
	}
}
