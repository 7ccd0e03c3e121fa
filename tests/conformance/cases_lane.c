/* cases_lane.c - T13: what lanes are beside what they have of T7. Endpoints are lanes of nodes here; the cases open more of them. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "tests/conformance/remote.h"

#define NAME UINT64_C(9)
#define LANES 2

static uint64_t rounds(void)
{
	return times(3000);
}

/* ---- one more lane of a node ---------------------------------------------------------------------------------------- */

struct extra {
	struct wh_transport *transport;
	uint32_t met, left, down, refused, granted;
	uint64_t incarnation; /* of the last that was met */
};

static void extra_open(const struct group *g, uint32_t id, uint32_t lane, struct extra *e)
{
	struct wh_transport *node = wh_world.node(g->world, id);
	struct wh_error err = {.text = ""};

	*e = (struct extra){0};
	ck_assert_msg(node->ops->lane_open(node, lane, &e->transport, &err) == WHORL_OK, "%s", err.text);
}

static void extra_close(struct extra *e)
{
	e->transport->ops->leave(e->transport);
	e->transport->ops->destroy(e->transport, false);
	e->transport = NULL;
}

/* A pass of its loop. */
static void extra_step(struct extra *e)
{
	const struct wh_transport_ops *ops = e->transport->ops;
	struct wh_transport_event event;

	if (ops->take != NULL)
		(void)ops->take(e->transport);
	if (ops->flush != NULL)
		ops->flush(e->transport);
	(void)ops->service(e->transport);
	while (ops->next_event(e->transport, &event)) {
		e->met += event.kind == WH_EVENT_PEER_MET;
		e->left += event.kind == WH_EVENT_PEER_LEFT;
		e->down += event.kind == WH_EVENT_PEER_DOWN;
		e->refused += event.kind == WH_EVENT_REFUSED;
		if (event.kind == WH_EVENT_PEER_MET)
			e->incarnation = event.incarnation;
	}
}

#define UNTIL_BOTH(g, a, b, condition) UNTIL(g, (extra_step(a), extra_step(b), (condition)))

static void all_meet(struct group *g)
{
	for (uint32_t id = 0; id < g->nodes; id++)
		UNTIL(g, g->at[id].met == g->nodes - 1);
}

/* ---- what a lane is -------------------------------------------------------------------------------------------------- */

START_TEST(t13_a_lane_has_regions_and_nothing_of_a_group)
{
	struct group *g = group_make(1, test_seed(1));
	const struct wh_transport_ops *ops = g->at[0].transport->ops, *of_node = wh_world.node(g->world, 0)->ops;

	ck_assert_ptr_nonnull(ops->remote);
	ck_assert_str_eq(ops->name, of_node->name);
	ck_assert_uint_eq(ops->capabilities, of_node->capabilities);
	ck_assert(ops->image_open == NULL && ops->post == NULL && ops->control_send == NULL);
	ck_assert(ops->stream_open == NULL && ops->answer == NULL && ops->lane_open == NULL);
	group_free(g);
}
END_TEST

START_TEST(t13_numbers)
{
	static const uint32_t bad[] = {0, WH_LANES_MAX + 1, UINT32_MAX};
	struct group *g = group_make(1, test_seed(2));
	struct wh_transport *node = wh_world.node(g->world, 0), *none = node;
	struct extra e;
	struct wh_error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(node->ops->lane_open(node, bad[i], &none, &err), WHORL_INVALID);
		ck_assert_ptr_null(none);
	}
	extra_open(g, 0, 1, &e);
	ck_assert_int_eq(node->ops->lane_open(node, 1, &none, &err), WHORL_INVALID);
	ck_assert_ptr_nonnull(strstr(err.text, "opened before"));
	extra_close(&e);
	ck_assert_int_eq(node->ops->lane_open(node, 1, &none, &err), WHORL_INVALID);
	group_free(g);
}
END_TEST

/* That is told when the other opens it: nothing is asked for before. */
START_TEST(t13_a_lane_meets_the_same_lane_whenever_it_opens)
{
	struct group *g = group_make(2, test_seed(3));
	struct extra first, other, second;

	extra_open(g, 0, 7, &first);
	extra_open(g, 1, 8, &other);
	all_meet(g);
	for (int k = 0; k < 50; k++) {
		group_pass(g);
		extra_step(&first);
		extra_step(&other);
	}
	ck_assert_uint_eq(first.met + other.met + first.refused + other.refused, 0);
	extra_open(g, 1, 7, &second);
	UNTIL_BOTH(g, &first, &second, first.met == 1 && second.met == 1);
	ck_assert_uint_eq(first.incarnation, wh_world.incarnation(g->world, 1));
	ck_assert_uint_eq(second.incarnation, wh_world.incarnation(g->world, 0));
	extra_close(&second);
	UNTIL(g, (extra_step(&first), first.left == 1));
	ck_assert_uint_eq(g->at[0].down + g->at[0].left + first.down, 0); /* the others go on */
	extra_close(&first);
	extra_close(&other);
	group_free(g);
}
END_TEST

/* For its lanes; the node itself goes on with that. */
START_TEST(t13_a_lane_parts_with_what_the_group_has_left_behind)
{
	struct group *g = group_make(3, test_seed(4));
	struct wh_transport *node;

	all_meet(g);
	node = wh_world.node(g->world, 0);
	node->ops->lanes_part(node, 1, wh_world.incarnation(g->world, 1) + 1); /* another life */
	for (int k = 0; k < 20; k++)
		group_pass(g);
	ck_assert_uint_eq(g->at[0].down, 0);
	node->ops->lanes_part(node, 1, wh_world.incarnation(g->world, 1));
	UNTIL(g, g->at[0].down_of[1] == 1 && g->at[1].down_of[0] == 1);
	for (int k = 0; k < 20; k++)
		group_pass(g);
	ck_assert_uint_eq(g->at[0].down + g->at[0].refused, 1);
	ck_assert_uint_eq(g->at[2].down, 0);
	group_kill(g, 1);
	group_restart(g, 1);
	UNTIL(g, g->at[0].met_of[1] == 2);
	group_free(g);
}
END_TEST

/* In any order. */
START_TEST(t13_a_node_may_end_before_its_lanes)
{
	struct group *g = group_make(2, test_seed(5));
	struct extra first, second;

	extra_open(g, 0, 7, &first);
	extra_open(g, 1, 7, &second);
	UNTIL_BOTH(g, &first, &second, first.met == 1 && second.met == 1);
	if (_i == 0)
		group_close(g, 0);
	else
		group_kill(g, 0);
	UNTIL(g, (extra_step(&second), second.down + second.left == 1));
	if (_i == 0) {
		UNTIL(g, (extra_step(&first), first.down + first.left == 1));
		extra_close(&first);
	} else {
		first.transport->ops->destroy(first.transport, true); /* it is dead with its node */
	}
	extra_close(&second);
	group_free(g);
}
END_TEST

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

struct worker { /* has a lane, and adds to the other's region */
	const struct group *g;
	uint32_t id, lane;
	struct extra own;
	struct wh_region *region;
	uint64_t region_there; /* its name; 0: not granted yet */
	uint64_t posted, done, told, bad;
	bool has_granted, failed;
	wh_word *finished; /* of all workers */
};

/* Additions come back in their order; behind them there is one that tells. */
static void worker_done(struct worker *w, const struct wh_remote_event *event)
{
	w->bad += event->result != WHORL_OK || event->value != (w->done < rounds() ? w->done : 0);
	w->done++;
}

static void worker_take(struct worker *w)
{
	const struct wh_remote_ops *ops = w->own.transport->ops->remote;
	struct wh_remote_event event;

	while (ops->next(w->own.transport, &event)) {
		if (event.kind == WH_REMOTE_GRANTED)
			w->region_there = event.region;
		else if (event.kind == WH_REMOTE_DONE)
			worker_done(w, &event);
		else if (event.kind == WH_REMOTE_IMMEDIATE)
			w->told += event.immediate == w->lane;
	}
}

static void worker_post(struct worker *w)
{
	struct wh_remote_op op = {.kind = WH_REMOTE_FETCH_ADD, .node = 1 - w->id, .region = w->region_there, .add = 1};
	size_t posted;

	if (!w->has_granted && w->own.met == 1)
		w->has_granted = w->region->ops->grant(w->region, 1 - w->id) == WHORL_OK;
	while (w->region_there != 0 && w->posted < rounds() &&
	       w->own.transport->ops->remote->post(w->own.transport, &op, 1, &posted) == WHORL_OK)
		w->posted++;
	op = (struct wh_remote_op){
		.kind = WH_REMOTE_WRITE_IMMEDIATE, .node = 1 - w->id, .region = w->region_there, .immediate = w->lane};
	if (w->posted == rounds() && w->done == rounds() &&
	    w->own.transport->ops->remote->post(w->own.transport, &op, 1, &posted) == WHORL_OK)
		w->posted++;
}

/* It sleeps when there is nothing to do, and is woken. */
static void *worker_thread(void *ctx)
{
	struct worker *w = ctx;
	struct wh_transport *t = w->own.transport;
	bool said = false;

	for (int k = 0; k < PATIENCE * 50 && !w->failed && wh_load_acquire(w->finished) < 2 * LANES; k++) {
		t->ops->arm(t);
		extra_step(&w->own);
		worker_take(w);
		worker_post(w);
		t->ops->wait(t, WH_NS_PER_MS);
		if (!said && w->told == 1 && w->done >= rounds()) {
			said = true;
			(void)wh_fetch_add(w->finished, 1);
		}
	}
	return NULL;
}

/* Two lanes of a pair of nodes, all of them in threads of their own, while the nodes are driven here. */
START_TEST(t13_lanes_are_their_threads_own)
{
	struct group *g = group_make(2, test_seed(6));
	struct worker workers[2 * LANES];
	pthread_t threads[2 * LANES];
	wh_word finished = 0;
	struct wh_error err;

	for (uint32_t i = 0; i < 2 * LANES; i++) {
		workers[i] = (struct worker){.g = g, .id = i / LANES, .lane = 10 + i % LANES, .finished = &finished};
		extra_open(g, workers[i].id, workers[i].lane, &workers[i].own);
		ck_assert_int_eq(workers[i].own.transport->ops->remote->region_open(workers[i].own.transport, NAME, 64,
										    &workers[i].region, &err),
				 WHORL_OK);
	}
	for (uint32_t i = 0; i < 2 * LANES; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, worker_thread, &workers[i]), 0);
	UNTIL(g, wh_load_acquire(&finished) == 2 * LANES);
	for (uint32_t i = 0; i < 2 * LANES; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < 2 * LANES; i++) {
		ck_assert_uint_ge(workers[i].done, rounds());
		ck_assert_uint_eq(workers[i].bad, 0);
		ck_assert_uint_eq(workers[i].region->words[0], rounds());
	}
	for (uint32_t i = 0; i < 2 * LANES; i++)
		extra_close(&workers[i].own);
	group_free(g);
}
END_TEST

TCase *cases_lane(void)
{
	TCase *cases = tcase_create("lane");

	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, t13_a_lane_has_regions_and_nothing_of_a_group);
	tcase_add_test(cases, t13_numbers);
	tcase_add_test(cases, t13_a_lane_meets_the_same_lane_whenever_it_opens);
	tcase_add_test(cases, t13_a_lane_parts_with_what_the_group_has_left_behind);
	tcase_add_loop_test(cases, t13_a_node_may_end_before_its_lanes, 0, 2);
	if (wh_world.threads)
		tcase_add_test(cases, t13_lanes_are_their_threads_own);
	return cases;
}
