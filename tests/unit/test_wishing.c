/* test_wishing.c - a node that says what it wishes: to its leader, again and again until it is served, to the next one, and nothing new
 * while a proposal is under way. The sets are read as a leader reads them.
 */
#include "membership/collect.h"
#include "membership/wishing.h"
#include "tests/support/fake.h"
#include "tests/support/wishes_lab.h"

#define ME 3
#define AGAIN WH_WISHING_AGAIN_NS

struct scene {
	struct wh_transport transport; /* first: its functions get it */
	struct wh_loop loop;
	struct wh_roster roster;
	struct wh_known_node known[LAB_NODES];
	struct wh_wishing wishing;
	struct wh_collect heard[LAB_NODES]; /* by id of a leader */
	uint32_t room;                      /* so many messages the queues take yet */
	uint32_t messages;
};

static enum whorl_result take_message(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count)
{
	struct scene *scene = (struct scene *)transport;
	struct wh_wire message;
	enum whorl_result result;

	if (scene->room == 0)
		return WHORL_AGAIN;
	scene->room--;
	scene->messages++;
	ck_assert(wh_wire_decode(&message, bytes, count));
	ck_assert_int_eq(message.kind, WH_WIRE_WISHES);
	result = wh_collect_take(&scene->heard[node], ME, 33, &message, scene->loop.now_ns);
	ck_assert(result == WHORL_OK || result == WHORL_AGAIN);
	return WHORL_OK;
}

static const struct wh_transport_ops ops = {.name = "by hand", .control_send = take_message};

static struct scene *begin(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->transport.ops = &ops;
	scene->loop = (struct wh_loop){.now_ns = WH_NS_PER_S, .next_ns = UINT64_MAX};
	scene->roster = (struct wh_roster){.transport = &scene->transport,
					   .loop = &scene->loop,
					   .id = ME,
					   .nodes = LAB_NODES,
					   .incarnation = 33,
					   .known_nodes = scene->known};
	scene->wishing.roster = &scene->roster;
	scene->room = 1000;
	for (uint32_t node = 0; node < LAB_NODES; node++) {
		scene->known[node].incarnation = node + 1;
		ck_assert_int_eq(wh_collect_init(&scene->heard[node], LAB_NODES), WHORL_OK);
	}
	return scene;
}

static void end(struct scene *scene)
{
	for (uint32_t node = 0; node < LAB_NODES; node++)
		wh_collect_close(&scene->heard[node]);
	free(scene);
}

static enum whorl_result add(struct scene *scene, const char *text)
{
	struct wh_wish wish;

	lab_take_wish(&wish, text);
	return wh_wishing_add(&scene->wishing, &wish);
}

static size_t step(struct scene *scene, uint32_t leader, uint64_t served)
{
	return wh_wishing_step(&scene->wishing, leader, served);
}

/* What that leader has heard: NUMBER:NAME,NAME */
static void expect(const struct scene *scene, uint32_t leader, const char *expected)
{
	const struct wh_wish_set *set = scene->heard[leader].of[ME].set;
	char text[256] = "", *at = text;

	if (set != NULL)
		at += sprintf(at, "%u:", (unsigned)set->number);
	for (uint32_t i = 0; set != NULL && i < set->count; i++)
		at += sprintf(at, "%s%s", i > 0 ? "," : "", set->wishes[i].name);
	ck_assert_str_eq(text, expected);
}

TEST(wishes_are_said_once_and_again)
{
	struct scene *scene = begin();

	ck_assert_uint_eq(step(scene, 0, 0), 0); /* nothing is wished */
	ck_assert_int_eq(add(scene, "b+"), WHORL_OK);
	ck_assert_int_eq(add(scene, "a"), WHORL_OK);
	ck_assert_int_eq(add(scene, "b"), WHORL_INVALID);
	ck_assert_uint_eq(step(scene, 0, 0), 1);
	expect(scene, 0, "1:a,b");
	ck_assert_uint_eq(step(scene, 0, 0), 0);
	ck_assert_uint_eq(scene->loop.next_ns, scene->loop.now_ns + AGAIN);
	scene->loop.now_ns += AGAIN;
	ck_assert_uint_eq(step(scene, 0, 0), 1);
	scene->loop.now_ns += AGAIN;
	ck_assert_uint_eq(step(scene, 0, 1), 0); /* it is served */
	ck_assert(wh_wishing_remove(&scene->wishing, "b"));
	ck_assert(!wh_wishing_remove(&scene->wishing, "b"));
	ck_assert_uint_eq(step(scene, 0, 1), 1);
	expect(scene, 0, "2:a");
	end(scene);
}

TEST(another_leader_is_told)
{
	struct scene *scene = begin();

	ck_assert_int_eq(add(scene, "a"), WHORL_OK);
	ck_assert_uint_eq(step(scene, 0, 0), 1);
	ck_assert_uint_eq(step(scene, 1, 0), 1);
	expect(scene, 1, "1:a");
	scene->known[2].incarnation = 0; /* not met yet */
	ck_assert_uint_eq(step(scene, 2, 0), 0);
	scene->known[2].incarnation = 8;
	ck_assert_uint_eq(step(scene, 2, 0), 1);
	scene->known[2].incarnation = 9; /* another life of it */
	ck_assert_uint_eq(step(scene, 2, 0), 1);
	ck_assert_uint_eq(step(scene, ME, 0), 0); /* it leads itself */
	ck_assert_uint_eq(scene->wishing.said.number, 1);
	end(scene);
}

/* What changes meanwhile is said behind it, at once. */
TEST(nothing_new_is_said_while_held)
{
	struct scene *scene = begin();

	ck_assert_int_eq(add(scene, "a"), WHORL_OK);
	ck_assert_uint_eq(step(scene, 0, 0), 1);
	scene->wishing.held = true;
	ck_assert_int_eq(add(scene, "b"), WHORL_OK);
	ck_assert_uint_eq(step(scene, 0, 0), 0);
	ck_assert_uint_eq(step(scene, 1, 0), 1); /* the same set to another leader */
	expect(scene, 1, "1:a");
	ck_assert(wh_wishing_remove(&scene->wishing, "a"));
	scene->wishing.held = false;
	ck_assert_uint_eq(step(scene, 1, 1), 1);
	expect(scene, 1, "2:b");
	end(scene);
}

/* The queue is full half-way: it goes on later; if the set is another one by then, from its beginning. */
TEST(a_large_set_goes_in_pieces)
{
	struct scene *scene = begin();
	char name[WH_NAME_BYTES];
	const struct wh_wish_set *set;

	for (int i = 0; i < WH_WISHES_MAX; i++) {
		snprintf(name, sizeof(name), "%03d-and-so-on-and-so-on-and-so-on-and-so-on", i);
		ck_assert_int_eq(add(scene, name), WHORL_OK);
	}
	ck_assert_int_eq(add(scene, "x"), WHORL_MEMORY);
	scene->room = 2;
	ck_assert_uint_eq(step(scene, 0, 0), 2);
	ck_assert_uint_eq(step(scene, 0, 0), 0);
	expect(scene, 0, "");
	ck_assert(wh_wishing_remove(&scene->wishing, name));
	scene->room = 1000;
	step(scene, 0, 0);
	set = scene->heard[0].of[ME].set;
	ck_assert_ptr_nonnull(set);
	ck_assert_uint_eq(set->number, 2);
	ck_assert_uint_eq(set->count, WH_WISHES_MAX - 1);
	end(scene);
}

TEST(a_wish_is_refused)
{
	struct scene *scene = begin();
	struct wh_wire refused = {.kind = WH_WIRE_REFUSED, .key = 1, .refusal = {.wish = 1}};

	ck_assert_int_eq(add(scene, "a"), WHORL_OK);
	ck_assert_int_eq(add(scene, "b"), WHORL_OK);
	ck_assert_ptr_null(wh_wishing_refused(&scene->wishing, 0, &refused)); /* nothing has been said */
	step(scene, 0, 0);
	ck_assert_ptr_null(wh_wishing_refused(&scene->wishing, 1, &refused)); /* another node */
	refused.key = 2;
	ck_assert_ptr_null(wh_wishing_refused(&scene->wishing, 0, &refused)); /* another set */
	refused.key = 1;
	refused.refusal.wish = 2;
	ck_assert_ptr_null(wh_wishing_refused(&scene->wishing, 0, &refused)); /* no wish of it */
	refused.refusal.wish = 1;
	ck_assert_str_eq(wh_wishing_refused(&scene->wishing, 0, &refused)->name, "b");
	ck_assert(scene->wishing.refused[1] && !scene->wishing.refused[0]);
	scene->loop.now_ns += AGAIN;
	step(scene, 0, 0);
	ck_assert(scene->wishing.refused[1]); /* the same leader has refused it */
	step(scene, 1, 0);
	ck_assert(!scene->wishing.refused[1]); /* another one may not */
	end(scene);
}

struct told {
	struct wh_wishing *wishing;
	uint32_t calls;
	char name[WH_NAME_BYTES];
	struct wh_refusal refusal;
};

/* As a node does: what is refused is wished no more. */
static void on_refused(void *ctx, const struct wh_wish *wish, const struct wh_refusal *refusal)
{
	struct told *told = ctx;

	told->calls++;
	snprintf(told->name, sizeof(told->name), "%s", wish->name);
	told->refusal = *refusal;
	ck_assert(wh_wishing_remove(told->wishing, wish->name));
}

TEST(the_caller_is_told_once_what_is_refused)
{
	struct scene *scene = begin();
	struct told told = {.wishing = &scene->wishing};
	struct wh_wire refused = {.kind = WH_WIRE_REFUSED,
				  .key = 1,
				  .refusal = {.wish = 1, .why = WH_REFUSED_TOO_MANY, .node = UINT32_MAX}};

	scene->wishing.on_refused = on_refused;
	scene->wishing.ctx = &told;
	ck_assert_int_eq(add(scene, "a"), WHORL_OK);
	ck_assert_int_eq(add(scene, "b"), WHORL_OK);
	step(scene, 0, 0);
	ck_assert_ptr_null(wh_wishing_refused(&scene->wishing, 1, &refused)); /* another node */
	ck_assert_uint_eq(told.calls, 0);
	ck_assert_ptr_nonnull(wh_wishing_refused(&scene->wishing, 0, &refused));
	ck_assert_uint_eq(told.calls, 1);
	ck_assert_str_eq(told.name, "b");
	ck_assert_int_eq(told.refusal.why, WH_REFUSED_TOO_MANY);
	ck_assert_ptr_nonnull(wh_wishing_refused(&scene->wishing, 0, &refused)); /* it says so again */
	scene->wishing.held = true; /* so the set is still the same, when another leads and refuses it as well */
	step(scene, 1, 0);
	ck_assert_ptr_nonnull(wh_wishing_refused(&scene->wishing, 1, &refused));
	ck_assert_uint_eq(told.calls, 1);
	scene->wishing.held = false;
	ck_assert_int_eq(add(scene, "b"), WHORL_OK); /* in another set it is another wish */
	step(scene, 1, 0);
	refused.key = 2;
	ck_assert_ptr_nonnull(wh_wishing_refused(&scene->wishing, 1, &refused));
	ck_assert_uint_eq(told.calls, 2);
	end(scene);
}

TEST_SUITE("wishing")
