/* test_serve_random.c - one change of view at all its members at once: rows and messages go from each to each after random times, wishes are replaced
 * meanwhile, and in some runs a member dies. All that begin the next view begin the same one, and it has each of them as it has said.
 * Labels: random
 */
#include "tests/support/serving_lab.h"

#define MEMBERS 4
#define RUNS 400
#define LETTERS 2048 /* of one member, in a run */

struct letter {
	uint32_t to, bytes;
	unsigned char text[WH_WIRE_BYTES];
};

struct world {
	struct serving_lab *labs[MEMBERS];
	struct letter *sent[MEMBERS]; /* by sender, in order */
	uint32_t count[MEMBERS];
	uint32_t taken[MEMBERS][MEMBERS]; /* by sender and receiver: looked at so far */
	bool begun[MEMBERS], dead[MEMBERS];
	uint64_t random;
};

static struct world world;

static uint32_t draw(uint32_t below)
{
	world.random = world.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(world.random >> 33) % below;
}

/* ---- what goes from one to another ---------------------------------------------------------------------------------------- */

static enum whorl_result post_letter(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count)
{
	uint32_t from = ((struct serving_lab *)transport)->roster.id;
	struct letter *letter = &world.sent[from][world.count[from]];

	if (draw(8) == 0)
		return WHORL_AGAIN;
	ck_assert_uint_lt(++world.count[from], LETTERS);
	letter->to = node;
	letter->bytes = (uint32_t)count;
	memcpy(letter->text, bytes, count);
	return WHORL_OK;
}

/* False: there is none. */
static bool take_letter(uint32_t from, uint32_t to)
{
	uint32_t *at = &world.taken[from][to];
	struct wh_wire message;

	while (*at < world.count[from] && world.sent[from][*at].to != to)
		++*at;
	if (*at == world.count[from] || world.begun[to])
		return false;
	ck_assert(wh_wire_decode(&message, world.sent[from][*at].text, world.sent[from][*at].bytes));
	ck_assert(wh_serving_on_message(&world.labs[to]->serving, from, &message));
	++*at;
	return true;
}

static void show_row(uint32_t from, uint32_t to)
{
	memcpy(world.labs[to]->m->rows[from], world.labs[from]->m->rows[from], FAKE_ROW);
}

static void pass(uint32_t rank)
{
	struct member *m = world.labs[rank]->m;

	if (world.dead[rank] || world.begun[rank])
		return;
	(void)wh_change_step(&m->change);
	ck_assert_msg(strstr(m->told, "broken") == NULL, "member %u: %s", rank, m->told);
	world.begun[rank] = m->change.installed;
	forget_told(m);
	m->posted_count = 0;
}

/* ---- what happens ------------------------------------------------------------------------------------------------------------ */

static void change_wishes(uint32_t rank)
{
	static const char *const names[] = {"a", "a+", "aw", "b", "b+", "c", "file"};
	struct wh_wishing *wishing = &world.labs[rank]->serving.wishing;
	struct wh_wish one;

	lab_take_wish(&one, names[draw(7)]);
	if (!wh_wishing_remove(wishing, one.name))
		ck_assert_int_eq(wh_wishing_add(wishing, &one), WHORL_OK);
}

static void pass_all_ns(uint64_t ns)
{
	for (uint32_t rank = 0; rank < MEMBERS; rank++)
		member_pass_ns(world.labs[rank]->m, ns);
}

static void kill_member(uint32_t rank)
{
	world.dead[rank] = true;
	for (uint32_t other = 0; other < MEMBERS; other++)
		if (other != rank && !world.begun[other])
			die(world.labs[other]->m, rank);
}

static void run_at_random(uint32_t steps, uint32_t death)
{
	for (uint32_t i = 0; i < steps; i++) {
		uint32_t one = draw(MEMBERS), other = (one + 1 + draw(MEMBERS - 1)) % MEMBERS, what = draw(40);

		if (what == 0 && i < steps / 2)
			change_wishes(one);
		else if (what < 10)
			(void)take_letter(one, other);
		else if (what < 22)
			show_row(one, other);
		else if (what < 36)
			pass(one);
		else
			pass_all_ns(draw(2 * 1000 * 1000));
		if (i == death)
			kill_member(one);
	}
}

static bool have_all_begun(void)
{
	for (uint32_t rank = 0; rank < MEMBERS; rank++)
		if (!world.begun[rank] && !world.dead[rank])
			return false;
	return true;
}

/* All comes through. */
static void calm_down(void)
{
	for (int i = 0; i < 400 && !have_all_begun(); i++) {
		for (uint32_t one = 0; one < MEMBERS; one++)
			for (uint32_t other = 0; other < MEMBERS; other++) {
				while (one != other && take_letter(one, other))
					;
				if (one != other)
					show_row(one, other);
			}
		for (uint32_t rank = 0; rank < MEMBERS; rank++)
			pass(rank);
		pass_all_ns(2 * 1000 * 1000);
	}
}

/* ---- what holds ---------------------------------------------------------------------------------------------------------------- */

static void expect_one_view(uint64_t seed)
{
	const struct wh_view *first = NULL;
	bool any = false;

	for (uint32_t rank = 0; rank < MEMBERS; rank++) {
		const struct serving_lab *lab = world.labs[rank];
		const struct wh_view *view = lab->m->opened;

		if (!world.begun[rank] || world.dead[rank])
			continue;
		if (any)
			ck_assert_msg((view == NULL) == (first == NULL) && (view == NULL || wh_view_equals(view, first)),
				      "seed %u: member %u begins another view", (unsigned)seed, rank);
		first = view;
		any = true;
		ck_assert_msg(view == NULL || view->served[rank] == 0 ||
				      view->served[rank] == lab->serving.wishing.said.number,
			      "seed %u: member %u is served by a set that it has replaced", (unsigned)seed, rank);
	}
}

/* Something that a member has said would change the view. */
static bool is_due(void)
{
	for (uint32_t rank = 0; rank < MEMBERS; rank++) {
		const struct wh_wishing *wishing = &world.labs[rank]->serving.wishing;

		for (uint32_t i = 0; i < wishing->said.count; i++)
			if (!wishing->refused[i])
				return true;
	}
	return false;
}

static void begin_world(uint64_t seed)
{
	static const struct wh_transport_ops ops = {.name = "letters", .control_send = post_letter};

	memset(&world, 0, sizeof(world));
	world.random = seed * UINT64_C(0x9e3779b97f4a7c15);
	for (uint32_t rank = 0; rank < MEMBERS; rank++) {
		world.labs[rank] = serving_make(rank, MEMBERS);
		world.labs[rank]->transport.ops = &ops;
		world.sent[rank] = calloc(LETTERS, sizeof(struct letter));
		ck_assert_ptr_nonnull(world.sent[rank]);
	}
}

static void end_world(void)
{
	for (uint32_t rank = 0; rank < MEMBERS; rank++) {
		serving_free(world.labs[rank]);
		free(world.sent[rank]);
	}
}

TEST_CASE("random", .timeout_s = 60);

TEST(changes_at_random)
{
	uint64_t first = test_seed(6200);

	for (uint64_t seed = first; seed < first + RUNS; seed++) {
		bool dies = seed % 2 == 0;

		begin_world(seed);
		run_at_random(600, dies ? draw(600) : UINT32_MAX);
		calm_down();
		ck_assert_msg((!dies && !is_due()) || have_all_begun(), "seed %u: it stands still", (unsigned)seed);
		expect_one_view(seed);
		end_world();
	}
}

TEST_SUITE("serve_random")
