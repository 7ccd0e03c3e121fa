/* sim_lab.h - three nodes in a simulated world, an image of all, and what they have seen: for the tests of what only the
 * simulator's transport has.
 */
#ifndef WH_TESTS_UNIT_SIM_LAB_H
#define WH_TESTS_UNIT_SIM_LAB_H

#include <string.h>

#include "base/atomics.h"
#include "tests/harness.h"
#include "transport/sim.h"

#define NODES 3
#define WORD 64                    /* the column that tests push */
#define LONG_NS (10 * WH_NS_PER_S) /* until nothing is under way any more */

struct lab {
	struct wh_sim *sim;
	struct wh_transport *node[NODES];
	struct wh_image *image[NODES];
	uint32_t down[NODES][NODES], left[NODES][NODES]; /* [at][of] */
	uint64_t heard_ns[NODES];                        /* of the last such news */
	uint64_t messages[NODES], bytes[NODES];
	bool in_order;       /* messages of node 0 hold the numbers 1, 2, 3, ... */
	uint64_t crash_push; /* node 0 crashes before this push; UINT64_MAX: never */
	bool silently;
	uint64_t hooked, hooked_value; /* calls of the hook; what it saw last */
};

static const uint32_t others[NODES][NODES - 1] = {{1, 2}, {0, 2}, {0, 1}};

static inline void posting(void *ctx, uint32_t node, uint64_t key, const struct wh_push *push)
{
	struct lab *lab = ctx;

	if (node != 0)
		return;
	ck_assert_uint_eq(key, 1);
	if (push->kind == WH_PUSH_WORD) {
		ck_assert_uint_gt(push->value, lab->hooked_value);
		lab->hooked_value = push->value;
	}
	if (lab->hooked++ != lab->crash_push)
		return;
	if (lab->silently)
		wh_sim_vanish(lab->sim, node);
	else
		wh_sim_crash(lab->sim, node);
}

/* ---- a world, its nodes, an image of all ------------------------------------------------------------------------------- */

static inline struct wh_sim_options plain(uint64_t seed)
{
	return (struct wh_sim_options){.nodes = NODES, .seed = seed, .pieces = 1};
}

static inline struct wh_sim_options wild(uint64_t seed)
{
	return (struct wh_sim_options){
		.nodes = NODES, .seed = seed, .pieces = 5, .latency_min_ns = 10, .latency_max_ns = 5000, .uneven = true};
}

static inline void take_event(struct lab *lab, uint32_t at, const struct wh_transport_event *event)
{
	uint64_t number;

	switch (event->kind) {
	case WH_EVENT_PEER_DOWN:
		lab->down[at][event->node]++;
		lab->heard_ns[at] = wh_sim_now(lab->sim);
		break;
	case WH_EVENT_PEER_LEFT:
		lab->left[at][event->node]++;
		break;
	case WH_EVENT_CONTROL:
		memcpy(&number, event->text, sizeof(number));
		lab->in_order = lab->in_order && number == ++lab->messages[at];
		break;
	case WH_EVENT_IMAGE_READY:
	case WH_EVENT_REFUSED:
		break;
	}
}

static inline void service_all(struct lab *lab)
{
	static struct wh_transport_event event; /* large */

	for (uint32_t i = 0; i < NODES; i++) {
		if (lab->node[i] == NULL)
			continue;
		lab->node[i]->ops->service(lab->node[i]);
		while (lab->node[i]->ops->next_event(lab->node[i], &event))
			take_event(lab, i, &event);
	}
}

static inline void run_until(struct lab *lab, uint64_t until_ns)
{
	do {
		service_all(lab);
	} while (wh_sim_step(lab->sim, until_ns));
	service_all(lab);
}

static inline void run(struct lab *lab, uint64_t for_ns)
{
	run_until(lab, wh_sim_now(lab->sim) + for_ns);
}

static inline struct wh_image *open_image(struct lab *lab, uint32_t id, uint64_t key)
{
	const struct wh_row_part part = {0, 4 * WH_ROW_ALIGN};
	struct wh_row_spec rows[NODES];
	struct wh_image_spec spec = {
		.key = key, .members = NODES, .my_rank = id, .control_bytes = WH_ROW_ALIGN, .rows = rows};
	struct wh_image *image;
	struct wh_error err;

	for (uint32_t r = 0; r < NODES; r++)
		rows[r] = (struct wh_row_spec){r, 4 * WH_ROW_ALIGN, &part, 1};
	ck_assert_int_eq(lab->node[id]->ops->image_open(lab->node[id], &spec, &image, &err), WHORL_OK);
	return image;
}

/* Nobody has met yet. */
static inline struct lab *make_strangers(struct wh_sim_options options)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct wh_error err;

	ck_assert_ptr_nonnull(lab);
	lab->in_order = true;
	lab->crash_push = UINT64_MAX;
	options.posting = posting;
	options.ctx = lab;
	ck_assert_int_eq(wh_sim_new(&lab->sim, &options, &err), WHORL_OK);
	for (uint32_t i = 0; i < NODES; i++) {
		const struct wh_transport_config config = {
			.env = wh_sim_env(lab->sim, i), .group = "lab", .node = i, .nodes = NODES};

		ck_assert_int_eq(wh_sim_create(&config, lab->sim, &lab->node[i], &err), WHORL_OK);
	}
	return lab;
}

static inline struct lab *make(struct wh_sim_options options)
{
	struct lab *lab = make_strangers(options);

	for (uint32_t i = 0; i < NODES; i++)
		lab->image[i] = open_image(lab, i, 1);
	run(lab, LONG_NS);
	for (uint32_t i = 0; i < NODES; i++)
		ck_assert(lab->image[i]->ready);
	return lab;
}

static inline void leave_in_order(struct lab *lab, uint32_t id)
{
	lab->node[id]->ops->leave(lab->node[id]);
	lab->node[id]->ops->destroy(lab->node[id], false);
	lab->node[id] = NULL;
}

static inline void end(struct lab *lab)
{
	ck_assert_ptr_null(wh_sim_verdict(lab->sim));
	ck_assert(lab->in_order);
	for (uint32_t i = 0; i < NODES; i++)
		if (lab->node[i] != NULL)
			lab->node[i]->ops->destroy(lab->node[i], false);
	wh_sim_free(lab->sim);
	free(lab);
}

/* ---- pushes and messages ----------------------------------------------------------------------------------------------- */

static inline struct wh_push push_word(uint32_t from, uint64_t value)
{
	return (struct wh_push){
		.kind = WH_PUSH_WORD, .to_count = NODES - 1, .to = others[from], .offset = WORD, .value = value};
}

static inline void post(struct lab *lab, uint32_t from, const struct wh_push *pushes, size_t count)
{
	lab->image[from]->ops->post(lab->image[from], pushes, count);
}

static inline void post_word(struct lab *lab, uint32_t from, uint64_t value)
{
	const struct wh_push push = push_word(from, value);

	post(lab, from, &push, 1);
}

/* A page, then a word that says so. */
static inline void post_page(struct lab *lab, uint32_t from, uint64_t value)
{
	const struct wh_push pushes[] = {{.kind = WH_PUSH_BYTES,
					  .to_count = NODES - 1,
					  .to = others[from],
					  .offset = WH_ROW_ALIGN,
					  .bytes = WH_ROW_ALIGN},
					 push_word(from, value)};

	memset(lab->image[from]->own + WH_ROW_ALIGN, (int)value, WH_ROW_ALIGN);
	post(lab, from, pushes, 2);
}

static inline uint64_t word(const struct lab *lab, uint32_t at, uint32_t of)
{
	return wh_load_acquire((const wh_word *)(const void *)(lab->image[at]->control[of] + WORD));
}

static inline enum whorl_result send_number(struct lab *lab, uint32_t from, uint32_t to, uint64_t number)
{
	return lab->node[from]->ops->control_send(lab->node[from], to, &number, sizeof(number));
}

#endif
