/* test_wishes_random.c - sets drawn at random, through views into which nodes come, from which they go and in which they rest at random,
 * some of them without wishes, as after a failure. What must hold is said here once more, in terms of node ids and names.
 * Labels: random
 */
#include "tests/support/wishes_lab.h"
#include "transport/dice.h"

#define ROUNDS 300
#define VIEWS_MOST 40
#define NAMES 6
#define BIRTHS_MOST 1024
#define PLACES (3 + NAMES)

/* Check notes each of its own assertions, also those that hold. */
#define must(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("%s", #condition);                                                                \
	} while (0)

struct story {
	struct wh_dice dice;
	struct lab lab;
	uint64_t births[BIRTHS_MOST]; /* all that there were */
	uint32_t birth_count;
};

static uint32_t draw(struct story *story, uint32_t below)
{
	return (uint32_t)(wh_dice_roll(&story->dice) % below);
}

static void draw_set(struct story *story, uint32_t id)
{
	char text[128], *at = text;

	text[0] = '\0';
	for (uint32_t name = 0; name < NAMES; name++)
		if (draw(story, 3) == 0)
			at += sprintf(at, "%c%s%s ", 'a' + (int)name, draw(story, 2) ? "+" : "",
				      draw(story, 8) ? "" : "w");
	lab_wish(&story->lab, id, text);
}

/* A node keeps its role and its parameters where it stays: it enters and leaves, and that is all (docs/decisions/0046). */
static void keep_roles(const struct lab *lab, uint32_t id)
{
	int rank = wh_view_rank(lab->view, id);

	for (uint32_t i = 0; rank >= 0 && i < lab->view->dynamic_count; i++) {
		const struct wh_view_subgroup *it = &wh_view_dynamic(lab->view)[i];
		struct wh_wish *wish = (struct wh_wish *)wh_wish_find(lab->sets[id], it->name);

		if (wish == NULL || wh_rank_find(it->members, it->member_count, (uint32_t)rank) < 0)
			continue;
		wish->parameters = it->parameters;
		wish->sends = wh_rank_find(it->senders, it->sender_count, (uint32_t)rank) >= 0 ||
			      wh_rank_find(it->resting, it->resting_count, (uint32_t)rank) >= 0;
	}
}

static void note_births(struct story *story)
{
	const struct wh_view *view = story->lab.view, *before = story->lab.before;

	for (uint32_t i = 0; i < view->dynamic_count; i++) {
		uint64_t birth = wh_view_dynamic(view)[i].birth;
		bool seen = false;

		for (uint32_t k = 0; k < story->birth_count; k++)
			seen = seen || story->births[k] == birth;
		must(seen == (wh_birth_view(birth) < view->number));
		for (uint32_t k = 0; k < before->dynamic_count; k++)
			must(wh_birth_seat(wh_view_dynamic(before)[k].birth) != wh_birth_seat(birth) ||
			     wh_view_dynamic(before)[k].birth == birth);
		if (seen)
			continue;
		must(story->birth_count < BIRTHS_MOST);
		story->births[story->birth_count++] = birth;
	}
}

static const struct wh_view_subgroup *find(const struct wh_view *view, const char *name)
{
	for (uint32_t i = 0; i < view->dynamic_count; i++)
		if (strcmp(wh_view_dynamic(view)[i].name, name) == 0)
			return &wh_view_dynamic(view)[i];
	return NULL;
}

/* A member has not entered where it was, by its id and incarnation, and that subgroup was the same. */
static void check_entered(const struct lab *lab)
{
	for (uint32_t i = 0; i < lab->view->dynamic_count; i++) {
		const struct wh_view_subgroup *it = &wh_view_dynamic(lab->view)[i], *was = find(lab->before, it->name);

		for (uint32_t m = 0; m < it->member_count; m++) {
			uint32_t rank = it->members[m];
			int old = wh_view_rank_of(lab->before, lab->view->ids[rank], lab->view->incarnations[rank]);
			bool stays = was != NULL && was->birth == it->birth && old >= 0 &&
				     wh_rank_find(was->members, was->member_count, (uint32_t)old) >= 0;

			must(stays == (wh_rank_find(it->entered, it->entered_count, rank) < 0));
		}
	}
}

/* Served: all that was wished and not refused is met, and nothing else. Not served: it is where it was, if that is still there. */
static void check_served(const struct lab *lab)
{
	for (uint32_t rank = 0; rank < lab->view->members; rank++) {
		uint32_t id = lab->view->ids[rank];
		const struct wh_wish_set *set = lab->sets[id];

		if (set == NULL || lab->view->served[rank] != set->number)
			continue;
		for (uint32_t i = 0; i < set->count; i++) {
			const struct wh_view_subgroup *it = find(lab->view, set->wishes[i].name);
			bool in = it != NULL && wh_rank_find(it->members, it->member_count, rank) >= 0;

			must(in == !lab->refused[id][i]);
			must(!in || wh_parameters_equal(&it->parameters, &set->wishes[i].parameters));
		}
	}
}

static uint32_t draw_newcomers(struct story *story, struct wh_newcomer *out)
{
	uint32_t count = 0;

	for (uint32_t id = 0; id < LAB_NODES; id++) {
		if (wh_view_rank(story->lab.view, id) >= 0 || draw(story, 3) > 0)
			continue;
		out[count++] = (struct wh_newcomer){id, wh_dice_roll(&story->dice) | 1};
		free(story->lab.sets[id]);
		story->lab.sets[id] = NULL;
		if (draw(story, 2))
			draw_set(story, id);
	}
	return count;
}

/* One view: somebody may be removed, and then there are no wishes in it. */
static void step(struct story *story)
{
	struct lab *lab = &story->lab;
	struct wh_newcomer newcomers[LAB_NODES];
	uint64_t rests[PLACES] = {0};
	bool removed[LAB_NODES] = {false};
	struct wh_next next = {.rests = draw(story, 2) ? rests : NULL};

	for (uint32_t i = 0; i < PLACES; i++)
		rests[i] = draw(story, 256) & draw(story, 256);
	for (uint32_t id = 0; id < LAB_NODES; id++) {
		if (wh_view_rank(lab->view, id) < 0 || draw(story, 3) > 0)
			continue;
		draw_set(story, id);
		keep_roles(lab, id);
	}
	if (lab->view->members > 1 && draw(story, 4) == 0) {
		removed[draw(story, lab->view->members)] = true;
		next.removed = removed;
		lab_without_wishes(lab, &next);
	} else {
		next.newcomers = newcomers;
		next.newcomer_count = draw_newcomers(story, newcomers);
		wishes_lab_step(lab, &next);
		check_served(lab);
	}
	check_entered(lab);
	note_births(story);
}

/* All rest, and then all is served. */
static void settle(struct story *story)
{
	uint64_t rests[PLACES];

	for (uint32_t i = 0; i < PLACES; i++)
		rests[i] = UINT64_MAX;
	wishes_lab_step(&story->lab, &(struct wh_next){.rests = rests});
	for (uint32_t rank = 0; rank < story->lab.view->members; rank++) {
		const struct wh_wish_set *set = story->lab.sets[story->lab.view->ids[rank]];

		must(set == NULL || story->lab.view->served[rank] == set->number);
	}
}

TEST_CASE("wishes_random", .timeout_s = 60);

TEST(wishes_at_random)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct story *story = calloc(1, sizeof(*story));
		uint32_t views;

		story->dice = (struct wh_dice){round + 1};
		wishes_lab_begin(&story->lab, 1 + draw(story, 4));
		views = draw(story, VIEWS_MOST);
		for (uint32_t i = 0; i < views; i++)
			step(story);
		settle(story);
		wishes_lab_end(&story->lab);
		free(story);
	}
}

TEST_SUITE("wishes_random")
